/* Compressed data: whole .gz and .xz files, and the deflated members of an archive.
 *
 * A few bytes can unpack to terabytes, so every way in has a limit on what comes out. zlib and
 * liblzma are optional: built without one, its functions answer HONE_E_UNSUPPORTED and name it.
 * Their workspace comes from the hn_allocator too.
 */
#ifndef HN_FORMATS_DECOMPRESS_H
#define HN_FORMATS_DECOMPRESS_H

#include "base/file.h"

/* Opens a data file: one whose name ends in `.gz` or `.xz` is unpacked to memory, any other is
 * mapped. Unpacking stops with an error at `limit` bytes; 0 stands for 256 times the packed size,
 * at least 64 MiB (real data stays under 100 times). */
hone_status hn_file_open_unpacked(hn_file **out, const char *path, size_t limit,
                                  hn_allocator *alloc, hn_error *err);

/* A raw deflate stream, read piece by piece; `src` must outlive it. */
typedef struct hn_inflate hn_inflate;

hone_status hn_inflate_create(hn_inflate **out, const void *src, size_t bytes, hn_allocator *alloc,
                              hn_error *err);
void hn_inflate_destroy(hn_inflate *z); /* NULL accepted */
/* The next `bytes` bytes, all of them, or an error. */
hone_status hn_inflate_read(hn_inflate *z, void *dst, size_t bytes, hn_error *err);
/* Checks that everything was read: nothing is left of the output nor of the packed bytes. */
hone_status hn_inflate_finish(hn_inflate *z, hn_error *err);

/* CRC-32 of zip, gzip and PNG; start with crc = 0. */
uint32_t hn_crc32(uint32_t crc, const void *data, size_t bytes);

#endif
