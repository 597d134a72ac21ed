#include "advise/search.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "advise/runtimes.h"
#include "base/clock.h"

#define AS_FAST 0.9      /* of the greatest speed */
#define PERHAPS_FAST 0.4 /* of it: what a machine busy with something else may explain */
#define QUICK_SECONDS 10 /* to verify in, after an interruption */
#define MADE_UP_SAMPLES "random,n=16,seed=1"

/* ---- what the parts share ---- */

const char *hn_search_text(hn_search_state *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = hn_arena_vformat(s->arena, format, args);
    va_end(args);
    return text;
}

void hn_search_doing(hn_search_state *s, const char *name, const char *what) {
    snprintf(s->doing, sizeof s->doing, "%s: %s", name, what);
    hn_stages_enter(&s->stages.spent, what);
    hn_search_progress(s, 0, 1);
}

bool hn_search_is_cut_short(const hn_search_state *s) { return s->stopped || s->out->out_of_time; }

static double seconds_spent(const hn_search_state *s) {
    return (double)(hn_clock_ns() - s->begun_ns) * 1e-9;
}

/* Whether it goes on, with what is done next. The original is measured whatever time is left:
 * nothing can be chosen without. */
static bool goes_on(hn_search_state *s, bool wanted, const char *doing) {
    if (s->closing) return true;
    if (hn_search_is_cut_short(s)) return false;
    s->stopped = !wanted;
    s->out->out_of_time =
        wanted && s->n > 1 && s->o.time_budget > 0 && seconds_spent(s) >= s->o.time_budget;
    if (!hn_search_is_cut_short(s)) return true;
    snprintf(s->ended_at, sizeof s->ended_at, "%s", doing);
    return false;
}

bool hn_search_progress(void *state, int64_t done, int64_t total) {
    hn_search_state *s = state;
    bool wanted = s->o.progress == NULL || s->o.progress(s->o.progress_ctx, s->doing, done, total);
    return goes_on(s, wanted, s->doing);
}

/* Runs end when whoever asked wants them to, but those that verify the choice do not. */
static bool keep_going(void *state) {
    hn_search_state *s = state;
    const hn_engine_options *own = &s->asked;
    return goes_on(s, own->keep_going == NULL || own->keep_going(own->keep_going_ctx), s->doing);
}

const char *hn_search_shown(const hn_search_state *s, double v, char *buf) {
    if (s->out->is_share)
        snprintf(buf, 32, "%.2f %%", 100 * v);
    else
        snprintf(buf, 32, "%.4g", v);
    return buf;
}

const hn_quant_target *hn_search_runtime(const char *name) {
    return name != NULL && strcmp(name, "hone") != 0 ? hn_quant_target_named(name) : NULL;
}

bool hn_search_by_rule(const hn_search_state *s) {
    return s->o.runtime != NULL && s->o.timer == NULL;
}

bool hn_search_has_limit(const hn_search_state *s) {
    return s->o.max_ms > 0 || s->o.max_file > 0 || s->o.max_memory > 0;
}

bool hn_search_within(const hn_search_state *s, const hone_optimize_row *r) {
    return (s->o.max_ms <= 0 || r->ms <= s->o.max_ms) &&
           (s->o.max_file <= 0 || r->file_bytes <= s->o.max_file) &&
           (s->o.max_memory <= 0 || (r->memory_bytes >= 0 && r->memory_bytes <= s->o.max_memory));
}

/* ---- trying ---- */

/* Whether a candidate of that kind was tried and is not accurate enough. */
static bool broke_the_gate(const hn_search_state *s, hn_layer_kind kind) {
    for (int i = 1; i < s->n; i++)
        if (s->trials[i].layer.kind == kind && strcmp(s->rows[i].state, "gate") == 0) return true;
    return false;
}

