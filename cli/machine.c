/* hone machine: facts, a table of peaks, a table of bandwidths, and where the two meet; of this
 * machine, or of another as a file of -o says. */
#include <stdlib.h>
#include <string.h>

#include "write.h"

/* Operations per byte at which arithmetic takes as long as reading its operands from memory; the
 * best instruction of a precision counts. */
typedef struct balance {
    const char *precision;
    int threads;
    double gops, ops_per_byte;
} balance;

#define MOST_BALANCES 16
static int balances_of(const hone_machine *m, balance *b) {
    int n = 0;
    for (size_t i = 0; i < m->n_peaks; i++) {
        const hone_peak_info *p = &m->peaks[i];
        int k = 0;
        while (k < n && (strcmp(b[k].precision, p->precision) != 0 || b[k].threads != p->threads))
            k++;
        if (k == MOST_BALANCES) continue;
        if (k == n) b[n++] = (balance){.precision = p->precision, .threads = p->threads};
        if (p->gops > b[k].gops) b[k].gops = p->gops;
    }
    for (int k = 0; k < n; k++)
        for (size_t i = 0; i < m->n_bandwidths; i++)
            if (m->bandwidths[i].threads == b[k].threads &&
                strcmp(m->bandwidths[i].level, "memory") == 0)
                b[k].ops_per_byte = b[k].gops / m->bandwidths[i].read_gb;
    return n;
}

/* ---- JSON ---- */

typedef struct found {
    const hone_machine *m;
    int n;
    balance balances[MOST_BALANCES];
} found;

/* NULL: not known. */
static const char *capability_text(const hone_gpu_info *g, char buf[32]) {
    if (g->capability[0] <= 0) return NULL;
    snprintf(buf, 32, "%d.%d", g->capability[0], g->capability[1]);
    return buf;
}

#include "schema/machine.def"

/* ---- text ---- */

static void print_isas(const hone_machine *m) {
    char *text;
    size_t bytes;
    bool masked = false;
    FILE *to = must(open_memstream(&text, &bytes));
    for (size_t i = 0; i < m->n_isas; i++) {
        if (m->isas[i].allowed) fprintf(to, " %s", m->isas[i].name);
        masked |= !m->isas[i].allowed;
    }
    if (masked) fprintf(to, "%s (not", strcmp(m->isa, "portable") == 0 ? " portable" : "");
    for (size_t i = 0; i < m->n_isas; i++)
        if (!m->isas[i].allowed) fprintf(to, " %s", m->isas[i].name);
    if (masked) fputs(": HONE_ISA)", to);
    if (fclose(to) != 0) must(NULL);
    line("isa      %s", bytes > 0 ? text + 1 : "portable");
    free(text);
}

static void print_facts(const hone_machine *m) {
    char a[32], b[32];
    line("cpu      %s, %s, %s", m->cpu, m->arch, m->kernel);
    print_isas(m);
    line("cores    %d of %d CPUs may be used", m->allowed_cores, m->cpus);
    if (m->quota > 0)
        line("quota    %d %s of time (cgroup)", m->quota, m->quota == 1 ? "CPU" : "CPUs");
    line("threads  %d by default", m->threads);
    for (size_t i = 0; i < m->n_caches; i++) {
        const hone_cache_info *c = &m->caches[i];
        if (c->cpus > 1)
            line("L%d       %s, shared by %d CPUs", c->level, human_bytes(c->bytes, a), c->cpus);
        else
            line("L%d       %s%s", c->level, human_bytes(c->bytes, a),
                 c->cpus == 1 ? " of each core" : "");
    }
    if (m->memory_limit >= 0)
        line("memory   %s, limited to %s (cgroup)", human_bytes(m->memory_bytes, a),
             human_bytes(m->memory_limit, b));
    else
        line("memory   %s", human_bytes(m->memory_bytes, a));
    for (size_t i = 0; i < m->n_gpus; i++) {
        const hone_gpu_info *g = &m->gpus[i];
        const char *capability = capability_text(g, b);
        line("gpu      %s%s%s%s%s%s%s", g->name, g->memory_bytes >= 0 ? ", " : "",
             g->memory_bytes >= 0 ? human_bytes(g->memory_bytes, a) : "",
             capability != NULL ? ", compute capability " : "",
             capability != NULL ? capability : "", m->gpu_driver != NULL ? ", driver " : "",
             m->gpu_driver != NULL ? m->gpu_driver : "");
    }
}

/* "1 thread", "8 threads" */
static const char *threads_text(int n, char buf[32]) {
    snprintf(buf, 32, "%d %s", n, n == 1 ? "thread" : "threads");
    return buf;
}

/* A row per instruction, a column per number of threads: one, and all where that is more. */
static void print_peaks(const hone_machine *m) {
    char all[32];
    int columns = m->threads > 1 ? 2 : 1;
    const char *one_heads[] = {"peak", "instruction", "isa", "1 thread", ""};
    const char *heads[] = {"peak", "instruction", "isa", "1 thread", threads_text(m->threads, all),
                           ""};
    table *t = columns == 2 ? table_new(heads, "lllrrl") : table_new(one_heads, "lllrl");
    for (size_t i = 0; i + (size_t)columns <= m->n_peaks; i += (size_t)columns) {
        const hone_peak_info *p = &m->peaks[i];
        table_cell(t, "%s", p->precision);
        table_cell(t, "%s", p->instruction);
        table_cell(t, "%s", p->isa);
        for (int k = 0; k < columns; k++) table_cell(t, "%.1f", p[k].gops);
        table_cell(t, "%s", strcmp(p->precision, "int8") == 0 ? "GOP/s" : "GFLOP/s");
    }
    table_print(t);
}

