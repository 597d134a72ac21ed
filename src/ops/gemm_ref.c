/* The reference matrix product: blocks of C are independent tasks spread over the threads.
 *
 *               ┌── n ──┐                 a task owns MC x NC sums (sized to stay in L2) and walks
 *             k │   B   │                 k in steps of KC; per step both operands are read through
 *               └───────┘                 their callbacks and packed into panels:
 *   ┌─ k ─┐     ┌───────┐                     A: [MC/4][KC][4]   4 rows side by side
 * m │  A  │     │ C ▒   │ ▒ = one task        B: [NC/4][KC][4]   4 columns side by side
 *   └─────┘     └───────┘                 The kernel runs down one panel of each, 4 x 4 sums in
 *                                         registers: 16 products from 8 loads.
 *
 * The sums stay in double in the task's own memory between the steps of k, so each is one chain of
 * additions in ascending k whatever the block sizes are. Two doubles to a vector is what every
 * x86-64 and aarch64 has, and with 4 x 4 sums the adders are busy: 4 G products/s on one core of a
 * Xeon 8480, half that for integers. Panels are padded with zeros up to 4; the padded sums are
 * dropped.
 */
#include "ops/gemm_ref.h"

#include "base/least.h"
#include "base/size.h"

#define WIDTH 4 /* rows of A, columns of B in a panel */
#define MC 128
#define NC 256
#define KC 256
#define K_AT_ONCE 32 /* rows of B read by one callback */

typedef double pair __attribute__((vector_size(16), may_alias));

/* Every kind of element is 8 bytes wide. */
typedef union cell {
    double f;
    int64_t i;
} cell;

/* c[4][pitch] += a[k][4] outer b[k][4], k ascending. */
static void kernel_f64(int64_t k, const cell *a_panel, const cell *b_panel, cell *c,
                       int64_t pitch) {
    const double *a = &a_panel->f;
    const pair *b = (const pair *)b_panel;
    pair *c0 = (pair *)c, *c1 = (pair *)(c + pitch);
    pair *c2 = (pair *)(c + 2 * pitch), *c3 = (pair *)(c + 3 * pitch);
    pair s00 = c0[0], s01 = c0[1], s10 = c1[0], s11 = c1[1];
    pair s20 = c2[0], s21 = c2[1], s30 = c3[0], s31 = c3[1];
    for (int64_t i = 0; i < k; i++, a += WIDTH, b += WIDTH / 2) {
        pair b0 = b[0], b1 = b[1];
        pair a0 = {a[0], a[0]}, a1 = {a[1], a[1]}, a2 = {a[2], a[2]}, a3 = {a[3], a[3]};
        s00 += a0 * b0;
        s01 += a0 * b1;
        s10 += a1 * b0;
        s11 += a1 * b1;
        s20 += a2 * b0;
        s21 += a2 * b1;
        s30 += a3 * b0;
        s31 += a3 * b1;
    }
    c0[0] = s00, c0[1] = s01, c1[0] = s10, c1[1] = s11;
    c2[0] = s20, c2[1] = s21, c3[0] = s30, c3[1] = s31;
}

/* The same modulo 2^64. One row at a time: there is no vector multiply of this width, and four sums
 * are what the scalar registers hold without spilling. */
static void kernel_s64(int64_t k, const cell *a, const cell *b_panel, cell *c, int64_t pitch) {
    for (int r = 0; r < WIDTH; r++, c += pitch) {
        const cell *b = b_panel;
        uint64_t s0 = (uint64_t)c[0].i, s1 = (uint64_t)c[1].i;
        uint64_t s2 = (uint64_t)c[2].i, s3 = (uint64_t)c[3].i;
        for (int64_t i = 0; i < k; i++, b += WIDTH) {
            uint64_t x = (uint64_t)a[i * WIDTH + r].i;
            s0 += x * (uint64_t)b[0].i;
            s1 += x * (uint64_t)b[1].i;
            s2 += x * (uint64_t)b[2].i;
            s3 += x * (uint64_t)b[3].i;
        }
        c[0].i = (int64_t)s0, c[1].i = (int64_t)s1;
        c[2].i = (int64_t)s2, c[3].i = (int64_t)s3;
    }
}

static int64_t panels(int64_t n) { return (n + WIDTH - 1) / WIDTH; }

typedef struct job {
    const hn_gemm *g;
    const hn_stop *stop;
    int64_t row_blocks, col_blocks, n_tasks, n_workers;
    int64_t mc, nc, kc; /* block sizes cut to the problem; mc and nc multiples of WIDTH */
    cell *scratch;      /* [n_workers][per_worker] */
    int64_t per_worker;
} job;

