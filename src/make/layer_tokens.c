/* Tokens: from numbers or images to tokens, what is added to them, and from tokens to a vector. */
#include "make/layer.h"

/* ---- to tokens ---- */

/* A parameter, which is looked up and not multiplied with: fans are of no account. */
static hone_status table(hn_maker *m, const char *part, int rank, const int64_t *dims,
                         hn_value **out) {
    return hn_make_param(m, part, HN_INITIAL_EMBEDDING, rank, dims, (hn_fans){1, 1}, out);
}

static hone_status embedding(hn_maker *m, const double *v) {
    const int64_t dims[] = {(int64_t)v[0], (int64_t)v[1]};
    hn_value *rows, *y;
    HN_TRY(table(m, "weight", 2, dims, &rows));
    HN_TRY(HN_MAKE_OP(m, "Gather", NULL, NULL, &y, rows, m->flow.value));
    m->flow = (hn_flow){.kind = HN_FLOW_TOKENS, .value = y, .channels = dims[1]};
    return HONE_OK;
}

const hn_layer hn_layer_embedding = {
    .name = "embedding",
    .takes = HN_FLOW_IDS,
    .params = {{.name = "vocab", .least = 1, .most = HN_MAKE_CHANNELS, .required = true},
               {.name = "out", .least = 1, .most = HN_MAKE_CHANNELS, .required = true}},
    .make = embedding,
};

/* A token for each pixel, row after row. */
static hone_status unfold(hn_maker *m, const double *v) {
    (void)v;
    hn_flow f = {.kind = HN_FLOW_TOKENS,
                 .channels = m->flow.channels,
                 .length = m->flow.height * m->flow.width};
    hn_value *shape, *y;
    hn_node *turn;
    HN_TRY(HN_MAKE_INTEGERS(m, &shape, 0, f.channels, f.length));
    HN_TRY(HN_MAKE_OP(m, "Reshape", "rows", NULL, &y, m->flow.value, shape));
    HN_TRY(HN_MAKE_OP(m, "Transpose", NULL, &turn, &f.value, y));
    m->flow = f;
    return hn_node_set_ints(turn, "perm", (int64_t[]){0, 2, 1}, 3, m->err);
}

const hn_layer hn_layer_unfold = {.name = "unfold", .takes = HN_FLOW_IMAGE, .make = unfold};

/* ---- what is added ---- */

/* One more token before the others, the same for every sample. */
static hone_status classtoken(hn_maker *m, const double *v) {
    (void)v;
    const int64_t dims[] = {1, 1, m->flow.channels};
    hn_value *token, *batch, *rest, *shape, *y;
    hn_node *n;
    HN_TRY(table(m, "weight", 3, dims, &token));
    HN_TRY(HN_MAKE_OP(m, "Shape", "batch", &n, &batch, m->flow.value));
    HN_TRY(hn_node_set_i(n, "start", 0, m->err));
    HN_TRY(hn_node_set_i(n, "end", 1, m->err));
    HN_TRY(HN_MAKE_INTEGERS(m, &rest, 1, m->flow.channels));
    HN_TRY(HN_MAKE_OP(m, "Concat", "shape", &n, &shape, batch, rest));
    HN_TRY(hn_node_set_i(n, "axis", 0, m->err));
    HN_TRY(HN_MAKE_OP(m, "Expand", "expanded", NULL, &y, token, shape));
    HN_TRY(HN_MAKE_OP(m, "Concat", NULL, &n, &m->flow.value, y, m->flow.value));
    if (m->flow.length > 0) m->flow.length++;
    return hn_node_set_i(n, "axis", 1, m->err);
}

const hn_layer hn_layer_classtoken = {
    .name = "classtoken", .takes = HN_FLOW_TOKENS, .make = classtoken};

/* The first of the rows, as many as the input has tokens. */
static hone_status rows_of_input(hn_maker *m, hn_value *rows, hn_value **out) {
    hn_value *zero, *one, *length, *places;
    HN_TRY(hn_make_index(m, 0, &zero));
    HN_TRY(hn_make_index(m, 1, &one));
    HN_TRY(HN_MAKE_OP(m, "Shape", "shape", NULL, &length, m->ids));
    HN_TRY(HN_MAKE_OP(m, "Gather", "length", NULL, &length, length, one));
    HN_TRY(HN_MAKE_OP(m, "Range", "places", NULL, &places, zero, length, one));
    return HN_MAKE_OP(m, "Gather", "rows", NULL, out, rows, places);
}

