#include "train/loss.h"

#include "ops/nodes.h"
#include "train/named.h"

hn_value *hn_loss_mean(hn_grad *g, hn_value *v) {
    if (v == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", "ReduceMean", 1, 1, &v);
    hn_emit_i(g, n, "keepdims", 0);
    return hn_emitted(n, 0);
}

hn_value *hn_loss_cosine(hn_grad *g, hn_value *a, hn_value *b, int axis) {
    uint32_t along = 1u << axis;
    hn_value *aa = hn_emit_sum(g, HN_EMIT2(g, "Mul", a, a), along, false);
    hn_value *bb = hn_emit_sum(g, HN_EMIT2(g, "Mul", b, b), along, false);
    hn_value *ab = hn_emit_sum(g, HN_EMIT2(g, "Mul", a, b), along, false);
    hn_value *least = hn_emit_number(g, 1e-16);
    hn_value *by = HN_EMIT1(g, "Sqrt", HN_EMIT2(g, "Max", HN_EMIT2(g, "Mul", aa, bb), least));
    return HN_EMIT2(g, "Sub", hn_emit_number(g, 1), hn_loss_mean(g, HN_EMIT2(g, "Div", ab, by)));
}

hn_value *hn_loss_scores(hn_value *y, const hn_loss *loss) {
    const hn_node *n = y->producer;
    if (n != NULL && hn_is(n, "Cast") && hn_node_input(n, 0)->type.dtype == HONE_DTYPE_F32 &&
        hn_dtype_is_float(y->type.dtype))
        y = hn_node_input(n, 0), n = y->producer;
    bool ends = n != NULL && loss->labels && (hn_is(n, "Softmax") || hn_is(n, "LogSoftmax"));
    int64_t axis = ends ? hn_attr_i(n, "axis") : 0;
    if (axis < 0) axis += y->type.shape.rank;
    if (ends && (axis == 1 || axis == y->type.shape.rank - 1)) return hn_node_input(n, 0);
    return y;
}

hn_value *hn_loss_flat(hn_grad *g, hn_value *y, const hn_loss *loss) {
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, y, dims);
    bool one_pixel = loss->classes && rank > 2;
    for (int i = 2; i < rank; i++) one_pixel = one_pixel && dims[i] == 1;
    return one_pixel ? hn_emit_reshape(g, y, 2, dims) : y;
}

/* ---- labels ---- */

static hn_value *scaled(hn_grad *g, hn_value *v, double by) {
    return by == 1 ? v : HN_EMIT2(g, "Mul", v, hn_emit_number(g, by));
}

static hn_value *along_classes(hn_grad *g, const char *op, hn_value *y) {
    hn_node *n = hn_emit_node(g, "", op, 1, 1, &y);
    hn_emit_i(g, n, "axis", 1);
    return hn_emitted(n, 0);
}

/* Weights of classes, as a value of these sizes. */
static hn_value *weights_of(hn_grad *g, const hn_loss_options *o, int rank, const int64_t *dims) {
    hn_tensor *t;
    hn_value *v = NULL;
    if (g->status == HONE_OK)
        g->status = hn_tensor_from_f32(&t, g->graph->model->alloc, rank, dims, o->weights, g->err);
    if (g->status == HONE_OK)
        g->status = hn_value_create_constant(&v, g->graph, NULL, "class_weights", t, g->err);
    return g->status == HONE_OK ? v : NULL;
}

/* Means are over labels, each counted by the weight of its class:
 * (1 - s) * loss of the label + s * mean over classes of their losses, each times its weight. */
static hn_value *cross_entropy(hn_grad *g, hn_value *y, int rank, const int64_t *dims,
                               hn_value *target, const hn_loss_options *o) {
    bool weighted = o->n_weights > 0;
    hn_value *in[] = {y, target, weighted ? weights_of(g, o, 1, &o->n_weights) : NULL};
    hn_node *n = hn_emit_node(g, "", "SoftmaxCrossEntropyLoss", 2, weighted ? 3 : 2, in);
    hn_value *loss = hn_emitted(n, 0);
    if (o->smoothing == 0) return loss;
    /* By logarithms of its own: those of the loss are not differentiated through. */
    hn_value *log_prob = along_classes(g, "LogSoftmax", y), *all;
    if (weighted) {
        int64_t classes[HONE_MAX_RANK] = {1, dims[1], 1, 1, 1, 1, 1, 1};
        hn_value *each = HN_EMIT2(g, "Mul", log_prob, weights_of(g, o, rank, classes));
        hn_value *counted = hn_loss_mean(g, HN_EMIT2(g, "Gather", in[2], target));
        all = HN_EMIT2(g, "Div", hn_loss_mean(g, each), counted);
    } else {
        all = hn_loss_mean(g, log_prob);
    }
    return HN_EMIT2(g, "Add", scaled(g, loss, 1 - o->smoothing), scaled(g, all, -o->smoothing));
}

static hn_value *probabilities(hn_grad *g, hn_value *y, double temperature) {
    return along_classes(g, "Softmax", scaled(g, y, 1 / temperature));
}

