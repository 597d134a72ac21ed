/* Convolution, and the shortcut without parameters of ResNets for small images. */
#include "make/layer.h"

hone_status hn_make_windows(hn_maker *m, hn_node *n, hn_window w) {
    int64_t span = (w.kernel - 1) * w.dilation + 1;
    int64_t rows = m->flow.height + 2 * w.pad - span, columns = m->flow.width + 2 * w.pad - span;
    HN_CHECK(m->err, rows >= 0 && columns >= 0, HONE_E_SHAPE,
             "'%s': a window of %lld rows does not fit into an image of %lld x %lld and %lld of "
             "padding",
             m->at, (long long)span, (long long)m->flow.height, (long long)m->flow.width,
             (long long)w.pad);
    m->flow.height = rows / w.stride + 1;
    m->flow.width = columns / w.stride + 1;
    HN_TRY(hn_node_set_ints(n, "kernel_shape", (int64_t[]){w.kernel, w.kernel}, 2, m->err));
    HN_TRY(hn_node_set_ints(n, "strides", (int64_t[]){w.stride, w.stride}, 2, m->err));
    return hn_node_set_ints(n, "pads", (int64_t[]){w.pad, w.pad, w.pad, w.pad}, 4, m->err);
}

enum { OUT, KERNEL, STRIDE, PAD, GROUPS, DILATION, BIAS };

static hone_status conv_weights(hn_maker *m, const double *v, hn_value **w, hn_value **b) {
    int64_t out = (int64_t)v[OUT], k = (int64_t)v[KERNEL], groups = (int64_t)v[GROUPS];
    int64_t in = m->flow.channels;
    HN_CHECK(m->err, in % groups == 0 && out % groups == 0, HONE_E_SHAPE,
             "'%s': %lld channels in and %lld out, wanted multiples of the %lld groups", m->at,
             (long long)in, (long long)out, (long long)groups);
    hn_fans f = {(double)(in / groups * k * k), (double)(out / groups * k * k)};
    HN_TRY(
        hn_make_param(m, "weight", HN_INITIAL_CONV, 4, (int64_t[]){out, in / groups, k, k}, f, w));
    return v[BIAS] != 0 ? hn_make_param(m, "bias", HN_INITIAL_BIAS, 1, &out, f, b) : HONE_OK;
}

static hone_status conv(hn_maker *m, const double *v) {
    hn_window window = {(int64_t)v[KERNEL], (int64_t)v[STRIDE], (int64_t)v[PAD],
                        (int64_t)v[DILATION]};
    if (v[PAD] < 0) window.pad = (window.kernel - 1) / 2 * window.dilation;
    hn_value *w, *b = NULL, *y;
    hn_node *n;
    HN_TRY(conv_weights(m, v, &w, &b));
    HN_TRY(hn_make_op(m, "Conv", NULL, (hn_value *const[]){m->flow.value, w, b}, b != NULL ? 3 : 2,
                      &n, &y));
    HN_TRY(hn_make_windows(m, n, window));
    HN_TRY(hn_node_set_i(n, "group", (int64_t)v[GROUPS], m->err));
    HN_TRY(
        hn_node_set_ints(n, "dilations", (int64_t[]){window.dilation, window.dilation}, 2, m->err));
    m->flow.value = y;
    m->flow.channels = (int64_t)v[OUT];
    return HONE_OK;
}

const hn_layer hn_layer_conv = {
    .name = "conv",
    .takes = HN_FLOW_IMAGE,
    .params = {[OUT] = {.name = "out", .least = 1, .most = HN_MAKE_CHANNELS, .required = true},
               [KERNEL] = {.name = "kernel", .least = 1, .most = 255, .value = 3},
               [STRIDE] = {.name = "stride", .least = 1, .most = 255, .value = 1},
               [PAD] = {.name = "pad", .least = 0, .most = 255, .value = -1},
               [GROUPS] = {.name = "groups", .least = 1, .most = HN_MAKE_CHANNELS, .value = 1},
               [DILATION] = {.name = "dilation", .least = 1, .most = 255, .value = 1},
               [BIAS] = {.name = "bias", .least = 0, .most = 1, .value = 0}},
    .make = conv,
};

/* Every so many rows and columns of an image, with channels of zeros before and behind its own. */
static hone_status subsample(hn_maker *m, const double *v) {
    int64_t out = (int64_t)v[0], stride = (int64_t)v[1], more = out - m->flow.channels;
    HN_CHECK(m->err, more >= 0, HONE_E_SHAPE,
             "'%s': %lld channels out, wanted at least the %lld in", m->at, (long long)out,
             (long long)m->flow.channels);
    hn_value *start, *end, *axes, *steps, *pads, *y;
    HN_TRY(HN_MAKE_INTEGERS(m, &start, 0, 0));
    HN_TRY(HN_MAKE_INTEGERS(m, &end, m->flow.height, m->flow.width));
    HN_TRY(HN_MAKE_INTEGERS(m, &axes, 2, 3));
    HN_TRY(HN_MAKE_INTEGERS(m, &steps, stride, stride));
    HN_TRY(HN_MAKE_INTEGERS(m, &pads, 0, more / 2, 0, 0, 0, more - more / 2, 0, 0));
    HN_TRY(HN_MAKE_OP(m, "Slice", "slice", NULL, &y, m->flow.value, start, end, axes, steps));
    HN_TRY(HN_MAKE_OP(m, "Pad", NULL, NULL, &m->flow.value, y, pads));
    m->flow.channels = out;
    m->flow.height = (m->flow.height - 1) / stride + 1;
    m->flow.width = (m->flow.width - 1) / stride + 1;
    return HONE_OK;
}

const hn_layer hn_layer_subsample = {
    .name = "subsample",
    .takes = HN_FLOW_IMAGE,
    .params = {{.name = "out", .least = 1, .most = HN_MAKE_CHANNELS, .required = true},
               {.name = "stride", .least = 1, .most = 255, .value = 2}},
    .make = subsample,
};
