/* Products whose activations are quantized by their range at run time:
 *
 *     y = MatMul (x, w)
 *   becomes
 *     q, sx, zx = DynamicQuantizeLinear (x)
 *     i = MatMulInteger (q, w_codes, zx)
 *     y = Cast (i) * (sx * w_scale)                     [+ bias]
 *
 * which ONNX Runtime and hone each take for one step. Gemm likewise, its weight turned as MatMul
 * wants it, and Conv, by ConvInteger.
 *
 * With weights in groups it becomes
 *     y = MatMulNBits <accuracy_level = 4> (x, w_codes, w_scale)               [+ bias]
 * of com.microsoft, which leaves it to the runtime to quantize x, by blocks as long as the groups.
 */
#include <string.h>

#include "compress/quantizer.h"
#include "ops/nodes.h"

/* x, quantized: once for all that read it. */
static hone_status quantize_input(hn_quantizer *q, hn_value *x, hn_node *before, hn_node **out,
                                  hn_error *err) {
    hn_node **at = x->graph == q->g && x->id < q->n_values ? &q->dynamic[x->id] : NULL;
    if (at != NULL && *at != NULL) {
        *out = *at;
        return HONE_OK;
    }
    hn_node *n;
    hn_value *y[3];
    static const char *const suffix[] = {"_quantized", "_scale", "_zero"};
    for (int i = 0; i < 3; i++)
        HN_TRY(hn_value_create(&y[i], q->g, NULL, hn_quantizer_hint(q, x->name, suffix[i]), err));
    HN_TRY(hn_node_create(&n, q->g, "", "DynamicQuantizeLinear", y[0]->name, 1, 3, err));
    n->op = hn_op_find("", "DynamicQuantizeLinear");
    hn_node_set_input(n, 0, x);
    for (int i = 0; i < 3; i++) hn_node_set_output(n, i, y[i]);
    hn_node_insert(n, before);
    if (at != NULL) *at = n;
    *out = n;
    return HONE_OK;
}

/* [a, b] as [b, a]. */
static hone_status turn(hn_tensor **t, hn_allocator *alloc, hn_error *err) {
    hn_tensor *from = *t, *to;
    int64_t rows = from->dims[0], columns = from->dims[1], dims[] = {columns, rows};
    HN_TRY(hn_tensor_create(&to, alloc, HN_MEM_WEIGHTS, from->dtype, 2, dims, err));
    if (to->bytes > 0) memset(to->data, 0, to->bytes);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
            hn_copy_element(from->dtype, to->data, k * rows + i, from->data, i * columns + k);
    hn_tensor_unref(from);
    *t = to;
    return HONE_OK;
}

/* A tensor of one element per channel, as it broadcasts to the result. */
static hone_status along_channels(hn_tensor **t, int spatial, hn_error *err) {
    int64_t dims[HONE_MAX_RANK];
    hn_tensor *view;
    if ((*t)->rank == 0) return HONE_OK;
    dims[0] = (*t)->n;
    for (int i = 0; i < spatial; i++) dims[1 + i] = 1;
    HN_TRY(hn_tensor_create_view(&view, *t, 1 + spatial, dims, err));
    hn_tensor_unref(*t);
    *t = view;
    return HONE_OK;
}

typedef struct parts {
    hn_tensor *codes, *zero, *scale, *bias; /* zero and bias may be NULL */
} parts;

static void parts_deinit(parts *p) {
    hn_tensor_unref(p->codes);
    hn_tensor_unref(p->zero);
    hn_tensor_unref(p->scale);
    hn_tensor_unref(p->bias);
    *p = (parts){0};
}

/* A copy times a factor. */
static hone_status scaled(hn_tensor **out, const hn_tensor *t, float by, hn_allocator *alloc,
                          hn_error *err) {
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, t->rank, t->dims, err));
    for (int64_t i = 0; i < t->n; i++) ((float *)(*out)->data)[i] = (float)hn_tensor_f64(t, i) * by;
    return HONE_OK;
}

