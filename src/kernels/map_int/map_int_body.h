/* map_int by plain loops, for the compiler to vectorize.
 *
 * The space is cut into blocks, a task each: a piece of a row (the last axis), or several rows
 * where these are short. The loop of an operation takes adjacent elements; operands that are not so
 * come through room in the lane's scratch, one that is the same along a row only when it changes.
 * Loops have a part of constant length, which compilers vectorize at any level of optimization, and
 * a rest.
 */
#include <string.h>

#include "kernels/map_int/map_int.h"
#include "simd/part.h"

enum { BLOCK = 1024, STEP = 64 };

typedef struct args {
    void *y;
    const void *in[HN_MAP_INT_Y]; /* a, b, c */
    int64_t n;
    bool bad;
} args;

/* ---- the loops ---- */

/* Loops of constant length, which compilers vectorize at any level of optimization, and a rest. The
 * operands' names are those of the formulas in map_int.h; what an operation does not take is a
 * again.
 */
#define LOOP(name, A, T, R, operands, formula)                                                    \
    HN_INLINE bool name##_part(R *restrict y, const A *restrict pa, const T *restrict pb,         \
                               const T *restrict pc, int64_t n) {                                 \
        bool bad = false;                                                                         \
        (void)pb, (void)pc;                                                                       \
        for (int64_t k = 0; k < n; k++) {                                                         \
            operands;                                                                             \
            y[k] = (R)(formula);                                                                  \
        }                                                                                         \
        return bad;                                                                               \
    }                                                                                             \
    static void name(args *g) {                                                                   \
        R *y = g->y;                                                                              \
        const A *a = g->in[0];                                                                    \
        const T *b = g->in[1], *c = g->in[2];                                                     \
        int64_t i = 0, n = g->n;                                                                  \
        for (; i + STEP <= n; i += STEP) g->bad |= name##_part(y + i, a + i, b + i, c + i, STEP); \
        g->bad |= name##_part(y + i, a + i, b + i, c + i, n - i);                                 \
    }
#define LOOP1(name, A, R, formula) LOOP(name, A, A, R, A a = pa[k], formula)
#define LOOP2(name, T, R, formula) LOOP(name, T, T, R, T a = pa[k]; T b = pb[k], formula)
#define LOOP3(name, A, T, R, formula) \
    LOOP(name, A, T, R, A a = pa[k]; T b = pb[k]; T c = pc[k], formula)

static inline int64_t quotient(int64_t a, int64_t b, bool *bad) {
    *bad |= b == 0;
    if (b == 0 || b == -1) return (int64_t)((uint64_t)a * (uint64_t)b); /* a / -1 may wrap */
    return a / b;
}

static inline int64_t rest(int64_t a, int64_t b, bool *bad) {
    *bad |= b == 0;
    return b == 0 || b == -1 ? 0 : a % b;
}

