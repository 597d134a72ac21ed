/* Trilu: of each matrix the part on and above (upper) or on and below the k-th diagonal; the rest
 * is zero. */
#include <string.h>

#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/strided.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 0, 2, HONE_MAX_RANK, err));
    int64_t k;
    bool known;
    if (hn_has_in(c, 1)) HN_TRY(hn_one_int(c, 1, &k, &known, err));
    return hn_infer_same(c, err);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *k_in = hn_eval_in(e, 1);
    hn_tensor *y = e->out[0];
    bool upper = hn_attr_i(e->node, "upper") != 0;
    HN_TRY(hn_movable(x, err));
    if (x->n == 0) return HONE_OK;
    int64_t rows = x->dims[x->rank - 2], cols = x->dims[x->rank - 1];
    int64_t k = k_in != NULL ? hn_tensor_s64(k_in, 0) : 0;
    k = k < -rows ? -rows : k > cols ? cols : k; /* further out nothing changes */
    memset(y->data, 0, y->bytes);
    for (int64_t r = 0; r < x->n / cols; r++) {
        int64_t diagonal = r % rows + k;
        int64_t lo = upper ? diagonal : 0, hi = upper ? cols : diagonal + 1;
        if (lo < 0) lo = 0;
        if (hi > cols) hi = cols;
        hn_copy_run(x->dtype, y->data, r * cols + lo, x->data, r * cols + lo, hi - lo);
    }
    return HONE_OK;
}

/* What is kept of x is kept of its gradient. */
static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    hn_value *in[] = {g->dy[0], hn_grad_in(g, 1)};
    hn_node *n = hn_emit_node(g, "", "Trilu", 1, 2, in);
    hn_emit_copied(g, n, "upper");
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("upper", 1), {0}};

const hn_op_def hn_op_trilu = {
    .name = "Trilu",
    .versions = "14",
    .sig = "(input:T, k:s64?) -> (output:T); T: tensor",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
