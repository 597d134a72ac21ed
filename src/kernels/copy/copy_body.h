/* copy over the vector vocabulary.
 *
 * Rows of adjacent elements are copied as bytes. Where the source's adjacent elements are along
 * another axis than the destination's, the copy is a transpose of planes. It has three ways:
 *
 *   WEAVE      two to four rows of the source become neighbours, as x y x y x y
 *   UNWEAVE    the other way: neighbours of the source become two to four rows
 *   TRANSPOSE  squares of 16 bytes by 16 bytes (16 elements of a byte, 4 floats) turn in registers,
 *              as many at once as a vector has room for
 *
 * All else is copied one element after the other. Two axes make the plane in which a task is a
 * tile, or several planes are where these are small; the other axes are walked outside.
 */
#include <string.h>

#include "base/least.h"
#include "kernels/copy/copy.h"
#include "simd/bytes.h"
#include "simd/part.h"

enum {
    TASK = 32768, /* bytes of a task that copies rows */
    TILE = 256,   /* bytes of the side of a transposed tile */
    SHORT = 1024, /* bytes of a plane that do not take much longer than finding the next */
    FEW = 4,      /* rows that are woven */
    SQUARE = 16,  /* bytes of the side of a square */
};

typedef enum way { ROWS, WEAVE, UNWEAVE, TRANSPOSE, ELEMENTS } way;

typedef struct cut {
    way way;
    int inner, second; /* axes of the plane; -1, or -2: there is none */
    int third;         /* axis of several planes of a task, or -1 */
    int64_t n, m;      /* their lengths */
    int64_t tile_n, tile_m, blocks_n, blocks_m;
    int64_t outer; /* planes, or groups of them along the third axis */
    int n_others;  /* the other axes, as they are walked: the last one first */
    int others[HN_COPY_AXES];
} cut;

/* Tiles are at least this long, but for those of shorter axes: the last one takes what is left. */
static int64_t blocks_of(int64_t n, int64_t tile) { return n < tile ? 1 : n / tile; }

/* How a plane is transposed whose elements are adjacent along `second` in the source. */
static way transpose_of(const hn_copy *p, const cut *c) {
    if (p->size > 8) return ELEMENTS;
    if (c->n <= FEW && p->dst[c->second] == c->n) return WEAVE;
    if (c->m <= FEW && p->src[c->inner] == c->m) return UNWEAVE;
    return TRANSPOSE;
}

static void set_tiles(cut *c, int64_t size) {
    int64_t most = TASK / size;
    if (c->way == TRANSPOSE) {
        c->tile_n = c->tile_m = TILE / size;
    } else if (c->way == WEAVE) {
        c->tile_n = c->n;
        c->tile_m = hn_least(c->m, most / c->n);
    } else {
        int64_t rows = c->way == UNWEAVE ? c->m : 1;
        c->tile_n = hn_least(c->n, most / rows);
        c->tile_m = c->way == UNWEAVE ? rows : most / c->tile_n;
    }
    c->blocks_n = blocks_of(c->n, c->tile_n);
    c->blocks_m = blocks_of(c->m, c->tile_m);
}

/* Where planes have but few bytes, a task is all those along the axis before them; -1: it is one
 * plane or a part of it. */
static int third_axis(const hn_copy *p, const cut *c) {
    int64_t plane = c->n * c->m * (int64_t)p->size;
    if ((c->way != ROWS && c->way != ELEMENTS) || c->second < 1 || plane >= SHORT) return -1;
    return p->dims[c->second - 1] <= TASK / plane ? c->second - 1 : -1;
}

/* Planes are walked as the destination lies, or where several rows of it are written at once, as
 * the source does: the fewest streams are read then. */
static void set_others(const hn_copy *p, cut *c) {
    for (int i = 0; i < c->inner; i++) {
        if (i == c->second || i == c->third) continue;
        int k = c->n_others++;
        for (; c->way == UNWEAVE && k > 0 && p->src[c->others[k - 1]] < p->src[i]; k--)
            c->others[k] = c->others[k - 1];
        c->others[k] = i;
    }
}

