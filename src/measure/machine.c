#include "measure/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/isa.h"
#include "measure/machine_file.h"

#define MOST_CACHES 8
#define MOST_MEASURED 3

static const hn_isa weakest_first[] = {
#define HN_ISA_ROW(name, ...) HN_ISA_##name,
#include "base/isa.def"
#undef HN_ISA_ROW
    0};

static hone_status read_facts(hone_machine *m, hn_arena *arena, hn_error *err) {
    enum { MOST_ISAS = sizeof weakest_first / sizeof *weakest_first };
    struct utsname names;
    hone_cache_info *caches = hn_arena_array(arena, MOST_CACHES, sizeof *caches);
    hone_isa_info *isas = hn_arena_array(arena, MOST_ISAS, sizeof *isas);
    char cpu[200], driver[64], kernel[sizeof names.sysname + sizeof names.release] = "unknown";
    bool named = uname(&names) == 0;
    if (named) snprintf(kernel, sizeof kernel, "%s %s", names.sysname, names.release);
    hn_cpu_name("", cpu, sizeof cpu);
    m->cpu = hn_arena_strdup(arena, cpu);
    m->kernel = hn_arena_strdup(arena, kernel);
    m->arch = hn_arena_strdup(arena, named ? names.machine : "unknown");
    if (caches == NULL || isas == NULL || m->cpu == NULL || m->kernel == NULL || m->arch == NULL)
        return HN_NOMEM(err);
    m->isa = hn_isa_name(hn_isa_available());
    m->isas = isas;
    for (int i = 0; weakest_first[i] != 0; i++) {
        hn_isa one = weakest_first[i];
        if (hn_isa_detected() & one)
            isas[m->n_isas++] = (hone_isa_info){.name = hn_isa_name(one),
                                                .allowed = (hn_isa_available() & one) != 0};
    }
    m->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    m->allowed_cores = hn_cpu_list(NULL, 0);
    m->quota = hn_cpu_quota("");
    m->threads = hn_cpu_threads();
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    m->memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page : -1;
    size_t limit = hn_cpu_memory_limit("");
    m->memory_limit = (int64_t)(limit < INT64_MAX ? limit : INT64_MAX);
    if (m->memory_limit >= m->memory_bytes) m->memory_limit = -1;
    if (hn_gpu_driver("", driver, sizeof driver)) {
        m->gpu_driver = hn_arena_strdup(arena, driver);
        if (m->gpu_driver == NULL) return HN_NOMEM(err);
    }
    m->n_caches = (size_t)hn_cpu_caches("", caches, MOST_CACHES);
    m->caches = caches;
    return HONE_OK;
}

/* Rates that others disturbed are measured again the next time; but where that was tried often
 * enough, others always do. */
static bool is_believed(const hn_rates *r) { return !r->disturbed || r->measured >= MOST_MEASURED; }

hone_status hn_machine_probe(hone_machine *m, const hone_machine_options *o, hn_arena *arena,
                             hn_error *err) {
    hn_findings f = {0}, before = {0};
    HN_TRY(read_facts(m, arena, err));
    HN_TRY(hn_rates_lay_out(&f.rates, m, hn_isa_available(), arena, err));
    HN_TRY(hn_rates_lay_out(&before.rates, m, hn_isa_available(), arena, err));
    bool keeps = o->cache != NULL;
    bool known = keeps && !o->remeasure && hn_machine_recall(&before, m, o->cache, arena);
    m->cached = known && is_believed(&before.rates);
    if (m->cached) {
        f = before;
    } else {
        HN_TRY(hn_gpus_find(&f.gpus, "", &hn_library_loader_system, arena, err));
        HN_TRY(hn_rates_measure(&f.rates, o, arena->alloc, err));
        if (known && f.rates.disturbed) hn_rates_join(&f.rates, &before.rates);
        if (keeps) hn_machine_keep(&f, m, o->cache, arena->alloc);
    }
    m->n_peaks = f.rates.n_peaks;
    m->peaks = f.rates.peaks;
    m->n_bandwidths = f.rates.n_bandwidths;
    m->bandwidths = f.rates.bandwidths;
    m->noise = f.rates.noise;
    m->disturbed = f.rates.disturbed;
    m->n_gpus = f.gpus.n;
    m->gpus = f.gpus.list;
    return HONE_OK;
}

hone_status hn_machine_look(hone_machine *m, hn_arena *arena, hn_error *err) {
    return read_facts(m, arena, err);
}
