/* MaxUnpool: puts the maxima of a MaxPool back where they came from, zeros elsewhere. The indices
 * count in the shape that the attributes give; an output_shape that is larger leaves zeros at the
 * far ends. */
#include "ops/spatial.h"

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

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *indices = e->in[1];
    hn_tensor *y = e->out[0];
    hn_spatial s;
    HN_TRY(hn_spatial_read(e->node, x->rank - 2, &s, err));
    if (y->bytes > 0) memset(y->data, 0, y->bytes);
    if (x->n == 0) return HONE_OK;
    /* The shape the indices count in; it fits in y, so its size does not overflow. */
    int64_t dims[HONE_MAX_RANK], size = x->dims[0] * x->dims[1];
    for (int a = 0; a < s.rank; a++) {
        dims[a] = (x->dims[2 + a] - 1) * s.stride[a] + s.kernel[a] - s.pad[a] - s.pad_end[a];
        size *= dims[a];
    }
    const int64_t *index = indices->data;
    for (int64_t i = 0; i < x->n; i++) {
        HN_CHECK(err, index[i] >= 0 && index[i] < size, HONE_E_ARG,
                 "index %lld, element %lld, is outside [0, %lld)", (long long)index[i],
                 (long long)i, (long long)size);
        int64_t rest = index[i], to = 0, pitch = 1;
        for (int a = s.rank - 1; a >= 0; a--) {
            to += rest % dims[a] * pitch;
            rest /= dims[a];
            pitch *= y->dims[2 + a];
        }
        hn_copy_element(y->dtype, y->data, rest * pitch + to, x->data, i);
    }
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
};
