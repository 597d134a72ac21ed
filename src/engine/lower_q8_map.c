/* Elementwise steps on integers: quantizing and dequantizing, tables, sums and products.
 *
 * A function of one 8-bit number is a table of 256, filled by the `function` of its operator.
 */
#include <math.h>
#include <string.h>

#include "engine/lower_quant.h"
#include "kernels/binary_q8/binary_q8.h"
#include "kernels/dequantize_q8/dequantize_q8.h"
#include "kernels/lut_q8/lut_q8.h"
#include "kernels/quantize_f32/quantize_f32.h"
#include "ops/eval.h"
#include "ops/quantize.h"

/* ---- spaces ---- */

static const char *refuse_space(const hn_view *y) {
    if (y->rank > HN_SPACE_RANK) return "more than six axes";
    if (hn_view_count(y) == 0) return "nothing to compute";
    return NULL;
}

/* The axes of y; those that are missing have one element. */
static hn_space space_of(const hn_view *y, int n_operands) {
    hn_space s = {.rank = y->rank > 0 ? y->rank : 1, .n = n_operands};
    for (int i = 0; i < HN_SPACE_RANK; i++) s.dims[i] = i < y->rank ? y->dims[i] : 1;
    return s;
}

/* v, which broadcasts to the space, as its operand. */
static void walk(hn_space *s, int operand, int rank, const hn_view *v) {
    int missing = rank - v->rank;
    for (int i = missing; i < rank; i++)
        s->stride[operand][i] =
            v->dims[i - missing] == 1 && s->dims[i] != 1 ? 0 : v->strides[i - missing];
}

static double bytes_of(const hn_view *v) {
    return (double)hn_view_count(v) * hone_dtype_bits(v->dtype) / 8;
}

/* ---- QuantizeLinear, DequantizeLinear ---- */

/* A scale or zero point, one or one for each index of an axis, over the axes of x. */
static hn_view along_axis(const hn_node *n, const hn_view *x, hn_view v) {
    int64_t axis = hn_attr_i(n, "axis"), count = hn_view_count(&v);
    int64_t stride = v.rank > 0 ? v.strides[v.rank - 1] : 0;
    if (axis < 0) axis += x->rank;
    if (x->rank == 1) axis = 0;
    v.rank = x->rank;
    for (int i = 0; i < x->rank; i++) {
        v.dims[i] = count > 1 && i == axis ? x->dims[i] : 1;
        v.strides[i] = count > 1 && i == axis ? stride : 0;
    }
    return v;
}

/* Of both operators. */
static const char *refuse_scale(const hn_node *n, const hn_view *y, const hn_view *scale) {
    if (hn_op_attr(n->op, "block_size") != NULL && hn_attr_i(n, "block_size") != 0)
        return "a scale for each block";
    if (scale->dtype != HONE_DTYPE_F32) return "a scale that is not f32";
    return refuse_space(y);
}

/* Innermost channels are what convolutions read: those of an image that is quantized for one are
 * brought there on the way. */
static bool feeds_images(const hn_value *q) {
    for (const hn_use *u = q->uses; u != NULL; u = u->next) {
        const hn_node *n = u->node;
        const hn_value *v =
            n != NULL && strcmp(n->op_type, "DequantizeLinear") == 0 ? hn_node_output(n, 0) : q;
        for (const hn_use *w = v->uses; w != NULL; w = w->next)
            if (w->node != NULL && strstr(w->node->op_type, "Conv") != NULL && w->index == 0)
                return true;
    }
    return false;
}

static hone_status place_for(hn_lower *L, const hn_node *n, hn_view *y, const hn_view *x,
                             hn_error *err) {
    int order[HONE_MAX_RANK];
    if (y->rank < 3 || !feeds_images(hn_node_output(n, 0)))
        return hn_lower_place_like(L, y, x, err);
    hn_lower_order_channels_last(y->rank, order);
    return hn_lower_place(L, y, order, err);
}

