/* What a run takes on a machine, and what it would take if the model were otherwise. */
#include <math.h>
#include <string.h>

#include "advise/adviser.h"
#include "advise/roofline.h"

/* Steps under this share of their roof may have a better kernel, which then reaches it. */
#define FAR_SHARE 0.3
/* Of what starting a step takes, a captured graph leaves. */
#define CAPTURED 0.1

/* ---- the model ---- */

static hone_status from_profile(hn_adviser *a, const hone_profile *p, hn_error *err) {
    a->works = hn_arena_array(a->arena, p->n_steps + 1, sizeof *a->works);
    if (a->works == NULL) return HN_NOMEM(err);
    a->n = (int)p->n_steps;
    for (int i = 0; i < a->n; i++) {
        const hone_step_profile *s = &p->steps[i];
        bool far = s->roof_ms > 0 && s->roof_share < FAR_SHARE;
        bool overhead = s->bound != NULL && strcmp(s->bound, "overhead") == 0;
        a->works[i] = (hn_piece){.precision = s->precision,
                                 .macs = s->macs,
                                 .flops = s->flops,
                                 .bytes = s->bytes,
                                 .weights_bytes = s->weights_bytes,
                                 .ms = s->ms,
                                 .roof = s->roof_ms,
                                 .overhead = overhead,
                                 .lost = far && !overhead ? s->ms - s->roof_ms / FAR_SHARE : 0};
    }
    /* Not the rest of the median run, which others that use the cores make longer. */
    if (p->coverage > 0 && p->coverage < 1) a->rest_ms = p->ms / p->coverage - p->ms;
    return HONE_OK;
}

hone_status hn_outlook_init(hn_adviser *a, hn_error *err) {
    const hn_advice_facts *f = a->f;
    const hn_counts *c = f->counts;
    a->works = c->works;
    a->n = c->n;
    if (f->on.here && f->profile != NULL && f->profile->n_steps > 0)
        HN_TRY(from_profile(a, f->profile, err));
    for (int i = 0; i < a->n; i++)
        a->run_bytes += fmax(a->works[i].bytes, a->works[i].weights_bytes);
    double all = fmax(c->macs, 1);
    a->matrices = c->matrix_macs / all;
    a->windows = c->window_macs / all;
    a->replaced = c->window_macs > 0 ? c->replaced / c->window_macs : 1;
    return HONE_OK;
}

hn_outlook hn_outlook_original(void) {
    return (hn_outlook){.narrow_activations = 1,
                        .narrow_weights = 1,
                        .narrow_file = 1,
                        .flops = 1,
                        .activations = 1,
                        .weights = 1,
                        .file = 1,
                        .reach = 1,
                        .threads = 1,
                        .batch = 1};
}

/* ---- time ---- */

double hn_advice_peak(const hn_adviser *a, const char *precision) {
    const hn_advice_machine *on = &a->f->on;
    int threads = on->threads > 0 ? on->threads : 1;
    return on->limits != NULL ? hn_roof_peak(on->limits, precision, on->isa, threads) : 0;
}

/* The least time of a piece of work once the model is as `o` says. */
static hn_roof roof_of(const hn_adviser *a, const hn_piece *w, const hn_outlook *o) {
    double weights = fmin(w->weights_bytes, w->bytes), others = w->bytes - weights;
    int threads = a->f->on.threads > 0 ? a->f->on.threads : 1;
    others *= o->narrow_activations * o->activations * o->batch;
    weights *= o->narrow_weights * o->weights;
    if (w->fuses && (o->fused || a->f->on.fuses)) others = weights = 0;
    hn_roof_work x = {.precision = w->precision,
                      .threads = (int)(threads * o->threads + 0.5),
                      .isa = a->f->on.isa,
                      .flops = w->flops * o->flops * o->batch,
                      .bytes = others + weights,
                      .weights_bytes = weights,
                      .run_bytes = a->run_bytes * o->narrow_weights * o->weights,
                      .ms = 1};
    if (o->precision != NULL && w->macs > 0) x.precision = o->precision;
    hn_roof roof;
    hn_roofline(a->f->on.limits, &x, &roof);
    return roof;
}

