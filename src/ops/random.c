/* RandomUniform, RandomNormal, their Like forms, Bernoulli and Multinomial. Elements are drawn in
 * order from hone's generator, started anew by a node with a seed; so a seed means the same numbers
 * on every machine, though not those of another runtime. */
#include <math.h>
#include <string.h>

#include "ops/op.h"

/* ---- shapes ---- */

/* The type an attribute names or, without it, that of the input. */
static hone_status type_like(hn_infer *c, hn_error *err) {
    if (hn_node_attr(c->node, "dtype") != NULL) return hn_set_dtype_named(c, 0, "dtype", err);
    hone_dtype t = c->in[0].dtype;
    HN_CHECK(err, t == HONE_DTYPE_NONE || hn_dtype_in(t, hn_op_sig(c->node->op)->out[0].types),
             HONE_E_TYPE, "the input is %s, which the operator does not give: a dtype is needed",
             hone_dtype_name(t));
    hn_set_dtype(c, 0, t);
    return HONE_OK;
}

static hone_status infer_like(hn_infer *c, hn_error *err) {
    HN_TRY(type_like(c, err));
    hn_set_shape(c, 0, hn_in_shape(c, 0));
    return HONE_OK;
}

static hone_status infer_shape(hn_infer *c, hn_error *err) {
    int rank;
    const int64_t *dims = hn_attr_ints(c->node, "shape", &rank);
    HN_CHECK(err, rank <= HONE_MAX_RANK, HONE_E_SHAPE,
             "the shape has rank %d, at most %d is supported", rank, HONE_MAX_RANK);
    HN_TRY(hn_set_dtype_named(c, 0, "dtype", err));
    hn_shape y = hn_shape_of(c->dims, rank, dims);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* ---- numbers ---- */

/* The node's own generator, if it has a seed, else the run's. */
static hn_rng *generator(const hn_eval *e, hn_rng *own) {
    const hn_attr *seed = hn_node_attr(e->node, "seed");
    if (seed == NULL) return e->rng;
    uint32_t bits;
    memcpy(&bits, &seed->u.f, sizeof bits);
    hn_rng_init(own, bits);
    return own;
}

static hone_status uniform(hn_eval *e, hn_error *err) {
    (void)err;
    hn_rng own, *rng = generator(e, &own);
    double low = (double)hn_attr_f(e->node, "low"), high = (double)hn_attr_f(e->node, "high");
    hn_tensor *y = e->out[0];
    for (int64_t i = 0; i < y->n; i++)
        hn_store_f64(y->dtype, y->data, i, low + (high - low) * hn_rng_f64(rng));
    return HONE_OK;
}

static hone_status normal(hn_eval *e, hn_error *err) {
    (void)err;
    hn_rng own, *rng = generator(e, &own);
    double mean = (double)hn_attr_f(e->node, "mean"), scale = (double)hn_attr_f(e->node, "scale");
    hn_tensor *y = e->out[0];
    for (int64_t i = 0; i < y->n; i++)
        hn_store_f64(y->dtype, y->data, i, mean + scale * hn_rng_normal(rng));
    return HONE_OK;
}

static hone_status bernoulli(hn_eval *e, hn_error *err) {
    (void)err;
    hn_rng own, *rng = generator(e, &own);
    hn_tensor *y = e->out[0];
    for (int64_t i = 0; i < y->n; i++)
        hn_store_f64(y->dtype, y->data, i, hn_rng_f64(rng) < hn_tensor_f64(e->in[0], i));
    return HONE_OK;
}

/* ---- Multinomial ---- */

static hone_status infer_multinomial(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t samples = hn_attr_i(c->node, "sample_size");
    HN_TRY(hn_want_rank(c, 0, 2, 2, err));
    HN_TRY(hn_set_dtype_named(c, 0, "dtype", err));
    HN_CHECK(err, samples >= 0, HONE_E_ARG, "sample_size is %lld, expected 0 or more",
             (long long)samples);
    hn_shape y = {.rank = 2,
                  .dim = {x->rank == 2 ? x->dim[0] : hn_dim_fresh(c->dims, -1),
                          hn_dim_const(c->dims, samples)}};
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* Turns log-probabilities into running sums of probabilities, not normalized. */
static hone_status accumulate(double *p, int64_t n, int64_t row, hn_error *err) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) most = isnan(p[i]) || p[i] > most ? p[i] : most;
    HN_CHECK(err, isfinite(most), HONE_E_ARG,
             "row %lld has the largest log-probability %g, expected a number", (long long)row,
             most);
    for (int64_t i = 0; i < n; i++) p[i] = sum += exp(p[i] - most);
    return HONE_OK;
}

