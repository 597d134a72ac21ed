#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* One step over all runs. */
typedef struct step {
    char *node, *op, *kernel, *output;
    bool integers;                 /* its kernel computes in them */
    char *why_float;               /* of a step of a quantized model that does not, or NULL */
    double flops, bytes, macs, ms; /* ms: the median of the runs */
    double *runs;
} step;

typedef struct job {
    const args *a;
    hone_model *model;
    hone_session *session;
    feed feed;
    hone_difference difference;    /* from f32 */
    size_t n_steps, cap_steps, at; /* at: the step that comes next in this run */
    step *steps;
    int64_t run, n_runs; /* run -1: the warm-up, which counts nothing */
    FILE *trace;
    int64_t begun;
    bool comma;
} job;

/* ---- runs ---- */

/* Families are named after what they compute with. */
static bool is_integer(const char *family) {
    return family != NULL && strstr(family, "_q8") != NULL;
}

static void take_step(void *ctx, const hone_step_info *info) {
    job *j = ctx;
    if (j->run < 0) return;
    if (j->at == j->n_steps) {
        if (j->n_steps == j->cap_steps) {
            j->cap_steps = j->cap_steps * 2 + 64;
            j->steps = must(realloc(j->steps, j->cap_steps * sizeof *j->steps));
        }
        j->steps[j->n_steps++] = (step){.node = must(strdup(info->node)),
                                        .op = must(strdup(info->op)),
                                        .kernel = must(strdup(info->kernel)),
                                        .output = must(strdup(info->output)),
                                        .flops = info->flops,
                                        .bytes = info->bytes,
                                        .macs = info->macs,
                                        .integers = is_integer(info->family),
                                        .runs = must(calloc((size_t)j->n_runs, sizeof(double)))};
        if (info->why_float != NULL)
            j->steps[j->n_steps - 1].why_float = must(strdup(info->why_float));
    }
    step *s = &j->steps[j->at++];
    s->runs[j->run] = (double)(info->end_ns - info->begin_ns) * 1e-6;
    if (j->trace == NULL) return;
    if (j->begun == 0) j->begun = info->begin_ns;
    fprintf(j->trace, "%s\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":1,",
            j->comma ? "," : "", info->op, info->kernel);
    fprintf(j->trace, "\"ts\":%.3f,\"dur\":%.3f}", (double)(info->begin_ns - j->begun) * 1e-3,
            (double)(info->end_ns - info->begin_ns) * 1e-3);
    j->comma = true;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static exit_code run_all(job *j) {
    feed *f = &j->feed;
    hone_error err;
    progress p;
    progress_start(&p, "profile", "runs");
    hone_status status = HONE_OK;
    for (j->run = -1; j->run < j->n_runs && status == HONE_OK; j->run++) {
        j->at = 0;
        status =
            hone_session_profile(j->session, f->n_in, f->in, f->n_out, f->out, take_step, j, &err);
        if (status == HONE_OK && !progress_step(&p, j->run + 1, j->n_runs)) break;
    }
    progress_end(&p);
    if (status != HONE_OK) return fail_with(&err);
    if (!not_interrupted(NULL)) return EXIT_INTERRUPTED;
    for (size_t i = 0; i < j->n_steps; i++) {
        qsort(j->steps[i].runs, (size_t)j->n_runs, sizeof(double), by_value);
        j->steps[i].ms = j->steps[i].runs[j->n_runs / 2];
    }
    return EXIT_DONE;
}

/* ---- the answer ---- */

static double total_ms(const job *j) {
    double sum = 0;
    for (size_t i = 0; i < j->n_steps; i++) sum += j->steps[i].ms;
    return sum;
}

static double rate(double amount, double ms) { return ms > 0 ? amount / ms * 1e-6 : 0; }

static void print_steps(const job *j) {
    static const char *const heads[] = {"node", "op",    "output",  "kernel", "ms",
                                        "%",    "sum %", "GFLOP/s", "GB/s"};
    table *t = table_new(heads, "thhlrrrrr");
    double total = total_ms(j), sum = 0;
    for (size_t i = 0; i < j->n_steps; i++) {
        const step *s = &j->steps[i];
        sum += s->ms;
        table_cell(t, "%s", s->node);
        table_cell(t, "%s", s->op);
        table_cell(t, "%s", s->output);
        table_cell(t, "%s", s->kernel);
        table_cell(t, "%.3f", s->ms);
        table_cell(t, "%.1f", 100 * s->ms / total);
        table_cell(t, "%.1f", 100 * sum / total);
        table_cell(t, s->flops > 0 ? "%.1f" : "-", rate(s->flops, s->ms));
        table_cell(t, s->bytes > 0 ? "%.1f" : "-", rate(s->bytes, s->ms));
    }
    table_print(t);
}

/* Steps of the same operators, added up in place of the first. */
static size_t by_op(const job *j, step *groups) {
    size_t n = 0;
    for (size_t i = 0; i < j->n_steps; i++) {
        size_t k = 0;
        while (k < n && strcmp(groups[k].op, j->steps[i].op) != 0) k++;
        if (k == n) groups[n++] = (step){.op = j->steps[i].op};
        groups[k].ms += j->steps[i].ms;
        groups[k].flops += j->steps[i].flops;
        groups[k].bytes += 1; /* how many */
    }
    return n;
}

static int slower_first(const void *a, const void *b) {
    double x = ((const step *)a)->ms, y = ((const step *)b)->ms;
    return x > y ? -1 : x < y;
}

static void print_groups(const job *j) {
    static const char *const heads[] = {"op", "steps", "ms", "%", "GFLOP/s"};
    step *groups = must(calloc(j->n_steps + 1, sizeof *groups));
    size_t n = by_op(j, groups);
    double total = total_ms(j);
    qsort(groups, n, sizeof *groups, slower_first);
    table *t = table_new(heads, "hrrrr");
    for (size_t i = 0; i < n; i++) {
        table_cell(t, "%s", groups[i].op);
        table_cell(t, "%.0f", groups[i].bytes);
        table_cell(t, "%.3f", groups[i].ms);
        table_cell(t, "%.1f", 100 * groups[i].ms / total);
        table_cell(t, groups[i].flops > 0 ? "%.1f" : "-", rate(groups[i].flops, groups[i].ms));
    }
    table_print(t);
    free(groups);
}

static void print_text(const job *j) {
    print_steps(j);
    line("%s", "");
    print_groups(j);
    hone_memory_use use = hone_session_memory(j->session);
    char before[100];
    line("%s", "");
    snprintf(before, sizeof before, "%zu steps, %.3f ms (medians of %lld runs); ", j->n_steps,
             total_ms(j), (long long)j->n_runs);
    print_memory(before, &use);
}

/* ---- floats in a quantized model ---- */

/* Steps are in integers, or say why they are not. */
static bool is_quantized(const job *j) {
    for (size_t i = 0; i < j->n_steps; i++)
        if (j->steps[i].integers || j->steps[i].why_float != NULL) return true;
    return false;
}

/* Multiply-accumulates, and those of them in integers. */
static double count_macs(const job *j, double *integers) {
    double all = 0;
    *integers = 0;
    for (size_t i = 0; i < j->n_steps; i++) {
        all += j->steps[i].macs;
        if (j->steps[i].integers) *integers += j->steps[i].macs;
    }
    return all;
}

/* Which steps compute in floats, why, and what they take; the slowest first. */
static void print_floats(const job *j) {
    static const char *const heads[] = {"node", "op", "ms", "%", "why in floats"};
    step *floats = must(calloc(j->n_steps + 1, sizeof *floats));
    size_t n = 0;
    double integers, all = count_macs(j, &integers), total = total_ms(j), ms = 0;
    for (size_t i = 0; i < j->n_steps; i++) {
        if (j->steps[i].why_float == NULL) continue;
        floats[n++] = j->steps[i];
        ms += j->steps[i].ms;
    }
    line(
        "%.2f %% of %.4g million multiply-accumulates run in integers; %zu of %zu steps, "
        "%.3f of %.3f ms (%.1f %%), in floats",
        all > 0 ? 100 * integers / all : 0, all * 1e-6, n, j->n_steps, ms, total,
        total > 0 ? 100 * ms / total : 0);
    qsort(floats, n, sizeof *floats, slower_first);
    table *t = table_new(heads, "thrrl");
    for (size_t i = 0; i < n; i++) {
        table_cell(t, "%s", floats[i].node);
        table_cell(t, "%s", floats[i].op);
        table_cell(t, "%.3f", floats[i].ms);
        table_cell(t, "%.1f", total > 0 ? 100 * floats[i].ms / total : 0);
        table_cell(t, "%s", floats[i].why_float);
    }
    if (n > 0) line("%s", "");
    table_print(t);
    free(floats);
}

static exit_code write_results(const job *j) {
    double integers, macs = count_macs(j, &integers);
    json js;
    hone_memory_use use = hone_session_memory(j->session);
    results_begin(&js, j->a);
    results_object(&js, j->a);
    json_text(&js, "model", j->a->argument[0]);
    json_text(&js, "precision", hone_session_precision(j->session));
    json_number(&js, "difference_mean", j->difference.mean);
    json_number(&js, "difference_max", j->difference.max);
    json_int(&js, "runs", j->n_runs);
    json_number(&js, "ms", total_ms(j));
    json_number(&js, "macs", macs);
    json_number(&js, "integer_macs", integers);
    json_int(&js, "weights_bytes", (int64_t)use.weights_bytes);
    json_int(&js, "arena_bytes", (int64_t)use.arena_bytes);
    json_int(&js, "scratch_bytes", (int64_t)use.scratch_bytes);
    json_int(&js, "planned_bytes", (int64_t)use.planned_bytes);
    json_bound(&js, &use);
    json_begin(&js, "steps", '[');
    for (size_t i = 0; i < j->n_steps; i++) {
        const step *s = &j->steps[i];
        json_begin(&js, NULL, '{');
        json_text(&js, "node", s->node);
        json_text(&js, "op", s->op);
        json_text(&js, "output", s->output);
        json_text(&js, "kernel", s->kernel);
        json_number(&js, "ms", s->ms);
        json_number(&js, "flops", s->flops);
        json_number(&js, "bytes", s->bytes);
        json_number(&js, "macs", s->macs);
        json_text(&js, "why_float", s->why_float);
        json_end(&js, '}');
    }
    json_end(&js, ']');
    json_end(&js, '}');
    return results_end(&js, j->a);
}

/* ---- the whole ---- */

static exit_code go(job *j) {
    const args *a = j->a;
    hone_error err;
    hone_session_options o;
    int fill = HONE_FILL_RANDOM;
    j->n_runs = 10;
    if (!fill_of(a, &fill) || !session_options(a, &o) ||
        !number_of(a, "--runs", 1, 100000, &j->n_runs))
        return EXIT_USAGE;
    if (load_model(a, &j->model, &err) != HONE_OK) return fail_with(&err);
    exit_code code = open_session(a, j->model, &o, &j->session);
    if (code != EXIT_DONE) return code;
    code = feed_init(&j->feed, a, j->model);
    if (code == EXIT_DONE) code = feed_fill(&j->feed, fill, o.seed);
    const char *path = value_of(a, "--trace");
    if (code == EXIT_DONE && path != NULL) {
        j->trace = fopen(path, "wx");
        if (j->trace == NULL) {
            complain("%s: cannot be made (it must not exist yet)", path);
            return EXIT_INPUT;
        }
        fputs("{\"traceEvents\":[", j->trace);
    }
    if (code == EXIT_DONE) code = run_all(j);
    if (j->trace != NULL) fputs("\n]}\n", j->trace);
    if (code != EXIT_DONE) return code;
    note_tuning(hone_session_tuning(j->session));
    note_choices(j->session);
    if (compare_with_f32(j->model, &o, &j->feed, j->feed.out, &j->difference, &err) != HONE_OK)
        return fail_with(&err);
    note_difference(&j->difference);
    if (has(a, "--explain") && !is_quantized(j))
        note("no operator is quantized: everything is computed in floats");
    if (j->n_steps == 0) note("no steps: the model runs through the operators' references");
    bool text = !has(a, "--json") && j->n_steps > 0;
    if (text && has(a, "--explain") && is_quantized(j))
        print_floats(j);
    else if (text)
        print_text(j);
    return write_results(j);
}

static exit_code run(const args *a) {
    job j = {.a = a};
    exit_code code = go(&j);
    if (j.trace != NULL && fclose(j.trace) != 0 && code == EXIT_DONE) {
        complain("%s: could not be written", value_of(a, "--trace"));
        code = EXIT_RESOURCE;
    }
    for (size_t i = 0; i < j.n_steps; i++) {
        free(j.steps[i].node);
        free(j.steps[i].op);
        free(j.steps[i].kernel);
        free(j.steps[i].output);
        free(j.steps[i].why_float);
        free(j.steps[i].runs);
    }
    free(j.steps);
    feed_deinit(&j.feed);
    hone_session_destroy(j.session);
    hone_model_destroy(j.model);
    return code;
}

static const option_def options[] = {
    {"--runs", 'n', "N", "runs to take the medians of (default: 10)", false},
    {"--explain", 0, NULL, "of a quantized model: what runs in floats, why, and what it takes",
     false},
    {"--trace", 0, "FILE", "write every step of every run as a Chrome trace", false},
    OPTION_FILL,
    OPTION_DIM,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_RESERVE,
    OPTION_TUNE,
    OPTION_TUNE_CACHE,
    OPTION_EXEC,
    OPTION_KERNEL,
    OPTION_WITHOUT,
    OPTION_PRECISION,
    OPTION_LAYER_PRECISION,
    OPTION_ISA,
    OPTION_MAX_MEMORY,
    OPTION_NO_SHARING,
    OPTION_NO_MMAP,
    OPTION_JSON,
    OPTION_REPORT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_profile = {
    .name = "profile",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "where a run spends its time, step by step",
    .options = options,
    .run = run,
};
