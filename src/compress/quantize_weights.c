/* Weights and biases as integers behind DequantizeLinear:
 *
 *     w_codes, w_scale, w_zero   one scale, one for each output channel, or groups
 *     b_codes, b_scale           s32 in units of the sums, sx * w_scale
 */
#include <math.h>
#include <string.h>

#include "compress/pack.h"
#include "compress/quantizer.h"
#include "ops/nodes.h"

static hone_status copy_grid(hn_grid *to, const hn_grid *from, hn_allocator *alloc, hn_error *err) {
    *to = *from;
    to->zero = hn_tensor_ref(from->zero);
    to->scale = NULL;
    const hn_tensor *s = from->scale;
    hone_status status =
        hn_tensor_create(&to->scale, alloc, HN_MEM_WEIGHTS, s->dtype, s->rank, s->dims, err);
    if (status != HONE_OK)
        hn_grid_deinit(to);
    else if (s->bytes > 0)
        memcpy(to->scale->data, s->data, s->bytes);
    return status;
}

/* What an attribute of n multiplied by is in the scales now. */
static hone_status drop_factor(hn_node *n, const char *attr, hn_error *err) {
    return hn_op_attr(n->op, attr) != NULL ? hn_node_set_f(n, attr, 1, err) : HONE_OK;
}

/* Scales so large that the bias is at most 2^30 in units of the sums, which a channel of small
 * weights may need. */
static void fit_bias(hn_grid *g, const hn_weighted *w, double unit) {
    const hn_tensor *b = w->bias->constant;
    double beta = (double)w->beta;
    float *scale = g->scale->data;
    if (g->group_axis >= 0 || (g->scale->n != 1 && g->scale->n != b->n)) return;
    for (int64_t i = 0; i < b->n; i++) {
        float *at = &scale[g->scale->n == 1 ? 0 : i];
        double least = fabs(hn_tensor_f64(b, i) * beta) / unit * 0x1p-30;
        if ((double)*at < least) *at = hn_grid_scale(least);
    }
}

hone_status hn_quantizer_grid(hn_quantizer *q, const hn_weighted *w, float sx, hn_grid *g,
                              hn_error *err) {
    hn_qtype type = hn_weighted_type(w);
    const hn_grid *chosen = hn_grids_of(q->grids, w->weight->name, &type);
    hone_status status = chosen != NULL ? copy_grid(g, chosen, q->m->alloc, err)
                                        : hn_weighted_grid(g, w, q->pool, q->m->alloc, err);
    if (status != HONE_OK) {
        if (status != HONE_E_NOMEM) hn_error_context(err, "weight '%s'", w->weight->name);
        return status;
    }
    double unit = (double)sx * (double)w->alpha;
    if (w->bias != NULL && unit > 0) fit_bias(g, w, unit);
    return HONE_OK;
}

/* The zero points to write, in the type of the codes; NULL: none. */
static hone_status zeros_of(hn_quantizer *q, const hn_grid *g, hn_tensor **out, hn_error *err) {
    *out = hn_tensor_ref(g->zero);
    if (g->zero != NULL || !q->s->target->zeros) return HONE_OK;
    HN_TRY(hn_tensor_create(out, q->m->alloc, HN_MEM_WEIGHTS, g->type.dtype, g->scale->rank,
                            g->scale->dims, err));
    if ((*out)->bytes > 0) memset((*out)->data, 0, (*out)->bytes);
    return HONE_OK;
}

/* The inputs of DequantizeLinear: codes, which are taken over, scale and zero points. */
static hone_status write_plain(hn_quantizer *q, const char *name, const hn_grid *g,
                               hn_tensor *codes, hn_value **in, hn_error *err) {
    hn_tensor *zeros;
    HN_TRY(hn_quantizer_constant(&in[0], q, name, "_codes", codes, err));
    HN_TRY(hn_quantizer_constant(&in[1], q, name, "_scale", hn_tensor_ref(g->scale), err));
    HN_TRY(zeros_of(q, g, &zeros, err));
    return zeros != NULL ? hn_quantizer_constant(&in[2], q, name, "_zero", zeros, err) : HONE_OK;
}

/* Likewise, packed to so many bits; the codes are not taken over. */
static hone_status write_packed(hn_quantizer *q, const hn_weighted *w, const hn_grid *g,
                                const hn_tensor *codes, int bits, hn_value **in, hn_error *err) {
    const char *name = w->weight->name;
    hn_tensor *zeros, *scale, *packed;
    HN_TRY(hn_pack_codes(&in[0], q, name, codes, bits, w->node, err));
    HN_TRY(hn_tensor_create(&scale, q->m->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, g->scale->rank,
                            g->scale->dims, err));
    for (int64_t i = 0; i < scale->n; i++)
        ((float *)scale->data)[i] = ((const float *)g->scale->data)[i] / (float)(1 << (8 - bits));
    HN_TRY(hn_quantizer_constant(&in[1], q, name, "_scale", scale, err));
    HN_TRY(zeros_of(q, g, &zeros, err));
    hone_status status = hn_pack_zeros(&packed, zeros, bits, q->m->alloc, err);
    hn_tensor_unref(zeros);
    HN_TRY(status);
    return packed != NULL ? hn_quantizer_constant(&in[2], q, name, "_zero", packed, err) : HONE_OK;
}

