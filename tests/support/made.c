#include "support/made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "measure/inspect.h"
#include "ops/infer.h"
#include "support/scratch.h"

static hn_model *finished(hn_model *m) {
    hn_error err;
    if (hn_model_verify(m, &err) != HONE_OK || hn_model_infer(m, NULL, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return m;
}

hn_model *made_architecture(const char *name, const char *settings) {
    hn_error err;
    hn_model *m = NULL;
    char all[512];
    const hn_architecture *a = hn_architecture_find(name);
    if (a == NULL) fail_msg("there is no architecture %s", name);
    snprintf(all, sizeof all, "%s %s", a->settings, settings != NULL ? settings : "");
    hn_make_options o = {.seed = 1, .settings = all};
    if (hn_make(&m, name, a->text, strlen(a->text), &o, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return finished(m);
}

hn_model *made_text(const char *text, const char *settings) {
    hn_error err;
    hn_model *m = NULL;
    hn_make_options o = {.seed = 1, .settings = settings};
    if (hn_make(&m, "text", text, strlen(text), &o, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return finished(m);
}

void made_fails(const char *text, const char *settings, hone_status status, const char *part) {
    hn_error err;
    hn_model *m = NULL;
    hn_make_options o = {.seed = 1, .settings = settings, .most_params = 1 << 20};
    hone_status found = hn_make(&m, "text", text, strlen(text), &o, &scratch_mem, &err);
    if (found != status)
        fail_msg("%s, expected %s: %s", hone_status_name(found), hone_status_name(status),
                 found != HONE_OK ? err.text : text);
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, part);
    assert_null(m);
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

int64_t made_params(const hn_model *m) {
    int64_t n = 0;
    for (int i = 0; i < m->graph->n_values; i++) {
        const hn_value *v = m->graph->values[i];
        if (v->dead || v->constant == NULL || v->constant->dtype != HONE_DTYPE_F32) continue;
        if (v->constant->rank == 0 || ends_with(v->name, ".running_mean") ||
            ends_with(v->name, ".running_var"))
            continue;
        n += v->constant->n;
    }
    return n;
}

int64_t made_macs(hn_model *m) {
    hn_error err;
    hone_inspection *in;
    if (hn_model_inspect(m, NULL, 0, &scratch_mem, &in, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(in->macs_unknown, 0);
    int64_t n = in->macs;
    hn_inspection_destroy(in);
    return n;
}

const char *made_output(const hn_model *m) {
    static char text[128];
    char shape[100];
    assert_int_equal(m->graph->n_outputs, 1);
    const hn_value *v = m->graph->outputs[0].value;
    assert_string_equal(v->name, "logits");
    snprintf(text, sizeof text, "%s%s", hone_dtype_name(v->type.dtype),
             hn_shape_text(&v->type.shape, shape, sizeof shape));
    return text;
}

void made_counts(const char *name, const char *settings, int64_t params, int64_t macs,
                 const char *output) {
    hn_model *m = made_architecture(name, settings);
    int64_t found = made_params(m), found_macs = made_macs(m);
    if (found != params || found_macs != macs)
        fail_msg("%s %s: %lld parameters and %lld MACs, expected %lld and %lld", name, settings,
                 (long long)found, (long long)found_macs, (long long)params, (long long)macs);
    assert_string_equal(made_output(m), output);
    hn_model_destroy(m);
}
