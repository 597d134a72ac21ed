/* Dropout: without training a copy, and the mask is all true. In training each element is kept with
 * probability 1 - ratio, drawn in order from one generator, and scaled by 1 / (1 - ratio). */
#include "ops/broadcast.h"
#include "ops/grad.h"

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *ratio_in = hn_eval_in(e, 1), *training_in = hn_eval_in(e, 2);
    hn_tensor *y = hn_eval_out(e, 0), *mask = hn_eval_out(e, 1);
    for (int i = 1; i < 3; i++) {
        const hn_tensor *t = hn_eval_in(e, i);
        HN_CHECK(err, t == NULL || t->n == 1, HONE_E_SHAPE, "%s has %lld elements, expected 1",
                 i == 1 ? "ratio" : "training_mode", (long long)t->n);
    }
    bool training = training_in != NULL && hn_tensor_s64(training_in, 0) != 0;
    double ratio = ratio_in != NULL ? hn_tensor_f64(ratio_in, 0) : 0.5;
    if (!training) ratio = 0;
    HN_CHECK(err, ratio >= 0 && ratio < 1, HONE_E_ARG, "ratio %g is outside [0, 1)", ratio);
    if (ratio == 0) {
        if (y != NULL && x->bytes > 0) memcpy(y->data, x->data, x->bytes);
        if (mask != NULL && mask->bytes > 0) memset(mask->data, 1, mask->bytes);
        return HONE_OK;
    }
    hn_rng own, *rng = e->rng;
    if (hn_node_attr(e->node, "seed") != NULL) {
        hn_rng_init(&own, (uint64_t)hn_attr_i(e->node, "seed"));
        rng = &own;
    }
    double v[HN_BLOCK];
    for (int64_t from = 0; from < x->n; from += HN_BLOCK) {
        int64_t n = x->n - from < HN_BLOCK ? x->n - from : HN_BLOCK;
        hn_load_f64_n(x->dtype, x->data, from, n, v);
        for (int64_t i = 0; i < n; i++) {
            bool keep = hn_rng_f64(rng) >= ratio;
            v[i] = keep ? v[i] / (1 - ratio) : 0;
            if (mask != NULL) ((uint8_t *)mask->data)[from + i] = keep;
        }
        if (y != NULL) hn_store_f64_n(y->dtype, y->data, from, n, v);
    }
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    for (int i = 1; i < 3; i++) HN_TRY(hn_want_rank(c, i, 0, 1, err));
    return hn_infer_same(c, err);
}

/* A copy hands on what comes. One that drops at random cannot say here what it dropped; a step of
 * training has the form of the domain hone in its place. */
static hone_status grad(hn_grad *g, hn_error *err) {
    const hn_tensor *ratio = hn_grad_known(g, 1), *training = hn_grad_known(g, 2);
    bool off = hn_grad_in(g, 2) == NULL ||
               (training != NULL && training->n == 1 && hn_tensor_s64(training, 0) == 0);
    bool none = ratio != NULL && ratio->n == 1 && hn_tensor_f64(ratio, 0) == 0;
    if (!off && !none) return hn_grad_refuse(g, "it drops at random", err);
    hn_grad_give(g, 0, g->dy[0]);
    return HONE_OK;
}

const hn_op_def hn_op_dropout = {
    .name = "Dropout",
    .versions = "1 6 7 10 12 13 22",
    .sig =
        "(data:T, ratio:T1?, training_mode:bool?) -> (output:T, mask:bool?);"
        "T: float fp8; T1: float fp8",
    .attrs = (const hn_attr_def[]){HN_ATTR_OPT("seed", INT), {0}},
    .traits = HN_RANDOM,
    .mixing = HN_MIXES_NOTHING,
    .infer = infer,
    .ref = ref,
    .grad = grad};
