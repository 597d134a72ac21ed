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

/* ---- the roles of nodes ---- */

static bool is_f32(const hn_value *v) {
    return v != NULL && v->type.kind == HN_TYPE_TENSOR && v->type.dtype == HONE_DTYPE_F32;
}

static int rank_of(const hn_value *v) { return v->type.shape.rank; }

bool hn_placed_reads(const hn_placed_node *n, int i) {
    const hn_value *v = hn_node_input(n->node, i);
    switch (n->role) {
        case HN_ROLE_NONE: return false;
        case HN_ROLE_ADD:
        case HN_ROLE_SUB:
        case HN_ROLE_MUL:
        case HN_ROLE_JOIN: return v != NULL;
        case HN_ROLE_BIAS: return v->constant == NULL; /* on either side */
        case HN_ROLE_LIMIT: return i == 0 && v->constant == NULL;
        default: return i == 0;
    }
}

static bool moves(const hn_placed_node *n) {
    return n->role == HN_ROLE_MOVE || n->role == HN_ROLE_MAX || n->role == HN_ROLE_JOIN;
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

/* n adds a constant to the result of a matrix product that nothing else reads. */
static bool adds_bias(const hn_placement *p, const hn_node *n) {
    for (int i = 0; n->op->role == HN_ROLE_ADD && i < 2; i++) {
        const hn_value *v = n->inputs[i].value;
        const hn_placed_node *from = maker(p, v);
        if (from != NULL && from->role == HN_ROLE_PRODUCT && hn_used_once(v) &&
            hn_weight_kind_of(from->node) == HN_WEIGHT_MATRIX && hn_bias_of(from->node) == NULL &&
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
            if (hn_weights_of(inner, p->scheme, w, NULL) > 0 || holds_layers(p, inner)) return true;
    return false;
}

static void find_role(hn_placement *p, hn_placed_node *n) {
    hn_node *node = n->node;
    hn_weighted w[2];
    hn_layer_scheme s = hn_scheme_of(p->scheme, node, NULL);
    if (holds_layers(p, node)) {
        n->why = "layers inside it are left alone: only those of the outermost graph are quantized";
        return;
    }
    int n_w = hn_weights_of(node, p->scheme, w, &n->why);
    if (n_w > 0) {
        n->integer = w[0].scheme.kind == HN_LAYER_STATIC;
        if (n->integer) n->role = n_w == 1 ? HN_ROLE_PRODUCT : HN_ROLE_STATE;
        return;
    }
    bool floats = s.kind == HN_LAYER_F32, halves = s.kind < HN_LAYER_WEIGHTS && !floats;
    if (n->why == NULL && s.kind != HN_LAYER_STATIC && !halves && hn_reads_matrix(node))
        n->why = floats ? "left in floats by the scheme" : "no type quantizes its operator";
    if (n->why != NULL || s.kind != HN_LAYER_STATIC || !is_f32(hn_node_output(node, 0))) return;
    hn_role role = hn_def_of(node)->role;
    n->why = role == HN_ROLE_NONE ? "no integer form of it" : hn_refuse_role(node);
    n->integer = n->why == NULL;
    if (n->integer) n->role = adds_bias(p, node) ? HN_ROLE_BIAS : role;
}

/* ---- what runs in integers ---- */

static bool is_input(const hn_value *v) { return v->is_input && v->constant == NULL; }

/* n, which may be NULL, runs in integers to the end. */
static bool gives_integers(const hn_placed_node *n) {
    return n != NULL && n->integer && n->role != HN_ROLE_STATE;
}

/* The result of a product may be read as floats; that of others only in integers. */
static const char *refuse_inputs(const hn_placement *p, const hn_placed_node *n) {
    for (int i = 0; i < n->node->n_inputs; i++) {
        if (!hn_placed_reads(n, i)) continue;
        const hn_value *v = n->node->inputs[i].value;
        const hn_placed_node *from = maker(p, v);
        if (!is_f32(v)) return "an input is not f32";
        if (v->constant != NULL && !v->is_input) {
            if (!hn_placed_is_binary(n)) return "an input is a constant";
        } else if (!gives_integers(from) && !(is_input(v) && v->graph == p->graph)) {
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
            if (to != NULL && to->integer && hn_placed_reads(to, u->index)) return true;
        }
    }
    return false;
}

/* A mean gives so little of what it reads that some have it in integers whoever reads it. */
static bool pays_alone(const hn_placement *p, const hn_placed_node *n) {
    return n->role == HN_ROLE_MEAN && p->scheme->target->apart;
}

/* Takes out what would be an island, until there is none. */
static void settle(hn_placement *p) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < p->n_nodes; i++) {
            hn_placed_node *n = &p->nodes[i];
            if (!n->integer || n->role == HN_ROLE_PRODUCT || n->role == HN_ROLE_STATE) continue;
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
    return from != NULL && from->integer && from->role == HN_ROLE_PRODUCT && hn_used_once(v) &&
           same_shape(v, other) && same_shape(v, n->outputs[0]);
}

/* v, which n reads as input i, is handed over inside one step. */
static bool is_inside(const hn_placement *p, const hn_placed_node *n, const hn_value *v, int i) {
    const hn_placed_node *from = maker(p, v);
    if (!hn_used_once(v)) return false;
    if (from == NULL) return hn_placed_follows(n) && !p->scheme->integer_io;
    if (hn_placed_follows(n)) return !moves(from);
    bool product = from->role == HN_ROLE_PRODUCT || from->role == HN_ROLE_BIAS;
    if (n->role == HN_ROLE_TABLE)
        return product && !p->scheme->target->apart && (n->node->op->traits & HN_ACTIVATION) != 0;
    if (n->role != HN_ROLE_ADD || p->scheme->target->sums_apart) return false;
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
        if (!hn_placed_reads(n, i) || v->constant != NULL || is_inside(p, n, v, i)) continue;
        const hn_placed_node *from = maker(p, v);
        bool moved = from != NULL && from->integer && moves(from);
        if (!moved || p->scheme->target->moves) hold_for(p, v, n);
    }
}

/* What a product, the limit behind it, or a mean gives. */
static void hold_results(hn_placement *p, const hn_placed_node *n) {
    hn_value *v = n->node->outputs[0];
    bool ends = n->role == HN_ROLE_PRODUCT || hn_placed_follows(n) || pays_alone(p, n);
    const hn_placed_node *to = hn_used_once(v) ? reader(p, v->uses) : NULL;
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
    const hn_op_def *op = hn_def_of(v->value->producer);
    v->known = op->least < op->most;
    v->range = (hn_range){op->least, op->most};
}

static void share_scales(hn_placement *p, const hn_placed_node *n) {
    if (!moves(n)) return;
    for (int i = 0; i < n->node->n_inputs; i++)
        if (hn_placed_reads(n, i))
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
    for (int i = 0; i < p->n_nodes; i++) find_role(p, &p->nodes[i]);
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
