/* Cases of matmul_f32: every way an operand may be transposed, broadcast or part of something
 * wider.
 */
#include "kernels/matmul_f32/matmul_f32.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum {
    A_T = 1,
    B_T = 2,
    SLICES = 4,
    BIAS = 8,
    MASK = 16,
    IN_PLACE = 32,
    SHARED_B = 64,
    BENCH = 128,
    C_T = 256,
    SPREAD = 512,
    R_COLUMN = 1024, /* r: one number for each row */
    R_T = 2048       /* r: transposed */
};

/* The elements an operand of the given sizes and strides spans. */
static int64_t span(const hn_matmul_f32 *p, const int64_t *batch, int64_t rows, int64_t row,
                    int64_t cols, int64_t col) {
    int64_t at = (rows - 1) * row + (cols - 1) * col + 1;
    for (int i = 0; i < HN_MATMUL_BATCH_AXES; i++) at += (p->batch[i] - 1) * batch[i];
    return rows == 0 || cols == 0 ? 0 : at;
}

static void add(check_list *list, int64_t b0, int64_t b1, int64_t m, int64_t k, int64_t n,
                int flags) {
    check_case *c = check_add(list, "%lldx%lldx%lldx%lldx%lld_%d", (long long)b0, (long long)b1,
                              (long long)m, (long long)k, (long long)n, flags);
    int64_t gap = flags & SLICES ? 3 : 0, step = flags & SPREAD ? 2 : 1;
    hn_matmul_f32 p = {.batch = {1, b0, b1, 1}, .m = m, .n = n, .k = k, .alpha = 1};
    p.a_k = flags & A_T ? m + gap : step, p.a_m = flags & A_T ? step : k * step + gap;
    p.b_n = flags & B_T ? k + gap : 1, p.b_k = flags & B_T ? 1 : n + gap;
    p.c_n = flags & C_T ? m + gap : 1, p.c_m = flags & C_T ? 1 : n + gap;
    if (flags & SLICES) { /* the heads b1 of a tensor [b0][row][head][column] */
        if (!(flags & A_T)) p.a_batch[2] = p.a_m, p.a_m *= b1;
        if (flags & B_T)
            p.b_batch[2] = p.b_n, p.b_n *= b1;
        else
            p.b_batch[2] = p.b_k, p.b_k *= b1;
        p.c_batch[2] = p.c_m, p.c_m *= b1;
        p.alpha = 0.125F;
    }
    if (p.a_batch[2] == 0) p.a_batch[2] = m * p.a_m > k * p.a_k ? m * p.a_m : k * p.a_k;
    if (p.b_batch[2] == 0) p.b_batch[2] = n * p.b_n > k * p.b_k ? n * p.b_n : k * p.b_k;
    if (p.c_batch[2] == 0) p.c_batch[2] = m * p.c_m > n * p.c_n ? m * p.c_m : n * p.c_n;
    p.a_batch[1] = b1 * p.a_batch[2] + m * p.a_m;
    p.b_batch[1] = b1 * p.b_batch[2] + (flags & B_T ? n * p.b_n : k * p.b_k);
    p.c_batch[1] = b1 * p.c_batch[2] + m * p.c_m;
    if (flags & SHARED_B) p.b_batch[1] = p.b_batch[2] = 0;
    p.r_n = 1;
    if (flags & IN_PLACE)
        memcpy(p.r_batch, p.c_batch, sizeof p.r_batch), p.r_m = p.c_m, p.r_n = p.c_n;
    else if (flags & MASK)
        p.r_batch[1] = n; /* one row for all heads and rows of a batch */
    else if (flags & R_COLUMN)
        p.r_m = 1, p.r_n = 0, p.r_batch[1] = m;
    else if (flags & R_T)
        p.r_m = 1, p.r_n = m, p.r_batch[2] = m * n, p.r_batch[1] = b1 * m * n;
    if (flags & BIAS) p.act = (hn_act){HN_ACT_GELU, 0, 0};
    memcpy(c->problem, &p, sizeof p);
    int64_t a_count = span(&p, p.a_batch, m, p.a_m, k, p.a_k);
    int64_t b_count = span(&p, p.b_batch, k, p.b_k, n, p.b_n);
    int64_t c_count = span(&p, p.c_batch, m, p.c_m, n, p.c_n);
    check_operand_add(c, CHECK_IN, CHECK_F32, a_count);
    check_operand_add(c, CHECK_IN, CHECK_F32, b_count);
    check_operand_add(c, flags & BIAS ? CHECK_IN : CHECK_ABSENT, CHECK_F32, n);
    check_operand_add(c,
                      flags & IN_PLACE                  ? CHECK_SAME
                      : flags & (MASK | R_COLUMN | R_T) ? CHECK_IN
                                                        : CHECK_ABSENT,
                      CHECK_F32, span(&p, p.r_batch, m, p.r_m, n, p.r_n));
    check_operand_add(c, flags & IN_PLACE ? CHECK_INOUT : CHECK_OUT, CHECK_F32, c_count);
    c->operand[HN_MATMUL_R].same = HN_MATMUL_C;
    c->rel = 8 + 2 * sqrt((double)k);
    /* A row may take what is below 2^-126 for zero, which may be beside 1e15. */
    c->abs = 1e-22 * (double)k;
    if (flags & BIAS) c->rel *= 2, c->abs = 2e-6;
    c->exact = !(flags & BIAS);
    c->bench = flags & BENCH;
    c->flops = 2 * (double)(b0 * b1) * (double)m * (double)n * (double)k;
    c->bytes = 4 * (double)(a_count + b_count + c_count);
}

