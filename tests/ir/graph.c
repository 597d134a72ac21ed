#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/ir.h"

static hn_allocator alloc;
static hn_error err;
static hn_model *m;
static hn_graph *g;

static int setup(void **state) {
    (void)state;
    hn_allocator_init(&alloc);
    assert_int_equal(hn_model_create(&m, &alloc, &err), HONE_OK);
    assert_int_equal(hn_model_set_opset(m, "", 17, &err), HONE_OK);
    assert_int_equal(hn_graph_create(&g, m, NULL, &err), HONE_OK);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    hn_model_destroy(m);
    return atomic_load(&alloc.blocks) != 0;
}

static hn_value *value(hn_graph *in, const char *name) {
    hn_value *v = NULL;
    assert_int_equal(hn_value_create(&v, in, name, NULL, &err), HONE_OK);
    return v;
}

static hn_value *input(hn_graph *in, const char *name) {
    hn_value *v = value(in, name);
    assert_int_equal(hn_graph_add_input(in, v, &err), HONE_OK);
    return v;
}

/* out = op(a, b) at the end of the graph. */
static hn_node *node(hn_graph *in, const char *op, hn_value *a, hn_value *b, const char *out) {
    hn_node *n = NULL;
    assert_int_equal(hn_node_create(&n, in, "ai.onnx", op, out, b != NULL ? 2 : 1, 1, &err),
                     HONE_OK);
    hn_node_set_input(n, 0, a);
    if (b != NULL) hn_node_set_input(n, 1, b);
    hn_node_set_output(n, 0, value(in, out));
    hn_node_insert(n, NULL);
    return n;
}

static void verified(void) {
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
}

static void broken(const char *text) {
    assert_int_equal(hn_model_verify(m, &err), HONE_E_MODEL);
    assert_string_equal(err.text, text);
}

static void building(void **state) {
    (void)state;
    hn_value *x = input(g, "x");
    hn_node *a = node(g, "Add", x, x, "a"), *b = node(g, "Relu", a->outputs[0], NULL, "b");
    assert_int_equal(hn_graph_add_output(g, b->outputs[0], &err), HONE_OK);
    verified();
    assert_int_equal(x->n_uses, 2);
    assert_int_equal(a->opset, INT64_MAX);
    assert_string_equal(a->domain, "");
    assert_int_equal(hn_model_opset(m, "ai.onnx"), 17);
    assert_int_equal(hn_model_opset(m, "com.microsoft"), 0);
    assert_ptr_equal(hn_graph_find(g, "a"), a->outputs[0]);
    hn_value *again = NULL;
    assert_int_equal(hn_value_create(&again, g, "a", NULL, &err), HONE_E_MODEL);
    assert_string_equal(err.text, "the name 'a' is given to two values of graph ''");
    assert_int_equal(hn_value_create(&again, g, NULL, "a", &err), HONE_OK); /* made up */
    assert_string_not_equal(again->name, "a");
    assert_int_equal(hn_graph_add_input(g, x, &err), HONE_E_MODEL);
    char label[64];
    assert_string_equal(hn_node_label(a, label, sizeof label), "Add 'a'");
    b->name = "";
    assert_string_equal(hn_node_label(b, label, sizeof label), "Relu (output 'b')");
}

static void editing(void **state) {
    (void)state;
    hn_value *x = input(g, "x"), *y = input(g, "y");
    hn_node *a = node(g, "Add", x, y, "a"), *r = node(g, "Relu", a->outputs[0], NULL, "r"),
            *s = node(g, "Mul", r->outputs[0], a->outputs[0], "s");
    for (int i = 0; i < 20; i++) /* outputs move in memory as they grow */
        assert_int_equal(hn_graph_add_output(g, s->outputs[0], &err), HONE_OK);
    verified();
    hn_value_replace(r->outputs[0], a->outputs[0]);
    assert_int_equal(r->outputs[0]->n_uses, 0);
    assert_ptr_equal(s->inputs[0].value, a->outputs[0]);
    hn_node_remove(r);
    verified();
    assert_null(hn_graph_find(g, "r"));
    assert_int_equal(g->n_nodes, 2);

    hn_value_replace(s->outputs[0], y);
    verified();
    assert_int_equal(y->n_uses, 21);
    hn_graph_set_output(g, 3, x);
    assert_int_equal(y->n_uses, 20);
    assert_int_equal(hn_node_resize_inputs(a, 4, &err), HONE_OK);
    verified();
    assert_null(hn_node_input(a, 3));
    hn_node_set_input(a, 3, x);
    verified();
    assert_int_equal(hn_node_resize_inputs(a, 1, &err), HONE_OK);
    verified();
    assert_int_equal(x->n_uses, 2);

    hn_node *first = NULL;
    assert_int_equal(hn_node_create(&first, g, "", "Neg", "first", 1, 1, &err), HONE_OK);
    hn_node_set_input(first, 0, x);
    hn_node_set_output(first, 0, value(g, "neg"));
    hn_node_insert(first, a);
    hn_node_set_input(a, 0, first->outputs[0]);
    verified();
    assert_ptr_equal(g->first, first);
    hn_node_remove(s);
    hn_node_remove(a);
    hn_node_remove(first);
    verified();
    assert_null(g->first);
    assert_null(g->last);
}

