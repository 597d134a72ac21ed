#include "base/dtype.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"

typedef struct fact {
    const char *name, *onnx_name;
    int bits;
} fact;

static const fact facts[HONE_DTYPE_COUNT_] = {
#define HONE_X(name, number, short_name, onnx_name, bits) [number] = {short_name, onnx_name, bits},
    HONE_DTYPE_LIST(HONE_X)
#undef HONE_X
};

bool hn_dtype_valid(int number) { return number > HONE_DTYPE_NONE && number < HONE_DTYPE_COUNT_; }

const char *hone_dtype_name(hone_dtype t) { return hn_dtype_valid((int)t) ? facts[t].name : "?"; }

int hone_dtype_bits(hone_dtype t) { return hn_dtype_valid((int)t) ? facts[t].bits : 0; }

const char *hn_dtype_onnx_name(hone_dtype t) {
    return hn_dtype_valid((int)t) ? facts[t].onnx_name : "?";
}

hone_dtype hn_dtype_from_onnx_name(const char *s) {
    for (int t = 1; t < HONE_DTYPE_COUNT_; t++)
        if (strcmp(s, facts[t].onnx_name) == 0 || strcmp(s, facts[t].name) == 0)
            return (hone_dtype)t;
    return HONE_DTYPE_NONE;
}

int64_t hn_dtype_min(hone_dtype t) {
    return hn_dtype_is_signed(t) ? INT64_MIN >> (64 - facts[t].bits) : 0;
}

uint64_t hn_dtype_max(hone_dtype t) {
    if (t == HONE_DTYPE_BOOL) return 1;
    if (!hn_dtype_is_int(t)) return 0;
    return UINT64_MAX >> (64 - facts[t].bits + hn_dtype_is_signed(t));
}

/* ---- packed elements */

static inline unsigned get_packed(const unsigned char *p, int64_t i, int bits) {
    int64_t at = i * bits;
    return (unsigned)p[at / 8] >> (at % 8) & ((1u << bits) - 1);
}

static inline void put_packed(unsigned char *p, int64_t i, int bits, unsigned v) {
    int64_t at = i * bits;
    unsigned mask = ((1u << bits) - 1) << (at % 8);
    p[at / 8] = (unsigned char)((p[at / 8] & ~mask) | (v << (at % 8) & mask));
}

static inline int get_packed_signed(const unsigned char *p, int64_t i, int bits) {
    int sign = 1 << (bits - 1);
    return ((int)get_packed(p, i, bits) ^ sign) - sign;
}

/* ---- element access
 *
 * The lists say how a type is stored and how the stored x becomes a number or the number v becomes
 * an x. They expand to one loop per type, so that the switch stands outside the loop. */

typedef struct c64 {
    float re, im;
} c64;

typedef struct c128 {
    double re, im;
} c128;

/* Name, stored as, x to value, double v to x, int64 k to x. */
#define INT_LIST(X)                                             \
    X(U8, uint8_t, x, (uint8_t)s64_from_f64(v), (uint8_t)k)     \
    X(S8, int8_t, x, (int8_t)s64_from_f64(v), (int8_t)k)        \
    X(U16, uint16_t, x, (uint16_t)s64_from_f64(v), (uint16_t)k) \
    X(S16, int16_t, x, (int16_t)s64_from_f64(v), (int16_t)k)    \
    X(U32, uint32_t, x, (uint32_t)s64_from_f64(v), (uint32_t)k) \
    X(S32, int32_t, x, (int32_t)s64_from_f64(v), (int32_t)k)    \
    X(U64, uint64_t, x, u64_from_f64(v), (uint64_t)k)           \
    X(S64, int64_t, x, s64_from_f64(v), k)                      \
    X(BOOL, uint8_t, x != 0, v != 0, k != 0)

/* Name, bits, how to get. */
#define PACKED_INT_LIST(X)      \
    X(U4, 4, get_packed)        \
    X(S4, 4, get_packed_signed) \
    X(U2, 2, get_packed)        \
    X(S2, 2, get_packed_signed)

