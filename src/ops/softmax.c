/* Softmax, LogSoftmax and Hardmax along one axis.
 *
 *     m = max x        s = sum exp(x - m)
 *     Softmax: exp(x - m) / s        LogSoftmax: x - m - log(s)        Hardmax: 1 at the first m
 *
 * NaN counts as the maximum.
 */
#include <math.h>

#include "ops/grad.h"
#include "ops/softmax_ref.h"

typedef enum mode { SOFTMAX, LOG_SOFTMAX, HARDMAX } mode;

typedef struct job {
    mode mode;
    const hn_tensor *x;
    hn_tensor *y;
    hn_groups groups;
} job;

typedef struct pass {
    const job *j;
    double peak[HN_BLOCK], sum[HN_BLOCK];
    bool found[HN_BLOCK]; /* Hardmax: the first maximum has been met */
} pass;

static void put_result(void *state, int64_t at, int64_t n, int64_t step) {
    pass *p = state;
    double x[HN_BLOCK];
    hn_load_f64_n(p->j->x->dtype, p->j->x->data, at, n, x);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i * step;
        if (p->j->mode == SOFTMAX) {
            x[i] = exp(x[i] - p->peak[k]) / p->sum[k];
        } else if (p->j->mode == LOG_SOFTMAX) {
            x[i] = x[i] - p->peak[k] - log(p->sum[k]);
        } else {
            x[i] = !p->found[k] && (x[i] == p->peak[k] || isnan(x[i]));
            p->found[k] = p->found[k] || x[i] != 0;
        }
    }
    hn_store_f64_n(p->j->y->dtype, p->j->y->data, at, n, x);
}

static void run(void *ctx, int64_t first, int64_t width) {
    const job *j = ctx;
    pass p;
    p.j = j;
    for (int64_t i = 0; i < width; i++) p.found[i] = false;
    hn_softmax_sums(&j->groups, j->x, first, width, p.peak, j->mode != HARDMAX ? p.sum : NULL);
    hn_group_walk(&j->groups, first, width, put_result, &p);
}

static hone_status infer(hn_infer *c, hn_error *err) {
    int64_t axis = hn_attr_i(c->node, "axis");
    if (hn_in_rank(c, 0) >= 0) HN_TRY(hn_want_axis(&axis, hn_in_rank(c, 0), err));
    return hn_infer_same(c, err);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j = {.mode = *(const mode *)e->node->op->data, .x = e->in[0], .y = e->out[0]};
    int64_t axis = hn_attr_i(e->node, "axis");
    HN_TRY(hn_want_axis(&axis, j.x->rank, err));
    if (j.x->n == 0) return HONE_OK;
    hn_groups_init(&j.groups, j.x->rank, j.x->dims, 1u << axis);
    hn_for_groups(e->pool, &j.groups, run, &j);
    return HONE_OK;
}

/* Softmax: y * (dy - sum of dy * y). LogSoftmax: dy - exp(y) * sum of dy. Hardmax is constant
 * almost everywhere. */
static hone_status grad(hn_grad *g, hn_error *err) {
    hn_value *y = hn_grad_out(g, 0), *dy = g->dy[0];
    int64_t axis = hn_attr_i(g->node, "axis");
    mode m = *(const mode *)g->node->op->data;
    if (m == HARDMAX) return HONE_OK;
    HN_TRY(hn_want_axis(&axis, y->type.shape.rank, err));
    hn_value *part = m == SOFTMAX ? HN_EMIT2(g, "Mul", dy, y) : dy;
    hn_value *sum = hn_emit_sum(g, part, 1u << axis, true);
    if (m == SOFTMAX)
        hn_grad_give(g, 0, HN_EMIT2(g, "Mul", y, HN_EMIT2(g, "Sub", dy, sum)));
    else
        hn_grad_give(g, 0, HN_EMIT2(g, "Sub", dy, HN_EMIT2(g, "Mul", HN_EMIT1(g, "Exp", y), sum)));
    return HONE_OK;
}

#define ALONG_AXIS(lc, NAME, MODE, MOST)                                                      \
    const hn_op_def hn_op_##lc = {.name = NAME,                                               \
                                  .versions = "1 11 13",                                      \
                                  .sig = "(input:T) -> (output:T); T: float",                 \
                                  .attrs = (const hn_attr_def[]){HN_ATTR_I("axis", -1), {0}}, \
                                  .mixing = HN_MIXES_ALONG,                                   \
                                  .infer = infer,                                             \
                                  .ref = ref,                                                 \
                                  .grad = grad,                                               \
                                  .most = MOST,                                               \
                                  .data = &(const mode){MODE}};

ALONG_AXIS(softmax, "Softmax", SOFTMAX, 1)
ALONG_AXIS(log_softmax, "LogSoftmax", LOG_SOFTMAX, 0)
ALONG_AXIS(hardmax, "Hardmax", HARDMAX, 1)
