#include "measure/cut_down.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "ops/infer.h"
#include "support/compare_models.h"
#include "support/scratch.h"

typedef struct hunt {
    two_models t;
    hn_pairs *pairs;
    hn_tensor *in[1];
    hn_cut_down cutter;
    hn_cut_part found;
} hunt;

static hone_status run(const hunt *h, const hn_model *m, const hn_cut_part *s, hn_tensor **y,
                       hn_error *err) {
    hn_program *program;
    const hn_tensor *in[4];
    assert_true(m->graph->n_inputs <= 4);
    for (int i = 0; i < m->graph->n_inputs; i++)
        for (int k = 0; k < s->n_in; k++)
            if (strcmp(m->graph->inputs[i]->name, s->a->graph->inputs[k]->name) == 0)
                in[i] = s->in[k];
    HN_TRY(hn_program_create(&program, m, &h->t.how[0], err));
    hone_status status = hn_program_run(program, in, y, err);
    hn_program_destroy(program);
    return status;
}

static hone_status differs(void *ctx, const hn_cut_part *s, bool *failed, hn_error *err) {
    hunt *h = ctx;
    hn_tensor *a, *b;
    hn_distance d = {0};
    HN_TRY(run(h, s->a, s, &a, err));
    hone_status status = run(h, s->b, s, &b, err);
    if (status == HONE_OK) {
        hn_distance_add(&d, a, b);
        hn_tensor_unref(b);
    }
    hn_tensor_unref(a);
    *failed = hn_distance_sqnr(&d) < 40;
    return status;
}

static hone_status search(hunt *h, hn_error *err) {
    HN_TRY(hn_pairs_create(&h->pairs, h->t.a, h->t.b, &scratch_mem, err));
    HN_TRY(h->t.samples.load(&h->t, 0, h->in, err));
    h->cutter = (hn_cut_down){.pairs = h->pairs,
                              .how = &h->t.how[0],
                              .alloc = &scratch_mem,
                              .in = h->in,
                              .fails = differs,
                              .ctx = h};
    return hn_cut_down_run(&h->cutter, &h->found, err);
}

static void end(hunt *h) {
    hn_cut_part_deinit(&h->found);
    hn_cut_down_deinit(&h->cutter);
    hn_tensor_unref(h->in[0]);
    hn_pairs_destroy(h->pairs);
    two_models_end(&h->t);
}

/* Whichever layer is damaged, it alone is left, and it still fails. */
static void the_damaged_layer_is_left(void **state) {
    (void)state;
    for (int i = 0; i < CHAIN_LAYERS; i++) {
        hunt h = {.pairs = NULL};
        hn_error err;
        bool failed = false;
        two_models_chain(&h.t, 9, 1u << i, 0.3);
        if (search(&h, &err) != HONE_OK) fail_msg("%s", err.text);
        const hn_graph *g = h.found.a->graph;
        assert_int_equal(g->n_nodes, 1);
        assert_int_equal(g->first->name[2], '1' + i);
        assert_int_equal(h.found.b->graph->n_nodes, 1);
        assert_string_equal(h.found.b->graph->first->name, g->first->name);
        assert_int_equal(h.found.n_in, 1);
        assert_int_equal(differs(&h, &h.found, &failed, &err), HONE_OK);
        assert_true(failed);
        end(&h);
    }
}

/* Two steps are off by 0.6 % each, which passes; together they do not. */
static void what_fails_together_stays_together(void **state) {
    (void)state;
    hunt h = {.pairs = NULL};
    hn_error err;
    two_models_of(&h.t,
                  "g (float[4] x) => (float[4] z) <float k = {3}> {"
                  " u = Abs (x) v = Mul (u, k) w = Mul (v, k) z = Relu (w) }",
                  "g (float[4] x) => (float[4] z) <float k = {3.018}> {"
                  " u = Abs (x) v = Mul (u, k) w = Mul (v, k) z = Relu (w) }");
    if (search(&h, &err) != HONE_OK) fail_msg("%s", err.text);
    const hn_graph *g = h.found.a->graph;
    assert_int_equal(g->n_nodes, 2);
    assert_string_equal(g->first->op_type, "Mul");
    assert_string_equal(g->last->op_type, "Mul");
    assert_string_equal(g->inputs[0]->name, "u");
    end(&h);
}

static void where_nothing_fails_nothing_is_found(void **state) {
    (void)state;
    hunt h = {.pairs = NULL};
    hn_error err;
    two_models_chain(&h.t, 9, 0, 0.3);
    assert_int_equal(search(&h, &err), HONE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "the models agree"));
    end(&h);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_damaged_layer_is_left),
        CASE(what_fails_together_stays_together),
        CASE(where_nothing_fails_nothing_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
