#include "ops/activation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static hn_activation find(const char *name, int *n_params) {
    return hn_activation_find((hn_str){name, strlen(name)}, n_params);
}

static void functions(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int n_params;
        double x, y; /* with the defaults */
    } rows[] = {
        {"Affine", 2, 3, 3},
        {"Clip", 2, -7, -7},
        {"Elu", 1, -1, -0.63212056},
        {"HardSigmoid", 2, 1, 0.7},
        {"LeakyRelu", 1, -1, -0.01},
        {"QuickGelu", 1, 1, 0.84579577},
        {"Relu", 0, -1, 0},
        {"ScaledTanh", 2, 1, 0.76159416},
        {"Selu", 2, -1, -1.1113307},
        {"Sigmoid", 0, -1000, 0},
        {"Softplus", 0, 1000, 1000},
        {"Softsign", 0, -3, -0.75},
        {"Tanh", 0, 1, 0.76159416},
        {"ThresholdedRelu", 1, 1, 1},
        {"thresholdedRELU", 1, 0.5, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n_params;
        hn_activation a = find(rows[i].name, &n_params);
        assert_non_null(a.fn);
        assert_int_equal(n_params, rows[i].n_params);
        assert_true(fabs(hn_activate(&a, rows[i].x) - rows[i].y) < 1e-7);
        assert_true(isnan(hn_activate(&a, NAN)));
    }
}

static void unknown(void **state) {
    (void)state;
    int n_params;
    assert_null(find("Reluu", &n_params).fn);
    assert_null(find("", &n_params).fn);
    assert_null(hn_activation_find((hn_str){"Relu6", 3}, &n_params).fn);
    assert_non_null(hn_activation_find((hn_str){"Relu6", 4}, &n_params).fn);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions),
        cmocka_unit_test(unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
