/* How a size finds its place again. Take a batch of 1 that becomes `b`:
 *
 *     x [1, 128, 12, 64] ── Reshape [128, 768] ──▶ [128, 768] ── ... ── Reshape [1, 128, 768]
 *
 * Reshape keeps the order of the elements, so what counts is how many of them lie between two steps
 * of the axis, or, the same told from the other end, how many steps lie outside it: the product of
 * the sizes before it. That number finds the axis in any shape, also when it is merged with others:
 * the first Reshape makes it the outermost part of an axis of 128 b, the second splits it off
 * again. For [128, 1, 768] ("sequence first") it would be the innermost part, and the same number
 * tells. So each changed axis has a `place`: how many steps are outside of it within its axis,
 * which old size it had, what that became.
 *
 * Everything that is not the order of elements is left to inference: the walk goes along with it,
 * correcting constants before each node is inferred.
 */
#include "passes/set_dim.h"

#include <stdio.h>

#include "base/size.h"
#include "ops/infer.h"

/* Where in an axis of a value the changed size is: outer * size * (the rest) is the axis's old
 * size, and outer * dim * (the rest) its new one. */
typedef struct place {
    int64_t outer, size;
    hn_dim dim;
} place;

/* What a value was before. */
typedef struct record {
    hn_value *value;
    hn_type type;
    const hn_type *stated;
    hn_type *restated; /* that with the sizes changed */
    hn_dim *known;
    int n_known;
    /* By axis, of those that are more than one size merged; NULL: there is none. */
    place *places;
} record;

/* An input of a node that was exchanged. */
typedef struct edit edit;
struct edit {
    hn_node *node;
    int index;
    hn_value *before, *after;
    bool was_edited, source_was_edited;
    edit *older;
};

/* One axis to change. */
typedef struct change {
    const hn_dim_setting *setting;
    hn_value *input;
    int axis;
    hn_dim old, new;
} change;

typedef struct task {
    hn_model *model;
    hn_arena arena;
    record *records; /* a value's mark is the number of its record, from 1 */
    size_t n_records;
    change *changes;
    int n_changes;
    bool forget;          /* a number changes: what was inferred from it is of no use */
    edit *edits;          /* newest first */
    const hn_node *found; /* the first node at which inference failed, and how */
    hn_error finding;
} task;

/* ---- what was and what is ---- */

static record *record_of(const task *t, const hn_value *v) {
    return v != NULL && v->mark != 0 ? &t->records[v->mark - 1] : NULL;
}

/* True and its old size when an axis was a number and is not that number now. */
static bool has_changed(const task *t, const hn_value *v, int axis, int64_t *size) {
    const record *r = record_of(t, v);
    const hn_shape *now = &v->type.shape;
    if (r == NULL || r->type.shape.rank != now->rank || axis >= now->rank) return false;
    return r->type.shape.dim[axis] != now->dim[axis] &&
           hn_dim_is_const(r->type.shape.dim[axis], size);
}

static place place_of(const task *t, const hn_value *v, int axis, int64_t size) {
    const record *r = record_of(t, v);
    if (r->places != NULL && r->places[axis].dim != NULL) return r->places[axis];
    return (place){1, size, v->type.shape.dim[axis]};
}

static hone_status keep_place(task *t, const hn_value *v, int axis, place p, hn_error *err) {
    record *r = record_of(t, v);
    if (r->places == NULL) r->places = hn_arena_array(&t->arena, HONE_MAX_RANK, sizeof *r->places);
    if (r->places == NULL) return HN_NOMEM(err);
    r->places[axis] = p;
    return HONE_OK;
}

/* Contents of an input that are the same for every size; integers, at most `most`. -1: none. */
static int constant_ints(const hn_node *n, int i, int64_t *v, int most) {
    const hn_value *in = hn_node_input(n, i);
    if (in == NULL) return -1;
    const hn_tensor *t = in->constant != NULL ? in->constant : in->folded;
    if (t == NULL || t->data == NULL || !hn_dtype_is_int(t->dtype) || t->n > most) return -1;
    for (int64_t k = 0; k < t->n; k++) v[k] = hn_tensor_s64(t, k);
    return (int)t->n;
}

