/* hone optimize: a smaller and faster model, by measuring what practitioners do. */
#include "optimize.h"
#include "optimize_timer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const args *a;
    hone_optimize_options o;
    hone_session_options session;
    hone_dataset *data[3]; /* --data, --calibrate, --val */
    char *recipe;          /* the text of --recipe */
    char *keep;            /* the folder of trained models, while the search goes on */
    outputs to;
    runtime_timer timer;  /* of --for */
    char unmeasured[300]; /* why there is none; "": there is, or it is for hone */
    progress bar;
    char doing[160];           /* what the bar is about */
    int candidate, candidates; /* which one, and of how many; 0: the original */
} job;

/* ---- options ---- */

/* Room for a path with another ending; the ending of a model gives way. */
static char *with_ending(const char *path, const char *ending) {
    size_t n = strlen(path);
    char *text;
    if (n > 5 && strcmp(path + n - 5, ".onnx") == 0) n -= 5;
    if (asprintf(&text, "%.*s%s", (int)n, path, ending) < 0) text = must(NULL);
    return text;
}

static bool read_options(job *j) {
    const args *a = j->a;
    hone_optimize_options *o = &j->o;
    hone_optimize_options_init(o);
    if (!session_options(a, &j->session) || !drop_of(a, &o->max_drop, &o->max_drop_relative) ||
        !use_of(a, &o->use) || !real_of(a, "--max-latency", 1e-6, 1e9, &o->max_latency_ms) ||
        !seconds_of(a, "--time-budget", &o->time_budget) ||
        !seconds_of(a, "--train-budget", &o->train_budget) ||
        !megabytes_of(a, "--max-size", &o->max_file_bytes) ||
        !megabytes_of(a, "--max-run-memory", &o->max_run_memory_bytes))
        return false;
    if (has(a, "--max-drop") && !has(a, "--data") && !has(a, "--val")) {
        complain("--max-drop wants samples to judge by: --data SPEC");
        return false;
    }
    if (has(a, "--train-budget") && !has(a, "--data") && !has(a, "--calibrate")) {
        complain("--train-budget wants samples to train on: --data SPEC");
        return false;
    }
    if (has(a, "--augment") && !has(a, "--train-budget")) {
        complain("--augment is for training: --train-budget TIME says how long that may take");
        return false;
    }
    o->augment = value_of(a, "--augment");
    o->session = &j->session;
    o->seed = j->session.seed;
    o->metric = value_of(a, "--metric");
    o->allow_unchecked = has(a, "--allow-unchecked");
    if (has(a, "--target")) o->target = value_of(a, "--target");
    o->runtime = value_of(a, "--for");
    if (o->runtime != NULL && !is_choice(HONE_QUANTIZE_RUNTIMES, "runtime", o->runtime, NULL))
        return false;
    const char *to = value_of(a, "--output");
    if (to == NULL && strcmp(a->argument[0], "-") == 0) {
        complain("a model from standard input has no name: -o says where the result goes");
        return false;
    }
    j->to.model = to != NULL ? must(strdup(to)) : with_ending(a->argument[0], ".opt.onnx");
    j->to.recipe = with_ending(j->to.model, ".recipe");
    j->keep = with_ending(j->to.model, ".trained");
    if (o->train_budget > 0) o->keep = j->keep;
    j->to.report = has(a, "--report") ? must(strdup(value_of(a, "--report")))
                                      : with_ending(j->to.model, ".html");
    /* A recipe that is carried out again is written as it was read. */
    const char *from = value_of(a, "--recipe");
    bool same = from != NULL && same_file(from, j->to.recipe);
    const char *const written[] = {j->to.model, j->to.report, same ? NULL : j->to.recipe};
    for (int i = 0; i < 3 && written[i] != NULL; i++) {
        if (!is_read(a, written[i])) continue;
        complain("%s would overwrite an input; name another with -o", written[i]);
        return false;
    }
    return true;
}

/* Looked at before an hour of search goes for nothing. */
static exit_code check_output(const job *j) {
    const char *why = unwritable(j->to.model);
    if (why == NULL) return EXIT_DONE;
    complain("--output %s: cannot be made (%s)", j->to.model, why);
    return EXIT_INPUT;
}

