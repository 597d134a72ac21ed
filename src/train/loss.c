#include "train/loss.h"

#include "train/named.h"

static hn_value *mean_of(hn_grad *g, hn_value *v) {
    if (v == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", "ReduceMean", 1, 1, &v);
    hn_emit_i(g, n, "keepdims", 0);
    return hn_emitted(n, 0);
}

/* ---- labels ---- */

/* (1 - s) * loss of the label + s * mean of the losses of all classes. */
static hn_value *cross_entropy(hn_grad *g, hn_value *y, int rank, const int64_t *dims,
                               hn_value *target, const hn_loss_options *o) {
    hn_value *in[] = {y, target};
    (void)rank, (void)dims;
    hn_node *n = hn_emit_node(g, "", "SoftmaxCrossEntropyLoss", 2, 2, in);
    hn_value *loss = hn_emitted(n, 0);
    if (o->smoothing == 0) return loss;
    /* By logarithms of its own: those of the loss are not differentiated through. */
    hn_node *log_prob = hn_emit_node(g, "", "LogSoftmax", 1, 1, &y);
    hn_emit_i(g, log_prob, "axis", 1);
    hn_value *all =
        HN_EMIT2(g, "Mul", mean_of(g, hn_emitted(log_prob, 0)), hn_emit_number(g, -o->smoothing));
    return HN_EMIT2(g, "Add", HN_EMIT2(g, "Mul", loss, hn_emit_number(g, 1 - o->smoothing)), all);
}

/* ---- values ---- */

static hn_value *difference(hn_grad *g, hn_value *y, int rank, const int64_t *dims,
                            hn_value *target) {
    return HN_EMIT2(g, "Sub", y, hn_emit_reshape(g, target, rank, dims));
}

static hn_value *mse(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                     const hn_loss_options *o) {
    (void)o;
    hn_value *d = difference(g, y, rank, dims, target);
    return mean_of(g, HN_EMIT2(g, "Mul", d, d));
}

static hn_value *l1(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                    const hn_loss_options *o) {
    (void)o;
    return mean_of(g, HN_EMIT1(g, "Abs", difference(g, y, rank, dims, target)));
}

/* With a = min(|d|, delta): a * (|d| - a / 2). */
static hn_value *huber(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                       const hn_loss_options *o) {
    hn_value *d = HN_EMIT1(g, "Abs", difference(g, y, rank, dims, target));
    hn_value *a = HN_EMIT2(g, "Min", d, hn_emit_number(g, o->delta));
    hn_value *half = HN_EMIT2(g, "Mul", a, hn_emit_number(g, 0.5));
    return mean_of(g, HN_EMIT2(g, "Mul", a, HN_EMIT2(g, "Sub", d, half)));
}

/* Of scores, before any sigmoid: log(1 + exp(y)) - y * target. */
static hn_value *bce(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                     const hn_loss_options *o) {
    (void)o;
    hn_value *t = hn_emit_reshape(g, target, rank, dims);
    return mean_of(g, HN_EMIT2(g, "Sub", HN_EMIT1(g, "Softplus", y), HN_EMIT2(g, "Mul", y, t)));
}

/* ---- the table ---- */

static const hn_loss cross_entropy_row = {
    "cross-entropy", "the label's negative log probability; the output is scores", true,
    cross_entropy};
static const hn_loss bce_row = {
    "bce", "binary cross entropy of each output, which is a score, with a target of 0 to 1", false,
    bce};
static const hn_loss mse_row = {"mse", "mean of squared errors", false, mse};
static const hn_loss l1_row = {"l1", "mean of absolute errors", false, l1};
static const hn_loss huber_row = {
    "huber", "squared errors up to delta, absolute ones from there on", false, huber};

const hn_loss *const hn_losses[] = {&cross_entropy_row, &bce_row, &mse_row, &l1_row, &huber_row};
const int hn_n_losses = sizeof hn_losses / sizeof *hn_losses;

static const char *name_of(int i) { return hn_losses[i]->name; }

hone_status hn_loss_find(const char *name, const hn_loss **out, hn_error *err) {
    int at;
    HN_TRY(hn_named_find("loss", name, hn_n_losses, name_of, &at, err));
    *out = hn_losses[at];
    return HONE_OK;
}
