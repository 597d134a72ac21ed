#include "ops/pooling_ref.h"

#include <math.h>

#include "base/size.h"

/* The windows along an axis that is smaller than one of them, as ONNX Runtime counts them: its
 * division rounds towards 0, so that one window may end beyond the padded input, or there is none.
 * Negative: an axis that ONNX Runtime refuses, or that is not smaller. */
static int64_t narrow_windows(const hn_spatial *s, int axis, hn_dim in) {
    int64_t size;
    bool same = s->auto_pad == HN_PAD_SAME_UPPER || s->auto_pad == HN_PAD_SAME_LOWER;
    if (same || !hn_dim_is_const(in, &size)) return -1;
    int64_t beyond = hn_spatial_extent(s, axis) - size - s->pad[axis] - s->pad_end[axis];
    return beyond <= 0 ? -1 : 1 - beyond / s->stride[axis];
}

hone_status hn_pool_infer(hn_infer *c, bool channels_last, hn_error *err) {
    HN_TRY(hn_want_rank(c, 0, 3, HONE_MAX_RANK, err));
    const hn_shape *x = hn_in_shape(c, 0);
    if (x->rank < 0) return HONE_OK;
    hn_spatial s;
    HN_TRY(hn_spatial_read(c->node, x->rank - 2, &s, err));
    int first = channels_last ? 1 : 2;
    hn_shape y = *x;
    for (int i = 0; i < s.rank; i++) {
        int64_t narrow = narrow_windows(&s, i, x->dim[first + i]);
        if (narrow >= 0)
            y.dim[first + i] = hn_dim_const(c->dims, narrow);
        else
            HN_TRY(hn_spatial_out(&s, c->dims, i, x->dim[first + i], &y.dim[first + i], err));
    }
    for (int i = 0; i < c->n_out; i++) hn_set_shape(c, i, &y);
    return HONE_OK;
}

/* The part of a window that lies in the input, along one axis. */
typedef struct span {
    int64_t first;   /* position of its first tap */
    int64_t n;       /* taps inside */
    int64_t counted; /* taps inside the padded input */
} span;

typedef struct job {
    const hn_pooling *p;
    const hn_tensor *x;
    int rank;
    int64_t images, channels, in_size, out_size, n_workers;
    int64_t out[HN_MAX_SPATIAL];
    int64_t pitch[HN_MAX_SPATIAL]; /* elements of the plane from one position to the next */
    int64_t step[HN_MAX_SPATIAL];  /* and from one tap to the next */
    span *spans[HN_MAX_SPATIAL];   /* by output position */
    double *planes;                /* [n_workers][in_size] */
    double *results;               /* [n_workers][out_size] */
    int64_t *at;                   /* the same */
} job;

static double power(double v, int64_t p) {
    return p == 1 ? fabs(v) : p == 2 ? v * v : pow(fabs(v), (double)p);
}

static double root(double v, int64_t p) {
    return p == 1 ? v : p == 2 ? sqrt(v) : pow(v, 1 / (double)p);
}

/* The window at output position o of a plane. */
static double reduce(const job *j, const int64_t *o, const double *plane, int64_t *where) {
    const hn_pooling *p = j->p;
    int last = j->rank - 1;
    int64_t at = 0, counted = 1, inside = 1, left[HN_MAX_SPATIAL], n[HN_MAX_SPATIAL];
    for (int a = 0; a < j->rank; a++) {
        const span *s = &j->spans[a][o[a]];
        at += s->first * j->pitch[a];
        left[a] = n[a] = s->n;
        inside *= s->n;
        counted *= p->count_pads ? s->counted : s->n;
    }
    double acc = p->mode == HN_POOL_MAX ? p->lowest : 0;
    *where = -1;
    while (inside > 0) {
        for (int64_t k = 0, i = at; k < n[last]; k++, i += j->step[last]) {
            double v = plane[i];
            if (p->mode == HN_POOL_AVERAGE || p->mode == HN_POOL_SUM) {
                acc += v;
            } else if (p->mode == HN_POOL_LP) {
                acc += power(v, p->p);
            } else if (*where < 0 || v > acc || (isnan(v) && !isnan(acc))) {
                acc = v;
                *where = i;
            }
        }
        int a = last - 1;
        for (; a >= 0 && --left[a] == 0; a--) {
            at -= (n[a] - 1) * j->step[a];
            left[a] = n[a];
        }
        if (a < 0) break;
        at += j->step[a];
    }
    if (p->mode == HN_POOL_SUM) *where = counted;
    if (p->mode == HN_POOL_AVERAGE) return counted > 0 ? acc / (double)counted : 0;
    return p->mode == HN_POOL_LP ? root(acc, p->p) : acc;
}

