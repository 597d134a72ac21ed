/* fft_f32 over the vector vocabulary.
 *
 * A task is a group of transforms side by side: sample i of transform l is number i * lanes + l of
 * two planes, real and imaginary parts. A stage of radix r takes them from one pair of planes to
 * another (Stockham's way, which ends in order). With m = what is left of the length after it and s
 * = lanes * the radices before it,
 *
 *   y[(r p + k) s + q] = turn(p k) * sum over j < r of root(j k) * x[(p + j m) s + q]
 *                                                              p < m, k < r, q < s
 *
 * so that vectors run along q, all with the same factors. An inverse transform is a forward one
 * with the planes exchanged before and after it.
 *
 * Groups have as many transforms as a vector has lanes, fewer if they are long: what a group works
 * on stays in a near cache.
 */
#include "kernels/fft_f32/fft_f32.h"
#include "simd/part.h"

enum { GROUP_FLOATS = 65536 }; /* of a group's planes */

typedef struct planes {
    float *re, *im;
} planes;

typedef struct complex {
    hn_vf re, im;
} complex;

static int64_t group_of(const hn_fft_f32 *p, int64_t length) {
    int64_t count = p->count[0] * p->count[1], most = GROUP_FLOATS / (4 * length);
    most = most < 1 ? 1 : most > HN_VL ? HN_VL : most;
    return count < most ? count : most;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_fft_f32 *p = problem;
    (void)lanes;
    int64_t length = hn_fft_f32_plan(p->n).length, group = group_of(p, length);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {(p->count[0] * p->count[1] + group - 1) / group},
                   .lane_scratch = (size_t)(4 * length * group) * sizeof(float)};
}

/* ---- complex numbers ---- */

HN_INLINE complex load(planes x, int64_t at, int64_t n) {
    return (complex){hn_v_load_part(x.re + at, n), hn_v_load_part(x.im + at, n)};
}
HN_INLINE void store(planes y, int64_t at, complex v, int64_t n) {
    hn_v_store_part(y.re + at, v.re, n);
    hn_v_store_part(y.im + at, v.im, n);
}
HN_INLINE complex add(complex a, complex b) {
    return (complex){hn_v_add(a.re, b.re), hn_v_add(a.im, b.im)};
}
HN_INLINE complex sub(complex a, complex b) {
    return (complex){hn_v_sub(a.re, b.re), hn_v_sub(a.im, b.im)};
}
/* a * (re + j im) */
HN_INLINE complex times(complex a, const float *w) {
    hn_vf re = hn_v_set1(w[0]), im = hn_v_set1(w[1]);
    return (complex){hn_v_fnma(a.im, im, hn_v_mul(a.re, re)),
                     hn_v_fma(a.im, re, hn_v_mul(a.re, im))};
}
/* a + j c b and a - j c b, c real. */
HN_INLINE complex add_turned(complex a, hn_vf c, complex b) {
    return (complex){hn_v_fnma(c, b.im, a.re), hn_v_fma(c, b.re, a.im)};
}
HN_INLINE complex sub_turned(complex a, hn_vf c, complex b) {
    return (complex){hn_v_fma(c, b.im, a.re), hn_v_fnma(c, b.re, a.im)};
}
/* a + c b, c real. */
HN_INLINE complex add_scaled(complex a, hn_vf c, complex b) {
    return (complex){hn_v_fma(c, b.re, a.re), hn_v_fma(c, b.im, a.im)};
}

/* ---- butterflies: n numbers, at most a vector, from x[at + j * step] to y[to + k * s] ---- */

typedef struct site {
    planes x, y;
    int64_t at, step, to, s;
    const float *turns, *roots;
    int radix;
} site;

HN_INLINE void radix2(const site *f, int64_t q, int64_t n) {
    complex a = load(f->x, f->at + q, n), b = load(f->x, f->at + f->step + q, n);
    store(f->y, f->to + q, add(a, b), n);
    store(f->y, f->to + f->s + q, times(sub(a, b), f->turns), n);
}

HN_INLINE void radix3(const site *f, int64_t q, int64_t n) {
    hn_vf sine = hn_v_set1(0.866025403784438647f), half = hn_v_set1(-0.5f);
    complex a = load(f->x, f->at + q, n), b = load(f->x, f->at + f->step + q, n);
    complex c = load(f->x, f->at + 2 * f->step + q, n);
    complex sum = add(b, c), difference = sub(b, c), middle = add_scaled(a, half, sum);
    store(f->y, f->to + q, add(a, sum), n);
    store(f->y, f->to + f->s + q, times(sub_turned(middle, sine, difference), f->turns), n);
    store(f->y, f->to + 2 * f->s + q, times(add_turned(middle, sine, difference), f->turns + 2), n);
}

