/* Cases of map_f32: every operation, every way to broadcast, programs with many values, truth
 * values, in place; and the shapes of real models for timing. */
#include "kernels/map_f32/map_f32.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

/* How an operand lies: whole and dense but for the axes it broadcasts along (bit i: axis i), with
 * gaps between its elements, or with the last two axes exchanged. */
enum { GAPS = 64, EXCHANGED = 128, TRUTH = 256 };

static void strides(const hn_map_f32 *p, int how, int64_t *stride) {
    int64_t next = how & GAPS ? 2 : 1;
    int order[HN_MAP_MAX_RANK];
    for (int i = 0; i < p->rank; i++) order[i] = i;
    if (how & EXCHANGED) order[p->rank - 1] = p->rank - 2, order[p->rank - 2] = p->rank - 1;
    for (int i = p->rank - 1; i >= 0; i--) {
        int axis = order[i];
        stride[axis] = how & 1 << axis ? 0 : next;
        if (!(how & 1 << axis)) next *= p->dims[axis] + (how & GAPS ? 3 : 0);
    }
}

static int64_t extent(const hn_map_f32 *p, const int64_t *stride) {
    int64_t n = 1;
    for (int i = 0; i < p->rank; i++) {
        if (p->dims[i] == 0) return 0;
        n += (p->dims[i] - 1) * stride[i];
    }
    return n;
}

static int input(hn_map_f32 *p, int how) {
    strides(p, how, p->in_stride[p->n_in]);
    p->in_type[p->n_in] = how & TRUTH ? HN_MAP_BOOL : HN_MAP_F32;
    return p->n_in++;
}

static void output(hn_map_f32 *p, int value, int how) {
    strides(p, how, p->out_stride[p->n_out]);
    p->out_type[p->n_out] = how & TRUTH ? HN_MAP_BOOL : HN_MAP_F32;
    p->out[p->n_out++] = (uint8_t)value;
}

static hn_map_f32 space(int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    return (hn_map_f32){.rank = rank, .dims = {a, b, c, d}};
}

/* `in_place`: that input is the first output's memory; -1 none; EACH: input i is output i's. */
enum { EACH = HN_MAP_MAX_IN };

static check_case *add(check_list *list, const char *name, const hn_map_f32 *p, int in_place) {
    check_case *c = check_add(list, "%s", name);
    double bytes = 0;
    for (int i = 0; i < HN_MAP_MAX_IN; i++) {
        int64_t n = i < p->n_in ? extent(p, p->in_stride[i]) : 0;
        bool same = i == in_place || (in_place == EACH && i < p->n_out);
        check_role role = i >= p->n_in ? CHECK_ABSENT : same ? CHECK_SAME : CHECK_IN;
        check_operand_add(c, role, p->in_type[i] == HN_MAP_BOOL ? CHECK_U8 : CHECK_F32, n);
        c->operand[i].same = HN_MAP_OUT + (in_place == EACH ? i : 0);
        bytes += 4 * (double)n;
    }
    for (int i = 0; i < p->n_out; i++) {
        int64_t n = extent(p, p->out_stride[i]);
        bool same = in_place == EACH || (i == 0 && in_place >= 0);
        check_operand_add(c, same ? CHECK_INOUT : CHECK_OUT,
                          p->out_type[i] == HN_MAP_BOOL ? CHECK_U8 : CHECK_F32, n);
        bytes += 4 * (double)n;
    }
    hn_map_f32 q = *p;
    hn_map_collapse(&q);
    memcpy(c->problem, &q, sizeof q);
    c->rel = 40;
    c->flops = p->n_code;
    for (int i = 0; i < p->rank; i++) c->flops *= (double)p->dims[i];
    c->bytes = bytes;
    return c;
}

