/* Cases of matmul_int: around every tile, each matrix transposed, broadcast or part of a wider one,
 * of both widths. */
#include "kernels/matmul_int/matmul_int.h"

#include <string.h>

#include "check.h"

enum { A_T = 1, B_T = 2, GAPS = 4, SHARED_B = 8, WIDE = 16, BENCH = 32 };

static void add(check_list *list, int64_t batch, int64_t m, int64_t k, int64_t n, int flags) {
    check_case *c = check_add(list, "%lldx%lldx%lldx%lld_%d", (long long)batch, (long long)m,
                              (long long)k, (long long)n, flags);
    int64_t gap = flags & GAPS ? 3 : 0;
    hn_matmul_int q = {.at = {.batch = {1, batch, 1, 1}, .m = m, .n = n, .k = k},
                       .wide = (flags & WIDE) != 0};
    hn_matmul_f64 *p = &q.at;
    p->a_m = flags & A_T ? 1 : k + gap, p->a_k = flags & A_T ? m + gap : 1;
    p->b_k = flags & B_T ? 1 : n + gap, p->b_n = flags & B_T ? k + gap : 1;
    p->c_m = n + gap, p->c_n = 1;
    p->a_batch[1] = (flags & A_T ? k * p->a_k : m * p->a_m);
    p->b_batch[1] = flags & SHARED_B ? 0 : (flags & B_T ? n * p->b_n : k * p->b_k);
    p->c_batch[1] = m * p->c_m;
    memcpy(c->problem, &q, sizeof q);
    check_type type = q.wide ? CHECK_I64 : CHECK_I32;
    check_operand_add(c, CHECK_IN, type,
                      (batch - 1) * p->a_batch[1] + (m - 1) * p->a_m + (k - 1) * p->a_k + 1);
    check_operand_add(c, CHECK_IN, type,
                      (batch - 1) * p->b_batch[1] + (k - 1) * p->b_k + (n - 1) * p->b_n + 1);
    check_operand_add(c, CHECK_OUT, type, (batch - 1) * p->c_batch[1] + (m - 1) * p->c_m + n);
    c->exact = true;
    c->bench = (flags & BENCH) != 0;
    c->flops = 2 * (double)(batch * m * n) * (double)k;
}

static void cases(check_list *list) {
    static const int64_t sizes[][3] = {{1, 1, 1},   {1, 64, 33}, {2, 7, 16},  {3, 9, 31},
                                       {4, 33, 8},  {5, 4, 17},  {8, 16, 64}, {13, 300, 18},
                                       {6, 513, 5}, {7, 5, 70}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 8; way++)
            add(list, 1 + way % 2, sizes[i][0], sizes[i][1], sizes[i][2],
                (way & 3) | (way & 4 ? WIDE : 0) | (i % 2 == 0 ? GAPS : 0) |
                    (i % 3 == 0 ? SHARED_B : 0));
    add(list, 1, 16, 256, 64, BENCH);
    add(list, 1, 256, 256, 256, BENCH);
    add(list, 1, 64, 64, 64, BENCH | WIDE);
}

/* All bits, so that sums wrap. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    (void)kind;
    const check_operand *o = &c->operand[operand];
    for (size_t i = 0; i < o->count; i++) {
        uint64_t word = hn_rng_u64(rng);
        if (o->type == CHECK_I64)
            ((uint64_t *)data)[i] = word;
        else
            ((uint32_t *)data)[i] = (uint32_t)word;
    }
    return true;
}

const check_family check_matmul_int = {
    .family = &hn_matmul_int_family, .cases = cases, .fill = fill};
