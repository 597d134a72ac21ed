/* 3x3 conv_q8 of stride 1 by Winograd's F(4x4, 3x3), in integers: rows for every layer where bytes
 * are multiplied no faster than s16, and where there are dot products of bytes, which are twice as
 * fast, for layers whose weights stay near.
 *
 * An output tile of 4x4 pixels needs an input tile of 6x6. Both are values of polynomials at the
 * points 0, +-1, +-2 and infinity, where a convolution is a product:
 *
 *     576 Y = A (sum over channels of (G g Gt) .* (Bt d B)) At     d 6x6 input, g 3x3 weights
 *
 * so that 36 products per channel give 16 outputs instead of 144. Over a block of tiles each of the
 * 36 spots is a product of matrices, [tiles][c] times [c][n]:
 *
 *     x --Bt.B--> V[36][tiles][c] s16  --times U[36][c][n] s16-->  M[36][tiles][n] s32  --A.At--> y
 *
 * All of it is exact:
 *
 *     Bt    4  0 -5  0  1  0      G    6  0  0      A    1  0  0  0      24 times the usual G and A,
 *           0 -4 -4  1  1  0          -4 -4 -4           1  1  1  1      divided between them so
 *           0  4 -4 -1  1  0          -4  4 -4           1 -1  1 -1      that both have small
 *           0 -2 -1  2  1  0           1  2  4           1  2  4  8      integers
 *           0  2 -1 -2  1  0           1 -2  4           1 -2  4 -8
 *           0  4  0 -5  0  1           0  0 12           0  0  0  2
 *
 *   V   u8 give at most 17340, which fits s16. What counts is x' = x - 128: of a constant, Bt d B
 *       is 36 times it at spot (1, 1) and 0 elsewhere, so that 36 * 128 is taken away there. Then
 *       it is at most 12800.
 *   U   at most 128 * 12 * 12 = 18432; the sum of two products fits s32.
 *   M   sums wrap. A wraps too, and gives 576 Y modulo 2^32. 576 is 64 * 9, and 9 has an inverse
 *       modulo 2^32: times that, and shifted right by 6, it is Y, if Y lies within 2^25. Products
 *       of x' and w' are at most 2^14, nine per channel: so CHANNELS of them are summed before
 *       this is done, and more are added up as Y.
 *
 * The last tile of a row or column of an image may have but one or two outputs there: it is short. Two
 * outputs need four points, 0, +-1 and infinity, so that the spots of +-2 are left out; U stays as
 * it is, and of A the rows of those points:
 *
 *     Bt    4  0 -4  0     to be applied to        A    1  0
 *           0 -3 -3  0     the first four               1  1
 *           0  3 -3  0     rows of d                    1 -1
 *           0 -1  0  1                                  0  2
 *
 * 14x14 pixels then take 484 products of a pair of channels and outputs, not 576.
 *
 * V and M live in lane scratch. A block is some tiles of an image, in `rows` rows of `columns`. Its
 * tiles are in such an order that those which have a spot follow each other:
 *
 *     [short in x alone] [whole] [short in y alone] [short in both]
 *     `----- no +-2 in x                           -------------'   the middle two have those of x
 *
 * Weights are packed as sums of w' [outputs, rounded up to WIDTH], then U in the order in which it
 * is read: [WIDTH outputs][chunk of channels][36][panel of NR outputs][pair of channels][NR][2]. A
 * last panel may have HN_VL outputs.
 *
 * The file that includes this brings a vector vocabulary of src/simd, and
 *
 *   W(f)            the intrinsic f of its width
 *   load_half(p)    half a vector of bytes
 *   low_half(v)     of a vector
 *   MULTIPLY_ADD(sum, x, w)   sums plus those of the products of pairs of s16
 *   DOT_PRODUCTS    whether there are dot products of bytes, too
 *   MR              tiles that are multiplied together
 *   ROW, NAME, ISA  of the hn_kernel
 */
#ifdef W
#include <string.h>

#include "base/cpu.h"
#include "kernels/conv_q8/conv_q8_parts.h"

enum {
    OUT = 4,
    IN = OUT + 2,
    SHORT = 2, /* outputs of a short tile */
    SPOTS = IN * IN,
    TAPS = 9,
    LANES = HN_VB / 2,          /* s16 in a vector */
    NR = 2 * HN_VL,             /* outputs of a panel */
    WIDTH = HN_VB,              /* outputs that end together */
    CHANNELS = 224,             /* whose products fit, see above */
    COLUMNS = 16,               /* tiles of a row in a block, at most */
    BLOCK_BYTES = 1040 << 10,   /* of V and M: they stay in L2 beside U */
    MOST_BYTES = 1800 << 10,    /* of V and M: they stay in L2 while U passes */
    PAD = 32,                   /* bytes between spots, lest they lie a multiple of 4 KB apart */
    NEAR_BYTES = 256 << 10,     /* of U: it stays in L2 from run to run */
    STAYING_BYTES = 1280 << 10, /* of U: it stays in L2 from block to block */
};

