/* The rules of lift.def: for each change of an operator's definition, the way up and the way back.
 * A lift edits the node in place; where one old node takes several new ones, they join its source.
 */
#include <ctype.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "ops/lift.h"

/* The contents of a value, if they are numbers that never change: an initializer or a Constant. */
static const hn_tensor *constant_of(const hn_value *v) {
    if (v == NULL || v->is_input) return NULL;
    const hn_tensor *t = v->constant;
    const hn_node *p = v->producer;
    if (p != NULL && p->domain[0] == '\0' && strcmp(p->op_type, "Constant") == 0) {
        const hn_attr *a = hn_node_attr(p, "value");
        if (a != NULL && a->type == HN_ATTR_TENSOR) t = a->u.tensor;
    }
    return t != NULL && t->data != NULL && t->dtype != HONE_DTYPE_STRING ? t : NULL;
}

/* ---- helpers for the way up ---- */

/* Makes t (taken over) the constant input i of n. */
static hone_status give_constant(hn_node *n, int i, const char *hint, hn_tensor *t, hn_error *err) {
    hn_value *v;
    HN_TRY(hn_value_create_constant(&v, n->graph, NULL, hint, t, err));
    v->lifted = true;
    if (n->n_inputs <= i) HN_TRY(hn_node_resize_inputs(n, i + 1, err));
    hn_node_set_input(n, i, v);
    return HONE_OK;
}

static hone_status give_ints(hn_node *n, int i, const char *hint, const int64_t *v, int count,
                             hn_error *err) {
    hn_tensor *t;
    HN_TRY(hn_tensor_from_s64(&t, n->graph->model->alloc, HONE_DTYPE_S64, 1, (int64_t[]){count}, v,
                              err));
    return give_constant(n, i, hint, t, err);
}

/* The element type that input 0 has. */
static hone_status want_dtype(const hn_node *n, hone_dtype *t, hn_error *err) {
    const hn_value *x = hn_node_input(n, 0);
    *t = x != NULL ? x->type.dtype : HONE_DTYPE_NONE;
    HN_CHECK(err, *t != HONE_DTYPE_NONE, HONE_E_UNSUPPORTED,
             "the element type of its input is not known, which the old definition needs");
    HN_CHECK(err, *t != HONE_DTYPE_STRING, HONE_E_TYPE, "its input is of strings");
    return HONE_OK;
}

/* A scalar of that type. */
static hone_status give_scalar_like(hn_node *n, int i, const char *hint, double v, hn_error *err) {
    hone_dtype t;
    hn_tensor *c;
    HN_TRY(want_dtype(n, &t, err));
    HN_TRY(hn_tensor_create(&c, n->graph->model->alloc, HN_MEM_WEIGHTS, t, 0, NULL, err));
    hn_store_f64(t, c->data, 0, v);
    return give_constant(n, i, hint, c, err);
}

/* Moves the INTS attribute to constant input i; absent attributes leave the input absent. */
static hone_status ints_to_input(hn_node *n, const char *attr, int i, hn_error *err) {
    const hn_attr *a = hn_node_attr(n, attr);
    if (a == NULL) return HONE_OK;
    HN_CHECK(err, a->type == HN_ATTR_INTS, HONE_E_MODEL, "attribute '%s' is %s, expected INTS",
             attr, hn_attr_type_name(a->type));
    HN_TRY(give_ints(n, i, attr, a->u.ints, a->n, err));
    hn_node_remove_attr(n, attr);
    return HONE_OK;
}

static hone_status float_attr(const hn_node *n, const char *name, bool *there, float *v,
                              hn_error *err) {
    const hn_attr *a = hn_node_attr(n, name);
    *there = a != NULL;
    if (a == NULL) return HONE_OK;
    HN_CHECK(err, a->type == HN_ATTR_FLOAT, HONE_E_MODEL, "attribute '%s' is %s, expected FLOAT",
             name, hn_attr_type_name(a->type));
    *v = a->u.f;
    return HONE_OK;
}

static hone_status int_attr(const hn_node *n, const char *name, int64_t fallback, int64_t *v,
                            hn_error *err) {
    const hn_attr *a = hn_node_attr(n, name);
    *v = fallback;
    if (a == NULL) return HONE_OK;
    HN_CHECK(err, a->type == HN_ATTR_INT, HONE_E_MODEL, "attribute '%s' is %s, expected INT", name,
             hn_attr_type_name(a->type));
    *v = a->u.i;
    return HONE_OK;
}

static int rank_of(const hn_value *v) { return v != NULL ? v->type.shape.rank : -1; }

static hone_status want_rank_of(const hn_value *v, int *rank, hn_error *err) {
    *rank = rank_of(v);
    HN_CHECK(err, *rank >= 0, HONE_E_UNSUPPORTED,
             "the rank of '%s' is not known, which the old definition needs",
             v != NULL ? v->name : "its input");
    return HONE_OK;
}

/* m belongs to what n's source became. */
static void become_part(hn_node *m, hn_node *n) {
    m->op = hn_op_find("", m->op_type);
    m->source = n->source;
    n->source->n_nodes++;
}

/* A new node of n's source, in front of `before` (NULL: at the end of the graph), with one output.
 */
static hone_status join(hn_node **out, hn_node *n, hn_node *before, const char *op, int n_inputs,
                        const char *hint, hn_error *err) {
    hn_node *m;
    hn_value *v;
    HN_TRY(hn_node_create(&m, n->graph, "", op, "", n_inputs, 1, err));
    HN_TRY(hn_value_create(&v, n->graph, NULL, hint, err));
    v->lifted = true;
    become_part(m, n);
    hn_node_set_output(m, 0, v);
    hn_node_insert(m, before);
    *out = m;
    return HONE_OK;
}

