/* Cases of mean_planes_q8: both types, planes around every vector length, numbers of planes around
 * what a task takes; those of real models for timing. */
#include "kernels/mean_planes_q8/mean_planes_q8.h"

#include <string.h>

#include "space.h"

static check_case *add(check_list *list, int64_t planes, int64_t size) {
    check_case *c = check_add(list, "%lldx%lld", (long long)planes, (long long)size);
    int variant = (int)list->n;
    hn_mean_planes_q8 p = {.planes = planes, .size = size};
    p.x = variant % 2 ? HN_Q8_S8 : HN_Q8_U8;
    p.y = variant % 3 ? p.x : HN_Q8_S8;
    p.xz = hn_q8_lowest(p.x) + 120 + variant * 31 % 16;
    p.yz = hn_q8_lowest(p.y) + 108 + variant * 57 % 40;
    p.lo = variant % 4 == 3 ? p.yz - 60 : hn_q8_lowest(p.y);
    p.hi = variant % 5 == 4 ? p.yz + (hn_q8_highest(p.y) - p.yz) / 2 : hn_q8_highest(p.y);
    p.sx = variant % 7 == 0 ? 1 : 0.037F, p.sy = variant % 7 == 0 ? 0.5F : 0.009F;
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_U8, planes * size);
    check_operand_add(c, CHECK_OUT, CHECK_U8, planes);
    c->flops = (double)(planes * size);
    c->bytes = (double)(planes * (size + 1));
    return c;
}

static void cases(check_list *list) {
    static const int64_t planes[] = {1, 3, 4, 7, 8, 15, 16, 17, 40}, sizes[] = {1, 2, 15, 16, 17};
    static const int64_t others[] = {31, 32, 49, 63, 64, 65, 127, 128, 129, 196, 1000};
    for (size_t i = 0; i < sizeof planes / sizeof *planes; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) add(list, planes[i], sizes[k]);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        add(list, 5, others[k]), add(list, 18, others[k]);
    add(list, 2048, 49)->bench = true;
    add(list, 64, 3136)->bench = true;
    add(list, 64, 12544)->bench = true;
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    space_fill_bytes(&c->operand[operand], kind, rng, data);
    return true;
}

const check_family check_mean_planes_q8 = {
    .family = &hn_mean_planes_q8_family, .cases = cases, .fill = fill};
