#include "kernels/copy/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void run(const hn_copy *p, uint16_t *src, uint16_t *dst) {
    const hn_kernel *k = hn_copy_family.rows[hn_copy_family.n_rows - 1];
    hn_work w;
    k->work(p, 1, &w);
    hn_call call = {p, &w, (void *[]){src, dst}, NULL};
    hn_kernel_run(k, &call, NULL);
}

/* The collapsed problem has the expected axes and copies the same. */
static void check(hn_copy p, int rank, const int64_t *dims) {
    uint16_t src[512], y[512] = {0}, z[512] = {0};
    for (int i = 0; i < 512; i++) src[i] = (uint16_t)(i + 1);
    p.elem = 2;
    run(&p, src, y);
    hn_copy_collapse(&p);
    assert_int_equal(p.rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(p.dims[i], dims[i]);
    run(&p, src, z);
    assert_memory_equal(y, z, sizeof y);
}

static void collapse(void **state) {
    (void)state;
    check((hn_copy){.rank = 4,
                    .dims = {2, 3, 1, 5},
                    .src_stride = {15, 5, 99, 1},
                    .dst_stride = {15, 5, 77, 1}},
          1, (int64_t[]){30});
    /* NCHW to NHWC, written in the order of the source. */
    check((hn_copy){.rank = 4,
                    .dims = {2, 3, 4, 5},
                    .src_stride = {60, 20, 5, 1},
                    .dst_stride = {60, 1, 15, 3}},
          3, (int64_t[]){2, 20, 3});
    /* A reversed axis stays by itself. */
    check((hn_copy){.rank = 2,
                    .dims = {3, 5},
                    .src_offset = 10,
                    .src_stride = {-5, 1},
                    .dst_offset = 7,
                    .dst_stride = {5, 1}},
          2, (int64_t[]){3, 5});
    check((hn_copy){.rank = 3, .dims = {1, 1, 1}, .src_offset = 3, .dst_offset = 4}, 1,
          (int64_t[]){1});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(collapse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