/* `after` takes over output i of n, and has as its input 0 what n computes now. */
static void take_over(hn_node *n, int i, hn_node *after) {
    hn_value *y = n->outputs[i], *inner = after->outputs[0];
    hn_node_set_output(after, 0, NULL);
    hn_node_set_output(n, i, NULL);
    hn_node_set_output(n, i, inner);
    hn_node_set_output(after, 0, y);
    hn_node_set_input(after, 0, inner);
}

/* n computes on its input 0 flattened to two axes, and its output 0 is shaped back. */
static hone_status run_flat(hn_node *n, int64_t axis, hn_error *err) {
    hn_value *x = hn_node_input(n, 0);
    hn_node *shape, *flat, *back;
    HN_TRY(join(&shape, n, n, "Shape", 1, "shape", err));
    hn_node_set_input(shape, 0, x);
    HN_TRY(join(&flat, n, n, "Flatten", 1, "flat", err));
    hn_node_set_input(flat, 0, x);
    HN_TRY(hn_node_set_i(flat, "axis", axis, err));
    hn_node_set_input(n, 0, flat->outputs[0]);
    HN_TRY(join(&back, n, n->next, "Reshape", 2, "result", err));
    hn_node_set_input(back, 1, shape->outputs[0]);
    take_over(n, 0, back);
    return HONE_OK;
}

/* Outputs from `first` on are taken from the node; false when one is used. */
static bool drop_outputs(hn_node *n, int first) {
    for (int i = first; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && n->outputs[i]->n_uses > 0) return false;
    for (int i = first; i < n->n_outputs; i++) hn_node_set_output(n, i, NULL);
    if (n->n_outputs > first) n->n_outputs = first;
    return true;
}

static bool attr_text_is(const hn_attr *a, const char *value) {
    return a != NULL && a->type == HN_ATTR_STRING && a->u.s.n == strlen(value) &&
           memcmp(a->u.s.p, value, a->u.s.n) == 0;
}

/* ---- helpers for the way back ---- */

static hn_value *form_input(const hn_form *f, int i) {
    return i < f->n_inputs ? f->inputs[i] : NULL;
}

/* Contents of input i, which must be constant numbers. */
static hone_status want_constant(const hn_form *f, int i, const hn_tensor **t, hn_error *err) {
    const hn_value *v = form_input(f, i);
    *t = constant_of(v);
    HN_CHECK(err, *t != NULL && (*t)->n < INT_MAX, HONE_E_UNSUPPORTED,
             "input %d ('%s') is computed, the old definition wants a constant", i,
             v != NULL ? v->name : "");
    return HONE_OK;
}

static hone_status form_add_attr(hn_form *f, hn_arena *arena, const char *name, hn_attr_type type,
                                 hn_attr **out, hn_error *err) {
    hn_attr **at = &f->attrs;
    while (*at != NULL && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    hn_attr *next = *at != NULL ? (*at)->next : NULL;
    hn_attr *a = hn_arena_zero(arena, sizeof *a);
    if (a == NULL) return HN_NOMEM(err);
    *a = (hn_attr){.name = name, .type = type, .doc = "", .next = next};
    *at = a;
    *out = a;
    return HONE_OK;
}

static void form_drop_attr(hn_form *f, const char *name) {
    for (hn_attr **at = &f->attrs; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->name, name) != 0) continue;
        *at = (*at)->next;
        return;
    }
}

static const hn_attr *form_attr(const hn_form *f, const char *name) {
    for (const hn_attr *a = f->attrs; a != NULL; a = a->next)
        if (strcmp(a->name, name) == 0) return a;
    return NULL;
}

/* Input i, a constant list of integers, becomes an attribute; absent inputs give none. */
static hone_status input_to_ints(hn_form *f, int i, const char *attr, hn_arena *arena,
                                 hn_error *err) {
    if (form_input(f, i) == NULL) return HONE_OK;
    const hn_tensor *t;
    HN_TRY(want_constant(f, i, &t, err));
    int64_t *v = hn_arena_array(arena, (size_t)t->n + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    hn_load_s64_n(t->dtype, t->data, 0, t->n, v);
    hn_attr *a;
    HN_TRY(form_add_attr(f, arena, attr, HN_ATTR_INTS, &a, err));
    a->n = (int)t->n;
    a->u.ints = v;
    f->inputs[i] = NULL;
    return HONE_OK;
}

/* Input i, a constant scalar, becomes a FLOAT attribute. */
static hone_status input_to_float(hn_form *f, int i, const char *attr, hn_arena *arena,
                                  hn_error *err) {
    if (form_input(f, i) == NULL) return HONE_OK;
    const hn_tensor *t;
    HN_TRY(want_constant(f, i, &t, err));
    HN_CHECK(err, t->n == 1, HONE_E_UNSUPPORTED, "input %d has %lld elements, expected one", i,
             (long long)t->n);
    double v = hn_tensor_f64(t, 0);
    bool fits = v != v || v == HUGE_VAL || v == -HUGE_VAL || fabs(v) <= (double)FLT_MAX;
    HN_CHECK(err, fits && (v != v || (double)(float)v == v), HONE_E_UNSUPPORTED,
             "input %d is %.17g, which is no float", i, v);
    hn_attr *a;
    HN_TRY(form_add_attr(f, arena, attr, HN_ATTR_FLOAT, &a, err));
    a->u.f = (float)v;
    f->inputs[i] = NULL;
    return HONE_OK;
}

static int64_t form_int(const hn_form *f, const char *name, int64_t fallback) {
    const hn_attr *a = form_attr(f, name);
    return a != NULL && a->type == HN_ATTR_INT ? a->u.i : fallback;
}

static bool form_text_is(const hn_form *f, const char *name, const char *value) {
    return attr_text_is(form_attr(f, name), value);
}

static void trim_inputs(hn_form *f) {
    while (f->n_inputs > 0 && f->inputs[f->n_inputs - 1] == NULL) f->n_inputs--;
}

/* ---- rules ---- */

static hone_status newest_only(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)f, (void)arena;
    return hn_fail(err, HONE_E_UNSUPPORTED, "the old definition cannot express it");
}

