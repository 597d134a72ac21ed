/* CausalConvWithState: a depthwise convolution along time that looks back k - 1 steps; what came
 * before the first step is past_state (zeros without one), and present_state is what the next call
 * has to be given. */
#include "ops/grad.h"
#include "ops/scalar.h"

enum { X, W, BIAS, PAST };

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, X, 3, 3, err));
    HN_TRY(hn_want_rank(c, W, 3, 3, err));
    HN_TRY(hn_want_rank(c, BIAS, 1, 1, err));
    HN_TRY(hn_want_rank(c, PAST, 3, 3, err));
    const hn_shape *x = hn_in_shape(c, X), *w = hn_in_shape(c, W);
    hn_set_shape(c, 0, x);
    if (x->rank < 0 || w->rank < 0) return HONE_OK;
    HN_TRY(hn_want_equal(x->dim[1], w->dim[0], "channels of the input and of the weights", err));
    HN_TRY(hn_want_equal(w->dim[1], hn_dim_const(c->dims, 1), "axis 1 of the weights and 1", err));
    HN_CHECK(err, !hn_dim_is(w->dim[2], 0), HONE_E_SHAPE, "the weights have 0 taps");
    if (hn_in_rank(c, BIAS) == 1)
        HN_TRY(hn_want_equal(hn_in_shape(c, BIAS)->dim[0], x->dim[1],
                             "sizes of the bias and channels of the input", err));
    hn_shape state = {.rank = 3,
                      .dim = {x->dim[0], x->dim[1], hn_dim_addc(c->dims, w->dim[2], -1)}};
    if (hn_in_rank(c, PAST) == 3)
        for (int i = 0; i < 3; i++)
            HN_TRY(hn_want_equal(hn_in_shape(c, PAST)->dim[i], state.dim[i],
                                 "sizes of past_state and present_state", err));
    hn_set_shape(c, 1, &state);
    return HONE_OK;
}

static void cost(const hn_infer *c, hn_cost *out) {
    const hn_shape *x = hn_in_shape(c, X), *w = hn_in_shape(c, W);
    if (w->rank != 3) return;
    out->macs = hn_dim_mul(c->dims, hn_shape_product(c->dims, x, 0, x->rank), w->dim[2]);
}

typedef struct job {
    const hn_tensor *x, *w, *bias, *past;
    hn_tensor *y, *present;
    int64_t channels, length, taps, n_workers, rows;
    bool silu;
    double *seen; /* [n_workers][taps - 1 + length] */
} job;

static void run_worker(void *ctx, int64_t worker) {
    const job *j = ctx;
    int64_t before = j->taps - 1, n = before + j->length;
    double *seen = j->seen + worker * (n + j->taps), *w = seen + n;
    for (int64_t row = worker; row < j->rows; row += j->n_workers) {
        int64_t c = row % j->channels;
        if (j->past != NULL)
            hn_load_f64_n(j->past->dtype, j->past->data, row * before, before, seen);
        else
            for (int64_t i = 0; i < before; i++) seen[i] = 0;
        hn_load_f64_n(j->x->dtype, j->x->data, row * j->length, j->length, seen + before);
        hn_store_f64_n(j->present->dtype, j->present->data, row * before, before, seen + j->length);
        hn_load_f64_n(j->w->dtype, j->w->data, c * j->taps, j->taps, w);
        double bias = j->bias != NULL ? hn_tensor_f64(j->bias, c) : 0;
        /* In place: output t needs seen[t ..] only. */
        for (int64_t t = 0; t < j->length; t++) {
            double sum = 0;
            for (int64_t k = 0; k < j->taps; k++) sum += w[k] * seen[t + k];
            sum += bias;
            seen[t] = j->silu ? sum * hn_sigmoid(sum) : sum;
        }
        hn_store_f64_n(j->y->dtype, j->y->data, row * j->length, j->length, seen);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[X];
    job j = {.x = x,
             .w = e->in[W],
             .bias = hn_eval_in(e, BIAS),
             .past = hn_eval_in(e, PAST),
             .y = e->out[0],
             .present = e->out[1],
             .channels = x->dims[1],
             .length = x->dims[2],
             .taps = e->in[W]->dims[2],
             .silu = !hn_attr_is(e->node, "activation", "none")};
    if (j.y->n == 0 && j.present->n == 0) return HONE_OK;
    j.rows = x->dims[0] * x->dims[1];
    j.n_workers = hn_pool_threads(e->pool);
    if (j.n_workers > j.rows) j.n_workers = j.rows;
    j.seen = hn_scratch(e, j.n_workers * (j.length + 2 * j.taps - 1), sizeof *j.seen);
    if (j.seen == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, j.n_workers, run_worker, &j);
    return HONE_OK;
}

static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    int64_t x[HONE_MAX_RANK], w[HONE_MAX_RANK];
    hn_grad_dims(g, hn_grad_in(g, X), x);
    hn_grad_dims(g, hn_grad_in(g, W), w);
    if (g->status != HONE_OK) return HONE_OK;
    const int64_t before[] = {x[0], x[1], w[2] - 1};
    hn_value *past =
        hn_grad_in(g, PAST) != NULL ? hn_grad_in(g, PAST) : hn_emit_filled(g, 0, 3, before);
    hn_value *all = hn_emit_concat(g, 2, 2, (hn_value *const[]){past, hn_grad_in(g, X)});
    hn_value *in[] = {all, hn_grad_in(g, W), hn_grad_in(g, BIAS)};
    if (all == NULL) return HONE_OK;
    hn_node *conv = hn_emit_node(g, "", "Conv", 1, in[2] != NULL ? 3 : 2, in);
    hn_emit_i(g, conv, "group", x[1]);
    y[0] = hn_emitted(conv, 0);
    if (!hn_attr_is(g->node, "activation", "none")) y[0] = HN_TEXT(g, "a * Sigmoid(a)", y[0]);
    y[1] = hn_emit_slice(g, all, 2, x[2], x[2] + w[2] - 1);
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_S("activation", "none", "none silu swish"),
    {0},
};

const hn_op_def hn_op_causal_conv_with_state = {
    .name = "CausalConvWithState",
    .versions = "27",
    .sig =
        "(input:T, weight:T, bias:T?, past_state:T?) -> (output:T, present_state:T);"
        " T: f32 f16 bf16",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .spell = spell,
    .cost = cost,
};