HN_INLINE void radix4(const site *f, int64_t q, int64_t n) {
    hn_vf one = hn_v_set1(1.0f);
    complex a = load(f->x, f->at + q, n), b = load(f->x, f->at + f->step + q, n);
    complex c = load(f->x, f->at + 2 * f->step + q, n), d = load(f->x, f->at + 3 * f->step + q, n);
    complex ac = add(a, c), bd = add(b, d), less = sub(a, c), turned = sub(b, d);
    store(f->y, f->to + q, add(ac, bd), n);
    store(f->y, f->to + f->s + q, times(sub_turned(less, one, turned), f->turns), n);
    store(f->y, f->to + 2 * f->s + q, times(sub(ac, bd), f->turns + 2), n);
    store(f->y, f->to + 3 * f->s + q, times(add_turned(less, one, turned), f->turns + 4), n);
}

HN_INLINE void radix5(const site *f, int64_t q, int64_t n) {
    /* cos and sin of 2 pi / 5 and 4 pi / 5 */
    hn_vf c1 = hn_v_set1(0.309016994374947424f), c2 = hn_v_set1(-0.809016994374947424f);
    hn_vf s1 = hn_v_set1(0.951056516295153572f), s2 = hn_v_set1(0.587785252292473129f);
    complex a = load(f->x, f->at + q, n), b = load(f->x, f->at + f->step + q, n);
    complex c = load(f->x, f->at + 2 * f->step + q, n), d = load(f->x, f->at + 3 * f->step + q, n);
    complex e = load(f->x, f->at + 4 * f->step + q, n);
    complex be = add(b, e), cd = add(c, d), b_e = sub(b, e), c_d = sub(c, d);
    complex m1 = add_scaled(add_scaled(a, c1, be), c2, cd);
    complex m2 = add_scaled(add_scaled(a, c2, be), c1, cd);
    store(f->y, f->to + q, add(a, add(be, cd)), n);
    complex y1 = sub_turned(sub_turned(m1, s1, b_e), s2, c_d);
    complex y4 = add_turned(add_turned(m1, s1, b_e), s2, c_d);
    complex y2 = add_turned(sub_turned(m2, s2, b_e), s1, c_d);
    complex y3 = sub_turned(add_turned(m2, s2, b_e), s1, c_d);
    store(f->y, f->to + f->s + q, times(y1, f->turns), n);
    store(f->y, f->to + 2 * f->s + q, times(y2, f->turns + 2), n);
    store(f->y, f->to + 3 * f->s + q, times(y3, f->turns + 4), n);
    store(f->y, f->to + 4 * f->s + q, times(y4, f->turns + 6), n);
}

/* Any other radix, by its roots. */
HN_INLINE void radix_any(const site *f, int64_t q, int64_t n) {
    complex x[HN_FFT_RADIX];
    for (int j = 0; j < f->radix; j++) x[j] = load(f->x, f->at + j * f->step + q, n);
    for (int k = 0; k < f->radix; k++) {
        complex sum = x[0];
        for (int j = 1, at = 0; j < f->radix; j++) {
            at = at + k < f->radix ? at + k : at + k - f->radix;
            sum = add(sum, times(x[j], f->roots + 2 * at));
        }
        if (k > 0) sum = times(sum, f->turns + 2 * (k - 1));
        store(f->y, f->to + k * f->s + q, sum, n);
    }
}

typedef void butterfly(const site *f, int64_t q, int64_t n);

HN_INLINE void run_stage(butterfly *go, site f, int64_t m) {
    f.step = m * f.s;
    for (int64_t p = 0; p < m; p++) {
        f.at = p * f.s, f.to = p * f.radix * f.s;
        int64_t q = 0;
        for (; q + HN_VL <= f.s; q += HN_VL) go(&f, q, HN_VL);
        if (q < f.s) go(&f, q, f.s - q);
        f.turns += 2 * (f.radix - 1);
    }
}

/* All stages, from x to y and back; returns which of them has the result. */
static planes transform(const hn_fft_plan *plan, int64_t lanes, const float *table, planes x,
                        planes y) {
    table++; /* the scale */
    int64_t left = plan->length, s = lanes;
    for (int i = 0; i < plan->n_stages; i++) {
        int radix = plan->radix[i];
        left /= radix;
        site f = {.x = x, .y = y, .s = s, .turns = table, .roots = table, .radix = radix};
        if (radix > 5) f.turns += 2 * radix;
        switch (radix) {
            case 2: run_stage(radix2, f, left); break;
            case 3: run_stage(radix3, f, left); break;
            case 4: run_stage(radix4, f, left); break;
            case 5: run_stage(radix5, f, left); break;
            default: run_stage(radix_any, f, left); break;
        }
        table = f.turns + 2 * left * (radix - 1);
        s *= radix;
        planes swap = x;
        x = y, y = swap;
    }
    return x;
}

/* ---- samples in, bins out ---- */

/* Where transform t begins. */
static int64_t place_of(const hn_fft_f32 *p, const int64_t *strides, int64_t t) {
    return t / p->count[1] * strides[0] + t % p->count[1] * strides[1];
}

/* The transforms of a group: where each begins in x and y. */
typedef struct group {
    int64_t lanes;
    const float *x[HN_VL];
    float *y[HN_VL];
} group;

