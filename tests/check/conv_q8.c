/* Cases of conv_q8: every combination of types and zero points, matrix products around every tile,
 * images with every kind of window, and the layers of real models for timing.
 *
 * Kinds of data: random bytes; small numbers whose products with m = 1/2 are ties of rounding;
 * bytes at the ends of their range, with multipliers that saturate; and one such byte everywhere,
 * the largest sums there are. */
#include "kernels/conv_q8/conv_q8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum {
    BIAS = 1,
    WZ = 2,
    MULTIPLIERS = 4,
    DYNAMIC = 8, /* XS and XZ */
    FBIAS = 16,
    RESIDUAL = 32,
    IN_PLACE = 64,
    SLICE = 128,
    BENCH = 256,
    DEPTHWISE = 512,
    TWICE = 1024,  /* RESIDUAL or IN_PLACE too */
    FLOATS = 2048, /* before bytes */
    SEVEN = 4096,  /* bits of weights, from -64 to 63 */
    EACH = 8192,   /* a scale for each output, with FLOATS */
};

/* What a case is made of beside its shape. */
typedef struct variant {
    const char *name;
    hn_q8_type x, w, y, r;
    int32_t xz, yz, lo, hi;
    int flags;
} variant;

static const variant variants[] = {
    {"u8s8u8", HN_Q8_U8, HN_Q8_S8, HN_Q8_U8, HN_Q8_U8, 0, 0, 0, 255, BIAS | MULTIPLIERS},
    {"u8s8u8_zero", HN_Q8_U8, HN_Q8_S8, HN_Q8_U8, HN_Q8_U8, 131, 117, 3, 250, BIAS | MULTIPLIERS},
    {"u8u8u8_wz", HN_Q8_U8, HN_Q8_U8, HN_Q8_U8, HN_Q8_S8, 97, 128, 0, 255, WZ | MULTIPLIERS},
    {"s8s8s8", HN_Q8_S8, HN_Q8_S8, HN_Q8_S8, HN_Q8_S8, -5, 7, -128, 127, BIAS | MULTIPLIERS},
    {"s8s8s8_relu", HN_Q8_S8, HN_Q8_S8, HN_Q8_S8, HN_Q8_U8, 0, -20, -20, 127, MULTIPLIERS},
    {"s8u8s8_wz", HN_Q8_S8, HN_Q8_U8, HN_Q8_S8, HN_Q8_S8, 127, 0, -128, 127,
     BIAS | WZ | MULTIPLIERS},
    {"u8s8s8_wz", HN_Q8_U8, HN_Q8_S8, HN_Q8_S8, HN_Q8_S8, 255, -128, -128, 127,
     BIAS | WZ | MULTIPLIERS},
    {"u8s8f32_dynamic", HN_Q8_U8, HN_Q8_S8, HN_Q8_F32, HN_Q8_F32, 0, 0, 0, 0,
     MULTIPLIERS | DYNAMIC | FBIAS},
    {"s8u8f32_dynamic_wz", HN_Q8_S8, HN_Q8_U8, HN_Q8_F32, HN_Q8_F32, 0, 0, 0, 0,
     BIAS | WZ | MULTIPLIERS | DYNAMIC},
    {"s8s8f32", HN_Q8_S8, HN_Q8_S8, HN_Q8_F32, HN_Q8_F32, -128, 0, 0, 0, FBIAS},
    {"u8s8u8_floats", HN_Q8_U8, HN_Q8_S8, HN_Q8_U8, HN_Q8_U8, 9, 117, 3, 250,
     MULTIPLIERS | FBIAS | FLOATS},
    {"s8u8s8_floats_wz", HN_Q8_S8, HN_Q8_U8, HN_Q8_S8, HN_Q8_S8, 0, -20, -128, 127,
     BIAS | WZ | MULTIPLIERS | DYNAMIC | FLOATS},
    {"u8s8s8_floats_each", HN_Q8_U8, HN_Q8_S8, HN_Q8_S8, HN_Q8_S8, 9, -3, -128, 127,
     MULTIPLIERS | FBIAS | FLOATS | EACH},
    {"s8u8u8_floats_each_wz", HN_Q8_S8, HN_Q8_U8, HN_Q8_U8, HN_Q8_U8, 0, 20, 3, 250,
     BIAS | WZ | MULTIPLIERS | FLOATS | EACH},
    {"u8s8s32", HN_Q8_U8, HN_Q8_S8, HN_Q8_S32, HN_Q8_S32, 12, 0, 0, 0, 0},
    {"u8u8s32", HN_Q8_U8, HN_Q8_U8, HN_Q8_S32, HN_Q8_S32, 12, 0, 0, 0, 0},
    {"s8u8s32_wz", HN_Q8_S8, HN_Q8_U8, HN_Q8_S32, HN_Q8_S32, -128, 0, 0, 0, WZ | BIAS},
    {"u8s8u8_7bit", HN_Q8_U8, HN_Q8_S8, HN_Q8_U8, HN_Q8_U8, 131, 117, 3, 250,
     BIAS | MULTIPLIERS | SEVEN},
    {"s8s8s32_7bit", HN_Q8_S8, HN_Q8_S8, HN_Q8_S32, HN_Q8_S32, 5, 0, 0, 0, BIAS | SEVEN},
};
/* Without multipliers the sums of but a few products fit a byte. */
static const variant plain = {"s8s8s8_plain", HN_Q8_S8, HN_Q8_S8, HN_Q8_S8, HN_Q8_S8, 3, 5,
                              -128,           127,      0};
