/* A course of training on digits that hone draws: one that is interrupted gives the same bytes. */
#include "train/training.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "formats/onnx.h"
#include "ops/infer.h"
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
static void resumed_runs_give_the_same_bytes(void **state) {
    (void)state;
    bench b;
    begin(&b);
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
        TEST(checkpoints_are_models),
        TEST(small_data_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
