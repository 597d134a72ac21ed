/* Eigenvalues and eigenvectors of a symmetric matrix, and matrices of low rank by them.
 *
 *     h = Q T Q^T          T has a diagonal and one beside it: n - 2 reflections (Householder)
 *     T = S L S^T          implicit QL steps with Wilkinson's shift: rotations of two neighbours
 *     row i of the result  column i of Q S
 *
 * The reflections go over the matrix once each: the pass that finishes one also computes the
 * product that the next one needs. The rotations depend on T alone; many are collected, then done to
 * columns of the vectors, which know nothing of each other: COLUMNS of them stay in the cache. So
 * rows of the passes and groups of columns are the pieces that threads share, and their number
 * changes no bit.
 *
 * A singular value is the root of an eigenvalue of w w^T or w^T w, whichever is smaller. That loses
 * those under 1e-8 of the largest, which weights in f32 do not tell apart from 0.
 */
#include "base/dense.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/size.h"

#define COLUMNS 32 /* of the vectors, that are turned together */
#define ROWS 16    /* of a piece of a pass */
#define PAIRS (COLUMNS / 2)
#define ALONE 96      /* columns: below, a pass is too little work to share */
#define MOST_STEPS 60 /* of QL for one eigenvalue; two are usual */

typedef double pair __attribute__((vector_size(16)));

typedef struct rotation {
    int64_t i; /* rows i and i + 1 */
    double c, s;
} rotation;

typedef struct eigen {
    double *h;
    int64_t n;
    double *d, *e;   /* of T: its diagonal, and what lies below it at the same index */
    double *factors; /* 2 / v.v of reflection k; 0: there is none */
    double *v, *w, *next, *p;
    int64_t k;    /* the pass */
    pair *turned; /* [groups of columns][n][PAIRS]: S^T Q^T */
    rotation *rotations;
    int64_t n_rotations, room;
} eigen;

/* ---- to T ---- */

static inline pair two(const double *p) {
    pair v;
    memcpy(&v, p, sizeof v);
    return v;
}

