/* label: full */
/* Whole models give the same bits on 1, 2 and 4 threads, however their steps are spread over them,
 * and when they run again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"
#include "support/paths.h"

enum { MOST = 16 };

/* Random inputs; symbolic axes get these sizes, first axes and others. */
static size_t make_inputs(const hone_model *m, int64_t batch, int64_t other, hone_value *in) {
    hone_error err;
    size_t n = hone_model_n_inputs(m);
    assert_true(n <= MOST);
    for (size_t i = 0; i < n; i++) {
        hone_value_info info;
        ASSERT_OK(hone_model_input(m, i, &info, &err), err);
        in[i] = (hone_value){.name = info.name, .dtype = info.dtype, .rank = info.rank};
        for (int k = 0; k < info.rank; k++)
            in[i].dims[k] = info.dims[k] >= 0 ? info.dims[k] : k == 0 ? batch : other;
        ASSERT_OK(hone_value_fill(&in[i], HONE_FILL_RANDOM, 1 + i, &err), err);
    }
    return n;
}

static void run(hone_session *s, const hone_model *m, size_t n_in, const hone_value *in,
                hone_value *out) {
    hone_error err;
    size_t n = hone_model_n_outputs(m);
    assert_true(n <= MOST);
    for (size_t i = 0; i < n; i++) {
        hone_value_info info;
        ASSERT_OK(hone_model_output(m, i, &info, &err), err);
        out[i] = (hone_value){.name = info.name};
    }
    ASSERT_OK(hone_session_run(s, n_in, in, n, out, &err), err);
}

static void same_bits(const char *path, size_t n, const hone_value *a, const hone_value *b,
                      int threads, const char *exec) {
    for (size_t i = 0; i < n; i++)
        if (a[i].bytes != b[i].bytes || memcmp(a[i].data, b[i].data, a[i].bytes) != 0)
            fail_msg("%s: output '%s' has other bits on %d threads, %s", path, a[i].name, threads,
                     exec);
}

static void same_on_any_threads(const char *path, int64_t batch, int64_t other) {
    static const char *const execs[] = {"sequential", "parallel"};
    hone_error err;
    hone_model *m;
    hone_value in[MOST] = {0}, first[MOST], again[MOST];
    ASSERT_OK(hone_model_load(&m, path, NULL, &err), err);
    size_t n_in = make_inputs(m, batch, other, in), n_out = hone_model_n_outputs(m);
    for (int threads = 1; threads <= 4; threads *= 2)
        for (int k = 0; k < 2; k++) {
            hone_session_options o;
            hone_session *s;
            hone_session_options_init(&o);
            o.threads = threads;
            o.exec = execs[k];
            ASSERT_OK(hone_session_create(&s, m, &o, &err), err);
            if (threads == 1 && k == 0) run(s, m, n_in, in, first);
            run(s, m, n_in, in, again);
            same_bits(path, n_out, first, again, threads, execs[k]);
            hone_value_release(again, n_out);
            hone_session_destroy(s);
        }
    hone_value_release(first, n_out);
    hone_value_release(in, n_in);
    hone_model_destroy(m);
}

static void models_of_the_repository(void **state) {
    (void)state;
    for (int64_t batch = 1; batch <= 9; batch += 4) same_on_any_threads(DIGITS, batch, 1);
    same_on_any_threads(MODEL("add"), 3, 4);
    same_on_any_threads(MODEL("batch4"), 4, 4);
}

static void real_models(void **state) {
    (void)state;
    static const char *const names[] = {
        "ad_autoencoder_fp32", "dtln_1",           "ic_resnet8_cifar10_fp32",
        "kws_dscnn_fp32",      "mnist_mlp_256x2",  "mobilenetv2_int8_qdq",
        "nanodet_m",           "resnet20_cifar10", "vww_mobilenetv1_025_96_fp32",
        "yunet_n_320_320"};
    const char *assets = test_assets();
    if (assets == NULL) {
        printf("skipped: no models, see HONE_ASSETS\n");
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/models/%s.onnx", assets, names[i]);
        same_on_any_threads(path, 2, 16);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_of_the_repository),
        cmocka_unit_test(real_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
