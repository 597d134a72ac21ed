/* Models made of the steps of two: parts that take some values from outside, and hybrids. */
#include "measure/pairs.h"
#include "ops/infer.h"

static const hn_value *value_of(const hn_pair *pair, hn_side side) {
    return side == HN_SIDE_A ? pair->a : pair->b;
}

/* ---- nodes that turn one form of a value into another ---- */

static hone_status add_node(hn_graph *g, const char *op, hn_value *const *in, int n_in,
                            const char *hint, hn_value **out, hn_error *err) {
    hn_node *n;
    hn_value *v;
    HN_TRY(hn_node_create(&n, g, "", op, "", n_in, 1, err));
    hn_node_insert(n, NULL);
    n->op = hn_op_find("", op);
    n->opset = INT64_MAX;
    for (int i = 0; i < n_in; i++) hn_node_set_input(n, i, in[i]);
    HN_TRY(hn_value_create(&v, g, NULL, hint, err));
    hn_node_set_output(n, 0, v);
    *out = v;
    return HONE_OK;
}

static hone_status cast(hn_graph *g, hn_value *v, hone_dtype to, hn_value **out, hn_error *err) {
    HN_TRY(add_node(g, "Cast", &v, 1, v->name, out, err));
    return hn_node_set_i((*out)->producer, "to", to, err);
}

/* Between A's floats and B's form of them: QuantizeLinear or DequantizeLinear for integers, Cast
 * for floats of another width. g is a copy of B's graph. */
static hone_status convert(hn_graph *g, const hn_pair *pair, bool to_b, hn_value *v, hn_value **out,
                           hn_error *err) {
    hone_dtype a = pair->a->type.dtype, b = pair->b->type.dtype;
    *out = v;
    if (pair->scale == NULL) return a == b ? HONE_OK : cast(g, v, to_b ? b : a, out, err);
    hone_dtype scale = pair->scale->type.dtype;
    hn_value *in[3] = {v, hn_graph_value(g, pair->scale->name), NULL};
    if (pair->zero != NULL) in[2] = hn_graph_value(g, pair->zero->name);
    if (to_b && a != scale) HN_TRY(cast(g, v, scale, &in[0], err));
    HN_TRY(add_node(g, to_b ? "QuantizeLinear" : "DequantizeLinear", in, in[2] != NULL ? 3 : 2,
                    v->name, out, err));
    return to_b || a == scale ? HONE_OK : cast(g, *out, a, out, err);
}

/* ---- parts ---- */

typedef struct maker {
    const hn_pairs *p;
    hn_side side;
    hn_model *copy;   /* of that side */
    hn_value **own;   /* by pair: what the copy computes */
    hn_value **given; /* by pair: the input that comes from outside, or NULL */
} maker;

static hone_status make_input(const maker *k, int i, const hn_tensor *like, hn_error *err) {
    hn_graph *g = k->copy->graph;
    const hn_pair *pair = &k->p->v[i];
    hn_value *v, *as;
    HN_TRY(hn_value_create(&v, g, NULL, pair->a->name, err));
    v->type.kind = HN_TYPE_TENSOR;
    v->type.dtype = like->dtype;
    v->type.shape = hn_shape_of(&k->copy->dims, like->rank, like->dims);
    HN_TRY(hn_graph_add_input(g, v, err));
    k->given[i] = as = v;
    if (k->side == HN_SIDE_B) HN_TRY(convert(g, pair, true, v, &as, err));
    hn_value_replace(k->own[i], as);
    return HONE_OK;
}

static void mark_inputs(const hn_node *n) {
    int at = 0;
    for (int i = 0; i < n->n_inputs; i++)
        if (n->inputs[i].value != NULL && n->inputs[i].value->producer != NULL)
            n->inputs[i].value->producer->mark = 1;
    for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) {
        for (const hn_node *m = sub->first; m != NULL; m = m->next) mark_inputs(m);
        for (int i = 0; i < sub->n_outputs; i++)
            if (sub->outputs[i].value != NULL && sub->outputs[i].value->producer != NULL)
                sub->outputs[i].value->producer->mark = 1;
    }
}

