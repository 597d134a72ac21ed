/* matmul_nbits over the vector vocabulary.
 *
 * A lane of a vector is a column: a word of it holds 8 (or 4) codes of that column, which shifts
 * bring down one after the other, and x[k], the same for all columns, multiplies each:
 *
 *   for each block g                                       one row, one vector of columns
 *       part = 0
 *       for each word w of the block
 *           part += x[k] * (code i of w - z[g])            i = 0, 1 ...
 *       sum += part * s[g]
 *
 * With one row this reads codes at the speed of memory: several panels at a time, so that sums do
 * not wait for each other. With more rows an unpacked code serves several of them. Rows and panels
 * that there are too few of are computed twice and dropped.
 *
 * Scales are adjacent along the blocks of a column mostly; 16 blocks of a panel are turned at a
 * time, which is little beside their codes.
 *
 * AVX-512 looks codes of 4 bits up in a table of 16 floats instead of masking, converting and
 * subtracting: the table is of codes less the zero point if there is one for all.
 */
#include "kernels/matmul_nbits/matmul_nbits_simd.h"

enum {
    /* Rows and panels at a time. */
    WIDE = HN_VL / 4, /* for one row: 4 vectors */
    FEW = 4,
    FEW_WIDE = HN_VL == 16 ? 2 : 1,
    MANY = HN_VL == 16 ? 12 : 4,
    MOST = 4,    /* vectors */
    AHEAD = 2048 /* bytes of a panel between words in use and those being fetched */
};

typedef struct job {
    ending end;
    const float *x, *s;
    const void *z;
    const char *w;
    int64_t row, rows, panel, panels; /* to be computed; no more than there are at a time */
} job;

/* Code i of vector v of words, i a constant. */
#if HN_VL == 16
#define CODE4_0(v) _mm512_permutexvar_ps(word[v], table)
#define CODE4(v, i) _mm512_permutexvar_ps(_mm512_srli_epi32(word[v], 4 * (i)), table)
enum { SUBTRACTS_ONE = 0 }; /* the zero point that all codes of 4 bits share */
#else
#define CODE4_0(v) hn_v_from_int(hn_vi_and(word[v], hn_vi_set1(15)))
#define CODE4(v, i) hn_v_from_int(hn_vi_and(hn_vi_shr(word[v], 4 * (i)), hn_vi_set1(15)))
enum { SUBTRACTS_ONE = 1 };
#endif
#define CODE8(v, i) hn_v_from_int(hn_vi_shr(hn_vi_shl(word[v], 24 - 8 * (i)), 24))
#define CODE8_3(v) hn_v_from_int(hn_vi_shr(word[v], 24))

/* Column i of x by a code of each word. */
#define MULTIPLY(i, code)                                                          \
    do {                                                                           \
        hn_vf weight[MOST];                                                        \
        _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++) {                \
            weight[v] = code;                                                      \
            if (subtracts) weight[v] = hn_v_sub(weight[v], z[v]);                  \
        }                                                                          \
        _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) {                  \
            hn_vf value = hn_v_set1(x[r][i]);                                      \
            _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++) part[r][v] = \
                hn_v_fma(value, weight[v], part[r][v]);                            \
        }                                                                          \
    } while (0)

/* `rows` rows by `panels` panels. */
HN_INLINE void multiply_as(const int rows, const int panels, const int bits, const bool subtracts,
                           const job *t) {
    const int vectors = panels * VECTORS, each = 32 / bits;
    const hn_matmul_nbits *p = t->end.p;
    const float *x[MANY];
    const int32_t *w[WIDE];
    float pad[MANY][8] = {{0}};
    square scales[WIDE], zeros[WIDE];
    hn_vf sums[MANY][MOST];
#if HN_VL == 16
    const __m512 codes = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 table = _mm512_sub_ps(codes, _mm512_set1_ps(subtracts ? 0 : (float)p->zero));
#endif
    for (int r = 0; r < rows; r++) {
        x[r] = t->x + (t->row + hn_least(r, t->rows - 1)) * p->x_m;
        for (int v = 0; v < vectors; v++) sums[r][v] = hn_v_set1(0.0f);
    }
    for (int q = 0; q < panels; q++)
        w[q] = (const int32_t *)(t->w +
                                 (t->panel + hn_least(q, t->panels - 1)) * hn_nbits_panel_bytes(p));
    int64_t blocks = hn_nbits_blocks(p);
    for (int64_t g = 0; g < blocks; g++) {
        for (int q = 0; q < t->panels && g % TURN == 0; q++) {
            int64_t n0 = (t->panel + q) * HN_NBITS_PANEL;
            load_square(p, t->s, false, g, n0, scales[q]);
            if (subtracts) load_zeros(p, t->z, g, n0, zeros[q]);
        }
        hn_vf part[MANY][MOST], z[MOST];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            int q = (int)hn_least(v / VECTORS, t->panels - 1);
            z[v] = hn_v_set1(0.0f);
            if (subtracts) z[v] = hn_v_load(&zeros[q][g % TURN][v % VECTORS * HN_VL]);
#pragma GCC unroll 12
            for (int r = 0; r < rows; r++) part[r][v] = hn_v_set1(0.0f);
        }
        /* The words that x fills, then the one that it does not. */
        int64_t left = hn_least(p->block, p->k - g * p->block);
        for (int whole = 1; whole >= 0; whole--) {
            int64_t words = whole ? left / each : left % each != 0;
            if (!whole && words > 0)
                for (int r = 0; r < rows; r++) {
                    for (int64_t i = 0; i < left % each; i++) pad[r][i] = x[r][i];
                    x[r] = pad[r];
                }
            for (int64_t i = 0; i < words; i++) {
                hn_vi word[MOST];
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++)
                    word[v] = hn_vi_load(w[v / VECTORS] + v % VECTORS * HN_VL);
                for (int q = 0; q < panels; q++)
                    __builtin_prefetch((const void *)((uintptr_t)w[q] + AHEAD), 0, 2);
                if (bits == 4) {
                    MULTIPLY(0, CODE4_0(v));
                    MULTIPLY(1, CODE4(v, 1));
                    MULTIPLY(2, CODE4(v, 2));
                    MULTIPLY(3, CODE4(v, 3));
                    MULTIPLY(4, CODE4(v, 4));
                    MULTIPLY(5, CODE4(v, 5));
                    MULTIPLY(6, CODE4(v, 6));
                    MULTIPLY(7, CODE4(v, 7));
                } else {
                    MULTIPLY(0, CODE8(v, 0));
                    MULTIPLY(1, CODE8(v, 1));
                    MULTIPLY(2, CODE8(v, 2));
                    MULTIPLY(3, CODE8_3(v));
                }
                for (int q = 0; q < panels; q++) w[q] += HN_NBITS_PANEL;
#pragma GCC unroll 12
                for (int r = 0; r < rows; r++) x[r] += each;
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            int q = (int)hn_least(v / VECTORS, t->panels - 1);
            hn_vf scale = hn_v_load(&scales[q][g % TURN][v % VECTORS * HN_VL]);
#pragma GCC unroll 12
            for (int r = 0; r < rows; r++) sums[r][v] = hn_v_fma(scale, part[r][v], sums[r][v]);
        }
    }
    for (int r = 0; r < t->rows; r++)
        for (int q = 0; q < t->panels; q++)
            finish(&t->end, t->row + r, (t->panel + q) * HN_NBITS_PANEL, sums[r] + q * VECTORS);
}

