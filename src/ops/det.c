/* Det: determinants of the square matrices [.., M, M], by elimination with the largest pivot. */
#include <math.h>

#include "ops/grad.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(hn_want_rank(c, 0, 2, HONE_MAX_RANK, err));
    if (x->rank < 0) return HONE_OK;
    HN_TRY(
        hn_want_equal(x->dim[x->rank - 2], x->dim[x->rank - 1], "the sides of the matrices", err));
    hn_shape y = *x;
    y.rank -= 2;
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* a [m, m] is used up. The determinant of no rows is 1. */
static double det(double *a, int64_t m) {
    double product = 1;
    for (int64_t k = 0; k < m; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < m; i++)
            if (fabs(a[i * m + k]) > fabs(a[pivot * m + k])) pivot = i;
        if (a[pivot * m + k] == 0) return 0;
        if (pivot != k) product = -product;
        for (int64_t j = k; j < m; j++) {
            double swap = a[k * m + j];
            a[k * m + j] = a[pivot * m + j];
            a[pivot * m + j] = swap;
        }
        product *= a[k * m + k];
        for (int64_t i = k + 1; i < m; i++) {
            double factor = a[i * m + k] / a[k * m + k];
            for (int64_t j = k + 1; j < m; j++) a[i * m + j] -= factor * a[k * m + j];
        }
    }
    return product;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    int64_t m = x->dims[x->rank - 1], size = y->n > 0 ? x->n / y->n : 0;
    double *a = hn_scratch(e, size, sizeof *a);
    if (a == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < y->n; i++) {
        hn_load_f64_n(x->dtype, x->data, i * size, size, a);
        hn_store_f64(y->dtype, y->data, i, det(a, m));
    }
    return HONE_OK;
}

/* The matrices without row i and column k, for all i and k, are of m^4 elements. */
enum { MOST_ROWS = 16 };

/* The cofactors: determinants without row i and column k, with the signs of a chessboard. That is
 * right where the determinant is 0 too, and there is no inverse. */
static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], batch = 1, *from;
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    if (g->status != HONE_OK) return HONE_OK;
    int64_t m = dims[rank - 1];
    if (m > MOST_ROWS) return hn_grad_refuse(g, "its matrices have more than 16 rows", err);
    for (int i = 0; i < rank - 2; i++) batch *= dims[i];
    const int64_t flat[] = {batch, m * m}, minors[] = {m * m, m > 0 ? m - 1 : 0, m > 0 ? m - 1 : 0};
    hn_tensor *sign;
    hn_value *index = hn_emit_indices(g, 3, minors, &from);
    hn_value *signs = hn_emit_table(g, 1, &flat[1], &sign);
    if (index == NULL || signs == NULL) return HONE_OK;
    for (int64_t k = 0; k < m * m; k++) {
        hn_store_f64(sign->dtype, sign->data, k, (k / m + k % m) % 2 == 0 ? 1 : -1);
        for (int64_t e = 0; e < m * m; e++)
            if (e / m != k / m && e % m != k % m) *from++ = e;
    }
    hn_value *in[] = {hn_emit_reshape(g, hn_grad_in(g, 0), 2, flat), index};
    if (in[0] == NULL) return HONE_OK;
    hn_node *gather = hn_emit_node(g, "", "Gather", 1, 2, in);
    hn_emit_i(g, gather, "axis", 1);
    const int64_t column[] = {batch, 1};
    hn_value *slope = HN_TEXT(g, "Det(a) * b * c", hn_emitted(gather, 0), signs,
                              hn_emit_reshape(g, g->dy[0], 2, column));
    hn_grad_give(g, 0, hn_emit_reshape(g, slope, rank, dims));
    return HONE_OK;
}

const hn_op_def hn_op_det = {
    .name = "Det",
    .versions = "11 22",
    .sig = "(X:T) -> (Y:T); T: float",
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
