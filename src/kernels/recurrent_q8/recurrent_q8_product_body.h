/* Products with R in 8 bits, for recurrent_f32_body.h.
 *
 * Four k of one output, a quad, are the bytes of a lane, as `dot` takes them: sum + x . w, exactly, x
 * in u8 where X_IS_U8 and in s8 otherwise. A group of R is followed by the sums of its columns, as
 * floats, which what h has for zero is multiplied by:
 *
 *   [dirs][groups][parts] of  s8 [k/4][vectors of the part][HN_VL][4],  f32 [vectors][HN_VL]
 *
 * h in 8 bits is [dirs][batch] rows of whole vectors, and after them the scale and the zero point of
 * each. recurrent_q8_dots.h multiplies by vectors, recurrent_q8_tiles.h by tiles.
 *
 * With exact_h, h is q * sh, q an integer of 23 bits. A row of it is three pieces, each with 4 bytes
 * for every four k, and every output has a sum for each piece:
 *
 *   digits      q = 65536*a + 256*b + c, each in 8 bits
 *   WORDS       q = 256*a + c: a of even k, two s16 in 4 bytes; a of odd k; c, in u8
 *               (where there is no dot product of bytes)
 */
#ifdef UNROLL
/* Quads of k that a product takes at a time, and rows of h that it reads, and does not use, behind
 * the last. */
#ifndef QUADS
#define QUADS 1
#define ROWS_BEHIND 0
#endif

/* ---- R ---- */

static int64_t quads_of(const hn_recurrent_f32 *p) {
    return (p->hidden + 4 * QUADS - 1) / (4 * QUADS) * QUADS;
}

/* Of one part of a group. */
static int64_t part_bytes(const hn_recurrent_f32 *p, int part) {
    return units_of(p) * gates_of(p, part) * HN_VL * 4 * (quads_of(p) + 1);
}

static int64_t group_bytes(const hn_recurrent_f32 *p) {
    return part_bytes(p, 0) + (two_parts(p) ? part_bytes(p, 1) : 0);
}

static size_t packed_bytes(const void *problem) {
    const hn_recurrent_f32 *p = problem;
    return (size_t)(p->dirs * groups_of(p) * group_bytes(p));
}

/* One output, `column` lanes from the first of its part. */
static void pack_column(const int8_t *from, int64_t n, int64_t quads, int64_t lanes, int64_t column,
                        char *to) {
    int32_t sum = 0;
    for (int64_t k = 0; k < quads * 4; k += 4) {
        int8_t w[4] = {0};
        for (int i = 0; from != NULL && i < 4 && k + i < n; i++) w[i] = from[k + i];
        memcpy(to + (k / 4 * lanes + column) * 4, w, 4);
        sum += w[0] + w[1] + w[2] + w[3];
    }
    float number = (float)sum;
    memcpy(to + (quads * lanes + column) * 4, &number, sizeof number);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_recurrent_f32 *p = problem;
    int64_t n = p->hidden, all = hn_recurrent_gates(p->kind) * n, groups = groups_of(p);
    int units = units_of(p);
    char *to = (char *)dst + begin * group_bytes(p);
    for (int64_t i = begin; i < end; i++)
        for (int part = 0; part <= two_parts(p); part++) {
            int gates = gates_of(p, part);
            int64_t lanes = units * gates * HN_VL;
            for (int64_t c = 0; c < lanes; c++) {
                int64_t unit = (i % groups * units + c / (gates * HN_VL)) * HN_VL + c % HN_VL;
                int64_t row = i / groups * all + (part * 2 + c / HN_VL % gates) * n + unit;
                pack_column(unit < n ? (const int8_t *)plain->data + row * n : NULL, n, quads_of(p),
                            lanes, c, to);
            }
            to += part_bytes(p, part);
        }
}

/* ---- h ---- */

static int64_t row_bytes(const hn_recurrent_f32 *p) {
    return (p->hidden + HN_VB - 1) / HN_VB * HN_VB;
}

/* From the h of a sequence to the next. */
static int64_t h_pitch(const hn_recurrent_f32 *p) { return row_bytes(p) * (p->exact_h ? 3 : 1); }

