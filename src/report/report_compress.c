/* What hone compress and hone apply show: how large the model is after each stage, and how good. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>

enum { MOST_BARS = 70 };

typedef hn_doc_compressed made;
typedef hn_doc_stage_done stage;

static const made *made_by(const hn_document *d) {
    return d->compress != NULL ? &d->compress->compressed : &d->apply->compressed;
}

void hn_report_say_compress(hn_page *p, const hn_document *d) {
    const made *o = made_by(d);
    char a[HN_SHOWN], b[HN_SHOWN];
    if (o->source_bytes > 0 && o->output_bytes > 0)
        hn_page_print(p, "<li>The file: %s \xe2\x86\x92 %s, <b>%.1f times smaller</b>.</li>",
                      hn_show(o->source_bytes, HN_UNIT_BYTES, a),
                      hn_show(o->output_bytes, HN_UNIT_BYTES, b),
                      o->source_bytes / o->output_bytes);
    if (o->stages.n < 2) return;
    const stage *first = &o->stages.at[0], *last = &o->stages.at[o->stages.n - 1];
    if (isnan(first->val) || isnan(last->val) || o->metric == NULL) return;
    hn_page_put(p, "<li>");
    hn_page_text(p, o->metric);
    hn_page_print(p, ": %.4f \xe2\x86\x92 %.4f.</li>", first->val, last->val);
}

static void draw_sizes(hn_page *p, const made *o) {
    hn_bar bars[MOST_BARS];
    char notes[MOST_BARS][32];
    size_t n = 0;
    for (size_t i = 0; i < o->stages.n && n < MOST_BARS; i++) {
        const stage *s = &o->stages.at[i];
        if (!(s->package_bytes > 0)) continue;
        notes[n][0] = '\0';
        if (!isnan(s->val)) snprintf(notes[n], sizeof notes[n], "%.4f", s->val);
        bars[n] = (hn_bar){.label = s->line,
                           .note = notes[n],
                           .look = "c1",
                           .value = s->package_bytes,
                           .unit = HN_UNIT_BYTES,
                           .share = NAN};
        n++;
    }
    if (n < 2) return;
    hn_page_bars(p, "Size of the package", "What the package takes after each stage.", bars, n);
    hn_page_bars_end(p, bars, n);
}

static void put_stages(hn_page *p, const made *o) {
    const char *const heads[] = {
        "stage", "=not zero", "=package", "=times smaller", o->metric != NULL ? "=metric" : NULL,
        NULL};
    hn_table_begin(p, NULL, heads);
    for (size_t i = 0; i < o->stages.n && i < HN_MOST_ROWS && p->status == HONE_OK; i++) {
        const stage *s = &o->stages.at[i];
        hn_table_row(p);
        hn_table_text(p, s->line);
        hn_table_shown(p, s->not_zero, HN_UNIT_COUNT);
        hn_table_shown(p, s->package_bytes, HN_UNIT_BYTES);
        hn_table_number(p, o->source_bytes / s->package_bytes, 2);
        if (o->metric != NULL) hn_table_number(p, s->val, 4);
    }
    hn_table_end(p, NULL);
}

void hn_report_compress(hn_page *p, const hn_document *d) {
    const made *o = made_by(d);
    hn_section_begin(p, "Stages");
    hn_page_of(p, o->output);
    draw_sizes(p, o);
    put_stages(p, o);
    hn_section_end(p);
}

#endif
