/* What `hone bench` found: as JSON, as CSV, as tables, and what it means. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- JSON ---- */

static void json_list(json *js, const char *key, const double *v, int n) {
    json_begin(js, key, '[');
    for (int i = 0; i < n; i++) json_number(js, NULL, v[i]);
    json_end(js, ']');
}

static void json_timing(json *js, const hone_timing *t) {
    json_begin(js, "latency_ms", '{');
    json_number(js, "mean", t->mean);
    json_number(js, "std", t->std);
    json_number(js, "min", t->min);
    json_number(js, "max", t->max);
    json_number(js, "p50", t->p50);
    json_number(js, "p90", t->p90);
    json_number(js, "p95", t->p95);
    json_number(js, "p99", t->p99);
    json_number(js, "p99_9", t->p99_9);
    json_end(js, '}');
    json_begin(js, "histogram", '{');
    json_number(js, "low_ms", t->low);
    json_number(js, "high_ms", t->high);
    json_begin(js, "counts", '[');
    for (int i = 0; i < HONE_TIMING_BINS; i++) json_int(js, NULL, t->counts[i]);
    json_end(js, ']');
    json_end(js, '}');
    json_list(js, "windows_ms", t->median, t->n_windows);
    json_list(js, "fastest_ms", t->fastest, t->n_windows);
    json_number(js, "noise", t->noise);
    json_bool(js, "stable", t->stable);
    json_number(js, "pace", t->pace);
    json_bool(js, "disturbed", t->disturbed);
}

static const char *const verdicts[] = {"same", "slower", "faster", "unknown"};

static void json_comparison(json *js, const comparison *c) {
    if (!c->made) {
        json_text(js, "baseline", NULL);
        return;
    }
    json_begin(js, "baseline", '{');
    json_text(js, "verdict", verdicts[c->change.verdict]);
    json_number(js, "ratio", c->change.ratio);
    json_number(js, "margin", c->change.margin);
    json_number(js, "then_ms", c->change.then);
    json_number(js, "now_ms", c->change.now);
    json_number(js, "p50_ms", c->then_p50);
    json_end(js, '}');
}

void bench_json(job *j, int i) {
    const config *c = &j->configs[i];
    const result *r = &j->results[i];
    json *js = j->found;
    results_object(js, j->a);
    json_text(js, "version", hone_version());
    json_text(js, "cpu", j->machine->cpu);
    json_text(js, "model", j->a->argument[0]);
    json_text(js, "data", value_of(j->a, "--data"));
    json_int(js, "batch", r->batch);
    json_int(js, "threads", r->threads);
    json_int(js, "streams", c->streams);
    json_text(js, "precision", r->precision);
    json_number(js, "difference_mean", r->difference.mean);
    json_number(js, "difference_max", r->difference.max);
    json_text(js, "isa", r->isa);
    json_text(js, "device", "cpu");
    json_int(js, "iterations", r->ms.n);
    json_int(js, "rounds", r->rounds);
    json_timing(js, &r->ms);
    json_number(js, "throughput", r->throughput);
    json_number(js, "energy_mj", r->energy_mj);
    json_number(js, "load_ms", r->load_ms);
    json_number(js, "compile_ms", r->compile_ms);
    json_number(js, "tune_ms", r->tuning.ms);
    json_number(js, "first_run_ms", r->first_run_ms);
    json_int(js, "weights_bytes", (int64_t)r->memory.weights_bytes);
    json_int(js, "arena_bytes", (int64_t)r->memory.arena_bytes);
    json_int(js, "scratch_bytes", (int64_t)r->memory.scratch_bytes);
    json_int(js, "planned_bytes", (int64_t)r->memory.planned_bytes);
    json_bound(js, &r->memory);
    json_int(js, "peak_rss_bytes", r->peak_rss);
    if (has(j->a, "--batch-search") || has(j->a, "--threads-search"))
        json_bool(js, "chosen", i == j->chosen);
    else
        json_text(js, "chosen", NULL);
    json_comparison(js, &j->comparisons[i]);
    json_end(js, '}');
}

/* ---- CSV ---- */

/* The heading or a row of it. */
typedef struct csv {
    bool head, comma;
} csv;

static void csv_put(csv *to, const char *key, const char *text) {
    if (to->comma) putchar(',');
    to->comma = true;
    if (to->head) text = key;
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted) putchar('"');
    for (; *text != '\0'; text++) printf(*text == '"' ? "\"\"" : "%c", *text);
    if (quoted) putchar('"');
}

