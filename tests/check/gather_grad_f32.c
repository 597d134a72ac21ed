/* Cases of gather_grad_f32: rows of all lengths, both kinds of index, indices that repeat, count
 * from the end and lie outside. */
#include "kernels/gather_grad_f32/gather_grad_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

static void add(check_list *list, int64_t outer, int64_t axis, int64_t count, int64_t n,
                bool wide) {
    hn_gather_grad_f32 p = {outer, axis, count, n, wide};
    check_case *c = check_add(list, "%lldx%lldx%lldx%lld_%d", (long long)outer, (long long)axis,
                              (long long)count, (long long)n, wide ? 64 : 32);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, outer * count * n);
    check_operand_add(c, CHECK_IN, wide ? CHECK_I64 : CHECK_I32, count);
    check_operand_add(c, CHECK_OUT, CHECK_F32, outer * axis * n);
    c->rel = 2 * sqrt((double)count) + 4;
    c->abs = 1e-6 * sqrt((double)count);
    c->only_random = true;
    c->bytes = 4.0 * (double)(outer * n * (axis + 3 * count));
}

static void cases(check_list *list) {
    static const int64_t lengths[] = {1, 3, 16, 63, 64, 65, 200};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        add(list, 1, 5, 33, lengths[i], true);
        add(list, 3, 4, 11, lengths[i], false);
    }
    add(list, 1, 40, 700, 32, true);
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_gather_grad_f32 p;
    (void)kind;
    memcpy(&p, c->problem, sizeof p);
    if (operand != HN_GATHER_GRAD_INDEX) return false;
    for (int64_t i = 0; i < p.count; i++) {
        int64_t at = (int64_t)hn_rng_below(rng, (uint64_t)(2 * p.axis + 2)) - p.axis - 1;
        if (p.wide)
            ((int64_t *)data)[i] = at;
        else
            ((int32_t *)data)[i] = (int32_t)at;
    }
    return true;
}

const check_family check_gather_grad_f32 = {
    .family = &hn_gather_grad_f32_family, .cases = cases, .fill = fill};
