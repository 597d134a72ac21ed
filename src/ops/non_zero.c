/* NonZero: the coordinates of the elements that are not zero, one row per axis. */
#include <string.h>

#include "ops/axes.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    (void)err;
    const hn_shape *x = hn_in_shape(c, 0);
    hn_shape y = {.rank = 2,
                  .dim = {hn_dim_fresh(c->dims, HONE_MAX_RANK), hn_dim_fresh(c->dims, -1)}};
    if (x->rank >= 0) {
        y.dim[0] = hn_dim_const(c->dims, x->rank);
        y.dim[1] = hn_dim_at_most(c->dims, hn_shape_product(c->dims, x, 0, x->rank));
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* 1 for each of n elements from `from` on that is not zero. A complex number is zero when both its
 * parts are; NaN is not zero. */
static void mark(const hn_tensor *x, int64_t from, int64_t n, uint8_t *marks) {
#define MARK(T)                                                                     \
    for (int64_t k = 0; k < n; k++) marks[k] = ((const T *)x->data)[from + k] != 0; \
    return
    switch (x->dtype) {
        case HONE_DTYPE_BOOL:
        case HONE_DTYPE_U8: MARK(uint8_t);
        case HONE_DTYPE_F32: MARK(float);
        case HONE_DTYPE_S32: MARK(int32_t);
        case HONE_DTYPE_S64: MARK(int64_t);
        default: break;
    }
#undef MARK
    hone_dtype t = x->dtype;
    int parts = hn_dtype_in(t, HN_DTYPES_COMPLEX) ? 2 : 1;
    if (parts == 2) t = t == HONE_DTYPE_C64 ? HONE_DTYPE_F32 : HONE_DTYPE_F64;
    for (int64_t k = 0; k < n; k++)
        marks[k] = hn_load_f64(t, x->data, (from + k) * parts) != 0 ||
                   hn_load_f64(t, x->data, (from + k) * parts + parts - 1) != 0;
}

/* The rest of a row: last axis, or all of a tensor without axes. */
static int64_t row_of(const hn_tensor *x) { return x->rank > 0 ? x->dims[x->rank - 1] : x->n; }

/* Writes the coordinates of the `found` elements of row r, whose last ones are in `columns`, behind
 * `at` others of n. */
static void put_row(const hn_tensor *x, int64_t r, const int64_t *columns, int64_t found,
                    int64_t *to, int64_t at, int64_t n) {
    for (int a = x->rank - 2; a >= 0; a--) {
        for (int64_t k = 0; k < found; k++) to[a * n + at + k] = r % x->dims[a];
        r /= x->dims[a];
    }
    if (x->rank > 0) memcpy(to + (x->rank - 1) * n + at, columns, (size_t)found * sizeof *columns);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    HN_CHECK(err, x->dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED, "strings have no zero");
    int64_t row = row_of(x), n = 0, at = 0;
    uint8_t *marks = hn_scratch(e, x->n, sizeof *marks);
    int64_t *columns = hn_scratch(e, row, sizeof *columns);
    if (marks == NULL || columns == NULL) return HN_NOMEM(err);
    mark(x, 0, x->n, marks);
    for (int64_t i = 0; i < x->n; i++) n += marks[i];
    HN_TRY(hn_eval_alloc(e, 0, HONE_DTYPE_S64, 2, (int64_t[]){x->rank, n}, err));
    hn_tensor *y = hn_eval_out(e, 0);
    for (int64_t r = 0; y != NULL && at < n; r++) {
        int64_t found = 0;
        for (int64_t k = 0; k < row; k++) {
            columns[found] = k; /* found is not above k */
            found += marks[r * row + k];
        }
        put_row(x, r, columns, found, y->data, at, n);
        at += found;
    }
    return HONE_OK;
}

const hn_op_def hn_op_non_zero = {
    .name = "NonZero",
    .versions = "9 13",
    .sig = "(X:T) -> (Y:s64); T: tensor",
    .traits = HN_DYNAMIC,
    .infer = infer,
    .ref = ref,
};
