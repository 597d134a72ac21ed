/* What binds a model, the signs of trouble, and the reasons not to begin at all. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/adviser.h"
#include "advise/roofline.h"

/* Of what there is: a run that takes more barely fits. */
#define BARELY 0.9
/* Units are idle where starting steps takes more of the time, or where less of the roof is reached. */
#define IDLE 0.5
/* Of the time allowed: a run that takes less leaves slack. */
#define SLACK 0.5
#define MS_OF_A_DAY 86400e3

static double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

/* ---- what binds it ---- */

/* Operations per byte of memory at which arithmetic becomes the limit. */
static double balance_of(const hn_adviser *a, const char *precision) {
    const hn_advice_machine *on = &a->f->on;
    const char *level;
    if (on->limits == NULL) return 0;
    double gb = hn_roof_bandwidth(on->limits, 1e15, on->threads > 0 ? on->threads : 1, &level);
    return share_of(hn_advice_peak(a, precision), gb);
}

static const char *main_precision(const hn_adviser *a) {
    const hn_piece *most = NULL;
    for (int i = 0; i < a->n; i++)
        if (most == NULL || a->works[i].macs > most->macs) most = &a->works[i];
    return most != NULL && most->macs > 0 ? most->precision : "f32";
}

void hn_advice_bottleneck(hn_adviser *a) {
    hone_advice *o = a->out;
    const hn_outcome *b = &a->base;
    double compute = b->compute_ms, memory = b->memory_ms, overhead = b->overhead_ms;
    double flops = 0, bytes = 0;
    o->run_ms = a->untimed == NULL ? b->ms : NAN;
    o->roof_share = share_of(b->roof_ms, b->ms);
    o->compute_share = share_of(compute, b->ms);
    o->memory_share = share_of(memory, b->ms);
    o->overhead_share = share_of(overhead, b->ms);
    o->bottleneck = "not known";
    o->bottleneck_remedies = "";
    o->evidence = a->untimed != NULL ? a->untimed : "no step of the model has a roof";
    if (a->untimed != NULL || !(b->roof_ms > 0)) return;
    if (memory >= compute && memory >= overhead) {
        o->bottleneck = "memory-bound";
        o->bottleneck_remedies = "prune, quantize, fuse";
    } else if (compute >= overhead) {
        o->bottleneck = "compute-bound";
        o->bottleneck_remedies =
            "fewer multiply-accumulates, lower precision, smaller architecture";
    } else {
        o->bottleneck = "overhead-bound";
        o->bottleneck_remedies = "fuse, larger batch, graph capture";
    }
    for (int i = 0; i < a->n; i++) flops += a->works[i].flops, bytes += a->works[i].bytes;
    double balance = balance_of(a, main_precision(a));
    o->evidence = hn_advice_text(
        a,
        "memory takes %.0f %% of the time, arithmetic %.0f %%, starting steps %.0f %%; %.3g "
        "operations a byte on average, and steps of over %.3g are bound by arithmetic",
        100 * o->memory_share, 100 * o->compute_share, 100 * o->overhead_share,
        share_of(flops, bytes), balance);
}

/* ---- symptoms ---- */

static void out_of_memory(hn_adviser *a, hone_advice_symptom *s, bool barely) {
    hn_outlook o = hn_outlook_original();
    double need = hn_outlook_memory(a, &o), have = hn_advice_memory_room(a);
    double file = hn_outlook_file(a, &o), room = hn_advice_file_room(a);
    char x[32], y[32], z[32], w[32];
    if (have <= 0) {
        s->answer = "not known";
        s->evidence = "how much memory there is was not told: --max-run-memory MB";
        return;
    }
    bool out = need > have || (room > 0 && file > room);
    bool near = need > BARELY * have || (room > 0 && file > BARELY * room);
    s->answer = (barely ? near && !out : out) ? "yes" : "no";
    s->evidence = hn_advice_text(a, "a run takes %s of %s", hn_advice_bytes(need, x),
                                 hn_advice_bytes(have, y));
    if (room > 0)
        s->evidence = hn_advice_text(a, "%s, the file %s of %s", s->evidence,
                                     hn_advice_bytes(file, z), hn_advice_bytes(room, w));
}

