#include "measure/gate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_margin_says_by_how_much(void **state) {
    (void)state;
    static const struct {
        double value, reference, max_drop;
        bool relative, lower_better, passes;
        double margin;
    } cases[] = {
        {0.90, 0.95, 0.01, false, false, false, -0.04},
        {0.945, 0.95, 0.01, false, false, true, 0.005},
        {0.94, 0.95, 0.01, false, false, true, 0},
        {0.97, 0.95, 0, false, false, true, 0.02},
        {0.50, 0.80, 0.5, true, false, true, 0.10},
        {0.39, 0.80, 0.5, true, false, false, -0.01},
        {2.3, 2.0, 0.1, false, true, false, -0.2},
        {2.1, 2.0, 0.1, false, true, true, 0},
        {2.1, 2.0, 0.1, true, true, true, 0.1},
        {1.0, 2.0, 0, false, true, true, 1.0},
        {-1.05, -1.0, 0.1, true, false, true, 0.05},
        {0, 0, 0, true, false, true, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double m = hn_gate_margin(cases[i].value, cases[i].reference, cases[i].max_drop,
                                  cases[i].relative, cases[i].lower_better);
        assert_int_equal(m >= 0, cases[i].passes);
        assert_true(fabs(m - cases[i].margin) < 1e-9);
    }
}

/* A loss of exactly what is allowed passes, whatever rounding makes of the difference. */
static void what_is_at_the_gate_passes(void **state) {
    (void)state;
    for (int right = 0; right <= 1000; right++)
        for (int lost = 0; lost <= right && lost <= 50; lost++) {
            double was = right / 1000.0, is = (right - lost) / 1000.0, drop = lost / 1000.0;
            assert_true(hn_gate_margin(is, was, drop, false, false) >= 0);
            assert_true(hn_gate_margin(was, is, drop, false, true) >= 0);
            assert_true(hn_gate_margin(is - 1e-6, was, drop, false, false) < 0);
        }
}

static void what_is_not_known_does_not_pass(void **state) {
    (void)state;
    assert_false(hn_gate_margin(NAN, 0.5, 0.1, false, false) >= 0);
    assert_false(hn_gate_margin(0.5, NAN, 0.1, false, true) >= 0);
    assert_true(hn_gate_margin(INFINITY, 1, 0, false, false) >= 0);
    assert_true(hn_gate_margin(INFINITY, 1, 0, false, true) < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_margin_says_by_how_much),
        cmocka_unit_test(what_is_at_the_gate_passes),
        cmocka_unit_test(what_is_not_known_does_not_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
