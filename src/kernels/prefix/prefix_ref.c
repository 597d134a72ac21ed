/* The definition of prefix: line by line, a task each. */
#include "kernels/prefix/prefix.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_prefix *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->outer * p->inner}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_prefix *p = call->problem;
    const void *x = call->ptr[HN_PREFIX_X];
    void *y = call->ptr[HN_PREFIX_Y];
    for (int64_t t = begin; t < end; t++) {
        double real = p->product ? 1 : 0;
        uint64_t whole = p->product ? 1 : 0;
        for (int64_t m = 0; m < p->size; m++) {
            int64_t j = p->reverse ? p->size - 1 - m : m;
            int64_t at = (t / p->inner * p->size + j) * p->inner + t % p->inner;
            if (hn_dtype_is_float(p->dtype)) {
                double v = hn_load_f64(p->dtype, x, at), before = real;
                real = p->product ? real * v : real + v;
                hn_store_f64(p->dtype, y, at, p->exclusive ? before : real);
            } else {
                uint64_t v = (uint64_t)hn_load_s64(p->dtype, x, at), before = whole;
                whole = p->product ? whole * v : whole + v;
                hn_store_s64(p->dtype, y, at, (int64_t)(p->exclusive ? before : whole));
            }
        }
    }
}

const hn_kernel hn_prefix_ref = {.name = "ref", .order = "line", .work = work, .run = run};
