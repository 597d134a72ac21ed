/* The ramp of hard sigmoid and hard swish. */
#ifndef HN_PASSES_HARD_H
#define HN_PASSES_HARD_H

#include "passes/pass.h"

/* v, used once in g, is Clip (x + 3, 0, 6): *x. */
bool hn_hard_ramp(const hn_value *v, const hn_graph *g, hn_value **x);

#endif
