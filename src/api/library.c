/* The operator table and the version. */
#include "ops/op.h"

size_t hone_n_ops(void) { return (size_t)hn_n_ops; }

hone_status hone_op(size_t i, hone_op_info *out, hone_error *err) {
    HN_CHECK(err, i < (size_t)hn_n_ops, HONE_E_ARG, "operator %zu was asked for, there are %d", i,
             hn_n_ops);
    const hn_op_def *op = hn_ops[i];
    *out = (hone_op_info){.domain = op->domain != NULL ? op->domain : "",
                          .name = op->name,
                          .versions = op->versions,
                          .signature = op->sig,
                          .runs = op->ref != NULL,
                          .infers = op->infer != NULL,
                          .costs = op->cost != NULL,
                          .differentiates = op->grad != NULL};
    return HONE_OK;
}

const char *hone_version(void) { return HN_VERSION; }
