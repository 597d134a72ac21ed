/* What integers give is the same on every machine: digests of a quantized model's outputs, at every
 * instruction set there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "support/models.h"
#include "support/paths.h"

/* Values in [-2, 2), the same for every count that is asked for. */
static float *made_up(size_t n) {
    float *x = hn_alloc(hn_allocator_default(), n * sizeof *x, HN_MEM_DATA);
    hn_rng rng;
    hn_rng_init(&rng, 7);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = (float)(4 * hn_rng_f64(&rng) - 2);
    return x;
}

/* Runs a model of one input at no more than that instruction set (NULL: as the environment says);
 * its only output must have this digest. */
static void expect_digest(const char *path, const char *isa, const int64_t dims[4],
                          const char *digest) {
    hone_error err = {.text = ""};
    hone_model *model = NULL;
    hone_session *session = NULL;
    hone_session_options o;
    hone_session_options_init(&o);
    o.isa = isa;
    size_t n = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]);
    hone_value in = {.dtype = HONE_DTYPE_F32, .rank = 4, .bytes = n * sizeof(float)}, out = {0};
    memcpy(in.dims, dims, 4 * sizeof *dims);
    in.data = made_up(n);
    ASSERT_OK(hone_model_load(&model, path, NULL, &err), err);
    hone_value_info input, output;
    ASSERT_OK(hone_model_input(model, 0, &input, &err), err);
    ASSERT_OK(hone_model_output(model, 0, &output, &err), err);
    in.name = input.name;
    out.name = output.name;
    ASSERT_OK(hone_session_create(&session, model, &o, &err), err);
    ASSERT_OK(hone_session_run(session, 1, &in, 1, &out, &err), err);
    char text[HN_SHA256_HEX];
    hn_sha256(out.data, out.bytes, text);
    if (strcmp(text, digest) != 0)
        fail_msg("%s at %s: %s, wanted %s", path, hone_session_isa(session), text, digest);
    hone_value_release(&out, 1);
    hn_free(hn_allocator_default(), in.data);
    hone_session_destroy(session);
    hone_model_destroy(model);
}

/* All kinds of integer steps, on sizes that fill no vector. */
static void test_small(void **state) {
    (void)state;
    static const char *const levels[] = {
        "portable",
#define HN_ISA_ROW(uc, bit, name, ...) name,
#include "base/isa.def"
#undef HN_ISA_ROW
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        expect_digest(MODEL("int8"), levels[i], (const int64_t[]){3, 3, 25, 23},
                      "ec564a1d870e103f915f3b6e473624e419c0de62f04ffe15a7493cac26de99bd");
}

/* MobileNetV2, at the level of the process. */
static void test_real(void **state) {
    (void)state;
    char path[4200];
    if (test_assets() == NULL) skip();
    snprintf(path, sizeof path, "%s/models/mobilenetv2_int8_qdq.onnx", test_assets());
    expect_digest(path, NULL, (const int64_t[]){1, 3, 244, 244},
                  "af8d105eee3a66d136bd710fac29a4e24787b52f03fd901d5f7872de8f0575cb");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_real)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
