#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "compress/budget.h"
#include "support/scratch.h"

enum { LAYERS = 5, CHOICES = 4 };

static hone_status moves_of(const hn_budget_choice *c, int layers, int choices, int *first,
                            hn_budget_move *moves, int *n) {
    hn_error err;
    return hn_budget_moves(c, layers, choices, &scratch_mem, first, moves, n, &err);
}

/* The picture of the header: b is never chosen, and what saves nothing ends it. */
static void only_the_hull_is_taken(void **state) {
    (void)state;
    static const hn_budget_choice c[] = {{0, 10}, {2, 8}, {4, 3}, {10, 2}, {12, 2}, {NAN, 0}};
    hn_budget_move moves[5];
    int first, n;
    assert_int_equal(moves_of(c, 1, 6, &first, moves, &n), HONE_OK);
    assert_int_equal(first, 0);
    assert_int_equal(n, 2);
    assert_int_equal(moves[0].to, 2);
    assert_int_equal(moves[1].to, 3);
    assert_true(moves[0].harm == 4 && moves[0].cost == 3);
    assert_true(moves[1].harm == 10 && moves[1].cost == 2);
}

static void the_best_bargain_comes_first(void **state) {
    (void)state;
    /* The second layer saves 5 per harm, then the first 2, then the second 1. */
    static const hn_budget_choice c[] = {{0, 10}, {1, 8}, {INFINITY, 1}, {0, 10}, {1, 5}, {3, 3}};
    hn_budget_move moves[4];
    int first[2], n;
    assert_int_equal(moves_of(c, 2, 3, first, moves, &n), HONE_OK);
    assert_int_equal(n, 3);
    assert_int_equal(moves[0].layer, 1);
    assert_int_equal(moves[1].layer, 0);
    assert_int_equal(moves[2].layer, 1);
    assert_int_equal(moves[2].to, 2);
    assert_true(moves[2].harm == 4 && moves[2].cost == 11);
}

/* What looks worse and is better is where it begins. */
static void less_harm_for_less_is_free(void **state) {
    (void)state;
    static const hn_budget_choice c[] = {{1, 10}, {0.5, 4}, {0.5, 3}, {2, 1}};
    hn_budget_move moves[3];
    int first, n;
    assert_int_equal(moves_of(c, 1, 4, &first, moves, &n), HONE_OK);
    assert_int_equal(first, 2);
    assert_int_equal(n, 1);
    assert_int_equal(moves[0].to, 3);
}

/* Of all sets of choices that do no more harm than a point of the front, none is cheaper: the front
 * is the lower hull of all sets, which a small problem allows to try. */
static void no_set_lies_below_the_front(void **state) {
    (void)state;
    hn_budget_choice c[LAYERS * CHOICES];
    hn_budget_move moves[LAYERS * CHOICES];
    int first[LAYERS], n;
    uint64_t seed = 7;
    for (int i = 0; i < LAYERS * CHOICES; i++) {
        double v[2];
        for (int k = 0; k < 2; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            v[k] = (double)(seed >> 40) / 16777216;
        }
        c[i] = (hn_budget_choice){v[0], v[1]};
    }
    assert_int_equal(moves_of(c, LAYERS, CHOICES, first, moves, &n), HONE_OK);
    assert_true(n >= LAYERS);
    for (int set = 0; set < 1024; set++) {
        double harm = 0, cost = 0;
        for (int l = 0, rest = set; l < LAYERS; l++, rest /= CHOICES) {
            harm += c[l * CHOICES + rest % CHOICES].harm;
            cost += c[l * CHOICES + rest % CHOICES].cost;
        }
        for (int k = 0; k < n; k++)
            assert_true(harm > moves[k].harm - 1e-12 || cost > moves[k].cost - 1e-12);
    }
    for (int k = 1; k < n; k++) assert_true(moves[k].cost < moves[k - 1].cost);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_hull_is_taken, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(the_best_bargain_comes_first, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(less_harm_for_less_is_free, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(no_set_lies_below_the_front, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
