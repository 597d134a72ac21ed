#include "ops/indices.h"

#include "ops/strided.h"

hone_status hn_want_index(int64_t *index, int64_t size, int64_t k, hn_error *err) {
    HN_CHECK(err, *index >= -size && *index < size, HONE_E_ARG,
             "index %lld (at position %lld of the indices) is outside [-%lld, %lld)",
             (long long)*index, (long long)k, (long long)size, (long long)size);
    if (*index < 0) *index += size;
    return HONE_OK;
}

hone_status hn_read_indices(hn_eval *e, int i, int64_t size, int64_t **out, hn_error *err) {
    int64_t n = e->in[i]->n, *v = hn_scratch_s64(e, e->in[i]);
    if (v == NULL) return HN_NOMEM(err);
    for (int64_t k = 0; k < n; k++) HN_TRY(hn_want_index(&v[k], size, k, err));
    *out = v;
    return HONE_OK;
}

hone_status hn_read_positions(hn_eval *e, int i, const hn_tensor *data, int axis, int64_t **out,
                              hn_error *err) {
    const hn_tensor *t = e->in[i];
    int64_t strides[HONE_MAX_RANK], index[HONE_MAX_RANK] = {0}, *v;
    HN_TRY(hn_read_indices(e, i, data->dims[axis], &v, err));
    hn_strides(data->rank, data->dims, strides);
    for (int64_t k = 0; k < t->n; k++) {
        v[k] *= strides[axis];
        for (int a = 0; a < t->rank; a++)
            if (a != axis) v[k] += index[a] * strides[a];
        for (int a = t->rank - 1; a >= 0; a--) {
            if (++index[a] < t->dims[a]) break;
            index[a] = 0;
        }
    }
    *out = v;
    return HONE_OK;
}

hone_status hn_want_inside(const hn_shape *data, const hn_shape *indices, int axis, hn_error *err) {
    for (int i = 0; i < indices->rank; i++) {
        int64_t a, b;
        if (i == axis || !hn_dim_is_const(data->dim[i], &a) ||
            !hn_dim_is_const(indices->dim[i], &b))
            continue;
        HN_CHECK(err, b <= a, HONE_E_SHAPE,
                 "axis %d of the indices has size %lld, more than the %lld of the data", i,
                 (long long)b, (long long)a);
    }
    return HONE_OK;
}

hone_status hn_read_tuples(hn_eval *e, int i, int k, const int64_t *dims, int64_t per_batch,
                           int64_t **out, hn_error *err) {
    const hn_tensor *t = e->in[i];
    int64_t *v = hn_scratch_s64(e, t), n = k > 0 ? t->n / k : 0;
    if (v == NULL) return HN_NOMEM(err);
    for (int64_t j = 0; j < n; j++) {
        int64_t at = j / per_batch;
        for (int a = 0; a < k; a++) {
            int64_t x = v[j * k + a];
            HN_TRY(hn_want_index(&x, dims[a], j * k + a, err));
            at = at * dims[a] + x;
        }
        v[j] = at; /* behind what is still to be read */
    }
    *out = v;
    return HONE_OK;
}
