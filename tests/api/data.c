#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"
#include "support/scratch.h"

static hone_dataset *open_data(const char *spec) {
    hone_error err;
    hone_dataset *d;
    ASSERT_OK(hone_dataset_open(&d, spec, &err), err);
    return d;
}

static hone_model *load(const char *path) {
    hone_error err;
    hone_model *m;
    ASSERT_OK(hone_model_load(&m, path, NULL, &err), err);
    return m;
}

static void a_dataset_tells_what_it_holds(void **state) {
    (void)state;
    hone_dataset *d = open_data("synthetic:digits,n=7,seed=3");
    assert_int_equal(hone_dataset_count(d), 7);
    assert_true(hone_dataset_has_labels(d));
    hone_dataset_destroy(d);
    d = open_data("random");
    assert_false(hone_dataset_has_labels(d));
    int64_t label;
    hone_error err;
    ASSERT_FAILS(hone_dataset_labels(d, 0, 1, &label, &err), err, HONE_E_NOT_FOUND, "no labels");
    hone_dataset_destroy(d);
    hone_dataset_destroy(NULL);
    d = NULL;
    ASSERT_FAILS(hone_dataset_open(&d, "syntetic:digits", &err), err, HONE_E_ARG, "syntetic");
    ASSERT_FAILS(hone_dataset_open(&d, "npz:/no/such.npz", &err), err, HONE_E_IO, "/no/such.npz");
    assert_null(d);
}

static void samples_become_inputs(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(DIGITS);
    hone_dataset *d = open_data("synthetic:digits,n=5");
    hone_value v;
    int64_t labels[5], again[2];
    ASSERT_OK(hone_dataset_read(d, m, 1, 3, &v, &err), err);
    assert_string_equal(v.name, "image");
    assert_int_equal(v.rank, 4);
    assert_int_equal(v.dims[0], 3);
    assert_int_equal(v.dims[2], 28);
    assert_int_equal(v.bytes, 3 * 28 * 28 * 4);
    float most = 0;
    for (int i = 0; i < 3 * 28 * 28; i++) {
        float x = ((float *)v.data)[i];
        assert_true(x >= 0 && x <= 1);
        if (x > most) most = x;
    }
    assert_true(most > 0.9f);
    hone_model_destroy(m); /* the name is the value's own */
    assert_string_equal(v.name, "image");
    hone_value_release(&v, 1);
    ASSERT_OK(hone_dataset_labels(d, 0, 5, labels, &err), err);
    ASSERT_OK(hone_dataset_labels(d, 3, 2, again, &err), err);
    assert_int_equal(labels[3], again[0]);
    for (int i = 0; i < 5; i++) assert_true(labels[i] >= 0 && labels[i] <= 9);
    hone_dataset_destroy(d);
}

static void what_is_not_there_is_not_read(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(MODEL("batch4"));
    const char *csv = scratch_put_text("d.csv", "1,2,3,2\n3,2,1,0\n1,3,2,1\n0,0,1,2\n1,0,0,0\n");
    char spec[5000];
    snprintf(spec, sizeof spec, "csv:%s", csv);
    hone_dataset *d = open_data(spec);
    hone_value v = {.name = "kept"};
    int64_t label = 42;
    ASSERT_FAILS(hone_dataset_read(d, m, 4, 2, &v, &err), err, HONE_E_ARG, "the dataset has 5");
    ASSERT_FAILS(hone_dataset_read(d, m, -1, 1, &v, &err), err, HONE_E_ARG, "-1");
    ASSERT_FAILS(hone_dataset_read(d, m, 0, 0, &v, &err), err, HONE_E_ARG, "0 samples");
    ASSERT_FAILS(hone_dataset_read(d, m, 0, 5, &v, &err), err, HONE_E_ARG, "takes 4 samples");
    ASSERT_FAILS(hone_dataset_labels(d, 5, 1, &label, &err), err, HONE_E_ARG, "the dataset has 5");
    assert_string_equal(v.name, "kept");
    assert_int_equal(label, 42);
    ASSERT_OK(hone_dataset_read(d, m, 4, 1, &v, &err), err); /* filled up with zeros */
    assert_int_equal(v.dims[0], 4);
    const float wanted[12] = {1, 0, 0};
    assert_memory_equal(v.data, wanted, sizeof wanted);
    hone_value_release(&v, 1);
    hone_model_destroy(m);

    m = load(MODEL("add")); /* two inputs, and the dataset feeds one */
    hone_value two[2];
    ASSERT_FAILS(hone_dataset_read(d, m, 0, 1, two, &err), err, HONE_E_NOT_FOUND, "'a'");
    hone_model_destroy(m);
    hone_dataset_destroy(d);
}

