#include "compress/calibration.h"

#include <math.h>
#include <stdio.h>

#include "compress/watch.h"

/* Ranges are looked at first after so many samples, and whenever half as many more have come. */
#define FIRST_CHECK 8
/* What counts as a change, as a share of the range. */
#define CHANGE 0.01

static const struct {
    const char *name, *help;
} methods[] = {
    [HN_RANGE_MINMAX] = {"minmax", "from the least to the greatest value"},
    [HN_RANGE_AVERAGE] = {"average", "least and greatest of each sample, averaged"},
    [HN_RANGE_PERCENTILE] = {"percentile", "all but the few values farthest out"},
    [HN_RANGE_ENTROPY] = {"entropy", "least divergence of the rounded values from the exact ones"},
    [HN_RANGE_MSE] = {"mse", "least squared error of the rounded values"},
    [HN_RANGE_AUTO] = {"auto", "of percentile, minmax and mse whichever leaves the least noise"},
};

const char *hn_range_method_name(hn_range_method m) { return methods[m].name; }
const char *hn_range_method_help(hn_range_method m) { return methods[m].help; }

hn_range_method hn_range_method_named(const char *name) {
    int m = 0;
    while (m < HN_RANGE_METHODS && strcmp(methods[m].name, name) != 0) m++;
    return (hn_range_method)m;
}

static bool wants_histogram(hn_range_method m) {
    return m != HN_RANGE_MINMAX && m != HN_RANGE_AVERAGE;
}

/* ---- what is known ---- */

hone_status hn_calibration_create(hn_calibration **out, int n, hn_allocator *alloc, hn_error *err) {
    hn_calibration *c = hn_alloc_zero(alloc, sizeof *c, HN_MEM_OTHER);
    if (c == NULL) return HN_NOMEM(err);
    c->alloc = alloc;
    hn_arena_init(&c->arena, alloc, HN_MEM_OTHER);
    hn_map_init(&c->by_name, alloc);
    c->v = hn_arena_array(&c->arena, (size_t)n, sizeof *c->v);
    if (c->v == NULL) {
        hn_calibration_destroy(c);
        return HN_NOMEM(err);
    }
    *out = c;
    return HONE_OK;
}

void hn_calibration_destroy(hn_calibration *c) {
    if (c == NULL) return;
    hn_map_deinit(&c->by_name);
    hn_arena_deinit(&c->arena);
    hn_free(c->alloc, c);
}

hone_status hn_calibration_add(hn_calibration *c, const char *name, hn_observer **out,
                               hn_error *err) {
    size_t bytes = strlen(name);
    HN_CHECK(err, hn_map_get(&c->by_name, name, bytes) == NULL, HONE_E_ARG,
             "value '%s' is there twice", name);
    hn_observer *o = &c->v[c->n];
    o->name = hn_arena_strdup(&c->arena, name);
    if (o->name == NULL || !hn_map_put(&c->by_name, o->name, bytes, o)) return HN_NOMEM(err);
    c->n++;
    *out = o;
    return HONE_OK;
}

hn_range_method hn_observer_method(const hn_calibration *c, const hn_observer *o) {
    if (o->stands) return HN_RANGE_METHODS;
    return c->method == HN_RANGE_AUTO ? o->method : c->method;
}

static hn_range find_range(const hn_calibration *c, const hn_observer *o, const hn_qtype *t) {
    switch (hn_observer_method(c, o)) {
        case HN_RANGE_AVERAGE: return o->average;
        case HN_RANGE_PERCENTILE: return hn_histogram_percentile(o->histogram, t, c->percentile);
        case HN_RANGE_ENTROPY: return hn_histogram_entropy(o->histogram, t);
        case HN_RANGE_MSE: return hn_histogram_mse(o->histogram, t);
        default: return (hn_range){o->extremes.least, o->extremes.greatest};
    }
}

hn_range hn_observer_range(const hn_calibration *c, const hn_observer *o, const hn_qtype *t) {
    if (o->stands) return o->range;
    if (o->samples == 0) return (hn_range){0, 0};
    hn_range r = find_range(c, o, t);
    return (hn_range){(double)(float)r.min, (double)(float)r.max};
}

