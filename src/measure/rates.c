#include "measure/rates.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/pool.h"
#include "measure/peak.h"

#define WINDOW_NS 600000
#define SPAN_NS INT64_C(5000000000) /* the most that measuring takes */
enum {
    WANTED = 24, /* clean windows of a rate */
    GROUP = 4, /* windows in a row: the clock follows the instructions, the first is not counted */
    LEAST = 4, /* with fewer the machine is disturbed */
    MOST_LEVELS = 4
};
/* A busy neighbour takes a third and more of the probe's speed; the clock moves by less than this.
 */
#define CLEAN 0.85
/* More than this is not the clock: what was taken for the best was not. */
#define RISE 1.1
/* Less CPU time than this share of a window: something else ran. */
#define ALONE 0.97

/* ---- what there is to measure ---- */

static bool have(hn_isa isa, const hn_peak *k) { return (k->isa & isa) == k->isa; }

/* Of each thread: half of a cache that is a core's own, as much of a shared one as lies well beyond
 * the cache before it, and for memory several times the last cache, as far as there is memory. */
static int levels_of(const hone_machine *m, int threads, const char **names, size_t *bytes) {
    static const char *const cache_names[] = {"L1", "L2", "L3"};
    size_t last = 1 << 20, lanes = (size_t)threads;
    int n = 0;
    for (size_t i = 0; i < m->n_caches && n < MOST_LEVELS - 1; i++) {
        size_t cache = (size_t)m->caches[i].bytes, own = cache / 2;
        if (m->caches[i].level > 2 || m->caches[i].cpus > 2) { /* others use it too */
            own = cache / 2 / lanes;
            if (own > 4 * last) own = 4 * last;
        }
        names[n] = cache_names[n];
        bytes[n++] = own;
        last = cache;
    }
    size_t memory = 3 * last;
    if (memory < (size_t)256 << 20) memory = (size_t)256 << 20;
    if (memory > (size_t)512 << 20) memory = (size_t)512 << 20;
    names[n] = "memory";
    bytes[n++] = memory / lanes;
    size_t most = hn_cpu_memory() / 8 / lanes;
    for (int i = 0; i < n; i++) {
        if (bytes[i] > most) bytes[i] = most;
        bytes[i] = bytes[i] / 4096 * 4096;
        if (bytes[i] < 4096) bytes[i] = 4096;
    }
    return n;
}

hone_status hn_rates_lay_out(hn_rates *r, const hone_machine *m, hn_isa isa, hn_arena *arena,
                             hn_error *err) {
    const int threads[2] = {1, m->threads};
    const int n_threads = m->threads > 1 ? 2 : 1;
    *r = (hn_rates){.isa = isa};
    r->peaks = hn_arena_array(arena, 2 * (size_t)hn_n_peaks, sizeof *r->peaks);
    r->bandwidths = hn_arena_array(arena, 2 * MOST_LEVELS, sizeof *r->bandwidths);
    if (r->peaks == NULL || r->bandwidths == NULL) return HN_NOMEM(err);
    for (int i = 0; i < hn_n_peaks; i++)
        for (int t = 0; t < n_threads && have(isa, &hn_peaks[i]); t++)
            r->peaks[r->n_peaks++] = (hone_peak_info){.precision = hn_peaks[i].precision,
                                                      .instruction = hn_peaks[i].instruction,
                                                      .isa = hn_isa_name(hn_peaks[i].isa),
                                                      .threads = threads[t]};
    for (int t = 0; t < n_threads; t++) {
        const char *names[MOST_LEVELS];
        size_t bytes[MOST_LEVELS];
        int n = levels_of(m, threads[t], names, bytes);
        for (int i = 0; i < n; i++)
            r->bandwidths[r->n_bandwidths++] = (hone_bandwidth_info){
                .level = names[i], .bytes = (int64_t)bytes[i] * threads[t], .threads = threads[t]};
    }
    return HONE_OK;
}

/* ---- one window ---- */

