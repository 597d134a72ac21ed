/* copy over the vector vocabulary.
 *
 * Four ways: rows of adjacent elements, copied as bytes; transposes, where the source's adjacent
 * elements are along another axis than the destination's: in tiles that fit the L1 cache, those of
 * 4-byte elements in squares that turn in registers; pairs of 4-byte elements from two rows of the
 * source, which is what a shuffle of two groups of channels makes; and one element after the other
 * for the rest.
 * Two axes make the plane in which a task is a tile; the others are walked outside.
 */
#include <string.h>

#include "kernels/copy/copy.h"
#include "simd/part.h"

enum { TASK = 32768, TILE = 64 }; /* bytes of rows; elements of a tile's side */

typedef enum way { ROWS, TRANSPOSE, PAIRS, ELEMENTS } way;

typedef struct cut {
    way way;
    int inner, second; /* axes of the plane; -1, or -2: there is none */
    int64_t n, m;      /* their lengths */
    int64_t tile_n, tile_m, blocks_n, blocks_m, outer;
} cut;

/* The last axis has two elements, and the one before lines their pairs up. */
static bool makes_pairs(const hn_copy *p) {
    int last = p->rank - 1;
    return last >= 1 && p->size == 4 && p->dims[last] == 2 && p->dst[last] == 1 &&
           p->dst[last - 1] == 2 && p->src[last - 1] == 1;
}

static cut cut_of(const hn_copy *p) {
    cut c = {.way = ROWS, .inner = p->rank - 1, .second = p->rank - 2, .n = 1, .m = 1, .outer = 1};
    if (c.inner >= 0) {
        c.n = p->dims[c.inner];
        if (p->src[c.inner] != 1 || p->dst[c.inner] != 1) c.way = ELEMENTS;
    }
    if (makes_pairs(p)) {
        c.way = PAIRS;
        c.n = p->dims[--c.inner];
        c.second--;
    }
    for (int i = 0; i < c.inner && c.way == ELEMENTS && p->dst[c.inner] == 1; i++)
        if (p->src[i] == 1) c.way = TRANSPOSE, c.second = i;
    if (c.second >= 0) c.m = p->dims[c.second];
    for (int i = 0; i < c.inner; i++)
        if (i != c.second) c.outer *= p->dims[i];
    if (c.n == 0 || c.m == 0) c.outer = 0;
    if (c.outer == 0) return c;
    if (c.way == TRANSPOSE) {
        c.tile_n = c.tile_m = TILE;
    } else {
        int64_t most = TASK / (int64_t)p->size;
        c.tile_n = c.n < most ? c.n : most;
        c.tile_m = most / c.tile_n;
    }
    c.blocks_n = (c.n + c.tile_n - 1) / c.tile_n;
    c.blocks_m = (c.m + c.tile_m - 1) / c.tile_m;
    return c;
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    cut c = cut_of(problem);
    *w = (hn_work){.n_phases = 1, .tasks = {c.blocks_n * c.blocks_m * c.outer}};
}

/* A tile: m by n elements; strides of both axes on both sides, in elements. */
typedef struct tile {
    int64_t m, n, src_m, src_n, dst_m, dst_n;
} tile;

static void copy_rows(char *dst, const char *src, const tile *t, int64_t size) {
    size_t bytes = (size_t)(t->n * size);
    for (int64_t i = 0; i < t->m; i++)
        memcpy(dst + i * t->dst_m * size, src + i * t->src_m * size, bytes);
}

/* One element after the other, rows inside. */
#define COPY_ELEMENTS(type)                                                               \
    static void copy_##type(char *to, const char *from, const tile *t) {                  \
        for (int64_t i = 0; i < t->m; i++) {                                              \
            type *dst = (type *)(void *)to + i * t->dst_m;                                \
            const type *src = (const type *)(const void *)from + i * t->src_m;            \
            if (t->src_n == 0 && t->dst_n == 1)                                           \
                for (int64_t j = 0; j < t->n; j++) dst[j] = *src;                         \
            else                                                                          \
                for (int64_t j = 0; j < t->n; j++) dst[j * t->dst_n] = src[j * t->src_n]; \
        }                                                                                 \
    }
