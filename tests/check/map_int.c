/* Cases of map_int: every operation on every type with the ends of its range, every cast, every way
 * to broadcast, and divisions by zero. */
#include "kernels/map_int/map_int.h"

#include <math.h>
#include <string.h>

#include "check.h"

static const hone_dtype integers[] = {HONE_DTYPE_S64, HONE_DTYPE_S32, HONE_DTYPE_U8};
static const hone_dtype types[] = {HONE_DTYPE_S64, HONE_DTYPE_S32, HONE_DTYPE_S8,
                                   HONE_DTYPE_U32, HONE_DTYPE_U8,  HONE_DTYPE_BOOL,
                                   HONE_DTYPE_U64, HONE_DTYPE_F32, HONE_DTYPE_F64};
enum { TYPES = sizeof types / sizeof *types };

static check_type type_of(hone_dtype t) {
    return t == HONE_DTYPE_S64 || t == HONE_DTYPE_U64   ? CHECK_I64
           : t == HONE_DTYPE_S32 || t == HONE_DTYPE_U32 ? CHECK_I32
           : t == HONE_DTYPE_F64                        ? CHECK_F64
           : t == HONE_DTYPE_F32                        ? CHECK_F32
           : hone_dtype_bits(t) == 16                   ? CHECK_U16
                                                        : CHECK_U8;
}

/* How an operand lies: dense but for the axes it broadcasts along (bit i: axis i), with gaps
 * between its elements, or with the last two axes exchanged. */
enum { GAPS = 64, EXCHANGED = 128 };

static void strides(const hn_map_int *p, int how, int64_t *stride) {
    int64_t next = how & GAPS ? 2 : 1;
    for (int i = p->rank - 1; i >= 0; i--) {
        int axis = i;
        if (how & EXCHANGED && i >= p->rank - 2) axis = 2 * p->rank - 3 - i;
        stride[axis] = how & 1 << axis ? 0 : next;
        if (!(how & 1 << axis)) next *= p->dims[axis] + (how & GAPS ? 3 : 0);
    }
}

static int64_t extent(const hn_map_int *p, const int64_t *stride) {
    int64_t n = 1;
    for (int i = 0; i < p->rank; i++) {
        if (p->dims[i] == 0) return 0;
        n += (p->dims[i] - 1) * stride[i];
    }
    return n;
}

static const char *const names[] = {
#define HN_X(name, operands, formula) #name,
    HN_MAP_INT_LIST(HN_X)
#undef HN_X
};

static bool divides(hn_map_int_op op) { return op >= HN_MAP_INT_DIV && op <= HN_MAP_INT_FMOD; }

/* how: of a, b, c and y. */
static check_case *add(check_list *list, const char *name, hn_map_int_op op, hone_dtype from,
                       hone_dtype to, const int64_t dims[4], const int how[4]) {
    hn_map_int p = {.op = op, .from = from, .to = to, .rank = 4};
    memcpy(p.dims, dims, 4 * sizeof *dims);
    check_case *c = check_add(list, "%s_%s_%s_%s_%lldx%lldx%lldx%lld", name, names[op],
                              hone_dtype_name(from), hone_dtype_name(to), (long long)dims[0],
                              (long long)dims[1], (long long)dims[2], (long long)dims[3]);
    c->only_random = true;
    for (int i = 0; i <= HN_MAP_INT_Y; i++) {
        bool present = i < hn_map_int_arity(op) || i == HN_MAP_INT_Y;
        hone_dtype t = i == HN_MAP_INT_Y                              ? to
                       : i == HN_MAP_INT_A && op == HN_MAP_INT_SELECT ? HONE_DTYPE_BOOL
                                                                      : from;
        if (present) strides(&p, how[i], p.stride[i]);
        int64_t n = present ? extent(&p, p.stride[i]) : 0;
        check_role role = !present ? CHECK_ABSENT : i == HN_MAP_INT_Y ? CHECK_OUT : CHECK_IN;
        check_operand_add(c, role, type_of(t), n);
        c->bytes += (double)(n * hone_dtype_bits(t)) / 8;
    }
    check_operand_add(c, divides(op) ? CHECK_INOUT : CHECK_ABSENT, CHECK_I32, 1);
    hn_map_int_collapse(&p);
    memcpy(c->problem, &p, sizeof p);
    return c;
}

static hone_dtype result_of(hn_map_int_op op, hone_dtype t) {
    bool asks = (op >= HN_MAP_INT_LT && op <= HN_MAP_INT_EQ) || op == HN_MAP_INT_IS_NAN ||
                op == HN_MAP_INT_IS_INF;
    return asks ? HONE_DTYPE_BOOL : t;
}

