/* quantize_f32 over the vector vocabulary: HN_VB elements of a row at a time.
 *
 * One scale for all, found: every task leaves the range of its elements, one of them folds these
 * into the scale, then all quantize as with a given one. Many scales, found: a task has some whole
 * groups of elements that share one, and goes through each twice.
 *
 * Images whose channels come to lie beside each other are quantized plane by plane into a buffer,
 * from which the channels are woven.
 *
 * Rows that follow each other in memory and have the same scales, one per element (an image of
 * adjacent channels), are quantized as one long row. Its scales repeat: they are laid out in lane
 * scratch, a row and a vector of them, so that a vector may begin at any channel.
 */
#include <math.h>

#include "kernels/q8_simd.h"
#include "kernels/q8_turn.h"
#include "kernels/quantize_f32/quantize_f32.h"

/* How a problem is cut: into tasks of rows, or into tasks of groups. */
typedef struct cut {
    bool grouped;
    hn_space inner, lead;  /* of a group, or the whole; of the groups */
    hn_rows rows;          /* of inner */
    int64_t groups, group; /* groups in all and in a task */
} cut;

static cut cut_of(const hn_quantize_f32 *p) {
    cut c = {.inner = p->space, .lead = p->space};
    int lead = p->dynamic ? hn_quantize_f32_lead(p) : 0;
    c.grouped = lead > 0;
    c.lead.rank = lead;
    c.inner.rank = p->space.rank - lead;
    for (int i = 0; i < c.inner.rank; i++) {
        c.inner.dims[i] = p->space.dims[lead + i];
        for (int o = 0; o < p->space.n; o++) c.inner.stride[o][i] = p->space.stride[o][lead + i];
    }
    if (c.inner.rank == 0) c.inner.rank = 1, c.inner.dims[0] = 1;
    c.rows = hn_rows_of(&c.inner);
    c.groups = hn_space_count(&c.lead);
    int64_t n = hn_space_count(&c.inner);
    c.group = n > 0 && n < HN_ROWS_TASK ? HN_ROWS_TASK / n : 1;
    return c;
}

/* What the elements of a row are divided by and become, HN_VB more than there are. */
typedef struct pattern {
    int64_t n;
    float *scale, *inverse, *lo, *hi, *zero;
} pattern;

enum { PATTERN_ARRAYS = 5, PATTERN_MOST = 4096 /* elements of a row: the pattern stays in L2 */ };

/* Whether rows follow each other in memory, with a scale for each of their elements. */
static bool repeats(const hn_space *s) {
    const int last = s->rank - 1;
    if (last < 1 || s->dims[last] < 1 || s->dims[last] > PATTERN_MOST) return false;
    if (s->stride[HN_QUANTIZE_F32_S][last] != 1) return false;
    if (s->stride[HN_QUANTIZE_F32_S][last - 1] != 0) return false;
    if (s->stride[HN_QUANTIZE_F32_Z][last - 1] != 0) return false;
    return s->stride[HN_QUANTIZE_F32_X][last] == 1 && s->stride[HN_QUANTIZE_F32_Y][last] == 1 &&
           s->stride[HN_QUANTIZE_F32_X][last - 1] == s->dims[last] &&
           s->stride[HN_QUANTIZE_F32_Y][last - 1] == s->dims[last];
}

static pattern pattern_at(int64_t n, void *lane) {
    float *at = lane;
    const int64_t room = n + HN_VB;
    return (pattern){n, at, at + room, at + 2 * room, at + 3 * room, at + 4 * room};
}

typedef struct range {
    float lo, hi;
} range;

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_quantize_f32 *p = problem;
    (void)lanes;
    cut c = cut_of(p);
    if (c.grouped)
        *w = (hn_work){.n_phases = 1, .tasks = {(c.groups + c.group - 1) / c.group}};
    else if (p->dynamic)
        *w = (hn_work){.n_phases = 3,
                       .tasks = {c.rows.tasks, 1, c.rows.tasks},
                       .scratch = (size_t)c.rows.tasks * sizeof(range)};
    else
        *w = (hn_work){.n_phases = 1, .tasks = {c.rows.tasks}};
    if (!p->dynamic && repeats(&p->space))
        w->lane_scratch = (size_t)(PATTERN_ARRAYS * (c.rows.n + HN_VB)) * sizeof(float);
}

/* ---- ranges -------------------------------------------------------------------------------- */

