/* RNN, GRU and LSTM: what the input gives all steps as one product, then the recurrence.
 *
 *     X [T*B, I] . W [I, D*gates*H]  ──▶  recurrent_f32  ──▶  Y, Y_h, Y_c
 *
 * DynamicQuantizeLSTM is the same in 8 bits: X is quantized, its product is one of conv_q8, and
 * recurrent_q8 quantizes h. Where W and R are constants of 8 bits behind DequantizeLinear, they
 * stay in 8 bits and X and h as they are: a product of matmul_nbits, and recurrent_q8 with exact_h.
 * Where X was dequantized from 8 bits too, by one scale that is known, its product is one of
 * conv_q8.
 *
 * The rows of the product are in the order X has them, and Y lies as what follows usually wants it:
 * with both directions of a step side by side. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "engine/layers.h"
#include "engine/lower_quant.h"
#include "kernels/conv_q8/conv_q8.h"
#include "kernels/matmul_nbits/matmul_nbits.h"
#include "kernels/recurrent_q8/recurrent_q8.h"
#include "ops/activation.h"
#include "ops/nodes.h"
#include "ops/rnn_ref.h"

enum { X, W, R, B, LENGTHS, H0, C0, P, W_SCALE, W_ZERO, R_SCALE, R_ZERO };
enum { Y, Y_H, Y_C };

#define NOT_FLOATS "not f32"
/* Inputs of a step whose products of bytes are below 2^31 in sum. */
#define MOST_INPUTS (INT32_MAX / (255 * 128))

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

/* x [T, B, I], or with batch_first [B, T, I], as rows; p learns where what they give, `columns`
 * each, is for a step and for a sequence. */
static hone_status rows_of(hn_lower *L, const hn_node *n, hn_view x, bool batch_first,
                           int64_t columns, hn_recurrent_f32 *p, hn_view *rows, hn_error *err) {
    hn_view turned = x;
    turned.dims[0] = x.dims[1], turned.strides[0] = x.strides[1];
    turned.dims[1] = x.dims[0], turned.strides[1] = x.strides[0];
    /* Along the sequences, or across them: as X lies. */
    bool straight = as_rows(&x, rows), swapped = !straight && as_rows(&turned, rows);
    if (!straight && !swapped) {
        HN_TRY(hn_lower_dense(L, n, &x, err));
        as_rows(&x, rows);
    }
    bool steps_inside = batch_first != swapped;
    p->x_step = steps_inside ? columns : p->batch * columns;
    p->x_row = steps_inside ? p->steps * columns : columns;
    return HONE_OK;
}

/* x by w, which is dense, as [rows][D*gates*H]. */
static hone_status project(hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *w,
                           bool batch_first, hn_recurrent_f32 *p, hn_view *y, hn_error *err) {
    hn_view rows;
    int64_t columns = w->dims[0] * w->dims[1];
    HN_TRY(rows_of(L, n, *x, batch_first, columns, p, &rows, err));
    hn_view by = {.buffer = w->buffer,
                  .dtype = w->dtype,
                  .rank = 2,
                  .offset = w->offset,
                  .dims = {w->dims[2], columns},
                  .strides = {1, w->dims[2]}};
    hn_step *s;
    *y = (hn_view){.dtype = HONE_DTYPE_F32, .rank = 2, .dims = {rows.dims[0], columns}};
    HN_TRY(hn_lower_place(L, y, NULL, err));
    return hn_lower_product(L, n, &rows, &by, y, &s, err);
}

