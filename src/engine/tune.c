#include "engine/tune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/packing.h"
#include "engine/weights.h"

#define HEAD_BYTES 400
#define LINE_BYTES 400
#define MOST_FILE_BYTES (16 << 20)
/* Another choice must be this much faster than the first one: below lies noise. */
#define WORTH 0.97

typedef struct found {
    const hn_family *family; /* NULL: a choice of precision, for the graph `problem` */
    uint64_t problem;
    int lanes;
    const hn_kernel *kernel;
    bool alone;
    double us, int8_us;
    const char *label; /* the operator's name, of a choice */
} found;

struct hn_tuner {
    hn_allocator *alloc;
    hn_arena arena; /* labels and the path */
    hn_tune_effort effort;
    hn_isa isa;
    const char *path;
    char head[HEAD_BYTES];
    found *list;
    int n, cap, n_read;
    bool unsaved;
    bool foreign; /* the file is something else, which is left as it is */
    hn_tuning total;
};

uint64_t hn_tune_hash(uint64_t h, const void *data, size_t bytes) {
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) h = (h ^ at[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* The first line of a file that holds for this machine. */
static void make_head(hn_tuner *t) {
    uint64_t rows = HN_TUNE_HASH;
    char cpu[200];
    for (int f = 0; f < hn_n_families; f++)
        for (int i = 0; i < hn_families[f]->n_rows; i++) {
            const hn_kernel *k = hn_families[f]->rows[i];
            rows = hn_tune_hash(rows, k->name, strlen(k->name) + 1);
            rows = hn_tune_hash(rows, k->order, strlen(k->order) + 1);
        }
    hn_cpu_name("", cpu, sizeof cpu);
    snprintf(t->head, sizeof t->head, "hone-tuning/1 hone=%s isa=%s kernels=%016" PRIx64 " cpu=%s",
             hone_version(), hn_isa_name(t->isa), rows, cpu);
}

/* ---- what is known ---- */

static found *look_up(hn_tuner *t, const hn_family *f, uint64_t problem, int lanes) {
    for (int i = 0; i < t->n; i++)
        if (t->list[i].family == f && t->list[i].problem == problem && t->list[i].lanes == lanes)
            return &t->list[i];
    return NULL;
}

static hone_status remember(hn_tuner *t, const found *f, hn_error *err) {
    if (t->n == t->cap) {
        int cap = t->cap * 2 + 64;
        found *more = hn_realloc(t->alloc, t->list, (size_t)cap * sizeof *more, HN_MEM_OTHER);
        if (more == NULL) return HN_NOMEM(err);
        t->list = more;
        t->cap = cap;
    }
    t->list[t->n] = *f;
    t->list[t->n].label = hn_arena_strdup(&t->arena, f->label);
    if (t->list[t->n].label == NULL) return HN_NOMEM(err);
    t->n++;
    return HONE_OK;
}

/* ---- the file ---- */

/* One line; false when it makes no sense. */
static bool read_row(hn_tuner *t, const char *line, hone_status *status, hn_error *err) {
    char family[64], kernel[64], lanes[8], label[200] = "";
    found f = {.label = label};
    if (strncmp(line, "auto ", 5) == 0) {
        if (sscanf(line + 5, "%16" SCNx64 " %9d %lf %lf %199[^\n]", &f.problem, &f.lanes, &f.us,
                   &f.int8_us, label) < 4)
            return false;
        *status = remember(t, &f, err);
        return true;
    }
    if (sscanf(line, "%63s %16" SCNx64 " %9d %63s %7s %lf %199[^\n]", family, &f.problem, &f.lanes,
               kernel, lanes, &f.us, label) < 6)
        return false;
    f.family = hn_family_named(family, strlen(family));
    if (f.family != NULL) f.kernel = hn_kernel_named(f.family, kernel, strlen(kernel));
    f.alone = strcmp(lanes, "one") == 0;
    if (f.kernel == NULL || f.lanes < 1 || (!f.alone && strcmp(lanes, "all") != 0)) return false;
    *status = remember(t, &f, err);
    return true;
}

hone_status hn_tuner_read(hn_tuner *t, const char *text, size_t bytes, hn_error *err) {
    char line[LINE_BYTES];
    int bad = 0;
    for (size_t n; bytes > 0; text += n, bytes -= n) {
        const char *stop = memchr(text, '\n', bytes);
        n = stop != NULL ? (size_t)(stop - text) : bytes;
        if (n == 0) {
            n = 1; /* the end of a line */
            continue;
        }
        hone_status status = HONE_OK;
        if (n < sizeof line) {
            memcpy(line, text, n);
            line[n] = '\0';
        }
        if (n >= sizeof line || memchr(line, '\0', n) != NULL || !read_row(t, line, &status, err))
            bad++;
        HN_TRY(status);
    }
    if (bad > 0)
        hn_log(HONE_LOG_WARN, "%s: %d lines make no sense: passed over",
               t->path != NULL ? t->path : "tuning", bad);
    t->n_read = t->n;
    return HONE_OK;
}

static hone_status read_file(hn_tuner *t, hn_error *err) {
    hn_file *file;
    hn_error why = {0};
    hone_status status = hn_file_open(&file, t->path, true, t->alloc, &why);
    if (status == HONE_E_NOMEM) return HN_NOMEM(err);
    if (status != HONE_OK) {
        hn_log(HONE_LOG_INFO, "no tuning cache: %s", why.text);
        return HONE_OK;
    }
    size_t n = strlen(t->head), word = strcspn(t->head, " ");
    const char *text = (const char *)file->data;
    t->foreign = file->bytes > 0 && (file->bytes < word || memcmp(text, t->head, word) != 0);
    if (t->foreign)
        hn_log(HONE_LOG_WARN, "%s: not a tuning cache: left as it is", t->path);
    else if (file->bytes > MOST_FILE_BYTES)
        hn_log(HONE_LOG_WARN, "%s: %zu bytes are too many for a tuning cache: ignored", t->path,
               file->bytes);
    else if (file->bytes <= n || memcmp(text, t->head, n) != 0 || text[n] != '\n')
        hn_log(HONE_LOG_WARN, "%s: not a tuning cache of this machine and version of hone: ignored",
               t->path);
    else
        status = hn_tuner_read(t, text + n + 1, file->bytes - n - 1, err);
    hn_file_unref(file);
    return status;
}

static hone_status write_file(hn_tuner *t, hn_error *err) {
    hn_file_writer *w;
    char line[LINE_BYTES];
    HN_TRY(hn_file_write_begin(&w, t->path, NULL, t->alloc, err));
    int n = snprintf(line, sizeof line, "%s\n", t->head);
    hone_status status = hn_file_write_append(w, line, (size_t)n, err);
    for (int i = 0; i < t->n && status == HONE_OK; i++) {
        const found *f = &t->list[i];
        if (f->family == NULL)
            n = snprintf(line, sizeof line, "auto %016" PRIx64 " %d %.1f %.1f %.199s\n", f->problem,
                         f->lanes, f->us, f->int8_us, f->label);
        else
            n = snprintf(line, sizeof line, "%s %016" PRIx64 " %d %s %s %.1f %.150s\n",
                         f->family->name, f->problem, f->lanes, f->kernel->name,
                         f->alone ? "one" : "all", f->us, f->label);
        status = hn_file_write_append(w, line, (size_t)n, err);
    }
    if (status == HONE_OK) return hn_file_write_commit(w, err);
    hn_file_write_abort(w);
    return status;
}

void hn_tuner_save(hn_tuner *t) {
    hn_error err = {0};
    if (t == NULL || t->path == NULL || !t->unsaved || t->foreign) return;
    t->unsaved = false;
    if (write_file(t, &err) != HONE_OK)
        hn_log(HONE_LOG_WARN, "the tuning cache is not kept: %s", err.text);
}

/* ---- measuring ---- */

/* Memory for a step to run in: zeros, since the time of these kernels does not depend on values, but
 * for that of kernels that leave out weights. */
typedef struct bench {
    hn_allocator *alloc;
    const hn_step *step;
    void *block[HN_MAX_OPERANDS + 3];
    int n_blocks;
    void *ptr[HN_MAX_OPERANDS];
} bench;

static void *zeros(bench *b, size_t bytes) {
    char *block = hn_alloc(b->alloc, bytes, HN_MEM_OTHER);
    if (block == NULL) return NULL;
    memset(block, 0, bytes); /* touched: pages that are not would all be one */
    return b->block[b->n_blocks++] = block;
}

static void clear(bench *b) {
    while (b->n_blocks > 0) hn_free(b->alloc, b->block[--b->n_blocks]);
}

/* The weights packed for a kernel whose time depends on them. */
static hone_status pack_weights(bench *b, const hn_plan *p, const hn_kernel *k, void *dst,
                                hn_error *err) {
    const hn_step *s = b->step;
    hn_constant c;
    if (!k->sparse || !hn_step_weights(p, s, &c)) return HONE_OK;
    hn_stored plain = hn_constant_stored(&c);
    if (plain.kind != HN_STORED_DENSE) {
        void *room = zeros(b, hn_stored_bytes(&plain));
        if (room == NULL) return HN_NOMEM(err);
        hn_stored_expand(&plain, room);
        plain = hn_stored_plain(room);
    }
    k->pack(s->problem, &plain, 0, hn_pack_tasks(k, s->problem), dst);
    return HONE_OK;
}

/* Operands as a plan would place them, those of one buffer together. */
static hone_status place_operands(bench *b, const hn_plan *p, const hn_kernel *k, hn_error *err) {
    const hn_step *s = b->step;
    int roots[HN_MAX_OPERANDS];
    for (int i = 0; i < s->n_operands; i++) {
        const hn_operand *o = &s->operands[i];
        roots[i] = -1;
        b->ptr[i] = NULL;
        if (o->buffer < 0) continue;
        const hn_view *view = s->weights;
        if (i == s->family->weights && (k->pack != NULL || view != NULL)) {
            b->ptr[i] =
                zeros(b, k->pack != NULL ? k->packed_bytes(s->problem)
                                         : hone_value_bytes(view->dtype, view->rank, view->dims));
            if (b->ptr[i] != NULL) HN_TRY(pack_weights(b, p, k, b->ptr[i], err));
        } else {
            roots[i] = hn_buffer_root(p, o->buffer);
            int same = 0;
            while (roots[same] != roots[i]) same++;
            b->ptr[i] = same < i ? (char *)b->ptr[same] - s->operands[same].offset + o->offset
                                 : zeros(b, p->buffers[roots[i]].bytes);
            if (same == i && b->ptr[i] != NULL) b->ptr[i] = (char *)b->ptr[i] + o->offset;
        }
        if (b->ptr[i] == NULL) return HN_NOMEM(err);
    }
    return HONE_OK;
}

/* A row with all it needs to run. */
typedef struct trial {
    const hn_kernel *kernel;
    hn_call call;
    hn_pool *pool;
    char *lane_scratch;
    size_t lane_bytes;
    int lanes;
} trial;

static void run_once(const trial *t) {
    hn_kernel_launch(t->kernel, &t->call, t->lanes, t->pool, t->lane_scratch, t->lane_bytes, NULL,
                     0);
}

/* The best time in us of some samples, each long enough for the clock; a candidate that is behind
 * from the start is not sampled further. */
static double best_time(const trial *t, hn_tune_effort effort, double rival) {
    int samples = effort == HN_TUNE_FULL ? 21 : 5;
    double best = 1e30;
    int64_t runs = 1;
    run_once(t); /* warm */
    for (int i = 0; i < samples; i++) {
        int64_t begun = hn_clock_ns();
        for (int64_t k = 0; k < runs; k++) run_once(t);
        int64_t ns = hn_clock_ns() - begun;
        double us = (double)ns * 1e-3 / (double)runs;
        if (ns < 20000 && runs < 1 << 20) {
            runs *= 2;
            i = -1;
            continue;
        }
        if (us < best) best = us;
        if (best > 1.5 * rival) break;
    }
    return best;
}

static hone_status time_row(const hn_tuner *t, const hn_plan *p, hn_step *s, const hn_kernel *k,
                            hn_pool *pool, bool alone, double rival, double *us, hn_error *err) {
    bench b = {.alloc = t->alloc, .step = s};
    hn_work w;
    k->work(s->problem, p->lanes, &w);
    size_t lane_bytes = hn_aligned(w.lane_scratch);
    hone_status status = place_operands(&b, p, k, err);
    char *shared = NULL, *lanes = NULL;
    if (status == HONE_OK) {
        shared = zeros(&b, w.scratch + 1);
        lanes = zeros(&b, lane_bytes * (size_t)p->lanes + 1);
        if (shared == NULL || lanes == NULL) status = HN_NOMEM(err);
    }
    if (status == HONE_OK) {
        trial one = {.kernel = k,
                     .call = {.problem = s->problem, .work = &w, .ptr = b.ptr, .scratch = shared},
                     .pool = pool,
                     .lane_scratch = lanes,
                     .lane_bytes = lane_bytes,
                     .lanes = alone ? 1 : p->lanes};
        *us = best_time(&one, t->effort, rival);
    }
    clear(&b);
    return status;
}

static bool may_serve(const hn_tuner *t, const hn_step *s, const hn_kernel *k) {
    const char *why;
    return strcmp(k->order, s->kernel->order) == 0 &&
           hn_kernel_serves(k, (hn_allowed){.isa = t->isa, .precision = s->kernel->precision},
                            s->problem, &why);
}

/* Rows of the order of the one chosen, the reference left out: it is never the fastest. */
static int candidates(const hn_tuner *t, const hn_step *s) {
    int n = 0;
    for (int i = 0; i + 1 < s->family->n_rows; i++) n += may_serve(t, s, s->family->rows[i]);
    return n;
}

static hone_status measure(hn_tuner *t, const hn_plan *p, hn_step *s, hn_pool *pool, found *f,
                           hn_error *err) {
    const hn_kernel *first = s->kernel;
    double us;
    f->kernel = first;
    f->alone = s->alone;
    HN_TRY(time_row(t, p, s, first, pool, s->alone, 1e30, &f->us, err));
    for (int i = 0; i + 1 < s->family->n_rows; i++) {
        const hn_kernel *k = s->family->rows[i];
        if (k == first || !may_serve(t, s, k)) continue;
        HN_TRY(time_row(t, p, s, k, pool, s->alone, f->us, &us, err));
        if (us >= WORTH * f->us) continue;
        f->kernel = k;
        f->us = us;
    }
    if (p->lanes > 1) {
        HN_TRY(time_row(t, p, s, f->kernel, pool, !s->alone, f->us, &us, err));
        if (us < WORTH * f->us) {
            f->alone = !s->alone;
            f->us = us;
        }
    }
    return HONE_OK;
}

hone_status hn_tune_step(hn_tuner *t, const hn_plan *p, hn_step *s, hn_pool *pool, hn_error *err) {
    if (t == NULL || (p->lanes == 1 && candidates(t, s) < 2)) return HONE_OK;
    uint64_t problem = hn_tune_hash(HN_TUNE_HASH, s->problem, s->problem_bytes);
    found f = {.family = s->family,
               .problem = hn_tune_hash(problem, s->kernel->order, strlen(s->kernel->order)),
               .lanes = p->lanes,
               .label = s->facts->label};
    found *known = look_up(t, s->family, f.problem, p->lanes);
    if (known == NULL && t->effort == HN_TUNE_OFF) return HONE_OK;
    if (known == NULL) {
        int64_t begun = hn_clock_ns(), span = hn_span_begin();
        HN_TRY(measure(t, p, s, pool, &f, err));
        hn_span_end("compile", "tune", span, -1);
        HN_TRY(remember(t, &f, err));
        t->total.ns += hn_clock_ns() - begun;
        t->total.measured++;
        t->total.problems++;
        t->unsaved = true;
        known = &t->list[t->n - 1];
    } else if (known < t->list + t->n_read) {
        t->total.known++;
        t->total.problems++;
    }
    if (!may_serve(t, s, known->kernel)) return HONE_OK;
    s->facts->why = known < t->list + t->n_read ? "in the tuning cache" : "measured";
    t->total.changed += known->kernel != s->kernel || known->alone != s->alone;
    s->kernel = known->kernel;
    s->alone = known->alone;
    return HONE_OK;
}

/* ---- choices of precision ---- */

const char *hn_tuner_choice(const hn_tuner *t, uint64_t graph, int lanes, int i, double us[2]) {
    for (int k = 0; t != NULL && k < t->n; k++) {
        const found *f = &t->list[k];
        if (f->family != NULL || f->problem != graph || f->lanes != lanes || i-- > 0) continue;
        us[0] = f->us;
        us[1] = f->int8_us;
        return f->label;
    }
    return NULL;
}

hone_status hn_tuner_keep_choice(hn_tuner *t, uint64_t graph, int lanes, const char *name,
                                 const double us[2], int64_t ns, hn_error *err) {
    if (t == NULL) return HONE_OK;
    found f = {.problem = graph, .lanes = lanes, .us = us[0], .int8_us = us[1], .label = name};
    t->unsaved = true;
    t->total.ns += ns;
    return remember(t, &f, err);
}

/* ---- the tuner ---- */

hone_status hn_tuner_create(hn_tuner **out, hn_tune_effort effort, hn_isa isa, const char *path,
                            hn_allocator *alloc, hn_error *err) {
    hone_status status = HONE_OK;
    hn_tuner *t = hn_alloc_zero(alloc, sizeof *t, HN_MEM_OTHER);
    if (t == NULL) return HN_NOMEM(err);
    t->alloc = alloc;
    t->effort = effort;
    t->isa = isa;
    hn_arena_init(&t->arena, alloc, HN_MEM_OTHER);
    make_head(t);
    if (path != NULL) {
        t->path = hn_arena_strdup(&t->arena, path);
        status = t->path != NULL ? read_file(t, err) : HN_NOMEM(err);
    }
    if (status != HONE_OK) {
        hn_tuner_destroy(t);
        return status;
    }
    *out = t;
    return HONE_OK;
}

void hn_tuner_destroy(hn_tuner *t) {
    if (t == NULL) return;
    hn_free(t->alloc, t->list);
    hn_arena_deinit(&t->arena);
    hn_free(t->alloc, t);
}

hn_tuning hn_tuner_total(const hn_tuner *t) { return t != NULL ? t->total : (hn_tuning){0}; }