#include "kernels/conv_q8/conv_q8_finish.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 36")
#endif

typedef struct geometry {
    int64_t pairs;                   /* of channels */
    int64_t chunks;                  /* of them */
    int64_t ends, width;             /* of WIDTH outputs; outputs of a row of M */
    int64_t ty, tx;                  /* tiles of an image */
    int64_t rows, columns;           /* tiles of a block */
    int64_t bands, segments, blocks; /* of an image; of all */
    int64_t pitch, v_spot, m_spot;   /* elements of a row of V, of a spot of V and M */
    int64_t u_bytes;
    bool far; /* U may have to be fetched */
} geometry;

/* U that does not stay in L2 is read again for every block: these are larger then. */
static int64_t tiles_that_fit(const geometry *g) {
    const int64_t tile = SPOTS * (2 * g->pitch + 4 * g->width); /* bytes */
    const bool stays = g->u_bytes <= hn_of_l2(STAYING_BYTES);
    return hn_q8_max(MR, hn_over(hn_of_l2(stays ? BLOCK_BYTES : MOST_BYTES), tile));
}

static geometry measure(const hn_conv_q8 *p) {
    geometry g = {.pairs = hn_q8_ceil(p->c, 2), .ends = hn_q8_ceil(p->n, WIDTH)};
    g.chunks = hn_q8_ceil(2 * g.pairs, CHANNELS);
    g.width = hn_q8_min(WIDTH, hn_q8_ceil(p->n, HN_VL) * HN_VL);
    g.ty = hn_q8_ceil(p->oh, OUT), g.tx = hn_q8_ceil(p->ow, OUT);
    g.pitch = hn_q8_ceil(p->c, LANES) * LANES;
    g.u_bytes = SPOTS * 2 * g.pairs * p->n * (int64_t)sizeof(int16_t);
    g.far = g.u_bytes > hn_of_l2(NEAR_BYTES);
    const int64_t most = tiles_that_fit(&g);
    g.segments = hn_q8_ceil(g.tx, hn_q8_min(most, COLUMNS));
    g.columns = hn_q8_ceil(g.tx, g.segments);
    g.bands = hn_q8_ceil(g.ty, hn_q8_max(1, hn_over(most, g.columns)));
    g.rows = hn_q8_ceil(g.ty, g.bands);
    g.blocks = p->batch * g.bands * g.segments;
    g.v_spot = g.rows * g.columns * g.pitch + PAD;
    g.m_spot = g.rows * g.columns * g.width + PAD / 2;
    return g;
}

/* Whether the last tile of so many outputs is short. */
static bool ends_short(int64_t outputs) { return (outputs - 1) % OUT < SHORT; }

typedef struct lane_parts {
    int16_t *v;
    int32_t *m;
    int32_t *c;       /* [rows][OUT][columns * OUT][WIDTH] sums */
    uint8_t *outside; /* [pitch] a pixel */
} lane_parts;

static size_t divide(const geometry *g, char *base, lane_parts *l) {
    const size_t v = hn_q8_round64(SPOTS * g->v_spot * (int64_t)sizeof(int16_t));
    const size_t m = hn_q8_round64(SPOTS * g->m_spot * (int64_t)sizeof(int32_t));
    const int64_t pixels = (g->chunks > 1 ? g->rows : 1) * g->columns * OUT * OUT;
    /* 3: finish reads whole vectors of pixels. */
    const size_t c = (size_t)((pixels + 3) * WIDTH) * sizeof(int32_t);
    if (l != NULL)
        *l = (lane_parts){(int16_t *)(void *)base, (int32_t *)(void *)(base + v),
                          (int32_t *)(void *)(base + v + m), (uint8_t *)base + v + m + c};
    return v + m + c + (size_t)g->pitch;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const geometry g = measure(problem);
    const int64_t groups = hn_q8_min(g.ends, hn_q8_ceil(lanes, hn_q8_max(g.blocks, 1)));
    *w = (hn_work){
        .n_phases = 1, .tasks = {g.blocks * groups}, .lane_scratch = divide(&g, NULL, NULL)};
}

/* ---- x to V ---- */

