/* The definition of select_k: by counting what comes before an element. A task is a line. */
#include <math.h>

#include "kernels/select_k/select_k.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_select_k *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->outer * p->inner}};
}

/* Whether element i of a line, at x, comes before element j. */
static bool precedes(const hn_select_k *p, const void *x, int64_t at, int64_t i, int64_t j) {
    int64_t a = at + i * p->x_size, b = at + j * p->x_size;
    int sign = 0; /* of x[a] - x[b] */
    if (!hn_dtype_is_float(p->dtype)) {
        int64_t u = hn_load_s64(p->dtype, x, a), v = hn_load_s64(p->dtype, x, b);
        sign = (u > v) - (u < v);
    } else {
        double u = hn_load_f64(p->dtype, x, a), v = hn_load_f64(p->dtype, x, b);
        sign = isnan(u) || isnan(v) ? isnan(u) - isnan(v) : (u > v) - (u < v);
        if (p->nan_first && p->smallest && (isnan(u) || isnan(v))) sign = -sign;
    }
    if (sign != 0) return (sign > 0) != p->smallest;
    return p->last ? i > j : i < j;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_select_k *p = call->problem;
    const void *x = call->ptr[HN_SELECT_K_X];
    for (int64_t t = begin; t < end; t++) {
        int64_t o = t / p->inner, i = t % p->inner, at = o * p->x_outer + i * p->x_inner;
        for (int64_t j = 0; j < p->size; j++) {
            int64_t before = 0;
            for (int64_t m = 0; m < p->size; m++) before += precedes(p, x, at, m, j);
            if (before >= p->k) continue;
            int64_t to = (o * p->k + before) * p->inner + i;
            int64_t *indices = call->ptr[HN_SELECT_K_INDICES];
            if (indices != NULL) indices[to] = j;
            if (call->ptr[HN_SELECT_K_VALUES] != NULL)
                hn_copy_element(p->dtype, call->ptr[HN_SELECT_K_VALUES], to, x, at + j * p->x_size);
        }
    }
}

const hn_kernel hn_select_k_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
