/* What becomes of sums in the row of conv_q8 for AMX: 32 positions by up to 64 outputs of them,
 * which wait in scratch until they have reached L1. */
#ifndef HN_KERNELS_CONV_Q8_AMX_FINISH_H
#define HN_KERNELS_CONV_Q8_AMX_FINISH_H
#ifdef __AVX512VNNI__

#include "kernels/conv_q8/conv_q8_amx_geometry.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 4")
#endif

/* What becomes of sums beside rounding: nothing, r is added, r is added to what was rounded. */
typedef enum residual { NONE, ADDED, TWICE } residual;

typedef struct waiting waiting;
/* Units [f->next, end). */
typedef void finisher(waiting *f, int end);

/* What the outputs of a panel, or of two, need. */
typedef struct panel {
    _Alignas(64) int32_t start[WIDE];
    _Alignas(64) float scale[WIDE];
    _Alignas(64) float fbias[WIDE];
    int64_t n0, n;
    finisher *finish;
} panel;

/* What r is: u8 whose zero point is 0, any other u8, s8. */
typedef enum r_kind { R_PLAIN, R_U8, R_S8 } r_kind;

/* What outputs of bytes need, in every lane. */
typedef struct constants {
    __m512 mr, r_less; /* r as the low byte of a float of 2^23, less that and rz */
    __m512 r_start;    /* -2^23 * mr */
    __m512i yz, lo, hi;
    __m512 lo1, hi1, m1;
    r_kind r_kind;
    bool y_moved; /* y has a zero point */
    bool limited; /* by more than the type */
    bool y_dense; /* the pixels of y, in order, have nothing between them */
} constants;

/* A block of sums that waits. */
struct waiting {
    const hn_q8_args *a;
    const constants *constants;
    const int32_t *c;
    const panel *panel;
    places at;
    int next; /* the unit to finish; UNITS: none */
};

static constants make_constants(const hn_conv_q8 *p) {
    const int32_t flip = p->r_type == HN_Q8_S8 ? 0x80 : 0;
    return (constants){
        .mr = _mm512_set1_ps(p->mr),
        .r_less = _mm512_set1_ps(0x1p23F + (float)(p->rz + flip)),
        .r_start = _mm512_set1_ps(-0x1p23F * p->mr),
        .yz = _mm512_set1_epi16((short)p->yz),
        .lo = _mm512_set1_epi8((char)p->lo),
        .hi = _mm512_set1_epi8((char)p->hi),
        .lo1 = _mm512_set1_ps((float)p->lo1),
        .hi1 = _mm512_set1_ps((float)p->hi1),
        .m1 = _mm512_set1_ps(p->m1),
        .r_kind = flip != 0    ? R_S8
                  : p->rz != 0 ? R_U8
                               : R_PLAIN,
        .y_moved = p->yz != 0,
        .limited = p->hi - p->lo < 255,
        .y_dense = p->y_pixel == p->n && is_even(p, p->y_image, p->y_row, p->y_pixel)};
}

/* What is the same for all rows of bytes of a panel. */
typedef struct bytes_of {
    constants all;
    __m512 scale[4];
    const uint8_t *r;
    __mmask16 mask[4];
} bytes_of;

/* 16 bytes of r, in each quarter of a vector. */
HN_INLINE __m512i load_residual(const bytes_of *of, int64_t at, int quarter, bool whole) {
    const uint8_t *from = of->r + at + quarter * 16;
    return _mm512_broadcast_i32x4(whole ? _mm_loadu_si128((const __m128i *)from)
                                        : _mm_maskz_loadu_epi8(of->mask[quarter], from));
}

/* (float)(r - rz) * mr of such bytes. One shuffle puts each where it is the last of a float; s8 are
 * moved to 0 .. 255. Of plain r the product with 2^23, which is exact, is taken away as the sum is
 * rounded, once as without it. */
HN_INLINE __m512 scaled_residual(const bytes_of *of, __m512i r, r_kind kind) {
    const __m512i order = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i wide =
        _mm512_mask_shuffle_epi8(_mm512_set1_epi32(0x4b000000), 0x1111111111111111, r, order);
    if (kind == R_PLAIN)
        return _mm512_fmadd_ps(_mm512_castsi512_ps(wide), of->all.mr, of->all.r_start);
    if (kind == R_S8) wide = _mm512_xor_si512(wide, _mm512_set1_epi32(0x80));
    return _mm512_mul_ps(_mm512_sub_ps(_mm512_castsi512_ps(wide), of->all.r_less), of->all.mr);
}

