#include "formats/decompress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

static const char plain[] = "hello hello hello hello hello ";
#define PLAIN_BYTES (sizeof plain - 1)

/* `plain`, packed. */
static const unsigned char hello_gz[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                         0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0xc0, 0x41, 0x02,
                                         0x00, 0xbe, 0xcb, 0x8a, 0xbd, 0x1e, 0x00, 0x00, 0x00};
static const unsigned char hello_xz[] = {
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21,
    0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x00, 0x1d, 0x00, 0x0c, 0x5d,
    0x00, 0x34, 0x19, 0x49, 0xee, 0x8d, 0xe9, 0x57, 0x43, 0x82, 0x2f, 0x00, 0x00, 0x00, 0xb3,
    0xd5, 0x40, 0x0c, 0xe3, 0xd2, 0xa6, 0x00, 0x00, 0x01, 0x28, 0x1e, 0xe2, 0x26, 0xd4, 0x87,
    0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a};
static const unsigned char hello_deflate[] = {0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57,
                                              0xc8, 0xc0, 0x41, 0x02, 0x00};

static const struct {
    const char *name, *library;
    const unsigned char *packed;
    size_t bytes;
} kinds[] = {{"a.gz", "zlib", hello_gz, sizeof hello_gz},
             {"a.xz", "liblzma", hello_xz, sizeof hello_xz}};

/* Opens `name`, holding `bytes` bytes of `data`. A build that lacks the library must say so; the
 * rest of the case is then skipped by returning false. */
static bool open_packed(int kind, const void *data, size_t bytes, size_t limit, hn_file **f,
                        hone_status *status, hn_error *err) {
    const char *path = scratch_put(kinds[kind].name, data, bytes);
    *f = NULL;
    *status = hn_file_open_unpacked(f, path, limit, &scratch_mem, err);
    if (*status != HONE_E_UNSUPPORTED) return true;
    assert_non_null(strstr(err->text, kinds[kind].library));
    return false;
}

static void test_whole_file(void **state) {
    (void)state;
    hn_file *f;
    hn_error err;
    hone_status status;
    for (int k = 0; k < 2; k++) {
        if (!open_packed(k, kinds[k].packed, kinds[k].bytes, 0, &f, &status, &err)) continue;
        assert_int_equal(status, HONE_OK);
        assert_int_equal(f->bytes, PLAIN_BYTES);
        assert_memory_equal(f->data, plain, PLAIN_BYTES);
        hn_file_unref(f);
    }
    /* Any other name: the bytes as they are. */
    const char *path = scratch_put("a.bin", hello_gz, sizeof hello_gz);
    assert_int_equal(hn_file_open_unpacked(&f, path, 1, &scratch_mem, &err), HONE_OK);
    assert_int_equal(f->bytes, sizeof hello_gz);
    hn_file_unref(f);
    assert_int_equal(hn_file_open_unpacked(&f, "absent.gz", 0, &scratch_mem, &err), HONE_E_IO);
}

/* Streams one after the other count as one, and are more than the first block of memory holds. */
static void test_concatenated(void **state) {
    (void)state;
    enum { TIMES = 5000 };
    for (int k = 0; k < 2; k++) {
        size_t bytes = kinds[k].bytes;
        unsigned char *many = test_malloc(bytes * TIMES);
        for (int i = 0; i < TIMES; i++) memcpy(many + (size_t)i * bytes, kinds[k].packed, bytes);
        hn_file *f;
        hn_error err;
        hone_status status;
        if (open_packed(k, many, bytes * TIMES, 0, &f, &status, &err)) {
            assert_int_equal(status, HONE_OK);
            assert_int_equal(f->bytes, PLAIN_BYTES * TIMES);
            for (int i = 0; i < TIMES; i++)
                assert_memory_equal(f->data + (size_t)i * PLAIN_BYTES, plain, PLAIN_BYTES);
            hn_file_unref(f);
        }
        test_free(many);
    }
}

