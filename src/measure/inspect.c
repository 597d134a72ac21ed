/* One walk over the nodes counts parameters and arithmetic; one over each graph finds how much
 * memory its values take at once. Sizes of symbols are asked for as they are met, so that the list
 * of symbols the answer depends on comes out by itself. */
#include "measure/inspect.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/border.h"
#include "base/size.h"
#include "ops/infer.h"

/* Sizes taken for symbols nobody gave a value: 1 for a batch, 128 for anything else. */
#define BATCH_SIZE 1
#define OTHER_SIZE 128

/* Counts stop here: a hostile model may claim any size. */
#define MOST ((int64_t)1 << 62)

static int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    return hn_i64_add(a, b, &sum) && sum < MOST ? sum : MOST;
}

typedef struct inspector {
    hone_inspection out; /* first: out is what the caller holds */
    hn_arena arena;
    hn_model *model;
    const hone_dim_value *given;
    size_t n_given;
    bool *asked;    /* [n_given]: the symbol occurs */
    hn_map by_name; /* symbol -> 1 + its index in dims */
    hone_dim_value *dims;
    size_t cap_dims;
    hone_node_info *nodes;
    hone_dtype_use dtypes[HONE_DTYPE_COUNT_];
    bool nomem; /* remembered by functions that cannot return it */
} inspector;

/* ---- sizes of symbols ---- */

/* A symbol that is the first axis of some input is taken for a batch. */
static bool is_batch(const hn_graph *g, hn_dim symbol) {
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_shape *s = &g->inputs[i]->type.shape;
        if (s->rank > 0 && s->dim[0] == symbol) return true;
    }
    return false;
}

static int64_t new_size(inspector *p, hn_dim symbol, const char *name) {
    for (size_t i = 0; i < p->n_given; i++) {
        if (strcmp(p->given[i].name, name) != 0) continue;
        p->asked[i] = true;
        return p->given[i].value;
    }
    int64_t lo, hi, size = is_batch(p->model->graph, symbol) ? BATCH_SIZE : OTHER_SIZE;
    hn_dim_range(symbol, &lo, &hi);
    return size < hi ? size : hi;
}

static bool add_dim(inspector *p, const char *name, int64_t size) {
    size_t n = p->out.n_dims;
    if (n == p->cap_dims) {
        size_t cap = n == 0 ? 16 : n * 2;
        hone_dim_value *grown = hn_arena_array(&p->arena, cap, sizeof *grown);
        if (grown == NULL) return false;
        if (n > 0) memcpy(grown, p->dims, n * sizeof *grown);
        p->dims = grown;
        p->cap_dims = cap;
    }
    p->dims[n] = (hone_dim_value){name, size};
    p->out.n_dims++;
    return hn_map_put(&p->by_name, name, strlen(name), (void *)(uintptr_t)(n + 1));
}

static int64_t size_of_symbol(void *ctx, hn_dim symbol) {
    inspector *p = ctx;
    const char *name = "";
    hn_dim_is_symbol(symbol, &name);
    uintptr_t at = (uintptr_t)hn_map_get(&p->by_name, name, strlen(name));
    if (at != 0) return p->dims[at - 1].value;
    int64_t size = new_size(p, symbol, name);
    if (!add_dim(p, name, size)) p->nomem = true;
    return size;
}

/* -1 when it cannot be told. */
static int64_t number(inspector *p, hn_dim d) {
    int64_t v;
    return hn_dim_eval(d, size_of_symbol, p, &v) && v >= 0 ? v : -1;
}

static int64_t bytes_of_type(inspector *p, const hn_type *t) {
    int64_t dims[HONE_MAX_RANK], n;
    size_t bytes;
    if (t->kind != HN_TYPE_TENSOR || t->shape.rank < 0) return -1;
    for (int i = 0; i < t->shape.rank; i++) dims[i] = number(p, t->shape.dim[i]);
    if (!hn_dims_count(dims, t->shape.rank, &n) ||
        !hn_packed_bytes(n, hone_dtype_bits(t->dtype), &bytes))
        return -1;
    return bytes < (size_t)MOST ? (int64_t)bytes : MOST;
}

