/* Each function cuts its result into pieces by the size of the problem alone and gives each to one
 * call of the pool; an element is always summed in the same order within one piece. Work on a
 * triangle grows from its first row to its last, and threads take neighbouring pieces: pieces that
 * are long are therefore done together with short ones (`fold`).
 */
#include "base/dense.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/size.h"

typedef float four __attribute__((vector_size(16)));
typedef double pair __attribute__((vector_size(16)));

/* Calls piece(ctx, i) for the i-th shortest and the i-th longest of n pieces. */
typedef struct fold {
    int64_t n;
    void (*piece)(void *ctx, int64_t i);
    void *ctx;
} fold;

static void run_two(void *ctx, int64_t i) {
    fold *f = ctx;
    f->piece(f->ctx, i);
    if (f->n - 1 - i > i) f->piece(f->ctx, f->n - 1 - i);
}

static void run_folded(hn_pool *pool, int64_t n, void (*piece)(void *, int64_t), void *ctx) {
    fold f = {n, piece, ctx};
    hn_pool_run(pool, (n + 1) / 2, run_two, &f);
}

/* ---- X^T X, X^T Y ---- */

/* Columns of X that lie together, row after row: two vectors each row. */
#define STRIP 8

/* Columns of x, packed, against those of y. */
typedef struct gram {
    double *h;
    int64_t n, m, rows; /* columns of x and of y */
    bool lower;         /* y is x: what lies above the diagonal is left alone */
    four *x, *y;        /* [strip][row][2] */
} gram;

static void pack(four *strips, const float *x, int64_t n, int64_t rows) {
    int64_t n_strips = (n + STRIP - 1) / STRIP;
    for (int64_t s = 0; s < n_strips; s++)
        for (int64_t r = 0; r < rows; r++) {
            float row[STRIP] = {0};
            int64_t first = s * STRIP;
            memcpy(row, x + r * n + first, (size_t)hn_least(STRIP, n - first) * sizeof *row);
            memcpy(strips + (s * rows + r) * 2, row, sizeof row);
        }
}

/* Four columns of strip a of x, from column `half`, against all of strip b of y. */
static void tile(const gram *g, int64_t a, int half, int64_t b, float sums[4][STRIP]) {
    const four *x = g->x + a * g->rows * 2 + half / 4, *y = g->y + b * g->rows * 2;
    four s[4][2] = {{{0}}};
    for (int64_t r = 0; r < g->rows; r++) {
        four u = x[2 * r], v = y[2 * r], w = y[2 * r + 1];
        s[0][0] += u[0] * v, s[0][1] += u[0] * w;
        s[1][0] += u[1] * v, s[1][1] += u[1] * w;
        s[2][0] += u[2] * v, s[2][1] += u[2] * w;
        s[3][0] += u[3] * v, s[3][1] += u[3] * w;
    }
    memcpy(sums, s, sizeof s);
}

static void gram_strip(void *ctx, int64_t a) {
    const gram *g = ctx;
    float sums[4][STRIP];
    int64_t last = g->lower ? a : (g->m - 1) / STRIP;
    for (int64_t b = 0; b <= last; b++)
        for (int half = 0; half < STRIP; half += 4) {
            tile(g, a, half, b, sums);
            for (int i = 0; i < 4; i++) {
                int64_t row = a * STRIP + half + i, first = b * STRIP;
                if (row >= g->n) break;
                int64_t count = hn_least(STRIP, (g->lower ? row + 1 : g->m) - first);
                for (int64_t j = 0; j < count; j++)
                    g->h[row * g->m + first + j] += (double)sums[i][j];
            }
        }
}

static four *make_strips(int64_t n, hn_allocator *alloc) {
    size_t bytes, n_strips = (size_t)((n + STRIP - 1) / STRIP);
    if (!hn_size_mul(n_strips, HN_GRAM_ROWS * 2 * sizeof(four), &bytes)) return NULL;
    return hn_alloc(alloc, bytes, HN_MEM_SCRATCH);
}

hone_status hn_gram_add(double *h, int64_t n, const float *x, int64_t rows, hn_pool *pool,
                        hn_allocator *alloc, hn_error *err) {
    if (n == 0 || rows == 0) return HONE_OK;
    gram g = {.h = h, .n = n, .m = n, .lower = true};
    g.x = g.y = make_strips(n, alloc);
    if (g.x == NULL) return HN_NOMEM(err);
    for (int64_t r = 0; r < rows; r += HN_GRAM_ROWS) {
        g.rows = hn_least(HN_GRAM_ROWS, rows - r);
        pack(g.x, x + r * n, n, g.rows);
        run_folded(pool, (n + STRIP - 1) / STRIP, gram_strip, &g);
    }
    hn_free(alloc, g.x);
    return HONE_OK;
}