/* Where a state tensor, [D, B, H] or [B, D, H], has directions, sequences and units. */
static hn_recurrent_state state_of(const hn_view *v, bool batch_first) {
    return (hn_recurrent_state){v->strides[batch_first ? 1 : 0], v->strides[batch_first ? 0 : 1],
                                v->strides[2]};
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

/* scales NULL: R is f32. */
static hone_status recurrence(hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *r,
                              const hn_view *scales, bool batch_first,
                              const hn_recurrent_f32 *problem, hn_error *err) {
    const hn_family *f = scales != NULL ? &hn_recurrent_q8_family : &hn_recurrent_f32_family;
    hn_step *s;
    hn_view y, state, in[P + 1];
    for (int i = B; i <= P; i++) {
        in[i] = hn_lower_in(L, n, i);
        if (in[i].buffer >= 0 && i != H0 && i != C0) HN_TRY(hn_lower_dense(L, n, &in[i], err));
    }
    HN_TRY(hn_lower_step(L, n, f, problem, sizeof *problem, &s, err));
    hn_recurrent_f32 *p = s->problem;
    hn_step_reads(s, HN_RECURRENT_X, x);
    hn_step_reads(s, HN_RECURRENT_R, r);
    if (scales != NULL) hn_step_reads(s, HN_RECURRENT_SCALES, scales);
    for (int i = B; i <= P; i++)
        if (in[i].buffer >= 0) hn_step_reads(s, HN_RECURRENT_B + i - B, &in[i]);
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
    double weights = (double)hn_view_count(r);
    s->facts->flops = 2 * weights * (double)(p->steps * p->batch);
    s->facts->bytes =
        (scales != NULL ? 1 : 4) * weights * (double)p->steps + 4 * (double)hn_view_count(x);
    return HONE_OK;
}

/* The layer, but for where its operands lie; else the reason why not. */
static const char *read_layer(const hn_lower *L, const hn_node *n, bool batch_first,
                              hn_recurrent_f32 *p) {
    const hn_attr *clip = hn_node_attr(n, "clip");
    p->backwards = hn_attr_is(n, "direction", "reverse");
    p->clip = clip != NULL ? fabsf(clip->u.f) : INFINITY;
    if (!read_activations(n, p)) return "an activation that kernels do not have";
    if (isnan(p->clip)) return "clip is not a number";
    if (p->kind == HN_RECURRENT_GRU)
        p->linear_before_reset = hn_attr_i(n, "linear_before_reset") != 0;
    if (p->kind == HN_RECURRENT_LSTM) p->input_forget = hn_attr_i(n, "input_forget") != 0;
    for (int i = H0; i <= C0; i++) {
        hn_view v = hn_lower_in(L, n, i);
        if (v.buffer < 0) continue;
        *(i == H0 ? &p->h0 : &p->c0) = state_of(&v, batch_first);
    }
    return NULL;
}

/* The whole layer, of which r is [D, gates*H, H]; else the reason why not. */
static const char *start(const hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *r,
                         bool batch_first, hn_recurrent_f32 *p) {
    if (hn_view_count(x) == 0 || hn_view_count(r) == 0) return "nothing to compute";
    *p = (hn_recurrent_f32){.kind = n->op_type[0] == 'L'             ? HN_RECURRENT_LSTM
                                    : strcmp(n->op_type, "GRU") == 0 ? HN_RECURRENT_GRU
                                                                     : HN_RECURRENT_RNN,
                            .steps = x->dims[batch_first ? 1 : 0],
                            .batch = x->dims[batch_first ? 0 : 1],
                            .hidden = r->dims[2],
                            .dirs = r->dims[0]};
    return read_layer(L, n, batch_first, p);
}

hone_status hn_lower_recurrent(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, X), w = hn_lower_in(L, n, W), r = hn_lower_in(L, n, R);
    bool batch_first = hn_attr_i(n, "layout") != 0;
    hn_recurrent_f32 p;
    const char *why = x.dtype != HONE_DTYPE_F32 ? NOT_FLOATS : start(L, n, &x, &r, batch_first, &p);
    if (why != NULL) HN_DECLINE(L, why);
    hn_view projected;
    HN_TRY(hn_lower_dense(L, n, &w, err));
    HN_TRY(hn_lower_dense(L, n, &r, err));
    HN_TRY(project(L, n, &x, &w, batch_first, &p, &projected, err));
    HN_TRY(recurrence(L, n, &projected, &r, NULL, batch_first, &p, err));
    *done = true;
    return HONE_OK;
}

/* ---- weights of 8 bits ---- */

