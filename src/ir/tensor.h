/* Tensors: reference-counted arrays. The elements lie in memory of the tensor's own, in a mapped
 * file, or in another tensor (a view). A tensor is written only by whoever made it, before anyone
 * else sees it.
 *
 * Data in a mapped file may have any alignment; `hn_tensor_aligned` tells.
 * String tensors hold hn_str elements. Sparse tensors (ONNX SparseTensorProto, COO) keep `values`
 * and `indices` and have no dense data until hn_tensor_dense makes a dense one.
 */
#ifndef HN_IR_TENSOR_H
#define HN_IR_TENSOR_H

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/file.h"

typedef struct hn_str {
    const char *p; /* not terminated */
    size_t n;
} hn_str;

typedef struct hn_tensor hn_tensor;
enum { HN_FOUND_FITS = 0xff, HN_FOUND_VALUES = 0x100 };
struct hn_tensor {
    atomic_int refs;
    hn_allocator *alloc;
    hone_dtype dtype;
    int rank;
    int64_t dims[HONE_MAX_RANK];
    int64_t n;    /* elements */
    size_t bytes; /* of data */
    void *data;   /* NULL for sparse tensors, and once the contents are dropped */
    /* What keeps data alive; all NULL: data follows the struct in the same block, or is borrowed.
     */
    hn_file *file;   /* the mapped file */
    hn_tensor *base; /* the tensor this is a view of */
    void *own;       /* a block of the contents alone, where they are large */
    /* What was found by reading all of a constant, so that it is read once: number + 1; 0: nothing.
     * Of f32 the hn_float that holds it exactly (HN_FOUND_FITS) and, times HN_FOUND_VALUES, how many
     * different numbers it is (kernels/kernel.h has both); of a sparse tensor whether it fits
     * (hn_tensor_sparse_fits). */
    atomic_int found;
    atomic_int zeros; /* likewise: how many are 0, if about half are (hn_floats_zeros) */
    /* Sparse tensors. */
    hn_tensor *values;  /* [nnz] */
    hn_tensor *indices; /* s64 [nnz] (linear) or [nnz, rank] */
};

/* A tensor with its own uninitialised memory. HONE_E_NOMEM, or HONE_E_SHAPE when the dims are
 * negative or their product overflows. */
hone_status hn_tensor_create(hn_tensor **out, hn_allocator *alloc, hn_mem_tag tag, hone_dtype dtype,
                             int rank, const int64_t *dims, hn_error *err);
/* A tensor whose bytes lie in a mapped file, which it then holds a reference to. The caller has
 * checked that the range is inside the file and as long as the dims say. */
hone_status hn_tensor_create_mapped(hn_tensor **out, hn_allocator *alloc, hone_dtype dtype,
                                    int rank, const int64_t *dims, hn_file *file, const void *data,
                                    hn_error *err);
/* A tensor over memory of the caller's, which must outlive it. */
hone_status hn_tensor_create_borrowed(hn_tensor **out, hn_allocator *alloc, hone_dtype dtype,
                                      int rank, const int64_t *dims, const void *data,
                                      hn_error *err);
/* The same in a struct of the caller's, which nobody may be holding when it goes. */
hone_status hn_tensor_borrow(hn_tensor *t, hone_dtype dtype, int rank, const int64_t *dims,
                             const void *data, hn_error *err);
/* The same elements under other dims (same count). */
hone_status hn_tensor_create_view(hn_tensor **out, hn_tensor *base, int rank, const int64_t *dims,
                                  hn_error *err);
/* As many of its elements as the dims hold, from number `first` on, which begins a byte. */
hone_status hn_tensor_create_part(hn_tensor **out, hn_tensor *base, int64_t first, int rank,
                                  const int64_t *dims, hn_error *err);
/* String tensor: copies the texts. */
hone_status hn_tensor_create_strings(hn_tensor **out, hn_allocator *alloc, int rank,
                                     const int64_t *dims, const hn_str *texts, hn_error *err);
/* Takes over one reference to values and indices on success. */
hone_status hn_tensor_create_sparse(hn_tensor **out, hn_allocator *alloc, int rank,
                                    const int64_t *dims, hn_tensor *values, hn_tensor *indices,
                                    hn_error *err);
/* Small helpers for constants made by passes and lifts. */
hone_status hn_tensor_from_s64(hn_tensor **out, hn_allocator *alloc, hone_dtype dtype, int rank,
                               const int64_t *dims, const int64_t *v, hn_error *err);
hone_status hn_tensor_from_f32(hn_tensor **out, hn_allocator *alloc, int rank, const int64_t *dims,
                               const float *v, hn_error *err);

hn_tensor *hn_tensor_ref(const hn_tensor *t); /* NULL accepted */
void hn_tensor_unref(hn_tensor *t);           /* NULL accepted */

/* Frees contents that are a block of their own. What made them can make them again, for
 * hn_tensor_refill, which takes those of `from`, a tensor like t. Views of t are of no use in
 * between, and nobody may be reading. */
void hn_tensor_drop(hn_tensor *t);
void hn_tensor_refill(hn_tensor *t, hn_tensor *from);

/* Whether all indices of a sparse tensor are inside its dims. */
bool hn_tensor_sparse_fits(hn_tensor *sparse);
/* A dense tensor with the sparse tensor's contents; indices are checked. */
hone_status hn_tensor_dense(hn_tensor **out, const hn_tensor *sparse, hn_allocator *alloc,
                            hn_error *err);
/* What was looked for in a constant in vain, as bits that fit a byte: whoever takes this for true
 * without looking does nothing worse than treat the constant like any other. */
unsigned hn_tensor_plain(const hn_tensor *t);
void hn_tensor_tell_plain(hn_tensor *t, unsigned bits);
/* True when data may be read through a pointer to the element type. */
bool hn_tensor_aligned(const hn_tensor *t);
/* Same dtype, dims and bytes. */
bool hn_tensor_equal(const hn_tensor *a, const hn_tensor *b);
bool hn_tensor_same_dims(const hn_tensor *t, int rank, const int64_t *dims);

static inline double hn_tensor_f64(const hn_tensor *t, int64_t i) {
    return hn_load_f64(t->dtype, t->data, i);
}
static inline int64_t hn_tensor_s64(const hn_tensor *t, int64_t i) {
    return hn_load_s64(t->dtype, t->data, i);
}

/* "f32[1, 3, 224, 224]" */
char *hn_tensor_text(const hn_tensor *t, char *buf, size_t size);

#endif
