/* What rows of matmul_nbits share (include a vector vocabulary first): tables of scales and zero
 * points, the end of a sum, and what those of digits share. */
#ifndef HN_KERNELS_MATMUL_NBITS_SIMD_H
#define HN_KERNELS_MATMUL_NBITS_SIMD_H

#include <float.h>
#include <string.h>

#include "base/least.h"
#include "kernels/act_simd.h"
#include "kernels/matmul_nbits/matmul_nbits.h"

enum {
    TURN = 16,                       /* scales are turned by squares of this side */
    VECTORS = HN_NBITS_PANEL / HN_VL /* in a panel */
};

static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* [block][column of a panel] */
typedef float square[TURN][HN_NBITS_PANEL];

/* n <= 16 floats; the rest is 0. */
HN_INLINE void load_floats(const float *from, int64_t n, float *to) {
    for (int v = 0; v < VECTORS; v++) {
        int64_t left = max64(0, hn_least(HN_VL, n - v * HN_VL));
        hn_v_store(to + v * HN_VL, hn_v_load_n(from + (left > 0 ? v * HN_VL : 0), left));
    }
}

/* The same of bytes. */
HN_INLINE void load_bytes(const uint8_t *from, int64_t n, float *to) {
    hn_vi wide[4];
    hn_vb bytes = n < HN_VB ? hn_vb_load_n(from, n) : hn_vb_load(from);
    hn_vb_widen(hn_vb_xor(bytes, hn_vb_set1(0x80)), wide);
    for (int v = 0; v < VECTORS; v++)
        hn_v_store(to + v * HN_VL, hn_v_from_int(hn_vi_add(wide[v], hn_vi_set1(128))));
}

/* Scales, or zero points, of blocks [g0, g0 + 16) and columns [n0, n0 + 16), as far as there are
 * such. */
static __attribute__((noinline)) void load_square(const hn_matmul_nbits *p, const void *from,
                                                  bool bytes, int64_t g0, int64_t n0, square to) {
    bool turned = p->s_n != 1;
    int64_t blocks = hn_least(TURN, hn_nbits_blocks(p) - g0);
    int64_t columns = hn_least(HN_NBITS_PANEL, p->n - n0);
    int64_t lines = turned ? columns : blocks, each = turned ? blocks : columns;
    square plain;
    for (int64_t i = 0; i < lines; i++) {
        int64_t at = turned ? (n0 + i) * p->s_n + g0 : (g0 + i) * p->s_g + n0;
        float *line = turned ? plain[i] : to[i];
        if (bytes)
            load_bytes((const uint8_t *)from + at, each, line);
        else
            load_floats((const float *)from + at, each, line);
    }
    if (!turned) return;
    for (int64_t i = lines; i < TURN; i++) load_floats(plain[0], 0, plain[i]);
    for (int g = 0; g < TURN; g += HN_VL)
        for (int n = 0; n < HN_NBITS_PANEL; n += HN_VL) {
            hn_vf rows[HN_VL];
            for (int i = 0; i < HN_VL; i++) rows[i] = hn_v_load(&plain[n + i][g]);
            hn_v_transpose(rows);
            for (int i = 0; i < HN_VL; i++) hn_v_store(&to[g + i][n], rows[i]);
        }
}

/* Zero points as the packed codes count: 8-bit ones are less 128. */
static __attribute__((noinline)) void load_zeros(const hn_matmul_nbits *p, const void *from,
                                                 int64_t g0, int64_t n0, square to) {
    hn_vf middle = hn_v_set1(p->bits == 8 ? 128.0f : 0.0f);
    if (p->zeros != HN_NBITS_ONE) load_square(p, from, p->zeros == HN_NBITS_U8, g0, n0, to);
    for (int g = 0; g < TURN; g++)
        for (int v = 0; v < VECTORS; v++) {
            float *at = &to[g][v * HN_VL];
            hn_vf z = p->zeros == HN_NBITS_ONE ? hn_v_set1((float)p->zero) : hn_v_load(at);
            hn_v_store(at, hn_v_sub(z, middle));
        }
}

