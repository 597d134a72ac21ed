/* What was made ready at another time and kept, in a package: the model after the passes, and packed
 * weights. A session that finds it neither simplifies nor packs.
 *
 *     passes ──▶ model ──▶ ONNX ──▶ kept ──▶ model ──▶ plan ──▶ packed weights ──▶ kept, by key
 *
 * A key says which constant of that model, for which kernel and problem, so whoever keeps packed
 * weights records them from an engine that began with the kept model itself: names and numbers are
 * then the same when they are asked for. What is not found is packed as ever; a model that does not
 * fit the source is not taken. */
#ifndef HN_ENGINE_PREMADE_H
#define HN_ENGINE_PREMADE_H

#include "engine/plan.h"

struct hn_premade {
    void *ctx;
    /* The model, read anew; the caller owns it. */
    hone_status (*model)(void *ctx, hn_model **out, hn_allocator *alloc, hn_error *err);
    /* So many bytes, at a multiple of 64, that stay as long as ctx; NULL: they are not there. */
    const void *(*packed)(void *ctx, uint64_t key, size_t bytes);
};

#endif
