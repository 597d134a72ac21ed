/* RNN, GRU, LSTM: recurrent layers (rnn_ref.h). */
#include "ops/rnn_ref.h"

/* W and R as [directions, gates * H, K], turned into [K, gates * H]. */
static hone_status run(hn_eval *e, hn_rnn_kind kind, hn_error *err) {
    const hn_tensor *w = e->in[1], *r = e->in[2];
    int64_t start_w[] = {0, w->dims[1] * w->dims[2]}, start_r[] = {0, r->dims[1] * r->dims[2]};
    hn_strided_matrix sw = {.t = w, .start = start_w, .row_stride = 1, .col_stride = w->dims[2]};
    hn_strided_matrix sr = {.t = r, .start = start_r, .row_stride = 1, .col_stride = r->dims[2]};
    hn_rnn_weights weights = {
        .hidden = r->dims[2], .w = hn_matrix_f64(&sw), .r = hn_matrix_f64(&sr)};
    return hn_rnn_ref(e, kind, &weights, err);
}

static hone_status rnn_infer(hn_infer *c, hn_error *err) {
    return hn_rnn_infer(c, HN_RNN, false, err);
}
static hone_status gru_infer(hn_infer *c, hn_error *err) {
    return hn_rnn_infer(c, HN_GRU, false, err);
}
static hone_status lstm_infer(hn_infer *c, hn_error *err) {
    return hn_rnn_infer(c, HN_LSTM, false, err);
}

static hone_status rnn_ref(hn_eval *e, hn_error *err) { return run(e, HN_RNN, err); }
static hone_status gru_ref(hn_eval *e, hn_error *err) { return run(e, HN_GRU, err); }
static hone_status lstm_ref(hn_eval *e, hn_error *err) { return run(e, HN_LSTM, err); }

static hone_status rnn_spell(hn_grad *g, hn_value **y, hn_error *err) {
    return hn_rnn_spell(g, HN_RNN, y, err);
}

static hone_status gru_spell(hn_grad *g, hn_value **y, hn_error *err) {
    return hn_rnn_spell(g, HN_GRU, y, err);
}

static hone_status lstm_spell(hn_grad *g, hn_value **y, hn_error *err) {
    return hn_rnn_spell(g, HN_LSTM, y, err);
}

static const hn_attr_def rnn_attrs[] = {HN_RNN_ATTRS, HN_ATTR_I("layout", 0), {0}};

static const hn_attr_def gru_attrs[] = {
    HN_RNN_ATTRS,
    HN_ATTR_I("layout", 0),
    HN_ATTR_I("linear_before_reset", 0),
    {0},
};

static const hn_attr_def lstm_attrs[] = {
    HN_RNN_ATTRS,
    HN_ATTR_I("input_forget", 0),
    HN_ATTR_I("layout", 0),
    {0},
};

/* W [D, gates * H, I] and R [D, gates * H, H]: a channel is a row of all directions. */
static bool use(const hn_node *n, int rank, const int64_t *dims, hn_weight_use *u) {
    (void)n, (void)dims;
    if (rank != 3) return false;
    *u = (hn_weight_use){.channel_axis = 1, .sum_axis = 2, .alpha = 1, .beta = 1};
    return true;
}

static const hn_weights_def weights = {.kind = HN_WEIGHT_STATE, .input = 1, .bias = 3, .use = use};

const hn_op_def hn_op_rnn = {
    .name = "RNN",
    .versions = "1 7 14 22",
    .sig = "(X:T, W:T, R:T, B:T?, sequence_lens:s32?, initial_h:T?) -> (Y:T?, Y_h:T?); T: float",
    .attrs = rnn_attrs,
    .weights = &weights,
    .infer = rnn_infer,
    .ref = rnn_ref,
    .spell = rnn_spell,
    .cost = hn_rnn_cost,
};

const hn_op_def hn_op_gru = {
    .name = "GRU",
    .versions = "1 3 7 14 22",
    .sig = "(X:T, W:T, R:T, B:T?, sequence_lens:s32?, initial_h:T?) -> (Y:T?, Y_h:T?); T: float",
    .attrs = gru_attrs,
    .weights = &weights,
    .infer = gru_infer,
    .ref = gru_ref,
    .spell = gru_spell,
    .cost = hn_rnn_cost,
};

const hn_op_def hn_op_lstm = {
    .name = "LSTM",
    .versions = "1 7 14 22",
    .sig =
        "(X:T, W:T, R:T, B:T?, sequence_lens:s32?, initial_h:T?, initial_c:T?, P:T?)"
        " -> (Y:T?, Y_h:T?, Y_c:T?); T: float",
    .attrs = lstm_attrs,
    .weights = &(const hn_weights_def){.kind = HN_WEIGHT_STATE,
                                       .input = 1,
                                       .bias = 3,
                                       .dynamic = "DynamicQuantizeLSTM",
                                       .use = use},
    .infer = lstm_infer,
    .ref = lstm_ref,
    .spell = lstm_spell,
    .cost = hn_rnn_cost,
};
