/* What the files of this room share: the bodies of the opaque handles. */
#ifndef HN_API_API_H
#define HN_API_API_H

#include "formats/dataset.h"
#include "ir/ir.h"
#include "measure/program.h"

/* A model has an allocator of its own, so that what it takes can be told apart. Sessions hold
 * references to it. */
struct hone_model {
    atomic_int refs;
    hn_allocator alloc;
    hn_model *ir;
    hone_model *made_of; /* whose tensors it shares; NULL: none */
    hn_arena arena;      /* of the two lists */
    size_t n_inputs, n_outputs;
    hone_value_info *inputs, *outputs;
};

void hn_api_model_unref(hone_model *m);
/* What every way of making or changing a model ends with: verifies, infers and describes it. */
hone_status hn_api_model_complete(hone_model *m, hn_error *err);

/* A model of the API of one that was made; takes it over, on failure too. Its memory must outlive
 * it. */
hone_status hn_api_model_adopt(hn_model *ir, hone_model **out, hn_error *err);
/* The model of a session, and how it runs it. */
hone_model *hn_api_session_model(const hone_session *s);
hn_how hn_api_session_how(const hone_session *s);
/* Likewise of a session that will not run itself: what it would run with is gone. */
hn_how hn_api_session_only_how(hone_session *s);
/* The threads that a session of these options would have, for work without one. NULL: the defaults.
 */
hone_status hn_api_pool_take(hn_pool **out, const hone_session_options *options, hn_error *err);
void hn_api_pool_give(hn_pool *pool); /* NULL accepted */

/* Samples of a caller, checked and read: as values, and as tensors for the graph (measure's
 * hn_sample_source; ctx is an hn_api_source). */
typedef struct hn_api_source {
    const hone_samples *samples;
    const hone_model *model; /* whose inputs they are */
    hn_allocator *alloc;
} hn_api_source;
hone_status hn_api_check_samples(const hone_samples *s, hn_error *err);
hone_status hn_api_read_sample(const hone_samples *s, const hone_model *m, int64_t run,
                               hone_value *in, hn_error *err);
hone_status hn_api_load_sample(void *ctx, int64_t run, hn_tensor **in, hn_error *err);

struct hone_dataset {
    hn_allocator alloc;
    hn_dataset *data;
    bool warned; /* of a sample that is not finite */
};

/* Copies a caller's option struct over the defaults in `own`, as far as the caller's version of it
 * goes. */
#define HN_TAKE_OPTIONS(own, given) \
    memcpy(&(own), (given), (given)->size < sizeof(own) ? (given)->size : sizeof(own))

/* Gives v a block of its own for `bytes` of data and, unless name is NULL, a copy of the name. */
hone_status hn_api_own(hone_value *v, size_t bytes, const char *name, hn_error *err);

#endif