/* 16 outputs, a quarter of a row, and what is added to them. Of what is rounded in between,
 * limits leave so little that a large number added and taken away again rounds it. */
HN_INLINE __m512i requantize(const bytes_of *of, const int32_t *c, __m512i r, int quarter,
                             residual added, r_kind kind) {
    const __m512 large = _mm512_set1_ps(0x1.8p23F);
    __m512i sum = _mm512_load_si512(c + quarter * 16);
    __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), of->scale[quarter]);
    if (added == TWICE) {
        v = _mm512_min_ps(of->all.hi1, _mm512_max_ps(of->all.lo1, v));
        v = _mm512_mul_ps(_mm512_sub_ps(_mm512_add_ps(v, large), large), of->all.m1);
    }
    if (added != NONE) v = _mm512_add_ps(v, scaled_residual(of, r, kind));
    return _mm512_cvtps_epi32(v);
}

/* Four vectors of 16 outputs as bytes, one after the other. 16 bits saturate where 8 bits with
 * their zero point do anyway. */
HN_INLINE __m512i narrow(const bytes_of *of, const __m512i *v, bool is_signed) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i a = _mm512_packs_epi32(v[0], v[1]), b = _mm512_packs_epi32(v[2], v[3]);
    if (of->all.y_moved) a = _mm512_adds_epi16(a, of->all.yz), b = _mm512_adds_epi16(b, of->all.yz);
    __m512i all = is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
    if (of->all.limited)
        all = is_signed ? _mm512_min_epi8(_mm512_max_epi8(all, of->all.lo), of->all.hi)
                        : _mm512_min_epu8(_mm512_max_epu8(all, of->all.lo), of->all.hi);
    return _mm512_permutexvar_epi32(order, all);
}

/* Rows of sums of a panel that end as bytes at y. */
typedef struct rows_of {
    const int32_t *c;
    const int64_t *at, *r;
    uint8_t *y;
    int64_t n; /* outputs of a row */
    int rows;
} rows_of;

/* What is added to the outputs of a vector: rows i .. i + n - 1 of 64 / n outputs, or fewer. Of a
 * row that is not there nothing is read: its place is another's, who may be writing. */
HN_INLINE void load_residuals(const bytes_of *of, const rows_of *rows, int i, const int n,
                              bool whole, residual added, __m512i *r) {
    const int64_t *at = rows->r + i, *y = rows->at + i;
    const int each = 4 / n;
    int64_t missing = 0; /* negative */
    UNROLL for (int k = 0; k < n; k++) missing |= y[k];
    if (added == NONE) {
        UNROLL for (int k = 0; k < 4; k++) r[k] = _mm512_setzero_si512();
    } else if (whole && missing >= 0) {
        UNROLL for (int k = 0; k < 4; k++) r[k] = load_residual(of, at[k / each], k % each, true);
    } else {
        UNROLL for (int k = 0; k < 4; k++) r[k] =
            y[k / each] < 0 ? _mm512_setzero_si512()
                            : load_residual(of, at[k / each], k % each, false);
    }
}

/* The bytes of such rows. */
HN_INLINE __m512i make_rows(const bytes_of *of, const int32_t *c, const __m512i *r, const int rows,
                            bool is_signed, residual added, r_kind kind) {
    const int each = 4 / rows;
    __m512i v[4];
    UNROLL for (int i = 0; i < 4; i++) v[i] =
        requantize(of, c + i / each * WIDE, r[i], i % each, added, kind);
    return narrow(of, v, is_signed);
}

/* Rows of 16 outputs or fewer. */
HN_INLINE void finish_narrow(const bytes_of *of, rows_of rows, bool is_signed, residual added,
                             r_kind kind) {
    const bool whole = rows.n == 16, dense = whole && of->all.y_dense;
    for (int i = 0; i < rows.rows; i += 4, rows.c += 4 * WIDE) {
        const int64_t *at = rows.at + i;
        __m512i r[4];
        load_residuals(of, &rows, i, 4, whole, added, r);
        __m512i all = make_rows(of, rows.c, r, 4, is_signed, added, kind);
        if (dense && at[0] >= 0 && at[3] == at[0] + 3 * 16) {
            _mm512_storeu_si512(rows.y + at[0], all);
            continue;
        }
        UNROLL for (int k = 0; k < 4; k++) {
            __m128i one = _mm512_castsi512_si128(all);
            if (at[k] >= 0) _mm_mask_storeu_epi8(rows.y + at[k], of->mask[0], one);
            all = _mm512_alignr_epi64(all, all, 2);
        }
    }
}