/* src [n_rows][n_k] -> panels [n_rows/4][n_k][4] */
static void pack_a(const hn_gemm *g, hn_block at, cell *stage, cell *dst) {
    int64_t end = at.row + at.n_rows, n_k = at.n_cols;
    for (; at.row < end; at.row += WIDTH, dst += n_k * WIDTH) {
        at.n_rows = hn_least(WIDTH, end - at.row);
        g->a.load(g->a.ctx, &at, stage);
        if (at.n_rows < WIDTH) memset(dst, 0, (size_t)(n_k * WIDTH) * sizeof *dst);
        for (int64_t r = 0; r < at.n_rows; r++)
            for (int64_t k = 0; k < n_k; k++) dst[k * WIDTH + r] = stage[r * n_k + k];
    }
}

/* src [n_k][n_cols] -> panels [n_cols/4][n_k][4] */
static void pack_b(const hn_gemm *g, hn_block at, cell *stage, cell *dst) {
    int64_t begin = at.row, end = at.row + at.n_rows, n_k = at.n_rows, n = at.n_cols;
    for (; at.row < end; at.row += K_AT_ONCE) {
        at.n_rows = hn_least(K_AT_ONCE, end - at.row);
        g->b.load(g->b.ctx, &at, stage);
        for (int64_t p = 0; p < panels(n); p++) {
            int64_t width = hn_least(WIDTH, n - p * WIDTH);
            cell *to = dst + (p * n_k + at.row - begin) * WIDTH;
            for (int64_t k = 0; k < at.n_rows; k++, to += WIDTH) {
                const cell *from = stage + k * n + p * WIDTH;
                if (width == WIDTH) {
                    memcpy(to, from, WIDTH * sizeof *to);
                } else {
                    memset(to, 0, WIDTH * sizeof *to);
                    memcpy(to, from, (size_t)width * sizeof *to);
                }
            }
        }
    }
}

static void run_task(const job *j, int64_t task, cell *scratch) {
    const hn_gemm *g = j->g;
    int64_t col_block = task % j->col_blocks, row_block = task / j->col_blocks % j->row_blocks;
    hn_block at = {.batch = task / j->col_blocks / j->row_blocks,
                   .row = row_block * MC,
                   .col = col_block * NC};
    at.n_rows = hn_least(MC, g->m - at.row);
    at.n_cols = hn_least(NC, g->n - at.col);

    cell *sums = scratch, *a = sums + j->mc * j->nc, *b = a + j->mc * j->kc,
         *stage = b + j->nc * j->kc;
    int64_t pitch = panels(at.n_cols) * WIDTH;
    memset(sums, 0, (size_t)(panels(at.n_rows) * WIDTH * pitch) * sizeof *sums);
    for (int64_t k = 0; k < g->k && !hn_stopped(j->stop); k += KC) {
        int64_t n_k = hn_least(KC, g->k - k);
        pack_a(g, (hn_block){at.batch, at.row, at.n_rows, k, n_k}, stage, a);
        pack_b(g, (hn_block){at.batch, k, n_k, at.col, at.n_cols}, stage, b);
        for (int64_t q = 0; q < panels(at.n_cols); q++)
            for (int64_t p = 0; p < panels(at.n_rows); p++) {
                cell *c = sums + p * WIDTH * pitch + q * WIDTH;
                const cell *ap = a + p * n_k * WIDTH, *bp = b + q * n_k * WIDTH;
                (g->integer ? kernel_s64 : kernel_f64)(n_k, ap, bp, c, pitch);
            }
    }
    g->store(g->out, &at, sums, pitch);
}

static void run_worker(void *ctx, int64_t w) {
    const job *j = ctx;
    for (int64_t t = w; t < j->n_tasks && !hn_stopped(j->stop); t += j->n_workers)
        run_task(j, t, j->scratch + w * j->per_worker);
}

/* Block and scratch sizes; false when the number of tasks overflows. */
static bool plan(const hn_eval *e, const hn_gemm *g, job *j) {
    *j = (job){.g = g,
               .stop = e->stop,
               .row_blocks = (g->m - 1) / MC + 1,
               .col_blocks = (g->n - 1) / NC + 1};
    j->mc = panels(hn_least(MC, g->m)) * WIDTH;
    j->nc = panels(hn_least(NC, g->n)) * WIDTH;
    j->kc = hn_least(KC, g->k);
    /* The stage holds 4 rows of A, or some rows of B. */
    int64_t stage = j->kc * WIDTH, stage_b = hn_least(K_AT_ONCE, g->k) * j->nc;
    if (stage < stage_b) stage = stage_b;
    j->per_worker = j->mc * j->nc + (j->mc + j->nc) * j->kc + stage;
    j->per_worker += j->per_worker % 2; /* vectors of two must stay aligned */
    if (!hn_i64_mul(j->row_blocks, j->col_blocks, &j->n_tasks) ||
        !hn_i64_mul(j->n_tasks, g->n_batch, &j->n_tasks))
        return false;
    j->n_workers = hn_least(hn_pool_threads(e->pool), j->n_tasks);
    return true;
}

