/* map_f32 over the vector vocabulary.
 *
 * The space is cut into blocks that fit the L1 cache, a task each: a piece of a row (the last
 * axis), or several whole rows where these are short. Within a block every instruction is one loop,
 * from memory to memory. A loop reads an input where it lies, if its elements are adjacent, and
 * writes an output where it belongs, unless an input lies there that is still to be read: the last
 * loop always does, truth values as bytes if it is a comparison. Other values live in slots of the
 * lane's scratch. An input that broadcasts along rows is expanded into
 * its slot once, not for every block. Where operands are large, the inputs of a block are fetched
 * while the one before is computed.
 */
#include <string.h>

#include "base/cpu.h"
#include "base/divide.h"
#include "base/least.h"
#include "kernels/act_simd.h"
#include "kernels/map_f32/map_f32.h"

enum {
    BLOCK_TOTAL = 32 << 10, /* bytes of all values of a block: they stay in L1; others are floats */
    BLOCK_MIN = 256,
    BLOCK_MAX = 4096,
    BLOCK_STREAM = 16384,
    BLOCK_ROW = 1024,
    FAR = 1 << 20 /* bytes of all operands that do not stay in L2 from one step to the next */
};

/* How an operand is met: where it lies, as one value for the whole block, or through a slot. */
typedef enum form { DIRECT, SINGLE, SLOT } form;

typedef struct cut {
    int64_t n, rows; /* the last two axes */
    int64_t block;   /* elements of a row in a block, or n */
    int64_t group;   /* rows in a block; 1 where rows are cut */
    int64_t blocks_n, blocks_rows, outer;
    form in[HN_MAP_MAX_IN], out[HN_MAP_MAX_OUT];
    int8_t slot[HN_MAP_X]; /* of a value */
    int n_slots;
    int64_t slot_size; /* in floats */
} cut;

/* Whether an operation gives truth values, and so has a loop that writes them as bytes. */
static bool is_test(int op) { return op >= HN_MAP_LT && op <= HN_MAP_NOT; }

/* Whether the last instruction could write an output of bytes where it belongs. */
static bool ends_in_bytes(const hn_map_f32 *p, int out) {
    return p->out_type[out] == HN_MAP_BOOL && is_test(p->code[p->n_code - 1].op);
}

/* Whether the last instruction gives an output its value, and no other one. Only that may write
 * where an input could still be needed. */
static bool ends_in(const hn_map_f32 *p, int out) {
    int others = 0;
    for (int i = 0; i < p->n_out; i++) others += i != out && p->out[i] == p->out[out];
    return others == 0 && p->out[out] == HN_MAP_CODE + p->n_code - 1;
}

/* `fits`: loops read or write elements of its type. */
static form form_of(const cut *c, bool fits, const int64_t *stride, int rank) {
    int64_t inner = stride[rank - 1], row = rank > 1 ? stride[rank - 2] : 0;
    bool one_row = c->group == 1;
    if (inner == 0 && (one_row || row == 0)) return SINGLE;
    return fits && inner == 1 && (one_row || row == c->n) ? DIRECT : SLOT;
}

/* Gives every value that needs one a slot. A slot is free again after the last use of its value. */
static void assign_slots(const hn_map_f32 *p, cut *c) {
    int8_t last[HN_MAP_Y + 1], taken[HN_MAP_X] = {0};
    memset(c->slot, -1, sizeof c->slot);
    for (int k = 0; k < p->n_code; k++) {
        const hn_map_code *i = &p->code[k];
        last[HN_MAP_CODE + k] = (int8_t)k;
        last[i->a] = last[i->b] = last[i->c] = (int8_t)k;
    }
    for (int i = 0; i < p->n_out; i++)
        if (c->out[i] != DIRECT) last[p->out[i]] = HN_MAP_MAX_CODE;
    for (int i = 0; i < p->n_in; i++)
        if (c->in[i] == SLOT) c->slot[i] = (int8_t)c->n_slots++;
    int fixed = c->n_slots;
    for (int k = 0; k < p->n_code; k++) {
        const hn_map_code *i = &p->code[k];
        const uint8_t used[] = {i->a, i->b, i->c};
        for (int j = 0; j < 3; j++)
            if (used[j] >= HN_MAP_CODE && used[j] < HN_MAP_X && last[used[j]] == k)
                taken[c->slot[used[j]]] = 0;
        bool direct = false;
        for (int j = 0; j < p->n_out; j++)
            direct = direct || (c->out[j] == DIRECT && p->out[j] == HN_MAP_CODE + k);
        if (direct) continue;
        int s = fixed;
        while (s < c->n_slots && taken[s]) s++;
        if (s == c->n_slots) c->n_slots++;
        taken[s] = 1;
        c->slot[HN_MAP_CODE + k] = (int8_t)s;
    }
}