/* Lets the integer product that made the floats x quantize them. */
static hone_status into_product(hn_lower *L, const hn_node *n, const hn_view *x, bool *done,
                                hn_error *err) {
    hn_step *s = hn_lower_maker(L, n, 0);
    hn_quant q;
    hn_view y;
    *done = false;
    if (s == NULL || hn_quant_result(n, &q) != NULL) return HONE_OK;
    HN_TRY(hn_lower_quantize_product(L, s, x, &q, &y, done, err));
    if (!*done) return HONE_OK;
    hn_lower_set(L, n, 0, &y, s);
    return hn_step_absorb(L, s, n, err);
}

hone_status hn_lower_quantize(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    hn_view scale = hn_lower_in(L, n, 1), zero = hn_lower_in(L, n, 2);
    const char *why = refuse_scale(n, &y, &scale);
    if (why == NULL && (x.dtype != HONE_DTYPE_F32 || !hn_quant_is_byte(y.dtype)))
        why = "not from f32 to 8 bits";
    int64_t precision = hn_op_attr(n->op, "precision") != NULL ? hn_attr_i(n, "precision") : 0;
    if (why == NULL && precision != 0 && precision != HONE_DTYPE_F32)
        why = "another precision than f32";
    if (why != NULL) HN_DECLINE(L, why);
    HN_TRY(into_product(L, n, &x, done, err));
    if (*done) return HONE_OK;
    HN_TRY(place_for(L, n, &y, &x, err));
    hn_quantize_f32 p = {.space = space_of(&y, 4), .type = hn_quant_type(y.dtype)};
    scale = along_axis(n, &x, scale);
    walk(&p.space, HN_QUANTIZE_F32_X, y.rank, &x);
    walk(&p.space, HN_QUANTIZE_F32_Y, y.rank, &y);
    walk(&p.space, HN_QUANTIZE_F32_S, y.rank, &scale);
    if (zero.buffer >= 0) {
        zero = along_axis(n, &x, zero);
        walk(&p.space, HN_QUANTIZE_F32_Z, y.rank, &zero);
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_quantize_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_QUANTIZE_F32_X, &x);
    hn_step_writes(s, HN_QUANTIZE_F32_Y, &y);
    hn_step_reads(s, HN_QUANTIZE_F32_S, &scale);
    if (zero.buffer >= 0) hn_step_reads(s, HN_QUANTIZE_F32_Z, &zero);
    s->facts->bytes = bytes_of(&x) + bytes_of(&y);
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

/* y is placed. */
static hone_status add_dynamic(hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *y,
                               hn_view *scale, hn_view *zero, hn_error *err) {
    *scale = (hn_view){.dtype = HONE_DTYPE_F32};
    *zero = (hn_view){.dtype = HONE_DTYPE_U8};
    HN_TRY(hn_lower_place(L, scale, NULL, err));
    HN_TRY(hn_lower_place(L, zero, NULL, err));
    hn_quantize_f32 p = {.space = space_of(x, 4), .type = HN_Q8_U8, .dynamic = true};
    walk(&p.space, HN_QUANTIZE_F32_X, x->rank, x);
    walk(&p.space, HN_QUANTIZE_F32_Y, x->rank, y);
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_quantize_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_QUANTIZE_F32_X, x);
    hn_step_writes(s, HN_QUANTIZE_F32_Y, y);
    hn_step_writes(s, HN_QUANTIZE_F32_S, scale);
    hn_step_writes(s, HN_QUANTIZE_F32_Z, zero);
    s->facts->bytes = 2 * bytes_of(x) + bytes_of(y);
    return HONE_OK;
}

hone_status hn_lower_dynamic(hn_lower *L, const hn_node *n, const hn_view *x, hn_view *y,
                             hn_view *scale, hn_view *zero, hn_error *err) {
    *y = *x;
    y->dtype = HONE_DTYPE_U8;
    HN_TRY(hn_lower_place_like(L, y, x, err));
    return add_dynamic(L, n, x, y, scale, zero, err);
}

