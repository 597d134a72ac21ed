/* RNN, GRU and LSTM: what the input gives all steps as one product, then the recurrence.
 *
 *     X [T*B, I] . W [I, D*gates*H]  ──▶  recurrent_f32  ──▶  Y, Y_h, Y_c
 *
 * The rows of the product are in the order X has them, and Y lies as what follows usually wants it:
 * with both directions of a step side by side. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "engine/lower.h"
#include "kernels/recurrent_f32/recurrent_f32.h"
#include "ops/activation.h"
#include "ops/rnn_ref.h"

enum { X, W, R, B, LENGTHS, H0, C0, P };
enum { Y, Y_H, Y_C };

/* The activations that kernels have too. */
static bool act_of(hn_str name, const hn_activation *a, hn_act *act) {
    static const struct {
        const char *name;
        hn_act_kind kind;
    } rows[] = {{"Clip", HN_ACT_CLIP},
                {"Elu", HN_ACT_ELU},
                {"HardSigmoid", HN_ACT_HARD_SIGMOID},
                {"LeakyRelu", HN_ACT_LEAKY},
                {"QuickGelu", HN_ACT_SILU},
                {"Sigmoid", HN_ACT_SIGMOID},
                {"Tanh", HN_ACT_TANH}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].name) != name.n || strncasecmp(name.p, rows[i].name, name.n) != 0)
            continue;
        *act = (hn_act){rows[i].kind, (float)a->alpha, (float)a->beta};
        return true;
    }
    *act = (hn_act){HN_ACT_CLIP, 0, INFINITY};
    return name.n == 4 && strncasecmp(name.p, "Relu", 4) == 0;
}

/* The functions of each direction, as the attributes name them, or the usual ones; false: not all
 * are there, or known. Functions take their alpha and beta from the lists in turn. */
static bool read_activations(const hn_node *n, hn_recurrent_f32 *p) {
    static const hn_str usual[] = {{"Sigmoid", 7}, {"Tanh", 4}, {"Tanh", 4}};
    int per = 1 + (int)p->kind, n_alpha, n_beta, params;
    const float *alpha = hn_attr_floats(n, "activation_alpha", &n_alpha);
    const float *beta = hn_attr_floats(n, "activation_beta", &n_beta);
    const hn_attr *names = hn_node_attr(n, "activations");
    if (names != NULL && names->n < per * p->dirs) return false;
    for (int i = 0; i < per * (int)p->dirs; i++) {
        hn_str name = usual[p->kind == HN_RECURRENT_RNN ? 1 : i % per];
        if (names != NULL) name = names->u.strings[i];
        hn_activation a = hn_activation_find(name, &params);
        if (params >= 1 && n_alpha > 0) a.alpha = (double)*alpha++, n_alpha--;
        if (params >= 2 && n_beta > 0) a.beta = (double)*beta++, n_beta--;
        if (!act_of(name, &a, &p->act[i / per][i % per])) return false;
    }
    return true;
}

static hone_status check_lengths(const void *problem, void *const *operands, hn_error *err) {
    const hn_recurrent_f32 *p = problem;
    const int32_t *lengths = operands[HN_RECURRENT_LENGTHS];
    for (int64_t b = 0; b < p->batch; b++) HN_TRY(hn_rnn_want_length(lengths[b], p->steps, err));
    return HONE_OK;
}

/* x [a, b, k] as [a*b, k] with adjacent k; false: its strides do not allow it. */
static bool as_rows(const hn_view *x, hn_view *rows) {
    int64_t dims[2] = {x->dims[0] * x->dims[1], x->dims[2]};
    return (x->strides[2] == 1 || x->dims[2] == 1) && hn_view_reshape(x, 2, dims, rows) &&
           rows->strides[0] >= 0;
}

/* x [T, B, I], or with batch_first [B, T, I], by W, as [rows][D*gates*H]; p learns where the rows
 * of a step and of a sequence are. */
static hone_status project(hn_lower *L, const hn_node *n, hn_view x, bool batch_first,
                           hn_recurrent_f32 *p, hn_view *out, hn_error *err) {
    const hn_tensor *w = hn_node_constant(n, W);
    int64_t columns = w->dims[0] * w->dims[1];
    hn_view turned = x, rows;
    turned.dims[0] = x.dims[1], turned.strides[0] = x.strides[1];
    turned.dims[1] = x.dims[0], turned.strides[1] = x.strides[0];
    /* Along the sequences, or across them: as X lies. */
    bool straight = as_rows(&x, &rows), swapped = !straight && as_rows(&turned, &rows);
    if (!straight && !swapped) {
        HN_TRY(hn_lower_dense(L, n, &x, err));
        as_rows(&x, &rows);
    }
    hn_view by = hn_lower_in(L, n, W), y = {.dtype = HONE_DTYPE_F32, .rank = 2};
    by = (hn_view){.buffer = by.buffer,
                   .dtype = by.dtype,
                   .rank = 2,
                   .dims = {w->dims[2], columns},
                   .strides = {1, w->dims[2]}};
    y.dims[0] = rows.dims[0];
    y.dims[1] = columns;
    hn_step *s;
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    HN_TRY(hn_lower_product(L, n, &rows, &by, &y, &s, err));
    bool steps_inside = batch_first != swapped;
    p->x_step = steps_inside ? columns : p->batch * columns;
    p->x_row = steps_inside ? p->steps * columns : columns;
    *out = y;
    return HONE_OK;
}