static hone_status write_inputs(hn_quantizer *q, const hn_weighted *w, const hn_grid *g,
                                hn_tensor *codes, hn_value **in, hn_error *err) {
    int bits = hn_pack_bits(&g->type, q->s->target);
    if (bits == 0) return write_plain(q, w->weight->name, g, codes, in, err);
    hone_status status = write_packed(q, w, g, codes, bits, in, err);
    hn_tensor_unref(codes);
    return status;
}

/* DequantizeLinear of the weight's codes, and of the factor of the product. */
static hone_status write_codes(hn_quantizer *q, const hn_weighted *w, hn_grid *g, hn_value **floats,
                               hn_error *err) {
    const char *name = w->weight->name;
    hn_tensor *codes;
    hn_value *in[3] = {0};
    HN_TRY(hn_grid_codes(g, w->weight->constant, q->pool, q->m->alloc, &codes, err));
    for (int64_t i = 0; i < g->scale->n; i++) ((float *)g->scale->data)[i] *= w->alpha;
    HN_TRY(write_inputs(q, w, g, codes, in, err));
    hn_node *n;
    HN_TRY(hn_quantizer_node(&n, q, "DequantizeLinear", hn_quantizer_hint(q, name, "_dequantized"),
                             in[2] != NULL ? 3 : 2, in, w->node, err));
    if (g->group_axis >= 0) {
        HN_TRY(hn_node_set_i(n, "axis", g->group_axis, err));
        HN_TRY(hn_node_set_i(n, "block_size", g->type.group, err));
    } else if (g->axis >= 0) {
        HN_TRY(hn_node_set_i(n, "axis", g->axis, err));
    }
    *floats = n->outputs[0];
    return HONE_OK;
}

/* The use of the weight that leads to the layer. */
static hn_use *use_of(const hn_weighted *w) {
    hn_use *u = &w->node->inputs[w->index];
    while (u->value != w->weight) u = &u->value->producer->inputs[0];
    return u;
}

void hn_quantizer_count(hn_quantizer *q, const hn_tensor *w, const hn_grid *g, bool packed) {
    if (q->report == NULL) return;
    int fewest = q->s->simulate ? hn_qtype_stored_bits(&g->type)
                 : packed       ? hn_pack_bits(&g->type, q->s->target)
                                : 0;
    int64_t bits = fewest > 0 ? fewest : hone_dtype_bits(g->type.dtype);
    int64_t codes = w->n * bits, zeros = g->zero != NULL ? g->zero->n * bits : 0;
    q->report->weights += w->n;
    q->report->weight_bits += codes + 32 * g->scale->n + zeros;
    if (q->row != NULL)
        q->row->bytes_after += (codes + 7) / 8 + (int64_t)g->scale->bytes +
                               (g->zero != NULL ? (int64_t)g->zero->bytes : 0);
}

/* Puts the weight into integers; *grid: those that what reads it now has. */
static hone_status write_weight(hn_quantizer *q, const hn_weighted *w, float sx,
                                const hn_grid **grid, hn_error *err) {
    hn_written_weight *at = &q->weights[w->weight->id];
    bool again = at->floats != NULL && at->axis == w->channel_axis && at->alpha == w->alpha &&
                 hn_qtype_equal(&at->type, &w->scheme.weights);
    if (!again) {
        hn_grid_deinit(&at->grid);
        HN_TRY(hn_quantizer_grid(q, w, sx, &at->grid, err));
        if (q->fakes != NULL)
            HN_TRY(hn_quantizer_fake_constant(q, w->weight, &at->grid, w->node, &at->scale,
                                              &at->floats, err));
        else if (q->s->simulate)
            HN_TRY(hn_quantizer_simulate(q, w->weight, &at->grid, &at->floats, err));
        else
            HN_TRY(write_codes(q, w, &at->grid, &at->floats, err));
        at->type = w->scheme.weights;
        at->axis = w->channel_axis;
        at->alpha = w->alpha;
        hn_quantizer_count(q, w->weight->constant, &at->grid, true);
    }
    hn_use *u = use_of(w);
    hn_node_set_input(u->node, u->index, at->floats);
    if (!q->s->simulate && q->fakes == NULL) HN_TRY(drop_factor(w->node, "alpha", err));
    *grid = &at->grid;
    return HONE_OK;
}

