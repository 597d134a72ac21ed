/* The loop over the steps of a plan that shows its outputs as soon as they are made. */
#include "engine/engine.h"

static hone_status show(const hn_context *c, const hn_shown_output *s, const hn_run *r,
                        hn_error *err) {
    hn_tensor t;
    HN_TRY(hn_context_output(c, s->output, &t, err));
    return r->show(r->show_ctx, s->output, &t, err);
}

hone_status hn_context_loop_shown(hn_context *c, const hn_plan *p, const hn_run *r, hn_error *err) {
    const hn_shown_output *next = p->shown, *end = next + p->model->graph->n_outputs;
    for (int i = -1; i < p->n_steps; i++) {
        if (i >= 0) HN_TRY(hn_context_step(c, i, r, err));
        for (; next < end && next->step == i; next++) HN_TRY(show(c, next, r, err));
    }
    return HONE_OK;
}
