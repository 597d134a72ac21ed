/* Convolutions and matrix products in integers: steps of conv_q8.
 *
 * However an operator says what its integers stand for, it comes down to the same:
 *
 *   x, w    integers, with zero points; the scales sx, sw[n]
 *   bias    in units of sx * sw[n], as s32; one that is not becomes so, rounded once
 *   result  u8 or s8 by m[n] = sx * sw[n] / sy; f32 by sx * sw[n]; the s32 sums
 *
 * sx may differ between the input channels where each output channel sees but one (depthwise), and
 * sy between the output channels: m[n] takes them up. Zero points are the same for all.
 *
 * Weights are in place and packed by the kernel; those of fewer than 8 bits become s8 when they are
 * packed. Zero points of theirs are subtracted here where they are constant and the differences are
 * still s8; else the kernel does that with each product. A bias that is not constant is in units of
 * the sums.
 */
#include <math.h>
#include <string.h>

#include "engine/lower_quant.h"
#include "kernels/conv_q8/conv_q8.h"
#include "kernels/space.h"

typedef enum bias_kind { NO_BIAS, SUMS, NUMBERS } bias_kind;

typedef struct product {
    const hn_node *node;
    hn_quant x, w;         /* x.scale NULL: 1, or `scale` */
    hn_view scale, zero;   /* of x, where only running tells; buffer -1: x's */
    bias_kind bias;        /* as s32 in units of the sums, or as floats */
    hn_quant b;            /* b.scale NULL: as they are */
    const hn_tensor *b_is; /* the contents; NULL: only running tells */
    double alpha;          /* multiplies the product */
    int64_t group;         /* output channels to one that x has a scale for */
    hn_quant y;            /* the result; scale NULL: f32 or s32 */
    const hn_quant *r;     /* added to it, or NULL */
    double lo, hi;         /* limits of the result */
} product;

/* Units of the sums are x_scale * w_scale; alpha may be of either sign. */
static double x_scale(const product *p, int64_t n) {
    return p->alpha * (p->x.scale != NULL ? hn_quant_scale(&p->x, n / p->group) : 1);
}
static double w_scale(const product *p, int64_t n) {
    return p->w.scale != NULL ? hn_quant_scale(&p->w, n) : 1;
}

static bool is_conv(const hn_node *n) {
    const hn_weights_def *of = hn_quant_plain(n)->weights;
    return of != NULL && of->kind == HN_WEIGHT_WINDOWS;
}

/* ---- what kernels take ---- */

static bool has_one_zero(const hn_quant *q) {
    for (int64_t i = 1; q->zero != NULL && i < q->zero->n; i++)
        if (hn_quant_zero(q, i) != hn_quant_zero(q, 0)) return false;
    return true;
}

/* A scale for each channel of the activations. */
static const char *refuse_channels(const product *p) {
    if (p->x.axis >= 0) {
        if (!is_conv(p->node) || p->x.axis != 1 || p->w.view.rank < 2 || p->w.view.dims[1] != 1)
            return "a scale for each index of an axis that is summed over";
        if (!has_one_zero(&p->x)) return "channels of the activations differ in their zero point";
    }
    if (p->y.axis < 0) return NULL;
    if (p->y.axis != (is_conv(p->node) ? 1 : p->y.view.rank - 1) || p->r != NULL)
        return "a result with a scale for each index of an axis";
    if (!has_one_zero(&p->y)) return "channels of the result differ in their zero point";
    for (int64_t i = 1; i < p->y.scale->n; i++)
        if (hn_quant_at(&p->y, i, p->lo) != hn_quant_at(&p->y, 0, p->lo) ||
            hn_quant_at(&p->y, i, p->hi) != hn_quant_at(&p->y, 0, p->hi))
            return "channels of the result differ in the integers that are their limits";
    return NULL;
}

/* Weights that are s8 once they are packed. */
static bool is_narrow(hone_dtype t) { return hn_dtype_is_int(t) && hone_dtype_bits(t) < 8; }

static const char *refuse_operands(const product *p) {
    if (!hn_quant_is_byte(p->x.view.dtype)) return "not of 8 bits";
    if (!hn_quant_is_byte(p->w.view.dtype) && !is_narrow(p->w.view.dtype))
        return "weights of more than 8 bits";
    if (p->y.scale != NULL && !hn_quant_is_byte(p->y.view.dtype)) return "a result not of 8 bits";
    return refuse_channels(p);
}

/* Weights that only running tells must be bytes. */
static const char *refuse_weights(const hn_lower *L, const product *p) {
    bool computed = !hn_lower_is_constant(L, &p->w.view);
    return computed && is_narrow(p->w.view.dtype) ? "computed weights of fewer than 8 bits" : NULL;
}

