/* NegativeLogLikelihoodLoss, and SoftmaxCrossEntropyLoss, which takes the LogSoftmax itself.
 *
 * Scores are [N, C, D..], labels [N, D..]: one class per position. With y the log probabilities,
 *
 *     loss = -y[n, label, d..] * weight[label], 0 where the label is ignore_index
 *     sum: the sum of losses        mean: the sum of losses over the sum of their weights
 */
#include <math.h>

#include "ops/grad.h"
#include "ops/norm_ref.h"
#include "ops/softmax_ref.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0), *labels = hn_in_shape(c, 1);
    HN_TRY(hn_want_rank(c, 0, 2, HONE_MAX_RANK, err));
    hn_shape y = *labels;
    if (x->rank >= 0) {
        HN_TRY(hn_want_rank(c, 1, x->rank - 1, x->rank - 1, err));
        if (hn_has_in(c, 2)) HN_TRY(hn_want_channels(c, 2, x->dim[1], err));
        y.rank = x->rank - 1;
        for (int k = 0; k < y.rank; k++) {
            hn_dim d = x->dim[k == 0 ? 0 : k + 1];
            if (labels->rank >= 0)
                HN_TRY(hn_want_equal(d, labels->dim[k], "sizes of scores and labels", err));
            else
                y.dim[k] = d;
        }
    }
    if (!hn_attr_is(c->node, "reduction", "none")) y.rank = 0;
    hn_set_shape(c, 0, &y);
    hn_set_shape(c, 1, x);
    return HONE_OK;
}

/* ---- log probabilities from scores ---- */

typedef struct scores {
    const hn_tensor *x;
    hn_tensor *log_prob; /* or NULL */
    hn_groups groups;    /* along the classes; a group is a position */
    double *shift;       /* x - shift[position] is the log probability */
} scores;

typedef struct pass {
    const scores *s;
    double shift[HN_BLOCK];
} pass;

static void put_log_prob(void *state, int64_t at, int64_t n, int64_t step) {
    pass *p = state;
    double x[HN_BLOCK];
    hn_load_f64_n(p->s->x->dtype, p->s->x->data, at, n, x);
    for (int64_t i = 0; i < n; i++) x[i] -= p->shift[i * step];
    hn_store_f64_n(p->s->log_prob->dtype, p->s->log_prob->data, at, n, x);
}

static void run_scores(void *ctx, int64_t first, int64_t width) {
    const scores *s = ctx;
    double sum[HN_BLOCK];
    pass p;
    p.s = s;
    hn_softmax_sums(&s->groups, s->x, first, width, p.shift, sum);
    for (int64_t i = 0; i < width; i++) s->shift[first + i] = p.shift[i] += log(sum[i]);
    if (s->log_prob != NULL) hn_group_walk(&s->groups, first, width, put_log_prob, &p);
}

/* ---- the loss ---- */

/* shift: see scores; NULL: the input has log probabilities already. */
static hone_status loss(hn_eval *e, const double *shift, hn_error *err) {
    const hn_tensor *x = e->in[0], *labels = e->in[1], *weight = hn_eval_in(e, 2);
    hn_tensor *out = e->out[0];
    const hn_attr *ignore = hn_node_attr(e->node, "ignore_index");
    bool each = hn_attr_is(e->node, "reduction", "none");
    int64_t classes = x->dims[1], inner = 1;
    double sum = 0, weights = 0;
    if (labels->n > 0) inner = labels->n / x->dims[0];
    for (int64_t i = 0; i < labels->n; i++) {
        int64_t c = hn_tensor_s64(labels, i);
        double l = 0, w = 0;
        if (ignore == NULL || c != ignore->u.i) {
            HN_CHECK(err, c >= 0 && c < classes, HONE_E_ARG,
                     "label %lld at position %lld is outside [0, %lld)", (long long)c, (long long)i,
                     (long long)classes);
            w = weight != NULL ? hn_tensor_f64(weight, c) : 1;
            l = hn_tensor_f64(x, (i / inner * classes + c) * inner + i % inner);
            if (shift != NULL) l -= shift[i];
            l *= -w;
        }
        sum += l;
        weights += w;
        if (each) hn_store_f64(out->dtype, out->data, i, l);
    }
    if (each) return HONE_OK;
    if (hn_attr_is(e->node, "reduction", "mean")) sum /= weights;
    hn_store_f64(out->dtype, out->data, 0, sum);
    return HONE_OK;
}

static hone_status ref_nll(hn_eval *e, hn_error *err) { return loss(e, NULL, err); }

static hone_status ref_softmax(hn_eval *e, hn_error *err) {
    scores s = {.x = e->in[0], .log_prob = hn_eval_out(e, 1)};
    s.shift = hn_scratch(e, e->in[1]->n, sizeof *s.shift);
    if (s.shift == NULL) return HN_NOMEM(err);
    hn_groups_init(&s.groups, s.x->rank, s.x->dims, 2u);
    hn_for_groups(e->pool, &s.groups, run_scores, &s);
    return loss(e, s.shift, err);
}

static hone_status grad_of(hn_grad *g, hn_value *log_prob, bool softmax) {
    hn_value *in[] = {g->dy[0], log_prob, hn_grad_in(g, 1), hn_grad_in(g, 2)};
    if (log_prob == NULL) return g->status;
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "LabelLossGrad", 1, 4, in);
    hn_emit_copied(g, n, "ignore_index");
    hn_emit_copied(g, n, "reduction");
    hn_emit_i(g, n, "softmax", softmax);
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

static hone_status grad_nll(hn_grad *g, hn_error *err) {
    (void)err;
    return grad_of(g, hn_grad_in(g, 0), false);
}

static hone_status grad_softmax(hn_grad *g, hn_error *err) {
    hn_value *log_prob = hn_grad_out(g, 1), *x = hn_grad_in(g, 0);
    if (g->dy[0] == NULL || (g->node->n_outputs > 1 && g->dy[1] != NULL))
        return hn_grad_refuse(g, "its log probabilities are used, too", err);
    if (log_prob == NULL) {
        hn_node *n = hn_emit_node(g, "", "LogSoftmax", 1, 1, &x);
        hn_emit_i(g, n, "axis", 1);
        log_prob = hn_emitted(n, 0);
    }
    return grad_of(g, log_prob, true);
}

static const hn_attr_def attrs[] = {
    HN_ATTR_OPT("ignore_index", INT), HN_ATTR_S("reduction", "mean", "none sum mean"), {0}};

const hn_op_def hn_op_negative_log_likelihood_loss = {
    .name = "NegativeLogLikelihoodLoss",
    .versions = "12 13 22",
    .sig = "(input:T, target:Tind, weight:T?) -> (loss:T); T: float; Tind: s32 s64",
    .attrs = attrs,
    .infer = infer,
    .ref = ref_nll,
    .grad = grad_nll};

const hn_op_def hn_op_softmax_cross_entropy_loss = {
    .name = "SoftmaxCrossEntropyLoss",
    .versions = "12 13",
    .sig =
        "(scores:T, labels:Tind, weights:T?) -> (output:T, log_prob:T?); T: float; Tind: s32 "
        "s64",
    .attrs = attrs,
    .infer = infer,
    .ref = ref_softmax,
    .grad = grad_softmax};