static hone_status check_given(const inspector *p, hn_error *err) {
    for (size_t i = 0; i < p->n_given; i++) {
        if (p->asked[i]) continue;
        for (size_t k = 0; k < i; k++)
            HN_CHECK(err, strcmp(p->given[k].name, p->given[i].name) != 0, HONE_E_ARG,
                     "the symbolic dim '%s' is given twice, as %lld and %lld", p->given[i].name,
                     (long long)p->given[k].value, (long long)p->given[i].value);
        char list[300] = "it has none";
        for (size_t k = 0, at = 0; k < p->out.n_dims && at < sizeof list; k++)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", k > 0 ? ", " : "it has ",
                                   p->dims[k].name);
        return HN_FAIL(err, HONE_E_NOT_FOUND, "the model has no symbolic dim '%s'; %s",
                       p->given[i].name, list);
    }
    return HONE_OK;
}

/* ---- constants ---- */

enum { BLOCK = 512 }; /* elements looked at together, so that a large tensor costs no memory */

/* Of a whole block, which the compiler makes vectors of; floats in a file may lie anywhere. */
static int64_t count_zeros_f32(const unsigned char *at) {
    int32_t zeros = 0;
    for (int k = 0; k < BLOCK; k++) {
        float x;
        memcpy(&x, at + (size_t)k * sizeof x, sizeof x);
        zeros += x == 0;
    }
    return zeros;
}

static int64_t count_zeros(const hn_tensor *t) {
    double block[BLOCK];
    int64_t zeros = 0;
    if (t->dtype == HONE_DTYPE_STRING || hn_dtype_in(t->dtype, HN_DTYPES_COMPLEX)) return 0;
    for (int64_t i = 0; i < t->n; i += BLOCK) {
        int64_t n = t->n - i < BLOCK ? t->n - i : BLOCK;
        if (t->dtype == HONE_DTYPE_F32 && n == BLOCK) {
            zeros += count_zeros_f32((const unsigned char *)t->data + (size_t)i * sizeof(float));
            continue;
        }
        hn_load_f64_n(t->dtype, t->data, i, n, block);
        for (int64_t k = 0; k < n; k++) zeros += block[k] == 0;
    }
    return zeros;
}

/* Does some node take the value as more than a setting? Views of it are followed. */
static bool is_weight(const hn_value *v, int depth) {
    for (const hn_use *u = v->uses; u != NULL; u = u->next) {
        const hn_op_def *op = u->node != NULL ? u->node->op : NULL;
        const hn_value *view = op != NULL && (op->traits & HN_VIEW) != 0 && depth < HN_MAX_DEPTH
                                   ? hn_node_output(u->node, 0)
                                   : NULL;
        bool setting = op != NULL && u->index < 32 && (op->settings >> u->index & 1) != 0;
        if (view != NULL ? is_weight(view, depth + 1) : !setting) return true;
    }
    return false;
}

/* A lone number (a scale of attention, a bound of Clip) was written by whoever exported the model.
 */
static bool is_trained(const hn_value *v) {
    return hn_dtype_in(v->type.dtype, HN_DTYPES_FLOAT) && v->type.shape.rank >= 1 &&
           is_weight(v, 0);
}

/* v: what it is the contents of. node NULL: no node uses it. */
static void add_constant(inspector *p, const hn_tensor *t, const hn_value *v,
                         hone_node_info *node) {
    hone_inspection *o = &p->out;
    const hn_tensor *stored = t->values != NULL ? t->values : t;
    int64_t zeros = count_zeros(stored) + (t->n - stored->n);
    int64_t bytes = (int64_t)stored->bytes + (t->indices != NULL ? (int64_t)t->indices->bytes : 0);
    o->params = plus(o->params, t->n);
    o->params_bytes = plus(o->params_bytes, bytes);
    o->params_zero = plus(o->params_zero, zeros);
    if (v != NULL && is_trained(v)) o->trainable = plus(o->trainable, t->n);
    hone_dtype_use *d = &p->dtypes[t->dtype];
    d->dtype = t->dtype;
    d->tensors++;
    d->elements = plus(d->elements, t->n);
    d->bytes = plus(d->bytes, bytes);
    if (node == NULL) return;
    node->params = plus(node->params, t->n);
    node->params_bytes = plus(node->params_bytes, bytes);
    node->params_zero = plus(node->params_zero, zeros);
}

/* A constant counts with the first node that uses it; the mark says that it has been counted. What
 * lifting made is not in the file. */
static void add_value(inspector *p, hn_value *v, hone_node_info *node) {
    if (v == NULL || v->dead || v->constant == NULL || v->lifted || v->mark != 0) return;
    v->mark = 1;
    add_constant(p, v->constant, v, node);
}

/* ---- nodes ---- */

