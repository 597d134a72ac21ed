#include "formats/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha256.h"
#include "support/scratch.h"

/* The images lie in the corpus of the fuzz target; tests/fuzz/seeds_image.py made them and says
 * what is on them. */
static hn_file *open_seed(const char *name) {
    char path[512];
    hn_file *file = NULL;
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/image/%s", HN_SOURCE_DIR, name);
    assert_int_equal(hn_file_open(&file, path, false, &scratch_mem, NULL), HONE_OK);
    return file;
}

static hone_status read_seed(hn_image *image, const char *name, hn_error *err) {
    hn_file *file = open_seed(name);
    hone_status status = hn_image_read(image, file, &scratch_mem, err);
    hn_file_unref(file);
    return status;
}

/* False, and the test is over, where this build lacks the library. */
static bool read_or_skip(hn_image *image, const char *name) {
    hn_error err;
    hone_status status = read_seed(image, name, &err);
    if (status == HONE_E_UNSUPPORTED && strstr(err.text, "which this build lacks") != NULL)
        return false;
    if (status != HONE_OK) fail_msg("%s: %s", name, err.text);
    return true;
}

static void test_png(void **state) {
    (void)state;
    enum { COLOUR, GREY, CHESS };
    static const struct {
        const char *name;
        int what;
    } cases[] = {{"rgb8.png", COLOUR},
                 {"rgb8_interlaced.png", COLOUR},
                 {"rgb16.png", COLOUR},
                 {"rgba16_interlaced.png", COLOUR},
                 {"rgba8.png", COLOUR},
                 {"grey8.png", GREY},
                 {"grey16.png", GREY},
                 {"grey_alpha8.png", GREY},
                 {"grey1.png", CHESS},
                 {"palette8.png", COLOUR},
                 {"palette8_interlaced.png", COLOUR}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hn_image image;
        if (!read_or_skip(&image, cases[k].name)) skip();
        assert_true(image.width == 13 && image.height == 9);
        for (int y = 0; y < 9; y++)
            for (int x = 0; x < 13; x++) {
                int red = (17 * x + 5 * y) % 256, chess = (x + y) % 2 * 255;
                const int want[3][3] = {{red, (3 * x + 29 * y) % 256, 7 * x * y % 256},
                                        {red, red, red},
                                        {chess, chess, chess}};
                for (int c = 0; c < 3; c++)
                    if (image.rgb[(y * 13 + x) * 3 + c] != want[cases[k].what][c])
                        fail_msg("%s: pixel %d, %d channel %d is %d", cases[k].name, x, y, c,
                                 image.rgb[(y * 13 + x) * 3 + c]);
            }
        hn_image_deinit(&image, &scratch_mem);
    }
}

/* What was drawn, within what the compression loses, and the same bytes on every machine. */
static void test_jpeg(void **state) {
    (void)state;
    static const struct {
        const char *name, *digest;
        int bound; /* colours are coarser at the edge of a subsampled image */
    } cases[] = {
        {"rgb444.jpg", "6a96bf3ea2f53ea690a51969869e67b4f9d987de432fc0d35df3c8752c7d206e", 4},
        {"rgb420.jpg", "51456ce2f56d0ed9baee3426dfde53a21280dccc6d28ff6349869fd52ed4676b", 12},
        {"progressive.jpg", "51456ce2f56d0ed9baee3426dfde53a21280dccc6d28ff6349869fd52ed4676b",
         12}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hn_image image;
        if (!read_or_skip(&image, cases[k].name)) skip();
        assert_true(image.width == 33 && image.height == 17);
        for (int y = 0; y < 17; y++)
            for (int x = 0; x < 33; x++) {
                const int want[3] = {4 * x + 5 * y, 7 * x, 255 - 10 * y};
                for (int c = 0; c < 3; c++)
                    assert_in_range(image.rgb[(y * 33 + x) * 3 + c] - want[c] + cases[k].bound, 0,
                                    2 * cases[k].bound);
            }
        char text[HN_SHA256_HEX];
        hn_sha256(image.rgb, 33 * 17 * 3, text);
        assert_string_equal(text, cases[k].digest);
        hn_image_deinit(&image, &scratch_mem);
    }
    hn_image image;
    assert_true(read_or_skip(&image, "grey.jpg"));
    for (int i = 0; i < 33 * 17; i++)
        assert_true(image.rgb[3 * i] == image.rgb[3 * i + 1] &&
                    image.rgb[3 * i] == image.rgb[3 * i + 2]);
    hn_image_deinit(&image, &scratch_mem);
}

