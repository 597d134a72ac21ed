/* DynamicQuantizeLSTM of com.microsoft: LSTM with 8-bit weights [directions, I or H, 4 * H], whose
 * scales and zero points are one per direction or one per column; X and H are brought to u8 before
 * each product (rnn_ref.h). */
#include "ops/rnn_ref.h"

enum { X, W, R, W_SCALE = 8, W_ZERO, R_SCALE, R_ZERO };

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_rnn_infer(c, HN_LSTM, true, err));
    for (int i = W_SCALE; i <= R_ZERO; i++) {
        const hn_shape *s = hn_in_shape(c, i), *w = hn_in_shape(c, i < R_SCALE ? W : R);
        HN_TRY(hn_want_rank(c, i, 1, 2, err));
        if (s->rank < 0 || w->rank < 0) continue;
        HN_TRY(hn_want_equal(s->dim[0], w->dim[0],
                             "directions of a scale or zero point and of its"
                             " weights",
                             err));
        if (s->rank == 2 && !hn_dim_is(s->dim[1], 1))
            HN_TRY(hn_want_equal(s->dim[1], w->dim[2],
                                 "columns of a scale or zero point and of"
                                 " its weights",
                                 err));
    }
    return HONE_OK;
}

typedef struct weights {
    const hn_tensor *t, *scale, *zero;
} weights;

static int64_t param_at(const hn_tensor *t, int64_t dir, int64_t col) {
    int64_t per_direction = t->n / t->dims[0];
    return dir * per_direction + (per_direction == 1 ? 0 : col);
}

static void load(const void *ctx, const hn_block *at, void *dst) {
    const weights *w = ctx;
    double *to = dst;
    for (int64_t k = at->row; k < at->row + at->n_rows; k++)
        for (int64_t col = at->col; col < at->col + at->n_cols; col++) {
            int64_t from = (at->batch * w->t->dims[1] + k) * w->t->dims[2] + col;
            *to++ = (hn_tensor_f64(w->t, from) -
                     hn_tensor_f64(w->zero, param_at(w->zero, at->batch, col))) *
                    hn_tensor_f64(w->scale, param_at(w->scale, at->batch, col));
        }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    weights w = {e->in[W], e->in[W_SCALE], e->in[W_ZERO]};
    weights r = {e->in[R], e->in[R_SCALE], e->in[R_ZERO]};
    hn_rnn_weights both = {
        .hidden = r.t->dims[1], .w = {load, &w}, .r = {load, &r}, .quantize = true};
    return hn_rnn_ref(e, HN_LSTM, &both, err);
}

static const hn_attr_def attrs[] = {HN_RNN_ATTRS, HN_ATTR_I("input_forget", 0), {0}};

const hn_op_def hn_op_ms_dynamic_quantize_lstm = {
    .domain = "com.microsoft",
    .name = "DynamicQuantizeLSTM",
    .versions = "1",
    .sig =
        "(X:f32, W:T, R:T, B:f32?, sequence_lens:s32?, initial_h:f32?, initial_c:f32?, P:f32?,"
        " W_scale:f32, W_zero_point:T, R_scale:f32, R_zero_point:T)"
        " -> (Y:f32?, Y_h:f32?, Y_c:f32?); T: s8 u8",
    .attrs = attrs,
    .quantized = &(const hn_quantized_def){.of = "LSTM"},
    .no_grad = "it computes in integers",
    .infer = infer,
    .ref = ref,
    .cost = hn_rnn_cost,
};
