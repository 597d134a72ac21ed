#include "cli.h"

typedef struct findings {
    bool as_json;
    json j;
    const char *model; /* to be said with each finding; NULL: there is only one */
} findings;

static void on_finding(void *ctx, const char *text) {
    findings *f = ctx;
    json_text(&f->j, NULL, text);
    if (!f->as_json)
        line("%s%s%s", f->model != NULL ? f->model : "", f->model != NULL ? ": " : "", text);
}

static exit_code check_one(const args *a, findings *f, const char *path) {
    hone_error err;
    size_t n = 0;
    results_object(&f->j, a);
    json_text(&f->j, "model", path);
    json_begin(&f->j, "findings", '[');
    hone_status status = hone_model_check(model_path(path), on_finding, f, &n, &err);
    bool conforms = status == HONE_OK && n == 0;
    if (status != HONE_OK) name_standard_input(err.text);
    json_end(&f->j, ']');
    json_bool(&f->j, "conforms", conforms);
    json_text(&f->j, "error", status != HONE_OK ? err.text : NULL);
    json_end(&f->j, '}');
    if (conforms && !f->as_json) line("%s conforms", path);
    if (status != HONE_OK) return fail_with(&err);
    if (n > 0) note("%s: %zu finding%s", path, n, n == 1 ? "" : "s");
    return conforms ? EXIT_DONE : EXIT_FAILED;
}

/* All of them, whatever is wrong with one; the highest exit code. */
static exit_code run(const args *a) {
    findings f = {.as_json = has(a, "--json")};
    exit_code worst = EXIT_DONE;
    results_begin(&f.j, a);
    for (int i = 0; i < a->n; i++) {
        f.model = a->n > 1 ? a->argument[i] : NULL;
        exit_code code = check_one(a, &f, a->argument[i]);
        if (code > worst) worst = code;
    }
    results_end(&f.j, a);
    return worst;
}

static const option_def options[] = {
    OPTION_TIME_LIMIT, OPTION_JSON, OPTION_QUIET, OPTION_VERBOSE, {0}};

const verb verb_check = {
    .name = "check",
    .usage = "MODEL...",
    .n_arguments = 1,
    .most_arguments = MOST_ARGUMENTS,
    .summary = "every conformance error of ONNX files",
    .options = options,
    .run = run,
};
