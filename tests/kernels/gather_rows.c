#include "kernels/gather_rows/gather_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Nothing to take from: zeros, and the flag, from every row. */
static void empty_axis(void **state) {
    (void)state;
    hn_gather_rows p = {.outer = 2, .count = 3, .bytes = 4, .y_outer = 12, .y_count = 4};
    for (int i = 0; i < hn_gather_rows_family.n_rows; i++) {
        const hn_kernel *k = hn_gather_rows_family.rows[i];
        int32_t index[3] = {0, -1, 5}, y[6], outside = 0;
        memset(y, 1, sizeof y);
        hn_work w;
        k->work(&p, 1, &w);
        hn_call call = {.problem = &p, .work = &w, .ptr = (void *[]){NULL, index, y, &outside}};
        hn_kernel_run(k, &call, NULL);
        for (int j = 0; j < 6; j++) assert_int_equal(y[j], 0);
        assert_int_equal(outside, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(empty_axis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
