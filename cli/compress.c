/* hone compress: prune, train, cluster, train and pack in one command (Han et al., "Deep
 * Compression"), or what a recipe says; hone apply: what a recipe says. Each line of the recipe is a
 * stage; after each the model is judged, and packaged to see how large it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval.h"
#include "write.h"

typedef struct stage {
    char *line; /* "prune sparsity=0.9"; of the model as it was: "before" */
    int64_t not_zero, package_bytes;
    double score; /* NaN: not judged */
} stage;

typedef struct job {
    const args *a;
    const char *output, *spec, *val_spec;
    char *recipe;
    hone_session_options run;
    progress bar;
    hone_model *model, *made;
    hone_dataset *data, *val;
    hone_quantization *report;
    hone_metric_value metric; /* of the first stage that was judged; name NULL: none was */
    char metric_name[64];
    int64_t source_bytes, output_bytes;
    size_t n;
    stage *v;
    hone_error err; /* what went wrong in a stage */
    bool failed;
} job;

#include "schema/compress.def"
/* which has what both print */
#include "schema/apply.def"

/* ---- the recipe ---- */

/* Four rounds of pruning with training between them, longer training at the end, clusters, and
 * training of their centers. Without samples to train on: pruning and clusters alone. */
static bool write_recipe(job *j) {
    const args *a = j->a;
    double sparsity = 0.9;
    int64_t clusters = 16, epochs = 1, seed = 1;
    if (!real_of(a, "--sparsity", 0, 0.999, &sparsity) ||
        !number_of(a, "--clusters", 2, 256, &clusters) ||
        !number_of(a, "--epochs", 1, 1000, &epochs) || !number_of(a, "--seed", 0, INT64_MAX, &seed))
        return false;
    if (has(a, "--epochs") && j->spec == NULL) {
        complain("--epochs wants --data KIND:PATH, samples to train on");
        return false;
    }
    static const char head[] = "hone recipe 2\nseed %lld\nprune sparsity=%.17g scope=global";
    static const char train[] =
        " rounds=4\ntrain epochs=%lld\ntrain epochs=%lld\n"
        "cluster clusters=%lld\ntrain epochs=%lld rate=0.005\n";
    char lines[300];
    int n = snprintf(lines, sizeof lines, head, (long long)seed, sparsity);
    size_t room = sizeof lines - (size_t)n;
    if (j->spec != NULL)
        snprintf(lines + n, room, train, (long long)epochs, (long long)(4 * epochs),
                 (long long)clusters, (long long)(2 * epochs));
    else
        snprintf(lines + n, room, "\ncluster clusters=%lld\n", (long long)clusters);
    j->recipe = must(strdup(lines));
    return true;
}

/* What both verbs take. */
static bool read_common(job *j) {
    const args *a = j->a;
    j->output = value_of(a, "--output");
    j->spec = value_of(a, "--data");
    j->val_spec = value_of(a, "--val");
    if (j->output == NULL) {
        complain("--output FILE says where the result goes: FILE.hone is a package");
        return false;
    }
    return session_options(a, &j->run);
}

static bool read_options(job *j) {
    static const char *const own[] = {"--sparsity", "--clusters", "--epochs", "--seed"};
    const args *a = j->a;
    if (!read_common(j)) return false;
    if (!has(a, "--recipe")) return write_recipe(j);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (!has(a, own[i])) continue;
        complain("--recipe says all that is done, so %s cannot be given as well", own[i]);
        return false;
    }
    return true;
}

/* ---- stages ---- */

static hone_status judge(job *j, hone_model *m, double *score, hone_error *err) {
    hone_session *s;
    hone_evaluation *e = NULL;
    *score = NAN;
    if (j->val == NULL) return HONE_OK;
    hone_status status = hone_session_create(&s, m, &j->run, err);
    if (status != HONE_OK) return status;
    status = hone_session_measure(s, j->val, NULL, &e, err);
    if (status == HONE_OK && e->n_metrics > 0) {
        *score = e->metrics[0].value;
        j->metric = e->metrics[0];
        snprintf(j->metric_name, sizeof j->metric_name, "%s", e->metrics[0].name);
        j->metric.name = j->metric_name;
    }
    hone_evaluation_destroy(e);
    hone_session_destroy(s);
    return status;
}

enum { LINE_WIDTH = 44 };

