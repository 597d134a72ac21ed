#include "formats/coded.h"

#if HN_HAVE_ZSTD
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_customMem */
#include <zstd.h>
#include <zstd_errors.h>

/* Above, the levels that search longest would take minutes and find nothing more in weights. */
#define SMALL ((size_t)4 << 20)
enum { LEVEL_SMALL = 19, LEVEL = 6 };

static void *zstd_alloc(void *alloc, size_t bytes) { return hn_alloc(alloc, bytes, HN_MEM_OTHER); }
static void zstd_free(void *alloc, void *block) { hn_free(alloc, block); }

hone_status hn_zstd_encode(const unsigned char *src, size_t bytes, hn_growing *out, hn_error *err) {
    ZSTD_customMem mem = {zstd_alloc, zstd_free, out->alloc};
    ZSTD_CCtx *z = ZSTD_createCCtx_advanced(mem);
    size_t room = ZSTD_compressBound(bytes);
    unsigned char *to = hn_alloc(out->alloc, room, HN_MEM_OTHER);
    hone_status status = HONE_OK;
    if (z == NULL || to == NULL) {
        status = HN_NOMEM(err);
    } else {
        size_t n = ZSTD_compressCCtx(z, to, room, src, bytes, bytes <= SMALL ? LEVEL_SMALL : LEVEL);
        if (ZSTD_isError(n))
            status = HN_NOMEM(err); /* nothing else can fail */
        else if (n < bytes)
            hn_growing_put(out, to, n);
    }
    hn_free(out->alloc, to);
    ZSTD_freeCCtx(z);
    return status;
}

hone_status hn_zstd_decode(const unsigned char *src, size_t bytes, unsigned char *dst, size_t n,
                           hn_allocator *alloc, hn_error *err) {
    ZSTD_customMem mem = {zstd_alloc, zstd_free, alloc};
    ZSTD_DCtx *z = ZSTD_createDCtx_advanced(mem);
    if (z == NULL) return HN_NOMEM(err);
    size_t got = ZSTD_decompressDCtx(z, dst, n, src, bytes);
    hone_status status = HONE_OK;
    if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
        status = HN_NOMEM(err);
    else if (ZSTD_isError(got))
        status = HN_FAIL(err, HONE_E_FORMAT, "zstd: %s", ZSTD_getErrorName(got));
    else if (got != n)
        status =
            HN_FAIL(err, HONE_E_FORMAT, "zstd data unpacks to %zu bytes, expected %zu", got, n);
    ZSTD_freeDCtx(z);
    return status;
}

#else

hone_status hn_zstd_encode(const unsigned char *src, size_t bytes, hn_growing *out, hn_error *err) {
    (void)src, (void)bytes, (void)out, (void)err;
    return HONE_OK;
}

hone_status hn_zstd_decode(const unsigned char *src, size_t bytes, unsigned char *dst, size_t n,
                           hn_allocator *alloc, hn_error *err) {
    (void)src, (void)bytes, (void)dst, (void)n, (void)alloc;
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "it needs libzstd, which this build lacks");
}

#endif
