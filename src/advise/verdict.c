/* The questions practitioners ask of a profile, answered by numbers that are already there. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "advise/profile.h"
#include "advise/roofline.h"

enum { MOST = 16, GROUPS = 64 };
#define ADDS_UP 1.2 /* times the sum of the steps: what a run on a quiet machine stays below */

typedef struct judge {
    const hone_profile *p;
    const hn_profile_facts *f;
    hn_arena *arena;
    hone_verdict *list;
    size_t n;
    bool failed; /* out of memory */
} judge;

HONE_PRINTF(2, 3)
static const char *text(judge *j, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *copy = hn_arena_vformat(j->arena, format, args);
    va_end(args);
    j->failed = j->failed || copy == NULL;
    return copy;
}

static void say(judge *j, const char *question, const char *answer, const char *evidence) {
    j->list[j->n++] = (hone_verdict){question, answer, evidence};
}

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/* ---- time by kind ---- */

typedef struct group {
    const char *name;
    double ms;
} group;

typedef const char *name_fn(const hone_step_profile *s);
static const char *op_of(const hone_step_profile *s) { return s->op; }
static const char *isa_of(const hone_step_profile *s) {
    return s->family != NULL ? s->isa : "references";
}
static const char *bound_of(const hone_step_profile *s) {
    return s->bound != NULL ? s->bound : "unknown";
}

/* The slowest first; kinds beyond the last place are left out. */
static int groups_of(const hone_profile *p, name_fn *name, group *groups) {
    int n = 0;
    for (size_t i = 0; i < p->n_steps; i++) {
        const char *of = name(&p->steps[i]);
        int k = 0;
        while (k < n && strcmp(groups[k].name, of) != 0) k++;
        if (k == GROUPS) continue;
        if (k == n) groups[n++] = (group){of, 0};
        groups[k].ms += p->steps[i].ms;
    }
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && groups[k].ms > groups[k - 1].ms; k--) {
            group t = groups[k];
            groups[k] = groups[k - 1];
            groups[k - 1] = t;
        }
    return n;
}

/* "Conv+Relu 62 %, MaxPool 10 %" */
static const char *shares(judge *j, const group *groups, int n, int most) {
    char line[300];
    size_t at = 0;
    line[0] = '\0';
    for (int i = 0; i < n && i < most && at < sizeof line; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%.80s %.0f %%", i > 0 ? ", " : "",
                               groups[i].name, percent(groups[i].ms, j->p->ms));
    return text(j, "%s", line);
}

static double share_of(const group *groups, int n, const char *name, double whole) {
    for (int i = 0; i < n; i++)
        if (strcmp(groups[i].name, name) == 0) return whole > 0 ? groups[i].ms / whole : 0;
    return 0;
}

/* ---- questions ---- */

/* Each step has its median of all runs. A machine that is busy slows down some steps of every run,
 * not the same ones: the median of the runs then lies far above the sum of the medians of the
 * steps, and neither says what an undisturbed run takes. */
static void adds_up(judge *j) {
    const hone_profile *p = j->p;
    double in_steps = p->wall_ms * p->coverage;
    if (!(in_steps > ADDS_UP * p->ms)) return;
    say(j, "do the steps add up to the run",
        "no: others used the cores, so measure again on a quiet machine",
        text(j, "the steps of a run take %.3g ms, the medians of the steps %.3g ms in sum",
             in_steps, p->ms));
}

static void cores(judge *j) {
    double busy = j->p->wall_ms > 0 ? j->p->cpu_ms / j->p->wall_ms : 0;
    int threads = j->f->threads, all = j->f->cores;
    const char *answer = busy >= 0.8 * all ? "yes"
                         : threads < all
                             ? "no: it has fewer threads than there are cores"
                             : "no: some steps are too short to share out, or do not split";
    say(j, "are all cores used", answer, text(j, "%.1f of %d cores are busy", busy, all));
    answer = threads == all  ? "yes"
             : threads > all ? "no: more threads than cores (try fewer)"
                             : "only if something else uses the other cores";
    say(j, "do the threads fit", answer, text(j, "%d threads, %d cores", threads, all));
}

static void slowest(judge *j) {
    group groups[GROUPS];
    int n = groups_of(j->p, op_of, groups);
    if (n > 0) say(j, "which operations are slowest", groups[0].name, shares(j, groups, n, 4));
}

static void units(judge *j) {
    group groups[GROUPS];
    int n = groups_of(j->p, isa_of, groups);
    double slow = share_of(groups, n, "references", j->p->ms);
    if (strcmp(j->f->isa, "portable") != 0) slow += share_of(groups, n, "portable", j->p->ms);
    say(j, "are the wide units and fast kernels used",
        slow < 0.05 ? "yes" : "not everywhere: operators without a kernel run as references",
        shares(j, groups, n, 4));
}

static bool by_weights(const hone_step_profile *s) {
    return s->bound != NULL && strcmp(s->bound, "memory") == 0 && s->weights_bytes > s->bytes / 2;
}

