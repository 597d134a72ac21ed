/* Precision auto: what it chooses is kept, found again, and does what it says. */
#include "engine/choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/text_model.h"

static hn_error err;

#define MODEL                                                                           \
    "m (uint8[8,16] x, int8[16,16] w, int8[16,16] w2) => (uint8[8,16] y)"               \
    " <float s = {0.5}, uint8 z = {1}, int8 zw = {0}> {"                                \
    " a = DequantizeLinear (x, s, z) b = DequantizeLinear (w, s, zw) c = MatMul (a, b)" \
    " r = Relu (c) d = QuantizeLinear (r, s, z) e = DequantizeLinear (d, s, z)"         \
    " f = DequantizeLinear (w2, s, zw) g = MatMul (e, f) y = QuantizeLinear (g, s, z) }"

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    (void)ctx, (void)i, (void)dtype, (void)rank, (void)dims, (void)e;
    *to = NULL;
    return HONE_OK;
}

static void note_step(void *ctx, const hn_step_time *t) {
    char *steps = ctx;
    size_t at = strlen(steps);
    if (t->step->family == NULL || t->step->facts->flops == 0) return;
    snprintf(steps + at, 100 - at, "%s%s", at > 0 ? " " : "", t->step->family->name);
}

static hn_tuner *new_tuner(void) {
    hn_tuner *t;
    assert_int_equal(hn_tuner_create(&t, HN_TUNE_OFF, hn_isa_available(), NULL, &model_mem, &err),
                     HONE_OK);
    return t;
}

static hn_model *make_model(void) {
    hn_model *m = model_inferred(MODEL);
    for (int i = 1; i < 3; i++) {
        hn_tensor *w;
        int64_t dims[] = {16, 16};
        assert_int_equal(
            hn_tensor_create(&w, &model_mem, HN_MEM_DATA, HONE_DTYPE_S8, 2, dims, &err), HONE_OK);
        memset(w->data, i, w->bytes);
        hn_value_set_constant(m->graph->inputs[i], w);
    }
    return m;
}

/* One run under auto; the families of its products. */
static const char *families(hn_model *m, hn_tuner *tuner, hn_engine **kept) {
    static char steps[100];
    static uint8_t x[8 * 16];
    steps[0] = '\0';
    hn_tensor in;
    hn_engine_options o = {.alloc = &model_mem,
                           .isa = hn_isa_available(),
                           .auto_precision = true,
                           .tuner = tuner,
                           .no_simplify = true};
    assert_int_equal(hn_engine_create(kept, m, &o, &err), HONE_OK);
    assert_int_equal(hn_tensor_borrow(&in, HONE_DTYPE_U8, 2, (int64_t[]){8, 16}, x, &err), HONE_OK);
    const hn_tensor *given[] = {&in, NULL, NULL};
    if (hn_engine_run(*kept, given, place, NULL, note_step, steps, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return steps;
}

/* Whatever is measured, plans agree with the choices that are told. */
static void choices_are_what_runs(void **state) {
    (void)state;
    hn_tuner *t = new_tuner();
    hn_engine *e;
    hn_model *m = make_model();
    const char *steps = families(m, t, &e);
    bool floats[2] = {false, false};
    const hn_choice *c;
    for (size_t i = 0; (c = hn_engine_choice(e, i)) != NULL; i++) {
        floats[strcmp(c->rule.name, "g") == 0] = true;
        assert_non_null(strstr(c->text, ": f32 "));
        assert_true(c->f32_us > 0 && c->int8_us > 0);
    }
    char wanted[100];
    snprintf(wanted, sizeof wanted, "%s %s", floats[0] ? "matmul_nbits" : "conv_q8",
             floats[1] ? "matmul_nbits" : "conv_q8");
    assert_string_equal(steps, wanted);
    hn_engine_destroy(e);
    hn_tuner_destroy(t);
}

/* A tuner that remembers a choice is not measured against. */
static void what_is_known_is_taken(void **state) {
    (void)state;
    hn_model *m = make_model();
    static const char *const parts[] = {"c", "g"};
    static const char *const wanted[] = {"matmul_nbits conv_q8", "conv_q8 matmul_nbits"};
    for (int i = 0; i < 2; i++) {
        hn_tuner *t = new_tuner();
        hn_engine *e;
        uint64_t graph = hn_choice_key(m->graph);
        char text[200];
        snprintf(text, sizeof text, "auto %016llx 1 0.0 0.0 \nauto %016llx 1 1000.0 2000.0 %s\n",
                 (unsigned long long)graph, (unsigned long long)graph, parts[i]);
        assert_int_equal(hn_tuner_read(t, text, strlen(text), &err), HONE_OK);
        assert_string_equal(families(m, t, &e), wanted[i]);
        snprintf(text, sizeof text, "%s: f32 1.000 ms, int8 2.000 ms", parts[i]);
        assert_string_equal(hn_engine_choice(e, 0)->text, text);
        assert_null(hn_engine_choice(e, 1));
        hn_engine_destroy(e);
        hn_tuner_destroy(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(choices_are_what_runs, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(what_is_known_is_taken, model_setup, model_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
