/* Segmentation: of each class the intersection over union of the pixels labelled and the pixels
 * answered so, over the whole dataset; the mean over the classes that occur in either.
 *
 * The output scores classes [N, C, H, W] or names them [N, H, W] or [N, 1, H, W]; the target names
 * them, in as many pixels. Pixels whose target is negative, or 255 in bytes, are not counted.
 */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/size.h"
#include "measure/interval.h"
#include "measure/metric.h"

#define MOST_CLASSES 4096
#define NAMED_CLASSES 256 /* where the output names them */

typedef struct tally {
    int64_t wanted, answered, both;
} tally;

typedef struct state {
    int64_t classes;
    bool named;
    double *scores;
    tally *all, *one;  /* [classes]: of all samples, and of one */
    tally *replicates; /* [HN_REPLICATES, classes] */
} state;

/* Whether the output has one class for each of the target's pixels, or scores for them. */
static bool fits(const hone_value *output, const hone_value *target, int64_t *classes) {
    int64_t n, m;
    if (target == NULL || !hn_dtype_is_int(target->dtype) || target->rank < 3 ||
        !hn_dims_count(output->dims, output->rank, &n) ||
        !hn_dims_count(target->dims, target->rank, &m) || m == 0)
        return false;
    if (hn_dtype_is_int(output->dtype) && n == m) {
        *classes = 0;
        return true;
    }
    if (output->rank < 3 || output->dims[1] < 2 || !hn_metric_is_real(output)) return false;
    *classes = output->dims[1];
    return n / *classes == m && n % *classes == 0;
}

static uint32_t suits(const hn_metric_task *t, const hone_eval_batch *b) {
    int64_t classes;
    return fits(hn_metric_output(t, b, 0), hn_metric_target(b, "mask"), &classes) ? 3 : 0;
}

static hone_status begin(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                         hn_error *err) {
    state *s = state_;
    const hone_value *output = hn_metric_output(t, b, 0), *target = hn_metric_target(b, "mask");
    char text[400], other[400] = "the dataset has none";
    if (target != NULL) hn_metric_text("target", target, other, sizeof other);
    HN_CHECK(err, fits(output, target, &s->classes), HONE_E_SHAPE,
             "%s, which does not go with a mask of classes: %s",
             hn_metric_text("output", output, text, sizeof text), other);
    s->named = s->classes == 0;
    if (s->named) s->classes = NAMED_CLASSES;
    HN_CHECK(err, s->classes <= MOST_CLASSES, HONE_E_LIMIT,
             "output '%s' has %lld classes; at most %d are told apart", output->name,
             (long long)s->classes, MOST_CLASSES);
    size_t n = (size_t)s->classes;
    s->scores = hn_arena_array(t->arena, n, sizeof *s->scores);
    s->all = hn_arena_array(t->arena, n, sizeof *s->all);
    s->one = hn_arena_array(t->arena, n, sizeof *s->one);
    s->replicates = hn_arena_array(t->arena, HN_REPLICATES * n, sizeof *s->replicates);
    return s->scores != NULL && s->all != NULL && s->one != NULL && s->replicates != NULL
               ? HONE_OK
               : HN_NOMEM(err);
}

/* The class of pixel p of sample i; scores of one pixel lie `pixels` apart. */
static int64_t answer_at(state *s, const hone_value *output, int64_t i, int64_t p, int64_t pixels) {
    if (s->named) return hn_load_s64(output->dtype, output->data, i * pixels + p);
    for (int64_t c = 0; c < s->classes; c++)
        s->scores[c] = hn_load_f64(output->dtype, output->data, (i * s->classes + c) * pixels + p);
    return hn_metric_highest(s->scores, s->classes);
}

static hone_status add_sample(state *s, const hone_eval_batch *b, const hone_value *output,
                              const hone_value *target, int64_t i, int64_t pixels, hn_error *err) {
    for (int64_t p = 0; p < pixels; p++) {
        int64_t wanted = hn_load_s64(target->dtype, target->data, i * pixels + p);
        if (wanted < 0 || (wanted == 255 && target->dtype == HONE_DTYPE_U8)) continue;
        int64_t answer = answer_at(s, output, i, p, pixels);
        HN_CHECK(err, wanted < s->classes && answer >= 0 && answer < s->classes, HONE_E_ARG,
                 "sample %lld: pixel %lld is of class %lld, output '%s' says %lld; classes go from "
                 "0 to %lld",
                 (long long)b->index[i], (long long)p, (long long)wanted, output->name,
                 (long long)answer, (long long)(s->classes - 1));
        s->one[wanted].wanted++;
        s->one[answer].answered++;
        if (wanted == answer) s->one[wanted].both++;
    }
    return HONE_OK;
}