static exit_code open_data(job *j) {
    static const char *const names[] = {"--data", "--calibrate", "--val"};
    hone_error err;
    for (int i = 0; i < 3; i++) {
        const char *spec = value_of(j->a, names[i]);
        if (spec != NULL && hone_dataset_open(&j->data[i], spec, &err) != HONE_OK)
            return fail_with(&err);
    }
    j->o.data = j->data[0];
    j->o.calibrate = j->data[1];
    j->o.eval = j->data[2];
    if (j->data[0] == NULL && j->data[2] == NULL && !j->o.allow_unchecked && !has(j->a, "--recipe"))
        note(
            "without samples hone tries only models that compute the same; --data SPEC checks "
            "others, --allow-unchecked tries them unchecked");
    return EXIT_DONE;
}

static exit_code read_recipe(job *j) {
    const char *path = value_of(j->a, "--recipe");
    if (path == NULL) return EXIT_DONE;
    if (!read_text(path, &j->recipe)) return EXIT_INPUT;
    j->o.recipe = j->recipe;
    return EXIT_DONE;
}

/* ---- progress ---- */

static bool on_progress(void *ctx, const char *what, int64_t done, int64_t total) {
    job *j = ctx;
    char text[sizeof j->doing], which[32] = "";
    if (j->candidate > 0) snprintf(which, sizeof which, "%d of %d ", j->candidate, j->candidates);
    snprintf(text, sizeof text, "%s%.120s", which, what);
    if (strcmp(text, j->doing) != 0) {
        double until = j->bar.until;
        progress_end(&j->bar);
        strcpy(j->doing, text);
        progress_start(&j->bar, j->doing, NULL);
        j->bar.until = until;
    }
    return progress_step(&j->bar, done, total);
}

static void on_candidate(void *ctx, int k, int n, double seconds_left) {
    job *j = ctx;
    j->candidate = k;
    j->candidates = n;
    progress_expect(&j->bar, seconds_left);
    if (k == 0) j->bar.until = 0;
}

/* ---- results ---- */

static exit_code save(job *j, const hone_optimization *o) {
    hone_error err;
    if (hone_model_save(o->model, j->to.model, NULL, &err) != HONE_OK) return fail_with(&err);
    return write_whole(j->to.recipe, o->recipe, strlen(o->recipe));
}

/* The command that does it again, or the one that looks closer at what was made; free it. */
static char *command_of(const job *j, bool again) {
    static const char *const given[] = {"--data", "--calibrate", "--val"};
    const char *words[12] = {j->a->argument[0]};
    int n = 1;
    if (again) {
        for (int i = 0; i < 3; i++) {
            if (!has(j->a, given[i])) continue;
            words[n++] = given[i];
            words[n++] = value_of(j->a, given[i]);
        }
        words[n++] = "--recipe";
        words[n++] = j->to.recipe;
        words[n++] = "-o";
        words[n++] = j->to.model;
        return command_text("optimize", n, words);
    }
    words[n++] = j->to.model;
    if (j->data[0] != NULL || j->data[2] != NULL) {
        words[n++] = "--data";
        words[n++] = value_of(j->a, j->data[2] != NULL ? "--val" : "--data");
    }
    return command_text("compare", n, words);
}

static exit_code show(job *j, const hone_optimization *o) {
    const args *a = j->a;
    bool saved = o->model != NULL, page = o->n_rows > 0 && (saved || has(a, "--report"));
    exit_code code = saved ? save(j, o) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    char *again = saved ? command_of(j, true) : NULL, *next = saved ? command_of(j, false) : NULL;
    telling t = {.to = saved ? &j->to : NULL,
                 .again = again,
                 .next = next,
                 .of = &j->o,
                 .report = page ? j->to.report : NULL,
                 .unmeasured = j->unmeasured[0] != '\0' ? j->unmeasured : NULL};
    json out;
    results_begin(&out, a);
    write_optimization(&out, a, o, &t);
    code = results_end_at(&out, t.report);
    if (code != EXIT_DONE) t.report = NULL;
    if (!has(a, "--json")) print_optimization(o, &t);
    free(again);
    free(next);
    if (o->interrupted) {
        exit_code why = say_interrupted();
        if (saved)
            complain("%s is the best that had passed by then%s", j->to.model,
                     isnan(o->verified) ? ", not verified" : "");
        else
            complain("nothing had passed by then, and no file was written");
        return why;
    }
    return code == EXIT_DONE && !o->met ? EXIT_FAILED : code;
}

