#include "ops/norm_ref.h"

#include <math.h>

#include "base/size.h"

typedef struct pass {
    const hn_norm *norm;
    double mean[HN_BLOCK], factor[HN_BLOCK];
} pass;

static void take_sum(void *state, int64_t at, int64_t n, int64_t step) {
    pass *p = state;
    double x[HN_BLOCK];
    p->norm->load(p->norm->src, at, n, x);
    for (int64_t i = 0; i < n; i++) p->mean[i * step] += x[i];
}

/* `factor` has the sum of squares first. */
static void take_squares(void *state, int64_t at, int64_t n, int64_t step) {
    pass *p = state;
    double x[HN_BLOCK];
    p->norm->load(p->norm->src, at, n, x);
    for (int64_t i = 0; i < n; i++) {
        double d = x[i] - p->mean[i * step];
        p->factor[i * step] += d * d;
    }
}

static void put_result(void *state, int64_t at, int64_t n, int64_t step) {
    pass *p = state;
    const hn_norm *norm = p->norm;
    double x[HN_BLOCK], with[HN_BLOCK];
    norm->load(norm->src, at, n, x);
    for (int64_t i = 0; i < n; i++) x[i] = (x[i] - p->mean[i * step]) * p->factor[i * step];
    if (norm->scale.tensor != NULL) {
        hn_broadcast_f64(&norm->scale, at, n, with);
        for (int64_t i = 0; i < n; i++) x[i] *= with[i];
    }
    if (norm->bias.tensor != NULL) {
        hn_broadcast_f64(&norm->bias, at, n, with);
        for (int64_t i = 0; i < n; i++) x[i] += with[i];
    }
    hn_store_f64_n(norm->y->dtype, norm->y->data, at, n, x);
}

static void run(void *ctx, int64_t first, int64_t width) {
    const hn_norm *norm = ctx;
    const hn_groups *g = &norm->groups;
    pass p;
    p.norm = norm;
    for (int64_t i = 0; i < width; i++) {
        p.mean[i] = norm->given ? norm->mean[first + i] : 0;
        p.factor[i] = norm->given ? norm->var[first + i] : 0;
    }
    if (!norm->given) {
        double count = (double)g->n;
        if (!norm->no_mean) hn_group_walk(g, first, width, take_sum, &p);
        for (int64_t i = 0; i < width; i++) p.mean[i] /= count;
        hn_group_walk(g, first, width, take_squares, &p);
        for (int64_t i = 0; i < width; i++) {
            p.factor[i] /= count;
            if (norm->mean != NULL) norm->mean[first + i] = p.mean[i];
            if (norm->var != NULL) norm->var[first + i] = p.factor[i];
        }
    }
    for (int64_t i = 0; i < width; i++)
        p.factor[i] = 1 / (sqrt(p.factor[i] + norm->epsilon) + norm->outside);
    const hn_tensor *mean = norm->mean_out, *factor = norm->inv_std_out;
    if (mean != NULL) hn_store_f64_n(mean->dtype, mean->data, first, width, p.mean);
    if (factor != NULL) hn_store_f64_n(factor->dtype, factor->data, first, width, p.factor);
    hn_group_walk(g, first, width, put_result, &p);
}

void hn_norm_ref(hn_pool *pool, hn_norm *n) { hn_for_groups(pool, &n->groups, run, n); }

void hn_load_tensor(const void *src, int64_t from, int64_t n, double *dst) {
    const hn_tensor *t = src;
    hn_load_f64_n(t->dtype, t->data, from, n, dst);
}

uint32_t hn_axes_from(int from, int rank) { return (1u << rank) - (1u << from); }

void hn_broadcast_channels(hn_broadcast *b, const hn_tensor *t, int rank, const int64_t *dims,
                           int axis) {
    int64_t inner;
    if (!hn_dims_count(dims + axis + 1, rank - axis - 1, &inner)) inner = 0; /* no elements */
    /* The first axis takes any index: it only repeats. */
    *b = (hn_broadcast){.tensor = t,
                        .rank = inner == 1 ? 2 : 3,
                        .dims = {INT64_MAX, dims[axis], inner},
                        .step = {0, 1, 0}};
}

hone_status hn_want_channels(const hn_infer *c, int i, hn_dim d, hn_error *err) {
    HN_TRY(hn_want_rank(c, i, 1, 1, err));
    int64_t found, wanted;
    if (hn_in_rank(c, i) < 0 || !hn_dim_is_const(hn_in_shape(c, i)->dim[0], &found) ||
        !hn_dim_is_const(d, &wanted))
        return HONE_OK;
    HN_CHECK(err, found == wanted, HONE_E_SHAPE,
             "input %d has %lld elements, expected one for each of %lld channels", i,
             (long long)found, (long long)wanted);
    return HONE_OK;
}