static size_t h_bytes(const hn_recurrent_f32 *p) {
    return (size_t)(p->dirs * p->batch + ROWS_BEHIND) * (size_t)h_pitch(p) +
           (size_t)(p->dirs * p->batch) * 2 * sizeof(float);
}

/* h of a sequence in 8 bits, and its scale and zero point. */
typedef struct bytes {
    int8_t *q;
    float *scale, *zero;
} bytes;

static bytes bytes_of(const hn_recurrent_f32 *p, void *prepared, int64_t d, int64_t row) {
    int64_t at = d * p->batch + row, rows = p->dirs * p->batch;
    float *numbers = (float *)((char *)prepared + (rows + ROWS_BEHIND) * h_pitch(p));
    return (bytes){(int8_t *)prepared + at * h_pitch(p), numbers + at, numbers + rows + at};
}

/* n of h, at most a vector; 0 behind them. */
HN_INLINE hn_vf load_left(const float *h, int64_t n) {
    return n > 0 ? hn_v_load_part(h, n < HN_VL ? n : HN_VL) : hn_v_set1(0.0f);
}

static void quantize(const float *h, int64_t n, const bytes *to) {
    hn_vf lo = hn_v_set1(0.0f), hi = lo;
    for (int64_t k = 0; k < n; k += HN_VL) {
        hn_vf x = load_left(h + k, n - k);
        lo = hn_v_min(lo, x);
        hi = hn_v_max(hi, x);
    }
    float least = hn_v_hmin(lo), most = hn_v_hmax(hi);
    float scale = least == most ? 1 : (most - least) / 255;
    /* As s8, 128 less; what does not fit saturates on the way there. */
    hn_vf by = hn_v_set1(scale);
    hn_vf zero = hn_v_sub(hn_v_round(hn_v_set1(-least / scale)), hn_v_set1(128.0f));
    for (int64_t k = 0; k < n; k += HN_VB) {
        hn_vi q[4];
        for (int i = 0; i < 4; i++) {
            hn_vf x = load_left(h + k + i * HN_VL, n - k - i * HN_VL);
            q[i] = hn_v_to_int(hn_v_add(hn_v_round(hn_v_div(x, by)), zero));
        }
        hn_vb b = hn_vb_narrow(q);
        hn_vb_store(to->q + k, X_IS_U8 ? hn_vb_xor(b, hn_vb_set1(0x80)) : b);
    }
    *to->scale = scale;
    hn_v_store_n(to->zero, X_IS_U8 ? hn_v_add(zero, hn_v_set1(128.0f)) : zero, 1);
}

/* Largest |q| of exact_h: what hn_v_to_int takes, and such that sums fit s32. */
static float most_of(const hn_recurrent_f32 *p) {
    const int64_t most = (1 << 22) - 1;
#ifdef WORDS
    int64_t sums = INT32_MAX / (256 * quads_of(p)) * 256;
    return (float)(sums < most ? sums : most);
#else
    (void)p;
    return (float)most;
#endif
}

#ifndef WORDS
/* HN_VB of q as digits. */
static void store_exact(const hn_vi *q, int8_t *to, int64_t piece) {
    hn_vi digit[3][4];
    for (int i = 0; i < 4; i++) {
        hn_vi rest = q[i];
        for (int d = 2; d > 0; d--) {
            hn_vi high = hn_vi_shr(hn_vi_add(rest, hn_vi_set1(128)), 8);
            digit[d][i] = hn_vi_sub(rest, hn_vi_shl(high, 8));
            rest = high;
        }
        digit[0][i] = rest;
    }
    for (int d = 0; d < 3; d++) {
        hn_vb b = hn_vb_narrow(digit[d]);
        hn_vb_store(to + d * piece, X_IS_U8 ? hn_vb_xor(b, hn_vb_set1(0x80)) : b);
    }
}
#endif

