/* STFT: the Fourier transforms of overlapping frames of a signal [batch, length, 1 or 2], each
 * frame weighted by the window: [batch, frames, bins, 2]. One-sided: only the bins [0, frame_length
 * / 2], of a real signal. */
#include "ops/axes.h"
#include "ops/fft_ref.h"
#include "ops/grad.h"

enum { SIGNAL, STEP, WINDOW, LENGTH };

/* The frame length; NULL when not known. */
static hone_status frame_length(const hn_infer *c, hn_dim *length, hn_error *err) {
    const hn_dim *v = NULL;
    int n;
    bool window = hn_has_in(c, WINDOW) && hn_in_rank(c, WINDOW) == 1;
    *length = NULL;
    HN_TRY(hn_want_rank(c, WINDOW, 1, 1, err));
    if (hn_has_in(c, LENGTH)) {
        HN_TRY(hn_list_dims(c, LENGTH, 1, &v, &n, err));
        HN_CHECK(err, n != 0, HONE_E_SHAPE, "frame_length is empty, expected one number");
        if (v != NULL) *length = v[0];
    } else if (!hn_has_in(c, WINDOW) && hn_in_rank(c, SIGNAL) == 3) {
        *length = hn_in_shape(c, SIGNAL)->dim[1];
    }
    if (!window) return HONE_OK;
    hn_dim size = hn_in_shape(c, WINDOW)->dim[0];
    if (*length != NULL)
        HN_TRY(hn_want_equal(size, *length, "the length of the window and frame_length", err));
    *length = size;
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, SIGNAL);
    hn_dims *t = c->dims;
    bool onesided = hn_attr_i(c->node, "onesided") != 0, known;
    int64_t step, parts, a, b;
    hn_dim length;
    HN_TRY(hn_want_rank(c, SIGNAL, 3, 3, err));
    HN_TRY(hn_one_int(c, STEP, &step, &known, err));
    HN_CHECK(err, !known || step > 0, HONE_E_ARG, "frame_step is %lld, expected 1 or more",
             (long long)step);
    HN_TRY(frame_length(c, &length, err));
    HN_CHECK(err, length == NULL || !hn_dim_is_const(length, &a) || a > 0, HONE_E_ARG,
             "the frames have length %lld, expected 1 or more", (long long)a);
    hn_shape y = hn_shape_fresh(t, 4);
    y.dim[3] = hn_dim_const(t, 2);
    if (length != NULL)
        y.dim[2] = onesided ? hn_dim_addc(t, hn_dim_div(t, length, hn_dim_const(t, 2)), 1) : length;
    if (x->rank == 3) {
        y.dim[0] = x->dim[0];
        if (hn_dim_is_const(x->dim[2], &parts)) {
            HN_CHECK(err, parts == 1 || parts == 2, HONE_E_SHAPE,
                     "axis 2 of the signal has size %lld, expected 1 (real) or 2 (complex)",
                     (long long)parts);
            HN_CHECK(err, parts == 1 || !onesided, HONE_E_SHAPE,
                     "the signal is complex: its transform is not one-sided");
        }
        if (length != NULL && hn_dim_is_const(length, &a) && hn_dim_is_const(x->dim[1], &b))
            HN_CHECK(err, a <= b, HONE_E_SHAPE, "the frames have length %lld, the signal only %lld",
                     (long long)a, (long long)b);
        if (length != NULL && known)
            y.dim[1] = hn_dim_addc(
                t, hn_dim_div(t, hn_dim_sub(t, x->dim[1], length), hn_dim_const(t, step)), 1);
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

typedef struct job {
    const hn_tensor *x;
    hn_tensor *y;
    hn_fft fft;
    const double *window; /* NULL: all ones */
    int64_t step, tasks, workers;
    double *samples;     /* [workers][2][n] */
    hn_complex *signals; /* [workers][3][n] */
} job;

static void transform_frames(void *ctx, int64_t worker) {
    const job *j = ctx;
    int64_t n = j->fft.n, frames = j->y->dims[1], bins = j->y->dims[2], parts = j->x->dims[2];
    double *v = j->samples + worker * 2 * n;
    hn_complex *signal = j->signals + worker * 3 * n, *spectrum = signal + n, *tmp = spectrum + n;
    for (int64_t k = worker; k < j->tasks; k += j->workers) {
        int64_t at = k / frames * j->x->dims[1] + k % frames * j->step;
        hn_load_f64_n(j->x->dtype, j->x->data, at * parts, n * parts, v);
        for (int64_t i = 0; i < n; i++) {
            double w = j->window != NULL ? j->window[i] : 1;
            signal[i] = (hn_complex){w * v[i * parts], parts == 2 ? w * v[i * parts + 1] : 0};
        }
        hn_fft_run(&j->fft, signal, spectrum, tmp);
        for (int64_t i = 0; i < bins; i++) {
            v[2 * i] = spectrum[i].re;
            v[2 * i + 1] = spectrum[i].im;
        }
        hn_store_f64_n(j->y->dtype, j->y->data, k * bins * 2, bins * 2, v);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[SIGNAL], *length = hn_eval_in(e, LENGTH);
    const hn_tensor *window = hn_eval_in(e, WINDOW);
    job j = {.x = x, .y = e->out[0], .step = hn_tensor_s64(e->in[STEP], 0)};
    if (j.y->n == 0) return HONE_OK;
    int64_t n = window != NULL ? window->n : length != NULL ? hn_tensor_s64(length, 0) : x->dims[1];
    int threads = hn_pool_threads(e->pool);
    j.tasks = j.y->dims[0] * j.y->dims[1];
    j.workers = j.tasks < threads ? j.tasks : threads;
    if (window != NULL) {
        j.window = hn_scratch_f64(e, window);
        if (j.window == NULL) return HN_NOMEM(err);
    }
    HN_TRY(hn_fft_init(&j.fft, e, n, false, err));
    j.samples = hn_scratch(e, n, 2 * (size_t)j.workers * sizeof *j.samples);
    j.signals = hn_scratch(e, n, 3 * (size_t)j.workers * sizeof *j.signals);
    if (j.samples == NULL || j.signals == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, j.workers, transform_frames, &j);
    return HONE_OK;
}

/* Frames are a Gather of samples; then the window, and the transform of each. */
static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    int64_t x[HONE_MAX_RANK], window[HONE_MAX_RANK], out[HONE_MAX_RANK], step, *at;
    int64_t length = 0;
    hn_grad_dims(g, hn_grad_in(g, SIGNAL), x);
    hn_grad_dims(g, hn_grad_out(g, 0), out);
    if (hn_grad_in(g, WINDOW) != NULL) hn_grad_dims(g, hn_grad_in(g, WINDOW), window);
    HN_TRY(g->status);
    if (hn_grad_ints(g, STEP, &step, 1) != 1) return hn_grad_refuse(g, "its step is computed", err);
    if (hn_grad_in(g, WINDOW) != NULL)
        length = window[0];
    else if (hn_grad_in(g, LENGTH) == NULL)
        length = x[1];
    else if (hn_grad_ints(g, LENGTH, &length, 1) != 1)
        return hn_grad_refuse(g, "the length of its frames is computed", err);
    const int64_t frames[] = {out[1], length}, column[] = {length, 1};
    hn_value *in[] = {hn_grad_in(g, SIGNAL), hn_emit_indices(g, 2, frames, &at)};
    if (in[1] == NULL) return HONE_OK;
    for (int64_t i = 0; i < out[1] * length; i++) at[i] = i / length * step + i % length;
    hn_node *gather = hn_emit_node(g, "", "Gather", 1, 2, in);
    hn_emit_i(g, gather, "axis", 1);
    hn_value *v = hn_emitted(gather, 0);
    if (hn_grad_in(g, WINDOW) != NULL)
        v = HN_EMIT2(g, "Mul", v, hn_emit_reshape(g, hn_grad_in(g, WINDOW), 2, column));
    if (v == NULL) return HONE_OK;
    hn_node *dft = hn_emit_node(g, "", "DFT", 1, 1, &v);
    hn_emit_i(g, dft, "onesided", hn_attr_i(g->node, "onesided"));
    y[0] = hn_emitted(dft, 0);
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("onesided", 1), {0}};

const hn_op_def hn_op_stft = {
    .name = "STFT",
    .versions = "17",
    .sig =
        "(signal:T1, frame_step:T2, window:T1?, frame_length:T2?) -> (output:T1);"
        "T1: float; T2: s32 s64",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .settings = 1 << WINDOW,
    .spell = spell,
};