enum { N_VARIANTS = sizeof variants / sizeof *variants };

static check_role given(bool there) { return there ? CHECK_IN : CHECK_ABSENT; }

static void add(check_list *list, const char *name, hn_conv_q8 p, const variant *v, int flags) {
    int64_t terms = p.c / p.groups * p.kh * p.kw, gap = flags & SLICE ? 5 : 0;
    check_case *c = check_add(list, "%s_%s", name, v->name);
    flags |= v->flags;
    if (v->y == HN_Q8_S32 || v->r != v->y) flags &= ~IN_PLACE;
    if (v->y == HN_Q8_S32 || flags & FLOATS) flags &= ~(RESIDUAL | IN_PLACE);
    if (flags & FLOATS) p.ys = p.act.kind == HN_ACT_NONE ? 0.71F : 0.013F;
    p.x = v->x, p.w_type = v->w, p.y = v->y, p.r_type = v->r;
    p.w_zero_points = flags & WZ;
    p.y_scales = flags & EACH;
    p.xz = v->xz, p.yz = v->yz, p.lo = v->lo, p.hi = v->hi;
    p.rz = v->r != HN_Q8_U8 ? -7 : v->yz == 0 ? 0 : 19, p.mr = 0.37F;
    if (flags & TWICE) p.twice = true, p.lo1 = -93, p.hi1 = 150, p.m1 = 0.61F;
    p.x_pixel = p.c + gap, p.x_row = p.w * p.x_pixel + gap, p.x_image = p.h * p.x_row + gap;
    p.y_pixel = p.n + 2 * gap, p.y_row = p.ow * p.y_pixel + gap, p.y_image = p.oh * p.y_row;
    p.r_pixel = p.n + (flags & IN_PLACE ? 2 * gap : gap);
    p.r_row = flags & IN_PLACE ? p.y_row : p.ow * p.r_pixel;
    p.r_image = p.oh * p.r_row;
    p.w_x = 1, p.w_y = p.kw, p.w_i = p.kh * p.kw, p.w_o = terms;
    memcpy(c->problem, &p, sizeof p);
    int64_t y_count =
        (p.batch - 1) * p.y_image + (p.oh - 1) * p.y_row + (p.ow - 1) * p.y_pixel + p.n;
    int64_t x_count = (p.batch - 1) * p.x_image + (p.h - 1) * p.x_row + (p.w - 1) * p.x_pixel + p.c;
    int64_t r_count =
        (p.batch - 1) * p.r_image + (p.oh - 1) * p.r_row + (p.ow - 1) * p.r_pixel + p.n;
    static const check_type type[] = {CHECK_U8, CHECK_U8, CHECK_F32, CHECK_I32};
    check_operand_add(c, CHECK_IN, CHECK_U8, x_count);
    check_operand_add(c, CHECK_WEIGHTS, CHECK_U8, p.n * terms);
    check_operand_add(c, given(flags & WZ), CHECK_I32, p.n);
    check_operand_add(c, given(flags & BIAS), CHECK_I32, p.n);
    check_operand_add(c, given(flags & MULTIPLIERS), CHECK_F32, p.n);
    check_operand_add(c, given(flags & DYNAMIC), CHECK_F32, 1);
    check_operand_add(c, given(flags & DYNAMIC), CHECK_U8, 1);
    check_operand_add(c, given(flags & FBIAS), CHECK_F32, p.n);
    check_operand_add(c,
                      flags & IN_PLACE   ? CHECK_SAME
                      : flags & RESIDUAL ? CHECK_IN
                                         : CHECK_ABSENT,
                      type[v->r], r_count);
    check_operand_add(c, flags & IN_PLACE ? CHECK_INOUT : CHECK_OUT, type[v->y], y_count);
    check_operand_add(c, given(flags & EACH), CHECK_F32, p.n);
    c->operand[HN_CONV_Q8_R].same = HN_CONV_Q8_Y;
    if (p.act.kind > HN_ACT_LEAKY) c->rel = 64, c->abs = 2e-6, c->steps = flags & FLOATS ? 1 : 0;
    c->bench = flags & BENCH;
    c->flags = flags;
    c->flops = 2 * (double)(p.batch * p.oh * p.ow) * (double)(p.n * terms);
    c->bytes = (double)(x_count + p.n * terms) +
               (double)y_count * (v->y == HN_Q8_F32 || v->y == HN_Q8_S32 ? 4 : 1);
}

