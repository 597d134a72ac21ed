#include <stdlib.h>

#include "cli.h"

/* "91.5%" or "0.915"; false after saying what is wrong. */
static bool share_of(const args *a, const char *name, double *v) {
    const char *text = value_of(a, name);
    if (text == NULL) return true;
    char *end;
    double x = strtod(text, &end);
    bool number = end != text;
    if (*end == '%') {
        x /= 100;
        end++;
    }
    if (!number || *end != '\0' || !(x >= 0 && x <= 1)) {
        complain("%s wants a share such as 91.5%% or 0.915, got '%s'", name, text);
        return false;
    }
    *v = x;
    return true;
}

static double share(int64_t part, int64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}

static exit_code write_results(const args *a, const char *spec, const hone_eval_result *r) {
    json j;
    results_begin(&j, a);
    results_object(&j, a);
    json_text(&j, "model", a->argument[0]);
    json_text(&j, "data", spec);
    json_int(&j, "samples", r->samples);
    json_int(&j, "classes", r->classes);
    json_int(&j, "top1_correct", r->top1);
    json_number(&j, "top1", share(r->top1, r->samples));
    json_count(&j, "top5_correct", r->top5);
    if (r->top5 >= 0)
        json_number(&j, "top5", share(r->top5, r->samples));
    else
        json_text(&j, "top5", NULL);
    json_number(&j, "seconds", r->seconds);
    json_end(&j, '}');
    return results_end(&j, a);
}

static void print_text(const char *spec, const hone_eval_result *r) {
    line("%-10s%lld of %s", "samples", (long long)r->samples, spec);
    line("%-10s%.2f %%  (%lld correct)", "top-1", 100 * share(r->top1, r->samples),
         (long long)r->top1);
    if (r->top5 >= 0)
        line("%-10s%.2f %%  (%lld correct)", "top-5", 100 * share(r->top5, r->samples),
             (long long)r->top5);
    note("%.2f s, %.1f samples/s", r->seconds,
         r->seconds > 0 ? (double)r->samples / r->seconds : 0);
}

static hone_status evaluate(const args *a, const char *spec, const hone_session_options *so,
                            hone_eval_options *eo, hone_eval_result *r, hone_error *err) {
    hone_model *m = NULL;
    hone_session *s = NULL;
    hone_dataset *d = NULL;
    progress p;
    eo->progress = progress_step;
    eo->progress_ctx = &p;
    progress_start(&p, "eval", "samples");
    hone_status status = load_model(a, &m, err);
    if (status == HONE_OK) status = hone_session_create(&s, m, so, err);
    if (status == HONE_OK) status = hone_dataset_open(&d, spec, err);
    if (status == HONE_OK) status = hone_session_eval(s, d, eo, r, err);
    if (status == HONE_OK) note_tuning(hone_session_tuning(s));
    progress_end(&p);
    hone_dataset_destroy(d);
    hone_session_destroy(s);
    hone_model_destroy(m);
    return status;
}

static exit_code run(const args *a) {
    const char *spec = value_of(a, "--data");
    hone_session_options so;
    hone_eval_options eo;
    hone_eval_options_init(&eo);
    double wanted = 0;
    if (spec == NULL) {
        complain("eval wants --data KIND:PATH, for example --data synthetic:digits");
        return EXIT_USAGE;
    }
    if (!session_options(a, &so) || !number_of(a, "--batch", 1, INT32_MAX, &eo.batch) ||
        !share_of(a, "--min-accuracy", &wanted))
        return EXIT_USAGE;
    hone_eval_result r;
    hone_error err;
    if (evaluate(a, spec, &so, &eo, &r, &err) != HONE_OK) return fail_with(&err);
    if (!has(a, "--json")) print_text(spec, &r);
    exit_code code = write_results(a, spec, &r);
    double found = share(r.top1, r.samples);
    if (found >= wanted) return code;
    complain("top-1 is %.2f %%, below the %.2f %% asked for", 100 * found, 100 * wanted);
    return EXIT_FAILED;
}

static const option_def options[] = {
    {"--data", 'd', "SPEC", "labelled samples, KIND:PATH[,key=value...]", false},
    {"--batch", 'b', "N", "samples per run (default: the model's, or 16)", false},
    {"--min-accuracy", 0, "P", "exit with 1 if top-1 is below P (91.5% or 0.915)", false},
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_RESERVE,
    OPTION_TUNE,
    OPTION_TUNE_CACHE,
    OPTION_ISA,
    OPTION_BACKEND,
    OPTION_MAX_MEMORY,
    OPTION_NO_SHARING,
    OPTION_NO_MMAP,
    OPTION_JSON,
    OPTION_REPORT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_eval = {
    .name = "eval",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "accuracy of a classifier on labelled data",
    .options = options,
    .run = run,
};
