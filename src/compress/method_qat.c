/* Quantization-aware training: the model learns to answer well with the numbers it will have.
 *
 *     float model ─▶ fake.h ─▶ training (train/training.h) ─▶ weights and scales, for `quantize`
 *          └─ teacher: its outputs are what the training aims at, unless labels are wanted
 *
 * Weights, biases and all scales are trained (LSQ); scales start from the ranges of the calibration
 * and the grids of weights, zero points stay. BatchNormalization has been folded before, as it will
 * be in the file. With bits = 8,6,4 the model is trained in 8 bits first, then in 6, then in 4,
 * where layers have as few.
 *
 * With samples to judge by, the model of every epoch is written as it would be in the end and run
 * on them; the best is kept, that before training included: in 8 bits there may be nothing to gain.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compress/compression.h"
#include "compress/course.h"
#include "compress/fake.h"
#include "ops/infer.h"

/* ---- parameters ---- */

enum { MOST_BITS = 16, MOST_STEPS = 8 };

/* clang-format off */
const hn_parameter hn_params_qat[] = {
    HN_COURSE_PARAMETERS("10", "0.002, of sgd 0.01"),
    {"bits", HN_PARAM_TEXT, NULL, "bits to begin with and to come down by: 8,6,4", 0, 0, NULL, false},
    {"labels", HN_PARAM_FLAG, NULL, "train by the labels, not by what the float model answers", 0, 0, NULL, false},
    {0},
};
/* clang-format on */

/* "8,6,4": how many, at most MOST_STEPS; 0: it is none. */
static int read_bits(const char *text, int *bits) {
    int n = 0;
    for (const char *at = text; at != NULL; at++) {
        char *end;
        long b = strtol(at, &end, 10);
        if (end == at || b < 1 || b > MOST_BITS || n == MOST_STEPS) return 0;
        if (n > 0 && b >= bits[n - 1]) return 0;
        bits[n++] = (int)b;
        at = end;
        if (*at == '\0') return n;
        if (*at != ',') return 0;
    }
    return n;
}

hone_status hn_plan_qat(hn_compress_plan *p, const hn_recipe_step *s, hn_error *err) {
    const char *bits = hn_step_word(s, "bits");
    int steps[MOST_STEPS];
    hn_augment ignored;
    (void)p;
    HN_CHECK(err, bits == NULL || read_bits(bits, steps) > 0, HONE_E_ARG,
             "bits '%.40s', expected up to %d numbers from %d down to 1, each less than the one "
             "before: 8,6,4",
             bits, MOST_STEPS, MOST_BITS);
    return hn_augment_read(&ignored, hn_step_word(s, "augment"), err);
}

/* ---- the course ---- */

typedef struct course {
    hn_course k;
    int n_steps, bits[MOST_STEPS]; /* bits 0: as the scheme says */
    hn_scheme scheme;              /* of the current step */
    hn_scheme_rule *rules;
    hn_model *masters; /* the float model with the weights so far */
    hn_fakes fakes;    /* of the current step */
} course;

/* So many bits at least, where there are integers by ranges found beforehand. */
static void widen(hn_qtype *t, int bits) {
    if (t->dtype == HONE_DTYPE_NONE || bits <= t->bits) return;
    bool sign = hn_dtype_is_signed(t->dtype);
    t->bits = bits;
    t->reduced = false;
    if (bits <= hone_dtype_bits(t->dtype)) return;
    t->dtype = bits <= 8 ? (sign ? HONE_DTYPE_S8 : HONE_DTYPE_U8)
                         : (sign ? HONE_DTYPE_S16 : HONE_DTYPE_U16);
}

static void set_bits(course *k, int bits) {
    const hn_scheme *s = k->k.c->scheme;
    k->scheme = *s;
    k->scheme.rules = k->rules;
    for (int i = -1; i < s->n_rules; i++) {
        hn_layer_scheme *l = i < 0 ? &k->scheme.layer : &k->rules[i].layer;
        if (i >= 0) k->rules[i] = s->rules[i];
        if (l->kind != HN_LAYER_WEIGHTS && l->kind != HN_LAYER_STATIC) continue;
        widen(&l->weights, bits);
        if (l->kind == HN_LAYER_STATIC) widen(&l->activations, bits);
    }
}

