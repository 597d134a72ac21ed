#include "ops/lift.h"

#include <limits.h>

/* ---- what was added to an operator, and when ---- */

static const struct added_attr {
    const char *op, *attr;
    int since;
} added_attrs[] = {
    {"ArgMax", "select_last_index", 12},
    {"ArgMin", "select_last_index", 12},
    {"Attention", "left_window_size", 25},
    {"Attention", "right_window_size", 25},
    {"AveragePool", "ceil_mode", 10},
    {"AveragePool", "dilations", 19},
    {"BatchNormalization", "training_mode", 14},
    {"Cast", "round_mode", 24},
    {"Cast", "saturate", 19},
    {"CastLike", "round_mode", 24},
    {"CastLike", "saturate", 19},
    {"Constant", "sparse_value", 11},
    {"Constant", "value_float", 12},
    {"Constant", "value_floats", 12},
    {"Constant", "value_int", 12},
    {"Constant", "value_ints", 12},
    {"Constant", "value_string", 12},
    {"Constant", "value_strings", 12},
    {"DepthToSpace", "mode", 11},
    {"DequantizeLinear", "axis", 13},
    {"DequantizeLinear", "block_size", 21},
    {"DequantizeLinear", "output_dtype", 23},
    {"Dropout", "seed", 12},
    {"GRU", "layout", 14},
    {"GatherND", "batch_dims", 12},
    {"GroupNormalization", "stash_type", 21},
    {"LSTM", "layout", 14},
    {"LpPool", "ceil_mode", 18},
    {"LpPool", "dilations", 18},
    {"MaxPool", "ceil_mode", 10},
    {"MaxPool", "dilations", 10},
    {"MaxPool", "storage_order", 8},
    {"QuantizeLinear", "axis", 13},
    {"QuantizeLinear", "block_size", 21},
    {"QuantizeLinear", "output_dtype", 21},
    {"QuantizeLinear", "precision", 23},
    {"QuantizeLinear", "saturate", 19},
    {"RNN", "layout", 14},
    {"Range", "stash_type", 27},
    {"ReduceL1", "noop_with_empty_axes", 18},
    {"ReduceL2", "noop_with_empty_axes", 18},
    {"ReduceLogSum", "noop_with_empty_axes", 18},
    {"ReduceLogSumExp", "noop_with_empty_axes", 18},
    {"ReduceMax", "noop_with_empty_axes", 18},
    {"ReduceMean", "noop_with_empty_axes", 18},
    {"ReduceMin", "noop_with_empty_axes", 18},
    {"ReduceProd", "noop_with_empty_axes", 18},
    {"ReduceSum", "noop_with_empty_axes", 13},
    {"ReduceSumSquare", "noop_with_empty_axes", 18},
    {"Reshape", "allowzero", 14},
    {"Resize", "antialias", 18},
    {"Resize", "axes", 18},
    {"Resize", "coordinate_transformation_mode", 11},
    {"Resize", "cubic_coeff_a", 11},
    {"Resize", "exclude_outside", 11},
    {"Resize", "extrapolation_value", 11},
    {"Resize", "keep_aspect_ratio_policy", 18},
    {"Resize", "nearest_mode", 11},
    {"RoiAlign", "coordinate_transformation_mode", 16},
    {"ScatterElements", "reduction", 16},
    {"ScatterND", "reduction", 16},
    {"Shape", "end", 15},
    {"Shape", "start", 15},
    {"SpaceToDepth", "mode", 28},
    {"Split", "num_outputs", 18},
    {"TopK", "largest", 11},
    {"TopK", "sorted", 11},
};

