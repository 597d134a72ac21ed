/* Recurrent layers with weights in integers. Computed in floats, W and R stand behind
 * DequantizeLinear, as other weights do. With ranges found beforehand they do so too, and X is
 * held (place.h), so that it gets a pair of its own. With ranges found at run time:
 *
 *     y, y_h, y_c = LSTM (x, W, R, ...)                       W [D, 4H, I], R [D, 4H, H]
 *   becomes
 *     y, y_h, y_c = DynamicQuantizeLSTM (x, W_codes, R_codes, ..., W_scale, W_zero, R_scale,
 * R_zero)
 *
 * of com.microsoft, whose weights are turned, [D, I, 4H] and [D, H, 4H], with a scale for each
 * direction and row, or for each direction. It brings x and h to 8 bits by their ranges.
 */
#include <string.h>

#include "compress/quantizer.h"

enum { X, W, R, BEHIND_WEIGHTS, W_SCALE = 8, R_SCALE = 10, INPUTS = 12, OUTPUTS = 3 };

/* Codes [D, rows, depth] as [D, depth, rows]. */
static hone_status turn(hn_tensor **out, const hn_tensor *from, int64_t dirs, int64_t rows,
                        int64_t depth, hn_allocator *alloc, hn_error *err) {
    int64_t dims[] = {dirs, depth, rows};
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_WEIGHTS, from->dtype, 3, dims, err));
    for (int64_t i = 0; i < from->n; i++) {
        int64_t d = i / (rows * depth), row = i / depth % rows, k = i % depth;
        hn_copy_element(from->dtype, (*out)->data, (d * depth + k) * rows + row, from->data, i);
    }
    return HONE_OK;
}

/* Scales or zero points as [D, rows]; or [D], where there is one for all. NULL: zeros of 0. */
static hone_status spread(hn_tensor **out, const hn_tensor *from, hone_dtype type, int64_t dirs,
                          int64_t rows, bool each, hn_allocator *alloc, hn_error *err) {
    int64_t dims[] = {dirs, rows};
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_WEIGHTS, type, each ? 2 : 1, dims, err));
    memset((*out)->data, 0, (*out)->bytes);
    for (int64_t i = 0; from != NULL && i < (*out)->n; i++)
        hn_copy_element(type, (*out)->data, i, from->data, each ? i : 0);
    return HONE_OK;
}

/* The weight's codes, scales and zero points as inputs of `to`. */
static hone_status write_weight(hn_quantizer *q, const hn_weighted *w, hn_node *to, int scale_at,
                                hn_error *err) {
    hn_tensor *t = w->weight->constant;
    const char *name = w->weight->name;
    int64_t dirs = t->dims[0], rows = t->dims[1], depth = t->dims[2];
    hn_allocator *alloc = q->m->alloc;
    hn_tensor *matrix, *codes = NULL, *made[3] = {NULL};
    hn_grid g = {0};
    hn_value *v[3];
    HN_TRY(hn_tensor_create_view(&matrix, t, 2, (int64_t[]){dirs * rows, depth}, err));
    hone_status status = hn_grid_create(&g, matrix, &w->scheme.weights, 0, 1, q->pool, alloc, err);
    if (status == HONE_E_MODEL) hn_error_context(err, "weight '%s'", name);
    if (status == HONE_OK) status = hn_grid_codes(&g, matrix, q->pool, alloc, &codes, err);
    bool each = status == HONE_OK && g.scale->rank > 0;
    if (status == HONE_OK) status = turn(&made[0], codes, dirs, rows, depth, alloc, err);
    if (status == HONE_OK)
        status = spread(&made[1], g.scale, HONE_DTYPE_F32, dirs, rows, each, alloc, err);
    if (status == HONE_OK)
        status = spread(&made[2], g.zero, g.type.dtype, dirs, rows, each, alloc, err);
    if (status == HONE_OK) hn_quantizer_count(q, matrix, &g, false);
    static const char *const suffix[] = {"_codes", "_scale", "_zero"};
    for (int i = 0; i < 3 && status == HONE_OK; i++) {
        status = hn_quantizer_constant(&v[i], q, name, suffix[i], made[i], err);
        made[i] = NULL;
    }
    for (int i = 0; i < 3; i++) hn_tensor_unref(made[i]);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    hn_tensor_unref(matrix);
    HN_TRY(status);
    hn_node_set_input(to, w->index, v[0]);
    hn_node_set_input(to, scale_at, v[1]);
    hn_node_set_input(to, scale_at + 1, v[2]);
    return HONE_OK;
}

/* The node gives way to one with its name, attributes, other inputs and outputs. */
static void replace(hn_node *node, hn_node *by) {
    by->attrs = node->attrs;
    node->attrs = NULL;
    hn_node_set_input(by, X, node->inputs[X].value);
    for (int i = BEHIND_WEIGHTS; i < node->n_inputs && i < W_SCALE; i++)
        hn_node_set_input(by, i, node->inputs[i].value);
    for (int i = 0; i < node->n_outputs && i < OUTPUTS; i++) {
        hn_value *y = node->outputs[i];
        hn_node_set_output(node, i, NULL);
        if (y != NULL) hn_node_set_output(by, i, y);
    }
    hn_node_insert(by, node);
    hn_node_remove(node);
    hn_node_remove_attr(by, "layout");
}

hone_status hn_quantizer_recurrent(hn_quantizer *q, const hn_weighted w[2], hn_error *err) {
    static const char domain[] = "com.microsoft";
    hn_node *by, *node = w[0].node;
    const char *op = node->op->weights->dynamic;
    if (w[0].scheme.kind != HN_LAYER_DYNAMIC) {
        HN_TRY(hn_quantizer_layer(q, &w[0], false, err));
        return hn_quantizer_layer(q, &w[1], false, err);
    }
    HN_TRY(hn_node_create(&by, q->g, domain, op, node->name, INPUTS, OUTPUTS, err));
    by->op = hn_op_find(domain, op);
    if (hn_model_opset(q->m, domain) == 0) HN_TRY(hn_model_set_opset(q->m, domain, 1, err));
    HN_TRY(write_weight(q, &w[0], by, W_SCALE, err));
    HN_TRY(write_weight(q, &w[1], by, R_SCALE, err));
    replace(node, by);
    hn_quantizer_drop(w[0].weight);
    hn_quantizer_drop(w[1].weight);
    return HONE_OK;
}
