/* MaxUnpool: puts the maxima of a MaxPool back where they came from, zeros elsewhere. The indices
 * count in the shape that the attributes give; an output_shape that is larger leaves zeros at the
 * far ends. */
#include "ops/grad.h"
#include "ops/spatial.h"
#include "ops/strided.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 0, 3, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, 2, 1, 1, err));
    const hn_shape *x = hn_in_shape(c, 0), *indices = hn_in_shape(c, 1);
    if (x->rank < 0) return HONE_OK;
    if (indices->rank >= 0) {
        HN_CHECK(err, indices->rank == x->rank, HONE_E_SHAPE,
                 "X has rank %d but its indices have rank %d", x->rank, indices->rank);
        for (int i = 0; i < x->rank; i++)
            HN_TRY(hn_want_equal(x->dim[i], indices->dim[i], "sizes of X and its indices", err));
    }
    hn_spatial s;
    HN_TRY(hn_spatial_read(c->node, x->rank - 2, &s, err));
    hn_shape y = *x;
    for (int i = 0; i < s.rank; i++) {
        hn_dim steps = hn_dim_mulc(c->dims, hn_dim_addc(c->dims, x->dim[2 + i], -1), s.stride[i]);
        y.dim[2 + i] = hn_dim_addc(c->dims, steps, s.kernel[i] - s.pad[i] - s.pad_end[i]);
        int64_t size;
        HN_CHECK(err, !hn_dim_is_const(y.dim[2 + i], &size) || size >= 0, HONE_E_SHAPE,
                 "spatial axis %d gets the size %lld", i, (long long)size);
    }
    if (hn_has_in(c, 2)) {
        int n;
        const hn_dim *given = hn_in_values(c, 2, &n);
        HN_CHECK(err, given == NULL || n == x->rank, HONE_E_SHAPE,
                 "output_shape has %d values, expected %d", n, x->rank);
        for (int i = 0; i < x->rank; i++) {
            int64_t found, least;
            hn_dim size = given != NULL ? given[i] : i < 2 ? y.dim[i] : hn_dim_fresh(c->dims, -1);
            HN_CHECK(err,
                     !hn_dim_is_const(size, &found) || !hn_dim_is_const(y.dim[i], &least) ||
                         (i < 2 ? found == least : found >= least),
                     HONE_E_SHAPE, "output_shape has %lld on axis %d, expected %s%lld",
                     (long long)found, i, i < 2 ? "" : "at least ", (long long)least);
            y.dim[i] = size;
        }
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

enum { AHEAD = 4096 }; /* bytes */

/* dst, of `size` elements, gets src[i] at index[i] and zeros elsewhere. Zeros are laid down just
 * ahead of the largest index so far, so that elements mostly land in the L1 cache. Returns n, or
 * the number of the first index that is out of range. */
#define SCATTER(T)                                                                       \
    static int64_t scatter_##T(T *dst, int64_t size, const T *src, const int64_t *index, \
                               int64_t n) {                                              \
        int64_t zeroed = 0;                                                              \
        for (int64_t i = 0; i < n; i++) {                                                \
            int64_t to = index[i];                                                       \
            if ((uint64_t)to >= (uint64_t)zeroed) {                                      \
                if (to < 0 || to >= size) return i;                                      \
                int64_t step = AHEAD / (int64_t)sizeof(T);                               \
                int64_t end = size - to < step ? size : to + step;                       \
                memset(dst + zeroed, 0, (size_t)(end - zeroed) * sizeof(T));             \
                zeroed = end;                                                            \
            }                                                                            \
            dst[to] = src[i];                                                            \
        }                                                                                \
        if (zeroed < size) memset(dst + zeroed, 0, (size_t)(size - zeroed) * sizeof(T)); \
        return n;                                                                        \
    }
SCATTER(uint16_t)
SCATTER(uint32_t)
SCATTER(uint64_t)

static hone_status unpool(const hn_tensor *x, const hn_tensor *indices, void *dst, int64_t size,
                          hn_error *err) {
    const int64_t *index = indices->data;
    int bits = hone_dtype_bits(x->dtype);
    int64_t done = bits == 16   ? scatter_uint16_t(dst, size, x->data, index, x->n)
                   : bits == 32 ? scatter_uint32_t(dst, size, x->data, index, x->n)
                                : scatter_uint64_t(dst, size, x->data, index, x->n);
    HN_CHECK(err, done == x->n, HONE_E_ARG, "index %lld, element %lld, is outside [0, %lld)",
             (long long)index[done], (long long)done, (long long)size);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *indices = e->in[1];
    hn_tensor *y = e->out[0];
    hn_spatial s;
    HN_TRY(hn_spatial_read(e->node, x->rank - 2, &s, err));
    if (x->n == 0) {
        if (y->bytes > 0) memset(y->data, 0, y->bytes);
        return HONE_OK;
    }
    /* The shape the indices count in; it fits in y, so its size does not overflow. */
    int64_t dims[HONE_MAX_RANK] = {x->dims[0], x->dims[1]}, size = x->dims[0] * x->dims[1];
    for (int a = 0; a < s.rank; a++) {
        dims[2 + a] = (x->dims[2 + a] - 1) * s.stride[a] + s.kernel[a] - s.pad[a] - s.pad_end[a];
        size *= dims[2 + a];
    }
    if (size == y->n) return unpool(x, indices, y->data, size, err);
    void *image = hn_scratch(e, size, (size_t)hone_dtype_bits(x->dtype) / 8);
    if (image == NULL) return HN_NOMEM(err);
    HN_TRY(unpool(x, indices, image, size, err));
    hn_strided copy = hn_strided_place(x->rank, dims, y->dims, (const int64_t[HONE_MAX_RANK]){0});
    memset(y->data, 0, y->bytes);
    hn_strided_copy(e->pool, x->dtype, image, y->data, &copy);
    return HONE_OK;
}

/* What lies at the indices, in the shape they count in. */
static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t x[HONE_MAX_RANK], y[HONE_MAX_RANK], back[2 * HONE_MAX_RANK] = {0}, size = 1;
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), x);
    hn_grad_dims(g, hn_grad_out(g, 0), y);
    if (g->status != HONE_OK) return HONE_OK;
    hn_spatial s;
    HN_TRY(hn_spatial_read(g->node, rank - 2, &s, err));
    for (int i = 0; i < rank; i++) {
        int a = i - 2;
        int64_t n = a < 0 ? x[i] : (x[i] - 1) * s.stride[a] + s.kernel[a] - s.pad[a] - s.pad_end[a];
        back[rank + i] = n - y[i];
        size *= n;
    }
    hn_value *inside = HN_EMIT2(g, "Pad", g->dy[0], hn_emit_ints(g, back, 2 * rank));
    hn_value *flat = hn_emit_reshape(g, inside, 1, &size);
    hn_grad_give(g, 0, HN_EMIT2(g, "Gather", flat, hn_grad_in(g, 1)));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_REQ("kernel_shape", INTS),
    HN_ATTR_OPT("pads", INTS),
    HN_ATTR_OPT("strides", INTS),
    {0},
};

const hn_op_def hn_op_max_unpool = {
    .name = "MaxUnpool",
    .versions = "9 11 22",
    .sig = "(X:T, I:s64, output_shape:s64?) -> (output:T); T: float",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
