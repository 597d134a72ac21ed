#include "support/engine_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/engine.h"
#include "engine/tune.h"
#include "support/text_model.h"

enum { MOST = 8 };

static hn_error err;

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

/* One key in four is hidden, and of many rows of keys the first two as a whole. */
static double mask_at(const hn_tensor *t, int64_t i, hn_rng *rng) {
    int64_t two = 2 * t->dims[t->rank - 1];
    bool hidden = (t->n > two && i < two) || hn_rng_below(rng, 4) == 0;
    if (t->dtype == HONE_DTYPE_BOOL) return !hidden;
    return hidden ? -INFINITY : 4 * hn_rng_f64(rng) - 2;
}

/* Any integer of the type, which has 4 or 8 bits. */
static double code_at(const hn_value *v, double x) {
    hone_dtype type = v->type.dtype;
    double count = 1 << hone_dtype_bits(type);
    bool signs = type == HONE_DTYPE_S8 || type == HONE_DTYPE_S4;
    return floor(x * count) - (signs ? count / 2 : 0);
}

/* The same for inputs named "any", from -100 or 0 to 100 where there are more bits. */
static double any_at(const hn_value *v, double x) {
    if (hone_dtype_bits(v->type.dtype) <= 8) return code_at(v, x);
    return floor(hn_dtype_min(v->type.dtype) < 0 ? 201 * x - 100 : 101 * x);
}

/* Numbers of both signs, in constants positive ones too small to make sums large. */
static double number_at(const hn_value *v, int64_t i, hn_rng *rng) {
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    if (i % 97 == 96 && begins(v->name, "odd")) return odd[i / 97 % 3];
    double x = hn_rng_f64(rng);
    if (begins(v->name, "wfew")) return 0.05 + 0.2 * floor(16 * x) / 16;
    if (begins(v->name, "wzero") && hn_rng_below(rng, 10) != 0) return 0;
    if (v->type.dtype == HONE_DTYPE_BOOL) return x < 0.5;
    if (begins(v->name, "many")) return floor(120 * x);
    if (hn_dtype_is_int(v->type.dtype) && begins(v->name, "any")) return any_at(v, x);
    if (hone_dtype_bits(v->type.dtype) <= 8 && begins(v->name, "w")) return code_at(v, x);
    return begins(v->name, "w") ? 0.05 + 0.2 * x : 4 * x - 2;
}

static hn_tensor *random_tensor(const hn_value *v, hn_rng *rng) {
    hn_tensor *t;
    int64_t dims[HONE_MAX_RANK];
    bool mask = begins(v->name, "mask");
    assert_true(hn_shape_is_const(&v->type.shape, dims));
    assert_int_equal(hn_tensor_create(&t, &model_mem, HN_MEM_DATA, v->type.dtype,
                                      v->type.shape.rank, dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < t->n; i++)
        hn_store_f64(t->dtype, t->data, i, mask ? mask_at(t, i, rng) : number_at(v, i, rng));
    return t;
}

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    hn_tensor **out = ctx;
    hone_status s = hn_tensor_create(&out[i], &model_mem, HN_MEM_DATA, dtype, rank, dims, e);
    if (s == HONE_OK) *to = out[i]->data;
    return s;
}

static hone_status place_again(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                               void **to, hn_error *e) {
    hn_tensor **out = ctx;
    (void)dtype, (void)rank, (void)dims, (void)e;
    *to = out[i]->data;
    return HONE_OK;
}

static void append(char *text, size_t size, const char *more) {
    assert_true(strlen(text) + strlen(more) < size);
    strcat(text, more);
}

static void note_step(void *ctx, const hn_step_time *t) {
    engine_facts *f = ctx;
    const char *family = t->step->family != NULL ? t->step->family->name : "reference";
    assert_true(f->n < ENGINE_STEPS);
    f->families[f->n++] = family;
    f->together += t->step->lane > 0;
    if (t->step->family != NULL) {
        if (f->kernels[0] != '\0') append(f->kernels, sizeof f->kernels, ", ");
        append(f->kernels, sizeof f->kernels, t->step->kernel->name);
    }
    if (strcmp(family, "copy") == 0) return;
    if (t->step->family != NULL && t->step->family->multiplies)
        snprintf(f->why, sizeof f->why, "%s", t->step->facts->why);
    const char *parts[] = {f->steps[0] != '\0' ? ", " : "", family, " ", t->step->facts->label};
    for (int i = 0; i < 4; i++) append(f->steps, sizeof f->steps, parts[i]);
    append(f->labels, sizeof f->labels, parts[0]);
    append(f->labels, sizeof f->labels, parts[3]);
}

int engine_count(const engine_facts *f, const char *family) {
    int n = 0;
    for (int i = 0; i < f->n; i++) n += strcmp(f->families[i], family) == 0;
    return n;
}

