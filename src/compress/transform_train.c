/* Training: the weights that are left learn to do without those that are gone.
 *
 *     prune sparsity=0.8; train epochs=3; cluster clusters=32; train epochs=2
 *
 * What transforms before have made stays: weights that are zero where a layer keeps its zeros, and
 * weights that are equal where it keeps its ties (shrink.h). Statistics of BatchNormalization that
 * are not folded move as in `hone train`.
 *
 * The model aims at labels, at what the model before the first of these transforms answers, or at
 * both. With samples to judge by the best epoch is kept, that before training included.
 *
 * keep=N remembers the parameters after N steps, 0 being those it began with: `rewind` goes back to
 * them (Frankle and Carbin 2019).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compress/compression.h"
#include "compress/course.h"
#include "engine/layers.h"

/* ---- parameters ---- */

enum { BY_DATA, BY_LABELS, BY_TEACHER, BY_BOTH };

static const char *goal_word(int i) {
    static const char *const words[] = {"auto", "labels", "teacher", "both", NULL};
    return words[i];
}

/* clang-format off */
const hn_parameter hn_params_train[] = {
    HN_COURSE_PARAMETERS("5", "0.002, of sgd 0.01"),
    {"goal", HN_PARAM_WORD, "auto", "what to aim at: labels, what the model answered before it was changed, or half of each; auto: labels if the data has them", 0, 0, goal_word, false},
    {"keep", HN_PARAM_COUNT, NULL, "remember the parameters after so many steps, for rewind", 0, 1e12, NULL, false},
    {"zeros", HN_PARAM_FLAG, NULL, "weights that are zero in the file stay zero, too, whatever made them", 0, 0, NULL, false},
    {0},
};
/* clang-format on */

hone_status hn_plan_train(hn_compress_plan *p, const hn_recipe_step *s, hn_error *err) {
    hn_augment ignored;
    (void)p;
    return hn_augment_read(&ignored, hn_step_word(s, "augment"), err);
}

static int goal_of(const hn_recipe_step *s) {
    int i = 0;
    while (strcmp(goal_word(i), hn_step_word(s, "goal")) != 0) i++;
    return i;
}

/* ---- the course ---- */

static hone_status aim(hn_course *k, const hn_recipe_step *s, hn_error *err) {
    const hn_transform_ctx *c = k->c;
    int goal = goal_of(s);
    bool labelled = hn_dataset_has_labels(c->data) || hn_dataset_n_targets(c->data) > 0;
    if (goal == BY_DATA) goal = labelled || c->original == NULL ? BY_LABELS : BY_TEACHER;
    HN_CHECK(err, labelled || goal == BY_TEACHER, HONE_E_ARG,
             "the data has neither labels nor targets; goal=teacher trains without");
    HN_CHECK(err, goal == BY_LABELS || c->original != NULL, HONE_E_ARG,
             "there is no model before this one to be the teacher");
    if (goal != BY_LABELS) hn_course_teach(k, s, c->original, goal == BY_BOTH ? 0.5 : 1);
    return HONE_OK;
}

/* Weights that are zero in the file, as if a transform before had made them. */
static hone_status hold_zeros(hn_transform_ctx *c, hn_error *err) {
    hn_arena arena;
    hn_weighted *layers;
    int n;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_shrinking_layers(c, NULL, NULL, &arena, &layers, &n, err);
    for (int i = 0; i < n && status == HONE_OK; i++)
        status = hn_shrinking_keep(c, layers[i].weight->name, HN_KEEPS_ZEROS, err);
    hn_arena_deinit(&arena);
    return status;
}

/* What transforms before have left, as a step of training wants it. */
static hone_status hold(hn_course *k, hn_step_keep **out, hn_error *err) {
    const hn_shrinking *s = k->c->shrinking;
    int n = s != NULL ? s->n_kept : 0;
    hn_step_keep *v = hn_alloc_array(k->c->alloc, (size_t)n + 1, sizeof *v, HN_MEM_OTHER);
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++)
        v[i] = (hn_step_keep){.name = s->kept[i].name,
                              .zeros = (s->kept[i].keeps & HN_KEEPS_ZEROS) != 0,
                              .ties = (s->kept[i].keeps & HN_KEEPS_TIES) != 0};
    *out = v;
    k->o.step.n_keeps = n;
    k->o.step.keeps = v;
    return HONE_OK;
}

/* Takes the parameters after the step that was asked for. */
static hone_status remember(hn_course *k, hn_training *t, hn_error *err) {
    const int64_t *at = k->ctx;
    hn_shrinking *s = k->c->shrinking;
    hn_model *m;
    if (s == NULL || hn_training_at(t).step != *at) return HONE_OK;
    HN_TRY(hn_training_model(t, &m, err));
    hn_model_destroy(s->early);
    s->early = m;
    return HONE_OK;
}

static int64_t count_layers(const hn_model *m) {
    int64_t n = 0;
    for (const hn_node *at = m->graph->first; at != NULL; at = at->next) n += hn_has_weights(at);
    return n;
}

static hone_status run(hn_course *k, const hn_recipe_step *s, hn_error *err) {
    hn_transform_ctx *c = k->c;
    double step = hn_step_number(s, "keep");
    int64_t at = isnan(step) ? -1 : (int64_t)step;
    hn_step_keep *keeps = NULL;
    HN_TRY(hn_course_begin(k, c, s, err));
    HN_TRY(aim(k, s, err));
    if (c->shrinking != NULL) k->at.float_score = c->shrinking->score;
    k->before = isnan(k->at.float_score) ? c->original : NULL;
    k->stepped = at >= 0 ? remember : NULL;
    k->ctx = &at;
    if (hn_step_flag(s, "zeros")) HN_TRY(hold_zeros(c, err));
    HN_TRY(hold(k, &keeps, err));
    hone_status status = hn_course_run(k, c->model, k->at.epochs, err);
    hn_free(c->alloc, keeps);
    if (c->shrinking != NULL) c->shrinking->score = k->at.float_score;
    HN_TRY(status);
    HN_TRY(hn_course_store(k->trained, c->model, err));
    c->changed = count_layers(c->model);
    return HONE_OK;
}

hone_status hn_transform_train(hn_transform_ctx *c, hn_error *err) {
    const hn_recipe_step usual = {.transform = hn_transform_named("train")};
    hn_course k = {.c = c};
    HN_CHECK(err, c->data != NULL, HONE_E_ARG, "there are no samples to train on");
    hone_status status = run(&k, c->step != NULL ? c->step : &usual, err);
    hn_course_deinit(&k);
    if (status != HONE_OK && status != HONE_E_NOMEM) hn_error_context(err, "training");
    return status;
}
