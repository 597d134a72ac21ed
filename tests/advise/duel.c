/* Which of two programs is faster: what rounds of fixed times say together, and a real round. */
#include "advise/duel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/graph.h"
#include "support/scratch.h"

typedef struct a_round {
    double first, second; /* fastest runs, in ms */
    bool calm;
} a_round;

static hn_duel duel_of(const a_round *rounds, int n) {
    hn_duel d = {0};
    for (int i = 0; i < n; i++) {
        const a_round *r = &rounds[i];
        hn_round one = {.runs = 5,
                        .ms = {2 * r->first, 2 * r->second},
                        .least = {r->first, r->second},
                        .calm = r->calm};
        hn_duel_add(&d, &one);
    }
    return d;
}
#define DUEL(...) \
    duel_of((a_round[]){__VA_ARGS__}, (int)(sizeof(a_round[]){__VA_ARGS__} / sizeof(a_round)))

static void calm_rounds_that_agree_settle_it(void **state) {
    (void)state;
    hn_duel d = DUEL({4, 2, true}, {4.04, 2, true});
    assert_false(hn_duel_is_open(&d));
    assert_float_equal(hn_duel_speed(&d), 2, 1e-12);
    assert_float_equal(hn_duel_doubt(&d), 0.01, 1e-12);
    assert_true(d.ms[0] == 8 && d.ms[1] == 4);
    d = DUEL({2, 4, true}, {2, 4, true});
    assert_float_equal(hn_duel_speed(&d), 0.5, 1e-12);
}

static void one_round_settles_nothing(void **state) {
    (void)state;
    hn_duel d = DUEL({4, 2, true});
    assert_true(hn_duel_is_open(&d));
    assert_true(hn_duel_doubt(&d) > HN_DOUBTFUL);
}

/* The fault this guards against: the doubt of several rounds was that of the best of them. */
static void rounds_that_disagree_raise_the_doubt(void **state) {
    (void)state;
    hn_duel d = DUEL({1.37, 1, true}, {1, 1, true});
    assert_true(hn_duel_is_open(&d));
    assert_float_equal(hn_duel_doubt(&d), 0.37, 1e-12);
    assert_float_equal(hn_duel_speed(&d), 1, 0);
    d = DUEL({1.37, 1, true}, {1.37, 1, true}, {1.37, 1, true}, {1, 1, true});
    assert_float_equal(hn_duel_doubt(&d), 0.37, 1e-12);
    assert_float_equal(hn_duel_speed(&d), 1, 0);
    /* A difference that is larger than the disagreement is a difference, with a doubt. */
    d = DUEL({4, 1, true}, {3, 1, true});
    assert_float_equal(hn_duel_speed(&d), 3, 1e-12);
    assert_float_equal(hn_duel_doubt(&d), 1.0 / 3, 1e-12);
}

/* A busy machine cannot confirm a speed, however well its rounds agree. */
static void disturbed_rounds_settle_nothing(void **state) {
    (void)state;
    hn_duel d = DUEL({4, 2, false}, {4, 2, false}, {4, 2, true});
    assert_true(hn_duel_is_open(&d));
    assert_float_equal(hn_duel_doubt(&d), HN_DISTURBED, 1e-12);
    assert_float_equal(hn_duel_speed(&d), 2, 1e-12);
    d = DUEL({1.08, 1, false}, {1.08, 1, false});
    assert_float_equal(hn_duel_speed(&d), 1, 0);
    hn_duel long_one = {0};
    int rounds = 0;
    do hn_duel_add(&long_one, &(hn_round){.least = {2, 1}}), rounds++;
    while (hn_duel_is_open(&long_one));
    assert_int_equal(rounds, HN_MOST_ROUNDS);
}

/* Two calm rounds make those that were not irrelevant. */
static void calm_rounds_count_alone(void **state) {
    (void)state;
    hn_duel d = DUEL({9, 2, false}, {4, 2, true}, {1, 2, false}, {4, 2, true});
    assert_false(hn_duel_is_open(&d));
    assert_float_equal(hn_duel_speed(&d), 2, 1e-12);
    assert_float_equal(hn_duel_doubt(&d), 0, 1e-12);
}

