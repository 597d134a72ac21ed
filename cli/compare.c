/* hone compare: models side by side, and two of one graph value by value. */
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Runs that are timed: at least, at most, and seconds for each model beyond the least. */
#define LEAST_RUNS 5
#define MOST_RUNS 1000
#define TIME_LIMIT 1.5

/* ---- options ---- */

/* "34dB" is a ratio of signal to noise, "0.01" and "1%" a share of the largest value. */
static bool read_tolerance(const args *a, tolerance *t) {
    const char *text = value_of(a, "--tolerance");
    char *end;
    t->sqnr_db = -INFINITY;
    t->max_error = INFINITY;
    if (text == NULL) return true;
    double x = strtod(text, &end);
    bool number = end != text && isfinite(x), db = number && strcasecmp(end, "dB") == 0;
    bool share = number && x >= 0 && (*end == '\0' || strcmp(end, "%") == 0);
    if (!db && !share) {
        complain(
            "--tolerance wants 30dB, or a share of the largest value such as 0.01 or 1%%, got '%s'",
            text);
        return false;
    }
    t->given = true;
    if (db)
        t->sqnr_db = x;
    else
        t->max_error = *end == '%' ? x / 100 : x;
    return true;
}

/* --against SETTING: the same model as the first, run otherwise. */
static bool read_against(const args *a, hone_session_options *o) {
    static const char *const precisions[] = {"f32", "f32-relaxed", "bf16", "int8", NULL};
    const char *text = value_of(a, "--against");
    if (strcmp(text, "reference") == 0) {
        o->backend = "reference";
        return true;
    }
    if (strncmp(text, "isa=", 4) == 0) {
        o->isa = text + 4;
        return true;
    }
    for (int i = 0; precisions[i] != NULL; i++)
        if (strcmp(text, precisions[i]) == 0) o->precision = precisions[i];
    if (o->precision != NULL && strcmp(o->precision, text) == 0) return true;
    complain("--against wants reference, f32, f32-relaxed, bf16, int8 or isa=NAME, got '%s'", text);
    return false;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool read_models(comparison *c) {
    const args *a = c->a;
    bool against = has(a, "--against");
    if (against != (a->n == 1)) {
        complain(against ? "--against compares one model with itself; it takes no second one"
                         : "compare wants two models, or one and --against SETTING");
        return false;
    }
    c->n = against ? 2 : a->n;
    for (int i = 0; i < c->n; i++) {
        entry *e = &c->models[i];
        e->path = a->argument[against ? 0 : i];
        e->label = base_name(e->path);
        e->p50 = e->p95 = e->accuracy = NAN;
        if (!session_options(a, &e->how)) return false;
    }
    if (against) c->models[0].label = value_of(a, "--against");
    return !against || read_against(a, &c->models[0].how);
}

static bool read_options(comparison *c) {
    const args *a = c->a;
    int64_t seed = 1;
    c->fill = HONE_FILL_RANDOM;
    if (!read_models(c) || !read_tolerance(a, &c->wants) ||
        !drop_of(a, &c->wants.drop, &c->wants.relative) || !fill_of(a, &c->fill) ||
        !number_of(a, "--seed", 0, INT64_MAX, &seed))
        return false;
    c->seed = (uint64_t)seed;
    c->wants.drop_given = has(a, "--max-drop");
    if (c->n != 2 && (has(a, "--bisect") || has(a, "--reduce"))) {
        complain("%s compares two models, not %d", has(a, "--bisect") ? "--bisect" : "--reduce",
                 c->n);
        return false;
    }
    if (has(a, "--reduce") != has(a, "--output")) {
        complain(has(a, "--reduce") ? "--reduce wants -o FILE.onnx for what is left"
                                    : "--output is where --reduce writes what is left");
        return false;
    }
    if (has(a, "--max-drop") && !has(a, "--data")) {
        complain("--max-drop wants labelled samples: --data SPEC");
        return false;
    }
    return true;
}

/* ---- models and samples ---- */

static exit_code open_model(const args *a, entry *e) {
    hone_load_options o;
    hone_inspection *in;
    hone_error err;
    hone_load_options_init(&o);
    o.no_mmap = has(a, "--no-mmap");
    if (hone_model_load(&e->model, model_path(e->path), &o, &err) != HONE_OK ||
        hone_model_inspect(e->model, NULL, 0, &in, &err) != HONE_OK)
        return fail_with(&err);
    e->file_bytes = in->file_bytes;
    e->params = in->params;
    e->macs = in->macs;
    hone_inspection_destroy(in);
    return open_session(a, e->model, &e->how, &e->session);
}

static hone_status read_data(void *ctx, int64_t run, hone_value *in, hone_error *err) {
    comparison *c = ctx;
    return hone_dataset_read(c->data, c->models[0].model, run, 1, in, err);
}

static hone_status make_up(void *ctx, int64_t run, hone_value *in, hone_error *err) {
    comparison *c = ctx;
    const feed *f = &c->inputs;
    for (size_t i = 0; i < f->n_in; i++) {
        in[i].dtype = f->in[i].dtype;
        in[i].rank = f->in[i].rank;
        memcpy(in[i].dims, f->in[i].dims, sizeof in[i].dims);
        uint64_t seed = c->seed + (uint64_t)run * f->n_in + i;
        hone_status status = hone_value_fill(&in[i], (hone_fill)c->fill, seed, err);
        if (status != HONE_OK) return status;
    }
    return HONE_OK;
}

static exit_code open_samples(comparison *c, int64_t made_up) {
    const char *spec = value_of(c->a, "--data");
    hone_error err;
    c->samples = (hone_samples){.count = made_up, .batch = 1, .read = make_up, .ctx = c};
    if (spec == NULL) {
        exit_code code = feed_init(&c->inputs, c->a, c->models[0].model);
        if (code == EXIT_DONE)
            code = feed_fill(&c->inputs, c->fill, c->seed, c->models[0].how.max_memory);
        if (code == EXIT_DONE)
            note("inputs are made up (%lld samples): --data SPEC compares on real ones",
                 (long long)made_up);
        return code;
    }
    if (hone_dataset_open(&c->data, spec, &err) != HONE_OK) return fail_with(&err);
    c->samples.count = hone_dataset_count(c->data);
    c->samples.read = read_data;
    if (c->samples.count > 0) return EXIT_DONE;
    complain("%s has no samples to compare models on", spec);
    return EXIT_INPUT;
}

/* Whether b has all inputs of a; says which it lacks. */
static bool has_inputs(const entry *b, const entry *a) {
    for (size_t i = 0; i < hone_model_n_inputs(a->model); i++) {
        hone_value_info want, found;
        bool same = false;
        hone_model_input(a->model, i, &want, NULL);
        for (size_t k = 0; k < hone_model_n_inputs(b->model) && !same; k++) {
            hone_model_input(b->model, k, &found, NULL);
            same = strcmp(want.name, found.name) == 0;
        }
        if (same) continue;
        complain("%s and %s cannot be compared, their inputs differ: %s has no '%s'", a->path,
                 b->path, b->path, want.name);
        return false;
    }
    return true;
}

/* ---- time ---- */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *x, const void *y) {
    const double *a = x, *b = y;
    return *a < *b ? -1 : *a > *b;
}

