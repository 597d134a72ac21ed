/* Whole searches over small models: what is said and chosen, whatever the machine's speed. */
#include "advise/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "formats/npz.h"
#include "formats/onnx.h"
#include "support/data.h"
#include "support/graph.h"

enum { WIDTH = 20, SAMPLES = 200 };

typedef struct set_up {
    hn_model *model;
    hn_dataset *data;
    hn_pool *pool;
    hn_search_options o;
    hn_arena arena;
    hone_optimization out;
    hn_model *chosen;
    int calls, stop_at; /* of progress */
} set_up;

static char doing[128]; /* what is going on */

static bool on_progress(void *ctx, const char *what, int64_t done, int64_t total) {
    set_up *s = ctx;
    assert_true(strchr(what, ':') != NULL && done <= total);
    snprintf(doing, sizeof doing, "%s", what);
    return s->stop_at == 0 || ++s->calls < s->stop_at;
}

/* No model is faster than another: what is chosen does not depend on the machine. */
static hone_status draw(hn_round *r, hn_program *a, hn_program *b, const hn_tensor *const *in,
                        int n_outputs, double seconds, hn_allocator *alloc, hn_error *err) {
    (void)seconds;
    hone_status status = hn_round_run(r, a, b, in, n_outputs, 0, alloc, err);
    r->ms[0] = r->ms[1] = r->least[0] = r->least[1] = 1;
    r->calm = true;
    return status;
}

/* A classifier with most of its bytes in a product that stays in floats: nothing is static in it
 * but what samples show. Labels are its own answers. */
static void begin_with(set_up *s, const char *most, const char *first) {
    static char graph[WIDTH * WIDTH * 16 + 400], rows[SAMPLES * (WIDTH * 12 + 16)];
    hn_rng rng;
    hn_rng_init(&rng, 1);
    size_t used = (size_t)snprintf(graph, sizeof graph,
                                   "g (float[n,%d] x) => (float[n,%d] y) <float[%d,%d] w = {",
                                   WIDTH, WIDTH, WIDTH, WIDTH);
    for (int i = 0; i < WIDTH * WIDTH; i++)
        used += (size_t)snprintf(graph + used, sizeof graph - used, "%s%.4f", i > 0 ? ", " : "",
                                 (i % (WIDTH + 1) == 0 ? 4 : 0) + hn_rng_normal(&rng) / 8);
    snprintf(graph + used, sizeof graph - used, "}> { h = MatMul (x, w) y = Relu (h) }");
    used = 0;
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < WIDTH; k++)
            used += (size_t)snprintf(rows + used, sizeof rows - used, "%s,",
                                     k == i % WIDTH ? most
                                     : k == 0       ? first
                                                    : "1");
        used += (size_t)snprintf(rows + used, sizeof rows - used, "%d\n", i % WIDTH);
    }
    *s = (set_up){.model = graph_model(21, graph)};
    s->data = data_open("csv:%s", scratch_put_text("d.csv", rows));
    hn_arena_init(&s->arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_pool_create(&s->pool, 1, &scratch_mem, NULL), HONE_OK);
    s->o = (hn_search_options){
        .data = s->data,
        .max_drop = 0.01,
        .device = "cpu",
        .seed = 1,
        .how = {.engine = {.alloc = &scratch_mem, .pool = s->pool, .isa = hn_isa_available()}},
        .round = draw,
        .threads = 1,
        .cores = 2,
        .progress = on_progress,
        .progress_ctx = s};
    assert_true(hn_layer_precision_named("f32", 3, &s->o.how.engine.layers.way));
}

static void begin(set_up *s) { begin_with(s, "3", "1"); }

