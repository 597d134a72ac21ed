/* Low rank: layers that have it are rebuilt exactly, each form by the weights it is made for; others
 * lose what is asked and no more; samples make it less; what cannot get smaller stays. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compress/compression.h"
#include "ops/infer.h"
#include "ops/nodes.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* ---- running it ---- */

typedef struct outcome {
    hn_model *model;
    hn_shrinking told;
    int64_t changed;
} outcome;

static hone_status factorize(outcome *o, const hn_model *m, const char *parameters, bool samples,
                             int threads, hn_error *err) {
    hn_arena arena;
    hn_recipe r;
    method_bench b;
    char text[200];
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    snprintf(text, sizeof text, "hone recipe 2; factorize %s", parameters);
    if (hn_recipe_read(&r, text, &arena, err) != HONE_OK) fail_msg("%s", err->text);
    o->model = method_copy(m);
    hn_shrinking_init(&o->told, &scratch_mem);
    method_begin(&b, o->model);
    hn_pool_destroy(b.pool);
    assert_int_equal(hn_pool_create(&b.pool, threads, &scratch_mem, err), HONE_OK);
    b.how.engine.pool = b.pool;
    b.c.step = &r.steps[0];
    b.c.shrinking = &o->told;
    if (!samples) b.c.feed = NULL;
    hone_status status = hn_transform_factorize(&b.c, err);
    o->changed = b.c.changed;
    if (!samples) b.c.feed = b.feed;
    method_end(&b);
    hn_arena_deinit(&arena);
    return status;
}

static void finish(outcome *o) {
    hn_model_destroy(o->model);
    hn_shrinking_deinit(&o->told);
}

