#include "compress/channel_groups.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "ops/infer.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* A step of a recipe on a model of the tests. */
typedef struct bench {
    hn_arena arena;
    hn_recipe recipe;
    method_bench b;
    hn_shrinking told;
} bench;

static void begin(bench *t, hn_model *m, const char *line) {
    char text[300];
    hn_error err;
    hn_arena_init(&t->arena, &scratch_mem, HN_MEM_OTHER);
    snprintf(text, sizeof text, "hone recipe 2\n%s\n", line);
    if (hn_recipe_read(&t->recipe, text, &t->arena, &err) != HONE_OK) fail_msg("%s", err.text);
    method_begin(&t->b, m);
    hn_shrinking_init(&t->told, &scratch_mem);
    t->b.c.shrinking = &t->told;
    t->b.c.step = &t->recipe.steps[0];
}

static hone_status run(bench *t, hn_model *m, const char *line, hn_error *err) {
    begin(t, m, line);
    return hn_transform_prune(&t->b.c, err);
}

static void end(bench *t) {
    hn_shrinking_deinit(&t->told);
    method_end(&t->b);
    hn_arena_deinit(&t->arena);
}

static void good(bench *t, hn_model *m, const char *line) {
    hn_error err;
    if (run(t, m, line, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
}

static int64_t size(const hn_model *m, const char *value, int axis) {
    int64_t n = -1;
    const hn_value *v = hn_graph_value(m->graph, value);
    if (v == NULL) fail_msg("no value '%s'", value);
    assert_true(hn_dim_is_const(v->type.shape.dim[axis], &n));
    return n;
}

/* ---- couplings ---- */

typedef struct coupling {
    const char *name, *text, *line;
    const char *value; /* whose axis is that size afterwards */
    int axis;
    int64_t left;
} coupling;

#define HALF "prune kind=channels sparsity=0.5 align=1"
#define HEADS "prune kind=heads sparsity=0.5"
#define IN "(float[n,3,8,8] x, float[8,3,3,3] w1, float[8] wb, "

static const coupling couplings[] = {
    {"a convolution after another",
     "m " IN "float[5,8,1,1] w2) => (float[n,5,6,6] y)"
     "{ a = Conv (x, w1, wb) r = Relu (a) y = Conv (r, w2) }",
     HALF, "a", 1, 4},
    {"a residual sum",
     "m " IN "float[8,8,1,1] w2, float[2,8,1,1] w3) => (float[n,2,6,6] y)"
     "{ a = Conv (x, w1, wb) b = Conv (a, w2) s = Add (a, b) y = Conv (s, w3) }",
     HALF, "s", 1, 4},
    {"normalization, pooling and constants along the axis",
     "m " IN "float[8] ws, float[8,1,1] wc, float[2,8,1,1] w3) => (float[n,2,1,1] y)"
     "<float[8] v = {1, 2, 3, 4, 5, 6, 7, 8}>"
     "{ a = Conv (x, w1) b = BatchNormalization (a, ws, wb, wb, v) p = MaxPool <kernel_shape = "
     "[2, 2]> (b) c = Mul (p, wc) d = PRelu (c, wc) g = GlobalAveragePool (d) y = Conv (g, w3) }",
     HALF, "d", 1, 4},
    {"a depthwise convolution",
     "m " IN "float[8,1,3,3] w2, float[2,8,1,1] w3) => (float[n,2,4,4] y)"
     "{ a = Conv (x, w1) b = Conv <group = 8> (a, w2, wb) y = Conv (b, w3) }",
     HALF, "b", 1, 4},
    {"a depthwise convolution that makes two of each",
     "m " IN "float[16,1,3,3] w2, float[2,16,1,1] w3) => (float[n,2,4,4] y)"
     "{ a = Conv (x, w1, wb) b = Conv <group = 8> (a, w2) y = Conv (b, w3) }",
     HALF, "b", 1, 8},
    {"groups shrink together",
     "m " IN "float[12,4,1,1] w2, float[2,12,1,1] w3) => (float[n,2,6,6] y)"
     "{ a = Conv (x, w1, wb) b = Conv <group = 2> (a, w2) y = Conv (b, w3) }",
     HALF, "b", 1, 6},
    {"a transposed convolution",
     "m " IN "float[8,6,2,2] w2, float[2,6,1,1] w3) => (float[n,2,7,7] y)"
     "{ a = Conv (x, w1, wb) b = ConvTranspose (a, w2) y = Conv (b, w3) }",
     HALF, "b", 1, 3},
    {"a transposed convolution of single channels",
     "m " IN "float[8,1,2,2] w2, float[2,8,1,1] w3) => (float[n,2,7,7] y)"
     "{ a = Conv (x, w1, wb) b = ConvTranspose <group = 8> (a, w2) y = Conv (b, w3) }",
     HALF, "b", 1, 4},
    {"channels that are joined and parted",
     "m " IN "float[4,3,3,3] w2, float[3,6,1,1] w3, float[3,6,1,1] w4) => (float[n,3,6,6] y)"
     "<int64[2] parts = {6, 6}>"
     "{ a = Conv (x, w1, wb) b = Conv (x, w2) j = Concat <axis = 1> (a, b) p, q = Split <axis = 1> "
     "(j, parts) c = Conv (p, w3) d = Conv (q, w4) y = Mul (c, d) }",
     HALF, "j", 1, 6},
    {"equal parts without sizes",
     "m " IN "float[3,4,1,1] w3, float[3,4,1,1] w4) => (float[n,3,6,6] y)"
     "{ a = Conv (x, w1, wb) p, q = Split <axis = 1, num_outputs = 2> (a) c = Conv (p, w3) "
     "d = Conv (q, w4) y = Mul (c, d) }",
     HALF, "a", 1, 4},
    {"a slice of the channels",
     "m " IN "float[3,5,1,1] w3, float[3,8,1,1] w4) => (float[n,3,6,6] y)"
     "<int64[1] from = {2}, int64[1] to = {-1}, int64[1] axes = {1}>"
     "{ a = Conv (x, w1, wb) s = Slice (a, from, to, axes) c = Conv (s, w3) d = Conv (a, w4) "
     "y = Mul (c, d) }",
     HALF, "a", 1, 4},
    {"channels that are shuffled go in pairs",
     "m " IN "float[3,8,1,1] w3) => (float[n,3,6,6] y)"
     "<int64[5] apart = {-1, 2, 4, 6, 6}, int64[4] flat = {-1, 8, 6, 6}>"
     "{ a = Conv (x, w1, wb) r = Reshape (a, apart) t = Transpose <perm = [0, 2, 1, 3, 4]> (r) "
     "f = Reshape (t, flat) y = Conv (f, w3) }",
     HALF, "t", 1, 2},
    {"a channel becomes several columns",
     "m " IN "float[72,3] w3) => (float[n,3] y)"
     "{ a = Conv <strides = [2, 2]> (x, w1, wb) f = Flatten (a) y = MatMul (f, w3) }",
     HALF, "f", 1, 36},
    {"depth to space",
     "m " IN "float[3,2,1,1] w3) => (float[n,3,12,12] y)"
     "{ a = Conv (x, w1, wb) d = DepthToSpace <blocksize = 2> (a) y = Conv (d, w3) }",
     HALF, "a", 1, 4},
    {"channels that a Pad puts there",
     "m " IN "float[12,3,3,3] w2, float[3,12,1,1] w3) => (float[n,3,6,6] y)"
     "<int64[8] pads = {0, 2, 0, 0, 0, 2, 0, 0}>"
     "{ a = Conv (x, w1, wb) p = Pad (a, pads) b = Conv (x, w2) s = Add (p, b) y = Conv (s, w3) }",
     HALF, "s", 1, 6},
    {"widths of a group are those of its widest layer",
     "m " IN "float[12,3,3,3] w2, float[3,12,1,1] w3) => (float[n,3,6,6] y)"
     "<int64[8] pads = {0, 2, 0, 0, 0, 2, 0, 0}>"
     "{ a = Conv (x, w1, wb) p = Pad (a, pads) b = Conv (x, w2) s = Add (p, b) y = Conv (s, w3) }",
     "prune kind=channels sparsity=0.9 align=8", "s", 1, 8},
    {"borders and larger images",
     "m " IN "float[3,8,1,1] w3) => (float[n,3,16,16] y)"
     "<int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}, float[4] scales = {1, 1, 2, 2}>"
     "{ a = Conv (x, w1, wb) p = Pad (a, pads) u = Resize (p, , scales) y = Conv (u, w3) }",
     HALF, "u", 1, 4},
    {"gates of channels",
     "m " IN "float[8,4] wi, float[4,8] wo, float[3,8,1,1] w3) => (float[n,3,6,6] y)"
     "<int64[2] axes = {2, 3}, int64[4] back = {-1, 8, 1, 1}>"
     "{ a = Conv (x, w1, wb) m = ReduceMean <keepdims = 0> (a, axes) h = MatMul (m, wi) "
     "i = Relu (h) o = MatMul (i, wo) g = Sigmoid (o) f = Reshape (g, back) s = Mul (a, f) "
     "y = Conv (s, w3) }",
     HALF, "s", 1, 4},
    {"hidden units of a Gemm",
     "m (float[n,6] x, float[8,6] w1, float[8] wb, float[8,3] w2) => (float[n,3] y)"
     "{ a = Gemm <transB = 1, alpha = 2.0> (x, w1, wb) r = Tanh (a) y = Gemm (r, w2) }",
     HALF, "r", 1, 4},
    {"one value for several outputs",
     "m " IN "float[2,8,1,1] w2, float[4,8,1,1] w3) => (float[n,2,6,6] y, float[n,4,6,6] z)"
     "{ a = Conv (x, w1, wb) y = Conv (a, w2) z = Conv (a, w3) }",
     HALF, "a", 1, 4},
    {"shapes that are put together",
     "m " IN "float[3,8,1,1] w3) => (float[n,3,6,6] y)"
     "<int64[1] zero = {0}, int64[2] apart = {2, 4}, int64[1] eight = {8}, int64[2] image = {6, 6}>"
     "{ a = Conv (x, w1, wb) s = Shape (x) b = Gather (s, zero) k = Concat <axis = 0> (b, apart, "
     "image) r = Reshape (a, k) t = Transpose <perm = [0, 2, 1, 3, 4]> (r) l = Concat <axis = 0> "
     "(b, eight, image) f = Reshape (t, l) y = Conv (f, w3) }",
     HALF, "t", 1, 2},
    {"heads of attention",
     "m (float[n,5,6] x, float[6,12] wq, float[6,12] wk, float[6,12] wv, float[12,6] wo) =>"
     "(float[n,5,6] y) <int64[4] heads = {0, 0, 4, 3}, int64[3] flat = {0, 0, 12}>"
     "{ q = MatMul (x, wq) k = MatMul (x, wk) v = MatMul (x, wv) "
     "q1 = Reshape (q, heads) k1 = Reshape (k, heads) v1 = Reshape (v, heads) "
     "q2 = Transpose <perm = [0, 2, 1, 3]> (q1) k2 = Transpose <perm = [0, 2, 3, 1]> (k1) "
     "v2 = Transpose <perm = [0, 2, 1, 3]> (v1) a = MatMul (q2, k2) p = Softmax (a) "
     "c = MatMul (p, v2) t = Transpose <perm = [0, 2, 1, 3]> (c) f = Reshape (t, flat) "
     "y = MatMul (f, wo) }",
     HEADS, "f", 2, 6},
};

/* What is taken out gives what zeros in its place give, and the model is as small as it should be.
 */
static void what_goes_together_goes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof couplings / sizeof *couplings; i++) {
        const coupling *c = &couplings[i];
        char line[200];
        bench t;
        print_message("%s\n", c->name);
        hn_model *m = method_model(c->text, i), *masked = method_copy(m);
        int64_t before = size(m, c->value, c->axis);
        good(&t, m, c->line);
        assert_true(t.b.c.changed > 0);
        end(&t);
        assert_int_equal(size(m, c->value, c->axis), c->left);
        snprintf(line, sizeof line, "%s keep-shapes", c->line);
        good(&t, masked, line);
        assert_true(t.told.n_kept > 0);
        end(&t);
        assert_int_equal(size(masked, c->value, c->axis), before);
        method_same(masked, m, 1e-5);
        hn_model_destroy(m);
        hn_model_destroy(masked);
    }
}

