/* Scales belong to elements in the order of the weight, one entry for each scale:
 *
 *     weight  [outer, C, inner]   scale of (o, c, n)   channels:  c
 *                                                      groups:    (o, c / group, n)
 *
 * Neighbours have one scale, or those that follow each other: weights are walked in runs of such
 * elements, which serve all granularities. The search for the least squared error tries every
 * range shrunk by the same factors, coarse ones first, then finer ones about the best of each.
 */
#include "compress/grid.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define LEAST_SCALE 0x1p-60
#define MOST_SCALE 0x1p60

static bool is_unsigned(const hn_qtype *t) { return !hn_dtype_is_signed(t->dtype); }

/* The zero point of a symmetric grid. */
static int32_t middle(const hn_qtype *t) {
    return is_unsigned(t) ? INT32_C(1) << (t->bits > 1 ? t->bits - 1 : 1) : 0;
}

void hn_qtype_limits(const hn_qtype *t, int32_t *least, int32_t *most) {
    assert(t->bits >= 1 && t->bits <= 16);
    int32_t half = INT32_C(1) << (t->bits - 1);
    if (t->bits == 1) {
        *least = middle(t) - 1;
        *most = middle(t) + 1;
    } else if (is_unsigned(t)) {
        *least = 0;
        *most = 2 * half - 1;
    } else {
        *least = t->symmetric ? 1 - half : -half;
        *most = half - 1;
    }
}

float hn_grid_scale(double scale) { return (float)fmin(fmax(scale, LEAST_SCALE), MOST_SCALE); }

/* A finite range that holds 0. */
static hn_range widened(hn_range r) {
    double lo = r.min < 0 ? fmax(r.min, -FLT_MAX) : 0;
    double hi = r.max > 0 ? fmin(r.max, FLT_MAX) : 0;
    return (hn_range){lo, hi};
}

static hn_grid_point point_of_range(const hn_qtype *t, hn_range r) {
    int32_t least, most;
    hn_qtype_limits(t, &least, &most);
    r = widened(r);
    if (t->symmetric || t->bits == 1) {
        double span = fmax(-r.min, r.max);
        return (hn_grid_point){hn_grid_scale(span / (double)(most - middle(t))), middle(t)};
    }
    hn_grid_point p = {hn_grid_scale((r.max - r.min) / (double)(most - least)), 0};
    double zero = rint((double)least - r.min / (double)p.scale);
    p.zero = (int32_t)fmin(fmax(zero, least), most);
    return p;
}

hn_grid_point hn_grid_of_range(const hn_qtype *t, hn_range r) {
    hn_range wide = widened(r);
    return point_of_range(t, wide.min < wide.max ? wide : (hn_range){0, 1});
}

int32_t hn_grid_code(const hn_qtype *t, hn_grid_point p, double x) {
    int32_t least, most;
    hn_qtype_limits(t, &least, &most);
    if (t->bits == 1) return x < 0 ? least : most;
    double code = rint(x / (double)p.scale) + p.zero;
    return isnan(code) ? p.zero : (int32_t)fmin(fmax(code, least), most);
}

/* ---- grids of weights ---- */

/* The weight as [outer, n, inner] about an axis; -1: as [1, 1, elements]. */
typedef struct axes {
    int64_t n, inner;
} axes;

static axes about(const hn_tensor *w, int axis) {
    axes a = {1, 1};
    for (int i = axis + 1; i < w->rank; i++) a.inner *= w->dims[i];
    if (axis >= 0) a.n = w->dims[axis];
    return a;
}

static int64_t groups_of(const hn_grid *g, int64_t n) {
    return n / g->type.group + (n % g->type.group != 0);
}

int64_t hn_grid_index(const hn_grid *g, const hn_tensor *w, int64_t i) {
    if (g->group_axis >= 0) {
        axes a = about(w, g->group_axis);
        int64_t outer = i / a.inner / a.n, k = i / a.inner % a.n;
        return (outer * groups_of(g, a.n) + k / g->type.group) * a.inner + i % a.inner;
    }
    if (g->axis < 0) return 0;
    axes a = about(w, g->axis);
    return i / a.inner % a.n;
}

/* Elements looked at together. */
enum { BLOCK = 256 };

/* n neighbours from element `from` on; the scale of the k-th is at + k * step. */
typedef struct run {
    int64_t from, n, at;
    int step;
} run;

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