/* Real samples next to each other are transposed by squares; returns how many of them were. */
static int64_t gather_squares(const hn_fft_f32 *p, const group *g, int64_t given, planes to) {
    int64_t i = 0;
    if (p->x_complex || p->x_sample != 1 || g->lanes != HN_VL) return 0;
    for (; i + HN_VL <= given; i += HN_VL) {
        hn_vf rows[HN_VL];
        for (int l = 0; l < HN_VL; l++) rows[l] = hn_v_load(g->x[l] + i);
        hn_v_transpose(rows);
        for (int l = 0; l < HN_VL; l++) {
            hn_v_store(to.re + (i + l) * HN_VL, rows[l]);
            hn_v_store(to.im + (i + l) * HN_VL, hn_v_set1(0.0f));
        }
    }
    return i;
}

static void gather(const hn_fft_f32 *p, const group *g, const float *window, planes to) {
    int64_t half = p->mirrored ? p->n / 2 + 1 : p->n, given = p->given < half ? p->given : half;
    int64_t lanes = g->lanes, i = gather_squares(p, g, given, to);
    for (; i < given; i++)
        for (int64_t l = 0; l < lanes; l++) {
            to.re[i * lanes + l] = g->x[l][i * p->x_sample];
            to.im[i * lanes + l] = p->x_complex ? g->x[l][i * p->x_sample + 1] : 0;
        }
    for (i = given * lanes; i < half * lanes; i++) to.re[i] = to.im[i] = 0;
    for (int64_t l = 0; p->mirrored && l < lanes; l++) {
        to.im[l] = 0;
        if (p->n % 2 == 0) to.im[p->n / 2 * lanes + l] = 0;
    }
    for (i = half; i < p->n; i++)
        for (int64_t l = 0; l < lanes; l++) {
            to.re[i * lanes + l] = to.re[(p->n - i) * lanes + l];
            to.im[i * lanes + l] = -to.im[(p->n - i) * lanes + l];
        }
    for (i = 0; window != NULL && i < p->n; i++) {
        hn_vf w = hn_v_set1(window[i]);
        complex v = load(to, i * lanes, lanes);
        store(to, i * lanes, (complex){hn_v_mul(v.re, w), hn_v_mul(v.im, w)}, lanes);
    }
}

static void scatter(const hn_fft_f32 *p, const group *g, float scale, planes from) {
    for (int64_t k = 0; k < p->bins; k++)
        for (int64_t l = 0; l < g->lanes; l++) {
            float *y = g->y[l] + k * p->y_bin;
            y[0] = from.re[k * g->lanes + l] * scale;
            if (p->y_complex) y[1] = from.im[k * g->lanes + l] * scale;
        }
}

/* x[i] *= w[i] for n complex numbers w, each for a row of `lanes` numbers. */
static void multiply(planes x, const float *w, int64_t n, int64_t lanes) {
    for (int64_t i = 0; i < n; i++)
        store(x, i * lanes, times(load(x, i * lanes, lanes), w + 2 * i), lanes);
}

/* As a convolution with a chirp: see hn_fft_plan. */
static planes transform_chirp(const hn_fft_plan *plan, int64_t n, int64_t lanes, const float *table,
                              planes x, planes y) {
    const float *chirp = table + hn_fft_f32_table(n) - 2 * (n + plan->length);
    multiply(x, chirp, n, lanes);
    for (int64_t i = n * lanes; i < plan->length * lanes; i++) x.re[i] = x.im[i] = 0;
    planes z = transform(plan, lanes, table, x, y);
    multiply(z, chirp + 2 * n, plan->length, lanes);
    planes other = z.re == x.re ? y : x;
    z = transform(plan, lanes, table, (planes){z.im, z.re}, (planes){other.im, other.re});
    z = (planes){z.im, z.re};
    multiply(z, chirp, n, lanes);
    return z;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_fft_f32 *p = call->problem;
    const float *table = call->ptr[HN_FFT_TABLE];
    hn_fft_plan plan = hn_fft_f32_plan(p->n);
    int64_t most = group_of(p, plan.length), size = plan.length * most;
    int64_t count = p->count[0] * p->count[1];
    for (int64_t task = begin; task < end; task++) {
        int64_t first = task * most;
        group g = {.lanes = count - first < most ? count - first : most};
        for (int64_t l = 0; l < g.lanes; l++) {
            g.x[l] = (const float *)call->ptr[HN_FFT_X] + place_of(p, p->x_count, first + l);
            g.y[l] = (float *)call->ptr[HN_FFT_Y] + place_of(p, p->y_count, first + l);
        }
        planes x = {lane, (float *)lane + size}, y = {x.im + size, x.im + 2 * size};
        /* An inverse transform sees the planes exchanged. */
        gather(p, &g, call->ptr[HN_FFT_WINDOW], p->inverse ? (planes){x.im, x.re} : x);
        planes z = plan.chirp ? transform_chirp(&plan, p->n, g.lanes, table, x, y)
                              : transform(&plan, g.lanes, table, x, y);
        scatter(p, &g, *table, p->inverse ? (planes){z.im, z.re} : z);
    }
}

const hn_kernel HN_V_ROW(fft_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "stages", .work = work, .run = run};
