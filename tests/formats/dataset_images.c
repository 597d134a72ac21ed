#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

/* tests/fuzz/seeds_image.py says what is on these. */
#define FOLDER HN_SOURCE_DIR "/tests/fuzz/corpus/image"

/* Two images of 13 x 9 and one of 33 x 17. */
static const char *put_list(void) {
    return scratch_put_text("y.csv",
                            "file,class,name\nrgb8.png,7,a\ngrey8.png,3,b\nrgb444.jpg,4,c\n");
}

static int red(int x, int y) { return (17 * x + 5 * y) % 256; }
static int green(int x, int y) { return (3 * x + 29 * y) % 256; }

static void test_files(void **state) {
    (void)state;
    const char *list = put_list();
    hn_dataset *ds = data_open_packed("images:" FOLDER ",labels=%s,crop=4,n=2", list);
    if (ds == NULL) skip();
    assert_int_equal(hn_dataset_count(ds), 2);
    int64_t labels[2];
    float x[2][3][4][4], swapped[4][4][3];
    assert_int_equal(hn_dataset_labels(ds, 0, 2, labels, NULL), HONE_OK);
    assert_true(labels[0] == 7 && labels[1] == 3);
    data_fill(ds, 0, 2, 3, DIMS(3, 4, 4), &x[0][0][0][0]);
    /* The middle of 13 x 9, rounded down: from 4, 2. */
    for (int i = 0; i < 16; i++) {
        int at_x = 4 + i % 4, at_y = 2 + i / 4;
        assert_true(x[0][0][i / 4][i % 4] == red(at_x, at_y));
        assert_true(x[0][1][i / 4][i % 4] == green(at_x, at_y));
        assert_true(x[1][1][i / 4][i % 4] == red(at_x, at_y));
    }
    hn_dataset_close(ds);
    /* Channels last because the dims say so; BGR, scaled, per channel. */
    ds = data_open("images:" FOLDER ",labels=%s,crop=4,order=bgr,scale=1/2,mean=1:2:3,std=2", list);
    data_fill(ds, 0, 1, 3, DIMS(4, 4, 3), &swapped[0][0][0]);
    for (int i = 0; i < 16; i++) {
        assert_true(swapped[i / 4][i % 4][2] == (x[0][0][i / 4][i % 4] / 2 - 3) / 2);
        assert_true(swapped[i / 4][i % 4][0] == (x[0][2][i / 4][i % 4] / 2 - 1) / 2);
    }
    hn_dataset_close(ds);
    /* The whole image; the short side to 6 of 9 makes 8 of 13. */
    ds = data_open("images:" FOLDER ",labels=%s,n=2", list);
    const int64_t *dims = hn_dataset_field_at(ds, 0)->dims;
    assert_true(dims[0] == 3 && dims[1] == 9 && dims[2] == 13);
    hn_dataset_close(ds);
    ds = data_open("images:" FOLDER ",labels=%s,resize=6", list);
    dims = hn_dataset_field_at(ds, 0)->dims;
    assert_true(dims[0] == 3 && dims[1] == 6 && dims[2] == 8);
    hn_dataset_want want = {.dtype = HONE_DTYPE_F32, .rank = 3, .dims = DIMS(3, 6, 8)};
    static float whole[3 * 6 * 8];
    hn_error err;
    assert_int_equal(hn_dataset_fill(ds, 0, 2, 1, &want, whole, &err), HONE_E_SHAPE);
    assert_non_null(
        strstr(err.text, "rgb444.jpg' comes out at 11 x 6 pixels, the first image at 8 x 6"));
    hn_dataset_close(ds);

    char spec[700];
    snprintf(spec, sizeof spec, "images:" FOLDER ",labels=%s,resize=6,crop=5", list);
    data_count_down(spec);
}

