/* Methods: what is done to a float model so that it bears quantizing better. A row each of
 * methods.def, a file each. compression.c knows when which of them runs. */
#ifndef HN_COMPRESS_METHOD_H
#define HN_COMPRESS_METHOD_H

#include "measure/feed.h"
#include "measure/program.h"

typedef struct hn_scheme hn_scheme;
typedef struct hn_grids hn_grids;
typedef struct hn_calibration hn_calibration;

typedef enum hn_stage {
    HN_STAGE_BEFORE,  /* changes weights so that the model computes the same; ranges come after */
    HN_STAGE_WEIGHTS, /* ranges are known: moves weights onto grids it chooses */
    HN_STAGE_AFTER,   /* corrects the quantized model by comparing it with the float one */
} hn_stage;

typedef struct hn_method_ctx {
    hn_model *model;          /* edited; at HN_STAGE_AFTER the quantized one */
    const hn_model *original; /* HN_STAGE_AFTER: the float one it was made of */
    const hn_scheme *scheme;
    const hn_calibration *calibration; /* from HN_STAGE_WEIGHTS on; NULL: no layer is static */
    hn_grids *grids;     /* of weights that have one chosen; not at HN_STAGE_AFTER. NULL: nowhere to
                            put any, then methods before choose none */
    const hn_feed *feed; /* NULL: no data */
    int64_t samples;     /* to look at, at most; 0: all */
    uint64_t seed;
    const hn_how *how;
    hn_allocator *alloc;
    /* May be NULL; false ends it: HONE_E_LIMIT. */
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
    int64_t changed; /* layers it changed */
} hn_method_ctx;

typedef hone_status hn_method_fn(hn_method_ctx *c, hn_error *err);

#define HN_METHOD(name, stage, needs_data, help) hn_method_fn hn_method_##name;
#include "compress/methods.def"
#undef HN_METHOD

typedef struct hn_method {
    const char *name;
    hn_stage stage;
    bool needs_data;
    const char *help; /* one line */
    hn_method_fn *run;
} hn_method;

int hn_method_count(void);
const hn_method *hn_method_at(int i);
const hn_method *hn_method_named(const char *name); /* NULL: there is none */

#endif
