/* See check.h. The program: check [--family F] [--kernel K] [--case C] [--every N]
 *                                  [--bench [--cold]] [--json] */
#include "check.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dtype.h"
#include "measure/peak.h"

#define CHECK_FAMILY(name) extern const check_family check_##name;
#include "families.def"
#undef CHECK_FAMILY

static const check_family *const families[] = {
#define CHECK_FAMILY(name) &check_##name,
#include "families.def"
#undef CHECK_FAMILY
};
enum { N_FAMILIES = sizeof families / sizeof *families };

static const char *const data_names[] = {"random", "exact", "extreme", "special"};

static struct {
    const char *family, *kernel, *name;
    int data; /* -1: all */
    size_t every;
    bool bench, cold, json, verbose;
} opt = {.data = -1};

static struct { int ok, failed, skipped, suspicious; } count;

static _Noreturn void die(const char *what) {
    fprintf(stderr, "check: %s\n", what);
    exit(2);
}

/* ---- cases -------------------------------------------------------------------------------- */

check_case *check_add(check_list *list, const char *format, ...) {
    if (list->n == list->capacity) {
        list->capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        list->cases = realloc(list->cases, list->capacity * sizeof *list->cases);
        if (list->cases == NULL) die("out of memory");
    }
    check_case *c = &list->cases[list->n++];
    *c = (check_case){0};
    va_list args;
    va_start(args, format);
    vsnprintf(c->name, sizeof c->name, format, args);
    va_end(args);
    return c;
}

void check_operand_add(check_case *c, check_role role, check_type type, int64_t n) {
    if (c->n_operands == CHECK_MAX_OPERANDS) die("a case has too many operands");
    c->operand[c->n_operands++] = (check_operand){.role = role, .type = type, .count = (size_t)n};
}

static size_t bytes_of(const check_operand *o) {
    static const size_t size[] = {4, 4, 8, 2, 1, 2, 8};
    return o->role == CHECK_ABSENT || o->role == CHECK_SAME ? 0 : o->count * size[o->type];
}

static bool is_float(const check_operand *o) {
    return o->type == CHECK_F32 || o->type == CHECK_BF16 || o->type == CHECK_F64;
}

static bool is_output(const check_operand *o) {
    return o->role == CHECK_OUT || o->role == CHECK_INOUT;
}

/* ---- memory that ends where nothing is mapped ---------------------------------------------- */

typedef struct guarded {
    unsigned char *map, *data;
    size_t map_bytes, body, bytes;
} guarded;

/* What an output holds before: no kernel computes a NaN with these bits. */
static const uint32_t poison = 0x7fa5c3b7;

static unsigned char poison_byte(size_t at) { return (unsigned char)(poison >> at % 4 * 8); }

/* By copies of what is there already, each twice as long: a sanitizer and an emulator take a call of
 * memcpy for one step. */
static void fill_poison(void *data, size_t bytes) {
    unsigned char *p = data;
    size_t done = 0;
    for (; done < bytes && done < sizeof poison; done++) p[done] = poison_byte(done);
    for (size_t some; done < bytes; done += some) {
        some = done < bytes - done ? done : bytes - done;
        memcpy(p + done, p, some);
    }
}

/* QEMU reads all elements of a masked load of AVX, also those that the mask leaves out: under it what
 * is around the data may be read, and only writing is an error. */
static bool reads_what_is_masked(void) {
#if defined(__x86_64__)
    unsigned a, name[3];
    __cpuid(0x40000000, a, name[0], name[1], name[2]);
    return memcmp(name, "TCGTCGTCGTCG", sizeof name) == 0;
#else
    return false;
#endif
}