/* A factor that conv_q8 takes. */
static bool is_usable(float m) { return fabsf(m) < 0x1p63f; }

/* The factor of each of n channels. */
static hone_status make_factors(hn_lower *L, const product *p, int64_t n, hn_view *v,
                                const char **why, hn_error *err) {
    hn_tensor *t;
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, n, &t, v, err));
    for (int64_t i = 0; i < n; i++) {
        double y = p->y.scale != NULL ? hn_quant_scale(&p->y, i) : 1;
        float m = hn_requant_scale(x_scale(p, i), w_scale(p, i), y);
        if (!is_usable(m)) *why = "scales too far apart";
        ((float *)t->data)[i] = m;
    }
    return HONE_OK;
}

static double bias_number(const product *p, int64_t i) {
    double b = hn_tensor_f64(p->b_is, p->b_is->n == 1 ? 0 : i);
    if (p->b.scale == NULL) return b;
    return (b - (double)hn_quant_zero(&p->b, i)) * hn_quant_scale(&p->b, i);
}

/* The bias in units of the sums. */
static double bias_sum(const product *p, int64_t i) {
    double b = hn_tensor_f64(p->b_is, p->b_is->n == 1 ? 0 : i);
    double unit = x_scale(p, i) * w_scale(p, i);
    if (p->bias == SUMS) return b;
    bool same = p->b.scale != NULL && p->b_is->dtype == HONE_DTYPE_S32 &&
                (float)hn_quant_scale(&p->b, i) == (float)unit;
    return same ? b - (double)hn_quant_zero(&p->b, i) : rint(bias_number(p, i) / unit);
}

static hone_status make_bias(hn_lower *L, const product *p, int64_t n, bool sums, hn_view *v,
                             const char **why, hn_error *err) {
    hn_tensor *t;
    HN_TRY(hn_lower_constant(L, sums ? HONE_DTYPE_S32 : HONE_DTYPE_F32, n, &t, v, err));
    for (int64_t i = 0; i < n; i++) {
        double b = sums ? bias_sum(p, i) : bias_number(p, i);
        if (!sums) {
            ((float *)t->data)[i] = (float)b;
        } else if (fabs(b) <= INT32_MAX) {
            ((int32_t *)t->data)[i] = (int32_t)b;
        } else {
            ((int32_t *)t->data)[i] = 0;
            *why = "a bias that is not s32 in units of the product";
        }
    }
    return HONE_OK;
}

/* All of a constant, not a part of it. */
static bool is_whole(const hn_lower *L, const hn_view *v) {
    return v->offset == 0 && hn_view_count(v) == L->plan->buffers[v->buffer].tensor->n;
}

/* The weights without their zero points, where that is s8; fits false: it is not. */
static hone_status subtract_zeros(hn_lower *L, const product *p, hn_view *w, bool *fits,
                                  hn_error *err) {
    const hn_tensor *from = L->plan->buffers[p->w.view.buffer].tensor;
    int64_t step = 1, size = 1; /* of the axis the zero points run along, as the weights lie */
    if (p->w.axis >= 0) {
        step = p->w.view.strides[p->w.axis];
        size = p->w.view.dims[p->w.axis];
    }
    *fits = is_whole(L, &p->w.view);
    for (int64_t i = 0; i < from->n && *fits; i++) {
        int64_t d = hn_tensor_s64(from, i) - hn_quant_zero(&p->w, i / step % size);
        *fits = d >= -128 && d <= 127;
    }
    if (!*fits) return HONE_OK;
    hn_tensor *t;
    hn_view made;
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_S8, from->n, &t, &made, err));
    for (int64_t i = 0; i < from->n; i++)
        ((int8_t *)t->data)[i] =
            (int8_t)(hn_tensor_s64(from, i) - hn_quant_zero(&p->w, i / step % size));
    w->buffer = made.buffer;
    w->dtype = HONE_DTYPE_S8;
    return HONE_OK;
}

/* Whether there is anything but 0 to take from the weights. Those of u8, of which conv_q8 wants to
 * know the zero points in any case, count too: without them most are s8. */
static bool has_zeros(const hn_quant *w) {
    if (w->view.dtype == HONE_DTYPE_U8) return true;
    for (int64_t i = 0; w->zero != NULL && i < w->zero->n; i++)
        if (hn_tensor_s64(w->zero, i) != 0) return true;
    return false;
}

