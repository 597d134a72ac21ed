#include <stdlib.h>
#include <string.h>

#include "write.h"

/* What a model comes to, before or after. */
typedef struct measures {
    int64_t nodes, macs, params_bytes, file_bytes;
} measures;

static hone_status measure(hone_model *m, measures *out, hone_error *err) {
    hone_inspection *in;
    hone_status status = hone_model_inspect(m, NULL, 0, &in, err);
    if (status != HONE_OK) return status;
    *out = (measures){(int64_t)in->n_nodes, in->macs, in->params_bytes, in->file_bytes};
    hone_inspection_destroy(in);
    return HONE_OK;
}

/* ---- options ---- */

/* The names of all passes, ending with NULL; free it. */
static const char **pass_names(void) {
    size_t n = hone_n_passes();
    const char **names = must(calloc(n + 1, sizeof *names));
    for (size_t i = 0; i < n; i++) {
        hone_pass_info p;
        hone_pass(i, &p, NULL);
        names[i] = p.name;
    }
    return names;
}

/* Every word of a list separated by commas is a pass; false after saying which is not. */
static bool are_passes(const char *list) {
    const char **names = pass_names();
    char *copy = must(strdup(list != NULL ? list : "")), *rest = NULL;
    bool good = true;
    for (char *w = strtok_r(copy, ",", &rest); w != NULL && good; w = strtok_r(NULL, ",", &rest)) {
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i], w) != 0) i++;
        good = names[i] != NULL;
        if (!good) has_no("hone", "pass", w, names);
    }
    free(copy);
    free(names);
    return good;
}

/* --set-dim INPUT:AXIS=SIZE; a name may hold both signs. Cuts the option's text. */
static bool read_setting(char *text, hone_dim_setting *s) {
    char *eq = strrchr(text, '=');
    if (eq != NULL) *eq = '\0';
    char *colon = eq != NULL ? strrchr(text, ':') : NULL, *end;
    long axis = colon != NULL ? strtol(colon + 1, &end, 10) : 0;
    if (colon == NULL || end == colon + 1 || *end != '\0' || axis < -HONE_MAX_RANK ||
        axis > HONE_MAX_RANK) {
        if (eq != NULL) *eq = '=';
        complain("--set-dim wants INPUT:AXIS=N or INPUT:AXIS=NAME, got '%s'", text);
        return false;
    }
    *colon = '\0';
    *s = (hone_dim_setting){text, (int)axis, eq + 1};
    return true;
}

typedef struct job {
    const char *input, *output;
    hone_simplify_options how;
    hone_save_options save;
    size_t n_settings;
    hone_dim_setting settings[MOST_OPTIONS];
    measures before, after;
    hone_pass_result *results;
} job;

static bool read_paths(const args *a, job *j) {
    j->input = a->argument[0];
    j->output = value_of(a, "--output");
    if (j->output == NULL)
        complain("--output FILE says where the simplified model goes");
    else
        return true;
    return false;
}

static bool read_options(const args *a, job *j) {
    int64_t level = 3, opset = 0;
    if (!read_paths(a, j)) return false;
    if (!number_of(a, "--level", 0, 3, &level) || !number_of(a, "--opset", 1, INT32_MAX, &opset))
        return false;
    hone_simplify_options_init(&j->how);
    hone_save_options_init(&j->save);
    j->how.level = (int)level;
    j->how.opset = j->save.opset = opset;
    j->how.without = value_of(a, "--without");
    j->how.stop_after = value_of(a, "--stop-after");
    if (!are_passes(j->how.without) || !are_passes(j->how.stop_after)) return false;
    char *text;
    for (int k = 0; (text = value_at(a, "--set-dim", k)) != NULL; k++)
        if (!read_setting(text, &j->settings[j->n_settings++])) return false;
    return true;
}

/* ---- what is printed ---- */

typedef struct fired_pass {
    const char *name;
    const hone_pass_result *result;
} fired_pass;

