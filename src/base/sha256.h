/* SHA-256 (FIPS 180-4) of bytes in memory: a name for contents, to find them again and to notice
 * when they changed. */
#ifndef HN_BASE_SHA256_H
#define HN_BASE_SHA256_H

#include <stddef.h>

#define HN_SHA256_HEX 65 /* digits and a terminator */

/* The digest as lower-case hexadecimal digits. data may be NULL when bytes is 0. */
void hn_sha256(const void *data, size_t bytes, char hex[HN_SHA256_HEX]);

#endif