/* Whether all zero points are what conv_q8 takes for granted. */
static bool has_middle_zeros(const hn_quant *w) {
    int64_t n = w->zero != NULL ? w->zero->n : 1;
    for (int64_t i = 0; i < n; i++)
        if (hn_quant_zero(w, i) != (w->view.dtype == HONE_DTYPE_U8 ? 128 : 0)) return false;
    return true;
}

/* ---- the step ---- */

/* The constants of a product of n channels. */
typedef struct constants {
    hn_view w, wz, m, bias;
} constants;

static hone_status make_constants(hn_lower *L, const product *p, int64_t n, constants *c,
                                  const char **why, hn_error *err) {
    *c = (constants){.w = p->w.view, .wz.buffer = -1, .m.buffer = -1, .bias.buffer = -1};
    bool fits = true, sums = p->y.view.dtype != HONE_DTYPE_F32;
    if (!hn_lower_is_constant(L, &p->w.view))
        fits = has_middle_zeros(&p->w);
    else if (has_zeros(&p->w))
        HN_TRY(subtract_zeros(L, p, &c->w, &fits, err));
    if (is_narrow(c->w.dtype)) {
        if (!is_whole(L, &c->w)) *why = "a part of weights of fewer than 8 bits";
        c->w.dtype = HONE_DTYPE_S8;
    }
    if (!fits) {
        hn_tensor *t;
        HN_TRY(hn_lower_constant(L, HONE_DTYPE_S32, n, &t, &c->wz, err));
        for (int64_t i = 0; i < n; i++) ((int32_t *)t->data)[i] = (int32_t)hn_quant_zero(&p->w, i);
    }
    if (p->y.view.dtype != HONE_DTYPE_S32) HN_TRY(make_factors(L, p, n, &c->m, why, err));
    if (p->bias != NO_BIAS && p->b_is == NULL)
        c->bias = p->b.view;
    else if (p->bias != NO_BIAS)
        HN_TRY(make_bias(L, p, n, sums || p->bias == SUMS, &c->bias, why, err));
    return HONE_OK;
}

/* Weights that are narrower than w says are widened when they are packed, as they lie. */
static hone_status widen_weights(hn_lower *L, hn_step *s, const hn_view *w, hn_error *err) {
    const hn_tensor *t = L->plan->buffers[w->buffer].tensor;
    if (t == NULL || t->dtype == w->dtype) return HONE_OK;
    hn_view *v = hn_arena_zero(&L->plan->arena, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    *v = (hn_view){
        .buffer = w->buffer, .dtype = w->dtype, .rank = 1, .dims = {t->n}, .strides = {1}};
    s->weights = v;
    return HONE_OK;
}

/* q: sizes, window and strides are set, those of r too. Declines by *why. */
static hone_status add_step(hn_lower *L, const product *p, hn_conv_q8 *q, const hn_view *x,
                            const hn_view *r, const hn_view *y, hn_step **out, const char **why,
                            hn_error *err) {
    constants c;
    HN_TRY(make_constants(L, p, q->n, &c, why, err));
    q->x = hn_quant_type(x->dtype);
    q->w_type = hn_quant_type(c.w.dtype);
    q->w_zero_points = c.wz.buffer >= 0;
    q->y = q->r_type = hn_quant_type(y->dtype);
    q->xz = (int32_t)hn_quant_zero(&p->x, 0);
    if (p->y.scale != NULL) {
        q->yz = (int32_t)hn_quant_zero(&p->y, 0);
        q->lo = hn_quant_of(&p->y, p->lo);
        q->hi = hn_quant_of(&p->y, p->hi);
    }
    if (r != NULL) {
        q->r_type = hn_quant_type(r->dtype);
        q->rz = (int32_t)hn_quant_zero(p->r, 0);
        q->mr = hn_requant_scale(hn_quant_scale(p->r, 0), 1, hn_quant_scale(&p->y, 0));
        if (!is_usable(q->mr)) *why = "scales too far apart";
    }
    if (*why != NULL) return HONE_OK;
    hn_step *s;
    HN_TRY(hn_lower_step(L, p->node, &hn_conv_q8_family, q, sizeof *q, &s, err));
    hn_step_reads(s, HN_CONV_Q8_X, x);
    hn_step_reads(s, HN_CONV_Q8_W, &c.w);
    HN_TRY(widen_weights(L, s, &c.w, err));
    if (c.wz.buffer >= 0) hn_step_reads(s, HN_CONV_Q8_WZ, &c.wz);
    if (c.m.buffer >= 0) hn_step_reads(s, HN_CONV_Q8_M, &c.m);
    bool numbers = p->bias == NUMBERS && y->dtype == HONE_DTYPE_F32;
    if (c.bias.buffer >= 0) hn_step_reads(s, numbers ? HN_CONV_Q8_FBIAS : HN_CONV_Q8_BIAS, &c.bias);
    if (p->scale.buffer >= 0) hn_step_reads(s, HN_CONV_Q8_XS, &p->scale);
    if (p->zero.buffer >= 0) hn_step_reads(s, HN_CONV_Q8_XZ, &p->zero);
    if (r != NULL) hn_step_reads(s, HN_CONV_Q8_R, r);
    hn_step_writes(s, HN_CONV_Q8_Y, y);
    double macs = (double)(q->c / q->groups * q->kh * q->kw);
    s->facts->flops = 2 * macs * (double)hn_view_count(y);
    s->facts->bytes = (double)(hn_view_count(x) + hn_view_count(&c.w)) +
                      (double)hn_view_count(y) * hone_dtype_bits(y->dtype) / 8;
    if (r != NULL) s->facts->bytes += (double)hn_view_count(r);
    *out = s;
    return HONE_OK;
}

static bool same_dims(const hn_view *a, const hn_view *b) {
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0);
}

