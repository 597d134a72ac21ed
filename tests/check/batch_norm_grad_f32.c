/* Cases of batch_norm_grad_f32: channels around every vector length, few pixels and many, each
 * operand there or not, in place. */
#include "kernels/batch_norm_grad_f32/batch_norm_grad_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum {
    GAPS = 1,
    GATE = 2,
    NO_DX = 4,
    NO_DS = 8,
    NO_DB = 16,
    IN_PLACE = 32,
    LIMIT = 64,
    BENCH = 128
};

static void add(check_list *list, int64_t n, int64_t c, int flags) {
    check_case *k = check_add(list, "%lldx%lld_%d", (long long)n, (long long)c, flags);
    int64_t gap = flags & GAPS ? 3 : 0;
    hn_batch_norm_grad_f32 p = {.n = n,
                                .c = c,
                                .x_pixel = c + gap,
                                .dy_pixel = c + 2 * gap,
                                .gate_pixel = c + 3 * gap,
                                .dx_pixel = c + (flags & IN_PLACE ? 2 : 4) * gap,
                                .epsilon = 1e-5f,
                                .limit = flags & LIMIT ? 0.5f : 0};
    memcpy(k->problem, &p, sizeof p);
    bool place = (flags & IN_PLACE) != 0;
    check_operand_add(k, place ? CHECK_SAME : CHECK_IN, CHECK_F32, (n - 1) * p.dy_pixel + c);
    check_operand_add(k, CHECK_IN, CHECK_F32, (n - 1) * p.x_pixel + c);
    for (int i = 0; i < 3; i++) check_operand_add(k, CHECK_IN, CHECK_F32, c);
    check_operand_add(k, flags & GATE ? CHECK_IN : CHECK_ABSENT, CHECK_F32,
                      (n - 1) * p.gate_pixel + c);
    check_operand_add(k,
                      place           ? CHECK_INOUT
                      : flags & NO_DX ? CHECK_ABSENT
                                      : CHECK_OUT,
                      CHECK_F32, (n - 1) * p.dx_pixel + c);
    check_operand_add(k, flags & NO_DS ? CHECK_ABSENT : CHECK_OUT, CHECK_F32, c);
    check_operand_add(k, flags & NO_DB ? CHECK_ABSENT : CHECK_OUT, CHECK_F32, c);
    k->operand[HN_BNG_DY].same = HN_BNG_DX;
    k->rel = 8 + 2 * sqrt((double)n);
    k->abs = 2e-6 * sqrt((double)n) + 1e-5;
    k->only_random = true;
    k->bench = (flags & BENCH) != 0;
    k->flops = 8.0 * (double)(n * c);
    k->bytes = 20.0 * (double)(n * c);
}

static void cases(check_list *list) {
    static const int64_t channels[] = {1, 3, 4, 8, 15, 16, 17, 33, 64, 300};
    static const int64_t pixels[] = {1, 2, 5, 64, 1700};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (size_t k = 0; k < sizeof pixels / sizeof *pixels; k++)
            add(list, pixels[k], channels[i], ((i + k) % 3 == 0 ? GAPS : 0) | (k % 2 ? GATE : 0));
    for (int flags = 0; flags < BENCH; flags++)
        if (!(flags & NO_DX)) add(list, 37, 20, flags); /* else the scale changes nothing */
    add(list, 128 * 1024, 16, BENCH);
    add(list, 128 * 1024, 16, BENCH | GATE);
    add(list, 128 * 1024, 16, BENCH | GATE | LIMIT);
    add(list, 128 * 64, 64, BENCH);
}

/* A variance is positive. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    (void)kind;
    if (operand != HN_BNG_VAR) return false;
    for (size_t i = 0; i < c->operand[operand].count; i++)
        ((float *)data)[i] = (float)(0.1 + hn_rng_f64(rng));
    return true;
}

const check_family check_batch_norm_grad_f32 = {
    .family = &hn_batch_norm_grad_f32_family, .cases = cases, .fill = fill};