const hn_observer *hn_calibration_of(const hn_calibration *c, const char *name) {
    return hn_map_get(&c->by_name, name, strlen(name));
}

bool hn_calibration_range(const hn_calibration *c, const char *name, const hn_qtype *t,
                          hn_range *r) {
    const hn_observer *o = hn_calibration_of(c, name);
    if (o == NULL) return false;
    *r = hn_observer_range(c, o, t);
    return true;
}

int64_t hn_calibration_samples(const hn_calibration *c) { return c->samples; }
int64_t hn_calibration_stable_after(const hn_calibration *c) { return c->stable_after; }
const char *hn_calibration_verdict(const hn_calibration *c) { return c->verdict; }

/* ---- looking at values ---- */

typedef struct observation {
    hn_calibration *c;
    hn_pool *pool;
    hn_histogram_lanes lanes;
    float *floats; /* of values that are not f32 */
    size_t room;
} observation;

static hone_status as_floats(observation *b, const hn_tensor *t, const float **out, hn_error *err) {
    double part[256];
    const int64_t most = sizeof part / sizeof *part;
    *out = t->data;
    if (t->dtype == HONE_DTYPE_F32) return HONE_OK;
    if (b->room < (size_t)t->n) {
        hn_free(b->c->alloc, b->floats);
        b->room = 0;
        b->floats = hn_alloc_array(b->c->alloc, (size_t)t->n, sizeof *b->floats, HN_MEM_SCRATCH);
        if (b->floats == NULL) return HN_NOMEM(err);
        b->room = (size_t)t->n;
    }
    for (int64_t at = 0; at < t->n; at += most) {
        int64_t n = t->n - at < most ? t->n - at : most;
        hn_load_f64_n(t->dtype, t->data, at, n, part);
        for (int64_t i = 0; i < n; i++) b->floats[at + i] = (float)part[i];
    }
    *out = b->floats;
    return HONE_OK;
}

static hone_status not_finite(const hn_observer *o, const float *x, int64_t sample, hn_error *err) {
    int64_t i = 0;
    while (isfinite(x[i])) i++;
    return HN_FAIL(err, HONE_E_MODEL, "value '%s' is %s at element %lld of sample %lld", o->name,
                   isnan(x[i]) ? "NaN" : "infinite", (long long)i, (long long)sample);
}

/* The extremes of one sample, or of a value that has no axis for samples. */
static void add_extremes(const hn_calibration *c, hn_observer *o, hn_extremes e, bool first) {
    double keep = first ? 0 : c->momentum;
    o->average.min = keep * o->average.min + (1 - keep) * (double)e.least;
    o->average.max = keep * o->average.max + (1 - keep) * (double)e.greatest;
    o->extremes.least = first ? e.least : fminf(o->extremes.least, e.least);
    o->extremes.greatest = first ? e.greatest : fmaxf(o->extremes.greatest, e.greatest);
}

static bool differs(hn_range a, hn_range b) {
    double width = CHANGE * (b.max - b.min);
    return fabs(a.min - b.min) > width || fabs(a.max - b.max) > width;
}

static void check(const hn_calibration *c, hn_observer *o) {
    static const hn_qtype u8 = {.dtype = HONE_DTYPE_U8, .bits = 8};
    hn_range r = hn_observer_range(c, o, &u8);
    o->next_check = o->samples + o->samples / 2;
    if (o->changed > 0 && !differs(o->range, r)) return;
    o->range = r;
    o->changed = o->samples;
}

