/* Cases of prefix: every type and direction, lines side by side and not, in place. */
#include "kernels/prefix/prefix.h"

#include <string.h>

#include "check.h"

static check_case *add(check_list *list, hone_dtype t, int64_t outer, int64_t size, int64_t inner,
                       int how, bool in_place) {
    hn_prefix p = {.dtype = t,
                   .outer = outer,
                   .size = size,
                   .inner = inner,
                   .product = how & 1,
                   .exclusive = how & 2,
                   .reverse = how & 4};
    check_case *c = check_add(list, "%s_%lldx%lldx%lld_%d%s", hone_dtype_name(t), (long long)outer,
                              (long long)size, (long long)inner, how, in_place ? "_in_place" : "");
    check_type type = t == HONE_DTYPE_F32   ? CHECK_F32
                      : t == HONE_DTYPE_F64 ? CHECK_F64
                      : t == HONE_DTYPE_S64 ? CHECK_I64
                                            : CHECK_I32;
    int64_t n = outer * size * inner;
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, in_place ? CHECK_SAME : CHECK_IN, type, n);
    c->operand[HN_PREFIX_X].same = HN_PREFIX_Y;
    check_operand_add(c, in_place ? CHECK_INOUT : CHECK_OUT, type, n);
    c->exact = true;
    c->only_random = !hn_dtype_is_float(t);
    c->flops = (double)n;
    c->bytes = 2.0 * (double)(n * hone_dtype_bits(t)) / 8;
    return c;
}

static void cases(check_list *list) {
    static const hone_dtype types[] = {HONE_DTYPE_F32, HONE_DTYPE_F64, HONE_DTYPE_S64,
                                       HONE_DTYPE_S32};
    for (int t = 0; t < 4; t++)
        for (int how = 0; how < 8; how++) {
            add(list, types[t], 3, 20, 1, how, false);
            add(list, types[t], 2, 5, 130, how, false);
            add(list, types[t], 2, 7, 3, how, true);
        }
    add(list, HONE_DTYPE_F32, 64, 1000, 1, 0, false)->bench = true;
    add(list, HONE_DTYPE_S64, 1, 100, 1000, 0, false)->bench = true;
}

/* Integers of all sizes, the odd ones small, so that products have something left. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const check_operand *o = &c->operand[operand];
    (void)kind;
    if (o->type == CHECK_F32 || o->type == CHECK_F64) return false;
    for (size_t i = 0; i < o->count; i++) {
        uint64_t v = hn_rng_u64(rng) | 1;
        if (i % 2 != 0) v %= 8;
        if (o->type == CHECK_I64)
            ((int64_t *)data)[i] = (int64_t)v;
        else
            ((int32_t *)data)[i] = (int32_t)v;
    }
    return true;
}

const check_family check_prefix = {.family = &hn_prefix_family, .cases = cases, .fill = fill};
