/* Cases of resize_f64: every type, values of a pixel around every vector length, one to many taps,
 * pixels that lie apart, outputs without taps. */
#include "kernels/resize_f64/resize_f64.h"

#include "resize.h"

static void add(check_list *list, hn_resize_type type, resize_kind k, const int64_t *images,
                int64_t h, int64_t w, int64_t c, int64_t oh, int64_t ow, int flags) {
    static const char *const names[] = {
#define HN_X(name, type) [HN_RESIZE_##name] = #name,
        HN_RESIZE_TYPE_LIST(HN_X)
#undef HN_X
    };
    check_case *q = resize_add(list, names[type], k, type, images, h, w, c, oh, ow, flags);
    q->exact = true;
}

static void cases(check_list *list) {
    static const int64_t c[] = {1, 3, 19};
    static const int64_t one[] = {1, 1, 1, 1}, many[] = {2, 1, 1, 2};
    for (int type = HN_RESIZE_F64; type <= HN_RESIZE_S32; type++)
        for (int k = NEAREST; k <= UNEVEN; k++)
            for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
                add(list, (hn_resize_type)type, (resize_kind)k, i % 2 == 0 ? one : many, 5, 26,
                    c[i], 11, 37, 0);
                add(list, (hn_resize_type)type, (resize_kind)k, i % 2 == 0 ? many : one, 7, 3, c[i],
                    4, 9, GAPS);
            }
    add(list, HN_RESIZE_U8, LINEAR, many, 20, 40, 30, 40, 80, 0);
    add(list, HN_RESIZE_U8, LINEAR, (int64_t[]){1, 1, 1, 3}, 480, 640, 1, 224, 224, BENCH);
    add(list, HN_RESIZE_U8, LINEAR, one, 480, 640, 3, 224, 224, BENCH);
}

/* Integers that take all of 16 bits, so that sums of s32 saturate seldom and all others often. */
static bool fill(const check_case *c, int operand, check_data data, hn_rng *rng, void *to) {
    (void)data;
    if (resize_fill(c, operand, rng, to)) return true;
    const check_operand *o = &c->operand[operand];
    if (o->type == CHECK_F64) return false;
    for (size_t i = 0; i < o->count; i++) {
        uint64_t word = hn_rng_u64(rng);
        if (o->type == CHECK_U8) ((uint8_t *)to)[i] = (uint8_t)word;
        if (o->type == CHECK_U16) ((uint16_t *)to)[i] = (uint16_t)word;
        if (o->type == CHECK_I32) ((int32_t *)to)[i] = (int32_t)word;
    }
    return true;
}

const check_family check_resize_f64 = {
    .family = &hn_resize_f64_family, .cases = cases, .fill = fill};
