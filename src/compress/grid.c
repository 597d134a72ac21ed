/* Scales belong to elements in the order of the weight, one entry for each scale:
 *
 *     weight  [outer, C, inner]   scale of (o, c, n)   channels:  c
 *                                                      groups:    (o, c / group, n)
 *
 * Neighbours have one scale, or those that follow each other: weights are walked in runs of such
 * elements, which serve all granularities. The search for the least squared error tries every
 * range shrunk by the same factors, coarse ones first, then finer ones about the best of each.
 *
 * Threads share the work by scales: all elements of one are gone through by one thread, in order,
 * so that sums are the same for any number of them.
 */
#include "compress/grid.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
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

/* ---- finding scales ---- */

/* Elements whose scales are found together, which no others share: n neighbours, so many times, a
 * stride apart. One scale, or one for each element of a run. */
typedef struct tile {
    int64_t first, n, runs, stride;
    int64_t at, scales;
} tile;

/* Scales of a tile, at most: few where much is kept for each, else whole pieces of rows. */
enum { NARROW = 32, WIDE = 256 };

static int64_t strips_of(int64_t n, int strip) { return n / strip + (n % strip != 0); }

static int64_t outer_of(const hn_tensor *w, int axis) {
    int64_t outer = 1;
    for (int i = 0; i < axis; i++) outer *= w->dims[i];
    return outer;
}

static int64_t count_tiles(const hn_grid *g, const hn_tensor *w, int strip) {
    axes a = about(w, g->group_axis >= 0 ? g->group_axis : g->axis);
    if (g->group_axis >= 0)
        return outer_of(w, g->group_axis) * groups_of(g, a.n) * strips_of(a.inner, strip);
    return g->axis < 0 ? 1 : a.inner == 1 ? strips_of(a.n, strip) : a.n;
}

static tile group_tile(const hn_grid *g, const hn_tensor *w, int strip, int64_t i) {
    axes a = about(w, g->group_axis);
    int64_t strips = strips_of(a.inner, strip), groups = groups_of(g, a.n), size = g->type.group;
    int64_t column = i % strips * strip, k = i / strips % groups * size;
    int64_t first = (i / strips / groups * a.n + k) * a.inner + column;
    int64_t deep = least_of(size, a.n - k), wide = least_of(strip, a.inner - column);
    tile t = {.first = first, .at = i / strips * a.inner + column, .scales = wide};
    if (a.inner == 1)
        t.n = deep, t.runs = 1;
    else
        t.n = wide, t.runs = deep, t.stride = a.inner;
    return t;
}

static tile tile_of(const hn_grid *g, const hn_tensor *w, int strip, int64_t i) {
    if (g->group_axis >= 0) return group_tile(g, w, strip, i);
    if (g->axis < 0) return (tile){.n = w->n, .runs = 1, .scales = 1};
    axes a = about(w, g->axis);
    tile t = {.runs = outer_of(w, g->axis), .stride = a.n * a.inner, .scales = 1};
    t.at = a.inner == 1 ? i * strip : i;
    t.first = t.at * a.inner;
    t.n = a.inner;
    if (a.inner == 1) t.n = t.scales = least_of(strip, a.n - t.at);
    return t;
}

/* What is known of the elements that share a scale. */
typedef struct stretch {
    hn_range range;
    double magnitudes; /* sum */
    int64_t n;
} stretch;

/* Factors that are tried in one walk. */
enum { AT_ONCE = 8 };

/* How far the range of a stretch is best shrunk. */
typedef struct trial {
    double shrink, error, around; /* the best factor so far; where fine ones lie */
    /* Of the factors tried: scales, the codes they may have less the zero points, errors. */
    float scale[AT_ONCE];
    double divisor[AT_ONCE], lo[AT_ONCE], hi[AT_ONCE], candidate_error[AT_ONCE];
} trial;