/* All operators: a list that meant nothing to the result. */
static hone_status drop_consumed_inputs(hn_node *n, hn_error *err) {
    (void)err;
    hn_node_remove_attr(n, "consumed_inputs");
    return HONE_OK;
}

/* Squeeze, Unsqueeze, Reduce*: axes */
static hone_status axes_attr(hn_node *n, hn_error *err) { return ints_to_input(n, "axes", 1, err); }

static hone_status axes_input(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    HN_TRY(input_to_ints(f, 1, "axes", arena, err));
    trim_inputs(f);
    return HONE_OK;
}

/* No axes mean all of them, unless an attribute that did not exist says none. */
static hone_status reduce_axes_input(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    HN_TRY(axes_input(n, f, arena, err));
    const hn_attr *axes = form_attr(f, "axes");
    bool none = axes == NULL || axes->n == 0;
    HN_CHECK(err, !none || form_int(f, "noop_with_empty_axes", 0) == 0, HONE_E_UNSUPPORTED,
             "it reduces over no axis (noop_with_empty_axes)");
    form_drop_attr(f, "noop_with_empty_axes");
    if (none) form_drop_attr(f, "axes");
    return HONE_OK;
}

static hone_status cast_name(hn_node *n, hn_error *err) {
    const hn_attr *a = hn_node_attr(n, "to");
    if (a == NULL || a->type != HN_ATTR_STRING) return HONE_OK;
    char name[32] = "";
    for (size_t i = 0; i < a->u.s.n && i + 1 < sizeof name; i++)
        name[i] = (char)tolower((unsigned char)a->u.s.p[i]);
    hone_dtype t = hn_dtype_from_onnx_name(name);
    HN_CHECK(err, t != HONE_DTYPE_NONE, HONE_E_MODEL, "attribute 'to' is '%s', which is no type",
             name);
    return hn_node_set_i(n, "to", t, err);
}

static hone_status clip_attrs(hn_node *n, hn_error *err) {
    static const char *const names[] = {"min", "max"};
    for (int i = 0; i < 2; i++) {
        bool there;
        float v = 0;
        HN_TRY(float_attr(n, names[i], &there, &v, err));
        if (!there) continue;
        HN_TRY(give_scalar_like(n, i + 1, names[i], (double)v, err));
        hn_node_remove_attr(n, names[i]);
    }
    return HONE_OK;
}

static hone_status clip_inputs(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    HN_TRY(input_to_float(f, 1, "min", arena, err));
    HN_TRY(input_to_float(f, 2, "max", arena, err));
    trim_inputs(f);
    return HONE_OK;
}

static hone_status concat_axis(hn_node *n, hn_error *err) {
    return hn_node_attr(n, "axis") == NULL ? hn_node_set_i(n, "axis", 1, err) : HONE_OK;
}

/* A tensor in the arena over data that lives as long. */
static hn_tensor *arena_tensor(hn_arena *arena, hone_dtype dtype, int rank, int64_t n,
                               const void *data) {
    hn_tensor *t = hn_arena_zero(arena, sizeof *t);
    if (t == NULL) return NULL;
    t->dtype = dtype;
    t->rank = rank;
    t->dims[0] = t->n = n;
    t->bytes = (size_t)n * (size_t)hone_dtype_bits(dtype) / 8;
    t->data = (void *)(uintptr_t)data;
    return t;
}

/* Numbers could only be said as a tensor. */
static hone_status constant_value(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    static const struct {
        const char *name;
        hn_attr_type type;
        hone_dtype dtype;
        int rank;
    } kinds[] = {{"value_float", HN_ATTR_FLOAT, HONE_DTYPE_F32, 0},
                 {"value_int", HN_ATTR_INT, HONE_DTYPE_S64, 0},
                 {"value_floats", HN_ATTR_FLOATS, HONE_DTYPE_F32, 1},
                 {"value_ints", HN_ATTR_INTS, HONE_DTYPE_S64, 1}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const hn_attr *a = form_attr(f, kinds[i].name);
        if (a == NULL || a->type != kinds[i].type) continue;
        const void *data = kinds[i].rank == 0                ? (const void *)&a->u
                           : kinds[i].type == HN_ATTR_FLOATS ? (const void *)a->u.floats
                                                             : (const void *)a->u.ints;
        hn_tensor *t =
            arena_tensor(arena, kinds[i].dtype, kinds[i].rank, kinds[i].rank == 0 ? 1 : a->n, data);
        if (t == NULL) return HN_NOMEM(err);
        form_drop_attr(f, kinds[i].name);
        hn_attr *value;
        HN_TRY(form_add_attr(f, arena, "value", HN_ATTR_TENSOR, &value, err));
        value->u.tensor = t;
    }
    return HONE_OK;
}

static hone_status dft_attr(hn_node *n, hn_error *err) {
    int64_t axis;
    HN_TRY(int_attr(n, "axis", 1, &axis, err));
    hn_tensor *t;
    HN_TRY(hn_tensor_from_s64(&t, n->graph->model->alloc, HONE_DTYPE_S64, 0, NULL, &axis, err));
    HN_TRY(give_constant(n, 2, "axis", t, err));
    hn_node_remove_attr(n, "axis");
    return HONE_OK;
}

static hone_status dft_input(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    int64_t axis = -2;
    if (form_input(f, 2) != NULL) {
        const hn_tensor *t;
        HN_TRY(want_constant(f, 2, &t, err));
        HN_CHECK(err, t->n == 1, HONE_E_UNSUPPORTED, "its axis has %lld elements", (long long)t->n);
        axis = hn_tensor_s64(t, 0);
        f->inputs[2] = NULL;
    }
    hn_attr *a;
    HN_TRY(form_add_attr(f, arena, "axis", HN_ATTR_INT, &a, err));
    a->u.i = axis;
    trim_inputs(f);
    return HONE_OK;
}

