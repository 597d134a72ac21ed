#include "formats/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "base/size.h"
#include "support/scratch.h"

/* The bytes of a .npy put together by hand. */
typedef struct npy {
    unsigned char bytes[1024];
    size_t n;
} npy;

static npy make(int version, const char *header, const void *data, size_t bytes) {
    npy f = {.n = 0};
    size_t length = strlen(header);
    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[6] = (unsigned char)version;
    f.bytes[8] = (unsigned char)length;
    f.bytes[9] = (unsigned char)(length >> 8);
    f.n = version == 1 ? 10 : 12;
    memcpy(f.bytes + f.n, header, length);
    f.n += length;
    memcpy(f.bytes + f.n, data, bytes);
    f.n += bytes;
    return f;
}

static hone_status parse(const npy *f, hone_dtype void_as, hn_array *out, hn_error *err) {
    hn_npy_source source = {.bytes = f->n, .data = f->bytes};
    hn_npy_options options = {.void_as = void_as};
    return hn_npy_decode(out, &source, &options, &scratch_mem, err);
}

static void check(int version, const char *header, const void *data, size_t bytes,
                  hone_dtype void_as, hone_dtype dtype, int rank, const int64_t *dims,
                  const void *want, size_t want_bytes) {
    npy f = make(version, header, data, bytes);
    hn_array a;
    hn_error err = {.text = ""};
    if (parse(&f, void_as, &a, &err) != HONE_OK) fail_msg("%s: %s", header, err.text);
    assert_int_equal(a.dtype, dtype);
    assert_int_equal(a.rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(a.dims[i], dims[i]);
    assert_int_equal(a.bytes, want_bytes);
    assert_memory_equal(a.data, want, want_bytes);
    assert_null(a.file);
    hn_array_deinit(&a, &scratch_mem);
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static void test_read(void **state) {
    (void)state;
    const float f[6] = {1, 2, 3, 4, 5, 6};
    for (int version = 1; version <= 3; version++)
        check(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", f, 24, 0,
              HONE_DTYPE_F32, 2, DIMS(2, 3), f, 24);
    check(1, "{\"shape\":(6,),\"fortran_order\":True,\"descr\":\"<f4\"}", f, 24, 0, HONE_DTYPE_F32,
          1, DIMS(6), f, 24);
    check(1, "{'descr':'<f4','fortran_order':False,'shape':()}", f, 4, 0, HONE_DTYPE_F32, 0,
          DIMS(0), f, 4);
    check(1, "{'descr':'<f4','fortran_order':False,'shape':(3,0,9223372036854775807)}", "", 0, 0,
          HONE_DTYPE_F32, 3, DIMS(3, 0, INT64_MAX), "", 0);
    /* Fortran order: the first axis is the fastest. */
    check(1, "{'descr':'|u1','fortran_order':True,'shape':(2,3)}", "adbecf", 6, 0, HONE_DTYPE_U8, 2,
          DIMS(2, 3), "abcdef", 6);
    check(1, "{'descr':'|i1','fortran_order':True,'shape':(2,2,2)}", "aecgbfdh", 8, 0,
          HONE_DTYPE_S8, 3, DIMS(2, 2, 2), "abcdefgh", 8);
    /* Big-endian; complex numbers swap by half. */
    check(1, "{'descr':'>i2','fortran_order':False,'shape':(2,)}", "\1\2\3\4", 4, 0, HONE_DTYPE_S16,
          1, DIMS(2), "\2\1\4\3", 4);
    check(1, "{'descr':'>c8','fortran_order':False,'shape':(1,)}", "abcdefgh", 8, 0, HONE_DTYPE_C64,
          1, DIMS(1), "dcbahgfe", 8);
    check(1, "{'descr':'>u2','fortran_order':True,'shape':(2,2)}", "aAcCbBdD", 8, 0, HONE_DTYPE_U16,
          2, DIMS(2, 2), "AaBbCcDd", 8);
    /* Bools become 0 or 1, whatever byte stood for true. */
    check(1, "{'descr':'|b1','fortran_order':False,'shape':(3,)}", "\0\1\2", 3, 0, HONE_DTYPE_BOOL,
          1, DIMS(3), "\0\1\1", 3);
}

static void test_types_numpy_lacks(void **state) {
    (void)state;
    /* As NumPy writes what ml_dtypes adds to it. */
    check(1, "{'descr':'<V2','fortran_order':False,'shape':(2,)}", "abcd", 4, HONE_DTYPE_F32,
          HONE_DTYPE_BF16, 1, DIMS(2), "abcd", 4);
    check(1, "{'descr':'|V2','fortran_order':False,'shape':(1,)}", "ab", 2, 0, HONE_DTYPE_BF16, 1,
          DIMS(1), "ab", 2);
    check(1, "{'descr':'<V1','fortran_order':False,'shape':(2,)}", "ab", 2, HONE_DTYPE_F8E4M3FN,
          HONE_DTYPE_F8E4M3FN, 1, DIMS(2), "ab", 2);
    check(1, "{'descr':'<f1','fortran_order':False,'shape':(2,)}", "ab", 2, 0, HONE_DTYPE_F8E5M2, 1,
          DIMS(2), "ab", 2);
    /* One byte per element on disk, packed in memory; the bits above the element's are not looked
     * at. */
    check(1, "{'descr':'<V1','fortran_order':False,'shape':(3,)}", "\xf1\x02\x0f", 3, HONE_DTYPE_U4,
          HONE_DTYPE_U4, 1, DIMS(3), "\x21\x0f", 2);
    check(1, "{'descr':[('int2','|u1')],'fortran_order':True,'shape':(2,3)}", "\0\3\1\2\2\1", 6, 0,
          HONE_DTYPE_S2, 2, DIMS(2, 3), "\xe4\x06", 2);
}

static void expect_error(const char *header, size_t bytes, hone_status status, const char *text) {
    npy f = make(1, header, "0123456789abcdef", bytes);
    hn_array a;
    hn_error err;
    assert_int_equal(parse(&f, 0, &a, &err), status);
    if (strstr(err.text, text) == NULL) fail_msg("%s: %s", header, err.text);
}

static void test_bad_headers(void **state) {
    (void)state;
#define HEAD "{'descr': '<f4', 'fortran_order': False, 'shape': "
    expect_error("", 0, HONE_E_FORMAT, "ends where '{' was expected");
    expect_error("x", 0, HONE_E_FORMAT, "has 'x' at byte 0 where '{'");
    expect_error("{}", 0, HONE_E_FORMAT, "lacks descr");
    expect_error("{'descr': '<f4', 'fortran_order': False}", 4, HONE_E_FORMAT, "lacks shape");
    expect_error("{'descr': '<f4', 'shape': ()}", 4, HONE_E_FORMAT, "lacks fortran_order");
    expect_error("{'descr': '<f4', 'descr': '<f4'}", 4, HONE_E_FORMAT, "a second key 'descr'");
    expect_error("{'color': 1}", 4, HONE_E_FORMAT, "an unknown key 'color'");
    expect_error("{'descr: 1}", 4, HONE_E_FORMAT, "ends where '''");
    expect_error(HEAD "(4,)} x", 16, HONE_E_FORMAT, "where its end was expected");
    expect_error(HEAD "(4)}", 16, HONE_E_FORMAT, "where ',' was expected");
    expect_error(HEAD "(-4,)}", 16, HONE_E_FORMAT, "has '-' at byte 51 where a dim");
    expect_error(HEAD "(4,,)}", 16, HONE_E_FORMAT, "where a dim was expected");
    expect_error(HEAD "(4 4)}", 16, HONE_E_FORMAT, "where ',' was expected");
    expect_error(HEAD "(9223372036854775808,)}", 16, HONE_E_FORMAT, "a dim over");
    expect_error(HEAD "(4294967296,4294967296)}", 16, HONE_E_FORMAT, "more elements than memory");
    expect_error(HEAD "(4611686018427387904,)}", 16, HONE_E_FORMAT, "more elements than memory");
    expect_error(HEAD "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", 4, HONE_E_LIMIT, "over 16 axes");
    expect_error(HEAD "(4,)}", 15, HONE_E_FORMAT,
                 "has 15 bytes of elements; its shape and type need 16");
    expect_error(HEAD "(3,)}", 16, HONE_E_FORMAT,
                 "has 16 bytes of elements; its shape and type need 12");
    static const char *const types[] = {"<U4", "|O8", "|S1", "f4",  "<f", "<f44", "<f4x",
                                        "=f4", "|f4", "<f3", "<M8", "",   "<i16", "\xff\xff\xff"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char header[100];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1,)}",
                 types[i]);
        expect_error(header, 4, HONE_E_TYPE, "which hone has no type for");
    }
    expect_error("{'descr': '|V1', 'fortran_order': False, 'shape': (1,)}", 1, HONE_E_TYPE,
                 "does not say what their bits mean");
    expect_error("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4, HONE_E_TYPE,
                 "'<f4' named x");
    expect_error("{'descr': [('int4', '|i1')], 'fortran_order': False, 'shape': (1,)}", 1,
                 HONE_E_TYPE, "'|i1' named int4");
    expect_error("{'descr': [('a','<f4'),('b','<f4')], 'fortran_order': False, 'shape': (1,)}", 8,
                 HONE_E_FORMAT, "where ']' was expected");
    expect_error("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", 4, HONE_E_FORMAT,
                 "True or False");
}

