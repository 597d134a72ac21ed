/* matmul_nbits: product of f32 activations by a constant matrix of 4- or 8-bit integers.
 *
 *   y[i][j] = act(sum over k of x[i][k] * (w[j][k] - z[j][g]) * s[j][g] + bias[j] + r[i][j])
 *   g = k / block
 *
 * Codes w are numbers from 0 to 15, or to 255. Signed ones come as they are and count from the
 * middle: -8 is code 0. Strides of x, r and y are in floats, from row to row, and their columns are
 * adjacent. Plain codes lie anywhere by strides
 * counted in codes, the first of a byte in its low half; scales and zero points at the same index,
 * adjacent along j or along g. Operands may have any alignment of their type; y may be r itself
 * (same place, same strides), and overlaps nothing else.
 *
 * Error: as a sum of k products in f32, in the order the row names; codes less their zero points
 * are exact. The sum of a block, before its scale, must not overflow. Rows of digits move x
 * besides, by at most 2^-23 of the largest |x| of its piece: HN_NBITS_PIECE of k, or less where a
 * block ends.
 *
 * With x_rounded, x counts as u * q, q an integer of 8 bits; of a piece whose largest |x| is m
 *
 *   u = m / 127,   q[k] = x[k] * (127 / m) rounded to the nearest, ties to even    (0 where m is 0)
 *
 * each operation in f32. Rows of x are left as they are that hold an infinity, a NaN, or a piece
 * with 0 < m < HN_NBITS_TINY.
 *
 * All rows pack codes alike, in panels of 16 columns of words that a vector of columns unpacks by
 * shifts:
 *
 *   panel: [k / 8][column 16] words, code k + i in bits 4i     4 bits
 *          [k / 4][column 16] words, code k + i in bits 8i     8 bits, less 128
 *
 * k and columns are padded: k to whole steps of HN_NBITS_STEP with code 0. Scales and zero points
 * are read where they lie; a row turns 16 by 16 of them at a time.
 */
#ifndef HN_KERNELS_MATMUL_NBITS_H
#define HN_KERNELS_MATMUL_NBITS_H

#include "kernels/act.h"
#include "kernels/kernel.h"

/* Zero points: one for all, `zero`; or operand Z, of that type. */
typedef enum hn_nbits_zeros { HN_NBITS_ONE, HN_NBITS_U8, HN_NBITS_F32 } hn_nbits_zeros;

typedef struct hn_matmul_nbits {
    int64_t m, n, k;
    int64_t block; /* of k that share a scale: a multiple of 8, unless it is k */
    int64_t x_m, r_m, y_m;
    int64_t w_n, w_k;  /* of the plain codes */
    int64_t s_n, s_g;  /* of scales and zero points; one of them is 1 */
    int32_t bits;      /* 4 or 8 */
    int32_t w_signed;  /* the plain codes are */
    int32_t x_rounded; /* to 8 bits, as said above; of 4-bit codes */
    hn_nbits_zeros zeros;
    int32_t zero; /* a code */
    hn_act act;
} hn_matmul_nbits;

/* Operands, in the order of hn_call.ptr; W is packed, and it, S (f32) and Z may be constants.
 * Z, BIAS and R may be NULL. */
enum {
    HN_NBITS_X,
    HN_NBITS_W,
    HN_NBITS_S,
    HN_NBITS_Z,
    HN_NBITS_BIAS,
    HN_NBITS_R,
    HN_NBITS_Y,
    HN_NBITS_OPERANDS_
};

extern const hn_family hn_matmul_nbits_family;

/* Whether weights are better dequantized to floats, once, for conv_f32: with more than a few rows
 * unpacking costs more than reading, and only AMX and I8MM are fast at the rest. */
bool hn_nbits_prefers_floats(const hn_matmul_nbits *p, hn_isa isa);

/* Pieces of k that rows of digits, and all rows of rounded x, go by. */
enum { HN_NBITS_PIECE = 128 };
#define HN_NBITS_TINY 0x1p-100F

/* Whether there is a row, other than the definition, for x that is rounded. */
bool hn_nbits_rounds(const hn_matmul_nbits *p, hn_isa isa);

/* For rows. A task of those over the vector vocabulary is HN_NBITS_TASK panels. */
enum { HN_NBITS_PANEL = 16, HN_NBITS_STEP = 32, HN_NBITS_TASK = 4 };

static inline int64_t hn_nbits_blocks(const hn_matmul_nbits *p) {
    return (p->k + p->block - 1) / p->block;
}
static inline int64_t hn_nbits_panels(const hn_matmul_nbits *p) {
    return (p->n + HN_NBITS_PANEL - 1) / HN_NBITS_PANEL;
}
/* Bytes of a packed panel. */
static inline int64_t hn_nbits_panel_bytes(const hn_matmul_nbits *p) {
    return (p->k + HN_NBITS_STEP - 1) / HN_NBITS_STEP * HN_NBITS_STEP * HN_NBITS_PANEL * p->bits /
           8;
}
/* The code of column n, k, of plain codes. */
int hn_nbits_code(const hn_matmul_nbits *p, const uint8_t *plain, int64_t n, int64_t k);
size_t hn_nbits_packed_bytes(const void *problem);
uint64_t hn_nbits_pack_key(const void *problem);
int64_t hn_nbits_pack_tasks(const void *problem);
void hn_nbits_pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                   void *dst);

#endif
