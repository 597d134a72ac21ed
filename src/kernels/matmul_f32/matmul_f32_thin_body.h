/* Products with few rows or few columns, over the vector vocabulary: the large matrix is read where
 * it lies, once. Copying it into panels, as the tiles want it, would take longer than multiplying.
 *
 * The small matrix is `few` lines of k numbers, the large one `many` lines. With few columns the
 * product is computed as its transpose, so there is one case to write:
 *
 *   sums[i][j] = sum over k of few[i][k] * many[j][k]
 *
 * Numbers of the large matrix are adjacent either along k or along its lines:
 *
 *   along k       vectors run along k: four lines by up to ROWS at a time, each sum one vector,
 *                 added up at the end
 *   along lines   vectors run along the lines: the sums of a block stay in L1, and four k at a time
 *                 are multiplied and added to them
 *
 * A task is a range of the lines of a batch. No bit depends on where a range begins: that is a
 * multiple of HN_VL lines, and a line's place decides how it is summed and in which vector it is.
 */
#include <string.h>

#include "base/least.h"
#include "kernels/matmul_f32/matmul_f32.h"
#include "kernels/tile_f32/tile_f32_act.h"

enum {
    MOST = 8,                   /* lines of the small matrix */
    MOST_SHORT = 2,             /* the same, where k is short and it is adjacent: */
    SHORT = 4 * HN_VL,          /* adding up the lanes of a vector is most of the work */
    ROWS = HN_VL == 16 ? 4 : 2, /* of them at a time, as registers allow */
    GROUP = 4,                  /* lines of the large matrix at a time */
    BLOCK = 1024,               /* sums, for each of ROWS: 16 KB stay in any L1 */
    LEAST = 64,                 /* lines of a task, where a batch is split */
};

/* The operands of one batch, the small matrix first. Strides are in floats. */
typedef struct sides {
    int64_t few, many, k;
    int64_t few_line, few_k, many_line, many_k;
    int64_t c_few, c_many, r_few, r_many, bias_few, bias_many;
    bool few_rows; /* the small matrix is a, else b */
} sides;

static sides sides_of(const hn_matmul_f32 *p) {
    if (p->m <= p->n)
        return (sides){p->m,   p->n,   p->k,   p->a_m, p->a_k, p->b_n, p->b_k,
                       p->c_m, p->c_n, p->r_m, p->r_n, 0,      1,      true};
    return (sides){p->n,   p->m,   p->k,   p->b_n, p->b_k, p->a_m, p->a_k,
                   p->c_n, p->c_m, p->r_n, p->r_m, 1,      0,      false};
}

static bool along_k(const sides *s) {
    return s->many_k == 1 && (s->many_line != 1 || s->many == 1);
}

static bool ok(const void *problem, const char **why) {
    sides s = sides_of(problem);
    if (s.few > MOST) return *why = "neither few rows nor few columns", false;
    if (!along_k(&s) && s.many_line != 1)
        return *why = "the large matrix has no adjacent axis", false;
    if (along_k(&s) && s.k < SHORT && s.few > MOST_SHORT) return *why = "short sums", false;
    return true;
}

/* How many tasks a batch is split into. */
static int64_t count_parts(const sides *s, int64_t batches, int lanes) {
    int64_t most = (s->many + LEAST - 1) / LEAST;
    return batches % lanes == 0 || most < 1 ? 1 : hn_least(lanes, most);
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_matmul_f32 *p = problem;
    sides s = sides_of(p);
    int64_t batches = hn_matmul_batches(p);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {batches * count_parts(&s, batches, lanes)},
                   .lane_scratch = (size_t)(ROWS * BLOCK + MOST * s.k) * sizeof(float)};
}

/* ---- sums ---- */

/* Vectors of `rows` lines of the small matrix by `lines` of the large one, from k on, `unroll` sums
 * for each pair taken in turn. */
