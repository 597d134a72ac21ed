/* binary_q8 over the vector vocabulary: HN_VB elements of a row at a time.
 *
 * Rows of adjacent elements, which most are, are widened on their way from memory, and their
 * results bounded by narrowing alone where no sum or product can be large.
 *
 * Short rows that follow each other in memory and share one of the operands (an image of few
 * channels, by a factor per channel) are one long row for the other. The shared one is laid out in
 * lane scratch, a row and a vector of it, so that a vector may begin at any channel. */
#include <math.h>

#include "kernels/binary_q8/binary_q8.h"
#include "kernels/q8_simd.h"
#include "kernels/q8_turn.h"

/* The operand that short rows share, or -1. */
static int shared_operand(const hn_space *s) {
    enum { MOST = 512 }; /* elements of a row: what comes with it matters little in a longer one */
    const int last = s->rank - 1;
    const int64_t n = last < 0 ? 0 : s->dims[last];
    if (last < 1 || n > MOST) return -1;
    int shared = -1;
    for (int o = 0; o < HN_BINARY_Q8_OPERANDS_; o++) {
        if (s->stride[o][last] != 1) return -1;
        if (s->stride[o][last - 1] == n) continue;
        if (s->stride[o][last - 1] != 0 || o == HN_BINARY_Q8_Y || shared >= 0) return -1;
        shared = o;
    }
    return shared;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_binary_q8 *p = problem;
    (void)lanes;
    const hn_rows rows = hn_rows_of(&p->space);
    *w = (hn_work){.n_phases = 1, .tasks = {rows.tasks}};
    if (shared_operand(&p->space) >= 0) w->lane_scratch = (size_t)(rows.n + HN_VB);
}

typedef struct row {
    const uint8_t *a, *b;
    uint8_t *y;
    int64_t a_stride, b_stride, y_stride;
    hn_q8_type a_type, b_type;
    hn_vi az, bz;
    hn_vf ma, mb;
    hn_q8_end end;
} row;

HN_INLINE void fetch(hn_q8_type t, const uint8_t *x, int64_t stride, int64_t i, int64_t n,
                     hn_vi zero, hn_vf *y) {
    uint8_t bytes[HN_VB];
    hn_vb_store(bytes, hn_q8_fetch(x, stride, i, n));
    hn_q8_floats(t, bytes, zero, y);
}

/* Products of the differences, at most 255 * 255, are exact in f32. */
HN_INLINE void combine(const row *r, const hn_vf *a, const hn_vf *b, hn_binary_q8_kind kind,
                       hn_vf *v) {
    for (int k = 0; k < 4; k++)
        v[k] = kind == HN_BINARY_Q8_MUL ? hn_v_mul(hn_v_mul(a[k], b[k]), r->ma)
                                        : hn_v_add(hn_v_mul(a[k], r->ma), hn_v_mul(b[k], r->mb));
}

HN_INLINE void step_adjacent(const row *r, int64_t i, hn_binary_q8_kind kind, bool small) {
    hn_vf a[4], b[4], v[4];
    hn_q8_floats(r->a_type, r->a + i, r->az, a);
    hn_q8_floats(r->b_type, r->b + i, r->bz, b);
    combine(r, a, b, kind, v);
    hn_vb_store(r->y + i, small ? hn_q8_round_small(&r->end, v) : hn_q8_round_off(&r->end, v));
}

HN_INLINE void step(const row *r, int64_t i, int64_t n, hn_binary_q8_kind kind) {
    hn_vf a[4], b[4], v[4];
    fetch(r->a_type, r->a, r->a_stride, i, n, r->az, a);
    fetch(r->b_type, r->b, r->b_stride, i, n, r->bz, b);
    combine(r, a, b, kind, v);
    hn_q8_put(r->y, r->y_stride, i, hn_q8_round_off(&r->end, v), n);
}

HN_INLINE void run_row(const row *from, int64_t n, hn_binary_q8_kind kind, bool small) {
    const row own = *from, *r = &own; /* which bytes that are stored cannot change */
    int64_t i = 0;
    if (r->a_stride == 1 && r->b_stride == 1 && r->y_stride == 1) {
        if (r->a_type == HN_Q8_U8 && r->b_type == HN_Q8_U8) {
            row both = own;
            both.a_type = both.b_type = HN_Q8_U8;
            for (; i + HN_VB <= n; i += HN_VB) step_adjacent(&both, i, kind, small);
        }
        for (; i + HN_VB <= n; i += HN_VB) step_adjacent(r, i, kind, small);
    }
    for (; i + HN_VB <= n; i += HN_VB) step(r, i, HN_VB, kind);
    if (i < n) step(r, i, n - i, kind);
}

