/* FusedConv, FusedGemm, FusedMatMul and its old name TransposeMatMul of com.microsoft: Conv, Gemm
 * and MatMul with what ONNX Runtime's optimizer folds into them. The activation is applied before
 * the result is rounded. */
#include "ops/conv_ref.h"
#include "ops/gemm.h"
#include "ops/grad.h"
#include "ops/matmul_ref.h"

/* The function that attribute 'activation' names; fn NULL when there is none. */
static hone_status read_activation(const hn_node *n, hn_activation *act, int *n_params,
                                   hn_error *err) {
    *act = (hn_activation){0};
    *n_params = 0;
    const hn_attr *name = hn_node_attr(n, "activation");
    if (name == NULL || name->u.s.n == 0) return HONE_OK;
    *act = hn_activation_find(name->u.s, n_params);
    HN_CHECK(err, act->fn != NULL, HONE_E_UNSUPPORTED, "activation '%.*s' is not known",
             (int)name->u.s.n, name->u.s.p);
    return HONE_OK;
}

/* ---- FusedConv: X, W, B?, Z?; activation(conv + B + Z) ---- */

static hone_status conv_activation(const hn_node *n, hn_activation *act, hn_error *err) {
    int n_params, given;
    HN_TRY(read_activation(n, act, &n_params, err));
    const float *params = hn_attr_floats(n, "activation_params", &given);
    HN_CHECK(err, given == 0 || given == n_params, HONE_E_ARG,
             "attribute 'activation_params' has %d values, expected %d", given, n_params);
    if (given >= 1) act->alpha = params[0];
    if (given >= 2) act->beta = params[1];
    return HONE_OK;
}

static hone_status conv_infer(hn_infer *c, hn_error *err) {
    hn_activation act;
    HN_TRY(conv_activation(c->node, &act, err));
    HN_TRY(hn_conv_infer(c, 0, 1, 2, err));
    const hn_shape *y = &c->out[0].shape;
    if (y->rank < 0 || hn_in_rank(c, 3) < 0) return HONE_OK;
    HN_TRY(hn_want_rank(c, 3, y->rank, y->rank, err));
    for (int i = 0; i < y->rank; i++)
        HN_TRY(hn_want_equal(hn_in_shape(c, 3)->dim[i], y->dim[i], "sizes of Z and Y", err));
    return HONE_OK;
}

static void conv_cost(const hn_infer *c, hn_cost *cost) { hn_conv_cost(c, 1, cost); }

static hone_status conv_ref(hn_eval *e, hn_error *err) {
    hn_activation act;
    hn_conv conv;
    HN_TRY(conv_activation(e->node, &act, err));
    HN_TRY(hn_conv_plan(e->node, e->in[0], e->in[1], e->out[0], &conv, err));
    return hn_conv_floats(e, &conv, hn_eval_in(e, 2), hn_eval_in(e, 3),
                          act.fn != NULL ? &act : NULL, e->out[0], err);
}

static hone_status conv_spell(hn_grad *g, hn_value **y, hn_error *err) {
    static const char *const names[] = {"auto_pad",     "dilations", "group",
                                        "kernel_shape", "pads",      "strides"};
    hn_activation act;
    HN_TRY(conv_activation(g->node, &act, err));
    hn_value *in[] = {hn_grad_in(g, 0), hn_grad_in(g, 1), hn_grad_in(g, 2)};
    hn_node *n = hn_emit_node(g, "", "Conv", 1, in[2] != NULL ? 3 : 2, in);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) hn_emit_copied(g, n, names[i]);
    y[0] = hn_emitted(n, 0);
    if (hn_grad_in(g, 3) != NULL) y[0] = HN_EMIT2(g, "Add", y[0], hn_grad_in(g, 3));
    if (act.fn != NULL) y[0] = hn_emit_activation(g, &act, y[0]);
    return HONE_OK;
}

static const hn_attr_def conv_attrs[] = {
    HN_SPATIAL_ATTRS,
    HN_ATTR_OPT("activation", STRING),
    HN_ATTR_OPT("activation_params", FLOATS),
    HN_ATTR_I("group", 1),
    HN_ATTR_OPT("kernel_shape", INTS),
    {0},
};