static const struct added_inputs {
    const char *op;
    int at_most; /* inputs before opset `since` */
    int since;
} added_inputs[] = {
    {"Attention", 6, 24},       {"Clip", 1, 11},       {"DFT", 2, 20},
    {"Dropout", 1, 12},         {"Pad", 1, 11},        {"Pad", 3, 18},
    {"ReduceL1", 1, 18},        {"ReduceL2", 1, 18},   {"ReduceLogSum", 1, 18},
    {"ReduceLogSumExp", 1, 18}, {"ReduceMax", 1, 18},  {"ReduceMean", 1, 18},
    {"ReduceMin", 1, 18},       {"ReduceProd", 1, 18}, {"ReduceSum", 1, 13},
    {"ReduceSumSquare", 1, 18}, {"Resize", 2, 11},     {"Slice", 1, 10},
    {"Squeeze", 1, 13},         {"TopK", 1, 10},       {"Unsqueeze", 1, 13},
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The oldest opset forms are lowered to; older files are saved only as they came. */
#define OLDEST_OPSET 7

/* ---- lifting ---- */

static const hn_lift_rule *next_rule(const char *op, int64_t after) {
    const hn_lift_rule *best = NULL;
    for (int i = 0; i < hn_n_lift_rules; i++) {
        const hn_lift_rule *r = &hn_lift_rules[i];
        if (r->to > after && strcmp(r->op, op) == 0 && (best == NULL || r->to < best->to)) best = r;
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

hone_status hn_lift_node(hn_node *n, hn_error *err) {
    if (!n->old) return HONE_OK;
    n->old = false;
    const hn_lift_rule *r = n->domain[0] == '\0' ? next_rule(n->op_type, n->opset) : NULL;
    if (r == NULL) return HONE_OK;
    hn_arena *arena = &n->graph->model->arena;
    hn_source *s = hn_arena_zero(arena, sizeof *s);
    if (s == NULL) return HN_NOMEM(err);
    s->opset = n->opset;
    s->n_nodes = 1;
    n->source = s; /* from here on the model releases it */
    HN_TRY(form_of(n, arena, true, &s->form, err));
    int64_t at = n->opset;
    while ((r = next_rule(n->op_type, at)) != NULL) {
        at = r->to;
        hone_status status = r->lift(n, err);
        if (status != HONE_OK) {
            char label[320];
            hn_error_context(err, "%s of opset %lld", hn_node_label(n, label, sizeof label),
                             (long long)n->opset);
            return status;
        }
    }
    n->op = hn_op_find(n->domain, n->op_type);
    s->edited = false;
    return HONE_OK;
}

/* ---- lowering ---- */

static bool is_source_output(const hn_source *s, const hn_value *v) {
    for (int i = 0; i < s->form.n_outputs; i++)
        if (s->form.outputs[i] == v) return true;
    return false;
}

/* What n became of its source still computes what the source says, and nothing else looks inside.
 */
static bool intact(const hn_node *n) {
    const hn_source *s = n->source;
    for (int i = 0; i < s->form.n_inputs; i++)
        if (s->form.inputs[i] != NULL && s->form.inputs[i]->dead) return false;
    for (int i = 0; i < s->form.n_outputs; i++) {
        const hn_value *v = s->form.outputs[i];
        if (v != NULL && (v->dead || v->producer == NULL || v->producer->source != s)) return false;
    }
    for (int i = 0; i < n->n_outputs; i++) {
        const hn_value *v = n->outputs[i];
        if (v == NULL || is_source_output(s, v)) continue;
        for (const hn_use *u = v->uses; u != NULL; u = u->next)
            if (u->node == NULL || u->node->source != s) return false;
    }
    return true;
}

void hn_lift_settle(hn_model *m) {
    for (int i = 0; i < m->n_graphs; i++)
        for (hn_node *n = m->graphs[i]->first; n != NULL; n = n->next)
            if (n->source != NULL && !n->source->edited && !intact(n)) n->source->edited = true;
}

/* The old form is the same at both opsets. */
static bool same_form(const char *op, int64_t a, int64_t b) {
    for (int i = 0; i < hn_n_lift_rules; i++) {
        const hn_lift_rule *r = &hn_lift_rules[i];
        if (strcmp(r->op, op) == 0 && (r->to > a) != (r->to > b)) return false;
    }
    return true;
}

static bool is_default(const hn_attr *a, const hn_attr_def *d) {
    if (d == NULL || !d->has_default || a->type != d->type) return false;
    if (a->type == HN_ATTR_INT) return a->u.i == d->i;
    if (a->type == HN_ATTR_FLOAT) return a->u.f == d->f;
    return a->type == HN_ATTR_STRING && d->s != NULL && strlen(d->s) == a->u.s.n &&
           memcmp(d->s, a->u.s.p, a->u.s.n) == 0;
}

static bool all_ones(const hn_attr *a) {
    if (a->type != HN_ATTR_INTS) return false;
    for (int i = 0; i < a->n; i++)
        if (a->u.ints[i] != 1) return false;
    return true;
}

/* Attributes and inputs the operator did not have yet: dropped where they say nothing. */
int hn_attr_since(const char *op, const char *attr) {
    for (size_t k = 0; k < COUNT(added_attrs); k++)
        if (strcmp(added_attrs[k].op, op) == 0 && strcmp(added_attrs[k].attr, attr) == 0)
            return added_attrs[k].since;
    return 0;
}

static hone_status drop_added(const hn_node *n, hn_form *f, int64_t opset, int64_t *need,
                              hn_error *err) {
    char label[320];
    for (size_t k = 0; k < COUNT(added_attrs); k++) {
        if (added_attrs[k].since <= opset || strcmp(added_attrs[k].op, f->op_type) != 0) continue;
        for (hn_attr **at = &f->attrs; *at != NULL; at = &(*at)->next) {
            if (strcmp((*at)->name, added_attrs[k].attr) != 0) continue;
            bool dilations = strcmp((*at)->name, "dilations") == 0 && all_ones(*at);
            if (!dilations && !is_default(*at, hn_op_attr(n->op, (*at)->name))) {
                *need = added_attrs[k].since;
                return hn_fail(
                    err, HONE_E_UNSUPPORTED,
                    "%s: attribute '%s' exists from opset %d on, the model is to be saved "
                    "at %lld",
                    hn_node_label(n, label, sizeof label), (*at)->name, added_attrs[k].since,
                    (long long)opset);
            }
            *at = (*at)->next;
            break;
        }
    }
    int used = f->n_inputs;
    while (used > 0 && f->inputs[used - 1] == NULL) used--;
    for (size_t k = 0; k < COUNT(added_inputs); k++) {
        if (added_inputs[k].since <= opset || strcmp(added_inputs[k].op, f->op_type) != 0) continue;
        if (used > added_inputs[k].at_most) {
            *need = added_inputs[k].since;
            return hn_fail(err, HONE_E_UNSUPPORTED,
                           "%s: takes %d inputs, which it may from opset %d on; the model is to be "
                           "saved at %lld",
                           hn_node_label(n, label, sizeof label), used, added_inputs[k].since,
                           (long long)opset);
        }
        if (f->n_inputs > added_inputs[k].at_most) f->n_inputs = used;
    }
    return HONE_OK;
}

hone_status hn_node_form(const hn_node *n, int64_t opset, hn_arena *arena, hn_form *out,
                         int64_t *need, hn_error *err) {
    const hn_source *s = n->source;
    *need = 0;
    if (s != NULL && !s->edited && same_form(s->form.op_type, s->opset, opset)) {
        *out = s->form;
        /* The node that computes the source's first output stands for all of them. */
        const hn_value *head = NULL;
        for (int i = 0; i < s->form.n_outputs && head == NULL; i++) head = s->form.outputs[i];
        if (s->n_nodes > 1 && head != NULL && head->producer != n) out->op_type = NULL;
        return HONE_OK;
    }
    HN_TRY(form_of(n, arena, false, out, err));
    bool standard = n->domain[0] == '\0';
    if (!standard || (n->opset == opset && n->op == NULL)) return HONE_OK;
    char label[320];
    HN_CHECK(
        err, n->op != NULL, HONE_E_UNSUPPORTED,
        "%s: an operator hone does not know was read at opset %lld and cannot be saved at %lld",
        hn_node_label(n, label, sizeof label), (long long)n->opset, (long long)opset);
    if (n->old) {
        HN_CHECK(
            err, same_form(n->op_type, n->opset, opset), HONE_E_ARG,
            "%s: was read at opset %lld and is lifted by inference; it cannot be saved at %lld "
            "before that",
            hn_node_label(n, label, sizeof label), (long long)n->opset, (long long)opset);
        return HONE_OK;
    }
    int first = hn_op_version_at(n->op, HN_NEWEST_OPSET);
    for (int v = 1; v <= HN_NEWEST_OPSET; v++) {
        if (hn_op_version_at(n->op, v) != 0) {
            first = v;
            break;
        }
    }
    bool renamed = opset >= 9 && opset < 11 && strcmp(n->op_type, "ScatterElements") == 0;
    if (first > opset && !renamed) {
        *need = first;
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "%s: the operator exists from opset %d on, the model is to be saved at %lld",
                       hn_node_label(n, label, sizeof label), first, (long long)opset);
    }
    if (opset < OLDEST_OPSET) {
        /* Nothing changed since for most operators; those with rules were lifted. */
        if (s == NULL) return HONE_OK;
        *need = OLDEST_OPSET;
        return hn_fail(err, HONE_E_UNSUPPORTED, "%s: was changed and needs opset %d to be saved",
                       hn_node_label(n, label, sizeof label), OLDEST_OPSET);
    }
    for (int at = INT_MAX;;) { /* the newest rule first */
        const hn_lift_rule *r = NULL;
        for (int i = 0; i < hn_n_lift_rules; i++) {
            const hn_lift_rule *x = &hn_lift_rules[i];
            if (x->to < at && x->to > opset && strcmp(x->op, out->op_type) == 0 &&
                (r == NULL || x->to > r->to))
                r = x;
        }
        if (r == NULL) break;
        at = r->to;
        hone_status status = r->lower(n, out, arena, err);
        if (status != HONE_OK) {
            if (status == HONE_E_UNSUPPORTED) {
                *need = r->to;
                hn_error_context(err, "%s cannot be saved below opset %d",
                                 hn_node_label(n, label, sizeof label), r->to);
            }
            return status;
        }
    }
    return drop_added(n, out, opset, need, err);
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
