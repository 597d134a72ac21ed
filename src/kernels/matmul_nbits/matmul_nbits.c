#include "kernels/matmul_nbits/matmul_nbits.h"

#include <string.h>

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/matmul_nbits/matmul_nbits.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/matmul_nbits/matmul_nbits.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_NBITS_X, 1, offsetof(hn_matmul_nbits, m), offsetof(hn_matmul_nbits, x_m)},
    {HN_NBITS_X, 1, offsetof(hn_matmul_nbits, k), HN_ADJACENT},
    {HN_NBITS_R, 1, offsetof(hn_matmul_nbits, m), offsetof(hn_matmul_nbits, r_m)},
    {HN_NBITS_R, 1, offsetof(hn_matmul_nbits, n), HN_ADJACENT},
    {HN_NBITS_Y, 1, offsetof(hn_matmul_nbits, m), offsetof(hn_matmul_nbits, y_m)},
    {HN_NBITS_Y, 1, offsetof(hn_matmul_nbits, n), HN_ADJACENT},
};

static bool may_replace(const void *problem, int operand, int result) {
    (void)result;
    const hn_matmul_nbits *p = problem;
    return operand == HN_NBITS_R && hn_axes_agree(1, &p->m, &p->r_m, &p->y_m);
}

static bool end(void *problem, hn_epilogue *out) {
    hn_matmul_nbits *p = problem;
    *out = (hn_epilogue){.act = &p->act,
                         .bias = HN_NBITS_BIAS,
                         .residual = HN_NBITS_R,
                         .rank = 2,
                         .dims = {p->m, p->n},
                         .strides = {p->y_m, 1},
                         .r_strides = &p->r_m,
                         .n_r = 1};
    return true;
}

const hn_family hn_matmul_nbits_family = {
    .name = "matmul_nbits",
    .help = "matrix product by a constant of 4- or 8-bit integers with a scale for each block",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .weights = HN_NBITS_W,
    .multiplies = true,
    .may_replace = may_replace,
    .result = HN_NBITS_Y,
    .end = end,
};

bool hn_nbits_prefers_floats(const hn_matmul_nbits *p, hn_isa isa) {
    enum { FEW_ROWS = 8 };
    const hn_allowed allowed = {.isa = isa};
    const char *why;
#if defined(__x86_64__)
    if (hn_kernel_serves(&hn_matmul_nbits_three_amx, allowed, p, &why)) return false;
#elif defined(__aarch64__)
    /* In shorter blocks what is done for each of them takes longer than products of floats. */
    if (p->block >= HN_NBITS_PIECE &&
        hn_kernel_serves(&hn_matmul_nbits_digits_neoni8mm, allowed, p, &why))
        return false;
#else
    (void)allowed, (void)why;
#endif
    return p->m > FEW_ROWS;
}

bool hn_nbits_rounds(const hn_matmul_nbits *p, hn_isa isa) {
    hn_matmul_nbits rounded = *p;
    rounded.x_rounded = true;
    const hn_kernel *k =
        hn_kernel_choose(&hn_matmul_nbits_family, (hn_allowed){.isa = isa}, &rounded, NULL, NULL);
    return k != &hn_matmul_nbits_ref;
}

int hn_nbits_code(const hn_matmul_nbits *p, const uint8_t *plain, int64_t n, int64_t k) {
    int64_t i = n * p->w_n + k * p->w_k;
    if (p->bits == 8) return plain[i] ^ (p->w_signed ? 0x80 : 0);
    return (plain[i / 2] >> i % 2 * 4 & 15) ^ (p->w_signed ? 8 : 0);
}

size_t hn_nbits_packed_bytes(const void *problem) {
    const hn_matmul_nbits *p = problem;
    return (size_t)(hn_nbits_panels(p) * hn_nbits_panel_bytes(p));
}

uint64_t hn_nbits_pack_key(const void *problem) {
    const hn_matmul_nbits *p = problem;
    const int64_t of[] = {p->n, p->k, p->w_n, p->w_k, p->bits, p->w_signed};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

/* `codes` codes of column n from k on. */
static uint32_t pack_word(const hn_matmul_nbits *p, const uint8_t *plain, int64_t n, int64_t k,
                          int64_t codes) {
    uint32_t word = 0;
    int64_t at = n * p->w_n + k;
    if (p->w_k == 1 && codes * p->bits == 32 && at * p->bits % 8 == 0) {
        memcpy(&word, plain + at * p->bits / 8, sizeof word);
        if (p->bits == 8) return p->w_signed ? word : word ^ 0x80808080;
        return p->w_signed ? word ^ 0x88888888 : word;
    }
    for (int64_t i = 0; i < codes; i++) {
        uint32_t code = (uint32_t)hn_nbits_code(p, plain, n, k + i);
        if (p->bits == 8) code ^= 0x80;
        word |= code << i * p->bits;
    }
    return word;
}

/* A word of each column of a panel, from adjacent columns of 8-bit codes, of four k. */
static void pack_columns(const hn_matmul_nbits *p, const uint8_t *codes, uint32_t *to) {
    const uint32_t flip = p->w_signed ? 0 : 0x80808080;
    const uint8_t *a = codes, *b = a + p->w_k, *c = b + p->w_k, *d = c + p->w_k;
    for (int j = 0; j < HN_NBITS_PANEL; j++)
        to[j] = (a[j] | (uint32_t)b[j] << 8 | (uint32_t)c[j] << 16 | (uint32_t)d[j] << 24) ^ flip;
}

int64_t hn_nbits_pack_tasks(const void *problem) { return hn_nbits_panels(problem); }

void hn_nbits_pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                   void *dst) {
    const hn_matmul_nbits *p = problem;
    int64_t each = 32 / p->bits, words = hn_nbits_panel_bytes(p) / (4 * HN_NBITS_PANEL);
    uint32_t *to = (uint32_t *)dst + begin * words * HN_NBITS_PANEL;
    for (int64_t n = begin * HN_NBITS_PANEL; n < end * HN_NBITS_PANEL; n += HN_NBITS_PANEL) {
        bool adjacent = p->bits == 8 && p->w_n == 1 && n + HN_NBITS_PANEL <= p->n;
        for (int64_t i = 0; i < words; i++, to += HN_NBITS_PANEL) {
            int64_t left = p->k - i * each, codes = left < each ? left : each;
            if (adjacent && codes == each) {
                pack_columns(p, (const uint8_t *)plain->data + i * each * p->w_k + n, to);
                continue;
            }
            for (int64_t j = 0; j < HN_NBITS_PANEL; j++)
                to[j] = n + j < p->n && codes > 0
                            ? pack_word(p, plain->data, n + j, i * each, codes)
                            : 0;
        }
    }
}
