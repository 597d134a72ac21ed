#include "base/arena.h"

#include <stdio.h>
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
#define FIRST_BLOCK 832 /* short enough for what malloc keeps for each thread */
#define LARGEST_BLOCK (1u << 20)

struct hn_arena_block {
    hn_arena_block *next;
    size_t capacity;
    _Alignas(GRAIN) unsigned char data[];
};

void hn_arena_init(hn_arena *arena, hn_allocator *alloc, hn_mem_tag tag) {
    *arena = (hn_arena){.alloc = alloc, .tag = tag, .next_bytes = FIRST_BLOCK};
}

static size_t bytes_of(const hn_arena_block *b) {
    size_t bytes = 0;
    for (; b != NULL; b = b->next) bytes += hn_alloc_bytes(sizeof *b + b->capacity);
    return bytes;
}

size_t hn_arena_bytes(const hn_arena *arena) {
    return bytes_of(arena->blocks) + bytes_of(arena->kept);
}

hn_arena_mark hn_arena_here(const hn_arena *arena) {
    return (hn_arena_mark){arena->blocks, arena->used};
}

void hn_arena_back(hn_arena *arena, hn_arena_mark to) {
    while (arena->blocks != to.block) {
        hn_arena_block *b = arena->blocks;
        POISON(b->data, b->capacity);
        arena->blocks = b->next;
        b->next = arena->kept;
        arena->kept = b;
    }
    arena->used = to.used;
    arena->capacity = to.block != NULL ? to.block->capacity : 0;
    if (to.block != NULL) POISON(to.block->data + to.used, arena->capacity - to.used);
}

void hn_arena_rewind(hn_arena *arena) { hn_arena_back(arena, (hn_arena_mark){NULL, 0}); }

void hn_arena_deinit(hn_arena *arena) {
    hn_arena_rewind(arena);
    for (hn_arena_block *b = arena->kept, *next; b != NULL; b = next) {
        next = b->next;
        UNPOISON(b->data, b->capacity);
        hn_free(arena->alloc, b);
    }
    if (arena->alloc != NULL) hn_arena_init(arena, arena->alloc, arena->tag);
}

/* The smallest kept block with that room, taken off the list; requests that fitted once, in any
 * order, then fit again. */
static hn_arena_block *take_kept(hn_arena *arena, size_t need) {
    hn_arena_block **best = NULL;
    for (hn_arena_block **at = &arena->kept; *at != NULL; at = &(*at)->next)
        if ((*at)->capacity >= need && (best == NULL || (*at)->capacity < (*best)->capacity))
            best = at;
    if (best == NULL) return NULL;
    hn_arena_block *b = *best;
    *best = b->next;
    return b;
}

static hn_arena_block *new_block(hn_arena *arena, size_t need) {
    size_t capacity = arena->next_bytes > need ? arena->next_bytes : need;
    hn_arena_block *b = hn_alloc(arena->alloc, sizeof *b + capacity, arena->tag);
    if (b == NULL) return NULL;
    b->capacity = capacity;
    POISON(b->data, capacity);
    if (arena->next_bytes < LARGEST_BLOCK) arena->next_bytes *= 2;
    return b;
}

void *hn_arena_alloc(hn_arena *arena, size_t bytes) {
    if (bytes > SIZE_MAX / 4) return NULL;
    size_t need = (bytes + RED_ZONE + GRAIN - 1) / GRAIN * GRAIN;
    if (need == 0) need = GRAIN;
    if (arena->blocks == NULL || arena->capacity - arena->used < need) {
        hn_arena_block *b = take_kept(arena, need);
        if (b == NULL) b = new_block(arena, need);
        if (b == NULL) return NULL;
        b->next = arena->blocks;
        arena->blocks = b;
        arena->used = 0;
        arena->capacity = b->capacity;
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

char *hn_arena_vformat(hn_arena *arena, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    char *text = n >= 0 ? hn_arena_alloc(arena, (size_t)n + 1) : NULL;
    if (text != NULL) vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

char *hn_arena_format(hn_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = hn_arena_vformat(arena, format, args);
    va_end(args);
    return text;
}
