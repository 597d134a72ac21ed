/* What pruning and its like show: how much less there is, and what became of each layer. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BARS = 60 };

typedef hn_doc_shrinking made;
typedef hn_doc_shrunk_layer layer;

/* Of any verb that has such a document. */
static const made *made_of(const hn_document *d) {
    return d->cluster != NULL     ? &d->cluster->shrinking
           : d->factorize != NULL ? &d->factorize->shrinking
           : d->replace != NULL   ? &d->replace->shrinking
                                  : &d->prune->shrinking;
}

void hn_report_say_shrink(hn_page *p, const hn_document *d) {
    const made *o = made_of(d);
    char a[HN_SHOWN], b[HN_SHOWN];
    double was = o->before.params - o->before.zeros, is = o->after.params - o->after.zeros;
    if (was > 0 && is > 0)
        hn_page_print(p, "<li>Of %s parameters that are not zero <b>%s</b> are left.</li>",
                      hn_show(was, HN_UNIT_COUNT, a), hn_show(is, HN_UNIT_COUNT, b));
    if (o->before.ms > 0 && o->after.ms > 0)
        hn_page_print(p, "<li>A run takes %s \xe2\x86\x92 %s on this machine.</li>",
                      hn_show(o->before.ms, HN_UNIT_MS, a), hn_show(o->after.ms, HN_UNIT_MS, b));
    hn_page_put(p, "<li>What it costs in accuracy, <code>hone compare</code> tells.</li>");
}

static void put_totals(hn_page *p, const made *o) {
    const struct {
        double was, is;
        hn_unit unit;
        const char *what;
    } rows[] = {{o->before.file_bytes, o->after.file_bytes, HN_UNIT_BYTES, "smaller file"},
                {o->before.params - o->before.zeros, o->after.params - o->after.zeros,
                 HN_UNIT_COUNT, "fewer weights that are not zero"},
                {o->before.macs, o->after.macs, HN_UNIT_COUNT, "fewer multiply-accumulates"},
                {o->before.ms, o->after.ms, HN_UNIT_MS, "as fast"}};
    char a[HN_SHOWN], b[HN_SHOWN];
    hn_page_put(p, "<dl class=\"tiles\">");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double ratio = rows[i].was / rows[i].is;
        if (!(rows[i].was > 0 && rows[i].is > 0) || !isfinite(ratio)) continue;
        hn_page_print(p, "<div><dd>%.2f\xc3\x97</dd><dt>%s<br>%s \xe2\x86\x92 %s</dt></div>", ratio,
                      rows[i].what, hn_show(rows[i].was, rows[i].unit, a),
                      hn_show(rows[i].is, rows[i].unit, b));
    }
    hn_page_put(p, "</dl>");
}

/* Of each layer that was changed, the share of its weights that is left. */
static void draw_layers(hn_page *p, const made *o) {
    hn_bar bars[MOST_BARS];
    size_t n = 0;
    for (size_t i = 0; i < o->layers.n && n < MOST_BARS; i++) {
        const layer *l = &o->layers.at[i];
        if (l->what == NULL || !(l->weights > 0) || !(l->kept >= 0)) continue;
        bars[n++] = (hn_bar){.label = l->layer,
                             .note = l->what,
                             .look = "c1",
                             .value = l->kept / l->weights,
                             .unit = HN_UNIT_SHARE,
                             .share = NAN};
    }
    if (n < 2) return;
    hn_page_bars(p, "Weights that are left",
                 "The share of each layer's weights that is not zero afterwards.", bars, n);
    hn_page_bars_end(p, bars, n);
}

static void put_layers(hn_page *p, const made *o) {
    static const char *const heads[] = {"layer",  "change", "=weights", "=not zero", "=MACs",
                                        "=after", "=ms",    "=after",   "=noise",    NULL};
    hn_table_begin(p, NULL, heads);
    for (size_t i = 0; i < o->layers.n && i < HN_MOST_ROWS && p->status == HONE_OK; i++) {
        const layer *l = &o->layers.at[i];
        hn_table_row(p);
        hn_table_text(p, l->layer);
        hn_table_text(p, l->what != NULL ? l->what : l->why_not);
        hn_table_shown(p, l->weights, HN_UNIT_COUNT);
        hn_table_shown(p, l->kept, HN_UNIT_COUNT);
        hn_table_shown(p, l->macs_before, HN_UNIT_COUNT);
        hn_table_shown(p, l->macs_after, HN_UNIT_COUNT);
        hn_table_shown(p, l->ms_before, HN_UNIT_MS);
        hn_table_shown(p, l->ms_after, HN_UNIT_MS);
        hn_table_number(p, l->error, 6);
    }
    hn_table_end(p, NULL);
}

