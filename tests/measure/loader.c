#include "measure/loader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"
#include "support/graph.h"

enum { TOTAL = 103, BATCH = 4 };

/* Row i is i, 2i and the label 3i. */
static hn_dataset *rows(void) {
    static char text[TOTAL * 32];
    size_t used = 0;
    for (int i = 0; i < TOTAL; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d,%d\n", i, 2 * i, 3 * i);
    return data_open("csv:%s", scratch_put_text("d.csv", text));
}

typedef struct set_up {
    hn_dataset *ds;
    hn_model *model;
    hn_feed *feed;
} set_up;

static set_up make(hn_dataset *ds, const char *graph) {
    set_up s = {.ds = ds, .model = graph_model(21, graph)};
    hn_error err;
    if (hn_feed_create(&s.feed, s.model->graph, ds, BATCH, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return s;
}

static void drop(set_up *s) {
    hn_feed_destroy(s->feed);
    hn_model_destroy(s->model);
    hn_dataset_close(s->ds);
}

#define FLOATS "g (float[n,2] x) => (float[n,2] y) { y = Relu (x) }"

static hn_loader *load(const set_up *s, hn_loader_options o) {
    hn_error err;
    hn_loader *l = NULL;
    if (hn_loader_create(&l, s->feed, &o, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
    return l;
}

/* Goes through all of it and writes down the order the samples came in. */
static void read_all(hn_loader *l, int64_t order[TOTAL]) {
    int64_t n = 0;
    hn_error err;
    for (hn_samples s; n < TOTAL;) {
        if (hn_loader_next(l, &s, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_int_equal(s.n, n + BATCH <= TOTAL ? BATCH : TOTAL - n);
        for (int64_t i = 0; i < s.n; i++) {
            const float *x = (const float *)s.in[0]->data + 2 * i;
            assert_true(x[0] == (float)s.index[i] && x[1] == (float)(2 * s.index[i]));
            assert_int_equal(s.labels[i], 3 * s.index[i]);
            order[n++] = s.index[i];
        }
        hn_samples_deinit(&s);
    }
    for (int i = 0; i < 2; i++) {
        hn_samples s = {.n = 7};
        assert_int_equal(hn_loader_next(l, &s, &err), HONE_OK);
        assert_int_equal(s.n, 0);
    }
}

static void batches_come_in_order(void **state) {
    (void)state;
    set_up s = make(rows(), FLOATS);
    static const hn_loader_options options[] = {{.threads = 0},
                                                {.threads = 1, .ahead = 1},
                                                {.threads = 2},
                                                {.threads = 7, .ahead = 3},
                                                {.threads = 3, .ahead = 1000}};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        hn_loader *l = load(&s, options[k]);
        int64_t order[TOTAL];
        read_all(l, order);
        for (int i = 0; i < TOTAL; i++) assert_int_equal(order[i], i);
        hn_loader_destroy(l);
    }
    drop(&s);
}

static hone_status mark(void *ctx, int64_t batch, hn_samples *s, hn_error *err) {
    float *x = s->in[0]->data;
    HN_CHECK(err, ctx == NULL || batch != 2, HONE_E_ARG, "batch 2");
    for (int64_t i = 0; i < s->n; i++) x[2 * i + 1] = (float)(1000 * batch + s->index[i]);
    return HONE_OK;
}

/* Whoever prepares a batch knows its number, wherever loading begins, and may fail. */
static void batches_are_prepared(void **state) {
    (void)state;
    set_up s = make(rows(), FLOATS);
    for (int threads = 0; threads < 4; threads++) {
        hn_loader *l = load(
            &s,
            (hn_loader_options){.threads = threads, .skip = 1, .prepare = mark, .prepare_ctx = &s});
        for (int64_t batch = 1; batch < 6; batch++) {
            hn_samples got = {0};
            hn_error err;
            hone_status status = hn_loader_next(l, &got, &err);
            assert_int_equal(status, batch == 2 ? HONE_E_ARG : HONE_OK);
            for (int64_t i = 0; i < got.n; i++)
                assert_true(((float *)got.in[0]->data)[2 * i + 1] ==
                            (float)(1000 * batch + got.index[i]));
            hn_samples_deinit(&got);
        }
        hn_loader_destroy(l);
    }
    drop(&s);
}

static void a_seed_gives_one_order(void **state) {
    (void)state;
    set_up s = make(rows(), FLOATS);
    int64_t order[3][TOTAL];
    for (int k = 0; k < 3; k++) {
        hn_loader *l =
            load(&s, (hn_loader_options){.threads = 2 * k, .shuffle = true, .seed = k < 2 ? 5 : 6});
        read_all(l, order[k]);
        bool seen[TOTAL] = {false};
        for (int i = 0; i < TOTAL; i++) seen[order[k][i]] = true;
        for (int i = 0; i < TOTAL; i++) assert_true(seen[i]);
        hn_loader_destroy(l);
    }
    assert_memory_equal(order[0], order[1], sizeof order[0]);
    assert_memory_not_equal(order[0], order[2], sizeof order[0]);
    drop(&s);
}

/* Fewer samples, in smaller batches; shuffled, they are not the first ones. */
static void a_part_may_be_asked_for(void **state) {
    (void)state;
    set_up s = make(rows(), FLOATS);
    for (int k = 0; k < 4; k++) {
        hn_loader *l = load(
            &s, (hn_loader_options){.threads = k % 2, .shuffle = k > 1, .samples = 8, .batch = 3});
        hn_error err;
        hn_samples b;
        int64_t most = 0;
        for (int64_t left = 8; left > 0; left -= 3) {
            assert_int_equal(hn_loader_next(l, &b, &err), HONE_OK);
            assert_int_equal(b.n, left < 3 ? left : 3);
            for (int64_t i = 0; i < b.n; i++) most = b.index[i] > most ? b.index[i] : most;
            hn_samples_deinit(&b);
        }
        assert_int_equal(hn_loader_next(l, &b, &err), HONE_OK);
        assert_int_equal(b.n, 0);
        assert_int_equal(most >= 8, k > 1);
        hn_loader_destroy(l);
    }
    drop(&s);
}

/* An s8 input cannot take what follows 127: the row of sample 64 in batch 16, and all behind it. */
static void an_error_belongs_to_its_batch(void **state) {
    (void)state;
    for (int threads = 0; threads < 4; threads++) {
        set_up s = make(rows(), "g (int8[n,2] x) => (int8[n,2] y) { y = Identity (x) }");
        hn_loader *l = load(&s, (hn_loader_options){.threads = threads});
        hn_samples b;
        hn_error err;
        for (int i = 0; i < 16; i++) {
            assert_int_equal(hn_loader_next(l, &b, &err), HONE_OK);
            assert_int_equal(b.index[0], i * BATCH);
            hn_samples_deinit(&b);
        }
        for (int i = 64; i < TOTAL; i += BATCH) {
            char text[64];
            snprintf(text, sizeof text, "sample %d has the value %d", i, 2 * i);
            assert_int_equal(hn_loader_next(l, &b, &err), HONE_E_TYPE);
            if (strstr(err.text, text) == NULL) fail_msg("%s, wanted %s", err.text, text);
        }
        assert_int_equal(hn_loader_next(l, &b, &err), HONE_OK);
        assert_int_equal(b.n, 0);
        hn_loader_destroy(l);
        drop(&s);
    }
}

static void it_may_end_at_any_time(void **state) {
    (void)state;
    set_up s = make(rows(), FLOATS);
    hn_error err;
    for (int taken = 0; taken < 12; taken++) {
        hn_loader *l = load(&s, (hn_loader_options){.threads = 1 + taken % 3, .ahead = taken % 5});
        for (int i = 0; i < taken; i++) {
            hn_samples b;
            assert_int_equal(hn_loader_next(l, &b, &err), HONE_OK);
            hn_samples_deinit(&b);
        }
        hn_loader_destroy(l);
    }
    hn_loader_destroy(NULL);
    hn_loader *l = NULL;
    assert_int_equal(
        hn_loader_create(&l, s.feed, &(hn_loader_options){.threads = -1}, &scratch_mem, &err),
        HONE_E_ARG);
    assert_int_equal(
        hn_loader_create(&l, s.feed, &(hn_loader_options){.ahead = -1}, &scratch_mem, &err),
        HONE_E_ARG);
    assert_int_equal(
        hn_loader_create(&l, s.feed, &(hn_loader_options){.samples = -1}, &scratch_mem, &err),
        HONE_E_ARG);
    assert_int_equal(
        hn_loader_create(&l, s.feed, &(hn_loader_options){.batch = BATCH + 1}, &scratch_mem, &err),
        HONE_E_ARG);
    drop(&s);
}

static void batches_of_damaged_files_alone_are_passed_over(void **state) {
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
    const char *list = scratch_put_text("y.csv",
                                        "b.png,0\nb.png,1\nb.png,2\nb.png,3\n"
                                        "a.png,4\nb.png,5\nb.png,6\nb.png,7\nb.png,8\n");
    hn_dataset *ds = data_open_packed("images:%s,labels=%s", scratch_path(""), list);
    if (ds == NULL) skip();
    set_up s = make(ds, "g (float[n,3,1,1] x) => (float[n,3,1,1] y) { y = Relu (x) }");
    for (int threads = 0; threads < 3; threads++) {
        hn_loader *l = load(&s, (hn_loader_options){.threads = threads});
        hn_samples b;
        hn_error err;
        assert_int_equal(hn_loader_next(l, &b, &err), HONE_OK);
        assert_true(b.n == 1 && b.index[0] == 4 && b.labels[0] == 4);
        hn_samples_deinit(&b);
        assert_int_equal(hn_loader_next(l, &b, &err), HONE_OK);
        assert_int_equal(b.n, 0);
        assert_int_equal(hn_dataset_skipped(ds, 0, NULL), 8);
        hn_loader_destroy(l);
    }
    drop(&s);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    set_up s = make(rows(), FLOATS);
    hn_allocator own;
    hn_allocator_init(&own);
    bool made = false;
    for (int n = 0; !made; n++) {
        hn_error err;
        hn_loader *l = NULL;
        hn_loader_options o = {.threads = 2, .shuffle = true};
        atomic_store(&own.fail_after, n);
        hone_status status = hn_loader_create(&l, s.feed, &o, &own, &err);
        assert_true(status == HONE_E_NOMEM || (status == HONE_OK && n == 3));
        made = status == HONE_OK;
        hn_loader_destroy(l);
        assert_int_equal(atomic_load(&own.blocks), 0);
    }
    drop(&s);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(batches_come_in_order),     CASE(a_seed_gives_one_order),
        CASE(a_part_may_be_asked_for),   CASE(an_error_belongs_to_its_batch),
        CASE(it_may_end_at_any_time),    CASE(batches_of_damaged_files_alone_are_passed_over),
        CASE(every_allocation_may_fail), CASE(batches_are_prepared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
