/* What other runtimes make of candidates: rows of runtimes.def, for where they cannot be measured.
 */
#ifndef HN_ADVISE_RUNTIMES_H
#define HN_ADVISE_RUNTIMES_H

#include "advise/candidates.h"

typedef enum hn_rule_gain { HN_RULE_NO, HN_RULE_SMALLER, HN_RULE_FASTER } hn_rule_gain;

typedef struct hn_rule {
    const char *runtime; /* a name of compress/targets.def */
    const char *type;    /* a name of layer_types.def */
    hn_rule_gain gain;
    bool products; /* of products with matrices alone */
    const char *why;
} hn_rule;

/* The rule that a candidate stands or falls by: the worst of its types if that is NO, else the best
 * of them. One with NO if there is no row. */
const hn_rule *hn_rule_of(const char *runtime, const hn_recipe *r);
/* Whether most weights of a model are matrices that something is multiplied by. */
bool hn_rule_is_of_products(const hn_graph *g);

#endif
