/* What the files of this room share: the bodies of the opaque handles. */
#ifndef HN_API_API_H
#define HN_API_API_H

#include "base/pool.h"
#include "formats/dataset.h"
#include "ir/ir.h"

/* A model has an allocator of its own, so that what it takes can be told apart. Sessions hold
 * references to it. */
struct hone_model {
    atomic_int refs;
    hn_allocator alloc;
    hn_model *ir;
    int64_t file_bytes;
    hn_arena texts; /* dim names handed out by hone_model_input and _output */
};

void hn_api_model_unref(hone_model *m);

struct hone_dataset {
    hn_allocator alloc;
    hn_dataset *data;
};

/* Runs the session's backend on tensors; ctx is the session. */
hone_status hn_api_run(void *ctx, const hn_tensor *const *in, hn_tensor **out, hn_error *err);
hn_allocator *hn_api_session_alloc(hone_session *s);

#endif
