/* Reshape: the same elements under other sizes. In the wanted sizes 0 copies the input's size at
 * that place (unless allowzero) and one -1 stands for whatever remains. */
#include "base/size.h"
#include "ops/axes.h"
#include "ops/strided.h"

static int64_t gcd(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Splits dims into the product of the numbers and that of the rest; false on overflow. */
static bool factors(hn_dims *t, const hn_dim *d, int n, int64_t *number, hn_dim *rest) {
    *number = 1;
    *rest = hn_dim_const(t, 1);
    for (int i = 0; i < n; i++) {
        int64_t v;
        if (!hn_dim_is_const(d[i], &v))
            *rest = hn_dim_mul(t, *rest, d[i]);
        else if (!hn_i64_mul(*number, v, number))
            return false;
    }
    return true;
}

/* The size that -1 stands for: the input's sizes over the others wanted. Sizes that occur on both
 * sides cancel first, which is exact whatever they are: a quotient of products with sums in them
 * would not come out whole. */
static hone_status remaining(hn_dims *t, const hn_shape *x, const hn_shape *y, int at, hn_dim *out,
                             hn_error *err) {
    hn_dim a[HONE_MAX_RANK], b[HONE_MAX_RANK], top, bottom;
    int na = 0, nb = 0;
    int64_t p, q;
    for (int i = 0; i < x->rank; i++) a[na++] = x->dim[i];
    for (int i = 0; i < y->rank; i++) {
        if (i == at) continue;
        int k = 0;
        while (k < na && a[k] != y->dim[i]) k++;
        if (k < na)
            a[k] = a[--na];
        else
            b[nb++] = y->dim[i];
    }
    HN_CHECK(err, factors(t, a, na, &p, &top) && factors(t, b, nb, &q, &bottom), HONE_E_SHAPE,
             "the sizes overflow");
    assert(q != 0 && "a size 0 beside -1 is copied from the input, and so has cancelled");
    if (hn_dim_is(top, 1) && hn_dim_is(bottom, 1)) {
        char text[256];
        HN_CHECK(err, p % q == 0, HONE_E_SHAPE,
                 "a tensor of shape %s does not divide into the wanted shape, -1 at axis %d",
                 hn_shape_text(x, text, sizeof text), at);
        *out = hn_dim_const(t, p / q);
        return HONE_OK;
    }
    int64_t g = gcd(p, q);
    *out = hn_dim_div(t, hn_dim_mulc(t, top, p / g), hn_dim_mulc(t, bottom, q / g));
    return HONE_OK;
}

static hone_status want_same_count(const hn_shape *x, const hn_shape *y, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], nx, ny;
    if (!hn_shape_is_const(x, dims) || !hn_dims_count(dims, x->rank, &nx)) return HONE_OK;
    if (!hn_shape_is_const(y, dims)) return HONE_OK;
    char a[256], b[256];
    HN_CHECK(err, hn_dims_count(dims, y->rank, &ny) && nx == ny, HONE_E_SHAPE,
             "a tensor of shape %s cannot have the shape %s", hn_shape_text(x, a, sizeof a),
             hn_shape_text(y, b, sizeof b));
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_dim *want;
    int n, rest = -1;
    bool allow_zero = hn_attr_i(c->node, "allowzero") != 0, zero = false;
    HN_TRY(hn_list_dims(c, 1, HONE_MAX_RANK, &want, &n, err));
    if (n < 0) return HONE_OK;
    hn_shape y = hn_shape_fresh(c->dims, n);
    if (want == NULL) {
        if (n == 1 && x->rank >= 0) y.dim[0] = hn_shape_product(c->dims, x, 0, x->rank);
        hn_set_shape(c, 0, &y);
        return HONE_OK;
    }
    for (int i = 0; i < n; i++) {
        int64_t v;
        bool number = hn_dim_is_const(want[i], &v);
        if (number && v == -1) {
            HN_CHECK(err, rest < 0, HONE_E_SHAPE, "the wanted shape has -1 at axes %d and %d", rest,
                     i);
            rest = i;
        } else if (number && v == 0 && !allow_zero) {
            HN_CHECK(err, x->rank < 0 || i < x->rank, HONE_E_SHAPE,
                     "size 0 at axis %d copies a size the input of rank %d does not have", i,
                     x->rank);
            if (x->rank >= 0) y.dim[i] = x->dim[i];
        } else {
            HN_CHECK(err, !number || v >= 0, HONE_E_SHAPE, "the wanted shape has %lld at axis %d",
                     (long long)v, i);
            zero = zero || (number && v == 0);
            y.dim[i] = want[i];
        }
    }
    HN_CHECK(err, rest < 0 || !zero, HONE_E_SHAPE,
             "the wanted shape has both 0 and -1 under allowzero");
    if (rest >= 0 && x->rank >= 0) HN_TRY(remaining(c->dims, x, &y, rest, &y.dim[rest], err));
    HN_TRY(want_same_count(x, &y, err));
    hn_set_shape(c, 0, &y);
    hn_infer_same_values(c);
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("allowzero", 0), {0}};

const hn_op_def hn_op_reshape = {
    .name = "Reshape",
    .versions = "1 5 13 14 19 21 23 24 25",
    .sig = "(data:T, shape:s64) -> (reshaped:T); T: all",
    .attrs = attrs,
    .traits = HN_VIEW,
    .role = HN_ROLE_MOVE,
    .sizes = {HN_SIZES_SHAPE, 1},
    .infer = infer,
    .ref = hn_ref_copy,
};
