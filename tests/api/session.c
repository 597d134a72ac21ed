#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "support/models.h"

/* A session, with the model given back at once: the session keeps it. */
static hone_session *open_session(const char *path, const hone_session_options *o) {
    hone_error err;
    hone_model *m;
    hone_session *s;
    ASSERT_OK(hone_model_load(&m, path, NULL, &err), err);
    ASSERT_OK(hone_session_create(&s, m, o, &err), err);
    hone_model_destroy(m);
    return s;
}

static hone_value f32(const char *name, float *data, int64_t rows, int64_t columns) {
    return (hone_value){.name = name,
                        .dtype = HONE_DTYPE_F32,
                        .rank = 2,
                        .dims = {rows, columns},
                        .data = data,
                        .bytes = (size_t)(rows * columns) * sizeof *data};
}

static float four[4] = {1, 2, 3, 4}, more[4] = {10, 20, 30, 40};

/* ---- what goes right ---- */

static void outputs_are_allocated_or_written_to_the_callers_buffer(void **state) {
    (void)state;
    hone_error err;
    hone_session *s = open_session(MODEL("add"), NULL);
    hone_value in[] = {f32("b", more, 2, 2), f32("a", four, 2, 2)}; /* any order */
    float buffer[6] = {0, 0, 0, 0, 0, 77};
    hone_value out[] = {{.name = "y"}, f32("ab", buffer, 3, 2)};
    ASSERT_OK(hone_session_run(s, 2, in, 2, out, &err), err);
    assert_int_equal(out[0].dtype, HONE_DTYPE_F32);
    assert_int_equal(out[0].rank, 2);
    assert_int_equal(out[0].dims[0], 2);
    assert_int_equal(out[0].bytes, 16);
    assert_non_null(out[0].owner);
    const float wanted[4] = {110, 2200, 330, 4400};
    assert_memory_equal(out[0].data, wanted, sizeof wanted);
    assert_ptr_equal(out[1].data, buffer);
    assert_null(out[1].owner);
    assert_int_equal(out[1].bytes, 16);
    assert_int_equal(out[1].dims[0], 2);
    assert_true(buffer[3] == 44 && buffer[5] == 77);
    hone_value_release(out, 2);

    /* An input with a default may be given after all; none of the outputs need be asked for. */
    float k[2] = {0, 1};
    hone_value given[] = {
        in[0],
        in[1],
        {.name = "k", .dtype = HONE_DTYPE_F32, .rank = 1, .dims = {2}, .data = k, .bytes = 8}};
    hone_value y = {.name = "y"};
    ASSERT_OK(hone_session_run(s, 3, given, 1, &y, &err), err);
    assert_true(((float *)y.data)[0] == 0 && ((float *)y.data)[1] == 22);
    hone_value_release(&y, 1);
    ASSERT_OK(hone_session_run(s, 2, in, 0, NULL, &err), err);
    /* What a run took stays for the next one, and that takes no more. */
    hone_memory_use use = hone_session_memory(s);
    assert_true(use.peak_bytes > 0 && use.live_bytes > 0);
    ASSERT_OK(hone_session_run(s, 2, in, 0, NULL, &err), err);
    assert_int_equal(hone_session_memory(s).live_bytes, use.live_bytes);
    assert_int_equal(hone_session_memory(s).allocations, use.allocations);
    hone_session_destroy(s);
    hone_session_destroy(NULL);
}

/* Where no kernel multiplies bf16, or a run shows that there is nothing to multiply, a session that
 * may computes in f32 and says so. */
static void precision_is_what_is_computed(void **state) {
    (void)state;
    hone_session_options o;
    hone_session_options_init(&o);
    o.precision = "bf16";
    hone_session *s = open_session(MODEL("add"), &o);
    hone_value in[] = {f32("b", more, 2, 2), f32("a", four, 2, 2)};
    hone_error err;
    ASSERT_OK(hone_session_prepare(s, 2, in, &err), err);
    assert_string_equal(hone_session_precision(s), "f32");
    hone_session_destroy(s);
    o.isa = "portable";
    static const char *const asked[] = {"bf16", "f32-relaxed", "auto"};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        o.precision = asked[i];
        s = open_session(DIGITS, &o);
        assert_string_equal(hone_session_precision(s), "f32");
        assert_null(hone_session_why_precision(s));
        hone_session_destroy(s);
    }
}