void *hn_gemm_work(hn_eval *e, const hn_gemm *g) {
    job j;
    return plan(e, g, &j) ? hn_scratch(e, j.n_workers * j.per_worker, sizeof(cell)) : NULL;
}

hone_status hn_gemm_ref(hn_eval *e, const hn_gemm *g, hn_error *err) {
    if (g->n_batch == 0 || g->m == 0 || g->n == 0) return HONE_OK;
    job j;
    HN_CHECK(err, plan(e, g, &j), HONE_E_SHAPE,
             "a product of %lld matrices of %lld x %lld is too large", (long long)g->n_batch,
             (long long)g->m, (long long)g->n);
    j.scratch = g->work != NULL ? g->work : hn_gemm_work(e, g);
    if (j.scratch == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, j.n_workers, run_worker, &j);
    return HONE_OK;
}

/* ---- ready-made callbacks ---- */

static void load_n(bool integer, const hn_tensor *t, int64_t from, int64_t n, cell *dst) {
    if (integer)
        hn_load_s64_n(t->dtype, t->data, from, n, &dst->i);
    else
        hn_load_f64_n(t->dtype, t->data, from, n, &dst->f);
}

static void load_strided(const hn_strided_matrix *s, const hn_block *at, bool integer, cell *dst) {
    int64_t start = s->start != NULL ? s->start[at->batch] : 0;
    start += at->row * s->row_stride + at->col * s->col_stride;
    if (s->col_stride == 1) {
        for (int64_t i = 0; i < at->n_rows; i++)
            load_n(integer, s->t, start + i * s->row_stride, at->n_cols, dst + i * at->n_cols);
    } else if (s->row_stride == 1) {
        cell column[NC];
        for (int64_t j = 0; j < at->n_cols; j++)
            for (int64_t i = 0, n; i < at->n_rows; i += n) {
                n = hn_least(NC, at->n_rows - i);
                load_n(integer, s->t, start + i + j * s->col_stride, n, column);
                for (int64_t r = 0; r < n; r++) dst[(i + r) * at->n_cols + j] = column[r];
            }
    } else {
        for (int64_t i = 0; i < at->n_rows; i++)
            for (int64_t j = 0; j < at->n_cols; j++)
                load_n(integer, s->t, start + i * s->row_stride + j * s->col_stride, 1,
                       &dst[i * at->n_cols + j]);
    }
}

static void load_f64(const void *ctx, const hn_block *at, void *dst) {
    load_strided(ctx, at, false, dst);
}

static void load_s64(const void *ctx, const hn_block *at, void *dst) {
    const hn_strided_matrix *s = ctx;
    load_strided(s, at, true, dst);
    if (s->zero == NULL) return;
    const int64_t *zero = s->zero + (s->zero_start != NULL ? s->zero_start[at->batch] : 0);
    int64_t *v = dst;
    for (int64_t i = 0; i < at->n_rows; i++)
        for (int64_t j = 0; j < at->n_cols; j++)
            *v++ -= zero[(at->row + i) * s->zero_row + (at->col + j) * s->zero_col];
}

hn_matrix hn_matrix_f64(const hn_strided_matrix *s) { return (hn_matrix){load_f64, s}; }
hn_matrix hn_matrix_s64(const hn_strided_matrix *s) { return (hn_matrix){load_s64, s}; }

static int64_t dense_at(const hn_dense_out *o, const hn_block *at, int64_t i) {
    return (at->batch * o->m + at->row + i) * o->n + at->col;
}

void hn_store_dense_f64(const void *out, const hn_block *at, const void *sums, int64_t pitch) {
    const hn_dense_out *o = out;
    for (int64_t i = 0; i < at->n_rows; i++)
        hn_store_f64_n(o->t->dtype, o->t->data, dense_at(o, at, i), at->n_cols,
                       (const double *)sums + i * pitch);
}

void hn_store_dense_s64(const void *out, const hn_block *at, const void *sums, int64_t pitch) {
    const hn_dense_out *o = out;
    for (int64_t i = 0; i < at->n_rows; i++)
        hn_store_s64_n(o->t->dtype, o->t->data, dense_at(o, at, i), at->n_cols,
                       (const int64_t *)sums + i * pitch);
}
