#include "compress/convert.h"

#include <math.h>
#include <stdio.h>

#include "engine/layers.h"
#include "ops/infer.h"
#include "ops/lift.h"
#include "ops/nodes.h"

/* Types newer than this are not used: runtimes do not read newer opsets yet. */
#define MOST_OPSET 26

/* Rounding to a normal number of f16 takes at most 2^-11 of it, to one of bf16 2^-8. A constant
 * that loses more than this share of its root mean square has numbers that are too small for the
 * type. */
#define LOST_F16 0x1p-10
#define LOST_BF16 0x1p-7

enum { F16, BF16, N_TYPES };
static const hone_dtype types[N_TYPES] = {HONE_DTYPE_F16, HONE_DTYPE_BF16};

typedef struct converter {
    const hn_convert_options *o;
    hn_graph *graph;
    hn_arena scratch;
    int n_values;                /* that were there before */
    hn_value **narrow[N_TYPES];  /* by their ids: the same in that type, or NULL */
    const char **unfit[N_TYPES]; /* of constants: why there is none */
    hn_conversion *done;
} converter;

static bool is_f32(const hn_value *v) {
    return v != NULL && v->type.kind == HN_TYPE_TENSOR && v->type.dtype == HONE_DTYPE_F32;
}

static bool is_constant(const hn_value *v) { return v->constant != NULL && !v->is_input; }

/* ---- constants ---- */

/* What keeps the constant from being `made`, which is the same in a narrow type; NULL: nothing. */
static hone_status judge(converter *c, const hn_value *v, const hn_tensor *made, const char **why,
                         hn_error *err) {
    const hn_tensor *t = v->constant;
    const char *type = hone_dtype_name(made->dtype);
    double lost = 0, all = 0, least = INFINITY;
    *why = NULL;
    for (int64_t i = 0; i < t->n; i++) {
        double x = hn_tensor_f64(t, i), y = hn_tensor_f64(made, i);
        if (!isfinite(x)) continue;
        if (isinf(y)) {
            *why =
                hn_arena_format(&c->done->arena, "constant '%s' reaches %g, which %s does not hold",
                                v->name, x, type);
            return *why != NULL ? HONE_OK : HN_NOMEM(err);
        }
        lost += (x - y) * (x - y);
        all += x * x;
        if (x != 0) least = fmin(least, fabs(x));
    }
    double share = made->dtype == HONE_DTYPE_F16 ? LOST_F16 : LOST_BF16;
    if (lost <= share * share * all) return HONE_OK;
    *why = hn_arena_format(&c->done->arena,
                           "constant '%s' has numbers as small as %g, which %s does not hold",
                           v->name, least, type);
    return *why != NULL ? HONE_OK : HN_NOMEM(err);
}

/* Makes the constant's narrow version, or finds out why there is none. */
static hone_status narrow_constant(converter *c, const hn_value *v, int k, hn_error *err) {
    const hn_tensor *t = v->constant;
    hn_tensor *made;
    if (c->narrow[k][v->id] != NULL || c->unfit[k][v->id] != NULL) return HONE_OK;
    HN_TRY(hn_tensor_create(&made, c->graph->model->alloc, HN_MEM_WEIGHTS, types[k], t->rank,
                            t->dims, err));
    hn_cast(t->dtype, t->data, types[k], made->data, t->n, false);
    hone_status status = judge(c, v, made, &c->unfit[k][v->id], err);
    if (status != HONE_OK || c->unfit[k][v->id] != NULL) {
        hn_tensor_unref(made);
        return status;
    }
    return hn_value_create_constant(&c->narrow[k][v->id], c->graph, NULL, v->name, made, err);
}

/* ---- which nodes ---- */

static const hn_param *param(const hn_sig *s, int i) {
    return &s->in[i < s->n_in ? i : s->n_in - 1];
}

