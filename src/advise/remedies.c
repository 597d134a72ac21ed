/* What each remedy would do to a model on a machine: planned, in effect already, or left out, with
 * the reason. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/adviser.h"

/* A remedy is planned if a run becomes so many times as fast by it, or the file so many times as
 * small, on top of what is planned before it. */
#define FASTER 1.05
#define SMALLER 1.2
/* Of the multiply-accumulates: what a remedy for one kind of layer is worth a thought for. */
#define WORTH 0.2
/* Of the time: what copies and preprocessing may take. */
#define COPIES_SHARE 0.05
#define OUTSIDE_SHARE 0.1
/* What guides tell people to expect at most of quantization with training. */
#define QAT_LOSS 0.005
/* Times the share of the roof that models reach: what engines with tuned kernels make of it. */
#define TUNED_REACH 1.5

typedef struct judging {
    hn_adviser *a;
    const hn_remedy *r;
    const hn_does *d;
    hone_advice_remedy *out;
    hn_outlook alone, next; /* with this remedy alone; on top of what is planned */
    bool qat;
} judging;

static void settle(judging *j, const char *state, const char *why) {
    j->out->state = state;
    j->out->why = why;
}

static double percent(double share) { return 100 * share; }

/* ---- commands ---- */

static const char *word_for(const judging *j, char token, char buf[64]) {
    const hn_advice_facts *f = j->a->f;
    switch (token) {
        case 'M': return f->model;
        case 'O': return f->output;
        case 'D': return f->samples;
        case 'B': return f->counts->set_batch;
        case 'F': return f->counts->set_fixed;
        case 'I': return f->counts->set_smaller;
        case 'R':
            snprintf(buf, 64, "%.0f", f->requests_per_day > 0 ? f->requests_per_day : 1e6);
            return buf;
        case 'P':
            buf[0] = '\0';
            if (f->max_drop >= 0)
                snprintf(buf, 64, " --max-drop %g%%%s", percent(f->max_drop),
                         f->relative ? "rel" : "");
            return buf;
        default: return "";
    }
}

/* The remedy's command for this model; NULL: there is none. */
static const char *command_of(judging *j) {
    const char *from = j->r->command;
    char text[4096], buf[64];
    size_t used = (size_t)snprintf(text, sizeof text, "hone ");
    if (from[0] == '\0') return NULL;
    if (j->r->does == HN_DOES_DISTIL && !j->a->f->counts->described)
        from = "distill @M STUDENT.onnx --data @D -o @O.student.onnx";
    for (; *from != '\0' && used < sizeof text - 1; from++) {
        /* A size that the model does not allow to be set. */
        if (*from == '@' && strchr("BFI", from[1]) != NULL && word_for(j, from[1], buf)[0] == '\0')
            return NULL;
        if (*from == '@')
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s", word_for(j, *++from, buf));
        else
            text[used++] = *from;
    }
    if (used >= sizeof text - 20) return NULL; /* names that no shell would take */
    text[used] = '\0';
    return hn_advice_text(j->a, "%s%s", text, j->qat ? " --qat" : "");
}

/* ---- what a remedy makes of the model ---- */

/* Of f32 in the numbers that weights are stored in. */
static double stored_share(const hn_adviser *a) {
    const char *stored = a->f->counts->stored;
    return strcmp(stored, "f16") == 0 || strcmp(stored, "bf16") == 0 ? 0.5 : 1;
}

static void narrow(double *to, double share, double stored) {
    *to = fmin(*to, fmin(share / stored, 1));
}

static bool is_narrowing(const judging *j) {
    return j->d->precision != NULL || j->r->does == HN_DOES_WEIGHTS;
}

static double part_of(double share, double factor) { return 1 - share + share * factor; }

static void apply(const judging *j, hn_outlook *o) {
    const hn_adviser *a = j->a;
    const hn_does *d = j->d;
    double stored = stored_share(a), flops = d->flops, weights = d->weights,
           activations = d->activations, file = d->file;
    if (is_narrowing(j)) {
        narrow(&o->narrow_activations, activations, stored);
        narrow(&o->narrow_weights, weights, stored);
        narrow(&o->narrow_file, file, stored);
        double was = hn_advice_peak(a, o->precision != NULL ? o->precision : "f32");
        if (d->precision != NULL && hn_advice_peak(a, d->precision) > was)
            o->precision = d->precision;
        return;
    }
    if (j->r->does == HN_DOES_REPLACE) flops = weights = file = part_of(a->windows, a->replaced);
    if (j->r->does == HN_DOES_RANK) flops = weights = file = part_of(a->matrices, 0.25);
    if (j->r->does == HN_DOES_INPUT) flops = activations = a->f->counts->pixels;
    o->flops *= flops;
    o->activations *= activations;
    o->weights *= weights;
    o->file *= file;
    o->fused |= j->r->does == HN_DOES_FUSE || j->r->does == HN_DOES_ENGINE;
    o->captured |= j->r->does == HN_DOES_CAPTURE;
    o->tuned |= j->r->does == HN_DOES_KERNELS;
    if (j->r->does == HN_DOES_ENGINE) o->reach = TUNED_REACH;
    if (j->r->does == HN_DOES_THREADS && a->f->on.threads > 0)
        o->threads = (double)a->f->on.cores / a->f->on.threads;
}

