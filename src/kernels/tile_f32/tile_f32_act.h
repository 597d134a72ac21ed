/* Activations that are no clipping, over the finished rows of a tile, which are still in L1: one
 * body, included by each instruction set after its simd header. */
#ifndef HN_KERNELS_TILE_F32_ACT_H
#define HN_KERNELS_TILE_F32_ACT_H

#include "kernels/act_simd.h"
#include "kernels/tile_f32/tile_f32.h"

/* The vectors that the first n of `at` point at. */
HN_INLINE void act_vectors(float *const *at, const int n, hn_act_kind kind, hn_vf a, hn_vf b) {
    hn_vf v[HN_V_CHAINS];
    for (int i = 0; i < n; i++) v[i] = hn_v_load(at[i]);
    for (int i = 0; i < n; i++) v[i] = hn_v_act(v[i], kind, a, b);
    for (int i = 0; i < n; i++) hn_v_store(at[i], v[i]);
}

HN_INLINE void act_rows(float *const *y, int rows, int64_t column, int64_t n, hn_act_kind kind,
                        hn_vf a, hn_vf b) {
    float *at[HN_V_CHAINS];
    int found = 0;
    for (int i = 0; i < rows; i++) {
        float *p = y[i] + column;
        int64_t j = 0;
        for (; j + HN_VL <= n; j += HN_VL) {
            at[found++] = p + j;
            if (found < HN_V_CHAINS) continue;
            act_vectors(at, HN_V_CHAINS, kind, a, b);
            found = 0;
        }
        if (j < n) hn_v_store_n(p + j, hn_v_act(hn_v_load_n(p + j, n - j), kind, a, b), n - j);
    }
    for (int i = 0; i < found; i++) act_vectors(at + i, 1, kind, a, b);
}

static void act_tile(const hn_act *act, float *const *y, int rows, int64_t column, int64_t n) {
    hn_vf a = hn_v_set1(act->a), b = hn_v_set1(act->b);
    switch (act->kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: act_rows(y, rows, column, n, HN_ACT_##name, a, b); break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

#endif
