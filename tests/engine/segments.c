/* Graphs that are cut where only running tells the sizes, and subgraphs: results are those of the
 * references, and what is heavy runs in kernels on either side. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "support/engine_model.h"
#include "support/text_model.h"

static hn_error err;

/* Runs the model; these steps must be there in this order, and what is heavy never as the
 * reference. */
static engine_facts has_steps(const char *text, const char *const *labels) {
    engine_facts f = engine_ran_in_parts(text);
    const char *at = f.labels;
    for (int i = 0; labels[i] != NULL; i++) {
        at = strstr(at, labels[i]);
        if (at == NULL) fail_msg("steps are '%s', expected '%s' there", f.steps, labels[i]);
        at += strlen(labels[i]);
    }
    assert_null(strstr(f.steps, "reference MatMul"));
    assert_null(strstr(f.steps, "reference Conv"));
    return f;
}

static int times(const engine_facts *f, const char *label) {
    int n = 0;
    for (const char *at = f->labels; (at = strstr(at, label)) != NULL; at++) n++;
    return n;
}

/* Convolutions, the places of what is not zero, and a product for each of them. */
static const char places[] =
    "m (float[1,4,12,12] x, float[8,4,3,3] w, float[8,16] w1) => (float[n,16] y, z) {"
    "  a = Conv <pads: ints = [1, 1, 1, 1]> (x, w)"
    "  b = Relu (a)"
    "  at = NonZero (b)"
    "  rows = Transpose <perm: ints = [1, 0]> (at)"
    "  some = GatherND (b, rows)"
    "  z = Sigmoid (some)"
    "  column = Constant <value_ints: ints = [1]> ()"
    "  c = Unsqueeze (some, column)"
    "  eight = Constant <value_ints: ints = [1, 8]> ()"
    "  d = Tile (c, eight)"
    "  e = MatMul (d, w1)"
    "  y = Relu (e)"
    "}";

static void non_zero_in_the_middle(void **state) {
    (void)state;
    engine_facts f = has_steps(places, TEXTS("Conv+Relu", "NonZero", "MatMul+Relu"));
    assert_true(f.bound < SIZE_MAX && f.bound > 8 * 144 * 16 * sizeof(float));
}

static void detections_at_the_end(void **state) {
    (void)state;
    engine_facts f = has_steps(
        "m (float[1,40,8] x, float[8,4] w, float[8,1] w1) => (float[n,4] y, int64[n,3] s)"
        " <int64[1] most = {20}, float[1] overlap = {0.5}, float[1] score = {0.2},"
        "  int64[1] two = {2}, int64[2] flat = {-1, 4}> {"
        "  boxes = MatMul (x, w)"
        "  b = MatMul (x, w1)"
        "  c = Sigmoid (b)"
        "  scores = Transpose <perm: ints = [0, 2, 1]> (c)"
        "  s = NonMaxSuppression (boxes, scores, most, overlap, score)"
        "  which = Gather <axis: int = 1> (s, two)"
        "  found = Gather <axis: int = 1> (boxes, which)"
        "  y = Reshape (found, flat)"
        "}",
        TEXTS("MatMul", "NonMaxSuppression", "Gather"));
    assert_true(f.bound < SIZE_MAX);
}

static void a_reshape_to_computed_sizes(void **state) {
    (void)state;
    has_steps(
        "m (float[24,8] x, float[8,8] w, float[6,6] w1) => (y) <int64[1] four = {4}, float[1] low"
        " = {-100}, int64[1] six = {6}> {"
        "  a = MatMul (x, w)"
        "  most = ReduceMax <keepdims: int = 1> (a)"
        "  one = Greater (most, low)"
        "  flat = Constant <value_ints: ints = [1]> ()"
        "  flag = Reshape (one, flat)"
        "  n = Cast <to: int = 7> (flag)"
        "  k = Mul (n, four)"
        "  rest = Constant <value_ints: ints = [-1]> ()"
        "  sizes = Concat <axis: int = 0> (k, rest, six)"
        "  b = Reshape (a, sizes)"
        "  y = MatMul (b, w1)"
        "}",
        TEXTS("MatMul", "Reshape", "MatMul"));
}

/* ---- control flow ---- */

