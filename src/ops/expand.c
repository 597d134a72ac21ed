/* Expand: the input broadcast with a shape. Tile: the input repeated along each axis. Both read a
 * source axis again and again: a stride of 0. */
#include <string.h>

#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/strided.h"

/* ---- Expand ---- */

static hn_strided expand_plan(int rank, const int64_t *src_dims, int out_rank, const int64_t *out) {
    int64_t src[HONE_MAX_RANK], dst[HONE_MAX_RANK];
    hn_strided s = {0};
    hn_strides(rank, src_dims, src);
    hn_strides(out_rank, out, dst);
    for (int i = 0; i < out_rank; i++) {
        int k = i - (out_rank - rank);
        hn_strided_add(&s, out[i], k < 0 || src_dims[k] == 1 ? 0 : src[k], dst[i]);
    }
    return s;
}

static hone_status infer_expand(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_dim *want;
    int n;
    HN_TRY(hn_list_dims(c, 1, HONE_MAX_RANK, &want, &n, err));
    if (n < 0 || x->rank < 0) return HONE_OK;
    hn_shape y, shape = {.rank = n};
    if (want == NULL) {
        y = hn_shape_fresh(c->dims, n > x->rank ? n : x->rank);
        hn_set_shape(c, 0, &y);
        return HONE_OK;
    }
    for (int i = 0; i < n; i++) {
        int64_t v;
        HN_CHECK(err, !hn_dim_is_const(want[i], &v) || v >= 0, HONE_E_SHAPE,
                 "the wanted shape has %lld at axis %d", (long long)v, i);
        shape.dim[i] = want[i];
    }
    char a[256], b[256];
    HN_CHECK(err, hn_shape_broadcast(c->dims, x, &shape, &y), HONE_E_SHAPE,
             "a tensor of shape %s does not broadcast with the shape %s",
             hn_shape_text(x, a, sizeof a), hn_shape_text(&shape, b, sizeof b));
    hn_set_shape(c, 0, &y);

    int64_t dims[HONE_MAX_RANK], out[HONE_MAX_RANK];
    const hn_dim *src = hn_known_values(c, 0, dims);
    hn_dim *dst = src != NULL ? hn_room_for_values(c, 0, &y, out) : NULL;
    if (dst == NULL) return HONE_OK;
    hn_strided s = expand_plan(x->rank, dims, y.rank, out);
    hn_strided_dims(src, dst, &s);
    return HONE_OK;
}

static hone_status ref_expand(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    HN_TRY(hn_movable(x, err));
    hn_strided s = expand_plan(x->rank, x->dims, y->rank, y->dims);
    hn_strided_copy(e->pool, x->dtype, x->data, y->data, &s);
    return HONE_OK;
}

/* ---- Tile ---- */

/* Axis i of the output is (repeat, index in the source). */
static hn_strided tile_plan(int rank, const int64_t *src_dims, const int64_t *out) {
    int64_t src[HONE_MAX_RANK], dst[HONE_MAX_RANK];
    hn_strided s = {0};
    hn_strides(rank, src_dims, src);
    hn_strides(rank, out, dst);
    for (int i = 0; i < rank; i++)
        if (out[i] == 0) return (hn_strided){.empty = true};
    for (int i = 0; i < rank; i++) {
        hn_strided_add(&s, out[i] / src_dims[i], 0, src_dims[i] * dst[i]);
        hn_strided_add(&s, src_dims[i], src[i], dst[i]);
    }
    return s;
}

static hone_status infer_tile(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_dim *repeats;
    int n;
    HN_TRY(hn_list_dims(c, 1, HONE_MAX_RANK, &repeats, &n, err));
    if (x->rank < 0 && n < 0) return HONE_OK;
    HN_CHECK(err, x->rank < 0 || n < 0 || n == x->rank, HONE_E_SHAPE,
             "%d repeats are listed for an input of rank %d", n, x->rank);
    hn_shape y = hn_shape_fresh(c->dims, n < 0 ? x->rank : n);
    bool known = repeats != NULL && x->rank >= 0;
    for (int i = 0; known && i < n; i++) {
        int64_t v;
        HN_CHECK(err, !hn_dim_is_const(repeats[i], &v) || v >= 0, HONE_E_ARG,
                 "axis %d is repeated %lld times", i, (long long)v);
        y.dim[i] = hn_dim_mul(c->dims, x->dim[i], repeats[i]);
    }
    hn_set_shape(c, 0, &y);

    int64_t dims[HONE_MAX_RANK], out[HONE_MAX_RANK];
    const hn_dim *src = known ? hn_known_values(c, 0, dims) : NULL;
    hn_dim *dst = src != NULL ? hn_room_for_values(c, 0, &y, out) : NULL;
    if (dst == NULL) return HONE_OK;
    hn_strided s = tile_plan(y.rank, dims, out);
    hn_strided_dims(src, dst, &s);
    return HONE_OK;
}