/* Why a candidate is not tried; NULL: it is. */
static const char *reason_to_leave(const hn_search_state *s, const hn_candidate *c,
                                   const hn_recipe *r, const hn_compress_plan *p) {
    if (!s->out->checked && !c->exact && !s->o.allow_unchecked)
        return "it may change answers, and there are no real samples to check that with";
    if (s->o.runtime != NULL) {
        const hn_rule *rule = hn_rule_of(s->o.runtime->name, r);
        if (rule->gain == HN_RULE_NO) return rule->why;
        if (hn_search_by_rule(s) && rule->products && !hn_rule_is_of_products(s->original->graph))
            return "it is for models that mostly multiply matrices";
    }
    if ((hn_compress_needs_data(p, r) || p->mix.n_types > 0) && s->parts.calibrate == NULL)
        return "it needs samples to calibrate with";
    if (hn_candidate_trains(c) && s->parts.train == NULL) return "there are no samples to train on";
    bool helps = c->when == HN_WHEN_BROKEN || c->when == HN_WHEN_TRAINED_BROKEN;
    if (helps && !s->broken) return "int8 needs no help";
    if (c->when == HN_WHEN_7_BITS_GAIN) {
        if (hn_search_by_rule(s) || !hn_isa_facts_of(s->o.how.engine.isa)->likes_7_bits)
            return "this CPU multiplies weights of 8 bits as fast";
        if (broke_the_gate(s, p->scheme.layer.kind)) return "8 bits were inaccurate already";
    }
    int best = hn_search_best(s, false);
    if (c->when == HN_WHEN_BEST && (best == 0 || s->trials[best].layer.kind != HN_LAYER_STATIC))
        return "int8 is not the best so far";
    return NULL;
}

static hone_status leave_out(hn_search_state *s, const char *name, const char *why, hn_error *err) {
    const char *text = hn_search_text(s, "%s: %s", name, why);
    if (text == NULL) return HN_NOMEM(err);
    s->left_out[s->out->n_left_out++] = text;
    return HONE_OK;
}

/* Why a candidate is not tried, and its recipe; NULL: it is. */
static const char *look_at(const hn_search_state *s, const hn_candidate *c, hn_error *own) {
    hn_recipe r;
    hn_compress_plan p;
    if (hn_candidate_recipe(c, s->o.seed, s->arena, &r, &p, own) != HONE_OK) return own->text;
    return reason_to_leave(s, c, &r, &p);
}

/* Candidate k of those tried and those that would be by what is known now, which take as long as
 * those before. */
static void tell_candidate(const hn_search_state *s, int at) {
    int left = 0, tried = s->n - 1;
    double seconds = 0;
    const hn_candidate *c;
    hn_error own;
    if (s->o.candidate == NULL) return;
    for (int i = at; (c = hn_candidate_at(i)) != NULL; i++)
        left += look_at(s, c, &own) == NULL && (s->o.train_budget > 0 || !hn_candidate_trains(c));
    for (int i = 1; i < s->n; i++) seconds += s->rows[i].seconds;
    double expected = tried > 0 ? seconds / tried * left : NAN;
    if (s->o.time_budget > 0)
        expected = fmin(expected, fmax(s->o.time_budget - seconds_spent(s), 0));
    s->o.candidate(s->o.progress_ctx, tried + 1, tried + left, expected);
}

static bool has_what_was_asked(const hn_search_state *s) {
    return hn_search_has_limit(s) && s->trials[s->n - 1].passed &&
           hn_search_within(s, &s->rows[s->n - 1]);
}

/* Candidates from this one on that would be trained by what is known now. */
static int count_trained(const hn_search_state *s, int at) {
    const hn_candidate *c;
    hn_error own;
    int n = 0;
    for (int i = at; (c = hn_candidate_at(i)) != NULL; i++)
        n += hn_candidate_trains(c) && look_at(s, c, &own) == NULL;
    return n;
}

