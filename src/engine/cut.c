#include "engine/cut.h"

#include "base/log.h"
#include "base/size.h"
#include "ops/op.h"

/* What is worked out before anything is copied. */
typedef struct plan {
    const hn_graph *graph;
    hn_part_kind *node;  /* by place of a node */
    hn_part_kind *value; /* by id: the part that makes it; head for inputs and constants */
    int *slot;           /* by id: -1, or where it waits for a later part */
    int n_slots;
} plan;

/* ---- which part a node is of ---- */

/* Calls f with every value of g itself that n or its subgraphs use. */
static void each_use(const hn_graph *g, const hn_node *n, void (*f)(void *ctx, const hn_value *v),
                     void *ctx) {
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_value *v = n->inputs[i].value;
        if (v != NULL && v->graph == g) f(ctx, v);
    }
    int at = 0;
    for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) {
        for (const hn_node *m = sub->first; m != NULL; m = m->next) each_use(g, m, f, ctx);
        for (int i = 0; i < sub->n_outputs; i++)
            if (sub->outputs[i].value->graph == g) f(ctx, sub->outputs[i].value);
    }
}

static bool is_random(const hn_node *n) {
    if (n->op != NULL && (n->op->traits & HN_RANDOM) != 0) return true;
    int at = 0;
    for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
        for (const hn_node *m = sub->first; m != NULL; m = m->next)
            if (is_random(m)) return true;
    return false;
}

/* Whether input i of n is weights that are stored sparse, which the weight store expands. */
static bool is_sparse_weights(const hn_node *n, int i) {
    const hn_weights_def *w = n->op->weights;
    hn_tensor *t = n->inputs[i].value->constant;
    return w != NULL && w->input == i && w->kind != HN_WEIGHT_STATE && t != NULL &&
           t->values != NULL && t->dtype == HONE_DTYPE_F32 && hn_tensor_sparse_fits(t);
}

/* Texts, or sparse. */
static bool no_numbers(const hn_value *v) {
    if (v->constant != NULL)
        return v->constant->data == NULL || v->constant->dtype == HONE_DTYPE_STRING;
    return v->type.kind == HN_TYPE_SPARSE || v->type.kind == HN_TYPE_OTHER ||
           v->type.dtype == HONE_DTYPE_STRING;
}

static bool has_place(const hn_value *v) {
    return v->type.kind == HN_TYPE_TENSOR && hone_dtype_bits(v->type.dtype) > 0 &&
           hn_shape_is_const(&v->type.shape, NULL);
}

/* Why no plan takes the node, whatever the sizes of its inputs are; NULL: one may. */
static const char *never_planned(const hn_node *n) {
    if (n->op == NULL || n->op->ref == NULL || n->old) return "it cannot run";
    if (n->op->traits & HN_CONTROL) return "it has subgraphs";
    if (n->op->traits & HN_DYNAMIC) return "its sizes depend on contents";
    for (int i = 0; i < n->n_inputs; i++)
        if (n->inputs[i].value != NULL && no_numbers(n->inputs[i].value) &&
            !is_sparse_weights(n, i))
            return "an input holds texts, or is sparse";
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && no_numbers(n->outputs[i])) return "an output holds texts";
    return NULL;
}

static const char *not_planned(const hn_node *n) {
    const char *why = never_planned(n);
    for (int i = 0; why == NULL && i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && !has_place(n->outputs[i]))
            why = "its sizes depend on contents";
    return why;
}

typedef struct latest {
    const plan *p;
    hn_part_kind part;
} latest;

static void note_latest(void *ctx, const hn_value *v) {
    latest *l = ctx;
    if (l->p->value[v->id] > l->part) l->part = l->p->value[v->id];
}

/* The first part that node n can be in: *why it is not the head. What never has a plan can follow
 * others of its kind; all else that needs them waits for sizes. */
static hn_part_kind part_of(const plan *p, const hn_node *n, const char **why) {
    latest l = {p, HN_PART_HEAD};
    each_use(p->graph, n, note_latest, &l);
    *why = l.part == HN_PART_HEAD ? not_planned(n) : NULL;
    if (l.part == HN_PART_HEAD) return *why == NULL ? HN_PART_HEAD : HN_PART_MID;
    return l.part == HN_PART_MID && never_planned(n) != NULL ? HN_PART_MID : HN_PART_TAIL;
}