/* A rate to find. */
typedef struct quantity {
    double *to;
    const hn_peak *peak; /* NULL: memory */
    hn_stream kind;
    bool all;           /* threads, or one */
    size_t span, piece; /* bytes of each thread; those of a round, of which a span is a multiple */
    double unit;        /* operations or bytes of a round of one thread */
    int64_t rounds;     /* of a window */
    int n, n_clean;     /* windows */
    double clean[WANTED], best;
} quantity;

typedef struct lane {
    _Alignas(HN_ALIGN) int64_t begun;
    int64_t ended;
    double probe;         /* the slower one of a window's two */
    double best, trusted; /* probe so far; that windows were judged by */
    bool alone;           /* had the CPU all the time */
} lane;

/* One thread, or all of them. */
typedef struct crew {
    hn_pool *pool;
    int threads;
    lane *lanes;
} crew;

typedef struct run {
    hn_isa isa;
    crew crews[2];
    int n_quantities, n_cpus;
    quantity *quantities;
    int *cpus;
    char *memory;
    size_t bytes; /* of memory */
    size_t at;    /* where in it the next window goes that must not meet what is in a cache */
} run;

typedef struct job {
    const run *run;
    const crew *crew;
    const quantity *q;
    atomic_int arrived;
} job;

static int64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void go_over(const job *j, int64_t nth, int64_t rounds) {
    const quantity *q = j->q;
    if (q->peak != NULL) {
        q->peak->loop(rounds);
        return;
    }
    char *memory = j->run->memory + (size_t)nth * q->span;
    size_t at = j->run->at % q->span / q->piece * q->piece;
    for (int64_t i = 0; i < rounds; i++) {
        hn_stream_run(q->kind, j->run->isa, memory + at, q->piece);
        at = (at + q->piece) % q->span;
    }
}

/* Waits until all threads are here; a thread without a CPU of its own lets others have theirs. */
static void meet(job *j) {
    atomic_fetch_add(&j->arrived, 1);
    for (int i = 0; atomic_load(&j->arrived) < j->crew->threads; i++)
        if (i > 1000) sched_yield();
}

static void run_lane(void *ctx, int64_t i) {
    job *j = ctx;
    const quantity *q = j->q;
    lane *l = &j->crew->lanes[i];
    /* Caches are filled and wide units awake before the clock runs. */
    if (q->peak != NULL || q->piece == q->span) go_over(j, i, (q->rounds + 7) / 8);
    l->probe = hn_peak_probe(j->run->isa);
    meet(j);
    int64_t cpu = cpu_ns();
    l->begun = hn_clock_ns();
    go_over(j, i, q->rounds);
    l->ended = hn_clock_ns();
    l->alone = (double)(cpu_ns() - cpu) >= ALONE * (double)(l->ended - l->begun);
    double after = hn_peak_probe(j->run->isa);
    if (after < l->probe) l->probe = after;
    if (l->probe > l->best) l->best = l->probe;
}

/* Once a thread shows that it can be much faster, what was judged clean before was not. */
static void reconsider(run *r, crew *c) {
    bool wrong = false;
    for (int i = 0; i < c->threads; i++) {
        lane *l = &c->lanes[i];
        if (l->best <= l->trusted * RISE) continue;
        l->trusted = l->best;
        wrong = true;
    }
    for (int i = 0; i < r->n_quantities && wrong; i++)
        if (&r->crews[r->quantities[i].all] == c) r->quantities[i].n_clean = 0;
}

