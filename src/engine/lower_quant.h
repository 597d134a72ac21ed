/* Quantized graphs: finding what runs in integers.
 *
 *   DequantizeLinear ─▶ operator ─▶ [Relu | Clip] ─▶ QuantizeLinear        one integer step
 *   DequantizeLinear ─▶ Conv, MatMul, Gemm ─▶ floats                       integer sums, float
 *                                                                          result
 *                           [─▶ activation] [─▶ QuantizeLinear]            and in the same step
 *
 * A chain ends in a QuantizeLinear. The nodes before it wait: their lowering is left to that of the
 * QuantizeLinear, which has all inputs at hand. Where it declines, and wherever else a value is
 * wanted that waited, the nodes are lowered in float then (hn_lower_need). A DequantizeLinear
 * always waits: what is computed in integers never asks for its result.
 *
 * Operators that are given integers (QLinearConv, MatMulInteger ...) become the same steps.
 */
#ifndef HN_ENGINE_LOWER_QUANT_H
#define HN_ENGINE_LOWER_QUANT_H

#include "engine/lower.h"
#include "kernels/q8.h"
#include "ops/requant.h"

/* Integers and what they stand for: (q - zero) * scale. */
typedef struct hn_quant {
    hn_view view;           /* the integers; in no buffer yet where they are a result */
    const hn_tensor *scale; /* one, or one for each index of `axis`; all positive and finite */
    const hn_tensor *zero;  /* NULL: 0 */
    int axis;               /* -1: one scale */
} hn_quant;

static inline double hn_quant_scale(const hn_quant *q, int64_t i) {
    return hn_channel_f64(q->scale, i);
}
static inline int64_t hn_quant_zero(const hn_quant *q, int64_t i) {
    return q->zero != NULL ? hn_tensor_s64(q->zero, q->zero->n == 1 ? 0 : i) : 0;
}
/* The integer that stands for v, within the type; at index i of the axis. */
static inline int32_t hn_quant_at(const hn_quant *q, int64_t i, double v) {
    return (int32_t)hn_quantize(q->view.dtype, v / hn_quant_scale(q, i),
                                (double)hn_quant_zero(q, i));
}
static inline int32_t hn_quant_of(const hn_quant *q, double v) { return hn_quant_at(q, 0, v); }

#define HN_QUANT_NODES 6

/* What a QuantizeLinear ends. */
typedef struct hn_quant_chain {
    const hn_node *op;   /* computes; a DequantizeLinear: nothing is, but for the limits */
    const hn_node *bias; /* adds a constant, its input `b`, to that; or NULL */
    int b;
    const hn_node *add; /* adds a dequantized value, its input `residual`, to that; or NULL */
    int residual;
    double lo, hi; /* limits of what follows */
    const hn_node *quantize;
    int n;
    const hn_node
        *nodes[HN_QUANT_NODES]; /* all but `quantize` and a DequantizeLinear, last first */
} hn_quant_chain;

/* An operator of quantization, or one that reads what was dequantized. */
bool hn_node_is_quantized(const hn_node *n);
/* The operator that n is computed with in integers, or reads or writes quantized values for: the
 * one whose way (layers.h) decides; NULL: none. */
const hn_node *hn_quant_part(const hn_node *n);
/* n is lowered when its result is wanted, or with the QuantizeLinear at the end of its chain. */
bool hn_lower_waits(const hn_lower *L, const hn_node *n);
/* Lowers n of a quantized graph, and what waits for it, in integers; *done false: it is to be lowered as it is, and *why
 * is the reason, NULL where there is nothing to compute in floats. */
hone_status hn_lower_quantized(hn_lower *L, const hn_node *n, bool *done, const char **why,
                               hn_error *err);
/* The operator may be a step in integers, or part of one, between DequantizeLinear and
 * QuantizeLinear. */
bool hn_quant_lowers(const hn_op_def *op);

/* Input i of n as the integers it was dequantized from; else the reason why not. One scale unless
 * `axes`. */
const char *hn_quant_input(const hn_lower *L, const hn_node *n, int i, bool axes, hn_quant *q);
/* Input `data` of n, which has that scale and zero point as inputs; the same. */
const char *hn_quant_inputs(const hn_lower *L, const hn_node *n, int data, int scale, int zero,
                            hn_quant *q);
/* Output 0 of n, with its scale and zero point, one each, as inputs; the same. */
const char *hn_quant_output(const hn_node *n, int scale, int zero, hn_quant *q);
/* Output 0 of a QuantizeLinear, which may have a scale for each index of an axis; the same. */
const char *hn_quant_result(const hn_node *quantize, hn_quant *q);
/* The operator of n, or the one that it stands for (Add of QLinearAdd). */
const hn_op_def *hn_quant_plain(const hn_node *n);
/* u8 and s8, which the integer families take. */
static inline bool hn_quant_is_byte(hone_dtype t) {
    return t == HONE_DTYPE_U8 || t == HONE_DTYPE_S8;
}
hn_q8_type hn_quant_type(hone_dtype t);
/* Names the step after all the nodes of the chain. */
hone_status hn_quant_absorb(hn_lower *L, hn_step *s, const hn_quant_chain *c, hn_error *err);

/* The kinds of operators a chain may begin with; each declines as lowerings do. */
typedef hone_status hn_quant_lowering(hn_lower *L, const hn_quant_chain *c, bool *done,
                                      hn_error *err);
hn_quant_lowering hn_lower_chain_product, hn_lower_chain_binary, hn_lower_chain_table,
    hn_lower_chain_pool;
/* Lets s, which made a that nothing else wants, round it as before, add r and be y between limits;
 * a is where y is then. False: it cannot, and nothing has changed. */
bool hn_lower_add_to_product(hn_lower *L, hn_step *s, hn_quant *a, const hn_quant *r,
                             const hn_quant *y, double lo, double hi);
/* Lets s, which made the floats x that nothing else wants, quantize them, by one scale or one for each
 * channel; y is where they are then.
 * *done false: it cannot, and nothing has changed. */
hone_status hn_lower_quantize_product(hn_lower *L, hn_step *s, const hn_view *x, const hn_quant *q,
                                      hn_view *y, bool *done, hn_error *err);
/* Conv, MatMul or Gemm of dequantized values, with a float result. */
hone_status hn_lower_float_product(hn_lower *L, const hn_node *n, bool *done, hn_error *err);
/* MatMul or Gemm of floats by weights alone dequantized; the same. */
hone_status hn_lower_weight_only(hn_lower *L, const hn_node *n, bool *done, hn_error *err);
/* LSTM, GRU or RNN with dequantized weights of 8 bits; the same. */
hone_status hn_lower_recurrent_codes(hn_lower *L, const hn_node *n, bool *done, hn_error *err);
/* A step that quantizes x by the range of its own, to u8 in a new place that runs as x does; scale
 * and zero point are new too. */
hone_status hn_lower_dynamic(hn_lower *L, const hn_node *n, const hn_view *x, hn_view *y,
                             hn_view *scale, hn_view *zero, hn_error *err);
/* y as the table's image of x. */
hone_status hn_lower_table(hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *y,
                           const uint8_t *table, hn_step **out, hn_error *err);

#endif