static void test_bad_starts(void **state) {
    (void)state;
    hn_array a;
    hn_error err;
    const float f = 1;
    npy good = make(1, HEAD "(1,)}", &f, 4);
    for (size_t n = 0; n < good.n; n++) { /* every truncation */
        npy cut = good;
        cut.n = n;
        assert_int_equal(parse(&cut, 0, &a, &err), HONE_E_FORMAT);
    }
    npy bad = good;
    bad.bytes[1] = 'n';
    assert_int_equal(parse(&bad, 0, &a, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "not a .npy"));
    bad = good;
    bad.bytes[6] = 4;
    assert_int_equal(parse(&bad, 0, &a, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "version 4.0"));
    bad = make(2, "", "", 0);
    bad.bytes[10] = 1; /* 65536 */
    assert_int_equal(parse(&bad, 0, &a, &err), HONE_E_LIMIT);
    assert_non_null(strstr(err.text, "a header of 65536 bytes"));
}

static void test_write(void **state) {
    (void)state;
    unsigned char data[64];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 % 2);
    for (int t = 1; t < HONE_DTYPE_COUNT_; t++) {
        hone_dtype dtype = (hone_dtype)t;
        if (dtype == HONE_DTYPE_STRING) continue;
        for (int rank = 0; rank < 4; rank++) {
            hn_array a = {.dtype = dtype, .rank = rank, .dims = {3, 1, 1}, .data = data}, b;
            assert_true(hn_packed_bytes(rank == 0 ? 1 : 3, hone_dtype_bits(dtype), &a.bytes));
            const char *path = scratch_path("a.npy");
            assert_int_equal(hn_npy_write(path, NULL, &a, &scratch_mem, NULL), HONE_OK);
            hn_npy_options options = {.in_place = true};
            assert_int_equal(hn_npy_read(&b, path, &options, &scratch_mem, NULL), HONE_OK);
            assert_int_equal(b.dtype, dtype);
            assert_int_equal(b.rank, rank);
            for (int i = 0; i < rank; i++) assert_int_equal(b.dims[i], a.dims[i]);
            assert_int_equal(b.bytes, a.bytes);
            for (int64_t i = 0; i < (rank == 0 ? 1 : 3); i++)
                assert_true(hn_load_f64(dtype, a.data, i) == hn_load_f64(dtype, b.data, i));
            bool mapped = dtype != HONE_DTYPE_BOOL && hone_dtype_bits(dtype) >= 8;
            assert_int_equal(b.file != NULL, mapped);
            if (mapped) assert_int_equal((uintptr_t)b.data % 64, 0);
            hn_array_deinit(&b, &scratch_mem);
        }
    }
    hn_array strings = {.dtype = HONE_DTYPE_STRING, .data = data};
    hn_error err;
    assert_int_equal(hn_npy_write(scratch_path("s.npy"), NULL, &strings, &scratch_mem, &err),
                     HONE_E_TYPE);
    assert_int_equal(scratch_count(), 1); /* a.npy; nothing is left of s.npy */
}