/* settled: the window counts. */
static void take_window(run *r, quantity *q, bool settled) {
    crew *c = &r->crews[q->all];
    job j = {.run = r, .crew = c, .q = q};
    hn_pool_run(c->pool, c->threads, run_lane, &j);
    r->at = (r->at + (size_t)q->rounds * q->piece) % r->bytes;
    reconsider(r, c);
    bool alone = true;
    double pace = 0; /* of the threads together */
    int64_t begun = c->lanes[0].begun, ended = c->lanes[0].ended;
    int64_t all_begun = begun, one_ended = ended;
    for (int i = 0; i < c->threads; i++) {
        const lane *l = &c->lanes[i];
        if (l->begun < begun) begun = l->begun;
        if (l->begun > all_begun) all_begun = l->begun;
        if (l->ended > ended) ended = l->ended;
        if (l->ended < one_ended) one_ended = l->ended;
        alone = alone && l->alone;
        pace += l->probe / l->best / c->threads;
    }
    alone = alone && all_begun <= one_ended; /* else one thread did the work of another, too */
    int64_t ns = ended - begun + 1;
    double rate = (double)q->rounds * q->unit * c->threads / (double)ns;
    if (rate > q->best) q->best = rate;
    if (ns < WINDOW_NS / 2) { /* too short: towards the right length */
        int64_t more = WINDOW_NS / ns + 1;
        q->rounds *= more < 32 ? more : 32;
        return;
    }
    if (!settled || q->n_clean == WANTED) return;
    q->n++;
    if (alone && pace >= CLEAN) q->clean[q->n_clean++] = rate;
}

/* ---- all of them ---- */

static void add(run *r, quantity q) {
    q.rounds = 1;
    r->quantities[r->n_quantities++] = q;
}

static hone_status prepare(run *r, hn_rates *rates, hn_arena *arena, hn_error *err) {
    size_t n = rates->n_peaks + HN_STREAM_COUNT_ * rates->n_bandwidths;
    r->quantities = hn_arena_array(arena, n, sizeof *r->quantities);
    r->cpus = hn_arena_array(arena, HN_THREADS_MAX, sizeof *r->cpus);
    if (r->quantities == NULL || r->cpus == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < rates->n_peaks; i++) {
        hone_peak_info *p = &rates->peaks[i];
        const hn_peak *k = hn_peaks;
        while (strcmp(k->instruction, p->instruction) != 0) k++;
        add(r, (quantity){.to = &p->gops, .peak = k, .unit = k->ops, .all = p->threads > 1});
    }
    for (size_t i = 0; i < rates->n_bandwidths; i++) {
        hone_bandwidth_info *b = &rates->bandwidths[i];
        double *to[] = {&b->read_gb, &b->write_gb, &b->copy_gb};
        size_t span = (size_t)(b->bytes / b->threads), piece = span;
        if (strcmp(b->level, "memory") == 0 && piece > 1 << 20) piece = 1 << 20;
        span -= span % piece;
        for (int kind = 0; kind < HN_STREAM_COUNT_; kind++)
            add(r, (quantity){.to = to[kind],
                              .kind = (hn_stream)kind,
                              .unit = (double)piece,
                              .all = b->threads > 1,
                              .span = span,
                              .piece = piece});
        if ((size_t)b->bytes > r->bytes) r->bytes = (size_t)b->bytes;
    }
    int threads = rates->bandwidths[rates->n_bandwidths - 1].threads;
    for (int i = 0; i < 2; i++) {
        crew *c = &r->crews[i];
        c->threads = i == 0 ? 1 : threads;
        c->lanes = hn_alloc_zero(arena->alloc, (size_t)c->threads * sizeof *c->lanes, HN_MEM_OTHER);
        if (c->lanes == NULL) return HN_NOMEM(err);
        if (c->threads > 1) HN_TRY(hn_pool_create(&c->pool, c->threads, arena->alloc, err));
    }
    r->memory = hn_alloc(arena->alloc, r->bytes, HN_MEM_OTHER);
    HN_CHECK(err, r->memory != NULL, HONE_E_NOMEM, "out of memory (%zu bytes to measure bandwidth)",
             r->bytes);
    memset(r->memory, 0, r->bytes);
    return HONE_OK;
}

