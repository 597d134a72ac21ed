/* What an evaluation shows: metrics with their intervals, classes, who is taken for whom. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_METRICS = 24, MOST_CLASSES = 64, TOP = 64 /* above the matrix */ };

/* A metric of the list; whether it is a share, which is drawn. */
static bool read_metric(hn_page *p, const hn_json *all, size_t i, const char **name, double v[3]) {
    const hn_json *o = hn_page_item(p, all, "metrics", i);
    *name = hn_page_string(p, o, "name");
    v[0] = hn_page_number(p, o, "value");
    v[1] = hn_page_number(p, o, "low");
    v[2] = hn_page_number(p, o, "high");
    return *name != NULL && v[0] >= 0 && v[0] <= 1 && hn_page_bool(p, o, "is_share") != 0;
}

static void put_metrics(hn_page *p, const hn_json *all) {
    static const char *const heads[] = {"metric", "=value", "=low", "=high", NULL};
    hn_table_begin(p, "Data", heads);
    for (size_t i = 0; i < hn_page_count(all) && i < HN_MOST_ROWS; i++) {
        const char *name;
        double v[3];
        read_metric(p, all, i, &name, v);
        hn_table_row(p);
        hn_table_text(p, name);
        for (int k = 0; k < 3; k++) hn_table_number(p, v[k], 4);
    }
    hn_table_end(p, "Data");
}

/* A dot for each metric, with a line over its interval. */
static void draw_metrics(hn_page *p, const hn_json *all) {
    enum { ROW = 46 };
    size_t shown[MOST_METRICS], n = 0;
    const char *name;
    double v[3];
    char a[HN_SHOWN], b[HN_SHOWN], c[HN_SHOWN];
    hn_axis x = {1, 0, false, 8, 712};
    for (size_t i = 0; i < hn_page_count(all) && n < MOST_METRICS; i++) {
        if (!read_metric(p, all, i, &name, v)) continue;
        for (int k = 0; k < 3; k++) hn_axis_see(&x, v[k]);
        shown[n++] = i;
    }
    if (n == 0) {
        put_metrics(p, all);
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
        double at = (double)i * ROW + 36;
        read_metric(p, all, shown[i], &name, v);
        hn_page_print(p, "<text x=\"8\" y=\"%.0f\">", at - 12);
        hn_page_text(p, name);
        hn_page_print(p, "</text><text class=\"e v\" x=\"712\" y=\"%.0f\">%s</text>", at - 12,
                      hn_show(v[0], HN_UNIT_SHARE, a));
        if (isfinite(v[1]) && isfinite(v[2]))
            hn_page_print(p, "<path class=\"span\" d=\"M%.1f %.1fH%.1f\"/>", hn_axis_at(&x, v[1]),
                          at, hn_axis_at(&x, v[2]));
        hn_mark_point(p, "c1", 0, hn_axis_at(&x, v[0]), at, 5.5);
        hn_page_text(p, name);
        hn_page_print(p, ": %s (%s to %s)", a, hn_show(v[1], HN_UNIT_SHARE, b),
                      hn_show(v[2], HN_UNIT_SHARE, c));
        hn_mark_end(p);
    }
    hn_plot_end(p);
    put_metrics(p, all);
    hn_figure_end(p);
}

/* Rows are labels, columns answers; a cell is as dark as its share of the row. */
static void draw_confusion(hn_page *p, const hn_json *rows) {
    static const char *const heads[] = {"=label", "=answer", "=samples", NULL};
    size_t n = hn_page_count(rows);
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
        const hn_json *row = hn_page_row(p, rows, "confusion", i);
        double sum = 0, y = TOP + (double)i * cell;
        for (size_t k = 0; k < n; k++) {
            double v = hn_page_element(p, row, "confusion[]", k);
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
            double v = hn_page_element(p, row, "confusion[]", k), part = sum > 0 ? v / sum : 0;
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
        const hn_json *row = hn_page_row(p, rows, "confusion", i);
        for (size_t k = 0; k < n; k++) {
            double v = hn_page_element(p, row, "confusion[]", k);
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
    const hn_json *o = hn_page_enter(p, d), *all = hn_page_list(p, o, "metrics");
    double v[3] = {hn_page_number(p, o, "top1"), NAN, NAN};
    const char *name = "top-1";
    char a[HN_SHOWN], b[HN_SHOWN];
    bool part = true;
    if (hn_page_count(all) > 0) part = read_metric(p, all, 0, &name, v);
    if (!isfinite(v[0]) || name == NULL) return;
    hn_unit unit = part ? HN_UNIT_SHARE : HN_UNIT_PLAIN;
    hn_page_put(p, "<li>");
    hn_page_text(p, name);
    hn_page_print(p, " is <b>%s</b>", hn_show(v[0], unit, a));
    if (isfinite(v[1]) && isfinite(v[2]))
        hn_page_print(p, " (95 %% interval %s to %s)", hn_show(v[1], unit, a),
                      hn_show(v[2], unit, b));
    hn_page_print(p, " over %s samples of ",
                  hn_show(hn_page_number(p, o, "samples"), HN_UNIT_PLAIN, a));
    hn_page_text(p, hn_page_string(p, o, "data"));
    hn_page_put(p, ".</li>");
}

void hn_report_eval(hn_page *p, const hn_document *d) {
    const hn_json *o = hn_page_enter(p, d);
    const hn_json *metrics = hn_page_list(p, o, "metrics");
    hn_section_begin(p, "Accuracy");
    hn_page_of(p, hn_page_string(p, o, "model"));
    if (hn_page_count(metrics) > 0) draw_metrics(p, metrics);
    hn_page_enter(p, d);
    hn_table_facts(p, o);
    draw_confusion(p, hn_page_list(p, o, "confusion"));
    const hn_json *classes = hn_page_list(p, o, "classes_table");
    if (hn_page_count(classes) > 0) hn_table_of(p, "By class", classes, "classes_table");
    hn_section_end(p);
}

#endif
