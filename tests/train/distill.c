/* What a student learns from teachers: losses and updates against formulas in double. */
#include "train/distill.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/method_model.h"
#include "support/scratch.h"
#include "train/trainer.h"

enum { N = 4, F = 5, C = 3 };

static const char linear[] =
    "m (float[4,5] x, float[5,3] w) => (float[4,3] y) { y = MatMul (x, w) }";

typedef struct bench {
    hn_pool *pool;
    hn_run_options how;
    hn_step_options o;
    hn_step_sizes sizes, target;
    hn_teacher teachers[2];
    hn_model *student, *models[2];
    hn_error err;
} bench;

static void begin(bench *b, const char *student, const char *teacher, int n_teachers) {
    *b = (bench){.o = {.optimizer_options = {.momentum = 0}}};
    assert_int_equal(hn_pool_create(&b->pool, 1, &scratch_mem, &b->err), HONE_OK);
    b->how.engine.alloc = &scratch_mem;
    b->how.engine.pool = b->pool;
    b->how.engine.isa = hn_isa_available();
    assert_int_equal(hn_optimizer_find("sgd", &b->o.optimizer, &b->err), HONE_OK);
    b->student = method_model(student, 1);
    for (int i = 0; i < n_teachers; i++) {
        b->models[i] = method_model(teacher, 10 + (uint64_t)i);
        b->teachers[i] = (hn_teacher){.model = b->models[i], .weight = 1, .last = HN_ALL_CLASSES};
    }
    b->o.distill = (hn_distill_options){
        .n_teachers = n_teachers, .teachers = b->teachers, .temperature = 2, .alpha = 0.6};
    b->sizes = (hn_step_sizes){.rank = 2, .dims = {N, F}, .dtype = HONE_DTYPE_F32};
    b->target = (hn_step_sizes){.rank = 1, .dims = {N}, .dtype = HONE_DTYPE_S64};
}

static void end(bench *b) {
    hn_model_destroy(b->student);
    for (int i = 0; i < 2; i++) hn_model_destroy(b->models[i]);
    hn_pool_destroy(b->pool);
}

static hn_tensor *floats(const hn_step_sizes *s, uint64_t seed) {
    hn_tensor *t;
    hn_error err;
    hn_rng rng;
    hn_rng_init(&rng, seed);
    assert_int_equal(
        hn_tensor_create(&t, &scratch_mem, HN_MEM_TENSOR, HONE_DTYPE_F32, s->rank, s->dims, &err),
        HONE_OK);
    for (int64_t i = 0; i < t->n; i++) ((float *)t->data)[i] = (float)hn_rng_normal(&rng);
    return t;
}

/* One step; returns its loss. `after` gets the parameters. */
static double one_step(bench *b, const hn_tensor *x, const int64_t *labels, double rate,
                       hn_trainer **after) {
    hn_trainer *t = NULL;
    hn_tensor y;
    int64_t n = N;
    double loss;
    const hn_tensor *in[] = {x};
    if (hn_trainer_create(&t, b->student, &b->sizes, labels != NULL ? &b->target : NULL, &b->o,
                          &b->how, &b->err) != HONE_OK)
        fail_msg("%s", b->err.text);
    if (labels != NULL)
        assert_int_equal(hn_tensor_borrow(&y, HONE_DTYPE_S64, 1, &n, (void *)labels, &b->err),
                         HONE_OK);
    if (hn_trainer_step(t, in, labels != NULL ? &y : NULL, rate, &loss, &b->err) != HONE_OK)
        fail_msg("%s", b->err.text);
    if (after != NULL)
        *after = t;
    else
        hn_trainer_destroy(t);
    return loss;
}

static void near(double found, double wanted) {
    if (!(fabs(found - wanted) <= 1e-5 * (1 + fabs(wanted))))
        fail_msg("%.9g, expected %.9g", found, wanted);
}

/* ---- answers ---- */

