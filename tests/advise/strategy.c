#include "advise/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "advise/candidates.h"

static void devices_have_what_the_guides_say(void **state) {
    (void)state;
    const hn_target *d, *before = NULL;
    for (int i = 0; (d = hn_target_at(i)) != NULL; before = d, i++) {
        assert_ptr_equal(hn_target_named(d->name), d);
        assert_non_null(hn_remedy_at(d->name, 0));
        assert_true(before == NULL || strcmp(before->name, d->name) < 0);
    }
    assert_string_equal(hn_target_named("cpu")->precision, "bf16");
    assert_int_equal(hn_target_named("embedded_mcu")->bits, 4);
    assert_null(hn_target_named("toaster"));
}

static void remedies_come_in_order(void **state) {
    (void)state;
    char text[256], little[12];
    assert_string_equal(hn_remedy_at("cpu", 0)->name, "threads");
    assert_int_equal(hn_remedy_at("cpu", 0)->by, HN_BY_ENGINE);
    assert_null(hn_remedy_at("cpu", 1000));
    assert_null(hn_remedy_named("cpu", "graph capture"));
    assert_string_equal(hn_remedies_text("embedded_mcu", text, sizeof text),
                        "measure on the device, smaller architecture, int8, int4, prune channels, "
                        "distil, smaller input, stream weights from storage");
    hn_remedies_text("cpu", little, sizeof little);
    assert_int_equal(strlen(little), sizeof little - 1);
}

/* The gentlest first, and each a remedy of the CPU that a search may apply. */
static void candidates_follow_the_tree(void **state) {
    (void)state;
    const hn_candidate *c;
    int n = 0;
    for (; (c = hn_candidate_at(n)) != NULL; n++) {
        const hn_remedy *r = hn_remedy_named("cpu", c->remedy);
        assert_non_null(r);
        assert_int_equal(r->by, HN_BY_SEARCH);
        assert_int_equal(c->exact, n == 0);
        for (int k = 0; k < n; k++) assert_string_not_equal(hn_candidate_at(k)->name, c->name);
    }
    assert_true(n >= 5);
    assert_string_equal(hn_candidate_at(0)->name, "simplified");
    hn_recipe r;
    hn_compress_plan p;
    hn_arena arena;
    hn_arena_init(&arena, hn_allocator_default(), HN_MEM_OTHER);
    for (int i = 0; i < n; i++)
        assert_int_equal(hn_candidate_recipe(hn_candidate_at(i), 7, &arena, &r, &p, NULL), HONE_OK);
    assert_int_equal(hn_candidate_recipe(hn_candidate_at(3), 7, &arena, &r, &p, NULL), HONE_OK);
    assert_string_equal(r.name, "int8");
    assert_int_equal(p.scheme.layer.kind, HN_LAYER_STATIC);
    assert_int_equal(r.seed, 7);
    assert_true(hn_compress_needs_data(&p, &r));
    hn_arena_deinit(&arena);
}

/* ---- the guides' rows, one by one ---- */

