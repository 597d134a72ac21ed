/* A checksum that notices damage: 64 bits, several bytes per cycle. It is no signature: whoever
 * means to forge bytes can. base/sha256.h names contents.
 *
 * Four lanes take 32 bytes at a time as little-endian words, lane = rotl(lane + word * P2, 31) * P1,
 * and are then mixed into one with the length and the bytes that are left. This is XXH64 with seed 0
 * (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), so other programs can compute it too. */
#ifndef HN_BASE_CHECKSUM_H
#define HN_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* data may be NULL when bytes is 0. */
uint64_t hn_checksum(const void *data, size_t bytes);

#endif