/* ---- what stays ---- */

typedef struct staying {
    const char *name, *text, *why;
} staying;

static const staying stayings[] = {
    {"an output of the model",
     "m " IN "float[2,8,1,1] w2) => (float[n,8,6,6] y)"
     "{ y = Conv (x, w1, wb) }",
     "output of the model"},
    {"a softmax over the channels",
     "m " IN "float[2,8,1,1] w2) => (float[n,2,6,6] y)"
     "{ a = Conv (x, w1, wb) s = Softmax <axis = 1> (a) y = Conv (s, w2) }",
     "mixes them"},
    {"a sum with an input of the model",
     "m (float[n,8,6,6] x, float[8,8,1,1] w1, float[2,8,1,1] w2) => (float[n,2,6,6] y)"
     "{ a = Conv (x, w1) s = Add (a, x) y = Conv (s, w2) }",
     "no channels to take out"},
    {"a normalization over them",
     "m (float[n,4] x, float[4,8] w1, float[8] ws, float[8,2] w2) => (float[n,2] y)"
     "{ a = MatMul (x, w1) s = LayerNormalization (a, ws) y = MatMul (s, w2) }",
     "normalizes"},
    {"channels that are added up",
     "m " IN "float[2,1,1,1] w2) => (float[n,2,6,6] y) <int64[1] axes = {1}>"
     "{ a = Conv (x, w1, wb) s = ReduceMean (a, axes) y = Conv (s, w2) }",
     "sums them up"},
    {"weights that are computed",
     "m " IN "float[2,8,1,1] w2) => (float[n,2,6,6] y)"
     "{ a = Conv (x, w1, wb) r = Sin (w2) y = Conv (a, r) }",
     "weights that are computed"},
    {"an operator without a rule",
     "m " IN "float[2,8,1,1] w2) => (float[n,2,6,6] y)"
     "{ a = Conv (x, w1, wb) s = LRN <size = 3> (a) y = Conv (s, w2) }",
     "no rule"},
    {"a scalar product of computed values",
     "m (float[4,6] x, float[6,8] w1, float[6,8] w2) => (float[4,4] y)"
     "{ a = MatMul (x, w1) b = MatMul (x, w2) t = Transpose (b) y = MatMul (a, t) }",
     "output of the model"},
};

