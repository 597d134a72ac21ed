#include "formats/npz.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

/* ---- archives put together by hand ------------------------------------------------------------
 */

typedef struct zip {
    unsigned char bytes[2048];
    size_t n;
} zip;

static void put(zip *z, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        z->bytes[z->n++] = (unsigned char)(i < 8 ? value >> (8 * i) : 0);
}
static void put_bytes(zip *z, const void *data, size_t bytes) {
    memcpy(z->bytes + z->n, data, bytes);
    z->n += bytes;
}

/* A .npy with the three bytes "abc". */
static const char head[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
static zip member(void) {
    zip m = {.n = 0};
    put_bytes(&m, "\x93NUMPY\x01\x00", 8);
    put(&m, sizeof head - 1, 2);
    put_bytes(&m, head, sizeof head - 1);
    put_bytes(&m, "abc", 3);
    return m;
}

/* What may be wrong or unusual about an archive; all zero is a plain one with x.npy, stored. */
typedef struct twist {
    bool deflated, wide, bad_local, other_local_name, damaged, second, bad_second, comment,
        no_end64;
    int flags, method, disk;
    int crc, bytes, packed, offset, n, directory_offset; /* added to what is right */
    const char *name;
} twist;

static zip make(twist t) {
    zip z = {.n = 0}, m = member(), data = m;
    uint32_t crc = hn_crc32(0, m.bytes, m.n) + (uint32_t)t.crc;
    if (t.deflated) { /* one block of deflate's own "stored" kind */
        data.n = 0;
        put(&data, 1, 1);
        put(&data, m.n, 2);
        put(&data, ~m.n & 0xffff, 2);
        put_bytes(&data, m.bytes, m.n);
    }
    if (t.damaged) data.bytes[data.n - 1] ^= 1;
    const char *name = t.name != NULL ? t.name : "x.npy";
    size_t name_bytes = strlen(name);
    put(&z, t.bad_local ? 0 : 0x04034b50, 4);
    put(&z, 0, 22); /* the reader takes these from the directory */
    put(&z, name_bytes, 2);
    put(&z, 0, 2);
    put_bytes(&z, name, name_bytes);
    if (t.other_local_name) z.bytes[z.n - 1] ^= 1;
    put_bytes(&z, data.bytes, data.n);
    size_t start = z.n;
    for (int i = 0; i <= t.second; i++) {
        uint64_t packed = data.n + (uint64_t)t.packed, bytes = m.n + (uint64_t)t.bytes;
        put(&z, i > 0 && t.bad_second ? 0 : 0x02014b50, 4);
        put(&z, 45, 2);
        put(&z, 45, 2);
        put(&z, (uint64_t)t.flags, 2);
        put(&z, t.method != 0 ? (uint64_t)t.method : t.deflated ? 8 : 0, 2);
        put(&z, 0, 4);
        put(&z, crc, 4);
        put(&z, t.wide ? UINT32_MAX : packed, 4);
        put(&z, t.wide ? UINT32_MAX : bytes, 4);
        put(&z, name_bytes, 2);
        put(&z, t.wide ? 34 : 0, 2);
        put(&z, 0, 2 + 2 + 2 + 4);
        put(&z, t.wide ? UINT32_MAX : (uint64_t)t.offset, 4);
        put_bytes(&z, name, name_bytes);
        if (t.wide) {
            put(&z, 0x7777, 2); /* a field of someone else's, then zip64 */
            put(&z, 2, 2);
            put(&z, 0, 2);
            put(&z, 1, 2);
            put(&z, 24, 2);
            put(&z, bytes, 8);
            put(&z, packed, 8);
            put(&z, (uint64_t)t.offset, 8);
        }
    }
    size_t end = z.n;
    uint64_t n = (uint64_t)(1 + t.second + t.n), at = start + (uint64_t)t.directory_offset;
    if (t.wide) {
        put(&z, t.no_end64 ? 0 : 0x06064b50, 4);
        put(&z, 44, 8);
        put(&z, 45, 2);
        put(&z, 45, 2);
        put(&z, (uint64_t)t.disk, 4);
        put(&z, 0, 4);
        put(&z, n, 8);
        put(&z, n, 8);
        put(&z, end - start, 8);
        put(&z, at, 8);
        put(&z, 0x07064b50, 4);
        put(&z, 0, 4);
        put(&z, end, 8);
        put(&z, 1, 4);
    }
    put(&z, 0x06054b50, 4);
    put(&z, (uint64_t)t.disk, 4);
    put(&z, t.wide ? UINT16_MAX : n, 2);
    put(&z, t.wide ? UINT16_MAX : n, 2);
    put(&z, t.wide ? UINT32_MAX : end - start, 4);
    put(&z, t.wide ? UINT32_MAX : at, 4);
    put(&z, t.comment ? 7 : 0, 2);
    if (t.comment) put_bytes(&z, "comment", 7);
    return z;
}

/* Opens the archive and reads its first member. */
static hone_status read_first(const void *bytes, size_t n, bool in_place, hn_array *out,
                              hn_error *err) {
    hn_file *file = NULL;
    hn_npz *npz = NULL;
    const char *path = scratch_put("a.npz", bytes, n);
    assert_int_equal(hn_file_open(&file, path, true, &scratch_mem, err), HONE_OK);
    hone_status status = hn_npz_open(&npz, file, &scratch_mem, err);
    hn_file_unref(file);
    if (status != HONE_OK) return status;
    hn_npy_options options = {.in_place = in_place};
    status = hn_npz_count(npz) == 0 ? HONE_E_NOT_FOUND
                                    : hn_npz_read(out, npz, 0, &options, &scratch_mem, err);
    hn_npz_close(npz);
    return status;
}

static void test_read(void **state) {
    (void)state;
    for (int bits = 0; bits < 16; bits++) {
        zip z = make((twist){.deflated = bits & 1, .wide = bits & 2, .comment = bits & 4});
        hn_array a;
        hn_error err;
        hone_status status = read_first(z.bytes, z.n, bits & 8, &a, &err);
        if (status == HONE_E_UNSUPPORTED) {
            assert_true(bits & 1);
            assert_non_null(strstr(err.text, "zlib"));
            continue;
        }
        if (status != HONE_OK) fail_msg("%d: %s", bits, err.text);
        assert_int_equal(a.dtype, HONE_DTYPE_U8);
        assert_int_equal(a.dims[0], 3);
        assert_memory_equal(a.data, "abc", 3); /* in place, the file outlives the archive */
        assert_int_equal(a.file != NULL, (bits & 8) && !(bits & 1));
        hn_array_deinit(&a, &scratch_mem);
    }
}

static void expect_error(twist t, hone_status want, const char *text) {
    zip z = make(t);
    hn_array a;
    hn_error err = {.text = ""};
    hone_status status = read_first(z.bytes, z.n, false, &a, &err);
    if (status == HONE_E_UNSUPPORTED && strstr(err.text, "zlib") != NULL) return;
    if (strstr(err.text, text) == NULL) fail_msg("'%s', wanted '%s'", err.text, text);
    assert_int_equal(status, want);
    assert_non_null(strstr(err.text, "a.npz': "));
}

static void test_bad_archives(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
#define BAD(status, text, ...) expect_error((twist){.wide = wide, __VA_ARGS__}, status, text)
        BAD(HONE_E_FORMAT, "member 'x': its CRC is", .crc = 1);
        BAD(HONE_E_FORMAT, "member 'x': its CRC is", .crc = 1, .deflated = true);
        BAD(HONE_E_FORMAT, "member 'x': its CRC is", .damaged = true);
        BAD(HONE_E_FORMAT, "no matching header at byte 0", .bad_local = true);
        BAD(HONE_E_FORMAT, "no matching header at byte 0", .other_local_name = true);
        BAD(HONE_E_FORMAT, "no matching header at byte 1", .offset = 1);
        BAD(HONE_E_FORMAT, "beyond the members", .offset = 1000);
        BAD(HONE_E_FORMAT, "cannot unpack from", .bytes = 1);
        BAD(HONE_E_FORMAT, "cannot unpack from", .deflated = true, .bytes = 1000000);
        BAD(HONE_E_FORMAT, "bytes of elements", .deflated = true, .bytes = 1);
        BAD(HONE_E_FORMAT, "bytes of elements", .deflated = true, .bytes = -1);
        BAD(HONE_E_FORMAT, "room for 70", .packed = 1, .bytes = 1);
        BAD(HONE_E_FORMAT, "cut off", .deflated = true, .packed = -4);
        BAD(HONE_E_UNSUPPORTED, "is encrypted", .flags = 1);
        BAD(HONE_E_UNSUPPORTED, "method 12", .method = 12);
        BAD(HONE_E_UNSUPPORTED, "one part of several", .disk = 1);
        BAD(HONE_E_FORMAT, "does not fit the file", .directory_offset = 1);
        BAD(HONE_E_FORMAT, "does not fit the file", .n = 1000);
        BAD(HONE_E_FORMAT, "does not fit the file", .n = 1);
        BAD(HONE_E_FORMAT, "damaged at member 2 of 2", .second = true, .bad_second = true);
        BAD(HONE_E_FORMAT, "bytes after its last member", .second = true, .n = -1);
        BAD(HONE_E_FORMAT, "member 'x' is there twice", .second = true);
    }
    expect_error((twist){.wide = true, .no_end64 = true}, HONE_E_FORMAT, "zip64 directory is not");
    expect_error((twist){.offset = -1}, HONE_E_FORMAT, "damaged zip64 field");

    hn_array a;
    hn_error err;
    zip z = make((twist){.name = "x.txt"}); /* not ours to look at */
    assert_int_equal(read_first(z.bytes, z.n, false, &a, &err), HONE_E_NOT_FOUND);
    z = make((twist){.wide = true});
    for (size_t n = 0; n < z.n; n++) {
        assert_int_equal(read_first(z.bytes, n, false, &a, &err), HONE_E_FORMAT);
        assert_non_null(strstr(err.text, "no zip directory"));
    }
}

