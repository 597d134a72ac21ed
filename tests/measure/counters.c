/* Counters grow with what is done; where the system gives none, that is said. */
#include "measure/counters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void counts_grow_or_are_absent(void **state) {
    (void)state;
    hn_counters c;
    double before[HN_COUNTER_COUNT_], after[HN_COUNTER_COUNT_];
    if (!hn_counters_open(&c)) {
        for (int i = 0; i < HN_COUNTER_COUNT_; i++) assert_true(c.fd[i] < 0);
        hn_counters_read(&c, before);
        for (int i = 0; i < HN_COUNTER_COUNT_; i++) assert_true(before[i] == -1);
        return;
    }
    hn_counters_read(&c, before);
    for (volatile int i = 0; i < 1000000; i++) continue;
    hn_counters_read(&c, after);
    for (int i = 0; i < HN_COUNTER_CACHE_MISSES; i++)
        assert_true(before[i] < 0 || after[i] > before[i] + 100000);
    hn_counters_close(&c);
    hn_counters_read(&c, after);
    for (int i = 0; i < HN_COUNTER_COUNT_; i++) assert_true(after[i] == -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_grow_or_are_absent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
