/* Profiles: the steps of several runs as medians, placed under the machine's limits. */
#ifndef HN_ADVISE_PROFILE_H
#define HN_ADVISE_PROFILE_H

#include "base/arena.h"
#include "base/error.h"

/* What is known besides the steps. */
typedef struct hn_profile_facts {
    const hone_machine *machine; /* NULL: limits are not known */
    int threads, cores;          /* of the session; that it may use */
    const char *isa;             /* the strongest that the session may use */
    int64_t samples;             /* a run takes */
    double max_ms;               /* a run may take; 0: not told */
    hone_memory_use memory;
} hn_profile_facts;

/* Runs while they are recorded. A step is known by its number within a run. */
typedef struct hn_recording {
    hn_arena *arena;          /* of the profile */
    int64_t n_runs, run;      /* run: the one that goes on */
    size_t n_steps, capacity; /* met so far */
    size_t at;                /* the step that comes next */
    hone_step_profile *steps;
    double *ms;                /* by step and run; negative: the run did not come to it */
    double *wall_ms, *covered; /* by run */
    double sum_ms;             /* of the steps of this run */
    int64_t begun_ns;          /* the run did */
    hone_status status;        /* since the callback cannot fail */
} hn_recording;

hone_status hn_recording_init(hn_recording *r, int64_t n_runs, hn_arena *arena, hn_error *err);
void hn_recording_deinit(hn_recording *r); /* what finish has made stays */
/* Between these, the steps of run number `run`. */
void hn_recording_begin(hn_recording *r, int64_t run);
void hn_recording_step(void *recording, const hone_step_info *info);
hone_status hn_recording_end(hn_recording *r, hn_error *err);
/* Fills in all of p but what facts are for: threads, processor time, verdicts. */
hone_status hn_recording_finish(hn_recording *r, const hn_profile_facts *f, hone_profile *p,
                                hn_error *err);

/* The questions to ask of a profile of a CPU, answered as far as p and f tell (verdict.c). */
hone_status hn_profile_judge(hone_profile *p, const hn_profile_facts *f, hn_arena *arena,
                             hn_error *err);

#endif
