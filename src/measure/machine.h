/* The machine probe: what this process may use of the machine, and how fast that is at best.
 *
 * Facts are read from /proc and /sys below a `root`, "" for the machine's own, so that tests can
 * bring a tree of their own; what cannot be read is left out. Rates are measured (rates.h), or
 * taken from a file that keeps those of earlier probes (machine_file.h).
 */
#ifndef HN_MEASURE_MACHINE_H
#define HN_MEASURE_MACHINE_H

#include "base/arena.h"
#include "base/error.h"
#include "hone/hone.h"

/* All of hone_machine but `size` and `owner`, in the arena. */
hone_status hn_machine_probe(hone_machine *m, const hone_machine_options *o, hn_arena *arena,
                             hn_error *err);
/* The same without peaks, bandwidths and GPUs. */
hone_status hn_machine_look(hone_machine *m, hn_arena *arena, hn_error *err);

#endif
