/* Steps that run at the same time: the same bits, and memory that none of them shares with what
 * another writes. */
#include "engine/together.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "engine/weights.h"
#include "support/engine_model.h"
#include "support/text_model.h"

/* Six heads of two short convolutions each, as detectors have them. */
static const char *const heads =
    "m (float[1,16,14,14] x, float[4,16,1,1] wa, float[4,4,3,3] wb) => (float[1,4,12,12] a2, "
    "float[1,4,12,12] b2, float[1,4,12,12] c2, float[1,4,12,12] d2, float[1,4,12,12] e2, "
    "float[1,4,12,12] f2) { a = Conv (x, wa) a2 = Conv (a, wb) b = Conv (x, wa) b2 = Conv (b, wb) "
    "c = Conv (x, wa) c2 = Conv (c, wb) d = Conv (x, wa) d2 = Conv (d, wb) e = Conv (x, wa) "
    "e2 = Conv (e, wb) f = Conv (x, wa) f2 = Conv (f, wb) }";

static void branches_run_at_the_same_time(void **state) {
    (void)state;
    assert_int_equal(engine_ran(heads).together, 0);
    engine_facts f = engine_ran_so(heads, (engine_way){.parallel = true});
    assert_true(f.together >= 12);
}

static void what_depends_on_another_step_waits(void **state) {
    (void)state;
    engine_facts f = engine_ran_so(
        "m (float[50,60] x) => (float[50,60] y) { a = Softmax <axis = 0> (x) "
        "b = Softmax <axis = 1> (a) c = Softmax <axis = 0> (b) d = Softmax <axis = 1> (c) "
        "y = Softmax <axis = 0> (d) }",
        (engine_way){.parallel = true});
    assert_int_equal(f.together, 0);
}

/* ---- places ---- */

static const char *const plain =
    "m (float[50,60] x) => (float[50,60] y) { a = Softmax (x) b = Softmax (x) c = Softmax (x) "
    "d = Softmax (x) e = Softmax (x) f = Softmax (x) a2 = Softmax (a) b2 = Softmax (b) "
    "c2 = Softmax (c) d2 = Softmax (d) e2 = Softmax (e) f2 = Softmax (f) "
    "y = Sum (a2, b2, c2, d2, e2, f2) }";

static hn_plan *plan_of(const char *text, hn_pool *pool, hn_weights *weights) {
    hn_plan *p;
    hn_error err;
    hn_arena scratch;
    hn_arena_init(&scratch, &model_mem, HN_MEM_SCRATCH);
    hn_compile how = {.alloc = &model_mem,
                      .scratch = &scratch,
                      .pool = pool,
                      .weights = weights,
                      .isa = hn_isa_available(),
                      .parallel = true};
    hn_model *m;
    assert_int_equal(hn_model_clone(&m, model_inferred(text), &model_mem, &err), HONE_OK);
    assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
    assert_int_equal(hn_plan_create(&p, m, &how, &err), HONE_OK);
    hn_arena_deinit(&scratch);
    return p;
}

/* Whether what operand i of a writes lies apart from operand k of b. */
static bool apart(const hn_plan *p, const hn_step *a, int i, const hn_step *b, int k) {
    if (a->operands[i].buffer < 0 || b->operands[k].buffer < 0) return true;
    const hn_buffer *x = &p->buffers[hn_buffer_root(p, a->operands[i].buffer)];
    const hn_buffer *y = &p->buffers[hn_buffer_root(p, b->operands[k].buffer)];
    if (x->kind != HN_BUFFER_SLAB || y->kind != HN_BUFFER_SLAB) return x != y;
    return x->offset + x->bytes <= y->offset || y->offset + y->bytes <= x->offset;
}

static void buffers_of_a_set_lie_apart(void **state) {
    (void)state;
    hn_pool *pool;
    hn_weights *weights;
    hn_error err;
    assert_int_equal(hn_pool_create(&pool, 3, &model_mem, &err), HONE_OK);
    assert_int_equal(hn_weights_create(&weights, NULL, &model_mem, &err), HONE_OK);
    hn_plan *p = plan_of(plain, pool, weights);
    int sets = 0;
    for (int first = 0; first < p->n_steps; first++) {
        int n = p->steps[first]->together;
        sets += n > 0;
        for (int i = first; i < first + n; i++)
            for (int k = first; k < first + n; k++)
                for (int x = 0; x < p->steps[i]->n_operands; x++)
                    for (int y = 0; y < p->steps[k]->n_operands; y++)
                        if (i != k && (p->steps[i]->writes >> x & 1))
                            assert_true(apart(p, p->steps[i], x, p->steps[k], y));
    }
    assert_int_equal(sets, 2);
    hn_plan_destroy(p);
    hn_weights_destroy(weights);
    hn_pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_run_at_the_same_time),
        cmocka_unit_test(what_depends_on_another_step_waits),
        cmocka_unit_test_setup_teardown(buffers_of_a_set_lie_apart, model_setup, model_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