static void scores(const hn_tensor *x, const float *w, double y[N][C]) {
    for (int i = 0; i < N; i++)
        for (int c = 0; c < C; c++) {
            y[i][c] = 0;
            for (int f = 0; f < F; f++)
                y[i][c] += (double)((const float *)x->data)[i * F + f] * (double)w[f * C + c];
        }
}

static void softmax(double y[N][C], double temperature, double p[N][C]) {
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int c = 0; c < C; c++) sum += p[i][c] = exp(y[i][c] / temperature);
        for (int c = 0; c < C; c++) p[i][c] /= sum;
    }
}

static void loss_and_update_are_those_of_the_formula(void **state) {
    (void)state;
    static const int64_t labels[N] = {0, 2, 1, 2};
    for (int labelled = 0; labelled < 2; labelled++) {
        bench b;
        begin(&b, linear, linear, 1);
        hn_tensor *x = floats(&b.sizes, 3);
        double y[N][C], t[N][C], p[N][C], soft[N][C], wanted[N][C], dy[N][C];
        const float *w = method_weight(b.student, "w");
        const double T = 2, alpha = labelled ? 0.6 : 1, rate = 0.5;
        scores(x, w, y);
        scores(x, method_weight(b.models[0], "w"), t);
        softmax(y, 1, p);
        softmax(y, T, soft);
        softmax(t, T, wanted);
        double loss = 0;
        for (int i = 0; i < N; i++)
            for (int c = 0; c < C; c++) {
                bool is = labels[i] == c;
                loss += alpha * T * T * wanted[i][c] * log(wanted[i][c] / soft[i][c]) / N;
                loss -= is ? (1 - alpha) * log(p[i][c]) / N : 0;
                dy[i][c] =
                    alpha * T * (soft[i][c] - wanted[i][c]) / N + (1 - alpha) * (p[i][c] - is) / N;
            }
        hn_trainer *after;
        near(one_step(&b, x, labelled ? labels : NULL, rate, &after), loss);
        for (int f = 0; f < F; f++)
            for (int c = 0; c < C; c++) {
                double g = 0;
                for (int i = 0; i < N; i++) g += (double)((float *)x->data)[i * F + f] * dy[i][c];
                near((double)hn_trainer_value(after, 0)[f * C + c],
                     (double)w[f * C + c] - rate * g);
            }
        hn_trainer_destroy(after);
        hn_tensor_unref(x);
        end(&b);
    }
}

/* The first counts twice and is asked about classes 0 and 1 alone. */
static void several_teachers_answer_as_one(void **state) {
    (void)state;
    bench b;
    begin(&b, linear, linear, 2);
    b.teachers[0].weight = 2;
    b.teachers[0].last = 1;
    hn_tensor *x = floats(&b.sizes, 3);
    double y[N][C], t[N][C], soft[N][C], first[N][C], second[N][C], loss = 0;
    scores(x, method_weight(b.student, "w"), y);
    softmax(y, 2, soft);
    scores(x, method_weight(b.models[0], "w"), t);
    softmax(t, 2, first);
    scores(x, method_weight(b.models[1], "w"), t);
    softmax(t, 2, second);
    for (int i = 0; i < N; i++) {
        double joint[C], sum = 0;
        for (int c = 0; c < C; c++)
            sum += joint[c] = c < 2 ? (2 * first[i][c] + second[i][c]) / 3 : second[i][c];
        for (int c = 0; c < C; c++)
            loss += 4 * joint[c] / sum * log(joint[c] / sum / soft[i][c]) / N;
    }
    near(one_step(&b, x, NULL, 0, NULL), loss);
    hn_tensor_unref(x);
    end(&b);
}

/* ---- rows of which teachers are sure ---- */

static double highest(const double p[C]) { return fmax(p[0], fmax(p[1], p[2])); }

/* Rows whose highest probability at temperature 1 is under the limit add nothing, and the mean is
 * over all rows. */
