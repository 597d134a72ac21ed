/* pool_q8 over the vector vocabulary: vectors run along channels, HN_VB of them at a time.
 *
 * A task is an output row of a block of channels.
 */
#include "base/divide.h"
#include "kernels/pool_f32/pool_f32_window.h"
#include "kernels/pool_q8/pool_q8.h"
#include "kernels/q8_simd.h"

enum {
    BLOCK = 512,  /* channels of a task, */
    NARROW = 128, /* and where images have but one output: all tasks come from channels */
};

static int64_t block_of(const hn_pool_q8 *p) { return p->oh == 1 ? NARROW : BLOCK; }

static int64_t blocks_of(const hn_pool_q8 *p) { return (p->c + block_of(p) - 1) / block_of(p); }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_pool_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * blocks_of(p) * p->oh}};
}

/* The part of a window that lies in the image, and what its mean takes away and multiplies by. */
typedef struct window {
    const uint8_t *x;
    int64_t rows, columns;
    int32_t away; /* of the sum of flipped values */
    hn_vf m;
    hn_q8_end end;
    hn_vb flip;
} window;

HN_INLINE hn_vb largest(const hn_pool_q8 *p, const window *w, int64_t c, int64_t n) {
    hn_vb all = hn_vb_set1(-128);
    for (int64_t ky = 0; ky < w->rows; ky++) {
        const uint8_t *at = w->x + ky * p->dh * p->x_row + c;
        for (int64_t kx = 0; kx < w->columns; kx++)
            all = hn_vb_max(all,
                            hn_vb_xor(hn_vb_load_part(at + kx * p->dw * p->x_pixel, n), w->flip));
    }
    return hn_vb_xor(all, w->flip);
}

HN_INLINE hn_vb mean(const hn_pool_q8 *p, const window *w, int64_t c, int64_t n) {
    hn_vi sum[4], x[4];
    hn_vf v[4];
    for (int k = 0; k < 4; k++) sum[k] = hn_vi_set1(0);
    for (int64_t ky = 0; ky < w->rows; ky++) {
        const uint8_t *at = w->x + ky * p->dh * p->x_row + c;
        for (int64_t kx = 0; kx < w->columns; kx++) {
            hn_vb_widen(hn_vb_xor(hn_vb_load_part(at + kx * p->dw * p->x_pixel, n), w->flip), x);
            for (int k = 0; k < 4; k++) sum[k] = hn_vi_add(sum[k], x[k]);
        }
    }
    for (int k = 0; k < 4; k++)
        v[k] = hn_v_mul(hn_v_from_int(hn_vi_sub(sum[k], hn_vi_set1(w->away))), w->m);
    return hn_q8_round_off(&w->end, v);
}

HN_INLINE void step(const hn_pool_q8 *p, const window *w, uint8_t *y, int64_t c, int64_t n) {
    hn_vb_store_part(y + c, p->kind == HN_POOL_Q8_MAX ? largest(p, w, c, n) : mean(p, w, c, n), n);
}

static void run_row(const hn_pool_q8 *p, const uint8_t *x, uint8_t *y, int64_t oy,
                    int64_t channels) {
    hn_pool_span v = hn_pool_span_of(oy, p->kh, p->sh, p->dh, p->pt, p->pb, p->h);
    window w = {.end = hn_q8_end_of(p->y, p->yz, p->lo, p->hi), .flip = hn_q8_flip(p->x)};
    for (int64_t ox = 0; ox < p->ow; ox++) {
        hn_pool_span h = hn_pool_span_of(ox, p->kw, p->sw, p->dw, p->pl, p->pr, p->w);
        int64_t taken = v.n * h.n, count = p->count_pads ? v.counted * h.counted : taken;
        w.x = x + (taken > 0 ? v.first * p->x_row + h.first * p->x_pixel : 0);
        w.rows = taken > 0 ? v.n : 0, w.columns = h.n;
        w.away = (int32_t)((uint32_t)taken * (uint32_t)(p->xz - hn_q8_bias(p->x)));
        if (p->kind == HN_POOL_Q8_MEAN)
            w.m = hn_v_set1(p->sx / (p->sy * (float)(count > 0 ? count : 1)));
        uint8_t *to = y + oy * p->y_row + ox * p->y_pixel;
        int64_t c = 0;
        for (; c + HN_VB <= channels; c += HN_VB) step(p, &w, to, c, HN_VB);
        if (c < channels) step(p, &w, to, c, channels - c);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_pool_q8 *p = call->problem;
    int64_t block = block_of(p), blocks = blocks_of(p);
    for (int64_t task = begin; task < end; task++) {
        int64_t image = task;
        const int64_t oy = hn_digit(&image, p->oh), first = hn_digit(&image, blocks) * block;
        run_row(p, (const uint8_t *)call->ptr[HN_POOL_Q8_X] + image * p->x_image + first,
                (uint8_t *)call->ptr[HN_POOL_Q8_Y] + image * p->y_image + first, oy,
                p->c - first < block ? p->c - first : block);
    }
}

const hn_kernel HN_V_ROW(pool_q8) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
