/* QLinearConcat of com.microsoft: Concat of 8-bit tensors, each brought to the output's scale
 * first, by a table for each input (requant.h). */
#include "ops/concat.h"
#include "ops/requant.h"

/* Y_scale, Y_zero_point, then for each tensor its elements, scale and zero point. */
enum { Y_SCALE, Y_ZERO, FIRST };

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_CHECK(err, (c->n_in - FIRST) % 3 == 0, HONE_E_MODEL,
             "has %d inputs, expected 2 and then 3 for each tensor", c->n_in);
    hone_dtype t = c->in[Y_ZERO].dtype;
    for (int i = FIRST; i < c->n_in; i++) {
        hone_dtype want = i % 3 == 0 ? HONE_DTYPE_F32 : t, found = c->in[i].dtype;
        HN_CHECK(err, want == HONE_DTYPE_NONE || found == HONE_DTYPE_NONE || found == want,
                 HONE_E_TYPE, "input %d is %s, expected %s", i, hone_dtype_name(found),
                 hone_dtype_name(want));
    }
    hn_shape y;
    HN_TRY(hn_infer_concat(c, FIRST, 3, &y, err));
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* Scale and zero point in inputs `at` and `at` + 1. */
static hone_status read_params(const hn_eval *e, int at, float *scale, int64_t *zero,
                               hn_error *err) {
    for (int i = at; i < at + 2; i++)
        HN_CHECK(err, e->in[i]->n == 1, HONE_E_SHAPE, "input %d has %lld elements, expected 1", i,
                 (long long)e->in[i]->n);
    *scale = (float)hn_tensor_f64(e->in[at], 0);
    *zero = hn_tensor_s64(e->in[at + 1], 0);
    HN_CHECK(err, *scale > 0, HONE_E_ARG, "input %d: the scale is %g, expected a positive number",
             at, (double)*scale);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_tensor *y = e->out[0];
    int64_t axis = hn_attr_i(e->node, "axis"), zy, zx, outer = 1, inner = 1, at = 0;
    float sy, sx;
    HN_TRY(hn_want_axis(&axis, y->rank, err));
    HN_TRY(read_params(e, Y_SCALE, &sy, &zy, err));
    for (int i = 0; y->n > 0 && i < axis; i++) outer *= y->dims[i];
    for (int i = (int)axis + 1; y->n > 0 && i < y->rank; i++) inner *= y->dims[i];
    for (int i = FIRST; i < e->n_in; i += 3) {
        const hn_tensor *x = e->in[i];
        const uint8_t *src = x->data;
        uint8_t table[256];
        HN_TRY(read_params(e, i + 1, &sx, &zx, err));
        hn_requant_table(x->dtype, sx, zx, y->dtype, sy, zy, table);
        if (x->n == 0) continue;
        int64_t run = x->dims[axis] * inner;
        for (int64_t o = 0; o < outer; o++, src += run) {
            uint8_t *dst = (uint8_t *)y->data + o * y->dims[axis] * inner + at;
            for (int64_t k = 0; k < run; k++) dst[k] = table[src[k]];
        }
        at += run;
    }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_REQ("axis", INT), {0}};

const hn_op_def hn_op_ms_qlinear_concat = {
    .domain = "com.microsoft",
    .name = "QLinearConcat",
    .versions = "1",
    .sig = "(Y_scale:f32, Y_zero_point:T, inputs:num...) -> (Y:T); T: u8 s8",
    .attrs = attrs,
    .quantized = &(const hn_quantized_def){.of = "Concat"},
    .infer = infer,
    .ref = ref,
};
