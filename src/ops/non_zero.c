/* NonZero: the coordinates of the elements that are not zero, one row per axis. */
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

/* A complex number is zero when both its parts are; NaN is not zero. */
static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    HN_CHECK(err, x->dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED, "strings have no zero");
    hone_dtype t = x->dtype;
    int parts = 1;
    if (hn_dtype_in(t, HN_DTYPES_COMPLEX)) {
        t = t == HONE_DTYPE_C64 ? HONE_DTYPE_F32 : HONE_DTYPE_F64;
        parts = 2;
    }
    int64_t *found = hn_scratch(e, x->n, sizeof *found), n = 0;
    if (found == NULL) return HN_NOMEM(err);
    double block[256];
    int per_block = 256 / parts;
    for (int64_t i = 0; i < x->n; i += per_block) {
        int64_t part = x->n - i < per_block ? x->n - i : per_block;
        hn_load_f64_n(t, x->data, i * parts, part * parts, block);
        for (int64_t k = 0; k < part; k++)
            if (block[k * parts] != 0 || block[k * parts + parts - 1] != 0) found[n++] = i + k;
    }
    int64_t dims[2] = {x->rank, n};
    HN_TRY(hn_eval_alloc(e, 0, HONE_DTYPE_S64, 2, dims, err));
    hn_tensor *y = hn_eval_out(e, 0);
    int64_t *to = y != NULL ? y->data : NULL;
    for (int64_t k = 0; to != NULL && k < n; k++) {
        int64_t rest = found[k];
        for (int a = x->rank - 1; a >= 0; a--) {
            to[a * n + k] = rest % x->dims[a];
            rest /= x->dims[a];
        }
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