/* In blocks of at most so many elements and rows. */
static cut cut_by(const hn_map_f32 *p, int64_t most, int64_t most_rows) {
    cut c = {.n = p->dims[p->rank - 1], .rows = 1, .outer = 1, .group = 1, .blocks_n = 1};
    if (p->rank > 1) c.rows = p->dims[p->rank - 2];
    for (int i = 0; i < p->rank - 2; i++) c.outer *= p->dims[i];
    if (c.n == 0 || c.rows == 0 || c.outer == 0) return (cut){0};
    if (c.n > most) {
        c.blocks_n = hn_ceil_over(c.n, most);
        c.block = (hn_ceil_over(c.n, c.blocks_n) + 63) / 64 * 64;
        c.blocks_n = hn_ceil_over(c.n, c.block);
    } else {
        c.block = c.n;
        most_rows = hn_least(hn_over(most, c.n), most_rows);
        c.group = most_rows < c.rows ? most_rows : c.rows;
    }
    c.blocks_rows = hn_ceil_over(c.rows, c.group);
    c.slot_size = (c.block * c.group + 15) / 16 * 16;
    for (int i = 0; i < p->n_in; i++)
        c.in[i] = form_of(&c, p->in_type[i] == HN_MAP_F32, p->in_stride[i], p->rank);
    for (int i = 0; i < p->n_out; i++) {
        bool fits = p->out_type[i] == HN_MAP_F32 || ends_in_bytes(p, i);
        form f = form_of(&c, fits, p->out_stride[i], p->rank);
        c.out[i] = ends_in(p, i) && f == DIRECT ? DIRECT : SLOT;
    }
    assign_slots(p, &c);
    return c;
}

/* Whether one loop leads from the inputs to the outputs: its block need not fit a cache. */
static bool is_stream(const hn_map_f32 *p, const cut *c) {
    return p->n_code == 1 && c->n_slots == 0;
}

/* Elements of a block of so many floats each. */
static int64_t block_of(int64_t floats) {
    int64_t most = hn_of_l1(BLOCK_TOTAL) / (int64_t)sizeof(float) / floats / 64 * 64;
    return most < BLOCK_MIN ? BLOCK_MIN : most > BLOCK_MAX ? BLOCK_MAX : most;
}

/* Floats that L1 holds for an element, those of the next block that are fetched among them. */
static int64_t count_streams(const hn_map_f32 *p, const cut *c) {
    int64_t n = c->n_slots;
    for (int i = 0; i < p->n_in; i++) n += c->in[i] == DIRECT ? 2 : 0;
    for (int i = 0; i < p->n_out; i++) n += c->out[i] == DIRECT;
    return n < 1 ? 1 : n;
}

static cut cut_of(const hn_map_f32 *p) {
    cut c = cut_by(p, BLOCK_STREAM, INT64_MAX);
    if (is_stream(p, &c)) return c;
    /* What is one value for a row would need a slot for several. */
    c = cut_by(p, BLOCK_STREAM, 1);
    if (is_stream(p, &c) && c.block >= BLOCK_ROW) return c;
    c = cut_by(p, block_of(1 + p->n_code + p->n_in), INT64_MAX);
    return cut_by(p, block_of(count_streams(p, &c)), INT64_MAX);
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_map_f32 *p = problem;
    (void)lanes;
    cut c = cut_of(p);
    int64_t floats = c.n_slots * c.slot_size + (p->n_in + 2 * p->n_code) * HN_VL;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {c.blocks_n * c.blocks_rows * c.outer},
                   .lane_scratch = (size_t)floats * sizeof(float)};
}

/* ---- the loops ---------------------------------------------------------------------------- */

typedef struct args {
    float *y;
    const float *a, *b, *c;
    int64_t step_a, step_b, step_c; /* HN_VL, or 0 for a single value in all lanes */
    int64_t n;
    float con_x, con_y;
} args;