static cut cut_of(const hn_copy *p) {
    cut c = {.way = ROWS,
             .inner = p->rank - 1,
             .second = p->rank - 2,
             .third = -1,
             .n = 1,
             .m = 1,
             .outer = 1};
    if (c.inner >= 0) {
        c.n = p->dims[c.inner];
        if (p->src[c.inner] != 1 || p->dst[c.inner] != 1) c.way = ELEMENTS;
    }
    bool turns = false;
    for (int i = 0; i < c.inner && c.way == ELEMENTS && p->dst[c.inner] == 1; i++)
        if (p->src[i] == 1) turns = true, c.second = i;
    if (c.second >= 0) c.m = p->dims[c.second];
    for (int i = 0; i < c.inner; i++)
        if (i != c.second) c.outer *= p->dims[i];
    if (c.n == 0 || c.m == 0) c.outer = 0;
    if (c.outer == 0) return c;
    if (turns) c.way = transpose_of(p, &c);
    set_tiles(&c, (int64_t)p->size);
    c.third = third_axis(p, &c);
    if (c.third >= 0) c.outer /= p->dims[c.third];
    set_others(p, &c);
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

/* A row of at least HN_VB bytes and few vectors; the last one may overlap that before it. */
HN_INLINE void copy_vectors(char *dst, const char *src, int64_t bytes) {
    int64_t i = 0;
    for (; i + HN_VB <= bytes; i += HN_VB) hn_vb_store(dst + i, hn_vb_load(src + i));
    if (i < bytes) hn_vb_store(dst + bytes - HN_VB, hn_vb_load(src + bytes - HN_VB));
}

static void copy_rows(char *dst, const char *src, const tile *t, int64_t size) {
    int64_t bytes = t->n * size, src_m = t->src_m * size, dst_m = t->dst_m * size;
    if (bytes < 32) {
        for (int64_t i = 0; i < t->m; i++) hn_bytes_copy(dst + i * dst_m, src + i * src_m, bytes);
    } else if (bytes >= HN_VB && bytes <= 16 * HN_VB) {
        for (int64_t i = 0; i < t->m; i++) copy_vectors(dst + i * dst_m, src + i * src_m, bytes);
    } else {
        for (int64_t i = 0; i < t->m; i++) memcpy(dst + i * dst_m, src + i * src_m, (size_t)bytes);
    }
}

/* Loops over elements of one type. Where a stride or a number of rows is a constant, compilers make
 * shuffles of them. */
#define COPY_ELEMENTS(type)                                                            \
    HN_INLINE void row_##type(type *restrict dst, const type *restrict src, int64_t n, \
                              int64_t dst_n, int64_t src_n) {                          \
        for (int64_t j = 0; j < n; j++) dst[j * dst_n] = src[j * src_n];               \
    }                                                                                  \
    static void copy_##type(char *to, const char *from, const tile *t) {               \
        for (int64_t i = 0; i < t->m; i++) {                                           \
            type *dst = (type *)(void *)to + i * t->dst_m;                             \
            const type *src = (const type *)(const void *)from + i * t->src_m;         \
            if (t->dst_n != 1)                                                         \
                row_##type(dst, src, t->n, t->dst_n, t->src_n);                        \
            else if (t->src_n == 0)                                                    \
                row_##type(dst, src, t->n, 1, 0);                                      \
            else if (t->src_n == -1)                                                   \
                row_##type(dst, src, t->n, 1, -1);                                     \
            else if (t->src_n == 2)                                                    \
                row_##type(dst, src, t->n, 1, 2);                                      \
            else                                                                       \
                row_##type(dst, src, t->n, 1, t->src_n);                               \
        }                                                                              \
    }