static hone_status find_bias(hn_quantizer *q, const hn_weighted *w, int spatial, parts *p,
                             hn_error *err) {
    if (w->bias == NULL) return HONE_OK;
    HN_TRY(scaled(&p->bias, w->bias->constant, w->beta, q->m->alloc, err));
    return along_channels(&p->bias, spatial, err);
}

static hone_status find_parts(hn_quantizer *q, const hn_weighted *w, parts *p, hn_error *err) {
    hn_grid g;
    hn_allocator *alloc = q->m->alloc;
    bool conv = w->kind == HN_WEIGHT_WINDOWS;
    int spatial = conv ? w->weight->constant->rank - 2 : 0;
    HN_TRY(hn_quantizer_grid(q, w, 0, &g, err));
    hone_status status = hn_grid_codes(&g, w->weight->constant, q->pool, alloc, &p->codes, err);
    p->zero = hn_tensor_ref(g.zero);
    if (status == HONE_OK && !conv && w->channel_axis == 0) status = turn(&p->codes, alloc, err);
    if (status == HONE_OK) status = scaled(&p->scale, g.scale, w->alpha, alloc, err);
    if (status == HONE_OK) status = along_channels(&p->scale, spatial, err);
    if (status == HONE_OK) status = find_bias(q, w, spatial, p, err);
    if (status == HONE_OK) hn_quantizer_count(q, w->weight->constant, &g, false);
    hn_grid_deinit(&g);
    return status;
}

static hone_status take(hn_value **out, hn_quantizer *q, const char *name, const char *suffix,
                        hn_tensor **t, hn_error *err) {
    hn_tensor *given = *t;
    *t = NULL;
    return hn_quantizer_constant(out, q, name, suffix, given, err);
}

/* The integer product of quantized x; has the name and attributes of the layer. */
static hone_status write_product(hn_quantizer *q, const hn_weighted *w, const hn_node *x, parts *p,
                                 hn_node **out, hn_error *err) {
    hn_node *node = w->node;
    bool conv = w->kind == HN_WEIGHT_WINDOWS, zero = p->zero != NULL;
    hn_value *in[4] = {x->outputs[0], NULL, x->outputs[2], NULL};
    HN_TRY(take(&in[1], q, w->weight->name, "_codes", &p->codes, err));
    if (zero) HN_TRY(take(&in[3], q, w->weight->name, "_zero", &p->zero, err));
    HN_TRY(hn_quantizer_node(out, q, node->op->weights->dynamic,
                             hn_quantizer_hint(q, node->outputs[0]->name, "_integers"),
                             zero ? 4 : 3, in, node, err));
    (*out)->name = node->name;
    for (const hn_attr *a = node->attrs; conv && a != NULL; a = a->next) {
        if (a->type == HN_ATTR_INT) HN_TRY(hn_node_set_i(*out, a->name, a->u.i, err));
        if (a->type == HN_ATTR_INTS) HN_TRY(hn_node_set_ints(*out, a->name, a->u.ints, a->n, err));
        if (a->type == HN_ATTR_STRING) {
            const char *text = hn_attr_s(node, a->name);
            HN_TRY(hn_node_set_s(*out, a->name, text, err));
        }
    }
    return HONE_OK;
}

/* What is added to the product, times beta. */
static hone_status find_addend(hn_quantizer *q, const hn_weighted *w, parts *p, hn_value **out,
                               hn_error *err) {
    hn_node *node = w->node;
    *out = NULL;
    if (p->bias != NULL) return take(out, q, w->bias->name, "_added", &p->bias, err);
    hn_value *c = w->kind == HN_WEIGHT_MATRIX ? hn_bias_of(node) : NULL;
    float beta = w->beta;
    *out = c;
    if (c == NULL || (beta >= 1 && beta <= 1)) return HONE_OK;
    hn_tensor *t;
    hn_value *in[2] = {c};
    hn_node *mul;
    HN_TRY(hn_tensor_from_f32(&t, q->m->alloc, 0, NULL, &beta, err));
    HN_TRY(hn_quantizer_constant(&in[1], q, node->outputs[0]->name, "_beta", t, err));
    HN_TRY(hn_quantizer_node(&mul, q, "Mul", hn_quantizer_hint(q, c->name, "_added"), 2, in, node,
                             err));
    *out = mul->outputs[0];
    return HONE_OK;
}

