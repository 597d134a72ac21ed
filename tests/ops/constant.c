#include "ops/eval.h"
#include "support/op_test.h"

static void spellings(void **state) {
    (void)state;
    OP_RUN("Constant", .attrs = "value=f64[2]{1 2.5}", .out = {"f64[2]{1 2.5}"});
    OP_RUN("Constant", .attrs = "value=s4[3]{-8 7 1}", .out = {"s4[3]{-8 7 1}"});
    OP_RUN("Constant", .attrs = "value=u8[0, 2]{}", .out = {"u8[0, 2]{}"});
    OP_RUN("Constant", .attrs = "value_float=0.5", .out = {"f32[]{0.5}"});
    OP_RUN("Constant", .attrs = "value_floats=[0.5, 2]", .out = {"f32[2]{0.5 2}"});
    OP_RUN("Constant", .attrs = "value_int=-9223372036854775808",
           .out = {"s64[]{-9223372036854775808}"});
    OP_RUN("Constant", .attrs = "value_ints=[3, 4]", .out = {"s64[2]{3 4}"});
    OP_RUN("Constant", .attrs = "value_ints=[]", .out = {"s64[0]{}"});
    OP_INFER("Constant", .attrs = "value_string='abc'", .out = {"string[]"});
    OP_RUN("Constant", .attrs = "value_string='abc'", .error = "strings");
    OP_RUN("Constant", .attrs = "value=string[0]{}", .error = "strings");
}

static void refuses(void **state) {
    (void)state;
    OP_INFER("Constant", .error = "no attribute gives the value");
    OP_INFER("Constant", .attrs = "value_int=1 value_float=0.5",
             .error = "attributes 'value_float' and 'value_int' both give the value");
    OP_INFER("Constant", .attrs = "value_int=0.5",
             .error = "attribute 'value_int' is FLOAT, expected INT");
}

/* A 2 x 3 matrix with 7 at `where` and nothing else. */
static hone_status run_sparse(int64_t where, hn_tensor **out, hn_error *err) {
    static hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_model *m;
    hn_graph *g;
    hn_node *n;
    hn_value *y;
    hn_attr *a;
    hn_tensor *values, *indices;
    assert_int_equal(hn_model_create(&m, &alloc, err), HONE_OK);
    assert_int_equal(hn_graph_create(&g, m, NULL, err), HONE_OK);
    assert_int_equal(hn_node_create(&n, g, "", "Constant", "", 0, 1, err), HONE_OK);
    n->op = hn_op_find("", "Constant");
    assert_int_equal(hn_value_create(&y, g, "y", NULL, err), HONE_OK);
    hn_node_set_output(n, 0, y);
    hn_node_insert(n, NULL);
    assert_int_equal(
        hn_tensor_from_s64(&values, &alloc, HONE_DTYPE_S32, 1, (int64_t[]){1}, (int64_t[]){7}, err),
        HONE_OK);
    assert_int_equal(
        hn_tensor_from_s64(&indices, &alloc, HONE_DTYPE_S64, 1, (int64_t[]){1}, &where, err),
        HONE_OK);
    assert_int_equal(hn_node_add_attr(&a, n, "sparse_value", HN_ATTR_SPARSE_TENSOR, err), HONE_OK);
    assert_int_equal(
        hn_tensor_create_sparse(&a->u.tensor, &alloc, 2, (int64_t[]){2, 3}, values, indices, err),
        HONE_OK);
    hn_exec_options o = {.alloc = hn_allocator_default()};
    hone_status s = hn_node_run(n, &o, NULL, out, err);
    hn_model_destroy(m);
    assert_int_equal(alloc.blocks, 0);
    return s;
}

static void sparse(void **state) {
    (void)state;
    hn_error err;
    hn_tensor *y;
    assert_int_equal(run_sparse(4, &y, &err), HONE_OK);
    assert_int_equal(y->dtype, HONE_DTYPE_S32);
    assert_true(hn_tensor_same_dims(y, 2, (int64_t[]){2, 3}));
    for (int i = 0; i < 6; i++) assert_int_equal(hn_tensor_s64(y, i), i == 4 ? 7 : 0);
    hn_tensor_unref(y);
    assert_int_equal(run_sparse(6, &y, &err), HONE_E_MODEL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings),
        cmocka_unit_test(refuses),
        cmocka_unit_test(sparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
