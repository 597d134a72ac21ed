/* What folding constants may add to a model; what it does is in fold_constants.ir. */
#include "passes/simplify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/text_model.h"

static hn_error err;

/* Nodes left when the constants may not grow by more than that many bytes. */
static int nodes_left(const char *text, int64_t max_growth) {
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(text);
    hn_simplify_options o = hn_simplify_defaults();
    o.max_growth = max_growth;
    o.only = "fold_constants";
    if (hn_simplify(m, &o, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    int n = m->graph->n_nodes;
    assert_int_equal(model_teardown(NULL), 0);
    return n;
}

/* Gates in another order: the slices together are no larger than the weight, which goes. */
static void slices_of_a_weight(void **state) {
    (void)state;
    const char *weight =
        "m (float[2] x) => (float[8] y) <float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}, int64[1] a = {0},"
        " int64[1] b = {2}, int64[1] c = {4}, int64[1] d = {6}, int64[1] e = {8}> {"
        " p = Slice (w, a, b) q = Slice (w, b, c) r = Slice (w, c, d) s = Slice (w, d, e)"
        " z = Concat <axis = 0> (p, s, q, r) v = Concat <axis = 0> (x, x, x, x) y = Add (v, z) }";
    assert_int_equal(nodes_left(weight, 0), 2);
}

/* The weight stays, since a node that does not fold uses it: every slice is more. */
static void slices_beside_another_use(void **state) {
    (void)state;
    const char *shared =
        "m (float[8] x) => (float[8] y) <float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}, int64[1] a = {0},"
        " int64[1] b = {4}, int64[1] c = {8}> {"
        " p = Slice (w, a, b) q = Slice (w, b, c) z = Concat <axis = 0> (q, p)"
        " v = Add (x, w) y = Add (v, z) }";
    assert_int_equal(nodes_left(shared, 0), 5);
    assert_int_equal(nodes_left(shared, 64), 2);
}

/* What another model holds is not copied where rows behind each other are taken of it. */
static void rows_of_a_table_are_a_part_of_it(void **state) {
    (void)state;
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(
        "m (float[2,3] x) => (float[2,3] y, float[2,3] z) <float[4,3] w = {0, 1, 2, 3, 4, 5, 6, 7,"
        " 8, 9, 10, 11}, int64[2] near = {1, 2}, int64[2] far = {3, 1}> {"
        " a = Gather (w, near) b = Gather (w, far) y = Add (x, a) z = Add (x, b) }");
    hn_model *copy;
    hn_simplify_options o = hn_simplify_defaults();
    assert_int_equal(hn_model_derive(&copy, m, &model_mem, &err), HONE_OK);
    assert_int_equal(hn_simplify(copy, &o, NULL, &err), HONE_OK);
    const hn_tensor *w = value_of(m, "w")->constant;
    const hn_tensor *near = value_of(copy, "a")->constant, *far = value_of(copy, "b")->constant;
    assert_ptr_equal(near->base, w);
    assert_ptr_equal(near->data, (const float *)w->data + 3);
    assert_null(far->base);
    assert_float_equal(hn_tensor_f64(far, 0), 9, 0);
    model_runs(copy, TEXTS("float[2,3] {0, 0, 0, 0, 0, 0}"),
               TEXTS("float[2,3] {3, 4, 5, 6, 7, 8}", "float[2,3] {9, 10, 11, 3, 4, 5}"));
    hn_model_destroy(copy);
    assert_int_equal(model_teardown(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_of_a_weight),
        cmocka_unit_test(slices_beside_another_use),
        cmocka_unit_test(rows_of_a_table_are_a_part_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