/* The layer's node gives way to n, to which what it adds is added. */
static hone_status replace(hn_quantizer *q, const hn_weighted *w, parts *p, hn_node *n,
                           hn_error *err) {
    hn_node *node = w->node;
    hn_value *in[2];
    HN_TRY(find_addend(q, w, p, &in[1], err));
    if (in[1] != NULL) {
        const char *hint = hn_quantizer_hint(q, node->outputs[0]->name, "_sum");
        in[0] = n->outputs[0];
        HN_TRY(hn_quantizer_node(&n, q, "Add", hint, 2, in, node, err));
    }
    hn_value *y = node->outputs[0], *weight = w->weight, *bias = w->bias, *made = n->outputs[0];
    hn_node *turned = node->inputs[w->index].value->producer;
    hn_node_set_output(node, 0, NULL);
    hn_node_set_output(n, 0, NULL);
    hn_node_set_output(n, 0, y);
    hn_value_remove(made);
    hn_node_remove(node);
    if (turned != NULL) hn_prune(turned);
    hn_quantizer_drop(bias);
    hn_quantizer_drop(weight);
    return HONE_OK;
}

static hone_status write_layer(hn_quantizer *q, const hn_weighted *w, parts *p, hn_error *err) {
    hn_node *node = w->node, *x, *product, *n;
    const char *name = node->outputs[0]->name;
    hn_value *input = w->input, *in[2], *scale;
    if (w->transposed) {
        HN_TRY(hn_quantizer_node(&n, q, "Transpose", hn_quantizer_hint(q, input->name, "_turned"),
                                 1, &input, node, err));
        HN_TRY(hn_node_set_ints(n, "perm", (int64_t[]){1, 0}, 2, err));
        input = n->outputs[0];
    }
    HN_TRY(quantize_input(q, input, node, &x, err));
    HN_TRY(write_product(q, w, x, p, &product, err));
    HN_TRY(hn_quantizer_node(&n, q, "Cast", hn_quantizer_hint(q, name, "_cast"), 1,
                             &product->outputs[0], node, err));
    HN_TRY(hn_node_set_i(n, "to", HONE_DTYPE_F32, err));
    hn_value *sums = n->outputs[0];
    HN_TRY(take(&scale, q, w->weight->name, "_scale", &p->scale, err));
    in[0] = x->outputs[1];
    in[1] = scale;
    HN_TRY(hn_quantizer_node(&n, q, "Mul", hn_quantizer_hint(q, name, "_units"), 2, in, node, err));
    in[0] = sums;
    in[1] = n->outputs[0];
    HN_TRY(
        hn_quantizer_node(&n, q, "Mul", hn_quantizer_hint(q, name, "_product"), 2, in, node, err));
    return replace(q, w, p, n, err);
}

/* ---- groups ---- */

/* Bits [i * bits, (i + 1) * bits) of the bytes. */
static void put_code(uint8_t *bytes, int64_t i, int bits, int64_t code) {
    if (bits == 8)
        bytes[i] = (uint8_t)code;
    else
        bytes[i / 2] = (uint8_t)(bytes[i / 2] | code << i % 2 * 4);
}

/* Codes [N, blocks, bytes], scales [N, blocks], zero points [N, bytes]; all count from the least
 * code, and columns that fill up the last block have the zero point. */
