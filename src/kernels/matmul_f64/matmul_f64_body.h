/* matmul_f64 by tiles of ROWS rows and two vectors of columns, whose sums stay in registers.
 *
 * A panel is as many columns of one batch as a tile has; a task is up to PANELS of them, fewer
 * where there are more threads than that leaves tasks for. It copies them into lane scratch, DEPTH
 * of k at a time, and lets the tiles of all rows go over them, each from a copy of its rows of a:
 * rows whose distance is a power of two would drive each other out of the cache. Sums wait in c in
 * between. With one row the matrix b is read where it lies, if its columns are adjacent. A vector by
 * a matrix whose elements along k are adjacent is that many sums along k, DOTS at a time: a task is a
 * group of them.
 *
 * A file for an instruction set defines vd, VL, ROWS and the words vd_load, vd_store, vd_set1,
 * vd_fma, and the names of the row. It may define vd_fma_lane(a, i, b, c), by lane i of the two of a,
 * ROW_PAD, and ONE_ROW, the vectors of columns that one row goes over at a time.
 */
#include <string.h>

#include "base/least.h"
#include "kernels/matmul_f64/matmul_f64.h"

#ifndef VL /* portable code */
typedef double vd;
#define VL 1
#define ROWS 6
#define vd_load(p) (*(p))
#define vd_store(p, x) (*(p) = (x))
#define vd_set1(x) (x)
#define vd_fma(a, b, c) ((a) * (b) + (c))
#define ROW hn_matmul_f64_portable
#define NAME "portable_6x2"
#define ISA HN_ISA_PORTABLE
#endif

#ifndef ROW_PAD
#define ROW_PAD 8
#endif

enum {
    WIDTH = 2 * VL,
    DEPTH = 256,
    PANELS = 8,
    ROW_ROOM = DEPTH + ROW_PAD,
    DOTS = 4,
    GROUP = 64,
    LINE = 8
};

static int64_t panels_of(const hn_matmul_f64 *p) { return (p->n + WIDTH - 1) / WIDTH; }

static bool ok(const void *problem, const char **why) {
    const hn_matmul_f64 *p = problem;
    if (p->c_n == 1 || p->n == 1) return true;
    return *why = "the columns of c are not adjacent", false;
}

/* Whether one operand is a vector, and both are adjacent along k. */
static bool is_dots(const hn_matmul_f64 *p) {
    return (p->m == 1 || p->n == 1) && p->a_k == 1 && p->b_k == 1;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_matmul_f64 *p = problem;
    if (is_dots(p)) {
        int64_t groups = (p->m * p->n + GROUP - 1) / GROUP;
        *w = (hn_work){.n_phases = 1, .tasks = {hn_matmul_f64_batches(p) * groups}};
        return;
    }
    int64_t batches = hn_matmul_f64_batches(p), panels = PANELS;
    while (panels > 1 && batches * ((panels_of(p) + panels - 1) / panels) < 2 * lanes && lanes > 1)
        panels /= 2;
    *w = (hn_work){
        .n_phases = 1,
        .tasks = {batches * ((panels_of(p) + panels - 1) / panels)},
        .parts = panels,
        .lane_scratch =
            (size_t)(PANELS * DEPTH * WIDTH + ROWS * ROW_ROOM + ROWS * WIDTH) * sizeof(double)};
}

/* What a tile reads and writes. */
typedef struct tile {
    const double *a, *b;
    double *sums;                  /* [rows][WIDTH] */
    int64_t a_row, b_row, sum_row; /* from row to row */
    int64_t k;
    bool starts; /* the sums are 0 before, and not read */
} tile;

/* Adds the products of `rows` rows of a by k rows of b to the sums. */
static inline __attribute__((always_inline)) void multiply(const tile *t, int rows) {
    vd sum[ROWS][2];
    const double *a = t->a, *b = t->b;
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < 2; v++)
            sum[i][v] = t->starts ? vd_set1(0) : vd_load(t->sums + i * t->sum_row + v * VL);
    int64_t q = 0;
#ifdef vd_fma_lane
    for (; q + 2 <= t->k; q += 2, b += 2 * t->b_row) {
        const double *next = b + t->b_row;
        vd b0 = vd_load(b), b1 = vd_load(b + VL), c0 = vd_load(next), c1 = vd_load(next + VL);
        for (int i = 0; i < rows; i++) {
            vd x = vd_load(a + i * t->a_row + q);
            sum[i][0] = vd_fma_lane(x, 0, b0, sum[i][0]);
            sum[i][1] = vd_fma_lane(x, 0, b1, sum[i][1]);
            sum[i][0] = vd_fma_lane(x, 1, c0, sum[i][0]);
            sum[i][1] = vd_fma_lane(x, 1, c1, sum[i][1]);
        }
    }