/* Empty where it is not known. */
static void csv_number(csv *to, const char *key, double v) {
    char text[32] = "";
    if (isfinite(v)) snprintf(text, sizeof text, "%.9g", v);
    csv_put(to, key, text);
}

static void csv_int(csv *to, const char *key, int64_t v) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    csv_put(to, key, text);
}

static void csv_row(const job *j, int i, bool head) {
    const result *r = &j->results[i];
    const hone_timing *t = &r->ms;
    csv to = {.head = head};
    csv_put(&to, "model", j->a->argument[0]);
    csv_int(&to, "batch", r->batch);
    csv_int(&to, "threads", r->threads);
    csv_int(&to, "streams", j->configs[i].streams);
    csv_put(&to, "precision", r->precision);
    csv_put(&to, "isa", r->isa);
    csv_int(&to, "iterations", t->n);
    csv_number(&to, "mean_ms", t->mean);
    csv_number(&to, "std_ms", t->std);
    csv_number(&to, "min_ms", t->min);
    csv_number(&to, "max_ms", t->max);
    csv_number(&to, "p50_ms", t->p50);
    csv_number(&to, "p90_ms", t->p90);
    csv_number(&to, "p95_ms", t->p95);
    csv_number(&to, "p99_ms", t->p99);
    csv_number(&to, "p99_9_ms", t->p99_9);
    csv_number(&to, "noise", t->noise);
    csv_number(&to, "throughput", r->throughput);
    csv_number(&to, "energy_mj", r->energy_mj);
    csv_number(&to, "load_ms", r->load_ms);
    csv_number(&to, "compile_ms", r->compile_ms);
    csv_number(&to, "tune_ms", r->tuning.ms);
    csv_number(&to, "first_run_ms", r->first_run_ms);
    csv_int(&to, "weights_bytes", (int64_t)r->memory.weights_bytes);
    csv_int(&to, "arena_bytes", (int64_t)r->memory.arena_bytes);
    csv_int(&to, "scratch_bytes", (int64_t)r->memory.scratch_bytes);
    csv_int(&to, "peak_rss_bytes", r->peak_rss);
    putchar('\n');
}

void bench_csv(const job *j) {
    if (j->n > 0 && j->first) csv_row(j, 0, true);
    for (int i = 0; i < j->n; i++)
        if (j->results[i].failed[0] == '\0') csv_row(j, i, false);
}

/* ---- tables ---- */

/* Four digits: "6.554", "0.0585", "1234". */
static void cell_ms(table *t, double ms) {
    int whole = ms >= 1000 ? 4 : ms >= 100 ? 3 : ms >= 10 ? 2 : ms >= 0.1 ? 1 : 0;
    table_cell(t, "%.*f", 4 - whole, ms);
}

static void cell_bytes(table *t, int64_t bytes) {
    char text[32];
    table_cell(t, "%s", human_bytes(bytes, text));
}

/* What tells one configuration from another: the columns all tables begin with. What is the same
 * for all stands above them. */
typedef struct keys {
    bool batch, threads, precision, isa;
    int n;
    const char *heads[16];
    char align[16];
} keys;

static void column(keys *k, const char *head, char align) {
    k->heads[k->n] = head;
    k->align[k->n++] = align;
    k->align[k->n] = '\0';
}

static keys keys_of(const job *j) {
    keys k = {0};
    for (int i = 1; i < j->n; i++) {
        const result *r = &j->results[0], *other = &j->results[i];
        k.batch |= r->batch != other->batch;
        k.threads |= r->threads != other->threads;
        k.precision |= strcmp(r->precision, other->precision) != 0;
        k.isa |= strcmp(r->isa, other->isa) != 0;
    }
    if (k.batch) column(&k, "batch", 'r');
    if (k.threads) column(&k, "threads", 'r');
    if (k.precision) column(&k, "precision", 'l');
    if (k.isa) column(&k, "isa", 'l');
    return k;
}

static keys with(keys k, const char *const *heads) {
    for (; *heads != NULL; heads++) column(&k, *heads, 'r');
    return k;
}

static void cell_keys(table *t, const keys *k, const result *r) {
    if (k->batch) table_cell(t, "%lld", (long long)r->batch);
    if (k->threads) table_cell(t, "%d", r->threads);
    if (k->precision) table_cell(t, "%s", r->precision);
    if (k->isa) table_cell(t, "%s", r->isa);
}

