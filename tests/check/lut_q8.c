/* Cases of lut_q8: rows of every length, every way an operand may lie, in place; shapes of real
 * models for timing. */
#include "kernels/lut_q8/lut_q8.h"

#include <stdio.h>
#include <string.h>

#include "space.h"

enum { IN_PLACE = 1, BENCH = 2 };

static void add(check_list *list, const char *name, const int64_t *dims, int x, int y, int flags) {
    hn_lut_q8 p = {space_of(2, dims)};
    check_case *c = check_add(list, "%s", name);
    space_strides(&p.space, HN_LUT_Q8_X, x);
    space_strides(&p.space, HN_LUT_Q8_Y, y);
    bool same = flags & IN_PLACE;
    check_operand_add(c, same ? CHECK_SAME : CHECK_IN, CHECK_U8,
                      space_extent(&p.space, HN_LUT_Q8_X));
    c->operand[HN_LUT_Q8_X].same = HN_LUT_Q8_Y;
    check_operand_add(c, same ? CHECK_INOUT : CHECK_OUT, CHECK_U8,
                      space_extent(&p.space, HN_LUT_Q8_Y));
    check_operand_add(c, CHECK_IN, CHECK_U8, 256);
    c->bytes = 2.0 * (double)hn_space_count(&p.space);
    c->bench = (flags & BENCH) != 0;
    hn_space_collapse(&p.space, HN_LUT_Q8_Y);
    memcpy(c->problem, &p, sizeof p);
}

static void cases(check_list *list) {
    static const struct {
        int x, y, flags;
    } how[] = {{0, 0, 0},
               {SPACE_PITCH, SPACE_PITCH, IN_PLACE},
               {SPACE_GAPS, SPACE_PITCH, 0},
               {SPACE_EXCHANGED, 0, 0},
               {4, SPACE_GAPS, 0}};
    for (int k = 0; k < SPACE_SHAPES; k++)
        for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
            char name[64];
            snprintf(name, sizeof name, "%d_%zu", k, i);
            add(list, name, space_shapes[k], how[i].x, how[i].y, how[i].flags);
        }
    add(list, "all_256", (const int64_t[]){1, 1, 1, 4096}, 0, 0, IN_PLACE);
    add(list, "empty", (const int64_t[]){2, 3, 0, 5}, 0, 0, 0);
    add(list, "3136x64", (const int64_t[]){1, 1, 3136, 64}, 0, 0, BENCH);
    add(list, "49x24", (const int64_t[]){1, 1, 49, 24}, 0, 0, BENCH);
    add(list, "pitch_3136x24", (const int64_t[]){1, 1, 3136, 24}, SPACE_PITCH, SPACE_PITCH, BENCH);
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    space_fill_bytes(&c->operand[operand], kind, rng, data);
    return true;
}

const check_family check_lut_q8 = {.family = &hn_lut_q8_family, .cases = cases, .fill = fill};