static void near(const hn_tensor *found, const hn_tensor *want, double bound) {
    assert_int_equal(found->dtype, want->dtype);
    assert_true(hn_tensor_same_dims(found, want->rank, want->dims));
    double most = 0;
    for (int64_t i = 0; i < want->n; i++) {
        double x = fabs(hn_tensor_f64(want, i));
        if (isfinite(x)) most = fmax(most, x);
    }
    assert_true(most > 0);
    for (int64_t i = 0; i < want->n; i++) {
        double a = hn_tensor_f64(found, i), b = hn_tensor_f64(want, i);
        if (a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= bound * most))
            fail_msg("element %lld is %g, expected %g", (long long)i, a, b);
    }
}

static void run(hn_model *m, engine_way way, int threads, hn_tensor **in, hn_tensor **found,
                engine_facts *facts) {
    hn_pool *pool;
    hn_engine *e;
    hn_allocator mem;
    hn_tuner *tuner = NULL;
    hn_allocator_init(&mem);
    if (way.tuned)
        assert_int_equal(
            hn_tuner_create(&tuner, HN_TUNE_FAST, hn_isa_available(), NULL, &model_mem, &err),
            HONE_OK);
    assert_int_equal(hn_pool_create(&pool, threads, &model_mem, &err), HONE_OK);
    hn_engine_options o = {.alloc = &mem,
                           .pool = pool,
                           .isa = hn_isa_available(),
                           .layers.way.precision = way.precision,
                           .parallel = way.parallel,
                           .no_sparse = way.no_sparse,
                           .no_lookup = way.no_lookup,
                           .tuner = tuner,
                           .seed = 1,
                           .no_simplify = true};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    const hn_tensor *const *given = (const hn_tensor *const *)in;
    if (hn_engine_run(e, given, place, found, note_step, facts, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hn_engine_memory use = hn_engine_memory_use(e);
    facts->slab = use.slab;
    facts->bound = use.bound;
    assert_int_equal(use.planned, !way.cut);
    if (!way.cut && engine_count(facts, "reference") == 0) assert_int_equal(mem.peak, use.peak);
    size_t taken = mem.taken;
    assert_int_equal(hn_engine_run(e, given, place_again, found, NULL, NULL, &err), HONE_OK);
    if (!way.cut && mem.taken != taken) fail_msg("the second run allocates");
    hn_engine_destroy(e);
    hn_tuner_destroy(tuner);
    assert_int_equal(mem.blocks, 0);
    hn_pool_destroy(pool);
}

/* Weights that may as well be given when the model runs; not what sizes are computed from. */
static bool may_be_given(const hn_value *v, const hn_tensor *t) {
    bool bytes = t->dtype == HONE_DTYPE_U8 || t->dtype == HONE_DTYPE_S8;
    return (t->dtype == HONE_DTYPE_F32 || bytes) && (t->rank > 1 || begins(v->name, "wb"));
}

/* Makes constants of the inputs that are, and fills the others; given: as engine_way has it. */
static void fill(hn_graph *g, bool given, hn_tensor **in) {
    hn_rng rng;
    hn_rng_init(&rng, 1);
    assert_true(g->n_inputs <= MOST && g->n_outputs <= MOST);
    for (int i = 0; i < g->n_inputs; i++) {
        hn_tensor *t = random_tensor(g->inputs[i], &rng);
        if (g->inputs[i]->name[0] == 'w' && !(given && may_be_given(g->inputs[i], t)))
            hn_value_set_constant(g->inputs[i], t);
        else
            in[i] = t;
    }
}

static engine_facts ran(const char *text, engine_way way) {
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(text);
    hn_graph *g = m->graph;
    hn_tensor *in[MOST] = {0}, *want[MOST] = {0}, *one[MOST] = {0}, *two[MOST] = {0};
    fill(g, way.given, in);
    hn_exec_options plain = {.alloc = &model_mem, .seed = 1};
    assert_int_equal(hn_graph_run(g, &plain, (const hn_tensor *const *)in, want, &err), HONE_OK);
    static const double limits[] = {
        [HN_PRECISION_F32] = 2e-5, [HN_PRECISION_RELAXED] = 1e-4, [HN_PRECISION_BF16] = 1e-2};
    engine_facts facts = {0}, again = {0};
    run(m, way, 1, in, one, &facts);
    run(m, way, 2, in, two, &again);
    facts.together = again.together;
    facts.digest = HN_TUNE_HASH;
    for (int i = 0; i < g->n_outputs; i++) {
        near(one[i], want[i], limits[way.precision]);
        facts.digest = hn_tune_hash(facts.digest, one[i]->data, one[i]->bytes);
        if (!hn_tensor_equal(one[i], two[i])) fail_msg("two threads give other bits: %s", text);
    }
    for (int i = 0; i < MOST; i++) {
        hn_tensor_unref(in[i]);
        hn_tensor_unref(want[i]);
        hn_tensor_unref(one[i]);
        hn_tensor_unref(two[i]);
    }
    assert_int_equal(model_teardown(NULL), 0);
    return facts;
}

engine_facts engine_ran_so(const char *text, engine_way way) {
    engine_facts facts = ran(text, way);
    way.given = true;
    if (!way.cut) ran(text, way);
    return facts;
}

engine_facts engine_ran_given(const char *text) { return ran(text, (engine_way){.given = true}); }

engine_facts engine_ran(const char *text) { return engine_ran_so(text, (engine_way){0}); }

engine_facts engine_ran_in_parts(const char *text) {
    return engine_ran_so(text, (engine_way){.cut = true});
}

int engine_agrees(const char *text, const char *steps) {
    engine_facts f = engine_ran(text);
    if (steps != NULL && strcmp(f.steps, steps) != 0)
        fail_msg("steps are '%s', expected '%s': %s", f.steps, steps, text);
    return engine_count(&f, "copy");
}

void engine_agrees_node(const char *x, const char *constants, const char *y, const char *node,
                        const char *steps) {
    char text[1024];
    snprintf(text, sizeof text, "m (%s x%s) => (%s y) { y = %s }", x, constants, y, node);
    engine_agrees(text, steps);
}

void engine_refuses(const char *text, const int64_t *bad, const int64_t *good,
                    const char *message) {
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(text);
    hn_graph *g = m->graph;
    hn_tensor *in[MOST] = {0}, *want[MOST] = {0}, *found[MOST] = {0};
    fill(g, false, in);
    hn_exec_options plain = {.alloc = &model_mem, .seed = 1};
    hn_engine *e;
    hn_engine_options o = {.alloc = &model_mem, .isa = hn_isa_available(), .no_simplify = true};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    hn_tensor *last = in[g->n_inputs - 1];
    const hn_tensor *const *inputs = (const hn_tensor *const *)in;
    for (int64_t i = 0; i < last->n; i++) hn_store_s64(last->dtype, last->data, i, bad[i]);
    hone_status status = hn_graph_run(g, &plain, inputs, want, &err);
    hn_error first = err;
    assert_int_not_equal(status, HONE_OK);
    assert_non_null(strstr(first.text, message));
    assert_int_equal(hn_engine_run(e, inputs, place, found, NULL, NULL, &err), status);
    assert_string_equal(err.text, first.text);
    for (int i = 0; i < MOST; i++) {
        hn_tensor_unref(found[i]);
        found[i] = NULL;
    }
    for (int64_t i = 0; i < last->n; i++) hn_store_s64(last->dtype, last->data, i, good[i]);
    assert_int_equal(hn_graph_run(g, &plain, inputs, want, &err), HONE_OK);
    assert_int_equal(hn_engine_run(e, inputs, place, found, NULL, NULL, &err), HONE_OK);
    for (int i = 0; i < g->n_outputs; i++) near(found[i], want[i], 2e-5);
    for (int i = 0; i < MOST; i++) {
        hn_tensor_unref(in[i]);
        hn_tensor_unref(want[i]);
        hn_tensor_unref(found[i]);
    }
    hn_engine_destroy(e);
    assert_int_equal(model_teardown(NULL), 0);
}

/* Outputs in memory that the allocator under test does not know. */
static hone_status place_elsewhere(void *ctx, int i, hone_dtype dtype, int rank,
                                   const int64_t *dims, void **to, hn_error *e) {
    hn_tensor **out = ctx;
    if (out[i] == NULL) {
        hone_status s =
            hn_tensor_create(&out[i], hn_allocator_default(), HN_MEM_DATA, dtype, rank, dims, e);
        if (s != HONE_OK) return s;
    }
    *to = out[i]->data;
    return HONE_OK;
}

void engine_survives(const char *text) {
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(text);
    hn_tensor *in[MOST] = {0}, *out[MOST] = {0};
    hn_engine *e;
    hone_status status = HONE_E_NOMEM;
    fill(m->graph, false, in);
    hn_engine_options o = {.alloc = &model_mem, .isa = hn_isa_available(), .no_simplify = true};
    for (int i = 0; status != HONE_OK; i++) {
        atomic_store(&model_mem.fail_after, i);
        status = hn_engine_create(&e, m, &o, &err);
        atomic_store(&model_mem.fail_after, -1);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
    }
    status = HONE_E_NOMEM;
    for (int i = 0; status != HONE_OK; i++) {
        atomic_store(&model_mem.fail_after, i);
        status =
            hn_engine_run(e, (const hn_tensor *const *)in, place_elsewhere, out, NULL, NULL, &err);
        atomic_store(&model_mem.fail_after, -1);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
    }
    hn_engine_destroy(e);
    for (int i = 0; i < MOST; i++) {
        hn_tensor_unref(in[i]);
        hn_tensor_unref(out[i]);
    }
    assert_int_equal(model_teardown(NULL), 0);
}
