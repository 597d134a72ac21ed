#include "compress/place.h"

#include <string.h>

#include "ops/nodes.h"

/* ---- targets ---- */

static const hn_quant_target targets[] = {
#define HN_QUANT_TARGET(name_, help_, ...) {.name = #name_, .help = help_, __VA_ARGS__},
#include "compress/targets.def"
#undef HN_QUANT_TARGET
};

int hn_quant_target_count(void) { return (int)(sizeof targets / sizeof *targets); }

const hn_quant_target *hn_quant_target_at(int i) { return &targets[i]; }

const hn_quant_target *hn_quant_target_named(const char *name) {
    for (int i = 0; i < hn_quant_target_count(); i++)
        if (strcmp(targets[i].name, name) == 0) return &targets[i];
    return NULL;
}

hn_qtype hn_quant_target_type(const hn_quant_target *t, hn_qtype type) {
    if (!t->symmetric) return type;
    type.symmetric = true;
    if (type.dtype == HONE_DTYPE_U8) type.dtype = HONE_DTYPE_S8;
    if (type.dtype == HONE_DTYPE_U16) type.dtype = HONE_DTYPE_S16;
    return type;
}

/* ---- parts ---- */

static const struct {
    const char *op;
    hn_part part;
} parts[] = {
    {"Abs", HN_PART_TABLE},
    {"Add", HN_PART_SUM},
    {"AveragePool", HN_PART_MEAN},
    {"Clip", HN_PART_LIMIT},
    {"Concat", HN_PART_JOIN},
    {"DepthToSpace", HN_PART_MOVE},
    {"Elu", HN_PART_TABLE},
    {"Exp", HN_PART_TABLE},
    {"Expand", HN_PART_MOVE},
    {"Flatten", HN_PART_MOVE},
    {"Gelu", HN_PART_TABLE},
    {"GlobalAveragePool", HN_PART_MEAN},
    {"GlobalMaxPool", HN_PART_MOVE},
    {"HardSigmoid", HN_PART_TABLE},
    {"HardSwish", HN_PART_TABLE},
    {"LeakyRelu", HN_PART_TABLE},
    {"MaxPool", HN_PART_MOVE},
    {"Mul", HN_PART_SUM},
    {"Neg", HN_PART_TABLE},
    {"Pad", HN_PART_MOVE},
    {"ReduceMean", HN_PART_MEAN},
    {"Relu", HN_PART_LIMIT},
    {"Reshape", HN_PART_MOVE},
    {"Resize", HN_PART_MOVE},
    {"Sigmoid", HN_PART_TABLE},
    {"Slice", HN_PART_MOVE},
    {"SpaceToDepth", HN_PART_MOVE},
    {"Split", HN_PART_MOVE},
    {"Sqrt", HN_PART_TABLE},
    {"Squeeze", HN_PART_MOVE},
    {"Sub", HN_PART_SUM},
    {"Swish", HN_PART_TABLE},
    {"Tanh", HN_PART_TABLE},
    {"Tile", HN_PART_MOVE},
    {"Transpose", HN_PART_MOVE},
    {"Unsqueeze", HN_PART_MOVE},
};

hn_part hn_part_named(const hn_node *n) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (hn_is(n, parts[i].op)) return parts[i].part;
    return HN_PART_NONE;
}

static bool is_f32(const hn_value *v) {
    return v != NULL && v->type.kind == HN_TYPE_TENSOR && v->type.dtype == HONE_DTYPE_F32;
}

static int rank_of(const hn_value *v) { return v->type.shape.rank; }

/* The mean of each channel's image. */
static bool means_images(const hn_node *n) {
    int rank = rank_of(n->inputs[0].value);
    uint32_t axes;
    if (rank != 3 && rank != 4) return false;
    return !hn_is(n, "ReduceMean") ||
           (hn_const_axes(n, 1, rank, &axes) && axes == (1u << rank) - 4u);
}

/* What is added to the elements that n moves is 0, if anything. */
static bool pads_zeros(const hn_node *n) {
    double v;
    return !hn_attr_is(n, "mode", "constant") || hn_node_input(n, 2) == NULL ||
           (hn_const_scalar(n, 2, &v) && v == 0);
}

