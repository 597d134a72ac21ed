/* matmul_f64 by tiles of ROWS rows and two vectors of columns, whose sums stay in registers.
 *
 * A task is a panel: as many columns of one batch as a tile has. It copies them into lane scratch,
 * DEPTH of k at a time, and lets the tiles of all rows go over them; sums wait in c in between.
 * With one row the matrix b is read where it lies, if its columns are adjacent.
 *
 * A file for an instruction set defines vd, VL, ROWS and the words vd_load, vd_store, vd_set1,
 * vd_fma, and the names of the row.
 */
#include <string.h>

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

enum { WIDTH = 2 * VL, DEPTH = 256 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t panels_of(const hn_matmul_f64 *p) { return (p->n + WIDTH - 1) / WIDTH; }

static bool ok(const void *problem, const char **why) {
    const hn_matmul_f64 *p = problem;
    if (p->c_n == 1 || p->n == 1) return true;
    return *why = "the columns of c are not adjacent", false;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_matmul_f64 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {hn_matmul_f64_batches(p) * panels_of(p)},
                   .lane_scratch = (DEPTH + ROWS) * WIDTH * sizeof(double)};
}

/* Adds the products of `rows` rows of a by k rows of b, `pitch` apart, to sums [rows][WIDTH]. */
static inline __attribute__((always_inline)) void multiply(const hn_matmul_f64 *p, const double *a,
                                                           const double *b, int64_t pitch,
                                                           int64_t k, double *sums, int rows) {
    vd sum[ROWS][2];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < 2; v++) sum[i][v] = vd_load(sums + i * WIDTH + v * VL);
    for (int64_t q = 0; q < k; q++) {
        vd b0 = vd_load(b + q * pitch), b1 = vd_load(b + q * pitch + VL);
        for (int i = 0; i < rows; i++) {
            vd x = vd_set1(a[i * p->a_m + q * p->a_k]);
            sum[i][0] = vd_fma(x, b0, sum[i][0]);
            sum[i][1] = vd_fma(x, b1, sum[i][1]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < 2; v++) vd_store(sums + i * WIDTH + v * VL, sum[i][v]);
}

typedef void multiply_fn(const hn_matmul_f64 *p, const double *a, const double *b, int64_t pitch,
                         int64_t k, double *sums);

#define TILE(rows)                                                                        \
    static void multiply_##rows(const hn_matmul_f64 *p, const double *a, const double *b, \
                                int64_t pitch, int64_t k, double *sums) {                 \
        multiply(p, a, b, pitch, k, sums, rows);                                          \
    }
#define TILES_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define TILES_8(X) TILES_6(X) X(7) X(8)
#define TILES_12(X) TILES_8(X) X(9) X(10) X(11) X(12)
#define TILES_OF(rows, X) TILES_##rows(X)
#define TILES(rows, X) TILES_OF(rows, X)
TILES(ROWS, TILE)

#define NAME_OF(rows) multiply_##rows,
static multiply_fn *const tiles[] = {TILES(ROWS, NAME_OF)};

/* dst[q][j] = b[q][j] for k rows and n columns; columns from n on are 0. */
static void copy_panel(const hn_matmul_f64 *p, const double *b, int64_t k, int64_t n, double *dst) {
    for (int64_t q = 0; q < k; q++, dst += WIDTH) {
        const double *from = b + q * p->b_k;
        if (p->b_n == 1)
            memcpy(dst, from, (size_t)n * sizeof *dst);
        else
            for (int64_t j = 0; j < n; j++) dst[j] = from[j * p->b_n];
        for (int64_t j = n; j < WIDTH; j++) dst[j] = 0;
    }
}

/* Rows [i, i + rows) of columns [j, j + n): sums so far into c, or out of it. */
static void load_sums(const hn_matmul_f64 *p, const double *c, int64_t rows, int64_t n, bool starts,
                      double *sums) {
    memset(sums, 0, (size_t)(rows * WIDTH) * sizeof *sums);
    for (int64_t i = 0; i < rows && !starts; i++)
        memcpy(sums + i * WIDTH, c + i * p->c_m, (size_t)n * sizeof *sums);
}

static void store_sums(const hn_matmul_f64 *p, const double *sums, const double *r, int64_t rows,
                       int64_t n, bool ends, double *c) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double s = sums[i * WIDTH + j];
            if (ends) s *= p->alpha;
            if (ends && r != NULL) s += r[i * p->r_m + j * p->r_n];
            c[i * p->c_m + j] = s;
        }
}

/* The columns [j, j + n) of a batch whose operands these are, at column j. */
static void run_panel(const hn_matmul_f64 *p, const double *a, const double *b, const double *r,
                      double *c, int64_t n, double *lane) {
    double *panel = lane, *sums = lane + DEPTH * WIDTH;
    bool in_place = p->m == 1 && p->b_n == 1 && n == WIDTH;
    int64_t k0 = 0, count = (p->m + ROWS - 1) / ROWS;
    do {
        int64_t k = least(p->k - k0, DEPTH);
        if (!in_place) copy_panel(p, b + k0 * p->b_k, k, n, panel);
        for (int64_t t = 0; t < count; t++) {
            int64_t i = p->m * t / count, rows = p->m * (t + 1) / count - i;
            load_sums(p, c + i * p->c_m, rows, n, k0 == 0, sums);
            tiles[rows - 1](p, a + i * p->a_m + k0 * p->a_k, in_place ? b + k0 * p->b_k : panel,
                            in_place ? p->b_k : WIDTH, k, sums);
            store_sums(p, sums, r != NULL ? r + i * p->r_m : NULL, rows, n, k0 + k == p->k,
                       c + i * p->c_m);
        }
        k0 += k;
    } while (k0 < p->k);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_matmul_f64 *p = call->problem;
    const double *a = call->ptr[HN_MATMUL_F64_A], *b = call->ptr[HN_MATMUL_F64_B];
    const double *r = call->ptr[HN_MATMUL_F64_R];
    double *c = call->ptr[HN_MATMUL_F64_C];
    for (int64_t task = begin; task < end; task++) {
        int64_t batch = task / panels_of(p), j = task % panels_of(p) * WIDTH;
        int64_t at_r = hn_matmul_f64_offset(p, p->r_batch, batch) + j * p->r_n;
        run_panel(p, a + hn_matmul_f64_offset(p, p->a_batch, batch),
                  b + hn_matmul_f64_offset(p, p->b_batch, batch) + j * p->b_n,
                  r != NULL ? r + at_r : NULL, c + hn_matmul_f64_offset(p, p->c_batch, batch) + j,
                  least(p->n - j, WIDTH), lane);
    }
}

const hn_kernel ROW = {.name = NAME, .isa = ISA, .order = NAME, .ok = ok, .work = work, .run = run};
