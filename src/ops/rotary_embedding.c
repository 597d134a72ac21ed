/* RotaryEmbedding: turns pairs of elements of each head by an angle that depends on the position.
 *
 *     (x1, x2) -> (cos * x1 - sin * x2, sin * x1 + cos * x2)
 *
 * Pairs are neighbours (interleaved) or the two halves of what is rotated; elements of a head past
 * rotary_embedding_dim stay as they are. X is [samples, heads, positions, size] or [samples,
 * positions, heads * size]; the angles are [samples, positions, pairs], or [.., pairs] looked up by
 * position_ids [samples, positions].
 */
#include "ops/broadcast.h"
#include "ops/grad.h"
#include "ops/strided.h"

enum { X, COS, SIN, POSITIONS };

/* How many elements of a head are rotated, given its size. */
static hone_status rotated(const hn_node *n, int64_t size, int64_t *dim, hn_error *err) {
    *dim = hn_attr_i(n, "rotary_embedding_dim");
    HN_CHECK(err, *dim >= 0 && *dim <= size, HONE_E_ARG,
             "rotary_embedding_dim is %lld, expected 0 to the head size %lld", (long long)*dim,
             (long long)size);
    if (*dim == 0) *dim = size;
    HN_CHECK(err, *dim % 2 == 0, HONE_E_SHAPE, "%lld elements of a head cannot be rotated in pairs",
             (long long)*dim);
    return HONE_OK;
}

static hone_status check_size(const hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, X);
    int64_t size, dim, pairs;
    if (!hn_dim_is_const(x->dim[x->rank - 1], &size)) return HONE_OK;
    if (x->rank == 3) {
        const hn_attr *heads = hn_node_attr(c->node, "num_heads");
        HN_CHECK(err, heads != NULL && heads->u.i > 0, HONE_E_MODEL,
                 "X has rank 3, which needs attribute 'num_heads' of 1 or more");
        HN_CHECK(err, size % heads->u.i == 0, HONE_E_SHAPE,
                 "X has %lld elements per position, which %lld heads cannot share", (long long)size,
                 (long long)heads->u.i);
        size /= heads->u.i;
    }
    HN_TRY(rotated(c->node, size, &dim, err));
    for (int i = COS; i <= SIN; i++) {
        int rank = hn_in_rank(c, i);
        if (rank < 0 || !hn_dim_is_const(hn_in_shape(c, i)->dim[rank - 1], &pairs)) continue;
        HN_CHECK(err, pairs == dim / 2, HONE_E_SHAPE,
                 "input %d has %lld angles per position, expected %lld", i, (long long)pairs,
                 (long long)dim / 2);
    }
    return HONE_OK;
}

/* Axes 0 and 1 of input i are samples and positions. */
static hone_status check_places(const hn_infer *c, int i, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, X), *s = hn_in_shape(c, i);
    if (s->rank < 0) return HONE_OK;
    HN_TRY(hn_want_equal(x->dim[0], s->dim[0], "samples of X and of its positions", err));
    return hn_want_equal(x->dim[x->rank - 2], s->dim[1], "positions of X and of its angles", err);
}

static hone_status infer(hn_infer *c, hn_error *err) {
    bool looked_up = hn_has_in(c, POSITIONS);
    HN_TRY(hn_want_rank(c, X, 3, 4, err));
    for (int i = COS; i <= SIN; i++)
        HN_TRY(hn_want_rank(c, i, looked_up ? 2 : 3, looked_up ? 2 : 3, err));
    HN_TRY(hn_want_rank(c, POSITIONS, 2, 2, err));
    if (looked_up && hn_in_rank(c, COS) == 2 && hn_in_rank(c, SIN) == 2)
        HN_TRY(hn_want_equal(hn_in_shape(c, COS)->dim[0], hn_in_shape(c, SIN)->dim[0],
                             "positions of cos_cache and sin_cache", err));
    if (hn_in_rank(c, X) >= 0) {
        HN_TRY(check_size(c, err));
        for (int i = looked_up ? POSITIONS : COS; i <= (looked_up ? POSITIONS : SIN); i++)
            HN_TRY(check_places(c, i, err));
    }
    hn_set_shape(c, 0, hn_in_shape(c, X));
    return HONE_OK;
}

typedef struct job {
    const hn_tensor *x, *cos, *sin, *ids;
    hn_tensor *y;
    int64_t heads, positions, size, dim;
    bool inside, interleaved; /* inside: heads vary faster than positions */
} job;

