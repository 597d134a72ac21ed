#include "kernels/map_f32/map_f32.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static hn_map_f32 problem(int rank, const int64_t *dims) {
    hn_map_f32 p = {.rank = rank, .n_in = 2, .n_out = 1};
    memcpy(p.dims, dims, (size_t)rank * sizeof *dims);
    p.out[0] = (uint8_t)hn_map_emit(&p, HN_MAP_SUB, 0, 1, 0, 0, 0);
    return p;
}

static void dense(const hn_map_f32 *p, int64_t *stride) {
    int64_t next = 1;
    for (int i = p->rank - 1; i >= 0; i--) stride[i] = next, next *= p->dims[i];
}

static void expect(const hn_map_f32 *p, int rank, const int64_t *dims) {
    assert_int_equal(p->rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(p->dims[i], dims[i]);
}

static void run(const hn_map_f32 *p, float *a, float *b, float *y) {
    void *ptr[HN_MAP_OPERANDS_] = {a, b};
    ptr[HN_MAP_OUT] = y;
    const hn_kernel *k = hn_map_f32_family.rows[hn_map_f32_family.n_rows - 1];
    hn_work w;
    k->work(p, 1, &w);
    hn_call call = {.problem = p, .work = &w, .ptr = ptr};
    hn_kernel_run(k, &call, NULL);
}

/* The collapsed problem has the expected axes and computes the same. */
static void check(hn_map_f32 p, int rank, const int64_t *dims) {
    float a[256], b[256], y[256] = {0}, z[256] = {0};
    for (int i = 0; i < 256; i++) a[i] = (float)(i * i % 251), b[i] = (float)(i * 7 % 101);
    run(&p, a, b, y);
    hn_map_collapse(&p);
    expect(&p, rank, dims);
    run(&p, a, b, z);
    assert_memory_equal(y, z, sizeof y);
}

static void collapse_dense(void **state) {
    (void)state;
    hn_map_f32 p = problem(4, (int64_t[]){2, 3, 1, 5});
    dense(&p, p.in_stride[0]), dense(&p, p.in_stride[1]), dense(&p, p.out_stride[0]);
    check(p, 1, (int64_t[]){30});
}

static void collapse_channels(void **state) {
    (void)state;
    hn_map_f32 p = problem(4, (int64_t[]){2, 3, 4, 5});
    dense(&p, p.in_stride[0]), dense(&p, p.out_stride[0]);
    p.in_stride[1][3] = 1;
    check(p, 2, (int64_t[]){24, 5});
    p.in_stride[1][3] = 0, p.in_stride[1][1] = 1; /* one per axis 1: nothing to its left joins it */
    check(p, 3, (int64_t[]){2, 3, 20});
}

static void collapse_orders(void **state) {
    (void)state;
    /* The output's smallest stride is that of the first axis. */
    hn_map_f32 p = problem(3, (int64_t[]){4, 5, 6});
    dense(&p, p.in_stride[0]), dense(&p, p.in_stride[1]);
    p.out_stride[0][0] = 1, p.out_stride[0][1] = 4, p.out_stride[0][2] = 20;
    check(p, 3, (int64_t[]){6, 5, 4});
    memcpy(p.in_stride[0], p.out_stride[0], sizeof p.in_stride[0]);
    memcpy(p.in_stride[1], p.out_stride[0], sizeof p.in_stride[1]);
    check(p, 1, (int64_t[]){120});
}

static void collapse_single(void **state) {
    (void)state;
    hn_map_f32 p = problem(2, (int64_t[]){1, 1});
    check(p, 1, (int64_t[]){1});
    p.rank = 0;
    check(p, 1, (int64_t[]){1});
}

static void emit_until_full(void **state) {
    (void)state;
    hn_map_f32 p = {0};
    for (int i = 0; i < HN_MAP_MAX_CODE; i++)
        assert_int_equal(hn_map_emit(&p, HN_MAP_ADD, 0, 1, 0, 0, 0), HN_MAP_CODE + i);
    assert_int_equal(hn_map_emit(&p, HN_MAP_ADD, 0, 1, 0, 0, 0), -1);
    assert_int_equal(hn_map_arity(HN_MAP_SELECT), 3);
    assert_int_equal(hn_map_arity(HN_MAP_ACT_MISH), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collapse_dense),  cmocka_unit_test(collapse_channels),
        cmocka_unit_test(collapse_orders), cmocka_unit_test(collapse_single),
        cmocka_unit_test(emit_until_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