/* Why n, of that part, has no form of it that runs in integers; NULL: it has. */
static const char *refuse_part(const hn_node *n, hn_part part) {
    if (part == HN_PART_MEAN && !means_images(n)) return "a mean over other axes than an image's";
    if (hn_is(n, "MaxPool") && hn_node_output(n, 1) != NULL)
        return "the places of the maxima are wanted";
    if (hn_is(n, "Pad") && !pads_zeros(n)) return "it adds other numbers than 0";
    if (hn_is(n, "Resize") &&
        (!hn_attr_is(n, "mode", "nearest") ||
         hn_attr_is(n, "coordinate_transformation_mode", "tf_crop_and_resize")))
        return "it interpolates";
    if (hn_is(n, "Clip"))
        for (int i = 1; i < 3; i++)
            if (hn_node_input(n, i) != NULL && hn_const_in(n, i) == NULL)
                return "its limits are computed";
    return NULL;
}

bool hn_part_reads(const hn_placed_node *n, int i) {
    const hn_value *v = hn_node_input(n->node, i);
    switch (n->part) {
        case HN_PART_NONE: return false;
        case HN_PART_SUM:
        case HN_PART_JOIN: return v != NULL;
        case HN_PART_LIMIT: /* a bias has its constant on either side */
            return i == 0 ? v->constant == NULL : hn_is(n->node, "Add") && v->constant == NULL;
        default: return i == 0;
    }
}

static hn_placed_node *maker(const hn_placement *p, const hn_value *v) {
    if (v == NULL || v->graph != p->graph || p->made_by[v->id] < 0) return NULL;
    return &p->nodes[p->made_by[v->id]];
}

static hn_placed_node *reader(const hn_placement *p, const hn_use *u) {
    if (u->node == NULL || u->node->graph != p->graph) return NULL;
    for (int k = 0; k < u->node->n_outputs; k++)
        if (u->node->outputs[k] != NULL) return maker(p, u->node->outputs[k]);
    return NULL;
}

static bool used_once(const hn_value *v) { return v->n_uses == 1 && v->uses->node != NULL; }

/* n adds a constant to the result of a matrix product that nothing else reads. */
static bool adds_bias(const hn_placement *p, const hn_node *n) {
    for (int i = 0; hn_is(n, "Add") && i < 2; i++) {
        const hn_value *v = n->inputs[i].value;
        const hn_placed_node *from = maker(p, v);
        if (from != NULL && from->part == HN_PART_PRODUCT && used_once(v) &&
            (hn_is(from->node, "MatMul") ||
             (hn_is(from->node, "Gemm") && hn_node_input(from->node, 2) == NULL)) &&
            hn_const_in(n, 1 - i) != NULL && hn_const_in(n, 1 - i)->rank == 1)
            return true;
    }
    return false;
}

/* A graph inside n, a branch or the body of a loop, has layers that the scheme asks for. */
static bool holds_layers(const hn_placement *p, const hn_node *n) {
    int at = 0;
    hn_weighted w[2];
    for (hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
        for (hn_node *inner = sub->first; inner != NULL; inner = inner->next)
            if (hn_weighted_of(inner, p->scheme, &w[0], NULL) ||
                hn_recurrent_of(inner, p->scheme, w, NULL) || holds_layers(p, inner))
                return true;
    return false;
}

static void find_part(hn_placement *p, hn_placed_node *n) {
    hn_node *node = n->node;
    hn_weighted w, both[2];
    hn_layer_scheme s = hn_scheme_of(p->scheme, node, NULL);
    if (holds_layers(p, node)) {
        n->why = "layers inside it are left alone: only those of the outermost graph are quantized";
        return;
    }
    if (hn_weighted_of(node, p->scheme, &w, &n->why)) {
        n->integer = w.scheme.kind == HN_LAYER_STATIC;
        n->part = n->integer ? HN_PART_PRODUCT : HN_PART_NONE;
        return;
    }
    if (n->why != NULL || hn_recurrent_of(node, p->scheme, both, &n->why)) return;
    bool floats = s.kind == HN_LAYER_F32, halves = s.kind < HN_LAYER_WEIGHTS && !floats;
    if (n->why == NULL && s.kind != HN_LAYER_STATIC && !halves && hn_reads_matrix(node))
        n->why = floats ? "left in floats by the scheme" : "no type quantizes its operator";
    if (n->why != NULL || s.kind != HN_LAYER_STATIC || !is_f32(hn_node_output(node, 0))) return;
    n->part = hn_part_named(node);
    n->why = n->part == HN_PART_NONE ? "no integer form of it" : refuse_part(node, n->part);
    n->integer = n->why == NULL;
    if (!n->integer) n->part = HN_PART_NONE;
    if (n->integer && adds_bias(p, node)) n->part = HN_PART_LIMIT;
}

/* ---- what runs in integers ---- */

static bool is_input(const hn_value *v) { return v->is_input && v->constant == NULL; }

/* The result of a product may be read as floats; that of others only in integers. */
static const char *refuse_inputs(const hn_placement *p, const hn_placed_node *n) {
    for (int i = 0; i < n->node->n_inputs; i++) {
        if (!hn_part_reads(n, i)) continue;
        const hn_value *v = n->node->inputs[i].value;
        const hn_placed_node *from = maker(p, v);
        if (!is_f32(v)) return "an input is not f32";
        if (v->constant != NULL && !v->is_input) {
            if (n->part != HN_PART_SUM) return "an input is a constant";
        } else if (!(from != NULL && from->integer) && !(is_input(v) && v->graph == p->graph)) {
            return "an input is computed in floats";
        }
    }
    return NULL;
}

static bool is_read(const hn_placement *p, const hn_placed_node *n) {
    for (int k = 0; k < n->node->n_outputs; k++) {
        const hn_value *v = n->node->outputs[k];
        if (v == NULL) continue;
        if (v->n_outputs > 0 && p->scheme->integer_io) return true;
        for (const hn_use *u = v->uses; u != NULL; u = u->next) {
            const hn_placed_node *to = reader(p, u);
            if (to != NULL && to->integer && hn_part_reads(to, u->index)) return true;
        }
    }
    return false;
}

/* A mean gives so little of what it reads that some have it in integers whoever reads it. */
static bool pays_alone(const hn_placement *p, const hn_placed_node *n) {
    return n->part == HN_PART_MEAN && p->scheme->target->apart;
}

/* Takes out what would be an island, until there is none. */
static void settle(hn_placement *p) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < p->n_nodes; i++) {
            hn_placed_node *n = &p->nodes[i];
            if (!n->integer || n->part == HN_PART_PRODUCT) continue;
            n->why = refuse_inputs(p, n);
            if (n->why == NULL && !pays_alone(p, n) && !is_read(p, n))
                n->why = "nothing that runs in integers reads it";
            n->integer = n->why == NULL;
            changed |= !n->integer;
        }
    }
}