HN_INLINE void forward(const hn_vb d[IN], hn_vb v[IN]) {
    const hn_vb a = W(sub_epi16)(d[4], d[2]), b = W(sub_epi16)(d[3], d[1]);
    const hn_vb twice = W(add_epi16)(b, b);
    const hn_vb even = W(sub_epi16)(d[4], W(slli_epi16)(d[2], 2));
    const hn_vb odd = W(sub_epi16)(d[3], W(slli_epi16)(d[1], 2));
    v[0] = W(add_epi16)(W(slli_epi16)(W(sub_epi16)(d[0], d[2]), 2), a);
    v[1] = W(add_epi16)(even, odd);
    v[2] = W(sub_epi16)(even, odd);
    v[3] = W(add_epi16)(a, twice);
    v[4] = W(sub_epi16)(a, twice);
    v[5] = W(sub_epi16)(W(sub_epi16)(d[5], d[3]), W(slli_epi16)(b, 2));
}

HN_INLINE void forward_short(const hn_vb d[OUT], hn_vb v[IN]) {
    const hn_vb sum = W(add_epi16)(d[1], d[2]), diff = W(sub_epi16)(d[2], d[1]);
    v[0] = W(slli_epi16)(W(sub_epi16)(d[0], d[2]), 2);
    v[1] = W(sub_epi16)(sum, W(slli_epi16)(sum, 2));
    v[2] = W(sub_epi16)(diff, W(slli_epi16)(diff, 2));
    v[5] = W(sub_epi16)(d[3], d[1]);
}

/* Whether a tile has the spots of point i, from 0 on. */
HN_INLINE bool has_point(const bool is_short, int i) { return !is_short || i < 3 || i == IN - 1; }

/* n <= LANES channels, from c on, of an input tile whose pixels are at x; short_y, short_x: whether it
 * is short in either direction, constants. */
HN_INLINE void transform_channels(const bool short_y, const bool short_x,
                                  const uint8_t *const x[SPOTS], int64_t c, int64_t n, hn_vb flip,
                                  int16_t *v, int64_t v_spot) {
    const int height = short_y ? SHORT + 2 : IN, width = short_x ? SHORT + 2 : IN;
    hn_vb half[SPOTS];
    UNROLL for (int j = 0; j < width; j++) {
        hn_vb d[IN], t[IN];
        UNROLL for (int i = 0; i < height; i++) {
            const uint8_t *at = x[i * IN + j] + c;
            d[i] = W(cvtepu8_epi16)(n == LANES ? load_half(at) : low_half(hn_vb_load_n(at, n)));
            d[i] = hn_vb_xor(d[i], flip);
        }
        if (short_y)
            forward_short(d, t);
        else
            forward(d, t);
        UNROLL for (int i = 0; i < IN; i++) {
            if (has_point(short_y, i)) half[i * IN + j] = t[i];
        }
    }
    UNROLL for (int i = 0; i < IN; i++) {
        hn_vb t[IN];
        if (!has_point(short_y, i)) continue;
        if (short_x)
            forward_short(half + i * IN, t);
        else
            forward(half + i * IN, t);
        if (i == 1) t[1] = W(sub_epi16)(t[1], W(set1_epi16)(36 * 128));
        UNROLL for (int j = 0; j < IN; j++) {
            if (has_point(short_x, j)) hn_vb_store(v + (i * IN + j) * v_spot + c, t[j]);
        }
    }
}

typedef void transform_fn(const hn_conv_q8 *p, int64_t v_spot, const uint8_t *const x[SPOTS],
                          int16_t *v);

#define TRANSFORM(name, short_y, short_x)                                                    \
    static void name(const hn_conv_q8 *p, int64_t v_spot, const uint8_t *const x[SPOTS],     \
                     int16_t *v) {                                                           \
        const hn_vb flip = W(set1_epi16)(p->x == HN_Q8_S8 ? 0x80 : 0); /* as u8, 128 more */ \
        const int64_t channels = p->c;                                                       \
        int64_t c = 0;                                                                       \
        for (; c + LANES <= channels; c += LANES)                                            \
            transform_channels(short_y, short_x, x, c, LANES, flip, v, v_spot);              \
        if (c < channels)                                                                    \
            transform_channels(short_y, short_x, x, c, channels - c, flip, v, v_spot);       \
    }
TRANSFORM(transform_whole, false, false)
TRANSFORM(transform_short_x, false, true)
TRANSFORM(transform_short_y, true, false)
TRANSFORM(transform_short, true, true)
static transform_fn *const transforms[2][2] = {{transform_whole, transform_short_x},
                                               {transform_short_y, transform_short}};

/* The pixels of the input tile whose first is (y0, x0), of an image at x. */
static void find_pixels(const hn_conv_q8 *p, const uint8_t *x, int64_t y0, int64_t x0,
                        const uint8_t *outside, const uint8_t *at[SPOTS]) {
    const int64_t pixel = p->x_pixel, row_step = p->x_row;
    const uint64_t w = (uint64_t)p->w; /* unsigned: what is negative is outside, too */
    const uint8_t *row = x + y0 * row_step + x0 * pixel;
    for (int64_t i = 0; i < IN; i++, row += row_step, at += IN) {
        if ((uint64_t)(y0 + i) >= (uint64_t)p->h) {
            for (int64_t j = 0; j < IN; j++) at[j] = outside;
        } else {
            for (int64_t j = 0; j < IN; j++)
                at[j] = (uint64_t)(x0 + j) < w ? row + j * pixel : outside;
        }
    }
}