/* NaN is neither smaller nor larger; a part's end is 0, which every range holds. */
HN_INLINE void widen(const float *x, int64_t stride, int64_t i, int64_t n, hn_vf *lo, hn_vf *hi) {
    hn_vf v[4];
    hn_q8_fetch_f32(x, stride, i, n, v);
    for (int k = 0; k < 4; k++) {
        lo[k] = hn_v_select(hn_v_lt(v[k], lo[k]), v[k], lo[k]);
        hi[k] = hn_v_select(hn_v_gt(v[k], hi[k]), v[k], hi[k]);
    }
}

static range range_of(const cut *c, const float *x, int64_t task) {
    const hn_space *s = &c->inner;
    hn_vf lo[4], hi[4];
    for (int k = 0; k < 4; k++) lo[k] = hi[k] = hn_v_set1(0.0f);
    int64_t stride = s->stride[HN_QUANTIZE_F32_X][s->rank - 1];
    for (hn_walk w = hn_walk_of(s, &c->rows, task); w.rows > 0; hn_walk_next(&w)) {
        const float *row = x + w.offset[HN_QUANTIZE_F32_X];
        int64_t i = 0;
        for (; i + HN_VB <= w.n; i += HN_VB) widen(row, stride, i, HN_VB, lo, hi);
        if (i < w.n) widen(row, stride, i, w.n - i, lo, hi);
    }
    return (range){hn_v_hmin(hn_v_min(hn_v_min(lo[0], lo[1]), hn_v_min(lo[2], lo[3]))),
                   hn_v_hmax(hn_v_max(hn_v_max(hi[0], hi[1]), hn_v_max(hi[2], hi[3])))};
}

static range join(range a, range b) {
    return (range){b.lo < a.lo ? b.lo : a.lo, b.hi > a.hi ? b.hi : a.hi};
}

/* The scale and the zero point of a range. */
static void settle(const hn_quantize_f32 *p, range r, float *s, uint8_t *z) {
    *s = r.lo == r.hi ? 1.0f : (r.hi - r.lo) / 255.0f;
    float zero = -r.lo / *s; /* at most 255 and a little, or NaN */
    int32_t level = zero > 0 ? (int32_t)rintf(zero > 255 ? 255.0f : zero) : 0;
    *z = (uint8_t)(level + hn_q8_lowest(p->type));
}

/* ---- quantizing ---------------------------------------------------------------------------- */

typedef struct row {
    const float *x, *s;
    const uint8_t *z; /* NULL: 0 */
    uint8_t *y;
    int64_t x_stride, y_stride, s_stride, z_stride;
    hn_q8_end end; /* where all share one scale */
    hn_q8_scale scale;
    hn_vb flip;
} row;

HN_INLINE void step(const row *r, int64_t i, int64_t n) {
    hn_vf x[4];
    hn_vi y[4];
    hn_q8_fetch_f32(r->x, r->x_stride, i, n, x);
    hn_q8_divide(&r->scale, &r->end, x, y);
    hn_q8_put(r->y, r->y_stride, i, hn_q8_to_bytes(&r->end, y), n);
}

HN_INLINE void step_adjacent(const row *r, int64_t i) {
    hn_vf x[4];
    hn_vi y[4];
    hn_q8_fetch_f32(r->x, 1, i, HN_VB, x);
    hn_q8_divide(&r->scale, &r->end, x, y);
    hn_vb_store(r->y + i, hn_q8_to_bytes(&r->end, y));
}

/* By any scales. */
HN_INLINE void step_any(const row *r, int64_t i, int64_t n) {
    hn_vf x[4], s[4];
    hn_vi z[4], y[4];
    hn_vb zero = r->z == NULL ? hn_vb_set1(0) : hn_q8_fetch(r->z, r->z_stride, i, n);
    hn_q8_fetch_f32(r->x, r->x_stride, i, n, x);
    hn_q8_fetch_f32(r->s, r->s_stride, i, n, s);
    hn_vb_widen(hn_vb_xor(zero, r->flip), z);
    for (int k = 0; k < 4; k++) {
        hn_vf lo = hn_v_from_int(hn_vi_sub(hn_vi_set1(-128), z[k]));
        hn_vf hi = hn_v_from_int(hn_vi_sub(hn_vi_set1(127), z[k]));
        y[k] = hn_vi_add(hn_v_to_int(hn_q8_bound(hn_v_div(x[k], s[k]), lo, hi)), z[k]);
    }
    hn_q8_put(r->y, r->y_stride, i, hn_vb_xor(hn_vb_narrow(y), r->flip), n);
}