static void load_plane(const job *j, int64_t n, int64_t c, double *plane) {
    const hn_tensor *x = j->x;
    if (!j->p->channels_last)
        hn_load_f64_n(x->dtype, x->data, (n * j->channels + c) * j->in_size, j->in_size, plane);
    else
        for (int64_t i = 0; i < j->in_size; i++)
            plane[i] = hn_tensor_f64(x, (n * j->in_size + i) * j->channels + c);
    if (j->p->zero != 0)
        for (int64_t i = 0; i < j->in_size; i++) plane[i] -= j->p->zero;
}

static void run_worker(void *ctx, int64_t w) {
    const job *j = ctx;
    double *plane = j->planes + w * j->in_size, *results = j->results + w * j->out_size;
    int64_t *at = j->at + w * j->out_size;
    for (int64_t task = w; task < j->images * j->channels; task += j->n_workers) {
        int64_t n = task / j->channels, c = task % j->channels, o[HN_MAX_SPATIAL] = {0};
        load_plane(j, n, c, plane);
        for (int64_t i = 0; i < j->out_size; i++) {
            results[i] = reduce(j, o, plane, &at[i]);
            for (int a = j->rank - 1; a >= 0 && ++o[a] == j->out[a]; a--) o[a] = 0;
        }
        j->p->store(j->p->ctx, n, c, j->out_size, results, at);
    }
}

static hone_status find_spans(hn_eval *e, const hn_spatial *s, const int64_t *in, job *j,
                              hn_error *err) {
    for (int a = 0; a < s->rank; a++) {
        j->spans[a] = hn_scratch(e, j->out[a], sizeof *j->spans[a]);
        if (j->spans[a] == NULL) return HN_NOMEM(err);
        for (int64_t o = 0; o < j->out[a]; o++) {
            int64_t lo, hi, start = o * s->stride[a] - s->pad[a];
            hn_spatial_taps(s, a, o, in[a], &lo, &hi);
            int64_t counted = (in[a] + s->pad_end[a] - start - 1) / s->dilation[a] + 1;
            j->spans[a][o] = (span){
                .first = start + lo * s->dilation[a],
                .n = hi - lo,
                .counted = counted < s->kernel[a] ? counted : s->kernel[a],
            };
        }
    }
    return HONE_OK;
}

hone_status hn_pool_ref(hn_eval *e, const hn_tensor *x, const hn_tensor *y, const hn_pooling *p,
                        hn_error *err) {
    if (y->n == 0) return HONE_OK;
    int first = p->channels_last ? 1 : 2;
    hn_spatial s;
    HN_TRY(hn_spatial_read(e->node, x->rank - 2, &s, err));
    hn_spatial_resolve(&s, x->dims + first);
    job j = {.p = p,
             .x = x,
             .rank = s.rank,
             .images = x->dims[0],
             .channels = x->dims[p->channels_last ? x->rank - 1 : 1],
             .out_size = 1};
    hn_dims_count(x->dims + first, s.rank, &j.in_size);
    int64_t pitch = 1;
    for (int a = s.rank - 1; a >= 0; a--) {
        j.out[a] = y->dims[first + a];
        j.out_size *= j.out[a];
        j.pitch[a] = pitch;
        j.step[a] = pitch * s.dilation[a];
        if (j.in_size > 0) pitch *= x->dims[first + a];
    }
    HN_TRY(find_spans(e, &s, x->dims + first, &j, err));
    int64_t tasks = j.images * j.channels, threads = hn_pool_threads(e->pool);
    j.n_workers = tasks < threads ? tasks : threads;
    j.planes = hn_scratch(e, j.n_workers * j.in_size, sizeof *j.planes);
    j.results = hn_scratch(e, j.n_workers * j.out_size, sizeof *j.results);
    j.at = hn_scratch(e, j.n_workers * j.out_size, sizeof *j.at);
    if (j.planes == NULL || j.results == NULL || j.at == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, j.n_workers, run_worker, &j);
    return HONE_OK;
}
