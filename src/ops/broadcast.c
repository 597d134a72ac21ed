#include "ops/broadcast.h"

#include "base/least.h"
#include "base/size.h"

void hn_broadcast_init(hn_broadcast *b, const hn_tensor *t, int rank, const int64_t *dims) {
    *b = (hn_broadcast){.tensor = t, .rank = 1, .dims = {1}};
    assert(t->rank <= rank);
    /* Nothing to see; and the other dims may be so large that their products overflow. */
    for (int k = 0; k < rank; k++)
        if (dims[k] == 0) return;
    int64_t steps[HONE_MAX_RANK] = {0}, step = 1;
    for (int k = 1; k <= t->rank; k++) {
        int64_t d = t->dims[t->rank - k];
        assert(d == dims[rank - k] || d == 1);
        if (d > 1) steps[rank - k] = step;
        step *= d;
    }
    for (int k = 0; k < rank; k++) {
        if (dims[k] == 1) continue;
        int last = b->rank - 1;
        if (b->dims[last] == 1) {
            b->dims[last] = dims[k];
            b->step[last] = steps[k];
        } else if (b->step[last] == steps[k] * dims[k]) {
            b->dims[last] *= dims[k];
            b->step[last] = steps[k];
        } else {
            b->dims[b->rank] = dims[k];
            b->step[b->rank++] = steps[k];
        }
    }
}

/* A run of output elements on the last axis: element i of it is element at + i * step. */
typedef struct cursor {
    int64_t coord[HONE_MAX_RANK];
    int64_t at, step, n;
} cursor;

static void cursor_start(cursor *c, const hn_broadcast *b, int64_t from) {
    int last = b->rank - 1;
    c->at = 0;
    for (int k = last; k >= 0; k--) {
        c->coord[k] = from % b->dims[k];
        from /= b->dims[k];
        c->at += c->coord[k] * b->step[k];
    }
    c->step = b->step[last];
    c->n = b->dims[last] - c->coord[last];
}

/* On to the start of the next run. */
static void cursor_next(cursor *c, const hn_broadcast *b) {
    int k = b->rank - 1;
    c->at -= c->coord[k] * b->step[k];
    c->coord[k] = 0;
    c->n = b->dims[k];
    while (--k >= 0) {
        c->at += b->step[k];
        if (++c->coord[k] < b->dims[k]) return;
        c->at -= b->dims[k] * b->step[k];
        c->coord[k] = 0;
    }
}

/* Dense tensors have step 0 or 1 on the last axis once axes of size 1 are gone. */
#define GATHER(load_n, load_1)                                           \
    const hn_tensor *t = b->tensor;                                      \
    cursor c;                                                            \
    if (n <= 0) return;                                                  \
    cursor_start(&c, b, from);                                           \
    for (int64_t done = 0; done < n; cursor_next(&c, b)) {               \
        int64_t run = hn_least(c.n, n - done);                           \
        if (c.step == 0) {                                               \
            dst[done] = load_1(t->dtype, t->data, c.at);                 \
            for (int64_t i = 1; i < run; i++) dst[done + i] = dst[done]; \
        } else {                                                         \
            load_n(t->dtype, t->data, c.at, run, dst + done);            \
        }                                                                \
        done += run;                                                     \
    }

void hn_broadcast_f64(const hn_broadcast *b, int64_t from, int64_t n, double *dst) {
    GATHER(hn_load_f64_n, hn_load_f64)
}

void hn_broadcast_s64(const hn_broadcast *b, int64_t from, int64_t n, int64_t *dst) {
    GATHER(hn_load_s64_n, hn_load_s64)
}

void hn_broadcast_raw(const hn_broadcast *b, int64_t from, int64_t n, void *dst) {
    const hn_tensor *t = b->tensor;
    size_t width = (size_t)hone_dtype_bits(t->dtype) / 8; /* 0: packed */
    cursor c;
    if (n <= 0) return;
    cursor_start(&c, b, from);
    for (int64_t done = 0; done < n; cursor_next(&c, b)) {
        int64_t run = hn_least(c.n, n - done);
        if (c.step == 1 && width > 0) {
            memcpy((char *)dst + (size_t)done * width, (const char *)t->data + (size_t)c.at * width,
                   (size_t)run * width);
        } else {
            for (int64_t i = 0; i < run; i++)
                hn_copy_element(t->dtype, dst, done + i, t->data, c.at + i * c.step);
        }
        done += run;
    }
}

hone_status hn_want_broadcast_to(const hn_infer *c, int i, const hn_shape *to, hn_error *err) {
    if (hn_in_rank(c, i) < 0 || to->rank < 0) return HONE_OK;
    const hn_shape *s = hn_in_shape(c, i);
    bool ok = s->rank <= to->rank;
    for (int k = 1; ok && k <= s->rank; k++) {
        int64_t size, target;
        ok = !hn_dim_is_const(s->dim[s->rank - k], &size) ||
             !hn_dim_is_const(to->dim[to->rank - k], &target) || size == 1 || size == target;
    }
    char a[256], b[256];
    HN_CHECK(err, ok, HONE_E_SHAPE, "input %d of shape %s does not broadcast to %s", i,
             hn_shape_text(s, a, sizeof a), hn_shape_text(to, b, sizeof b));
    return HONE_OK;
}

