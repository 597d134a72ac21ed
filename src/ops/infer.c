/* Inference: one walk over the nodes in order. Besides shapes it follows contents, because shape
 * arithmetic (Shape, Gather, Concat, ... Reshape) is where exported models hide their sizes:
 *   symbolic   integer contents as dim expressions, by each operator's own infer;
 *   exact      a node whose inputs are all known and small is simply evaluated.
 */
#include "ops/infer.h"

#include "base/log.h"
#include "base/size.h"
#include "ops/eval.h"
#include "ops/lift.h"

/* Nodes with more input elements, or more multiply-accumulates, than this are not evaluated while
 * inferring: shape arithmetic is small. */
#define MOST_FOLDED 4096
#define MOST_FOLDED_MACS 65536

/* ---- what operators call ---- */

void hn_set_shape(hn_infer *c, int out, const hn_shape *s) {
    if (hn_wants_out(c, out)) c->out[out].shape = *s;
}

void hn_set_dtype(hn_infer *c, int out, hone_dtype t) {
    if (hn_wants_out(c, out)) c->out[out].dtype = t;
}

hone_status hn_set_dtype_named(hn_infer *c, int out, const char *attr, hn_error *err) {
    int64_t t = hn_attr_i(c->node, attr);
    bool known = t > 0 && t < HONE_DTYPE_COUNT_ && hn_dtype_valid((int)t);
    HN_CHECK(err, known && hn_dtype_in((hone_dtype)t, hn_op_sig(c->node->op)->out[out].types),
             HONE_E_TYPE, "%s is %s (%lld), which the operator does not give", attr,
             known ? hone_dtype_name((hone_dtype)t) : "no type hone knows", (long long)t);
    hn_set_dtype(c, out, (hone_dtype)t);
    return HONE_OK;
}

hn_dim *hn_set_values(hn_infer *c, int out, int n) {
    if (!hn_wants_out(c, out) || n < 0 || n > HN_MAX_KNOWN) return NULL;
    hn_dim *v = hn_arena_array(c->scratch, (size_t)n, sizeof *v);
    if (v == NULL) {
        c->dims->status = HONE_E_NOMEM;
        return NULL;
    }
    c->out[out].values = v;
    c->out[out].n_values = n;
    return v;
}

static hn_dim number(hn_dims *t, int64_t x) {
    return hn_dim_const(t, x > HN_FAR ? HN_FAR : x < -HN_FAR ? -HN_FAR : x);
}

const hn_dim *hn_in_values(const hn_infer *c, int i, int *n) {
    *n = 0;
    if (!hn_has_in(c, i)) return NULL;
    hn_infer_in *in = &c->in[i];
    if (in->values == NULL && in->tensor != NULL && in->tensor->n <= HN_MAX_KNOWN &&
        (hn_dtype_is_int(in->tensor->dtype) || in->tensor->dtype == HONE_DTYPE_BOOL)) {
        hn_dim *v = hn_arena_array(c->scratch, (size_t)in->tensor->n, sizeof *v);
        if (v == NULL) {
            c->dims->status = HONE_E_NOMEM;
            return NULL;
        }
        for (int64_t k = 0; k < in->tensor->n; k++)
            v[k] = number(c->dims, hn_tensor_s64(in->tensor, k));
        in->values = v;
        in->n_values = (int)in->tensor->n;
    }
    if (in->values != NULL) *n = in->n_values;
    return in->values;
}

int hn_in_ints(const hn_infer *c, int i, int64_t *v, int max) {
    if (!hn_has_in(c, i)) return -1;
    const hn_infer_in *in = &c->in[i];
    if (in->tensor != NULL) {
        if (in->tensor->n > max || in->tensor->dtype == HONE_DTYPE_STRING) return -1;
        for (int64_t k = 0; k < in->tensor->n; k++) v[k] = hn_tensor_s64(in->tensor, k);
        return (int)in->tensor->n;
    }
    if (in->values == NULL || in->n_values > max) return -1;
    for (int k = 0; k < in->n_values; k++)
        if (!hn_dim_is_const(in->values[k], &v[k])) return -1;
    return in->n_values;
}

