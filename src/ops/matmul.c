/* MatMul: numpy's matmul. */
#include "ops/grad.h"
#include "ops/matmul_ref.h"

static hone_status infer(hn_infer *c, hn_error *err) { return hn_matmul_infer(c, 0, 1, 0, err); }

static void cost(const hn_infer *c, hn_cost *out) { hn_matmul_cost(c, 0, 1, 0, out); }

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_matmul p;
    HN_TRY(hn_matmul_plan(e, e->in[0], e->in[1], 0, e->out[0], &p, err));
    bool integer = hn_dtype_is_int(e->in[0]->dtype);
    hn_gemm g = {.n_batch = p.n_batch,
                 .m = p.m,
                 .n = p.n,
                 .k = p.k,
                 .integer = integer,
                 .a = integer ? hn_matrix_s64(&p.a) : hn_matrix_f64(&p.a),
                 .b = integer ? hn_matrix_s64(&p.b) : hn_matrix_f64(&p.b),
                 .store = integer ? hn_store_dense_s64 : hn_store_dense_f64,
                 .out = &p.out};
    return hn_gemm_ref(e, &g, err);
}

/* B [..., K, N] */
static bool use(const hn_node *n, int rank, const int64_t *dims, hn_weight_use *u) {
    (void)n, (void)dims;
    if (rank < 2) return false;
    *u = (hn_weight_use){.channel_axis = rank - 1, .sum_axis = rank - 2, .alpha = 1, .beta = 1};
    return true;
}

/* The sizes of a factor as a matrix: a vector is a row if it comes first, else a column. */
static int as_matrix(hn_grad *g, int i, int64_t *dims) {
    int rank = hn_grad_dims(g, hn_grad_in(g, i), dims);
    if (rank != 1) return rank;
    dims[1 - i] = dims[0];
    dims[i] = 1;
    return 2;
}

/* dA = dY B^T and dB = A^T dY, summed over the batches along which a factor was broadcast. By a
 * single matrix, the rows of all batches are one matrix. */
static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t a[HONE_MAX_RANK], b[HONE_MAX_RANK], y[HONE_MAX_RANK], da[HONE_MAX_RANK];
    int ra = as_matrix(g, 0, a), rb = as_matrix(g, 1, b);
    if (g->status != HONE_OK) return g->status;
    if (rb == 2) {
        int64_t rows = 1;
        for (int i = 0; i < ra - 1; i++) rows *= a[i];
        a[1] = a[ra - 1], a[0] = rows, ra = 2;
    }
    int ry = ra > rb ? ra : rb;
    for (int i = 0; i < ry - 2; i++) {
        int ia = i - (ry - ra), ib = i - (ry - rb);
        int64_t sa = ia >= 0 ? a[ia] : 1, sb = ib >= 0 ? b[ib] : 1;
        y[i] = sa == 1 ? sb : sa;
    }
    y[ry - 2] = a[ra - 2], y[ry - 1] = b[rb - 1];
    hn_value *A = hn_emit_reshape(g, hn_grad_in(g, 0), ra, a);
    hn_value *B = hn_emit_reshape(g, hn_grad_in(g, 1), rb, b);
    hn_value *dy = hn_emit_reshape(g, g->dy[0], ry, y);
    memcpy(da, y, sizeof da);
    if (hn_grad_wants(g, 0)) {
        da[ry - 1] = a[ra - 1];
        hn_value *v = HN_EMIT2(g, "MatMul", dy, hn_emit_swapped(g, B, rb));
        hn_value *like = hn_grad_in(g, 0);
        hn_grad_give(g, 0,
                     rb == 2 ? hn_emit_shaped(g, v, like) : hn_emit_sum_to(g, v, ry, da, like));
    }
    if (hn_grad_wants(g, 1)) {
        memcpy(da, y, sizeof da);
        da[ry - 2] = b[rb - 2];
        hn_value *v = HN_EMIT2(g, "MatMul", hn_emit_swapped(g, A, ra), dy);
        hn_value *like = hn_grad_in(g, 1);
        hn_grad_give(g, 1,
                     rb == 2 ? hn_emit_shaped(g, v, like) : hn_emit_sum_to(g, v, ry, da, like));
    }
    return HONE_OK;
}

const hn_op_def hn_op_matmul = {
    .name = "MatMul",
    .versions = "1 9 13",
    .sig = "(A:T, B:T) -> (Y:T); T: float u32 u64 s32 s64",
    .role = HN_ROLE_PRODUCT,
    .weights =
        &(const hn_weights_def){
            .kind = HN_WEIGHT_MATRIX, .input = 1, .dynamic = "MatMulInteger", .use = use},
    .infer = infer,
    .ref = ref,
    .cost = cost,
    .grad = grad,
};
