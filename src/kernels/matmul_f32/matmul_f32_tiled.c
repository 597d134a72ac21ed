/* Batched matrix products by the tiles of tile_f32.
 *
 * A task is one batch, one shelf of columns of b, one part of the rows of a. It copies the shelf
 * into panels in lane scratch, pass by pass over k, with alpha multiplied in, and lets the tiles of
 * its rows go over them. Rows of a are read where they lie if k is their inner axis, else a tile of
 * them is copied first.
 *
 * Shelves are as large as L2 allows, since every shelf reads all of a, and rows are one part, since
 * every part copies all of b. Only where that leaves lanes without work are there more shelves, or
 * with few columns more parts. No sum depends on it.
 *
 * Where a task is a small batch, its tiles fetch the operands of the next one: reading them takes as
 * long as multiplying, and their rows often lie apart, as those of a head do.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/least.h"
#include "kernels/matmul_f32/matmul_f32.h"
#include "kernels/tile_f32/tile_f32.h"

enum {
    SHELF = 1 << 20, /* bytes of panels that stay in L2 */
    PASS = 1024,     /* the most k of a pass */
    PAD = 16,        /* floats between copied rows, which must not fall into one set of L1 */
    BLOCK = 16,      /* rows of b copied at a time */
    MAX_ROWS = 16,   /* of a tile */
    SMALL = 1 << 16, /* bytes of a batch that is fetched ahead */
    LINE = 64,
};

typedef struct geometry {
    hn_panels_f32 panels;
    int64_t pass;  /* k of a pass */
    int64_t shelf; /* panels of a shelf, at most */
    int64_t shelves, parts;
    bool copies; /* rows of a are copied */
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* With this many tasks per batch; 0: as few as can be. */
static geometry measure(const hn_tiles_f32 *t, const hn_matmul_f32 *p, int64_t tasks) {
    geometry g = {.parts = 1};
    g.panels = hn_panels_f32_of(t, p->n);
    g.pass = p->k == 0 ? 1 : ceil_div(p->k, ceil_div(p->k, PASS));
    g.copies = t->interleaved || p->a_k != 1;
    int64_t most = hn_of_l2(SHELF) / (g.pass * t->width * 4);
    int64_t least_shelves = ceil_div(g.panels.count, most > 1 ? most : 1);
    g.shelves = least_shelves;
    for (int64_t n = least_shelves; n <= hn_least(tasks, g.panels.count); n++)
        if (n > 0 && tasks % n == 0) g.shelves = n, g.parts = tasks / n;
    g.shelf = g.shelves == 0 ? 0 : ceil_div(g.panels.count, g.shelves);
    return g;
}

static bool ok(const void *problem, const char **why) {
    const hn_matmul_f32 *p = problem;
    if (p->c_n == 1) return true;
    *why = "the columns of c are not adjacent";
    return false;
}

static void work(const hn_tiles_f32 *t, const hn_matmul_f32 *p, int lanes, hn_work *w) {
    geometry g = measure(t, p, 0);
    int64_t batches = hn_matmul_batches(p), tasks = g.shelves, tiles = ceil_div(p->m, t->rows);
    while (tasks > 0 && batches * tasks % lanes != 0) tasks++;
    /* Not worth it once there are many, nor possible with few columns and rows. */
    if (batches * g.shelves >= 8 * lanes || tasks > g.panels.count * tiles) tasks = g.shelves;
    g = measure(t, p, tasks);
    int64_t panels = g.shelf * g.pass * t->width, rows = g.copies ? t->rows * (g.pass + PAD) : 0;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {batches * g.shelves * g.parts},
                   .lane_scratch = (size_t)(panels + rows) * 4};
}

/* Sets rows [row, row + rows) of c, at columns [column, column + n), to what is added to them. */
static void put_addend(const hn_matmul_f32 *p, const float *r, int64_t row, int64_t rows,
                       int64_t column, int64_t n, float *c) {
    hn_tile_f32_copy(r + row * p->r_m + column * p->r_n, p->r_m, p->r_n, rows, n, 1,
                     c + row * p->c_m + column, p->c_m);
}

/* Memory that a batch needs: rows of `lines` lines each, `pitch` bytes apart. */
typedef struct rows_ahead {
    const char *at;
    int64_t rows, pitch, lines;
} rows_ahead;

/* What is still to be fetched for the next batch: `steps` rows of one column of lines with every
 * tile. */
typedef struct ahead {
    rows_ahead of[3]; /* b, a, c */
    int64_t steps;
    int n, now; /* operands; the one that is being fetched, */
    int64_t row, line;
} ahead;