static void unsure_rows_do_not_count(void **state) {
    (void)state;
    double seen = 0;
    for (int n_teachers = 1; n_teachers <= 2; n_teachers++) {
        bench b;
        begin(&b, linear, linear, n_teachers);
        hn_tensor *x = floats(&b.sizes, 3);
        double y[N][C], t[N][C], soft[N][C], sure[N][C] = {0}, wanted[N][C] = {0}, dy[N][C] = {0};
        const double T = 2, rate = 0.5;
        const float *w = method_weight(b.student, "w");
        scores(x, w, y);
        softmax(y, T, soft);
        for (int k = 0; k < n_teachers; k++) {
            double p[N][C];
            scores(x, method_weight(b.models[k], "w"), t);
            softmax(t, 1, p);
            for (int i = 0; i < N * C; i++) sure[i / C][i % C] += p[i / C][i % C] / n_teachers;
            softmax(t, T, p);
            for (int i = 0; i < N * C; i++) wanted[i / C][i % C] += p[i / C][i % C] / n_teachers;
        }
        for (int row = 0; row < N; row++) { /* each row is once the last that counts */
            double least = highest(sure[row]) - 1e-4, loss = 0;
            b.o.distill.confidence = least;
            for (int i = 0; i < N; i++)
                for (int c = 0; c < C; c++) {
                    bool counts = highest(sure[i]) >= least;
                    if (counts) loss += T * T * wanted[i][c] * log(wanted[i][c] / soft[i][c]) / N;
                    dy[i][c] = counts ? T * (soft[i][c] - wanted[i][c]) / N : 0;
                    seen += counts;
                }
            hn_trainer *after;
            near(one_step(&b, x, NULL, rate, &after), loss);
            for (int f = 0; f < F; f++)
                for (int c = 0; c < C; c++) {
                    double g = 0;
                    for (int i = 0; i < N; i++)
                        g += (double)((float *)x->data)[i * F + f] * dy[i][c];
                    near((double)hn_trainer_value(after, 0)[f * C + c],
                         (double)w[f * C + c] - rate * g);
                }
            hn_trainer_destroy(after);
        }
        b.o.distill.confidence = 1;
        near(one_step(&b, x, NULL, rate, NULL), 0);
        hn_tensor_unref(x);
        end(&b);
    }
    assert_true(seen == 2 * C * (1 + 2 + 3 + 4));
}

/* Two answers of each sample: one may count without the other. */
static void places_count_for_themselves(void **state) {
    (void)state;
    enum { P = 2 };
    static const char text[] =
        "m (float[4,5] x, float[5,6] w) => (float[4,3,2] y) {"
        " a = MatMul (x, w) s = Constant <value_ints = [4, 3, 2]> () y = Reshape (a, s) }";
    bench b;
    begin(&b, text, text, 1);
    assert_int_equal(hn_loss_find("kl", &b.o.loss, &b.err), HONE_OK);
    b.o.distill.temperature = 1;
    b.o.distill.confidence = 0.7;
    hn_tensor *x = floats(&b.sizes, 3);
    double loss = 0;
    int n = 0;
    for (int i = 0; i < N; i++)
        for (int place = 0; place < P; place++) {
            double y[2][C], sum[2] = {0}, each = 0;
            for (int k = 0; k < 2; k++)
                for (int c = 0; c < C; c++) {
                    const float *w = method_weight(k == 0 ? b.student : b.models[0], "w");
                    double v = 0;
                    for (int f = 0; f < F; f++)
                        v += (double)((float *)x->data)[i * F + f] *
                             (double)w[f * C * P + c * P + place];
                    sum[k] += y[k][c] = exp(v);
                }
            for (int k = 0; k < 2; k++)
                for (int c = 0; c < C; c++) y[k][c] /= sum[k];
            for (int c = 0; c < C; c++) each += y[1][c] * log(y[1][c] / y[0][c]) / (N * P);
            if (highest(y[1]) < 0.7) continue;
            loss += each;
            n++;
        }
    assert_true(n > 0 && n < N * P);
    near(one_step(&b, x, NULL, 0, NULL), loss);
    hn_tensor_unref(x);
    end(&b);
}

/* ---- a student that teaches itself ---- */