static void the_rest_stays_and_says_why(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof stayings / sizeof *stayings; i++) {
        const staying *s = &stayings[i];
        bench t;
        hn_channels c;
        hn_error err;
        print_message("%s\n", s->name);
        hn_model *m = method_model(s->text, i), *was = method_copy(m);
        if (hn_channels_find(&c, m, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_true(c.n_groups > 0 && c.n_units == 0);
        assert_non_null(c.groups[0].why);
        if (strstr(c.groups[0].why, s->why) == NULL) fail_msg("%s", c.groups[0].why);
        hn_channels_deinit(&c);
        good(&t, m, HALF);
        assert_int_equal(t.b.c.changed, 0);
        for (int k = 0; k < t.told.n; k++) assert_non_null(t.told.v[k].why_not);
        end(&t);
        method_same(was, m, 1e-6);
        hn_model_destroy(m);
        hn_model_destroy(was);
    }
}

/* ---- which go, and how many ---- */

#define PAIR                                                                         \
    "m (float[n,3,8,8] x, float[24,3,3,3] w1, float[24] wb, float[4,24,1,1] w2) => " \
    "(float[n,4,6,6] y) { a = Conv (x, w1, wb) r = Relu (a) y = Conv (r, w2) }"

static double slice_size(const float *w, int64_t i) {
    double sum = 0;
    for (int k = 0; k < 27; k++) sum += w[i * 27 + k] < 0 ? -w[i * 27 + k] : w[i * 27 + k];
    return sum;
}

static void the_smallest_go(void **state) {
    (void)state;
    hn_model *m = method_model(PAIR, 3), *was = method_copy(m);
    bench t;
    good(&t, m, "prune kind=channels sparsity=0.5 align=1");
    end(&t);
    assert_int_equal(size(m, "a", 1), 12);
    const float *w = method_weight(m, "w1"), *old = method_weight(was, "w1");
    double least = INFINITY;
    int larger = 0;
    for (int i = 0; i < 12; i++)
        if (slice_size(w, i) < least) least = slice_size(w, i);
    for (int i = 0; i < 24; i++) larger += slice_size(old, i) >= least;
    assert_int_equal(larger, 12);
    hn_model_destroy(m);
    hn_model_destroy(was);
}

static void widths_stay_multiples(void **state) {
    (void)state;
    const struct {
        const char *line;
        int64_t left;
    } cases[] = {
        {"prune kind=channels sparsity=0.25", 16},
        {"prune kind=channels sparsity=0.25 align=1", 18},
        {"prune kind=channels sparsity=0.5", 16},
        {"prune kind=channels sparsity=0.75 align=8", 8},
        {"prune kind=channels sparsity=0.95", 16},
        {"prune kind=channels sparsity=0.5 align=5", 10},
        {"prune kind=channels sparsity=0.999 align=1", 2},
        {"prune kind=channels max-macs=50% align=1", 12},
        {"prune kind=channels max-macs=60% align=4", 12},
        {"prune kind=channels scope=global sparsity=0.5 criterion=l2 align=1", 12},
        {"prune kind=channels sparsity=0.5 criterion=median align=1", 12},
        {"prune kind=channels sparsity=0.5 criterion=bn align=1", 12},
        {"prune kind=channels sparsity=0.5 except=a*", 24},
        {"prune kind=channels sparsity=0.5 only=a*", 16},
        {"prune kind=heads sparsity=0.5", 24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *m = method_model(PAIR, 3);
        bench t;
        good(&t, m, cases[i].line);
        end(&t);
        if (size(m, "a", 1) != cases[i].left)
            fail_msg("%s leaves %lld", cases[i].line, (long long)size(m, "a", 1));
        hn_model_destroy(m);
    }
}

/* Two layers that would take the same step at the same share: one of them is enough. */
static void no_more_goes_than_the_limit_asks(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,8,4,4] x, float[16,8,1,1] w1, float[16,16,1,1] w2, float[16,16,1,1] w3, "
        "float[2,16,1,1] w4) => (float[n,2,4,4] y)"
        "{ a = Conv (x, w1) b = Conv (a, w2) c = Conv (b, w3) y = Conv (c, w4) }",
        3);
    bench t;
    good(&t, m, "prune kind=channels max-macs=80% align=8");
    end(&t);
    int64_t widths[] = {size(m, "a", 1), size(m, "b", 1), size(m, "c", 1)}, narrow = 0;
    for (int i = 0; i < 3; i++) narrow += widths[i] == 8;
    assert_int_equal(narrow, 1);
    hn_model_destroy(m);
}