/* A matrix with these strides; neither of them 1: nothing is fetched. */
static void add_ahead(ahead *h, const float *x, int64_t rows, int64_t cols, int64_t by_row,
                      int64_t by_col) {
    if (by_col != 1) {
        int64_t n = rows, stride = by_row;
        rows = cols, cols = n, by_row = by_col, by_col = stride;
    }
    if (by_col != 1 || rows == 0 || cols == 0) return;
    rows_ahead r = {(const char *)x, rows, by_row * 4, ceil_div(cols * 4, LINE)};
    if (by_row == cols) r = (rows_ahead){r.at, ceil_div(rows * cols * 4, LINE), LINE, 1};
    h->of[h->n++] = r;
}

static ahead begin_ahead(const hn_call *call, int64_t batch) {
    const hn_matmul_f32 *p = call->problem;
    ahead h = {.steps = p->k};
    add_ahead(&h, (const float *)call->ptr[HN_MATMUL_B] + hn_matmul_offset(p, p->b_batch, batch),
              p->k, p->n, p->b_k, p->b_n);
    add_ahead(&h, (const float *)call->ptr[HN_MATMUL_A] + hn_matmul_offset(p, p->a_batch, batch),
              p->m, p->k, p->a_m, p->a_k);
    add_ahead(&h, (const float *)call->ptr[HN_MATMUL_C] + hn_matmul_offset(p, p->c_batch, batch),
              p->m, p->n, p->c_m, p->c_n);
    return h;
}

/* Gives a tile its share; false: nothing is left. */
static bool take_ahead(ahead *h, hn_tile_f32 *args) {
    if (h->now == h->n) return false;
    const rows_ahead *r = &h->of[h->now];
    args->ahead = r->at + h->row * r->pitch + h->line * LINE;
    args->ahead_step = r->pitch;
    h->row += h->steps;
    if (h->row >= r->rows) h->row = 0, h->line++;
    if (h->line == r->lines) h->line = 0, h->now++;
    return true;
}

/* One task's rows [m0, m1) of a batch by the panels [first, first + panels), in one pass over k:
 * [k0, k0 + k). */
static void run_pass(const hn_tiles_f32 *t, const hn_call *call, const geometry *g, int64_t batch,
                     int64_t first, int64_t panels, int64_t m0, int64_t m1, int64_t k0, int64_t k,
                     ahead *next, float *lane) {
    const hn_matmul_f32 *p = call->problem;
    const float *bias = call->ptr[HN_MATMUL_BIAS], *r = call->ptr[HN_MATMUL_R];
    const float *a = (const float *)call->ptr[HN_MATMUL_A] +
                     hn_matmul_offset(p, p->a_batch, batch) + k0 * p->a_k;
    const float *b = (const float *)call->ptr[HN_MATMUL_B] +
                     hn_matmul_offset(p, p->b_batch, batch) + k0 * p->b_k;
    float *c = (float *)call->ptr[HN_MATMUL_C] + hn_matmul_offset(p, p->c_batch, batch);
    if (r != NULL) r += hn_matmul_offset(p, p->r_batch, batch);
    float *copy = lane + g->shelf * g->pass * t->width;
    /* Some rows of all panels at a time: they lie side by side in b. */
    int64_t block = p->b_n == 1 ? BLOCK : k;
    for (int64_t i = 0; i < k; i += block) {
        for (int64_t q = 0; q < panels; q++) {
            int64_t width = hn_panels_f32_width(&g->panels, first + q);
            int64_t n = hn_panels_f32_used(&g->panels, first + q), rows = hn_least(k - i, block);
            int64_t column = hn_panels_f32_column(&g->panels, first + q);
            float *panel = lane + q * k * t->width + i * width;
            if (n < width) memset(panel, 0, (size_t)(rows * width) * 4);
            t->copy(b + i * p->b_k + column * p->b_n, p->b_k, p->b_n, rows, n, p->alpha, panel,
                    width);
        }
    }
    bool starts = k0 == 0, ends = k0 + k == p->k, clip = p->act.kind == HN_ACT_CLIP;
    const float *rows_a[MAX_ROWS], *rows_r[MAX_ROWS];
    float *rows_c[MAX_ROWS];
    hn_tile_f32 args = {.a = rows_a,
                        .runs = 1,
                        .len = k,
                        .y = rows_c,
                        .lo = ends && clip ? p->act.a : -INFINITY,
                        .hi = ends && clip ? p->act.b : INFINITY};
    bool spread = starts && r != NULL && p->r_n != 1; /* tiles want the columns of r adjacent */
    if (!starts || spread)
        args.r = (const float *const *)rows_c;
    else if (r != NULL)
        args.r = rows_r;
    int64_t tiles = ceil_div(m1 - m0, t->rows);
    bool fetches = !g->copies && k == p->k && p->a_m == k && k >= 32;
    for (int64_t i = 0; i < tiles; i++) {
        int64_t row = m0 + (m1 - m0) * i / tiles;
        int n = (int)(m0 + (m1 - m0) * (i + 1) / tiles - row);
        if (t->interleaved)
            t->copy(a + row * p->a_m, p->a_k, p->a_m, k, n, 1, copy, hn_tile_f32_ld(n));
        else if (g->copies)
            t->copy(a + row * p->a_m, p->a_m, p->a_k, n, k, 1, copy, g->pass + PAD);
        for (int j = 0; j < n; j++) {
            rows_a[j] = g->copies ? copy + j * (g->pass + PAD) : a + (row + j) * p->a_m;
            rows_c[j] = c + (row + j) * p->c_m;
            if (r != NULL) rows_r[j] = r + (row + j) * p->r_m;
        }
        for (int64_t q = 0; q < panels; q++) {
            int64_t width = hn_panels_f32_width(&g->panels, first + q);
            args.column = hn_panels_f32_column(&g->panels, first + q);
            args.n = hn_panels_f32_used(&g->panels, first + q);
            args.b = lane + q * k * t->width;
            if (spread) put_addend(p, r, row, n, args.column, args.n, c);
            args.bias = starts && bias != NULL ? bias + args.column : NULL;
            /* Rows of the next tile. */
            args.ahead = rows_a[0], args.ahead_step = 0;
            if (!take_ahead(next, &args) && fetches && row + n < m1) {
                args.ahead = rows_a[0] + (n + n * q / panels) * p->a_m;
                args.ahead_step = n * p->a_m * 4 / (panels * k + 1);
            }
            t->fn[width == t->narrow][n - 1](&args);
            if (ends && p->act.kind != HN_ACT_NONE && !clip)
                t->act(&p->act, rows_c, n, args.column, args.n);
        }
    }
}