static void split(const hn_recurrent_f32 *p, const float *h, const bytes *to) {
    int64_t n = p->hidden;
    hn_vf largest = hn_v_set1(0.0f), broken = largest; /* NaN where an h is not finite */
    for (int64_t k = 0; k < n; k += HN_VL) {
        hn_vf x = load_left(h + k, n - k);
        largest = hn_v_max(largest, hn_v_abs(x));
        broken = hn_v_fma(x, hn_v_set1(0.0f), broken);
    }
    float scale = hn_v_hmax(largest) / most_of(p);
    if (!(scale >= 0x1p-126F && scale < INFINITY)) scale = 1; /* all are 0, or broken */
    hn_vf by = hn_v_set1(scale);
    for (int64_t k = 0; k < n; k += HN_VB) {
        hn_vi q[4];
        for (int i = 0; i < 4; i++)
            q[i] = hn_v_to_int(hn_v_div(load_left(h + k + i * HN_VL, n - k - i * HN_VL), by));
        store_exact(q, to->q + k, row_bytes(p));
    }
    *to->scale = scale + hn_v_sum(broken);
    *to->zero = X_IS_U8 ? 128 : 0;
}

static void prepare(const hn_call *call, void *prepared, int64_t s, int part, int64_t d,
                    int64_t row, int64_t end) {
    const hn_recurrent_f32 *p = call->problem;
    states st = states_of(call, d, s);
    for (int64_t b = row; b < end; b++) {
        bytes to = bytes_of(p, prepared, d, b);
        const float *h = (part == 0 ? st.was : st.rh) + b * st.pitch;
        if (p->exact_h)
            split(p, h, &to);
        else
            quantize(h, p->hidden, &to);
    }
}

/* ---- products ---- */

/* Rows of h by one part of a group of R. */
typedef struct product {
    const char *r;
    bytes h;
    int64_t pitch, quads, piece; /* piece: bytes of one piece of a row, with exact_h */
} product;

/* What the sums of the pieces of q are together, without the zero points that digits have. */
HN_INLINE hn_vf all_pieces(const hn_vi *sum, hn_vf zero, hn_vf columns) {
    hn_vf a = hn_v_from_int(sum[0]), b = hn_v_from_int(sum[1]), c = hn_v_from_int(sum[2]);
    const hn_vf base = hn_v_set1(256.0f);
#ifdef WORDS
    (void)zero, (void)columns;
    return hn_v_fma(base, hn_v_add(a, b), c);
#else
    a = hn_v_fma(base, hn_v_fnma(zero, columns, a), hn_v_fnma(zero, columns, b));
    return hn_v_fma(base, a, hn_v_fnma(zero, columns, c));
#endif
}

#ifdef TILES
#include "kernels/recurrent_q8/recurrent_q8_tiles.h"
#else
#include "kernels/recurrent_q8/recurrent_q8_dots.h"
#endif

static void multiply(const hn_call *call, void *prepared, const states *st, int part, int64_t d,
                     int64_t group, int64_t row, int64_t end, hn_vf (*sum)[WIDE]) {
    (void)st;
    const hn_recurrent_f32 *p = call->problem;
    const char *r = call->ptr[HN_RECURRENT_R];
    const float *scales = call->ptr[HN_RECURRENT_SCALES];
    int gates = gates_of(p, part), units = units_of(p), count = units * gates;
    product q = {
        .r = r + (d * groups_of(p) + group) * group_bytes(p) + (part > 0 ? part_bytes(p, 0) : 0),
        .h = bytes_of(p, prepared, d, row),
        .pitch = h_pitch(p),
        .quads = quads_of(p),
        .piece = p->exact_h ? row_bytes(p) : 0};
    if (count == 4)
        some_rows(&q, 4, end - row, sum);
    else if (count == 3)
        some_rows(&q, 3, end - row, sum);
    else
        some_rows(&q, 2, end - row, sum);
    scales += d * hn_recurrent_gates(p->kind) * p->hidden;
    for (int v = 0; v < count; v++) {
        int64_t unit = (group * units + v / gates) * HN_VL, left = p->hidden - unit;
        if (left <= 0) continue;
        hn_vf m = hn_v_load_part(scales + (part * 2 + v % gates) * p->hidden + unit,
                                 left < HN_VL ? left : HN_VL);
        for (int64_t i = 0; i < end - row; i++) sum[i][v] = hn_v_mul(sum[i][v], m);
    }
}

#endif