static void cases(check_list *list) {
    static const int dense[4] = {0};
    static const int64_t sizes[][4] = {{1, 1, 1, 1}, {1, 1, 1, 131}, {1, 1, 1, 3000}};
    for (int op = 0; op <= HN_MAP_INT_CAST; op++)
        for (int from = 0; from < TYPES; from++)
            for (int to = 0; to < TYPES; to++) {
                hone_dtype f = types[from], t = types[to];
                bool cast = op == HN_MAP_INT_CAST;
                if ((cast ? f == t : t != result_of((hn_map_int_op)op, f)) ||
                    !hn_map_int_has((hn_map_int_op)op, f, t))
                    continue;
                for (int s = 0; s < 3; s++) {
                    check_case *c = add(list, "op", (hn_map_int_op)op, f, t, sizes[s], dense);
                    if (f == HONE_DTYPE_F64 && op != HN_MAP_INT_CAST) c->rel = 8;
                    if (op == HN_MAP_INT_SIN || op == HN_MAP_INT_COS) c->abs = 1e-16;
                }
            }
    static const hone_dtype halves[] = {HONE_DTYPE_F16, HONE_DTYPE_BF16};
    static const int64_t all[4] = {1, 1, 1, 70000}; /* most of their codes */
    static const int gaps[4] = {GAPS, 0, 0, GAPS};
    static const int64_t few[4] = {2, 3, 5, 7};
    for (int i = 0; i < 2; i++) {
        add(list, "op", HN_MAP_INT_CAST, halves[i], HONE_DTYPE_F32, all, dense);
        add(list, "op", HN_MAP_INT_CAST, HONE_DTYPE_F32, halves[i], all, dense);
        add(list, "gaps", HN_MAP_INT_CAST, halves[i], HONE_DTYPE_F32, few, gaps);
        add(list, "gaps", HN_MAP_INT_CAST, HONE_DTYPE_F32, halves[i], few, gaps);
    }

    add(list, "op", HN_MAP_INT_CAST, HONE_DTYPE_F16, HONE_DTYPE_F64, all, dense);

    static const int how[][4] = {{0, 1 | 2 | 4, 8, 0}, {1 | 2, 1 | 2 | 4 | 8, 1 | 2 | 8, 0},
                                 {EXCHANGED, 0, 2, 0}, {GAPS, 0, GAPS | 1, GAPS},
                                 {4, 2, 1, EXCHANGED}, {8, 4 | 8, 2 | 8, 0}};
    static const int64_t dims[][4] = {{2, 3, 5, 7},   {1, 40, 3, 64}, {3, 1, 1, 1500},
                                      {2, 2, 9, 257}, {7, 5, 1, 1},   {2, 0, 3, 4}};
    static const hn_map_int_op some[] = {HN_MAP_INT_ADD, HN_MAP_INT_LT, HN_MAP_INT_SELECT};
    for (size_t h = 0; h < sizeof how / sizeof *how; h++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
            char name[32] = "broadcast_0";
            name[10] = (char)('0' + h);
            for (int o = 0; o < 3; o++)
                for (int t = 0; t < 3; t++)
                    add(list, name, some[o], integers[t], result_of(some[o], integers[t]), dims[d],
                        how[h]);
            add(list, name, HN_MAP_INT_CAST, HONE_DTYPE_BOOL, HONE_DTYPE_S64, dims[d], how[h]);
        }

    static const int64_t mask[4] = {1, 12, 128, 128};
    static const int one[4] = {0, 15, 15, 0};
    add(list, "bench", HN_MAP_INT_EQ, HONE_DTYPE_S64, HONE_DTYPE_BOOL, mask, one)->bench = true;
    add(list, "bench", HN_MAP_INT_ADD, HONE_DTYPE_S64, HONE_DTYPE_S64, mask, dense)->bench = true;
    add(list, "bench", HN_MAP_INT_DIV, HONE_DTYPE_S64, HONE_DTYPE_S64, mask, one)->bench = true;
    add(list, "bench", HN_MAP_INT_POW, HONE_DTYPE_F64, HONE_DTYPE_F64, mask, one)->bench = true;
    add(list, "bench", HN_MAP_INT_CAST, HONE_DTYPE_S64, HONE_DTYPE_F32, mask, dense)->bench = true;
    add(list, "bench", HN_MAP_INT_CAST, HONE_DTYPE_F32, HONE_DTYPE_S64, mask, dense)->bench = true;
    add(list, "bench", HN_MAP_INT_CAST, HONE_DTYPE_F32, HONE_DTYPE_F16, mask, dense)->bench = true;
    add(list, "bench", HN_MAP_INT_CAST, HONE_DTYPE_F16, HONE_DTYPE_F32, mask, dense)->bench = true;
}

