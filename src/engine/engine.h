/* The engine: a model made ready to run on this machine's CPU.
 *
 * A model is simplified and its weights are packed once for all sessions that run it with the same
 * passes (prepared.h). Each set of input shapes then gets a plan (plan.h), made when it first comes;
 * the last HN_ENGINE_PLANS are kept, and more while all take no more than HN_ENGINE_PLAN_BYTES. A
 * run takes a context of its plan and a room, the memory it writes to. So runs go on at the same
 * time, and the second run of a shape allocates nothing. Rooms are lent to whichever plan runs: a
 * session takes as much memory as its largest plan, not as all of them.
 *
 * A graph that has sizes only running tells is cut there (cut.h): its head has a plan, the nodes
 * that end it run through the operators' references, and what is left is an engine of its own,
 * which sees sizes when it is its turn. Subgraphs of If, Loop and Scan are such engines too. All of
 * them share packed weights and rooms.
 */
#ifndef HN_ENGINE_ENGINE_H
#define HN_ENGINE_ENGINE_H

#include "base/isa.h"
#include "base/pool.h"
#include "base/rng.h"
#include "base/stop.h"
#include "engine/layers.h"
#include "engine/plan.h"
#include "engine/tune.h"
#include "ops/eval.h"

#define HN_ENGINE_PLANS 8
#define HN_ENGINE_PLAN_BYTES ((size_t)64 << 20) /* of plans, and of what only making them needs */
/* Contexts of a plan that are kept for the next run; more runs at once take new ones. */
#define HN_ENGINE_CONTEXTS 16

typedef struct hn_engine hn_engine;
typedef struct hn_prepared_list hn_prepared_list;

/* A kernel to take wherever it serves. */
typedef struct hn_forced_kernel {
    const hn_family *family;
    const hn_kernel *kernel;
} hn_forced_kernel;

typedef struct hn_engine_options {
    hn_allocator *alloc; /* plans and contexts; its limit bounds them */
    /* Of the model: engines of it share what they can (prepared.h). NULL: this one shares nothing. */
    hn_prepared_list *prepared;
    size_t plan_bytes; /* instead of HN_ENGINE_PLAN_BYTES; 0: that */
    hn_pool *pool;
    const hn_device *device; /* NULL: the host alone; outlives the engine */
    hn_isa isa;
    bool inferred;    /* the model has its types, for backends that run it as it is */
    hn_layers layers; /* rules outlive the engine */
    /* Quantized values may also be computed in float: what was measured faster is taken. */
    bool auto_precision;
    bool advises;    /* warns where the tuner knows that auto_precision is faster */
    bool parallel;   /* independent steps at the same time (together.h) */
    uint64_t seed;   /* of random operators without a seed of their own */
    hn_tuner *tuner; /* NULL: the first kernel that accepts; outlives the engine */
    int n_forced;
    const hn_forced_kernel *forced; /* the first that serves is taken; outlives the engine */
    int n_pairs;
    const hn_state_pair *pairs; /* of inputs that are kept from run to run; outlive the engine */
    bool shows;          /* runs show their outputs (hn_engine_run_shown) and keep none of them */
    bool no_sharing;     /* every activation has memory of its own */
    bool no_simplify;    /* the graph as it is */
    bool no_fuse;        /* a step per node */
    bool no_sparse;      /* weights that are 0 are multiplied too */
    bool no_lookup;      /* weights that are few numbers are kept like others */
    const char *disable; /* passes that do not run, separated by commas; or NULL */
    bool (*keep_going)(void *ctx);
    void *keep_going_ctx;
    const hn_stop *stop; /* ends runs, also inside long steps; NULL: nobody can */
} hn_engine_options;

/* m must outlive the engine, unchanged. */
hone_status hn_engine_create(hn_engine **out, const hn_model *m, const hn_engine_options *o,
                             hn_error *err);
void hn_engine_destroy(hn_engine *e); /* NULL accepted */

/* What a run did, step by step; for profiles. */
typedef struct hn_step_time {
    const hn_step *step;
    int64_t begin_ns, end_ns;
} hn_step_time;

/* in[]: one dense tensor per input of the model, aligned; NULL where the default is to be taken.
 * place is asked before anything of the part that makes the output is computed, where sizes are
 * known; NULL memory: nobody wants the output. times: NULL, or called after each step. */
hone_status hn_engine_run(hn_engine *e, const hn_tensor *const *in, hn_output_place *place,
                          void *place_ctx, void (*times)(void *ctx, const hn_step_time *t),
                          void *times_ctx, hn_error *err);

/* Output i, once it is made; it may be gone after the call. On failure the run ends. */
typedef hone_status hn_engine_show(void *ctx, int i, const hn_tensor *t, hn_error *err);
/* As hn_engine_run, of an engine that shows its outputs: each once, in the order they are made
 * where one plan does all, so that they share memory like any other activation. */
hone_status hn_engine_run_shown(hn_engine *e, const hn_tensor *const *in, hn_engine_show *show,
                                void *show_ctx, hn_error *err);

/* What hn_engine_run does before it computes; no data is read. */
hone_status hn_engine_prepare(hn_engine *e, const hn_tensor *const *in, hn_error *err);

/* The allocator's high-water mark is known when a plan is made and nothing large is allocated yet:
 * `peak` counts all it will have handed out once the first run is over, what making the plan takes
 * for a while included. Only the workspace of references and room for outputs that nobody wants,
 * which runs add, are not in it. */