static void note_gains(judging *j) {
    hn_adviser *a = j->a;
    hn_outlook original = hn_outlook_original();
    double ms = hn_outcome_of(a, &j->alone).ms;
    if (ms > 0) j->out->speed = a->base.ms / ms;
    double file = hn_outlook_file(a, &j->alone);
    if (file > 0) j->out->smaller = hn_outlook_file(a, &original) / file;
}

static void plan(judging *j, const char *why) {
    hn_adviser *a = j->a;
    settle(j, "planned", why);
    j->out->rank = ++a->planned;
    a->now = j->next;
    double ms = hn_outcome_of(a, &a->now).ms;
    j->out->then_ms = ms > 0 && a->untimed == NULL ? ms : NAN;
}

/* ---- remedies that change the model ---- */

/* "int8 runs 4.0 times as fast as f32 there, and weights take 1/4 of the bytes" */
static const char *why_narrow(judging *j) {
    hn_adviser *a = j->a;
    double was = hn_advice_peak(a, "f32");
    double times = stored_share(a) / j->d->weights;
    if (j->d->precision == NULL || was <= 0)
        return hn_advice_text(a, "weights take 1/%.0f of the bytes", times);
    return hn_advice_text(a,
                          "%s arithmetic is %.1f times as fast as f32, weights take 1/%.0f of "
                          "the bytes",
                          j->d->precision, hn_advice_peak(a, j->d->precision) / was, times);
}

static const char *why_structure(judging *j) {
    hn_adviser *a = j->a;
    hn_outlook o = hn_outlook_original();
    apply(j, &o);
    if (j->r->does == HN_DOES_FUSE || j->r->does == HN_DOES_ENGINE) {
        int fused = 0;
        for (int i = 0; i < a->n; i++) fused += a->works[i].fuses;
        return hn_advice_text(
            a,
            "%d of %d nodes are computed with those before them, and move no "
            "bytes of their own%s",
            fused, a->n,
            j->r->does == HN_DOES_ENGINE ? "; tuned kernels come nearer to the roof" : "");
    }
    if (j->r->does == HN_DOES_ZEROS)
        return "zeros and repeated numbers take next to no room in a package";
    if (j->r->does == HN_DOES_INPUT)
        return hn_advice_text(a, "%s leaves %.0f %% of the arithmetic and of the activations",
                              a->f->counts->smaller, percent(o.flops));
    return hn_advice_text(a, "%.0f %% of the arithmetic and %.0f %% of the weights remain",
                          percent(o.flops), percent(o.weights));
}

/* Why the model, or the machine, has no use for it; NULL: it has. */
static const char *no_use(judging *j) {
    hn_adviser *a = j->a;
    const hn_counts *c = a->f->counts;
    bool halves = j->r->does == HN_DOES_BF16 || j->r->does == HN_DOES_F16;
    const hn_refused *refused;
    for (int i = 0; (refused = hn_refused_at(j->r->device, i)) != NULL; i++)
        if (refused->does == j->r->does) break;
    bool changes = is_narrowing(j) || j->d->needs == HN_WANTS_TRAINING;
    if (c->quantized && changes)
        return "the model is quantized already: begin with the float model it was made of";
    if (halves && stored_share(a) < 1) return "the model is stored in 16 bits already";
    if (j->d->precision != NULL && hn_advice_peak(a, j->d->precision) <= 0 && refused != NULL)
        return refused->why;
    if (j->d->precision != NULL && hn_advice_peak(a, j->d->precision) <= 0)
        return hn_advice_text(a, "%s has no %s arithmetic",
                              a->f->on.here ? "this machine" : a->f->on.name, j->d->precision);
    if (j->r->does == HN_DOES_INT8_DYNAMIC && a->matrices < 0.5)
        return hn_advice_text(a,
                              "it is for products with matrices, which are %.0f %% of the "
                              "arithmetic",
                              percent(a->matrices));
    if (j->r->does == HN_DOES_RANK && a->matrices < WORTH)
        return hn_advice_text(a, "products with matrices are %.0f %% of the arithmetic",
                              percent(a->matrices));
    if (j->r->does == HN_DOES_REPLACE && a->windows < WORTH)
        return hn_advice_text(a,
                              "convolutions that depthwise and pointwise ones can replace are "
                              "%.0f %% of the arithmetic (hone make --list has smaller "
                              "architectures)",
                              percent(a->windows));
    if (j->r->does == HN_DOES_INPUT && c->set_smaller[0] == '\0')
        return c->smaller[0] != '\0' ? "a node of the model fixes the size of its images"
                                     : "the model takes no images of 32 x 32 or more";
    if (j->r->does == HN_DOES_ZEROS && c->sparse > 0.5)
        return hn_advice_text(a, "%.0f %% of the weights are zero already", percent(c->sparse));
    return NULL;
}