static void teach_itself(bench *b, double decay) {
    b->teachers[0] = (hn_teacher){.weight = 1, .last = HN_ALL_CLASSES};
    b->o.distill.n_teachers = 1;
    b->o.distill.self = decay;
}

/* One step; view: the first input as the teacher sees it, if it has one of its own. */
static double step(bench *b, hn_trainer *t, const hn_tensor *x, const hn_tensor *view,
                   const hn_tensor *y, double rate) {
    const hn_tensor *in[] = {x};
    double loss = 0;
    if (view != NULL) hn_trainer_set_view(t, view);
    if (hn_trainer_step(t, in, y, rate, &loss, &b->err) != HONE_OK) fail_msg("%s", b->err.text);
    return loss;
}

static hn_trainer *trainer(bench *b, const hn_step_sizes *target) {
    hn_trainer *t = NULL;
    if (hn_trainer_create(&t, b->student, &b->sizes, target, &b->o, &b->how, &b->err) != HONE_OK)
        fail_msg("%s", b->err.text);
    return t;
}

/* What the model gets: the parameters, or with `average` those of the teacher. */
static void stored(bench *b, hn_trainer *t, const double p[F][C]) {
    hn_model *m;
    assert_int_equal(hn_model_copy(&m, b->student, &scratch_mem, &b->err), HONE_OK);
    assert_int_equal(hn_trainer_store(t, m, &b->err), HONE_OK);
    for (int i = 0; i < F * C; i++) near((double)method_weight(m, "w")[i], p[i / C][i % C]);
    hn_model_destroy(m);
}

static void averages_teach_by_the_formula(void **state) {
    (void)state;
    int64_t labels[N] = {0, 2, 1, 2}, n = N;
    for (int k = 0; k < 4; k++) {
        bench b;
        bool viewed = (k & 1) != 0, averaged = (k & 2) != 0;
        begin(&b, linear, linear, 0);
        teach_itself(&b, 0.8);
        b.o.distill.viewed = viewed;
        b.o.average = averaged ? 0.8 : 0;
        hn_tensor *x = floats(&b.sizes, 3), *view = viewed ? floats(&b.sizes, 4) : NULL, target;
        hn_tensor_borrow(&target, HONE_DTYPE_S64, 1, &n, labels, &b.err);
        hn_trainer *trained = trainer(&b, &b.target);
        double w[F][C], average[F][C];
        const double T = 2, alpha = 0.6, rate = 0.5;
        for (int i = 0; i < F * C; i++)
            average[i / C][i % C] = w[i / C][i % C] = (double)method_weight(b.student, "w")[i];
        for (int at = 0; at < 5; at++) {
            double y[N][C], t[N][C], p[N][C], soft[N][C], wanted[N][C], loss = 0, dw[F][C] = {0};
            float own[F * C], other[F * C];
            for (int i = 0; i < F * C; i++) {
                own[i] = (float)w[i / C][i % C];
                other[i] = (float)average[i / C][i % C];
            }
            scores(x, own, y);
            scores(viewed ? view : x, other, t);
            softmax(y, 1, p);
            softmax(y, T, soft);
            softmax(t, T, wanted);
            for (int i = 0; i < N; i++)
                for (int c = 0; c < C; c++) {
                    bool is = labels[i] == c;
                    loss += alpha * T * T * wanted[i][c] * log(wanted[i][c] / soft[i][c]) / N;
                    loss -= is ? (1 - alpha) * log(p[i][c]) / N : 0;
                    double dy = alpha * T * (soft[i][c] - wanted[i][c]) / N +
                                (1 - alpha) * (p[i][c] - is) / N;
                    for (int f = 0; f < F; f++)
                        dw[f][c] += (double)((float *)x->data)[i * F + f] * dy;
                }
            near(step(&b, trained, x, view, &target, rate), loss);
            for (int f = 0; f < F; f++)
                for (int c = 0; c < C; c++) {
                    w[f][c] -= rate * dw[f][c];
                    average[f][c] += 0.2 * (w[f][c] - average[f][c]);
                }
        }
        stored(&b, trained, averaged ? average : w);
        hn_trainer_destroy(trained);
        hn_tensor_unref(view);
        hn_tensor_unref(x);
        end(&b);
    }
}