static hone_status try_all(hn_search_state *s, hn_error *err) {
    const hn_candidate *c;
    bool enough = false;
    for (int i = 0; !enough && (c = hn_candidate_at(i)) != NULL; i++) {
        hn_error own;
        if (hn_candidate_trains(c) && s->o.train_budget <= 0) continue;
        const char *why =
            goes_on(s, true, c->name) ? look_at(s, c, &own) : "the search ended before it";
        if (why != NULL) {
            HN_TRY(leave_out(s, c->name, why, err));
            continue;
        }
        tell_candidate(s, i);
        s->to_train = count_trained(s, i);
        HN_TRY(hn_trial_run(s, c, err));
        enough = has_what_was_asked(s);
    }
    if (!enough && s->o.train_budget <= 0 && s->out->checked)
        HN_TRY(leave_out(s, "trained models", "no time was given to train them", err));
    for (int i; !enough && goes_on(s, true, "training") && (i = hn_trained_next(s)) > 0;) {
        HN_TRY(hn_trial_train_longer(s, i, err));
        enough = has_what_was_asked(s);
    }
    return HONE_OK;
}

/* The machine is not equally fast all the time, so what is known is how many times as fast as the
 * original each was beside it; times are told as those of its fastest median. */
static void settle_times(hn_search_state *s) {
    if (hn_search_by_rule(s)) return;
    for (int i = 0; i < s->n; i++) s->rows[i].ms = s->least_ms / s->rows[i].speed;
    if (s->n > 0) s->out->profile_ms = s->rows[0].ms;
}

/* ---- choosing ---- */

static double goodness(const hn_search_state *s, int i) {
    return s->out->lower_better ? -s->rows[i].value : s->rows[i].value;
}

/* How fast it is: measured, or as the rules have it. */
static double merit(const hn_search_state *s, int i) {
    return hn_search_by_rule(s) ? s->trials[i].rule : s->rows[i].speed;
}

static void mark_front(hn_search_state *s) {
    for (int i = 0; i < s->n; i++) {
        bool beaten = i > 0 && !s->trials[i].passed;
        for (int k = 0; k < s->n && !beaten; k++) {
            const hone_optimize_row *a = &s->rows[i], *b = &s->rows[k];
            if (k == i || (k > 0 && !s->trials[k].passed)) continue;
            bool as_good = merit(s, k) >= merit(s, i) && b->file_bytes <= a->file_bytes &&
                           goodness(s, k) >= goodness(s, i);
            bool better = merit(s, k) > merit(s, i) || b->file_bytes < a->file_bytes ||
                          goodness(s, k) > goodness(s, i);
            beaten = as_good && better;
        }
        s->rows[i].front = !beaten;
    }
}

/* Something is gained: it is faster than the original, or smaller. What was timed in another
 * runtime must be faster there: who asks for that runtime asks for speed. */
static bool is_eligible(const hn_search_state *s, int i, bool within) {
    const hone_optimize_row *r = &s->rows[i];
    bool smaller = s->o.timer == NULL && r->file_bytes < s->rows[0].file_bytes;
    return s->trials[i].passed && (within ? hn_search_within(s, r) : merit(s, i) > 1 || smaller);
}

/* Of those that may be chosen; 0: there is none. */
static int fastest_of(const hn_search_state *s, bool within) {
    int best = 0;
    for (int i = 1; i < s->n; i++)
        if (is_eligible(s, i, within) && (best == 0 || merit(s, i) > merit(s, best))) best = i;
    return best;
}

/* The fastest. Times are not told apart more finely than AS_FAST, so of those about as fast the
 * smallest is taken: what is chosen is the same the next time. */
int hn_search_best(const hn_search_state *s, bool within) {
    int first = fastest_of(s, within), best = first;
    for (int i = 1; i < s->n; i++)
        if (is_eligible(s, i, within) && merit(s, i) >= AS_FAST * merit(s, first) &&
            s->rows[i].file_bytes < s->rows[best].file_bytes)
            best = i;
    return best;
}

bool hn_search_would_win(const hn_search_state *s, const hone_optimize_row *r) {
    int best = hn_search_best(s, hn_search_has_limit(s));
    const hone_optimize_row *b = &s->rows[best];
    if (best == 0) return true;
    if (hn_search_by_rule(s)) return r->file_bytes < b->file_bytes;
    double speed = r->speed * (1 + r->doubt);
    return speed > b->speed || (speed >= AS_FAST * b->speed && r->file_bytes < b->file_bytes);
}

/* All were timed beside the original, but one after the other, and the machine may have been
 * another: what is smaller than the fastest and seems slower is timed beside it before that
 * counts. */
