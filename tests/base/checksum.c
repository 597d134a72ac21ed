#include "base/checksum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Values of XXH64 with seed 0 that other implementations give. */
static void known_values(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t sum;
    } known[] = {{"", 0xef46db3751d8e999u},
                 {"a", 0xd24ec4f1a98c6e5bu},
                 {"abc", 0x44bc2cf5ad770999u},
                 {"Nobody inspects the spammish repetition", 0xfbcea83c8a378bf1u}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(hn_checksum(known[i].text, strlen(known[i].text)), known[i].sum);
    assert_int_equal(hn_checksum(NULL, 0), known[0].sum);
}

/* Whatever the length, a changed bit and a missing byte change it. */
static void every_byte_counts(void **state) {
    (void)state;
    unsigned char bytes[100];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 37);
    for (size_t n = 1; n <= sizeof bytes; n++) {
        uint64_t whole = hn_checksum(bytes, n);
        assert_int_not_equal(hn_checksum(bytes, n - 1), whole);
        for (size_t i = 0; i < n; i++) {
            bytes[i] ^= 16;
            assert_int_not_equal(hn_checksum(bytes, n), whole);
            bytes[i] ^= 16;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_byte_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
