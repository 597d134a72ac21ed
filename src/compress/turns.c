#include "compress/turns.h"

#include <math.h>

#include "base/clock.h"

/* Of each model; more than LEAST_RUNS only while both together took less than ENOUGH_NS. */
enum { LEAST_RUNS = 8, MOST_RUNS = 60, ENOUGH_NS = 400000000 };

hone_status hn_turns_begin(hn_turns *t, const hn_transform_ctx *c, hn_error *err) {
    *t = (hn_turns){.c = c};
    HN_TRY(hn_timed_inputs(c, t->in, err));
    return hn_program_create(&t->original, c->model, c->how, err);
}

void hn_turns_deinit(hn_turns *t) {
    hn_program_destroy(t->original);
    for (int i = 0; i < HN_TIMED_INPUTS; i++) hn_tensor_unref(t->in[i]);
    *t = (hn_turns){0};
}

static hone_status run(const hn_turns *t, hn_program *p, hn_tensor **out, double *least_ms,
                       hn_error *err) {
    int64_t begun = hn_clock_ns();
    HN_TRY(hn_program_run(p, (const hn_tensor *const *)t->in, out, err));
    *least_ms = fmin(*least_ms, 1e-6 * (double)(hn_clock_ns() - begun));
    for (int i = 0; i < t->c->model->graph->n_outputs; i++) hn_tensor_unref(out[i]);
    return HONE_OK;
}

hone_status hn_turns_time(const hn_turns *t, const hn_model *m, double *was_ms, double *is_ms,
                          hn_error *err) {
    const hn_transform_ctx *c = t->c;
    size_t n = (size_t)c->model->graph->n_outputs;
    hn_run_options how = hn_run_options_for(c->how, m);
    hn_tensor **out = hn_alloc_array(c->alloc, n + 1, sizeof *out, HN_MEM_OTHER);
    hn_program *p = NULL;
    hone_status status = out != NULL ? hn_program_create(&p, m, &how, err) : HN_NOMEM(err);
    int64_t begun = hn_clock_ns();
    /* The first run of each warms up. */
    for (int i = 0; i <= MOST_RUNS && status == HONE_OK; i++) {
        if (i > LEAST_RUNS && hn_clock_ns() - begun > ENOUGH_NS) break;
        if (i <= 1) *was_ms = *is_ms = INFINITY;
        status = run(t, t->original, out, was_ms, err);
        if (status == HONE_OK) status = run(t, p, out, is_ms, err);
    }
    hn_program_destroy(p);
    hn_free(c->alloc, out);
    return status;
}