/* Every operation, on three vectors and more than a block. */
static void operations(check_list *list) {
    static const char *const names[] = {
#define HN_X(name, operands, formula) #name,
        HN_MAP_LIST(HN_X)
#undef HN_X
#define HN_X(name, formula) #name,
            HN_ACT_LIST(HN_X)
#undef HN_X
    };
    for (int op = 0; op < HN_MAP_OPS_; op++) {
        for (int k = 0; k < 2; k++) {
            char name[64];
            snprintf(name, sizeof name, "op_%s_%d", names[op], k);
            hn_map_f32 p = space(1, k == 0 ? 5003 : 35, 1, 1, 1);
            for (int i = 0; i < hn_map_arity((hn_map_op)op); i++) input(&p, 0);
            bool clip = op == HN_MAP_ACT_CLIP;
            int x = 0;
            if (op == HN_MAP_ACOSH) x = hn_map_emit(&p, HN_MAP_ADD, 0, HN_MAP_X, 0, 2, 0);
            int v = hn_map_emit(&p, (hn_map_op)op, x, 1, 2, clip ? -0.5f : 0.3f, 0.5f);
            output(&p, v, 0);
            check_case *c = add(list, name, &p, -1);
            c->exact = op <= HN_MAP_MUL || op == HN_MAP_MIN || op == HN_MAP_MAX;
            if (op >= HN_MAP_PRELU && op <= HN_MAP_ABS) c->exact = true;
            if (op >= HN_MAP_FLOOR && op <= HN_MAP_SIGN) c->exact = true;
            if (op == HN_MAP_POW || op == HN_MAP_ACOSH) c->rel = 600; /* steep next to 1 */
            if (op == HN_MAP_FMOD || op == HN_MAP_MOD) c->rel = 1, c->exact = true;
            if (op == HN_MAP_MULADD) c->abs = 1e-6;
            if (op == HN_MAP_ACT_GELU) c->rel = 200;
        }
    }
}

/* Comparisons and logic whose results are bytes: of every length of a rest, in rows that lie apart,
 * after another instruction, in place, and beside the same as floats. */
static void truths(check_list *list) {
    static const int64_t sizes[] = {1, 3, 16, 17, 63, 64, 65, 127, 5003};
    char name[64];
    for (int op = HN_MAP_LT; op <= HN_MAP_NOT; op++) {
        bool two = hn_map_arity((hn_map_op)op) == 2;
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            hn_map_f32 p = space(1, sizes[k], 1, 1, 1);
            int x = input(&p, 0), y = two ? input(&p, 0) : x;
            output(&p, hn_map_emit(&p, (hn_map_op)op, x, y, 0, 0, 0), TRUTH);
            snprintf(name, sizeof name, "bytes_%d_%d", op, (int)sizes[k]);
            add(list, name, &p, -1)->exact = true;
        }
        hn_map_f32 p = space(2, 9, 70, 1, 1);
        int x = input(&p, GAPS), y = two ? input(&p, 2) : x;
        output(&p, hn_map_emit(&p, (hn_map_op)op, x, y, 0, 0, 0), TRUTH | GAPS);
        snprintf(name, sizeof name, "bytes_%d_rows", op);
        add(list, name, &p, -1)->exact = true;
        p = space(2, 9, 70, 1, 1);
        x = input(&p, 0), y = two ? input(&p, 1) : x;
        int minus = hn_map_emit(&p, HN_MAP_NEG, x, 0, 0, 0, 0);
        output(&p, hn_map_emit(&p, (hn_map_op)op, minus, y, 0, 0, 0), TRUTH);
        snprintf(name, sizeof name, "bytes_%d_after", op);
        add(list, name, &p, -1)->exact = true;
        p = space(1, 777, 1, 1, 1);
        x = input(&p, TRUTH), y = two ? input(&p, TRUTH) : x;
        output(&p, hn_map_emit(&p, (hn_map_op)op, x, y, 0, 0, 0), TRUTH);
        snprintf(name, sizeof name, "bytes_%d_in_place", op);
        add(list, name, &p, 0)->exact = true;
        p = space(1, 300, 1, 1, 1);
        x = input(&p, 0), y = two ? input(&p, 0) : x;
        int v = hn_map_emit(&p, (hn_map_op)op, x, y, 0, 0, 0);
        output(&p, v, op % 2 == 0 ? TRUTH : 0);
        output(&p, v, op % 2 == 0 ? 0 : TRUTH);
        snprintf(name, sizeof name, "bytes_%d_and_floats", op);
        add(list, name, &p, -1)->exact = true;
    }
}

