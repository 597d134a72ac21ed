#include "kernels/copy/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void run(const hn_kernel *k, const hn_copy *p, uint16_t *src, uint16_t *dst) {
    hn_work w;
    k->work(p, 1, &w);
    hn_call call = {.problem = p, .work = &w, .ptr = (void *[]){src, dst}};
    hn_kernel_run(k, &call, NULL);
}

/* Three axes by every row of the table, against three loops; and the axes that are left of them. */
static void check(const int64_t *dims, const int64_t *src, const int64_t *dst, int rank,
                  const int64_t *left) {
    uint16_t from[512], want[512] = {0};
    for (int i = 0; i < 512; i++) from[i] = (uint16_t)(i + 1);
    for (int64_t i = 0; i < dims[0]; i++)
        for (int64_t j = 0; j < dims[1]; j++)
            for (int64_t k = 0; k < dims[2]; k++)
                want[i * dst[0] + j * dst[1] + k * dst[2]] =
                    from[256 + i * src[0] + j * src[1] + k * src[2]];
    hn_copy p;
    hn_copy_init(&p, sizeof *from, 3, dims, src, dst);
    assert_int_equal(p.rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(p.dims[i], left[i]);
    for (int r = 0; r < hn_copy_family.n_rows; r++) {
        const hn_kernel *k = hn_copy_family.rows[r];
        uint16_t got[512] = {0};
        if ((k->isa & hn_isa_available()) != k->isa) continue;
        run(k, &p, from + 256, got);
        assert_memory_equal(got, want, sizeof got);
    }
}

#define S(...) ((const int64_t[]){__VA_ARGS__})

static void merged(void **state) {
    (void)state;
    check(S(3, 4, 5), S(20, 5, 1), S(20, 5, 1), 1, S(60));
    check(S(3, 1, 5), S(5, 99, 1), S(5, 77, 1), 1, S(15));
    /* Channels last, written in the order of the source. */
    check(S(3, 4, 5), S(20, 5, 1), S(1, 15, 3), 2, S(20, 3));
    check(S(3, 4, 5), S(20, 5, 1), S(30, 7, 1), 3, S(3, 4, 5));
    check(S(1, 1, 1), S(0, 0, 0), S(0, 0, 0), 0, NULL);
}

static void reversed(void **state) {
    (void)state;
    check(S(3, 4, 5), S(-20, 5, 1), S(20, 5, 1), 2, S(3, 20));
    check(S(3, 4, 5), S(-20, -5, -1), S(20, 5, 1), 1, S(60));
    check(S(3, 4, 5), S(20, -5, 1), S(1, 15, 3), 3, S(4, 5, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(merged), cmocka_unit_test(reversed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
