/* Tiles of AMX: 16 rows of 64 bytes each, tmm0 to tmm7, named by number. The compiler's own
 * intrinsics do not say that they read memory (GCC 12), hence these. */
#ifndef HN_SIMD_AMX_H
#define HN_SIMD_AMX_H
#if defined(__x86_64__)

#include <stdint.h>

/* `stride` is in bytes, from row to row. */
#define HN_TILE_LOAD(tile, from, stride)                                                    \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"((int64_t)(stride)) \
                     : "memory")
/* The same of what is read once: it leaves L1 to the rest. */
#define HN_TILE_STREAM(tile, from, stride)                                                    \
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #tile ::"r"(from), "r"((int64_t)(stride)) \
                     : "memory")
#define HN_TILE_STORE(tile, to, stride)                                                       \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"((int64_t)(stride)) \
                     : "memory")
#define HN_TILE_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile ::)

/* c [16][16] of f32 += a [16][32] of bf16 * b [16][16][2] of bf16, pairs of rows side by side. */
#define HN_TILE_DOT_BF16(c, a, b) \
    __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)

/* c [16][16] of s32 += a [16][64] of u8 or s8 * b [16][16][4] of s8. */
#define HN_TILE_DOT_U8(c, a, b) __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)
#define HN_TILE_DOT_S8(c, a, b) __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)

/* Before the first use in a thread, and after the last: tiles in use are saved with the thread. */
typedef struct hn_tiles {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} hn_tiles;

static inline hn_tiles hn_tiles_whole(void) {
    hn_tiles t = {.palette = 1};
    for (int i = 0; i < 8; i++) t.bytes[i] = 64, t.rows[i] = 16;
    return t;
}
static inline void hn_tiles_begin_as(const hn_tiles *t) {
    __asm__ volatile("ldtilecfg %0" ::"m"(*t));
}
static inline void hn_tiles_begin(void) {
    hn_tiles t = hn_tiles_whole();
    hn_tiles_begin_as(&t);
}
static inline void hn_tiles_end(void) { __asm__ volatile("tilerelease" ::); }

/* Weights to fetch into L2 beside products: a line of each of four streams, `fours` times with
 * every call. A core was measured to fetch four pages in turn up to twice as fast as lines that
 * follow each other. Streams are `apart` bytes long and apart; the first has `rest` bytes left,
 * from `next` on, and when it ends four others follow, `rounds` times. They are as long as makes
 * `round` bytes of four, at most. */
typedef struct hn_fetch {
    int fours; /* 0: nothing is left */
    int64_t rounds;
    uintptr_t next, apart, rest;
} hn_fetch;

static inline hn_fetch hn_fetch_begin(uintptr_t from, int64_t bytes, int64_t round, int64_t fours) {
    if (bytes <= 0) return (hn_fetch){0};
    int64_t rounds = (bytes + round - 1) / round, lines = (bytes / rounds + 4 * 64 - 1) / (4 * 64);
    uintptr_t apart = (uintptr_t)lines * 64;
    return (hn_fetch){(int)fours, rounds - 1, from, apart, apart};
}

static inline void hn_fetch_some(hn_fetch *f) {
    uintptr_t next = f->next, apart = f->apart;
    for (int i = 0; i < f->fours; i++, next += 64) {
        __builtin_prefetch((const void *)next, 0, 2);
        __builtin_prefetch((const void *)(next + apart), 0, 2);
        __builtin_prefetch((const void *)(next + 2 * apart), 0, 2);
        __builtin_prefetch((const void *)(next + 3 * apart), 0, 2);
        f->rest -= 64;
        if (f->rest > 0) continue;
        next += 3 * apart;
        f->rest = apart;
        if (f->rounds-- == 0) f->fours = 0;
    }
    f->next = next;
}

#endif
#endif
