#include "measure/feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/npz.h"
#include "support/data.h"
#include "support/graph.h"

static hn_feed *feed(hn_model *m, hn_dataset *ds, int64_t batch) {
    hn_error err;
    hn_feed *f = NULL;
    if (hn_feed_create(&f, m->graph, ds, batch, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return f;
}

static void refused(const char *graph, hn_dataset *ds, hone_status status, const char *text) {
    hn_error err;
    hn_feed *f = NULL;
    hn_model *m = graph_model(21, graph);
    assert_int_equal(hn_feed_create(&f, m->graph, ds, 0, &scratch_mem, &err), status);
    if (strstr(err.text, text) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, text);
    assert_null(f);
    hn_model_destroy(m);
}

/* What n samples from `first` on become; dims and f32 contents are compared. */
static void loads(hn_feed *f, int64_t first, int64_t n, int rank, const int64_t *dims,
                  const float *wanted) {
    hn_error err;
    hn_tensor *t[1];
    if (hn_feed_load(f, first, n, t, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(t[0]->rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(t[0]->dims[i], dims[i]);
    assert_memory_equal(t[0]->data, wanted, t[0]->bytes);
    hn_tensor_unref(t[0]);
}

static hn_dataset *six(void) { /* six samples of four numbers */
    return data_open("csv:%s", scratch_put_text("d.csv",
                                                "0,1,2,3,0\n4,5,6,7,0\n8,9,10,11,0\n"
                                                "12,13,14,15,0\n16,17,18,19,0\n20,21,22,23,0\n"));
}

static const float counted[24] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};

/* A sample rate and a state that all samples have in common stand once in the file. */
static void what_all_samples_share_is_given_once(void **state) {
    (void)state;
    static int64_t rate = 16000;
    static float start[] = {7, 8, 9, 10};
    const char *names[] = {"rate", "x", "start"};
    const hn_array arrays[] = {
        {.dtype = HONE_DTYPE_S64, .bytes = 8, .data = &rate},
        {.dtype = HONE_DTYPE_F32,
         .rank = 2,
         .dims = {6, 4},
         .bytes = 96,
         .data = (void *)(uintptr_t)counted},
        {.dtype = HONE_DTYPE_F32, .rank = 3, .dims = {2, 1, 2}, .bytes = 16, .data = start}};
    const char *path = scratch_path("once.npz");
    hn_error err;
    assert_int_equal(hn_npz_write(path, NULL, 3, names, arrays, &scratch_mem, &err), HONE_OK);
    hn_dataset *ds = data_open("npz:%s", path);
    assert_int_equal(hn_dataset_count(ds), 6);
    hn_model *m = graph_model(21,
                              "g (float[n,4] x, int64 rate, float[2,1,2] start) => (float[n,4] y)"
                              "{ y = Relu (x) }");
    hn_feed *f = feed(m, ds, 4);
    assert_int_equal(hn_feed_batch(f), 4);
    for (int64_t first = 0; first <= 2; first += 2) {
        hn_tensor *t[3];
        if (hn_feed_load(f, first, 4, t, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_int_equal(t[0]->dims[0], 4);
        assert_memory_equal(t[0]->data, counted + 4 * first, 64);
        assert_int_equal(t[1]->rank, 0);
        assert_int_equal(*(int64_t *)t[1]->data, 16000);
        assert_int_equal(t[2]->dims[0], 2);
        assert_memory_equal(t[2]->data, start, sizeof start);
        for (int i = 0; i < 3; i++) hn_tensor_unref(t[i]);
    }
    hn_feed_destroy(f);
    hn_model_destroy(m);
    refused("g (float[n,4] x, int64 rate, float[n,1,2] start) => (float[n,4] y) { y = Relu (x) }",
            ds, HONE_E_SHAPE, "the array of input 'start' has another number of samples");
    hn_dataset_close(ds);
}

static void a_symbolic_batch_takes_what_it_is_given(void **state) {
    (void)state;
    hn_dataset *ds = six();
    hn_model *m = graph_model(21, "g (float[n,2,2] x) => (float[n,2,2] y) { y = Relu (x) }");
    hn_feed *f = feed(m, ds, 0);
    assert_int_equal(hn_feed_batch(f), 16);
    assert_int_equal(hn_feed_rows(f, 6), 6);
    loads(f, 0, 6, 3, DIMS(6, 2, 2), counted);
    loads(f, 4, 2, 3, DIMS(2, 2, 2), counted + 16);
    hn_feed_destroy(f);
    f = feed(m, ds, 3);
    assert_int_equal(hn_feed_batch(f), 3);
    hn_feed_destroy(f);
    hn_model_destroy(m);
    hn_dataset_close(ds);
    hn_feed_destroy(NULL);
}

static void a_fixed_batch_is_filled_up_with_zeros(void **state) {
    (void)state;
    hn_dataset *ds = six();
    hn_model *m = graph_model(21, "g (float[4,4] x) => (float[4,4] y) { y = Relu (x) }");
    hn_feed *f = feed(m, ds, 0);
    assert_int_equal(hn_feed_batch(f), 4);
    assert_int_equal(hn_feed_rows(f, 2), 4);
    loads(f, 0, 4, 2, DIMS(4, 4), counted);
    const float rest[16] = {16, 17, 18, 19, 20, 21, 22, 23};
    loads(f, 4, 2, 2, DIMS(4, 4), rest);
    hn_feed_destroy(f);
    f = feed(m, ds, 100);
    assert_int_equal(hn_feed_batch(f), 4); /* more does not fit */
    hn_feed_destroy(f);
    f = feed(m, ds, 1);
    assert_int_equal(hn_feed_batch(f), 1); /* less does, with zeros behind it */
    hn_feed_destroy(f);
    hn_model_destroy(m);
    hn_dataset_close(ds);
}

static void an_input_may_be_a_sample_without_a_batch(void **state) {
    (void)state;
    hn_dataset *ds = six();
    hn_model *m = graph_model(21, "g (float[2,2] x) => (float[2,2] y) { y = Relu (x) }");
    hn_feed *f = feed(m, ds, 0);
    assert_int_equal(hn_feed_batch(f), 1);
    assert_int_equal(hn_feed_rows(f, 1), 1);
    loads(f, 1, 1, 2, DIMS(2, 2), counted + 4);
    hn_feed_destroy(f);
    hn_model_destroy(m);
    hn_dataset_close(ds);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    hn_dataset *ds = six(), *made = data_open("random,n=4");
    refused("g (float x) => (float y) { y = Relu (x) }", ds, HONE_E_SHAPE, "'x' is a scalar");
    refused("g (float[0,4] x) => (float[0,4] y) { y = Relu (x) }", ds, HONE_E_SHAPE, "batch of 0");
    refused("g (float[n,a,b] x) => (float[n,a,b] y) { y = Relu (x) }", ds, HONE_E_SHAPE,
            "wants samples of 2 axes, some symbolic; the dataset's have 1");
    refused("g (float[n,a] x) => (float[n,a] y) { y = Relu (x) }", made, HONE_E_SHAPE,
            "no size of their own: take others, or fix it with hone simplify --set-dim x:1=N");
    refused("g (string[n,4] x) => (string[n,4] y) { y = Identity (x) }", ds, HONE_E_TYPE, "'x'");
    refused("g (float[n,2] a, float[n,2] b) => (float[n,2] y) { y = Add (a, b) }", ds,
            HONE_E_NOT_FOUND, "'a'");
    hn_error err;
    hn_feed *f = NULL;
    hn_model *m = graph_model(21, "g (float[n,4] x) => (float[n,4] y) { y = Relu (x) }");
    assert_int_equal(hn_feed_create(&f, m->graph, ds, -1, &scratch_mem, &err), HONE_E_ARG);
    hn_model_destroy(m);
    /* Dims whose product overflows are no sample either. */
    m = graph_model(21,
                    "g (float[n,4611686018427387903,8] x) => (float[n,4611686018427387903,8] y) "
                    "{ y = Relu (x) }");
    hn_tensor *t[1];
    f = feed(m, ds, 1);
    assert_int_equal(hn_feed_load(f, 0, 1, t, &err), HONE_E_SHAPE);
    hn_feed_destroy(f);
    hn_model_destroy(m);
    hn_dataset_close(ds);
    hn_dataset_close(made);
}

static void random_samples_have_the_shape_that_is_asked_for(void **state) {
    (void)state;
    hn_dataset *ds = data_open("random,n=5");
    hn_model *m = graph_model(21,
                              "g (float[n,3] x, int64[2,2] i) => (float[n,3] y, int64[2,2] j) "
                              "{ y = Relu (x)\n j = Identity (i) }");
    hn_feed *f = feed(m, ds, 0);
    assert_int_equal(hn_feed_batch(f), 2); /* that of the second input */
    hn_error err;
    hn_tensor *t[2];
    assert_int_equal(hn_feed_load(f, 0, 2, t, &err), HONE_OK);
    assert_int_equal(t[0]->dims[0], 2);
    assert_int_equal(t[1]->dims[0], 2);
    for (int i = 0; i < 2; i++) hn_tensor_unref(t[i]);
    hn_feed_destroy(f);
    hn_model_destroy(m);
    hn_dataset_close(ds);
}

/* ids and mask of 3 sequences of at most 6, with 2, 5 and 1 tokens; the ids are padded with 9. */
static hn_dataset *sequences(void) {
    static const int64_t ids[18] = {7, 8, 9, 9, 9, 9, 1, 2, 3, 4, 5, 9, 6, 9, 9, 9, 9, 9};
    static const int64_t mask[18] = {1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0};
    static const float other[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const hn_array arrays[3] = {{.dtype = HONE_DTYPE_S64,
                                 .rank = 2,
                                 .dims = {3, 6},
                                 .bytes = sizeof ids,
                                 .data = (void *)ids},
                                {.dtype = HONE_DTYPE_S64,
                                 .rank = 2,
                                 .dims = {3, 6},
                                 .bytes = sizeof mask,
                                 .data = (void *)mask},
                                {.dtype = HONE_DTYPE_F32,
                                 .rank = 2,
                                 .dims = {3, 4},
                                 .bytes = sizeof other,
                                 .data = (void *)other}};
    static const char *const names[3] = {"input_ids", "attention_mask", "other"};
    hn_error err;
    const char *path = scratch_path("s.npz");
    if (hn_npz_write(path, NULL, 3, names, arrays, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return data_open("npz:%s", path);
}

static void sequences_are_cut_at_the_longest_of_their_batch(void **state) {
    (void)state;
    hn_dataset *ds = sequences();
    hn_model *m = graph_model(
        21,
        "g (int64[n,length] input_ids, int64[n,length] attention_mask, float[n,width] other) => "
        "(int64[n,length] y, float[n,width] z) "
        "{ y = Add (input_ids, attention_mask)\n z = Relu (other) }");
    hn_feed *f = feed(m, ds, 0);
    hn_error err;
    hn_tensor *t[3];
    static const struct { int64_t first, n, length; } cases[] = {{0, 3, 5}, {0, 1, 2}, {2, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(hn_feed_load(f, cases[i].first, cases[i].n, t, &err), HONE_OK);
        assert_int_equal(t[0]->dims[0], cases[i].n);
        assert_int_equal(t[0]->dims[1], cases[i].length);
        assert_int_equal(t[1]->dims[1], cases[i].length);
        assert_int_equal(t[2]->dims[1], 4); /* another symbol: another length */
        for (int k = 0; k < 3; k++) hn_tensor_unref(t[k]);
    }
    assert_int_equal(hn_feed_load(f, 0, 2, t, &err), HONE_OK);
    const int64_t ids[10] = {7, 8, 9, 9, 9, 1, 2, 3, 4, 5};
    assert_memory_equal(t[0]->data, ids, sizeof ids);
    for (int k = 0; k < 3; k++) hn_tensor_unref(t[k]);
    hn_feed_destroy(f);
    hn_model_destroy(m);

    m = graph_model(21,
                    "g (int64[n,6] input_ids, int64[n,6] attention_mask, float[n,4] other) => "
                    "(int64[n,6] y, float[n,4] z) "
                    "{ y = Add (input_ids, attention_mask)\n z = Relu (other) }");
    f = feed(m, ds, 0);
    assert_int_equal(hn_feed_load(f, 0, 1, t, &err), HONE_OK);
    assert_int_equal(t[0]->dims[1], 6); /* a fixed length stays */
    for (int k = 0; k < 3; k++) hn_tensor_unref(t[k]);
    hn_feed_destroy(f);
    hn_model_destroy(m);
    hn_dataset_close(ds);
}

/* Labels and targets come along, in any order asked for. */
static void samples_come_with_what_they_are_judged_by(void **state) {
    (void)state;
    hn_dataset *ds = data_open("csv:%s", scratch_put_text("d.csv", "0,1,5\n2,3,6\n4,5,7\n6,7,8\n"));
    hn_model *m = graph_model(21, "g (float[n,2] x) => (float[n,2] y) { y = Relu (x) }");
    hn_feed *f = feed(m, ds, 3);
    hn_error err;
    hn_samples s;
    const int64_t order[] = {3, 1, 0, 2};
    assert_int_equal(hn_feed_read(f, order, 1, 3, &s, &err), HONE_OK);
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.index, order + 1, 3 * sizeof *order);
    assert_memory_equal(s.labels, ((const int64_t[]){6, 5, 7}), 3 * sizeof *s.labels);
    assert_memory_equal(s.in[0]->data, ((const float[]){2, 3, 0, 1, 4, 5}), 6 * sizeof(float));
    assert_int_equal(s.n_targets, 0);
    hn_samples_deinit(&s);
    hn_samples_deinit(&s); /* nothing is left to do */
    hn_feed_destroy(f);
    hn_dataset_close(ds);

    ds = data_open("csv:%s,targets=1", scratch_path("d.csv"));
    f = feed(m, ds, 3);
    assert_int_equal(hn_feed_read(f, NULL, 2, 2, &s, &err), HONE_OK);
    assert_null(s.labels);
    assert_int_equal(s.n_targets, 1);
    assert_true(s.targets[0]->rank == 2 && s.targets[0]->dims[0] == 2 &&
                s.targets[0]->dims[1] == 1);
    assert_memory_equal(s.targets[0]->data, ((const double[]){7, 8}), 2 * sizeof(double));
    hn_samples_deinit(&s);
    hn_feed_destroy(f);
    hn_model_destroy(m);
    hn_dataset_close(ds);
}

/* Two good images around one that is none. */
static void samples_that_cannot_be_decoded_are_left_out(void **state) {
    (void)state;
    static const unsigned char png[] = {
        /* one pixel, grey 130 */
        0x89, 0x50, 0x4e, 0x47, 0xd,  0xa,  0x1a, 0xa,  0x0,  0x0,  0x0,  0xd,  0x49, 0x48,
        0x44, 0x52, 0x0,  0x0,  0x0,  0x1,  0x0,  0x0,  0x0,  0x1,  0x8,  0x0,  0x0,  0x0,
        0x0,  0x3a, 0x7e, 0x9b, 0x55, 0x0,  0x0,  0x0,  0xa,  0x49, 0x44, 0x41, 0x54, 0x78,
        0x9c, 0x63, 0x68, 0x2,  0x0,  0x0,  0x84, 0x0,  0x83, 0xd0, 0x86, 0xce, 0x23, 0x0,
        0x0,  0x0,  0x0,  0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
    scratch_put("a.png", png, sizeof png);
    scratch_put_text("b.png", "not this");
    const char *list = scratch_put_text("y.csv", "a.png,4\nb.png,5\na.png,6\nb.png,7\n");
    hn_dataset *ds = data_open_packed("images:%s,labels=%s", scratch_path(""), list);
    if (ds == NULL) skip();
    hn_model *m = graph_model(21, "g (float[n,3,1,1] x) => (float[n,3,1,1] y) { y = Relu (x) }");
    hn_feed *f = feed(m, ds, 4);
    hn_error err;
    hn_samples s;
    assert_int_equal(hn_feed_read(f, NULL, 0, 4, &s, &err), HONE_OK);
    assert_int_equal(s.n, 2);
    assert_memory_equal(s.index, ((const int64_t[]){0, 2}), 2 * sizeof *s.index);
    assert_memory_equal(s.labels, ((const int64_t[]){4, 6}), 2 * sizeof *s.labels);
    assert_true(s.in[0]->dims[0] == 2 && s.in[0]->n == 6 && s.in[0]->bytes == 24);
    for (int i = 0; i < 6; i++) assert_true(((float *)s.in[0]->data)[i] == 130);
    hn_samples_deinit(&s);
    assert_int_equal(hn_feed_read(f, NULL, 3, 1, &s, &err), HONE_OK);
    assert_int_equal(s.n, 0);
    hn_samples_deinit(&s);
    hn_tensor *t[1];
    assert_int_equal(hn_feed_load(f, 0, 4, t, &err), HONE_E_FORMAT); /* this wants all */
    assert_non_null(strstr(err.text, "2 of the 4 samples from 0 on cannot be decoded"));
    hn_feed_destroy(f);
    hn_model_destroy(m);
    m = graph_model(21, "g (float[4,3,1,1] x) => (float[4,3,1,1] y) { y = Relu (x) }");
    f = feed(m, ds, 0);
    assert_int_equal(hn_feed_read(f, NULL, 0, 4, &s, &err), HONE_OK);
    assert_true(s.n == 2 && s.in[0]->dims[0] == 4); /* a fixed batch has zeros at its end */
    for (int i = 0; i < 12; i++) assert_true(((float *)s.in[0]->data)[i] == (i < 6 ? 130 : 0));
    hn_samples_deinit(&s);
    hn_feed_destroy(f);
    hn_model_destroy(m);
    hn_dataset_close(ds);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hn_dataset *ds = sequences();
    hn_model *m = graph_model(
        21,
        "g (int64[n,length] input_ids, int64[n,length] attention_mask, float[n,4] other) => "
        "(int64[n,length] y, float[n,4] z) "
        "{ y = Add (input_ids, attention_mask)\n z = Relu (other) }");
    hn_allocator own;
    hn_allocator_init(&own);
    bool loaded = false;
    for (long long n = 0; !loaded; n++) {
        hn_error err;
        hn_feed *f = NULL;
        hn_tensor *t[3] = {NULL};
        atomic_store(&own.fail_after, n);
        hone_status status = hn_feed_create(&f, m->graph, ds, 0, &own, &err);
        if (status == HONE_OK) status = hn_feed_load(f, 0, 3, t, &err);
        assert_true(status == HONE_E_NOMEM || (status == HONE_OK && n == 6));
        loaded = status == HONE_OK;
        for (int k = 0; k < 3; k++) hn_tensor_unref(t[k]);
        hn_feed_destroy(f);
        assert_int_equal(atomic_load(&own.blocks), 0);
    }
    hn_model_destroy(m);
    hn_dataset_close(ds);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_all_samples_share_is_given_once),
        CASE(a_symbolic_batch_takes_what_it_is_given),
        CASE(a_fixed_batch_is_filled_up_with_zeros),
        CASE(an_input_may_be_a_sample_without_a_batch),
        CASE(what_does_not_fit_is_refused),
        CASE(random_samples_have_the_shape_that_is_asked_for),
        CASE(sequences_are_cut_at_the_longest_of_their_batch),
        CASE(samples_come_with_what_they_are_judged_by),
        CASE(samples_that_cannot_be_decoded_are_left_out),
        CASE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