/* Where a state tensor, [D, B, H] or [B, D, H], has directions, sequences and units. */
static hn_recurrent_state state_of(const hn_view *v, bool batch_first) {
    return (hn_recurrent_state){v->strides[batch_first ? 1 : 0], v->strides[batch_first ? 0 : 1],
                                v->strides[2]};
}

static void read_optional(hn_lower *L, const hn_node *n, int i, hn_step *s, int operand) {
    hn_view v = hn_lower_in(L, n, i);
    if (v.buffer >= 0) hn_step_reads(s, operand, &v);
}

/* Output i in a place of its own, with axes as in `order`. */
static hone_status write_optional(hn_lower *L, const hn_node *n, int i, const int *order,
                                  hn_step *s, int operand, hn_view *v, hn_error *err) {
    *v = hn_lower_out(n, i);
    if (hn_node_output(n, i) == NULL) return HONE_OK;
    HN_TRY(hn_lower_place(L, v, order, err));
    hn_step_writes(s, operand, v);
    hn_lower_set(L, n, i, v, NULL);
    return HONE_OK;
}

static hone_status recurrence(hn_lower *L, const hn_node *n, const hn_view *x, bool batch_first,
                              const hn_recurrent_f32 *problem, hn_error *err) {
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_recurrent_f32_family, problem, sizeof *problem, &s, err));
    hn_recurrent_f32 *p = s->problem;
    hn_view r = hn_lower_in(L, n, R), y, state;
    hn_step_reads(s, HN_RECURRENT_X, x);
    hn_step_reads(s, HN_RECURRENT_R, &r);
    read_optional(L, n, B, s, HN_RECURRENT_B);
    read_optional(L, n, LENGTHS, s, HN_RECURRENT_LENGTHS);
    read_optional(L, n, H0, s, HN_RECURRENT_H0);
    read_optional(L, n, C0, s, HN_RECURRENT_C0);
    read_optional(L, n, P, s, HN_RECURRENT_P);
    /* [T, D, B, H] in the order [T, B, D, H] */
    static const int together[] = {0, 2, 1, 3};
    bool output = hn_node_output(n, Y) != NULL && hn_node_output(n, Y)->n_outputs > 0;
    HN_TRY(write_optional(L, n, Y, batch_first || output ? NULL : together, s, HN_RECURRENT_Y, &y,
                          err));
    p->y_step = y.strides[batch_first ? 1 : 0];
    p->y_dir = y.strides[batch_first ? 2 : 1];
    p->y_row = y.strides[batch_first ? 0 : 2];
    for (int i = Y_H; i <= Y_C; i++) {
        HN_TRY(write_optional(L, n, i, NULL, s, HN_RECURRENT_Y + i, &state, err));
        if (state.buffer < 0) continue;
        p->out_dir = state_of(&state, batch_first).dir;
        p->out_row = state_of(&state, batch_first).row;
    }
    if (hn_lower_in(L, n, LENGTHS).buffer >= 0) {
        s->check = check_lengths;
        s->flag = HN_RECURRENT_OUTSIDE;
    }
    double weights = (double)hn_view_count(&r);
    s->flops = 2 * weights * (double)(p->steps * p->batch);
    s->bytes = 4 * weights * (double)p->steps + 4 * (double)hn_view_count(x);
    return HONE_OK;
}

hone_status hn_lower_recurrent(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, X);
    const hn_tensor *r = hn_node_constant(n, R);
    const hn_attr *clip = hn_node_attr(n, "clip");
    bool batch_first = hn_attr_i(n, "layout") != 0;
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_node_constant(n, W) == NULL || r == NULL) HN_DECLINE(L, "W or R is computed");
    if (hn_view_count(&x) == 0 || r->n == 0) HN_DECLINE(L, "nothing to compute");
    hn_recurrent_f32 p = {.kind = n->op_type[0] == 'L'             ? HN_RECURRENT_LSTM
                                  : strcmp(n->op_type, "GRU") == 0 ? HN_RECURRENT_GRU
                                                                   : HN_RECURRENT_RNN,
                          .steps = x.dims[batch_first ? 1 : 0],
                          .batch = x.dims[batch_first ? 0 : 1],
                          .hidden = r->dims[2],
                          .dirs = r->dims[0],
                          .backwards = hn_attr_is(n, "direction", "reverse"),
                          .clip = clip != NULL ? fabsf(clip->u.f) : INFINITY};
    if (!read_activations(n, &p)) HN_DECLINE(L, "an activation that kernels do not have");
    if (isnan(p.clip)) HN_DECLINE(L, "clip is not a number");
    if (p.kind == HN_RECURRENT_GRU)
        p.linear_before_reset = hn_attr_i(n, "linear_before_reset") != 0;
    if (p.kind == HN_RECURRENT_LSTM) p.input_forget = hn_attr_i(n, "input_forget") != 0;
    for (int i = B; i <= P; i++) {
        hn_view v = hn_lower_in(L, n, i);
        if (v.buffer < 0) continue;
        if (i == H0)
            p.h0 = state_of(&v, batch_first);
        else if (i == C0)
            p.c0 = state_of(&v, batch_first);
        else if (!hn_view_is_dense(&v))
            HN_DECLINE(L, "B, P or sequence_lens is not dense");
    }
    hn_view projected;
    HN_TRY(project(L, n, x, batch_first, &p, &projected, err));
    HN_TRY(recurrence(L, n, &projected, batch_first, &p, err));
    *done = true;
    return HONE_OK;
}