/* ---- what is held ---- */

hn_placed_value *hn_placed_leader(const hn_placement *p, const hn_value *v) {
    int id = v->id;
    while (p->values[id].same != id) id = p->values[id].same;
    return &p->values[id];
}

static void share(hn_placement *p, const hn_value *a, const hn_value *b) {
    hn_placed_value *x = hn_placed_leader(p, a), *y = hn_placed_leader(p, b);
    y->same = x->value->id; /* of y itself: it leads no more */
}

static bool same_shape(const hn_value *a, const hn_value *b) {
    return rank_of(a) >= 0 && hn_shape_equal(&a->type.shape, &b->type.shape);
}

/* Input i of n, an Add, is the result of a product to which the other input is added. */
static bool joins_product(const hn_placement *p, const hn_node *n, int i) {
    const hn_value *v = n->inputs[i].value, *other = n->inputs[1 - i].value;
    const hn_placed_node *from = maker(p, v);
    return from != NULL && from->integer && from->part == HN_PART_PRODUCT && used_once(v) &&
           same_shape(v, other) && same_shape(v, n->outputs[0]);
}

/* A function that kernels apply to what they have just computed. */
static bool is_activation(const hn_node *n) {
    return !hn_is(n, "Abs") && !hn_is(n, "Exp") && !hn_is(n, "Neg") && !hn_is(n, "Sqrt");
}

/* v, which n reads as input i, is handed over inside one step. */
static bool is_inside(const hn_placement *p, const hn_placed_node *n, const hn_value *v, int i) {
    const hn_placed_node *from = maker(p, v);
    if (!used_once(v)) return false;
    if (from == NULL) return n->part == HN_PART_LIMIT && !p->scheme->integer_io;
    bool product =
        from->part == HN_PART_PRODUCT || (from->part == HN_PART_LIMIT && hn_is(from->node, "Add"));
    if (n->part == HN_PART_LIMIT) return from->part != HN_PART_MOVE && from->part != HN_PART_JOIN;
    if (n->part == HN_PART_TABLE)
        return product && !p->scheme->target->apart && is_activation(n->node);
    if (n->part != HN_PART_SUM || !hn_is(n->node, "Add") || p->scheme->target->sums_apart)
        return false;
    /* Of two products the later one adds the other. */
    if (!joins_product(p, n->node, i)) return false;
    if (!joins_product(p, n->node, 1 - i)) return true;
    return p->made_by[v->id] > p->made_by[n->node->inputs[1 - i].value->id];
}

static void hold(hn_placement *p, hn_value *v, hn_qtype type) {
    hn_placed_value *at = &p->values[v->id];
    if (at->held) return;
    at->type = hn_quant_target_type(p->scheme->target, type);
    at->held = true;
}

