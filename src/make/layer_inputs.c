/* Inputs of a model: the first layer of a description. */
#include "make/layer.h"

static hone_status image(hn_maker *m, const double *v) {
    const int64_t dims[] = {(int64_t)v[0], (int64_t)v[1], (int64_t)v[2]};
    hn_flow f = {.kind = HN_FLOW_IMAGE, .channels = dims[0], .height = dims[1], .width = dims[2]};
    HN_TRY(hn_make_input(m, "input", HONE_DTYPE_F32, 3, dims, &f.value));
    m->flow = f;
    return HONE_OK;
}

const hn_layer hn_layer_image = {
    .name = "image",
    .takes = HN_FLOW_NONE,
    .params = {{.name = "channels", .least = 1, .most = HN_MAKE_CHANNELS, .required = true},
               {.name = "height", .least = 1, .most = HN_MAKE_SIDE, .required = true},
               {.name = "width", .least = 1, .most = HN_MAKE_SIDE, .required = true}},
    .make = image,
};

static hone_status vector(hn_maker *m, const double *v) {
    const int64_t n = (int64_t)v[0];
    hn_flow f = {.kind = HN_FLOW_VECTOR, .channels = n};
    HN_TRY(hn_make_input(m, "input", HONE_DTYPE_F32, 1, &n, &f.value));
    m->flow = f;
    return HONE_OK;
}

const hn_layer hn_layer_vector = {
    .name = "vector",
    .takes = HN_FLOW_NONE,
    .params = {{.name = "features", .least = 1, .most = HN_MAKE_CHANNELS, .required = true}},
    .make = vector,
};

/* Numbers of tokens, and which of them count. */
static hone_status tokens(hn_maker *m, const double *v) {
    (void)v;
    const int64_t any = -1;
    hn_flow f = {.kind = HN_FLOW_IDS, .channels = 1};
    HN_TRY(hn_make_input(m, "input_ids", HONE_DTYPE_S64, 1, &any, &f.value));
    HN_TRY(hn_make_input(m, "attention_mask", HONE_DTYPE_S64, 1, &any, &m->mask));
    m->ids = f.value;
    m->flow = f;
    return HONE_OK;
}

const hn_layer hn_layer_tokens = {.name = "tokens", .takes = HN_FLOW_NONE, .make = tokens};
