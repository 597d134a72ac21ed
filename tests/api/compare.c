#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hone/hone.h"
#include "support/models.h"

/* Sessions of two models, and samples of ones. */
typedef struct two {
    hone_model *m[2];
    hone_session *s[2];
    hone_samples samples;
} two;

static hone_status ones(void *ctx, int64_t run, hone_value *in, hone_error *err) {
    const two *t = ctx;
    (void)run;
    for (size_t i = 0; i < hone_model_n_inputs(t->m[0]); i++) {
        hone_value_info info;
        hone_status status = hone_model_input(t->m[0], i, &info, err);
        in[i].dtype = info.dtype;
        in[i].rank = info.rank;
        for (int d = 0; d < info.rank; d++) in[i].dims[d] = info.dims[d] > 0 ? info.dims[d] : 2;
        if (status == HONE_OK) status = hone_value_fill(&in[i], HONE_FILL_ONES, 1, err);
        if (status != HONE_OK) return status;
    }
    return HONE_OK;
}

static void begin(two *t, const char *a, const char *b) {
    hone_error err;
    const char *paths[2] = {a, b};
    *t = (two){.samples = {.count = 2, .batch = 2, .read = ones, .ctx = t}};
    for (int i = 0; i < 2; i++) {
        ASSERT_OK(hone_model_load(&t->m[i], paths[i], NULL, &err), err);
        ASSERT_OK(hone_session_create(&t->s[i], t->m[i], NULL, &err), err);
    }
}

static void end(two *t) {
    for (int i = 0; i < 2; i++) {
        hone_session_destroy(t->s[i]);
        hone_model_destroy(t->m[i]);
    }
}

static void a_comparison_outlives_its_sessions(void **state) {
    (void)state;
    two t;
    hone_error err;
    hone_comparison *c;
    begin(&t, MODEL("layers"), MODEL("damaged"));
    ASSERT_OK(hone_session_compare(t.s[0], t.s[1], &t.samples, NULL, &c, &err), err);
    end(&t);
    assert_int_equal(c->samples, 2);
    assert_int_equal(c->n_outputs, 1);
    assert_string_equal(c->outputs[0].name, "y");
    assert_true(c->agreement == 0 && c->outputs[0].sqnr_db < 0);
    assert_true(c->kept[0] == 0 && c->agreement_low == 0 && c->agreement_high == 0);
    assert_string_equal(c->measure, "signal kept"); /* as many numbers as the input has */
    assert_int_equal(strncmp(c->worst, "output 'y', channel ", 20), 0);
    assert_string_equal(c->breaks_at, "fc5");
    assert_int_equal(c->n_tensors, 18);
    assert_int_equal(c->n_matched, 12);
    assert_int_equal(c->n_unmatched, 0);
    assert_string_equal(c->tensors[0].name, "m5");
    for (size_t i = 1; i < c->n_tensors; i++)
        assert_true(c->tensors[i].isolated_sqnr_db >= c->tensors[i - 1].isolated_sqnr_db);
    hone_comparison_destroy(c);
    hone_comparison_destroy(NULL);
}

/* Two networks of the same names and shapes, or of others, that were not made of each other. */
static void different_networks_are_called_so(void **state) {
    (void)state;
#define TWO "<ir_version: 8, opset_import: [\"\" : 17]> m (float[n,2] x) => (float[n,2] y)"
    static const char *const texts[] = {
        TWO
        "<float[2,2] v = {1, 2, 3, 4}, float[2,2] w = {5, 1, 2, 7}> {"
        " a = MatMul (x, v) b = Relu (a) y = MatMul (b, w) }",
        TWO
        "<float[2,2] v = {5, -3, -1, 6}, float[2,2] w = {-4, 3, -6, -2}> {"
        " a = MatMul (x, v) b = Relu (a) y = MatMul (b, w) }",
        TWO "<float[2,2] k = {-5, -3, -1, -6}> { c = Sigmoid (x) d = MatMul (c, k) y = Tanh (d) }",
    };
    for (int i = 1; i < 3; i++) {
        two t = {.samples = {.count = 2, .batch = 2, .read = ones, .ctx = &t}};
        hone_error err;
        hone_comparison *c;
        for (int k = 0; k < 2; k++) {
            ASSERT_OK(hone_model_load_text(&t.m[k], texts[k * i], &err), err);
            ASSERT_OK(hone_session_create(&t.s[k], t.m[k], NULL, &err), err);
        }
        ASSERT_OK(hone_session_compare(t.s[0], t.s[1], &t.samples, NULL, &c, &err), err);
        if (strstr(c->verdict, "these are different networks: ") == NULL)
            fail_msg("%s", c->verdict);
        assert_null(c->breaks_at);
        hone_comparison_destroy(c);
        end(&t);
    }
}