hone_status hn_cross_add(double *h, int64_t n, const float *x, int64_t m, const float *y,
                         int64_t rows, hn_pool *pool, hn_allocator *alloc, hn_error *err) {
    if (n == 0 || m == 0 || rows == 0) return HONE_OK;
    hone_status status = HONE_OK;
    gram g = {.h = h, .n = n, .m = m};
    g.x = make_strips(n, alloc);
    g.y = make_strips(m, alloc);
    HN_CHECK_GOTO(err, g.x != NULL && g.y != NULL, HONE_E_NOMEM, "out of memory");
    for (int64_t r = 0; r < rows; r += HN_GRAM_ROWS) {
        g.rows = hn_least(HN_GRAM_ROWS, rows - r);
        pack(g.x, x + r * n, n, g.rows);
        pack(g.y, y + r * m, m, g.rows);
        hn_pool_run(pool, (n + STRIP - 1) / STRIP, gram_strip, &g);
    }
fail:
    hn_free(alloc, g.x);
    hn_free(alloc, g.y);
    return status;
}

void hn_damp(double *h, int64_t n, double share) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += h[i * n + i];
    double more = sum > 0 ? share * sum / (double)n : 1;
    for (int64_t i = 0; i < n; i++) h[i * n + i] += more;
}

/* ---- Cholesky ---- */

#define PANEL 64 /* columns that are finished together */
#define ROWS 16  /* of a piece */

typedef struct cholesky {
    double *h;
    int64_t n, first, last; /* the panel's columns */
} cholesky;

static inline pair two(const double *p) {
    pair v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The products of four rows by two, over k columns. */
static void dots(const double *const a[4], const double *const b[2], int64_t k, double s[4][2]) {
    pair t[4][2] = {{{0}}};
    int64_t c = 0;
    for (; c + 2 <= k; c += 2) {
        pair u = two(b[0] + c), v = two(b[1] + c);
        for (int i = 0; i < 4; i++) {
            pair x = two(a[i] + c);
            t[i][0] += x * u;
            t[i][1] += x * v;
        }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) {
            s[i][j] = t[i][j][0] + t[i][j][1];
            if (c < k) s[i][j] += a[i][c] * b[j][c];
        }
}

/* Takes from rows [from, to) of the panel what the columns before it make of them. Rows or columns
 * that fours and twos leave over are computed beside themselves. */
static void subtract_before(const cholesky *c, int64_t from, int64_t to) {
    double *h = c->h, s[4][2];
    int64_t n = c->n;
    for (int64_t i = from; i < to; i += 4)
        for (int64_t j = c->first; j < hn_least(c->last, i + 4); j += 2) {
            const double *a[4], *b[2];
            for (int r = 0; r < 4; r++) a[r] = h + hn_least(i + r, to - 1) * n;
            for (int r = 0; r < 2; r++) b[r] = h + hn_least(j + r, c->last - 1) * n;
            dots(a, b, c->first, s);
            for (int64_t r = 0; r < 4 && i + r < to; r++)
                for (int64_t q = 0; q < 2 && j + q < c->last; q++)
                    if (j + q <= i + r) h[(i + r) * n + j + q] -= s[r][q];
        }
}

static double within_panel(const cholesky *c, int64_t i, int64_t j) {
    const double *a = c->h + i * c->n, *b = c->h + j * c->n;
    double s = a[j];
    for (int64_t k = c->first; k < j; k++) s -= a[k] * b[k];
    return s;
}

static void rows_below(void *ctx, int64_t piece) {
    const cholesky *c = ctx;
    int64_t from = c->last + piece * ROWS, to = hn_least(from + ROWS, c->n);
    subtract_before(c, from, to);
    for (int64_t i = from; i < to; i++)
        for (int64_t j = c->first; j < c->last; j++)
            c->h[i * c->n + j] = within_panel(c, i, j) / c->h[j * c->n + j];
}

hone_status hn_cholesky(double *h, int64_t n, hn_pool *pool, hn_error *err) {
    for (int64_t first = 0; first < n; first += PANEL) {
        cholesky c = {h, n, first, hn_least(first + PANEL, n)};
        subtract_before(&c, c.first, c.last);
        for (int64_t i = c.first; i < c.last; i++) {
            for (int64_t j = c.first; j < i; j++)
                h[i * n + j] = within_panel(&c, i, j) / h[j * n + j];
            double pivot = within_panel(&c, i, i);
            HN_CHECK(
                err, pivot > 0 && isfinite(pivot), HONE_E_ARG,
                "a matrix of %lld rows is not positive definite: pivot %lld is %g, wanted more "
                "than 0",
                (long long)n, (long long)i, pivot);
            h[i * n + i] = sqrt(pivot);
        }
        hn_pool_run(pool, (n - c.last + ROWS - 1) / ROWS, rows_below, &c);
    }
    return HONE_OK;
}

/* ---- the inverse of a triangle ---- */

#define COLUMNS 64 /* of a piece */

/* row -= the sum of by[j] times row j, for four rows. */
static void subtract_four(double *row, int64_t count, const double *by, const double *rows,
                          int64_t pitch) {
    const double *r0 = rows, *r1 = r0 + pitch, *r2 = r1 + pitch, *r3 = r2 + pitch;
    int64_t k = 0;
    for (; k + 2 <= count; k += 2) {
        pair left = two(row + k) - (by[0] * two(r0 + k) + by[1] * two(r1 + k)) -
                    (by[2] * two(r2 + k) + by[3] * two(r3 + k));
        memcpy(row + k, &left, sizeof left);
    }
    if (k < count)
        row[k] = row[k] - (by[0] * r0[k] + by[1] * r1[k]) - (by[2] * r2[k] + by[3] * r3[k]);
}

void hn_subtract_rows(double *row, int64_t count, const double *by, int64_t n, const double *rows,
                      int64_t pitch) {
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) subtract_four(row, count, by + j, rows + j * pitch, pitch);
    for (; j < n; j++)
        for (int64_t k = 0; k < count; k++) row[k] -= by[j] * rows[j * pitch + k];
}