typedef struct hn_engine_memory {
    bool planned; /* one plan does all for the shapes that ran last; else peak says nothing */
    size_t peak;
    size_t weights, slab, scratch; /* of packed weights; of the newest plan */
    /* Of states (hn_state_pair) whose next value cannot be written in place of the last one: memory
     * that whoever keeps them gives beside. */
    size_t states;
    /* In the device's memory, which peak does not count: constants; activations and workspace of
     * the newest plan. */
    size_t device_weights, device_slab;
    /* Not planned: the most bytes of activations, those behind the first cut each with memory of
     * its own; SIZE_MAX: only running tells. */
    size_t bound;
} hn_engine_memory;
hn_engine_memory hn_engine_memory_use(hn_engine *e);
/* What the steps of all plans so far compute in. */
typedef struct hn_engine_precision {
    int64_t n_steps;
    uint32_t used; /* bit p: some product computes as exactly as hn_precision p says */
    double flops;  /* of the largest product */
    char why[240]; /* that computes as it does; "": there are no products */
} hn_engine_precision;
hn_engine_precision hn_engine_precision_used(hn_engine *e);
/* The i-th part that auto_precision left in float, of all plans so far (choice.h); NULL: there are
 * no more. */
typedef struct hn_choice hn_choice;
const hn_choice *hn_engine_choice(hn_engine *e, size_t i);
/* What its tuner did so far. */
hn_tuning hn_engine_tuning(hn_engine *e);

/* ---- within the engine ---- */

typedef struct hn_compile {
    hn_allocator *alloc;
    hn_arena *scratch; /* for what only making the plan needs */
    hn_pool *pool;
    const hn_device *device; /* may be NULL; that of the weights */
    hn_weights *weights;
    hn_tuner *tuner;
    int n_forced;
    const hn_forced_kernel *forced;
    hn_isa isa;
    hn_layers layers;
    bool parallel, shows, no_sharing, no_fuse, no_sparse, no_lookup;
    int n_pairs;
    const hn_state_pair *pairs;
} hn_compile;
/* A plan of m, whose shapes are all numbers (hn_cut_create); takes over m, on failure too. The
 * weights it wants are still to be packed (hn_weights_fill). */
hone_status hn_plan_create(hn_plan **out, hn_model *m, const hn_compile *how, hn_error *err);
void hn_plan_destroy(hn_plan *p); /* NULL accepted */
/* Whether operators of quantization are in it, so that there is something to run in integers. */
bool hn_graph_is_quantized(const hn_graph *g);
/* Multiplications with an addition among the arithmetic of a step; 0: none, or not counted. */
double hn_step_macs(const hn_step *s);

/* All phases of a kernel, on up to `lanes` threads of the pool. stop, which may be NULL, is looked
 * at before each of at least `pieces` parts of a phase. */
void hn_kernel_launch(const hn_kernel *k, const hn_call *call, int lanes, hn_pool *pool,
                      char *lane_scratch, size_t lane_bytes, const hn_stop *stop, uint32_t pieces);

/* The memory a run of a plan writes to. */
typedef struct hn_room hn_room;
struct hn_room {
    char *slab, *scratch;
    size_t slab_bytes, scratch_bytes;
    const hn_device *device; /* NULL: no plan wanted one */
    char *on_device;         /* its slab and workspace */
    size_t device_bytes;
    hn_room *next;
};
bool hn_room_fits(const hn_room *r, const hn_plan *p);
/* Makes it large enough, and no larger, for the plan. */
hone_status hn_room_fit(hn_room *r, const hn_plan *p, hn_allocator *alloc, hn_error *err);
/* Bytes that a room for the plan takes beyond what r, which may be NULL, has. */
size_t hn_room_growth(const hn_room *r, const hn_plan *p);
void hn_room_deinit(hn_room *r, hn_allocator *alloc);
void hn_room_destroy(hn_room *r, hn_allocator *alloc); /* NULL accepted */

typedef struct hn_context hn_context;
size_t hn_context_bytes(const hn_plan *p);
hone_status hn_context_create(hn_context **out, const hn_plan *p, hn_allocator *alloc,
                              hn_error *err);
void hn_context_destroy(hn_context *c); /* NULL accepted */
/* Runs use the room, which fits; it is bound to it until the next call. */
void hn_context_bind(hn_context *c, const hn_room *r);
bool hn_context_is_bound(const hn_context *c, const hn_room *r);

typedef struct hn_run {
    hn_pool *pool;
    hn_rng *rng;
    const hn_tensor *const *in;
    hn_output_place *place;
    void *place_ctx;
    hn_engine_show *show; /* of a plan that shows its outputs, instead of place */
    void *show_ctx;
    void (*times)(void *ctx, const hn_step_time *t);
    void *times_ctx;
    bool (*keep_going)(void *ctx);
    void *keep_going_ctx;
    const hn_stop *stop;
} hn_run;
hone_status hn_context_run(hn_context *c, const hn_run *r, hn_error *err);
/* The steps of a context that is ready to run, without and with times (run.c, run_timed.c), and of
 * a plan that shows its outputs (run_shown.c). */
hone_status hn_context_loop(hn_context *c, const hn_run *r, hn_error *err);
hone_status hn_context_loop_timed(hn_context *c, const hn_plan *p, const hn_run *r, hn_error *err);
hone_status hn_context_loop_shown(hn_context *c, const hn_plan *p, const hn_run *r, hn_error *err);
/* What loops are made of: step i by itself, and as one of a set, on the caller's thread. */
hone_status hn_context_step(hn_context *c, int i, const hn_run *r, hn_error *err);
void hn_context_lane_step(const hn_context *c, int i, int64_t lane);
/* Waits for the device of a plan, if it has one, and tells what went wrong there. */
hone_status hn_context_wait(const hn_context *c, hn_error *err);
/* Output i of a plan that shows its outputs, where it lies in the slab. */
hone_status hn_context_output(const hn_context *c, int i, hn_tensor *t, hn_error *err);

#endif