static hone_status find_blocks(hn_quantizer *q, const hn_weighted *w, parts *p, hn_error *err) {
    const hn_tensor *t = w->weight->constant;
    hn_grid g;
    hn_tensor *codes;
    hn_allocator *alloc = q->m->alloc;
    HN_TRY(hn_quantizer_grid(q, w, 0, &g, err));
    int bits = hone_dtype_bits(g.type.dtype);
    int64_t k = t->dims[w->sum_axis], n = t->dims[w->channel_axis], group = g.type.group;
    int64_t k_stride = w->sum_axis == 0 ? n : 1, n_stride = w->sum_axis == 0 ? 1 : k;
    int64_t blocks = (k + group - 1) / group, row = (blocks * bits + 7) / 8;
    int64_t middle = hn_dtype_is_signed(g.type.dtype) ? (int64_t)1 << (bits - 1) : 0;
    const int64_t dims[] = {n, blocks, group * bits / 8}, zero_dims[] = {n, row};
    bool zeros = g.zero != NULL || middle == 0;
    hone_status status = hn_grid_codes(&g, t, q->pool, alloc, &codes, err);
    if (status != HONE_OK) codes = NULL;
    if (status == HONE_OK)
        status = hn_tensor_create(&p->codes, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_U8, 3, dims, err);
    if (status == HONE_OK)
        status = hn_tensor_create(&p->scale, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, 2, dims, err);
    if (status == HONE_OK && zeros)
        status =
            hn_tensor_create(&p->zero, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_U8, 2, zero_dims, err);
    if (status == HONE_OK) memset(p->codes->data, 0, p->codes->bytes);
    if (status == HONE_OK && zeros) memset(p->zero->data, 0, p->zero->bytes);
    for (int64_t i = 0; i < n * blocks && status == HONE_OK; i++) {
        int64_t first = i % blocks * group, at = i / blocks * n_stride + first * k_stride;
        hn_grid_point point = hn_grid_at(&g, t, at);
        ((float *)p->scale->data)[i] = point.scale * w->alpha;
        if (zeros)
            put_code((uint8_t *)p->zero->data + i / blocks * row, i % blocks, bits,
                     point.zero + middle);
        for (int64_t j = 0; j < group; j++) {
            int64_t code = first + j < k ? hn_tensor_s64(codes, at + j * k_stride) : point.zero;
            put_code(p->codes->data, i * group + j, bits, code + middle);
        }
    }
    if (status == HONE_OK) status = find_bias(q, w, 0, p, err);
    if (status == HONE_OK) hn_quantizer_count(q, t, &g, false);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    return status;
}

static hone_status write_blocks(hn_quantizer *q, const hn_weighted *w, parts *p, hn_error *err) {
    hn_node *node = w->node, *n;
    const hn_tensor *t = w->weight->constant;
    int64_t group = w->scheme.weights.group;
    int bits = hone_dtype_bits(w->scheme.weights.dtype), n_in = p->zero != NULL ? 4 : 3;
    hn_value *in[4] = {w->input};
    HN_TRY(take(&in[1], q, w->weight->name, "_codes", &p->codes, err));
    HN_TRY(take(&in[2], q, w->weight->name, "_scale", &p->scale, err));
    if (n_in == 4) HN_TRY(take(&in[3], q, w->weight->name, "_zero", &p->zero, err));
    HN_TRY(hn_quantizer_node(&n, q, "MatMulNBits",
                             hn_quantizer_hint(q, node->outputs[0]->name, "_product"), n_in, in,
                             node, err));
    n->name = node->name;
    HN_TRY(hn_node_set_i(n, "K", t->dims[w->sum_axis], err));
    HN_TRY(hn_node_set_i(n, "N", t->dims[w->channel_axis], err));
    HN_TRY(hn_node_set_i(n, "bits", bits, err));
    HN_TRY(hn_node_set_i(n, "block_size", group, err));
    HN_TRY(hn_node_set_i(n, "accuracy_level", 4, err));
    return replace(q, w, p, n, err);
}

hone_status hn_quantizer_dynamic(hn_quantizer *q, const hn_weighted *w, hn_error *err) {
    parts p = {0};
    bool groups = w->scheme.weights.group > 0;
    hone_status status = groups ? find_blocks(q, w, &p, err) : find_parts(q, w, &p, err);
    if (status == HONE_OK)
        status = groups ? write_blocks(q, w, &p, err) : write_layer(q, w, &p, err);
    parts_deinit(&p);
    return status;
}
