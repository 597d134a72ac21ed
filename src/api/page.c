/* hone_report_write: the page of src/report. */
#include "api/api.h"
#include "report/report.h"

HN_DEFINE_OPTIONS(report, 0)

hone_status hone_report_write(const char *const *documents, size_t n, const char *path,
                              const hone_report_options *options, hone_error *err) {
    HN_CHECK(err, n == 0 || documents != NULL, HONE_E_ARG, "documents is NULL");
    HN_CHECK(err, path != NULL, HONE_E_ARG, "path is NULL");
    hone_report_options o;
    HN_TRY(HN_TAKE_OPTIONS(report, &o, options, err));
    return hn_report_write(documents, n, path, o.names, hn_allocator_default(), err);
}
