/* What is said of the whole at the end: the eight criteria of a well-made optimization, and the
 * seven mistakes people make, each with its evidence. All are functions of what happened, and each
 * can say no. A criterion that does not apply is "not asked". */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/search.h"
#include "advise/strategy.h"

/* Of what its steps take: a timed run that takes less did not wait for them. */
#define WAITED 0.25

typedef struct list {
    hn_search_state *s;
    hone_verdict *v;
    size_t n;
    bool failed; /* out of memory */
} list;

static void say(list *l, const char *question, const char *answer, const char *evidence) {
    l->failed |= evidence == NULL;
    l->v[l->n++] = (hone_verdict){question, answer, evidence};
}

static const char *yes_or_no(bool v) { return v ? "yes" : "no"; }

static const char *avoided(bool v) { return v ? "avoided" : "not avoided"; }

static const hone_optimize_row *chosen_of(const hn_search_state *s) {
    return s->out->chosen > 0 ? &s->rows[s->out->chosen] : NULL;
}

static int n_tried(const hn_search_state *s) { return s->n > 0 ? s->n - 1 : 0; }

static bool is_unfinished(const hone_optimize_row *r) {
    return strcmp(r->state, "unfinished") == 0;
}

/* ---- the eight criteria ---- */

static void profiled(list *l) {
    hn_search_state *s = l->s;
    say(l, "profiled first?", yes_or_no(s->profiled),
        s->profiled
            ? hn_search_text(s, "a run takes %.3g ms: %s", s->out->profile_ms, s->out->profile)
            : hn_search_text(s,
                             "a run takes %.3g ms; what it is spent on is not known, for the "
                             "plain executor has no steps to time",
                             s->out->profile_ms));
}

static void fits_hardware(list *l) {
    hn_search_state *s = l->s;
    const hone_optimize_row *r = chosen_of(s);
    const hn_target *d = hn_target_named(s->o.device);
    const char *question = "do the optimizations fit the hardware?";
    if (r == NULL)
        say(l, question, "not asked", hn_search_text(s, "none was applied"));
    else if (hn_search_by_rule(s))
        say(l, question, "by rule",
            hn_search_text(s, "nothing was measured: only what %s is known to run well was tried",
                           s->out->runtime));
    else
        say(l, question, yes_or_no(r->speed >= 1 - HN_DOUBTFUL),
            hn_search_text(s,
                           "%s takes %.2f times as long as the original on this %s, for which "
                           "guides propose %s",
                           r->name, 1 / r->speed, d->name, d->precision));
}

/* Of the models that could be made, those that were not timed are not measured. */
static void measured_steps(list *l) {
    hn_search_state *s = l->s;
    int doubtful = 0, made = 0, measured = 0;
    double most = 0;
    for (int i = 1; i < s->n; i++) {
        const hone_optimize_row *r = &s->rows[i];
        made += r->file_bytes >= 0 || is_unfinished(r);
        measured += !isnan(r->speed) && !is_unfinished(r);
        if (!(r->doubt > HN_DOUBTFUL)) continue;
        doubtful++;
        most = fmax(most, r->doubt);
    }
    const char *question = "each step measured before and after?", *text;
    if (made == 0) {
        say(l, question, "no", hn_search_text(s, "no model was made"));
        return;
    }
    if (hn_search_by_rule(s)) {
        say(l, question, "no",
            hn_search_text(s, "%d models were judged; what they take in %s was not measured",
                           n_tried(s), s->out->runtime));
        return;
    }
    text = hn_search_text(s, "%d of %d models, each in turns with the original", measured, made);
    if (text != NULL && doubtful > 0)
        text = hn_search_text(
            s, "%s; others used the cores, so that measurements of %d differ by up to %.0f %%",
            text, doubtful, 100 * most);
    say(l, question, yes_or_no(measured == made), text);
}

static void requirements(list *l) {
    hn_search_state *s = l->s;
    const hone_optimize_row *r = chosen_of(s) != NULL ? chosen_of(s) : &s->rows[0];
    const char *answer = !hn_search_has_limit(s) ? "not asked" : yes_or_no(s->out->met);
    char text[HN_ROW_TEXT];
    say(l, "latency, size and memory as required?", answer,
        hn_search_text(s, "%s", hn_search_row_text(r, text)));
}

