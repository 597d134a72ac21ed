/* Division by the root of the mean square: what RMSNormalization is, and LayerNormalization once
 * the mean is subtracted. */
#ifndef HN_PASSES_RMS_H
#define HN_PASSES_RMS_H

#include "passes/pass.h"

typedef struct hn_rms {
    hn_value *x;
    int n_axes; /* the last ones, over which the mean goes */
    double epsilon;
} hn_rms;

/* The output of n is x / sqrt(mean(x * x) + epsilon), spelled out. */
bool hn_rms_match(const hn_node *n, hn_rms *r);
/* n is ReduceMean over that many last axes, which it keeps. */
bool hn_mean_over(const hn_node *n, int n_axes);

/* Puts `op` of x, with ones as its scale, in the place of root, whose output has x's type. Does
 * nothing when sizes are not known or the type is not f32 or shorter: the operators compute in
 * f32. */
hone_status hn_norm_form(hn_pass_ctx *c, hn_node *root, const char *op, hn_value *x,
                         const hn_rms *r, hn_error *err);
/* n multiplies the output of `op`, whose scale is ones, with what its scale can hold: it then
 * does. */
hone_status hn_norm_scale(hn_pass_ctx *c, hn_node *n, const char *op);
/* v, defined before every node, has the sizes of the last axes of x from `axis` on. */
bool hn_norm_parameter(const hn_value *v, const hn_value *x, int64_t axis);

#endif
