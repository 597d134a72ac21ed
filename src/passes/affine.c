/* The weights of Conv, ConvTranspose and Gemm, by the output channel each belongs to:
 *
 *     Conv            W [M, C/g, k...]        the first axis
 *     ConvTranspose   W [C, M/g, k...]        the second axis, within the group of the first
 *     Gemm            B [K, M] or [M, K]      the axis that is not summed over
 *
 * New weights are computed in double and rounded once. Weights that are dequantized from 8 bits
 * stay so: their scale, one for each channel now, takes the factor's size, and the integers of a
 * channel take its sign, about their zero point; those of a channel that is multiplied by 0 become
 * the zero point. That changes no rounding of the weights, and what follows finds a convolution of
 * integers with a bias, as quantizers make it that fold first.
 */
#include "passes/affine.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct weights {
    const hn_tensor *w;
    hn_node *dequantize;                /* what makes numbers of them, or NULL */
    int axis;                           /* of the channels, were there one group */
    int64_t inner, per_group, in_group; /* see channel_of */
    int64_t channels;
} weights;

/* Element i lies at [a, b, c] of [?, per_group, inner]; rows of in_group a make a group. */
static int64_t channel_of(const weights *w, int64_t i) {
    int64_t b = i / w->inner % w->per_group, a = i / (w->inner * w->per_group);
    return a / w->in_group * w->per_group + b;
}

/* The contents of n's weights, as numbers or as integers to be dequantized. */
static bool find_contents(const hn_node *n, weights *w) {
    w->dequantize = NULL;
    w->w = hn_const_in(n, 1);
    if (w->w == NULL) {
        w->dequantize = hn_feeds(n, 1, "DequantizeLinear");
        if (w->dequantize != NULL) w->w = hn_const_in(w->dequantize, 0);
    }
    if (w->w == NULL || w->w->n == 0 || w->w->rank < 2) return false;
    if (w->dequantize == NULL) return hn_dtype_in(w->w->dtype, HN_DTYPES_FLOAT);
    return w->w->dtype == HONE_DTYPE_S8 || w->w->dtype == HONE_DTYPE_U8;
}

/* Scale and zero point are constants: one, or one for each channel. */
static bool scale_fits(const weights *w) {
    const hn_node *d = w->dequantize;
    const hn_tensor *s = hn_const_in(d, 1), *z = hn_const_in(d, 2);
    if (s == NULL || s->dtype != HONE_DTYPE_F32 || hn_attr_i(d, "block_size") != 0 ||
        d->outputs[0]->type.dtype != HONE_DTYPE_F32 || w->per_group != w->channels)
        return false;
    if (z == NULL ? hn_node_input(d, 2) != NULL : z->n != s->n) return false;
    int64_t axis = hn_attr_i(d, "axis");
    if (s->n == 1) return true;
    return s->n == w->channels && (axis < 0 ? axis + w->w->rank : axis) == w->axis;
}

static bool find_channels(const hn_node *n, weights *w) {
    const int64_t *dims = w->w->dims;
    w->axis = 1;
    if (hn_is(n, "Conv") || (hn_is(n, "Gemm") && hn_attr_i(n, "transB") != 0)) {
        w->channels = w->per_group = dims[0];
        w->inner = w->w->n / dims[0];
        w->in_group = 1; /* there is one row of channels */
        w->axis = 0;
        return true;
    }
    if (hn_is(n, "Gemm")) {
        w->channels = w->per_group = dims[1];
        w->inner = 1;
        w->in_group = dims[0];
        return true;
    }
    int64_t groups = hn_is(n, "ConvTranspose") ? hn_attr_i(n, "group") : 0;
    if (groups < 1 || dims[0] % groups != 0) return false;
    w->per_group = dims[1];
    w->inner = w->w->n / (dims[0] * dims[1]);
    w->in_group = dims[0] / groups;
    w->channels = w->per_group * groups;
    return true;
}

static bool describe(const hn_node *n, weights *w) {
    return find_contents(n, w) && find_channels(n, w) && (w->dequantize == NULL || scale_fits(w));
}