typedef struct ending {
    const hn_matmul_nbits *p;
    const float *bias, *r;
    float *y;
} ending;

HN_INLINE void finish_as(const ending *e, int64_t row, int64_t n0, const hn_vf *sums,
                         hn_act_kind kind) {
    const hn_matmul_nbits *p = e->p;
    hn_vf a = hn_v_set1(p->act.a), b = hn_v_set1(p->act.b);
    for (int v = 0; v < VECTORS; v++) {
        int64_t n = n0 + v * HN_VL, left = hn_least(HN_VL, p->n - n);
        if (left <= 0) break;
        hn_vf sum = sums[v];
        if (e->bias != NULL) sum = hn_v_add(sum, hn_v_load_n(e->bias + n, left));
        if (e->r != NULL) sum = hn_v_add(sum, hn_v_load_n(e->r + row * p->r_m + n, left));
        hn_v_store_n(e->y + row * p->y_m + n, hn_v_act(sum, kind, a, b), left);
    }
}

/* The sums of a panel's columns, from n0 on, become outputs of that row. */
static __attribute__((noinline)) void finish(const ending *e, int64_t row, int64_t n0,
                                             const hn_vf *sums) {
    switch (e->p->act.kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: finish_as(e, row, n0, sums, HN_ACT_##name); break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

/* ---- rows of digits: matmul_nbits_digits_body.h ---- */

/* Unit of n floats, and one over it; 0 if all are. Or says that there is none. */
HN_INLINE bool find_unit(const int digits, const float *x, int64_t n, float *unit, float *over) {
    hn_vf most = hn_v_set1(0.0f);
    for (int64_t i = 0; i < n; i += HN_VL) {
        hn_vf a = hn_v_abs(hn_v_load_n(x + i, hn_least(HN_VL, n - i)));
        if (hn_vm_any(hn_vm_not(hn_v_le(a, hn_v_set1(FLT_MAX))))) return false;
        most = hn_v_max(most, a);
    }
    float m = hn_v_hmax(most);
    *unit = *over = 0;
    if (m <= 0) return true;
    if (m < HN_NBITS_TINY) return false;
    if (digits == 1) {
        *unit = m / 127;
        *over = 127 / m;
        return true;
    }
    /* 2^22 <= q < 2^23 of the largest; less a bit, which the carry of the lower digits takes. */
    uint32_t bits;
    m *= 1.004F;
    memcpy(&bits, &m, sizeof bits);
    bits = (bits >> 23) - 22;
    uint32_t low = bits << 23, high = (254 - bits) << 23;
    memcpy(unit, &low, sizeof low);
    memcpy(over, &high, sizeof high);
    return true;
}

/* Sums of digits by codes as one, of q by codes. */
HN_INLINE hn_vf value_of(const int digits, const hn_vi *d) {
    if (digits == 1) return hn_v_from_int(d[0]);
    hn_vf low = hn_v_from_int(hn_vi_add(hn_vi_shl(d[1], 8), d[2]));
    return hn_v_fma(hn_v_from_int(d[0]), hn_v_set1(65536.0f), low);
}

/* A row of x that the call's own row of the family cannot split, by another one, for panels of
 * whole tasks. */
static inline void run_plainly(const hn_kernel *by, const hn_call *call, int64_t row, int64_t panel,
                               int64_t panels) {
    hn_matmul_nbits p = *(const hn_matmul_nbits *)call->problem;
    void *ptr[HN_NBITS_OPERANDS_];
    memcpy(ptr, call->ptr, sizeof ptr);
    ptr[HN_NBITS_X] = (float *)ptr[HN_NBITS_X] + row * p.x_m;
    ptr[HN_NBITS_Y] = (float *)ptr[HN_NBITS_Y] + row * p.y_m;
    if (ptr[HN_NBITS_R] != NULL) ptr[HN_NBITS_R] = (float *)ptr[HN_NBITS_R] + row * p.r_m;
    p.m = 1;
    hn_call one = {.problem = &p, .ptr = ptr};
    by->run(&one, 0, panel / HN_NBITS_TASK, (panel + panels + HN_NBITS_TASK - 1) / HN_NBITS_TASK,
            NULL);
}

#endif