/* ---- what each layer loses alone ---- */

enum { MOST_SCANNED = 200, ROW = 22, TOP = 44, LABELS = 220 };

static double at(const hn_numbers *v, size_t i) { return i < v->n ? v->at[i] : NAN; }

/* The worst and the best of all cells; false: there are no two numbers. */
static bool find_span(const hn_doc_prune *o, bool scored, double *lo, double *hi) {
    *lo = INFINITY;
    *hi = -INFINITY;
    for (size_t i = 0; i < o->scan.n; i++) {
        const hn_numbers *row = scored ? &o->scan.at[i].scores : &o->scan.at[i].sqnr;
        for (size_t k = 0; k < o->scan_levels.n; k++) {
            double v = at(row, k);
            if (!isfinite(v)) continue;
            *lo = fmin(*lo, v);
            *hi = fmax(*hi, v);
        }
    }
    return *lo < *hi;
}

/* Layers by shares: the darker a cell, the nearer it is to the worst of all. Of the metric cells are
 * printed in percent where that is what it is. */
static void draw_scan(hn_page *p, const hn_doc_prune *o) {
    size_t rows = o->scan.n < MOST_SCANNED ? o->scan.n : MOST_SCANNED, columns = o->scan_levels.n;
    bool scored = o->scan_metric != NULL;
    double lo, hi, width = (double)(HN_PLOT_WIDTH - LABELS) / (double)(columns > 0 ? columns : 1);
    if (rows == 0 || columns == 0 || !find_span(o, scored, &lo, &hi)) return;
    hn_plot_begin(p, "What each layer loses alone",
                  scored
                      ? "The metric of the model when so much of one layer is gone: a row for "
                        "each layer, a column for each share; darker cells are worse."
                      : "Signal to noise of the outputs in dB when so much of one layer is gone: "
                        "a row for each layer, a column for each share; darker cells are worse.",
                  TOP + ROW * (int)rows + 10);
    for (size_t k = 0; k < columns; k++)
        hn_page_print(p, "<text class=\"m\" x=\"%.1f\" y=\"%d\">%.3g %%</text>",
                      LABELS + ((double)k + 0.5) * width, TOP - 10, 100 * at(&o->scan_levels, k));
    for (size_t i = 0; i < rows; i++) {
        const hn_doc_scanned *l = &o->scan.at[i];
        double y = TOP + ROW * (double)i;
        hn_page_print(p, "<text class=\"e\" x=\"%d\" y=\"%.1f\" dy=\".35em\">", LABELS - 8,
                      y + ROW / 2.0);
        hn_page_text(p, l->layer != NULL ? l->layer : "");
        hn_page_put(p, "</text>");
        for (size_t k = 0; k < columns; k++) {
            double v = at(scored ? &l->scores : &l->sqnr, k);
            double worse = isfinite(v) ? (hi - v) / (hi - lo) : 0, x = LABELS + (double)k * width;
            p->marks++;
            hn_page_print(p,
                          "<rect class=\"mark c2\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                          "height=\"%d\" fill-opacity=\"%.3f\"><title>",
                          x, y, width - 1, ROW - 1, 0.05 + 0.9 * worse);
            hn_page_text(p, l->layer != NULL ? l->layer : "");
            hn_page_print(p, ", %.3g %% gone: ", 100 * at(&o->scan_levels, k));
            hn_page_print(p, isfinite(v) ? "%.4g%s" : "as before", v, scored ? "" : " dB");
            hn_page_put(p, "</title></rect>");
            if (isfinite(v))
                hn_page_print(p,
                              "<text class=\"m cell%s\" x=\"%.1f\" y=\"%.1f\" dy=\".35em\">"
                              "%.3g</text>",
                              worse > 0.5 ? " on" : "", x + width / 2, y + ROW / 2.0, v);
        }
    }
    hn_plot_end(p);
    hn_table_of(p, "What each layer loses alone, as a table", o->scan.json);
    hn_figure_end(p);
}

void hn_report_shrink(hn_page *p, const hn_document *d) {
    const made *o = made_of(d);
    if (d->prune != NULL && d->prune->scan.n > 0) {
        hn_section_begin(p, "How sensitive the layers are");
        hn_page_of(p, o->model);
        draw_scan(p, d->prune);
        hn_section_end(p);
    }
    if (o->output == NULL) return;
    hn_section_begin(p, "What became of it");
    hn_page_of(p, o->output);
    put_totals(p, o);
    draw_layers(p, o);
    put_layers(p, o);
    hn_section_end(p);
}

#endif
