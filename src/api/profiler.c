/* hone_profile: several profiled runs, and what they mean. */
#include <string.h>
#include <time.h>

#include "advise/profile.h"
#include "api/api.h"
#include "base/cpu.h"
#include "measure/counters.h"

typedef struct held {
    hone_profile profile;
    hn_allocator alloc;
    hn_arena arena;
} held;

HN_DEFINE_OPTIONS(profile, .runs = 10, .samples = 1)

void hone_profile_destroy(hone_profile *p) {
    if (p == NULL) return;
    held *h = p->owner;
    hn_shown_free(p, &h->profile);
    hn_arena_deinit(&h->arena);
    hn_free(hn_allocator_default(), h);
}

const hone_profile *hn_api_profile(const hone_profile *shown) {
    return shown != NULL && shown->owner != NULL ? &((const held *)shown->owner)->profile : shown;
}

/* What is run, again and again. */
typedef struct job {
    hone_session *session;
    size_t n_in, n_out;
    const hone_value *in;
    hone_value *out;
    hone_profile_options o;
} job;

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static hone_status progress(const job *j, int64_t done, hn_error *err) {
    HN_CHECK(err, j->o.progress == NULL || j->o.progress(j->o.progress_ctx, done, j->o.runs),
             HONE_E_LIMIT, "stopped");
    return HONE_OK;
}

static hone_status run_all(const job *j, hn_recording *r, double *cpu, hn_error *err) {
    HN_TRY(hone_session_run(j->session, j->n_in, j->in, j->n_out, j->out, err));
    for (int64_t i = 0; i < j->o.runs; i++) {
        HN_TRY(progress(j, i, err));
        double before = cpu_ms();
        hn_recording_begin(r, i);
        HN_TRY(hone_session_profile(j->session, j->n_in, j->in, j->n_out, j->out, hn_recording_step,
                                    r, err));
        HN_TRY(hn_recording_end(r, err));
        *cpu += cpu_ms() - before;
    }
    *cpu /= (double)j->o.runs;
    return progress(j, j->o.runs, err);
}

/* ---- counters ---- */

typedef struct counting {
    hn_counters counters;
    double last[HN_COUNTER_COUNT_];
    hone_step_profile *steps;
    size_t n, at;
} counting;

static double grown(const double *now, const double *last, hn_counter c) {
    return now[c] >= 0 && last[c] >= 0 ? now[c] - last[c] : -1;
}

/* What the counters grew by since the step before is this one's. */
static void count_step(void *ctx, const hone_step_info *info) {
    (void)info;
    counting *c = ctx;
    double now[HN_COUNTER_COUNT_];
    if (c->at == c->n) return;
    hn_counters_read(&c->counters, now);
    hone_step_profile *s = &c->steps[c->at++];
    s->cycles = grown(now, c->last, HN_COUNTER_CYCLES);
    s->instructions = grown(now, c->last, HN_COUNTER_INSTRUCTIONS);
    s->cache_misses = grown(now, c->last, HN_COUNTER_CACHE_MISSES);
    hn_counters_read(&c->counters, c->last);
}

static hone_status count(const job *j, hn_recording *r, hn_error *err) {
    counting c = {.steps = r->steps, .n = r->n_steps};
    if (!j->o.counters || !hn_counters_open(&c.counters)) return HONE_OK;
    hn_counters_read(&c.counters, c.last);
    hone_status status =
        hone_session_profile(j->session, j->n_in, j->in, j->n_out, j->out, count_step, &c, err);
    hn_counters_close(&c.counters);
    return status;
}

/* ---- all of it ---- */

static hone_status fill(held *h, const job *j, hn_error *err) {
    hone_profile *p = &h->profile;
    hn_recording r;
    HN_TRY(hn_recording_init(&r, j->o.runs, &h->arena, err));
    hone_status status = run_all(j, &r, &p->cpu_ms, err);
    if (status == HONE_OK) status = count(j, &r, err);
    hn_profile_facts f = {.machine = hn_api_machine(j->o.machine),
                          .threads = hone_session_threads(j->session),
                          .cores = hn_cpu_available(),
                          .isa = hone_session_isa(j->session),
                          .samples = j->o.samples,
                          .max_ms = j->o.max_latency_ms,
                          .memory = hone_session_memory(j->session)};
    p->threads = f.threads;
    if (status == HONE_OK) status = hn_recording_finish(&r, &f, p, err);
    if (status == HONE_OK) status = hn_profile_judge(p, &f, &h->arena, err);
    hn_recording_deinit(&r);
    return status;
}

static hone_status create(hone_profile **out, const job *j, hn_error *err) {
    held *h = hn_alloc_zero(hn_allocator_default(), sizeof *h, HN_MEM_OTHER);
    if (h == NULL) return HN_NOMEM(err);
    hn_allocator_init(&h->alloc);
    hn_arena_init(&h->arena, &h->alloc, HN_MEM_OTHER);
    h->profile.size = sizeof h->profile;
    h->profile.owner = h;
    hone_status status = fill(h, j, err);
    if (status == HONE_OK)
        *out = &h->profile;
    else
        hone_profile_destroy(&h->profile);
    return status;
}

hone_status hone_profile_create_sized(hone_profile **out, hone_session *session, size_t n_in,
                                      const hone_value *in, size_t n_out, hone_value *outputs,
                                      const hone_profile_options *options,
                                      const hone_layout *caller, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(profile, steps, n_steps, step_profile),
                                    HN_LIST(profile, verdicts, n_verdicts, verdict)};
    job j = {.session = session, .n_in = n_in, .n_out = n_out};
    hone_profile *made = NULL;
    hn_api_values v;
    HN_TRY(HN_TAKE_OPTIONS(profile, &j.o, options, err));
    if (j.o.runs == 0) j.o.runs = 10;
    if (j.o.samples == 0) j.o.samples = 1;
    HN_CHECK(err, j.o.runs > 0 && j.o.samples > 0, HONE_E_ARG,
             "runs is %lld and samples is %lld, expected 0 or more", (long long)j.o.runs,
             (long long)j.o.samples);
    HN_TRY(hn_api_take_values(&v, n_in, in, n_out, outputs, caller, err));
    j.in = v.in.own;
    j.out = v.out.own;
    hone_status status = create(&made, &j, err);
    hn_api_give_values(&v, outputs);
    HN_TRY(status);
    HN_HAND_OUT(out, made, lists, caller, profile, err);
}
