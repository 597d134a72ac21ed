#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"

static const char spelled_out[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>"
    "m (float[n,4] x) => (float[n,4] y) <float root = {1.41421354}, float one = {1}, float half = "
    "{0.5}> {"
    "   a = Div (x, root) b = Erf (a) c = Add (b, one) d = Mul (x, c) e = Mul (d, half) y = "
    "Identity (e)"
    "}";

static size_t pass_number(const char *name) {
    hone_error err;
    hone_pass_info p;
    for (size_t i = 0; i < hone_n_passes(); i++) {
        ASSERT_OK(hone_pass(i, &p, &err), err);
        if (strcmp(p.name, name) == 0) return i;
    }
    fail_msg("there is no pass %s", name);
    return 0;
}

static size_t n_nodes(hone_model *m) {
    hone_error err;
    hone_inspection *in = NULL;
    ASSERT_OK(hone_model_inspect(m, NULL, 0, &in, &err), err);
    size_t n = in->n_nodes;
    hone_inspection_destroy(in);
    return n;
}

/* A constant that is written out by a few numbers stays so; the answers are the same. */
static void files_do_not_grow(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = NULL;
    ASSERT_OK(hone_model_load_text(&m,
                                   "<ir_version: 8, opset_import: [\"\" : 17]>"
                                   "m (float[n,200,100] x) => (float[n,200,100] y)"
                                   "<float[1] one = {1}, int64[2] large = {200, 100},"
                                   " int64[1] small = {5}, float[1] two = {2}> {"
                                   "  a = Expand (one, large) b = Add (x, a)"
                                   "  c = Expand (two, small) d = ReduceSum <keepdims: int = 0> (c)"
                                   "  y = Mul (b, d) }",
                                   &err),
              err);
    ASSERT_OK(hone_model_simplify(m, NULL, NULL, &err), err);
    assert_int_equal(n_nodes(m), 3); /* 80 kB are not folded, 20 bytes are */
    hone_model_destroy(m);
}

static void every_pass_is_described(void **state) {
    (void)state;
    hone_error err;
    hone_pass_info p;
    assert_true(hone_n_passes() > 0);
    for (size_t i = 0; i < hone_n_passes(); i++) {
        ASSERT_OK(hone_pass(i, &p, &err), err);
        assert_true(strlen(p.name) > 0 && strlen(p.help) > 0 && p.level >= 1 && p.level <= 3);
    }
    ASSERT_FAILS(hone_pass(hone_n_passes(), &p, &err), err, HONE_E_ARG, "there are");
}

static void the_opset_decides_what_is_formed(void **state) {
    (void)state;
    hone_error err;
    hone_pass_result results[64];
    hone_simplify_options o;
    hone_value_info v;
    assert_true(hone_n_passes() <= 64);
    for (int newer = 0; newer < 2; newer++) {
        hone_model *m = NULL;
        ASSERT_OK(hone_model_load_text(&m, spelled_out, &err), err);
        hone_simplify_options_init(&o);
        o.opset = newer ? 20 : 0;
        ASSERT_OK(hone_model_simplify(m, &o, results, &err), err);
        assert_int_equal(results[pass_number("remove_identity")].fired, 1);
        assert_int_equal(results[pass_number("form_gelu")].fired, newer);
        assert_int_equal(n_nodes(m), newer ? 1 : 5);
        ASSERT_OK(hone_model_output(m, 0, &v, &err), err);
        assert_string_equal(v.name, "y");
        assert_string_equal(v.dim_names[0], "n");
        hone_model_destroy(m);
    }
}

static void passes_can_be_left_out(void **state) {
    (void)state;
    hone_error err;
    hone_simplify_options o;
    hone_model *m = NULL;
    ASSERT_OK(hone_model_load_text(&m, spelled_out, &err), err);
    hone_simplify_options_init(&o);
    o.level = 0;
    ASSERT_OK(hone_model_simplify(m, &o, NULL, &err), err);
    assert_int_equal(n_nodes(m), 6);
    o.level = 3;
    o.without = "remove_identity,form_gelu";
    ASSERT_OK(hone_model_simplify(m, &o, NULL, &err), err);
    assert_int_equal(n_nodes(m), 6);
    o.without = NULL;
    o.stop_after = "simplify_shapes";
    ASSERT_OK(hone_model_simplify(m, &o, NULL, &err), err);
    assert_int_equal(n_nodes(m), 6);
    ASSERT_OK(hone_model_simplify(m, NULL, NULL, &err), err);
    assert_int_equal(n_nodes(m), 5);
    hone_model_destroy(m);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    hone_error err;
    hone_simplify_options o;
    hone_session *s = NULL;
    hone_model *m = NULL;
    ASSERT_OK(hone_model_load(&m, DIGITS, NULL, &err), err);
    hone_simplify_options_init(&o);
    o.level = 4;
    ASSERT_FAILS(hone_model_simplify(m, &o, NULL, &err), err, HONE_E_ARG, "level 4");
    hone_simplify_options_init(&o);
    o.opset = -1;
    ASSERT_FAILS(hone_model_simplify(m, &o, NULL, &err), err, HONE_E_ARG, "opset -1");
    hone_simplify_options_init(&o);
    o.without = "remove_dead,nothing";
    ASSERT_FAILS(hone_model_simplify(m, &o, NULL, &err), err, HONE_E_ARG, "nothing");
    o.without = NULL;
    o.stop_after = "nothing";
    ASSERT_FAILS(hone_model_simplify(m, &o, NULL, &err), err, HONE_E_ARG, "nothing");
    ASSERT_OK(hone_session_create(&s, m, NULL, &err), err);
    ASSERT_FAILS(hone_model_simplify(m, NULL, NULL, &err), err, HONE_E_ARG, "sessions");
    hone_session_destroy(s);
    ASSERT_OK(hone_model_simplify(m, NULL, NULL, &err), err);
    hone_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_do_not_grow),
        cmocka_unit_test(every_pass_is_described),
        cmocka_unit_test(the_opset_decides_what_is_formed),
        cmocka_unit_test(passes_can_be_left_out),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