#define WEAVE_ELEMENTS(type)                                                                    \
    HN_INLINE void weave_rows_##type(type *restrict dst, const type *restrict src, int64_t n,   \
                                     int64_t apart, int rows) {                                 \
        for (int64_t i = 0; i < n; i++)                                                         \
            for (int k = 0; k < rows; k++) dst[i * rows + k] = src[k * apart + i];              \
    }                                                                                           \
    static void weave_##type(char *to, const char *from, const tile *t) {                       \
        type *dst = (type *)(void *)to;                                                         \
        const type *src = (const type *)(const void *)from;                                     \
        if (t->n == 2)                                                                          \
            weave_rows_##type(dst, src, t->m, t->src_n, 2);                                     \
        else if (t->n == 3)                                                                     \
            weave_rows_##type(dst, src, t->m, t->src_n, 3);                                     \
        else                                                                                    \
            weave_rows_##type(dst, src, t->m, t->src_n, 4);                                     \
    }                                                                                           \
    HN_INLINE void unweave_rows_##type(type *restrict dst, const type *restrict src, int64_t n, \
                                       int64_t apart, int rows) {                               \
        for (int64_t i = 0; i < n; i++)                                                         \
            for (int k = 0; k < rows; k++) dst[k * apart + i] = src[i * rows + k];              \
    }                                                                                           \
    static void unweave_##type(char *to, const char *from, const tile *t) {                     \
        type *dst = (type *)(void *)to;                                                         \
        const type *src = (const type *)(const void *)from;                                     \
        if (t->m == 2)                                                                          \
            unweave_rows_##type(dst, src, t->n, t->dst_m, 2);                                   \
        else if (t->m == 3)                                                                     \
            unweave_rows_##type(dst, src, t->n, t->dst_m, 3);                                   \
        else                                                                                    \
            unweave_rows_##type(dst, src, t->n, t->dst_m, 4);                                   \
    }

/* ---- squares ---- */

/* Transposes the squares in vectors r, one below the other: the elements of the first half of the
 * vectors and of the second are taken by turns, until each has been at every place. */
#define TURN_SQUARES(bytes)                                                                      \
    HN_INLINE void squares_##bytes(hn_vb *r) {                                                   \
        enum { SIDE = SQUARE / bytes };                                                          \
        HN_UNROLL                                                                                \
        for (int round = 1; round < SIDE; round *= 2) {                                          \
            hn_vb t[SIDE];                                                                       \
            HN_UNROLL                                                                            \
            for (int i = 0; i < SIDE / 2; i++) {                                                 \
                t[2 * i] = r[i], t[2 * i + 1] = r[i + SIDE / 2];                                 \
                hn_vb_weave_##bytes(&t[2 * i], &t[2 * i + 1]);                                   \
            }                                                                                    \
            HN_UNROLL                                                                            \
            for (int i = 0; i < SIDE; i++) r[i] = t[i];                                          \
        }                                                                                        \
    }                                                                                            \
    /* A square's rows by a vector's columns: the squares lie below each other in src. */        \
    HN_INLINE void turn_wide_##bytes(char *dst, const char *src, int64_t src_n, int64_t dst_m) { \
        enum { SIDE = SQUARE / bytes };                                                          \
        hn_vb r[SIDE];                                                                           \
        HN_UNROLL                                                                                \
        for (int i = 0; i < SIDE; i++) r[i] = hn_vb_load_rows(src + i * src_n, SIDE * src_n);    \
        squares_##bytes(r);                                                                      \
        HN_UNROLL                                                                                \
        for (int i = 0; i < SIDE; i++) hn_vb_store(dst + i * dst_m, r[i]);                       \
    }                                                                                            \
    /* A vector's rows by a square's columns: the squares lie beside each other in src. */       \
    HN_INLINE void turn_deep_##bytes(char *dst, const char *src, int64_t src_n, int64_t dst_m) { \
        enum { SIDE = SQUARE / bytes };                                                          \
        hn_vb r[SIDE];                                                                           \
        HN_UNROLL                                                                                \
        for (int i = 0; i < SIDE; i++) r[i] = hn_vb_load(src + i * src_n);                       \
        squares_##bytes(r);                                                                      \
        HN_UNROLL                                                                                \
        for (int i = 0; i < SIDE; i++) hn_vb_store_rows(dst + i * dst_m, r[i], SIDE * dst_m);    \
    }

