/* The machine probe: what this process may use of the machine, and how fast that is at best.
 *
 * Facts are read from /proc and /sys below a `root`, "" for the machine's own, so that tests can
 * bring a tree of their own; what cannot be read is left out. Rates are the best of many short
 * windows within a fixed time, so the whole takes a few seconds on any machine.
 */
#ifndef HN_MEASURE_MACHINE_H
#define HN_MEASURE_MACHINE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/isa.h"
#include "hone/hone.h"

/* The caches for data of the first CPU, nearest first, as far as there is room; how many. */
int hn_machine_caches(const char *root, hone_cache_info *caches, int room);

/* All of hone_machine but `owner`, in the arena. */
hone_status hn_machine_probe(hone_machine *m, hn_arena *arena,
                             bool (*progress)(void *ctx, int64_t done, int64_t total), void *ctx,
                             hn_error *err);
/* The same without peaks and bandwidths. */
hone_status hn_machine_look(hone_machine *m, hn_arena *arena, hn_error *err);

#endif
