/* A model that runs on tensors, by the backend of a session. For whoever makes models to look at
 * what they compute. */
#ifndef HN_MEASURE_PROGRAM_H
#define HN_MEASURE_PROGRAM_H

#include "base/sha256.h"
#include "engine/backend.h"

/* How a session runs its model. */
typedef struct hn_run_options {
    hn_engine_options engine;  /* rules for single layers are left out: their nodes may be gone */
    const hn_backend *backend; /* NULL: the default */
} hn_run_options;

/* The same for a model that was made of the session's: computed as that model is written
 * (hn_graph_stored_precision), and what is f32 as the session has it. */
hn_run_options hn_run_options_for(const hn_run_options *how, const hn_model *m);

typedef struct hn_program hn_program;

/* The model must outlive the program, unchanged. */
hone_status hn_program_create(hn_program **out, const hn_model *m, const hn_run_options *how,
                              hn_error *err);
void hn_program_destroy(hn_program *p); /* NULL accepted */
/* in[]: a tensor per input, NULL for its default; out[]: gets a reference per output. */
hone_status hn_program_run(hn_program *p, const hn_tensor *const *in, hn_tensor **out,
                           hn_error *err);
/* Likewise, of a program made to show its outputs (hn_engine_options.shows): each is shown once, as
 * soon as it is made where that is possible. */
hone_status hn_program_run_shown(hn_program *p, const hn_tensor *const *in, hn_engine_show *show,
                                 void *show_ctx, hn_error *err);
/* One run whose outputs nobody wants, with its steps; none where the backend has no steps. */
hone_status hn_program_profile(hn_program *p, const hn_tensor *const *in,
                               void (*times)(void *ctx, const hn_step_time *t), void *times_ctx,
                               hn_error *err);
/* A hash of the steps that a run takes: their kernels, precisions, sizes and order. Programs with
 * equal ones take equally long, whatever numbers their weights hold. "" where the backend
 * has no steps. */
hone_status hn_program_steps(hn_program *p, const hn_tensor *const *in, char hex[HN_SHA256_HEX],
                             hn_error *err);
/* What a run does before it computes. */
hone_status hn_program_prepare(hn_program *p, const hn_tensor *const *in, hn_error *err);
/* The i-th part that auto_precision left in float (engine/choice.h); NULL: there are no more. */
const hn_choice *hn_program_choice(const hn_program *p, size_t i);
/* False: the backend plans no memory. */
bool hn_program_memory(const hn_program *p, hn_engine_memory *out);

#endif
