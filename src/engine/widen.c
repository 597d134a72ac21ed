#include "engine/widen.h"

#include "engine/layers.h"
#include "ops/infer.h"
#include "ops/nodes.h"

typedef struct widening {
    hn_graph *graph;
    hn_arena scratch;
    hn_value **wide; /* by id, of the values that were there before: the same in f32, or NULL */
    bool changed;
} widening;

static bool is_half(const hn_value *v) {
    return v != NULL && v->type.kind == HN_TYPE_TENSOR &&
           (v->type.dtype == HONE_DTYPE_F16 || v->type.dtype == HONE_DTYPE_BF16);
}

static bool is_constant(const hn_value *v) {
    return v->constant != NULL && !v->is_input && v->constant->data != NULL;
}

/* ---- which nodes ---- */

/* The type of 16 bits that n takes or makes; none: it has to do with no such type. */
static hone_dtype half_of(const hn_node *n) {
    for (int i = 0; i < n->n_inputs; i++)
        if (is_half(n->inputs[i].value)) return n->inputs[i].value->type.dtype;
    for (int i = 0; i < n->n_outputs; i++)
        if (is_half(n->outputs[i])) return n->outputs[i]->type.dtype;
    return HONE_DTYPE_NONE;
}

/* What inference says of n if its inputs were f32. */
static hone_status infer_wide(widening *w, const hn_node *n, hn_infer *c, hn_error *err) {
    *c = (hn_infer){.node = n,
                    .dims = &w->graph->model->dims,
                    .scratch = &w->scratch,
                    .n_in = n->n_inputs,
                    .n_out = n->n_outputs};
    c->in = hn_arena_array(&w->scratch, (size_t)n->n_inputs + 1, sizeof *c->in);
    c->out = hn_arena_array(&w->scratch, (size_t)n->n_outputs + 1, sizeof *c->out);
    if (c->in == NULL || c->out == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_value *v = n->inputs[i].value;
        c->in[i] = (hn_infer_in){.present = v != NULL, .shape = hn_shape_unknown()};
        if (v == NULL) continue;
        c->in[i].is_tensor = true;
        c->in[i].dtype = is_half(v) ? HONE_DTYPE_F32 : v->type.dtype;
        c->in[i].shape = v->type.shape;
    }
    for (int i = 0; i < n->n_outputs; i++)
        c->out[i] = (hn_infer_out){.wanted = n->outputs[i] != NULL};
    return hn_node_infer(c, err);
}

static bool is_plain(const hn_value *v) {
    return v == NULL ||
           (v->type.kind == HN_TYPE_TENSOR && (v->constant == NULL || v->constant->data != NULL));
}

static hone_status can_widen(widening *w, const hn_node *n, bool *yes, hn_error *err) {
    hn_infer c;
    hn_error why;
    *yes = false;
    if (n->op == NULL || n->old || (n->op->traits & HN_CONTROL) != 0 ||
        half_of(n) == HONE_DTYPE_NONE)
        return HONE_OK;
    for (int i = 0; i < n->n_inputs; i++)
        if (!is_plain(n->inputs[i].value)) return HONE_OK;
    for (int i = 0; i < n->n_outputs; i++)
        if (!is_plain(n->outputs[i])) return HONE_OK;
    hone_status status = infer_wide(w, n, &c, &why);
    if (status == HONE_E_NOMEM) return HN_NOMEM(err);
    if (status != HONE_OK) return HONE_OK;
    for (int i = 0; i < n->n_outputs; i++)
        if (is_half(n->outputs[i]) && c.out[i].dtype != HONE_DTYPE_F32) return HONE_OK;
    *yes = true;
    return HONE_OK;
}

/* ---- values ---- */

/* A Cast from x to y before `before`, NULL: at the end; for node n. */
static hone_status add_cast(hn_node *n, hn_value *x, hn_value *y, hone_dtype to, hn_node *before,
                            hn_error *err) {
    hn_node *cast;
    HN_TRY(hn_make_node(&cast, n, "Cast", 1, err));
    cast->name = ""; /* that is the node's */
    HN_TRY(hn_node_set_i(cast, "to", (int64_t)to, err));
    hn_node_insert(cast, before);
    hn_node_set_input(cast, 0, x);
    hn_node_set_output(cast, 0, y);
    return HONE_OK;
}

static hone_status widen_constant(const hn_value *v, hn_value **out, hn_error *err) {
    const hn_tensor *from = v->constant;
    hn_tensor *to;
    HN_TRY(hn_tensor_create(&to, v->graph->model->alloc, HN_MEM_DATA, HONE_DTYPE_F32, from->rank,
                            from->dims, err));
    hn_cast(from->dtype, from->data, HONE_DTYPE_F32, to->data, from->n, true);
    return hn_value_create_constant(out, v->graph, NULL, v->name, to, err);
}