/* Few values, so that some are equal and some divisors 0, among them the ends of every range. */
static int64_t integer(hn_rng *rng) {
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1, 1, 256, 1 << 24};
    uint64_t k = hn_rng_below(rng, 16);
    if (k < 8) return ends[k] + (int64_t)hn_rng_below(rng, 2) * (k == 7);
    return k == 8 ? (int64_t)hn_rng_u64(rng) : (int64_t)hn_rng_below(rng, 9) - 4;
}

/* Near what f16 and bf16 can hold, half-way between two of their numbers or next to that. */
static float half_way(hn_rng *rng) {
    float x = hn_rng_below(rng, 2) ? hn_f16_to_f32((uint16_t)hn_rng_u64(rng))
                                   : hn_bf16_to_f32((uint16_t)hn_rng_u64(rng));
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits ^= 1u << (12 + 3 * hn_rng_below(rng, 2));
    bits += (uint32_t)hn_rng_below(rng, 3) - 1;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float real(hn_rng *rng) {
    static const float ends[] = {NAN,       INFINITY,    -INFINITY, 0x1p63f, -0x1p63f,
                                 0x1p31f,   -0x1p31f,    -0x1p32f,  256.0f,  -1.5f,
                                 0x1.8p62f, -0x1.8p100f, 0x1p-140f, -0.0f,   254.75f};
    uint64_t k = hn_rng_below(rng, 30);
    return k < 15 ? ends[k] : (float)(hn_rng_f64(rng) * 600 - 300);
}

/* Of those, and numbers that functions tell apart. */
static double real_f64(hn_map_int_op op, hn_rng *rng) {
    bool asks = op == HN_MAP_INT_IS_NAN || op == HN_MAP_INT_IS_INF;
    if (asks && hn_rng_below(rng, 2)) return (double)(hn_rng_below(rng, 2) ? NAN : -INFINITY);
    switch (hn_rng_below(rng, 8)) {
        case 0: return (double)real(rng);
        case 1: return (double)integer(rng);
        case 2: return hn_rng_f64(rng) * 1500 - 750;
        case 3: return hn_rng_f64(rng) * 4 - 1;
        default: return (double)hn_rng_below(rng, 3) - 1; /* some are equal */
    }
}

/* Below 2^bits: small ones, and those near the end. */
static int64_t integer_below(hn_rng *rng, int bits) {
    int64_t v = (int64_t)hn_rng_below(rng, 100), end = ((int64_t)1 << bits) - 1;
    if (hn_rng_below(rng, 2)) v = end - v;
    return hn_rng_below(rng, 2) ? v : -v;
}

/* Element i: of any size, or where operations may go another way for small ones, stretches that are
 * all below some power of two. */
static int64_t integer_at(hn_map_int_op op, size_t i, hn_rng *rng) {
    static const int bits[] = {0, 22, 25, 52, 56};
    int most = divides(op) ? bits[i / 512 % 5] : 0;
    return most == 0 ? integer(rng) : integer_below(rng, most);
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const check_operand *o = &c->operand[operand];
    const hn_map_int *p = (const hn_map_int *)c->problem;
    (void)kind;
    for (size_t i = 0; i < o->count; i++) {
        int64_t v = operand == HN_MAP_INT_BAD ? 0 : integer_at(p->op, i, rng);
        switch (o->type) {
            case CHECK_I64: ((int64_t *)data)[i] = v; break;
            case CHECK_I32: ((int32_t *)data)[i] = (int32_t)v; break;
            case CHECK_U8: ((uint8_t *)data)[i] = (uint8_t)v; break;
            case CHECK_U16: ((uint16_t *)data)[i] = (uint16_t)hn_rng_u64(rng); break;
            case CHECK_BF16: break; /* no such operand */
            case CHECK_F64: ((double *)data)[i] = real_f64(p->op, rng); break;
            case CHECK_F32:
                ((float *)data)[i] = hn_rng_below(rng, 2) ? real(rng) : half_way(rng);
                break;
        }
    }
    return true;
}

const check_family check_map_int = {.family = &hn_map_int_family, .cases = cases, .fill = fill};
