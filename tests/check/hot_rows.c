/* Cases of hot_rows: elements of all sizes, both kinds of index, from the end and outside. */
#include "kernels/hot_rows/hot_rows.h"

#include <string.h>

#include "check.h"

static check_case *add(check_list *list, int64_t outer, int64_t depth, int64_t inner, int64_t bytes,
                       bool wide) {
    hn_hot_rows p = {outer, depth, inner, bytes, wide};
    check_case *c = check_add(list, "%lldx%lldx%lld_%lld_%d", (long long)outer, (long long)depth,
                              (long long)inner, (long long)bytes, wide ? 64 : 32);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, wide ? CHECK_I64 : CHECK_I32, outer * inner);
    check_operand_add(c, CHECK_IN, CHECK_U8, 2 * bytes);
    check_operand_add(c, CHECK_OUT, CHECK_U8, outer * depth * inner * bytes);
    c->only_random = true;
    c->bytes = (double)(outer * depth * inner * bytes);
    return c;
}

static void cases(check_list *list) {
    static const int64_t bytes[] = {1, 2, 4, 8, 16};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        for (int wide = 0; wide < 2; wide++) {
            add(list, 40, 7, 1, bytes[i], wide != 0);
            add(list, 3, 11, 13, bytes[i], wide != 0);
            add(list, 900, 50, 1, bytes[i], wide != 0);
            add(list, 1, 4, 9, bytes[i], wide != 0);
        }
    add(list, 2048, 257, 1, 4, true)->bench = true;
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_hot_rows p;
    memcpy(&p, c->problem, sizeof p);
    (void)kind;
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        int64_t v = (int64_t)hn_rng_below(rng, (uint64_t)(2 * p.depth + 4)) - p.depth - 2;
        if (i % 11 == 10) v = i % 2 != 0 ? INT32_MAX : INT32_MIN;
        if (operand == HN_HOT_ROWS_VALUES)
            ((uint8_t *)data)[i] = (uint8_t)hn_rng_below(rng, 256);
        else if (p.wide)
            ((int64_t *)data)[i] = v;
        else
            ((int32_t *)data)[i] = (int32_t)v;
    }
    return true;
}

const check_family check_hot_rows = {.family = &hn_hot_rows_family, .cases = cases, .fill = fill};
