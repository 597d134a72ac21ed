#include "compress/judge.h"

#include <stdio.h>

#include "measure/accuracy.h"

static hone_status run_program(void *ctx, const hn_tensor *const *in, hn_tensor **out,
                               hn_error *err) {
    return hn_program_run(ctx, in, out, err);
}

hone_status hn_judge(hn_judgement *out, const hn_model *m, hn_dataset *data,
                     const hn_run_options *how, hn_allocator *alloc, hn_error *err) {
    hone_eval_options o = {.size = sizeof o};
    hone_evaluation *e = NULL;
    hn_run_options own = hn_run_options_for(how, m);
    hn_program *p;
    HN_TRY(hn_program_create(&p, m, &own, err));
    hone_status status =
        hn_accuracy_measure(m->graph, run_program, p, data, &o, alloc, alloc, &e, err);
    hn_program_destroy(p);
    if (status == HONE_OK && e->n_metrics > 0) {
        const hone_metric_value *v = &e->metrics[0];
        *out = (hn_judgement){
            .value = v->value, .is_share = v->is_share, .lower_better = v->lower_better};
        snprintf(out->metric, sizeof out->metric, "%s", v->name);
    }
    hn_evaluation_destroy(e);
    return status;
}