/* --for: the runtime is measured where that is possible. Carrying out a recipe measures nothing. */
static void start_timer(job *j) {
    const char *runtime = j->o.runtime;
    hone_machine *m = NULL;
    hone_error unused;
    if (runtime == NULL || strcmp(runtime, "hone") == 0 || j->o.recipe != NULL) return;
    int threads = j->session.threads;
    if (threads == 0 && hone_machine_look(&m, &unused) == HONE_OK) threads = m->threads;
    hone_machine_destroy(m);
    if (timer_start(&j->timer, runtime, threads > 0 ? threads : 1, j->unmeasured,
                    sizeof j->unmeasured))
        j->o.timer = &j->timer.timer;
    else
        note("%s", j->unmeasured);
}

static exit_code optimize(job *j) {
    hone_model *m = NULL;
    hone_optimization *o = NULL;
    hone_error err;
    j->o.progress = on_progress;
    j->o.progress_ctx = j;
    j->o.candidate = on_candidate;
    if (load_model(j->a, &m, &err) != HONE_OK) return fail_with(&err);
    start_timer(j);
    hone_status status = hone_optimize(m, &j->o, &o, &err);
    progress_end(&j->bar);
    exit_code code = status == HONE_OK ? show(j, o) : fail_with(&err);
    if (status != HONE_OK && strcmp(j->o.target, "cpu") != 0) code = EXIT_USAGE;
    hone_optimization_destroy(o);
    hone_model_destroy(m);
    return code;
}

static exit_code run(const args *a) {
    job j = {.a = a};
    exit_code code = read_options(&j) ? EXIT_DONE : EXIT_USAGE;
    if (code == EXIT_DONE) code = check_output(&j);
    if (code == EXIT_DONE) code = open_data(&j);
    if (code == EXIT_DONE) code = read_recipe(&j);
    if (code == EXIT_DONE) code = optimize(&j);
    timer_end(&j.timer);
    for (int i = 0; i < 3; i++) hone_dataset_destroy(j.data[i]);
    free(j.recipe);
    free(j.keep);
    free(j.to.model);
    free(j.to.recipe);
    free(j.to.report);
    return code;
}

static const option_def options[] = {
    {"--output", 'o', ">FILE", "write the result here (default: MODEL.opt.onnx)", false, NULL},
    {"--data", 'd', "SPEC", "samples to use: split to calibrate, to choose and to verify", false,
     NULL},
    {"--calibrate", 0, "SPEC", "samples to calibrate with, instead of a part of --data", false,
     NULL},
    {"--val", 0, "SPEC",
     "samples to judge by: to choose and verify with, instead of a part of --data", false,
     "--eval"},
    {"--metric", 'm', "NAME", "what to measure (default: what suits the model and data)", false,
     NULL},
    {"--max-drop", 0, "P", "the most accuracy that may be lost: 1% (default), 0.01, 1%rel", false,
     NULL},
    OPTION_USE,
    {"--max-latency", 0, "MS",
     "the longest a run may take, for one sample; the search ends when it is met", false, NULL},
    {"--max-size", 0, "MB", "the largest the file may be; the search ends when it is met", false,
     NULL},
    {"--max-run-memory", 0, "MB", "the most memory a run may take; the search ends when it is met",
     false, "--max-memory"},
    OPTION_TIME_LIMIT,
    {"--target", 0, "DEVICE", "device the model will run on: cpu", false, NULL},
    {"--for", 0, "RUNTIME",
     "runtime that will run the model: hone (default), onnxruntime, openvino, tensorrt", false,
     NULL},
    {"--allow-unchecked", 0, NULL, "without real samples, also try what may change answers", false,
     NULL},
    {"--time-budget", 0, "S", "end the search after S seconds with the best model so far", false,
     NULL},
    {"--train-budget", 0, "TIME",
     "also try models that are trained, pruned ones among them, for so long in all: 30m", false,
     NULL},
    {"--augment", 0, "LIST", "change samples: flip:crop=4, with --train-budget", false, NULL},
    {"--recipe", 0, "<FILE", "do again what a recipe says, without measuring", false, NULL},
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_RESERVE,
    OPTION_ISA,
    OPTION_NO_MMAP,
    OPTION_JSON,
    OPTION_REPORT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_optimize = {
    .name = "optimize",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "find the fastest and smallest model that stays accurate enough",
    .options = options,
    .run = run,
};