/* The nodes that the outputs depend on. The graph is in order. */
static void find_needed(hn_graph *g, int n_out, const hn_value *const *out, bool *take) {
    int k = g->n_nodes;
    for (hn_node *n = g->first; n != NULL; n = n->next) n->mark = 0;
    for (int i = 0; i < n_out; i++) out[i]->producer->mark = 1;
    for (hn_node *n = g->last; n != NULL; n = n->prev) {
        take[--k] = n->mark != 0;
        if (take[k]) mark_inputs(n);
    }
}

/* What each input of the part takes. */
static hone_status name_inputs(const maker *k, const hn_value *const *sources, hn_part *part,
                               hn_error *err) {
    const hn_graph *g = part->model->graph, *a = k->p->side[HN_SIDE_A].graph;
    part->in = hn_arena_array(&part->model->arena, (size_t)g->n_inputs, sizeof *part->in);
    if (part->in == NULL) return HN_NOMEM(err);
    for (int i = 0; i < g->n_inputs; i++) {
        int at = 0;
        while (at < k->p->n && k->given[at] != sources[i]) at++;
        if (at == k->p->n) {
            for (at = 0; at < a->n_inputs; at++)
                if (strcmp(a->inputs[at]->name, sources[i]->name) == 0) break;
            /* One that only B has keeps its default: there is no such input of A. */
            part->in[i] = ~at;
            continue;
        }
        part->in[i] = at;
        const char *name = k->p->v[at].a->name;
        if (hn_graph_value(g, name) == NULL) HN_TRY(hn_value_rename(g->inputs[i], name, err));
    }
    return HONE_OK;
}

static hone_status take_part(const maker *k, int n_out, const int *out, hn_arena *scratch,
                             hn_allocator *alloc, hn_part *part, hn_error *err) {
    hn_graph *g = k->copy->graph;
    const hn_value **outputs = hn_arena_array(scratch, (size_t)n_out, sizeof *outputs);
    const hn_value *const *sources;
    if (outputs == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n_out; i++) {
        hn_value *v = k->own[out[i]];
        if (k->side == HN_SIDE_B) HN_TRY(convert(g, &k->p->v[out[i]], false, v, &v, err));
        outputs[i] = v;
    }
    HN_TRY(hn_graph_sort(g, NULL, err));
    bool *take = hn_arena_array(scratch, (size_t)g->n_nodes, sizeof *take);
    if (take == NULL) return HN_NOMEM(err);
    find_needed(g, n_out, outputs, take);
    HN_TRY(hn_model_extract(&part->model, &sources, g, take, n_out, outputs, alloc, err));
    hone_status status = name_inputs(k, sources, part, err);
    if (status != HONE_OK) hn_model_destroy(part->model);
    return status;
}

static hone_status make_part(maker *k, const bool *cut, const hn_tensor *const *like, int n_out,
                             const int *out, hn_arena *scratch, hn_allocator *alloc, hn_part *part,
                             hn_error *err) {
    const hn_pairs *p = k->p;
    k->own = hn_arena_array(scratch, (size_t)p->n, sizeof *k->own);
    k->given = hn_arena_array(scratch, (size_t)p->n, sizeof *k->given);
    if (k->own == NULL || k->given == NULL) return HN_NOMEM(err);
    for (int i = 0; i < p->n; i++)
        k->own[i] = hn_graph_value(k->copy->graph, value_of(&p->v[i], k->side)->name);
    for (int i = 0; i < p->n && cut != NULL; i++)
        if (cut[i]) HN_TRY(make_input(k, i, like[i], err));
    return take_part(k, n_out, out, scratch, alloc, part, err);
}

