/* mean_planes_q8 over the vector vocabulary: vectors run along planes.
 *
 * A task is HN_VL planes. Each leaves a vector of partial sums; these are transposed, so that their
 * sum has a plane in each lane.
 */
#include "kernels/mean_planes_q8/mean_planes_q8.h"
#include "kernels/q8_simd.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_mean_planes_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {(p->planes + HN_VL - 1) / HN_VL}};
}

/* Sums of a plane's flipped bytes; those that are missing in the last vector count as flipped 0. */
HN_INLINE hn_vi plane_sums(const uint8_t *x, int64_t size, hn_vb flip) {
    hn_vi a = hn_vi_set1(0), b = a;
    int64_t i = 0;
    for (; i + 2 * HN_VB <= size; i += 2 * HN_VB) {
        a = hn_vi_add(a, hn_vb_sums(hn_vb_xor(hn_vb_load(x + i), flip)));
        b = hn_vi_add(b, hn_vb_sums(hn_vb_xor(hn_vb_load(x + i + HN_VB), flip)));
    }
    for (; i < size; i += HN_VB) {
        int64_t n = size - i < HN_VB ? size - i : HN_VB;
        a = hn_vi_add(a, hn_vb_sums(hn_vb_xor(hn_vb_load_part(x + i, n), flip)));
    }
    return hn_vi_add(a, b);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_mean_planes_q8 *p = call->problem;
    const uint8_t *x = call->ptr[HN_MEAN_PLANES_X];
    uint8_t *y = call->ptr[HN_MEAN_PLANES_Y];
    hn_q8_end ending = hn_q8_end_of(p->y, p->yz, p->lo, p->hi);
    hn_vb flip = hn_q8_flip(p->x);
    hn_vf m = hn_v_set1(p->sx / (p->sy * (float)p->size));
    uint32_t met = (uint32_t)((p->size + HN_VB - 1) / HN_VB * HN_VB); /* bytes of whole vectors */
    uint32_t away = (uint32_t)p->size * (uint32_t)p->xz - met * (uint32_t)hn_q8_bias(p->x);
    for (int64_t task = begin; task < end; task++) {
        int64_t first = task * HN_VL, n = p->planes - first < HN_VL ? p->planes - first : HN_VL;
        hn_vf r[HN_VL], v[4] = {m, m, m, m};
        for (int i = 0; i < HN_VL; i++)
            r[i] = hn_v_from_bits(i < n ? plane_sums(x + (first + i) * p->size, p->size, flip)
                                        : hn_vi_set1(0));
        hn_v_transpose(r);
        hn_vi sum = hn_v_bits(r[0]);
        for (int i = 1; i < HN_VL; i++) sum = hn_vi_add(sum, hn_v_bits(r[i]));
        v[0] = hn_v_mul(hn_v_from_int(hn_vi_sub(sum, hn_vi_set1((int32_t)away))), m);
        hn_vb_store_n(y + first, hn_q8_round_off(&ending, v), n);
    }
}

const hn_kernel HN_V_ROW(mean_planes_q8) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