/* ---- edits ---- */

static hone_status set_input(task *t, hn_node *n, int i, hn_value *v, hn_error *err) {
    edit *e = hn_arena_alloc(&t->arena, sizeof *e);
    if (e == NULL) return HN_NOMEM(err);
    *e = (edit){.node = n,
                .index = i,
                .before = hn_node_input(n, i),
                .after = v,
                .was_edited = n->edited,
                .source_was_edited = n->source != NULL && n->source->edited,
                .older = t->edits};
    t->edits = e;
    hn_node_set_input(n, i, v);
    return HONE_OK;
}

/* Input i becomes a constant of its own. Takes over the reference. */
static hone_status set_constant(task *t, hn_node *n, int i, const char *hint, hn_tensor *x,
                                hn_error *err) {
    hn_value *v;
    HN_TRY(hn_value_create_constant(&v, n->graph, NULL, hint, x, err));
    hone_status status = set_input(t, n, i, v, err);
    if (status != HONE_OK) hn_value_remove(v);
    return status;
}

static hone_status set_ints(task *t, hn_node *n, int i, const int64_t *v, int count,
                            hn_error *err) {
    hn_tensor *x;
    HN_TRY(hn_tensor_from_s64(&x, t->model->alloc, HONE_DTYPE_S64, 1, (int64_t[]){count}, v, err));
    return set_constant(t, n, i, n->inputs[i].value->name, x, err);
}

static void undo(task *t) {
    for (edit *e = t->edits; e != NULL; e = e->older) {
        hn_node_set_input(e->node, e->index, e->before);
        e->node->edited = e->was_edited;
        if (e->node->source != NULL) e->node->source->edited = e->source_was_edited;
        if (e->after != NULL && e->after->n_uses == 0) hn_value_remove(e->after);
    }
    for (size_t i = 0; i < t->n_records; i++) {
        const record *r = &t->records[i];
        r->value->type = r->type;
        r->value->stated = r->stated;
        for (int k = 0; k < r->n_known; k++) r->value->known[k] = r->known[k];
        r->value->n_known = r->n_known;
        hn_tensor_unref(r->value->folded);
        r->value->folded = NULL;
    }
}

/* Takes out what nothing uses any more. */
static void tidy(task *t) {
    for (edit *e = t->edits; e != NULL; e = e->older) {
        hn_value *v = e->before;
        if (v == NULL || v->dead || v->n_uses > 0 || v->is_input) continue;
        if (v->producer == NULL)
            hn_value_remove(v);
        else if (v->producer->n_outputs == 1 && v->producer->n_inputs == 0)
            hn_node_remove(v->producer);
    }
    /* What the file stated stands only where inference does not know better. */
    for (size_t i = 0; i < t->n_records; i++) {
        hn_value *v = t->records[i].value;
        const hn_type *s = v->stated;
        bool needed =
            s != NULL && v->producer != NULL && (s->shape.rank >= 0 || v->type.shape.rank < 0);
        if (!needed) v->stated = NULL;
    }
}

/* ---- Reshape ---- */

/* How many steps lie outside an axis: a number, times sizes that are not known. */
typedef struct outside {
    int64_t number;
    hn_dim others;
} outside;

/* Steps outside the axis after one of size d; false when the number overflows. */
static bool step_over(hn_dims *dims, outside *s, hn_dim d) {
    int64_t v;
    if (hn_dim_is_const(d, &v)) return hn_i64_mul(s->number, v, &s->number);
    s->others = hn_dim_mul(dims, s->others, d);
    return true;
}

/* The axis of y in which a size lies that has `before` steps outside of it; *outer of them are
 * within the axis. An axis of just that size is preferred, at best the one at `same`. -1: the size
 * is not in one axis. */
