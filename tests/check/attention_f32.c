/* Cases of attention_f32: sizes around every tile and chunk, heads as columns of something wider,
 * masks that broadcast in all ways and leave some queries nothing to see; attention of real models
 * for timing. */
#include "kernels/attention_f32/attention_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum {
    HEADS = 1,   /* of a tensor [batch][position][head][element] */
    MASK = 2,    /* per query, the same for all heads */
    PADDING = 4, /* a mask per batch, the same for all queries */
    CAUSAL = 8,
    NONE = 16, /* blind */
    ANY = 32,
    K_T = 64,     /* keys come transposed, queries and values spread */
    SHARED = 128, /* all heads share keys and values */
    BENCH = 256,
    CHOOSES = 512, /* the mask is of truth values */
    HIDES = 1024,  /* where they are true */
};

/* The floats an operand spans. */
static int64_t span(const hn_attention_f32 *p, const int64_t *batch, int64_t rows, int64_t row,
                    int64_t cols, int64_t col) {
    int64_t at = (rows - 1) * row + (cols - 1) * col + 1;
    for (int i = 0; i < HN_ATTENTION_BATCH_AXES; i++) at += (p->batch[i] - 1) * batch[i];
    return at;
}

/* Strides of [batch][head][position][element], or of its heads side by side. */
static void lay_out(bool side_by_side, int64_t heads, int64_t positions, int64_t width,
                    int64_t *batch, int64_t *row) {
    *row = side_by_side ? heads * width + 3 : width;
    batch[2] = side_by_side ? width : positions * width;
    batch[1] = side_by_side ? positions * *row : heads * positions * width;
}

static void add(check_list *list, int64_t batch, int64_t heads, int64_t queries, int64_t keys,
                int64_t size, int64_t v_size, int flags) {
    check_case *c =
        check_add(list, "%lldx%lldx%lldx%lldx%lldx%lld_%d", (long long)batch, (long long)heads,
                  (long long)queries, (long long)keys, (long long)size, (long long)v_size, flags);
    bool side = (flags & HEADS) != 0;
    hn_attention_f32 p = {.batch = {1, batch, heads, 1},
                          .queries = queries,
                          .keys = keys,
                          .size = size,
                          .v_size = v_size,
                          .q_col = 1,
                          .k_col = 1,
                          .v_col = 1,
                          .scale = 1 / sqrtf((float)size),
                          .chooses = (flags & CHOOSES) != 0,
                          .hides = (flags & HIDES) != 0,
                          .fill = flags & HIDES ? -2.5F : -INFINITY,
                          .causal = (flags & CAUSAL) != 0,
                          .offset = keys - queries,
                          .blind = flags & NONE  ? HN_BLIND_NONE
                                   : flags & ANY ? HN_BLIND_ANY
                                                 : HN_BLIND_NAN};
    int64_t spread = flags & K_T ? 2 : 1;
    lay_out(side, heads, queries, size * spread, p.q_batch, &p.q_row);
    lay_out(side, heads, keys, size, p.k_batch, &p.k_row);
    lay_out(side, heads, keys, v_size * spread, p.v_batch, &p.v_row);
    lay_out(side, heads, queries, v_size, p.y_batch, &p.y_row);
    if (flags & K_T) p.q_col = p.v_col = 2, p.k_row = 1, p.k_col = keys;
    if (flags & SHARED) p.k_batch[2] = p.v_batch[2] = 0;
    if (flags & MASK) p.mask_batch[1] = queries * (keys + 1), p.mask_row = keys + 1;
    if (flags & PADDING) p.mask_batch[1] = keys;
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, span(&p, p.q_batch, queries, p.q_row, size, p.q_col));
    check_operand_add(c, CHECK_IN, CHECK_F32, span(&p, p.k_batch, keys, p.k_row, size, p.k_col));
    check_operand_add(c, CHECK_IN, CHECK_F32, span(&p, p.v_batch, keys, p.v_row, v_size, p.v_col));
    check_operand_add(c, flags & (MASK | PADDING) ? CHECK_IN : CHECK_ABSENT,
                      flags & CHOOSES ? CHECK_U8 : CHECK_F32,
                      span(&p, p.mask_batch, queries, p.mask_row, keys, 1));
    check_operand_add(c, CHECK_OUT, CHECK_F32, span(&p, p.y_batch, queries, p.y_row, v_size, 1));
    c->bench = (flags & BENCH) != 0;
    double count = (double)(batch * heads);
    c->flops = 2 * count * (double)queries * (double)keys * (double)(size + v_size);
    c->bytes = 4 * count * (double)(queries + keys) * (double)(size + v_size);
}