static void accuracy(list *l) {
    hn_search_state *s = l->s;
    char a[32], b[32];
    const char *question = "accuracy validated?";
    if (!s->out->checked)
        say(l, question, "no",
            hn_search_text(s, "there are no real samples; outputs were compared on noise"));
    else if (chosen_of(s) == NULL)
        say(l, question, "not asked", hn_search_text(s, "the original stays as it is"));
    else if (isnan(s->out->verified))
        say(l, question, "no",
            hn_search_text(s,
                           "the search was ended before %s was verified on samples that it was "
                           "not chosen by",
                           chosen_of(s)->name));
    else
        say(l, question, "yes",
            hn_search_text(s, "%s %s on %lld samples that no choice was made by, the original %s",
                           s->out->metric, hn_search_shown(s, s->out->verified, a),
                           (long long)s->out->verifying_samples,
                           hn_search_shown(s, s->out->verified_original, b)));
}

static void cost(list *l) {
    hn_search_state *s = l->s;
    const hone_optimize_row *r = chosen_of(s);
    double seconds = 0, saved = r != NULL ? s->rows[0].ms * (1 - 1 / r->speed) : 0;
    for (int i = 0; i < s->n; i++) seconds += s->rows[i].seconds;
    const char *question = "cost against benefit considered?";
    if (n_tried(s) == 0)
        say(l, question, "not asked", hn_search_text(s, "nothing was tried"));
    else if (hn_search_by_rule(s))
        say(l, question, "no",
            hn_search_text(s, "the search took %.3g s; what it saves was not measured", seconds));
    else if (r != NULL && r->doubt > HN_DOUBTFUL)
        say(l, question, "no",
            hn_search_text(s,
                           "the search took %.3g s; what it saves is not known, for "
                           "measurements differ by %.0f %%",
                           seconds, 100 * r->doubt));
    else if (saved > 0)
        say(l, question, "yes",
            hn_search_text(s,
                           "the search took %.3g s and saves %.3g ms a run: it pays "
                           "after %.0f runs, and one machine does what %.3g did; whether "
                           "it runs so often, more machines are cheaper or the model "
                           "still changes is yours to say",
                           seconds, saved, ceil(seconds * 1e3 / saved), r->speed));
    else
        say(l, question, "yes",
            hn_search_text(s, "the search took %.3g s and saves no time", seconds));
}

static void documented(list *l) {
    hn_search_state *s = l->s;
    const char *question = "choices and trade-offs documented?";
    bool cut_short = s->out->interrupted || s->out->out_of_time;
    if (n_tried(s) == 0)
        say(l, question, cut_short ? "no" : "not asked",
            hn_search_text(s, "no choice was made: nothing was tried"));
    else
        say(l, question, yes_or_no(!cut_short),
            hn_search_text(s, "the table of %d models, %s, and %zu reasons for what was left out%s",
                           n_tried(s),
                           s->out->recipe != NULL ? "the recipe of the chosen one"
                                                  : "no recipe, for the original stays",
                           s->out->n_left_out,
                           cut_short ? "; the search was cut short, and what the others would "
                                       "have given is not known"
                                     : ""));
}

static void needed(list *l) {
    hn_search_state *s = l->s;
    bool data_path = !hn_search_model_binds(s);
    const char *evidence =
        data_path ? hn_search_text(s,
                                   "reading a sample takes %.3g ms and a run %.3g: the model is "
                                   "not the bottleneck",
                                   s->read_ms, s->out->profile_ms)
        : hn_search_has_limit(s) && s->out->met
            ? hn_search_text(s, "the search ended with the first that met what was asked for")
        : s->read_ms == 0
            ? hn_search_text(s,
                             "samples are made up: how long reading real ones takes is not known")
            : hn_search_text(s,
                             "reading a sample takes %.3g ms and a run %.3g: the model is the "
                             "bottleneck",
                             s->read_ms, s->out->profile_ms);
    say(l, "nothing done that was not needed?", yes_or_no(!data_path), evidence);
}

/* ---- the seven guards ---- */

