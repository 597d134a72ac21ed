/* The allocator all memory goes through.
 *
 * Blocks are 64-byte aligned and carry a small header with their size and tag, so `hn_free` needs
 * neither and "where did the memory go" is a question the allocator can answer (bytes live per tag
 * and in all, and their peak). A limit makes the allocator refuse before the machine does. Tests
 * set `fail_after` to make the n-th allocation fail. Counters are atomic: one allocator may serve
 * several threads.
 *
 * Memory that several have in common comes from an allocator that counts for each of them too:
 *
 *     common ──▶ owner A: live, peak        each sees all of it beside its own
 *            └─▶ owner B: live, peak
 */
#ifndef HN_BASE_ALLOC_H
#define HN_BASE_ALLOC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HN_ALIGN 64

/* What a block is for. */
#define HN_MEM_LIST(X)                                                    \
    X(MODEL, "model")     /* graphs, names, attributes */                 \
    X(WEIGHTS, "weights") /* constants that are not mapped from a file */ \
    X(TENSOR, "tensor")   /* activations of the plain executor */         \
    X(SCRATCH, "scratch") /* workspace inside one operator */             \
    X(DATA, "data")       /* datasets, decoded files */                   \
    X(OTHER, "other")

typedef enum hn_mem_tag {
#define HN_X(name, text) HN_MEM_##name,
    HN_MEM_LIST(HN_X)
#undef HN_X
        HN_MEM_COUNT_
} hn_mem_tag;

typedef struct hn_allocator {
    size_t limit;       /* bytes that may be live at once; 0: no limit */
    atomic_size_t live; /* bytes live now, headers not counted */
    atomic_size_t peak; /* most bytes that were live */
    atomic_size_t live_tag[HN_MEM_COUNT_];
    atomic_size_t blocks;     /* blocks live now; 0 at the end or something leaks */
    atomic_size_t taken;      /* blocks ever handed out */
    atomic_llong fail_after;  /* -1: never; n: n more allocations succeed, then every one fails */
    struct hn_owners *owners; /* whom its blocks count for as well; NULL: nobody */
} hn_allocator;

void hn_allocator_init(hn_allocator *a);

/* The process-wide allocator, for callers that were given none. */
hn_allocator *hn_allocator_default(void);

/* Allocators for which the blocks of another count. */
typedef struct hn_owner {
    hn_allocator *alloc;
    struct hn_owner *next;
} hn_owner;
typedef struct hn_owners {
    pthread_mutex_t lock;
    hn_owner *first;
    hn_allocator *taker; /* whose limit holds: it has the blocks made; NULL: nobody's does */
} hn_owners;
/* From now on the blocks of `common`, which has a list of owners, count for o->alloc; false: they
 * are more than its limit allows. hn_owner_leave ends it. o is the caller's. */
bool hn_owner_join(hn_allocator *common, hn_owner *o);
void hn_owner_leave(hn_allocator *common, hn_owner *o);

/* Whether the limit leaves room for that many more bytes: for whoever knows a size long before the
 * memory is taken. */
static inline bool hn_alloc_fits(hn_allocator *a, size_t bytes) {
    size_t live = atomic_load(&a->live);
    return a->limit == 0 || (live <= a->limit && bytes <= a->limit - live);
}

/* Bytes that count as live for a block of `bytes`. */
static inline size_t hn_alloc_bytes(size_t bytes) { return bytes > 0 ? bytes : 1; }

/* Uninitialised / zeroed memory of at least 1 byte, or NULL. */
void *hn_alloc(hn_allocator *a, size_t bytes, hn_mem_tag tag);
void *hn_alloc_zero(hn_allocator *a, size_t bytes, hn_mem_tag tag);
/* n elements of `size` bytes; NULL also when n * size overflows. */
void *hn_alloc_array(hn_allocator *a, size_t n, size_t size, hn_mem_tag tag);
/* Keeps the first min(old, new) bytes; block may be NULL. On failure returns NULL and the old block
 * stays valid. */
void *hn_realloc(hn_allocator *a, void *block, size_t bytes, hn_mem_tag tag);
void hn_free(hn_allocator *a, void *block); /* block may be NULL */

#endif
