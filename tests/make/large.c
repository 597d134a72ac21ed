/* label: slow */
/* The architectures that take long to make: their counts are the published ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/scratch.h"

static void counts_are_the_published_ones(void **state) {
    (void)state;
#define ROW(large, name, settings, params, macs, output) \
    if (large) made_counts(name, settings, params, macs, output);
#include "make/architectures.def"
#undef ROW
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        counts_are_the_published_ones, scratch_setup, scratch_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
