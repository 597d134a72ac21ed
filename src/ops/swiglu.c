#include "ops/broadcast.h"
#include "ops/scalar.h"

typedef struct job {
    double alpha;
    const hn_tensor *a, *b;
    hn_tensor *out;
} job;

static void run(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double a[HN_BLOCK], b[HN_BLOCK];
    hn_load_f64_n(j->a->dtype, j->a->data, from, n, a);
    hn_load_f64_n(j->b->dtype, j->b->data, from, n, b);
    for (int64_t i = 0; i < n; i++) a[i] = a[i] * hn_sigmoid(j->alpha * a[i]) * b[i];
    hn_store_f64_n(j->out->dtype, j->out->data, from, n, a);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    job j = {hn_attr_f(e->node, "alpha"), e->in[0], e->in[1], e->out[0]};
    hn_for_blocks(e->pool, j.out->n, run, &j);
    return HONE_OK;
}

/* The shapes are the same: nothing is broadcast. */
static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *a = hn_in_shape(c, 0), *b = hn_in_shape(c, 1);
    hn_shape s = a->rank >= 0 ? *a : *b;
    if (a->rank >= 0 && b->rank >= 0) {
        HN_CHECK(err, a->rank == b->rank, HONE_E_SHAPE, "A has rank %d and B rank %d, not the same",
                 a->rank, b->rank);
        for (int i = 0; i < a->rank; i++) {
            int64_t size;
            HN_TRY(hn_want_equal(a->dim[i], b->dim[i], "dims of A and B", err));
            if (hn_dim_is_const(b->dim[i], &size)) s.dim[i] = b->dim[i];
        }
    }
    hn_set_shape(c, 0, &s);
    return HONE_OK;
}

const hn_op_def hn_op_swiglu = {.name = "SwiGLU",
                                .versions = "28",
                                .sig = "(A:T, B:T) -> (Y:T); T: float",
                                .attrs = (const hn_attr_def[]){HN_ATTR_F("alpha", 1), {0}},
                                .infer = infer,
                                .ref = ref,
                                .derivative =
                                    "b * Sigmoid($alpha * a) * (1 + $alpha * a * (1 - "
                                    "Sigmoid($alpha * a))); a * Sigmoid($alpha * a)"};
