/* hone_machine: the probe of src/measure, or what a file says of a machine, with memory of its own. */
#include <string.h>

#include "api/api.h"
#include "base/file.h"
#include "measure/machine.h"
#include "report/machine_read.h"

enum { MOST_BYTES = 1 << 20 }; /* of a file that describes a machine */

typedef struct held {
    hone_machine machine;
    hn_allocator alloc;
    hn_arena arena;
} held;

HN_DEFINE_OPTIONS(machine, 0)

/* The text of a file, in the arena. */
static hone_status read_text(const char *path, hn_arena *arena, char **text, hn_error *err) {
    hn_file *file;
    HN_TRY(hn_file_open(&file, path, false, arena->alloc, err));
    hone_status status = HONE_OK;
    if (file->bytes > MOST_BYTES)
        status =
            HN_FAIL(err, HONE_E_LIMIT, "%s: has %zu bytes; a machine is described by at most %d",
                    path, file->bytes, MOST_BYTES);
    else if (memchr(file->data, '\0', file->bytes) != NULL)
        status = HN_FAIL(err, HONE_E_FORMAT, "%s: is not text: it has a zero byte", path);
    else if ((*text = hn_arena_strndup(arena, (const char *)file->data, file->bytes)) == NULL)
        status = HN_NOMEM(err);
    hn_file_unref(file);
    return status;
}

static hone_status read_machine(hone_machine *m, const char *path, hn_arena *arena, hn_error *err) {
    char *text;
    HN_CHECK(err, path != NULL, HONE_E_ARG, "path is NULL");
    HN_TRY(read_text(path, arena, &text, err));
    return hn_machine_read(m, path, text, arena, err);
}

/* Where the machine is from. */
typedef struct source {
    const hone_machine_options *measure; /* NULL: */
    bool look;                           /* false: */
    const char *path;
} source;

static hone_status make(hone_machine **out, source from, const hone_layout *caller, hn_error *err) {
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
    hone_status status = from.measure != NULL
                             ? hn_machine_probe(&h->machine, from.measure, &h->arena, err)
                         : from.look ? hn_machine_look(&h->machine, &h->arena, err)
                                     : read_machine(&h->machine, from.path, &h->arena, err);
    if (status == HONE_OK) HN_HAND_OUT(out, &h->machine, lists, caller, machine, err);
    hone_machine_destroy(&h->machine);
    return status;
}

hone_status hone_machine_probe_sized(hone_machine **out, const hone_machine_options *options,
                                     const hone_layout *caller, hone_error *err) {
    hone_machine_options o;
    HN_TRY(HN_TAKE_OPTIONS(machine, &o, options, err));
    return make(out, (source){.measure = &o}, caller, err);
}

hone_status hone_machine_look_sized(hone_machine **out, const hone_layout *caller,
                                    hone_error *err) {
    return make(out, (source){.look = true}, caller, err);
}

hone_status hone_machine_read_sized(hone_machine **out, const char *path, const hone_layout *caller,
                                    hone_error *err) {
    return make(out, (source){.path = path}, caller, err);
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