static void targets_become_values(void **state) {
    (void)state;
    hone_error err;
    char spec[5000];
    snprintf(spec, sizeof spec, "csv:%s,targets=2", scratch_put_text("d.csv", "1,2,3\n4,5,6\n"));
    hone_dataset *d = open_data(spec);
    assert_int_equal(hone_dataset_n_targets(d), 1);
    hone_value v;
    ASSERT_OK(hone_dataset_targets(d, 0, 0, 2, &v, &err), err);
    assert_string_equal(v.name, "target");
    assert_true(v.dtype == HONE_DTYPE_F64 && v.rank == 2 && v.dims[0] == 2 && v.dims[1] == 2);
    assert_memory_equal(v.data, ((const double[]){2, 3, 5, 6}), v.bytes);
    hone_value_release(&v, 1);
    ASSERT_FAILS(hone_dataset_targets(d, 1, 0, 1, &v, &err), err, HONE_E_NOT_FOUND, "has 1");
    ASSERT_FAILS(hone_dataset_targets(d, 0, 1, 2, &v, &err), err, HONE_E_ARG, "the dataset has 2");
    const char *name = "";
    assert_int_equal(hone_dataset_skipped(d, 1, &name), 0);
    assert_null(name);
    hone_dataset_destroy(d);
}

static void a_loader_hands_out_batches(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(DIGITS);
    hone_dataset *d = open_data("synthetic:digits,n=10");
    hone_loader_options o;
    hone_loader_options_init(&o);
    o.batch = 4;
    for (o.threads = -1; o.threads < 3; o.threads++) {
        hone_loader *l;
        const hone_batch *b;
        ASSERT_OK(hone_loader_create(&l, d, m, &o, &err), err);
        for (int64_t done = 0; done < 10; done += b->n) {
            int64_t labels[4];
            ASSERT_OK(hone_loader_next(l, &b, &err), err);
            assert_int_equal(b->n, done < 8 ? 4 : 2);
            assert_true(b->n_in == 1 && b->n_targets == 0);
            assert_string_equal(b->in[0].name, "image");
            assert_int_equal(b->in[0].dims[0], b->n);
            assert_int_equal(b->index[0], done);
            ASSERT_OK(hone_dataset_labels(d, done, b->n, labels, &err), err);
            assert_memory_equal(b->labels, labels, (size_t)b->n * sizeof *labels);
            hone_value v;
            ASSERT_OK(hone_dataset_read(d, m, done, b->n, &v, &err), err);
            assert_int_equal(v.bytes, b->in[0].bytes);
            assert_memory_equal(v.data, b->in[0].data, v.bytes);
            hone_value_release(&v, 1);
        }
        ASSERT_OK(hone_loader_next(l, &b, &err), err);
        assert_int_equal(b->n, 0);
        hone_loader_destroy(l);
    }
    o.threads = -2;
    hone_loader *l = NULL;
    ASSERT_FAILS(hone_loader_create(&l, d, m, &o, &err), err, HONE_E_ARG, "-2 threads");
    hone_loader_destroy(NULL);
    hone_model_destroy(m);
    hone_dataset_destroy(d);
}

typedef struct steps {
    int n, stop_at;
    int64_t done, total;
} steps;

static bool on_progress(void *ctx, int64_t done, int64_t total) {
    steps *s = ctx;
    s->n++;
    s->done = done;
    s->total = total;
    return s->n != s->stop_at;
}

static void accuracy_is_counted(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(MODEL("batch1"));
    hone_session *s;
    ASSERT_OK(hone_session_create(&s, m, NULL, &err), err);
    hone_model_destroy(m);
    char spec[5000];
    snprintf(spec, sizeof spec, "csv:%s",
             scratch_put_text("d.csv", "1,2,3,2\n3,2,1,0\n1,3,2,0\n0,0,1,2\n"));
    hone_dataset *d = open_data(spec);
    hone_eval_options o;
    hone_eval_result r = {0};
    steps p = {0};
    hone_eval_options_init(&o);
    o.progress = on_progress;
    o.progress_ctx = &p;
    ASSERT_OK(hone_session_eval(s, d, &o, &r, &err), err);
    assert_int_equal(r.samples, 4);
    assert_int_equal(r.top1, 3);
    assert_int_equal(r.top5, -1);
    assert_int_equal(r.classes, 3);
    assert_true(r.seconds >= 0);
    assert_int_equal(p.n, 4);
    assert_int_equal(p.done, 4);
    assert_int_equal(p.total, 4);
    p = (steps){.stop_at = 2};
    ASSERT_FAILS(hone_session_eval(s, d, &o, &r, &err), err, HONE_E_LIMIT, "2 of 4");
    hone_dataset_destroy(d);

    d = open_data("random,n=3");
    ASSERT_FAILS(hone_session_eval(s, d, NULL, &r, &err), err, HONE_E_ARG, "no labels");
    assert_int_equal(r.top1, 3); /* untouched */
    hone_dataset_destroy(d);
    hone_session_destroy(s);
}

typedef struct seen {
    int64_t samples, batches, right;
    bool refuse;
} seen;