/* The exact bytes, once: what NumPy 2 writes but for the room it leaves for a longer shape. */
static void test_written_bytes(void **state) {
    (void)state;
    const uint16_t bits[] = {0x3f80, 0x4000};
    hn_array a = {
        .dtype = HONE_DTYPE_BF16, .rank = 2, .dims = {1, 2}, .bytes = 4, .data = (void *)bits};
    const char *path = scratch_path("a.npy");
    assert_int_equal(hn_npy_write(path, NULL, &a, &scratch_mem, NULL), HONE_OK);
    static const char head[] =
        "\x93NUMPY\x01\x00\x76\x00{'descr': [('bfloat16', '<u2')], 'fortran_order': False, "
        "'shape': (1, 2), }";
    hn_file *f = NULL;
    assert_int_equal(hn_file_open(&f, path, true, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(f->bytes, 132);
    assert_memory_equal(f->data, head, sizeof head - 1);
    for (size_t i = sizeof head - 1; i < 127; i++) assert_int_equal(f->data[i], ' ');
    assert_memory_equal(f->data + 127, "\n\x80\x3f\x00\x40", 5);
    hn_file_unref(f);
}

/* More elements than one piece of the writer, and a count that fills no whole byte. */
static void test_long_packed(void **state) {
    (void)state;
    static unsigned char data[2501];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 91);
    data[2500] &= 3;
    hn_array a = {.dtype = HONE_DTYPE_U2, .rank = 1, .dims = {10001}, .bytes = 2501, .data = data},
             b;
    assert_int_equal(hn_npy_write(scratch_path("a.npy"), NULL, &a, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_npy_read(&b, scratch_path("a.npy"), NULL, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(b.bytes, 2501);
    assert_memory_equal(b.data, data, 2501);
    hn_array_deinit(&b, &scratch_mem);
}

static void test_files(void **state) {
    (void)state;
    hn_array a;
    hn_error err;
    assert_int_equal(hn_npy_read(&a, scratch_path("absent.npy"), NULL, &scratch_mem, &err),
                     HONE_E_IO);
    assert_int_equal(
        hn_npy_read(&a, scratch_put_text("bad.npy", "nothing like it"), NULL, &scratch_mem, &err),
        HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "bad.npy': not a .npy"));
    float one = 1;
    hn_array x = {.dtype = HONE_DTYPE_F32, .bytes = 4, .data = &one};
    const char *input = scratch_put_text("in.npy", "input");
    assert_int_equal(hn_npy_write(input, input, &x, &scratch_mem, &err), HONE_E_ARG);
}

static void test_out_of_memory(void **state) {
    (void)state;
    npy f = make(1, "{'descr':[('int4','|u1')],'fortran_order':True,'shape':(2,3)}", "abcdef", 6);
    hone_status status = HONE_E_NOMEM;
    int n = 0;
    for (; status == HONE_E_NOMEM; n++) {
        hn_array a = {0};
        atomic_store(&scratch_mem.fail_after, n);
        status = parse(&f, 0, &a, NULL);
        atomic_store(&scratch_mem.fail_after, -1);
        hn_array_deinit(&a, &scratch_mem);
        assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
    }
    assert_int_equal(status, HONE_OK);
    assert_int_equal(n, 5); /* header, elements, their order, their packing; then it works */
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_read),          TEST(test_types_numpy_lacks),
        TEST(test_bad_headers),   TEST(test_bad_starts),
        TEST(test_write),         TEST(test_written_bytes),
        TEST(test_long_packed),   TEST(test_files),
        TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
