/* Weights as rows of conv_f32 pack them: those of HN_VL outputs side by side, for a channel and a
 * tap at a time.
 *
 *     hn_columns k = hn_columns_of(p, w, first output, outputs, first channel, channels, room);
 *     hn_vf v = hn_column(&k, channel, tap);
 *
 * The usual layout [output][channel][ky][kx] is transposed into `room` by squares of vectors, and
 * read in runs. Where outputs are adjacent, vectors are loaded from where they lie. Other layouts,
 * and windows of more than HN_COLUMNS_ROWS taps, are read one float at a time.
 *
 * Include the vocabulary first, as for simd/math.h.
 */
#ifndef HN_KERNELS_CONV_F32_COLUMNS_H
#define HN_KERNELS_CONV_F32_COLUMNS_H

#include "kernels/conv_f32/conv_f32.h"
#include "simd/part.h"

enum { HN_COLUMNS_ROWS = 512 }; /* products of a channel and a tap that a room holds */

typedef float hn_columns_room[HN_COLUMNS_ROWS * HN_VL];

typedef struct hn_columns {
    const hn_conv_f32 *p;
    const hn_any_f32 *w; /* of the first output and channel */
    int64_t n;           /* outputs, 0 < n <= HN_VL; the lanes of others are 0 */
    const float *turned; /* [channel][tap][HN_VL], or NULL */
} hn_columns;

/* Channels that fit into a room, at least 1. */
static inline int64_t hn_columns_channels(const hn_conv_f32 *p) {
    int64_t n = HN_COLUMNS_ROWS / (p->kh * p->kw);
    return n > 0 ? n : 1;
}

/* to[k * width + j] = from[j * stride + k] for k < run and j < n, and 0 for other j < HN_VL. */
HN_INLINE void hn_columns_turn(const hn_any_f32 *from, int64_t stride, int64_t n, int64_t run,
                               int64_t width, float *to) {
    for (int64_t k = 0; k < run; k += HN_VL) {
        int64_t left = run - k < HN_VL ? run - k : HN_VL;
        hn_vf square[HN_VL];
        for (int j = 0; j < HN_VL; j++)
            square[j] = j < n ? hn_v_load_part((const float *)(from + j * stride + k), left)
                              : hn_v_set1(0.0f);
        hn_v_transpose(square);
        for (int j = 0; j < left; j++) hn_v_store(to + (k + j) * width, square[j]);
    }
}

static inline hn_columns hn_columns_of(const hn_conv_f32 *p, const void *w, int64_t first,
                                       int64_t n, int64_t c0, int64_t channels, float *room) {
    int64_t taps = p->kh * p->kw;
    hn_columns k = {p, (const hn_any_f32 *)w + first * p->w_o + c0 * p->w_i, n, NULL};
    bool in_runs = p->w_i == taps && (p->kh == 1 || p->w_y == p->kw) && (p->kw == 1 || p->w_x == 1);
    if (p->w_o == 1 || !in_runs || channels * taps > HN_COLUMNS_ROWS) return k;
    hn_columns_turn(k.w, p->w_o, n, channels * taps, HN_VL, room);
    k.turned = room;
    return k;
}

HN_INLINE hn_vf hn_column(const hn_columns *k, int64_t channel, int64_t tap) {
    const hn_conv_f32 *p = k->p;
    if (k->turned != NULL) return hn_v_load(k->turned + (channel * p->kh * p->kw + tap) * HN_VL);
    const hn_any_f32 *w = k->w + channel * p->w_i;
    if (tap > 0) w += tap / p->kw * p->w_y + tap % p->kw * p->w_x;
    if (p->w_o == 1) return hn_v_load_part((const float *)w, k->n);
    float lane[HN_VL] = {0};
    for (int64_t j = 0; j < k->n; j++) lane[j] = w[j * p->w_o];
    return hn_v_load(lane);
}

/* All products of n outputs from `first` on: [tap][channel], `width` floats from each to the next.
 */
static inline void hn_columns_pack(const hn_conv_f32 *p, const void *w, int64_t first, int64_t n,
                                   int64_t width, float *to) {
    hn_columns_room room;
    int64_t taps = p->kh * p->kw, channels = p->c / p->groups, most = hn_columns_channels(p);
    for (int64_t c = 0; c < channels; c += most) {
        int64_t some = channels - c < most ? channels - c : most;
        hn_columns k = hn_columns_of(p, w, first, n, c, some, room);
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t i = 0; i < some; i++)
                hn_v_store(to + (tap * channels + c + i) * width, hn_column(&k, i, tap));
    }
}

#endif