/* What one model is timed with. */
typedef struct timed {
    hone_value *out;
    size_t n_out;
    double ms[MOST_RUNS];
} timed;

static hone_status time_once(comparison *c, int k, timed *t, const hone_value *in, double *ms,
                             hone_error *err) {
    double begun = now_ms();
    hone_status status = hone_session_run(
        c->models[k].session, hone_model_n_inputs(c->models[0].model), in, t->n_out, t->out, err);
    *ms = now_ms() - begun;
    return status;
}

/* Runs take turns, so that what disturbs the machine disturbs all. */
static hone_status take_turns(comparison *c, timed *t, const hone_value *in, hone_error *err) {
    progress p;
    double ms, spent = 0, limit = TIME_LIMIT * 1e3 * c->n;
    int runs = 0;
    hone_status status = HONE_OK;
    progress_start(&p, "time", "runs");
    for (int k = 0; k < c->n && status == HONE_OK; k++)
        status = time_once(c, k, &t[k], in, &ms, err);
    while (status == HONE_OK && runs < MOST_RUNS && (runs < LEAST_RUNS || spent < limit)) {
        for (int k = 0; k < c->n && status == HONE_OK; k++) {
            status = time_once(c, k, &t[k], in, &t[k].ms[runs], err);
            spent += t[k].ms[runs];
        }
        runs++;
        if (!progress_step(&p, (int64_t)spent, (int64_t)(limit > spent ? limit : spent))) break;
    }
    progress_end(&p);
    for (int k = 0; k < c->n && status == HONE_OK; k++) {
        qsort(t[k].ms, (size_t)runs, sizeof *t[k].ms, by_value);
        c->models[k].p50 = t[k].ms[runs / 2];
        c->models[k].p95 = t[k].ms[(runs * 95 - 1) / 100];
    }
    return status;
}

