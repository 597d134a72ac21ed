#include "formats/dataset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/npz.h"
#include "support/data.h"

/* A dataset of one array. */
static const char *put_array(hone_dtype dtype, int rank, const int64_t *dims, size_t bytes,
                             const void *data) {
    const char *name = "x", *path = scratch_path("a.npz");
    hn_array a = {.dtype = dtype, .rank = rank, .bytes = bytes, .data = (void *)data};
    memcpy(a.dims, dims, (size_t)rank * sizeof *dims);
    assert_int_equal(hn_npz_write(path, NULL, 1, &name, &a, &scratch_mem, NULL), HONE_OK);
    return path;
}

static void test_kinds(void **state) {
    (void)state;
    data_expect_error(HONE_E_ARG,
                      "no kind of dataset 'cifar' (do you mean 'cifar10'?); there are "
                      "cifar10, csv, idx, images, npz, random, raw, synthetic",
                      "cifar:x");
    data_expect_error(HONE_E_ARG, "no kind of dataset 'spreadsheet'; there are", "spreadsheet:x");
    data_expect_error(HONE_E_ARG, "no kind of dataset ''", "%s", "");
    data_expect_error(HONE_E_ARG, "do you mean 'npz:dir/x.npz'?", "dir/x.npz,scale=2");
    data_expect_error(HONE_E_ARG, "do you mean 'csv:x.csv.gz'?", "x.csv.gz");
    data_expect_error(HONE_E_ARG, "do you mean 'idx:t10k-images-idx3-ubyte'?",
                      "t10k-images-idx3-ubyte");
    data_expect_error(HONE_E_ARG, "do you mean 'images:/tmp'?", "/tmp");
    data_expect_error(HONE_E_ARG, "csv needs a path: csv:FILE", "csv");
    data_expect_error(HONE_E_ARG, "csv needs a path: csv:FILE", "csv:,n=1");
    data_expect_error(HONE_E_LIMIT, "at most 65536 characters", "csv:%070000d", 0);
}

static void test_keys(void **state) {
    (void)state;
    const char *path = scratch_put_text("a.csv", "1,0\n2,0\n3,0\n");
#define BAD(text, keys) data_expect_error(HONE_E_ARG, text, "csv:%s,%s", path, keys)
    BAD("no key 'scal' (do you mean 'scale'?); csv takes scale, mean, std, order, layout, n, skip",
        "scal=1");
    BAD("no key 'temperature'; csv takes", "temperature=1");
    BAD("'temperature' is not key=value", "temperature");
    BAD("'' is not key=value", "n=1,");
    BAD("key 'n' is given twice", "n=1,n=2");
    BAD("key 'seed' is not supported for csv", "seed=1");
    BAD("key 'resize' is not supported for csv", "resize=256");
    BAD("key 'crop' is not supported for csv", "crop=224");
    BAD("scale: 'x' is not a number", "scale=x");
    BAD("scale: '1/0' is not a number", "scale=1/0");
    BAD("scale: '1/2/3' is not a number", "scale=1/2/3");
    BAD("scale: '1:2' is not a number", "scale=1:2");
    BAD("mean: '' is not a number", "mean=1:");
    BAD("std: a value is 0", "std=1:0");
    BAD("mean has 2 values and std 3", "mean=1:2,std=1:2:3");
    BAD("order: 'gbr' is neither rgb nor bgr", "order=gbr");
    BAD("layout: 'hwc' is neither nchw nor nhwc", "layout=hwc");
    BAD("n: '0' is not a whole number of at least 1", "n=0");
    BAD("n: '1.5' is not a whole number", "n=1.5");
    BAD("skip: '-1' is not a whole number of at least 0", "skip=-1");
    BAD("n=4, but there are 3 samples and skip=0", "n=4");
    BAD("n=3, but there are 3 samples and skip=1", "n=3,skip=1");
    BAD("skip=3 leaves none of the 3 samples", "skip=3");
    /* The line is named in every message. */
    data_expect_error(HONE_E_ARG, "dataset 'random,n=x': n: 'x'", "random,n=x");
    data_expect_error(HONE_E_ARG, "labels: no file is named", "idx:x,labels=");
}

