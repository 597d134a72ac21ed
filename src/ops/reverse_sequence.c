/* ReverseSequence: of each sample the first sequence_lens[sample] steps in reverse order; the rest
 * stays. Time and batch are axes 0 and 1, in either order. */
#include "ops/grad.h"
#include "ops/strided.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0), *lens = hn_in_shape(c, 1);
    int64_t batch = hn_attr_i(c->node, "batch_axis"), time = hn_attr_i(c->node, "time_axis");
    HN_CHECK(err, (batch == 0 && time == 1) || (batch == 1 && time == 0), HONE_E_ARG,
             "batch_axis is %lld and time_axis %lld, expected 0 and 1 or 1 and 0", (long long)batch,
             (long long)time);
    HN_TRY(hn_want_rank(c, 0, 2, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, 1, 1, 1, err));
    if (x->rank >= 0 && lens->rank == 1)
        HN_TRY(hn_want_equal(x->dim[batch], lens->dim[0], "batch sizes of input and sequence_lens",
                             err));
    hn_set_shape(c, 0, x);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *lens = e->in[1];
    hn_tensor *y = e->out[0];
    int batch = (int)hn_attr_i(e->node, "batch_axis");
    int64_t steps = x->dims[1 - batch], run = 1;
    HN_TRY(hn_movable(x, err));
    for (int64_t b = 0; b < lens->n; b++) {
        int64_t n = hn_tensor_s64(lens, b);
        HN_CHECK(err, n >= 0 && n <= steps, HONE_E_ARG,
                 "sequence_lens has %lld for sample %lld, expected 0 to %lld", (long long)n,
                 (long long)b, (long long)steps);
    }
    if (x->n == 0) return HONE_OK;
    for (int i = 2; i < x->rank; i++) run *= x->dims[i];
    for (int64_t i = 0; i < x->dims[0]; i++)
        for (int64_t k = 0; k < x->dims[1]; k++) {
            int64_t b = batch == 0 ? i : k, t = batch == 0 ? k : i, n = hn_tensor_s64(lens, b);
            int64_t from = t < n ? n - 1 - t : t;
            int64_t row = batch == 0 ? i * steps + from : from * x->dims[1] + k;
            hn_copy_run(x->dtype, y->data, (i * x->dims[1] + k) * run, x->data, row * run, run);
        }
    return HONE_OK;
}

/* Reversed again. */
static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    hn_value *in[] = {g->dy[0], hn_grad_in(g, 1)};
    hn_node *n = hn_emit_node(g, "", "ReverseSequence", 1, 2, in);
    hn_emit_copied(g, n, "batch_axis");
    hn_emit_copied(g, n, "time_axis");
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("batch_axis", 1), HN_ATTR_I("time_axis", 0), {0}};

const hn_op_def hn_op_reverse_sequence = {
    .name = "ReverseSequence",
    .versions = "10 28",
    .sig = "(input:T, sequence_lens:s64) -> (Y:T); T: tensor",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