static void name_outputs(const hone_model *m, timed *t) {
    t->n_out = hone_model_n_outputs(m);
    t->out = must(calloc(t->n_out + 1, sizeof *t->out));
    for (size_t i = 0; i < t->n_out; i++) {
        hone_value_info info;
        hone_model_output(m, i, &info, NULL);
        t->out[i].name = info.name;
    }
}

static hone_status time_models(comparison *c, hone_error *err) {
    size_t n_in = hone_model_n_inputs(c->models[0].model);
    hone_value *in = must(calloc(n_in + 1, sizeof *in));
    timed *t = must(calloc((size_t)c->n, sizeof *t));
    for (size_t i = 0; i < n_in; i++) {
        hone_value_info info;
        hone_model_input(c->models[0].model, i, &info, NULL);
        in[i].name = info.name;
    }
    for (int k = 0; k < c->n; k++) name_outputs(c->models[k].model, &t[k]);
    hone_status status = c->samples.read(c->samples.ctx, 0, in, err);
    if (status == HONE_OK) status = take_turns(c, t, in, err);
    for (int k = 0; k < c->n; k++) {
        hone_value_release(t[k].out, t[k].n_out);
        free(t[k].out);
        c->models[k].peak_bytes = (int64_t)hone_session_memory(c->models[k].session).peak_bytes;
        if (status == HONE_OK) note_session_precision(c->models[k].session);
    }
    hone_value_release(in, n_in);
    free(in);
    free(t);
    return status;
}

/* ---- the whole ---- */

static hone_status score(comparison *c, hone_error *err) {
    progress p;
    hone_eval_options o;
    hone_status status = HONE_OK;
    if (c->data == NULL || !hone_dataset_has_labels(c->data)) return HONE_OK;
    hone_eval_options_init(&o);
    o.progress = progress_step;
    o.progress_ctx = &p;
    for (int k = 0; k < c->n && status == HONE_OK; k++) {
        hone_eval_result r = {.size = sizeof r};
        progress_start(&p, c->models[k].label, "samples");
        status = hone_session_eval(c->models[k].session, c->data, &o, &r, err);
        progress_end(&p);
        if (status == HONE_OK && r.samples > 0)
            c->models[k].accuracy = (double)r.top1 / (double)r.samples;
    }
    return status;
}

static hone_status compare_all(comparison *c, int64_t tensor_runs, hone_error *err) {
    progress p;
    hone_compare_options o;
    hone_status status = HONE_OK;
    hone_compare_options_init(&o);
    o.tensor_runs = c->n == 2 ? tensor_runs : 0;
    o.progress = progress_step;
    o.progress_ctx = &p;
    for (int k = 1; k < c->n && status == HONE_OK; k++) {
        progress_start(&p, "compare", NULL);
        status = hone_session_compare(c->models[0].session, c->models[k].session, &c->samples, &o,
                                      &c->models[k].with_first, err);
        progress_end(&p);
        if (status != HONE_OK && c->n > 2) complain("%s:", c->models[k].path);
    }
    return status;
}

bool within(const tolerance *t, const hone_comparison *c) {
    for (size_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i].sqnr_db < t->sqnr_db || c->outputs[i].max_error > t->max_error)
            return false;
    return true;
}

/* Says which model misses what was asked for. */
static exit_code judge(const comparison *c) {
    exit_code code = EXIT_DONE;
    const tolerance *t = &c->wants;
    for (int k = 1; k < c->n && c->models[k].with_first != NULL; k++) {
        const entry *e = &c->models[k];
        if (t->given && !within(t, e->with_first)) {
            complain("%s is not within --tolerance %s", e->label, value_of(c->a, "--tolerance"));
            code = EXIT_FAILED;
        }
        double margin =
            hone_gate_margin(e->accuracy, c->models[0].accuracy, t->drop, t->relative, false);
        if (t->drop_given && !(margin >= 0)) {
            complain("%s has an accuracy of %.2f %%, below the %.2f %% that --max-drop %s leaves",
                     e->label, 100 * e->accuracy, 100 * (e->accuracy - margin),
                     value_of(c->a, "--max-drop"));
            code = EXIT_FAILED;
        }
    }
    return code;
}