/* Whether the loss that guides expect is allowed; settles the remedy if not. */
static bool passes_gate(judging *j) {
    const hn_advice_facts *f = j->a->f;
    bool gated = strstr(j->r->command, "@P") != NULL || j->r->does == HN_DOES_MIXED;
    if (f->max_drop < 0 || f->relative || gated || j->d->loss <= f->max_drop) return true;
    j->qat = j->r->does == HN_DOES_INT8 && f->max_drop >= QAT_LOSS;
    if (j->qat) {
        j->out->training = true;
        j->out->effort = "hours";
        j->out->data = "training data";
        return true;
    }
    settle(j, "left out",
           hn_advice_text(j->a,
                          "the gate would be broken: guides tell people to expect up to "
                          "%g %% lost, and %g %% is allowed",
                          percent(j->d->loss), percent(f->max_drop)));
    return false;
}

static void judge_change(judging *j) {
    hn_adviser *a = j->a;
    const char *why = no_use(j);
    if (why != NULL) {
        settle(j, "left out", why);
        return;
    }
    if (j->r->does == HN_DOES_HELPERS || j->r->does == HN_DOES_MIXED) {
        settle(j, "if needed", "it is for where int8 loses too much; hone optimize tries it then");
        return;
    }
    apply(j, &j->alone);
    apply(j, &j->next);
    note_gains(j);
    if (!passes_gate(j)) return;
    double before = hn_outcome_of(a, &a->now).ms, after = hn_outcome_of(a, &j->next).ms;
    bool faster = after > 0 && before / after >= FASTER;
    bool smaller = hn_outlook_file(a, &a->now) >= SMALLER * hn_outlook_file(a, &j->next);
    bool less = hn_outlook_memory(a, &a->now) >= SMALLER * hn_outlook_memory(a, &j->next);
    double memory = hn_advice_memory_room(a), room = hn_advice_file_room(a);
    bool memory_short = memory > 0 && hn_outlook_memory(a, &a->now) > memory;
    bool file_short = room > 0 && hn_outlook_file(a, &a->now) > room;
    /* Where limits are given, what makes smaller is for what is too large. */
    bool helps = a->has_limits ? (file_short && smaller) || (memory_short && less) : smaller;
    if (faster || helps)
        plan(j, is_narrowing(j) ? why_narrow(j) : why_structure(j));
    else if (smaller)
        settle(j, "left out",
               memory_short ? "it makes the file smaller, not what a run takes"
                            : "it makes the file smaller, not a run faster");
    else if (j->out->speed >= FASTER || j->out->smaller >= SMALLER)
        settle(j, "left out", "it adds nothing to what is planned before it");
    else
        settle(j, "left out",
               hn_advice_text(a, "by the roofline a run would become %.2f times as fast",
                              j->out->speed));
}

/* ---- remedies around the model ---- */

static void judge_threads(judging *j) {
    const hn_advice_machine *on = &j->a->f->on;
    if (!on->here || on->threads <= 0 || on->cores <= 0) {
        settle(j, "done", "hone starts a thread for each core");
    } else if (on->threads == on->cores) {
        settle(j, "done",
               hn_advice_text(j->a, "%d %s on %d %s", on->threads,
                              on->threads == 1 ? "thread" : "threads", on->cores,
                              on->cores == 1 ? "core" : "cores"));
    } else {
        apply(j, &j->alone);
        apply(j, &j->next);
        note_gains(j);
        plan(j, hn_advice_text(j->a, "%d %s on %d %s", on->threads,
                               on->threads == 1 ? "thread" : "threads", on->cores,
                               on->cores == 1 ? "core" : "cores"));
    }
}

