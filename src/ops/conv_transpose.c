/* ConvTranspose: the gradient of Conv with respect to its input. Every input element is spread over
 * the output through the kernel; the reference asks the other way round, which inputs an output
 * element gets something from (conv_ref.h). */
#include "base/size.h"
#include "ops/conv_ref.h"
#include "ops/grad.h"

typedef struct geometry {
    hn_spatial s;
    int64_t extra[HN_MAX_SPATIAL]; /* output_padding */
    const int64_t *output_shape;   /* or NULL */
} geometry;

static hone_status read_geometry(const hn_node *n, int rank, geometry *g, hn_error *err) {
    HN_TRY(hn_spatial_read(n, rank, &g->s, err));
    int count;
    const int64_t *extra = hn_attr_ints(n, "output_padding", &count);
    HN_CHECK(err, extra == NULL || count == rank, HONE_E_SHAPE,
             "attribute 'output_padding' has %d values, expected %d", count, rank);
    for (int i = 0; i < rank; i++) {
        g->extra[i] = extra != NULL ? extra[i] : 0;
        HN_CHECK(err, g->extra[i] >= 0 && g->extra[i] <= INT32_MAX, HONE_E_ARG,
                 "attribute 'output_padding' holds %lld, expected 0 to %d", (long long)g->extra[i],
                 INT32_MAX);
    }
    g->output_shape = hn_attr_ints(n, "output_shape", &count);
    HN_CHECK(err, g->output_shape == NULL || count == rank, HONE_E_SHAPE,
             "attribute 'output_shape' has %d values, expected %d", count, rank);
    for (int i = 0; g->output_shape != NULL && i < rank; i++)
        HN_CHECK(err, g->output_shape[i] >= 0 && g->output_shape[i] < (int64_t)1 << 48, HONE_E_ARG,
                 "attribute 'output_shape' holds %lld", (long long)g->output_shape[i]);
    return HONE_OK;
}

