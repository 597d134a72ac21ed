/* What an evaluation shows: metrics with their intervals, classes, who is taken for whom. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_METRICS = 24, MOST_CLASSES = 64, TOP = 64 /* above the matrix */ };

/* Whether it is a share, which is drawn. */
static bool is_share(const hn_doc_metric *m) {
    return m->name != NULL && m->value >= 0 && m->value <= 1 && m->is_share != 0;
}

static void put_metrics(hn_page *p, const hn_doc_eval *o) {
    static const char *const heads[] = {"metric", "=value", "=low", "=high", NULL};
    hn_table_begin(p, "Data", heads);
    for (size_t i = 0; i < o->metrics.n && i < HN_MOST_ROWS; i++) {
        const hn_doc_metric *m = &o->metrics.at[i];
        hn_table_row(p);
        hn_table_text(p, m->name);
        hn_table_number(p, m->value, 4);
        hn_table_number(p, m->low, 4);
        hn_table_number(p, m->high, 4);
    }
    hn_table_end(p, "Data");
}

/* A dot for each metric, with a line over its interval. */
static void draw_metrics(hn_page *p, const hn_doc_eval *o) {
    enum { ROW = 46 };
    const hn_doc_metric *shown[MOST_METRICS];
    size_t n = 0;
    char a[HN_SHOWN], b[HN_SHOWN], c[HN_SHOWN];
    hn_axis x = {1, 0, false, 8, 712};
    for (size_t i = 0; i < o->metrics.n && n < MOST_METRICS; i++) {
        const hn_doc_metric *m = &o->metrics.at[i];
        if (!is_share(m)) continue;
        hn_axis_see(&x, m->value);
        hn_axis_see(&x, m->low);
        hn_axis_see(&x, m->high);
        shown[n++] = m;
    }
    if (n == 0) {
        put_metrics(p, o);
        return;
    }
    hn_axis_round(&x);
    if (x.hi > 1) x.hi = 1;
    if (x.lo < 0) x.lo = 0;
    hn_axis y = {0, 1, false, (double)n * ROW + 4, 0};
    hn_plot_begin(p, "Metrics, with 95 % intervals",
                  "Each dot is a metric; the line over it is where 95 of 100 samples of this size "
                  "would put it.",
                  (int)n * ROW + 52);
    hn_plot_axes(p, &x, &y, "share", NULL);
    for (size_t i = 0; i < n; i++) {
        const hn_doc_metric *m = shown[i];
        double at = (double)i * ROW + 36;
        hn_page_print(p, "<text x=\"8\" y=\"%.0f\">", at - 12);
        hn_page_text(p, m->name);
        hn_page_print(p, "</text><text class=\"e v\" x=\"712\" y=\"%.0f\">%s</text>", at - 12,
                      hn_show(m->value, HN_UNIT_SHARE, a));
        if (isfinite(m->low) && isfinite(m->high))
            hn_page_print(p, "<path class=\"span\" d=\"M%.1f %.1fH%.1f\"/>", hn_axis_at(&x, m->low),
                          at, hn_axis_at(&x, m->high));
        hn_mark_point(p, "c1", 0, hn_axis_at(&x, m->value), at, 5.5);
        hn_page_text(p, m->name);
        hn_page_print(p, ": %s (%s to %s)", a, hn_show(m->low, HN_UNIT_SHARE, b),
                      hn_show(m->high, HN_UNIT_SHARE, c));
        hn_mark_end(p);
    }
    hn_plot_end(p);
    put_metrics(p, o);
    hn_figure_end(p);
}

/* A row may be too short. */
static double cell_of(const hn_numbers *row, size_t k) { return k < row->n ? row->at[k] : NAN; }