#define BRANCHES(low)                                                                 \
    "m (float[4,8] x, float[8,8] w, float[8,6] w1) => (y) <float[1] low = {" low      \
    "}> {"                                                                            \
    "  a = MatMul (x, w)"                                                             \
    "  most = ReduceMax <keepdims: int = 0> (a)"                                      \
    "  c = Greater (most, low)"                                                       \
    "  b = If (c) <then_branch = yes () => (p) { q = MatMul (a, w1)  p = Relu (q) }," \
    "              else_branch = no () => (r) { r = Softmax (a) }>"                   \
    "  y = Tanh (b)"                                                                  \
    "}"

static void both_branches(void **state) {
    (void)state;
    has_steps(BRANCHES("-100"), TEXTS("MatMul", "MatMul+Relu", "If"));
    has_steps(BRANCHES("100"), TEXTS("MatMul", "Softmax", "If"));
}

/* The body takes a weight from outside, and hands on a value as it came. */
static const char loop[] =
    "m (float[4,8] x, float[8,8] w, float[4,8] w1) => (y, s) <int64 times = {5}, bool go = {1}> {"
    "  a = Relu (x)"
    "  b, same, s = Loop (times, go, a, x) <body = again (int64 i, bool c, float[4,8] p,"
    "                                              float[4,8] k) => (c, r, k, t) {"
    "    q = MatMul (p, w)"
    "    r = Add (q, w1)"
    "    t = ReduceSum <keepdims: int = 0> (r)"
    "  }>"
    "  d = Add (b, same)"
    "  y = Tanh (d)"
    "}";

static void a_loop_with_a_product(void **state) {
    (void)state;
    engine_facts f = has_steps(loop, TEXTS("MatMul+Add", "MatMul+Add", "MatMul+Add", "Loop"));
    assert_int_equal(times(&f, "MatMul"), 5);
}

/* Sizes that change in every round: more than plans are kept. */
static void a_loop_that_grows(void **state) {
    (void)state;
    engine_facts f = has_steps(
        "m (float[1,8] x, float[8,8] w) => (y) <int64 times = {10}, bool go = {1}> {"
        "  y = Loop (times, go, x) <body = more (int64 i, bool c, p) => (c, r) {"
        "    q = MatMul (p, w)"
        "    r = Concat <axis: int = 0> (q, x)"
        "  }>"
        "}",
        TEXTS("MatMul", "Loop"));
    assert_int_equal(times(&f, "MatMul"), 10);
    assert_true(f.bound == SIZE_MAX);
}

static void count_plan(void *n, hone_log_level level, const char *line) {
    (void)level;
    *(int *)n += strncmp(line, "plan:", 5) == 0;
}

/* Plans made for one run of the model by two engines (on one thread and on two). */
static int plans_of(const char *text, const char *const *labels) {
    int n = 0;
    hone_log_set(count_plan, &n, HONE_LOG_INFO);
    has_steps(text, labels);
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
    return n;
}

/* What never sees the list that grows needs no plan for each of its lengths. */
#define LIST(times)                                                                         \
    "m (float[4,8] x, float[8,8] w, float[0,8] none) => (y, z) <int64 times = {" times      \
    "}, bool go = {1}> {"                                                                   \
    "  y, z = Loop (times, go, x, none) <body = more (int64 i, bool c, p, list) => (c, r, " \
    "longer) {"                                                                             \
    "    q = MatMul (p, w)"                                                                 \
    "    r = Tanh (q)"                                                                      \
    "    longer = Concat <axis: int = 0> (list, r)"                                         \
    "  }>"                                                                                  \
    "}"

static void a_loop_that_grows_a_list(void **state) {
    (void)state;
    const char *const *steps = TEXTS("MatMul+Tanh", "MatMul+Tanh", "Loop");
    assert_int_equal(plans_of(LIST("30"), steps), plans_of(LIST("60"), steps));
}

static void a_scan(void **state) {
    (void)state;
    engine_facts f = has_steps(
        "m (float[1,8] x, float[6,1,8] xs, float[8,8] w) => (y, ys) {"
        "  y, ys = Scan (x, xs) <num_scan_inputs: int = 1, body = each (h, v) => (g, g1) {"
        "    a = MatMul (h, w)"
        "    b = Add (a, v)"
        "    g = Tanh (b)"
        "    g1 = Identity (g)"
        "  }>"
        "}",
        TEXTS("MatMul", "Scan"));
    assert_int_equal(times(&f, "MatMul"), 6);
}

