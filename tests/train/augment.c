#include "train/augment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

/* n samples of 1, 2, 3 ... */
static hn_tensor *samples(int rank, const int64_t *dims) {
    hn_tensor *t;
    hn_error err;
    assert_int_equal(
        hn_tensor_create(&t, &scratch_mem, HN_MEM_TENSOR, HONE_DTYPE_F32, rank, dims, &err),
        HONE_OK);
    for (int64_t i = 0; i < t->n; i++) ((float *)t->data)[i] = (float)(i % (t->n / dims[0]) + 1);
    return t;
}

static void apply(const char *text, hn_tensor *t, const int64_t *index, uint64_t seed,
                  int64_t epoch) {
    hn_augment a;
    hn_error err;
    assert_int_equal(hn_augment_read(&a, text, &err), HONE_OK);
    assert_int_equal(hn_augment_batch(&a, t, index, seed, epoch, &err), HONE_OK);
}

/* Every sample is one of the ways in which the operation may change it, and several ways occur. */
static void flips(void **state) {
    (void)state;
    int64_t index[64], dims[] = {64, 1, 1, 3}, flipped = 0;
    for (int i = 0; i < 64; i++) index[i] = i;
    hn_tensor *t = samples(4, dims);
    apply("flip", t, index, 1, 0);
    for (int i = 0; i < 64; i++) {
        const float *x = (const float *)t->data + 3 * i;
        assert_true(x[1] == 2 && x[0] + x[2] == 4 && (x[0] == 1 || x[0] == 3));
        flipped += x[0] == 3;
    }
    assert_true(flipped > 16 && flipped < 48);
    hn_tensor_unref(t);
}

static void moves(void **state) {
    (void)state;
    int64_t index[] = {0, 1, 2, 3, 4, 5, 6, 7}, dims[] = {8, 4, 5, 2}; /* channels last */
    hn_tensor *t = samples(4, dims);
    apply("crop=1", t, index, 3, 2);
    bool moved = false;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t c = i % 2, x = i / 2 % 5, y = i / 10 % 4, v = (int64_t)((float *)t->data)[i] - 1;
        if (v < 0) continue;
        assert_int_equal(v % 2, c);
        assert_true(v / 2 % 5 - x <= 1 && x - v / 2 % 5 <= 1 && v / 10 - y <= 1 && y - v / 10 <= 1);
        moved = moved || v / 2 % 5 != x;
    }
    assert_true(moved);
    hn_tensor_unref(t);
}

/* A sample becomes the same wherever it stands in a batch, and another in another epoch. */
static void depends_on_the_sample(void **state) {
    (void)state;
    int64_t here[] = {5, 9}, there[] = {9, 5}, dims[] = {2, 1, 8, 8};
    const char *text = "flip:crop=3:cutout=3:noise=0.1:gain=0.3:shift=2";
    hn_tensor *a = samples(4, dims), *b = samples(4, dims), *c = samples(4, dims);
    apply(text, a, here, 1, 4);
    apply(text, b, there, 1, 4);
    apply(text, c, here, 1, 5);
    assert_memory_equal(a->data, (float *)b->data + 64, 64 * sizeof(float));
    assert_memory_equal((float *)a->data + 64, b->data, 64 * sizeof(float));
    assert_memory_not_equal(a->data, c->data, 64 * sizeof(float));
    hn_tensor_unref(a);
    hn_tensor_unref(b);
    hn_tensor_unref(c);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } wrong[] = {{"turn", "there is no augmentation 'turn'"},
                 {"crop=", "expected a number"},
                 {"crop=2x", "expected a number"},
                 {"crop=-1", "out of range"},
                 {"flip=2", "takes no number"}};
    hn_augment a;
    hn_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(hn_augment_read(&a, wrong[i].text, &err), HONE_E_ARG);
        assert_non_null(strstr(err.text, wrong[i].says));
    }
    int64_t index[] = {0, 1}, dims[] = {2, 9};
    hn_tensor *t = samples(2, dims);
    assert_int_equal(hn_augment_read(&a, "flip", &err), HONE_OK);
    assert_int_equal(hn_augment_batch(&a, t, index, 1, 0, &err), HONE_E_SHAPE);
    hn_tensor_unref(t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(flips), TEST(moves), TEST(depends_on_the_sample),
                                       TEST(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