static void sources_learn_of_edits(void **state) {
    (void)state;
    hn_value *x = input(g, "x");
    hn_node *a = node(g, "Abs", x, NULL, "a"), *b = node(g, "Neg", a->outputs[0], NULL, "b");
    static hn_source source = {.n_nodes = 2};
    b->source = &source;
    hn_value_replace(a->outputs[0], x);
    assert_true(source.edited);
    source.edited = false;
    assert_int_equal(hn_node_set_i(b, "k", 1, &err), HONE_OK);
    assert_true(source.edited);
    source.edited = false;
    hn_node_remove_attr(b, "none");
    assert_false(source.edited);
    hn_node_remove_attr(b, "k");
    assert_true(source.edited);
}

static void attributes(void **state) {
    (void)state;
    hn_node *n = node(g, "Op", input(g, "x"), NULL, "y");
    assert_int_equal(hn_node_set_ints(n, "list", (int64_t[]){1, 2, 3}, 3, &err), HONE_OK);
    assert_int_equal(hn_node_set_f(n, "f", 1.5f, &err), HONE_OK);
    assert_int_equal(hn_node_set_s(n, "s", "text", &err), HONE_OK);
    assert_int_equal(hn_node_attr(n, "list")->u.ints[2], 3);
    hn_attr *t;
    assert_int_equal(hn_node_add_attr(&t, n, "list", HN_ATTR_TENSOR, &err), HONE_OK);
    float v = 2;
    assert_int_equal(hn_tensor_from_f32(&t->u.tensor, &alloc, 0, NULL, &v, &err), HONE_OK);
    assert_int_equal(hn_node_set_i(n, "list", 7, &err), HONE_OK); /* lets go of the tensor */
    assert_int_equal(hn_node_attr(n, "list")->u.i, 7);
    assert_string_equal(hn_node_attr(n, "s")->u.s.p, "text");
    hn_node_remove_attr(n, "f");
    assert_null(hn_node_attr(n, "f"));
    assert_string_equal(hn_attr_type_name(HN_ATTR_INTS), "INTS");
}

/* y = If(c) { relu of the outer x } */
static hn_graph *with_subgraph(hn_node **owner, hn_value *x) {
    hn_graph *sub;
    assert_int_equal(hn_graph_create(&sub, m, g, &err), HONE_OK);
    hn_node *inside = node(sub, "Relu", x, NULL, "inside");
    assert_int_equal(hn_graph_add_output(sub, inside->outputs[0], &err), HONE_OK);
    *owner = node(g, "If", x, NULL, "y");
    hn_attr *a;
    assert_int_equal(hn_node_add_attr(&a, *owner, "then_branch", HN_ATTR_GRAPH, &err), HONE_OK);
    a->u.graph = sub;
    sub->owner = *owner;
    return sub;
}

static void subgraphs(void **state) {
    (void)state;
    hn_value *x = input(g, "x");
    hn_node *before = node(g, "Abs", x, NULL, "before"), *owner;
    hn_graph *sub = with_subgraph(&owner, before->outputs[0]);
    verified();
    assert_int_equal(before->outputs[0]->n_uses, 2); /* by If and inside it */
    assert_ptr_equal(hn_graph_find(sub, "x"), x);
    hn_value_replace(before->outputs[0], x);
    verified();
    hn_node_remove(owner);
    verified();
    assert_int_equal(x->n_uses, 1);

    hn_graph *deep = g;
    hone_status status = HONE_OK;
    int depth = 0;
    for (; status == HONE_OK; depth++) status = hn_graph_create(&deep, m, deep, &err);
    assert_int_equal(status, HONE_E_LIMIT);
    assert_int_equal(depth, HN_MAX_DEPTH + 1);
}