HN_INLINE void multiply_group(const sides *s, const float *few, const float *many, float *sums,
                              int rows, int lines, int unroll) {
    hn_vf sum[ROWS * GROUP * 4];
    for (int i = 0; i < rows * lines * unroll; i++) sum[i] = hn_v_set1(0.0f);
    int64_t k = 0;
    for (; k + unroll * HN_VL <= s->k; k += unroll * HN_VL)
        for (int u = 0; u < unroll; u++)
            for (int j = 0; j < lines; j++) {
                hn_vf b = hn_v_load(many + j * s->many_line + k + u * HN_VL);
                for (int i = 0; i < rows; i++) {
                    hn_vf *to = &sum[(i * lines + j) * unroll + u];
                    *to = hn_v_fma(hn_v_load(few + i * s->few_line + k + u * HN_VL), b, *to);
                }
            }
    for (; k < s->k; k += HN_VL) {
        int64_t n = hn_least(s->k - k, HN_VL);
        for (int j = 0; j < lines; j++) {
            hn_vf b = hn_v_load_n(many + j * s->many_line + k, n);
            for (int i = 0; i < rows; i++) {
                hn_vf *to = &sum[(i * lines + j) * unroll];
                *to = hn_v_fma(hn_v_load_n(few + i * s->few_line + k, n), b, *to);
            }
        }
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < lines; j++) {
            hn_vf *of = &sum[(i * lines + j) * unroll];
            for (int u = 1; u < unroll; u++) of[0] = hn_v_add(of[0], of[u]);
            sums[i * BLOCK + j] = hn_v_sum(of[0]);
        }
}

HN_INLINE void sum_along_k(const sides *s, const float *few, const float *many, int64_t lines,
                           float *sums, int rows) {
    int64_t j = 0;
    for (; j + GROUP <= lines; j += GROUP)
        multiply_group(s, few, many + j * s->many_line, sums + j, rows, GROUP, rows == 1 ? 2 : 1);
    for (; j < lines; j++) multiply_group(s, few, many + j * s->many_line, sums + j, rows, 1, 4);
}

/* Adds `depth` k of one vector of lines. */
HN_INLINE void add_products(const sides *s, const float *many, hn_vf (*a)[GROUP], float *sums,
                            int rows, int depth, int64_t n) {
    hn_vf b[GROUP];
    for (int d = 0; d < depth; d++) b[d] = hn_v_load_part(many + d * s->many_k, n);
    for (int i = 0; i < rows; i++) {
        hn_vf sum = hn_v_load_part(sums + i * BLOCK, n);
        for (int d = 0; d < depth; d++) sum = hn_v_fma(a[i][d], b[d], sum);
        hn_v_store_part(sums + i * BLOCK, sum, n);
    }
}

HN_INLINE void add_depth(const sides *s, const float *few, const float *many, int64_t lines,
                         float *sums, int rows, int depth) {
    hn_vf a[ROWS][GROUP];
    for (int i = 0; i < rows; i++)
        for (int d = 0; d < depth; d++) a[i][d] = hn_v_set1(few[i * s->few_line + d * s->few_k]);
    int64_t j = 0;
    for (; j + HN_VL <= lines; j += HN_VL)
        add_products(s, many + j, a, sums + j, rows, depth, HN_VL);
    if (j < lines) add_products(s, many + j, a, sums + j, rows, depth, lines - j);
}

HN_INLINE void sum_along_lines(const sides *s, const float *few, const float *many, int64_t lines,
                               float *sums, int rows) {
    for (int i = 0; i < rows; i++) memset(sums + i * BLOCK, 0, (size_t)lines * sizeof *sums);
    int64_t k = 0;
    for (; k + GROUP <= s->k; k += GROUP)
        add_depth(s, few + k * s->few_k, many + k * s->many_k, lines, sums, rows, GROUP);
    for (; k < s->k; k++)
        add_depth(s, few + k * s->few_k, many + k * s->many_k, lines, sums, rows, 1);
}

typedef void sum_fn(const sides *s, const float *few, const float *many, int64_t lines,
                    float *sums);

#define SUMS(rows)                                                                                 \
    static void along_k_##rows(const sides *s, const float *few, const float *many, int64_t lines, \
                               float *sums) {                                                      \
        sum_along_k(s, few, many, lines, sums, rows);                                              \
    }                                                                                              \
    static void along_lines_##rows(const sides *s, const float *few, const float *many,            \
                                   int64_t lines, float *sums) {                                   \
        sum_along_lines(s, few, many, lines, sums, rows);                                          \
    }
SUMS(1)
SUMS(2)
#if HN_VL == 16
SUMS(3)
SUMS(4)
static sum_fn *const with_k[] = {along_k_1, along_k_2, along_k_3, along_k_4};
static sum_fn *const with_lines[] = {along_lines_1, along_lines_2, along_lines_3, along_lines_4};
#else
static sum_fn *const with_k[] = {along_k_1, along_k_2};
static sum_fn *const with_lines[] = {along_lines_1, along_lines_2};
#endif

