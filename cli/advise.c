/* hone advise: what to do to a model for a device, and in which order. Profiles the model, then asks
 * the library for a plan. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "write.h"

/* Fewer samples are too few to calibrate with. */
#define ENOUGH_SAMPLES 100

typedef struct job {
    const args *a;
    hone_advise_options o;
    hone_session_options session;
    hone_profile_options how;
    hone_machine *machine; /* this one, with its limits; NULL: the model did not run */
    hone_machine *device;  /* of --target FILE.json; NULL: the target is a name */
    plan plan;
    char *words[3]; /* the model, what is made of it, and the samples, as a shell takes them */
    hone_dim_value dims[MOST_OPTIONS];
} job;

/* ---- options ---- */

static const char *target_at(size_t i) { return hone_advise_target(i); }

/* A word as a shell takes it: the part of a command line behind the verb. */
static char *quoted(const char *word) {
    char *text = command_text("x", 1, &word), *from = strchr(text, 'x') + 2;
    memmove(text, from, strlen(from) + 1);
    return text;
}

static void choose_words(job *j) {
    const char *given = j->a->argument[0];
    bool from_input = strcmp(given, "-") == 0;
    char *path;
    /* What looks like an option is none as a path. */
    if (asprintf(&path, "%s%s", given[0] == '-' && !from_input ? "./" : "",
                 from_input ? "model" : given) < 0)
        path = must(NULL);
    size_t n = strlen(path);
    j->words[0] = quoted(from_input ? given : path);
    if (n > 5 && (strcmp(path + n - 5, ".onnx") == 0 || strcmp(path + n - 5, ".hone") == 0)) n -= 5;
    path[n] = '\0';
    j->words[1] = quoted(path);
    free(path);
    if (has(j->a, "--data")) j->words[2] = quoted(value_of(j->a, "--data"));
    j->o.model_word = j->words[0];
    j->o.output_word = j->words[1];
    j->o.data_word = j->words[2];
}

static bool is_machine_file(const char *target) {
    size_t n = target != NULL ? strlen(target) : 0;
    return n > 5 && strcmp(target + n - 5, ".json") == 0;
}

/* The machine of --target FILE.json; the tree is that of its kind. */
static exit_code read_device(job *j) {
    const char *path = value_of(j->a, "--target");
    hone_error err;
    if (!is_machine_file(path)) return EXIT_DONE;
    if (hone_machine_read(&j->device, path, &err) != HONE_OK) return fail_with(&err);
    bool arm = j->device->arch != NULL && strcmp(j->device->arch, "aarch64") == 0;
    j->o.target = arm ? "edge_arm" : "cpu";
    j->o.machine = j->device;
    return EXIT_DONE;
}

static bool read_options(job *j) {
    const args *a = j->a;
    hone_advise_options *o = &j->o;
    double drop = -1;
    hone_advise_options_init(o);
    hone_profile_options_init(&j->how);
    if ((!is_machine_file(value_of(a, "--target")) &&
         !choice_of(a, "--target", "target", target_at, &o->target)) ||
        !use_of(a, &o->use) || !session_options(a, &j->session) ||
        !real_of(a, "--max-latency", 1e-6, 1e9, &o->max_latency_ms) ||
        !megabytes_of(a, "--max-size", &o->max_file_bytes) ||
        !megabytes_of(a, "--max-run-memory", &o->max_run_memory_bytes) ||
        !drop_of(a, &drop, &o->max_drop_relative) ||
        !real_of(a, "--requests-per-day", 0, 1e15, &o->requests_per_day) ||
        !real_of(a, "--machine-price", 0, 1e12, &o->machine_price) ||
        !number_of(a, "--runs", 1, 100000, &j->how.runs))
        return false;
    o->max_drop = drop;
    o->has_data = has(a, "--data");
    if (has(a, "--no-run") && has(a, "--data")) {
        complain("--data times samples, and --no-run runs nothing; give one of them");
        return false;
    }
    choose_words(j);
    return true;
}