/* The operands' names are those of the formulas in map_f32.h. */
#define LOOP(name, formula)                                                               \
    static void loop_##name(const args *g) {                                              \
        float *py = g->y;                                                                 \
        const float *pa = g->a, *pb = g->b, *pc = g->c;                                   \
        int64_t sa = g->step_a, sb = g->step_b, sc = g->step_c, n = g->n;                 \
        hn_vf x = hn_v_set1(g->con_x), y = hn_v_set1(g->con_y);                           \
        hn_vf zero = hn_v_set1(0.0f), one = hn_v_set1(1.0f);                              \
        (void)x, (void)y, (void)zero, (void)one, (void)sb, (void)sc;                      \
        for (; n >= HN_VL; n -= HN_VL) {                                                  \
            hn_vf a = hn_v_load(pa), b = hn_v_load(pb), c = hn_v_load(pc);                \
            (void)b, (void)c;                                                             \
            hn_v_store(py, formula);                                                      \
            py += HN_VL, pa += sa, pb += sb, pc += sc;                                    \
        }                                                                                 \
        if (n > 0) {                                                                      \
            hn_vf a = hn_v_load_n(pa, n), b = hn_v_load_n(pb, n), c = hn_v_load_n(pc, n); \
            (void)b, (void)c;                                                             \
            hn_v_store_n(py, formula, n);                                                 \
        }                                                                                 \
    }

static inline hn_vm truth(hn_vf x) { return hn_vm_not(hn_v_eq(x, hn_v_set1(0.0f))); }
static inline hn_vm either(hn_vm a, hn_vm b) {
    return hn_vm_and(hn_vm_or(a, b), hn_vm_not(hn_vm_and(a, b)));
}

LOOP(ADD, hn_v_add(a, b))
LOOP(SUB, hn_v_sub(a, b))
LOOP(MUL, hn_v_mul(a, b))
LOOP(DIV, hn_v_div(a, b))
LOOP(MIN, hn_v_select(hn_v_isnan(a), a, hn_v_min(a, b)))
LOOP(MAX, hn_v_select(hn_v_isnan(a), a, hn_v_max(a, b)))
LOOP(POW, hn_v_pow(a, b))
LOOP(FMOD, hn_v_fmod(a, b))
LOOP(MOD, hn_v_floor_mod(a, b))
LOOP(MULADD, hn_v_fma(a, b, c))
LOOP(PRELU, hn_v_select(hn_v_lt(a, zero), hn_v_mul(a, b), a))
LOOP(SELECT, hn_v_select(truth(a), b, c))
LOOP(ABOVE, hn_v_select(hn_v_gt(a, b), a, zero))
/* Truth values, as floats and as bytes. */
#define TEST(name, mask)                                                                  \
    LOOP(name, hn_v_select(mask, one, zero))                                              \
    HN_INLINE hn_vi test_##name(hn_vf a, hn_vf b) {                                       \
        (void)b;                                                                          \
        return hn_v_bits(hn_v_select(mask, hn_v_from_bits(hn_vi_set1(1)), hn_v_set1(0))); \
    }                                                                                     \
    static void bytes_##name(const args *g) {                                             \
        uint8_t *py = (uint8_t *)(void *)g->y;                                            \
        const float *pa = g->a, *pb = g->b;                                               \
        int64_t sa = g->step_a, sb = g->step_b, n = g->n;                                 \
        hn_vi t[4];                                                                       \
        for (; n >= HN_VB; n -= HN_VB, py += HN_VB) {                                     \
            for (int k = 0; k < 4; k++, pa += sa, pb += sb)                               \
                t[k] = test_##name(hn_v_load(pa), hn_v_load(pb));                         \
            hn_vb_store(py, hn_vb_narrow(t));                                             \
        }                                                                                 \
        if (n == 0) return;                                                               \
        for (int k = 0; k < 4; k++, pa += sa, pb += sb) {                                 \
            int64_t left = n - k * HN_VL, m = left > HN_VL ? HN_VL : left;                \
            t[k] = hn_vi_set1(0);                                                         \
            if (m > 0) t[k] = test_##name(hn_v_load_n(pa, m), hn_v_load_n(pb, m));        \
        }                                                                                 \
        hn_vb_store_n(py, hn_vb_narrow(t), n);                                            \
    }

