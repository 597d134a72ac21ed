/* Whole files, in and out.
 *
 * In: an hn_file is the bytes of one file, mapped or read, shared by reference count; a tensor that
 * points into a model file keeps a reference. A mapped file must not be changed in place while it
 * is open: its bytes would change underfoot, and pages cut off its end raise SIGBUS. Replacing it
 * by rename, as the writer below does, is safe.
 *
 * Out: a writer fills `<path>.tmp-XXXXXX` beside the target and renames it over the target at
 * commit, so that a reader sees the old file or the whole new one, and a failure half-way leaves
 * the target as it was.
 */
#ifndef HN_BASE_FILE_H
#define HN_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct hn_file {
    const unsigned char *data; /* never NULL, not even when bytes is 0 */
    size_t bytes;
    const char *path; /* as it was given; for messages */
} hn_file;

/* Only regular files are opened: a device or a pipe has no size to check a header against. `map`:
 * the bytes stay in the file and are paged in when touched; else they are copied to memory of
 * `alloc`. */
hone_status hn_file_open(hn_file **out, const char *path, bool map, hn_allocator *alloc,
                         hn_error *err);
/* Makes a file of a block of `alloc`, which it then owns; on failure the caller still does. */
hone_status hn_file_adopt(hn_file **out, const char *path, void *block, size_t bytes,
                          hn_allocator *alloc, hn_error *err);
hn_file *hn_file_ref(hn_file *file); /* returns file */
void hn_file_unref(hn_file *file);   /* NULL accepted; the last one unmaps or frees */
/* Gives back the memory of the pages that lie within these bytes of a mapped file. They stay
 * readable: what is touched again is paged in again. */
void hn_file_let_go(const hn_file *file, const void *from, size_t bytes);

typedef struct hn_file_writer hn_file_writer;

/* `keep` may be NULL; else it is the path of an input, and a `path` that names the same file
 * (through whatever links) is refused with HONE_E_ARG. A symbolic link at `path` stays and its
 * target is replaced. A target that is neither a file nor a folder (/dev/null, a pipe) is written
 * directly. */
hone_status hn_file_write_begin(hn_file_writer **out, const char *path, const char *keep,
                                hn_allocator *alloc, hn_error *err);
/* Once an append has failed, only abort is of use. */
hone_status hn_file_write_append(hn_file_writer *writer, const void *data, size_t bytes,
                                 hn_error *err);
uint64_t hn_file_write_offset(const hn_file_writer *writer); /* bytes appended so far */
/* Brings the bytes to the disk and the file to its place. The writer is gone afterwards, and on
 * failure so is the temporary. */
hone_status hn_file_write_commit(hn_file_writer *writer, hn_error *err);
void hn_file_write_abort(hn_file_writer *writer); /* NULL accepted; leaves no trace */

#endif
