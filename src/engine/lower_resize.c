/* Resize of floats, doubles and integers of up to 32 bits. A step resizes one or two axes, the
 * others being images or the values of a pixel; more axes take several steps. The taps of the axes
 * are tables of the plan's. Elements of other types than f32 are copied where each is repeated a
 * whole number of times. */
#include "engine/lower.h"
#include "kernels/resize_f64/resize_f64.h"
#include "ops/resize.h"

/* The taps of an axis as operands i and i + 1, the weights of type t. */
static hone_status add_taps(hn_lower *L, hn_step *s, int i, const hn_resize_axis *a, hone_dtype t,
                            hn_error *err) {
    hn_tensor *table, *weight;
    hn_view v;
    int64_t n = a->first[a->out];
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_S32, a->out + 1 + n, &table, &v, err));
    hn_step_reads(s, i, &v);
    HN_TRY(hn_lower_constant(L, t, n, &weight, &v, err));
    hn_step_reads(s, i + 1, &v);
    int32_t *first = table->data, *index = first + a->out + 1;
    for (int64_t o = 0; o <= a->out; o++) first[o] = (int32_t)a->first[o];
    for (int64_t k = 0; k < n; k++) index[k] = (int32_t)a->index[k];
    hn_store_f64_n(t, weight->data, 0, n, a->weight);
    return HONE_OK;
}

/* The axes that one step resizes: columns, and rows before them (-1: none). */
typedef struct group {
    int rows, columns;
} group;

/* Adds the resized axes that grow, or those that do not, to a list. */
static int list_axes(const hn_resize *r, bool grow, int *axes, int n) {
    for (int i = 0; i < r->rank; i++)
        if (!r->axis[i].same && (r->axis[i].out > r->axis[i].in) == grow) axes[n++] = i;
    return n;
}

/* The resized axes as groups, last step first, and how many there are; 0: some axis is too long.
 * The order is the definition's, axes that shrink before those that grow: sums in double are then
 * the same bits. With `any_order`, two axes are one group in any case. */
static int find_groups(const hn_resize *r, bool any_order, group *groups) {
    int axes[HONE_MAX_RANK], n_groups = 0;
    int n = list_axes(r, true, axes, list_axes(r, false, axes, 0));
    for (int i = 0; i < n; i++)
        if (r->axis[axes[i]].in > INT32_MAX ||
            r->axis[axes[i]].first[r->axis[axes[i]].out] > INT32_MAX)
            return 0;
    if (n == 2 && any_order && axes[0] > axes[1]) {
        groups[0] = (group){axes[1], axes[0]};
        return 1;
    }
    while (n > 0) {
        bool pair = n > 1 && axes[n - 2] < axes[n - 1];
        groups[n_groups++] = (group){pair ? axes[n - 2] : -1, axes[n - 1]};
        n -= pair ? 2 : 1;
    }
    return n_groups;
}

/* The axis whose values are adjacent, and stay as they are: those of a pixel. -1: none. */
static int pixel_axis(const hn_view *x, group g) {
    for (int i = 0; i < x->rank; i++)
        if (i != g.rows && i != g.columns && x->dims[i] > 1 && x->strides[i] == 1) return i;
    return -1;
}

/* Whether a step has room for the axes that a group leaves as they are. */
static bool fits(const hn_view *x, const hn_view *y, group g) {
    int others = pixel_axis(x, g) >= 0 ? -1 : 0;
    for (int i = 0; i < x->rank; i++)
        others += i != g.rows && i != g.columns && (x->dims[i] > 1 || y->dims[i] > 1);
    return others <= HN_RESIZE_AXES;
}

static bool type_of(hone_dtype dtype, hn_resize_type *t) {
    switch (dtype) {
#define HN_X(name, type) \
    case HONE_DTYPE_##name: *t = HN_RESIZE_##name; return true;
        HN_RESIZE_TYPE_LIST(HN_X)
#undef HN_X
        default: return false;
    }
}