/* Input i of n is one that becomes narrow with it. */
static bool goes_along(const hn_node *n, int i, int k) {
    if (!is_f32(n->inputs[i].value) || (hn_is(n, "Resize") && i > 0)) return false;
    return hn_dtype_in(types[k], param(hn_op_sig(n->op), i)->types);
}

static bool has_f32(const hn_node *n) {
    for (int i = 0; i < n->n_inputs; i++)
        if (is_f32(n->inputs[i].value)) return true;
    for (int i = 0; i < n->n_outputs; i++)
        if (is_f32(n->outputs[i])) return true;
    return false;
}

/* What inference says of n with narrow inputs: HONE_E_TYPE where there is no such version. */
static hone_status infer_narrow(converter *c, const hn_node *n, int k, hn_infer *f, hn_error *err) {
    *f = (hn_infer){.node = n,
                    .dims = &c->graph->model->dims,
                    .scratch = &c->scratch,
                    .n_in = n->n_inputs,
                    .n_out = n->n_outputs};
    f->in = hn_arena_array(&c->scratch, (size_t)n->n_inputs + 1, sizeof *f->in);
    f->out = hn_arena_array(&c->scratch, (size_t)n->n_outputs + 1, sizeof *f->out);
    if (f->in == NULL || f->out == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_value *v = n->inputs[i].value;
        f->in[i] = (hn_infer_in){.present = v != NULL, .shape = hn_shape_unknown()};
        if (v == NULL) continue;
        f->in[i].is_tensor = true;
        f->in[i].dtype = goes_along(n, i, k) ? types[k] : v->type.dtype;
        f->in[i].shape = v->type.shape;
    }
    for (int i = 0; i < n->n_outputs; i++)
        f->out[i] = (hn_infer_out){.wanted = n->outputs[i] != NULL};
    return hn_node_infer(f, err);
}

/* The version of n that takes and makes these types is in an opset that may be used. */
static hone_status is_old_enough(converter *c, const hn_node *n, const hn_infer *f, bool *yes,
                                 hn_error *err) {
    size_t n_in = (size_t)n->n_inputs, n_all = n_in + (size_t)n->n_outputs;
    hn_value *values = hn_arena_array(&c->scratch, n_all + 1, sizeof *values);
    hn_value **at = hn_arena_array(&c->scratch, n_all + 1, sizeof *at);
    if (values == NULL || at == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < n_all; i++) {
        const hn_value *v = i < n_in ? n->inputs[i].value : n->outputs[i - n_in];
        if (v == NULL) continue;
        at[i] = &values[i];
        values[i] = *v;
        values[i].type.dtype = i < n_in ? f->in[i].dtype : f->out[i - n_in].dtype;
    }
    hn_form form = {.op_type = n->op_type,
                    .n_inputs = n->n_inputs,
                    .inputs = at,
                    .n_outputs = n->n_outputs,
                    .outputs = at + n_in};
    hn_error why;
    int64_t need;
    hone_status status = hn_form_fit(n, &form, MOST_OPSET, &c->scratch, &need, &why);
    *yes = status == HONE_OK;
    return status == HONE_E_NOMEM ? HN_NOMEM(err) : HONE_OK;
}

static hone_status has_version(converter *c, const hn_node *n, int k, bool *yes, hn_error *err) {
    hn_infer f;
    hn_error why;
    *yes = false;
    hone_status status = infer_narrow(c, n, k, &f, &why);
    if (status == HONE_E_NOMEM) return HN_NOMEM(err);
    if (status != HONE_OK) return HONE_OK;
    bool changes = false;
    for (int i = 0; i < n->n_inputs; i++) changes = changes || goes_along(n, i, k);
    if (!changes) return HONE_OK;
    return is_old_enough(c, n, &f, yes, err);
}

static bool is_plain(const hn_value *v) {
    return v == NULL ||
           (v->type.kind == HN_TYPE_TENSOR && (v->constant == NULL || v->constant->data != NULL));
}

