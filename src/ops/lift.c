/* Lifting, and forms at older opsets. The rules themselves are in lift_rules.c, what was merely
 * added in history.c. */
#include "ops/lift.h"

#include <limits.h>
#include <string.h>

/* The oldest opset forms are lowered to; below it a node is saved only as it came. */
#define OLDEST_OPSET 7

/* Operators that were called otherwise before. */
static const struct renamed {
    const char *now, *then;
    int since; /* opset in which the old name appeared */
} renamed[] = {{"Resize", "Upsample", 1}, {"ScatterElements", "Scatter", 9}};
#define N_RENAMED ((int)(sizeof renamed / sizeof *renamed))

static bool is_for(const hn_lift_rule *r, const char *op) {
    return strcmp(r->op, op) == 0 || strcmp(r->op, "*") == 0;
}

/* ---- lifting ---- */

/* The next change that makes lifting necessary: the first after the node's opset, or the one that
 * follows `last`. */
static const hn_lift_rule *next_rule(const hn_node *n, const hn_lift_rule *last) {
    const hn_lift_rule *best = NULL;
    for (int i = 0; i < hn_n_lift_rules; i++) {
        const hn_lift_rule *r = &hn_lift_rules[i];
        if (r->lift == NULL || r->to <= n->opset || !is_for(r, n->op_type)) continue;
        if (last != NULL && (r->to < last->to || (r->to == last->to && r <= last))) continue;
        if (best == NULL || r->to < best->to) best = r;
    }
    return best;
}

static hn_attr *copy_attrs(const hn_attr *from, hn_arena *arena, bool own, bool *ok) {
    hn_attr *first = NULL, **at = &first;
    for (; from != NULL; from = from->next) {
        hn_attr *a = hn_arena_alloc(arena, sizeof *a);
        if (a == NULL) {
            *ok = false;
            return first;
        }
        *a = *from;
        a->next = NULL;
        if (own && (a->type == HN_ATTR_TENSOR || a->type == HN_ATTR_SPARSE_TENSOR))
            hn_tensor_ref(a->u.tensor);
        if (own && (a->type == HN_ATTR_TENSORS || a->type == HN_ATTR_SPARSE_TENSORS)) {
            hn_tensor **list = hn_arena_array(arena, (size_t)a->n + 1, sizeof *list);
            if (list == NULL) {
                a->n = 0;
                *ok = false;
            }
            for (int i = 0; i < a->n; i++) list[i] = hn_tensor_ref(a->u.tensors[i]);
            a->u.tensors = list;
        }
        *at = a;
        at = &a->next;
    }
    return first;
}

/* The node as it stands now. own: the form holds references to tensors. */
static hone_status form_of(const hn_node *n, hn_arena *arena, bool own, hn_form *f, hn_error *err) {
    bool ok = true;
    *f = (hn_form){.op_type = n->op_type, .n_inputs = n->n_inputs, .n_outputs = n->n_outputs};
    f->attrs = copy_attrs(n->attrs, arena, own, &ok);
    f->inputs = hn_arena_array(arena, (size_t)n->n_inputs + 1, sizeof *f->inputs);
    f->outputs = hn_arena_array(arena, (size_t)n->n_outputs + 1, sizeof *f->outputs);
    if (f->inputs == NULL || f->outputs == NULL) ok = false;
    for (int i = 0; ok && i < n->n_inputs; i++) f->inputs[i] = n->inputs[i].value;
    for (int i = 0; ok && i < n->n_outputs; i++) f->outputs[i] = n->outputs[i];
    return ok ? HONE_OK : HN_NOMEM(err);
}

/* A form that may be changed without changing `from`. */
static hone_status copy_form(const hn_form *from, hn_arena *arena, hn_form *f, hn_error *err) {
    bool ok = true;
    *f = *from;
    f->attrs = copy_attrs(from->attrs, arena, false, &ok);
    f->inputs = hn_arena_array(arena, (size_t)from->n_inputs + 1, sizeof *f->inputs);
    f->outputs = hn_arena_array(arena, (size_t)from->n_outputs + 1, sizeof *f->outputs);
    if (!ok || f->inputs == NULL || f->outputs == NULL) return HN_NOMEM(err);
    for (int i = 0; i < from->n_inputs; i++) f->inputs[i] = from->inputs[i];
    for (int i = 0; i < from->n_outputs; i++) f->outputs[i] = from->outputs[i];
    return HONE_OK;
}

