#include "ops/broadcast.h"

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    if (e->in[0]->bytes > 0) memcpy(e->out[0]->data, e->in[0]->data, e->in[0]->bytes);
    return HONE_OK;
}

static hn_dim known(hn_infer *c, const hn_dim *x) {
    (void)c;
    return x[0];
}

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_infer_same(c, err));
    hn_follow_values(c, known);
    return HONE_OK;
}

const hn_op_def hn_op_identity = {.name = "Identity",
                                  .versions = "1 13 14 16 19 21 23 24 25",
                                  .sig = "(input:V) -> (output:V); V: all",
                                  .traits = HN_ELEMENTWISE | HN_LAYOUT_FREE | HN_VIEW,
                                  .quant = HN_QUANT_PASS,
                                  .infer = infer,
                                  .ref = ref};