static void long_latency(hn_adviser *a, hone_advice_symptom *s) {
    char x[32], y[32];
    if (a->f->max_ms <= 0) {
        s->answer = "not known";
        s->evidence = "how long a run may take was not told: --max-latency MS, or --use";
        return;
    }
    if (a->untimed != NULL) {
        s->answer = "not known";
        s->evidence = a->untimed;
        return;
    }
    s->answer = a->base.ms > a->f->max_ms ? "yes" : "no";
    s->evidence = hn_advice_text(a, "a run takes %s of %s", hn_advice_ms(a->base.ms, x),
                                 hn_advice_ms(a->f->max_ms, y));
}

static void idle_units(hn_adviser *a, hone_advice_symptom *s) {
    const hone_advice *o = a->out;
    if (a->untimed != NULL) {
        s->answer = "not known";
        s->evidence = a->untimed;
        return;
    }
    bool measured = a->n > 0 && a->works[0].ms > 0;
    bool idle = o->overhead_share > IDLE || (measured && o->roof_share < IDLE);
    s->answer = idle ? "yes" : "no";
    s->evidence =
        measured ? hn_advice_text(a, "a run reaches %.0f %% of its roof", 100 * o->roof_share)
                 : hn_advice_text(a, "starting steps takes %.0f %% of a run, by typical figures",
                                  100 * o->overhead_share);
}

static void accuracy_short(hn_adviser *a, hone_advice_symptom *s) {
    char x[32], y[32];
    double most = a->f->max_ms;
    if (most > 0 && a->untimed != NULL) {
        s->answer = "not known";
        s->evidence = a->untimed;
        return;
    }
    bool slack = most > 0 && a->base.ms <= SLACK * most;
    s->answer = slack || most <= 0 ? "not known" : "no";
    if (most <= 0)
        s->evidence = "there is no limit to have slack under, and advise measures no accuracy";
    else
        s->evidence = hn_advice_text(a, "a run takes %s of %s%s", hn_advice_ms(a->base.ms, x),
                                     hn_advice_ms(most, y),
                                     slack ? ": there is slack; hone eval tells the accuracy" : "");
}

void hn_advice_symptoms(hn_adviser *a) {
    const hn_symptom *d;
    size_t n = 0;
    while (hn_symptom_at((int)n) != NULL) n++;
    hone_advice_symptom *list = hn_arena_array(a->arena, n, sizeof *list);
    if (list == NULL) {
        a->failed = true;
        return;
    }
    for (size_t i = 0; (d = hn_symptom_at((int)i)) != NULL; i++) {
        hone_advice_symptom *s = &list[i];
        *s = (hone_advice_symptom){d->kind, d->sign, "no", "", d->remedies};
        if (strcmp(d->sign, "out of memory") == 0) out_of_memory(a, s, false);
        if (strcmp(d->sign, "barely fits") == 0) out_of_memory(a, s, true);
        if (strcmp(d->sign, "long latency") == 0) long_latency(a, s);
        if (strcmp(d->sign, "idle units") == 0) idle_units(a, s);
        if (strcmp(d->sign, "accuracy short, with slack") == 0) accuracy_short(a, s);
    }
    a->out->symptoms = list;
    a->out->n_symptoms = n;
}

/* ---- reasons to stop ---- */

static const char *const reasons[] = {
    "what is wanted is met already", "the model is not the bottleneck",
    "the gate would be broken",      "the model is still changing",
    "inference is too rare to pay",  "adding machines is cheaper"};
enum { STOPS = sizeof reasons / sizeof *reasons };

const char *hn_advice_reason(size_t i) { return reasons[i]; }

static void met(hn_adviser *a, hone_verdict *v) {
    hn_outlook o = hn_outlook_original();
    v->question = "is the requirement met already?";
    v->answer = !a->has_limits ? "not known" : hn_outlook_meets(a, &o) ? "stop" : "go on";
    if (a->has_limits && a->untimed != NULL && (a->f->max_ms > 0 || a->f->per_second > 0)) {
        v->answer = "not known";
        v->evidence = a->untimed;
        return;
    }
    v->evidence =
        !a->has_limits
            ? "no limit was told: --max-latency, --max-size, --max-run-memory or --use"
            : hn_advice_text(a, "a run takes %s%s, and the limit is %s", hn_advice_takes(a, &o),
                             a->n > 0 && a->works[0].ms > 0 ? "" : " (worked out)", a->out->wanted);
}

