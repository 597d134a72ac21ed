/* The engine as a whole: plans by shape, contexts, and what is left after a failure. */
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine_model.h"
#include "support/text_model.h"

static hn_error err;

static const char *const text =
    "m (float[n,4] x) => (float[n,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {\n"
    "  a = MatMul(x, w)\n"
    "  y = Relu(a)\n"
    "}";

static hn_engine *engine_of(hn_model *m) {
    hn_engine *e;
    hn_engine_options o = {
        .alloc = &model_mem, .plan_bytes = 1, .isa = hn_isa_available(), .seed = 1};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    return e;
}

/* Outputs go to memory of the test's own, so that only the engine allocates. */
static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    (void)i, (void)e;
    assert_int_equal(dtype, HONE_DTYPE_F32);
    assert_true(rank == 2 && dims[1] == 2);
    *to = ctx;
    return HONE_OK;
}

/* Row r of x is {r, 1, -1, 0}, so row r of y is relu({r - 2, 2r - 2}). */
static hone_status run(hn_engine *e, int rows) {
    enum { MOST = 64 };
    static float x[MOST][4], y[MOST][2];
    hn_tensor *t;
    int64_t dims[2] = {rows, 4};
    for (int r = 0; r < rows; r++) {
        x[r][0] = (float)r;
        x[r][1] = 1;
        x[r][2] = -1;
        y[r][0] = y[r][1] = -1;
    }
    /* Not the allocator under test. */
    assert_int_equal(
        hn_tensor_create_borrowed(&t, hn_allocator_default(), HONE_DTYPE_F32, 2, dims, x, &err),
        HONE_OK);
    const hn_tensor *in[] = {t};
    hone_status status = hn_engine_run(e, in, place, y, NULL, NULL, &err);
    hn_tensor_unref(t);
    for (int r = 0; r < rows && status == HONE_OK; r++) {
        assert_true(y[r][0] == (float)(r > 2 ? r - 2 : 0));
        assert_true(y[r][1] == (float)(r > 1 ? 2 * r - 2 : 0));
    }
    return status;
}

static void every_shape_has_its_plan(void **state) {
    (void)state;
    hn_engine *e = engine_of(model_inferred(text));
    /* More shapes than plans are kept, and back again. */
    for (int round = 0; round < 2; round++)
        for (int rows = 1; rows <= 2 * HN_ENGINE_PLANS; rows++)
            assert_int_equal(run(e, rows), HONE_OK);
    assert_true(hn_engine_memory_use(e).weights > 0);
    hn_engine_destroy(e);
}

typedef struct plan_count {
    int made, simplified; /* plans, and times that the passes ran */
} plan_count;

static void count_plan(void *ctx, hone_log_level level, const char *line) {
    plan_count *n = ctx;
    (void)level;
    n->made += strncmp(line, "plan: ", 6) == 0;
    n->simplified += strncmp(line, "simplified ", 11) == 0;
}

/* As many plans are kept as their bytes allow, and not fewer than HN_ENGINE_PLANS. */
static void bytes_bound_the_plans(void **state) {
    (void)state;
    enum { SHAPES = 3 * HN_ENGINE_PLANS };
    hn_model *m = model_inferred(text);
    for (int few = 0; few < 2; few++) {
        hn_engine *e;
        plan_count n = {0};
        hn_engine_options o = {
            .alloc = &model_mem, .plan_bytes = (size_t)few, .isa = hn_isa_available(), .seed = 1};
        assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
        hone_log_set(count_plan, &n, HONE_LOG_INFO);
        for (int rows = 1; rows <= SHAPES; rows++) assert_int_equal(run(e, rows), HONE_OK);
        for (int rows = SHAPES; rows >= 1; rows--) assert_int_equal(run(e, rows), HONE_OK);
        hone_log_set(NULL, NULL, HONE_LOG_WARN);
        assert_int_equal(n.made, few ? 2 * SHAPES - HN_ENGINE_PLANS : SHAPES);
        hn_engine_destroy(e);
    }
}

/* y = (x * w) * n, n the rows of x: once they are a number the passes multiply w by it, so that
 * each shape has weights of its own. They go with its plan. */
static void weights_go_with_their_plan(void **state) {
    (void)state;
    static const char *const sized =
        "m (float[n,4] x) => (float[n,2] y)\n"
        "<float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, int64 first = {0}> {\n"
        "  shape = Shape(x)\n"
        "  rows = Gather(shape, first)\n"
        "  factor = Cast<to: int = 1>(rows)\n"
        "  a = MatMul(x, w)\n"
        "  y = Mul(a, factor)\n"
        "}";
    enum { MOST = 6 * HN_ENGINE_PLANS };
    static float x[MOST][4], y[MOST][2];
    hn_engine *e = engine_of(model_inferred(sized));
    size_t most[2] = {0}; /* with up to 2 * HN_ENGINE_PLANS shapes, and with more */
    for (int rows = 1; rows <= MOST; rows++) {
        hn_tensor *t;
        x[rows - 1][0] = 1;
        assert_int_equal(hn_tensor_create_borrowed(&t, hn_allocator_default(), HONE_DTYPE_F32, 2,
                                                   (int64_t[]){rows, 4}, x, &err),
                         HONE_OK);
        const hn_tensor *in[] = {t};
        assert_int_equal(hn_engine_run(e, in, place, y, NULL, NULL, &err), HONE_OK);
        hn_tensor_unref(t);
        assert_true(y[0][0] == (float)rows && y[rows - 1][1] == (float)(2 * rows));
        size_t now = hn_engine_memory_use(e).weights, *m = &most[rows > 2 * HN_ENGINE_PLANS];
        *m = now > *m ? now : *m;
    }
    /* Kernels of other numbers of rows may want more of them; all shapes' would be three times. */
    assert_true(most[0] > 0 && most[1] < 2 * most[0]);
    hn_engine_destroy(e);
}