#define FP8_LIST(X) X(F8E4M3FN) X(F8E4M3FNUZ) X(F8E5M2) X(F8E5M2FNUZ) X(F8E8M0)

/* Name, stored as, x to value, double v to x. */
#define FLOAT_LIST(X)                                         \
    X(F32, float, x, (float)v)                                \
    X(F64, double, x, v)                                      \
    X(F16, uint16_t, hn_f16_to_f32(x), hn_f16_from_f64(v))    \
    X(BF16, uint16_t, hn_bf16_to_f32(x), hn_bf16_from_f64(v)) \
    X(C64, c64, x.re, ((c64){(float)v, 0}))                   \
    X(C128, c128, x.re, ((c128){v, 0}))

/* Truncates, saturates; NaN gives 0. */
static inline int64_t s64_from_f64(double v) {
    if (v >= 0x1p63) return INT64_MAX;
    if (v < -0x1p63) return INT64_MIN;
    return v == v ? (int64_t)v : 0;
}

/* The same, but u64 reaches twice as far. Negative values wrap. */
static inline uint64_t u64_from_f64(double v) {
    if (v >= 0x1p64) return UINT64_MAX;
    return v >= 0x1p63 ? (uint64_t)v : (uint64_t)s64_from_f64(v);
}

/* An integer as a double rounded to odd: what does not fit leaves its trace in the last bit, so
 * that rounding the result once more to a narrower format gives what rounding the integer at once
 * would give. */
static double odd_f64_from_u64(uint64_t v) {
    int over = v == 0 ? 0 : 64 - 53 - __builtin_clzll(v);
    if (over > 0) {
        uint64_t lost = v & ((UINT64_C(1) << over) - 1);
        v = v >> over << over | (uint64_t)(lost != 0) << over;
    }
    return (double)v;
}

static double odd_f64_from_s64(int64_t v) {
    return v < 0 ? -odd_f64_from_u64(0 - (uint64_t)v) : odd_f64_from_u64((uint64_t)v);
}

