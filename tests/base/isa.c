#include "base/isa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void names(void **state) {
    (void)state;
    hn_isa have = hn_isa_available(), got;
    assert_int_equal(have & ~hn_isa_detected(), 0);
    assert_int_equal(hn_isa_limit(have, "portable", &got, NULL), HONE_OK);
    assert_int_equal(got, 0);
    assert_string_equal(hn_isa_name(0), "portable");
    /* The name of what there is allows all of it. */
    assert_int_equal(hn_isa_limit(have, hn_isa_name(have), &got, NULL), HONE_OK);
    assert_string_equal(hn_isa_name(got), hn_isa_name(have));
    hn_error e = {0};
    assert_int_equal(hn_isa_limit(have, "sse9", &got, &e), HONE_E_ARG);
    assert_non_null(strstr(e.text, "'sse9'"));
    assert_non_null(strstr(e.text, "portable"));
}

static void bundles_imply(void **state) {
    (void)state;
    hn_isa got;
#if defined(__x86_64__)
    hn_isa all = HN_ISA_AVX2 | HN_ISA_AVXVNNI | HN_ISA_AVX512 | HN_ISA_AVX512VBMI |
                 HN_ISA_AVX512VNNI | HN_ISA_AMX;
    assert_int_equal(hn_isa_limit(all, "avx512", &got, NULL), HONE_OK);
    assert_int_equal(got, HN_ISA_AVX512 | HN_ISA_AVX2);
    /* A CPU may have the one without the other. */
    assert_int_equal(hn_isa_limit(all, "avx512vnni", &got, NULL), HONE_OK);
    assert_int_equal(got, all & ~(hn_isa)(HN_ISA_AVXVNNI | HN_ISA_AMX));
    assert_string_equal(hn_isa_name(all & ~(hn_isa)(HN_ISA_AVX512VBMI | HN_ISA_AMX)), "avx512vnni");
    assert_int_equal(hn_isa_limit(HN_ISA_AVX2, "amx", &got, NULL), HONE_OK);
    assert_int_equal(got, HN_ISA_AVX2);
#elif defined(__aarch64__)
    assert_int_equal(hn_isa_limit(HN_ISA_NEON | HN_ISA_NEONDOT, "neon", &got, NULL), HONE_OK);
    assert_int_equal(got, HN_ISA_NEON);
#else
    assert_int_equal(hn_isa_limit(0, "portable", &got, NULL), HONE_OK);
#endif
}

/* A stronger bundle is not slower. */
static void facts(void **state) {
    (void)state;
    assert_int_equal(hn_isa_facts_of(0)->vector_floats, 4);
    assert_true(hn_isa_facts_of(0)->tile_rate == 0);
#if defined(__x86_64__)
    const hn_isa_facts *avx512 = hn_isa_facts_of(HN_ISA_AVX2 | HN_ISA_AVX512);
    assert_int_equal(avx512->vector_floats, 16);
    assert_true(avx512->short_rate > hn_isa_facts_of(HN_ISA_AVX2)->short_rate);
    assert_true(hn_isa_facts_of(HN_ISA_AMX)->tile_rate > avx512->near_rate);
    assert_true(avx512->likes_7_bits);
    assert_false(hn_isa_facts_of(HN_ISA_AVX2 | HN_ISA_AVXVNNI)->likes_7_bits);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(bundles_imply),
        cmocka_unit_test(facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