static hone_status play_off(hn_search_state *s, hn_error *err) {
    bool within = hn_search_has_limit(s);
    int first = fastest_of(s, within);
    double most = s->rows[first].speed;
    if (hn_search_by_rule(s)) return HONE_OK;
    for (int i = 1; i < s->n; i++) {
        hone_optimize_row *r = &s->rows[i];
        double times, doubt;
        if (!is_eligible(s, i, within) || r->file_bytes >= s->rows[first].file_bytes ||
            r->speed >= AS_FAST * most || r->speed < PERHAPS_FAST * most)
            continue;
        HN_TRY(hn_trial_beside(s, i, first, &times, &doubt, err));
        if (times * most <= r->speed * (1 + doubt)) continue; /* it was told right */
        r->speed = times * most;
        r->doubt = doubt + s->rows[first].doubt;
        r->ms = s->least_ms / r->speed;
    }
    return HONE_OK;
}

static void forget_verified(hone_optimization *o) {
    o->verified = o->verified_low = o->verified_high = NAN;
}

/* Who interrupts a search does not wait long for it to end. */
static bool is_worth_verifying(const hn_search_state *s, const hn_trial *t) {
    double share =
        (double)hn_dataset_count(s->parts.verify) / (double)hn_dataset_count(s->parts.choose);
    return !s->stopped || t->judged_seconds * share <= QUICK_SECONDS;
}

/* On samples that nothing was chosen by. The loss over all samples must be within the gate, and
 * that on these alone not beyond it by more than chance explains. */