/* Weights [D, columns, K] or, turned, [D, K, columns]. A scale or zero point is one for all or one
 * for each column; of turned weights, for each direction. */
typedef struct codes {
    const hn_tensor *t, *scale, *zero; /* zero NULL: 0 */
    bool turned;
} codes;

static double param(const codes *c, const hn_tensor *t, int64_t d, int64_t column) {
    int64_t each = c->turned ? t->n / t->dims[0] : t->n;
    return hn_tensor_f64(t, (c->turned ? d * each : 0) + (each == 1 ? 0 : column));
}

/* As s8 [D*columns, K] without their zero points, and their scales times `by`, f32 [D*columns]. */
static hone_status lay_codes(hn_lower *L, const codes *c, double by, hn_view *bytes,
                             hn_view *scales, const char **why, hn_error *err) {
    const hn_tensor *t = c->t;
    hn_tensor *q, *s;
    int64_t columns = t->dims[c->turned ? 2 : 1], depth = t->dims[c->turned ? 1 : 2];
    int64_t next = c->turned ? columns : 1;
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_S8, t->n, &q, bytes, err));
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, t->dims[0] * columns, &s, scales, err));
    for (int64_t i = 0; i < t->dims[0] * columns; i++) {
        int64_t d = i / columns, column = i % columns;
        int64_t first = c->turned ? d * depth * columns + column : i * depth;
        float unit = hn_requant_scale(by, param(c, c->scale, d, column), 1);
        double zero = c->zero != NULL ? param(c, c->zero, d, column) : 0;
        if (!(fabsf(unit) < 0x1p63f)) *why = "a scale is too large, or not a number";
        ((float *)s->data)[i] = unit;
        for (int64_t k = 0; k < depth; k++) {
            double v = hn_tensor_f64(t, first + k * next) - zero;
            if (v < -128 || v > 127) *why = "weights less their zero point are not of 8 bits";
            ((int8_t *)q->data)[i * depth + k] = (int8_t)fmin(fmax(v, -128), 127);
        }
    }
    return HONE_OK;
}

/* X in 8 bits. Its scale and zero point are there where only running tells them; else (buffer -1)
 * the scale is in those of W, and the zero point is xz. */
typedef struct byte_input {
    hn_view x, scale, zero;
    int32_t xz;
} byte_input;

/* The product of rows and W, but for what quantizes them. */
static hn_conv_q8 product_of_bytes(const hn_view *rows, int64_t columns) {
    hn_conv_q8 c = hn_conv_q8_of_gemm(rows->dims[0], columns, rows->dims[1]);
    c.x = hn_quant_type(rows->dtype);
    c.w_type = HN_Q8_S8;
    c.y = c.r_type = HN_Q8_F32;
    c.x_pixel = rows->strides[0];
    c.x_row = c.x_image = rows->strides[0] * rows->dims[0];
    c.w_i = 1;
    c.w_o = rows->dims[1];
    return c;
}

/* X by the codes w, [D*columns, K], as [rows][D*columns]. */
static hone_status project_bytes(hn_lower *L, const hn_node *n, const byte_input *from,
                                 const hn_view *w, const hn_view *scales, bool batch_first,
                                 hn_recurrent_f32 *p, hn_view *y, hn_error *err) {
    int64_t columns = hn_view_count(scales);
    hn_view rows;
    HN_TRY(rows_of(L, n, from->x, batch_first, columns, p, &rows, err));
    *y = (hn_view){.dtype = HONE_DTYPE_F32, .rank = 2, .dims = {rows.dims[0], columns}};
    HN_TRY(hn_lower_place(L, y, NULL, err));
    hn_conv_q8 c = product_of_bytes(&rows, columns);
    c.xz = from->xz;
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_conv_q8_family, &c, sizeof c, &s, err));
    hn_step_reads(s, HN_CONV_Q8_X, &rows);
    hn_step_reads(s, HN_CONV_Q8_W, w);
    hn_step_reads(s, HN_CONV_Q8_M, scales);
    if (from->scale.buffer >= 0) hn_step_reads(s, HN_CONV_Q8_XS, &from->scale);
    if (from->zero.buffer >= 0) hn_step_reads(s, HN_CONV_Q8_XZ, &from->zero);
    hn_step_writes(s, HN_CONV_Q8_Y, y);
    double outputs = (double)hn_view_count(y);
    s->facts->flops = 2 * outputs * (double)rows.dims[1];
    s->facts->bytes = (double)(hn_view_count(&rows) + hn_view_count(w)) + 4 * outputs;
    return HONE_OK;
}

