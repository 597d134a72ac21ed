/* DepthToSpace and SpaceToDepth: one copy between two views of six axes, (n, c, h, by, w, bx), as
 * ops/depth_to_space.c explains them. */
#include "engine/lower.h"

/* [N, C, H*b, W*b] seen so. */
static hn_view split_wide(const hn_view *v, int64_t b) {
    const int64_t *d = v->dims, *s = v->strides;
    hn_view r = *v;
    r.rank = 6;
    const int64_t dims[] = {d[0], d[1], d[2] / b, b, d[3] / b, b};
    const int64_t strides[] = {s[0], s[1], b * s[2], s[2], b * s[3], s[3]};
    for (int i = 0; i < 6; i++) r.dims[i] = dims[i], r.strides[i] = strides[i];
    return r;
}

/* [N, C*b*b, H, W] seen so. */
static hn_view split_deep(const hn_view *v, int64_t b, bool crd) {
    const int64_t *d = v->dims, *s = v->strides;
    hn_view r = *v;
    r.rank = 6;
    int64_t c = d[1] / (b * b);
    const int64_t dims[] = {d[0], c, d[2], b, d[3], b};
    const int64_t strides[] = {s[0], (crd ? b * b : 1) * s[1], s[2], (crd ? b : b * c) * s[1],
                               s[3], (crd ? 1 : c) * s[1]};
    for (int i = 0; i < 6; i++) r.dims[i] = dims[i], r.strides[i] = strides[i];
    return r;
}

static hone_status lower(hn_lower *L, const hn_node *n, bool to_wide, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    if (hone_dtype_bits(x.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    int64_t b = hn_attr_i(n, "blocksize");
    bool crd = hn_attr_is(n, "mode", "CRD");
    HN_TRY(hn_lower_place_like(L, &y, &x, err));
    hn_view src = to_wide ? split_deep(&x, b, crd) : split_wide(&x, b);
    hn_view dst = to_wide ? split_wide(&y, b) : split_deep(&y, b, crd);
    HN_TRY(hn_lower_copy(L, n, &src, &dst, err));
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_depth_to_space(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return lower(L, n, true, done, err);
}

hone_status hn_lower_space_to_depth(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return lower(L, n, false, done, err);
}
