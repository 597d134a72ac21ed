/* DepthToSpace and SpaceToDepth move blocks of b x b pixels out of and into channels; each is the
 * other's inverse. With H, W the sizes of the image that has fewer pixels, the elements are indexed
 * by (n, c, by, bx, h, w): in the wide image at pixel (h*b + by, w*b + bx) of channel c, in the
 * deep one at pixel (h, w) of channel (by*b + bx)*C + c (mode DCR) or (c*b + by)*b + bx (CRD). */
#include "ops/grad.h"
#include "ops/strided.h"

/* The wide image [N, C, H*b, W*b]; the deep one has the strides given. */
static hn_strided plan(const int64_t *wide, int64_t b, bool crd, bool to_wide) {
    int64_t C = wide[1], H = wide[2] / b, W = wide[3] / b, plane = H * W;
    int64_t row = W * b;
    int64_t channel = crd ? b * b * plane : plane, by = crd ? b * plane : b * C * plane;
    int64_t bx = crd ? plane : C * plane;
    const struct {
        int64_t n, wide, deep;
    } axis[] = {{wide[0], C * H * b * row, C * b * b * plane},
                {C, H * b * row, channel},
                {H, b * row, W},
                {b, row, by},
                {W, b, 1},
                {b, 1, bx}};
    hn_strided s = {0};
    for (int i = 0; i < 6; i++)
        hn_strided_add(&s, axis[i].n, to_wide ? axis[i].deep : axis[i].wide,
                       to_wide ? axis[i].wide : axis[i].deep);
    return s;
}

static hone_status block(const hn_node *n, int64_t *b, hn_error *err) {
    *b = hn_attr_i(n, "blocksize");
    HN_CHECK(err, *b >= 1 && *b <= INT32_MAX, HONE_E_ARG, "blocksize is %lld, expected 1 or more",
             (long long)*b);
    return HONE_OK;
}

/* d / by, which must be whole when both are numbers. */
static hone_status part(hn_infer *c, int axis, hn_dim d, int64_t by, hn_dim *out, hn_error *err) {
    int64_t v;
    HN_CHECK(err, !hn_dim_is_const(d, &v) || v % by == 0, HONE_E_SHAPE,
             "size %lld of axis %d is not a multiple of %lld", (long long)v, axis, (long long)by);
    *out = hn_dim_div(c->dims, d, hn_dim_const(c->dims, by));
    return HONE_OK;
}

static hone_status infer_depth_to_space(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t b;
    HN_TRY(block(c->node, &b, err));
    HN_TRY(hn_want_rank(c, 0, 4, 4, err));
    if (x->rank < 0) return HONE_OK;
    hn_shape y = *x;
    HN_TRY(part(c, 1, x->dim[1], b * b, &y.dim[1], err));
    y.dim[2] = hn_dim_mulc(c->dims, x->dim[2], b);
    y.dim[3] = hn_dim_mulc(c->dims, x->dim[3], b);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static hone_status infer_space_to_depth(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t b;
    HN_TRY(block(c->node, &b, err));
    HN_TRY(hn_want_rank(c, 0, 4, 4, err));
    if (x->rank < 0) return HONE_OK;
    hn_shape y = *x;
    y.dim[1] = hn_dim_mulc(c->dims, x->dim[1], b * b);
    HN_TRY(part(c, 2, x->dim[2], b, &y.dim[2], err));
    HN_TRY(part(c, 3, x->dim[3], b, &y.dim[3], err));
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static hone_status move(hn_eval *e, bool to_wide, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    HN_TRY(hn_movable(x, err));
    if (y->n == 0) return HONE_OK;
    hn_strided s = plan(to_wide ? y->dims : x->dims, hn_attr_i(e->node, "blocksize"),
                        hn_attr_is(e->node, "mode", "CRD"), to_wide);
    hn_strided_copy(e->pool, x->dtype, x->data, y->data, &s);
    return HONE_OK;
}

static hone_status ref_depth_to_space(hn_eval *e, hn_error *err) { return move(e, true, err); }
static hone_status ref_space_to_depth(hn_eval *e, hn_error *err) { return move(e, false, err); }

/* The other one of the two, with the same attributes. */
static hone_status grad_by(hn_grad *g, const char *inverse) {
    hn_node *n = hn_emit_node(g, "", inverse, 1, 1, g->dy);
    hn_emit_copied(g, n, "blocksize");
    hn_emit_copied(g, n, "mode");
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

static hone_status grad_depth_to_space(hn_grad *g, hn_error *err) {
    (void)err;
    return grad_by(g, "SpaceToDepth");
}

static hone_status grad_space_to_depth(hn_grad *g, hn_error *err) {
    (void)err;
    return grad_by(g, "DepthToSpace");
}

static const hn_attr_def attrs[] = {
    HN_ATTR_REQ("blocksize", INT), HN_ATTR_S("mode", "DCR", "DCR CRD"), {0}};

const hn_op_def hn_op_depth_to_space = {
    .name = "DepthToSpace",
    .versions = "1 11 13 28",
    .sig = "(input:T) -> (output:T); T: tensor",
    .attrs = attrs,
    .role = HN_ROLE_MOVE,
    .infer = infer_depth_to_space,
    .ref = ref_depth_to_space,
    .grad = grad_depth_to_space,
};

const hn_op_def hn_op_space_to_depth = {
    .name = "SpaceToDepth",
    .versions = "1 13 28",
    .sig = "(input:T) -> (output:T); T: tensor",
    .attrs = attrs,
    .role = HN_ROLE_MOVE,
    .infer = infer_space_to_depth,
    .ref = ref_space_to_depth,
    .grad = grad_space_to_depth,
};