/* Elements [from, from + n) of the pairs at `at`: x1 and x2. */
static void load_pairs(const job *j, int64_t at, int64_t from, int64_t n, double *x1, double *x2) {
    if (!j->interleaved) {
        hn_load_f64_n(j->x->dtype, j->x->data, at + from, n, x1);
        hn_load_f64_n(j->x->dtype, j->x->data, at + j->dim / 2 + from, n, x2);
        return;
    }
    double both[2 * HN_BLOCK];
    hn_load_f64_n(j->x->dtype, j->x->data, at + 2 * from, 2 * n, both);
    for (int64_t i = 0; i < n; i++) x1[i] = both[2 * i], x2[i] = both[2 * i + 1];
}

static void store_pairs(const job *j, int64_t at, int64_t from, int64_t n, const double *x1,
                        const double *x2) {
    if (!j->interleaved) {
        hn_store_f64_n(j->y->dtype, j->y->data, at + from, n, x1);
        hn_store_f64_n(j->y->dtype, j->y->data, at + j->dim / 2 + from, n, x2);
        return;
    }
    double both[2 * HN_BLOCK];
    for (int64_t i = 0; i < n; i++) both[2 * i] = x1[i], both[2 * i + 1] = x2[i];
    hn_store_f64_n(j->y->dtype, j->y->data, at + 2 * from, 2 * n, both);
}

/* One head at one position, all of f32. */
static void rotate_f32(const job *j, int64_t at, int64_t angles) {
    const float *x = (const float *)j->x->data + at;
    const float *cos = (const float *)j->cos->data + angles;
    const float *sin = (const float *)j->sin->data + angles;
    float *y = (float *)j->y->data + at;
    int64_t half = j->dim / 2, step = j->interleaved ? 2 : 1, apart = j->interleaved ? 1 : half;
    for (int64_t i = 0; i < half; i++) {
        double a = (double)x[i * step], b = (double)x[i * step + apart];
        double c = (double)cos[i], s = (double)sin[i];
        y[i * step] = (float)(c * a - s * b);
        y[i * step + apart] = (float)(s * a + c * b);
    }
}

/* One head at one position. */
static void run(void *ctx, int64_t row) {
    const job *j = ctx;
    int64_t per_sample = j->heads * j->positions, sample = row / per_sample;
    int64_t position = j->inside ? row % per_sample / j->heads : row % j->positions;
    int64_t place = sample * j->positions + position, at = row * j->size;
    int64_t angles = (j->ids != NULL ? hn_tensor_s64(j->ids, place) : place) * (j->dim / 2);
    bool f32 = j->x->dtype == HONE_DTYPE_F32 && j->cos->dtype == HONE_DTYPE_F32 &&
               j->sin->dtype == HONE_DTYPE_F32;
    if (f32) rotate_f32(j, at, angles);
    for (int64_t from = 0, n; !f32 && from < j->dim / 2; from += n) {
        double x1[HN_BLOCK], x2[HN_BLOCK], cos[HN_BLOCK], sin[HN_BLOCK];
        n = j->dim / 2 - from < HN_BLOCK ? j->dim / 2 - from : HN_BLOCK;
        load_pairs(j, at, from, n, x1, x2);
        hn_load_f64_n(j->cos->dtype, j->cos->data, angles + from, n, cos);
        hn_load_f64_n(j->sin->dtype, j->sin->data, angles + from, n, sin);
        for (int64_t i = 0; i < n; i++) {
            double real = cos[i] * x1[i] - sin[i] * x2[i];
            x2[i] = sin[i] * x1[i] + cos[i] * x2[i];
            x1[i] = real;
        }
        store_pairs(j, at, from, n, x1, x2);
    }
    hn_copy_run(j->x->dtype, j->y->data, at + j->dim, j->x->data, at + j->dim, j->size - j->dim);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[X];
    job j = {.x = x,
             .cos = e->in[COS],
             .sin = e->in[SIN],
             .ids = hn_eval_in(e, POSITIONS),
             .y = e->out[0],
             .inside = x->rank == 3,
             .interleaved = hn_attr_i(e->node, "interleaved") != 0};
    if (x->n == 0) return HONE_OK;
    j.heads = j.inside ? hn_node_attr(e->node, "num_heads")->u.i : x->dims[1];
    j.positions = x->dims[x->rank - 2];
    j.size = j.inside ? x->dims[2] / j.heads : x->dims[3];
    HN_TRY(rotated(e->node, j.size, &j.dim, err));
    for (int64_t i = 0; j.ids != NULL && i < j.ids->n; i++) {
        int64_t id = hn_tensor_s64(j.ids, i);
        HN_CHECK(err, id >= 0 && id < j.cos->dims[0], HONE_E_ARG,
                 "position id %lld is outside the cache of %lld", (long long)id,
                 (long long)j.cos->dims[0]);
    }
    hn_pool_run(e->pool, x->n / j.size, run, &j);
    return HONE_OK;
}