/* Of 32 or fewer. What is added is loaded before the rows above are stored: a load waits for a
 * store to the same place, even if a mask leaves that out. */
HN_INLINE void finish_half(const bytes_of *of, rows_of rows, bool is_signed, residual added,
                           r_kind kind) {
    const __mmask32 m = (__mmask32)first64(rows.n);
    const bool whole = rows.n == PANEL;
    __m512i r[4], next[4];
    load_residuals(of, &rows, 0, 2, whole, added, next);
    for (int i = 0; i < rows.rows; i += 2, rows.c += 2 * WIDE) {
        const int64_t *at = rows.at + i;
        uint8_t *y0 = rows.y + at[0], *y1 = rows.y + at[1];
        memcpy(r, next, sizeof r);
        if (i + 2 < rows.rows) load_residuals(of, &rows, i + 2, 2, whole, added, next);
        __m512i both = make_rows(of, rows.c, r, 2, is_signed, added, kind);
        if (whole && at[0] >= 0 && at[1] >= 0) {
            _mm256_storeu_si256((__m256i *)y0, _mm512_castsi512_si256(both));
            _mm256_storeu_si256((__m256i *)y1, _mm512_extracti64x4_epi64(both, 1));
        } else {
            if (at[0] >= 0) _mm256_mask_storeu_epi8(y0, m, _mm512_castsi512_si256(both));
            if (at[1] >= 0) _mm256_mask_storeu_epi8(y1, m, _mm512_extracti64x4_epi64(both, 1));
        }
    }
}

/* Of more. */
HN_INLINE void finish_wide(const bytes_of *of, rows_of rows, bool is_signed, residual added,
                           r_kind kind) {
    const __mmask64 m = first64(rows.n);
    const bool whole = rows.n == WIDE;
    for (int i = 0; i < rows.rows; i++, rows.c += WIDE) {
        __m512i r[4];
        if (rows.at[i] < 0) continue;
        load_residuals(of, &rows, i, 1, whole, added, r);
        __m512i all = make_rows(of, rows.c, r, 1, is_signed, added, kind);
        if (whole)
            _mm512_storeu_si512(rows.y + rows.at[i], all);
        else
            _mm512_mask_storeu_epi8(rows.y + rows.at[i], m, all);
    }
}

HN_INLINE void finish_rows(const bytes_of *of, rows_of rows, bool is_signed, residual added,
                           r_kind kind) {
    if (rows.n <= 16)
        finish_narrow(of, rows, is_signed, added, kind);
    else if (rows.n <= PANEL)
        finish_half(of, rows, is_signed, added, kind);
    else
        finish_wide(of, rows, is_signed, added, kind);
}

/* All units: bytes are finished together. */
HN_INLINE void finish_bytes(waiting *f, int end, bool is_signed, residual added) {
    const panel *own = f->panel;
    const uint64_t mask = first64(own->n);
    const bytes_of of = {
        .all = *f->constants,
        .scale = {_mm512_load_ps(own->scale), _mm512_load_ps(own->scale + 16),
                  _mm512_load_ps(own->scale + 32), _mm512_load_ps(own->scale + 48)},
        .r = added != NONE ? (const uint8_t *)f->a->r + own->n0 : NULL,
        .mask = {(__mmask16)mask, (__mmask16)(mask >> 16), (__mmask16)(mask >> 32),
                 (__mmask16)(mask >> 48)}};
    const rows_of rows = {.c = f->c,
                          .at = f->at.y,
                          .r = f->at.r,
                          .y = (uint8_t *)f->a->y + own->n0,
                          .n = own->n,
                          .rows = 2 * end};
    if (added == NONE || of.all.r_kind == R_PLAIN)
        finish_rows(&of, rows, is_signed, added, R_PLAIN);
    else if (of.all.r_kind == R_U8)
        finish_rows(&of, rows, is_signed, added, R_U8);
    else
        finish_rows(&of, rows, is_signed, added, R_S8);
    f->next = end;
}
static void finish_u8(waiting *f, int end) { finish_bytes(f, end, false, NONE); }
static void finish_u8_added(waiting *f, int end) { finish_bytes(f, end, false, ADDED); }
static void finish_u8_twice(waiting *f, int end) { finish_bytes(f, end, false, TWICE); }
static void finish_s8(waiting *f, int end) { finish_bytes(f, end, true, NONE); }
static void finish_s8_added(waiting *f, int end) { finish_bytes(f, end, true, ADDED); }
static void finish_s8_twice(waiting *f, int end) { finish_bytes(f, end, true, TWICE); }