static void judge_kernels(judging *j) {
    hn_adviser *a = j->a;
    double lost = 0;
    for (int i = 0; i < a->n; i++) lost += a->works[i].lost;
    apply(j, &j->alone);
    apply(j, &j->next);
    note_gains(j);
    if (j->out->speed >= FASTER)
        plan(j, hn_advice_text(a,
                               "steps that take %.0f %% of a run reach less than 30 %% of their "
                               "roof",
                               percent(lost / a->base.ms)));
    else
        settle(j, "done",
               a->works[0].ms > 0 ? "no step that counts is far from its roof"
                                  : "hone takes the fastest kernels that the machine can run");
}

static void judge_fusion(judging *j) {
    if (j->a->f->on.fuses)
        settle(j, "done", "what runs the model there fuses nodes by itself");
    else
        judge_change(j);
}

/* Only throughput gains by it. */
static void judge_batch(judging *j) {
    hn_adviser *a = j->a;
    const hn_advice_facts *f = a->f;
    const hn_counts *c = f->counts;
    double times = (double)c->batch / (double)c->samples;
    char ms[32];
    if (f->use != NULL && f->use->batch_hi <= 1) {
        settle(j, "left out", "samples come one at a time");
        return;
    }
    if (times <= 1) {
        settle(j, "done", hn_advice_text(a, "a run takes %lld samples", (long long)c->samples));
        return;
    }
    if (c->set_batch[0] == '\0') {
        settle(j, "left out", "a node of the model fixes its batch");
        return;
    }
    j->alone.batch = times;
    double before = hn_outlook_per_second(a, &a->now), run = hn_outcome_of(a, &j->alone).ms;
    j->next.batch = times;
    double after = hn_outlook_per_second(a, &j->next);
    j->out->throughput = before > 0 ? after / before : NAN;
    hn_advice_ms(run, ms);
    bool later = f->max_ms > 0 && run > f->max_ms;
    if (a->has_limits && f->max_ms <= 0 && f->per_second <= 0)
        settle(j, "left out", "it raises throughput, which no limit is about");
    else if (f->max_ms > 0 && f->per_second <= 0)
        settle(j, "left out",
               hn_advice_text(a, "latency is wanted, and a batch of %lld takes %s",
                              (long long)c->batch, ms));
    else if (later)
        settle(j, "left out",
               hn_advice_text(a, "a batch of %lld takes %s, longer than allowed",
                              (long long)c->batch, ms));
    else if (!(j->out->throughput >= FASTER))
        settle(j, "left out",
               hn_advice_text(a, "by the roofline a batch of %lld gives no more samples a second",
                              (long long)c->batch));
    else {
        if (f->per_second <= 0) j->next = a->now; /* then a run is still one of a sample */
        plan(j, hn_advice_text(a,
                               "a batch of %lld gives %.1f times as many samples a second, and "
                               "answers after %s",
                               (long long)c->batch, j->out->throughput, ms));
    }
}

static void judge_preparation(judging *j) {
    const hn_advice_facts *f = j->a->f;
    double all = f->outside_ms + f->inside_ms;
    if (f->outside_ms < 0 || all <= 0)
        settle(j, "if needed", "what decoding and preprocessing take is known with --data alone");
    else if (f->outside_ms < OUTSIDE_SHARE * all)
        settle(j, "left out",
               hn_advice_text(j->a, "preprocessing takes %.0f %% of the time here",
                              percent(f->outside_ms / all)));
    else
        plan(j, hn_advice_text(j->a, "preprocessing takes %.0f %% of the time here",
                               percent(f->outside_ms / all)));
}

static void judge_copies(judging *j) {
    hn_adviser *a = j->a;
    char bytes[32], ms[32];
    double copy = hn_outlook_copy_ms(a);
    hn_advice_bytes(a->f->counts->input_bytes, bytes);
    hn_advice_ms(copy, ms);
    const char *why = hn_advice_text(a, "copying %s of inputs takes %s of a run", bytes, ms);
    if (copy < COPIES_SHARE * (a->base.ms + copy)) {
        settle(j, "left out", why);
        return;
    }
    j->out->speed = (a->base.ms + copy) / a->base.ms;
    plan(j, why);
}

static void judge_engine(judging *j) {
    if (strcmp(j->r->device, "nvidia_gpu") == 0)
        judge_change(j);
    else if (j->r->by == HN_BY_ENGINE)
        settle(j, "done", "hone is one: it has kernels for the device, int8 included");
    else
        plan(j, "the maker's compiler turns the ONNX file into what the device runs");
}

