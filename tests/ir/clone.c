#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "formats/onnx.h"
#include "support/text_model.h"

/* A model with subgraphs that look at values around them, and attributes. */
static void a_copy_computes_the_same(void **state) {
    (void)state;
    static const char *const text =
        "m (float[n] x, bool c) => (float[n] y) <float[2] w = {3, 4}> {\n"
        "  t = Add(x, w)\n"
        "  y = If(c) <then_branch: graph = a () => (float[n] p) { p = Relu(t) },\n"
        "             else_branch: graph = b () => (float[n] q) { q = LeakyRelu <alpha: float = "
        "0.5> (t) }>\n"
        "}";
    hn_model *m = model_inferred(text), *copy;
    hn_error e;
    /* Every allocation fails once. */
    for (int i = 0;; i++) {
        atomic_store(&model_mem.fail_after, i);
        hone_status status = hn_model_clone(&copy, m, &model_mem, &e);
        atomic_store(&model_mem.fail_after, -1);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_E_NOMEM);
    }
    assert_int_equal(hn_model_verify(copy, &e), HONE_OK);
    assert_int_equal(hn_model_infer(copy, NULL, &e), HONE_OK);
    assert_string_equal(type_of(copy, "q"), type_of(m, "q"));
    assert_ptr_equal(value_of(copy, "w")->constant, value_of(m, "w")->constant);
    model_runs(copy, TEXTS("float[2] {-7, 1}", "bool {0}"), TEXTS("float[2] {-2, 5}"));
    model_runs(copy, TEXTS("float[2] {-7, 1}", "bool {1}"), TEXTS("float[2] {0, 5}"));
    hn_model_destroy(copy);
}

/* Names and attributes lie in the original, which edits of the copy leave alone. */
static void a_derived_copy_borrows(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[n] x, bool c) => (float[n] y) <float[2] w = {3, 4}> {\n"
        "  t = Add(x, w)\n"
        "  u = Transpose <perm: ints = [0]> (t)\n"
        "  y = If(c) <then_branch: graph = a () => (float[n] p) { p = Relu(u) },\n"
        "             else_branch: graph = b () => (float[n] q) { q = Neg(u) }>\n"
        "}");
    hn_model *copy;
    hn_value *made;
    hn_error e;
    for (int i = 0;; i++) {
        atomic_store(&model_mem.fail_after, i);
        hone_status status = hn_model_derive(&copy, m, &model_mem, &e);
        atomic_store(&model_mem.fail_after, -1);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_E_NOMEM);
    }
    assert_ptr_equal(value_of(copy, "t")->name, value_of(m, "t")->name);
    assert_int_equal(hn_model_infer(copy, NULL, &e), HONE_OK);
    model_runs(copy, TEXTS("float[2] {-7, 1}", "bool {0}"), TEXTS("float[2] {4, -5}"));
    hn_node *n = value_of(copy, "u")->producer;
    assert_int_equal(hn_node_set_ints(n, "perm", (int64_t[]){1, 0}, 2, &e), HONE_OK);
    assert_int_equal(hn_node_attr(value_of(m, "u")->producer, "perm")->n, 1);
    /* A name is to be made: those there are, of subgraphs too, are not made again. */
    assert_int_equal(hn_value_create(&made, copy->graph, NULL, "t", &e), HONE_OK);
    assert_string_not_equal(made->name, "t");
    assert_int_equal(hn_value_create(&made, copy->graph, NULL, "q", &e), HONE_OK);
    assert_string_not_equal(made->name, "q");
    assert_int_equal(hn_value_create(&made, copy->graph, "u", NULL, &e), HONE_E_MODEL);
    assert_int_equal(hn_model_verify(copy, &e), HONE_OK);
    hn_model_destroy(copy);
}

/* What a file has beside the graph comes along, and so does the file itself. */
static void a_whole_copy_is_saved_alike(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "<ir_version: 8, opset_import: [\"\" : 9], producer_name: \"p\", model_version: 3,\n"
        " doc_string: \"of the model\", metadata_props: [\"k\": \"v\"]>\n"
        "m (float[n,2] x) => (float[n,2] y) <float[2] w = {3, 4}> {\n"
        "  t = Clip <min: float = 1.0> (x)\n"
        "  y = Add(t, w)\n"
        "}");
    hn_model *copy;
    hn_error e;
    m->graph->first->doc = "of the node";
    value_of(m, "w")->doc = "of the weight";
    m->path = "somewhere";
    for (int i = 0;; i++) {
        atomic_store(&model_mem.fail_after, i);
        hone_status status = hn_model_copy(&copy, m, &model_mem, &e);
        atomic_store(&model_mem.fail_after, -1);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_E_NOMEM);
    }
    assert_string_equal(copy->path, "somewhere");
    assert_int_equal(hn_model_infer(copy, NULL, &e), HONE_OK);
    hn_file *files[2];
    assert_int_equal(hn_onnx_save_memory(&files[0], m, NULL, &e), HONE_OK);
    assert_int_equal(hn_onnx_save_memory(&files[1], copy, NULL, &e), HONE_OK);
    assert_int_equal(files[0]->bytes, files[1]->bytes);
    assert_memory_equal(files[0]->data, files[1]->data, files[0]->bytes);
    hn_file_unref(files[0]);
    hn_file_unref(files[1]);
    hn_model_destroy(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_whole_copy_is_saved_alike, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(a_copy_computes_the_same, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(a_derived_copy_borrows, model_setup, model_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
