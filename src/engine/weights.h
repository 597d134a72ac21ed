/* The weight store: constants in the layouts kernels want, made once and shared by every plan.
 *
 * Keyed by (constant, view of it, row's pack function, pack key). A constant that is not dense is
 * expanded on the way (kernels/stored.h). A view with strides of its own,
 * such as the taps of one phase of a transposed convolution, is gathered for the row to pack, and
 * stands as it was gathered where the row packs nothing; one of another integer type than the
 * constant, such as s8 of weights in 4 bits, is converted on the way. The packed copies a plan adds
 * lie in one block in the order of its steps, so that a run reads them as one stream. A constant is
 * a key by its address: its contents are read while the block is made and never again, so that they
 * may be dropped (hn_tensor_drop) and another plan still finds the copy. Copies for a device are
 * packed by the host and then copied into the device's memory. */
#ifndef HN_ENGINE_WEIGHTS_H
#define HN_ENGINE_WEIGHTS_H

#include "base/map.h"
#include "base/pool.h"
#include "engine/plan.h"

struct hn_packed {
    hn_constant source;
    hn_memory_space space; /* of data */
    bool viewed;           /* packed from `view` of the source, dense in order of its axes */
    hn_view view;
    const hn_kernel *kernel;
    uint64_t key;
    size_t bytes;
    void *data;
    bool kept;           /* data is that of whoever kept it (premade.h) */
    const void *problem; /* while the block is being made */
    hn_packed *next;
};

/* A constant with the addresses of its contents, as they are now. */
hn_stored hn_constant_stored(const hn_constant *c);

/* device NULL: nothing is wanted in the memory of one. */
hone_status hn_weights_create(hn_weights **out, const hn_device *device, hn_allocator *alloc,
                              hn_error *err);
/* What constants `all` holds, by address, are packed to `common` from now on, which others pack to
 * as well, one at a time. Both outlive w. */
void hn_weights_share(hn_weights *w, hn_weights *common, const hn_map *all);
/* What `kept` has is not packed. names: of constants, by address; others are not asked for. Both
 * outlive w. kept NULL: there is none, but names are known for hn_weights_each. */
void hn_weights_keep(hn_weights *w, const hn_premade *kept, const hn_map *names);
/* Tells all packed weights that could be kept, in no particular order. */
void hn_weights_each(const hn_weights *w, void (*each)(void *ctx, uint64_t key, const hn_packed *p),
                     void *ctx);
void hn_weights_destroy(hn_weights *w); /* NULL accepted */
/* In memory, with those it shares: what is kept elsewhere is not counted. */
size_t hn_weights_bytes(const hn_weights *w);
size_t hn_weights_device_bytes(const hn_weights *w);

/* The packed form of c, or of that view of it, for that kernel and problem, or, for a NULL kernel,
 * its plain form at an aligned address; not filled in before hn_weights_fill. One thread at a time.
 */
hone_status hn_weights_want(hn_weights *w, hn_memory_space space, const hn_kernel *k,
                            const void *problem, const hn_constant *c, const hn_view *view,
                            hn_packed **out, hn_error *err);
/* What packing that will allocate: in all while it goes on, and of that what stays. */
typedef struct hn_weights_need {
    size_t at_once, kept;
} hn_weights_need;
hn_weights_need hn_weights_needed(const hn_weights *w, const hn_pool *pool);
/* Packs what was wanted since. */
hone_status hn_weights_fill(hn_weights *w, hn_pool *pool, hn_error *err);

/* Frees blocks of constants that nobody else has any more: those that passes made for the sizes of a
 * plan that is gone. Nothing may be wanted and not packed. */
void hn_weights_trim(hn_weights *w);

/* Takes back what was wanted and not packed: the problems it was wanted for are going away. */
void hn_weights_forget(hn_weights *w);

#endif