/* Tiles of an image that are computed together: the first, and how many in each direction; of
 * those, how many rows and columns are short: 0 or 1. */
typedef struct block {
    int64_t image, ty, tx, rows, columns, short_rows, short_columns;
} block;

static block block_at(const hn_conv_q8 *p, const geometry *g, int64_t i) {
    block b = {.tx = hn_digit(&i, g->segments) * g->columns};
    b.ty = hn_digit(&i, g->bands) * g->rows;
    b.image = i;
    b.rows = hn_q8_min(g->rows, g->ty - b.ty);
    b.columns = hn_q8_min(g->columns, g->tx - b.tx);
    b.short_rows = b.ty + b.rows == g->ty && ends_short(p->oh);
    b.short_columns = b.tx + b.columns == g->tx && ends_short(p->ow);
    return b;
}

static bool short_in_y(const block *b, int64_t row) { return row >= b->rows - b->short_rows; }

static bool short_in_x(const block *b, int64_t column) {
    return column >= b->columns - b->short_columns;
}

/* The place of a tile among those of its block. */
static int64_t tile_at(const block *b, int64_t row, int64_t column) {
    const int64_t whole_rows = b->rows - b->short_rows;
    const int64_t whole_columns = b->columns - b->short_columns;
    if (short_in_x(b, column)) return short_in_y(b, row) ? b->rows * b->columns - 1 : row;
    return whole_rows * b->short_columns + row * whole_columns + column;
}

/* Tiles of a block that follow each other. */
typedef struct stretch {
    int64_t first, n;
} stretch;

/* Those that have the spots of points i and j. */
static stretch tiles_with(const block *b, int i, int j) {
    const bool but_y = b->short_rows && !has_point(true, i);
    const bool but_x = b->short_columns && !has_point(true, j);
    stretch s = {0, b->rows * b->columns};
    if (but_y) s.n -= b->columns; /* the last */
    if (but_x) {
        const int64_t with_short_y = b->rows - b->short_rows;
        s.first = with_short_y, s.n -= with_short_y;
        if (!but_y) s.n -= b->short_rows;
    }
    return s;
}

static void fill_v(const hn_q8_args *a, const geometry *g, const block *b, const lane_parts *l) {
    const hn_conv_q8 *p = a->p;
    const uint8_t *x = a->x + b->image * p->x_image;
    for (int64_t i = 0; i < b->rows; i++) {
        for (int64_t j = 0; j < b->columns; j++) {
            const int64_t y0 = (b->ty + i) * OUT - p->pt, x0 = (b->tx + j) * OUT - p->pl;
            const uint8_t *at[SPOTS];
            find_pixels(p, x, y0, x0, l->outside, at);
            transforms[short_in_y(b, i)][short_in_x(b, j)](p, g->v_spot, at,
                                                           l->v + tile_at(b, i, j) * g->pitch);
        }
    }
}

/* ---- V to M ---- */

/* M[rows][vectors] = V[rows] * U over so many pairs of channels. */
HN_INLINE void multiply(const int rows, const int vectors, const int16_t *v, int64_t pitch,
                        const int16_t *u, int64_t pairs, int32_t *m, int64_t width) {
    hn_vi sum[MR][2];
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int j = 0; j < vectors; j++) sum[r][j] = hn_vi_set1(0);
    }
    for (int64_t i = 0; i < pairs; i++, v += 2, u += vectors * LANES) {
        hn_vi w[2];
        UNROLL for (int j = 0; j < vectors; j++) w[j] = hn_vb_load(u + j * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            int32_t pair;
            memcpy(&pair, v + r * pitch, sizeof pair);
            const hn_vi x = hn_vi_set1(pair);
            UNROLL for (int j = 0; j < vectors; j++) sum[r][j] = MULTIPLY_ADD(sum[r][j], x, w[j]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int j = 0; j < vectors; j++) hn_vb_store(m + r * width + j * HN_VL, sum[r][j]);
    }
}

typedef void multiply_fn(const int16_t *v, int64_t pitch, const int16_t *u, int64_t pairs,
                         int32_t *m, int64_t width);