/* *why: what keeps n from being computed in that type; NULL: nothing. */
static hone_status find_obstacle(converter *c, const hn_node *n, int k, const char **why,
                                 hn_error *err) {
    bool plain = true, yes = false;
    *why = NULL;
    for (int i = 0; i < n->n_inputs; i++) plain = plain && is_plain(n->inputs[i].value);
    for (int i = 0; i < n->n_outputs; i++) plain = plain && is_plain(n->outputs[i]);
    if (n->op == NULL || n->old)
        *why = "hone does not know the operator";
    else if ((n->op->traits & HN_CONTROL) != 0)
        *why = "control flow";
    else if (!plain)
        *why = "a value that is no dense tensor";
    else
        HN_TRY(has_version(c, n, k, &yes, err));
    if (*why != NULL) return HONE_OK;
    if (!yes) {
        *why = hn_arena_format(&c->done->arena, "%s takes no %s", n->op_type,
                               hone_dtype_name(types[k]));
        return *why != NULL ? HONE_OK : HN_NOMEM(err);
    }
    for (int i = 0; i < n->n_inputs && *why == NULL; i++) {
        const hn_value *v = n->inputs[i].value;
        if (!goes_along(n, i, k) || !is_constant(v)) continue;
        HN_TRY(narrow_constant(c, v, k, err));
        *why = c->unfit[k][v->id];
    }
    return HONE_OK;
}

/* ---- values ---- */

static hone_status add_cast(converter *c, hn_value *x, hn_value *y, hone_dtype to, hn_node *before,
                            hn_error *err) {
    hn_node *cast;
    HN_TRY(hn_node_create(&cast, c->graph, "", "Cast", "", 1, 1, err));
    cast->op = hn_op_find("", "Cast");
    HN_TRY(hn_node_set_i(cast, "to", (int64_t)to, err));
    hn_node_insert(cast, before);
    hn_node_set_input(cast, 0, x);
    hn_node_set_output(cast, 0, y);
    y->type = (hn_type){.kind = HN_TYPE_TENSOR, .dtype = to, .shape = x->type.shape};
    return HONE_OK;
}

/* The narrow version of v, by a Cast before that node where there is none yet. */
static hone_status narrow_of(converter *c, hn_value *v, int k, hn_node *before, hn_value **out,
                             hn_error *err) {
    hn_value **narrow = &c->narrow[k][v->id];
    if (*narrow == NULL) {
        hn_value *made;
        HN_TRY(hn_value_create(&made, c->graph, NULL, v->name, err));
        HN_TRY(add_cast(c, v, made, types[k], before, err));
        *narrow = made;
    }
    *out = *narrow;
    return HONE_OK;
}

/* n makes output i in the narrow type, and a Cast makes of it what it was. */
static hone_status narrow_output(converter *c, hn_node *n, int i, int k, hn_error *err) {
    hn_value *v = n->outputs[i], *made;
    HN_TRY(hn_value_create(&made, c->graph, NULL, v->name, err));
    made->type = v->type;
    made->type.dtype = types[k];
    made->declared = v->declared;
    hn_node_set_output(n, i, NULL);
    hn_node_set_output(n, i, made);
    c->narrow[k][v->id] = made;
    return add_cast(c, made, v, HONE_DTYPE_F32, n->next, err);
}

/* ---- the walk ---- */

static hone_status narrow_node(converter *c, hn_node *n, int k, hn_error *err) {
    hn_infer f;
    for (int i = 0; i < n->n_inputs; i++) {
        hn_value *v = n->inputs[i].value;
        if (!goes_along(n, i, k)) continue;
        HN_TRY(narrow_of(c, v, k, n, &v, err));
        hn_node_set_input(n, i, v);
    }
    HN_TRY(infer_narrow(c, n, k, &f, err));
    for (int i = 0; i < n->n_outputs; i++)
        if (is_f32(n->outputs[i]) && f.out[i].dtype == types[k])
            HN_TRY(narrow_output(c, n, i, k, err));
    return HONE_OK;
}