/* v, an input of n, in f32. */
static hone_status widen_input(widening *w, hn_node *n, hn_value *v, hn_value **out,
                               hn_error *err) {
    hn_value **wide = &w->wide[v->id];
    if (*wide == NULL && is_constant(v)) {
        HN_TRY(widen_constant(v, wide, err));
    } else if (*wide == NULL) {
        hn_value *made;
        HN_TRY(hn_value_create(&made, w->graph, NULL, v->name, err));
        HN_TRY(add_cast(n, v, made, HONE_DTYPE_F32, n, err));
        *wide = made;
    }
    *out = *wide;
    return HONE_OK;
}

/* n computes output i in f32, and a Cast makes of it what it was. */
static hone_status widen_output(widening *w, hn_node *n, int i, hn_error *err) {
    hn_value *v = n->outputs[i], *made;
    HN_TRY(hn_value_create(&made, w->graph, NULL, v->name, err));
    hn_node_set_output(n, i, NULL);
    hn_node_set_output(n, i, made);
    w->wide[v->id] = made;
    return add_cast(n, made, v, v->type.dtype, n->next, err);
}

/* ---- the walk ---- */

/* Whether n makes bf16 of f32 for nothing but products that are widened. */
static hone_status only_narrows(widening *w, const hn_node *n, bool *yes, hn_error *err) {
    const hn_value *x = n->inputs[0].value, *y = n->outputs[0];
    *yes = x != NULL && x->type.kind == HN_TYPE_TENSOR && x->type.dtype == HONE_DTYPE_F32 &&
           is_half(y) && y->type.dtype == HONE_DTYPE_BF16;
    for (const hn_use *u = *yes ? y->uses : NULL; u != NULL && *yes; u = u->next) {
        const hn_node *at = u->node;
        *yes = at != NULL && at->graph == w->graph && hn_def_of(at)->role == HN_ROLE_PRODUCT;
        if (*yes) HN_TRY(can_widen(w, at, yes, err));
    }
    return HONE_OK;
}

/* Nothing is made for a Cast, which may be one of those made here: it takes what is there. */
static hone_status widen_cast(widening *w, hn_node *n, hn_error *err) {
    hn_value *v = n->inputs[0].value;
    bool narrows;
    HN_TRY(only_narrows(w, n, &narrows, err));
    if (narrows) {
        w->wide[n->outputs[0]->id] = v;
        return HONE_OK;
    }
    if (!is_half(v) || (w->wide[v->id] == NULL && !is_constant(v))) return HONE_OK;
    HN_TRY(widen_input(w, n, v, &v, err));
    hn_node_set_input(n, 0, v);
    w->changed = true;
    return HONE_OK;
}

static hone_status widen_node(widening *w, hn_node *n, hn_error *err) {
    bool yes;
    if (hn_is(n, "Cast")) return widen_cast(w, n, err);
    if (hn_is(n, "CastLike")) return HONE_OK; /* it rounds, as a Cast to the type does */
    HN_TRY(can_widen(w, n, &yes, err));
    if (!yes) return HONE_OK;
    w->changed = true;
    n->written = half_of(n);
    n->name = hn_arena_strdup(&w->graph->model->arena, hn_layer_name(n)); /* it keeps its own */
    if (n->name == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n->n_inputs; i++) {
        hn_value *v = n->inputs[i].value;
        if (!is_half(v)) continue;
        HN_TRY(widen_input(w, n, v, &v, err));
        hn_node_set_input(n, i, v);
    }
    for (int i = 0; i < n->n_outputs; i++)
        if (is_half(n->outputs[i])) HN_TRY(widen_output(w, n, i, err));
    return HONE_OK;
}

/* A constant that nothing reads any more leaves its name to what it became. */
static hone_status hand_names_on(widening *w, int n_values, hn_error *err) {
    for (int i = 0; i < n_values; i++) {
        hn_value *v = w->graph->values[i], *wide = w->wide[v->id];
        if (v->dead || wide == NULL || !is_constant(v) || v->n_uses > 0) continue;
        const char *name = v->name;
        hn_value_remove(v);
        HN_TRY(hn_value_rename(wide, name, err));
    }
    return HONE_OK;
}

hone_status hn_widen(hn_model *m, bool *changed, hn_error *err) {
    widening w = {.graph = m->graph};
    int n_values = m->graph->n_values;
    hone_status status = HONE_OK;
    hn_arena_init(&w.scratch, m->alloc, HN_MEM_OTHER);
    w.wide = hn_arena_array(&w.scratch, (size_t)m->graph->n_values + 1, sizeof *w.wide);
    if (w.wide == NULL) status = HN_NOMEM(err);
    for (hn_node *n = m->graph->first, *next; n != NULL && status == HONE_OK; n = next) {
        next = n->next;
        status = widen_node(&w, n, err);
    }
    if (status == HONE_OK) status = hand_names_on(&w, n_values, err);
    hn_arena_deinit(&w.scratch);
    *changed = w.changed;
    return status;
}
