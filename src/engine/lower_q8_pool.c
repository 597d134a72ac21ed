/* Pools of 8-bit images. */
#include <math.h>
#include <string.h>

#include "engine/lower_quant.h"
#include "kernels/mean_planes_q8/mean_planes_q8.h"
#include "kernels/pool_q8/pool_q8.h"

static bool is_mean(const hn_node *n) { return hn_quant_plain(n)->role == HN_ROLE_MEAN; }

static bool is_global(const hn_node *n) { return hn_op_attr(n->op, "kernel_shape") == NULL; }

static bool same_scale(const hn_quant *a, const hn_quant *b) {
    return a->view.dtype == b->view.dtype && hn_quant_zero(a, 0) == hn_quant_zero(b, 0) &&
           (float)hn_quant_scale(a, 0) == (float)hn_quant_scale(b, 0);
}

static const char *refuse(const hn_node *n, const hn_quant *x, const hn_quant *y, bool mean) {
    if (!hn_quant_is_byte(x->view.dtype) || !hn_quant_is_byte(y->view.dtype))
        return "not of 8 bits";
    if (x->view.rank != 3 && x->view.rank != 4) return "not one or two spatial axes";
    if (hn_view_count(&x->view) == 0 || hn_view_count(&y->view) == 0) return "nothing to compute";
    if (n->op->role == HN_ROLE_MEAN && n->op->refuse != NULL && n->op->refuse(n) != NULL)
        return "a mean over other axes than those of images";
    if (hn_node_output(n, 1) != NULL) return "the places of the maxima are wanted";
    if (!mean && !same_scale(x, y)) return "the largest values are given another scale";
    return NULL;
}

/* Whether images of n are [N, ..., C], as they are for some operators of com.microsoft. */
static bool has_channels_last(const hn_node *n) {
    if (strcmp(n->op_type, "NhwcMaxPool") == 0) return true;
    return strncmp(n->op_type, "QLinear", 7) == 0 && hn_attr_i(n, "channels_last") != 0;
}

/* Sees axis `from` as axis `to`; the axes between move up or down by one. */
static void move_axis(hn_view *v, int from, int to) {
    int64_t dim = v->dims[from], stride = v->strides[from];
    for (int i = from; i != to; i += from < to ? 1 : -1) {
        int next = i + (from < to ? 1 : -1);
        v->dims[i] = v->dims[next], v->strides[i] = v->strides[next];
    }
    v->dims[to] = dim, v->strides[to] = stride;
}

/* The windows of n over x; a global pool has one, of the image's size. */
static hone_status windows(const hn_node *n, const hn_view *x, hn_spatial *s, hn_error *err) {
    if (!is_global(n)) {
        HN_TRY(hn_spatial_read(n, x->rank - 2, s, err));
        hn_spatial_resolve(s, x->dims + 2);
        return HONE_OK;
    }
    *s = (hn_spatial){.rank = x->rank - 2};
    for (int i = 0; i < s->rank; i++) {
        s->kernel[i] = x->dims[i + 2];
        s->stride[i] = s->dilation[i] = 1;
    }
    return HONE_OK;
}

/* The mean of each plane of a dense x; the result, between these limits, is output 0 of `last`. */
static hone_status lower_planes(hn_lower *L, const hn_node *n, const hn_node *last,
                                const hn_quant *from, const hn_quant *to, double lo, double hi,
                                hn_step **out, hn_error *err) {
    const hn_view *x = &from->view;
    hn_view y = to->view;
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    int64_t planes = hn_view_count(&y);
    hn_mean_planes_q8 p = {.planes = planes,
                           .size = hn_view_count(x) / planes,
                           .x = hn_quant_type(x->dtype),
                           .y = hn_quant_type(y.dtype),
                           .xz = (int32_t)hn_quant_zero(from, 0),
                           .yz = (int32_t)hn_quant_zero(to, 0),
                           .lo = hn_quant_of(to, lo),
                           .hi = hn_quant_of(to, hi),
                           .sx = (float)hn_quant_scale(from, 0),
                           .sy = (float)hn_quant_scale(to, 0)};
    HN_TRY(hn_lower_step(L, n, &hn_mean_planes_q8_family, &p, sizeof p, out, err));
    (*out)->facts->flops = (double)hn_view_count(x);
    (*out)->facts->bytes = (double)(hn_view_count(x) + planes);
    hn_step_reads(*out, HN_MEAN_PLANES_X, x);
    hn_step_writes(*out, HN_MEAN_PLANES_Y, &y);
    hn_lower_set(L, last, 0, &y, *out);
    return HONE_OK;
}

