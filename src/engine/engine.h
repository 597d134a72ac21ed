/* The engine: a model made ready to run on this machine's CPU.
 *
 * Made once per session: the model is copied and simplified, constants shared. Each set of input
 * shapes then gets a plan (plan.h), made when it first comes; the last HN_ENGINE_PLANS are kept. A
 * run takes a context of its plan: the memory it writes to. So runs go on at the same time, and the
 * second run of a shape allocates nothing.
 *
 * A graph that has sizes only running tells (or values that are no tensors) has no plan: it runs
 * through the operators' references, node by node.
 */
#ifndef HN_ENGINE_ENGINE_H
#define HN_ENGINE_ENGINE_H

#include "base/isa.h"
#include "base/pool.h"
#include "engine/plan.h"
#include "engine/tune.h"

#define HN_ENGINE_PLANS 8
/* Contexts of a plan that are kept for the next run; more runs at once take new ones. */
#define HN_ENGINE_CONTEXTS 16

typedef struct hn_engine hn_engine;

/* A kernel to take wherever it serves. */
typedef struct hn_forced {
    const hn_family *family;
    const hn_kernel *kernel;
} hn_forced;

typedef struct hn_engine_options {
    hn_allocator *alloc; /* plans and contexts; its limit bounds them */
    hn_pool *pool;
    hn_isa isa;
    hn_precision precision;
    bool parallel;   /* independent steps at the same time (together.h) */
    uint64_t seed;   /* of random operators without a seed of their own */
    hn_tuner *tuner; /* NULL: the first kernel that accepts; outlives the engine */
    int n_forced;
    const hn_forced *forced; /* the first that serves is taken; outlives the engine */
    bool no_sharing;         /* every activation has memory of its own */
    bool no_simplify;        /* the graph as it is */
    bool no_fuse;            /* a step per node */
    const char *disable;     /* passes that do not run, separated by commas; or NULL */
    bool (*keep_going)(void *ctx);
    void *keep_going_ctx;
} hn_engine_options;

/* m must outlive the engine, unchanged. */
hone_status hn_engine_create(hn_engine **out, const hn_model *m, const hn_engine_options *o,
                             hn_error *err);
void hn_engine_destroy(hn_engine *e); /* NULL accepted */

/* Where output i goes: called for every output, before anything is computed where sizes are known.
 * Returns memory for that many bytes (or NULL for an output nobody wants), or fails. */
typedef hone_status hn_engine_place(void *ctx, int i, hone_dtype dtype, int rank,
                                    const int64_t *dims, void **to, hn_error *err);

/* What a run did, step by step; for profiles. */
typedef struct hn_step_time {
    const hn_step *step;
    int64_t begin_ns, end_ns;
} hn_step_time;

/* in[]: one dense tensor per input of the model, aligned; NULL where the default is to be taken.
 * times: NULL, or called after each step. */
hone_status hn_engine_run(hn_engine *e, const hn_tensor *const *in, hn_engine_place *place,
                          void *place_ctx, void (*times)(void *ctx, const hn_step_time *t),
                          void *times_ctx, hn_error *err);

/* What hn_engine_run does before it computes; no data is read. */
hone_status hn_engine_prepare(hn_engine *e, const hn_tensor *const *in, hn_error *err);

/* The allocator's high-water mark is known when a plan is made and nothing large is allocated yet:
 * `peak` counts all it will have handed out once the first run is over, what making the plan takes
 * for a while included. Only the workspace of references and room for outputs that nobody wants,
 * which runs add, are not in it. */
typedef struct hn_engine_memory {
    bool planned; /* the shapes that ran last have a plan; else the rest says nothing */
    size_t peak;
    size_t weights, slab, scratch; /* of packed weights; of one context of the newest plan */
} hn_engine_memory;
hn_engine_memory hn_engine_memory_use(hn_engine *e);
/* What its tuner did so far. */
hn_tuning hn_engine_tuning(hn_engine *e);

/* ---- within the engine ---- */

typedef struct hn_compile {
    hn_allocator *alloc;
    hn_pool *pool;
    hn_weights *weights;
    hn_tuner *tuner;
    int n_forced;
    const hn_forced *forced;
    hn_isa isa;
    hn_precision precision;
    bool parallel, no_sharing, no_fuse;
} hn_compile;
/* A plan of m, whose shapes are all numbers (hn_plan_refuses); takes over m, on failure too. The
 * weights it wants are still to be packed (hn_weights_fill). */
hone_status hn_plan_create(hn_plan **out, hn_model *m, const hn_compile *how, hn_error *err);
void hn_plan_destroy(hn_plan *p); /* NULL accepted */
/* NULL when the graph can have a plan, else the reason why not. */
const char *hn_plan_refuses(const hn_graph *g);

/* All phases of a kernel, on up to `lanes` threads of the pool. */
void hn_kernel_launch(const hn_kernel *k, const hn_call *call, int lanes, hn_pool *pool,
                      char *lane_scratch, size_t lane_bytes);

typedef struct hn_context hn_context;
/* Of the context itself; slab and scratch come beside it. */
size_t hn_context_bytes(const hn_plan *p);
hone_status hn_context_create(hn_context **out, const hn_plan *p, hn_allocator *alloc,
                              hn_error *err);
void hn_context_destroy(hn_context *c); /* NULL accepted */

typedef struct hn_run {
    hn_pool *pool;
    uint64_t seed;
    const hn_tensor *const *in;
    hn_engine_place *place;
    void *place_ctx;
    void (*times)(void *ctx, const hn_step_time *t);
    void *times_ctx;
    bool (*keep_going)(void *ctx);
    void *keep_going_ctx;
} hn_run;
hone_status hn_context_run(hn_context *c, const hn_run *r, hn_error *err);

#endif
