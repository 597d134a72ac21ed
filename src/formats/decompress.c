#include "formats/decompress.h"

#include <limits.h>
#include <string.h>

#include "base/size.h"

#if HN_HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>
#endif
#if HN_HAVE_LZMA
#include <lzma.h>
#endif

/* ---- whole files ----------------------------------------------------------------------------- */

enum { FIRST_BYTES = 1 << 16 };
#define DEFAULT_LIMIT ((size_t)64 << 20)
#define DEFAULT_RATIO 256

/* Output of unknown length: the block doubles until the stream ends or the limit is met. */
typedef struct sink {
    const char *path;
    size_t limit;
    hn_allocator *alloc;
    unsigned char *data;
    size_t bytes, capacity;
} sink;

#if HN_HAVE_ZLIB || HN_HAVE_LZMA

/* Makes room for at least one more byte. */
static hone_status sink_grow(sink *s, hn_error *err) {
    HN_CHECK(err, s->bytes < s->limit, HONE_E_LIMIT,
             "'%s' does not unpack below the limit of %zu bytes; if it is genuine, unpack it first",
             s->path, s->limit);
    size_t want = s->capacity == 0 ? FIRST_BYTES : s->capacity;
    want = want > s->limit - s->capacity ? s->limit : s->capacity + want;
    unsigned char *grown = hn_realloc(s->alloc, s->data, want, HN_MEM_DATA);
    HN_CHECK(err, grown != NULL, HONE_E_NOMEM, "out of memory after unpacking %zu bytes of '%s'",
             s->bytes, s->path);
    s->data = grown;
    s->capacity = want;
    return HONE_OK;
}

#endif

#if HN_HAVE_ZLIB

static void *zlib_alloc(void *alloc, unsigned n, unsigned size) {
    return hn_alloc_array(alloc, n, size, HN_MEM_OTHER);
}
static void zlib_free(void *alloc, void *block) { hn_free(alloc, block); }

/* zlib's counts are 32 bits wide. */
static unsigned piece(size_t n) { return n < UINT_MAX ? (unsigned)n : UINT_MAX; }

/* window_bits: zlib's way to say what wraps the stream; -15 is nothing, 15 + 16 a gzip header. */
static hone_status zlib_init(z_stream *z, int window_bits, hn_allocator *alloc, hn_error *err) {
    *z = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = alloc};
    int result = inflateInit2(z, window_bits);
    if (result == Z_MEM_ERROR) return HN_NOMEM(err);
    HN_CHECK(err, result == Z_OK, HONE_E_UNSUPPORTED, "zlib cannot start (%d)", result);
    return HONE_OK;
}

static hone_status unpack_gz(const hn_file *file, sink *s, hn_error *err) {
    z_stream z;
    hone_status status = zlib_init(&z, 15 + 16, s->alloc, err);
    if (status != HONE_OK) return status;
    size_t read = 0;
    for (bool done = false; !done;) {
        if (s->bytes == s->capacity) HN_TRY_GOTO(sink_grow(s, err));
        unsigned in = piece(file->bytes - read), room = piece(s->capacity - s->bytes);
        z.next_in = file->data + read;
        z.avail_in = in;
        z.next_out = s->data + s->bytes;
        z.avail_out = room;
        int result = inflate(&z, Z_NO_FLUSH);
        read += in - z.avail_in;
        s->bytes += room - z.avail_out;
        if (result == Z_MEM_ERROR) {
            status = HN_NOMEM(err);
            goto fail;
        }
        HN_CHECK_GOTO(err, result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR,
                      HONE_E_FORMAT, "'%s' is damaged near byte %zu: %s", file->path, read,
                      z.msg != NULL ? z.msg : "not gzip data");
        if (result == Z_STREAM_END) {
            done = read == file->bytes; /* a gzip file may be several, one after the other */
            inflateReset(&z);
        } else {
            HN_CHECK_GOTO(err, read < file->bytes || z.avail_out == 0, HONE_E_FORMAT,
                          "'%s' ends after %zu bytes, inside its gzip stream", file->path,
                          file->bytes);
        }
    }
fail:
    inflateEnd(&z);
    return status;
}