static double dot(const double *a, const double *b, int64_t n) {
    pair s[2] = {{0}};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s[0] += two(a + i) * two(b + i);
        s[1] += two(a + i + 2) * two(b + i + 2);
    }
    double sum = (s[0][0] + s[0][1]) + (s[1][0] + s[1][1]);
    for (; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* What reflection k - 1, with v and w, leaves of a row, from column `from` on. */
static void update_row(const eigen *g, int64_t row, int64_t from) {
    double *a = g->h + row * g->n, v = g->v[row], w = g->w[row];
    int64_t j = from;
    for (; j + 2 <= g->n; j += 2) {
        pair left = two(a + j) - (v * two(g->w + j) + w * two(g->v + j));
        memcpy(a + j, &left, sizeof left);
    }
    if (j < g->n) a[j] -= v * g->w[j] + w * g->v[j];
}

/* Finishes reflection k - 1 in some rows below row k, and computes their products with `next`. */
static void pass_rows(void *ctx, int64_t piece) {
    eigen *g = ctx;
    int64_t from = g->k + 1 + piece * ROWS, to = hn_least(from + ROWS, g->n);
    for (int64_t i = from; i < to; i++) {
        if (g->k > 0) update_row(g, i, g->k + 1);
        g->p[i] = dot(g->h + i * g->n + g->k + 1, g->next + g->k + 1, g->n - g->k - 1);
    }
}

/* Reflection k takes all of row k beyond its first two elements away. next: its vector. */
static double reflect(eigen *g) {
    int64_t k = g->k, n = g->n;
    const double *x = g->h + k * n;
    double rest = dot(x + k + 2, x + k + 2, n - k - 2), first = x[k + 1];
    memcpy(g->next + k + 1, x + k + 1, (size_t)(n - k - 1) * sizeof *x);
    if (!(rest > 0)) {
        g->e[k] = first;
        return 0;
    }
    double size = sqrt(first * first + rest);
    g->e[k] = first > 0 ? -size : size;
    g->next[k + 1] = first - g->e[k];
    return 2 / (g->next[k + 1] * g->next[k + 1] + rest);
}

static void to_tridiagonal(eigen *g, hn_pool *pool) {
    int64_t n = g->n;
    for (int64_t k = 0; k < n; k++) {
        g->k = k;
        if (k > 0) update_row(g, k, k);
        g->d[k] = g->h[k * n + k];
        if (k + 1 >= n) break;
        double f = g->factors[k] = reflect(g);
        int64_t rows = n - k - 1;
        hn_pool_run(rows > ALONE ? pool : NULL, (rows + ROWS - 1) / ROWS, pass_rows, g);
        double half = f / 2 * f * dot(g->p + k + 1, g->next + k + 1, rows);
        for (int64_t j = k + 1; j < n; j++) {
            g->v[j] = f != 0 ? g->next[j] : 0;
            g->w[j] = f * g->p[j] - half * g->next[j];
        }
        memcpy(g->h + k * n + k + 1, g->v + k + 1, (size_t)rows * sizeof *g->v);
    }
}

/* ---- vectors ---- */

/* Q^T in some columns: the identity, then each reflection from the first on. */
static void begin_columns(void *ctx, int64_t group) {
    const eigen *g = ctx;
    int64_t n = g->n, first = group * COLUMNS;
    pair(*z)[PAIRS] = (pair(*)[PAIRS])(g->turned + group * n * PAIRS);
    memset(z, 0, (size_t)n * sizeof *z);
    for (int64_t j = first; j < hn_least(first + COLUMNS, n); j++)
        z[j][(j - first) / 2][(j - first) % 2] = 1;
    for (int64_t k = 0; k + 1 < n; k++) {
        const double *v = g->h + k * n;
        pair sum[PAIRS] = {{0}};
        if (g->factors[k] == 0) continue;
        for (int64_t i = k + 1; i < n; i++)
            for (int q = 0; q < PAIRS; q++) sum[q] += v[i] * z[i][q];
        for (int q = 0; q < PAIRS; q++) sum[q] *= g->factors[k];
        for (int64_t i = k + 1; i < n; i++)
            for (int q = 0; q < PAIRS; q++) z[i][q] -= v[i] * sum[q];
    }
}

static void rotate_columns(void *ctx, int64_t group) {
    const eigen *g = ctx;
    pair(*z)[PAIRS] = (pair(*)[PAIRS])(g->turned + group * g->n * PAIRS);
    for (int64_t r = 0; r < g->n_rotations; r++) {
        rotation by = g->rotations[r];
        pair *a = z[by.i], *b = z[by.i + 1];
        for (int q = 0; q < PAIRS; q++) {
            pair x = a[q], y = b[q];
            b[q] = by.s * x + by.c * y;
            a[q] = by.c * x - by.s * y;
        }
    }
}

static int64_t n_groups(int64_t n) { return (n + COLUMNS - 1) / COLUMNS; }

static void flush(eigen *g, hn_pool *pool) {
    hn_pool_run(pool, n_groups(g->n), rotate_columns, g);
    g->n_rotations = 0;
}

/* ---- from T to its eigenvalues ---- */

/* One implicit QL step on rows [l, m] of T. */
static void ql_step(eigen *g, int64_t l, int64_t m) {
    double *d = g->d, *e = g->e;
    double half = (d[l + 1] - d[l]) / (2 * e[l]), r = sqrt(half * half + 1);
    double x = d[m] - d[l] + e[l] / (half + (half < 0 ? -r : r)), s = 1, c = 1, p = 0;
    int64_t i;
    for (i = m - 1; i >= l; i--) {
        double f = s * e[i], b = c * e[i];
        r = sqrt(f * f + x * x);
        e[i + 1] = r;
        if (r == 0) {
            d[i + 1] -= p;
            e[m] = 0;
            return;
        }
        s = f / r;
        c = x / r;
        x = d[i + 1] - p;
        r = (d[i] - x) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = x + p;
        x = c * r - b;
        g->rotations[g->n_rotations++] = (rotation){i, c, s};
    }
    d[l] -= p;
    e[l] = x;
    e[m] = 0;
}

static hone_status diagonalize(eigen *g, hn_pool *pool, hn_error *err) {
    for (int64_t l = 0; l < g->n; l++)
        for (int steps = 0;; steps++) {
            int64_t m = l;
            while (m + 1 < g->n &&
                   fabs(g->e[m]) > DBL_EPSILON * (fabs(g->d[m]) + fabs(g->d[m + 1])))
                m++;
            if (m == l) break;
            HN_CHECK(err, steps < MOST_STEPS, HONE_E_ARG,
                     "eigenvalue %lld of %lld does not settle in %d steps", (long long)l,
                     (long long)g->n, MOST_STEPS);
            if (g->n_rotations + g->n > g->room) flush(g, pool);
            ql_step(g, l, m);
        }
    flush(g, pool);
    return HONE_OK;
}

/* ---- the whole ---- */

/* Fills in what lies above the diagonal, and brings the largest number near 1 by a power of 2, so
 * that no square is too large or too small. */
static hone_status prepare(double *h, int64_t n, int *unit, hn_error *err) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double x = fabs(h[i * n + j]);
            HN_CHECK(
                err, isfinite(x), HONE_E_ARG,
                "a matrix of %lld rows has %g at row %lld, column %lld, wanted a finite number",
                (long long)n, h[i * n + j], (long long)i, (long long)j);
            if (x > most) most = x;
        }
    int exponent = 0;
    if (most > 0) frexp(most, &exponent);
    *unit = exponent;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            h[j * n + i] = h[i * n + j] = ldexp(h[i * n + j], -exponent);
    return HONE_OK;
}