#define MULTIPLY(rows)                                                                          \
    static void wide_##rows(const int16_t *v, int64_t pitch, const int16_t *u, int64_t pairs,   \
                            int32_t *m, int64_t width) {                                        \
        multiply(rows, 2, v, pitch, u, pairs, m, width);                                        \
    }                                                                                           \
    static void narrow_##rows(const int16_t *v, int64_t pitch, const int16_t *u, int64_t pairs, \
                              int32_t *m, int64_t width) {                                      \
        multiply(rows, 1, v, pitch, u, pairs, m, width);                                        \
    }
#define WIDE(rows) wide_##rows,
#define NARROW(rows) narrow_##rows,
EACH_ROWS(MULTIPLY)
/* Of panels that are narrow or wide, by tiles less 1. */
static multiply_fn *const products[2][MR] = {{EACH_ROWS(NARROW)}, {EACH_ROWS(WIDE)}};

/* Pairs of channels. */
typedef struct chunk {
    int64_t first, n;
} chunk;

static chunk chunk_at(const geometry *g, int64_t i) {
    const int64_t first = hn_over(g->pairs * i, g->chunks);
    return (chunk){first, hn_over(g->pairs * (i + 1), g->chunks) - first};
}

/* The tiles that have a spot, in strips of up to MR: the first `more` of them have a tile more than
 * the others. Dividing takes longer than a few products do, so it is done once for all spots. */
typedef struct strips {
    int64_t first, n, tiles, more;
    int64_t part; /* bytes of U to fetch with each */
} strips;

/* Of points i and j, where so many bytes are fetched for a panel. */
static strips strips_with(const block *b, int i, int j, int64_t bytes) {
    const stretch s = tiles_with(b, i, j);
    const int64_t n = hn_q8_max(1, hn_q8_ceil(s.n, MR));
    return (strips){s.first, s.n > 0 ? n : 0, hn_over(s.n, n), hn_rest(s.n, n),
                    (int64_t)hn_q8_round64(hn_over(bytes, n))};
}

/* M of some tiles and n <= NR outputs at one spot. Weights of most models are in no near cache:
 * those that come later are fetched meanwhile, a part with every strip. */
static void multiply_strips(const geometry *g, const strips *s, const int16_t *v, const int16_t *u,
                            int64_t pairs, int64_t n, int32_t *m) {
    enum { AHEAD = 8 << 10, LINE = 64 };
    const int64_t bytes = pairs * n * 4;
    multiply_fn *const *by = products[n == NR];
    int64_t fetched = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t rows = s->tiles + (i < s->more);
        const int64_t end = hn_q8_min(fetched + s->part, bytes);
        for (; fetched < end; fetched += LINE)
            __builtin_prefetch((const char *)u + AHEAD + fetched, 0, 2);
        by[rows - 1](v, g->pitch, u, pairs, m, g->width);
        v += rows * g->pitch, m += rows * g->width;
    }
}

/* M of `columns` outputs, with those to fill a vector, from the U of a chunk. */
static void fill_m(const geometry *g, const lane_parts *l, const block *b, const int16_t *u,
                   int64_t columns, chunk of) {
    strips of_points[2][2]; /* of those that short tiles have, and of the others: in y and x */
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            of_points[i][j] = strips_with(b, 3 * i, 3 * j, g->far ? of.n * NR * 4 : 0);
    for (int e = 0; e < SPOTS; e++) {
        const strips *s = &of_points[!has_point(true, e / IN)][!has_point(true, e % IN)];
        const int16_t *v = l->v + e * g->v_spot + s->first * g->pitch + 2 * of.first;
        int32_t *m = l->m + e * g->m_spot + s->first * g->width;
        for (int64_t n = 0, some; n < columns; n += some, u += of.n * some * 2) {
            some = hn_q8_min(NR, columns - n);
            multiply_strips(g, s, v, u, of.n, some, m + n);
        }
    }
}

/* ---- M to y ---- */

HN_INLINE void backward(const hn_vi m[IN], hn_vi y[OUT]) {
    const hn_vi sum1 = hn_vi_add(m[1], m[2]), diff1 = hn_vi_sub(m[1], m[2]);
    const hn_vi sum2 = hn_vi_add(m[3], m[4]), diff2 = hn_vi_sub(m[3], m[4]);
    const hn_vi last = hn_vi_add(hn_vi_shl(diff2, 2), m[5]);
    y[0] = hn_vi_add(m[0], hn_vi_add(sum1, sum2));
    y[1] = hn_vi_add(diff1, hn_vi_add(diff2, diff2));
    y[2] = hn_vi_add(sum1, hn_vi_shl(sum2, 2));
    y[3] = hn_vi_add(diff1, hn_vi_add(last, last));
}

HN_INLINE void backward_short(const hn_vi m[IN], hn_vi y[SHORT]) {
    y[0] = hn_vi_add(m[0], hn_vi_add(m[1], m[2]));
    y[1] = hn_vi_add(hn_vi_sub(m[1], m[2]), hn_vi_add(m[5], m[5]));
}

