/* Cases of dequantize_q8: every type, scales of all kinds, every way an operand may lie; shapes of
 * real models for timing. */
#include "kernels/dequantize_q8/dequantize_q8.h"

#include <stdio.h>
#include <string.h>

#include "space.h"

enum { NO_ZERO = 1, BENCH = 2 };

static void add(check_list *list, const char *name, hn_dequantize_q8 p, int x, int y, int s,
                int flags) {
    static const char *const types[] = {"u8", "s8", "f32", "s32"};
    check_case *c = check_add(list, "%s_%s", types[p.type], name);
    const int how[] = {x, y, s, s};
    for (int i = 0; i < 4; i++) space_strides(&p.space, i, how[i]);
    check_type type = p.type == HN_Q8_S32 ? CHECK_I32 : CHECK_U8;
    int64_t n = space_extent(&p.space, HN_DEQUANTIZE_Q8_S);
    check_operand_add(c, CHECK_IN, type, space_extent(&p.space, HN_DEQUANTIZE_Q8_X));
    check_operand_add(c, CHECK_OUT, CHECK_F32, space_extent(&p.space, HN_DEQUANTIZE_Q8_Y));
    check_operand_add(c, CHECK_IN, CHECK_F32, n);
    check_operand_add(c, flags & NO_ZERO ? CHECK_ABSENT : CHECK_IN, type, n);
    c->bytes = (p.type == HN_Q8_S32 ? 8.0 : 5.0) * (double)hn_space_count(&p.space);
    c->bench = (flags & BENCH) != 0;
    hn_space_collapse(&p.space, HN_DEQUANTIZE_Q8_Y);
    memcpy(c->problem, &p, sizeof p);
}

static void cases(check_list *list) {
    static const struct {
        int x, y, s, flags;
    } how[] = {
        {0, 0, SPACE_SINGLE, 0},          {SPACE_PITCH, SPACE_PITCH, SPACE_SINGLE, NO_ZERO},
        {SPACE_GAPS, 0, SPACE_SINGLE, 0}, {SPACE_EXCHANGED, 0, SPACE_SINGLE, 0},
        {0, SPACE_GAPS, 1 | 2 | 4, 0},    {SPACE_PITCH, 0, 1 | 4 | 8, 0},
        {0, 0, 1 | 2 | 4, NO_ZERO},
    };
    static const hn_q8_type types[] = {HN_Q8_U8, HN_Q8_S8, HN_Q8_S32};
    for (int k = 0; k < SPACE_SHAPES; k++)
        for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
            hn_dequantize_q8 p = {space_of(4, space_shapes[k]), types[(k + i) % 3]};
            char name[64];
            snprintf(name, sizeof name, "%d_%zu", k, i);
            add(list, name, p, how[i].x, how[i].y, how[i].s, how[i].flags);
        }
    /* Channels beside each other, few and many, that go to planes. */
    static const int64_t planes[][4] = {{2, 1, 3, 700}, {1, 2, 16, 300}, {1, 3, 20, 33},
                                        {1, 1, 35, 17}, {1, 1, 64, 270}, {1, 1, 17, 5}};
    static const int scales[] = {SPACE_SINGLE, 1 | 2 | 4, 1 | 2 | 8, 1 | 2};
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 8; i++) {
            hn_dequantize_q8 p = {space_of(4, planes[k]), types[(k + i) % 2]};
            char name[64];
            snprintf(name, sizeof name, "planes_%d_%d", k, i);
            add(list, name, p, SPACE_EXCHANGED | (i < 4 ? 0 : SPACE_PITCH),
                k % 2 == 0 ? 0 : SPACE_PITCH, scales[i % 4], i == 2 ? NO_ZERO : 0);
        }
    hn_dequantize_q8 p = {.space = space_of(4, (const int64_t[]){2, 3, 0, 5})};
    add(list, "empty", p, 0, 0, SPACE_SINGLE, 0);
    for (size_t i = 0; i < 3; i++) {
        p = (hn_dequantize_q8){space_of(4, (const int64_t[]){1, 1, 3136, 64}), types[i]};
        add(list, "3136x64", p, 0, 0, SPACE_SINGLE, BENCH);
        add(list, "channels_3136x64", p, 0, 0, 7, BENCH);
    }
    p = (hn_dequantize_q8){space_of(4, (const int64_t[]){1, 1, 64, 3136}), HN_Q8_U8};
    add(list, "image_64x56x56", p, SPACE_EXCHANGED, 0, SPACE_SINGLE, BENCH);
    p.space = space_of(4, (const int64_t[]){1, 1, 3, 50176});
    add(list, "image_3x224x224", p, SPACE_EXCHANGED, 0, SPACE_SINGLE, BENCH);
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const check_operand *o = &c->operand[operand];
    if (o->type == CHECK_U8) space_fill_bytes(o, kind, rng, data);
    for (size_t i = 0; o->type == CHECK_I32 && i < o->count; i++) {
        uint32_t bits = (uint32_t)hn_rng_u64(rng);
        ((uint32_t *)data)[i] = kind == CHECK_EXTREME ? bits : bits % 4096 - 2048;
    }
    return o->type != CHECK_F32;
}

const check_family check_dequantize_q8 = {
    .family = &hn_dequantize_q8_family, .cases = cases, .fill = fill};