/* Scores must not become so steep that the roundings of f32 decide which is the largest: extreme
 * queries meet keys that are as extreme the other way. A mask hides one key in four, and from one
 * query in five all of them. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    static const float small[] = {0.0F, -0.0F, 1e-40F, 1e-15F, -1e-15F};
    static const float large[] = {0.0F, -0.0F, 1e-40F, 1e15F, -1e15F, 1.0F};
    const hn_attention_f32 *p = (const hn_attention_f32 *)(const void *)c->problem;
    size_t count = c->operand[operand].count;
    float *x = data;
    if (operand == HN_ATTENTION_MASK && p->chooses) {
        uint8_t *mask = data;
        for (size_t i = 0; i < count; i++) mask[i] = (uint8_t)hn_rng_below(rng, 3);
        return true;
    }
    if (operand == HN_ATTENTION_MASK) {
        size_t row = p->mask_row > 0 ? (size_t)p->mask_row : (size_t)p->keys;
        bool hidden = false;
        for (size_t i = 0; i < count; i++) {
            if (i % row == 0) hidden = hn_rng_below(rng, 5) == 0;
            x[i] = hidden || hn_rng_below(rng, 4) == 0 ? -INFINITY : (float)hn_rng_f64(rng);
            if (kind == CHECK_EXTREME && hn_rng_below(rng, 4) == 0) x[i] = -3.4028235e38F;
        }
        return true;
    }
    if (kind != CHECK_EXTREME || operand == HN_ATTENTION_V) return false;
    for (size_t i = 0; i < count; i++)
        x[i] = operand == HN_ATTENTION_Q ? small[hn_rng_below(rng, 5)] * (float)hn_rng_f64(rng)
                                         : large[hn_rng_below(rng, 6)] * (float)hn_rng_f64(rng);
    return true;
}

/* Weights are relative to each other, so that their errors are to the largest of the results. Rows
 * that split floats leave 2^-17 of a weight; less exact ones err in the scores too, of which all
 * cases have small ones. */
static double whole(const hn_kernel *k) {
    if (k->precision != HN_PRECISION_F32) return 4 * hn_precision_error(k->precision);
    return strncmp(k->name, "amx", 3) == 0 ? 1.2e-5 : 6e-6;
}

static void cases(check_list *list) {
    static const int64_t sizes[] = {1, 2, 7, 13, 14, 15, 16, 17, 29, 31, 32, 33, 64, 65, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i];
        add(list, 1, 1, n, 40, 16, 16, 0);
        if (n > 1) add(list, 1, 2, 9, n, 16, 16, HEADS | MASK);
        add(list, 2, 1, 9, 20, n, 8, PADDING);
        add(list, 2, 1, 9, 20, 8, n, HEADS);
    }
    for (int blind = 0; blind <= ANY; blind += NONE) {
        add(list, 2, 3, 37, 45, 32, 32, MASK | blind);
        add(list, 4, 2, 20, 33, 16, 24, HEADS | PADDING | blind);
        add(list, 1, 2, 30, 1300, 16, 20, MASK | blind);
    }
    add(list, 2, 3, 37, 45, 32, 32, MASK | CHOOSES);
    add(list, 2, 3, 37, 45, 32, 32, HEADS | PADDING | CHOOSES | HIDES);
    add(list, 1, 2, 30, 1300, 16, 20, MASK | CHOOSES | NONE);
    add(list, 1, 3, 40, 40, 16, 16, CAUSAL);
    add(list, 2, 3, 17, 29, 16, 16, CAUSAL | HEADS | SHARED);
    add(list, 1, 2, 29, 17, 16, 16, CAUSAL | NONE);
    add(list, 1, 1, 530, 530, 8, 8, CAUSAL | ANY | MASK);
    add(list, 1, 2, 21, 50, 20, 12, K_T);
    add(list, 2, 2, 21, 50, 20, 12, K_T | MASK | SHARED);
    add(list, 1, 1, 300, 520, 10, 10, HEADS);
    add(list, 1, 1, 3, 5000, 10, 10, 0);
    /* As tiles of AMX have it: many queries, heads of models. */
    static const int64_t heads[] = {32, 64, 80, 128};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        int64_t d = heads[i];
        add(list, 1, 2, 65 + 16 * (int64_t)i, 93, d, d, HEADS | MASK);
        add(list, 2, 1, 97, 128 - (int64_t)i, d, d, HEADS | PADDING | (int)i % 2 * ANY);
    }
    add(list, 1, 2, 66, 109, 64, 57, K_T | CAUSAL | NONE);
    add(list, 1, 2, 97, 76, 61, 64, CAUSAL | SHARED);
    add(list, 1, 1, 530, 530, 32, 32, CAUSAL | ANY | MASK);
    add(list, 1, 1, 80, 1300, 29, 32, K_T | MASK | NONE);
    add(list, 1, 2, 100, 77, 32, 32, MASK | CHOOSES);
    add(list, 1, 2, 100, 600, 32, 32, HEADS | PADDING | CHOOSES | HIDES | ANY);
    add(list, 1, 12, 128, 128, 64, 64, BENCH | HEADS | PADDING);
    add(list, 1, 12, 128, 128, 32, 32, BENCH | HEADS | PADDING);
    add(list, 1, 12, 64, 64, 32, 32, BENCH | HEADS | MASK);
    add(list, 1, 12, 197, 197, 64, 64, BENCH | HEADS);
    add(list, 1, 4, 2048, 2048, 64, 64, BENCH);
}

const check_family check_attention_f32 = {
    .family = &hn_attention_f32_family, .cases = cases, .fill = fill, .whole = whole};
