/* What a model is made of. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

enum { MOST_BARS = 16 };

static void draw_ops(hn_page *p, const hn_json *ops, double macs) {
    hn_bar bars[MOST_BARS];
    size_t n = 0;
    for (size_t i = 0; i < hn_page_count(ops) && n < MOST_BARS; i++) {
        const hn_json *o = hn_page_item(p, ops, "ops", i);
        double v = hn_page_number(p, o, "macs");
        if (!(v > 0)) continue;
        bars[n++] = (hn_bar){.label = hn_page_string(p, o, "op"),
                             .look = "c1",
                             .value = v,
                             .unit = HN_UNIT_COUNT,
                             .share = v / macs};
    }
    if (n == 0) return;
    hn_page_bars(p, "Multiply-adds by operator", "The operators that compute most.", bars, n);
    hn_page_bars_end(p, bars, n);
}

void hn_report_inspect(hn_page *p, const hn_document *d) {
    const hn_json *o = hn_page_enter(p, d), *ops = hn_page_list(p, o, "ops");
    hn_section_begin(p, "The model");
    draw_ops(p, ops, hn_page_number(p, o, "macs"));
    hn_table_facts(p, o);
    if (hn_page_count(ops) > 0) hn_table_of(p, "Operators", ops, "ops");
    hn_section_end(p);
}

#endif