static void hold_for(hn_placement *p, hn_value *v, const hn_placed_node *by) {
    hold(p, v, hn_scheme_of(p->scheme, by->node, NULL).activations);
}

static void hold_inputs(hn_placement *p, const hn_placed_node *n) {
    for (int i = 0; i < n->node->n_inputs; i++) {
        hn_value *v = n->node->inputs[i].value;
        if (!hn_part_reads(n, i) || v->constant != NULL || is_inside(p, n, v, i)) continue;
        const hn_placed_node *from = maker(p, v);
        bool moved = from != NULL && from->integer &&
                     (from->part == HN_PART_MOVE || from->part == HN_PART_JOIN);
        if (!moved || p->scheme->target->moves) hold_for(p, v, n);
    }
}

/* What a product, the limit behind it, or a mean gives. */
static void hold_results(hn_placement *p, const hn_placed_node *n) {
    hn_value *v = n->node->outputs[0];
    bool ends = n->part == HN_PART_PRODUCT || n->part == HN_PART_LIMIT || pays_alone(p, n);
    const hn_placed_node *to = used_once(v) ? reader(p, v->uses) : NULL;
    if (ends && !(to != NULL && to->integer && is_inside(p, to, v, v->uses->index)))
        hold_for(p, v, n);
}

static void hold_outputs(hn_placement *p) {
    for (int i = 0; i < p->graph->n_outputs; i++) {
        hn_value *v = p->graph->outputs[i].value;
        if (!is_f32(v) || v->constant != NULL || v->graph != p->graph) continue;
        hn_layer_scheme by = p->scheme->layer;
        if (by.kind != HN_LAYER_STATIC && v->producer != NULL)
            by = hn_scheme_of(p->scheme, v->producer, NULL);
        if (by.kind == HN_LAYER_STATIC) hold(p, v, by.activations);
    }
}

/* Ranges that need no data. */
static void know_range(hn_placed_value *v) {
    const hn_node *n = v->value->producer;
    v->known = true;
    if (hn_is(n, "Sigmoid") || hn_is(n, "HardSigmoid") || hn_is(n, "Softmax"))
        v->range = (hn_range){0, 1};
    else if (hn_is(n, "Tanh"))
        v->range = (hn_range){-1, 1};
    else
        v->known = false;
}

static void share_scales(hn_placement *p, const hn_placed_node *n) {
    if (n->part != HN_PART_MOVE && n->part != HN_PART_JOIN) return;
    for (int i = 0; i < n->node->n_inputs; i++)
        if (hn_part_reads(n, i))
            for (int k = 0; k < n->node->n_outputs; k++)
                if (n->node->outputs[k] != NULL)
                    share(p, n->node->inputs[i].value, n->node->outputs[k]);
}

static hone_status allocate(hn_placement *p, hn_arena *arena, hn_error *err) {
    size_t values = (size_t)p->graph->n_values + 1;
    p->nodes = hn_arena_array(arena, (size_t)p->graph->n_nodes + 1, sizeof *p->nodes);
    p->values = hn_arena_array(arena, values, sizeof *p->values);
    p->made_by = hn_arena_array(arena, values, sizeof *p->made_by);
    if (p->nodes == NULL || p->values == NULL || p->made_by == NULL) return HN_NOMEM(err);
    for (int i = 0; i < p->graph->n_values; i++) {
        p->values[i] = (hn_placed_value){.value = p->graph->values[i], .same = i};
        p->made_by[i] = -1;
    }
    return HONE_OK;
}

hone_status hn_place(hn_placement *p, hn_graph *g, const hn_scheme *s, hn_arena *arena,
                     hn_error *err) {
    *p = (hn_placement){.scheme = s, .graph = g};
    HN_TRY(allocate(p, arena, err));
    for (hn_node *n = g->first; n != NULL; n = n->next) {
        for (int k = 0; k < n->n_outputs; k++)
            if (n->outputs[k] != NULL) p->made_by[n->outputs[k]->id] = p->n_nodes;
        p->nodes[p->n_nodes++].node = n;
    }
    for (int i = 0; i < p->n_nodes; i++) find_part(p, &p->nodes[i]);
    settle(p);
    for (int i = 0; i < p->n_nodes; i++) {
        if (!p->nodes[i].integer) continue;
        hold_inputs(p, &p->nodes[i]);
        if (s->target->apart) hold_results(p, &p->nodes[i]);
        share_scales(p, &p->nodes[i]);
    }
    if (s->integer_io) hold_outputs(p);
    for (int i = 0; i < g->n_values; i++)
        if (p->values[i].held) know_range(&p->values[i]);
    return HONE_OK;
}