/* What was planned is what was taken, whatever the batch; and memory of their own for all
 * activations takes more. */
static void memory_is_planned(void **state) {
    (void)state;
    hone_error err;
    static float x[8 * 28 * 28];
    hone_session_options o;
    hone_session_options_init(&o);
    size_t arena[2];
    for (int alone = 0; alone < 2; alone++) {
        o.no_sharing = alone;
        hone_session *s = open_session(DIGITS, &o);
        hone_model *m;
        hone_value_info info;
        ASSERT_OK(hone_model_load(&m, DIGITS, NULL, &err), err);
        ASSERT_OK(hone_model_input(m, 0, &info, &err), err);
        hone_value in = {.name = info.name,
                         .dtype = HONE_DTYPE_F32,
                         .rank = 4,
                         .dims = {8, 1, 28, 28},
                         .data = x,
                         .bytes = sizeof x};
        hone_value_info y;
        ASSERT_OK(hone_model_output(m, 0, &y, &err), err);
        hone_value out = {.name = y.name};
        ASSERT_OK(hone_session_run(s, 1, &in, 1, &out, &err), err);
        hone_value_release(&out, 1);
        hone_memory_use use = hone_session_memory(s);
        assert_int_equal(use.peak_bytes, use.planned_bytes);
        assert_true(use.planned_bytes > use.weights_bytes + use.arena_bytes + use.scratch_bytes);
        arena[alone] = use.arena_bytes;
        hone_session_destroy(s);
        hone_model_destroy(m);
    }
    assert_true(arena[1] > arena[0]);
}

static void an_empty_batch_runs(void **state) {
    (void)state;
    hone_error err;
    hone_session *s = open_session(MODEL("add"), NULL);
    hone_value in[] = {f32("a", NULL, 0, 2), f32("b", NULL, 0, 2)}, out = {.name = "y"};
    ASSERT_OK(hone_session_run(s, 2, in, 1, &out, &err), err);
    assert_int_equal(out.bytes, 0);
    assert_int_equal(out.dims[0], 0);
    hone_value_release(&out, 1);
    hone_session_destroy(s);
}

/* Values without names are those of their places, run after run with the same arrays. */
static void values_are_found_by_place(void **state) {
    (void)state;
    hone_error err;
    hone_session *s = open_session(MODEL("add"), NULL);
    float sum[4];
    hone_value in[] = {f32(NULL, four, 2, 2), f32(NULL, more, 2, 2)};
    hone_value out = f32(NULL, sum, 2, 2), none[] = {out, out, out};
    for (int run = 0; run < 2; run++) {
        memset(sum, 0, sizeof sum);
        ASSERT_OK(hone_session_run(s, 2, in, 1, &out, &err), err);
        for (int i = 0; i < 4; i++) assert_float_equal(sum[i], four[i] + more[i], 0);
        assert_null(out.name);
    }
    /* The others by name, in any order. */
    in[0].name = "b";
    in[1].name = "a";
    ASSERT_OK(hone_session_run(s, 2, in, 1, &out, &err), err);
    ASSERT_FAILS(hone_session_run(s, 2, in, 3, none, &err), err, HONE_E_ARG,
                 "output 2 has no name, and the model has 2 outputs");
    out.bytes = 4;
    ASSERT_FAILS(hone_session_run(s, 2, in, 1, &out, &err), err, HONE_E_ARG,
                 "output 'ab' takes 16 bytes, its buffer has 4");
    hone_session_destroy(s);
}

/* ---- what the caller may get wrong ---- */