static int landing(hn_dims *dims, const hn_shape *y, outside before, int64_t size, int same,
                   int64_t *outer) {
    int found = -1;
    outside at = {1, hn_dim_const(dims, 1)};
    for (int j = 0; j < y->rank && at.number != 0; j++) {
        int64_t d = 0, part;
        bool number = hn_dim_is_const(y->dim[j], &d) && at.others == before.others;
        bool exact = number && at.number == before.number && d == size;
        /* Behind sizes that are not known, an axis next to them might be meant as well. */
        bool within = number && hn_dim_is(at.others, 1) && before.number % at.number == 0 &&
                      hn_i64_mul(before.number / at.number, size, &part) && part != 0 &&
                      d % part == 0;
        if (exact || (within && found < 0)) {
            found = j;
            *outer = before.number / at.number;
        }
        if ((exact && j >= same) || !step_over(dims, &at, y->dim[j])) break;
    }
    return found;
}

/* The shape `y` that the output of a node that keeps the order of elements had, brought to what it
 * becomes, and where in it changed sizes are merged with others. HONE_E_UNSUPPORTED: a changed size
 * is split up. */
static hone_status reshaped(const task *t, const hn_node *n, hn_shape *y, place *places,
                            hn_error *err) {
    const hn_value *x = n->inputs[0].value;
    const hn_shape *was = &record_of(t, x)->type.shape, old = *y;
    hn_dims *dims = &t->model->dims;
    int64_t left[HONE_MAX_RANK] = {0}; /* of the old size of axis j; 0: nothing changed there */
    hn_dim changed[HONE_MAX_RANK];
    outside at = {1, hn_dim_const(dims, 1)};
    for (int i = 0; i < was->rank; i++) {
        int64_t size, outer = 1, d;
        if (has_changed(t, x, i, &size)) {
            place p = place_of(t, x, i, size);
            outside before = at;
            int j = p.size != 0 && hn_i64_mul(at.number, p.outer, &before.number)
                        ? landing(dims, &old, before, p.size, i, &outer)
                        : -1;
            bool fits = j >= 0 && hn_dim_is_const(old.dim[j], &d);
            if (fits && left[j] != 0) d = left[j];
            HN_CHECK(err, fits && d % p.size == 0, HONE_E_UNSUPPORTED,
                     "the size %lld of axis %d is baked in", (long long)p.size, i);
            places[j] = left[j] == 0 && d != p.size ? (place){outer, p.size, p.dim} : (place){0};
            changed[j] = left[j] == 0 ? p.dim : hn_dim_mul(dims, changed[j], p.dim);
            left[j] = d / p.size;
            y->dim[j] = hn_dim_mulc(dims, changed[j], left[j]);
        }
        if (!step_over(dims, &at, was->dim[i])) break;
    }
    return HONE_OK;
}

static bool any_changed(const task *t, const hn_value *v) {
    int64_t size;
    bool any = false;
    for (int i = 0; record_of(t, v) != NULL && i < v->type.shape.rank && !any; i++)
        any = has_changed(t, v, i, &size);
    return any;
}

/* Says `y` by a list of sizes, as much as possible as `s` did: 0 copies the size of the input at
 * that place, one -1 stands for what remains. */
static hone_status express(const hn_shape *x, const hn_shape *y, bool allow_zero, const int64_t *s,
                           int64_t *e, hn_error *err) {
    int rest = -1, open = -1;
    for (int k = 0; k < y->rank; k++)
        if (s[k] == -1) rest = k;
    for (int pass = 0; pass < 2; pass++) { /* the axis of -1 last: it may have to give way */
        for (int k = 0; k < y->rank; k++) {
            int64_t v;
            bool number = hn_dim_is_const(y->dim[k], &v) && (v != 0 || allow_zero);
            bool copied = !allow_zero && k < x->rank && x->dim[k] == y->dim[k];
            if ((k == rest) != (pass == 1)) continue;
            if (k == rest && open < 0)
                e[k] = -1;
            else if (copied && (s[k] == 0 || !number || v != s[k]))
                e[k] = 0;
            else if (number)
                e[k] = v;
            else if (open < 0)
                e[open = k] = -1;
            else
                return HN_FAIL(err, HONE_E_UNSUPPORTED,
                               "the wanted shape would need -1 at axes %d and %d", open, k);
        }
    }
    return HONE_OK;
}

