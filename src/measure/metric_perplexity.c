/* Perplexity of a language model: e to the mean of -log p over the tokens, p being the softmax of
 * the output [N, S, V] at the token that follows.
 *
 * The tokens are a target [N, >= S], where place s holds what follows place s and a negative number
 * is not counted; else the integer input [N, S] moved by one, where what the input that is called a
 * mask hides is not counted. The interval takes texts, not tokens, as the samples.
 */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "measure/interval.h"
#include "measure/metric.h"

typedef struct state {
    int64_t words; /* V */
    double *scores;
    hn_ratio loss; /* sum of -log p of a text, and its tokens */
} state;

static bool is_tokens(const hone_value *v, const hone_value *output) {
    return hn_dtype_is_int(v->dtype) && v->rank == 2 && v->dims[0] == output->dims[0] &&
           v->dims[1] >= output->dims[1];
}

/* Tokens: of the inputs that are integers, the one called ids, or the first that is no mask. */
static const hone_value *find_input(const hone_eval_batch *b, const hone_value *output, bool mask) {
    const hone_value *found = NULL;
    for (size_t i = 0; i < b->n_inputs; i++) {
        const hone_value *v = &b->inputs[i];
        if (!is_tokens(v, output) || (strstr(v->name, "mask") != NULL) != mask) continue;
        if (found == NULL || strstr(v->name, "input_ids") != NULL) found = v;
    }
    return found;
}

static const hone_value *find_target(const hone_eval_batch *b, const hone_value *output) {
    for (size_t i = 0; i < b->n_targets; i++)
        if (is_tokens(&b->targets[i], output)) return &b->targets[i];
    return NULL;
}

static bool is_text(const hone_eval_batch *b, const hone_value *output) {
    return output->rank == 3 && output->dims[0] == b->n && output->dims[1] > 0 &&
           output->dims[2] > 1 && hn_dtype_is_float(output->dtype);
}

static uint32_t suits(const hn_metric_task *t, const hone_eval_batch *b) {
    const hone_value *output = hn_metric_output(t, b, 0);
    if (!is_text(b, output)) return 0;
    return find_target(b, output) != NULL ||
                   (b->labels == NULL && find_input(b, output, false) != NULL)
               ? 1
               : 0;
}

static hone_status begin(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                         hn_error *err) {
    state *s = state_;
    const hone_value *output = hn_metric_output(t, b, 0);
    char text[400];
    HN_CHECK(err, is_text(b, output), HONE_E_SHAPE,
             "%s, perplexity wants floats [%lld, places, tokens]",
             hn_metric_text("output", output, text, sizeof text), (long long)b->n);
    HN_CHECK(err, find_target(b, output) != NULL || find_input(b, output, false) != NULL,
             HONE_E_ARG, "neither a target nor an input holds the tokens of output '%s'",
             output->name);
    s->words = output->dims[2];
    s->scores = hn_arena_array(t->arena, (size_t)s->words, sizeof *s->scores);
    return s->scores != NULL ? HONE_OK : HN_NOMEM(err);
}

/* -log of the softmax at the token. */
static double loss_of(state *s, const hone_value *output, int64_t row, int64_t token) {
    double most = -INFINITY, sum = 0;
    hn_load_f64_n(output->dtype, output->data, row * s->words, s->words, s->scores);
    for (int64_t w = 0; w < s->words; w++) most = fmax(most, s->scores[w]);
    for (int64_t w = 0; w < s->words; w++) sum += exp(s->scores[w] - most);
    return most + log(sum) - s->scores[token];
}

static hone_status add_text(state *s, const hone_eval_batch *b, const hone_value *output, int64_t i,
                            hn_error *err) {
    const hone_value *target = find_target(b, output), *mask = find_input(b, output, true);
    const hone_value *tokens = target != NULL ? target : find_input(b, output, false);
    int64_t places = output->dims[1], shift = target == NULL, counted = 0;
    double loss = 0;
    for (int64_t p = 0; p < places - shift; p++) {
        int64_t token = hn_load_s64(tokens->dtype, tokens->data, i * tokens->dims[1] + p + shift);
        bool hidden = target != NULL ? token < 0
                                     : mask != NULL && hn_load_s64(mask->dtype, mask->data,
                                                                   i * mask->dims[1] + p + 1) == 0;
        if (hidden) continue;
        HN_CHECK(err, token >= 0 && token < s->words, HONE_E_ARG,
                 "sample %lld has token %lld at place %lld, but output '%s' scores %lld",
                 (long long)b->index[i], (long long)token, (long long)(p + shift), output->name,
                 (long long)s->words);
        loss += loss_of(s, output, i * places + p, token);
        counted++;
    }
    if (counted > 0) hn_ratio_add(&s->loss, loss, (double)counted);
    return HONE_OK;
}

static hone_status add(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                       hn_error *err) {
    state *s = state_;
    const hone_value *output = hn_metric_output(t, b, 0);
    char text[400];
    HN_CHECK(err,
             is_text(b, output) && output->dims[2] == s->words &&
                 (find_target(b, output) != NULL || find_input(b, output, false) != NULL),
             HONE_E_SHAPE, "%s for sample %lld, unlike before",
             hn_metric_text("output", output, text, sizeof text), (long long)b->index[0]);
    for (int64_t i = 0; i < b->n; i++) HN_TRY(add_text(s, b, output, i, err));
    return HONE_OK;
}

static hone_status end(void *state_, const hn_metric_task *t, hone_metric_value *v,
                       hone_evaluation *e, hn_error *err) {
    (void)t;
    (void)e;
    const state *s = state_;
    HN_CHECK(err, s->loss.n > 0, HONE_E_ARG, "no token of the dataset is counted");
    hn_interval i = hn_ratio_interval(&s->loss);
    v->value = exp(hn_ratio_value(&s->loss));
    v->low = exp(i.low);
    v->high = exp(i.high);
    v->interval = "normal";
    return HONE_OK;
}

const hn_metric hn_metric_perplexity = {
    .values = {{"perplexity", "of a language model, over the tokens that follow",
                .lower_better = true}},
    .state_bytes = sizeof(state),
    .suits = suits,
    .begin = begin,
    .add = add,
    .end = end,
};