static void add_tally(tally *to, const tally *from, int64_t times) {
    to->wanted += times * from->wanted;
    to->answered += times * from->answered;
    to->both += times * from->both;
}

/* Takes the counts of one sample over to all, and to each replicate as often as it counts it. */
static void spread(state *s, const hn_metric_task *t, int64_t sample) {
    for (int64_t c = 0; c < s->classes; c++) add_tally(&s->all[c], &s->one[c], 1);
    for (int r = 0; r < HN_REPLICATES; r++) {
        int times = hn_bootstrap_times(t->seed, sample, r);
        for (int64_t c = 0; c < s->classes && times > 0; c++)
            add_tally(&s->replicates[r * s->classes + c], &s->one[c], times);
    }
    memset(s->one, 0, (size_t)s->classes * sizeof *s->one);
}

static hone_status add(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                       hn_error *err) {
    state *s = state_;
    const hone_value *output = hn_metric_output(t, b, 0), *target = hn_metric_target(b, "mask");
    int64_t elements, classes, pixels;
    char text[400];
    HN_TRY(hn_metric_sample(b, output, &elements, err));
    HN_CHECK(err,
             fits(output, target, &classes) && classes == (s->named ? 0 : s->classes) &&
                 target->dims[0] == b->n &&
                 hn_dims_count(target->dims + 1, target->rank - 1, &pixels),
             HONE_E_SHAPE, "%s for sample %lld, which does not go with the mask",
             hn_metric_text("output", output, text, sizeof text), (long long)b->index[0]);
    for (int64_t i = 0; i < b->n; i++) {
        HN_TRY(add_sample(s, b, output, target, i, pixels, err));
        spread(s, t, b->index[i]);
    }
    return HONE_OK;
}

static double iou_of(const tally *c) {
    int64_t either = c->wanted + c->answered - c->both;
    return either > 0 ? (double)c->both / (double)either : NAN;
}

static double mean_of(const tally *c, int64_t classes) {
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < classes; i++) {
        double x = iou_of(&c[i]);
        if (isnan(x)) continue;
        sum += x;
        n++;
    }
    return n > 0 ? sum / (double)n : NAN;
}

/* Of the pixels, the share that is right. */
static double right_of(const tally *c, int64_t classes) {
    int64_t right = 0, all = 0;
    for (int64_t i = 0; i < classes; i++) {
        right += c[i].both;
        all += c[i].wanted;
    }
    return all > 0 ? (double)right / (double)all : NAN;
}

static hone_status make_table(const state *s, const hn_metric_task *t, hone_evaluation *e,
                              hn_error *err) {
    hone_class_value *rows = hn_arena_array(t->arena, (size_t)s->classes, sizeof *rows);
    if (rows == NULL) return HN_NOMEM(err);
    for (int64_t c = 0; c < s->classes; c++) {
        const tally *x = &s->all[c];
        if (s->named && x->wanted == 0 && x->answered == 0) continue;
        rows[e->n_class_rows++] = (hone_class_value){.id = c,
                                                     .samples = x->wanted,
                                                     .answers = x->answered,
                                                     .correct = x->both,
                                                     .precision = NAN,
                                                     .recall = NAN,
                                                     .f1 = NAN,
                                                     .ap = NAN,
                                                     .ap50 = NAN,
                                                     .iou = iou_of(x)};
    }
    e->class_rows = rows;
    return HONE_OK;
}

static hone_status end(void *state_, const hn_metric_task *t, hone_metric_value *v,
                       hone_evaluation *e, hn_error *err) {
    const state *s = state_;
    double mean[HN_REPLICATES], right[HN_REPLICATES];
    for (int r = 0; r < HN_REPLICATES; r++) {
        mean[r] = mean_of(&s->replicates[r * s->classes], s->classes);
        right[r] = right_of(&s->replicates[r * s->classes], s->classes);
    }
    hn_interval i[2] = {hn_bootstrap_interval(mean), hn_bootstrap_interval(right)};
    v[0].value = mean_of(s->all, s->classes);
    v[1].value = right_of(s->all, s->classes);
    for (int k = 0; k < 2; k++) {
        v[k].low = i[k].low;
        v[k].high = i[k].high;
        v[k].interval = "bootstrap";
    }
    if (!s->named) e->classes = s->classes;
    return t->tables ? make_table(s, t, e, err) : HONE_OK;
}

const hn_metric hn_metric_iou = {
    .values = {{"miou", "segmentation: intersection over union, mean of classes", .is_share = true},
               {"pixels", "segmentation: share of pixels that are right", .is_share = true}},
    .state_bytes = sizeof(state),
    .tabulates = true,
    .suits = suits,
    .begin = begin,
    .add = add,
    .end = end,
};