/* The run that begins with element i, up to element `end` at most. */
static run run_from(const hn_grid *g, const hn_tensor *w, int64_t i, int64_t end) {
    run r = {.from = i, .n = end - i, .at = hn_grid_index(g, w, i)};
    bool groups = g->group_axis >= 0;
    if (!groups && g->axis < 0) return r;
    axes a = about(w, groups ? g->group_axis : g->axis);
    int64_t k = i / a.inner % a.n;
    r.step = groups == (a.inner > 1);
    if (a.inner > 1)
        r.n = least_of(r.n, a.inner - i % a.inner);
    else
        r.n =
            least_of(r.n, groups ? least_of(g->type.group - k % g->type.group, a.n - k) : a.n - k);
    return r;
}

static hn_grid_point point(const hn_grid *g, int64_t at) {
    return (hn_grid_point){((const float *)g->scale->data)[at],
                           g->zero != NULL ? (int32_t)hn_tensor_s64(g->zero, at) : 0};
}

hn_grid_point hn_grid_at(const hn_grid *g, const hn_tensor *w, int64_t i) {
    return point(g, hn_grid_index(g, w, i));
}

static void set_point(hn_grid *g, int64_t at, hn_grid_point p) {
    ((float *)g->scale->data)[at] = p.scale;
    if (g->zero != NULL) hn_store_s64(g->type.dtype, g->zero->data, at, p.zero);
}

void hn_grid_deinit(hn_grid *g) {
    hn_tensor_unref(g->scale);
    hn_tensor_unref(g->zero);
    *g = (hn_grid){0};
}

static hone_status create_empty(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis,
                                int group_axis, hn_allocator *alloc, hn_error *err) {
    assert(hn_dtype_in(w->dtype, HN_DTYPES_FLOAT) && w->data != NULL);
    *g = (hn_grid){.type = *t, .axis = -1, .group_axis = -1};
    int64_t dims[HONE_MAX_RANK];
    int rank = 0;
    if (t->group > 0) {
        assert(group_axis >= 0 && group_axis < w->rank);
        g->group_axis = group_axis;
        rank = w->rank;
        memcpy(dims, w->dims, sizeof *dims * (size_t)rank);
        dims[group_axis] = groups_of(g, dims[group_axis]);
    } else if (t->per_channel) {
        assert(axis >= 0 && axis < w->rank);
        g->axis = axis;
        rank = 1;
        dims[0] = w->dims[axis];
    }
    HN_TRY(hn_tensor_create(&g->scale, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, rank, dims, err));
    if (!t->symmetric || is_unsigned(t)) {
        hone_status status =
            hn_tensor_create(&g->zero, alloc, HN_MEM_WEIGHTS, t->dtype, rank, dims, err);
        if (status != HONE_OK) {
            hn_grid_deinit(g);
            return status;
        }
        memset(g->zero->data, 0, g->zero->bytes);
    }
    return HONE_OK;
}

/* Factors that are tried in one walk. */
enum { AT_ONCE = 8 };

/* What is known of the elements that share a scale. */
typedef struct stretch {
    hn_range range;
    double magnitudes; /* sum */
    int64_t n;
    double shrink, error, around; /* the best factor so far; where fine ones lie */
    /* Of the factors tried: scales, the codes they may have less the zero points, errors. */
    float scale[AT_ONCE];
    double divisor[AT_ONCE], lo[AT_ONCE], hi[AT_ONCE], candidate_error[AT_ONCE];
} stretch;

static hone_status check_finite(const double *x, int64_t from, int64_t n, hn_error *err) {
    double odd = 0;
    for (int64_t k = 0; k < n; k++) odd += x[k] * 0; /* NaN once one is not finite */
    for (int64_t k = 0; odd != 0 && k < n; k++)
        HN_CHECK(err, isfinite(x[k]), HONE_E_MODEL, "element %lld of the weight is %s",
                 (long long)(from + k), isnan(x[k]) ? "not a number" : "infinite");
    return HONE_OK;
}

static void widen(hn_range *r, double x) {
    r->min = x < r->min ? x : r->min;
    r->max = x > r->max ? x : r->max;
}

/* Of the elements of a run, which have the same scale. */
static hn_range range_of(const double *x, int64_t n) {
    hn_range r[4] = {0};
    int64_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (int i = 0; i < 4; i++) widen(&r[i], x[k + i]);
    for (; k < n; k++) widen(&r[0], x[k]);
    for (int i = 1; i < 4; i++) {
        widen(&r[0], r[i].min);
        widen(&r[0], r[i].max);
    }
    return r[0];
}

