#include "measure/machine_file.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/file.h"
#include "base/log.h"

#define KIND "hone-machine/1 "
#define END "end\n"
enum { MOST_BYTES = 1 << 20, MOST_BLOCKS = 16, LINE_BYTES = 1024 };

static void add(char line[LINE_BYTES], const char *text) {
    strncat(line, text, LINE_BYTES - strlen(line) - 1);
}

/* The first line of a block that holds for this machine. */
static void make_head(char line[LINE_BYTES], const hone_machine *m) {
    char numbers[128];
    snprintf(line, LINE_BYTES, KIND "hone=%s isa=", hone_version());
    for (size_t i = 0; i < m->n_isas; i++)
        if (m->isas[i].allowed) {
            add(line, m->isas[i].name);
            add(line, ",");
        }
    snprintf(numbers, sizeof numbers, " cores=%d quota=%d threads=%d caches=", m->allowed_cores,
             m->quota, m->threads);
    add(line, numbers);
    for (size_t i = 0; i < m->n_caches; i++) {
        snprintf(numbers, sizeof numbers, "%lld,", (long long)m->caches[i].bytes);
        add(line, numbers);
    }
    add(line, " nvidia=");
    add(line, m->gpu_driver != NULL ? m->gpu_driver : "none");
    add(line, " kernel=");
    add(line, m->kernel);
    add(line, " cpu=");
    add(line, m->cpu);
    for (char *c = line; *c != '\0'; c++)
        if (*c == '\n') *c = ' ';
    line[LINE_BYTES - 2] = '\0';
    add(line, "\n");
}

/* ---- reading ---- */

/* What is left of a text. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static bool take(cursor *c, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0) return false;
    c->at += n;
    return true;
}

/* A number from lowest to 10^12, and the character behind it. */
static bool take_number(cursor *c, double lowest, char behind, double *v) {
    const char *stop = memchr(c->at, behind, (size_t)(c->end - c->at));
    if (stop == NULL || !hn_decimal_f64(c->at, (size_t)(stop - c->at), v)) return false;
    c->at = stop + 1;
    return *v >= lowest && *v <= 1e12; /* not a NaN */
}

/* The block of that head, behind it; c is all of the file. False: there is none. */
static bool find_block(cursor *c, const char *head) {
    while (c->at < c->end) {
        if (take(c, head)) return true;
        const char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
        c->at = stop != NULL ? stop + 1 : c->end;
    }
    return false;
}

static bool read_gpu(cursor *c, hn_gpus *gpus, hn_arena *arena) {
    double major, minor, bytes;
    char name[HN_GPU_NAME];
    if (!take_number(c, 0, ' ', &major) || !take_number(c, 0, ' ', &minor) ||
        !take_number(c, -1, ' ', &bytes) || major > 1000 || minor > 1000)
        return false;
    const char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
    if (stop == NULL || stop - c->at >= HN_GPU_NAME) return false;
    snprintf(name, sizeof name, "%.*s", (int)(stop - c->at), c->at);
    c->at = stop + 1;
    hone_gpu_info gpu = {name, (int64_t)bytes, {(int)major, (int)minor}};
    return hn_gpus_add(gpus, gpu, arena, NULL) == HONE_OK;
}

static bool read_block(cursor *c, hn_findings *f, hn_arena *arena) {
    const double least = 1e-6;
    hn_rates *r = &f->rates;
    char line[LINE_BYTES];
    if (!take(c, "noise ") || !take_number(c, 0, ' ', &r->noise) || r->noise > 1) return false;
    double measured = 1;
    r->disturbed = take(c, "disturbed ");
    if (r->disturbed ? !take_number(c, 1, '\n', &measured) : !take(c, "steady\n")) return false;
    r->measured = measured < 1000 ? (int)measured : 1000;
    for (size_t i = 0; i < r->n_peaks; i++) {
        hone_peak_info *p = &r->peaks[i];
        snprintf(line, sizeof line, "peak %s %s %d ", p->precision, p->isa, p->threads);
        if (!take(c, line) || !take_number(c, least, ' ', &p->gops) || !take(c, p->instruction) ||
            !take(c, "\n"))
            return false;
    }
    for (size_t i = 0; i < r->n_bandwidths; i++) {
        hone_bandwidth_info *b = &r->bandwidths[i];
        snprintf(line, sizeof line, "bandwidth %s %d %lld ", b->level, b->threads,
                 (long long)b->bytes);
        if (!take(c, line) || !take_number(c, least, ' ', &b->read_gb) ||
            !take_number(c, least, ' ', &b->write_gb) || !take_number(c, least, '\n', &b->copy_gb))
            return false;
    }
    while (take(c, "gpu "))
        if (!read_gpu(c, &f->gpus, arena)) return false;
    return take(c, END);
}

/* The file, or NULL; *foreign: it is there, but something else. */
static hn_file *open_file(const char *path, hn_allocator *alloc, bool *foreign) {
    hn_file *f = NULL;
    hn_error why = {0};
    *foreign = false;
    if (hn_file_open(&f, path, true, alloc, &why) != HONE_OK) {
        hn_log(HONE_LOG_INFO, "no machine cache: %s", why.text);
        return NULL;
    }
    cursor c = {(const char *)f->data, (const char *)f->data + f->bytes};
    if (f->bytes == 0 || (f->bytes <= MOST_BYTES && take(&c, KIND))) return f;
    hn_file_unref(f);
    *foreign = true;
    return NULL;
}

