/* label: slow */
/* A course of training on digits that hone draws: one that is interrupted gives the same bytes. */
#include "train/training.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "formats/onnx.h"
#include "ops/infer.h"
#include "passes/set_dim.h"
#include "support/data.h"
#include "support/paths.h"

typedef struct bench {
    hn_model *model;
    hn_dataset *data;
    hn_pool *pool;
    hn_run_options how;
    hn_training_options o;
    hn_error err;
} bench;

/* Puts a Dropout before the last node. */
static void add_dropout(hn_model *m, hn_error *err) {
    hn_graph *g = m->graph;
    hn_node *last = g->last, *n;
    hn_value *y;
    assert_int_equal(hn_node_create(&n, g, "", "Dropout", "drop", 1, 1, err), HONE_OK);
    assert_int_equal(hn_value_create(&y, g, NULL, "dropped", err), HONE_OK);
    n->op = hn_op_find("", "Dropout");
    hn_node_set_input(n, 0, hn_node_input(last, 0));
    hn_node_set_output(n, 0, y);
    hn_node_insert(n, last);
    hn_node_set_input(last, 0, y);
}

static void begin(bench *b) {
    *b = (bench){.o = {.batch = 16,
                       .epochs = 3,
                       .seed = 3,
                       .augment = "crop=1:noise=0.1",
                       .rates = {.rate = 1e-3, .factor = 0.1},
                       .step = {.optimizer_options = hn_optimizer_defaults()}}};
    if (hn_onnx_load(&b->model, HN_SOURCE_DIR "/models/digits_cnn.onnx", NULL, &scratch_mem,
                     &b->err) != HONE_OK)
        fail_msg("%s", b->err.text);
    add_dropout(b->model, &b->err);
    assert_int_equal(hn_model_infer(b->model, NULL, &b->err), HONE_OK);
    b->data = data_open("synthetic:digits,n=%d", 70);
    assert_int_equal(hn_pool_create(&b->pool, 2, &scratch_mem, &b->err), HONE_OK);
    b->how.engine.alloc = &scratch_mem;
    b->how.engine.pool = b->pool;
    b->how.engine.isa = hn_isa_available();
    assert_int_equal(hn_optimizer_find("adam", &b->o.step.optimizer, &b->err), HONE_OK);
    assert_int_equal(hn_schedule_find("cosine", &b->o.schedule, &b->err), HONE_OK);
}

static void end(bench *b) {
    hn_dataset_close(b->data);
    hn_model_destroy(b->model);
    hn_pool_destroy(b->pool);
}

static hn_training *training(bench *b) {
    hn_training *t = NULL;
    if (hn_training_create(&t, b->model, b->data, &b->o, &b->how, &b->err) != HONE_OK)
        fail_msg("%s", b->err.text);
    return t;
}

static void steps(bench *b, hn_training *t, int n) {
    for (int i = 0; i < n; i++)
        if (hn_training_step(t, &b->err) != HONE_OK) fail_msg("%s", b->err.text);
}

static void same_values(hn_training *a, hn_training *b) {
    const hn_train_step *s = hn_trainer_graph(hn_training_trainer(a));
    for (int i = 0; i < s->n_kept; i++)
        assert_memory_equal(hn_trainer_value(hn_training_trainer(a), i),
                            hn_trainer_value(hn_training_trainer(b), i),
                            (size_t)s->kept[i].n * sizeof(float));
}

/* 70 samples are four batches of 16. */
static void resumed_runs_are_the_same(bench b) {
    hn_training *whole = training(&b);
    steps(&b, whole, 12);
    assert_int_equal(hn_training_at(whole).epoch, 3);
    assert_int_equal(hn_training_step(whole, &b.err), HONE_E_ARG);
    for (int at = 1; at < 12; at += 5) {
        const char *path = scratch_path("last.onnx");
        hn_training *first = training(&b), *second = training(&b);
        steps(&b, first, at);
        assert_int_equal(hn_training_save(first, path, &b.err), HONE_OK);
        hn_training_destroy(first);
        b.o.readers = 1; /* who reads makes no difference */
        assert_int_equal(hn_training_resume(second, path, &b.err), HONE_OK);
        assert_int_equal(hn_training_at(second).step, at);
        steps(&b, second, 12 - at);
        same_values(whole, second);
        hn_training_destroy(second);
    }
    hn_training_destroy(whole);
    end(&b);
}

static void resumed_runs_give_the_same_bytes(void **state) {
    (void)state;
    bench b;
    begin(&b);
    resumed_runs_are_the_same(b);
}

