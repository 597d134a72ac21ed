#include "train/backward.h"

#include "ops/grad.h"
#include "ops/infer.h"

typedef struct walk {
    hn_graph *graph;
    bool *depends;    /* by id of value: on what is differentiated by */
    bool *matters;    /* by id: the loss depends on it */
    hn_value **grads; /* by id */
    int n;            /* values there were */
} walk;

static bool is_float(const hn_value *v) {
    return v->type.kind == HN_TYPE_TENSOR && hn_dtype_is_float(v->type.dtype);
}

/* Values of subgraphs are not followed: a node that owns some has no gradient. */
static void mark(walk *w, hn_value *loss) {
    for (hn_node *n = w->graph->first; n != NULL; n = n->next) {
        bool any = false;
        for (int i = 0; i < n->n_inputs && !any; i++) {
            const hn_value *v = hn_node_input(n, i);
            any = v != NULL && v->graph == w->graph && w->depends[v->id];
        }
        for (int i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != NULL)
                w->depends[n->outputs[i]->id] = any && is_float(n->outputs[i]);
    }
    w->matters[loss->id] = true;
    for (hn_node *n = w->graph->last; n != NULL; n = n->prev) {
        bool any = false;
        for (int i = 0; i < n->n_outputs && !any; i++)
            any = n->outputs[i] != NULL && w->matters[n->outputs[i]->id] &&
                  w->depends[n->outputs[i]->id];
        for (int i = 0; i < n->n_inputs && any; i++) {
            const hn_value *v = hn_node_input(n, i);
            if (v != NULL && v->graph == w->graph) w->matters[v->id] = true;
        }
    }
}

static hone_status add_to(walk *w, const hn_value *v, hn_value *grad, hn_error *err) {
    hn_value **sum = &w->grads[v->id];
    if (*sum == NULL) {
        *sum = grad;
        return HONE_OK;
    }
    hn_node *add;
    hn_value *out;
    HN_TRY(hn_node_create(&add, w->graph, "", "Add", "", 2, 1, err));
    HN_TRY(hn_value_create(&out, w->graph, NULL, "grad", err));
    add->op = hn_op_find("", "Add");
    hn_node_set_input(add, 0, *sum);
    hn_node_set_input(add, 1, grad);
    hn_node_set_output(add, 0, out);
    hn_node_insert(add, NULL);
    *sum = out;
    return HONE_OK;
}

/* Where the node lies, for messages. */
static hone_status with_path(const hn_node *n, hone_status status, hn_error *err) {
    const hn_value *in = NULL, *out = NULL;
    for (int i = 0; i < n->n_inputs && in == NULL; i++) in = hn_node_input(n, i);
    for (int i = 0; i < n->n_outputs && out == NULL; i++) out = n->outputs[i];
    if (status != HONE_OK && status != HONE_E_NOMEM)
        hn_error_context(err, "on the way from '%s' to '%s', which the loss depends on",
                         in != NULL ? in->name : "", out != NULL ? out->name : "");
    return status;
}

static hone_status differentiate(walk *w, const hn_node *n, hn_arena *scratch, hn_error *err) {
    size_t n_in = (size_t)n->n_inputs, n_out = (size_t)n->n_outputs;
    bool *wanted = hn_arena_array(scratch, n_in + 1, sizeof *wanted), any = false;
    hn_value **dx = hn_arena_array(scratch, n_in + 1, sizeof *dx);
    hn_value **dy = hn_arena_array(scratch, n_out + 1, sizeof *dy);
    if (wanted == NULL || dx == NULL || dy == NULL) return HN_NOMEM(err);
    hn_grad g = {.graph = w->graph, .node = n, .dy = dy, .wanted = wanted, .dx = dx};
    for (int i = 0; i < n->n_outputs; i++) {
        const hn_value *v = n->outputs[i];
        dy[i] = v != NULL && v->id < w->n ? w->grads[v->id] : NULL;
        any |= dy[i] != NULL;
        if (dy[i] != NULL && g.dtype == HONE_DTYPE_NONE) g.dtype = v->type.dtype;
    }
    if (!any) return HONE_OK;
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_value *v = hn_node_input(n, i);
        dx[i] = NULL;
        wanted[i] = v != NULL && v->graph == w->graph && w->depends[v->id];
    }
    HN_TRY(with_path(n, hn_grad_node(&g, err), err));
    for (int i = 0; i < n->n_inputs; i++)
        if (wanted[i] && dx[i] != NULL) HN_TRY(add_to(w, hn_node_input(n, i), dx[i], err));
    return HONE_OK;
}

