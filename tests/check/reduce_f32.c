/* Cases of reduce_f32: every operation along rows and down columns of all lengths, strided; the
 * reductions of real models for timing. */
#include "kernels/reduce_f32/reduce_f32.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static const char *const names[] = {
#define HN_X(name, formula) #name,
    HN_REDUCE_LIST(HN_X)
#undef HN_X
};

static check_case *add(check_list *list, int op, int64_t outer, int64_t r, int64_t inner,
                       int64_t step, int64_t gap) {
    hn_reduce_f32 p = {.op = (hn_reduce_op)op,
                       .outer = outer,
                       .r = r,
                       .inner = inner,
                       .x_r = inner * step,
                       .x_outer = r * inner * step + gap,
                       .y_outer = inner + gap};
    check_case *c = check_add(list, "%s_%lldx%lldx%lld_%lld", names[op], (long long)outer,
                              (long long)r, (long long)inner, (long long)(step + gap));
    memcpy(c->problem, &p, sizeof p);
    bool empty = outer == 0 || r == 0 || inner == 0;
    check_operand_add(c, CHECK_IN, CHECK_F32,
                      empty ? 0 : (outer - 1) * p.x_outer + (r - 1) * p.x_r + inner);
    check_operand_add(c, CHECK_OUT, CHECK_F32, outer == 0 ? 0 : (outer - 1) * p.y_outer + inner);
    c->rel = 8 + 2 * sqrt((double)r);
    /* Of the logarithm of a sum the error of the sum remains, and the sum may be near 1. */
    if (op >= HN_REDUCE_LOGSUM) c->abs = 1e-6;
    c->only_random = op == HN_REDUCE_LOGSUM;
    if (op == HN_REDUCE_PROD) c->rel = 2 * (double)r + 8;
    c->exact = op == HN_REDUCE_SUM || (op >= HN_REDUCE_MAX && op <= HN_REDUCE_MIN) ||
               op == HN_REDUCE_SUMSQ || op == HN_REDUCE_L1;
    c->flops = (double)(outer * r * inner);
    c->bytes = 4 * c->flops;
    return c;
}

static void cases(check_list *list) {
    static const int64_t shapes[][3] = {
        {5, 1, 1},  {3, 3, 1},  {2, 5, 1},   {3, 8, 1},    {2, 16, 1},   {40, 17, 1}, {3, 31, 1},
        {2, 64, 1}, {3, 65, 1}, {1, 129, 1}, {2, 1000, 1}, {1, 5003, 1}, {2, 3, 2},   {3, 5, 3},
        {2, 7, 16}, {1, 9, 17}, {2, 49, 64}, {1, 20, 65},  {2, 10, 150}};
    for (int op = 0; op < HN_REDUCE_OPS_; op++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            add(list, op, shapes[i][0], shapes[i][1], shapes[i][2], 1, 0);
        add(list, op, 3, 70, 1, 3, 2);
        add(list, op, 3, 11, 21, 2, 5);
        add(list, op, 2, 0, 1, 1, 0)->exact = false;
        add(list, op, 2, 0, 4, 1, 0)->exact = false;
    }
    add(list, HN_REDUCE_MEAN, 1, 49, 2048, 1, 0)->bench = true;
    add(list, HN_REDUCE_MEAN, 1, 3136, 64, 1, 0)->bench = true;
    add(list, HN_REDUCE_SUM, 2048, 49, 1, 1, 0)->bench = true;
    add(list, HN_REDUCE_MAX, 128, 768, 1, 1, 0)->bench = true;
    add(list, HN_REDUCE_L2, 128, 768, 1, 1, 0)->bench = true;
    add(list, HN_REDUCE_LOGSUMEXP, 128, 768, 1, 1, 0)->bench = true;
}

/* Cancelling sums are judged by the sum of the absolute values. */
static void magnitude(void *problem) {
    hn_reduce_f32 *p = problem;
    if (p->op == HN_REDUCE_MAX || p->op == HN_REDUCE_MIN) p->op = HN_REDUCE_MAX;
    if (p->op >= HN_REDUCE_LOGSUM) p->op = HN_REDUCE_L1;
}

/* The logarithm of a sum needs a positive one; a product must not leave the range on its way. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_reduce_f32 p;
    memcpy(&p, c->problem, sizeof p);
    if (p.op != HN_REDUCE_LOGSUM && (p.op != HN_REDUCE_PROD || kind == CHECK_EXACT)) return false;
    if (p.op == HN_REDUCE_PROD && kind == CHECK_SPECIAL) return false;
    float *x = data;
    for (size_t i = 0; i < c->operand[operand].count; i++)
        x[i] = 0.5f * (float)hn_rng_f64(rng) + 0.75f;
    return true;
}

const check_family check_reduce_f32 = {
    .family = &hn_reduce_f32_family, .cases = cases, .magnitude = magnitude, .fill = fill};
