/* The definition of matmul_f32: sums in double. A task is a row of c. */
#include "kernels/act_ref.h"
#include "kernels/matmul_f32/matmul_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_matmul_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_matmul_batches(p) * p->m}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_matmul_f32 *p = call->problem;
    const float *bias = call->ptr[HN_MATMUL_BIAS], *r = call->ptr[HN_MATMUL_R];
    for (int64_t t = begin; t < end; t++) {
        int64_t batch = t / p->m, i = t % p->m;
        const float *a = (const float *)call->ptr[HN_MATMUL_A] +
                         hn_matmul_offset(p, p->a_batch, batch) + i * p->a_m;
        const float *b =
            (const float *)call->ptr[HN_MATMUL_B] + hn_matmul_offset(p, p->b_batch, batch);
        float *c =
            (float *)call->ptr[HN_MATMUL_C] + hn_matmul_offset(p, p->c_batch, batch) + i * p->c_m;
        for (int64_t j = 0; j < p->n; j++) {
            double s = 0;
            for (int64_t k = 0; k < p->k; k++)
                s += (double)a[k * p->a_k] * (double)b[k * p->b_k + j * p->b_n];
            s *= (double)p->alpha;
            if (bias != NULL) s += (double)bias[j];
            if (r != NULL)
                s += (double)r[hn_matmul_offset(p, p->r_batch, batch) + i * p->r_m + j * p->r_n];
            c[j * p->c_n] = (float)hn_act_ref(&p->act, s);
        }
    }
}

const hn_kernel hn_matmul_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