hone_status hn_lower_dynamic_quantize(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0), scale, zero;
    const char *why = refuse_space(&x);
    if (why == NULL && hn_node_output(n, 0) == NULL) why = "an output is missing";
    if (why != NULL) HN_DECLINE(L, why);
    HN_TRY(place_for(L, n, &y, &x, err));
    HN_TRY(add_dynamic(L, n, &x, &y, &scale, &zero, err));
    hn_lower_set(L, n, 0, &y, NULL);
    hn_lower_set(L, n, 1, &scale, NULL);
    hn_lower_set(L, n, 2, &zero, NULL);
    *done = true;
    return HONE_OK;
}

/* Whether n makes f32 of constants in a format that packing can read. */
static bool codes_of(const hn_node *n, hn_constant *c) {
    const hn_tensor *x = hn_node_constant(n, 0), *s = hn_node_constant(n, 1);
    const hn_tensor *z = hn_node_constant(n, 2);
    if (!hn_dtype_is_int(x->dtype) || hone_dtype_bits(x->dtype) > 16 ||
        s->dtype != HONE_DTYPE_F32 || hn_lower_out(n, 0).dtype != HONE_DTYPE_F32 ||
        x->data == NULL || s->data == NULL || (z != NULL && z->data == NULL))
        return false;
    hn_scaling by = hn_scaling_of(n, x, s);
    *c = (hn_constant){.data = x,
                       .other = s,
                       .zero = z,
                       .as = {.kind = HN_STORED_CODES,
                              .type = x->dtype,
                              .n = x->n,
                              .axis = by.size,
                              .inner = by.inner,
                              .block = by.block,
                              .scale_outer = by.outer_step,
                              .scale_axis = by.axis_step,
                              .scale_inner = by.inner_step}};
    return true;
}

/* Contents that are known stay as they are until a step's weights are packed from them, or a step
 * wants them as numbers. Of rare types they are dequantized now, by the reference. */
static hone_status dequantize_constant(hn_lower *L, const hn_node *n, hn_error *err) {
    const hn_tensor *in[3];
    hn_tensor *out = NULL;
    hn_view v = hn_lower_out(n, 0);
    hn_constant c;
    if (codes_of(n, &c)) {
        HN_TRY(hn_lower_stored(L, &c, &v, err));
    } else {
        for (int i = 0; i < n->n_inputs && i < 3; i++) in[i] = hn_node_constant(n, i);
        hn_exec_options o = {.alloc = L->plan->arena.alloc};
        HN_TRY(hn_node_run(n, &o, in, &out, err));
        HN_TRY(hn_lower_adopt(L, out, &v, err));
    }
    hn_lower_set(L, n, 0, &v, NULL);
    return HONE_OK;
}

