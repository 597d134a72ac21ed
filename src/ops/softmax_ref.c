#include "ops/softmax_ref.h"

#include <math.h>

typedef struct pass {
    const hn_tensor *x;
    double *peak, *sum;
} pass;

static void take_peak(void *state, int64_t at, int64_t n, int64_t step) {
    pass *p = state;
    double x[HN_BLOCK];
    hn_load_f64_n(p->x->dtype, p->x->data, at, n, x);
    for (int64_t i = 0; i < n; i++)
        if (x[i] > p->peak[i * step] || isnan(x[i])) p->peak[i * step] = x[i];
}

static void take_sum(void *state, int64_t at, int64_t n, int64_t step) {
    pass *p = state;
    double x[HN_BLOCK];
    hn_load_f64_n(p->x->dtype, p->x->data, at, n, x);
    for (int64_t i = 0; i < n; i++) p->sum[i * step] += exp(x[i] - p->peak[i * step]);
}

void hn_softmax_sums(const hn_groups *g, const hn_tensor *x, int64_t first, int64_t width,
                     double *peak, double *sum) {
    pass p = {x, peak, sum};
    for (int64_t i = 0; i < width; i++) peak[i] = -INFINITY;
    hn_group_walk(g, first, width, take_peak, &p);
    if (sum == NULL) return;
    for (int64_t i = 0; i < width; i++) sum[i] = 0;
    hn_group_walk(g, first, width, take_sum, &p);
}

void hn_softmax_row(double *x, int64_t n) {
    double peak = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > peak || isnan(x[i])) peak = x[i];
    for (int64_t i = 0; i < n; i++) {
        x[i] = peak == -INFINITY ? 0 : exp(x[i] - peak);
        sum += x[i];
    }
    for (int64_t i = 0; sum != 0 && i < n; i++) x[i] /= sum;
}
