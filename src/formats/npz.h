/* NumPy's .npz: a zip archive of .npy members, as numpy.savez and savez_compressed write it.
 *
 * Members may be stored or deflated, with zip64 where sizes need it. Sizes and places are taken
 * from the central directory at the end of the file alone; each is checked against the file before
 * use, and a member's CRC when it is read. Encryption, archives in several files and bytes in front
 * of the archive are refused.
 */
#ifndef HN_FORMATS_NPZ_H
#define HN_FORMATS_NPZ_H

#include "formats/npy.h"

/* The members whose names end in `.npy`; others are not looked at. */
typedef struct hn_npz hn_npz;

/* Takes a reference to the file. */
hone_status hn_npz_open(hn_npz **out, hn_file *file, hn_allocator *alloc, hn_error *err);
void hn_npz_close(hn_npz *npz); /* NULL accepted; arrays read in place stay valid */

size_t hn_npz_count(const hn_npz *npz);
/* Without `.npy`; i counts in the order of the directory. */
const char *hn_npz_name(const hn_npz *npz, size_t i);

hone_status hn_npz_read(hn_array *out, const hn_npz *npz, size_t i, const hn_npy_options *options,
                        hn_allocator *alloc, hn_error *err);

/* Members are stored, in the order given and with a fixed date: the same arrays make the same
 * bytes. `keep` as in hn_file_write_begin. */
hone_status hn_npz_write(const char *path, const char *keep, size_t n, const char *const *names,
                         const hn_array *arrays, hn_allocator *alloc, hn_error *err);

#endif