/* ---- convolutions ---- */

static const char *refuse_conv(const product *p) {
    const hn_view *x = &p->x.view;
    if (x->rank != 3 && x->rank != 4) return "not one or two spatial axes";
    if (p->w.axis > 0) return "a scale for each index of an axis that is not the output channels'";
    if (hn_view_count(&p->y.view) == 0) return "nothing to compute";
    if (p->r != NULL && !same_dims(&p->r->view, &p->y.view))
        return "what is added has another shape";
    return NULL;
}

static hone_status lower_conv(hn_lower *L, const product *p, hn_view *y, hn_step **out,
                              const char **why, hn_error *err) {
    *why = refuse_conv(p);
    if (*why != NULL) return HONE_OK;
    hn_view x = p->x.view, r = {.buffer = -1};
    const hn_view *w = &p->w.view;
    hn_spatial s;
    HN_TRY(hn_spatial_read(p->node, x.rank - 2, &s, err));
    for (int i = 0; i < x.rank - 2; i++) s.kernel[i] = w->dims[i + 2];
    hn_spatial_resolve(&s, x.dims + 2);
    int order[HONE_MAX_RANK];
    *y = p->y.view;
    hn_lower_order_channels_last(y->rank, order);
    HN_TRY(hn_lower_place(L, y, order, err));
    HN_TRY(hn_lower_channels_last(L, p->node, &x, err));
    hn_conv_f32 g = hn_lower_conv_problem(&x, w, y, &s, hn_attr_i(p->node, "group"));
    hn_conv_q8 q = {.windows = g.windows, .w_o = g.w_o, .w_i = g.w_i, .w_y = g.w_y, .w_x = g.w_x};
    q.x_channel = 1;
    if (p->r != NULL) {
        r = p->r->view;
        HN_TRY(hn_lower_channels_last(L, p->node, &r, err));
        bool flat = r.rank == 3;
        q.r_image = r.strides[0];
        q.r_row = flat ? 0 : r.strides[2];
        q.r_pixel = r.strides[r.rank - 1];
    }
    return add_step(L, p, &q, &x, p->r != NULL ? &r : NULL, y, out, why, err);
}

/* ---- matrices ---- */

/* w: [k, n], its scales along n. */
static const char *refuse_matrix(const product *p) {
    const hn_view *x = &p->x.view, *w = &p->w.view;
    if (x->rank < 2 || w->rank != 2) return "not matrices";
    if (p->w.axis == 0) return "a scale for each index of an axis that is not the columns'";
    if (p->w.scale != NULL && p->w.scale->n != 1 && p->w.scale->n != w->dims[1])
        return "scales of another shape";
    if (p->w.zero != NULL && p->w.zero->n != 1 && p->w.zero->n != w->dims[1])
        return "zero points of another shape";
    if (hn_view_count(&p->y.view) == 0 || hn_view_count(x) == 0) return "nothing to compute";
    if (p->r != NULL && !same_dims(&p->r->view, &p->y.view))
        return "what is added has another shape";
    return NULL;
}