static void latencies(const job *j, const keys *k) {
    static const char *const heads[] = {"min ms", "p50", "p90",     "p95", "p99",
                                        "p99.9",  "max", "items/s", NULL};
    keys all = with(*k, heads);
    table *t = table_new(all.heads, all.align);
    for (int i = 0; i < j->n; i++) {
        const hone_timing *ms = &j->results[i].ms;
        cell_keys(t, k, &j->results[i]);
        cell_ms(t, ms->min);
        cell_ms(t, ms->p50);
        cell_ms(t, ms->p90);
        cell_ms(t, ms->p95);
        cell_ms(t, ms->p99);
        cell_ms(t, ms->p99_9);
        cell_ms(t, ms->max);
        table_cell(t, "%.1f", j->results[i].throughput);
    }
    line("%s", "");
    table_print(t);
}

static void start_up(const job *j, const keys *k) {
    static const char *const heads[] = {"runs",    "mean ms", "std",   "noise",
                                        "load ms", "compile", "first", NULL};
    keys all = with(*k, heads);
    table *t = table_new(all.heads, all.align);
    for (int i = 0; i < j->n; i++) {
        const result *r = &j->results[i];
        cell_keys(t, k, &j->results[i]);
        table_cell(t, "%lld", (long long)r->ms.n);
        cell_ms(t, r->ms.mean);
        cell_ms(t, r->ms.std);
        if (isnan(r->ms.noise))
            table_cell(t, "?");
        else
            table_cell(t, "%.0f %%", 100 * r->ms.noise);
        cell_ms(t, r->load_ms);
        cell_ms(t, r->compile_ms);
        cell_ms(t, r->first_run_ms);
    }
    line("%s", "");
    table_print(t);
}

static void memory(const job *j, const keys *k) {
    static const char *const heads[] = {"weights", "activations", "workspace", "peak RSS", NULL};
    static const char *const and_energy[] = {"weights",  "activations", "workspace",
                                             "peak RSS", "mJ/item",     NULL};
    bool energy = !isnan(j->results[0].energy_mj);
    keys all = with(*k, energy ? and_energy : heads);
    table *t = table_new(all.heads, all.align);
    for (int i = 0; i < j->n; i++) {
        const result *r = &j->results[i];
        cell_keys(t, k, &j->results[i]);
        cell_bytes(t, (int64_t)r->memory.weights_bytes);
        cell_bytes(t, (int64_t)r->memory.arena_bytes);
        cell_bytes(t, (int64_t)r->memory.scratch_bytes);
        cell_bytes(t, r->peak_rss);
        if (energy) cell_ms(t, r->energy_mj);
    }
    line("%s", "");
    table_print(t);
}

void bench_tables(const job *j) {
    keys k = keys_of(j);
    const result *r = &j->results[0];
    char *text;
    size_t bytes;
    FILE *to = must(open_memstream(&text, &bytes));
    fprintf(to, "%s:", j->a->argument[0]);
    if (!k.batch) fprintf(to, " batch %lld,", (long long)r->batch);
    if (!k.threads) fprintf(to, " %d thread%s,", r->threads, r->threads > 1 ? "s" : "");
    if (j->configs[0].streams > 1) fprintf(to, " %lld streams,", (long long)j->configs[0].streams);
    if (!k.precision) fprintf(to, " %s,", r->precision);
    if (!k.isa) fprintf(to, " up to %s,", r->isa);
    fprintf(to, " %s", has(j->a, "--data") ? value_of(j->a, "--data") : "made-up inputs");
    if (fclose(to) != 0) must(NULL);
    line("%s", text);
    free(text);
    latencies(j, &k);
    start_up(j, &k);
    memory(j, &k);
}

void bench_comparisons(const job *j) {
    static const char *const heads[] = {"ms", "was", "ratio", "margin", "rounds", "baseline", NULL};
    keys k = keys_of(j), all = with(k, heads);
    table *t = table_new(all.heads, all.align);
    for (int i = 0; i < j->n; i++) {
        const comparison *c = &j->comparisons[i];
        if (!c->made) continue;
        cell_keys(t, &k, &j->results[i]);
        cell_ms(t, c->change.now);
        cell_ms(t, c->change.then);
        table_cell(t, "%.3f", c->change.ratio);
        table_cell(t, "%.0f %%", 100 * c->change.margin);
        table_cell(t, "%d", j->results[i].rounds);
        table_cell(t, "%s", verdicts[c->change.verdict]);
    }
    line("%s", "");
    table_print(t);
}

