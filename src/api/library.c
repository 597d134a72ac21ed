/* The tables of operators and kernels. */
#include "engine/lower.h"
#include "kernels/kernel.h"
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
                          .differentiates = op->grad != NULL,
                          .fast = hn_lower_has(op),
                          .int8 = hn_lower_has_int8(op)};
    return HONE_OK;
}

size_t hone_n_kernels(void) {
    size_t n = 0;
    for (int f = 0; f < hn_n_families; f++) n += (size_t)hn_families[f]->n_rows;
    return n;
}

hone_status hone_kernel(size_t i, hone_kernel_info *out, hone_error *err) {
    HN_CHECK(err, i < hone_n_kernels(), HONE_E_ARG, "kernel %zu was asked for, there are %zu", i,
             hone_n_kernels());
    int f = 0;
    while (i >= (size_t)hn_families[f]->n_rows) i -= (size_t)hn_families[f++]->n_rows;
    const hn_kernel *k = hn_families[f]->rows[i];
    *out = (hone_kernel_info){.family = hn_families[f]->name,
                              .name = k->name,
                              .help = hn_families[f]->help,
                              .isa = hn_isa_name(k->isa),
                              .order = k->order,
                              .available = (k->isa & hn_isa_available()) == k->isa,
                              .packs = k->pack != NULL};
    return HONE_OK;
}