static const char nested[] =
    "m (float[4,8] x, float[8,8] w) => (y) <int64 times = {4}, int64 two = {2}, bool go = {1}> {"
    "  y = Loop (times, go, x) <body = again (int64 i, bool c, p) => (c, r) {"
    "    early = Less (i, two)"
    "    r = If (early) <then_branch = yes () => (s) { t = MatMul (p, w)  s = Relu (t) },"
    "                    else_branch = no () => (u) {"
    "      v = NonZero (p)"
    "      n = Shape (v)"
    "      z = Cast <to: int = 1> (n)"
    "      k = ReduceMax <keepdims: int = 0> (z)"
    "      e = Div (p, k)"
    "      u = MatMul (e, w) }>"
    "  }>"
    "}";

static void loops_of_branches(void **state) {
    (void)state;
    engine_facts f = has_steps(nested, TEXTS("MatMul+Relu", "NonZero", "MatMul", "Loop"));
    assert_int_equal(times(&f, "MatMul"), 4);
}

/* Whoever is cut off or runs in a kernel's place: random numbers come in the same order. */
static void random_numbers_keep_their_order(void **state) {
    (void)state;
    engine_ran_in_parts(
        "m (float[4,8] x, float[8,8] w) => (a, b, c, d, y) <bool go = {1}> {"
        "  a = RandomNormal <shape: ints = [3]> ()"
        "  z = NonZero (x)"
        "  f = Cast <to: int = 1> (z)"
        "  b = RandomNormalLike (f)"
        "  c = RandomNormal <shape: ints = [5]> ()"
        "  d = If (go) <then_branch = yes () => (p) { q = RandomNormal <shape: ints = [4,8]> ()"
        "                                            p = MatMul (q, w) },"
        "               else_branch = no () => (r) { r = Identity (x) }>"
        "  y = RandomNormal <shape: ints = [2]> ()"
        "}");
}

/* More cuts than engines may be inside each other. */
static void many_cuts(void **state) {
    (void)state;
    enum { CUTS = 80 };
    static char text[CUTS * 200 + 200];
    char *at = text;
    at += sprintf(at,
                  "m (float[2,4] x, float[4,1] w, float[2,2] w1) => (y) {"
                  " k = Constant <value_ints: ints = [1]> () v0 = MatMul (x, w) ");
    for (int i = 0; i < CUTS; i++)
        at += sprintf(at,
                      "z%d = NonZero (v%d) c%d = Cast <to: int = 1> (z%d) "
                      "r%d = ReduceMean (c%d, k) s%d = Sigmoid (r%d) v%d = MatMul (w1, s%d) ",
                      i, i, i, i, i, i, i, i, i + 1, i);
    sprintf(at, "y = Tanh (v%d) }", CUTS);
    engine_ran_in_parts(text);
}

/* ---- failures ---- */

static void failures_are_the_references(void **state) {
    (void)state;
    engine_refuses(
        "m (float[4,8] x, float[8,8] w, int64[2] i) => (y) {"
        "  z = NonZero (x)"
        "  f = Cast <to: int = 1> (z)"
        "  g = Gather <axis: int = 0> (f, i)"
        "  t = Transpose (g)"
        "  k = Constant <value = float[2,3] {1, 2, 3, 4, 5, 6}> ()"
        "  y = MatMul (t, k)"
        "}",
        (int64_t[]){0, 2}, (int64_t[]){1, 0}, "Gather");
    engine_refuses(
        "m (float[4,8] x, float[8,8] w, int64[2] i) => (y) <int64 times = {3}, bool go = {1}> {"
        "  y = Loop (times, go, x) <body = again (int64 k, bool c, p) => (c, r) {"
        "    q = MatMul (p, w)"
        "    g = Gather <axis: int = 0> (q, i)"
        "    r = Concat <axis: int = 0> (g, g)"
        "  }>"
        "}",
        (int64_t[]){0, 4}, (int64_t[]){3, 0}, "Gather");
}