/* A value lifting made and nobody needs any more. */
static void drop_unused(hn_value *v) {
    if (v != NULL && v->lifted && !v->dead && v->n_uses == 0 && v->producer == NULL)
        hn_value_remove(v);
}

/* Takes a node that joined n out again; outputs of the source survive it. */
static void take_out(hn_node *m) {
    for (int i = 0; i < m->n_outputs; i++) {
        hn_value *v = m->outputs[i];
        hn_node_set_output(m, i, NULL);
        drop_unused(v);
    }
    for (int i = 0; i < m->n_inputs; i++) {
        hn_value *v = m->inputs[i].value;
        hn_node_set_input(m, i, NULL);
        drop_unused(v);
    }
    hn_node_remove(m);
}

/* A rule refused: the node becomes what it was before lifting began, still old. */
static hone_status put_back(hn_node *n, hn_error *err) {
    hn_source *s = n->source;
    for (int i = 0; i < n->n_outputs; i++) {
        hn_value *v = n->outputs[i];
        hn_node_set_output(n, i, NULL);
        drop_unused(v);
    }
    for (int i = 0; i < n->n_inputs; i++) {
        hn_value *v = n->inputs[i].value;
        hn_node_set_input(n, i, NULL);
        drop_unused(v);
    }
    /* Nodes that joined stand around it, the users of a value after its producer. */
    while (n->next != NULL && n->next->source == s) take_out(n->next);
    while (n->prev != NULL && n->prev->source == s) take_out(n->prev);
    HN_TRY(hn_node_resize_inputs(n, s->form.n_inputs, err));
    for (int i = 0; i < s->form.n_inputs; i++) hn_node_set_input(n, i, s->form.inputs[i]);
    n->n_outputs = s->form.n_outputs; /* rules only take outputs away */
    for (int i = 0; i < n->n_outputs; i++) hn_node_set_output(n, i, s->form.outputs[i]);
    while (n->attrs != NULL) hn_node_remove_attr(n, n->attrs->name);
    n->attrs = s->form.attrs;
    n->op_type = s->form.op_type;
    n->source = NULL;
    n->old = true;
    return HONE_OK;
}

hone_status hn_lift_node(hn_node *n, hn_error *err) {
    if (!n->old) return HONE_OK;
    n->old = n->edited = false;
    const hn_lift_rule *r = n->domain[0] == '\0' ? next_rule(n, NULL) : NULL;
    if (r == NULL) return HONE_OK;
    /* Every operator with a rule takes an input and gives an output; the rules count on the slots.
     */
    char whose[320];
    HN_CHECK(err, n->n_inputs > 0 && n->n_outputs > 0, HONE_E_MODEL,
             "%s has %d inputs and %d outputs, expected at least one of each",
             hn_node_label(n, whose, sizeof whose), n->n_inputs, n->n_outputs);
    hn_arena *arena = &n->graph->model->arena;
    hn_source *s = hn_arena_zero(arena, sizeof *s);
    if (s == NULL) return HN_NOMEM(err);
    s->opset = n->opset;
    s->n_nodes = 1;
    n->source = s; /* from here on the model releases it */
    HN_TRY(form_of(n, arena, true, &s->form, err));
    for (; r != NULL; r = next_rule(n, r)) {
        hone_status status = r->lift(n, err);
        if (status == HONE_OK) continue;
        char label[320];
        hn_error_context(err, "%s of opset %lld", hn_node_label(n, label, sizeof label),
                         (long long)n->opset);
        if (status != HONE_E_NOMEM) HN_TRY(put_back(n, err));
        return status;
    }
    n->op = hn_op_find(n->domain, n->op_type);
    s->edited = false;
    return HONE_OK;
}

/* ---- which sources are as they came ---- */

static bool is_source_output(const hn_source *s, const hn_value *v) {
    for (int i = 0; i < s->form.n_outputs; i++)
        if (s->form.outputs[i] == v) return true;
    return false;
}

