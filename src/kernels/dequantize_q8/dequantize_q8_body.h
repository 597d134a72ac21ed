/* dequantize_q8 over the vector vocabulary: HN_VB elements of a row at a time.
 *
 * Images whose channels lie beside each other in x, and in planes in y: rows then run along
 * channels, and bytes are brought into planes first.
 */
#include "kernels/dequantize_q8/dequantize_q8.h"
#include "kernels/q8_simd.h"
#include "kernels/q8_turn.h"

/* The space as it is walked, and whether it has been turned. */
static bool turn(const hn_dequantize_q8 *p, hn_space *s) {
    *s = p->space;
    if (p->type == HN_Q8_S32 || !hn_q8_turns(s, HN_DEQUANTIZE_Q8_X, HN_DEQUANTIZE_Q8_Y))
        return false;
    int last = s->rank - 1;
    s->dims[last - 1] = p->space.dims[last], s->dims[last] = p->space.dims[last - 1];
    for (int o = 0; o < s->n; o++) {
        s->stride[o][last - 1] = p->space.stride[o][last];
        s->stride[o][last] = p->space.stride[o][last - 1];
    }
    return true;
}

static void work(const void *problem, int lanes, hn_work *w) {
    hn_space s;
    (void)lanes, turn(problem, &s);
    *w = (hn_work){.n_phases = 1, .tasks = {hn_rows_of(&s).tasks}};
}

typedef struct row {
    const char *x, *z; /* z NULL: 0 */
    const float *s;
    float *y;
    int64_t x_stride, y_stride, s_stride, z_stride;
    hn_q8_type type;
    hn_vb flip;
} row;