static void wrong_inputs_are_named(void **state) {
    (void)state;
    hone_error err;
    hone_session *s = open_session(MODEL("add"), NULL);
    hone_value a = f32("a", four, 2, 2), b = f32("b", more, 2, 2), y = {.name = "y"};
#define REFUSED(status, text, ...)                                                                 \
    do {                                                                                           \
        hone_value in_[] = {__VA_ARGS__};                                                          \
        ASSERT_FAILS(hone_session_run(s, sizeof in_ / sizeof *in_, in_, 1, &y, &err), err, status, \
                     text);                                                                        \
        assert_null(y.data);                                                                       \
    } while (0)
    REFUSED(HONE_E_ARG, "input 'b' is not given", a);
    REFUSED(HONE_E_ARG, "input 'a' is given twice", a, a);
    hone_value bad = a;
    bad.name = "c";
    REFUSED(HONE_E_NOT_FOUND, "no input 'c'", bad, b);
    bad.name = NULL;
    REFUSED(HONE_E_ARG, "input 'a' is given twice", bad, a);
    hone_value k = f32("k", four, 1, 2);
    k.rank = 1;
    k.dims[0] = 2;
    REFUSED(HONE_E_ARG, "input 3 has no name, and the model has 3 inputs", a, b, k, bad);
    bad = a;
    bad.dtype = HONE_DTYPE_S32;
    REFUSED(HONE_E_TYPE, "input 'a' is s32, expected f32", bad, b);
    bad.dtype = HONE_DTYPE_STRING;
    REFUSED(HONE_E_TYPE, "string", bad, b);
    bad.dtype = (hone_dtype)77;
    REFUSED(HONE_E_TYPE, "input 'a'", bad, b);
    bad = a;
    bad.rank = 1;
    REFUSED(HONE_E_SHAPE, "input 'a' has rank 1, expected 2", bad, b);
    bad = f32("a", four, 1, 4);
    REFUSED(HONE_E_SHAPE, "axis 1 has size 4, expected 2", bad, b);
    bad = f32("a", four, 1, 2);
    REFUSED(HONE_E_SHAPE, "input 'b': axis 0 = batch has size 2, expected 1", bad, b);
    bad = a;
    bad.dims[0] = -2;
    REFUSED(HONE_E_SHAPE, "negative", bad, b);
    bad = a;
    bad.bytes = 12;
    REFUSED(HONE_E_ARG, "input 'a' has 12 bytes, its dims say 16", bad, b);
    bad = a;
    bad.data = NULL;
    size_t live = hone_session_memory(s).live_bytes;
    REFUSED(HONE_E_ARG, "input 'a' has 0 bytes", bad, b);
    assert_int_equal(hone_session_memory(s).live_bytes, live);
    hone_session_destroy(s);
}

static void wrong_outputs_are_named_and_left_alone(void **state) {
    (void)state;
    hone_error err;
    hone_session *s = open_session(MODEL("add"), NULL);
    hone_value in[] = {f32("a", four, 2, 2), f32("b", more, 2, 2)};
    float small[3] = {5, 5, 5};
    hone_value out[] = {{.name = "y"}, f32("ab", small, 1, 3)};
    ASSERT_FAILS(hone_session_run(s, 2, in, 2, out, &err), err, HONE_E_ARG,
                 "output 'ab' takes 16 bytes, its buffer has 12");
    assert_null(out[0].data);
    assert_null(out[0].owner);
    assert_int_equal(out[1].bytes, 12);
    assert_true(small[0] == 5);
    out[1].name = "z";
    ASSERT_FAILS(hone_session_run(s, 2, in, 2, out, &err), err, HONE_E_NOT_FOUND, "no output 'z'");
    hone_session_destroy(s);
}

static void a_session_is_refused_with_the_reason(void **state) {
    (void)state;
    hone_error err;
    hone_model *m;
    hone_session *s = NULL;
    hone_session_options o;
    ASSERT_OK(hone_model_load(&m, MODEL("unknown"), NULL, &err), err);
    ASSERT_FAILS(hone_session_create(&s, m, NULL, &err), err, HONE_E_UNSUPPORTED,
                 "operator Frobnicate of domain 'com.example' cannot be run");
    hone_model_destroy(m);
    ASSERT_OK(hone_model_load(&m, MODEL("add"), NULL, &err), err);
    hone_session_options_init(&o);
    o.backend = "quantum";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_UNSUPPORTED, "'quantum'");
    o.backend = NULL;
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_UNSUPPORTED, "reference");
    hone_session_options_init(&o);
    o.threads = -1;
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG, "-1 threads");
    o.threads = 1 << 20;
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG, "1048576 threads");
    hone_session_options_init(&o);
    o.precision = "f31";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG,
                 "precision is 'f31', expected f32, f32-relaxed, bf16, f16, int8 or auto");
    o.precision = "f16";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_UNSUPPORTED,
                 "f16, which is not available");
    o.precision = "int8";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG, "this is a float model");
    o.precision = "auto";
    o.layer_precision = "nothing*:f32";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG,
                 "no node is called 'nothing*'");
    o.layer_precision = "*=f32";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG,
                 "expected PATTERN:PRECISION");
    hone_session_options_init(&o);
    o.exec = "backwards";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG,
                 "exec is 'backwards', expected sequential or parallel");
    hone_session_options_init(&o);
    o.kernels = "conv_f32=ref,conv_f33=ref";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG, "family 'conv_f33'");
    o.kernels = "conv_f32=fastest";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG,
                 "the family conv_f32 has no kernel 'fastest'");
    o.kernels = "conv_f32";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG,
                 "'conv_f32' is no kernel, expected FAMILY=ROW");
    assert_null(s);
    hone_model_destroy(m);
}

