#include "advise/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

/* n rows whose label is first + their number. */
static hn_dataset *rows(const char *name, int first, int n) {
    static char text[1 << 17];
    size_t used = 0;
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "0,%d\n", first + i);
    assert_true(used < sizeof text);
    return data_open("csv:%s", scratch_put_text(name, text));
}

/* Counts the samples of a part among `seen`, by label. */
static void see(hn_dataset *part, int *seen) {
    for (int64_t i = 0; i < hn_dataset_count(part); i++) {
        int64_t label;
        assert_int_equal(hn_dataset_labels(part, i, 1, &label, NULL), HONE_OK);
        seen[label]++;
    }
}

static void no_sample_serves_twice(void **state) {
    (void)state;
    enum { N = 3000 };
    static int seen[N];
    hn_dataset *ds = rows("a.csv", 0, N);
    hn_parts p;
    assert_int_equal(hn_parts_init(&p, ds, NULL, NULL, 1, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_dataset_count(p.calibrate), 512);
    assert_int_equal(hn_dataset_count(p.verify), (N - 512) / 4);
    assert_int_equal(hn_dataset_count(p.look), (N - 512 - (N - 512) / 4) / 8);
    see(p.calibrate, seen);
    see(p.choose, seen);
    see(p.verify, seen);
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    see(p.look, seen); /* which are the first to choose by */
    int64_t first[2];
    assert_int_equal(hn_dataset_labels(p.choose, 0, 1, &first[0], NULL), HONE_OK);
    assert_int_equal(hn_dataset_labels(p.look, 0, 1, &first[1], NULL), HONE_OK);
    assert_int_equal(first[0], first[1]);
    hn_parts_deinit(&p);
    hn_parts_deinit(&p);
    hn_dataset_close(ds);
}

/* What nothing is chosen or verified by is trained on. */
static void the_rest_is_trained_on(void **state) {
    (void)state;
    enum { N = 6000 };
    static int seen[N];
    hn_dataset *ds = rows("a.csv", 0, N), *other = rows("b.csv", 0, 20);
    hn_parts p;
    assert_int_equal(hn_parts_init(&p, ds, NULL, NULL, 1, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_dataset_count(p.train), N - 2048 - (N - 512) / 4);
    see(p.train, seen);
    see(p.choose, seen);
    see(p.verify, seen);
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    int64_t first[2]; /* those to calibrate with are the first of them */
    assert_int_equal(hn_dataset_labels(p.train, 511, 1, &first[0], NULL), HONE_OK);
    assert_int_equal(hn_dataset_labels(p.calibrate, 511, 1, &first[1], NULL), HONE_OK);
    assert_int_equal(first[0], first[1]);
    hn_parts_deinit(&p);
    /* With others to choose by, all are; without any data, those to calibrate with. */
    assert_int_equal(hn_parts_init(&p, ds, NULL, other, 1, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_dataset_count(p.train), N);
    assert_int_equal(hn_dataset_count(p.choose) + hn_dataset_count(p.verify), 20);
    hn_parts_deinit(&p);
    assert_int_equal(hn_parts_init(&p, NULL, ds, other, 1, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_dataset_count(p.train), N);
    assert_int_equal(hn_dataset_count(p.calibrate), 512);
    hn_parts_deinit(&p);
    assert_int_equal(hn_parts_init(&p, NULL, NULL, other, 1, &scratch_mem, NULL), HONE_OK);
    assert_null(p.train);
    hn_parts_deinit(&p);
    hn_dataset_close(ds);
    hn_dataset_close(other);
}

static void the_seed_decides(void **state) {
    (void)state;
    hn_dataset *ds = rows("a.csv", 0, 100);
    int64_t labels[3][25];
    for (int k = 0; k < 3; k++) {
        hn_parts p;
        assert_int_equal(hn_parts_init(&p, ds, NULL, NULL, k < 2 ? 1 : 2, &scratch_mem, NULL),
                         HONE_OK);
        assert_int_equal(hn_dataset_count(p.calibrate), 25);
        assert_null(p.look); /* of so few a look tells nothing */
        assert_int_equal(hn_dataset_labels(p.calibrate, 0, 25, labels[k], NULL), HONE_OK);
        hn_parts_deinit(&p);
    }
    assert_memory_equal(labels[0], labels[1], sizeof labels[0]);
    assert_memory_not_equal(labels[0], labels[2], sizeof labels[0]);
    hn_dataset_close(ds);
}

static void what_is_given_apart_is_taken(void **state) {
    (void)state;
    int seen[200] = {0};
    hn_dataset *data = rows("a.csv", 0, 40), *other = rows("b.csv", 100, 16);
    hn_parts p;
    assert_int_equal(hn_parts_init(&p, data, other, NULL, 1, &scratch_mem, NULL), HONE_OK);
    see(p.calibrate, seen);
    assert_int_equal(hn_dataset_count(p.choose) + hn_dataset_count(p.verify), 40);
    for (int i = 100; i < 116; i++) assert_int_equal(seen[i], 1);
    hn_parts_deinit(&p);
    assert_int_equal(hn_parts_init(&p, data, NULL, other, 1, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_dataset_count(p.calibrate), 10);
    assert_int_equal(hn_dataset_count(p.choose), 12);
    assert_int_equal(hn_dataset_count(p.verify), 4);
    hn_parts_deinit(&p);
    assert_int_equal(hn_parts_init(&p, NULL, NULL, NULL, 1, &scratch_mem, NULL), HONE_OK);
    assert_true(p.calibrate == NULL && p.choose == NULL && p.verify == NULL);
    hn_dataset_close(data);
    hn_dataset_close(other);
}

static void too_few_are_refused(void **state) {
    (void)state;
    hn_error err;
    hn_parts p;
    hn_dataset *ds = rows("a.csv", 0, 7);
    assert_int_equal(hn_parts_init(&p, ds, NULL, NULL, 1, &scratch_mem, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "there are 7 samples; at least 8 are wanted"));
    hn_dataset_close(ds);
    ds = rows("b.csv", 0, 1000);
    size_t blocks = atomic_load(&scratch_mem.blocks);
    for (int fail = 0;; fail++) { /* whichever allocation fails, nothing leaks */
        atomic_store(&scratch_mem.fail_after, fail);
        hone_status status = hn_parts_init(&p, ds, NULL, NULL, 1, &scratch_mem, &err);
        atomic_store(&scratch_mem.fail_after, -1);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_E_NOMEM);
        assert_int_equal(atomic_load(&scratch_mem.blocks), blocks);
    }
    hn_parts_deinit(&p);
    hn_dataset_close(ds);
}

static void more_than_is_needed_is_left(void **state) {
    (void)state;
    hn_dataset *ds = rows("a.csv", 0, 12000);
    hn_parts p;
    assert_int_equal(hn_parts_init(&p, ds, NULL, NULL, 1, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_dataset_count(p.calibrate), 512);
    assert_int_equal(hn_dataset_count(p.choose), 2048);
    assert_int_equal(hn_dataset_count(p.verify), 2048);
    hn_parts_deinit(&p);
    hn_dataset_close(ds);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_rest_is_trained_on),
        TEST(no_sample_serves_twice),
        TEST(the_seed_decides),
        TEST(what_is_given_apart_is_taken),
        TEST(more_than_is_needed_is_left),
        TEST(too_few_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