const hn_op_def hn_op_ms_fused_conv = {
    .domain = "com.microsoft",
    .name = "FusedConv",
    .versions = "1",
    .sig = "(X:T, W:T, B:T?, Z:T?) -> (Y:T); T: ieee",
    .attrs = conv_attrs,
    .infer = conv_infer,
    .ref = conv_ref,
    .cost = conv_cost,
    .spell = conv_spell,
};

/* ---- FusedGemm ---- */

static hone_status gemm_activation(const hn_node *n, hn_activation *act, hn_error *err) {
    int n_params;
    HN_TRY(read_activation(n, act, &n_params, err));
    const hn_attr *alpha = hn_node_attr(n, "activation_alpha");
    const hn_attr *beta = hn_node_attr(n, "activation_beta");
    const hn_attr *gamma = hn_node_attr(n, "activation_gamma"); /* the second of Selu */
    if (alpha != NULL) act->alpha = alpha->u.f;
    if (beta != NULL) act->beta = beta->u.f;
    if (gamma != NULL) act->beta = gamma->u.f;
    return HONE_OK;
}

static hone_status gemm_infer(hn_infer *c, hn_error *err) {
    hn_activation act;
    HN_TRY(gemm_activation(c->node, &act, err));
    return hn_gemm_infer(c, err);
}

static hone_status gemm_ref(hn_eval *e, hn_error *err) {
    hn_activation act;
    HN_TRY(gemm_activation(e->node, &act, err));
    return hn_gemm_run(e, act.fn != NULL ? &act : NULL, err);
}

static hone_status gemm_spell(hn_grad *g, hn_value **y, hn_error *err) {
    static const char *const names[] = {"alpha", "beta", "transA", "transB"};
    hn_activation act;
    HN_TRY(gemm_activation(g->node, &act, err));
    hn_value *in[] = {hn_grad_in(g, 0), hn_grad_in(g, 1), hn_grad_in(g, 2)};
    hn_node *n = hn_emit_node(g, "", "Gemm", 1, in[2] != NULL ? 3 : 2, in);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) hn_emit_copied(g, n, names[i]);
    y[0] = hn_emitted(n, 0);
    if (act.fn != NULL) y[0] = hn_emit_activation(g, &act, y[0]);
    return HONE_OK;
}

static const hn_attr_def gemm_attrs[] = {
    HN_ATTR_OPT("activation", STRING),
    HN_ATTR_OPT("activation_alpha", FLOAT),
    HN_ATTR_OPT("activation_beta", FLOAT),
    HN_ATTR_OPT("activation_gamma", FLOAT),
    HN_ATTR_F("alpha", 1),
    HN_ATTR_F("beta", 1),
    HN_ATTR_I("transA", 0),
    HN_ATTR_I("transB", 0),
    {0},
};

const hn_op_def hn_op_ms_fused_gemm = {
    .domain = "com.microsoft",
    .name = "FusedGemm",
    .versions = "1",
    .sig = "(A:T, B:T, C:T?) -> (Y:T); T: ieee",
    .attrs = gemm_attrs,
    .infer = gemm_infer,
    .ref = gemm_ref,
    .spell = gemm_spell,
    .cost = hn_gemm_cost,
};

/* ---- FusedMatMul, TransposeMatMul: alpha * A' * B' ---- */

static unsigned matmul_flags(const hn_node *n) {
    unsigned flags = hn_attr_i(n, "transA") != 0 ? HN_TRANS_A : 0;
    if (hn_attr_i(n, "transB") != 0) flags |= HN_TRANS_B;
    if (hn_op_attr(n->op, "transBatchA") == NULL) return flags;
    if (hn_attr_i(n, "transBatchA") != 0) flags |= HN_TRANS_BATCH_A;
    if (hn_attr_i(n, "transBatchB") != 0) flags |= HN_TRANS_BATCH_B;
    return flags;
}

static hone_status matmul_infer(hn_infer *c, hn_error *err) {
    return hn_matmul_infer(c, 0, 1, matmul_flags(c->node), err);
}

