/* The generated digits: pinned bytes, balanced labels, and images that vary, stay on the paper and
 * show what the label says. */
#include "formats/digits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = HN_DIGITS_SIDE, CLASSES = HN_DIGITS_CLASSES, PIXELS = SIDE * SIDE };

static uint64_t fnv1a(uint64_t hash, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The same number on every architecture and compiler. If the generator is changed on purpose, the
 * bundled model must be trained again (scripts/train_digits.py). */
static void bytes_are_pinned(void **state) {
    (void)state;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < 1000; i++) {
        uint8_t image[PIXELS];
        int label;
        hn_digits_sample(1, i, image, &label);
        hash = fnv1a(hash, image, sizeof image);
        hash = fnv1a(hash, (const uint8_t[]){(uint8_t)label}, 1);
    }
    assert_int_equal(hash, UINT64_C(0xb93579cc93d948f9));
}

static void a_sample_depends_on_seed_and_index_alone(void **state) {
    (void)state;
    uint8_t first[PIXELS], again[PIXELS], other[PIXELS];
    int first_label, again_label, other_label;
    hn_digits_sample(5, 123, first, &first_label);
    hn_digits_sample(5, INT64_MAX, other, &other_label);
    assert_memory_not_equal(first, other, PIXELS);
    hn_digits_sample(5, 123, again, &again_label);
    assert_memory_equal(first, again, PIXELS);
    assert_int_equal(first_label, again_label);
}

static void every_ten_hold_each_class_once(void **state) {
    (void)state;
    int previous[CLASSES] = {0}, repeated = 0;
    for (int group = 0; group < 200; group++) {
        int order[CLASSES], count[CLASSES] = {0};
        for (int i = 0; i < CLASSES; i++) {
            uint8_t image[PIXELS];
            hn_digits_sample(9, 10 * group + i, image, &order[i]);
            assert_in_range(order[i], 0, CLASSES - 1);
            count[order[i]]++;
        }
        for (int c = 0; c < CLASSES; c++) assert_int_equal(count[c], 1);
        repeated += memcmp(order, previous, sizeof order) == 0;
        memcpy(previous, order, sizeof order);
    }
    assert_int_equal(repeated, 0);
}

/* Index i of seed s must not return as index i - 1 of seed s + 1, nor any other way within reach.
 */
static void seeds_share_no_sample(void **state) {
    (void)state;
    enum { SEEDS = 8, EACH = 50, ALL = SEEDS * EACH };
    static uint8_t images[ALL][PIXELS];
    for (int i = 0; i < ALL; i++) {
        int label;
        hn_digits_sample((uint64_t)(i / EACH), i % EACH, images[i], &label);
    }
    for (int i = 0; i < ALL; i++)
        for (int j = 0; j < i; j++) assert_memory_not_equal(images[i], images[j], PIXELS);
}

static void ink_is_plausible_and_inside(void **state) {
    (void)state;
    for (int i = 0; i < 3000; i++) {
        uint8_t image[PIXELS];
        int label, sum = 0, brightest = 0, border = 0;
        hn_digits_sample(3, i, image, &label);
        for (int p = 0; p < PIXELS; p++) {
            int row = p / SIDE, col = p % SIDE;
            sum += image[p];
            if (image[p] > brightest) brightest = image[p];
            if ((row == 0 || row == SIDE - 1 || col == 0 || col == SIDE - 1) && image[p] > border)
                border = image[p];
        }
        assert_in_range(sum, 255 * PIXELS / 100, 255 * PIXELS * 35 / 100);
        assert_in_range(brightest, 100, 255);
        assert_in_range(border, 0, 127); /* at most the soft edge of a stroke */
    }
}

/* The label whose mean image is nearest; chance would be 10 %. */
static void images_show_their_labels(void **state) {
    (void)state;
    enum { TRAIN = 2000, TEST = 500 };
    static double mean[CLASSES][PIXELS];
    uint8_t image[PIXELS];
    int label, right = 0;
    for (int i = 0; i < TRAIN; i++) {
        hn_digits_sample(21, i, image, &label);
        for (int p = 0; p < PIXELS; p++) mean[label][p] += image[p] * ((double)CLASSES / TRAIN);
    }
    for (int i = 0; i < TEST; i++) {
        hn_digits_sample(22, i, image, &label);
        int best = 0;
        double best_distance = -1;
        for (int c = 0; c < CLASSES; c++) {
            double distance = 0;
            for (int p = 0; p < PIXELS; p++)
                distance += (image[p] - mean[c][p]) * (image[p] - mean[c][p]);
            if (best_distance < 0 || distance < best_distance) {
                best_distance = distance;
                best = c;
            }
        }
        right += best == label;
    }
    assert_in_range(right, TEST / 2, TEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_pinned),
        cmocka_unit_test(a_sample_depends_on_seed_and_index_alone),
        cmocka_unit_test(every_ten_hold_each_class_once),
        cmocka_unit_test(seeds_share_no_sample),
        cmocka_unit_test(ink_is_plausible_and_inside),
        cmocka_unit_test(images_show_their_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