/* The use is by another node of the source, or by the end of a subgraph it made. */
static bool is_inside(const hn_use *u, const hn_source *s) {
    const hn_node *user = u->node != NULL ? u->node : u->graph->owner;
    return user != NULL && user->source == s;
}

/* What n became of its source still computes what the source says, and nothing else looks inside.
 */
static bool intact(const hn_node *n) {
    const hn_source *s = n->source;
    for (int i = 0; i < s->form.n_inputs; i++)
        if (s->form.inputs[i] != NULL && s->form.inputs[i]->dead) return false;
    for (int i = 0; i < s->form.n_outputs; i++) {
        const hn_value *v = s->form.outputs[i];
        if (v == NULL) continue;
        /* An output that lifting found unused has no producer. */
        bool ours = v->producer != NULL ? v->producer->source == s : v->n_uses == 0;
        if (v->dead || !ours) return false;
    }
    for (int i = 0; i < n->n_outputs; i++) {
        const hn_value *v = n->outputs[i];
        if (v == NULL || is_source_output(s, v)) continue;
        if (v->n_uses == 0) return false;
        for (const hn_use *u = v->uses; u != NULL; u = u->next)
            if (!is_inside(u, s)) return false;
    }
    return true;
}

void hn_lift_settle(hn_model *m) {
    for (int i = 0; i < m->n_graphs; i++)
        for (hn_node *n = m->graphs[i]->first; n != NULL; n = n->next)
            if (n->source != NULL && !n->source->edited && !intact(n)) n->source->edited = true;
}

/* ---- forms ---- */

/* The form is the same at both opsets. */
static bool same_form(const char *op, int64_t a, int64_t b) {
    if (a != b && (a < OLDEST_OPSET || b < OLDEST_OPSET)) return false;
    for (int i = 0; i < hn_n_lift_rules; i++) {
        const hn_lift_rule *r = &hn_lift_rules[i];
        if (is_for(r, op) && (r->to > a) != (r->to > b)) return false;
    }
    return true;
}

/* The operator exists at the opset, if need be by its old name. */
static hone_status check_exists(const hn_node *n, const char *op_type, int64_t opset, int64_t *need,
                                hn_error *err) {
    const hn_op_def *op = hn_op_find("", op_type);
    int since = op != NULL ? hn_op_first_version(op) : 0;
    for (int i = 0; i < N_RENAMED; i++)
        if (strcmp(renamed[i].now, op_type) == 0 || strcmp(renamed[i].then, op_type) == 0)
            since = renamed[i].since;
    if (since <= opset) return HONE_OK;
    char label[320];
    *need = since;
    return hn_fail(err, HONE_E_UNSUPPORTED,
                   "%s: the operator exists from opset %d on, the model is to be saved at %lld",
                   hn_node_label(n, label, sizeof label), since, (long long)opset);
}

/* Takes a form of the newest semantics down to the opset, the newest rule first. */
static hone_status lower(const hn_node *n, hn_form *f, int64_t opset, hn_arena *arena,
                         int64_t *need, hn_error *err) {
    for (int at = INT_MAX;;) {
        const hn_lift_rule *r = NULL;
        for (int i = 0; i < hn_n_lift_rules; i++) {
            const hn_lift_rule *x = &hn_lift_rules[i];
            if (x->to >= at || x->to <= opset || x->lower == NULL || !is_for(x, f->op_type))
                continue;
            if (r == NULL || x->to > r->to) r = x;
        }
        if (r == NULL) return HONE_OK;
        at = r->to;
        hone_status status = r->lower(n, f, arena, err);
        if (status == HONE_OK) continue;
        char label[320];
        if (status == HONE_E_UNSUPPORTED) {
            *need = r->to;
            hn_error_context(err, "%s cannot be saved below opset %d",
                             hn_node_label(n, label, sizeof label), r->to);
        }
        return status;
    }
}

/* The form a node had when it was read; *opset is the one it was read at. False: it has another
 * meaning now, or at the opset `to`. */