/* The gradient of the loss by itself. */
static hone_status begin(walk *w, hn_value *loss, hn_error *err) {
    const hn_shape *s = &loss->type.shape;
    int64_t dims[HONE_MAX_RANK], n = 1;
    bool known = s->rank >= 0;
    for (int i = 0; known && i < s->rank; i++) {
        known = hn_dim_is_const(s->dim[i], &dims[i]);
        if (known) n *= dims[i];
    }
    char text[200];
    HN_CHECK(err, known && n == 1 && is_float(loss), HONE_E_SHAPE,
             "loss '%s' is %s, expected one float", loss->name,
             hn_shape_text(s, text, sizeof text));
    hn_tensor *one;
    HN_TRY(hn_tensor_create(&one, w->graph->model->alloc, HN_MEM_TENSOR, loss->type.dtype, s->rank,
                            dims, err));
    hn_store_f64(one->dtype, one->data, 0, 1);
    return hn_value_create_constant(&w->grads[loss->id], w->graph, NULL, "grad", one, err);
}

static hone_status walk_begin(walk *w, hn_graph *g, hn_value *loss, int n, hn_value *const *by,
                              hn_arena *scratch, hn_error *err) {
    *w = (walk){.graph = g, .n = g->n_values};
    w->depends = hn_arena_zero(scratch, (size_t)w->n * sizeof *w->depends);
    w->matters = hn_arena_zero(scratch, (size_t)w->n * sizeof *w->matters);
    w->grads = hn_arena_zero(scratch, (size_t)w->n * sizeof *w->grads);
    if (w->depends == NULL || w->matters == NULL || w->grads == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) w->depends[by[i]->id] = true;
    mark(w, loss);
    return HONE_OK;
}

static bool takes_part(const walk *w, const hn_node *n) {
    for (int i = 0; i < n->n_outputs; i++) {
        const hn_value *v = n->outputs[i];
        if (v != NULL && v->id < w->n && w->depends[v->id] && w->matters[v->id]) return true;
    }
    return false;
}

/* Puts simpler nodes in the place of those that take part and say so. */
static hone_status spell_out(walk *w, bool *any, hn_error *err) {
    hn_node *last = w->graph->last; /* of those there were */
    *any = false;
    for (hn_node *at = w->graph->first, *next; at != NULL; at = next) {
        next = at != last ? at->next : NULL;
        if (at->op == NULL || at->op->spell == NULL || !takes_part(w, at)) continue;
        hn_grad g = {.graph = w->graph, .node = at};
        bool left;
        HN_TRY(with_path(at, hn_grad_spell(&g, &left, err), err));
        if (left && takes_part(w, at))
            return with_path(at, hn_grad_refuse(&g, "not by this output", err), err);
        *any = true;
    }
    if (!*any) return HONE_OK;
    HN_TRY(hn_graph_sort(w->graph, NULL, err));
    return hn_model_infer(w->graph->model, NULL, err);
}

hone_status hn_backward(hn_graph *g, hn_value *loss, int n, hn_value *const *by, hn_value **grads,
                        hn_error *err) {
    hn_arena scratch;
    hn_arena_init(&scratch, g->model->alloc, HN_MEM_SCRATCH);
    walk w = {0};
    bool any = true;
    hone_status status = HONE_OK;
    while (any && status == HONE_OK) { /* what stands for a node may stand for others again */
        status = walk_begin(&w, g, loss, n, by, &scratch, err);
        if (status == HONE_OK) status = spell_out(&w, &any, err);
    }
    if (status == HONE_OK) status = begin(&w, loss, err);
    hn_node *last = g->last; /* of those there were */
    for (hn_node *at = last; at != NULL && status == HONE_OK; at = at->prev)
        status = differentiate(&w, at, &scratch, err);
    for (int i = 0; i < n && status == HONE_OK; i++) grads[i] = w.grads[by[i]->id];
    hn_arena_deinit(&scratch);
    return status;
}
