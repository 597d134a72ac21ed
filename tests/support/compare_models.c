#include "support/compare_models.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/rng.h"
#include "formats/onnx.h"
#include "ops/infer.h"
#include "support/graph.h"
#include "support/scratch.h"

/* Random numbers; a symbolic axis is 4. */
static hone_status load(void *ctx, int64_t run, hn_tensor **in, hn_error *err) {
    const two_models *t = ctx;
    const hn_graph *g = t->a->graph;
    hn_rng rng;
    hn_rng_init(&rng, 100 + (uint64_t)run);
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_type *type = &g->inputs[i]->type;
        int64_t dims[HONE_MAX_RANK];
        in[i] = NULL;
        if (g->inputs[i]->constant != NULL) continue;
        for (int d = 0; d < type->shape.rank; d++)
            if (!hn_dim_is_const(type->shape.dim[d], &dims[d])) dims[d] = 4;
        HN_TRY(hn_tensor_create(&in[i], &scratch_mem, HN_MEM_DATA, type->dtype, type->shape.rank,
                                dims, err));
        for (int64_t k = 0; k < in[i]->n; k++)
            hn_store_f64(type->dtype, in[i]->data, k, hn_rng_normal(&rng));
    }
    return HONE_OK;
}

static void make_ready(two_models *t) {
    hn_error err;
    hn_engine_options o = {.alloc = &scratch_mem, .isa = hn_isa_available(), .seed = 1};
    assert_true(hn_layer_precision_named("f32", 3, &o.layers.way));
    assert_int_equal(hn_pool_create(&t->pool, 1, &scratch_mem, &err), HONE_OK);
    o.pool = t->pool;
    t->how[0] = t->how[1] = (hn_run_options){.engine = o};
    assert_true(hn_layer_precision_named("int8", 4, &t->how[1].engine.layers.way));
    t->samples = (hn_sample_source){3, load, t};
}

void two_models_of(two_models *t, const char *a, const char *b) {
    *t = (two_models){.a = graph_model(21, a), .b = graph_model(21, b)};
    make_ready(t);
}

static void damage_weight(hn_node *n, hn_rng *rng, double damage) {
    hn_value *v = n->inputs[1].value;
    const hn_tensor *from = v->constant;
    hn_tensor *to;
    hn_error err;
    double size = 0;
    assert_non_null(from);
    assert_int_equal(hn_tensor_create(&to, &scratch_mem, HN_MEM_WEIGHTS, from->dtype, from->rank,
                                      from->dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < from->n; i++) {
        double x = hn_tensor_f64(from, i);
        size += x * x;
    }
    size = sqrt(size / (double)from->n);
    for (int64_t i = 0; i < from->n; i++)
        hn_store_f64(to->dtype, to->data, i,
                     hn_tensor_f64(from, i) + damage * size * hn_rng_normal(rng));
    hn_value_set_constant(v, to);
}

void two_models_damage(two_models *t, hn_model *m, unsigned seed, int n, const char *const *nodes,
                       double damage) {
    hn_error err;
    hn_rng rng;
    *t = (two_models){.a = m};
    hn_rng_init(&rng, seed);
    assert_int_equal(hn_model_clone(&t->b, m, &scratch_mem, &err), HONE_OK);
    for (int i = 0; i < n; i++)
        for (hn_node *k = t->b->graph->first; k != NULL; k = k->next)
            if (strcmp(k->name, nodes[i]) == 0) damage_weight(k, &rng, damage);
    assert_int_equal(hn_model_infer(t->b, NULL, &err), HONE_OK);
    make_ready(t);
}

hn_model *two_models_load(const char *path) {
    hn_error err;
    hn_model *m;
    hone_status status = hn_onnx_load(&m, path, NULL, &scratch_mem, &err);
    if (status == HONE_OK) status = hn_model_infer(m, NULL, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
    return m;
}

void two_models_chain(two_models *t, unsigned seed, unsigned damaged, double damage) {
    static const char *const names[CHAIN_LAYERS] = {"fc1", "fc2", "fc3", "fc4", "fc5", "fc6"};
    const char *nodes[CHAIN_LAYERS];
    int n = 0;
    for (int i = 0; i < CHAIN_LAYERS; i++)
        if ((damaged >> i & 1) != 0) nodes[n++] = names[i];
    hn_model *m = two_models_load(HN_SOURCE_DIR "/tests/models/layers.onnx");
    two_models_damage(t, m, seed, n, nodes, damage);
}

void two_models_end(two_models *t) {
    hn_model_destroy(t->a);
    hn_model_destroy(t->b);
    hn_pool_destroy(t->pool);
}