TEST(LT, hn_v_lt(a, b))
TEST(LE, hn_v_le(a, b))
TEST(GT, hn_v_gt(a, b))
TEST(GE, hn_v_ge(a, b))
TEST(EQ, hn_v_eq(a, b))
TEST(NE, hn_vm_not(hn_v_eq(a, b)))
TEST(AND, hn_vm_and(truth(a), truth(b)))
TEST(OR, hn_vm_or(truth(a), truth(b)))
TEST(XOR, either(truth(a), truth(b)))
TEST(NOT, hn_vm_not(truth(a)))
LOOP(NEG, hn_v_neg(a))
LOOP(ABS, hn_v_abs(a))
LOOP(SQRT, hn_v_sqrt(a))
LOOP(RSQRT, hn_v_div(one, hn_v_sqrt(a)))
LOOP(RECIP, hn_v_div(one, a))
LOOP(EXP, hn_v_exp(a))
LOOP(LOG, hn_v_log(a))
LOOP(LOG1P, hn_v_log1p(a))
LOOP(ERF, hn_v_erf(a))
LOOP(FLOOR, hn_v_floor(a))
LOOP(CEIL, hn_v_ceil(a))
LOOP(ROUND, hn_v_round(a))
LOOP(SIGN, hn_v_select(hn_v_lt(a, zero), hn_v_neg(one), hn_v_select(hn_v_gt(a, zero), one, a)))
LOOP(SOFTPLUS, hn_v_add(hn_v_max(zero, a), hn_v_log1p(hn_v_exp_neg(hn_v_neg(hn_v_abs(a))))))
LOOP(SOFTSIGN, hn_v_div(a, hn_v_add(one, hn_v_abs(a))))
LOOP(SIN, hn_v_sin(a))
LOOP(COS, hn_v_cos(a))
LOOP(TAN, hn_v_tan(a))
LOOP(ASIN, hn_v_asin(a))
LOOP(ACOS, hn_v_acos(a))
LOOP(ATAN, hn_v_atan(a))
LOOP(SINH, hn_v_sinh(a))
LOOP(COSH, hn_v_cosh(a))
LOOP(ASINH, hn_v_asinh(a))
LOOP(ACOSH, hn_v_acosh(a))
LOOP(ATANH, hn_v_atanh(a))
#define HN_X(name, formula) LOOP(ACT_##name, hn_v_act(a, HN_ACT_##name, x, y))
HN_ACT_LIST(HN_X)
#undef HN_X

static void (*const loops[])(const args *g) = {
#define HN_X(name, operands, formula) loop_##name,
    HN_MAP_LIST(HN_X)
#undef HN_X
#define HN_X(name, formula) loop_ACT_##name,
        HN_ACT_LIST(HN_X)
#undef HN_X
};

/* From HN_MAP_LT on. */
static void (*const tests[])(const args *g) = {bytes_LT, bytes_LE,  bytes_GT, bytes_GE,  bytes_EQ,
                                               bytes_NE, bytes_AND, bytes_OR, bytes_XOR, bytes_NOT};
_Static_assert(sizeof tests / sizeof *tests == HN_MAP_NOT - HN_MAP_LT + 1, "a loop for each");

/* ---- a block ------------------------------------------------------------------------------ */

typedef struct area {
    int64_t rows, n, row, inner; /* lengths; strides in elements */
} area;

static void repeat(float *y, float x, int64_t n) {
    hn_vf v = hn_v_set1(x);
    int64_t j = 0;
    for (; j + HN_VL <= n; j += HN_VL) hn_v_store(y + j, v);
    if (j < n) hn_v_store_n(y + j, v, n - j);
}

/* An input's elements into its slot, adjacent. */
static void expand(float *y, const void *src, int type, area r) {
    for (int64_t i = 0; i < r.rows; i++, y += r.n) {
        if (type == HN_MAP_BOOL) {
            const uint8_t *x = (const uint8_t *)src + i * r.row;
            if (r.inner == 1)
                for (int64_t j = 0; j < r.n; j++) y[j] = (float)(x[j] != 0);
            else
                for (int64_t j = 0; j < r.n; j++) y[j] = (float)(x[j * r.inner] != 0);
            continue;
        }
        const float *x = (const float *)src + i * r.row;
        if (r.inner == 1)
            memcpy(y, x, (size_t)r.n * sizeof *y);
        else if (r.inner == 0)
            repeat(y, *x, r.n);
        else
            for (int64_t j = 0; j < r.n; j++) y[j] = x[j * r.inner];
    }
}

