/* Cases of matmul_nbits: codes of both sizes, every kind of zero point, blocks that end early, and
 * plain codes and scales that lie either way.
 */
#include "kernels/matmul_nbits/matmul_nbits.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum {
    ZEROS = 1,
    FLOAT_ZEROS = 2,
    SIGNED = 4,
    TURNED = 8,
    BIAS = 16,
    IN_PLACE = 32,
    BENCH = 64,
    ROUNDED = 128
};

static void add(check_list *list, int bits, int64_t m, int64_t k, int64_t n, int64_t block,
                int flags) {
    check_case *c = check_add(list, "%d_%lldx%lldx%lldb%lld_%d", bits, (long long)m, (long long)k,
                              (long long)n, (long long)block, flags);
    int64_t blocks = (k + block - 1) / block, gap = flags & BENCH ? 0 : 3;
    hn_matmul_nbits p = {.m = m, .n = n, .k = k, .block = block, .bits = bits};
    p.x_m = k + gap, p.y_m = n + gap;
    p.r_m = flags & IN_PLACE ? p.y_m : 0;
    p.w_signed = (flags & SIGNED) != 0;
    p.zero = flags & SIGNED ? 1 << (bits - 1) : 3;
    if (flags & BENCH) p.zero = 1 << (bits - 1);
    p.zeros = flags & ZEROS ? HN_NBITS_U8 : flags & FLOAT_ZEROS ? HN_NBITS_F32 : HN_NBITS_ONE;
    /* Rows of codes end with their last block, as MatMulNBits has them. */
    p.w_n = flags & TURNED ? 1 : blocks * block, p.w_k = flags & TURNED ? n : 1;
    p.s_n = flags & TURNED ? 1 : blocks, p.s_g = flags & TURNED ? n : 1;
    p.x_rounded = (flags & ROUNDED) != 0;
    if (flags & BIAS) p.act = (hn_act){HN_ACT_SILU, 1, 0};
    memcpy(c->problem, &p, sizeof p);
    int64_t codes = flags & TURNED ? n * k : n * blocks * block;
    check_operand_add(c, CHECK_IN, CHECK_F32, (m - 1) * p.x_m + k);
    check_operand_add(c, CHECK_WEIGHTS, CHECK_U8, (codes * bits + 7) / 8);
    check_operand_add(c, CHECK_IN, CHECK_F32, n * blocks);
    check_operand_add(c, flags & (ZEROS | FLOAT_ZEROS) ? CHECK_IN : CHECK_ABSENT,
                      flags & ZEROS ? CHECK_U8 : CHECK_F32, n * blocks);
    check_operand_add(c, flags & BIAS ? CHECK_IN : CHECK_ABSENT, CHECK_F32, n);
    check_operand_add(c, flags & IN_PLACE ? CHECK_SAME : CHECK_ABSENT, CHECK_F32, 0);
    check_operand_add(c, flags & IN_PLACE ? CHECK_INOUT : CHECK_OUT, CHECK_F32,
                      (m - 1) * p.y_m + n);
    c->operand[HN_NBITS_R].same = HN_NBITS_Y;
    c->rel = 8 + 2 * sqrt((double)k);
    if (flags & BIAS) c->rel *= 2, c->abs = 2e-6;
    c->exact = !(flags & (BIAS | ROUNDED));
    c->bench = flags & BENCH;
    c->flops = 2 * (double)m * (double)n * (double)k;
    c->bytes = (double)codes * bits / 8 + 4 * (double)(n * blocks + m * k + m * n);
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const hn_matmul_nbits *p = (const hn_matmul_nbits *)c->problem;
    size_t n = c->operand[operand].count;
    bool is_z = operand == HN_NBITS_Z;
    if (operand == HN_NBITS_S) {
        for (size_t i = 0; i < n; i++)
            ((float *)data)[i] = kind == CHECK_EXACT ? (float)(1 << hn_rng_below(rng, 3)) / 4
                                                     : 0.25F + (float)hn_rng_f64(rng);
    } else if (operand == HN_NBITS_W || (is_z && p->zeros == HN_NBITS_U8)) {
        uint64_t below = is_z ? (uint64_t)1 << p->bits : 256;
        for (size_t i = 0; i < n; i++) ((uint8_t *)data)[i] = (uint8_t)hn_rng_below(rng, below);
    } else if (is_z) {
        for (size_t i = 0; i < n; i++)
            ((float *)data)[i] = (float)hn_rng_below(rng, (uint64_t)2 << p->bits) / 2;
    } else {
        return false;
    }
    return true;
}

