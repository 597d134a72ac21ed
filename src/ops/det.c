/* Det: determinants of the square matrices [.., M, M], by elimination with the largest pivot. */
#include <math.h>

#include "ops/op.h"

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

const hn_op_def hn_op_det = {
    .name = "Det",
    .versions = "11 22",
    .sig = "(X:T) -> (Y:T); T: float",
    .infer = infer,
    .ref = ref,
};
