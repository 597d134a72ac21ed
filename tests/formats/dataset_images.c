#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/dataset_kind.h"
#include "support/data.h"

/* tests/fuzz/seeds_image.py says what is on these. */
#define FOLDER HN_SOURCE_DIR "/tests/fuzz/corpus/image"

/* Two images of 13 x 9 and one of 33 x 17. */
static const char *put_list(void) {
    return scratch_put_text("y.csv",
                            "file,class,name\nrgb8.png,7,a\ngrey8.png,3,b\nrgb444.jpg,4,c\n");
}

static void copy(const char *from, const char *to) {
    static unsigned char data[1 << 16];
    FILE *in = fopen(from, "rb");
    size_t bytes = fread(data, 1, sizeof data, in);
    fclose(in);
    scratch_put(to, data, bytes);
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
    copy(FOLDER "/rgb8.png", "c.png");
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

static void test_boxes(void **state) {
    (void)state;
    const char *list = scratch_put_text("list.csv", "rgb8.png\ngrey8.png\n");
    const char *boxes = scratch_put_text(
        "boxes.csv",
        "file,class,left,top,right,bottom\nrgb8.png,2,5,3,8,6\nrgb8.png,9,0,0,1,1\n"
        "rgb8.png,1,0,0,13,9\n");
    hn_dataset *ds = data_open_packed("images:" FOLDER ",labels=%s,boxes=%s,crop=4", list, boxes);
    if (ds == NULL) skip();
    assert_false(hn_dataset_has_labels(ds));
    assert_int_equal(hn_dataset_n_targets(ds), 1);
    const hn_dataset_field *t = hn_dataset_target_at(ds, 0);
    assert_string_equal(t->name, "boxes");
    assert_true(t->dtype == HONE_DTYPE_F32 && t->rank == 2 && t->dims[0] == 3 && t->dims[1] == 5);
    float got[2][3][5];
    hn_error err;
    assert_int_equal(hn_dataset_targets(ds, 0, 0, 2, got, &err), HONE_OK);
    /* In the crop from 4, 2 on; the second is outside, the third is cut. */
    const float want[2][3][5] = {{{2, 1, 1, 4, 4}, {1, 0, 0, 4, 4}, {-1}}, {{-1}, {-1}, {-1}}};
    assert_memory_equal(got, want, sizeof got);
    hn_dataset_close(ds);
    ds = data_open("images:" FOLDER ",labels=%s,boxes=%s,resize=18:39", list, boxes);
    assert_int_equal(hn_dataset_targets(ds, 0, 0, 1, got, &err), HONE_OK);
    const float scaled[5] = {2, 15, 6, 24, 12};
    assert_memory_equal(got[0][0], scaled, sizeof scaled);
    hn_dataset_close(ds);
#define BAD(text, rows)                                                                  \
    data_expect_error(HONE_E_FORMAT, text, "images:" FOLDER ",labels=%s,boxes=%s", list, \
                      scratch_put_text("bad.csv", rows))
    BAD("line 1: 'x.png' is none of the files", "x.png,1,0,0,1,1\n");
    BAD("line 2 is not a file, a class", "rgb8.png,1,0,0,1,1\nrgb8.png,1,0,0,1\n");
    BAD("line 2 is not a file, a class", "rgb8.png,1,0,0,1,1\nrgb8.png,1,3,0,1,1\n");
    BAD("line 2 is not a file, a class", "rgb8.png,1,0,0,1,1\nrgb8.png,-1,0,0,1,1\n");
    data_expect_error(HONE_E_FORMAT, "names 'rgb8.png' twice",
                      "images:" FOLDER ",labels=%s,boxes=%s",
                      scratch_put_text("twice.csv", "rgb8.png\nrgb8.png\n"), boxes);
    char spec[1200];
    snprintf(spec, sizeof spec, "images:" FOLDER ",labels=%s,boxes=%s,crop=4", list, boxes);
    data_count_down(spec);
}

static void test_masks(void **state) {
    (void)state;
    copy(FOLDER "/grey8.png", "rgb8.png"); /* the mask of the first, whose name it bears */
    copy(FOLDER "/rgb8.png", "grey8.png");
    copy(FOLDER "/grey8.png", "rgb444.png");
    const char *list = put_list(), *masks = scratch_path("");
    hn_dataset *ds = data_open_packed("images:" FOLDER ",labels=%s,masks=%s,crop=4", list, masks);
    if (ds == NULL) skip();
    unsigned char got[9 * 2 * 13 * 2];
    hn_error err;
    assert_true(hn_dataset_has_labels(ds));
    assert_string_equal(hn_dataset_target_at(ds, 0)->name, "mask");
    assert_int_equal(hn_dataset_targets(ds, 0, 0, 1, got, &err), HONE_OK);
    for (int i = 0; i < 16; i++) assert_int_equal(got[i], red(4 + i % 4, 2 + i / 4));
    assert_int_equal(hn_dataset_targets(ds, 0, 1, 1, got, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "grey8.png' has several channels"));
    assert_int_equal(hn_dataset_targets(ds, 0, 2, 1, got, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "is 13 x 9 pixels, its image 33 x 17"));
    assert_int_equal(hn_dataset_skipped(ds, 0, NULL), 0);
    hn_dataset_close(ds);
    ds = data_open("images:" FOLDER ",labels=%s,masks=%s,resize=18", list, masks);
    assert_int_equal(hn_dataset_targets(ds, 0, 0, 1, got, &err), HONE_OK);
    for (int i = 0; i < 18 * 26; i++) assert_int_equal(got[i], red(i % 26 / 2, i / 26 / 2));
    hn_dataset_close(ds);
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

static void expect_samples(const hn_dataset *ds, int64_t n, const char *const *names,
                           const int64_t *labels) {
    hn_error err;
    assert_int_equal(hn_dataset_count(ds), n);
    assert_true(hn_dataset_has_labels(ds) == (labels != NULL));
    for (int64_t i = 0; i < n; i++) {
        int64_t label;
        assert_string_equal(ds->names[i], names[i]);
        if (labels == NULL) continue;
        assert_int_equal(hn_dataset_labels(ds, i, 1, &label, &err), HONE_OK);
        assert_int_equal(label, labels[i]);
    }
}

/* Without a list: the files of the folder, in the order of their names, without labels. */
static void test_folder(void **state) {
    (void)state;
    copy(FOLDER "/rgb8.png", "b.png");
    copy(FOLDER "/grey8.png", "a.PNG");
    scratch_put_text("notes.txt", "no image");
    scratch_put_text(".hidden.png", "no image");
    scratch_folder("masks");
    copy(FOLDER "/grey8.png", "masks/b.png");
    hn_dataset *ds = data_open_packed("images:%s,crop=4", scratch_path(""));
    if (ds == NULL) skip();
    expect_samples(ds, 2, (const char *const[]){"a.PNG", "b.png"}, NULL);
    hn_dataset_close(ds);
    /* A column of names, with headings; a column of labels, in the order of the files. */
    ds = data_open("images:%s,labels=%s", scratch_path(""),
                   scratch_put_text("list.csv", "file\nb.png\na.PNG\n"));
    expect_samples(ds, 2, (const char *const[]){"b.png", "a.PNG"}, NULL);
    hn_dataset_close(ds);
    ds = data_open("images:%s,labels=%s", scratch_path(""),
                   scratch_put_text("labels.csv", "class\n5\n-2\n"));
    expect_samples(ds, 2, (const char *const[]){"a.PNG", "b.png"}, (const int64_t[]){5, -2});
    hn_dataset_close(ds);
    data_expect_error(HONE_E_FORMAT, "has 3 labels, but", "images:%s,labels=%s", scratch_path(""),
                      scratch_put_text("more.csv", "1\n2\n3\n"));
    char spec[400];
    snprintf(spec, sizeof spec, "images:%s,labels=labels.csv", scratch_path(""));
    data_count_down(spec);
}

/* A folder per class: its number among the folders is the label, empty ones counted. */
static void test_classes(void **state) {
    (void)state;
    static const char *const folders[] = {"zebra", "cat", "dog"};
    for (int i = 0; i < 3; i++) scratch_folder(folders[i]);
    copy(FOLDER "/rgb8.png", "zebra/1.png");
    copy(FOLDER "/rgb8.png", "cat/b.png");
    copy(FOLDER "/rgb8.png", "cat/a.png");
    scratch_put_text("README", "classes");
    hn_dataset *ds = data_open_packed("images:%s,crop=4", scratch_path(""));
    if (ds == NULL) skip();
    expect_samples(ds, 3, (const char *const[]){"cat/a.png", "cat/b.png", "zebra/1.png"},
                   (const int64_t[]){0, 0, 2});
    hn_dataset_close(ds);
    char spec[400];
    snprintf(spec, sizeof spec, "images:%s", scratch_path(""));
    data_count_down(spec);
}

static void test_errors(void **state) {
    (void)state;
    const char *list = put_list();
    hn_dataset *ds = data_open_packed("images:" FOLDER ",labels=%s", list);
    if (ds == NULL) skip();
    hn_dataset_close(ds);
    scratch_folder("empty");
    data_expect_error(HONE_E_FORMAT, "empty' has no samples of the kind images", "images:%s",
                      scratch_path("empty"));
    data_expect_error(HONE_E_IO, "cannot open the folder", "images:%s", scratch_path("none"));
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
        TEST(test_files),     TEST(test_damaged), TEST(test_boxes),  TEST(test_masks),
        TEST(test_no_memory), TEST(test_errors),  TEST(test_folder), TEST(test_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
