#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

static void it_runs_forward_in_nanoseconds(void **state) {
    (void)state;
    int64_t before = hn_clock_ns(), last = before;
    for (int i = 0; i < 1000; i++) {
        int64_t now = hn_clock_ns();
        assert_true(now >= last);
        last = now;
    }
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    assert_true(hn_clock_ns() - before >= 2000000);
    assert_true(hn_clock_ns() - before < INT64_C(60000000000));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_runs_forward_in_nanoseconds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