/* ---- measuring ---- */

static exit_code look_at_data(const job *j) {
    hone_dataset *d = NULL;
    hone_error err;
    if (!has(j->a, "--data")) return EXIT_DONE;
    if (hone_dataset_open(&d, value_of(j->a, "--data"), &err) != HONE_OK) return fail_with(&err);
    int64_t n = hone_dataset_count(d);
    if (n < ENOUGH_SAMPLES)
        note("%lld samples are few: quantizing wants %d or more to look at", (long long)n,
             ENOUGH_SAMPLES);
    hone_dataset_destroy(d);
    return EXIT_DONE;
}

/* Runs the model as far as it goes: p->profile stays NULL where it does not. */
static exit_code run_model(job *j) {
    plan *p = &j->plan;
    feed *f = &p->feed;
    hone_error err;
    progress bar;
    exit_code code = open_session(&p->a, p->model, &j->session, &p->session);
    if (code == EXIT_DONE)
        code = feed_fill(f, HONE_FILL_RANDOM, j->session.seed, j->session.max_memory);
    if (code != EXIT_DONE) return code;
    hone_status status = hone_session_prepare(p->session, f->n_in, f->in, &err);
    if (status == HONE_OK)
        status = hone_session_run(p->session, f->n_in, f->in, f->n_out, f->out, &err);
    if (status != HONE_OK) return fail_with(&err);
    code = probe_machine(&j->machine);
    if (code != EXIT_DONE) return code;
    j->how.machine = j->machine;
    j->how.samples = batch_of(f);
    j->how.progress = progress_step;
    j->how.progress_ctx = &bar;
    progress_start(&bar, "profile", "runs");
    status = hone_profile_create(&p->profile, p->session, f->n_in, f->in, f->n_out, f->out, &j->how,
                                 &err);
    progress_end(&bar);
    if (status != HONE_OK) return fail_with(&err);
    return measure_stages(p, j->how.runs);
}

/* Sizes of symbols, as far as they are settled. */
static void take_dims(job *j) {
    const feed *f = &j->plan.feed;
    for (size_t i = 0; i < f->n_dims && i < MOST_OPTIONS; i++) j->dims[j->o.n_dims++] = f->dims[i];
    j->o.dims = j->dims;
}

static exit_code measure(job *j) {
    plan *p = &j->plan;
    hone_memory_use use;
    exit_code code = has(j->a, "--no-run") ? EXIT_DONE : run_model(j);
    take_dims(j);
    if (code == EXIT_INPUT && !has(j->a, "--data")) {
        note("the model does not run here: the plan is made from its counts");
        code = EXIT_DONE;
    }
    if (code != EXIT_DONE || p->profile == NULL) return code;
    for (size_t i = 0; i < p->profile->n_verdicts; i++) {
        const hone_verdict *v = &p->profile->verdicts[i];
        if (strcmp(v->question, "do the steps add up to the run") == 0)
            note("others used the cores: %s; measure again on a quiet machine", v->evidence);
    }
    use = hone_session_memory(p->session);
    j->o.run_bytes = (int64_t)(use.planned_bytes > 0 ? use.planned_bytes : use.peak_bytes);
    j->o.profile = p->profile;
    if (j->device == NULL && strcmp(j->o.target, "cpu") == 0 && p->profile->n_steps > 0) {
        j->o.machine = j->machine;
        j->o.isa = hone_session_isa(p->session);
        j->o.here = true;
    }
    if (p->stages.known) {
        const stages *s = &p->stages;
        j->o.inference_ms = s->inference_ms;
        j->o.outside_ms = s->decode_ms + s->preprocess_ms + s->copy_ms + s->postprocess_ms;
    }
    return EXIT_DONE;
}

/* ---- text ---- */