static const char normalized[] =
    "m (float[n,5] x, float[5] ws, float[5] wb, float[5] wm, float[5] wv, float[5,3] w)"
    " => (float[n,3] y) { a = BatchNormalization (x, ws, wb, wm, wv) y = MatMul (a, w) }";

static const float *kept_of(hn_trainer *t, hn_kept_kind kind, const char *name) {
    const hn_train_step *s = hn_trainer_graph(t);
    for (int i = 0; i < s->n_kept; i++)
        if (s->kept[i].kind == kind && strcmp(s->kept[i].name, name) == 0)
            return hn_trainer_value(t, i);
    fail_msg("nothing is kept of '%s'", name);
    return NULL;
}

/* The teacher normalizes by averages of the running statistics, the student by the batch. */
static void the_teacher_runs_as_for_inference(void **state) {
    (void)state;
    bench b;
    begin(&b, normalized, linear, 0);
    teach_itself(&b, 0.8);
    assert_int_equal(hn_loss_find("mse", &b.o.loss, &b.err), HONE_OK);
    for (int i = 0; i < F; i++) ((float *)method_weight(b.student, "wv"))[i] = 1;
    hn_tensor *x = floats(&b.sizes, 3);
    const float *data = x->data, *w = method_weight(b.student, "w");
    const float *scale = method_weight(b.student, "ws");
    hn_trainer *t = trainer(&b, NULL);
    double stats[2][F], average[2][F], batch[2][F] = {{0}};
    for (int f = 0; f < F; f++) {
        average[0][f] = stats[0][f] = (double)method_weight(b.student, "wm")[f];
        average[1][f] = stats[1][f] = 1;
        for (int i = 0; i < N; i++) batch[0][f] += (double)data[i * F + f] / N;
        for (int i = 0; i < N; i++)
            batch[1][f] += pow((double)data[i * F + f] - batch[0][f], 2) / N;
    }
    for (int at = 0; at < 4; at++) {
        double loss = 0;
        for (int i = 0; i < N; i++)
            for (int c = 0; c < C; c++) {
                double d = 0;
                for (int f = 0; f < F; f++) {
                    double v = (double)data[i * F + f];
                    double own = (v - batch[0][f]) / sqrt(batch[1][f] + 1e-5);
                    double theirs = (v - average[0][f]) / sqrt(average[1][f] + 1e-5);
                    d += (own - theirs) * (double)scale[f] * (double)w[f * C + c];
                }
                loss += d * d / (N * C);
            }
        near(step(&b, t, x, NULL, NULL, 0), loss);
        for (int k = 0; k < 2; k++)
            for (int f = 0; f < F; f++) {
                stats[k][f] = 0.9 * stats[k][f] + 0.1 * batch[k][f];
                average[k][f] += 0.2 * (stats[k][f] - average[k][f]);
                const char *name = k == 0 ? "wm" : "wv";
                near((double)kept_of(t, HN_KEPT_STATISTIC, name)[f], stats[k][f]);
                near((double)kept_of(t, HN_KEPT_AVERAGE, name)[f], average[k][f]);
            }
    }
    hn_trainer_destroy(t);
    hn_tensor_unref(x);
    end(&b);
}

/* A batch in parts: averages follow what the update makes of parameters and statistics, and where
 * nothing is normalized the result is that of the whole batch. */
