/* Clip: Min(max, Max(input, min)). NaN passes, and an absent or NaN limit limits nothing. */
#include <math.h>

#include "ops/broadcast.h"
#include "ops/grad.h"
#include "ops/nodes.h"

typedef struct job {
    const hn_tensor *in, *min, *max;
    hn_tensor *out;
} job;

static void run_f64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double x[HN_BLOCK];
    hn_load_f64_n(j->in->dtype, j->in->data, from, n, x);
    if (j->min != NULL) {
        double lo = hn_tensor_f64(j->min, 0);
        for (int64_t i = 0; i < n; i++) x[i] = x[i] < lo ? lo : x[i];
    }
    if (j->max != NULL) {
        double hi = hn_tensor_f64(j->max, 0);
        for (int64_t i = 0; i < n; i++) x[i] = x[i] > hi ? hi : x[i];
    }
    hn_store_f64_n(j->out->dtype, j->out->data, from, n, x);
}

static bool below(int64_t a, int64_t b, bool is_u64) {
    return is_u64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static void run_s64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    bool is_u64 = j->in->dtype == HONE_DTYPE_U64;
    int64_t x[HN_BLOCK];
    hn_load_s64_n(j->in->dtype, j->in->data, from, n, x);
    if (j->min != NULL) {
        int64_t lo = hn_tensor_s64(j->min, 0);
        for (int64_t i = 0; i < n; i++) x[i] = below(x[i], lo, is_u64) ? lo : x[i];
    }
    if (j->max != NULL) {
        int64_t hi = hn_tensor_s64(j->max, 0);
        for (int64_t i = 0; i < n; i++) x[i] = below(hi, x[i], is_u64) ? hi : x[i];
    }
    hn_store_s64_n(j->out->dtype, j->out->data, from, n, x);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    job j = {e->in[0], hn_eval_in(e, 1), hn_eval_in(e, 2), e->out[0]};
    hn_for_blocks(e->pool, j.out->n, hn_dtype_is_float(j.in->dtype) ? run_f64 : run_s64, &j);
    return HONE_OK;
}

static hn_dim known(hn_infer *c, const hn_dim *x) {
    hn_dim d = x[0];
    if (c->n_in > 1 && x[1] != NULL) d = hn_dim_max(c->dims, d, x[1]);
    if (c->n_in > 2 && x[2] != NULL) d = hn_dim_min(c->dims, d, x[2]);
    return d;
}

/* The limits are scalars; models with one-element vectors exist and are understood. */
static hone_status infer(hn_infer *c, hn_error *err) {
    for (int i = 1; i < 3; i++) {
        int64_t n;
        HN_TRY(hn_want_rank(c, i, 0, 1, err));
        HN_CHECK(
            err, hn_in_rank(c, i) < 1 || !hn_dim_is_const(hn_in_shape(c, i)->dim[0], &n) || n == 1,
            HONE_E_SHAPE, "%s has %lld elements, expected 1", i == 1 ? "min" : "max", (long long)n);
    }
    HN_TRY(hn_infer_same(c, err));
    hn_follow_values(c, known);
    return HONE_OK;
}

static bool limits(const hn_node *n, double *lo, double *hi) {
    *lo = -INFINITY;
    *hi = INFINITY;
    return (hn_node_input(n, 1) == NULL || hn_const_scalar(n, 1, lo)) &&
           (hn_node_input(n, 2) == NULL || hn_const_scalar(n, 2, hi));
}

static const char *refuse(const hn_node *n) {
    double lo, hi;
    return limits(n, &lo, &hi) ? NULL : "its limits are computed";
}

/* What limit i is, where it is known. */
static bool limit_is(const hn_grad *g, int i, double *v) {
    const hn_tensor *t = hn_grad_known(g, i);
    if (t == NULL || t->n != 1) return false;
    *v = hn_tensor_f64(t, 0);
    return true;
}

/* 1 between the limits, 0 at them and outside, as of Relu. Where it can be told of y alone by one
 * comparison, the input need not be kept, and mask and product are one pass: (c - y) * y is above 0
 * between 0 and c, whatever is rounded. Else y is compared with what it was: then the limits
 * themselves count as between. */
static hone_status grad(hn_grad *g, hn_error *err) {
    double lo = 0, hi = 0;
    if (hn_grad_wants(g, 1) || hn_grad_wants(g, 2))
        return hn_grad_refuse(g, "its limits are trained", err);
    if (hn_grad_in(g, 1) == NULL) return hn_grad_by(g, hn_grad_in(g, 2) == NULL ? "1" : "y < c");
    if (hn_grad_in(g, 2) == NULL) return hn_grad_by(g, "y > b");
    bool known = limit_is(g, 1, &lo) && limit_is(g, 2, &hi) && hi > lo && hi < 0x1p60;
    if (known && lo == 0) return hn_grad_by(g, "(c - y) * y > 0");
    if (known && lo == -hi) return hn_grad_by(g, "Abs(y) < c");
    return hn_grad_by(g, "a == y");
}

const hn_op_def hn_op_clip = {.name = "Clip",
                              .versions = "1 6 11 12 13",
                              .sig = "(input:T, min:T?, max:T?) -> (output:T); T: num",
                              .role = HN_ROLE_LIMIT,
                              .refuse = refuse,
                              .limits = limits,
                              .infer = infer,
                              .ref = ref,
                              .grad = grad};