/* The mask had the type of the data. */
static hone_status dropout_mask(hn_node *n, hn_error *err) {
    if (hn_node_output(n, 1) == NULL || drop_outputs(n, 1)) return HONE_OK;
    hone_dtype t;
    hn_node *cast;
    HN_TRY(want_dtype(n, &t, err));
    HN_TRY(join(&cast, n, n->next, "Cast", 1, "kept", err));
    HN_TRY(hn_node_set_i(cast, "to", t, err));
    take_over(n, 1, cast);
    return HONE_OK;
}

static hone_status dropout_no_mask(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)arena;
    bool used = f->n_outputs > 1 && f->outputs[1] != NULL && f->outputs[1]->n_uses > 0;
    HN_CHECK(err, !used, HONE_E_UNSUPPORTED, "its mask is of bools");
    if (f->n_outputs > 1) f->n_outputs = 1;
    return HONE_OK;
}

static hone_status dropout_attr(hn_node *n, hn_error *err) {
    bool there;
    float ratio = 0.5f;
    HN_TRY(float_attr(n, "ratio", &there, &ratio, err));
    hn_node_remove_attr(n, "is_test");
    if (!there) return HONE_OK;
    hn_tensor *t;
    HN_TRY(hn_tensor_from_f32(&t, n->graph->model->alloc, 0, NULL, &ratio, err));
    HN_TRY(give_constant(n, 1, "ratio", t, err));
    hn_node_remove_attr(n, "ratio");
    return HONE_OK;
}

static hone_status dropout_input(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    if (form_input(f, 2) != NULL) {
        const hn_tensor *t;
        HN_TRY(want_constant(f, 2, &t, err));
        HN_CHECK(err, t->n == 1 && hn_tensor_s64(t, 0) == 0, HONE_E_UNSUPPORTED,
                 "it is in training mode");
        f->inputs[2] = NULL;
    }
    HN_TRY(input_to_float(f, 1, "ratio", arena, err));
    trim_inputs(f);
    return HONE_OK;
}

static const char *const grid_names[2][2] = {{"bilinear", "linear"}, {"bicubic", "cubic"}};

static hone_status grid_modes(hn_node *n, hn_error *err) {
    for (int i = 0; i < 2; i++)
        if (attr_text_is(hn_node_attr(n, "mode"), grid_names[i][0]))
            return hn_node_set_s(n, "mode", grid_names[i][1], err);
    return HONE_OK;
}

static hone_status grid_old_modes(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    int rank = rank_of(hn_node_input(n, 0));
    HN_CHECK(err, rank == 4, HONE_E_UNSUPPORTED, "only inputs of rank 4 existed, its has %d", rank);
    for (int i = 0; i < 2; i++) {
        if (!form_text_is(f, "mode", grid_names[i][1])) continue;
        hn_attr *old;
        HN_TRY(form_add_attr(f, arena, "mode", HN_ATTR_STRING, &old, err));
        old->u.s = (hn_str){grid_names[i][0], strlen(grid_names[i][0])};
        break;
    }
    return HONE_OK;
}

/* Scale and bias had one element per group, now one per channel: each is repeated. */
static hone_status group_scale(hn_node *n, hn_error *err) {
    int64_t groups, channels;
    const hn_value *x = hn_node_input(n, 0);
    HN_TRY(int_attr(n, "num_groups", 0, &groups, err));
    HN_CHECK(err, rank_of(x) >= 2 && hn_dim_is_const(x->type.shape.dim[1], &channels),
             HONE_E_UNSUPPORTED, "the number of channels of its input is not known");
    HN_CHECK(err, groups > 0 && channels % groups == 0, HONE_E_MODEL,
             "%lld channels do not divide into %lld groups", (long long)channels,
             (long long)groups);
    for (int i = 1; i <= 2; i++) {
        hn_value *v = hn_node_input(n, i);
        if (v == NULL) continue;
        hn_node *up, *wide, *flat;
        HN_TRY(join(&up, n, n, "Unsqueeze", 2, "group", err));
        hn_node_set_input(up, 0, v);
        HN_TRY(give_ints(up, 1, "axes", (int64_t[]){1}, 1, err));
        HN_TRY(join(&wide, n, n, "Expand", 2, "group", err));
        hn_node_set_input(wide, 0, up->outputs[0]);
        HN_TRY(give_ints(wide, 1, "shape", (int64_t[]){groups, channels / groups}, 2, err));
        HN_TRY(join(&flat, n, n, "Reshape", 2, "group", err));
        hn_node_set_input(flat, 0, wide->outputs[0]);
        HN_TRY(give_ints(flat, 1, "shape", (int64_t[]){-1}, 1, err));
        hn_node_set_input(n, i, flat->outputs[0]);
    }
    return HONE_OK;
}

/* Before opset 7, "broadcast" aligned the second input at "axis" of the first, or at the end. */
static hone_status old_broadcast(hn_node *n, hn_error *err) {
    const hn_attr *at = hn_node_attr(n, "axis");
    int64_t on, axis;
    HN_TRY(int_attr(n, "broadcast", 0, &on, err));
    HN_TRY(int_attr(n, "axis", 0, &axis, err));
    if (on != 0 && at != NULL) {
        int ra, rb;
        HN_TRY(want_rank_of(hn_node_input(n, 0), &ra, err));
        HN_TRY(want_rank_of(hn_node_input(n, 1), &rb, err));
        if (axis < 0) axis += ra;
        HN_CHECK(err, axis >= 0 && axis <= ra - rb, HONE_E_MODEL,
                 "axis %lld does not place a tensor of rank %d inside one of rank %d",
                 (long long)axis, rb, ra);
        int64_t axes[HONE_MAX_RANK];
        int count = 0;
        for (int i = (int)axis + rb; i < ra; i++) axes[count++] = i - (int)axis;
        if (count > 0) {
            hn_node *up;
            HN_TRY(join(&up, n, n, "Unsqueeze", 2, "aligned", err));
            hn_node_set_input(up, 0, hn_node_input(n, 1));
            HN_TRY(give_ints(up, 1, "axes", axes, count, err));
            hn_node_set_input(n, 1, up->outputs[0]);
        }
    }
    hn_node_remove_attr(n, "broadcast");
    hn_node_remove_attr(n, "axis");
    return HONE_OK;
}

