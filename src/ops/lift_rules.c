/* The rules of lift.def: for each change of an operator's definition, the way up and the way back.
 * A lift edits the node in place; where one old node takes several new ones, they join its source.
 */
#include "ops/lift.h"

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

/* A scalar of the element type that input 0 has. */
static hone_status give_scalar_like(hn_node *n, int i, const char *hint, double v, hn_error *err) {
    const hn_value *x = hn_node_input(n, 0);
    hone_dtype t = x != NULL ? x->type.dtype : HONE_DTYPE_NONE;
    HN_CHECK(err, t != HONE_DTYPE_NONE, HONE_E_TYPE,
             "the element type of its input is not known, which the old definition needs");
    hn_tensor *c;
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

/* A new node of n's source, in front of `before` (NULL: at the end of the graph), with one output.
 */
static hone_status join(hn_node **out, hn_node *n, hn_node *before, const char *op, int n_inputs,
                        const char *hint, hn_error *err) {
    hn_node *m;
    hn_value *v;
    HN_TRY(hn_node_create(&m, n->graph, "", op, n->name, n_inputs, 1, err));
    HN_TRY(hn_value_create(&v, n->graph, NULL, hint, err));
    v->lifted = true;
    m->op = hn_op_find("", op);
    m->opset = HN_NEWEST_OPSET;
    m->source = n->source;
    n->source->n_nodes++;
    hn_node_set_output(m, 0, v);
    hn_node_insert(m, before);
    *out = m;
    return HONE_OK;
}

/* ---- helpers for the way back ---- */

static hn_value *form_input(const hn_form *f, int i) {
    return i < f->n_inputs ? f->inputs[i] : NULL;
}

/* Contents of input i, which must be constant. */
static hone_status want_constant(const hn_form *f, int i, const hn_tensor **t, hn_error *err) {
    const hn_value *v = form_input(f, i);
    *t = v != NULL && !v->is_input ? v->constant : NULL;
    if (v != NULL && *t == NULL && v->producer != NULL) {
        const hn_attr *a = hn_node_attr(v->producer, "value");
        if (strcmp(v->producer->op_type, "Constant") == 0 && a != NULL && a->type == HN_ATTR_TENSOR)
            *t = a->u.tensor;
    }
    HN_CHECK(err, *t != NULL && (*t)->data != NULL, HONE_E_UNSUPPORTED,
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
    hn_attr *a;
    HN_TRY(form_add_attr(f, arena, attr, HN_ATTR_FLOAT, &a, err));
    a->u.f = (float)hn_tensor_f64(t, 0);
    f->inputs[i] = NULL;
    return HONE_OK;
}

static void trim_inputs(hn_form *f) {
    while (f->n_inputs > 0 && f->inputs[f->n_inputs - 1] == NULL) f->n_inputs--;
}

/* ---- rules ---- */

static hone_status keep_lift(hn_node *n, hn_error *err) {
    (void)n, (void)err;
    return HONE_OK;
}

static hone_status keep(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)f, (void)arena, (void)err;
    return HONE_OK;
}

static hone_status newest_only(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)f, (void)arena;
    return hn_fail(err, HONE_E_UNSUPPORTED, "the old definition cannot express it");
}

/* Squeeze, Unsqueeze, Reduce*: axes */
static hone_status axes_attr(hn_node *n, hn_error *err) { return ints_to_input(n, "axes", 1, err); }

static hone_status axes_input(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n;
    const hn_attr *noop = form_attr(f, "noop_with_empty_axes");
    bool keeps = noop != NULL && noop->u.i != 0;
    form_drop_attr(f, "noop_with_empty_axes");
    HN_TRY(input_to_ints(f, 1, "axes", arena, err));
    const hn_attr *axes = form_attr(f, "axes");
    if (axes == NULL || axes->n == 0) {
        HN_CHECK(err, !keeps, HONE_E_UNSUPPORTED, "it reduces over no axis (noop_with_empty_axes)");
        form_drop_attr(f, "axes");
    }
    trim_inputs(f);
    return HONE_OK;
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
    int64_t axis = -2;
    if (form_input(f, 2) != NULL) {
        const hn_tensor *t;
        HN_TRY(want_constant(f, 2, &t, err));
        HN_CHECK(err, t->n == 1, HONE_E_UNSUPPORTED, "its axis has %lld elements", (long long)t->n);
        axis = hn_tensor_s64(t, 0);
        f->inputs[2] = NULL;
    }
    int rank = rank_of(hn_node_input(n, 0));
    if (axis < 0 && rank >= 0) axis += rank;
    HN_CHECK(err, axis >= 0, HONE_E_UNSUPPORTED, "its axis counts from the end of an unknown rank");
    hn_attr *a;
    HN_TRY(form_add_attr(f, arena, "axis", HN_ATTR_INT, &a, err));
    a->u.i = axis;
    trim_inputs(f);
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
    const hn_attr *a = hn_node_attr(n, "mode");
    for (int i = 0; a != NULL && a->type == HN_ATTR_STRING && i < 2; i++)
        if (a->u.s.n == strlen(grid_names[i][0]) &&
            memcmp(a->u.s.p, grid_names[i][0], a->u.s.n) == 0)
            return hn_node_set_s(n, "mode", grid_names[i][1], err);
    return HONE_OK;
}

