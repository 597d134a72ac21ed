/* dequantize_q8 over the vector vocabulary: HN_VB elements of a row at a time. */
#include "kernels/dequantize_q8/dequantize_q8.h"
#include "kernels/q8_simd.h"
#include "kernels/space_rows.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_dequantize_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_rows_of(&p->space).tasks}};
}

typedef struct row {
    const char *x, *z; /* z NULL: 0 */
    const float *s;
    float *y;
    int64_t x_stride, y_stride, s_stride, z_stride;
    hn_vb flip;
} row;

HN_INLINE void fetch_s32(const int32_t *p, int64_t stride, int64_t i, int64_t n, hn_vi *x) {
    int32_t t[HN_VB] = {0};
    if (stride != 1) {
        for (int64_t j = 0; j < n; j++) t[j] = p[(i + j) * stride];
        p = t, i = 0, n = HN_VB;
    }
    for (int k = 0; k < 4; k++) {
        int64_t part = hn_q8_part(n, k);
        x[k] = part > 0 ? hn_vi_load_part(p + i + k * HN_VL, part) : hn_vi_set1(0);
    }
}

/* The differences of 8-bit values are those of the flipped ones: an absent z is a flipped 0. */
HN_INLINE void step(const row *r, int64_t i, int64_t n, bool wide) {
    hn_vi x[4], z[4];
    hn_vf s[4], y[4];
    if (wide) {
        fetch_s32((const int32_t *)(const void *)r->x, r->x_stride, i, n, x);
        for (int k = 0; k < 4; k++) z[k] = hn_vi_set1(0);
        if (r->z != NULL) fetch_s32((const int32_t *)(const void *)r->z, r->z_stride, i, n, z);
    } else {
        hn_vb zero =
            r->z == NULL ? hn_vb_set1(0) : hn_q8_fetch((const uint8_t *)r->z, r->z_stride, i, n);
        hn_vb_widen(hn_vb_xor(hn_q8_fetch((const uint8_t *)r->x, r->x_stride, i, n), r->flip), x);
        hn_vb_widen(hn_vb_xor(zero, r->flip), z);
    }
    hn_q8_fetch_f32(r->s, r->s_stride, i, n, s);
    for (int k = 0; k < 4; k++) y[k] = hn_v_mul(hn_v_from_int(hn_vi_sub(x[k], z[k])), s[k]);
    hn_q8_put_f32(r->y, r->y_stride, i, y, n);
}

HN_INLINE void run_row(const row *r, int64_t n, bool wide) {
    int64_t i = 0;
    for (; i + HN_VB <= n; i += HN_VB) step(r, i, HN_VB, wide);
    if (i < n) step(r, i, n - i, wide);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_dequantize_q8 *p = call->problem;
    const hn_space *s = &p->space;
    const char *z = call->ptr[HN_DEQUANTIZE_Q8_Z];
    int last = s->rank - 1;
    bool wide = p->type == HN_Q8_S32;
    int64_t size = wide ? 4 : 1;
    hn_rows rows = hn_rows_of(s);
    row r = {.x_stride = s->stride[HN_DEQUANTIZE_Q8_X][last],
             .y_stride = s->stride[HN_DEQUANTIZE_Q8_Y][last],
             .s_stride = s->stride[HN_DEQUANTIZE_Q8_S][last],
             .z_stride = s->stride[HN_DEQUANTIZE_Q8_Z][last],
             .flip = hn_q8_flip(p->type)};
    for (int64_t task = begin; task < end; task++)
        for (hn_walk w = hn_walk_of(s, &rows, task); w.rows > 0; hn_walk_next(&w)) {
            r.x = (const char *)call->ptr[HN_DEQUANTIZE_Q8_X] + w.offset[HN_DEQUANTIZE_Q8_X] * size;
            r.z = z == NULL ? NULL : z + w.offset[HN_DEQUANTIZE_Q8_Z] * size;
            r.s = (const float *)call->ptr[HN_DEQUANTIZE_Q8_S] + w.offset[HN_DEQUANTIZE_Q8_S];
            r.y = (float *)call->ptr[HN_DEQUANTIZE_Q8_Y] + w.offset[HN_DEQUANTIZE_Q8_Y];
            if (wide)
                run_row(&r, w.n, true);
            else
                run_row(&r, w.n, false);
        }
}

const hn_kernel HN_V_ROW(dequantize_q8) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
