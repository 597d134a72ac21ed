/* Cases of norm_f32: rows around every vector length, each operand there or not, in place, rows of
 * something larger; the layers of real models for timing. */
#include "kernels/norm_f32/norm_f32.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

enum {
    RMS = 1,
    R = 2,
    OFFSET = 4,
    SCALE = 8,
    BIAS = 16,
    SUM = 32,
    GAPS = 64,
    IN_PLACE = 128, /* y is x */
    SUM_IN_R = 256, /* the sum goes where r was */
    BENCH = 512,
    BY_ROW = 1024, /* scale and bias have an element for each of three rows */
    R_REPEATS = 2048,
    OUTSIDE = 4096, /* and the elements of every other row are equal */
};

static void add(check_list *list, const char *name, int64_t rows, int64_t n, int act, int flags) {
    int64_t gap = flags & GAPS ? 3 : 0;
    hn_norm_f32 p = {.rows = rows,
                     .n = n,
                     .x_row = n + gap,
                     .r_row = n + (flags & SUM_IN_R ? 4 * gap : 2 * gap),
                     .y_row = n + (flags & IN_PLACE ? gap : 3 * gap),
                     .sum_row = n + 4 * gap,
                     .r_rows = flags & R_REPEATS ? 2 : 0,
                     .epsilon = flags & OUTSIDE ? 0 : 1e-5f,
                     .outside = flags & OUTSIDE ? 1e-9f : 0,
                     .rms = (flags & RMS) != 0,
                     .act = {(hn_act_kind)act, 0.25f, 1.5f},
                     .row_scales = flags & BY_ROW ? 3 : 0};
    int64_t scales = flags & BY_ROW ? 3 : n;
    check_case *c = check_add(list, "%s", name);
    memcpy(c->problem, &p, sizeof p);
    int64_t tail = (rows - 1), whole = tail * n + n;
    check_role place = flags & IN_PLACE ? CHECK_INOUT : CHECK_OUT;
    check_operand_add(c, flags & IN_PLACE ? CHECK_SAME : CHECK_IN, CHECK_F32, tail * p.x_row + n);
    check_operand_add(c,
                      flags & SUM_IN_R ? CHECK_SAME
                      : flags & R      ? CHECK_IN
                                       : CHECK_ABSENT,
                      CHECK_F32, (flags & R_REPEATS ? 1 : tail) * p.r_row + n);
    check_operand_add(c, flags & OFFSET ? CHECK_IN : CHECK_ABSENT, CHECK_F32, n);
    check_operand_add(c, flags & SCALE ? CHECK_IN : CHECK_ABSENT, CHECK_F32, scales);
    check_operand_add(c, flags & BIAS ? CHECK_IN : CHECK_ABSENT, CHECK_F32, scales);
    check_operand_add(c, place, CHECK_F32, tail * p.y_row + n);
    check_operand_add(c,
                      flags & SUM_IN_R ? CHECK_INOUT
                      : flags & SUM    ? CHECK_OUT
                                       : CHECK_ABSENT,
                      CHECK_F32, tail * p.sum_row + n);
    c->operand[HN_NORM_X].same = HN_NORM_Y;
    c->operand[HN_NORM_R].same = HN_NORM_SUM;
    /* Errors are relative to the largest element of a row, which is at least 1 on random data. */
    c->rel = 60;
    c->abs = 1e-5;
    c->bench = (flags & BENCH) != 0;
    c->flops = (double)whole;
    c->bytes = 4.0 * (double)whole *
               (2 + ((flags & (R | SUM_IN_R)) != 0) + ((flags & (SUM | SUM_IN_R)) != 0));
}