static hone_status on_batch(void *ctx, const hone_eval_batch *b, hone_error *err) {
    seen *s = ctx;
    assert_int_equal(b->n_outputs, 1);
    assert_int_equal(b->n_inputs, 1);
    assert_int_equal(b->outputs[0].dims[0], b->n); /* of the four rows, those with a sample */
    assert_int_equal(b->outputs[0].bytes, (size_t)b->n * 3 * sizeof(float));
    assert_int_equal(b->rows, 4);
    for (int64_t i = 0; i < b->n; i++) {
        const float *y = (const float *)b->outputs[0].data + 3 * i;
        int64_t best = y[1] > y[0] ? (y[2] > y[1] ? 2 : 1) : y[2] > y[0] ? 2 : 0;
        assert_int_equal(b->index[i], s->samples + i);
        s->right += best == b->labels[i];
    }
    s->samples += b->n;
    s->batches++;
    if (!s->refuse) return HONE_OK;
    *err = (hone_error){.status = HONE_E_IO, .text = "enough"};
    return HONE_E_IO;
}

static void a_caller_may_measure_itself(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(MODEL("batch4"));
    hone_session *s;
    ASSERT_OK(hone_session_create(&s, m, NULL, &err), err);
    hone_model_destroy(m);
    char spec[5000];
    snprintf(spec, sizeof spec, "csv:%s",
             scratch_put_text("d.csv", "1,2,3,2\n3,2,1,0\n1,3,2,0\n0,0,1,2\n9,1,1,0\n"));
    hone_dataset *d = open_data(spec);
    hone_eval_options o;
    hone_evaluation *e = NULL;
    seen all = {0};
    hone_eval_options_init(&o);
    o.on_batch = on_batch;
    o.on_batch_ctx = &all;
    o.metrics = "f1_micro,top5";
    ASSERT_OK(hone_session_measure(s, d, &o, &e, &err), err);
    assert_int_equal(all.samples, 5);
    assert_int_equal(all.batches, 2);
    assert_int_equal(all.right, 4);
    assert_int_equal(e->samples, 5);
    assert_int_equal(e->skipped, 0);
    assert_int_equal(e->n_metrics, 2);
    assert_string_equal(e->metrics[0].name, "f1_micro");
    assert_true(e->metrics[0].value == 0.8 && e->metrics[0].low < 0.8 && e->metrics[0].high > 0.8);
    assert_true(isnan(e->metrics[1].value) && e->metrics[1].interval == NULL);
    hone_evaluation_destroy(e);
    e = NULL;
    all = (seen){0};
    o.metrics = "";
    ASSERT_OK(hone_session_measure(s, d, &o, &e, &err), err);
    assert_int_equal(e->n_metrics, 0);
    hone_evaluation_destroy(e);
    e = NULL;
    all = (seen){.refuse = true};
    ASSERT_FAILS(hone_session_measure(s, d, &o, &e, &err), err, HONE_E_IO, "enough");
    assert_null(e);
    o.metrics = "top1,top9";
    ASSERT_FAILS(hone_session_measure(s, d, &o, &e, &err), err, HONE_E_NOT_FOUND, "'top9'");
    o.metrics = NULL;
    o.outputs = "y,y,y,y";
    ASSERT_FAILS(hone_session_measure(s, d, &o, &e, &err), err, HONE_E_ARG, "at most 3 outputs");
    hone_evaluation_destroy(NULL);
    hone_dataset_destroy(d);
    hone_session_destroy(s);
}

static void metrics_are_listed(void **state) {
    (void)state;
    hone_error err;
    hone_metric_info m;
    bool top1 = false, mse = false;
    for (size_t i = 0; i < hone_n_metrics(); i++) {
        ASSERT_OK(hone_metric(i, &m, &err), err);
        assert_true(m.help[0] != '\0');
        top1 |= strcmp(m.name, "top1") == 0 && m.is_share && !m.lower_better;
        mse |= strcmp(m.name, "mse") == 0 && !m.is_share && m.lower_better;
    }
    assert_true(top1 && mse);
    ASSERT_FAILS(hone_metric(hone_n_metrics(), &m, &err), err, HONE_E_ARG, "metric");
}

static void the_digits_model_knows_its_digits(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = load(DIGITS);
    hone_session *s;
    hone_eval_result r;
    ASSERT_OK(hone_session_create(&s, m, NULL, &err), err);
    hone_model_destroy(m);
    hone_dataset *d = open_data("synthetic:digits,n=40,seed=11");
    ASSERT_OK(hone_session_eval(s, d, NULL, &r, &err), err);
    assert_int_equal(r.samples, 40);
    assert_int_equal(r.classes, 10);
    assert_true(r.top1 >= 39 && r.top5 == 40);
    hone_dataset_destroy(d);
    hone_session_destroy(s);
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_tells_what_it_holds),
        cmocka_unit_test(samples_become_inputs),
        WITH_FILES(what_is_not_there_is_not_read),
        WITH_FILES(targets_become_values),
        cmocka_unit_test(a_loader_hands_out_batches),
        WITH_FILES(accuracy_is_counted),
        WITH_FILES(a_caller_may_measure_itself),
        cmocka_unit_test(metrics_are_listed),
        cmocka_unit_test(the_digits_model_knows_its_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