static void weights_are_packed_once(void **state) {
    (void)state;
    hn_engine *e = engine_of(model_inferred(text));
    assert_int_equal(run(e, 3), HONE_OK);
    size_t once = hn_engine_memory_use(e).weights;
    assert_int_equal(run(e, 3), HONE_OK);
    assert_int_equal(run(e, 4), HONE_OK);
    assert_int_equal(hn_engine_memory_use(e).weights, once);
    hn_engine_destroy(e);
}

/* A run that ran out of memory leaves the engine as good as before, whatever it was doing. */
static void failures_leave_the_engine_usable(void **state) {
    (void)state;
    hn_engine *e = engine_of(model_inferred(text));
    int failures = 0;
    for (int i = 0;; i++) {
        atomic_store(&model_mem.fail_after, i);
        hone_status status = run(e, 5);
        atomic_store(&model_mem.fail_after, -1);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_E_NOMEM);
        failures++;
    }
    assert_true(failures > 10);
    assert_int_equal(run(e, 5), HONE_OK);
    assert_int_equal(run(e, 6), HONE_OK);
    hn_engine_destroy(e);
}

/* Where there is AMX, each precision has a kernel of its own for large products; where there is BFMMLA,
 * bf16 has; else all are computed as f32. */
static void precision_is_as_asked_for(void **state) {
    (void)state;
    static const char *const products[] = {
        "m (float[1,64,16,16] x, float[96,64,3,3] w) => (float[1,96,14,14] y) { y = Conv(x, w) }",
        "m (float[2,200,128] x, float[2,128,160] z) => (float[2,200,160] y) { y = MatMul(x, z) }"};
    bool amx = strcmp(hn_isa_name(hn_isa_available()), "amx") == 0;
    bool bfmmla = strcmp(hn_isa_name(hn_isa_available()), "neoni8mm") == 0;
    for (int i = 0; i < 2; i++) {
        static const char *const names[HN_PRECISION_COUNT_] = {"amx6", "amx3", "amx1"};
        engine_facts f32 = engine_ran(products[i]);
        for (int p = 0; p < HN_PRECISION_COUNT_; p++) {
            engine_facts f = engine_ran_so(products[i], (engine_way){.precision = (hn_precision)p});
            if (bfmmla && p == HN_PRECISION_BF16)
                assert_non_null(strstr(f.kernels, "neoni8mm_bf16"));
            else if (!amx)
                assert_string_equal(f.kernels, f32.kernels);
            else
                for (int q = 0; q < HN_PRECISION_COUNT_; q++)
                    if ((strstr(f.kernels, names[q]) != NULL) != (p == q))
                        fail_msg("%s", f.kernels);
        }
    }
}

/* y = 3 * (x * w), w [4, 600] of ones: the passes multiply w by 3, which makes a constant of the
 * engine's own. */
static hn_model *scaled_model(void) {
    static char scaled[2 * 4 * 600 + 200];
    char *at = scaled + sprintf(scaled, "m (float[n,4] x) => (float[n,600] y) <float[4,600] w = {");
    for (int i = 0; i < 4 * 600; i++) at += sprintf(at, i > 0 ? ",1" : "1");
    sprintf(at, "}, float s = {3}> {\n  a = MatMul(x, w)\n  y = Mul(a, s)\n}");
    return model_inferred(scaled);
}

static hone_status place_wide(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                              void **to, hn_error *e) {
    (void)i, (void)e;
    assert_true(dtype == HONE_DTYPE_F32 && rank == 2 && dims[1] == 600);
    *to = ctx;
    return HONE_OK;
}

static hone_status run_scaled(hn_engine *e, int rows) {
    static float x[8][4], y[8][600];
    hn_tensor *t;
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < 4; k++) x[r][k] = (float)(r + k);
    memset(y, 0, sizeof y);
    assert_int_equal(hn_tensor_create_borrowed(&t, hn_allocator_default(), HONE_DTYPE_F32, 2,
                                               (int64_t[]){rows, 4}, x, &err),
                     HONE_OK);
    const hn_tensor *in[] = {t};
    hone_status status = hn_engine_run(e, in, place_wide, y, NULL, NULL, &err);
    hn_tensor_unref(t);
    for (int r = 0; r < rows && status == HONE_OK; r++)
        for (int i = 0; i < 600; i++) assert_true(y[r][i] == 3 * (float)(4 * r + 6));
    return status;
}