static const char *ms_text(double ms, char buf[32]) {
    if (!isfinite(ms))
        snprintf(buf, 32, "-");
    else if (ms >= 1000)
        snprintf(buf, 32, "%.3g s", ms / 1000);
    else if (ms >= 0.01)
        snprintf(buf, 32, "%.3g ms", ms);
    else
        snprintf(buf, 32, "%.3g us", ms * 1000);
    return buf;
}

static const char *times_text(double v, char buf[32]) {
    snprintf(buf, 32, isfinite(v) ? "%.1fx" : "-", v);
    return buf;
}

static void print_head(const job *j, const hone_advice *o, const hone_inspection *in) {
    char a[32], b[32], c[32];
    const char *use = NULL;
    line("%-12s%s: %s parameters, %s MACs, %s", "model", j->a->argument[0],
         human_count(in->params, a), human_count(in->macs, b), human_bytes(in->file_bytes, c));
    wrapped(
        0, 12, "%-12s%s: %s, %s", "target", o->target, o->machine,
        o->typical ? "by typical figures of its class, not measured" : "with its measured limits");
    wrapped(0, 12, "%-12s%s, as a rule", "guides", o->strategy);
    if (!isfinite(o->run_ms))
        line("%-12snot known", "time");
    else if (o->measured)
        line("%-12s%s a run, measured here; %.0f %% of what the roofline allows", "time",
             ms_text(o->run_ms, a), 100 * o->roof_share);
    else if (isfinite(o->here_ms))
        line("%-12s%s a run there, worked out; %s a run here, measured", "time",
             ms_text(o->run_ms, a), ms_text(o->here_ms, b));
    else
        line("%-12s%s a run there, worked out", "time", ms_text(o->run_ms, a));
    const char *name;
    for (size_t i = 0; (name = hone_advise_use(i, NULL)) != NULL; i++)
        if (j->o.use != NULL && strcmp(name, j->o.use) == 0) hone_advise_use(i, &use);
    wrapped(0, 12, "%-12s%s%s%s%s%s%s", "wanted",
            o->wanted[0] != '\0' ? o->wanted : "no limit is given (--max-latency, --use ...)",
            use != NULL ? " (" : "", use != NULL ? j->o.use : "", use != NULL ? ": " : "",
            use != NULL ? use : "", use != NULL ? ")" : "");
    wrapped(0, 12, "%-12s%s: %s", "bottleneck", o->bottleneck, o->evidence);
    if (o->bottleneck_remedies[0] != '\0')
        wrapped(12, 12, "guides then say: %s", o->bottleneck_remedies);
    wrapped(0, 12, "%-12s%s", "verdict", o->verdict);
}

static void print_plan(const hone_advice *o) {
    static const char *const heads[] = {"#",        "remedy",     "speed", "file",
                                        "run then", "guides say", "effort"};
    char buf[32];
    int planned = 0;
    for (size_t i = 0; i < o->n_remedies; i++) planned += o->remedies[i].rank > 0;
    if (planned == 0) return;
    line("%s", "");
    line("plan");
    table *t = table_new(heads, "rhrrrhl");
    for (size_t i = 0; i < o->n_remedies; i++) {
        const hone_advice_remedy *r = &o->remedies[i];
        if (r->rank == 0) continue;
        table_cell(t, "%d", r->rank);
        table_cell(t, "%s", r->name);
        if (isfinite(r->throughput))
            table_cell(t, "%s/s", times_text(r->throughput, buf));
        else
            table_cell(t, "%s", times_text(r->speed, buf));
        table_cell(t, "%s", times_text(r->smaller, buf));
        table_cell(t, "%s", ms_text(r->then_ms, buf));
        table_cell(t, "%s", r->guides[0] != '\0' ? r->guides : "-");
        table_cell(t, "%s", r->effort);
    }
    table_print(t);
    wrapped(0, 0,
            "speed (/s: samples per second) and file: what each gives alone, by the roofline; run "
            "then: with all before it");
    wrapped(0, 0,
            "commands begin with the model as it is: keep what measures well (hone compare); of "
            "several, those that train come first and those that quantize last");
    for (size_t i = 0; i < o->n_remedies; i++) {
        const hone_advice_remedy *r = &o->remedies[i];
        if (r->rank == 0) continue;
        line("%s", "");
        line("%d. %s", r->rank, r->name);
        wrapped(3, 12, "why      %s", r->why);
        wrapped(3, 12, "cost     %s; data: %s; %s", r->effort, r->data,
                r->training ? "with training" : "no training");
        wrapped(3, 12, "risk     %s", r->risk);
        line("   command  %s", r->command != NULL ? r->command : "none: this is outside of hone");
    }
}

