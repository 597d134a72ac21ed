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

void hn_report_shrink(hn_page *p, const hn_document *d) {
    const made *o = made_of(d);
    hn_section_begin(p, "What became of it");
    hn_page_of(p, o->output);
    put_totals(p, o);
    draw_layers(p, o);
    put_layers(p, o);
    hn_section_end(p);
}

#endif