static void print_bandwidths(const hone_machine *m) {
    static const char *const heads[] = {"bandwidth", "threads", "within", "read",
                                        "write",     "copy",    ""};
    table *t = table_new(heads, "lrrrrrl");
    for (size_t i = 0; i < m->n_bandwidths; i++) {
        const hone_bandwidth_info *b = &m->bandwidths[i];
        char bytes[32];
        table_cell(t, "%s", b->level);
        table_cell(t, "%d", b->threads);
        table_cell(t, "%s", human_bytes(b->bytes, bytes));
        table_cell(t, "%.1f", b->read_gb);
        table_cell(t, "%.1f", b->write_gb);
        table_cell(t, "%.1f", b->copy_gb);
        table_cell(t, "GB/s");
    }
    table_print(t);
}

/* What it means, and how far it can be trusted. */
static void print_close(const hone_machine *m, bool measured_here) {
    balance b[MOST_BALANCES];
    int n = balances_of(m, b);
    double noise = 100 * m->noise;
    char *text, threads[32];
    size_t bytes;
    FILE *to = must(open_memstream(&text, &bytes));
    for (int i = 0; i < n; i++)
        if (b[i].threads == m->threads) fprintf(to, ", %s %.0f", b[i].precision, b[i].ops_per_byte);
    if (fclose(to) != 0) must(NULL);
    line("balance  operations per byte where arithmetic meets memory, %s: %s",
         threads_text(m->threads, threads), text + 2);
    line(
        "         A step with fewer operations per byte waits for memory; fewer bytes make it "
        "faster.");
    free(text);
    if (m->disturbed)
        line("noise    others disturbed %.0f %% of the measuring: rates may be too low", noise);
    else if (noise >= 10)
        line("noise    others disturbed %.0f %% of the measuring, which was left out", noise);
    if (m->cached && measured_here)
        line("         Rates are from the cache; --remeasure measures again.");
}

/* ---- the command ---- */

/* This machine. */
static exit_code probe(const args *a, hone_machine **m) {
    hone_error err;
    progress p;
    char path[CACHE_PATH];
    hone_machine_options o;
    hone_machine_options_init(&o);
    if (!has(a, "--no-cache"))
        o.cache = has(a, "--cache") ? value_of(a, "--cache") : cache_file("machine.txt", path);
    o.remeasure = has(a, "--remeasure");
    o.progress = progress_step;
    o.progress_ctx = &p;
    catch_interrupt();
    progress_start(&p, "machine", NULL);
    hone_status status = hone_machine_probe(m, &o, &err);
    progress_end(&p);
    return status == HONE_OK ? EXIT_DONE : fail_with(&err);
}

/* The machine that a file describes. */
static exit_code read_file(const args *a, hone_machine **m) {
    static const char *const useless[] = {"--remeasure", "--cache", "--no-cache", "--output"};
    hone_error err;
    for (size_t i = 0; i < sizeof useless / sizeof *useless; i++) {
        if (!has(a, useless[i])) continue;
        complain("%s is for measuring; %s is only read", useless[i], a->argument[0]);
        return EXIT_USAGE;
    }
    if (hone_machine_read(m, model_path(a->argument[0]), &err) == HONE_OK) return EXIT_DONE;
    return fail_with(&err);
}

static exit_code run(const args *a) {
    hone_machine *m;
    json j;
    const char *path = value_of(a, "--output"), *why = path != NULL ? unwritable(path) : NULL;
    if (why != NULL) {
        complain("--output %s: cannot be made (%s)", path, why);
        return EXIT_INPUT;
    }
    exit_code code = a->n > 0 ? read_file(a, &m) : probe(a, &m);
    if (code != EXIT_DONE) return code;
    results_begin(&j, a);
    found f = {.m = m};
    f.n = balances_of(m, f.balances);
    write_machine(&j, a, &f);
    if (path != NULL) code = write_whole(path, j.text, j.bytes); /* as --json prints it */
    if (!has(a, "--json")) {
        print_facts(m);
        line("%s", "");
        print_peaks(m);
        line("%s", "");
        print_bandwidths(m);
        line("%s", "");
        print_close(m, a->n == 0);
    }
    hone_machine_destroy(m);
    exit_code reported = results_end(&j, a);
    return code == EXIT_DONE ? reported : code;
}

static const option_def options[] = {
    {"--output", 'o', ">FILE", "write the result here: the machine, for hone machine FILE to read",
     false, NULL},
    {"--remeasure", 0, NULL, "measure again, even if the cache has a measurement", false, NULL},
    {"--cache", 0, "<>FILE", "where measurements are kept (default: ~/.cache/hone/machine.txt)",
     false, NULL},
    {"--no-cache", 0, NULL, "neither read nor keep measurements", false, NULL},
    OPTION_ON,
    OPTION_JSON,
    OPTION_REPORT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0}};

const verb verb_machine = {
    .name = "machine",
    .usage = "[FILE]",
    .n_arguments = 0,
    .most_arguments = 1,
    .summary = "what this machine is, and its measured limits, or what a file says of another",
    .options = options,
    .run = run,
};
