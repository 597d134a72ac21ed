/* Every pair of shapes against the plain index arithmetic, from every start. */
#include "ops/broadcast.h"

#include "support/op_test.h"

#define MOST 4096

static hn_tensor *counting(hone_dtype t, int rank, const int64_t *dims) {
    hn_tensor *x;
    hn_error err;
    assert_int_equal(
        hn_tensor_create(&x, hn_allocator_default(), HN_MEM_OTHER, t, rank, dims, &err), HONE_OK);
    if (x->bytes > 0) memset(x->data, 0, x->bytes);
    for (int64_t i = 0; i < x->n; i++) hn_store_s64(t, x->data, i, i);
    return x;
}

/* The element of x that belongs to element i of dims. */
static int64_t source(const hn_tensor *x, int rank, const int64_t *dims, int64_t i) {
    int64_t at = 0, step = 1;
    for (int k = 1; k <= rank; k++) {
        int64_t coord = i % dims[rank - k];
        i /= dims[rank - k];
        if (k > x->rank) continue;
        if (x->dims[x->rank - k] > 1) at += coord * step;
        step *= x->dims[x->rank - k];
    }
    return at;
}

static void check(hone_dtype t, int x_rank, const int64_t *x_dims, int rank, const int64_t *dims) {
    hn_tensor *x = counting(t, x_rank, x_dims);
    hn_broadcast b;
    hn_broadcast_init(&b, x, rank, dims);
    static double f[MOST];
    static int64_t s[MOST];
    static unsigned char raw[MOST * 16];
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    for (int64_t from = 0; from < n; from += 1 + from / 7) {
        int64_t count = n - from;
        hn_broadcast_f64(&b, from, count, f);
        hn_broadcast_s64(&b, from, count, s);
        hn_broadcast_raw(&b, from, count, raw);
        for (int64_t i = 0; i < count; i++) {
            int64_t want = hn_tensor_s64(x, source(x, rank, dims, from + i));
            assert_int_equal(s[i], want);
            assert_true(f[i] == (double)want);
            assert_int_equal(hn_load_s64(t, raw, i), want);
        }
    }
    hn_tensor_unref(x);
}

/* Each axis of a 3 x 1 x 4 x 2 output is repeated or not, and leading axes may be missing. */
static void gathers(void **state) {
    (void)state;
    const int64_t dims[] = {3, 1, 4, 2};
    for (int rank = 0; rank <= 4; rank++) {
        for (int repeated = 0; repeated < 1 << rank; repeated++) {
            int64_t x_dims[4];
            for (int k = 0; k < rank; k++) x_dims[k] = repeated >> k & 1 ? 1 : dims[4 - rank + k];
            check(HONE_DTYPE_F32, rank, x_dims, 4, dims);
            check(HONE_DTYPE_U4, rank, x_dims, 4, dims);
            check(HONE_DTYPE_S64, rank, x_dims, 4, dims);
        }
    }
    check(HONE_DTYPE_U8, 0, NULL, 0, NULL);
}

/* Sizes whose product overflows are fine when another one is 0. */
static void empty(void **state) {
    (void)state;
    const int64_t dims[] = {0, INT64_C(1) << 40, INT64_C(1) << 40};
    hn_tensor *x = counting(HONE_DTYPE_F32, 3, dims);
    hn_broadcast b;
    hn_broadcast_init(&b, x, 3, dims);
    double f = 7;
    hn_broadcast_f64(&b, 0, 0, &f);
    assert_true(f == 7);
    hn_tensor_unref(x);
    OP_RUN("Add", .in = {"f32[0, 1099511627776, 1099511627776]{}", "f32[1]{1}"},
           .out = {"f32[0, 1099511627776, 1099511627776]{}"});
}

static void count_block(void *ctx, int64_t from, int64_t n) {
    int *seen = ctx;
    assert_true(n > 0 && n <= HN_BLOCK);
    for (int64_t i = from; i < from + n; i++) seen[i]++;
}

static void blocks_cover_everything_once(void **state) {
    (void)state;
    static int seen[3 * HN_BLOCK + 2];
    const int64_t sizes[] = {0, 1, HN_BLOCK - 1, HN_BLOCK, HN_BLOCK + 1, 3 * HN_BLOCK};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        memset(seen, 0, sizeof seen);
        hn_for_blocks(NULL, sizes[k], count_block, seen);
        for (int64_t i = 0; i < 3 * HN_BLOCK + 2; i++) assert_int_equal(seen[i], i < sizes[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers),
        cmocka_unit_test(empty),
        cmocka_unit_test(blocks_cover_everything_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
