#include "advise/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "advise/adviser.h"

/* A GPU that is busy for less of a run is starved. */
#define STARVED 0.5
/* A sample that takes longer wants a smaller architecture first. */
#define LARGE_MS 100

/* ---- texts ---- */

const char *hn_advice_text(hn_adviser *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *copy = hn_arena_vformat(a->arena, format, args);
    va_end(args);
    a->failed |= copy == NULL;
    return copy != NULL ? copy : "";
}

const char *hn_advice_ms(double ms, char *buf) {
    if (ms >= 1000)
        snprintf(buf, 32, "%.3g s", ms / 1000);
    else if (ms >= 0.01)
        snprintf(buf, 32, "%.3g ms", ms);
    else
        snprintf(buf, 32, "%.3g us", ms * 1000);
    return buf;
}

const char *hn_advice_bytes(double bytes, char *buf) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int k = 0;
    for (; bytes >= 999.5 && k < 4; k++) bytes /= 1000;
    snprintf(buf, 32, "%.3g %s", bytes, units[k]);
    return buf;
}

const char *hn_advice_takes(hn_adviser *a, const hn_outlook *o) {
    char ms[32], memory[32], file[32];
    bool limits_memory = a->f->max_memory > 0, limits_file = a->f->max_file > 0;
    hn_advice_ms(hn_outcome_of(a, o).ms, ms);
    hn_advice_bytes(hn_outlook_memory(a, o), memory);
    hn_advice_bytes(hn_outlook_file(a, o), file);
    return hn_advice_text(a, "%s%s%s%s%s%s", a->untimed == NULL ? ms : "a time that is not known",
                          limits_memory ? " and " : "", limits_memory ? memory : "",
                          limits_memory ? " of memory" : "", limits_file ? ", the file " : "",
                          limits_file ? file : "");
}

/* ---- typical machines ---- */

static int add_peak(hone_peak_info *p, int n, const char *precision, double gops) {
    if (gops > 0)
        p[n++] = (hone_peak_info){
            .precision = precision, .instruction = "", .isa = "", .threads = 1, .gops = gops};
    return n;
}

hone_status hn_advice_typical(hn_advice_machine *on, const hn_typical *t, hn_arena *arena,
                              hn_error *err) {
    hone_machine *m = hn_arena_array(arena, 1, sizeof *m);
    hone_peak_info *p = hn_arena_array(arena, 5, sizeof *p);
    hone_cache_info *c = hn_arena_array(arena, 1, sizeof *c);
    hone_bandwidth_info *b = hn_arena_array(arena, 2, sizeof *b);
    if (m == NULL || p == NULL || c == NULL || b == NULL) return HN_NOMEM(err);
    int n = add_peak(p, 0, "f32", t->f32);
    n = add_peak(p, n, "f16", t->f16);
    n = add_peak(p, n, "bf16", t->bf16);
    n = add_peak(p, n, "int8", t->int8);
    n = add_peak(p, n, "int4", t->int4);
    /* The roofline calls the nearest cache L1. */
    c[0] = (hone_cache_info){.level = 1, .bytes = (int64_t)t->cache_bytes};
    b[0] = (hone_bandwidth_info){.level = "L1", .threads = 1, .read_gb = t->cache_gb};
    b[1] = (hone_bandwidth_info){.level = "memory", .threads = 1, .read_gb = t->memory_gb};
    *m = (hone_machine){.cpu = t->name,
                        .arch = "",
                        .isa = "",
                        .threads = 1,
                        .memory_bytes = (int64_t)t->memory_bytes,
                        .memory_limit = -1,
                        .n_caches = 1,
                        .caches = c,
                        .n_peaks = (size_t)n,
                        .peaks = p,
                        .n_bandwidths = 2,
                        .bandwidths = b};
    *on = (hn_advice_machine){.limits = m,
                              .name = t->name,
                              .typical = true,
                              .threads = 1,
                              .memory_bytes = t->memory_bytes,
                              .file_bytes = t->file_bytes,
                              .copy_gb = t->copy_gb,
                              .overhead_us = t->overhead_us,
                              .reach = t->reach,
                              .fuses = t->fuses};
    return HONE_OK;
}

/* ---- what is wanted ---- */

static size_t add_wanted(char *text, size_t size, size_t used, const char *more) {
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", more);
    return used;
}

