/* Cases of channel_stats_f32: channels around every vector length, few pixels and many. */
#include "kernels/channel_stats_f32/channel_stats_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

static void add(check_list *list, int64_t n, int64_t c, int64_t gap, bool bench) {
    check_case *k = check_add(list, "%lldx%lld%s", (long long)n, (long long)c, gap ? "_gaps" : "");
    hn_channel_stats_f32 p = {.n = n, .c = c, .x_pixel = c + gap};
    memcpy(k->problem, &p, sizeof p);
    check_operand_add(k, CHECK_IN, CHECK_F32, (n - 1) * p.x_pixel + c);
    check_operand_add(k, CHECK_OUT, CHECK_F32, c);
    check_operand_add(k, CHECK_OUT, CHECK_F32, c);
    /* Numbers are within [-1, 1]. */
    k->rel = 4 + 2 * sqrt((double)n);
    k->abs = 1e-6;
    k->only_random = true;
    k->bench = bench;
    k->flops = 5.0 * (double)(n * c);
    k->bytes = 4.0 * (double)(n * c);
}

static void cases(check_list *list) {
    static const int64_t channels[] = {1, 3, 4, 7, 8, 15, 16, 17, 33, 64, 300, 5000};
    static const int64_t pixels[] = {1, 2, 5, 64, 700, 9001};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (size_t k = 0; k < sizeof pixels / sizeof *pixels; k++)
            if (channels[i] * pixels[k] < 700000)
                add(list, pixels[k], channels[i], (i + k) % 3 == 0 ? 5 : 0, false);
    add(list, 128 * 1024, 16, 0, true);
    add(list, 128 * 64, 64, 0, true);
}

const check_family check_channel_stats_f32 = {.family = &hn_channel_stats_f32_family,
                                              .cases = cases};