typedef void multiply_fn(const job *t);
#define WITH(name, rows, panels, bits, subtracts) \
    static void name(const job *t) { multiply_as(rows, panels, bits, subtracts, t); }
WITH(one_4z, 1, WIDE, 4, true)
WITH(one_8, 1, WIDE, 8, false)
WITH(one_8z, 1, WIDE, 8, true)
WITH(few_4z, FEW, FEW_WIDE, 4, true)
WITH(few_8z, FEW, FEW_WIDE, 8, true)
#if HN_VL == 16
WITH(one_4, 1, WIDE, 4, false)
WITH(few_4, FEW, FEW_WIDE, 4, false)
WITH(many_4, MANY, 1, 4, false)
WITH(many_4z, MANY, 1, 4, true)
WITH(many_8z, MANY, 1, 8, true)
#else
#define one_4 one_4z
#define few_4 few_4z
#define many_4 few_4z
#define many_4z few_4z
#define many_8z few_8z
#endif

/* Ways to multiply, by the rows they take; [8 bits][a zero point for each block]. With few rows
 * subtracting nothing does not cost a function of its own. */
static const struct {
    int rows, panels;
    multiply_fn *fn[2][2];
} ways[] = {
    {1, WIDE, {{one_4, one_4z}, {one_8, one_8z}}},
    {FEW, FEW_WIDE, {{few_4, few_4z}, {few_8z, few_8z}}},
    {MANY, HN_VL == 16 ? 1 : FEW_WIDE, {{many_4, many_4z}, {many_8z, many_8z}}},
};

static bool ok(const void *problem, const char **why) {
    const hn_matmul_nbits *p = problem;
    return !p->x_rounded || (*why = "x is rounded", false);
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {(hn_nbits_panels(problem) + HN_NBITS_TASK - 1) / HN_NBITS_TASK}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_matmul_nbits *p = call->problem;
    job t = {.end = {p, call->ptr[HN_NBITS_BIAS], call->ptr[HN_NBITS_R], call->ptr[HN_NBITS_Y]},
             .x = call->ptr[HN_NBITS_X],
             .s = call->ptr[HN_NBITS_S],
             .z = call->ptr[HN_NBITS_Z],
             .w = call->ptr[HN_NBITS_W]};
    bool zeros = p->zeros != HN_NBITS_ONE || (p->bits == 8 && p->zero != 128);
    int64_t last = hn_least(end * HN_NBITS_TASK, hn_nbits_panels(p));
    for (t.row = 0; t.row < p->m; t.row += t.rows) {
        int64_t left = p->m - t.row;
        int way = left == 1 ? 0 : left <= FEW ? 1 : 2;
        t.rows = hn_least(left, ways[way].rows);
        for (t.panel = begin * HN_NBITS_TASK; t.panel < last; t.panel += t.panels) {
            t.panels = hn_least(ways[way].panels, last - t.panel);
            ways[way].fn[p->bits == 8][zeros](&t);
        }
    }
}

const hn_kernel HN_V_ROW(matmul_nbits) = {
    .name = HN_V_NAME,
    .isa = HN_V_ISA,
    .order = "blocks",
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = hn_nbits_packed_bytes,
    .pack_key = hn_nbits_pack_key,
    .pack_tasks = hn_nbits_pack_tasks,
    .pack = hn_nbits_pack,
};
