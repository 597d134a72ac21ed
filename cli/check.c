#include <stdlib.h>
#include <string.h>

#include "write.h"

/* What was found in a model. */
typedef struct checked {
    const char *model;
    size_t n;
    char **findings;
    bool conforms;
    const char *error; /* NULL: it could be read */
    bool print;        /* as they are found, */
    bool named;        /* with the model's name */
} checked;

#include "schema/check.def"

static void on_finding(void *ctx, const char *text) {
    checked *c = ctx;
    c->findings = must(realloc(c->findings, (c->n + 1) * sizeof *c->findings));
    c->findings[c->n++] = must(strdup(text));
    if (c->print) line("%s%s%s", c->named ? c->model : "", c->named ? ": " : "", text);
}

static exit_code check_one(const args *a, json *j, const char *path) {
    hone_error err;
    checked c = {.model = path, .print = !has(a, "--json"), .named = a->n > 1};
    size_t n = 0;
    hone_status status = hone_model_check(model_path(path), on_finding, &c, &n, &err);
    c.conforms = status == HONE_OK && n == 0;
    if (status != HONE_OK) name_standard_input(err.text);
    if (status != HONE_OK) c.error = err.text;
    write_check(j, a, &c);
    for (size_t i = 0; i < c.n; i++) free(c.findings[i]);
    free(c.findings);
    if (c.conforms && c.print) line("%s conforms", path);
    if (status != HONE_OK) return fail_with(&err);
    if (n > 0) note("%s: %zu finding%s", path, n, n == 1 ? "" : "s");
    return c.conforms ? EXIT_DONE : EXIT_FAILED;
}

/* All of them, whatever is wrong with one; the highest exit code. */
static exit_code run(const args *a) {
    json j;
    exit_code worst = EXIT_DONE;
    results_begin(&j, a);
    for (int i = 0; i < a->n; i++) {
        exit_code code = check_one(a, &j, a->argument[i]);
        if (code > worst) worst = code;
    }
    results_end(&j, a);
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