static void what_cannot_be_is_an_error(void **state) {
    (void)state;
    const struct {
        const char *line, *text;
    } cases[] = {
        {"prune kind=channels max-macs=1%", "are left"},
        {"prune kind=channels max-macs=0%", "expected a share"},
        {"prune kind=channels max-macs=50", "expected a share"},
        {"prune kind=channels align=0", "expected auto or 1 to 1024"},
        {"prune kind=channels align=8x", "expected auto or 1 to 1024"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *m = method_model(PAIR, 3);
        hn_error err;
        bench t;
        assert_int_not_equal(run(&t, m, cases[i].line, &err), HONE_OK);
        if (strstr(err.text, cases[i].text) == NULL) fail_msg("%s", err.text);
        end(&t);
        hn_model_destroy(m);
    }
}

/* Channels that are mixtures of others are made up for. */
static void others_make_up_for_them(void **state) {
    (void)state;
    hn_model *m[3] = {method_model(
        "m (float[n,3,8,8] x, float[6,3,1,1] w0, float[16,6,1,1] w1, float[4,16,1,1] w2) => "
        "(float[n,4,8,8] y) { z = Conv (x, w0) a = Conv (z, w1) y = Conv (a, w2) }",
        3)};
    bench t;
    m[1] = method_copy(m[0]), m[2] = method_copy(m[0]);
    good(&t, m[1], "prune kind=channels sparsity=0.5 align=8 only=a");
    end(&t);
    good(&t, m[2], "prune kind=channels sparsity=0.5 align=8 only=a compensate");
    end(&t);
    assert_int_equal(size(m[2], "a", 1), 8);
    double bare = method_distance(m[0], m[1]), repaired = method_distance(m[0], m[2]);
    if (!(repaired < 0.05 * bare)) fail_msg("%g against %g", repaired, bare);
    for (int i = 0; i < 3; i++) hn_model_destroy(m[i]);
}

/* A constant that two layers read becomes two. */
static void shared_weights_part(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,8,6,6] x, float[8,8,1,1] w1) => (float[n,8,6,6] y)"
        "{ a = Conv (x, w1) r = Relu (a) y = Conv (r, w1) }",
        1);
    hn_model *masked = method_copy(m);
    bench t;
    good(&t, m, HALF);
    end(&t);
    assert_int_equal(size(m, "a", 1), 4);
    good(&t, masked, HALF " keep-shapes");
    end(&t);
    method_same(masked, m, 1e-5);
    hn_model_destroy(m);
    hn_model_destroy(masked);
}

