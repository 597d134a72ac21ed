/* Activations: a QuantizeLinear and a DequantizeLinear behind every value that is held. */
#include <math.h>

#include "compress/quantizer.h"
#include "ops/nodes.h"

/* The scale and zero point of v, as inputs 1 and 2 of what quantizes it and back. */
static hone_status write_point(hn_quantizer *q, const hn_value *v, hn_value **in, hone_dtype *dtype,
                               hn_error *err) {
    hn_qtype type;
    hn_grid_point p = hn_quantizer_point(q, v, &type);
    *dtype = type.dtype;
    HN_TRY(hn_quantizer_scalar(&in[1], q, hn_quantizer_hint(q, v->name, "_scale"), HONE_DTYPE_F32,
                               (double)p.scale, err));
    return hn_quantizer_scalar(&in[2], q, hn_quantizer_hint(q, v->name, "_zero"), type.dtype,
                               p.zero, err);
}

/* An input of the model keeps its name, and its type unless that is to be one of integers. */
static hone_status write_input(hn_quantizer *q, hn_value *v, hn_error *err) {
    hn_value *in[3];
    hone_dtype dtype;
    hn_node *first = q->g->first, *limit, *quantize = NULL, *back;
    HN_TRY(write_point(q, v, in, &dtype, err));
    HN_TRY(hn_quantizer_limit(q, v, first, &limit, err));
    in[0] = limit != NULL ? limit->outputs[0] : NULL;
    if (!q->s->integer_io)
        HN_TRY(hn_quantizer_node(&quantize, q, "QuantizeLinear",
                                 hn_quantizer_hint(q, v->name, "_quantized"), 3, in, first, err));
    in[0] = quantize != NULL ? quantize->outputs[0] : NULL;
    HN_TRY(hn_quantizer_node(&back, q, "DequantizeLinear",
                             hn_quantizer_hint(q, v->name, "_dequantized"), 3, in, first, err));
    hn_value_replace(v, back->outputs[0]);
    hn_node_set_input(limit != NULL ? limit : quantize != NULL ? quantize : back, 0, v);
    if (quantize != NULL) return HONE_OK;
    v->type.dtype = dtype;
    v->stated = NULL;
    return HONE_OK;
}

/* Other values keep their names for what is read, the dequantized numbers; outputs of the model
 * that are to be integers, for those. */
static hone_status write_pair(hn_quantizer *q, hn_value *v, hn_error *err) {
    hn_value *in[3], *floats;
    hone_dtype dtype;
    hn_node *next = v->producer->next, *limit, *quantize, *back;
    bool output = q->s->integer_io && v->n_outputs > 0;
    HN_TRY(write_point(q, v, in, &dtype, err));
    HN_TRY(hn_value_create(&floats, q->g, NULL, hn_quantizer_hint(q, v->name, "_float"), err));
    floats->type = v->type;
    HN_TRY(hn_quantizer_limit(q, v, next, &limit, err));
    if (limit != NULL) hn_node_set_input(limit, 0, floats);
    in[0] = limit != NULL ? limit->outputs[0] : floats;
    HN_TRY(hn_quantizer_node(&quantize, q, "QuantizeLinear",
                             hn_quantizer_hint(q, v->name, "_quantized"), 3, in, next, err));
    if (output && v->n_uses == v->n_outputs) {
        hn_quantizer_hand_over(v, quantize, floats);
    } else {
        in[0] = quantize->outputs[0];
        HN_TRY(hn_quantizer_node(&back, q, "DequantizeLinear",
                                 hn_quantizer_hint(q, v->name, "_dequantized"), 3, in, next, err));
        if (output) {
            hn_value *dequantized = back->outputs[0];
            hn_value_replace(v, dequantized);
            for (int i = 0; i < q->g->n_outputs; i++)
                if (q->g->outputs[i].value == dequantized) hn_graph_set_output(q->g, i, v);
            hn_node_set_input(back, 0, v);
            hn_quantizer_hand_over(v, quantize, floats);
        } else {
            hn_quantizer_hand_over(v, back, floats);
        }
    }
    if (!output) return HONE_OK;
    v->type.dtype = dtype;
    v->stated = NULL;
    return HONE_OK;
}

/* ---- limits that quantizing does the work of ---- */

static bool is_idle(const hn_quantizer *q, const hn_node *n) {
    hn_qtype type;
    hn_grid_point p = hn_quantizer_point(q, n->outputs[0], &type);
    int32_t least, most;
    hn_qtype_limits(&type, &least, &most);
    double lo, hi;
    if (!n->op->limits(n, &lo, &hi)) return false;
    double slack = 1e-5 * (double)p.scale;
    return (double)hn_grid_value(p, least) >= lo - slack &&
           (double)hn_grid_value(p, most) <= hi + slack;
}

/* x, an input of the model, is held instead of y. */
static void hold_instead(hn_quantizer *q, hn_value *x, hn_value *y) {
    hn_placed_value *at = q->place.values;
    at[x->id].held = true;
    at[y->id].held = false;
    at[x->id].same = y->id;
    hn_value_replace(y, x);
}

/* Behind inputs of the model for all targets: nothing there takes a limit in. */
static void drop_limit(hn_quantizer *q, const hn_placed_node *placed) {
    hn_node *n = placed->node;
    if (!placed->integer || placed->role != HN_ROLE_LIMIT) return;
    hn_value *x = n->inputs[0].value, *y = n->outputs[0];
    if (!q->place.values[y->id].held || q->place.values[x->id].held || x->n_uses != 1 ||
        !(x->producer == NULL || q->s->target->drop_limits) || !is_idle(q, n))
        return;
    hn_node *from = x->producer;
    if (from == NULL) {
        if (y->n_outputs > 0) return; /* the output keeps its name */
        hold_instead(q, x, y);
        hn_node_remove(n);
        return;
    }
    int k = x->out_index;
    hn_node_remove(n);
    hn_node_set_output(from, k, NULL);
    hn_node_set_output(from, k, y);
    hn_value_remove(x);
}

/* ---- all of them ---- */

hone_status hn_quantizer_pairs(hn_quantizer *q, hn_error *err) {
    for (int i = 0; i < q->place.n_nodes; i++) drop_limit(q, &q->place.nodes[i]);
    for (int i = 0; i < q->n_values; i++) {
        hn_value *v = q->place.values[i].value;
        if (!q->place.values[i].held) continue;
        HN_TRY(q->fakes != NULL      ? hn_quantizer_fake_value(q, v, err)
               : v->producer != NULL ? write_pair(q, v, err)
                                     : write_input(q, v, err));
    }
    return HONE_OK;
}