static void test_damage(void **state) {
    (void)state;
    hn_file *f;
    hn_error err;
    hone_status status;
    for (int k = 0; k < 2; k++) {
        for (size_t cut = 0; cut < kinds[k].bytes; cut++) {
            if (!open_packed(k, kinds[k].packed, cut, 0, &f, &status, &err)) break;
            assert_int_equal(status, HONE_E_FORMAT);
            assert_non_null(strstr(err.text, kinds[k].name));
        }
        unsigned char bad[sizeof hello_xz];
        memcpy(bad, kinds[k].packed, kinds[k].bytes);
        bad[kinds[k].bytes - 10] ^= 4;
        if (!open_packed(k, bad, kinds[k].bytes, 0, &f, &status, &err)) continue;
        assert_int_equal(status, HONE_E_FORMAT);
        assert_non_null(strstr(err.text, "is damaged near byte"));
        assert_null(f);
    }
}

static void test_limit(void **state) {
    (void)state;
    hn_file *f;
    hn_error err;
    hone_status status;
    for (int k = 0; k < 2; k++) {
        if (!open_packed(k, kinds[k].packed, kinds[k].bytes, 20, &f, &status, &err)) continue;
        assert_int_equal(status, HONE_E_LIMIT);
        assert_non_null(strstr(err.text, "the limit of 20 bytes"));
        assert_non_null(strstr(err.text, kinds[k].name));
        open_packed(k, kinds[k].packed, kinds[k].bytes, PLAIN_BYTES + 1, &f, &status, &err);
        assert_int_equal(status, HONE_OK);
        hn_file_unref(f);
    }
}

static void test_inflate(void **state) {
    (void)state;
    hn_inflate *z = NULL;
    hn_error err;
    char got[PLAIN_BYTES + 1];
    hone_status status =
        hn_inflate_create(&z, hello_deflate, sizeof hello_deflate, &scratch_mem, &err);
    if (status == HONE_E_UNSUPPORTED) skip();
    assert_int_equal(status, HONE_OK);
    assert_int_equal(hn_inflate_read(z, got, 7, &err), HONE_OK);
    assert_int_equal(hn_inflate_read(z, got + 7, PLAIN_BYTES - 7, &err), HONE_OK);
    assert_memory_equal(got, plain, PLAIN_BYTES);
    assert_int_equal(hn_inflate_finish(z, &err), HONE_OK);
    assert_int_equal(hn_inflate_read(z, got, 1, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "ends 1 bytes before"));
    hn_inflate_destroy(z);

    /* Not all read; one byte too many behind it; cut off. */
    assert_int_equal(hn_inflate_create(&z, hello_deflate, sizeof hello_deflate, &scratch_mem, &err),
                     HONE_OK);
    assert_int_equal(hn_inflate_read(z, got, 7, &err), HONE_OK);
    assert_int_equal(hn_inflate_finish(z, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "goes on"));
    hn_inflate_destroy(z);
    unsigned char longer[sizeof hello_deflate + 1] = {0};
    memcpy(longer, hello_deflate, sizeof hello_deflate);
    assert_int_equal(hn_inflate_create(&z, longer, sizeof longer, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_inflate_read(z, got, PLAIN_BYTES, &err), HONE_OK);
    assert_int_equal(hn_inflate_finish(z, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "1 bytes follow"));
    hn_inflate_destroy(z);
    assert_int_equal(hn_inflate_create(&z, hello_deflate, 5, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_inflate_read(z, got, PLAIN_BYTES, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "cut off"));
    hn_inflate_destroy(z);
}

static void test_crc(void **state) {
    (void)state;
    /* The check value every description of CRC-32 gives. */
    assert_int_equal(hn_crc32(0, "123456789", 9), 0xcbf43926u);
    assert_int_equal(hn_crc32(hn_crc32(0, "1234", 4), "56789", 5), 0xcbf43926u);
    assert_int_equal(hn_crc32(0xcbf43926u, NULL, 0), 0xcbf43926u);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        const char *path = scratch_put(kinds[k].name, kinds[k].packed, kinds[k].bytes);
        hone_status status = HONE_E_NOMEM;
        int n = 0;
        for (; status == HONE_E_NOMEM; n++) {
            hn_file *f = NULL;
            atomic_store(&scratch_mem.fail_after, n);
            status = hn_file_open_unpacked(&f, path, 0, &scratch_mem, NULL);
            atomic_store(&scratch_mem.fail_after, -1);
            hn_file_unref(f);
            assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
        }
        assert_true(status == HONE_E_UNSUPPORTED || (status == HONE_OK && n > 4));
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_whole_file), TEST(test_concatenated), TEST(test_damage),        TEST(test_limit),
        TEST(test_inflate),    TEST(test_crc),          TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