/* With `aligned` the beginning lies on 64 bytes, the end then up to 63 bytes before the edge. */
static guarded guarded_new(size_t bytes, bool aligned) {
    guarded g = {.bytes = bytes};
    size_t page = (size_t)sysconf(_SC_PAGESIZE), end = aligned ? (bytes + 63) / 64 * 64 : bytes;
    bool huge = bytes >= (size_t)1 << 20; /* on huge pages, as the engine's memory is */
    if (huge) page = (size_t)2 << 20;
    g.body = (end + page) / page * page; /* at least one byte before the data */
    g.map_bytes = g.body + 2 * page;
    unsigned char *any = mmap(NULL, g.map_bytes + page, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (any == MAP_FAILED) die("out of memory");
    size_t skip = (page - (uintptr_t)any % page) % page;
    if (skip > 0) munmap(any, skip);
    if (skip < page) munmap(any + skip + g.map_bytes, page - skip);
    g.map = any + skip;
    if (mprotect(g.map + page, g.body, PROT_READ | PROT_WRITE) != 0) die("out of memory");
    if (reads_what_is_masked()) {
        mprotect(g.map, page, PROT_READ);
        mprotect(g.map + page + g.body, page, PROT_READ);
    }
    if (huge) madvise(g.map + page, g.body, MADV_HUGEPAGE);
    g.data = g.map + page + g.body - end;
    fill_poison(g.data, bytes);
    memset(g.map + page, 0x5a, g.body - end);
    memset(g.data + bytes, 0x5a, end - bytes);
    return g;
}

static bool all_5a(const unsigned char *p, size_t n) {
    return n == 0 || (*p == 0x5a && memcmp(p, p + 1, n - 1) == 0);
}

/* Nothing outside the data has been written. */
static bool guarded_intact(const guarded *g) {
    const unsigned char *begin = g->map + (g->map_bytes - g->body) / 2, *end = begin + g->body;
    const unsigned char *behind = g->data + g->bytes;
    return all_5a(begin, (size_t)(g->data - begin)) && all_5a(behind, (size_t)(end - behind));
}

static void guarded_free(guarded *g) {
    if (g->map != NULL) munmap(g->map, g->map_bytes);
    *g = (guarded){0};
}

/* ---- data --------------------------------------------------------------------------------- */

static float value(check_data kind, bool weights, hn_rng *rng) {
    static const float extremes[] = {0.0F,   -0.0F, 1e-40F, -1e-40F, 1e-15F, 1e15F,
                                     -1e15F, 1.0F,  -1.0F,  0.5F,    1.5e10F};
    double u = 2 * hn_rng_f64(rng) - 1;
    switch (kind) {
        case CHECK_EXACT: return (float)((int)hn_rng_below(rng, 7) - 3);
        case CHECK_EXTREME:
            return extremes[hn_rng_below(rng, sizeof extremes / sizeof *extremes)] * (float)u;
        case CHECK_SPECIAL: {
            uint64_t dice = weights ? 99 : hn_rng_below(rng, 300);
            return dice == 0 ? NAN : dice == 1 ? INFINITY : dice == 2 ? -INFINITY : (float)u;
        }
        case CHECK_RANDOM:
        case CHECK_DATA_COUNT_: break;
    }
    return (float)u;
}

static void fill(const check_family *f, const check_case *c, int i, check_data kind, uint64_t seed,
                 void *data) {
    const check_operand *o = &c->operand[i];
    hn_rng rng;
    hn_rng_init(&rng, seed * 64 + (uint64_t)i);
    if (f->fill != NULL && f->fill(c, i, kind, &rng, data)) return;
    if (!is_float(o)) die("an operand that is not of floats needs a fill function");
    for (size_t j = 0; j < o->count; j++) {
        float x = value(kind, o->role == CHECK_WEIGHTS, &rng);
        if (o->type == CHECK_BF16)
            ((uint16_t *)data)[j] = hn_bf16_from_f64((double)x);
        else if (o->type == CHECK_F64)
            ((double *)data)[j] = (double)x;
        else
            ((float *)data)[j] = x;
    }
}

/* ---- running a row ------------------------------------------------------------------------- */

typedef struct operands {
    guarded mem[CHECK_MAX_OPERANDS];
    void *ptr[CHECK_MAX_OPERANDS];
} operands;

/* Memory for all operands; they hold what `given` holds, where it is not NULL. */
static operands operands_like(const check_case *c, const operands *given) {
    operands s = {0};
    for (int i = 0; i < c->n_operands; i++) {
        const check_operand *o = &c->operand[i];
        if (o->role == CHECK_ABSENT || o->role == CHECK_SAME) continue;
        s.mem[i] = guarded_new(bytes_of(o), false);
        s.ptr[i] = s.mem[i].data;
        if (given != NULL) memcpy(s.ptr[i], given->ptr[i], bytes_of(o));
    }
    for (int i = 0; i < c->n_operands; i++)
        if (c->operand[i].role == CHECK_SAME) s.ptr[i] = s.ptr[c->operand[i].same];
    return s;
}

static operands operands_new(const check_family *f, const check_case *c, check_data kind,
                             uint64_t seed) {
    operands s = operands_like(c, NULL);
    for (int i = 0; i < c->n_operands; i++) {
        const check_role role = c->operand[i].role;
        if (role == CHECK_ABSENT || role == CHECK_SAME || role == CHECK_OUT) continue;
        fill(f, c, i, kind, seed, s.ptr[i]);
    }
    return s;
}

static void operands_free(operands *s) {
    for (int i = 0; i < CHECK_MAX_OPERANDS; i++) guarded_free(&s->mem[i]);
}

typedef struct lane_job {
    const hn_kernel *k;
    const hn_call *call;
    int phase;
    int64_t begin, end;
    void *scratch;
} lane_job;

static void *lane_main(void *arg) {
    const lane_job *j = arg;
    j->k->run(j->call, j->phase, j->begin, j->end, j->scratch);
    return NULL;
}

static int weights_of(const check_case *c) {
    for (int i = 0; i < c->n_operands; i++)
        if (c->operand[i].role == CHECK_WEIGHTS) return i;
    return -1;
}

/* Whether tasks of packing, one at a time and the last one first, from weights at an odd address,
 * give the bytes that all of them give at once. */
static bool packs_by_tasks(const hn_kernel *k, const check_case *c, const operands *s) {
    int i = weights_of(c);
    if (i < 0 || k->pack == NULL) return true;
    size_t plain_bytes = bytes_of(&c->operand[i]), bytes = k->packed_bytes(c->problem);
    int64_t tasks = hn_pack_tasks(k, c->problem);
    guarded whole = guarded_new(bytes, true), parts = guarded_new(bytes, true);
    guarded odd = guarded_new(plain_bytes + 1, true);
    memcpy(odd.data + 1, s->ptr[i], plain_bytes);
    hn_stored even = hn_stored_plain(s->ptr[i]), at_odd = hn_stored_plain(odd.data + 1);
    k->pack(c->problem, &even, 0, tasks, whole.data);
    memset(parts.data, 0xa5, bytes);
    for (int64_t t = tasks - 1; t >= 0; t--) k->pack(c->problem, &at_odd, t, t + 1, parts.data);
    bool same = memcmp(whole.data, parts.data, bytes) == 0 && guarded_intact(&parts);
    guarded_free(&whole);
    guarded_free(&parts);
    guarded_free(&odd);
    return same;
}

enum { MAX_LANES = 3 };

/* The problem, once the row has looked at its weights, as it does where an engine knows them. */
static void look(const hn_kernel *k, const check_case *c, const operands *s, bool looks,
                 unsigned char *problem) {
    memcpy(problem, c->problem, CHECK_PROBLEM_BYTES);
    if (looks && k->look != NULL && weights_of(c) >= 0) k->look(problem, s->ptr[weights_of(c)]);
}

/* Runs a row on operands that hold plain weights; with two lanes, nobody has looked at these. Two lanes run one after the other, the last one
 * first; three run at once. False: it wrote where it must not. */
static bool run_row(const hn_kernel *k, const check_case *c, const operands *s, int lanes) {
    hn_work w = {0};
    _Alignas(16) unsigned char problem[CHECK_PROBLEM_BYTES];
    look(k, c, s, lanes != 2, problem);
    k->work(problem, lanes, &w);
    void *ptr[CHECK_MAX_OPERANDS];
    memcpy(ptr, s->ptr, sizeof ptr);
    guarded packed = {0}, scratch = guarded_new(w.scratch, true), lane[MAX_LANES];
    for (int i = 0; i < lanes; i++) lane[i] = guarded_new(w.lane_scratch, true);
    for (int i = 0; i < c->n_operands; i++) {
        if (c->operand[i].role != CHECK_WEIGHTS || k->pack == NULL) continue;
        packed = guarded_new(k->packed_bytes(problem), true);
        hn_stored plain = hn_stored_plain(ptr[i]);
        k->pack(problem, &plain, 0, hn_pack_tasks(k, problem), packed.data);
        ptr[i] = packed.data;
    }
    hn_call call = {.problem = problem, .work = &w, .ptr = ptr, .scratch = scratch.data};
    for (int phase = 0; phase < w.n_phases; phase++) {
        lane_job job[MAX_LANES];
        pthread_t thread[MAX_LANES];
        for (int i = lanes - 1; i >= 0; i--) {
            job[i] = (lane_job){k,
                                &call,
                                phase,
                                hn_work_tasks(&w, phase) * i / lanes,
                                hn_work_tasks(&w, phase) * (i + 1) / lanes,
                                lane[i].data};
            if (lanes < 3)
                lane_main(&job[i]);
            else if (pthread_create(&thread[i], NULL, lane_main, &job[i]) != 0)
                die("cannot start a thread");
        }
        for (int i = 0; lanes == 3 && i < lanes; i++) pthread_join(thread[i], NULL);
    }
    bool intact = guarded_intact(&scratch) && (packed.map == NULL || guarded_intact(&packed));
    for (int i = 0; i < lanes; i++) {
        intact = intact && guarded_intact(&lane[i]);
        guarded_free(&lane[i]);
    }
    for (int i = 0; i < c->n_operands; i++)
        intact = intact && (s->mem[i].map == NULL || guarded_intact(&s->mem[i]));
    guarded_free(&packed);
    guarded_free(&scratch);
    return intact;
}

/* ---- comparing ----------------------------------------------------------------------------- */

static void report(const char *word, const check_family *f, const char *kernel, const check_case *c,
                   const char *data, const char *text) {
    if (opt.json)
        printf(
            "{\"result\":\"%s\",\"family\":\"%s\",\"kernel\":\"%s\",\"case\":\"%s:%s\","
            "\"text\":\"%s\"}\n",
            word, f->family->name, kernel, c->name, data, text);
    else
        printf("%-10s %s --kernel %s --case %s:%s  %s\n", word, f->family->name, kernel, c->name,
               data, text);
}

/* How exact a row must be. */
typedef struct bound {
    bool exact;
    double rel, abs; /* per element, see check_case; rel relative to 1 */
    double whole;    /* relative to the largest element, where not 0 (check_family.whole) */
} bound;

static bound bound_of(const check_family *f, const check_case *c, check_data kind,
                      const hn_kernel *k) {
    return (bound){.exact = c->exact && kind == CHECK_EXACT,
                   .rel = c->rel * 0x1p-24 + hn_precision_error(k->precision),
                   .abs = c->abs,
                   .whole = f->whole != NULL ? f->whole(k) : 0};
}

/* Whether one float is close enough; `size` is the magnitude its error is relative to. */
static bool close_enough(const bound *b, double got, double want, double size) {
    if (isnan(want)) return isnan(got);
    if (got == want) return true;
    if (b->exact || isinf(want) || isnan(got) || isinf(got)) return false;
    double d = fabs(got - want);
    if (!isfinite(size)) size = fabs(want) + 1; /* an infinity that an activation made finite */
    return d <= b->rel * size + b->abs + 1e-37;
}

static double element(const check_operand *o, const void *data, size_t j) {
    if (o->type == CHECK_BF16) return (double)hn_bf16_to_f32(((const uint16_t *)data)[j]);
    if (o->type == CHECK_F64) return ((const double *)data)[j];
    return (double)((const float *)data)[j];
}

/* Compares one output; text says where the first difference is. */
static bool same_output(const check_case *c, int i, const void *got, const void *want,
                        const void *size, const bound *b, char *text, size_t text_bytes) {
    const check_operand *o = &c->operand[i];
    if (!is_float(o)) {
        const uint8_t *g = got, *w = want;
        size_t j = 0;
        if (memcmp(got, want, bytes_of(o)) == 0) return true;
        if (o->type == CHECK_U8)
            while (j < o->count && (uint8_t)(g[j] - w[j] + c->steps) <= 2 * c->steps) j++;
        if (o->type == CHECK_U8 && j == o->count) return true;
        snprintf(text, text_bytes, "operand %d differs", i);
        return false;
    }
    bound near = *b;
    if (o->type == CHECK_BF16) near.rel += 0x1p-8; /* both are rounded */
    if (o->type == CHECK_F64) near.rel *= 0x1p-29;
    double largest = 0;
    for (size_t j = 0; j < o->count && b->whole > 0; j++) {
        double w = element(o, want, j);
        if (isfinite(w) && fabs(w) > largest) largest = fabs(w);
    }
    for (size_t j = 0; j < o->count; j++) {
        size_t bytes = bytes_of(o) / o->count, at = j * bytes;
        const char *gb = (const char *)got + at, *wb = (const char *)want + at;
        if (memcmp(gb, wb, bytes) == 0) continue;
        unsigned char untouched[8];
        for (size_t k = 0; k < bytes; k++) untouched[k] = poison_byte(at + k);
        bool not_ours = memcmp(wb, untouched, bytes) == 0;
        bool missing = memcmp(gb, untouched, bytes) == 0;
        double g = element(o, got, j), w = element(o, want, j), m = fabs(element(o, size, j));
        bool good = !not_ours && !missing;
        if (good && b->whole > 0 && isfinite(w))
            good = fabs(g - w) <= b->whole * largest;
        else if (good)
            good = close_enough(&near, g, w, m);
        if (good) continue;
        if (not_ours)
            snprintf(text, text_bytes, "operand %d: element %zu must not be written", i, j);
        else if (missing)
            snprintf(text, text_bytes, "operand %d: element %zu has not been written", i, j);
        else
            snprintf(text, text_bytes, "operand %d: element %zu is %.9g, wanted %.9g, size %.3g", i,
                     j, g, w, m);
        return false;
    }
    return true;
}

/* ---- checking ------------------------------------------------------------------------------ */

static bool wanted(const hn_kernel *k) {
    return opt.kernel == NULL || strcmp(k->name, opt.kernel) == 0;
}

static const hn_kernel *reference(const check_family *f) {
    return f->family->rows[f->family->n_rows - 1];
}

/* A test that cannot fail is a bug: the reference must depend on every input. */
static void suspect(const check_family *f, const check_case *c, const operands *given,
                    const operands *ref) {
    const char *text = NULL;
    size_t zeros = 0, written = 0;
    for (int i = 0; i < c->n_operands; i++) {
        const check_operand *o = &c->operand[i];
        if (!is_output(o)) continue;
        for (size_t j = 0; j < bytes_of(o) / 4; j++) {
            uint32_t w;
            memcpy(&w, (const char *)ref->ptr[i] + 4 * j, sizeof w);
            if (w == poison) continue;
            written++;
            zeros += (w & 0x7fffffff) == 0;
        }
    }
    if (written == 0) return; /* an empty problem */
    if (written > 8 && zeros * 10 > written * 9) text = "nearly all outputs are zero";
    for (int i = 0; i < c->n_operands && text == NULL; i++) {
        const check_operand *o = &c->operand[i];
        if (o->role != CHECK_IN && o->role != CHECK_WEIGHTS && o->role != CHECK_INOUT) continue;
        operands other = operands_like(c, given);
        fill(f, c, i, CHECK_RANDOM, 2, other.ptr[i]);
        run_row(reference(f), c, &other, 1);
        bool same = true;
        for (int j = 0; j < c->n_operands; j++)
            if (is_output(&c->operand[j]))
                same = same && memcmp(other.ptr[j], ref->ptr[j], bytes_of(&c->operand[j])) == 0;
        static char message[64];
        snprintf(message, sizeof message, "operand %d changes nothing", i);
        if (same && o->count > 4) text = message;
        operands_free(&other);
    }
    if (text == NULL) return;
    count.suspicious++;
    report("suspicious", f, reference(f)->name, c, data_names[CHECK_RANDOM], text);
}

/* given: what operands hold before; ref: and after the reference. */
static void check_row(const check_family *f, const check_case *c, check_data kind,
                      const hn_kernel *k, const operands *given, const operands *ref,
                      const operands *size) {
    const char *why = NULL;
    bound b = bound_of(f, c, kind, k);
    if (k->ok != NULL && !k->ok(c->problem, &why)) {
        count.skipped++;
        if (opt.verbose) report("skip", f, k->name, c, data_names[kind], why);
        return;
    }
    char text[160] = "";
    bool good = packs_by_tasks(k, c, ref);
    if (!good) snprintf(text, sizeof text, "packing by tasks gives other bytes than in one");
    operands one = {0};
    for (int lanes = 1; lanes <= MAX_LANES && good; lanes++) {
        operands s = operands_like(c, given);
        good = run_row(k, c, &s, lanes);
        if (!good) snprintf(text, sizeof text, "%d lanes: wrote outside its memory", lanes);
        for (int i = 0; i < c->n_operands && good; i++) {
            if (s.ptr[i] == NULL || c->operand[i].role == CHECK_SAME) continue;
            size_t bytes = bytes_of(&c->operand[i]);
            if (!is_output(&c->operand[i])) {
                good = memcmp(s.ptr[i], ref->ptr[i], bytes) == 0;
                if (!good) snprintf(text, sizeof text, "operand %d, an input, was written", i);
            } else if (lanes > 1) {
                good = memcmp(s.ptr[i], one.ptr[i], bytes) == 0;
                if (!good)
                    snprintf(text, sizeof text, "operand %d: %d lanes give other bits than one", i,
                             lanes);
            } else {
                good =
                    same_output(c, i, s.ptr[i], ref->ptr[i], size->ptr[i], &b, text, sizeof text);
            }
        }
        if (lanes == 1)
            one = s;
        else
            operands_free(&s);
    }
    operands_free(&one);
    if (good)
        count.ok++;
    else
        count.failed++;
    if (!good || opt.verbose) report(good ? "ok" : "FAIL", f, k->name, c, data_names[kind], text);
}

/* Absolute values. */
static void take_sizes(const check_operand *o, void *data) {
    size_t n = bytes_of(o) == 0 ? 0 : o->count;
    for (size_t j = 0; j < n; j++)
        if (o->type == CHECK_BF16)
            ((uint16_t *)data)[j] &= 0x7fff;
        else if (o->type == CHECK_F64)
            ((double *)data)[j] = fabs(((double *)data)[j]);
        else
            ((float *)data)[j] = fabsf(((float *)data)[j]);
}

static void check_one(const check_family *f, const check_case *c, check_data kind) {
    operands given = operands_new(f, c, kind, 1), ref = operands_like(c, &given);
    run_row(reference(f), c, &ref, 1);
    operands size = ref;
    if (f->magnitude != NULL) {
        size = operands_like(c, &given);
        for (int i = 0; i < c->n_operands; i++)
            if (is_float(&c->operand[i]) && c->operand[i].role != CHECK_OUT)
                take_sizes(&c->operand[i], size.ptr[i]);
        check_case plain = *c;
        f->magnitude(plain.problem);
        run_row(reference(f), &plain, &size, 1);
    }
    if (kind == CHECK_RANDOM) suspect(f, c, &given, &ref);
    for (int i = 0; i + 1 < f->family->n_rows; i++) {
        const hn_kernel *k = f->family->rows[i];
        if (wanted(k) && (k->isa & hn_isa_available()) == k->isa)
            check_row(f, c, kind, k, &given, &ref, &size);
    }
    if (f->magnitude != NULL) operands_free(&size);
    operands_free(&ref);
    operands_free(&given);
}

/* ---- timing -------------------------------------------------------------------------------- */

enum { MAX_COPIES = 64 };

/* How times are taken on a machine with other work and a clock that moves: the tasks of a phase are
 * timed in pieces of about half a millisecond, since hardly a longer run is left alone, and the
 * minima of the pieces summed. The share of the peak compares each piece with the peak loop just
 * before and just after, where these two agree, and takes the median. Where they never do, as on cores
 * that slow down after some kernels, it is the best run against the faster of the two loops. */
enum { MAX_PIECES = 256, PIECE_NS = 500000, MAX_SAMPLES = 41 };

typedef struct piece {
    int phase, n;
    int64_t begin, end;
    double best;
    double cost[MAX_SAMPLES]; /* what the peak loop would have done meanwhile, in GFLOP * 1e9 */
    double least;             /* of all runs, whether loops agree or not */
} piece;

static int cut(const hn_work *w, double ns, piece *pieces) {
    int n = 0, per_phase = (int)(ns / PIECE_NS / w->n_phases) + 1;
    if (per_phase > MAX_PIECES / w->n_phases) per_phase = MAX_PIECES / w->n_phases;
    for (int phase = 0; phase < w->n_phases; phase++)
        for (int i = 0; i < per_phase; i++)
            pieces[n++] = (piece){.phase = phase,
                                  .begin = hn_work_tasks(w, phase) * i / per_phase,
                                  .end = hn_work_tasks(w, phase) * (i + 1) / per_phase,
                                  .best = INFINITY,
                                  .least = INFINITY};
    return n;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Best time on one lane, over about half a second. With --cold the weights of each run were last
 * touched 128 MB ago. */
static void bench_row(const check_family *f, const check_case *c, const hn_kernel *k) {
    const char *why = NULL;
    if (k->ok != NULL && !k->ok(c->problem, &why)) {
        if (opt.name != NULL) report("skip", f, k->name, c, "random", why);
        return;
    }
    const char *precision = f->precision != NULL                ? f->precision
                            : k->precision == HN_PRECISION_BF16 ? "bf16"
                                                                : "f32";
    operands s = operands_new(f, c, CHECK_RANDOM, 1);
    _Alignas(16) unsigned char problem[CHECK_PROBLEM_BYTES];
    look(k, c, &s, true, problem);
    hn_work w = {0};
    k->work(problem, 1, &w);
    guarded scratch = guarded_new(w.scratch, true), lane = guarded_new(w.lane_scratch, true);
    guarded copy[MAX_COPIES] = {{0}};
    int weights = weights_of(c), copies = 1;
    if (weights >= 0) {
        hn_stored plain = hn_stored_plain(s.ptr[weights]);
        size_t bytes = k->pack != NULL ? k->packed_bytes(problem) : bytes_of(&c->operand[weights]);
        if (opt.cold) copies = (int)(((size_t)128 << 20) / bytes) + 1;
        if (copies > MAX_COPIES) copies = MAX_COPIES;
        for (int i = 0; i < copies; i++) {
            copy[i] = guarded_new(bytes, true);
            if (i > 0)
                memcpy(copy[i].data, copy[0].data, bytes);
            else if (k->pack != NULL)
                k->pack(problem, &plain, 0, hn_pack_tasks(k, problem), copy[0].data);
            else
                memcpy(copy[0].data, s.ptr[weights], bytes);
        }
    }
    static piece pieces[MAX_PIECES];
    int runs = 0, n_pieces = 0;
    double total = INFINITY;
    int64_t begun = hn_clock_ns();
    hn_call call = {.problem = problem, .work = &w, .ptr = s.ptr, .scratch = scratch.data};
    for (; runs < 12 || hn_clock_ns() - begun < 500000000; runs++) {
        if (weights >= 0) s.ptr[weights] = copy[runs % copies].data;
        if (runs < 3) { /* warm, and learn how long it takes */
            int64_t t0 = hn_clock_ns();
            hn_kernel_run(k, &call, lane.data);
            total = fmin(total, (double)(hn_clock_ns() - t0));
            n_pieces = cut(&w, total, pieces);
            continue;
        }
        double before = hn_peak_now(precision, k->isa);
        for (int i = 0; i < n_pieces; i++) {
            piece *p = &pieces[i];
            int64_t t0 = hn_clock_ns();
            k->run(&call, p->phase, p->begin, p->end, lane.data);
            double ns = (double)(hn_clock_ns() - t0);
            double after = hn_peak_now(precision, k->isa);
            const double done = ns * fmax(before, after);
            p->best = fmin(p->best, ns);
            p->least = fmin(p->least, done);
            if (p->n < MAX_SAMPLES && fabs(after - before) <= 0.02 * after) p->cost[p->n++] = done;
            before = after;
        }
    }
    double best = 0, cost = 0;
    for (int i = 0; i < n_pieces; i++) {
        best += pieces[i].best;
        qsort(pieces[i].cost, (size_t)pieces[i].n, sizeof(double), by_value);
        cost += pieces[i].n > 0 ? pieces[i].cost[pieces[i].n / 2] : pieces[i].least;
    }
    double share = cost > 0 ? c->flops / cost * 100 : 0; /* 0: unknown */
    if (opt.json)
        printf(
            "{\"family\":\"%s\",\"kernel\":\"%s\",\"case\":\"%s\",\"cold\":%s,\"runs\":%d,"
            "\"min_us\":%.3f,\"gflops\":%.2f,\"gbytes\":%.2f,\"peak\":\"%s\",\"peak_percent\":%.1f}"
            "\n",
            f->family->name, k->name, c->name, opt.cold ? "true" : "false", runs, best / 1e3,
            c->flops / best, c->bytes / best, precision, share);
    else {
        printf("%-10s %-14s %-24s %9.2f us %7.1f GFLOP/s", f->family->name, k->name, c->name,
               best / 1e3, c->flops / best);
        if (share > 0) printf(" %5.1f%% of %s peak", share, precision);
        printf("  %6.1f GB/s\n", c->bytes / best);
    }
    fflush(stdout);
    for (int i = 0; i < copies; i++) guarded_free(&copy[i]);
    guarded_free(&scratch);
    guarded_free(&lane);
    operands_free(&s);
}

/* ---- the program ---------------------------------------------------------------------------- */

static void run_family(const check_family *f) {
    check_list list = {0};
    f->cases(&list);
    for (size_t i = 0; i < list.n; i++) {
        const check_case *c = &list.cases[i];
        if (opt.name != NULL && strcmp(opt.name, c->name) != 0) continue;
        if (opt.name == NULL && opt.every > 1 && i % opt.every != 0) continue;
        if (opt.bench && (c->bench || opt.name != NULL)) {
            for (int r = 0; r + 1 < f->family->n_rows; r++) {
                const hn_kernel *k = f->family->rows[r];
                if (wanted(k) && (k->isa & hn_isa_available()) == k->isa) bench_row(f, c, k);
            }
        }
        if (opt.bench || (c->bench && opt.name == NULL)) continue;
        for (int kind = 0; kind < CHECK_DATA_COUNT_; kind++) {
            if (c->only_random && kind != CHECK_RANDOM) continue;
            if (opt.data < 0 || opt.data == kind) check_one(f, c, (check_data)kind);
        }
    }
    for (int r = 0; r + 1 < f->family->n_rows; r++) {
        const hn_kernel *k = f->family->rows[r];
        if (wanted(k) && (k->isa & hn_isa_available()) != k->isa && !opt.json)
            printf(
                "skip       %s --kernel %s  this CPU, or HONE_ISA, does not have its "
                "instructions\n",
                f->family->name, k->name);
    }
    free(list.cases);
}

static const char usage[] =
    "usage: check [--family F] [--kernel K] [--case NAME[:DATA]] [--every N]\n"
    "             [--bench [--cold]] [--json] [-v]\n"
    "Checks every kernel row against the reference of its family; with --bench times it.\n"
    "--every N takes one case in N, for builds and emulators that are slow.\n"
    "HONE_ISA limits the instruction sets. Exit status 1: something failed or is suspicious.\n";

int main(int argc, char **argv) {
    static const struct option options[] = {{"family", required_argument, NULL, 'f'},
                                            {"kernel", required_argument, NULL, 'k'},
                                            {"case", required_argument, NULL, 'c'},
                                            {"bench", no_argument, NULL, 'b'},
                                            {"cold", no_argument, NULL, 'o'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"every", required_argument, NULL, 'e'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    static char name[128];
    int o;
    while ((o = getopt_long(argc, argv, "v", options, NULL)) != -1) {
        switch (o) {
            case 'f': opt.family = optarg; break;
            case 'k': opt.kernel = optarg; break;
            case 'c': {
                snprintf(name, sizeof name, "%s", optarg);
                opt.name = name;
                char *colon = strrchr(name, ':');
                for (int i = 0; colon != NULL && i < CHECK_DATA_COUNT_; i++)
                    if (strcmp(colon + 1, data_names[i]) == 0) opt.data = i;
                if (opt.data >= 0) *colon = '\0';
                break;
            }
            case 'e': opt.every = strtoul(optarg, NULL, 10); break;
            case 'b': opt.bench = true; break;
            case 'o': opt.cold = true; break;
            case 'j': opt.json = true; break;
            case 'v': opt.verbose = true; break;
            case 'h': fputs(usage, stdout); return 0;
            default: fputs(usage, stderr); return 2;
        }
    }
    bool found = false;
    for (int i = 0; i < N_FAMILIES; i++) {
        if (opt.family != NULL && strcmp(opt.family, families[i]->family->name) != 0) continue;
        found = true;
        run_family(families[i]);
    }
    if (!found) die("there is no such family with cases");
    if (opt.bench) return 0;
    if (count.ok + count.failed + count.skipped == 0 && (opt.name != NULL || opt.kernel != NULL))
        die("no such case or kernel on this CPU");
    printf(opt.json ? "{\"ok\":%d,\"failed\":%d,\"declined\":%d,\"suspicious\":%d}\n"
                    : "%d ok, %d failed, %d declined, %d suspicious\n",
           count.ok, count.failed, count.skipped, count.suspicious);
    return count.failed > 0 || count.suspicious > 0;
}
