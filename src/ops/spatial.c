#include "ops/spatial.h"

#include <limits.h>

/* Reads a list attribute of the operator into v[count]; leaves v as it is when the operator does
 * not declare it or the node does not have it. */
static hone_status read_ints(const hn_node *n, const char *name, int64_t least, int count,
                             int64_t *v, hn_error *err) {
    if (hn_op_attr(n->op, name) == NULL) return HONE_OK;
    int given;
    const int64_t *ints = hn_attr_ints(n, name, &given);
    if (ints == NULL) return HONE_OK;
    HN_CHECK(err, given == count, HONE_E_SHAPE, "attribute '%s' has %d values, expected %d", name,
             given, count);
    for (int i = 0; i < count; i++) {
        HN_CHECK(err, ints[i] >= least && ints[i] <= INT32_MAX, HONE_E_ARG,
                 "attribute '%s' holds %lld, expected %lld to %d", name, (long long)ints[i],
                 (long long)least, INT32_MAX);
        v[i] = ints[i];
    }
    return HONE_OK;
}

static hn_auto_pad auto_pad_of(const hn_node *n) {
    if (hn_op_attr(n->op, "auto_pad") == NULL) return HN_PAD_NOTSET;
    if (hn_attr_is(n, "auto_pad", "SAME_UPPER")) return HN_PAD_SAME_UPPER;
    if (hn_attr_is(n, "auto_pad", "SAME_LOWER")) return HN_PAD_SAME_LOWER;
    if (hn_attr_is(n, "auto_pad", "VALID")) return HN_PAD_VALID;
    return HN_PAD_NOTSET;
}

hone_status hn_spatial_read(const hn_node *n, int rank, hn_spatial *s, hn_error *err) {
    assert(rank >= 0 && rank <= HN_MAX_SPATIAL);
    *s = (hn_spatial){.rank = rank, .auto_pad = auto_pad_of(n)};
    s->ceil = hn_op_attr(n->op, "ceil_mode") != NULL && hn_attr_i(n, "ceil_mode") != 0;
    for (int i = 0; i < rank; i++) s->stride[i] = s->dilation[i] = 1;
    HN_TRY(read_ints(n, "kernel_shape", 1, rank, s->kernel, err));
    HN_TRY(read_ints(n, "strides", 1, rank, s->stride, err));
    HN_TRY(read_ints(n, "dilations", 1, rank, s->dilation, err));
    if (s->auto_pad != HN_PAD_NOTSET) return HONE_OK;
    int64_t pads[2 * HN_MAX_SPATIAL] = {0};
    HN_TRY(read_ints(n, "pads", 0, 2 * rank, pads, err));
    memcpy(s->pad, pads, (size_t)rank * sizeof *pads);
    memcpy(s->pad_end, pads + rank, (size_t)rank * sizeof *pads);
    return HONE_OK;
}

hone_status hn_spatial_kernel(hn_spatial *s, const hn_shape *weights, int from, hn_error *err) {
    assert(weights->rank >= from + s->rank);
    for (int i = 0; i < s->rank; i++) {
        int64_t size;
        if (!hn_dim_is_const(weights->dim[from + i], &size)) continue;
        HN_CHECK(err, s->kernel[i] == 0 || s->kernel[i] == size, HONE_E_SHAPE,
                 "attribute 'kernel_shape' says %lld along axis %d, the weights have %lld",
                 (long long)s->kernel[i], i, (long long)size);
        HN_CHECK(err, size >= 1 && size <= INT32_MAX, HONE_E_SHAPE,
                 "the weights have size %lld along axis %d, expected 1 to %d", (long long)size,
                 from + i, INT32_MAX);
        s->kernel[i] = size;
    }
    return HONE_OK;
}

hone_status hn_spatial_out(const hn_spatial *s, hn_dims *t, int axis, hn_dim in, hn_dim *out,
                           hn_error *err) {
    hn_dim stride = hn_dim_const(t, s->stride[axis]);
    if (s->auto_pad == HN_PAD_SAME_UPPER || s->auto_pad == HN_PAD_SAME_LOWER) {
        *out = hn_dim_div_ceil(t, in, stride);
        return HONE_OK;
    }
    if (s->kernel[axis] == 0) {
        *out = hn_dim_fresh(t, -1);
        return HONE_OK;
    }
    int64_t padding = s->pad[axis] + s->pad_end[axis], extent = hn_spatial_extent(s, axis), size;
    HN_CHECK(err, !hn_dim_is_const(in, &size) || size + padding >= extent, HONE_E_SHAPE,
             "spatial axis %d of size %lld, padded to %lld, is smaller than its window of %lld",
             axis, (long long)size, (long long)(size + padding), (long long)extent);
    hn_dim room = hn_dim_addc(t, in, padding - extent);
    if (!s->ceil) {
        *out = hn_dim_addc(t, hn_dim_div(t, room, stride), 1);
        return HONE_OK;
    }
    *out = hn_dim_addc(t, hn_dim_div_ceil(t, room, stride), 1);
    /* Only then can the last window start beyond the input. */
    if (s->pad_end[axis] + s->stride[axis] > extent)
        *out = hn_dim_min(t, *out, hn_dim_div_ceil(t, hn_dim_addc(t, in, s->pad[axis]), stride));
    return HONE_OK;
}

void hn_spatial_resolve(hn_spatial *s, const int64_t *in) {
    if (s->auto_pad != HN_PAD_SAME_UPPER && s->auto_pad != HN_PAD_SAME_LOWER) return;
    for (int i = 0; i < s->rank; i++) {
        int64_t windows = in[i] / s->stride[i] + (in[i] % s->stride[i] != 0);
        int64_t total = (windows - 1) * s->stride[i] + hn_spatial_extent(s, i) - in[i];
        if (windows == 0 || total < 0) total = 0;
        s->pad[i] = s->auto_pad == HN_PAD_SAME_UPPER ? total / 2 : total - total / 2;
        s->pad_end[i] = total - s->pad[i];
    }
}

void hn_spatial_taps(const hn_spatial *s, int axis, int64_t o, int64_t in, int64_t *lo,
                     int64_t *hi) {
    int64_t start = o * s->stride[axis] - s->pad[axis], step = s->dilation[axis];
    *lo = start >= 0 ? 0 : (-start + step - 1) / step;
    *hi = in <= start ? 0 : (in - start - 1) / step + 1;
    if (*hi > s->kernel[axis]) *hi = s->kernel[axis];
    if (*lo > *hi) *lo = *hi;
}

const char *hn_refuse_mean(const hn_node *n) {
    int rank = n->inputs[0].value->type.shape.rank;
    return rank == 3 || rank == 4 ? NULL : HN_NO_MEAN;
}