/* The sums of the pixels of a tile, which are added to those at `from`: pixels and rows of these lie
 * so many elements apart, or are one and the same. */
typedef struct tile_sums {
    const int32_t *from;
    int64_t from_pixel, from_row;
    int32_t *c;
    int64_t c_row;
} tile_sums;

/* n vectors of the outputs of a tile; short_y, short_x: as above. */
HN_INLINE void transform_outputs(const bool short_y, const bool short_x, const int32_t *m,
                                 int64_t m_spot, int64_t n, tile_sums at) {
    const int height = short_y ? SHORT : OUT, width = short_x ? SHORT : OUT;
    const hn_vi ninth = hn_vi_set1(0x38e38e39); /* modulo 2^32 */
    for (int64_t k = 0; k < n; k++, m += HN_VL, at.from += HN_VL, at.c += HN_VL) {
        hn_vi half[OUT * IN];
        UNROLL for (int j = 0; j < IN; j++) {
            hn_vi d[IN], t[OUT];
            if (!has_point(short_x, j)) continue;
            UNROLL for (int i = 0; i < IN; i++) {
                if (has_point(short_y, i)) d[i] = hn_vi_load(m + (i * IN + j) * m_spot);
            }
            if (short_y)
                backward_short(d, t);
            else
                backward(d, t);
            UNROLL for (int i = 0; i < height; i++) half[i * IN + j] = t[i];
        }
        UNROLL for (int i = 0; i < height; i++) {
            hn_vi y[OUT];
            if (short_x)
                backward_short(half + i * IN, y);
            else
                backward(half + i * IN, y);
            UNROLL for (int j = 0; j < width; j++) {
                const hn_vi sum = hn_vi_shr(W(mullo_epi32)(y[j], ninth), 6);
                const hn_vi from = hn_vi_load(at.from + i * at.from_row + j * at.from_pixel);
                hn_vb_store(at.c + i * at.c_row + j * WIDTH, hn_vi_add(sum, from));
            }
        }
    }
}

typedef void outputs_fn(const int32_t *m, int64_t m_spot, int64_t n, tile_sums at);

#define OUTPUTS(name, short_y, short_x)                                           \
    static void name(const int32_t *m, int64_t m_spot, int64_t n, tile_sums at) { \
        transform_outputs(short_y, short_x, m, m_spot, n, at);                    \
    }
OUTPUTS(outputs_whole, false, false)
OUTPUTS(outputs_short_x, false, true)
OUTPUTS(outputs_short_y, true, false)
OUTPUTS(outputs_short, true, true)
static outputs_fn *const outputs_of[2][2] = {{outputs_whole, outputs_short_x},
                                             {outputs_short_y, outputs_short}};

/* Pixels of a row whose sums are found: one may lie behind the image. */
static int64_t summed(const block *b) {
    return b->columns * OUT - b->short_columns * (OUT - SHORT);
}

/* The outputs of a row of tiles, whose sums are c. */
static void finish_row(const hn_q8_outputs *to, const block *b, int64_t row, const int32_t *c) {
    const hn_conv_q8 *p = to->a->p;
    const int64_t oy = (b->ty + row) * OUT, ox = b->tx * OUT;
    const int64_t n = hn_q8_min(b->columns * OUT, p->ow - ox), rows = hn_q8_min(OUT, p->oh - oy);
    const int64_t together = n == summed(b) ? rows : 1; /* whose sums follow each other */
    int64_t y = b->image * p->y_image + oy * p->y_row + ox * p->y_pixel;
    int64_t r = b->image * p->r_image + oy * p->r_row + ox * p->r_pixel;
    int64_t y_at[OUT * COLUMNS * OUT], r_at[OUT * COLUMNS * OUT];
    for (int64_t i = 0; i < rows; i++, y += p->y_row, r += p->r_row) {
        for (int64_t j = 0; j < n; j++) y_at[i * n + j] = y + j * p->y_pixel;
        for (int64_t j = 0; j < n; j++) r_at[i * n + j] = r + j * p->r_pixel;
    }
    for (int64_t i = 0; i < rows; i += together)
        finish(to, c + i * summed(b) * WIDTH, together * n, y_at + i * n, r_at + i * n, NULL);
}

/* M of a chunk of channels to sums, and with the last one these to outputs. */
static void empty_m(const geometry *g, const lane_parts *l, const block *b, const hn_q8_outputs *to,
                    bool first, bool last) {
    const int64_t c_row = summed(b) * WIDTH, vectors = hn_q8_ceil(to->n, HN_VL);
    for (int64_t i = 0; i < b->rows; i++) {
        int32_t *c = l->c + (g->chunks > 1 ? i * OUT * c_row : 0);
        for (int64_t j = 0; j < b->columns; j++) {
            int32_t *tile = c + j * OUT * WIDTH;
            const tile_sums at = {first ? to->start : tile, first ? 0 : WIDTH, first ? 0 : c_row,
                                  tile, c_row};
            outputs_of[short_in_y(b, i)][short_in_x(b, j)](l->m + tile_at(b, i, j) * g->width,
                                                           g->m_spot, vectors, at);
        }
        if (last) finish_row(to, b, i, c);
    }
}