static void parts_teach_themselves(void **state) {
    (void)state;
    const hn_ranks alone = {.size = 1};
    float whole[F * C];
    for (int k = 0; k < 4; k++) {
        bench b;
        int64_t parts = k % 2 == 0 ? 1 : 2, each = N / parts, dims[] = {each, F};
        bool plain = k < 2;
        begin(&b,
              plain ? "m (float[n,5] x, float[5,3] w) => (float[n,3] y) { y = MatMul (x, w) }"
                    : normalized,
              linear, 0);
        teach_itself(&b, 0.8);
        hn_tensor *x = floats(&b.sizes, 3), *view = floats(&b.sizes, 4);
        b.o.distill.viewed = true;
        b.o.parts = parts > 1 ? parts : 0;
        b.o.ranks = &alone;
        b.sizes.dims[0] = each;
        for (int i = 0; !plain && i < F; i++) ((float *)method_weight(b.student, "wv"))[i] = 1;
        hn_trainer *t = trainer(&b, NULL);
        const hn_train_step *s = hn_trainer_graph(t);
        for (int at = 0; at < 3; at++) {
            float before[16][F * C];
            assert_true(s->n_kept <= 16);
            for (int i = 0; i < s->n_kept; i++)
                memcpy(before[i], hn_trainer_value(t, i), (size_t)s->kept[i].n * sizeof(float));
            for (int64_t part = 0; part < parts; part++) {
                hn_tensor some, seen;
                float *from = (float *)x->data + part * each * F;
                hn_tensor_borrow(&some, HONE_DTYPE_F32, 2, dims, from, &b.err);
                from = (float *)view->data + part * each * F;
                hn_tensor_borrow(&seen, HONE_DTYPE_F32, 2, dims, from, &b.err);
                step(&b, t, &some, &seen, NULL, 0.3);
            }
            for (int i = 0; i < s->n_kept; i++) {
                int by = s->kept[i].average;
                if (by < 0) continue;
                for (int64_t e = 0; e < s->kept[i].n; e++) {
                    double moved = (double)(hn_trainer_value(t, i)[e] - before[by][e]) * 0.2;
                    near((double)hn_trainer_value(t, by)[e], (double)before[by][e] + moved);
                }
            }
        }
        const float *w = kept_of(t, HN_KEPT_PARAMETER, "w");
        if (k == 0) memcpy(whole, w, sizeof whole);
        for (int i = 0; k == 1 && i < F * C; i++) near((double)w[i], (double)whole[i]);
        hn_trainer_destroy(t);
        hn_tensor_unref(view);
        hn_tensor_unref(x);
        end(&b);
    }
}

/* ---- matched values ---- */

/* Images of other sizes and channels, which the outputs do not depend on. */
static const char small[] =
    "m (float[4,5] x, float[5,18] wu, float[5,3] w) => (float[4,3] y) {"
    " a = MatMul (x, wu) s = Constant <value_ints = [4, 2, 3, 3]> () f = Reshape (a, s)"
    " r = ReduceSum <keepdims = 0> (f) z = MatMul (x, w) y = Add (z, r) }";
static const char large[] =
    "m (float[4,5] x, float[5,80] wu, float[5,3] w) => (float[4,3] y) {"
    " a = MatMul (x, wu) s = Constant <value_ints = [4, 4, 5, 4]> () f = Reshape (a, s)"
    " r = ReduceSum <keepdims = 0> (f) z = MatMul (x, w) y = Add (z, r) }";

typedef struct image {
    int c, h, w;
    double v[N][4][5][5];
} image;

static void image_of(image *m, const hn_tensor *x, const float *u) {
    int size = m->c * m->h * m->w;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < size; k++) {
            double sum = 0;
            for (int f = 0; f < F; f++)
                sum += (double)((const float *)x->data)[i * F + f] * (double)u[f * size + k];
            m->v[i][k / (m->h * m->w)][k / m->w % m->h][k % m->w] = sum;
        }
}

/* Adaptive average pooling to 3 x 3. */
static void pooled(const image *from, image *to) {
    *to = (image){.c = from->c, .h = 3, .w = 3};
    for (int i = 0; i < N; i++)
        for (int c = 0; c < from->c; c++)
            for (int y = 0; y < 3; y++)
                for (int x = 0; x < 3; x++) {
                    int y0 = y * from->h / 3, y1 = ((y + 1) * from->h + 2) / 3;
                    int x0 = x * from->w / 3, x1 = ((x + 1) * from->w + 2) / 3;
                    double sum = 0;
                    for (int a = y0; a < y1; a++)
                        for (int e = x0; e < x1; e++) sum += from->v[i][c][a][e];
                    to->v[i][c][y][x] = sum / ((y1 - y0) * (x1 - x0));
                }
}

