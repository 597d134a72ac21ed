/* The definition of recurrent_f32, in double, and with RECURRENT_Q8 that of recurrent_q8. A task is
 * a sequence in one direction. */
#include <math.h>

#include "kernels/act_ref.h"
#include "kernels/recurrent_f32/recurrent_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_recurrent_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->dirs * p->batch}};
    /* h, c, r*h, the gates from H. */
    w->lane_scratch = (size_t)((3 + hn_recurrent_gates(p->kind)) * p->hidden) * sizeof(double);
}

#ifdef RECURRENT_Q8
typedef int8_t weight;
#else
typedef float weight;
#endif

/* One sequence in one direction. */
typedef struct sequence {
    const hn_recurrent_f32 *p;
    const hn_act *act;
    const weight *r;
    const float *x, *scales, *bias, *peep; /* x: at the step */
    int64_t n;                             /* hidden */
    double *h, *c, *rh, *hr;
} sequence;

#ifdef RECURRENT_Q8

/* hr = v . R for gates [first, last) */
static void exact_product(const sequence *s, const double *v, int first, int last) {
    for (int64_t j = first * s->n; j < last * s->n; j++) {
        double sum = 0;
        for (int64_t k = 0; k < s->n; k++) sum += v[k] * s->r[j * s->n + k];
        s->hr[j] = sum * (double)s->scales[j];
    }
}

/* hr = v . R for gates [first, last), v brought to 8 bits unless the problem says otherwise. */
static void product(const sequence *s, const double *v, int first, int last) {
    if (s->p->exact_h) {
        exact_product(s, v, first, last);
        return;
    }
    float lo = 0, hi = 0;
    for (int64_t k = 0; k < s->n; k++) {
        float x = (float)v[k];
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
    }
    float scale = lo == hi ? 1 : (hi - lo) / 255;
    double zero = rint((double)(-lo / scale));
    for (int64_t j = first * s->n; j < last * s->n; j++) {
        double sum = 0; /* of integers, and so exact */
        for (int64_t k = 0; k < s->n; k++) {
            double q = rint((double)((float)v[k] / scale)) + zero;
            q = q > 0 ? q < 255 ? q : 255 : 0; /* NaN becomes 0 */
            sum += (q - zero) * s->r[j * s->n + k];
        }
        s->hr[j] = sum * (double)scale * (double)s->scales[j];
    }
}

#else

/* hr = v . R for gates [first, last) */
static void product(const sequence *s, const double *v, int first, int last) {
    for (int64_t j = first * s->n; j < last * s->n; j++) {
        s->hr[j] = 0;
        for (int64_t k = 0; k < s->n; k++) s->hr[j] += v[k] * (double)s->r[j * s->n + k];
    }
}

#endif

static double bias(const sequence *s, int side, int64_t j) {
    int64_t gates = hn_recurrent_gates(s->p->kind) * s->n;
    return s->bias != NULL ? (double)s->bias[side * gates + j] : 0;
}

/* What gate j gets from the input, from H and from a peephole. */
static double gate(const sequence *s, int64_t j, double hr, double more) {
    return (double)s->x[j] + bias(s, 0, j) + hr + bias(s, 1, j) + more;
}

static double act(const sequence *s, int which, double v) {
    double most = fabs((double)s->p->clip);
    v = v > most ? most : v < -most ? -most : v;
    return hn_act_ref(&s->act[which], v);
}

static double peephole(const sequence *s, int64_t j, double c) {
    return s->peep != NULL ? (double)s->peep[j] * c : 0;
}

static void lstm(const sequence *s, int64_t j) {
    int64_t n = s->n;
    double c = s->c[j];
    double i = act(s, 0, gate(s, j, s->hr[j], peephole(s, j, c)));
    double u = act(s, 0, gate(s, 2 * n + j, s->hr[2 * n + j], peephole(s, 2 * n + j, c)));
    if (s->p->input_forget) u = 1 - i;
    c = u * c + i * act(s, 1, gate(s, 3 * n + j, s->hr[3 * n + j], 0));
    double o = act(s, 0, gate(s, n + j, s->hr[n + j], peephole(s, n + j, c)));
    s->c[j] = c;
    s->h[j] = o * hn_act_ref(&s->act[2], c);
}