/* Whether the mean is best taken plane by plane: where images lie so, copying them into channels
 * last takes longer than the pool. */
static bool prefers_planes(const hn_node *n, const hn_view *x) {
    if (!is_global(n) || !is_mean(n) || has_channels_last(n)) return false;
    return hn_view_is_dense(x) && x->strides[1] != 1;
}

/* The result, between these limits, is output 0 of `last`. */
static hone_status lower(hn_lower *L, const hn_node *n, const hn_node *last, const hn_quant *from,
                         const hn_quant *to, double lo, double hi, hn_step **out, hn_error *err) {
    hn_view x = from->view, y = to->view, result;
    if (prefers_planes(n, &x)) return lower_planes(L, n, last, from, to, lo, hi, out, err);
    hn_spatial s;
    for (; y.rank < x.rank; y.rank++) y.dims[y.rank] = 1; /* axes that are not kept */
    bool channels_last = has_channels_last(n);
    if (channels_last) move_axis(&x, x.rank - 1, 1), move_axis(&y, y.rank - 1, 1);
    HN_TRY(windows(n, &x, &s, err));
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(y.rank, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    HN_TRY(hn_lower_channels_last(L, n, &x, err));
    bool mean = is_mean(n);
    hn_pool_q8 p = {
        .windows = hn_lower_windows(&x, &y, &s),
        .kind = mean ? HN_POOL_Q8_MEAN : HN_POOL_Q8_MAX,
        .count_pads = mean && !is_global(n) && hn_attr_i(n, "count_include_pad") != 0,
        .x = hn_quant_type(x.dtype),
        .y = hn_quant_type(y.dtype),
    };
    if (mean) {
        p.xz = (int32_t)hn_quant_zero(from, 0);
        p.yz = (int32_t)hn_quant_zero(to, 0);
        p.lo = hn_quant_of(to, lo);
        p.hi = hn_quant_of(to, hi);
        p.sx = (float)hn_quant_scale(from, 0);
        p.sy = (float)hn_quant_scale(to, 0);
    }
    HN_TRY(hn_lower_step(L, n, &hn_pool_q8_family, &p, sizeof p, out, err));
    (*out)->facts->flops = (double)hn_view_count(&y) * (double)(p.kh * p.kw);
    (*out)->facts->bytes = (double)(hn_view_count(&x) + hn_view_count(&y));
    hn_step_reads(*out, HN_POOL_Q8_X, &x);
    hn_step_writes(*out, HN_POOL_Q8_Y, &y);
    if (channels_last) move_axis(&y, 1, y.rank - 1);
    hn_view_reshape(&y, to->view.rank, to->view.dims, &result);
    hn_lower_set(L, last, 0, &result, *out);
    return HONE_OK;
}

hone_status hn_lower_chain_pool(hn_lower *L, const hn_quant_chain *c, bool *done, hn_error *err) {
    hn_quant x, y;
    bool mean = is_mean(c->op);
    const char *why = hn_quant_input(L, c->op, 0, false, &x);
    if (why == NULL) why = hn_quant_output(c->quantize, 1, 2, &y);
    if (why == NULL) why = refuse(c->op, &x, &y, mean);
    if (why == NULL && !mean && c->n > 1) why = "limits after the largest values";
    if (why != NULL) HN_DECLINE(L, why);
    hn_step *s;
    HN_TRY(lower(L, c->op, c->quantize, &x, &y, c->lo, c->hi, &s, err));
    *done = true;
    return hn_quant_absorb(L, s, c, err);
}

/* QLinearAveragePool and QLinearGlobalAveragePool. */
hone_status hn_lower_qlinear_pool(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_quant x, y;
    const char *why = hn_quant_inputs(L, n, 0, 1, 2, &x);
    if (why == NULL) why = hn_quant_output(n, 3, 4, &y);
    if (why == NULL) why = refuse(n, &x, &y, true);
    if (why != NULL) HN_DECLINE(L, why);
    hn_step *s;
    *done = true;
    return lower(L, n, n, &x, &y, -INFINITY, INFINITY, &s, err);
}

/* MaxPool and NhwcMaxPool of integers, which stand for themselves. */
hone_status hn_lower_max_pool_q8(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_quant x = {.view = hn_lower_in(L, n, 0), .axis = -1};
    hn_quant y = {.view = hn_lower_out(n, 0), .axis = -1};
    const char *why = refuse(n, &x, &y, true);
    if (why != NULL) HN_DECLINE(L, why);
    hn_step *s;
    *done = true;
    return lower(L, n, n, &x, &y, 0, 0, &s, err);
}