static hone_status verify(hn_search_state *s, int i, bool *holds, hn_error *err) {
    hn_trial *t = &s->trials[i];
    hn_program *p;
    hn_quality q;
    hn_run_options how = hn_run_options_for(&s->o.how, t->model);
    *holds = true;
    forget_verified(s->out);
    if (s->parts.verify == NULL || !is_worth_verifying(s, t)) return HONE_OK;
    hn_search_doing(s, s->rows[i].name, "verifying");
    HN_TRY(hn_program_create(&p, t->model, &how, err));
    hone_status status = hn_quality_measure(&s->judge, p, s->parts.verify, &q, err);
    hn_program_destroy(p);
    HN_TRY(status);
    hn_quality was = hn_quality_of_both(&s->trials[0].quality, &s->verified);
    hn_quality is = hn_quality_of_both(&t->quality, &q);
    *holds = hn_quality_passes(&was, &is, s->gate, false) &&
             hn_quality_passes(&s->verified, &q, s->gate, true);
    s->out->verified = q.value;
    s->out->verified_low = q.low;
    s->out->verified_high = q.high;
    if (*holds) return HONE_OK;
    char a[32], b[32];
    t->passed = false;
    s->rows[i].state = "held-out";
    s->rows[i].why =
        hn_search_text(s, "%s on the samples held out, the original %s",
                       hn_search_shown(s, q.value, a), hn_search_shown(s, s->verified.value, b));
    return s->rows[i].why != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status choose(hn_search_state *s, int *chosen, hn_error *err) {
    bool holds = false;
    s->closing = true;
    if (s->o.candidate != NULL) s->o.candidate(s->o.progress_ctx, 0, 0, NAN);
    if (!hn_search_is_cut_short(s)) HN_TRY(play_off(s, err));
    while (!holds) {
        *chosen = hn_search_best(s, hn_search_has_limit(s));
        holds = *chosen == 0;
        if (!holds) HN_TRY(verify(s, *chosen, &holds, err));
    }
    mark_front(s);
    return HONE_OK;
}

/* ---- the verdict ---- */

const char *hn_search_row_text(const hone_optimize_row *r, char buf[HN_ROW_TEXT]) {
    int n = 0;
    if (isfinite(r->ms)) n += snprintf(buf, HN_ROW_TEXT, "%.3g ms, ", r->ms);
    n += snprintf(buf + n, (size_t)(HN_ROW_TEXT - n), "%.3g MB in the file",
                  (double)r->file_bytes / 1e6);
    if (r->memory_bytes >= 0)
        snprintf(buf + n, (size_t)(HN_ROW_TEXT - n), ", %.3g MB of memory",
                 (double)r->memory_bytes / 1e6);
    return buf;
}

/* Of a speed with a doubt, no more than is known. */
static const char *speed_text(const hone_optimize_row *r, char *buf, size_t bytes) {
    if (isnan(r->speed)) {
        snprintf(buf, bytes, "what its runtime runs well (by rule, not measured)");
        return buf;
    }
    int share = (int)ceil(100 * r->doubt);
    bool doubtful = r->doubt > HN_DOUBTFUL;
    if (r->speed == 1 && doubtful)
        snprintf(buf, bytes, "as fast as the original within the %d %% that measurements differ by",
                 share);
    else if (r->speed == 1)
        snprintf(buf, bytes, "as fast as the original");
    else if (doubtful)
        snprintf(buf, bytes, "about %.1f times as fast (measurements differ by %d %%)", r->speed,
                 share);
    else
        snprintf(buf, bytes, "%.2f times as fast", r->speed);
    return buf;
}

/* The fastest of those that lose too much; 0: there is none that is faster than the original. */
static int fastest_beyond(const hn_search_state *s) {
    int best = 0;
    for (int i = 1; i < s->n; i++)
        if (s->rows[i].speed > 1 &&
            hn_gate_margin(-s->rows[i].drop, 0, s->gate, false, false) < 0 &&
            (best == 0 || s->rows[i].speed > s->rows[best].speed))
            best = i;
    return best;
}

/* Whether what passed may be faster for all that is known. */
static bool any_doubtful(const hn_search_state *s) {
    bool any = false;
    for (int i = 1; i < s->n; i++) any |= s->trials[i].passed && s->rows[i].doubt > HN_DOUBTFUL;
    return any;
}

/* Why nothing was chosen where nothing was asked for but speed and size. */
static const char *why_nothing(hn_search_state *s) {
    char text[160], a[32], b[32];
    int beyond = fastest_beyond(s);
    if (beyond == 0)
        return hn_search_text(
            s, "the original stays: nothing that was tried is faster%s and still accurate enough%s",
            s->o.timer == NULL ? " or smaller" : "",
            any_doubtful(s) ? "; others used the cores, so try again on a quiet machine" : "");
    const hone_optimize_row *r = &s->rows[beyond];
    return hn_search_text(s,
                          "the original stays, for the gate would be broken: %s is %s but loses "
                          "%s, at most %s is allowed",
                          r->name, speed_text(r, text, sizeof text), hn_search_shown(s, r->drop, a),
                          hn_search_shown(s, s->gate, b));
}

bool hn_search_model_binds(const hn_search_state *s) { return s->read_ms <= s->out->profile_ms; }

/* How good the chosen one is, on samples that nothing was chosen by. */
static const char *quality_text(hn_search_state *s, int chosen) {
    char is[32], was[32], low[32], high[32], range[112] = "";
    const hone_optimization *o = s->out;
    if (!o->checked)
        return hn_search_text(s, "%s %s on made-up inputs%s", o->metric,
                              hn_search_shown(s, s->rows[chosen].value, is),
                              s->trials[chosen].candidate->exact ? "" : ", its answers unchecked");
    if (isnan(o->verified))
        return hn_search_text(s,
                              "%s %s, the original %s, on the samples it was chosen by: it was "
                              "not verified on others",
                              o->metric, hn_search_shown(s, s->rows[chosen].value, is),
                              hn_search_shown(s, s->rows[0].value, was));
    if (!isnan(o->verified_low))
        snprintf(range, sizeof range, " (95 %% interval %s to %s)",
                 hn_search_shown(s, o->verified_low, low),
                 hn_search_shown(s, o->verified_high, high));
    return hn_search_text(s, "%s %s%s, the original %s, on %lld samples that nothing was chosen by",
                          o->metric, hn_search_shown(s, o->verified, is), range,
                          hn_search_shown(s, s->verified.value, was),
                          (long long)o->verifying_samples);
}

static const char *verdict_of(hn_search_state *s, int chosen) {
    char text[HN_ROW_TEXT];
    const hone_optimize_row *r = &s->rows[chosen];
    const char *quality = chosen > 0 ? quality_text(s, chosen) : "";
    if (quality == NULL) return NULL;
    if (chosen > 0)
        return hn_search_text(s, "%s is %s and %.2f times as small; %s%s", r->name,
                              speed_text(r, text, sizeof text),
                              (double)s->rows[0].file_bytes / (double)r->file_bytes, quality,
                              hn_search_has_limit(s)     ? "; what was asked for is met"
                              : hn_search_model_binds(s) ? ""
                                                         : "; but reading a sample takes longer "
                                                           "than a run: see to that first");
    int best = hn_search_best(s, false);
    if (hn_search_has_limit(s) && best > 0)
        return hn_search_text(s, "what was asked for %s; the best found is %s: %s",
                              hn_search_is_cut_short(s) ? "is not met yet" : "cannot be met",
                              s->rows[best].name, hn_search_row_text(&s->rows[best], text));
    if (hn_search_has_limit(s))
        return hn_search_text(s,
                              "what was asked for %s: nothing that was tried is "
                              "faster or smaller and still accurate enough",
                              hn_search_is_cut_short(s) ? "is not met yet" : "cannot be met");
    return why_nothing(s);
}

/* The verdict, behind what ended the search before its time. */
static const char *whole_verdict(hn_search_state *s, int chosen) {
    const char *text = verdict_of(s, chosen);
    if (text == NULL || !hn_search_is_cut_short(s)) return text;
    if (s->stopped) return hn_search_text(s, "interrupted while doing %s; %s", s->ended_at, text);
    return hn_search_text(s, "the time of %.4g s was spent while doing %s; %s", s->o.time_budget,
                          s->ended_at, text);
}

/* The recipe, with what was measured behind it. */
static hone_status write_recipe(hn_search_state *s, int chosen, hn_error *err) {
    char *text, a[32];
    HN_TRY(hn_recipe_write(&s->trials[chosen].recipe, false, s->arena, &text, err));
    for (int i = 0; i < s->n; i++) {
        const hone_optimize_row *row = &s->rows[i];
        size_t room = strlen(text) + 256;
        char *more = hn_arena_alloc(s->arena, room);
        if (more == NULL) return HN_NOMEM(err);
        snprintf(more, room, "%s# %s: %s, %.4g ms, %lld bytes, %s %s\n", text, row->name,
                 row->state, row->ms, (long long)row->file_bytes, s->out->metric,
                 isnan(row->value) ? "not measured" : hn_search_shown(s, row->value, a));
        text = more;
    }
    const char *in_f32 = s->trials[chosen].in_f32;
    if (in_f32 != NULL) {
        size_t room = strlen(text) + strlen(in_f32) + sizeof "# \n";
        char *more = hn_arena_alloc(s->arena, room);
        if (more == NULL) return HN_NOMEM(err);
        snprintf(more, room, "%s# %s\n", text, in_f32);
        text = more;
    }
    s->out->recipe = text;
    return HONE_OK;
}

/* ---- all of it ---- */

static hone_status prepare(hn_search_state *s, hn_error *err) {
    size_t n_in = (size_t)s->original->graph->n_inputs;
    s->in = hn_arena_array(s->arena, n_in, sizeof *s->in);
    if (s->in == NULL) return HN_NOMEM(err);
    HN_TRY(
        hn_parts_init(&s->parts, s->o.data, s->o.calibrate, s->o.eval, s->o.seed, s->alloc, err));
    if (s->parts.choose == NULL) {
        HN_TRY(hn_dataset_open(&s->made_up, MADE_UP_SAMPLES, s->alloc, err));
        s->parts.choose = s->made_up;
    }
    s->out->checked = s->made_up == NULL && !hn_dataset_is_made_up(s->parts.choose);
    HN_TRY(hn_output_forms_init(&s->forms, s->original->graph, !s->out->checked, s->arena, err));
    s->judge = (hn_judge){.model = s->original,
                          .metric = s->o.metric,
                          .forms = &s->forms,
                          .seed = s->o.seed,
                          .alloc = s->alloc,
                          .progress = hn_search_progress,
                          .progress_ctx = s};
    if (s->parts.calibrate != NULL)
        s->out->calibration_samples = hn_dataset_count(s->parts.calibrate);
    if (s->made_up == NULL) s->out->choosing_samples = hn_dataset_count(s->parts.choose);
    if (s->parts.verify != NULL) s->out->verifying_samples = hn_dataset_count(s->parts.verify);
    return HONE_OK;
}

static hone_status conclude(hn_search_state *s, hn_model **chosen, hn_error *err) {
    int best = 0;
    HN_TRY(choose(s, &best, err));
    s->out->chosen = (size_t)best;
    s->out->met = best > 0 || !hn_search_has_limit(s);
    if (best == 0) forget_verified(s->out);
    s->out->verified_original = s->parts.verify != NULL ? s->verified.value : NAN;
    if (best > 0) {
        s->rows[best].state = "chosen";
        HN_TRY(write_recipe(s, best, err));
    }
    s->out->verdict = whole_verdict(s, best);
    if (s->out->verdict == NULL) return HN_NOMEM(err);
    HN_TRY(hn_search_judge(s, err));
    *chosen = s->trials[best].model;
    s->trials[best].model = NULL;
    return HONE_OK;
}

static hone_status search(hn_search_state *s, hn_model **chosen, hn_error *err) {
    HN_TRY(prepare(s, err));
    HN_TRY(hn_trial_original(s, err));
    if (hn_search_has_limit(s) && hn_search_within(s, &s->rows[0])) {
        char text[HN_ROW_TEXT];
        s->out->met = true;
        forget_verified(s->out);
        s->out->verified_original = NAN;
        mark_front(s);
        s->out->verdict =
            hn_search_text(s, "what was asked for is already met: %s; nothing was done",
                           hn_search_row_text(&s->rows[0], text));
        return s->out->verdict != NULL ? hn_search_judge(s, err) : HN_NOMEM(err);
    }
    HN_TRY(try_all(s, err));
    s->out->interrupted = s->stopped;
    settle_times(s);
    return conclude(s, chosen, err);
}

static void deinit(hn_search_state *s) {
    for (int i = 0; i < s->n; i++) hn_model_destroy(s->trials[i].model);
    for (int i = 0; s->in != NULL && i < s->original->graph->n_inputs; i++)
        hn_tensor_unref(s->in[i]);
    hn_program_destroy(s->program);
    if (s->timed) s->o.timer->close(s->o.timer->ctx, 0);
    if (s->made_up != NULL) s->parts.choose = NULL;
    hn_parts_deinit(&s->parts);
    hn_dataset_close(s->made_up);
}

/* The stages live as long as `out`. */
static void tell_stages(hone_optimization *out, hn_search_stages *s) {
    hn_stages_enter(&s->spent, NULL);
    for (int i = 0; i < s->spent.n; i++) s->told[i] = hn_stages_told(&s->spent, i);
    out->stages = s->told;
    out->n_stages = (size_t)s->spent.n;
}

hone_status hn_search(hone_optimization *out, hn_model **chosen, hn_model *m,
                      const hn_search_options *o, hn_arena *arena, hn_allocator *alloc,
                      hn_error *err) {
    HN_CHECK(err, !hn_graph_is_quantized(m->graph), HONE_E_ARG,
             "the model is quantized already; the float model it was made of is wanted");
    hn_search_state *s = hn_arena_zero(arena, sizeof *s);
    if (s == NULL) return HN_NOMEM(err);
    out->runtime = o->runtime != NULL ? o->runtime->name : "hone";
    *s = (hn_search_state){
        .out = out, .o = *o, .original = m, .arena = arena, .alloc = alloc, .gate = o->max_drop};
    out->by_rule = hn_search_by_rule(s);
    s->begun_ns = hn_clock_ns();
    s->asked = o->how.engine;
    s->o.how.engine.keep_going = keep_going;
    s->o.how.engine.keep_going_ctx = s;
    hn_stages_enter(&s->stages.spent, "profile");
    hone_status status = search(s, chosen, err);
    if (status == HONE_E_LIMIT && s->stopped) {
        out->interrupted = true;
        settle_times(s);
        out->verdict = hn_search_text(s, "interrupted while doing %s", s->doing);
        mark_front(s);
        status = out->verdict != NULL ? HONE_OK : HN_NOMEM(err);
    }
    if (status == HONE_OK && !hn_search_is_cut_short(s)) hn_kept_remove(s);
    out->rows = s->rows;
    out->n_rows = (size_t)s->n;
    out->left_out = s->left_out;
    out->seconds = seconds_spent(s);
    tell_stages(out, &s->stages);
    deinit(s);
    return status;
}

/* ---- replay ---- */

typedef struct told {
    const hn_search_options *o;
    bool stopped;
} told;

static bool on_replay(void *ctx, const char *what, int64_t done, int64_t total) {
    told *t = ctx;
    t->stopped |= t->o->progress != NULL && !t->o->progress(t->o->progress_ctx, what, done, total);
    return !t->stopped;
}

/* The samples that a recipe was made with. One of an earlier version does not say which part of
 * them: those to calibrate with. */
static hone_status samples_of_recipe(hn_dataset **data, const hn_recipe *r,
                                     const hn_compress_plan *plan, const hn_search_options *o,
                                     hn_allocator *alloc, hn_error *err) {
    hn_parts p;
    *data = NULL;
    if (!hn_compress_needs_data(plan, r) && r->data[0] == '\0') return HONE_OK;
    HN_TRY(hn_parts_init(&p, o->data, o->calibrate, o->eval, r->seed, alloc, err));
    hn_dataset **of = hn_recipe_trains(r) ? &p.train : &p.calibrate;
    *data = *of;
    *of = NULL;
    hn_parts_deinit(&p);
    return HONE_OK;
}

hone_status hn_search_replay(hone_optimization *out, hn_model **chosen, const char *recipe,
                             hn_model *m, const hn_search_options *o, hn_arena *arena,
                             hn_allocator *alloc, hn_error *err) {
    int64_t begun = hn_clock_ns();
    hn_recipe r;
    hn_compress_plan plan;
    hn_compressed made = {0};
    told t = {.o = o};
    HN_TRY(hn_recipe_read(&r, recipe, arena, err));
    HN_TRY(hn_compress_plan_make(&plan, &r, err));
    HN_CHECK(err, r.source[0] == '\0' || strcmp(r.source, o->source) == 0, HONE_E_ARG,
             "the recipe is for another model: its SHA-256 is %.12s..., not %.12s...", r.source,
             o->source);
    memcpy(r.source, o->source, sizeof r.source);
    hn_dataset *data;
    HN_TRY(samples_of_recipe(&data, &r, &plan, o, alloc, err));
    hn_compress_options how = {
        .data = data, .how = o->how, .progress = on_replay, .progress_ctx = &t};
    hone_status status = hn_compress(&made, &r, m, &how, alloc, err);
    hn_dataset_close(data);
    if (status == HONE_E_LIMIT && t.stopped) {
        out->interrupted = true;
        out->verdict = "interrupted";
        return HONE_OK;
    }
    HN_TRY(status);
    hn_search_stages *stages = hn_arena_alloc(arena, sizeof *stages);
    if (stages != NULL) stages->spent = made.stages;
    *chosen = made.model;
    made.model = NULL;
    hn_compressed_deinit(&made);
    out->met = true;
    out->runtime = r.target != NULL ? r.target->name : "hone";
    forget_verified(out);
    out->verified_original = NAN;
    out->recipe = hn_arena_strdup(arena, recipe);
    char *name = hn_arena_strdup(arena, r.name), *verdict = hn_arena_alloc(arena, 128);
    if (out->recipe == NULL || name == NULL || verdict == NULL || stages == NULL) {
        hn_model_destroy(*chosen);
        *chosen = NULL;
        return HN_NOMEM(err);
    }
    snprintf(verdict, 128, "%s, as the recipe says; nothing was measured", name);
    out->verdict = verdict;
    out->seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    tell_stages(out, stages);
    return HONE_OK;
}
