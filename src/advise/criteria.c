/* What is said of the whole at the end: the eight criteria of a well-made optimization, and the
 * seven mistakes people make, each with its evidence. They are functions of what was measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/search.h"
#include "advise/strategy.h"

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

static const hone_optimize_row *chosen_of(const hn_search_state *s) {
    return s->out->chosen > 0 ? &s->rows[s->out->chosen] : NULL;
}

static int n_tried(const hn_search_state *s) { return s->n - 1; }

/* ---- the eight criteria ---- */

static void profiled(list *l) {
    hn_search_state *s = l->s;
    say(l, "profiled first?", "yes",
        hn_search_text(s, "a run takes %.3g ms: %s", s->out->profile_ms, s->out->profile));
}

static void fits_hardware(list *l) {
    hn_search_state *s = l->s;
    const hone_optimize_row *r = chosen_of(s);
    const hn_device *d = hn_device_named(s->o.device);
    say(l, "do the optimizations fit the hardware?", "yes",
        hn_search_text(s, "measured on this %s; the guides propose %s for one, %s was %s", d->name,
                       d->precision, r != NULL ? r->name : "nothing",
                       r != NULL ? "best" : "better than the original"));
}

static void measured_steps(list *l) {
    hn_search_state *s = l->s;
    int doubtful = 0;
    double most = 0;
    for (int i = 1; i < s->n; i++) {
        if (!(s->rows[i].doubt > HN_DOUBTFUL)) continue;
        doubtful++;
        most = fmax(most, s->rows[i].doubt);
    }
    const char *tried = hn_search_text(s, "%d models, each in turns with the original", n_tried(s));
    if (tried != NULL && doubtful > 0)
        tried = hn_search_text(
            s, "%s; others used the cores, so that measurements of %d differ by up to %.0f %%",
            tried, doubtful, 100 * most);
    say(l, "each step measured before and after?", "yes", tried);
}

static void requirements(list *l) {
    hn_search_state *s = l->s;
    const hone_optimize_row *r = chosen_of(s) != NULL ? chosen_of(s) : &s->rows[0];
    const char *answer = !hn_search_has_limit(s) ? "not asked" : yes_or_no(s->out->met);
    say(l, "latency, size and memory as required?", answer,
        hn_search_text(s, "%.3g ms, %.3g MB in the file, %.3g MB of memory", r->ms,
                       (double)r->file_bytes / 1e6, (double)r->memory_bytes / 1e6));
}

static void accuracy(list *l) {
    hn_search_state *s = l->s;
    char a[32], b[32];
    const char *question = "accuracy validated?";
    if (s->made_up != NULL)
        say(l, question, "no",
            hn_search_text(s, "there is no data; answers were compared on noise"));
    else if (chosen_of(s) == NULL)
        say(l, question, "yes", hn_search_text(s, "the original stays as it is"));
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
    const char *evidence =
        saved > 0 ? hn_search_text(s,
                                   "the search took %.3g s and saves %.3g ms a run: it pays "
                                   "after %.0f runs, and one machine does what %.3g did; whether "
                                   "it runs so often, more machines are cheaper or the model "
                                   "still changes is yours to say",
                                   seconds, saved, ceil(seconds * 1e3 / saved), r->speed)
                  : hn_search_text(s, "the search took %.3g s and saves no time", seconds);
    say(l, "cost against benefit considered?", "yes", evidence);
}

static void documented(list *l) {
    say(l, "choices and trade-offs documented?", "yes",
        hn_search_text(l->s, "the table, the recipe, and %zu reasons for what was left out",
                       l->s->out->n_left_out));
}

static void needed(list *l) {
    hn_search_state *s = l->s;
    bool data_path = !hn_search_model_binds(s);
    const char *evidence =
        data_path ? hn_search_text(s,
                                   "reading a sample takes %.3g ms and a run %.3g: the model is "
                                   "not the bottleneck",
                                   s->read_ms, s->rows[0].ms)
        : hn_search_has_limit(s) && s->out->met
            ? hn_search_text(s, "the search ended with the first that met what was asked for")
        : s->read_ms == 0
            ? hn_search_text(s,
                             "samples are made up: how long reading real ones takes is not known")
            : hn_search_text(s,
                             "reading a sample takes %.3g ms and a run %.3g: the model is the "
                             "bottleneck",
                             s->read_ms, s->rows[0].ms);
    say(l, "nothing done that was not needed?", yes_or_no(!data_path), evidence);
}

/* ---- the seven guards ---- */

static void guards(list *l) {
    hn_search_state *s = l->s;
    say(l, "optimizing without a profile", "avoided",
        hn_search_text(s, "the original was profiled before anything was tried"));
    say(l, "a remedy of other hardware", "avoided",
        hn_search_text(s, "only what the engine of this %s runs was tried", s->o.device));
    say(l, "timing a device without waiting for it", "avoided",
        hn_search_text(s, "a run on a CPU ends when its results are there"));
    say(l, "a larger batch without a look at latency", "avoided",
        hn_search_text(s, "times are those of one sample"));
    bool shipped_blind =
        s->made_up != NULL && chosen_of(s) != NULL && !s->trials[s->out->chosen].candidate->exact;
    say(l, "low precision without a check of accuracy", shipped_blind ? "not avoided" : "avoided",
        s->made_up == NULL
            ? hn_search_text(s, "every model was judged on %lld samples",
                             (long long)s->out->choosing_samples)
            : hn_search_text(s, "without data, answers were compared on noise alone"));
    say(l, "more effort on top of what suffices", "avoided",
        hn_search_text(s, hn_search_has_limit(s) ? "the search ends when the limits are met"
                                                 : "no limit was set"));
    say(l, "threads left unconfigured", s->o.threads > s->o.cores ? "not avoided" : "avoided",
        hn_search_text(s, "%d threads on %d cores", s->o.threads, s->o.cores));
}

hone_status hn_search_judge(hn_search_state *s, hn_error *err) {
    static void (*const criteria[])(list * l) = {
        profiled, fits_hardware, measured_steps, requirements, accuracy, cost, documented, needed};
    enum { CRITERIA = sizeof criteria / sizeof *criteria, GUARDS = 7 };
    list l = {.s = s, .v = hn_arena_array(s->arena, CRITERIA + GUARDS, sizeof *l.v)};
    if (l.v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < CRITERIA; i++) criteria[i](&l);
    guards(&l);
    s->out->criteria = l.v;
    s->out->n_criteria = CRITERIA;
    s->out->guards = l.v + CRITERIA;
    s->out->n_guards = l.n - CRITERIA;
    return l.failed ? HN_NOMEM(err) : HONE_OK;
}
