/* Models that a package holds ready to run: found when a session begins, made when a package is
 * written. */
#ifndef HN_API_READY_H
#define HN_API_READY_H

#include "api/api.h"
#include "formats/package.h"

/* What a package has for the sessions of its model. */
typedef struct hn_api_ready hn_api_ready;

/* Takes it for the sessions of m, which was loaded from the package: those that begin later find it.
 * What is damaged is left alone. */
hone_status hn_api_ready_open(hone_model *m, hn_file *package, hn_error *err);
/* None any more: the model is another now, or goes. */
void hn_api_ready_close(hone_model *m);
/* Why this library, limited to that instruction set, does not use what was made so; NULL: it does. */
const char *hn_api_ready_unused(const hn_package_machine *made, hn_isa isa);

/* A model made ready, for hn_package_options. */
typedef struct hn_api_maker hn_api_maker;
/* isa and dims as in hone_package_options; isa names one. m is the maker's own, on failure too. */
hone_status hn_api_maker_create(hn_api_maker **out, hone_model *m, const char *isa,
                                const char *dims, hn_error *err);
void hn_api_maker_destroy(hn_api_maker *k); /* NULL accepted */
const hn_package_made *hn_api_maker_made(const hn_api_maker *k);

#endif
