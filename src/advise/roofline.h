/* The roofline: what the machine's limits allow a piece of work.
 *
 * Arithmetic takes at least flops / peak. Bytes take at least bytes / bandwidth, where the
 * bandwidth is that of the nearest cache that holds them: activations were written by a step just
 * before, so what counts for them is the size of this step alone; weights were last read one run
 * ago, and everything a run goes over has passed through the caches since. Both go on at the same
 * time, so the longer of the two is the roof.
 *
 *   GFLOP/s
 *      peak |          ________________  compute-bound: fewer operations, or cheaper ones
 *           |         /
 *           |        /    memory-bound: fewer bytes
 *           |       /
 *           +----------------------------  flops per byte (intensity)
 *
 * A step whose roof is a few microseconds is bound by neither where most of its time goes into
 * starting it and handing it out to threads.
 */
#ifndef HN_ADVISE_ROOFLINE_H
#define HN_ADVISE_ROOFLINE_H

#include <stdbool.h>

#include "hone/hone.h"

typedef struct hn_roof_work {
    const char *precision; /* of the arithmetic: "f32", "f32-relaxed", "bf16", "int8" */
    int threads;           /* it may use */
    const char *isa;       /* the strongest instruction set it may use; NULL: any */
    double flops, bytes;   /* 0: not counted */
    double weights_bytes;  /* of the bytes: constants */
    double run_bytes;      /* that a whole run goes over, this step included */
    double ms;             /* what it took */
    bool reference;        /* no kernel computes it */
} hn_roof_work;

typedef struct hn_roof {
    double intensity;    /* flops per byte; 0: not known */
    double gflops, gb_s; /* reached; 0: not counted */
    double roof_ms;      /* the least time; 0: not known, as are all below */
    double share;        /* of the roof that was reached: 1 is as fast as can be */
    double lost_ms;      /* beyond the least time */
    const char *bound;   /* "compute", "memory", "overhead"; NULL: not known */
    const char *level;   /* where most of its bytes come from: "L2", "memory"; NULL: not known */
    const char *advice;  /* what would make it faster; NULL: it is close to the roof */
} hn_roof;

/* The most operations per ns that `threads` can do with an instruction set and those it implies
 * (NULL: any); 0: not measured. */
double hn_roof_peak(const hone_machine *m, const char *precision, const char *isa, int threads);
/* The most bytes per ns from where `bytes` fit; *level is its name. 0: not measured. */
double hn_roof_bandwidth(const hone_machine *m, double bytes, int threads, const char **level);

void hn_roofline(const hone_machine *m, const hn_roof_work *w, hn_roof *out);

#endif
