/* Every allocation of loading, inferring, saving and running a model fails once: each time the
 * answer is HONE_E_NOMEM, nothing crashes and nothing leaks.
 */
/* label: full */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "formats/onnx.h"
#include "ops/eval.h"
#include "ops/infer.h"
#include "support/paths.h"

/* Fails allocation 0, 1, 2 ... of step(alloc, ctx) until it succeeds; returns how many there were.
 */
static int count_down(hone_status (*step)(hn_allocator *alloc, void *ctx, hn_error *err), void *ctx,
                      const char *what) {
    for (int k = 0;; k++) {
        hn_allocator alloc;
        hn_error err = {.text = ""};
        hn_allocator_init(&alloc);
        atomic_store(&alloc.fail_after, k);
        hone_status status = step(&alloc, ctx, &err);
        if (atomic_load(&alloc.blocks) != 0)
            fail_msg("%s: %zu blocks leak when allocation %d fails", what,
                     (size_t)atomic_load(&alloc.blocks), k);
        if (status == HONE_OK) return k;
        if (status != HONE_E_NOMEM)
            fail_msg("%s: allocation %d fails and the answer is %s: %s", what, k,
                     hone_status_name(status), err.text);
        assert_true(k < 1000000);
    }
}

static hone_status load_and_save(hn_allocator *alloc, void *path, hn_error *err) {
    hn_model *m = NULL;
    hn_file *saved = NULL;
    hone_status status = hn_onnx_load(&m, path, NULL, alloc, err);
    if (status == HONE_OK) status = hn_model_verify(m, err);
    if (status == HONE_OK) status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK) status = hn_onnx_save_memory(&saved, m, NULL, err);
    hn_file_unref(saved);
    hn_model_destroy(m);
    return status;
}

typedef struct job {
    hn_model *model;
    hn_tensor *in[16];
} job;

static hone_status run(hn_allocator *alloc, void *ctx, hn_error *err) {
    job *j = ctx;
    hn_tensor *out[64] = {0};
    hn_exec_options o = {.alloc = alloc};
    hone_status status =
        hn_graph_run(j->model->graph, &o, (const hn_tensor *const *)j->in, out, err);
    for (int i = 0; i < 64; i++) hn_tensor_unref(out[i]);
    return status;
}

/* Zeros for every input; symbols are 1. */
static void count_down_run(const char *path) {
    hn_allocator alloc;
    hn_error err;
    job j = {0};
    hn_allocator_init(&alloc);
    assert_int_equal(hn_onnx_load(&j.model, path, NULL, &alloc, &err), HONE_OK);
    assert_int_equal(hn_model_infer(j.model, NULL, &err), HONE_OK);
    const hn_graph *g = j.model->graph;
    assert_true(g->n_inputs <= 16 && g->n_outputs <= 64);
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_type *t = &g->inputs[i]->type;
        int64_t dims[HONE_MAX_RANK];
        for (int k = 0; k < t->shape.rank; k++)
            if (!hn_dim_is_const(t->shape.dim[k], &dims[k])) dims[k] = 1;
        assert_int_equal(
            hn_tensor_create(&j.in[i], &alloc, HN_MEM_DATA, t->dtype, t->shape.rank, dims, &err),
            HONE_OK);
        memset(j.in[i]->data, 0, j.in[i]->bytes);
    }
    int n = count_down(run, &j, path);
    assert_true(n > 2 * g->n_nodes);
    for (int i = 0; i < 16; i++) hn_tensor_unref(j.in[i]);
    hn_model_destroy(j.model);
    assert_int_equal(atomic_load(&alloc.blocks), 0);
}

static void the_demo_model(void **state) {
    (void)state;
    char path[] = HN_SOURCE_DIR "/models/digits_cnn.onnx";
    assert_true(count_down(load_and_save, path, "load, infer and save") > 50);
    count_down_run(path);
}

/* An LSTM, shape arithmetic, quantization, a transformer: different ways to need memory. */
static void real_models(void **state) {
    (void)state;
    static const char *const names[] = {"dtln_1", "yunet_n_dynamic", "kws_dscnn_fp32",
                                        "vit_ibp_cifar10", "mobilenetv2_int8_qdq"};
    const char *assets = test_assets();
    if (assets == NULL) skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4300];
        snprintf(path, sizeof path, "%s/models/%s.onnx", assets, names[i]);
        count_down(load_and_save, path, names[i]);
    }
    char path[4300];
    snprintf(path, sizeof path, "%s/models/dtln_1.onnx", assets);
    count_down_run(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_demo_model),
        cmocka_unit_test(real_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
