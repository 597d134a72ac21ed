/* Slice: along each listed axis of size d, the elements start, start + step, ... before end.
 *
 * Negative bounds count from the end, and bounds are clamped to the axis. Bounds and sizes may be
 * symbolic, so the length of a slice of step 1 is taken in whichever of four forms keeps the clamps
 * out of the expression where they cannot matter. With s, e counted from the front and -a, -b from
 * the back:
 *
 *     [s, e)    min(e - s, d - s)          [s, -b)   d - b - s
 *     [-a, -b)  min(a - b, d - b)          [-a, e)   min(e, d) - max(d - a, 0)
 *
 * each at least 0; "to the end" is [.., -0).
 */
#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/strided.h"

/* Inputs in order. */
enum { DATA, STARTS, ENDS, AXES, STEPS };

/* From here on a bound means "to the end": what exporters write, in any of several spellings. */
#define FAR INT32_MAX

/* Start and number of elements of a slice of an axis of size d; step is not 0. */
static void clamp(int64_t d, int64_t start, int64_t end, int64_t step, int64_t *from, int64_t *n) {
    int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? d : d - 1;
    if (start < 0) start = start < -d ? 0 : start + d;
    if (end < 0) end = end < -d ? lo : end + d;
    if (start > hi) start = hi;
    if (end > hi) end = hi;
    int64_t span = step > 0 ? end - start : start - end;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    *n = span <= 0 ? 0 : (int64_t)(((uint64_t)span - 1) / stride) + 1;
    *from = *n > 0 ? start : 0;
}

typedef enum side { FRONT, BACK, EITHER } side;

/* A bound as a distance from the front or from the back. */
static side side_of(hn_dims *t, hn_dim v, hn_dim *distance) {
    int64_t lo, hi;
    hn_dim_range(v, &lo, &hi);
    *distance = v;
    if (lo >= FAR) {
        *distance = hn_dim_const(t, 0);
        return BACK;
    }
    if (lo >= 0) return FRONT;
    if (hi >= 0) return EITHER;
    *distance = hn_dim_mulc(t, v, -1);
    return BACK;
}

static hn_dim length_of(hn_dims *t, hn_dim d, hn_dim start, hn_dim end, int64_t step) {
    int64_t size, from, to, n;
    if (hn_dim_is_const(d, &size) && hn_dim_is_const(start, &from) && hn_dim_is_const(end, &to)) {
        clamp(size, from, to, step, &from, &n);
        return hn_dim_const(t, n);
    }
    hn_dim zero = hn_dim_const(t, 0), len, s, e;
    if (step > FAR) step = FAR; /* one element at most, either way */
    if (step < -FAR) step = -FAR;
    if (step < 0) {
        /* Only the reversal of a whole axis has a plain form. */
        bool whole = (hn_dim_is(start, -1) || (hn_dim_is_const(start, &from) && from >= FAR)) &&
                     hn_dim_is_const(end, &to) && to <= -FAR;
        if (!whole) return hn_dim_at_most(t, d);
        len = d;
        step = -step;
    } else {
        side start_side = side_of(t, start, &s), end_side = side_of(t, end, &e);
        if (start_side == EITHER || end_side == EITHER) return hn_dim_at_most(t, d);
        if (start_side == FRONT && end_side == FRONT)
            len = hn_dim_min(t, hn_dim_sub(t, e, s), hn_dim_sub(t, d, s));
        else if (start_side == FRONT)
            len = hn_dim_sub(t, d, hn_dim_add(t, e, s));
        else if (end_side == BACK)
            len = hn_dim_min(t, hn_dim_sub(t, s, e), hn_dim_sub(t, d, e));
        else
            len = hn_dim_sub(t, hn_dim_min(t, e, d), hn_dim_max(t, hn_dim_sub(t, d, s), zero));
        len = hn_dim_max(t, len, zero);
    }
    return step == 1 ? len : hn_dim_div_ceil(t, len, hn_dim_const(t, step));
}