/* The same for m rows and n columns, fewer than there is room for. */
#define TURN_EDGE(bytes)                                                                           \
    static void turn_edge_##bytes(char *dst, const char *src, int64_t m, int64_t n, int64_t src_n, \
                                  int64_t dst_m) {                                                 \
        enum { SIDE = SQUARE / bytes };                                                            \
        hn_vb r[SIDE];                                                                             \
        char t[SIDE][HN_VB];                                                                       \
        for (int i = 0; i < SIDE; i++)                                                             \
            r[i] = i < n ? hn_vb_load_part(src + i * src_n, m * bytes) : hn_vb_set1(0);            \
        squares_##bytes(r);                                                                        \
        for (int i = 0; i < SIDE; i++) hn_vb_store(t[i], r[i]);                                    \
        for (int64_t i = 0; i < m; i++)                                                            \
            hn_bytes_copy(dst + i * dst_m, t[i % SIDE] + i / SIDE * SQUARE, n * bytes);            \
    }

/* A tile in blocks; the last ones overlap those before. */
#define TRANSPOSE_TILE(bytes)                                                        \
    static void transpose_##bytes(char *dst, const char *src, const tile *t) {       \
        enum { SIDE = SQUARE / bytes, LONG = HN_VB / bytes };                        \
        int64_t src_n = t->src_n * bytes, dst_m = t->dst_m * bytes;                  \
        bool wide = t->n >= LONG && t->m >= SIDE;                                    \
        int64_t rows = wide ? SIDE : LONG, columns = wide ? LONG : SIDE;             \
        for (int64_t y = 0; y < t->n; y += columns) {                                \
            int64_t j = block_at(y, columns, t->n), n = hn_least(columns, t->n - j); \
            for (int64_t x = 0; x < t->m; x += rows) {                               \
                int64_t i = block_at(x, rows, t->m), m = hn_least(rows, t->m - i);   \
                char *to = dst + i * dst_m + j * bytes;                              \
                const char *from = src + i * bytes + j * src_n;                      \
                if (wide)                                                            \
                    turn_wide_##bytes(to, from, src_n, dst_m);                       \
                else if (m == LONG && n == SIDE)                                     \
                    turn_deep_##bytes(to, from, src_n, dst_m);                       \
                else                                                                 \
                    turn_edge_##bytes(to, from, m, n, src_n, dst_m);                 \
            }                                                                        \
        }                                                                            \
    }

#define HN_UNROLL _Pragma("GCC unroll 16")

/* Where the block that covers position `at` begins. */
HN_INLINE int64_t block_at(int64_t at, int64_t block, int64_t n) {
    return at + block > n && n >= block ? n - block : at;
}

COPY_ELEMENTS(uint8_t)
COPY_ELEMENTS(uint16_t)
COPY_ELEMENTS(uint32_t)
COPY_ELEMENTS(uint64_t)
typedef struct pair {
    uint64_t a, b;
} pair;
COPY_ELEMENTS(pair)
WEAVE_ELEMENTS(uint8_t)
WEAVE_ELEMENTS(uint16_t)
WEAVE_ELEMENTS(uint32_t)
WEAVE_ELEMENTS(uint64_t)
TURN_SQUARES(1)
TURN_SQUARES(2)
TURN_SQUARES(4)
TURN_SQUARES(8)
TURN_EDGE(1)
TURN_EDGE(2)
TURN_EDGE(4)
static void turn_edge_8(char *dst, const char *src, int64_t m, int64_t n, int64_t src_n,
                        int64_t dst_m) {
    copy_uint64_t(dst, src, &(tile){m, n, 1, src_n / 8, dst_m / 8, 1});
}
TRANSPOSE_TILE(1)
TRANSPOSE_TILE(2)
TRANSPOSE_TILE(4)
TRANSPOSE_TILE(8)

/* Floats, in squares of a vector's length where there is room: whole cache lines are read then. */
static void transpose_floats(char *to, const char *from, const tile *t) {
    if (t->m < HN_VL || t->n < HN_VL) {
        transpose_4(to, from, t);
        return;
    }
    for (int64_t x = 0; x < t->m; x += HN_VL)
        for (int64_t y = 0; y < t->n; y += HN_VL) {
            int64_t i = block_at(x, HN_VL, t->m), j = block_at(y, HN_VL, t->n);
            float *dst = (float *)(void *)to + i * t->dst_m + j;
            const float *src = (const float *)(const void *)from + i + j * t->src_n;
            hn_vf r[HN_VL];
            HN_UNROLL
            for (int k = 0; k < HN_VL; k++) r[k] = hn_v_load(src + k * t->src_n);
            hn_v_transpose(r);
            HN_UNROLL
            for (int k = 0; k < HN_VL; k++) hn_v_store(dst + k * t->dst_m, r[k]);
        }
}

