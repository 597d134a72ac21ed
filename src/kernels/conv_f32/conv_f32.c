#include "kernels/conv_f32/conv_f32.h"

#include "kernels/conv_f32/conv_f32_pixels.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/conv_f32/conv_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/conv_f32/conv_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_CONV_X, 4, offsetof(hn_conv_f32, batch), offsetof(hn_conv_f32, x_image)},
    {HN_CONV_R, 1, offsetof(hn_conv_f32, batch), offsetof(hn_conv_f32, r_image)},
    {HN_CONV_R, 2, offsetof(hn_conv_f32, oh), offsetof(hn_conv_f32, r_row)},
    {HN_CONV_R, 1, offsetof(hn_conv_f32, n), HN_ADJACENT},
    {HN_CONV_Y, 1, offsetof(hn_conv_f32, batch), offsetof(hn_conv_f32, y_image)},
    {HN_CONV_Y, 2, offsetof(hn_conv_f32, oh), offsetof(hn_conv_f32, y_row)},
    {HN_CONV_Y, 1, offsetof(hn_conv_f32, n), HN_ADJACENT},
};

static bool may_replace(const void *problem, int operand, int result) {
    (void)result;
    const hn_conv_f32 *p = problem;
    return operand == HN_CONV_R && p->r_type == p->y_type &&
           hn_axes_agree(3, (int64_t[]){p->batch, p->oh, p->ow},
                         (int64_t[]){p->r_image, p->r_row, p->r_pixel},
                         (int64_t[]){p->y_image, p->y_row, p->y_pixel});
}

static hn_float *stored(void *problem, int operand) {
    hn_conv_f32 *p = problem;
    return operand == HN_CONV_X   ? &p->x_type
           : operand == HN_CONV_R ? &p->r_type
           : operand == HN_CONV_Y ? &p->y_type
                                  : NULL;
}

static hn_float *weights_fit(void *problem) {
    hn_conv_f32 *p = problem;
    return p->batch * p->oh * p->ow <= HN_CONV_FEW_PIXELS ? &p->w_fits : NULL;
}

static int32_t *weights_values(void *problem) {
    hn_conv_f32 *p = problem;
    const char *why;
    return hn_conv_few_pixels(p, &why) ? &p->w_values : NULL;
}

static int64_t *weights_zeros(void *problem, int64_t *n, int *zero) {
    hn_conv_f32 *p = problem;
    (void)zero;
    if (p->groups != 1) return NULL;
    *n = p->n * p->kh * p->kw * p->c;
    return &p->w_zeros;
}

static size_t bytes(const void *problem, int operand) {
    const hn_conv_f32 *p = problem;
    return hn_float_bytes(operand == HN_CONV_X   ? p->x_type
                          : operand == HN_CONV_R ? p->r_type
                                                 : p->y_type);
}

static const hn_images images = {HN_CONV_X, HN_CONV_R, HN_CONV_Y, bytes};

static bool end(void *problem, hn_epilogue *out) {
    hn_conv_f32 *p = problem;
    *out = (hn_epilogue){.act = &p->act,
                         .bias = HN_CONV_BIAS,
                         .residual = HN_CONV_R,
                         .rank = 4,
                         .dims = {p->batch, p->oh, p->ow, p->n},
                         .strides = {p->y_image, p->y_row, p->y_pixel, 1},
                         .r_strides = &p->r_image,
                         .n_r = 3,
                         .narrow = p->n < 4}; /* vectors hold the channels of a pixel */
    return true;
}

const hn_family hn_conv_f32_family = {
    .name = "conv_f32",
    .help = "convolution over channels-last images; matrix product by a constant",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .weights = HN_CONV_W,
    .multiplies = true,
    .may_replace = may_replace,
    .result = HN_CONV_Y,
    .stored = stored,
    .weights_fit = weights_fit,
    .weights_zeros = weights_zeros,
    .weights_values = weights_values,
    .images = &images,
    .end = end,
};

bool hn_conv_stored_f32(const hn_conv_f32 *p, const char **why) {
    if (p->x_type == HN_FLOAT_F32 && p->r_type == HN_FLOAT_F32 && p->y_type == HN_FLOAT_F32)
        return true;
    return *why = "operands of bf16", false;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* The first tap of the window of output o at or after place `from` of the image. */
static int64_t tap_at(const hn_conv_slide *a, int64_t o, int64_t from) {
    int64_t distance = from + a->pad - o * a->stride;
    return distance <= 0 ? 0 : clamp((distance + a->dilation - 1) / a->dilation, 0, a->taps);
}

int hn_conv_spans(const hn_conv_slide *a, hn_conv_span *spans, int most) {
    int n = 0;
    bool reached = false; /* an input, by the output before */
    for (int64_t o = 0; o < a->out; o++) {
        hn_conv_span s = {o, o + 1, tap_at(a, o, 0), tap_at(a, o, a->in)};
        bool reaches = s.tap < s.tap_end, alike = reaches == reached;
        if (!reaches) s.tap = clamp(s.tap, 0, a->taps - 1), s.tap_end = s.tap + 1;
        reached = reaches;
        if (n > 0 && alike && spans[n - 1].tap == s.tap && spans[n - 1].tap_end == s.tap_end) {
            spans[n - 1].end = s.end;
            continue;
        }
        if (n == most) return 0;
        spans[n++] = s;
    }
    return n;
}

double hn_conv_share_inside(const hn_conv_f32 *p) {
    enum { MOST = 16, LONGEST = 512 }; /* on longer axes few windows miss the image */
    const hn_conv_slide slides[] = {{p->h, p->oh, p->kh, p->sh, p->dh, p->pt},
                                    {p->w, p->ow, p->kw, p->sw, p->dw, p->pl}};
    double share = 1;
    for (int i = 0; i < 2; i++) {
        const hn_conv_slide *a = &slides[i];
        hn_conv_span spans[MOST];
        if (a->dilation == 1 || a->out > LONGEST) continue;
        int n = hn_conv_spans(a, spans, MOST);
        int64_t taps = n == 0 ? a->out * a->taps : 0;
        for (int k = 0; k < n; k++)
            taps += (spans[k].end - spans[k].first) * (spans[k].tap_end - spans[k].tap);
        share *= (double)taps / (double)(a->out * a->taps);
    }
    return share;
}

hn_conv_f32 hn_conv_of_gemm(int64_t m, int64_t n, int64_t k) {
    return (hn_conv_f32){
        .batch = 1,
        .h = 1,
        .w = m,
        .c = k,
        .oh = 1,
        .ow = m,
        .n = n,
        .kh = 1,
        .kw = 1,
        .sh = 1,
        .sw = 1,
        .dh = 1,
        .dw = 1,
        .groups = 1,
        .x_image = m * k,
        .x_row = m * k,
        .x_pixel = k,
        .x_channel = 1,
        .y_image = m * n,
        .y_row = m * n,
        .y_pixel = n,
        .r_image = m * n,
        .r_row = m * n,
        .r_pixel = n,
        .w_o = 1,
        .w_i = n,
        .w_y = 1,
        .w_x = 1,
    };
}
