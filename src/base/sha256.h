/* SHA-256 (FIPS 180-4) of bytes in memory: a name for contents, to find them again and to notice
 * when they changed. */
#ifndef HN_BASE_SHA256_H
#define HN_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HN_SHA256_HEX 65 /* digits and a terminator */
#define HN_SHA256_BLOCK 64

/* The digest as lower-case hexadecimal digits. data may be NULL when bytes is 0. */
void hn_sha256(const void *data, size_t bytes, char hex[HN_SHA256_HEX]);
bool hn_sha256_is_hex(const char *text); /* 64 such digits and no more */

/* Likewise of bytes that come in parts. */
typedef struct hn_sha256_parts {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char rest[HN_SHA256_BLOCK]; /* of the last block, which is not full yet */
} hn_sha256_parts;
void hn_sha256_begin(hn_sha256_parts *s);
void hn_sha256_add(hn_sha256_parts *s, const void *data, size_t bytes);
void hn_sha256_end(hn_sha256_parts *s, char hex[HN_SHA256_HEX]);

/* ---- within SHA-256 ---- */

extern const uint32_t hn_sha256_k[64];
/* Whole blocks: as anyone can do it, and by the instructions that some CPUs have for it, which come
 * beside any bundle of base/isa.h; HONE_ISA=portable allows none. */
void hn_sha256_blocks(uint32_t state[8], const unsigned char *p, size_t n);
bool hn_sha256_has_shani(void);
void hn_sha256_blocks_shani(uint32_t state[8], const unsigned char *p, size_t n);

#endif