/* What the passes made is there in its packed form alone, and other shapes still find it. */
static void plain_weights_are_dropped(void **state) {
    (void)state;
    hn_model *m = scaled_model();
    size_t before = model_mem.live_tag[HN_MEM_WEIGHTS];
    hn_engine *e = engine_of(m);
    assert_true(model_mem.live_tag[HN_MEM_WEIGHTS] > before + 4 * 600 * sizeof(float));
    for (int rows = 1; rows <= 8; rows++) {
        assert_int_equal(run_scaled(e, rows), HONE_OK);
        size_t packed = hn_engine_memory_use(e).weights;
        assert_true(packed >= 4 * 600 * sizeof(float));
        assert_in_range(model_mem.live_tag[HN_MEM_WEIGHTS], before + packed,
                        before + packed + 2000);
    }
    hn_engine_destroy(e);
}

/* Those of a small model stay once a second shape has come: for each further one the passes run
 * once, on its graph, and not on the source again. */
static void plain_weights_stay_for_further_shapes(void **state) {
    (void)state;
    hn_model *m = scaled_model();
    for (int few = 0; few < 2; few++) {
        hn_engine *e;
        plan_count n = {0};
        hn_engine_options o = {
            .alloc = &model_mem, .plan_bytes = (size_t)few, .isa = hn_isa_available(), .seed = 1};
        assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
        for (int rows = 1; rows <= 2; rows++) assert_int_equal(run_scaled(e, rows), HONE_OK);
        hone_log_set(count_plan, &n, HONE_LOG_INFO);
        for (int rows = 3; rows <= 6; rows++) assert_int_equal(run_scaled(e, rows), HONE_OK);
        hone_log_set(NULL, NULL, HONE_LOG_WARN);
        assert_int_equal(n.made, 4);
        assert_int_equal(n.simplified, few ? 8 : 4);
        hn_engine_destroy(e);
    }
}

/* The same when making the contents again fails at any point. */
static void dropped_weights_survive_failures(void **state) {
    (void)state;
    hn_engine *e = engine_of(scaled_model());
    assert_int_equal(run_scaled(e, 1), HONE_OK);
    hone_status status = HONE_E_NOMEM;
    for (int i = 0; status != HONE_OK; i++) {
        atomic_store(&model_mem.fail_after, i);
        status = run_scaled(e, 2);
        atomic_store(&model_mem.fail_after, -1);
        assert_true(status == HONE_OK ? i > 10 : status == HONE_E_NOMEM);
    }
    assert_int_equal(run_scaled(e, 3), HONE_OK);
    hn_engine_destroy(e);
}

static hone_status place_square(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                                void **to, hn_error *e) {
    (void)i, (void)e;
    assert_true(dtype == HONE_DTYPE_F32 && rank == 2 && dims[1] == 256);
    *to = ctx;
    return HONE_OK;
}

/* Shapes that come one after the other take the memory of the largest, and it is as planned. */
static void plans_share_memory(void **state) {
    (void)state;
    static float x[8][256], y[8][256];
    hn_allocator mem;
    hn_engine *e;
    hn_allocator_init(&mem);
    hn_engine_options o = {.alloc = &mem, .isa = hn_isa_available(), .seed = 1};
    hn_model *m = model_inferred(
        "m (float[n,256] x) => (float[n,256] y) { a = Softmax (x)  y = Softmax (a) }");
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    const int rows[] = {2, 8, 1, 3, 8, 5, 2};
    size_t largest = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hn_tensor t;
        const hn_tensor *in[] = {&t};
        assert_int_equal(
            hn_tensor_borrow(&t, HONE_DTYPE_F32, 2, (int64_t[]){rows[i], 256}, x, &err), HONE_OK);
        assert_int_equal(hn_engine_run(e, in, place_square, y, NULL, NULL, &err), HONE_OK);
        assert_true(y[rows[i] - 1][255] > 0.0038f && y[rows[i] - 1][255] < 0.004f);
        hn_engine_memory use = hn_engine_memory_use(e);
        assert_true(use.slab >= (size_t)rows[i] * sizeof *x);
        if (use.slab > largest) largest = use.slab;
        assert_int_equal(mem.live_tag[HN_MEM_TENSOR], largest);
        if (rows[i] == 8 && i < 2) assert_int_equal(mem.peak, use.peak);
    }
    hn_engine_destroy(e);
    assert_int_equal(mem.blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_shape_has_its_plan, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(bytes_bound_the_plans, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(weights_are_packed_once, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(weights_go_with_their_plan, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(failures_leave_the_engine_usable, model_setup,
                                        model_teardown),
        cmocka_unit_test(precision_is_as_asked_for),
        cmocka_unit_test_setup_teardown(plain_weights_are_dropped, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(plain_weights_stay_for_further_shapes, model_setup,
                                        model_teardown),
        cmocka_unit_test_setup_teardown(dropped_weights_survive_failures, model_setup,
                                        model_teardown),
        cmocka_unit_test_setup_teardown(plans_share_memory, model_setup, model_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