static void wanted(hn_adviser *a) {
    const hn_advice_facts *f = a->f;
    char text[400] = "", part[100], buf[32];
    size_t used = 0;
    if (f->max_ms > 0) {
        snprintf(part, sizeof part, "%s a run", hn_advice_ms(f->max_ms, buf));
        used = add_wanted(text, sizeof text, used, part);
    }
    if (f->per_second > 0) {
        snprintf(part, sizeof part, "%.4g samples a second", f->per_second);
        used = add_wanted(text, sizeof text, used, part);
    }
    if (f->max_memory > 0) {
        snprintf(part, sizeof part, "%s of memory", hn_advice_bytes(f->max_memory, buf));
        used = add_wanted(text, sizeof text, used, part);
    }
    if (f->max_file > 0) {
        snprintf(part, sizeof part, "a file of %s", hn_advice_bytes(f->max_file, buf));
        used = add_wanted(text, sizeof text, used, part);
    }
    a->has_limits = used > 0;
    if (f->max_drop >= 0) {
        snprintf(part, sizeof part, "at most %g %% lost", 100 * f->max_drop);
        used = add_wanted(text, sizeof text, used, part);
    }
    a->out->wanted = hn_advice_text(a, "%s", text);
}

/* ---- the tree ---- */

/* The share of a run that the device computes in, copies included. */
static double utilization(const hn_adviser *a) {
    double all = a->base.ms + hn_outlook_copy_ms(a);
    return all > 0 ? (a->base.compute_ms + a->base.memory_ms) / all : 0;
}

static void answer(hone_advice_branch *b, bool yes, const char *evidence) {
    b->answer = yes ? "yes" : "no";
    b->taken = yes;
    b->evidence = evidence;
}

static void ask(hn_adviser *a, const hn_branch *d, hone_advice_branch *b) {
    const hn_advice_facts *f = a->f;
    char x[32];
    double sample_ms = hn_outcome_of(a, &a->now).ms / (double)f->counts->samples, busy;
    *b = (hone_advice_branch){d->question, "always", "", true};
    switch (d->id) {
        case HN_BRANCH_STARVED:
        case HN_BRANCH_BUSY:
            busy = utilization(a);
            answer(b, (busy < STARVED) == (d->id == HN_BRANCH_STARVED),
                   hn_advice_text(a,
                                  "it computes for %.0f %% of a run; the rest is starting steps "
                                  "and copying inputs",
                                  100 * busy));
            break;
        case HN_BRANCH_LARGE:
            answer(b, a->untimed == NULL && sample_ms > LARGE_MS,
                   a->untimed != NULL
                       ? a->untimed
                       : hn_advice_text(a, "a sample takes %s", hn_advice_ms(sample_ms, x)));
            break;
        case HN_BRANCH_SHORT:
            if (!a->has_limits)
                answer(b, true, "no limit says what would suffice");
            else if (!a->met && a->untimed != NULL)
                answer(b, true, a->untimed);
            else
                answer(b, !a->met,
                       hn_advice_text(a, "with what is planned so far a run takes %s; wanted: %s",
                                      hn_advice_takes(a, &a->now), a->out->wanted));
            break;
        default: break;
    }
}

static hone_status walk(hn_adviser *a, hn_error *err) {
    const hn_target *t = a->f->target;
    const hn_branch *d;
    const hn_remedy *r;
    size_t n_branches = 0, n = 0, k = 0;
    while (hn_branch_at(t->tree, (int)n_branches) != NULL) n_branches++;
    while (hn_remedy_at(t->name, (int)n) != NULL) n++;
    hone_advice_branch *branches = hn_arena_array(a->arena, n_branches, sizeof *branches);
    hone_advice_remedy *remedies = hn_arena_array(a->arena, n, sizeof *remedies);
    if (branches == NULL || remedies == NULL) return HN_NOMEM(err);
    for (size_t b = 0; b < n_branches; b++) {
        d = hn_branch_at(t->tree, (int)b);
        ask(a, d, &branches[b]);
        for (int i = 0; (r = hn_remedy_at(t->name, i)) != NULL; i++) {
            if (r->branch != d->id) continue;
            hone_advice_remedy *out = &remedies[k++];
            if (branches[b].taken) {
                hn_remedy_judge(a, r, out);
            } else {
                hn_adviser aside = *a; /* its judgement is not part of the plan */
                hn_remedy_judge(&aside, r, out);
                a->failed |= aside.failed;
                out->state = a->met ? "not needed" : "not reached";
                out->why = a->met ? "what is wanted is met before it" : branches[b].evidence;
                out->rank = 0;
                out->then_ms = NAN;
            }
            out->branch = b;
        }
    }
    a->out->branches = branches;
    a->out->n_branches = n_branches;
    a->out->remedies = remedies;
    a->out->n_remedies = k;
    return HONE_OK;
}

