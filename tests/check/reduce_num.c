/* Cases of reduce_num: every operation on every type, along rows and across them, with the ends of
 * the types' ranges. */
#include "kernels/reduce_num/reduce_num.h"

#include <string.h>

#include "check.h"

static check_type type_of(hone_dtype t) {
    return t == HONE_DTYPE_F64   ? CHECK_F64
           : t == HONE_DTYPE_S64 ? CHECK_I64
           : t == HONE_DTYPE_S32 ? CHECK_I32
                                 : CHECK_U8;
}

static check_case *add(check_list *list, hn_reduce_num_op op, hone_dtype t, int64_t outer,
                       int64_t r, int64_t inner) {
    static const char *const names[] = {"sum", "mean", "prod",  "max",    "min",
                                        "l1",  "l2",   "sumsq", "logsum", "logsumexp"};
    hn_reduce_num p = {.op = op, .dtype = t, .outer = outer, .r = r, .inner = inner};
    check_case *c = check_add(list, "%s_%s_%lldx%lldx%lld", names[op], hone_dtype_name(t),
                              (long long)outer, (long long)r, (long long)inner);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, type_of(t), outer * r * inner);
    check_operand_add(c, CHECK_OUT, type_of(t), outer * inner);
    c->only_random = t != HONE_DTYPE_F64 || op == HN_REDUCE_NUM_LOGSUM;
    c->rel = 2 * (double)r;
    c->flops = (double)(outer * r * inner);
    c->bytes = c->flops * hone_dtype_bits(t) / 8;
    return c;
}

static void cases(check_list *list) {
    static const hone_dtype types[] = {HONE_DTYPE_F64, HONE_DTYPE_S64, HONE_DTYPE_S32,
                                       HONE_DTYPE_S8,  HONE_DTYPE_U8,  HONE_DTYPE_BOOL};
    static const int64_t sizes[][3] = {{37, 1, 1},  {99, 20, 1}, {40, 64, 1}, {12, 200, 1},
                                       {2, 5, 300}, {3, 4, 256}, {1, 3, 1030}};
    for (int op = 0; op < HN_REDUCE_NUM_OPS_; op++)
        for (int t = 0; t < 6; t++)
            for (int s = 0; s < 7 && hn_reduce_num_has((hn_reduce_num_op)op, types[t]); s++)
                add(list, (hn_reduce_num_op)op, types[t], sizes[s][0], sizes[s][1], sizes[s][2]);
    add(list, HN_REDUCE_NUM_SUM, HONE_DTYPE_F64, 128, 768, 1)->bench = true;
    add(list, HN_REDUCE_NUM_LOGSUMEXP, HONE_DTYPE_F64, 128, 768, 1)->bench = true;
    add(list, HN_REDUCE_NUM_MEAN, HONE_DTYPE_S64, 128, 768, 1)->bench = true;
    add(list, HN_REDUCE_NUM_MAX, HONE_DTYPE_U8, 1, 128, 768)->bench = true;
}

/* A byte: of the largest or smallest of r there is about one that tells it. */
static uint8_t telling(const hn_reduce_num *p, hn_rng *rng) {
    bool rare = hn_rng_below(rng, (uint64_t)p->r + 1) == 0;
    return rare == (p->op == HN_REDUCE_NUM_MAX) ? (uint8_t)(1 + hn_rng_below(rng, 255)) : 0;
}

/* Integers of all sizes, odd ones, so that products have something left. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const check_operand *o = &c->operand[operand];
    hn_reduce_num p;
    memcpy(&p, c->problem, sizeof p);
    (void)kind;
    bool positive = p.op == HN_REDUCE_NUM_LOGSUM && operand == HN_REDUCE_NUM_X;
    for (size_t i = 0; i < o->count && positive; i++) ((double *)data)[i] = 2 + hn_rng_f64(rng);
    if (positive) return true;
    for (size_t i = 0; i < o->count && o->type != CHECK_F64; i++) {
        uint64_t v = hn_rng_u64(rng) | 1;
        if (o->type == CHECK_I64)
            ((int64_t *)data)[i] = (int64_t)v;
        else if (o->type == CHECK_I32)
            ((int32_t *)data)[i] = (int32_t)v;
        else
            ((uint8_t *)data)[i] = telling(&p, rng);
    }
    return o->type != CHECK_F64;
}

const check_family check_reduce_num = {
    .family = &hn_reduce_num_family, .cases = cases, .fill = fill};