static void elsewhere(hn_adviser *a, hone_verdict *v) {
    double outside = a->f->outside_ms, all = outside + a->f->inside_ms;
    v->question = "is something else than the model the bottleneck?";
    if (outside < 0 || all <= 0) {
        v->answer = "not known";
        v->evidence = "--data SPEC times decoding and preprocessing of samples";
        return;
    }
    v->answer = outside > a->f->inside_ms ? "stop" : "go on";
    v->evidence = hn_advice_text(a,
                                 "inference is %.0f %% of the time from a sample to an answer "
                                 "here%s",
                                 100 * a->f->inside_ms / all,
                                 outside > a->f->inside_ms
                                     ? ": decode and preprocess in parallel, or store samples ready"
                                     : "");
}

static void gate(hn_adviser *a, hone_verdict *v) {
    double most = a->f->max_drop;
    v->question = "would the accuracy gate be broken?";
    v->answer = "not known";
    v->evidence =
        most < 0 ? "no gate was told (--max-drop P); only measuring a remedy tells what it loses"
                 : hn_advice_text(a,
                                  "remedies that guides say lose more than %g %% are left out; "
                                  "hone eval and hone optimize measure the others",
                                  100 * most);
}

static void changing(hn_adviser *a, hone_verdict *v) {
    (void)a;
    v->question = "is the model still changing?";
    v->answer = "not known";
    v->evidence =
        "a file does not tell; if it is, wait, for the work is lost with the next version";
}

static double machines_for(const hn_adviser *a, double ms) {
    return a->f->requests_per_day * ms / (double)a->f->counts->samples / MS_OF_A_DAY;
}

/* Where limits are not met, how often it runs does not matter. */
static void rare(hn_adviser *a, hone_verdict *v) {
    hn_outlook o = hn_outlook_original();
    double machines = machines_for(a, a->base.ms);
    bool short_of = a->has_limits && !hn_outlook_meets(a, &o);
    v->question = "is inference too rare to pay?";
    if (a->f->requests_per_day <= 0 || a->untimed != NULL) {
        v->answer = "not known";
        v->evidence = a->f->requests_per_day > 0
                          ? a->untimed
                          : "how often it runs was not told: --requests-per-day N";
        return;
    }
    v->answer = machines <= 1 && !short_of ? "stop" : "go on";
    v->evidence = hn_advice_text(a, "%.10g requests a day keep one machine %.3g %% busy%s",
                                 a->f->requests_per_day, 100 * machines,
                                 machines <= 1 && short_of ? ", but a limit is not met" : "");
}

static void cheaper(hn_adviser *a, hone_verdict *v) {
    hn_outlook o = hn_outlook_original();
    double now = ceil(machines_for(a, a->base.ms)), half = ceil(machines_for(a, a->base.ms / 2));
    bool short_of = a->f->max_ms > 0 && a->base.ms > a->f->max_ms && !hn_outlook_meets(a, &o);
    v->question = "is adding machines cheaper?";
    bool told = a->f->requests_per_day > 0 && a->f->machine_price > 0;
    if (!told || a->untimed != NULL) {
        v->answer = "not known";
        v->evidence =
            told ? a->untimed
                 : "what machines cost was not told: --requests-per-day N --machine-price P";
        return;
    }
    now = fmax(now, 1);
    half = fmax(half, 1);
    v->answer = now - half < 2 && !short_of ? "stop" : "go on";
    v->evidence =
        hn_advice_text(a,
                       "%.0f %s for %.10g a month; twice as fast would save %.10g (guides: "
                       "from 100 to 20 ms at 1 M requests a day saves 450 dollars of 500 "
                       "a month)",
                       now, now == 1 ? "machine serves them" : "machines serve them",
                       now * a->f->machine_price, (now - half) * a->f->machine_price);
}

bool hn_advice_stops(hn_adviser *a) {
    static void (*const ask[STOPS])(hn_adviser * a, hone_verdict * v) = {
        met, elsewhere, gate, changing, rare, cheaper};
    hone_verdict *list = hn_arena_array(a->arena, STOPS, sizeof *list);
    bool stop = false;
    if (list == NULL) {
        a->failed = true;
        return false;
    }
    for (int i = 0; i < STOPS; i++) {
        ask[i](a, &list[i]);
        stop |= strcmp(list[i].answer, "stop") == 0;
    }
    a->out->stops = list;
    a->out->n_stops = STOPS;
    return stop;
}