/* A slope per channel stood alone; now it must broadcast from the right. */
static hone_status prelu_slope(hn_node *n, hn_error *err) {
    int rx, rs;
    hn_value *slope = hn_node_input(n, 1);
    HN_TRY(want_rank_of(hn_node_input(n, 0), &rx, err));
    HN_TRY(want_rank_of(slope, &rs, err));
    if (rs != 1 || rx <= 2 || hn_dim_is(slope->type.shape.dim[0], 1)) return HONE_OK;
    int64_t axes[HONE_MAX_RANK];
    for (int i = 0; i < rx - 2; i++) axes[i] = i + 1;
    hn_node *up;
    HN_TRY(join(&up, n, n, "Unsqueeze", 2, "slope", err));
    hn_node_set_input(up, 0, slope);
    HN_TRY(give_ints(up, 1, "axes", axes, rx - 2, err));
    hn_node_set_input(n, 1, up->outputs[0]);
    return HONE_OK;
}

static hone_status drop_broadcast(hn_node *n, hn_error *err) {
    (void)err;
    hn_node_remove_attr(n, "broadcast");
    return HONE_OK;
}

static hone_status drop_output_sequence(hn_node *n, hn_error *err) {
    (void)err;
    hn_node_remove_attr(n, "output_sequence");
    return HONE_OK;
}

/* p was a FLOAT. */
static hone_status norm_p(hn_node *n, hn_error *err) {
    bool there;
    float p = 2;
    HN_TRY(float_attr(n, "p", &there, &p, err));
    HN_CHECK(err, p >= 1 && p <= 1024 && p == floorf(p), HONE_E_UNSUPPORTED,
             "p is %g, only whole numbers are supported", (double)p);
    return there ? hn_node_set_i(n, "p", (int64_t)p, err) : HONE_OK;
}

static hone_status selu_defaults(hn_node *n, hn_error *err) {
    if (hn_node_attr(n, "alpha") == NULL) HN_TRY(hn_node_set_f(n, "alpha", 1.6732f, err));
    return hn_node_attr(n, "gamma") == NULL ? hn_node_set_f(n, "gamma", 1.0507f, err) : HONE_OK;
}

/* Max, Min, Mean, Sum did not broadcast. */
static hone_status no_broadcast(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)arena;
    for (int i = 1; i < f->n_inputs; i++) {
        const hn_shape *a = &f->inputs[0]->type.shape, *b = &f->inputs[i]->type.shape;
        HN_CHECK(err, a->rank >= 0 && hn_shape_equal(a, b), HONE_E_UNSUPPORTED,
                 "its inputs may be of different shapes");
    }
    return HONE_OK;
}

/* Floats needed fmod = 1. */
static hone_status mod_of_floats(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)arena;
    const hn_value *x = hn_node_input(n, 0);
    bool floats = x == NULL || !hn_dtype_is_int(x->type.dtype);
    HN_CHECK(err, !floats || form_int(f, "fmod", 0) != 0, HONE_E_UNSUPPORTED,
             "only integers were divided with the sign of the divisor");
    return HONE_OK;
}

/* Quantization was per tensor. */
static hone_status per_tensor(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)arena;
    const hn_value *scale = form_input(f, 1);
    const hn_shape *s = scale != NULL ? &scale->type.shape : NULL;
    bool one = s != NULL && s->rank >= 0;
    for (int i = 0; one && i < s->rank; i++) one = hn_dim_is(s->dim[i], 1);
    HN_CHECK(err, one, HONE_E_UNSUPPORTED, "it has more than one scale");
    form_drop_attr(f, "axis");
    return HONE_OK;
}

/* Statistics per activation are statistics per channel of the flattened input. */
static hone_status batch_norm_spatial(hn_node *n, hn_error *err) {
    int64_t spatial;
    HN_TRY(int_attr(n, "spatial", 1, &spatial, err));
    hn_node_remove_attr(n, "spatial");
    hn_node_remove_attr(n, "is_test");
    if (spatial != 0 || hn_node_output(n, 0) == NULL) return HONE_OK;
    HN_TRY(run_flat(n, 1, err));
    for (int i = 1; i < n->n_inputs; i++) {
        hn_node *flat;
        if (hn_node_input(n, i) == NULL) continue;
        HN_TRY(join(&flat, n, n, "Reshape", 2, "flat", err));
        hn_node_set_input(flat, 0, hn_node_input(n, i));
        HN_TRY(give_ints(flat, 1, "shape", (int64_t[]){-1}, 1, err));
        hn_node_set_input(n, i, flat->outputs[0]);
    }
    return HONE_OK;
}

/* The outputs of training were others. */
static hone_status batch_norm_outputs(hn_node *n, hn_error *err) {
    HN_CHECK(err, drop_outputs(n, 1), HONE_E_UNSUPPORTED, "its training outputs are used");
    return HONE_OK;
}

static hone_status pad_attrs(hn_node *n, hn_error *err) {
    HN_TRY(ints_to_input(n, hn_node_attr(n, "pads") != NULL ? "pads" : "paddings", 1, err));
    bool there;
    float v = 0;
    HN_TRY(float_attr(n, "value", &there, &v, err));
    if (there && v != 0) HN_TRY(give_scalar_like(n, 2, "value", (double)v, err));
    hn_node_remove_attr(n, "value");
    return HONE_OK;
}

static hone_status pad_inputs(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    HN_CHECK(err, form_input(f, 3) == NULL, HONE_E_UNSUPPORTED, "it names axes");
    HN_TRY(input_to_ints(f, 1, "pads", arena, err));
    HN_TRY(input_to_float(f, 2, "value", arena, err));
    trim_inputs(f);
    return HONE_OK;
}

