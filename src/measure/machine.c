#include "measure/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pool.h"
#include "measure/peak.h"

#define MOST_CACHES 8

/* ---- facts ---- */

/* The first line of a file below root, without its end. */
static bool first_line(const char *root, const char *path, char *line, size_t bytes) {
    char full[512];
    if (snprintf(full, sizeof full, "%s%s", root, path) >= (int)sizeof full) return false;
    FILE *f = fopen(full, "re");
    if (f == NULL) return false;
    bool found = fgets(line, (int)bytes, f) != NULL;
    fclose(f);
    if (found) line[strcspn(line, "\n")] = '\0';
    return found;
}

/* "48K", "2M" */
static int64_t bytes_of(const char *text) {
    char *end;
    long long n = strtoll(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    return n > 0 && n < INT64_C(1) << 30 ? (int64_t)n << shift : 0;
}

int hn_machine_caches(const char *root, hone_cache_info *caches, int room) {
    int n = 0;
    for (int i = 0; n < room; i++) {
        char path[128], type[64], level[64], size[64], line[64], shared[512];
        hn_cpu_set set;
#define FIELD(name, to)                                                                   \
    (snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/" name, i) < \
         (int)sizeof path &&                                                              \
     first_line(root, path, to, sizeof to))
        if (!FIELD("type", type)) return n;
        if (strcmp(type, "Instruction") == 0 || !FIELD("level", level) || !FIELD("size", size))
            continue;
        hone_cache_info c = {.level = atoi(level), .bytes = bytes_of(size)};
        if (FIELD("coherency_line_size", line)) c.line_bytes = atoi(line);
        if (FIELD("shared_cpu_list", shared)) {
            hn_cpu_set_parse(&set, shared);
            for (int cpu = 0; cpu < HN_CPU_MAX; cpu++) c.cpus += hn_cpu_set_has(&set, cpu);
        }
        if (c.bytes > 0) caches[n++] = c;
#undef FIELD
    }
    return n;
}

static hone_status read_facts(hone_machine *m, hn_arena *arena, hn_error *err) {
    struct utsname names;
    hone_cache_info *caches = hn_arena_array(arena, MOST_CACHES, sizeof *caches);
    char cpu[200];
    hn_cpu_name("", cpu, sizeof cpu);
    m->cpu = hn_arena_strdup(arena, cpu);
    m->arch = hn_arena_strdup(arena, uname(&names) == 0 ? names.machine : "unknown");
    if (caches == NULL || m->cpu == NULL || m->arch == NULL) return HN_NOMEM(err);
    m->isa = hn_isa_name(hn_isa_available());
    m->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    m->allowed_cores = hn_cpu_list(NULL, 0);
    m->quota = hn_cpu_quota("");
    m->threads = hn_cpu_threads();
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    m->memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page : -1;
    size_t limit = hn_cpu_memory_limit("");
    m->memory_limit = (int64_t)(limit < INT64_MAX ? limit : INT64_MAX);
    if (m->memory_limit >= m->memory_bytes) m->memory_limit = -1;
    m->n_caches = (size_t)hn_machine_caches("", caches, MOST_CACHES);
    m->caches = caches;
    return HONE_OK;
}

/* ---- rates ---- */

/* What all threads do at once, each on memory of its own. */
typedef struct burst {
    const hn_peak *peak; /* NULL: memory */
    hn_stream kind;
    hn_isa isa;
    char *memory;
    size_t bytes; /* of each thread */
    int64_t rounds;
} burst;

static void run_burst(void *ctx, int64_t lane) {
    const burst *b = ctx;
    if (b->peak != NULL) {
        b->peak->loop(b->rounds);
        return;
    }
    for (int64_t i = 0; i < b->rounds; i++)
        hn_stream_run(b->kind, b->isa, b->memory + (size_t)lane * b->bytes, b->bytes);
}

/* Rounds of all threads per ns: the best window of WINDOW_NS or more, within SPAN_NS. */
static double rate(burst *b, hn_pool *pool) {
    enum { WINDOW_NS = 2000000, SPAN_NS = 80000000 };
    int threads = hn_pool_threads(pool);
    int64_t begun = hn_clock_ns(), t;
    double best = 0;
    b->rounds = 1;
    do {
        int64_t t0 = hn_clock_ns();
        hn_pool_run(pool, threads, run_burst, b);
        t = hn_clock_ns();
        double r = (double)b->rounds * threads / (double)(t - t0);
        if (t - t0 < WINDOW_NS)
            b->rounds *= 2;
        else if (r > best)
            best = r;
    } while (best == 0 || t - begun < SPAN_NS);
    return best;
}

typedef struct probe {
    hone_machine *m;
    hn_isa isa;
    hn_pool *pools[2]; /* one thread, and all where that is more */
    int n_pools;
    hone_peak_info *peaks;
    hone_bandwidth_info *bandwidths;
    char *memory;
    int64_t done, total;
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *ctx;
} probe;

static hone_status step(probe *p, hn_error *err) {
    p->done++;
    HN_CHECK(err, p->progress == NULL || p->progress(p->ctx, p->done, p->total), HONE_E_LIMIT,
             "stopped");
    return HONE_OK;
}

static bool have(const probe *p, const hn_peak *k) { return (k->isa & p->isa) == k->isa; }

static hone_status probe_arithmetic(probe *p, hn_error *err) {
    for (int i = 0; i < hn_n_peaks; i++) {
        const hn_peak *k = &hn_peaks[i];
        for (int t = 0; t < p->n_pools && have(p, k); t++) {
            burst b = {.peak = k};
            p->peaks[p->m->n_peaks++] = (hone_peak_info){.precision = k->precision,
                                                         .instruction = k->instruction,
                                                         .isa = hn_isa_name(k->isa),
                                                         .threads = hn_pool_threads(p->pools[t]),
                                                         .gops = rate(&b, p->pools[t]) * k->ops};
            HN_TRY(step(p, err));
        }
    }
    return HONE_OK;
}

/* A size for each level: half of a cache that is a core's own, a part of a shared one, and for
 * memory several times the last cache, as far as there is memory. */
typedef struct level {
    const char *name;
    size_t bytes; /* of all threads */
} level;

#define MOST_LEVELS 4
static int levels_of(const hone_machine *m, int threads, size_t most, level *levels) {
    static const char *const names[] = {"L1", "L2", "L3"};
    size_t last = 1 << 20;
    int n = 0;
    for (size_t i = 0; i < m->n_caches && n < 3; i++) {
        size_t cache = (size_t)m->caches[i].bytes, bytes = cache / 2 * (size_t)threads;
        if (m->caches[i].level > 2 || m->caches[i].cpus > 2) { /* others use it too */
            bytes = cache / 4;
            if (bytes > 4 * last) bytes = 4 * last;
        }
        if (bytes > most) bytes = most;
        levels[n] = (level){names[n], bytes};
        n++;
        last = cache;
    }
    size_t memory = 3 * last;
    if (memory < (size_t)256 << 20) memory = (size_t)256 << 20;
    if (memory > (size_t)512 << 20) memory = (size_t)512 << 20;
    levels[n++] = (level){"memory", memory < most ? memory : most};
    return n;
}

static hone_status probe_memory(probe *p, size_t most, hn_error *err) {
    level levels[MOST_LEVELS];
    for (int t = 0; t < p->n_pools; t++) {
        int threads = hn_pool_threads(p->pools[t]);
        int n = levels_of(p->m, threads, most, levels);
        for (int i = 0; i < n; i++) {
            burst b = {.isa = p->isa, .memory = p->memory};
            b.bytes = levels[i].bytes / (size_t)threads / 1024 * 1024;
            double gb[HN_STREAM_COUNT_];
            for (int kind = 0; kind < HN_STREAM_COUNT_; kind++) {
                b.kind = (hn_stream)kind;
                gb[kind] = rate(&b, p->pools[t]) * (double)b.bytes;
                HN_TRY(step(p, err));
            }
            p->bandwidths[p->m->n_bandwidths++] =
                (hone_bandwidth_info){.level = levels[i].name,
                                      .bytes = (int64_t)b.bytes * threads,
                                      .threads = threads,
                                      .read_gb = gb[HN_STREAM_READ],
                                      .write_gb = gb[HN_STREAM_WRITE],
                                      .copy_gb = gb[HN_STREAM_COPY]};
        }
    }
    return HONE_OK;
}

static hone_status measure(probe *p, hn_arena *arena, hn_error *err) {
    hone_machine *m = p->m;
    level levels[MOST_LEVELS];
    size_t most = hn_cpu_memory() / 4 / 1024 * 1024;
    int n_levels = levels_of(m, m->threads, most, levels), n_peaks = 0;
    for (int i = 0; i < hn_n_peaks; i++) n_peaks += have(p, &hn_peaks[i]);
    p->total = (int64_t)p->n_pools * (n_peaks + n_levels * HN_STREAM_COUNT_);
    p->peaks = hn_arena_array(arena, (size_t)(n_peaks * p->n_pools), sizeof *p->peaks);
    p->bandwidths = hn_arena_array(arena, (size_t)(n_levels * p->n_pools), sizeof *p->bandwidths);
    size_t bytes = levels[n_levels - 1].bytes;
    p->memory = hn_alloc(arena->alloc, bytes, HN_MEM_OTHER);
    HN_CHECK(err, p->peaks != NULL && p->bandwidths != NULL && p->memory != NULL, HONE_E_NOMEM,
             "out of memory (%zu bytes to measure bandwidth)", bytes);
    memset(p->memory, 0, bytes);
    m->peaks = p->peaks;
    m->bandwidths = p->bandwidths;
    HN_TRY(probe_arithmetic(p, err));
    return probe_memory(p, most, err);
}

hone_status hn_machine_probe(hone_machine *m, hn_arena *arena,
                             bool (*progress)(void *ctx, int64_t done, int64_t total), void *ctx,
                             hn_error *err) {
    HN_TRY(read_facts(m, arena, err));
    probe p = {.m = m, .isa = hn_isa_available(), .progress = progress, .ctx = ctx};
    hone_status status = hn_pool_create(&p.pools[p.n_pools++], 1, arena->alloc, err);
    if (status == HONE_OK && m->threads > 1)
        status = hn_pool_create(&p.pools[p.n_pools++], m->threads, arena->alloc, err);
    if (status == HONE_OK) status = measure(&p, arena, err);
    hn_free(arena->alloc, p.memory);
    hn_pool_destroy(p.pools[1]);
    hn_pool_destroy(p.pools[0]);
    return status;
}

hone_status hn_machine_look(hone_machine *m, hn_arena *arena, hn_error *err) {
    return read_facts(m, arena, err);
}
