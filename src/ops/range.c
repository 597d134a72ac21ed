/* Range: start, start + delta, ... before limit: max(ceil((limit - start) / delta), 0) elements,
 * the i-th being start + i*delta. Floats are computed in double and rounded once, so that
 * stash_type, the least precision f16 and bf16 must be given, changes nothing. */
#include <math.h>

#include "ops/axes.h"
#include "ops/op.h"

enum { START, LIMIT, DELTA };

static hone_status count_ints(int64_t start, int64_t limit, int64_t delta, int64_t *n,
                              hn_error *err) {
    HN_CHECK(err, delta != 0, HONE_E_ARG, "delta is 0");
    bool up = delta > 0;
    *n = 0;
    if (up ? start >= limit : start <= limit) return HONE_OK;
    uint64_t span = up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = up ? (uint64_t)delta : 0 - (uint64_t)delta, count = (span - 1) / step + 1;
    HN_CHECK(err, count <= INT64_MAX, HONE_E_SHAPE, "the range has too many elements");
    *n = (int64_t)count;
    return HONE_OK;
}

static hone_status count_floats(double start, double limit, double delta, int64_t *n,
                                hn_error *err) {
    HN_CHECK(err, delta != 0, HONE_E_ARG, "delta is 0");
    double count = (limit - start) / delta;
    HN_CHECK(err, !isnan(count) && count < 0x1p62, HONE_E_SHAPE,
             "a range from %g to %g by %g has no number of elements", start, limit, delta);
    *n = count > 0 ? (int64_t)ceil(count) : 0;
    return HONE_OK;
}

/* The number of elements when the inputs are known as numbers. */
static hone_status count(const hn_infer *c, int64_t *n, bool *known, hn_error *err) {
    *known = true;
    for (int i = 0; i < 3; i++) {
        int length;
        HN_TRY(hn_list_length(c, i, 1, &length, err));
        HN_CHECK(err, length != 0, HONE_E_SHAPE, "input %d is empty, expected one number", i);
    }
    if (hn_dtype_is_float(c->in[START].dtype)) {
        int64_t stash = hn_attr_i(c->node, "stash_type");
        HN_CHECK(err, stash == HONE_DTYPE_F32 || stash == HONE_DTYPE_F64, HONE_E_ARG,
                 "stash_type is %lld, expected 1 (f32) or 11 (f64)", (long long)stash);
        double v[3];
        for (int i = 0; i < 3; i++) {
            const hn_tensor *t = c->in[i].tensor;
            *known = *known && t != NULL && t->n == 1;
            if (*known) v[i] = hn_tensor_f64(t, 0);
        }
        return *known ? count_floats(v[0], v[1], v[2], n, err) : HONE_OK;
    }
    int64_t v[3];
    for (int i = 0; i < 3; i++) *known = *known && hn_in_ints(c, i, &v[i], 1) == 1;
    return *known ? count_ints(v[0], v[1], v[2], n, err) : HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    hn_shape y = {.rank = 1};
    const hn_dim *v[3];
    int64_t n, step;
    bool known, symbolic = !hn_dtype_is_float(c->in[START].dtype);
    HN_TRY(count(c, &n, &known, err));
    for (int i = 0; i < 3; i++) {
        int length;
        v[i] = hn_in_values(c, i, &length);
        symbolic = symbolic && v[i] != NULL && length == 1;
    }
    symbolic = symbolic && hn_dim_is_const(v[DELTA][0], &step);
    hn_dims *t = c->dims;
    if (known) {
        y.dim[0] = hn_dim_const(t, n);
    } else if (symbolic) {
        HN_CHECK(err, step != 0, HONE_E_ARG, "delta is 0");
        hn_dim span = hn_dim_sub(t, v[LIMIT][0], v[START][0]);
        hn_dim steps = step > 0
                           ? hn_dim_div_ceil(t, span, hn_dim_const(t, step))
                           : hn_dim_div_ceil(t, hn_dim_mulc(t, span, -1), hn_dim_const(t, -step));
        y.dim[0] = hn_dim_max(t, steps, hn_dim_const(t, 0));
    } else {
        y.dim[0] = hn_dim_fresh(t, -1);
    }
    hn_set_shape(c, 0, &y);
    if (known || !symbolic || !hn_dim_is_const(y.dim[0], &n) || n > HN_MAX_KNOWN) return HONE_OK;
    hn_dim *values = hn_set_values(c, 0, (int)n);
    for (int i = 0; values != NULL && i < n; i++)
        values[i] = hn_dim_add(t, v[START][0], hn_dim_mulc(t, v[DELTA][0], i));
    return HONE_OK;
}

