#include <math.h>

#include "ops/broadcast.h"

typedef struct job {
    double bias, lambd;
    const hn_tensor *in;
    hn_tensor *out;
} job;

static void run_f64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double x[HN_BLOCK];
    hn_load_f64_n(j->in->dtype, j->in->data, from, n, x);
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] < -j->lambd ? x[i] + j->bias : x[i] > j->lambd ? x[i] - j->bias : 0;
    hn_store_f64_n(j->out->dtype, j->out->data, from, n, x);
}

/* x + y truncated toward zero, as a cast back to the integer type does. */
static int64_t add_truncated(int64_t x, double y, bool is_u64) {
    double down = floor(y);
    int64_t sum = (int64_t)((uint64_t)x + (uint64_t)(int64_t)down);
    return !is_u64 && sum < 0 && down != y ? sum + 1 : sum;
}

static void run_s64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    bool is_u64 = j->in->dtype == HONE_DTYPE_U64;
    int64_t x[HN_BLOCK];
    hn_load_s64_n(j->in->dtype, j->in->data, from, n, x);
    for (int64_t i = 0; i < n; i++) {
        double v = is_u64 ? (double)(uint64_t)x[i] : (double)x[i];
        x[i] = v < -j->lambd  ? add_truncated(x[i], j->bias, is_u64)
               : v > j->lambd ? add_truncated(x[i], -j->bias, is_u64)
                              : 0;
    }
    hn_store_s64_n(j->out->dtype, j->out->data, from, n, x);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j = {.bias = hn_attr_f(e->node, "bias"),
             .lambd = hn_attr_f(e->node, "lambd"),
             .in = e->in[0],
             .out = e->out[0]};
    bool is_float = hn_dtype_is_float(j.out->dtype);
    HN_CHECK(err, is_float || fabs(j.bias) < 0x1p62, HONE_E_ARG,
             "bias %g is outside the range of integers", j.bias);
    hn_for_blocks(e->pool, j.out->n, is_float ? run_f64 : run_s64, &j);
    return HONE_OK;
}

const hn_op_def hn_op_shrink = {
    .name = "Shrink",
    .versions = "9",
    .sig = "(input:T) -> (output:T); T: ieee int",
    .attrs = (const hn_attr_def[]){HN_ATTR_F("bias", 0), HN_ATTR_F("lambd", 0.5f), {0}},
    .infer = hn_infer_same,
    .ref = ref,
    .derivative = "(a < -$lambd) + (a > $lambd)"};
