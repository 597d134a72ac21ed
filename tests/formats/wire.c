/* The wire format: what is written is read back, and no byte outside the message is touched. */
#include "formats/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const hn_wire_message message = {
    "Test",
    {[1] = {"NUMBER", HN_WIRE_INT},
     [2] = {"BITS", HN_WIRE_FLOAT},
     [3] = {"PART", HN_WIRE_BLOB},
     [4] = {"INTS", HN_WIRE_INTS},
     [5] = {"FLOATS", HN_WIRE_FLOATS},
     [6] = {"DOUBLES", HN_WIRE_DOUBLES}},
};

/* The bytes in a block of exactly their size, so that sanitizers see every step outside. */
static hn_wire open_copy(const void *bytes, size_t n, unsigned char **block) {
    *block = malloc(n + 1);
    assert_non_null(*block);
    unsigned char *start = *block + 1;
    if (n > 0) memcpy(start, bytes, n);
    return hn_wire_open(&message, (hn_bytes){start, n}, start);
}

static void expect_bad(const char *bytes, size_t n, const char *why) {
    unsigned char *block;
    hn_wire w = open_copy(bytes, n, &block);
    hn_wire_field f;
    hn_error err = {0};
    size_t count;
    while (hn_wire_next(&w, &f, &err))
        if (f.kind == HN_WIRE_INTS || f.kind == HN_WIRE_FLOATS || f.kind == HN_WIRE_DOUBLES)
            if (hn_wire_count(&w, &f, &count, &err) != HONE_OK)
                w.status = HONE_E_FORMAT, w.at = w.end;
    assert_int_equal(w.status, HONE_E_FORMAT);
    if (strstr(err.text, why) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    free(block);
}
#define BAD(bytes, why) expect_bad(bytes, sizeof(bytes) - 1, why)

static void malformed_bytes(void **state) {
    (void)state;
    BAD("\x80", "byte 0 (Test): cut or overlong tag");
    BAD("\x08\x01\x00", "byte 2 (Test): invalid tag");
    BAD("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "overlong tag");
    BAD("\x80\x80\x80\x80\x80\x01\x00", "invalid tag");
    BAD("\x08", "cut or overlong number");
    BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "overlong number");
    BAD("\x15\x01\x02\x03", "cut number");
    BAD("\x11\x01\x02\x03\x04\x05\x06\x07", "cut number");
    BAD("\x1a", "cut or overlong length");
    BAD("\x1a\x05"
        "abc",
        "says it has 5 bytes, but 3 are left");
    BAD("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "says it has 18446744073709551615 bytes");
    BAD("\x0b", "unknown wire type"); /* groups */
    BAD("\x0c", "unknown wire type");
    BAD("\x0e", "unknown wire type");
    BAD("\x0a\x01x", "Test.number has wire type 2");
    BAD("\x18\x01", "Test.part has wire type 0");
    BAD("\x21\x01\x02\x03\x04\x05\x06\x07\x08", "Test.ints has wire type 1");
    BAD("\x22\x02\x01\x80", "number in a list");
    BAD("\x2a\x03"
        "abc",
        "cut list of numbers");
    BAD("\x32\x07"
        "abcdefg",
        "cut list of numbers");
}

static void every_wire_type(void **state) {
    (void)state;
    static const char bytes[] =
        "\x08\xac\x02"                             /* 1: 300 */
        "\x15\x00\x00\x80\x3f"                     /* 2: 1.0f */
        "\x1a\x02hi"                               /* 3 */
        "\x22\x03\x01\xac\x02"                     /* 4: packed 1, 300 */
        "\x20\x07"                                 /* 4: 7 alone */
        "\x2a\x08\x00\x00\x80\x3f\x00\x00\x00\x40" /* 5: packed 1.0f, 2.0f */
        "\x29\x01\x02\x03\x04\x05\x06\x07\x08";    /* not reached: wrong type of 5 */
    unsigned char *block;
    hn_wire w = open_copy(bytes, sizeof bytes - 1, &block);
    hn_wire_field f;
    hn_error err = {0};
    size_t count;
    int64_t ints[2];
    float floats[2];
    assert_true(hn_wire_next(&w, &f, &err));
    assert_int_equal(f.value, 300);
    assert_true(hn_wire_next(&w, &f, &err));
    assert_int_equal(f.value, 0x3f800000);
    assert_true(hn_wire_next(&w, &f, &err));
    assert_int_equal(f.bytes.n, 2);
    assert_memory_equal(f.bytes.p, "hi", 2);
    assert_int_equal(f.whole.n, 4);
    assert_true(hn_wire_next(&w, &f, &err));
    assert_int_equal(hn_wire_count(&w, &f, &count, &err), HONE_OK);
    assert_int_equal(count, 2);
    hn_wire_ints(&f, ints);
    assert_int_equal(ints[0], 1);
    assert_int_equal(ints[1], 300);
    assert_true(hn_wire_next(&w, &f, &err));
    assert_int_equal(hn_wire_count(&w, &f, &count, &err), HONE_OK);
    assert_int_equal(count, 1);
    hn_wire_ints(&f, ints);
    assert_int_equal(ints[0], 7);
    assert_true(hn_wire_next(&w, &f, &err));
    assert_int_equal(hn_wire_count(&w, &f, &count, &err), HONE_OK);
    assert_int_equal(count, 2);
    hn_wire_floats(&f, floats);
    assert_true(floats[0] == 1.0f && floats[1] == 2.0f);
    assert_false(hn_wire_next(&w, &f, &err));
    assert_int_equal(w.status, HONE_E_FORMAT);
    free(block);

    w = open_copy("\xfa\xff\xff\xff\x0f\x01x\x98\x02\x05", 10,
                  &block); /* numbers beyond the table */
    assert_true(hn_wire_next(&w, &f, &err));
    assert_int_equal(f.number, 0x1fffffff);
    assert_int_equal(f.kind, HN_WIRE_UNKNOWN);
    assert_true(hn_wire_next(&w, &f, &err));
    assert_int_equal(f.number, 35);
    assert_int_equal(f.kind, HN_WIRE_UNKNOWN);
    assert_false(hn_wire_next(&w, &f, &err));
    assert_int_equal(w.status, HONE_OK);
    free(block);
}

static void varints_keep_64_bits(void **state) {
    (void)state;
    static const char bytes[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    const unsigned char *at = (const unsigned char *)bytes;
    uint64_t v;
    assert_true(hn_wire_varint(&at, at + sizeof bytes - 1, &v));
    assert_true(v == UINT64_MAX);
    assert_ptr_equal(at, bytes + 10);
    at = (const unsigned char *)bytes;
    assert_false(hn_wire_varint(&at, at + 9, &v));
    assert_ptr_equal(at, bytes);
}

typedef struct sink {
    unsigned char data[256];
    size_t n;
    bool refuse;
} sink;

static hone_status collect(void *ctx, const void *data, size_t n, hn_error *err) {
    sink *s = ctx;
    if (s->refuse) return HN_FAIL(err, HONE_E_IO, "refused");
    assert_true(s->n + n <= sizeof s->data);
    memcpy(s->data + s->n, data, n);
    s->n += n;
    return HONE_OK;
}

static void put_some(hn_wire_out *w) {
    hn_wire_put_int(w, 1, -1);
    size_t outer = hn_wire_begin(w, 3);
    hn_wire_put_float(w, 2, -2.0f);
    size_t inner = hn_wire_begin(w, 3);
    hn_wire_put_text(w, 3, "deep");
    hn_wire_end(w, 3, inner);
    size_t empty = hn_wire_begin(w, 3);
    hn_wire_end(w, 3, empty);
    hn_wire_end(w, 3, outer);
    hn_wire_put_blob(w, 3, NULL, 0);
    hn_wire_put(w, "\x98\x02\x05", 3);
}

static void written_in_two_runs(void **state) {
    (void)state;
    static const unsigned char want[] =
        "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
        "\x1a\x0f\x15\x00\x00\x00\xc0\x1a\x06\x1a\x04"
        "deep\x1a\x00"
        "\x1a\x00\x98\x02\x05";
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_error err = {0};
    hn_wire_out w;
    sink s = {.n = 0};
    hn_wire_out_init(&w, &alloc, &err);
    put_some(&w);
    assert_int_equal(w.status, HONE_OK);
    assert_int_equal(w.at, sizeof want - 1);
    hn_wire_out_start(&w, collect, &s);
    put_some(&w);
    assert_int_equal(w.status, HONE_OK);
    assert_int_equal(w.at, sizeof want - 1);
    assert_int_equal(s.n, sizeof want - 1);
    assert_memory_equal(s.data, want, s.n);

    s.refuse = true;
    hn_wire_out_start(&w, collect, &s);
    put_some(&w);
    assert_int_equal(w.status, HONE_E_IO);
    assert_string_equal(err.text, "refused");
    hn_wire_out_deinit(&w);

    atomic_store(&alloc.fail_after, 0);
    hn_wire_out_init(&w, &alloc, &err);
    put_some(&w);
    assert_int_equal(w.status, HONE_E_NOMEM);
    hn_wire_out_deinit(&w);
    assert_int_equal(atomic_load(&alloc.blocks), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_bytes),
        cmocka_unit_test(every_wire_type),
        cmocka_unit_test(varints_keep_64_bits),
        cmocka_unit_test(written_in_two_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
