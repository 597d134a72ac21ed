#include "ops/conv_ref.h"

#include "base/size.h"

hone_status hn_conv_infer(hn_infer *c, int x, int w, int b, hn_error *err) {
    HN_TRY(hn_want_rank(c, x, 3, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, w, 3, HONE_MAX_RANK, err));
    const hn_shape *in = hn_in_shape(c, x), *weights = hn_in_shape(c, w);
    int64_t groups = hn_attr_i(c->node, "group"), maps;
    HN_CHECK(err, groups >= 1 && groups <= INT32_MAX, HONE_E_ARG,
             "attribute 'group' is %lld, expected 1 to %d", (long long)groups, INT32_MAX);
    if (in->rank < 0 || weights->rank < 0) return HONE_OK;
    HN_CHECK(err, in->rank == weights->rank, HONE_E_SHAPE,
             "the input has rank %d but the weights have rank %d", in->rank, weights->rank);
    HN_TRY(hn_want_equal(in->dim[1], hn_dim_mulc(c->dims, weights->dim[1], groups),
                         "channels of the input and channels of the weights times groups", err));
    HN_CHECK(err, !hn_dim_is_const(weights->dim[0], &maps) || maps % groups == 0, HONE_E_SHAPE,
             "%lld output channels cannot be split into %lld groups", (long long)maps,
             (long long)groups);
    if (b >= 0 && hn_has_in(c, b)) {
        HN_TRY(hn_want_rank(c, b, 1, 1, err));
        if (hn_in_rank(c, b) == 1)
            HN_TRY(hn_want_equal(hn_in_shape(c, b)->dim[0], weights->dim[0],
                                 "sizes of the bias and output channels", err));
    }
    hn_spatial s;
    HN_TRY(hn_spatial_read(c->node, in->rank - 2, &s, err));
    HN_TRY(hn_spatial_kernel(&s, weights, 2, err));
    hn_shape out = {.rank = in->rank, .dim = {in->dim[0], weights->dim[0]}};
    for (int i = 0; i < s.rank; i++)
        HN_TRY(hn_spatial_out(&s, c->dims, i, in->dim[2 + i], &out.dim[2 + i], err));
    hn_set_shape(c, 0, &out);
    return HONE_OK;
}

void hn_conv_cost(const hn_infer *c, int w, hn_cost *cost) {
    const hn_shape *weights = hn_in_shape(c, w), *y = &c->out[0].shape;
    if (weights->rank < 1) return;
    cost->macs = hn_dim_mul(c->dims, hn_shape_product(c->dims, y, 0, y->rank),
                            hn_shape_product(c->dims, weights, 1, weights->rank));
}

hone_status hn_conv_plan(const hn_node *n, const hn_tensor *x, const hn_tensor *w,
                         const hn_tensor *y, hn_conv *conv, hn_error *err) {
    hn_spatial s;
    HN_TRY(hn_spatial_read(n, x->rank - 2, &s, err));
    for (int i = 0; i < s.rank; i++) s.kernel[i] = w->dims[2 + i];
    hn_spatial_resolve(&s, x->dims + 2);
    *conv = (hn_conv){.rank = s.rank,
                      .images = x->dims[0],
                      .groups = hn_attr_i(n, "group"),
                      .c = w->dims[1],
                      .out_size = 1,
                      .taps = 1,
                      .x = x,
                      .w = w};
    conv->m = w->dims[0] / conv->groups;
    if (y->n == 0) {
        conv->images = 0; /* other axes may then have sizes whose product overflows */
        return HONE_OK;
    }
    for (int i = 0; i < s.rank; i++) {
        conv->axis[i] = (hn_conv_axis){.in = x->dims[2 + i],
                                       .out = y->dims[2 + i],
                                       .taps = s.kernel[i],
                                       .step = s.stride[i],
                                       .dilation = s.dilation[i],
                                       .offset = -s.pad[i],
                                       .up = 1};
        conv->out_size *= y->dims[2 + i];
        if (conv->c > 0) conv->taps *= s.kernel[i]; /* else nothing bounds the product */
    }
    if (conv->c > 0) hn_dims_count(x->dims + 2, s.rank, &conv->in_size);
    return HONE_OK;
}

/* ---- operand callbacks ---- */

static void load_weights(const hn_conv *v, int64_t channel, int64_t from, int64_t n, void *dst) {
    if (!v->integer) {
        hn_load_f64_n(v->w->dtype, v->w->data, from, n, dst);
        return;
    }
    int64_t *d = dst;
    hn_load_s64_n(v->w->dtype, v->w->data, from, n, d);
    if (v->w_zero != NULL)
        for (int64_t i = 0; i < n; i++) d[i] -= v->w_zero[channel];
}

static void load_a(const void *ctx, const hn_block *at, void *dst) {
    const hn_conv *v = ctx;
    unsigned char *to = dst; /* elements of 8 bytes, double or int64_t */
    int64_t k = v->c * v->taps, group = at->batch % v->groups;
    for (int64_t r = 0; r < at->n_rows; r++) {
        int64_t row = at->row + r, channel = group * v->m + row;
        if (!v->transposed) {
            load_weights(v, channel, channel * k + at->col, at->n_cols, to);
            to += at->n_cols * 8;
            continue;
        }
        for (int64_t i = 0, n; i < at->n_cols; i += n, to += n * 8) {
            int64_t c = (at->col + i) / v->taps, tap = (at->col + i) % v->taps;
            n = v->taps - tap;
            if (n > at->n_cols - i) n = at->n_cols - i;
            load_weights(v, channel, ((group * v->c + c) * v->m + row) * v->taps + tap, n, to);
        }
    }
}