/* No change of a single byte may do more than make an error. */
static void test_flipped_bytes(void **state) {
    (void)state;
    zip good = make((twist){.wide = true, .deflated = true});
    for (size_t i = 0; i < good.n; i++) {
        zip z = good;
        z.bytes[i] ^= 0xff;
        hn_array a;
        if (read_first(z.bytes, z.n, false, &a, NULL) != HONE_OK) continue;
        assert_memory_equal(a.data, "abc", 3);
        hn_array_deinit(&a, &scratch_mem);
    }
}

static void test_write(void **state) {
    (void)state;
    int64_t labels[] = {7, -1};
    float x[] = {1.5f, 2, 3, 4};
    const char *names[] = {"label", "\xc3\xa9t\xc3\xa9", "none"};
    hn_array arrays[] = {
        {.dtype = HONE_DTYPE_S64, .rank = 1, .dims = {2}, .bytes = 16, .data = labels},
        {.dtype = HONE_DTYPE_F32, .rank = 2, .dims = {2, 2}, .bytes = 16, .data = x},
        {.dtype = HONE_DTYPE_F32, .rank = 1, .dims = {0}, .bytes = 0, .data = x}};
    const char *path = scratch_path("a.npz");
    hn_error err;
    assert_int_equal(hn_npz_write(path, NULL, 3, names, arrays, &scratch_mem, &err), HONE_OK);
    hn_file *file = NULL, *again = NULL;
    hn_npz *npz = NULL;
    assert_int_equal(hn_file_open(&file, path, true, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_npz_open(&npz, file, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_npz_count(npz), 3);
    for (size_t i = 0; i < 3; i++) {
        hn_array a;
        assert_string_equal(hn_npz_name(npz, i), names[i]);
        assert_int_equal(hn_npz_read(&a, npz, i, NULL, &scratch_mem, &err), HONE_OK);
        assert_int_equal(a.dtype, arrays[i].dtype);
        assert_int_equal(a.rank, arrays[i].rank);
        assert_int_equal(a.bytes, arrays[i].bytes);
        assert_memory_equal(a.data, arrays[i].data, a.bytes);
        hn_array_deinit(&a, &scratch_mem);
    }
    hn_npz_close(npz);

    /* The same arrays, the same bytes. */
    assert_int_equal(
        hn_npz_write(scratch_path("b.npz"), path, 3, names, arrays, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_file_open(&again, scratch_path("b.npz"), true, &scratch_mem, &err),
                     HONE_OK);
    assert_int_equal(again->bytes, file->bytes);
    assert_memory_equal(again->data, file->data, file->bytes);
    hn_file_unref(again);
    hn_file_unref(file);
    assert_int_equal(hn_npz_write(path, path, 3, names, arrays, &scratch_mem, &err), HONE_E_ARG);

    arrays[1].dtype = HONE_DTYPE_STRING;
    assert_int_equal(
        hn_npz_write(scratch_path("c.npz"), NULL, 3, names, arrays, &scratch_mem, &err),
        HONE_E_TYPE);
    assert_int_equal(scratch_count(), 2);
}

/* More members than 16 bits count: the zip64 end is written, and read. */
static void test_many(void **state) {
    (void)state;
    enum { N = 65536 };
    static char text[N][8];
    static const char *names[N];
    static hn_array arrays[N];
    static unsigned char value = 9;
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "%x", i);
        names[i] = text[i];
        arrays[i] = (hn_array){.dtype = HONE_DTYPE_U8, .bytes = 1, .data = &value};
    }
    const char *path = scratch_path("many.npz");
    assert_int_equal(hn_npz_write(path, NULL, N, names, arrays, &scratch_mem, NULL), HONE_OK);
    hn_file *file = NULL;
    hn_npz *npz = NULL;
    hn_array a;
    assert_int_equal(hn_file_open(&file, path, true, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_npz_open(&npz, file, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(hn_npz_count(npz), N);
    assert_string_equal(hn_npz_name(npz, N - 1), "ffff");
    assert_int_equal(hn_npz_read(&a, npz, N - 1, NULL, &scratch_mem, NULL), HONE_OK);
    assert_int_equal(*(unsigned char *)a.data, 9);
    hn_array_deinit(&a, &scratch_mem);
    hn_npz_close(npz);
    hn_file_unref(file);
}

static void test_out_of_memory(void **state) {
    (void)state;
    zip z = make((twist){.deflated = true});
    hone_status status = HONE_E_NOMEM;
    hn_file *file = NULL;
    assert_int_equal(
        hn_file_open(&file, scratch_put("a.npz", z.bytes, z.n), true, &scratch_mem, NULL), HONE_OK);
    int n = 0;
    for (; status == HONE_E_NOMEM; n++) {
        hn_npz *npz = NULL;
        hn_array a = {0};
        atomic_store(&scratch_mem.fail_after, n);
        status = hn_npz_open(&npz, file, &scratch_mem, NULL);
        if (status == HONE_OK) status = hn_npz_read(&a, npz, 0, NULL, &scratch_mem, NULL);
        atomic_store(&scratch_mem.fail_after, -1);
        hn_array_deinit(&a, &scratch_mem);
        hn_npz_close(npz);
        assert_int_equal(atomic_load(&scratch_mem.blocks), 1);
    }
    assert_true(status == HONE_E_UNSUPPORTED || (status == HONE_OK && n > 5));
    hn_file_unref(file);

    unsigned char value = 9;
    const char *name = "x";
    hn_array a = {.dtype = HONE_DTYPE_U8, .bytes = 1, .data = &value};
    status = HONE_E_NOMEM;
    for (n = 0; status == HONE_E_NOMEM; n++) {
        atomic_store(&scratch_mem.fail_after, n);
        status = hn_npz_write(scratch_path("b.npz"), NULL, 1, &name, &a, &scratch_mem, NULL);
        atomic_store(&scratch_mem.fail_after, -1);
        assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
        assert_int_equal(scratch_count(), status == HONE_OK ? 2 : 1);
    }
    assert_int_equal(status, HONE_OK);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_read),  TEST(test_bad_archives), TEST(test_flipped_bytes),
        TEST(test_write), TEST(test_many),         TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