static outcome made(const hn_model *m, const char *parameters, bool samples) {
    outcome o;
    hn_error err;
    if (factorize(&o, m, parameters, samples, 1, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_infer(o.model, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(o.model, &err) != HONE_OK) fail_msg("%s", err.text);
    return o;
}

static int64_t weights_of(const hn_model *m) {
    int64_t sum = 0;
    for (int i = 0; i < m->graph->n_values; i++) {
        const hn_value *v = m->graph->values[i];
        if (!v->dead && v->constant != NULL) sum += v->constant->n;
    }
    return sum;
}

static const hn_node *node_named(const hn_model *m, const char *name) {
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next)
        if (strcmp(n->name, name) == 0) return n;
    return NULL;
}

/* ---- weights of known rank ---- */

/* w[a, b, c, d] as a sum of `rank` products of what the form separates. */
typedef enum kind { CHANNEL, SPATIAL, TUCKER, SEPARABLE } kind;

static double number(uint64_t a, uint64_t b, uint64_t c, uint64_t seed) {
    hn_rng rng;
    hn_rng_init(&rng, ((a * 131 + b) * 131 + c) * 131 + seed);
    return hn_rng_normal(&rng);
}

static double element(kind k, int64_t rank, const int64_t i[4]) {
    uint64_t o = (uint64_t)i[0], c = (uint64_t)i[1], y = (uint64_t)i[2], x = (uint64_t)i[3];
    double sum = 0;
    if (k == SEPARABLE) return number(o, y, 0, 1) * number(o, x, 0, 2);
    for (uint64_t r = 0; r < (uint64_t)rank; r++) {
        if (k == CHANNEL) sum += number(o, r, 0, 1) * number(c, y * 8 + x, r, 2);
        if (k == SPATIAL) sum += number(o, x, r, 1) * number(c, y, r, 2);
        for (uint64_t q = 0; k == TUCKER && q < (uint64_t)rank; q++)
            sum += number(o, r, 0, 1) * number(c, q, 0, 2) * number(r, q, y * 8 + x, 3);
    }
    return sum;
}

static void give_rank(hn_model *m, const char *name, kind k, int64_t rank) {
    const hn_tensor *t = hn_graph_value(m->graph, name)->constant;
    float *w = method_weight(m, name);
    int64_t dims[4] = {1, 1, 1, 1};
    for (int d = 0; d < t->rank; d++) dims[d] = t->dims[d];
    for (int64_t e = 0; e < t->n; e++) {
        int64_t i[4], rest = e;
        for (int d = 4; d-- > 0; rest /= dims[d]) i[d] = rest % dims[d];
        w[e] = (float)element(k, rank, i);
    }
}

/* The layer of rank 2 is rebuilt to the bound of f32, with and without samples, in fewer weights. */
static void is_rebuilt(const char *text, kind k, const char *form, int links) {
    hn_model *m = method_model(text, 3);
    char parameters[64], name[16];
    give_rank(m, "w", k, 2);
    snprintf(parameters, sizeof parameters, "energy=0.9999999 multiple=1 form=%s", form);
    for (int samples = 0; samples < 2; samples++) {
        outcome o = made(m, parameters, samples);
        if (o.changed != 1) fail_msg("%s: %s", form, o.told.v[0].why_not);
        method_same(m, o.model, 1e-5);
        assert_true(weights_of(o.model) < weights_of(m));
        assert_int_equal(o.told.n, 1);
        assert_true(o.told.v[0].error < 1e-6);
        for (int i = 0; i <= links; i++) {
            snprintf(name, sizeof name, "layer/%d", i);
            assert_true((node_named(o.model, name) != NULL) == (i < links));
        }
        assert_null(node_named(o.model, "layer"));
        finish(&o);
    }
    hn_model_destroy(m);
}

static void low_rank_is_found(void **state) {
    (void)state;
    is_rebuilt("m (float[n,12] x, float[12,20] w) => (float[n,20] y) { [layer] y = MatMul (x, w) }",
               CHANNEL, "channel", 2);
    is_rebuilt(
        "m (float[n,7,12] x, float[12,20] w, float[20] wb) => (float[n,7,20] y) {"
        " [layer] a = MatMul (x, w) y = Add (a, wb) }",
        CHANNEL, "auto", 2);
    is_rebuilt(
        "m (float[n,20] x, float[12,20] w, float[12] wb) => (float[n,12] y) {"
        " [layer] y = Gemm <transB = 1, alpha = 0.5, beta = 2.0> (x, w, wb) }",
        CHANNEL, "auto", 2);
    is_rebuilt(
        "m (float[n,20] x, float[12,20] w) => (float[n,12] y) {"
        " t = Transpose <perm = [1, 0]> (w) [layer] y = Gemm (x, t) }",
        CHANNEL, "auto", 2);
    is_rebuilt(
        "m (float[n,6,9,11] x, float[10,6,3,3] w, float[10] wb) => (float[n,10,p,q] y) {"
        " [layer] y = Conv <strides = [2, 1], pads = [1, 0, 2, 1], dilations = [1, 2]>"
        " (x, w, wb) }",
        CHANNEL, "channel", 2);
    is_rebuilt(
        "m (float[n,6,9,11] x, float[10,6,3,5] w) => (float[n,10,p,q] y) {"
        " [layer] y = Conv <strides = [2, 3], pads = [1, 0, 2, 1], dilations = [2, 1]>"
        " (x, w) }",
        SPATIAL, "spatial", 2);
    is_rebuilt(
        "m (float[n,6,9,11] x, float[10,6,3,3] w) => (float[n,10,p,q] y) {"
        " [layer] y = Conv <strides = [2, 2], auto_pad = \"SAME_UPPER\"> (x, w) }",
        SPATIAL, "spatial", 2);
    is_rebuilt(
        "m (float[n,8,9,11] x, float[12,8,3,3] w, float[12] wb) => (float[n,12,p,q] y) {"
        " [layer] y = Conv <pads = [1, 1, 1, 1]> (x, w, wb) }",
        TUCKER, "tucker", 3);
    is_rebuilt(
        "m (float[n,8,40] x, float[12,8,5] w) => (float[n,12,p] y) {"
        " [layer] y = Conv <pads = [2, 2], strides = [2]> (x, w) }",
        TUCKER, "tucker", 3);
    is_rebuilt(
        "m (float[n,6,9,11] x, float[6,1,5,3] w, float[6] wb) => (float[n,6,p,q] y) {"
        " [layer] y = Conv <group = 6, strides = [1, 2], pads = [2, 1, 1, 0]> (x, w, wb) }",
        SEPARABLE, "separable", 2);
}

/* Of all forms that rebuild a layer, the one with the fewest multiplications is taken. */
static void the_cheapest_form_is_taken(void **state) {
    (void)state;
    const char *text =
        "m (float[n,8,9,9] x, float[12,8,3,3] w) => (float[n,12,p,q] y) {"
        " [layer] y = Conv (x, w) }";
    const struct {
        kind k;
        const char *what;
    } want[] = {{SPATIAL, "spatial, rank 2"}, {TUCKER, "tucker, ranks 2 and 2"}};
    for (int i = 0; i < 2; i++) {
        hn_model *m = method_model(text, 1);
        give_rank(m, "w", want[i].k, 2);
        outcome o = made(m, "energy=0.9999999 multiple=1", false);
        assert_int_equal(strncmp(o.told.v[0].what, want[i].what, strlen(want[i].what)), 0);
        method_same(m, o.model, 1e-5);
        finish(&o);
        hn_model_destroy(m);
    }
}

/* ---- how much goes ---- */

#define TWO_LAYERS                                                                        \
    "m (float[n,6,10,10] x, float[24,6,3,3] w1, float[24,24,3,3] w2, float[24] wb,"       \
    " float[24,40] w3) => (float[n,40] y) { [one] a = Conv <pads = [1, 1, 1, 1]> (x, w1)" \
    " b = Relu (a) [two] c = Conv (b, w2, wb) d = Relu (c) e = GlobalAveragePool (d)"     \
    " f = Flatten (e) [three] y = MatMul (f, w3) }"

static void more_energy_leaves_less_error(void **state) {
    (void)state;
    const char *const energies[] = {"energy=0.3", "energy=0.6", "energy=0.85", "energy=0.97"};
    hn_model *m = method_model(TWO_LAYERS, 2);
    double limit[] = {0.7, 0.4, 0.15, 0.03}, last = INFINITY;
    int64_t weights = 0;
    for (int i = 0; i < 4; i++) {
        outcome o = made(m, energies[i], true);
        double error = method_distance(m, o.model);
        assert_true(error < last);
        assert_true(weights_of(o.model) >= weights);
        for (int k = 0; k < o.told.n; k++)
            if (o.told.v[k].what != NULL) {
                assert_true(o.told.v[k].error <= limit[i]);
                assert_true(o.told.v[k].kept < o.told.v[k].weights);
            }
        assert_int_equal(o.told.n, 3);
        last = error;
        weights = weights_of(o.model);
        finish(&o);
    }
    hn_model_destroy(m);
}

/* What reaches a layer is uneven, and has a mean: cut by that, the outputs of the model are off by
 * less. */
static void samples_leave_less_error(void **state) {
    (void)state;
    const char *const ways[] = {"rank=4 only=two form=channel", "rank=6 only=three",
                                "rank-share=0.25 only=two", "rank=5 only=two form=tucker"};
    hn_model *m = method_model(TWO_LAYERS, 2);
    for (int i = 0; i < 4; i++) {
        outcome with = made(m, ways[i], true), without = made(m, ways[i], false);
        assert_int_equal(with.changed, 1);
        assert_int_equal(without.changed, 1);
        double a = method_distance(m, with.model), b = method_distance(m, without.model);
        if (!(a < 0.8 * b)) fail_msg("%s: %g with samples, %g without", ways[i], a, b);
        finish(&with);
        finish(&without);
    }
    hn_model_destroy(m);
}

/* A rank that is set is the rank there is; other forms take no more multiplications than it, and one
 * that suits the weights leaves less error. */
static void ranks_are_what_was_asked(void **state) {
    (void)state;
    hn_model *m = method_model(TWO_LAYERS, 2);
    give_rank(m, "w2", SPATIAL, 7);
    outcome o = made(m, "rank=5 form=channel", false);
    const hn_tensor *w = hn_const_in(node_named(o.model, "two/0"), 1);
    assert_int_equal(w->dims[0], 5);
    assert_int_equal(o.told.v[1].kept, 5 * (24 * 9 + 24));
    assert_int_equal(hn_const_in(node_named(o.model, "three/1"), 1)->dims[0], 5);
    outcome any = made(m, "rank=5", false);
    for (int i = 0; i < 3; i++) {
        assert_true(any.told.v[i].kept <= o.told.v[i].kept);
        assert_true(any.told.v[i].error <= o.told.v[i].error);
    }
    assert_true(any.told.v[1].error < o.told.v[1].error);
    finish(&o);
    finish(&any);
    o = made(m, "energy=0.2 multiple=4 form=channel only=two", false);
    assert_int_equal(hn_const_in(node_named(o.model, "two/0"), 1)->dims[0] % 4, 0);
    finish(&o);
    hn_model_destroy(m);
}

/* The mean of the outputs is that of the layer: its bias, or the Add behind it, takes the error. */
static void the_mean_stays(void **state) {
    (void)state;
    const char *const texts[] = {
        "m (float[n,9] x, float[9,16] w1, float[16,12] w, float[12] wb) => (float[n,12] y) {"
        " [first] a = MatMul (x, w1) b = Relu (a) [layer] c = MatMul (b, w) y = Add (wb, c) }",
        "m (float[n,9] x, float[9,16] w1, float[16,12] w) => (float[n,12] y) {"
        " [first] a = MatMul (x, w1) b = Relu (a) [layer] y = Gemm <beta = 0.0, alpha = 3.0> (b, w)"
        " }",
        "m (float[n,9] x, float[9,16] w1, float[16,12] w, float[12] wb) => (float[n,12] y) {"
        " [first] a = MatMul (x, w1) b = Relu (a) [layer] y = Gemm <beta = 0.5> (b, w, wb) }"};
    for (int i = 0; i < 3; i++) {
        hn_model *m = method_model(texts[i], 4);
        outcome o = made(m, "rank=2 only=layer", true);
        const hn_node *last = node_named(o.model, "layer/1");
        const hn_node *at = i == 0 ? hn_graph_value(o.model->graph, "y")->producer : last;
        const hn_tensor *bias = hn_const_in(at, i == 0 ? 0 : 2);
        assert_non_null(bias);
        double moved = 0;
        const float *was = i == 1 ? NULL : method_weight(m, "wb");
        for (int64_t k = 0; k < 12; k++)
            moved += fabs(hn_tensor_f64(bias, k) - (was != NULL ? (double)was[k] : 0));
        assert_true(moved > 0.01);
        if (i > 0) assert_true(hn_attr_f(last, "beta") > 0.4f);
        finish(&o);
        hn_model_destroy(m);
    }
}

/* ---- what stays ---- */

static void stays(const char *text, const char *parameters, const char *why) {
    hn_model *m = method_model(text, 5);
    outcome o = made(m, parameters, true);
    assert_int_equal(o.changed, 0);
    assert_null(o.told.v[0].what);
    assert_string_equal(o.told.v[0].why_not, why);
    method_same(m, o.model, 0);
    finish(&o);
    hn_model_destroy(m);
}

static void what_gets_no_smaller_stays(void **state) {
    (void)state;
    stays("m (float[n,8] x, float[8,8] w) => (float[n,8] y) { y = MatMul (x, w) }", "rank=4",
          "rank 4 of 8 takes no fewer weights and MACs");
    stays("m (float[n,8] x, float[8,8] w) => (float[n,8] y) { y = MatMul (x, w) }", "energy=1",
          "rank 8 of 8 takes no fewer weights and MACs");
    stays(
        "m (float[n,8] x, float[8,8] w) => (float[n,8] z) { y = MatMul (x, w) z = MatMul (y, w) }",
        "rank=1", "other nodes read its weight");
    stays("m (float[n,2,3,8] x, float[2,8,8] w) => (float[n,2,3,8] y) { y = MatMul (x, w) }",
          "rank=1", "its weight is several matrices");
    stays(
        "m (float[n,8,6,6] x, float[8,4,3,3] w) => (float[n,8,4,4] y) {"
        " y = Conv <group = 2> (x, w) }",
        "rank=1", "a convolution in groups");
    stays(
        "m (float[n,8,6,6] x, float[8,1,3,3] w) => (float[n,8,4,4] y) {"
        " y = Conv <group = 8> (x, w) }",
        "rank=1", "a depthwise convolution has no rank to set, only an energy");
    stays(
        "m (float[n,8,6,6] x, float[8,1,3,3] w) => (float[n,8,4,4] y) {"
        " y = Conv <group = 8> (x, w) }",
        "energy=0.999", "its smaller forms lose more than the energy allows");
    stays(
        "m (float[n,8,6,6] x, float[8,1,1,5] w) => (float[n,8,6,2] y) {"
        " y = Conv <group = 8> (x, w) }",
        "energy=0.1", "it has no form of lower rank");
    stays(
        "m (float[n,8,6,6] x, float[8,4,3,3] w) => (float[n,4,8,8] y) {"
        " y = ConvTranspose (x, w) }",
        "rank=1", "there is no such form of its operator");
}

static void weights_that_are_not_finite_stay(void **state) {
    (void)state;
    hn_model *m = method_model(TWO_LAYERS, 2);
    method_weight(m, "w2")[7] = NAN;
    outcome o = made(m, "rank=2", false);
    assert_string_equal(o.told.v[1].why_not, "its weights are not all finite");
    assert_int_equal(o.changed, 2);
    finish(&o);
    hn_model_destroy(m);
}

static void zeros_become_a_layer_of_rank_1(void **state) {
    (void)state;
    hn_model *m = method_model(TWO_LAYERS, 2);
    memset(method_weight(m, "w3"), 0, 24 * 40 * sizeof(float));
    for (int samples = 0; samples < 2; samples++) {
        outcome o = made(m, "only=three multiple=1", samples);
        assert_int_equal(o.changed, 1);
        assert_int_equal(o.told.v[0].kept, 24 + 40);
        assert_true(fabs(o.told.v[0].error) <= 0);
        finish(&o);
    }
    hn_model_destroy(m);
}

static void ways_exclude_each_other(void **state) {
    (void)state;
    hn_model *m = method_model(TWO_LAYERS, 2);
    outcome o;
    hn_error err;
    assert_int_equal(factorize(&o, m, "rank=2 energy=0.5", false, 1, &err), HONE_E_ARG);
    assert_string_equal(err.text,
                        "ranks are set in 2 ways, expected one of: energy, rank, "
                        "rank-share, latency");
    finish(&o);
    hn_model_destroy(m);
}

/* A rule for some layers leaves the others alone, unless a rank is set for them too. */
static void layers_have_ranks_of_their_own(void **state) {
    (void)state;
    hn_model *m = method_model(TWO_LAYERS, 2);
    outcome o = made(m, "layer-rank:t*=3 layer-rank:*ee=6 form=channel", false);
    assert_int_equal(o.changed, 2);
    assert_int_equal(o.told.n, 2);
    assert_int_equal(o.told.v[0].kept, 3 * (24 * 9 + 24));
    assert_int_equal(o.told.v[1].kept, 6 * (24 + 40));
    finish(&o);
    o = made(m, "layer-rank:t*=3 rank=2 form=channel", false);
    assert_int_equal(o.changed, 3);
    assert_int_equal(o.told.v[0].kept, 2 * (6 * 9 + 24));
    assert_int_equal(o.told.v[1].kept, 3 * (24 * 9 + 24));
    finish(&o);
    hn_model_destroy(m);
}

/* Products that are large enough to be timed get ranks by time, or stay with both times; the recipe
 * of what was done makes the same model without timing anything. */
static void ranks_by_time_stand_in_the_recipe(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,128] x, float[128,256] w1, float[256,128] w2,"
        " float[8,128] w3) => (float[n,8] y) { [one] a = MatMul (x, w1)"
        " b = Relu (a) [two] c = MatMul (b, w2)"
        " [three] y = Gemm <transB = 1> (c, w3) }",
        2);
    hn_arena arena;
    hn_recipe r;
    hn_compressed c[2];
    method_bench b;
    hn_error err;
    char *text;
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    method_begin(&b, m);
    hn_compress_options o = {.data = b.data, .how = b.how};
    assert_int_equal(
        hn_recipe_read(&r, "hone recipe 2; factorize latency=5 multiple=1", &arena, &err), HONE_OK);
    for (int i = 0; i < 2; i++) {
        if (hn_compress(&c[i], &r, m, &o, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_int_equal(hn_recipe_write(&r, true, &arena, &text, &err), HONE_OK);
        assert_null(strstr(text, "latency"));
        assert_int_equal(hn_recipe_read(&r, text, &arena, &err), HONE_OK);
    }
    assert_non_null(strstr(text, "form=channel"));
    int faster = 0;
    for (int i = 0; i < c[0].shrinking.n; i++) {
        const hn_shrunk_layer *l = &c[0].shrinking.v[i];
        faster += l->what != NULL;
        if (l->what != NULL) assert_non_null(strstr(l->what, " ms"));
    }
    assert_int_equal(c[0].shrinking.n, 3);
    assert_int_equal(c[0].changed[0], faster);
    assert_int_equal(c[1].changed[0], faster);
    const hn_graph *g = c[0].model->graph, *h = c[1].model->graph;
    for (int k = 0; k < g->n_values; k++) {
        const hn_value *v = g->values[k];
        const hn_value *twin = v->dead ? NULL : hn_graph_value(h, v->name);
        if (v->dead || v->constant == NULL) continue;
        assert_true(twin != NULL && hn_tensor_equal(v->constant, twin->constant));
    }
    for (int i = 0; i < 2; i++) hn_compressed_deinit(&c[i]);
    method_end(&b);
    hn_arena_deinit(&arena);
    hn_model_destroy(m);
}

static void threads_change_no_bit(void **state) {
    (void)state;
    hn_model *m = method_model(TWO_LAYERS, 2);
    outcome o[3];
    hn_error err;
    for (int i = 0; i < 3; i++)
        assert_int_equal(factorize(&o[i], m, "energy=0.6", true, 1 << i, &err), HONE_OK);
    const hn_graph *a = o[0].model->graph;
    assert_true(o[0].changed > 1);
    for (int i = 1; i < 3; i++) {
        const hn_graph *b = o[i].model->graph;
        assert_int_equal(a->n_values, b->n_values);
        for (int k = 0; k < a->n_values; k++) {
            const hn_tensor *x = a->values[k]->constant, *y = b->values[k]->constant;
            if (!a->values[k]->dead && x != NULL) assert_true(hn_tensor_equal(x, y));
        }
        finish(&o[i]);
    }
    finish(&o[0]);
    hn_model_destroy(m);
}

static void memory_runs_out(void **state) {
    (void)state;
    const struct {
        const char *text;
        kind k;
    } models[] = {
        {"m (float[n,6] x, float[6,12] w, float[12] wb) => (float[n,12] y) {"
         " a = MatMul (x, w) y = Add (a, wb) }",
         CHANNEL},
        {"m (float[n,3,6,6] x, float[6,3,3,3] w) => (float[n,6,2,4] y) {"
         " y = Conv <strides = [2, 1]> (x, w) }",
         SPATIAL},
        {"m (float[n,2,6,6] x, float[2,1,5,5] w) => (float[n,2,2,2] y) {"
         " y = Conv <group = 2> (x, w) }",
         SEPARABLE},
    };
    for (int i = 0; i < 3; i++) {
        hn_model *m = method_model(models[i].text, 6);
        give_rank(m, "w", models[i].k, 1);
        outcome o = made(m, "energy=0.9", true);
        assert_int_equal(o.changed, 1);
        finish(&o);
        method_survives(m, hn_transform_factorize);
        hn_model_destroy(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
        TEST(low_rank_is_found),
        TEST(the_cheapest_form_is_taken),
        TEST(more_energy_leaves_less_error),
        TEST(samples_leave_less_error),
        TEST(ranks_are_what_was_asked),
        TEST(the_mean_stays),
        TEST(what_gets_no_smaller_stays),
        TEST(weights_that_are_not_finite_stay),
        TEST(zeros_become_a_layer_of_rank_1),
        TEST(ways_exclude_each_other),
        TEST(layers_have_ranks_of_their_own),
        TEST(ranks_by_time_stand_in_the_recipe),
        TEST(threads_change_no_bit),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