/* What would be written now. */
static hone_status write_model(const hn_course *course_of, const hn_model *trained, hn_model **out,
                               hn_error *err) {
    const course *k = course_of->ctx;
    const hn_transform_ctx *c = course_of->c;
    hn_scheme scheme = k->scheme;
    hn_grids *grids = NULL;
    hn_model *m;
    scheme.integer_io = false;
    HN_TRY(hn_model_clone(&m, c->model, c->alloc, err));
    hone_status status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK) status = hn_grids_create(&grids, c->alloc, err);
    if (status == HONE_OK) status = hn_fakes_apply(&k->fakes, trained, true, m, grids, err);
    if (status == HONE_OK)
        status =
            hn_quantize_model(m, &scheme, c->calibration, grids, c->how->engine.pool, NULL, err);
    hn_grids_destroy(grids);
    if (status == HONE_OK)
        *out = m;
    else
        hn_model_destroy(m);
    return status;
}

/* Trains for so many epochs, in the scheme of the step. */
static hone_status run_course(course *k, int64_t epochs, hn_error *err) {
    hn_transform_ctx *c = k->k.c;
    hn_model *fake = NULL;
    hn_fakes_deinit(&k->fakes);
    HN_TRY(hn_model_clone(&fake, k->masters, c->alloc, err));
    hone_status status = hn_model_infer(fake, NULL, err);
    if (status == HONE_OK)
        status = hn_quantize_fake(fake, &k->scheme, c->calibration, c->grids, c->how->engine.pool,
                                  &k->fakes, err);
    if (status == HONE_OK) status = hn_course_run(&k->k, fake, epochs, err);
    hn_model_destroy(fake);
    return status;
}

static hone_status run_all(course *k, hn_error *err) {
    hn_transform_ctx *c = k->k.c;
    int64_t left = k->k.at.epochs;
    hn_grids *none = NULL;
    HN_TRY(hn_model_clone(&k->masters, c->model, c->alloc, err));
    HN_TRY(hn_model_infer(k->masters, NULL, err));
    for (int i = 0; i < k->n_steps; i++) {
        int64_t epochs = i + 1 < k->n_steps ? k->k.at.epochs / k->n_steps : left;
        left -= epochs;
        set_bits(k, k->bits[i]);
        k->k.at.bits = k->bits[i];
        HN_TRY(run_course(k, epochs, err));
        if (i + 1 == k->n_steps) break;
        HN_TRY(hn_grids_create(&none, c->alloc, err));
        hone_status status = hn_fakes_apply(&k->fakes, k->k.trained, false, k->masters, none, err);
        hn_grids_destroy(none);
        HN_TRY(status);
    }
    return hn_fakes_apply(&k->fakes, k->k.trained, true, c->model, c->grids, err);
}

/* ---- the method ---- */

static hone_status read_options(course *k, hn_transform_ctx *c, hn_error *err) {
    const hn_recipe_step usual = {.transform = hn_transform_named("qat")};
    const hn_recipe_step *s = c->step != NULL ? c->step : &usual;
    HN_TRY(hn_course_begin(&k->k, c, s, err));
    k->k.before = c->model;
    k->k.written = write_model;
    k->k.ctx = k;
    k->k.o.step.frozen_statistics = true;
    if (!hn_step_flag(s, "labels")) hn_course_teach(&k->k, s, c->model, 1);
    k->n_steps = read_bits(hn_step_word(s, "bits"), k->bits);
    if (k->n_steps == 0) k->n_steps = 1;
    HN_CHECK(err, k->k.at.epochs >= k->n_steps, HONE_E_ARG,
             "%lld epochs for %d steps of bits, expected one for each or more",
             (long long)k->k.at.epochs, k->n_steps);
    return HONE_OK;
}

/* The layers whose weights were trained. */
static int64_t count_layers(const hn_fakes *f) {
    int64_t n = 0;
    for (int i = 0; i < f->n; i++) n += !f->v[i].is_value;
    return n;
}

hone_status hn_transform_qat(hn_transform_ctx *c, hn_error *err) {
    course k = {0};
    size_t n = (size_t)c->scheme->n_rules + 1;
    k.rules = hn_alloc_zero(c->alloc, n * sizeof *k.rules, HN_MEM_OTHER);
    if (k.rules == NULL) return HN_NOMEM(err);
    hone_status status = read_options(&k, c, err);
    if (status == HONE_OK) status = run_all(&k, err);
    c->changed = count_layers(&k.fakes);
    if (status != HONE_OK && status != HONE_E_NOMEM)
        hn_error_context(err, "quantization-aware training");
    hn_fakes_deinit(&k.fakes);
    hn_course_deinit(&k.k);
    hn_model_destroy(k.masters);
    hn_free(c->alloc, k.rules);
    return status;
}
