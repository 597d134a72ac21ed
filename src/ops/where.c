/* Where: output = condition ? X : Y, all three broadcast. Elements are moved, not computed with. */
#include "ops/broadcast.h"

typedef struct job {
    hn_broadcast condition, x, y;
    hn_tensor *out;
} job;

static void run(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    hone_dtype t = j->out->dtype;
    uint8_t condition[HN_BLOCK];
    _Alignas(16) unsigned char x[HN_BLOCK * 16], y[HN_BLOCK * 16]; /* complex128 is the widest */
    hn_broadcast_raw(&j->condition, from, n, condition);
    hn_broadcast_raw(&j->x, from, n, x);
    hn_broadcast_raw(&j->y, from, n, y);
    for (int64_t i = 0; i < n; i++)
        hn_copy_element(t, j->out->data, from + i, condition[i] ? x : y, i);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j = {.out = e->out[0]};
    HN_CHECK(err, j.out->dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED,
             "strings are not supported");
    hn_broadcast_init(&j.condition, e->in[0], j.out->rank, j.out->dims);
    hn_broadcast_init(&j.x, e->in[1], j.out->rank, j.out->dims);
    hn_broadcast_init(&j.y, e->in[2], j.out->rank, j.out->dims);
    hn_for_blocks(e->pool, j.out->n, run, &j);
    return HONE_OK;
}

static hn_dim known(hn_infer *c, const hn_dim *x) {
    (void)c;
    int64_t v;
    if (x[1] == x[2]) return x[1];
    return hn_dim_is_const(x[0], &v) ? x[v != 0 ? 1 : 2] : NULL;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_infer_broadcast(c, err));
    hn_follow_values(c, known);
    return HONE_OK;
}

const hn_op_def hn_op_where = {.name = "Where",
                               .versions = "9 16",
                               .sig = "(condition:bool, X:T, Y:T) -> (output:T); T: tensor",
                               .infer = infer,
                               .ref = ref,
                               .derivative = "; a; 1 - a"};
