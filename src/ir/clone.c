/* Copies of a model, or of some nodes of one, that share its constants. What a file needs and a
 * computation does not (docs, metadata, how nodes stood in the file) is left behind, and so are the
 * types of everything but the graph's inputs: inference finds them again. A whole copy, which is to
 * be saved itself, gets these after its graphs, but for how nodes stood in the file. */
#include <string.h>

#include "ir/ir.h"

/* The copies made so far of one graph's values; frames nest as the graphs do. */
typedef struct frame frame;
struct frame {
    const hn_graph *from;
    hn_graph *to;
    hn_value **copies; /* by id of the original */
    const frame *parent;
};

typedef struct copier {
    hn_model *to;
    hn_arena scratch;
    const hn_value **sources; /* of an extract: what its inputs stand for; NULL: it is none */
    bool whole;
    bool derived; /* names and attributes stay where they are */
    hn_map texts; /* domains and types of operators, one copy of each */
} copier;

static hn_value *copy_of(const frame *f, const hn_value *v) {
    if (v == NULL) return NULL;
    while (f->from != v->graph) f = f->parent;
    return f->copies[v->id];
}

static hn_shape copy_shape(hn_dims *t, const hn_shape *s) {
    hn_shape out = {.rank = s->rank};
    for (int i = 0; i < s->rank; i++) {
        int64_t v;
        const char *name;
        if (hn_dim_is_const(s->dim[i], &v))
            out.dim[i] = hn_dim_const(t, v);
        else if (!hn_dim_is_fresh(s->dim[i]) && hn_dim_is_symbol(s->dim[i], &name))
            out.dim[i] = hn_dim_symbol(t, name);
        else
            out.dim[i] = hn_dim_fresh(t, -1);
    }
    return out;
}

static hone_status copy_value(const copier *c, const frame *f, const hn_value *v, hn_value **out,
                              hn_error *err) {
    if (c->derived) {
        HN_TRY(hn_value_create_unlisted(out, f->to, v->name, err));
    } else {
        bool taken = hn_graph_find(f->to, v->name) != NULL; /* where nodes join others */
        HN_TRY(hn_value_create(out, f->to, taken ? NULL : v->name, v->name, err));
    }
    if (v->constant != NULL) hn_value_set_constant(*out, hn_tensor_ref(v->constant));
    f->copies[v->id] = *out;
    return HONE_OK;
}

static hone_status copy_graph(copier *c, const hn_graph *from, const frame *parent, hn_node *owner,
                              hn_graph **out, hn_error *err);

static hone_status copy_graphs(copier *c, const frame *f, const hn_attr *a, hn_attr *b, hn_node *n,
                               hn_error *err) {
    if (a->type == HN_ATTR_GRAPH) return copy_graph(c, a->u.graph, f, n, &b->u.graph, err);
    b->u.graphs = hn_arena_array(&c->to->arena, (size_t)a->n, sizeof *b->u.graphs);
    if (b->u.graphs == NULL) return HN_NOMEM(err);
    for (int i = 0; i < a->n; i++)
        HN_TRY(copy_graph(c, a->u.graphs[i], f, n, &b->u.graphs[i], err));
    return HONE_OK;
}

static hone_status copy_array(hn_arena *arena, const void *from, int n, size_t size,
                              const void *out, hn_error *err) {
    void *to = hn_arena_array(arena, (size_t)n, size);
    if (to == NULL) return HN_NOMEM(err);
    if (n > 0) memcpy(to, from, (size_t)n * size);
    memcpy((void *)out, &to, sizeof to);
    return HONE_OK;
}