static hone_status fix_reshape(task *t, hn_node *n, hn_error *err) {
    const hn_value *x = n->inputs[0].value;
    const record *out = record_of(t, n->outputs[0]);
    int64_t s[HONE_MAX_RANK], e[HONE_MAX_RANK];
    place places[HONE_MAX_RANK];
    if (out == NULL || !any_changed(t, x)) return HONE_OK;
    hn_shape y = out->type.shape;
    int count = constant_ints(n, 1, s, HONE_MAX_RANK);
    if (count < 0 || count != y.rank) return HONE_OK;
    HN_TRY(reshaped(t, n, &y, places, err));
    HN_TRY(express(&x->type.shape, &y, hn_attr_i(n, "allowzero") != 0, s, e, err));
    if (memcmp(s, e, (size_t)count * sizeof *s) == 0) return HONE_OK;
    return set_ints(t, n, 1, e, count, err);
}

/* ---- other operators with sizes among their inputs ---- */

static hone_status fix_expand(task *t, hn_node *n, hn_error *err) {
    const hn_value *x = n->inputs[0].value;
    int64_t s[HONE_MAX_RANK], size;
    int count = constant_ints(n, 1, s, HONE_MAX_RANK);
    bool any = false;
    for (int k = 0; k < count; k++) {
        int i = k - count + x->type.shape.rank; /* both are aligned at their ends */
        if (i < 0 || s[k] == 1 || !has_changed(t, x, i, &size) || s[k] != size) continue;
        s[k] = 1;
        any = true;
    }
    return any ? set_ints(t, n, 1, s, count, err) : HONE_OK;
}

/* What went exactly to the end goes to the end. */
static hone_status fix_slice(task *t, hn_node *n, hn_error *err) {
    enum { DATA, STARTS, ENDS, AXES, STEPS };
    const hn_value *x = n->inputs[DATA].value;
    int64_t ends[HONE_MAX_RANK], axes[HONE_MAX_RANK], steps[HONE_MAX_RANK], size;
    int count = constant_ints(n, ENDS, ends, HONE_MAX_RANK);
    int n_axes = constant_ints(n, AXES, axes, HONE_MAX_RANK);
    int n_steps = constant_ints(n, STEPS, steps, HONE_MAX_RANK);
    if (hn_node_input(n, AXES) != NULL && n_axes != count) return HONE_OK;
    if (hn_node_input(n, STEPS) != NULL && n_steps != count) return HONE_OK;
    bool any = false;
    for (int k = 0; k < count; k++) {
        int64_t axis = n_axes == count ? axes[k] : k;
        if (axis < 0) axis += x->type.shape.rank;
        if (axis < 0 || axis >= HONE_MAX_RANK || (n_steps == count && steps[k] < 0)) continue;
        if (!has_changed(t, x, (int)axis, &size) || ends[k] != size) continue;
        ends[k] = INT64_MAX;
        any = true;
    }
    return any ? set_ints(t, n, ENDS, ends, count, err) : HONE_OK;
}

/* Sizes become scales, if a float holds the scale exactly. */
static hone_status fix_resize(task *t, hn_node *n, hn_error *err) {
    enum { X, ROI, SCALES, SIZES };
    const hn_value *x = n->inputs[X].value;
    const record *in = record_of(t, x), *out = record_of(t, n->outputs[0]);
    int64_t sizes[HONE_MAX_RANK], was, now;
    int count = constant_ints(n, SIZES, sizes, HONE_MAX_RANK), n_axes;
    if (count <= 0 || in == NULL || out == NULL || in->type.shape.rank != out->type.shape.rank)
        return HONE_OK;
    const int64_t *axes = hn_attr_ints(n, "axes", &n_axes);
    float scales[HONE_MAX_RANK];
    bool any = false;
    for (int k = 0; k < count; k++) {
        int64_t axis = n_axes > k ? axes[k] : k;
        if (axis < 0) axis += in->type.shape.rank;
        if (axis < 0 || axis >= in->type.shape.rank) return HONE_OK;
        any = any || has_changed(t, x, (int)axis, &was);
        scales[k] = 0; /* cannot be said */
        if (!hn_dim_is_const(in->type.shape.dim[axis], &was) || was == 0 ||
            !hn_dim_is_const(out->type.shape.dim[axis], &now))
            continue;
        float scale = (float)((double)now / (double)was);
        if ((double)scale * (double)was == (double)now) scales[k] = scale;
    }
    if (!any) return HONE_OK;
    for (int k = 0; k < count; k++)
        HN_CHECK(err,
                 scales[k] > 0 && hn_attr_is(n, "keep_aspect_ratio_policy", "stretch") &&
                     !hn_attr_is(n, "coordinate_transformation_mode", "tf_crop_and_resize"),
                 HONE_E_UNSUPPORTED, "the size %lld is baked in", (long long)sizes[k]);
    hn_tensor *s;
    HN_TRY(hn_tensor_from_f32(&s, t->model->alloc, 1, (int64_t[]){count}, scales, err));
    HN_TRY(set_constant(t, n, SCALES, "scales", s, err));
    return set_input(t, n, SIZES, NULL, err);
}

