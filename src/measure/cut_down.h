/* The smallest part of two models that still fails, in steps (pairs.h).
 *
 *     1  an output that fails
 *     2  backward: the earliest value that fails, found by halving the steps before the output
 *     3  forward: the most steps from the front whose values come from A instead, by halving
 *     4  each step left once without, until nothing more can go
 *
 * Halving takes for granted that what fails fails for longer parts too. Where that is not so the
 * result still fails, and no single step of it can go.
 */
#ifndef HN_MEASURE_CUT_DOWN_H
#define HN_MEASURE_CUT_DOWN_H

#include "measure/pair_errors.h"

/* Parts of A and B that take the same inputs and have one output. */
typedef struct hn_cut_part {
    hn_model *a, *b;
    int n_in;
    const hn_tensor **in; /* by input of a; lives with that model */
} hn_cut_part;
void hn_cut_part_deinit(hn_cut_part *s);

typedef struct hn_cut_down {
    const hn_pairs *pairs;
    const hn_run_options *how; /* of A */
    hn_allocator *alloc;
    hn_tensor *const *in; /* per input of A's graph */
    hone_status (*fails)(void *ctx, const hn_cut_part *s, bool *failed, hn_error *err);
    void *ctx;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* may be NULL */
    void *progress_ctx;
    int64_t tried;
    hn_tensor *
        *values; /* of A, by pair; filled by hn_cut_down_run, released by hn_cut_down_deinit */
} hn_cut_down;

/* HONE_E_NOT_FOUND: no output fails. What it gives uses s->in and s->values. */
hone_status hn_cut_down_run(hn_cut_down *s, hn_cut_part *out, hn_error *err);
void hn_cut_down_deinit(hn_cut_down *s);

#endif