/* A learned vector for each place. */
static hone_status position(hn_maker *m, const double *v) {
    int64_t length = v[0] > 0 ? (int64_t)v[0] : m->flow.length;
    hn_value *rows;
    HN_CHECK(m->err, length > 0, HONE_E_FORMAT,
             "'%s': the most tokens there can be are not known, wanted length=", m->at);
    HN_CHECK(m->err, m->flow.length == 0 || m->flow.length == length, HONE_E_SHAPE,
             "'%s': places for %lld tokens, wanted the %lld there are", m->at, (long long)length,
             (long long)m->flow.length);
    HN_TRY(table(m, "weight", 2, (int64_t[]){length, m->flow.channels}, &rows));
    if (m->flow.length == 0) HN_TRY(rows_of_input(m, rows, &rows));
    return HN_MAKE_OP(m, "Add", NULL, NULL, &m->flow.value, m->flow.value, rows);
}

const hn_layer hn_layer_position = {
    .name = "position",
    .takes = HN_FLOW_TOKENS,
    .params = {{.name = "length", .least = 1, .most = HN_MAKE_CHANNELS, .value = 0}},
    .make = position,
};

/* The learned vector of the first of several kinds of tokens, which all tokens are taken to be of. */
static hone_status type(hn_maker *m, const double *v) {
    hn_value *rows, *zero, *y;
    HN_TRY(table(m, "weight", 2, (int64_t[]){(int64_t)v[0], m->flow.channels}, &rows));
    HN_TRY(hn_make_index(m, 0, &zero));
    HN_TRY(HN_MAKE_OP(m, "Gather", "first", NULL, &y, rows, zero));
    return HN_MAKE_OP(m, "Add", NULL, NULL, &m->flow.value, m->flow.value, y);
}

const hn_layer hn_layer_type = {
    .name = "type",
    .takes = HN_FLOW_TOKENS,
    .params = {{.name = "kinds", .least = 1, .most = 1024, .value = 2}},
    .make = type,
};

/* ---- to a vector ---- */

static void to_vector(hn_maker *m, hn_value *y) {
    m->flow = (hn_flow){.kind = HN_FLOW_VECTOR, .value = y, .channels = m->flow.channels};
}

static hone_status first(hn_maker *m, const double *v) {
    (void)v;
    hn_value *zero, *y;
    hn_node *n;
    HN_TRY(hn_make_index(m, 0, &zero));
    HN_TRY(HN_MAKE_OP(m, "Gather", NULL, &n, &y, m->flow.value, zero));
    HN_TRY(hn_node_set_i(n, "axis", 1, m->err));
    to_vector(m, y);
    return HONE_OK;
}

const hn_layer hn_layer_first = {.name = "first", .takes = HN_FLOW_TOKENS, .make = first};

static hone_status sum_of(hn_maker *m, const char *part, hn_value *x, hn_value **out) {
    hn_value *axis;
    hn_node *n;
    HN_TRY(HN_MAKE_INTEGERS(m, &axis, 1));
    HN_TRY(HN_MAKE_OP(m, "ReduceSum", part, &n, out, x, axis));
    return hn_node_set_i(n, "keepdims", 0, m->err);
}

/* The sum of the tokens that count, divided by their number. */
static hone_status masked_mean(hn_maker *m, hn_value **out) {
    hn_value *axis, *count, *x;
    hn_node *n;
    HN_TRY(HN_MAKE_OP(m, "Cast", "mask", &n, &count, m->mask));
    HN_TRY(hn_node_set_i(n, "to", HONE_DTYPE_F32, m->err));
    HN_TRY(HN_MAKE_INTEGERS(m, &axis, 2));
    HN_TRY(HN_MAKE_OP(m, "Unsqueeze", "column", NULL, &count, count, axis));
    HN_TRY(HN_MAKE_OP(m, "Mul", "masked", NULL, &x, m->flow.value, count));
    HN_TRY(sum_of(m, "sum", x, &x));
    HN_TRY(sum_of(m, "count", count, &count));
    return HN_MAKE_OP(m, "Div", NULL, NULL, out, x, count);
}

static hone_status mean(hn_maker *m, const double *v) {
    (void)v;
    hn_value *axis, *y;
    hn_node *n;
    if (m->mask != NULL) {
        HN_TRY(masked_mean(m, &y));
    } else {
        HN_TRY(HN_MAKE_INTEGERS(m, &axis, 1));
        HN_TRY(HN_MAKE_OP(m, "ReduceMean", NULL, &n, &y, m->flow.value, axis));
        HN_TRY(hn_node_set_i(n, "keepdims", 0, m->err));
    }
    to_vector(m, y);
    return HONE_OK;
}

const hn_layer hn_layer_mean = {.name = "mean", .takes = HN_FLOW_TOKENS, .make = mean};
