#include "measure/inspect.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "ops/infer.h"

/* Sizes taken for symbols nobody gave a value: 1 for a batch, 128 for anything else. */
#define BATCH_SIZE 1
#define OTHER_SIZE 128

typedef struct inspector {
    hone_inspection out; /* first: out is what the caller holds */
    hn_arena arena;
    hn_model *model;
    const hone_dim_value *given;
    size_t n_given;
    hone_dim_value *dims; /* growing: symbols met, with their values */
    size_t n_dims, cap_dims;
    hone_node_info *nodes;
    hone_op_use *ops;
    hone_dtype_use dtypes[HONE_DTYPE_COUNT_];
    bool failed; /* out of memory */
} inspector;

/* ---- sizes of symbols ---- */

/* A symbol that is the first axis of some input is taken for a batch. */
static bool is_batch(const hn_model *m, hn_dim symbol) {
    for (int i = 0; i < m->graph->n_inputs; i++) {
        const hn_shape *s = &m->graph->inputs[i]->type.shape;
        if (s->rank > 0 && s->dim[0] == symbol) return true;
    }
    return false;
}

static int64_t size_of_symbol(void *ctx, hn_dim symbol) {
    inspector *p = ctx;
    const char *name = "";
    hn_dim_is_symbol(symbol, &name);
    for (size_t i = 0; i < p->n_dims; i++)
        if (strcmp(p->dims[i].name, name) == 0) return p->dims[i].value;
    int64_t value = is_batch(p->model, symbol) ? BATCH_SIZE : OTHER_SIZE;
    int64_t lo, hi;
    hn_dim_range(symbol, &lo, &hi);
    if (value > hi) value = hi;
    for (size_t i = 0; i < p->n_given; i++)
        if (strcmp(p->given[i].name, name) == 0) value = p->given[i].value;
    if (p->n_dims == p->cap_dims) {
        size_t cap = p->cap_dims == 0 ? 16 : p->cap_dims * 2;
        hone_dim_value *grown = hn_arena_array(&p->arena, cap, sizeof *grown);
        if (grown == NULL) {
            p->failed = true;
            return value;
        }
        if (p->n_dims > 0) memcpy(grown, p->dims, p->n_dims * sizeof *grown);
        p->dims = grown;
        p->cap_dims = cap;
    }
    const char *copy = hn_arena_strdup(&p->arena, name);
    if (copy == NULL)
        p->failed = true;
    else
        p->dims[p->n_dims++] = (hone_dim_value){copy, value};
    return value;
}

/* -1 when it cannot be told. */
static int64_t number(inspector *p, hn_dim d) {
    int64_t v;
    return hn_dim_eval(d, size_of_symbol, p, &v) && v >= 0 ? v : -1;
}

static int64_t bytes_of_type(inspector *p, const hn_type *t) {
    int64_t dims[HONE_MAX_RANK], n;
    size_t bytes;
    if (t->kind != HN_TYPE_TENSOR || t->shape.rank < 0 || hone_dtype_bits(t->dtype) == 0) return -1;
    for (int i = 0; i < t->shape.rank; i++) {
        dims[i] = number(p, t->shape.dim[i]);
        if (dims[i] < 0) return -1;
    }
    if (!hn_dims_count(dims, t->shape.rank, &n) ||
        !hn_packed_bytes(n, hone_dtype_bits(t->dtype), &bytes))
        return -1;
    return (int64_t)bytes;
}

static const char *text_of_type(inspector *p, const hn_type *t) {
    char shape[300], text[340];
    if (t->kind == HN_TYPE_OTHER) return "not a tensor";
    hn_shape_text(&t->shape, shape, sizeof shape);
    snprintf(text, sizeof text, "%s%s",
             t->dtype != HONE_DTYPE_NONE ? hone_dtype_name(t->dtype) : "?", shape);
    const char *copy = hn_arena_strdup(&p->arena, text);
    if (copy == NULL) p->failed = true;
    return copy != NULL ? copy : "";
}

/* ---- constants ---- */

