/* bench --baseline: whether a configuration got slower since an earlier run was saved.
 *
 * One series of runs cannot tell a slower build from a machine that others use. So what seems
 * slower is measured again, in a new process, as often as hone_timing_judge asks for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct entry {
    char *model, *precision, *isa, *cpu, *version;
    int64_t batch, threads, streams;
    hone_timing ms;
} entry;

struct baseline {
    const char *path;
    int n;
    entry *entries;
};

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void baseline_free(baseline *b) {
    if (b == NULL) return;
    for (int i = 0; i < b->n; i++) {
        entry *e = &b->entries[i];
        free(e->model);
        free(e->precision);
        free(e->isa);
        free(e->cpu);
        free(e->version);
    }
    free(b->entries);
    free(b);
}

#if HN_HAVE_JANSSON
#include <jansson.h>

/* A struct of each table, with a member for every key: KEY is a key of a record that has it. */
/* clang-format off */
#define VERB(name, type, text) struct has_##name {
#define END_VERB(name) };
#define RECORD(name, type) struct has_##name {
#define END(name) };
/* clang-format on */
#define TEXT(key, v, meaning) char key;
#define INT(key, v, meaning) char key;
#define NUMBER(key, v, meaning) char key;
#define BOOL(key, v, meaning) char key;
#define NUMBERS(key, n, v, meaning) char key;
#define OBJECT(key, record, at, meaning) struct has_##record key;
#define COLUMN(kind, ...) kind(__VA_ARGS__)
#include "schema/rest.def"

#include "schema/bench.def"
#define KEY(record, key) (&#key[0 * sizeof((struct has_##record *)0)->key])

/* The text of a key, or "" where there is none. */
static char *text_in(const json_t *o, const char *key) {
    const char *text = json_string_value(json_object_get(o, key));
    return must(strdup(text != NULL ? text : ""));
}

/* A number above 0; else says what is missing. */
static bool number_in(const baseline *b, int line_number, const json_t *o, const char *key,
                      double *v) {
    const json_t *found = json_object_get(o, key);
    *v = json_number_value(found);
    if (*v > 0 && isfinite(*v)) return true;
    complain("%s: line %d has no number above 0 as '%s'", b->path, line_number, key);
    return false;
}

static bool read_entry(baseline *b, int line_number, const json_t *o) {
    const json_t *latency = json_object_get(o, KEY(bench, latency_ms)),
                 *windows = json_object_get(o, KEY(bench, windows_ms));
    double batch, threads, streams;
    b->entries = must(realloc(b->entries, ((size_t)b->n + 1) * sizeof *b->entries));
    entry *e = &b->entries[b->n++];
    *e = (entry){.model = text_in(o, KEY(bench, model)),
                 .precision = text_in(o, KEY(bench, precision)),
                 .isa = text_in(o, KEY(bench, isa)),
                 .cpu = text_in(o, KEY(bench, cpu)),
                 .version = text_in(o, KEY(bench, version))};
    if (!number_in(b, line_number, o, KEY(bench, batch), &batch) ||
        !number_in(b, line_number, o, KEY(bench, threads), &threads) ||
        !number_in(b, line_number, o, KEY(bench, streams), &streams) ||
        !number_in(b, line_number, latency, KEY(latency, min), &e->ms.min) ||
        !number_in(b, line_number, latency, KEY(latency, p50), &e->ms.p50))
        return false;
    e->batch = batch < 1e15 ? (int64_t)batch : 0;
    e->threads = threads < 1e15 ? (int64_t)threads : 0;
    e->streams = streams < 1e15 ? (int64_t)streams : 0;
    e->ms.pace = json_number_value(json_object_get(o, KEY(bench, pace)));
    e->ms.disturbed = json_is_true(json_object_get(o, KEY(bench, disturbed))) && e->ms.pace > 0;
    size_t n = json_array_size(windows);
    for (size_t i = 0; i < n && i < HONE_TIMING_WINDOWS; i++) {
        double v = json_number_value(json_array_get(windows, i));
        if (v > 0 && isfinite(v)) e->ms.median[e->ms.n_windows++] = v;
    }
    return true;
}

static bool read_line(baseline *b, int line_number, const char *text) {
    json_error_t err;
    json_t *o = json_loads(text, 0, &err);
    const char *schema = json_string_value(json_object_get(o, "schema"));
    bool good = false;
    if (o == NULL)
        complain("%s: line %d is not JSON: %s", b->path, line_number, err.text);
    else if (schema == NULL || strcmp(schema, "hone.bench/1") != 0)
        complain(
            "%s: line %d is of schema '%s', expected hone.bench/1: what hone bench --json "
            "prints",
            b->path, line_number, schema != NULL ? schema : "?");
    else
        good = read_entry(b, line_number, o);
    json_decref(o);
    return good;
}

