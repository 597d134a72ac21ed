/* The file that keeps a machine's rates from one process to the next.
 *
 *   hone-machine/1 hone=0.1.0 isa=avx2,avx512 cores=2 quota=0 threads=2 caches=49152,2097152
 *       nvidia=none kernel=Linux 6.1.0 cpu=Intel(R) Xeon(R) Processor      (one line)
 *   noise 0.03 steady                          or `disturbed` and how often it was measured
 *   peak f32 avx512 2 312.5 vfmadd231ps zmm
 *   bandwidth L1 1 24576 410.1 220.3 300.2     threads, bytes; read, write, copy
 *   gpu 9 0 150754820096 NVIDIA H200           compute capability, bytes of memory
 *   end
 *
 * The first line is the signature of what the rates hold for. A file has such a block for each
 * signature it has met, newest first: who changes HONE_ISA or the affinity mask, or whose home is
 * shared by several machines, measures once for each. Numbers are checked against what there is to
 * measure; a block with any other line is damaged, and counts as none.
 */
#ifndef HN_MEASURE_MACHINE_FILE_H
#define HN_MEASURE_MACHINE_FILE_H

#include "measure/gpu.h"
#include "measure/rates.h"

/* What takes time to find. */
typedef struct hn_findings {
    hn_rates rates; /* laid out */
    hn_gpus gpus;
} hn_findings;

/* Fills them in; false when the file has none for this machine. m: the facts. */
bool hn_machine_recall(hn_findings *f, const hone_machine *m, const char *path, hn_arena *arena);
/* Puts them first in the file. Failing to is a warning; a file of another kind is left alone. */
void hn_machine_keep(const hn_findings *f, const hone_machine *m, const char *path,
                     hn_allocator *alloc);

#endif