/* axes and steps, each when it is known as numbers. n: length of starts. */
static hone_status axes_and_steps(const hn_infer *c, int rank, int n, int64_t *axes, int64_t *steps,
                                  bool *known_axes, bool *known_steps, hn_error *err) {
    int count = n;
    for (int i = 0; i < HONE_MAX_RANK; i++) {
        axes[i] = i;
        steps[i] = 1;
    }
    if (hn_has_in(c, AXES)) HN_TRY(hn_list_ints(c, AXES, rank, axes, &count, err));
    *known_axes = count >= 0;
    HN_CHECK(err, count < 0 || count == n, HONE_E_SHAPE, "%d axes are listed for %d starts", count,
             n);
    if (*known_axes) HN_TRY(hn_want_axes(axes, n, rank, err));
    count = n;
    if (hn_has_in(c, STEPS)) HN_TRY(hn_list_ints(c, STEPS, rank, steps, &count, err));
    *known_steps = count >= 0;
    HN_CHECK(err, count < 0 || count == n, HONE_E_SHAPE, "%d steps are listed for %d starts", count,
             n);
    for (int i = 0; *known_steps && i < n; i++)
        HN_CHECK(err, steps[i] != 0, HONE_E_ARG, "step %d is 0", i);
    return HONE_OK;
}

/* The slice as a copy, when sizes and bounds are all numbers. */
static hn_strided plan(int rank, const int64_t *dims, int n, const int64_t *axes,
                       const int64_t *starts, const int64_t *ends, const int64_t *steps) {
    int64_t src[HONE_MAX_RANK], stride[HONE_MAX_RANK], count[HONE_MAX_RANK], dst[HONE_MAX_RANK];
    hn_strided s = {0};
    hn_strides(rank, dims, src);
    for (int i = 0; i < rank; i++) {
        if (dims[i] == 0) return (hn_strided){.empty = true};
        stride[i] = src[i];
        count[i] = dims[i];
    }
    for (int k = 0; k < n; k++) {
        int a = (int)axes[k];
        int64_t from;
        clamp(dims[a], starts[k], ends[k], steps[k], &from, &count[a]);
        s.src_at += from * src[a];
        if (count[a] > 1) stride[a] *= steps[k];
    }
    hn_strides(rank, count, dst);
    for (int i = 0; i < rank; i++) hn_strided_add(&s, count[i], stride[i], dst[i]);
    return s;
}

static hone_status known_contents(hn_infer *c, int n, const int64_t *axes, const int64_t *steps,
                                  const hn_shape *y, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], out[HONE_MAX_RANK], starts[HONE_MAX_RANK], ends[HONE_MAX_RANK];
    int count;
    const hn_dim *src = hn_known_values(c, DATA, dims);
    if (src == NULL) return HONE_OK;
    HN_TRY(hn_list_ints(c, STARTS, HONE_MAX_RANK, starts, &count, err));
    if (count != n) return HONE_OK;
    HN_TRY(hn_list_ints(c, ENDS, HONE_MAX_RANK, ends, &count, err));
    if (count != n) return HONE_OK;
    hn_dim *dst = hn_room_for_values(c, 0, y, out);
    if (dst == NULL) return HONE_OK;
    hn_strided s = plan(y->rank, dims, n, axes, starts, ends, steps);
    hn_strided_dims(src, dst, &s);
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, DATA);
    if (x->rank < 0) return HONE_OK;
    const hn_dim *starts, *ends;
    int64_t axes[HONE_MAX_RANK], steps[HONE_MAX_RANK];
    int n, n_ends;
    bool known_axes = false, known_steps = false;
    hn_shape y = *x;
    HN_TRY(hn_list_dims(c, STARTS, x->rank, &starts, &n, err));
    HN_TRY(hn_list_dims(c, ENDS, x->rank, &ends, &n_ends, err));
    if (n < 0) n = n_ends;
    HN_CHECK(err, n_ends < 0 || n_ends == n, HONE_E_SHAPE, "%d starts are listed for %d ends", n,
             n_ends);
    if (n >= 0) HN_TRY(axes_and_steps(c, x->rank, n, axes, steps, &known_axes, &known_steps, err));
    if (!known_axes) {
        for (int i = 0; i < x->rank; i++) y.dim[i] = hn_dim_at_most(c->dims, x->dim[i]);
        hn_set_shape(c, 0, &y);
        return HONE_OK;
    }
    bool known = known_steps && starts != NULL && ends != NULL;
    for (int i = 0; i < n; i++) {
        hn_dim *d = &y.dim[axes[i]];
        *d = known ? length_of(c->dims, *d, starts[i], ends[i], steps[i])
                   : hn_dim_at_most(c->dims, *d);
    }
    hn_set_shape(c, 0, &y);
    return known ? known_contents(c, n, axes, steps, &y, err) : HONE_OK;
}