/* ---- dequantized weights ---- */

/* The DequantizeLinear of constants of 8 bits, with a scale for all or for each column, that makes
 * input i of n; or NULL. */
static const hn_node *dequantized(const hn_node *n, int i, codes *c) {
    const hn_node *q = hn_node_input(n, i)->producer;
    if (!hn_is(q, "DequantizeLinear")) return NULL;
    *c = (codes){hn_node_constant(q, 0), hn_node_constant(q, 1), hn_node_constant(q, 2), false};
    bool computed = c->zero == NULL && hn_node_input(q, 2) != NULL;
    if (c->t == NULL || c->scale == NULL || computed || c->t->rank != 3) return NULL;
    bool blocks = hn_op_attr(q->op, "block_size") != NULL && hn_attr_i(q, "block_size") != 0;
    int64_t axis = hn_attr_i(q, "axis"), zeros = c->zero != NULL ? c->zero->n : c->scale->n;
    bool for_all = c->scale->n == 1, for_columns = axis == 1 || axis == -2;
    bool fits = for_all || (for_columns && c->scale->n == c->t->dims[1]);
    return hn_quant_is_byte(c->t->dtype) && c->scale->dtype == HONE_DTYPE_F32 && !blocks && fits &&
                   zeros == c->scale->n
               ? q
               : NULL;
}

/* The product of x and W, but for where x lies. */
static hn_matmul_nbits products_of(int64_t rows, int64_t columns, int64_t depth) {
    return (hn_matmul_nbits){.m = rows,
                             .n = columns,
                             .k = depth,
                             .block = depth,
                             .x_m = depth,
                             .r_m = columns,
                             .y_m = columns,
                             .w_n = depth,
                             .w_k = 1,
                             .s_n = 1,
                             .s_g = columns,
                             .bits = 8,
                             .w_signed = true,
                             .zero = 128};
}

/* x by the codes w, [D*columns, K], as [rows][D*columns]. */
static hone_status project_codes(hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *w,
                                 const hn_view *scales, bool batch_first, hn_recurrent_f32 *p,
                                 hn_view *y, hn_error *err) {
    hn_view rows;
    int64_t columns = hn_view_count(scales);
    HN_TRY(rows_of(L, n, *x, batch_first, columns, p, &rows, err));
    hn_matmul_nbits c = products_of(rows.dims[0], columns, rows.dims[1]);
    c.x_m = rows.strides[0];
    *y = (hn_view){.dtype = HONE_DTYPE_F32, .rank = 2, .dims = {rows.dims[0], columns}};
    HN_TRY(hn_lower_place(L, y, NULL, err));
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_matmul_nbits_family, &c, sizeof c, &s, err));
    hn_step_reads(s, HN_NBITS_X, &rows);
    hn_step_reads(s, HN_NBITS_W, w);
    hn_step_reads(s, HN_NBITS_S, scales);
    hn_step_writes(s, HN_NBITS_Y, y);
    s->facts->flops = 2.0 * (double)c.m * (double)c.n * (double)c.k;
    s->facts->bytes =
        (double)hn_view_count(w) + 4.0 * (double)(c.n + hn_view_count(&rows) + hn_view_count(y));
    return HONE_OK;
}

/* X by W, in integers where x is what X was dequantized from; NULL: it was not. w NULL: W is not in
 * 8 bits. */