/* ---- results ---- */

/* to[j] += from[j * step], by vectors: where the compiler adds numbers one by one, it may keep the
 * other of two NaN. */
static void add_strided(float *to, int64_t n, const float *from, int64_t step) {
    float near[HN_VL];
    for (int64_t j = 0; j < n; j += HN_VL) {
        int64_t part = hn_least(n - j, HN_VL);
        for (int64_t q = 0; q < part && step != 1; q++) near[q] = from[(j + q) * step];
        hn_vf add = hn_v_load_n(step == 1 ? from + j : near, part);
        hn_v_store_n(to + j, hn_v_add(hn_v_load_n(to + j, part), add), part);
    }
}

/* Line i of the results from lines j on: sums become c. */
static void finish(const hn_matmul_f32 *p, const sides *s, const float *bias, const float *r,
                   float *c, int64_t i, int64_t j, int64_t n, float *sums) {
    if (p->alpha != 1)
        for (int64_t q = 0; q < n; q++) sums[q] *= p->alpha;
    if (bias != NULL) add_strided(sums, n, bias + i * s->bias_few + j * s->bias_many, s->bias_many);
    if (r != NULL) add_strided(sums, n, r + i * s->r_few + j * s->r_many, s->r_many);
    if (p->act.kind != HN_ACT_NONE) act_tile(&p->act, &sums, 1, 0, n);
    c += i * s->c_few + j * s->c_many;
    if (s->c_many == 1)
        memcpy(c, sums, (size_t)n * sizeof *c);
    else
        for (int64_t q = 0; q < n; q++) c[q * s->c_many] = sums[q];
}

static void run_lines(const hn_call *call, const sides *s, int64_t batch, int64_t begin,
                      int64_t end, float *lane) {
    const hn_matmul_f32 *p = call->problem;
    const float *a = (const float *)call->ptr[HN_MATMUL_A] + hn_matmul_offset(p, p->a_batch, batch);
    const float *b = (const float *)call->ptr[HN_MATMUL_B] + hn_matmul_offset(p, p->b_batch, batch);
    const float *few = s->few_rows ? a : b, *many = s->few_rows ? b : a;
    const float *r = call->ptr[HN_MATMUL_R];
    float *c = (float *)call->ptr[HN_MATMUL_C] + hn_matmul_offset(p, p->c_batch, batch);
    float *sums = lane, *copy = lane + ROWS * BLOCK;
    sides at = *s;
    if (r != NULL) r += hn_matmul_offset(p, p->r_batch, batch);
    if (along_k(s) && s->few_k != 1) { /* vectors of it are loaded */
        hn_tile_f32_copy(few, s->few_line, s->few_k, s->few, s->k, 1, copy, s->k);
        few = copy, at.few_line = s->k, at.few_k = 1;
    }
    for (int64_t j = begin; j < end; j += BLOCK) {
        int64_t n = hn_least(end - j, BLOCK);
        for (int64_t i = 0; i < s->few; i += ROWS) {
            int rows = (int)hn_least(s->few - i, ROWS);
            sum_fn *fn = along_k(s) ? with_k[rows - 1] : with_lines[rows - 1];
            fn(&at, few + i * at.few_line, many + j * s->many_line, n, sums);
            for (int q = 0; q < rows; q++)
                finish(p, s, call->ptr[HN_MATMUL_BIAS], r, c, i + q, j, n, sums + q * BLOCK);
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_matmul_f32 *p = call->problem;
    sides s = sides_of(p);
    int64_t batches = hn_matmul_batches(p),
            parts = batches == 0 ? 1 : call->work->tasks[0] / batches;
    int64_t vectors = (s.many + HN_VL - 1) / HN_VL;
    for (int64_t task = begin; task < end; task++) {
        int64_t part = task % parts, to = vectors * (part + 1) / parts * HN_VL;
        run_lines(call, &s, task / parts, vectors * part / parts * HN_VL, hn_least(to, s.many),
                  lane);
    }
}

const hn_kernel HN_V_ROW(matmul_f32_thin) = {.name = HN_V_NAME "_thin",
                                             .isa = HN_V_ISA,
                                             .order = HN_V_NAME "_thin",
                                             .ok = ok,
                                             .work = work,
                                             .run = run};