static void devices_are_those_of_the_guides(void **state) {
    (void)state;
    /* Device, bits, pruning, layout, precision. There is no row for edge_arm: its tree says int8. */
    static const struct {
        const char *name;
        int bits;
        const char *pruning, *layout, *precision;
    } rows[] = {{"nvidia_gpu", 8, "structured", "NCHW", "f16"},
                {"cpu", 16, "unstructured", "NHWC", "bf16"},
                {"mobile_npu", 8, "channel", "NCHW", "int8"},
                {"embedded_mcu", 4, "structured", "NCHW", "int4"},
                {"edge_arm", 8, "channel", "NHWC", "int8"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const hn_target *t = hn_target_named(rows[i].name);
        assert_non_null(t);
        assert_int_equal(t->bits, rows[i].bits);
        assert_string_equal(t->pruning, rows[i].pruning);
        assert_string_equal(t->layout, rows[i].layout);
        assert_string_equal(t->precision, rows[i].precision);
        assert_non_null(hn_typical_of(rows[i].name));
    }
}

/* The remedies of a branch are these, in this order; others may stand between them. */
static void in_order(const char *device, hn_branch_id branch, const char *const *names) {
    const hn_remedy *r;
    int k = 0;
    for (int i = 0; (r = hn_remedy_at(device, i)) != NULL && names[k] != NULL; i++)
        k += r->branch == branch && strcmp(r->name, names[k]) == 0;
    if (names[k] != NULL) fail_msg("%s: '%s' is missing or in another place", device, names[k]);
}
#define IN_ORDER(device, branch, ...) \
    in_order(device, HN_BRANCH_##branch, (const char *const[]){__VA_ARGS__, NULL})

static void the_tree_for_gpus(void **state) {
    (void)state;
    /* utilization under 50 % -> batch, preprocessing, fewer copies */
    IN_ORDER("nvidia_gpu", STARVED, "batch", "preprocessing on the device or in parallel",
             "fewer copies");
    /* else batch -> f16 -> compiled fusion -> engine -> graph capture */
    IN_ORDER("nvidia_gpu", BUSY, "batch", "f16", "compiled fusion", "engine with tuned kernels",
             "graph capture");
    /* still short -> int8, compression, more GPUs */
    IN_ORDER("nvidia_gpu", SHORT, "int8", "prune channels", "2:4 sparsity", "more GPUs");
    assert_non_null(strstr(hn_branch_at(HN_TREE_GPU, 0)->question, "under 50 %"));
    assert_int_equal(hn_branch_at(HN_TREE_GPU, 1)->id, HN_BRANCH_BUSY);
    assert_int_equal(hn_branch_at(HN_TREE_GPU, 2)->id, HN_BRANCH_SHORT);
    assert_null(hn_branch_at(HN_TREE_GPU, 3));
}

static void the_tree_for_cpus(void **state) {
    (void)state;
    /* threads -> fast kernels -> channels last -> fusion -> batch */
    IN_ORDER("cpu", FIRST, "threads", "fast kernels", "channels last", "fusion", "batch");
    /* still short -> int8 -> compression -> more machines; gentle: 16 bits, int8, mixed, int4 */
    IN_ORDER("cpu", SHORT, "16 bits", "int8 dynamic", "int8 static", "mixed", "int4 dynamic",
             "prune weights", "low rank", "more machines");
    assert_string_equal(hn_branch_at(HN_TREE_CPU, 0)->question, "");
}

static void the_tree_for_the_edge(void **state) {
    (void)state;
    static const char *const devices[] = {"edge_arm", "embedded_mcu", "mobile_npu"};
    for (int i = 0; i < 3; i++) {
        IN_ORDER(devices[i], FIRST, "measure on the device");
        /* over 100 ms -> smaller architecture first */
        IN_ORDER(devices[i], LARGE, "smaller architecture");
        IN_ORDER(devices[i], FITS, "int8");
    }
    assert_non_null(strstr(hn_branch_at(HN_TREE_EDGE, 1)->question, "100 ms"));
    /* int8 -> threads = cores -> engine; still short -> prune, distil, smaller input, stream */
    IN_ORDER("edge_arm", FITS, "int8", "threads = cores", "engine for the device");
    IN_ORDER("edge_arm", SHORT, "prune channels", "distil", "smaller input",
             "stream weights from storage");
    IN_ORDER("embedded_mcu", FITS, "int8", "int4");
    IN_ORDER("mobile_npu", SHORT, "prune channels in multiples", "distil");
}

/* What goes wrong where, with its remedy; and no remedy that a device refuses is in its tree, but
 * for what a machine may have arithmetic for. */
static void remedies_are_legal_for_their_device(void **state) {
    (void)state;
    static const struct {
        const char *device;
        hn_does_id does;
        const char *sign, *remedy;
    } rows[] = {
        {"nvidia_gpu", HN_DOES_ZEROS, "unstructured sparsity", "N:M"},
        {"cpu", HN_DOES_INT4, "int4 on a CPU without support", "int8"},
        {"mobile_npu", HN_DOES_CHANNELS, "changed shapes are rejected", "masks in place"},
        {"embedded_mcu", HN_DOES_INT4, "quantization noise", "lowered step by step in training"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const hn_trouble *t = hn_trouble_of(rows[i].device);
        assert_non_null(t);
        assert_int_equal(t->does, rows[i].does);
        assert_string_equal(t->sign, rows[i].sign);
        assert_non_null(strstr(t->remedy, rows[i].remedy));
    }
    const hn_target *d;
    const hn_remedy *r;
    const hn_refused *no;
    for (int i = 0; (d = hn_target_at(i)) != NULL; i++)
        for (int k = 0; (no = hn_refused_at(d->name, k)) != NULL; k++)
            for (int m = 0; (r = hn_remedy_at(d->name, m)) != NULL; m++)
                if (r->does == no->does && hn_does_of(r->does)->precision == NULL)
                    fail_msg("%s: %s is refused", d->name, r->name);
    /* On an NPU nothing changes shapes but channels in the hardware's multiples. */
    for (int m = 0; (r = hn_remedy_at("mobile_npu", m)) != NULL; m++) {
        assert_true(r->does != HN_DOES_INPUT && r->does != HN_DOES_RANK);
        if (r->does == HN_DOES_CHANNELS) assert_non_null(strstr(r->command, "--align 16"));
    }
    assert_non_null(strstr(hn_remedy_named("embedded_mcu", "int4")->command, "--symmetric"));
    assert_non_null(strstr(hn_remedy_named("embedded_mcu", "int4")->command, "--bit-steps 8,6,4"));
    assert_non_null(strstr(hn_remedy_named("nvidia_gpu", "2:4 sparsity")->command, "2:4"));
}

static void gains_are_those_people_are_told(void **state) {
    (void)state;
    static const struct {
        const char *device, *remedy, *gain;
    } rows[] = {{"nvidia_gpu", "engine with tuned kernels", "time 2-5x"}, /* TensorRT-like */
                {"nvidia_gpu", "compiled fusion", "time 1.5-2x"},
                {"nvidia_gpu", "f16", "time 2x, size 2x"},
                {"nvidia_gpu", "graph capture", "time 1.2-1.3x"}, /* 20 to 30 % */
                {"cpu", "channels last", "time 1.5-2x"},
                {"cpu", "fast kernels", "time 2-4x"}, /* ONNX Runtime 2-3x, OpenVINO 3-4x */
                {"cpu", "int8 dynamic", "time 2-3x, size 4x"},
                {"cpu", "int8 static", "time 4-5x, size 4x"},
                {"cpu", "fusion", "time 1.2-1.3x"},
                {"cpu", "batch", "throughput 3-5x"},
                {"edge_arm", "int8", "time 2-4x, size 4x"},
                {"edge_arm", "engine for the device", "time 3-5x"}, /* TFLite */
                {"cpu", "prune weights", "size 2x at half sparse, 90 % sparse at little loss"},
                {"cpu", "low rank", "size 4x at rank 128 of 1024"},
                {"edge_arm", "smaller architecture", "size 8-9x"}}; /* depthwise-separable */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(hn_remedy_named(rows[i].device, rows[i].remedy)->gain, rows[i].gain);
}

static void uses_are_the_usual_limits(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double ms, per_second, memory;
        int lo, hi;
    } rows[] = {{"video", 33, 0, 0, 1, 1},    {"search", 50, 0, 0, 1, 8},
                {"voice", 100, 0, 0, 1, 1},   {"recommendation", 100, 0, 0, 1, 8},
                {"online", 50, 100, 0, 1, 8}, {"batch", 500, 1000, 0, 32, 128},
                {"edge", 500, 0, 2e9, 1, 1}};
    int n = 0;
    while (hn_purpose_at(n) != NULL) n++;
    assert_int_equal(n, (int)(sizeof rows / sizeof *rows));
    for (int i = 0; i < n; i++) {
        const hn_purpose *u = hn_purpose_named(rows[i].name);
        assert_non_null(u);
        assert_true(u->max_ms == rows[i].ms && u->per_second == rows[i].per_second);
        assert_true(u->memory_bytes == rows[i].memory);
        assert_true(u->batch_lo == rows[i].lo && u->batch_hi == rows[i].hi);
    }
    assert_null(hn_purpose_named("toast"));
}

static void symptoms_are_those_of_the_guides(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"memory-bound", "out of memory",
         "lower precision, smaller batch, recompute (training), prune, offload"},
        {"memory-bound", "barely fits",
         "lower precision, smaller batch, recompute (training), prune, offload"},
        {"compute-bound", "long latency", "larger batch, fusion"},
        {"compute-bound", "idle units", "larger batch, fusion"},
        {"the way back", "accuracy short, with slack", "higher precision, larger model"}};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(hn_symptom_at(i)->kind, rows[i][0]);
        assert_string_equal(hn_symptom_at(i)->sign, rows[i][1]);
        assert_string_equal(hn_symptom_at(i)->remedies, rows[i][2]);
    }
    assert_null(hn_symptom_at(5));
}