void hn_load_f64_n(hone_dtype t, const void *data, int64_t from, int64_t n, double *dst) {
    if (n <= 0) return;
    const unsigned char *p = data;
    switch (t) {
#define LOAD(NAME, ctype, value, ...)                         \
    case HONE_DTYPE_##NAME:                                   \
        p += (size_t)from * sizeof(ctype);                    \
        for (int64_t i = 0; i < n; i++, p += sizeof(ctype)) { \
            ctype x;                                          \
            memcpy(&x, p, sizeof x);                          \
            dst[i] = (double)(value);                         \
        }                                                     \
        return;
        INT_LIST(LOAD)
        FLOAT_LIST(LOAD)
#undef LOAD
#define LOAD(NAME, bits, get)                                                    \
    case HONE_DTYPE_##NAME:                                                      \
        for (int64_t i = 0; i < n; i++) dst[i] = (double)get(p, from + i, bits); \
        return;
        PACKED_INT_LIST(LOAD)
#undef LOAD
#define LOAD(NAME)                                                          \
    case HONE_DTYPE_##NAME:                                                 \
        for (int64_t i = 0; i < n; i++)                                     \
            dst[i] = (double)hn_fp8_to_f32(HONE_DTYPE_##NAME, p[from + i]); \
        return;
        FP8_LIST(LOAD)
#undef LOAD
        case HONE_DTYPE_F4E2M1:
            for (int64_t i = 0; i < n; i++)
                dst[i] = (double)hn_fp8_to_f32(t, (uint8_t)get_packed(p, from + i, 4));
            return;
        case HONE_DTYPE_NONE:
        case HONE_DTYPE_STRING:
        case HONE_DTYPE_COUNT_: break;
    }
    assert(!"a type without numbers");
}

void hn_store_f64_n(hone_dtype t, void *data, int64_t from, int64_t n, const double *src) {
    if (n <= 0) return;
    unsigned char *p = data;
    switch (t) {
#define STORE(NAME, ctype, value, x_from_v, ...)              \
    case HONE_DTYPE_##NAME:                                   \
        p += (size_t)from * sizeof(ctype);                    \
        for (int64_t i = 0; i < n; i++, p += sizeof(ctype)) { \
            double v = src[i];                                \
            ctype x = x_from_v;                               \
            memcpy(p, &x, sizeof x);                          \
        }                                                     \
        return;
        FLOAT_LIST(STORE)
        INT_LIST(STORE)
#undef STORE
#define STORE(NAME, bits, get)                                             \
    case HONE_DTYPE_##NAME:                                                \
        for (int64_t i = 0; i < n; i++)                                    \
            put_packed(p, from + i, bits, (unsigned)s64_from_f64(src[i])); \
        return;
        PACKED_INT_LIST(STORE)
#undef STORE
#define STORE(NAME)                                                         \
    case HONE_DTYPE_##NAME:                                                 \
        for (int64_t i = 0; i < n; i++)                                     \
            p[from + i] = hn_fp8_from_f64(HONE_DTYPE_##NAME, src[i], true); \
        return;
        FP8_LIST(STORE)
#undef STORE
        case HONE_DTYPE_F4E2M1:
            for (int64_t i = 0; i < n; i++)
                put_packed(p, from + i, 4, hn_fp8_from_f64(t, src[i], true));
            return;
        case HONE_DTYPE_NONE:
        case HONE_DTYPE_STRING:
        case HONE_DTYPE_COUNT_: break;
    }
    assert(!"a type without numbers");
}

/* Types are brought to each other through plain arrays of this many numbers. */
#define CHUNK 256
static inline int64_t chunk_of(int64_t left) { return left < CHUNK ? left : CHUNK; }

void hn_load_s64_n(hone_dtype t, const void *data, int64_t from, int64_t n, int64_t *dst) {
    if (n <= 0) return;
    const unsigned char *p = data;
    switch (t) {
#define LOAD(NAME, ctype, value, ...)                         \
    case HONE_DTYPE_##NAME:                                   \
        p += (size_t)from * sizeof(ctype);                    \
        for (int64_t i = 0; i < n; i++, p += sizeof(ctype)) { \
            ctype x;                                          \
            memcpy(&x, p, sizeof x);                          \
            dst[i] = (int64_t)(value);                        \
        }                                                     \
        return;
        INT_LIST(LOAD)
#undef LOAD
#define LOAD(NAME, bits, get)                                                     \
    case HONE_DTYPE_##NAME:                                                       \
        for (int64_t i = 0; i < n; i++) dst[i] = (int64_t)get(p, from + i, bits); \
        return;
        PACKED_INT_LIST(LOAD)
#undef LOAD
        default: break;
    }
    double v[CHUNK];
    for (int64_t at = 0, m; at < n; at += m) {
        m = chunk_of(n - at);
        hn_load_f64_n(t, data, from + at, m, v);
        for (int64_t i = 0; i < m; i++) dst[at + i] = s64_from_f64(v[i]);
    }
}

void hn_store_s64_n(hone_dtype t, void *data, int64_t from, int64_t n, const int64_t *src) {
    if (n <= 0) return;
    unsigned char *p = data;
    switch (t) {
#define STORE(NAME, ctype, value, x_from_v, x_from_k)         \
    case HONE_DTYPE_##NAME:                                   \
        p += (size_t)from * sizeof(ctype);                    \
        for (int64_t i = 0; i < n; i++, p += sizeof(ctype)) { \
            int64_t k = src[i];                               \
            ctype x = x_from_k;                               \
            memcpy(p, &x, sizeof x);                          \
        }                                                     \
        return;
        INT_LIST(STORE)
#undef STORE
#define STORE(NAME, bits, get)                                                           \
    case HONE_DTYPE_##NAME:                                                              \
        for (int64_t i = 0; i < n; i++) put_packed(p, from + i, bits, (unsigned)src[i]); \
        return;
        PACKED_INT_LIST(STORE)
#undef STORE
        default: break;
    }
    double v[CHUNK];
    bool exact = t == HONE_DTYPE_F64 || t == HONE_DTYPE_C128;
    for (int64_t at = 0, m; at < n; at += m) {
        m = chunk_of(n - at);
        for (int64_t i = 0; i < m; i++)
            v[i] = exact ? (double)src[at + i] : odd_f64_from_s64(src[at + i]);
        hn_store_f64_n(t, data, from + at, m, v);
    }
}

double hn_load_f64(hone_dtype t, const void *data, int64_t i) {
    double v = 0;
    hn_load_f64_n(t, data, i, 1, &v);
    return v;
}

int64_t hn_load_s64(hone_dtype t, const void *data, int64_t i) {
    int64_t v = 0;
    hn_load_s64_n(t, data, i, 1, &v);
    return v;
}

void hn_store_f64(hone_dtype t, void *data, int64_t i, double v) {
    hn_store_f64_n(t, data, i, 1, &v);
}

void hn_store_s64(hone_dtype t, void *data, int64_t i, int64_t v) {
    hn_store_s64_n(t, data, i, 1, &v);
}

void hn_copy_element(hone_dtype t, void *dst, int64_t to, const void *src, int64_t from) {
    int bits = hone_dtype_bits(t);
    assert(bits != 0);
    if (bits < 8) {
        put_packed(dst, to, bits, get_packed(src, from, bits));
        return;
    }
    size_t bytes = (size_t)bits / 8;
    memmove((unsigned char *)dst + (size_t)to * bytes,
            (const unsigned char *)src + (size_t)from * bytes, bytes);
}

/* ---- cast */

/* Into the wide integers processors disagree on what is out of range; here it saturates. */
static void clamp_for(hone_dtype to, double *v, int64_t n) {
    if (!hn_dtype_in(to, HN_DTYPE_BIT(S32) | HN_DTYPE_BIT(U32) | HN_DTYPE_BIT(U64))) return;
    double lo = (double)hn_dtype_min(to), hi = (double)hn_dtype_max(to);
    for (int64_t i = 0; i < n; i++) v[i] = v[i] < lo ? lo : v[i] > hi ? hi : v[i];
}

void hn_cast(hone_dtype from, const void *src, hone_dtype to, void *dst, int64_t n, bool saturate) {
    assert(!hn_dtype_in(from, HN_DTYPES_COMPLEX) && !hn_dtype_in(to, HN_DTYPES_COMPLEX));
    if (n <= 0) return;
    if (from == to) {
        size_t bytes = 0;
        hn_packed_bytes(n, hone_dtype_bits(to), &bytes);
        memmove(dst, src, bytes);
        return;
    }
    bool from_float = hn_dtype_is_float(from), to_float = hn_dtype_is_float(to);
    for (int64_t at = 0, m; at < n; at += m) {
        m = chunk_of(n - at);
        double v[CHUNK];
        if (!from_float) {
            int64_t k[CHUNK];
            hn_load_s64_n(from, src, at, m, k);
            if (!to_float) {
                hn_store_s64_n(to, dst, at, m, k);
                continue;
            }
            for (int64_t i = 0; i < m; i++) {
                if (from == HONE_DTYPE_U64)
                    v[i] = to == HONE_DTYPE_F64 ? (double)(uint64_t)k[i]
                                                : odd_f64_from_u64((uint64_t)k[i]);
                else
                    v[i] = to == HONE_DTYPE_F64 ? (double)k[i] : odd_f64_from_s64(k[i]);
            }
        } else {
            hn_load_f64_n(from, src, at, m, v);
            clamp_for(to, v, m);
        }
        if (hn_dtype_in(to, HN_DTYPES_FP8)) {
            uint8_t *out = (uint8_t *)dst + at;
            for (int64_t i = 0; i < m; i++) out[i] = hn_fp8_from_f64(to, v[i], saturate);
        } else {
            hn_store_f64_n(to, dst, at, m, v);
        }
    }
}