hone_status hn_want_rank(const hn_infer *c, int i, int lo, int hi, hn_error *err) {
    int rank = hn_in_rank(c, i);
    if (rank < 0 || (rank >= lo && rank <= hi)) return HONE_OK;
    return lo == hi ? HN_FAIL(err, HONE_E_SHAPE, "input %d has rank %d, expected %d", i, rank, lo)
                    : HN_FAIL(err, HONE_E_SHAPE, "input %d has rank %d, expected %d to %d", i, rank,
                              lo, hi);
}

hone_status hn_want_axis(int64_t *axis, int rank, hn_error *err) {
    HN_CHECK(err, *axis >= -rank && *axis < rank, HONE_E_ARG, "axis %lld is outside [-%d, %d)",
             (long long)*axis, rank, rank);
    if (*axis < 0) *axis += rank;
    return HONE_OK;
}

hone_status hn_want_equal(hn_dim a, hn_dim b, const char *what, hn_error *err) {
    int64_t x, y;
    HN_CHECK(err, !hn_dim_is_const(a, &x) || !hn_dim_is_const(b, &y) || x == y, HONE_E_SHAPE,
             "%s differ: %lld and %lld", what, (long long)x, (long long)y);
    return HONE_OK;
}

hone_status hn_infer_same(hn_infer *c, hn_error *err) {
    (void)err;
    for (int i = 0; i < c->n_out; i++) hn_set_shape(c, i, hn_in_shape(c, 0));
    return HONE_OK;
}

hone_status hn_infer_broadcast(hn_infer *c, hn_error *err) {
    hn_shape s = {.rank = 0};
    for (int i = 0; i < c->n_in; i++) {
        if (!hn_has_in(c, i)) continue;
        hn_shape joined;
        if (!hn_shape_broadcast(c->dims, &s, hn_in_shape(c, i), &joined)) {
            char a[256], b[256];
            return HN_FAIL(err, HONE_E_SHAPE, "input %d of shape %s does not broadcast with %s", i,
                           hn_shape_text(hn_in_shape(c, i), b, sizeof b),
                           hn_shape_text(&s, a, sizeof a));
        }
        s = joined;
    }
    hn_set_shape(c, 0, &s);
    return HONE_OK;
}

/* ---- one node ---- */

static hone_status dims_trouble(hn_dims *dims, hn_error *err) {
    hone_status status = dims->status;
    dims->status = HONE_OK;
    if (status == HONE_E_NOMEM) return HN_NOMEM(err);
    return hn_fail(err, status, "a dimension does not fit in 62 bits");
}

static hone_status infer_outputs(hn_infer *c, hn_error *err) {
    const hn_node *n = c->node;
    if (!n->formed) HN_TRY(hn_node_check_form(n, err));
    hone_dtype *types = hn_arena_array(c->scratch, (size_t)(c->n_in + c->n_out + 1), sizeof *types);
    if (types == NULL) return HN_NOMEM(err);
    for (int i = 0; i < c->n_in; i++)
        types[i] = c->in[i].present && c->in[i].is_tensor ? c->in[i].dtype : HONE_DTYPE_NONE;
    HN_TRY(hn_op_bind(n, c->n_in, types, c->n_out, types + c->n_in, err));
    for (int i = 0; i < c->n_out; i++) {
        c->out[i].dtype = types[c->n_in + i];
        c->out[i].shape = hn_shape_unknown();
        c->out[i].values = NULL;
        c->out[i].n_values = 0;
    }
    hone_status status = HONE_OK;
    if (n->op->infer != NULL) status = n->op->infer(c, err);
    /* A dim that could not be made may have led the operator astray. */
    if (c->dims->status == HONE_E_NOMEM || (status == HONE_OK && c->dims->status != HONE_OK))
        status = dims_trouble(c->dims, err);
    c->dims->status = HONE_OK;
    for (int i = 0; status == HONE_OK && i < c->n_out; i++) {
        for (int k = 0; k < c->out[i].shape.rank; k++) {
            int64_t v;
            if (hn_dim_is_const(c->out[i].shape.dim[k], &v) && v < 0)
                status = HN_FAIL(err, HONE_E_SHAPE, "axis %d of output %d gets the size %lld", k, i,
                                 (long long)v);
        }
    }
    if (status != HONE_OK) {
        char label[320];
        hn_error_context(err, "%s", hn_node_label(n, label, sizeof label));
    }
    return status;
}