/* Two rows at a time: activations are long chains of operations, of which a core runs several side
 * by side if they stand side by side. Hence no branch around the stores either. */
HN_INLINE void finish_floats(waiting *f, int end, hn_act_kind kind) {
    const hn_act *act = &f->a->p->act;
    const panel *of = f->panel;
    const __m512 act_a = _mm512_set1_ps(act->a), act_b = _mm512_set1_ps(act->b);
    for (int64_t n = 0; n < of->n; n += PANEL) {
        const uint64_t mask = first64(of->n - n);
        const __mmask16 m[] = {(__mmask16)mask, (__mmask16)(mask >> 16)};
        for (int unit = f->next; unit < end; unit++) {
            const int32_t *c = f->c + unit * 2 * WIDE + n;
            const int64_t *at = f->at.y + unit * 2, *r_at = f->at.r + unit * 2;
            __m512 v[4];
            UNROLL for (int k = 0; k < 4; k++) {
                const int row = k / 2, i = k % 2 * 16;
                __m512i acc = _mm512_load_si512(c + row * WIDE + i);
                v[k] = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), _mm512_load_ps(of->scale + n + i));
                if (f->a->fbias != NULL)
                    v[k] = _mm512_add_ps(v[k], _mm512_load_ps(of->fbias + n + i));
                if (f->a->r != NULL) {
                    const float *r = (const float *)f->a->r + r_at[row] + of->n0 + n;
                    const __mmask16 there = at[row] >= 0 ? m[k % 2] : 0;
                    v[k] = _mm512_add_ps(v[k], _mm512_maskz_loadu_ps(there, r + i));
                }
            }
            UNROLL for (int k = 0; k < 4; k++) v[k] = hn_v_act(v[k], kind, act_a, act_b);
            UNROLL for (int k = 0; k < 4; k++) {
                float *y = (float *)f->a->y + at[k / 2] + of->n0 + n + k % 2 * 16;
                _mm512_mask_storeu_ps(y, at[k / 2] >= 0 ? m[k % 2] : 0, v[k]);
            }
        }
    }
    f->next = end;
}
#define HN_X(name, formula) \
    static void finish_##name(waiting *f, int end) { finish_floats(f, end, HN_ACT_##name); }
HN_ACT_LIST(HN_X)
#undef HN_X

/* Floats that become bytes, two rows of a panel as one vector. */
static void finish_through_floats(waiting *f, int end) {
    const hn_conv_q8 *p = f->a->p;
    const panel *of = f->panel;
    const hn_q8_end bounds = hn_q8_end_of(p->y, p->yz, p->lo, p->hi);
    const hn_q8_scale scale = hn_q8_scale_of(p->ys);
    const int rows = 2 * (end - f->next);
    const int64_t *at = f->at.y + 2 * f->next;
    _Alignas(64) float v[PAIR * PANEL];
    for (int64_t n = 0; n < of->n; n += PANEL) {
        const int32_t *c = f->c + 2 * f->next * WIDE + n;
        const __mmask32 m = (__mmask32)first64(of->n - n);
        for (int i = 0; i < rows * PANEL; i += 16) {
            const int64_t o = n + i % PANEL;
            __m512i sums = _mm512_load_si512(c + i / PANEL * WIDE + i % PANEL);
            __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_load_ps(of->scale + o));
            _mm512_store_ps(v + i, _mm512_add_ps(scaled, _mm512_load_ps(of->fbias + o)));
        }
        hn_q8_activate(&p->act, v, rows * PANEL);
        for (int row = 0; row < rows; row += 2) {
            __m512i q[4];
            hn_vf x[4];
            hn_q8_fetch_f32(v + row * PANEL, 1, 0, HN_VB, x);
            hn_q8_divide(&scale, &bounds, x, q);
            __m512i both = hn_q8_to_bytes(&bounds, q);
            uint8_t *y = (uint8_t *)f->a->y + of->n0 + n;
            _mm256_mask_storeu_epi8(y + at[row], at[row] >= 0 ? m : 0,
                                    _mm512_castsi512_si256(both));
            _mm256_mask_storeu_epi8(y + at[row + 1], at[row + 1] >= 0 ? m : 0,
                                    _mm512_extracti64x4_epi64(both, 1));
        }
    }
    f->next = end;
}