/* ---- whole blocks ---- */

/* Three residual blocks of two convolutions, the second of them of tiny weights; what is behind
 * them reads four channels. */
static hn_model *blocks(void) {
    hn_model *m = method_model(
        "m (float[n,3,8,8] x, float[4,3,1,1] w0, float[4,4,1,1] w1, float[4,4,1,1] w2, "
        "float[4,4,1,1] w3, float[4,4,1,1] w4, float[2,4,1,1] w5, float[4,4,1,1] w6) => "
        "(float[n,2,8,8] y) { s = Conv (x, w0) a = Conv (s, w1) b = Relu (a) c = Conv (b, w2) "
        "t = Add (c, s) d = Conv (t, w3) e = Relu (d) f = Conv (e, w4) u = Add (t, f) "
        "g = Conv (u, w6) v = Add (u, g) y = Conv (v, w5) }",
        5);
    float *w = method_weight(m, "w4");
    for (int i = 0; i < 16; i++) w[i] *= 1e-4f;
    return m;
}

static void the_least_block_goes(void **state) {
    (void)state;
    static const char *const lines[] = {"prune kind=residuals sparsity=0.3",
                                        "prune kind=residuals max-macs=80%",
                                        "prune kind=residuals sparsity=0.9 only=e"};
    for (int data = 0; data < 2; data++)
        for (size_t i = 0; i < 3; i++) {
            hn_model *m = blocks(), *was = method_copy(m);
            bench t;
            hn_error err;
            begin(&t, m, lines[i]);
            if (data == 0) t.b.c.feed = NULL;
            if (hn_transform_prune(&t.b.c, &err) != HONE_OK) fail_msg("%s", err.text);
            assert_int_equal(hn_model_verify(m, &err), HONE_OK);
            assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
            assert_int_equal(t.b.c.changed, 1);
            assert_int_equal(t.told.n, 1);
            assert_string_equal(t.told.v[0].layer, "d");
            end(&t);
            assert_int_equal(was->graph->n_nodes - m->graph->n_nodes, 4);
            assert_null(hn_graph_value(m->graph, "w4"));
            method_same(was, m, 1e-2);
            hn_model_destroy(m);
            hn_model_destroy(was);
        }
}