static void judge_capture(judging *j) {
    hn_adviser *a = j->a;
    const hn_counts *c = a->f->counts;
    if (!c->fixed && c->set_fixed[0] == '\0') {
        settle(j, "left out", "its shapes cannot be fixed");
        return;
    }
    apply(j, &j->alone);
    apply(j, &j->next);
    note_gains(j);
    double share = a->base.ms > 0 ? a->base.overhead_ms / a->base.ms : 0;
    const char *why = hn_advice_text(a, "%.0f %% of a run goes into starting steps, and shapes %s",
                                     percent(share), c->fixed ? "are fixed" : "can be fixed");
    double before = hn_outcome_of(a, &a->now).ms, after = hn_outcome_of(a, &j->next).ms;
    if (c->fixed) j->out->command = NULL;
    if (after > 0 && before / after >= FASTER)
        plan(j, why);
    else
        settle(j, "left out", why);
}

static void judge_streaming(judging *j) {
    hn_adviser *a = j->a;
    char need[32], have[32];
    double bytes = hn_outlook_memory(a, &a->now), room = hn_advice_memory_room(a);
    hn_advice_bytes(bytes, need);
    hn_advice_bytes(room, have);
    const char *why = hn_advice_text(a, "with what is planned a run takes %s of %s", need, have);
    if (room > 0 && bytes > room)
        plan(j, why);
    else
        settle(j, "left out", why);
}

static void judge_machines(judging *j) {
    const hn_advice_facts *f = j->a->f;
    if (f->per_second > 0 || f->requests_per_day > 0)
        plan(j, "more of them serve more requests, none of them sooner");
    else
        settle(j, "left out", "they serve more requests, none of them sooner");
}

/* ---- all of them ---- */

static void judge_layout(judging *j) {
    if (j->a->f->counts->window_macs <= 0 && j->a->matrices > 0.5)
        settle(j, "left out", "it is for convolutions");
    else
        settle(j, "done", "hone lays channels out as its kernels want them");
}

static void (*judge_of(hn_does_id does))(judging *j) {
    switch (does) {
        case HN_DOES_THREADS: return judge_threads;
        case HN_DOES_KERNELS: return judge_kernels;
        case HN_DOES_LAYOUT: return judge_layout;
        case HN_DOES_FUSE: return judge_fusion;
        case HN_DOES_BATCH: return judge_batch;
        case HN_DOES_PREPARE: return judge_preparation;
        case HN_DOES_COPIES: return judge_copies;
        case HN_DOES_ENGINE: return judge_engine;
        case HN_DOES_CAPTURE: return judge_capture;
        case HN_DOES_STREAM: return judge_streaming;
        case HN_DOES_MACHINES: return judge_machines;
        default: return judge_change;
    }
}

static const char *risk_of(judging *j) {
    const hn_trouble *t = hn_trouble_of(j->r->device);
    if (t == NULL || t->does != j->r->does) return j->d->risk;
    return hn_advice_text(j->a, "%s: %s", t->sign, t->remedy);
}

void hn_remedy_judge(hn_adviser *a, const hn_remedy *r, hone_advice_remedy *out) {
    static const char *const data[] = {"none", "samples, 100 or more", "training data"};
    const hn_does *d = hn_does_of(r->does);
    judging j = {.a = a, .r = r, .d = d, .out = out, .alone = hn_outlook_original()};
    j.next = a->now;
    *out = (hone_advice_remedy){.name = r->name,
                                .speed = NAN,
                                .throughput = NAN,
                                .smaller = NAN,
                                .then_ms = NAN,
                                .guides = r->gain,
                                .effort = d->effort,
                                .data = data[d->needs],
                                .training = d->needs == HN_WANTS_TRAINING,
                                .risk = risk_of(&j)};
    out->command = command_of(&j);
    /* Without its compiler nothing runs there. */
    bool must = r->does == HN_DOES_ENGINE && r->by == HN_BY_PEOPLE && !a->out->stop;
    if (r->does == HN_DOES_MEASURE) {
        plan(&j, out->command != NULL
                     ? "times in this plan are worked out; hone runs on the device as it does here"
                     : "times in this plan are worked out; the maker's tools time models there");
    } else if (a->met && !must) {
        settle(&j, "not needed", "what is wanted is met before it");
    } else {
        judge_of(r->does)(&j);
    }
    if (j.qat) out->command = command_of(&j);
    if (a->has_limits) a->met = hn_outlook_meets(a, &a->now);
}
