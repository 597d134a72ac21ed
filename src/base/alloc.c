#include "base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sits in the 64 bytes before each block. */
typedef struct header {
    size_t bytes;
    hn_mem_tag tag;
    uint32_t magic;
    size_t mapped; /* bytes to unmap; 0: from malloc */
    void *start;   /* what malloc gave */
} header;

#define MAGIC 0x686f6e65u
_Static_assert(sizeof(header) <= HN_ALIGN, "header fits before the block");

void hn_allocator_init(hn_allocator *a) {
    memset(a, 0, sizeof *a);
    atomic_store(&a->fail_after, -1);
}

hn_allocator *hn_allocator_default(void) {
    static hn_allocator shared = {.fail_after = -1};
    return &shared;
}

static bool may_allocate(hn_allocator *a) {
    long long left = atomic_load_explicit(&a->fail_after, memory_order_relaxed);
    while (left > 0 && !atomic_compare_exchange_weak(&a->fail_after, &left, left - 1)) {
    }
    return left != 0;
}

/* Large blocks come from the system and all but a few go back to it, instead of staying with
 * malloc; in large pages, since each first touch of a small one costs more than filling it.
 * AddressSanitizer only watches malloc. */
#define LARGE ((size_t)4 << 20)
#define LARGE_PAGE ((size_t)2 << 20)

#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#ifndef WATCHED
#define WATCHED 0
#endif

/* `bytes` rounded up to pages at a multiple of LARGE_PAGE, so that large pages fit. */
static void *map_large(size_t bytes) {
    unsigned char *at =
        mmap(NULL, bytes + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    size_t before = (LARGE_PAGE - (uintptr_t)at % LARGE_PAGE) % LARGE_PAGE;
    if (before > 0) munmap(at, before);
    munmap(at + before + bytes, LARGE_PAGE - before);
    madvise(at + before, bytes, MADV_HUGEPAGE);
    return at + before;
}

/* Mapped blocks that were freed, for the next of the same size: what operators compute whose sizes
 * only running tells is allocated in every run, and the first touch of its pages costs more than
 * the computation. At most KEPT blocks of KEPT_BYTES stay. */
enum { KEPT = 2 };
#define KEPT_BYTES ((size_t)16 << 20)
static _Atomic(header *) kept[KEPT];

static header *take_kept(size_t mapped) {
    for (int i = 0; i < KEPT; i++) {
        header *h = atomic_exchange(&kept[i], NULL);
        if (h != NULL && h->mapped == mapped) return h;
        if (h != NULL && (h = atomic_exchange(&kept[i], h)) != NULL) munmap(h, h->mapped);
    }
    return NULL;
}

/* Keeps h, and returns the one to unmap instead; NULL: there is none. */
static header *keep(header *h) {
    if (h->mapped > KEPT_BYTES || (h->tag != HN_MEM_TENSOR && h->tag != HN_MEM_SCRATCH)) return h;
    for (int i = 0; i < KEPT; i++) {
        header *none = NULL;
        if (atomic_compare_exchange_strong(&kept[i], &none, h)) return NULL;
    }
    return atomic_exchange(&kept[0], h);
}

static header *take_mapped(size_t whole) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t mapped = (whole + page - 1) / page * page;
    header *h = take_kept(mapped);
    if (h == NULL) h = map_large(mapped);
    if (h != NULL) h->mapped = mapped;
    return h;
}

/* Of blocks up to this size malloc keeps freed ones for each thread, but not of aligned ones. So
 * small blocks are aligned here: a loop with a short body runs one and a half times as fast. */
#define SMALL ((size_t)960)

static header *take_small(size_t whole) {
    unsigned char *start = malloc(whole + HN_ALIGN - 1);
    if (start == NULL) return NULL;
    header *h = (header *)(start + (HN_ALIGN - (uintptr_t)start % HN_ALIGN) % HN_ALIGN);
    *h = (header){.start = start};
    return h;
}

/* A block of at least `bytes`, with its header. */
static header *take(size_t bytes) {
    size_t whole = (bytes + HN_ALIGN + HN_ALIGN - 1) / HN_ALIGN * HN_ALIGN;
    if (!WATCHED && whole >= LARGE) return take_mapped(whole);
    if (!WATCHED && whole <= SMALL) return take_small(whole);
    header *h = aligned_alloc(HN_ALIGN, whole);
    if (h != NULL) *h = (header){.start = h};
    return h;
}

/* ---- counting ---- */

static void raise_peak(hn_allocator *a, size_t live) {
    size_t peak = atomic_load_explicit(&a->peak, memory_order_relaxed);
    while (live > peak && !atomic_compare_exchange_weak(&a->peak, &peak, live)) {
    }
}