static const char *text_of_type(inspector *p, const hn_type *t) {
    char shape[300], text[340];
    if (t->kind == HN_TYPE_OTHER) return "not a tensor";
    hn_shape_text(&t->shape, shape, sizeof shape);
    snprintf(text, sizeof text, "%s%s",
             t->dtype != HONE_DTYPE_NONE ? hone_dtype_name(t->dtype) : "?", shape);
    const char *copy = hn_arena_strdup(&p->arena, text);
    if (copy == NULL) p->nomem = true;
    return copy;
}

static bool shapes_known(const hn_node *n) {
    for (int i = 0; i < n->n_inputs; i++)
        if (n->inputs[i].value != NULL && n->inputs[i].value->type.shape.rank < 0) return false;
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && n->outputs[i]->type.shape.rank < 0) return false;
    return true;
}

static hone_status add_cost(inspector *p, const hn_node *n, hone_node_info *info, hn_error *err) {
    hn_cost cost;
    HN_TRY(hn_node_cost(n, &cost, err));
    bool sized = shapes_known(n);
    bool known = n->op != NULL && (n->op->cost == NULL || sized);
    info->macs = known ? number(p, cost.macs) : -1;
    info->read_bytes = sized ? number(p, cost.read_bytes) : -1;
    info->written_bytes = sized ? number(p, cost.written_bytes) : -1;
    if (info->macs < 0)
        p->out.macs_unknown++;
    else
        p->out.macs = plus(p->out.macs, info->macs);
    return HONE_OK;
}

static hone_status add_node(inspector *p, const hn_node *n, hn_error *err) {
    hone_node_info *info = &p->nodes[p->out.n_nodes++];
    *info = (hone_node_info){.name = n->name,
                             .op = n->op_type,
                             .domain = n->domain,
                             .supported = n->op != NULL && n->op->ref != NULL,
                             .output_name = "",
                             .output_type = ""};
    int first = 0;
    while (first < n->n_outputs && n->outputs[first] == NULL) first++;
    if (first < n->n_outputs) {
        info->output_name = n->outputs[first]->name;
        info->output_type = text_of_type(p, &n->outputs[first]->type);
    }
    for (int i = 0; i < n->n_inputs; i++) add_value(p, n->inputs[i].value, info);
    for (const hn_attr *a = n->attrs; a != NULL; a = a->next) /* Constant holds its tensor so */
        if ((a->type == HN_ATTR_TENSOR || a->type == HN_ATTR_SPARSE_TENSOR) && n->n_inputs == 0)
            add_constant(p, a->u.tensor, hn_node_output(n, 0), info);
    return add_cost(p, n, info, err);
}

static hone_status add_graph(inspector *p, const hn_graph *g, hn_error *err) {
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        HN_TRY(add_node(p, n, err));
        int at = 0;
        for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
            HN_TRY(add_graph(p, sub, err));
    }
    for (int i = 0; i < g->n_values; i++) add_value(p, g->values[i], NULL);
    return HONE_OK;
}

/* ---- operators ---- */

static int by_name(const void *a, const void *b) {
    const hone_op_use *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);
    return order != 0 ? order : strcmp(x->op, y->op);
}

static int by_macs(const void *a, const void *b) {
    const hone_op_use *x = a, *y = b;
    if (x->macs != y->macs) return x->macs < y->macs ? 1 : -1;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return by_name(a, b);
}

/* One row per node, then equal rows are merged. */
static hone_status add_ops(inspector *p, hn_error *err) {
    hone_inspection *o = &p->out;
    hone_op_use *ops = hn_arena_array(&p->arena, o->n_nodes, sizeof *ops);
    if (ops == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < o->n_nodes; i++) {
        const hone_node_info *n = &p->nodes[i];
        ops[i] =
            (hone_op_use){n->op, n->domain, n->supported, 1, n->params, n->macs > 0 ? n->macs : 0};
    }
    qsort(ops, o->n_nodes, sizeof *ops, by_name);
    size_t n = 0;
    for (size_t i = 0; i < o->n_nodes; i++) {
        if (n == 0 || by_name(&ops[n - 1], &ops[i]) != 0) {
            ops[n++] = ops[i];
            continue;
        }
        ops[n - 1].count++;
        ops[n - 1].params = plus(ops[n - 1].params, ops[i].params);
        ops[n - 1].macs = plus(ops[n - 1].macs, ops[i].macs);
    }
    qsort(ops, n, sizeof *ops, by_macs);
    o->ops = ops;
    o->n_ops = n;
    return HONE_OK;
}

/* ---- memory ---- */

/* The node of g that uses a value through u: the user itself, or the one whose subgraph it is in.
 * NULL: an output of g. */