/* Another model, and samples without labels for its input x. */
static void begin_without_labels(set_up *s, const char *graph, int rank, const int64_t *dims,
                                 const float *x) {
    static const char *const names[] = {"x"};
    hn_array array = {.dtype = HONE_DTYPE_F32, .rank = rank, .data = (void *)x, .bytes = 4};
    hn_error err;
    for (int i = 0; i < rank; i++) {
        array.dims[i] = dims[i];
        array.bytes *= (size_t)dims[i];
    }
    begin(s);
    hn_model_destroy(s->model);
    hn_dataset_close(s->data);
    s->model = graph_model(21, graph);
    if (hn_npz_write(scratch_path("x.npz"), NULL, 1, names, &array, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    s->data = s->o.data = data_open("npz:%s", scratch_path("x.npz"));
}

/* Two products with a Relu between them, h and y, and samples without labels. */
static void begin_with_two_layers(set_up *s) {
    enum { N = 16, ROWS = 120 };
    static char graph[2 * N * N * 10];
    static float x[ROWS * N];
    hn_rng rng;
    hn_rng_init(&rng, 2);
    size_t used = 0;
    for (int k = 0; k < 2; k++) {
        used += (size_t)snprintf(graph + used, sizeof graph - used, "%s float[16,16] w%d = {",
                                 k == 0 ? "g (float[n,16] x) => (float[n,16] y) <" : ",", k);
        for (int i = 0; i < N * N; i++)
            used += (size_t)snprintf(graph + used, sizeof graph - used, "%s%.3f", i > 0 ? ", " : "",
                                     hn_rng_normal(&rng));
        used += (size_t)snprintf(graph + used, sizeof graph - used, "}");
    }
    snprintf(graph + used, sizeof graph - used,
             "> { h = MatMul (x, w0) r = Relu (h) y = MatMul (r, w1) }");
    for (int i = 0; i < ROWS * N; i++) x[i] = (float)hn_rng_normal(&rng);
    begin_without_labels(s, graph, 2, (const int64_t[]){ROWS, N}, x);
}

static void run(set_up *s) {
    hn_error err;
    hone_status status =
        hn_search(&s->out, &s->chosen, s->model, &s->o, &s->arena, &scratch_mem, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
}

static void end(set_up *s) {
    hn_model_destroy(s->chosen);
    hn_model_destroy(s->model);
    hn_dataset_close(s->data);
    hn_arena_deinit(&s->arena);
    hn_pool_destroy(s->pool);
}

static const hone_optimize_row *row_of(const set_up *s, const char *name) {
    for (size_t i = 0; i < s->out.n_rows; i++)
        if (strcmp(s->out.rows[i].name, name) == 0) return &s->out.rows[i];
    return NULL;
}

static const char *fast[2]; /* what some_are_fast says is fast */
static hn_round_fn some_are_fast;

static bool says(const char *text, const char *part) {
    return text != NULL && strstr(text, part) != NULL;
}

static void everything_is_tried_and_told(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    run(&s);
    const hone_optimize_row *first = &s.out.rows[0], *bf16 = row_of(&s, "bf16");
    assert_string_equal(first->name, "original");
    assert_true(first->ms > 0 && first->file_bytes > WIDTH * WIDTH * 4 && first->value == 1);
    assert_string_equal(s.out.metric, "top1");
    assert_int_equal(s.out.calibration_samples + s.out.choosing_samples + s.out.verifying_samples,
                     SAMPLES);
    assert_non_null(bf16);
    assert_true(bf16->file_bytes < first->file_bytes);
    assert_string_equal(bf16->gain, "time 2x, size 2x");
    assert_int_equal(s.out.n_criteria, 8);
    assert_int_equal(s.out.n_guards, 7);
    assert_true(says(s.out.profile, "MatMul"));
    assert_true(says(s.out.criteria[0].evidence, "MatMul"));
    for (size_t i = 0; i < s.out.n_rows; i++) {
        const hone_optimize_row *r = &s.out.rows[i];
        bool passed = i == 0 || strcmp(r->state, "passed") == 0 || i == s.out.chosen;
        if (r->front) assert_true(passed);
        if (!passed) assert_non_null(r->why);
    }
    assert_true(s.out.met);
    assert_int_equal(s.out.chosen > 0, s.chosen != NULL);
    assert_int_equal(s.out.chosen > 0, s.out.recipe != NULL);
    end(&s);
}

/* With a limit that 16 bits meet, they are where it ends; and the recipe does it again. */
static void a_limit_that_is_met_ends_it(void **state) {
    (void)state;
    set_up s, again;
    hn_file *file[2];
    begin(&s);
    s.o.max_file = WIDTH * WIDTH * 3;
    run(&s);
    assert_true(s.out.met && s.out.chosen > 0 && s.out.chosen == s.out.n_rows - 1);
    assert_string_equal(s.out.rows[s.out.chosen].state, "chosen");
    assert_true(s.out.rows[s.out.chosen].file_bytes <= s.o.max_file);
    assert_true(says(s.out.verdict, "what was asked for is met"));
    assert_string_equal(s.out.criteria[3].answer, "yes");
    begin(&again);
    hn_error err;
    hone_status status = hn_search_replay(&again.out, &again.chosen, s.out.recipe, again.model,
                                          &again.o, &again.arena, &scratch_mem, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(hn_onnx_save_memory(&file[0], s.chosen, NULL, &err), HONE_OK);
    assert_int_equal(hn_onnx_save_memory(&file[1], again.chosen, NULL, &err), HONE_OK);
    assert_int_equal(file[0]->bytes, file[1]->bytes);
    assert_memory_equal(file[0]->data, file[1]->data, file[0]->bytes);
    hn_file_unref(file[0]);
    hn_file_unref(file[1]);
    assert_int_equal(again.out.n_rows, 0);
    assert_true(says(again.out.verdict, "nothing was measured"));
    assert_string_equal(again.out.runtime, "hone");
    double spent = 0;
    for (size_t i = 0; i < again.out.n_stages; i++) spent += again.out.stages[i].seconds;
    assert_true(again.out.n_stages > 0 && spent > 0 && spent <= again.out.seconds);
    /* A recipe of another model is refused. */
    strcpy(again.o.source, "other");
    char *text = hn_arena_alloc(&s.arena, strlen(s.out.recipe) + 100);
    sprintf(text, "hone recipe 2\nsource %064d%s", 7, strchr(s.out.recipe, '\n'));
    status = hn_search_replay(&again.out, &again.chosen, text, again.model, &again.o, &again.arena,
                              &scratch_mem, &err);
    assert_int_equal(status, HONE_E_ARG);
    assert_true(says(err.text, "for another model"));
    end(&again);
    end(&s);
}

static void nothing_is_done_for_what_is_met(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.max_file = 1 << 20;
    run(&s);
    assert_true(s.out.met && s.chosen == NULL && s.out.n_rows == 1);
    assert_true(says(s.out.verdict, "already met"));
    assert_int_equal(s.out.n_criteria, 8);
    end(&s);
}

static void what_cannot_be_met_is_said(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.max_file = 10;
    run(&s);
    assert_true(!s.out.met && s.chosen == NULL && s.out.chosen == 0 && s.out.recipe == NULL);
    assert_true(says(s.out.verdict, "cannot be met"));
    assert_string_equal(s.out.criteria[3].answer, "no");
    end(&s);
}

static bool left_out(const set_up *s, const char *text) {
    for (size_t i = 0; i < s->out.n_left_out; i++)
        if (says(s->out.left_out[i], text)) return true;
    return false;
}

static bool is_done(const hone_optimize_row *r) { return strcmp(r->state, "unfinished") != 0; }

/* What had passed by then is chosen, verified, and what was under way is not called a failure. */
static void stopped_at_any_time_it_keeps_what_it_has(void **state) {
    (void)state;
    size_t rows = 0, chosen = 0, unfinished = 0;
    for (int stop = 1; stop < 4000; stop += stop / 3 + 1) {
        set_up s;
        begin(&s);
        s.stop_at = stop;
        run(&s);
        bool whole = !s.out.interrupted;
        if (s.out.interrupted) {
            assert_true(s.out.n_rows >= rows);
            assert_true(says(s.out.verdict, "interrupted while doing"));
            rows = s.out.n_rows;
            for (size_t i = 1; i < rows; i++) {
                unfinished += !is_done(&s.out.rows[i]);
                assert_string_not_equal(s.out.rows[i].state, "failed");
                if (!is_done(&s.out.rows[i])) assert_int_equal(i, rows - 1);
            }
            assert_int_equal(s.out.chosen > 0, s.chosen != NULL);
            assert_int_equal(s.out.chosen > 0, s.out.recipe != NULL);
            if (s.out.chosen > 0) {
                chosen++;
                assert_string_equal(s.out.rows[s.out.chosen].state, "chosen");
                assert_false(isnan(s.out.verified));
                assert_string_equal(s.out.criteria[4].answer, "yes"); /* accuracy validated? */
                assert_string_equal(s.out.criteria[6].answer, "no");  /* all documented? */
            }
        }
        end(&s);
        if (whole) break;
    }
    assert_true(rows > 1 && chosen > 0 && unfinished > 0);
}

/* Time is spent at once: the original is measured, and candidates until the clock is looked at. */
static void a_time_that_is_spent_ends_it(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.time_budget = 1e-9;
    run(&s);
    assert_true(s.out.out_of_time && !s.out.interrupted);
    assert_true(says(s.out.verdict, "the time of 1e-09 s was spent while doing simplified"));
    assert_int_equal(s.out.n_rows, 2);
    assert_string_equal(s.out.rows[1].state, "unfinished");
    assert_true(says(s.out.rows[1].why, "not finished"));
    assert_true(left_out(&s, "int8: the search ended before it"));
    end(&s);
    begin(&s);
    s.o.time_budget = 1e6;
    run(&s);
    assert_true(!s.out.out_of_time && s.out.n_rows > 3);
    double spent = 0;
    bool judged = false;
    for (size_t i = 0; i < s.out.n_stages; i++) {
        spent += s.out.stages[i].seconds;
        judged = judged || strcmp(s.out.stages[i].name, "accuracy") == 0;
    }
    assert_true(judged && spent >= 0.9 * s.out.seconds && spent <= 1.1 * s.out.seconds);
    end(&s);
}

/* As Ctrl-C does it: runs are asked to end too, and all that come after. */
static bool runs_go_on;
static bool may_run(void *unused) {
    (void)unused;
    return runs_go_on;
}
static bool ends_in_f16(void *ctx, const char *what, int64_t done, int64_t total) {
    (void)ctx, (void)done, (void)total;
    runs_go_on &= strcmp(what, "f16: accuracy") != 0;
    snprintf(doing, sizeof doing, "%s", what);
    return runs_go_on;
}

static void the_choice_is_verified_after_an_interruption(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    runs_go_on = true;
    s.o.how.engine.keep_going = may_run;
    s.o.progress = ends_in_f16;
    run(&s);
    assert_true(s.out.interrupted);
    assert_string_equal(row_of(&s, "bf16")->state, "chosen"); /* the smallest by then */
    assert_string_equal(row_of(&s, "f16")->state, "unfinished");
    assert_true(says(s.out.verdict, "interrupted while doing f16: accuracy; bf16 is"));
    assert_false(isnan(s.out.verified));
    end(&s);
}

static int told_of[2], tells, chose;
static double told_left;
static void on_candidate(void *ctx, int k, int n, double seconds_left) {
    (void)ctx;
    if (k == 0) {
        assert_int_equal(n, 0);
        chose++;
        return;
    }
    assert_int_equal(k, ++tells);
    assert_true(k <= n);
    assert_int_equal(isnan(seconds_left), k == 1); /* nothing says how long the first takes */
    told_of[0] = k;
    told_of[1] = n;
    told_left = seconds_left;
}

static void which_candidate_it_is_and_what_is_left(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.candidate = on_candidate;
    tells = chose = 0;
    run(&s);
    assert_int_equal(chose, 1);
    assert_int_equal(told_of[0], s.out.n_rows - 1);
    assert_int_equal(told_of[1], s.out.n_rows - 1);
    assert_true(told_left >= 0);
    end(&s);
}

/* A hidden layer of 64 that can lose channels, and what it is trained on. */
static void begin_with_channels(set_up *s) {
    enum { IN = 16, HIDDEN = 64, OUT = 16, ROWS = 300 };
    static char graph[(IN * HIDDEN + HIDDEN * OUT) * 10 + 400];
    static float x[ROWS * IN];
    const int sizes[2] = {IN * HIDDEN, HIDDEN * OUT};
    hn_rng rng;
    hn_rng_init(&rng, 3);
    size_t used = (size_t)snprintf(graph, sizeof graph,
                                   "g (float[n,16] x) => (float[n,16] y) <float[16,64] w0 = {");
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < sizes[k]; i++)
            used += (size_t)snprintf(graph + used, sizeof graph - used, "%s%.3f", i > 0 ? ", " : "",
                                     hn_rng_normal(&rng) / 4);
        used += (size_t)snprintf(graph + used, sizeof graph - used, "%s",
                                 k == 0 ? "}, float[64,16] w1 = {" : "}");
    }
    snprintf(graph + used, sizeof graph - used,
             "> { h = MatMul (x, w0) r = Relu (h) y = MatMul (r, w1) }");
    for (int i = 0; i < ROWS * IN; i++) x[i] = (float)hn_rng_normal(&rng);
    begin_without_labels(s, graph, 2, (const int64_t[]){ROWS, IN}, x);
    s->o.max_drop = 60; /* dB of signal to noise: answers do not matter here */
}

static void assert_replayed(const set_up *s, set_up *again);

/* What is trained is chosen where it is faster, and its recipe, which has the epochs, does it again. */
static void what_is_trained_can_be_chosen(void **state) {
    (void)state;
    set_up s, again;
    begin_with_channels(&s);
    run(&s);
    assert_null(row_of(&s, "channels-50"));
    assert_true(left_out(&s, "trained models: no time was given"));
    end(&s);

    begin_with_channels(&s);
    s.o.train_budget = 1e6;
    s.o.round = some_are_fast;
    fast[0] = fast[1] = "channels-50:";
    run(&s);
    const hone_optimize_row *r = row_of(&s, "channels-50"), *heads = row_of(&s, "heads-25");
    assert_non_null(r);
    assert_string_equal(r->state, "chosen");
    assert_true(says(r->help, "60 epochs") && says(s.out.recipe, "train epochs=60 goal=teacher"));
    assert_true(r->file_bytes < row_of(&s, "int8")->file_bytes);
    assert_string_equal(heads->state, "failed");
    assert_true(says(heads->why, "finds nothing to take away"));
    /* With good answers it could not be chosen, so it was not trained. */
    assert_string_equal(row_of(&s, "sparse-80")->state, "behind");
    begin_with_channels(&again);
    assert_replayed(&s, &again);
    end(&again);
    end(&s);
}

/* Steps of training in earnest: the few that try it out go over no more samples. */
static int n_trained;
static bool counts_training(void *ctx, const char *what, int64_t done, int64_t total) {
    n_trained += total > 256 && says(what, "channels-50: train");
    return on_progress(ctx, what, done, total);
}

static bool stops_before_sparse(void *ctx, const char *what, int64_t done, int64_t total) {
    runs_go_on &= strncmp(what, "sparse-80", 9) != 0;
    return counts_training(ctx, what, done, total) && runs_go_on;
}

/* What was trained before an interruption is not trained again, and nothing is left behind. */
static void an_ended_search_goes_on(void **state) {
    (void)state;
    set_up s;
    const char *kept = scratch_path("kept");
    for (int again = 0; again < 2; again++) {
        begin_with_channels(&s);
        s.o.train_budget = 1e6;
        memset(s.o.source, '5', sizeof s.o.source - 1);
        s.o.keep = kept;
        s.o.round = some_are_fast;
        fast[0] = fast[1] = "channels-50:";
        s.o.progress = again ? counts_training : stops_before_sparse;
        runs_go_on = true;
        n_trained = 0;
        run(&s);
        assert_int_equal(s.out.interrupted, !again);
        assert_string_equal(row_of(&s, "channels-50")->state, "chosen");
        assert_true(says(s.out.recipe, "train epochs=60 goal=teacher"));
        assert_int_equal(access(kept, F_OK) == 0, !again);
        assert_int_equal(n_trained > 0, !again);
        if (again) {
            set_up once_more;
            begin_with_channels(&once_more);
            memcpy(once_more.o.source, s.o.source, sizeof s.o.source);
            assert_replayed(&s, &once_more);
            end(&once_more);
        }
        end(&s);
    }
}

/* Samples whose labels were mended meanwhile teach something else. */
static void what_others_taught_is_trained_again(void **state) {
    (void)state;
    enum { ROWS = 300, IN = 16 };
    static float x[ROWS * IN];
    static int64_t label[ROWS];
    static const char *const names[] = {"x", "label"};
    const hn_array arrays[] = {
        {.dtype = HONE_DTYPE_F32, .rank = 2, .dims = {ROWS, IN}, .data = x, .bytes = sizeof x},
        {.dtype = HONE_DTYPE_S64, .rank = 1, .dims = {ROWS}, .data = label, .bytes = sizeof label}};
    char kept[300];
    hn_error err;
    hn_rng rng;
    snprintf(kept, sizeof kept, "%s", scratch_path("kept"));
    hn_rng_init(&rng, 5);
    for (int i = 0; i < ROWS * IN; i++) x[i] = (float)hn_rng_normal(&rng);
    for (int i = 0; i < ROWS; i++) label[i] = i % IN;
    for (int mended = 0; mended < 2; mended++) {
        set_up s;
        begin_with_channels(&s);
        label[7] += mended;
        if (hn_npz_write(scratch_path("xl.npz"), NULL, 2, names, arrays, &scratch_mem, &err) !=
            HONE_OK)
            fail_msg("%s", err.text);
        hn_dataset_close(s.data);
        s.data = s.o.data = data_open("npz:%s", scratch_path("xl.npz"));
        s.o.eval = s.data; /* so that all of them teach */
        s.o.train_budget = 1e6;
        memset(s.o.source, '5', sizeof s.o.source - 1);
        s.o.keep = kept;
        s.o.round = some_are_fast;
        fast[0] = fast[1] = "channels-50:";
        s.o.progress = stops_before_sparse;
        runs_go_on = true;
        n_trained = 0;
        run(&s);
        assert_true(n_trained > 0);
        end(&s);
    }
}

/* Models are made and timed, but none is trained in a time that no epoch fits into. */
static void no_time_to_train(void **state) {
    (void)state;
    set_up s;
    begin_with_channels(&s);
    s.o.train_budget = 1e-9;
    s.o.round = some_are_fast;
    fast[0] = fast[1] = "channels-50:";
    run(&s);
    const hone_optimize_row *r = row_of(&s, "channels-50");
    assert_non_null(r);
    assert_string_equal(r->state, "skipped");
    assert_true(says(r->why, "are left to train in") && r->file_bytes > 0 && isnan(r->drop));
    assert_string_not_equal(s.out.rows[s.out.chosen].name, "channels-50");
    end(&s);
}

/* Nothing tells whether answers stay, so nothing is tried that could change them. */
static void without_real_samples_only_what_is_exact(void **state) {
    (void)state;
    for (int noise = 0; noise < 2; noise++) {
        set_up s;
        begin(&s);
        hn_dataset_close(s.data);
        s.data = s.o.data = noise ? data_open("random,n=64,seed=2") : NULL;
        run(&s);
        assert_non_null(row_of(&s, "simplified"));
        assert_int_equal(s.out.n_rows, 2);
        assert_true(left_out(&s, "int8: it may change answers"));
        assert_true(left_out(&s, "bf16: it may change answers"));
        assert_string_equal(s.out.metric, "signal kept");
        assert_false(s.out.checked);
        assert_string_equal(s.out.criteria[4].answer, "no"); /* accuracy validated? */
        assert_string_equal(s.out.guards[4].answer, "avoided");
        end(&s);
    }
}

/* Who says so gets what may change answers, marked as unchecked. */
static void unchecked_models_when_allowed(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.data = NULL;
    s.o.allow_unchecked = true;
    run(&s);
    assert_null(row_of(&s, "int8"));
    assert_true(left_out(&s, "int8: it needs samples"));
    assert_true(s.out.chosen > (size_t)(row_of(&s, "simplified") - s.out.rows));
    assert_true(says(s.out.verdict, "its answers unchecked"));
    assert_string_equal(s.out.criteria[4].answer, "no");
    assert_string_equal(s.out.guards[4].answer, "not avoided"); /* low precision unchecked */
    assert_int_equal(s.out.choosing_samples, 0);
    end(&s);
}

/* A gate that nothing may pass: all that changes numbers is judged by a metric that they change. */
static void the_gate_decides(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.data = NULL;
    s.o.allow_unchecked = true;
    s.o.max_drop = 0;
    run(&s);
    int judged = 0;
    for (size_t i = 1; i < s.out.n_rows; i++) {
        const hone_optimize_row *r = &s.out.rows[i];
        if (isnan(r->drop)) continue; /* slower, perhaps, on this machine today */
        assert_string_equal(r->state, r->drop > 0         ? "gate"
                                      : i == s.out.chosen ? "chosen"
                                                          : "passed");
        if (r->drop > 0) assert_true(says(r->why, "loses"));
        judged++;
    }
    assert_true(judged > 0);
    end(&s);
}

/* A number so large that 8 bits cannot tell the others apart: layers then get types of their own.
 */
static void what_breaks_the_gate_is_mixed(void **state) {
    (void)state;
    set_up s;
    begin_with(&s, "1.2", "-900");
    run(&s);
    const hone_optimize_row *whole = row_of(&s, "int8");
    static const char *const mixes[] = {"mixed", "mixed-bf16"};
    assert_non_null(whole);
    for (int i = 0; i < 2; i++) {
        const hone_optimize_row *mixed = row_of(&s, mixes[i]);
        assert_int_equal(strcmp(whole->state, "gate") == 0, mixed != NULL);
        if (mixed == NULL) continue;
        assert_string_not_equal(mixed->state, "failed");
        assert_string_not_equal(mixed->state, "gate");
    }
    end(&s);
}

/* Some are fast: what is judged is which of them is the smallest. */
static hone_status some_are_fast(hn_round *r, hn_program *a, hn_program *b,
                                 const hn_tensor *const *in, int n_outputs, double seconds,
                                 hn_allocator *alloc, hn_error *err) {
    hone_status status = draw(r, a, b, in, n_outputs, seconds, alloc, err);
    bool is_fast = strncmp(doing, fast[0], strlen(fast[0])) == 0 ||
                   strncmp(doing, fast[1], strlen(fast[1])) == 0;
    r->least[1] = r->ms[1] = is_fast ? 0.25 : 1;
    return status;
}

/* As if the machine had been busy when the smaller one was timed, and not when they met. */
static hone_status one_is_disturbed(hn_round *r, hn_program *a, hn_program *b,
                                    const hn_tensor *const *in, int n_outputs, double seconds,
                                    hn_allocator *alloc, hn_error *err) {
    hone_status status = draw(r, a, b, in, n_outputs, seconds, alloc, err);
    double times = strcmp(doing, "int8: time") == 0        ? 4
                   : strcmp(doing, "int8-int4: time") == 0 ? 2
                                                           : 1;
    r->least[1] = r->ms[1] = 1 / times;
    return status;
}

static void what_seems_slower_is_timed_again(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.round = one_is_disturbed;
    run(&s);
    const hone_optimize_row *fewer = row_of(&s, "int8-int4");
    assert_non_null(fewer);
    assert_string_equal(fewer->state, "chosen");
    assert_float_equal(fewer->speed, row_of(&s, "int8")->speed, 1e-9);
    end(&s);
}

/* The recipe of a search gives the same file again. */
static void assert_replayed(const set_up *s, set_up *again) {
    hn_file *file[2];
    hn_error err;
    again->o.progress = NULL;
    if (hn_search_replay(&again->out, &again->chosen, s->out.recipe, again->model, &again->o,
                         &again->arena, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(hn_onnx_save_memory(&file[0], s->chosen, NULL, &err), HONE_OK);
    assert_int_equal(hn_onnx_save_memory(&file[1], again->chosen, NULL, &err), HONE_OK);
    assert_int_equal(file[0]->bytes, file[1]->bytes);
    assert_memory_equal(file[0]->data, file[1]->data, file[0]->bytes);
    hn_file_unref(file[0]);
    hn_file_unref(file[1]);
}

/* What int8 bears easily gets 4 bits: smaller, as fast, and within half of the gate. */
static void what_int8_bears_gets_fewer_bits(void **state) {
    (void)state;
    set_up s, again;
    begin(&s);
    s.o.round = some_are_fast;
    fast[0] = "int8:";
    fast[1] = "int8-int4:";
    run(&s);
    const hone_optimize_row *whole = row_of(&s, "int8"), *fewer = row_of(&s, "int8-int4");
    assert_non_null(whole);
    assert_non_null(fewer);
    assert_true(fewer->weights_bytes < whole->weights_bytes);
    assert_true(fewer->drop <= s.o.max_drop / 2);
    assert_string_equal(fewer->state, "chosen");
    assert_true(says(s.out.recipe, "=w4a8"));
    begin(&again);
    assert_replayed(&s, &again);
    end(&again);
    end(&s);
}

static bool is_left_out(const set_up *s, const char *text) {
    for (size_t i = 0; i < s->out.n_left_out; i++)
        if (strcmp(s->out.left_out[i], text) == 0) return true;
    return false;
}

/* Weights of 7 bits are for CPUs that multiply them faster, and judged like all others. */
static void seven_bits_are_tried_where_they_may_gain(void **state) {
    (void)state;
    static const char *const names[] = {"int8-7bit", "dynamic-7bit"};
    hn_isa isa = hn_isa_available();
#if defined(__x86_64__)
    isa &= HN_ISA_AVX2;
#endif
    bool gains = hn_isa_facts_of(isa)->likes_7_bits;
    set_up s;
    begin(&s);
    s.o.how.engine.isa = isa;
    s.o.round = some_are_fast;
    fast[0] = fast[1] = "int8-7bit:";
    run(&s);
    for (int i = 0; i < 2; i++) assert_int_equal(row_of(&s, names[i]) != NULL, gains);
    if (gains) {
        assert_true(says(s.out.recipe, "reduce-range"));
        assert_true(row_of(&s, "int8-7bit")->value >= 1 - s.o.max_drop);
    }
    end(&s);
    begin(&s);
    s.o.how.engine.isa = HN_ISA_PORTABLE;
    run(&s);
    assert_true(is_left_out(&s, "int8-7bit: this CPU multiplies weights of 8 bits as fast"));
    end(&s);
}

/* Layers that bear no 4 bits stay as the best int8 has them, which the recipe does again. */
static void layers_beside_4_bits_keep_7(void **state) {
    (void)state;
    set_up s, again;
    begin_with_two_layers(&s);
#if defined(__x86_64__)
    s.o.how.engine.isa &= HN_ISA_AVX2;
#endif
    s.o.max_drop = 0.05;
    s.o.round = some_are_fast;
    fast[0] = "int8-7bit:";
    fast[1] = "int8-int4:";
    run(&s);
    if (hn_isa_facts_of(s.o.how.engine.isa)->likes_7_bits) {
        assert_true(says(s.out.recipe, "reduce-range mix=w4a8 chosen:h=int8 chosen:y=w4a8"));
        begin_with_two_layers(&again);
        assert_replayed(&s, &again);
        end(&again);
    }
    end(&s);
}

/* 7 bits are not tried where 8 have broken the gate. */
static void seven_bits_follow_eight(void **state) {
    (void)state;
    set_up s;
    begin(&s);
#if defined(__x86_64__)
    s.o.how.engine.isa &= HN_ISA_AVX2;
#endif
    s.o.data = NULL;
    s.o.allow_unchecked = true;
    s.o.max_drop = 0;
    run(&s);
    assert_string_equal(row_of(&s, "int8-dynamic")->state, "gate");
    assert_null(row_of(&s, "dynamic-7bit"));
    if (hn_isa_facts_of(s.o.how.engine.isa)->likes_7_bits)
        assert_true(is_left_out(&s, "dynamic-7bit: 8 bits were inaccurate already"));
    end(&s);
}

/* A detector with boxes in pixels beside its scores in one tensor. One scale for all that comes in
 * leaves nothing of the scores in 8 bits, and hardly touches the boxes. */
static void a_detector_that_finds_nothing_is_refused(void **state) {
    (void)state;
    enum { N = 40, PLACES = 32 };
    static float x[N * PLACES * 8];
    set_up s;
    for (int i = 0; i < N * PLACES; i++) {
        int place = i % PLACES;
        bool object = (place + i / PLACES) % 6 == 0;
        float *row = x + 8 * i;
        row[0] = (float)(place % 8 * 80 + 40);
        row[1] = (float)(place / 8 * 160 + 40);
        row[2] = row[3] = 30;
        for (int c = 0; c < 3; c++) row[4 + c] = object && place % 3 == c ? 0.5f : -0.9f;
        row[7] = 0;
    }
    begin_without_labels(&s,
                         "g (float[n,32,8] x) => (float[n,32,7] y) <float[8,7] w = {"
                         " 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,"
                         " 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0,"
                         " 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0}, int64[2] parts = {4, 3}> {"
                         " h = MatMul (x, w) b, t = Split <axis = 2> (h, parts)"
                         " p = Sigmoid (t) y = Concat <axis = 2> (b, p) }",
                         3, (const int64_t[]){N, PLACES, 8}, x);
    s.o.round = some_are_fast;
    fast[0] = fast[1] = "int8:";
    run(&s);
    const hone_optimize_row *r = row_of(&s, "int8");
    assert_non_null(r);
    assert_string_equal(r->state, "gate");
    assert_string_equal(s.out.metric, "detections kept");
    assert_true(r->value < 0.5 && r->high < 0.99 && says(r->why, "detections lost"));
    assert_string_equal(row_of(&s, "simplified")->state, s.out.chosen == 1 ? "chosen" : "passed");
    end(&s);
}

/* Of twelve outputs the eighth alone is read from small numbers, which 8 bits lose. */
static void one_broken_output_of_twelve_is_refused(void **state) {
    (void)state;
    enum { N = 60 };
    static float x[N * 8];
    static char graph[4000];
    set_up s;
    hn_rng rng;
    hn_rng_init(&rng, 3);
    for (int i = 0; i < N * 8; i++) x[i] = (float)hn_rng_normal(&rng) * (i % 8 < 5 ? 300.0f : 0.3f);
    size_t used = (size_t)snprintf(graph, sizeof graph, "g (float[n,8] x) => (");
    for (int i = 0; i < 12; i++)
        used += (size_t)snprintf(graph + used, sizeof graph - used, "%sfloat[n,3] y%d",
                                 i > 0 ? ", " : "", i);
    used += (size_t)snprintf(graph + used, sizeof graph - used, ") <");
    for (int i = 0; i < 12; i++) {
        used += (size_t)snprintf(graph + used, sizeof graph - used, "%sfloat[8,3] w%d = {",
                                 i > 0 ? ", " : "", i);
        for (int k = 0; k < 24; k++) {
            bool reads = i == 7 ? k / 3 >= 5 : k / 3 < 5;
            used += (size_t)snprintf(graph + used, sizeof graph - used, "%s%d", k > 0 ? ", " : "",
                                     reads && k / 3 % 3 == k % 3 ? 1 : 0);
        }
        used += (size_t)snprintf(graph + used, sizeof graph - used, "}");
    }
    used += (size_t)snprintf(graph + used, sizeof graph - used, "> {");
    for (int i = 0; i < 12; i++)
        used += (size_t)snprintf(graph + used, sizeof graph - used, " y%d = MatMul (x, w%d)", i, i);
    snprintf(graph + used, sizeof graph - used, " }");
    begin_without_labels(&s, graph, 2, (const int64_t[]){N, 8}, x);
    s.o.round = some_are_fast;
    fast[0] = fast[1] = "int8:";
    run(&s);
    const hone_optimize_row *r = row_of(&s, "int8");
    assert_non_null(r);
    assert_string_equal(r->state, "gate");
    assert_true(says(r->why, "output 'y7'"));
    end(&s);
}

/* What would be broken is named where nothing is left to choose. */
static void a_broken_gate_is_a_verdict(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.data = NULL;
    s.o.allow_unchecked = true;
    s.o.max_drop = 0;
    s.o.round = some_are_fast;
    fast[0] = fast[1] = "int8-dynamic:";
    run(&s);
    assert_int_equal(s.out.chosen, 0);
    assert_true(says(s.out.verdict, "the gate would be broken: int8-dynamic is 4.00 times"));
    end(&s);
}

static int times_asked; /* for slow layers of int8 */

/* In int8, the first product is slow until it is made in f32. */
static hone_status first_is_slow(hn_slow_layers *out, hn_program *original, const hn_model *m,
                                 const hn_run_options *how, const hn_tensor *const *in,
                                 hn_arena *arena, hn_error *err) {
    (void)original, (void)m, (void)how, (void)in, (void)err;
    *out = (hn_slow_layers){.v = hn_arena_array(arena, 1, sizeof *out->v)};
    if (strncmp(doing, "int8:", 5) == 0 && times_asked++ == 0)
        out->v[out->n++] = (hn_slow_layer){"h", 1, 2};
    return HONE_OK;
}

static hone_status slow_as_a_whole(hn_round *r, hn_program *a, hn_program *b,
                                   const hn_tensor *const *in, int n_outputs, double seconds,
                                   hn_allocator *alloc, hn_error *err) {
    hone_status status = draw(r, a, b, in, n_outputs, seconds, alloc, err);
    if (strncmp(doing, "int8:", 5) == 0) r->least[1] = r->ms[1] = times_asked == 0 ? 1.5 : 0.25;
    return status;
}

/* A layer that is slower in int8 stays in f32, and int8 is not discarded because of it. */
static void slow_layers_stay_in_f32(void **state) {
    (void)state;
    set_up s;
    begin_with_two_layers(&s);
    s.o.max_drop = 0.5;
    s.o.round = slow_as_a_whole;
    s.o.slow_layers = first_is_slow;
    times_asked = 0;
    run(&s);
    const hone_optimize_row *r = row_of(&s, "int8");
    assert_non_null(r);
    assert_string_equal(r->state, "chosen");
    assert_float_equal(r->speed, 4, 1e-6);
    assert_int_equal(times_asked, 2); /* what it was made into is looked at again */
    assert_true(r->memory_bytes > 0);
    assert_true(
        says(r->help, "1 layer stays in f32, which is faster on this machine: h (1.000 ms"));
    assert_true(says(s.out.recipe, "layer:h=f32"));
    assert_true(says(s.out.recipe, "# 1 layer stays in f32"));
    const hn_node *h = hn_graph_value(s.chosen->graph, "h")->producer;
    assert_non_null(h->inputs[1].value->constant);
    assert_int_equal(h->inputs[1].value->constant->dtype, HONE_DTYPE_F32);
    const hn_value *y = hn_graph_value(s.chosen->graph, "y");
    assert_true(y->producer->inputs[1].value->constant == NULL);
    end(&s);
}

/* Every other round of int8 goes to the candidate: rounds disagree, and their minima with them. */
static int fights, of_int8;
static hone_status disturbed(hn_round *r, hn_program *a, hn_program *b, const hn_tensor *const *in,
                             int n_outputs, double seconds, hn_allocator *alloc, hn_error *err) {
    hone_status status = draw(r, a, b, in, n_outputs, seconds, alloc, err);
    if (strncmp(doing, "int8: ", 6) != 0) return status;
    fights++;
    r->least[0] = r->ms[0] = of_int8++ % 2 == 0 ? 1.4 : 1;
    return status;
}

static void rounds_that_disagree_claim_nothing(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.round = disturbed;
    fights = of_int8 = 0;
    run(&s);
    const hone_optimize_row *int8 = row_of(&s, "int8");
    assert_non_null(int8);
    assert_int_equal(fights, HN_MOST_ROUNDS);
    assert_float_equal(int8->speed, 1, 0);
    assert_float_equal(int8->doubt, 0.4, 1e-9);
    assert_true(says(s.out.criteria[2].evidence, "others used the cores"));
    assert_true(says(s.out.criteria[2].evidence, "differ by up to 40 %"));
    end(&s);
}

/* Whoever comes second seems to be faster, in every round. */
static hone_status second_wins(hn_round *r, hn_program *a, hn_program *b,
                               const hn_tensor *const *in, int n_outputs, double seconds,
                               hn_allocator *alloc, hn_error *err) {
    hone_status status = draw(r, a, b, in, n_outputs, seconds, alloc, err);
    r->least[1] = r->ms[1] = 0.7;
    return status;
}

/* What the same kernels compute as the original is not faster, whatever a clock says. */
static void what_runs_alike_is_as_fast(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.round = second_wins;
    run(&s);
    const hone_optimize_row *alike = row_of(&s, "simplified"), *other = row_of(&s, "int8");
    assert_true(alike->speed == 1 && alike->doubt == 0);
    assert_true(other->speed > 1.4);
    end(&s);
}

/* On a busy machine, and nobody can tell: what is chosen is chosen for its size, and that is said.
 */
static hone_status busy(hn_round *r, hn_program *a, hn_program *b, const hn_tensor *const *in,
                        int n_outputs, double seconds, hn_allocator *alloc, hn_error *err) {
    hone_status status = draw(r, a, b, in, n_outputs, seconds, alloc, err);
    r->calm = false;
    r->least[1] = r->ms[1] = strncmp(doing, fast[0], strlen(fast[0])) == 0 ? 0.25 : 0.93;
    return status;
}

static void a_busy_machine_marks_what_it_claims(void **state) {
    (void)state;
    set_up s;
    begin(&s);
    s.o.round = busy;
    fast[0] = "nothing";
    run(&s);
    assert_true(s.out.chosen > 0);
    assert_true(says(s.out.verdict, " is as fast as the original"));
    for (size_t i = 1; i < s.out.n_rows; i++) assert_true(s.out.rows[i].speed == 1);
    end(&s);
    begin(&s);
    s.o.round = busy;
    fast[0] = "int8: ";
    run(&s);
    assert_string_equal(s.out.rows[s.out.chosen].name, "int8");
    assert_true(
        says(s.out.verdict, "int8 is about 4.0 times as fast (measurements differ by 10 %)"));
    end(&s);
}

/* A runtime whose times are made up: `quick` takes a quarter of a millisecond, all else one. */
typedef struct pretended {
    const char *quick, *refused;
    bool busy; /* the machine */
    int opened, closed, rounds;
    bool quick_is_open;
} pretended;

static hone_status pretend_open(void *ctx, int id, const void *onnx, size_t bytes, size_t n_in,
                                const hone_value *in, hone_error *err) {
    pretended *p = ctx;
    assert_true(bytes > 100 && onnx != NULL && n_in == 1 && in[0].dims[1] == WIDTH);
    assert_int_equal(id == 0, p->opened == 0);
    p->opened++;
    p->quick_is_open = strncmp(doing, p->quick, strlen(p->quick)) == 0;
    if (p->refused != NULL && strncmp(doing, p->refused, strlen(p->refused)) == 0)
        return HN_FAIL(err, HONE_E_UNSUPPORTED, "no kernel for it");
    return HONE_OK;
}

static hone_status pretend_round(void *ctx, int first, int second, double seconds, hone_round *out,
                                 hone_error *err) {
    pretended *p = ctx;
    (void)err;
    assert_true(seconds > 0);
    p->rounds++;
    double ms = second != first && p->quick_is_open ? 0.25 : 1;
    *out = (hone_round){sizeof *out, {1, ms}, {1, ms}, !p->busy};
    return HONE_OK;
}

static void pretend_close(void *ctx, int id) {
    (void)id;
    ((pretended *)ctx)->closed++;
}

static void begin_for(set_up *s, pretended *p, hone_timer *t) {
    begin(s);
    s->o.runtime = hn_search_runtime("onnxruntime");
    *t = (hone_timer){sizeof *t, "Pretended 1.0", p, pretend_open, pretend_round, pretend_close};
    s->o.timer = p != NULL ? t : NULL;
}

/* What hone runs faster does not count: the runtime's own times do. */
static void another_runtime_is_asked_for_its_times(void **state) {
    (void)state;
    set_up s;
    hone_timer t;
    pretended p = {.quick = "int8: "};
    begin_for(&s, &p, &t);
    s.o.round = second_wins;
    run(&s);
    assert_string_equal(s.out.rows[s.out.chosen].name, "int8");
    assert_float_equal(s.out.rows[s.out.chosen].speed, 4, 1e-9);
    assert_true(says(s.out.recipe, "\nfor onnxruntime\n"));
    assert_string_equal(s.out.runtime, "onnxruntime");
    assert_false(s.out.by_rule);
    assert_true(p.opened == p.closed && p.opened > 2 && p.rounds > 2);
    assert_null(row_of(&s, "bf16")); /* what it does not run well is not tried */
    bool told = false;
    for (size_t i = 0; i < s.out.n_left_out; i++)
        told |= says(s.out.left_out[i], "bf16: ONNX Runtime has no bf16 kernels");
    assert_true(told);
    end(&s);
}

static void what_is_not_faster_there_is_not_chosen(void **state) {
    (void)state;
    set_up s;
    hone_timer t;
    pretended p = {.quick = "none"};
    begin_for(&s, &p, &t);
    s.o.round = second_wins;
    run(&s);
    assert_int_equal(s.out.chosen, 0);
    assert_null(s.chosen);
    assert_true(says(s.out.verdict, "nothing that was tried is faster and still"));
    assert_false(says(s.out.verdict, "quiet machine"));
    end(&s);
    p = (pretended){.quick = "none", .busy = true};
    begin_for(&s, &p, &t);
    run(&s);
    assert_true(s.out.chosen == 0 && says(s.out.verdict, "try again on a quiet machine"));
    end(&s);
    p = (pretended){.quick = "int8: ", .refused = "int8: "};
    begin_for(&s, &p, &t);
    run(&s);
    assert_string_equal(row_of(&s, "int8")->state, "failed");
    assert_true(says(row_of(&s, "int8")->why, "no kernel for it"));
    assert_int_equal(p.opened, p.closed);
    end(&s);
}

/* A runtime that is not there: rules choose, and no speed is claimed. */
static void rules_serve_where_nothing_is_measured(void **state) {
    (void)state;
    set_up s;
    hone_timer t;
    begin_for(&s, NULL, &t);
    run(&s);
    assert_true(s.out.by_rule && s.out.chosen > 0);
    for (size_t i = 0; i < s.out.n_rows; i++)
        assert_true(isnan(s.out.rows[i].ms) && isnan(s.out.rows[i].speed));
    assert_true(says(s.out.verdict, "by rule, not measured"));
    assert_true(says(s.out.rows[s.out.chosen].name, "int8"));
    for (size_t i = 0; i < s.out.n_criteria; i++)
        assert_null(strstr(s.out.criteria[i].evidence, "nan"));
    assert_string_equal(s.out.criteria[2].answer, "no"); /* each step measured? */
    end(&s);
}

static void a_quantized_model_is_refused(void **state) {
    (void)state;
    set_up s;
    hn_error err;
    begin(&s);
    hn_model *q =
        graph_model(21,
                    "g (float[n,2] x) => (float[n,2] y) <float s = {0.5}, uint8 z = {3}> {"
                    " c = QuantizeLinear (x, s, z) y = DequantizeLinear (c, s, z) }");
    assert_int_equal(hn_search(&s.out, &s.chosen, q, &s.o, &s.arena, &scratch_mem, &err),
                     HONE_E_ARG);
    assert_true(says(err.text, "quantized already"));
    hn_model_destroy(q);
    end(&s);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(everything_is_tried_and_told),
        TEST(a_limit_that_is_met_ends_it),
        TEST(nothing_is_done_for_what_is_met),
        TEST(what_cannot_be_met_is_said),
        TEST(stopped_at_any_time_it_keeps_what_it_has),
        TEST(a_time_that_is_spent_ends_it),
        TEST(the_choice_is_verified_after_an_interruption),
        TEST(which_candidate_it_is_and_what_is_left),
        TEST(what_is_trained_can_be_chosen),
        TEST(no_time_to_train),
        TEST(an_ended_search_goes_on),
        TEST(what_others_taught_is_trained_again),
        TEST(without_real_samples_only_what_is_exact),
        TEST(unchecked_models_when_allowed),
        TEST(the_gate_decides),
        TEST(what_breaks_the_gate_is_mixed),
        TEST(what_int8_bears_gets_fewer_bits),
        TEST(seven_bits_are_tried_where_they_may_gain),
        TEST(layers_beside_4_bits_keep_7),
        TEST(seven_bits_follow_eight),
        TEST(what_seems_slower_is_timed_again),
        TEST(slow_layers_stay_in_f32),
        TEST(a_detector_that_finds_nothing_is_refused),
        TEST(one_broken_output_of_twelve_is_refused),
        TEST(a_broken_gate_is_a_verdict),
        TEST(rounds_that_disagree_claim_nothing),
        TEST(what_runs_alike_is_as_fast),
        TEST(a_busy_machine_marks_what_it_claims),
        TEST(another_runtime_is_asked_for_its_times),
        TEST(what_is_not_faster_there_is_not_chosen),
        TEST(rules_serve_where_nothing_is_measured),
        TEST(a_quantized_model_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