static hone_status reshape_attr(hn_node *n, hn_error *err) {
    return ints_to_input(n, "shape", 1, err);
}

static hone_status resize_10(hn_node *n, hn_error *err) {
    hn_value *scales = hn_node_input(n, 1);
    HN_TRY(hn_node_resize_inputs(n, 3, err));
    hn_node_set_input(n, 1, NULL);
    hn_node_set_input(n, 2, scales);
    HN_TRY(hn_node_set_s(n, "coordinate_transformation_mode", "asymmetric", err));
    return hn_node_set_s(n, "nearest_mode", "floor", err);
}

static hone_status resize_11(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)arena;
    bool nearest = form_attr(f, "mode") == NULL || form_text_is(f, "mode", "nearest");
    HN_CHECK(err,
             form_text_is(f, "coordinate_transformation_mode", "asymmetric") &&
                 (!nearest || form_text_is(f, "nearest_mode", "floor")) &&
                 !form_text_is(f, "mode", "cubic") && form_input(f, 2) != NULL &&
                 form_input(f, 3) == NULL,
             HONE_E_UNSUPPORTED,
             "only asymmetric coordinates, nearest (floor) or linear, with scales existed");
    form_drop_attr(f, "coordinate_transformation_mode");
    form_drop_attr(f, "nearest_mode");
    f->inputs[1] = f->inputs[2];
    f->n_inputs = 2;
    return HONE_OK;
}

static bool is_empty(const hn_value *v) {
    for (int i = 0; i < rank_of(v); i++)
        if (hn_dim_is(v->type.shape.dim[i], 0)) return true;
    return false;
}

/* Where sizes said it all, scales were given but empty; now they must be absent.
 * floor((x + 0.5) / scale) is what rounding half_pixel coordinates half up gives. */
static hone_status resize_12(hn_node *n, hn_error *err) {
    if (hn_node_input(n, 3) != NULL && is_empty(hn_node_input(n, 2))) hn_node_set_input(n, 2, NULL);
    const char *coordinates = "coordinate_transformation_mode";
    if (!attr_text_is(hn_node_attr(n, coordinates), "tf_half_pixel_for_nn")) return HONE_OK;
    const hn_attr *mode = hn_node_attr(n, "mode");
    HN_CHECK(err,
             (mode == NULL || attr_text_is(mode, "nearest")) &&
                 attr_text_is(hn_node_attr(n, "nearest_mode"), "floor"),
             HONE_E_UNSUPPORTED, "tf_half_pixel_for_nn is supported with nearest (floor) only");
    HN_TRY(hn_node_set_s(n, coordinates, "half_pixel", err));
    return hn_node_set_s(n, "nearest_mode", "round_prefer_ceil", err);
}

/* Nothing could be absent. An empty roi serves as empty scales; where there is no roi nothing reads
 * it, and the scales stand in for it. */
static hone_status resize_13(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)arena, (void)err;
    const hn_value *roi = form_input(f, 1);
    if (form_input(f, 3) != NULL && f->inputs[2] == NULL && is_empty(roi) &&
        roi->type.dtype == HONE_DTYPE_F32)
        f->inputs[2] = f->inputs[1];
    if (roi == NULL && form_input(f, 2) != NULL) f->inputs[1] = f->inputs[2];
    return HONE_OK;
}

/* Upsample only enlarges. */
static hone_status resize_rename(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    const hn_tensor *scales;
    int64_t need;
    HN_TRY(hn_form_fit(n, f, 10, arena, &need, err));
    HN_TRY(want_constant(f, 1, &scales, err));
    for (int64_t i = 0; i < scales->n; i++)
        HN_CHECK(err, hn_tensor_f64(scales, i) >= 1, HONE_E_UNSUPPORTED,
                 "it scales by %g, only enlarging existed", hn_tensor_f64(scales, i));
    f->op_type = "Upsample";
    return HONE_OK;
}

/* Scales of the image axes alone, and another name for linear. */
static hone_status upsample_sides(hn_node *n, hn_error *err) {
    bool high, wide;
    float *scales = hn_arena_array(&n->graph->model->arena, 4, sizeof *scales);
    if (scales == NULL) return HN_NOMEM(err);
    scales[0] = scales[1] = 1;
    HN_TRY(float_attr(n, "height_scale", &high, &scales[2], err));
    HN_TRY(float_attr(n, "width_scale", &wide, &scales[3], err));
    HN_CHECK(err, high && wide, HONE_E_MODEL,
             "attribute 'height_scale' or 'width_scale' is missing");
    hn_attr *a;
    HN_TRY(hn_node_add_attr(&a, n, "scales", HN_ATTR_FLOATS, err));
    a->n = 4;
    a->u.floats = scales;
    hn_node_remove_attr(n, "height_scale");
    hn_node_remove_attr(n, "width_scale");
    bool linear = attr_text_is(hn_node_attr(n, "mode"), "bilinear");
    return linear ? hn_node_set_s(n, "mode", "linear", err) : HONE_OK;
}

static hone_status upsample_attr(hn_node *n, hn_error *err) {
    const hn_attr *a = hn_node_attr(n, "scales");
    HN_CHECK(err, a != NULL && a->type == HN_ATTR_FLOATS, HONE_E_MODEL,
             "attribute 'scales' (FLOATS) is missing");
    hn_tensor *t;
    HN_TRY(hn_tensor_from_f32(&t, n->graph->model->alloc, 1, (int64_t[]){a->n}, a->u.floats, err));
    HN_TRY(give_constant(n, 1, "scales", t, err));
    hn_node_remove_attr(n, "scales");
    return HONE_OK;
}

static hone_status upsample_input(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    const hn_tensor *t;
    HN_TRY(want_constant(f, 1, &t, err));
    float *scales = hn_arena_array(arena, (size_t)t->n + 1, sizeof *scales);
    hn_attr *a;
    if (scales == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < t->n; i++) scales[i] = (float)hn_tensor_f64(t, i);
    HN_TRY(form_add_attr(f, arena, "scales", HN_ATTR_FLOATS, &a, err));
    a->n = (int)t->n;
    a->u.floats = scales;
    f->n_inputs = 1;
    return HONE_OK;
}

