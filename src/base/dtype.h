/* Facts about data types, and reading and writing single elements of any of them.
 *
 * Element access goes by index, not by address: elements under 8 bits are packed, first element in
 * the lowest bits. Storing rounds to nearest even and, for f16 and bf16, overflows to infinity as
 * IEEE says; for the fp8 and fp4 kinds it saturates (ONNX Cast with saturate = 1). Storing an
 * integer keeps the low bits (two's complement wrap). Neighbours under 8 bits share a byte: storing
 * one reads and writes the others.
 */
#ifndef HN_BASE_DTYPE_H
#define HN_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hone/hone.h"

/* Sets of types are bit masks: bit n is the type with number n. */
typedef uint32_t hn_dtypes;
#define HN_DTYPE_BIT(name) (1u << HONE_DTYPE_##name)

#define HN_DTYPES_IEEE (HN_DTYPE_BIT(F16) | HN_DTYPE_BIT(F32) | HN_DTYPE_BIT(F64))
#define HN_DTYPES_FLOAT (HN_DTYPES_IEEE | HN_DTYPE_BIT(BF16))
#define HN_DTYPES_FP8                                                           \
    (HN_DTYPE_BIT(F8E4M3FN) | HN_DTYPE_BIT(F8E4M3FNUZ) | HN_DTYPE_BIT(F8E5M2) | \
     HN_DTYPE_BIT(F8E5M2FNUZ) | HN_DTYPE_BIT(F8E8M0))
#define HN_DTYPES_ANY_FLOAT (HN_DTYPES_FLOAT | HN_DTYPES_FP8 | HN_DTYPE_BIT(F4E2M1))
#define HN_DTYPES_SIGNED                                                            \
    (HN_DTYPE_BIT(S8) | HN_DTYPE_BIT(S16) | HN_DTYPE_BIT(S32) | HN_DTYPE_BIT(S64) | \
     HN_DTYPE_BIT(S4) | HN_DTYPE_BIT(S2))
#define HN_DTYPES_UNSIGNED                                                          \
    (HN_DTYPE_BIT(U8) | HN_DTYPE_BIT(U16) | HN_DTYPE_BIT(U32) | HN_DTYPE_BIT(U64) | \
     HN_DTYPE_BIT(U4) | HN_DTYPE_BIT(U2))
#define HN_DTYPES_INT (HN_DTYPES_SIGNED | HN_DTYPES_UNSIGNED)
#define HN_DTYPES_COMPLEX (HN_DTYPE_BIT(C64) | HN_DTYPE_BIT(C128))

static inline bool hn_dtype_in(hone_dtype t, hn_dtypes set) {
    return ((set >> (unsigned)t) & 1u) != 0;
}
static inline bool hn_dtype_is_float(hone_dtype t) { return hn_dtype_in(t, HN_DTYPES_ANY_FLOAT); }
static inline bool hn_dtype_is_int(hone_dtype t) { return hn_dtype_in(t, HN_DTYPES_INT); }
static inline bool hn_dtype_is_signed(hone_dtype t) { return hn_dtype_in(t, HN_DTYPES_SIGNED); }

const char *hn_dtype_onnx_name(hone_dtype t); /* "float", "int64"; "?" if unknown */
/* Takes short names too; HONE_DTYPE_NONE if unknown. */
hone_dtype hn_dtype_from_onnx_name(const char *s);
bool hn_dtype_valid(int number); /* a number that names a type we know (strings included) */
/* Smallest and largest value of an integer type; 0 and 1 for bool. */
int64_t hn_dtype_min(hone_dtype t);
uint64_t hn_dtype_max(hone_dtype t);

/* ---- one number at a time: bits <-> value. Names say the storage type. */
float hn_f16_to_f32(uint16_t bits);
uint16_t hn_f16_from_f64(double v);
float hn_bf16_to_f32(uint16_t bits);
uint16_t hn_bf16_from_f64(double v);
/* t is one of the fp8 kinds or F4E2M1 (low 4 bits). `saturate` as in ONNX Cast: false lets overflow
 * become NaN or infinity. */
float hn_fp8_to_f32(hone_dtype t, uint8_t bits);
uint8_t hn_fp8_from_f64(hone_dtype t, double v, bool saturate);
/* Which power of two a number between two of them becomes: the round_mode of ONNX Cast.
 * hn_fp8_from_f64 rounds up. */
typedef enum hn_e8m0_round { HN_E8M0_UP, HN_E8M0_DOWN, HN_E8M0_NEAREST } hn_e8m0_round;
/* What lies outside [2^-127, 2^127], zero and infinity included, goes to the nearer end or, unless
 * `saturate`, to NaN. A negative number has no place here and becomes NaN. */
uint8_t hn_e8m0_from_f64(double v, hn_e8m0_round round, bool saturate);

/* ---- element access
 * ----------------------------------------------------------------------------------------------------
 */

/* Element i as a double (integers above 2^53 lose bits; bool gives 0 or 1; complex gives the real
 * part). Data need not be aligned. */
double hn_load_f64(hone_dtype t, const void *data, int64_t i);
/* Element i as an integer: floats truncate toward zero and saturate; NaN gives 0; u64 keeps its
 * bits. */
int64_t hn_load_s64(hone_dtype t, const void *data, int64_t i);
/* Rounds once, to nearest even, into float types; into integer types truncates toward zero and
 * keeps the low bits (beyond the range of s64, for u64 beyond its own, it saturates first; NaN
 * gives 0); bool is v != 0. A complex number gets no imaginary part. */
void hn_store_f64(hone_dtype t, void *data, int64_t i, double v);
void hn_store_s64(hone_dtype t, void *data, int64_t i, int64_t v);

/* Ranges of elements, src[from .. from + n) to or from a plain array. The fast way to bring any
 * type to double. */
void hn_load_f64_n(hone_dtype t, const void *data, int64_t from, int64_t n, double *dst);
void hn_store_f64_n(hone_dtype t, void *data, int64_t from, int64_t n, const double *src);
void hn_load_s64_n(hone_dtype t, const void *data, int64_t from, int64_t n, int64_t *dst);
void hn_store_s64_n(hone_dtype t, void *data, int64_t from, int64_t n, const int64_t *src);

/* Copies element `from` of src to element `to` of dst, same type, any width (not strings). */
void hn_copy_element(hone_dtype t, void *dst, int64_t to, const void *src, int64_t from);

/* ONNX Cast of n elements, each rounded once. Float to integer truncates; what is then out of
 * range, which ONNX leaves open, saturates for s32, u32, s64 and u64 (x86-64 and aarch64 differ
 * there) and keeps the low bits for the narrower types, as the ONNX tests expect of the 4- and
 * 2-bit ones. Integer to integer keeps the low bits, to bool is != 0, to fp8 obeys `saturate`, to
 * f4e2m1 always saturates, to f8e8m0 rounds up. src and dst do not overlap. Not for strings or
 * complex. */
void hn_cast(hone_dtype from, const void *src, hone_dtype to, void *dst, int64_t n, bool saturate);

#endif