/* What is no remedy there, unless the machine computes in that precision. */
static hone_status refused(hn_adviser *a, hn_error *err) {
    const hn_target *t = a->f->target;
    const hn_refused *r;
    const hn_remedy *remedy;
    size_t n = 0;
    while (hn_refused_at(t->name, (int)n) != NULL) n++;
    const char **list = hn_arena_array(a->arena, n + 1, sizeof *list);
    if (list == NULL) return HN_NOMEM(err);
    for (int i = 0; (r = hn_refused_at(t->name, i)) != NULL; i++) {
        const char *precision = hn_does_of(r->does)->precision;
        bool in_tree = false; /* then it is left out there, for this reason */
        for (int k = 0; (remedy = hn_remedy_at(t->name, k)) != NULL; k++)
            in_tree |= remedy->does == r->does;
        if (in_tree || (precision != NULL && hn_advice_peak(a, precision) > 0)) continue;
        list[a->out->n_refused++] = hn_advice_text(a, "%s: %s", r->name, r->why);
    }
    a->out->refused = list;
    return HONE_OK;
}

/* ---- all of it ---- */

static const char *verdict_of(hn_adviser *a) {
    const char *now = hn_advice_takes(a, &a->now);
    const hone_advice *o = a->out;
    for (size_t i = 0; o->stop && i < o->n_stops; i++)
        if (strcmp(o->stops[i].answer, "stop") == 0)
            return hn_advice_text(a, "stop: %s: %s%s", hn_advice_reason(i), o->stops[i].evidence,
                                  o->typical ? "; measure it on the device to be sure" : "");
    if (a->planned == 0)
        return "no remedy of the tree would gain enough; a smaller architecture or a faster "
               "machine "
               "is left";
    if (!a->has_limits)
        return hn_advice_text(a,
                              "%d %s, the gentlest first; measure after each, and stop as soon as "
                              "it suffices",
                              a->planned, a->planned == 1 ? "remedy" : "remedies");
    if (a->met)
        return hn_advice_text(a,
                              "%s should do: a run then takes %s; measure after each, and stop "
                              "as soon as it suffices",
                              a->planned == 1 ? "one remedy" : "these remedies", now);
    if (a->untimed != NULL)
        return hn_advice_text(a, "whether that is enough is not known: %s", a->untimed);
    return hn_advice_text(
        a, "not enough: with all that is planned a run still takes %s; wanted: %s", now, o->wanted);
}

/* A run that is not measured is timed by its nodes, all of which must be counted. */
static const char *why_untimed(hn_adviser *a) {
    const hn_counts *c = a->f->counts;
    bool measured = a->n > 0 && a->works[0].ms > 0;
    if (measured || (a->base.ms > 0 && c->unsupported == 0)) return NULL;
    if (c->unsupported == 0) return "no node could be counted, so the time of a run is not known";
    return hn_advice_text(a,
                          "hone cannot count %lld of the nodes (the first is a %.80s), so the time "
                          "of a run is not known",
                          (long long)c->unsupported, c->unsupported_op);
}

hone_status hn_advise(hone_advice *out, const hn_advice_facts *f, hn_arena *arena, hn_error *err) {
    hn_adviser a = {.f = f, .arena = arena, .out = out, .now = hn_outlook_original()};
    HN_TRY(hn_outlook_init(&a, err));
    a.base = hn_outcome_of(&a, &a.now);
    a.untimed = why_untimed(&a);
    out->target = f->target->name;
    out->machine = f->on.name;
    out->typical = f->on.typical;
    out->measured = a.n > 0 && a.works[0].ms > 0;
    out->here_ms = f->profile != NULL ? f->profile->wall_ms : NAN;
    out->strategy = hn_advice_text(&a, "%d bits, %s pruning, %s, %s", f->target->bits,
                                   f->target->pruning, f->target->layout, f->target->precision);
    wanted(&a);
    hn_advice_bottleneck(&a);
    hn_advice_symptoms(&a);
    out->stop = a.met = hn_advice_stops(&a);
    HN_TRY(walk(&a, err));
    HN_TRY(refused(&a, err));
    out->verdict = verdict_of(&a);
    return a.failed ? HN_NOMEM(err) : HONE_OK;
}
