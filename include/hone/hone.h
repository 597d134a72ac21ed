/* hone.h: the public C API of hone.
 *
 * Read it top to bottom: status and errors, data types, values, models, sessions, datasets.
 *
 * Conventions
 *   - A function that can fail returns hone_status and takes a `hone_error *` (may be NULL) that receives one line saying what
 *     was wrong, where, what was found and what was wanted. On failure, out-parameters are left untouched.
 *   - Handles are opaque; `destroy` accepts NULL.
 *   - Option structs are filled by their `_init` function before fields are set, so later fields are harmless.
 *   - The library never prints, exits or installs signal handlers; it calls the log callback.
 */
#ifndef HONE_HONE_H
#define HONE_HONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HONE_API __attribute__((visibility("default")))
#define HONE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HONE_API
#define HONE_PRINTF(fmt, args)
#endif

/* ---- status and errors ------------------------------------------------------------------------------------------------- */

/* Name, number (pinned; groups leave gaps), text. */
#define HONE_STATUS_LIST(X)                                   \
    X(OK, 0, "success")                                       \
    X(E_NOMEM, 10, "out of memory")                           \
    X(E_LIMIT, 11, "a limit would be exceeded")               \
    X(E_ARG, 20, "invalid argument")                          \
    X(E_IO, 21, "input or output failed")                     \
    X(E_FORMAT, 22, "malformed file")                         \
    X(E_NOT_FOUND, 23, "no such thing")                       \
    X(E_MODEL, 30, "invalid model")                           \
    X(E_SHAPE, 31, "incompatible shapes")                     \
    X(E_TYPE, 32, "incompatible types")                       \
    X(E_UNSUPPORTED, 40, "not supported by this build or machine")

typedef enum hone_status {
#define HONE_X(name, number, text) HONE_##name = number,
    HONE_STATUS_LIST(HONE_X)
#undef HONE_X
} hone_status;

/* The longest message that is kept; longer ones are cut. */
#define HONE_ERROR_TEXT 1024

typedef struct hone_error {
    hone_status status;
    char text[HONE_ERROR_TEXT];
} hone_error;

HONE_API const char *hone_status_name(hone_status status); /* "HONE_E_SHAPE" */
HONE_API const char *hone_status_text(hone_status status); /* "incompatible shapes" */

/* ---- data types -------------------------------------------------------------------------------------------------------- */

/* Name, number (that of ONNX TensorProto.DataType), short name, ONNX's own name, bits per element.
 * Elements under 8 bits are packed, the first element in the lowest bits of a byte. */
#define HONE_DTYPE_LIST(X)                                \
    X(F32, 1, "f32", "float", 32)                         \
    X(U8, 2, "u8", "uint8", 8)                            \
    X(S8, 3, "s8", "int8", 8)                             \
    X(U16, 4, "u16", "uint16", 16)                        \
    X(S16, 5, "s16", "int16", 16)                         \
    X(S32, 6, "s32", "int32", 32)                         \
    X(S64, 7, "s64", "int64", 64)                         \
    X(STRING, 8, "string", "string", 0)                   \
    X(BOOL, 9, "bool", "bool", 8)                         \
    X(F16, 10, "f16", "float16", 16)                      \
    X(F64, 11, "f64", "double", 64)                       \
    X(U32, 12, "u32", "uint32", 32)                       \
    X(U64, 13, "u64", "uint64", 64)                       \
    X(C64, 14, "c64", "complex64", 64)                    \
    X(C128, 15, "c128", "complex128", 128)                \
    X(BF16, 16, "bf16", "bfloat16", 16)                   \
    X(F8E4M3FN, 17, "f8e4m3fn", "float8e4m3fn", 8)        \
    X(F8E4M3FNUZ, 18, "f8e4m3fnuz", "float8e4m3fnuz", 8)  \
    X(F8E5M2, 19, "f8e5m2", "float8e5m2", 8)              \
    X(F8E5M2FNUZ, 20, "f8e5m2fnuz", "float8e5m2fnuz", 8)  \
    X(U4, 21, "u4", "uint4", 4)                           \
    X(S4, 22, "s4", "int4", 4)                            \
    X(F4E2M1, 23, "f4e2m1", "float4e2m1", 4)              \
    X(F8E8M0, 24, "f8e8m0", "float8e8m0", 8)              \
    X(U2, 25, "u2", "uint2", 2)                           \
    X(S2, 26, "s2", "int2", 2)

typedef enum hone_dtype {
    HONE_DTYPE_NONE = 0, /* unknown or absent */
#define HONE_X(name, number, short_name, onnx_name, bits) HONE_DTYPE_##name = number,
    HONE_DTYPE_LIST(HONE_X)
#undef HONE_X
    HONE_DTYPE_COUNT_ = 27
} hone_dtype;

HONE_API const char *hone_dtype_name(hone_dtype dtype); /* "f32"; "?" if unknown */
HONE_API int hone_dtype_bits(hone_dtype dtype);         /* 0 for strings and unknown types */

/* The most axes a tensor may have. */
#define HONE_MAX_RANK 16

#ifdef __cplusplus
}
#endif
#endif