static uint8_t byte(check_data kind, hn_rng *rng) {
    static const uint8_t ends[] = {0x80, 0x80, 0xff, 0x7f, 0x00, 0x01};
    switch (kind) {
        case CHECK_EXACT: return (uint8_t)((int)hn_rng_below(rng, 9) - 4);
        case CHECK_EXTREME: return ends[hn_rng_below(rng, sizeof ends)];
        default: return (uint8_t)hn_rng_below(rng, 256);
    }
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const check_operand *o = &c->operand[operand];
    hn_conv_q8 p;
    memcpy(&p, c->problem, sizeof p);
    double terms = (double)(p.c / p.groups * p.kh * p.kw);
    uint64_t zeros = operand == HN_CONV_Q8_W ? (uint64_t)p.w_zeros : 0; /* anywhere */
    for (size_t i = 0; i < o->count; i++) {
        double u = hn_rng_f64(rng);
        if (zeros > 0 && hn_rng_below(rng, o->count - i) < zeros) {
            ((uint8_t *)data)[i] = p.w_type == HN_Q8_U8 ? 128 : 0;
            zeros--;
            continue;
        }
        if (o->type == CHECK_U8) {
            uint8_t one = operand == HN_CONV_Q8_X && p.x == HN_Q8_U8 ? 0xff : 0x80;
            uint8_t x = kind == CHECK_SPECIAL ? one : byte(kind, rng);
            if (operand == HN_CONV_Q8_W && c->flags & SEVEN) x = (uint8_t)((int8_t)x >> 1);
            ((uint8_t *)data)[i] = x;
        } else if (operand == HN_CONV_Q8_WZ) {
            bool ends = kind == CHECK_EXTREME || kind == CHECK_SPECIAL;
            int32_t z = ends ? (u < 0.5 ? 0 : 255) : (int32_t)(u * 256);
            ((int32_t *)data)[i] = p.w_type == HN_Q8_U8 ? z : z - 128;
        } else if (operand == HN_CONV_Q8_BIAS) {
            ((int32_t *)data)[i] = (int32_t)((u - 0.5) * (kind == CHECK_EXACT ? 40 : 4e4));
        } else if (operand == HN_CONV_Q8_M) {
            /* A sum of random products then spreads over the range of a byte. */
            double size = (0.5 + u) * 0.012 / sqrt(terms + 1);
            if (kind == CHECK_EXACT) size = u < 0.6 ? 0.5 : 0.25;
            if (kind == CHECK_EXTREME) size = ldexp(0.5 + u, (int)hn_rng_below(rng, 100) - 60);
            ((float *)data)[i] = (float)size;
        } else if (operand == HN_CONV_Q8_YS) {
            ((float *)data)[i] = (float)(p.ys * (0.5 + u));
        } else {
            return false;
        }
    }
    return true;
}

/* A square window with `pad` on each side. */
static hn_conv_q8 window(int64_t batch, int64_t size, int64_t c, int64_t n, int64_t k, int64_t s,
                         int64_t pad) {
    return (hn_conv_q8){.batch = batch,
                        .h = size,
                        .w = size,
                        .c = c,
                        .oh = (size + 2 * pad - k) / s + 1,
                        .ow = (size + 2 * pad - k) / s + 1,
                        .n = n,
                        .kh = k,
                        .kw = k,
                        .sh = s,
                        .sw = s,
                        .dh = 1,
                        .dw = 1,
                        .pt = pad,
                        .pl = pad,
                        .groups = 1};
}

static void gemm(check_list *list, int64_t m, int64_t k, int64_t n, const variant *v, int flags) {
    char name[64];
    snprintf(name, sizeof name, "gemm_%lldx%lldx%lld", (long long)m, (long long)k, (long long)n);
    add(list, name, hn_conv_q8_of_gemm(m, n, k), v, flags);
}

/* A layer as real models have it, on some images; the name says kernel, stride, channels and output
 * size. */
static void layer_of(check_list *list, int64_t batch, int64_t k, int64_t s, int64_t c, int64_t n,
                     int64_t size, int flags) {
    hn_conv_q8 p = window(batch, size, c, n, k, s, k / 2);
    if (flags & DEPTHWISE) p.groups = c;
    char name[64], images[16] = "";
    if (batch > 1) snprintf(images, sizeof images, "_batch%lld", (long long)batch);
    snprintf(name, sizeof name, "%s%lldx%llds%lld_%lld_%lld_%lld%s%s",
             flags & DEPTHWISE ? "depthwise" : "conv", (long long)k, (long long)k, (long long)s,
             (long long)c, (long long)n, (long long)p.oh, images,
             flags & TWICE   ? "_twice"
             : flags & SEVEN ? "_7bit"
                             : "");
    add(list, name, p, &variants[0], flags | BENCH);
}

static void layer(check_list *list, int64_t k, int64_t s, int64_t c, int64_t n, int64_t size,
                  int flags) {
    layer_of(list, 1, k, s, c, n, size, flags);
}