static hone_status multinomial(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    hn_rng own, *rng = generator(e, &own);
    int64_t classes = x->dims[1], samples = y->dims[1];
    if (y->n == 0) return HONE_OK;
    double *sums = hn_scratch(e, classes, sizeof *sums);
    if (sums == NULL) return HN_NOMEM(err);
    for (int64_t row = 0; row < x->dims[0]; row++) {
        hn_load_f64_n(x->dtype, x->data, row * classes, classes, sums);
        HN_TRY(accumulate(sums, classes, row, err));
        for (int64_t i = 0; i < samples; i++) {
            double at = hn_rng_f64(rng) * sums[classes - 1];
            int64_t lo = 0, hi = classes - 1; /* the first sum above it is in [lo, hi] */
            while (lo < hi) {
                int64_t mid = lo + (hi - lo) / 2;
                if (sums[mid] > at)
                    hi = mid;
                else
                    lo = mid + 1;
            }
            hn_store_s64(y->dtype, y->data, row * samples + i, lo);
        }
    }
    return HONE_OK;
}

/* ---- descriptors ---- */

#define UNIFORM_ATTRS HN_ATTR_F("high", 1), HN_ATTR_F("low", 0), HN_ATTR_OPT("seed", FLOAT)
#define NORMAL_ATTRS HN_ATTR_F("mean", 0), HN_ATTR_F("scale", 1), HN_ATTR_OPT("seed", FLOAT)
#define SHAPE_ATTRS HN_ATTR_I("dtype", HONE_DTYPE_F32), HN_ATTR_REQ("shape", INTS)

static const hn_attr_def uniform_attrs[] = {UNIFORM_ATTRS, SHAPE_ATTRS, {0}};
static const hn_attr_def uniform_like_attrs[] = {UNIFORM_ATTRS, HN_ATTR_OPT("dtype", INT), {0}};
static const hn_attr_def normal_attrs[] = {NORMAL_ATTRS, SHAPE_ATTRS, {0}};
static const hn_attr_def normal_like_attrs[] = {NORMAL_ATTRS, HN_ATTR_OPT("dtype", INT), {0}};
static const hn_attr_def bernoulli_attrs[] = {
    HN_ATTR_OPT("dtype", INT), HN_ATTR_OPT("seed", FLOAT), {0}};
static const hn_attr_def multinomial_attrs[] = {HN_ATTR_I("dtype", HONE_DTYPE_S32),
                                                HN_ATTR_I("sample_size", 1),
                                                HN_ATTR_OPT("seed", FLOAT),
                                                {0}};

const hn_op_def hn_op_bernoulli = {
    .name = "Bernoulli",
    .versions = "15 22",
    .sig = "(input:T1) -> (output:T2); T1: float; T2: num bool",
    .attrs = bernoulli_attrs,
    .traits = HN_RANDOM,
    .infer = infer_like,
    .ref = bernoulli,
};

const hn_op_def hn_op_multinomial = {
    .name = "Multinomial",
    .versions = "7 22",
    .sig = "(input:T1) -> (output:T2); T1: float; T2: s32 s64",
    .attrs = multinomial_attrs,
    .traits = HN_RANDOM,
    .infer = infer_multinomial,
    .ref = multinomial,
};

const hn_op_def hn_op_random_normal = {
    .name = "RandomNormal",
    .versions = "1 22",
    .sig = "() -> (output:T); T: float",
    .attrs = normal_attrs,
    .traits = HN_RANDOM,
    .infer = infer_shape,
    .ref = normal,
};

const hn_op_def hn_op_random_normal_like = {
    .name = "RandomNormalLike",
    .versions = "1 22",
    .sig = "(input:T1) -> (output:T2); T1: tensor; T2: float",
    .attrs = normal_like_attrs,
    .traits = HN_RANDOM,
    .infer = infer_like,
    .ref = normal,
};

const hn_op_def hn_op_random_uniform = {
    .name = "RandomUniform",
    .versions = "1 22",
    .sig = "() -> (output:T); T: float",
    .attrs = uniform_attrs,
    .traits = HN_RANDOM,
    .infer = infer_shape,
    .ref = uniform,
};

const hn_op_def hn_op_random_uniform_like = {
    .name = "RandomUniformLike",
    .versions = "1 22",
    .sig = "(input:T1) -> (output:T2); T1: tensor; T2: float",
    .attrs = uniform_like_attrs,
    .traits = HN_RANDOM,
    .infer = infer_like,
    .ref = uniform,
};