static void print_stage(const job *j, const stage *s) {
    char count[32], bytes[32], score[32] = "";
    if (has(j->a, "--json")) return;
    if (!isnan(s->score)) metric_text(&j->metric, s->score, score);
    if (j->n == 1) {
        line("%-*s  %10s  %10s  %8s%s%10s", LINE_WIDTH, "stage", "not zero", "package", "smaller",
             j->metric.name != NULL ? "  " : "", j->metric.name != NULL ? j->metric.name : "");
        line("--------------------------------------------------------------------------------%s",
             j->metric.name != NULL ? "----------" : "");
    }
    line("%-*.*s  %10s  %10s  %8.2f%s%10s", LINE_WIDTH, LINE_WIDTH, s->line,
         human_count(s->not_zero, count), human_bytes(s->package_bytes, bytes),
         (double)j->source_bytes / (double)s->package_bytes, score[0] != '\0' ? "  " : "", score);
    fflush(stdout);
}

static hone_status add_stage(job *j, const char *text, hone_model *m, hone_error *err) {
    hone_inspection *in;
    stage s = {.score = NAN};
    hone_status status = hone_model_inspect(m, NULL, 0, &in, err);
    if (status != HONE_OK) return status;
    s.not_zero = in->params - in->params_zero;
    if (j->n == 0) j->source_bytes = in->file_bytes;
    hone_inspection_destroy(in);
    status = judge(j, m, &s.score, err);
    if (status == HONE_OK) status = hone_model_packaged_bytes(m, NULL, &s.package_bytes, err);
    if (status != HONE_OK) return status;
    progress_end(&j->bar);
    j->bar.what = NULL;
    s.line = must(strdup(text));
    j->v = must(realloc(j->v, (j->n + 1) * sizeof *j->v));
    j->v[j->n++] = s;
    print_stage(j, &s);
    return HONE_OK;
}

/* Fits hone_transform_options.line. */
static bool tell_stage(void *ctx, int64_t i, int64_t n, const char *text, hone_model *m) {
    job *j = ctx;
    (void)n;
    if (i == 1) j->failed = add_stage(j, "before", j->model, &j->err) != HONE_OK;
    j->failed = j->failed || add_stage(j, text, m, &j->err) != HONE_OK;
    return !j->failed && not_interrupted(NULL);
}

/* ---- the whole ---- */

static bool is_package(const char *path) {
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".hone") == 0;
}

static hone_status compress(job *j, hone_error *err) {
    hone_transform_options o;
    hone_qat_options training;
    hone_inspection *in;
    hone_status status = load_model(j->a, &j->model, err);
    if (status == HONE_OK && j->spec != NULL) status = hone_dataset_open(&j->data, j->spec, err);
    if (status == HONE_OK && j->val_spec != NULL)
        status = hone_dataset_open(&j->val, j->val_spec, err);
    if (status != HONE_OK) return status;
    hone_qat_options_init(&training);
    training.val = j->val;
    hone_transform_options_init(&o);
    o.run = &j->run;
    o.progress = progress_tell;
    o.progress_ctx = &j->bar;
    o.qat = &training;
    o.line = tell_stage;
    o.line_ctx = j;
    status = hone_model_transform(&j->made, j->model, j->recipe, j->data, &o, &j->report, err);
    if (j->failed) *err = j->err;
    progress_end(&j->bar);
    if (status != HONE_OK) return status;
    status = is_package(j->output) ? hone_model_package(j->made, j->output, NULL, err)
                                   : hone_model_save(j->made, j->output, NULL, err);
    hone_model_destroy(j->made);
    j->made = NULL;
    if (status == HONE_OK) status = hone_model_load(&j->made, j->output, NULL, err);
    if (status == HONE_OK) status = hone_model_inspect(j->made, NULL, 0, &in, err);
    if (status != HONE_OK) return status;
    j->output_bytes = in->file_bytes;
    hone_inspection_destroy(in);
    return HONE_OK;
}

static void print_end(const job *j) {
    char before[32], after[32];
    line("%s", "");
    line("file   %s before, %s after, %.2f times smaller", human_bytes(j->source_bytes, before),
         human_bytes(j->output_bytes, after), (double)j->source_bytes / (double)j->output_bytes);
    line("model  %s", j->output);
    const char *words[] = {j->a->argument[0], j->output, "--data", j->val_spec};
    char *next = command_text("compare", j->val_spec != NULL ? 4 : 2, words);
    line("next   %s", next);
    free(next);
}

