/* MelWeightMatrix: [dft_length / 2 + 1, num_mel_bins], triangles that gather the bins of a spectrum
 * into bands of equal width on the mel scale, mel(f) = 2595 log10(1 + f / 700).
 *
 * Band i rises from edge i to edge i + 1 and falls to edge i + 2, the edges being whole bins. As in
 * ONNX's definition, the num_mel_bins + 2 edges start at lower_edge_hertz and are
 * (mel(upper) - mel(lower)) / (num_mel_bins + 2) apart, so that upper_edge_hertz itself is none.
 * What lies beyond the spectrum is left out. */
#include <math.h>

#include "base/least.h"
#include "ops/axes.h"

enum { BANDS, LENGTH, RATE, LOWER, UPPER };

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_dim *v[2];
    HN_TRY(hn_set_dtype_named(c, 0, "output_datatype", err));
    for (int i = BANDS; i <= UPPER; i++) {
        int n;
        HN_TRY(hn_list_length(c, i, 1, &n, err));
        HN_CHECK(err, n != 0, HONE_E_SHAPE, "input %d is empty, expected one number", i);
        if (i <= LENGTH) HN_TRY(hn_list_dims(c, i, 1, &v[i], &n, err));
    }
    hn_shape y = {.rank = 2};
    int64_t length;
    y.dim[1] = v[BANDS] != NULL ? v[BANDS][0] : hn_dim_fresh(c->dims, -1);
    if (v[LENGTH] != NULL) {
        HN_CHECK(err, !hn_dim_is_const(v[LENGTH][0], &length) || length > 0, HONE_E_ARG,
                 "dft_length is %lld, expected 1 or more", (long long)length);
        y.dim[0] =
            hn_dim_addc(c->dims, hn_dim_div(c->dims, v[LENGTH][0], hn_dim_const(c->dims, 2)), 1);
    } else {
        y.dim[0] = hn_dim_fresh(c->dims, -1);
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static double mel(double hertz) { return 2595 / M_LN10 * log1p(hertz / 700); }
static double hertz(double mel_value) { return 700 * expm1(mel_value / 2595 * M_LN10); }

/* m[row, band] of `count` rows = first, first + step ... Most matrices are of f32, whose loop is
 * short. */
static void draw_line(hn_tensor *m, int64_t row, int64_t count, int64_t band, double first,
                      double step) {
    int64_t pitch = m->dims[1], at = row * pitch + band;
    if (m->dtype == HONE_DTYPE_F32) {
        float *to = (float *)m->data + at;
        for (int64_t i = 0; i < count; i++, to += pitch) *to = (float)(first + (double)i * step);
        return;
    }
    for (int64_t i = 0; i < count; i++, at += pitch)
        hn_store_f64(m->dtype, m->data, at, first + (double)i * step);
}

/* The bins of a band: m[row, band], zero where nothing is written. */
static void draw_band(hn_tensor *m, int64_t band, const int64_t edge[3]) {
    int64_t begin = hn_least(edge[0], m->dims[0]), peak = hn_least(edge[1], m->dims[0]);
    int64_t end = hn_least(edge[2], m->dims[0]);
    if (begin < peak) draw_line(m, begin, peak - begin, band, 0, 1 / (double)(edge[1] - edge[0]));
    /* The peak also of a band that begins or ends there. */
    if (peak == edge[1] && peak < m->dims[0]) draw_line(m, peak, 1, band, 1, 0);
    if (peak + 1 < end)
        draw_line(m, peak + 1, end - peak - 1, band, 1 - 1 / (double)(edge[2] - edge[1]),
                  -1 / (double)(edge[2] - edge[1]));
}

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_tensor *y = e->out[0];
    double length = hn_tensor_f64(e->in[LENGTH], 0), rate = hn_tensor_f64(e->in[RATE], 0);
    double lower = hn_tensor_f64(e->in[LOWER], 0), upper = hn_tensor_f64(e->in[UPPER], 0);
    int64_t bands = y->dims[1];
    HN_CHECK(err, rate > 0, HONE_E_ARG, "sample_rate is %g, expected 1 or more", rate);
    HN_CHECK(err, lower >= 0 && lower <= upper && isfinite(upper), HONE_E_ARG,
             "the band edges are %g and %g Hz, expected 0 <= lower <= upper", lower, upper);
    memset(y->data, 0, y->bytes);
    double low = mel(lower), step = (mel(upper) - low) / (double)(bands + 2);
    int64_t edge[3] = {0};
    for (int64_t i = 0; i < bands + 2 && y->n > 0; i++) {
        double bin = floor((length + 1) * hertz((double)i * step + low) / rate);
        edge[0] = edge[1];
        edge[1] = edge[2];
        /* Beyond the rows by far is as good as just beyond. */
        edge[2] = (int64_t)fmin(bin, 0x1p60);
        if (i >= 2) draw_band(y, i - 2, edge);
    }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("output_datatype", HONE_DTYPE_F32), {0}};

const hn_op_def hn_op_mel_weight_matrix = {
    .name = "MelWeightMatrix",
    .versions = "17",
    .sig =
        "(num_mel_bins:T1, dft_length:T1, sample_rate:T1, lower_edge_hertz:T2,"
        " upper_edge_hertz:T2) -> (output:T3); T1: s32 s64; T2: float; T3: num",
    .attrs = attrs,
    .no_grad = "its inputs are settings",
    .infer = infer,
    .ref = ref,
};
