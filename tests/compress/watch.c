#include "compress/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"
#include "support/graph.h"

enum { TOTAL = 21, BATCH = 4 };

/* Row i is i, -2i and the label 0. */
static hn_dataset *rows(void) {
    static char text[TOTAL * 32];
    size_t used = 0;
    for (int i = 0; i < TOTAL; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d,0\n", i, -2 * i);
    return data_open("csv:%s", scratch_put_text("d.csv", text));
}

/* Simplified, a, b and c would become one step, and nobody would see a or b. */
#define GRAPH(batch)                             \
    "g (float[" batch ",2] x) => (float[" batch  \
    ",4] y)"                                     \
    "<float[1] one = {1}> {"                     \
    " a = Relu (x) b = Add (a, one) c = Neg (b)" \
    " y = Concat <axis = 1> (b, c) }"

typedef struct watcher {
    hn_dataset *ds;
    hn_model *model;
    hn_feed *feed;
    hn_run_options how;
    int64_t seen[8];       /* samples, by value */
    int calls, largest;    /* elements of the largest value */
    int64_t told, stop_at; /* in per cent */
} watcher;

static void begin(watcher *w, const char *graph, const hn_backend *backend) {
    hn_error err;
    *w = (watcher){.ds = rows(), .model = graph_model(21, graph), .stop_at = 101};
    w->how =
        (hn_run_options){.engine = {.alloc = &scratch_mem, .isa = hn_isa_available(), .seed = 1},
                         .backend = backend};
    assert_true(hn_layer_precision_named("f32", 3, &w->how.engine.layers.way));
    if (hn_feed_create(&w->feed, w->model->graph, w->ds, BATCH, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
}

static void end(watcher *w) {
    hn_feed_destroy(w->feed);
    hn_model_destroy(w->model);
    hn_dataset_close(w->ds);
}

/* x, a, b, c, b again. */
static const char *const names[] = {"x", "a", "b", "c", "b"};

static hone_status see(void *ctx, int i, const hn_tensor *value, int64_t n, hn_error *err) {
    (void)err;
    watcher *w = ctx;
    const float *v = value->data;
    assert_int_equal(value->n, 2 * n);
    assert_int_equal(value->dims[0], n);
    for (int64_t k = 0; k < n; k++) {
        float s = (float)(w->seen[i] + k), want[2] = {s, -2 * s};
        for (int d = 0; d < 2; d++) {
            if (i > 0 && want[d] < 0) want[d] = 0;
            if (i > 1) want[d] += 1;
            if (i == 3) want[d] = -want[d];
            assert_true(v[2 * k + d] == want[d]);
        }
    }
    w->seen[i] += n;
    w->calls++;
    if (value->n > w->largest) w->largest = (int)value->n;
    return HONE_OK;
}

static bool tell(void *ctx, int64_t done, int64_t total) {
    watcher *w = ctx;
    assert_true(done > w->told && done <= total);
    w->told = done;
    return done * 100 < total * w->stop_at;
}

static hone_status watch(watcher *w, hn_watch_options o, hn_error *err) {
    o.progress = tell;
    o.progress_ctx = w;
    w->told = 0;
    memset(w->seen, 0, sizeof w->seen);
    return hn_watch(w->model, names, 5, w->feed, &w->how, &o, see, w, &scratch_mem, err);
}

static void watch_all(watcher *w, hn_watch_options o) {
    hn_error err;
    w->calls = w->largest = 0;
    if (watch(w, o, &err) != HONE_OK) fail_msg("%s", err.text);
    for (int i = 0; i < 5; i++) assert_int_equal(w->seen[i], o.samples > 0 ? o.samples : TOTAL);
}

static void values_come_in_order(void **state) {
    (void)state;
    for (int b = 0; b < hn_n_backends; b++) {
        watcher w;
        begin(&w, GRAPH("n"), hn_backends[b]);
        watch_all(&w, (hn_watch_options){0});
        assert_int_equal(w.calls, 5 * 6);
        watch_all(&w, (hn_watch_options){.samples = 5});
        assert_int_equal(w.calls, 5 * 2);
        end(&w);
    }
}

/* Four values of 8 bytes a sample, whose input costs nothing. */
static void memory_is_bounded(void **state) {
    (void)state;
    watcher w;
    begin(&w, GRAPH("n"), NULL);
    watch_all(&w, (hn_watch_options){.most_bytes = 4 * 8 * 4});
    assert_int_equal(w.largest, 2 * 4);
    watch_all(&w, (hn_watch_options){.most_bytes = 4 * 8 * 4 - 1});
    assert_int_equal(w.largest, 2 * 3);
    watch_all(&w, (hn_watch_options){.most_bytes = 1});
    assert_int_equal(w.largest, 2 * 1);
    assert_int_equal(w.calls, 5 * TOTAL);
    end(&w);
}

static void what_fills_up_a_batch_is_hidden(void **state) {
    (void)state;
    watcher w;
    begin(&w, GRAPH("8"), NULL);
    watch_all(&w, (hn_watch_options){0});
    watch_all(&w, (hn_watch_options){.most_bytes = 1}); /* it cannot be made smaller */
    assert_int_equal(w.largest, 2 * 4);
    end(&w);
}

static void the_look_sees_each_sample_once(void **state) {
    (void)state;
    watcher w;
    hn_look look;
    begin(&w, GRAPH("8"), NULL);
    hn_look_init(&look, &scratch_mem);
    watch_all(&w, (hn_watch_options){.most_bytes = 1, .look = &look});
    assert_int_equal(look.samples, TOTAL);
    assert_true(look.varies);
    hn_look_deinit(&look);
    end(&w);
}

static hone_status refuse(void *ctx, int i, const hn_tensor *value, int64_t n, hn_error *err) {
    (void)ctx, (void)value, (void)n;
    return HN_FAIL(err, HONE_E_ARG, "%d is not wanted", i);
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    static const struct {
        const char *name, *says;
        hone_status status;
    } wrong[] = {{"z", "the model has no value 'z' to watch", HONE_E_NOT_FOUND},
                 {"one", "value 'one' is a constant", HONE_E_ARG},
                 {"c", "0 is not wanted", HONE_E_ARG}};
    watcher w;
    hn_error err;
    begin(&w, GRAPH("n"), NULL);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(hn_watch(w.model, &wrong[k].name, 1, w.feed, &w.how,
                                  &(hn_watch_options){0}, refuse, NULL, &scratch_mem, &err),
                         wrong[k].status);
        assert_string_equal(err.text, wrong[k].says);
    }
    w.stop_at = 50;
    assert_int_equal(watch(&w, (hn_watch_options){0}, &err), HONE_E_LIMIT);
    assert_string_equal(err.text, "stopped after 12 of 21 samples");
    end(&w);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    watcher w;
    hn_error err;
    begin(&w, GRAPH("n"), NULL);
    bool done = false;
    for (int n = 0; !done; n++) {
        atomic_store(&scratch_mem.fail_after, n);
        hone_status status = watch(&w, (hn_watch_options){.most_bytes = 100, .samples = 6}, &err);
        atomic_store(&scratch_mem.fail_after, -1);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
        done = status == HONE_OK;
    }
    end(&w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(values_come_in_order),
        TEST(memory_is_bounded),
        TEST(what_fills_up_a_batch_is_hidden),
        TEST(the_look_sees_each_sample_once),
        TEST(what_is_wrong_is_said),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