static hone_status copy_text(hn_arena *arena, hn_str from, hn_str *to, hn_error *err) {
    to->p = hn_arena_strndup(arena, from.p, from.n);
    to->n = from.n;
    return to->p != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status copy_texts(hn_arena *arena, const hn_attr *a, hn_attr *b, hn_error *err) {
    hn_str *texts = hn_arena_array(arena, (size_t)a->n, sizeof *texts);
    if (texts == NULL) return HN_NOMEM(err);
    for (int i = 0; i < a->n; i++) HN_TRY(copy_text(arena, a->u.strings[i], &texts[i], err));
    b->u.strings = texts;
    return HONE_OK;
}

/* Another attribute, behind those n has; its type is none yet. */
static hone_status append_attr(const copier *c, hn_node *n, const char *name, hn_attr **out,
                               hn_error *err) {
    hn_attr **end = &n->attrs;
    while (*end != NULL) end = &(*end)->next;
    *out = hn_arena_zero(&c->to->arena, sizeof **out);
    if (*out == NULL) return HN_NOMEM(err);
    (*out)->name = c->derived ? name : hn_arena_strdup(&c->to->arena, name);
    (*out)->doc = "";
    *end = *out;
    return (*out)->name != NULL ? HONE_OK : HN_NOMEM(err);
}

/* Texts and numbers in lists. */
static bool is_list(hn_attr_type t) {
    return t == HN_ATTR_STRING || t == HN_ATTR_STRINGS || t == HN_ATTR_FLOATS || t == HN_ATTR_INTS;
}

static hone_status copy_attr(copier *c, const frame *f, const hn_attr *a, hn_node *n,
                             hn_error *err) {
    hn_arena *arena = &c->to->arena;
    hn_attr *b;
    /* No operator that runs has one. */
    if (a->type == HN_ATTR_TYPE_PROTO || a->type == HN_ATTR_TYPE_PROTOS) return HONE_OK;
    /* The type is set last: until then a failure leaves nothing to release. */
    HN_TRY(append_attr(c, n, a->name, &b, err));
    switch (c->derived && is_list(a->type) ? HN_ATTR_NONE : a->type) {
        case HN_ATTR_STRING: HN_TRY(copy_text(arena, a->u.s, &b->u.s, err)); break;
        case HN_ATTR_STRINGS: HN_TRY(copy_texts(arena, a, b, err)); break;
        case HN_ATTR_FLOATS:
            HN_TRY(copy_array(arena, a->u.floats, a->n, sizeof(float), &b->u.floats, err));
            break;
        case HN_ATTR_INTS:
            HN_TRY(copy_array(arena, a->u.ints, a->n, sizeof(int64_t), &b->u.ints, err));
            break;
        case HN_ATTR_TENSOR:
        case HN_ATTR_SPARSE_TENSOR: b->u.tensor = hn_tensor_ref(a->u.tensor); break;
        case HN_ATTR_TENSORS:
        case HN_ATTR_SPARSE_TENSORS:
            HN_TRY(copy_array(arena, a->u.tensors, a->n, sizeof(hn_tensor *), &b->u.tensors, err));
            for (int i = 0; i < a->n; i++) hn_tensor_ref(b->u.tensors[i]);
            break;
        case HN_ATTR_GRAPH:
        case HN_ATTR_GRAPHS: HN_TRY(copy_graphs(c, f, a, b, n, err)); break;
        default: b->u = a->u; break;
    }
    b->type = a->type;
    b->n = a->n;
    return HONE_OK;
}

/* Nodes that share a text are compared sooner. */
static const char *one_copy(copier *c, const char *text) {
    size_t n = strlen(text);
    char *copy = hn_map_get(&c->texts, text, n);
    if (copy != NULL) return copy;
    copy = hn_arena_strdup(&c->to->arena, text);
    return copy != NULL && hn_map_put(&c->texts, copy, n, copy) ? copy : NULL;
}

static hone_status copy_node(copier *c, const frame *f, const hn_node *from, hn_error *err) {
    hn_node *n;
    hn_node like = *from;
    if (!c->derived) {
        like.domain = one_copy(c, from->domain);
        like.op_type = one_copy(c, from->op_type);
        like.name = hn_arena_strdup(&c->to->arena, from->name);
        if (like.domain == NULL || like.op_type == NULL || like.name == NULL) return HN_NOMEM(err);
    }
    HN_TRY(hn_node_create_like(&n, f->to, &like, err));
    hn_node_insert(n, NULL);
    for (int i = 0; i < from->n_inputs; i++)
        hn_node_set_input(n, i, copy_of(f, from->inputs[i].value));
    for (const hn_attr *a = from->attrs; a != NULL; a = a->next) HN_TRY(copy_attr(c, f, a, n, err));
    for (int i = 0; i < from->n_outputs; i++) {
        hn_value *v;
        if (from->outputs[i] == NULL) continue;
        HN_TRY(copy_value(c, f, from->outputs[i], &v, err));
        hn_node_set_output(n, i, v);
    }
    n->op = from->op;
    n->opset = from->opset;
    n->old = from->old;
    n->written = from->written;
    n->formed = from->formed;
    return HONE_OK;
}

static hone_status copy_input(copier *c, const frame *f, const hn_value *from, hn_error *err) {
    hn_value *v;
    HN_TRY(copy_value(c, f, from, &v, err));
    v->type.kind = from->type.kind;
    v->type.dtype = from->type.dtype;
    v->type.shape = copy_shape(&c->to->dims, &from->type.shape);
    return hn_graph_add_input(f->to, v, err);
}

/* ---- what a file needs ---- */

/* Texts and bytes that a model has and its copy is to have; NULL stays NULL. */
static bool carry_text(copier *c, const char *from, const char **to) {
    if (from != NULL) *to = hn_arena_strdup(&c->to->arena, from);
    return from == NULL || *to != NULL;
}

static bool carry_bytes(copier *c, hn_bytes from, hn_bytes *to) {
    if (from.n == 0) return true;
    *to = (hn_bytes){hn_arena_strndup(&c->to->arena, from.p, from.n), from.n};
    return to->p != NULL;
}

static bool carry_props(copier *c, const hn_props *from, hn_props *to) {
    if (from->n == 0) return true;
    hn_prop *v = hn_arena_array(&c->to->arena, (size_t)from->n, sizeof *v);
    bool good = v != NULL;
    for (int i = 0; i < from->n && good; i++)
        good = carry_text(c, from->v[i].key, &v[i].key) &&
               carry_text(c, from->v[i].value, &v[i].value);
    *to = (hn_props){from->n, v};
    return good;
}

static bool carry_stated(copier *c, const hn_type *from, const hn_type **to) {
    if (from == NULL) return true;
    hn_type *t = hn_arena_zero(&c->to->arena, sizeof *t);
    if (t == NULL) return false;
    *t = (hn_type){.kind = from->kind,
                   .dtype = from->dtype,
                   .shape = copy_shape(&c->to->dims, &from->shape),
                   .n_denotations = from->n_denotations};
    *to = t;
    if (!carry_bytes(c, from->other, &t->other) || !carry_text(c, from->denotation, &t->denotation))
        return false;
    if (from->dim_denotations == NULL) return true;
    const char **axes = hn_arena_array(&c->to->arena, (size_t)from->n_denotations, sizeof *axes);
    bool good = axes != NULL;
    for (int i = 0; i < from->n_denotations && good; i++)
        good = carry_text(c, from->dim_denotations[i], &axes[i]);
    t->dim_denotations = axes;
    return good;
}

static bool carry_value(copier *c, const hn_value *from, hn_value *to) {
    to->declared = from->declared;
    to->lifted = from->lifted;
    return carry_stated(c, from->stated, &to->stated) && carry_text(c, from->doc, &to->doc) &&
           carry_props(c, &from->metadata, &to->metadata) &&
           carry_bytes(c, from->extra, &to->extra);
}

static bool carry_node(copier *c, const hn_node *from, hn_node *to) {
    hn_node_touch(to);
    return carry_text(c, from->doc, &to->doc) && carry_text(c, from->overload, &to->overload) &&
           carry_props(c, &from->metadata, &to->metadata) &&
           carry_bytes(c, from->extra, &to->extra);
}

static bool carry_graph(copier *c, const frame *f) {
    const hn_graph *from = f->from;
    hn_graph *to = f->to;
    bool good = carry_text(c, from->doc, &to->doc) &&
                carry_props(c, &from->metadata, &to->metadata) &&
                carry_bytes(c, from->extra, &to->extra);
    for (int i = 0; i < from->n_values && good; i++)
        if (f->copies[i] != NULL) good = carry_value(c, from->values[i], f->copies[i]);
    hn_node *copy = to->first;
    for (const hn_node *n = from->first; n != NULL && good; n = n->next, copy = copy->next)
        good = carry_node(c, n, copy);
    return good;
}

static bool carry_model(copier *c, const hn_model *from) {
    hn_model *to = c->to;
    to->model_version = from->model_version;
    return carry_text(c, from->producer_name, &to->producer_name) &&
           carry_text(c, from->producer_version, &to->producer_version) &&
           carry_text(c, from->domain, &to->domain) && carry_text(c, from->doc, &to->doc) &&
           carry_text(c, from->path, &to->path) && carry_props(c, &from->metadata, &to->metadata) &&
           carry_bytes(c, from->extra, &to->extra);
}

/* ---- graphs ---- */

static hone_status copy_graph(copier *c, const hn_graph *from, const frame *parent, hn_node *owner,
                              hn_graph **out, hn_error *err) {
    hn_graph *g;
    HN_TRY(hn_graph_create(&g, c->to, parent != NULL ? parent->to : NULL, err));
    *out = g;
    g->owner = owner;
    g->name = hn_arena_strdup(&c->to->arena, from->name);
    frame f = {.from = from, .to = g, .parent = parent};
    f.copies = hn_arena_array(&c->scratch, (size_t)from->n_values, sizeof *f.copies);
    if (g->name == NULL || f.copies == NULL) return HN_NOMEM(err);
    for (int i = 0; i < from->n_inputs; i++) HN_TRY(copy_input(c, &f, from->inputs[i], err));
    for (int i = 0; i < from->n_values; i++) {
        const hn_value *v = from->values[i];
        hn_value *copy;
        if (v->dead || v->constant == NULL || v->is_input) continue;
        HN_TRY(copy_value(c, &f, v, &copy, err));
    }
    for (const hn_node *n = from->first; n != NULL; n = n->next) HN_TRY(copy_node(c, &f, n, err));
    for (int i = 0; i < from->n_outputs; i++)
        HN_TRY(hn_graph_add_output(g, copy_of(&f, from->outputs[i].value), err));
    return !c->whole || carry_graph(c, &f) ? HONE_OK : HN_NOMEM(err);
}

static hone_status begin(copier *c, const hn_model *m, hn_allocator *alloc, hn_error *err) {
    hone_status status;
    HN_TRY(hn_model_create(&c->to, alloc, err));
    c->to->ir_version = m->ir_version;
    for (int i = 0; i < m->n_opsets; i++)
        HN_TRY_GOTO(hn_model_set_opset(c->to, m->opsets[i].domain, m->opsets[i].version, err));
    hn_arena_init(&c->scratch, alloc, HN_MEM_MODEL);
    hn_map_init(&c->texts, alloc);
    return HONE_OK;
fail:
    hn_model_destroy(c->to);
    return status;
}

/* Hands over what was made, or takes it back. */
static hone_status end(copier *c, hone_status status, hn_model **out) {
    hn_arena_deinit(&c->scratch);
    hn_map_deinit(&c->texts);
    if (status == HONE_OK)
        *out = c->to;
    else
        hn_model_destroy(c->to);
    return status;
}

hone_status hn_model_clone(hn_model **out, const hn_model *m, hn_allocator *alloc, hn_error *err) {
    copier c = {0};
    hn_graph *g;
    HN_TRY(begin(&c, m, alloc, err));
    return end(&c, copy_graph(&c, m->graph, NULL, NULL, &g, err), out);
}

hone_status hn_model_derive(hn_model **out, const hn_model *m, hn_allocator *alloc, hn_error *err) {
    copier c = {.derived = true};
    hn_graph *g;
    HN_TRY(begin(&c, m, alloc, err));
    c.to->unlisted = true;
    return end(&c, copy_graph(&c, m->graph, NULL, NULL, &g, err), out);
}

hone_status hn_model_copy(hn_model **out, const hn_model *m, hn_allocator *alloc, hn_error *err) {
    copier c = {.whole = true};
    hn_graph *g;
    HN_TRY(begin(&c, m, alloc, err));
    hone_status status = carry_model(&c, m) ? HONE_OK : HN_NOMEM(err);
    if (status == HONE_OK) status = copy_graph(&c, m->graph, NULL, NULL, &g, err);
    return end(&c, status, out);
}

/* ---- some nodes of a graph ---- */

/* A value from outside of the nodes taken: a constant stays one, all else becomes an input. */
static hone_status copy_source(copier *c, const frame *f, const hn_value *v, hn_error *err) {
    if (v == NULL || v->graph->depth > f->from->depth || copy_of(f, v) != NULL) return HONE_OK;
    const frame *home = f;
    while (home->from != v->graph) home = home->parent;
    hn_value *copy;
    if (v->constant != NULL && !v->is_input) return copy_value(c, home, v, &copy, err);
    assert(c->sources != NULL);
    c->sources[f->to->n_inputs] = v;
    return copy_input(c, home, v, err);
}

static hone_status copy_sources(copier *c, const frame *f, const hn_node *n, hn_error *err) {
    for (int i = 0; i < n->n_inputs; i++) HN_TRY(copy_source(c, f, n->inputs[i].value, err));
    int at = 0;
    for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) {
        for (const hn_node *m = sub->first; m != NULL; m = m->next)
            HN_TRY(copy_sources(c, f, m, err));
        for (int i = 0; i < sub->n_outputs; i++)
            HN_TRY(copy_source(c, f, sub->outputs[i].value, err));
    }
    return HONE_OK;
}

