/* Outputs that are shown as soon as they are made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/text_model.h"

static hn_error err;

enum { MOST = 16 };

/* Copies of a run's outputs, in the order they came. */
typedef struct seen {
    int n, order[MOST];
    char *data[MOST]; /* by output */
    size_t bytes[MOST];
    int fail_at; /* the one that is refused; -1: none */
} seen;

static void forget(seen *s) {
    for (int i = 0; i < MOST; i++) free(s->data[i]);
    *s = (seen){.fail_at = -1};
}

static hone_status see(void *ctx, int i, const hn_tensor *t, hn_error *e) {
    seen *s = ctx;
    if (s->n == s->fail_at) return HN_FAIL(e, HONE_E_LIMIT, "enough");
    assert_null(s->data[i]);
    s->order[s->n++] = i;
    s->data[i] = malloc(t->bytes + 1);
    s->bytes[i] = t->bytes;
    assert_non_null(s->data[i]);
    memcpy(s->data[i], t->data, t->bytes);
    return HONE_OK;
}

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    seen *s = ctx;
    (void)e;
    s->bytes[i] = hone_value_bytes(dtype, rank, dims);
    *to = s->data[i] = malloc(s->bytes[i] + 1);
    return HONE_OK;
}

static hn_engine *engine_of(hn_model *m, bool shows) {
    hn_engine *e;
    hn_engine_options o = {
        .alloc = &model_mem, .isa = hn_isa_available(), .seed = 1, .shows = shows};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    return e;
}

static hn_tensor *input(int64_t rows, int64_t columns) {
    hn_tensor *t;
    int64_t dims[2] = {rows, columns};
    assert_int_equal(
        hn_tensor_create(&t, hn_allocator_default(), HN_MEM_TENSOR, HONE_DTYPE_F32, 2, dims, &err),
        HONE_OK);
    for (int64_t i = 0; i < t->n; i++) ((float *)t->data)[i] = (float)(i * 7 % 13 - 6) / 3;
    return t;
}

/* Each is shown once and is what a run that keeps them all has. */
static seen shown_as_kept(hn_model *m, hn_tensor *x, size_t *slab) {
    seen kept = {.fail_at = -1}, shown = kept;
    hn_engine *a = engine_of(m, false), *b = engine_of(m, true);
    const hn_tensor *in[] = {x};
    assert_int_equal(hn_engine_run(a, in, place, &kept, NULL, NULL, &err), HONE_OK);
    for (int round = 0; round < 2; round++) {
        forget(&shown);
        assert_int_equal(hn_engine_run_shown(b, in, see, &shown, &err), HONE_OK);
        assert_int_equal(shown.n, m->graph->n_outputs);
        for (int i = 0; i < shown.n; i++) {
            assert_int_equal(shown.bytes[i], kept.bytes[i]);
            assert_memory_equal(shown.data[i], kept.data[i], kept.bytes[i]);
        }
    }
    *slab = hn_engine_memory_use(b).slab;
    hn_engine_destroy(a);
    hn_engine_destroy(b);
    forget(&kept);
    return shown;
}

/* Outputs that others are made of, one that is the input, and sums that could be written over what
 * they are made of. */
static const char chain[] =
    "m (float[n,64] x) => (float[n,64] g, float[n,64] a, float[n,64] b, float[n,64] c,"
    "                      float[n,64] d, float[n,64] e, float[n,64] f, float[n,64] same) {\n"
    "  same = Identity(x)\n"
    "  a = Sigmoid(x)\n"
    "  b = Add(a, x)\n"
    "  c = Neg(b)\n"
    "  d = Exp(c)\n"
    "  e = Softmax(d)\n"
    "  f = Mul(e, e)\n"
    "  g = Add(f, e)\n"
    "}";

static void as_soon_as_they_are_made(void **state) {
    (void)state;
    size_t slab;
    hn_tensor *x = input(32, 64);
    seen s = shown_as_kept(model_inferred(chain), x, &slab);
    int a = 0, g = 0; /* the first output is made long after the second */
    while (s.order[a] != 1) a++;
    while (s.order[g] != 0) g++;
    assert_true(a + 3 < g);
    assert_true(slab < 6 * x->bytes); /* eight outputs share that */
    forget(&s);
    hn_tensor_unref(x);
}

/* Of a graph that is cut they come when all has run. */
static void of_graphs_that_are_cut(void **state) {
    (void)state;
    size_t slab;
    hn_tensor *x = input(4, 3);
    seen s = shown_as_kept(model_inferred("m (float[n,3] x) => (float[n,3] a, z, float[k] y) {"
                                          "  a = Relu (x)"
                                          "  z = NonZero (a)"
                                          "  rows = Transpose <perm: ints = [1, 0]> (z)"
                                          "  some = GatherND (x, rows)"
                                          "  y = Neg (some)"
                                          "}"),
                           x, &slab);
    forget(&s);
    hn_tensor_unref(x);
}

static void a_refusal_ends_the_run(void **state) {
    (void)state;
    hn_model *m = model_inferred(chain);
    hn_engine *e = engine_of(m, true);
    hn_tensor *x = input(5, 64);
    const hn_tensor *in[] = {x};
    for (int at = 0; at < m->graph->n_outputs; at++) {
        seen s = {.fail_at = at};
        assert_int_equal(hn_engine_run_shown(e, in, see, &s, &err), HONE_E_LIMIT);
        assert_int_equal(s.n, at);
        forget(&s);
    }
    hn_tensor_unref(x);
    hn_engine_destroy(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_soon_as_they_are_made, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(of_graphs_that_are_cut, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(a_refusal_ends_the_run, model_setup, model_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
