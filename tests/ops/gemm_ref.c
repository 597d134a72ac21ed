/* Products of several blocks each way against the plain three loops, bit for bit. */
#include "ops/gemm_ref.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static hn_tensor *random_tensor(hone_dtype t, int64_t rows, int64_t cols, uint64_t seed) {
    hn_tensor *x;
    assert_int_equal(hn_tensor_create(&x, hn_allocator_default(), HN_MEM_TENSOR, t, 2,
                                      (int64_t[]){rows, cols}, NULL),
                     HONE_OK);
    hn_rng rng;
    hn_rng_init(&rng, seed);
    for (int64_t i = 0; i < x->n; i++) {
        if (hn_dtype_is_float(t))
            hn_store_f64(t, x->data, i, hn_rng_f64(&rng) - 0.5);
        else
            hn_store_s64(t, x->data, i, (int64_t)hn_rng_u64(&rng));
    }
    return x;
}

typedef struct problem {
    int64_t m, n, k;
    hone_dtype dtype, out_dtype;
    bool trans_a, trans_b, zeros;
} problem;

static void plain(const problem *p, const hn_tensor *a, const hn_tensor *b, const int64_t *za,
                  const int64_t *zb, hn_tensor *y) {
    static double fa[513 * 300], fb[513 * 300];
    static int64_t sa[513 * 300], sb[513 * 300];
    bool floating = hn_dtype_is_float(p->dtype);
    hn_load_f64_n(a->dtype, a->data, 0, a->n, fa);
    hn_load_f64_n(b->dtype, b->data, 0, b->n, fb);
    hn_load_s64_n(a->dtype, a->data, 0, a->n, sa);
    hn_load_s64_n(b->dtype, b->data, 0, b->n, sb);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double f = 0;
            uint64_t s = 0;
            for (int64_t k = 0; k < p->k; k++) {
                int64_t ia = p->trans_a ? k * p->m + i : i * p->k + k;
                int64_t ib = p->trans_b ? j * p->k + k : k * p->n + j;
                f += fa[ia] * fb[ib];
                s += (uint64_t)(sa[ia] - (p->zeros ? za[i] : 0)) *
                     (uint64_t)(sb[ib] - (p->zeros ? zb[j] : 0));
            }
            if (floating)
                hn_store_f64(y->dtype, y->data, i * p->n + j, f);
            else
                hn_store_s64(y->dtype, y->data, i * p->n + j, (int64_t)s);
        }
}

static void product(const problem *p, const hn_tensor *a, const hn_tensor *b, const int64_t *za,
                    const int64_t *zb, int threads, hn_tensor *y) {
    hn_strided_matrix sa = {.t = a,
                            .row_stride = p->trans_a ? 1 : p->k,
                            .col_stride = p->trans_a ? p->m : 1,
                            .zero = p->zeros ? za : NULL,
                            .zero_row = 1};
    hn_strided_matrix sb = {.t = b,
                            .row_stride = p->trans_b ? 1 : p->n,
                            .col_stride = p->trans_b ? p->k : 1,
                            .zero = p->zeros ? zb : NULL,
                            .zero_col = 1};
    hn_dense_out out = {y, p->m, p->n};
    bool integer = !hn_dtype_is_float(p->dtype);
    hn_gemm g = {.n_batch = 1,
                 .m = p->m,
                 .n = p->n,
                 .k = p->k,
                 .integer = integer,
                 .a = integer ? hn_matrix_s64(&sa) : hn_matrix_f64(&sa),
                 .b = integer ? hn_matrix_s64(&sb) : hn_matrix_f64(&sb),
                 .store = integer ? hn_store_dense_s64 : hn_store_dense_f64,
                 .out = &out};
    hn_arena scratch;
    hn_arena_init(&scratch, hn_allocator_default(), HN_MEM_SCRATCH);
    hn_pool *pool;
    assert_int_equal(hn_pool_create(&pool, threads, hn_allocator_default(), NULL), HONE_OK);
    hn_eval e = {.alloc = hn_allocator_default(), .pool = pool, .scratch = &scratch};
    assert_int_equal(hn_gemm_ref(&e, &g, NULL), HONE_OK);
    hn_pool_destroy(pool);
    hn_arena_deinit(&scratch);
}

static void check(const problem *p) {
    hn_tensor *a = random_tensor(p->dtype, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, 1);
    hn_tensor *b = random_tensor(p->dtype, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, 2);
    hn_tensor *want = random_tensor(p->out_dtype, p->m, p->n, 3);
    hn_tensor *got = random_tensor(p->out_dtype, p->m, p->n, 4);
    int64_t zeros[600];
    for (int i = 0; i < 600; i++) zeros[i] = i % 256 - 128;
    plain(p, a, b, zeros, zeros + 7, want);
    for (int threads = 1; threads <= 3; threads += 2) {
        memset(got->data, 0xee, got->bytes);
        product(p, a, b, zeros, zeros + 7, threads, got);
        assert_true(hn_tensor_equal(want, got));
    }
    hn_tensor_unref(a);
    hn_tensor_unref(b);
    hn_tensor_unref(want);
    hn_tensor_unref(got);
}

/* Sizes around the panel width (4) and beyond the blocks (128 rows, 256 columns, 256 deep). */
static void floats(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},   {4, 4, 4},     {5, 3, 7},      {3, 9, 0},
                                       {127, 8, 3}, {129, 257, 2}, {130, 300, 513}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int t = 0; t < 4; t++)
            check(&(problem){.m = sizes[i][0],
                             .n = sizes[i][1],
                             .k = sizes[i][2],
                             .dtype = HONE_DTYPE_F32,
                             .out_dtype = HONE_DTYPE_F64,
                             .trans_a = (t & 1) != 0,
                             .trans_b = (t & 2) != 0});
}

static void integers(void **state) {
    (void)state;
    static const hone_dtype types[] = {HONE_DTYPE_S8, HONE_DTYPE_U8, HONE_DTYPE_S32,
                                       HONE_DTYPE_U64};
    for (int t = 0; t < 4; t++)
        for (int trans = 0; trans < 4; trans++)
            check(&(problem){.m = 131,
                             .n = 259,
                             .k = 270,
                             .dtype = types[t],
                             .out_dtype = t < 3 ? HONE_DTYPE_S32 : HONE_DTYPE_U64,
                             .zeros = t < 2,
                             .trans_a = (trans & 1) != 0,
                             .trans_b = (trans & 2) != 0});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats),
        cmocka_unit_test(integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