static hone_status observe(void *ctx, int i, const hn_tensor *value, int64_t n, hn_error *err) {
    observation *b = ctx;
    hn_observer *o = &b->c->v[i];
    const float *x;
    HN_CHECK(err, hn_dtype_is_float(value->dtype) || hn_dtype_is_int(value->dtype), HONE_E_TYPE,
             "value '%s' is of type %s and has no range", o->name, hone_dtype_name(value->dtype));
    if (value->n > 0) {
        HN_TRY(as_floats(b, value, &x, err));
        bool apart = value->rank > 0 && value->dims[0] % n == 0;
        int64_t parts = apart ? n : 1, each = value->n / parts;
        hn_extremes all = {0};
        for (int64_t k = 0; k < parts; k++) {
            hn_extremes e = hn_extremes_of(x + k * each, each, b->pool);
            if (!e.finite) return not_finite(o, x + k * each, o->samples + k, err);
            add_extremes(b->c, o, e, o->samples + k == 0);
            all.least = k == 0 ? e.least : fminf(all.least, e.least);
            all.greatest = k == 0 ? e.greatest : fmaxf(all.greatest, e.greatest);
        }
        if (o->histogram != NULL) hn_histogram_add(o->histogram, x, value->n, all, &b->lanes);
    }
    o->samples += n;
    if (o->samples >= o->next_check) check(b->c, o);
    return HONE_OK;
}

/* Once all samples have been seen. */
static hone_status conclude(hn_calibration *c, const hn_look *look, hn_error *err) {
    char text[400];
    const char *verdict = hn_look_verdict(look, text, sizeof text);
    c->samples = look->samples;
    for (int i = 0; i < c->n; i++) {
        hn_observer *o = &c->v[i];
        check(c, o);
        if (o->changed > c->stable_after) c->stable_after = o->changed;
    }
    if (c->stable_after == c->samples) c->stable_after = 0;
    if (verdict == NULL) return HONE_OK;
    c->verdict = hn_arena_strdup(&c->arena, verdict);
    return c->verdict != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status begin(hn_calibration *c, const char *const *names, int n, hn_error *err) {
    for (int i = 0; i < n; i++) {
        hn_observer *o;
        HN_TRY(hn_calibration_add(c, names[i], &o, err));
        o->next_check = FIRST_CHECK;
        o->method = HN_RANGE_PERCENTILE;
        if (!wants_histogram(c->method)) continue;
        o->histogram = hn_arena_zero(&c->arena, sizeof *o->histogram);
        if (o->histogram == NULL) return HN_NOMEM(err);
    }
    return HONE_OK;
}

static hone_status calibrate(hn_calibration *c, const hn_model *m, const char *const *names, int n,
                             const hn_feed *feed, const hn_run_options *how,
                             const hn_calibrate_options *o, hn_error *err) {
    hn_look look;
    hn_watch_options w = {.samples = o->samples,
                          .most_bytes = o->most_bytes,
                          .look = &look,
                          .progress = o->progress,
                          .progress_ctx = o->progress_ctx};
    observation b = {.c = c, .pool = how->engine.pool};
    HN_TRY(begin(c, names, n, err));
    HN_TRY(hn_histogram_lanes_init(&b.lanes, b.pool, c->alloc, err));
    hn_look_init(&look, c->alloc);
    hone_status status = hn_watch(m, names, n, feed, how, &w, observe, &b, c->alloc, err);
    if (status == HONE_OK) status = conclude(c, &look, err);
    hn_look_deinit(&look);
    hn_free(c->alloc, b.floats);
    hn_histogram_lanes_deinit(&b.lanes);
    return status;
}

hone_status hn_calibrate(hn_calibration **out, const hn_model *m, const char *const *names, int n,
                         const hn_feed *feed, const hn_run_options *how,
                         const hn_calibrate_options *o, hn_allocator *alloc, hn_error *err) {
    hn_calibration *c;
    double percentile = o->percentile == 0 ? HN_PERCENTILE : o->percentile;
    double momentum = o->momentum == 0 ? HN_MOMENTUM : o->momentum;
    HN_CHECK(err, percentile > 0 && percentile <= 100, HONE_E_ARG,
             "a percentile of %g, wanted more than 0 and at most 100", percentile);
    HN_CHECK(err, momentum > 0 && momentum < 1, HONE_E_ARG,
             "a momentum of %g, wanted more than 0 and less than 1", momentum);
    HN_TRY(hn_calibration_create(&c, n, alloc, err));
    c->method = o->method;
    c->percentile = percentile;
    c->momentum = momentum;
    hone_status status = calibrate(c, m, names, n, feed, how, o, err);
    if (status != HONE_OK)
        hn_calibration_destroy(c);
    else
        *out = c;
    return status;
}
