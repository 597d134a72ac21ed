/* Taking units out of a model: constants, numbers that repeat sizes, and then the check that every
 * value has become as small as it was to. */
#include <string.h>

#include "compress/channel_groups.h"
#include "compress/shrinking.h"
#include "engine/layers.h"
#include "ops/infer.h"
#include "ops/nodes.h"

static bool stays(const hn_channels *c, const int32_t *unit, int64_t i) {
    return unit[i] < 0 || !c->units[unit[i]].gone;
}

static int64_t count_left(const hn_channels *c, const int32_t *unit, int64_t from, int64_t to) {
    int64_t n = 0;
    for (int64_t i = from; i < to; i++) n += stays(c, unit, i);
    return n;
}

/* ---- constants ---- */

static hone_status gather(hn_tensor **out, const hn_channels *c, const hn_channel_cut *cut,
                          const hn_tensor *t, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], inner = 1, outer = 1;
    int bits = hone_dtype_bits(t->dtype);
    HN_CHECK(err, t->data != NULL && bits % 8 == 0 && t->dtype != HONE_DTYPE_STRING,
             HONE_E_UNSUPPORTED, "%s '%s' reads constant '%s' as %s, which cannot lose slices",
             cut->node->op_type, hn_layer_name(cut->node),
             hn_node_input(cut->node, cut->input)->name, hone_dtype_name(t->dtype));
    memcpy(dims, t->dims, sizeof dims);
    dims[cut->axis] = count_left(c, cut->unit, 0, cut->n);
    for (int a = 0; a < cut->axis; a++) outer *= dims[a];
    for (int a = cut->axis + 1; a < t->rank; a++) inner *= dims[a];
    HN_TRY(hn_tensor_create(out, c->model->alloc, HN_MEM_WEIGHTS, t->dtype, t->rank, dims, err));
    size_t line = (size_t)inner * (size_t)bits / 8;
    char *to = (*out)->data;
    const char *from = t->data;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < cut->n; i++, from += line)
            if (stays(c, cut->unit, i)) {
                memcpy(to, from, line);
                to += line;
            }
    return HONE_OK;
}

/* Input i of n reads t from now on: the constant changes where nothing else reads it, else there is
 * another one. Takes over the reference. */
static hone_status give_constant(hn_node *n, int i, hn_tensor *t, hn_error *err) {
    hn_value *was = hn_node_input(n, i), *v;
    hn_node_touch(n);
    if (hn_used_once(was) && was->constant != NULL) {
        was->stated = NULL;
        hn_value_set_constant(was, t);
        return HONE_OK;
    }
    HN_TRY(hn_make_constant(&v, n, was->name, t, err));
    hn_node_set_input(n, i, v);
    return HONE_OK;
}

static hone_status cut_constant(hn_channels *c, const hn_channel_cut *cut, hn_error *err) {
    hn_tensor *t;
    if (count_left(c, cut->unit, 0, cut->n) == cut->n) return HONE_OK;
    HN_TRY(gather(&t, c, cut, hn_node_constant(cut->node, cut->input), err));
    return give_constant(cut->node, cut->input, t, err);
}

/* ---- numbers that repeat sizes ---- */

static const hn_slices *slices(const hn_channels *c, const hn_value *v) {
    return v != NULL && v->id < c->n_slices ? c->slices[v->id] : NULL;
}

static bool is_cut(const hn_channels *c, const hn_slices *s) {
    return s != NULL && hn_slices_left(c, s) < s->n;
}

static hone_status give_ints(hn_node *n, int i, const int64_t *v, int count, hn_error *err) {
    const hn_value *was = hn_node_input(n, i);
    hn_tensor *t;
    int64_t dims = count;
    hone_dtype dtype = was != NULL ? was->type.dtype : HONE_DTYPE_S64;
    int rank = was != NULL && was->type.shape.rank == 0 ? 0 : 1;
    HN_TRY(hn_tensor_from_s64(&t, n->graph->model->alloc, dtype, rank, &dims, v, err));
    if (was != NULL) return give_constant(n, i, t, err);
    hn_value *made;
    HN_TRY(hn_make_constant(&made, n, "sizes", t, err));
    if (i >= n->n_inputs) HN_TRY(hn_node_resize_inputs(n, i + 1, err));
    hn_node_set_input(n, i, made);
    return HONE_OK;
}

/* The size at place i of a list that a node joins from pieces. */
static hone_status piece(hn_node *join, int at, int64_t is, int64_t becomes, hn_error *err) {
    if (join == NULL || hn_def_of(join)->role != HN_ROLE_JOIN) return HONE_OK;
    for (int i = 0; i < join->n_inputs; i++) {
        int64_t v[HONE_MAX_RANK], n;
        const hn_value *in = hn_node_input(join, i);
        if (in == NULL || in->type.shape.rank != 1 || !hn_dim_is_const(in->type.shape.dim[0], &n))
            return HONE_OK;
        if (at >= n) {
            at -= (int)n;
            continue;
        }
        if (hn_const_ints(join, i, v, HONE_MAX_RANK) != n || v[at] != is) return HONE_OK;
        v[at] = becomes;
        return give_ints(join, i, v, (int)n, err);
    }
    return HONE_OK;
}

