/* pool_planes_f32 over the vector vocabulary: vectors run along rows.
 *
 * A row of outputs takes two steps, through lane scratch: the rows of its windows become one, with
 * padding to both sides, then the columns of each window one number. With a stride the second step
 * is done at every column and the outputs are picked from that: from two vectors at stride 2, from
 * a row in scratch at others. Each step is done for a band of rows: what has just been stored
 * cannot be loaded at once at another offset.
 *
 *   rows      x[iy][0..w) ...   -> tall [ padding | w | padding ]
 *   columns   tall[i .. i + kw) -> wide[i],  y[ox] = wide[ox * sw]
 *
 * In long rows, windows of few elements that reach no padding to the sides are read from x at once.
 * So are all windows where places are wanted, and those that do reach it one by one. A task is a
 * plane.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "kernels/pool_f32/pool_f32_window.h"
#include "kernels/pool_planes_f32/pool_planes_f32.h"
#include "simd/part.h"

enum { BAND = 16 << 10 }; /* bytes of a band, about: it stays in L1 */

/* Columns of a row in scratch: all that windows reach, and all of x. */
static int64_t columns_of(const hn_pool_planes_f32 *p) {
    int64_t reach = (p->ow - 1) * p->sw + (p->kw - 1) * p->dw + 1, all = p->pl + p->w;
    return (reach > all ? reach : all) + 2 * HN_VL;
}

/* Output rows of a band. */
static int64_t band_of(const hn_pool_planes_f32 *p) {
    int64_t rows = hn_of_l1(BAND) / (int64_t)sizeof(float) / columns_of(p);
    return rows < 1 ? 1 : rows > p->oh ? p->oh : rows;
}

/* Scratch of a lane: a band of rows and one more, and of each output column the number it is
 * divided by; then what part of its window is inside, of columns and of rows. */
typedef struct rows {
    float *tall, *wide, *count;
    hn_pool_span *h, *v;
} rows;

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_pool_planes_f32 *p = problem;
    (void)lanes;
    size_t floats = (size_t)((band_of(p) + 1) * columns_of(p) + p->ow) * sizeof(float);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {p->planes},
                   .lane_scratch = (size_t)(p->ow + p->oh) * sizeof(hn_pool_span) + floats};
}

static rows rows_of(const hn_pool_planes_f32 *p, void *lane) {
    rows r = {.h = lane};
    int64_t columns = columns_of(p), band = band_of(p) * columns;
    r.v = r.h + p->ow;
    r.tall = (float *)(r.v + p->oh);
    r.wide = r.tall + band;
    r.count = r.wide + columns;
    for (int64_t i = 0; i < band; i++) r.tall[i] = p->kind == HN_POOL_F32_MAX ? -INFINITY : 0.0f;
    for (int64_t ox = 0; ox < p->ow; ox++) {
        hn_pool_span h = hn_pool_span_of(ox, p->kw, p->sw, p->dw, p->pl, p->pr, p->w);
        r.h[ox] = h;
        r.count[ox] = (float)(p->count_pads ? h.counted : h.n);
    }
    for (int64_t oy = 0; oy < p->oh; oy++)
        r.v[oy] = hn_pool_span_of(oy, p->kh, p->sh, p->dh, p->pt, p->pb, p->h);
    return r;
}

/* The larger one, NaN if either is; or the sum. */
HN_INLINE hn_vf join(hn_vf x, hn_vf all, bool max) {
    return max ? hn_v_select(hn_v_isnan(x), x, hn_v_max(x, all)) : hn_v_add(all, x);
}

HN_INLINE void join_rows(const hn_pool_planes_f32 *p, const float *x, hn_pool_span v, float *to,
                         bool max, int64_t n) {
    hn_vf all = hn_v_set1(max ? -INFINITY : 0.0f);
    for (int64_t ky = 0; ky < v.n; ky++)
        all = join(hn_v_load_part(x + (v.first + ky * p->dh) * p->x_row, n), all, max);
    hn_v_store_part(to, all, n);
}

/* One row of tall. */
HN_INLINE void reduce_rows(const hn_pool_planes_f32 *p, const float *x, hn_pool_span v, float *tall,
                           bool max) {
    int64_t i = 0;
    for (; i + HN_VL <= p->w; i += HN_VL) join_rows(p, x + i, v, tall + p->pl + i, max, HN_VL);
    if (i < p->w) join_rows(p, x + i, v, tall + p->pl + i, max, p->w - i);
}

/* The windows that begin at HN_VL columns. */
HN_INLINE hn_vf join_columns(const hn_pool_planes_f32 *p, const float *tall, bool max) {
    hn_vf all = hn_v_load(tall);
    for (int64_t kx = 1; kx < p->kw; kx++) all = join(hn_v_load(tall + kx * p->dw), all, max);
    return all;
}

/* Every second lane of two vectors. */
HN_INLINE hn_vf every_second(hn_vf low, hn_vf high) {
    static const int32_t second[] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
    _Static_assert(HN_VL <= 16, "there is a place for each lane");
    return hn_v_pick(low, high, hn_vi_load(second));
}