static void measure_run(const run *r, const double *x, hn_range *ranges) {
    if (r->step > 0) {
        for (int64_t k = 0; k < r->n; k++) widen(&ranges[r->at + k], x[k]);
    } else {
        hn_range all = range_of(x, r->n);
        widen(&ranges[r->at], all.min);
        widen(&ranges[r->at], all.max);
    }
}

/* The range of each scale; its elements and the sum of their magnitudes where there is one bit. */
static hone_status measure(const hn_grid *g, const hn_tensor *w, stretch *s, hn_range *ranges,
                           hn_error *err) {
    double x[BLOCK];
    for (int64_t i = 0; i < w->n; i += BLOCK) {
        int64_t end = least_of(i + BLOCK, w->n);
        hn_load_f64_n(w->dtype, w->data, i, end - i, x);
        HN_TRY(check_finite(x, i, end - i, err));
        for (run r = run_from(g, w, i, end);; r = run_from(g, w, r.from + r.n, end)) {
            measure_run(&r, x + (r.from - i), ranges);
            for (int64_t k = 0; g->type.bits == 1 && k < r.n; k++) {
                stretch *at = &s[r.at + k * r.step];
                at->magnitudes += fabs(x[r.from - i + k]);
                at->n++;
            }
            if (r.from + r.n == end) break;
        }
    }
    for (int64_t at = 0; at < g->scale->n; at++) s[at].range = ranges[at];
    return HONE_OK;
}

static hn_grid_point shrunk(const hn_grid *g, const stretch *s, double by) {
    if (g->type.bits == 1) { /* no other scale has a smaller squared error than the mean */
        double mean = s->n > 0 ? s->magnitudes / (double)s->n : 0;
        return (hn_grid_point){hn_grid_scale(mean), middle(&g->type)};
    }
    return point_of_range(&g->type, (hn_range){s->range.min * by, s->range.max * by});
}

/* The factors that are tried: coarse ones, or fine ones about the best. */
enum { COARSE = 40, FINE = 16 };
#define COARSE_STEP 0.02
#define FINE_STEP 0.0025

static double factor(const stretch *s, int k, bool fine) {
    return fmin(fine ? s->around + (k - FINE / 2) * FINE_STEP : 1 - k * COARSE_STEP, 1);
}

static void set_candidates(const hn_grid *g, stretch *s, int first, bool fine) {
    int32_t least, most;
    hn_qtype_limits(&g->type, &least, &most);
    for (int k = 0; k < AT_ONCE; k++) {
        hn_grid_point p = shrunk(g, s, factor(s, first + k, fine));
        s->scale[k] = p.scale;
        s->divisor[k] = (double)p.scale;
        s->lo[k] = least - p.zero;
        s->hi[k] = most - p.zero;
        s->candidate_error[k] = 0;
    }
}

/* Adds what rounding x to each candidate's nearest point (as hn_grid_code has it) costs. */
static void add_errors(stretch *s, double x, double weight) {
    double code[AT_ONCE];
    float value[AT_ONCE];
    for (int k = 0; k < AT_ONCE; k++) {
        double c = x / s->divisor[k];
        c = c < s->lo[k] ? s->lo[k] : c;
        c = c > s->hi[k] ? s->hi[k] : c;
        code[k] = c + 0x1.8p52 - 0x1.8p52; /* the nearest integer, to the even one of two */
    }
    for (int k = 0; k < AT_ONCE; k++) value[k] = (float)code[k] * s->scale[k];
    for (int k = 0; k < AT_ONCE; k++) {
        double e = x - (double)value[k];
        s->candidate_error[k] += e * e * weight;
    }
}

static void take_best(stretch *s, int first, bool fine) {
    for (int k = 0; k < AT_ONCE; k++) {
        if (!(s->candidate_error[k] < s->error)) continue;
        s->error = s->candidate_error[k];
        s->shrink = factor(s, first + k, fine);
    }
}

static_assert(COARSE % AT_ONCE == 0 && FINE % AT_ONCE == 0, "whole walks");

