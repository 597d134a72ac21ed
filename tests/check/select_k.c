/* Cases of select_k: every type and order, lines side by side and not, few and all elements, many
 * equal ones, NaN. */
#include "kernels/select_k/select_k.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum { SMALLEST = 1, LAST = 2, NAN_FIRST = 4, GAPS = 8, NO_VALUES = 16, NO_INDICES = 32 };

static check_case *add(check_list *list, hone_dtype t, int64_t outer, int64_t size, int64_t inner,
                       int64_t k, int flags) {
    int64_t gap = flags & GAPS ? 3 : 1;
    hn_select_k p = {.dtype = t,
                     .outer = outer,
                     .size = size,
                     .inner = inner,
                     .k = k,
                     .x_inner = gap,
                     .x_size = inner * gap,
                     .x_outer = size * inner * gap,
                     .smallest = flags & SMALLEST,
                     .last = flags & LAST,
                     .nan_first = flags & NAN_FIRST};
    check_case *c =
        check_add(list, "%s_%lldx%lldx%lld_%lld_%d", hone_dtype_name(t), (long long)outer,
                  (long long)size, (long long)inner, (long long)k, flags);
    check_type type = t == HONE_DTYPE_F32   ? CHECK_F32
                      : t == HONE_DTYPE_F64 ? CHECK_F64
                      : t == HONE_DTYPE_S64 ? CHECK_I64
                                            : CHECK_I32;
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, type, (outer * size * inner - 1) * gap + 1);
    check_operand_add(c, flags & NO_VALUES ? CHECK_ABSENT : CHECK_OUT, type, outer * k * inner);
    check_operand_add(c, flags & NO_INDICES ? CHECK_ABSENT : CHECK_OUT, CHECK_I64,
                      outer * k * inner);
    c->only_random = true;
    c->bytes = (double)(outer * size * inner * hone_dtype_bits(t)) / 8;
    return c;
}

static void cases(check_list *list) {
    static const hone_dtype types[] = {HONE_DTYPE_F32, HONE_DTYPE_S64, HONE_DTYPE_S32,
                                       HONE_DTYPE_F64};
    static const int64_t shapes[][4] = {
        {1, 1, 1, 1},   {1, 200, 1, 5}, {3, 130, 1, 130}, {2, 50, 7, 10},  {1, 65, 3, 64},
        {2, 19, 70, 1}, {1, 3, 64, 1},  {4, 129, 1, 1},   {1, 7, 200, 2},  {37, 64, 1, 2},
        {5, 33, 1, 16}, {2, 5, 35, 5},  {1, 700, 1, 1},   {1, 400, 1, 17}, {3, 40, 2, 4}};
    static const int64_t longer[][4] = {
        {3, 1500, 1, 3}, {1, 2100, 1, 1500}, {1, 3000, 1, 40}, {1, 4200, 1, 4200}};
    static const int flags[] = {0, SMALLEST, GAPS, SMALLEST | GAPS, NO_VALUES, NO_INDICES};
    for (int t = 0; t < 4; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            const int64_t *d = shapes[s];
            for (size_t f = 0; f < sizeof flags / sizeof *flags; f++)
                add(list, types[t], d[0], d[1], d[2], d[3], flags[f]);
            for (int f = 0; f < 4; f++) /* as ArgMax and ArgMin */
                add(list, types[t], d[0], d[1], d[2], 1, f | NAN_FIRST | NO_VALUES);
        }
    for (int t = 0; t < 4; t++) /* the reference takes its time */
        for (size_t s = 0; s < sizeof longer / sizeof *longer; s++) {
            const int64_t *d = longer[s];
            add(list, types[t], d[0], d[1], d[2], d[3], t == 1 ? SMALLEST : 0);
            add(list, types[t], d[0], d[1], d[2], d[3],
                t == 1 ? NO_INDICES : SMALLEST | NO_INDICES);
        }
    add(list, HONE_DTYPE_F32, 1, 1000000, 1, 100, 0)->bench = true;
    add(list, HONE_DTYPE_F32, 1, 8400, 1, 300, 0)->bench = true;
    add(list, HONE_DTYPE_F32, 1, 20000, 1, 20000, 0)->bench = true;
    add(list, HONE_DTYPE_F32, 128, 1000, 1, 5, 0)->bench = true;
    add(list, HONE_DTYPE_F32, 1, 64, 3136, 5, 0)->bench = true;
    add(list, HONE_DTYPE_S64, 1, 100000, 1, 5, 0)->bench = true;
    add(list, HONE_DTYPE_F32, 128, 1000, 1, 1, NO_VALUES)->bench = true;
    add(list, HONE_DTYPE_F32, 1, 19, 65536, 1, NO_VALUES)->bench = true;
}

/* Few values, so that many are equal, where indices tell them apart. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 0x1p-149f, -0x1p-149f};
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX};
    const check_operand *o = &c->operand[operand];
    (void)kind;
    bool few = !c->bench && c->operand[HN_SELECT_K_INDICES].role != CHECK_ABSENT;
    for (size_t i = 0; i < o->count; i++) {
        uint64_t k = hn_rng_below(rng, few ? 40 : 1 << 24);
        int64_t v = k < 4 && few ? ends[k] : (int64_t)k - 20;
        if (o->type == CHECK_F32)
            ((float *)data)[i] = k < 7 && few ? odd[k] : (float)v * 0.25f;
        else if (o->type == CHECK_F64)
            ((double *)data)[i] = k < 7 && few ? (double)odd[k] : (double)v * 0.25;
        else if (o->type == CHECK_I64)
            ((int64_t *)data)[i] = v;
        else
            ((int32_t *)data)[i] = (int32_t)v;
    }
    return true;
}

const check_family check_select_k = {.family = &hn_select_k_family, .cases = cases, .fill = fill};
