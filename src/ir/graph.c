#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

/* ---- models ---- */

hone_status hn_model_create(hn_model **out, hn_allocator *alloc, hn_error *err) {
    hn_model *m = hn_alloc_zero(alloc, sizeof *m, HN_MEM_MODEL);
    if (m == NULL) return HN_NOMEM(err);
    m->alloc = alloc;
    hn_arena_init(&m->arena, alloc, HN_MEM_MODEL);
    hn_dims_init(&m->dims, alloc);
    hn_map_init(&m->taken, alloc);
    m->producer_name = m->producer_version = m->domain = m->doc = "";
    *out = m;
    return HONE_OK;
}

static void release_attrs(hn_attr *a) {
    for (; a != NULL; a = a->next) {
        if (a->type == HN_ATTR_TENSOR || a->type == HN_ATTR_SPARSE_TENSOR) {
            hn_tensor_unref(a->u.tensor);
            a->u.tensor = NULL;
        } else if (a->type == HN_ATTR_TENSORS || a->type == HN_ATTR_SPARSE_TENSORS) {
            for (int i = 0; i < a->n; i++) {
                hn_tensor_unref(a->u.tensors[i]);
                a->u.tensors[i] = NULL;
            }
        }
    }
}

/* The last node of a source releases what the source alone holds. */
static void release_source(hn_source *s) {
    if (s != NULL && --s->n_nodes == 0) release_attrs(s->form.attrs);
}

void hn_model_destroy(hn_model *m) {
    if (m == NULL) return;
    for (int i = 0; i < m->n_graphs; i++) {
        hn_graph *g = m->graphs[i];
        for (hn_node *n = g->first; n != NULL; n = n->next) {
            release_attrs(n->attrs);
            release_source(n->source);
        }
        for (int k = 0; k < g->n_values; k++) {
            hn_tensor_unref(g->values[k]->constant);
            hn_tensor_unref(g->values[k]->folded);
        }
        hn_free(m->alloc, g->values);
        hn_free(m->alloc, g->inputs);
        hn_free(m->alloc, g->outputs);
        hn_map_deinit(&g->names);
    }
    hn_map_deinit(&m->taken);
    hn_free(m->alloc, m->graphs);
    hn_free(m->alloc, m->opsets);
    hn_dims_deinit(&m->dims);
    hn_arena_deinit(&m->arena);
    hn_free(m->alloc, m);
}

