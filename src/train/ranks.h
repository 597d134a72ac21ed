/* The processes that train one model together: those that mpirun started.
 *
 * Open MPI is opened when a process finds that it was started so, and is not needed otherwise. All
 * processes compute the same sums: pairs of neighbours are added, then pairs of those sums, so that
 * the order does not depend on who was faster.
 */
#ifndef HN_TRAIN_RANKS_H
#define HN_TRAIN_RANKS_H

#include <stdint.h>

#include "base/error.h"

typedef struct hn_ranks {
    int rank, size; /* 0 of 1 where there is no other */
    void *calls;    /* what the library was asked for; NULL: it is not open */
} hn_ranks;

/* HONE_E_UNSUPPORTED: the process was started by mpirun, and Open MPI's library cannot be opened. The
 * library stays open, once for all callers of a process. */
hone_status hn_ranks_open(hn_ranks *r, hn_error *err);
/* v becomes its sum over all processes; room: n floats. Returns when all have it. */
hone_status hn_ranks_sum(const hn_ranks *r, float *v, float *room, int64_t n, hn_error *err);
/* All is well here, and no sum is wanted any more. A process that ends without this ends the others,
 * which mpirun sees to. */
void hn_ranks_close(hn_ranks *r);

#endif
