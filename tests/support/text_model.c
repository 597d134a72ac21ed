#include "support/text_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "ir/text.h"

enum { MOST_MODELS = 64, MOST_TENSORS = 16 };

hn_allocator model_mem;
static hn_model *models[MOST_MODELS];
static int n_models;
static hn_error err;

int model_setup(void **state) {
    (void)state;
    hn_allocator_init(&model_mem);
    n_models = 0;
    return 0;
}

int model_teardown(void **state) {
    (void)state;
    for (int i = 0; i < n_models; i++) hn_model_destroy(models[i]);
    size_t left = atomic_load(&model_mem.blocks);
    if (left != 0) print_error("%zu blocks leak\n", left);
    return left != 0;
}

static hn_model *parse(const char *text) {
    hn_model *m;
    if (hn_text_parse(&m, text, strlen(text), NULL, &model_mem, &err) != HONE_OK)
        fail_msg("%s in:\n%s", err.text, text);
    hn_model_bind_ops(m);
    return m;
}

hn_tensor *random_tensor_of(const hn_value *v, hn_rng *rng) {
    hn_tensor *t;
    int64_t dims[HONE_MAX_RANK];
    assert_true(hn_shape_is_const(&v->type.shape, dims));
    assert_int_equal(hn_tensor_create(&t, &model_mem, HN_MEM_DATA, v->type.dtype,
                                      v->type.shape.rank, dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < t->n; i++) hn_store_f64(t->dtype, t->data, i, 2 * hn_rng_f64(rng) - 1);
    return t;
}

hn_model *model_read(const char *text) {
    assert_true(n_models < MOST_MODELS);
    return models[n_models++] = parse(text);
}

hn_model *model_inferred(const char *text) {
    for (int k = 0;; k++) {
        hn_model *m = parse(text);
        model_mem.fail_after = k;
        hone_status s = hn_model_infer(m, NULL, &err);
        model_mem.fail_after = -1;
        hn_model_destroy(m);
        if (s == HONE_OK) break;
        if (s != HONE_E_NOMEM) fail_msg("%s", err.text);
    }
    hn_model *m = model_read(text);
    if (hn_model_infer(m, NULL, &err) != HONE_OK || hn_model_verify(m, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return m;
}

static void expect_failure(hone_status s, const char *message) {
    if (s == HONE_OK) fail_msg("no failure, expected '%s'", message);
    if (strstr(err.text, message) == NULL) fail_msg("'%s', expected '%s'", err.text, message);
}

void model_infer_fails(const char *text, const char *message) {
    expect_failure(hn_model_infer(model_read(text), NULL, &err), message);
}

hn_tensor *tensor_of(const char *text) {
    char whole[1024];
    const char *brace = strchr(text, '{');
    assert_non_null(brace);
    snprintf(whole, sizeof whole, "m () => () <%.*s tensor = %s> {}", (int)(brace - text), text,
             brace);
    hn_model *m = parse(whole);
    hn_tensor *t = hn_tensor_ref(hn_graph_value(m->graph, "tensor")->constant);
    hn_model_destroy(m);
    return t;
}

static int make_tensors(const char *const *texts, hn_tensor **out) {
    int n = 0;
    for (; texts[n] != NULL; n++) {
        assert_true(n < MOST_TENSORS);
        out[n] = texts[n][0] != '\0' ? tensor_of(texts[n]) : NULL;
    }
    return n;
}

static void release(hn_tensor **t, int n) {
    for (int i = 0; i < n; i++) hn_tensor_unref(t[i]);
}

void model_runs(hn_model *m, const char *const *inputs, const char *const *wanted) {
    hn_tensor *in[MOST_TENSORS], *want[MOST_TENSORS], *out[MOST_TENSORS];
    int n_in = make_tensors(inputs, in), n_out = make_tensors(wanted, want);
    assert_int_equal(n_in, m->graph->n_inputs);
    assert_int_equal(n_out, m->graph->n_outputs);
    hn_exec_options o = {.alloc = &model_mem, .seed = 1};
    for (int k = 0;; k++) {
        model_mem.fail_after = k;
        hone_status s = hn_graph_run(m->graph, &o, (const hn_tensor *const *)in, out, &err);
        model_mem.fail_after = -1;
        if (s == HONE_OK) break;
        if (s != HONE_E_NOMEM) fail_msg("%s", err.text);
    }
    for (int i = 0; i < n_out; i++) {
        char a[200], b[200];
        if (want[i] == NULL || hn_tensor_equal(out[i], want[i])) continue;
        if (!hn_tensor_same_dims(out[i], want[i]->rank, want[i]->dims) ||
            out[i]->dtype != want[i]->dtype)
            fail_msg("output %d is %s, expected %s", i, hn_tensor_text(out[i], a, sizeof a),
                     hn_tensor_text(want[i], b, sizeof b));
        for (int64_t k = 0; k < out[i]->n; k++)
            if (hn_tensor_f64(out[i], k) != hn_tensor_f64(want[i], k))
                fail_msg("output %d: element %lld is %g, expected %g", i, (long long)k,
                         hn_tensor_f64(out[i], k), hn_tensor_f64(want[i], k));
        fail_msg("output %d has other bits", i);
    }
    release(in, n_in);
    release(want, n_out);
    release(out, n_out);
}

void model_run_fails(hn_model *m, const char *const *inputs, const char *message) {
    hn_tensor *in[MOST_TENSORS], *out[MOST_TENSORS];
    int n_in = make_tensors(inputs, in);
    assert_int_equal(n_in, m->graph->n_inputs);
    hn_exec_options o = {.alloc = &model_mem};
    expect_failure(hn_graph_run(m->graph, &o, (const hn_tensor *const *)in, out, &err), message);
    release(in, n_in);
}

hn_value *value_of(hn_model *m, const char *name) {
    for (int i = 0; i < m->n_graphs; i++) {
        hn_value *v = hn_graph_value(m->graphs[i], name);
        if (v != NULL) return v;
    }
    fail_msg("there is no value '%s'", name);
    return NULL;
}

const char *type_of(hn_model *m, const char *name) {
    static char text[512];
    const hn_type *t = &value_of(m, name)->type;
    int n = snprintf(text, sizeof text, "%s", hone_dtype_name(t->dtype));
    hn_shape_text(&t->shape, text + n, sizeof text - (size_t)n);
    return text;
}

const char *known_of(hn_model *m, const char *name) {
    static char text[1024];
    const hn_value *v = value_of(m, name);
    if (v->n_known == 0) return "?";
    size_t n = (size_t)snprintf(text, sizeof text, "{");
    for (int i = 0; i < v->n_known; i++) {
        char dim[256];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? ", " : "",
                              hn_dim_text(v->known[i], dim, sizeof dim));
    }
    snprintf(text + n, sizeof text - n, "}");
    return text;
}