static void attention_of(const image *m, double q[N][9]) {
    for (int i = 0; i < N; i++) {
        double sum = 1e-12;
        for (int k = 0; k < 9; k++) {
            q[i][k] = 0;
            for (int c = 0; c < m->c; c++) q[i][k] += pow(m->v[i][c][k / 3][k % 3], 2);
            sum += q[i][k] * q[i][k];
        }
        for (int k = 0; k < 9; k++) q[i][k] /= sqrt(sum);
    }
}

static void likeness_of(const image *m, double q[N][9]) {
    for (int i = 0; i < N; i++) {
        double sum = 1e-12;
        for (int k = 0; k < N; k++) {
            q[i][k] = 0;
            for (int c = 0; c < m->c; c++)
                for (int p = 0; p < 9; p++)
                    q[i][k] += m->v[i][c][p / 3][p % 3] * m->v[k][c][p / 3][p % 3];
            sum += q[i][k] * q[i][k];
        }
        for (int k = 0; k < N; k++) q[i][k] /= sqrt(sum);
    }
}

static double mean_square(double a[N][9], double b[N][9], int n) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < n; k++) sum += pow(a[i][k] - b[i][k], 2) / (N * n);
    return sum;
}

/* The loss less what it is without the match. */
static double term(const char *match) {
    bench b;
    begin(&b, small, large, 1);
    hn_tensor *x = floats(&b.sizes, 3);
    double without = one_step(&b, x, NULL, 0, NULL);
    b.o.distill.match = match;
    double with = one_step(&b, x, NULL, 0.1, NULL);
    hn_tensor_unref(x);
    end(&b);
    return with - without;
}

static void matches_are_those_of_the_formulas(void **state) {
    (void)state;
    bench b;
    begin(&b, small, large, 1);
    hn_tensor *x = floats(&b.sizes, 3);
    image s = {.c = 2, .h = 3, .w = 3}, t = {.c = 4, .h = 5, .w = 4}, even;
    image_of(&s, x, method_weight(b.student, "wu"));
    image_of(&t, x, method_weight(b.models[0], "wu"));
    pooled(&t, &even);
    double of_s[N][9], of_t[N][9];
    attention_of(&s, of_s);
    attention_of(&even, of_t);
    near(term("attention:f=f*2"), 2 * mean_square(of_s, of_t, 9));
    likeness_of(&s, of_s);
    likeness_of(&even, of_t);
    near(term("relation:f=f*3"), 3 * mean_square(of_s, of_t, N));
    double squares = 0;
    for (int i = 0; i < N; i++)
        for (int c = 0; c < C; c++) {
            double a[N][C], e[N][C];
            scores(x, method_weight(b.student, "w"), a);
            scores(x, method_weight(b.models[0], "w"), e);
            squares += pow(a[i][c] - e[i][c], 2) / (N * C);
        }
    near(term("features:z=z*0.5"), 0.5 * squares);
    hn_tensor_unref(x);
    end(&b);
}

/* Features of another number go through weights that are trained and that the model does not get. */
static void projections_are_trained_along(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        bench b;
        begin(&b, small, large, 1);
        hn_tensor *x = floats(&b.sizes, 3);
        b.o.distill.match = i == 0 ? "features:f=f" : "cosine:f=f";
        hn_trainer *t;
        one_step(&b, x, NULL, 0.1, &t);
        const hn_train_step *step = hn_trainer_graph(t);
        int extra = 0;
        for (int k = 0; k < step->n_kept; k++) {
            if (step->kept[k].kind != HN_KEPT_EXTRA) continue;
            extra++;
            assert_int_equal(step->kept[k].n, 2 * 4);
            assert_memory_not_equal(hn_trainer_value(t, k), step->kept[k].first->data, 8 * 4);
        }
        assert_int_equal(extra, 1);
        hn_model *m;
        assert_int_equal(hn_model_copy(&m, b.student, &scratch_mem, &b.err), HONE_OK);
        int values = m->graph->n_values;
        assert_int_equal(hn_trainer_store(t, m, &b.err), HONE_OK);
        assert_int_equal(m->graph->n_values, values);
        hn_model_destroy(m);
        hn_trainer_destroy(t);
        hn_tensor_unref(x);
        end(&b);
    }
}