static exit_code measure(comparison *c, int64_t tensor_runs) {
    hone_error err;
    if (c->wants.drop_given && !hone_dataset_has_labels(c->data)) {
        complain("--max-drop wants labels, and %s has none", value_of(c->a, "--data"));
        return EXIT_USAGE;
    }
    /* A model to be reduced may crash: it is looked at in processes of their own only. */
    bool reduced_alone = has(c->a, "--reduce") && !has(c->a, "--bisect");
    if (!reduced_alone &&
        ((!has(c->a, "--no-time") && time_models(c, &err) != HONE_OK) ||
         score(c, &err) != HONE_OK || compare_all(c, tensor_runs, &err) != HONE_OK))
        return fail_with(&err);
    exit_code code = has(c->a, "--bisect") ? compare_bisect(c) : EXIT_DONE;
    if (code == EXIT_DONE && has(c->a, "--reduce")) code = compare_reduce(c);
    return code;
}

static exit_code run_all(comparison *c) {
    int64_t samples = 8, top = 10;
    exit_code code = EXIT_DONE;
    if (!read_options(c) || !number_of(c->a, "--samples", 1, INT32_MAX, &samples) ||
        !top_of(c->a, &top))
        return EXIT_USAGE;
    for (int k = 0; k < c->n && code == EXIT_DONE; k++) code = open_model(c->a, &c->models[k]);
    for (int k = 1; k < c->n && code == EXIT_DONE; k++)
        if (!has_inputs(&c->models[k], &c->models[0]) || !has_inputs(&c->models[0], &c->models[k]))
            code = EXIT_INPUT;
    if (code == EXIT_DONE) code = open_samples(c, samples);
    if (code == EXIT_DONE) code = measure(c, samples);
    if (code != EXIT_DONE) return code;
    json j;
    results_begin(&j, c->a);
    compare_json(c, &j);
    if (!has(c->a, "--json")) compare_print(c, top);
    code = results_end(&j, c->a);
    bool searched = c->bisection != NULL || c->reduction != NULL; /* what fails was asked for */
    return code == EXIT_DONE && !searched ? judge(c) : code;
}

static exit_code run(const args *a) {
    comparison *c = must(calloc(1, sizeof *c));
    c->a = a;
    exit_code code = run_all(c);
    hone_bisection_destroy(c->bisection);
    hone_reduction_destroy(c->reduction);
    for (int k = 0; k < c->n; k++) {
        hone_comparison_destroy(c->models[k].with_first);
        hone_session_destroy(c->models[k].session);
        hone_model_destroy(c->models[k].model);
    }
    hone_dataset_destroy(c->data);
    feed_deinit(&c->inputs);
    free(c->reduced_first);
    free(c->reduced_inputs);
    free(c);
    return code;
}

static const option_def options[] = {
    {"--data", 'd', "SPEC", "samples to use, with labels for accuracy: KIND:PATH[,key=value...]",
     false, NULL},
    {"--samples", 0, "N", "how many samples to look at, tensor by tensor (default: 8)", false,
     NULL},
    {"--top", 0, "N|all", "rows of the table (default: 10)", false, NULL},
    {"--no-time", 0, NULL, "do not measure latency", false, NULL},
    {"--tolerance", 0, "T", "exit with 1 if outputs differ by more: 30dB, 0.01 or 1%", false, NULL},
    {"--max-drop", 0, "P", "the most accuracy that may be lost: 1%, 1%rel; else exit with 1", false,
     NULL},
    {"--bisect", 0, NULL, "find the steps that must run as in the first model to pass", false,
     NULL},
    {"--against", 0, "SETTING", "compare one model with itself: reference, f32, isa=portable ...",
     false, NULL},
    {"--reduce", 0, NULL, "cut the model to the smallest part that still fails", false, NULL},
    {"--output", 'o', ">FILE", "write the result here: what --reduce leaves", false, NULL},
    OPTION_FILL,
    OPTION_DIM,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_RESERVE,
    OPTION_ISA,
    OPTION_BACKEND,
    OPTION_PRECISION,
    OPTION_MAX_MEMORY,
    OPTION_TIME_LIMIT,
    OPTION_NO_MMAP,
    OPTION_ON,
    OPTION_JSON,
    OPTION_REPORT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_compare = {
    .name = "compare",
    .usage = "A B [C ...]",
    .n_arguments = 1,
    .most_arguments = MOST_MODELS,
    .summary = "models side by side, and where the second differs from the first",
    .options = options,
    .run = run,
};
