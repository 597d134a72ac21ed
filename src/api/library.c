/* The tables of operators, kernels and metrics. */
#include "base/border.h"
#include "engine/lower.h"
#include "kernels/kernel.h"
#include "measure/gate.h"
#include "measure/metric.h"
#include "ops/grad.h"
#include "ops/op.h"

size_t hone_n_ops(void) { return (size_t)hn_n_ops; }

hone_status hone_op_sized(size_t i, hone_op_info *out, const hone_layout *caller, hone_error *err) {
    HN_CHECK(err, i < (size_t)hn_n_ops, HONE_E_ARG, "operator %zu was asked for, there are %d", i,
             hn_n_ops);
    const hn_op_def *op = hn_ops[i];
    hone_op_info own = {.domain = op->domain != NULL ? op->domain : "",
                        .name = op->name,
                        .versions = op->versions,
                        .signature = op->sig,
                        .runs = op->ref != NULL,
                        .infers = op->infer != NULL,
                        .costs = op->cost != NULL,
                        .differentiates = hn_op_has_grad(op),
                        .fast = hn_lower_has(op),
                        .int8 = hn_lower_has_int8(op),
                        .no_gradient = hn_op_no_grad(op)};
    HN_GIVE(out, &own, caller, op_info);
    return HONE_OK;
}

size_t hone_n_kernels(void) {
    size_t n = 0;
    for (int f = 0; f < hn_n_families; f++) n += (size_t)hn_families[f]->n_rows;
    return n;
}

hone_status hone_kernel_sized(size_t i, hone_kernel_info *out, const hone_layout *caller,
                              hone_error *err) {
    HN_CHECK(err, i < hone_n_kernels(), HONE_E_ARG, "kernel %zu was asked for, there are %zu", i,
             hone_n_kernels());
    int f = 0;
    while (i >= (size_t)hn_families[f]->n_rows) i -= (size_t)hn_families[f++]->n_rows;
    const hn_kernel *k = hn_families[f]->rows[i];
    hone_kernel_info own = {.family = hn_families[f]->name,
                            .name = k->name,
                            .help = hn_families[f]->help,
                            .isa = hn_isa_name(k->isa),
                            .order = k->order,
                            .available = (k->isa & hn_isa_available()) == k->isa,
                            .packs = k->pack != NULL};
    HN_GIVE(out, &own, caller, kernel_info);
    return HONE_OK;
}

size_t hone_n_metrics(void) {
    size_t n = 0;
    for (int m = 0; m < hn_n_metrics; m++)
        for (int v = 0; v < HN_METRIC_VALUES; v++) n += hn_metrics[m]->values[v].name != NULL;
    return n;
}

hone_status hone_metric_sized(size_t i, hone_metric_info *out, const hone_layout *caller,
                              hone_error *err) {
    size_t n = 0;
    for (int m = 0; m < hn_n_metrics; m++)
        for (int v = 0; v < HN_METRIC_VALUES && hn_metrics[m]->values[v].name != NULL; v++) {
            const hn_metric_name *value = &hn_metrics[m]->values[v];
            if (n++ != i) continue;
            hone_metric_info own = {value->name, value->help, value->is_share, value->lower_better};
            HN_GIVE(out, &own, caller, metric_info);
            return HONE_OK;
        }
    return HN_FAIL(err, HONE_E_ARG, "metric %zu was asked for, there are %zu", i, n);
}

double hone_gate_margin(double value, double reference, double max_drop, bool relative,
                        bool lower_better) {
    return hn_gate_margin(value, reference, max_drop, relative, lower_better);
}
