/* Dropout as training runs it: each element is kept with probability 1 - ratio and scaled by
 * 1 / (1 - ratio), or is 0.
 *
 * Which ones are kept is a function of the seed, the step and the element's number alone, so the
 * result is the same for any number of threads and for a run that was interrupted, and the gradient
 * drops the same ones without a mask that is kept: it is this operator again, of dY. */
#include "ops/broadcast.h"
#include "ops/grad.h"

/* The finalizer of splitmix64: each bit of the result depends on each bit of v. */
static uint64_t mixed(uint64_t v) {
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

typedef struct job {
    const hn_tensor *x;
    hn_tensor *y, *mask; /* mask: NULL, or 1 for what is kept */
    uint64_t key, least; /* an element is kept if its number, mixed with the key, is not less */
    double scale;
} job;

static void run(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double v[HN_BLOCK];
    hn_load_f64_n(j->x->dtype, j->x->data, from, n, v);
    for (int64_t i = 0; i < n; i++) {
        uint64_t drawn = mixed(j->key + 0x9e3779b97f4a7c15u * (uint64_t)(from + i)) >> 11;
        bool kept = drawn >= j->least;
        v[i] = kept ? v[i] * j->scale : 0;
        if (j->mask != NULL) ((uint8_t *)j->mask->data)[from + i] = kept;
    }
    hn_store_f64_n(j->y->dtype, j->y->data, from, n, v);
}

static hone_status infer(hn_infer *c, hn_error *err) {
    float ratio = hn_attr_f(c->node, "ratio");
    HN_CHECK(err, ratio >= 0 && ratio < 1, HONE_E_ARG, "ratio %g is outside [0, 1)", (double)ratio);
    HN_TRY(hn_want_rank(c, 1, 0, 0, err));
    return hn_infer_same(c, err);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    double ratio = (double)hn_attr_f(e->node, "ratio");
    uint64_t seed = (uint64_t)hn_attr_i(e->node, "seed"),
             step = (uint64_t)hn_tensor_s64(e->in[1], 0);
    job j = {.x = e->in[0],
             .y = e->out[0],
             .mask = hn_eval_out(e, 1),
             .key = mixed(seed + mixed(step + 0x9e3779b97f4a7c15u)),
             .least = (uint64_t)(ratio * 0x1p53),
             .scale = 1 / (1 - ratio)};
    hn_for_blocks(e->pool, j.y->n, run, &j);
    return HONE_OK;
}

static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    hn_value *in[] = {g->dy[0], hn_grad_in(g, 1)};
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "Dropout", 1, 2, in);
    hn_emit_copied(g, n, "ratio");
    hn_emit_copied(g, n, "seed");
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

const hn_op_def hn_op_train_dropout = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "Dropout",
    .versions = "1",
    .sig = "(data:T, step:s64) -> (output:T, mask:bool?); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_F("ratio", 0.5f), HN_ATTR_I("seed", 0), {0}},
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