static exit_code read_file(baseline *b) {
    FILE *f = fopen(b->path, "re");
    char *text = NULL;
    size_t room = 0;
    bool good = f != NULL;
    if (f == NULL) complain("cannot open '%s': %m", b->path);
    for (int n = 1; good && getline(&text, &room, f) >= 0; n++)
        if (text[strspn(text, " \t\r\n")] != '\0') good = read_line(b, n, text);
    if (f != NULL) fclose(f);
    free(text);
    if (good && b->n == 0) complain("%s holds no results", b->path);
    return good && b->n > 0 ? EXIT_DONE : EXIT_INPUT;
}
#else
static exit_code read_file(baseline *b) {
    complain("%s: this build of hone cannot read JSON (libjansson)", b->path);
    return EXIT_INPUT;
}
#endif

/* Another machine or version is said once, for all of the file. */
static exit_code check_origin(const baseline *b, const job *j) {
    for (int i = 0; i < b->n; i++) {
        const entry *e = &b->entries[i];
        if (strcmp(e->cpu, j->machine->cpu) != 0) {
            complain("%s was measured on %s, this is %s: times do not compare", b->path,
                     e->cpu[0] != '\0' ? e->cpu : "an unknown CPU", j->machine->cpu);
            return EXIT_INPUT;
        }
    }
    if (strcmp(b->entries[0].version, hone_version()) != 0)
        note("%s is of hone %s, this is %s", b->path, b->entries[0].version, hone_version());
    return EXIT_DONE;
}

exit_code baseline_read(baseline **out, const job *j, const char *path) {
    baseline *b = must(calloc(1, sizeof *b));
    b->path = path;
    exit_code code = read_file(b);
    if (code == EXIT_DONE) code = check_origin(b, j);
    if (code == EXIT_DONE)
        *out = b;
    else
        baseline_free(b);
    return code;
}

static bool is_of(const entry *e, const job *j, int i) {
    const result *r = &j->results[i];
    return strcmp(name_of(e->model), name_of(j->a->argument[0])) == 0 && e->batch == r->batch &&
           e->threads == r->threads && e->streams == j->configs[i].streams &&
           strcmp(e->precision, r->precision) == 0 && strcmp(e->isa, r->isa) == 0;
}

/* All entries of this configuration as one; false: there is none. */
static bool find(const baseline *b, const job *j, int i, hone_timing *then) {
    hone_timing *all = must(calloc((size_t)b->n, sizeof *all));
    size_t n = 0;
    bool settled;
    for (int k = 0; k < b->n; k++)
        if (is_of(&b->entries[k], j, i)) all[n++] = b->entries[k].ms;
    if (n > 0) hone_timing_join(then, all, n, &settled);
    free(all);
    return n > 0;
}

exit_code baseline_compare(const baseline *b, job *j, int i) {
    result *r = &j->results[i];
    comparison *c = &j->comparisons[i];
    hone_timing then;
    if (!find(b, j, i, &then)) {
        note("%s has no result of %s at batch %lld, threads %d, streams %lld, %s, %s", b->path,
             name_of(j->a->argument[0]), (long long)r->batch, r->threads,
             (long long)j->configs[i].streams, r->precision, r->isa);
        return EXIT_DONE;
    }
    *c = (comparison){.made = true, .then_p50 = then.p50};
    for (bool more = true;;) {
        c->change = hone_timing_judge(&then, j->seen, (size_t)r->rounds, &more);
        if (!more || r->rounds == MOST_ROUNDS) return EXIT_DONE;
        j->total++;
        exit_code code = bench_again(j, &j->configs[i], r);
        if (code != EXIT_DONE) return code;
    }
}

exit_code baseline_verdict(const job *j) {
    const char *path = value_of(j->a, "--baseline");
    int made = 0, slower = 0;
    for (int i = 0; i < j->n; i++) {
        const comparison *c = &j->comparisons[i];
        made += c->made;
        slower += c->made && c->change.verdict == HONE_CHANGE_SLOWER;
        if (c->made && c->change.verdict == HONE_CHANGE_UNKNOWN)
            note(
                "%s: the machine is too noisy, or was then, to tell whether batch %lld, threads %d "
                "got "
                "slower",
                path, (long long)j->results[i].batch, j->results[i].threads);
    }
    if (made == 0)
        complain("%s has none of the configurations that were measured", path);
    else if (slower > 0)
        complain("%d of %d configurations got slower than in %s", slower, made, path);
    return made == 0 ? EXIT_INPUT : slower > 0 ? EXIT_FAILED : EXIT_DONE;
}
