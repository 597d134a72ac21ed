/* What `hone bench` found: as JSON, as CSV, as tables, and what it means. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "write.h"

/* ---- JSON ---- */

typedef struct bench_row {
    const job *j;
    int at; /* of the results */
    const config *c;
    const result *r;
    const comparison *compared;
} bench_row;

static const char *const verdicts[] = {"same", "slower", "faster", "unknown"};

#include "schema/bench.def"

static bench_row row_of(const job *j, int i) {
    return (bench_row){j, i, &j->configs[i], &j->results[i], &j->comparisons[i]};
}

void bench_json(job *j, int i) { write_bench(j->found, j->a, (bench_row[]){row_of(j, i)}); }

/* ---- CSV ---- */

/* The heading or a row of it. Columns are those rows of the schema that are marked as such. */
typedef struct csv {
    bool head, comma;
    const char *unit; /* "_ms" of what is inside "latency_ms", behind the key; or NULL */
} csv;

static void csv_put(csv *to, const char *key, const char *text) {
    if (to->comma) putchar(',');
    to->comma = true;
    char name[32];
    if (to->head) {
        snprintf(name, sizeof name, "%s%s", key, to->unit != NULL ? to->unit : "");
        text = name;
    }
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted) putchar('"');
    for (; *text != '\0'; text++) printf(*text == '"' ? "\"\"" : "%c", *text);
    if (quoted) putchar('"');
}

static void csv_TEXT(csv *to, const char *key, const char *v) { csv_put(to, key, v); }

/* Empty where it is not known. */
static void csv_NUMBER(csv *to, const char *key, double v) {
    char text[32] = "";
    if (isfinite(v)) snprintf(text, sizeof text, "%.9g", v);
    csv_put(to, key, text);
}

static void csv_INT(csv *to, const char *key, int64_t v) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    csv_put(to, key, text);
}

#include "schema/undef.def"
/* clang-format off */
#define VERB(name, type, text) static void csv_##name(csv *to, const args *a, const type *it) {
#define END_VERB(name) putchar('\n'); }
#define RECORD(name, type) static inline void csv_##name(csv *to, const type *it) { (void)to, (void)it;
#define END(name) }
/* clang-format on */
#define OBJECT(key, record, at, meaning) \
    to->unit = strchr(#key, '_');        \
    csv_##record(to, at);                \
    to->unit = NULL;
#define SAME(record, at) csv_##record(to, at);
#define COLUMN(kind, key, v, meaning) csv_##kind(to, #key, v);
#include "schema/rest.def"

#include "schema/common.def"

#include "schema/bench.def"

void bench_csv(const job *j) {
    if (j->n > 0 && j->first) csv_bench(&(csv){.head = true}, j->a, (bench_row[]){row_of(j, 0)});
    for (int i = 0; i < j->n; i++)
        if (j->results[i].failed[0] == '\0')
            csv_bench(&(csv){.head = false}, j->a, (bench_row[]){row_of(j, i)});
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
        k.precision |= strcmp(r->precision_shown, other->precision_shown) != 0;
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
    if (k->precision) table_cell(t, "%s", r->precision_shown);
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
    if (!k.precision) fprintf(to, " %s,", r->precision_shown);
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
    const char *isa = last->isa; /* has it products of bf16? */
    bool bf16 = strcmp(j->machine->isa, isa) == 0 &&
                (strcmp(isa, "amx") == 0 || strcmp(isa, "neoni8mm") == 0);
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
    else if (bf16 && strcmp(last->precision, "f32") == 0 && !has(j->a, "--precision"))
        line("next: --precision f32,bf16, as this CPU multiplies bf16 faster");
    else
        line("next: hone profile %s, to see where the time goes", model);
}
