/* How the time to train in is shared, by fixed numbers. */
#include "advise/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

typedef struct set_up {
    hone_optimization out;
    hn_search_state s;
} set_up;

/* A trial of so many epochs that took those seconds; state "passed" or "gate". */
static void add(set_up *u, const char *state, int64_t epochs, double seconds, double speed,
                int64_t bytes, double drop) {
    int i = u->s.n++;
    u->s.rows[i] = (hone_optimize_row){
        .state = state, .seconds = seconds, .speed = speed, .file_bytes = bytes, .drop = drop};
    u->s.trials[i].epochs = epochs;
    u->s.trials[i].train_seconds = seconds;
    u->s.trials[i].passed = strcmp(state, "passed") == 0;
}

static void begin(set_up *u, double budget, double spent) {
    memset(u, 0, sizeof *u);
    u->s.out = &u->out;
    u->s.o.train_budget = budget;
    u->s.trained_seconds = spent;
    add(u, "original", 0, 1, 1, 1000, 0);
    add(u, "passed", 0, 1, 2, 250, 0);
}

static void as_many_epochs_as_fit(void **state) {
    (void)state;
    static set_up u;
    static char rows[100 * 4 + 1];
    for (int i = 0; i < 100; i++) memcpy(rows + 4 * i, "0,1\n", 4);
    begin(&u, 100, 40);
    u.s.parts.train = data_open("csv:%s", scratch_put_text("t.csv", rows));
    u.s.rate = 50; /* so an epoch takes two seconds */
    assert_true(hn_trained_seconds_left(&u.s) == 60);
    assert_int_equal(hn_trained_epochs(&u.s, 7), 3);
    assert_int_equal(hn_trained_epochs(&u.s, 1.9), 0);
    assert_int_equal(hn_trained_epochs(&u.s, -5), 0);
    assert_int_equal(hn_trained_epochs(&u.s, 1e9), 60); /* more hardly help */
    u.s.rate = 0;
    assert_int_equal(hn_trained_epochs(&u.s, 7), 0);
    u.s.trained_seconds = 130;
    assert_true(hn_trained_seconds_left(&u.s) == 0);
    hn_dataset_close(u.s.parts.train);
}

static void the_nearest_to_the_gate_is_trained_longer(void **state) {
    (void)state;
    static set_up u;
    begin(&u, 100, 40);
    assert_int_equal(hn_trained_next(&u.s), 0); /* none was trained */
    add(&u, "gate", 5, 10, 3, 200, 0.05);       /* 2 */
    add(&u, "gate", 5, 10, 2.5, 200, 0.02);     /* 3: the nearest */
    add(&u, "passed", 5, 10, 2.1, 240, 0);      /* 4: is good enough */
    add(&u, "gate", 5, 10, 1.5, 100, 0.01);     /* 5: would not be chosen, too slow */
    add(&u, "gate", 5, 50, 4, 100, 0.001);      /* 6: no more than 6 epochs would fit */
    add(&u, "gate", 0, 10, 4, 100, 0.001);      /* 7: was never trained */
    add(&u, "behind", 0, 10, 4, 100, NAN);      /* 8 */
    assert_int_equal(hn_trained_next(&u.s), 3);
    u.s.trials[3].trained_longer = true;
    assert_int_equal(hn_trained_next(&u.s), 2);
    u.s.trials[2].trained_longer = true;
    assert_int_equal(hn_trained_next(&u.s), 0);
    /* As small as the best and as fast within 10 % it would be chosen, too. */
    add(&u, "gate", 5, 10, 1.95, 230, 0.02); /* 9 */
    assert_int_equal(hn_trained_next(&u.s), 9);
    u.s.trained_seconds = 95; /* five seconds are two epochs */
    assert_int_equal(hn_trained_next(&u.s), 0);
    u.s.trained_seconds = 100; /* and what nobody knows the seconds of has no time either */
    u.s.trials[9].train_seconds = 0;
    assert_int_equal(hn_trained_next(&u.s), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(as_many_epochs_as_fit),
                                       TEST(the_nearest_to_the_gate_is_trained_longer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