static void what_cannot_be_compared_is_refused(void **state) {
    (void)state;
    two t;
    hone_error err;
    hone_comparison *c = NULL;
    begin(&t, MODEL("layers"), MODEL("add"));
    ASSERT_FAILS(hone_session_compare(t.s[0], t.s[1], &t.samples, NULL, &c, &err), err,
                 HONE_E_SHAPE, "the second has no input 'x'");
    t.samples.count = 0;
    ASSERT_FAILS(hone_session_compare(t.s[0], t.s[0], &t.samples, NULL, &c, &err), err, HONE_E_ARG,
                 "there are 0 samples");
    end(&t);
    begin(&t, MODEL("batch1"), MODEL("batch4"));
    ASSERT_FAILS(hone_session_compare(t.s[0], t.s[1], &t.samples, NULL, &c, &err), err,
                 HONE_E_SHAPE, "the second: input 'x'");
    end(&t);
    assert_null(c);
}

static void bisecting_finds_the_damaged_layers(void **state) {
    (void)state;
    two t;
    hone_error err;
    hone_bisect_options o;
    hone_bisection *b = NULL;
    begin(&t, MODEL("layers"), MODEL("damaged"));
    hone_bisect_options_init(&o);
    assert_true(o.size == sizeof o && o.min_sqnr_db == 30 && o.max_error == INFINITY);
    ASSERT_OK(hone_session_bisect(t.s[0], t.s[1], &t.samples, NULL, &b, &err), err);
    assert_int_equal(b->n_steps, 3);
    assert_string_equal(b->steps[0].node, "fc5");
    assert_string_equal(b->steps[0].op, "MatMul");
    assert_true(b->before < 0 && b->after > 100 && b->max_error_after < 1e-5);
    hone_bisection_destroy(b);
    b = NULL;
    o.min_sqnr_db = INFINITY;
    o.max_error = -1; /* nothing is that good */
    ASSERT_FAILS(hone_session_bisect(t.s[0], t.s[1], &t.samples, &o, &b, &err), err,
                 HONE_E_NOT_FOUND, "does not pass with all 3 steps");
    assert_null(b);
    end(&t);
}

/* Fails where the operator is among the nodes of the part. */
static hone_status has_relu(void *ctx, hone_model *a, hone_model *b, size_t n_in,
                            const hone_value *in, bool *failed, hone_error *err) {
    hone_inspection *i;
    (void)b;
    ++*(int *)ctx;
    assert_int_equal(n_in, hone_model_n_inputs(a));
    assert_non_null(in[0].data);
    hone_status status = hone_model_inspect(a, NULL, 0, &i, err);
    *failed = false;
    for (size_t k = 0; status == HONE_OK && k < i->n_nodes; k++)
        *failed |= strcmp(i->nodes[k].name, "relu3") == 0;
    if (status == HONE_OK) hone_inspection_destroy(i);
    return status;
}

static void reducing_leaves_what_fails(void **state) {
    (void)state;
    two t;
    hone_error err;
    hone_reduce_options o;
    hone_reduction *r = NULL;
    hone_value_info info;
    int calls = 0;
    begin(&t, MODEL("layers"), MODEL("layers"));
    hone_reduce_options_init(&o);
    ASSERT_FAILS(hone_session_reduce(t.s[0], t.s[1], &t.samples, &o, &r, &err), err, HONE_E_ARG,
                 "nothing says what a failure is");
    o.fails = has_relu;
    o.fails_ctx = &calls;
    ASSERT_OK(hone_session_reduce(t.s[0], t.s[1], &t.samples, &o, &r, &err), err);
    assert_int_equal(r->nodes_before, 12);
    assert_int_equal(r->nodes_after, 1);
    assert_int_equal(r->tried, calls);
    assert_int_equal(r->n_in, 1);
    assert_string_equal(r->in[0].name, "m3");
    ASSERT_OK(hone_model_output(r->b, 0, &info, &err), err);
    assert_string_equal(info.name, "r3");
    hone_reduction_destroy(r);
    end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comparison_outlives_its_sessions),
        cmocka_unit_test(different_networks_are_called_so),
        cmocka_unit_test(what_cannot_be_compared_is_refused),
        cmocka_unit_test(bisecting_finds_the_damaged_layers),
        cmocka_unit_test(reducing_leaves_what_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