void bench_tries(const job *j) {
    static const char *const heads[] = {"batch", "threads",      "min ms",   "p50",
                                        "p99",   "best items/s", "peak RSS", ""};
    table *t = table_new(heads, "rrrrrrrl");
    for (int i = 0; i < j->n; i++) {
        const result *r = &j->results[i];
        if (r->failed[0] != '\0') {
            table_cell(t, "%lld", (long long)j->configs[i].batch);
            table_cell(t, "%lld", (long long)j->configs[i].threads);
            for (int k = 0; k < 5; k++) table_cell(t, "-");
            table_cell(t, "does not fit");
            continue;
        }
        table_cell(t, "%lld", (long long)r->batch);
        table_cell(t, "%d", r->threads);
        cell_ms(t, r->ms.min);
        cell_ms(t, r->ms.p50);
        cell_ms(t, r->ms.p99);
        table_cell(t, "%.1f", bench_speed(j, i));
        cell_bytes(t, r->peak_rss);
        table_cell(t, "%s", i == j->chosen ? "chosen" : "");
    }
    table_print(t);
    if (j->chosen < 0) return;
    const result *r = &j->results[j->chosen];
    line("%s", "");
    line(
        "batch %lld, %d thread%s: %.1f items/s at best, %.2f times those of the first row; p50 "
        "%.4g "
        "ms",
        (long long)r->batch, r->threads, r->threads > 1 ? "s" : "", bench_speed(j, j->chosen),
        bench_speed(j, j->chosen) / bench_speed(j, 0), r->ms.p50);
}

/* ---- what it means ---- */

/* Warns of numbers that another run would not give again. */
static void warn_of_noise(const job *j) {
    double worst = 0, pace = 1;
    for (int i = 0; i < j->n; i++) {
        const hone_timing *t = &j->results[i].ms;
        if (!t->stable && t->noise > worst) worst = t->noise;
        if (t->disturbed && t->pace < pace) pace = t->pace;
    }
    if (pace < 1)
        note(
            "warning: something else uses the cores: even the fastest runs had %.0f %% of their "
            "speed; measure again",
            100 * pace);
    else if (worst > 0)
        note(
            "warning: the machine is noisy: medians of the last parts of a run lie %.0f %% apart, "
            "10 %% would be quiet; --seconds 10 may help",
            100 * worst);
}

/* Of two configurations alike but for the batch or the threads: by how much the later has more
 * items per second; 0: they are not. */
static double gain(const job *j, int a, int b, bool threads) {
    const result *x = &j->results[a], *y = &j->results[b];
    if (strcmp(x->precision, y->precision) != 0 || strcmp(x->isa, y->isa) != 0) return 0;
    bool alike = threads ? x->batch == y->batch && x->threads < y->threads
                         : x->threads == y->threads && x->batch < y->batch;
    return alike ? (double)y->batch * x->ms.min / ((double)x->batch * y->ms.min) : 0;
}

void bench_hint(const job *j) {
    const char *model = j->a->argument[0];
    const result *last = &j->results[j->n - 1];
    double by_batch = 0, by_threads = 0;
    int fewest = last->threads;
    warn_of_noise(j);
    for (int i = 0; i + 1 < j->n; i++) {
        if (gain(j, i, j->n - 1, false) > 0) by_batch = gain(j, i, j->n - 1, false);
        if (gain(j, i, j->n - 1, true) > 0) {
            by_threads = gain(j, i, j->n - 1, true);
            fewest = j->results[i].threads;
        }
    }
    if (j->chosen >= 0 || has(j->a, "--json") || has(j->a, "--csv")) return;
    bool amx = strcmp(j->machine->isa, "amx") == 0 && strcmp(last->isa, "amx") == 0;
    int cores = last->threads * (int)j->configs[0].streams;
    line("%s", "");
    if (by_threads > 0 && by_threads < 1.3 && j->configs[0].streams == 1)
        line("next: --hint throughput, as %d threads are only %.2f times as fast as %d",
             last->threads, by_threads, fewest);
    else if (by_batch > 1.1)
        line("next: --batch-search, as items/s still grow with the batch (%.2f times)", by_batch);
    else if (cores < j->machine->threads)
        line("next: --threads-search, as %d of %d cores %s used", cores, j->machine->threads,
             cores > 1 ? "are" : "is");
    else if (amx && strcmp(last->precision, "f32") == 0 && !has(j->a, "--precision"))
        line("next: --precision f32,bf16, as this CPU multiplies bf16 faster");
    else
        line("next: hone profile %s, to see where the time goes", model);
}