/* False: the limit does not allow it, and nothing was counted. */
static bool count(hn_allocator *a, size_t bytes, hn_mem_tag tag, bool limited) {
    size_t live = atomic_fetch_add(&a->live, bytes) + bytes;
    if (limited && a->limit != 0 && live > a->limit) {
        atomic_fetch_sub(&a->live, bytes);
        return false;
    }
    raise_peak(a, live);
    atomic_fetch_add(&a->live_tag[tag], bytes);
    return true;
}

static void uncount(hn_allocator *a, size_t bytes, hn_mem_tag tag) {
    atomic_fetch_sub(&a->live, bytes);
    atomic_fetch_sub(&a->live_tag[tag], bytes);
}

static bool count_for_all(hn_allocator *a, size_t bytes, hn_mem_tag tag) {
    hn_owners *o = a->owners;
    if (o == NULL) return count(a, bytes, tag, true);
    pthread_mutex_lock(&o->lock);
    bool fits = (o->taker == NULL || hn_alloc_fits(o->taker, bytes)) && count(a, bytes, tag, true);
    for (const hn_owner *w = o->first; w != NULL && fits; w = w->next)
        count(w->alloc, bytes, tag, false);
    pthread_mutex_unlock(&o->lock);
    return fits;
}

static void uncount_for_all(hn_allocator *a, size_t bytes, hn_mem_tag tag) {
    hn_owners *o = a->owners;
    if (o != NULL) pthread_mutex_lock(&o->lock);
    uncount(a, bytes, tag);
    for (const hn_owner *w = o != NULL ? o->first : NULL; w != NULL; w = w->next)
        uncount(w->alloc, bytes, tag);
    if (o != NULL) pthread_mutex_unlock(&o->lock);
}

bool hn_owner_join(hn_allocator *common, hn_owner *o) {
    hn_owners *all = common->owners;
    pthread_mutex_lock(&all->lock);
    bool fits = hn_alloc_fits(o->alloc, atomic_load(&common->live));
    for (int tag = 0; tag < HN_MEM_COUNT_ && fits; tag++)
        count(o->alloc, atomic_load(&common->live_tag[tag]), (hn_mem_tag)tag, false);
    if (fits) {
        o->next = all->first;
        all->first = o;
    }
    pthread_mutex_unlock(&all->lock);
    return fits;
}

void hn_owner_leave(hn_allocator *common, hn_owner *o) {
    hn_owners *all = common->owners;
    pthread_mutex_lock(&all->lock);
    hn_owner **at = &all->first;
    while (*at != o) at = &(*at)->next;
    *at = o->next;
    for (int tag = 0; tag < HN_MEM_COUNT_; tag++)
        uncount(o->alloc, atomic_load(&common->live_tag[tag]), (hn_mem_tag)tag);
    pthread_mutex_unlock(&all->lock);
}

/* ---- blocks ---- */

void *hn_alloc(hn_allocator *a, size_t bytes, hn_mem_tag tag) {
    bytes = hn_alloc_bytes(bytes);
    if (bytes > SIZE_MAX / 2 || !may_allocate(a) || !count_for_all(a, bytes, tag)) return NULL;
    header *h = take(bytes);
    if (h == NULL) {
        uncount_for_all(a, bytes, tag);
        return NULL;
    }
    h->bytes = bytes;
    h->tag = tag;
    h->magic = MAGIC;
    atomic_fetch_add(&a->blocks, 1);
    atomic_fetch_add(&a->taken, 1);
    return (unsigned char *)h + HN_ALIGN;
}

void *hn_alloc_zero(hn_allocator *a, size_t bytes, hn_mem_tag tag) {
    void *block = hn_alloc(a, bytes, tag);
    if (block != NULL) memset(block, 0, bytes == 0 ? 1 : bytes);
    return block;
}

void *hn_alloc_array(hn_allocator *a, size_t n, size_t size, hn_mem_tag tag) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
    return hn_alloc(a, bytes, tag);
}

void *hn_realloc(hn_allocator *a, void *block, size_t bytes, hn_mem_tag tag) {
    void *grown = hn_alloc(a, bytes, tag);
    if (grown != NULL && block != NULL) {
        const header *old = (const header *)((unsigned char *)block - HN_ALIGN);
        assert(old->magic == MAGIC);
        memcpy(grown, block, old->bytes < bytes ? old->bytes : bytes);
        hn_free(a, block);
    }
    return grown;
}

void hn_free(hn_allocator *a, void *block) {
    if (block == NULL) return;
    header *h = (header *)((unsigned char *)block - HN_ALIGN);
    assert(h->magic == MAGIC && "not a block of this allocator, or freed twice");
    h->magic = 0;
    uncount_for_all(a, h->bytes, h->tag);
    atomic_fetch_sub(&a->blocks, 1);
    if (h->mapped == 0) {
        free(h->start);
        return;
    }
    h = keep(h);
    if (h != NULL) munmap(h, h->mapped);
}