/* The angles, [samples, 1, positions, pairs], or where heads are inside, [samples, positions, 1,
 * pairs]. */
static hn_value *angles(hn_grad *g, int input, bool inside, int64_t samples, int64_t positions,
                        int64_t pairs) {
    const int64_t dims[] = {samples, inside ? positions : 1, inside ? 1 : positions, pairs};
    hn_value *v = hn_grad_in(g, input), *ids = hn_grad_in(g, POSITIONS);
    if (ids != NULL) v = HN_EMIT2(g, "Gather", v, ids);
    return hn_emit_reshape(g, v, 4, dims);
}

static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    int64_t x[HONE_MAX_RANK], dim;
    int rank = hn_grad_dims(g, hn_grad_in(g, X), x);
    HN_TRY(g->status);
    bool inside = rank == 3, interleaved = hn_attr_i(g->node, "interleaved") != 0;
    int64_t heads = inside ? hn_node_attr(g->node, "num_heads")->u.i : x[1];
    int64_t positions = x[rank - 2], size = inside ? x[2] / heads : x[3];
    HN_TRY(rotated(g->node, size, &dim, err));
    int64_t axis1 = inside ? positions : heads, axis2 = inside ? heads : positions;
    const int64_t whole[] = {x[0], axis1, axis2, size}, half[] = {x[0], axis1, axis2, dim / 2};
    const int64_t paired[] = {x[0], axis1, axis2, dim / 2, 2},
                  one[] = {x[0], axis1, axis2, dim / 2, 1};
    const int64_t turned[] = {x[0], axis1, axis2, dim};
    hn_value *all = hn_emit_reshape(g, hn_grad_in(g, X), 4, whole), *part[2], *out[3];
    hn_value *front = dim < size ? hn_emit_slice(g, all, 3, 0, dim) : all;
    if (interleaved) front = hn_emit_reshape(g, front, 5, paired);
    for (int i = 0; i < 2; i++) {
        part[i] = interleaved ? hn_emit_slice(g, front, 4, i, i + 1)
                              : hn_emit_slice(g, front, 3, i * dim / 2, (i + 1) * dim / 2);
        if (interleaved) part[i] = hn_emit_reshape(g, part[i], 4, half);
    }
    hn_value *c = angles(g, COS, inside, x[0], positions, dim / 2);
    hn_value *s = angles(g, SIN, inside, x[0], positions, dim / 2);
    out[0] = HN_TEXT(g, "c * a - d * b", part[0], part[1], c, s);
    out[1] = HN_TEXT(g, "d * a + c * b", part[0], part[1], c, s);
    if (interleaved) {
        for (int i = 0; i < 2; i++) out[i] = hn_emit_reshape(g, out[i], 5, one);
        out[0] = hn_emit_reshape(g, hn_emit_concat(g, 4, 2, out), 4, turned);
        out[1] = dim < size ? hn_emit_slice(g, all, 3, dim, size) : NULL;
    } else {
        out[2] = dim < size ? hn_emit_slice(g, all, 3, dim, size) : NULL;
    }
    int n = (interleaved ? 1 : 2) + (dim < size);
    y[0] = hn_emit_reshape(g, hn_emit_concat(g, 3, n, out), rank, x);
    return HONE_OK;
}

const hn_op_def hn_op_rotary_embedding = {
    .name = "RotaryEmbedding",
    .versions = "23",
    .sig = "(X:T, cos_cache:T, sin_cache:T, position_ids:s64?) -> (Y:T); T: f32 f16 bf16",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("interleaved", 0),
                                   HN_ATTR_OPT("num_heads", INT),
                                   HN_ATTR_I("rotary_embedding_dim", 0),
                                   {0}},
    .infer = infer,
    .ref = ref,
    .settings = 1 << COS | 1 << SIN,
    .spell = spell};
