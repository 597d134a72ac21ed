/* hone_report_write: the report of src/measure. */
#include "api/api.h"
#include "measure/report.h"

void hone_report_options_init(hone_report_options *o) {
    *o = (hone_report_options){.size = sizeof *o};
}

hone_status hone_report_write(const char *const *documents, size_t n, const char *path,
                              const hone_report_options *options, hone_error *err) {
    HN_CHECK(err, n == 0 || documents != NULL, HONE_E_ARG, "documents is NULL");
    HN_CHECK(err, path != NULL, HONE_E_ARG, "path is NULL");
    hone_report_options o;
    hone_report_options_init(&o);
    if (options != NULL) HN_TAKE_OPTIONS(o, options);
    return hn_report_write(documents, n, path, o.names, hn_allocator_default(), err);
}