static void try_factors(hn_grid *g, const hn_tensor *w, const double *importance, axes of,
                        stretch *s, int64_t n, bool fine) {
    double x[BLOCK];
    run r;
    for (int64_t at = 0; at < n; at++) s[at].around = s[at].shrink;
    for (int k = 0; k < (fine ? FINE : COARSE); k += AT_ONCE) {
        for (int64_t at = 0; at < n; at++) set_candidates(g, &s[at], k, fine);
        for (int64_t i = 0; i < w->n; i += r.n) {
            r = run_from(g, w, i, least_of(i + BLOCK, w->n));
            hn_load_f64_n(w->dtype, w->data, i, r.n, x);
            for (int64_t j = 0; j < r.n; j++)
                add_errors(&s[r.at + j * r.step], x[j],
                           importance != NULL ? importance[(i + j) / of.inner % of.n] : 1);
        }
        for (int64_t at = 0; at < n; at++) take_best(&s[at], k, fine);
    }
}

static hone_status create(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis,
                          int group_axis, bool search, const double *importance,
                          hn_allocator *alloc, hn_error *err) {
    HN_TRY(create_empty(g, w, t, axis, group_axis, alloc, err));
    int64_t n = g->scale->n;
    hone_status status = HONE_OK;
    stretch *s = hn_alloc_array(alloc, (size_t)n, sizeof *s, HN_MEM_SCRATCH);
    hn_range *ranges = hn_alloc_array(alloc, (size_t)n, sizeof *ranges, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, s != NULL && ranges != NULL, HONE_E_NOMEM, "out of memory");
    for (int64_t at = 0; at < n; at++) {
        s[at] = (stretch){.shrink = 1, .error = INFINITY};
        ranges[at] = (hn_range){0, 0};
    }
    HN_TRY_GOTO(measure(g, w, s, ranges, err));
    if (search && t->bits > 1) {
        assert(importance == NULL || (group_axis >= 0 && group_axis < w->rank));
        axes of = about(w, importance != NULL ? group_axis : -1);
        try_factors(g, w, importance, of, s, n, false);
        try_factors(g, w, importance, of, s, n, true);
    }
    for (int64_t at = 0; at < n; at++) set_point(g, at, shrunk(g, &s[at], s[at].shrink));
fail:
    hn_free(alloc, ranges);
    hn_free(alloc, s);
    if (status != HONE_OK) hn_grid_deinit(g);
    return status;
}

hone_status hn_grid_create(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis,
                           int group_axis, hn_allocator *alloc, hn_error *err) {
    return create(g, w, t, axis, group_axis, false, NULL, alloc, err);
}

hone_status hn_grid_create_mse(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis,
                               int group_axis, const double *importance, hn_allocator *alloc,
                               hn_error *err) {
    return create(g, w, t, axis, group_axis, true, importance, alloc, err);
}

/* The scales and zero points of elements [from, end), at most a block of them. */
static void points_of(const hn_grid *g, const hn_tensor *w, int64_t from, int64_t end,
                      double *scales, double *zeros) {
    const float *scale = g->scale->data;
    for (int64_t i = from; i < end;) {
        run r = run_from(g, w, i, end);
        double *to = scales + (i - from), *zero = zeros + (i - from);
        int64_t known = r.step > 0 ? r.n : 1;
        for (int64_t k = 0; k < r.n; k++) to[k] = (double)scale[r.at + k * r.step];
        if (g->zero != NULL) hn_load_f64_n(g->zero->dtype, g->zero->data, r.at, known, zero);
        for (int64_t k = known; k < r.n; k++) zero[k] = zero[0];
        i += r.n;
    }
}

/* As hn_grid_code, for types of two bits or more. */
static void codes_of_block(const double *x, const double *scale, const double *zero, double least,
                           double most, int64_t *codes) {
    const double far = 0x1p30; /* outside anyway */
    double code[BLOCK];
    for (int k = 0; k < BLOCK; k++) {
        double c = x[k] / scale[k];
        c = c < -far ? -far : c;
        c = c > far ? far : c;
        c = c + 0x1.8p52 - 0x1.8p52 + zero[k]; /* the nearest, to the even one of two */
        c = c < least ? least : c;
        c = c > most ? most : c;
        code[k] = isnan(c) ? zero[k] : c;
    }
    for (int k = 0; k < BLOCK; k++) codes[k] = (int32_t)code[k];
}