static bool same(const hn_spatial *s) {
    return s->auto_pad == HN_PAD_SAME_UPPER || s->auto_pad == HN_PAD_SAME_LOWER;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 0, 3, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, 1, 3, HONE_MAX_RANK, err));
    const hn_shape *x = hn_in_shape(c, 0), *w = hn_in_shape(c, 1);
    int64_t groups = hn_attr_i(c->node, "group"), channels;
    HN_CHECK(err, groups >= 1 && groups <= INT32_MAX, HONE_E_ARG,
             "attribute 'group' is %lld, expected 1 to %d", (long long)groups, INT32_MAX);
    if (x->rank < 0 || w->rank < 0) return HONE_OK;
    HN_CHECK(err, x->rank == w->rank, HONE_E_SHAPE,
             "the input has rank %d but the weights have rank %d", x->rank, w->rank);
    HN_TRY(hn_want_equal(x->dim[1], w->dim[0], "channels of the input and of the weights", err));
    HN_CHECK(err, !hn_dim_is_const(w->dim[0], &channels) || channels % groups == 0, HONE_E_SHAPE,
             "%lld input channels cannot be split into %lld groups", (long long)channels,
             (long long)groups);
    hn_shape y = {.rank = x->rank, .dim = {x->dim[0], hn_dim_mulc(c->dims, w->dim[1], groups)}};
    HN_TRY(hn_want_rank(c, 2, 1, 1, err));
    if (hn_in_rank(c, 2) == 1)
        HN_TRY(hn_want_equal(hn_in_shape(c, 2)->dim[0], y.dim[1],
                             "sizes of the bias and output channels", err));
    geometry g;
    HN_TRY(read_geometry(c->node, x->rank - 2, &g, err));
    HN_TRY(hn_spatial_kernel(&g.s, w, 2, err));
    for (int i = 0; i < g.s.rank; i++) {
        hn_dim in = x->dim[2 + i], *out = &y.dim[2 + i];
        if (g.output_shape != NULL)
            *out = hn_dim_const(c->dims, g.output_shape[i]);
        else if (same(&g.s))
            *out = hn_dim_mulc(c->dims, in, g.s.stride[i]);
        else if (g.s.kernel[i] == 0)
            *out = hn_dim_fresh(c->dims, -1);
        else
            *out = hn_dim_addc(
                c->dims, hn_dim_mulc(c->dims, hn_dim_addc(c->dims, in, -1), g.s.stride[i]),
                g.extra[i] + hn_spatial_extent(&g.s, i) - g.s.pad[i] - g.s.pad_end[i]);
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static void cost(const hn_infer *c, hn_cost *out) {
    const hn_shape *x = hn_in_shape(c, 0), *w = hn_in_shape(c, 1);
    if (w->rank < 1) return;
    out->macs = hn_dim_mul(c->dims, hn_shape_product(c->dims, x, 0, x->rank),
                           hn_shape_product(c->dims, w, 1, w->rank));
}

hone_status hn_conv_transpose_axes(const hn_node *n, int rank, const int64_t *x, const int64_t *w,
                                   const int64_t *y, hn_conv_axis *axes, hn_error *err) {
    geometry g;
    HN_TRY(read_geometry(n, rank, &g, err));
    for (int i = 0; i < rank; i++) {
        hn_conv_axis *a = &axes[i];
        *a = (hn_conv_axis){.in = x[i],
                            .out = y[i],
                            .taps = w[i],
                            .step = 1,
                            .dilation = -g.s.dilation[i],
                            .offset = g.s.pad[i],
                            .up = g.s.stride[i]};
        g.s.kernel[i] = a->taps;
        if (g.output_shape == NULL && !same(&g.s)) continue;
        int64_t total;
        HN_CHECK(err,
                 hn_i64_mul(a->in - 1, a->up, &total) &&
                     hn_i64_add(total, g.extra[i] + hn_spatial_extent(&g.s, i), &total),
                 HONE_E_SHAPE, "spatial axis %d of size %lld and stride %lld is too large", i,
                 (long long)a->in, (long long)a->up);
        total = total > a->out ? total - a->out : 0;
        a->offset = g.s.auto_pad == HN_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    }
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *w = e->in[1], *y = e->out[0];
    if (y->n == 0) return HONE_OK;
    hn_conv conv = {.rank = x->rank - 2,
                    .images = x->dims[0],
                    .groups = hn_attr_i(e->node, "group"),
                    .m = w->dims[1],
                    .out_size = 1,
                    .taps = 1,
                    .x = x,
                    .w = w,
                    .transposed = true};
    conv.c = w->dims[0] / conv.groups;
    HN_TRY(hn_conv_transpose_axes(e->node, conv.rank, x->dims + 2, w->dims + 2, y->dims + 2,
                                  conv.axis, err));
    for (int i = 0; i < conv.rank; i++) {
        conv.out_size *= y->dims[2 + i];
        if (conv.c > 0) conv.taps *= w->dims[2 + i]; /* else nothing bounds the product */
    }
    if (conv.c > 0) hn_dims_count(x->dims + 2, conv.rank, &conv.in_size);
    return hn_conv_floats(e, &conv, hn_eval_in(e, 2), NULL, NULL, e->out[0], err);
}

static const hn_attr_def attrs[] = {
    HN_SPATIAL_ATTRS,
    HN_ATTR_I("group", 1),
    HN_ATTR_OPT("kernel_shape", INTS),
    HN_ATTR_OPT("output_padding", INTS),
    HN_ATTR_OPT("output_shape", INTS),
    {0},
};

/* W [C, M / group, ...] */
static bool use(const hn_node *n, int rank, const int64_t *dims, hn_weight_use *u) {
    if (rank < 3) return false;
    *u = (hn_weight_use){.alpha = 1, .beta = 1, .channel_axis = 1};
    u->sum_axis = dims[1] == 1 && hn_attr_i(n, "group") > 1 ? -1 : 0;
    return true;
}

/* By X: the convolution that this is the transpose of; by W: that convolution's, with the images
 * changed over. */
static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t x[HONE_MAX_RANK], w[HONE_MAX_RANK], y[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), x);
    hn_grad_dims(g, hn_grad_in(g, 1), w);
    hn_grad_dims(g, hn_grad_out(g, 0), y);
    if (g->status != HONE_OK) return g->status;
    hn_conv_axis axes[HN_MAX_SPATIAL];
    hn_spatial s;
    HN_TRY(hn_spatial_read(g->node, rank - 2, &s, err));
    HN_TRY(hn_conv_transpose_axes(g->node, rank - 2, x + 2, w + 2, y + 2, axes, err));
    for (int i = 0; i < s.rank; i++) {
        s.kernel[i] = w[2 + i];
        s.pad[i] = axes[i].offset;
        /* What is left over after the last window is not read. */
        int64_t reach = (x[2 + i] - 1) * s.stride[i] + hn_spatial_extent(&s, i);
        s.pad_end[i] = reach - s.pad[i] > y[2 + i] ? reach - s.pad[i] - y[2 + i] : 0;
        if (s.pad[i] < 0 || y[2 + i] + s.pad[i] + s.pad_end[i] - reach >= s.stride[i])
            return hn_grad_refuse(g, "its output reaches past all of its windows", err);
    }
    if (hn_grad_wants(g, 0)) {
        hn_value *in[] = {g->dy[0], hn_grad_in(g, 1)};
        hn_node *n = hn_emit_node(g, "", "Conv", 1, 2, in);
        hn_emit_windows(g, n, &s);
        hn_emit_i(g, n, "group", hn_attr_i(g->node, "group"));
        hn_grad_give(g, 0, hn_emitted(n, 0));
    }
    if (hn_grad_wants(g, 1))
        hn_grad_give(g, 1, hn_emit_conv_grad_w(g, g->dy[0], hn_grad_in(g, 0), &s));
    if (hn_grad_wants(g, 2))
        hn_grad_give(g, 2, hn_emit_sum(g, g->dy[0], ((1u << rank) - 1) & ~2u, false));
    return HONE_OK;
}

const hn_op_def hn_op_conv_transpose = {
    .name = "ConvTranspose",
    .versions = "1 11 22",
    .sig = "(X:T, W:T, B:T?) -> (Y:T); T: float",
    .attrs = attrs,
    .sizes = {HN_SIZES_GROUPS},
    .weights =
        &(const hn_weights_def){.kind = HN_WEIGHT_WINDOWS, .input = 1, .bias = 2, .use = use},
    .infer = infer,
    .ref = ref,
    .grad = grad,
    .cost = cost,
};