/* The pattern of a row's scales; false where one of them is not invertible. */
static bool lay_out(const hn_quantize_f32 *p, const row *r, const pattern *t) {
    const int64_t n = t->n, step = r->z_stride;
    for (int64_t i = 0; i < n; i++)
        if (!hn_q8_invertible(fabsf(r->s[i]))) return false;
    for (int64_t i = 0; i < n + HN_VB; i++) {
        const int64_t k = i < n ? i : i % n;
        const uint8_t z = r->z == NULL ? 0 : r->z[k * step];
        const int32_t zero = p->type == HN_Q8_U8 ? z : (int8_t)z;
        t->scale[i] = r->s[k];
        t->inverse[i] = 1 / r->s[k];
        t->lo[i] = (float)(hn_q8_lowest(p->type) - zero);
        t->hi[i] = (float)(hn_q8_highest(p->type) - zero);
        t->zero[i] = (float)(zero - hn_q8_bias(p->type));
    }
    return true;
}

/* Elements i to i + n of a long row, the first of which has scale k of the pattern. */
HN_INLINE void step_repeated(const row *r, const pattern *t, int64_t k, int64_t i, int64_t n) {
    hn_vf x[4];
    hn_vi y[4];
    hn_vf off[4];
    hn_q8_fetch_f32(r->x, 1, i, n, x);
    for (int j = 0; j < 4; j++) {
        const int64_t at = k + j * HN_VL;
        hn_vf v = hn_q8_bound(hn_v_mul(x[j], hn_v_load(t->inverse + at)), hn_v_load(t->lo + at),
                              hn_v_load(t->hi + at)),
              whole;
        y[j] = hn_q8_nearest(v, &whole);
        off[j] = hn_v_abs(hn_v_sub(v, whole));
    }
    if (hn_q8_unsure(off))
        for (int j = 0; j < 4; j++) {
            const int64_t at = k + j * HN_VL;
            hn_vf v = hn_v_div(x[j], hn_v_load(t->scale + at));
            y[j] = hn_v_to_int(hn_q8_bound(v, hn_v_load(t->lo + at), hn_v_load(t->hi + at)));
        }
    for (int j = 0; j < 4; j++)
        y[j] = hn_vi_add(y[j], hn_v_to_int(hn_v_load(t->zero + k + j * HN_VL)));
    hn_vb_store_part(r->y + i, hn_vb_xor(hn_vb_narrow(y), r->flip), n);
}

static void run_repeated(const row *r, const pattern *t, int64_t rows) {
    const int64_t all = rows * t->n;
    int64_t i = 0, k = 0;
    for (; i + HN_VB <= all; i += HN_VB) {
        step_repeated(r, t, k, i, HN_VB);
        k += HN_VB;
        if (k >= t->n) k = t->n > HN_VB ? k - t->n : k % t->n;
    }
    if (i < all) step_repeated(r, t, k, i, all - i);
}

static void run_row(const hn_quantize_f32 *p, row *r, int64_t n) {
    int64_t i = 0;
    if (r->s_stride == 0 && (r->z == NULL || r->z_stride == 0) && hn_q8_invertible(fabsf(*r->s))) {
        int32_t zero = r->z == NULL ? 0 : p->type == HN_Q8_U8 ? *r->z : (int8_t)*r->z;
        r->end = hn_q8_end_of(p->type, zero, hn_q8_lowest(p->type), hn_q8_highest(p->type));
        r->scale = hn_q8_scale_of(*r->s);
        const row own = *r; /* which bytes that are stored cannot change */
        if (own.x_stride == 1 && own.y_stride == 1)
            for (; i + HN_VB <= n; i += HN_VB) step_adjacent(&own, i);
        for (; i + HN_VB <= n; i += HN_VB) step(&own, i, HN_VB);
        if (i < n) step(&own, i, n - i);
    } else {
        for (; i + HN_VB <= n; i += HN_VB) step_any(r, i, HN_VB);
        if (i < n) step_any(r, i, n - i);
    }
}

/* Where the operands of a group, or of the whole, begin. */
typedef struct place {
    const float *x;
    uint8_t *y, *z;
    float *s;
} place;