static hone_status upsample_rename(hn_node *n, hn_error *err) {
    (void)err;
    n->op_type = "Resize";
    return HONE_OK;
}

static hone_status roi_mode(hn_node *n, hn_error *err) {
    return hn_node_set_s(n, "coordinate_transformation_mode", "output_half_pixel", err);
}

static hone_status roi_default(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)arena;
    HN_CHECK(err, form_text_is(f, "coordinate_transformation_mode", "output_half_pixel"),
             HONE_E_UNSUPPORTED, "only output_half_pixel coordinates existed");
    form_drop_attr(f, "coordinate_transformation_mode");
    return HONE_OK;
}

static hone_status scatter_rename(hn_node *n, hn_error *err) {
    (void)err;
    n->op_type = "ScatterElements";
    return HONE_OK;
}

static hone_status scatter_elements_rename(const hn_node *n, hn_form *f, hn_arena *arena,
                                           hn_error *err) {
    (void)n, (void)arena;
    HN_CHECK(err, form_attr(f, "reduction") == NULL || form_text_is(f, "reduction", "none"),
             HONE_E_UNSUPPORTED, "its reduction did not exist");
    form_drop_attr(f, "reduction");
    f->op_type = "Scatter";
    return HONE_OK;
}

static hone_status slice_attrs(hn_node *n, hn_error *err) {
    HN_CHECK(err, hn_node_attr(n, "starts") != NULL && hn_node_attr(n, "ends") != NULL,
             HONE_E_MODEL, "attribute 'starts' or 'ends' is missing");
    HN_TRY(ints_to_input(n, "starts", 1, err));
    HN_TRY(ints_to_input(n, "ends", 2, err));
    return ints_to_input(n, "axes", 3, err);
}

static hone_status slice_inputs(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    if (form_input(f, 4) != NULL) {
        const hn_tensor *t;
        HN_TRY(want_constant(f, 4, &t, err));
        for (int64_t i = 0; i < t->n; i++)
            HN_CHECK(err, hn_tensor_s64(t, i) == 1, HONE_E_UNSUPPORTED, "it steps by %lld",
                     (long long)hn_tensor_s64(t, i));
        f->inputs[4] = NULL;
    }
    HN_TRY(input_to_ints(f, 1, "starts", arena, err));
    HN_TRY(input_to_ints(f, 2, "ends", arena, err));
    HN_TRY(input_to_ints(f, 3, "axes", arena, err));
    trim_inputs(f);
    return HONE_OK;
}

/* Axis `axis` and those after it are the same as `axis` alone: they have one element each. */
static bool is_last(const hn_value *x, int64_t axis) {
    int rank = rank_of(x);
    if (axis < 0 || axis >= rank) return false;
    for (int64_t i = axis + 1; i < rank; i++)
        if (!hn_dim_is(x->type.shape.dim[i], 1)) return false;
    return true;
}

/* Before opset 13 the axes from `axis` on were one: softmax ran over all of them together. */
static hone_status softmax_2d(hn_node *n, hn_error *err) {
    int64_t axis;
    const hn_value *x = hn_node_input(n, 0);
    HN_TRY(int_attr(n, "axis", 1, &axis, err));
    int rank = rank_of(x);
    HN_CHECK(err, rank < 0 || (axis >= -rank && axis <= rank), HONE_E_MODEL,
             "axis %lld is outside [-%d, %d]", (long long)axis, rank, rank);
    if (axis < 0 && rank >= 0) axis += rank;
    if (is_last(x, axis) || hn_node_output(n, 0) == NULL)
        return hn_node_set_i(n, "axis", axis, err);
    HN_TRY(run_flat(n, axis, err));
    return hn_node_set_i(n, "axis", 1, err);
}

static hone_status softmax_last(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    int64_t axis = form_int(f, "axis", -1);
    const hn_value *x = hn_node_input(n, 0);
    int rank = rank_of(x);
    if (axis < 0 && rank >= 0) axis += rank;
    HN_CHECK(err, is_last(x, axis), HONE_E_UNSUPPORTED,
             "its axis %lld may not be the last of rank %d", (long long)axis, rank);
    hn_attr *old;
    HN_TRY(form_add_attr(f, arena, "axis", HN_ATTR_INT, &old, err));
    old->u.i = axis;
    return HONE_OK;
}

static hone_status split_attr(hn_node *n, hn_error *err) {
    return ints_to_input(n, "split", 1, err);
}

static hone_status split_input(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    HN_TRY(input_to_ints(f, 1, "split", arena, err));
    trim_inputs(f);
    return HONE_OK;
}

static hone_status split_count(hn_node *n, hn_error *err) {
    return hn_node_input(n, 1) == NULL ? hn_node_set_i(n, "num_outputs", n->n_outputs, err)
                                       : HONE_OK;
}

static hone_status split_no_count(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)arena;
    if (form_attr(f, "num_outputs") == NULL) return HONE_OK;
    const hn_value *x = hn_node_input(n, 0);
    int rank = rank_of(x);
    int64_t axis = form_int(f, "axis", 0), count = form_int(f, "num_outputs", 0), size;
    if (axis < 0) axis += rank;
    HN_CHECK(err,
             axis >= 0 && axis < rank && hn_dim_is_const(x->type.shape.dim[axis], &size) &&
                 count > 0 && size % count == 0,
             HONE_E_UNSUPPORTED, "its parts may be of unequal size");
    form_drop_attr(f, "num_outputs");
    return HONE_OK;
}