static void test_window(void **state) {
    (void)state;
    const char *path = scratch_put_text("a.csv", "1,10\n2,20\n3,30\n4,40\n");
    hn_dataset *ds = data_open("csv:%s,skip=1,n=2", path);
    float x[2];
    int64_t labels[2];
    assert_int_equal(hn_dataset_count(ds), 2);
    data_fill(ds, 0, 2, 1, DIMS(1), x);
    assert_true(x[0] == 2 && x[1] == 3);
    assert_int_equal(hn_dataset_labels(ds, 1, 1, labels, NULL), HONE_OK);
    assert_int_equal(labels[0], 30);
    hn_dataset_close(ds);
    hn_dataset_close(NULL);
}

/* One order per seed, of all samples, before skip and n. */
static void test_shuffle(void **state) {
    (void)state;
    char rows[4096] = "";
    size_t used = 0;
    for (int i = 0; i < 100; i++)
        used += (size_t)snprintf(rows + used, sizeof rows - used, "%d,%d\n", i, 100 + i);
    const char *path = scratch_put_text("a.csv", rows);
    int64_t order[3][100];
    float x[100];
    for (int k = 0; k < 3; k++) {
        hn_dataset *ds = data_open("csv:%s,shuffle=%d", path, k / 2 + 1);
        assert_int_equal(hn_dataset_labels(ds, 0, 100, order[k], NULL), HONE_OK);
        data_fill(ds, 0, 100, 1, DIMS(1), x);
        bool seen[100] = {false};
        for (int i = 0; i < 100; i++) {
            assert_int_equal(order[k][i], 100 + (int)x[i]);
            seen[(int)x[i]] = true;
        }
        for (int i = 0; i < 100; i++) assert_true(seen[i]);
        hn_dataset_close(ds);
    }
    assert_memory_equal(order[0], order[1], sizeof order[0]);
    assert_memory_not_equal(order[0], order[2], sizeof order[0]);
    hn_dataset *ds = data_open("csv:%s,shuffle=1,skip=90,n=5", path);
    int64_t part[5];
    assert_int_equal(hn_dataset_labels(ds, 0, 5, part, NULL), HONE_OK);
    assert_memory_equal(part, order[0] + 90, sizeof part);
    hn_dataset_close(ds);
    data_expect_error(HONE_E_ARG, "shuffle: 'yes' is not a whole number", "csv:%s,shuffle=yes",
                      path);
    char spec[5000];
    snprintf(spec, sizeof spec, "csv:%s,shuffle=0", path);
    data_count_down(spec);

    /* The order is part of what a line means: the same everywhere. */
    int64_t *six;
    assert_int_equal(hn_dataset_permutation(&six, 6, 1, &scratch_mem, NULL), HONE_OK);
    const int64_t want[6] = {1, 4, 2, 3, 5, 0};
    assert_memory_equal(six, want, sizeof want);
    hn_free(&scratch_mem, six);
}

static void test_escapes(void **state) {
    (void)state;
    scratch_put_text("a,b:c\\d.csv", "1,0\n");
    hn_dataset *ds = data_open("csv:%s/a\\,b\\:c\\\\d.csv,n=1", scratch_path(""));
    hn_dataset_close(ds);
    ds = data_open("csv:%s/a\\,b:c\\\\d.csv", scratch_path("")); /* ':' separates nothing here */
    hn_dataset_close(ds);
    data_expect_error(HONE_E_ARG, "'\\' stands only before", "csv:a\\b.csv");
    data_expect_error(HONE_E_ARG, "'\\' stands only before", "csv:a\\");
}