/* The bias in units of the sums, which then are those of the weight times sx. */
static hone_status write_bias(hn_quantizer *q, const hn_weighted *w, const hn_grid *g, float sx,
                              hn_error *err) {
    const hn_tensor *b = w->bias->constant;
    if (g->group_axis >= 0 || (g->scale->n != 1 && g->scale->n != b->n)) return HONE_OK;
    if (q->fakes != NULL) return hn_quantizer_fake_bias(q, w, q->weights[w->weight->id].scale, err);
    hn_tensor *codes, *scale;
    HN_TRY(hn_tensor_create(&codes, q->m->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_S32, 1, b->dims, err));
    hone_status status = hn_tensor_create(&scale, q->m->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32,
                                          g->scale->rank, g->scale->dims, err);
    if (status != HONE_OK) {
        hn_tensor_unref(codes);
        return status;
    }
    const float *sw = g->scale->data;
    double beta = (double)w->beta;
    for (int64_t i = 0; i < g->scale->n; i++) ((float *)scale->data)[i] = sx * sw[i];
    for (int64_t i = 0; i < b->n; i++) {
        double unit = (double)sx * (double)sw[g->scale->n == 1 ? 0 : i];
        double code = rint(hn_tensor_f64(b, i) * beta / unit);
        ((int32_t *)codes->data)[i] = (int32_t)fmin(fmax(code, -INT32_MAX), INT32_MAX);
    }
    hn_value *in[2];
    const char *name = w->bias->name;
    status = hn_quantizer_constant(&in[0], q, name, "_codes", codes, err);
    if (status != HONE_OK) {
        hn_tensor_unref(scale);
        return status;
    }
    HN_TRY(hn_quantizer_constant(&in[1], q, name, "_scale", scale, err));
    hn_node *n;
    HN_TRY(hn_quantizer_node(&n, q, "DequantizeLinear", hn_quantizer_hint(q, name, "_dequantized"),
                             2, in, w->node, err));
    if (g->scale->rank == 1) HN_TRY(hn_node_set_i(n, "axis", 0, err));
    hn_node_set_input(w->node, w->node->op->weights->bias, n->outputs[0]);
    return drop_factor(w->node, "beta", err);
}

hone_status hn_quantizer_layer(hn_quantizer *q, const hn_weighted *w, bool integers,
                               hn_error *err) {
    hn_qtype type;
    const hn_grid *g = NULL;
    integers = integers && !q->s->simulate;
    float sx = integers ? hn_quantizer_point(q, w->input, &type).scale : 0;
    hn_value *bias = w->bias, *weight = w->weight;
    HN_TRY(write_weight(q, w, sx, &g, err));
    if (bias != NULL && integers && q->s->target->bias) HN_TRY(write_bias(q, w, g, sx, err));
    hn_quantizer_drop(bias);
    hn_quantizer_drop(weight);
    return HONE_OK;
}

/* A constant that is added or multiplied, in integers of its own. */
static hone_status write_operand(hn_quantizer *q, hn_node *n, int i, hn_error *err) {
    hn_value *v = n->inputs[i].value, *in[3] = {0};
    hn_qtype type = hn_quant_target_type(q->s->target, hn_scheme_of(q->s, n, NULL).activations);
    hn_grid g;
    hn_tensor *codes;
    type.per_channel = false;
    type.group = 0;
    const hn_grid *chosen = hn_grids_of(q->grids, v->name, &type);
    if (chosen != NULL)
        HN_TRY(copy_grid(&g, chosen, q->m->alloc, err));
    else
        HN_TRY(hn_grid_create(&g, v->constant, &type, 0, 0, q->pool, q->m->alloc, err));
    if (q->fakes != NULL) {
        hn_value *scale, *floats = NULL;
        hone_status made = hn_quantizer_fake_constant(q, v, &g, n, &scale, &floats, err);
        hn_grid_deinit(&g);
        if (made == HONE_OK) hn_node_set_input(n, i, floats);
        return made;
    }
    hone_status status = hn_grid_codes(&g, v->constant, q->pool, q->m->alloc, &codes, err);
    if (status == HONE_OK) status = hn_quantizer_constant(&in[0], q, v->name, "_codes", codes, err);
    if (status == HONE_OK)
        status = hn_quantizer_constant(&in[1], q, v->name, "_scale", hn_tensor_ref(g.scale), err);
    if (status == HONE_OK && g.zero != NULL)
        status = hn_quantizer_constant(&in[2], q, v->name, "_zero", hn_tensor_ref(g.zero), err);
    int n_in = g.zero != NULL ? 3 : 2;
    hn_grid_deinit(&g);
    HN_TRY(status);
    hn_node *back;
    HN_TRY(hn_quantizer_node(&back, q, "DequantizeLinear",
                             hn_quantizer_hint(q, v->name, "_dequantized"), n_in, in, n, err));
    hn_node_set_input(n, i, back->outputs[0]);
    hn_quantizer_drop(v);
    return HONE_OK;
}

hone_status hn_quantizer_operands(hn_quantizer *q, const hn_placed_node *n, hn_error *err) {
    if (!n->integer || !hn_placed_is_binary(n)) return HONE_OK;
    for (int i = 0; i < n->node->n_inputs; i++)
        if (n->node->inputs[i].value->constant != NULL) HN_TRY(write_operand(q, n->node, i, err));
    return HONE_OK;
}