/* Gemm's C may have any shape that broadcasts; one number per column is what can be shifted. */
static bool bias_fits(const hn_node *n, int64_t channels) {
    if (hn_node_input(n, 2) == NULL) return true;
    const hn_tensor *b = hn_const_in(n, 2);
    if (b == NULL || b->rank > 2) return false;
    if (!hn_is(n, "Gemm")) return b->n == channels;
    return b->n == 1 || (b->n == channels && b->dims[b->rank - 1] == channels);
}

bool hn_affine_fits(const hn_node *n, int64_t *channels) {
    weights w;
    if (n == NULL || n->op == NULL || !describe(n, &w) || !bias_fits(n, w.channels)) return false;
    *channels = w.channels;
    return true;
}

/* The largest number of a type that weights have. */
static double largest(hone_dtype t) {
    if (t == HONE_DTYPE_F16) return 65504;
    if (t == HONE_DTYPE_BF16) return 0x1.fep127;
    return t == HONE_DTYPE_F32 ? (double)FLT_MAX : DBL_MAX;
}

/* A mapped file aligns nothing. */
typedef float float_any __attribute__((aligned(1), may_alias));

/* dst = scale * src; false: some of it is no number. By blocks of constant length, which compilers
 * make vectors of. A block tells only whether a result is FLT_MAX or beyond: then all are looked at
 * once more, before they are rounded. */
static bool scale_f32(const float_any *src, int64_t n, double scale, float *restrict dst) {
    enum { BLOCK = 64, BELOW_MAX = 0x7f7ffffe };
    bool good = true;
    int32_t edge = 0, bits[BLOCK];
    float x[BLOCK];
    int64_t k = 0;
    for (; k + BLOCK <= n; k += BLOCK) {
        memcpy(x, src + k, sizeof x);
        for (int i = 0; i < BLOCK; i++) x[i] = (float)((double)x[i] * scale);
        memcpy(bits, x, sizeof x);
        for (int i = 0; i < BLOCK; i++) edge |= (bits[i] & INT32_MAX) > BELOW_MAX;
        memcpy(dst + k, x, sizeof x);
    }
    if (edge != 0) k = 0;
    for (; k < n; k++) {
        double v = (double)src[k] * scale;
        good &= fabs(v) <= (double)FLT_MAX;
        dst[k] = (float)v;
    }
    return good;
}

/* out[i .. i + n) = scale * w[i .. i + n); false: some of it is no number of that type. */
static bool scale_run(const hn_tensor *w, int64_t i, int64_t n, double scale, hn_tensor *out) {
    double most = largest(w->dtype);
    bool good = true;
    if (w->dtype == HONE_DTYPE_F32)
        return scale_f32((const float_any *)w->data + i, n, scale, (float *)out->data + i);
    for (int64_t k = i; k < i + n; k++) {
        double v = hn_tensor_f64(w, k) * scale;
        good &= fabs(v) <= most;
        hn_store_f64(out->dtype, out->data, k, v);
    }
    return good;
}

static bool new_weights(const weights *w, const double *scale, hn_tensor *out) {
    bool good = true;
    for (int64_t i = 0; i < out->n && good; i += w->inner)
        good = scale_run(w->w, i, w->inner, scale[channel_of(w, i)], out);
    return good;
}

static bool new_bias(const hn_node *n, const double *scale, const double *shift, hn_tensor *out) {
    const hn_tensor *b = hn_const_in(n, 2);
    double beta = hn_is(n, "Gemm") ? hn_attr_f(n, "beta") : 1;
    bool good = true;
    for (int64_t i = 0; i < out->n && good; i++) {
        double old = b != NULL ? beta * hn_tensor_f64(b, b->n == 1 ? 0 : i) : 0;
        double v = scale[i] * old + shift[i];
        hn_store_f64(out->dtype, out->data, i, v);
        good = fabs(v) <= largest(out->dtype);
    }
    return good;
}

static bool changes_weights(const weights *w, const double *scale) {
    for (int64_t i = 0; i < w->channels; i++)
        if (scale[i] != 1) return true;
    return false;
}

/* Input i of n gets the contents t. A constant that only this input uses changes in place and keeps
 * its name; else *out is a new one. */
static hone_status prepare(hn_node *n, int i, hn_tensor *t, hn_value **out, hn_error *err) {
    hn_value *old = hn_node_input(n, i);
    *out = old;
    if (old != NULL && old->n_uses == 1 && hn_tensor_same_dims(old->constant, t->rank, t->dims))
        return HONE_OK;
    char hint[160];
    const char *weights_name = n->inputs[1].value->name;
    snprintf(hint, sizeof hint, "%.120s%s", old != NULL ? old->name : weights_name,
             old != NULL ? "" : "_bias");
    return hn_make_constant(out, n, hint, hn_tensor_ref(t), err);
}

