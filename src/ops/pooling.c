/* MaxPool, AveragePool, LpPool: one number for each window. */
#include <math.h>

#include "ops/grad.h"
#include "ops/pooling_ref.h"

static hone_status infer(hn_infer *c, hn_error *err) { return hn_pool_infer(c, false, err); }

typedef struct target {
    hn_tensor *y, *indices;
    const hn_tensor *x;
    bool column_major;
} target;

/* Position i of the row-major plane of x, counted with the first spatial axis fastest. */
static int64_t column_major(const hn_tensor *x, int64_t i) {
    int64_t at = 0, coord[HONE_MAX_RANK];
    for (int a = x->rank - 1; a >= 2; a--) {
        coord[a] = i % x->dims[a];
        i /= x->dims[a];
    }
    for (int a = x->rank - 1; a >= 2; a--) at = at * x->dims[a] + coord[a];
    return at;
}

static void store(const void *ctx, int64_t n, int64_t c, int64_t size, const double *v,
                  const int64_t *at) {
    const target *t = ctx;
    int64_t plane = n * t->x->dims[1] + c;
    hn_store_f64_n(t->y->dtype, t->y->data, plane * size, size, v);
    if (t->indices == NULL) return;
    int64_t in_size = t->x->n / (t->x->dims[0] * t->x->dims[1]);
    int64_t *index = (int64_t *)t->indices->data + plane * size;
    for (int64_t i = 0; i < size; i++) {
        int64_t k = at[i] >= 0 && t->column_major ? column_major(t->x, at[i]) : at[i];
        index[i] = k < 0 ? -1 : plane * in_size + k;
    }
}

static hone_status pool(hn_eval *e, hn_pooling *p, hn_error *err) {
    target t = {.y = e->out[0], .indices = hn_eval_out(e, 1), .x = e->in[0]};
    t.column_major = t.indices != NULL && hn_attr_i(e->node, "storage_order") != 0;
    p->store = store;
    p->ctx = &t;
    return hn_pool_ref(e, t.x, t.y, p, err);
}

static hone_status max_ref(hn_eval *e, hn_error *err) {
    hone_dtype t = e->in[0]->dtype;
    hn_pooling p = {.mode = HN_POOL_MAX,
                    .lowest = hn_dtype_is_int(t) ? (double)hn_dtype_min(t) : -INFINITY};
    return pool(e, &p, err);
}

static hone_status average_ref(hn_eval *e, hn_error *err) {
    hn_pooling p = {.mode = HN_POOL_AVERAGE,
                    .count_pads = hn_attr_i(e->node, "count_include_pad") != 0};
    return pool(e, &p, err);
}

static hone_status lp_ref(hn_eval *e, hn_error *err) {
    hn_pooling p = {.mode = HN_POOL_LP, .p = hn_attr_i(e->node, "p")};
    HN_CHECK(err, p.p >= 1, HONE_E_ARG, "attribute 'p' is %lld, expected 1 or more",
             (long long)p.p);
    return pool(e, &p, err);
}

static const hn_attr_def max_attrs[] = {
    HN_SPATIAL_ATTRS,
    HN_ATTR_I("ceil_mode", 0),
    HN_ATTR_REQ("kernel_shape", INTS),
    HN_ATTR_I("storage_order", 0),
    {0},
};

static const hn_attr_def average_attrs[] = {
    HN_SPATIAL_ATTRS,
    HN_ATTR_I("ceil_mode", 0),
    HN_ATTR_I("count_include_pad", 0),
    HN_ATTR_REQ("kernel_shape", INTS),
    {0},
};

static const hn_attr_def lp_attrs[] = {
    HN_SPATIAL_ATTRS,
    HN_ATTR_I("ceil_mode", 0),
    HN_ATTR_REQ("kernel_shape", INTS),
    HN_ATTR_I("p", 2),
    {0},
};

static const char *refuse_max(const hn_node *n) {
    return hn_node_output(n, 1) != NULL ? "the places of the maxima are wanted" : NULL;
}

