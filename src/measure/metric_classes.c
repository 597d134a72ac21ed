/* Precision, recall and F1 of a classifier, per class and over all, and its answers by label.
 *
 *     precision = correct / answers    recall = correct / samples    F1 = 2 correct / (both)
 *
 * of each class; 0 where there is nothing to divide by. `macro` is the mean over the classes that
 * occur as a label or an answer, `micro` counts all samples alike (with one label each that makes
 * all three the share of correct answers).
 */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/size.h"
#include "measure/interval.h"
#include "measure/metric.h"

#define MOST_CLASSES (1 << 20)
#define MOST_CONFUSION 4096 /* classes of a table of answers by label */

typedef struct state {
    int64_t classes, n;
    bool named; /* the output is the class itself: how many there are is not known before the end */
    double *scores;            /* of one sample */
    int32_t *labels, *answers; /* of the samples seen so far */
} state;

/* Of one class, or of all replicates of one. */
typedef struct tally {
    int64_t samples, answers, correct;
} tally;

static uint32_t suits(const hn_metric_task *t, const hone_eval_batch *b) {
    int64_t classes;
    const hone_value *output = hn_metric_output(t, b, 0);
    if (b->labels == NULL || hn_metric_sample(b, output, &classes, NULL) != HONE_OK) return 0;
    return 7; /* precision, recall and F1 */
}