static void small_differences_are_none(void **state) {
    (void)state;
    hn_duel d = DUEL({1.02, 1, true}, {1.02, 1, true});
    assert_false(hn_duel_is_open(&d));
    assert_float_equal(hn_duel_speed(&d), 1, 0);
    d = DUEL({1.08, 1, true}, {1.08, 1, true});
    assert_float_equal(hn_duel_speed(&d), 1.08, 1e-12);
    d = DUEL({1.08, 1, true}, {1.12, 1, true});
    assert_float_equal(hn_duel_speed(&d), 1, 0);
    d = DUEL({0.98, 1, true}, {0.98, 1, true});
    assert_float_equal(hn_duel_speed(&d), 1, 0);
}

/* ---- a real round ---- */

typedef struct pair {
    hn_model *model[2];
    hn_program *program[2];
    hn_pool *pool;
    hn_tensor *in;
} pair;

static hn_program *program_of(const pair *p, const hn_model *m) {
    hn_run_options how = {
        .engine = {.alloc = &scratch_mem, .pool = p->pool, .isa = hn_isa_available()}};
    hn_program *program = NULL;
    assert_int_equal(hn_program_create(&program, m, &how, NULL), HONE_OK);
    return program;
}

static void begin(pair *p, const char *a, const char *b) {
    *p = (pair){.model = {graph_model(21, a), graph_model(21, b)}};
    assert_int_equal(hn_pool_create(&p->pool, 1, &scratch_mem, NULL), HONE_OK);
    for (int i = 0; i < 2; i++) p->program[i] = program_of(p, p->model[i]);
    assert_int_equal(hn_tensor_create(&p->in, &scratch_mem, HN_MEM_DATA, HONE_DTYPE_F32, 2,
                                      (const int64_t[]){64, 64}, NULL),
                     HONE_OK);
    memset(p->in->data, 0, p->in->bytes);
}

static void end(pair *p) {
    for (int i = 0; i < 2; i++) {
        hn_program_destroy(p->program[i]);
        hn_model_destroy(p->model[i]);
    }
    hn_tensor_unref(p->in);
    hn_pool_destroy(p->pool);
}

static hn_round round_of(pair *p, int first) {
    hn_round r = {0};
    hn_error err;
    const hn_tensor *in = p->in;
    assert_int_equal(
        hn_round_run(&r, p->program[first], p->program[!first], &in, 1, 0.02, &scratch_mem, &err),
        HONE_OK);
    assert_true(r.runs >= 3 && r.best_pace > 0);
    return r;
}

#define LITTLE "g (float[64,64] x) => (float[64,64] y) { y = Relu (x) }"
#define MUCH                                                                       \
    "g (float[64,64] x) => (float[64,64] y) { a = MatMul (x, x) b = MatMul (a, x)" \
    " c = MatMul (b, x) d = MatMul (c, x) e = MatMul (d, x) y = MatMul (e, x) }"

/* Of two programs, the one that does a hundred times the work is slower. */
static void the_slower_of_two_is_told(void **state) {
    (void)state;
    pair p;
    begin(&p, LITTLE, MUCH);
    hn_round r = round_of(&p, 0);
    assert_true(r.least[0] < r.least[1] && r.ms[0] < r.ms[1]);
    r = round_of(&p, 1);
    assert_true(r.least[0] > r.least[1]);
    end(&p);
}

/* Names do not matter to the time a program takes; sizes and operators do. */
static void equal_steps_are_recognised(void **state) {
    (void)state;
    static const char *const others[] = {
        LITTLE, "h (float[64,64] other) => (float[64,64] z) { z = Relu (other) }",
        "g (float[64,64] x) => (float[64,64] y) { y = Tanh (x) }", MUCH};
    for (int i = 0; i < 4; i++) {
        pair p;
        char hex[2][HN_SHA256_HEX];
        hn_error err;
        begin(&p, LITTLE, others[i]);
        const hn_tensor *in = p.in;
        for (int k = 0; k < 2; k++)
            assert_int_equal(hn_program_steps(p.program[k], &in, hex[k], &err), HONE_OK);
        assert_int_equal(strcmp(hex[0], hex[1]) == 0, i < 2);
        end(&p);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(calm_rounds_that_agree_settle_it),
        TEST(one_round_settles_nothing),
        TEST(rounds_that_disagree_raise_the_doubt),
        TEST(disturbed_rounds_settle_nothing),
        TEST(calm_rounds_count_alone),
        TEST(small_differences_are_none),
        TEST(the_slower_of_two_is_told),
        TEST(equal_steps_are_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
