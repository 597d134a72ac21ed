/* What the files of this room share: the bodies of the opaque handles. */
#ifndef HN_API_API_H
#define HN_API_API_H

#include "formats/dataset.h"
#include "ir/ir.h"

/* A model has an allocator of its own, so that what it takes can be told apart. Sessions hold
 * references to it. */
struct hone_model {
    atomic_int refs;
    hn_allocator alloc;
    hn_model *ir;
    int64_t file_bytes;
    hn_arena arena; /* of the two lists */
    size_t n_inputs, n_outputs;
    hone_value_info *inputs, *outputs;
};

void hn_api_model_unref(hone_model *m);
/* What every way of making or changing a model ends with: verifies, infers and describes it. */
hone_status hn_api_model_complete(hone_model *m, hn_error *err);

struct hone_dataset {
    hn_allocator alloc;
    hn_dataset *data;
};

/* Copies a caller's option struct over the defaults in `own`, as far as the caller's version of it
 * goes. */
#define HN_TAKE_OPTIONS(own, given) \
    memcpy(&(own), (given), (given)->size < sizeof(own) ? (given)->size : sizeof(own))

/* Gives v a block of its own for `bytes` of data and, unless name is NULL, a copy of the name. */
hone_status hn_api_own(hone_value *v, size_t bytes, const char *name, hn_error *err);

#endif