static hone_status lower_matrix(hn_lower *L, product *p, hn_view *y, hn_step **out,
                                const char **why, hn_error *err) {
    *why = refuse_matrix(p);
    if (*why != NULL) return HONE_OK;
    hn_view x = p->x.view, r = {.buffer = -1};
    const hn_view *w = &p->w.view;
    if (p->w.scale != NULL && p->w.scale->n > 1) p->w.axis = 1;
    if (p->w.zero != NULL && p->w.zero->n > 1) p->w.axis = 1;
    HN_TRY(hn_lower_rows(L, p->node, &x, err));
    *y = p->y.view;
    HN_TRY(hn_lower_place(L, y, NULL, err));
    if (p->r != NULL) {
        r = p->r->view;
        HN_TRY(hn_lower_dense(L, p->node, &r, err));
    }
    hn_conv_q8 q = hn_conv_q8_of_gemm(x.dims[0], w->dims[1], w->dims[0]);
    q.x_pixel = x.strides[0];
    q.x_row = q.x_image = x.strides[0] * x.dims[0];
    q.w_i = w->strides[0];
    q.w_o = w->strides[1];
    return add_step(L, p, &q, &x, p->r != NULL ? &r : NULL, y, out, why, err);
}

/* Lowers p, whose result is output 0 of n. */
static hone_status lower(hn_lower *L, const hn_node *n, product *p, hn_step **out, bool *done,
                         hn_error *err) {
    const char *why = refuse_operands(p);
    hn_view y;
    if (why == NULL) why = refuse_weights(L, p);
    if (why != NULL) HN_DECLINE(L, why);
    if (is_conv(p->node))
        HN_TRY(lower_conv(L, p, &y, out, &why, err));
    else
        HN_TRY(lower_matrix(L, p, &y, out, &why, err));
    if (why != NULL) HN_DECLINE(L, why);
    hn_lower_set(L, n, 0, &y, *out);
    *done = true;
    return HONE_OK;
}

static product empty(const hn_node *n) {
    return (product){.node = n,
                     .alpha = 1,
                     .group = 1,
                     .scale.buffer = -1,
                     .zero.buffer = -1,
                     .x.axis = -1,
                     .w.axis = -1,
                     .y.axis = -1,
                     .b.axis = -1,
                     .lo = -INFINITY,
                     .hi = INFINITY};
}

/* ---- Conv, MatMul, Gemm of dequantized values ---- */

/* A bias that is not constant, p->b, must be a vector of that type over the channels. */
static const char *refuse_computed_bias(const product *p, hone_dtype type, int64_t channels) {
    const hn_view *v = &p->b.view;
    bool vector = v->dtype == type && v->rank == 1 && v->dims[0] == channels && hn_view_is_dense(v);
    return vector ? NULL : "the bias is computed, and no vector over the channels";
}

/* One that is dequantized must be in units of the sums too, as these are rounded to floats: it is
 * them. */
static const char *read_computed_sums(int64_t channels, product *p) {
    p->bias = SUMS;
    for (int64_t i = 0; i < channels; i++) {
        double unit = x_scale(p, i) * w_scale(p, i);
        if (!(fabs(hn_quant_scale(&p->b, i) - unit) <= 0x1p-22 * fabs(unit)) ||
            hn_quant_zero(&p->b, i) != 0)
            return "the bias is computed, and not in units of the product";
    }
    return refuse_computed_bias(p, HONE_DTYPE_S32, channels);
}

/* The contents of a bias, input i of n, that is a constant, or dequantized from one; a vector over
 * the channels. */
static const char *read_bias(const hn_lower *L, const hn_node *n, int i, int64_t channels,
                             product *p) {
    const hn_value *v = hn_node_input(n, i);
    if (v == NULL) return NULL;
    p->bias = NUMBERS;
    p->b_is = hn_node_constant(n, i);
    if (p->b_is == NULL) {
        const char *why = hn_quant_input(L, n, i, true, &p->b);
        if (why != NULL) return "the bias is computed";
        if (!hn_lower_is_constant(L, &p->b.view)) return read_computed_sums(channels, p);
        p->b_is = L->plan->buffers[p->b.view.buffer].tensor;
    }
    if (p->b_is->n != channels && p->b_is->n != 1) return "the bias is no vector over the channels";
    const hn_shape *s = &v->type.shape;
    int64_t last;
    if (s->rank > 0 && p->b_is->n > 1 &&
        (!hn_dim_is_const(s->dim[s->rank - 1], &last) || last != channels))
        return "the bias is no vector over the channels";
    return NULL;
}