static void test_line_in_file(void **state) {
    (void)state;
    const char *csv = scratch_put_text("a.csv", "1,0\n2,0\n");
    char text[1200];
    snprintf(text, sizeof text, "  csv:%s,\r\n\n scale=1/2\n\tskip=1  \n", csv);
    hn_dataset *ds = data_open("@%s", scratch_put_text("line.txt", text));
    float x;
    assert_int_equal(hn_dataset_count(ds), 1);
    data_fill(ds, 0, 1, 0, NULL, &x);
    assert_true(x == 1);
    hn_dataset_close(ds);
    char spec[600];
    snprintf(spec, sizeof spec, "@%s", scratch_path("line.txt"));
    data_count_down(spec);
    data_expect_error(HONE_E_IO, "cannot open", "@%s", scratch_path("absent"));
    data_expect_error(HONE_E_ARG, "no kind of dataset ''", "@%s", scratch_put_text("e.txt", "\n"));
    data_expect_error(HONE_E_ARG, "no kind of dataset '@e.txt'", "@%s",
                      scratch_put_text("nested.txt", "@e.txt"));
    data_expect_error(HONE_E_FORMAT, "is not text", "@%s", scratch_put("zero.txt", "csv:\0", 5));
    static char large[70000];
    memset(large, 'x', sizeof large);
    data_expect_error(HONE_E_LIMIT, "has 70000 bytes", "@%s",
                      scratch_put("large.txt", large, sizeof large));
}

/* mean, std and order count along the axis the layout names. */
static void test_channels(void **state) {
    (void)state;
    static const float pixels[] = {1, 2, 3, 4, 5, 6}; /* two samples' worth of 1 x 3 or 3 x 1 */
    const char *path = put_array(HONE_DTYPE_F32, 4, DIMS(2, 3, 1, 1), sizeof pixels, pixels);
    float x[6];
    hn_dataset *ds = data_open("npz:%s,mean=10:20:30,std=1:2:4,order=bgr", path);
    data_fill(ds, 0, 2, 3, DIMS(3, 1, 1), x);
    assert_memory_equal(x,
                        ((const float[]){3 - 10, (2 - 20) / 2.f, (1 - 30) / 4.f, 6 - 10,
                                         (5 - 20) / 2.f, (4 - 30) / 4.f}),
                        sizeof x);
    hn_dataset_close(ds);

    static const float rows[] = {1, 2, 3, 4, 5, 6}; /* one sample of 2 x 1 x 3, channels last */
    path = put_array(HONE_DTYPE_F32, 4, DIMS(1, 2, 1, 3), sizeof rows, rows);
    ds = data_open("npz:%s,layout=nhwc,scale=2,mean=1:2:3", path);
    data_fill(ds, 0, 1, 3, DIMS(2, 1, 3), x);
    assert_memory_equal(x, ((const float[]){1, 2, 3, 7, 8, 9}), sizeof x);
    hn_dataset_close(ds);
    ds = data_open("npz:%s,layout=nhwc,order=bgr", path);
    data_fill(ds, 0, 1, 3, DIMS(2, 1, 3), x);
    assert_memory_equal(x, ((const float[]){3, 2, 1, 6, 5, 4}), sizeof x);
    hn_dataset_close(ds);
    ds = data_open("npz:%s,std=2", path); /* one value serves every channel */
    data_fill(ds, 0, 1, 1, DIMS(6), x);
    assert_memory_equal(x, ((const float[]){0.5f, 1, 1.5f, 2, 2.5f, 3}), sizeof x);
    hn_dataset_close(ds);

    hn_dataset_want want = {.dtype = HONE_DTYPE_F32, .rank = 3, .dims = DIMS(2, 1, 3)};
    hn_error err;
    ds = data_open("npz:%s,mean=1:2:3", path);
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 1, &want, x, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "have 3 values, the input has 2 channels (layout nchw)"));
    hn_dataset_close(ds);
    ds = data_open("npz:%s,order=bgr", path);
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 1, &want, x, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "order=bgr needs 3 channels, the input has 2"));
    want.dims = DIMS(2, 2);
    want.rank = 2;
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 1, &want, x, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "a sample of x is [2,1,3], the model wants [2,2]"));
    want.dims = DIMS(-1, 2);
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 1, &want, x, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "which is not a shape"));
    int64_t length;
    assert_int_equal(hn_dataset_longest(ds, 0, 0, 1, &length, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "have 3 axes, a length needs 1"));
    hn_dataset_close(ds);
}