/* The rows of a run: x has neighbours from row to row, y within them. */
static void run_turned(const hn_quantize_f32 *p, const row *first, const hn_space *s, int64_t run,
                       int64_t n) {
    int axis = s->rank - 2;
    int64_t s_axis = s->stride[HN_QUANTIZE_F32_S][axis];
    int64_t z_axis = s->stride[HN_QUANTIZE_F32_Z][axis];
    int64_t pixel = s->stride[HN_QUANTIZE_F32_Y][axis];
    hn_q8_planes t = {{0}};
    row r = {.x_stride = 1, .y_stride = 1, .s_stride = s_axis, .z_stride = z_axis};
    r.flip = first->flip;
    for (int64_t q = 0; q < run; q += HN_Q8_RUN)
        for (int64_t c = 0; c < n; c += HN_Q8_PLANES) {
            int64_t positions = run - q < HN_Q8_RUN ? run - q : HN_Q8_RUN;
            int64_t planes = n - c < HN_Q8_PLANES ? n - c : HN_Q8_PLANES;
            for (int64_t i = 0; i < planes; i++) {
                r.x = first->x + q + (c + i) * first->x_stride;
                r.s = first->s + q * s_axis + (c + i) * first->s_stride;
                r.z = first->z == NULL ? NULL : first->z + q * z_axis + (c + i) * first->z_stride;
                r.y = t[i];
                run_row(p, &r, positions);
            }
            hn_q8_weave(t, planes, positions, first->y + q * pixel + c, pixel);
        }
}

static void quantize(const hn_quantize_f32 *p, const cut *c, const place *at, int64_t task,
                     void *lane) {
    const hn_space *s = &c->inner;
    int last = s->rank - 1;
    bool turned = hn_q8_turns(s, HN_QUANTIZE_F32_X, HN_QUANTIZE_F32_Y);
    row r = {.x_stride = s->stride[HN_QUANTIZE_F32_X][last],
             .y_stride = s->stride[HN_QUANTIZE_F32_Y][last],
             .s_stride = s->stride[HN_QUANTIZE_F32_S][last],
             .z_stride = s->stride[HN_QUANTIZE_F32_Z][last],
             .flip = hn_q8_flip(p->type)};
    const bool repeated = !p->dynamic && repeats(s);
    const pattern repeating = repeated ? pattern_at(c->rows.n, lane) : (pattern){0};
    const float *laid = NULL; /* scales that the pattern is of */
    hn_walk w = hn_walk_of(s, &c->rows, task);
    while (w.rows > 0) {
        r.x = at->x + w.offset[HN_QUANTIZE_F32_X];
        r.y = at->y + w.offset[HN_QUANTIZE_F32_Y];
        r.s = at->s + w.offset[HN_QUANTIZE_F32_S];
        r.z = at->z == NULL ? NULL : at->z + w.offset[HN_QUANTIZE_F32_Z];
        if (turned) {
            int64_t run = hn_q8_run_of(&w);
            run_turned(p, &r, s, run, w.n);
            hn_walk_skip(&w, run);
        } else if (repeated && (r.s == laid || lay_out(p, &r, &repeating))) {
            int64_t run = hn_q8_run_of(&w);
            laid = r.s;
            run_repeated(&r, &repeating, run);
            hn_walk_skip(&w, run);
        } else {
            run_row(p, &r, w.n);
            hn_walk_next(&w);
        }
    }
}

static void run_group(const hn_quantize_f32 *p, const cut *c, place at, int64_t g) {
    at.x += hn_space_offset(&c->lead, HN_QUANTIZE_F32_X, g);
    at.y += hn_space_offset(&c->lead, HN_QUANTIZE_F32_Y, g);
    at.s += hn_space_offset(&c->lead, HN_QUANTIZE_F32_S, g);
    at.z += hn_space_offset(&c->lead, HN_QUANTIZE_F32_Z, g);
    range r = {0, 0};
    for (int64_t task = 0; task < c->rows.tasks; task++) r = join(r, range_of(c, at.x, task));
    settle(p, r, at.s, at.z);
    for (int64_t task = 0; task < c->rows.tasks; task++) quantize(p, c, &at, task, NULL);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_quantize_f32 *p = call->problem;
    cut c = cut_of(p);
    place at = {.x = call->ptr[HN_QUANTIZE_F32_X],
                .y = call->ptr[HN_QUANTIZE_F32_Y],
                .s = call->ptr[HN_QUANTIZE_F32_S],
                .z = call->ptr[HN_QUANTIZE_F32_Z]};
    range *ranges = call->scratch;
    for (int64_t task = begin; task < end; task++) {
        if (c.grouped) {
            int64_t first = task * c.group,
                    n = c.groups - first < c.group ? c.groups - first : c.group;
            for (int64_t g = first; g < first + n; g++) run_group(p, &c, at, g);
        } else if (!p->dynamic || phase == 2) {
            quantize(p, &c, &at, task, lane);
        } else if (phase == 0) {
            ranges[task] = range_of(&c, at.x, task);
        } else {
            range r = {0, 0};
            for (int64_t i = 0; i < c.rows.tasks; i++) r = join(r, ranges[i]);
            settle(p, r, at.s, at.z);
        }
    }
}

const hn_kernel HN_V_ROW(quantize_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