static hone_status topk_attr(hn_node *n, hn_error *err) {
    HN_CHECK(err, hn_node_attr(n, "k") != NULL, HONE_E_MODEL, "attribute 'k' is missing");
    int64_t k;
    HN_TRY(int_attr(n, "k", 0, &k, err));
    HN_TRY(give_ints(n, 1, "k", &k, 1, err));
    hn_node_remove_attr(n, "k");
    return HONE_OK;
}

static hone_status topk_input(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    const hn_tensor *t;
    HN_TRY(want_constant(f, 1, &t, err));
    HN_CHECK(err, t->n == 1, HONE_E_UNSUPPORTED, "its k has %lld elements", (long long)t->n);
    hn_attr *a;
    HN_TRY(form_add_attr(f, arena, "k", HN_ATTR_INT, &a, err));
    a->u.i = hn_tensor_s64(t, 0);
    f->n_inputs = 1;
    return HONE_OK;
}

/* The deepest graph in and under g. */
static int deepest(const hn_graph *g) {
    int depth = g->depth;
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        int at = 0;
        for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) {
            int under = deepest(sub);
            if (under > depth) depth = under;
        }
    }
    return depth;
}

static void move_down(hn_graph *g) {
    g->depth++;
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        int at = 0;
        for (hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) move_down(sub);
    }
}

/* Scan-8 ran over a batch: it is a Scan over the batch whose body is the Scan over the sequence. */
static hone_status scan_batch(hn_node *n, hn_error *err) {
    hn_attr *body = hn_node_attr(n, "body");
    const hn_attr *directions = hn_node_attr(n, "directions");
    int64_t n_scans;
    HN_TRY(int_attr(n, "num_scan_inputs", 0, &n_scans, err));
    HN_CHECK(err, body != NULL && body->type == HN_ATTR_GRAPH, HONE_E_MODEL,
             "attribute 'body' (GRAPH) is missing");
    HN_CHECK(err, directions == NULL || directions->type == HN_ATTR_INTS, HONE_E_MODEL,
             "attribute 'directions' is not INTS");
    HN_CHECK(err, hn_node_input(n, 0) == NULL, HONE_E_UNSUPPORTED,
             "sequence lengths are not supported");
    int n_in = n->n_inputs - 1; /* without the sequence lengths */
    HN_CHECK(err, n_scans > 0 && n_scans <= n_in, HONE_E_MODEL,
             "num_scan_inputs is %lld, but there are %d inputs", (long long)n_scans, n_in);
    hn_graph *inner = body->u.graph, *outer;
    HN_CHECK(err, deepest(inner) < HN_MAX_DEPTH, HONE_E_LIMIT,
             "subgraphs are nested more than %d deep", HN_MAX_DEPTH);

    HN_TRY(hn_graph_create(&outer, n->graph->model, n->graph, err));
    outer->owner = n;
    outer->name = inner->name;
    hn_node *scan;
    HN_TRY(hn_node_create(&scan, outer, "", "Scan", "", n_in, n->n_outputs, err));
    hn_node_insert(scan, NULL);
    become_part(scan, n);
    for (int i = 0; i < n_in; i++) {
        hn_value *v;
        HN_TRY(hn_value_create(&v, outer, NULL, "item", err));
        HN_TRY(hn_graph_add_input(outer, v, err));
        hn_node_set_input(scan, i, v);
    }
    for (int i = 0; i < n->n_outputs; i++) {
        hn_value *v;
        HN_TRY(hn_value_create(&v, outer, NULL, "result", err));
        hn_node_set_output(scan, i, v);
        HN_TRY(hn_graph_add_output(outer, v, err));
    }
    HN_TRY(hn_node_set_i(scan, "num_scan_inputs", n_scans, err));
    if (directions != NULL)
        HN_TRY(hn_node_set_ints(scan, "scan_input_directions", directions->u.ints, directions->n,
                                err));
    hn_attr *moved;
    HN_TRY(hn_node_add_attr(&moved, scan, "body", HN_ATTR_GRAPH, err));
    HN_TRY(hn_node_set_i(n, "num_scan_inputs", n_in, err));
    moved->u.graph = inner;
    inner->parent = outer;
    inner->owner = scan;
    move_down(inner);

    body->u.graph = outer;
    for (int i = 0; i < n_in; i++) hn_node_set_input(n, i, hn_node_input(n, i + 1));
    hn_node_remove_attr(n, "directions");
    return hn_node_resize_inputs(n, n_in, err);
}

/* Axes counted from the front. */
static hone_status scan_axes(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    const struct {
        const char *attr;
        hn_value **values; /* the scanned ones are the last */
        int n;
    } lists[] = {{"scan_input_axes", f->inputs, f->n_inputs},
                 {"scan_output_axes", f->outputs, f->n_outputs}};
    for (int k = 0; k < 2; k++) {
        const hn_attr *a = form_attr(f, lists[k].attr);
        if (a == NULL || a->type != HN_ATTR_INTS || a->n > lists[k].n) continue;
        int64_t *axes = hn_arena_array(arena, (size_t)a->n + 1, sizeof *axes);
        hn_attr *front;
        if (axes == NULL) return HN_NOMEM(err);
        for (int i = 0; i < a->n; i++) {
            int rank = rank_of(lists[k].values[lists[k].n - a->n + i]);
            axes[i] = a->u.ints[i] < 0 && rank >= 0 ? a->u.ints[i] + rank : a->u.ints[i];
            HN_CHECK(err, axes[i] >= 0, HONE_E_UNSUPPORTED,
                     "element %d of '%s' counts from the end of an unknown rank", i, a->name);
        }
        HN_TRY(form_add_attr(f, arena, a->name, HN_ATTR_INTS, &front, err));
        front->n = a->n;
        front->u.ints = axes;
    }
    return HONE_OK;
}

const hn_lift_rule hn_lift_rules[] = {
#define HN_LIFT(op, to, lift, lower) {#op, to, lift, lower},
#include "ops/lift.def"
#undef HN_LIFT
};
const int hn_n_lift_rules = (int)(sizeof hn_lift_rules / sizeof *hn_lift_rules);