/* With values that are none of the model's: averages, and weights between matched values. */
static void what_is_kept_beside_the_model_is_resumed(void **state) {
    (void)state;
    bench b;
    begin(&b);
    hn_model *other;
    assert_int_equal(hn_model_clone(&other, b.model, &scratch_mem, &b.err), HONE_OK);
    hn_teacher teacher = {.model = other, .weight = 1, .last = HN_ALL_CLASSES};
    b.o.step.average = 0.9;
    b.o.balanced = true;
    b.o.step.distill = (hn_distill_options){.n_teachers = 1,
                                            .teachers = &teacher,
                                            .temperature = 3,
                                            .alpha = 0.7,
                                            .match = "features:pw_relu=res_relu_out"};
    resumed_runs_are_the_same(b);
    hn_model_destroy(other);
}

static const hn_teacher itself = {.weight = 1, .last = HN_ALL_CLASSES};

/* The student is taught by averages of itself, which see other views. */
static void teach_itself(bench *b) {
    b->o.augment = "crop=2:noise=0.1:mixup";
    b->o.teacher_augment = "crop=1";
    b->o.step.distill = (hn_distill_options){.n_teachers = 1,
                                             .teachers = &itself,
                                             .temperature = 2,
                                             .alpha = 0.5,
                                             .self = 0.9,
                                             .confidence = 0.15};
}

static void a_student_that_teaches_itself_is_resumed(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        bench b;
        begin(&b);
        teach_itself(&b);
        b.o.step.average = k % 2 == 0 ? 0 : 0.9;
        b.o.step.parts = k < 2 ? 0 : 2;
        resumed_runs_are_the_same(b);
    }
}

/* The losses of a course's first steps. */
static void losses_of(bench *b, double loss[3]) {
    hn_training *t = training(b);
    for (int i = 0; i < 3; i++) {
        steps(b, t, 1);
        loss[i] = hn_training_at(t).loss;
    }
    hn_training_destroy(t);
}

/* A teacher with a view of its own sees that, and one whose view is unchanged the samples. */
static void teachers_see_their_view(void **state) {
    (void)state;
    double same[3], unchanged[3], noisy[3], mixed[3], other[3];
    bench b;
    begin(&b);
    teach_itself(&b);
    b.o.augment = b.o.teacher_augment = NULL;
    losses_of(&b, same);
    b.o.teacher_augment = "";
    losses_of(&b, unchanged);
    b.o.teacher_augment = "noise=0.5";
    losses_of(&b, noisy);
    assert_memory_equal(same, unchanged, sizeof same);
    for (int i = 0; i < 3; i++) assert_true(same[i] != noisy[i]);
    /* Both views are mixed alike. */
    b.o.augment = "mixup=1";
    b.o.teacher_augment = NULL;
    losses_of(&b, mixed);
    b.o.teacher_augment = "";
    losses_of(&b, other);
    assert_memory_equal(mixed, other, sizeof mixed);
    assert_memory_not_equal(mixed, same, sizeof mixed);
    /* What is drawn for the teacher is not what is drawn for the student. */
    b.o.augment = "noise=0.5";
    b.o.teacher_augment = NULL;
    losses_of(&b, same);
    b.o.teacher_augment = "noise=0.5";
    losses_of(&b, other);
    assert_memory_not_equal(same, other, sizeof same);
    end(&b);
}

static void views_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *augment, *why;
    } cases[] = {
        {"flip:mixup", "augmentation 'flip:mixup' of what teachers see mixes samples"},
        {"likes", "there is no augmentation 'likes'"},
        {"drop", "augmentation 'drop' wants samples of s32 or s64"},
    };
    bench b;
    hn_training *t;
    begin(&b);
    teach_itself(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b.o.teacher_augment = cases[i].augment;
        assert_int_not_equal(hn_training_create(&t, b.model, b.data, &b.o, &b.how, &b.err),
                             HONE_OK);
        if (strstr(b.err.text, cases[i].why) == NULL) fail_msg("%s", b.err.text);
    }
    b.o.teacher_augment = "flip";
    b.o.step.distill = (hn_distill_options){0};
    assert_int_equal(hn_training_create(&t, b.model, b.data, &b.o, &b.how, &b.err), HONE_E_ARG);
    assert_non_null(strstr(b.err.text, "augmentation 'flip' of what teachers see wants a teacher"));
    end(&b);
}