/* Longer than one piece of the conversion. */
static void test_long_sample(void **state) {
    (void)state;
    static float data[3000], x[3000];
    for (int i = 0; i < 3000; i++) data[i] = (float)i;
    const char *path = put_array(HONE_DTYPE_F32, 3, DIMS(1, 3, 1000), sizeof data, data);
    hn_dataset *ds = data_open("npz:%s,mean=0:1000:2000", path);
    data_fill(ds, 0, 1, 2, DIMS(3, 1000), x);
    for (int i = 0; i < 3000; i++) assert_true(x[i] == (float)(i % 1000));
    hn_dataset_close(ds);
}

/* Opens an array of two values with the keys given and fills an input of type `to`; *bits receives
 * what it holds. */
static hone_status convert(hone_dtype from, const void *data, size_t bytes, const char *keys,
                           hone_dtype to, unsigned char bits[16], hn_error *err) {
    const char *path = put_array(from, 2, DIMS(1, 2), bytes, data);
    hn_dataset *ds = data_open("npz:%s%s", path, keys);
    hn_dataset_want want = {.dtype = to, .rank = 1, .dims = DIMS(2)};
    memset(bits, 0, 16);
    hone_status status = hn_dataset_fill(ds, 0, 0, 1, &want, bits, err);
    hn_dataset_close(ds);
    return status;
}