/* Either of two blocks that make large what Tanh cuts off changes little when it goes, but both
 * change much: when one is gone, the third block goes before the other. */
static void a_block_is_judged_anew(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,4,8,8] x, float[4,4,1,1] w0, float[4,4,1,1] w1, float[4,4,1,1] w2, "
        "float[4,4,1,1] w3) => (float[n,4,8,8] y, float[n,4,8,8] z) { s = Conv (x, w0) "
        "r = Abs (s) a = Conv (r, w1) t = Add (r, a) b = Conv (t, w2) u = Add (t, b) y = Tanh (u) "
        "q = Sin (s) c = Conv (q, w3) v = Add (q, c) z = Neg (v) }",
        5);
    for (int i = 0; i < 16; i++) {
        method_weight(m, "w1")[i] = method_weight(m, "w2")[i] = i % 5 == 0 ? 100.0f : 0.0f;
        method_weight(m, "w3")[i] *= 0.2f;
    }
    bench t;
    good(&t, m, "prune kind=residuals sparsity=0.6");
    assert_int_equal(t.told.n, 2);
    assert_true(t.told.v[0].layer[0] == 'a' || t.told.v[0].layer[0] == 'b');
    assert_string_equal(t.told.v[1].layer, "c");
    assert_true(t.told.v[0].error < t.told.v[1].error);
    end(&t);
    hn_model_destroy(m);
}