static const char *pass_name(size_t i) {
    hone_pass_info p;
    hone_pass(i, &p, NULL);
    return p.name;
}

#include "schema/simplify.def"

static exit_code write_results(const args *a, const job *w) {
    json j;
    results_begin(&j, a);
    write_simplify(&j, a, w);
    return results_end(&j, a);
}

static void print_row(table *t, const char *what, int64_t before, int64_t after,
                      const char *(*text)(int64_t n, char *buf)) {
    char a[32], b[32];
    table_cell(t, "%s", what);
    table_cell(t, "%s", text(before, a));
    table_cell(t, "%s", text(after, b));
}

static void print_text(const job *w) {
    static const char *const pass_heads[] = {"pass", "fired", "what it does"};
    static const char *const heads[] = {"", "before", "after"};
    table *t = table_new(pass_heads, "lrh");
    int64_t fired = 0;
    for (size_t i = 0; i < hone_n_passes(); i++) {
        hone_pass_info p;
        hone_pass(i, &p, NULL);
        if (w->results[i].fired == 0) continue;
        fired += w->results[i].fired;
        table_cell(t, "%s", p.name);
        table_cell(t, "%lld", (long long)w->results[i].fired);
        table_cell(t, "%s", p.help);
    }
    if (fired == 0) {
        table_cell(t, "%s", "none");
        table_cell(t, "%d", 0);
        table_cell(t, "%s", "");
    }
    table_print(t);
    line("%s", "");
    t = table_new(heads, "lrr");
    print_row(t, "nodes", w->before.nodes, w->after.nodes, human_count);
    print_row(t, "MACs", w->before.macs, w->after.macs, human_count);
    print_row(t, "parameters", w->before.params_bytes, w->after.params_bytes, human_bytes);
    print_row(t, "file", w->before.file_bytes, w->after.file_bytes, human_bytes);
    table_print(t);
}

/* ---- the whole ---- */

static hone_status simplify(hone_model *m, job *j, hone_error *err) {
    hone_status status = measure(m, &j->before, err);
    if (status == HONE_OK && j->n_settings > 0)
        status = hone_model_set_dims(m, j->settings, j->n_settings, err);
    if (status == HONE_OK) status = hone_model_simplify(m, &j->how, j->results, err);
    if (status == HONE_OK) status = hone_model_save(m, j->output, &j->save, err);
    return status == HONE_OK ? measure(m, &j->after, err) : status;
}

static exit_code run(const args *a) {
    job j = {0};
    hone_error err;
    hone_model *m = NULL;
    if (!read_options(a, &j)) return EXIT_USAGE;
    j.results = must(calloc(hone_n_passes(), sizeof *j.results));
    hone_status status = load_model(a, &m, &err);
    if (status == HONE_OK) status = simplify(m, &j, &err);
    exit_code code = EXIT_DONE;
    if (status != HONE_OK) {
        code = fail_with(&err);
        if (m != NULL && status == HONE_E_ARG) code = EXIT_USAGE; /* --set-dim, --output */
    } else {
        if (!has(a, "--json")) print_text(&j);
        code = write_results(a, &j);
    }
    hone_model_destroy(m);
    free(j.results);
    return code;
}

static const option_def options[] = {
    {"--output", 'o', ">FILE", "write the result here: the simplified model", false, NULL},
    {"--level", 'l', "0..3", "how much to simplify (default: 3)", false, NULL},
    {"--without", 0, "PASS,...", "leave out these graph passes", false, "--disable"},
    {"--stop-after", 0, "PASS", "stop after the first run of this pass", false, NULL},
    {"--set-dim", 0, "INPUT:AXIS=N", "fix an axis of an input, or name it to free it", true, NULL},
    {"--opset", 0, "N", "save at this opset (default: the model's own)", false, NULL},
    OPTION_TIME_LIMIT,
    OPTION_NO_MMAP,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_simplify = {
    .name = "simplify",
    .usage = "MODEL -o FILE",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "rewrite a model to compute the same with fewer nodes",
    .options = options,
    .run = run,
};