static int32_t x_off(const hn_conv_q8 *p) { return p->x == HN_Q8_U8 ? -128 : 0; }

static size_t header_bytes(const geometry *g) {
    return hn_q8_round64(g->ends * WIDTH * (int64_t)sizeof(int32_t));
}

/* Outputs [end * WIDTH ...) that end together, with those to fill a vector. */
static int64_t columns_of(const hn_conv_q8 *p, int64_t end) {
    return hn_q8_ceil(hn_q8_min(WIDTH, p->n - end * WIDTH), HN_VL) * HN_VL;
}

/* Elements of U before them, or before one of their chunks. */
static int64_t place_of(const geometry *g, int64_t end, int64_t columns, chunk of) {
    return SPOTS * 2 * (end * WIDTH * g->pairs + of.first * columns);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_q8 *p = call->problem;
    const hn_q8_args a = hn_q8_args_of(call);
    const geometry g = measure(p);
    const int32_t *w_sums = call->ptr[HN_CONV_Q8_W];
    const int16_t *u = (const int16_t *)(const void *)((const char *)w_sums + header_bytes(&g));
    const int64_t groups = hn_over(call->work->tasks[0], g.blocks);
    int64_t brought = -1;
    lane_parts l;
    divide(&g, lane, &l);
    memset(l.outside, a.xz, (size_t)g.pitch);
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i;
        const int64_t group = hn_digit(&at, groups);
        const block b = block_at(p, &g, at);
        if (at != brought) fill_v(&a, &g, &b, &l);
        brought = at;
        const int64_t last = hn_over(g.ends * (group + 1), groups);
        for (int64_t k = hn_over(g.ends * group, groups); k < last; k++) {
            const int64_t columns = columns_of(p, k), n0 = k * WIDTH;
            hn_q8_outputs to;
            begin_outputs(&a, w_sums + n0, x_off(p), TAPS * p->c, n0, hn_q8_min(WIDTH, p->n - n0),
                          &to);
            for (int64_t j = 0; j < g.chunks; j++) {
                const chunk of = chunk_at(&g, j);
                fill_m(&g, &l, &b, u + place_of(&g, k, columns, of), columns, of);
                empty_m(&g, &l, &b, &to, j == 0, j == g.chunks - 1);
            }
        }
    }
}

/* ---- weights ---- */

