#include "cli.h"

typedef struct findings {
    bool as_json;
    json j;
} findings;

static void on_finding(void *ctx, const char *text) {
    findings *f = ctx;
    if (f->as_json)
        json_text(&f->j, NULL, text);
    else
        printf("%s\n", text);
}

static exit_code run(const args *a) {
    hone_error err;
    findings f = {.as_json = has(a, "--json")};
    size_t n = 0;
    const char *path = a->argument[0];
    if (f.as_json) {
        json_begin(&f.j, NULL, '{');
        json_text(&f.j, "schema", "hone.check/1");
        json_text(&f.j, "model", path);
        json_begin(&f.j, "findings", '[');
    }
    hone_status status = hone_model_check(path, on_finding, &f, &n, &err);
    if (f.as_json) {
        json_end(&f.j, ']');
        json_bool(&f.j, "conforms", status == HONE_OK && n == 0);
        json_end(&f.j, '}');
    }
    if (status != HONE_OK) return fail_with(&err);
    if (n == 0 && !f.as_json) printf("%s conforms\n", path);
    if (n > 0 && !has(a, "--quiet")) complain("%s: %zu finding%s", path, n, n == 1 ? "" : "s");
    return n > 0 ? EXIT_FAILED : EXIT_DONE;
}

static const option_def options[] = {
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_check = {
    .name = "check",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "every conformance error of an ONNX file",
    .options = options,
    .run = run,
};