static hone_status extract(copier *c, const frame *f, const bool *take, int n_outputs,
                           const hn_value *const *outputs, hn_error *err) {
    const hn_graph *g = f->from;
    for (int i = 0; i < g->n_inputs && take == NULL; i++) {
        c->sources[i] = g->inputs[i];
        HN_TRY(copy_input(c, f, g->inputs[i], err));
    }
    int k = 0;
    for (const hn_node *n = g->first; n != NULL; n = n->next, k++) {
        if (take != NULL && !take[k]) continue;
        HN_TRY(copy_sources(c, f, n, err));
        HN_TRY(copy_node(c, f, n, err));
    }
    for (int i = 0; i < n_outputs; i++) {
        HN_TRY(copy_source(c, f, outputs[i], err));
        HN_TRY(hn_graph_add_output(f->to, copy_of(f, outputs[i]), err));
    }
    return HONE_OK;
}

/* A frame for the graph and for each around it, all of which are copied to one. */
static hone_status extract_frames(copier *c, const hn_graph *g, frame *frames, hn_error *err) {
    size_t n = 0;
    hn_graph *to;
    HN_TRY(hn_graph_create(&to, c->to, NULL, err));
    to->name = hn_arena_strdup(&c->to->arena, g->name);
    bool made = to->name != NULL;
    for (frame *f = frames; g != NULL; g = g->parent, f++) {
        *f = (frame){.from = g, .to = to, .parent = g->parent != NULL ? f + 1 : NULL};
        f->copies = hn_arena_array(&c->scratch, (size_t)g->n_values + 1, sizeof *f->copies);
        made = made && f->copies != NULL;
        n += (size_t)g->n_values;
    }
    c->sources = hn_arena_array(&c->to->arena, n + 1, sizeof *c->sources);
    return made && c->sources != NULL ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_model_extract(hn_model **out, const hn_value *const **inputs, const hn_graph *g,
                             const bool *take, int n_outputs, const hn_value *const *outputs,
                             hn_allocator *alloc, hn_error *err) {
    copier c = {0};
    frame frames[HN_MAX_DEPTH + 1];
    HN_TRY(begin(&c, g->model, alloc, err));
    hone_status status = extract_frames(&c, g, frames, err);
    if (status == HONE_OK) status = extract(&c, frames, take, n_outputs, outputs, err);
    if (status == HONE_OK) *inputs = c.sources;
    return end(&c, status, out);
}

/* ---- nodes that join others ---- */

hone_status hn_graph_graft(hn_graph *g, const hn_graph *from, const bool *take, hn_value **copies,
                           hn_error *err) {
    copier c = {.to = g->model};
    const frame f = {.from = from, .to = g, .copies = copies};
    hone_status status = HONE_OK;
    int k = 0;
    hn_arena_init(&c.scratch, g->model->alloc, HN_MEM_MODEL);
    hn_map_init(&c.texts, g->model->alloc);
    for (const hn_node *n = from->first; n != NULL && status == HONE_OK; n = n->next, k++) {
        if (!take[k]) continue;
        status = copy_sources(&c, &f, n, err);
        if (status == HONE_OK) status = copy_node(&c, &f, n, err);
    }
    hn_arena_deinit(&c.scratch);
    hn_map_deinit(&c.texts);
    return status;
}
