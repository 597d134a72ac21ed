/* What the MatMul operators share: numpy's matmul over stacks of matrices, as a shape rule and as
 * a plan for the reference product. */
#ifndef HN_OPS_MATMUL_REF_H
#define HN_OPS_MATMUL_REF_H

#include "ops/gemm_ref.h"

/* How the last axes of an operand are read: 0 is [..., rows, cols]. */
typedef enum hn_matmul_flags {
    HN_TRANS_A = 1, /* [..., cols, rows] */
    HN_TRANS_B = 2,
    HN_TRANS_BATCH_A = 4, /* the first axis is the row (with TRANS: the column) axis and the batch
                             axes follow it: [rows, ..., cols] */
    HN_TRANS_BATCH_B = 8,
} hn_matmul_flags;

/* Output 0 from the shapes of inputs a and b, the 1-d forms included (a vector is a row on the
 * left, a column on the right, and its axis of 1 is dropped from the result). Flags do not apply to
 * vectors. */
hone_status hn_matmul_infer(hn_infer *c, int a, int b, unsigned flags, hn_error *err);
/* Multiply-accumulates of the same. */
void hn_matmul_cost(const hn_infer *c, int a, int b, unsigned flags, hn_cost *cost);

typedef struct hn_matmul {
    int64_t n_batch, m, n, k;
    hn_strided_matrix a, b; /* without zero points */
    hn_dense_out out;
} hn_matmul;

/* The numbers of a product whose shapes hn_matmul_infer accepted. y: where the result goes; its
 * elements are those of [n_batch, m, n]. */
hone_status hn_matmul_plan(hn_eval *e, const hn_tensor *a, const hn_tensor *b, unsigned flags,
                           hn_tensor *y, hn_matmul *plan, hn_error *err);

/* Scales and zero points of an operand: one for all, one for each row of A or column of B, or one
 * for each row or column of each matrix of the stack ([..., M, 1] or [..., 1, N]). Without flags
 * only. */
hone_status hn_matmul_param_infer(const hn_infer *c, int operand, int param, bool left,
                                  hn_error *err);

/* The parameter of row (of A) or column (of B) i in batch b is number start[b] + i * stride. */
typedef struct hn_matmul_param {
    const int64_t *start; /* NULL: 0 */
    int64_t stride;
} hn_matmul_param;

hone_status hn_matmul_param_plan(hn_eval *e, const hn_matmul *plan, const hn_tensor *param,
                                 bool left, hn_matmul_param *out, hn_error *err);

static inline int64_t hn_matmul_param_at(const hn_matmul_param *p, int64_t batch, int64_t i) {
    return (p->start != NULL ? p->start[batch] : 0) + i * p->stride;
}

/* Sets the zero points of both operands of a product of integers; either tensor may be NULL. */
hone_status hn_matmul_zeros(hn_eval *e, hn_matmul *plan, const hn_tensor *a_zero,
                            const hn_tensor *b_zero, hn_error *err);

#endif
