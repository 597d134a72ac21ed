/* GlobalAveragePool, GlobalMaxPool, GlobalLpPool: one number for each channel of each image. */
#include <math.h>

#include "ops/grad.h"
#include "ops/spatial.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 0, 2, HONE_MAX_RANK, err));
    hn_shape y = *hn_in_shape(c, 0);
    for (int i = 2; i < y.rank; i++) y.dim[i] = hn_dim_const(c->dims, 1);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

typedef enum mode { AVERAGE, MAXIMUM, LP } mode;

typedef struct job {
    mode mode;
    const hn_tensor *x;
    hn_tensor *y;
    int64_t size; /* of a plane */
    int64_t p;
} job;

static void reduce_plane(void *ctx, int64_t plane) {
    const job *j = ctx;
    double acc = j->mode == MAXIMUM ? -INFINITY : 0, v[256];
    for (int64_t at = 0, n; at < j->size; at += n) {
        n = j->size - at < 256 ? j->size - at : 256;
        hn_load_f64_n(j->x->dtype, j->x->data, plane * j->size + at, n, v);
        for (int64_t i = 0; i < n; i++) {
            if (j->mode == AVERAGE)
                acc += v[i];
            else if (j->mode == LP)
                acc += j->p == 1   ? fabs(v[i])
                       : j->p == 2 ? v[i] * v[i]
                                   : pow(fabs(v[i]), (double)j->p);
            else if (v[i] > acc || isnan(v[i]))
                acc = v[i];
        }
    }
    if (j->mode == AVERAGE) acc /= (double)j->size;
    if (j->mode == LP && j->p != 1) acc = j->p == 2 ? sqrt(acc) : pow(acc, 1 / (double)j->p);
    hn_store_f64(j->y->dtype, j->y->data, plane, acc);
}

static hone_status pool(hn_eval *e, mode m, int64_t p) {
    job j = {.mode = m, .x = e->in[0], .y = e->out[0], .p = p};
    if (j.y->n == 0) return HONE_OK;
    j.size = j.x->n / j.y->n;
    hn_pool_run(e->pool, j.y->n, reduce_plane, &j);
    return HONE_OK;
}

static hone_status average_ref(hn_eval *e, hn_error *err) {
    (void)err;
    return pool(e, AVERAGE, 0);
}

static hone_status max_ref(hn_eval *e, hn_error *err) {
    (void)err;
    return pool(e, MAXIMUM, 0);
}

static hone_status lp_ref(hn_eval *e, hn_error *err) {
    int64_t p = hn_attr_i(e->node, "p");
    HN_CHECK(err, p >= 1, HONE_E_ARG, "attribute 'p' is %lld, expected 1 or more", (long long)p);
    return pool(e, LP, p);
}

static hone_status average_grad(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK], n = 1;
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    for (int i = 2; i < rank; i++) n *= dims[i];
    hn_value *each = HN_EMIT2(g, "Mul", g->dy[0], hn_emit_number(g, 1 / (double)n));
    hn_grad_give(g, 0, hn_emit_expanded(g, each, rank, dims));
    return HONE_OK;
}

/* A pool whose window is the whole plane. */
static hone_status max_grad(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    hn_value *in[] = {g->dy[0], hn_grad_in(g, 0)};
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "MaxPoolGrad", 1, 2, in);
    hn_emit_ints_attr(g, n, "kernel_shape", dims + 2, rank - 2);
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

static hone_status lp_grad(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t p = hn_attr_i(g->node, "p");
    hn_grad_give(g, 0, hn_lp_chain(g, p, hn_lp_slope(g, p, g->dy[0])));
    return HONE_OK;
}

static const hn_attr_def lp_attrs[] = {HN_ATTR_I("p", 2), {0}};

const hn_op_def hn_op_global_average_pool = {
    .name = "GlobalAveragePool",
    .versions = "1 22",
    .sig = "(X:T) -> (Y:T); T: float",
    .traits = HN_HOMOGENEOUS,
    .role = HN_ROLE_MEAN,
    .refuse = hn_refuse_mean,
    .mixing = HN_MIXES_SPACE,
    .infer = infer,
    .ref = average_ref,
    .grad = average_grad,
};

const hn_op_def hn_op_global_max_pool = {
    .name = "GlobalMaxPool",
    .versions = "1 22",
    .sig = "(X:T) -> (Y:T); T: float",
    .traits = HN_HOMOGENEOUS,
    .role = HN_ROLE_MAX,
    .mixing = HN_MIXES_SPACE,
    .infer = infer,
    .ref = max_ref,
    .grad = max_grad,
};

const hn_op_def hn_op_global_lp_pool = {
    .name = "GlobalLpPool",
    .versions = "1 2 22",
    .sig = "(X:T) -> (Y:T); T: float",
    .attrs = lp_attrs,
    .mixing = HN_MIXES_SPACE,
    .infer = infer,
    .ref = lp_ref,
    .grad = lp_grad,
};