static hone_status fit_shape(hn_channels *c, hn_node *n, int input, hn_error *err) {
    const hn_slices *s = slices(c, hn_node_output(n, 0));
    const hn_value *in = hn_node_input(n, input);
    int64_t v[HONE_MAX_RANK], size;
    if (!is_cut(c, s) || in == NULL) return HONE_OK;
    int count = hn_const_ints(n, input, v, HONE_MAX_RANK);
    if (count < 0 && in->type.shape.rank == 1 && hn_dim_is_const(in->type.shape.dim[0], &size))
        return piece(in->producer, s->axis - (s->rank - (int)size), s->n, hn_slices_left(c, s),
                     err);
    int at = s->axis - (s->rank - count);
    if (count < 0 || at < 0 || v[at] != s->n) return HONE_OK;
    v[at] = hn_slices_left(c, s);
    return give_ints(n, input, v, count, err);
}

static hone_status fit_parts(hn_channels *c, hn_node *n, int input, hn_error *err) {
    const hn_slices *x = slices(c, hn_node_input(n, 0));
    int64_t v[64], axis = hn_attr_i(n, "axis");
    if (!is_cut(c, x)) return HONE_OK;
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    if (x->axis != axis) return HONE_OK;
    int count = hn_node_input(n, input) == NULL ? n->n_outputs : hn_const_ints(n, input, v, 64);
    HN_CHECK(err, count == n->n_outputs && count <= 64, HONE_E_UNSUPPORTED,
             "%s '%s' has sizes that are computed", n->op_type, hn_layer_name(n));
    int64_t from = 0, each = (x->n + count - 1) / count;
    for (int i = 0; i < count; i++) {
        int64_t to = from + (hn_node_input(n, input) != NULL ? v[i] : each);
        if (to > x->n) to = x->n;
        v[i] = count_left(c, x->unit, from, to);
        from = to;
    }
    hn_node_remove_attr(n, "num_outputs");
    return give_ints(n, input, v, count, err);
}

/* The place in a list of axes, all of them where there is none; -1: it is not in the list. */
static int place_of_axis(const hn_node *n, int input, int rank, int axis) {
    int64_t axes[HONE_MAX_RANK];
    if (hn_node_input(n, input) == NULL) return axis;
    int count = hn_const_ints(n, input, axes, HONE_MAX_RANK);
    for (int i = 0; i < count; i++)
        if ((axes[i] < 0 ? axes[i] + rank : axes[i]) == axis) return i;
    return -1;
}

static hone_status fit_bounds(hn_channels *c, hn_node *n, int input, hn_error *err) {
    const hn_slices *x = slices(c, hn_node_input(n, 0));
    int64_t v[2][HONE_MAX_RANK], steps[HONE_MAX_RANK];
    if (!is_cut(c, x)) return HONE_OK;
    int at = place_of_axis(n, input + 2, x->rank, x->axis);
    if (at < 0) return HONE_OK;
    int count = hn_const_ints(n, input, v[0], HONE_MAX_RANK);
    bool stepped = hn_node_input(n, input + 3) != NULL;
    HN_CHECK(err,
             count > at && hn_const_ints(n, input + 1, v[1], HONE_MAX_RANK) == count &&
                 (!stepped ||
                  (hn_const_ints(n, input + 3, steps, HONE_MAX_RANK) == count && steps[at] == 1)),
             HONE_E_UNSUPPORTED, "%s '%s' takes channels by steps or computed numbers", n->op_type,
             hn_layer_name(n));
    for (int i = 0; i < 2; i++) {
        int64_t p = v[i][at] < 0 ? v[i][at] + x->n : v[i][at];
        p = p < 0 ? 0 : p > x->n ? x->n : p;
        if (v[i][at] < x->n) v[i][at] = count_left(c, x->unit, 0, p);
        HN_TRY(give_ints(n, input + i, v[i], count, err));
    }
    return HONE_OK;
}

static hone_status fit_pads(hn_channels *c, hn_node *n, int input, hn_error *err) {
    const hn_slices *y = slices(c, hn_node_output(n, 0));
    int64_t v[2 * HONE_MAX_RANK];
    if (!is_cut(c, y)) return HONE_OK;
    int at = place_of_axis(n, 3, y->rank, y->axis);
    if (at < 0) return HONE_OK;
    int count = hn_const_ints(n, input, v, 2 * HONE_MAX_RANK);
    HN_CHECK(err, count > 2 * at && v[at] >= 0 && v[at + count / 2] >= 0, HONE_E_UNSUPPORTED,
             "%s '%s' pads channels by less than nothing or computed numbers", n->op_type,
             hn_layer_name(n));
    int64_t before = v[at], behind = v[at + count / 2];
    v[at] = count_left(c, y->unit, 0, before);
    v[at + count / 2] = count_left(c, y->unit, y->n - behind, y->n);
    return give_ints(n, input, v, count, err);
}

