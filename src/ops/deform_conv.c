/* DeformConv: a convolution whose taps are moved by offsets that are data. A tap between elements
 * sees their linear interpolation, and zeros outside the input. As a product it is Conv with
 * another matrix of windows (conv_ref.h). */
#include <math.h>

#include "ops/conv_ref.h"
#include "ops/grad.h"

enum { X, W, OFFSET, B, MASK };

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_conv_infer(c, X, W, B, err));
    int64_t offset_groups = hn_attr_i(c->node, "offset_group"), channels;
    HN_CHECK(err, offset_groups >= 1 && offset_groups <= INT32_MAX, HONE_E_ARG,
             "attribute 'offset_group' is %lld, expected 1 to %d", (long long)offset_groups,
             INT32_MAX);
    const hn_shape *x = hn_in_shape(c, X), *w = hn_in_shape(c, W), *y = &c->out[0].shape;
    if (x->rank < 0 || w->rank < 0) return HONE_OK;
    HN_CHECK(err, !hn_dim_is_const(x->dim[1], &channels) || channels % offset_groups == 0,
             HONE_E_SHAPE, "%lld input channels cannot be split into %lld offset groups",
             (long long)channels, (long long)offset_groups);
    hn_dim taps = hn_dim_mulc(c->dims, hn_shape_product(c->dims, w, 2, w->rank), offset_groups);
    for (int i = OFFSET; i <= MASK; i++) {
        if (i == B || hn_in_rank(c, i) < 0) continue;
        HN_TRY(hn_want_rank(c, i, x->rank, x->rank, err));
        const hn_shape *s = hn_in_shape(c, i);
        hn_dim maps = i == MASK ? taps : hn_dim_mulc(c->dims, taps, x->rank - 2);
        HN_TRY(hn_want_equal(s->dim[0], x->dim[0], "images of X and of its offsets or mask", err));
        HN_TRY(hn_want_equal(s->dim[1], maps, "axis 1 of offset or mask and what W asks for", err));
        for (int a = 2; a < x->rank; a++)
            HN_TRY(hn_want_equal(s->dim[a], y->dim[a], "sizes of offset or mask and of Y", err));
    }
    return HONE_OK;
}

static void cost(const hn_infer *c, hn_cost *out) { hn_conv_cost(c, W, out); }

typedef struct deform {
    const hn_conv *conv;
    const hn_tensor *offset, *mask;
    int64_t offset_groups;
    int64_t pitch[HN_MAX_SPATIAL]; /* elements of a plane from one position to the next */
} deform;

/* The plane of x that starts at element `plane`, at a position between elements. */
static double sample(const deform *d, int64_t plane, const double *at) {
    const hn_conv *v = d->conv;
    double low[HN_MAX_SPATIAL];
    for (int a = 0; a < v->rank; a++) {
        if (isnan(at[a])) return at[a];
        if (!(at[a] > -1 && at[a] < (double)v->axis[a].in)) return 0;
        low[a] = floor(at[a]);
    }
    double sum = 0;
    for (unsigned corner = 0; corner < 1u << v->rank; corner++) {
        double weight = 1;
        int64_t from = plane;
        for (int a = 0; a < v->rank && weight != 0; a++) {
            bool high = (corner >> a & 1) != 0;
            int64_t i = (int64_t)low[a] + high;
            weight *= high ? at[a] - low[a] : 1 - (at[a] - low[a]);
            if (i < 0 || i >= v->axis[a].in) weight = 0;
            from += i * d->pitch[a];
        }
        if (weight != 0) sum += weight * hn_tensor_f64(v->x, from);
    }
    return sum;
}

