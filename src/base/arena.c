#include "base/arena.h"

#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#define RED_ZONE 32
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define RED_ZONE 0
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define GRAIN 16
#define FIRST_BLOCK 4096
#define LARGEST_BLOCK (1u << 20)

struct hn_arena_block {
    hn_arena_block *next;
    size_t capacity;
    _Alignas(GRAIN) unsigned char data[];
};

void hn_arena_init(hn_arena *arena, hn_allocator *alloc, hn_mem_tag tag) {
    *arena = (hn_arena){.alloc = alloc, .tag = tag, .next_bytes = FIRST_BLOCK};
}

void hn_arena_deinit(hn_arena *arena) {
    for (hn_arena_block *b = arena->blocks, *next; b != NULL; b = next) {
        next = b->next;
        UNPOISON(b->data, b->capacity);
        hn_free(arena->alloc, b);
    }
    if (arena->alloc != NULL) hn_arena_init(arena, arena->alloc, arena->tag);
}

void *hn_arena_alloc(hn_arena *arena, size_t bytes) {
    if (bytes > SIZE_MAX / 4) return NULL;
    size_t need = (bytes + RED_ZONE + GRAIN - 1) / GRAIN * GRAIN;
    if (need == 0) need = GRAIN;
    if (arena->blocks == NULL || arena->capacity - arena->used < need) {
        size_t capacity = arena->next_bytes > need ? arena->next_bytes : need;
        hn_arena_block *b = hn_alloc(arena->alloc, sizeof *b + capacity, arena->tag);
        if (b == NULL) return NULL;
        b->next = arena->blocks;
        b->capacity = capacity;
        POISON(b->data, capacity);
        arena->blocks = b;
        arena->used = 0;
        arena->capacity = capacity;
        if (arena->next_bytes < LARGEST_BLOCK) arena->next_bytes *= 2;
    }
    void *p = arena->blocks->data + arena->used;
    arena->used += need;
    UNPOISON(p, bytes);
    return p;
}

void *hn_arena_zero(hn_arena *arena, size_t bytes) {
    void *p = hn_arena_alloc(arena, bytes);
    if (p != NULL) memset(p, 0, bytes);
    return p;
}

void *hn_arena_array(hn_arena *arena, size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
    return hn_arena_zero(arena, bytes);
}

char *hn_arena_strndup(hn_arena *arena, const char *text, size_t n) {
    if (n > SIZE_MAX / 4) return NULL;
    char *copy = hn_arena_alloc(arena, n + 1);
    if (copy == NULL) return NULL;
    if (n > 0) memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *hn_arena_strdup(hn_arena *arena, const char *text) {
    return hn_arena_strndup(arena, text, strlen(text));
}
