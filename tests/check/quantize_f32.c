/* Cases of quantize_f32: given scales of all kinds, scales found per tensor and per row, every way
 * an operand may lie; layers of real models for timing. */
#include "kernels/quantize_f32/quantize_f32.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "space.h"

enum { NO_ZERO = 1, BENCH = 2 };

static void add(check_list *list, const char *name, hn_quantize_f32 p, int x, int y, int s,
                int flags) {
    check_case *c = check_add(list, "%s%s_%s", p.dynamic ? "dynamic_" : "",
                              p.type == HN_Q8_U8 ? "u8" : "s8", name);
    const int how[] = {x, y, s, s};
    for (int i = 0; i < 4; i++) space_strides(&p.space, i, how[i]);
    check_role params = p.dynamic ? CHECK_OUT : CHECK_IN;
    int64_t n = space_extent(&p.space, HN_QUANTIZE_F32_S);
    if (n == 0 && p.dynamic) n = 1; /* one scale of no elements */
    check_operand_add(c, CHECK_IN, CHECK_F32, space_extent(&p.space, HN_QUANTIZE_F32_X));
    check_operand_add(c, CHECK_OUT, CHECK_U8, space_extent(&p.space, HN_QUANTIZE_F32_Y));
    check_operand_add(c, params, CHECK_F32, n);
    check_operand_add(c, flags & NO_ZERO ? CHECK_ABSENT : params, CHECK_U8, n);
    c->bytes = 5.0 * (double)hn_space_count(&p.space);
    c->bench = (flags & BENCH) != 0;
    hn_space_collapse(&p.space, p.dynamic ? HN_QUANTIZE_F32_S : HN_QUANTIZE_F32_Y);
    memcpy(c->problem, &p, sizeof p);
}

