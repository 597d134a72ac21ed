/* Sum, Mean, Max and Min of any number of broadcast tensors. Sums of floats are taken in double, in
 * the order of the inputs, and rounded once. */
#include "ops/broadcast.h"
#include "ops/grad.h"

/* Of Max and Min, where they are differentiated. */
enum { HN_MAX_GRAD_INPUTS = 16 };

typedef struct variadic {
    double (*f64)(double a, double b);
    int64_t (*s64)(int64_t a, int64_t b, bool is_u64);
    bool mean;
    hn_dim (*known)(hn_infer *c, const hn_dim *args);
} variadic;

typedef struct job {
    const variadic *op;
    int n_in;
    hn_broadcast *in;
    hn_tensor *out;
} job;

static double add(double a, double b) { return a + b; }
/* NaN passes whichever side it is on. */
static double larger(double a, double b) { return b > a || b != b ? b : a; }
static double smaller(double a, double b) { return b < a || b != b ? b : a; }

static int64_t larger_s64(int64_t a, int64_t b, bool is_u64) {
    return (is_u64 ? (uint64_t)b > (uint64_t)a : b > a) ? b : a;
}

static int64_t smaller_s64(int64_t a, int64_t b, bool is_u64) {
    return larger_s64(a, b, is_u64) == a ? b : a;
}

static hn_dim larger_known(hn_infer *c, const hn_dim *args) {
    hn_dim d = args[0];
    for (int i = 1; i < c->n_in; i++) d = hn_dim_max(c->dims, d, args[i]);
    return d;
}

static hn_dim smaller_known(hn_infer *c, const hn_dim *args) {
    hn_dim d = args[0];
    for (int i = 1; i < c->n_in; i++) d = hn_dim_min(c->dims, d, args[i]);
    return d;
}

static void run_f64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double acc[HN_BLOCK], x[HN_BLOCK];
    hn_broadcast_f64(&j->in[0], from, n, acc);
    for (int k = 1; k < j->n_in; k++) {
        hn_broadcast_f64(&j->in[k], from, n, x);
        for (int64_t i = 0; i < n; i++) acc[i] = j->op->f64(acc[i], x[i]);
    }
    if (j->op->mean)
        for (int64_t i = 0; i < n; i++) acc[i] /= j->n_in;
    hn_store_f64_n(j->out->dtype, j->out->data, from, n, acc);
}

static void run_s64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    bool is_u64 = j->out->dtype == HONE_DTYPE_U64;
    int64_t acc[HN_BLOCK], x[HN_BLOCK];
    hn_broadcast_s64(&j->in[0], from, n, acc);
    for (int k = 1; k < j->n_in; k++) {
        hn_broadcast_s64(&j->in[k], from, n, x);
        for (int64_t i = 0; i < n; i++) acc[i] = j->op->s64(acc[i], x[i], is_u64);
    }
    hn_store_s64_n(j->out->dtype, j->out->data, from, n, acc);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j = {.op = e->node->op->data, .n_in = e->n_in, .out = e->out[0]};
    j.in = hn_scratch(e, e->n_in, sizeof *j.in);
    if (j.in == NULL) return HN_NOMEM(err);
    for (int k = 0; k < e->n_in; k++)
        hn_broadcast_init(&j.in[k], e->in[k], j.out->rank, j.out->dims);
    hn_for_blocks(e->pool, j.out->n, hn_dtype_is_float(j.out->dtype) ? run_f64 : run_s64, &j);
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const variadic *op = c->node->op->data;
    HN_TRY(hn_infer_broadcast(c, err));
    if (op->known != NULL) hn_follow_values(c, op->known);
    return HONE_OK;
}

/* Sum and Mean hand on what comes; of Max and Min, equal inputs share it. */
static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    const variadic *op = g->node->op->data;
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_out(g, 0), dims), n = g->node->n_inputs;
    hn_value *dy = g->dy[0], *hits[HN_MAX_GRAD_INPUTS] = {0}, *sum = NULL;
    bool chooses = op->f64 != add;
    if (op->mean) dy = HN_EMIT2(g, "Mul", dy, hn_emit_number(g, 1.0 / n));
    if (chooses && n > HN_MAX_GRAD_INPUTS) return hn_grad_refuse(g, "too many inputs", err);
    for (int i = 0; chooses && i < n; i++) {
        hits[i] = hn_emit_cast(g, HN_EMIT2(g, "Equal", hn_grad_in(g, i), hn_grad_out(g, 0)));
        sum = i == 0 ? hits[i] : HN_EMIT2(g, "Add", sum, hits[i]);
    }
    if (chooses) dy = HN_EMIT2(g, "Div", dy, sum);
    for (int i = 0; i < n; i++) {
        if (!hn_grad_wants(g, i)) continue;
        hn_value *part = chooses ? HN_EMIT2(g, "Mul", dy, hits[i]) : dy;
        hn_grad_give(g, i, hn_emit_sum_to(g, part, rank, dims, hn_grad_in(g, i)));
    }
    return HONE_OK;
}

#define VARIADIC(lc, NAME, VERSIONS, OUT, TYPES, ...)                               \
    const hn_op_def hn_op_##lc = {.name = NAME,                                     \
                                  .versions = VERSIONS,                             \
                                  .sig = "(data_0:T...) -> (" OUT ":T); T: " TYPES, \
                                  .mixing = HN_MIXES_NOTHING,                       \
                                  .infer = infer,                                   \
                                  .ref = ref,                                       \
                                  .grad = grad,                                     \
                                  .data = &(const variadic){__VA_ARGS__}};

/* clang-format off */
VARIADIC(max, "Max", "1 6 8 12 13", "max", "num", larger, larger_s64, false, larger_known)
VARIADIC(mean, "Mean", "1 6 8 13", "mean", "float", .f64 = add, .mean = true)
VARIADIC(min, "Min", "1 6 8 12 13", "min", "num", smaller, smaller_s64, false, smaller_known)
VARIADIC(sum, "Sum", "1 6 8 13", "sum", "float", .f64 = add)
/* clang-format on */