static bool names_in_commands(const hone_advice *o, const char *word) {
    for (size_t i = 0; i < o->n_remedies; i++) {
        const char *c = o->remedies[i].command;
        const char *at = o->remedies[i].rank > 0 && c != NULL ? strstr(c, word) : NULL;
        if (at != NULL && at > c && at[-1] == ' ') return true;
    }
    return false;
}

/* What stands in commands for what was not given. */
static void print_placeholders(const job *j, const hone_advice *o) {
    bool data = !has(j->a, "--data") && names_in_commands(o, "DATA");
    bool student = names_in_commands(o, "STUDENT.onnx");
    if (data || student) line("%s", "");
    if (data)
        line(
            "DATA stands for your samples, such as npz:samples.npz or images:FOLDER "
            "(docs/data.md)");
    if (student) line("STUDENT.onnx stands for a smaller model, yours or of hone make");
}

/* Marks: the place in the plan, + in effect, - not. */
static void print_tree(const hone_advice *o) {
    line("%s", "");
    line("the tree for %s", o->target);
    for (size_t b = 0; b < o->n_branches; b++) {
        const hone_advice_branch *d = &o->branches[b];
        bool again = b > 0 && strcmp(d->evidence, d[-1].evidence) == 0;
        if (d->question[0] != '\0')
            wrapped(2, 8, "%s %s%s%s", d->question, d->answer, again ? "" : ": ",
                    again ? "" : d->evidence);
        else
            line("  %s", b == 0 ? "first" : "then");
        table *t = table_new(NULL, "rlll");
        for (size_t i = 0; i < o->n_remedies; i++) {
            const hone_advice_remedy *r = &o->remedies[i];
            if (r->branch != b) continue;
            if (r->rank > 0)
                table_cell(t, "    %d", r->rank);
            else
                table_cell(t, "    %s", strcmp(r->state, "done") == 0 ? "+" : "-");
            table_cell(t, "%s", r->name);
            table_cell(t, "%s", r->state);
            bool told = strcmp(r->state, "done") == 0 || strcmp(r->state, "left out") == 0 ||
                        strcmp(r->state, "if needed") == 0;
            table_cell(t, "%s", told ? r->why : "");
        }
        table_print(t);
    }
    if (o->n_refused > 0) line("  no remedies for %s", o->target);
    for (size_t i = 0; i < o->n_refused; i++) wrapped(4, 8, "%s", o->refused[i]);
}

static void print_symptoms(const hone_advice *o) {
    line("%s", "");
    line("symptoms");
    for (size_t i = 0, k; i < o->n_symptoms; i = k) {
        const hone_advice_symptom *first = &o->symptoms[i];
        table *t = table_new(NULL, "llll");
        wrapped(2, 4, "%s: guides say %s", first->kind, first->remedies);
        for (k = i; k < o->n_symptoms && strcmp(o->symptoms[k].kind, first->kind) == 0; k++) {
            table_cell(t, "%s", "  ");
            table_cell(t, "%s", o->symptoms[k].answer);
            table_cell(t, "%s", o->symptoms[k].sign);
            table_cell(t, "%s", o->symptoms[k].evidence);
        }
        table_print(t);
    }
}

static void print_stops(const hone_advice *o) {
    line("%s", "");
    line("reasons to stop, or not to begin");
    for (size_t i = 0; i < o->n_stops; i++) {
        line("  %-9s  %s", o->stops[i].answer, o->stops[i].question);
        wrapped(13, 13, "%s", o->stops[i].evidence);
    }
}

