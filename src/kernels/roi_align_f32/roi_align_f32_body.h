/* roi_align_f32 over the vector vocabulary, channels in the lanes.
 *
 * Points lie on a grid, and both the interpolation and the average over them are separate for rows
 * and columns. So a bin is a weighted sum over a few rows and columns of x, however many points it
 * has: taps (element, weight) per axis, made once per region.
 *
 *   y[c] = sum over row taps r, column taps k of r.weight * k.weight * x[r.at][k.at][c]
 *
 * Largest values have no such form: their points are visited one by one.
 *
 * A task is a region. Its bins [oh * ow][c] are summed in lane scratch, then written with the
 * strides of y, by squares of a vector's length where bins are adjacent there.
 */
#include <string.h>

#include "kernels/roi_align_f32/roi_align_f32.h"
#include "kernels/roi_align_f32/roi_align_f32_side.h"
#include "simd/part.h"

enum { BLOCK = 4 }; /* vectors of channels that are summed together */

typedef struct tap {
    double weight;
    int64_t at;
} tap;

/* The taps of all bins along an axis: those of bin b are at + b * size, n[b] of them. */
typedef struct taps {
    tap *at;
    int64_t *n;
    int64_t size;
} taps;

/* Where things are in lane scratch, in bytes. */
typedef struct room {
    size_t row_taps, row_counts, column_taps, column_counts, bins, bytes;
    int64_t pitch; /* floats from bin to bin */
} room;

static size_t take(size_t *at, int64_t n, size_t size) {
    size_t begin = *at;
    *at += ((size_t)n * size + 63) / 64 * 64;
    return begin;
}

static int64_t round_up(int64_t n) { return (n + HN_VL - 1) / HN_VL * HN_VL; }

static room room_of(const hn_roi_align_f32 *p) {
    room r = {.pitch = round_up(p->c)};
    r.row_taps = take(&r.bytes, p->oh * p->h, sizeof(tap));
    r.row_counts = take(&r.bytes, p->oh, sizeof(int64_t));
    r.column_taps = take(&r.bytes, p->ow * p->w, sizeof(tap));
    r.column_counts = take(&r.bytes, p->ow, sizeof(int64_t));
    r.bins = take(&r.bytes, round_up(p->oh * p->ow) * r.pitch, sizeof(float));
    return r;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_roi_align_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->regions}, .lane_scratch = room_of(p).bytes};
}

/* Adds to the weight of an element. Points follow each other up or down the axis, so its tap is
 * among the last three, if it is there. */
static int64_t add_tap(tap *list, int64_t n, int64_t at, double weight) {
    for (int64_t i = n - 1; i >= 0 && i >= n - 3; i--)
        if (list[i].at == at) {
            list[i].weight += weight;
            return n;
        }
    list[n] = (tap){weight, at};
    return n + 1;
}

static void find_taps(const roi_side *s, int64_t bins, taps *t) {
    for (int64_t b = 0; b < bins; b++) {
        tap *list = t->at + b * t->size;
        int64_t n = 0;
        double from = 0, to = 0;
        roi_point point;
        if (s->samples > 0) roi_inside(s, b, &from, &to);
        for (double i = from; i < to; i++) {
            if (!roi_locate(s, roi_point_at(s, b, i), &point)) continue;
            if (point.up < 1) n = add_tap(list, n, point.lo, (1 - point.up) / s->samples);
            if (point.up > 0) n = add_tap(list, n, point.hi, point.up / s->samples);
        }
        t->n[b] = n;
    }
}

