/* binary_q8 over the vector vocabulary: HN_VB elements of a row at a time. */
#include "kernels/binary_q8/binary_q8.h"
#include "kernels/q8_simd.h"
#include "kernels/space_rows.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_binary_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_rows_of(&p->space).tasks}};
}

typedef struct row {
    const uint8_t *a, *b;
    uint8_t *y;
    int64_t a_stride, b_stride, y_stride;
    hn_vb a_flip, b_flip;
    hn_vi az, bz;
    hn_vf ma, mb;
    hn_q8_end end;
} row;

/* Products of the differences, at most 255 * 255, are exact in f32. */
HN_INLINE void step(const row *r, int64_t i, int64_t n, hn_binary_q8_kind kind) {
    hn_vi a[4], b[4];
    hn_vf v[4];
    hn_vb_widen(hn_vb_xor(hn_q8_fetch(r->a, r->a_stride, i, n), r->a_flip), a);
    hn_vb_widen(hn_vb_xor(hn_q8_fetch(r->b, r->b_stride, i, n), r->b_flip), b);
    for (int k = 0; k < 4; k++) {
        hn_vf x = hn_v_from_int(hn_vi_sub(a[k], r->az)), y = hn_v_from_int(hn_vi_sub(b[k], r->bz));
        v[k] = kind == HN_BINARY_Q8_MUL ? hn_v_mul(hn_v_mul(x, y), r->ma)
                                        : hn_v_add(hn_v_mul(x, r->ma), hn_v_mul(y, r->mb));
    }
    hn_q8_put(r->y, r->y_stride, i, hn_q8_round_off(&r->end, v), n);
}

HN_INLINE void run_row(const row *r, int64_t n, hn_binary_q8_kind kind) {
    int64_t i = 0;
    for (; i + HN_VB <= n; i += HN_VB) step(r, i, HN_VB, kind);
    if (i < n) step(r, i, n - i, kind);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_binary_q8 *p = call->problem;
    const hn_space *s = &p->space;
    int last = s->rank - 1;
    hn_rows rows = hn_rows_of(s);
    row r = {.a_stride = s->stride[HN_BINARY_Q8_A][last],
             .b_stride = s->stride[HN_BINARY_Q8_B][last],
             .y_stride = s->stride[HN_BINARY_Q8_Y][last],
             .a_flip = hn_q8_flip(p->a),
             .b_flip = hn_q8_flip(p->b),
             .az = hn_vi_set1(p->az - hn_q8_bias(p->a)),
             .bz = hn_vi_set1(p->bz - hn_q8_bias(p->b)),
             .ma = hn_v_set1(p->ma),
             .mb = hn_v_set1(p->mb),
             .end = hn_q8_end_of(p->y, p->yz, p->lo, p->hi)};
    for (int64_t task = begin; task < end; task++)
        for (hn_walk w = hn_walk_of(s, &rows, task); w.rows > 0; hn_walk_next(&w)) {
            r.a = (const uint8_t *)call->ptr[HN_BINARY_Q8_A] + w.offset[HN_BINARY_Q8_A];
            r.b = (const uint8_t *)call->ptr[HN_BINARY_Q8_B] + w.offset[HN_BINARY_Q8_B];
            r.y = (uint8_t *)call->ptr[HN_BINARY_Q8_Y] + w.offset[HN_BINARY_Q8_Y];
            if (p->kind == HN_BINARY_Q8_MUL)
                run_row(&r, w.n, HN_BINARY_Q8_MUL);
            else
                run_row(&r, w.n, HN_BINARY_Q8_ADD);
        }
}

const hn_kernel HN_V_ROW(binary_q8) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
