#include "base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Sits in the 64 bytes before each block. */
typedef struct header {
    size_t bytes;
    hn_mem_tag tag;
    uint32_t magic;
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

void *hn_alloc(hn_allocator *a, size_t bytes, hn_mem_tag tag) {
    if (bytes == 0) bytes = 1;
    if (bytes > SIZE_MAX / 2 || !may_allocate(a)) return NULL;
    size_t live = atomic_fetch_add(&a->live, bytes) + bytes;
    if (a->limit != 0 && live > a->limit) {
        atomic_fetch_sub(&a->live, bytes);
        return NULL;
    }
    size_t whole = (bytes + HN_ALIGN + HN_ALIGN - 1) / HN_ALIGN * HN_ALIGN;
    unsigned char *raw = aligned_alloc(HN_ALIGN, whole);
    if (raw == NULL) {
        atomic_fetch_sub(&a->live, bytes);
        return NULL;
    }
    *(header *)raw = (header){bytes, tag, MAGIC};
    size_t peak = atomic_load_explicit(&a->peak, memory_order_relaxed);
    while (live > peak && !atomic_compare_exchange_weak(&a->peak, &peak, live)) {
    }
    atomic_fetch_add(&a->live_tag[tag], bytes);
    atomic_fetch_add(&a->blocks, 1);
    return raw + HN_ALIGN;
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
    atomic_fetch_sub(&a->live, h->bytes);
    atomic_fetch_sub(&a->live_tag[h->tag], h->bytes);
    atomic_fetch_sub(&a->blocks, 1);
    free(h);
}
