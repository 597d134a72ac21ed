/* IsNaN and IsInf. */
#include <math.h>

#include "ops/broadcast.h"

typedef struct job {
    bool nan, negative, positive; /* what is looked for */
    const hn_tensor *in;
    hn_tensor *out;
} job;

static void run(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double x[HN_BLOCK];
    uint8_t *y = j->out->data;
    hn_load_f64_n(j->in->dtype, j->in->data, from, n, x);
    for (int64_t i = 0; i < n; i++)
        y[from + i] = isnan(x[i]) ? j->nan : isinf(x[i]) && (x[i] < 0 ? j->negative : j->positive);
}

static hone_status ref_nan(hn_eval *e, hn_error *err) {
    (void)err;
    job j = {.nan = true, .in = e->in[0], .out = e->out[0]};
    hn_for_blocks(e->pool, j.out->n, run, &j);
    return HONE_OK;
}

static hone_status ref_inf(hn_eval *e, hn_error *err) {
    (void)err;
    job j = {.negative = hn_attr_i(e->node, "detect_negative") != 0,
             .positive = hn_attr_i(e->node, "detect_positive") != 0,
             .in = e->in[0],
             .out = e->out[0]};
    hn_for_blocks(e->pool, j.out->n, run, &j);
    return HONE_OK;
}

const hn_op_def hn_op_is_inf = {.name = "IsInf",
                                .versions = "10 20",
                                .sig = "(X:T1) -> (Y:bool); T1: float fp8",
                                .attrs = (const hn_attr_def[]){HN_ATTR_I("detect_negative", 1),
                                                               HN_ATTR_I("detect_positive", 1),
                                                               {0}},
                                .infer = hn_infer_same,
                                .ref = ref_inf};

const hn_op_def hn_op_is_nan = {.name = "IsNaN",
                                .versions = "9 13 20",
                                .sig = "(X:T1) -> (Y:bool); T1: float fp8",
                                .infer = hn_infer_same,
                                .ref = ref_nan};
