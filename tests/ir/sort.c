/* Topological order: what is in order stays, what is not moves as little as it must, and a cycle is
 * named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/ir.h"

static hn_allocator alloc;
static hn_model *m;

static int setup(void **state) {
    (void)state;
    hn_graph *g;
    hn_allocator_init(&alloc);
    if (hn_model_create(&m, &alloc, NULL) != HONE_OK) return -1;
    return hn_graph_create(&g, m, NULL, NULL) == HONE_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    hn_model_destroy(m);
    return atomic_load(&alloc.blocks) == 0 ? 0 : -1;
}

static hn_value *value(hn_graph *g, const char *name) {
    hn_value *v = hn_graph_find(g, name);
    if (v == NULL) assert_int_equal(hn_value_create(&v, g, name, NULL, NULL), HONE_OK);
    return v;
}

/* A node that computes the value of its own name from those of one letter each. */
static hn_node *node(hn_graph *g, const char *name, const char *inputs) {
    hn_node *n;
    int n_inputs = (int)strlen(inputs);
    assert_int_equal(hn_node_create(&n, g, "", "N", name, n_inputs, 1, NULL), HONE_OK);
    hn_node_set_output(n, 0, value(g, name));
    for (int i = 0; i < n_inputs; i++) hn_node_set_input(n, i, value(g, (char[]){inputs[i], '\0'}));
    hn_node_insert(n, NULL);
    return n;
}

static void expect_order(const char *names, bool want_moved) {
    hn_error err = {0};
    bool moved;
    if (hn_graph_sort(m->graph, &moved, &err) != HONE_OK) fail_msg("%s", err.text);
    char found[16] = "";
    const hn_node *prev = NULL;
    for (const hn_node *n = m->graph->first; n != NULL; prev = n, n = n->next) {
        strcat(found, n->name);
        assert_ptr_equal(n->prev, prev);
    }
    assert_ptr_equal(m->graph->last, prev);
    assert_string_equal(found, names);
    assert_int_equal(moved, want_moved);
}

static void order_stays(void **state) {
    (void)state;
    expect_order("", false);
    node(m->graph, "a", "");
    node(m->graph, "b", "a");
    node(m->graph, "c", "");
    node(m->graph, "d", "bca");
    expect_order("abcd", false);
}

static void few_nodes_move(void **state) {
    (void)state;
    node(m->graph, "a", "d");
    node(m->graph, "b", "");
    node(m->graph, "c", "a");
    node(m->graph, "d", "");
    node(m->graph, "e", "b");
    expect_order("bdace", true);
    expect_order("bdace", false);
}

static void a_use_in_a_subgraph_counts(void **state) {
    (void)state;
    hn_node *outer = node(m->graph, "a", "");
    node(m->graph, "b", "");
    hn_graph *sub;
    hn_attr *attr;
    assert_int_equal(hn_graph_create(&sub, m, m->graph, NULL), HONE_OK);
    assert_int_equal(hn_node_add_attr(&attr, outer, "body", HN_ATTR_GRAPH, NULL), HONE_OK);
    attr->u.graph = sub;
    sub->owner = outer;
    node(sub, "x", "b");
    expect_order("ba", true);
    assert_int_equal(hn_graph_add_output(sub, hn_graph_value(m->graph, "b"), NULL), HONE_OK);
    expect_order("ba", false);
    /* The node that uses its own result, however deep inside. */
    node(sub, "y", "a");
    hn_error err = {0};
    assert_int_equal(hn_graph_sort(m->graph, NULL, &err), HONE_E_MODEL);
    assert_string_equal(err.text, "N 'a' depends on its own result: the nodes form a cycle");
}

static void a_cycle_is_named(void **state) {
    (void)state;
    node(m->graph, "a", "");
    node(m->graph, "z", "c"); /* waits for the cycle, but is not part of it */
    node(m->graph, "b", "ad");
    node(m->graph, "c", "b");
    node(m->graph, "d", "c");
    hn_error err = {0};
    assert_int_equal(hn_graph_sort(m->graph, NULL, &err), HONE_E_MODEL);
    assert_null(strstr(err.text, "'z'"));
    assert_non_null(strstr(err.text, "depends on its own result"));
}

static void memory_runs_out(void **state) {
    (void)state;
    node(m->graph, "a", "b");
    node(m->graph, "b", "");
    for (int n = 0; n < 2; n++) {
        atomic_store(&alloc.fail_after, n);
        assert_int_equal(hn_graph_sort(m->graph, NULL, NULL), HONE_E_NOMEM);
    }
    atomic_store(&alloc.fail_after, -1);
    expect_order("ba", true);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(order_stays),      TEST(few_nodes_move),  TEST(a_use_in_a_subgraph_counts),
        TEST(a_cycle_is_named), TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