static void run(const hn_tiles_f32 *t, const hn_call *call, int64_t begin, int64_t end,
                void *lane) {
    const hn_matmul_f32 *p = call->problem;
    int64_t batches = hn_matmul_batches(p);
    const geometry g = measure(t, p, batches == 0 ? 0 : call->work->tasks[0] / batches);
    int64_t bytes = 4 * (p->m * p->k + p->k * p->n + p->m * p->n);
    bool small = g.parts * g.shelves == 1 && p->k <= g.pass && bytes <= SMALL;
    for (int64_t task = begin; task < end; task++) {
        ahead next = {0};
        if (small && task + 1 < end) next = begin_ahead(call, task + 1);
        int64_t part = task % g.parts, shelf = task / g.parts % g.shelves;
        int64_t first = g.panels.count * shelf / g.shelves;
        int64_t panels = g.panels.count * (shelf + 1) / g.shelves - first;
        int64_t batch = task / g.parts / g.shelves, k0 = 0;
        do {
            int64_t k = hn_least(p->k - k0, g.pass);
            run_pass(t, call, &g, batch, first, panels, p->m * part / g.parts,
                     p->m * (part + 1) / g.parts, k0, k, &next, lane);
            k0 += k;
        } while (k0 < p->k);
    }
}

/* A row whose tiles are hn_tiles_f32_<isa>. */
#define ROW(isa_name, bits, tile_name, sums)                                               \
    static void work_##isa_name(const void *p, int lanes, hn_work *w) {                    \
        work(&hn_tiles_f32_##isa_name, p, lanes, w);                                       \
    }                                                                                      \
    static void run_##isa_name(const hn_call *call, int phase, int64_t begin, int64_t end, \
                               void *lane) {                                               \
        (void)phase;                                                                       \
        run(&hn_tiles_f32_##isa_name, call, begin, end, lane);                             \
    }                                                                                      \
    const hn_kernel hn_matmul_f32_##isa_name = {.name = tile_name,                         \
                                                .isa = bits,                               \
                                                .order = sums,                             \
                                                .ok = ok,                                  \
                                                .work = work_##isa_name,                   \
                                                .run = run_##isa_name};

#if defined(__x86_64__)
ROW(avx512, HN_ISA_AVX512, "avx512_14x32", "fma")
ROW(avx2, HN_ISA_AVX2, "avx2_6x16", "fma")
#elif defined(__aarch64__)
ROW(neon, HN_ISA_NEON, "neon_8x12", "fma")
#endif
ROW(portable, HN_ISA_PORTABLE, "portable_6x8", "f32")