typedef struct inversion {
    const double *l;
    double *inverse;
    int64_t n;
} inversion;

/* Row i of the inverse is (row i of the identity - sum over j < i of l[i][j] * row j) / l[i][i]. */
static void invert_columns(void *ctx, int64_t piece) {
    const inversion *v = ctx;
    int64_t n = v->n, first = piece * COLUMNS, count = hn_least(COLUMNS, n - first);
    for (int64_t i = 0; i < n; i++) {
        double row[COLUMNS] = {0};
        const double *l = v->l + i * n;
        if (i >= first && i < first + count) row[i - first] = 1;
        if (i > first)
            hn_subtract_rows(row, count, l + first, i - first, v->inverse + first * n + first, n);
        if (i >= first)
            for (int64_t k = 0; k < count; k++) row[k] /= l[i];
        memcpy(v->inverse + i * n + first, row, (size_t)count * sizeof *row);
    }
}

void hn_triangle_invert(const double *l, int64_t n, double *inverse, hn_pool *pool) {
    inversion v = {l, inverse, n};
    run_folded(pool, (n + COLUMNS - 1) / COLUMNS, invert_columns, &v);
}

/* ---- products ---- */

#define DEPTH 256 /* of what is summed at once: four rows of a and a strip of b fit the cache */
#define STRIP_OF_B 64

typedef struct product {
    double *c;
    const double *a, *b;
    int64_t m, n, k;
} product;

/* Adds to rows [i, i + 4) of c, columns [from, to), the products over [first, first + depth). */
static void multiply_tile(const product *p, int64_t i, int64_t from, int64_t to, int64_t first,
                          int64_t depth) {
    double s[4][2];
    for (int64_t j = from; j < to; j += 2) {
        const double *a[4], *b[2];
        for (int r = 0; r < 4; r++) a[r] = p->a + hn_least(i + r, p->m - 1) * p->k + first;
        for (int r = 0; r < 2; r++) b[r] = p->b + hn_least(j + r, to - 1) * p->k + first;
        dots(a, b, depth, s);
        for (int64_t r = 0; r < 4 && i + r < p->m; r++)
            for (int64_t q = 0; q < 2 && j + q < to; q++) p->c[(i + r) * p->n + j + q] += s[r][q];
    }
}

static void multiply_rows(void *ctx, int64_t piece) {
    const product *p = ctx;
    int64_t top = piece * ROWS, end = hn_least(top + ROWS, p->m);
    memset(p->c + top * p->n, 0, (size_t)((end - top) * p->n) * sizeof *p->c);
    for (int64_t first = 0; first < p->k; first += DEPTH)
        for (int64_t from = 0; from < p->n; from += STRIP_OF_B)
            for (int64_t i = top; i < end; i += 4)
                multiply_tile(p, i, from, hn_least(from + STRIP_OF_B, p->n), first,
                              hn_least(DEPTH, p->k - first));
}

void hn_multiply_turned(double *c, const double *a, int64_t m, const double *b, int64_t n,
                        int64_t k, hn_pool *pool) {
    product p = {c, a, b, m, n, k};
    hn_pool_run(pool, (m + ROWS - 1) / ROWS, multiply_rows, &p);
}

void hn_turn(double *to, const double *from, int64_t m, int64_t n) {
    enum { SIDE = 16 };
    for (int64_t i0 = 0; i0 < m; i0 += SIDE)
        for (int64_t j0 = 0; j0 < n; j0 += SIDE)
            for (int64_t i = i0; i < hn_least(i0 + SIDE, m); i++)
                for (int64_t j = j0; j < hn_least(j0 + SIDE, n); j++)
                    to[j * m + i] = from[i * n + j];
}
