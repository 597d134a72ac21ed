/* How long a model takes beside another, both run in turns on this machine: what else the machine
 * does meets both. */
#ifndef HN_COMPRESS_TURNS_H
#define HN_COMPRESS_TURNS_H

#include "compress/rank_times.h"

typedef struct hn_turns {
    const hn_transform_ctx *c;
    hn_tensor *in[HN_TIMED_INPUTS];
    hn_program *original;
} hn_turns;

/* The original is c->model, which must stay as it is. t is to be deinited, whatever came of it. */
hone_status hn_turns_begin(hn_turns *t, const hn_transform_ctx *c, hn_error *err);
void hn_turns_deinit(hn_turns *t); /* all zero accepted */
/* The least times of a run of one sample, of the original and of m, which takes the same inputs. */
hone_status hn_turns_time(const hn_turns *t, const hn_model *m, double *was_ms, double *is_ms,
                          hn_error *err);

#endif
