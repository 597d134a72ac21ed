/* Compress: the slices along an axis, or the elements of the flattened input, where the condition
 * holds; past the condition's end none are taken. */
#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/strided.h"

static int64_t count_set(const unsigned char *flags, int64_t n) {
    int64_t found = 0;
    for (int64_t k = 0; k < n; k++) found += flags[k] != 0;
    return found;
}

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
    int64_t size, taken;
    const hn_tensor *known = c->in[1].tensor;
    if (known != NULL && hn_dim_is_const(most, &size)) {
        taken = count_set(known->data, size < known->n ? size : known->n);
        y.dim[axis] = hn_dim_const(c->dims, taken);
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* Flags that are looked at together: a list of those that are set comes first, then the copies, so
 * that neither has a branch that depends on flags. */
enum { CHUNK = 1024 };

static int list_set(const uint8_t *flags, int64_t n, int32_t *list) {
    int found = 0;
    for (int64_t k = 0; k < n; k++) {
        list[found] = (int32_t)k;
        found += flags[k] != 0;
    }
    return found;
}

#define PICK(T)                                                          \
    static void pick_##T(T *y, const T *x, const int32_t *list, int n) { \
        for (int k = 0; k < n; k++) y[k] = x[list[k]];                   \
    }
PICK(uint8_t)
PICK(uint16_t)
PICK(uint32_t)
PICK(uint64_t)

/* n slices of `inner` elements: those of x from `from` on, in slices, that are listed. */
static void pick(hone_dtype t, void *y, int64_t to, const void *x, int64_t from, int64_t inner,
                 const int32_t *list, int n) {
    int bits = inner == 1 ? hone_dtype_bits(t) : 0;
    switch (bits) {
        case 8: pick_uint8_t((uint8_t *)y + to, (const uint8_t *)x + from, list, n); break;
        case 16: pick_uint16_t((uint16_t *)y + to, (const uint16_t *)x + from, list, n); break;
        case 32: pick_uint32_t((uint32_t *)y + to, (const uint32_t *)x + from, list, n); break;
        case 64: pick_uint64_t((uint64_t *)y + to, (const uint64_t *)x + from, list, n); break;
        default:
            for (int k = 0; k < n; k++)
                hn_copy_run(t, y, (to + k) * inner, x, (from + list[k]) * inner, inner);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *when = e->in[1];
    const unsigned char *take = when->data;
    bool flat = hn_node_attr(e->node, "axis") == NULL;
    int64_t axis = flat ? 0 : hn_attr_i(e->node, "axis"), outer = 1, inner = 1;
    HN_TRY(hn_movable(x, err));
    if (!flat) HN_TRY(hn_want_axis(&axis, x->rank, err));
    int64_t size = flat ? x->n : x->dims[axis], to = 0;
    int64_t length = when->n < size ? when->n : size;
    int64_t n = count_set(take, length), dims[HONE_MAX_RANK] = {n};
    for (int i = 0; !flat && i < x->rank; i++) dims[i] = i == axis ? n : x->dims[i];
    HN_TRY(hn_eval_alloc(e, 0, x->dtype, flat ? 1 : x->rank, dims, err));
    hn_tensor *y = hn_eval_out(e, 0);
    if (y == NULL || y->n == 0) return HONE_OK;
    for (int i = 0; !flat && i < axis; i++) outer *= x->dims[i];
    for (int i = (int)axis + 1; !flat && i < x->rank; i++) inner *= x->dims[i];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < length; k += CHUNK) {
            int32_t list[CHUNK + 1];
            int found = list_set(take + k, length - k < CHUNK ? length - k : CHUNK, list);
            pick(x->dtype, y->data, to, x->data, o * size + k, inner, list, found);
            to += found;
        }
    return HONE_OK;
}

/* A condition that is known makes it a Gather. */
static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    const hn_tensor *when = hn_grad_known(g, 1);
    bool flat = hn_node_attr(g->node, "axis") == NULL;
    int64_t dims[HONE_MAX_RANK], size = 1, axis = flat ? 0 : hn_attr_i(g->node, "axis"), *index;
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    HN_TRY(g->status);
    if (when == NULL) return hn_grad_refuse(g, "its condition is computed, and so its size", err);
    if (!flat) HN_TRY(hn_want_axis(&axis, rank, err));
    for (int i = 0; i < rank; i++)
        if (flat || i == axis) size *= dims[i];
    const unsigned char *take = when->data;
    int64_t length = when->n < size ? when->n : size, n = count_set(take, length);
    hn_value *in[] = {flat ? hn_emit_reshape(g, hn_grad_in(g, 0), 1, &size) : hn_grad_in(g, 0),
                      hn_emit_indices(g, 1, &n, &index)};
    if (in[0] == NULL || in[1] == NULL) return HONE_OK;
    for (int64_t k = 0; k < length; k++)
        if (take[k] != 0) *index++ = k;
    hn_node *gather = hn_emit_node(g, "", "Gather", 1, 2, in);
    hn_emit_i(g, gather, "axis", axis);
    y[0] = hn_emitted(gather, 0);
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_OPT("axis", INT), {0}};

const hn_op_def hn_op_compress = {
    .name = "Compress",
    .versions = "9 11 28",
    .sig = "(input:T, condition:bool) -> (output:T); T: tensor",
    .attrs = attrs,
    .traits = HN_DYNAMIC,
    .infer = infer,
    .ref = ref,
    .spell = spell,
};