static void codes_of_part(const hn_grid *g, const hn_tensor *w, int64_t from, int64_t end,
                          hn_tensor *to) {
    double x[BLOCK] = {0}, scales[BLOCK], zeros[BLOCK] = {0};
    int64_t codes[BLOCK];
    int32_t least, most;
    for (int k = 0; k < BLOCK; k++) scales[k] = 1;
    hn_qtype_limits(&g->type, &least, &most);
    points_of(g, w, from, end, scales, zeros);
    hn_load_f64_n(w->dtype, w->data, from, end - from, x);
    if (g->type.bits > 1)
        codes_of_block(x, scales, zeros, least, most, codes);
    else
        for (int k = 0; k < BLOCK; k++) codes[k] = x[k] < 0 ? least : most;
    hn_store_s64_n(to->dtype, to->data, from, end - from, codes);
}

hone_status hn_grid_codes(const hn_grid *g, const hn_tensor *w, hn_allocator *alloc,
                          hn_tensor **codes, hn_error *err) {
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, alloc, HN_MEM_WEIGHTS, g->type.dtype, w->rank, w->dims, err));
    if (t->bytes > 0) memset(t->data, 0, t->bytes); /* the bits behind the last one */
    for (int64_t i = 0; i < w->n; i += BLOCK) codes_of_part(g, w, i, least_of(i + BLOCK, w->n), t);
    *codes = t;
    return HONE_OK;
}

hone_status hn_grid_floats(const hn_grid *g, const hn_tensor *codes, hn_allocator *alloc,
                           hn_tensor **w, hn_error *err) {
    hn_tensor *t;
    HN_TRY(
        hn_tensor_create(&t, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, codes->rank, codes->dims, err));
    for (int64_t i = 0; i < codes->n;) {
        run r = run_from(g, codes, i, least_of(i + BLOCK, codes->n));
        int64_t code[BLOCK];
        hn_load_s64_n(codes->dtype, codes->data, i, r.n, code);
        for (int64_t k = 0; k < r.n; k++)
            ((float *)t->data)[i + k] =
                hn_grid_value(point(g, r.at + k * r.step), (int32_t)code[k]);
        i += r.n;
    }
    *w = t;
    return HONE_OK;
}

int64_t hn_grid_bits(const hn_grid *g, const hn_tensor *w) {
    return w->n * g->type.bits + 32 * g->scale->n +
           (g->zero != NULL ? g->zero->n * g->type.bits : 0);
}

/* ---- grids by name ---- */

struct hn_grids {
    hn_arena arena;
    hn_map map;
    struct named {
        hn_grid grid;
        struct named *next; /* of all */
        struct named *same; /* of the same name, of another type */
    } * all;
};

hone_status hn_grids_create(hn_grids **out, hn_allocator *alloc, hn_error *err) {
    hn_grids *g = hn_alloc_zero(alloc, sizeof *g, HN_MEM_OTHER);
    if (g == NULL) return HN_NOMEM(err);
    hn_arena_init(&g->arena, alloc, HN_MEM_OTHER);
    hn_map_init(&g->map, alloc);
    *out = g;
    return HONE_OK;
}

void hn_grids_destroy(hn_grids *g) {
    if (g == NULL) return;
    for (struct named *n = g->all; n != NULL; n = n->next) hn_grid_deinit(&n->grid);
    hn_map_deinit(&g->map);
    hn_allocator *alloc = g->arena.alloc;
    hn_arena_deinit(&g->arena);
    hn_free(alloc, g);
}

static struct named *find_type(struct named *n, const hn_qtype *type) {
    while (n != NULL && type != NULL && !hn_qtype_equal(&n->grid.type, type)) n = n->same;
    return n;
}

hone_status hn_grids_set(hn_grids *g, const char *weight, hn_grid *grid, hn_error *err) {
    size_t length = strlen(weight);
    struct named *first = hn_map_get(&g->map, weight, length);
    struct named *n = find_type(first, &grid->type);
    if (n == NULL) {
        char *name = hn_arena_strdup(&g->arena, weight);
        n = hn_arena_zero(&g->arena, sizeof *n);
        if (name == NULL || n == NULL || !hn_map_put(&g->map, name, length, n)) {
            hn_grid_deinit(grid);
            return HN_NOMEM(err);
        }
        n->same = first;
        n->next = g->all;
        g->all = n;
    }
    hn_grid_deinit(&n->grid);
    n->grid = *grid;
    *grid = (hn_grid){0};
    return HONE_OK;
}

const hn_grid *hn_grids_of(const hn_grids *g, const char *weight, const hn_qtype *type) {
    struct named *n = g != NULL ? hn_map_get(&g->map, weight, strlen(weight)) : NULL;
    n = find_type(n, type);
    return n != NULL ? &n->grid : NULL;
}
