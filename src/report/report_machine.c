/* What the machine is, and its measured limits. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

void hn_report_machine(hn_page *p, const hn_document *d) {
    static const char *const lists[] = {"peaks", "bandwidths", "caches"};
    static const char *const titles[] = {"Arithmetic", "Bandwidth", "Caches"};
    const hn_json *o = hn_page_enter(p, d);
    hn_section_begin(p, "The machine");
    hn_table_facts(p, o);
    for (int i = 0; i < 3; i++) {
        const hn_json *list = hn_page_list(p, o, lists[i]);
        if (hn_page_count(list) == 0) continue;
        hn_page_print(p, "<h3>%s</h3>", titles[i]);
        hn_table_of(p, NULL, list, lists[i]);
    }
    hn_section_end(p);
}

#endif