/* ---- along with inference ---- */

static hone_status before_node(void *ctx, hn_node *n, hn_error *err) {
    static const struct {
        const char *op;
        hone_status (*fix)(task *t, hn_node *n, hn_error *err);
    } fixes[] = {{"Expand", fix_expand},
                 {"Reshape", fix_reshape},
                 {"Resize", fix_resize},
                 {"Slice", fix_slice}};
    if (n->domain[0] != '\0' || hn_node_check_form(n, NULL) != HONE_OK) return HONE_OK;
    for (size_t i = 0; i < sizeof fixes / sizeof *fixes; i++) {
        if (strcmp(n->op_type, fixes[i].op) != 0) continue;
        hone_status status = fixes[i].fix(ctx, n, err);
        char label[320];
        if (status != HONE_OK && status != HONE_E_NOMEM)
            hn_error_context(err, "%s", hn_node_label(n, label, sizeof label));
        return status;
    }
    return HONE_OK;
}

/* An axis that is one of the inputs' has its place from there. */
static hone_status inherit_places(task *t, const hn_node *n, const hn_value *v, hn_error *err) {
    int64_t size, same;
    for (int k = 0; k < v->type.shape.rank; k++) {
        if (!has_changed(t, v, k, &size)) continue;
        for (int i = 0; i < n->n_inputs; i++) {
            const hn_value *u = n->inputs[i].value;
            const record *r = record_of(t, u);
            for (int a = 0; r != NULL && r->places != NULL && a < u->type.shape.rank; a++)
                if (u->type.shape.dim[a] == v->type.shape.dim[k] && r->places[a].dim != NULL &&
                    has_changed(t, u, a, &same) && same == size)
                    HN_TRY(keep_place(t, v, k, r->places[a], err));
        }
    }
    return HONE_OK;
}

static hone_status after_node(void *ctx, hn_node *n, hn_error *err) {
    task *t = ctx;
    if ((n->op->traits & HN_VIEW) == 0) {
        for (int i = 0; i < n->n_outputs; i++)
            if (record_of(t, n->outputs[i]) != NULL)
                HN_TRY(inherit_places(t, n, n->outputs[i], err));
        return HONE_OK;
    }
    const hn_value *x = hn_node_input(n, 0), *v = hn_node_output(n, 0);
    place places[HONE_MAX_RANK] = {{0}};
    if (v == NULL || record_of(t, v) == NULL || x == NULL || !any_changed(t, x)) return HONE_OK;
    hn_shape y = record_of(t, v)->type.shape;
    if (reshaped(t, n, &y, places, NULL) != HONE_OK) return HONE_OK;
    for (int j = 0; j < y.rank; j++)
        if (places[j].dim != NULL) HN_TRY(keep_place(t, v, j, places[j], err));
    return HONE_OK;
}

static void note_finding(void *ctx, const hn_node *n, const hn_error *e) {
    task *t = ctx;
    if (t->found != NULL) return;
    t->found = n;
    t->finding = *e;
}

