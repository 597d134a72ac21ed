/* FakeQuantize: what QuantizeLinear and DequantizeLinear behind each other make of x, in floats, with
 * a gradient. FakeQuantizeGrad: how much of dY belongs to each x, or to the scale of each x.
 *
 *     v = x / scale      lo = qmin - zero_point, hi = qmax - zero_point
 *     y = min(max(round(v), lo), hi) * scale              round: to the even one of two, as there
 *
 *                               lo <= v <= hi       v < lo       v > hi
 *     by x (straight through)   dY                  0            0
 *     by scale (LSQ)            dY * (round(v)-v)   dY * lo      dY * hi
 *
 * The gradient by a scale is the sum of these over the n elements that have it, divided by
 * sqrt(n * qmax), so that scales move as fast as weights do (Esser et al., 2020). With learn = 0 the
 * scale is taken as it is.
 *
 * binary = 1: there are two levels, y = x < 0 ? -scale : scale; all of dY belongs to x, and dY
 * times the sign to the scale.
 *
 * scale and zero_point, which holds whole numbers and is 0 if absent, broadcast to x. */
#include <math.h>

#include "ops/broadcast.h"
#include "ops/grad.h"

/* ---- inference ---- */

static hone_status infer_as(hn_infer *c, int x, hn_error *err) {
    const hn_shape *s = hn_in_shape(c, x);
    hn_set_shape(c, 0, s);
    HN_CHECK(err, hn_attr_i(c->node, "qmin") < hn_attr_i(c->node, "qmax"), HONE_E_ARG,
             "qmin is %lld and qmax %lld, expected less and more",
             (long long)hn_attr_i(c->node, "qmin"), (long long)hn_attr_i(c->node, "qmax"));
    for (int i = x + 1; i <= x + 2; i++) {
        if (!hn_has_in(c, i) || s->rank < 0 || hn_in_rank(c, i) < 0) continue;
        const hn_shape *by = hn_in_shape(c, i);
        HN_CHECK(err, by->rank <= s->rank, HONE_E_SHAPE, "%s has rank %d, more than x with %d",
                 i == x + 1 ? "scale" : "zero point", by->rank, s->rank);
        for (int d = 0; d < by->rank; d++) {
            if (hn_dim_is(by->dim[d], 1)) continue;
            HN_TRY(hn_want_equal(by->dim[d], s->dim[s->rank - by->rank + d],
                                 i == x + 1 ? "dims of scale and x" : "dims of zero point and x",
                                 err));
        }
    }
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) { return infer_as(c, 0, err); }

static hone_status infer_grad(hn_infer *c, hn_error *err) {
    HN_TRY(infer_as(c, 1, err));
    if (hn_in_rank(c, 0) < 0 || hn_in_rank(c, 1) < 0) return HONE_OK;
    HN_CHECK(err, hn_in_rank(c, 0) == hn_in_rank(c, 1), HONE_E_SHAPE,
             "dY has rank %d and x rank %d, not the same", hn_in_rank(c, 0), hn_in_rank(c, 1));
    for (int d = 0; d < hn_in_rank(c, 0); d++)
        HN_TRY(hn_want_equal(hn_in_shape(c, 0)->dim[d], hn_in_shape(c, 1)->dim[d],
                             "dims of dY and x", err));
    return HONE_OK;
}

/* ---- evaluation ---- */

typedef struct job {
    const hn_tensor *dy, *x; /* dy NULL: FakeQuantize itself */
    const hn_tensor *scale, *zero;
    hn_tensor *y;
    double qmin, qmax;
    bool binary, by_scale;
} job;

/* The number of the element of t that broadcasts to element i of x. */
static int64_t spread_from(const hn_tensor *x, const hn_tensor *t, int64_t i) {
    int64_t at = 0, step = 1;
    for (int d = 0; d < t->rank; d++) {
        int a = t->rank - 1 - d, b = x->rank - 1 - d;
        if (t->dims[a] != 1) at += i % x->dims[b] * step;
        i /= x->dims[b];
        step *= t->dims[a];
    }
    return at;
}