static const char *canonical_domain(const char *domain) {
    return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

int64_t hn_model_opset(const hn_model *m, const char *domain) {
    domain = canonical_domain(domain);
    for (int i = 0; i < m->n_opsets; i++)
        if (strcmp(m->opsets[i].domain, domain) == 0) return m->opsets[i].version;
    return 0;
}

hone_status hn_model_set_opset(hn_model *m, const char *domain, int64_t version, hn_error *err) {
    domain = canonical_domain(domain);
    for (int i = 0; i < m->n_opsets; i++) {
        if (strcmp(m->opsets[i].domain, domain) != 0) continue;
        m->opsets[i].version = version;
        return HONE_OK;
    }
    size_t bytes = (size_t)(m->n_opsets + 1) * sizeof *m->opsets;
    hn_opset *opsets = hn_realloc(m->alloc, m->opsets, bytes, HN_MEM_MODEL);
    if (opsets == NULL) return HN_NOMEM(err);
    m->opsets = opsets;
    const char *copy = hn_arena_strdup(&m->arena, domain);
    if (copy == NULL) return HN_NOMEM(err);
    m->opsets[m->n_opsets++] = (hn_opset){copy, version};
    return HONE_OK;
}

/* Grows *array (elements of `size` bytes, capacity *cap) to hold n elements. */
static bool reserve(hn_allocator *alloc, void **array, int *cap, int n, size_t size) {
    if (n <= *cap) return true;
    int want = *cap < 8 ? 8 : *cap * 2;
    if (want < n) want = n;
    void *grown = hn_realloc(alloc, *array, (size_t)want * size, HN_MEM_MODEL);
    if (grown == NULL) return false;
    *array = grown;
    *cap = want;
    return true;
}

hone_status hn_graph_create(hn_graph **out, hn_model *m, hn_graph *parent, hn_error *err) {
    int depth = parent != NULL ? parent->depth + 1 : 0;
    HN_CHECK(err, depth <= HN_MAX_DEPTH, HONE_E_LIMIT, "subgraphs are nested more than %d deep",
             HN_MAX_DEPTH);
    if (!reserve(m->alloc, (void **)&m->graphs, &m->cap_graphs, m->n_graphs + 1, sizeof *m->graphs))
        return HN_NOMEM(err);
    hn_graph *g = hn_arena_zero(&m->arena, sizeof *g);
    if (g == NULL) return HN_NOMEM(err);
    g->model = m;
    g->parent = parent;
    g->depth = depth;
    g->name = g->doc = "";
    hn_map_init(&g->names, m->alloc);
    m->graphs[m->n_graphs++] = g;
    if (parent == NULL && m->graph == NULL) m->graph = g;
    *out = g;
    return HONE_OK;
}

/* ---- values ---- */

hn_value *hn_graph_value(const hn_graph *g, const char *name) {
    for (int i = 0; i < g->n_values && g->model->unlisted; i++)
        if (!g->values[i]->dead && hn_same_name(g->values[i]->name, name)) return g->values[i];
    return hn_map_get(&g->names, name, strlen(name));
}

hn_value *hn_graph_find(const hn_graph *g, const char *name) {
    for (; g != NULL; g = g->parent) {
        hn_value *v = hn_graph_value(g, name);
        if (v != NULL) return v;
    }
    return NULL;
}

static bool list_name(hn_value *v) {
    return hn_map_put(&v->graph->model->taken, v->name, strlen(v->name), v) &&
           hn_map_put(&v->graph->names, v->name, strlen(v->name), v);
}

static hone_status list_names(hn_model *m, hn_error *err) {
    for (int k = 0; k < m->n_graphs && m->unlisted; k++)
        for (int i = 0; i < m->graphs[k]->n_values; i++) {
            hn_value *v = m->graphs[k]->values[i];
            if (!v->dead && !list_name(v)) return HN_NOMEM(err);
        }
    m->unlisted = false;
    return HONE_OK;
}

/* A name nobody in the model has: hint, then hint_1, hint_2 ... A long hint is cut. */
static const char *make_name(hn_model *m, const char *hint) {
    char buf[256];
    if (hint == NULL || hint[0] == '\0') hint = "v";
    int n = (int)strnlen(hint, 200);
    while (n > 0 && ((unsigned char)hint[n] & 0xc0) == 0x80) n--; /* not inside a character */
    snprintf(buf, sizeof buf, "%.*s", n, hint);
    while (hn_map_get(&m->taken, buf, strlen(buf)) != NULL)
        snprintf(buf, sizeof buf, "%.*s_%llu", n, hint, (unsigned long long)++m->n_made_up);
    return hn_arena_strdup(&m->arena, buf);
}

/* A value that is not yet among those of the graph, which has room for it. */
static hn_value *new_value(hn_graph *g, const char *name) {
    hn_model *m = g->model;
    hn_value *v = hn_arena_zero(&m->arena, sizeof *v);
    if (v == NULL ||
        !reserve(m->alloc, (void **)&g->values, &g->cap_values, g->n_values + 1, sizeof *g->values))
        return NULL;
    v->name = name;
    v->graph = g;
    v->id = g->n_values;
    v->type.shape.rank = -1;
    v->doc = "";
    return v;
}

hone_status hn_value_create(hn_value **out, hn_graph *g, const char *name, const char *hint,
                            hn_error *err) {
    hn_model *m = g->model;
    HN_TRY(list_names(m, err));
    HN_CHECK(err, name == NULL || hn_graph_value(g, name) == NULL, HONE_E_MODEL,
             "the name '%s' is given to two values of graph '%s'", name, g->name);
    const char *copy = name != NULL ? hn_arena_strdup(&m->arena, name) : make_name(m, hint);
    hn_value *v = copy != NULL ? new_value(g, copy) : NULL;
    if (v == NULL || !list_name(v)) return HN_NOMEM(err);
    g->values[g->n_values++] = v;
    *out = v;
    return HONE_OK;
}

hone_status hn_value_create_unlisted(hn_value **out, hn_graph *g, const char *name, hn_error *err) {
    assert(g->model->unlisted);
    hn_value *v = new_value(g, name);
    if (v == NULL) return HN_NOMEM(err);
    g->values[g->n_values++] = v;
    *out = v;
    return HONE_OK;
}

hone_status hn_value_rename(hn_value *v, const char *name, hn_error *err) {
    hn_graph *g = v->graph;
    HN_TRY(list_names(g->model, err));
    HN_CHECK(err, hn_graph_value(g, name) == NULL, HONE_E_MODEL,
             "the name '%s' is given to two values of graph '%s'", name, g->name);
    const char *copy = hn_arena_strdup(&g->model->arena, name);
    if (copy == NULL || !hn_map_put(&g->model->taken, copy, strlen(copy), v) ||
        !hn_map_put(&g->names, copy, strlen(copy), v))
        return HN_NOMEM(err);
    hn_map_remove(&g->names, v->name, strlen(v->name));
    v->name = copy;
    return HONE_OK;
}

void hn_value_set_constant(hn_value *v, hn_tensor *t) {
    hn_tensor_unref(v->constant);
    hn_tensor_unref(v->folded);
    v->constant = t;
    v->folded = NULL;
    v->n_known = 0;
    if (t == NULL) return;
    v->type.kind = HN_TYPE_TENSOR;
    v->type.dtype = t->dtype;
    v->type.shape = hn_shape_of(&v->graph->model->dims, t->rank, t->dims);
}

hone_status hn_value_create_constant(hn_value **out, hn_graph *g, const char *name,
                                     const char *hint, hn_tensor *t, hn_error *err) {
    hone_status status = hn_value_create(out, g, name, hint, err);
    if (status != HONE_OK)
        hn_tensor_unref(t);
    else
        hn_value_set_constant(*out, t);
    return status;
}

void hn_value_remove(hn_value *v) {
    assert(v->n_uses == 0 && v->producer == NULL && !v->dead);
    hn_map_remove(&v->graph->names, v->name, strlen(v->name));
    hn_value_set_constant(v, NULL);
    v->dead = true;
}

/* ---- use-lists ---- */

static void unlink_use(hn_use *u) {
    if (u->value == NULL) return;
    if (u->prev != NULL)
        u->prev->next = u->next;
    else
        u->value->uses = u->next;
    if (u->next != NULL) u->next->prev = u->prev;
    u->value->n_uses--;
    if (u->node == NULL) u->value->n_outputs--;
    u->value = NULL;
    u->prev = u->next = NULL;
}

static void link_use(hn_use *u, hn_value *v) {
    assert(u->value == NULL);
    if (v == NULL) return;
    u->value = v;
    u->prev = NULL;
    u->next = v->uses;
    if (v->uses != NULL) v->uses->prev = u;
    v->uses = u;
    v->n_uses++;
    if (u->node == NULL) v->n_outputs++;
}

/* Moves n slots to fresh memory. Slots point at each other, so they leave their lists and join
 * again. */
static void move_uses(hn_use *to, hn_use *from, int n) {
    for (int i = 0; i < n; i++) {
        hn_value *v = from[i].value;
        unlink_use(&from[i]);
        to[i] = from[i];
        link_use(&to[i], v);
    }
}

void hn_value_replace(hn_value *old, hn_value *by) {
    assert(old != by);
    while (old->uses != NULL) {
        hn_use *u = old->uses;
        if (u->node != NULL) hn_node_touch(u->node);
        unlink_use(u);
        link_use(u, by);
    }
}

hone_status hn_graph_add_input(hn_graph *g, hn_value *v, hn_error *err) {
    assert(v->graph == g && v->producer == NULL);
    HN_CHECK(err, !v->is_input, HONE_E_MODEL, "'%s' is listed twice as an input of graph '%s'",
             v->name, g->name);
    if (!reserve(g->model->alloc, (void **)&g->inputs, &g->cap_inputs, g->n_inputs + 1,
                 sizeof *g->inputs))
        return HN_NOMEM(err);
    v->is_input = true;
    g->inputs[g->n_inputs++] = v;
    return HONE_OK;
}

int hn_model_fix_defaults(hn_model *m) {
    hn_graph *g = m->graph;
    int kept = 0;
    for (int i = 0; i < g->n_inputs; i++) {
        hn_value *v = g->inputs[i];
        v->is_input = v->constant == NULL;
        if (v->is_input) g->inputs[kept++] = v;
    }
    int fixed = g->n_inputs - kept;
    g->n_inputs = kept;
    return fixed;
}

hone_status hn_graph_add_output(hn_graph *g, hn_value *v, hn_error *err) {
    if (g->n_outputs == g->cap_outputs) {
        int cap = g->cap_outputs == 0 ? 4 : g->cap_outputs * 2;
        hn_use *grown = hn_alloc_array(g->model->alloc, (size_t)cap, sizeof *grown, HN_MEM_MODEL);
        if (grown == NULL) return HN_NOMEM(err);
        move_uses(grown, g->outputs, g->n_outputs);
        hn_free(g->model->alloc, g->outputs);
        g->outputs = grown;
        g->cap_outputs = cap;
    }
    hn_use *u = &g->outputs[g->n_outputs];
    *u = (hn_use){.graph = g, .index = g->n_outputs};
    g->n_outputs++;
    link_use(u, v);
    return HONE_OK;
}

void hn_graph_set_output(hn_graph *g, int i, hn_value *v) {
    assert(i < g->n_outputs);
    unlink_use(&g->outputs[i]);
    link_use(&g->outputs[i], v);
}

/* ---- nodes ---- */

hone_status hn_node_create(hn_node **out, hn_graph *g, const char *domain, const char *op_type,
                           const char *name, int n_inputs, int n_outputs, hn_error *err) {
    hn_arena *arena = &g->model->arena;
    hn_node like = {.domain = hn_arena_strdup(arena, canonical_domain(domain)),
                    .op_type = hn_arena_strdup(arena, op_type),
                    .name = hn_arena_strdup(arena, name != NULL ? name : ""),
                    .n_inputs = n_inputs,
                    .n_outputs = n_outputs};
    if (like.domain == NULL || like.op_type == NULL || like.name == NULL) return HN_NOMEM(err);
    return hn_node_create_like(out, g, &like, err);
}

hone_status hn_node_create_like(hn_node **out, hn_graph *g, const hn_node *like, hn_error *err) {
    hn_arena *arena = &g->model->arena;
    hn_node *n = hn_arena_zero(arena, sizeof *n);
    if (n == NULL) return HN_NOMEM(err);
    n->graph = g;
    n->domain = like->domain;
    n->op_type = like->op_type;
    n->name = like->name;
    n->n_inputs = like->n_inputs;
    n->n_outputs = like->n_outputs;
    n->inputs = hn_arena_array(arena, (size_t)n->n_inputs, sizeof *n->inputs);
    n->outputs = hn_arena_array(arena, (size_t)n->n_outputs, sizeof *n->outputs);
    if (n->inputs == NULL || n->outputs == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n->n_inputs; i++)
        n->inputs[i] = (hn_use){.node = n, .graph = g, .index = i};
    n->doc = n->overload = "";
    n->opset = INT64_MAX;
    *out = n;
    return HONE_OK;
}

void hn_node_insert(hn_node *n, hn_node *before) {
    hn_graph *g = n->graph;
    assert(n->prev == NULL && n->next == NULL && g->first != n);
    assert(before == NULL || before->graph == g);
    n->next = before;
    n->prev = before != NULL ? before->prev : g->last;
    if (n->prev != NULL)
        n->prev->next = n;
    else
        g->first = n;
    if (before != NULL)
        before->prev = n;
    else
        g->last = n;
    g->n_nodes++;
}

void hn_node_touch(hn_node *n) {
    n->edited = true;
    n->formed = false;
    if (n->source != NULL) n->source->edited = true;
}

void hn_node_set_input(hn_node *n, int i, hn_value *v) {
    assert(i < n->n_inputs);
    hn_node_touch(n);
    unlink_use(&n->inputs[i]);
    link_use(&n->inputs[i], v);
}

hone_status hn_node_resize_inputs(hn_node *n, int n_inputs, hn_error *err) {
    hn_node_touch(n);
    for (int i = n_inputs; i < n->n_inputs; i++) unlink_use(&n->inputs[i]);
    if (n_inputs > n->n_inputs) {
        hn_use *grown = hn_arena_array(&n->graph->model->arena, (size_t)n_inputs, sizeof *grown);
        if (grown == NULL) return HN_NOMEM(err);
        move_uses(grown, n->inputs, n->n_inputs);
        for (int i = n->n_inputs; i < n_inputs; i++)
            grown[i] = (hn_use){.node = n, .graph = n->graph, .index = i};
        n->inputs = grown;
    }
    n->n_inputs = n_inputs;
    return HONE_OK;
}

void hn_node_set_output(hn_node *n, int i, hn_value *v) {
    assert(i < n->n_outputs);
    assert(v == NULL || (v->producer == NULL && v->constant == NULL && !v->is_input));
    hn_node_touch(n);
    if (n->outputs[i] != NULL) n->outputs[i]->producer = NULL;
    n->outputs[i] = v;
    if (v == NULL) return;
    v->producer = n;
    v->out_index = i;
}

void hn_node_remove(hn_node *n) {
    hn_node_touch(n);
    for (int i = 0; i < n->n_inputs; i++) unlink_use(&n->inputs[i]);
    for (int i = 0; i < n->n_outputs; i++) {
        hn_value *v = n->outputs[i];
        if (v == NULL) continue;
        n->outputs[i] = NULL;
        v->producer = NULL;
        if (v->n_uses == 0) hn_value_remove(v);
    }
    /* Nodes of subgraphs go too, so that they let go of the values around them. */
    int at = 0;
    for (hn_graph *g; (g = hn_node_subgraph(n, &at)) != NULL;) {
        for (int i = 0; i < g->n_outputs; i++) unlink_use(&g->outputs[i]);
        while (g->last != NULL) hn_node_remove(g->last);
    }
    release_attrs(n->attrs);
    release_source(n->source);
    n->source = NULL;
    hn_graph *g = n->graph;
    if (n->prev != NULL)
        n->prev->next = n->next;
    else
        g->first = n->next;
    if (n->next != NULL)
        n->next->prev = n->prev;
    else
        g->last = n->prev;
    n->prev = n->next = NULL;
    n->dead = true;
    g->n_nodes--;
}

hn_graph *hn_attrs_subgraph(const hn_attr *first, int *at) {
    int k = 0;
    for (const hn_attr *a = first; a != NULL; a = a->next) {
        int count = a->type == HN_ATTR_GRAPH ? 1 : a->type == HN_ATTR_GRAPHS ? a->n : 0;
        if (*at < k + count) {
            hn_graph *g = a->type == HN_ATTR_GRAPH ? a->u.graph : a->u.graphs[*at - k];
            ++*at;
            return g;
        }
        k += count;
    }
    return NULL;
}

hn_graph *hn_node_subgraph(const hn_node *n, int *at) { return hn_attrs_subgraph(n->attrs, at); }

const char *hn_node_label(const hn_node *n, char *buf, size_t size) {
    const char *op = n->op_type;
    if (n->name[0] != '\0') {
        snprintf(buf, size, "%.80s '%.200s'", op, n->name);
        return buf;
    }
    for (int i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] == NULL) continue;
        snprintf(buf, size, "%.80s (output '%.200s')", op, n->outputs[i]->name);
        return buf;
    }
    snprintf(buf, size, "%.80s", op);
    return buf;
}
