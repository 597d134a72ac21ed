/* Weights in each format, expanded, against the formula of the format. */
#include "kernels/stored_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { OUTER = 3, AXIS = 10, INNER = 100, N = OUTER * AXIS * INNER };

static int8_t codes[N + 1];
static float scales[N];
static int8_t zeros[N];

static int make(void **state) {
    (void)state;
    for (int i = 0; i < N; i++) {
        codes[i + 1] = (int8_t)(i * 37);
        scales[i] = 0.01f * (float)(1 + i % 7);
        zeros[i] = (int8_t)(i % 5 - 2);
    }
    return 0;
}

/* In three parts, as threads would, the last one first. */
static void expand(const hn_stored *s, void *dst) {
    int64_t n = hn_stored_parts(s);
    for (int i = 2; i >= 0; i--) hn_stored_expand_parts(s, n * i / 3, n * (i + 1) / 3, dst);
}

/* Codes at an odd address, whose scales lie by these strides. */
static void codes_of(bool with_zeros, int64_t block, int64_t outer, int64_t axis, int64_t inner) {
    float got[N];
    hn_stored s = {.kind = HN_STORED_CODES,
                   .type = HONE_DTYPE_S8,
                   .n = N,
                   .data = codes + 1,
                   .scale = scales,
                   .zero = with_zeros ? zeros : NULL,
                   .axis = AXIS,
                   .inner = INNER,
                   .block = block,
                   .scale_outer = outer,
                   .scale_axis = axis,
                   .scale_inner = inner};
    assert_int_equal(hn_stored_type(&s), HONE_DTYPE_F32);
    assert_int_equal(hn_stored_bytes(&s), sizeof got);
    expand(&s, got);
    for (int o = 0; o < OUTER; o++)
        for (int a = 0; a < AXIS; a++)
            for (int i = 0; i < INNER; i++) {
                int at = (o * AXIS + a) * INNER + i;
                int64_t k = o * outer + a / block * axis + i * inner;
                int code = codes[at + 1] - (with_zeros ? zeros[k] : 0);
                assert_true(got[at] == (float)code * scales[k]);
            }
}

static void codes_have_a_scale_each_for_all_an_axis_or_blocks(void **state) {
    (void)state;
    for (int z = 0; z < 2; z++) {
        codes_of(z, 1, 0, 0, 0);
        codes_of(z, 1, 0, 1, 0);
        codes_of(z, 4, INNER * 3, INNER, 1);
        codes_of(z, AXIS, INNER, INNER, 1);
    }
}

static void codes_of_four_bits_are_packed(void **state) {
    (void)state;
    static const uint8_t two[] = {0x7f, 0x08};
    float scale = 2, got[3];
    hn_stored s = {.kind = HN_STORED_CODES,
                   .type = HONE_DTYPE_S4,
                   .n = 3,
                   .data = two,
                   .scale = &scale,
                   .axis = 1,
                   .inner = 1,
                   .block = 1};
    expand(&s, got);
    assert_true(got[0] == -2 && got[1] == 14 && got[2] == -16);
}

static void a_codebook_is_a_table(void **state) {
    (void)state;
    float table[16], got[300];
    uint8_t index[150];
    for (int i = 0; i < 16; i++) table[i] = (float)(i * i);
    for (int i = 0; i < 150; i++) index[i] = (uint8_t)(i * 29);
    hn_stored s = {
        .kind = HN_STORED_CODEBOOK, .type = HONE_DTYPE_U4, .n = 300, .data = index, .table = table};
    expand(&s, got);
    for (int i = 0; i < 300; i++) assert_true(got[i] == table[index[i / 2] >> i % 2 * 4 & 15]);
}

static void sparse_elements_lie_at_their_places(void **state) {
    (void)state;
    static const int16_t values[] = {7, -3};
    static const int64_t pairs[] = {1, 2, 0, 1}, linear[] = {5, 1}, dims[] = {2, 3}, n = 6;
    static const int16_t want[] = {0, -3, 0, 0, 0, 7};
    hn_stored s = {.kind = HN_STORED_SPARSE,
                   .type = HONE_DTYPE_S16,
                   .n = 6,
                   .data = values,
                   .places = pairs,
                   .n_stored = 2,
                   .rank = 2,
                   .dims = dims};
    int16_t got[6];
    assert_int_equal(hn_stored_type(&s), HONE_DTYPE_S16);
    assert_int_equal(hn_stored_bytes(&s), sizeof got);
    memset(got, 0xa5, sizeof got);
    expand(&s, got);
    assert_memory_equal(got, want, sizeof got);
    s.places = linear;
    s.rank = 1;
    s.dims = &n;
    memset(got, 0xa5, sizeof got);
    expand(&s, got);
    assert_memory_equal(got, want, sizeof got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_have_a_scale_each_for_all_an_axis_or_blocks),
        cmocka_unit_test(codes_of_four_bits_are_packed),
        cmocka_unit_test(a_codebook_is_a_table),
        cmocka_unit_test(sparse_elements_lie_at_their_places),
    };
    return cmocka_run_group_tests(tests, make, NULL);
}