static void test_types(void **state) {
    (void)state;
    unsigned char bits[16];
    hn_error err;
    const int64_t large[] = {INT64_MAX, INT64_MIN}, small[] = {1, -8}, token[] = {300, 1};
    const uint64_t huge[] = {UINT64_MAX, 1};
    const float halves[] = {0.5f, 2.5f}, whole[] = {3, -4}, far[] = {1, 3e9f};
    const double top[] = {18446744073709549568.0, 0}; /* the largest double below 2^64 */
#define CONVERT(from, data, keys, to) \
    convert(HONE_DTYPE_##from, data, sizeof data, keys, HONE_DTYPE_##to, bits, &err)
#define HOLDS(type, a, b) assert_memory_equal(bits, ((const type[]){a, b}), 2 * sizeof(type))
#define REFUSED(call, words)                      \
    do {                                          \
        assert_int_equal(call, HONE_E_TYPE);      \
        assert_non_null(strstr(err.text, words)); \
    } while (0)
    assert_int_equal(CONVERT(S64, large, "", S64), HONE_OK);
    HOLDS(int64_t, INT64_MAX, INT64_MIN);
    assert_int_equal(CONVERT(S64, token, "", S32), HONE_OK);
    HOLDS(int32_t, 300, 1);
    assert_int_equal(CONVERT(S64, small, "", S4), HONE_OK); /* packed */
    assert_int_equal(bits[0], 0x81);
    REFUSED(CONVERT(S64, token, "", U8), "sample 0 has the value 300, which is no u8");
    REFUSED(CONVERT(S64, small, "", U64), "the value -8, which is no u64");
    REFUSED(CONVERT(S64, token, "", BOOL), "the value 300, which is no bool");
    assert_int_equal(CONVERT(U64, huge, "", U64), HONE_OK);
    HOLDS(uint64_t, UINT64_MAX, 1);
    REFUSED(CONVERT(U64, huge, "", S64), "which is no s64");
    /* Values read must be integers; values computed are rounded to even. */
    assert_int_equal(CONVERT(F32, whole, "", S8), HONE_OK);
    HOLDS(int8_t, 3, -4);
    REFUSED(CONVERT(F32, halves, "", S8), "the value 0.5, which is no s8");
    assert_int_equal(CONVERT(F32, halves, ",mean=0", S8), HONE_OK);
    HOLDS(int8_t, 0, 2);
    assert_int_equal(CONVERT(S64, token, ",scale=1/2,mean=25", S8), HONE_OK);
    HOLDS(int8_t, 125, -24);
    REFUSED(CONVERT(S64, token, ",scale=1/2", S8), "the value 150, which is no s8");
    REFUSED(CONVERT(F32, far, "", S32), "the value 3e+09, which is no s32");
    assert_int_equal(CONVERT(F64, top, "", U64), HONE_OK);
    HOLDS(uint64_t, 18446744073709549568u, 0);
    REFUSED(CONVERT(F64, top, "", S64), "which is no s64");
    /* Floats. */
    assert_int_equal(CONVERT(F32, halves, "", F16), HONE_OK);
    HOLDS(uint16_t, 0x3800, 0x4100);
    assert_int_equal(CONVERT(S64, small, ",scale=1/4", F64), HONE_OK);
    HOLDS(double, 0.25, -2);
    REFUSED(CONVERT(F32, whole, "", STRING), "an input of type string cannot be filled");
    REFUSED(CONVERT(F32, whole, "", C64), "an input of type c64 cannot be filled");
}

static void test_find(void **state) {
    (void)state;
    hn_dataset *ds = data_open("csv:%s", scratch_put_text("a.csv", "1,0\n"));
    int field = -1;
    hn_error err;
    assert_int_equal(hn_dataset_find(ds, "x", 0, 1, &field, &err), HONE_OK);
    assert_int_equal(field, 0);
    assert_int_equal(hn_dataset_find(ds, "x", 0, 2, &field, &err), HONE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "input 'x'; there is only one without a name"));
    hn_dataset_close(ds);
}

/* Samples by their numbers, counted behind skip and shuffle; a part of a part too. */
static void test_part(void **state) {
    (void)state;
    const char *path = scratch_put_text("a.csv", "1,10\n2,20\n3,30\n4,40\n5,50\n");
    const int64_t some[3] = {3, 0, 1}, last[1] = {2};
    hn_dataset *ds = data_open("csv:%s,skip=1", path), *part, *single;
    assert_int_equal(hn_dataset_part(&part, ds, some, 3, NULL), HONE_OK);
    assert_int_equal(hn_dataset_part(&single, part, last, 1, NULL), HONE_OK);
    float x[3];
    int64_t labels[3];
    assert_int_equal(hn_dataset_count(part), 3);
    data_fill(part, 0, 3, 1, DIMS(1), x);
    assert_true(x[0] == 5 && x[1] == 2 && x[2] == 3);
    assert_int_equal(hn_dataset_labels(part, 0, 3, labels, NULL), HONE_OK);
    assert_true(labels[0] == 50 && labels[1] == 20 && labels[2] == 30);
    assert_int_equal(hn_dataset_labels(single, 0, 1, labels, NULL), HONE_OK);
    assert_int_equal(labels[0], 30);
    hn_dataset_close(single);
    hn_dataset_close(part);
    assert_int_equal(hn_dataset_count(ds), 4); /* which is as it was */
    for (int fail = 0; fail < 2; fail++) {
        atomic_store(&scratch_mem.fail_after, fail);
        assert_int_equal(hn_dataset_part(&part, ds, some, 3, NULL), HONE_E_NOMEM);
    }
    atomic_store(&scratch_mem.fail_after, -1);
    hn_dataset_close(ds);
}

/* ---- the line with other paths ---- */

/* Remembers what it was asked for; each place is `at/` and a number. */
typedef struct places {
    char asked[400], place[32];
    int n, most;
} places;