hone_status hn_lower_dequantize(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    hn_view scale = hn_lower_in(L, n, 1), zero = hn_lower_in(L, n, 2);
    *done = true;
    bool constant = true;
    for (int i = 0; i < n->n_inputs; i++)
        constant &= hn_node_input(n, i) == NULL || hn_node_constant(n, i) != NULL;
    if (constant) return dequantize_constant(L, n, err);
    const char *why = refuse_scale(n, &y, &scale);
    if (why == NULL && y.dtype != HONE_DTYPE_F32) why = "to another type than f32";
    if (why == NULL && !hn_quant_is_byte(x.dtype) && x.dtype != HONE_DTYPE_S32)
        why = "neither of 8 bits nor s32";
    if (why != NULL) HN_DECLINE(L, why);
    HN_TRY(hn_lower_place_like(L, &y, &x, err));
    hn_dequantize_q8 p = {.space = space_of(&y, 4), .type = hn_quant_type(x.dtype)};
    scale = along_axis(n, &x, scale);
    walk(&p.space, HN_DEQUANTIZE_Q8_X, y.rank, &x);
    walk(&p.space, HN_DEQUANTIZE_Q8_Y, y.rank, &y);
    walk(&p.space, HN_DEQUANTIZE_Q8_S, y.rank, &scale);
    if (zero.buffer >= 0) {
        zero = along_axis(n, &x, zero);
        walk(&p.space, HN_DEQUANTIZE_Q8_Z, y.rank, &zero);
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_dequantize_q8_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_DEQUANTIZE_Q8_X, &x);
    hn_step_writes(s, HN_DEQUANTIZE_Q8_Y, &y);
    hn_step_reads(s, HN_DEQUANTIZE_Q8_S, &scale);
    if (zero.buffer >= 0) hn_step_reads(s, HN_DEQUANTIZE_Q8_Z, &zero);
    s->facts->bytes = bytes_of(&x) + bytes_of(&y);
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* ---- tables ---- */

/* The table of n's function (of a DequantizeLinear: none) between limits, from x to y. */
static void fill_table(const hn_node *n, const hn_quant *x, const hn_quant *y, double lo, double hi,
                       uint8_t *table) {
    for (int q = 0; q < 256; q++) {
        int64_t level = (x->view.dtype == HONE_DTYPE_S8 ? (int8_t)q : q) - hn_quant_zero(x, 0);
        double v = (double)level * hn_quant_scale(x, 0);
        if (n->op->function != NULL) v = n->op->function(n, v);
        if (v < lo) v = lo;
        if (v > hi) v = hi;
        table[q] = (uint8_t)hn_quant_of(y, v);
    }
}

hone_status hn_lower_table(hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *y,
                           const uint8_t *table, hn_step **out, hn_error *err) {
    hn_tensor *t;
    hn_view v;
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_U8, 256, &t, &v, err));
    memcpy(t->data, table, 256);
    hn_lut_q8 p = {.space = space_of(y, 2)};
    walk(&p.space, HN_LUT_Q8_X, y->rank, x);
    walk(&p.space, HN_LUT_Q8_Y, y->rank, y);
    HN_TRY(hn_lower_step(L, n, &hn_lut_q8_family, &p, sizeof p, out, err));
    hn_step_reads(*out, HN_LUT_Q8_X, x);
    hn_step_writes(*out, HN_LUT_Q8_Y, y);
    hn_step_reads(*out, HN_LUT_Q8_TABLE, &v);
    (*out)->facts->bytes = bytes_of(x) + bytes_of(y);
    return HONE_OK;
}

static const char *refuse_bytes(const hn_quant *x, const hn_quant *y) {
    if (!hn_quant_is_byte(x->view.dtype) || !hn_quant_is_byte(y->view.dtype))
        return "not of 8 bits";
    return refuse_space(&y->view);
}

