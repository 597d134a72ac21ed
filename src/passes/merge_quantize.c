/* What is dequantized and quantized again by the same scale is what it was.
 *
 *     f = DequantizeLinear (q, scale, zero)
 *     y = QuantizeLinear (f, scale, zero)           becomes    q in place of y
 *
 *     f = DequantizeLinear (q, scale, zero)
 *     p = MaxPool (f)
 *     y = QuantizeLinear (p, scale, zero)           becomes    y = MaxPool (q)
 *
 * Fires for integers of up to 16 bits with a constant scale and zero point for the whole tensor;
 * with MaxPool between them when nothing else uses f and p, it gives no indices, and the opset has
 * it for 8 bits (12). Rounding undoes what the two multiplications round, since the numbers are
 * small.
 */
#include "passes/quantized.h"

bool hn_has_one_scale(const hn_node *n) {
    const hn_tensor *s = hn_const_in(n, 1), *z = hn_const_in(n, 2);
    if (s == NULL || s->n != 1 || (hn_node_input(n, 2) != NULL && z == NULL)) return false;
    return hn_attr_i(n, "block_size") == 0;
}

bool hn_same_scale(const hn_node *a, const hn_node *b) {
    if (!hn_has_one_scale(a) || !hn_has_one_scale(b)) return false;
    const hn_tensor *s = hn_const_in(a, 1), *t = hn_const_in(b, 1);
    const hn_tensor *y = hn_const_in(a, 2), *z = hn_const_in(b, 2);
    int64_t zero_a = y != NULL ? hn_tensor_s64(y, 0) : 0,
            zero_b = z != NULL ? hn_tensor_s64(z, 0) : 0;
    return s->dtype == t->dtype && hn_tensor_f64(s, 0) == hn_tensor_f64(t, 0) &&
           hn_tensor_f64(s, 0) > 0 && zero_a == zero_b;
}

static bool is_short(hone_dtype t) { return hn_dtype_is_int(t) && hone_dtype_bits(t) <= 16; }

static hone_status merge_pool(hn_pass_ctx *c, hn_node *n) {
    hn_node *pool = c->opset >= 12 ? hn_feeds_only(n, 0, "MaxPool") : NULL;
    const hn_node *p = pool != NULL ? hn_feeds_only(pool, 0, "DequantizeLinear") : NULL;
    if (p == NULL || !hn_same_scale(p, n)) return HONE_OK;
    hn_value *q = p->inputs[0].value;
    if (q->type.dtype != n->outputs[0]->type.dtype || hone_dtype_bits(q->type.dtype) != 8 ||
        !hn_dtype_is_int(q->type.dtype))
        return HONE_OK;
    hn_node *from = pool->inputs[0].value->producer;
    hn_node_set_input(pool, 0, q);
    hn_prune(from);
    hn_absorb(c, pool, n);
    return HONE_OK;
}

static hone_status merge(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    (void)err;
    if (!hn_is(n, "QuantizeLinear")) return HONE_OK;
    const hn_node *p = hn_feeds(n, 0, "DequantizeLinear");
    if (p == NULL) return merge_pool(c, n);
    hn_value *q = p->inputs[0].value;
    if (hn_same_scale(p, n) && is_short(q->type.dtype) &&
        q->type.dtype == n->outputs[0]->type.dtype && hn_can_replace(n->outputs[0], q))
        hn_bypass(c, n, q);
    return HONE_OK;
}

hone_status hn_pass_merge_quantize(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, merge, err);
}