/* False: all nodes are of the head. */
static bool assign(plan *p) {
    bool cut = false, held = false; /* held: a random node waits */
    int k = 0;
    for (const hn_node *n = p->graph->first; n != NULL; n = n->next, k++) {
        const char *why = "";
        bool random = is_random(n);
        hn_part_kind part = random && held ? HN_PART_TAIL : part_of(p, n, &why);
        p->node[k] = part;
        for (int i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != NULL) p->value[n->outputs[i]->id] = part;
        if (part == HN_PART_HEAD) continue;
        held = held || random;
        char label[320];
        if (!cut)
            hn_log(HONE_LOG_INFO, "the first part ends at %s: %s",
                   hn_node_label(n, label, sizeof label), why);
        cut = true;
    }
    /* Outputs that no node makes. */
    for (int i = 0; i < p->graph->n_outputs; i++) {
        const hn_value *v = p->graph->outputs[i].value;
        if (v->producer != NULL || !no_numbers(v)) continue;
        p->value[v->id] = HN_PART_MID;
        cut = true;
    }
    return cut;
}

/* ---- what goes from one to another ---- */

typedef struct user {
    plan *p;
    hn_part_kind part;
} user;

static void note_slot(void *ctx, const hn_value *v) {
    const user *u = ctx;
    plan *p = u->p;
    if (v->producer != NULL && p->value[v->id] != u->part && p->slot[v->id] < 0)
        p->slot[v->id] = p->n_slots++;
}

static void assign_slots(plan *p) {
    const hn_graph *g = p->graph;
    int k = 0;
    for (int i = 0; i < g->n_values; i++) p->slot[i] = -1;
    for (int i = 0; i < g->n_inputs; i++) p->slot[g->inputs[i]->id] = i;
    p->n_slots = g->n_inputs;
    for (const hn_node *n = g->first; n != NULL; n = n->next, k++)
        each_use(g, n, note_slot, &(user){p, p->node[k]});
}

/* ---- parts ---- */

static hone_status make_part(hn_cut *c, const plan *p, hn_part_kind kind, hn_error *err) {
    const hn_graph *g = p->graph;
    hn_part *part = &c->part[kind];
    size_t most = (size_t)g->n_outputs + (size_t)p->n_slots + 1;
    bool *take = hn_arena_array(&c->arena, (size_t)g->n_nodes + 1, sizeof *take);
    const hn_value **outputs = hn_arena_array(&c->arena, most, sizeof *outputs);
    part->final = hn_arena_array(&c->arena, most, sizeof *part->final);
    part->made = hn_arena_array(&c->arena, most, sizeof *part->made);
    if (take == NULL || outputs == NULL || part->final == NULL || part->made == NULL)
        return HN_NOMEM(err);
    int n = 0, n_made = 0;
    bool any = false;
    for (int k = 0; k < g->n_nodes; k++) any = (take[k] = p->node[k] == kind) || any;
    for (int i = 0; i < g->n_outputs; i++) {
        if (p->value[g->outputs[i].value->id] != kind) continue;
        part->final[n] = i;
        outputs[n++] = g->outputs[i].value;
    }
    part->n_final = n;
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        if (v->dead || v->producer == NULL || p->slot[i] < 0 || p->value[i] != kind) continue;
        part->made[n_made++] = p->slot[i];
        outputs[n++] = v;
    }
    if (!any && n == 0) return HONE_OK;
    const hn_value *const *inputs;
    HN_TRY(hn_model_extract(&part->model, &inputs, g, take, n, outputs, c->arena.alloc, err));
    int n_in = part->model->graph->n_inputs;
    part->in = hn_arena_array(&c->arena, (size_t)n_in + 1, sizeof *part->in);
    if (part->in == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n_in; i++) part->in[i] = p->slot[inputs[i]->id];
    part->n_in = n_in;
    return HONE_OK;
}

/* ---- how much memory the rest takes ---- */