/* A tensor of whole bytes and the axes from `axis` on; inner: bytes behind an axis, of source and
 * result. */
typedef struct tiling {
    int rank;
    const int64_t *dims, *out;
    size_t src[HONE_MAX_RANK + 1], dst[HONE_MAX_RANK + 1];
} tiling;

/* The part of the source at src: its blocks one after the other, then all of them repeated. */
static void tile(const tiling *t, int axis, unsigned char *dst, const unsigned char *src) {
    if (axis == t->rank - 1) {
        memcpy(dst, src, t->src[axis]);
    } else {
        for (int64_t i = 0; i < t->dims[axis]; i++)
            tile(t, axis + 1, dst + (size_t)i * t->dst[axis + 1],
                 src + (size_t)i * t->src[axis + 1]);
    }
    hn_repeat(dst, (size_t)t->dims[axis] * t->dst[axis + 1], t->out[axis] / t->dims[axis]);
}

static hone_status ref_tile(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    HN_TRY(hn_movable(x, err));
    size_t width = (size_t)hone_dtype_bits(x->dtype) / 8;
    if (width > 0 && x->rank > 0 && y->n > 0) {
        tiling t = {.rank = x->rank, .dims = x->dims, .out = y->dims};
        t.src[x->rank] = t.dst[x->rank] = width;
        for (int i = x->rank - 1; i >= 0; i--) {
            t.src[i] = t.src[i + 1] * (size_t)x->dims[i];
            t.dst[i] = t.dst[i + 1] * (size_t)y->dims[i];
        }
        tile(&t, 0, y->data, x->data);
        return HONE_OK;
    }
    hn_strided s = tile_plan(x->rank, x->dims, y->dims);
    hn_strided_copy(e->pool, x->dtype, x->data, y->data, &s);
    return HONE_OK;
}

static hone_status grad_expand(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_out(g, 0), dims);
    hn_grad_give(g, 0, hn_emit_sum_to(g, g->dy[0], rank, dims, hn_grad_in(g, 0)));
    return HONE_OK;
}

/* Each axis as [repeats, size], summed over the repeats. */
static hone_status grad_tile(hn_grad *g, hn_error *err) {
    int64_t x[HONE_MAX_RANK], y[HONE_MAX_RANK], split[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), x), n = 0;
    uint32_t repeats = 0;
    hn_grad_dims(g, hn_grad_out(g, 0), y);
    for (int i = 0; i < rank; i++) {
        if (n + 2 > HONE_MAX_RANK) return hn_grad_refuse(g, "too many axes", err);
        if (y[i] != x[i] && x[i] > 0) {
            repeats |= 1u << n;
            split[n++] = y[i] / x[i];
        }
        split[n++] = x[i];
    }
    hn_value *v = hn_emit_sum(g, hn_emit_reshape(g, g->dy[0], n, split), repeats, false);
    hn_grad_give(g, 0, hn_emit_shaped(g, v, hn_grad_in(g, 0)));
    return HONE_OK;
}

const hn_op_def hn_op_expand = {
    .name = "Expand",
    .versions = "8 13",
    .sig = "(input:T, shape:s64) -> (output:T); T: tensor",
    .role = HN_ROLE_MOVE,
    .sizes = {HN_SIZES_SHAPE, 1},
    .infer = infer_expand,
    .ref = ref_expand,
    .grad = grad_expand,
};

const hn_op_def hn_op_tile = {
    .name = "Tile",
    .versions = "1 6 13",
    .sig = "(input:T, repeats:s64) -> (output:T); T: tensor",
    .role = HN_ROLE_MOVE,
    .infer = infer_tile,
    .ref = ref_tile,
    .grad = grad_tile,
};
