/* Pow: the result has the type of the base. A float base is computed in double and rounded once. An
 * integer base to a whole exponent not below 0 is exact and wraps; to any other exponent it is
 * computed in double and truncated. */
#include <math.h>

#include "ops/broadcast.h"
#include "ops/grad.h"

typedef struct job {
    hn_broadcast x, y;
    hn_tensor *out;
} job;

static void run_f64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double x[HN_BLOCK], y[HN_BLOCK];
    hn_broadcast_f64(&j->x, from, n, x);
    hn_broadcast_f64(&j->y, from, n, y);
    for (int64_t i = 0; i < n; i++) x[i] = pow(x[i], y[i]);
    hn_store_f64_n(j->out->dtype, j->out->data, from, n, x);
}

static uint64_t power(uint64_t x, uint64_t y) {
    uint64_t result = 1;
    for (; y != 0; y >>= 1, x *= x)
        if (y & 1) result *= x;
    return result;
}

static void run_s64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    hone_dtype t = j->out->dtype;
    int64_t x[HN_BLOCK];
    double y[HN_BLOCK];
    hn_broadcast_s64(&j->x, from, n, x);
    hn_broadcast_f64(&j->y, from, n, y);
    for (int64_t i = 0; i < n; i++) {
        if (y[i] >= 0 && y[i] < 0x1p63 && y[i] == floor(y[i])) {
            x[i] = (int64_t)power((uint64_t)x[i], (uint64_t)y[i]);
        } else {
            double v = pow((double)x[i], y[i]);
            hn_cast(HONE_DTYPE_F64, &v, t, &x[i], 1, true);
            x[i] = hn_load_s64(t, &x[i], 0);
        }
    }
    hn_store_s64_n(t, j->out->data, from, n, x);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    job j = {.out = e->out[0]};
    hn_broadcast_init(&j.x, e->in[0], j.out->rank, j.out->dims);
    hn_broadcast_init(&j.y, e->in[1], j.out->rank, j.out->dims);
    hn_for_blocks(e->pool, j.out->n, hn_dtype_is_float(j.out->dtype) ? run_f64 : run_s64, &j);
    return HONE_OK;
}

/* An exponent of another type is cast: its own gradient is asked for where the types agree. */
static hone_status grad(hn_grad *g, hn_error *err) {
    hn_value *b = hn_grad_in(g, 1);
    if (b->type.dtype == g->dtype) return hn_grad_by(g, "b * Pow(a, b - 1); y * Log(a)");
    if (hn_grad_wants(g, 1)) return hn_grad_refuse(g, "base and exponent differ in type", err);
    hn_value *cast = hn_emit_cast(g, b);
    hn_value *by = HN_EMIT2(
        g, "Mul", cast,
        HN_EMIT2(g, "Pow", hn_grad_in(g, 0), HN_EMIT2(g, "Sub", cast, hn_emit_number(g, 1))));
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_out(g, 0), dims);
    hn_grad_give(g, 0,
                 hn_emit_sum_to(g, HN_EMIT2(g, "Mul", g->dy[0], by), rank, dims, hn_grad_in(g, 0)));
    return HONE_OK;
}

const hn_op_def hn_op_pow = {.name = "Pow",
                             .versions = "1 7 12 13 15",
                             .sig = "(X:T, Y:T1) -> (Z:T); T: float s32 s64; T1: num",
                             .infer = hn_infer_broadcast,
                             .ref = ref,
                             .grad = grad};