HN_INLINE void fetch_s32(const int32_t *p, int64_t stride, int64_t i, int64_t n, hn_vi *x) {
    if (stride == 1) {
        for (int k = 0; k < 4; k++) {
            int64_t part = hn_q8_part(n, k);
            x[k] = part > 0 ? hn_vi_load_part(p + i + k * HN_VL, part) : hn_vi_set1(0);
        }
    } else if (stride == 0) {
        for (int k = 0; k < 4; k++) x[k] = hn_vi_set1(*p);
    } else {
        int32_t t[HN_VB] = {0};
        for (int64_t j = 0; j < n; j++) t[j] = p[(i + j) * stride];
        for (int k = 0; k < 4; k++) x[k] = hn_vi_load(t + k * HN_VL);
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

/* Adjacent elements with one zero point, and one scale or adjacent ones. */
HN_INLINE void step_adjacent(const row *r, int64_t i, hn_q8_type type, hn_vi zero, bool one) {
    hn_vf s[4], y[4];
    hn_q8_floats(type, (const uint8_t *)r->x + i, zero, y);
    hn_q8_fetch_f32(r->s, one ? 0 : 1, i, HN_VB, s);
    for (int k = 0; k < 4; k++) y[k] = hn_v_mul(y[k], s[k]);
    hn_q8_put_f32(r->y, 1, i, y, HN_VB);
}

/* How many of n elements have been done so. */
HN_INLINE int64_t run_adjacent(const row *r, int64_t n, hn_q8_type type, bool one) {
    int32_t z = r->z == NULL       ? 0
                : type == HN_Q8_U8 ? *(const uint8_t *)r->z
                                   : *(const int8_t *)r->z;
    const hn_vi zero = hn_vi_set1(z);
    int64_t i = 0;
    for (; i + HN_VB <= n; i += HN_VB) step_adjacent(r, i, type, zero, one);
    return i;
}

static int64_t run_usual(const row *r, int64_t n) {
    if (r->x_stride != 1 || r->y_stride != 1 || (r->z != NULL && r->z_stride != 0)) return 0;
    if (r->s_stride != 0 && r->s_stride != 1) return 0;
    if (r->type == HN_Q8_U8)
        return r->s_stride == 0 ? run_adjacent(r, n, HN_Q8_U8, true)
                                : run_adjacent(r, n, HN_Q8_U8, false);
    return r->s_stride == 0 ? run_adjacent(r, n, HN_Q8_S8, true)
                            : run_adjacent(r, n, HN_Q8_S8, false);
}

HN_INLINE void run_row(const row *r, int64_t n, bool wide) {
    int64_t i = wide ? 0 : run_usual(r, n);
    for (; i + HN_VB <= n; i += HN_VB) step(r, i, HN_VB, wide);
    if (i < n) step(r, i, n - i, wide);
}

/* The rows of a run: y has neighbours from row to row, x within them. */
static void run_turned(const row *first, const hn_space *s, int64_t run, int64_t n) {
    int axis = s->rank - 2;
    int64_t pixel = s->stride[HN_DEQUANTIZE_Q8_X][axis];
    hn_q8_planes t;
    row r = {.x_stride = 1,
             .y_stride = 1,
             .s_stride = s->stride[HN_DEQUANTIZE_Q8_S][axis],
             .z_stride = s->stride[HN_DEQUANTIZE_Q8_Z][axis],
             .type = first->type,
             .flip = first->flip};
    for (int64_t q = 0; q < run; q += HN_Q8_RUN)
        for (int64_t c = 0; c < n; c += HN_Q8_PLANES) {
            int64_t positions = run - q < HN_Q8_RUN ? run - q : HN_Q8_RUN;
            int64_t planes = n - c < HN_Q8_PLANES ? n - c : HN_Q8_PLANES;
            hn_q8_unweave((const uint8_t *)first->x + q * pixel + c, pixel, positions, planes, t);
            for (int64_t i = 0; i < planes; i++) {
                r.x = (const char *)t[i];
                r.s = first->s + q * r.s_stride + (c + i) * first->s_stride;
                r.z =
                    first->z == NULL ? NULL : first->z + q * r.z_stride + (c + i) * first->z_stride;
                r.y = first->y + q + (c + i) * first->y_stride;
                run_row(&r, positions, false);
            }
        }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_dequantize_q8 *p = call->problem;
    hn_space s;
    bool turned = turn(p, &s), wide = p->type == HN_Q8_S32;
    const char *z = call->ptr[HN_DEQUANTIZE_Q8_Z];
    int last = s.rank - 1;
    int64_t size = wide ? 4 : 1;
    hn_rows rows = hn_rows_of(&s);
    row r = {.x_stride = s.stride[HN_DEQUANTIZE_Q8_X][last],
             .y_stride = s.stride[HN_DEQUANTIZE_Q8_Y][last],
             .s_stride = s.stride[HN_DEQUANTIZE_Q8_S][last],
             .z_stride = s.stride[HN_DEQUANTIZE_Q8_Z][last],
             .type = p->type,
             .flip = hn_q8_flip(p->type)};
    for (int64_t task = begin; task < end; task++) {
        hn_walk w = hn_walk_of(&s, &rows, task);
        while (w.rows > 0) {
            r.x = (const char *)call->ptr[HN_DEQUANTIZE_Q8_X] + w.offset[HN_DEQUANTIZE_Q8_X] * size;
            r.z = z == NULL ? NULL : z + w.offset[HN_DEQUANTIZE_Q8_Z] * size;
            r.s = (const float *)call->ptr[HN_DEQUANTIZE_Q8_S] + w.offset[HN_DEQUANTIZE_Q8_S];
            r.y = (float *)call->ptr[HN_DEQUANTIZE_Q8_Y] + w.offset[HN_DEQUANTIZE_Q8_Y];
            if (turned) {
                int64_t run = hn_q8_run_of(&w);
                run_turned(&r, &s, run, w.n);
                hn_walk_skip(&w, run);
                continue;
            }
            if (wide)
                run_row(&r, w.n, true);
            else
                run_row(&r, w.n, false);
            hn_walk_next(&w);
        }
    }
}

const hn_kernel HN_V_ROW(dequantize_q8) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
