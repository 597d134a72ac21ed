/* Pooling, and the way from images to vectors. */
#include "make/layer.h"

enum { KERNEL, STRIDE, PAD };

static hone_status pool(hn_maker *m, const char *op, const double *v) {
    int64_t kernel = (int64_t)v[KERNEL], stride = (int64_t)v[STRIDE];
    hn_node *n;
    hn_value *y;
    HN_CHECK(m->err, 2 * v[PAD] <= v[KERNEL], HONE_E_SHAPE,
             "'%s': padding of %g, wanted at most half of the kernel of %g", m->at, v[PAD],
             v[KERNEL]);
    HN_TRY(HN_MAKE_OP(m, op, NULL, &n, &y, m->flow.value));
    m->flow.value = y;
    return hn_make_windows(m, n,
                           (hn_window){kernel, stride > 0 ? stride : kernel, (int64_t)v[PAD], 1});
}

#define POOL_PARAMS                                                         \
    {                                                                       \
        [KERNEL] = {.name = "kernel", .least = 1, .most = 255, .value = 2}, \
        [STRIDE] = {.name = "stride", .least = 1, .most = 255, .value = 0}, \
        [PAD] = {.name = "pad", .least = 0, .most = 127, .value = 0},       \
    }

static hone_status maxpool(hn_maker *m, const double *v) { return pool(m, "MaxPool", v); }
const hn_layer hn_layer_maxpool = {
    .name = "maxpool", .takes = HN_FLOW_IMAGE, .params = POOL_PARAMS, .make = maxpool};

static hone_status avgpool(hn_maker *m, const double *v) { return pool(m, "AveragePool", v); }
const hn_layer hn_layer_avgpool = {
    .name = "avgpool", .takes = HN_FLOW_IMAGE, .params = POOL_PARAMS, .make = avgpool};

/* The mean of each channel, as an image of one pixel. */
static hone_status globalpool(hn_maker *m, const double *v) {
    (void)v;
    m->flow.height = m->flow.width = 1;
    return HN_MAKE_OP(m, "GlobalAveragePool", NULL, NULL, &m->flow.value, m->flow.value);
}
const hn_layer hn_layer_globalpool = {
    .name = "globalpool", .takes = HN_FLOW_IMAGE, .make = globalpool};

static hone_status flatten(hn_maker *m, const double *v) {
    (void)v;
    hn_flow f = m->flow;
    hn_node *n;
    int64_t features = f.channels * f.height * f.width; /* each within 2^24: fits */
    HN_CHECK(m->err, features <= HN_MAKE_CHANNELS, HONE_E_LIMIT,
             "'%s': %lld features, at most %d are allowed", m->at, (long long)features,
             HN_MAKE_CHANNELS);
    HN_TRY(HN_MAKE_OP(m, "Flatten", NULL, &n, &f.value, f.value));
    m->flow = (hn_flow){.kind = HN_FLOW_VECTOR, .value = f.value, .channels = features};
    return hn_node_set_i(n, "axis", 1, m->err);
}
const hn_layer hn_layer_flatten = {.name = "flatten", .takes = HN_FLOW_IMAGE, .make = flatten};