hone_status hn_node_infer(hn_infer *c, hn_error *err) { return infer_outputs(c, err); }

/* ---- a whole model ---- */

typedef struct walk {
    hn_model *model;
    const hn_infer_options *o;
    hn_arena scratch;
    bool uncertain; /* in a subgraph that may not run */
} walk;

static hone_status infer_graph(walk *w, hn_graph *g, hn_error *err);

/* Reports to the caller's `finding` and goes on, or stops. What may not run does not stop. Memory
 * trouble always does. */
static hone_status report(walk *w, const hn_node *n, hone_status status, hn_error *err) {
    bool finding = w->o != NULL && w->o->finding != NULL;
    bool fatal = !w->uncertain || status == HONE_E_LIMIT; /* graphs too deep are never run */
    if (status == HONE_OK || status == HONE_E_NOMEM || (!finding && fatal)) return status;
    if (finding) w->o->finding(w->o->ctx, n, err);
    return HONE_OK;
}

static void describe(const hn_value *v, bool defaults, hn_infer_in *in) {
    *in = (hn_infer_in){.present = v != NULL, .shape = hn_shape_unknown()};
    if (v == NULL) return;
    in->is_tensor = v->type.kind != HN_TYPE_OTHER;
    if (!in->is_tensor) return;
    in->dtype = v->type.dtype;
    in->shape = v->type.shape;
    if (v->folded != NULL)
        in->tensor = v->folded;
    else if ((!v->is_input || defaults) && v->constant != NULL && v->constant->data != NULL)
        in->tensor = v->constant;
    if (v->n_known > 0) in->values = v->known;
    in->n_values = v->n_known;
}

/* Back to what the file says, if anything. */
static void forget(hn_value *v) {
    v->type = v->stated != NULL ? *v->stated : (hn_type){.shape = hn_shape_unknown()};
    v->n_known = 0;
    hn_tensor_unref(v->folded);
    v->folded = NULL;
}

static hone_status infer_body(hn_infer *c, hn_graph *g, bool certain, int n,
                              const hn_infer_in *inputs, hn_error *err) {
    walk *w = c->driver;
    for (int i = 0; i < n && i < g->n_inputs; i++) {
        hn_value *v = g->inputs[i];
        forget(v);
        if (!inputs[i].present || !inputs[i].is_tensor) continue;
        if (inputs[i].dtype != HONE_DTYPE_NONE) {
            v->type.kind = HN_TYPE_TENSOR;
            v->type.dtype = inputs[i].dtype;
        }
        if (inputs[i].shape.rank >= 0) v->type.shape = inputs[i].shape;
    }
    bool before = w->uncertain;
    w->uncertain = before || !certain;
    hone_status status = infer_graph(w, g, err);
    w->uncertain = before;
    return status;
}