/* Elements computed from those a block before: a loop of constant length, which compilers make
 * vectors of. */
#define BLOCK 16

#define FILL_FLOATS(T)                                                  \
    static void fill_##T(T *y, int64_t n, double start, double delta) { \
        double place[BLOCK];                                            \
        for (int k = 0; k < BLOCK; k++) place[k] = k;                   \
        int64_t i = 0;                                                  \
        for (; i + BLOCK <= n; i += BLOCK)                              \
            for (int k = 0; k < BLOCK; k++)                             \
                y[i + k] = (T)(start + ((double)i + place[k]) * delta); \
        for (; i < n; i++) y[i] = (T)(start + (double)i * delta);       \
    }
FILL_FLOATS(float)
FILL_FLOATS(double)

/* U: the unsigned integers of that size, in which sums wrap as those of wider ones do. */
#define FILL_INTS(U)                                                         \
    static void fill_##U(U *y, int64_t n, uint64_t start, uint64_t delta) {  \
        U place[BLOCK], at = (U)start;                                       \
        for (int k = 0; k < BLOCK; k++) place[k] = (U)((uint64_t)k * delta); \
        int64_t i = 0;                                                       \
        for (; i + BLOCK <= n; i += BLOCK, at = (U)(at + BLOCK * (U)delta))  \
            for (int k = 0; k < BLOCK; k++) y[i + k] = (U)(at + place[k]);   \
        for (int k = 0; i < n; i++, k++) y[i] = (U)(at + place[k]);          \
    }
FILL_INTS(uint16_t)
FILL_INTS(uint32_t)
FILL_INTS(uint64_t)

static void fill_floats(hn_tensor *y, double start, double delta) {
    switch (y->dtype) {
        case HONE_DTYPE_F32: fill_float(y->data, y->n, start, delta); break;
        case HONE_DTYPE_F64: fill_double(y->data, y->n, start, delta); break;
        default:
            for (int64_t i = 0; i < y->n; i++)
                hn_store_f64(y->dtype, y->data, i, start + (double)i * delta);
    }
}

static void fill_ints(hn_tensor *y, uint64_t start, uint64_t delta) {
    switch (y->dtype) {
        case HONE_DTYPE_S16: fill_uint16_t(y->data, y->n, start, delta); break;
        case HONE_DTYPE_S32: fill_uint32_t(y->data, y->n, start, delta); break;
        default: fill_uint64_t(y->data, y->n, start, delta); break;
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    hn_tensor *y = e->out[0];
    if (hn_dtype_is_float(y->dtype))
        fill_floats(y, hn_tensor_f64(e->in[START], 0), hn_tensor_f64(e->in[DELTA], 0));
    else
        fill_ints(y, (uint64_t)hn_tensor_s64(e->in[START], 0),
                  (uint64_t)hn_tensor_s64(e->in[DELTA], 0));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("stash_type", 1), {0}};

const hn_op_def hn_op_range = {
    .name = "Range",
    .versions = "11 27",
    .sig = "(start:T, limit:T, delta:T) -> (output:T); T: float s16 s32 s64",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .no_grad = "how many numbers it gives depends on its inputs",
};
