/* Cases of norm_grad_f32: rows around every vector length, few and many, each operand there or not,
 * in place. */
#include "kernels/norm_grad_f32/norm_grad_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum { RMS = 1, GAPS = 2, NO_DX = 4, NO_DS = 8, NO_DB = 16, IN_PLACE = 32, BENCH = 64 };

static void add(check_list *list, int64_t rows, int64_t n, int flags) {
    int64_t gap = flags & GAPS ? 3 : 0;
    bool place = (flags & IN_PLACE) != 0;
    hn_norm_grad_f32 p = {.rows = rows,
                          .n = n,
                          .x_row = n + gap,
                          .dy_row = n + 2 * gap,
                          .dx_row = n + (place ? 2 : 3) * gap,
                          .epsilon = 1e-5f,
                          .rms = (flags & RMS) != 0};
    check_case *c = check_add(list, "%lldx%lld_%d", (long long)rows, (long long)n, flags);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, place ? CHECK_SAME : CHECK_IN, CHECK_F32, (rows - 1) * p.dy_row + n);
    check_operand_add(c, CHECK_IN, CHECK_F32, (rows - 1) * p.x_row + n);
    check_operand_add(c, CHECK_IN, CHECK_F32, n);
    check_operand_add(c,
                      place           ? CHECK_INOUT
                      : flags & NO_DX ? CHECK_ABSENT
                                      : CHECK_OUT,
                      CHECK_F32, (rows - 1) * p.dx_row + n);
    check_operand_add(c, flags & NO_DS ? CHECK_ABSENT : CHECK_OUT, CHECK_F32, n);
    check_operand_add(c, flags & NO_DB ? CHECK_ABSENT : CHECK_OUT, CHECK_F32, n);
    c->operand[HN_NORM_GRAD_DY].same = HN_NORM_GRAD_DX;
    c->rel = 60 + 2 * sqrt((double)rows);
    c->abs = 1e-5 * sqrt((double)rows);
    c->only_random = true;
    c->bench = (flags & BENCH) != 0;
    c->flops = 10.0 * (double)(rows * n);
    c->bytes = 12.0 * (double)(rows * n);
}

static void cases(check_list *list) {
    static const int64_t lengths[] = {2, 3, 8, 15, 16, 17, 31, 33, 64, 100, 384, 1027};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        add(list, 5, lengths[i], i % 3 == 0 ? GAPS : 0);
        add(list, 71, lengths[i], RMS | (i % 3 == 1 ? GAPS : 0));
    }
    for (int flags = 0; flags < 64; flags++)
        if (!(flags & NO_DX)) add(list, 7, 20, flags);
    add(list, 1024, 384, BENCH);
}

const check_family check_norm_grad_f32 = {.family = &hn_norm_grad_f32_family, .cases = cases};
