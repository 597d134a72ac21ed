/* What depends on constants alone is computed now, by the operators' references.
 *
 *     y = Sqrt (c)                      becomes   the initializer y
 *     s = Gather (Shape (x), 1)         becomes   the initializer s, where that size is a number
 *     y = Constant <value> ()           becomes   the initializer y
 *     y = Sqrt (c), y an output         becomes   y = Constant <value> ()
 *
 * Fires when inference knows all outputs of a node as numbers, or all its inputs are constants;
 * not for random operators, control flow, or what weights are kept small by: DequantizeLinear, and
 * Gather from a codebook. What a fold adds to the file is charged against max_growth: the bytes of
 * its outputs less those of the constants that go with it, which a constant used by several nodes
 * that fold (the slices a weight is put together from in another order) does in as many shares.
 * Work over MOST_MACS is left to whoever runs the model.
 */
#include "base/size.h"
#include "ops/eval.h"
#include "ops/infer.h"
#include "passes/pass.h"

#define MOST_MACS ((int64_t)1 << 28)
/* Nodes that may share a constant: they are looked at for each of them. */
#define MOST_SHARES 16
/* Input bytes of an operator whose output sizes only running tells. */
#define MOST_DYNAMIC ((size_t)1 << 20)

static bool never(const hn_node *n) {
    return n->op == NULL || n->old || (n->op->traits & (HN_RANDOM | HN_CONTROL)) != 0 ||
           n->op->ref == NULL || hn_is(n, "DequantizeLinear") || hn_codebook_of(n, NULL) ||
           hn_casts_codes(n);
}

/* A value whose contents inference knows as numbers. */
static bool is_known(const hn_value *v) {
    int64_t dims[HONE_MAX_RANK], count, x;
    if (v->n_known == 0 || v->type.kind != HN_TYPE_TENSOR || !hn_dtype_is_int(v->type.dtype) ||
        !hn_shape_is_const(&v->type.shape, dims) ||
        !hn_dims_count(dims, v->type.shape.rank, &count) || count != v->n_known)
        return false;
    for (int i = 0; i < v->n_known; i++)
        if (!hn_dim_is_const(v->known[i], &x) || x >= HN_FAR || x <= -HN_FAR) return false;
    return true;
}

static hone_status known_tensor(hn_pass_ctx *c, const hn_value *v, hn_tensor **out, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], numbers[HN_MAX_KNOWN];
    hn_shape_is_const(&v->type.shape, dims);
    for (int i = 0; i < v->n_known; i++) hn_dim_is_const(v->known[i], &numbers[i]);
    return hn_tensor_from_s64(out, c->model->alloc, v->type.dtype, v->type.shape.rank, dims,
                              numbers, err);
}

static bool all_known(const hn_node *n) {
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && !is_known(n->outputs[i])) return false;
    return true;
}

/* Whether inference has evaluated the node. */
static bool is_evaluated(const hn_node *n) {
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && n->outputs[i]->folded == NULL) return false;
    return true;
}

static bool all_constant(const hn_node *n) {
    for (int i = 0; i < n->n_inputs; i++)
        if (n->inputs[i].value != NULL && hn_node_constant(n, i) == NULL) return false;
    return true;
}

/* The contents of a Constant node, without a copy. */
static hn_tensor *constant_attr(const hn_node *n) {
    const hn_attr *a = hn_is(n, "Constant") ? hn_node_attr(n, "value") : NULL;
    return a != NULL && a->type == HN_ATTR_TENSOR && a->u.tensor->data != NULL ? a->u.tensor : NULL;
}

/* Whether a constant goes when all nodes that can fold have done so. */
static bool is_passing(const hn_value *v) {
    if (v->n_outputs > 0 || v->n_uses > MOST_SHARES) return false;
    for (const hn_use *u = v->uses; u != NULL; u = u->next)
        if (v->n_uses > 1 && (never(u->node) || !all_constant(u->node))) return false;
    return true;
}

/* Bytes of the constants that go when n does, or its shares of them. */
static size_t freed_bytes(const hn_node *n) {
    size_t bytes = 0;
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_value *v = n->inputs[i].value;
        if (v != NULL && is_passing(v)) bytes += hn_node_constant(n, i)->bytes / (size_t)v->n_uses;
    }
    return bytes;
}

/* Evaluating it is little enough work, with a result small enough. */
static hone_status worthwhile(hn_pass_ctx *c, const hn_node *n, bool *yes, hn_error *err) {
    *yes = false;
    size_t bytes = 0;
    if ((n->op->traits & HN_DYNAMIC) != 0) {
        for (int i = 0; i < n->n_inputs; i++)
            if (n->inputs[i].value != NULL) bytes += hn_node_constant(n, i)->bytes;
        *yes = bytes <= MOST_DYNAMIC; /* the result is no larger than a few times that */
        return HONE_OK;
    }
    for (int i = 0; i < n->n_outputs; i++) {
        const hn_value *v = n->outputs[i];
        int64_t dims[HONE_MAX_RANK], count;
        size_t own;
        if (v == NULL) continue;
        if (!hn_shape_is_const(&v->type.shape, dims) ||
            !hn_dims_count(dims, v->type.shape.rank, &count) ||
            !hn_packed_bytes(count, hone_dtype_bits(v->type.dtype), &own) ||
            !hn_size_add(bytes, own, &bytes))
            return HONE_OK;
    }
    hn_cost cost;
    int64_t macs;
    HN_TRY(hn_node_cost(n, &cost, err));
    if (!hn_dim_is_const(cost.macs, &macs) || macs > MOST_MACS) return HONE_OK;
    size_t freed = freed_bytes(n);
    *yes = bytes <= freed || hn_charge(c, bytes - freed);
    return HONE_OK;
}