/* Entries of input i, or first, first + by, ... when it is absent. */
static void entries(const hn_eval *e, int i, int64_t n, int64_t first, int64_t by, int64_t *v) {
    const hn_tensor *t = hn_eval_in(e, i);
    for (int64_t k = 0; t == NULL && k < n; k++) v[k] = first + k * by;
    if (t != NULL) hn_load_s64_n(t->dtype, t->data, 0, n, v);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[DATA];
    int64_t starts[HONE_MAX_RANK], ends[HONE_MAX_RANK], axes[HONE_MAX_RANK], steps[HONE_MAX_RANK];
    int n = (int)e->in[STARTS]->n;
    HN_TRY(hn_movable(x, err));
    entries(e, STARTS, n, 0, 0, starts);
    entries(e, ENDS, n, 0, 0, ends);
    entries(e, AXES, n, 0, 1, axes);
    entries(e, STEPS, n, 1, 0, steps);
    HN_TRY(hn_want_axes(axes, n, x->rank, err));
    hn_strided s = plan(x->rank, x->dims, n, axes, starts, ends, steps);
    hn_strided_copy(e->pool, x->dtype, x->data, e->out[0]->data, &s);
    return HONE_OK;
}

/* v, of these sizes, with step - 1 zeros behind each element of an axis; dims become its own. */
static hn_value *spread(hn_grad *g, hn_value *v, int rank, int64_t *dims, int axis, int64_t step) {
    int64_t split[HONE_MAX_RANK + 1], pads[2 * HONE_MAX_RANK + 2] = {0};
    for (int i = 0; i <= axis; i++) split[i] = dims[i];
    split[axis + 1] = 1;
    for (int i = axis + 1; i < rank; i++) split[i + 1] = dims[i];
    pads[rank + 1 + axis + 1] = step - 1;
    v = hn_emit_reshape(g, v, rank + 1, split);
    v = HN_EMIT2(g, "Pad", v, hn_emit_ints(g, pads, 2 * (rank + 1)));
    dims[axis] *= step;
    return hn_emit_reshape(g, v, rank, dims);
}

/* An axis in the other direction. */
static hn_value *reversed(hn_grad *g, hn_value *v, int axis) {
    int64_t at = axis, first = -1, end = INT64_MIN, step = -1;
    hn_value *in[] = {v, hn_emit_ints(g, &first, 1), hn_emit_ints(g, &end, 1),
                      hn_emit_ints(g, &at, 1), hn_emit_ints(g, &step, 1)};
    return hn_emit(g, "Slice", 5, in);
}

/* Zeros where the slice does not reach. */
static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t x[HONE_MAX_RANK], y[HONE_MAX_RANK], lists[STEPS + 1][HONE_MAX_RANK];
    int64_t pads[2 * HONE_MAX_RANK] = {0};
    int rank = hn_grad_dims(g, hn_grad_in(g, DATA), x), n = 0;
    hn_grad_dims(g, hn_grad_out(g, 0), y);
    for (int i = STARTS; i <= STEPS; i++) {
        for (int k = 0; k < HONE_MAX_RANK; k++) lists[i][k] = i == AXES ? k : 1;
        if (hn_grad_in(g, i) == NULL) continue;
        n = hn_grad_ints(g, i, lists[i], HONE_MAX_RANK);
        if (n < 0) return hn_grad_refuse(g, "its bounds are computed", err);
    }
    HN_TRY(hn_want_axes(lists[AXES], n, rank, err));
    hn_value *v = g->dy[0];
    for (int i = 0; i < n; i++) {
        int64_t axis = lists[AXES][i], step = lists[STEPS][i], from, count;
        clamp(x[axis], lists[STARTS][i], lists[ENDS][i], step, &from, &count);
        if (count < 2) step = 1;
        if (step < 0) {
            v = reversed(g, v, (int)axis);
            step = -step;
            from -= (count - 1) * step;
        }
        if (step >= INT32_MAX) return hn_grad_refuse(g, "its step is too long", err);
        if (step > 1) v = spread(g, v, rank, y, (int)axis, step);
        pads[axis] = from;
        pads[rank + axis] = x[axis] - from - count * step;
    }
    hn_grad_give(g, DATA, HN_EMIT2(g, "Pad", v, hn_emit_ints(g, pads, 2 * rank)));
    return HONE_OK;
}

const hn_op_def hn_op_slice = {
    .name = "Slice",
    .versions = "1 10 11 13",
    .sig =
        "(data:T, starts:Tind, ends:Tind, axes:Tind?, steps:Tind?) -> (output:T);"
        "T: tensor; Tind: s32 s64",
    .role = HN_ROLE_MOVE,
    .sizes = {HN_SIZES_BOUNDS, 1},
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
