/* Pixels that the row of conv_q8 for AMX cannot read in place, copied into scratch. */
#ifndef HN_KERNELS_CONV_Q8_AMX_COPY_H
#define HN_KERNELS_CONV_Q8_AMX_COPY_H
#ifdef __AVX512VNNI__

#include "kernels/conv_q8/conv_q8_amx_geometry.h"

/* n bytes; may write up to 64 bytes behind the last. */
static inline uint8_t *copy_some(uint8_t *to, const uint8_t *from, int64_t n) {
    if (n <= 32) {
        __mmask32 m = (__mmask32)first64(n);
        _mm256_storeu_si256((__m256i *)to, _mm256_maskz_loadu_epi8(m, from));
        return to + n;
    }
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
    if (i < n) _mm512_storeu_si512(to + i, _mm512_maskz_loadu_epi8(first64(n - i), from + i));
    return to + n;
}

/* n times the byte v; may write up to 64 bytes behind the last. */
static inline void fill_some(uint8_t *to, __m512i v, int64_t n) {
    for (int64_t i = 0; i < n; i += 64) _mm512_storeu_si512(to + i, v);
}

/* Columns [col, col + n) of a padded row of x, of which x points to the first inside the image;
 * NULL: none is. Pixels become slabs of 64 channels, `next` apart. */
static void copy_line(const hn_q8_args *a, const uint8_t *x, int64_t col, int64_t n, uint8_t *to,
                      int64_t slabs, int64_t next) {
    const hn_conv_q8 *p = a->p;
    const __m512i padding = _mm512_set1_epi8((char)a->xz);
    const __mmask64 last = first64(p->c - (slabs - 1) * STEP);
    for (int64_t ix = col - p->pl; n > 0; n--, ix++, to += STEP) {
        uint8_t *d = to;
        if (x != NULL && ix >= 0 && ix < p->w) {
            const uint8_t *from = x + ix * p->x_pixel;
            for (int64_t b = 0; b + 1 < slabs; b++, d += next, from += STEP)
                _mm512_store_si512(d, _mm512_loadu_si512(from));
            _mm512_store_si512(d, _mm512_maskz_loadu_epi8(last, from));
        } else {
            for (int64_t b = 0; b < slabs; b++, d += next) _mm512_store_si512(d, padding);
        }
    }
}

/* The same as they are in x. */
static void copy_run(const hn_q8_args *a, const uint8_t *x, int64_t col, int64_t n, uint8_t *to) {
    const hn_conv_q8 *p = a->p;
    const __m512i padding = _mm512_set1_epi8((char)a->xz);
    int64_t ix = col - p->pl, first = hn_q8_min(n, hn_q8_max(0, -ix));
    int64_t last = x == NULL ? 0 : hn_q8_min(n, p->w - ix);
    if (last <= first) {
        fill_some(to, padding, n * p->c);
        return;
    }
    fill_some(to, padding, first * p->c);
    x += (ix + first) * p->x_pixel, to += first * p->c;
    if (p->x_pixel == p->c)
        to = copy_some(to, x, (last - first) * p->c);
    else
        for (int64_t i = first; i < last; i++, x += p->x_pixel) to = copy_some(to, x, p->c);
    fill_some(to, padding, (n - last) * p->c);
}

/* 16 bytes in both halves of a vector, of which the first n are there. */
static inline __m256i load_twice(const uint8_t *from, int64_t n) {
    return _mm256_broadcastsi128_si256(n >= 16 ? _mm_loadu_si128((const __m128i *)from)
                                               : _mm_maskz_loadu_epi8((__mmask16)first64(n), from));
}

/* Where the bytes of a vector of woven pixels come from: in 16 of the first row, of the second. */
typedef struct weave_order {
    _Alignas(32) uint8_t row[2][32];
} weave_order;

static weave_order order_of(int64_t c) {
    weave_order o;
    memset(&o, 0x80, sizeof o);
    uint8_t at = 0, pixel = 0;
    for (; pixel < 16 / c; pixel++)
        for (int row = 0; row < 2; row++)
            for (int64_t i = 0; i < c; i++) o.row[row][at++] = (uint8_t)(pixel * c + i);
    return o;
}