/* The bias is what `add`, where there is one, adds by its input b. */
static const char *read_product(const hn_lower *L, const hn_node *n, const hn_node *add, int b,
                                product *p) {
    *p = empty(n);
    const char *why = hn_quant_input(L, n, 0, true, &p->x);
    const hn_weights_def *of = n->op->weights;
    if (why == NULL) why = hn_quant_input(L, n, of->input, true, &p->w);
    if (why != NULL) return why;
    hn_view *w = &p->w.view;
    bool conv = of->kind == HN_WEIGHT_WINDOWS;
    hn_weight_use use;
    if (of->use(n, w->rank, w->dims, &use)) {
        if (use.transposed) hn_view_swap_last(&p->x.view);
        if (!conv && use.channel_axis < use.sum_axis) {
            hn_view_swap_last(w);
            if (p->w.axis >= 0) p->w.axis = 1 - p->w.axis;
        }
        if (!(use.alpha >= 1 && use.alpha <= 1)) return "alpha is not 1";
        if (of->bias > 0 && hn_node_input(n, of->bias) != NULL && !(use.beta >= 1 && use.beta <= 1))
            return "beta is not 1";
    }
    if (conv && p->x.axis >= 0) p->group = w->dims[0] / hn_attr_i(n, "group");
    int64_t channels = conv || w->rank != 2 ? w->dims[0] : w->dims[1];
    if (add != NULL) return read_bias(L, add, b, channels, p);
    return of->bias > 0 ? read_bias(L, n, of->bias, channels, p) : NULL;
}

hone_status hn_lower_float_product(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    product p;
    hn_step *s;
    const char *why = read_product(L, n, NULL, 0, &p);
    if (why != NULL) HN_DECLINE(L, why);
    p.y.view = hn_lower_out(n, 0);
    return lower(L, n, &p, &s, done, err);
}

hone_status hn_lower_chain_product(hn_lower *L, const hn_quant_chain *c, bool *done,
                                   hn_error *err) {
    product p;
    hn_quant r;
    const char *why = read_product(L, c->op, c->bias, c->b, &p);
    if (why == NULL) why = hn_quant_result(c->quantize, &p.y);
    if (why == NULL && c->add != NULL) {
        why = hn_quant_input(L, c->add, c->residual, false, &r);
        if (why == NULL && !hn_quant_is_byte(r.view.dtype)) why = "not of 8 bits";
        p.r = &r;
    }
    if (why != NULL) HN_DECLINE(L, why);
    p.lo = c->lo;
    p.hi = c->hi;
    hn_step *s;
    HN_TRY(lower(L, c->quantize, &p, &s, done, err));
    return *done ? hn_quant_absorb(L, s, c, err) : HONE_OK;
}

bool hn_lower_add_to_product(hn_lower *L, hn_step *s, hn_quant *a, const hn_quant *r,
                             const hn_quant *y, double lo, double hi) {
    hn_conv_q8 *p = hn_step_problem(s, &hn_conv_q8_family);
    if (p == NULL) return false;
    const hn_view *v = &a->view, *added = &r->view;
    if ((p->y != HN_Q8_U8 && p->y != HN_Q8_S8) || s->operands[HN_CONV_Q8_R].buffer >= 0 ||
        hn_conv_q8_has_floats(p))
        return false;
    if (v->rank != 4 || !same_dims(v, added) || !same_dims(v, &y->view)) return false;
    const int64_t dims[] = {p->batch, p->n, p->oh, p->ow};
    const int64_t strides[] = {p->y_image, 1, p->y_row, p->y_pixel};
    for (int i = 0; i < 4; i++)
        if (v->dims[i] != dims[i] || (dims[i] != 1 && v->strides[i] != strides[i])) return false;
    if ((p->n != 1 && added->strides[1] != 1) || hn_quant_zero(a, 0) != p->yz) return false;
    double unit = hn_quant_scale(y, 0);
    float m1 = hn_requant_scale(hn_quant_scale(a, 0), 1, unit);
    float mr = hn_requant_scale(hn_quant_scale(r, 0), 1, unit);
    if (!is_usable(m1) || !is_usable(mr)) return false;
    p->twice = true;
    p->lo1 = p->lo - p->yz, p->hi1 = p->hi - p->yz, p->m1 = m1;
    p->r_type = hn_quant_type(added->dtype), p->rz = (int32_t)hn_quant_zero(r, 0), p->mr = mr;
    p->r_image = added->strides[0], p->r_row = added->strides[2], p->r_pixel = added->strides[3];
    p->y = hn_quant_type(y->view.dtype), p->yz = (int32_t)hn_quant_zero(y, 0);
    p->lo = hn_quant_of(y, lo), p->hi = hn_quant_of(y, hi);
    a->view.dtype = y->view.dtype;
    hn_step_reads(s, HN_CONV_Q8_R, added);
    s->facts->bytes += (double)hn_view_count(added);
    hn_lower_move_last(L, s); /* behind what made r */
    return true;
}