/* n outputs of stride 2. */
HN_INLINE void join_pairs(const hn_pool_planes_f32 *p, const float *tall, float *y, bool max,
                          int64_t n) {
    hn_vf low = join_columns(p, tall, max), high = join_columns(p, tall + HN_VL, max);
    hn_v_store_part(y, every_second(low, high), n);
}

/* One row of outputs. */
HN_INLINE void reduce_columns(const hn_pool_planes_f32 *p, const float *tall, float *wide, float *y,
                              bool max) {
    int64_t i = 0, all = (p->ow - 1) * p->sw + 1;
    if (p->sw == 2) {
        for (; i + HN_VL <= p->ow; i += HN_VL) join_pairs(p, tall + 2 * i, y + i, max, HN_VL);
        if (i < p->ow) join_pairs(p, tall + 2 * i, y + i, max, p->ow - i);
        return;
    }
    float *to = p->sw == 1 ? y : wide;
    for (; i + HN_VL <= all; i += HN_VL) hn_v_store(to + i, join_columns(p, tall + i, max));
    if (i < all) hn_v_store_n(to + i, join_columns(p, tall + i, max), all - i);
    if (p->sw != 1)
        for (int64_t ox = 0; ox < p->ow; ox++) y[ox] = wide[ox * p->sw];
}

/* ---- few elements, no padding to the sides ---- */

/* Elements of a window; and outputs of a row: the ends of short rows cost more than is saved. */
enum { FEW = 4, LONG = 2 * HN_VL };

static bool is_plain(const hn_pool_planes_f32 *p) {
    int64_t reach = (p->ow - 1) * p->sw + (p->kw - 1) * p->dw + 1;
    return p->pl == 0 && reach <= p->w && p->sw <= 2 && p->kh * p->kw <= FEW && p->ow >= LONG;
}

/* The windows that begin at n columns of x. */
HN_INLINE hn_vf join_window(const hn_pool_planes_f32 *p, const float *x, hn_pool_span v, bool max,
                            int64_t n) {
    hn_vf none = hn_v_set1(max ? -INFINITY : 0.0f), all = none;
    for (int64_t kx = 0; kx < p->kw; kx++) {
        hn_vf column = none;
        for (int64_t ky = 0; ky < v.n; ky++) {
            const float *row = x + (v.first + ky * p->dh) * p->x_row;
            column = join(hn_v_load_part(row + kx * p->dw, n), column, max);
        }
        all = kx == 0 ? column : join(column, all, max);
    }
    return all;
}

/* One row of outputs. Vectors are whole as long as they end within the row. */
HN_INLINE void reduce_plain(const hn_pool_planes_f32 *p, const float *x, hn_pool_span v, float *y,
                            bool max) {
    int64_t i = 0, last = p->w - (p->kw - 1) * p->dw; /* columns where windows may begin */
    for (; p->sw == 1 && i + HN_VL <= p->ow; i += HN_VL)
        hn_v_store(y + i, join_window(p, x + i, v, max, HN_VL));
    for (; p->sw == 2 && 2 * (i + HN_VL) <= last && i + HN_VL <= p->ow; i += HN_VL) {
        hn_vf low = join_window(p, x + 2 * i, v, max, HN_VL);
        hn_v_store(y + i, every_second(low, join_window(p, x + 2 * i + HN_VL, v, max, HN_VL)));
    }
    for (; i < p->ow; i += HN_VL) {
        int64_t n = p->ow - i < HN_VL ? p->ow - i : HN_VL, columns = (n - 1) * p->sw + 1;
        hn_vf low = join_window(p, x + i * p->sw, v, max, columns < HN_VL ? columns : HN_VL);
        hn_vf high = low;
        if (columns > HN_VL) high = join_window(p, x + i * p->sw + HN_VL, v, max, columns - HN_VL);
        hn_v_store_part(y + i, p->sw == 2 ? every_second(low, high) : low, n);
    }
}

static void divide(const hn_pool_planes_f32 *p, hn_pool_span v, const rows *r, float *y) {
    hn_vf tall = hn_v_set1((float)(p->count_pads ? v.counted : v.n)), zero = hn_v_set1(0.0f);
    for (int64_t i = 0; i < p->ow; i += HN_VL) {
        int64_t n = p->ow - i < HN_VL ? p->ow - i : HN_VL;
        hn_vf count = hn_v_mul(hn_v_load_n(r->count + i, n), tall);
        hn_vf mean = hn_v_div(hn_v_load_n(y + i, n), count);
        hn_v_store_n(y + i, hn_v_select(hn_v_gt(count, zero), mean, zero), n);
    }
}

/* ---- places ---- */

/* Outputs [begin, end) of a row and the places of their values, of which `first` is that of the
 * plane. */
static void find_some(const hn_pool_planes_f32 *p, const float *x, hn_pool_span v, const rows *r,
                      int64_t begin, int64_t end, float *y, int64_t *places, int64_t first) {
    for (int64_t ox = begin; ox < end; ox++) {
        hn_pool_span h = r->h[ox];
        float all = -INFINITY;
        int64_t place = -1;
        for (int64_t ky = 0; ky < v.n; ky++) {
            int64_t row = v.first + ky * p->dh;
            const float *at = x + row * p->x_row;
            for (int64_t column = h.first; column < h.first + h.n * p->dw; column += p->dw) {
                float value = at[column];
                if (place >= 0 && !(value > all) && !(isnan(value) && !isnan(all))) continue;
                all = value;
                place = first + row * p->w + column;
            }
        }
        y[ox] = all;
        places[ox] = place;
    }
}

