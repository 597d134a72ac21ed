/* Arena: memory that lives and dies together. Blocks grow; nothing is freed before the whole. Under
 * AddressSanitizer a poisoned red zone follows each allocation, so an overrun inside a block is
 * still caught. */
#ifndef HN_BASE_ARENA_H
#define HN_BASE_ARENA_H

#include <stdarg.h>

#include "base/alloc.h"
#include "hone/hone.h"

typedef struct hn_arena_block hn_arena_block;

typedef struct hn_arena {
    hn_allocator *alloc;
    hn_mem_tag tag;
    hn_arena_block *blocks; /* newest first */
    hn_arena_block *kept;   /* empty ones */
    size_t used, capacity;  /* of the newest block */
    size_t next_bytes;      /* capacity of the next block */
} hn_arena;

void hn_arena_init(hn_arena *arena, hn_allocator *alloc, hn_mem_tag tag);
void hn_arena_deinit(hn_arena *arena); /* frees everything; the arena may be used again */
/* Ends what was allocated since the mark (hn_arena_rewind: ever) but keeps the blocks: the same
 * requests again take no new ones. */
typedef struct hn_arena_mark {
    hn_arena_block *block;
    size_t used;
} hn_arena_mark;
hn_arena_mark hn_arena_here(const hn_arena *arena);
void hn_arena_back(hn_arena *arena, hn_arena_mark to);
void hn_arena_rewind(hn_arena *arena);

/* What its blocks take. */
size_t hn_arena_bytes(const hn_arena *arena);

/* 16-byte aligned, uninitialised / zeroed; NULL when out of memory. */
void *hn_arena_alloc(hn_arena *arena, size_t bytes);
void *hn_arena_zero(hn_arena *arena, size_t bytes);
void *hn_arena_array(hn_arena *arena, size_t n, size_t size); /* zeroed; NULL also on overflow */
char *hn_arena_strdup(hn_arena *arena, const char *text);
char *hn_arena_strndup(hn_arena *arena, const char *text,
                       size_t n); /* copies n bytes, adds a terminator */
char *hn_arena_vformat(hn_arena *arena, const char *format, va_list args); /* as vsnprintf writes */
char *hn_arena_format(hn_arena *arena, const char *format, ...) HONE_PRINTF(2, 3);

#endif