static const hn_node *user_in(const hn_graph *g, const hn_use *u) {
    const hn_node *n = u->node;
    const hn_graph *at = n != NULL ? n->graph : u->graph;
    for (; at != g; at = at->parent) n = at->owner;
    return n;
}

/* The values of one graph, by id. */
typedef struct lifetimes {
    int64_t *bytes; /* of those with bytes of their own, else 0 */
    int *root;      /* the value whose bytes it has: a view has another's; -1: none of this graph */
    int *last;      /* of a root: the node after which it goes; -1: none, n_nodes: it stays */
    int *gone;      /* node: 1 + the first root that goes with it */
    int *next;      /* root: 1 + the next one that goes with the same node */
} lifetimes;

static bool lifetimes_init(lifetimes *l, hn_arena *arena, const hn_graph *g) {
    size_t n_values = (size_t)g->n_values, n_nodes = (size_t)g->n_nodes;
    l->bytes = hn_arena_array(arena, n_values, sizeof *l->bytes);
    l->root = hn_arena_array(arena, n_values, sizeof *l->root);
    l->last = hn_arena_array(arena, n_values, sizeof *l->last);
    l->gone = hn_arena_array(arena, n_nodes, sizeof *l->gone);
    l->next = hn_arena_array(arena, n_values, sizeof *l->next);
    return l->bytes != NULL && l->root != NULL && l->last != NULL && l->gone != NULL &&
           l->next != NULL;
}

/* Nodes are in order, so the root of what a view looks at is known before the view's. */
static bool find_root(inspector *p, const hn_graph *g, const hn_value *v, lifetimes *l) {
    const hn_node *n = v->producer;
    const hn_value *base = n != NULL ? hn_node_input(n, 0) : NULL;
    bool view = n != NULL && n->op != NULL && (n->op->traits & HN_VIEW) != 0 && v->out_index == 0 &&
                base != NULL && base->type.dtype == v->type.dtype;
    if (view) {
        l->root[v->id] = base->graph == g ? l->root[base->id] : -1;
        return true;
    }
    if (v->constant != NULL) {
        l->root[v->id] = -1;
        return true;
    }
    l->root[v->id] = v->id;
    l->bytes[v->id] = bytes_of_type(p, &v->type);
    return l->bytes[v->id] >= 0;
}

static void extend(lifetimes *l, const hn_value *v, int64_t to) {
    int root = l->root[v->id];
    if (root >= 0 && l->last[root] < to) l->last[root] = (int)to;
}

/* False: some size is not known. */
static bool find_lifetimes(inspector *p, hn_graph *g, lifetimes *l) {
    uint64_t k = 0;
    for (int i = 0; i < g->n_values; i++) l->last[i] = l->root[i] = -1;
    for (int i = 0; i < g->n_inputs; i++)
        if (!find_root(p, g, g->inputs[i], l)) return false;
    for (hn_node *n = g->first; n != NULL; n = n->next) {
        n->mark = k++;
        for (int i = 0; i < n->n_outputs; i++) {
            if (n->outputs[i] == NULL) continue;
            if (!find_root(p, g, n->outputs[i], l)) return false;
            extend(l, n->outputs[i], (int64_t)n->mark);
        }
    }
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        for (const hn_use *u = v->uses; u != NULL && !v->dead; u = u->next) {
            const hn_node *user = user_in(g, u);
            extend(l, v, user != NULL ? (int64_t)user->mark : g->n_nodes);
        }
    }
    for (int i = 0; i < g->n_values; i++) {
        if (l->last[i] < 0 || l->last[i] >= g->n_nodes) continue;
        l->next[i] = l->gone[l->last[i]];
        l->gone[l->last[i]] = i + 1;
    }
    return true;
}

/* Bytes live at once when the nodes of g run in order and a value goes with its last use; outputs
 * of the graph stay. A subgraph takes its own peak on top while its node runs. -1: not known. */
static int64_t peak_of(inspector *p, hn_graph *g) {
    lifetimes l;
    if (!lifetimes_init(&l, &p->arena, g)) {
        p->nomem = true;
        return -1;
    }
    if (!find_lifetimes(p, g, &l)) return -1;
    int64_t live = 0, peak, k = 0;
    for (int i = 0; i < g->n_inputs; i++) live = plus(live, l.bytes[g->inputs[i]->id]);
    peak = live;
    for (const hn_node *n = g->first; n != NULL; n = n->next, k++) {
        int64_t inside = 0;
        int at = 0;
        for (hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) {
            int64_t bytes = peak_of(p, sub);
            if (bytes < 0) return -1;
            if (bytes > inside) inside = bytes;
        }
        for (int i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != NULL) live = plus(live, l.bytes[n->outputs[i]->id]);
        if (plus(live, inside) > peak) peak = plus(live, inside);
        if (live == MOST) return MOST; /* from here on subtracting would be wrong */
        for (int i = l.gone[k]; i != 0; i = l.next[i - 1]) live -= l.bytes[i - 1];
    }
    return peak;
}