COPY_ELEMENTS(uint8_t)
COPY_ELEMENTS(uint16_t)
COPY_ELEMENTS(uint32_t)
COPY_ELEMENTS(uint64_t)
typedef struct pair {
    uint64_t a, b;
} pair;
COPY_ELEMENTS(pair)

static void copy_elements(char *dst, const char *src, const tile *t, size_t size) {
    if (size == 1)
        copy_uint8_t(dst, src, t);
    else if (size == 2)
        copy_uint16_t(dst, src, t);
    else if (size == 4)
        copy_uint32_t(dst, src, t);
    else if (size == 8)
        copy_uint64_t(dst, src, t);
    else
        copy_pair(dst, src, t);
}

/* A square of m by n elements, at most HN_VL each way: rows of the source are columns of the
 * destination. */
HN_INLINE void turn(float *dst, const float *src, int64_t m, int64_t n, int64_t src_n,
                    int64_t dst_m) {
    hn_vf r[HN_VL];
    for (int j = 0; j < HN_VL; j++)
        r[j] = j < n ? hn_v_load_part(src + j * src_n, m) : hn_v_set1(0.0f);
    hn_v_transpose(r);
    for (int i = 0; i < HN_VL; i++)
        if (i < m) hn_v_store_part(dst + i * dst_m, r[i], n);
}

/* src_m and dst_n are 1. */
static void transpose(float *dst, const float *src, const tile *t) {
    for (int64_t i = 0; i < t->m; i += HN_VL)
        for (int64_t j = 0; j < t->n; j += HN_VL) {
            int64_t m = t->m - i < HN_VL ? t->m - i : HN_VL;
            int64_t n = t->n - j < HN_VL ? t->n - j : HN_VL;
            float *d = dst + i * t->dst_m + j;
            const float *s = src + i + j * t->src_n;
            if (m == HN_VL && n == HN_VL)
                turn(d, s, HN_VL, HN_VL, t->src_n, t->dst_m);
            else
                turn(d, s, m, n, t->src_n, t->dst_m);
        }
}

/* m rows of n pairs; the second elements of the source lie `apart` from the first. */
static void copy_pairs(char *to, const char *from, const tile *t, int64_t apart) {
    for (int64_t i = 0; i < t->m; i++) {
        uint32_t *restrict dst = (uint32_t *)(void *)to + i * t->dst_m;
        const uint32_t *restrict a = (const uint32_t *)(const void *)from + i * t->src_m;
        const uint32_t *restrict b = a + apart;
        for (int64_t j = 0; j < t->n; j++) {
            dst[2 * j] = a[j];
            dst[2 * j + 1] = b[j];
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_copy *p = call->problem;
    cut c = cut_of(p);
    const char *from = call->ptr[HN_COPY_SRC];
    char *to = call->ptr[HN_COPY_DST];
    int64_t size = (int64_t)p->size;
    for (int64_t k = begin; k < end; k++) {
        int64_t at_n = k % c.blocks_n * c.tile_n, rest = k / c.blocks_n;
        int64_t at_m = rest % c.blocks_m * c.tile_m;
        tile t = {.m = c.m - at_m < c.tile_m ? c.m - at_m : c.tile_m,
                  .n = c.n - at_n < c.tile_n ? c.n - at_n : c.tile_n};
        if (c.inner >= 0) t.src_n = p->src[c.inner], t.dst_n = p->dst[c.inner];
        if (c.second >= 0) t.src_m = p->src[c.second], t.dst_m = p->dst[c.second];
        int64_t s = at_n * t.src_n + at_m * t.src_m, d = at_n * t.dst_n + at_m * t.dst_m;
        rest /= c.blocks_m;
        for (int axis = c.inner - 1; axis >= 0; axis--) {
            if (axis == c.second) continue;
            int64_t at = rest % p->dims[axis];
            rest /= p->dims[axis];
            s += at * p->src[axis], d += at * p->dst[axis];
        }
        const char *src = from + s * size;
        char *dst = to + d * size;
        if (c.way == ROWS)
            copy_rows(dst, src, &t, size);
        else if (c.way == TRANSPOSE && size == 4)
            transpose((float *)(void *)dst, (const float *)(const void *)src, &t);
        else if (c.way == PAIRS)
            copy_pairs(dst, src, &t, p->src[p->rank - 1]);
        else
            copy_elements(dst, src, &t, p->size);
    }
}

const hn_kernel HN_V_ROW(copy) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