/* ---- profiles ---- */

typedef struct seen {
    int steps;
    int64_t last_end;
    char ops[1000];
} seen;

static void see(void *ctx, const hone_step_info *info) {
    seen *s = ctx;
    s->steps++;
    assert_true(info->end_ns >= info->begin_ns && info->begin_ns >= s->last_end);
    s->last_end = info->end_ns;
    assert_true(strlen(s->ops) + strlen(info->op) + 2 < sizeof s->ops);
    strcat(strcat(s->ops, info->op), " ");
    assert_non_null(info->kernel);
}

static void a_profile_tells_of_every_step(void **state) {
    (void)state;
    hone_error err;
    hone_session *s = open_session(MODEL("add"), NULL);
    hone_value in[] = {f32("a", four, 2, 2), f32("b", more, 2, 2)};
    hone_value out = {.name = "y"};
    seen got = {0};
    ASSERT_OK(hone_session_profile(s, 2, in, 1, &out, see, &got, &err), err);
    assert_true(got.steps > 0 && strstr(got.ops, "Mul") != NULL);
    assert_true(((float *)out.data)[0] == 110);
    hone_value_release(&out, 1);
    hone_session_destroy(s);
    hone_session_options o;
    hone_session_options_init(&o);
    o.backend = "reference";
    s = open_session(MODEL("add"), &o);
    ASSERT_FAILS(hone_session_profile(s, 2, in, 1, &out, see, &got, &err), err, HONE_E_UNSUPPORTED,
                 "no steps");
    hone_session_destroy(s);
}

/* ---- threads ---- */

static void threads_are_those_asked_for_or_the_cores(void **state) {
    (void)state;
    hone_session_options o;
    hone_session_options_init(&o);
    unsetenv("HONE_THREADS");
    hone_session *s = open_session(MODEL("add"), &o);
    int all = hone_session_threads(s);
    hone_session_destroy(s);
    o.reserve_cores = 1;
    s = open_session(MODEL("add"), &o);
    assert_int_equal(hone_session_threads(s), all > 1 ? all - 1 : 1);
    hone_session_destroy(s);
    o.reserve_cores = 100000;
    s = open_session(MODEL("add"), &o);
    assert_int_equal(hone_session_threads(s), 1);
    hone_session_destroy(s);
    o.threads = 3;
    o.isa = "portable";
    s = open_session(MODEL("add"), &o);
    assert_int_equal(hone_session_threads(s), 3);
    assert_string_equal(hone_session_isa(s), "portable");
    hone_session_destroy(s);
}

typedef struct nest {
    hone_session *inner;
    int depth, warnings;
} nest;

static void count_warning(void *ctx, hone_log_level level, const char *line) {
    nest *n = ctx;
    n->warnings += level == HONE_LOG_WARN && strstr(line, "at the same time") != NULL;
}

/* Runs the inner session while the outer one runs. */
static bool run_inner(void *ctx) {
    nest *n = ctx;
    hone_value in[] = {f32("a", four, 2, 2), f32("b", more, 2, 2)};
    if (n->depth++ == 0)
        assert_int_equal(hone_session_run(n->inner, 2, in, 0, NULL, NULL), HONE_OK);
    return true;
}

static void runs_that_want_more_threads_than_cores_are_a_warning(void **state) {
    (void)state;
    hone_error err;
    nest n = {0};
    hone_session_options o;
    hone_session_options_init(&o);
    hone_value in[] = {f32("a", four, 2, 2), f32("b", more, 2, 2)};
    n.inner = open_session(MODEL("add"), &o); /* all cores */
    o.keep_going = run_inner;
    o.keep_going_ctx = &n;
    hone_session *outer = open_session(MODEL("add"), &o);
    hone_log_set(count_warning, &n, HONE_LOG_WARN);
    ASSERT_OK(hone_session_run(n.inner, 2, in, 0, NULL, &err), err);
    ASSERT_OK(hone_session_run(n.inner, 2, in, 0, NULL, &err), err);
    assert_int_equal(n.warnings, 0);
    ASSERT_OK(hone_session_run(outer, 2, in, 0, NULL, &err), err);
    assert_int_equal(n.warnings, 1);
    n.depth = 0;
    ASSERT_OK(hone_session_run(outer, 2, in, 0, NULL, &err), err);
    assert_int_equal(n.warnings, 1);
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
    hone_session_destroy(outer);
    hone_session_destroy(n.inner);
}

