#include "engine/lower_quant.h"

#include <math.h>
#include <string.h>

#include "engine/engine.h"
#include "ops/nodes.h"

/* ---- recognising ---- */

static bool is(const hn_node *n, const char *op) {
    return n != NULL && n->domain[0] == '\0' && strcmp(n->op_type, op) == 0;
}

/* Of ai.onnx or com.microsoft, which mean the same by it. */
static bool is_either(const hn_node *n, const char *op) {
    return n != NULL && strcmp(n->op_type, op) == 0 &&
           (n->domain[0] == '\0' || strcmp(n->domain, "com.microsoft") == 0);
}

static bool is_dequantize(const hn_node *n) { return is_either(n, "DequantizeLinear"); }
static bool is_quantize(const hn_node *n) { return is_either(n, "QuantizeLinear"); }

static const hn_node *producer(const hn_node *n, int i) {
    const hn_value *v = hn_node_input(n, i);
    return v != NULL ? v->producer : NULL;
}

/* What chains may begin with, by the role of the operator. */
typedef struct kind {
    hn_quant_lowering *lower; /* NULL: it is none of those */
    int n_inputs;             /* that must have been dequantized */
} kind;

static const kind kinds[HN_ROLE_COUNT_] = {
    [HN_ROLE_PRODUCT] = {hn_lower_chain_product, 2}, [HN_ROLE_ADD] = {hn_lower_chain_binary, 2},
    [HN_ROLE_SUB] = {hn_lower_chain_binary, 2},      [HN_ROLE_MUL] = {hn_lower_chain_binary, 2},
    [HN_ROLE_MEAN] = {hn_lower_chain_pool, 1},       [HN_ROLE_MAX] = {hn_lower_chain_pool, 1},
    [HN_ROLE_TABLE] = {hn_lower_chain_table, 1},
};

static hn_role role_of(const hn_node *n) {
    return n != NULL && n->op != NULL ? n->op->role : HN_ROLE_NONE;
}

const hn_op_def *hn_quant_plain(const hn_node *n) {
    const hn_quantized_def *q = n->op->quantized;
    const hn_op_def *plain = q != NULL ? hn_op_find("", q->of) : NULL;
    return plain != NULL ? plain : n->op;
}

static kind kind_of(const hn_node *n) {
    return is_dequantize(n) ? (kind){hn_lower_chain_table, 0} : kinds[role_of(n)];
}

static bool is_product(const hn_node *n) { return role_of(n) == HN_ROLE_PRODUCT; }

/* Weights that are dequantized and then transposed. */
static bool is_turned(const hn_node *n) {
    return is(n, "Transpose") && is_dequantize(producer(n, 0)) &&
           hn_node_constant(producer(n, 0), 0) != NULL;
}

/* The first inputs of n were dequantized. */
static bool reads_integers(const hn_node *n) {
    kind k = kind_of(n);
    if (k.lower == NULL) return false;
    for (int i = 0; i < k.n_inputs; i++)
        if (!is_dequantize(producer(n, i)) && !(is_product(n) && is_turned(producer(n, i))))
            return false;
    return true;
}

/* Whether n cuts at limits that are known, which then come before *lo and *hi. */
static bool limits(const hn_node *n, double *lo, double *hi) {
    double a, b;
    if (role_of(n) != HN_ROLE_LIMIT || !n->op->limits(n, &a, &b) || !(a <= b)) return false;
    /* The walk goes backwards: these limits, as those that follow leave them. */
    double low = fmin(fmax(a, *lo), *hi), high = fmin(fmax(b, *lo), *hi);
    *lo = low;
    *hi = high;
    return true;
}

/* The node that computes input i of n, when n is all that wants it. */
static const hn_node *only_from(const hn_node *n, int i) {
    const hn_value *v = hn_node_input(n, i);
    return v != NULL && v->n_uses == 1 ? v->producer : NULL;
}

