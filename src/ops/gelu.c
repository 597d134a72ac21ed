/* GELU and its relatives: Gelu and, of com.microsoft, Gelu, QuickGelu, FastGelu and BiasGelu, the
 * last two with a bias that is added to X first, along the last axis. */
#include "ops/broadcast.h"
#include "ops/grad.h"
#include "ops/scalar.h"

typedef enum form { ERF, TANH, QUICK } form;

typedef struct job {
    form form;
    double alpha;
    hn_broadcast x, bias; /* bias.tensor NULL: none */
    hn_tensor *out;
} job;

static void run(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double x[HN_BLOCK], bias[HN_BLOCK];
    hn_broadcast_f64(&j->x, from, n, x);
    if (j->bias.tensor != NULL) {
        hn_broadcast_f64(&j->bias, from, n, bias);
        for (int64_t i = 0; i < n; i++) x[i] += bias[i];
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = j->form == ERF    ? hn_gelu(x[i])
               : j->form == TANH ? hn_gelu_tanh(x[i])
                                 : x[i] * hn_sigmoid(j->alpha * x[i]);
    hn_store_f64_n(j->out->dtype, j->out->data, from, n, x);
}

static hone_status evaluate(hn_eval *e, form f, double alpha) {
    job j = {.form = f, .alpha = alpha, .out = e->out[0]};
    const hn_tensor *bias = hn_eval_in(e, 1);
    hn_broadcast_init(&j.x, e->in[0], j.out->rank, j.out->dims);
    if (bias != NULL) hn_broadcast_init(&j.bias, bias, j.out->rank, j.out->dims);
    hn_for_blocks(e->pool, j.out->n, run, &j);
    return HONE_OK;
}

static hone_status ref_gelu(hn_eval *e, hn_error *err) {
    (void)err;
    return evaluate(e, hn_attr_is(e->node, "approximate", "tanh") ? TANH : ERF, 0);
}

static hone_status ref_erf(hn_eval *e, hn_error *err) {
    (void)err;
    return evaluate(e, ERF, 0);
}

static hone_status ref_fast(hn_eval *e, hn_error *err) {
    (void)err;
    return evaluate(e, TANH, 0);
}

static hone_status ref_quick(hn_eval *e, hn_error *err) {
    (void)err;
    return evaluate(e, QUICK, hn_attr_f(e->node, "alpha"));
}

static hone_status infer_bias(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(hn_want_rank(c, 0, 1, HONE_MAX_RANK, err));
    if (hn_has_in(c, 1)) {
        HN_TRY(hn_want_rank(c, 1, 1, 1, err));
        if (x->rank > 0 && hn_in_rank(c, 1) == 1)
            HN_TRY(hn_want_equal(x->dim[x->rank - 1], hn_in_shape(c, 1)->dim[0],
                                 "last axis of X and bias", err));
    }
    hn_set_shape(c, 0, x);
    return HONE_OK;
}

/* erf by a series whose terms are all positive: 2/sqrt(pi) exp(-x^2) sum (2x^2)^k x / (2k+1)!! */
static double exact_erf(double x) {
    double a = fabs(x), term = a, sum = 0;
    if (a > 6) return x < 0 ? -1 : 1;
    for (int k = 1; k < 400 && sum + term > sum; k++) {
        sum += term;
        term *= 2 * a * a / (2 * k + 1);
    }
    double e = M_2_SQRTPI * hn_exp(-a * a) * sum;
    return x < 0 ? -e : e;
}

static double exact_gelu(const hn_node *n, double x) {
    if (!hn_attr_is(n, "approximate", "tanh")) return 0.5 * x * (1 + exact_erf(x * M_SQRT1_2));
    double u = 2 * M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x);
    return x * (1 / (1 + hn_exp(-u)));
}

#define BY_ERF \
    "0.5 * (1 + Erf(0.7071067811865476 * a)) + 0.3989422804014327 * a * Exp(-(0.5 * a * a))"
#define U "Tanh(0.7978845608028654 * a * (1 + 0.044715 * a * a))"
#define BY_TANH \
    "0.5 * (1 + " U ") + 0.3989422804014327 * a * (1 - " U " * " U ") * (1 + 0.134145 * a * a)"

static hone_status grad_gelu(hn_grad *g, hn_error *err) {
    (void)err;
    return hn_grad_by(g, hn_attr_is(g->node, "approximate", "tanh") ? BY_TANH : BY_ERF);
}

const hn_op_def hn_op_gelu = {
    .name = "Gelu",
    .versions = "20",
    .sig = "(X:T) -> (Y:T); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_S("approximate", "none", "none tanh"), {0}},
    .traits = HN_ACTIVATION,
    .role = HN_ROLE_TABLE,
    .function = exact_gelu,
    .infer = hn_infer_same,
    .ref = ref_gelu,
    .grad = grad_gelu};

const hn_op_def hn_op_ms_gelu = {.domain = "com.microsoft",
                                 .name = "Gelu",
                                 .versions = "1",
                                 .sig = "(X:T) -> (Y:T); T: float",
                                 .infer = hn_infer_same,
                                 .ref = ref_erf,
                                 .derivative = BY_ERF};

const hn_op_def hn_op_ms_quick_gelu = {
    .domain = "com.microsoft",
    .name = "QuickGelu",
    .versions = "1",
    .sig = "(X:T) -> (Y:T); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_F("alpha", 1.702f), {0}},
    .infer = hn_infer_same,
    .ref = ref_quick,
    .derivative = "Sigmoid($alpha * a) + $alpha * y * (1 - Sigmoid($alpha * a))"};

/* Of the sum of input and bias. */
static hn_value *shifted(hn_grad *g) {
    hn_value *bias = hn_grad_in(g, 1);
    return bias != NULL ? HN_EMIT2(g, "Add", hn_grad_in(g, 0), bias) : hn_grad_in(g, 0);
}

static hone_status spell_by(hn_grad *g, const char *approximate, hn_value **y) {
    hn_value *in[] = {shifted(g)};
    if (in[0] == NULL) return HONE_OK;
    hn_node *n = hn_emit_node(g, "", "Gelu", 1, 1, in);
    hn_emit_s(g, n, "approximate", approximate);
    y[0] = hn_emitted(n, 0);
    return HONE_OK;
}

static hone_status spell_fast(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    return spell_by(g, "tanh", y);
}

static hone_status spell_bias(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    return spell_by(g, "none", y);
}

const hn_op_def hn_op_ms_fast_gelu = {.domain = "com.microsoft",
                                      .name = "FastGelu",
                                      .versions = "1",
                                      .sig = "(X:T, bias:T?) -> (Y:T); T: float",
                                      .infer = infer_bias,
                                      .ref = ref_fast,
                                      .spell = spell_fast};

const hn_op_def hn_op_ms_bias_gelu = {.domain = "com.microsoft",
                                      .name = "BiasGelu",
                                      .versions = "1",
                                      .sig = "(A:T, B:T) -> (C:T); T: float",
                                      .infer = infer_bias,
                                      .ref = ref_erf,
                                      .spell = spell_bias};
