/* CheckFinite: what it is given, where all of it is finite; else an error.
 *
 * A step of training ends in it before anything that is kept from step to step is changed in place
 * (hn_plan.replaces): a loss that is not finite leaves parameters and moments as they were, and
 * whoever asks why can run the step again. */
#include <math.h>

#include "ops/grad.h"

static hone_status infer(hn_infer *c, hn_error *err) { return hn_infer_same(c, err); }

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    for (int64_t i = 0; i < x->n; i++)
        hn_store_f64(e->out[0]->dtype, e->out[0]->data, i, hn_tensor_f64(x, i));
    for (int64_t i = 0; i < x->n; i++)
        HN_CHECK(err, isfinite(hn_tensor_f64(x, i)), HONE_E_ARG, "element %lld is %g", (long long)i,
                 hn_tensor_f64(x, i));
    return HONE_OK;
}

const hn_op_def hn_op_train_check_finite = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "CheckFinite",
    .versions = "1",
    .sig = "(X:T) -> (Y:T); T: float",
    .infer = infer,
    .ref = ref,
};