/* Counts in blocks, so that a large tensor costs no memory. */
static int64_t count_zeros(const hn_tensor *t) {
    double block[512];
    int64_t zeros = 0;
    if (t->dtype == HONE_DTYPE_STRING || hn_dtype_in(t->dtype, HN_DTYPES_COMPLEX)) return 0;
    for (int64_t i = 0; i < t->n; i += 512) {
        int64_t n = t->n - i < 512 ? t->n - i : 512;
        hn_load_f64_n(t->dtype, t->data, i, n, block);
        for (int64_t k = 0; k < n; k++) zeros += block[k] == 0;
    }
    return zeros;
}

/* Running statistics and quantization parameters are computed, not trained. */
static bool is_trained(const hn_value *v) {
    if (v == NULL || !hn_dtype_in(v->type.dtype, HN_DTYPES_FLOAT)) return false;
    for (const hn_use *u = v->uses; u != NULL; u = u->next) {
        if (u->node == NULL) continue;
        const char *op = u->node->op_type;
        bool statistics = strcmp(op, "BatchNormalization") == 0 && u->index >= 3;
        bool scale = strstr(op, "QuantizeLinear") != NULL && u->index >= 1;
        if (!statistics && !scale && u->node->n_inputs > 1 && v->type.shape.rank >= 1) return true;
    }
    return false;
}

/* v NULL: a Constant node's contents. */
static void add_constant(inspector *p, const hn_tensor *t, const hn_value *v,
                         hone_node_info *node) {
    const hn_tensor *stored = t->values != NULL ? t->values : t;
    int64_t zeros = count_zeros(stored) + (t->n - stored->n);
    int64_t bytes = (int64_t)stored->bytes + (t->indices != NULL ? (int64_t)t->indices->bytes : 0);
    hone_inspection *o = &p->out;
    o->params += t->n;
    o->params_bytes += bytes;
    o->params_zero += zeros;
    if (is_trained(v)) o->trainable += t->n;
    hone_dtype_use *d = &p->dtypes[t->dtype];
    d->dtype = t->dtype;
    d->tensors++;
    d->elements += t->n;
    d->bytes += bytes;
    if (node == NULL) return;
    node->sparsity += (double)zeros; /* a count until the node is done */
    node->params += t->n;
    node->params_bytes += bytes;
}

/* ---- nodes ---- */

static int64_t count_nodes(const hn_graph *g) {
    int64_t n = g->n_nodes;
    for (const hn_node *node = g->first; node != NULL; node = node->next) {
        int at = 0;
        for (const hn_graph *sub; (sub = hn_node_subgraph(node, &at)) != NULL;)
            n += count_nodes(sub);
    }
    return n;
}

static void add_op(inspector *p, const hone_node_info *n) {
    hone_inspection *o = &p->out;
    size_t i = 0;
    while (i < o->n_ops &&
           (strcmp(p->ops[i].op, n->op) != 0 || strcmp(p->ops[i].domain, n->domain) != 0))
        i++;
    hone_op_use *u = &p->ops[i];
    if (i == o->n_ops) {
        *u = (hone_op_use){.op = n->op, .domain = n->domain, .supported = n->supported};
        o->n_ops++;
    }
    u->count++;
    u->params += n->params;
    if (n->macs > 0) u->macs += n->macs;
}

