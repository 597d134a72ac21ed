/* Blocks follow the caches of the machine; results do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/conv_planes_f32/conv_planes_f32.h"
#include "kernels/pool_planes_f32/pool_planes_f32.h"

static const hn_near_caches large = {48 << 10, 2 << 20}, small = {32 << 10, 1 << 20};

enum { MOST_OPERANDS = 8 };

/* A problem with its operands, all floats; the last is the result. */
typedef struct sample {
    const hn_family *family;
    const void *problem;
    int n_operands;
    size_t floats[MOST_OPERANDS]; /* 0: absent */
} sample;

static float *numbers(size_t n) {
    float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = (float)((i * 2654435761U >> 8) % 1000) * 0.013F - 6;
    return x;
}

static void *room(size_t bytes) {
    void *p = aligned_alloc(64, (bytes / 64 + 1) * 64);
    assert_non_null(p);
    return p;
}

/* Computes the sample with these caches; the result is the caller's to free. */
static float *run(const sample *s, hn_near_caches caches, hn_work *w) {
    void *ptr[MOST_OPERANDS] = {NULL};
    const hn_kernel *k = hn_kernel_choose(s->family, (hn_allowed){.isa = hn_isa_available()},
                                          s->problem, NULL, NULL);
    hn_near_caches_set(caches);
    for (int i = 0; i < s->n_operands; i++)
        if (s->floats[i] > 0) ptr[i] = numbers(s->floats[i]);
    if (k->pack != NULL) {
        void *packed = room(k->packed_bytes(s->problem));
        hn_stored plain = hn_stored_plain(ptr[s->family->weights]);
        k->pack(s->problem, &plain, 0, hn_pack_tasks(k, s->problem), packed);
        free(ptr[s->family->weights]);
        ptr[s->family->weights] = packed;
    }
    k->work(s->problem, 1, w);
    void *scratch = room(w->scratch), *lane = room(w->lane_scratch);
    hn_kernel_run(k, &(hn_call){.problem = s->problem, .work = w, .ptr = ptr, .scratch = scratch},
                  lane);
    for (int i = 0; i + 1 < s->n_operands; i++) free(ptr[i]);
    free(scratch);
    free(lane);
    return ptr[s->n_operands - 1];
}

/* Whether blocks are others with smaller caches; the results must not be. */
static bool changes(const sample *s) {
    hn_work a, b;
    float *y = run(s, large, &a), *z = run(s, small, &b);
    assert_memory_equal(y, z, s->floats[s->n_operands - 1] * sizeof *y);
    free(y);
    free(z);
    return a.tasks[0] != b.tasks[0] || a.lane_scratch != b.lane_scratch;
}

static hn_windows image(int64_t c, int64_t n, int64_t size) {
    return (hn_windows){.batch = 1,
                        .h = size,
                        .w = size,
                        .c = c,
                        .oh = size,
                        .ow = size,
                        .n = n,
                        .kh = 3,
                        .kw = 3,
                        .sh = 1,
                        .sw = 1,
                        .dh = 1,
                        .dw = 1,
                        .pt = 1,
                        .pl = 1,
                        .pb = 1,
                        .pr = 1,
                        .groups = 1,
                        .x_image = size * size * c,
                        .x_row = size * c,
                        .x_pixel = c,
                        .x_channel = 1,
                        .y_image = size * size * n,
                        .y_row = size * n,
                        .y_pixel = n,
                        .r_image = size * size * n,
                        .r_row = size * n,
                        .r_pixel = n};
}

static void bands_of_a_pool_follow_l1(void **state) {
    (void)state;
    const hn_pool_planes_f32 p = {.kind = HN_POOL_F32_MAX,
                                  .planes = 2,
                                  .h = 64,
                                  .w = 64,
                                  .oh = 64,
                                  .ow = 64,
                                  .kh = 3,
                                  .kw = 3,
                                  .sh = 1,
                                  .sw = 1,
                                  .dh = 1,
                                  .dw = 1,
                                  .pt = 1,
                                  .pl = 1,
                                  .pb = 1,
                                  .pr = 1,
                                  .x_plane = 4096,
                                  .x_row = 64,
                                  .y_plane = 4096,
                                  .y_row = 64};
    size_t floats = 2 * 4096;
    assert_true(changes(&(sample){&hn_pool_planes_f32_family, &p, 2, {floats, floats}}));
}

static void patches_of_planes_follow_l2(void **state) {
    (void)state;
    hn_conv_planes_f32 p = {.windows = image(64, 8, 96), .w_o = 576, .w_i = 9, .w_y = 3, .w_x = 1};
    p.x_channel = p.y_channel = 96 * 96, p.x_row = p.y_row = 96, p.x_pixel = p.y_pixel = 1;
    size_t plane = 96 * 96;
    assert_true(changes(&(sample){&hn_conv_planes_f32_family,
                                  &p,
                                  HN_CONV_OPERANDS_,
                                  {64 * plane, 8 * 576, 8, 0, 8 * plane}}));
}

/* Which row serves depends on the CPU, and not all of them cut by caches. */
static void convolutions_compute_the_same(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{64, 64, 40}, {256, 96, 14}, {3, 24, 96}, {40, 9, 50}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t c = sizes[i][0], n = sizes[i][1], pixels = sizes[i][2] * sizes[i][2];
        const hn_conv_f32 p = {
            .windows = image(c, n, sizes[i][2]), .w_o = c * 9, .w_i = 9, .w_y = 3, .w_x = 1};
        changes(&(sample){
            &hn_conv_f32_family,
            &p,
            HN_CONV_OPERANDS_,
            {(size_t)(c * pixels), (size_t)(n * c * 9), (size_t)n, 0, (size_t)(n * pixels)}});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands_of_a_pool_follow_l1),
        cmocka_unit_test(patches_of_planes_follow_l2),
        cmocka_unit_test(convolutions_compute_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
