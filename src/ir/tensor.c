#include "ir/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

static hone_status measure(hone_dtype dtype, int rank, const int64_t *dims, int64_t *n,
                           size_t *bytes, hn_error *err) {
    HN_CHECK(err, rank >= 0 && rank <= HONE_MAX_RANK, HONE_E_SHAPE,
             "a tensor of rank %d was asked for; at most %d is supported", rank, HONE_MAX_RANK);
    int bits = dtype == HONE_DTYPE_STRING ? (int)sizeof(hn_str) * 8 : hone_dtype_bits(dtype);
    HN_CHECK(err, bits > 0, HONE_E_TYPE, "a tensor of unknown data type %d was asked for",
             (int)dtype);
    for (int i = 0; i < rank; i++)
        HN_CHECK(err, dims[i] >= 0, HONE_E_SHAPE, "axis %d of a tensor has the negative size %lld",
                 i, (long long)dims[i]);
    HN_CHECK(err, hn_dims_count(dims, rank, n) && hn_packed_bytes(*n, bits, bytes), HONE_E_SHAPE,
             "the size of a tensor overflows");
    return HONE_OK;
}

/* Contents from this size on are a block of their own. */
#define APART 4096
#define HEAD ((sizeof(hn_tensor) + HN_ALIGN - 1) / HN_ALIGN * HN_ALIGN)

static void describe(hn_tensor *t, hone_dtype dtype, int rank, const int64_t *dims, int64_t n,
                     size_t bytes) {
    memset(t, 0, sizeof *t);
    atomic_init(&t->refs, 1);
    t->dtype = dtype;
    t->rank = rank;
    if (rank > 0) memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
    t->n = n;
    t->bytes = bytes;
}

/* Allocates the struct, contents of fewer bytes than `inside` and `extra` bytes behind it, and
 * fills in the facts. Other contents are left to the caller: data is NULL. */
static hone_status make(hn_tensor **out, hn_allocator *alloc, hn_mem_tag tag, hone_dtype dtype,
                        int rank, const int64_t *dims, size_t inside, size_t extra, hn_error *err) {
    int64_t n;
    size_t bytes, whole;
    HN_TRY(measure(dtype, rank, dims, &n, &bytes, err));
    bool own_data = bytes < inside;
    if (!hn_size_add(HEAD, own_data ? bytes : 0, &whole) || !hn_size_add(whole, extra, &whole))
        return HN_NOMEM(err);
    hn_tensor *t = hn_alloc(alloc, whole, tag);
    if (t == NULL)
        return hn_fail(err, HONE_E_NOMEM, "out of memory (%zu bytes for a tensor of %s)", whole,
                       hone_dtype_name(dtype));
    describe(t, dtype, rank, dims, n, bytes);
    t->alloc = alloc;
    if (own_data) t->data = (unsigned char *)t + HEAD;
    *out = t;
    return HONE_OK;
}

/* Elements under 8 bits may leave bits of the last byte over; they are always zero. */
static void clear_last_bits(hn_tensor *t) {
    if (t->bytes > 0 && t->dtype != HONE_DTYPE_STRING && hone_dtype_bits(t->dtype) < 8)
        ((unsigned char *)t->data)[t->bytes - 1] = 0;
}

hone_status hn_tensor_create(hn_tensor **out, hn_allocator *alloc, hn_mem_tag tag, hone_dtype dtype,
                             int rank, const int64_t *dims, hn_error *err) {
    hn_tensor *t;
    HN_TRY(make(&t, alloc, tag, dtype, rank, dims, APART, 0, err));
    if (t->data == NULL) {
        size_t bytes = t->bytes;
        t->data = t->own = hn_alloc(alloc, bytes, tag);
        if (t->own == NULL) {
            hn_tensor_unref(t);
            return hn_fail(err, HONE_E_NOMEM, "out of memory (%zu bytes for a tensor of %s)", bytes,
                           hone_dtype_name(dtype));
        }
    }
    clear_last_bits(t);
    *out = t;
    return HONE_OK;
}

hone_status hn_tensor_create_mapped(hn_tensor **out, hn_allocator *alloc, hone_dtype dtype,
                                    int rank, const int64_t *dims, hn_file *file, const void *data,
                                    hn_error *err) {
    hn_tensor *t;
    HN_TRY(make(&t, alloc, HN_MEM_MODEL, dtype, rank, dims, 0, 0, err));
    t->file = hn_file_ref(file);
    t->data = (void *)(uintptr_t)data;
    *out = t;
    return HONE_OK;
}

static void *borrowed(const void *data) {
    static char nothing[HN_ALIGN];
    return data != NULL ? (void *)(uintptr_t)data : nothing;
}

hone_status hn_tensor_create_borrowed(hn_tensor **out, hn_allocator *alloc, hone_dtype dtype,
                                      int rank, const int64_t *dims, const void *data,
                                      hn_error *err) {
    hn_tensor *t;
    HN_TRY(make(&t, alloc, HN_MEM_TENSOR, dtype, rank, dims, 0, 0, err));
    t->data = borrowed(data);
    *out = t;
    return HONE_OK;
}