/* The calling thread, if it may: on that CPU alone. */
static void stay_on(int cpu) {
    cpu_set_t one;
    if (cpu >= CPU_SETSIZE) return;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* Turns of a few windows of each rate. A rate of one thread takes another core every turn. */
static hone_status take_windows(run *r, const hone_machine_options *o, hn_error *err) {
    enum { PARTS = 1000 };
    int64_t begun = hn_clock_ns(), shown = 0;
    for (int turn = 0;; turn++) {
        int64_t found = 0;
        for (int i = 0; i < r->n_quantities; i++) {
            quantity *q = &r->quantities[i];
            if (q->n_clean < WANTED) {
                if (r->n_cpus > 0) stay_on(r->cpus[q->all ? 0 : turn % r->n_cpus]);
                for (int k = 0; k < GROUP; k++) take_window(r, q, k > 0);
            }
            found += q->n_clean;
        }
        int64_t wanted = (int64_t)WANTED * r->n_quantities, spent = hn_clock_ns() - begun;
        int64_t done = PARTS * found / wanted, late = PARTS * spent / SPAN_NS;
        if (late > done) done = late;
        if (done > shown) shown = done < PARTS ? done : PARTS;
        HN_CHECK(err, o->progress == NULL || o->progress(o->progress_ctx, shown, PARTS),
                 HONE_E_LIMIT, "stopped");
        if (found == wanted || spent > SPAN_NS) return HONE_OK;
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void conclude(run *r, hn_rates *rates) {
    int64_t windows = 0, clean = 0;
    for (int i = 0; i < r->n_quantities; i++) {
        quantity *q = &r->quantities[i];
        windows += q->n;
        clean += q->n_clean;
        qsort(q->clean, (size_t)q->n_clean, sizeof *q->clean, ascending);
        /* Above the median, since what disturbs slows down; not far above, since the clock has
         * moments that do not last. */
        *q->to = q->n_clean >= LEAST ? q->clean[q->n_clean * 3 / 5] : q->best;
        if (q->n_clean < LEAST) rates->disturbed = true;
    }
    rates->noise = windows > 0 ? 1 - (double)clean / (double)windows : 1;
    rates->measured = 1;
}

void hn_rates_join(hn_rates *r, const hn_rates *before) {
    for (size_t i = 0; i < r->n_peaks; i++)
        r->peaks[i].gops = fmax(r->peaks[i].gops, before->peaks[i].gops);
    for (size_t i = 0; i < r->n_bandwidths; i++) {
        hone_bandwidth_info *b = &r->bandwidths[i];
        const hone_bandwidth_info *old = &before->bandwidths[i];
        b->read_gb = fmax(b->read_gb, old->read_gb);
        b->write_gb = fmax(b->write_gb, old->write_gb);
        b->copy_gb = fmax(b->copy_gb, old->copy_gb);
    }
    r->noise = fmin(r->noise, before->noise);
    r->measured += before->measured;
}

hone_status hn_rates_measure(hn_rates *rates, const hone_machine_options *o, hn_allocator *alloc,
                             hn_error *err) {
    run r = {.isa = rates->isa};
    hn_arena arena;
    cpu_set_t before;
    hn_arena_init(&arena, alloc, HN_MEM_OTHER);
    hone_status status = prepare(&r, rates, &arena, err);
    if (status == HONE_OK) {
        bool known = sched_getaffinity(0, sizeof before, &before) == 0;
        int cpus = hn_cpu_list(r.cpus, HN_THREADS_MAX);
        if (known && cpus >= r.crews[1].threads) {
            r.n_cpus = cpus < HN_THREADS_MAX ? cpus : HN_THREADS_MAX;
            if (r.crews[1].pool != NULL) hn_pool_pin(r.crews[1].pool);
        }
        status = take_windows(&r, o, err);
        if (known) sched_setaffinity(0, sizeof before, &before);
    }
    if (status == HONE_OK) conclude(&r, rates);
    hn_free(alloc, r.memory);
    for (int i = 0; i < 2; i++) {
        hn_pool_destroy(r.crews[i].pool);
        hn_free(alloc, r.crews[i].lanes);
    }
    hn_arena_deinit(&arena);
    return status;
}
