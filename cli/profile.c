/* hone profile: runs plans step by step and says what their times mean. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profile.h"
#include "write.h"

typedef struct job {
    const args *a;
    int n_plans;
    plan plans[MOST_PLANS];
    hone_machine *machine; /* NULL: its limits are not wanted */
    recorder spans;
    hone_profile_options o;
    sorting sort;
    grouping by;
    int64_t top;
    double requests_per_day, machine_price;
} job;

/* ---- options ---- */

/* The place of the word in a list that ends with NULL; absent: *v is unchanged. */
static bool word_of(const args *a, const char *name, const char *const *list, int *v) {
    const char *word = value_of(a, name);
    if (word == NULL) return true;
    for (int i = 0; list[i] != NULL; i++) {
        if (strcmp(list[i], word) != 0) continue;
        *v = i;
        return true;
    }
    char *all = join(list);
    complain("%s wants one of %s, got '%s'", name, all, word);
    free(all);
    return false;
}

static bool read_options(job *j) {
    static const char *const sorts[] = {"time", "name", "order", "lost", "share", NULL};
    static const char *const groups[] = {"node", "op", "scope", NULL};
    const args *a = j->a;
    int sort = BY_TIME, by = BY_NODE;
    hone_profile_options_init(&j->o);
    j->top = 20;
    j->o.counters = true;
    if (!word_of(a, "--sort", sorts, &sort) || !word_of(a, "--by", groups, &by) ||
        !top_of(a, &j->top) || !number_of(a, "--runs", 1, 100000, &j->o.runs) ||
        !real_of(a, "--max-latency", 0, 1e9, &j->o.max_latency_ms) ||
        !real_of(a, "--requests-per-day", 0, 1e15, &j->requests_per_day) ||
        !real_of(a, "--machine-price", 0, 1e12, &j->machine_price))
        return false;
    if (j->top == 0) {
        note("--top 0 is now called --top all; the old name goes with the next version");
        j->top = INT64_MAX;
    }
    if (has(a, "--requests-per-day") != has(a, "--machine-price")) {
        complain("--requests-per-day and --machine-price go together");
        return false;
    }
    j->sort = (sorting)sort;
    j->by = (grouping)by;
    return true;
}

/* ---- measuring ---- */

exit_code probe_machine(hone_machine **m) {
    hone_error err;
    hone_machine_options o;
    progress p;
    char path[CACHE_PATH];
    hone_machine_options_init(&o);
    o.cache = cache_file("machine.txt", path);
    o.progress = progress_step;
    o.progress_ctx = &p;
    progress_start(&p, "machine", NULL);
    hone_status status = hone_machine_probe(m, &o, &err);
    progress_end(&p);
    return status == HONE_OK ? EXIT_DONE : fail_with(&err);
}