hone_status hn_tensor_borrow(hn_tensor *t, hone_dtype dtype, int rank, const int64_t *dims,
                             const void *data, hn_error *err) {
    int64_t n;
    size_t bytes;
    HN_TRY(measure(dtype, rank, dims, &n, &bytes, err));
    describe(t, dtype, rank, dims, n, bytes);
    t->data = borrowed(data);
    return HONE_OK;
}

hone_status hn_tensor_create_view(hn_tensor **out, hn_tensor *base, int rank, const int64_t *dims,
                                  hn_error *err) {
    HN_TRY(hn_tensor_create_part(out, base, 0, rank, dims, err));
    assert((*out)->n == base->n);
    return HONE_OK;
}

hone_status hn_tensor_create_part(hn_tensor **out, hn_tensor *base, int64_t first, int rank,
                                  const int64_t *dims, hn_error *err) {
    hn_tensor *t;
    HN_TRY(make(&t, base->alloc, HN_MEM_TENSOR, base->dtype, rank, dims, 0, 0, err));
    assert(base->data != NULL && first + t->n <= base->n);
    t->base = hn_tensor_ref(base);
    t->data = (char *)base->data + first * hone_dtype_bits(base->dtype) / 8;
    *out = t;
    return HONE_OK;
}

hone_status hn_tensor_create_strings(hn_tensor **out, hn_allocator *alloc, int rank,
                                     const int64_t *dims, const hn_str *texts, hn_error *err) {
    int64_t n;
    size_t extra = 0;
    HN_CHECK(err, hn_dims_count(dims, rank, &n), HONE_E_SHAPE, "the size of a tensor overflows");
    for (int64_t i = 0; i < n; i++)
        if (!hn_size_add(extra, texts[i].n, &extra)) return HN_NOMEM(err);
    hn_tensor *t;
    HN_TRY(make(&t, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_STRING, rank, dims, SIZE_MAX, extra, err));
    hn_str *strings = t->data;
    char *at = (char *)t->data + t->bytes;
    for (int64_t i = 0; i < n; i++) {
        strings[i] = (hn_str){at, texts[i].n};
        if (texts[i].n > 0) memcpy(at, texts[i].p, texts[i].n);
        at += texts[i].n;
    }
    *out = t;
    return HONE_OK;
}

hone_status hn_tensor_create_sparse(hn_tensor **out, hn_allocator *alloc, int rank,
                                    const int64_t *dims, hn_tensor *values, hn_tensor *indices,
                                    hn_error *err) {
    HN_CHECK(err, values->rank == 1, HONE_E_SHAPE,
             "the values of a sparse tensor have rank %d, expected 1", values->rank);
    HN_CHECK(err, indices->dtype == HONE_DTYPE_S64, HONE_E_TYPE,
             "the indices of a sparse tensor are %s, expected s64",
             hone_dtype_name(indices->dtype));
    bool linear = indices->rank == 1 && indices->dims[0] == values->n;
    bool full = indices->rank == 2 && indices->dims[0] == values->n && indices->dims[1] == rank;
    HN_CHECK(err, linear || full, HONE_E_SHAPE,
             "the indices of a sparse tensor do not match its %lld values and rank %d",
             (long long)values->n, rank);
    hn_tensor *t;
    HN_TRY(make(&t, alloc, HN_MEM_WEIGHTS, values->dtype, rank, dims, 0, 0, err));
    t->values = values;
    t->indices = indices;
    *out = t;
    return HONE_OK;
}

hone_status hn_tensor_from_s64(hn_tensor **out, hn_allocator *alloc, hone_dtype dtype, int rank,
                               const int64_t *dims, const int64_t *v, hn_error *err) {
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_WEIGHTS, dtype, rank, dims, err));
    hn_store_s64_n(dtype, (*out)->data, 0, (*out)->n, v);
    return HONE_OK;
}

hone_status hn_tensor_from_f32(hn_tensor **out, hn_allocator *alloc, int rank, const int64_t *dims,
                               const float *v, hn_error *err) {
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, rank, dims, err));
    if ((*out)->bytes > 0) memcpy((*out)->data, v, (*out)->bytes);
    return HONE_OK;
}

