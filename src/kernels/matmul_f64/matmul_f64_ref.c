/* The definition of matmul_f64: one sum at a time. A task is a row of c. */
#include "kernels/matmul_f64/matmul_f64.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_matmul_f64 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_matmul_f64_batches(p) * p->m}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_matmul_f64 *p = call->problem;
    const double *r = call->ptr[HN_MATMUL_F64_R];
    for (int64_t t = begin; t < end; t++) {
        int64_t batch = t / p->m, i = t % p->m;
        const double *a = (const double *)call->ptr[HN_MATMUL_F64_A] +
                          hn_matmul_f64_offset(p, p->a_batch, batch) + i * p->a_m;
        const double *b =
            (const double *)call->ptr[HN_MATMUL_F64_B] + hn_matmul_f64_offset(p, p->b_batch, batch);
        double *c = (double *)call->ptr[HN_MATMUL_F64_C] +
                    hn_matmul_f64_offset(p, p->c_batch, batch) + i * p->c_m;
        int64_t from = hn_matmul_f64_offset(p, p->r_batch, batch) + i * p->r_m;
        for (int64_t j = 0; j < p->n; j++) {
            double s = 0;
            for (int64_t k = 0; k < p->k; k++) s += a[k * p->a_k] * b[k * p->b_k + j * p->b_n];
            s *= p->alpha;
            c[j * p->c_n] = r != NULL ? s + r[from + j * p->r_n] : s;
        }
    }
}

const hn_kernel hn_matmul_f64_ref = {.name = "ref", .order = "one", .work = work, .run = run};
