#include "report/machine_read.h"

#include "report/documents.h"

#if HN_HAVE_JANSSON

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TEXT = 256, MOST_CPUS = 1 << 20 };
#define MOST_BYTES 0x1p60
#define LEAST_RATE 1e-6
#define MOST_RATE 1e12

/* What is read, and the first thing that is wrong with it. */
typedef struct reader {
    const char *name;
    hn_arena *arena;
    hn_error *err;
    hone_status status;
} reader;

static void refuse(reader *r, const char *key, double found, const char *wanted) {
    char text[32] = "missing";
    if (r->status != HONE_OK) return;
    if (!isnan(found)) snprintf(text, sizeof text, "%.9g", found);
    r->status =
        HN_FAIL(r->err, HONE_E_FORMAT, "%s: %s is %s; %s is wanted", r->name, key, text, wanted);
}

/* ---- values ---- */

/* A text that must be there. */
static const char *text_of(reader *r, const char *key, const char *v) {
    if (r->status != HONE_OK) return NULL;
    size_t n = v != NULL ? strlen(v) : 0;
    if (n == 0 || n > MOST_TEXT) {
        r->status = HN_FAIL(r->err, HONE_E_FORMAT,
                            "%s: %s is %s; a text of 1 to %d letters is wanted", r->name, key,
                            v == NULL ? "missing"
                            : n == 0  ? "empty"
                                      : "too long",
                            MOST_TEXT);
        return NULL;
    }
    const char *own = hn_arena_strdup(r->arena, v);
    if (own == NULL) r->status = HN_NOMEM(r->err);
    return own;
}

static const char *text_if_known(reader *r, const char *key, const char *v) {
    return v != NULL ? text_of(r, key, v) : NULL;
}

/* A whole number of at least `least` that must be there. */
static double whole(reader *r, const char *key, double v, double least, double most) {
    char wanted[80];
    if (v >= least && v <= most && v == floor(v)) return v;
    snprintf(wanted, sizeof wanted, "a whole number from %.9g to %.9g", least, most);
    refuse(r, key, v, wanted);
    return least;
}

static double whole_if_known(reader *r, const char *key, double v, double least, double most,
                             double unknown) {
    return isnan(v) ? unknown : whole(r, key, v, least, most);
}

static double rate(reader *r, const char *key, double v) {
    if (v >= LEAST_RATE && v <= MOST_RATE) return v;
    refuse(r, key, v, "a rate above 0");
    return 1;
}

/* Room for the items of a list; NULL where there are none. */
static void *room_for(reader *r, size_t n, size_t bytes) {
    if (n == 0 || r->status != HONE_OK) return NULL;
    void *all = hn_arena_array(r->arena, n, bytes);
    if (all == NULL) r->status = HN_NOMEM(r->err);
    return all;
}

/* ---- parts ---- */

static void read_facts(reader *r, const hn_doc_machine *d, hone_machine *m) {
    m->cpu = text_of(r, "cpu", d->cpu);
    m->arch = text_of(r, "arch", d->arch);
    m->kernel = text_of(r, "kernel", d->kernel);
    m->isa = text_of(r, "isa", d->isa);
    m->gpu_driver = text_if_known(r, "gpu_driver", d->gpu_driver);
    m->cpus = (int)whole(r, "cpus", d->cpus, 1, MOST_CPUS);
    m->allowed_cores = (int)whole(r, "allowed_cores", d->allowed_cores, 1, MOST_CPUS);
    m->quota = (int)whole_if_known(r, "quota", d->quota, 1, MOST_CPUS, 0);
    m->threads = (int)whole(r, "threads", d->threads, 1, MOST_CPUS);
    m->memory_bytes =
        (int64_t)whole_if_known(r, "memory_bytes", d->memory_bytes, 1, MOST_BYTES, -1);
    m->memory_limit =
        (int64_t)whole_if_known(r, "memory_limit_bytes", d->memory_limit_bytes, 0, MOST_BYTES, -1);
    m->cached = d->cached > 0;
    m->disturbed = d->disturbed > 0;
    m->noise = isnan(d->noise) ? 0 : d->noise;
    if (!(m->noise >= 0 && m->noise <= 1)) refuse(r, "noise", m->noise, "a share from 0 to 1");
}

static void read_isas(reader *r, const hn_doc_machine *d, hone_machine *m) {
    hone_isa_info *all = room_for(r, d->isas.n, sizeof *all);
    for (; all != NULL && m->n_isas < d->isas.n; m->n_isas++) {
        const hn_doc_isa *from = &d->isas.at[m->n_isas];
        all[m->n_isas] = (hone_isa_info){.name = text_of(r, "isas[].name", from->name),
                                         .allowed = from->allowed > 0};
    }
    m->isas = all;
}

static void read_caches(reader *r, const hn_doc_machine *d, hone_machine *m) {
    hone_cache_info *all = room_for(r, d->caches.n, sizeof *all);
    for (; all != NULL && m->n_caches < d->caches.n; m->n_caches++) {
        const hn_doc_cache *from = &d->caches.at[m->n_caches];
        all[m->n_caches] = (hone_cache_info){
            .level = (int)whole(r, "caches[].level", from->level, 1, 8),
            .bytes = (int64_t)whole(r, "caches[].bytes", from->bytes, 1, MOST_BYTES),
            .line_bytes =
                (int)whole_if_known(r, "caches[].line_bytes", from->line_bytes, 1, 1 << 16, 0),
            .cpus = (int)whole_if_known(r, "caches[].cpus", from->cpus, 1, MOST_CPUS, 0)};
    }
    m->caches = all;
}