hn_tensor *hn_tensor_ref(const hn_tensor *t) {
    hn_tensor *m = (hn_tensor *)(uintptr_t)t;
    if (m != NULL) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void hn_tensor_unref(hn_tensor *t) {
    /* A view's base is released in turn; views of views make a chain, hence a loop. */
    while (t != NULL && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) {
        hn_tensor *base = t->base;
        hn_file_unref(t->file);
        hn_free(t->alloc, t->own);
        hn_tensor_unref(t->values);
        hn_tensor_unref(t->indices);
        hn_free(t->alloc, t);
        t = base;
    }
}

void hn_tensor_drop(hn_tensor *t) {
    assert(t->own != NULL);
    hn_free(t->alloc, t->own);
    t->own = t->data = NULL;
}

void hn_tensor_refill(hn_tensor *t, hn_tensor *from) {
    assert(t->own == NULL && from->own != NULL && from->bytes == t->bytes &&
           from->alloc == t->alloc);
    t->own = t->data = from->own;
    from->own = from->data = NULL;
}

/* Where element k of a sparse tensor lies among all; -1: outside. */
static int64_t sparse_place(const hn_tensor *s, int64_t k) {
    int64_t at = 0;
    if (s->indices->rank == 1) {
        at = hn_tensor_s64(s->indices, k);
        return at >= 0 && at < s->n ? at : -1;
    }
    for (int i = 0; i < s->rank; i++) {
        int64_t x = hn_tensor_s64(s->indices, k * s->rank + i);
        if (x < 0 || x >= s->dims[i]) return -1;
        at = at * s->dims[i] + x;
    }
    return s->n > 0 ? at : -1;
}

enum { NOT_16_BITS = 1, FEW_ZEROS = 2, MANY_VALUES = 4 };

/* What `found` and `zeros` say then: number 0. */
unsigned hn_tensor_plain(const hn_tensor *t) {
    int found = atomic_load(&t->found);
    int64_t zeros = atomic_load(&t->zeros);
    unsigned bits = 0;
    if ((found & HN_FOUND_FITS) == 1) bits |= NOT_16_BITS;
    if (found / HN_FOUND_VALUES == 1) bits |= MANY_VALUES;
    if (zeros > 0 && zeros - 1 < t->n - t->n / 2) bits |= FEW_ZEROS;
    return bits;
}

void hn_tensor_tell_plain(hn_tensor *t, unsigned bits) {
    int fits = (bits & NOT_16_BITS) != 0, values = (bits & MANY_VALUES) != 0;
    atomic_store(&t->found, fits + values * HN_FOUND_VALUES);
    atomic_store(&t->zeros, (bits & FEW_ZEROS) != 0);
}

bool hn_tensor_sparse_fits(hn_tensor *s) {
    int found = atomic_load(&s->found);
    if (found > 0) return found > 1;
    bool fits = true;
    for (int64_t k = 0; k < s->values->n && fits; k++) fits = sparse_place(s, k) >= 0;
    atomic_store(&s->found, 1 + fits);
    return fits;
}

hone_status hn_tensor_dense(hn_tensor **out, const hn_tensor *s, hn_allocator *alloc,
                            hn_error *err) {
    assert(s->data == NULL && s->values != NULL);
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, alloc, HN_MEM_TENSOR, s->dtype, s->rank, s->dims, err));
    memset(t->data, 0, t->bytes);
    for (int64_t k = 0; k < s->values->n; k++) {
        int64_t at = sparse_place(s, k);
        if (at < 0) {
            hn_tensor_unref(t);
            return hn_fail(err, HONE_E_MODEL, "index %lld of a sparse tensor is outside its dims",
                           (long long)k);
        }
        hn_copy_element(t->dtype, t->data, at, s->values->data, k);
    }
    *out = t;
    return HONE_OK;
}

bool hn_tensor_aligned(const hn_tensor *t) {
    if (t->dtype == HONE_DTYPE_STRING || t->data == NULL) return true;
    size_t width = (size_t)hone_dtype_bits(t->dtype) / 8;
    if (hn_dtype_in(t->dtype, HN_DTYPES_COMPLEX)) width /= 2;
    return width <= 1 || (uintptr_t)t->data % width == 0;
}

bool hn_tensor_same_dims(const hn_tensor *t, int rank, const int64_t *dims) {
    if (t->rank != rank) return false;
    for (int i = 0; i < rank; i++)
        if (t->dims[i] != dims[i]) return false;
    return true;
}

bool hn_tensor_equal(const hn_tensor *a, const hn_tensor *b) {
    if (a == b) return true;
    if (a->dtype != b->dtype || !hn_tensor_same_dims(a, b->rank, b->dims)) return false;
    if ((a->data == NULL) != (b->data == NULL)) return false;
    if (a->data == NULL)
        return hn_tensor_equal(a->values, b->values) && hn_tensor_equal(a->indices, b->indices);
    if (a->dtype != HONE_DTYPE_STRING)
        return a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0;
    const hn_str *x = a->data, *y = b->data;
    for (int64_t i = 0; i < a->n; i++)
        if (x[i].n != y[i].n || (x[i].n > 0 && memcmp(x[i].p, y[i].p, x[i].n) != 0)) return false;
    return true;
}

char *hn_tensor_text(const hn_tensor *t, char *buf, size_t size) {
    size_t at = (size_t)snprintf(buf, size, "%s[", hone_dtype_name(t->dtype));
    for (int i = 0; i < t->rank && at < size; i++)
        at +=
            (size_t)snprintf(buf + at, size - at, i > 0 ? ", %lld" : "%lld", (long long)t->dims[i]);
    if (at < size) snprintf(buf + at, size - at, "]");
    return buf;
}