/* The layers of ResNet-50 on eight images, most of which are in no near cache. */
static void batch_layers(check_list *list) {
    layer_of(list, 8, 7, 2, 3, 64, 224, 0);
    layer_of(list, 8, 1, 1, 64, 64, 56, 0);
    layer_of(list, 8, 3, 1, 64, 64, 56, 0);
    layer_of(list, 8, 1, 1, 64, 256, 56, RESIDUAL);
    layer_of(list, 8, 1, 1, 64, 256, 56, RESIDUAL | TWICE);
    layer_of(list, 8, 1, 1, 256, 64, 56, 0);
    layer_of(list, 8, 3, 2, 128, 128, 56, 0);
    layer_of(list, 8, 1, 1, 512, 128, 28, 0);
    layer_of(list, 8, 3, 1, 128, 128, 28, 0);
    layer_of(list, 8, 1, 1, 128, 512, 28, RESIDUAL);
    layer_of(list, 8, 1, 2, 256, 512, 56, 0);
    layer_of(list, 8, 1, 1, 1024, 256, 14, 0);
    layer_of(list, 8, 3, 1, 256, 256, 14, 0);
    layer_of(list, 8, 1, 1, 256, 1024, 14, RESIDUAL);
    layer_of(list, 8, 1, 1, 2048, 512, 7, 0);
    layer_of(list, 8, 3, 1, 512, 512, 7, 0);
    layer_of(list, 8, 1, 1, 512, 2048, 7, RESIDUAL);
}

/* The first layer of a network that listens: one channel, far apart windows that are tall and
 * reach beyond the image on every side. */
static hn_conv_q8 tall_window(void) {
    hn_conv_q8 p = window(1, 49, 1, 64, 10, 2, 4);
    p.w = 10, p.kw = 4, p.pl = 1, p.oh = 25, p.ow = 5;
    return p;
}

/* Every variant of a few shapes that between them take every way through a row. */
static void each_variant(check_list *list) {
    for (int i = 0; i < N_VARIANTS; i++) {
        const variant *v = &variants[i];
        hn_conv_q8 p;
        gemm(list, 37, 70, 45, v, RESIDUAL | SLICE);
        gemm(list, 3, 131, 70, v, 0);
        add(list, "conv1x1", window(2, 7, 64, 35, 1, 1, 0), v, RESIDUAL);
        add(list, "conv3x3", window(2, 8, 64, 40, 3, 1, 1), v, IN_PLACE);
        add(list, "conv3x3s2", window(1, 9, 20, 17, 3, 2, 1), v, SLICE);
        p = window(1, 9, 24, 36, 3, 1, 1), p.groups = 3;
        add(list, "conv3x3_groups", p, v, RESIDUAL);
        p = window(1, 9, 37, 37, 3, 1, 1), p.groups = p.c;
        add(list, "depthwise3x3", p, v, RESIDUAL | SLICE);
        if (v->y == HN_Q8_F32 || v->y == HN_Q8_S32 || v->flags & FLOATS) continue;
        gemm(list, 41, 67, 43, v, RESIDUAL | SLICE | TWICE);
        gemm(list, 2, 130, 71, v, RESIDUAL | TWICE);
        add(list, "conv1x1_twice", window(1, 9, 64, 96, 1, 1, 0), v, IN_PLACE | TWICE);
        add(list, "depthwise3x3_twice", p, v, RESIDUAL | TWICE);
    }
}

/* Windows over few channels: every number of them with every stride and padding, and what else
 * there is in turns. */
static void few_channels(check_list *list) {
    static const int64_t channels[] = {1, 3, 8, 16, 24, 32}, kernels[] = {3, 2, 5, 4, 7},
                         outputs[] = {16, 32, 64, 7, 8, 4, 33};
    static const int extra[] = {0, RESIDUAL, RESIDUAL | TWICE, SLICE, IN_PLACE | TWICE};
    for (int64_t i = 0; i < 2 * 36; i++) {
        int64_t c = channels[i / 6 % 6], s = 1 + i % 6 / 3, pad = i % 3, k = kernels[i % 5];
        int64_t size = 9 + i % 4, n = outputs[i % 7];
        hn_conv_q8 p = window(1 + i % 4 / 3, size, c, n, k, s, pad);
        if (i % 8 == 5) p.dh = 2, p.oh = (size + 2 * pad - 2 * (k - 1) - 1) / s + 1;
        if (p.oh < 1) continue;
        char name[64];
        snprintf(name, sizeof name, "few%lldx%llds%lldp%lld_%lld_%lld", (long long)k, (long long)k,
                 (long long)s, (long long)pad, (long long)c, (long long)n);
        const variant *v = &variants[i % 4 == 0 ? i / 4 % N_VARIANTS : i % 2];
        add(list, name, p, v, v->y == HN_Q8_F32 ? 0 : extra[i / 3 % 5]);
    }
}

/* A problem of whose weights so many of a hundred are not 0. */
static void sparse(check_list *list, const char *name, hn_conv_q8 p, const variant *v, int percent,
                   int flags) {
    char text[96];
    int64_t weights = p.n * p.kh * p.kw * p.c;
    p.w_zeros = weights - weights * percent / 100;
    snprintf(text, sizeof text, "sparse%d_%s", percent, name);
    add(list, text, p, v, flags);
}

