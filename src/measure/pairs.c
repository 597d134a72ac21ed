#include "measure/pairs.h"

#include <stdio.h>

#include "ops/op.h"
#include "passes/simplify.h"

bool hn_op_stands_for(const hn_node *b, const hn_node *a) {
    if (strcmp(a->op_type, b->op_type) == 0) return true;
    const char *of = b->op != NULL && b->op->quantized != NULL ? b->op->quantized->of : "";
    size_t n = strlen(a->op_type);
    for (const char *at = of; (at = strstr(at, a->op_type)) != NULL; at += n)
        if ((at == of || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    return false;
}

/* ---- the two graphs ---- */

static hone_status describe(hn_pairs *p, hn_pairs_graph *s, const hn_graph *g, hn_error *err) {
    size_t n = (size_t)g->n_values;
    int k = 0;
    s->graph = g;
    s->nodes = hn_arena_array(&p->arena, (size_t)g->n_nodes, sizeof *s->nodes);
    s->place = hn_arena_array(&p->arena, n, sizeof *s->place);
    s->pair = hn_arena_array(&p->arena, n, sizeof *s->pair);
    if (s->nodes == NULL || s->place == NULL || s->pair == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < n; i++) s->place[i] = s->pair[i] = -1;
    for (const hn_node *node = g->first; node != NULL; node = node->next, k++) {
        s->nodes[k] = node;
        for (int i = 0; i < node->n_outputs; i++)
            if (node->outputs[i] != NULL) s->place[node->outputs[i]->id] = k;
    }
    return HONE_OK;
}

static bool has_op(const hn_graph *g, const char *op) {
    for (const hn_node *n = g->first; n != NULL; n = n->next)
        if (n->domain[0] == '\0' && strcmp(n->op_type, op) == 0) return true;
    return false;
}

/* A, or a copy of it with its BatchNormalization folded where B's is. */
static hone_status choose_a(hn_pairs *p, const hn_model *a, const hn_model *b, const hn_graph **out,
                            hn_error *err) {
    *out = a->graph;
    if (!has_op(a->graph, "BatchNormalization") || has_op(b->graph, "BatchNormalization"))
        return HONE_OK;
    HN_TRY(hn_model_clone(&p->folded, a, p->alloc, err));
    hn_simplify_options how = hn_simplify_defaults();
    how.only = "fold_batch_norm";
    HN_TRY(hn_simplify(p->folded, &how, NULL, err));
    *out = p->folded->graph;
    return HONE_OK;
}

static bool same_rank_and_sizes(const hn_type *a, const hn_type *b) {
    int64_t x, y;
    if (a->shape.rank < 0 || b->shape.rank < 0) return true;
    if (a->shape.rank != b->shape.rank) return false;
    for (int i = 0; i < a->shape.rank; i++)
        if (hn_dim_is_const(a->shape.dim[i], &x) && hn_dim_is_const(b->shape.dim[i], &y) && x != y)
            return false;
    return true;
}

static hone_status check_input(const hn_value *a, const hn_graph *b, hn_error *err) {
    const hn_value *v = hn_graph_value(b, a->name);
    if (a->constant != NULL) return HONE_OK;
    HN_CHECK(err, v != NULL && v->is_input, HONE_E_SHAPE,
             "the models take different inputs: the second has no input '%s'", a->name);
    HN_CHECK(err, a->type.dtype == v->type.dtype, HONE_E_TYPE,
             "the models take different inputs: '%s' is %s in the first and %s in the second",
             a->name, hone_dtype_name(a->type.dtype), hone_dtype_name(v->type.dtype));
    HN_CHECK(err, same_rank_and_sizes(&a->type, &v->type), HONE_E_SHAPE,
             "the models take different inputs: the shapes of '%s' differ", a->name);
    return HONE_OK;
}

static hone_status check_inputs(const hn_graph *a, const hn_graph *b, hn_error *err) {
    for (int i = 0; i < a->n_inputs; i++) HN_TRY(check_input(a->inputs[i], b, err));
    for (int i = 0; i < b->n_inputs; i++) {
        const hn_value *v = b->inputs[i], *of_a = hn_graph_value(a, v->name);
        HN_CHECK(err, v->constant != NULL || (of_a != NULL && of_a->is_input), HONE_E_SHAPE,
                 "the models take different inputs: the first has no input '%s'", v->name);
    }
    return HONE_OK;
}

/* ---- matching ---- */

static bool is_float(const hn_value *v) {
    return v->type.kind == HN_TYPE_TENSOR && hn_dtype_is_float(v->type.dtype);
}

/* The value of B of that name, with something before and behind it, if it can stand for a. */
static const hn_value *named(const hn_pairs *p, const hn_value *a, const char *before,
                             const char *behind, bool floats) {
    const hn_pairs_graph *b = &p->side[HN_SIDE_B];
    char name[1024];
    int n = snprintf(name, sizeof name, "%s%s%s", before, a->name, behind);
    const hn_value *v = n < (int)sizeof name ? hn_graph_value(b->graph, name) : NULL;
    if (v == NULL || b->place[v->id] < 0 || b->pair[v->id] >= 0) return NULL;
    if (is_float(v) != floats || !same_rank_and_sizes(&a->type, &v->type)) return NULL;
    return v;
}

static const hn_value *constant_beside(const hn_pairs *p, const hn_value *a, const char *behind) {
    char name[1024];
    int n = snprintf(name, sizeof name, "%s%s", a->name, behind);
    const hn_value *v =
        n < (int)sizeof name ? hn_graph_value(p->side[HN_SIDE_B].graph, name) : NULL;
    return v != NULL && v->constant != NULL ? v : NULL;
}

/* Quantizing cuts at the ends of its range, so quantizers leave out limits that lie there, and give
 * their name to what they were applied to. */
static bool is_clipped_later(const hn_value *a, const hn_value *b) {
    const hn_op_def *op = a->producer->op;
    return op != NULL && op->role == HN_ROLE_LIMIT && op != b->producer->op;
}

static bool match_by_name(const hn_pairs *p, const hn_value *a, hn_pair *out) {
    *out = (hn_pair){.a = a, .b = named(p, a, "", "", true)};
    if (out->b == NULL || is_clipped_later(a, out->b)) {
        const hn_value *behind = named(p, a, "", "_DequantizeLinear_Output", true);
        if (behind != NULL) out->b = behind;
    }
    if (out->b == NULL) out->b = named(p, a, "dq_output_", "_1", true);
    if (out->b != NULL) return true;
    out->b = named(p, a, "", "_quantized", false);
    out->scale = constant_beside(p, a, "_scale");
    out->zero = constant_beside(p, a, "_zero_point");
    return out->b != NULL && out->scale != NULL;
}

/* The output of B's node of the same name as the one that computes a. */
static bool match_by_node(const hn_pairs *p, const hn_map *nodes, const hn_value *a, hn_pair *out) {
    const hn_node *n = a->producer;
    const hn_pairs_graph *b = &p->side[HN_SIDE_B];
    const hn_node *m = n->name[0] != '\0' ? hn_map_get(nodes, n->name, strlen(n->name)) : NULL;
    if (m == NULL || strcmp(m->op_type, n->op_type) != 0) return false;
    const hn_value *v = hn_node_output(m, a->out_index);
    if (v == NULL || b->pair[v->id] >= 0 || !is_float(v) ||
        !same_rank_and_sizes(&a->type, &v->type))
        return false;
    *out = (hn_pair){.a = a, .b = v};
    return true;
}

static void add_pair(hn_pairs *p, const hn_pair *pair) {
    p->side[HN_SIDE_A].pair[pair->a->id] = p->n;
    p->side[HN_SIDE_B].pair[pair->b->id] = p->n;
    p->v[p->n++] = *pair;
}

static bool is_matched(const hn_value *v) { return v != NULL && v->n_uses > 0 && is_float(v); }

/* Pairs by node names are looked for when all by value names are known, then all are put in order.
 */
static hone_status match(hn_pairs *p, const hn_map *nodes, hn_error *err) {
    const hn_pairs_graph *a = &p->side[HN_SIDE_A];
    hn_pair *found = hn_arena_array(&p->arena, (size_t)a->graph->n_values, sizeof *found);
    p->v = hn_arena_array(&p->arena, (size_t)a->graph->n_values, sizeof *p->v);
    p->lost = hn_arena_array(&p->arena, (size_t)a->graph->n_values, sizeof *p->lost);
    if (found == NULL || p->v == NULL || p->lost == NULL) return HN_NOMEM(err);
    for (int by_node = 0; by_node < 2; by_node++)
        for (int k = 0; k < a->graph->n_nodes; k++)
            for (int i = 0; i < a->nodes[k]->n_outputs; i++) {
                const hn_value *v = a->nodes[k]->outputs[i];
                if (!is_matched(v) || found[v->id].b != NULL) continue;
                hn_pair pair;
                if (by_node ? !match_by_node(p, nodes, v, &pair) : !match_by_name(p, v, &pair))
                    continue;
                found[v->id] = pair;
                p->side[HN_SIDE_B].pair[pair.b->id] = 0; /* taken */
            }
    for (int k = 0; k < a->graph->n_nodes; k++)
        for (int i = 0; i < a->nodes[k]->n_outputs; i++) {
            const hn_value *v = a->nodes[k]->outputs[i];
            if (!is_matched(v)) continue;
            if (found[v->id].b != NULL)
                add_pair(p, &found[v->id]);
            else
                p->lost[p->n_lost++] = v;
        }
    return HONE_OK;
}

static hone_status match_all(hn_pairs *p, hn_error *err) {
    const hn_pairs_graph *b = &p->side[HN_SIDE_B];
    hn_map nodes;
    hone_status status = HONE_OK;
    hn_map_init(&nodes, p->alloc);
    for (int k = 0; k < b->graph->n_nodes && status == HONE_OK; k++) {
        const hn_node *n = b->nodes[k];
        if (n->name[0] != '\0' && !hn_map_put(&nodes, n->name, strlen(n->name), (void *)n))
            status = HN_NOMEM(err);
    }
    if (status == HONE_OK) status = match(p, &nodes, err);
    hn_map_deinit(&nodes);
    return status;
}

static hone_status create(hn_pairs *p, const hn_model *a, const hn_model *b, hn_error *err) {
    const hn_graph *of_a;
    HN_TRY(choose_a(p, a, b, &of_a, err));
    HN_TRY(check_inputs(of_a, b->graph, err));
    HN_TRY(describe(p, &p->side[HN_SIDE_A], of_a, err));
    HN_TRY(describe(p, &p->side[HN_SIDE_B], b->graph, err));
    return match_all(p, err);
}

hone_status hn_pairs_create(hn_pairs **out, const hn_model *a, const hn_model *b,
                            hn_allocator *alloc, hn_error *err) {
    hn_pairs *p = hn_alloc_zero(alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    p->alloc = alloc;
    hn_arena_init(&p->arena, alloc, HN_MEM_OTHER);
    hone_status status = create(p, a, b, err);
    if (status != HONE_OK)
        hn_pairs_destroy(p);
    else
        *out = p;
    return status;
}

void hn_pairs_destroy(hn_pairs *p) {
    if (p == NULL) return;
    hn_model_destroy(p->folded);
    hn_arena_deinit(&p->arena);
    hn_free(p->alloc, p);
}

/* ---- steps ---- */

typedef struct walk {
    const hn_pairs_graph *side;
    bool *take, *reads;
    int *stack, n; /* places of nodes whose inputs are still to be looked at */
} walk;

static void reach(walk *w, const hn_value *v) {
    if (v == NULL || v->graph != w->side->graph) return;
    int pair = w->side->pair[v->id], place = w->side->place[v->id];
    if (pair >= 0) {
        if (w->reads != NULL) w->reads[pair] = true;
    } else if (place >= 0 && !w->take[place]) {
        w->take[place] = true;
        w->stack[w->n++] = place;
    }
}

/* What the node uses, in its subgraphs too, whose depth is bounded. */
static void reach_inputs(walk *w, const hn_node *n) {
    int at = 0;
    for (int i = 0; i < n->n_inputs; i++) reach(w, n->inputs[i].value);
    for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) {
        for (const hn_node *m = sub->first; m != NULL; m = m->next) reach_inputs(w, m);
        for (int i = 0; i < sub->n_outputs; i++) reach(w, sub->outputs[i].value);
    }
}

hone_status hn_pairs_step(const hn_pairs *p, hn_side side, int i, bool *take, bool *reads,
                          hn_error *err) {
    const hn_pairs_graph *s = &p->side[side];
    const hn_value *v = side == HN_SIDE_A ? p->v[i].a : p->v[i].b;
    size_t n = (size_t)s->graph->n_nodes;
    walk w = {.side = s, .take = take, .reads = reads};
    bool *own = take == NULL ? hn_alloc_zero(p->alloc, n, HN_MEM_SCRATCH) : NULL;
    w.stack = hn_alloc_array(p->alloc, n, sizeof *w.stack, HN_MEM_SCRATCH);
    if (take == NULL) w.take = own;
    hone_status status = w.stack == NULL || w.take == NULL ? HN_NOMEM(err) : HONE_OK;
    int place = s->place[v->id];
    if (status == HONE_OK && !w.take[place]) {
        w.take[place] = true;
        w.stack[w.n++] = place;
        while (w.n > 0) reach_inputs(&w, s->nodes[w.stack[--w.n]]);
    }
    hn_free(p->alloc, own);
    hn_free(p->alloc, w.stack);
    return status;
}

const hn_node *hn_pairs_node(const hn_pairs *p, const bool *take, const hn_node *of_a) {
    const hn_pairs_graph *b = &p->side[HN_SIDE_B];
    const hn_node *found = NULL;
    for (int k = 0; k < b->graph->n_nodes; k++) {
        if (!take[k] || !hn_op_stands_for(b->nodes[k], of_a)) continue;
        if (found != NULL) return NULL;
        found = b->nodes[k];
    }
    return found;
}