#else

static hone_status unpack_gz(const hn_file *file, sink *s, hn_error *err) {
    (void)s;
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "'%s' needs zlib, which this build lacks", file->path);
}

#endif

#if HN_HAVE_LZMA

/* What a decoder may allocate for its dictionary: `xz -9` asks for 65 MiB. */
#define XZ_MEMORY ((uint64_t)256 << 20)

static void *lzma_alloc(void *alloc, size_t n, size_t size) {
    return hn_alloc_array(alloc, n, size, HN_MEM_OTHER);
}
static void lzma_free_block(void *alloc, void *block) { hn_free(alloc, block); }

static const char *lzma_text(lzma_ret result) {
    switch (result) {
        case LZMA_FORMAT_ERROR: return "not xz data";
        case LZMA_OPTIONS_ERROR: return "it uses an xz option that liblzma does not know";
        case LZMA_DATA_ERROR: return "the xz data does not decode";
        case LZMA_BUF_ERROR: return "the file ends inside its xz stream";
        case LZMA_MEMLIMIT_ERROR: return "its dictionary needs over 256 MiB";
        default: return "liblzma refuses it";
    }
}

static hone_status unpack_xz(const hn_file *file, sink *s, hn_error *err) {
    hone_status status = HONE_OK;
    const lzma_allocator allocator = {lzma_alloc, lzma_free_block, s->alloc};
    lzma_stream z = LZMA_STREAM_INIT;
    z.allocator = &allocator;
    lzma_ret result = lzma_stream_decoder(&z, XZ_MEMORY, LZMA_CONCATENATED);
    z.next_in = file->data;
    z.avail_in = file->bytes;
    while (result == LZMA_OK) {
        if (s->bytes == s->capacity) HN_TRY_GOTO(sink_grow(s, err));
        z.next_out = s->data + s->bytes;
        z.avail_out = s->capacity - s->bytes;
        result = lzma_code(&z, LZMA_FINISH);
        s->bytes = s->capacity - z.avail_out;
    }
    if (result == LZMA_MEM_ERROR) {
        status = HN_NOMEM(err);
        goto fail;
    }
    HN_CHECK_GOTO(err, result == LZMA_STREAM_END, HONE_E_FORMAT,
                  "'%s' is damaged near byte %zu: %s", file->path, file->bytes - z.avail_in,
                  lzma_text(result));
fail:
    lzma_end(&z);
    return status;
}

#else

static hone_status unpack_xz(const hn_file *file, sink *s, hn_error *err) {
    (void)s;
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "'%s' needs liblzma, which this build lacks",
                   file->path);
}

#endif

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

hone_status hn_file_open_unpacked(hn_file **out, const char *path, size_t limit,
                                  hn_allocator *alloc, hn_error *err) {
    hn_file *packed = NULL;
    HN_TRY(hn_file_open(&packed, path, true, alloc, err));
    bool gz = ends_with(path, ".gz");
    if (!gz && !ends_with(path, ".xz")) {
        *out = packed;
        return HONE_OK;
    }
    if (limit == 0) {
        if (!hn_size_mul(packed->bytes, DEFAULT_RATIO, &limit)) limit = SIZE_MAX;
        if (limit < DEFAULT_LIMIT) limit = DEFAULT_LIMIT;
    }
    sink s = {.path = path, .limit = limit, .alloc = alloc};
    hone_status status = gz ? unpack_gz(packed, &s, err) : unpack_xz(packed, &s, err);
    hn_file_unref(packed);
    if (status == HONE_OK) status = hn_file_adopt(out, path, s.data, s.bytes, alloc, err);
    if (status != HONE_OK) hn_free(alloc, s.data);
    return status;
}

/* ---- raw deflate ----------------------------------------------------------------------------- */

#if HN_HAVE_ZLIB

struct hn_inflate {
    hn_allocator *alloc;
    z_stream z;
    const unsigned char *src; /* not yet handed to zlib */
    size_t left;
    bool ended;
};