hone_status hn_lower_quantize_product(hn_lower *L, hn_step *s, const hn_view *x, const hn_quant *q,
                                      hn_view *y, bool *done, hn_error *err) {
    *done = false;
    hn_conv_q8 *p = hn_step_problem(s, &hn_conv_q8_family);
    if (p == NULL) return HONE_OK;
    const hn_operand *to = &s->operands[HN_CONV_Q8_Y];
    int64_t n = hn_view_count(x);
    bool all = to->buffer == x->buffer && to->offset == 0 && x->offset == 0 &&
               n == p->batch * p->oh * p->ow * p->n &&
               L->plan->buffers[x->buffer].bytes == (size_t)n * sizeof(float);
    if (p->y != HN_Q8_F32 || s->operands[HN_CONV_Q8_R].buffer >= 0 || !all) return HONE_OK;
    float ys = (float)hn_quant_scale(q, 0);
    bool each = q->axis >= 0;
    if (each && (x->dims[q->axis] != p->n || q->scale->n != p->n || x->strides[q->axis] != 1 ||
                 !has_one_zero(q)))
        return HONE_OK;
    for (int64_t i = 0; i < q->scale->n; i++)
        if (!hn_q8_invertible((float)hn_quant_scale(q, i))) return HONE_OK;
    if (each) {
        hn_tensor *t;
        hn_view scales;
        HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, p->n, &t, &scales, err));
        for (int64_t i = 0; i < p->n; i++) ((float *)t->data)[i] = (float)hn_quant_scale(q, i);
        hn_step_reads(s, HN_CONV_Q8_YS, &scales);
        p->y_scales = true;
    }
    /* Bytes lie as the floats do, in a place that is smaller. */
    hn_view dense = *x;
    *y = *x;
    y->dtype = dense.dtype = q->view.dtype;
    HN_TRY(hn_lower_place(L, &dense, NULL, err));
    y->buffer = dense.buffer;
    hn_step_writes(s, HN_CONV_Q8_Y, y);
    p->y = p->r_type = hn_quant_type(y->dtype);
    p->ys = ys;
    p->yz = (int32_t)hn_quant_zero(q, 0);
    p->lo = hn_q8_lowest(p->y), p->hi = hn_q8_highest(p->y);
    s->facts->bytes -= (double)n * (sizeof(float) - 1);
    *done = true;
    return HONE_OK;
}

/* ---- operators on integers ---- */

/* Scale and zero point of x may be computed. */
static const char *read_activation(const hn_lower *L, const hn_node *n, int data, int scale,
                                   int zero, product *p) {
    bool known = (scale < 0 || hn_node_constant(n, scale) != NULL) &&
                 (hn_node_input(n, zero) == NULL || hn_node_constant(n, zero) != NULL);
    p->x.view = hn_lower_in(L, n, data);
    if (known && scale >= 0) return hn_quant_inputs(L, n, data, scale, zero, &p->x);
    if (known) {
        p->x.zero = hn_node_constant(n, zero);
        return p->x.zero != NULL && p->x.zero->n != 1 ? "a zero point for each row" : NULL;
    }
    if (scale >= 0) p->scale = hn_lower_in(L, n, scale);
    p->zero = hn_lower_in(L, n, zero);
    if ((scale >= 0 && hn_view_count(&p->scale) != 1) ||
        (p->zero.buffer >= 0 && hn_view_count(&p->zero) != 1))
        return "a scale or a zero point for each row";
    return NULL;
}

static const char *read_weights(const hn_lower *L, const hn_node *n, int data, int scale, int zero,
                                product *p) {
    if (scale >= 0) {
        const char *why = hn_quant_inputs(L, n, data, scale, zero, &p->w);
        if (why != NULL) return why;
    } else {
        p->w.view = hn_lower_in(L, n, data);
        p->w.zero = hn_node_constant(n, zero);
        if (p->w.zero == NULL && hn_node_input(n, zero) != NULL) return "a zero point is computed";
    }
    bool many =
        (p->w.scale != NULL && p->w.scale->n > 1) || (p->w.zero != NULL && p->w.zero->n > 1);
    if (is_conv(n) && many) p->w.axis = 0;
    return NULL;
}

/* The bias is input i of n, of s32 or of floats. */
static const char *read_vector(const hn_lower *L, const hn_node *n, int i, bias_kind kind,
                               int64_t channels, product *p) {
    if (hn_node_input(n, i) == NULL) return NULL;
    p->bias = kind;
    p->b_is = hn_node_constant(n, i);
    p->b.view = hn_lower_in(L, n, i);
    if (p->b_is == NULL)
        return refuse_computed_bias(p, kind == SUMS ? HONE_DTYPE_S32 : HONE_DTYPE_F32, channels);
    if (p->b_is->n != 1 && (p->b_is->n != channels || p->b_is->dims[p->b_is->rank - 1] != channels))
        return "the bias is no vector over the channels";
    return NULL;
}