static exit_code probe(job *j) {
    if (has(j->a, "--no-roofline") || j->machine != NULL) return EXIT_DONE;
    exit_code code = probe_machine(&j->machine);
    j->o.machine = j->machine;
    return code;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Up to the first run, with spans listened to. */
static exit_code start(job *j, plan *p, int number, const hone_session_options *o) {
    hone_error err;
    int fill = HONE_FILL_RANDOM;
    if (!fill_of(&p->a, &fill)) return EXIT_USAGE;
    if (load_model(&p->a, &p->model, &err) != HONE_OK) return fail_with(&err);
    exit_code code = open_session(&p->a, p->model, o, &p->session);
    if (code == EXIT_DONE) code = feed_init(&p->feed, &p->a, p->model);
    if (code == EXIT_DONE) code = feed_fill(&p->feed, fill, o->seed, o->max_memory);
    if (code != EXIT_DONE) return code;
    feed *f = &p->feed;
    hone_status status = hone_session_prepare(p->session, f->n_in, f->in, &err);
    double begun = now_ms();
    if (status == HONE_OK)
        status = hone_session_run(p->session, f->n_in, f->in, f->n_out, f->out, &err);
    if (status != HONE_OK) return fail_with(&err);
    const recorder *r = &j->spans;
    startup *s = &p->startup;
    s->first_run_ms = now_ms() - begun;
    s->read_ms = recorder_ms(r, number, "load", "read");
    s->parse_ms = recorder_ms(r, number, "load", "parse") + recorder_ms(r, number, "load", "infer");
    s->passes_ms = recorder_ms(r, number, "compile", "passes");
    s->tune_ms = hone_session_tuning(p->session).ms;
    s->compile_ms = fmax(recorder_ms(r, number, "compile", "plan") - s->tune_ms, 0);
    s->pack_ms = recorder_ms(r, number, "compile", "pack");
    return EXIT_DONE;
}

static void price(const job *j, plan *p, int64_t samples) {
    cost *c = &p->cost;
    if (j->requests_per_day <= 0) return;
    double per_day = p->profile->wall_ms > 0 ? 86400e3 / p->profile->wall_ms * (double)samples : 0;
    c->requests_per_day = j->requests_per_day;
    c->machine_price = j->machine_price;
    c->utilization = per_day > 0 ? j->requests_per_day / per_day : 0;
    c->machines = fmax(ceil(c->utilization), 1);
    c->per_month = c->machines * j->machine_price;
}

HONE_PRINTF(4, 5)
static void conclude(plan *p, const char *question, const char *answer, const char *format, ...) {
    char *evidence = p->evidence[p->n_verdicts];
    va_list list;
    va_start(list, format);
    vsnprintf(evidence, sizeof p->evidence[0], format, list);
    va_end(list);
    p->verdicts[p->n_verdicts++] = (hone_verdict){question, answer, evidence};
}

/* When not to start: the time goes elsewhere, there is little to save, or machines cost less. */
static void judge(plan *p) {
    const stages *s = &p->stages;
    const cost *c = &p->cost;
    if (s->known)
        conclude(p, "is the model the bottleneck",
                 s->share < 0.5 ? "no: what lies around it takes longer" : "yes",
                 "inference is %.0f %% of the time from a sample to an answer", 100 * s->share);
    if (c->requests_per_day <= 0) return;
    double saved = c->machines - fmax(ceil(c->utilization / 2), 1);
    conclude(p, "does a faster model pay",
             c->utilization <= 1 ? "no: inference is too rare, one machine serves it anyway"
             : saved < 2         ? "hardly: adding a machine is cheaper than much work"
                                 : "yes",
             "%.4g machines are needed; twice as fast would save %.4g of them, %.2f a month",
             c->machines, saved, saved * c->machine_price);
}

static exit_code measure(job *j, int number) {
    plan *p = &j->plans[number];
    feed *f = &p->feed;
    hone_error err;
    hone_session_options o;
    bool traced = has(j->a, "--trace") || has(j->a, "--folded");
    p->a = args_of(j->a, number);
    j->spans.plan = number;
    if (!session_options(&p->a, &o)) return EXIT_USAGE;
    recorder_listen(&j->spans);
    exit_code code = start(j, p, number, &o);
    recorder_pause();
    if (code == EXIT_DONE) code = probe(j);
    if (code != EXIT_DONE) return code;
    if (traced) recorder_listen(&j->spans);
    hone_profile_options how = j->o;
    progress bar;
    how.samples = batch_of(f);
    how.progress = progress_step;
    how.progress_ctx = &bar;
    progress_start(&bar, "profile", "runs");
    hone_status status =
        hone_profile_create(&p->profile, p->session, f->n_in, f->in, f->n_out, f->out, &how, &err);
    progress_end(&bar);
    recorder_pause();
    if (status != HONE_OK) return fail_with(&err);
    price(j, p, how.samples);
    code = measure_stages(p, how.runs);
    if (code != EXIT_DONE) return code;
    judge(p);
    note_tuning(hone_session_tuning(p->session));
    note_choices(p->session);
    if (compare_with_f32(p->model, &o, f, f->out, &p->difference, &err) != HONE_OK)
        return fail_with(&err);
    note_session_precision(p->session);
    note_difference(&p->difference);
    return EXIT_DONE;
}

/* ---- JSON ---- */

typedef struct profiled {
    const plan *p;
    const hone_profile *f;
    const hone_machine *machine; /* NULL: without its limits */
    hone_memory_use use;
} profiled;

#include "schema/profile.def"

/* ---- the whole ---- */

static void print_plans(const job *j) {
    const plan *p = &j->plans[0];
    for (int i = 0; i < j->n_plans; i++)
        if (j->plans[i].profile->n_steps == 0)
            note("no steps: the model runs through the operators' references");
    if (has(j->a, "--json") || p->profile->n_steps == 0) return;
    if (j->n_plans == 2)
        print_side_by_side(p, p + 1, j->top);
    else if (has(j->a, "--explain"))
        print_explained(p);
    else
        print_profile(p, j->sort, j->by, j->top);
}

static exit_code write_spans(const job *j) {
    const char *trace = value_of(j->a, "--trace"), *folded = value_of(j->a, "--folded");
    exit_code code = EXIT_DONE;
    if (trace != NULL) code = write_trace(&j->spans, trace, j->n_plans, j->a->argument);
    if (folded != NULL && code == EXIT_DONE) code = write_folded(&j->spans, folded, j->a->argument);
    return code;
}

/* So that nothing is measured for a file that cannot be made. */
static exit_code check_files(const args *a) {
    static const char *const files[] = {"--trace", "--folded"};
    for (int i = 0; i < 2; i++) {
        const char *path = value_of(a, files[i]), *why = path != NULL ? unwritable(path) : NULL;
        if (why != NULL) {
            complain("%s %s: cannot be made (%s)", files[i], path, why);
            return EXIT_INPUT;
        }
    }
    return EXIT_DONE;
}

static exit_code go(job *j, json *js) {
    if (!read_options(j)) return EXIT_USAGE;
    exit_code code = check_files(j->a);
    for (int i = 0; i < j->n_plans && code == EXIT_DONE; i++) code = measure(j, i);
    if (code == EXIT_DONE) code = write_spans(j);
    if (code != EXIT_DONE) return code;
    print_plans(j);
    for (int i = 0; i < j->n_plans; i++) {
        const plan *p = &j->plans[i];
        write_profile(js, j->a,
                      &(profiled){p, p->profile, j->machine, hone_session_memory(p->session)});
    }
    return EXIT_DONE;
}

static void deinit_plan(plan *p) {
    hone_profile_destroy(p->profile);
    feed_deinit(&p->feed);
    hone_session_destroy(p->session);
    hone_model_destroy(p->model);
    args_deinit(&p->a);
}

static exit_code run(const args *a) {
    job j = {.a = a, .n_plans = a->n};
    json js;
    results_begin(&js, a);
    exit_code code = go(&j, &js), made = results_end(&js, a);
    recorder_pause();
    recorder_deinit(&j.spans);
    for (int i = 0; i < j.n_plans; i++) deinit_plan(&j.plans[i]);
    hone_machine_destroy(j.machine);
    return code != EXIT_DONE ? code : made;
}

static const option_def options[] = {
    {"--runs", 'n', "N", "how many runs to measure (default: 10)", false, NULL},
    {"--explain", 0, NULL,
     "say what each product is computed in, and why; if quantized, what runs in floats", false,
     NULL},
    {"--sort", 0, "KEY",
     "order of the rows: time (default), name, order, lost, or share of the roofline", false, NULL},
    {"--top", 0, "N|all", "rows of the table (default: 20)", false, NULL},
    {"--by", 0, "WHAT", "what a row is: node (default), op, or scope (the path in node names)",
     false, NULL},
    {"--data", 'd', "SPEC", "samples to use: times decoding, preprocessing and inference apart",
     false, NULL},
    {"--no-roofline", 0, NULL, "do not measure the machine's limits", false, NULL},
    {"--max-latency", 0, "MS", "the longest a run may take, for the verdict on it", false, NULL},
    {"--requests-per-day", 0, "N", "with --machine-price: machines needed and their cost", false,
     NULL},
    {"--machine-price", 0, "P", "price of a machine per month", false, NULL},
    {"--trace", 0, ">FILE", "write start-up, steps and memory as a Chrome trace (Perfetto)", false,
     NULL},
    {"--folded", 0, ">FILE", "write start-up and steps as folded stacks, for flame graphs", false,
     NULL},
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

const verb verb_profile = {
    .name = "profile",
    .usage = "MODEL [OTHER]",
    .n_arguments = 1,
    .most_arguments = 2,
    .summary = "where a run spends its time, step by step",
    .options = options,
    .run = run,
};