static void cases(check_list *list) {
    static const struct {
        int x, y, s, flags;
    } how[] = {
        {0, 0, SPACE_SINGLE, 0},          {SPACE_PITCH, SPACE_PITCH, SPACE_SINGLE, NO_ZERO},
        {SPACE_GAPS, 0, SPACE_SINGLE, 0}, {0, SPACE_EXCHANGED, SPACE_SINGLE, 0},
        {0, SPACE_GAPS, 1 | 2 | 4, 0},  /* a scale per position on the last axis */
        {SPACE_PITCH, 0, 1 | 4 | 8, 0}, /* and on others */
        {0, 0, 1 | 2 | 4, NO_ZERO},
    };
    static const struct {
        int x, y, s;
    } found[] = {{0, 0, SPACE_SINGLE},
                 {SPACE_PITCH, 0, SPACE_SINGLE},
                 {SPACE_EXCHANGED, SPACE_PITCH, SPACE_SINGLE},
                 {0, 0, 8},
                 {SPACE_GAPS, SPACE_PITCH, 4 | 8}};
    for (int k = 0; k < SPACE_SHAPES; k++) {
        hn_quantize_f32 p = {.space = space_of(4, space_shapes[k])};
        char name[64];
        for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
            p.type = (k + i) % 2 == 0 ? HN_Q8_U8 : HN_Q8_S8;
            snprintf(name, sizeof name, "%d_%zu", k, i);
            add(list, name, p, how[i].x, how[i].y, how[i].s, how[i].flags);
        }
        p.dynamic = true;
        for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
            p.type = (k + i) % 3 == 2 ? HN_Q8_S8 : HN_Q8_U8;
            snprintf(name, sizeof name, "%d_%zu", k, i);
            add(list, name, p, found[i].x, found[i].y, found[i].s, 0);
        }
    }
    /* Planes whose channels come to lie beside each other, few and many, to gaps too. */
    static const int64_t planes[][4] = {{2, 1, 3, 700}, {1, 2, 4, 300}, {1, 3, 20, 33},
                                        {1, 1, 35, 17}, {1, 1, 2, 270}, {1, 1, 3, 16}};
    static const int scales[] = {SPACE_SINGLE, 1 | 2 | 4, 1 | 2 | 8, 1 | 2};
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 8; i++) {
            hn_quantize_f32 p = {.space = space_of(4, planes[k]),
                                 .type = (k + i) % 3 == 0 ? HN_Q8_S8 : HN_Q8_U8};
            char name[64];
            snprintf(name, sizeof name, "planes_%d_%d", k, i);
            add(list, name, p, k % 2 == 0 ? 0 : SPACE_PITCH,
                SPACE_EXCHANGED | (i < 4 ? 0 : SPACE_PITCH), scales[i % 4], i == 2 ? NO_ZERO : 0);
        }
    /* Channels beside each other with a scale each, fewer and more than a vector of bytes. */
    static const int64_t channels[][4] = {{1, 1, 40, 16}, {1, 2, 33, 24}, {2, 3, 7, 72},
                                          {1, 1, 9, 1},   {1, 1, 3, 640}, {1, 1, 500, 64}};
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 2; i++) {
            hn_quantize_f32 p = {.space = space_of(4, channels[k]),
                                 .type = (k + i) % 2 == 0 ? HN_Q8_U8 : HN_Q8_S8};
            char name[64];
            snprintf(name, sizeof name, "channels_%d_%d", k, i);
            add(list, name, p, 0, 0, k == 2 ? 1 | 4 : 1 | 2 | 4, i == 1 ? NO_ZERO : 0);
        }
    hn_quantize_f32 p = {.space = space_of(4, (const int64_t[]){2, 3, 0, 5})};
    add(list, "empty", p, 0, 0, SPACE_SINGLE, 0);
    p.dynamic = true;
    add(list, "empty", p, 0, 0, SPACE_SINGLE, 0);

    p = (hn_quantize_f32){.space = space_of(4, (const int64_t[]){1, 1, 3136, 64})};
    add(list, "3136x64", p, 0, 0, SPACE_SINGLE, BENCH);
    p.dynamic = true;
    add(list, "3136x64", p, 0, 0, SPACE_SINGLE, BENCH);
    p.space = space_of(4, (const int64_t[]){1, 1, 128, 384});
    add(list, "128x384", p, 0, 0, SPACE_SINGLE, BENCH);
    add(list, "rows_128x384", p, 0, 0, 8, BENCH);
    p.dynamic = false;
    p.space = space_of(4, (const int64_t[]){1, 1, 3, 50176});
    add(list, "image_3x224x224", p, 0, SPACE_EXCHANGED, SPACE_SINGLE, BENCH);
    p.space = space_of(4, (const int64_t[]){1, 1, 12544, 16});
    add(list, "channels_12544x16", p, 0, 0, 1 | 2 | 4, BENCH);
    p.space = space_of(4, (const int64_t[]){1, 1, 784, 88});
    add(list, "channels_784x88", p, 0, 0, 1 | 2 | 4, BENCH);
    p.space = space_of(4, (const int64_t[]){1, 1, 64, 3136});
    add(list, "image_64x56x56", p, 0, SPACE_EXCHANGED, SPACE_SINGLE, BENCH);
}

/* Scales with which random data covers the type, small integers are ties, and all that a model
 * should not have. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const check_operand *o = &c->operand[operand];
    if (o->type == CHECK_U8) {
        space_fill_bytes(o, kind, rng, data);
        return true;
    }
    if (operand != HN_QUANTIZE_F32_S) return false;
    static const float odd[] = {0.0f, -0.01f, 1e-40f, 3e38f, INFINITY, NAN, 0.01f, 0.25f};
    float *s = data;
    for (size_t i = 0; i < o->count; i++) {
        s[i] = 0.003f + 0.01f * (float)hn_rng_f64(rng);
        if (kind == CHECK_EXACT) s[i] = hn_rng_below(rng, 2) == 0 ? 2.0f : 0.4f;
        if (kind == CHECK_EXTREME) s[i] = odd[hn_rng_below(rng, sizeof odd / sizeof *odd)];
    }
    return true;
}

const check_family check_quantize_f32 = {
    .family = &hn_quantize_f32_family, .cases = cases, .fill = fill};