/* Runs n; *done false: it cannot be run, and whoever runs the model will see why. */
static hone_status evaluate(hn_pass_ctx *c, const hn_node *n, hn_tensor **out, bool *done,
                            hn_error *err) {
    const hn_tensor **in = hn_arena_array(&c->scratch, (size_t)n->n_inputs + 1, sizeof *in);
    if (in == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n->n_inputs; i++) in[i] = hn_node_constant(n, i);
    hn_error unread;
    hone_status status =
        hn_node_run(n, &(hn_exec_options){.alloc = c->model->alloc}, in, out, &unread);
    *done = status == HONE_OK;
    return status == HONE_E_NOMEM ? HN_NOMEM(err) : HONE_OK;
}

/* Rows of a constant that lie behind each other, as an embedding of positions is looked up: a part of
 * it, without a copy, unless only the part would keep the rest in memory. *done false: n does not
 * ask for such. */
static hone_status take_rows(const hn_node *n, hn_tensor **out, bool *done, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], row;
    *done = false;
    if (!hn_is(n, "Gather")) return HONE_OK;
    hn_tensor *x = hn_node_constant(n, 0);
    const hn_tensor *rows = hn_node_constant(n, 1);
    bool stays = x->own == NULL || atomic_load(&x->refs) > 1;
    if (x->data == NULL || rows->data == NULL) return HONE_OK;
    if (!stays || hn_attr_i(n, "axis") != 0 || x->alloc == NULL || rows->n == 0 ||
        x->dtype == HONE_DTYPE_STRING || hone_dtype_bits(x->dtype) < 8 || !hn_tensor_aligned(x) ||
        !hn_shape_is_const(&n->outputs[0]->type.shape, dims))
        return HONE_OK;
    int64_t first = hn_tensor_s64(rows, 0);
    if (first < 0 || first > x->dims[0] - rows->n) return HONE_OK;
    for (int64_t i = 1; i < rows->n; i++)
        if (hn_tensor_s64(rows, i) != first + i) return HONE_OK;
    *done = hn_dims_count(x->dims + 1, x->rank - 1, &row);
    if (!*done) return HONE_OK;
    return hn_tensor_create_part(out, x, first * row, n->outputs[0]->type.shape.rank, dims, err);
}

/* An output of the graph is computed by a Constant. */
static hone_status become_node(hn_pass_ctx *c, hn_node *n, hn_tensor *t, hn_error *err) {
    hn_node *constant;
    hn_attr *value;
    HN_TRY(hn_make_node(&constant, n, "Constant", 0, err));
    HN_TRY(hn_node_add_attr(&value, constant, "value", HN_ATTR_TENSOR, err));
    value->u.tensor = hn_tensor_ref(t);
    hn_take_place(c, constant, n);
    return HONE_OK;
}

static void become_constants(hn_pass_ctx *c, hn_node *n, hn_tensor *const *t) {
    for (int i = 0; i < n->n_outputs; i++) {
        hn_value *v = n->outputs[i];
        if (v == NULL) continue;
        hn_node_set_output(n, i, NULL);
        hn_value_set_constant(v, hn_tensor_ref(t[i]));
        if (v->n_uses == 0) hn_value_remove(v);
    }
    hn_prune(n);
    c->fired++;
}

/* Outputs of graphs keep a node that computes them; several from one node are rare. */
static bool outputs_fit(const hn_node *n) {
    if (n->n_outputs == 0 || n->outputs[0] == NULL) return false;
    for (int i = 0; i < n->n_outputs; i++) {
        const hn_value *v = n->outputs[i];
        if (v == NULL) continue;
        if (v->type.kind != HN_TYPE_TENSOR) return false;
        if (v->n_outputs > 0 && (n->n_outputs > 1 || hn_is(n, "Constant"))) return false;
    }
    return true;
}

/* The contents of n's outputs; *done false: they are not to be had, or not worth it. */
static hone_status contents(hn_pass_ctx *c, hn_node *n, hn_tensor **t, bool *done, hn_error *err) {
    hn_tensor *direct = constant_attr(n);
    *done = true;
    if (direct != NULL) {
        t[0] = hn_tensor_ref(direct);
        return HONE_OK;
    }
    if (all_known(n)) {
        for (int i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != NULL) HN_TRY(known_tensor(c, n->outputs[i], &t[i], err));
        return HONE_OK;
    }
    *done = false;
    if (!all_constant(n)) return HONE_OK;
    HN_TRY(worthwhile(c, n, done, err));
    if (!*done) return HONE_OK;
    HN_TRY(take_rows(n, &t[0], done, err));
    if (*done) return HONE_OK;
    if (!is_evaluated(n)) return evaluate(c, n, t, done, err);
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL) t[i] = hn_tensor_ref(n->outputs[i]->folded);
    *done = true;
    return HONE_OK;
}

static hone_status fold(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    if (never(n) || !outputs_fit(n)) return HONE_OK;
    int n_outputs = n->n_outputs;
    hn_tensor **t = hn_arena_array(&c->scratch, (size_t)n_outputs, sizeof *t);
    if (t == NULL) return HN_NOMEM(err);
    bool done;
    hone_status status = contents(c, n, t, &done, err);
    if (status == HONE_OK && done) {
        if (n->outputs[0]->n_outputs > 0)
            status = become_node(c, n, t[0], err);
        else
            become_constants(c, n, t);
    }
    for (int i = 0; i < n_outputs; i++) hn_tensor_unref(t[i]);
    return status;
}

hone_status hn_pass_fold_constants(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, fold, err);
}