static const char *give_place(void *ctx, const char *path) {
    places *p = ctx;
    size_t used = strlen(p->asked);
    if (p->n == p->most) return NULL;
    snprintf(p->asked + used, sizeof p->asked - used, "[%s]", path);
    snprintf(p->place, sizeof p->place, "at/%d,", p->n++);
    return p->place;
}

static void expect_moved(const char *line, const char *wanted, const char *asked) {
    places p = {.most = 10};
    char *text = NULL;
    hn_error err;
    if (hn_dataset_moved(&text, line, give_place, &p, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s: %s", line, err.text);
    assert_string_equal(text, wanted);
    assert_string_equal(p.asked, asked);
    hn_free(&scratch_mem, text);
}

static void test_moved(void **state) {
    (void)state;
    char line[800], asked[800];
    expect_moved("csv:a\\,b.csv,scale=1/255,n=3", "csv:at/0\\,,scale=1/255,n=3", "[a,b.csv]");
    expect_moved("idx:i,labels=l\\:x,skip=1", "idx:at/0\\,,labels=at/1\\,,skip=1", "[i][l:x]");
    expect_moved("npz:x.npz,targets=a:b", "npz:at/0\\,,targets=a:b", "[x.npz]");
    expect_moved("synthetic:digits,n=4,seed=2", "synthetic:digits,n=4,seed=2", "");
    expect_moved("random,n=2", "random,n=2", "");
    /* What lies in the folder goes with it; what does not is named on its own. */
    const char *folder = scratch_folder("photos");
    scratch_put_text("photos/l.csv", "a.jpg,1\n");
    scratch_put_text("out.csv", "a.jpg,1\n");
    snprintf(line, sizeof line, "images:%s,labels=l.csv,boxes=other.csv,resize=4:5", folder);
    snprintf(asked, sizeof asked, "[%s][other.csv]", folder);
    expect_moved(line, "images:at/0\\,,labels=l.csv,boxes=at/1\\,,resize=4:5", asked);
    snprintf(line, sizeof line, "raw:%s,labels=../out.csv", folder);
    snprintf(asked, sizeof asked, "[%s][%s/../out.csv]", folder, folder);
    expect_moved(line, "raw:at/0\\,,labels=at/1\\,", asked);
    snprintf(line, sizeof line, "@%s", scratch_put_text("line.txt", "csv:x.csv\n  n=1\n\n"));
    expect_moved(line, "csv:at/0\\,,n=1", "[x.csv]");
    /* Wrong lines are wrong here too. */
    places none = {.most = 1};
    char *text = NULL;
    hn_error err;
    assert_int_equal(hn_dataset_moved(&text, "csv:a,b=1", give_place, &none, &scratch_mem, &err),
                     HONE_E_ARG);
    assert_int_equal(
        hn_dataset_moved(&text, "idx:i,labels=l", give_place, &none, &scratch_mem, &err),
        HONE_E_LIMIT);
    assert_null(text);
    /* No allocation that fails leaks. */
    hone_status status = HONE_E_NOMEM;
    for (int k = 0; status == HONE_E_NOMEM; k++) {
        hn_allocator alloc;
        places p = {.most = 10};
        hn_allocator_init(&alloc);
        atomic_store(&alloc.fail_after, k);
        status = hn_dataset_moved(&text, "idx:i,labels=l", give_place, &p, &alloc, &err);
        if (status == HONE_OK) hn_free(&alloc, text);
        assert_int_equal(atomic_load(&alloc.blocks), 0);
    }
    assert_int_equal(status, HONE_OK);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_moved),   TEST(test_kinds),       TEST(test_keys),         TEST(test_window),
        TEST(test_shuffle), TEST(test_escapes),     TEST(test_line_in_file), TEST(test_channels),
        TEST(test_types),   TEST(test_long_sample), TEST(test_find),         TEST(test_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