/* The same of two rows, woven; NULL: outside the image. */
static void copy_woven(const hn_q8_args *a, const weave_order *order, const uint8_t *x0,
                       const uint8_t *x1, int64_t col, int64_t n, uint8_t *to) {
    const hn_conv_q8 *p = a->p;
    const int64_t c = p->c, some = 16 / c; /* pixels of a vector */
    const int64_t ix = col - p->pl, first = hn_q8_min(n, hn_q8_max(0, -ix));
    const bool outside = x0 == NULL && x1 == NULL;
    const int64_t last = outside ? first : hn_q8_max(first, hn_q8_min(n, p->w - ix));
    const __m512i padding = _mm512_set1_epi8((char)a->xz);
    const __m256i none = _mm512_castsi512_si256(padding);
    const __m256i order0 = _mm256_load_si256((const __m256i *)order->row[0]);
    const __m256i order1 = _mm256_load_si256((const __m256i *)order->row[1]);
    fill_some(to, padding, first * 2 * c);
    to += first * 2 * c;
    for (int64_t i = first; i < last; i += some) {
        const int64_t at = (ix + i) * c, left = (last - i) * c;
        __m256i v0 = x0 != NULL ? load_twice(x0 + at, left) : none;
        __m256i v1 = x1 != NULL ? load_twice(x1 + at, left) : none;
        __m256i both =
            _mm256_or_si256(_mm256_shuffle_epi8(v0, order0), _mm256_shuffle_epi8(v1, order1));
        _mm256_storeu_si256((__m256i *)(to + (i - first) * 2 * c), both);
    }
    to += (last - first) * 2 * c;
    fill_some(to, padding, (n - last) * 2 * c);
}

/* Positions [q0, q0 + count) of a line into `to`. */
static void copy_lines(const hn_q8_args *a, const geometry *g, uint8_t *to, int64_t line,
                       int64_t q0, int64_t count) {
    const hn_conv_q8 *p = a->p;
    weave_order order;
    if (g->woven > 1) order = order_of(p->c);
    int64_t width = g->pw * p->sw;
    for (int64_t phase = 0; phase < g->phases; phase++, to += g->plane) {
        int64_t col = q0 % g->pw * p->sw, row = q0 / g->pw % g->wrap;
        int64_t image = line + q0 / g->pw / g->wrap;
        uint8_t *dst = to;
        for (int64_t left = count * p->sw; left > 0;) {
            int64_t iy = row * p->sh + phase - p->pt, n = hn_q8_min(left, width - col);
            bool inside = iy >= 0 && iy < p->h && image < p->batch;
            const uint8_t *x = inside ? a->x + image * p->x_image + iy * p->x_row : NULL;
            if (g->woven > 1) {
                bool below = image < p->batch && iy + 1 >= 0 && iy + 1 < p->h;
                const uint8_t *next =
                    below ? a->x + image * p->x_image + (iy + 1) * p->x_row : NULL;
                copy_woven(a, &order, x, next, col, n, dst);
            } else if (g->source == RUNS)
                copy_run(a, x, col, n, dst);
            else
                copy_line(a, x, col, n, dst, g->slabs, g->phases * g->plane);
            dst += n * g->pixel, left -= n, col = 0;
            if (++row == g->wrap) row = 0, image++;
        }
    }
}

/* The rows of the windows of some positions, which lie at these offsets from each, side by side.
 * What is too much of a row the next one takes, or the next window. */
HN_INLINE void join_rows_as(const int moved, int64_t rows, int64_t row, int64_t hop,
                            const uint8_t *from, const int64_t *offset, int64_t count,
                            uint8_t *to) {
    for (int64_t i = 0; i < count; i++, from += hop, to += STEP)
        for (int64_t ky = 0; ky < rows; ky++) memcpy(to + ky * row, from + offset[ky], moved);
}

static void join_rows(const hn_conv_q8 *p, const geometry *g, const uint8_t *from,
                      const int64_t *offset, int64_t count, uint8_t *to) {
    if (g->joined == 4)
        join_rows_as(4, p->kh, 4, g->hop, from, offset, count, to);
    else
        join_rows_as(JOINED, p->kh, g->joined, g->hop, from, offset, count, to);
}

