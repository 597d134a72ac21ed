/* The loop over the steps of a plan that tells how long each took. */
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/together.h"

typedef struct set {
    const hn_context *c;
    const hn_plan *plan;
    int first;
    hn_step_time *times; /* of its steps */
} set;

static void run_lane_of_set(void *ctx, int64_t lane) {
    const set *t = ctx;
    for (int i = 0; i < t->plan->steps[t->first]->together; i++) {
        const hn_step *s = t->plan->steps[t->first + i];
        if (s->lane != lane + 1) continue;
        t->times[i] = (hn_step_time){.step = s, .begin_ns = hn_clock_ns()};
        hn_context_lane_step(t->c, t->first + i, lane);
        t->times[i].end_ns = hn_clock_ns();
    }
}

static void run_set(const hn_context *c, const hn_plan *p, int first, const hn_run *r) {
    hn_step_time times[HN_MOST_TOGETHER];
    set t = {c, p, first, times};
    int n = p->steps[first]->together, lanes = n < p->lanes ? n : p->lanes;
    hn_pool_run(r->pool, lanes, run_lane_of_set, &t);
    for (int i = 0; i < n; i++) r->times(r->times_ctx, &times[i]);
}

hone_status hn_context_loop_timed(hn_context *c, const hn_plan *p, const hn_run *r, hn_error *err) {
    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i]->together > 0) {
            run_set(c, p, i, r);
            i += p->steps[i]->together - 1;
            continue;
        }
        hn_step_time t = {.step = p->steps[i], .begin_ns = hn_clock_ns()};
        HN_TRY(hn_context_step(c, i, r, err));
        if (t.step->space != HN_SPACE_HOST) HN_TRY(hn_context_wait(c, err));
        t.end_ns = hn_clock_ns();
        r->times(r->times_ctx, &t);
    }
    return HONE_OK;
}