static void run(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    for (int64_t i = from; i < from + n; i++) {
        double s = hn_tensor_f64(j->scale, spread_from(j->x, j->scale, i));
        double z = j->zero != NULL ? hn_tensor_f64(j->zero, spread_from(j->x, j->zero, i)) : 0;
        double x = hn_tensor_f64(j->x, i), v = x / s, lo = j->qmin - z, hi = j->qmax - z;
        /* A quotient in double, rounded once more, is the quotient in f32, as QuantizeLinear's. */
        if (j->x->dtype == HONE_DTYPE_F32) v = (float)v;
        bool inside = v >= lo && v <= hi;
        double code = isnan(v) ? v : fmin(fmax(rint(v), lo), hi), y;
        if (j->binary) code = isnan(x) ? x : x < 0 ? -1 : 1;
        if (j->dy == NULL)
            y = code * s;
        else if (!j->by_scale)
            y = j->binary || inside ? hn_tensor_f64(j->dy, i) : 0;
        else
            y = hn_tensor_f64(j->dy, i) * (inside && !j->binary ? code - v : code);
        hn_store_f64(j->y->dtype, j->y->data, i, y);
    }
}

static hone_status evaluate(hn_eval *e, int x) {
    job j = {.dy = x > 0 ? e->in[0] : NULL,
             .x = e->in[x],
             .scale = e->in[x + 1],
             .zero = hn_eval_in(e, x + 2),
             .y = e->out[0],
             .qmin = (double)hn_attr_i(e->node, "qmin"),
             .qmax = (double)hn_attr_i(e->node, "qmax"),
             .binary = hn_attr_i(e->node, "binary") != 0,
             .by_scale = x > 0 && hn_attr_is(e->node, "by", "scale")};
    hn_for_blocks(e->pool, j.y->n, run, &j);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    return evaluate(e, 0);
}

static hone_status ref_grad(hn_eval *e, hn_error *err) {
    (void)err;
    return evaluate(e, 1);
}

/* ---- the gradient ---- */

static hn_value *emit_part(hn_grad *g, const char *by) {
    hn_value *in[] = {g->dy[0], hn_grad_in(g, 0), hn_grad_in(g, 1), hn_grad_in(g, 2)};
    static const char *const kept[] = {"qmin", "qmax", "binary"};
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "FakeQuantizeGrad", 1, in[3] != NULL ? 4 : 3, in);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) hn_emit_copied(g, n, kept[i]);
    hn_emit_s(g, n, "by", by);
    return hn_emitted(n, 0);
}

static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], scales[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    int rank_s = hn_grad_dims(g, hn_grad_in(g, 1), scales);
    (void)err;
    if (hn_grad_wants(g, 0)) hn_grad_give(g, 0, emit_part(g, "x"));
    if (!hn_grad_wants(g, 1) || hn_attr_i(g->node, "learn") == 0) return HONE_OK;
    double n = 1, qmax = (double)hn_attr_i(g->node, "qmax");
    for (int i = 0; i < rank; i++) n *= (double)dims[i];
    for (int i = 0; i < rank_s; i++) n /= (double)(scales[i] > 0 ? scales[i] : 1);
    hn_value *sum = hn_emit_sum_to(g, emit_part(g, "scale"), rank, dims, hn_grad_in(g, 1));
    double factor = 1 / sqrt(fmax(n * fmax(qmax, 1), 1));
    hn_grad_give(g, 1, HN_EMIT2(g, "Mul", sum, hn_emit_number(g, factor)));
    return HONE_OK;
}

const hn_op_def hn_op_train_fake_quantize = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "FakeQuantize",
    .versions = "1",
    .sig = "(x:T, scale:T, zero_point:T?) -> (y:T); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("binary", 0),
                                   HN_ATTR_I("learn", 1),
                                   HN_ATTR_REQ("qmax", INT),
                                   HN_ATTR_REQ("qmin", INT),
                                   {0}},
    .settings = 1 << 2,
    .learned = 1 << 1,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};

const hn_op_def hn_op_train_fake_quantize_grad = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "FakeQuantizeGrad",
    .versions = "1",
    .sig = "(dY:T, x:T, scale:T, zero_point:T?) -> (dX:T); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("binary", 0),
                                   HN_ATTR_S("by", "x", "x scale"),
                                   HN_ATTR_REQ("qmax", INT),
                                   HN_ATTR_REQ("qmin", INT),
                                   {0}},
    .infer = infer_grad,
    .ref = ref_grad,
};
