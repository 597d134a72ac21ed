/* Cases of rotary_f32: heads of all lengths, both kinds of pairs, with ids and without, heads
 * inside of positions, ids that are outside. */
#include "kernels/rotary_f32/rotary_f32.h"

#include <string.h>

#include "check.h"

enum { INTERLEAVED = 1, IDS = 2, INSIDE = 4, GAPS = 8, OUTSIDE = 16, FLAGS_ = 32 };

static check_case *add(check_list *list, int64_t heads, int64_t positions, int64_t size,
                       int64_t pairs, int flags) {
    int64_t samples = 2, gap = flags & GAPS ? 3 : 0, angles = flags & IDS ? 9 : samples * positions;
    hn_rotary_f32 p = {.samples = samples,
                       .heads = heads,
                       .positions = positions,
                       .size = size,
                       .pairs = pairs,
                       .angles = angles,
                       .x_head = flags & INSIDE ? size : positions * (size + gap),
                       .x_position = flags & INSIDE ? heads * size + gap : size + gap,
                       .y_head = flags & INSIDE ? size : positions * size,
                       .y_position = flags & INSIDE ? heads * size : size,
                       .interleaved = (flags & INTERLEAVED) != 0};
    p.x_sample = heads * positions * (size + gap);
    p.y_sample = heads * positions * size;
    check_case *c = check_add(list, "%lldx%lldx%lld_%lld_%d", (long long)heads,
                              (long long)positions, (long long)size, (long long)pairs, flags);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32,
                      (samples - 1) * p.x_sample + (heads - 1) * p.x_head +
                          (positions - 1) * p.x_position + size);
    check_operand_add(c, CHECK_IN, CHECK_F32, angles * pairs);
    check_operand_add(c, CHECK_IN, CHECK_F32, angles * pairs);
    check_operand_add(c, flags & IDS ? CHECK_IN : CHECK_ABSENT, CHECK_I64, samples * positions);
    check_operand_add(c, CHECK_OUT, CHECK_F32, samples * heads * positions * size);
    check_operand_add(c, flags & OUTSIDE ? CHECK_INOUT : CHECK_ABSENT, CHECK_I32, 1);
    c->rel = 4;
    c->abs = 2e-7; /* where both terms are near 1 and cancel out */
    c->only_random = true;
    c->bytes = 8.0 * (double)(samples * heads * positions * size);
    return c;
}

static void cases(check_list *list) {
    static const int64_t pairs[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 64, 100};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int flags = 0; flags < 2; flags++) {
            add(list, 2, 3, 2 * pairs[i], pairs[i], flags | IDS);
            add(list, 3, 2, 2 * pairs[i] + 5, pairs[i], flags | INSIDE);
        }
    for (int flags = 0; flags < FLAGS_; flags++) add(list, 3, 5, 40, 18, flags);
    add(list, 7, 60, 64, 32, IDS);
    add(list, 12, 128, 64, 32, IDS)->bench = true;
    add(list, 12, 128, 64, 32, IDS | INTERLEAVED)->bench = true;
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    bool outside = c->operand[HN_ROTARY_OUTSIDE].role != CHECK_ABSENT;
    (void)kind;
    if (operand == HN_ROTARY_OUTSIDE) *(int32_t *)data = 0;
    for (size_t i = 0; operand == HN_ROTARY_IDS && i < c->operand[operand].count; i++) {
        int64_t id = (int64_t)hn_rng_below(rng, outside ? 13 : 9) - (outside ? 2 : 0);
        ((int64_t *)data)[i] = outside && i % 4 == 3 ? INT64_MIN : id;
    }
    return operand == HN_ROTARY_OUTSIDE || operand == HN_ROTARY_IDS;
}

const check_family check_rotary_f32 = {
    .family = &hn_rotary_f32_family, .cases = cases, .fill = fill};
