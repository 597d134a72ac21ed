/* Cases of label_grad_f32: classes around every vector length, every way to reduce, with weights and
 * without, labels that are ignored and that lie outside. */
#include "kernels/label_grad_f32/label_grad_f32.h"

#include <string.h>

#include "check.h"

enum { SOFTMAX = 1, MEAN = 2, EACH = 4, WIDE = 8, IGNORES = 16, WEIGHTS = 32, BENCH = 64 };

static void add(check_list *list, int64_t rows, int64_t classes, int flags) {
    hn_label_grad_f32 p = {.rows = rows,
                           .classes = classes,
                           .ignore = 1,
                           .ignores = (flags & IGNORES) != 0,
                           .wide = (flags & WIDE) != 0,
                           .each = (flags & EACH) != 0,
                           .mean = (flags & MEAN) != 0,
                           .softmax = (flags & SOFTMAX) != 0};
    check_case *c = check_add(list, "%lldx%lld_%d", (long long)rows, (long long)classes, flags);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, flags & EACH ? rows : 1);
    check_operand_add(c, flags & SOFTMAX ? CHECK_IN : CHECK_ABSENT, CHECK_F32, rows * classes);
    check_operand_add(c, CHECK_IN, flags & WIDE ? CHECK_I64 : CHECK_I32, rows);
    check_operand_add(c, flags & WEIGHTS ? CHECK_IN : CHECK_ABSENT, CHECK_F32, classes);
    check_operand_add(c, CHECK_OUT, CHECK_F32, rows * classes);
    c->rel = 16;
    c->abs = 1e-6;
    c->only_random = true;
    c->bench = (flags & BENCH) != 0;
    c->flops = (double)(rows * classes);
    c->bytes = 8.0 * (double)(rows * classes);
}

static void cases(check_list *list) {
    static const int64_t classes[] = {2, 3, 10, 16, 17, 33, 100};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        add(list, 37, classes[i], SOFTMAX | (i % 2 ? MEAN | WIDE : 0) | (i % 3 ? WEIGHTS : 0));
    for (int flags = 0; flags < 64; flags++)
        if (flags & SOFTMAX || flags & EACH) add(list, 6, 3, flags);
    add(list, 1024, 30000, SOFTMAX | MEAN | WIDE | BENCH);
}

/* Log probabilities are below 0, weights above. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_label_grad_f32 p;
    (void)kind;
    memcpy(&p, c->problem, sizeof p);
    size_t n = c->operand[operand].count;
    for (size_t i = 0; i < n; i++) {
        int64_t label = (int64_t)hn_rng_below(rng, (uint64_t)p.classes + 1);
        if (operand == HN_LABEL_GRAD_LABEL && p.wide)
            ((int64_t *)data)[i] = i == 0 ? 0 : label;
        else if (operand == HN_LABEL_GRAD_LABEL)
            ((int32_t *)data)[i] = i == 0 ? 0 : (int32_t)label;
        else if (operand == HN_LABEL_GRAD_X)
            ((float *)data)[i] = (float)(-5 * hn_rng_f64(rng));
        else
            ((float *)data)[i] = (float)(0.2 + hn_rng_f64(rng));
    }
    return true;
}

const check_family check_label_grad_f32 = {
    .family = &hn_label_grad_f32_family, .cases = cases, .fill = fill};