static hone_status fit_groups(hn_channels *c, hn_node *n, hn_error *err) {
    const hn_slices *x = slices(c, hn_node_input(n, 0));
    if (!is_cut(c, x) || x->axis != 1 || hn_attr_i(n, "group") != x->n || x->n == 1) return HONE_OK;
    return hn_node_set_i(n, "group", hn_slices_left(c, x), err);
}

static hone_status fit(hn_channels *c, hn_node *n, hn_error *err) {
    hn_sizes_def s = hn_def_of(n)->sizes;
    switch (s.kind) {
        case HN_SIZES_NONE: break;
        case HN_SIZES_SHAPE: return fit_shape(c, n, s.input, err);
        case HN_SIZES_PARTS: return fit_parts(c, n, s.input, err);
        case HN_SIZES_BOUNDS: return fit_bounds(c, n, s.input, err);
        case HN_SIZES_PADS: return fit_pads(c, n, s.input, err);
        case HN_SIZES_GROUPS: return fit_groups(c, n, err);
    }
    return HONE_OK;
}

/* ---- the whole ---- */

/* Types that were stated are those of larger values. */
static void forget_types(hn_channels *c) {
    for (hn_node *n = c->model->graph->first; n != NULL; n = n->next)
        for (int i = 0; i < n->n_outputs; i++) {
            hn_value *v = n->outputs[i];
            if (v == NULL || !is_cut(c, slices(c, v))) continue;
            hn_node_touch(n);
            v->stated = NULL;
            v->type.shape = hn_shape_unknown();
        }
}

static hone_status check_sizes(hn_channels *c, hn_error *err) {
    hn_model *k;
    hone_status status = hn_channels_look(&k, c->model, err);
    if (status != HONE_OK) return status;
    for (hn_node *n = c->model->graph->first; n != NULL && status == HONE_OK; n = n->next)
        for (int i = 0; i < n->n_outputs && status == HONE_OK; i++) {
            const hn_slices *s = slices(c, n->outputs[i]);
            const hn_value *v = s != NULL ? hn_graph_value(k->graph, n->outputs[i]->name) : NULL;
            if (v == NULL || (v->type.shape.rank == s->rank &&
                              hn_dim_is(v->type.shape.dim[s->axis], hn_slices_left(c, s))))
                continue;
            char text[256];
            status = HN_FAIL(err, HONE_E_UNSUPPORTED,
                             "%s '%s' gives %s, expected %lld along axis %d: something in the "
                             "model repeats the size %lld",
                             n->op_type, hn_layer_name(n),
                             hn_shape_text(&v->type.shape, text, sizeof text),
                             (long long)hn_slices_left(c, s), s->axis, (long long)s->n);
        }
    hn_model_destroy(k);
    return status;
}

hone_status hn_channels_remove(hn_channels *c, hn_error *err) {
    for (int i = 0; i < c->n_cuts; i++) HN_TRY(cut_constant(c, &c->cuts[i], err));
    for (hn_node *n = c->model->graph->first; n != NULL; n = n->next) HN_TRY(fit(c, n, err));
    forget_types(c);
    HN_TRY(hn_model_infer(c->model, NULL, err));
    return check_sizes(c, err);
}

hone_status hn_channels_mask(hn_channels *c, hn_error *err) {
    for (int i = 0; i < c->n_cuts; i++) {
        const hn_channel_cut *cut = &c->cuts[i];
        const hn_tensor *was = hn_node_constant(cut->node, cut->input);
        bool weight = cut->kind != HN_CUT_FOLLOWS;
        hn_tensor *t;
        if (!weight || count_left(c, cut->unit, 0, cut->n) == cut->n) continue;
        HN_CHECK(err, was->dtype == HONE_DTYPE_F32, HONE_E_UNSUPPORTED, "weight '%s' is not f32",
                 hn_node_input(cut->node, cut->input)->name);
        HN_TRY(hn_tensor_create(&t, c->model->alloc, HN_MEM_WEIGHTS, was->dtype, was->rank,
                                was->dims, err));
        int64_t inner = 1;
        for (int a = cut->axis + 1; a < was->rank; a++) inner *= was->dims[a];
        float *to = t->data;
        for (int64_t k = 0; k < was->n; k++)
            to[k] = stays(c, cut->unit, k / inner % cut->n) ? hn_weight_at(was, k) : 0;
        HN_TRY(give_constant(cut->node, cut->input, t, err));
    }
    return HONE_OK;
}
