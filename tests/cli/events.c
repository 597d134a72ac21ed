/* Event files of TensorBoard, as cli/events.c writes them: frames, checksums and messages are taken
 * apart again here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "events.h"

static uint64_t fixed(const unsigned char *at, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << 8 * i;
    return v;
}

static uint32_t masked(const void *bytes, size_t n) {
    uint64_t crc = events_crc(bytes, n);
    return (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8);
}

/* Known values of the polynomial (RFC 3720, B.4). */
static void checksums(void **state) {
    (void)state;
    unsigned char bytes[32] = {0};
    assert_int_equal(events_crc("123456789", 9), 0xe3069283);
    assert_int_equal(events_crc(bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(events_crc(bytes, 32), 0x62a8ab43);
}

/* The next record, checked; its bytes. */
static size_t next(const unsigned char **at, const unsigned char *end, const unsigned char **data) {
    assert_true(end - *at > 16);
    size_t n = (size_t)fixed(*at, 8);
    assert_int_equal(fixed(*at + 8, 4), masked(*at, 8));
    assert_true((size_t)(end - *at) >= n + 16);
    *data = *at + 12;
    assert_int_equal(fixed(*data + n, 4), masked(*data, n));
    *at = *data + n + 4;
    return n;
}

static void files(void **state) {
    (void)state;
    events e, none = {0};
    static unsigned char all[4096];
    assert_true(events_scalar(&none, "loss", 1, 2));
    char folder[] = "/tmp/hone-events-XXXXXX", runs[64];
    assert_non_null(mkdtemp(folder));
    snprintf(runs, sizeof runs, "%s/runs", folder);
    assert_true(events_open(&e, runs));
    assert_non_null(strstr(e.path, "/events.out.tfevents."));
    assert_true(events_scalar(&e, "loss", 300, 0.5));
    assert_true(events_scalar(&e, "val/top1", 1, NAN));
    events_close(&e);
    FILE *f = fopen(e.path, "rb");
    assert_non_null(f);
    size_t n = fread(all, 1, sizeof all, f);
    fclose(f);
    const unsigned char *at = all, *end = all + n, *data;
    assert_int_equal(next(&at, end, &data), 11 + 15);
    assert_int_equal(data[0], 1 << 3 | 1);
    assert_memory_equal(data + 9,
                        "\x10\x00\x1a\x0d"
                        "brain.Event:2",
                        17);
    assert_int_equal(next(&at, end, &data), 9 + 3 + 15);
    static const unsigned char loss[] =
        "\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f";
    assert_memory_equal(data + 9, loss, sizeof loss - 1);
    next(&at, end, &data);
    assert_ptr_equal(at, end);
    events other;
    assert_false(events_open(&other, e.path)); /* a file */
    assert_false(events_open(&other, "/nowhere/at/all"));
    assert_int_equal(remove(e.path) | rmdir(runs) | rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(checksums), cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