typedef void copy_tile(char *dst, const char *src, const tile *t);

/* By way and size; rows are copied by bytes. */
static copy_tile *const ways[][5] = {
    [WEAVE] = {weave_uint8_t, weave_uint16_t, weave_uint32_t, weave_uint64_t},
    [UNWEAVE] = {unweave_uint8_t, unweave_uint16_t, unweave_uint32_t, unweave_uint64_t},
    [TRANSPOSE] = {transpose_1, transpose_2, transpose_floats, transpose_8},
    [ELEMENTS] = {copy_uint8_t, copy_uint16_t, copy_uint32_t, copy_uint64_t, copy_pair},
};

/* ---- the walk over tiles ---- */

/* The tile that is next: its block in the plane, its place in the other axes, and where that is. */
typedef struct walk {
    int64_t block_n, block_m;
    int64_t at[HN_COPY_AXES];
    int64_t src, dst;
} walk;

static walk walk_to(const hn_copy *p, const cut *c, int64_t task) {
    walk w = {.block_n = task % c->blocks_n, .block_m = task / c->blocks_n % c->blocks_m};
    int64_t rest = task / c->blocks_n / c->blocks_m;
    for (int i = c->n_others - 1; i >= 0; i--) {
        int axis = c->others[i];
        w.at[axis] = rest % p->dims[axis];
        rest /= p->dims[axis];
        w.src += w.at[axis] * p->src[axis], w.dst += w.at[axis] * p->dst[axis];
    }
    return w;
}

static void walk_on(const hn_copy *p, const cut *c, walk *w) {
    if (++w->block_n < c->blocks_n) return;
    w->block_n = 0;
    if (++w->block_m < c->blocks_m) return;
    w->block_m = 0;
    for (int i = c->n_others - 1; i >= 0; i--) {
        int axis = c->others[i];
        w->src += p->src[axis], w->dst += p->dst[axis];
        if (++w->at[axis] < p->dims[axis]) return;
        w->src -= w->at[axis] * p->src[axis], w->dst -= w->at[axis] * p->dst[axis];
        w->at[axis] = 0;
    }
}

static int size_index(size_t size) {
    int i = 0;
    while (size >> i > 1) i++;
    return i;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_copy *p = call->problem;
    cut c = cut_of(p);
    int64_t size = (int64_t)p->size;
    copy_tile *by_elements = ways[c.way][size_index(p->size)];
    tile t = {0};
    if (c.inner >= 0) t.src_n = p->src[c.inner], t.dst_n = p->dst[c.inner];
    if (c.second >= 0) t.src_m = p->src[c.second], t.dst_m = p->dst[c.second];
    int64_t planes = 1, src_plane = 0, dst_plane = 0;
    if (c.third >= 0) {
        planes = p->dims[c.third];
        src_plane = p->src[c.third] * size, dst_plane = p->dst[c.third] * size;
    }
    if (begin == end) return;
    walk w = walk_to(p, &c, begin);
    for (int64_t k = begin; k < end; k++, walk_on(p, &c, &w)) {
        int64_t n = w.block_n * c.tile_n, m = w.block_m * c.tile_m;
        t.n = w.block_n + 1 < c.blocks_n ? c.tile_n : c.n - n;
        t.m = w.block_m + 1 < c.blocks_m ? c.tile_m : c.m - m;
        const char *src =
            (const char *)call->ptr[HN_COPY_SRC] + (w.src + n * t.src_n + m * t.src_m) * size;
        char *dst = (char *)call->ptr[HN_COPY_DST] + (w.dst + n * t.dst_n + m * t.dst_m) * size;
        for (int64_t i = 0; i < planes; i++, src += src_plane, dst += dst_plane) {
            if (c.way == ROWS)
                copy_rows(dst, src, &t, size);
            else
                by_elements(dst, src, &t);
        }
    }
}

const hn_kernel HN_V_ROW(copy) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
