/* hone_machine: the probe of src/measure with memory of its own. */
#include <string.h>

#include "api/api.h"
#include "measure/machine.h"

typedef struct held {
    hone_machine machine;
    hn_allocator alloc;
    hn_arena arena;
} held;

HN_DEFINE_OPTIONS(machine, 0)

/* o NULL: only looks. */
static hone_status make(hone_machine **out, const hone_machine_options *o,
                        const hone_layout *caller, hn_error *err) {
    static const hn_list lists[] = {
        HN_LIST(machine, caches, n_caches, cache_info), HN_LIST(machine, peaks, n_peaks, peak_info),
        HN_LIST(machine, bandwidths, n_bandwidths, bandwidth_info),
        HN_LIST(machine, isas, n_isas, isa_info), HN_LIST(machine, gpus, n_gpus, gpu_info)};
    held *h = hn_alloc_zero(hn_allocator_default(), sizeof *h, HN_MEM_OTHER);
    if (h == NULL) return HN_NOMEM(err);
    hn_allocator_init(&h->alloc);
    hn_arena_init(&h->arena, &h->alloc, HN_MEM_OTHER);
    h->machine.size = sizeof h->machine;
    h->machine.owner = h;
    hone_status status = o != NULL ? hn_machine_probe(&h->machine, o, &h->arena, err)
                                   : hn_machine_look(&h->machine, &h->arena, err);
    if (status == HONE_OK) HN_HAND_OUT(out, &h->machine, lists, caller, machine, err);
    hone_machine_destroy(&h->machine);
    return status;
}

hone_status hone_machine_probe_sized(hone_machine **out, const hone_machine_options *options,
                                     const hone_layout *caller, hone_error *err) {
    hone_machine_options o;
    HN_TRY(HN_TAKE_OPTIONS(machine, &o, options, err));
    return make(out, &o, caller, err);
}

hone_status hone_machine_look_sized(hone_machine **out, const hone_layout *caller,
                                    hone_error *err) {
    return make(out, NULL, caller, err);
}

const hone_machine *hn_api_machine(const hone_machine *shown) {
    return shown != NULL && shown->owner != NULL ? &((const held *)shown->owner)->machine : shown;
}

void hone_machine_destroy(hone_machine *m) {
    if (m == NULL) return;
    held *h = m->owner;
    hn_shown_free(m, &h->machine);
    hn_arena_deinit(&h->arena);
    hn_free(hn_allocator_default(), h);
}
