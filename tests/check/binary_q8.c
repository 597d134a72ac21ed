/* Cases of binary_q8: both operations over every mixture of types, multipliers that saturate and
 * make ties, every way an operand may lie, in place; shapes of real models for timing. */
#include "kernels/binary_q8/binary_q8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "space.h"

enum { A_IN_PLACE = 1, B_IN_PLACE = 2, BENCH = 4 };

static void add(check_list *list, const char *name, hn_binary_q8 p, int a, int b, int y,
                int flags) {
    check_case *c = check_add(list, "%s_%s", p.kind == HN_BINARY_Q8_ADD ? "add" : "mul", name);
    const int how[] = {a, b, y};
    bool same = flags & (A_IN_PLACE | B_IN_PLACE);
    for (int i = 0; i < 3; i++) {
        space_strides(&p.space, i, how[i]);
        bool here = flags & (i == HN_BINARY_Q8_A ? A_IN_PLACE : B_IN_PLACE);
        check_role role =
            i < HN_BINARY_Q8_Y ? (here ? CHECK_SAME : CHECK_IN) : (same ? CHECK_INOUT : CHECK_OUT);
        check_operand_add(c, role, CHECK_U8, space_extent(&p.space, i));
        c->operand[i].same = HN_BINARY_Q8_Y;
    }
    c->bytes = 3.0 * (double)hn_space_count(&p.space);
    c->bench = (flags & BENCH) != 0;
    hn_space_collapse(&p.space, HN_BINARY_Q8_Y);
    memcpy(c->problem, &p, sizeof p);
}

static hn_binary_q8 problem(hn_binary_q8_kind kind, const int64_t *dims, int variant) {
    hn_binary_q8 p = {.space = space_of(3, dims),
                      .kind = kind,
                      .a = variant & 1 ? HN_Q8_S8 : HN_Q8_U8,
                      .b = variant & 2 ? HN_Q8_S8 : HN_Q8_U8,
                      .y = variant & 4 ? HN_Q8_S8 : HN_Q8_U8,
                      .ma = kind == HN_BINARY_Q8_MUL ? 0.004f : 0.73f,
                      .mb = variant % 3 == 0 ? -0.41f : 0.41f};
    p.az = hn_q8_lowest(p.a) + variant * 31 % 256;
    p.bz = hn_q8_highest(p.b) - variant * 17 % 256;
    p.yz = hn_q8_lowest(p.y) + variant * 57 % 256;
    p.lo = variant % 4 == 3 ? p.yz : hn_q8_lowest(p.y);
    p.hi = variant % 5 == 4 ? p.yz + (hn_q8_highest(p.y) - p.yz) / 2 : hn_q8_highest(p.y);
    return p;
}

static void cases(check_list *list) {
    static const struct {
        int a, b, y, flags;
    } how[] = {{0, 0, 0, 0},
               {SPACE_PITCH, SPACE_PITCH, SPACE_PITCH, A_IN_PLACE},
               {0, 1 | 2 | 4, 0, 0}, /* per channel */
               {1 | 2 | 4 | 8, SPACE_PITCH, SPACE_PITCH, B_IN_PLACE},
               {0, 8, 0, 0}, /* per row */
               {SPACE_GAPS, 0, SPACE_GAPS, 0},
               {SPACE_EXCHANGED, 0, 4, 0}};
    char name[64];
    for (int k = 0; k < SPACE_SHAPES; k++)
        for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
            int variant = k * 7 + (int)i;
            hn_binary_q8 p = problem(variant % 2 ? HN_BINARY_Q8_MUL : HN_BINARY_Q8_ADD,
                                     space_shapes[k], variant / 2);
            /* An output has no two elements in one place. */
            int y = how[i].y == 4 ? SPACE_EXCHANGED : how[i].y;
            snprintf(name, sizeof name, "%d_%zu", k, i);
            add(list, name, p, how[i].a, how[i].b, y, how[i].flags);
        }
    static const float multipliers[] = {0.5f, 1.0f, 0.02f, 1e30f, -0.25f, 3e38f, 0.25f, 100.0f};
    for (int i = 0; i < 8; i++) {
        for (int kind = HN_BINARY_Q8_ADD; kind <= HN_BINARY_Q8_MUL; kind++) {
            hn_binary_q8 p =
                problem((hn_binary_q8_kind)kind, (const int64_t[]){1, 1, 1, 2000}, 8 + i);
            p.ma = multipliers[i], p.mb = multipliers[(i + 3) % 8];
            snprintf(name, sizeof name, "by_%d", i);
            add(list, name, p, 0, 0, 0, 0);
        }
    }
    /* Few channels, by a factor per channel, which is either operand. */
    static const int64_t channels[][4] = {
        {1, 1, 40, 16}, {1, 2, 33, 24}, {2, 3, 7, 72}, {1, 1, 9, 3}, {1, 1, 3, 300}};
    for (int i = 0; i < 20; i++) {
        hn_binary_q8 p =
            problem(i % 2 ? HN_BINARY_Q8_MUL : HN_BINARY_Q8_ADD, channels[i / 4], 1 + i % 6);
        const int per_channel = i / 4 == 2 ? 1 | 4 : 1 | 2 | 4;
        snprintf(name, sizeof name, "channels_%d", i);
        add(list, name, p, i % 4 < 2 ? 0 : per_channel, i % 4 < 2 ? per_channel : 0, 0, 0);
    }
    add(list, "empty", problem(HN_BINARY_Q8_ADD, (const int64_t[]){2, 3, 0, 5}, 0), 0, 0, 0, 0);
    const int64_t large[] = {1, 1, 3136, 64}, few[] = {1, 1, 49, 24}, thin[] = {1, 1, 3136, 16};
    add(list, "3136x64", problem(HN_BINARY_Q8_ADD, large, 0), 0, 0, 0, BENCH);
    add(list, "49x24", problem(HN_BINARY_Q8_ADD, few, 0), 0, 0, 0, BENCH);
    add(list, "3136x64", problem(HN_BINARY_Q8_MUL, large, 0), 0, 0, 0, BENCH);
    add(list, "channel_3136x16", problem(HN_BINARY_Q8_MUL, thin, 0), 0, 7, 0, BENCH);
    add(list, "channel_3136x64", problem(HN_BINARY_Q8_MUL, large, 0), 0, 7, 0, BENCH);
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    space_fill_bytes(&c->operand[operand], kind, rng, data);
    return true;
}

const check_family check_binary_q8 = {.family = &hn_binary_q8_family, .cases = cases, .fill = fill};