static void print_advice(const job *j, const hone_advice *o, const hone_inspection *in) {
    print_head(j, o, in);
    print_plan(o);
    print_placeholders(j, o);
    if (!o->stop) print_tree(o);
    print_symptoms(o);
    print_stops(o);
}

/* ---- the whole ---- */

typedef struct advised {
    const hone_advice *o;
    const char *use;
} advised;

#include "schema/advise.def"

static exit_code show(job *j) {
    hone_advice *o = NULL;
    hone_inspection *in = NULL;
    hone_error err;
    json out;
    hone_status status = hone_advise(j->plan.model, &j->o, &o, &err);
    if (status == HONE_OK)
        status = hone_model_inspect(j->plan.model, j->o.dims, j->o.n_dims, &in, &err);
    exit_code code = status == HONE_OK ? EXIT_DONE : fail_with(&err);
    if (status == HONE_OK) {
        results_begin(&out, j->a);
        write_advise(&out, j->a, &(advised){o, j->o.use});
        if (!has(j->a, "--json")) print_advice(j, o, in);
        code = results_end(&out, j->a);
    }
    hone_inspection_destroy(in);
    hone_advice_destroy(o);
    return code;
}

static exit_code run(const args *a) {
    job j = {.a = a};
    hone_error err;
    plan *p = &j.plan;
    exit_code code = read_options(&j) ? look_at_data(&j) : EXIT_USAGE;
    p->a = args_of(a, 0);
    if (code == EXIT_DONE) code = read_device(&j);
    if (code == EXIT_DONE && load_model(&p->a, &p->model, &err) != HONE_OK) code = fail_with(&err);
    if (code == EXIT_DONE) code = feed_init(&p->feed, &p->a, p->model);
    if (code == EXIT_DONE) code = measure(&j);
    if (code == EXIT_DONE) code = show(&j);
    hone_profile_destroy(p->profile);
    feed_deinit(&p->feed);
    hone_session_destroy(p->session);
    hone_model_destroy(p->model);
    args_deinit(&p->a);
    hone_machine_destroy(j.machine);
    hone_machine_destroy(j.device);
    for (int i = 0; i < 3; i++) free(j.words[i]);
    return code;
}

static const option_def options[] = {
    {"--target", 0, "<DEVICE",
     "device the model will run on: cpu (default, this machine), edge_arm, embedded_mcu, "
     "mobile_npu, nvidia_gpu, or the .json that hone machine -o wrote there",
     false, NULL},
    OPTION_USE,
    {"--max-latency", 0, "MS", "the longest a run may take", false, NULL},
    {"--max-size", 0, "MB", "the largest the file may be", false, NULL},
    {"--max-run-memory", 0, "MB", "the most memory a run may take", false, NULL},
    {"--max-drop", 0, "P", "the most accuracy that may be lost: 1%, 0.01, 1%rel", false, NULL},
    {"--data", 'd', "SPEC", "samples to use: times decoding, preprocessing and inference apart",
     false, NULL},
    {"--requests-per-day", 0, "N",
     "with --machine-price: machines needed and their cost; alone: whether the work pays", false,
     NULL},
    {"--machine-price", 0, "P", "price of a machine per month", false, NULL},
    {"--no-run", 0, NULL, "measure nothing: plan by counts of the model and typical figures", false,
     NULL},
    {"--runs", 'n', "N", "how many runs to measure (default: 10)", false, NULL},
    OPTION_DIM,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_RESERVE,
    OPTION_ISA,
    OPTION_MAX_MEMORY,
    OPTION_TIME_LIMIT,
    OPTION_NO_MMAP,
    OPTION_JSON,
    OPTION_REPORT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_advise = {
    .name = "advise",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "what to do to a model for a device, in which order, and when to stop",
    .options = options,
    .run = run,
};
