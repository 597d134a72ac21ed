/* EyeLike: a matrix of the input's shape with ones on the k-th diagonal. */
#include <string.h>

#include "ops/op.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    hone_dtype t = c->in[0].dtype;
    HN_TRY(hn_want_rank(c, 0, 2, 2, err));
    if (hn_node_attr(c->node, "dtype") != NULL) {
        int64_t wanted = hn_attr_i(c->node, "dtype");
        const hn_dtypes allowed = hn_op_sig(c->node->op)->out[0].types;
        HN_CHECK(
            err,
            wanted > 0 && wanted < HONE_DTYPE_COUNT_ && hn_dtype_in((hone_dtype)wanted, allowed),
            HONE_E_TYPE, "dtype is %lld, which the operator does not give", (long long)wanted);
        t = (hone_dtype)wanted;
    }
    hn_set_dtype(c, 0, t);
    return hn_infer_same(c, err);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    hn_tensor *y = e->out[0];
    int64_t rows = y->dims[0], cols = y->dims[1], k = hn_attr_i(e->node, "k");
    memset(y->data, 0, y->bytes);
    if (k <= -rows || k >= cols) return HONE_OK;
    for (int64_t r = k < 0 ? -k : 0; r < rows && r + k < cols; r++)
        hn_store_s64(y->dtype, y->data, r * cols + r + k, 1);
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_OPT("dtype", INT), HN_ATTR_I("k", 0), {0}};

const hn_op_def hn_op_eye_like = {
    .name = "EyeLike",
    .versions = "9 22",
    .sig = "(input:T1) -> (output:T2); T1: num bool; T2: num bool",
    .attrs = attrs,
    .derivative = "0" /* of its input it reads the shape alone */,
    .infer = infer,
    .ref = ref,
};