static hone_status by_table(hn_lower *L, const hn_node *op, const hn_node *last, const hn_quant *x,
                            const hn_quant *y, double lo, double hi, hn_step **out, bool *done,
                            hn_error *err) {
    uint8_t table[256];
    const char *why = refuse_bytes(x, y);
    if (why != NULL) HN_DECLINE(L, why);
    fill_table(op, x, y, lo, hi, table);
    hn_view to = y->view;
    HN_TRY(hn_lower_place_like(L, &to, &x->view, err));
    HN_TRY(hn_lower_table(L, op, &x->view, &to, table, out, err));
    hn_lower_set(L, last, 0, &to, *out);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_chain_table(hn_lower *L, const hn_quant_chain *c, bool *done, hn_error *err) {
    hn_quant x, y;
    /* The DequantizeLinear feeds the operator, or is all there is before the limits. */
    const hn_node *reader = c->n > 0 ? c->nodes[c->n - 1] : c->quantize;
    const char *why = hn_quant_input(L, reader, 0, false, &x);
    if (why == NULL) why = hn_quant_output(c->quantize, 1, 2, &y);
    if (why != NULL) HN_DECLINE(L, why);
    hn_step *s;
    HN_TRY(by_table(L, c->op, c->quantize, &x, &y, c->lo, c->hi, &s, done, err));
    return *done ? hn_quant_absorb(L, s, c, err) : HONE_OK;
}

/* QLinearSigmoid and QLinearLeakyRelu. */
hone_status hn_lower_qlinear_table(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_quant x, y;
    const char *why = hn_quant_inputs(L, n, 0, 1, 2, &x);
    if (why == NULL) why = hn_quant_output(n, 3, 4, &y);
    if (why == NULL && x.scale->n != 1) why = "more than one scale";
    if (why != NULL) HN_DECLINE(L, why);
    hn_step *s;
    return by_table(L, n, n, &x, &y, -INFINITY, INFINITY, &s, done, err);
}

/* ---- QLinearConcat ---- */

static const char *concat_input(const hn_lower *L, const hn_node *n, int i, const hn_quant *y,
                                hn_quant *x) {
    const char *why = hn_quant_inputs(L, n, i, i + 1, i + 2, x);
    if (why == NULL && x->scale->n != 1) why = "more than one scale";
    return why != NULL ? why : refuse_bytes(x, y);
}

static bool changes_nothing(const uint8_t *table) {
    for (int q = 0; q < 256; q++)
        if (table[q] != q) return false;
    return true;
}

/* x in its part of the result. */
static hone_status add_part(hn_lower *L, const hn_node *n, const hn_quant *x, const hn_quant *y,
                            const hn_view *to, hn_error *err) {
    uint8_t table[256];
    hn_step *s;
    if (hn_view_count(to) == 0) return HONE_OK;
    hn_requant_table(x->view.dtype, (float)hn_quant_scale(x, 0), hn_quant_zero(x, 0), to->dtype,
                     (float)hn_quant_scale(y, 0), hn_quant_zero(y, 0), table);
    if (!changes_nothing(table)) return hn_lower_table(L, n, &x->view, to, table, &s, err);
    return hn_lower_rehome(L, &x->view, to) ? HONE_OK : hn_lower_copy(L, n, &x->view, to, err);
}

/* Parts of the result's scale are computed where they belong, others come there by a table. */
hone_status hn_lower_qlinear_concat(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    enum { FIRST = 2 }; /* tensor, scale and zero point for each */
    hn_quant x, y;
    const char *why = hn_quant_output(n, 0, 1, &y);
    for (int i = FIRST; why == NULL && i < n->n_inputs; i += 3) why = concat_input(L, n, i, &y, &x);
    if (why != NULL) HN_DECLINE(L, why);
    hn_view first = hn_lower_in(L, n, FIRST), all = y.view, to;
    int64_t axis = hn_attr_i(n, "axis");
    if (axis < 0) axis += all.rank;
    HN_TRY(hn_lower_place_like(L, &all, &first, err));
    to = all;
    for (int i = FIRST; i < n->n_inputs; i += 3) {
        concat_input(L, n, i, &y, &x); /* where the part before may have moved it */
        to.dims[axis] = x.view.dims[axis];
        HN_TRY(add_part(L, n, &x, &y, &to, err));
        to.offset += to.strides[axis] * x.view.dims[axis];
    }
    hn_lower_set(L, n, 0, &all, NULL);
    *done = true;
    return HONE_OK;
}

/* ---- sums and products ---- */

/* The step that made the integers of operand k, which nothing but op wants; or NULL. */
static hn_step *maker_of(const hn_lower *L, const hn_node *op, int k) {
    if (op->op->quantized != NULL) return hn_lower_maker(L, op, 3 * k);
    const hn_value *v = hn_node_input(op, k);
    return v->n_uses == 1 ? hn_lower_maker(L, v->producer, 0) : NULL;
}

/* Lets the convolution that made one operand add the other to it; the later one first, which need
 * not wait for the other's result. NULL: none can. */
static hn_step *add_to_maker(hn_lower *L, const hn_node *op, const hn_quant *a, const hn_quant *b,
                             const hn_quant *y, double lo, double hi, hn_view *to) {
    hn_step *by[] = {maker_of(L, op, 0), maker_of(L, op, 1)};
    for (int i = L->plan->n_steps - 1; i >= 0; i--)
        for (int k = 0; k < 2; k++) {
            hn_quant sum = k == 0 ? *a : *b;
            if (L->plan->steps[i] != by[k] ||
                !hn_lower_add_to_product(L, by[k], &sum, k == 0 ? b : a, y, lo, hi))
                continue;
            *to = sum.view;
            return by[k];
        }
    return NULL;
}

static hone_status lower_binary(hn_lower *L, const hn_node *op, const hn_node *last,
                                const hn_quant *a, const hn_quant *b, const hn_quant *y, double lo,
                                double hi, hn_step **out, bool *done, hn_error *err) {
    const char *why = refuse_bytes(a, y);
    if (why == NULL) why = refuse_bytes(b, y);
    if (why != NULL) HN_DECLINE(L, why);
    hn_role role = hn_quant_plain(op)->role;
    bool multiply = role == HN_ROLE_MUL, minus = role == HN_ROLE_SUB;
    hn_view joined;
    *out = multiply || minus ? NULL : add_to_maker(L, op, a, b, y, lo, hi, &joined);
    if (*out != NULL) {
        hn_lower_set(L, last, 0, &joined, *out);
        *done = true;
        return op != last ? HONE_OK : hn_step_absorb(L, *out, op, err);
    }
    double sa = hn_quant_scale(a, 0), sb = hn_quant_scale(b, 0), sy = hn_quant_scale(y, 0);
    hn_view to = y->view;
    bool second = hn_view_count(&b->view) > hn_view_count(&a->view);
    const hn_view *like = second ? &b->view : &a->view;
    HN_TRY(like->rank == to.rank ? hn_lower_place_like(L, &to, like, err)
                                 : hn_lower_place(L, &to, NULL, err));
    hn_binary_q8 p = {.space = space_of(&to, 3),
                      .kind = multiply ? HN_BINARY_Q8_MUL : HN_BINARY_Q8_ADD,
                      .a = hn_quant_type(a->view.dtype),
                      .b = hn_quant_type(b->view.dtype),
                      .y = hn_quant_type(to.dtype),
                      .az = (int32_t)hn_quant_zero(a, 0),
                      .bz = (int32_t)hn_quant_zero(b, 0),
                      .yz = (int32_t)hn_quant_zero(y, 0),
                      .lo = hn_quant_of(y, lo),
                      .hi = hn_quant_of(y, hi),
                      .ma = hn_requant_scale(sa, multiply ? sb : 1, sy),
                      .mb = hn_requant_scale(minus ? -sb : sb, 1, sy)};
    walk(&p.space, HN_BINARY_Q8_A, to.rank, &a->view);
    walk(&p.space, HN_BINARY_Q8_B, to.rank, &b->view);
    walk(&p.space, HN_BINARY_Q8_Y, to.rank, &to);
    HN_TRY(hn_lower_step(L, op, &hn_binary_q8_family, &p, sizeof p, out, err));
    hn_step_reads(*out, HN_BINARY_Q8_A, &a->view);
    hn_step_reads(*out, HN_BINARY_Q8_B, &b->view);
    hn_step_writes(*out, HN_BINARY_Q8_Y, &to);
    (*out)->facts->bytes = bytes_of(&a->view) + bytes_of(&b->view) + bytes_of(&to);
    (*out)->facts->flops = 3 * (double)hn_view_count(&to);
    hn_lower_set(L, last, 0, &to, *out);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_chain_binary(hn_lower *L, const hn_quant_chain *c, bool *done, hn_error *err) {
    hn_quant a, b, y;
    const char *why = hn_quant_input(L, c->op, 0, false, &a);
    if (why == NULL) why = hn_quant_input(L, c->op, 1, false, &b);
    if (why == NULL) why = hn_quant_output(c->quantize, 1, 2, &y);
    if (why != NULL) HN_DECLINE(L, why);
    hn_step *s;
    HN_TRY(lower_binary(L, c->op, c->quantize, &a, &b, &y, c->lo, c->hi, &s, done, err));
    return *done ? hn_quant_absorb(L, s, c, err) : HONE_OK;
}

/* QLinearAdd and QLinearMul. */
hone_status hn_lower_qlinear_binary(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_quant a, b, y;
    const char *why = hn_quant_inputs(L, n, 0, 1, 2, &a);
    if (why == NULL) why = hn_quant_inputs(L, n, 3, 4, 5, &b);
    if (why == NULL) why = hn_quant_output(n, 6, 7, &y);
    if (why == NULL && (a.scale->n != 1 || b.scale->n != 1)) why = "more than one scale";
    if (why != NULL) HN_DECLINE(L, why);
    hn_step *s;
    return lower_binary(L, n, n, &a, &b, &y, -INFINITY, INFINITY, &s, done, err);
}
