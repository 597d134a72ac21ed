#include "base/stages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

static void wait_a_little(void) {
    for (int64_t begun = hn_clock_ns(); hn_clock_ns() - begun < 2000000;) continue;
}

/* What lies between is nobody's, and a stage that is entered again goes on. */
static void each_stage_gets_its_time(void **state) {
    (void)state;
    hn_stages s = {0};
    int64_t begun = hn_clock_ns();
    hn_stages_enter(&s, "a");
    wait_a_little();
    hn_stages_enter(&s, "b");
    hn_stages_enter(&s, NULL);
    int64_t between = hn_clock_ns();
    wait_a_little();
    between = hn_clock_ns() - between;
    hn_stages_enter(&s, "a");
    wait_a_little();
    hn_stages_enter(&s, NULL);
    int64_t all = hn_clock_ns() - begun;
    assert_int_equal(s.n, 2);
    hone_stage a = hn_stages_told(&s, 0), b = hn_stages_told(&s, 1);
    assert_string_equal(a.name, "a");
    assert_string_equal(b.name, "b");
    assert_true(a.seconds >= 0.004 && (a.seconds + b.seconds) * 1e9 <= (double)(all - between) + 1);
    assert_true(a.cores > 0);
}

static void more_than_there_is_room_for_belongs_to_the_last(void **state) {
    (void)state;
    hn_stages s = {0};
    for (int i = 0; i < HN_MOST_STAGES + 5; i++) {
        char name[64];
        snprintf(name, sizeof name, "stage %d with a name that is too long", i);
        hn_stages_enter(&s, name);
    }
    hn_stages_enter(&s, NULL);
    assert_int_equal(s.n, HN_MOST_STAGES);
    assert_int_equal(strlen(hn_stages_told(&s, 0).name), HN_STAGE_NAME - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stage_gets_its_time),
        cmocka_unit_test(more_than_there_is_room_for_belongs_to_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
