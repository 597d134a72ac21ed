/* MatMul: numpy's matmul. */
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
};
