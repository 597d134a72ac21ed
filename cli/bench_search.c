/* --batch-search and --threads-search.
 *
 * The number is doubled as long as that helps, up to 1024 (or the cores), 90 % of the memory and
 * the limits; where a limit stopped it, the largest number within is found by bisection, and then
 * the best is compared with what lies half way to its neighbours. Speed is that of the fastest
 * runs, which depend less on what else the machine does, unless several streams run at once. */
#include <math.h>
#include <string.h>

#include "bench.h"

#define MOST_BATCH 1024
#define MEMORY_SHARE 0.9
#define NO_GAIN 1.02 /* of the speed: not worth a larger number */

typedef struct search {
    job *j;
    bool threads; /* else the batch */
    double max_latency;
    config common;
} search;

static int64_t number_in(const search *s, const config *c) {
    return s->threads ? c->threads : c->batch;
}

double bench_speed(const job *j, int i) {
    const result *r = &j->results[i];
    return j->configs[i].streams > 1 ? r->throughput : 1e3 * (double)r->batch / r->ms.min;
}

static bool within(const search *s, int i) {
    const result *r = &s->j->results[i];
    return r->failed[0] == '\0' && r->ms.p50 <= s->max_latency;
}

/* Measures with this number, unless that was done; *at is where the result is. */
static exit_code attempt(search *s, int64_t number, int *at) {
    job *j = s->j;
    for (*at = 0; *at < j->n; ++*at)
        if (number_in(s, &j->configs[*at]) == number) return EXIT_DONE;
    config *c = job_add(j, &s->common);
    if (s->threads)
        c->threads = number;
    else
        c->batch = number;
    if (j->total < j->done + 2) j->total = j->done + 2;
    exit_code code = bench_measure(j, c, &j->results[*at]);
    if (code == EXIT_DONE) j->n++;
    return code;
}

/* Doubles from 1 up to `most` until two doublings in a row have not helped, or a larger batch would
 * only be further beyond a limit. *low: the largest number within the limits, 0: none; *high: the
 * one beyond them, 0: none. */
static exit_code double_up(search *s, int64_t most, int64_t *low, int64_t *high) {
    double best = 0;
    int idle = 0, at;
    *low = *high = 0;
    for (int64_t n = 1, next; idle < 2; n = next) {
        exit_code code = attempt(s, n, &at);
        if (code != EXIT_DONE) return code;
        bool good = within(s, at), ran = s->j->results[at].failed[0] == '\0';
        if (good) *low = n;
        if (!good && (!s->threads || !ran)) {
            *high = n;
            break;
        }
        idle = bench_speed(s->j, at) > best * NO_GAIN ? 0 : idle + 1;
        best = fmax(best, bench_speed(s->j, at));
        next = n > most / 2 ? most : 2 * n;
        if (next == n) break;
    }
    return EXIT_DONE;
}

/* The largest number within the limits, to an eighth. */
static exit_code bisect(search *s, int64_t low, int64_t high) {
    while (high - low > 1 + low / 8) {
        int64_t middle = low + (high - low) / 2;
        int at;
        exit_code code = attempt(s, middle, &at);
        if (code != EXIT_DONE) return code;
        if (within(s, at))
            low = middle;
        else
            high = middle;
    }
    return EXIT_DONE;
}

/* The least number that is nearly the fastest within the limits; -1: none is within. */
static int choose(const search *s) {
    double best = 0;
    int chosen = -1;
    for (int i = 0; i < s->j->n; i++)
        if (within(s, i)) best = fmax(best, bench_speed(s->j, i));
    for (int i = 0; i < s->j->n; i++) {
        if (!within(s, i) || bench_speed(s->j, i) * NO_GAIN < best) continue;
        if (chosen < 0 || number_in(s, &s->j->configs[i]) < number_in(s, &s->j->configs[chosen]))
            chosen = i;
    }
    return chosen;
}

/* Half way from the chosen number to those that were tried next to it. */
static exit_code refine(search *s) {
    int chosen = choose(s), at;
    if (chosen < 0) return EXIT_DONE;
    int64_t n = number_in(s, &s->j->configs[chosen]), below = 0, above = 0;
    for (int i = 0; i < s->j->n; i++) {
        int64_t k = number_in(s, &s->j->configs[i]);
        if (k < n && k > below) below = k;
        if (k > n && (above == 0 || k < above) && within(s, i)) above = k;
    }
    exit_code code = below > 0 && n - below > 1 ? attempt(s, (n + below) / 2, &at) : EXIT_DONE;
    if (code == EXIT_DONE && above - n > 1) code = attempt(s, (n + above) / 2, &at);
    return code;
}

static int by_number(const search *s, int a, int b) {
    return number_in(s, &s->j->configs[a]) < number_in(s, &s->j->configs[b]);
}

static void swap(job *j, int a, int b) {
    config c = j->configs[a];
    result r = j->results[a];
    j->configs[a] = j->configs[b];
    j->results[a] = j->results[b];
    j->configs[b] = c;
    j->results[b] = r;
}

/* Smallest number first. */
static void put_in_order(search *s) {
    for (int i = 1; i < s->j->n; i++)
        for (int k = i; k > 0 && by_number(s, k, k - 1); k--) swap(s->j, k, k - 1);
}

/* The nearest to the limits: the fastest run, or what was tried first where nothing ran. */
static void report_none(const search *s) {
    const job *j = s->j;
    int best = -1;
    for (int i = 0; i < j->n; i++) {
        if (j->results[i].failed[0] != '\0') continue;
        if (best < 0 || j->results[i].ms.p50 < j->results[best].ms.p50) best = i;
    }
    const char *what = s->threads ? "number of threads" : "batch";
    if (best < 0)
        complain("no %s fits: %s", what, j->results[0].failed);
    else
        complain("no %s keeps to %g ms; the nearest is %lld with a p50 of %.4g ms", what,
                 s->max_latency, (long long)number_in(s, &j->configs[best]),
                 j->results[best].ms.p50);
}

exit_code bench_search(job *j, const config *common) {
    search s = {.j = j, .threads = has(j->a, "--threads-search"), .max_latency = INFINITY};
    int64_t low, high, most = s.threads ? j->machine->threads : MOST_BATCH;
    if (!real_of(j->a, "--max-latency", 0.001, 1e9, &s.max_latency)) return EXIT_USAGE;
    s.common = *common;
    s.common.may_fail = true;
    double memory = (double)j->machine->memory_bytes;
    if (j->machine->memory_limit >= 0) memory = (double)j->machine->memory_limit;
    if (memory > 0) s.common.max_memory = (size_t)(MEMORY_SHARE * memory);
    j->total = 4;
    exit_code code = double_up(&s, most, &low, &high);
    if (code == EXIT_DONE && high > 0 && low > 0) code = bisect(&s, low, high);
    if (code == EXIT_DONE) code = refine(&s);
    if (code != EXIT_DONE) return code;
    put_in_order(&s);
    j->chosen = choose(&s);
    if (j->chosen >= 0) return EXIT_DONE;
    progress_end(&j->bar);
    report_none(&s);
    return EXIT_FAILED;
}
