/* Resize of floats over one or two axes, the others being images or the values of a pixel. The taps
 * of the axes are tables of the plan's. Elements of other types are copied where each is repeated a
 * whole number of times. */
#include "engine/lower.h"
#include "kernels/resize_f32/resize_f32.h"
#include "ops/resize.h"

/* The taps of an axis as operands i and i + 1. */
static hone_status add_taps(hn_lower *L, hn_step *s, int i, const hn_resize_axis *a,
                            hn_error *err) {
    hn_tensor *table, *weight;
    hn_view v;
    int64_t n = a->first[a->out];
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_S32, a->out + 1 + n, &table, &v, err));
    hn_step_reads(s, i, &v);
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, n, &weight, &v, err));
    hn_step_reads(s, i + 1, &v);
    int32_t *first = table->data, *index = first + a->out + 1;
    for (int64_t o = 0; o <= a->out; o++) first[o] = (int32_t)a->first[o];
    for (int64_t k = 0; k < n; k++) {
        index[k] = (int32_t)a->index[k];
        ((float *)weight->data)[k] = (float)a->weight[k];
    }
    return HONE_OK;
}

/* The resized axes, rows (-1: none) and columns; false: not one or two, or too long. */
static bool find_axes(const hn_resize *r, int *rows, int *columns) {
    *rows = *columns = -1;
    for (int i = 0; i < r->rank; i++) {
        const hn_resize_axis *a = &r->axis[i];
        if (a->same) continue;
        if (*rows >= 0 || a->in > INT32_MAX || a->first[a->out] > INT32_MAX) return false;
        *rows = *columns;
        *columns = i;
    }
    return *columns >= 0;
}

/* The axis whose values are adjacent, and stay as they are: those of a pixel. -1: none. */
static int pixel_axis(const hn_view *x, int rows, int columns) {
    for (int i = 0; i < x->rank; i++)
        if (i != rows && i != columns && x->dims[i] > 1 && x->strides[i] == 1) return i;
    return -1;
}

static hone_status lower(hn_lower *L, const hn_node *n, const hn_resize *r, bool *done,
                         hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    int rows, columns;
    if (!find_axes(r, &rows, &columns)) HN_DECLINE(L, "not one or two axes are resized");
    int inner = pixel_axis(&x, rows, columns), images = 0;
    hn_resize_f32 p = {.images = {1, 1, 1}, .h = 1, .oh = 1, .c = 1};
    for (int i = 0; i < x.rank; i++)
        images += i != rows && i != columns && i != inner && x.dims[i] > 1;
    if (images > HN_RESIZE_AXES) HN_DECLINE(L, "too many axes");
    HN_TRY(hn_lower_place_like(L, &y, &x, err));
    images = 0;
    for (int i = 0; i < x.rank; i++) {
        if (i == rows || i == columns || i == inner || x.dims[i] == 1) continue;
        p.images[images] = x.dims[i];
        p.x_image[images] = x.strides[i];
        p.y_image[images++] = y.strides[i];
    }
    if (inner >= 0) p.c = x.dims[inner];
    p.outside = (float)r->outside;
    p.w = x.dims[columns], p.ow = y.dims[columns];
    p.x_pixel = x.strides[columns], p.y_pixel = y.strides[columns];
    int64_t first[] = {0, 1}, zero = 0;
    double one = 1;
    hn_resize_axis whole = {.in = 1, .out = 1, .first = first, .index = &zero, .weight = &one};
    if (rows >= 0) {
        p.h = x.dims[rows], p.oh = y.dims[rows];
        p.x_row = x.strides[rows], p.y_row = y.strides[rows];
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_resize_f32_family, &p, sizeof p, &s, err));
    HN_TRY(add_taps(L, s, HN_RESIZE_ROWS, rows >= 0 ? &r->axis[rows] : &whole, err));
    HN_TRY(add_taps(L, s, HN_RESIZE_COLUMNS, &r->axis[columns], err));
    hn_step_reads(s, HN_RESIZE_X, &x);
    hn_step_writes(s, HN_RESIZE_Y, &y);
    s->bytes = 4.0 * (double)(hn_view_count(&x) + hn_view_count(&y));
    hn_lower_set(L, n, 0, &y, s);
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
        status = x.dtype == HONE_DTYPE_F32 ? lower(L, n, &r, done, err)
                                           : lower_repeats(L, n, &r, done, err);
    hn_arena_deinit(&arena);
    return status;
}
