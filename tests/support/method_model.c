#include "support/method_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/rng.h"
#include "ops/eval.h"
#include "ops/infer.h"
#include "support/data.h"
#include "support/graph.h"

enum { MOST = 16 };

static hn_tensor *tensor_for(const hn_value *v) {
    int64_t dims[HONE_MAX_RANK];
    hn_tensor *t;
    hn_error err;
    for (int d = 0; d < v->type.shape.rank; d++)
        if (!hn_dim_is_const(v->type.shape.dim[d], &dims[d])) dims[d] = 32;
    assert_int_equal(hn_tensor_create(&t, &scratch_mem, HN_MEM_DATA, v->type.dtype,
                                      v->type.shape.rank, dims, &err),
                     HONE_OK);
    return t;
}

static hn_tensor *random_weight(const hn_value *v, hn_rng *rng) {
    hn_tensor *t = tensor_for(v);
    int64_t row = t->rank > 0 ? t->n / t->dims[0] : 1;
    double size = 1;
    for (int64_t i = 0; i < t->n; i++) {
        if (i % row == 0) size = exp2(6 * hn_rng_f64(rng) - 4);
        hn_store_f64(t->dtype, t->data, i, size * hn_rng_normal(rng));
    }
    return t;
}

hn_model *method_model(const char *text, uint64_t seed) {
    hn_model *m = graph_model(21, text);
    hn_graph *g = m->graph;
    hn_error err;
    hn_rng rng;
    int kept = 0;
    hn_rng_init(&rng, seed);
    for (int i = 0; i < g->n_inputs; i++) {
        hn_value *v = g->inputs[i];
        if (v->name[0] != 'w') {
            g->inputs[kept++] = v;
            continue;
        }
        hn_value_set_constant(v, random_weight(v, &rng));
        v->is_input = false;
    }
    g->n_inputs = kept;
    assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
    return m;
}

float *method_weight(hn_model *m, const char *name) {
    hn_value *v = hn_graph_value(m->graph, name);
    assert_true(v != NULL && v->constant != NULL);
    return v->constant->data;
}

static void run(const hn_model *m, hn_tensor **out) {
    const hn_graph *g = m->graph;
    hn_tensor *in[MOST] = {NULL};
    hn_exec_options o = {.alloc = &scratch_mem, .seed = 1};
    hn_error err;
    hn_rng rng;
    hn_rng_init(&rng, 7);
    assert_true(g->n_inputs <= MOST && g->n_outputs <= MOST);
    for (int i = 0; i < g->n_inputs; i++) {
        in[i] = tensor_for(g->inputs[i]);
        for (int64_t k = 0; k < in[i]->n; k++)
            hn_store_f64(in[i]->dtype, in[i]->data, k, hn_rng_normal(&rng));
    }
    if (hn_graph_run(g, &o, (const hn_tensor *const *)in, out, &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < g->n_inputs; i++) hn_tensor_unref(in[i]);
}

static void near(const hn_tensor *a, const hn_tensor *b, double bound) {
    double most = 0, apart = 0;
    assert_true(hn_tensor_same_dims(a, b->rank, b->dims));
    for (int64_t i = 0; i < a->n; i++) {
        most = fmax(most, fabs(hn_tensor_f64(a, i)));
        apart = fmax(apart, fabs(hn_tensor_f64(a, i) - hn_tensor_f64(b, i)));
    }
    assert_true(most > 0);
    if (!(apart <= bound * most)) fail_msg("apart by %g of %g", apart, most);
}

void method_same(const hn_model *a, const hn_model *b, double bound) {
    hn_tensor *x[MOST] = {NULL}, *y[MOST] = {NULL};
    run(a, x);
    run(b, y);
    for (int i = 0; i < a->graph->n_outputs; i++) {
        near(x[i], y[i], bound);
        hn_tensor_unref(x[i]);
        hn_tensor_unref(y[i]);
    }
}

double method_distance(const hn_model *a, const hn_model *b) {
    hn_tensor *x[MOST] = {NULL}, *y[MOST] = {NULL};
    double sum = 0;
    run(a, x);
    run(b, y);
    for (int64_t i = 0; i < x[0]->n; i++) {
        double d = hn_tensor_f64(x[0], i) - hn_tensor_f64(y[0], i);
        sum += d * d;
    }
    for (int i = 0; i < a->graph->n_outputs; i++) {
        hn_tensor_unref(x[i]);
        hn_tensor_unref(y[i]);
    }
    return sum;
}

void method_begin_with(method_bench *b, hn_model *m, int samples) {
    hn_error err;
    *b = (method_bench){.data = data_open("random,n=%d", samples)};
    hn_engine_options o = {.alloc = &scratch_mem, .isa = hn_isa_available(), .seed = 1};
    assert_true(hn_layer_precision_named("f32", 3, &o.layers.way));
    assert_int_equal(hn_pool_create(&b->pool, 1, &scratch_mem, &err), HONE_OK);
    o.pool = b->pool;
    b->how = (hn_run_options){.engine = o};
    b->scheme.layer = (hn_layer_scheme){
        .kind = HN_LAYER_STATIC,
        .weights = {.dtype = HONE_DTYPE_S8, .bits = 8, .symmetric = true, .per_channel = true},
        .activations = {.dtype = HONE_DTYPE_U8, .bits = 8}};
    if (hn_feed_create(&b->feed, m->graph, b->data, 8, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    b->c = (hn_transform_ctx){.model = m,
                              .scheme = &b->scheme,
                              .feed = b->feed,
                              .seed = 1,
                              .how = &b->how,
                              .alloc = &scratch_mem};
}

void method_begin(method_bench *b, hn_model *m) { method_begin_with(b, m, 40); }

void method_end(method_bench *b) {
    hn_feed_destroy(b->feed);
    hn_pool_destroy(b->pool);
    hn_dataset_close(b->data);
}

hn_model *method_copy(const hn_model *m) {
    hn_model *copy;
    hn_error err;
    assert_int_equal(hn_model_clone(&copy, m, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_model_infer(copy, NULL, &err), HONE_OK);
    return copy;
}

hn_model *method_keeps(const hn_model *m, hn_transform_fn *method, int64_t changed) {
    hn_model *copy = method_copy(m);
    hn_error err;
    method_bench b;
    method_begin(&b, copy);
    if (method(&b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(b.c.changed, changed);
    if (hn_model_verify(copy, &err) != HONE_OK) fail_msg("%s", err.text);
    method_same(m, copy, 1e-5);
    method_end(&b);
    return copy;
}

void method_survives(const hn_model *m, hn_transform_fn *method) {
    hone_status status = HONE_E_NOMEM;
    for (long long k = 0; status != HONE_OK; k++) {
        hn_model *copy = method_copy(m);
        method_bench b;
        hn_error err;
        method_begin(&b, copy);
        scratch_mem.fail_after = k;
        status = method(&b.c, &err);
        scratch_mem.fail_after = -1;
        method_end(&b);
        hn_model_destroy(copy);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
    }
}