static void the_verifier_finds(void **state) {
    (void)state;
    hn_value *x = input(g, "x");
    hn_node *a = node(g, "Abs", x, NULL, "a"), *b = node(g, "Neg", a->outputs[0], NULL, "b");
    verified();
    a->inputs[0].index = 1;
    broken("'x' is used by an input that does not exist");
    a->inputs[0].index = 0;
    x->n_uses = 2;
    broken("'x' counts 2 uses but has 1");
    x->n_uses = 1;
    x->n_outputs = 1;
    broken("'x' counts 1 outputs but is 0");
    x->n_outputs = 0;
    hn_node_set_input(a, 0, b->outputs[0]);
    broken("Abs 'a' uses 'b' before it is computed");
    hn_value *nothing = value(g, "nothing");
    hn_node_set_input(a, 0, nothing);
    broken("Abs 'a' uses 'nothing', which nothing computes");
    hn_node_set_input(a, 0, x);
    verified();
    g->n_nodes = 3;
    broken("graph '' counts 3 nodes but has 2");
    g->n_nodes = 2;
    a->outputs[0]->producer = b;
    broken("'a' names a producer that does not produce it");
    a->outputs[0]->producer = a;
    hn_graph *other;
    assert_int_equal(hn_graph_create(&other, m, g, &err), HONE_OK);
    hn_value *hidden = input(other, "hidden");
    hn_node_set_input(a, 0, hidden);
    broken("Abs 'a' uses 'hidden' of a graph that does not enclose it");
    hn_node_set_input(a, 0, x);
    hn_node *owner;
    hn_graph *sub = with_subgraph(&owner, x);
    verified();
    input(sub, "a");
    broken("'a' is defined in graph '' and again in a graph around it");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (int k = 0;; k++) {
        hn_allocator a;
        hn_allocator_init(&a);
        atomic_store(&a.fail_after, k);
        hn_model *model = NULL;
        hn_graph *graph;
        hn_value *x, *y;
        hn_node *n;
        hn_tensor *t;
        hone_status s = hn_model_create(&model, &a, &err);
        if (s == HONE_OK) s = hn_model_set_opset(model, "", 17, &err);
        if (s == HONE_OK) s = hn_graph_create(&graph, model, NULL, &err);
        for (int i = 0; i < 40 && s == HONE_OK; i++) {
            s = hn_value_create(&x, graph, NULL, "x", &err);
            if (s == HONE_OK) s = hn_graph_add_input(graph, x, &err);
            if (s == HONE_OK) s = hn_graph_add_output(graph, x, &err);
        }
        if (s == HONE_OK) s = hn_node_create(&n, graph, "", "Add", "n", 1, 1, &err);
        if (s == HONE_OK) {
            hn_node_insert(n, NULL);
            s = hn_node_resize_inputs(n, 5, &err);
        }
        if (s == HONE_OK) s = hn_node_set_ints(n, "k", (int64_t[]){1, 2}, 2, &err);
        if (s == HONE_OK)
            s = hn_tensor_from_s64(&t, &a, HONE_DTYPE_S64, 1, (int64_t[]){2}, (int64_t[]){1, 2},
                                   &err);
        if (s == HONE_OK) s = hn_value_create_constant(&y, graph, NULL, "c", t, &err);
        hn_model_destroy(model);
        assert_int_equal(atomic_load(&a.blocks), 0);
        if (s == HONE_OK) break;
        assert_int_equal(s, HONE_E_NOMEM);
        assert_true(k < 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(building, setup, teardown),
        cmocka_unit_test_setup_teardown(editing, setup, teardown),
        cmocka_unit_test_setup_teardown(sources_learn_of_edits, setup, teardown),
        cmocka_unit_test_setup_teardown(attributes, setup, teardown),
        cmocka_unit_test_setup_teardown(subgraphs, setup, teardown),
        cmocka_unit_test_setup_teardown(the_verifier_finds, setup, teardown),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
