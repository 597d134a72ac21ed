/* First values of parameters: their distributions, and that they depend on seed and name alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "make/initial.h"
#include "support/scratch.h"

enum { N = 20000 };

static hn_tensor *filled(const char *how, double number, uint64_t seed, const char *name) {
    hn_tensor *t;
    hn_error err;
    int64_t dims[] = {N};
    hn_initial i = {hn_initial_find((hn_str){how, strlen(how)}), number};
    assert_non_null(i.def);
    assert_int_equal(
        hn_tensor_create(&t, &scratch_mem, HN_MEM_OTHER, HONE_DTYPE_F32, 1, dims, &err), HONE_OK);
    hn_initial_fill(&i, (hn_fans){50, 200}, seed, name, t);
    return t;
}

/* Mean, deviation and largest size of each way, for 50 inputs and 200 outputs. */
static void distributions(void **state) {
    (void)state;
    static const struct {
        const char *how;
        double number, mean, deviation, most;
    } rows[] = {
        {"zeros", 0, 0, 0, 0},
        {"ones", 0, 1, 0, 1},
        {"constant", 0.25, 0.25, 0, 0.25},
        {"normal", 0.5, 0, 0.5, 0.5 * 6},
        {"truncated", 0.02, 0, 0.02 * 0.8796, 0.04},
        {"uniform", 0, 0, 0.141421 / 1.732051, 0.141422},
        {"uniform_out", 0, 0, 0.0707107 / 1.732051, 0.070711},
        {"kaiming", 0, 0, 0.2, 0.2 * 6},
        {"kaiming_out", 0, 0, 0.1, 0.1 * 6},
        {"kaiming_uniform", 0, 0, 0.2, 0.346411},
        {"xavier", 0, 0, 0.154919 / 1.732051, 0.154920},
        {"xavier_normal", 0, 0, 0.0894427, 0.0894427 * 6},
    };
    assert_int_equal(sizeof rows / sizeof *rows, hn_n_initials);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hn_tensor *t = filled(rows[i].how, rows[i].number, 3, "w");
        const float *v = t->data;
        double sum = 0, squares = 0, most = 0;
        for (int k = 0; k < N; k++) {
            sum += (double)v[k];
            most = fmax(most, fabs((double)v[k]));
        }
        for (int k = 0; k < N; k++) squares += ((double)v[k] - sum / N) * ((double)v[k] - sum / N);
        double deviation = sqrt(squares / N);
        if (fabs(sum / N - rows[i].mean) > 0.03 * rows[i].deviation + 1e-9 ||
            fabs(deviation - rows[i].deviation) > 0.03 * rows[i].deviation + 1e-9 ||
            most > rows[i].most * (1 + 1e-6))
            fail_msg("%s: mean %g, deviation %g, most %g", rows[i].how, sum / N, deviation, most);
        hn_tensor_unref(t);
    }
}

/* The bits that seed 1 and the name conv1.weight have given since there are models made here. */
static void bits_are_pinned(void **state) {
    (void)state;
    static const uint32_t normal[] = {0xbde19424, 0xbb83ea10, 0x3e622d59, 0x3d4f371f},
                          uniform[] = {0xbd7bb487, 0xbe01d5b7, 0x3c8bc2eb, 0x3dbc4f84};
    hn_tensor *a = filled("kaiming", 0, 1, "conv1.weight"),
              *b = filled("uniform", 0, 1, "conv1.weight");
    assert_memory_equal(a->data, normal, sizeof normal);
    assert_memory_equal(b->data, uniform, sizeof uniform);
    hn_tensor_unref(a);
    hn_tensor_unref(b);
}

static void seed_and_name_decide(void **state) {
    (void)state;
    hn_tensor *a = filled("normal", 1, 1, "a"), *same = filled("normal", 1, 1, "a"),
              *seed = filled("normal", 1, 2, "a"), *name = filled("normal", 1, 1, "b");
    assert_true(hn_tensor_equal(a, same));
    assert_false(hn_tensor_equal(a, seed));
    assert_false(hn_tensor_equal(a, name));
    hn_tensor_unref(a);
    hn_tensor_unref(same);
    hn_tensor_unref(seed);
    hn_tensor_unref(name);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(distributions), TEST(bits_are_pinned),
                                       TEST(seed_and_name_decide)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
