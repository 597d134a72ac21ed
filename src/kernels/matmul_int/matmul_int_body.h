/* matmul_int by tiles of ROWS rows and two vectors, in the compiler's own vectors,
 * whose sums stay in registers.
 *
 * A task is a panel: as many columns of one batch as a tile has. It copies them into lane scratch,
 * DEPTH of k at a time, and lets the tiles of all rows go over them; sums wait in c in between.
 *
 * A file for an instruction set defines VECTOR, the bytes of one, and the names of the row.
 */
#include <string.h>

#include "base/least.h"
#include "kernels/matmul_int/matmul_int.h"

#ifndef ROW /* portable code */
#define VECTOR 16
#define ROW hn_matmul_int_portable
#define NAME "portable"
#define ISA HN_ISA_PORTABLE
#endif

enum { ROWS = 4, WIDTH_BYTES = 2 * VECTOR, DEPTH = 256 };

static int64_t width_of(const hn_matmul_int *p) { return WIDTH_BYTES / (p->wide ? 8 : 4); }
static int64_t panels_of(const hn_matmul_int *p) {
    return (p->at.n + width_of(p) - 1) / width_of(p);
}

static bool ok(const void *problem, const char **why) {
    const hn_matmul_f64 *p = &((const hn_matmul_int *)problem)->at;
    if (p->c_n == 1 || p->n == 1) return true;
    return *why = "the columns of c are not adjacent", false;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_matmul_int *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {hn_matmul_f64_batches(&p->at) * panels_of(p)},
                   .lane_scratch = DEPTH * WIDTH_BYTES};
}

/* For elements of type T:
 *   panel  copies k rows and n columns of b; columns from n on are 0
 *   tile   adds the products of `rows` rows of a by k rows of the panel to n columns of c, or with
 *          `starts` sets them
 *   run    the panel from column j on of a batch whose operands these are */
#define DEFINE(T, name)                                                                          \
    typedef T vector_##name __attribute__((vector_size(VECTOR)));                                \
    enum { WIDTH_##name = WIDTH_BYTES / sizeof(T) };                                             \
                                                                                                 \
    static void panel_##name(const hn_matmul_f64 *p, const T *b, int64_t k, int64_t n, T *dst) { \
        for (int64_t q = 0; q < k; q++, b += p->b_k, dst += WIDTH_##name) {                      \
            if (p->b_n == 1)                                                                     \
                memcpy(dst, b, (size_t)n * sizeof *dst);                                         \
            else                                                                                 \
                for (int64_t j = 0; j < n; j++) dst[j] = b[j * p->b_n];                          \
            for (int64_t j = n; j < WIDTH_##name; j++) dst[j] = 0;                               \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    static inline __attribute__((always_inline)) void tile_##name(                               \
        const hn_matmul_f64 *p, const T *a, const T *panel, int64_t k, int64_t n, bool starts,   \
        T *c, int rows) {                                                                        \
        vector_##name sum[ROWS][2] = {{{0}}};                                                    \
        for (int64_t q = 0; q < k; q++, panel += WIDTH_##name) {                                 \
            vector_##name b[2];                                                                  \
            memcpy(b, panel, sizeof b);                                                          \
            for (int i = 0; i < rows; i++) {                                                     \
                T x = a[i * p->a_m + q * p->a_k];                                                \
                sum[i][0] += x * b[0];                                                           \
                sum[i][1] += x * b[1];                                                           \
            }                                                                                    \
        }                                                                                        \
        for (int i = 0; i < rows; i++, c += p->c_m) {                                            \
            T row[WIDTH_##name];                                                                 \
            memcpy(row, sum[i], sizeof row);                                                     \
            for (int64_t j = 0; j < n; j++) c[j] = row[j] + (starts ? 0 : c[j]);                 \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    static void run_##name(const hn_matmul_f64 *p, const T *a, const T *b, T *c, int64_t n,      \
                           T *panel) {                                                           \
        int64_t k0 = 0;                                                                          \
        do {                                                                                     \
            int64_t k = hn_least(p->k - k0, DEPTH), i = 0;                                       \
            const T *from = a + k0 * p->a_k;                                                     \
            panel_##name(p, b + k0 * p->b_k, k, n, panel);                                       \
            for (; i + ROWS <= p->m; i += ROWS)                                                  \
                tile_##name(p, from + i * p->a_m, panel, k, n, k0 == 0, c + i * p->c_m, ROWS);   \
            for (; i < p->m; i++)                                                                \
                tile_##name(p, from + i * p->a_m, panel, k, n, k0 == 0, c + i * p->c_m, 1);      \
            k0 += k;                                                                             \
        } while (k0 < p->k);                                                                     \
    }

DEFINE(uint32_t, u32)
DEFINE(uint64_t, u64)

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_matmul_int *q = call->problem;
    const hn_matmul_f64 *p = &q->at;
    for (int64_t task = begin; task < end; task++) {
        int64_t batch = task / panels_of(q), j = task % panels_of(q) * width_of(q);
        int64_t a = hn_matmul_f64_offset(p, p->a_batch, batch);
        int64_t b = hn_matmul_f64_offset(p, p->b_batch, batch) + j * p->b_n;
        int64_t c = hn_matmul_f64_offset(p, p->c_batch, batch) + j,
                n = hn_least(p->n - j, width_of(q));
        void *const *ptr = call->ptr;
        if (q->wide)
            run_u64(p, (const uint64_t *)ptr[HN_MATMUL_INT_A] + a,
                    (const uint64_t *)ptr[HN_MATMUL_INT_B] + b,
                    (uint64_t *)ptr[HN_MATMUL_INT_C] + c, n, lane);
        else
            run_u32(p, (const uint32_t *)ptr[HN_MATMUL_INT_A] + a,
                    (const uint32_t *)ptr[HN_MATMUL_INT_B] + b,
                    (uint32_t *)ptr[HN_MATMUL_INT_C] + c, n, lane);
    }
}

const hn_kernel ROW = {
    .name = NAME, .isa = ISA, .order = "exact", .ok = ok, .work = work, .run = run};