/* Rows that share an operand (a, or b), laid out at `lane`: `all` elements of the other one and of y. */
HN_INLINE void run_shared(const row *from, const uint8_t *lane, bool a, int64_t n, int64_t all,
                          hn_binary_q8_kind kind, bool small) {
    row own = *from;
    int64_t i = 0, k = 0;
    for (; i + HN_VB <= all; i += HN_VB) {
        *(a ? &own.a : &own.b) = lane + k - i;
        step_adjacent(&own, i, kind, small);
        for (k += HN_VB; k >= n;) k -= n;
    }
    *(a ? &own.a : &own.b) = lane + k - i;
    if (i < all) step(&own, i, all - i, kind);
}

/* Whether no v is 2^21 or more, and the bounds are the ends of the type. */
static bool is_small(const hn_binary_q8 *p) {
    float most = p->kind == HN_BINARY_Q8_MUL ? 255 * 255 * fabsf(p->ma)
                                             : 255 * (fabsf(p->ma) + fabsf(p->mb));
    return most < 0x1p21f && p->lo == hn_q8_lowest(p->y) && p->hi == hn_q8_highest(p->y);
}

/* `rows` rows of n elements that share an operand, or one that shares none. */
HN_INLINE void run_as(const row *r, int shared, int64_t n, int64_t rows, uint8_t *lane,
                      hn_binary_q8_kind kind, bool small) {
    if (shared < 0) {
        run_row(r, n, kind, small);
        return;
    }
    const uint8_t *operand = shared == HN_BINARY_Q8_A ? r->a : r->b;
    for (int64_t i = 0; i < n; i++) lane[i] = operand[i];
    for (int64_t i = n; i < n + HN_VB; i++) lane[i] = lane[i - n];
    if (shared == HN_BINARY_Q8_A)
        run_shared(r, lane, true, n, rows * n, kind, small);
    else
        run_shared(r, lane, false, n, rows * n, kind, small);
}

static void run_rows(const hn_binary_q8 *p, const row *r, int shared, int64_t n, int64_t rows,
                     uint8_t *lane, bool small) {
    if (p->kind == HN_BINARY_Q8_MUL && small) /* known to the compiler */
        run_as(r, shared, n, rows, lane, HN_BINARY_Q8_MUL, true);
    else if (p->kind == HN_BINARY_Q8_MUL)
        run_as(r, shared, n, rows, lane, HN_BINARY_Q8_MUL, false);
    else if (small)
        run_as(r, shared, n, rows, lane, HN_BINARY_Q8_ADD, true);
    else
        run_as(r, shared, n, rows, lane, HN_BINARY_Q8_ADD, false);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_binary_q8 *p = call->problem;
    const hn_space *s = &p->space;
    int last = s->rank - 1;
    hn_rows rows = hn_rows_of(s);
    row r = {.a_stride = s->stride[HN_BINARY_Q8_A][last],
             .b_stride = s->stride[HN_BINARY_Q8_B][last],
             .y_stride = s->stride[HN_BINARY_Q8_Y][last],
             .a_type = p->a,
             .b_type = p->b,
             .az = hn_vi_set1(p->az),
             .bz = hn_vi_set1(p->bz),
             .ma = hn_v_set1(p->ma),
             .mb = hn_v_set1(p->mb),
             .end = hn_q8_end_of(p->y, p->yz, p->lo, p->hi)};
    const bool small = is_small(p);
    const int shared = shared_operand(s);
    for (int64_t task = begin; task < end; task++) {
        hn_walk w = hn_walk_of(s, &rows, task);
        while (w.rows > 0) {
            const int64_t some = shared < 0 ? 1 : hn_q8_run_of(&w);
            r.a = (const uint8_t *)call->ptr[HN_BINARY_Q8_A] + w.offset[HN_BINARY_Q8_A];
            r.b = (const uint8_t *)call->ptr[HN_BINARY_Q8_B] + w.offset[HN_BINARY_Q8_B];
            r.y = (uint8_t *)call->ptr[HN_BINARY_Q8_Y] + w.offset[HN_BINARY_Q8_Y];
            run_rows(p, &r, shared, w.n, some, lane, small);
            if (shared < 0)
                hn_walk_next(&w);
            else
                hn_walk_skip(&w, some);
        }
    }
}

const hn_kernel HN_V_ROW(binary_q8) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