/* y[i] for `count` vectors, the last of n lanes. */
HN_INLINE void sum(const hn_roi_align_f32 *p, const float *x, const tap *rows, int64_t n_rows,
                   const tap *columns, int64_t n_columns, float *y, int count, int64_t n) {
    hn_vf s[BLOCK];
    for (int i = 0; i < count; i++) s[i] = hn_v_set1(0);
    for (int64_t r = 0; r < n_rows; r++) {
        const float *row = x + rows[r].at * p->x_row;
        for (int64_t k = 0; k < n_columns; k++) {
            const float *at = row + columns[k].at * p->x_pixel;
            hn_vf weight = hn_v_set1((float)(rows[r].weight * columns[k].weight));
            for (int i = 0; i < count; i++)
                s[i] = hn_v_fma(weight, hn_v_load_part(at + i * HN_VL, i == count - 1 ? n : HN_VL),
                                s[i]);
        }
    }
    for (int i = 0; i < count; i++) hn_v_store(y + i * HN_VL, s[i]);
}

/* One bin into y, which has room for whole vectors. */
static void sum_bin(const hn_roi_align_f32 *p, const float *x, const taps *rows, int64_t by,
                    const taps *columns, int64_t bx, float *y) {
    const tap *r = rows->at + by * rows->size, *k = columns->at + bx * columns->size;
    int64_t n_r = rows->n[by], n_k = columns->n[bx], c = 0;
    for (; c + BLOCK * HN_VL <= p->c; c += BLOCK * HN_VL)
        sum(p, x + c, r, n_r, k, n_k, y + c, BLOCK, HN_VL);
    for (; c + HN_VL <= p->c; c += HN_VL) sum(p, x + c, r, n_r, k, n_k, y + c, 1, HN_VL);
    if (c < p->c) sum(p, x + c, r, n_r, k, n_k, y + c, 1, p->c - c);
}

/* ---- largest values ---- */

/* The larger one; NaN only if both are. */
HN_INLINE hn_vf larger(hn_vf a, hn_vf b) {
    return hn_v_select(hn_vm_or(hn_v_gt(b, a), hn_v_isnan(a)), b, a);
}

/* y = the larger of it and n lanes of weight * x, or on the `first` visit just that. */
HN_INLINE void raise(float *y, const float *x, float weight, bool first, int64_t n) {
    hn_vf v = weight == 0 ? hn_v_set1(0) : hn_v_mul(hn_v_set1(weight), hn_v_load_part(x, n));
    hn_v_store(y, first ? v : larger(hn_v_load(y), v));
}

static void raise_all(const hn_roi_align_f32 *p, float *y, const float *x, double weight,
                      bool first) {
    int64_t c = 0;
    for (; c + HN_VL <= p->c; c += HN_VL) raise(y + c, x + c, (float)weight, first, HN_VL);
    if (c < p->c) raise(y + c, x + c, (float)weight, first, p->c - c);
}

static void raise_point(const hn_roi_align_f32 *p, const float *x, const roi_point *row,
                        const roi_point *column, float *y, bool first) {
    const float *top = x + row->lo * p->x_row, *bottom = x + row->hi * p->x_row;
    int64_t left = column->lo * p->x_pixel, right = column->hi * p->x_pixel;
    raise_all(p, y, top + left, (1 - row->up) * (1 - column->up), first);
    raise_all(p, y, top + right, (1 - row->up) * column->up, false);
    raise_all(p, y, bottom + left, row->up * (1 - column->up), false);
    raise_all(p, y, bottom + right, row->up * column->up, false);
}

/* One bin into y, which has room for whole vectors. */
static void max_bin(const hn_roi_align_f32 *p, const float *x, const roi_side *ys,
                    const roi_side *xs, int64_t by, int64_t bx, float *y) {
    double y_from = 0, y_to = 0, x_from = 0, x_to = 0, seen = 0;
    roi_point row, column;
    if (ys->samples > 0 && xs->samples > 0) {
        roi_inside(ys, by, &y_from, &y_to);
        roi_inside(xs, bx, &x_from, &x_to);
    }
    for (double iy = y_from; iy < y_to; iy++) {
        if (!roi_locate(ys, roi_point_at(ys, by, iy), &row)) continue;
        for (double ix = x_from; ix < x_to; ix++) {
            if (!roi_locate(xs, roi_point_at(xs, bx, ix), &column)) continue;
            raise_point(p, x, &row, &column, y, seen == 0);
            seen++;
        }
    }
    /* Points outside, or none at all. */
    if (seen == 0 || seen < ys->samples * xs->samples) raise_all(p, y, x, 0, seen == 0);
}

