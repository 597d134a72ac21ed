#include "train/augment.h"

#include <math.h>
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
    const char *text =
        "flip:crop=3:cutout=3:noise=0.1:gain=0.3:shift=2:roll:rotate:zoom:shear:"
        "erase:gap=2:brightness:contrast";
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

enum { SIDE = 15, PIXELS = SIDE * SIDE };

/* An image whose pixel at v, u from the middle is a * v + b * u + c * their distance from it. */
static void draw(hn_tensor *t, double a, double b, double c) {
    for (int64_t i = 0; i < t->n; i++) {
        double v = (double)(i % PIXELS / SIDE - SIDE / 2), u = (double)(i % SIDE - SIDE / 2);
        ((float *)t->data)[i] = (float)(a * v + b * u + c * sqrt(v * v + u * u));
    }
}

static double pixel(const hn_tensor *t, int64_t sample, int64_t v, int64_t u) {
    return (double)((float *)t->data)[sample * PIXELS + (v + SIDE / 2) * SIDE + u + SIDE / 2];
}

/* Around the middle, where nothing comes in from outside: what depends on the distance alone stays
 * under rotation, and what is linear becomes what the matrix says. */
static void warps(void **state) {
    (void)state;
    int64_t index[] = {0, 1, 2, 3, 4, 5, 6, 7}, dims[] = {8, 1, SIDE, SIDE};
    hn_tensor *t = samples(4, dims);
    double turned = 0, zoomed = 0, sheared = 0;
    draw(t, 0, 0, 1);
    apply("rotate=90", t, index, 1, 0);
    for (int64_t i = 0; i < 8; i++)
        for (int64_t v = -4; v <= 4; v++)
            for (int64_t u = -4; u <= 4; u++)
                assert_true(fabs(pixel(t, i, v, u) - sqrt((double)(v * v + u * u))) < 0.35);
    draw(t, 0, 1, 0);
    apply("rotate=30", t, index, 1, 0);
    for (int64_t i = 0; i < 8; i++) { /* c * u + d * v */
        double c = pixel(t, i, 0, 3) / 3, d = pixel(t, i, 3, 0) / 3;
        assert_true(fabs(c * c + d * d - 1) < 1e-5 && c > 0.86);
        turned += fabs(d);
    }
    draw(t, 1, 2, 0);
    apply("zoom=0.2", t, index, 1, 0);
    for (int64_t i = 0; i < 8; i++) {
        double by = pixel(t, i, 1, 0);
        assert_true(fabs(pixel(t, i, 2, 3) - by * 8) < 1e-5 && by > 0.83 && by < 1.26);
        zoomed += fabs(by - 1);
    }
    draw(t, 0, 1, 0);
    apply("shear=0.2", t, index, 1, 0);
    for (int64_t i = 0; i < 8; i++) {
        double by = pixel(t, i, 1, 0);
        assert_true(fabs(pixel(t, i, 3, 2) - 2 - 3 * by) < 1e-5 && fabs(by) <= 0.2);
        sheared += fabs(by);
    }
    assert_true(turned > 0.5 && zoomed > 0.2 && sheared > 0.2);
    hn_tensor_unref(t);
}

static int64_t zeros(const float *x, int64_t n) {
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) found += x[i] == 0;
    return found;
}

static void parts_are_taken_away(void **state) {
    (void)state;
    int64_t index[64], dims[] = {64, 1, SIDE, SIDE}, line[] = {64, 2, 20}, whole = 0, gaps = 0;
    for (int i = 0; i < 64; i++) index[i] = i;
    hn_tensor *t = samples(4, dims), *signal = samples(3, line);
    apply("erase=0.3", t, index, 5, 0);
    for (int64_t i = 0; i < 64; i++) {
        int64_t n = zeros((float *)t->data + i * PIXELS, PIXELS);
        assert_true(n < PIXELS * 0.36);
        whole += n == 0;
    }
    assert_true(whole > 16 && whole < 48);
    apply("gap=6", signal, index, 5, 0);
    for (int64_t i = 0; i < 64; i++) {
        const float *x = (float *)signal->data + i * 40;
        int64_t n = zeros(x, 20), first = 0;
        while (first < 20 && x[first] != 0) first++;
        assert_true(n <= 6 && zeros(x + 20, 20) == n);
        assert_int_equal(zeros(x + first, n), n); /* without a break */
        gaps += n > 0;
    }
    assert_true(gaps > 32);
    hn_tensor_unref(t);
    hn_tensor_unref(signal);
}