typedef struct finder {
    const hn_grid *g;
    const hn_tensor *w;
    bool search;              /* for the least squared error */
    int strip;                /* of tiles */
    const double *importance; /* of errors, by index of an axis; NULL: alike */
    axes of;                  /* about that axis */
    hn_grid_point *points;    /* that are found, by scale */
    atomic_bool odd;          /* an element is not finite */
} finder;

static bool all_finite(const double *x, int64_t n) {
    double odd = 0;
    for (int64_t k = 0; k < n; k++) odd += x[k] * 0; /* NaN once one is not finite */
    return odd == 0;
}

static void widen(hn_range *r, double x) {
    r->min = x < r->min ? x : r->min;
    r->max = x > r->max ? x : r->max;
}

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

/* The ranges of n elements of a run, and the sums of their magnitudes where there is one bit. */
static void measure(const finder *f, const tile *t, const double *x, int64_t n, stretch *s) {
    int step = t->scales > 1;
    if (step) {
        for (int64_t k = 0; k < n; k++) widen(&s[k].range, x[k]);
    } else {
        hn_range all = range_of(x, n);
        widen(&s->range, all.min);
        widen(&s->range, all.max);
    }
    for (int64_t k = 0; f->g->type.bits == 1 && k < n; k++) {
        s[k * step].magnitudes += fabs(x[k]);
        s[k * step].n++;
    }
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

static double factor(const trial *s, int k, bool fine) {
    return fmin(fine ? s->around + (k - FINE / 2) * FINE_STEP : 1 - k * COARSE_STEP, 1);
}

static void set_candidates(const hn_grid *g, const stretch *of, trial *s, int first, bool fine) {
    int32_t least, most;
    hn_qtype_limits(&g->type, &least, &most);
    for (int k = 0; k < AT_ONCE; k++) {
        hn_grid_point p = shrunk(g, of, factor(s, first + k, fine));
        s->scale[k] = p.scale;
        s->divisor[k] = (double)p.scale;
        s->lo[k] = least - p.zero;
        s->hi[k] = most - p.zero;
        s->candidate_error[k] = 0;
    }
}

/* Adds what rounding x to each candidate's nearest point (as hn_grid_code has it) costs. */
static void add_errors(trial *s, double x, double weight) {
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

/* What n elements from element `from` on cost. */
static void add_run(const finder *f, const tile *t, int64_t from, const double *x, int64_t n,
                    trial *s) {
    int step = t->scales > 1;
    int64_t k = 0;
    while (k < n) {
        int64_t same = f->importance != NULL ? f->of.inner - (from + k) % f->of.inner : n;
        double weight =
            f->importance != NULL ? f->importance[(from + k) / f->of.inner % f->of.n] : 1;
        for (int64_t end = least_of(n, k + same); k < end; k++)
            add_errors(&s[k * step], x[k], weight);
    }
}

static void take_best(trial *s, int first, bool fine) {
    for (int k = 0; k < AT_ONCE; k++) {
        if (!(s->candidate_error[k] < s->error)) continue;
        s->error = s->candidate_error[k];
        s->shrink = factor(s, first + k, fine);
    }
}

/* Goes over the elements of a tile in order, for the errors of what is tried or, where that is
 * NULL, for their ranges. False: one is not finite. */
static bool walk(const finder *f, const tile *t, stretch *s, trial *tried) {
    double x[BLOCK];
    for (int64_t r = 0; r < t->runs; r++)
        for (int64_t i = 0; i < t->n; i += BLOCK) {
            int64_t from = t->first + r * t->stride + i, n = least_of(BLOCK, t->n - i);
            hn_load_f64_n(f->w->dtype, f->w->data, from, n, x);
            if (tried != NULL)
                add_run(f, t, from, x, n, tried);
            else if (all_finite(x, n))
                measure(f, t, x, n, s);
            else
                return false;
        }
    return true;
}

static_assert(COARSE % AT_ONCE == 0 && FINE % AT_ONCE == 0, "whole walks");

static void try_factors(const finder *f, const tile *t, stretch *s, trial *tried, bool fine) {
    for (int64_t at = 0; at < t->scales; at++) tried[at].around = tried[at].shrink;
    for (int k = 0; k < (fine ? FINE : COARSE); k += AT_ONCE) {
        for (int64_t at = 0; at < t->scales; at++)
            set_candidates(f->g, &s[at], &tried[at], k, fine);
        walk(f, t, s, tried);
        for (int64_t at = 0; at < t->scales; at++) take_best(&tried[at], k, fine);
    }
}

static void shrink(finder *f, const tile *t, stretch *s) {
    trial tried[NARROW];
    for (int64_t at = 0; at < t->scales; at++) tried[at] = (trial){.shrink = 1, .error = INFINITY};
    try_factors(f, t, s, tried, false);
    try_factors(f, t, s, tried, true);
    for (int64_t at = 0; at < t->scales; at++)
        f->points[t->at + at] = shrunk(f->g, &s[at], tried[at].shrink);
}

static void find_tile(void *ctx, int64_t i) {
    finder *f = ctx;
    tile t = tile_of(f->g, f->w, f->strip, i);
    stretch s[WIDE];
    for (int64_t at = 0; at < t.scales; at++) s[at] = (stretch){0};
    if (!walk(f, &t, s, NULL)) {
        atomic_store(&f->odd, true);
        return;
    }
    for (int64_t at = 0; at < t.scales; at++) f->points[t.at + at] = shrunk(f->g, &s[at], 1);
    if (f->search) shrink(f, &t, s);
}

static hone_status name_odd(const hn_tensor *w, hn_error *err) {
    int64_t i = 0;
    while (isfinite(hn_tensor_f64(w, i))) i++;
    return HN_FAIL(err, HONE_E_MODEL, "element %lld of the weight is %s", (long long)i,
                   isnan(hn_tensor_f64(w, i)) ? "not a number" : "infinite");
}

static hone_status create(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis,
                          int group_axis, bool search, const double *importance, hn_pool *pool,
                          hn_allocator *alloc, hn_error *err) {
    HN_TRY(create_empty(g, w, t, axis, group_axis, alloc, err));
    assert(importance == NULL || (group_axis >= 0 && group_axis < w->rank));
    finder f = {.g = g, .w = w, .search = search && t->bits > 1, .importance = importance};
    hone_status status = HONE_OK;
    f.strip = f.search ? NARROW : WIDE;
    f.of = about(w, importance != NULL ? group_axis : -1);
    f.points = hn_alloc_array(alloc, (size_t)g->scale->n, sizeof *f.points, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, f.points != NULL, HONE_E_NOMEM, "out of memory");
    hn_pool_run(pool, count_tiles(g, w, f.strip), find_tile, &f);
    if (f.odd) {
        status = name_odd(w, err);
        goto fail;
    }
    /* Zero points may share a byte. */
    for (int64_t at = 0; at < g->scale->n; at++) set_point(g, at, f.points[at]);
fail:
    hn_free(alloc, f.points);
    if (status != HONE_OK) hn_grid_deinit(g);
    return status;
}

hone_status hn_grid_create(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis,
                           int group_axis, hn_pool *pool, hn_allocator *alloc, hn_error *err) {
    return create(g, w, t, axis, group_axis, false, NULL, pool, alloc, err);
}

hone_status hn_grid_create_mse(hn_grid *g, const hn_tensor *w, const hn_qtype *t, int axis,
                               int group_axis, const double *importance, hn_pool *pool,
                               hn_allocator *alloc, hn_error *err) {
    return create(g, w, t, axis, group_axis, true, importance, pool, alloc, err);
}

/* ---- codes ---- */

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

/* A piece of work of one thread: whole blocks, so that no two write to one byte. */
enum { PIECE = 64 * BLOCK };

static int64_t pieces_of(int64_t n) { return n / PIECE + (n % PIECE != 0); }

typedef struct conversion {
    const hn_grid *g;
    const hn_tensor *from;
    hn_tensor *to;
} conversion;

static void codes_of_piece(void *ctx, int64_t piece) {
    const conversion *c = ctx;
    int64_t end = least_of((piece + 1) * PIECE, c->from->n);
    for (int64_t i = piece * PIECE; i < end; i += BLOCK)
        codes_of_part(c->g, c->from, i, least_of(i + BLOCK, end), c->to);
}

hone_status hn_grid_codes(const hn_grid *g, const hn_tensor *w, hn_pool *pool, hn_allocator *alloc,
                          hn_tensor **codes, hn_error *err) {
    conversion c = {.g = g, .from = w};
    HN_TRY(hn_tensor_create(&c.to, alloc, HN_MEM_WEIGHTS, g->type.dtype, w->rank, w->dims, err));
    if (c.to->bytes > 0) memset(c.to->data, 0, c.to->bytes); /* the bits behind the last one */
    hn_pool_run(pool, pieces_of(w->n), codes_of_piece, &c);
    *codes = c.to;
    return HONE_OK;
}

static void floats_of_piece(void *ctx, int64_t piece) {
    const conversion *c = ctx;
    int64_t end = least_of((piece + 1) * PIECE, c->from->n);
    for (int64_t i = piece * PIECE; i < end;) {
        run r = run_from(c->g, c->from, i, least_of(i + BLOCK, end));
        int64_t code[BLOCK];
        hn_load_s64_n(c->from->dtype, c->from->data, i, r.n, code);
        for (int64_t k = 0; k < r.n; k++)
            ((float *)c->to->data)[i + k] =
                hn_grid_value(point(c->g, r.at + k * r.step), (int32_t)code[k]);
        i += r.n;
    }
}

hone_status hn_grid_floats(const hn_grid *g, const hn_tensor *codes, hn_pool *pool,
                           hn_allocator *alloc, hn_tensor **w, hn_error *err) {
    conversion c = {.g = g, .from = codes};
    HN_TRY(hn_tensor_create(&c.to, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, codes->rank, codes->dims,
                            err));
    hn_pool_run(pool, pieces_of(codes->n), floats_of_piece, &c);
    *w = c.to;
    return HONE_OK;
}

int64_t hn_grid_bits(const hn_grid *g, const hn_tensor *w) {
    int bits = hn_qtype_stored_bits(&g->type);
    return w->n * bits + 32 * g->scale->n + (g->zero != NULL ? g->zero->n * bits : 0);
}

/* ---- grids by name ---- */

struct hn_grids {
    hn_arena arena;
    hn_map map;
    hn_map points; /* of values */
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
    hn_map_init(&g->points, alloc);
    *out = g;
    return HONE_OK;
}

void hn_grids_destroy(hn_grids *g) {
    if (g == NULL) return;
    for (struct named *n = g->all; n != NULL; n = n->next) hn_grid_deinit(&n->grid);
    hn_map_deinit(&g->map);
    hn_map_deinit(&g->points);
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

hone_status hn_grids_set_point(hn_grids *g, const char *value, hn_grid_point p, hn_error *err) {
    size_t length = strlen(value);
    hn_grid_point *at = hn_map_get(&g->points, value, length);
    if (at == NULL) {
        char *name = hn_arena_strdup(&g->arena, value);
        at = hn_arena_alloc(&g->arena, sizeof *at);
        if (name == NULL || at == NULL || !hn_map_put(&g->points, name, length, at))
            return HN_NOMEM(err);
    }
    *at = p;
    return HONE_OK;
}

bool hn_grids_point(const hn_grids *g, const char *value, hn_grid_point *p) {
    const hn_grid_point *at = g != NULL ? hn_map_get(&g->points, value, strlen(value)) : NULL;
    if (at != NULL) *p = *at;
    return at != NULL;
}