/* ---- the whole ---- */

static const char *opset_text(inspector *p) {
    char text[600] = "";
    for (size_t i = 0, at = 0; i < (size_t)p->model->n_opsets && at < sizeof text; i++) {
        const hn_opset *o = &p->model->opsets[i];
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.60s %lld", i > 0 ? ", " : "",
                               o->domain[0] != '\0' ? o->domain : "ai.onnx", (long long)o->version);
    }
    const char *copy = hn_arena_strdup(&p->arena, text);
    if (copy == NULL) p->nomem = true;
    return copy;
}

static size_t count_nodes(const hn_model *m) {
    size_t n = 0;
    for (int i = 0; i < m->n_graphs; i++) n += (size_t)m->graphs[i]->n_nodes;
    return n;
}

static void clear_marks(hn_model *m) {
    for (int i = 0; i < m->n_graphs; i++) {
        for (hn_node *n = m->graphs[i]->first; n != NULL; n = n->next) n->mark = 0;
        for (int k = 0; k < m->graphs[i]->n_values; k++) m->graphs[i]->values[k]->mark = 0;
    }
}

static hone_status inspect(inspector *p, hn_error *err) {
    hn_model *m = p->model;
    hone_inspection *o = &p->out;
    o->ir_version = m->ir_version;
    o->file_bytes = m->file_bytes;
    o->opset = hn_model_opset(m, "");
    o->producer = m->producer_name;
    o->producer_version = m->producer_version;
    o->graph_name = m->graph->name;
    o->opsets = opset_text(p);
    p->nodes = hn_arena_array(&p->arena, count_nodes(m), sizeof *p->nodes);
    p->asked = hn_arena_array(&p->arena, p->n_given, sizeof *p->asked);
    if (p->nodes == NULL || p->asked == NULL) return HN_NOMEM(err);
    for (int i = 0; i < m->graph->n_inputs; i++) /* their symbols are listed first */
        bytes_of_type(p, &m->graph->inputs[i]->type);
    HN_TRY(add_graph(p, m->graph, err));
    HN_TRY(add_ops(p, err));
    o->activation_peak = peak_of(p, m->graph);
    if (p->nomem) return HN_NOMEM(err);
    HN_TRY(check_given(p, err));

    static const int bits[5] = {32, 16, 8, 4, 1};
    for (int i = 0; i < 5; i++) {
        size_t bytes;
        bool fits = hn_packed_bytes(o->params, bits[i], &bytes) && bytes < (size_t)MOST;
        o->bytes_at[i] = fits ? (int64_t)bytes : MOST;
    }
    for (int t = 1; t < HONE_DTYPE_COUNT_; t++)
        if (p->dtypes[t].tensors > 0) p->dtypes[o->n_dtypes++] = p->dtypes[t];
    o->dtypes = p->dtypes;
    o->nodes = p->nodes;
    o->dims = p->dims;
    return HONE_OK;
}

hone_status hn_model_inspect(hn_model *m, const hone_dim_value *dims, size_t n_dims,
                             hn_allocator *alloc, hone_inspection **out, hn_error *err) {
    inspector *p = hn_alloc_zero(alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    hn_arena_init(&p->arena, alloc, HN_MEM_OTHER);
    hn_map_init(&p->by_name, alloc);
    p->out.size = sizeof p->out;
    p->out.owner = p;
    p->model = m;
    p->given = dims;
    p->n_given = n_dims;
    clear_marks(m);
    hone_status status = inspect(p, err);
    clear_marks(m);
    if (status == HONE_OK)
        *out = &p->out;
    else
        hn_inspection_destroy(&p->out);
    return status;
}

void hn_inspection_destroy(hone_inspection *in) {
    if (in == NULL) return;
    inspector *p = in->owner;
    hn_allocator *alloc = p->arena.alloc;
    hn_map_deinit(&p->by_name);
    hn_arena_deinit(&p->arena);
    hn_shown_free(in, &p->out);
    hn_free(alloc, p);
}