/* From a slot to where an output's elements belong. */
static void scatter(void *dst, int type, const float *x, area r) {
    for (int64_t i = 0; i < r.rows; i++, x += r.n) {
        if (type == HN_MAP_BOOL) {
            uint8_t *y = (uint8_t *)dst + i * r.row;
            if (r.inner == 1)
                for (int64_t j = 0; j < r.n; j++) y[j] = x[j] != 0.0f;
            else
                for (int64_t j = 0; j < r.n; j++) y[j * r.inner] = x[j] != 0.0f;
            continue;
        }
        float *y = (float *)dst + i * r.row;
        if (r.inner == 1)
            memcpy(y, x, (size_t)r.n * sizeof *y);
        else
            for (int64_t j = 0; j < r.n; j++) y[j * r.inner] = x[j];
    }
}

/* Where a task is: its first element along every axis, its rows and their length. */
typedef struct spot {
    int64_t at[HN_MAP_MAX_RANK], rows, n;
} spot;

static spot spot_of(const hn_map_f32 *p, const cut *c, int64_t t) {
    spot s = {.rows = 1};
    int axis = p->rank - 1;
    s.at[axis] = hn_digit(&t, c->blocks_n) * c->block;
    s.n = c->n - s.at[axis] < c->block ? c->n - s.at[axis] : c->block;
    if (--axis < 0) return s;
    s.at[axis] = hn_digit(&t, c->blocks_rows) * c->group;
    s.rows = c->rows - s.at[axis] < c->group ? c->rows - s.at[axis] : c->group;
    while (--axis >= 0) s.at[axis] = hn_digit(&t, p->dims[axis]);
    return s;
}

static int64_t offset(const spot *s, const int64_t *stride, int rank) {
    int64_t at = 0;
    for (int axis = 0; axis < rank; axis++) at += s->at[axis] * stride[axis];
    return at;
}

static area area_of(const spot *s, const int64_t *stride, int rank) {
    return (area){s->rows, s->n, rank > 1 ? stride[rank - 2] : 0, stride[rank - 1]};
}

static void *element(void *base, int type, int64_t at) {
    return type == HN_MAP_BOOL ? (void *)((uint8_t *)base + at) : (void *)((float *)base + at);
}

/* What the slot of an input holds. */
typedef struct held {
    const void *x;
    int64_t rows, n;
} held;

/* Brings what input i has at x to `to`, unless it is there already. */
static void fetch(const hn_map_f32 *p, int i, form f, const void *x, const spot *s, held *h,
                  float *to) {
    if (f == SINGLE) {
        float one;
        expand(&one, x, p->in_type[i], (area){1, 1, 0, 0});
        hn_v_store(to, hn_v_set1(one));
    } else if (h->x != x || h->n != s->n || h->rows < s->rows) {
        expand(to, x, p->in_type[i], area_of(s, p->in_stride[i], p->rank));
        *h = (held){x, s->rows, s->n};
    }
}

/* Whether an output through a slot may be written where it belongs by the instruction that makes
 * it: nothing after that reads an input that lies there. */
static bool may_write(const hn_call *call, const cut *c, int out) {
    const hn_map_f32 *p = call->problem;
    int maker = p->out[out] - HN_MAP_CODE;
    if (p->out_type[out] != HN_MAP_F32) return false;
    if (form_of(c, true, p->out_stride[out], p->rank) != DIRECT) return false;
    for (int i = 0; i < p->n_out; i++)
        if (i != out && p->out[i] == p->out[out]) return false;
    for (int k = maker + 1; k < p->n_code; k++) {
        const uint8_t used[] = {p->code[k].a, p->code[k].b, p->code[k].c};
        for (int j = 0; j < 3; j++)
            if (used[j] < p->n_in && call->ptr[used[j]] == call->ptr[HN_MAP_OUT + out])
                return false;
    }
    return true;
}

/* Inputs of the next block, brought near while this one is computed: an instruction reads no more
 * than a block at a time, too little for the hardware to see that more will follow. */
typedef struct ahead {
    int n; /* of streams */
    const char *at[HN_MAP_MAX_IN];
    int64_t lines, each; /* of a stream; with every instruction */
} ahead;

enum { LINE = 64 };

static bool fetches(const hn_map_f32 *p, const cut *c) {
    int64_t bytes = c->n * c->rows * c->outer * (int64_t)sizeof(float);
    return p->n_code > 1 && bytes * (p->n_in + p->n_out) > hn_of_l2(FAR);
}