static int n_steps(const char *without) {
    hone_error err;
    hone_session_options o;
    hone_session_options_init(&o);
    o.without = without;
    hone_session *s = open_session(DIGITS, &o);
    hone_value in = {.name = "image", .dtype = HONE_DTYPE_F32, .rank = 4, .dims = {1, 1, 28, 28}};
    ASSERT_OK(hone_value_fill(&in, HONE_FILL_RANDOM, 5, &err), err);
    seen got = {0};
    ASSERT_OK(hone_session_profile(s, 1, &in, 0, NULL, see, &got, &err), err);
    hone_value_release(&in, 1);
    hone_session_destroy(s);
    return got.steps;
}

static void parts_of_the_engine_can_be_left_out(void **state) {
    (void)state;
    hone_error err;
    hone_model *m;
    hone_session *s = NULL;
    hone_session_options o;
    int all = n_steps(NULL), unfused = n_steps("fuse");
    assert_true(unfused > all);
    assert_true(n_steps("fold_batch_norm,fuse") > unfused);
    hone_session_options_init(&o);
    o.without = "fuse,haste";
    ASSERT_OK(hone_model_load(&m, MODEL("add"), NULL, &err), err);
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG, "no 'haste' to do without");
    o.without = NULL;
    o.tune = "hard";
    ASSERT_FAILS(hone_session_create(&s, m, &o, &err), err, HONE_E_ARG, "off, fast or full");
    assert_null(s);
    hone_model_destroy(m);
}

static void a_session_is_prepared_for_shapes(void **state) {
    (void)state;
    hone_error err;
    hone_session *s = open_session(MODEL("add"), NULL);
    hone_value shapes[] = {f32("a", NULL, 2, 2), f32("b", NULL, 2, 2)};
    ASSERT_OK(hone_session_prepare(s, 2, shapes, &err), err);
    size_t live = hone_session_memory(s).live_bytes;
    hone_value in[] = {f32("a", four, 2, 2), f32("b", more, 2, 2)};
    float y[4], ab[4];
    hone_value out[] = {f32("y", y, 2, 2), f32("ab", ab, 2, 2)};
    ASSERT_OK(hone_session_run(s, 2, in, 2, out, &err), err);
    assert_int_equal(hone_session_memory(s).live_bytes, live);
    shapes[1].dims[0] = 3;
    ASSERT_FAILS(hone_session_prepare(s, 2, shapes, &err), err, HONE_E_SHAPE, "axis 0 = batch");
    ASSERT_FAILS(hone_session_prepare(s, 1, shapes, &err), err, HONE_E_ARG, "'b' is not given");
    hone_session_destroy(s);
}

/* ---- limits ---- */

static void memory_is_limited(void **state) {
    (void)state;
    hone_error err;
    hone_session_options o;
    hone_session_options_init(&o);
    o.max_memory = 100 << 20;
    hone_session *s = open_session(MODEL("large"), &o);
    float one = 1;
    hone_value in = {
        .name = "x", .dtype = HONE_DTYPE_F32, .rank = 1, .dims = {1}, .data = &one, .bytes = 4};
    hone_value out = {.name = "y"};
    ASSERT_FAILS(hone_session_run(s, 1, &in, 1, &out, &err), err, HONE_E_NOMEM,
                 "8000000000 bytes for output 'y'");
    assert_null(out.data);
    assert_true(hone_session_memory(s).peak_bytes <= o.max_memory);
    hone_session_destroy(s);
    o.backend = "reference";
    s = open_session(MODEL("large"), &o);
    ASSERT_FAILS(hone_session_run(s, 1, &in, 1, &out, &err), err, HONE_E_NOMEM, "expand");
    size_t live = hone_session_memory(s).live_bytes;
    ASSERT_FAILS(hone_session_run(s, 1, &in, 1, &out, &err), err, HONE_E_NOMEM, "expand");
    assert_int_equal(hone_session_memory(s).live_bytes, live);
    hone_session_destroy(s);
}