/* What leaves on one side comes in on the other. */
static void rolls(void **state) {
    (void)state;
    int64_t index[] = {0, 1, 2, 3, 4, 5, 6, 7}, dims[] = {8, 9}, moved = 0;
    hn_tensor *t = samples(2, dims);
    apply("roll=3", t, index, 1, 0);
    for (int64_t i = 0; i < 8; i++) {
        const float *x = (float *)t->data + 9 * i;
        for (int k = 0; k < 9; k++) assert_true(x[(k + 1) % 9] == (float)((int)x[k] % 9 + 1));
        moved += x[0] != 1;
    }
    assert_true(moved > 3);
    hn_tensor_unref(t);
}

/* Colours change in the same way before and after a scale and a shift; grey stays grey. */
static void colours_do_not_ask_for_the_normalization(void **state) {
    (void)state;
    static const char *const all[] = {"brightness", "contrast", "saturation", "hue"};
    int64_t index[] = {0, 1, 2, 3}, dims[] = {4, 3, 5, 5};
    for (int k = 0; k < 4; k++) {
        hn_tensor *t = samples(4, dims), *scaled = samples(4, dims), *grey = samples(4, dims);
        hn_tensor *before = samples(4, dims);
        float *x = t->data, *y = scaled->data, *z = grey->data, *first = before->data;
        hn_rng rng;
        hn_rng_init(&rng, 3);
        for (int64_t i = 0; i < t->n; i++) {
            x[i] = first[i] = (float)hn_rng_normal(&rng);
            y[i] = 3 * x[i] + 7;
            z[i] = (float)(i % 25);
        }
        apply(all[k], t, index, 1, 0);
        apply(all[k], scaled, index, 1, 0);
        double changed = 0;
        for (int64_t i = 0; i < t->n; i++) {
            assert_true(fabs((double)y[i] - 3 * (double)x[i] - 7) < 1e-4);
            changed += fabs((double)x[i] - (double)first[i]);
        }
        assert_true(changed > 1);
        if (k >= 2) {
            apply(all[k], grey, index, 1, 0);
            for (int64_t i = 0; i < t->n; i++)
                assert_true(fabs((double)z[i] - (double)(i % 25)) < 1e-4);
        }
        hn_tensor_unref(t);
        hn_tensor_unref(scaled);
        hn_tensor_unref(grey);
        hn_tensor_unref(before);
    }
}

static void tokens_are_dropped(void **state) {
    (void)state;
    int64_t index[] = {0, 1}, dims[] = {2, 500};
    static const hone_dtype types[] = {HONE_DTYPE_S64, HONE_DTYPE_S32};
    for (int k = 0; k < 2; k++) {
        hn_tensor *t;
        hn_error err;
        int64_t dropped = 0;
        assert_int_equal(hn_tensor_create(&t, &scratch_mem, HN_MEM_TENSOR, types[k], 2, dims, &err),
                         HONE_OK);
        for (int64_t i = 0; i < 1000; i++) {
            if (k == 0)
                ((int64_t *)t->data)[i] = i % 2;
            else
                ((int32_t *)t->data)[i] = (int32_t)(i % 2);
        }
        apply("drop=0.3/103", t, index, 1, 0);
        for (int64_t i = 0; i < 1000; i++) {
            int64_t v = hn_tensor_s64(t, i);
            assert_true(i % 2 == 0 ? v == 0 : v == 1 || v == 103); /* padding stays */
            dropped += v == 103;
        }
        assert_true(dropped > 110 && dropped < 190);
        hn_tensor_unref(t);
    }
}

