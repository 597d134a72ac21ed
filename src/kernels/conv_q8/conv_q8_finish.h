/* What becomes of the sums of some pixels in rows by panels and by Winograd's tiles, up to WIDTH
 * outputs of each at a time: bytes and floats are made by whole vectors.
 *
 * The file that includes this has a vector vocabulary of src/simd, and
 *
 *   WIDTH   sums of a pixel that lie together; HN_VB, or outputs are made one by one
 *   NR      a divisor of it: outputs of a panel
 *   C_PITCH only where sums of the next pixel are not WIDTH behind those of the one before
 */
#ifdef HN_VB
#ifndef C_PITCH
#define C_PITCH WIDTH
#endif
#include <math.h>

#include "kernels/conv_q8/conv_q8_parts.h"

#ifdef __clang__
#define NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define NOT_UNROLLED _Pragma("GCC unroll 1")
#endif

/* How sums become bytes: whether something is added to them, and whether all that is rounded is
 * below 2^22. */
#define ENDINGS(X) X(PLAIN) X(ADDED) X(TWICE) X(SMALL) X(SMALL_ADDED) X(SMALL_TWICE)
#define ENDING(name) name,
typedef enum ending { ENDINGS(ENDING) } ending;
#undef ENDING

/* What becomes of the sums of some panels, where it is bytes. */
static ending ending_of(const hn_q8_args *a, int64_t k, const int32_t *start, const float *scale) {
    const hn_conv_q8 *p = a->p;
    const hn_vf products = hn_v_set1(0x1p15F * (float)k); /* in a sum, at most */
    hn_vf most = hn_v_set1(0.0F);
    for (int i = 0; i < WIDTH; i += HN_VL) {
        hn_vf sum = hn_v_add(hn_v_abs(hn_v_from_int(hn_vi_load(start + i))), products);
        most = hn_v_max(most, hn_v_mul(sum, hn_v_abs(hn_v_load(scale + i))));
    }
    const bool small = !hn_vm_any(hn_v_gt(most, hn_v_set1(0x1p20F)));
    if (a->r == NULL) return small ? SMALL : PLAIN;
    const bool small_r = fabsf(p->mr) <= 0x1p11F; /* of which there are at most 383 */
    if (p->twice) return small_r && fabsf(p->m1) <= 0x1p11F ? SMALL_TWICE : TWICE;
    return small && small_r ? SMALL_ADDED : ADDED;
}

/* How many pixels end as one vector of bytes: those of a few outputs that lie side by side. */
static int64_t pixels_together(const hn_q8_args *a, int64_t n) {
    const hn_conv_q8 *p = a->p;
    if (n != p->n || (n != HN_VL && n != 2 * HN_VL)) return 1;
    if (p->y_pixel != n || p->y_row != p->ow * n || p->y_image != p->oh * p->y_row) return 1;
    if (a->r != NULL &&
        (p->r_pixel != n || p->r_row != p->ow * n || p->r_image != p->oh * p->r_row))
        return 1;
    return HN_VB / n;
}

/* Outputs of bytes of some pixels, n of each, `together` pixels in a vector; `how` is a constant.
 */
HN_INLINE void finish_bytes(const hn_q8_args *a, const int32_t *c, const float *scale, int64_t n,
                            int64_t n0, int64_t rows, const int64_t *y_at, const int64_t *r_at,
                            int64_t together, const ending how) {
    const hn_q8_ends ends = hn_q8_ends_of(a->p);
    const bool twice = how == TWICE || how == SMALL_TWICE;
    const bool added = twice || how == ADDED || how == SMALL_ADDED;
    const int64_t vectors = 4 >> (together >> 1); /* of a pixel: 4 / together */
    uint8_t *y = (uint8_t *)a->y + n0;
    const uint8_t *r = added ? (const uint8_t *)a->r + n0 : NULL;
    hn_vf factor[4];
    const int32_t *sums[4];
    for (int j = 0; j < 4; j++) {
        const int64_t part = j & (vectors - 1), pixel = (j * together) >> 2;
        factor[j] = hn_v_load(scale + part * HN_VL);
        sums[j] = c + pixel * C_PITCH + part * HN_VL;
    }
    for (int64_t i = 0; i < rows; i += together) {
        const int64_t bytes = hn_q8_min(together, rows - i) * n;
        hn_vf v[4];
        for (int j = 0; j < 4; j++)
            v[j] = hn_v_mul(hn_v_from_int(hn_vi_load(sums[j] + i * C_PITCH)), factor[j]);
        if (added && bytes == HN_VB) /* known to the compiler */
            hn_q8_add_r(&ends, r + r_at[i], HN_VB, twice, v);
        else if (added)
            hn_q8_add_r(&ends, r + r_at[i], bytes, twice, v);
        if (how >= SMALL)
            hn_q8_put_small(&ends, v, bytes, y + y_at[i]);
        else
            hn_q8_put_any(&ends, v, bytes, y + y_at[i]);
    }
}

