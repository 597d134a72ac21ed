/* label: slow */
/* Training makes up for what was taken away, and gives none of it back: zeros stay, equal weights stay
 * equal, and rewinding leaves them alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "engine/layers.h"
#include "formats/onnx.h"
#include "ops/infer.h"
#include "support/data.h"
#include "support/method_model.h"
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
    hn_pool *pool;
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

static void open_all(fixture *f, int threads) {
    *f = (fixture){.data = data_open("synthetic:digits,n=%d", 256),
                   .val = data_open("synthetic:digits,n=100,seed=%d", 7)};
    if (hn_onnx_load(&f->model, HN_SOURCE_DIR "/models/digits_cnn.onnx", NULL, &scratch_mem,
                     &err) != HONE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(hn_pool_create(&f->pool, threads, &scratch_mem, &err), HONE_OK);
    f->o.how.engine = (hn_engine_options){
        .alloc = &scratch_mem, .isa = hn_isa_available(), .seed = 1, .pool = f->pool};
    assert_true(hn_layer_precision_named("f32", 3, &f->o.how.engine.layers.way));
    f->o.data = f->data;
    f->told = (hn_training_told){.val = f->val, .epoch = tell, .ctx = f};
    f->o.training = &f->told;
}

static void close_all(fixture *f) {
    hn_model_destroy(f->model);
    hn_dataset_close(f->data);
    hn_dataset_close(f->val);
    hn_pool_destroy(f->pool);
}

static hone_status compress(fixture *f, hn_compressed *c, const char *steps) {
    hn_recipe r;
    char text[400];
    snprintf(text, sizeof text, "hone recipe 2; samples 64; %s", steps);
    if (hn_recipe_read(&r, text, &arena, &err) != HONE_OK) return err.status;
    return hn_compress(c, &r, f->model, &f->o, &scratch_mem, &err);
}

static void compress_well(fixture *f, hn_compressed *c, const char *steps) {
    if (compress(f, c, steps) != HONE_OK) fail_msg("%s: %s", steps, err.text);
}

/* The weights of the layers of a model. */
typedef struct weights {
    int n;
    const hn_tensor *v[16];
} weights;

static weights weights_of(hn_model *m) {
    const hn_transform_ctx c = {.model = m};
    weights w = {0};
    hn_weighted *layers;
    assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
    assert_int_equal(hn_shrinking_layers(&c, NULL, NULL, &arena, &layers, &w.n, &err), HONE_OK);
    assert_in_range(w.n, 1, 16);
    for (int i = 0; i < w.n; i++) w.v[i] = layers[i].weight->constant;
    return w;
}

static float at(const hn_tensor *t, int64_t i) { return hn_weight_at(t, i); }

/* Elements that are zero in a are zero in b; how many others differ. */
static int64_t compare(const hn_tensor *a, const hn_tensor *b) {
    int64_t differ = 0;
    assert_int_equal(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++) {
        if (at(a, i) == 0 && at(b, i) != 0) fail_msg("element %lld was zero", (long long)i);
        differ += at(a, i) != at(b, i);
    }
    return differ;
}

static int distinct(const hn_tensor *t, float *v, int most) {
    int n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        int k = 0;
        while (k < n && v[k] != at(t, i)) k++;
        if (k == n && n == most) return most + 1;
        if (k == n) v[n++] = at(t, i);
    }
    return n;
}

static void zeros_stay(void **state) {
    (void)state;
    static const char *const trains[] = {
        "train epochs=1 batch=16 rate=0.02",
        "train epochs=1 batch=16 optimizer=sgd rate=0.02 decay=1e-4 goal=both",
        "train epochs=1 batch=16 optimizer=adamw rate=0.02 decay=0.1 goal=teacher"};
    for (size_t i = 0; i < sizeof trains / sizeof *trains; i++) {
        fixture f;
        hn_compressed pruned, trained;
        char text[200];
        open_all(&f, 1);
        compress_well(&f, &pruned, "prune sparsity=0.65");
        snprintf(text, sizeof text, "prune sparsity=0.65; %s", trains[i]);
        compress_well(&f, &trained, text);
        weights a = weights_of(pruned.model), b = weights_of(trained.model);
        assert_int_equal(f.n, 2);
        assert_true(f.epochs[0].float_score > 0.97);
        if (f.epochs[1].score < f.epochs[0].score + 0.5)
            fail_msg("%s: %g before, %g after", trains[i], f.epochs[0].score, f.epochs[1].score);
        for (int k = 0; k < a.n; k++) assert_true(compare(a.v[k], b.v[k]) > a.v[k]->n / 20);
        hn_compressed_deinit(&pruned);
        hn_compressed_deinit(&trained);
        close_all(&f);
    }
}