/* The window of one position. */
static void copy_window(const hn_q8_args *a, uint8_t *to, int64_t image, int64_t oy, int64_t ox) {
    const hn_conv_q8 *p = a->p;
    int64_t x0 = ox * p->sw - p->pl, y0 = oy * p->sh - p->pt;
    bool whole = p->dw == 1 && p->x_pixel == p->c && x0 >= 0 && x0 + p->kw <= p->w;
    const uint8_t *from = a->x + image * p->x_image + y0 * p->x_row + x0 * p->x_pixel;
    for (int64_t ky = 0; ky < p->kh; ky++, from += p->dh * p->x_row) {
        int64_t iy = y0 + ky * p->dh;
        bool inside = iy >= 0 && iy < p->h;
        if (inside && whole) {
            to = copy_some(to, from, p->kw * p->c);
            continue;
        }
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t ix = x0 + kx * p->dw;
            if (inside && ix >= 0 && ix < p->w) {
                to = copy_some(to, from + kx * p->dw * p->x_pixel, p->c);
            } else {
                memset(to, a->xz, (size_t)p->c);
                to += p->c;
            }
        }
    }
}

enum { SHORT = 32 }; /* bytes */

/* Whether rows of windows are so short that each is one store, whose rest the next row of the
 * window, or nothing, takes. */
static bool has_short_rows(const hn_conv_q8 *p, int64_t pitch) {
    int64_t row = p->kw * p->c;
    return p->dw == 1 && p->x_pixel == p->c && row <= SHORT && (p->kh - 1) * row + SHORT <= pitch;
}

/* The windows of n positions from (oy, ox) on, none of which leaves the image sideways, row by row
 * of all of them. */
static void copy_short_rows(const hn_q8_args *a, uint8_t *to, int64_t pitch, int64_t image,
                            int64_t oy, int64_t ox, int64_t n) {
    const hn_conv_q8 *p = a->p;
    const int64_t row = p->kw * p->c, hop = p->sw * p->c;
    const __mmask32 mask = (__mmask32)first64(row);
    for (int64_t ky = 0; ky < p->kh; ky++, to += row) {
        int64_t iy = oy * p->sh - p->pt + ky * p->dh;
        bool inside = iy >= 0 && iy < p->h;
        const uint8_t *from =
            a->x + image * p->x_image + iy * p->x_row + (ox * p->sw - p->pl) * p->c;
        __m256i v = _mm256_set1_epi8((char)a->xz);
        for (int64_t i = 0; i < n; i++) {
            if (inside) v = _mm256_maskz_loadu_epi8(mask, from + i * hop);
            _mm256_storeu_si256((__m256i *)(to + i * pitch), v);
        }
    }
}

static void copy_windows(const hn_q8_args *a, uint8_t *to, int64_t pitch, int64_t q0,
                         int64_t count) {
    const hn_conv_q8 *p = a->p;
    int64_t ox = q0 % p->ow, oy = q0 / p->ow % p->oh, image = q0 / p->ow / p->oh;
    /* Positions [first, last) of a row see nothing beside the image. */
    int64_t first = hn_q8_ceil(hn_q8_max(0, p->pl), p->sw);
    int64_t last = p->w + p->pl >= p->kw ? (p->w + p->pl - p->kw) / p->sw + 1 : 0;
    if (!has_short_rows(p, pitch)) last = 0;
    while (count > 0) {
        int64_t end = hn_q8_min(p->ow, ox + count), n = hn_q8_min(end, last) - ox;
        bool many = ox >= first && n > 0;
        if (many)
            copy_short_rows(a, to, pitch, image, oy, ox, n);
        else
            copy_window(a, to, image, oy, ox);
        if (!many) n = 1;
        to += n * pitch, ox += n, count -= n;
        if (ox == p->ow) {
            ox = 0;
            if (++oy == p->oh) oy = 0, image++;
        }
    }
}

static void fill_offsets(const hn_conv_q8 *p, const geometry *g, int64_t *offset) {
    if (g->source == DIRECT || g->source == WINDOWS) {
        for (int64_t s = 0; s < g->steps; s++) offset[s] = s * g->depth;
        return;
    }
    bool runs = g->source == RUNS;
    int64_t row_steps = runs ? run_steps(p) : p->kw, next = runs ? g->depth : p->dw * STEP;
    for (int64_t slab = 0; slab < g->slabs; slab++)
        for (int64_t run = 0; run < (runs ? runs_of(p) : p->kh); run++)
            for (int64_t s = 0; s < row_steps; s++) {
                int64_t dy = run * g->woven * p->dh;
                *offset++ = (slab * g->phases + dy % p->sh) * g->plane +
                            dy / p->sh * g->pw * g->hop + s * next;
            }
}

#endif
#endif