/* Floats of some pixels, n outputs of each; `kind` is a constant. The
 * compiler must not unroll the loop over panels: it may make the vectors of an iteration differ in
 * the signs of NaN, and lanes begin with any panel. */
HN_INLINE void finish_floats(const hn_q8_args *a, const int32_t *c, const float *scale,
                             const float *fbias, int64_t n, int64_t n0, int64_t rows,
                             const int64_t *y_at, const int64_t *r_at, const hn_act_kind kind) {
    const hn_conv_q8 *p = a->p;
    const hn_vf act_a = hn_v_set1(p->act.a), act_b = hn_v_set1(p->act.b);
    for (int64_t i = 0; i < rows; i++, c += C_PITCH) {
        const float *r = a->r != NULL ? (const float *)a->r + r_at[i] + n0 : NULL;
        float *to = (float *)a->y + y_at[i] + n0;
        NOT_UNROLLED for (int64_t k = 0; k < n; k += NR) {
            for (int64_t at = k; at < k + NR; at += HN_VL) {
                const int64_t part = hn_q8_min(HN_VL, n - at);
                if (part <= 0) break;
                hn_vf x = hn_v_mul(hn_v_from_int(hn_vi_load(c + at)), hn_v_load(scale + at));
                if (a->fbias != NULL) x = hn_v_add(x, hn_v_load(fbias + at));
                if (r != NULL) x = hn_v_add(x, hn_v_load_part(r + at, part));
                hn_v_store_part(to + at, hn_v_act(x, kind, act_a, act_b), part);
            }
        }
    }
}

/* Outputs [n0, n0 + n) of each pixel, WIDTH at most: what their sums start with, are multiplied by
 * and become. */
typedef struct hn_q8_outputs {
    const hn_q8_args *a;
    int64_t n0, n;
    int64_t together;   /* pixels in a vector of bytes */
    bool bytes, floats; /* made by vectors */
    bool through;       /* floats, to bytes, by vectors */
    ending how;         /* of bytes */
    _Alignas(64) int32_t start[WIDTH];
    float scale[WIDTH], fbias[WIDTH];
    float divisor[WIDTH], inverse[WIDTH]; /* of bytes that go through floats */
} hn_q8_outputs;

/* Bytes that go through floats; `kind` is a constant. */
HN_INLINE void finish_through_floats(const hn_q8_outputs *t, const int32_t *c, int64_t rows,
                                     const int64_t *y_at, const hn_act_kind kind) {
    const hn_conv_q8 *p = t->a->p;
    const hn_vf act_a = hn_v_set1(p->act.a), act_b = hn_v_set1(p->act.b);
    const hn_q8_end end = hn_q8_end_of(p->y, p->yz, p->lo, p->hi);
    const int64_t vectors = 4 >> (t->together >> 1); /* of a pixel: 4 / together */
    uint8_t *y = (uint8_t *)t->a->y + t->n0;
    hn_vf factor[4], add[4], divisor[4], inverse[4];
    const int32_t *sums[4];
    for (int j = 0; j < 4; j++) {
        const int64_t part = j & (vectors - 1), pixel = (j * t->together) >> 2;
        factor[j] = hn_v_load(t->scale + part * HN_VL), add[j] = hn_v_load(t->fbias + part * HN_VL);
        divisor[j] = hn_v_load(t->divisor + part * HN_VL);
        inverse[j] = hn_v_load(t->inverse + part * HN_VL);
        sums[j] = c + pixel * C_PITCH + part * HN_VL;
    }
    for (int64_t i = 0; i < rows; i += t->together) {
        hn_vf v[4];
        hn_vi q[4];
        for (int j = 0; j < 4; j++) {
            v[j] = hn_v_mul(hn_v_from_int(hn_vi_load(sums[j] + i * C_PITCH)), factor[j]);
            v[j] = hn_v_act(hn_v_add(v[j], add[j]), kind, act_a, act_b);
        }
        hn_q8_divide_each(divisor, inverse, &end, v, q);
        hn_vb_store_part(y + y_at[i], hn_q8_to_bytes(&end, q),
                         hn_q8_min(t->together, rows - i) * t->n);
    }
}