static void ties_stay(void **state) {
    (void)state;
    fixture f;
    hn_compressed tied, trained;
    float u[8], v[8];
    open_all(&f, 1);
    compress_well(&f, &tied, "prune sparsity=0.6; cluster clusters=4");
    compress_well(&f, &trained,
                  "prune sparsity=0.6; cluster clusters=4; train epochs=1 batch=32 rate=0.01");
    weights a = weights_of(tied.model), b = weights_of(trained.model);
    for (int k = 0; k < a.n; k++) {
        assert_int_equal(distinct(a.v[k], u, 8), 4);
        assert_in_range(distinct(b.v[k], v, 8), 2, 4);
        assert_true(compare(a.v[k], b.v[k]) > a.v[k]->n / 5);
        for (int64_t i = 0; i < a.v[k]->n; i++)
            for (int64_t j = 0; j < i && j < 50; j++)
                if (at(a.v[k], i) == at(a.v[k], j)) assert_true(at(b.v[k], i) == at(b.v[k], j));
    }
    if (f.epochs[1].score < f.epochs[0].score + 0.1)
        fail_msg("%g before, %g after", f.epochs[0].score, f.epochs[1].score);
    hn_compressed_deinit(&tied);
    hn_compressed_deinit(&trained);
    close_all(&f);
}

/* Weights that nothing said a word about learn as they like, unless `zeros` is said. */
static void zeros_of_a_file(void **state) {
    (void)state;
    fixture f;
    hn_compressed pruned, trained;
    open_all(&f, 1);
    f.told.val = NULL;
    compress_well(&f, &pruned, "prune sparsity=0.5");
    hn_model *dense = f.model;
    f.model = pruned.model;
    for (int i = 0; i < 2; i++) {
        compress_well(&f, &trained,
                      i == 0 ? "train epochs=1 batch=128 zeros" : "train epochs=1 batch=128");
        int64_t zeros = 0;
        weights w = weights_of(trained.model);
        for (int64_t k = 0; k < w.v[1]->n; k++) zeros += at(w.v[1], k) == 0;
        assert_int_equal(zeros, i == 0 ? w.v[1]->n / 2 : 0);
        hn_compressed_deinit(&trained);
    }
    f.model = dense;
    hn_compressed_deinit(&pruned);
    close_all(&f);
}

static void statistics_move(void **state) {
    (void)state;
    fixture f;
    hn_compressed c;
    open_all(&f, 1);
    f.told.val = NULL;
    compress_well(&f, &c, "train epochs=1 batch=64");
    int moved = 0;
    for (int i = 0; i < f.model->graph->n_values; i++) {
        const hn_value *v = f.model->graph->values[i];
        for (const hn_use *u = v->constant != NULL ? v->uses : NULL; u != NULL; u = u->next)
            if (u->index == 3 && strcmp(u->node->op_type, "BatchNormalization") == 0)
                moved += !hn_tensor_equal(v->constant,
                                          hn_graph_value(c.model->graph, v->name)->constant);
    }
    assert_int_equal(moved, 6);
    hn_compressed_deinit(&c);
    close_all(&f);
}