/* What size d of axis k of v becomes; with times > 0, at that many times the old numbers. */
static hn_dim changed_dim(task *t, const hn_value *v, int k, hn_dim d, int64_t times) {
    hn_dims *dims = &t->model->dims;
    int64_t old;
    const char *name;
    for (int c = 0; c < t->n_changes; c++) {
        const change *x = &t->changes[c];
        if (!hn_dim_is_const(x->old, &old))
            d = hn_dim_subst(dims, d, x->old, x->new);
        else if (v == x->input && k == x->axis)
            d = x->new;
    }
    for (int c = 0; c < t->n_changes && times > 0; c++) {
        const change *x = &t->changes[c];
        if (hn_dim_is_const(x->old, &old) && hn_dim_is_symbol(x->new, &name))
            d = hn_dim_subst(dims, d, x->new, hn_dim_mulc(dims, x->old, times));
    }
    return d;
}

static void set_shape(task *t, const hn_value *v, hn_shape *s, int64_t times) {
    bool given = (v->is_input && v->graph->parent == NULL) || v->constant != NULL;
    if (t->forget && !given) *s = hn_shape_unknown();
    for (int k = 0; k < s->rank; k++) s->dim[k] = changed_dim(t, v, k, s->dim[k], times);
}

/* The types of the inputs as they shall be; what was inferred from them, or the file states of
 * other values, is forgotten, or has symbols exchanged. */
static void set_types(task *t, int64_t times) {
    for (size_t i = 0; i < t->n_records; i++) {
        record *r = &t->records[i];
        hn_value *v = r->value;
        v->type = r->type;
        set_shape(t, v, &v->type.shape, times);
        if (r->stated == NULL) continue;
        *r->restated = *r->stated;
        set_shape(t, v, &r->restated->shape, times);
        v->stated = r->restated;
    }
}

/* Where the old size comes from that a node failed on: back along values that have it and have not
 * changed, to the first. */
static void add_origin(const task *t, hn_error *err) {
    int64_t size;
    const hn_node *at = t->found;
    const hn_value *seen = NULL;
    if (at == NULL || !hn_dim_is_const(t->changes[0].old, &size) || size <= 1) return;
    for (bool on = true; on && at != NULL;) {
        on = false;
        for (int i = 0; i < at->n_inputs && !on; i++) {
            const hn_value *v = at->inputs[i].value;
            for (int k = 0; v != NULL && !any_changed(t, v) && k < v->type.shape.rank && !on; k++)
                on = hn_dim_is(v->type.shape.dim[k], size);
            if (on) seen = v;
        }
        if (on) at = seen->producer;
    }
    char label[320], text[HONE_ERROR_TEXT];
    if (seen == NULL || (seen->is_input && seen->constant == NULL)) return;
    memcpy(text, err->text, sizeof text);
    if (seen->producer != NULL)
        hn_node_label(seen->producer, label, sizeof label);
    else
        snprintf(label, sizeof label, "initializer '%.200s'", seen->name);
    hn_fail(err, err->status, "%.600s; the size %lld comes from %s", text, (long long)size, label);
}

static hone_status infer_at(task *t, int64_t times, bool fixing, hn_error *err) {
    hn_infer_options o = {.ctx = t, .defaults = true};
    hn_error inner;
    t->found = NULL;
    if (t->forget) o.finding = note_finding;
    if (fixing) o.before = before_node, o.after = after_node;
    set_types(t, times);
    HN_CHECK(err, t->model->dims.status == HONE_OK, t->model->dims.status, "%s",
             hone_status_text(t->model->dims.status));
    hone_status status = hn_model_infer(t->model, &o, &inner);
    if (t->found != NULL && status != HONE_E_NOMEM) {
        inner = t->finding;
        status = inner.status;
        add_origin(t, &inner);
    }
    if (status != HONE_OK && err != NULL) *err = inner;
    return status;
}