static void put(hn_node *n, int i, hn_tensor *t, hn_value *v) {
    if (v == hn_node_input(n, i))
        hn_value_set_constant(v, hn_tensor_ref(t));
    else
        hn_node_set_input(n, i, v);
}

/* ---- integers ---- */

/* What a DequantizeLinear of one scale for each channel reads. */
typedef struct dequantized {
    hn_tensor *q, *scale, *zero; /* zero NULL: there is none */
} dequantized;

static void release(dequantized *d) {
    hn_tensor_unref(d->q);
    hn_tensor_unref(d->scale);
    hn_tensor_unref(d->zero);
}

static bool rescale(const weights *w, const double *scale, dequantized *d) {
    const hn_tensor *s = hn_const_in(w->dequantize, 1), *z = hn_const_in(w->dequantize, 2);
    for (int64_t k = 0; k < w->channels; k++) {
        double of = hn_tensor_f64(s, s->n == 1 ? 0 : k);
        double by = scale[k] != 0 ? of * fabs(scale[k]) : of;
        if (!(by >= (double)FLT_MIN && by <= (double)FLT_MAX)) return false;
        ((float *)d->scale->data)[k] = (float)by;
        if (z != NULL)
            hn_store_f64(z->dtype, d->zero->data, k, hn_tensor_f64(z, z->n == 1 ? 0 : k));
    }
    return true;
}

/* Codes of one channel: those of a negative factor change their sign. Bytes, as nearly all are, of a
 * positive one are copied. */
static bool resign_run(const hn_tensor *from, int64_t at, int64_t n, double scale, int64_t zero,
                       hn_tensor *to) {
    bool bytes = from->dtype == HONE_DTYPE_S8 || from->dtype == HONE_DTYPE_U8;
    int64_t lo = from->dtype == HONE_DTYPE_S8 ? -128 : 0;
    if (bytes && scale > 0) {
        memcpy((char *)to->data + at, (const char *)from->data + at, (size_t)n);
        return true;
    }
    for (int64_t i = at; i < at + n; i++) {
        int64_t q = scale == 0 ? zero : hn_tensor_s64(from, i);
        if (scale < 0) q = 2 * zero - q;
        if (q < lo || q > lo + 255) return false;
        hn_store_f64(to->dtype, to->data, i, (double)q);
    }
    return true;
}

static bool resign(const weights *w, const double *scale, dequantized *d) {
    for (int64_t i = 0; i < w->w->n; i += w->inner) {
        int64_t k = channel_of(w, i), zero = d->zero != NULL ? hn_tensor_s64(d->zero, k) : 0;
        if (!resign_run(w->w, i, w->inner, scale[k], zero, d->q)) return false;
    }
    return true;
}

/* *made: n's DequantizeLinear with these factors for the channels; NULL: there is none. */
static hone_status scale_dequantized(hn_pass_ctx *c, const hn_node *n, const weights *w,
                                     const double *scale, hn_node **made, hn_error *err) {
    hn_allocator *alloc = c->model->alloc;
    hn_node *old = w->dequantize;
    bool has_zero = hn_node_input(old, 2) != NULL;
    dequantized d = {0};
    hn_value *v[3], *y;
    hone_status status = HONE_OK;
    int64_t dims[] = {w->channels};
    *made = NULL;
    /* One scale for each channel came with opset 13. */
    if (c->opset < 13 || (old->inputs[0].value->n_uses > 1 && !hn_charge(c, w->w->bytes)))
        return HONE_OK;
    HN_TRY_GOTO(
        hn_tensor_create(&d.q, alloc, HN_MEM_WEIGHTS, w->w->dtype, w->w->rank, w->w->dims, err));
    HN_TRY_GOTO(hn_tensor_create(&d.scale, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, 1, dims, err));
    if (has_zero)
        HN_TRY_GOTO(hn_tensor_create(&d.zero, alloc, HN_MEM_WEIGHTS, w->w->dtype, 1, dims, err));
    if (!rescale(w, scale, &d) || !resign(w, scale, &d)) goto fail;
    hn_tensor *t[] = {d.q, d.scale, d.zero};
    for (int i = 0; i < 2 + has_zero; i++)
        HN_TRY_GOTO(
            hn_make_constant(&v[i], old, old->inputs[i].value->name, hn_tensor_ref(t[i]), err));
    HN_TRY_GOTO(hn_value_create(&y, old->graph, NULL, n->inputs[1].value->name, err));
    y->type = n->inputs[1].value->type;
    hn_node *node;
    HN_TRY_GOTO(hn_make_node(&node, old, "DequantizeLinear", 2 + has_zero, err));
    HN_TRY_GOTO(hn_node_set_i(node, "axis", w->axis, err));
    for (int i = 0; i < 2 + has_zero; i++) hn_node_set_input(node, i, v[i]);
    hn_node_set_output(node, 0, y);
    hn_node_insert(node, old);
    *made = node;
fail:
    release(&d);
    return status;
}