#endif
    for (; q < t->k; q++, b += t->b_row) {
        vd b0 = vd_load(b), b1 = vd_load(b + VL);
        for (int i = 0; i < rows; i++) {
            vd x = vd_set1(a[i * t->a_row + q]);
            sum[i][0] = vd_fma(x, b0, sum[i][0]);
            sum[i][1] = vd_fma(x, b1, sum[i][1]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < 2; v++) vd_store(t->sums + i * t->sum_row + v * VL, sum[i][v]);
}

typedef void multiply_fn(const tile *t);

#define TILE(rows) \
    static void multiply_##rows(const tile *t) { multiply(t, rows); }
#define TILES_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define TILES_8(X) TILES_6(X) X(7) X(8)
#define TILES_12(X) TILES_8(X) X(9) X(10) X(11) X(12)
#define TILES_OF(rows, X) TILES_##rows(X)
#define TILES(rows, X) TILES_OF(rows, X)
TILES(ROWS, TILE)

#define NAME_OF(rows) multiply_##rows,
static multiply_fn *const tiles[] = {TILES(ROWS, NAME_OF)};

/* dst[q][j] = b[q][j] for k rows and n columns, at most WIDTH; columns from n on are 0. */
static void copy_columns(const hn_matmul_f64 *p, const double *from, int64_t n, double *dst) {
    if (p->b_n == 1 && n == WIDTH) {
        memcpy(dst, from, WIDTH * sizeof *dst);
        return;
    }
    for (int64_t j = 0; j < n; j++) dst[j] = from[j * p->b_n];
    for (int64_t j = n; j < WIDTH; j++) dst[j] = 0;
}

/* The same of LINE rows, whose elements are adjacent along k: a cache line of each column. */
static void copy_turned(const hn_matmul_f64 *p, const double *from, int64_t n, double *dst) {
    for (int64_t j = 0; j < WIDTH; j++)
        for (int64_t q = 0; q < LINE; q++) dst[q * WIDTH + j] = j < n ? from[j * p->b_n + q] : 0;
}

/* k rows and n columns of b as panels [n / WIDTH][DEPTH][WIDTH]. */
static void copy_panels(const hn_matmul_f64 *p, const double *b, int64_t k, int64_t n,
                        double *panels) {
    int64_t q = 0;
    for (; p->b_k == 1 && q + LINE <= k; q += LINE)
        for (int64_t j = 0; j < n; j += WIDTH)
            copy_turned(p, b + q + j * p->b_n, n - j, panels + j * DEPTH + q * WIDTH);
    for (; q < k; q++)
        for (int64_t j = 0; j < n; j += WIDTH)
            copy_columns(p, b + q * p->b_k + j * p->b_n, hn_least(n - j, WIDTH),
                         panels + j * DEPTH + q * WIDTH);
}

/* Whether tiles can read the rows of a where they lie: their elements are adjacent, and they are no
 * large power of two apart. */
static bool rows_fit(const hn_matmul_f64 *p) { return p->a_k == 1 && p->a_m % 128 != 0; }

/* Rows of a, ROW_ROOM apart. */
static void copy_rows(const hn_matmul_f64 *p, const double *a, int64_t rows, int64_t k,
                      double *dst) {
    for (int64_t i = 0; i < rows; i++, a += p->a_m, dst += ROW_ROOM) {
        if (p->a_k == 1)
            memcpy(dst, a, (size_t)k * sizeof *dst);
        else
            for (int64_t q = 0; q < k; q++) dst[q] = a[q * p->a_k];
    }
}

static void load_sums(const hn_matmul_f64 *p, const double *c, int64_t rows, int64_t n,
                      double *sums) {
    memset(sums, 0, (size_t)(rows * WIDTH) * sizeof *sums);
    for (int64_t i = 0; i < rows; i++)
        memcpy(sums + i * WIDTH, c + i * p->c_m, (size_t)n * sizeof *sums);
}

static void store_sums(const hn_matmul_f64 *p, const double *sums, const double *r, int64_t rows,
                       int64_t n, bool ends, double *c) {
    double alpha = ends ? p->alpha : 1;
    for (int64_t i = 0; i < rows; i++) {
        const double *from = sums + i * WIDTH;
        double *to = c + i * p->c_m;
        if (ends && r != NULL)
            for (int64_t j = 0; j < n; j++) to[j] = from[j] * alpha + r[i * p->r_m + j * p->r_n];
        else if (n == WIDTH)
            for (int64_t j = 0; j < WIDTH; j++) to[j] = from[j] * alpha;
        else
            for (int64_t j = 0; j < n; j++) to[j] = from[j] * alpha;
    }
}

/* A tile of n columns at c: sums wait there, where there is room for them and nothing more to do to
 * them, else in lane scratch. */
static void run_tile(const hn_matmul_f64 *p, tile *t, const double *r, int64_t rows, int64_t n,
                     bool ends, double *c) {
    if (n == WIDTH && (!ends || (p->alpha == 1 && r == NULL))) {
        t->sums = c, t->sum_row = p->c_m;
        tiles[rows - 1](t);
        return;
    }
    t->sum_row = WIDTH;
    if (!t->starts) load_sums(p, c, rows, n, t->sums);
    tiles[rows - 1](t);
    store_sums(p, t->sums, r, rows, n, ends, c);
}

#ifdef ONE_ROW
/* The same columns of one row, whose b is read where it lies: how many of n are done. */
static int64_t run_one_row(const hn_matmul_f64 *p, const double *a, const double *b,
                           const double *r, double *c, int64_t n) {
    int64_t j = 0;
    for (; j + ONE_ROW * VL <= n; j += ONE_ROW * VL) {
        vd sum[ONE_ROW];
        double sums[ONE_ROW * VL];
        for (int v = 0; v < ONE_ROW; v++) sum[v] = vd_set1(0);
        for (int64_t q = 0; q < p->k; q++) {
            vd x = vd_set1(a[q * p->a_k]);
            for (int v = 0; v < ONE_ROW; v++)
                sum[v] = vd_fma(x, vd_load(b + q * p->b_k + j + v * VL), sum[v]);
        }
        for (int v = 0; v < ONE_ROW; v++) vd_store(sums + v * VL, sum[v]);
        for (int64_t i = 0; i < ONE_ROW * VL; i++) {
            double y = sums[i] * p->alpha;
            c[j + i] = r != NULL ? y + r[(j + i) * p->r_n] : y;
        }
    }
    return j;
}
#endif

/* n columns, at most PANELS panels, of a batch whose operands these are. */
static void run_panels(const hn_matmul_f64 *p, const double *a, const double *b, const double *r,
                       double *c, int64_t n, double *lane) {
    double *panels = lane, *row = lane + PANELS * DEPTH * WIDTH;
#ifdef ONE_ROW
    if (p->m == 1 && p->b_n == 1) {
        const int64_t done = run_one_row(p, a, b, r, c, n);
        b += done, c += done, n -= done;
        if (r != NULL) r += done * p->r_n;
        if (n == 0) return;
    }
#endif
    bool in_place = p->m == 1 && p->b_n == 1 && n % WIDTH == 0, copied = !rows_fit(p);
    int64_t k0 = 0, count = (p->m + ROWS - 1) / ROWS;
    do {
        int64_t k = hn_least(p->k - k0, DEPTH);
        if (!in_place) copy_panels(p, b + k0 * p->b_k, k, n, panels);
        for (int64_t t = 0; t < count; t++) {
            int64_t i = p->m * t / count, rows = p->m * (t + 1) / count - i;
            const double *from = a + i * p->a_m + k0 * p->a_k;
            if (copied) copy_rows(p, from, rows, k, row);
            for (int64_t j = 0; j < n; j += WIDTH) {
                tile f = {.a = copied ? row : from,
                          .b = in_place ? b + k0 * p->b_k + j : panels + j * DEPTH,
                          .sums = row + ROWS * ROW_ROOM,
                          .a_row = copied ? ROW_ROOM : p->a_m,
                          .b_row = in_place ? p->b_k : WIDTH,
                          .k = k,
                          .starts = k0 == 0};
                run_tile(p, &f, r != NULL ? r + i * p->r_m + j * p->r_n : NULL, rows,
                         hn_least(n - j, WIDTH), k0 + k == p->k, c + i * p->c_m + j);
            }
        }
        k0 += k;
    } while (k0 < p->k);
}

/* ---- a vector by a matrix ---- */

static double sum_of(vd x) {
    double lanes[VL], sum = 0;
    vd_store(lanes, x);
    for (int i = 0; i < VL; i++) sum += lanes[i];
    return sum;
}

/* sums[i] of row i of `rows` by v, k elements each; count is a constant. */
static inline __attribute__((always_inline)) void dot(const double *rows, int64_t pitch,
                                                      const double *v, int64_t k, int count,
                                                      double *sums) {
    vd even[DOTS], odd[DOTS];
    int64_t q = 0;
    for (int i = 0; i < count; i++) even[i] = odd[i] = vd_set1(0);
    for (; q + 2 * VL <= k; q += 2 * VL)
        for (int i = 0; i < count; i++) {
            const double *row = rows + i * pitch + q;
            even[i] = vd_fma(vd_load(row), vd_load(v + q), even[i]);
            odd[i] = vd_fma(vd_load(row + VL), vd_load(v + q + VL), odd[i]);
        }
    for (int i = 0; i < count; i++) {
        sums[i] = sum_of(even[i]) + sum_of(odd[i]);
        for (int64_t at = q; at < k; at++) sums[i] += rows[i * pitch + at] * v[at];
    }
}

/* Results [first, last) of a batch, along the only axis of c that is longer than 1. */
static void run_dots(const hn_matmul_f64 *p, const double *a, const double *b, const double *r,
                     double *c, int64_t first, int64_t last) {
    bool column = p->n == 1;
    const double *rows = column ? a : b, *v = column ? b : a;
    int64_t pitch = column ? p->a_m : p->b_n, r_next = column ? p->r_m : p->r_n;
    int64_t c_next = column ? p->c_m : 1;
    for (int64_t i = first, n; i < last; i += n) {
        double sums[DOTS];
        n = last - i >= DOTS ? DOTS : 1;
        if (n == DOTS)
            dot(rows + i * pitch, pitch, v, p->k, DOTS, sums);
        else
            dot(rows + i * pitch, pitch, v, p->k, 1, sums);
        for (int64_t s = 0; s < n; s++)
            c[(i + s) * c_next] = p->alpha * sums[s] + (r != NULL ? r[(i + s) * r_next] : 0);
    }
}

static void run_groups(const hn_call *call, int64_t begin, int64_t end) {
    const hn_matmul_f64 *p = call->problem;
    const double *r = call->ptr[HN_MATMUL_F64_R];
    int64_t all = p->m * p->n, groups = (all + GROUP - 1) / GROUP;
    for (int64_t task = begin; task < end; task++) {
        int64_t batch = task / groups, first = task % groups * GROUP;
        run_dots(
            p,
            (const double *)call->ptr[HN_MATMUL_F64_A] + hn_matmul_f64_offset(p, p->a_batch, batch),
            (const double *)call->ptr[HN_MATMUL_F64_B] + hn_matmul_f64_offset(p, p->b_batch, batch),
            r != NULL ? r + hn_matmul_f64_offset(p, p->r_batch, batch) : NULL,
            (double *)call->ptr[HN_MATMUL_F64_C] + hn_matmul_f64_offset(p, p->c_batch, batch),
            first, hn_least(first + GROUP, all));
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_matmul_f64 *p = call->problem;
    const double *a = call->ptr[HN_MATMUL_F64_A], *b = call->ptr[HN_MATMUL_F64_B];
    const double *r = call->ptr[HN_MATMUL_F64_R];
    double *c = call->ptr[HN_MATMUL_F64_C];
    if (is_dots(p)) {
        run_groups(call, begin, end);
        return;
    }
    int64_t width = call->work->parts * WIDTH, per_batch = (p->n + width - 1) / width;
    for (int64_t task = begin; task < end; task++) {
        int64_t batch = task / per_batch, j = task % per_batch * width;
        int64_t at_r = hn_matmul_f64_offset(p, p->r_batch, batch) + j * p->r_n;
        run_panels(p, a + hn_matmul_f64_offset(p, p->a_batch, batch),
                   b + hn_matmul_f64_offset(p, p->b_batch, batch) + j * p->b_n,
                   r != NULL ? r + at_r : NULL, c + hn_matmul_f64_offset(p, p->c_batch, batch) + j,
                   hn_least(p->n - j, width), lane);
    }
}

const hn_kernel ROW = {.name = NAME, .isa = ISA, .order = NAME, .ok = ok, .work = work, .run = run};