static void add_measured(const hn_adviser *a, const hn_piece *w, const hn_outlook *o,
                         hn_outcome *out) {
    hn_outlook original = hn_outlook_original();
    double before = w->overhead ? 0 : roof_of(a, w, &original).roof_ms, ms = w->ms;
    hn_roof roof = roof_of(a, w, o);
    if (o->tuned) ms -= w->lost;
    if (before > 0) ms *= roof.roof_ms / before;
    if (w->overhead || roof.bound == NULL)
        out->overhead_ms += ms;
    else
        *(strcmp(roof.bound, "memory") == 0 ? &out->memory_ms : &out->compute_ms) += ms;
    out->roof_ms += before > 0 ? roof.roof_ms : fmin(ms, w->roof);
    out->ms += ms;
}

static void add_counted(const hn_adviser *a, const hn_piece *w, const hn_outlook *o,
                        hn_outcome *out) {
    const hn_advice_machine *on = &a->f->on;
    if (w->bytes <= 0 && w->flops <= 0) return;
    if (w->fuses && (o->fused || on->fuses)) return;
    hn_roof roof = roof_of(a, w, o);
    double reach = fmin(on->reach * o->reach, 1);
    double ms = reach > 0 ? roof.roof_ms / reach : 0;
    double start = on->overhead_us * 1e-3 * (o->captured ? CAPTURED : 1);
    bool memory = roof.bound != NULL && strcmp(roof.bound, "memory") == 0;
    *(memory ? &out->memory_ms : &out->compute_ms) += ms;
    out->overhead_ms += start;
    out->roof_ms += roof.roof_ms;
    out->ms += ms + start;
}

hn_outcome hn_outcome_of(const hn_adviser *a, const hn_outlook *o) {
    hn_outcome out = {.ms = a->rest_ms, .overhead_ms = a->rest_ms};
    for (int i = 0; i < a->n; i++) {
        const hn_piece *w = &a->works[i];
        if (w->ms > 0)
            add_measured(a, w, o, &out);
        else
            add_counted(a, w, o, &out);
    }
    return out;
}

/* ---- what is wanted ---- */

double hn_outlook_copy_ms(const hn_adviser *a) {
    double gb = a->f->on.copy_gb;
    return gb > 0 ? a->f->counts->input_bytes / gb * 1e-6 : 0;
}

double hn_outlook_file(const hn_adviser *a, const hn_outlook *o) {
    const hn_counts *c = a->f->counts;
    double others = fmax(c->file_bytes - c->weights_bytes, 0);
    return others + fmin(c->weights_bytes, c->file_bytes) * o->narrow_file * o->file;
}

double hn_outlook_memory(const hn_adviser *a, const hn_outlook *o) {
    const hn_counts *c = a->f->counts;
    double activations = c->activation_bytes;
    if (a->f->run_bytes > c->weights_bytes) activations = a->f->run_bytes - c->weights_bytes;
    /* Where storage is told, weights are read from there in place. */
    double weights = a->f->on.file_bytes > 0 ? 0 : c->weights_bytes;
    return weights * o->narrow_weights * o->weights +
           activations * o->narrow_activations * o->activations * o->batch;
}

double hn_outlook_per_second(const hn_adviser *a, const hn_outlook *o) {
    double ms = hn_outcome_of(a, o).ms;
    return ms > 0 ? (double)a->f->counts->samples * o->batch * 1e3 / ms : 0;
}

double hn_advice_memory_room(const hn_adviser *a) {
    return a->f->max_memory > 0 ? a->f->max_memory : a->f->on.memory_bytes;
}

double hn_advice_file_room(const hn_adviser *a) {
    return a->f->max_file > 0 ? a->f->max_file : a->f->on.file_bytes;
}

bool hn_outlook_fits(const hn_adviser *a, const hn_outlook *o) {
    double memory = hn_advice_memory_room(a), file = hn_advice_file_room(a);
    return (file <= 0 || hn_outlook_file(a, o) <= file) &&
           (memory <= 0 || hn_outlook_memory(a, o) <= memory);
}

bool hn_outlook_meets(const hn_adviser *a, const hn_outlook *o) {
    const hn_advice_facts *f = a->f;
    bool timed = a->untimed == NULL;
    return (f->max_ms <= 0 || (timed && hn_outcome_of(a, o).ms <= f->max_ms)) &&
           (f->per_second <= 0 || (timed && hn_outlook_per_second(a, o) >= f->per_second)) &&
           hn_outlook_fits(a, o);
}
