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
static inline void hn_tiles_begin(void) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) config.bytes[i] = 64, config.rows[i] = 16;
    __asm__ volatile("ldtilecfg %0" ::"m"(config));
}
static inline void hn_tiles_end(void) { __asm__ volatile("tilerelease" ::); }

#endif
#endif
