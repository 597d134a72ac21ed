/* Backends: what can run a model. One row of backends.def each.
 *
 * An executor makes a model ready to run. A backend is an executor, perhaps with a device whose
 * kernels it asks first; what it makes is a runner. Sessions, and programs of the room measure, hold
 * a runner and do not ask which backend made it: what an executor cannot do it leaves out, and the
 * functions below then give an empty answer or a clear error.
 */
#ifndef HN_ENGINE_BACKEND_H
#define HN_ENGINE_BACKEND_H

#include "engine/engine.h"

typedef struct hn_executor {
    /* Makes m ready to run. m outlives what is made, unchanged. */
    hone_status (*create)(void **out, const hn_model *m, const hn_engine_options *o, hn_error *err);
    void (*destroy)(void *self);
    /* As hn_engine_run; times is NULL unless has_steps. */
    hone_status (*run)(void *self, const hn_tensor *const *in, hn_output_place *place,
                       void *place_ctx, void (*times)(void *ctx, const hn_step_time *t),
                       void *times_ctx, hn_error *err);
    bool has_steps; /* runs can tell their steps */

    /* The rest may be NULL. Outputs as tensors: one reference each, out[] is NULL before. NULL: by
     * `run`. */
    hone_status (*run_tensors)(void *self, const hn_tensor *const *in, hn_tensor **out,
                               hn_error *err);
    /* As hn_engine_run_shown; NULL: outputs are kept, and shown when the run is over. */
    hone_status (*run_shown)(void *self, const hn_tensor *const *in, hn_engine_show *show,
                             void *show_ctx, hn_error *err);
    hone_status (*prepare)(void *self, const hn_tensor *const *in, hn_error *err);
    /* As the functions of hn_engine; NULL: nothing is planned, less exact than f32, chosen or tuned.
     */
    hn_engine_memory (*memory)(void *self);
    hn_engine_precision (*precision)(void *self);
    const hn_choice *(*choice)(void *self, size_t i);
    hn_tuning (*tuning)(void *self);
} hn_executor;

extern const hn_executor hn_executor_engine; /* plans and kernels (engine.h) */
extern const hn_executor hn_executor_plain;  /* operators by their definitions (ops/eval.h) */

typedef struct hn_backend {
    const char *name;
    const char *help; /* one line */
    const hn_executor *executor;
    /* Finds the device for hn_engine_options.device; fails where the machine has none. NULL: the
     * host alone. */
    hone_status (*device)(const hn_device **out, hn_error *err);
} hn_backend;

extern const hn_backend *const hn_backends[];
extern const int hn_n_backends;

/* The backend, or the first row for NULL. */
const hn_backend *hn_backend_or_default(const hn_backend *backend);
/* The error lists the rows. */
hone_status hn_backend_find(const char *name, const hn_backend **out, hn_error *err);

/* A model made ready by a backend. All zero: none. */
typedef struct hn_runner {
    const hn_backend *backend;
    void *self;
    hn_allocator *alloc;
    int n_out;
} hn_runner;

/* backend NULL: the default. */
hone_status hn_runner_create(hn_runner *out, const hn_backend *backend, const hn_model *m,
                             const hn_engine_options *o, hn_error *err);
void hn_runner_destroy(hn_runner *r); /* leaves none */

/* times NULL: none; fails where the backend has no steps. */
hone_status hn_runner_run(const hn_runner *r, const hn_tensor *const *in, hn_output_place *place,
                          void *place_ctx, void (*times)(void *ctx, const hn_step_time *t),
                          void *times_ctx, hn_error *err);
/* out[]: gets a reference per output. */
hone_status hn_runner_run_tensors(const hn_runner *r, const hn_tensor *const *in, hn_tensor **out,
                                  hn_error *err);
/* Of a runner made with hn_engine_options.shows. */
hone_status hn_runner_run_shown(const hn_runner *r, const hn_tensor *const *in,
                                hn_engine_show *show, void *show_ctx, hn_error *err);
hone_status hn_runner_prepare(const hn_runner *r, const hn_tensor *const *in, hn_error *err);
/* False: the backend plans no memory, and *out is all zero. */
bool hn_runner_memory(const hn_runner *r, hn_engine_memory *out);
/* False: the backend computes all in f32, and *out is all zero. */
bool hn_runner_precision(const hn_runner *r, hn_engine_precision *out);
const hn_choice *hn_runner_choice(const hn_runner *r, size_t i);
hn_tuning hn_runner_tuning(const hn_runner *r);

#endif