hone_status hn_inflate_create(hn_inflate **out, const void *src, size_t bytes, hn_allocator *alloc,
                              hn_error *err) {
    hn_inflate *z = hn_alloc_zero(alloc, sizeof *z, HN_MEM_OTHER);
    if (z == NULL) return HN_NOMEM(err);
    hone_status status = zlib_init(&z->z, -15, alloc, err);
    if (status != HONE_OK) {
        hn_free(alloc, z);
        return status;
    }
    z->alloc = alloc;
    z->src = src;
    z->left = bytes;
    *out = z;
    return HONE_OK;
}

void hn_inflate_destroy(hn_inflate *z) {
    if (z == NULL) return;
    inflateEnd(&z->z);
    hn_free(z->alloc, z);
}

/* Up to `bytes` bytes; fewer only when the stream ends. */
static hone_status inflate_some(hn_inflate *z, unsigned char *dst, size_t bytes, size_t *got,
                                hn_error *err) {
    *got = 0;
    while (*got < bytes && !z->ended) {
        if (z->z.avail_in == 0) {
            z->z.next_in = z->src;
            z->z.avail_in = piece(z->left);
            z->src += z->z.avail_in;
            z->left -= z->z.avail_in;
        }
        unsigned room = piece(bytes - *got);
        z->z.next_out = dst + *got;
        z->z.avail_out = room;
        int result = inflate(&z->z, Z_NO_FLUSH);
        *got += room - z->z.avail_out;
        if (result == Z_MEM_ERROR) return HN_NOMEM(err);
        HN_CHECK(err, result != Z_BUF_ERROR, HONE_E_FORMAT, "the deflate stream is cut off");
        HN_CHECK(err, result == Z_OK || result == Z_STREAM_END, HONE_E_FORMAT,
                 "the deflate stream is damaged: %s",
                 z->z.msg != NULL ? z->z.msg : "unknown cause");
        z->ended = result == Z_STREAM_END;
    }
    return HONE_OK;
}

hone_status hn_inflate_read(hn_inflate *z, void *dst, size_t bytes, hn_error *err) {
    size_t got;
    HN_TRY(inflate_some(z, dst, bytes, &got, err));
    HN_CHECK(err, got == bytes, HONE_E_FORMAT,
             "the deflate stream ends %zu bytes before its declared size", bytes - got);
    return HONE_OK;
}

hone_status hn_inflate_finish(hn_inflate *z, hn_error *err) {
    unsigned char extra;
    size_t got;
    HN_TRY(inflate_some(z, &extra, 1, &got, err)); /* the end mark may follow the last byte */
    HN_CHECK(err, got == 0, HONE_E_FORMAT, "the deflate stream goes on after its declared size");
    size_t left = z->left + z->z.avail_in;
    HN_CHECK(err, left == 0, HONE_E_FORMAT, "%zu bytes follow the end of the deflate stream", left);
    return HONE_OK;
}

uint32_t hn_crc32(uint32_t crc, const void *data, size_t bytes) {
    return bytes == 0 ? crc : (uint32_t)crc32_z(crc, data, bytes);
}

#else

hone_status hn_inflate_create(hn_inflate **out, const void *src, size_t bytes, hn_allocator *alloc,
                              hn_error *err) {
    (void)out, (void)src, (void)bytes, (void)alloc;
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "deflated data needs zlib, which this build lacks");
}
void hn_inflate_destroy(hn_inflate *z) { assert(z == NULL); }
hone_status hn_inflate_read(hn_inflate *z, void *dst, size_t bytes, hn_error *err) {
    (void)z, (void)dst, (void)bytes;
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "deflated data needs zlib, which this build lacks");
}
hone_status hn_inflate_finish(hn_inflate *z, hn_error *err) {
    return hn_inflate_read(z, NULL, 0, err);
}

/* Four bits at a time: 16 constants, the remainders of 0..15 by the reflected polynomial. */
uint32_t hn_crc32(uint32_t crc, const void *data, size_t bytes) {
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const unsigned char *src = data;
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= src[i];
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return ~crc;
}

#endif
