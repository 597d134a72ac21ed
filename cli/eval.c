#include "eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GATES (2 * MOST_OPTIONS + 1)

/* A value a metric must not fall below, or exceed. */
typedef struct gate {
    const char *metric;
    double value;
    bool at_most;
} gate;

typedef struct job {
    int n_gates;
    gate gates[MOST_GATES];
    char *metrics; /* what to measure; NULL: what suits */
    command_metric command;
} job;

/* ---- options ---- */

/* "91.5%", "0.915" or "12"; false when it is not. */
static bool read_value(const char *text, double *v) {
    char *end;
    double x = strtod(text, &end);
    if (end == text) return false;
    if (*end == '%') {
        x /= 100;
        end++;
    }
    *v = x;
    return *end == '\0' && isfinite(x);
}

static bool add_accuracy(job *j, const args *a) {
    const char *text = value_of(a, "--min-accuracy");
    gate g = {.metric = "top1"};
    if (text == NULL) return true;
    if (!read_value(text, &g.value) || g.value < 0 || g.value > 1) {
        complain("--min-accuracy wants a share such as 91.5%% or 0.915, got '%s'", text);
        return false;
    }
    j->gates[j->n_gates++] = g;
    return true;
}

static bool add_gates(job *j, const args *a, const char *option, bool at_most) {
    char *text;
    for (int k = 0; (text = value_at(a, option, k)) != NULL; k++) {
        char *value = strchr(text, '=');
        gate g = {.metric = text, .at_most = at_most};
        if (value == NULL || value == text || !read_value(value + 1, &g.value)) {
            complain("%s wants METRIC=VALUE such as f1=91.5%% or mse=0.01, got '%s'", option, text);
            return false;
        }
        *value = '\0';
        j->gates[j->n_gates++] = g;
    }
    return true;
}

static bool is_metric(const char *name) {
    const char *known[64];
    size_t n = hone_n_metrics();
    hone_metric_info m;
    for (size_t i = 0; i < n && i < 63; i++)
        known[i] = hone_metric(i, &m, NULL) == HONE_OK ? m.name : "";
    known[n < 63 ? n : 63] = NULL;
    for (size_t i = 0; known[i] != NULL; i++)
        if (strcmp(known[i], name) == 0) return true;
    has_no("hone", "metric", name, known);
    return false;
}

/* The metrics asked for, and those that gates ask about. */
static bool choose_metrics(job *j, const args *a) {
    const char *asked = value_of(a, "--metric");
    bool by_command = j->command.text != NULL;
    if (asked != NULL && *asked == '\0') {
        complain("--metric wants names, as in --metric top1,f1");
        return false;
    }
    j->metrics = must(strdup(asked != NULL ? asked : by_command ? "" : "default"));
    char *list = must(strdup(j->metrics)), *rest = list, *word;
    bool known = true;
    while (known && *j->metrics != '\0' && (word = strsep(&rest, ",")) != NULL)
        known = strcmp(word, "default") == 0 || is_metric(word);
    free(list);
    if (!known) return false;
    for (int i = 0; i < j->n_gates; i++) {
        if (by_command && strcmp(j->gates[i].metric, "command") == 0) continue;
        if (!is_metric(j->gates[i].metric)) return false;
        char *longer;
        if (asprintf(&longer, "%s%s%s", j->metrics, *j->metrics != '\0' ? "," : "",
                     j->gates[i].metric) < 0)
            longer = must(NULL);
        free(j->metrics);
        j->metrics = longer;
    }
    return true;
}

/* ---- gates ---- */

static bool holds(const gate *g, const findings *f) {
    char found[32], wanted[32];
    for (size_t i = 0; i < f->n; i++) {
        const hone_metric_value *v = &f->values[i];
        if (strcmp(v->name, g->metric) != 0) continue;
        if (hone_gate_margin(v->value, g->value, 0, false, g->at_most) >= 0) return true;
        if (isnan(v->value))
            complain("%s is not defined for this model and data", g->metric);
        else
            complain("%s is %s, %s the %s asked for", g->metric, metric_text(v, v->value, found),
                     g->at_most ? "above" : "below", metric_text(v, g->value, wanted));
    }
    return false;
}

/* ---- evaluation ---- */

static exit_code show(const args *a, const job *j, const hone_evaluation *e) {
    bool by_command = j->command.text != NULL;
    findings f = {.spec = value_of(a, "--data"),
                  .e = e,
                  .n = e->n_metrics + by_command,
                  .per_class = has(a, "--per-class"),
                  .confusion = has(a, "--confusion")};
    f.values = must(calloc(f.n + 1, sizeof *f.values));
    if (e->n_metrics > 0) memcpy(f.values, e->metrics, e->n_metrics * sizeof *f.values);
    if (by_command) f.values[e->n_metrics] = j->command.value;
    if (!has(a, "--json")) print_findings(&f);
    exit_code code = write_findings(a, &f);
    for (int i = 0; i < j->n_gates; i++)
        if (!holds(&j->gates[i], &f) && code == EXIT_DONE) code = EXIT_FAILED;
    free(f.values);
    return code;
}