static void cases(check_list *list) {
    static const int64_t sizes[][3] = {{1, 1, 1},   {1, 64, 33},  {2, 7, 16},   {5, 9, 31},
                                       {7, 33, 8},  {13, 4, 48},  {14, 16, 32}, {15, 70, 65},
                                       {29, 5, 12}, {43, 17, 40}, {16, 1, 24},  {1, 0, 4}};
    static const int ways[] = {0, A_T, B_T, A_T | B_T};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof ways / sizeof *ways; j++)
            add(list, 1, 2, sizes[i][0], sizes[i][1], sizes[i][2], ways[j]);
    add(list, 2, 3, 17, 16, 19, SLICES | B_T | MASK);
    add(list, 2, 3, 17, 19, 16, SLICES);
    add(list, 2, 2, 9, 20, 37, A_T | IN_PLACE);
    add(list, 2, 2, 9, 20, 37, SLICES | IN_PLACE | BIAS);
    add(list, 2, 2, 9, 20, 37, SHARED_B | BIAS);
    add(list, 2, 2, 9, 20, 37, R_COLUMN);
    add(list, 2, 2, 9, 20, 37, R_T | BIAS);
    add(list, 1, 1, 143, 1100, 78, R_COLUMN | B_T);
    /* Few rows, few columns. */
    for (int64_t few = 1; few <= 9; few++) {
        int way = (int)(few % 4) | (few % 2 == 0 ? R_T : R_COLUMN);
        add(list, 2, 1, few, 67 + few, 131, way | BIAS);
        add(list, 1, 2, 133, 70 + few, few, way | SLICES);
        add(list, 1, 2, few, 259, 29, B_T | SPREAD);
    }
    add(list, 1, 1, 1, 1000, 1, BIAS);
    add(list, 1, 1, 1, 40, 2500, IN_PLACE);
    add(list, 1, 1, 2500, 40, 1, MASK);
    add(list, 1, 2, 3, 90, 20, C_T);
    add(list, 1, 2, 11, 12, 37, C_T);
    add(list, 1, 2, 11, 12, 37, SPREAD | BIAS);
    add(list, 1, 1, 300, 10, 20, B_T);
    add(list, 1, 1, 6, 2500, 20, B_T | MASK);
    add(list, 1, 1, 5, 1024, 100, A_T | BIAS);
    add(list, 1, 1, 16, 1024, 20, 0);
    /* Large enough for rows that pack b. */
    add(list, 1, 2, 143, 64, 95, BIAS);
    add(list, 2, 2, 207, 62, 130, B_T | SHARED_B);
    add(list, 2, 3, 143, 126, 78, IN_PLACE);
    add(list, 1, 1, 142, 100, 150, MASK);
    add(list, 1, 1, 143, 1100, 48, 0);
    /* The same, a transposed. */
    add(list, 2, 2, 143, 190, 131, A_T | BIAS);
    add(list, 2, 2, 200, 161, 100, A_T | B_T | SLICES | SHARED_B);
    add(list, 1, 2, 257, 97, 160, A_T | IN_PLACE);
    /* Large enough for rows that copy both. */
    add(list, 1, 1, 143, 1100, 150, A_T | BIAS);
    add(list, 1, 2, 71, 70, 131, A_T | B_T);
    add(list, 2, 2, 59, 66, 140, A_T | SLICES | MASK);
    add(list, 1, 2, 57, 90, 129, A_T | IN_PLACE | SHARED_B);
    add(list, 1, 1, 57, 1024, 129, B_T);

    add(list, 1, 12, 128, 64, 128, SLICES | B_T | MASK | BENCH);
    add(list, 1, 12, 128, 128, 64, SLICES | BENCH);
    add(list, 1, 12, 197, 64, 197, SLICES | B_T | BENCH);
    add(list, 1, 12, 1, 64, 128, SLICES | B_T | BENCH);
    add(list, 1, 1, 1, 1024, 1024, BENCH);
    add(list, 1, 1, 1, 1024, 1024, B_T | BENCH);
    add(list, 1, 1, 4, 512, 512, BENCH);
    add(list, 1, 1, 8, 512, 512, BENCH);
    add(list, 1, 1, 8, 512, 512, B_T | BENCH);
    add(list, 1, 1, 256, 256, 1, BENCH);
    add(list, 1, 1, 256, 64, 8, BENCH);
    add(list, 1, 1, 64, 1024, 1024, BENCH);
    add(list, 1, 1, 128, 1024, 1024, BENCH);
    add(list, 1, 1, 512, 512, 512, BENCH);
    add(list, 1, 1, 512, 512, 512, B_T | BENCH);
    add(list, 1, 12, 128, 64, 128, BENCH);
    add(list, 1, 12, 128, 64, 128, B_T | BENCH);
    add(list, 1, 12, 128, 128, 64, BENCH);
    add(list, 1, 1, 1024, 1024, 1024, BENCH);
    add(list, 1, 1, 512, 512, 512, A_T | B_T | BENCH);
    /* What training multiplies: forward, and the gradients of both operands. */
    add(list, 1, 1, 1024, 384, 1536, BENCH);
    add(list, 1, 1, 1024, 1536, 384, B_T | BENCH);
    add(list, 1, 1, 384, 1024, 1536, A_T | BENCH);
    add(list, 1, 1, 1536, 1024, 384, A_T | BENCH);
    add(list, 1, 1, 384, 1024, 384, A_T | BENCH);
}

static void magnitude(void *problem) { ((hn_matmul_f32 *)problem)->act = (hn_act){0}; }

const check_family check_matmul_f32 = {
    .family = &hn_matmul_f32_family, .cases = cases, .magnitude = magnitude};