/* Rows are labels, columns answers; a cell is as dark as its share of the row. */
static void draw_confusion(hn_page *p, const hn_number_lists *rows) {
    static const char *const heads[] = {"=label", "=answer", "=samples", NULL};
    size_t n = rows->n;
    if (n < 2) return;
    if (n > MOST_CLASSES) {
        hn_page_print(p,
                      "<p class=\"note\">The confusion matrix of %zu classes is too large to be "
                      "drawn.</p>",
                      n);
        return;
    }
    double cell = (HN_PLOT_WIDTH - 60) / (double)n;
    hn_plot_begin(p, "Who is taken for whom",
                  "The confusion matrix: a row for each label, a column for each answer; darker "
                  "cells hold more of their row.",
                  HN_PLOT_WIDTH - 60 + TOP);
    hn_page_put(p,
                "<g class=\"axes\"><text class=\"t\" x=\"0\" y=\"20\">label \xe2\x86\x93, "
                "answer \xe2\x86\x92</text></g>");
    for (size_t i = 0; i < n; i++) {
        const hn_numbers *row = &rows->at[i];
        double sum = 0, y = TOP + (double)i * cell;
        for (size_t k = 0; k < n; k++) {
            double v = cell_of(row, k);
            if (v > 0) sum += v;
        }
        bool few = n <= 16 || i % 8 == 0;
        if (few) {
            hn_page_print(p, "<text class=\"e\" x=\"50\" y=\"%.1f\" dy=\".35em\">%zu</text>",
                          y + cell / 2, i);
            hn_page_print(p, "<text class=\"m\" x=\"%.1f\" y=\"%d\">%zu</text>",
                          60 + ((double)i + 0.5) * cell, TOP - 8, i);
        }
        for (size_t k = 0; k < n; k++) {
            double v = cell_of(row, k), part = sum > 0 ? v / sum : 0;
            if (!(part >= 0)) part = 0;
            p->marks++;
            hn_page_print(p,
                          "<rect class=\"mark %s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                          "height=\"%.2f\" fill-opacity=\"%.3f\"><title>",
                          i == k ? "c3" : "c2", 60 + (double)k * cell, y, cell - 1, cell - 1,
                          v > 0 ? 0.12 + 0.88 * sqrt(part) : 0.04);
            hn_page_print(p, "label %zu, answer %zu: %.0f</title></rect>", i, k,
                          isfinite(v) ? v : 0);
            if (n <= 12 && v > 0)
                hn_page_print(p,
                              "<text class=\"m cell wide%s\" x=\"%.1f\" y=\"%.1f\" dy=\".35em\">"
                              "%.0f</text>",
                              part > 0.3 ? " on" : "", 60 + ((double)k + 0.5) * cell, y + cell / 2,
                              v);
        }
    }
    hn_plot_end(p);
    hn_legend_begin(p);
    hn_legend(p, "c3", 1, "right answers");
    hn_legend(p, "c2", 1, "mistakes");
    hn_legend_end(p);
    hn_table_begin(p, "Data: what was mistaken", heads);
    for (size_t i = 0; i < n; i++) {
        const hn_numbers *row = &rows->at[i];
        for (size_t k = 0; k < n; k++) {
            double v = cell_of(row, k);
            if (i == k || !(v > 0)) continue;
            hn_table_row(p);
            hn_table_number(p, (double)i, 0);
            hn_table_number(p, (double)k, 0);
            hn_table_number(p, v, 0);
        }
    }
    hn_table_end(p, "Data: what was mistaken");
    hn_figure_end(p);
}

void hn_report_say_eval(hn_page *p, const hn_document *d) {
    const hn_doc_eval *o = d->eval;
    hn_doc_metric m = {.name = "top-1", .value = o->top1, .low = NAN, .high = NAN};
    char a[HN_SHOWN], b[HN_SHOWN];
    if (o->metrics.n > 0) m = o->metrics.at[0];
    if (!isfinite(m.value) || m.name == NULL) return;
    hn_unit unit = o->metrics.n == 0 || is_share(&m) ? HN_UNIT_SHARE : HN_UNIT_PLAIN;
    hn_page_put(p, "<li>");
    hn_page_text(p, m.name);
    hn_page_print(p, " is <b>%s</b>", hn_show(m.value, unit, a));
    if (isfinite(m.low) && isfinite(m.high))
        hn_page_print(p, " (95 %% interval %s to %s)", hn_show(m.low, unit, a),
                      hn_show(m.high, unit, b));
    hn_page_print(p, " over %s samples of ", hn_show(o->samples, HN_UNIT_PLAIN, a));
    hn_page_text(p, o->data);
    hn_page_put(p, ".</li>");
}

void hn_report_eval(hn_page *p, const hn_document *d) {
    const hn_doc_eval *o = d->eval;
    hn_section_begin(p, "Accuracy");
    hn_page_of(p, o->model);
    if (o->metrics.n > 0) draw_metrics(p, o);
    hn_table_facts(p, d->root);
    draw_confusion(p, &o->confusion);
    hn_table_of(p, "By class", o->classes_table.json);
    hn_section_end(p);
}

#endif
