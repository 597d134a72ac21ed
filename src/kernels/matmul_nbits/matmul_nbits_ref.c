/* The definition of matmul_nbits: sums in double. A task is a row of y. */
#include <math.h>

#include "base/divide.h"
#include "kernels/act_ref.h"
#include "kernels/matmul_nbits/matmul_nbits.h"

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {((const hn_matmul_nbits *)problem)->m}};
}

static double zero_at(const hn_matmul_nbits *p, const void *z, int64_t i) {
    if (p->zeros == HN_NBITS_ONE) return p->zero;
    return p->zeros == HN_NBITS_U8 ? ((const uint8_t *)z)[i] : (double)((const float *)z)[i];
}

/* The largest |x| of the piece that k begins, and how long it is. */
static float largest(const hn_matmul_nbits *p, const float *x, int64_t k, int64_t *n) {
    float m = 0;
    int64_t left = p->block - k % p->block;
    if (left > p->k - k) left = p->k - k;
    *n = left < HN_NBITS_PIECE ? left : HN_NBITS_PIECE;
    for (int64_t i = k; i < k + *n; i++) m = fabsf(x[i]) <= m ? m : fabsf(x[i]);
    return m;
}

static bool is_rounded(const hn_matmul_nbits *p, const float *x) {
    int64_t n;
    if (!p->x_rounded) return false;
    for (int64_t k = 0; k < p->k; k++)
        if (!isfinite(x[k])) return false;
    for (int64_t k = 0; k < p->k; k += n) {
        float m = largest(p, x, k, &n);
        if (m > 0 && m < HN_NBITS_TINY) return false;
    }
    return true;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_matmul_nbits *p = call->problem;
    const float *s = call->ptr[HN_NBITS_S], *bias = call->ptr[HN_NBITS_BIAS];
    const float *r = call->ptr[HN_NBITS_R];
    float *y = call->ptr[HN_NBITS_Y];
    for (int64_t i = begin; i < end; i++) {
        const float *x = (const float *)call->ptr[HN_NBITS_X] + i * p->x_m;
        bool rounded = is_rounded(p, x);
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            float m = 0;
            for (int64_t k = 0, next = 0, n; k < p->k; k++) {
                double value = (double)x[k];
                if (rounded) {
                    if (k == next) m = largest(p, x, k, &n), next += n;
                    value = m > 0 ? (double)(m / 127) * (double)rintf(x[k] * (127 / m)) : 0;
                }
                int64_t at = j * p->s_n + hn_over(k, p->block) * p->s_g;
                double w = hn_nbits_code(p, call->ptr[HN_NBITS_W], j, k);
                sum += value * (w - zero_at(p, call->ptr[HN_NBITS_Z], at)) * (double)s[at];
            }
            if (bias != NULL) sum += (double)bias[j];
            if (r != NULL) sum += (double)r[i * p->r_m + j];
            y[i * p->y_m + j] = (float)hn_act_ref(&p->act, sum);
        }
    }
}

const hn_kernel hn_matmul_nbits_ref = {.name = "ref", .order = "double", .work = work, .run = run};
