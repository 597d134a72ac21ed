#include "compress/sensitivity.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/compare_models.h"
#include "support/scratch.h"

/* What a search works on: both models, their pairs, and the outputs of the first. */
typedef struct bench {
    two_models t;
    hn_pairs *pairs;
    hn_pair_error *errors;
    hn_step_harm *harms;
    bool *back;
    int n;
    int64_t tried;
    double score;
    hn_tensor *in[3], *want[3];
} bench;

static hone_status run(bench *b, const hn_model *m, int k, hn_tensor **y, hn_error *err) {
    hn_program *program;
    const hn_tensor *x = b->in[k];
    HN_TRY(hn_program_create(&program, m, &b->t.how[1], err));
    hone_status status = hn_program_run(program, &x, y, err);
    hn_program_destroy(program);
    return status;
}

static hone_status score(void *ctx, const hn_model *m, double *out, hn_error *err) {
    bench *b = ctx;
    hn_distance d = {0};
    for (int k = 0; k < b->t.samples.n; k++) {
        hn_tensor *y;
        HN_TRY(run(b, m, k, &y, err));
        hn_distance_add(&d, b->want[k], y);
        hn_tensor_unref(y);
    }
    *out = hn_distance_sqnr(&d);
    return HONE_OK;
}

static void begin(bench *b) {
    hn_error err;
    hone_status status = hn_pairs_create(&b->pairs, b->t.a, b->t.b, &scratch_mem, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
    size_t n = (size_t)b->pairs->n;
    b->errors = hn_alloc_zero(&scratch_mem, n * sizeof *b->errors, HN_MEM_OTHER);
    b->harms = hn_alloc_zero(&scratch_mem, n * sizeof *b->harms, HN_MEM_OTHER);
    b->back = hn_alloc_zero(&scratch_mem, n, HN_MEM_OTHER);
    status = hn_pair_errors(b->pairs, b->t.how, &b->t.samples, HN_PAIR_ERRORS_BYTES, NULL, NULL,
                            b->errors, &err);
    for (int k = 0; k < b->t.samples.n && status == HONE_OK; k++) {
        status = b->t.samples.load(&b->t, k, &b->in[k], &err);
        if (status == HONE_OK) status = run(b, b->t.a, k, &b->want[k], &err);
    }
    if (status != HONE_OK) fail_msg("%s", err.text);
}

static void end(bench *b) {
    for (int k = 0; k < 3; k++) {
        hn_tensor_unref(b->in[k]);
        hn_tensor_unref(b->want[k]);
    }
    hn_free(&scratch_mem, b->errors);
    hn_free(&scratch_mem, b->harms);
    hn_free(&scratch_mem, b->back);
    hn_pairs_destroy(b->pairs);
    two_models_end(&b->t);
}

static hone_status search(bench *b, double enough, hn_error *err) {
    hn_sensitivity s = {.pairs = b->pairs,
                        .errors = b->errors,
                        .rank = score,
                        .decide = score,
                        .ctx = b,
                        .enough = enough};
    HN_TRY(hn_sensitivity_rank(&s, b->harms, &b->n, &b->tried, err));
    return hn_sensitivity_bisect(&s, b->harms, b->n, b->back, &b->score, &b->tried, err);
}

static void find(bench *b, double enough) {
    hn_error err;
    if (search(b, enough, &err) != HONE_OK) fail_msg("%s", err.text);
}

static bool is_back(const bench *b, const char *node) {
    for (int i = 0; i < b->pairs->n; i++)
        if (b->back[i] && strcmp(b->pairs->v[i].a->producer->name, node) == 0) return true;
    return false;
}

static int count_back(const bench *b) {
    int n = 0;
    for (int i = 0; i < b->pairs->n; i++) n += b->back[i];
    return n;
}

/* Every three of the six layers. */
static void three_damaged_layers_are_found(void **state) {
    (void)state;
    for (unsigned set = 0; set < 1u << CHAIN_LAYERS; set++) {
        bench b = {.n = 0};
        if (__builtin_popcount(set) != 3) continue;
        two_models_chain(&b.t, set, set, 0.2);
        begin(&b);
        find(&b, 60);
        assert_int_equal(b.n, 3);
        assert_int_equal(count_back(&b), 3);
        for (int i = 0; i < CHAIN_LAYERS; i++) {
            char name[16];
            snprintf(name, sizeof name, "fc%d", i + 1);
            assert_int_equal(is_back(&b, name), set >> i & 1);
        }
        assert_true(b.score > 100);
        end(&b);
    }
}

/* Two are off by much and one by little: a tolerance between is met without the third. */
static void what_is_not_needed_stays(void **state) {
    (void)state;
    bench b = {.n = 0};
    static const char *const hurt[] = {"fc2", "fc5"}, *const touched[] = {"fc3"};
    two_models little;
    two_models_damage(&little, two_models_load(HN_SOURCE_DIR "/tests/models/layers.onnx"), 1, 1,
                      touched, 1e-4);
    two_models_damage(&b.t, two_models_load(HN_SOURCE_DIR "/tests/models/layers.onnx"), 2, 2, hurt,
                      0.3);
    hn_value *to = hn_graph_value(b.t.b->graph, "w3"),
             *from = hn_graph_value(little.b->graph, "w3");
    hn_value_set_constant(to, hn_tensor_ref(from->constant));
    begin(&b);
    find(&b, 45);
    assert_int_equal(b.n, 3);
    assert_int_equal(count_back(&b), 2);
    assert_true(is_back(&b, "fc2") && is_back(&b, "fc5"));
    assert_true(b.score >= 45 && b.score < 100);
    /* The least harmful comes last. */
    assert_string_equal(b.pairs->v[b.harms[2].pair].a->producer->name, "fc3");
    end(&b);
    two_models_end(&little);
}

static void nothing_is_put_back_where_all_passes(void **state) {
    (void)state;
    bench b = {.n = 0};
    two_models_chain(&b.t, 1, 7, 0.2);
    begin(&b);
    find(&b, -100);
    assert_int_equal(count_back(&b), 0);
    end(&b);
}

static void what_cannot_pass_is_said(void **state) {
    (void)state;
    bench b = {.n = 0};
    hn_error err;
    two_models_chain(&b.t, 1, 7, 0.2);
    begin(&b);
    b.want[0]->data = memset(b.want[0]->data, 0, b.want[0]->bytes); /* nothing gives this */
    assert_int_equal(search(&b, 60, &err), HONE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "does not pass with all 3 steps that differ"));
    end(&b);
}