/* Windows of image and group at->batch: row = channel of the group * taps + tap. */
static void load_windows(const void *ctx, const hn_block *at, void *dst) {
    const deform *d = ctx;
    const hn_conv *v = d->conv;
    double *to = dst;
    int64_t n = at->batch / v->groups, group = at->batch % v->groups;
    int64_t per_offset_group = v->groups * v->c / d->offset_groups;
    for (int64_t r = at->row; r < at->row + at->n_rows; r++) {
        int64_t channel = group * v->c + r / v->taps, tap = r % v->taps;
        int64_t map = (n * d->offset_groups + channel / per_offset_group) * v->taps + tap;
        for (int64_t p = at->col; p < at->col + at->n_cols; p++) {
            double where[HN_MAX_SPATIAL];
            for (int64_t a = v->rank - 1, o = p, k = tap; a >= 0; a--) {
                const hn_conv_axis *x = &v->axis[a];
                where[a] = (double)(o % x->out * x->step + k % x->taps * x->dilation + x->offset) +
                           hn_tensor_f64(d->offset, (map * v->rank + a) * v->out_size + p);
                o /= x->out;
                k /= x->taps;
            }
            double value = sample(d, (n * v->groups * v->c + channel) * v->in_size, where);
            if (d->mask != NULL) value *= hn_tensor_f64(d->mask, map * v->out_size + p);
            *to++ = value;
        }
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_conv conv;
    HN_TRY(hn_conv_plan(e->node, e->in[X], e->in[W], e->out[0], &conv, err));
    deform d = {.conv = &conv,
                .offset = e->in[OFFSET],
                .mask = hn_eval_in(e, MASK),
                .offset_groups = hn_attr_i(e->node, "offset_group")};
    for (int64_t a = conv.rank - 1, pitch = 1; conv.in_size > 0 && a >= 0; a--) {
        d.pitch[a] = pitch;
        pitch *= conv.axis[a].in;
    }
    conv.windows = (hn_matrix){load_windows, &d};
    return hn_conv_floats(e, &conv, hn_eval_in(e, B), NULL, NULL, e->out[0], err);
}

/* ---- as simpler nodes ---- */

/* Where each tap of each window begins, before it is moved: [1, taps, rank, out..]. */
static hn_value *places(hn_grad *g, const hn_spatial *s, const int64_t *out, int64_t taps,
                        int64_t windows) {
    int64_t dims[HONE_MAX_RANK] = {1, taps, s->rank};
    hn_tensor *t;
    for (int a = 0; a < s->rank; a++) dims[3 + a] = out[a];
    hn_value *v = hn_emit_table(g, 3 + s->rank, dims, &t);
    for (int64_t k = 0; v != NULL && k < taps; k++)
        for (int64_t p = 0; p < windows; p++)
            for (int64_t a = s->rank - 1, tap = k, o = p; a >= 0; a--) {
                int64_t at =
                    o % out[a] * s->stride[a] - s->pad[a] + tap % s->kernel[a] * s->dilation[a];
                hn_store_f64(t->dtype, t->data, (k * s->rank + a) * windows + p, (double)at);
                o /= out[a];
                tap /= s->kernel[a];
            }
    return v;
}

/* GridSample of the taps of all windows, [N * offset groups, channels, taps, windows], times the
 * mask, and a product with the weights. */
static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    int64_t x[HONE_MAX_RANK], w[HONE_MAX_RANK], o[HONE_MAX_RANK], taps = 1, windows = 1;
    int64_t offset_groups = hn_attr_i(g->node, "offset_group"), group = hn_attr_i(g->node, "group");
    int rank = hn_grad_dims(g, hn_grad_in(g, X), x) - 2;
    hn_grad_dims(g, hn_grad_in(g, W), w);
    hn_grad_dims(g, hn_grad_out(g, 0), o);
    HN_TRY(g->status);
    if (rank < 1 || rank > 3) return hn_grad_refuse(g, "it has other than 1 to 3 axes", err);
    hn_spatial s;
    HN_TRY(hn_spatial_read(g->node, rank, &s, err));
    for (int a = 0; a < rank; a++) {
        s.kernel[a] = w[2 + a];
        taps *= s.kernel[a];
        windows *= o[2 + a];
    }
    int64_t images = x[0] * offset_groups, channels = x[1] / offset_groups;
    int64_t image[HONE_MAX_RANK] = {images, channels}, grid[HONE_MAX_RANK] = {images};
    int64_t moved[HONE_MAX_RANK] = {images, taps, rank}, last[HONE_MAX_RANK];
    for (int a = 0; a < rank; a++) {
        image[2 + a] = x[2 + a];
        moved[3 + a] = o[2 + a];
        grid[1 + a] = a == rank - 1 ? taps * windows : 1;
        last[a] = rank - 1 - a; /* a grid has the innermost coordinate first */
    }
    grid[1 + rank] = rank;
    /* To what GridSample takes: 2 * (at + 1/2) / size - 1. */
    const int64_t by_axis[] = {rank, 1};
    hn_tensor *sizes;
    hn_value *size = hn_emit_table(g, 2, by_axis, &sizes);
    for (int a = 0; size != NULL && a < rank; a++)
        hn_store_f64(sizes->dtype, sizes->data, a, (double)x[2 + a]);
    const int64_t flat[] = {images, taps, rank, windows};
    hn_value *at = HN_EMIT2(g, "Add", hn_emit_reshape(g, hn_grad_in(g, OFFSET), 3 + rank, moved),
                            places(g, &s, o + 2, taps, windows));
    at = HN_TEXT(g, "(2 * a + 1) / b - 1", hn_emit_reshape(g, at, 4, flat), size);
    hn_value *order = hn_emit_ints(g, last, rank), *pick[] = {at, order};
    if (at == NULL || order == NULL) return HONE_OK;
    hn_node *turned = hn_emit_node(g, "", "Gather", 1, 2, pick);
    hn_emit_i(g, turned, "axis", 2);
    static const int64_t coordinates_last[] = {0, 1, 3, 2};
    hn_value *points = hn_emit_transposed(g, hn_emitted(turned, 0), 4, coordinates_last);
    hn_value *in[] = {hn_emit_reshape(g, hn_grad_in(g, X), 2 + rank, image),
                      hn_emit_reshape(g, points, 2 + rank, grid)};
    if (in[0] == NULL || in[1] == NULL) return HONE_OK;
    hn_node *sample_node = hn_emit_node(g, "", "GridSample", 1, 2, in);
    hn_emit_s(g, sample_node, "mode", "linear");
    const int64_t tapped[] = {images, channels, taps, windows}, mask[] = {images, 1, taps, windows};
    hn_value *v = hn_emit_reshape(g, hn_emitted(sample_node, 0), 4, tapped);
    if (hn_grad_in(g, MASK) != NULL)
        v = HN_EMIT2(g, "Mul", v, hn_emit_reshape(g, hn_grad_in(g, MASK), 4, mask));
    const int64_t columns[] = {x[0], group, w[1] * taps, windows};
    const int64_t rows[] = {group, w[0] / group, w[1] * taps};
    v = HN_EMIT2(g, "MatMul", hn_emit_reshape(g, hn_grad_in(g, W), 3, rows),
                 hn_emit_reshape(g, v, 4, columns));
    v = hn_emit_reshape(g, v, 2 + rank, o);
    int64_t bias[HONE_MAX_RANK] = {w[0], 1, 1, 1};
    y[0] = hn_grad_in(g, B) != NULL
               ? HN_EMIT2(g, "Add", v, hn_emit_reshape(g, hn_grad_in(g, B), 1 + rank, bias))
               : v;
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_OPT("dilations", INTS),
    HN_ATTR_I("group", 1),
    HN_ATTR_OPT("kernel_shape", INTS),
    HN_ATTR_I("offset_group", 1),
    HN_ATTR_OPT("pads", INTS),
    HN_ATTR_OPT("strides", INTS),
    {0},
};

const hn_op_def hn_op_deform_conv = {
    .name = "DeformConv",
    .versions = "19 22",
    .sig = "(X:T, W:T, offset:T, B:T?, mask:T?) -> (Y:T); T: float",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .cost = cost,
    .spell = spell,
};