/* a*b + c, then a clip, with a, b, c and the output lying in all ways. */
static void broadcasts(check_list *list) {
    static const struct {
        int a, b, c, out;
    } how[] = {
        {0, 0, 0, 0},
        {0, 1 | 2 | 4, 1 | 2 | 4, 0},         /* per channel */
        {0, 1 | 2 | 8, 8, 0},                 /* per row */
        {1 | 2 | 4 | 8, 0, 1 | 2 | 4 | 8, 0}, /* single values */
        {EXCHANGED, 0, 2, 0},                 /* a transposed */
        {GAPS, 0, GAPS | 1, GAPS},            /* pieces of something larger */
        {4, 2, 1, EXCHANGED},                 /* along every axis; the output transposed */
        {8, 4 | 8, 2 | 8, 0},
        {EXCHANGED, EXCHANGED, EXCHANGED | 1, EXCHANGED},
    };
    static const int64_t dims[][4] = {{2, 3, 5, 7},   {1, 40, 33, 64}, {3, 1, 1, 1500},
                                      {2, 2, 9, 257}, {1, 1, 300, 3},  {7, 5, 1, 1}};
    for (size_t k = 0; k < sizeof how / sizeof *how; k++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
            hn_map_f32 p = space(4, dims[d][0], dims[d][1], dims[d][2], dims[d][3]);
            int a = input(&p, how[k].a), b = input(&p, how[k].b), c = input(&p, how[k].c);
            int v = hn_map_emit(&p, HN_MAP_MULADD, a, b, c, 0, 0);
            output(&p, hn_map_emit(&p, HN_MAP_ACT_CLIP, v, 0, 0, -0.75f, 1.0f), how[k].out);
            char name[64];
            snprintf(name, sizeof name, "broadcast_%zu_%zu", k, d);
            check_case *cc = add(list, name, &p, -1);
            cc->abs = 1e-6;
            cc->exact = true;
        }
}

static void programs(check_list *list) {
    /* Many values alive at once, two outputs, the first of them used again. */
    hn_map_f32 p = space(2, 37, 65, 1, 1);
    int in[4];
    for (int i = 0; i < 4; i++) in[i] = input(&p, i == 3 ? 1 : 0);
    int v[20];
    for (int i = 0; i < 20; i++)
        v[i] = hn_map_emit(&p, i % 3 == 2 ? HN_MAP_MUL : HN_MAP_ADD, i < 10 ? in[i % 4] : v[19 - i],
                           i == 0 ? HN_MAP_X : v[i - 1], 0, 0.5f, 0);
    output(&p, v[9], GAPS);
    output(&p, v[19], 0);
    check_case *c = add(list, "long", &p, -1);
    c->abs = 1e-3;
    c->only_random = true; /* others overflow */

    p = space(2, 5, 300, 1, 1);
    int x = input(&p, 0), y = input(&p, 0);
    int sum = hn_map_emit(&p, HN_MAP_ADD, x, y, 0, 0, 0);
    int twice = hn_map_emit(&p, HN_MAP_MUL, x, HN_MAP_Y, 0, 0, 2);
    output(&p, sum, 0);
    output(&p, twice, 0);
    add(list, "two_outputs_in_place", &p, 0)->exact = true;

    /* What an optimizer does: each output reads all inputs and takes the place of its own. */
    p = space(2, 9, 700, 1, 1);
    x = input(&p, 0), y = input(&p, 0);
    int z = input(&p, 0), g = input(&p, 0);
    int next = hn_map_emit(&p, HN_MAP_ADD, y, g, 0, 0, 0);
    int square = hn_map_emit(&p, HN_MAP_MUL, g, g, 0, 0, 0);
    square = hn_map_emit(&p, HN_MAP_MAX, square, z, 0, 0, 0);
    int move = hn_map_emit(&p, HN_MAP_MUL, next, square, 0, 0, 0);
    output(&p, hn_map_emit(&p, HN_MAP_MAX, x, move, 0, 0, 0), 0);
    output(&p, next, 0);
    output(&p, square, 0);
    add(list, "three_outputs_in_place", &p, EACH);

    p = space(3, 4, 50, 30, 1);
    x = input(&p, 4), y = input(&p, 2);
    output(&p, hn_map_emit(&p, HN_MAP_SUB, x, y, 0, 0, 0), GAPS);
    p.out[1] = p.out[0], p.n_out = 2;
    strides(&p, EXCHANGED, p.out_stride[1]);
    add(list, "one_value_twice", &p, -1)->exact = true;

    p = space(2, 33, 129, 1, 1);
    x = input(&p, 0), y = input(&p, 0);
    output(&p, hn_map_emit(&p, HN_MAP_MUL, y, x, 0, 0, 0), 0);
    add(list, "in_place", &p, 1)->exact = true;
    p = space(2, 33, 129, 1, 1);
    x = input(&p, GAPS);
    output(&p, hn_map_emit(&p, HN_MAP_ACT_CLIP, x, 0, 0, -0.25f, 0.5f), GAPS);
    add(list, "in_place_gaps", &p, 0)->exact = true;

    p = space(3, 3, 40, 41, 1);
    int m = input(&p, TRUTH | 1);
    x = input(&p, 0), y = input(&p, 7);
    int less = hn_map_emit(&p, HN_MAP_LT, x, HN_MAP_X, 0, 0.25f, 0);
    int both = hn_map_emit(&p, HN_MAP_AND, less, m, 0, 0, 0);
    output(&p, hn_map_emit(&p, HN_MAP_SELECT, both, x, y, 0, 0), 0);
    output(&p, both, TRUTH);
    add(list, "truth", &p, -1)->exact = true;
    p = space(2, 70, 90, 1, 1);
    m = input(&p, TRUTH | EXCHANGED), x = input(&p, TRUTH | 3);
    output(&p, hn_map_emit(&p, HN_MAP_XOR, m, x, 0, 0, 0), TRUTH | GAPS);
    add(list, "truth_gaps", &p, -1)->exact = true;

    p = space(3, 4, 0, 7, 1);
    x = input(&p, 0);
    output(&p, hn_map_emit(&p, HN_MAP_NEG, x, 0, 0, 0, 0), 0);
    add(list, "empty", &p, -1);
}