/* The file is there and is no image: it is remembered, whichever comes first. */
static void test_damaged(void **state) {
    (void)state;
    const char *folder = scratch_path("");
    scratch_put_text("a.jpg", "no image");
    scratch_put("b.jpg", "\xff\xd8\xff\xe0", 4);
    FILE *in = fopen(FOLDER "/rgb8.png", "rb");
    static unsigned char png[4096];
    size_t bytes = fread(png, 1, sizeof png, in);
    fclose(in);
    scratch_put("c.png", png, bytes);
    const char *list = scratch_put_text("y.csv", "a.jpg,1\nc.png,2\nb.jpg,3\nabsent.png,4\n");
    hn_dataset *ds = data_open_packed("images:%s,labels=%s,crop=4,n=3", folder, list);
    if (ds == NULL) skip();
    const char *names[2];
    float x[3 * 4 * 4];
    hn_dataset_want want = {.dtype = HONE_DTYPE_F32, .rank = 3, .dims = DIMS(3, 4, 4)};
    hn_error err;
    assert_int_equal(hn_dataset_skipped(ds, 2, names), 1); /* the size came from the second */
    data_fill(ds, 1, 1, 3, DIMS(3, 4, 4), x);
    assert_int_equal(hn_dataset_fill(ds, 0, 2, 1, &want, x, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "b.jpg' is not a whole JPEG file"));
    assert_true(hn_dataset_damaged(ds, 0) && !hn_dataset_damaged(ds, 1) &&
                hn_dataset_damaged(ds, 2));
    assert_int_equal(hn_dataset_skipped(ds, 2, names), 2);
    assert_string_equal(names[0], "a.jpg");
    assert_string_equal(names[1], "b.jpg");
    assert_int_equal(hn_dataset_skipped(ds, 1, names), 2);
    hn_dataset_close(ds);
    ds = data_open("images:%s,labels=%s,crop=4", folder, list);
    assert_int_equal(hn_dataset_fill(ds, 0, 3, 1, &want, x, &err), HONE_E_IO);
    assert_false(
        hn_dataset_damaged(ds, 3)); /* a list of files that are not there is wrong itself */
    hn_dataset_close(ds);
    data_expect_error(HONE_E_FORMAT, "no image can be decoded, the last being",
                      "images:%s,labels=%s", folder,
                      scratch_put_text("z.csv", "a.jpg,1\na.jpg,2\n"));
}

static void test_no_memory(void **state) {
    (void)state;
    hn_dataset *ds = data_open_packed("images:" FOLDER ",labels=%s,resize=6,crop=5", put_list());
    if (ds == NULL) skip();
    float x[3 * 5 * 5];
    hn_dataset_want want = {.dtype = HONE_DTYPE_F32, .rank = 3, .dims = DIMS(3, 5, 5)};
    hone_status status = HONE_E_NOMEM;
    for (int at = 0; status == HONE_E_NOMEM; at++) {
        atomic_store(&scratch_mem.fail_after, at);
        status = hn_dataset_fill(ds, 0, 0, 1, &want, x, NULL);
        atomic_store(&scratch_mem.fail_after, -1);
    }
    assert_int_equal(status, HONE_OK);
    hn_dataset_close(ds);
}

static void test_errors(void **state) {
    (void)state;
    const char *list = put_list();
    hn_dataset *ds = data_open_packed("images:" FOLDER ",labels=%s", list);
    if (ds == NULL) skip();
    hn_dataset_close(ds);
    data_expect_error(HONE_E_ARG, "images needs labels=FILE.csv", "images:" FOLDER);
    data_expect_error(HONE_E_SHAPE, "rgb8.png' is 13 x 9 pixels, too small for crop=10",
                      "images:" FOLDER ",labels=%s,crop=10", list);
    data_expect_error(HONE_E_SHAPE, "is 8 x 6 pixels after resize, too small for crop=7",
                      "images:" FOLDER ",labels=%s,resize=6,crop=7", list);
    data_expect_error(HONE_E_ARG, "crop: '0' is not a whole number of at least 1",
                      "images:" FOLDER ",labels=%s,crop=0", list);
    data_expect_error(HONE_E_LIMIT, "resize: 20000 is more than 16384 pixels",
                      "images:" FOLDER ",labels=%s,resize=20000", list);
    data_expect_error(HONE_E_LIMIT, "rgb8.png' would become 23665 x 16384 pixels",
                      "images:" FOLDER ",labels=%s,resize=16384", list);
    data_expect_error(HONE_E_IO, "cannot open", "images:" FOLDER ",labels=%s",
                      scratch_put_text("absent.csv", "absent.png,1\n"));
    data_expect_error(HONE_E_FORMAT, "line 3, column 2: 'x' is not a label",
                      "images:" FOLDER ",labels=%s",
                      scratch_put_text("bad.csv", "file,class\nrgb8.png,1\nrgb8.png,x,4\n"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_files),
        TEST(test_damaged),
        TEST(test_no_memory),
        TEST(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