static size_t most_bytes(const hn_value *v) {
    size_t n = (size_t)hone_dtype_bits(v->type.dtype);
    if (n == 0 || v->type.shape.rank < 0) return SIZE_MAX;
    for (int i = 0; i < v->type.shape.rank; i++) {
        int64_t lo, hi;
        hn_dim_range(v->type.shape.dim[i], &lo, &hi);
        if (hi == INT64_MAX || !hn_size_mul(n, hi > 0 ? (size_t)hi : 0, &n)) return SIZE_MAX;
    }
    return n / 8 + 1;
}

static void add_most(const hn_node *n, size_t *sum) {
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && !hn_size_add(*sum, most_bytes(n->outputs[i]), sum))
            *sum = SIZE_MAX;
    int at = 0;
    for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
        for (const hn_node *m = sub->first; m != NULL; m = m->next) add_most(m, sum);
}

static size_t bound_of(const plan *p) {
    size_t sum = 0;
    int k = 0;
    for (const hn_node *n = p->graph->first; n != NULL; n = n->next, k++)
        if (p->node[k] != HN_PART_HEAD) add_most(n, &sum);
    return sum;
}

/* ---- all of it ---- */

void hn_cut_destroy(hn_cut *c) {
    if (c == NULL) return;
    hn_allocator *alloc = c->arena.alloc;
    for (int i = 0; i < HN_PARTS; i++) hn_model_destroy(c->part[i].model);
    hn_arena_deinit(&c->arena);
    hn_free(alloc, c);
}

static hone_status cut(hn_cut **out, plan *p, hn_allocator *alloc, hn_error *err) {
    hone_status status;
    hn_cut *c = hn_alloc_zero(alloc, sizeof *c, HN_MEM_OTHER);
    if (c == NULL) return HN_NOMEM(err);
    hn_arena_init(&c->arena, alloc, HN_MEM_OTHER);
    assign_slots(p);
    c->n_slots = p->n_slots;
    c->bound = bound_of(p);
    for (int i = 0; i < HN_PARTS; i++) HN_TRY_GOTO(make_part(c, p, (hn_part_kind)i, err));
    *out = c;
    return HONE_OK;
fail:
    hn_cut_destroy(c);
    return status;
}

/* False: there are none. */
static bool mark_loose(plan *p, const bool *loose) {
    bool any = false;
    for (int i = 0; i < p->graph->n_inputs && loose != NULL; i++) {
        if (loose[i]) p->value[p->graph->inputs[i]->id] = HN_PART_MID;
        any = any || loose[i];
    }
    return any;
}

hone_status hn_cut_spares(const hn_graph *g, const bool *loose, hn_allocator *alloc, bool *spares,
                          hn_error *err) {
    plan p = {.graph = g};
    size_t n_values = (size_t)g->n_values + 1;
    p.value = hn_alloc_zero(alloc, n_values * sizeof *p.value, HN_MEM_OTHER);
    if (p.value == NULL) return HN_NOMEM(err);
    mark_loose(&p, loose);
    *spares = false;
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        latest l = {&p, HN_PART_HEAD};
        each_use(g, n, note_latest, &l);
        *spares = *spares || l.part == HN_PART_HEAD;
        for (int i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != NULL) p.value[n->outputs[i]->id] = l.part;
    }
    hn_free(alloc, p.value);
    return HONE_OK;
}

hone_status hn_cut_create(hn_cut **out, const hn_graph *g, const bool *loose, hn_allocator *alloc,
                          hn_error *err) {
    hn_arena scratch;
    hn_arena_init(&scratch, alloc, HN_MEM_OTHER);
    plan p = {.graph = g};
    p.node = hn_arena_array(&scratch, (size_t)g->n_nodes + 1, sizeof *p.node);
    p.value = hn_arena_array(&scratch, (size_t)g->n_values + 1, sizeof *p.value);
    p.slot = hn_arena_array(&scratch, (size_t)g->n_values + 1, sizeof *p.slot);
    hone_status status = HONE_OK;
    *out = NULL;
    if (p.node == NULL || p.value == NULL || p.slot == NULL) status = HN_NOMEM(err);
    bool any_loose = status == HONE_OK && mark_loose(&p, loose);
    if (status == HONE_OK && (assign(&p) || any_loose)) status = cut(out, &p, alloc, err);
    hn_arena_deinit(&scratch);
    return status;
}