/* Of an Add: the product to which the other input, dequantized, is added; -1: none. */
static int product_of(const hn_node *add) {
    for (int i = 0; i < 2; i++) {
        const hn_node *p = only_from(add, i);
        if (is_product(p) && reads_integers(p) && is_dequantize(producer(add, 1 - i))) return i;
    }
    return -1;
}

static bool has_bias(const hn_node *n) {
    int bias = n->op->weights->bias;
    return bias > 0 && hn_node_input(n, bias) != NULL;
}

/* Of an Add: the matrix product to which the other input, a constant, is added; -1: none. */
static int biased_product_of(const hn_node *add) {
    for (int i = 0; i < 2; i++) {
        const hn_node *p = only_from(add, i);
        if (is_product(p) && p->op->weights->kind == HN_WEIGHT_MATRIX && !has_bias(p) &&
            reads_integers(p) && hn_node_constant(add, 1 - i) != NULL)
            return i;
    }
    return -1;
}

/* The chain that q ends; false: there is none. */
static bool find_chain(const hn_node *q, hn_quant_chain *c) {
    *c = (hn_quant_chain){.quantize = q, .lo = -INFINITY, .hi = INFINITY};
    const hn_node *n = q;
    for (;;) {
        const hn_node *p = producer(n, 0);
        if (is_dequantize(p)) {
            c->op = p;
            return true;
        }
        p = only_from(n, 0);
        if (p == NULL || c->n + 2 > HN_QUANT_NODES) return false;
        n = c->nodes[c->n++] = p;
        if (!limits(n, &c->lo, &c->hi)) break;
    }
    c->op = n;
    bool adds = role_of(n) == HN_ROLE_ADD;
    int i = adds ? product_of(n) : -1;
    if (i >= 0) {
        c->add = n;
        c->residual = 1 - i;
        c->op = c->nodes[c->n++] = producer(n, i);
    } else if (adds && (i = biased_product_of(n)) >= 0) {
        c->bias = n;
        c->b = 1 - i;
        c->op = c->nodes[c->n++] = producer(n, i);
    }
    return reads_integers(c->op);
}

static bool in_integers(const hn_lower *L, const hn_node *n) {
    return !hn_layers_of(L->layers, n).no_integers;
}

/* The operator of the chain that n is part of; NULL: it is in none. */
static const hn_node *chain_of(const hn_node *n) {
    const hn_node *at = n;
    for (int i = 0; i < HN_QUANT_NODES; i++) {
        const hn_value *y = hn_node_output(at, 0);
        if (y == NULL || y->n_uses != 1 || y->uses->node == NULL) return NULL;
        at = y->uses->node;
        hn_quant_chain c;
        if (!is_quantize(at)) continue;
        if (y->uses->index != 0 || !find_chain(at, &c)) return NULL;
        for (int k = 0; k < c.n; k++)
            if (c.nodes[k] == n) return c.op;
        return NULL;
    }
    return NULL;
}

/* A recurrent layer whose weights were dequantized. */
static bool has_integer_state(const hn_node *n) {
    return hn_weight_kind_of(n) == HN_WEIGHT_STATE &&
           is_dequantize(producer(n, n->op->weights->input + 1));
}

const hn_node *hn_quant_part(const hn_node *n) {
    hn_quant_chain c;
    for (int i = 0; i < 2 && n != NULL && (is_dequantize(n) || is_turned(n)); i++) {
        const hn_value *y = hn_node_output(n, 0);
        n = y != NULL && y->uses != NULL ? y->uses->node : NULL;
    }
    if (n == NULL) return NULL;
    if (is_quantize(n)) return find_chain(n, &c) && !is_dequantize(c.op) ? c.op : NULL;
    const hn_node *op = chain_of(n);
    bool alone = (is_product(n) && reads_integers(n)) || has_integer_state(n);
    return op != NULL ? op : alone ? n : NULL;
}