/* What the file declares fills in what inference could not find. */
static hone_status merge(walk *w, hn_value *v, const hn_infer_out *out, hn_error *err) {
    hn_type *t = &v->type;
    bool said = t->kind == HN_TYPE_TENSOR;
    bool finding = w->o != NULL && w->o->finding != NULL;
    hone_status status = HONE_OK;
    if (out->dtype != HONE_DTYPE_NONE) {
        if (said && t->dtype != HONE_DTYPE_NONE && t->dtype != out->dtype) {
            status = hn_fail(err, HONE_E_TYPE, "'%s' is declared as %s but is %s", v->name,
                             hone_dtype_name(t->dtype), hone_dtype_name(out->dtype));
            status = report(w, v->producer, status, err);
        }
        t->kind = HN_TYPE_TENSOR;
        t->dtype = out->dtype;
    }
    hn_shape shape = out->shape;
    if (shape.rank < 0) return status;
    if (said && t->shape.rank >= 0) {
        bool agree = shape.rank == t->shape.rank;
        for (int i = 0; agree && i < shape.rank; i++) {
            int64_t a, b;
            bool const_a = hn_dim_is_const(shape.dim[i], &a);
            bool const_b = hn_dim_is_const(t->shape.dim[i], &b);
            if (const_a && const_b)
                agree = a == b || (b == 0 && !finding);
            else if (!const_a &&
                     (const_b ? b != 0
                              : hn_dim_is_fresh(shape.dim[i]) && !hn_dim_is_fresh(t->shape.dim[i])))
                shape.dim[i] = t->shape.dim[i];
        }
        if (!agree) {
            char a[256], b[256];
            hn_shape_text(&t->shape, a, sizeof a);
            hn_shape_text(&out->shape, b, sizeof b);
            if (finding) {
                hn_fail(err, HONE_E_SHAPE, "'%s' is declared with shape %s but has %s", v->name, a,
                        b);
                w->o->finding(w->o->ctx, v->producer, err);
            } else {
                hn_log(HONE_LOG_WARN, "'%s' is declared with shape %s but has %s", v->name, a, b);
            }
            shape = out->shape;
        }
    }
    t->kind = HN_TYPE_TENSOR;
    t->shape = shape;
    return status;
}

static hone_status keep_known(walk *w, hn_value *v, const hn_dim *values, int n, hn_error *err) {
    if (n > v->cap_known) {
        v->known = hn_arena_array(&w->model->arena, (size_t)n, sizeof *v->known);
        v->cap_known = v->known != NULL ? n : 0;
        if (v->known == NULL) return HN_NOMEM(err);
    }
    for (int i = 0; i < n; i++) v->known[i] = values[i];
    v->n_known = n;
    return HONE_OK;
}

/* A tensor of contents that are all numbers; NULL in *out when they are not. */
static hone_status known_tensor(walk *w, const hn_infer_in *in, hn_tensor **out, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], v[HN_MAX_KNOWN], n;
    *out = NULL;
    if (in->dtype == HONE_DTYPE_NONE || !hn_shape_is_const(&in->shape, dims)) return HONE_OK;
    if (!hn_dims_count(dims, in->shape.rank, &n) || n != in->n_values) return HONE_OK;
    for (int i = 0; i < in->n_values; i++)
        if (!hn_dim_is_const(in->values[i], &v[i]) || v[i] >= HN_FAR || v[i] <= -HN_FAR)
            return HONE_OK;
    return hn_tensor_from_s64(out, w->model->alloc, in->dtype, in->shape.rank, dims, v, err);
}

/* Whether the contents of all inputs are known, and few; *exact: as numbers. */
static bool has_contents(const hn_node *n, const hn_infer *c, bool *exact) {
    const hn_op_def *op = n->op;
    int64_t elements = 0;
    *exact = true;
    if (op->ref == NULL || (op->traits & (HN_CONTROL | HN_RANDOM)) != 0) return false;
    for (int i = 0; i < c->n_in; i++) {
        const hn_infer_in *in = &c->in[i];
        if (!in->present) continue;
        if (in->tensor == NULL && in->values == NULL) return false;
        if (in->dtype == HONE_DTYPE_STRING || in->shape.rank < 0) return false;
        elements += in->tensor != NULL ? in->tensor->n : in->n_values;
        *exact = *exact && in->tensor != NULL;
        if (elements > MOST_FOLDED) return false;
    }
    return true;
}