/* T * T * the mean of sum of p * (log p - log softmax(y / T)): its gradient is then about as large
 * as that by labels, whatever T is. */
static hn_value *divergence(hn_grad *g, hn_value *y, hn_value *p, double temperature,
                            hn_value *counted) {
    hn_value *found = along_classes(g, "LogSoftmax", scaled(g, y, 1 / temperature));
    hn_value *wanted = HN_EMIT1(g, "Log", HN_EMIT2(g, "Max", p, hn_emit_number(g, 1e-37)));
    hn_value *each = HN_EMIT2(g, "Mul", p, HN_EMIT2(g, "Sub", wanted, found));
    hn_value *row = hn_emit_sum(g, each, 1u << 1, false);
    if (counted != NULL) row = HN_EMIT3(g, "Where", counted, row, hn_emit_number(g, 0));
    return scaled(g, hn_loss_mean(g, row), temperature * temperature);
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
    return hn_loss_mean(g, HN_EMIT2(g, "Mul", d, d));
}

static hn_value *l1(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                    const hn_loss_options *o) {
    (void)o;
    return hn_loss_mean(g, HN_EMIT1(g, "Abs", difference(g, y, rank, dims, target)));
}

/* With a = min(|d|, delta): a * (|d| - a / 2). */
static hn_value *huber(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                       const hn_loss_options *o) {
    hn_value *d = HN_EMIT1(g, "Abs", difference(g, y, rank, dims, target));
    hn_value *a = HN_EMIT2(g, "Min", d, hn_emit_number(g, o->delta));
    hn_value *half = HN_EMIT2(g, "Mul", a, hn_emit_number(g, 0.5));
    return hn_loss_mean(g, HN_EMIT2(g, "Mul", a, HN_EMIT2(g, "Sub", d, half)));
}

/* Of scores, before any sigmoid: log(1 + exp(y)) - y * target. */
static hn_value *bce(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                     const hn_loss_options *o) {
    (void)o;
    hn_value *t = hn_emit_reshape(g, target, rank, dims);
    return hn_loss_mean(g,
                        HN_EMIT2(g, "Sub", HN_EMIT1(g, "Softplus", y), HN_EMIT2(g, "Mul", y, t)));
}

static hn_value *sigmoids(hn_grad *g, hn_value *y, double temperature) {
    return HN_EMIT1(g, "Sigmoid", scaled(g, y, 1 / temperature));
}

static hn_value *soft_bce(hn_grad *g, hn_value *y, hn_value *p, double temperature,
                          hn_value *counted) {
    (void)counted;
    hn_value *s = scaled(g, y, 1 / temperature);
    hn_value *each = HN_EMIT2(g, "Sub", HN_EMIT1(g, "Softplus", s), HN_EMIT2(g, "Mul", s, p));
    return scaled(g, hn_loss_mean(g, each), temperature * temperature);
}

static hn_value *kl(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                    const hn_loss_options *o) {
    hn_value *p = hn_emit_reshape(g, target, rank, dims);
    return divergence(g, y, p, o->temperature > 0 ? o->temperature : 1, NULL);
}

/* 1 - the cosine of what lies along axis 1. */
static hn_value *cosine(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                        const hn_loss_options *o) {
    (void)o;
    return hn_loss_cosine(g, y, hn_emit_reshape(g, target, rank, dims), 1);
}

/* ---- the table ---- */

static const hn_loss cross_entropy_row = {
    .name = "cross-entropy",
    .help = "the label's negative log probability; the output is scores",
    .labels = true,
    .classes = true,
    .emit = cross_entropy,
    .answer = probabilities,
    .soft = divergence,
};
static const hn_loss bce_row = {
    .name = "bce",
    .help = "binary cross entropy of each output, which is a score, with a target of 0 to 1",
    .emit = bce,
    .answer = sigmoids,
    .soft = soft_bce,
};
static const hn_loss mse_row = {.name = "mse", .help = "mean of squared errors", .emit = mse};
static const hn_loss l1_row = {.name = "l1", .help = "mean of absolute errors", .emit = l1};
static const hn_loss huber_row = {
    .name = "huber",
    .help = "squared errors up to delta, absolute ones from there on",
    .emit = huber,
};
static const hn_loss kl_row = {
    .name = "kl",
    .help = "Kullback-Leibler divergence from target probabilities; the output is scores",
    .classes = true,
    .emit = kl,
    .answer = probabilities,
    .soft = divergence,
};
static const hn_loss cosine_row = {
    .name = "cosine",
    .help = "1 - the cosine of output and target",
    .classes = true,
    .emit = cosine,
};

const hn_loss *const hn_losses[] = {&cross_entropy_row, &bce_row, &mse_row,   &l1_row,
                                    &huber_row,         &kl_row,  &cosine_row};
const int hn_n_losses = sizeof hn_losses / sizeof *hn_losses;

static const char *name_of(int i) { return hn_losses[i]->name; }

hone_status hn_loss_find(const char *name, const hn_loss **out, hn_error *err) {
    int at;
    HN_TRY(hn_named_find("loss", name, hn_n_losses, name_of, &at, err));
    *out = hn_losses[at];
    return HONE_OK;
}