bool hn_lower_waits(const hn_lower *L, const hn_node *n) {
    const hn_node *chain = chain_of(n);
    return is_dequantize(n) || is_turned(n) || (chain != NULL && in_integers(L, chain));
}

/* Every operator whose name speaks of it: QuantizeLinear, QLinearAdd, MatMulInteger, QGemm,
 * MatMulNBits ... */
static bool speaks_of_it(const hn_node *n) {
    return strstr(n->op_type, "uantize") != NULL || strstr(n->op_type, "Integer") != NULL ||
           strstr(n->op_type, "NBits") != NULL || strncmp(n->op_type, "QLinear", 7) == 0 ||
           strcmp(n->op_type, "QGemm") == 0;
}

bool hn_graph_is_quantized(const hn_graph *g) {
    for (const hn_node *n = g->first; n != NULL; n = n->next)
        if (speaks_of_it(n)) return true;
    return false;
}

bool hn_node_is_quantized(const hn_node *n) {
    return speaks_of_it(n) || reads_integers(n) || has_integer_state(n);
}

double hn_step_macs(const hn_step *s) {
    return s->family != NULL && s->family->multiplies ? s->facts->flops / 2 : s->facts->macs;
}

/* ---- scales ---- */

hn_q8_type hn_quant_type(hone_dtype t) {
    return t == HONE_DTYPE_U8    ? HN_Q8_U8
           : t == HONE_DTYPE_S8  ? HN_Q8_S8
           : t == HONE_DTYPE_F32 ? HN_Q8_F32
                                 : HN_Q8_S32;
}

static const char *read_scale(const hn_node *n, int scale, int zero, hn_quant *q) {
    q->scale = hn_node_constant(n, scale);
    q->zero = hn_node_constant(n, zero);
    q->axis = -1;
    if (q->scale == NULL || (q->zero == NULL && hn_node_input(n, zero) != NULL))
        return "a scale or a zero point is computed";
    if (q->zero != NULL && q->zero->n != 1 && q->zero->n != q->scale->n)
        return "not as many zero points as scales";
    if (q->scale->n == 0) return "no scale";
    for (int64_t i = 0; i < q->scale->n; i++) {
        double s = hn_tensor_f64(q->scale, i);
        if (!(s > 0 && s < INFINITY)) return "a scale is zero, negative or not a number";
    }
    return NULL;
}

/* Of a QuantizeLinear or DequantizeLinear, whose integers q->view says. */
static const char *read_node(const hn_node *n, bool axes, hn_quant *q) {
    const char *why = read_scale(n, 1, 2, q);
    if (why != NULL) return why;
    if (hn_op_attr(n->op, "block_size") != NULL && hn_attr_i(n, "block_size") != 0)
        return "a scale for each block";
    if (q->scale->dtype != HONE_DTYPE_F32) return "a scale that is not f32";
    if (q->scale->n == 1) return NULL;
    if (!axes) return "a scale for each index of an axis";
    int64_t axis = q->view.rank == 1 ? 0 : hn_attr_i(n, "axis");
    q->axis = (int)(axis < 0 ? axis + q->view.rank : axis);
    return NULL;
}

const char *hn_quant_input(const hn_lower *L, const hn_node *n, int i, bool axes, hn_quant *q) {
    const hn_node *p = producer(n, i);
    const hn_node *turn = axes && is_turned(p) ? p : NULL;
    if (turn != NULL) p = producer(turn, 0);
    if (!is_dequantize(p)) return "an input is not dequantized";
    if (hn_node_output(p, 0)->type.dtype != HONE_DTYPE_F32)
        return "dequantized to another type than f32";
    *q = (hn_quant){.view = hn_lower_in(L, p, 0)};
    const char *why = read_node(p, axes, q);
    if (why != NULL || turn == NULL) return why;
    int count;
    const int64_t *perm = hn_attr_ints(turn, "perm", &count);
    hn_view v = q->view;
    int axis = q->axis;
    for (int k = 0; k < v.rank; k++) {
        int from = count == v.rank ? (int)perm[k] : v.rank - 1 - k;
        q->view.dims[k] = v.dims[from];
        q->view.strides[k] = v.strides[from];
        if (axis == from) q->axis = k;
    }
    return NULL;
}