/* A node of the training domain with the attributes of the pool. */
static hn_node *emit_pool_grad(hn_grad *g, const char *op, int n_in, hn_value *const *in) {
    static const char *const names[] = {"auto_pad",         "dilations", "pads",
                                        "strides",          "ceil_mode", "kernel_shape",
                                        "count_include_pad"};
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, op, 1, n_in, in);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) hn_emit_copied(g, n, names[i]);
    return n;
}

static hone_status grad_max(hn_grad *g, hn_error *err) {
    (void)err;
    hn_value *in[] = {g->dy[0], hn_grad_in(g, 0)};
    hn_grad_give(g, 0, hn_emitted(emit_pool_grad(g, "MaxPoolGrad", 2, in), 0));
    return HONE_OK;
}

static hone_status grad_average(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    hn_node *n = emit_pool_grad(g, "AveragePoolGrad", 1, g->dy);
    hn_emit_ints_attr(g, n, "dims", dims, rank);
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

/* With s the sum of |x|^p in a window, y = s^(1/p): what goes back is dy * y^(1-p) * |x|^(p-1) *
 * sign(x), summed over the windows as a mean's gradient is. At y = 0 it is 0. */
static hone_status grad_lp(hn_grad *g, hn_error *err) {
    int64_t x[HONE_MAX_RANK], y[HONE_MAX_RANK], p = hn_attr_i(g->node, "p"), taps = 1;
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), x);
    hn_grad_dims(g, hn_grad_out(g, 0), y);
    if (g->status != HONE_OK) return HONE_OK;
    hn_spatial s;
    HN_TRY(hn_spatial_read(g->node, rank - 2, &s, err));
    hn_spatial_resolve(&s, x + 2);
    for (int i = 0; i < s.rank; i++) { /* windows may reach past the end: ceil_mode */
        int64_t end = (y[2 + i] - 1) * s.stride[i] + hn_spatial_extent(&s, i) - x[2 + i] - s.pad[i];
        if (end > s.pad_end[i]) s.pad_end[i] = end;
        taps *= s.kernel[i];
    }
    hn_value *u = hn_lp_slope(g, p, g->dy[0]);
    if (u == NULL) return HONE_OK;
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "AveragePoolGrad", 1, 1, &u);
    hn_emit_windows(g, n, &s);
    hn_emit_ints_attr(g, n, "kernel_shape", s.kernel, s.rank);
    hn_emit_i(g, n, "count_include_pad", 1);
    hn_emit_ints_attr(g, n, "dims", x, rank);
    hn_value *sums = HN_EMIT2(g, "Mul", hn_emitted(n, 0), hn_emit_number(g, (double)taps));
    hn_grad_give(g, 0, hn_lp_chain(g, p, sums));
    return HONE_OK;
}

const hn_op_def hn_op_max_pool = {
    .name = "MaxPool",
    .versions = "1 8 10 11 12 22",
    .sig = "(X:T) -> (Y:T, Indices:s64?); T: float s8 u8",
    .attrs = max_attrs,
    .traits = HN_HOMOGENEOUS,
    .role = HN_ROLE_MAX,
    .refuse = refuse_max,
    .mixing = HN_MIXES_SPACE,
    .infer = infer,
    .ref = max_ref,
    .grad = grad_max,
};

const hn_op_def hn_op_average_pool = {
    .name = "AveragePool",
    .versions = "1 7 10 11 19 22",
    .sig = "(X:T) -> (Y:T); T: float",
    .attrs = average_attrs,
    .traits = HN_HOMOGENEOUS,
    .role = HN_ROLE_MEAN,
    .refuse = hn_refuse_mean,
    .mixing = HN_MIXES_SPACE,
    .infer = infer,
    .ref = average_ref,
    .grad = grad_average,
};

const hn_op_def hn_op_lp_pool = {
    .name = "LpPool",
    .versions = "1 2 11 18 22",
    .sig = "(X:T) -> (Y:T); T: float",
    .attrs = lp_attrs,
    .mixing = HN_MIXES_SPACE,
    .infer = infer,
    .ref = lp_ref,
    .grad = grad_lp,
};
