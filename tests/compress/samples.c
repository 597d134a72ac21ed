#include "compress/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"
#include "support/graph.h"

enum { TOTAL = 25 };

/* Row i is i, a number, and the label 0; numbers are scaled to near the end of what f32 holds. */
static hn_dataset *rows(double (*number)(int i)) {
    static char text[TOTAL * 32];
    size_t used = 0;
    for (int i = 0; i < TOTAL; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%g,0\n",
                                 number == NULL ? 7 : i, number == NULL ? 7 : number(i));
    return data_open("csv:%s,scale=1e30", scratch_put_text("d.csv", text));
}

static double wave(int i) { return i % 5 - 2; }
static double wave_and_one(int i) { return i == 20 ? 9 : wave(i); }
static double broken(int i) { return i == 20 ? -1e30 : wave(i); } /* not to be scaled so */

static hn_error err;

static hone_status choose(hn_sample_choice *c, hn_dataset *ds, hn_model *m, int64_t most,
                          int threads) {
    return hn_sample_choose(c, ds, most, m->graph, 4, threads, NULL, NULL, &scratch_mem, &err);
}

static hn_model *model(void) {
    return graph_model(21, "g (float[n,2] x) => (float[n,2] y) { y = Relu (x) }");
}

/* The hash of `most` samples, the index of each being checked. */
static void chosen(double (*number)(int i), int64_t most, int threads, char hash[HN_SHA256_HEX]) {
    hn_dataset *ds = rows(number);
    hn_model *m = model();
    hn_sample_choice c;
    if (choose(&c, ds, m, most, threads) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(c.n, most > 0 && most < TOTAL ? most : TOTAL);
    for (int i = 0; i < c.n; i++) assert_int_equal(c.index[i], i * TOTAL / c.n);
    assert_int_equal(c.warning[0] != '\0', number == NULL);
    memcpy(hash, c.hash, HN_SHA256_HEX);
    hn_sample_choice_deinit(&c);
    hn_model_destroy(m);
    hn_dataset_close(ds);
}

static void they_are_spread_and_hashed(void **state) {
    (void)state;
    char a[HN_SHA256_HEX], b[HN_SHA256_HEX];
    chosen(wave, 10, 0, a);
    chosen(wave, 10, 3, b);
    assert_string_equal(a, b);
    chosen(wave, 9, 0, b);
    assert_string_not_equal(a, b);
    chosen(wave_and_one, 10, 0, b); /* sample 20 is one of the ten */
    assert_string_not_equal(a, b);
    chosen(wave, 0, 0, a);
    chosen(wave, 1000, 0, b);
    assert_string_equal(a, b);
    chosen(NULL, 0, 0, a); /* all alike: there is a warning */
}

static void what_is_not_finite_is_named(void **state) {
    (void)state;
    hn_dataset *ds = rows(broken);
    hn_model *m = model();
    hn_sample_choice c;
    assert_int_equal(choose(&c, ds, m, 10, 0), HONE_E_FORMAT);
    assert_string_equal(
        err.text, "sample 20 of the dataset holds a NaN or an infinity, expected finite numbers");
    assert_int_equal(choose(&c, ds, m, 3, 0), HONE_OK); /* which leave it out */
    hn_sample_choice_deinit(&c);
    for (int n = 0;; n++) {
        atomic_store(&scratch_mem.fail_after, n);
        hone_status status = choose(&c, ds, m, 3, 0);
        atomic_store(&scratch_mem.fail_after, -1);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_E_NOMEM);
    }
    hn_sample_choice_deinit(&c);
    hn_model_destroy(m);
    hn_dataset_close(ds);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(they_are_spread_and_hashed),
        TEST(what_is_not_finite_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
