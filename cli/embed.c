/* hone embed: what programs do before and after a model becomes part of it. The verb is a recipe of
 * one line, whose parameters are its options. */
#include <stdlib.h>
#include <string.h>

#include "write.h"

/* A model before or after. */
typedef struct embedded_model {
    const hone_model *m;
    hone_inspection *in;
} embedded_model;

typedef struct job {
    const args *a;
    const char *output;
    char *recipe;
    hone_model *model, *made;
    hone_quantization *report;
    embedded_model before, after;
} job;

static hone_value_info input_of(const embedded_model *e, size_t i) {
    return value_info(e->m, true, i);
}

static hone_value_info output_of(const embedded_model *e, size_t i) {
    return value_info(e->m, false, i);
}

static bool is_folded(const hone_shrunk_layer *part) { return part->weights > 0; }

#include "schema/embed.def"

static exit_code write_results(const job *w) {
    json j;
    results_begin(&j, w->a);
    write_embed(&j, w->a, w);
    return results_end(&j, w->a);
}

/* ---- what is printed ---- */

static void print_values(table *t, const char *what, const embedded_model *e, bool inputs) {
    size_t n = inputs ? hone_model_n_inputs(e->m) : hone_model_n_outputs(e->m);
    for (size_t i = 0; i < n; i++) {
        hone_value_info v = value_info(e->m, inputs, i);
        char *type = type_text(&v);
        table_cell(t, "%s", i == 0 ? what : "");
        table_cell(t, "%s", v.name);
        table_cell(t, "%s", type);
        free(type);
    }
}

static void print_text(const job *w) {
    static const char *const heads[] = {"part", "operator", "where", "not in weights, because"};
    table *t = table_new(heads, "llth");
    for (size_t i = 0; i < w->report->n_changes; i++) {
        const hone_shrunk_layer *part = &w->report->changes[i];
        table_cell(t, "%s", part->layer);
        table_cell(t, "%s", part->op);
        table_cell(t, "%s", part->what);
        table_cell(t, "%s", part->why_not != NULL ? part->why_not : "");
    }
    table_print(t);
    line("%s", "");
    t = table_new(NULL, "ltl");
    print_values(t, "inputs before", &w->before, true);
    print_values(t, "inputs now", &w->after, true);
    print_values(t, "outputs before", &w->before, false);
    print_values(t, "outputs now", &w->after, false);
    table_print(t);
    line("%s", "");
    line("model  %s", w->output);
}

/* ---- the whole ---- */

static bool read_options(job *j) {
    const args *a = j->a;
    j->output = value_of(a, "--output");
    if (j->output == NULL) {
        complain("--output FILE says where the result goes");
        return false;
    }
    j->recipe = recipe_add_options(recipe_add(NULL, "hone recipe 2\n"), a);
    return true;
}

static hone_status look_at(embedded_model *e, hone_model *m, hone_error *err) {
    e->m = m;
    return hone_model_inspect(m, NULL, 0, &e->in, err);
}

static hone_status embed(job *j, hone_error *err) {
    hone_status status = load_model(j->a, &j->model, err);
    if (status == HONE_OK) status = look_at(&j->before, j->model, err);
    if (status == HONE_OK)
        status = hone_model_transform(&j->made, j->model, j->recipe, NULL, NULL, &j->report, err);
    if (status == HONE_OK) status = hone_model_save(j->made, j->output, NULL, err);
    return status == HONE_OK ? look_at(&j->after, j->made, err) : status;
}

static exit_code run(const args *a) {
    job j = {.a = a};
    hone_error err;
    exit_code code = EXIT_USAGE;
    if (read_options(&j)) {
        hone_status status = embed(&j, &err);
        if (status != HONE_OK) {
            code = fail_with(&err);
            bool asked = status == HONE_E_ARG || status == HONE_E_FORMAT || status == HONE_E_SHAPE;
            if (j.model != NULL && asked) code = EXIT_USAGE;
        } else {
            for (size_t i = 0; i < j.report->n_warnings; i++)
                note("warning: %s", j.report->warnings[i]);
            if (!has(a, "--json")) print_text(&j);
            code = write_results(&j);
        }
    }
    hone_inspection_destroy(j.before.in);
    hone_inspection_destroy(j.after.in);
    hone_quantization_destroy(j.report);
    hone_model_destroy(j.made);
    hone_model_destroy(j.model);
    free(j.recipe);
    return code;
}

static const option_def options[] = {
    {"--output", 'o', ">FILE", "write the result here: the model with what was embedded", false,
     NULL},
    OPTION_TIME_LIMIT,
    OPTION_NO_MMAP,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_embed = {
    .name = "embed",
    .usage = "MODEL -o FILE",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "put what is done before and after a model into it",
    .options = options,
    .transform = "embed",
    .run = run,
};
