/* What this process may use of the machine: cores and memory, after affinity and cgroup limits, and
 * the caches of a core.
 *
 * The probes read /proc and /sys below a `root` ("" for the machine's own), so that tests can bring
 * a tree of their own.
 */
#ifndef HN_BASE_CPU_H
#define HN_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hone/hone.h"

/* The most threads a pool may have, and so the largest HONE_THREADS. */
#define HN_THREADS_MAX 1024

/* Threads this process should use: HONE_THREADS if set and valid, else hn_cpu_available(). */
int hn_cpu_threads(void);
/* The physical cores the affinity mask allows, capped by the cgroup v1/v2 CPU quota (rounded up);
 * at least 1. */
int hn_cpu_available(void);
/* A CPU of each of the physical cores the affinity mask allows, in ascending order, as far as there
 * is room; how many there are. */
int hn_cpu_list(int *cpus, int room);
/* Bytes of memory this process may take now: what the system can hand out without swapping, and
 * what the cgroup limits leave, less a sixteenth as a margin. */
size_t hn_cpu_memory(void);

/* ---- the caches that loops are cut to fit ----
 *
 * Kernels work on blocks that stay in the caches next to a core. Their sizes were measured on
 * a core with 48 KB of L1 and 2 MB of L2, and are scaled to those of the core at hand. Only what
 * changes no result is scaled: the bits a kernel computes are the same on all machines of an
 * instruction set.
 */
typedef struct hn_near_caches {
    int64_t l1, l2; /* bytes of data that one core has to itself */
} hn_near_caches;

/* Those of this machine, or what HONE_CACHES says ("32K,1M"), or what hn_near_caches_set said. */
hn_near_caches hn_near_caches_get(void);
/* For tests, while no kernel runs and no plan exists. */
void hn_near_caches_set(hn_near_caches c);
/* Bytes of L1, and of L2, that go with as many on the machine of the measurements. */
int64_t hn_of_l1(int64_t bytes);
int64_t hn_of_l2(int64_t bytes);

/* ---- the probes behind them */

/* The caches for data of the first CPU, nearest first, as far as there is room; how many. */
int hn_cpu_caches(const char *root, hone_cache_info *caches, int room);
/* A core's share of the first two, between limits; where nothing tells, that of the measurements.
 */
hn_near_caches hn_near_caches_of(const hone_cache_info *caches, int n);
/* Reads "32K,1M". False, and nothing is changed: it is not two such sizes. */
bool hn_near_caches_parse(const char *text, hn_near_caches *out);

#define HN_CPU_MAX 8192

typedef struct hn_cpu_set {
    uint64_t bits[HN_CPU_MAX / 64];
} hn_cpu_set;

static inline bool hn_cpu_set_has(const hn_cpu_set *set, int cpu) {
    return set->bits[cpu / 64] >> (cpu % 64) & 1;
}

/* Reads a list as the kernel writes it ("0-3,8"); stops at what it cannot read, ignores CPUs beyond
 * HN_CPU_MAX. */
void hn_cpu_set_parse(hn_cpu_set *set, const char *list);
/* Physical cores with at least one CPU in `allowed`; a CPU of unknown topology counts as a core.
 * The lowest such CPU of each goes to cpus, as far as there is room. */
int hn_cpu_cores(const char *root, const hn_cpu_set *allowed, int *cpus, int room);
/* What the CPU calls itself, cut to `bytes`; "unknown" where nothing tells. */
void hn_cpu_name(const char *root, char *name, size_t bytes);
/* CPUs the cgroup quota grants, rounded up; 0 if there is no quota. */
int hn_cpu_quota(const char *root);
/* The cgroup memory limit; SIZE_MAX if there is none. */
size_t hn_cpu_memory_limit(const char *root);
/* What the cgroup limits leave, caches of files counted as free; SIZE_MAX if there are none. */
size_t hn_cpu_memory_left(const char *root);
/* MemAvailable of the system; SIZE_MAX if nothing tells. */
size_t hn_cpu_memory_available(const char *root);

#endif