/* Names the first of the files that were left out. */
static void note_skipped(const hone_dataset *d) {
    const char *name;
    int64_t n = hone_dataset_skipped(d, 1, &name);
    if (n > 0)
        complain("warning: %lld samples cannot be decoded and were left out, '%s' among them",
                 (long long)n, name);
}

static exit_code measure(const args *a, job *j, hone_session *s, const hone_eval_options *eo) {
    hone_dataset *d = NULL;
    hone_evaluation *e = NULL;
    hone_error err;
    hone_status status = hone_dataset_open(&d, value_of(a, "--data"), &err);
    if (status == HONE_OK) status = hone_session_measure(s, d, eo, &e, &err);
    progress_end(eo->progress_ctx);
    if (d != NULL && !has(a, "--quiet")) note_skipped(d);
    if (status == HONE_OK && j->command.text != NULL) status = command_run(&j->command, &err);
    exit_code code = EXIT_DONE;
    if (status == HONE_OK) {
        note_tuning(hone_session_tuning(s));
        note_choices(s);
        code = show(a, j, e);
    } else {
        code = fail_with(&err);
    }
    hone_evaluation_destroy(e);
    hone_dataset_destroy(d);
    return code;
}

static exit_code evaluate(const args *a, job *j, const hone_session_options *so,
                          hone_eval_options *eo) {
    hone_model *m = NULL;
    hone_session *s = NULL;
    hone_error err;
    progress p;
    eo->metrics = j->metrics;
    eo->progress = progress_step;
    eo->progress_ctx = &p;
    if (j->command.text != NULL) {
        eo->on_batch = command_take;
        eo->on_batch_ctx = &j->command;
    }
    progress_start(&p, "eval", "samples");
    if (load_model(a, &m, &err) != HONE_OK) return fail_with(&err);
    exit_code code = open_session(a, m, so, &s);
    if (code == EXIT_DONE) code = measure(a, j, s, eo);
    if (code == EXIT_DONE || code == EXIT_FAILED) note_session_precision(s);
    command_end(&j->command);
    hone_session_destroy(s);
    hone_model_destroy(m);
    return code;
}

static exit_code run(const args *a) {
    hone_session_options so;
    hone_eval_options eo;
    hone_eval_options_init(&eo);
    job j = {.command = {.text = value_of(a, "--metric-command"), .seconds = 60}};
    if (value_of(a, "--data") == NULL) {
        complain("eval wants --data KIND:PATH, for example --data synthetic:digits");
        return EXIT_USAGE;
    }
    eo.outputs = value_of(a, "--score");
    eo.tables = has(a, "--per-class") || has(a, "--confusion") || has(a, "--report");
    bool valid = session_options(a, &so) && number_of(a, "--batch", 1, INT32_MAX, &eo.batch) &&
                 real_of(a, "--metric-time-limit", 0.001, 1e6, &j.command.seconds) &&
                 add_accuracy(&j, a) && add_gates(&j, a, "--min", false) &&
                 add_gates(&j, a, "--max", true) && choose_metrics(&j, a);
    eo.seed = so.seed;
    exit_code code = valid ? evaluate(a, &j, &so, &eo) : EXIT_USAGE;
    free(j.metrics);
    return code;
}

static const option_def options[] = {
    {"--data", 'd', "SPEC", "samples to use, with labels or targets: KIND:PATH[,key=value...]",
     false, NULL},
    {"--metric", 'm', "NAME,...", "what to measure (default: what suits the model and data)", false,
     NULL},
    {"--score", 0, "NAME,...", "outputs to score (default: the first)", false, "--output"},
    {"--per-class", 0, NULL, "print precision, recall and F1 of every class", false, NULL},
    {"--confusion", 0, NULL, "print a table of answers by label", false, NULL},
    {"--batch", 'b', "N", "samples per run (default: the model's, or 16)", false, NULL},
    {"--min-accuracy", 0, "P", "exit with 1 if top-1 is below P (91.5% or 0.915)", false, NULL},
    {"--min", 0, "METRIC=VALUE", "exit with 1 if a metric is below VALUE", true, NULL},
    {"--max", 0, "METRIC=VALUE", "exit with 1 if a metric is above VALUE", true, NULL},
    {"--metric-command", 0, "CMD",
     "measure with a command of your own, run on a folder of .npz files", false, NULL},
    {"--metric-time-limit", 0, "S", "how long the metric command may take (default: 60)", false,
     "--metric-seconds"},
    OPTION_PRECISION,
    OPTION_LAYER_PRECISION,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_RESERVE,
    OPTION_TUNE,
    OPTION_TUNE_CACHE,
    OPTION_ISA,
    OPTION_BACKEND,
    OPTION_MAX_MEMORY,
    OPTION_TIME_LIMIT,
    OPTION_NO_SHARING,
    OPTION_NO_MMAP,
    OPTION_ON,
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
    .summary = "how good a model's answers are on data with labels or targets",
    .options = options,
    .run = run,
};
