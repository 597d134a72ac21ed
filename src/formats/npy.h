/* NumPy's .npy: one array in a file.
 *
 * Types NumPy lacks (bf16, fp8, fp4, int4, int2) are written as a structured type of one field that
 * carries the name ml_dtypes gives it, an element of 8 bits or less taking one byte:
 *
 *     bf16   [('bfloat16', '<u2')]        s4   [('int4', '|u1')]
 *
 * so that np.load(f).view(ml_dtypes.bfloat16) is the array. NumPy itself writes such arrays as the
 * bare '<V2' or '<V1', which loses the type: '<V2' is read as bf16, '<V1' as the type the caller
 * says it is.
 *
 * An hn_array always holds its elements as hone does: C order, little-endian, packed.
 */
#ifndef HN_FORMATS_NPY_H
#define HN_FORMATS_NPY_H

#include "base/file.h"
#include "formats/decompress.h"

typedef struct hn_array {
    hone_dtype dtype;
    int rank;
    int64_t dims[HONE_MAX_RANK];
    size_t bytes;
    void *data; /* not NULL, also when bytes is 0 */
    /* NULL: data is a block of the allocator. Else data lies in this file: read only, with any
     * alignment. */
    hn_file *file;
} hn_array;

void hn_array_deinit(hn_array *array, hn_allocator *alloc);

typedef struct hn_npy_options {
    hone_dtype void_as; /* the type of '<V1' elements; one NumPy has itself: they are an error */
    bool in_place;      /* let data point into the file where its bytes can stay as they are */
} hn_npy_options;

/* `options` may be NULL for all zero. The file must hold one array and nothing after it. */
hone_status hn_npy_read(hn_array *out, const char *path, const hn_npy_options *options,
                        hn_allocator *alloc, hn_error *err);

/* `keep` as in hn_file_write_begin. */
hone_status hn_npy_write(const char *path, const char *keep, const hn_array *array,
                         hn_allocator *alloc, hn_error *err);

/* ---- for formats that contain .npy ----------------------------------------------------------- */

/* The bytes of one .npy: in memory, or out of a deflate stream. */
typedef struct hn_npy_source {
    size_t bytes;              /* of the whole */
    const unsigned char *data; /* NULL: they come from `stream` */
    hn_file *file; /* that `data` lies in; NULL: none, and reading in place is not possible */
    hn_inflate *stream;
    size_t used;  /* bytes read so far */
    uint32_t crc; /* of the bytes read so far from `stream` */
} hn_npy_source;

hone_status hn_npy_decode(hn_array *out, hn_npy_source *source, const hn_npy_options *options,
                          hn_allocator *alloc, hn_error *err);

typedef hone_status (*hn_npy_sink)(void *ctx, const void *data, size_t bytes, hn_error *err);

/* Hands the bytes of the .npy to the sink, piece by piece. */
hone_status hn_npy_encode(const hn_array *array, hn_npy_sink sink, void *ctx, hn_error *err);

#endif
