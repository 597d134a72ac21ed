/* How a package stores the bytes of one tensor, or of what is left of a file without its tensors.
 *
 * Each code is lossless and says by its number how it is decoded. The encoder tries those that may
 * pay and keeps the shortest. Numbers are little-endian; a varint has 7 bits per byte, low ones
 * first.
 *
 *   raw       the bytes
 *   zstd      a frame of Zstandard (RFC 8878); needs libzstd
 *   planes    width, then a stream for each byte of an element: all first bytes, all second ones ...
 *   table     width, varint kinds, the kinds in ascending order as unsigned numbers, then the
 *             elements by their number in that list: a stream, or two (low bytes, high bytes) if
 *             there are more than 256 kinds
 *   sparse    width, varint n: the elements whose bits are not all 0; varint g and a stream of g
 *             bytes: how many zeros come before each of the n, where 255 stands for 255 zeros and
 *             the rest in the next byte; what follows the last is zeros. Then a code (planes or
 *             table) and the n elements in it
 *   adaptive  width, varint kinds, the kinds, varint columns, varint number of the zero (kinds: there
 *             is none), then the elements as hn_adaptive_indices codes them
 *   text      the bytes as hn_adaptive_bytes codes them
 *
 * `width` is one byte, the bytes per element: 1 to 16. A stream holds a number of bytes that is
 * known from what came before:
 *
 *     0 bytes...            as they are
 *     1 b                   all the same
 *     2 varint n, n bytes   as hn_rans_encode codes them
 */
#ifndef HN_FORMATS_CODED_H
#define HN_FORMATS_CODED_H

#include "base/alloc.h"
#include "base/error.h"

/* Numbers are in files: new ones are appended. */
#define HN_CODE_LIST(X)     \
    X(RAW, "raw")           \
    X(ZSTD, "zstd")         \
    X(PLANES, "planes")     \
    X(TABLE, "table")       \
    X(SPARSE, "sparse")     \
    X(ADAPTIVE, "adaptive") \
    X(TEXT, "text")

typedef enum hn_code {
#define HN_X(name, text) HN_CODE_##name,
    HN_CODE_LIST(HN_X)
#undef HN_X
        HN_CODE_COUNT_
} hn_code;

const char *hn_code_name(hn_code code); /* "?" of an unknown number */

/* Bytes that grow. */
typedef struct hn_growing {
    hn_allocator *alloc;
    unsigned char *data;
    size_t n, room;
    bool failed; /* out of memory: what was put since is lost */
} hn_growing;
void hn_growing_put(hn_growing *g, const void *data, size_t bytes);
void hn_growing_varint(hn_growing *g, uint64_t v);

/* What is to be coded. */
typedef struct hn_uncoded {
    const unsigned char *data;
    size_t bytes;
    size_t width;   /* bytes of an element; divides `bytes` */
    size_t columns; /* elements of a row; 0: all */
    bool text;      /* no tensor */
    /* A code other than raw must come to at most this share of the bytes: decoding takes time. */
    double most_share;
} hn_uncoded;

/* Appends the shortest form to `out`; raw appends nothing: the caller has the bytes. */
hone_status hn_coded_encode(const hn_uncoded *u, hn_growing *out, hn_code *code, hn_error *err);
/* Exactly n bytes. HONE_E_UNSUPPORTED: this build lacks the library, or does not know the code;
 * HONE_E_FORMAT: the bytes are not n bytes in that code. */
hone_status hn_coded_decode(hn_code code, const unsigned char *src, size_t bytes,
                            unsigned char *dst, size_t n, hn_allocator *alloc, hn_error *err);

/* ---- zstd (coded_zstd.c) ---- */

/* What libzstd makes of it, appended to out; nothing if there is none or it does not pay. */
hone_status hn_zstd_encode(const unsigned char *src, size_t bytes, hn_growing *out, hn_error *err);
hone_status hn_zstd_decode(const unsigned char *src, size_t bytes, unsigned char *dst, size_t n,
                           hn_allocator *alloc, hn_error *err);

#endif
