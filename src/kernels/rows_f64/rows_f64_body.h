/* rows_f64 by loops of constant length, for the compiler to vectorize: a row goes through them
 * LANES elements at a time, its end through a copy that is filled up with what changes nothing. A sum
 * is that of LANES sums, each of every LANES-th element, joined by halves. A task is a group of rows.
 */
#include <math.h>
#include <string.h>

#include "kernels/rows_f64/rows_f64.h"
#include "simd/doubles.h"
#include "simd/part.h"

enum { LANES = 32, TASK = 4096 }; /* elements */

static int64_t group_of(const hn_rows_f64 *p) { return p->n < TASK ? TASK / (p->n + 1) + 1 : 1; }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_rows_f64 *p = problem;
    (void)lanes;
    int64_t group = group_of(p);
    *w = (hn_work){.n_phases = 1, .tasks = {(p->rows + group - 1) / group}};
}

/* What is added up of an element v. */
typedef enum term { VALUE, SQUARE, SIZE, EXPONENTIAL } term;

HN_INLINE double term_of(double v, double from, term what) {
    switch (what) {
        case VALUE: return v;
        case SQUARE: return (v - from) * (v - from);
        case SIZE: return fabs(v);
        default: return hn_d_exp(v - from);
    }
}

/* LANES terms onto as many sums, and to y, if that is there. */
HN_INLINE void add_terms(const double *x, double from, term what, double *sum, double *y) {
    for (int k = 0; k < LANES; k++) {
        double v = term_of(x[k], from, what);
        sum[k] += v;
        if (y != NULL) y[k] = v;
    }
}

/* The last n elements, and in place of those that are missing some whose term is 0. */
static const double *filled(const double *x, int64_t n, double with, double *room) {
    memcpy(room, x, (size_t)n * sizeof *room);
    for (int64_t k = n; k < LANES; k++) room[k] = with;
    return room;
}

HN_INLINE double total(const double *x, int64_t n, double from, term what, double *y) {
    double sum[LANES] = {0}, room[LANES], terms[LANES];
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) add_terms(x + i, from, what, sum, y != NULL ? y + i : NULL);
    if (i < n) {
        double nothing = what == EXPONENTIAL ? -(double)INFINITY : from;
        add_terms(filled(x + i, n - i, nothing, room), from, what, sum, terms);
        if (y != NULL) memcpy(y + i, terms, (size_t)(n - i) * sizeof *y);
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) sum[k] += sum[k + half];
    return sum[0];
}

static double largest(const double *x, int64_t n) {
    double most[LANES], room[LANES];
    int64_t i = 0;
    for (int k = 0; k < LANES; k++) most[k] = -(double)INFINITY;
    for (; i < n; i += LANES) {
        const double *v = i + LANES <= n ? x + i : filled(x + i, n - i, x[i], room);
        for (int k = 0; k < LANES; k++)
            most[k] = ((v[k] > most[k]) | (v[k] != v[k])) ? v[k] : most[k];
    }
    for (int k = 1; k < LANES; k++)
        most[0] = ((most[k] > most[0]) | (most[k] != most[k])) ? most[k] : most[0];
    return most[0];
}

HN_INLINE void finish_part(const double *x, double minus, double by, const double *scale,
                           const double *bias, double *y, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        double v = (x[k] - minus) * by;
        if (scale != NULL) v *= scale[k];
        if (bias != NULL) v += bias[k];
        y[k] = v;
    }
}

/* y = (x - minus) * by * scale + bias. */
HN_INLINE void finish(const double *x, double minus, double by, const double *scale,
                      const double *bias, double *y, int64_t n) {
    int64_t i = 0;
#define AT(p) ((p) != NULL ? (p) + i : NULL)
    for (; i + LANES <= n; i += LANES)
        finish_part(x + i, minus, by, AT(scale), AT(bias), y + i, LANES);
    finish_part(x + i, minus, by, AT(scale), AT(bias), y + i, n - i);
#undef AT
}

static void softmax(const double *x, double *y, int64_t n) {
    double sum = total(x, n, largest(x, n), EXPONENTIAL, y);
    finish(y, 0, 1 / sum, NULL, NULL, y, n);
}

static void log_softmax(const double *x, double *y, int64_t n) {
    double most = largest(x, n), minus = log(total(x, n, most, EXPONENTIAL, NULL));
    finish(x, most, 1, NULL, NULL, y, n);
    finish(y, minus, 1, NULL, NULL, y, n);
}

static void norm(const hn_rows_f64 *p, const double *x, const double *scale, const double *bias,
                 double *y) {
    int64_t n = p->n;
    double mean = p->op == HN_ROWS_F64_LAYER ? total(x, n, 0, VALUE, NULL) / (double)n : 0;
    double by = 1 / sqrt(total(x, n, mean, SQUARE, NULL) / (double)n + p->epsilon);
    if (scale != NULL && bias != NULL)
        finish(x, mean, by, scale, bias, y, n);
    else if (scale != NULL)
        finish(x, mean, by, scale, NULL, y, n);
    else
        finish(x, mean, by, NULL, bias, y, n);
}

static void lp_norm(const hn_rows_f64 *p, const double *x, double *y) {
    double size = p->op == HN_ROWS_F64_LP1 ? total(x, p->n, 0, SIZE, NULL)
                                           : sqrt(total(x, p->n, 0, SQUARE, NULL));
    finish(x, 0, size == 0 ? 1 : 1 / size, NULL, NULL, y, p->n);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_rows_f64 *p = call->problem;
    const double *scale = call->ptr[HN_ROWS_F64_SCALE], *bias = call->ptr[HN_ROWS_F64_BIAS];
    int64_t group = group_of(p), rows = end * group < p->rows ? end * group : p->rows;
    for (int64_t t = begin * group; t < rows; t++) {
        const double *x = (const double *)call->ptr[HN_ROWS_F64_X] + t * p->n;
        double *y = (double *)call->ptr[HN_ROWS_F64_Y] + t * p->n;
        switch (p->op) {
            case HN_ROWS_F64_SOFTMAX: softmax(x, y, p->n); break;
            case HN_ROWS_F64_LOG_SOFTMAX: log_softmax(x, y, p->n); break;
            case HN_ROWS_F64_LAYER:
            case HN_ROWS_F64_RMS: norm(p, x, scale, bias, y); break;
            default: lp_norm(p, x, y); break;
        }
    }
}

const hn_kernel HN_V_ROW(rows_f64) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "lanes", .work = work, .run = run};
