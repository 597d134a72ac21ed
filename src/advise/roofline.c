#include "advise/roofline.h"

#include <string.h>

#include "base/isa.h"

/* Under a roof of so many ms, a step that reaches less than half of it is bound by what starting it
 * takes: a step costs 0.2 us, and handing it out to threads one or two more. */
#define OVERHEAD_ROOF_MS 0.004
#define OVERHEAD_SHARE 0.5
/* Less than this of the roof is worth trying other kernels for. */
#define FAR_SHARE 0.3
/* More than this is as good as it gets. */
#define CLOSE_SHARE 0.9

/* ---- limits ---- */

static double larger(double a, double b) { return a > b ? a : b; }

/* What measurements of one thread and of all say of a number between. */
static double scaled(double one, int at, double all, int threads) {
    if (threads >= at && all > 0) return all;
    double rate = one * threads;
    return all > 0 && rate > all ? all : rate;
}

/* Whether code that may use `most` (NULL: anything) may use `isa`. */
static bool allows(const char *most, const char *isa) {
    hn_isa have, needs;
    hn_error unread;
    return most == NULL || strcmp(most, isa) == 0 ||
           (hn_isa_limit(~(hn_isa)0, most, &have, &unread) == HONE_OK &&
            hn_isa_limit(~(hn_isa)0, isa, &needs, &unread) == HONE_OK && (needs & ~have) == 0);
}

/* Of rows with that precision and, unless `only` is NULL, instruction set. */
static double peak_of(const hone_machine *m, const char *precision, const char *only,
                      const char *isa, int threads) {
    double one = 0, all = 0;
    int most = 1;
    for (size_t i = 0; i < m->n_peaks; i++) {
        const hone_peak_info *p = &m->peaks[i];
        if (strcmp(p->precision, precision) != 0 || !allows(isa, p->isa) ||
            (only != NULL && strcmp(p->isa, only) != 0))
            continue;
        if (p->threads == 1)
            one = larger(one, p->gops);
        else
            all = larger(all, p->gops), most = p->threads;
    }
    return scaled(one, most, all, threads);
}

double hn_roof_peak(const hone_machine *m, const char *precision, const char *isa, int threads) {
    double peak = peak_of(m, precision, NULL, isa, threads);
    bool relaxed = strcmp(precision, "f32-relaxed") == 0;
    if (!relaxed && strcmp(precision, "f32") != 0) return peak;
    /* Floats are also multiplied as sums of two or three bf16, by tiles. */
    double split = peak_of(m, "bf16", "amx", isa, threads) / (relaxed ? 3 : 6);
    return larger(peak_of(m, "f32", NULL, isa, threads), split);
}

/* The number of the nearest cache that holds so much, or that of caches: memory. */
static size_t holder(const hone_machine *m, double bytes, int threads) {
    for (size_t i = 0; i < m->n_caches; i++) {
        const hone_cache_info *c = &m->caches[i];
        bool own = c->level < 3 && c->cpus <= 2; /* each core has one */
        if (bytes <= (double)c->bytes * (own ? threads : 1)) return i;
    }
    return m->n_caches;
}

double hn_roof_bandwidth(const hone_machine *m, double bytes, int threads, const char **level) {
    static const char *const names[] = {"L1", "L2", "L3"};
    size_t at = holder(m, bytes, threads);
    double one = 0, all = 0;
    int most = 1;
    *level = at < m->n_caches && at < 3 ? names[at] : "memory";
    for (size_t i = 0; i < m->n_bandwidths; i++) {
        const hone_bandwidth_info *b = &m->bandwidths[i];
        if (strcmp(b->level, *level) != 0) continue;
        double rate = larger(b->read_gb, larger(b->write_gb, b->copy_gb));
        if (b->threads == 1)
            one = larger(one, rate);
        else
            all = larger(all, rate), most = b->threads;
    }
    return scaled(one, most, all, threads);
}

/* ---- advice ---- */

static const char *memory_advice(const hn_roof_work *w) {
    bool weights = w->weights_bytes > w->bytes / 2, narrow = strcmp(w->precision, "int8") == 0;
    if (weights && narrow)
        return "its weights are most of its bytes: prune them, or raise the batch";
    if (weights)
        return "its weights are most of its bytes: quantize or prune them, or raise the batch";
    return narrow
               ? "its activations are most of its bytes: fuse it with its neighbours"
               : "its activations are most of its bytes: fuse it with its neighbours, or quantize";
}

static const char *compute_advice(const hn_roof_work *w) {
    if (strcmp(w->precision, "int8") == 0)
        return "fewer multiply-accumulates: prune channels, or a smaller input";
    if (strcmp(w->precision, "bf16") == 0) return "int8, or fewer multiply-accumulates";
    return "a lower precision (bf16, int8), or fewer multiply-accumulates";
}

static const char *advice_for(const hn_roof_work *w, const hn_roof *r) {
    if (w->reference) return "no kernel serves it, the operator's reference does";
    if (r->bound == NULL) return NULL;
    if (strcmp(r->bound, "overhead") == 0)
        return w->threads > 1 ? "too little work: fuse it, raise the batch, or use fewer threads"
                              : "too little work: fuse it, or raise the batch";
    if (r->share < FAR_SHARE)
        return "far from the roof: another kernel may do better (--tune full)";
    if (strcmp(r->bound, "memory") == 0) return memory_advice(w);
    return r->share > CLOSE_SHARE && strcmp(w->precision, "int8") == 0 ? NULL : compute_advice(w);
}

/* ---- the roof ---- */

static double least_ms(double amount, double per_ns) {
    return amount > 0 && per_ns > 0 ? amount / per_ns * 1e-6 : 0;
}

/* The least time for the bytes; *level is where the larger part of that time goes. */
static double memory_ms(const hone_machine *m, const hn_roof_work *w, const char **level) {
    const char *near, *far;
    double weights = w->weights_bytes < w->bytes ? w->weights_bytes : w->bytes;
    double others = w->bytes - weights;
    double near_ms = least_ms(others, hn_roof_bandwidth(m, others, w->threads, &near));
    double run_bytes = larger(w->run_bytes, w->bytes);
    double far_ms = least_ms(weights, hn_roof_bandwidth(m, run_bytes, w->threads, &far));
    *level = w->bytes > 0 ? far_ms > near_ms ? far : near : NULL;
    return near_ms + far_ms;
}

void hn_roofline(const hone_machine *m, const hn_roof_work *w, hn_roof *out) {
    hn_roof r = {.intensity = w->bytes > 0 ? w->flops / w->bytes : 0};
    if (w->ms > 0) r.gflops = w->flops / w->ms * 1e-6, r.gb_s = w->bytes / w->ms * 1e-6;
    if (m != NULL && w->ms > 0) {
        double compute = least_ms(w->flops, hn_roof_peak(m, w->precision, w->isa, w->threads));
        double memory = memory_ms(m, w, &r.level);
        r.roof_ms = larger(compute, memory);
        r.bound = r.roof_ms <= 0 ? NULL : compute >= memory ? "compute" : "memory";
    }
    if (r.roof_ms > 0) {
        r.share = r.roof_ms / w->ms;
        r.lost_ms = larger(w->ms - r.roof_ms, 0);
        if (r.roof_ms < OVERHEAD_ROOF_MS && r.share < OVERHEAD_SHARE) r.bound = "overhead";
    }
    r.advice = advice_for(w, &r);
    *out = r;
}
