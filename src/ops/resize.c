/* Resize: every axis is sampled anew, as if the tensor were a continuous function of its indices.
 *
 * The axes are independent. Along one of them, output index o lies at the source position
 * x = position(o), and its value is a sum of taps:
 *
 *     y[o] = sum over j of weight(j - x) * X[clamp(j)]
 *
 *     nearest   one tap, the neighbour nearest_mode says
 *     linear    weight(t) = 1 - |t|, |t| < 1
 *     cubic     Keys' kernel with coefficient a, |t| < 2
 *
 * With antialias, an axis that shrinks by s < 1 has its kernel stretched to weight(s * t) and its
 * taps divided by their sum. With exclude_outside the taps that clamp would move get weight 0, and
 * the others are divided by their sum. Nearest moves elements and so takes every type; the others
 * work in double, axes that shrink first, so that nothing in between is larger than input or
 * output. Integers are rounded to nearest even and saturate.
 *
 * A scale is kept as the fraction num / den: from sizes it is exact.
 */
#include "ops/resize.h"

#include <math.h>

#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/strided.h"

enum { X, ROI, SCALES, SIZES };

/* ---- inference ---- */

typedef struct form {
    int n;                       /* axes that roi, scales and sizes speak of */
    int64_t axes[HONE_MAX_RANK]; /* which */
    bool keep_aspect, not_larger;
} form;

static hone_status read_form(const hn_node *n, int rank, form *f, hn_error *err) {
    const int64_t *axes = hn_attr_ints(n, "axes", &f->n);
    bool all = hn_node_attr(n, "axes") == NULL;
    HN_CHECK(err, f->n <= rank, HONE_E_SHAPE, "attribute 'axes' has %d values, the input rank %d",
             f->n, rank);
    if (all) f->n = rank;
    for (int i = 0; i < f->n; i++) f->axes[i] = all ? i : axes[i];
    f->keep_aspect = !hn_attr_is(n, "keep_aspect_ratio_policy", "stretch");
    f->not_larger = hn_attr_is(n, "keep_aspect_ratio_policy", "not_larger");
    return hn_want_axes(f->axes, f->n, rank, err);
}

/* floor(in * scale). ONNX computes the product in float; a scale of few bits (2, 0.5, 1.25) makes
 * it exact for every size that float can tell from its neighbours, and can be said of a symbol. */
static hone_status scaled(hn_dims *t, hn_dim in, float scale, hn_dim *out, hn_error *err) {
    HN_CHECK(err, scale > 0 && scale < INFINITY, HONE_E_ARG,
             "a scale is %g, expected a number above 0", (double)scale);
    int exponent, shift = 0;
    int64_t p = (int64_t)ldexpf(frexpf(scale, &exponent), 24), size;
    for (exponent -= 24; p % 2 == 0; p /= 2) exponent++;
    for (; exponent > 0 && p < 4096; p *= 2) exponent--;
    for (; exponent < 0 && shift < 12; exponent++) shift++;
    if (exponent == 0 && p < 4096) {
        *out = hn_dim_div(t, hn_dim_mulc(t, in, p), hn_dim_const(t, (int64_t)1 << shift));
    } else if (hn_dim_is_const(in, &size)) {
        float product = floorf((float)size * scale);
        HN_CHECK(err, product < 0x1p62f, HONE_E_SHAPE, "a size of %lld scaled by %g is too large",
                 (long long)size, (double)scale);
        *out = hn_dim_const(t, (int64_t)product);
    } else {
        *out = hn_dim_fresh(t, -1);
    }
    return HONE_OK;
}

/* Rounding keeps order, so the smallest (largest) of the rounded sizes is the rounded size under
 * the smallest (largest) scale: out[i] = min over k of floor(sizes[k] * in[i] / in[k] + 1/2). */