/* Real models, three layers damaged at random. */
static void check_asset(const char *file, unsigned seed) {
    const char *path = scratch_asset(file);
    if (path == NULL) skip();
    bench b = {.n = 0};
    hn_model *m = two_models_load(path);
    const char *names[200], *hurt[3];
    int n = 0;
    hn_rng rng;
    hn_rng_init(&rng, seed);
    for (const hn_node *k = m->graph->first; k != NULL && n < 200; k = k->next)
        if (strcmp(k->op_type, "Conv") == 0) names[n++] = k->name;
    assert_true(n > 10);
    for (int i = 0; i < 3; i++) {
        int at = (int)hn_rng_below(&rng, (uint64_t)(n - i));
        hurt[i] = names[at];
        names[at] = names[n - i - 1];
    }
    two_models_damage(&b.t, m, seed, 3, hurt, 0.5);
    b.t.samples.n = 1;
    begin(&b);
    find(&b, 60);
    assert_int_equal(count_back(&b), 3);
    for (int i = 0; i < 3; i++) assert_true(is_back(&b, hurt[i]));
    end(&b);
}

static void damaged_layers_of_real_models_are_found(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= 3; seed++) check_asset("models/resnet20_cifar10.onnx", seed);
    check_asset("models/resnet56_cifar10.onnx", 4);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(three_damaged_layers_are_found),          CASE(what_is_not_needed_stays),
        CASE(nothing_is_put_back_where_all_passes),    CASE(what_cannot_pass_is_said),
        CASE(damaged_layers_of_real_models_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
