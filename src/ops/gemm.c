/* Gemm: Y = alpha * A' * B' + beta * C, where A' and B' are the matrices or their transposes and C
 * is broadcast to Y. Integers are exact modulo their width while alpha and beta are 1; otherwise
 * the result is formed in double from the exact sums and truncated. */
#include "ops/gemm.h"

#include "ops/gemm_ref.h"
#include "ops/grad.h"

hone_status hn_gemm_want_bias(const hn_infer *c, int i, const hn_shape *y, hn_error *err) {
    if (hn_in_rank(c, i) < 0) return HONE_OK;
    const hn_shape *s = hn_in_shape(c, i);
    for (int a = 1; a <= s->rank; a++)
        if (!hn_dim_is(s->dim[s->rank - a], 1))
            HN_TRY(hn_want_equal(s->dim[s->rank - a], y->dim[2 - a], "sizes of C and A * B", err));
    return HONE_OK;
}

hn_gemm_bias hn_gemm_bias_of(const hn_tensor *t) {
    hn_gemm_bias b = {.t = t};
    if (t != NULL && t->rank >= 1) b.col = t->dims[t->rank - 1] == 1 ? 0 : 1;
    if (t != NULL && t->rank == 2) b.row = t->dims[0] == 1 ? 0 : t->dims[1];
    return b;
}

hone_status hn_gemm_infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 0, 2, 2, err));
    HN_TRY(hn_want_rank(c, 1, 2, 2, err));
    HN_TRY(hn_want_rank(c, 2, 0, 2, err));
    const hn_shape *a = hn_in_shape(c, 0), *b = hn_in_shape(c, 1);
    int ta = hn_attr_i(c->node, "transA") != 0, tb = hn_attr_i(c->node, "transB") != 0;
    if (a->rank < 0 || b->rank < 0) return HONE_OK;
    HN_TRY(hn_want_equal(a->dim[1 - ta], b->dim[tb], "columns of A and rows of B", err));
    hn_shape y = {.rank = 2, .dim = {a->dim[ta], b->dim[1 - tb]}};
    HN_TRY(hn_gemm_want_bias(c, 2, &y, err));
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

void hn_gemm_cost(const hn_infer *c, hn_cost *cost) {
    const hn_shape *a = hn_in_shape(c, 0), *y = &c->out[0].shape;
    if (a->rank != 2) return;
    cost->macs = hn_dim_mul(c->dims, hn_shape_product(c->dims, y, 0, y->rank),
                            a->dim[hn_attr_i(c->node, "transA") != 0 ? 0 : 1]);
}

typedef struct target {
    hn_tensor *y;
    hn_gemm_bias c;
    double alpha, beta;
    const hn_activation *act; /* NULL: none */
} target;

static void store_f64(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    int64_t n = t->y->dims[1];
    for (int64_t r = 0; r < at->n_rows; r++)
        for (int64_t j = 0; j < at->n_cols; j++) {
            double v = t->alpha * ((const double *)sums)[r * pitch + j];
            if (t->c.t != NULL)
                v += t->beta *
                     hn_tensor_f64(t->c.t, hn_gemm_bias_at(&t->c, at->row + r, at->col + j));
            if (t->act != NULL) v = hn_activate(t->act, v);
            hn_store_f64(t->y->dtype, t->y->data, (at->row + r) * n + at->col + j, v);
        }
}

static void store_s64(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    int64_t n = t->y->dims[1];
    bool plain = t->alpha == 1 && (t->c.t == NULL || t->beta == 1);
    for (int64_t r = 0; r < at->n_rows; r++)
        for (int64_t j = 0; j < at->n_cols; j++) {
            int64_t sum = ((const int64_t *)sums)[r * pitch + j],
                    to = (at->row + r) * n + at->col + j;
            int64_t c =
                t->c.t != NULL
                    ? hn_tensor_s64(t->c.t, hn_gemm_bias_at(&t->c, at->row + r, at->col + j))
                    : 0;
            if (plain)
                hn_store_s64(t->y->dtype, t->y->data, to, (int64_t)((uint64_t)sum + (uint64_t)c));
            else
                hn_store_f64(t->y->dtype, t->y->data, to,
                             t->alpha * (double)sum + t->beta * (double)c);
        }
}