static void describe(converter *c, const hn_node *n, hone_dtype type, const char *why) {
    hn_converted *r = &c->done->v[c->done->n++];
    *r = (hn_converted){.node = hn_layer_name(n), .op = n->op_type, .type = type, .why_not = why};
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_tensor *t = hn_node_constant(n, i);
        if (t == NULL || t->dtype != HONE_DTYPE_F32) continue;
        bool along =
            type != HONE_DTYPE_F32 && goes_along(n, i, type == HONE_DTYPE_F16 ? F16 : BF16);
        r->params += t->n;
        r->bytes_before += (int64_t)t->bytes;
        r->bytes_after += (int64_t)(along ? t->bytes / 2 : t->bytes);
    }
    if (n->written != HONE_DTYPE_NONE) r->bytes_before /= 2; /* they came in 16 bits */
}

static hone_status walk_node(converter *c, hn_node *n, hn_error *err) {
    if (!has_f32(n) || (hn_def_of(n)->traits & HN_CONVERTS) != 0) return HONE_OK;
    hone_dtype to = c->o->type(c->o->ctx, n);
    int k = to == HONE_DTYPE_F16 ? F16 : BF16;
    const char *why = NULL;
    if (to != types[k])
        to = HONE_DTYPE_F32;
    else
        HN_TRY(find_obstacle(c, n, k, &why, err));
    if (why != NULL) to = HONE_DTYPE_F32;
    describe(c, n, to, why);
    return to == types[k] ? narrow_node(c, n, k, err) : HONE_OK;
}

/* ---- inputs and outputs ---- */

/* The input itself becomes narrow, and a Cast makes of it what it was. */
static hone_status narrow_input(converter *c, hn_value *v, hn_value **wide, hn_error *err) {
    HN_TRY(hn_value_create(wide, c->graph, NULL, v->name, err));
    hn_value_replace(v, *wide);
    HN_TRY(add_cast(c, v, *wide, HONE_DTYPE_F32, c->graph->first, err));
    v->type.dtype = c->o->io;
    v->stated = NULL;
    return HONE_OK;
}

/* Gives v another name, and its own to `heir`. */
static hone_status inherit(hn_value *v, hn_value *heir, hn_error *err) {
    const char *name = v->name;
    if (!v->dead) {
        hn_value *free_name;
        HN_TRY(hn_value_create(&free_name, v->graph, NULL, name, err));
        const char *other = free_name->name;
        hn_value_remove(free_name);
        HN_TRY(hn_value_rename(v, other, err));
    }
    return hn_value_rename(heir, name, err);
}

static hone_status narrow_outputs(converter *c, int k, hn_error *err) {
    hn_graph *g = c->graph;
    for (int i = 0; i < g->n_outputs; i++) {
        hn_value *v = g->outputs[i].value, *made;
        if (!is_f32(v)) continue;
        HN_TRY(narrow_of(c, v, k, NULL, &made, err));
        if (made->is_input) continue; /* handed on as it comes: it has a name of its own */
        HN_TRY(inherit(v, made, err));
        hn_graph_set_output(g, i, made);
    }
    return HONE_OK;
}

/* ---- tidying ---- */

static bool is_integer(const hn_value *v) {
    return hn_dtype_is_int(v->type.dtype) || v->type.dtype == HONE_DTYPE_BOOL;
}

/* A Cast takes what another Cast takes, where the f32 in between changes nothing. */
static void merge_cast(hn_node *n) {
    hn_node *before = hn_feeds(n, 0, "Cast");
    hn_value *y = n->outputs[0];
    if (before == NULL || !is_f32(n->inputs[0].value)) return;
    hn_value *x = before->inputs[0].value;
    bool exact = x->type.dtype == HONE_DTYPE_F16 || x->type.dtype == HONE_DTYPE_BF16;
    bool narrows = y->type.dtype == HONE_DTYPE_F16 || y->type.dtype == HONE_DTYPE_BF16;
    if (!exact && !(narrows && is_integer(x) && hn_used_once(n->inputs[0].value))) return;
    hn_node_set_input(n, 0, x);
    if (y->type.dtype == x->type.dtype && y->n_outputs == 0) hn_value_replace(y, x);
}