static void bench(check_list *list, const char *name, hn_map_op op, int64_t rows, int64_t n,
                  int b_how) {
    hn_map_f32 p = space(2, rows, n, 1, 1);
    for (int i = 0; i < hn_map_arity(op); i++) input(&p, i == 0 ? 0 : b_how);
    output(&p, hn_map_emit(&p, op, 0, 1, 2, 0, INFINITY), 0);
    char full[64];
    snprintf(full, sizeof full, "%s_%lldx%lld", name, (long long)rows, (long long)n);
    add(list, full, &p, -1)->bench = true;
}

static void cases(check_list *list) {
    operations(list);
    truths(list);
    broadcasts(list);
    programs(list);
    bench(list, "relu", HN_MAP_ACT_CLIP, 3136, 64, 0);
    bench(list, "relu_small", HN_MAP_ACT_CLIP, 16, 64, 0);
    bench(list, "add", HN_MAP_ADD, 3136, 64, 0);
    bench(list, "add", HN_MAP_ADD, 3136, 2048, 0);
    bench(list, "add_small", HN_MAP_ADD, 32, 128, 0);
    bench(list, "add_channel", HN_MAP_ADD, 3136, 64, 1);
    bench(list, "mul_channel", HN_MAP_MUL, 49, 960, 1);
    bench(list, "scale_channel", HN_MAP_MULADD, 3136, 64, 1);
    bench(list, "add_row", HN_MAP_ADD, 64, 3136, 2);
    bench(list, "div", HN_MAP_DIV, 128, 3072, 0);
    bench(list, "exp", HN_MAP_EXP, 128, 3072, 0);
    bench(list, "gelu", HN_MAP_ACT_GELU, 128, 3072, 0);
    bench(list, "gelu", HN_MAP_ACT_GELU, 8, 768, 0);
    bench(list, "gelu_tanh", HN_MAP_ACT_GELU_TANH, 128, 3072, 0);
    bench(list, "erf", HN_MAP_ERF, 128, 3072, 0);
    bench(list, "silu", HN_MAP_ACT_SILU, 128, 3072, 0);
    bench(list, "sigmoid", HN_MAP_ACT_SIGMOID, 128, 3072, 0);
    bench(list, "tanh", HN_MAP_ACT_TANH, 128, 3072, 0);
    bench(list, "mish", HN_MAP_ACT_MISH, 128, 3072, 0);
    bench(list, "hard_swish", HN_MAP_ACT_HARD_SWISH, 784, 240, 0);
}

/* Truth values, also those that are floats, and what is compared for equality: few values. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const check_operand *o = &c->operand[operand];
    hn_map_f32 p;
    memcpy(&p, c->problem, sizeof p);
    int op = p.code[0].op == HN_MAP_NEG ? p.code[p.n_code - 1].op : p.code[0].op;
    if (o->type == CHECK_U8) {
        uint8_t *x = data;
        for (size_t i = 0; i < o->count; i++) x[i] = (uint8_t)hn_rng_below(rng, 3);
    } else if (kind == CHECK_RANDOM && op >= HN_MAP_SELECT && op <= HN_MAP_NOT) {
        float *x = data;
        for (size_t i = 0; i < o->count; i++) x[i] = (float)hn_rng_below(rng, 3) - 1;
    } else {
        return false;
    }
    return true;
}

const check_family check_map_f32 = {.family = &hn_map_f32_family, .cases = cases, .fill = fill};
