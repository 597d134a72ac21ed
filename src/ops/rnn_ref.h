/* The recurrent layers RNN, GRU and LSTM: one or two directions over [T, B, I].
 *
 *     for each direction, for each step t:  gates = X[t] · W + H · R + biases,  H = cell(gates, H)
 *
 * Inputs (by number): 0 X, 1 W, 2 R, 3 B?, 4 sequence_lens?, 5 initial_h?, and for LSTM 6
 * initial_c?, 7 P? (peepholes). Outputs Y?, Y_h?, and for LSTM Y_c?. A sequence that is shorter
 * than T ends at its own length: its part of Y is then 0, Y_h and Y_c are those of its last step,
 * and the reverse direction starts at its own end.
 */
#ifndef HN_OPS_RNN_REF_H
#define HN_OPS_RNN_REF_H

#include "ops/gemm_ref.h"

typedef enum hn_rnn_kind { HN_RNN, HN_GRU, HN_LSTM } hn_rnn_kind;

/* Attributes all three have. */
#define HN_RNN_ATTRS                                                                 \
    HN_ATTR_OPT("activation_alpha", FLOATS), HN_ATTR_OPT("activation_beta", FLOATS), \
        HN_ATTR_OPT("activations", STRINGS), HN_ATTR_OPT("clip", FLOAT),             \
        HN_ATTR_S("direction", "forward", "forward reverse bidirectional"),          \
        HN_ATTR_OPT("hidden_size", INT)

/* W and R are [directions, gates * H, I or H], or with inputs_first [directions, I or H, gates *
 * H].
 */
hone_status hn_rnn_infer(hn_infer *c, hn_rnn_kind kind, bool inputs_first, hn_error *err);
void hn_rnn_cost(const hn_infer *c, hn_cost *cost);

/* Fails with HONE_E_ARG unless a sequence of that length fits into `steps`. */
hone_status hn_rnn_want_length(int64_t length, int64_t steps, hn_error *err);

/* The functions of its gates, those of a direction after those of the other. */
struct hn_activation;
hone_status hn_rnn_activations(const hn_node *n, hn_rnn_kind kind, struct hn_activation *acts,
                               hn_error *err);

/* The layer as simpler nodes (rnn_spell.c). */
hone_status hn_rnn_spell(hn_grad *g, hn_rnn_kind kind, hn_value **y, hn_error *err);

typedef struct hn_rnn_weights {
    int64_t hidden; /* H */
    hn_matrix w, r; /* [I, gates * H] and [H, gates * H]; the batch is the direction */
    /* X (then f32) as a whole and H at each step are first brought to u8 and back, as
     * DynamicQuantizeLinear does. */
    bool quantize;
} hn_rnn_weights;

hone_status hn_rnn_ref(hn_eval *e, hn_rnn_kind kind, const hn_rnn_weights *weights, hn_error *err);

#endif