static void expect_refused(const char *name, hone_status status, const char *text) {
    hn_image image = {0};
    hn_error err;
    hone_status found = read_seed(&image, name, &err);
    if (found == HONE_E_UNSUPPORTED && strstr(err.text, "which this build lacks") != NULL) return;
    assert_int_equal(found, status);
    if (strstr(err.text, text) == NULL) fail_msg("'%s' is not in: %s", text, err.text);
    assert_null(image.rgb);
}

static void test_refused(void **state) {
    (void)state;
    expect_refused("cmyk.jpg", HONE_E_FORMAT, "has 4 components (CMYK?)");
    expect_refused("scans.jpg", HONE_E_FORMAT, "more than 100 scans");
    expect_refused("huge.jpg", HONE_E_LIMIT, "is 65500 x 65500 pixels; at most 89478485 are read");
    expect_refused("huge.png", HONE_E_LIMIT, "is 65536 x 65536 pixels; at most 89478485 are read");
    const char *path = scratch_put_text("a.gif", "GIF89a");
    hn_file *file = NULL;
    hn_image image;
    hn_error err;
    assert_int_equal(hn_file_open(&file, path, false, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_image_read(&image, file, &scratch_mem, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "a.gif' is neither a JPEG nor a PNG file"));
    hn_file_unref(file);
}

/* No beginning of a file is an image. */
static void test_truncated(void **state) {
    (void)state;
    static const char *const names[] = {"rgb8_interlaced.png", "palette8.png", "rgb420.jpg",
                                        "progressive.jpg", "grey.jpg"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        hn_file *whole = open_seed(names[k]);
        for (size_t bytes = 0; bytes < whole->bytes; bytes++) {
            hn_file part = {whole->data, bytes, "part"};
            hn_image image = {0};
            hn_error err;
            hone_status status = hn_image_read(&image, &part, &scratch_mem, &err);
            if (status != HONE_E_FORMAT && status != HONE_E_UNSUPPORTED)
                fail_msg("%s cut at %zu: %s", names[k], bytes, hone_status_name(status));
        }
        hn_file_unref(whole);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    static const char *const names[] = {"rgb8_interlaced.png", "rgb420.jpg"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        hn_file *file = open_seed(names[k]);
        hone_status status = HONE_E_NOMEM;
        for (int at = 0; status == HONE_E_NOMEM; at++) {
            hn_image image = {0};
            atomic_store(&scratch_mem.fail_after, at);
            status = hn_image_read(&image, file, &scratch_mem, NULL);
            atomic_store(&scratch_mem.fail_after, -1);
            hn_image_deinit(&image, &scratch_mem);
        }
        assert_true(status == HONE_OK || status == HONE_E_UNSUPPORTED);
        hn_file_unref(file);
    }
}

/* A row of five pixels: half as many, then twice as many. */
static void test_scale(void **state) {
    (void)state;
    unsigned char pixels[5 * 3], dst[24];
    static const int values[] = {0, 100, 200, 40, 255};
    for (int i = 0; i < 15; i++) pixels[i] = (unsigned char)(values[i / 3] / (1 + i % 3));
    hn_image row = {5, 1, pixels};
    hn_image_part part = {.width = 5, .height = 1, .x = 1, .columns = 3, .rows = 1};
    assert_int_equal(hn_image_scale(&row, &part, dst, &scratch_mem, NULL), HONE_OK);
    assert_memory_equal(dst, ((const unsigned char[]){100, 200, 40, 50, 100, 20, 33, 66, 13}), 9);
    /* What Pillow 13 gives for resize((2, 1)) and resize((10, 1)), both BILINEAR. */
    part = (hn_image_part){.width = 2, .height = 1, .columns = 2, .rows = 1};
    assert_int_equal(hn_image_scale(&row, &part, dst, &scratch_mem, NULL), HONE_OK);
    assert_memory_equal(dst, ((const unsigned char[]){88, 147, 44, 74, 29, 49}), 6);
    part = (hn_image_part){.width = 10, .height = 3, .x = 2, .y = 1, .columns = 4, .rows = 2};
    assert_int_equal(hn_image_scale(&row, &part, dst, &scratch_mem, NULL), HONE_OK);
    static const unsigned char wide[] = {75, 125, 175, 160, 38, 63, 88, 80, 25, 41, 58, 53};
    for (int i = 0; i < 24; i++) /* both rows are the only one there is */
        assert_int_equal(dst[i], wide[i / 8 * 4 + i % 4]);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_png),       TEST(test_jpeg),      TEST(test_refused),
        TEST(test_truncated), TEST(test_no_memory), TEST(test_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
