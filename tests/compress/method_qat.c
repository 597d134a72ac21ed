/* label: slow */
/* Training makes what is written better than rounding does, tells how good it is, and can be
 * stopped. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "engine/layers.h"
#include "formats/onnx.h"
#include "measure/accuracy.h"
#include "support/data.h"
#include "support/paths.h"

static hn_error err;
static hn_arena arena;

static int begin(void **state) {
    int status = scratch_setup(state);
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    return status;
}

static int end(void **state) {
    hn_arena_deinit(&arena);
    return scratch_teardown(state);
}

typedef struct fixture {
    hn_model *model;
    hn_dataset *data, *val;
    hn_compress_options o;
    hn_training_told told;
    int n;
    hn_told_epoch epochs[16];
    int stop_at;
} fixture;

static bool tell(void *ctx, const hn_told_epoch *e) {
    fixture *f = ctx;
    f->epochs[f->n++] = *e;
    return f->n != f->stop_at;
}

static void open_all(fixture *f) {
    *f = (fixture){.data = data_open("synthetic:digits,n=%d", 256),
                   .val = data_open("synthetic:digits,n=100,seed=%d", 7)};
    if (hn_onnx_load(&f->model, HN_SOURCE_DIR "/models/digits_cnn.onnx", NULL, &scratch_mem,
                     &err) != HONE_OK)
        fail_msg("%s", err.text);
    f->o.how.engine =
        (hn_engine_options){.alloc = &scratch_mem, .isa = hn_isa_available(), .seed = 1};
    assert_true(hn_layer_precision_named("f32", 3, &f->o.how.engine.layers.way));
    f->o.data = f->data;
    f->told = (hn_training_told){.val = f->val, .epoch = tell, .ctx = f};
    f->o.training = &f->told;
}

static void close_all(fixture *f) {
    hn_model_destroy(f->model);
    hn_dataset_close(f->data);
    hn_dataset_close(f->val);
}

static hone_status compress(fixture *f, hn_compressed *c, const char *steps) {
    hn_recipe r;
    char text[400];
    snprintf(text, sizeof text, "hone recipe 2; samples 64; simplify; %s", steps);
    if (hn_recipe_read(&r, text, &arena, &err) != HONE_OK) fail_msg("%s", err.text);
    return hn_compress(c, &r, f->model, &f->o, &scratch_mem, &err);
}

static hone_status run(void *ctx, const hn_tensor *const *in, hn_tensor **out, hn_error *e) {
    return hn_program_run(ctx, in, out, e);
}

static double top1(const fixture *f, const hn_model *m) {
    hn_program *p;
    hone_eval_result r;
    hone_eval_options o = {.size = sizeof o};
    assert_int_equal(hn_program_create(&p, m, &f->o.how, &err), HONE_OK);
    assert_int_equal(hn_accuracy_top(m->graph, run, p, f->val, &o, &scratch_mem, &r, &err),
                     HONE_OK);
    hn_program_destroy(p);
    return (double)r.top1 / (double)r.samples;
}

static void weights_of_two_bits_are_learned(void **state) {
    (void)state;
    fixture f;
    hn_compressed c;
    open_all(&f);
    if (compress(&f, &c, "qat epochs=3 batch=16 rate=0.006; quantize type=w2a8 ranges=minmax") !=
        HONE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(f.n, 4);
    assert_int_equal(c.changed[1], 7);
    double best = 0;
    for (int i = 1; i < f.n; i++) {
        assert_int_equal(f.epochs[i].epoch, i);
        best = fmax(best, f.epochs[i].score);
    }
    assert_true(isnan(f.epochs[0].loss) && f.epochs[0].float_score > 0.97);
    assert_true(f.epochs[3].loss < f.epochs[1].loss);
    if (f.epochs[0].score >= 0.5 || best <= 0.7)
        fail_msg("%g before, %g after", f.epochs[0].score, best);
    assert_true(top1(&f, c.model) == best);
    hn_compressed_deinit(&c);
    close_all(&f);
}

/* What training made worse is not what is written. */
static void training_that_harms_is_not_kept(void **state) {
    (void)state;
    fixture f;
    hn_compressed c;
    open_all(&f);
    if (compress(&f, &c, "qat epochs=2 batch=64 rate=2; quantize type=int8 ranges=minmax") !=
        HONE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(f.n, 3);
    assert_true(f.epochs[1].score < f.epochs[0].score && !f.epochs[1].kept);
    assert_true(f.epochs[2].score < f.epochs[0].score && !f.epochs[2].kept);
    assert_true(top1(&f, c.model) == f.epochs[0].score);
    hn_compressed_deinit(&c);
    close_all(&f);
}

/* Bits come down step by step, and epochs are counted on. */
static void bits_come_down(void **state) {
    (void)state;
    fixture f;
    hn_compressed c;
    open_all(&f);
    f.told.val = NULL;
    if (compress(&f, &c,
                 "qat epochs=4 batch=64 bits=8,6,4 labels; quantize type=w4a4 ranges=minmax") !=
        HONE_OK)
        fail_msg("%s", err.text);
    static const int bits[] = {8, 6, 4, 4};
    assert_int_equal(f.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(f.epochs[i].bits, bits[i]);
        assert_int_equal(f.epochs[i].epoch, i + 1);
        assert_true(isnan(f.epochs[i].score));
    }
    assert_true(top1(&f, c.model) > 0.9);
    hn_compressed_deinit(&c);
    close_all(&f);
}

static void it_can_be_stopped_and_refused(void **state) {
    (void)state;
    static const struct {
        const char *steps, *message;
        hone_status status;
    } cases[] = {
        {"qat epochs=3 batch=64; quantize type=w4a8 ranges=minmax", "ended", HONE_E_LIMIT},
        {"qat epochs=1 batch=500; quantize type=w4a8 ranges=minmax", "500", HONE_E_ARG},
        {"qat epochs=1 bits=8,4; quantize type=w4a8 ranges=minmax", "2 steps of bits", HONE_E_ARG},
        {"qat bits=4,8; quantize type=w4a8", "expected up to", HONE_E_ARG},
        {"qat augment=twist; quantize type=w4a8", "twist", HONE_E_ARG},
        {"qat; quantize mix=int8,w4a8 bits-per-weight=6", "types that are settled", HONE_E_ARG},
        {"qat epochs=1; quantize type=int4", "groups are not trained", HONE_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        hn_compressed c;
        open_all(&f);
        f.stop_at = 2;
        assert_int_equal(compress(&f, &c, cases[i].steps), cases[i].status);
        if (strstr(err.text, cases[i].message) == NULL) fail_msg("%s", err.text);
        close_all(&f);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(weights_of_two_bits_are_learned),
        TEST(training_that_harms_is_not_kept),
        TEST(bits_come_down),
        TEST(it_can_be_stopped_and_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