/* Every input is known, and evaluating the node is little work with a small result. (The results of
 * DYNAMIC operators are no larger than a few times their inputs.) */
static bool can_fold(const hn_node *n, const hn_infer *c) {
    const hn_op_def *op = n->op;
    bool exact;
    if (!has_contents(n, c, &exact)) return false;
    for (int i = 0; i < c->n_out && (op->traits & HN_DYNAMIC) == 0; i++) {
        int64_t dims[HONE_MAX_RANK], count;
        if (!c->out[i].wanted) continue;
        if (!hn_shape_is_const(&c->out[i].shape, dims)) return false;
        if (!hn_dims_count(dims, c->out[i].shape.rank, &count) || count > HN_MAX_KNOWN)
            return false;
    }
    hn_dim none = hn_dim_const(c->dims, 0);
    hn_cost cost = {.macs = none, .read_bytes = none, .written_bytes = none};
    if (op->cost != NULL) op->cost(c, &cost);
    int64_t macs;
    return hn_dim_is_const(cost.macs, &macs) && macs <= MOST_FOLDED_MACS;
}

/* Evaluates the node, so that its outputs are known too. */
static hone_status fold(walk *w, hn_node *n, hn_infer *c, hn_error *err) {
    if (!can_fold(n, c)) return HONE_OK;
    size_t slots = (size_t)(c->n_in + c->n_out + 1);
    hn_tensor **t = hn_arena_array(c->scratch, slots, sizeof *t);
    if (t == NULL) return HN_NOMEM(err);
    hone_status status = HONE_OK;
    bool known = true;
    for (int i = 0; i < c->n_in && known && status == HONE_OK; i++) {
        const hn_infer_in *in = &c->in[i];
        if (!in->present) continue;
        if (in->tensor != NULL)
            t[i] = hn_tensor_ref(in->tensor);
        else
            status = known_tensor(w, in, &t[i], err);
        known = t[i] != NULL;
    }
    hn_tensor **out = t + c->n_in;
    if (known && status == HONE_OK) {
        hn_exec_options o = {.alloc = w->model->alloc};
        hn_error ignored;
        status = hn_node_run(n, &o, (const hn_tensor *const *)t, out, &ignored);
        if (status == HONE_E_NOMEM) {
            status = HN_NOMEM(err);
        } else if (status != HONE_OK) { /* running will say why */
            status = HONE_OK;
            known = false;
        }
    }
    for (int i = 0; known && status == HONE_OK && i < c->n_out; i++) {
        hn_value *v = n->outputs[i];
        if (v == NULL || out[i] == NULL) continue;
        if (out[i]->n <= HN_MAX_KNOWN) {
            hn_tensor_unref(v->folded);
            v->folded = hn_tensor_ref(out[i]);
        }
        c->out[i].dtype = out[i]->dtype;
        c->out[i].shape = hn_shape_of(c->dims, out[i]->rank, out[i]->dims);
        if (out[i]->n <= HN_MAX_KNOWN && hn_dtype_is_int(out[i]->dtype) && out[i]->n > 0) {
            hn_dim *values = hn_set_values(c, i, (int)out[i]->n);
            for (int64_t k = 0; values != NULL && k < out[i]->n; k++)
                values[k] = number(c->dims, hn_tensor_s64(out[i], k));
        }
    }
    for (size_t i = 0; i < slots; i++) hn_tensor_unref(t[i]);
    if (c->dims->status == HONE_E_NOMEM) status = HN_NOMEM(err);
    c->dims->status = HONE_OK;
    return status;
}

/* The contents of a Constant node, without a copy. */
static hn_tensor *constant_attr(const hn_node *n) {
    if (strcmp(n->op_type, "Constant") != 0 || n->domain[0] != '\0') return NULL;
    const hn_attr *a = hn_node_attr(n, "value");
    return a != NULL && a->type == HN_ATTR_TENSOR && a->u.tensor->data != NULL ? a->u.tensor : NULL;
}

