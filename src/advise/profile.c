#include "advise/profile.h"

#include <stdlib.h>
#include <string.h>

#include "advise/roofline.h"
#include "base/clock.h"
#include "base/size.h"

/* Advice on steps that take less of a run is noise. */
#define WORTH_ADVICE 0.01

/* ---- recording ---- */

hone_status hn_recording_init(hn_recording *r, int64_t n_runs, hn_arena *arena, hn_error *err) {
    *r = (hn_recording){.arena = arena, .n_runs = n_runs};
    r->wall_ms = hn_alloc_array(arena->alloc, (size_t)n_runs, sizeof *r->wall_ms, HN_MEM_OTHER);
    r->covered = hn_alloc_array(arena->alloc, (size_t)n_runs, sizeof *r->covered, HN_MEM_OTHER);
    if (r->wall_ms != NULL && r->covered != NULL) return HONE_OK;
    hn_recording_deinit(r);
    return HN_NOMEM(err);
}

void hn_recording_deinit(hn_recording *r) {
    hn_free(r->arena->alloc, r->steps);
    hn_free(r->arena->alloc, r->ms);
    hn_free(r->arena->alloc, r->wall_ms);
    hn_free(r->arena->alloc, r->covered);
    *r = (hn_recording){.arena = r->arena};
}

static bool grow(hn_recording *r) {
    hn_allocator *alloc = r->arena->alloc;
    size_t capacity = r->capacity * 2 + 64, steps_bytes, row_bytes, ms_bytes;
    if (!hn_size_mul(capacity, sizeof *r->steps, &steps_bytes) ||
        !hn_size_mul((size_t)r->n_runs, sizeof *r->ms, &row_bytes) ||
        !hn_size_mul(capacity, row_bytes, &ms_bytes))
        return false;
    hone_step_profile *steps = hn_realloc(alloc, r->steps, steps_bytes, HN_MEM_OTHER);
    if (steps == NULL) return false;
    r->steps = steps;
    double *ms = hn_realloc(alloc, r->ms, ms_bytes, HN_MEM_OTHER);
    if (ms == NULL) return false;
    r->ms = ms;
    r->capacity = capacity;
    return true;
}

static bool keep(hn_arena *arena, const char **to, const char *text) {
    if (text == NULL) return true;
    *to = hn_arena_strdup(arena, text);
    return *to != NULL;
}

static bool add_step(hn_recording *r, const hone_step_info *info) {
    if (r->n_steps == r->capacity && !grow(r)) return false;
    hone_step_profile s = {.threads = info->threads,
                           .flops = info->flops,
                           .bytes = info->bytes,
                           .weights_bytes = info->weights_bytes,
                           .macs = info->macs,
                           .live_bytes = info->live_bytes,
                           .cycles = -1,
                           .instructions = -1,
                           .cache_misses = -1};
    if (!keep(r->arena, &s.node, info->node) || !keep(r->arena, &s.op, info->op) ||
        !keep(r->arena, &s.family, info->family) || !keep(r->arena, &s.kernel, info->kernel) ||
        !keep(r->arena, &s.output, info->output) || !keep(r->arena, &s.why, info->why) ||
        !keep(r->arena, &s.isa, info->isa) || !keep(r->arena, &s.precision, info->precision) ||
        !keep(r->arena, &s.why_float, info->why_float) ||
        !keep(r->arena, &s.why_precision, info->why_precision))
        return false;
    for (int64_t i = 0; i < r->n_runs; i++) r->ms[(int64_t)r->n_steps * r->n_runs + i] = -1;
    r->steps[r->n_steps++] = s;
    return true;
}

void hn_recording_begin(hn_recording *r, int64_t run) {
    r->run = run;
    r->at = 0;
    r->sum_ms = 0;
    r->begun_ns = hn_clock_ns();
}

void hn_recording_step(void *recording, const hone_step_info *info) {
    hn_recording *r = recording;
    if (r->status != HONE_OK) return;
    if (r->at == r->n_steps && !add_step(r, info)) {
        r->status = HONE_E_NOMEM;
        return;
    }
    double ms = (double)(info->end_ns - info->begin_ns) * 1e-6;
    r->steps[r->at].begin_us = (double)(info->begin_ns - r->begun_ns) * 1e-3;
    r->ms[(int64_t)r->at * r->n_runs + r->run] = ms;
    r->sum_ms += ms;
    r->at++;
}

hone_status hn_recording_end(hn_recording *r, hn_error *err) {
    double wall = (double)(hn_clock_ns() - r->begun_ns) * 1e-6;
    if (r->status != HONE_OK) return HN_NOMEM(err);
    r->wall_ms[r->run] = wall;
    r->covered[r->run] = wall > 0 ? r->sum_ms / wall : 0;
    return HONE_OK;
}

/* ---- what they come to ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of those that are not negative; sorts them. */
static double median(double *values, int64_t n) {
    int64_t first = 0;
    qsort(values, (size_t)n, sizeof *values, by_value);
    while (first < n && values[first] < 0) first++;
    return first < n ? values[first + (n - first) / 2] : 0;
}

static void place_step(hone_step_profile *s, const hn_profile_facts *f, double run_bytes) {
    hn_roof_work w = {.precision = s->precision,
                      .threads = s->threads,
                      .isa = f->isa,
                      .flops = s->flops,
                      .bytes = s->bytes,
                      .weights_bytes = s->weights_bytes,
                      .run_bytes = run_bytes,
                      .ms = s->ms,
                      .reference = s->family == NULL};
    hn_roof r;
    hn_roofline(f->machine, &w, &r);
    s->intensity = r.intensity;
    s->gflops = r.gflops;
    s->gb_s = r.gb_s;
    s->roof_ms = r.roof_ms;
    s->roof_share = r.share;
    s->lost_ms = r.lost_ms;
    s->bound = r.bound;
    s->level = r.level;
    s->advice = r.advice;
}

hone_status hn_recording_finish(hn_recording *r, const hn_profile_facts *f, hone_profile *p,
                                hn_error *err) {
    hone_step_profile *steps = hn_arena_array(r->arena, r->n_steps, sizeof *steps);
    if (steps == NULL) return HN_NOMEM(err);
    if (r->n_steps > 0) memcpy(steps, r->steps, r->n_steps * sizeof *steps);
    double run_bytes = 0;
    p->runs = r->n_runs;
    p->wall_ms = median(r->wall_ms, r->n_runs);
    p->coverage = median(r->covered, r->n_runs);
    for (size_t i = 0; i < r->n_steps; i++) {
        hone_step_profile *s = &steps[i];
        s->ms = median(r->ms + (int64_t)i * r->n_runs, r->n_runs);
        run_bytes += s->bytes > s->weights_bytes ? s->bytes : s->weights_bytes;
        p->ms += s->ms;
        p->macs += s->macs;
        if (strcmp(s->precision, "int8") == 0) p->integer_macs += s->macs;
    }
    for (size_t i = 0; i < r->n_steps; i++) {
        place_step(&steps[i], f, run_bytes);
        p->roof_ms += steps[i].roof_ms;
        if (steps[i].ms < WORTH_ADVICE * p->ms) steps[i].advice = NULL;
    }
    p->steps = steps;
    p->n_steps = r->n_steps;
    return HONE_OK;
}
