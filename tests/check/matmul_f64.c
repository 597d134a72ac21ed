/* Cases of matmul_f64: around every tile, each matrix transposed, broadcast or part of a wider one.
 */
#include "kernels/matmul_f64/matmul_f64.h"

#include <string.h>

#include "check.h"

enum { A_T = 1, B_T = 2, GAPS = 4, COLUMN = 8, SHARED_B = 16, BENCH = 32 };

static void add(check_list *list, int64_t batch, int64_t m, int64_t k, int64_t n, int flags) {
    check_case *c = check_add(list, "%lldx%lldx%lldx%lld_%d", (long long)batch, (long long)m,
                              (long long)k, (long long)n, flags);
    int64_t gap = flags & GAPS ? 3 : 0;
    hn_matmul_f64 p = {.batch = {1, batch, 1, 1}, .m = m, .n = n, .k = k, .alpha = 1};
    p.a_m = flags & A_T ? 1 : k + gap, p.a_k = flags & A_T ? m + gap : 1;
    p.b_k = flags & B_T ? 1 : n + gap, p.b_n = flags & B_T ? k + gap : 1;
    p.c_m = n + gap, p.c_n = 1;
    p.a_batch[1] = (flags & A_T ? k * p.a_k : m * p.a_m);
    p.b_batch[1] = flags & SHARED_B ? 0 : (flags & B_T ? n * p.b_n : k * p.b_k);
    p.c_batch[1] = m * p.c_m;
    if (flags & GAPS) p.alpha = -0.25;
    if (flags & COLUMN) p.r_m = 1, p.r_batch[1] = m;
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F64,
                      (batch - 1) * p.a_batch[1] + (m - 1) * p.a_m + (k - 1) * p.a_k + 1);
    check_operand_add(c, CHECK_IN, CHECK_F64,
                      (batch - 1) * p.b_batch[1] + (k - 1) * p.b_k + (n - 1) * p.b_n + 1);
    check_operand_add(c, flags & COLUMN ? CHECK_IN : CHECK_ABSENT, CHECK_F64, batch * m);
    check_operand_add(c, CHECK_OUT, CHECK_F64, (batch - 1) * p.c_batch[1] + (m - 1) * p.c_m + n);
    c->rel = (double)(8 + k);
    c->exact = true;
    c->bench = (flags & BENCH) != 0;
    c->flops = 2 * (double)(batch * m * n) * (double)k;
}

static void cases(check_list *list) {
    static const int64_t sizes[][3] = {{1, 1, 1},    {1, 64, 33},  {2, 7, 16},  {6, 9, 31},
                                       {7, 33, 8},   {12, 4, 17},  {13, 16, 4}, {25, 300, 18},
                                       {30, 513, 5}, {1, 600, 32}, {1, 37, 70}, {131, 61, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 4; way++)
            add(list, 1 + way % 2, sizes[i][0], sizes[i][1], sizes[i][2],
                way | (i % 2 == 0 ? GAPS : COLUMN) | (i % 3 == 0 ? SHARED_B : 0));
    add(list, 1, 256, 256, 256, BENCH);
    add(list, 1, 1, 512, 512, BENCH);
    add(list, 1, 1, 512, 512, B_T | BENCH);
    add(list, 1, 512, 512, 1, BENCH);
    add(list, 1, 64, 512, 512, B_T | BENCH);
}

static void magnitude(void *problem) { ((hn_matmul_f64 *)problem)->alpha = 1; }

const check_family check_matmul_f64 = {
    .family = &hn_matmul_f64_family, .cases = cases, .magnitude = magnitude};
