/* The model that comes with hone does what models/README.md says. */
/* label: full */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"

static void three_hundred_digits(void **state) {
    (void)state;
    hone_error err;
    hone_model *m;
    hone_session *s;
    hone_dataset *d;
    hone_eval_result r;
    ASSERT_OK(hone_model_load(&m, DIGITS, NULL, &err), err);
    ASSERT_OK(hone_session_create(&s, m, NULL, &err), err);
    ASSERT_OK(hone_dataset_open(&d, "synthetic:digits,n=300", &err), err);
    ASSERT_OK(hone_session_eval(s, d, NULL, &r, &err), err);
    assert_int_equal(r.samples, 300);
    assert_true(r.top1 > 294); /* 98 % */
    assert_int_equal(r.top5, 300);
    hone_dataset_destroy(d);
    hone_session_destroy(s);
    hone_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(three_hundred_digits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