static void cases(check_list *list) {
    add(list, "by_row", 7, 50, HN_ACT_NONE, SCALE | BIAS | BY_ROW);
    add(list, "by_row_scale", 5, 16, HN_ACT_CLIP, SCALE | BY_ROW | IN_PLACE);
    static const int64_t lengths[] = {2,  3,  4,  5,  8,  13,  16,  17,  31,  32,  33,
                                      63, 64, 65, 80, 96, 127, 129, 255, 768, 4099};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char name[64];
        snprintf(name, sizeof name, "layer_%lld", (long long)lengths[i]);
        add(list, name, 3, lengths[i], HN_ACT_NONE, SCALE | BIAS);
        snprintf(name, sizeof name, "rms_%lld", (long long)lengths[i]);
        add(list, name, 2, lengths[i], HN_ACT_NONE, RMS | R | SCALE);
    }
    for (int flags = 0; flags < 64; flags++) {
        char name[64];
        snprintf(name, sizeof name, "operands_%d", flags);
        add(list, name, 5, 37, HN_ACT_NONE, flags | (flags % 3 == 0 ? GAPS : 0));
    }
    for (int act = 0; act < HN_ACT_COUNT_; act++) {
        char name[64];
        snprintf(name, sizeof name, "activation_%d", act);
        add(list, name, 3, 70, act, SCALE | BIAS);
    }
    add(list, "many_rows", 301, 24, HN_ACT_NONE, SCALE | BIAS | R | SUM);
    add(list, "in_place", 7, 50, HN_ACT_NONE, SCALE | IN_PLACE | GAPS);
    add(list, "in_place_sum", 7, 50, HN_ACT_NONE, SCALE | R | IN_PLACE);
    add(list, "sum_in_r", 7, 50, HN_ACT_NONE, SCALE | SUM_IN_R | GAPS);
    add(list, "repeated", 7, 50, HN_ACT_NONE, R | R_REPEATS | GAPS | SCALE);
    add(list, "repeated_sum", 5, 33, HN_ACT_NONE, R | R_REPEATS | OFFSET | SUM);
    static const int64_t equal[] = {2, 7, 17, 64, 100, 3136, 5003};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        char name[64];
        snprintf(name, sizeof name, "outside_%lld", (long long)equal[i]);
        add(list, name, 6, equal[i], HN_ACT_NONE, OUTSIDE | (i % 2 == 0 ? GAPS : SCALE | BIAS));
    }
    add(list, "empty", 0, 8, HN_ACT_NONE, SCALE);
    add(list, "layer_128x768", 128, 768, HN_ACT_NONE, SCALE | BIAS | BENCH);
    add(list, "layer_8x768", 8, 768, HN_ACT_NONE, SCALE | BIAS | BENCH);
    add(list, "skip_128x768", 128, 768, HN_ACT_NONE, SCALE | BIAS | R | SUM | BENCH);
    add(list, "layer_128x384", 128, 384, HN_ACT_NONE, SCALE | BIAS | BENCH);
    add(list, "rms_32x2048", 32, 2048, HN_ACT_NONE, SCALE | RMS | BENCH);
}

/* Errors are relative to the largest element of a row: scales of 1e15 would leave nothing to
 * compare. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_norm_f32 p;
    float *x = data;
    memcpy(&p, c->problem, sizeof p);
    if (p.outside > 0 && operand == HN_NORM_X && kind == CHECK_RANDOM) {
        for (size_t i = 0; i < c->operand[operand].count; i++) {
            bool fresh = i % (size_t)p.x_row == 0 || i / (size_t)p.x_row % 2 == 0;
            x[i] = fresh ? (float)(2 * hn_rng_f64(rng) - 1) : x[i - 1];
        }
        return true;
    }
    if (kind != CHECK_EXTREME || (operand < HN_NORM_SCALE || operand > HN_NORM_BIAS)) return false;
    for (size_t i = 0; i < c->operand[operand].count; i++) x[i] = (float)(2 * hn_rng_f64(rng) - 1);
    return true;
}

const check_family check_norm_f32 = {.family = &hn_norm_f32_family, .cases = cases, .fill = fill};