typedef struct ranked {
    double value;
    int64_t row;
} ranked;

static int by_value(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static void hand_over(const eigen *g, ranked *order, int unit, double *values) {
    int64_t n = g->n;
    for (int64_t i = 0; i < n; i++) order[i] = (ranked){g->d[i], i};
    qsort(order, (size_t)n, sizeof *order, by_value);
    for (int64_t i = 0; i < n; i++) {
        values[i] = ldexp(order[i].value, unit);
        for (int64_t j = 0; j < n; j++)
            g->h[i * n + j] =
                g->turned[(j / COLUMNS * n + order[i].row) * PAIRS + j % COLUMNS / 2][j % 2];
    }
}

hone_status hn_eigen(double *h, int64_t n, double *values, hn_pool *pool, hn_allocator *alloc,
                     hn_error *err) {
    int unit = 0;
    size_t bytes;
    if (n == 0) return HONE_OK;
    HN_TRY(prepare(h, n, &unit, err));
    hone_status status = HONE_OK;
    eigen g = {.h = h, .n = n, .room = 64 * n};
    ranked *order = hn_alloc_array(alloc, (size_t)n, sizeof *order, HN_MEM_SCRATCH);
    double *lines = hn_alloc_array(alloc, 7 * (size_t)n, sizeof *lines, HN_MEM_SCRATCH);
    g.rotations = hn_alloc_array(alloc, (size_t)g.room, sizeof *g.rotations, HN_MEM_SCRATCH);
    if (hn_size_mul((size_t)(n_groups(n) * PAIRS), (size_t)n * sizeof(pair), &bytes))
        g.turned = hn_alloc(alloc, bytes, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, order != NULL && lines != NULL && g.rotations != NULL && g.turned != NULL,
                  HONE_E_NOMEM, "out of memory");
    memset(lines, 0, 7 * (size_t)n * sizeof *lines);
    g.d = lines, g.e = lines + n, g.factors = lines + 2 * n;
    g.v = lines + 3 * n, g.w = lines + 4 * n, g.next = lines + 5 * n, g.p = lines + 6 * n;
    to_tridiagonal(&g, pool);
    hn_pool_run(pool, n_groups(n), begin_columns, &g);
    HN_TRY_GOTO(diagonalize(&g, pool, err));
    hand_over(&g, order, unit, values);
fail:
    hn_free(alloc, order);
    hn_free(alloc, lines);
    hn_free(alloc, g.rotations);
    hn_free(alloc, g.turned);
    return status;
}

/* ---- low rank ---- */

static double *matrix(int64_t rows, int64_t columns, hn_allocator *alloc) {
    size_t n;
    return hn_size_mul((size_t)rows, (size_t)columns, &n)
               ? hn_alloc_array(alloc, n > 0 ? n : 1, sizeof(double), HN_MEM_SCRATCH)
               : NULL;
}

/* What is being made: w times the inputs is cut to the space of its n rows, or of its k columns. */
typedef struct cut {
    const double *w, *h;
    int64_t n, k;
    hn_pool *pool;
    hn_allocator *alloc;
    double *square;        /* [k, k]: h, S or its inverse, then turned */
    double *other;         /* likewise */
    double *made, *turned; /* w by one of these; w or that, turned */
} cut;

static void mirror(double *to, const double *lower, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) to[i * n + j] = to[j * n + i] = lower[i * n + j];
}

/* The vectors U are of the outputs: first = U, second = U w. */
static hone_status by_outputs(cut *c, hn_low_rank *out, hn_error *err) {
    const double *made = c->w;
    if (c->h != NULL) {
        mirror(c->square, c->h, c->k);
        hn_multiply_turned(c->made, c->w, c->n, c->square, c->k, c->k, c->pool);
        made = c->made;
    }
    hn_multiply_turned(out->first, made, c->n, c->w, c->n, c->k, c->pool);
    HN_TRY(hn_eigen(out->first, c->n, out->squares, c->pool, c->alloc, err));
    hn_turn(c->turned, c->w, c->n, c->k);
    hn_multiply_turned(out->second, out->first, c->n, c->turned, c->k, c->n, c->pool);
    return HONE_OK;
}