/* The branch that is not taken does not fit the sizes; the references do not mind. */
static void what_does_not_run_may_be_wrong(void **state) {
    (void)state;
    engine_ran_in_parts(
        "m (float[4,8] x, float[7,2] w) => (y) <float low = {-100}> {"
        "  z = NonZero (x)"
        "  f = Cast <to: int = 1> (z)"
        "  t = Transpose (f)"
        "  k = Constant <value = float[2,2] {1, 2, 3, 4}> ()"
        "  a = MatMul (t, k)"
        "  most = ReduceMax <keepdims: int = 0> (a)"
        "  c = Greater (most, low)"
        "  y = If (c) <then_branch = yes () => (p) { p = Relu (a) },"
        "              else_branch = no () => (r) { r = Add (a, w) }>"
        "}");
    /* Passes leave such nodes alone. */
    static const char *const wrong[] = {"Add (x)",    "MatMul (x)", "Mul (x)",   "Identity ()",
                                        "Reshape ()", "Gemm (x)",   "Concat ()", "Transpose ()"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "m (float[4,8] x) => (y) <float low = {-100}> {"
                 "  most = ReduceMax <keepdims: int = 0> (x)"
                 "  c = Greater (most, low)"
                 "  y = If (c) <then_branch = yes () => (p) { p = Relu (x) },"
                 "              else_branch = no () => (r) { q = %s  r = Relu (q) }>"
                 "}",
                 wrong[i]);
        engine_ran_in_parts(text);
    }
}

static void out_of_memory_at_any_point(void **state) {
    (void)state;
    engine_survives(places);
    engine_survives(loop);
    engine_survives(LIST("6"));
    engine_survives(nested);
}

/* ---- one engine, many runs ---- */

/* Counts what is above zero: y [count, 3]. */
static const char count[] =
    "m (float[n] x) => (y) {"
    "  p = Relu (x)"
    "  z = NonZero (p)"
    "  f = Cast <to: int = 1> (z)"
    "  t = Transpose (f)"
    "  k = Constant <value = float[1,3] {1, 2, 3}> ()"
    "  y = MatMul (t, k)"
    "}";

enum { MOST = 64 };
typedef struct result {
    int64_t rows;
    float y[MOST][3];
} result;

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    result *r = ctx;
    (void)i, (void)e;
    assert_true(dtype == HONE_DTYPE_F32 && rank == 2 && dims[0] <= MOST && dims[1] == 3);
    r->rows = dims[0];
    *to = r->y;
    return HONE_OK;
}

/* x of n elements, of which every `step`-th is above zero. */
static hone_status count_up(hn_engine *e, int64_t n, int64_t step, hn_error *error) {
    float x[MOST];
    hn_tensor t;
    result r = {0};
    for (int64_t i = 0; i < n; i++) x[i] = i % step == 0 ? 1 : -1;
    assert_int_equal(hn_tensor_borrow(&t, HONE_DTYPE_F32, 1, &n, x, error), HONE_OK);
    const hn_tensor *in[] = {&t};
    hone_status status = hn_engine_run(e, in, place, &r, NULL, NULL, error);
    if (status != HONE_OK) return status;
    assert_int_equal(r.rows, (n + step - 1) / step);
    for (int64_t i = 0; i < r.rows; i++)
        for (int k = 0; k < 3; k++) assert_true(r.y[i][k] == (float)(i * step * (k + 1)));
    return HONE_OK;
}

static hn_engine *engine_of(const char *text, const hn_engine_options *o) {
    hn_engine *e;
    hn_engine_options mine = *o;
    mine.alloc = &model_mem;
    mine.isa = hn_isa_available();
    assert_int_equal(hn_engine_create(&e, model_inferred(text), &mine, &err), HONE_OK);
    return e;
}

static void sizes_change_from_run_to_run(void **state) {
    (void)state;
    hn_engine *e = engine_of(count, &(hn_engine_options){0});
    for (int64_t n = 1; n <= 24; n++)
        for (int64_t step = 1; step <= n; step += 3)
            assert_int_equal(count_up(e, n, step, &err), HONE_OK);
    hn_engine_destroy(e);
}

static void *count_often(void *ctx) {
    hn_error error;
    for (int64_t i = 0; i < 60; i++)
        if (count_up(ctx, 20 + i % 11, 1 + i % 7, &error) != HONE_OK) return ctx;
    return NULL;
}

