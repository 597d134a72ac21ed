/* Compress: the slices along an axis, or the elements of the flattened input, where the condition
 * holds; past the condition's end none are taken. */
#include "ops/axes.h"
#include "ops/strided.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0), *when = hn_in_shape(c, 1);
    hn_shape y = {.rank = 1};
    int64_t axis = 0;
    HN_TRY(hn_want_rank(c, 0, 1, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, 1, 1, 1, err));
    hn_dim most = when->rank == 1 ? when->dim[0] : hn_dim_fresh(c->dims, -1);
    if (hn_node_attr(c->node, "axis") != NULL) {
        if (x->rank < 0) return HONE_OK;
        y = *x;
        axis = hn_attr_i(c->node, "axis");
        HN_TRY(hn_want_axis(&axis, x->rank, err));
        most = hn_dim_min(c->dims, most, x->dim[axis]);
    } else if (x->rank >= 0) {
        most = hn_dim_min(c->dims, most, hn_shape_product(c->dims, x, 0, x->rank));
    }
    y.dim[axis] = hn_dim_at_most(c->dims, most);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* The n elements of src from `from` on whose flag is set, without a branch for each. */
#define PICK(name, T)                                                                 \
    static void name(void *dst, int64_t to, int64_t n, const void *src, int64_t from, \
                     const uint8_t *take) {                                           \
        T *y = (T *)dst + to;                                                         \
        const T *x = (const T *)src + from;                                           \
        for (int64_t k = 0, found = 0; found < n; k++) {                              \
            y[found] = x[k];                                                          \
            found += take[k] != 0;                                                    \
        }                                                                             \
    }
PICK(pick_u32, uint32_t)
PICK(pick_u64, uint64_t)

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *when = e->in[1];
    const unsigned char *take = when->data;
    bool flat = hn_node_attr(e->node, "axis") == NULL;
    int64_t axis = flat ? 0 : hn_attr_i(e->node, "axis"), outer = 1, inner = 1, n = 0;
    HN_TRY(hn_movable(x, err));
    if (!flat) HN_TRY(hn_want_axis(&axis, x->rank, err));
    int64_t size = flat ? x->n : x->dims[axis], to = 0;
    int64_t length = when->n < size ? when->n : size;
    for (int64_t k = 0; k < length; k++) n += take[k] != 0;
    int64_t dims[HONE_MAX_RANK] = {n};
    for (int i = 0; !flat && i < x->rank; i++) dims[i] = i == axis ? n : x->dims[i];
    HN_TRY(hn_eval_alloc(e, 0, x->dtype, flat ? 1 : x->rank, dims, err));
    hn_tensor *y = hn_eval_out(e, 0);
    if (y == NULL || y->n == 0) return HONE_OK;
    for (int i = 0; !flat && i < axis; i++) outer *= x->dims[i];
    for (int i = (int)axis + 1; !flat && i < x->rank; i++) inner *= x->dims[i];
    if (inner == 1 && (y->bytes == 4 * (size_t)y->n || y->bytes == 8 * (size_t)y->n)) {
        bool words = y->bytes == 4 * (size_t)y->n;
        for (int64_t o = 0; o < outer; o++)
            (words ? pick_u32 : pick_u64)(y->data, o * n, n, x->data, o * size, take);
        return HONE_OK;
    }
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < length; k++) {
            if (take[k] == 0) continue;
            hn_copy_run(x->dtype, y->data, to, x->data, (o * size + k) * inner, inner);
            to += inner;
        }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_OPT("axis", INT), {0}};

const hn_op_def hn_op_compress = {
    .name = "Compress",
    .versions = "9 11 28",
    .sig = "(input:T, condition:bool) -> (output:T); T: tensor",
    .attrs = attrs,
    .traits = HN_DYNAMIC,
    .quant = HN_QUANT_PASS,
    .infer = infer,
    .ref = ref,
};