static void gru(const sequence *s, int64_t j) {
    int64_t n = s->n, at = 2 * n + j;
    double z = act(s, 0, gate(s, j, s->hr[j], 0)), v = gate(s, at, s->hr[at], 0);
    if (s->p->linear_before_reset) {
        double r = act(s, 0, gate(s, n + j, s->hr[n + j], 0));
        v = (double)s->x[at] + bias(s, 0, at) + r * (s->hr[at] + bias(s, 1, at));
    }
    s->h[j] = (1 - z) * act(s, 1, v) + z * s->h[j];
}

static void step(const sequence *s) {
    int gates = hn_recurrent_gates(s->p->kind);
    bool two = s->p->kind == HN_RECURRENT_GRU && !s->p->linear_before_reset;
    product(s, s->h, 0, two ? 2 : gates);
    if (two) {
        for (int64_t j = 0; j < s->n; j++)
            s->rh[j] = s->h[j] * act(s, 0, gate(s, s->n + j, s->hr[s->n + j], 0));
        product(s, s->rh, 2, 3);
    }
    for (int64_t j = 0; j < s->n; j++) switch (s->p->kind) {
            case HN_RECURRENT_RNN: s->h[j] = act(s, 0, gate(s, j, s->hr[j], 0)); break;
            case HN_RECURRENT_GRU: gru(s, j); break;
            case HN_RECURRENT_LSTM: lstm(s, j); break;
        }
}

static int64_t length_of(const hn_call *call, int64_t b) {
    const hn_recurrent_f32 *p = call->problem;
    const int32_t *lengths = call->ptr[HN_RECURRENT_LENGTHS];
    int32_t *outside = call->ptr[HN_RECURRENT_OUTSIDE];
    int64_t n = lengths != NULL ? lengths[b] : p->steps;
    if (n >= 0 && n <= p->steps) return n;
    if (outside != NULL) __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
    return n < 0 ? 0 : p->steps;
}

static void load(double *v, const float *from, const hn_recurrent_state *at, int64_t d, int64_t b,
                 int64_t n) {
    for (int64_t j = 0; j < n; j++)
        v[j] = from != NULL ? (double)from[d * at->dir + b * at->row + j * at->unit] : 0;
}

static void store(float *to, int64_t at, const double *v, int64_t n) {
    for (int64_t j = 0; to != NULL && j < n; j++) to[at + j] = v != NULL ? (float)v[j] : 0;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_recurrent_f32 *p = call->problem;
    int64_t n = p->hidden, gates = hn_recurrent_gates(p->kind) * n;
    const float *x = call->ptr[HN_RECURRENT_X], *scales = call->ptr[HN_RECURRENT_SCALES];
    const weight *r = call->ptr[HN_RECURRENT_R];
    const float *bias = call->ptr[HN_RECURRENT_B], *peep = call->ptr[HN_RECURRENT_P];
    for (int64_t t = begin; t < end; t++) {
        int64_t d = t / p->batch, b = t % p->batch, length = length_of(call, b);
        sequence s = {.p = p, .act = p->act[d], .r = r + d * gates * n, .n = n};
        s.scales = scales != NULL ? scales + d * gates : NULL;
        s.bias = bias != NULL ? bias + d * 2 * gates : NULL;
        s.peep = peep != NULL ? peep + d * 3 * n : NULL;
        s.h = lane;
        s.c = s.h + n, s.rh = s.c + n, s.hr = s.rh + n;
        load(s.h, call->ptr[HN_RECURRENT_H0], &p->h0, d, b, n);
        load(s.c, call->ptr[HN_RECURRENT_C0], &p->c0, d, b, n);
        for (int64_t k = 0; k < p->steps; k++) {
            int64_t time = (p->backwards || d == 1) && k < length ? length - 1 - k : k;
            s.x = x + time * p->x_step + b * p->x_row + d * gates;
            if (k < length) step(&s);
            store(call->ptr[HN_RECURRENT_Y], time * p->y_step + d * p->y_dir + b * p->y_row,
                  k < length ? s.h : NULL, n);
        }
        store(call->ptr[HN_RECURRENT_YH], d * p->out_dir + b * p->out_row, s.h, n);
        store(call->ptr[HN_RECURRENT_YC], d * p->out_dir + b * p->out_row, s.c, n);
    }
}

const hn_kernel ROW = {.name = "ref", .order = "double", .work = work, .run = run};