/* k: products in a sum; w_sums: of the weights of each output. */
static void begin_outputs(const hn_q8_args *a, const int32_t *w_sums, int32_t x_off, int64_t k,
                          int64_t n0, int64_t n, hn_q8_outputs *t) {
    const hn_conv_q8 *p = a->p;
    const bool by_vectors = WIDTH == HN_VB && p->y != HN_Q8_S32 && !p->w_zero_points;
    t->a = a;
    t->n0 = n0, t->n = n;
    t->floats = by_vectors && p->y == HN_Q8_F32;
    t->through = by_vectors && p->ys > 0;
    t->bytes = by_vectors && !t->floats && !t->through;
    if (n < WIDTH) {
        memset(t->start, 0, sizeof t->start);
        memset(t->scale, 0, sizeof t->scale);
    }
    hn_q8_begin(a, w_sums, x_off, n0, n, t->start, t->scale);
    t->together = t->bytes || t->through ? pixels_together(a, n) : 1;
    if (t->bytes) t->how = ending_of(a, k, t->start, t->scale);
    if (a->fbias == NULL)
        memset(t->fbias, 0, sizeof t->fbias);
    else if (t->floats || t->through)
        memcpy(t->fbias, a->fbias + n0, (size_t)n * sizeof *t->fbias);
    for (int64_t i = 0; t->through && i < WIDTH; i++) {
        t->divisor[i] = a->ys == NULL ? p->ys : i < n ? a->ys[n0 + i] : 1.0F;
        t->inverse[i] = 1 / t->divisor[i];
    }
}

/* The sums c [rows][C_PITCH] of some pixels become outputs, at y_at from y on; what is added to them is
 * at r_at. `sums`: of their windows, where weights have zero points. */
static void finish(const hn_q8_outputs *t, const int32_t *c, int64_t rows, const int64_t *y_at,
                   const int64_t *r_at, const int32_t *sums) {
    const hn_q8_args *a = t->a;
    if (t->bytes) {
        switch (t->how) { /* known to the compiler */
#define END(of) \
    case of: finish_bytes(a, c, t->scale, t->n, t->n0, rows, y_at, r_at, t->together, of); break;
            ENDINGS(END)
#undef END
        }
    } else if (t->through) {
        switch (a->p->act.kind) { /* the same */
#define HN_X(name, formula) \
    case HN_ACT_##name: finish_through_floats(t, c, rows, y_at, HN_ACT_##name); break;
            HN_ACT_LIST(HN_X)
#undef HN_X
            case HN_ACT_COUNT_: break;
        }
    } else if (t->floats) {
        switch (a->p->act.kind) { /* the same */
#define HN_X(name, formula)                                                                    \
    case HN_ACT_##name:                                                                        \
        finish_floats(a, c, t->scale, t->fbias, t->n, t->n0, rows, y_at, r_at, HN_ACT_##name); \
        break;
            HN_ACT_LIST(HN_X)
#undef HN_X
            case HN_ACT_COUNT_: break;
        }
    } else {
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < t->n; k += NR)
                hn_q8_finish(a, c + i * C_PITCH + k, t->scale + k, t->n0 + k,
                             hn_q8_min(NR, t->n - k), a->p->w_zero_points ? sums[i] : 0,
                             y_at[i] + t->n0 + k, r_at[i] + t->n0 + k);
    }
}
#endif