hone_status hn_gemm_run(hn_eval *e, const hn_activation *act, hn_error *err) {
    const hn_tensor *a = e->in[0], *b = e->in[1];
    int ta = hn_attr_i(e->node, "transA") != 0, tb = hn_attr_i(e->node, "transB") != 0;
    bool integer = hn_dtype_is_int(a->dtype);
    hn_strided_matrix sa = {
        .t = a, .row_stride = ta ? 1 : a->dims[1], .col_stride = ta ? a->dims[1] : 1};
    hn_strided_matrix sb = {
        .t = b, .row_stride = tb ? 1 : b->dims[1], .col_stride = tb ? b->dims[1] : 1};
    target t = {.y = e->out[0],
                .c = hn_gemm_bias_of(hn_eval_in(e, 2)),
                .alpha = hn_attr_f(e->node, "alpha"),
                .beta = hn_attr_f(e->node, "beta"),
                .act = act};
    hn_gemm g = {.n_batch = 1,
                 .m = a->dims[ta],
                 .n = b->dims[1 - tb],
                 .k = a->dims[1 - ta],
                 .integer = integer,
                 .a = integer ? hn_matrix_s64(&sa) : hn_matrix_f64(&sa),
                 .b = integer ? hn_matrix_s64(&sb) : hn_matrix_f64(&sb),
                 .store = integer ? store_s64 : store_f64,
                 .out = &t};
    return hn_gemm_ref(e, &g, err);
}

static hone_status ref(hn_eval *e, hn_error *err) { return hn_gemm_run(e, NULL, err); }

static const hn_attr_def attrs[] = {
    HN_ATTR_F("alpha", 1),
    HN_ATTR_F("beta", 1),
    HN_ATTR_I("transA", 0),
    HN_ATTR_I("transB", 0),
    {0},
};

/* B [K, N], or [N, K] with transB */
static bool use(const hn_node *n, int rank, const int64_t *dims, hn_weight_use *u) {
    (void)dims;
    if (rank != 2) return false;
    int turned = hn_attr_i(n, "transB") != 0;
    *u = (hn_weight_use){.channel_axis = 1 - turned,
                         .sum_axis = turned,
                         .transposed = hn_attr_i(n, "transA") != 0,
                         .alpha = hn_attr_f(n, "alpha"),
                         .beta = hn_attr_f(n, "beta")};
    return true;
}

/* Scales are positive, and alpha goes into them. */
static const char *refuse(const hn_node *n) {
    return hn_attr_f(n, "alpha") > 0 ? NULL : "alpha is not positive";
}

/* alpha * a' b', either perhaps transposed. */
static hn_value *emit_gemm(hn_grad *g, hn_value *a, bool turn_a, hn_value *b, bool turn_b) {
    hn_value *in[] = {a, b};
    hn_node *n = hn_emit_node(g, "", "Gemm", 1, 2, in);
    hn_emit_i(g, n, "transA", turn_a);
    hn_emit_i(g, n, "transB", turn_b);
    hn_emit_f(g, n, "alpha", hn_attr_f(g->node, "alpha"));
    return hn_emitted(n, 0);
}

static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    bool ta = hn_attr_i(g->node, "transA") != 0, tb = hn_attr_i(g->node, "transB") != 0;
    hn_value *a = hn_grad_in(g, 0), *b = hn_grad_in(g, 1), *dy = g->dy[0];
    if (hn_grad_wants(g, 0))
        hn_grad_give(g, 0, ta ? emit_gemm(g, b, tb, dy, true) : emit_gemm(g, dy, false, b, !tb));
    if (hn_grad_wants(g, 1))
        hn_grad_give(g, 1, tb ? emit_gemm(g, dy, true, a, ta) : emit_gemm(g, a, !ta, dy, false));
    if (hn_grad_wants(g, 2)) {
        int64_t dims[HONE_MAX_RANK];
        int rank = hn_grad_dims(g, hn_grad_out(g, 0), dims);
        float beta = hn_attr_f(g->node, "beta");
        if (beta != 1) dy = HN_EMIT2(g, "Mul", dy, hn_emit_number(g, (double)beta));
        hn_grad_give(g, 2, hn_emit_sum_to(g, dy, rank, dims, hn_grad_in(g, 2)));
    }
    return HONE_OK;
}

const hn_op_def hn_op_gemm = {
    .name = "Gemm",
    .versions = "1 6 7 9 11 13",
    .sig = "(A:T, B:T, C:T?) -> (Y:T); T: float u32 u64 s32 s64",
    .attrs = attrs,
    .role = HN_ROLE_PRODUCT,
    .refuse = refuse,
    .weights = &(const hn_weights_def){.kind = HN_WEIGHT_MATRIX,
                                       .input = 1,
                                       .bias = 2,
                                       .dynamic = "MatMulInteger",
                                       .use = use},
    .infer = hn_gemm_infer,
    .ref = ref,
    .grad = grad,
    .cost = hn_gemm_cost,
};