static void read_gpus(reader *r, const hn_doc_machine *d, hone_machine *m) {
    hone_gpu_info *all = room_for(r, d->gpus.n, sizeof *all);
    for (; all != NULL && m->n_gpus < d->gpus.n; m->n_gpus++) {
        const hn_doc_gpu *from = &d->gpus.at[m->n_gpus];
        hone_gpu_info *g = &all[m->n_gpus];
        int end = 0;
        *g = (hone_gpu_info){.name = text_of(r, "gpus[].name", from->name),
                             .memory_bytes = (int64_t)whole_if_known(
                                 r, "gpus[].memory_bytes", from->memory_bytes, 0, MOST_BYTES, -1)};
        const char *c = text_if_known(r, "gpus[].capability", from->capability);
        if (c != NULL && (sscanf(c, "%3d.%3d%n", &g->capability[0], &g->capability[1], &end) != 2 ||
                          c[end] != '\0' || g->capability[0] < 0 || g->capability[1] < 0))
            refuse(r, "gpus[].capability", NAN, "a text such as 9.0");
    }
    m->gpus = all;
}

/* Each for one thread, and behind it for all where that is more. */
static void read_peaks(reader *r, const hn_doc_machine *d, hone_machine *m) {
    size_t n = d->limits.peaks.n, columns = m->threads > 1 ? 2 : 1;
    hone_peak_info *all = room_for(r, n, sizeof *all);
    if (n == 0 || n % columns != 0)
        refuse(r, "the number of peaks", (double)n, "one for each number of threads");
    for (; all != NULL && m->n_peaks < n && r->status == HONE_OK; m->n_peaks++) {
        const hn_doc_peak *from = &d->limits.peaks.at[m->n_peaks];
        const hone_peak_info *before = m->n_peaks % columns > 0 ? &all[m->n_peaks - 1] : NULL;
        int threads = before != NULL ? m->threads : 1;
        hone_peak_info *p = &all[m->n_peaks];
        *p = (hone_peak_info){
            .precision = text_of(r, "peaks[].precision", from->precision),
            .instruction = text_of(r, "peaks[].instruction", from->instruction),
            .isa = text_of(r, "peaks[].isa", from->isa),
            .threads = (int)whole(r, "peaks[].threads", from->threads, threads, threads),
            .gops = rate(r, "peaks[].gops", from->gops)};
        if (r->status == HONE_OK && before != NULL &&
            (strcmp(before->precision, p->precision) != 0 ||
             strcmp(before->instruction, p->instruction) != 0))
            r->status = HN_FAIL(r->err, HONE_E_FORMAT,
                                "%s: the peak of '%s' on %d threads stands behind that of '%s'",
                                r->name, p->instruction, threads, before->instruction);
    }
    m->peaks = all;
}

/* From the first cache to memory, for one thread, then for all where that is more. */
static void read_bandwidths(reader *r, const hn_doc_machine *d, hone_machine *m) {
    size_t n = d->limits.bandwidths.n;
    hone_bandwidth_info *all = room_for(r, n, sizeof *all);
    int one = 0, every = 0; /* bandwidths of memory */
    for (; all != NULL && m->n_bandwidths < n; m->n_bandwidths++) {
        const hn_doc_bandwidth *from = &d->limits.bandwidths.at[m->n_bandwidths];
        hone_bandwidth_info *b = &all[m->n_bandwidths];
        *b = (hone_bandwidth_info){
            .level = text_of(r, "bandwidths[].level", from->level),
            .threads = (int)whole(r, "bandwidths[].threads", from->threads, 1, m->threads),
            .bytes = (int64_t)whole(r, "bandwidths[].bytes", from->bytes, 1, MOST_BYTES),
            .read_gb = rate(r, "bandwidths[].read_gb_s", from->read_gb_s),
            .write_gb = rate(r, "bandwidths[].write_gb_s", from->write_gb_s),
            .copy_gb = rate(r, "bandwidths[].copy_gb_s", from->copy_gb_s)};
        if (r->status != HONE_OK || strcmp(b->level, "memory") != 0) continue;
        one += b->threads == 1;
        every += b->threads == m->threads;
    }
    if (one == 0 || every == 0)
        refuse(r, "the bandwidth of memory", NAN, "one for each number of threads");
    m->bandwidths = all;
}

/* ---- all ---- */

static hone_status read_document(hone_machine *m, const hn_document *d, const char *name,
                                 hn_arena *arena, hn_error *err) {
    reader r = {.name = name, .arena = arena, .err = err};
    HN_CHECK(err, d->machine != NULL, HONE_E_FORMAT,
             "%s: this is what hone %s found; what hone machine found is wanted", name, d->verb);
    read_facts(&r, d->machine, m);
    read_isas(&r, d->machine, m);
    read_caches(&r, d->machine, m);
    read_gpus(&r, d->machine, m);
    read_peaks(&r, d->machine, m);
    read_bandwidths(&r, d->machine, m);
    return r.status;
}

hone_status hn_machine_read(hone_machine *m, const char *name, const char *text, hn_arena *arena,
                            hn_error *err) {
    hn_documents all;
    hn_documents_init(&all, arena->alloc);
    hone_status status = hn_documents_read(&all, name, text, err);
    if (status == HONE_OK && all.n > 1)
        status = HN_FAIL(err, HONE_E_FORMAT, "%s: there are %zu objects; one machine is wanted",
                         name, all.n);
    if (status == HONE_OK) status = read_document(m, &all.all[0], name, arena, err);
    hn_documents_deinit(&all);
    return status;
}

#else

hone_status hn_machine_read(hone_machine *m, const char *name, const char *text, hn_arena *arena,
                            hn_error *err) {
    (void)m, (void)text, (void)arena;
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "%s: hone was built without libjansson, which reads it",
                   name);
}

#endif
