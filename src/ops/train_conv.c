/* ConvGradW: the gradient of Conv by its weights.
 *
 *     dW[m][c][k] = sum over images n and windows o of dY[n][m][o] * X[n][c][o * stride - pad + k * dilation]
 *
 * Attributes are those of the Conv, whose weights have kernel_shape. Sums are taken in double. */
#include "ops/grad.h"
#include "ops/train_shapes.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0), *dy = hn_in_shape(c, 1);
    HN_TRY(hn_want_rank(c, 0, 3, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, 1, 3, HONE_MAX_RANK, err));
    if (x->rank < 0 || dy->rank < 0) return HONE_OK;
    HN_TRY(hn_want_windows(c, x, 1, false, err));
    int64_t groups = hn_attr_i(c->node, "group"), channels, m;
    HN_CHECK(err, groups >= 1 && groups <= INT32_MAX, HONE_E_ARG,
             "attribute 'group' is %lld, expected 1 to %d", (long long)groups, INT32_MAX);
    bool known = hn_dim_is_const(x->dim[1], &channels) && hn_dim_is_const(dy->dim[1], &m);
    HN_CHECK(err, !known || (channels % groups == 0 && m % groups == 0), HONE_E_SHAPE,
             "%lld and %lld channels cannot be split into %lld groups", (long long)channels,
             (long long)m, (long long)groups);
    hn_spatial s;
    HN_TRY(hn_spatial_read(c->node, x->rank - 2, &s, err));
    hn_shape w = {
        .rank = x->rank,
        .dim = {dy->dim[1], hn_dim_div(c->dims, x->dim[1], hn_dim_const(c->dims, groups))}};
    for (int i = 0; i < s.rank; i++) w.dim[2 + i] = hn_dim_const(c->dims, s.kernel[i]);
    hn_set_shape(c, 0, &w);
    return HONE_OK;
}

typedef struct job {
    const hn_tensor *x, *dy;
    hn_tensor *dw;
    hn_spatial s;
    int64_t c, m, groups; /* channels in all */
    int64_t in, out, taps;
} job;

/* The sum for one tap of all spatial axes from axis a on: places of x and dy before it given. */
static double sum_windows(const job *j, int a, const int64_t *tap, int64_t x_at, int64_t dy_at) {
    if (a == j->s.rank) return hn_tensor_f64(j->x, x_at) * hn_tensor_f64(j->dy, dy_at);
    double sum = 0;
    int64_t in = j->x->dims[2 + a], out = j->dy->dims[2 + a];
    for (int64_t o = 0; o < out; o++) {
        int64_t i = o * j->s.stride[a] - j->s.pad[a] + tap[a] * j->s.dilation[a];
        if (i >= 0 && i < in) sum += sum_windows(j, a + 1, tap, x_at * in + i, dy_at * out + o);
    }
    return sum;
}

static void run(void *ctx, int64_t i) {
    const job *j = ctx;
    int64_t tap[HN_MAX_SPATIAL], left = i % j->taps, per = j->c / j->groups;
    int64_t c = i / j->taps % per, m = i / j->taps / per;
    int64_t channel = m / (j->m / j->groups) * per + c;
    double sum = 0;
    for (int a = j->s.rank - 1; a >= 0; left /= j->s.kernel[a--]) tap[a] = left % j->s.kernel[a];
    for (int64_t n = 0; n < j->x->dims[0]; n++)
        sum += sum_windows(j, 0, tap, n * j->c + channel, n * j->m + m);
    hn_store_f64(j->dw->dtype, j->dw->data, i, sum);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j = {.x = e->in[0],
             .dy = e->in[1],
             .dw = e->out[0],
             .c = e->in[0]->dims[1],
             .m = e->in[1]->dims[1],
             .groups = hn_attr_i(e->node, "group"),
             .taps = 1};
    HN_TRY(hn_spatial_read(e->node, j.x->rank - 2, &j.s, err));
    hn_spatial_resolve(&j.s, j.x->dims + 2);
    for (int i = 0; i < j.s.rank; i++) j.taps *= j.s.kernel[i];
    hn_pool_run(e->pool, j.dw->n, run, &j);
    return HONE_OK;
}

static void cost(const hn_infer *c, hn_cost *out) {
    const hn_shape *dy = hn_in_shape(c, 1), *w = &c->out[0].shape;
    if (dy->rank < 0 || w->rank < 0) return;
    out->macs = hn_dim_mul(c->dims, hn_shape_product(c->dims, dy, 0, dy->rank),
                           hn_shape_product(c->dims, w, 1, w->rank));
}

const hn_op_def hn_op_train_conv_grad_w = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "ConvGradW",
    .versions = "1",
    .sig = "(X:T, dY:T) -> (dW:T); T: float",
    .attrs =
        (const hn_attr_def[]){
            HN_SPATIAL_ATTRS, HN_ATTR_I("group", 1), HN_ATTR_REQ("kernel_shape", INTS), {0}},
    .infer = infer,
    .ref = ref,
    .cost = cost,
};
