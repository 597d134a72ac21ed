#include "cli.h"

typedef struct report {
    bool as_json;
    json j;
} report;

static void on_finding(void *ctx, const char *text) {
    report *r = ctx;
    if (r->as_json)
        json_text(&r->j, NULL, text);
    else
        line("%s", text);
}

static exit_code run(const args *a) {
    report r = {.as_json = has(a, "--json")};
    const char *path = a->argument[0];
    hone_error err;
    size_t n = 0;
    if (r.as_json) {
        json_begin(&r.j, NULL, '{');
        json_text(&r.j, "schema", "hone.check/1");
        json_text(&r.j, "model", path);
        json_begin(&r.j, "findings", '[');
    }
    hone_status status = hone_model_check(path, on_finding, &r, &n, &err);
    bool conforms = status == HONE_OK && n == 0;
    if (r.as_json) {
        json_end(&r.j, ']');
        json_bool(&r.j, "conforms", conforms);
        json_text(&r.j, "error", status != HONE_OK ? err.text : NULL);
        json_end(&r.j, '}');
    } else if (conforms) {
        line("%s conforms", path);
    }
    if (status != HONE_OK) return fail_with(&err);
    if (n > 0) note("%s: %zu finding%s", path, n, n == 1 ? "" : "s");
    return conforms ? EXIT_DONE : EXIT_FAILED;
}

static const option_def options[] = {OPTION_JSON, OPTION_QUIET, OPTION_VERBOSE, {0}};

const verb verb_check = {
    .name = "check",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "every conformance error of an ONNX file",
    .options = options,
    .run = run,
};
