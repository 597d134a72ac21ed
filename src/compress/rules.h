/* Rules of a scheme, checked against a model before anything is done. */
#ifndef HN_COMPRESS_RULES_H
#define HN_COMPRESS_RULES_H

#include "compress/scheme.h"

/* HONE_E_ARG: a rule that no node's name matches, or one for integers whose type quantizes none of
 * the nodes it matches. The message names the nearest layers, or what is in the way. */
hone_status hn_rules_check(const hn_graph *g, const hn_scheme *s, hn_error *err);

#endif