/* Quantization 1 to 2 %, with the whole pipeline under 1 %; structured pruning takes 0.3. */
static void losses_are_those_people_are_told(void **state) {
    (void)state;
    assert_true(hn_does_of(HN_DOES_F16)->loss == 0 && hn_does_of(HN_DOES_BF16)->loss == 0);
    assert_true(hn_does_of(HN_DOES_INT8)->loss == 0.02);
    assert_true(hn_does_of(HN_DOES_INT8_DYNAMIC)->loss == 0.02);
    for (int i = 0; i < HN_DOES_COUNT_; i++) {
        const hn_does *d = hn_does_of((hn_does_id)i);
        if (d->needs == HN_WANTS_TRAINING && d->precision == NULL) assert_true(d->loss == 0.01);
        assert_true(d->risk[0] != '\0' && d->effort[0] != '\0');
    }
    /* of 0.7 of the channels, in and out */
    assert_true(hn_does_of(HN_DOES_CHANNELS)->flops == 0.49);
    assert_non_null(strstr(hn_remedy_named("cpu", "low rank")->command, "--rank-share 0.125"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_have_what_the_guides_say),
        cmocka_unit_test(remedies_come_in_order),
        cmocka_unit_test(candidates_follow_the_tree),
        cmocka_unit_test(devices_are_those_of_the_guides),
        cmocka_unit_test(the_tree_for_gpus),
        cmocka_unit_test(the_tree_for_cpus),
        cmocka_unit_test(the_tree_for_the_edge),
        cmocka_unit_test(remedies_are_legal_for_their_device),
        cmocka_unit_test(gains_are_those_people_are_told),
        cmocka_unit_test(uses_are_the_usual_limits),
        cmocka_unit_test(symptoms_are_those_of_the_guides),
        cmocka_unit_test(losses_are_those_people_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