static ahead begin_ahead(const hn_call *call, const cut *c, int64_t task) {
    const hn_map_f32 *p = call->problem;
    spot s = spot_of(p, c, task);
    ahead a = {.lines = s.rows * s.n * (int64_t)sizeof(float) / LINE};
    a.each = hn_ceil_over(a.lines, p->n_code);
    for (int i = 0; i < p->n_in; i++)
        if (c->in[i] == DIRECT)
            a.at[a.n++] =
                element(call->ptr[HN_MAP_IN + i], HN_MAP_F32, offset(&s, p->in_stride[i], p->rank));
    return a;
}

static void fetch_some(ahead *a) {
    int64_t n = a->lines < a->each ? a->lines : a->each;
    for (int i = 0; i < a->n; i++) {
        for (int64_t k = 0; k < n; k++) __builtin_prefetch(a->at[i] + k * LINE);
        a->at[i] += n * LINE;
    }
    a->lines -= n;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_map_f32 *p = call->problem;
    cut c = cut_of(p);
    float *single = (float *)lane + c.n_slots * c.slot_size;
    float *constants = single + p->n_in * HN_VL;
    float *value[HN_MAP_Y + 1] = {NULL};
    int64_t step[HN_MAP_Y + 1];
    for (int v = 0; v <= HN_MAP_Y; v++) step[v] = v < HN_MAP_X ? HN_VL : 0;
    for (int v = 0; v < HN_MAP_X; v++)
        if (c.slot[v] >= 0) value[v] = (float *)lane + c.slot[v] * c.slot_size;
    for (int i = 0; i < p->n_in; i++)
        if (c.in[i] == SINGLE) value[i] = single + i * HN_VL, step[i] = 0;
    for (int k = 0; k < p->n_code; k++) {
        hn_v_store(constants + 2 * k * HN_VL, hn_v_set1(p->code[k].x));
        hn_v_store(constants + (2 * k + 1) * HN_VL, hn_v_set1(p->code[k].y));
    }
    held holds[HN_MAP_MAX_IN] = {{0}};
    bool bytes = false; /* the last instruction writes them */
    for (int i = 0; i < p->n_out; i++) {
        bytes = bytes || (c.out[i] == DIRECT && p->out_type[i] == HN_MAP_BOOL);
        if (c.out[i] == SLOT && may_write(call, &c, i)) c.out[i] = DIRECT;
    }
    const bool far = fetches(p, &c);
    for (int64_t t = begin; t < end; t++) {
        spot s = spot_of(p, &c, t);
        ahead next = {0};
        if (far && t + 1 < end) next = begin_ahead(call, &c, t + 1);
        for (int i = 0; i < p->n_in; i++) {
            int64_t at = offset(&s, p->in_stride[i], p->rank);
            void *x = element(call->ptr[HN_MAP_IN + i], p->in_type[i], at);
            if (c.in[i] == DIRECT)
                value[i] = x;
            else
                fetch(p, i, c.in[i], x, &s, &holds[i], value[i]);
        }
        for (int i = 0; i < p->n_out; i++)
            if (c.out[i] == DIRECT)
                value[p->out[i]] = element(call->ptr[HN_MAP_OUT + i], p->out_type[i],
                                           offset(&s, p->out_stride[i], p->rank));
        for (int k = 0; k < p->n_code; k++) {
            const hn_map_code *i = &p->code[k];
            fetch_some(&next);
            value[HN_MAP_X] = constants + 2 * k * HN_VL;
            value[HN_MAP_Y] = constants + (2 * k + 1) * HN_VL;
            args g = {value[HN_MAP_CODE + k],
                      value[i->a],
                      value[i->b],
                      value[i->c],
                      step[i->a],
                      step[i->b],
                      step[i->c],
                      s.rows * s.n,
                      i->x,
                      i->y};
            (bytes && k == p->n_code - 1 ? tests[i->op - HN_MAP_LT] : loops[i->op])(&g);
        }
        for (int i = 0; i < p->n_out; i++) {
            if (c.out[i] == DIRECT) continue;
            int64_t at = offset(&s, p->out_stride[i], p->rank);
            scatter(element(call->ptr[HN_MAP_OUT + i], p->out_type[i], at), p->out_type[i],
                    value[p->out[i]], area_of(&s, p->out_stride[i], p->rank));
        }
    }
}

const hn_kernel HN_V_ROW(map_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};
