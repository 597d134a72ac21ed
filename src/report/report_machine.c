/* What the machine is, and its measured limits. */
#include "report/report_page.h"

#if HN_HAVE_JANSSON

static void put_list(hn_page *p, const char *title, size_t n, const hn_json *list) {
    if (n == 0) return;
    hn_page_print(p, "<h3>%s</h3>", title);
    hn_table_of(p, NULL, list);
}

void hn_report_machine(hn_page *p, const hn_document *d) {
    const hn_doc_machine *o = d->machine;
    hn_section_begin(p, "The machine");
    hn_table_facts(p, d->root);
    put_list(p, "Arithmetic", o->limits.peaks.n, o->limits.peaks.json);
    put_list(p, "Bandwidth", o->limits.bandwidths.n, o->limits.bandwidths.json);
    put_list(p, "Caches", o->caches.n, o->caches.json);
    hn_section_end(p);
}

#endif