static void load_pixels(const hn_conv *v, int64_t from, int64_t n, void *dst) {
    if (!v->integer) {
        hn_load_f64_n(v->x->dtype, v->x->data, from, n, dst);
        return;
    }
    int64_t *d = dst;
    hn_load_s64_n(v->x->dtype, v->x->data, from, n, d);
    for (int64_t i = 0; i < n; i++) d[i] -= v->x_zero;
}

/* What the outputs [o, o + n) of one row along axis `a` see at a tap; the row of the input starts
 * at element `row`. */
static void load_run(const hn_conv *v, const hn_conv_axis *a, int64_t row, int64_t tap, int64_t o,
                     int64_t n, unsigned char *dst) {
    int64_t at = o * a->step + tap * a->dilation + a->offset;
    memset(dst, 0, (size_t)n * 8); /* 0 and 0.0 are the same bytes */
    if (a->step == 1 && a->up == 1) {
        int64_t lo = at < 0 ? -at : 0, hi = a->in - at < n ? a->in - at : n;
        if (lo < hi) load_pixels(v, row + at + lo, hi - lo, dst + lo * 8);
        return;
    }
    for (int64_t i = 0; i < n; i++, at += a->step)
        if (at >= 0 && at % a->up == 0 && at / a->up < a->in)
            load_pixels(v, row + at / a->up, 1, dst + i * 8);
}

/* One row of the matrix of windows: what the outputs [col, col + n) see at a tap of a channel whose
 * plane starts at element `plane`. */
static void load_windows(const hn_conv *v, int64_t plane, const int64_t *tap, int64_t col,
                         int64_t n, unsigned char *dst) {
    int last = v->rank - 1;
    while (n > 0) {
        int64_t rest = col, o[HN_MAX_SPATIAL] = {0};
        for (int i = last; i >= 0; i--) {
            o[i] = rest % v->axis[i].out;
            rest /= v->axis[i].out;
        }
        int64_t run = v->axis[last].out - o[last], row = 0;
        if (run > n) run = n;
        bool inside = true;
        for (int i = 0; i < last && inside; i++) {
            const hn_conv_axis *a = &v->axis[i];
            int64_t at = o[i] * a->step + tap[i] * a->dilation + a->offset;
            inside = at >= 0 && at % a->up == 0 && at / a->up < a->in;
            row = row * a->in + at / a->up;
        }
        if (inside)
            load_run(v, &v->axis[last], plane + row * v->axis[last].in, tap[last], o[last], run,
                     dst);
        else
            memset(dst, 0, (size_t)run * 8);
        col += run;
        n -= run;
        dst += run * 8;
    }
}

static void load_b(const void *ctx, const hn_block *at, void *dst) {
    const hn_conv *v = ctx;
    for (int64_t r = 0; r < at->n_rows; r++) {
        int64_t c = (at->row + r) / v->taps, rest = (at->row + r) % v->taps,
                tap[HN_MAX_SPATIAL] = {0};
        for (int i = v->rank - 1; i >= 0; i--) {
            tap[i] = rest % v->axis[i].taps;
            rest /= v->axis[i].taps;
        }
        load_windows(v, (at->batch * v->c + c) * v->in_size, tap, at->col, at->n_cols,
                     (unsigned char *)dst + r * at->n_cols * 8);
    }
}

hone_status hn_conv_ref(hn_eval *e, const hn_conv *conv,
                        void (*store)(const void *, const hn_block *, const void *, int64_t),
                        const void *out, hn_error *err) {
    hn_gemm g = {.n_batch = conv->images * conv->groups,
                 .m = conv->m,
                 .n = conv->out_size,
                 .k = conv->c * conv->taps,
                 .integer = conv->integer,
                 .a = {load_a, conv},
                 .b = conv->windows.load != NULL ? conv->windows : (hn_matrix){load_b, conv},
                 .store = store,
                 .out = out};
    return hn_gemm_ref(e, &g, err);
}

typedef struct target {
    const hn_conv *conv;
    hn_tensor *y;
    const double *bias;
    const hn_tensor *add;
    const hn_activation *act;
} target;

static void store_floats(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    for (int64_t r = 0; r < at->n_rows; r++) {
        const double *row = (const double *)sums + r * pitch;
        double bias = t->bias != NULL ? t->bias[hn_conv_channel(t->conv, at, r)] : 0;
        int64_t to = (at->batch * t->conv->m + at->row + r) * t->conv->out_size + at->col;
        double v[64];
        for (int64_t i = 0, n; i < at->n_cols; i += n, to += n) {
            n = at->n_cols - i < 64 ? at->n_cols - i : 64;
            for (int64_t j = 0; j < n; j++) v[j] = row[i + j] + bias;
            if (t->add != NULL)
                for (int64_t j = 0; j < n; j++) v[j] += hn_tensor_f64(t->add, to + j);
            if (t->act != NULL)
                for (int64_t j = 0; j < n; j++) v[j] = hn_activate(t->act, v[j]);
            hn_store_f64_n(t->y->dtype, t->y->data, to, n, v);
        }
    }
}

hone_status hn_conv_floats(hn_eval *e, const hn_conv *conv, const hn_tensor *bias,
                           const hn_tensor *add, const hn_activation *act, hn_tensor *y,
                           hn_error *err) {
    target t = {.conv = conv, .y = y, .add = add, .act = act};
    if (bias != NULL && (t.bias = hn_scratch_f64(e, bias)) == NULL) return HN_NOMEM(err);
    return hn_conv_ref(e, conv, store_floats, &t, err);
}