/* ---- blocks ---- */

typedef struct blocks {
    int64_t n;
    void (*fn)(void *ctx, int64_t from, int64_t n);
    void *ctx;
} blocks;

static void run_block(void *ctx, int64_t i) {
    const blocks *b = ctx;
    int64_t from = i * HN_BLOCK;
    b->fn(b->ctx, from, hn_least(HN_BLOCK, b->n - from));
}

void hn_for_blocks(hn_pool *pool, int64_t n, void (*fn)(void *ctx, int64_t from, int64_t n),
                   void *ctx) {
    blocks b = {n, fn, ctx};
    hn_pool_run(pool, n / HN_BLOCK + (n % HN_BLOCK != 0), run_block, &b);
}

/* ---- known contents ---- */

#define MOST_ARGS 8

bool hn_dim_exact(hn_dim d) {
    const int64_t far = (int64_t)1 << 60;
    int64_t v;
    return !hn_dim_is_const(d, &v) || (v > -far && v < far);
}

hn_dim hn_known_add(hn_infer *c, const hn_dim *pair) {
    if (!hn_dim_exact(pair[0]) || !hn_dim_exact(pair[1])) return NULL;
    return hn_dim_add(c->dims, pair[0], pair[1]);
}

hn_dim hn_known_mul(hn_infer *c, const hn_dim *pair) {
    for (int i = 0; i < 2; i++) {
        int64_t v;
        if (hn_dim_is_const(pair[i], &v) && (v > INT32_MAX || v < -INT32_MAX)) return NULL;
    }
    return hn_dim_mul(c->dims, pair[0], pair[1]);
}

/* Index into a tensor of in_dims of the element that belongs to element i of dims. */
static int64_t source_index(int64_t i, int rank, const int64_t *dims, int in_rank,
                            const int64_t *in_dims) {
    int64_t at = 0, step = 1;
    for (int k = 1; k <= in_rank; k++) {
        int64_t coord = i % dims[rank - k];
        i /= dims[rank - k];
        assert(in_dims[in_rank - k] == 1 || in_dims[in_rank - k] == dims[rank - k]);
        if (in_dims[in_rank - k] != 1) at += coord * step;
        step *= in_dims[in_rank - k];
    }
    return at;
}

bool hn_dim_fits(hone_dtype t, hn_dim d) {
    int64_t v;
    if (!hn_dim_is_const(d, &v)) return true;
    return v >= hn_dtype_min(t) && (v < 0 || (uint64_t)v <= hn_dtype_max(t));
}

static bool has_far(const hn_dim *v, int n) {
    int64_t x;
    for (int i = 0; i < n; i++)
        if (hn_dim_is_const(v[i], &x) && (x >= HN_FAR || x <= -HN_FAR)) return true;
    return false;
}

void hn_follow_values(hn_infer *c, hn_dim (*fn)(hn_infer *c, const hn_dim *args)) {
    int64_t dims[HONE_MAX_RANK], in_dims[MOST_ARGS][HONE_MAX_RANK], count;
    const hn_dim *in[MOST_ARGS];
    if (c->exact || c->n_in > MOST_ARGS || !hn_wants_out(c, 0)) return;
    const hn_shape *shape = &c->out[0].shape;
    if (!hn_shape_is_const(shape, dims) || !hn_dims_count(dims, shape->rank, &count)) return;
    if (count > HN_MAX_KNOWN) return;
    hone_dtype dtype = c->out[0].dtype;
    if (!hn_dtype_is_int(dtype) && dtype != HONE_DTYPE_BOOL) return;
    for (int k = 0; k < c->n_in; k++) {
        int n;
        int64_t want;
        in[k] = hn_in_values(c, k, &n);
        if (!hn_has_in(c, k)) continue;
        /* u64 would have to be read as numbers up to 2^64. */
        if (in[k] == NULL || has_far(in[k], n) || c->in[k].dtype == HONE_DTYPE_U64 ||
            hn_in_rank(c, k) > shape->rank || !hn_shape_is_const(hn_in_shape(c, k), in_dims[k]) ||
            !hn_dims_count(in_dims[k], hn_in_rank(c, k), &want) || want != n)
            return;
    }
    hn_dim *out = hn_set_values(c, 0, (int)count);
    for (int64_t i = 0; out != NULL && i < count; i++) {
        hn_dim args[MOST_ARGS];
        for (int k = 0; k < c->n_in; k++)
            args[k] = in[k] == NULL
                          ? NULL
                          : in[k][source_index(i, shape->rank, dims, hn_in_rank(c, k), in_dims[k])];
        out[i] = fn(c, args);
        if (out[i] != NULL && hn_dim_fits(dtype, out[i])) continue;
        c->out[0].values = NULL;
        c->out[0].n_values = 0;
        return;
    }
}