/* Who computes makes no difference to a student that teaches itself. */
static void threads_change_no_byte(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 4};
    hn_training *t[3];
    bench b[3];
    for (int i = 0; i < 3; i++) {
        begin(&b[i]);
        teach_itself(&b[i]);
        b[i].o.readers = i;
        hn_pool_destroy(b[i].pool);
        assert_int_equal(hn_pool_create(&b[i].pool, threads[i], &scratch_mem, &b[i].err), HONE_OK);
        b[i].how.engine.pool = b[i].pool;
        t[i] = training(&b[i]);
        steps(&b[i], t[i], 8);
        if (i > 0) same_values(t[0], t[i]);
    }
    for (int i = 0; i < 3; i++) {
        hn_training_destroy(t[i]);
        end(&b[i]);
    }
}

/* A checkpoint is a model with the trained parameters, and refuses to be another's. */
static void checkpoints_are_models(void **state) {
    (void)state;
    bench b;
    begin(&b);
    hn_training *t = training(&b);
    steps(&b, t, 2);
    const char *path = scratch_path("c.onnx");
    hn_model *m, *trained;
    assert_int_equal(hn_training_save(t, path, &b.err), HONE_OK);
    assert_int_equal(hn_onnx_load(&m, path, NULL, &scratch_mem, &b.err), HONE_OK);
    assert_int_equal(hn_training_model(t, &trained, &b.err), HONE_OK);
    const hn_train_step *s = hn_trainer_graph(hn_training_trainer(t));
    for (int i = 0; i < s->n_kept; i++) {
        if (s->kept[i].kind == HN_KEPT_MOMENT) continue;
        const hn_tensor *a = hn_graph_value(m->graph, s->kept[i].name)->constant;
        const hn_tensor *c = hn_graph_value(trained->graph, s->kept[i].name)->constant;
        const hn_tensor *before = hn_graph_value(b.model->graph, s->kept[i].name)->constant;
        assert_memory_equal(a->data, c->data, a->bytes);
        assert_memory_not_equal(a->data, before->data, a->bytes);
    }
    hn_model_destroy(m);
    hn_model_destroy(trained);
    /* Nothing is written over it once a parameter is not finite. */
    hn_trainer_value(hn_training_trainer(t), 0)[1] = INFINITY;
    assert_int_equal(hn_training_save(t, path, &b.err), HONE_E_ARG);
    assert_non_null(strstr(b.err.text, "is not finite: element 1 of"));
    b.o.rates.rate = 2e-3;
    hn_training *other = training(&b);
    assert_int_equal(hn_training_resume(other, path, &b.err), HONE_E_ARG);
    assert_non_null(strstr(b.err.text, "other options"));
    assert_int_equal(hn_training_resume(other, HN_SOURCE_DIR "/models/digits_cnn.onnx", &b.err),
                     HONE_E_ARG);
    assert_non_null(strstr(b.err.text, "is no checkpoint"));
    hn_training_destroy(other);
    hn_training_destroy(t);
    end(&b);
}

/* Whoever reads and augments, and however many do at once, makes no difference. */
static void readers_change_no_byte(void **state) {
    (void)state;
    static const int readers[] = {0, 1, 3};
    hn_training *t[3];
    bench b;
    begin(&b);
    b.o.augment = "crop=2:rotate=10:erase:mixup:cutmix";
    for (int i = 0; i < 3; i++) {
        b.o.readers = readers[i];
        t[i] = training(&b);
        steps(&b, t[i], 12);
    }
    same_values(t[0], t[1]);
    same_values(t[0], t[2]);
    for (int i = 0; i < 3; i++) hn_training_destroy(t[i]);
    end(&b);
}

/* What is planned is what is taken: at most that, and no less than that by 2 %; with readers, who
 * may not be as far ahead as they may be, at most that. */
static void memory_is_known_before(void **state) {
    (void)state;
    for (int k = 0; k < 6; k++) {
        bench b;
        int readers = k % 3;
        begin(&b);
        if (k >= 3) teach_itself(&b);
        hn_allocator own;
        hn_allocator_init(&own);
        b.how.engine.alloc = &own;
        b.o.readers = readers;
        hn_training *t = training(&b);
        size_t planned = hn_training_at(t).planned;
        assert_true(planned > 100000);
        steps(&b, t, 12);
        size_t peak = atomic_load(&own.peak);
        if (peak > planned || (readers == 0 && (double)peak < 0.98 * (double)planned))
            fail_msg("%zu bytes were planned, %zu taken", planned, peak);
        hn_training_destroy(t);
        hn_allocator_init(&own); /* one that has taken nothing yet */
        own.limit = planned;
        t = training(&b);
        steps(&b, t, 12);
        hn_training_destroy(t);
        hn_allocator_init(&own);
        own.limit = planned - 1;
        assert_int_equal(hn_training_create(&t, b.model, b.data, &b.o, &b.how, &b.err),
                         HONE_E_NOMEM);
        assert_non_null(strstr(b.err.text, "training would take more than the "));
        assert_int_equal(atomic_load(&own.blocks), 0);
        end(&b);
    }
}

