/* hone_machine: the probe of src/measure with memory of its own. */
#include <string.h>

#include "api/api.h"
#include "measure/machine.h"

typedef struct held {
    hone_machine machine;
    hn_allocator alloc;
    hn_arena arena;
} held;

void hone_machine_options_init(hone_machine_options *o) {
    *o = (hone_machine_options){.size = sizeof *o};
}

/* o NULL: only looks. */
static hone_status make(hone_machine **out, const hone_machine_options *o, hone_error *err) {
    held *h = hn_alloc_zero(hn_allocator_default(), sizeof *h, HN_MEM_OTHER);
    if (h == NULL) return HN_NOMEM(err);
    hn_allocator_init(&h->alloc);
    hn_arena_init(&h->arena, &h->alloc, HN_MEM_OTHER);
    h->machine.size = sizeof h->machine;
    h->machine.owner = h;
    hone_status status = o != NULL ? hn_machine_probe(&h->machine, o, &h->arena, err)
                                   : hn_machine_look(&h->machine, &h->arena, err);
    if (status == HONE_OK)
        *out = &h->machine;
    else
        hone_machine_destroy(&h->machine);
    return status;
}

hone_status hone_machine_probe(hone_machine **out, const hone_machine_options *options,
                               hone_error *err) {
    hone_machine_options o;
    hone_machine_options_init(&o);
    if (options != NULL) HN_TAKE_OPTIONS(o, options);
    return make(out, &o, err);
}

hone_status hone_machine_look(hone_machine **out, hone_error *err) { return make(out, NULL, err); }

void hone_machine_destroy(hone_machine *m) {
    if (m == NULL) return;
    held *h = m->owner;
    hn_arena_deinit(&h->arena);
    hn_free(hn_allocator_default(), h);
}