static void batch(judge *j) {
    double ms = 0;
    if (j->f->machine == NULL) return;
    for (size_t i = 0; i < j->p->n_steps; i++) {
        const hone_step_profile *s = &j->p->steps[i];
        bool overhead = s->bound != NULL && strcmp(s->bound, "overhead") == 0;
        if (overhead || by_weights(s)) ms += s->ms;
    }
    double part = percent(ms, j->p->ms);
    say(j, "is the batch right",
        part < 30 ? "yes: a larger one would gain little"
                  : "a larger one would raise the throughput (hone bench --batch-search)",
        text(j,
             "batch %lld; %.0f %% of the time goes into reading weights and starting short steps",
             (long long)j->f->samples, part));
}

static void binding(judge *j) {
    group groups[GROUPS];
    if (j->f->machine == NULL) return;
    int n = groups_of(j->p, bound_of, groups);
    if (n == 0) return;
    const char *answer = "not known";
    if (strcmp(groups[0].name, "memory") == 0) answer = "memory: prune, quantize, fuse";
    if (strcmp(groups[0].name, "compute") == 0)
        answer = "arithmetic: fewer multiply-accumulates, lower precision, smaller architecture";
    if (strcmp(groups[0].name, "overhead") == 0)
        answer = "overhead: fuse, larger batch, fewer threads";
    say(j, "what binds it", answer,
        text(j, "%s; %.0f %% of the roof is reached", shares(j, groups, n, 4),
             percent(j->p->roof_ms, j->p->ms)));
}

static void integers(judge *j) {
    const hone_profile *p = j->p;
    const hone_machine *m = j->f->machine;
    double part = percent(p->integer_macs, p->macs);
    double f32 = m != NULL ? hn_roof_peak(m, "f32", j->f->isa, j->f->threads) : 0;
    double int8 = m != NULL ? hn_roof_peak(m, "int8", j->f->isa, j->f->threads) : 0;
    if (p->macs <= 0) return;
    const char *answer = part >= 95 ? "yes"
                         : part > 0 ? "partly (--explain says why)"
                                    : "no: quantizing is worth a try";
    const char *evidence = text(j, "%.1f %% of the multiply-accumulates are in integers", part);
    if (part < 95 && f32 > 0 && int8 > 0)
        evidence = text(j, "%s; the machine's peak in int8 is %.1f times that in f32", evidence,
                        int8 / f32);
    say(j, "is it int8", answer, evidence);
}

static void size_of_it(judge *j) {
    double ms = j->p->wall_ms / (double)j->f->samples;
    say(j, "is the architecture too large for this device",
        ms > 100 ? "yes: more than 100 ms a sample asks for a smaller one first" : "no",
        text(j, "%.3g ms a sample, measured here", ms));
    size_t need =
        j->f->memory.planned_bytes != 0 ? j->f->memory.planned_bytes : j->f->memory.peak_bytes;
    const hone_machine *m = j->f->machine;
    if (m == NULL || m->memory_bytes <= 0) return;
    int64_t have = m->memory_limit > 0 ? m->memory_limit : m->memory_bytes;
    say(j, "does it fit the memory",
        (double)need <= 0.9 * (double)have ? "yes" : "no: lower precision, smaller batch, prune",
        text(j, "%.1f of %.0f MB", (double)need * 1e-6, (double)have * 1e-6));
}

static void requirement(judge *j) {
    double ms = j->p->wall_ms, most = j->f->max_ms;
    if (most <= 0) return;
    say(j, "is the requirement met", ms <= most ? "yes: stop here" : "no: go on with what binds it",
        text(j, "%.4g ms of %.4g ms allowed", ms, most));
}

static void first_remedy(judge *j) {
    const hone_step_profile *worst = NULL;
    for (size_t i = 0; i < j->p->n_steps; i++) {
        const hone_step_profile *s = &j->p->steps[i];
        if (s->advice != NULL && (worst == NULL || s->lost_ms > worst->lost_ms)) worst = s;
    }
    if (worst == NULL) return;
    say(j, "what is worth looking at first", text(j, "step %.120s: %s", worst->node, worst->advice),
        text(j, "%.3f of its %.3f ms are lost", worst->lost_ms, worst->ms));
}

hone_status hn_profile_judge(hone_profile *p, const hn_profile_facts *f, hn_arena *arena,
                             hn_error *err) {
    judge j = {.p = p, .f = f, .arena = arena};
    if (p->n_steps == 0) return HONE_OK;
    j.list = hn_arena_array(arena, MOST, sizeof *j.list);
    if (j.list == NULL) return HN_NOMEM(err);
    adds_up(&j);
    requirement(&j);
    cores(&j);
    slowest(&j);
    units(&j);
    binding(&j);
    batch(&j);
    integers(&j);
    size_of_it(&j);
    first_remedy(&j);
    if (j.failed) return HN_NOMEM(err);
    p->verdicts = j.list;
    p->n_verdicts = j.n;
    return HONE_OK;
}