static void sparse_gemm(check_list *list, int64_t m, int64_t k, int64_t n, const variant *v,
                        int percent, int flags) {
    char name[64];
    snprintf(name, sizeof name, "gemm_%lldx%lldx%lld", (long long)m, (long long)k, (long long)n);
    sparse(list, name, hn_conv_q8_of_gemm(m, n, k), v, percent, flags);
}

static void sparse_layer(check_list *list, int64_t k, int64_t s, int64_t c, int64_t n, int64_t size,
                         int percent, int flags) {
    char name[64];
    hn_conv_q8 p = window(1, size, c, n, k, s, k / 2);
    snprintf(name, sizeof name, "conv%lldx%llds%lld_%lld_%lld_%lld", (long long)k, (long long)k,
             (long long)s, (long long)c, (long long)n, (long long)p.oh);
    sparse(list, name, p, &variants[0], percent, flags | BENCH);
}

static void sparse_cases(check_list *list) {
    /* Around every tile (16 to 64 pixels), pass (128 to 256 fours) and shard (256 outputs). */
    static const int64_t sizes[][3] = {{1, 300, 300},  {7, 64, 33},    {16, 512, 17},
                                       {17, 1028, 64}, {33, 1024, 40}, {48, 32, 257},
                                       {63, 516, 29},  {65, 128, 300}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        sparse_gemm(list, sizes[i][0], sizes[i][1], sizes[i][2], &variants[i % 4], 10, 0);
    for (int i = 0; i < N_VARIANTS; i++) {
        sparse(list, "conv3x3", window(2, 9, 20, 70, 3, 1, 1), &variants[i], 10, RESIDUAL);
        sparse(list, "conv1x1s2_slices", window(2, 13, 40, 65, 1, 2, 0), &variants[i], 5,
               IN_PLACE | SLICE);
    }
    sparse(list, "conv3x3_all_padding", window(1, 2, 40, 35, 3, 1, 3), &variants[1], 10, 0);
    sparse(list, "conv1x1_twice", window(1, 7, 80, 90, 1, 1, 0), &variants[1], 20,
           RESIDUAL | TWICE);
    for (int percent = 5; percent <= 50; percent *= 2) {
        sparse_gemm(list, 128, 768, 768, &variants[0], percent, BENCH);
        sparse_gemm(list, 128, 768, 3072, &variants[0], percent, BENCH);
        sparse_gemm(list, 128, 3072, 768, &variants[0], percent, BENCH);
        sparse_layer(list, 1, 1, 256, 64, 56, percent, 0);
        sparse_layer(list, 1, 1, 64, 256, 56, percent, RESIDUAL);
        sparse_layer(list, 1, 1, 512, 128, 28, percent, 0);
        sparse_layer(list, 1, 1, 128, 512, 28, percent, RESIDUAL);
        sparse_layer(list, 1, 1, 1024, 256, 14, percent, 0);
        sparse_layer(list, 1, 1, 256, 1024, 14, percent, RESIDUAL);
        sparse_layer(list, 3, 1, 64, 64, 56, percent, 0);
        sparse_layer(list, 3, 1, 128, 128, 28, percent, 0);
        sparse_layer(list, 3, 1, 256, 256, 14, percent, 0);
        sparse_layer(list, 3, 1, 512, 512, 7, percent, 0);
    }
}

static void cases(check_list *list) {
    sparse_cases(list);
    each_variant(list);
    few_channels(list);
    add(list, "conv10x4s2", tall_window(), &variants[1], RESIDUAL);
    /* Around every tile a row may have, in each direction. */
    static const int64_t sizes[][3] = {
        {1, 1, 1},      {1, 7, 33},    {2, 5, 8},    {3, 64, 31},  {4, 17, 32},  {5, 1, 16},
        {6, 3, 15},     {7, 130, 17},  {8, 31, 48},  {11, 2, 12},  {12, 16, 24}, {13, 9, 64},
        {14, 33, 32},   {15, 4, 63},   {16, 64, 96}, {17, 65, 33}, {31, 63, 16}, {32, 128, 32},
        {33, 127, 65},  {28, 19, 100}, {64, 64, 64}, {85, 53, 13}, {100, 8, 1},  {1, 1031, 77},
        {3, 1300, 130}, {63, 192, 31}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        gemm(list, sizes[i][0], sizes[i][1], sizes[i][2], &variants[i % N_VARIANTS],
             i % 3 == 0 ? RESIDUAL : 0);
    gemm(list, 2, 70001, 9, &variants[1], 0);  /* sums that wrap */
    gemm(list, 20, 70001, 5, &variants[3], 0); /* and in rows for many pixels */
    gemm(list, 5, 0, 33, &variants[1], 0);
    gemm(list, 50, 1, 20, &plain, RESIDUAL);

    static const struct {
        const char *name;
        int64_t batch, size, c, n, k, s, pad;
        int flags;
    } images[] = {
        {"conv3x3_odd", 2, 7, 13, 29, 3, 1, 1, RESIDUAL},
        {"conv3x3_wide", 2, 19, 62, 45, 3, 1, 1, IN_PLACE},
        {"conv3x3_wide_128", 1, 13, 128, 64, 3, 1, 1, 0},
        {"conv3x3_slices", 2, 6, 17, 35, 3, 1, 1, RESIDUAL | SLICE},
        {"conv3x3_slices_64", 2, 6, 64, 65, 3, 1, 1, IN_PLACE | SLICE},
        {"conv3x3_valid", 1, 11, 64, 31, 3, 1, 0, 0},
        {"conv3x3_all_padding", 1, 2, 4, 5, 3, 1, 3, 0},
        {"conv3x3_all_padding_64", 1, 2, 64, 5, 3, 1, 3, 0},
        {"conv3x3_7_pixels", 3, 7, 96, 80, 3, 1, 1, RESIDUAL},
        {"conv3x3s2_64", 1, 15, 64, 40, 3, 2, 1, 0},
        {"conv3x3s2_wide", 1, 30, 70, 66, 3, 2, 1, RESIDUAL},
        {"conv3x3s3", 1, 20, 64, 33, 3, 3, 1, 0},
        {"conv5x5", 1, 11, 8, 24, 5, 1, 2, 0},
        {"conv5x5s2_64", 1, 23, 64, 33, 5, 2, 2, RESIDUAL},
        {"conv7x7s2_stem", 2, 21, 3, 40, 7, 2, 3, 0},
        {"conv3x3s2_stem", 1, 25, 3, 32, 3, 2, 1, SLICE},
        {"conv3x3_joined", 2, 13, 3, 64, 3, 1, 1, RESIDUAL},
        {"conv3x3s2_joined", 1, 14, 4, 50, 3, 2, 1, IN_PLACE},
        {"conv5x5_joined", 1, 12, 2, 65, 5, 1, 2, SLICE},
        {"conv4x4s4_patches", 2, 24, 3, 40, 4, 4, 0, 0},
        {"conv3x3_one_channel", 1, 28, 1, 16, 3, 1, 0, 0},
        {"conv1x1s2", 1, 14, 64, 50, 1, 2, 0, RESIDUAL},
        {"conv1x1s2_wide", 2, 21, 90, 77, 1, 2, 0, SLICE},
        {"conv1x1_batch", 3, 7, 33, 41, 1, 1, 0, IN_PLACE},
        {"conv1x1_batch_64", 3, 7, 192, 64, 1, 1, 0, IN_PLACE},
        {"conv1x1_padded", 1, 5, 64, 20, 1, 1, 2, 0},
        {"conv3x3s2_woven", 2, 24, 3, 32, 3, 2, 1, RESIDUAL},
        {"conv5x5s2_woven", 1, 19, 4, 40, 5, 2, 2, 0},
        {"conv4x4s2_woven", 1, 17, 2, 24, 4, 2, 0, 0},
        {"conv3x3_segments", 2, 53, 3, 20, 3, 1, 1, RESIDUAL},
        {"conv3x3s2_segments", 1, 101, 5, 48, 3, 2, 1, IN_PLACE},
        {"conv3x3_segments_slices", 1, 50, 2, 80, 3, 1, 0, SLICE},
        {"conv5x5_bands", 2, 19, 6, 16, 5, 1, 2, RESIDUAL},
        {"conv3x3_bands", 1, 29, 12, 8, 3, 1, 1, RESIDUAL | SLICE},
        {"conv3x3_many", 1, 12, 20, 200, 3, 1, 1, IN_PLACE},
        {"conv3x3_tiles", 2, 9, 16, 16, 3, 1, 1, RESIDUAL},
        {"conv3x3_one_tile", 1, 6, 33, 9, 3, 1, 0, SLICE},
    };
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        add(list, images[i].name,
            window(images[i].batch, images[i].size, images[i].c, images[i].n, images[i].k,
                   images[i].s, images[i].pad),
            &variants[i % N_VARIANTS], images[i].flags);
    /* So many channels that sums must be taken apart where they are found modulo a power of 2. */
    add(list, "conv3x3_227_channels", window(1, 12, 227, 9, 3, 1, 1), &variants[0], RESIDUAL);
    add(list, "conv3x3_228_channels", window(1, 12, 228, 9, 3, 1, 1), &variants[3], 0);
    add(list, "conv3x3_471_channels", window(1, 12, 471, 33, 3, 1, 1), &variants[3], RESIDUAL);
    /* Winograd's tiles of which one or two outputs are inside, in one direction or both, with such
     * sums, in several blocks, and in images so narrow that there are no others. */
    add(list, "conv3x3_228_channels_short", window(2, 14, 228, 9, 3, 1, 1), &variants[1], RESIDUAL);
    add(list, "conv3x3_short_bands", window(1, 30, 64, 33, 3, 1, 1), &variants[1], IN_PLACE);
    hn_conv_q8 p = window(1, 14, 230, 12, 3, 1, 1);
    p.w = p.ow = 15;
    add(list, "conv3x3_short_in_y", p, &variants[3], RESIDUAL);
    p.w = p.ow = 13, p.h = p.oh = 16;
    add(list, "conv3x3_short_in_x", p, &variants[0], 0);
    p.w = p.ow = 2;
    add(list, "conv3x3_short_alone", p, &variants[1], RESIDUAL);
    p = window(1, 12, 64, 34, 3, 1, 2);
    p.dh = p.dw = 2;
    add(list, "conv3x3_dilated", p, &variants[1], 0);
    p = window(1, 13, 19, 34, 3, 1, 2), p.dh = p.dw = 2;
    add(list, "conv3x3_dilated_few", p, &variants[3], SLICE);
    p = window(1, 20, 64, 34, 3, 2, 3), p.dh = p.dw = 3;
    add(list, "conv3x3s2_dilated", p, &variants[4], 0);
    p = window(1, 9, 64, 12, 3, 1, 1), p.kw = 1, p.ow = p.w, p.pl = 0, p.sh = 2, p.oh = 5;
    add(list, "conv3x1s2x1", p, &variants[2], 0);
    p = window(1, 8, 64, 12, 2, 1, 0), p.oh = 9, p.ow = 10, p.pt = 1;
    add(list, "conv2x2_uneven_padding", p, &variants[6], 0);
    p = window(1, 8, 64, 10, 3, 1, 1), p.pt = p.pl = -1, p.oh = p.ow = 6;
    add(list, "conv3x3_cropped", p, &variants[1], 0);
    p = window(2, 30, 5, 19, 3, 2, 2), p.dh = 2, p.oh = 15;
    add(list, "conv3x3s2_dilated_bands", p, &variants[0], RESIDUAL | TWICE);
    p = window(1, 51, 16, 16, 3, 1, 1), p.h = p.oh = 3;
    add(list, "conv3x3_wide_image", p, &variants[1], RESIDUAL);
    p = window(1, 9, 128, 80, 3, 2, 1), p.groups = 2;
    add(list, "conv3x3s2_groups", p, &variants[3], RESIDUAL);

    static const int64_t depthwise[][5] = {/* channels, size, kernel, stride, padding */
                                           {12, 6, 3, 1, 1},  {1, 9, 3, 1, 1},   {4, 11, 3, 2, 1},
                                           {8, 12, 3, 1, 0},  {15, 28, 3, 1, 1}, {16, 17, 3, 2, 0},
                                           {33, 10, 3, 1, 3}, {7, 7, 5, 1, 2},   {20, 18, 5, 1, 2},
                                           {17, 21, 5, 2, 2}, {40, 8, 7, 1, 3},  {64, 20, 7, 1, 3},
                                           {9, 15, 7, 2, 3},  {5, 9, 1, 1, 0},   {18, 13, 2, 2, 0},
                                           {35, 9, 4, 3, 1},  {3, 2, 3, 1, 2},   {200, 7, 3, 1, 1}};
    for (size_t i = 0; i < sizeof depthwise / sizeof *depthwise; i++) {
        const int64_t *d = depthwise[i];
        char name[64];
        snprintf(name, sizeof name, "depthwise%lldx%llds%lld_%lld_%lld", (long long)d[2],
                 (long long)d[2], (long long)d[3], (long long)d[0], (long long)d[1]);
        p = window(i % 3 == 0 ? 2 : 1, d[1], d[0], d[0], d[2], d[3], d[4]), p.groups = d[0];
        add(list, name, p, &variants[i % N_VARIANTS],
            (i % 3 == 1 ? RESIDUAL : 0) | (i % 5 == 2 ? IN_PLACE : 0) | (i % 4 == 3 ? SLICE : 0));
    }
    p = window(1, 16, 21, 21, 3, 1, 2), p.groups = 21, p.dh = p.dw = 2;
    add(list, "depthwise3x3_dilated", p, &variants[1], 0);
    p = window(1, 12, 70, 70, 7, 1, 3), p.groups = 70, p.kw = 1, p.pl = 0, p.sh = 3, p.oh = 4;
    add(list, "depthwise7x1s3x1", p, &variants[2], SLICE);
    p = window(1, 8, 10, 20, 3, 1, 1), p.groups = 10;
    add(list, "conv3x3_depthwise_twice", p, &variants[0], 0);
    for (int kind = 0; kind < HN_ACT_COUNT_; kind++) {
        char name[64];
        snprintf(name, sizeof name, "activation_%d", kind);
        p = window(1, 7, 20, 37, 1, 1, 0);
        hn_act act = {(hn_act_kind)kind, kind == HN_ACT_CLIP ? -1.0F : 0.3F,
                      kind == HN_ACT_CLIP ? 1.5F : 0.5F};
        p.act = act;
        add(list, name, p, &variants[7], RESIDUAL);
        add(list, name, p, &variants[10], 0);
        p = window(1, 7, 70, 70, 3, 1, 1), p.groups = p.c, p.act = act;
        snprintf(name, sizeof name, "depthwise_activation_%d", kind);
        add(list, name, p, &variants[10], 0);
    }

    const variant *usual = &variants[0], *dynamic = &variants[7];
    gemm(list, 1024, 1024, 1024, usual, BENCH);
    gemm(list, 128, 384, 1536, usual, BENCH);
    gemm(list, 128, 1536, 384, usual, BENCH);
    gemm(list, 128, 768, 768, usual, BENCH);
    gemm(list, 128, 768, 3072, usual, BENCH);
    gemm(list, 128, 3072, 768, usual, BENCH);
    gemm(list, 128, 768, 768, dynamic, BENCH);
    p = hn_conv_q8_of_gemm(128, 1536, 384), p.act.kind = HN_ACT_GELU;
    add(list, "gemm_128x384x1536_gelu", p, dynamic, BENCH);
    gemm(list, 1, 2048, 1000, usual, BENCH);
    gemm(list, 1, 4096, 4096, dynamic, BENCH);
    gemm(list, 4, 2048, 1000, usual, BENCH);
    layer(list, 3, 1, 64, 64, 56, 0);
    layer(list, 3, 1, 128, 128, 28, 0);
    layer(list, 3, 1, 256, 256, 14, 0);
    layer(list, 3, 1, 512, 512, 7, 0);
    layer(list, 3, 2, 128, 128, 56, 0);
    layer(list, 3, 2, 128, 128, 56, SEVEN);
    layer(list, 3, 2, 16, 32, 28, SEVEN);
    layer(list, 1, 1, 256, 1024, 14, SEVEN);
    layer(list, 1, 1, 24, 144, 56, SEVEN);
    layer(list, 3, 1, 1, 16, 28, SEVEN);
    layer(list, 3, 1, 3, 16, 32, SEVEN);
    layer(list, 1, 1, 256, 64, 56, 0);
    layer(list, 1, 1, 64, 64, 56, 0);
    layer(list, 1, 1, 64, 256, 56, RESIDUAL);
    layer(list, 1, 1, 64, 256, 56, RESIDUAL | TWICE);
    layer(list, 1, 1, 1024, 256, 14, 0);
    layer(list, 1, 1, 256, 1024, 14, RESIDUAL);
    layer(list, 1, 1, 2048, 512, 7, 0);
    layer(list, 1, 1, 512, 2048, 7, RESIDUAL);
    layer(list, 1, 2, 256, 512, 56, 0);
    layer(list, 1, 1, 128, 512, 28, 0);
    layer(list, 1, 1, 32, 16, 112, 0);
    layer(list, 1, 1, 16, 96, 112, 0);
    layer(list, 1, 1, 24, 144, 56, 0);
    layer(list, 1, 1, 144, 24, 56, 0);
    layer(list, 1, 1, 96, 576, 14, 0);
    layer(list, 7, 2, 3, 64, 224, 0);
    layer(list, 3, 2, 3, 32, 224, 0);
    layer(list, 3, 1, 32, 32, 112, DEPTHWISE);
    layer(list, 3, 1, 144, 144, 56, DEPTHWISE | SEVEN);
    layer(list, 3, 2, 96, 96, 112, DEPTHWISE | SEVEN);
    layer(list, 3, 1, 16, 16, 160, DEPTHWISE | SEVEN);
    layer(list, 5, 1, 240, 240, 28, DEPTHWISE | SEVEN);
    layer(list, 3, 2, 96, 96, 112, DEPTHWISE);
    layer(list, 3, 1, 144, 144, 56, DEPTHWISE);
    layer(list, 3, 1, 576, 576, 14, DEPTHWISE);
    layer(list, 5, 1, 240, 240, 28, DEPTHWISE);
    layer(list, 3, 1, 8, 8, 48, DEPTHWISE);
    layer(list, 3, 1, 16, 16, 160, DEPTHWISE);
    layer(list, 3, 2, 16, 16, 112, DEPTHWISE);
    layer(list, 3, 2, 72, 72, 56, DEPTHWISE);
    layer(list, 3, 1, 32, 32, 28, DEPTHWISE);
    layer(list, 3, 2, 32, 32, 14, DEPTHWISE);
    layer(list, 3, 2, 32, 32, 14, DEPTHWISE | SEVEN);
    layer(list, 3, 2, 24, 24, 28, DEPTHWISE);
    layer(list, 5, 2, 24, 24, 28, DEPTHWISE);
    layer(list, 3, 1, 1, 16, 28, 0);
    layer(list, 3, 1, 3, 16, 32, 0);
    layer(list, 3, 1, 32, 32, 14, 0);
    layer(list, 3, 1, 16, 16, 32, 0);
    layer(list, 3, 1, 16, 16, 32, RESIDUAL | TWICE);
    layer(list, 3, 2, 16, 32, 32, 0);
    layer(list, 3, 1, 32, 32, 16, 0);
    layer(list, 3, 1, 32, 32, 16, RESIDUAL | TWICE);
    layer(list, 3, 1, 64, 64, 8, 0);
    layer(list, 3, 1, 64, 64, 8, RESIDUAL | TWICE);
    batch_layers(list);
    add(list, "conv10x4s2_1_64_25x5", tall_window(), usual, BENCH);
    gemm(list, 125, 64, 64, usual, BENCH);
    p = window(1, 25, 64, 64, 3, 1, 1), p.w = p.ow = 5, p.groups = 64;
    add(list, "depthwise3x3_64_25x5", p, usual, BENCH);
}

const check_family check_conv_q8 = {
    .family = &hn_conv_q8_family, .precision = "int8", .cases = cases, .fill = fill};