/* HN_VL outputs from ox on, whose windows reach no padding to the sides. */
HN_INLINE void find_vector(const hn_pool_planes_f32 *p, const float *x, hn_pool_span v, int64_t ox,
                           float *y, int64_t *places, int64_t first, bool pairs) {
    static const int32_t count[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    hn_vi lanes = hn_vi_load(count);
    if (pairs) lanes = hn_vi_add(lanes, lanes);
    hn_vf all = hn_v_set1(0.0f), place = all;
    for (int64_t ky = 0; ky < v.n; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t row = v.first + ky * p->dh, column = ox * p->sw - p->pl + kx * p->dw;
            const float *at = x + row * p->x_row + column;
            hn_vf value = hn_v_load(at);
            if (pairs) value = every_second(value, hn_v_load(at + HN_VL));
            hn_vi here = hn_vi_add(lanes, hn_vi_set1((int32_t)(row * p->w + column)));
            hn_vm better = hn_vm_or(hn_v_gt(value, all),
                                    hn_vm_and(hn_v_isnan(value), hn_vm_not(hn_v_isnan(all))));
            bool start = ky == 0 && kx == 0;
            all = start ? value : hn_v_select(better, value, all);
            place = start ? hn_v_from_bits(here) : hn_v_select(better, hn_v_from_bits(here), place);
        }
    int32_t found[HN_VL];
    memcpy(found, &place, sizeof found);
    hn_v_store(y + ox, all);
    for (int i = 0; i < HN_VL; i++) places[ox + i] = first + found[i];
}

/* One output row. The last vector may overlap the one before. */
static void find_row(const hn_pool_planes_f32 *p, const float *x, hn_pool_span v, const rows *r,
                     float *y, int64_t *places, int64_t first) {
    int64_t begin = (p->pl + p->sw - 1) / p->sw;
    int64_t end = (p->w + p->pl - (p->kw - 1) * p->dw) / p->sw; /* whole vectors stay in the row */
    if (end > p->ow) end = p->ow;
    if (p->sw > 2 || v.n == 0 || end - begin < HN_VL || p->h * p->w > INT32_MAX) begin = end = 0;
    find_some(p, x, v, r, 0, begin, y, places, first);
    for (int64_t ox = begin; ox < end; ox += HN_VL) {
        int64_t at = ox + HN_VL <= end ? ox : end - HN_VL;
        if (p->sw == 2)
            find_vector(p, x, v, at, y, places, first, true);
        else
            find_vector(p, x, v, at, y, places, first, false);
    }
    find_some(p, x, v, r, end, p->ow, y, places, first);
}

/* A plane, its values alone. */
HN_INLINE void reduce_plane(const hn_pool_planes_f32 *p, const float *x, const rows *r, float *y,
                            bool max) {
    int64_t band = band_of(p), columns = columns_of(p);
    if (is_plain(p)) {
        for (int64_t oy = 0; oy < p->oh; oy++) {
            reduce_plain(p, x, r->v[oy], y + oy * p->y_row, max);
            if (p->kind == HN_POOL_F32_MEAN) divide(p, r->v[oy], r, y + oy * p->y_row);
        }
        return;
    }
    for (int64_t first = 0; first < p->oh; first += band) {
        int64_t end = first + band < p->oh ? first + band : p->oh;
        for (int64_t oy = first; oy < end; oy++)
            reduce_rows(p, x, r->v[oy], r->tall + (oy - first) * columns, max);
        for (int64_t oy = first; oy < end; oy++) {
            reduce_columns(p, r->tall + (oy - first) * columns, r->wide, y + oy * p->y_row, max);
            if (p->kind == HN_POOL_F32_MEAN) divide(p, r->v[oy], r, y + oy * p->y_row);
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_pool_planes_f32 *p = call->problem;
    int64_t *places = call->ptr[HN_POOL_PLANES_PLACES];
    const rows r = rows_of(p, lane);
    for (int64_t task = begin; task < end; task++) {
        const float *x = (const float *)call->ptr[HN_POOL_PLANES_X] + task * p->x_plane;
        float *y = (float *)call->ptr[HN_POOL_PLANES_Y] + task * p->y_plane;
        if (places == NULL && p->kind == HN_POOL_F32_MAX) {
            reduce_plane(p, x, &r, y, true);
        } else if (places == NULL) {
            reduce_plane(p, x, &r, y, false);
        } else {
            for (int64_t oy = 0; oy < p->oh; oy++)
                find_row(p, x, r.v[oy], &r, y + oy * p->y_row, places + (task * p->oh + oy) * p->ow,
                         task * p->h * p->w);
        }
    }
}

const hn_kernel HN_V_ROW(pool_planes_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "columns", .work = work, .run = run};