/* What the recipe says; path: where it is read from, NULL: it is made already. */
static exit_code carry_out(job *j, const char *path) {
    hone_error err;
    const char *why = unwritable(j->output);
    if (why != NULL) { /* before anything is trained for nothing */
        complain("--output %s: cannot be made (%s)", j->output, why);
        return EXIT_INPUT;
    }
    if (path != NULL && !read_text(path, &j->recipe)) return EXIT_INPUT;
    hone_status status = compress(j, &err);
    if (status != HONE_OK) {
        exit_code code = fail_with(&err);
        return status == HONE_E_ARG ? EXIT_USAGE : code;
    }
    for (size_t i = 0; i < j->report->n_warnings && !has(j->a, "--quiet"); i++)
        complain("warning: %s", j->report->warnings[i]);
    if (!has(j->a, "--json")) print_end(j);
    return EXIT_DONE;
}

static void end(job *j) {
    for (size_t i = 0; i < j->n; i++) free(j->v[i].line);
    free(j->v);
    free(j->recipe);
    hone_quantization_destroy(j->report);
    hone_model_destroy(j->made);
    hone_model_destroy(j->model);
    hone_dataset_destroy(j->data);
    hone_dataset_destroy(j->val);
}

static exit_code run(const args *a) {
    job j = {.a = a};
    json out;
    if (!read_options(&j)) return EXIT_USAGE;
    exit_code code = carry_out(&j, value_of(a, "--recipe"));
    if (code == EXIT_DONE) {
        results_begin(&out, a);
        write_compress(&out, a, &j);
        code = results_end(&out, a);
    }
    end(&j);
    return code;
}

static exit_code run_apply(const args *a) {
    job j = {.a = a};
    json out;
    if (!read_common(&j)) return EXIT_USAGE;
    exit_code code = carry_out(&j, a->argument[1]);
    if (code == EXIT_DONE) {
        results_begin(&out, a);
        write_apply(&out, a, &j);
        code = results_end(&out, a);
    }
    end(&j);
    return code;
}

#define OPTION_MADE                                                                              \
    {                                                                                            \
        "--output", 'o', ">FILE",                                                                \
            "write the result here: a package if the name ends in .hone, else ONNX", false, NULL \
    }
#define OPTION_VAL                                                                                \
    {                                                                                             \
        "--val", 0, "SPEC", "samples to judge by: after each epoch, and after each stage", false, \
            NULL                                                                                  \
    }
/* What says where and how, not what. */
#define OPTIONS_OF_RUNS                                                                            \
    OPTION_THREADS, OPTION_ISA, OPTION_MAX_MEMORY, OPTION_TIME_LIMIT, OPTION_NO_MMAP, OPTION_JSON, \
        OPTION_REPORT, OPTION_QUIET, OPTION_VERBOSE

static const option_def options[] = {
    OPTION_MADE,
    {"--data", 'd', "SPEC",
     "samples to use: to train on, KIND:PATH[,key=value...]; without, nothing is trained", false,
     NULL},
    OPTION_VAL,
    {"--sparsity", 0, "X", "the share of weights, channels or heads to take away (default: 0.9)",
     false, NULL},
    {"--clusters", 0, "N", "numbers that the weights of a layer become, 2 to 256 (default: 16)",
     false, NULL},
    {"--epochs", 0, "N",
     "how often to go through the data, after each of four rounds of pruning; 4 N times at their "
     "end, 2 N times with clusters (default: 1)",
     false, NULL},
    {"--recipe", 0, "<FILE", "do again what a recipe says, whatever its lines are", false, NULL},
    OPTION_SEED,
    OPTIONS_OF_RUNS,
    {0},
};

const verb verb_compress = {
    .name = "compress",
    .usage = "MODEL -o FILE",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "prune, train, cluster and pack a model, with a table of the stages",
    .options = options,
    .run = run,
};

static const option_def apply_options[] = {
    OPTION_MADE,
    {"--data", 'd', "SPEC",
     "samples to use: those the recipe was made with, or others if it does not name any", false,
     NULL},
    OPTION_VAL,
    OPTIONS_OF_RUNS,
    {0},
};

const verb verb_apply = {
    .name = "apply",
    .usage = "MODEL RECIPE -o FILE",
    .n_arguments = 2,
    .most_arguments = 2,
    .summary = "make a model by a recipe, with a table of its lines",
    .options = apply_options,
    .run = run_apply,
};