static hone_status add_node(inspector *p, const hn_node *n, bool *const *seen, hn_error *err) {
    hone_inspection *o = &p->out;
    hone_node_info *info = &p->nodes[o->n_nodes++];
    *info = (hone_node_info){.name = n->name,
                             .op = n->op_type,
                             .domain = n->domain,
                             .supported = n->op != NULL && n->op->ref != NULL,
                             .output_name = "",
                             .output_type = ""};
    for (int i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] == NULL) continue;
        info->output_name = n->outputs[i]->name;
        info->output_type = text_of_type(p, &n->outputs[i]->type);
        break;
    }
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_value *v = n->inputs[i].value;
        if (v == NULL || v->constant == NULL) continue;
        int k = 0;
        while (p->model->graphs[k] != v->graph) k++;
        if (seen[k][v->id]) continue; /* a constant counts with the first node that uses it */
        seen[k][v->id] = true;
        add_constant(p, v->constant, v, info);
    }
    for (const hn_attr *a = n->attrs; a != NULL; a = a->next)
        if ((a->type == HN_ATTR_TENSOR || a->type == HN_ATTR_SPARSE_TENSOR) && n->n_inputs == 0)
            add_constant(p, a->u.tensor, hn_node_output(n, 0), info);
    if (info->params > 0) info->sparsity /= (double)info->params;

    hn_cost cost;
    HN_TRY(hn_node_cost(n, &cost, err));
    bool known = n->op != NULL;
    for (int i = 0; i < n->n_outputs; i++)
        known = known && (n->outputs[i] == NULL || n->outputs[i]->type.shape.rank >= 0);
    info->macs = known ? number(p, cost.macs) : -1;
    info->read_bytes = number(p, cost.read_bytes);
    info->written_bytes = number(p, cost.written_bytes);
    if (info->macs < 0)
        o->macs = -1;
    else if (o->macs >= 0)
        o->macs += info->macs;
    add_op(p, info);
    return HONE_OK;
}

static hone_status add_graph(inspector *p, const hn_graph *g, bool *const *seen, hn_error *err) {
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        HN_TRY(add_node(p, n, seen, err));
        int at = 0;
        for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
            HN_TRY(add_graph(p, sub, seen, err));
    }
    return HONE_OK;
}

/* ---- memory ---- */

/* The node of g that uses a value through u: the user itself, or the one whose subgraph it is in.
 * NULL: an output of g. */
static const hn_node *user_in(const hn_graph *g, const hn_use *u) {
    const hn_node *n = u->node;
    const hn_graph *at = n != NULL ? n->graph : u->graph;
    for (; at != g && at != NULL; at = at->parent) n = at->owner;
    return n;
}

/* Bytes live at once when the nodes of the top graph run in order and a value dies with its last
 * use; an output of the graph stays. A view shares its input's bytes. */
static int64_t activation_peak(inspector *p, hn_error *err, hone_status *status) {
    hn_graph *g = p->model->graph;
    size_t n_nodes = (size_t)g->n_nodes, n_values = (size_t)g->n_values;
    int64_t *bytes = hn_arena_array(&p->arena, n_values + 1, sizeof *bytes);
    int *dies = hn_arena_array(&p->arena, n_nodes + 1, sizeof *dies);  /* node: 1 + first value */
    int *next = hn_arena_array(&p->arena, n_values + 1, sizeof *next); /* value: 1 + the next one */
    if (bytes == NULL || dies == NULL || next == NULL) {
        *status = HN_NOMEM(err);
        return -1;
    }
    int64_t live = 0, peak = 0, k = 0;
    for (hn_node *node = g->first; node != NULL; node = node->next) node->mark = (uint64_t)k++;
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        if (v->dead || v->constant != NULL || v->n_uses == 0) continue;
        bool view = v->producer != NULL && v->producer->op != NULL && v->out_index == 0 &&
                    (v->producer->op->traits & HN_VIEW) != 0;
        if (view) continue;
        bytes[i] = bytes_of_type(p, &v->type);
        if (bytes[i] < 0) return -1;
        int64_t last = -1;
        bool stays = false;
        for (const hn_use *u = v->uses; u != NULL; u = u->next) {
            const hn_node *user = user_in(g, u);
            if (user == NULL)
                stays = true;
            else if ((int64_t)user->mark > last)
                last = (int64_t)user->mark;
        }
        if (!stays && last >= 0) {
            next[i] = dies[last];
            dies[last] = i + 1;
        }
        if (v->producer == NULL && __builtin_add_overflow(live, bytes[i], &live)) return -1;
    }
    peak = live;
    k = 0;
    for (const hn_node *node = g->first; node != NULL; node = node->next, k++) {
        for (int i = 0; i < node->n_outputs; i++)
            if (node->outputs[i] != NULL &&
                __builtin_add_overflow(live, bytes[node->outputs[i]->id], &live))
                return -1;
        if (live > peak) peak = live;
        for (int i = dies[k]; i != 0; i = next[i - 1]) live -= bytes[i - 1];
    }
    for (hn_node *node = g->first; node != NULL; node = node->next) node->mark = 0;
    return peak;
}

