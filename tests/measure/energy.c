#include "measure/energy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/tree.h"

#define ZONE "/sys/class/powercap/intel-rapl:"

static void put_package(int zone, const char *name, const char *uj) {
    char path[128];
    snprintf(path, sizeof path, ZONE "%d/name", zone);
    tree_put(path, name);
    snprintf(path, sizeof path, ZONE "%d/energy_uj", zone);
    tree_put(path, uj);
    snprintf(path, sizeof path, ZONE "%d/max_energy_range_uj", zone);
    tree_put(path, "1000000\n");
}

/* Counters that started again count on; the platform and packages without a counter do not count.
 */
static void packages_are_added_up(void **state) {
    (void)state;
    hone_energy from, to;
    hn_energy_read(tree_root, &from);
    assert_int_equal(from.n, 0);
    assert_true(isnan(hn_energy_between(&from, &from)));
    put_package(0, "package-0\n", "100000\n");
    put_package(1, "psys\n", "5\n");
    put_package(2, "package-1\n", "900000\n");
    put_package(3, "package-2\n", "nothing\n");
    hn_energy_read(tree_root, &from);
    assert_int_equal(from.n, 2);
    put_package(0, "package-0\n", "350000\n");
    put_package(2, "package-1\n", "50000\n");
    hn_energy_read(tree_root, &to);
    assert_true(fabs(hn_energy_between(&from, &to) - 0.4) < 1e-12);
    put_package(3, "package-2\n", "7\n");
    hn_energy_read(tree_root, &to);
    assert_true(isnan(hn_energy_between(&from, &to)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packages_are_added_up, tree_setup, tree_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
