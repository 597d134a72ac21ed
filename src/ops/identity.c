#include "ops/strided.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_infer_same(c, err));
    hn_infer_same_values(c);
    return HONE_OK;
}

const hn_op_def hn_op_identity = {.name = "Identity",
                                  .versions = "1 13 14 16 19 21 23 24 25",
                                  .sig = "(input:V) -> (output:V); V: all",
                                  .traits = HN_VIEW,
                                  .mixing = HN_MIXES_NOTHING,
                                  .infer = infer,
                                  .ref = hn_ref_copy};
