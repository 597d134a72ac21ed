/* LRN: each element over a power of the mean square of its neighbours in the channels next to it.
 *
 *     y[c] = x[c] / (bias + alpha / size * sum x[i]^2) ^ beta
 *     i from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2), within the channels
 */
#include <math.h>

#include "ops/broadcast.h"
#include "ops/grad.h"

typedef struct job {
    const hn_tensor *x;
    hn_tensor *y;
    int64_t channels, inner;
    int64_t before, after; /* channels that count on either side */
    double alpha, beta, bias;
} job;

/* A block never crosses from one channel to the next, so its neighbours are rows like it. */
static void run(void *ctx, int64_t i) {
    const job *j = ctx;
    int64_t per_row = j->inner / HN_BLOCK + (j->inner % HN_BLOCK != 0);
    int64_t row = i / per_row, c = row % j->channels, from = i % per_row * HN_BLOCK;
    int64_t n = j->inner - from < HN_BLOCK ? j->inner - from : HN_BLOCK;
    int64_t first = c > j->before ? c - j->before : 0;
    int64_t last = j->channels - 1 - c > j->after ? c + j->after : j->channels - 1;
    double sum[HN_BLOCK] = {0}, x[HN_BLOCK];
    for (int64_t k = first; k <= last; k++) {
        hn_load_f64_n(j->x->dtype, j->x->data, (row - c + k) * j->inner + from, n, x);
        for (int64_t m = 0; m < n; m++) sum[m] += x[m] * x[m];
    }
    hn_load_f64_n(j->x->dtype, j->x->data, row * j->inner + from, n, x);
    for (int64_t m = 0; m < n; m++) x[m] /= pow(j->bias + j->alpha * sum[m], j->beta);
    hn_store_f64_n(j->y->dtype, j->y->data, row * j->inner + from, n, x);
}

static hone_status infer(hn_infer *c, hn_error *err) {
    int64_t size = hn_attr_i(c->node, "size");
    HN_CHECK(err, size > 0, HONE_E_ARG, "size is %lld, expected 1 or more", (long long)size);
    HN_TRY(hn_want_rank(c, 0, 2, HONE_MAX_RANK, err));
    return hn_infer_same(c, err);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    const hn_tensor *x = e->in[0];
    if (x->n == 0) return HONE_OK;
    int64_t size = hn_attr_i(e->node, "size");
    job j = {.x = x,
             .y = e->out[0],
             .channels = x->dims[1],
             .inner = x->n / x->dims[0] / x->dims[1],
             .before = (size - 1) / 2,
             .after = size / 2,
             .alpha = hn_attr_f(e->node, "alpha") / (double)size,
             .beta = hn_attr_f(e->node, "beta"),
             .bias = hn_attr_f(e->node, "bias")};
    int64_t per_row = j.inner / HN_BLOCK + (j.inner % HN_BLOCK != 0);
    hn_pool_run(e->pool, x->dims[0] * j.channels * per_row, run, &j);
    return HONE_OK;
}

/* The mean square is a pool over channels, which reach past their ends as zeros. */
static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK], size = hn_attr_i(g->node, "size"), inner = 1;
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    if (g->status != HONE_OK) return HONE_OK;
    for (int i = 2; i < rank; i++) inner *= dims[i];
    const int64_t rows[] = {dims[0], 1, dims[1], inner}, kernel[] = {size, 1};
    const int64_t pads[] = {(size - 1) / 2, 0, size / 2, 0};
    hn_value *x = hn_emit_reshape(g, hn_grad_in(g, 0), 4, rows);
    hn_value *squares = HN_EMIT2(g, "Mul", x, x);
    if (squares == NULL) return HONE_OK;
    hn_node *pool = hn_emit_node(g, "", "AveragePool", 1, 1, &squares);
    hn_emit_ints_attr(g, pool, "kernel_shape", kernel, 2);
    hn_emit_ints_attr(g, pool, "pads", pads, 4);
    hn_emit_i(g, pool, "count_include_pad", 1);
    hn_value *v = HN_TEXT(g, "a * Pow($bias + $alpha * b, -$beta)", x, hn_emitted(pool, 0));
    y[0] = hn_emit_reshape(g, v, rank, dims);
    return HONE_OK;
}

const hn_op_def hn_op_lrn = {.name = "LRN",
                             .versions = "1 13",
                             .sig = "(X:T) -> (Y:T); T: float",
                             .attrs = (const hn_attr_def[]){HN_ATTR_F("alpha", 1e-4f),
                                                            HN_ATTR_F("beta", 0.75f),
                                                            HN_ATTR_F("bias", 1.0f),
                                                            HN_ATTR_REQ("size", INT),
                                                            {0}},
                             .infer = infer,
                             .ref = ref,
                             .spell = spell};