static void runs_go_on_at_once(void **state) {
    (void)state;
    pthread_t threads[4];
    hn_engine *e = engine_of(count, &(hn_engine_options){0});
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_often, e), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    hn_engine_destroy(e);
}

static hone_status place_there(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                               void **to, hn_error *e) {
    (void)i, (void)dtype, (void)rank, (void)dims, (void)e;
    *to = ctx;
    return HONE_OK;
}

/* Relu or its opposite of n elements, in the branches of an If that makes the output: how many
 * plans are made. The second run takes no memory for the result. */
static int run_branch(const char *text, int64_t n) {
    static float x[100000], y[100000];
    bool yes = true;
    hn_tensor t[2];
    int plans = 0;
    hn_engine *e = engine_of(text, &(hn_engine_options){0});
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i - 30);
    assert_int_equal(hn_tensor_borrow(&t[0], HONE_DTYPE_F32, 1, &n, x, &err), HONE_OK);
    assert_int_equal(hn_tensor_borrow(&t[1], HONE_DTYPE_BOOL, 0, NULL, &yes, &err), HONE_OK);
    const hn_tensor *in[] = {&t[0], &t[1]};
    hone_log_set(count_plan, &plans, HONE_LOG_INFO);
    for (int k = 0; k < 2; k++) {
        size_t live = atomic_load(&model_mem.live);
        atomic_store(&model_mem.peak, live);
        yes = k == 1;
        assert_int_equal(hn_engine_run(e, in, place_there, y, NULL, NULL, &err), HONE_OK);
        for (int64_t i = 0; i < n; i++) assert_true(y[i] == (yes ? fmaxf(x[i], 0) : -x[i]));
        assert_true(atomic_load(&model_mem.peak) - live < 100000);
    }
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
    hn_engine_destroy(e);
    return plans;
}

#define BRANCH(size)                                              \
    "m (float[" size                                              \
    "] x, bool c) => (y) {"                                       \
    "  y = If (c) <then_branch = yes () => (p) { p = Relu (x) }," \
    "              else_branch = no () => (r) { r = Neg (x) }>"   \
    "}"

/* Small branches have plans too: once the inputs of the graph have sizes, theirs cannot change. */
static void branches_write_to_the_output(void **state) {
    (void)state;
    assert_int_equal(run_branch(BRANCH("100000"), 100000), 2);
    assert_int_equal(run_branch(BRANCH("60"), 60), 2);
    assert_int_equal(run_branch(BRANCH("n"), 60), 2);
}

static bool count_down(void *ctx) { return --*(int *)ctx >= 0; }

/* Stopped anywhere, it says so and runs again. */
static void runs_can_be_stopped(void **state) {
    (void)state;
    int left = 0, stopped = 0;
    hn_engine *e =
        engine_of(count, &(hn_engine_options){.keep_going = count_down, .keep_going_ctx = &left});
    for (int allowed = 0;; allowed++) {
        left = allowed;
        hone_status status = count_up(e, 30, 2, &err);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_E_LIMIT);
        stopped++;
    }
    assert_true(stopped >= 3); /* before the head, the mid and the tail */
    hn_engine_destroy(e);
}

int main(void) {
#define IN_MODEL(f) cmocka_unit_test_setup_teardown(f, model_setup, model_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(non_zero_in_the_middle),
        cmocka_unit_test(detections_at_the_end),
        cmocka_unit_test(a_reshape_to_computed_sizes),
        cmocka_unit_test(both_branches),
        cmocka_unit_test(a_loop_with_a_product),
        cmocka_unit_test(a_loop_that_grows),
        cmocka_unit_test(a_loop_that_grows_a_list),
        cmocka_unit_test(a_scan),
        cmocka_unit_test(loops_of_branches),
        cmocka_unit_test(random_numbers_keep_their_order),
        cmocka_unit_test(many_cuts),
        cmocka_unit_test(failures_are_the_references),
        cmocka_unit_test(what_does_not_run_may_be_wrong),
        cmocka_unit_test(out_of_memory_at_any_point),
        IN_MODEL(sizes_change_from_run_to_run),
        IN_MODEL(runs_go_on_at_once),
        IN_MODEL(runs_can_be_stopped),
        IN_MODEL(branches_write_to_the_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