bool hn_machine_recall(hn_findings *f, const hone_machine *m, const char *path, hn_arena *arena) {
    char head[LINE_BYTES];
    bool foreign;
    hn_file *file = open_file(path, arena->alloc, &foreign);
    if (foreign) hn_log(HONE_LOG_WARN, "%s: not a cache of hone machine: ignored", path);
    if (file == NULL) return false;
    cursor c = {(const char *)file->data, (const char *)file->data + file->bytes};
    make_head(head, m);
    bool there = find_block(&c, head), read = there && read_block(&c, f, arena);
    if (there && !read)
        hn_log(HONE_LOG_WARN, "%s: what it says of this machine is damaged: measured again", path);
    hn_file_unref(file);
    return read;
}

/* ---- writing ---- */

static hone_status put(hn_file_writer *w, const char *text, hn_error *err) {
    return hn_file_write_append(w, text, strlen(text), err);
}

static hone_status write_block(hn_file_writer *w, const hn_findings *f, const char *head,
                               hn_error *err) {
    const hn_rates *r = &f->rates;
    char line[LINE_BYTES], a[HN_DECIMAL_TEXT], b[HN_DECIMAL_TEXT], c[HN_DECIMAL_TEXT];
    HN_TRY(put(w, head, err));
    char how[32] = "steady";
    if (r->disturbed) snprintf(how, sizeof how, "disturbed %d", r->measured);
    snprintf(line, sizeof line, "noise %s %s\n", hn_decimal_text_f64(r->noise, a), how);
    HN_TRY(put(w, line, err));
    for (size_t i = 0; i < r->n_peaks; i++) {
        const hone_peak_info *p = &r->peaks[i];
        snprintf(line, sizeof line, "peak %s %s %d %s %s\n", p->precision, p->isa, p->threads,
                 hn_decimal_text_f64(p->gops, a), p->instruction);
        HN_TRY(put(w, line, err));
    }
    for (size_t i = 0; i < r->n_bandwidths; i++) {
        const hone_bandwidth_info *band = &r->bandwidths[i];
        snprintf(line, sizeof line, "bandwidth %s %d %lld %s %s %s\n", band->level, band->threads,
                 (long long)band->bytes, hn_decimal_text_f64(band->read_gb, a),
                 hn_decimal_text_f64(band->write_gb, b), hn_decimal_text_f64(band->copy_gb, c));
        HN_TRY(put(w, line, err));
    }
    for (size_t i = 0; i < f->gpus.n; i++) {
        const hone_gpu_info *g = &f->gpus.list[i];
        snprintf(line, sizeof line, "gpu %d %d %lld %s\n", g->capability[0], g->capability[1],
                 (long long)g->memory_bytes, g->name);
        HN_TRY(put(w, line, err));
    }
    return put(w, END, err);
}

/* The blocks of other machines, which end with their END or where another one begins. */
static hone_status copy_others(hn_file_writer *w, cursor c, const char *head, hn_error *err) {
    bool wanted = false;
    for (int blocks = 1; c.at < c.end;) {
        cursor line = c;
        const char *stop = memchr(c.at, '\n', (size_t)(c.end - c.at));
        c.at = stop != NULL ? stop + 1 : c.end;
        cursor rest = line;
        if (take(&rest, KIND)) {
            rest = line;
            wanted = !take(&rest, head) && blocks++ < MOST_BLOCKS;
        }
        if (wanted) HN_TRY(hn_file_write_append(w, line.at, (size_t)(c.at - line.at), err));
    }
    return HONE_OK;
}

static hone_status write_file(const hn_findings *f, const char *head, const char *path, cursor old,
                              hn_allocator *alloc, hn_error *err) {
    hn_file_writer *w;
    HN_TRY(hn_file_write_begin(&w, path, NULL, alloc, err));
    hone_status status = write_block(w, f, head, err);
    if (status == HONE_OK) status = copy_others(w, old, head, err);
    if (status == HONE_OK) return hn_file_write_commit(w, err);
    hn_file_write_abort(w);
    return status;
}

void hn_machine_keep(const hn_findings *f, const hone_machine *m, const char *path,
                     hn_allocator *alloc) {
    char head[LINE_BYTES];
    hn_error err = {0};
    bool foreign;
    hn_file *file = open_file(path, alloc, &foreign);
    cursor old = {head, head};
    if (foreign) {
        hn_log(HONE_LOG_WARN, "%s: not a cache of hone machine: left as it is", path);
        return;
    }
    if (file != NULL)
        old = (cursor){(const char *)file->data, (const char *)file->data + file->bytes};
    make_head(head, m);
    if (write_file(f, head, path, old, alloc, &err) != HONE_OK)
        hn_log(HONE_LOG_WARN, "the machine cache is not kept: %s", err.text);
    hn_file_unref(file);
}