static hone_status begin(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                         hn_error *err) {
    state *s = state_;
    const hone_value *output = hn_metric_output(t, b, 0);
    HN_CHECK(err, b->labels != NULL, HONE_E_ARG, "the dataset has no labels to score by");
    HN_TRY(hn_metric_sample(b, output, &s->classes, err));
    s->named = hn_metric_is_class(output, s->classes);
    HN_CHECK(err, s->classes <= MOST_CLASSES, HONE_E_LIMIT,
             "output '%s' has %lld classes; at most %d are told apart", output->name,
             (long long)s->classes, MOST_CLASSES);
    s->scores = hn_arena_array(t->arena, (size_t)s->classes, sizeof *s->scores);
    s->labels = hn_arena_array(t->arena, (size_t)t->samples, sizeof *s->labels);
    s->answers = hn_arena_array(t->arena, (size_t)t->samples, sizeof *s->answers);
    return s->scores != NULL && s->labels != NULL && s->answers != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status add_class(state *s, const hone_eval_batch *b, int64_t i,
                             const hone_value *output, hn_error *err) {
    int64_t answer = hn_load_s64(output->dtype, output->data, i);
    HN_TRY(hn_metric_label(b, i, output, MOST_CLASSES, err));
    HN_CHECK(err, answer >= 0 && answer < MOST_CLASSES, HONE_E_ARG,
             "output '%s' says class %lld for sample %lld; classes go from 0 to %d", output->name,
             (long long)answer, (long long)b->index[i], MOST_CLASSES - 1);
    int64_t most = answer > b->labels[i] ? answer : b->labels[i];
    if (most >= s->classes) s->classes = most + 1;
    s->answers[s->n] = (int32_t)answer;
    return HONE_OK;
}

static hone_status add(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                       hn_error *err) {
    state *s = state_;
    const hone_value *output = hn_metric_output(t, b, 0);
    int64_t classes;
    HN_TRY(hn_metric_sample(b, output, &classes, err));
    HN_CHECK(err, s->named ? classes == 1 : classes == s->classes, HONE_E_SHAPE,
             "output '%s' has %lld classes for sample %lld, and %lld before", output->name,
             (long long)classes, (long long)b->index[0], (long long)s->classes);
    for (int64_t i = 0; i < b->n; i++) {
        if (s->named) {
            HN_TRY(add_class(s, b, i, output, err));
        } else {
            HN_TRY(hn_metric_label(b, i, output, classes, err));
            hn_load_f64_n(output->dtype, output->data, i * classes, classes, s->scores);
            s->answers[s->n] = (int32_t)hn_metric_highest(s->scores, classes);
        }
        s->labels[s->n++] = (int32_t)b->labels[i];
    }
    return HONE_OK;
}

static double quotient(int64_t a, int64_t b) { return b > 0 ? (double)a / (double)b : 0; }

enum { PRECISION, RECALL, F1, N_OF_CLASS };

static void rate(const tally *c, double v[N_OF_CLASS]) {
    v[PRECISION] = quotient(c->correct, c->answers);
    v[RECALL] = quotient(c->correct, c->samples);
    v[F1] = quotient(2 * c->correct, c->samples + c->answers);
}

/* All six values: macro, then micro. */
static void rate_all(const tally *c, int64_t classes, double v[2 * N_OF_CLASS]) {
    tally all = {0};
    int64_t there = 0;
    memset(v, 0, 2 * N_OF_CLASS * sizeof *v);
    for (int64_t i = 0; i < classes; i++) {
        double one[N_OF_CLASS];
        if (c[i].samples == 0 && c[i].answers == 0) continue;
        rate(&c[i], one);
        for (int k = 0; k < N_OF_CLASS; k++) v[k] += one[k];
        all.samples += c[i].samples;
        all.answers += c[i].answers;
        all.correct += c[i].correct;
        there++;
    }
    for (int k = 0; k < N_OF_CLASS; k++) v[k] = there > 0 ? v[k] / (double)there : NAN;
    rate(&all, v + N_OF_CLASS);
}

/* Counts every sample once, or as often as a replicate does. */
static void count(const state *s, const hn_metric_task *t, int replicate, tally *c) {
    memset(c, 0, (size_t)s->classes * sizeof *c);
    for (int64_t i = 0; i < s->n; i++) {
        int64_t times = replicate < 0 ? 1 : hn_bootstrap_times(t->seed, i, replicate);
        c[s->labels[i]].samples += times;
        c[s->answers[i]].answers += times;
        if (s->labels[i] == s->answers[i]) c[s->labels[i]].correct += times;
    }
}

static hone_status make_tables(const state *s, const hn_metric_task *t, const tally *c,
                               hone_evaluation *e, hn_error *err) {
    hone_class_value *rows = hn_arena_array(t->arena, (size_t)s->classes, sizeof *rows);
    if (rows == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < s->classes; i++) {
        double v[N_OF_CLASS];
        rate(&c[i], v);
        rows[i] = (hone_class_value){.id = i,
                                     .samples = c[i].samples,
                                     .answers = c[i].answers,
                                     .correct = c[i].correct,
                                     .precision = v[PRECISION],
                                     .recall = v[RECALL],
                                     .f1 = v[F1],
                                     .ap = NAN,
                                     .ap50 = NAN,
                                     .iou = NAN};
    }
    e->class_rows = rows;
    e->n_class_rows = (size_t)s->classes;
    if (s->classes > MOST_CONFUSION) return HONE_OK;
    int64_t *table = hn_arena_array(t->arena, (size_t)(s->classes * s->classes), sizeof *table);
    if (table == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < s->n; i++) table[s->labels[i] * s->classes + s->answers[i]]++;
    e->confusion = table;
    return HONE_OK;
}

static hone_status end(void *state_, const hn_metric_task *t, hone_metric_value *v,
                       hone_evaluation *e, hn_error *err) {
    const state *s = state_;
    double found[2 * N_OF_CLASS];
    tally *c = hn_arena_array(t->arena, (size_t)s->classes, sizeof *c);
    double drawn[N_OF_CLASS][HN_REPLICATES];
    if (c == NULL) return HN_NOMEM(err);
    for (int r = 0; r < HN_REPLICATES; r++) {
        count(s, t, r, c);
        rate_all(c, s->classes, found);
        for (int k = 0; k < N_OF_CLASS; k++) drawn[k][r] = found[k];
    }
    count(s, t, -1, c);
    rate_all(c, s->classes, found);
    int64_t correct = 0;
    for (int64_t i = 0; i < s->classes; i++) correct += c[i].correct;
    for (int k = 0; k < 2 * N_OF_CLASS; k++) {
        bool micro = k >= N_OF_CLASS; /* a share of the samples */
        hn_interval i = micro ? hn_interval_share(correct, s->n) : hn_bootstrap_interval(drawn[k]);
        v[k].value = found[k];
        v[k].low = i.low;
        v[k].high = i.high;
        v[k].interval = micro ? "wilson" : "bootstrap";
    }
    e->classes = s->classes;
    return t->tables ? make_tables(s, t, c, e, err) : HONE_OK;
}

const hn_metric hn_metric_classes = {
    .values = {{"precision", "of the answers of a class, the share that is right; mean of classes",
                .is_share = true},
               {"recall", "of the samples of a class, the share that is found; mean of classes",
                .is_share = true},
               {"f1", "harmonic mean of precision and recall of a class; mean of classes",
                .is_share = true},
               {"precision_micro", "precision over all samples", .is_share = true},
               {"recall_micro", "recall over all samples", .is_share = true},
               {"f1_micro", "F1 over all samples", .is_share = true}},
    .state_bytes = sizeof(state),
    .by_labels = true,
    .tabulates = true,
    .suits = suits,
    .begin = begin,
    .add = add,
    .end = end,
};
