/* Cases of label_loss_f32: each reduction, weights or none, labels that are ignored or outside,
 * classes that are adjacent or apart, more positions than a task takes. */
#include "kernels/label_loss_f32/label_loss_f32.h"

#include <string.h>

#include "check.h"

enum { WEIGHT = 1, WIDE = 2, IGNORE = 4, FLAG = 8, APART = 16, OUTSIDE = 32, FLAGS_ = 64 };

static check_case *add(check_list *list, int64_t batch, int64_t classes, int64_t inner,
                       hn_loss_reduction reduction, int flags) {
    int64_t positions = batch * inner;
    hn_label_loss_f32 p = {.batch = batch,
                           .classes = classes,
                           .inner = inner,
                           .x_batch = classes * inner,
                           .x_class = flags & APART ? inner : 1,
                           .x_inner = flags & APART ? 1 : classes,
                           .reduction = reduction,
                           .wide = (flags & WIDE) != 0,
                           .ignores = (flags & IGNORE) != 0,
                           .ignore = flags & OUTSIDE ? -2 : 1};
    check_case *c = check_add(list, "%lldx%lldx%lld_%d_%d", (long long)batch, (long long)classes,
                              (long long)inner, (int)reduction, flags);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, classes * positions);
    check_operand_add(c, CHECK_IN, flags & WIDE ? CHECK_I64 : CHECK_I32, positions);
    check_operand_add(c, flags & WEIGHT ? CHECK_IN : CHECK_ABSENT, CHECK_F32, classes);
    check_operand_add(c, CHECK_OUT, CHECK_F32, reduction == HN_LOSS_NONE ? positions : 1);
    check_operand_add(c, flags & FLAG ? CHECK_INOUT : CHECK_ABSENT, CHECK_I32, 1);
    c->only_random = true;
    c->rel = 4;
    c->bytes = 8.0 * (double)positions;
    return c;
}

static void cases(check_list *list) {
    for (int reduction = HN_LOSS_NONE; reduction <= HN_LOSS_MEAN; reduction++) {
        for (int flags = 0; flags < FLAGS_; flags++)
            add(list, 23, 7, 1 + flags % 3, (hn_loss_reduction)reduction, flags);
        add(list, 3, 4, 1000, (hn_loss_reduction)reduction, WEIGHT | APART | IGNORE);
        add(list, 1025, 3, 2, (hn_loss_reduction)reduction, WIDE);
    }
    add(list, 256, 1000, 1, HN_LOSS_MEAN, WIDE | FLAG)->bench = true;
}

/* Weights are positive, so that no sum of them is close to 0. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_label_loss_f32 p;
    memcpy(&p, c->problem, sizeof p);
    (void)kind;
    bool outside = p.ignore < 0;
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        int64_t label = (int64_t)hn_rng_below(rng, (uint64_t)(p.classes + (outside ? 4 : 0)));
        if (outside) label = i % 5 == 4 && p.wide ? INT64_MIN + (int64_t)i : label - 2;
        if (operand == HN_LABEL_LOSS_X)
            ((float *)data)[i] = -(float)(8 * hn_rng_f64(rng) + 0.125);
        else if (operand == HN_LABEL_LOSS_WEIGHT)
            ((float *)data)[i] = (float)(hn_rng_f64(rng) + 0.125);
        else if (operand == HN_LABEL_LOSS_OUTSIDE)
            ((int32_t *)data)[i] = 0;
        else if (p.wide)
            ((int64_t *)data)[i] = label;
        else
            ((int32_t *)data)[i] = (int32_t)label;
    }
    return true;
}

const check_family check_label_loss_f32 = {
    .family = &hn_label_loss_f32_family, .cases = cases, .fill = fill};
