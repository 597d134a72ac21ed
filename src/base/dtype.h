/* Facts about data types, and reading and writing single elements of any of them.
 *
 * Element access goes by index, not by address: elements under 8 bits are packed, first element in the lowest bits.
 * Storing rounds to nearest even and, for f16 and bf16, overflows to infinity as IEEE says; for the fp8 and fp4 kinds it
 * saturates (ONNX Cast with saturate = 1). Storing an integer keeps the low bits (two's complement wrap).
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
#define HN_DTYPES_FP8                                                                                            \
    (HN_DTYPE_BIT(F8E4M3FN) | HN_DTYPE_BIT(F8E4M3FNUZ) | HN_DTYPE_BIT(F8E5M2) | HN_DTYPE_BIT(F8E5M2FNUZ) | \
     HN_DTYPE_BIT(F8E8M0))
#define HN_DTYPES_ANY_FLOAT (HN_DTYPES_FLOAT | HN_DTYPES_FP8 | HN_DTYPE_BIT(F4E2M1))
#define HN_DTYPES_SIGNED                                                                                   \
    (HN_DTYPE_BIT(S8) | HN_DTYPE_BIT(S16) | HN_DTYPE_BIT(S32) | HN_DTYPE_BIT(S64) | HN_DTYPE_BIT(S4) | \
     HN_DTYPE_BIT(S2))
#define HN_DTYPES_UNSIGNED                                                                                 \
    (HN_DTYPE_BIT(U8) | HN_DTYPE_BIT(U16) | HN_DTYPE_BIT(U32) | HN_DTYPE_BIT(U64) | HN_DTYPE_BIT(U4) | \
     HN_DTYPE_BIT(U2))
#define HN_DTYPES_INT (HN_DTYPES_SIGNED | HN_DTYPES_UNSIGNED)
#define HN_DTYPES_COMPLEX (HN_DTYPE_BIT(C64) | HN_DTYPE_BIT(C128))

static inline bool hn_dtype_in(hone_dtype t, hn_dtypes set) { return ((set >> (unsigned)t) & 1u) != 0; }
static inline bool hn_dtype_is_float(hone_dtype t) { return hn_dtype_in(t, HN_DTYPES_ANY_FLOAT); }
static inline bool hn_dtype_is_int(hone_dtype t) { return hn_dtype_in(t, HN_DTYPES_INT); }
static inline bool hn_dtype_is_signed(hone_dtype t) { return hn_dtype_in(t, HN_DTYPES_SIGNED); }

const char *hn_dtype_onnx_name(hone_dtype t);      /* "float", "int64"; "?" if unknown */
hone_dtype hn_dtype_from_onnx_name(const char *s); /* also takes short names; HONE_DTYPE_NONE if unknown */
bool hn_dtype_valid(int number);                   /* a number that names a type we know (strings included) */
/* Smallest and largest value of an integer type; 0 and 1 for bool. */
int64_t hn_dtype_min(hone_dtype t);
uint64_t hn_dtype_max(hone_dtype t);

/* ---- one number at a time: bits <-> value. Names say the storage type. */
float hn_f16_to_f32(uint16_t bits);
uint16_t hn_f16_from_f64(double v);
float hn_bf16_to_f32(uint16_t bits);
uint16_t hn_bf16_from_f64(double v);
/* t is one of the fp8 kinds or F4E2M1 (low 4 bits). `saturate` as in ONNX Cast: false lets overflow become NaN or infinity. */
float hn_fp8_to_f32(hone_dtype t, uint8_t bits);
uint8_t hn_fp8_from_f64(hone_dtype t, double v, bool saturate);

/* ---- element access ---------------------------------------------------------------------------------------------------- */

/* Element i as a double (integers above 2^53 lose bits; bool gives 0 or 1; complex gives the real part).
 * Data need not be aligned. */
double hn_load_f64(hone_dtype t, const void *data, int64_t i);
/* Element i as an integer: floats truncate toward zero and saturate; NaN gives 0; u64 keeps its bits. */
int64_t hn_load_s64(hone_dtype t, const void *data, int64_t i);
/* Rounds to nearest even into float types; into integer types truncates toward zero and wraps; bool is v != 0. */
void hn_store_f64(hone_dtype t, void *data, int64_t i, double v);
void hn_store_s64(hone_dtype t, void *data, int64_t i, int64_t v);

/* Ranges of elements, src[from .. from + n) to or from a plain array. The fast way to bring any type to double. */
void hn_load_f64_n(hone_dtype t, const void *data, int64_t from, int64_t n, double *dst);
void hn_store_f64_n(hone_dtype t, void *data, int64_t from, int64_t n, const double *src);
void hn_load_s64_n(hone_dtype t, const void *data, int64_t from, int64_t n, int64_t *dst);
void hn_store_s64_n(hone_dtype t, void *data, int64_t from, int64_t n, const int64_t *src);

/* Copies element `from` of src to element `to` of dst, same type, any width (not strings). */
void hn_copy_element(hone_dtype t, void *dst, int64_t to, const void *src, int64_t from);

/* ONNX Cast of n elements: float to integer truncates (out of range: saturates where x86-64 and aarch64 differ, so that the
 * result is the same everywhere), integer to integer wraps, to bool is != 0, to fp8/fp4 obeys `saturate`; to 4- and 2-bit
 * integers from floats rounds to nearest even and saturates. Not for strings or complex. */
void hn_cast(hone_dtype from, const void *src, hone_dtype to, void *dst, int64_t n, bool saturate);

#endif
