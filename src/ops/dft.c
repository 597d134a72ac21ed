/* DFT: the discrete Fourier transform along one axis, the signal cut or filled up with zeros to
 * dft_length. The last axis holds a number's real part alone, or real and imaginary part.
 *
 *                onesided = 0                   onesided = 1
 *     forward    [.. n, 1 or 2] -> [.. n, 2]    [.. n, 1] -> [.. n/2 + 1, 2]
 *     inverse    [.. n, 1 or 2] -> [.. n, 2]    [.. n/2 + 1, 2] -> [.. n, 1]
 *
 * The other half of a one-sided spectrum is the mirror image, conjugated; so the imaginary parts of
 * its first entry and, if n is even, of its last are taken to be 0. */
#include "ops/axes.h"
#include "ops/fft_ref.h"
#include "ops/grad.h"

enum { INPUT, LENGTH, AXIS };

/* One-sided: number of entries for a signal of length n. */
static hn_dim half(hn_dims *t, hn_dim n) {
    return hn_dim_addc(t, hn_dim_div(t, n, hn_dim_const(t, 2)), 1);
}

/* The axis of the transform, -1 when it is not known. */
static hone_status read_axis(const hn_infer *c, int rank, int64_t *axis, hn_error *err) {
    bool known = true;
    *axis = -2;
    if (hn_has_in(c, AXIS)) HN_TRY(hn_one_int(c, AXIS, axis, &known, err));
    if (!known) {
        *axis = -1;
        return HONE_OK;
    }
    HN_TRY(hn_want_axis(axis, rank, err));
    HN_CHECK(err, *axis < rank - 1, HONE_E_ARG, "axis %lld is the one of real and imaginary parts",
             (long long)*axis);
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, INPUT);
    bool inverse = hn_attr_i(c->node, "inverse") != 0;
    bool onesided = hn_attr_i(c->node, "onesided") != 0;
    HN_TRY(hn_want_rank(c, INPUT, 2, HONE_MAX_RANK, err));
    const hn_dim *length = NULL;
    int n;
    if (hn_has_in(c, LENGTH)) {
        HN_TRY(hn_list_dims(c, LENGTH, 1, &length, &n, err));
        HN_CHECK(err, n != 0, HONE_E_SHAPE, "dft_length is empty, expected one number");
        int64_t v;
        HN_CHECK(err, length == NULL || !hn_dim_is_const(length[0], &v) || v > 0, HONE_E_ARG,
                 "dft_length is %lld, expected 1 or more", (long long)v);
    }
    if (x->rank < 0) return HONE_OK;

    int64_t parts, axis;
    if (hn_dim_is_const(x->dim[x->rank - 1], &parts)) {
        HN_CHECK(err, parts == 1 || parts == 2, HONE_E_SHAPE,
                 "the last axis has size %lld, expected 1 (real) or 2 (complex)", (long long)parts);
        HN_CHECK(err, !onesided || parts == (inverse ? 2 : 1), HONE_E_SHAPE,
                 "a one-sided %s transform takes %s input, the last axis has size %lld",
                 inverse ? "inverse" : "forward", inverse ? "complex" : "real", (long long)parts);
    }
    HN_TRY(read_axis(c, x->rank, &axis, err));
    hn_shape y = *x;
    y.dim[x->rank - 1] = hn_dim_const(c->dims, inverse && onesided ? 1 : 2);
    for (int i = 0; axis < 0 && i < x->rank - 1; i++) y.dim[i] = hn_dim_fresh(c->dims, -1);
    if (axis >= 0) {
        hn_dim size = x->dim[axis];
        if (hn_has_in(c, LENGTH))
            size = length != NULL ? length[0] : hn_dim_fresh(c->dims, -1);
        else if (inverse && onesided)
            size = hn_dim_mulc(c->dims, hn_dim_addc(c->dims, size, -1), 2);
        y.dim[axis] = onesided && !inverse ? half(c->dims, size) : size;
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* x [outer, in, inner, parts] to y [outer, out, inner, parts_out], by slabs of one `outer`. */
typedef struct job {
    const hn_tensor *x;
    hn_tensor *y;
    hn_fft fft;
    bool mirrored; /* the input is one half of a spectrum */
    int64_t outer, in, out, inner, workers;
    int parts, parts_out;
    double *slabs;       /* [workers][slab_in + slab_out] */
    hn_complex *signals; /* [workers][3][n] */
} job;

/* Column k of a slab as a signal of the transform's length. */
static void gather(const job *j, const double *slab, int64_t k, hn_complex *signal) {
    int64_t n = j->fft.n, given = j->mirrored ? n / 2 + 1 : n;
    for (int64_t i = 0; i < given; i++) {
        signal[i] = (hn_complex){0, 0};
        if (i >= j->in) continue;
        const double *v = slab + (i * j->inner + k) * j->parts;
        signal[i].re = v[0];
        if (j->parts == 2) signal[i].im = v[1];
    }
    if (!j->mirrored) return;
    signal[0].im = 0;
    if (n % 2 == 0) signal[n / 2].im = 0;
    for (int64_t i = given; i < n; i++)
        signal[i] = (hn_complex){signal[n - i].re, -signal[n - i].im};
}

static void transform_slabs(void *ctx, int64_t worker) {
    const job *j = ctx;
    int64_t n = j->fft.n, slab_in = j->in * j->inner * j->parts;
    int64_t slab_out = j->out * j->inner * j->parts_out;
    double *from = j->slabs + worker * (slab_in + slab_out), *to = from + slab_in;
    hn_complex *signal = j->signals + worker * 3 * n, *spectrum = signal + n, *tmp = spectrum + n;
    for (int64_t o = worker; o < j->outer; o += j->workers) {
        hn_load_f64_n(j->x->dtype, j->x->data, o * slab_in, slab_in, from);
        for (int64_t k = 0; k < j->inner; k++) {
            gather(j, from, k, signal);
            hn_fft_run(&j->fft, signal, spectrum, tmp);
            for (int64_t i = 0; i < j->out; i++) {
                double *v = to + (i * j->inner + k) * j->parts_out;
                v[0] = spectrum[i].re;
                if (j->parts_out == 2) v[1] = spectrum[i].im;
            }
        }
        hn_store_f64_n(j->y->dtype, j->y->data, o * slab_out, slab_out, to);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[INPUT], *length = hn_eval_in(e, LENGTH);
    hn_tensor *y = e->out[0];
    bool inverse = hn_attr_i(e->node, "inverse") != 0;
    bool onesided = hn_attr_i(e->node, "onesided") != 0;
    int64_t axis = hn_eval_in(e, AXIS) != NULL ? hn_tensor_s64(e->in[AXIS], 0) : -2;
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    if (y->n == 0) return HONE_OK;
    job j = {.x = x,
             .y = y,
             .mirrored = inverse && onesided,
             .outer = 1,
             .in = x->dims[axis],
             .out = y->dims[axis],
             .inner = 1,
             .parts = (int)x->dims[x->rank - 1],
             .parts_out = (int)y->dims[x->rank - 1]};
    int64_t n = length != NULL ? hn_tensor_s64(length, 0) : j.mirrored ? j.out : j.in;
    HN_CHECK(err, n > 0, HONE_E_SHAPE, "the signal is empty");
    for (int i = 0; i < axis; i++) j.outer *= x->dims[i];
    for (int i = (int)axis + 1; i < x->rank - 1; i++) j.inner *= x->dims[i];
    int threads = hn_pool_threads(e->pool);
    j.workers = j.outer < threads ? j.outer : threads;
    HN_TRY(hn_fft_init(&j.fft, e, n, inverse, err));
    int64_t slabs = (j.in * j.parts + j.out * j.parts_out) * j.inner;
    j.slabs = hn_scratch(e, slabs, (size_t)j.workers * sizeof *j.slabs);
    j.signals = hn_scratch(e, n, 3 * (size_t)j.workers * sizeof *j.signals);
    if (j.slabs == NULL || j.signals == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, j.workers, transform_slabs, &j);
    return HONE_OK;
}

/* ---- gradients ---- */

static hn_value *transformed(hn_grad *g, int64_t length, int64_t axis, bool inverse,
                             bool onesided) {
    hn_value *in[] = {g->dy[0], hn_emit_ints(g, &length, 1), hn_emit_ints(g, &axis, 1)};
    if (in[1] == NULL || in[2] == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", "DFT", 1, 3, in);
    hn_emit_i(g, n, "inverse", inverse);
    hn_emit_i(g, n, "onesided", onesided);
    return hn_emitted(n, 0);
}

/* v, of size `have` along the axis, cut or filled up with zeros to what the input has. */
static hn_value *fitted(hn_grad *g, hn_value *v, int rank, int64_t axis, int64_t have,
                        int64_t want) {
    int64_t pads[2 * HONE_MAX_RANK] = {0};
    pads[rank + axis] = want - have;
    return have == want ? v : HN_EMIT2(g, "Pad", v, hn_emit_ints(g, pads, 2 * rank));
}

/* Of half a spectrum, entries that have a mirror image count twice, and those that have none are
 * real: [n / 2 + 1, (1,) * , 2]. */
static hn_value *halves(hn_grad *g, int rank, int64_t axis, int64_t n) {
    int64_t dims[HONE_MAX_RANK], size = n / 2 + 1;
    for (int i = 0; i < rank; i++) dims[i] = i == axis ? size : i == rank - 1 ? 2 : 1;
    hn_tensor *t;
    hn_value *v = hn_emit_table(g, rank, dims, &t);
    for (int64_t i = 0; v != NULL && i < size; i++) {
        bool alone = i == 0 || 2 * i == n;
        hn_store_f64(t->dtype, t->data, 2 * i, (alone ? 1 : 2) / (double)n);
        hn_store_f64(t->dtype, t->data, 2 * i + 1, (alone ? 0 : 2) / (double)n);
    }
    return v;
}

/* The transform is a matrix F of unit entries: what comes back goes through its conjugate
 * transpose, which is n times the inverse transform; and the other way round. */
static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t x[HONE_MAX_RANK], y[HONE_MAX_RANK], axis = -2, n = 0;
    bool inverse = hn_attr_i(g->node, "inverse") != 0;
    bool onesided = hn_attr_i(g->node, "onesided") != 0;
    int rank = hn_grad_dims(g, hn_grad_in(g, INPUT), x);
    hn_grad_dims(g, hn_grad_out(g, 0), y);
    HN_TRY(g->status);
    bool known = hn_grad_in(g, AXIS) == NULL || hn_grad_ints(g, AXIS, &axis, 1) == 1;
    known = known && (hn_grad_in(g, LENGTH) == NULL || hn_grad_ints(g, LENGTH, &n, 1) == 1);
    if (!known) return hn_grad_refuse(g, "its axis or length is computed", err);
    HN_TRY(hn_want_axis(&axis, rank, err));
    if (n == 0) n = inverse && onesided ? y[axis] : x[axis];
    hn_value *v;
    if (inverse && onesided) {
        v = HN_EMIT2(g, "Mul", transformed(g, n, axis, false, true), halves(g, rank, axis, n));
        hn_grad_give(g, INPUT, fitted(g, v, rank, axis, n / 2 + 1, x[axis]));
        return HONE_OK;
    }
    double scale = inverse ? 1 / (double)n : (double)n;
    v = HN_EMIT2(g, "Mul", transformed(g, n, axis, !inverse, false), hn_emit_number(g, scale));
    if (x[rank - 1] == 1) v = hn_emit_slice(g, v, rank - 1, 0, 1);
    hn_grad_give(g, INPUT, fitted(g, v, rank, axis, n, x[axis]));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("inverse", 0), HN_ATTR_I("onesided", 0), {0}};

const hn_op_def hn_op_dft = {
    .name = "DFT",
    .versions = "17 20",
    .sig =
        "(input:T1, dft_length:T2?, axis:s64?) -> (output:T1);"
        "T1: float; T2: s32 s64",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
