#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const void *data, size_t bytes, const char *want) {
    char hex[HN_SHA256_HEX];
    hn_sha256(data, bytes, hex);
    assert_string_equal(hex, want);
}

/* The examples of FIPS 180-2, and lengths around the edge of a block. */
static void known_digests(void **state) {
    (void)state;
    expect(NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char a[65];
    memset(a, 'a', sizeof a);
    expect(a, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    expect(a, 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    expect(a, 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
    expect(a, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
    expect(a, 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
}

static void a_million(void **state) {
    (void)state;
    size_t n = 1000000;
    char *a = malloc(n);
    assert_non_null(a);
    memset(a, 'a', n);
    expect(a, n, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(a);
}

/* In parts of any length, and by every way there is to do blocks. */
static void in_parts(void **state) {
    (void)state;
    unsigned char a[1000];
    char want[HN_SHA256_HEX], hex[HN_SHA256_HEX];
    for (size_t i = 0; i < sizeof a; i++) a[i] = (unsigned char)(i * i + 7 * i);
    hn_sha256(a, sizeof a, want);
    for (size_t part = 0; part < 200; part++) {
        hn_sha256_parts s;
        hn_sha256_begin(&s);
        for (size_t at = 0, n; at < sizeof a; at += n) {
            n = part == 0 ? at % 70 + 1 : part;
            if (n > sizeof a - at) n = sizeof a - at;
            hn_sha256_add(&s, a + at, n);
            hn_sha256_add(&s, a, 0);
        }
        hn_sha256_end(&s, hex);
        assert_string_equal(hex, want);
    }
}

static void all_ways(void **state) {
    (void)state;
    unsigned char a[64 * 17];
    uint32_t plain[8], fast[8];
    for (size_t i = 0; i < sizeof a; i++) a[i] = (unsigned char)(i * i + 3 * i);
    if (!hn_sha256_has_shani()) skip();
    for (size_t n = 0; n <= sizeof a / 64; n++) {
        for (uint32_t i = 0; i < 8; i++) plain[i] = fast[i] = 0x9e3779b9u * (i + 1);
        hn_sha256_blocks(plain, a, n);
        hn_sha256_blocks_shani(fast, a, n);
        assert_memory_equal(plain, fast, sizeof plain);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_digests),
        cmocka_unit_test(a_million),
        cmocka_unit_test(in_parts),
        cmocka_unit_test(all_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
