/* The definition of col2im_f32: sums in double, one output at a time. A task is a row of y. */
#include "kernels/act_ref.h"
#include "kernels/col2im_f32/col2im_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_col2im_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->planes * p->h}};
}

/* Which of `n` windows, `stride` apart, sees place i by the tap `offset` from its beginning; -1:
 * none.
 */
static int64_t window_of(int64_t i, int64_t offset, int64_t stride, int64_t n) {
    int64_t at = i - offset;
    return at < 0 || at % stride != 0 || at / stride >= n ? -1 : at / stride;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_col2im_f32 *p = call->problem;
    const float *bias = call->ptr[HN_COL2IM_BIAS];
    for (int64_t t = begin; t < end; t++)
        for (int64_t ix = 0; ix < p->w; ix++) {
            double sum = bias != NULL ? (double)bias[t / p->h % p->channels] : 0;
            for (int64_t k = 0; k < p->kh * p->kw; k++) {
                int64_t oy = window_of(t % p->h, k / p->kw * p->dh - p->pt, p->sh, p->oh);
                int64_t ox = window_of(ix, k % p->kw * p->dw - p->pl, p->sw, p->ow);
                if (oy < 0 || ox < 0) continue;
                int64_t row = t / p->h * p->kh * p->kw + k;
                sum += (double)((const float *)
                                    call->ptr[HN_COL2IM_X])[(row * p->oh + oy) * p->ow + ox];
            }
            ((float *)call->ptr[HN_COL2IM_Y])[t * p->w + ix] = (float)hn_act_ref(&p->act, sum);
        }
}

const hn_kernel hn_col2im_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