/* What is read elsewhere, changes shapes, or is an output, is no block. */
static void what_is_no_block_stays(void **state) {
    (void)state;
    static const char *const texts[] = {
        "m (float[n,4,8,8] x, float[4,4,1,1] w1, float[4,4,1,1] w2) => (float[n,4,8,8] y, "
        "float[n,4,8,8] z) { a = Conv (x, w1) s = Add (x, a) y = Conv (s, w2) z = Relu (a) }",
        "m (float[n,1,8,8] x, float[4,1,1,1] w1, float[4,4,1,1] w2) => (float[n,4,8,8] y)"
        "{ a = Conv (x, w1) s = Add (x, a) y = Conv (s, w2) }",
        "m (float[n,4,8,8] x, float[4,4,1,1] w1) => (float[n,4,8,8] y)"
        "{ a = Conv (x, w1) y = Add (x, a) }",
        "m (float[n,4,8,8] x, float[n,4,8,8] u, float[4,4,1,1] w1, float[4,4,1,1] w2) => "
        "(float[n,4,8,8] y) { a = Conv (u, w1) s = Add (x, a) y = Conv (s, w2) }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hn_model *m = method_model(texts[i], 1);
        bench t;
        good(&t, m, "prune kind=residuals sparsity=0.9");
        assert_int_equal(t.b.c.changed, 0);
        end(&t);
        hn_model_destroy(m);
    }
}

static hone_status without_blocks(hn_transform_ctx *c, hn_error *err) {
    hn_arena arena;
    hn_recipe r;
    hn_arena_init(&arena, c->alloc, HN_MEM_OTHER);
    hone_status status =
        hn_recipe_read(&r, "hone recipe 2\nprune kind=residuals max-macs=80%\n", &arena, err);
    if (status == HONE_OK) {
        c->step = &r.steps[0];
        status = hn_transform_prune(c, err);
    }
    hn_arena_deinit(&arena);
    return status;
}

static hone_status half(hn_transform_ctx *c, hn_error *err) {
    static const char *const lines[] = {HALF " compensate", HALF " keep-shapes"};
    hone_status status = HONE_OK;
    for (int i = 1; i >= 0 && status == HONE_OK; i--) {
        hn_arena arena;
        hn_recipe r;
        char text[200];
        hn_arena_init(&arena, c->alloc, HN_MEM_OTHER);
        snprintf(text, sizeof text, "hone recipe 2\n%s\n", lines[i]);
        status = hn_recipe_read(&r, text, &arena, err);
        if (status == HONE_OK) {
            c->step = &r.steps[0];
            status = hn_transform_prune(c, err);
        }
        hn_arena_deinit(&arena);
    }
    return status;
}

static void memory_may_end(void **state) {
    (void)state;
    hn_model *m = method_model(couplings[8].text, 1);
    method_survives(m, half);
    hn_model_destroy(m);
    m = blocks();
    method_survives(m, without_blocks);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_together_goes),
        cmocka_unit_test(the_rest_stays_and_says_why),
        cmocka_unit_test(the_smallest_go),
        cmocka_unit_test(widths_stay_multiples),
        cmocka_unit_test(no_more_goes_than_the_limit_asks),
        cmocka_unit_test(what_cannot_be_is_an_error),
        cmocka_unit_test(others_make_up_for_them),
        cmocka_unit_test(shared_weights_part),
        cmocka_unit_test(the_least_block_goes),
        cmocka_unit_test(a_block_is_judged_anew),
        cmocka_unit_test(what_is_no_block_stays),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