static hone_status tidy(converter *c, hn_error *err) {
    for (hn_node *n = c->graph->first; n != NULL; n = n->next)
        if (hn_is(n, "Cast")) merge_cast(n);
    for (hn_node *n = c->graph->last, *next; n != NULL; n = next) {
        next = n->prev;
        if (hn_is(n, "Cast") && n->outputs[0]->n_uses == 0) hn_node_remove(n);
    }
    for (int i = 0; i < c->n_values; i++) {
        hn_value *v = c->graph->values[i];
        for (int k = 0; k < N_TYPES; k++) {
            hn_value *made = c->narrow[k][i];
            if (made == NULL || made->dead || made->is_input || made->n_outputs > 0) continue;
            if (!v->dead && is_constant(v) && v->n_uses == 0) hn_value_remove(v);
            if (v->dead && hn_graph_value(c->graph, v->name) == NULL)
                HN_TRY(hn_value_rename(made, v->name, err));
        }
    }
    return HONE_OK;
}

/* ---- the whole ---- */

static hone_status convert(converter *c, hn_error *err) {
    hn_graph *g = c->graph;
    int io = c->o->io == HONE_DTYPE_F16 ? F16 : BF16, n_inputs = g->n_inputs;
    bool both = c->o->io == types[io];
    hn_value **wide = hn_arena_array(&c->scratch, (size_t)n_inputs + 1, sizeof *wide);
    c->done->v = hn_arena_array(&c->done->arena, (size_t)g->n_nodes + 1, sizeof *c->done->v);
    if (wide == NULL || c->done->v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n_inputs && both; i++)
        if (is_f32(g->inputs[i]) && g->inputs[i]->constant == NULL)
            HN_TRY(narrow_input(c, g->inputs[i], &wide[i], err));
    c->n_values = g->n_values;
    for (int k = 0; k < N_TYPES; k++) {
        size_t n = (size_t)c->n_values + 1;
        c->narrow[k] = hn_arena_array(&c->scratch, n, sizeof *c->narrow[k]);
        c->unfit[k] = hn_arena_array(&c->scratch, n, sizeof *c->unfit[k]);
        if (c->narrow[k] == NULL || c->unfit[k] == NULL) return HN_NOMEM(err);
    }
    for (int i = 0; i < n_inputs; i++)
        if (wide[i] != NULL) c->narrow[io][wide[i]->id] = g->inputs[i];
    for (hn_node *n = g->first, *next; n != NULL; n = next) {
        next = n->next;
        HN_TRY(walk_node(c, n, err));
    }
    if (both) HN_TRY(narrow_outputs(c, io, err));
    HN_TRY(tidy(c, err));
    return hn_model_infer(g->model, NULL, err);
}

hone_status hn_convert(hn_model *m, const hn_convert_options *o, hn_conversion *done,
                       hn_error *err) {
    hn_conversion own;
    converter c = {.o = o, .graph = m->graph, .done = done != NULL ? done : &own};
    *c.done = (hn_conversion){0};
    hn_arena_init(&c.done->arena, m->alloc, HN_MEM_OTHER);
    hn_arena_init(&c.scratch, m->alloc, HN_MEM_OTHER);
    hone_status status = convert(&c, err);
    hn_arena_deinit(&c.scratch);
    if (done == NULL) hn_conversion_deinit(&own);
    return status;
}

void hn_conversion_deinit(hn_conversion *c) {
    hn_arena_deinit(&c->arena);
    *c = (hn_conversion){0};
}