static inline int64_t floor_rest(int64_t a, int64_t b, bool *bad) {
    int64_t r = rest(a, b, bad);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline uint64_t magnitude(int64_t a) { return a < 0 ? 0 - (uint64_t)a : (uint64_t)a; }
static inline int sign(int64_t a) { return (a > 0) - (a < 0); }
static inline int64_t positive(int64_t a) { return a < 0 ? 0 : a; }

/* T: of the elements; U: unsigned, at least as wide, to wrap in. */
#define LOOPS(t, T, U)                           \
    LOOP2(ADD_##t, T, T, (U)a + (U)b)            \
    LOOP2(SUB_##t, T, T, (U)a - (U)b)            \
    LOOP2(MUL_##t, T, T, (U)a *(U)b)             \
    LOOP2(DIV_##t, T, T, quotient(a, b, &bad))   \
    LOOP2(MOD_##t, T, T, floor_rest(a, b, &bad)) \
    LOOP2(FMOD_##t, T, T, rest(a, b, &bad))      \
    LOOP2(MIN_##t, T, T, a < b ? a : b)          \
    LOOP2(MAX_##t, T, T, a > b ? a : b)          \
    LOOP2(BIT_AND_##t, T, T, a &b)               \
    LOOP2(BIT_OR_##t, T, T, a | b)               \
    LOOP2(BIT_XOR_##t, T, T, a ^ b)              \
    LOOP1(BIT_NOT_##t, T, T, ~(U)a)              \
    LOOP1(NEG_##t, T, T, 0 - (U)a)               \
    LOOP1(ABS_##t, T, T, magnitude(a))           \
    LOOP1(SIGN_##t, T, T, sign(a))               \
    LOOP1(RELU_##t, T, T, positive(a))           \
    LOOP2(LT_##t, T, uint8_t, a < b)             \
    LOOP2(LE_##t, T, uint8_t, a <= b)            \
    LOOP2(GT_##t, T, uint8_t, a > b)             \
    LOOP2(GE_##t, T, uint8_t, a >= b)            \
    LOOP2(EQ_##t, T, uint8_t, a == b)            \
    LOOP3(SELECT_##t, uint8_t, T, T, a != 0 ? b : c)
LOOPS(s64, int64_t, uint64_t)
LOOPS(s32, int32_t, uint32_t)
LOOPS(u8, uint8_t, uint32_t)

static inline int64_t s64_of(float a) {
    return a >= 0x1p63f ? INT64_MAX : a < -0x1p63f ? INT64_MIN : a == a ? (int64_t)a : 0;
}

static inline int32_t s32_of(float a) {
    return a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : a == a ? (int32_t)a : 0;
}

static inline uint32_t bits_of(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

static inline float from_bits(uint32_t bits) {
    float a;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* The exponent is 112 less than in f32, which a product puts right, for denormals too. */
static inline float of_f16(uint16_t a) {
    uint32_t code = a & 0x7fffu, bits = code << 13;
    uint32_t finite = bits_of(from_bits(bits) * 0x1p112f);
    bits = code > 0x7c00 ? bits | 0x7fc00000u : code == 0x7c00 ? 0x7f800000u : finite;
    return from_bits((uint32_t)(a >> 15) << 31 | bits);
}

/* Rounding: half a last place, less where the last bit would become odd, may carry up to infinity.
 * Denormals are rounded by the addition that puts their last place last. */
static inline uint16_t to_f16(float a) {
    uint32_t bits = bits_of(a), size = bits & 0x7fffffffu;
    uint32_t normal = (size + 0xfff + (size >> 13 & 1) - (112u << 23)) >> 13;
    uint32_t small = bits_of(from_bits(size) + 0.5f) - (126u << 23);
    uint32_t code = size < 113u << 23 ? small : size >= 143u << 23 ? 0x7c00 : normal;
    if (size > 0x7f800000u) code = 0x7e00 | (size >> 13 & 0x3ff);
    return (uint16_t)(bits >> 31 << 15 | code);
}

static inline uint16_t to_bf16(float a) {
    uint32_t bits = bits_of(a), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(a == a ? rounded : bits >> 16 | 0x40);
}

LOOP1(s64_s32, int64_t, int32_t, a)
LOOP1(s64_u8, int64_t, uint8_t, a)
LOOP1(s64_bool, int64_t, uint8_t, a != 0)
LOOP1(s64_f32, int64_t, float, a)
LOOP1(s32_s64, int32_t, int64_t, a)
LOOP1(s32_u8, int32_t, uint8_t, a)
LOOP1(s32_bool, int32_t, uint8_t, a != 0)
LOOP1(s32_f32, int32_t, float, a)
LOOP1(u8_s64, uint8_t, int64_t, a)
LOOP1(u8_s32, uint8_t, int32_t, a)
LOOP1(u8_bool, uint8_t, uint8_t, a != 0)
LOOP1(u8_f32, uint8_t, float, a)
LOOP1(bool_s64, uint8_t, int64_t, a != 0)
LOOP1(bool_s32, uint8_t, int32_t, a != 0)
LOOP1(f32_s64, float, int64_t, s64_of(a))
LOOP1(f32_s32, float, int32_t, s32_of(a))
LOOP1(f32_u8, float, uint8_t, s64_of(a))
LOOP1(f32_f16, float, uint16_t, to_f16(a))
LOOP1(f32_bf16, float, uint16_t, to_bf16(a))
LOOP1(f16_f32, uint16_t, float, of_f16(a))
LOOP1(bf16_f32, uint16_t, float, from_bits((uint32_t)a << 16))

typedef void loop(args *g);

/* Types in the order of the tables. */
static int number_of(hone_dtype t) {
    switch (t) {
        case HONE_DTYPE_S64: return 0;
        case HONE_DTYPE_S32: return 1;
        case HONE_DTYPE_U8: return 2;
        case HONE_DTYPE_BOOL: return 3;
        case HONE_DTYPE_F32: return 4;
        case HONE_DTYPE_F16: return 5;
        default: return 6;
    }
}

static loop *loop_of(const hn_map_int *p) {
    static loop *const loops[][3] = {
#define CAST_s64 NULL
#define CAST_s32 NULL
#define CAST_u8 NULL
#define HN_X(name, operands, formula) {name##_s64, name##_s32, name##_u8},
        HN_MAP_INT_LIST(HN_X)
#undef HN_X
    };
    static loop *const casts[7][7] = {
        {NULL, s64_s32, s64_u8, s64_bool, s64_f32},
        {s32_s64, NULL, s32_u8, s32_bool, s32_f32},
        {u8_s64, u8_s32, NULL, u8_bool, u8_f32},
        {bool_s64, bool_s32, u8_bool},
        {f32_s64, f32_s32, f32_u8, NULL, NULL, f32_f16, f32_bf16},
        {[4] = f16_f32},
        {[4] = bf16_f32},
    };
    int from = number_of(p->from);
    return p->op == HN_MAP_INT_CAST ? casts[from][number_of(p->to)] : loops[p->op][from];
}

/* ---- blocks ---- */

typedef struct cut {
    int64_t n, rows;      /* of the last axis; of all others */
    int64_t block, group; /* elements of a row and rows in a task */
    int64_t blocks;       /* in a row */
} cut;

static cut cut_of(const hn_map_int *p) {
    cut c = {.n = p->dims[p->rank - 1], .rows = 1, .group = 1};
    for (int i = 0; i < p->rank - 1; i++) c.rows *= p->dims[i];
    c.block = c.n < BLOCK ? c.n : BLOCK;
    if (c.block > 0) c.group = BLOCK / c.block, c.blocks = (c.n + c.block - 1) / c.block;
    return c;
}

enum { ROOM = BLOCK * 8 }; /* bytes of an operand's elements */

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    cut c = cut_of(problem);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {(c.rows + c.group - 1) / c.group * c.blocks},
                   .lane_scratch = (HN_MAP_INT_Y + 1) * ROOM};
}

static size_t size_of(const hn_map_int *p, int operand) {
    if (operand == HN_MAP_INT_A && p->op == HN_MAP_INT_SELECT) return 1;
    return (size_t)hone_dtype_bits(operand == HN_MAP_INT_Y ? p->to : p->from) / 8;
}

/* n elements of that size from steps of `from` to steps of `to`, in elements. */
static void move(char *dst, int64_t to, const char *src, int64_t from, size_t size, int64_t n) {
    int64_t s = (int64_t)size;
    for (int64_t i = 0; i < n; i++, dst += to * s, src += from * s) {
        if (size == 8)
            memcpy(dst, src, 8);
        else if (size == 4)
            memcpy(dst, src, 4);
        else if (size == 2)
            memcpy(dst, src, 2);
        else
            *dst = *src;
    }
}

/* The same element n times, by doubling. */
static void repeat(char *dst, const char *src, size_t size, int64_t n) {
    size_t all = size * (size_t)n, done = size;
    memcpy(dst, src, size);
    for (; done < all; done *= 2) memcpy(dst + done, dst, all - done < done ? all - done : done);
}

/* Where element `column` of that row is. */
static char *address(const hn_call *call, int operand, int64_t row, int64_t column) {
    const hn_map_int *p = call->problem;
    const int64_t *stride = p->stride[operand];
    int64_t at = column * stride[p->rank - 1];
    for (int axis = p->rank - 2; axis >= 0; axis--) {
        at += row % p->dims[axis] * stride[axis];
        row /= p->dims[axis];
    }
    return (char *)call->ptr[operand] + at * (int64_t)size_of(p, operand);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_map_int *p = call->problem;
    cut c = cut_of(p);
    loop *f = loop_of(p);
    args g = {0};
    int arity = hn_map_int_arity(p->op);
    const char *held[HN_MAP_INT_Y] = {NULL}; /* what the room of an operand repeats */
    char *room[HN_MAP_INT_Y + 1];
    for (int i = 0; i <= HN_MAP_INT_Y; i++) room[i] = (char *)lane + i * ROOM;
    for (int64_t t = begin; t < end; t++) {
        int64_t column = t % c.blocks * c.block, row = t / c.blocks * c.group;
        int64_t past = row + c.group < c.rows ? row + c.group : c.rows;
        g.n = c.n - column < c.block ? c.n - column : c.block;
        for (; row < past; row++) {
            for (int i = 0; i < arity; i++) {
                const char *x = address(call, i, row, column);
                int64_t step = p->stride[i][p->rank - 1];
                g.in[i] = step == 1 ? x : room[i];
                if (step == 1 || (step == 0 && held[i] == x)) continue;
                if (step == 0)
                    repeat(room[i], x, size_of(p, i), c.block);
                else
                    move(room[i], 1, x, step, size_of(p, i), g.n);
                held[i] = x;
            }
            for (int i = arity; i < HN_MAP_INT_Y; i++) g.in[i] = g.in[0];
            char *y = address(call, HN_MAP_INT_Y, row, column);
            int64_t step = p->stride[HN_MAP_INT_Y][p->rank - 1];
            g.y = step == 1 ? y : room[HN_MAP_INT_Y];
            f(&g);
            if (step != 1) move(y, step, g.y, 1, size_of(p, HN_MAP_INT_Y), g.n);
        }
    }
    int32_t *bad = call->ptr[HN_MAP_INT_BAD];
    if (g.bad && bad != NULL) __atomic_store_n(bad, 1, __ATOMIC_RELAXED);
}

const hn_kernel HN_V_ROW(map_int) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};
