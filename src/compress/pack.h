/* Codes of 2 to 7 bits on disk, where there is no type of that width: planes of 4, 2 and 1 bits in
 * bytes, and standard operators that put them together again.
 *
 *     5 bits      code   abcde                          planes  abcd (4 bits), e (1 bit)
 *
 *     a plane of 4 bits, [m] bytes for 2 * m codes:     byte i   ABCDabcd
 *                                                       a - d: of code i, A - D: of code m + i
 *     BitwiseAnd [[15], [240]], BitShift to the left    [2, m]   abcd0000, ABCD0000
 *     by [[4], [0]]
 *     likewise the plane of 1 bit, and BitShift by 4    [8, n/8] 0000e000 ...
 *     to the right
 *     Reshape, BitwiseOr                                weight   abcde000
 *     Cast                                              s8: the code times 2^3
 *
 * Codes stay in the highest bits, where their sign is a sign, and scales make up for it: numbers
 * are exactly the same. No bit is shifted out of a byte, since OpenVINO then gives 255. All of it
 * depends on constants alone, so whoever folds constants holds bytes before the first run.
 */
#ifndef HN_COMPRESS_PACK_H
#define HN_COMPRESS_PACK_H

#include "compress/quantizer.h"

/* Bits that codes of a type are packed to; 0: they are stored as the type is. */
int hn_pack_bits(const hn_qtype *t, const hn_quant_target *target);
/* *out: u8 or s8, as the codes are unsigned or not, the codes times 2^(8 - bits); of a node before
 * `before`. Names begin with `name`. */
hone_status hn_pack_codes(hn_value **out, hn_quantizer *q, const char *name, const hn_tensor *codes,
                          int bits, hn_node *before, hn_error *err);
/* Zero points for them, NULL where zero is. */
hone_status hn_pack_zeros(hn_tensor **out, const hn_tensor *zero, int bits, hn_allocator *alloc,
                          hn_error *err);

#endif