/* The axes of x and y outside the group as images and the values of a pixel. False: there are too
 * many. */
static bool describe_images(const hn_view *x, const hn_view *y, group g, hn_resize_f32 *p) {
    bool taken[HONE_MAX_RANK] = {false};
    int images = 0;
    if (g.rows >= 0) taken[g.rows] = true;
    taken[g.columns] = true;
    for (int i = pixel_axis(x, g); i >= 0;) {
        taken[i] = true;
        p->c *= x->dims[i];
        /* Axes whose values follow each other in both places belong to the pixel too. */
        for (i = x->rank - 1; i >= 0; i--)
            if (!taken[i] && x->dims[i] > 1 && x->strides[i] == p->c && y->strides[i] == p->c)
                break;
    }
    for (int i = 0; i < x->rank; i++) {
        if (taken[i] || x->dims[i] == 1) continue;
        if (images == HN_RESIZE_AXES) return false;
        p->images[images] = x->dims[i];
        p->x_image[images] = x->strides[i];
        p->y_image[images++] = y->strides[i];
    }
    return true;
}

/* A step that resizes the axes of one group from x to y. */
static hone_status add_step(hn_lower *L, const hn_node *n, const hn_resize *r, group g,
                            const hn_view *x, const hn_view *y, bool *done, hn_step **s,
                            hn_error *err) {
    bool floats = x->dtype == HONE_DTYPE_F32;
    hone_dtype weights = floats ? HONE_DTYPE_F32 : HONE_DTYPE_F64;
    hn_resize_f32 p = {.images = {1, 1, 1, 1},
                       .h = 1,
                       .w = x->dims[g.columns],
                       .c = 1,
                       .oh = 1,
                       .ow = y->dims[g.columns],
                       .x_pixel = x->strides[g.columns],
                       .y_pixel = y->strides[g.columns],
                       .outside = r->outside};
    if (!type_of(x->dtype, &p.x_type) || !type_of(y->dtype, &p.y_type) ||
        !describe_images(x, y, g, &p))
        HN_DECLINE(L, "too many axes, or not numbers of up to 32 bits");
    int64_t first[] = {0, 1}, zero = 0;
    double one = 1;
    hn_resize_axis whole = {.in = 1, .out = 1, .first = first, .index = &zero, .weight = &one};
    const hn_resize_axis *rows = &whole;
    if (g.rows >= 0) {
        rows = &r->axis[g.rows];
        p.h = x->dims[g.rows], p.oh = y->dims[g.rows];
        p.x_row = x->strides[g.rows], p.y_row = y->strides[g.rows];
    }
    HN_TRY(hn_lower_step(L, n, floats ? &hn_resize_f32_family : &hn_resize_f64_family, &p, sizeof p,
                         s, err));
    HN_TRY(add_taps(L, *s, HN_RESIZE_ROWS, rows, weights, err));
    HN_TRY(add_taps(L, *s, HN_RESIZE_COLUMNS, &r->axis[g.columns], weights, err));
    hn_step_reads(*s, HN_RESIZE_X, x);
    hn_step_writes(*s, HN_RESIZE_Y, y);
    (*s)->facts->bytes = (double)hn_view_count(x) * hone_dtype_bits(x->dtype) / 8 +
                         (double)hn_view_count(y) * hone_dtype_bits(y->dtype) / 8;
    return HONE_OK;
}

