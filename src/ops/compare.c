/* Equal, Greater, GreaterOrEqual, Less, LessOrEqual. Two numbers stand in one of three relations,
 * or in none when one is NaN; an operator is the set of relations it accepts. */
#include "ops/broadcast.h"

enum { LESS = 1, SAME = 2, MORE = 4 };

typedef struct job {
    unsigned accepted;
    hn_broadcast a, b;
    hn_tensor *out;
} job;

#define RELATION(a, b) ((a) < (b) ? LESS : (a) > (b) ? MORE : (a) == (b) ? SAME : 0)

static void run_f64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double a[HN_BLOCK], b[HN_BLOCK];
    uint8_t *y = j->out->data;
    hn_broadcast_f64(&j->a, from, n, a);
    hn_broadcast_f64(&j->b, from, n, b);
    for (int64_t i = 0; i < n; i++) y[from + i] = (RELATION(a[i], b[i]) & j->accepted) != 0;
}

static void run_s64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    /* With the top bit turned over, u64 compares as s64. */
    uint64_t turn = j->a.tensor->dtype == HONE_DTYPE_U64 ? UINT64_C(1) << 63 : 0;
    int64_t a[HN_BLOCK], b[HN_BLOCK];
    uint8_t *y = j->out->data;
    hn_broadcast_s64(&j->a, from, n, a);
    hn_broadcast_s64(&j->b, from, n, b);
    for (int64_t i = 0; i < n; i++) {
        int64_t p = (int64_t)((uint64_t)a[i] ^ turn), q = (int64_t)((uint64_t)b[i] ^ turn);
        y[from + i] = (RELATION(p, q) & j->accepted) != 0;
    }
}

static unsigned accepted_by(const hn_node *n) { return *(const unsigned *)n->op->data; }

static hone_status ref(hn_eval *e, hn_error *err) {
    hone_dtype t = e->in[0]->dtype;
    HN_CHECK(err, t != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED, "strings cannot be compared");
    job j = {.accepted = accepted_by(e->node), .out = e->out[0]};
    hn_broadcast_init(&j.a, e->in[0], j.out->rank, j.out->dims);
    hn_broadcast_init(&j.b, e->in[1], j.out->rank, j.out->dims);
    hn_for_blocks(e->pool, j.out->n, hn_dtype_is_float(t) ? run_f64 : run_s64, &j);
    return HONE_OK;
}

/* Sizes are never negative, so `size == -1` has an answer; so has `n + 1 > n`. */
static hn_dim known(hn_infer *c, const hn_dim *x) {
    int64_t lo, hi;
    if (!hn_dim_exact(x[0]) || !hn_dim_exact(x[1])) return NULL;
    hn_dim_range(hn_dim_sub(c->dims, x[0], x[1]), &lo, &hi);
    unsigned possible = (lo < 0 ? LESS : 0) | (hi > 0 ? MORE : 0) | (lo <= 0 && hi >= 0 ? SAME : 0);
    unsigned accepted = accepted_by(c->node);
    if ((possible & accepted) == 0) return hn_dim_const(c->dims, 0);
    return (possible & ~accepted) == 0 ? hn_dim_const(c->dims, 1) : NULL;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_infer_broadcast(c, err));
    hn_follow_values(c, known);
    return HONE_OK;
}

#define COMPARE(lc, NAME, VERSIONS, TYPES, ACCEPTED)                          \
    const hn_op_def hn_op_##lc = {.name = NAME,                               \
                                  .versions = VERSIONS,                       \
                                  .sig = "(A:T, B:T) -> (C:bool); T: " TYPES, \
                                  .mixing = HN_MIXES_NOTHING,                 \
                                  .infer = infer,                             \
                                  .ref = ref,                                 \
                                  .data = &(const unsigned){ACCEPTED}};

COMPARE(equal, "Equal", "1 7 11 13 19", "num bool string", SAME)
COMPARE(greater, "Greater", "1 7 9 13", "num", MORE)
COMPARE(greater_or_equal, "GreaterOrEqual", "12 16", "num", MORE | SAME)
COMPARE(less, "Less", "1 7 9 13", "num", LESS)
COMPARE(less_or_equal, "LessOrEqual", "12 16", "num", LESS | SAME)