static hone_status project_dequantized(hn_lower *L, const hn_node *n, const hn_quant *x,
                                       const codes *w, bool batch_first, hn_recurrent_f32 *p,
                                       hn_view *y, hn_error *err) {
    int64_t depth = x != NULL ? x->view.dims[2] : hn_lower_in(L, n, X).dims[2];
    int64_t columns = p->dirs * hn_recurrent_gates(p->kind) * p->hidden;
    hn_matmul_nbits products = products_of(p->steps * p->batch, columns, depth);
    bool keep = w != NULL && (x != NULL || !hn_nbits_prefers_floats(&products, L->isa));
    const char *why = NULL;
    hn_view bytes, scales, floats;
    if (keep)
        HN_TRY(lay_codes(L, w, x != NULL ? hn_quant_scale(x, 0) : 1, &bytes, &scales, &why, err));
    keep = keep && why == NULL;
    if (keep && x != NULL) {
        byte_input from = {x->view, {.buffer = -1}, {.buffer = -1}, (int32_t)hn_quant_zero(x, 0)};
        return project_bytes(L, n, &from, &bytes, &scales, batch_first, p, y, err);
    }
    HN_TRY(hn_lower_need(L, hn_node_input(n, X), err));
    floats = hn_lower_in(L, n, X);
    if (keep) return project_codes(L, n, &floats, &bytes, &scales, batch_first, p, y, err);
    HN_TRY(hn_lower_need(L, hn_node_input(n, W), err));
    hn_view by = hn_lower_in(L, n, W);
    HN_TRY(hn_lower_dense(L, n, &by, err));
    return project(L, n, &floats, &by, batch_first, p, y, err);
}

/* R in 8 bits, or as floats, which have no scales. */
static hone_status lay_state(hn_lower *L, const hn_node *n, const codes *c, bool floats, hn_view *r,
                             hn_view *scales, const char **why, hn_error *err) {
    if (!floats) return lay_codes(L, c, 1, r, scales, why, err);
    HN_TRY(hn_lower_need(L, hn_node_input(n, R), err));
    *r = hn_lower_in(L, n, R);
    return hn_lower_dense(L, n, r, err);
}

/* Input X of n was dequantized from bytes by one scale that is known, and W too. */
static bool reads_bytes(const hn_lower *L, const hn_node *n, bool w_dequantized, hn_quant *x) {
    return w_dequantized && hn_quant_input(L, n, X, false, x) == NULL &&
           hn_quant_is_byte(x->view.dtype) && x->view.dims[2] <= MOST_INPUTS;
}

hone_status hn_lower_recurrent_codes(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    codes w_codes, r_codes;
    hn_quant x8;
    if (hn_weight_kind_of(n) != HN_WEIGHT_STATE) return HONE_OK;
    const codes *w = dequantized(n, W, &w_codes) != NULL ? &w_codes : NULL;
    const hn_node *r_from = dequantized(n, R, &r_codes);
    if (r_from == NULL || hn_layers_of(L->layers, n).no_integers) return HONE_OK;
    bool bytes = reads_bytes(L, n, w != NULL, &x8);
    for (int i = 0; i < n->n_inputs; i++)
        if (i != R && (i != W || w == NULL) && (i != X || !bytes))
            HN_TRY(hn_lower_need(L, hn_node_input(n, i), err));
    bool batch_first = hn_attr_i(n, "layout") != 0;
    hn_view x = bytes ? x8.view : hn_lower_in(L, n, X), r = hn_lower_in(L, r_from, 0), r_scales;
    hn_recurrent_f32 p;
    const char *why =
        !bytes && x.dtype != HONE_DTYPE_F32 ? NOT_FLOATS : start(L, n, &x, &r, batch_first, &p);
    if (why == NULL && p.hidden > HN_RECURRENT_Q8_HIDDEN) why = "too many units for sums in s32";
    bool floats = why == NULL && hn_recurrent_q8_prefers_floats(&p, L->isa);
    if (floats && !bytes) why = "no dot product of bytes: floats are faster";
    if (why == NULL) HN_TRY(lay_state(L, n, &r_codes, floats, &r, &r_scales, &why, err));
    if (why != NULL) HN_DECLINE(L, why);
    p.exact_h = !floats;
    hn_view projected;
    HN_TRY(project_dequantized(L, n, bytes ? &x8 : NULL, w, batch_first, &p, &projected, err));
    *done = true;
    return recurrence(L, n, &projected, &r, floats ? NULL : &r_scales, batch_first, &p, err);
}

