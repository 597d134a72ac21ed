/* Cases of scatter_at: every operation on its types, elements and slices, several updates of one
 * place, indices from the end and outside. */
#include "kernels/scatter_at/scatter_at.h"

#include <math.h>
#include <string.h>

#include "check.h"

static check_type type_of(hone_dtype t) {
    return t == HONE_DTYPE_F32   ? CHECK_F32
           : t == HONE_DTYPE_S64 ? CHECK_I64
           : t == HONE_DTYPE_S32 ? CHECK_I32
                                 : CHECK_U8;
}

static check_case *add(check_list *list, const char *name, const hn_scatter_at *p, int64_t y,
                       bool flag) {
    static const char *const ops[] = {"set", "add", "mul", "max", "min"};
    int64_t n = hn_places_count(&p->places);
    check_case *c = check_add(list, "%s_%s_%s_%lldx%lld_%d%s", name, ops[p->op],
                              hone_dtype_name(p->dtype), (long long)n, (long long)p->count,
                              p->places.wide ? 64 : 32, flag ? "" : "_unseen");
    memcpy(c->problem, p, sizeof *p);
    check_operand_add(c, CHECK_IN, type_of(p->dtype), n * p->count);
    check_operand_add(c, CHECK_IN, p->places.wide ? CHECK_I64 : CHECK_I32, n * p->places.n);
    check_operand_add(c, CHECK_INOUT, type_of(p->dtype), y);
    check_operand_add(c, flag ? CHECK_INOUT : CHECK_ABSENT, CHECK_I32, 1);
    c->only_random = true;
    c->bytes = 2.0 * (double)(n * p->count * hone_dtype_bits(p->dtype)) / 8;
    return c;
}

/* Along the middle axis of [a][b][c], indices and updates [a][m][c]. */
static check_case *elements(check_list *list, const char *name, hn_scatter_op op, hone_dtype t,
                            int64_t a, int64_t b, int64_t c, int64_t m, bool wide) {
    int64_t bytes = hone_dtype_bits(t) / 8;
    hn_scatter_at p = {.op = op, .dtype = t, .count = 1, .apart = 1};
    p.places = (hn_places){.rank = 3,
                           .n = 1,
                           .dims = {a, m, c},
                           .base = {b * c * bytes, 0, bytes},
                           .size = {b},
                           .step = {c * bytes},
                           .wide = wide};
    return add(list, name, &p, a * b * c, true);
}

/* m pairs that name slices of [a][b]. */
static check_case *tuples(check_list *list, const char *name, hn_scatter_op op, hone_dtype t,
                          int64_t a, int64_t b, int64_t m, int64_t count, bool flag) {
    int64_t bytes = hone_dtype_bits(t) / 8 * count;
    hn_scatter_at p = {.op = op, .dtype = t, .count = count};
    p.places = (hn_places){
        .rank = 1, .n = 2, .dims = {m}, .size = {a, b}, .step = {b * bytes, bytes}, .wide = true};
    return add(list, name, &p, a * b * count, flag);
}

static void cases(check_list *list) {
    static const hone_dtype types[] = {HONE_DTYPE_F32, HONE_DTYPE_S64, HONE_DTYPE_S32,
                                       HONE_DTYPE_U8};
    for (int op = HN_SCATTER_SET; op <= HN_SCATTER_MIN; op++)
        for (int i = 0; i < (op == HN_SCATTER_SET ? 4 : 3); i++) {
            hone_dtype t = types[i];
            hn_scatter_op o = (hn_scatter_op)op;
            elements(list, "elements", o, t, 3, 7, 5, 11, true);
            elements(list, "elements", o, t, 1, 40, 1, 33, false);
            elements(list, "outside_elements", o, t, 2, 9, 3, 20, true);
            tuples(list, "tuples", o, t, 3, 4, 20, 1, true);
            tuples(list, "tuples", o, t, 5, 4, 13, 7, true);
            tuples(list, "outside_tuples", o, t, 4, 3, 9, 67, true);
            tuples(list, "outside_tuples", o, t, 4, 3, 9, 3, false);
        }
    hone_dtype f = HONE_DTYPE_F32;
    elements(list, "bench", HN_SCATTER_ADD, f, 16, 128, 64, 128, true)->bench = true;
    tuples(list, "bench", HN_SCATTER_SET, f, 100, 100, 5000, 64, true)->bench = true;
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_scatter_at p;
    memcpy(&p, c->problem, sizeof p);
    (void)kind;
    int64_t edge = strncmp(c->name, "outside", 7) == 0 ? 1 : 0; /* beyond both ends */
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        int64_t range = 2 * (p.places.size[i % (size_t)p.places.n] + edge);
        int64_t v = (int64_t)hn_rng_below(rng, (uint64_t)range) - range / 2;
        if (edge > 0 && i % 7 == 3) v = i % 2 != 0 ? INT32_MAX : INT32_MIN;
        if (operand == HN_SCATTER_AT_OUTSIDE) v = 0;
        if (operand == HN_SCATTER_AT_U || operand == HN_SCATTER_AT_Y) v = (int64_t)hn_rng_u64(rng);
        switch (c->operand[operand].type) {
            case CHECK_F32:
                ((float *)data)[i] = i % 23 == 5 ? NAN : (float)(hn_rng_f64(rng) * 4 - 2);
                break;
            case CHECK_I64: ((int64_t *)data)[i] = v; break;
            case CHECK_I32: ((int32_t *)data)[i] = (int32_t)v; break;
            case CHECK_U16:
            case CHECK_BF16:
            case CHECK_F64: break; /* no such operand */
            case CHECK_U8: ((uint8_t *)data)[i] = (uint8_t)v; break;
        }
    }
    return true;
}

const check_family check_scatter_at = {
    .family = &hn_scatter_at_family, .cases = cases, .fill = fill};