/* ---- what does not fit ---- */

static void refused(bench *b, const char *why) {
    hn_trainer *t = NULL;
    hone_status status =
        hn_trainer_create(&t, b->student, &b->sizes, NULL, &b->o, &b->how, &b->err);
    assert_int_not_equal(status, HONE_OK);
    if (strstr(b->err.text, why) == NULL) fail_msg("'%s', expected '%s'", b->err.text, why);
}

static void what_does_not_fit_is_said(void **state) {
    (void)state;
    static const struct {
        const char *teacher, *match, *why;
    } cases[] = {
        {"m (float[4,5] x, float[5,7] w) => (float[4,7] y) { y = MatMul (x, w) }", NULL,
         "teacher 1 answers by"},
        {"m (float[4,5] x, float[5,7] w) => (float[4,7,1,1] y) { a = MatMul (x, w)"
         " i = Constant <value = int64[2] {2, 3}> () y = Unsqueeze (a, i) }",
         NULL, "teacher 1 answers by [4, 7]"},
        {"m (float[4,6] x, float[6,3] w) => (float[4,3] y) { y = MatMul (x, w) }", NULL,
         "input 'x' of the teacher does not take"},
        {"m (float[4,5] x, float[4,5] q, float[5,3] w) => (float[4,3] y) "
         "{ a = Add (x, q) y = MatMul (a, w) }",
         NULL, "more inputs than the student: 'q'"},
        {linear, "features:y", "is not KIND:TEACHER_VALUE=STUDENT_VALUE"},
        {linear, "likes:y=y", "there is no match 'likes'"},
        {linear, "features:y=nothing", "the student has no value 'nothing'"},
        {linear, "features:nothing=y", "the teacher has no value 'nothing'"},
        {linear, "features:y=x", "value 'x' of the student is not computed"},
        {linear, "features:y=y*-1", "weight '-1'"},
        {large, "features:f=y", "cannot be matched"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        begin(&b, linear, cases[i].teacher, 1);
        b.o.distill.match = cases[i].match;
        refused(&b, cases[i].why);
        end(&b);
    }
    bench b;
    begin(&b, linear, linear, 1);
    b.teachers[0].last = 3;
    refused(&b, "asked about classes 0 to 3 of 3");
    b.teachers[0].last = HN_ALL_CLASSES;
    b.o.distill.confidence = 0.5;
    assert_int_equal(hn_loss_find("mse", &b.o.loss, &b.err), HONE_OK);
    refused(&b,
            "confidence 0.5 wants a loss by probabilities of classes, cross-entropy or kl; the "
            "loss is mse");
    b.o.distill.confidence = 1.5;
    refused(&b, "confidence 1.5, expected 0 to below 1 and 0 to 1");
    b.o.distill.confidence = 0;
    teach_itself(&b, 0.9);
    b.o.average = 0.8;
    refused(&b,
            "the model gets averages that keep 0.8 in each step, its teacher is averages that "
            "keep 0.9");
    end(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(loss_and_update_are_those_of_the_formula),
        TEST(several_teachers_answer_as_one),
        TEST(unsure_rows_do_not_count),
        TEST(places_count_for_themselves),
        TEST(averages_teach_by_the_formula),
        TEST(the_teacher_runs_as_for_inference),
        TEST(parts_teach_themselves),
        TEST(matches_are_those_of_the_formulas),
        TEST(projections_are_trained_along),
        TEST(what_does_not_fit_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
