/* Cases of group_norm_f32: channels around every vector length, groups of all sizes, one chunk of
 * pixels and many, in place, slices of channels; layers of real models for timing. */
#include "kernels/group_norm_f32/group_norm_f32.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

enum { SCALE = 1, BIAS = 2, GAPS = 4, IN_PLACE = 8, BENCH = 16 };

static void add(check_list *list, const char *name, int64_t batch, int64_t pixels, int64_t channels,
                int64_t groups, int act, int flags) {
    int64_t gap = flags & GAPS ? 5 : 0;
    hn_group_norm_f32 p = {.batch = batch,
                           .pixels = pixels,
                           .channels = channels,
                           .groups = groups,
                           .x_pixel = channels + gap,
                           .y_pixel = channels + (flags & IN_PLACE ? gap : 2 * gap),
                           .epsilon = 1e-5f,
                           .act = {(hn_act_kind)act, 0.25f, 1.5f}};
    p.x_image = pixels * p.x_pixel + gap;
    p.y_image = pixels * p.y_pixel + gap;
    check_case *c = check_add(list, "%s", name);
    memcpy(c->problem, &p, sizeof p);
    int64_t x = (batch - 1) * p.x_image + (pixels - 1) * p.x_pixel + channels;
    int64_t y = (batch - 1) * p.y_image + (pixels - 1) * p.y_pixel + channels;
    check_operand_add(c, flags & IN_PLACE ? CHECK_SAME : CHECK_IN, CHECK_F32, x);
    check_operand_add(c, flags & SCALE ? CHECK_IN : CHECK_ABSENT, CHECK_F32, channels);
    check_operand_add(c, flags & BIAS ? CHECK_IN : CHECK_ABSENT, CHECK_F32, channels);
    check_operand_add(c, flags & IN_PLACE ? CHECK_INOUT : CHECK_OUT, CHECK_F32, y);
    c->operand[HN_GROUP_NORM_X].same = HN_GROUP_NORM_Y;
    c->rel = 60;
    c->abs = 1e-5; /* errors are relative to the largest element, at least 1 on random data */
    c->bench = (flags & BENCH) != 0;
    c->flops = (double)(batch * pixels * channels);
    c->bytes = 8 * c->flops;
}

static void cases(check_list *list) {
    static const int64_t sizes[][4] = {
        /* batch, pixels, channels, groups */
        {1, 9, 3, 1},    {2, 25, 4, 4},    {1, 49, 7, 7},  {2, 16, 8, 2},   {1, 30, 15, 5},
        {1, 30, 16, 4},  {3, 20, 17, 17},  {1, 64, 30, 3}, {1, 10, 32, 32}, {2, 100, 33, 11},
        {1, 300, 96, 8}, {1, 1000, 40, 4}, {2, 5, 9000, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char name[64];
        snprintf(name, sizeof name, "norm_%lldx%lldx%lld_%lld", (long long)sizes[i][0],
                 (long long)sizes[i][1], (long long)sizes[i][2], (long long)sizes[i][3]);
        add(list, name, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], HN_ACT_NONE,
            (int)(i % 4) | (i % 3 == 0 ? GAPS : 0) | (i % 5 == 0 ? IN_PLACE : 0));
    }
    for (int act = 0; act < HN_ACT_COUNT_; act++) {
        char name[64];
        snprintf(name, sizeof name, "activation_%d", act);
        add(list, name, 1, 40, 20, 5, act, SCALE | BIAS);
    }
    add(list, "empty", 1, 1, 0, 1, HN_ACT_NONE, 0);
    add(list, "group32_1024x320", 1, 1024, 320, 32, HN_ACT_SILU, SCALE | BIAS | BENCH);
    add(list, "instance_3136x64", 1, 3136, 64, 64, HN_ACT_CLIP, SCALE | BIAS | BENCH);
}

/* Errors are relative to the largest element of a row: scales of 1e15 would leave nothing to
 * compare. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    if (kind != CHECK_EXTREME || (operand != HN_GROUP_NORM_SCALE && operand != HN_GROUP_NORM_BIAS))
        return false;
    float *x = data;
    for (size_t i = 0; i < c->operand[operand].count; i++) x[i] = (float)(2 * hn_rng_f64(rng) - 1);
    return true;
}

const check_family check_group_norm_f32 = {
    .family = &hn_group_norm_f32_family, .cases = cases, .fill = fill};