const char *hn_quant_inputs(const hn_lower *L, const hn_node *n, int data, int scale, int zero,
                            hn_quant *q) {
    *q = (hn_quant){.view = hn_lower_in(L, n, data)};
    return read_scale(n, scale, zero, q);
}

const char *hn_quant_output(const hn_node *n, int scale, int zero, hn_quant *q) {
    *q = (hn_quant){.view = hn_lower_out(n, 0)};
    const char *why = read_scale(n, scale, zero, q);
    return why == NULL && q->scale->n != 1 ? "a scale for each index of an axis" : why;
}

const char *hn_quant_result(const hn_node *quantize, hn_quant *q) {
    *q = (hn_quant){.view = hn_lower_out(quantize, 0)};
    return read_node(quantize, true, q);
}

/* ---- lowering ---- */

hone_status hn_quant_absorb(hn_lower *L, hn_step *s, const hn_quant_chain *c, hn_error *err) {
    for (int i = c->n - 1; i >= 0; i--)
        if (c->nodes[i] != s->node) HN_TRY(hn_step_absorb(L, s, c->nodes[i], err));
    return hn_step_absorb(L, s, c->quantize, err);
}

bool hn_quant_lowers(const hn_op_def *op) {
    return kinds[op->role].lower != NULL || op->role == HN_ROLE_LIMIT ||
           op == hn_op_find("", "DequantizeLinear");
}

#define OTHER_PRECISION "another precision was asked for"

/* Why n, for which nothing was tried, computes in floats; NULL: it does not. */
static const char *why_float(const hn_lower *L, const hn_node *n) {
    const hn_value *y = hn_node_output(n, 0);
    if (is_quantize(n))
        return producer(n, 0) != NULL ? "what it quantizes is computed in floats"
                                      : "it quantizes an input of the model";
    if (is_dequantize(n))
        return y == NULL || y->n_outputs == 0 ? "what reads it is computed in floats"
                                              : "it is an output of the model";
    if (strcmp(n->op_type, "DynamicQuantizeLinear") == 0) return "it quantizes floats";
    if (y == NULL || !hn_dtype_is_float(y->type.dtype)) return NULL;
    if (n->op == NULL || !hn_quant_lowers(n->op)) return "no integer form of it";
    if (!in_integers(L, n)) return OTHER_PRECISION;
    if (!reads_integers(n)) return "an input is not dequantized";
    return "its result is not quantized, or has other uses";
}

static hone_status lower_integers(hn_lower *L, const hn_node *n, bool *done, const char **why,
                                  hn_error *err) {
    hn_quant_chain c;
    if (is_quantize(n) && find_chain(n, &c)) {
        *why = OTHER_PRECISION;
        if (!in_integers(L, c.op)) return HONE_OK;
        HN_TRY(kind_of(c.op).lower(L, &c, done, err));
        *why = L->why;
    } else if (is_product(n) && reads_integers(n) && in_integers(L, n)) {
        HN_TRY(hn_lower_float_product(L, n, done, err));
        *why = L->why;
    } else {
        *why = why_float(L, n);
    }
    return HONE_OK;
}

hone_status hn_lower_quantized(hn_lower *L, const hn_node *n, bool *done, const char **why,
                               hn_error *err) {
    *done = false;
    *why = NULL;
    HN_TRY(lower_integers(L, n, done, why, err));
    if (*done) return HONE_OK;
    L->why_float = *why;
    HN_TRY(hn_lower_weight_only(L, n, done, err));
    return *done ? HONE_OK : hn_lower_recurrent_codes(L, n, done, err);
}
