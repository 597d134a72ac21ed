/* RandomUniform, RandomNormal, their Like forms, Bernoulli and Multinomial. Elements are drawn in
 * order from hone's generator, started anew by a node with a seed; so a seed means the same numbers
 * on every machine, though not those of another runtime.
 *
 * Numbers are made a block at a time, in loops of a fixed length that compilers make vectors of. */
#include "ops/random.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "ops/cosine.h"
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

enum { BLOCK = HN_RANDOM_BLOCK };

void hn_random_uniforms(hn_rng *rng, double *u, int64_t n) {
    uint64_t words[BLOCK];
    hn_rng_u64_n(rng, words, n);
    for (int64_t i = 0; i < n; i++) u[i] = (double)(int64_t)(words[i] >> 11) * 0x1p-53;
}

static hone_status uniform(hn_eval *e, hn_error *err) {
    (void)err;
    hn_rng own, *rng = generator(e, &own);
    double low = (double)hn_attr_f(e->node, "low"), high = (double)hn_attr_f(e->node, "high");
    hn_tensor *y = e->out[0];
    double u[BLOCK];
    for (int64_t at = 0; at < y->n; at += BLOCK) {
        int64_t n = hn_least(BLOCK, y->n - at);
        hn_random_uniforms(rng, u, n);
        for (int i = 0; i < BLOCK; i++) u[i] = low + (high - low) * u[i];
        hn_store_f64_n(y->dtype, y->data, at, n, u);
    }
    return HONE_OK;
}

/* The bits of a number as another type. */
static inline double number_of(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

#define ONE UINT64_C(0x3ff0000000000000)       /* the bits of 1 */
#define ROOT_HALF UINT64_C(0x3fe6a09e667f3bcd) /* of sqrt(1/2) */
#define FRACTION UINT64_C(0x000fffffffffffff)  /* the bits of a number's fraction */

/* ln(v) of a normal positive number, error 1e-15: v = m 2^e, m from sqrt(1/2) to sqrt(2), and ln(m)
 * = 2 atanh(z), z = (m - 1) / (m + 1). */
static inline double ln(double v) {
    uint64_t bits = bits_of(v) + (ONE - ROOT_HALF);
    /* The exponent as the fraction of a number from 2^52 on. */
    double e = number_of(bits >> 52 | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    double m = number_of((bits & FRACTION) + ROOT_HALF);
    double z = (m - 1) / (m + 1), zz = z * z, sum = 1.0 / 19;
    sum = sum * zz + 1.0 / 17;
    sum = sum * zz + 1.0 / 15;
    sum = sum * zz + 1.0 / 13;
    sum = sum * zz + 1.0 / 11;
    sum = sum * zz + 1.0 / 9;
    sum = sum * zz + 1.0 / 7;
    sum = sum * zz + 1.0 / 5;
    sum = sum * zz + 1.0 / 3;
    return e * 0x1.62e42fefa39efp-1 + 2 * z * (sum * zz + 1);
}

/* BLOCK numbers of N(0, 1) by the method of Box and Muller: a pair of words gives a point whose
 * radius is sqrt(-2 ln u), u uniform in (0, 1]. Its direction is one of the right half-plane, and a
 * bit says whether it is turned around. */
void hn_random_normals(hn_rng *rng, double *v) {
    enum { PAIRS = BLOCK / 2 };
    uint64_t words[BLOCK];
    hn_rng_u64_n(rng, words, BLOCK);
    for (int i = 0; i < PAIRS; i++) {
        double u = 2 - number_of(words[i] >> 12 | ONE);
        double t = number_of(words[PAIRS + i] >> 12 | ONE) - 1.5;
        double radius = sqrt(-2 * ln(u));
        v[i] = number_of(bits_of(radius * hn_cos_pi(t)) ^ words[PAIRS + i] << 63);
        v[PAIRS + i] = radius * hn_sin_pi(t);
    }
}

static hone_status normal(hn_eval *e, hn_error *err) {
    (void)err;
    hn_rng own, *rng = generator(e, &own);
    double mean = (double)hn_attr_f(e->node, "mean"), scale = (double)hn_attr_f(e->node, "scale");
    hn_tensor *y = e->out[0];
    double v[BLOCK];
    for (int64_t at = 0; at < y->n; at += BLOCK) {
        hn_random_normals(rng, v);
        for (int i = 0; i < BLOCK; i++) v[i] = mean + scale * v[i];
        hn_store_f64_n(y->dtype, y->data, at, hn_least(BLOCK, y->n - at), v);
    }
    return HONE_OK;
}

static hone_status bernoulli(hn_eval *e, hn_error *err) {
    (void)err;
    hn_rng own, *rng = generator(e, &own);
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    double u[BLOCK], p[BLOCK] = {0};
    for (int64_t at = 0; at < y->n; at += BLOCK) {
        int64_t n = hn_least(BLOCK, y->n - at);
        hn_random_uniforms(rng, u, n);
        hn_load_f64_n(x->dtype, x->data, at, n, p);
        for (int i = 0; i < BLOCK; i++) u[i] = u[i] < p[i] ? 1 : 0;
        hn_store_f64_n(y->dtype, y->data, at, n, u);
    }
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
    .no_grad = "it draws at random",
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
    .derivative = "0" /* of its input it reads the shape alone */,
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
    .derivative = "0",
    .infer = infer_like,
    .ref = uniform,
};