static void rewinding_goes_back(void **state) {
    (void)state;
    fixture f;
    hn_compressed c;
    open_all(&f, 1);
    f.told.val = NULL;
    compress_well(&f, &c,
                  "train epochs=1 batch=64 keep=0 rate=0.01; prune sparsity=0.75; train epochs=1 "
                  "batch=64 rate=0.01; rewind");
    weights first = weights_of(f.model), now = weights_of(c.model);
    for (int k = 0; k < first.n; k++) {
        int64_t zeros = 0, n = first.v[k]->n;
        for (int64_t i = 0; i < n; i++) {
            zeros += at(now.v[k], i) == 0;
            if (at(now.v[k], i) != 0) assert_true(at(now.v[k], i) == at(first.v[k], i));
        }
        assert_int_equal(zeros, (int64_t)floor(0.75 * (double)n + 0.5));
    }
    hn_compressed_deinit(&c);
    close_all(&f);
}

static void threads_change_nothing(void **state) {
    (void)state;
    hn_compressed of[3];
    weights w[3];
    for (int i = 0; i < 3; i++) {
        fixture f;
        open_all(&f, 1 << i);
        f.told.val = NULL;
        compress_well(&f, &of[i],
                      "prune kind=taylor sparsity=0.6; train epochs=1 batch=64; cluster "
                      "clusters=6; train epochs=1 batch=64");
        w[i] = weights_of(of[i].model);
        for (int k = 0; k < w[i].n; k++) assert_true(hn_tensor_equal(w[0].v[k], w[i].v[k]));
        close_all(&f);
    }
    for (int i = 0; i < 3; i++) hn_compressed_deinit(&of[i]);
}

static void it_can_be_stopped_and_refused(void **state) {
    (void)state;
    static const struct {
        const char *steps, *message;
        hone_status status;
    } cases[] = {
        {"train epochs=3 batch=64", "ended", HONE_E_LIMIT},
        {"train batch=500", "500", HONE_E_ARG},
        {"train augment=twist", "twist", HONE_E_ARG},
        {"train goal=mine", "expected", HONE_E_FORMAT},
        {"rewind", "train keep=0", HONE_E_ARG},
        {"train epochs=1 batch=64 keep=1; cluster; rewind", "is clustered", HONE_E_ARG},
        {"train epochs=1 batch=64; prune kind=movement", "train keep=0", HONE_E_ARG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        hn_compressed c;
        open_all(&f, 1);
        f.stop_at = i == 0 ? 2 : 0;
        f.told.val = i == 0 ? f.val : NULL;
        assert_int_equal(compress(&f, &c, cases[i].steps), cases[i].status);
        if (strstr(err.text, cases[i].message) == NULL) fail_msg("%s", err.text);
        close_all(&f);
    }
}

static void memory_runs_out(void **state) {
    (void)state;
    hone_status status = HONE_E_NOMEM;
    hn_recipe r;
    assert_int_equal(
        hn_recipe_read(&r, "hone recipe 2; train epochs=1 batch=16 goal=teacher keep=1", &arena,
                       &err),
        HONE_OK);
    /* Not every one of so many allocations, but some of each part of the work. */
    for (long long k = 0; status != HONE_OK; k += 1 + k / 16) {
        hn_model *m = method_model(
            "m (float[n,6] x, float[6,8] w, float[8,3] w2) => (float[n,3] y) {"
            " h = MatMul (x, w) a = Relu (h) y = MatMul (a, w2) }",
            3);
        hn_model *before = method_copy(m);
        method_bench b;
        hn_shrinking s;
        method_begin(&b, m);
        method_weight(m, "w")[3] = 0;
        b.c.step = &r.steps[0];
        b.c.data = b.data;
        b.c.original = before;
        b.c.shrinking = &s;
        hn_shrinking_init(&s, &scratch_mem);
        assert_int_equal(hn_shrinking_keep(&b.c, "w", HN_KEEPS_ZEROS | HN_KEEPS_TIES, &err),
                         HONE_OK);
        scratch_mem.fail_after = k;
        status = hn_transform_train(&b.c, &err);
        scratch_mem.fail_after = -1;
        if (status == HONE_OK) assert_true(method_weight(m, "w")[3] == 0);
        hn_shrinking_deinit(&s);
        method_end(&b);
        hn_model_destroy(before);
        hn_model_destroy(m);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(zeros_stay),
        TEST(ties_stay),
        TEST(zeros_of_a_file),
        TEST(statistics_move),
        TEST(rewinding_goes_back),
        TEST(threads_change_nothing),
        TEST(it_can_be_stopped_and_refused),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
