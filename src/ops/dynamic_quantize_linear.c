/* DynamicQuantizeLinear: u8 with the scale and zero point of the tensor's own range. Each operation
 * is rounded to f32, as the operator's definition by primitive operators says. */
#include "ops/broadcast.h"
#include "ops/quantize.h"

hn_quant_params hn_dynamic_range(const float *x, int64_t n) {
    float lo = 0, hi = 0;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] < lo) lo = x[i];
        if (x[i] > hi) hi = x[i];
    }
    hn_quant_params p = {.scale = lo == hi ? 1.0f : (hi - lo) / 255.0f};
    p.zero_point = (uint8_t)hn_quantize(HONE_DTYPE_U8, (double)(-lo / p.scale), 0);
    return p;
}

typedef struct job {
    const float *x;
    uint8_t *y;
    hn_quant_params p;
} job;

static void run(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    for (int64_t i = from; i < from + n; i++)
        j->y[i] =
            (uint8_t)hn_quantize(HONE_DTYPE_U8, (double)(j->x[i] / j->p.scale), j->p.zero_point);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    const hn_tensor *x = e->in[0];
    hn_tensor *y = hn_eval_out(e, 0), *scale = hn_eval_out(e, 1), *zero = hn_eval_out(e, 2);
    job j = {.x = x->data, .p = hn_dynamic_range(x->data, x->n)};
    if (scale != NULL) *(float *)scale->data = j.p.scale;
    if (zero != NULL) *(uint8_t *)zero->data = j.p.zero_point;
    if (y != NULL) {
        j.y = y->data;
        hn_for_blocks(e->pool, x->n, run, &j);
    }
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    (void)err;
    hn_set_shape(c, 0, hn_in_shape(c, 0));
    hn_set_shape(c, 1, &(hn_shape){.rank = 0});
    hn_set_shape(c, 2, &(hn_shape){.rank = 0});
    return HONE_OK;
}

const hn_op_def hn_op_dynamic_quantize_linear = {
    .name = "DynamicQuantizeLinear",
    .versions = "11",
    .sig = "(x:f32) -> (y:u8, y_scale:f32, y_zero_point:u8)",
    .no_grad = "it rounds to integers",
    .infer = infer,
    .ref = ref};