static hone_status infer_node_in(walk *w, hn_node *n, hn_error *err) {
    hn_infer c = {.node = n,
                  .dims = &w->model->dims,
                  .scratch = &w->scratch,
                  .n_in = n->n_inputs,
                  .n_out = n->n_outputs,
                  .body = infer_body,
                  .driver = w};
    c.in = hn_arena_array(c.scratch, (size_t)n->n_inputs + 1, sizeof *c.in);
    c.out = hn_arena_array(c.scratch, (size_t)n->n_outputs + 1, sizeof *c.out);
    if (c.in == NULL || c.out == NULL) return HN_NOMEM(err);
    bool defaults = w->o != NULL && w->o->defaults;
    for (int i = 0; i < n->n_inputs; i++) describe(n->inputs[i].value, defaults, &c.in[i]);
    for (int i = 0; i < n->n_outputs; i++) c.out[i].wanted = n->outputs[i] != NULL;

    bool exact;
    c.exact = has_contents(n, &c, &exact) && exact && n->n_inputs > 0;
    hone_status status = infer_outputs(&c, err);
    n->formed = status == HONE_OK;
    if (status != HONE_OK) {
        HN_TRY(report(w, n, status, err));
        for (int i = 0; i < n->n_outputs && w->uncertain; i++)
            if (n->outputs[i] != NULL) n->outputs[i]->type.shape = hn_shape_unknown();
        return HONE_OK;
    }
    c.exact = false;
    HN_TRY(fold(w, n, &c, err));
    hn_tensor *direct = constant_attr(n);
    for (int i = 0; i < n->n_outputs; i++) {
        hn_value *v = n->outputs[i];
        if (v == NULL) continue;
        HN_TRY(merge(w, v, &c.out[i], err));
        HN_TRY(keep_known(w, v, c.out[i].values, c.out[i].n_values, err));
        if (direct != NULL && v->folded == NULL) v->folded = hn_tensor_ref(direct);
    }
    return HONE_OK;
}

static hone_status infer_node(walk *w, hn_node *n, hn_error *err) {
    hn_arena_mark here = hn_arena_here(&w->scratch);
    hone_status status = infer_node_in(w, n, err);
    hn_arena_back(&w->scratch, here);
    return status;
}

/* A node that cannot be lifted, because something about its inputs is not known or hone does not
 * support the old form, stays old: inference treats it as an unknown operator, running it fails. */
static hone_status lift(walk *w, hn_node *n, hn_error *err) {
    hone_status status = hn_lift_node(n, err);
    bool finding = w->o != NULL && w->o->finding != NULL;
    if (status != HONE_E_UNSUPPORTED || finding || w->uncertain) return report(w, n, status, err);
    hn_log(HONE_LOG_WARN, "%s", err->text);
    return HONE_OK;
}