static void without_profile(list *l) {
    say(l, "optimizing without a profile", avoided(l->s->profiled),
        hn_search_text(l->s, l->s->profiled ? "the original was profiled before anything was tried"
                                            : "the original could not be profiled"));
}

/* Everything is made and timed on the CPU that the search runs on. */
static void other_hardware(list *l) {
    hn_search_state *s = l->s;
    bool own = strcmp(s->o.device, "cpu") == 0;
    say(l, "a remedy of other hardware", avoided(own),
        own ? hn_search_text(s, "only what the engine of this cpu runs was tried")
            : hn_search_text(s, "the model is meant for %s, and was measured on a cpu",
                             s->o.device));
}

/* Another runtime's times cannot be held against the steps of hone's engine. */
static void not_waiting(list *l) {
    hn_search_state *s = l->s;
    if (s->o.runtime != NULL) {
        say(l, "timing a device without waiting for it", "avoided",
            hn_search_text(s, "runs of %s on a CPU end when their results are there",
                           s->out->runtime));
        return;
    }
    say(l, "timing a device without waiting for it",
        avoided(!(s->rows[0].ms < WAITED * s->steps_ms)),
        hn_search_text(s, "a timed run takes %.3g ms, and its steps add up to %.3g ms",
                       s->rows[0].ms, s->steps_ms));
}

static void larger_batch(list *l) {
    hn_search_state *s = l->s;
    bool looked = s->run_rows <= 1 || s->o.max_ms > 0;
    say(l, "a larger batch without a look at latency", avoided(looked),
        s->run_rows <= 1
            ? hn_search_text(s, "times are those of one sample")
            : hn_search_text(
                  s,
                  "the model takes %lld samples at once, and times are those of all; "
                  "%s",
                  (long long)s->run_rows,
                  looked ? "a limit on their latency was set" : "no limit on latency was set"));
}

static void low_precision(list *l) {
    hn_search_state *s = l->s;
    bool blind =
        !s->out->checked && chosen_of(s) != NULL && !s->trials[s->out->chosen].candidate->exact;
    say(l, "low precision without a check of accuracy", avoided(!blind),
        s->out->checked ? hn_search_text(s, "every model was judged on %lld samples",
                                         (long long)s->out->choosing_samples)
        : blind ? hn_search_text(s, "%s may answer otherwise, and was compared on noise alone",
                                 chosen_of(s)->name)
                : hn_search_text(s, "without real samples only what computes the same was taken"));
}

/* Trials after the first that met all limits. */
static void more_effort(list *l) {
    hn_search_state *s = l->s;
    int after = 0;
    bool met = hn_search_has_limit(s) && hn_search_within(s, &s->rows[0]);
    for (int i = 1; hn_search_has_limit(s) && i < s->n; i++) {
        after += met;
        met |= s->trials[i].passed && hn_search_within(s, &s->rows[i]);
    }
    say(l, "more effort on top of what suffices", avoided(after == 0),
        !hn_search_has_limit(s) ? hn_search_text(s, "no limit says what would suffice")
        : after == 0 ? hn_search_text(s, "the search ended as soon as the limits were met")
                     : hn_search_text(s, "%d models were tried after the limits were met", after));
}

static void threads(list *l) {
    hn_search_state *s = l->s;
    say(l, "threads left unconfigured", avoided(s->o.threads <= s->o.cores),
        hn_search_text(s, "%d threads on %d cores", s->o.threads, s->o.cores));
}

hone_status hn_search_judge(hn_search_state *s, hn_error *err) {
    static void (*const questions[])(list * l) = {
        profiled,        fits_hardware,  measured_steps, requirements,
        accuracy,        cost,           documented,     needed, /* the eight */
        without_profile, other_hardware, not_waiting,    larger_batch,
        low_precision,   more_effort,    threads};
    enum { ALL = sizeof questions / sizeof *questions, CRITERIA = 8 };
    list l = {.s = s, .v = hn_arena_array(s->arena, ALL, sizeof *l.v)};
    if (l.v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < ALL; i++) questions[i](&l);
    s->out->criteria = l.v;
    s->out->n_criteria = CRITERIA;
    s->out->guards = l.v + CRITERIA;
    s->out->n_guards = ALL - CRITERIA;
    return l.failed ? HN_NOMEM(err) : HONE_OK;
}
