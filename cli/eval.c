#include <stdlib.h>

#include "cli.h"

/* "91.5%" or "0.915"; false after saying what is wrong. */
static bool share_of(const args *a, const char *name, double *v) {
    const char *text = value_of(a, name);
    if (text == NULL) return true;
    char *end;
    double x = strtod(text, &end);
    if (*end == '%') {
        x /= 100;
        end++;
    }
    if (end == text || *end != '\0' || !(x >= 0 && x <= 1)) {
        complain("%s wants a share such as 91.5%% or 0.915, got '%s'", name, text);
        return false;
    }
    *v = x;
    return true;
}

static exit_code run(const args *a) {
    hone_error err;
    hone_session_options o;
    hone_eval_options how;
    hone_eval_options_init(&how);
    double wanted = -1;
    const char *spec = value_of(a, "--data");
    if (spec == NULL) {
        complain("eval wants --data KIND:PATH; try --data synthetic:digits");
        return EXIT_USAGE;
    }
    if (!session_options(a, &o) || !number_of(a, "--batch", 1, INT32_MAX, &how.batch) ||
        !share_of(a, "--min-accuracy", &wanted))
        return EXIT_USAGE;
    hone_model *m = NULL;
    hone_session *s = NULL;
    hone_dataset *d = NULL;
    hone_eval_result r;
    progress p;
    hone_status status = hone_model_load(&m, a->argument[0], NULL, &err);
    if (status == HONE_OK) status = hone_session_create(&s, m, &o, &err);
    if (status == HONE_OK) status = hone_dataset_open(&d, spec, &err);
    progress_start(&p, a, "eval", "samples");
    how.progress = progress_step;
    how.progress_ctx = &p;
    if (status == HONE_OK) status = hone_eval(m, s, d, &how, &r, &err);
    progress_end(&p);
    exit_code code = EXIT_DONE;
    if (status != HONE_OK) {
        code = fail_with(&err);
    } else {
        double top1 = r.samples > 0 ? (double)r.top1 / (double)r.samples : 0;
        double top5 = r.samples > 0 ? (double)r.top5 / (double)r.samples : 0;
        double rate = r.seconds > 0 ? (double)r.samples / r.seconds : 0;
        if (has(a, "--json")) {
            json j = {0};
            json_begin(&j, NULL, '{');
            json_text(&j, "schema", "hone.eval/1");
            json_text(&j, "model", a->argument[0]);
            json_text(&j, "data", spec);
            json_int(&j, "samples", r.samples);
            json_int(&j, "classes", r.classes);
            json_int(&j, "top1_correct", r.top1);
            json_number(&j, "top1", top1);
            if (r.top5 >= 0) {
                json_int(&j, "top5_correct", r.top5);
                json_number(&j, "top5", top5);
            }
            json_number(&j, "seconds", r.seconds);
            json_end(&j, '}');
        } else {
            printf("%-10s%lld of %s\n", "samples", (long long)r.samples, spec);
            printf("%-10s%.2f %%  (%lld correct)\n", "top-1", 100 * top1, (long long)r.top1);
            if (r.top5 >= 0)
                printf("%-10s%.2f %%  (%lld correct)\n", "top-5", 100 * top5, (long long)r.top5);
            if (!has(a, "--quiet"))
                fprintf(stderr, "%-10s%.2f s, %.1f samples/s\n", "time", r.seconds, rate);
        }
        if (top1 < wanted) {
            complain("top-1 is %.2f %%, below the %.2f %% asked for", 100 * top1, 100 * wanted);
            code = EXIT_FAILED;
        }
    }
    hone_dataset_destroy(d);
    hone_session_destroy(s);
    hone_model_destroy(m);
    return code;
}

static const option_def options[] = {
    {"--data", 'd', "SPEC", "labelled samples, KIND:PATH[,key=value...]", false},
    {"--batch", 'b', "N", "samples per run (default: the model's, or 16)", false},
    {"--min-accuracy", 0, "P", "exit with 1 if top-1 is below P (91.5% or 0.915)", false},
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_MAX_MEMORY,
    OPTION_JSON,
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