/* ---- the whole ---- */

static int by_macs(const void *a, const void *b) {
    const hone_op_use *x = a, *y = b;
    if (x->macs != y->macs) return x->macs < y->macs ? 1 : -1;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return strcmp(x->op, y->op);
}

static const char *opset_text(inspector *p) {
    char text[600];
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < p->model->n_opsets && at < sizeof text; i++) {
        const hn_opset *o = &p->model->opsets[i];
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.60s %lld", i > 0 ? ", " : "",
                               o->domain[0] != '\0' ? o->domain : "ai.onnx", (long long)o->version);
    }
    const char *copy = hn_arena_strdup(&p->arena, text);
    if (copy == NULL) p->failed = true;
    return copy;
}

hone_status hn_model_inspect(hn_model *m, const hone_dim_value *dims, size_t n_dims,
                             hn_allocator *alloc, hone_inspection **out, hn_error *err) {
    inspector *p = hn_alloc_zero(alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    hn_arena_init(&p->arena, alloc, HN_MEM_OTHER);
    p->model = m;
    p->given = dims;
    p->n_given = n_dims;
    hone_inspection *o = &p->out;
    o->size = sizeof *o;
    o->owner = p;
    o->ir_version = m->ir_version;
    o->opset = hn_model_opset(m, "");
    o->producer = m->producer_name;
    o->producer_version = m->producer_version;
    o->graph_name = m->graph->name;
    o->opsets = opset_text(p);

    size_t n = (size_t)count_nodes(m->graph);
    p->nodes = hn_arena_array(&p->arena, n + 1, sizeof *p->nodes);
    p->ops = hn_arena_array(&p->arena, n + 1, sizeof *p->ops);
    bool **seen = hn_arena_array(&p->arena, (size_t)m->n_graphs + 1, sizeof *seen);
    hone_status status = HONE_OK;
    if (p->nodes == NULL || p->ops == NULL || seen == NULL) goto nomem;
    for (int i = 0; i < m->n_graphs; i++) {
        seen[i] = hn_arena_array(&p->arena, (size_t)m->graphs[i]->n_values + 1, sizeof *seen[i]);
        if (seen[i] == NULL) goto nomem;
    }
    HN_TRY_GOTO(add_graph(p, m->graph, seen, err));
    for (int i = 0; i < m->graph->n_values; i++) { /* constants no node uses */
        const hn_value *v = m->graph->values[i];
        if (!v->dead && v->constant != NULL && !v->lifted && !seen[0][i])
            add_constant(p, v->constant, v, NULL);
    }
    o->activation_peak = activation_peak(p, err, &status);
    if (status != HONE_OK) goto fail;
    if (p->failed) goto nomem;
    static const int bits[5] = {32, 16, 8, 4, 1};
    for (int i = 0; i < 5; i++) o->bytes_at[i] = (o->params * bits[i] + 7) / 8;
    qsort(p->ops, o->n_ops, sizeof *p->ops, by_macs);
    o->nodes = p->nodes;
    o->ops = p->ops;
    o->dims = p->dims;
    o->n_dims = p->n_dims;
    for (int t = 1; t < HONE_DTYPE_COUNT_; t++)
        if (p->dtypes[t].tensors > 0) p->dtypes[o->n_dtypes++] = p->dtypes[t];
    o->dtypes = p->dtypes;
    *out = o;
    return HONE_OK;
nomem:
    status = HN_NOMEM(err);
fail:
    hn_inspection_destroy(o);
    return status;
}

void hn_inspection_destroy(hone_inspection *in) {
    if (in == NULL) return;
    inspector *p = in->owner;
    hn_allocator *alloc = p->arena.alloc;
    hn_arena_deinit(&p->arena);
    hn_free(alloc, p);
}