/* Sums as they are, less what the zero points of weights add. */
HN_INLINE void store_sums(waiting *f, int end, bool zero_points) {
    const panel *of = f->panel;
    const __m512i w_off = _mm512_set1_epi32(hn_q8_w_off(f->a->p));
    for (int64_t n = 0; n < of->n; n += 16) {
        const __mmask16 m = (__mmask16)first64(of->n - n);
        __m512i zero = _mm512_setzero_si512();
        if (zero_points)
            zero = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(m, f->a->wz + of->n0 + n), w_off);
        for (int row = 2 * f->next; row < 2 * end; row++) {
            if (f->at.y[row] < 0) continue;
            __m512i sum = _mm512_load_si512(f->c + row * WIDE + n);
            if (zero_points) {
                __m512i window = _mm512_set1_epi32(f->at.window_sum[row]);
                sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(zero, window));
            }
            _mm512_mask_storeu_epi32((int32_t *)f->a->y + f->at.y[row] + of->n0 + n, m, sum);
        }
    }
    f->next = end;
}
static void finish_s32(waiting *f, int end) { store_sums(f, end, false); }
static void finish_s32_less_zeros(waiting *f, int end) { store_sums(f, end, true); }

static void finish_slowly(waiting *f, int end) {
    const panel *of = f->panel;
    for (int row = 2 * f->next; row < 2 * end; row++) {
        if (f->at.y[row] >= 0)
            hn_q8_finish(f->a, f->c + row * WIDE, of->scale, of->n0, of->n,
                         f->a->p->w_zero_points ? f->at.window_sum[row] : 0, f->at.y[row] + of->n0,
                         f->at.r[row] + of->n0);
    }
    f->next = end;
}

/* Its products with what a byte may be are well within s32. */
static bool is_small(float m) { return m * 512 < 0x1p29F && m * 512 > -0x1p29F; }

/* By whole vectors, where weights have no zero points and nothing leaves s32. */
static finisher *choose_finisher(const panel *f, const hn_q8_args *a) {
    static finisher *const floats[] = {
#define HN_X(name, formula) finish_##name,
        HN_ACT_LIST(HN_X)
#undef HN_X
    };
    const hn_conv_q8 *p = a->p;
    if (p->y == HN_Q8_S32) return p->w_zero_points ? finish_s32_less_zeros : finish_s32;
    if (p->w_zero_points) return finish_slowly;
    if (p->y == HN_Q8_F32) return floats[p->act.kind];
    if (hn_conv_q8_has_floats(p)) return finish_through_floats;
    bool is_signed = p->y == HN_Q8_S8;
    if (a->r != NULL && !is_small(p->mr)) return finish_slowly;
    if (a->r != NULL && p->twice)
        return !is_small(p->m1) ? finish_slowly : is_signed ? finish_s8_twice : finish_u8_twice;
    for (int i = 0; i < WIDE; i++)
        if (f->scale[i] > 0.5F || f->scale[i] < -0.5F) return finish_slowly;
    if (a->r != NULL) return is_signed ? finish_s8_added : finish_u8_added;
    return is_signed ? finish_s8 : finish_u8;
}

/* n outputs from n0 on. */
static void begin_panel(panel *f, const hn_q8_args *a, const int32_t *w_sums, int64_t n0,
                        int64_t n) {
    f->n0 = n0, f->n = n;
    if (n < WIDE) memset(f->start, 0, sizeof f->start), memset(f->scale, 0, sizeof f->scale);
    memset(f->fbias, 0, sizeof f->fbias);
    hn_q8_begin(a, w_sums + n0, 0, n0, n, f->start, f->scale);
    if (a->fbias != NULL) memcpy(f->fbias, a->fbias + n0, (size_t)n * sizeof *f->fbias);
    f->finish = choose_finisher(f, a);
}

/* Some units more of what waits. */
static inline void finish_some(waiting *f, int units) {
    if (f->next < UNITS) f->panel->finish(f, f->next + units < UNITS ? f->next + units : UNITS);
}

#endif
#endif