static hone_status infer_graph(walk *w, hn_graph *g, hn_error *err) {
    for (int i = 0; i < g->n_values; i++)
        if (!g->values[i]->dead && g->values[i]->producer != NULL) forget(g->values[i]);
    for (hn_node *n = g->first, *next; n != NULL; n = next) {
        hn_node *before = n->prev;
        if (n->old) {
            HN_TRY(lift(w, n, err));
            /* Lifting may have put nodes in front of n: go on from the first of them. */
            n = before != NULL ? before->next : g->first;
        }
        next = n->next;
        if (n->op == NULL || n->old) {
            /* What it does is not known, but its subgraphs can be looked at. */
            int at = 0;
            for (hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
                HN_TRY(infer_graph(w, sub, err));
            continue;
        }
        if (w->o != NULL && w->o->before != NULL) HN_TRY(w->o->before(w->o->ctx, n, err));
        HN_TRY(infer_node(w, n, err));
        if (w->o != NULL && w->o->after != NULL) HN_TRY(w->o->after(w->o->ctx, n, err));
    }
    return HONE_OK;
}

/* Makes sizes of 0 unknown; false when no input has one. */
static bool free_zeros(hn_model *m) {
    bool any = false;
    for (int i = 0; i < m->graph->n_inputs; i++) {
        hn_shape *s = &m->graph->inputs[i]->type.shape;
        for (int k = 0; k < s->rank; k++) {
            if (!hn_dim_is(s->dim[k], 0)) continue;
            s->dim[k] = hn_dim_fresh(&m->dims, -1);
            any = true;
        }
    }
    return any;
}

hone_status hn_model_infer(hn_model *m, const hn_infer_options *o, hn_error *err) {
    walk w = {.model = m, .o = o};
    hn_error unread;
    if (err == NULL) err = &unread;
    m->dims.status = HONE_OK;
    hn_arena_init(&w.scratch, m->alloc, HN_MEM_SCRATCH);
    hone_status status = infer_graph(&w, m->graph, err);
    if (status != HONE_OK && status != HONE_E_NOMEM && o != NULL && o->free_zeros && free_zeros(m))
        status = infer_graph(&w, m->graph, err);
    hn_arena_deinit(&w.scratch);
    return status;
}

/* ---- cost ---- */

static hn_dim bytes_of(hn_dims *dims, hone_dtype t, const hn_shape *s) {
    if (s->rank < 0 || hone_dtype_bits(t) == 0) return hn_dim_const(dims, 0);
    hn_dim n = hn_shape_product(dims, s, 0, s->rank);
    int bits = hone_dtype_bits(t);
    return bits >= 8 ? hn_dim_mulc(dims, n, bits / 8)
                     : hn_dim_div_ceil(dims, hn_dim_mulc(dims, n, bits), hn_dim_const(dims, 8));
}

hone_status hn_node_cost(const hn_node *n, hn_cost *cost, hn_error *err) {
    hn_model *m = n->graph->model;
    hn_arena scratch;
    hn_arena_init(&scratch, m->alloc, HN_MEM_SCRATCH);
    hn_infer c = {.node = n,
                  .dims = &m->dims,
                  .scratch = &scratch,
                  .n_in = n->n_inputs,
                  .n_out = n->n_outputs};
    c.in = hn_arena_array(&scratch, (size_t)n->n_inputs + 1, sizeof *c.in);
    c.out = hn_arena_array(&scratch, (size_t)n->n_outputs + 1, sizeof *c.out);
    hone_status status = HONE_OK;
    if (c.in == NULL || c.out == NULL) {
        status = HN_NOMEM(err);
        goto done;
    }
    cost->macs = cost->read_bytes = cost->written_bytes = hn_dim_const(&m->dims, 0);
    bool known = true;
    for (int i = 0; i < n->n_inputs; i++) {
        describe(n->inputs[i].value, false, &c.in[i]);
        if (!c.in[i].present) continue;
        known = known && c.in[i].shape.rank >= 0;
        cost->read_bytes = hn_dim_add(&m->dims, cost->read_bytes,
                                      bytes_of(&m->dims, c.in[i].dtype, &c.in[i].shape));
    }
    for (int i = 0; i < n->n_outputs; i++) {
        const hn_value *v = n->outputs[i];
        if (v == NULL) continue;
        c.out[i] = (hn_infer_out){.wanted = true, .dtype = v->type.dtype, .shape = v->type.shape};
        known = known && v->type.shape.rank >= 0;
        cost->written_bytes = hn_dim_add(&m->dims, cost->written_bytes,
                                         bytes_of(&m->dims, v->type.dtype, &v->type.shape));
    }
    if (known && n->op != NULL && n->op->cost != NULL && hn_node_check_form(n, NULL) == HONE_OK)
        n->op->cost(&c, cost);
    if (m->dims.status == HONE_E_NOMEM) status = HN_NOMEM(err);
    m->dims.status = HONE_OK;
done:
    hn_arena_deinit(&scratch);
    return status;
}