static hone_status grid_old_modes(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    int rank = rank_of(hn_node_input(n, 0));
    HN_CHECK(err, rank == 4 || rank < 0, HONE_E_UNSUPPORTED,
             "its input has rank %d, only 4 existed", rank);
    const hn_attr *a = form_attr(f, "mode");
    for (int i = 0; a != NULL && i < 2; i++) {
        if (a->u.s.n != strlen(grid_names[i][1]) ||
            memcmp(a->u.s.p, grid_names[i][1], a->u.s.n) != 0)
            continue;
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
        HN_CHECK(err, axis >= 0 && axis + rb <= ra, HONE_E_MODEL,
                 "axis %lld does not place a tensor of rank %d inside one of rank %d",
                 (long long)axis, rb, ra);
        int64_t axes[HONE_MAX_RANK];
        int count = 0;
        for (int i = (int)axis + rb; i < ra; i++) axes[count++] = rb + (i - (int)axis - rb);
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

static hone_status spatial_attr(hn_node *n, hn_error *err) {
    int64_t spatial;
    HN_TRY(int_attr(n, "spatial", 1, &spatial, err));
    HN_CHECK(err, spatial == 1, HONE_E_UNSUPPORTED,
             "spatial = 0 (statistics per activation) is not supported");
    hn_node_remove_attr(n, "spatial");
    hn_node_remove_attr(n, "is_test");
    hn_node_remove_attr(n, "consumed_inputs");
    for (int i = 1; i < n->n_outputs; i++)
        HN_CHECK(err, n->outputs[i] == NULL || n->outputs[i]->n_uses == 0, HONE_E_UNSUPPORTED,
                 "its training outputs are used");
    for (int i = 1; i < n->n_outputs; i++) hn_node_set_output(n, i, NULL);
    n->n_outputs = 1;
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

static bool form_text_is(const hn_form *f, const char *name, const char *value) {
    const hn_attr *a = form_attr(f, name);
    return a != NULL && a->type == HN_ATTR_STRING && a->u.s.n == strlen(value) &&
           memcmp(a->u.s.p, value, a->u.s.n) == 0;
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

/* roi and scales could not be left out; a tensor without elements stood for that. */
static hone_status resize_empty(hn_node *n, hn_error *err) {
    (void)err;
    for (int i = 1; i <= 2 && i < n->n_inputs; i++)
        if (is_empty(hn_node_input(n, i))) hn_node_set_input(n, i, NULL);
    return HONE_OK;
}

static hone_status resize_scales(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    (void)n, (void)arena;
    HN_CHECK(err, form_input(f, 2) != NULL, HONE_E_UNSUPPORTED, "scales could not be left out");
    return HONE_OK;
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

/* Before opset 13 the axes from `axis` on were one: softmax ran over all of them together. */
static hone_status softmax_2d(hn_node *n, hn_error *err) {
    int rank;
    int64_t axis;
    hn_value *x = hn_node_input(n, 0), *y = hn_node_output(n, 0);
    HN_TRY(want_rank_of(x, &rank, err));
    HN_TRY(int_attr(n, "axis", 1, &axis, err));
    HN_CHECK(err, axis >= -rank && axis <= rank, HONE_E_MODEL, "axis %lld is outside [-%d, %d]",
             (long long)axis, rank, rank);
    if (axis < 0) axis += rank;
    bool single = axis < rank;
    for (int i = (int)axis + 1; i < rank; i++)
        single = single && hn_dim_is(x->type.shape.dim[i], 1);
    if (single || y == NULL) return hn_node_set_i(n, "axis", axis, err);

    hn_node *shape, *flat, *back;
    HN_TRY(join(&shape, n, n, "Shape", 1, "shape", err));
    hn_node_set_input(shape, 0, x);
    HN_TRY(join(&flat, n, n, "Flatten", 1, "flat", err));
    hn_node_set_input(flat, 0, x);
    HN_TRY(hn_node_set_i(flat, "axis", axis, err));
    HN_TRY(join(&back, n, n->next, "Reshape", 2, "soft", err));
    hn_value *soft = back->outputs[0]; /* made for back; the two outputs change places */
    hn_node_set_output(back, 0, NULL);
    hn_node_set_output(n, 0, NULL);
    hn_node_set_output(n, 0, soft);
    hn_node_set_output(back, 0, y);
    hn_node_set_input(n, 0, flat->outputs[0]);
    hn_node_set_input(back, 0, soft);
    hn_node_set_input(back, 1, shape->outputs[0]);
    return hn_node_set_i(n, "axis", 1, err);
}

static hone_status softmax_last(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err) {
    const hn_attr *a = form_attr(f, "axis");
    int64_t axis = a != NULL ? a->u.i : -1;
    int rank = rank_of(hn_node_input(n, 0));
    HN_CHECK(err, rank > 0 && (axis == -1 || axis == rank - 1), HONE_E_UNSUPPORTED,
             "its axis %lld is not the last of rank %d", (long long)axis, rank);
    hn_attr *old;
    HN_TRY(form_add_attr(f, arena, "axis", HN_ATTR_INT, &old, err));
    old->u.i = rank - 1;
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
    const hn_attr *count = form_attr(f, "num_outputs");
    if (count == NULL) return HONE_OK;
    const hn_attr *at = form_attr(f, "axis");
    const hn_value *x = hn_node_input(n, 0);
    int rank = rank_of(x);
    int64_t axis = at != NULL ? at->u.i : 0, size;
    if (axis < 0) axis += rank;
    HN_CHECK(err,
             axis >= 0 && axis < rank && hn_dim_is_const(x->type.shape.dim[axis], &size) &&
                 count->u.i > 0 && size % count->u.i == 0,
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

/* Scan-8 ran over a batch: it is a Scan over the batch whose body is the Scan over the sequence. */
static hone_status scan_batch(hn_node *n, hn_error *err) {
    hn_model *m = n->graph->model;
    hn_attr *body = hn_node_attr(n, "body");
    int64_t n_scans;
    HN_TRY(int_attr(n, "num_scan_inputs", 0, &n_scans, err));
    HN_CHECK(err, body != NULL && body->type == HN_ATTR_GRAPH, HONE_E_MODEL,
             "attribute 'body' (GRAPH) is missing");
    HN_CHECK(err, hn_node_input(n, 0) == NULL, HONE_E_UNSUPPORTED,
             "sequence lengths are not supported");
    int n_in = n->n_inputs - 1; /* without the sequence lengths */
    HN_CHECK(err, n_scans > 0 && n_scans <= n_in, HONE_E_MODEL,
             "num_scan_inputs is %lld, but there are %d inputs", (long long)n_scans, n_in);
    hn_graph *inner = body->u.graph, *outer;
    HN_TRY(hn_graph_create(&outer, m, n->graph, err));
    outer->owner = n;
    outer->name = inner->name;

    hn_node *scan;
    HN_TRY(hn_node_create(&scan, outer, "", "Scan", n->name, n_in, n->n_outputs, err));
    scan->op = hn_op_find("", "Scan");
    scan->opset = HN_NEWEST_OPSET;
    for (int i = 0; i < n_in; i++) {
        hn_value *v;
        HN_TRY(hn_value_create(&v, outer, NULL, "item", err));
        HN_TRY(hn_graph_add_input(outer, v, err));
        hn_node_set_input(scan, i, v);
    }
    hn_node_insert(scan, NULL);
    for (int i = 0; i < n->n_outputs; i++) {
        hn_value *v;
        HN_TRY(hn_value_create(&v, outer, NULL, "result", err));
        hn_node_set_output(scan, i, v);
        HN_TRY(hn_graph_add_output(outer, v, err));
    }
    HN_TRY(hn_node_set_i(scan, "num_scan_inputs", n_scans, err));
    const hn_attr *directions = hn_node_attr(n, "directions");
    if (directions != NULL && directions->type == HN_ATTR_INTS)
        HN_TRY(hn_node_set_ints(scan, "scan_input_directions", directions->u.ints, directions->n,
                                err));
    hn_attr *moved;
    HN_TRY(hn_node_add_attr(&moved, scan, "body", HN_ATTR_GRAPH, err));
    moved->u.graph = inner;
    inner->parent = outer;
    inner->owner = scan;
    inner->depth = outer->depth + 1;

    body->u.graph = outer;
    for (int i = 0; i < n_in; i++) hn_node_set_input(n, i, hn_node_input(n, i + 1));
    HN_TRY(hn_node_resize_inputs(n, n_in, err));
    hn_node_remove_attr(n, "directions");
    return hn_node_set_i(n, "num_scan_inputs", n_in, err);
}

const hn_lift_rule hn_lift_rules[] = {
#define HN_LIFT(op, to, lift, lower) {#op, to, lift, lower},
#include "ops/lift.def"
#undef HN_LIFT
};
const int hn_n_lift_rules = (int)(sizeof hn_lift_rules / sizeof *hn_lift_rules);