static bool count_down(void *ctx) { return --*(int *)ctx > 0; }

static void a_run_can_be_stopped(void **state) {
    (void)state;
    hone_error err;
    hone_session_options o;
    hone_session_options_init(&o);
    int left = 1000;
    o.keep_going = count_down;
    o.keep_going_ctx = &left;
    hone_session *s = open_session(MODEL("forever"), &o);
    float zero = 0;
    hone_value in = {.name = "start", .dtype = HONE_DTYPE_F32, .data = &zero, .bytes = 4};
    hone_value out = {.name = "sum"};
    ASSERT_FAILS(hone_session_run(s, 1, &in, 1, &out, &err), err, HONE_E_LIMIT, "stopped");
    assert_int_equal(left, 0);
    hone_session_destroy(s);
}

/* ---- threads ---- */

typedef struct worker {
    hone_session *session;
    const hone_value *in;
    float logits[3 * 10];
    hone_status status;
} worker;

static void *work(void *ctx) {
    worker *w = ctx;
    hone_value out = f32("logits", w->logits, 3, 10);
    for (int i = 0; i < 3 && w->status == HONE_OK; i++)
        w->status = hone_session_run(w->session, 1, w->in, 1, &out, NULL);
    return NULL;
}

static void results_do_not_depend_on_threads(void **state) {
    (void)state;
    enum { SESSIONS = 3, WORKERS = 4 };
    static const int threads[SESSIONS] = {1, 2, 3};
    static float first[3 * 10];
    hone_error err;
    hone_value in = {.name = "image", .dtype = HONE_DTYPE_F32, .rank = 4, .dims = {3, 1, 28, 28}};
    ASSERT_OK(hone_value_fill(&in, HONE_FILL_RANDOM, 5, &err), err);
    for (int k = 0; k < SESSIONS; k++) {
        hone_session_options o;
        hone_session_options_init(&o);
        o.threads = threads[k];
        hone_session *s = open_session(DIGITS, &o);
        /* Runs of one session at once, by several threads. */
        worker workers[WORKERS] = {0};
        pthread_t ids[WORKERS];
        for (int i = 0; i < WORKERS; i++) {
            workers[i].session = s;
            workers[i].in = &in;
            assert_int_equal(pthread_create(&ids[i], NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < WORKERS; i++) pthread_join(ids[i], NULL);
        if (k == 0) memcpy(first, workers[0].logits, sizeof first);
        for (int i = 0; i < WORKERS; i++) {
            assert_int_equal(workers[i].status, HONE_OK);
            assert_memory_equal(workers[i].logits, first, sizeof first);
        }
        hone_session_destroy(s);
    }
    hone_value_release(&in, 1);
}

static void sessions_share_a_pool_and_outlive_each_other(void **state) {
    (void)state;
    hone_session_options o;
    hone_session_options_init(&o);
    o.threads = 2;
    hone_session *a = open_session(MODEL("add"), &o), *b = open_session(MODEL("add"), &o);
    o.threads = 1;
    hone_session *c = open_session(MODEL("add"), &o);
    hone_session_destroy(a);
    hone_error err;
    hone_value in[] = {f32("a", four, 2, 2), f32("b", more, 2, 2)}, out = {.name = "y"};
    ASSERT_OK(hone_session_run(b, 2, in, 1, &out, &err), err);
    hone_value_release(&out, 1);
    hone_session_destroy(b);
    ASSERT_OK(hone_session_run(c, 2, in, 1, &out, &err), err);
    hone_value_release(&out, 1);
    hone_session_destroy(c);
}

/* ---- runs that are ended from outside ---- */

typedef struct canceller {
    hone_session *session;
    atomic_bool over;
} canceller;

static void *cancel_until_over(void *ctx) {
    canceller *c = ctx;
    while (!atomic_load(&c->over)) {
        hone_session_cancel(c->session);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

static void expect_cancelled(hone_session *s, const hone_value *in, hone_value *out) {
    hone_error err;
    canceller c = {.session = s};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_until_over, &c), 0);
    hone_status status = hone_session_run(s, 1, in, 1, out, &err);
    atomic_store(&c.over, true);
    pthread_join(thread, NULL);
    assert_int_equal(status, HONE_E_LIMIT);
    assert_non_null(strstr(err.text, "stopped"));
}

/* A loop that would run for hours, and one product that takes seconds. */
static void count_passes(void *ctx, hone_log_level level, const char *line) {
    (void)level;
    *(int *)ctx += strncmp(line, "simplified in", 13) == 0;
}

static void sessions_of_a_model_prepare_it_once(void **state) {
    (void)state;
    hone_error err;
    hone_model *m;
    hone_session *s[2];
    hone_memory_use use[2];
    int passes = 0;
    ASSERT_OK(hone_model_load(&m, MODEL("add"), NULL, &err), err);
    hone_log_set(count_passes, &passes, HONE_LOG_INFO);
    for (int i = 0; i < 2; i++) ASSERT_OK(hone_session_create(&s[i], m, NULL, &err), err);
    assert_int_equal(passes, 1);
    hone_log_set(NULL, NULL, HONE_LOG_INFO);
    hone_value in[] = {f32("a", four, 2, 2), f32("b", more, 2, 2)};
    for (int i = 0; i < 2; i++) {
        ASSERT_OK(hone_session_run(s[i], 2, in, 0, NULL, &err), err);
        use[i] = hone_session_memory(s[i]);
    }
    assert_int_equal(use[0].weights_bytes, use[1].weights_bytes);
    hone_session_destroy(s[0]);
    ASSERT_OK(hone_session_run(s[1], 2, in, 0, NULL, &err), err);
    hone_model_destroy(m);
    hone_session_destroy(s[1]);
}

static void runs_can_be_cancelled(void **state) {
    (void)state;
    enum { SIDE = 2000 };
    static const char *const backends[] = {"cpu", "reference"};
    double *x = calloc((size_t)SIDE * SIDE, sizeof *x);
    hone_error err;
    hone_session_options o;
    hone_session_options_init(&o);
    assert_non_null(x);
    hone_value start = {.name = "start", .dtype = HONE_DTYPE_F32, .data = four, .bytes = 4};
    hone_value in = {.name = "x",
                     .dtype = HONE_DTYPE_F64,
                     .rank = 2,
                     .dims = {SIDE, SIDE},
                     .data = x,
                     .bytes = (size_t)SIDE * SIDE * sizeof *x};
    for (int i = 0; i < 2; i++) {
        o.backend = backends[i];
        hone_session *s = open_session(MODEL("forever"), &o);
        expect_cancelled(s, &start, &(hone_value){.name = "sum"});
        hone_session_destroy(s);

        hone_model *m;
        ASSERT_OK(
            hone_model_load_text(
                &m, "m (double[2000, 2000] x) => (double[2000, 2000] y) { y = MatMul (x, x) }",
                &err),
            err);
        ASSERT_OK(hone_session_create(&s, m, &o, &err), err);
        expect_cancelled(s, &in, &(hone_value){.name = "y"});
        hone_session_destroy(s);
        hone_model_destroy(m);
    }
    free(x);
}

static void a_cancellation_is_not_left_over(void **state) {
    (void)state;
    hone_error err;
    hone_session *s = open_session(MODEL("add"), NULL);
    hone_value in[] = {f32("a", four, 2, 2), f32("b", more, 2, 2)};
    hone_value out[] = {{.name = "y"}};
    hone_session_cancel(s);
    ASSERT_OK(hone_session_run(s, 2, in, 1, out, &err), err);
    hone_value_release(out, 1);
    hone_session_destroy(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_allocated_or_written_to_the_callers_buffer),
        cmocka_unit_test(an_empty_batch_runs),
        cmocka_unit_test(precision_is_what_is_computed),
        cmocka_unit_test(values_are_found_by_place),
        cmocka_unit_test(wrong_inputs_are_named),
        cmocka_unit_test(wrong_outputs_are_named_and_left_alone),
        cmocka_unit_test(a_session_is_refused_with_the_reason),
        cmocka_unit_test(a_profile_tells_of_every_step),
        cmocka_unit_test(threads_are_those_asked_for_or_the_cores),
        cmocka_unit_test(runs_that_want_more_threads_than_cores_are_a_warning),
        cmocka_unit_test(parts_of_the_engine_can_be_left_out),
        cmocka_unit_test(a_session_is_prepared_for_shapes),
        cmocka_unit_test(memory_is_planned),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(a_run_can_be_stopped),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(sessions_share_a_pool_and_outlive_each_other),
        cmocka_unit_test(sessions_of_a_model_prepare_it_once),
        cmocka_unit_test(runs_can_be_cancelled),
        cmocka_unit_test(a_cancellation_is_not_left_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
