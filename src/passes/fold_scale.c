/* Constants added to or multiplied with the output of a convolution go into its weights.
 *
 *     h = Conv (x, W, B)
 *     y = Mul (h, s)          becomes    y = Conv (x, W * s, B * s)      also Div (h, s)
 *     y = Add (h, s)          becomes    y = Conv (x, W, B + s)          also Sub (h, s), Sub (s, h)
 *
 * Fires after Conv, ConvTranspose and Gemm with constant weights whose output nothing else uses,
 * when s is a finite constant of one number or of one number per channel.
 */
#include <math.h>

#include "passes/affine.h"

/* s broadcasts over an output of that rank with one number, or one per channel. */
static bool per_channel(const hn_tensor *s, int rank, int64_t channels) {
    if (s == NULL || s->rank > rank || !hn_dtype_in(s->dtype, HN_DTYPES_FLOAT)) return false;
    for (int i = 0; i < s->rank; i++) {
        bool channel = i + rank - s->rank == 1;
        if (s->dims[i] != 1 && !(channel && s->dims[i] == channels)) return false;
    }
    return true;
}

/* What s makes of one element h of the output: scale * h + shift. */
static void effect(const hn_node *n, int at, double s, double *scale, double *shift) {
    *scale = 1;
    *shift = 0;
    if (hn_is(n, "Add")) *shift = s;
    if (hn_is(n, "Sub")) *shift = at == 1 ? -s : s;
    if (hn_is(n, "Sub") && at == 0) *scale = -1;
    if (hn_is(n, "Mul")) *scale = s;
    if (hn_is(n, "Div")) *scale = 1 / s;
}

static hone_status fold_input(hn_pass_ctx *c, hn_node *n, int at, hn_node *p, hn_error *err) {
    const hn_tensor *s = hn_const_in(n, at);
    int64_t channels;
    int rank = p->outputs[0]->type.shape.rank;
    if (rank < 2 || !hn_affine_fits(p, &channels) || !per_channel(s, rank, channels))
        return HONE_OK;
    double *scale = hn_arena_array(&c->scratch, (size_t)channels, sizeof *scale);
    double *shift = hn_arena_array(&c->scratch, (size_t)channels, sizeof *shift);
    if (scale == NULL || shift == NULL) return HN_NOMEM(err);
    for (int64_t k = 0; k < channels; k++) {
        effect(n, at, hn_tensor_f64(s, s->n == 1 ? 0 : k), &scale[k], &shift[k]);
        if (!isfinite(scale[k]) || !isfinite(shift[k])) return HONE_OK;
    }
    return hn_affine_fold(c, n, p, scale, shift, err);
}

static hone_status fold(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    static const char *const ops[] = {"Conv", "ConvTranspose", "Gemm"};
    bool both = hn_is(n, "Add") || hn_is(n, "Mul") || hn_is(n, "Sub");
    if (!both && !hn_is(n, "Div")) return HONE_OK;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        hn_node *first = hn_feeds_only(n, 0, ops[i]), *second = hn_feeds_only(n, 1, ops[i]);
        if (first != NULL && hn_const_in(n, 1) != NULL) return fold_input(c, n, 1, first, err);
        if (second != NULL && both && hn_const_in(n, 0) != NULL)
            return fold_input(c, n, 0, second, err);
    }
    return HONE_OK;
}

hone_status hn_pass_fold_scale(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, fold, err);
}