/* ---- DynamicQuantizeLSTM ---- */

/* A copy of v as one line. */
static hone_status copy_dense(hn_lower *L, const hn_node *n, hn_view v, hn_view *out,
                              hn_error *err) {
    hn_view dense = v;
    const int64_t count = hn_view_count(&v);
    HN_TRY(hn_lower_place(L, &dense, NULL, err));
    HN_TRY(hn_lower_copy(L, n, &v, &dense, err));
    hn_view_reshape(&dense, 1, &count, out);
    return HONE_OK;
}

/* The same as turn_weights where they, or their scales, are computed: by copies. */
static hone_status copy_weights(hn_lower *L, const hn_node *n, int w, int scale, hn_view *bytes,
                                hn_view *scales, const char **why, hn_error *err) {
    hn_view v = hn_lower_in(L, n, w), by = hn_lower_in(L, n, scale);
    const hn_tensor *zero = hn_node_constant(n, scale + 1);
    bool zeros = v.dtype == HONE_DTYPE_S8;
    for (int64_t i = 0; i < zero->n; i++) zeros &= hn_tensor_s64(zero, i) == 0;
    if (!zeros) *why = "computed weights that are not s8, or have zero points";
    if (*why != NULL) return HONE_OK;
    int64_t columns = v.dims[2];
    hn_view_swap_last(&v);
    if (by.rank == 1 || by.dims[1] != columns) by.strides[1] = 0; /* one for each direction */
    by.rank = 2, by.dims[1] = columns;
    HN_TRY(copy_dense(L, n, v, bytes, err));
    return copy_dense(L, n, by, scales, err);
}

/* Input w of n as lay_codes does it. */
static hone_status turn_weights(hn_lower *L, const hn_node *n, int w, int scale, hn_view *bytes,
                                hn_view *scales, const char **why, hn_error *err) {
    codes c = {hn_node_constant(n, w), hn_node_constant(n, scale), hn_node_constant(n, scale + 1),
               true};
    if (c.zero == NULL) *why = "a zero point is computed";
    if (*why != NULL) return HONE_OK;
    if (c.t == NULL || c.scale == NULL)
        return copy_weights(L, n, w, scale, bytes, scales, why, err);
    return lay_codes(L, &c, 1, bytes, scales, why, err);
}

hone_status hn_lower_dynamic_lstm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, X), r = hn_lower_in(L, n, R), w, w_scales, r_scales, projected;
    if (hn_view_count(&x) == 0 || hn_view_count(&r) == 0) HN_DECLINE(L, "nothing to compute");
    if (r.dims[1] > HN_RECURRENT_Q8_HIDDEN) HN_DECLINE(L, "too many units for sums in s32");
    hn_recurrent_f32 p = {.kind = HN_RECURRENT_LSTM,
                          .steps = x.dims[0],
                          .batch = x.dims[1],
                          .hidden = r.dims[1],
                          .dirs = r.dims[0]};
    const char *why = read_layer(L, n, false, &p);
    if (why == NULL) HN_TRY(turn_weights(L, n, W, W_SCALE, &w, &w_scales, &why, err));
    if (why == NULL) HN_TRY(turn_weights(L, n, R, R_SCALE, &r, &r_scales, &why, err));
    if (why != NULL) HN_DECLINE(L, why);
    byte_input from = {0};
    HN_TRY(hn_lower_dynamic(L, n, &x, &from.x, &from.scale, &from.zero, err));
    HN_TRY(project_bytes(L, n, &from, &w, &w_scales, false, &p, &projected, err));
    HN_TRY(recurrence(L, n, &projected, &r, &r_scales, false, &p, err));
    *done = true;
    return HONE_OK;
}
