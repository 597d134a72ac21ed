/* LabelLossGrad: the gradient of NegativeLogLikelihoodLoss by the log probabilities, or of
 * SoftmaxCrossEntropyLoss by the scores (softmax = 1), of which log_prob are those.
 *
 *     likelihood   dx[b][c] = -w[label] * dy      at the label of b, else 0
 *     softmax      dx[b][c] = w[label] * dy * (exp(log_prob[b][c]) - (c is the label of b))
 *
 * where dy is that of b, or of all, divided by the sum of the weights where the loss is a mean. A
 * label that is ignored has weight 0. */
#include <math.h>

#include "ops/grad.h"
#include "ops/norm_ref.h"
#include "ops/train_shapes.h"

/* Labels have the axes of the log probabilities but for that of the classes. */
static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 1), *labels = hn_in_shape(c, 2);
    bool each = hn_attr_is(c->node, "reduction", "none");
    HN_TRY(hn_want_rank(c, 1, 2, HONE_MAX_RANK, err));
    hn_set_shape(c, 0, x);
    if (hn_in_rank(c, 1) < 0 || hn_in_rank(c, 2) < 0) return HONE_OK;
    HN_CHECK(err, labels->rank == x->rank - 1, HONE_E_SHAPE, "the labels have rank %d, expected %d",
             labels->rank, x->rank - 1);
    for (int i = 0; i < labels->rank; i++)
        HN_TRY(hn_want_equal(labels->dim[i], x->dim[i == 0 ? 0 : i + 1],
                             "sizes of the labels and log probabilities", err));
    if (hn_has_in(c, 3)) HN_TRY(hn_want_channels(c, 3, x->dim[1], err));
    if (each) return hn_want_same(c, 0, 2, "sizes of dY and the labels", err);
    for (int i = 0; i < hn_in_rank(c, 0); i++)
        HN_TRY(hn_want_equal(hn_in_shape(c, 0)->dim[i], hn_dim_const(c->dims, 1),
                             "dY, expected one number, and its size", err));
    return HONE_OK;
}

typedef struct job {
    const hn_tensor *dy, *log_prob, *labels, *weights;
    hn_tensor *dx;
    bool each, softmax, ignores;
    int64_t ignore, classes, inner;
    double divisor;
} job;

static double weight_of(const job *j, int64_t label) {
    if (j->ignores && label == j->ignore) return 0;
    return j->weights != NULL ? hn_tensor_f64(j->weights, label) : 1;
}

static void run(void *ctx, int64_t i) {
    const job *j = ctx;
    int64_t label = hn_tensor_s64(j->labels, i);
    double by = weight_of(j, label) * hn_tensor_f64(j->dy, j->each ? i : 0) / j->divisor;
    for (int64_t c = 0; c < j->classes; c++) {
        int64_t at = (i / j->inner * j->classes + c) * j->inner + i % j->inner;
        double v = c == label ? -1 : 0;
        if (j->softmax) v += exp(hn_tensor_f64(j->log_prob, at));
        hn_store_f64(j->dx->dtype, j->dx->data, at, by == 0 ? 0 : by * v);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_attr *ignore = hn_node_attr(e->node, "ignore_index");
    job j = {.dy = e->in[0],
             .log_prob = e->in[1],
             .labels = e->in[2],
             .weights = hn_eval_in(e, 3),
             .dx = e->out[0],
             .each = hn_attr_is(e->node, "reduction", "none"),
             .softmax = hn_attr_i(e->node, "softmax") != 0,
             .ignores = ignore != NULL,
             .ignore = ignore != NULL ? ignore->u.i : 0,
             .divisor = 1};
    if (j.labels->n == 0) return HONE_OK;
    j.classes = j.log_prob->dims[1];
    j.inner = j.labels->n / j.log_prob->dims[0];
    double sum = 0;
    for (int64_t i = 0; i < j.labels->n; i++) {
        int64_t c = hn_tensor_s64(j.labels, i);
        HN_CHECK(err, (c >= 0 && c < j.classes) || (j.ignores && c == j.ignore), HONE_E_ARG,
                 "label %lld at position %lld is outside [0, %lld)", (long long)c, (long long)i,
                 (long long)j.classes);
        sum += weight_of(&j, c);
    }
    if (hn_attr_is(e->node, "reduction", "mean")) j.divisor = sum;
    hn_pool_run(e->pool, j.labels->n, run, &j);
    return HONE_OK;
}

const hn_op_def hn_op_train_label_loss_grad = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "LabelLossGrad",
    .versions = "1",
    .sig = "(dY:T, log_prob:T, labels:Tind, weights:T?) -> (dX:T); T: float; Tind: s32 s64",
    .attrs = (const hn_attr_def[]){HN_ATTR_OPT("ignore_index", INT),
                                   HN_ATTR_S("reduction", "mean", "none sum mean"),
                                   HN_ATTR_I("softmax", 0),
                                   {0}},
    .infer = infer,
    .ref = ref,
};
