/* DFT and STFT of f32: Fourier transforms along one axis, or of overlapping frames. What depends on
 * the length alone is a table of the plan's. */
#include <math.h>

#include "engine/lower.h"
#include "kernels/fft_f32/fft_f32.h"

/* Shorter transforms run as the definition: it computes in double, so sums that cancel give 0, and
 * takes little time. */
enum { SHORT = 32 };

/* The table of a transform as an operand of the step. */
static hone_status add_table(hn_lower *L, hn_step *s, const hn_fft_f32 *p, hn_error *err) {
    hn_tensor *table;
    hn_view v;
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, hn_fft_f32_table(p->n), &table, &v, err));
    double *workspace = hn_alloc_array(L->alloc, (size_t)hn_fft_f32_workspace(p->n),
                                       sizeof *workspace, HN_MEM_OTHER);
    if (workspace == NULL) return HN_NOMEM(err);
    hn_fft_f32_fill(p->n, p->inverse ? 1 / (float)p->n : 1, table->data, workspace);
    hn_free(L->alloc, workspace);
    hn_step_reads(s, HN_FFT_TABLE, &v);
    return HONE_OK;
}

/* A step from x, dense, to output 0 of n; the window may be absent. */
static hone_status add_step(hn_lower *L, const hn_node *n, const hn_fft_f32 *p, const hn_view *x,
                            const hn_view *window, bool *done, hn_error *err) {
    hn_view y = hn_lower_out(n, 0);
    hn_step *s;
    if (p->n < SHORT) HN_DECLINE(L, "a short transform");
    if (p->n > HN_FFT_LONGEST) HN_DECLINE(L, "a very long transform");
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    HN_TRY(hn_lower_step(L, n, &hn_fft_f32_family, p, sizeof *p, &s, err));
    HN_TRY(add_table(L, s, p, err));
    hn_step_reads(s, HN_FFT_X, x);
    if (window->buffer >= 0) hn_step_reads(s, HN_FFT_WINDOW, window);
    hn_step_writes(s, HN_FFT_Y, &y);
    s->facts->flops =
        5.0 * (double)(p->count[0] * p->count[1]) * (double)p->n * log2((double)p->n + 1);
    s->facts->bytes = 4.0 * (double)(hn_view_count(x) + hn_view_count(&y));
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_dft(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    enum { X, LENGTH, AXIS };
    hn_view x = hn_lower_in(L, n, X), y = hn_lower_out(n, 0), none = {.buffer = -1};
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0 || hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    const hn_tensor *length = hn_node_constant(n, LENGTH), *axes = hn_node_constant(n, AXIS);
    if ((hn_node_input(n, LENGTH) != NULL && length == NULL) ||
        (hn_node_input(n, AXIS) != NULL && axes == NULL))
        HN_DECLINE(L, "the length or the axis is computed");
    int64_t axis = axes != NULL ? hn_tensor_s64(axes, 0) : -2;
    if (axis < 0) axis += x.rank;
    if (axis < 0 || axis >= x.rank - 1) HN_DECLINE(L, "the axis is outside the input");
    bool inverse = hn_attr_i(n, "inverse") != 0, onesided = hn_attr_i(n, "onesided") != 0;
    int64_t outer = 1, inner = 1, in = x.dims[axis], out = y.dims[axis];
    for (int i = 0; i < axis; i++) outer *= x.dims[i];
    for (int i = (int)axis + 1; i < x.rank - 1; i++) inner *= x.dims[i];
    int64_t parts = x.dims[x.rank - 1], parts_out = y.dims[y.rank - 1];
    hn_fft_f32 p = {
        .n = length != NULL        ? hn_tensor_s64(length, 0)
             : inverse && onesided ? out
                                   : in,
        .given = in,
        .bins = out,
        .count = {outer, inner},
        .x_count = {in * inner * parts, parts},
        .y_count = {out * inner * parts_out, parts_out},
        .x_sample = inner * parts,
        .y_bin = inner * parts_out,
        .x_complex = parts == 2,
        .y_complex = parts_out == 2,
        .inverse = inverse,
        .mirrored = inverse && onesided,
    };
    if (p.n < 1) HN_DECLINE(L, "the signal is empty");
    HN_TRY(hn_lower_dense(L, n, &x, err));
    return add_step(L, n, &p, &x, &none, done, err);
}

hone_status hn_lower_stft(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    enum { X, STEP, WINDOW, LENGTH };
    hn_view x = hn_lower_in(L, n, X), window = hn_lower_in(L, n, WINDOW), y = hn_lower_out(n, 0);
    const hn_tensor *step = hn_node_constant(n, STEP), *length = hn_node_constant(n, LENGTH);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0 || hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    if (step == NULL || (hn_node_input(n, LENGTH) != NULL && length == NULL))
        HN_DECLINE(L, "the length of frames, or their distance, is computed");
    int64_t parts = x.dims[2], bins = y.dims[2];
    hn_fft_f32 p = {
        .n = window.buffer >= 0 ? window.dims[0]
             : length != NULL   ? hn_tensor_s64(length, 0)
                                : x.dims[1],
        .bins = bins,
        .count = {y.dims[0], y.dims[1]},
        .x_count = {x.dims[1] * parts, hn_tensor_s64(step, 0) * parts},
        .y_count = {y.dims[1] * bins * 2, bins * 2},
        .x_sample = parts,
        .y_bin = 2,
        .x_complex = parts == 2,
        .y_complex = true,
    };
    p.given = p.n;
    if (p.n < 1) HN_DECLINE(L, "the frames are empty");
    HN_TRY(hn_lower_dense(L, n, &x, err));
    if (window.buffer >= 0) HN_TRY(hn_lower_dense(L, n, &window, err));
    return add_step(L, n, &p, &x, &window, done, err);
}