hone_status hn_affine_fold(hn_pass_ctx *c, hn_node *root, hn_node *n, const double *scale,
                           const double *shift, hn_error *err) {
    weights w;
    hn_allocator *alloc = c->model->alloc;
    hn_tensor *tw = NULL, *tb = NULL;
    hn_value *vw = NULL, *vb;
    hone_status status = HONE_OK;
    describe(n, &w);
    bool scaled = changes_weights(&w, scale), numbers = w.dequantize == NULL;
    hone_dtype type = numbers ? w.w->dtype : HONE_DTYPE_F32;
    if (scaled && numbers && n->inputs[1].value->n_uses > 1 && !hn_charge(c, w.w->bytes))
        return HONE_OK;
    HN_TRY_GOTO(
        hn_tensor_create(&tb, alloc, HN_MEM_WEIGHTS, type, 1, (int64_t[]){w.channels}, err));
    if (!new_bias(n, scale, shift, tb)) goto fail;
    if (scaled && numbers) {
        HN_TRY_GOTO(hn_tensor_create(&tw, alloc, HN_MEM_WEIGHTS, type, w.w->rank, w.w->dims, err));
        if (!new_weights(&w, scale, tw)) goto fail;
        HN_TRY_GOTO(prepare(n, 1, tw, &vw, err));
    }
    hn_node *made = NULL;
    if (scaled && !numbers) {
        HN_TRY_GOTO(scale_dequantized(c, n, &w, scale, &made, err));
        if (made == NULL) goto fail;
    }
    HN_TRY_GOTO(prepare(n, 2, tb, &vb, err));
    if (n->n_inputs < 3) HN_TRY_GOTO(hn_node_resize_inputs(n, 3, err));
    if (made != NULL) {
        hn_node_set_input(n, 1, made->outputs[0]);
        hn_prune(w.dequantize);
    }
    if (hn_is(n, "Gemm")) hn_node_remove_attr(n, "beta"); /* 1 when it is not said */
    if (scaled && numbers) put(n, 1, tw, vw);
    put(n, 2, tb, vb);
    hn_bypass(c, root, n->outputs[0]);
fail:
    hn_tensor_unref(tw);
    hn_tensor_unref(tb);
    return status;
}

hone_status hn_affine_scale(hn_pass_ctx *c, hn_node *const *node, const int *input, int n,
                            double scale, bool *done, hn_error *err) {
    hn_tensor *t[HN_MOST_SCALED] = {NULL};
    hn_value *v[HN_MOST_SCALED];
    hone_status status = HONE_OK;
    *done = false;
    for (int k = 0; k < n; k++) {
        const hn_tensor *w = hn_const_in(node[k], input[k]);
        if (node[k]->inputs[input[k]].value->n_uses > 1 && !hn_charge(c, w->bytes)) goto fail;
        HN_TRY_GOTO(hn_tensor_create(&t[k], c->model->alloc, HN_MEM_WEIGHTS, w->dtype, w->rank,
                                     w->dims, err));
        if (!scale_run(w, 0, w->n, scale, t[k])) goto fail;
        HN_TRY_GOTO(prepare(node[k], input[k], t[k], &v[k], err));
    }
    for (int k = 0; k < n; k++) put(node[k], input[k], t[k], v[k]);
    *done = true;
fail:
    for (int k = 0; k < n; k++) hn_tensor_unref(t[k]);
    return status;
}