hone_status hn_lower_qlinear_conv(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    product p = empty(n);
    hn_step *s;
    const char *why = read_activation(L, n, 0, 1, 2, &p);
    if (why == NULL) why = read_weights(L, n, 3, 4, 5, &p);
    if (why == NULL) why = hn_quant_output(n, 6, 7, &p.y);
    if (why == NULL) why = read_vector(L, n, 8, SUMS, p.w.view.dims[0], &p);
    if (why == NULL && p.scale.buffer >= 0) why = "a scale is computed";
    if (why != NULL) HN_DECLINE(L, why);
    return lower(L, n, &p, &s, done, err);
}

hone_status hn_lower_qlinear_matmul(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    product p = empty(n);
    hn_step *s;
    const char *why = read_activation(L, n, 0, 1, 2, &p);
    if (why == NULL && p.scale.buffer >= 0) why = "a scale is computed";
    if (why == NULL && p.x.scale->n != 1) why = "a scale for each row";
    if (why == NULL) why = read_weights(L, n, 3, 4, 5, &p);
    if (why == NULL) why = hn_quant_output(n, 6, 7, &p.y);
    if (why != NULL) HN_DECLINE(L, why);
    return lower(L, n, &p, &s, done, err);
}

/* ConvInteger and MatMulInteger. */
hone_status hn_lower_integer_product(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    product p = empty(n);
    hn_step *s;
    const char *why = read_activation(L, n, 0, -1, 2, &p);
    if (why == NULL) why = read_weights(L, n, 1, -1, 3, &p);
    if (why != NULL) HN_DECLINE(L, why);
    p.y.view = hn_lower_out(n, 0);
    return lower(L, n, &p, &s, done, err);
}

/* ---- of com.microsoft ---- */

/* x with run-time scale and zero point, quantized now. */
static hone_status quantize_input(hn_lower *L, const hn_node *n, product *p, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0);
    return hn_lower_dynamic(L, n, &x, &p->x.view, &p->scale, &p->zero, err);
}

hone_status hn_lower_dynamic_matmul(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    product p = empty(n);
    hn_step *s;
    hn_view x = hn_lower_in(L, n, 0);
    const char *why = read_weights(L, n, 1, 2, 3, &p);
    if (why == NULL && (x.rank < 2 || x.rank > HN_SPACE_RANK || hn_view_count(&x) == 0))
        why = "not matrices";
    if (why == NULL && p.w.view.rank != 2) why = "not matrices";
    if (why == NULL) why = read_vector(L, n, 4, NUMBERS, p.w.view.dims[1], &p);
    if (why != NULL) HN_DECLINE(L, why);
    p.y.view = hn_lower_out(n, 0);
    HN_TRY(quantize_input(L, n, &p, err));
    return lower(L, n, &p, &s, done, err);
}

hone_status hn_lower_integer_to_float(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    product p = empty(n);
    hn_step *s;
    p.y.view = hn_lower_out(n, 0);
    if (p.y.view.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    const char *why = read_activation(L, n, 0, 2, 4, &p);
    if (why == NULL) why = read_weights(L, n, 1, 3, 5, &p);
    if (why == NULL && p.w.view.rank != 2) why = "not matrices";
    if (why == NULL) why = read_vector(L, n, 6, NUMBERS, p.w.view.dims[1], &p);
    if (why != NULL) HN_DECLINE(L, why);
    return lower(L, n, &p, &s, done, err);
}

hone_status hn_lower_qgemm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    product p = empty(n);
    hn_step *s;
    const char *why = read_activation(L, n, 0, 1, 2, &p);
    if (why == NULL && p.scale.buffer >= 0) why = "a scale is computed";
    if (why == NULL) why = read_weights(L, n, 3, 4, 5, &p);
    if (why != NULL) HN_DECLINE(L, why);
    if (hn_attr_i(n, "transA") != 0) hn_view_swap_last(&p.x.view);
    if (hn_attr_i(n, "transB") != 0) hn_view_swap_last(&p.w.view);
    p.alpha = hn_attr_f(n, "alpha");
    p.y.view = hn_lower_out(n, 0);
    why = read_vector(L, n, 6, SUMS, p.w.view.dims[1], &p);
    if (why == NULL && hn_node_input(n, 7) != NULL) why = hn_quant_output(n, 7, 8, &p.y);
    if (why != NULL) HN_DECLINE(L, why);
    return lower(L, n, &p, &s, done, err);
}