/* The vectors V are of the inputs, as S makes them alike: first = w S V, second = V S^-1. */
static hone_status by_inputs(cut *c, hn_low_rank *out, hn_error *err) {
    int64_t n = c->n, k = c->k;
    double *v = out->second;
    if (c->h == NULL) {
        hn_turn(c->turned, c->w, n, k);
        hn_multiply_turned(v, c->turned, k, c->turned, k, n, c->pool);
        HN_TRY(hn_eigen(v, k, out->squares, c->pool, c->alloc, err));
        hn_multiply_turned(out->first, v, k, c->w, n, k, c->pool);
        return HONE_OK;
    }
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) c->square[i * k + j] = j <= i ? c->h[i * k + j] : 0;
    HN_TRY(hn_cholesky(c->square, k, c->pool, err));
    hn_turn(c->other, c->square, k, k);
    hn_multiply_turned(c->turned, c->other, k, c->w, n, k, c->pool);
    hn_turn(c->made, c->turned, k, n);
    hn_triangle_invert(c->square, k, c->other, c->pool);
    hn_turn(c->square, c->other, k, k); /* the inverse, as the product wants it */
    hn_multiply_turned(c->other, c->turned, k, c->turned, k, n, c->pool);
    HN_TRY(hn_eigen(c->other, k, out->squares, c->pool, c->alloc, err));
    hn_multiply_turned(out->first, c->other, k, c->made, n, k, c->pool);
    hn_multiply_turned(out->second, c->other, k, c->square, k, k, c->pool);
    return HONE_OK;
}

hone_status hn_low_rank_of(hn_low_rank *out, const double *w, int64_t n, int64_t k, const double *h,
                           hn_pool *pool, hn_allocator *alloc, hn_error *err) {
    hone_status status = HONE_OK;
    cut c = {.w = w, .h = h, .n = n, .k = k, .pool = pool, .alloc = alloc};
    *out = (hn_low_rank){.n = n, .k = k, .rank = hn_least(n, k)};
    for (int64_t i = 0; i < n * k; i++)
        HN_CHECK(err, isfinite(w[i]), HONE_E_ARG,
                 "a matrix of %lld by %lld has %g at row %lld, column %lld, wanted a finite number",
                 (long long)n, (long long)k, w[i], (long long)(i / k), (long long)(i % k));
    out->first = matrix(out->rank, n, alloc);
    out->second = matrix(out->rank, k, alloc);
    out->squares = matrix(out->rank, 1, alloc);
    c.turned = matrix(n, k, alloc);
    bool all =
        out->first != NULL && out->second != NULL && out->squares != NULL && c.turned != NULL;
    if (all && h != NULL) {
        c.square = matrix(k, k, alloc);
        c.made = matrix(n, k, alloc);
        c.other = n > k ? matrix(k, k, alloc) : c.square;
        all = c.square != NULL && c.other != NULL && c.made != NULL;
    }
    HN_CHECK_GOTO(err, all, HONE_E_NOMEM, "out of memory");
    status = n <= k ? by_outputs(&c, out, err) : by_inputs(&c, out, err);
    for (int64_t i = 0; i < out->rank && status == HONE_OK; i++)
        if (out->squares[i] < 0) out->squares[i] = 0; /* rounding */
fail:
    hn_free(alloc, c.turned);
    hn_free(alloc, c.made);
    if (c.other != c.square) hn_free(alloc, c.other);
    hn_free(alloc, c.square);
    if (status != HONE_OK) hn_low_rank_deinit(out, alloc);
    return status;
}

void hn_low_rank_deinit(hn_low_rank *l, hn_allocator *alloc) {
    hn_free(alloc, l->first);
    hn_free(alloc, l->second);
    hn_free(alloc, l->squares);
    *l = (hn_low_rank){0};
}

int64_t hn_low_rank_within(const hn_low_rank *l, double share) {
    double all = 0, left = 0;
    int64_t r = l->rank;
    for (int64_t i = 0; i < l->rank; i++) all += l->squares[i];
    while (r > 0 && left + l->squares[r - 1] <= share * all) left += l->squares[--r];
    return r;
}