hone_status hn_pairs_part(const hn_pairs *p, hn_side side, const bool *cut,
                          const hn_tensor *const *like, int n_out, const int *out,
                          hn_allocator *alloc, hn_part *part, hn_error *err) {
    maker k = {.p = p, .side = side};
    hn_arena scratch;
    HN_TRY(hn_model_clone(&k.copy, p->side[side].graph->model, alloc, err));
    hn_arena_init(&scratch, alloc, HN_MEM_SCRATCH);
    hone_status status = make_part(&k, cut, like, n_out, out, &scratch, alloc, part, err);
    hn_arena_deinit(&scratch);
    hn_model_destroy(k.copy);
    return status;
}

/* ---- hybrids ---- */

/* What the inputs of A are in a copy of B: its input of that name, or else their default. */
static hone_status copy_inputs(const hn_graph *a, hn_graph *g, hn_value **copies, hn_error *err) {
    for (int i = 0; i < a->n_inputs; i++) {
        const hn_value *v = a->inputs[i];
        hn_value *of_b = hn_graph_value(g, v->name);
        if (of_b != NULL && of_b->is_input)
            copies[v->id] = of_b;
        else
            HN_TRY(hn_value_create_constant(&copies[v->id], g, NULL, v->name,
                                            hn_tensor_ref(v->constant), err));
    }
    return HONE_OK;
}

/* Puts the step of A in the place of that of B. */
static hone_status put_back(const hn_pairs *p, int i, hn_graph *g, hn_value **copies, bool *done,
                            bool *take, bool *reads, hn_error *err) {
    const hn_pair *pair = &p->v[i];
    const hn_graph *a = p->side[HN_SIDE_A].graph;
    memcpy(take, done, (size_t)a->n_nodes * sizeof *take);
    memset(reads, 0, (size_t)p->n * sizeof *reads);
    HN_TRY(hn_pairs_step(p, HN_SIDE_A, i, take, reads, err));
    for (int r = 0; r < p->n; r++) {
        const hn_pair *read = &p->v[r];
        if (!reads[r] || copies[read->a->id] != NULL) continue;
        HN_TRY(
            convert(g, read, false, hn_graph_value(g, read->b->name), &copies[read->a->id], err));
    }
    for (int k = 0; k < a->n_nodes; k++) {
        bool is_new = take[k] && !done[k];
        done[k] |= take[k];
        take[k] = is_new;
    }
    HN_TRY(hn_graph_graft(g, a, take, copies, err));
    hn_value *by;
    HN_TRY(convert(g, pair, true, copies[pair->a->id], &by, err));
    hn_value_replace(hn_graph_value(g, pair->b->name), by);
    return HONE_OK;
}

static hone_status make_hybrid(const hn_pairs *p, const bool *back, hn_model *m, hn_arena *scratch,
                               hn_error *err) {
    const hn_graph *a = p->side[HN_SIDE_A].graph;
    hn_value **copies = hn_arena_array(scratch, (size_t)a->n_values, sizeof *copies);
    bool *done = hn_arena_array(scratch, (size_t)a->n_nodes, sizeof *done);
    bool *take = hn_arena_array(scratch, (size_t)a->n_nodes, sizeof *take);
    bool *reads = hn_arena_array(scratch, (size_t)p->n, sizeof *reads);
    if (copies == NULL || done == NULL || take == NULL || reads == NULL) return HN_NOMEM(err);
    HN_TRY(copy_inputs(a, m->graph, copies, err));
    for (int i = 0; i < p->n; i++)
        if (back[i]) HN_TRY(put_back(p, i, m->graph, copies, done, take, reads, err));
    HN_TRY(hn_graph_sort(m->graph, NULL, err));
    return hn_model_infer(m, NULL, err);
}

hone_status hn_pairs_hybrid(const hn_pairs *p, const bool *back, hn_allocator *alloc,
                            hn_model **out, hn_error *err) {
    hn_model *m;
    hn_arena scratch;
    HN_TRY(hn_model_clone(&m, p->side[HN_SIDE_B].graph->model, alloc, err));
    hn_arena_init(&scratch, alloc, HN_MEM_SCRATCH);
    hone_status status = make_hybrid(p, back, m, &scratch, err);
    hn_arena_deinit(&scratch);
    if (status != HONE_OK)
        hn_model_destroy(m);
    else
        *out = m;
    return status;
}
