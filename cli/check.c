#include "cli.h"

typedef struct findings {
    bool as_json;
    json j;
} findings;

static void on_finding(void *ctx, const char *text) {
    findings *f = ctx;
    json_text(&f->j, NULL, text);
    if (!f->as_json) line("%s", text);
}

static exit_code run(const args *a) {
    findings f = {.as_json = has(a, "--json")};
    const char *path = a->argument[0];
    hone_error err;
    size_t n = 0;
    results_begin(&f.j, a);
    results_object(&f.j, a);
    json_text(&f.j, "model", path);
    json_begin(&f.j, "findings", '[');
    hone_status status = hone_model_check(path, on_finding, &f, &n, &err);
    bool conforms = status == HONE_OK && n == 0;
    json_end(&f.j, ']');
    json_bool(&f.j, "conforms", conforms);
    json_text(&f.j, "error", status != HONE_OK ? err.text : NULL);
    json_end(&f.j, '}');
    results_end(&f.j, a);
    if (conforms && !f.as_json) line("%s conforms", path);
    if (status != HONE_OK) return fail_with(&err);
    if (n > 0) note("%s: %zu finding%s", path, n, n == 1 ? "" : "s");
    return conforms ? EXIT_DONE : EXIT_FAILED;
}

static const option_def options[] = {
    OPTION_TIME_LIMIT, OPTION_JSON, OPTION_QUIET, OPTION_VERBOSE, {0}};

const verb verb_check = {
    .name = "check",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "every conformance error of an ONNX file",
    .options = options,
    .run = run,
};