static size_t packed_bytes(const void *problem) {
    const geometry g = measure(problem);
    const int64_t columns = hn_q8_ceil(((const hn_conv_q8 *)problem)->n, HN_VL) * HN_VL;
    return header_bytes(&g) + (size_t)(SPOTS * g.pairs * columns * 2) * sizeof(int16_t);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t of[] = {p->c, p->n, p->w_o, p->w_i, p->w_y, p->w_x, p->w_type, HN_VL, OUT};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

static int64_t pack_tasks(const void *problem) { return measure(problem).ends; }

/* y = G w, of the outputs of a panel. */
HN_INLINE void transform_weights(const int16_t (*w)[NR], int step, int16_t (*y)[NR]) {
    const int16_t(*const w1)[NR] = w + step, (*const w2)[NR] = w + 2 * step;
    for (int o = 0; o < NR; o++) {
        const int even = (*w)[o] + (*w2)[o], far = (*w)[o] + 4 * (*w2)[o], odd = (*w1)[o];
        y[0][o] = (int16_t)(6 * (*w)[o]);
        y[1][o] = (int16_t)(-4 * (even + odd));
        y[2][o] = (int16_t)(-4 * (even - odd));
        y[3][o] = (int16_t)(far + 2 * odd);
        y[4][o] = (int16_t)(far - 2 * odd);
        y[5][o] = (int16_t)(12 * (*w2)[o]);
    }
}

/* The weights of some outputs, from `plain` on, by a channel to U; adds to their sums. */
static void pack_channel(const hn_conv_q8 *p, const uint8_t *plain, int64_t outputs,
                         int16_t (*restrict u)[NR], int32_t *restrict sums) {
    int16_t w[TAPS][NR] = {{0}}, half[3][IN][NR];
    for (int64_t tap = 0; tap < TAPS; tap++)
        for (int64_t o = 0; o < outputs; o++) {
            w[tap][o] = hn_q8_weight(p, plain, o * p->w_o + tap / 3 * p->w_y + tap % 3 * p->w_x);
            sums[o] += w[tap][o];
        }
    for (int j = 0; j < 3; j++) transform_weights(w + j, 3, half[j]);
    for (int i = 0; i < IN; i++) {
        int16_t row[3][NR];
        for (int j = 0; j < 3; j++) memcpy(row[j], half[j][i], sizeof row[j]);
        transform_weights((const int16_t(*)[NR])row, 1, u + i * IN);
    }
}

/* A chunk of the U of some panels. */
static void pack_chunk(const hn_conv_q8 *p, const uint8_t *plain, int64_t outputs, int64_t columns,
                       chunk of, int16_t *to, int32_t *sums) {
    for (int64_t n = 0; n < columns; n += NR)
        for (int64_t c = 2 * of.first; c < 2 * (of.first + of.n); c++) {
            const int64_t some = hn_q8_min(NR, columns - n);
            int16_t u[SPOTS][NR] = {{0}};
            if (c < p->c)
                pack_channel(p, plain + n * p->w_o + c * p->w_i, hn_q8_min(NR, outputs - n), u,
                             sums + n);
            for (int64_t e = 0; e < SPOTS; e++) {
                int16_t *pair = to + (e * columns + n) * of.n * 2 + (c / 2 - of.first) * some * 2;
                for (int64_t o = 0; o < some; o++) pair[2 * o + c % 2] = u[e][o];
            }
        }
}

/* A task is WIDTH outputs. */
static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_q8 *p = problem;
    const geometry g = measure(p);
    memset((int32_t *)dst + begin * WIDTH, 0, (size_t)((end - begin) * WIDTH) * sizeof(int32_t));
    for (int64_t i = begin; i < end; i++) {
        int16_t *u = (int16_t *)(void *)((char *)dst + header_bytes(&g));
        const uint8_t *w = (const uint8_t *)plain->data + i * WIDTH * p->w_o;
        const int64_t outputs = hn_q8_min(WIDTH, p->n - i * WIDTH), columns = columns_of(p, i);
        for (int64_t k = 0; k < g.chunks; k++) {
            const chunk of = chunk_at(&g, k);
            pack_chunk(p, w, outputs, columns, of, u + place_of(&g, i, columns, of),
                       (int32_t *)dst + i * WIDTH);
        }
    }
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_q8 *p = problem;
    if (p->kh != 3 || p->kw != 3) return *why = "not 3x3", false;
    if (p->sh != 1 || p->sw != 1 || p->dh != 1 || p->dw != 1)
        return *why = "stride or dilation", false;
    if (p->groups != 1) return *why = "groups", false;
    if (p->w_zero_points) return *why = "weights have zero points", false;
    if (p->c < 8 || p->n < 8) return *why = "too few channels", false;
    const int64_t tiles = hn_q8_ceil(p->oh, OUT) * hn_q8_ceil(p->ow, OUT);
    if (2 * p->oh * p->ow < tiles * OUT * OUT) return *why = "too few pixels", false;
    /* They are eight times the plain ones, and most are in no near cache: 512 channels of 7x7 pixels
     * take as long as directly, 256 of 14x14 a third less time (Granite Rapids). */
    if (p->c * p->n > 128 * 128 && tiles < 8) return *why = "too many weights", false;
    return true;
}

/* Whether the row is faster than dot products of bytes. These need an eighth of the weights. Here
 * they must stay in L2 from block to block, or a block must have pixels enough for the time that they
 * take to pass (28x28 of 128 channels: 349 us, directly 482; 14x14 of 256: 514 and 446; Cascade Lake).
 * And they must be multiplied by so many pixels in all that it does not matter how long they take to
 * get there. Few channels do not make up for the transforms. */
static bool pays(const void *problem, const char **why) {
    enum { LEAST_CHANNELS = 32, PIXELS_OF_BLOCK = 448, PIXELS = 512, PIXELS_NEAR = 128 };
    const hn_conv_q8 *p = problem;
    const geometry g = measure(p);
    if (hn_q8_min(p->c, p->n) < LEAST_CHANNELS) return *why = "few channels", false;
    if (g.u_bytes > hn_of_l2(STAYING_BYTES) && g.rows * g.columns * OUT * OUT < PIXELS_OF_BLOCK)
        return *why = "weights do not stay in L2", false;
    if (p->batch * p->oh * p->ow < (g.far ? PIXELS : PIXELS_NEAR))
        return *why = "few pixels for so many weights", false;
    return true;
}

const hn_kernel ROW = {
    .name = NAME,
    .isa = ISA,
    .order = "exact",
    .ok = ok,
    .pays = DOT_PRODUCTS ? pays : NULL,
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack_tasks = pack_tasks,
    .pack_worth = 64,
    .pack = pack,
};

#endif