/* ---- writing ---- */

/* [bins][c] to [c][bins], bins adjacent. */
static void write_planar(const hn_roi_align_f32 *p, const float *bins, int64_t pitch, float *y) {
    int64_t n = p->oh * p->ow;
    for (int64_t c = 0; c < p->c; c += HN_VL)
        for (int64_t b = 0; b < n; b += HN_VL) {
            hn_vf v[HN_VL];
            for (int i = 0; i < HN_VL; i++) v[i] = hn_v_load(bins + (b + i) * pitch + c);
            hn_v_transpose(v);
            for (int i = 0; i < HN_VL && c + i < p->c; i++)
                hn_v_store_part(y + (c + i) * p->y_channel + b, v[i],
                                n - b < HN_VL ? n - b : HN_VL);
        }
}

static void write_any(const hn_roi_align_f32 *p, const float *bins, int64_t pitch, float *y) {
    for (int64_t b = 0; b < p->oh * p->ow; b++) {
        float *at = y + b / p->ow * p->y_row + b % p->ow * p->y_pixel;
        if (p->y_channel == 1)
            memcpy(at, bins + b * pitch, (size_t)p->c * sizeof *at);
        else
            for (int64_t c = 0; c < p->c; c++) at[c * p->y_channel] = bins[b * pitch + c];
    }
}

static void run_region(const hn_roi_align_f32 *p, const float *x, const float *roi, float *y,
                       unsigned char *lane) {
    room at = room_of(p);
    taps rows = {(tap *)(lane + at.row_taps), (int64_t *)(lane + at.row_counts), p->h};
    taps columns = {(tap *)(lane + at.column_taps), (int64_t *)(lane + at.column_counts), p->w};
    float *bins = (float *)(lane + at.bins);
    roi_side xs = roi_side_of(p, roi, 0), ys = roi_side_of(p, roi, 1);
    if (!p->max) {
        find_taps(&ys, p->oh, &rows);
        find_taps(&xs, p->ow, &columns);
    }
    for (int64_t by = 0; by < p->oh; by++)
        for (int64_t bx = 0; bx < p->ow; bx++) {
            float *to = bins + (by * p->ow + bx) * at.pitch;
            if (p->max)
                max_bin(p, x, &ys, &xs, by, bx, to);
            else
                sum_bin(p, x, &rows, by, &columns, bx, to);
        }
    if (p->y_pixel == 1 && p->y_row == p->ow)
        write_planar(p, bins, at.pitch, y);
    else
        write_any(p, bins, at.pitch, y);
}

static void zero_region(const hn_roi_align_f32 *p, float *y) {
    for (int64_t c = 0; c < p->c; c++)
        for (int64_t b = 0; b < p->oh * p->ow; b++)
            y[c * p->y_channel + b / p->ow * p->y_row + b % p->ow * p->y_pixel] = 0;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_roi_align_f32 *p = call->problem;
    int32_t *outside = call->ptr[HN_ROI_ALIGN_OUTSIDE];
    for (int64_t r = begin; r < end; r++) {
        const float *roi = (const float *)call->ptr[HN_ROI_ALIGN_ROIS] + 4 * r;
        int64_t image = ((const int64_t *)call->ptr[HN_ROI_ALIGN_BATCH])[r];
        float *y = (float *)call->ptr[HN_ROI_ALIGN_Y] + r * p->y_region;
        if (roi_is_valid(p, roi, image)) {
            const float *x = (const float *)call->ptr[HN_ROI_ALIGN_X] + image * p->x_image;
            run_region(p, x, roi, y, lane);
        } else {
            if (outside != NULL) __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
            zero_region(p, y);
        }
    }
}

const hn_kernel HN_V_ROW(roi_align_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "taps", .work = work, .run = run};