static hone_status keep_aspect(hn_dims *t, const form *f, const hn_shape *x, const hn_dim *sizes,
                               hn_shape *y, hn_error *err) {
    for (int i = 0; i < f->n; i++) {
        hn_dim in = x->dim[f->axes[i]], best = NULL;
        HN_CHECK(err, !hn_dim_is(in, 0), HONE_E_SHAPE,
                 "axis %d of the input is empty: it has no aspect ratio", (int)f->axes[i]);
        for (int k = 0; k < f->n; k++) {
            hn_dim base = x->dim[f->axes[k]];
            hn_dim twice = hn_dim_mulc(t, hn_dim_mul(t, sizes[k], in), 2);
            hn_dim size = k == i
                              ? sizes[k]
                              : hn_dim_div(t, hn_dim_add(t, twice, base), hn_dim_mulc(t, base, 2));
            best = best == NULL    ? size
                   : f->not_larger ? hn_dim_min(t, best, size)
                                   : hn_dim_max(t, best, size);
        }
        y->dim[f->axes[i]] = best;
    }
    return HONE_OK;
}

/* How many entries a list has; 0 when it is absent or empty, which is the same; -1: not known. */
static hone_status list_length(const hn_infer *c, int i, int *n, hn_error *err) {
    *n = 0;
    return hn_has_in(c, i) ? hn_list_length(c, i, 2 * HONE_MAX_RANK, n, err) : HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    static const char *const names[] = {"X", "roi", "scales", "sizes"};
    int n[4];
    for (int i = ROI; i <= SIZES; i++) HN_TRY(list_length(c, i, &n[i], err));
    HN_CHECK(err, n[SCALES] <= 0 || n[SIZES] <= 0, HONE_E_ARG, "scales and sizes are both given");
    HN_CHECK(err, n[SCALES] != 0 || n[SIZES] != 0, HONE_E_ARG,
             "neither scales nor sizes are given");
    bool crop = hn_attr_is(c->node, "coordinate_transformation_mode", "tf_crop_and_resize");
    HN_CHECK(err, !crop || n[ROI] != 0, HONE_E_ARG, "tf_crop_and_resize needs a roi");
    const hn_shape *x = hn_in_shape(c, X);
    if (x->rank < 0) return HONE_OK;

    form f;
    HN_TRY(read_form(c->node, x->rank, &f, err));
    for (int i = crop ? ROI : SCALES; i <= SIZES; i++) {
        int wanted = i == ROI ? 2 * f.n : f.n;
        HN_CHECK(err, n[i] <= 0 || n[i] == wanted, HONE_E_SHAPE, "%s has %d entries, expected %d",
                 names[i], n[i], wanted);
    }
    hn_shape y = *x;
    for (int i = 0; i < f.n; i++) y.dim[f.axes[i]] = hn_dim_fresh(c->dims, -1);
    int count;
    const hn_dim *sizes = hn_in_values(c, SIZES, &count);
    const hn_tensor *scales = hn_has_in(c, SCALES) ? c->in[SCALES].tensor : NULL;
    if (n[SIZES] > 0 && sizes != NULL && count == f.n) {
        if (f.keep_aspect) HN_TRY(keep_aspect(c->dims, &f, x, sizes, &y, err));
        for (int i = 0; !f.keep_aspect && i < f.n; i++) y.dim[f.axes[i]] = sizes[i];
    } else if (n[SCALES] > 0 && scales != NULL && scales->n == f.n) {
        for (int i = 0; i < f.n; i++)
            HN_TRY(scaled(c->dims, x->dim[f.axes[i]], (float)hn_tensor_f64(scales, i),
                          &y.dim[f.axes[i]], err));
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* ---- positions ---- */

static int read_transform(const hn_node *n) {
    static const char *const names[] = {"half_pixel",         "half_pixel_symmetric",
                                        "pytorch_half_pixel", "align_corners",
                                        "asymmetric",         "tf_crop_and_resize"};
    int i = 0;
    while (!hn_attr_is(n, "coordinate_transformation_mode", names[i])) i++;
    return i;
}

static double position(const hn_resize_axis *a, int mode, int64_t o) {
    double in = (double)a->in, out = (double)a->out, x = (double)o;
    double center = (x + 0.5) * a->den / a->num - 0.5;
    /* The size before it was rounded to a whole one; ONNX's tests want it in align_corners. */
    double width = in * a->num / a->den;
    switch (mode) {
        case HN_RESIZE_HALF_PIXEL: return center;
        case HN_RESIZE_HALF_PIXEL_SYMMETRIC: return in / 2 * (1 - out / width) + center;
        case HN_RESIZE_PYTORCH_HALF_PIXEL: return a->out > 1 ? center : 0;
        case HN_RESIZE_ALIGN_CORNERS: return a->out > 1 ? x * (in - 1) / (width - 1) : 0;
        case HN_RESIZE_ASYMMETRIC: return x * a->den / a->num;
        case HN_RESIZE_CROP: break;
    }
    return a->out > 1 ? a->start * (in - 1) + x * (a->end - a->start) * (in - 1) / (out - 1)
                      : 0.5 * (a->start + a->end) * (in - 1);
}

/* ---- taps ---- */

static double nearest(const hn_resize *r, double x) {
    double low = floor(x), up = x - low;
    if (up == 0) return low;
    switch (r->nearest) {
        case HN_RESIZE_PREFER_FLOOR: return up <= 0.5 ? low : low + 1;
        case HN_RESIZE_PREFER_CEIL: return up < 0.5 ? low : low + 1;
        case HN_RESIZE_FLOOR: return low;
        case HN_RESIZE_CEIL: break;
    }
    return low + 1;
}

static double kernel(const hn_resize *r, double t) {
    double a = r->cubic_a;
    t = fabs(t);
    if (r->mode == HN_RESIZE_LINEAR) return t < 1 ? 1 - t : 0;
    if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? a * (((t - 5) * t + 8) * t - 4) : 0;
}

static int64_t clamp(double j, int64_t size) {
    return j < 0 ? 0 : j > (double)(size - 1) ? size - 1 : (int64_t)j;
}

/* Taps of weight 0 are left out: an infinity there is not part of the result. Where no weight is
 * left inside, the edge stands. Returns the number of taps. */
static int64_t weigh(const hn_resize *r, int64_t size, double x, double stretch, int64_t *index,
                     double *weight) {
    double reach = (r->mode == HN_RESIZE_LINEAR ? 1 : 2) / stretch, sum = 0, inside = 0;
    int64_t n = 0;
    for (double j = ceil(x - reach); j <= x + reach; j++) {
        double w = kernel(r, (j - x) * stretch);
        sum += w;
        if (j >= 0 && j < (double)size) inside += w;
    }
    bool exclude = r->exclude_outside && inside != 0;
    double scale = exclude ? inside : r->antialias ? sum : 1;
    for (double j = ceil(x - reach); j <= x + reach; j++) {
        double w = kernel(r, (j - x) * stretch) / scale;
        if (w == 0 || (exclude && (j < 0 || j >= (double)size))) continue;
        index[n] = clamp(j, size);
        weight[n++] = w;
    }
    return n;
}

static hone_status build_taps(hn_arena *arena, const hn_resize *r, hn_resize_axis *a,
                              hn_error *err) {
    double scale = a->num / a->den, stretch = r->antialias && scale < 1 ? scale : 1;
    int64_t most = r->mode == HN_RESIZE_NEAREST ? 1 : 2 * (int64_t)ceil(2 / stretch) + 1, n = 0;
    a->first = hn_arena_array(arena, (size_t)a->out + 1, sizeof *a->first);
    a->index = hn_arena_array(arena, (size_t)a->out, (size_t)most * sizeof *a->index);
    a->weight = hn_arena_array(arena, (size_t)a->out, (size_t)most * sizeof *a->weight);
    if (a->first == NULL || a->index == NULL || a->weight == NULL) return HN_NOMEM(err);
    for (int64_t o = 0; o < a->out; o++) {
        double x = position(a, r->transform, o);
        a->first[o] = n;
        if (r->transform == HN_RESIZE_CROP && !(x >= 0 && x <= (double)(a->in - 1))) continue;
        if (r->mode == HN_RESIZE_NEAREST) {
            a->index[n] = clamp(nearest(r, x), a->in);
            a->weight[n++] = 1;
        } else {
            n += weigh(r, a->in, x, stretch, a->index + n, a->weight + n);
        }
    }
    a->first[a->out] = n;
    return HONE_OK;
}

/* ---- nearest: elements move ---- */

typedef struct move {
    const hn_resize *r;
    const hn_tensor *x;
    hn_tensor *y;
} move;

/* Source index of output index o, -1: outside. */
static int64_t source_of(const hn_resize_axis *a, int64_t o) {
    if (a->same) return o;
    return a->first[o] < a->first[o + 1] ? a->index[a->first[o]] : -1;
}

/* One row of the last axis. */
static void move_row(void *ctx, int64_t row) {
    const move *m = ctx;
    int last = m->r->rank - 1;
    const hn_resize_axis *a = &m->r->axis[last];
    int64_t from = 0, rest = row, pitch = a->in;
    bool outside = false;
    for (int i = last - 1; i >= 0; i--) {
        const hn_resize_axis *b = &m->r->axis[i];
        int64_t k = source_of(b, rest % b->out);
        outside = outside || k < 0;
        from += k * pitch;
        pitch *= b->in;
        rest /= b->out;
    }
    for (int64_t o = 0; o < a->out; o++) {
        int64_t k = outside ? -1 : source_of(a, o), to = row * a->out + o;
        if (k < 0)
            hn_store_f64(m->y->dtype, m->y->data, to, m->r->outside);
        else
            hn_copy_element(m->y->dtype, m->y->data, to, m->x->data, from + k);
    }
}

/* ---- linear and cubic: weighted sums, one axis after the other ---- */

typedef struct blend {
    const hn_resize *r;
    const hn_tensor *x;
    hn_tensor *y;
    int first;               /* the axes before it stay as they are */
    int64_t blocks, workers; /* what they make */
    int64_t in, out, room;   /* elements of a block, and the most it has on the way */
    double *buffer;          /* [workers][2][room] */
} blend;

/* src [outer, in, inner] to dst [outer, out, inner]. */
static void blend_axis(const hn_resize *r, const hn_resize_axis *a, int64_t outer, int64_t inner,
                       const double *src, double *dst) {
    for (int64_t i = 0; i < outer; i++, src += a->in * inner) {
        for (int64_t o = 0; o < a->out; o++, dst += inner) {
            int64_t t = a->first[o], end = a->first[o + 1];
            for (int64_t k = 0; k < inner; k++) dst[k] = t < end ? 0 : r->outside;
            for (; t < end; t++) {
                const double *row = src + a->index[t] * inner;
                for (int64_t k = 0; k < inner; k++) dst[k] += a->weight[t] * row[k];
            }
        }
    }
}

static void store(hn_tensor *y, int64_t from, int64_t n, double *v) {
    if (hn_dtype_is_int(y->dtype)) {
        double lo = (double)hn_dtype_min(y->dtype), hi = (double)hn_dtype_max(y->dtype);
        for (int64_t i = 0; i < n; i++) v[i] = fmin(fmax(rint(v[i]), lo), hi);
    }
    hn_store_f64_n(y->dtype, y->data, from, n, v);
}

static void blend_blocks(void *ctx, int64_t worker) {
    const blend *b = ctx;
    const hn_resize *r = b->r;
    double *v = b->buffer + worker * 2 * b->room, *next = v + b->room;
    for (int64_t k = worker; k < b->blocks; k += b->workers) {
        int64_t dims[HONE_MAX_RANK];
        for (int i = 0; i < r->rank; i++) dims[i] = r->axis[i].in;
        hn_load_f64_n(b->x->dtype, b->x->data, k * b->in, b->in, v);
        for (int grow = 0; grow < 2; grow++) {
            for (int i = b->first; i < r->rank; i++) {
                const hn_resize_axis *a = &r->axis[i];
                if (a->same || (a->out > a->in) != (grow == 1)) continue;
                int64_t outer = 1, inner = 1;
                for (int d = b->first; d < i; d++) outer *= dims[d];
                for (int d = i + 1; d < r->rank; d++) inner *= dims[d];
                blend_axis(r, a, outer, inner, v, next);
                dims[i] = a->out;
                double *swap = v;
                v = next;
                next = swap;
            }
        }
        store(b->y, k * b->out, b->out, v);
    }
}

static hone_status blend_all(hn_eval *e, const hn_resize *r, hn_error *err) {
    blend b = {.r = r, .x = e->in[X], .y = e->out[0], .blocks = 1, .in = 1, .out = 1};
    HN_CHECK(err, hn_dtype_in(b.x->dtype, HN_DTYPES_FLOAT | HN_DTYPES_INT), HONE_E_UNSUPPORTED,
             "mode %s is for real numbers, the input is %s", hn_attr_s(e->node, "mode"),
             hone_dtype_name(b.x->dtype));
    while (r->axis[b.first].same) b.blocks *= r->axis[b.first++].in;
    for (int i = b.first; i < r->rank; i++) {
        b.in *= r->axis[i].in;
        b.out *= r->axis[i].out;
    }
    b.room = b.in > b.out ? b.in : b.out;
    int threads = hn_pool_threads(e->pool);
    b.workers = b.blocks < threads ? b.blocks : threads;
    b.buffer = hn_scratch(e, b.room, 2 * (size_t)b.workers * sizeof *b.buffer);
    if (b.buffer == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, b.workers, blend_blocks, &b);
    return HONE_OK;
}

/* ---- reference ---- */

static bool given(const hn_tensor *t) { return t != NULL && t->n > 0; }

typedef struct lists {
    const hn_tensor *roi, *scales, *sizes;
} lists;

static void read_axes(const int64_t *x, const int64_t *y, const lists *l, const form *f,
                      hn_resize *r) {
    double num = 0, den = 0;
    for (int i = 0; given(l->sizes) && f->keep_aspect && i < f->n; i++) {
        double size = (double)hn_tensor_s64(l->sizes, i), in = (double)x[f->axes[i]];
        if (den != 0 && (f->not_larger ? size / in >= num / den : size / in <= num / den)) continue;
        num = size;
        den = in;
    }
    for (int i = 0; i < r->rank; i++)
        r->axis[i] = (hn_resize_axis){.in = x[i], .out = y[i], .same = true};
    for (int i = 0; i < f->n; i++) {
        hn_resize_axis *a = &r->axis[f->axes[i]];
        bool crop = r->transform == HN_RESIZE_CROP;
        a->num = given(l->scales) ? hn_tensor_f64(l->scales, i)
                 : f->keep_aspect ? num
                                  : (double)a->out;
        a->den = given(l->scales) ? 1 : f->keep_aspect ? den : (double)a->in;
        a->start = crop ? hn_tensor_f64(l->roi, i) : 0;
        a->end = crop ? hn_tensor_f64(l->roi, f->n + i) : 1;
        a->same = a->in == a->out && a->num == a->den && a->start == 0 && a->end == 1;
    }
}

hone_status hn_resize_plan(const hn_node *n, int rank, const int64_t *x, const int64_t *y,
                           const hn_tensor *roi, const hn_tensor *scales, const hn_tensor *sizes,
                           hn_arena *arena, hn_resize *r, hn_error *err) {
    static const char *const rounding[] = {"round_prefer_floor", "round_prefer_ceil", "floor"};
    form f;
    HN_TRY(read_form(n, rank, &f, err));
    *r = (hn_resize){.transform = read_transform(n),
                     .mode = hn_attr_is(n, "mode", "nearest")  ? HN_RESIZE_NEAREST
                             : hn_attr_is(n, "mode", "linear") ? HN_RESIZE_LINEAR
                                                               : HN_RESIZE_CUBIC,
                     .cubic_a = (double)hn_attr_f(n, "cubic_coeff_a"),
                     .outside = (double)hn_attr_f(n, "extrapolation_value"),
                     .antialias = hn_attr_i(n, "antialias") != 0,
                     .exclude_outside = hn_attr_i(n, "exclude_outside") != 0,
                     .rank = rank};
    while (r->nearest < HN_RESIZE_CEIL && !hn_attr_is(n, "nearest_mode", rounding[r->nearest]))
        r->nearest++;
    read_axes(x, y, &(lists){roi, scales, sizes}, &f, r);
    for (int i = 0; i < rank; i++)
        if (!r->axis[i].same) HN_TRY(build_taps(arena, r, &r->axis[i], err));
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[X];
    hn_tensor *y = e->out[0];
    HN_TRY(hn_movable(x, err));
    if (y->n == 0) return HONE_OK;
    HN_CHECK(err, x->n > 0, HONE_E_SHAPE, "the input is empty, the output would not be");
    hn_resize r;
    HN_TRY(hn_resize_plan(e->node, x->rank, x->dims, y->dims, hn_eval_in(e, ROI),
                          hn_eval_in(e, SCALES), hn_eval_in(e, SIZES), e->scratch, &r, err));
    bool same = true;
    for (int i = 0; i < r.rank; i++) same = same && r.axis[i].same;
    if (same) return hn_ref_copy(e, err);
    if (r.mode != HN_RESIZE_NEAREST) return blend_all(e, &r, err);
    move m = {&r, x, y};
    hn_pool_run(e->pool, y->n / r.axis[r.rank - 1].out, move_row, &m);
    return HONE_OK;
}

/* ---- gradients ---- */

/* Each output is one input, and they are a whole number of times as many, in order. */
static int64_t repeats(const hn_resize_axis *a) {
    int64_t n = a->in > 0 && a->out % a->in == 0 ? a->out / a->in : 0;
    for (int64_t o = 0; n > 0 && o < a->out; o++)
        if (a->first[o + 1] - a->first[o] != 1 || a->weight[a->first[o]] != 1 ||
            a->index[a->first[o]] != o / n)
            return 0;
    return n;
}

/* Taps are a matrix [out, in], by whose transpose what comes is multiplied along the axis. */
static hn_value *back_along(hn_grad *g, const hn_resize_axis *a, hn_value *dy, int64_t outer,
                            int64_t inner) {
    int64_t times = repeats(a);
    const int64_t repeated[] = {outer, a->in, times, inner}, flat[] = {outer, a->out};
    const int64_t rows[] = {outer, a->out, inner}, right[] = {a->out, a->in};
    const int64_t left[] = {a->in, a->out};
    hn_tensor *t;
    if (times > 0) return hn_emit_sum(g, hn_emit_reshape(g, dy, 4, repeated), 1u << 2, false);
    hn_value *m = hn_emit_table(g, 2, inner == 1 ? right : left, &t);
    for (int64_t o = 0; m != NULL && o < a->out; o++)
        for (int64_t k = a->first[o]; k < a->first[o + 1]; k++) {
            int64_t at = inner == 1 ? o * a->in + a->index[k] : a->index[k] * a->out + o;
            hn_store_f64(t->dtype, t->data, at, hn_tensor_f64(t, at) + a->weight[k]);
        }
    if (inner == 1) return HN_EMIT2(g, "MatMul", hn_emit_reshape(g, dy, 2, flat), m);
    return HN_EMIT2(g, "MatMul", m, hn_emit_reshape(g, dy, 3, rows));
}

static hn_value *back(hn_grad *g, const hn_resize *r, hn_value *dy) {
    int64_t dims[HONE_MAX_RANK];
    for (int i = 0; i < r->rank; i++) dims[i] = r->axis[i].out;
    for (int i = r->rank - 1; i >= 0; i--) {
        int64_t outer = 1, inner = 1;
        if (r->axis[i].same) continue;
        for (int d = 0; d < i; d++) outer *= dims[d];
        for (int d = i + 1; d < r->rank; d++) inner *= dims[d];
        dims[i] = r->axis[i].in;
        dy = hn_emit_reshape(g, back_along(g, &r->axis[i], dy, outer, inner), r->rank, dims);
    }
    return dy;
}

static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t x[HONE_MAX_RANK], y[HONE_MAX_RANK];
    const hn_tensor *list[4];
    int rank = hn_grad_dims(g, hn_grad_in(g, X), x);
    hn_grad_dims(g, hn_grad_out(g, 0), y);
    HN_TRY(g->status);
    for (int i = ROI; i <= SIZES; i++) {
        list[i] = hn_grad_known(g, i);
        if (list[i] == NULL && hn_grad_in(g, i) != NULL)
            return hn_grad_refuse(g, "its sizes are computed", err);
    }
    for (int i = 0; i < rank; i++)
        if (x[i] == 0 || y[i] == 0) { /* nothing is taken from x */
            hn_grad_give(g, X, hn_emit_filled(g, 0, rank, x));
            return HONE_OK;
        }
    for (int i = 0; i < rank; i++)
        if (x[i] != y[i] && (double)x[i] * (double)y[i] > 0x1p27)
            return hn_grad_refuse(g, "the matrix of an axis would be larger than 2^27", err);
    hn_arena scratch;
    hn_resize r;
    hn_arena_init(&scratch, g->graph->model->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_resize_plan(g->node, rank, x, y, list[ROI], list[SCALES], list[SIZES],
                                        &scratch, &r, err);
    if (status == HONE_OK) hn_grad_give(g, X, back(g, &r, g->dy[0]));
    hn_arena_deinit(&scratch);
    return status;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_I("antialias", 0),
    HN_ATTR_OPT("axes", INTS),
    HN_ATTR_S("coordinate_transformation_mode", "half_pixel",
              "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric "
              "tf_crop_and_resize"),
    HN_ATTR_F("cubic_coeff_a", -0.75f),
    HN_ATTR_I("exclude_outside", 0),
    HN_ATTR_F("extrapolation_value", 0),
    HN_ATTR_S("keep_aspect_ratio_policy", "stretch", "stretch not_larger not_smaller"),
    HN_ATTR_S("mode", "nearest", "nearest linear cubic"),
    HN_ATTR_S("nearest_mode", "round_prefer_floor",
              "round_prefer_floor round_prefer_ceil floor ceil"),
    {0},
};

static const char *refuse(const hn_node *n) {
    bool copies = hn_attr_is(n, "mode", "nearest") &&
                  !hn_attr_is(n, "coordinate_transformation_mode", "tf_crop_and_resize");
    return copies ? NULL : "it interpolates";
}

const hn_op_def hn_op_resize = {
    .name = "Resize",
    .versions = "10 11 13 18 19",
    .sig =
        "(X:T1, roi:T2?, scales:f32?, sizes:s64?) -> (Y:T1);"
        "T1: tensor; T2: ieee",
    .attrs = attrs,
    .settings = 1 << 1 | 1 << 2,
    .role = HN_ROLE_MOVE,
    .mixing = HN_MIXES_SPACE,
    .sizes = {HN_SIZES_SHAPE, 3},
    .refuse = refuse,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
