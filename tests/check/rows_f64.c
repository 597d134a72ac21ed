/* Cases of rows_f64: every operation on rows around the length of its loops, in place, and as
 * models have them for timing. */
#include "kernels/rows_f64/rows_f64.h"

#include <string.h>

#include "check.h"

enum { SCALE = 1, BIAS = 2, IN_PLACE = 4, BENCH = 8 };

static void add(check_list *list, hn_rows_f64_op op, int64_t rows, int64_t n, int flags) {
    static const char *const names[] = {"softmax", "log_softmax", "layer", "rms", "lp1", "lp2"};
    static const char *const ends[] = {"", "_scale", "_bias", "_scale_bias"};
    hn_rows_f64 p = {.op = op, .rows = rows, .n = n, .epsilon = 1e-5};
    check_case *c = check_add(list, "%s_%lldx%lld%s%s", names[op], (long long)rows, (long long)n,
                              ends[flags & (SCALE | BIAS)], flags & IN_PLACE ? "_in_place" : "");
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, flags & IN_PLACE ? CHECK_SAME : CHECK_IN, CHECK_F64, rows * n);
    check_operand_add(c, flags & SCALE ? CHECK_IN : CHECK_ABSENT, CHECK_F64, n);
    check_operand_add(c, flags & BIAS ? CHECK_IN : CHECK_ABSENT, CHECK_F64, n);
    check_operand_add(c, flags & IN_PLACE ? CHECK_INOUT : CHECK_OUT, CHECK_F64, rows * n);
    c->operand[HN_ROWS_F64_X].same = HN_ROWS_F64_Y;
    c->rel = 20 + 2 * (double)n;
    /* Differences of neighbours that are nearly equal, and a bias that takes the result away. */
    c->abs = op == HN_ROWS_F64_SOFTMAX ? 1e-300 : 1e-14;
    c->bench = (flags & BENCH) != 0;
    c->flops = (double)(rows * n);
    c->bytes = 16 * c->flops;
}

static void cases(check_list *list) {
    static const int64_t lengths[] = {2, 3, 31, 32, 33, 64, 100, 257};
    for (int op = 0; op < HN_ROWS_F64_OPS_; op++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            add(list, (hn_rows_f64_op)op, 5, lengths[i], 0);
        add(list, (hn_rows_f64_op)op, 300, 37, IN_PLACE);
        add(list, (hn_rows_f64_op)op, 2, 5000, 0);
        add(list, (hn_rows_f64_op)op, 128, 768, BENCH);
    }
    for (int op = HN_ROWS_F64_LAYER; op <= HN_ROWS_F64_RMS; op++)
        for (int with = SCALE; with <= (SCALE | BIAS); with++)
            add(list, (hn_rows_f64_op)op, 7, 75, with);
}

/* A row of a normalisation is no sum of its elements: only ordinary ones have a bound. */
const check_family check_rows_f64 = {.family = &hn_rows_f64_family, .cases = cases};
