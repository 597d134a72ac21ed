/* Cases of resize_f32: values of a pixel around every vector length, one to many taps, pixels that
 * lie apart, outputs without taps; layers of real models for timing. */
#include "kernels/resize_f32/resize_f32.h"

#include <string.h>

#include "check.h"

typedef enum kind {
    NEAREST, /* one tap, mostly of weight 1 */
    LINEAR,  /* two */
    CUBIC,   /* four */
    MANY,    /* seven */
    UNEVEN,  /* none to three */
} kind;

static int64_t taps_of(kind k, int64_t o) {
    static const int64_t taps[] = {1, 2, 4, 7};
    return k == UNEVEN ? o % 4 : taps[k];
}

static int64_t total(kind k, int64_t out) {
    int64_t n = 0;
    for (int64_t o = 0; o < out; o++) n += taps_of(k, o);
    return n;
}

enum { GAPS = 1, BENCH = 2 };

/* The kind is the first letter of the case's name; `fill` makes the tables from it. */
static void add(check_list *list, const char *name, kind k, const int64_t *images, int64_t h,
                int64_t w, int64_t c, int64_t oh, int64_t ow, int flags) {
    int64_t gap = flags & GAPS ? 3 : 0;
    hn_resize_f32 p = {.images = {images[0], images[1], images[2]},
                       .h = h,
                       .w = w,
                       .c = c,
                       .oh = oh,
                       .ow = ow,
                       .x_pixel = c + gap,
                       .y_pixel = c + 2 * gap,
                       .outside = 2.5f};
    p.x_row = w * p.x_pixel + gap, p.y_row = ow * p.y_pixel + gap;
    int64_t x = h * p.x_row, y = oh * p.y_row;
    for (int i = HN_RESIZE_AXES - 1; i >= 0; i--) {
        p.x_image[i] = x, p.y_image[i] = y;
        x *= images[i], y *= images[i];
    }
    check_case *q =
        check_add(list, "%c_%s_%lldx%lldx%lld_%lldx%lld", "nlcmu"[k], name, (long long)h,
                  (long long)w, (long long)c, (long long)oh, (long long)ow);
    memcpy(q->problem, &p, sizeof p);
    check_operand_add(q, CHECK_IN, CHECK_F32, x);
    check_operand_add(q, CHECK_IN, CHECK_I32, oh + 1 + total(k, oh));
    check_operand_add(q, CHECK_IN, CHECK_F32, total(k, oh));
    check_operand_add(q, CHECK_IN, CHECK_I32, ow + 1 + total(k, ow));
    check_operand_add(q, CHECK_IN, CHECK_F32, total(k, ow));
    check_operand_add(q, CHECK_OUT, CHECK_F32, y);
    q->rel = 12;
    q->bench = (flags & BENCH) != 0;
    q->bytes = 4.0 * (double)(images[0] * images[1] * images[2] * c * (h * w + oh * ow));
}

static void cases(check_list *list) {
    static const int64_t c[] = {1, 3, 4, 7, 8, 16, 19, 40};
    static const int64_t one[] = {1, 1, 1}, many[] = {2, 1, 3};
    for (int k = NEAREST; k <= UNEVEN; k++)
        for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
            add(list, "up", (kind)k, i % 2 == 0 ? one : many, 5, 6, c[i], 11, 12, 0);
            add(list, "apart", (kind)k, i % 2 == 0 ? many : one, 7, 3, c[i], 4, 9, GAPS);
        }
    add(list, "flat", LINEAR, many, 1, 500, 1, 1, 1001, 0);
    for (int k = NEAREST; k <= LINEAR; k++)
        add(list, "far", (kind)k, many, 3, 400, 1, 2, 45, 0); /* taps further apart than vectors */
    add(list, "tasks", NEAREST, one, 40, 40, 30, 80, 80, 0);
    add(list, "tasks", LINEAR, many, 40, 40, 30, 80, 80, 0);
    add(list, "yunet", NEAREST, one, 20, 20, 64, 40, 40, BENCH);
    add(list, "nanodet", LINEAR, one, 26, 26, 96, 52, 52, BENCH);
    add(list, "photo", LINEAR, (int64_t[]){1, 1, 3}, 480, 640, 1, 224, 224, BENCH);
    add(list, "photo", CUBIC, (int64_t[]){1, 1, 3}, 480, 640, 1, 224, 224, BENCH);
}

static bool fill(const check_case *c, int operand, check_data data, hn_rng *rng, void *to) {
    hn_resize_f32 p;
    memcpy(&p, c->problem, sizeof p);
    kind k = (kind)(strchr("nlcmu", c->name[0]) - "nlcmu");
    bool row = operand <= HN_RESIZE_ROW_WEIGHT;
    int64_t in = row ? p.h : p.w, out = row ? p.oh : p.ow, n = 0;
    (void)data;
    if (operand == HN_RESIZE_ROW_WEIGHT || operand == HN_RESIZE_COLUMN_WEIGHT) {
        for (int64_t i = 0; i < total(k, out); i++) {
            double weight = hn_rng_f64(rng) + 0.01;
            ((float *)to)[i] = k == NEAREST && weight < 0.8 ? 1 : (float)weight;
        }
        return true;
    }
    if (operand != HN_RESIZE_ROWS && operand != HN_RESIZE_COLUMNS) return false;
    int32_t *first = to, *index = first + out + 1;
    int64_t shift = (int64_t)hn_rng_below(rng, (uint64_t)in);
    for (int64_t o = 0; o < out; o++) {
        first[o] = (int32_t)n;
        for (int64_t t = 0; t < taps_of(k, o); t++)
            index[n++] = (int32_t)((o * in / out + shift + t) % in);
    }
    first[out] = (int32_t)n;
    return true;
}

/* The reference over absolute values is the magnitude already. */
static void magnitude(void *problem) { (void)problem; }

const check_family check_resize_f32 = {
    .family = &hn_resize_f32_family, .cases = cases, .fill = fill, .magnitude = magnitude};