/* At the old sizes every value has the shape it had. */
static hone_status check_unchanged(const task *t, hn_error *err) {
    for (size_t i = 0; i < t->n_records; i++) {
        const hn_value *v = t->records[i].value;
        const hn_shape *was = &t->records[i].type.shape, *now = &v->type.shape;
        int64_t a, b;
        bool same = now->rank == was->rank || now->rank < 0 || was->rank < 0;
        for (int k = 0; same && now->rank >= 0 && k < was->rank; k++)
            same = !hn_dim_is_const(was->dim[k], &a) || !hn_dim_is_const(now->dim[k], &b) || a == b;
        char x[256], y[256];
        HN_CHECK(err, same, HONE_E_UNSUPPORTED, "'%.200s' would have the shape %s instead of %s",
                 v->name, hn_shape_text(now, x, sizeof x), hn_shape_text(was, y, sizeof y));
    }
    return HONE_OK;
}

/* ---- the whole ---- */

static hone_status read_size(task *t, const char *to, hn_dim *out, hn_error *err) {
    size_t digits = strspn(to, "0123456789");
    bool number = digits > 0 && to[digits] == '\0';
    int64_t v = 0;
    HN_CHECK(err, to[0] != '\0' && to[0] != '-' && (digits == 0 || number), HONE_E_ARG,
             "found '%.200s', wanted a number of 1 or more or a name", to);
    for (size_t i = 0; i < digits; i++)
        HN_CHECK(err, hn_i64_mul(v, 10, &v) && hn_i64_add(v, to[i] - '0', &v) && v <= INT32_MAX,
                 HONE_E_ARG, "%.200s is more than %d, the largest size", to, INT32_MAX);
    HN_CHECK(err, !number || v > 0, HONE_E_ARG, "found 0, wanted a number of 1 or more or a name");
    *out = number ? hn_dim_const(&t->model->dims, v) : hn_dim_symbol(&t->model->dims, to);
    return t->model->dims.status == HONE_OK ? HONE_OK : HN_NOMEM(err);
}

static hone_status read_setting(task *t, const hn_dim_setting *s, hn_error *err) {
    change c = {.setting = s, .axis = s->axis};
    const hn_graph *g = t->model->graph;
    c.input = hn_graph_value(g, s->input);
    HN_CHECK(err, c.input != NULL && c.input->is_input, HONE_E_ARG,
             "the model has no input '%.200s'", s->input);
    int rank = c.input->type.shape.rank;
    HN_CHECK(err, rank >= 0, HONE_E_ARG, "the rank of '%.200s' is not known", s->input);
    HN_CHECK(err, c.axis >= -rank && c.axis < rank, HONE_E_ARG,
             "axis %d of '%.200s' is outside [-%d, %d)", c.axis, s->input, rank, rank);
    if (c.axis < 0) c.axis += rank;
    c.old = c.input->type.shape.dim[c.axis];
    HN_TRY(read_size(t, s->to, &c.new, err));
    if (c.new == c.old) return HONE_OK;
    int64_t a, b;
    for (int i = 0; i < t->n_changes; i++) {
        HN_CHECK(err, c.input != t->changes[i].input || c.axis != t->changes[i].axis, HONE_E_ARG,
                 "axis %d of '%.200s' is set twice", c.axis, s->input);
        HN_CHECK(err,
                 c.new != t->changes[i].new || !hn_dim_is_const(c.old, &a) ||
                     !hn_dim_is_const(t->changes[i].old, &b) || a == b,
                 HONE_E_ARG, "'%.200s' would stand for %lld and for %lld", s->to, (long long)b,
                 (long long)a);
    }
    t->forget = t->forget || hn_dim_is_const(c.old, &a);
    t->changes[t->n_changes++] = c;
    return HONE_OK;
}

static hone_status record_values(task *t, hn_error *err) {
    hn_model *m = t->model;
    size_t n = 0;
    for (int i = 0; i < m->n_graphs; i++) n += (size_t)m->graphs[i]->n_values;
    t->records = hn_arena_array(&t->arena, n, sizeof *t->records);
    if (t->records == NULL) return HN_NOMEM(err);
    for (int i = 0; i < m->n_graphs; i++)
        for (int k = 0; k < m->graphs[i]->n_values; k++) {
            hn_value *v = m->graphs[i]->values[k];
            if (v->dead) continue;
            record *r = &t->records[t->n_records++];
            *r = (record){.value = v, .type = v->type, .stated = v->stated, .n_known = v->n_known};
            v->mark = t->n_records;
            r->known = hn_arena_array(&t->arena, (size_t)v->n_known, sizeof *r->known);
            if (v->stated != NULL) r->restated = hn_arena_zero(&m->arena, sizeof *r->restated);
            if (r->known == NULL || (v->stated != NULL && r->restated == NULL))
                return HN_NOMEM(err);
            for (int j = 0; j < v->n_known; j++) r->known[j] = v->known[j];
        }
    return HONE_OK;
}