/* A step for each group; what lies between two of them is f32 or f64. */
static hone_status lower(hn_lower *L, const hn_node *n, const hn_resize *r, bool *done,
                         hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0), to = x;
    bool floats = x.dtype == HONE_DTYPE_F32;
    hn_resize_type type;
    group groups[HONE_MAX_RANK];
    int left = find_groups(r, floats, groups);
    if (left == 0) HN_DECLINE(L, "an axis is too long");
    if (!type_of(x.dtype, &type)) HN_DECLINE(L, "not numbers of up to 32 bits");
    for (int i = 0; i < left; i++)
        if (!fits(&x, &y, groups[i])) HN_DECLINE(L, "too many axes");
    hn_step *s = NULL;
    for (; left > 0 && *done; x = to) {
        group g = groups[--left];
        to.dtype = left == 0 ? y.dtype : floats ? HONE_DTYPE_F32 : HONE_DTYPE_F64;
        if (g.rows >= 0) to.dims[g.rows] = y.dims[g.rows];
        to.dims[g.columns] = y.dims[g.columns];
        HN_TRY(hn_lower_place_like(L, &to, &x, err));
        HN_TRY(add_step(L, n, r, g, &x, &to, done, &s, err));
    }
    if (*done) hn_lower_set(L, n, 0, &to, s);
    return HONE_OK;
}

/* How many times each element of an axis is repeated, if that is all that happens to it; else 0. */
static int64_t repeats(const hn_resize_axis *a) {
    if (a->same) return 1;
    if (a->in == 0 || a->out % a->in != 0) return 0;
    int64_t times = a->out / a->in;
    for (int64_t o = 0; o < a->out; o++) {
        int64_t k = a->first[o];
        if (a->first[o + 1] != k + 1 || a->index[k] != o / times || a->weight[k] != 1) return 0;
    }
    return times;
}

/* x [n] is copied as [n, times], the second axis of stride 0, to y [n * times]. */
static hone_status lower_repeats(hn_lower *L, const hn_node *n, const hn_resize *r, bool *done,
                                 hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    if (2 * x.rank > HONE_MAX_RANK) HN_DECLINE(L, "too many axes");
    for (int i = 0; i < x.rank; i++)
        if (repeats(&r->axis[i]) == 0) HN_DECLINE(L, "not f32, and more than repeated");
    HN_TRY(hn_lower_place_like(L, &y, &x, err));
    hn_view src = x, dst = y;
    src.rank = dst.rank = 2 * x.rank;
    for (int i = 0; i < x.rank; i++) {
        int64_t times = repeats(&r->axis[i]);
        src.dims[2 * i] = dst.dims[2 * i] = x.dims[i];
        src.dims[2 * i + 1] = dst.dims[2 * i + 1] = times;
        src.strides[2 * i] = x.strides[i], src.strides[2 * i + 1] = 0;
        dst.strides[2 * i] = y.strides[i] * times, dst.strides[2 * i + 1] = y.strides[i];
    }
    HN_TRY(hn_lower_copy(L, n, &src, &dst, err));
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* Integers and doubles are copied where that is all there is to do. */
static hone_status lower_type(hn_lower *L, const hn_node *n, const hn_resize *r, bool *done,
                              hn_error *err) {
    if (hn_lower_in(L, n, 0).dtype != HONE_DTYPE_F32) {
        HN_TRY(lower_repeats(L, n, r, done, err));
        if (*done) return HONE_OK;
    }
    *done = true;
    return lower(L, n, r, done, err);
}

hone_status hn_lower_resize(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    if (hone_dtype_bits(x.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    if (hn_view_count(&x) == 0 || hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    for (int i = 1; i < 4; i++)
        if (hn_node_input(n, i) != NULL && hn_node_constant(n, i) == NULL)
            HN_DECLINE(L, "roi, scales or sizes are computed");
    hn_arena arena;
    hn_arena_init(&arena, L->alloc, HN_MEM_OTHER);
    hn_resize r;
    hone_status status =
        hn_resize_plan(n, x.rank, x.dims, y.dims, hn_node_constant(n, 1), hn_node_constant(n, 2),
                       hn_node_constant(n, 3), &arena, &r, err);
    bool same = status == HONE_OK;
    for (int i = 0; i < x.rank && same; i++) same = r.axis[i].same;
    *done = true;
    if (same)
        hn_lower_set(L, n, 0, &x, NULL);
    else if (status == HONE_OK)
        status = lower_type(L, n, &r, done, err);
    hn_arena_deinit(&arena);
    return status;
}
