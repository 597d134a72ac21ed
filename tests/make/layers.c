/* Every layer: the shape it makes, and the parameters it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "make/layer.h"
#include "support/made.h"
#include "support/scratch.h"

/* Inputs that lines begin with; what is inferred must be what making them has counted on, which the
 * layer `linear` behind each line depends on. */
#define IMAGE "image 3 9 8\n"
#define VECTOR "vector 6\n"
#define WORDS "tokens\nembedding 50 8\n"
#define PIXELS "image 3 4 4\nunfold\n"

static const struct row {
    const char *layer, *before, *line, *type;
    int64_t params; /* of the whole model */
} rows[] = {
    {"image", "", IMAGE "relu", "f32[N, 3, 9, 8]", 0},
    {"vector", "", VECTOR "relu", "f32[N, 6]", 0},
    {"tokens", "", WORDS "relu", "f32[N, S, 8]", 400},
    {"conv", IMAGE, "conv 5", "f32[N, 5, 9, 8]", 135},
    {"conv", IMAGE, "conv 5 kernel=4 stride=2 pad=1 bias=1", "f32[N, 5, 4, 4]", 245},
    {"conv", IMAGE, "conv 6 groups=3 dilation=2", "f32[N, 6, 9, 8]", 54},
    {"conv", IMAGE, "conv 6 kernel=3 dilation=2 pad=0", "f32[N, 6, 5, 4]", 162},
    {"subsample", IMAGE, "subsample 8", "f32[N, 8, 5, 4]", 0},
    {"subsample", IMAGE, "subsample 3 stride=3", "f32[N, 3, 3, 3]", 0},
    {"bn", IMAGE, "bn gamma=0 eps=0.1", "f32[N, 3, 9, 8]", 6},
    {"bn", VECTOR, "bn", "f32[N, 6]", 12},
    {"layernorm", VECTOR, "layernorm", "f32[N, 6]", 12},
    {"layernorm", PIXELS, "layernorm eps=0.1", "f32[N, 16, 3]", 6},
    {"linear", VECTOR, "linear 4", "f32[N, 4]", 28},
    {"linear", PIXELS, "linear 4", "f32[N, 16, 4]", 16},
    {"linear", WORDS, "linear 4 bias=0", "f32[N, S, 4]", 432},
    {"maxpool", IMAGE, "maxpool", "f32[N, 3, 4, 4]", 0},
    {"maxpool", IMAGE, "maxpool 3 stride=2 pad=1", "f32[N, 3, 5, 4]", 0},
    {"avgpool", IMAGE, "avgpool 3 stride=1", "f32[N, 3, 7, 6]", 0},
    {"globalpool", IMAGE, "globalpool", "f32[N, 3, 1, 1]", 0},
    {"flatten", IMAGE, "flatten", "f32[N, 216]", 0},
    {"relu", VECTOR, "relu", "f32[N, 6]", 0},
    {"relu6", VECTOR, "relu6", "f32[N, 6]", 0},
    {"sigmoid", VECTOR, "sigmoid", "f32[N, 6]", 0},
    {"tanh", VECTOR, "tanh", "f32[N, 6]", 0},
    {"silu", VECTOR, "silu", "f32[N, 6]", 0},
    {"gelu", VECTOR, "gelu", "f32[N, 6]", 0},
    {"hardsigmoid", VECTOR, "hardsigmoid", "f32[N, 6]", 0},
    {"hardswish", VECTOR, "hardswish", "f32[N, 6]", 0},
    {"dropout", VECTOR, "dropout 0.5", "f32[N, 6]", 0},
    {"embedding", "tokens\n", "embedding 7 5", "f32[N, S, 5]", 35},
    {"unfold", IMAGE, "unfold", "f32[N, 72, 3]", 0},
    {"classtoken", PIXELS, "classtoken", "f32[N, 17, 3]", 3},
    {"position", PIXELS, "position", "f32[N, 16, 3]", 48},
    {"position", WORDS, "position 20", "f32[N, S, 8]", 560},
    {"type", WORDS, "type", "f32[N, S, 8]", 416},
    {"attention", WORDS, "attention 2", "f32[N, S, 8]", 616},
    {"attention", PIXELS, "attention 3", "f32[N, 16, 3]", 36},
    {"first", WORDS, "first", "f32[N, 8]", 400},
    {"mean", WORDS, "mean", "f32[N, 8]", 400},
    {"mean", PIXELS, "mean", "f32[N, 3]", 0},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static void shapes_and_parameters(void **state) {
    (void)state;
    for (int i = 0; i < N_ROWS; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s\n", rows[i].before, rows[i].line);
        hn_model *m = made_text(text, NULL);
        if (strcmp(made_output(m), rows[i].type) != 0 || made_params(m) != rows[i].params)
            fail_msg("%s: %s and %lld parameters, expected %s and %lld", rows[i].line,
                     made_output(m), (long long)made_params(m), rows[i].type,
                     (long long)rows[i].params);
        hn_model_destroy(m);
    }
}

static void all_are_tested(void **state) {
    (void)state;
    for (int i = 0; i < hn_n_layers; i++) {
        bool found = false;
        for (int k = 0; k < N_ROWS; k++)
            found = found || !strcmp(rows[k].layer, hn_layers[i]->name);
        if (!found) fail_msg("%s has no row here", hn_layers[i]->name);
        if (i > 0) assert_true(strcmp(hn_layers[i - 1]->name, hn_layers[i]->name) < 0);
    }
}

/* Batch normalization begins as the identity but for its weight, and dropout of rate 0 is nothing. */
static void first_values(void **state) {
    (void)state;
    hn_model *m = made_text("vector 4\nbn gamma=0.5\ndropout 0\n", NULL);
    assert_int_equal(m->graph->n_nodes, 1);
    static const struct {
        const char *name;
        float value;
    } want[] = {
        {"bn1.weight", 0.5f}, {"bn1.bias", 0}, {"bn1.running_mean", 0}, {"bn1.running_var", 1}};
    for (int i = 0; i < 4; i++) {
        const hn_value *v = hn_graph_value(m->graph, want[i].name);
        assert_non_null(v);
        for (int k = 0; k < 4; k++)
            assert_true(((const float *)v->constant->data)[k] == want[i].value);
    }
    hn_model_destroy(m);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    made_fails(WORDS "attention 3\n", NULL, HONE_E_SHAPE,
               "8 features, wanted a multiple of the 3 heads");
    made_fails(WORDS "position\n", NULL, HONE_E_FORMAT, "wanted length=");
    made_fails(PIXELS "position 9\n", NULL, HONE_E_SHAPE, "places for 9 tokens, wanted the 16");
    made_fails(IMAGE "subsample 2\n", NULL, HONE_E_SHAPE, "wanted at least the 3 in");
    made_fails(IMAGE "maxpool 2 pad=2\n", NULL, HONE_E_SHAPE, "at most half of the kernel");
    made_fails(VECTOR "dropout 1\n", NULL, HONE_E_FORMAT,
               "rate is 1, wanted a number from 0 to 0.999");
    made_fails("image 16777216 65536 65536\nflatten\n", NULL, HONE_E_LIMIT, "features, at most");
    made_fails("image 70000 1 70000\nrelu\n", NULL, HONE_E_FORMAT, "width is 70000");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(shapes_and_parameters), TEST(all_are_tested),
                                       TEST(first_values), TEST(what_does_not_fit_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