static hone_status set_dims(task *t, hn_error *err) {
    bool symbolic = false;
    for (int i = 0; i < t->n_changes; i++) {
        int64_t v;
        symbolic = symbolic || (hn_dim_is_const(t->changes[i].old, &v) &&
                                !hn_dim_is_const(t->changes[i].new, &v));
    }
    HN_TRY(infer_at(t, 0, true, err));
    /* With symbols, inference takes equal what may be equal. Numbers show what is not. Multiples
     * of the old sizes, because a model may halve them again and again. */
    for (int64_t times = 1; symbolic && times <= 3; times++) {
        HN_TRY(infer_at(t, times, false, err));
        if (times == 1) HN_TRY(check_unchanged(t, err));
    }
    return symbolic ? infer_at(t, 0, false, err) : HONE_OK;
}

static void say_what(const task *t, hn_error *err) {
    const change *c = &t->changes[0];
    char more[40] = "";
    if (t->n_changes > 1) snprintf(more, sizeof more, ", with %d more,", t->n_changes - 1);
    hn_error_context(err, "axis %d of '%.200s'%s cannot become %.40s", c->axis, c->setting->input,
                     more, c->setting->to);
}

hone_status hn_model_set_dims(hn_model *m, const hn_dim_setting *settings, int n, hn_error *err) {
    task t = {.model = m};
    HN_TRY(hn_model_infer(m, &(hn_infer_options){.defaults = true}, err));
    hn_arena_init(&t.arena, m->alloc, HN_MEM_OTHER);
    hone_status status = HONE_OK;
    t.changes = hn_arena_array(&t.arena, (size_t)n, sizeof *t.changes);
    HN_CHECK_GOTO(err, t.changes != NULL, HONE_E_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) HN_TRY_GOTO(read_setting(&t, &settings[i], err));
    if (t.n_changes > 0) {
        HN_TRY_GOTO(record_values(&t, err));
        status = set_dims(&t, err);
        if (status == HONE_OK)
            tidy(&t);
        else
            undo(&t);
        if (status != HONE_OK && status != HONE_E_NOMEM) say_what(&t, err);
    }
fail:
    for (size_t i = 0; i < t.n_records; i++) t.records[i].value->mark = 0;
    m->dims.status = HONE_OK;
    hn_arena_deinit(&t.arena);
    return status;
}

hone_status hn_model_set_dim(hn_model *m, const char *input, int axis, const char *to,
                             hn_error *err) {
    return hn_model_set_dims(m, &(hn_dim_setting){input, axis, to}, 1, err);
}

hone_status hn_model_free_batch(hn_model *m, int64_t n, hn_error *err) {
    const hn_graph *g = m->graph;
    hn_dim_setting *settings =
        hn_alloc_array(m->alloc, (size_t)g->n_inputs + 1, sizeof *settings, HN_MEM_OTHER);
    int64_t fixed = 0;
    int k = 0;
    if (settings == NULL) return HN_NOMEM(err);
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_value *v = g->inputs[i];
        const hn_shape *s = &v->type.shape;
        int64_t size;
        if (v->constant != NULL || s->rank < 1 || !hn_dim_is_const(s->dim[0], &size) || size == n)
            continue;
        settings[k++] = (hn_dim_setting){v->name, 0, "hone.samples"};
        fixed = size;
    }
    hone_status status = k > 0 ? hn_model_set_dims(m, settings, k, err) : HONE_OK;
    if (status != HONE_OK && status != HONE_E_NOMEM)
        hn_error_context(err, "the model takes %lld samples and cannot take %lld", (long long)fixed,
                         (long long)n);
    hn_free(m->alloc, settings);
    return status;
}