/* ---- mixed samples ---- */

static void samples_are_mixed(void **state) {
    (void)state;
    enum { N = 16, STEPS = 400 };
    static const struct {
        const char *text;
        double variance; /* of Beta(a, a): 1 / (4 (2 a + 1)) */
    } cases[] = {{"mixup=0.2", 0.1786}, {"mixup=1", 0.0833}, {"mixup=4", 0.0278}, {"cutmix", -1}};
    int64_t dims[] = {N, 2, 6, 5}, partner[N], again[N];
    for (int k = 0; k < 4; k++) {
        hn_augment a;
        hn_error err;
        double sum = 0, squares = 0;
        assert_int_equal(hn_augment_read(&a, cases[k].text, &err), HONE_OK);
        assert_int_equal(a.n_mixes, 1);
        for (int64_t step = 0; step < STEPS; step++) {
            hn_tensor *t = samples(4, dims);
            hn_mix m = {.partner = partner}, same = {.partner = again};
            hn_augment_pair(&a, t, 7, 2, step, &m);
            hn_augment_pair(&a, t, 7, 2, step, &same);
            assert_true(m.share == same.share && m.share >= 0 && m.share <= 1);
            assert_memory_equal(partner, again, sizeof partner);
            bool seen[N] = {false};
            for (int i = 0; i < N; i++) seen[partner[i]] = true;
            for (int i = 0; i < N; i++) assert_true(seen[i]);
            sum += m.share;
            squares += m.share * m.share;
            for (int64_t i = 0; i < t->n; i++) ((float *)t->data)[i] = (float)(i / 60);
            assert_int_equal(hn_augment_mix(&m, t, &err), HONE_OK);
            for (int64_t i = 0; i < N && step < 20; i++) {
                const float *x = (float *)t->data + 60 * i;
                double own = 0, blend = m.share * (double)i + (1 - m.share) * (double)partner[i];
                for (int64_t e = 0; e < 60; e++) {
                    if (!m.cut) assert_true(fabs((double)x[e] - blend) < 1e-5);
                    if (m.cut) assert_true(x[e] == (float)i || x[e] == (float)partner[i]);
                    own += x[e] == (float)i;
                }
                if (m.cut && partner[i] != i) assert_true(fabs(own / 60 - m.share) < 1e-9);
            }
            hn_tensor_unref(t);
        }
        double mean = sum / STEPS, variance = squares / STEPS - mean * mean;
        if (cases[k].variance < 0) continue;
        assert_true(fabs(mean - 0.5) < 0.07);
        assert_true(fabs(variance - cases[k].variance) < 0.15 * cases[k].variance);
    }
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } wrong[] = {{"turn", "there is no augmentation 'turn'"},
                 {"drop=0.1/", "a second one behind /"},
                 {"drop=0.1/2.5", "a whole number behind /"},
                 {"crop=1/2", "expected a number"},
                 {"mixup=0", "out of range, expected 0.001 to 100"},
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
    assert_int_equal(hn_augment_read(&a, "drop", &err), HONE_OK);
    assert_int_equal(hn_augment_batch(&a, t, index, 1, 0, &err), HONE_E_TYPE);
    assert_non_null(strstr(err.text, "'drop' wants samples of s32 or s64"));
    hn_tensor_unref(t);
    int64_t grey[] = {2, 1, 4, 4};
    assert_int_equal(hn_augment_read(&a, "hue", &err), HONE_OK);
    assert_int_equal(hn_augment_check(&a, HONE_DTYPE_F32, 4, grey, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "images of 3 channels"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(flips),
                                       TEST(moves),
                                       TEST(warps),
                                       TEST(rolls),
                                       TEST(parts_are_taken_away),
                                       TEST(colours_do_not_ask_for_the_normalization),
                                       TEST(tokens_are_dropped),
                                       TEST(samples_are_mixed),
                                       TEST(depends_on_the_sample),
                                       TEST(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
