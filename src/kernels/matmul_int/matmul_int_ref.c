/* The definition of matmul_int: one element at a time. A task is a row of a batch. */
#include "kernels/matmul_int/matmul_int.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_matmul_int *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_matmul_f64_batches(&p->at) * p->at.m}};
}

static uint64_t element(const void *x, bool wide, int64_t i) {
    return wide ? ((const uint64_t *)x)[i] : ((const uint32_t *)x)[i];
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    bool wide = ((const hn_matmul_int *)call->problem)->wide;
    const hn_matmul_f64 *p = &((const hn_matmul_int *)call->problem)->at;
    for (int64_t task = begin; task < end; task++) {
        int64_t batch = task / p->m, i = task % p->m;
        int64_t a = hn_matmul_f64_offset(p, p->a_batch, batch) + i * p->a_m;
        int64_t b = hn_matmul_f64_offset(p, p->b_batch, batch);
        int64_t c = hn_matmul_f64_offset(p, p->c_batch, batch) + i * p->c_m;
        for (int64_t j = 0; j < p->n; j++) {
            uint64_t sum = 0;
            for (int64_t k = 0; k < p->k; k++)
                sum += element(call->ptr[HN_MATMUL_INT_A], wide, a + k * p->a_k) *
                       element(call->ptr[HN_MATMUL_INT_B], wide, b + k * p->b_k + j * p->b_n);
            void *to = call->ptr[HN_MATMUL_INT_C];
            if (wide)
                ((uint64_t *)to)[c + j * p->c_n] = sum;
            else
                ((uint32_t *)to)[c + j * p->c_n] = (uint32_t)sum;
        }
    }
}

const hn_kernel hn_matmul_int_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
