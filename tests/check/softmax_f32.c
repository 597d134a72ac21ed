/* Cases of softmax_f32: rows around every vector length, masks that broadcast in all ways, in
 * place, rows of something larger; attention of real models for timing. */
#include "kernels/softmax_f32/softmax_f32.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { LOG = 1, IN_PLACE = 2, GAPS = 4, MASK = 8, MASK_ONE = 16, BENCH = 32 };

/* MASK: one per row of axis 2, the same for axes 0 and 1. MASK_ONE: the same for all rows. */
static void add(check_list *list, const char *name, int64_t a, int64_t b, int64_t c, int64_t n,
                float scale, int flags) {
    int64_t pitch = flags & GAPS ? n + 3 : n;
    hn_softmax_f32 p = {.n = n,
                        .rows = {1, a, b, c},
                        .x_stride = {0, b * c * pitch, c * pitch, pitch},
                        .y_stride = {0, b * c * pitch, c * pitch, pitch},
                        .scale = scale,
                        .log = (flags & LOG) != 0};
    int64_t mask = 0;
    if (flags & MASK) p.mask_stride[3] = n + 1, mask = (c - 1) * (n + 1) + n;
    if (flags & MASK_ONE) mask = n;
    int64_t count = (a * b * c - 1) * pitch + n;
    check_case *k = check_add(list, "%s", name);
    memcpy(k->problem, &p, sizeof p);
    check_operand_add(k, flags & IN_PLACE ? CHECK_SAME : CHECK_IN, CHECK_F32, count);
    check_operand_add(k, mask > 0 ? CHECK_IN : CHECK_ABSENT, CHECK_F32, mask);
    check_operand_add(k, flags & IN_PLACE ? CHECK_INOUT : CHECK_OUT, CHECK_F32, count);
    k->operand[HN_SOFTMAX_X].same = HN_SOFTMAX_Y;
    /* 5e-6, most of it where an element is e^-80 of the largest. */
    k->rel = 100 + 4 * (double)scale;
    k->abs = flags & LOG ? 1e-6 * (1 + (double)scale) : 1e-37;
    k->bench = (flags & BENCH) != 0;
    k->flops = (double)(a * b * c * n);
    k->bytes = 8 * k->flops + 4 * (double)mask;
}

static void cases(check_list *list) {
    static const int64_t lengths[] = {1,  2,  3,  4,  5,  7,  8,  9,   15,  16,   17,
                                      31, 32, 33, 47, 63, 64, 65, 128, 511, 1000, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char name[64];
        for (int log = 0; log < 2; log++) {
            snprintf(name, sizeof name, "%s_%lld", log ? "log" : "row", (long long)lengths[i]);
            if (lengths[i] == 1) /* always 1, or log 1 */
                continue;
            add(list, name, 1, 1, 3, lengths[i], 1.0f, log ? LOG : 0);
        }
        snprintf(name, sizeof name, "mask_%lld", (long long)lengths[i]);
        if (lengths[i] > 1) add(list, name, 2, 1, 3, lengths[i], 0.125f, MASK);
    }
    add(list, "many_rows", 3, 5, 70, 20, 3.0f, 0);
    add(list, "in_place", 2, 3, 7, 37, 0.5f, IN_PLACE);
    add(list, "in_place_log", 2, 3, 7, 37, 0.5f, IN_PLACE | LOG);
    add(list, "gaps", 2, 3, 7, 41, 1.0f, GAPS | MASK);
    add(list, "mask_of_all_log", 2, 3, 7, 40, 1.0f, LOG | MASK_ONE);
    add(list, "mask_of_all", 2, 3, 7, 45, 1.5f, MASK_ONE);
    add(list, "steep", 1, 1, 40, 100, 90.0f, 0);
    add(list, "empty", 1, 2, 3, 0, 1.0f, 0);
    add(list, "attention_12x128x128", 1, 12, 128, 128, 0.125f, BENCH | MASK);
    add(list, "attention_in_place_12x128x128", 1, 12, 128, 128, 0.125f, BENCH | IN_PLACE);
    add(list, "plain_32x512", 1, 1, 32, 512, 1.0f, BENCH);
    add(list, "plain_1536x768", 1, 1, 1536, 768, 1.0f, BENCH);
    add(list, "plain_8x50000", 1, 1, 8, 50000, 1.0f, BENCH);
    add(list, "log_32x512", 1, 1, 32, 512, 1.0f, BENCH | LOG);
    add(list, "classes_1x1000", 1, 1, 1, 1000, 1.0f, BENCH);
}

const check_family check_softmax_f32 = {.family = &hn_softmax_f32_family, .cases = cases};
