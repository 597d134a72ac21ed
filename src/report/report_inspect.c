/* What a model is made of. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

enum { MOST_BARS = 16 };

static void draw_ops(hn_page *p, const hn_doc_inspect *o) {
    hn_bar bars[MOST_BARS];
    size_t n = 0;
    for (size_t i = 0; i < o->ops.n && n < MOST_BARS; i++) {
        const hn_doc_op_use *op = &o->ops.at[i];
        if (!(op->macs > 0)) continue;
        bars[n++] = (hn_bar){.label = op->op,
                             .look = "c1",
                             .value = op->macs,
                             .unit = HN_UNIT_COUNT,
                             .share = op->macs / o->macs};
    }
    if (n == 0) return;
    hn_page_bars(p, "Multiply-adds by operator", "The operators that compute most.", bars, n);
    hn_page_bars_end(p, bars, n);
}

void hn_report_inspect(hn_page *p, const hn_document *d) {
    hn_section_begin(p, "The model");
    draw_ops(p, d->inspect);
    hn_table_facts(p, d->root);
    hn_table_of(p, "Operators", d->inspect->ops.json);
    hn_section_end(p);
}

#endif