/* Less memory than a step wants: the same bytes, also where a run is resumed with more. */
static void limited(bool self) {
    bench b;
    hn_allocator own;
    const char *path = scratch_path("last.onnx");
    begin(&b);
    if (self) teach_itself(&b);
    b.o.batch = 64;
    hn_training *whole = training(&b);
    hn_training_place at = hn_training_at(whole);
    assert_int_equal(at.twice.segments, 0);
    steps(&b, whole, 3);
    hn_allocator_init(&own);
    b.how.engine.alloc = &own;
    hn_training *t = training(&b);
    own.limit = hn_training_at(t).planned / 20 * 17;
    hn_training_destroy(t);
    atomic_store(&own.peak, 0);
    t = training(&b);
    at = hn_training_at(t);
    assert_true(at.twice.segments > 0 && at.twice.share > 0);
    assert_true(at.planned <= own.limit);
    steps(&b, t, 2);
    assert_true(atomic_load(&own.peak) <= at.planned);
    assert_int_equal(hn_training_save(t, path, &b.err), HONE_OK);
    hn_training_destroy(t);
    own.limit = 0;
    t = training(&b);
    assert_int_equal(hn_training_resume(t, path, &b.err), HONE_OK);
    steps(&b, t, 1);
    same_values(whole, t);
    hn_training_destroy(t);
    own.limit = 100000;
    assert_int_equal(hn_training_create(&t, b.model, b.data, &b.o, &b.how, &b.err), HONE_E_NOMEM);
    hn_training_destroy(whole);
    end(&b);
}

static void limits_change_no_byte(void **state) {
    (void)state;
    limited(false);
    limited(true);
}

/* As old exporters write them. */
static void add_weights_as_inputs(hn_model *m, hn_error *err) {
    hn_graph *g = m->graph;
    int n = g->n_values;
    for (int i = 0; i < n; i++)
        if (g->values[i]->constant != NULL)
            assert_int_equal(hn_graph_add_input(g, g->values[i], err), HONE_OK);
}

/* A file for one sample learns, and teaches, by batches like one that is open; so it is written. */
static void files_for_one_sample_learn_by_batches(void **state) {
    (void)state;
    for (int taught = 0; taught < 2; taught++) {
        bench b;
        begin(&b);
        hn_teacher teacher = {.model = b.model, .weight = 1, .last = HN_ALL_CLASSES};
        if (taught) {
            b.o.step.distill = (hn_distill_options){
                .n_teachers = 1, .teachers = &teacher, .temperature = 2, .alpha = 0.5};
        }
        hn_training *open = training(&b), *one;
        hn_model *m, *learned, *was = b.model;
        int64_t samples;
        steps(&b, open, 3);
        assert_int_equal(hn_model_clone(&m, was, &scratch_mem, &b.err), HONE_OK);
        assert_int_equal(hn_model_set_dim(m, m->graph->inputs[0]->name, 0, "1", &b.err), HONE_OK);
        add_weights_as_inputs(m, &b.err);
        b.model = m;
        teacher.model = m;
        one = training(&b);
        steps(&b, one, 3);
        same_values(open, one);
        assert_int_equal(hn_training_model(one, &learned, &b.err), HONE_OK);
        hn_dim first = learned->graph->inputs[0]->type.shape.dim[0];
        assert_true(hn_dim_is_const(first, &samples) && samples == 1);
        hn_model_destroy(learned);
        hn_training_destroy(open);
        hn_training_destroy(one);
        hn_model_destroy(was);
        end(&b);
    }
}

static void small_data_is_refused(void **state) {
    (void)state;
    bench b;
    begin(&b);
    b.o.batch = 71;
    hn_training *t;
    assert_int_equal(hn_training_create(&t, b.model, b.data, &b.o, &b.how, &b.err), HONE_E_ARG);
    assert_non_null(strstr(b.err.text, "the data has 70 samples, a batch 71"));
    end(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(resumed_runs_give_the_same_bytes),
        TEST(what_is_kept_beside_the_model_is_resumed),
        TEST(a_student_that_teaches_itself_is_resumed),
        TEST(teachers_see_their_view),
        TEST(views_are_refused),
        TEST(threads_change_no_byte),
        TEST(checkpoints_are_models),
        TEST(readers_change_no_byte),
        TEST(memory_is_known_before),
        TEST(limits_change_no_byte),
        TEST(files_for_one_sample_learn_by_batches),
        TEST(small_data_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