static void cases(check_list *list) {
    static const int flags[] = {
        SIGNED, 0, ZEROS, FLOAT_ZEROS | BIAS, TURNED | SIGNED | ZEROS, TURNED | IN_PLACE};
    for (int bits = 4; bits <= 8; bits += 4)
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
            int f = flags[i];
            add(list, bits, 1, 64, 64, 32, f);
            add(list, bits, 1, 17, 5, 16, f);
            add(list, bits, 1, 3, 3, 16, f);
            add(list, bits, 1, 700, 83, 32, f);
            add(list, bits, 3, 96, 33, 96, f);
            add(list, bits, 5, 323, 40, 16, f);
            add(list, bits, 13, 130, 70, 128, f);
            add(list, bits, 16, 100, 48, 100, f);
            add(list, bits, 31, 256, 80, 64, f);
            add(list, bits, 37, 610, 35, 256, f);
        }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        int f = flags[i] | ROUNDED;
        add(list, 4, 1, 17, 5, 16, f);
        add(list, 4, 1, 700, 83, 32, f);
        add(list, 4, 5, 323, 40, 16, f);
        add(list, 4, 16, 100, 48, 100, f);
        add(list, 4, 37, 610, 35, 256, f);
        add(list, 4, 140, 260, 45, 64, f);
        add(list, 4, 300, 1100, 67, 32, f);
        add(list, 4, 47, 1290, 130, 128, f);
        add(list, 4, 33, 70, 20, 64, f);
    }
    add(list, 4, 70, 1100, 530, 32, BIAS);
    add(list, 4, 130, 320, 34, 32, ZEROS | IN_PLACE);
    add(list, 8, 150, 320, 34, 128, ZEROS);

    static const int64_t sizes[][2] = {{4096, 4096}, {4096, 11008}};
    for (int s = 0; s < 2; s++)
        for (int64_t block = 32; block <= 128; block *= 4) {
            add(list, 4, 1, sizes[s][0], sizes[s][1], block, BENCH);
            add(list, 4, 1, sizes[s][0], sizes[s][1], block, ZEROS | BENCH);
            add(list, 4, 1, sizes[s][0], sizes[s][1], block, ROUNDED | BENCH);
            add(list, 8, 1, sizes[s][0], sizes[s][1], block, BENCH);
        }
    for (int64_t m = 4; m <= 128; m *= 2) {
        add(list, 4, m, 4096, 4096, 32, BENCH);
        add(list, 4, m, 4096, 4096, 128, BENCH);
        add(list, 4, m, 4096, 4096, 32, ROUNDED | BENCH);
        add(list, 4, m, 4096, 4096, 64, ROUNDED | BENCH);
        add(list, 4, m, 4096, 4096, 128, ROUNDED | BENCH);
    }
    add(list, 8, 128, 4096, 4096, 128, BENCH);
    for (int64_t m = 1; m <= 8; m *= 2) add(list, 8, m, 257, 512, 257, SIGNED | BENCH);
}

/* Codes count from so low that no difference is larger, and all have one sign. */
static void magnitude(void *problem) {
    hn_matmul_nbits *p = problem;
    p->act = (hn_act){0};
    p->zeros = HN_NBITS_ONE;
    p->zero = -(1 << p->bits);
}

const check_family check_matmul_nbits = {
    .family = &hn_matmul_nbits_family, .cases = cases, .magnitude = magnitude, .fill = fill};