static void matmul_cost(const hn_infer *c, hn_cost *cost) {
    hn_matmul_cost(c, 0, 1, matmul_flags(c->node), cost);
}

typedef struct scaled {
    hn_dense_out out;
    double alpha;
} scaled;

static void store_scaled(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const scaled *s = ctx;
    for (int64_t r = 0; r < at->n_rows; r++) {
        int64_t to = (at->batch * s->out.m + at->row + r) * s->out.n + at->col;
        for (int64_t j = 0; j < at->n_cols; j++)
            hn_store_f64(s->out.t->dtype, s->out.t->data, to + j,
                         s->alpha * ((const double *)sums)[r * pitch + j]);
    }
}

static hone_status matmul_ref(hn_eval *e, hn_error *err) {
    hn_matmul p;
    HN_TRY(hn_matmul_plan(e, e->in[0], e->in[1], matmul_flags(e->node), e->out[0], &p, err));
    scaled s = {p.out, hn_attr_f(e->node, "alpha")};
    hn_gemm g = {.n_batch = p.n_batch,
                 .m = p.m,
                 .n = p.n,
                 .k = p.k,
                 .a = hn_matrix_f64(&p.a),
                 .b = hn_matrix_f64(&p.b),
                 .store = store_scaled,
                 .out = &s};
    return hn_gemm_ref(e, &g, err);
}

/* An operand with its axes in the order in which MatMul reads them. transBatch moves axis 0 to the
 * place before the last two's last: [batch.., m] is stored [m, batch.., k]. */
static hn_value *operand(hn_grad *g, int i, bool trans, bool trans_batch) {
    int64_t dims[HONE_MAX_RANK], perm[HONE_MAX_RANK];
    hn_value *v = hn_grad_in(g, i);
    int rank = hn_grad_dims(g, v, dims), n = 0;
    if (rank < 2 || (!trans && !trans_batch)) return v;
    for (int a = trans_batch ? 1 : 0; a < rank - (trans_batch ? 1 : 2); a++) perm[n++] = a;
    perm[n++] = trans_batch ? 0 : rank - 2;
    perm[n++] = rank - 1;
    if (trans) {
        int64_t swap = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = swap;
    }
    return hn_emit_transposed(g, v, rank, perm);
}

static hone_status matmul_spell(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    unsigned flags = matmul_flags(g->node);
    hn_value *a = operand(g, 0, flags & HN_TRANS_A, flags & HN_TRANS_BATCH_A);
    hn_value *b = operand(g, 1, flags & HN_TRANS_B, flags & HN_TRANS_BATCH_B);
    double alpha = (double)hn_attr_f(g->node, "alpha");
    y[0] = HN_EMIT2(g, "MatMul", a, b);
    if (alpha != 1) y[0] = HN_EMIT2(g, "Mul", y[0], hn_emit_number(g, alpha));
    return HONE_OK;
}

static const hn_attr_def matmul_attrs[] = {
    HN_ATTR_F("alpha", 1),       HN_ATTR_I("transA", 0),      HN_ATTR_I("transB", 0),
    HN_ATTR_I("transBatchA", 0), HN_ATTR_I("transBatchB", 0), {0},
};

const hn_op_def hn_op_ms_fused_matmul = {
    .domain = "com.microsoft",
    .name = "FusedMatMul",
    .versions = "1",
    .sig = "(A:T, B:T) -> (Y:T); T: float",
    .attrs = matmul_attrs,
    .infer = matmul_infer,
    .ref = matmul_ref,
    .cost = matmul_cost,
    .spell = matmul_spell,
};

static const hn_attr_def transpose_attrs[] = {
    HN_ATTR_F("alpha", 1),
    HN_ATTR_I("transA", 0),
    HN_ATTR_I("transB", 0),
    {0},
};

const hn_op_def hn_op_ms_transpose_matmul = {
    .domain = "com.microsoft",
    .name = "TransposeMatMul",
    .versions = "1",
    .sig = "(A:T, B:T) -> (Y:T); T: float",
    .attrs = transpose_attrs,
    .infer = matmul_infer,
    .ref = matmul_ref,
    .cost = matmul_cost,
    .spell = matmul_spell,
};