static bool came_as(const hn_node *n, int64_t to, hn_form *f, int64_t *opset, hn_arena *arena,
                    hone_status *status, hn_error *err) {
    const hn_source *s = n->source;
    *opset = n->opset;
    if (s != NULL) {
        if (s->edited || !same_form(s->form.op_type, s->opset, to)) return false;
        *status = copy_form(&s->form, arena, f, err);
        return true;
    }
    if (!n->old && (n->edited || n->opset != to)) return false;
    if (!same_form(n->op_type, n->opset, to)) return false;
    *status = form_of(n, arena, false, f, err);
    return true;
}

hone_status hn_node_form(const hn_node *n, int64_t opset, hn_arena *arena, hn_form *out,
                         int64_t *need, hn_error *err) {
    char label[320];
    int64_t from;
    hone_status status = HONE_OK;
    *need = 0;
    if (n->domain[0] != '\0') return form_of(n, arena, false, out, err);
    if (came_as(n, opset, out, &from, arena, &status, err)) {
        HN_TRY(status);
        /* The node that computes the source's first output stands for all of them. */
        const hn_value *head = NULL;
        for (int i = 0; i < out->n_outputs && head == NULL; i++) head = out->outputs[i];
        if (n->source != NULL && n->source->n_nodes > 1 && head != NULL && head->producer != n)
            out->op_type = NULL;
        if (out->op_type == NULL || opset >= from) return HONE_OK;
        HN_TRY(check_exists(n, out->op_type, opset, need, err));
        return hn_form_fit(n, out, opset, arena, need, err);
    }
    HN_CHECK(err, !n->old, HONE_E_UNSUPPORTED,
             "%s: stands as opset %lld defines it and cannot be saved at %lld without inference",
             hn_node_label(n, label, sizeof label), (long long)n->opset, (long long)opset);
    HN_CHECK(
        err, n->op != NULL || n->opset == opset, HONE_E_UNSUPPORTED,
        "%s: an operator hone does not know was read at opset %lld and cannot be saved at %lld",
        hn_node_label(n, label, sizeof label), (long long)n->opset, (long long)opset);
    HN_TRY(form_of(n, arena, false, out, err));
    if (n->op == NULL) return HONE_OK;
    HN_TRY(check_exists(n, n->op_type, opset, need, err));
    if (opset < OLDEST_OPSET) {
        *need = OLDEST_OPSET;
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "%s: below opset %d a node is saved only as it came",
                       hn_node_label(n, label, sizeof label), OLDEST_OPSET);
    }
    HN_TRY(lower(n, out, opset, arena, need, err));
    return hn_form_fit(n, out, opset, arena, need, err);
}

static hone_status opset_of_graph(const hn_graph *g, int64_t *opset, bool exact, bool *raised,
                                  hn_arena *arena, hn_error *err) {
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        hn_form form;
        int64_t need;
        hone_status status = hn_node_form(n, *opset, arena, &form, &need, err);
        if (status != HONE_OK && (exact || need <= *opset)) return status;
        if (status != HONE_OK) {
            *opset = need;
            *raised = true;
            continue;
        }
        int at = 0; /* the subgraphs that will be written: a source may have others */
        for (const hn_graph *sub;
             form.op_type != NULL && (sub = hn_attrs_subgraph(form.attrs, &at)) != NULL;)
            HN_TRY(opset_of_graph(sub, opset, exact, raised, arena, err));
    }
    return HONE_OK;
}

hone_status hn_model_save_opset(const hn_model *m, int64_t wanted, bool exact, int64_t *opset,
                                hn_error *err) {
    int64_t at = wanted != 0 ? wanted : hn_model_opset(m, "");
    HN_CHECK(err, at >= 0 && at <= HN_NEWEST_OPSET, HONE_E_ARG,
             "opset %lld was asked for; hone knows opsets up to %d", (long long)at,
             HN_NEWEST_OPSET);
    hone_status status;
    bool raised;
    do { /* raising may bring nodes into forms that need more yet */
        hn_arena arena;
        hn_arena_init(&arena, m->alloc, HN_MEM_OTHER);
        raised = false;
        status = opset_of_graph(m->graph, &at, exact, &raised, &arena, err);
        hn_arena_deinit(&arena);
    } while (status == HONE_OK && raised);
    if (status == HONE_OK) *opset = at;
    return status;
}
