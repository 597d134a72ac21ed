#include "ir/dims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static hn_dims t;
static hn_dim n, h, w;

static int setup(void **state) {
    (void)state;
    hn_dims_init(&t, hn_allocator_default());
    n = hn_dim_symbol(&t, "n");
    h = hn_dim_symbol(&t, "h");
    w = hn_dim_symbol(&t, "w");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    hn_dims_deinit(&t);
    return atomic_load(&hn_allocator_default()->blocks) != 0;
}

static hn_dim c(int64_t v) { return hn_dim_const(&t, v); }

#define TEXT(d, want)                                           \
    do {                                                        \
        char buf_[200];                                         \
        assert_string_equal(hn_dim_text((d), buf_, 200), want); \
    } while (0)

static void equality_is_identity(void **state) {
    (void)state;
    assert_ptr_equal(hn_dim_symbol(&t, "n"), n);
    assert_ptr_not_equal(n, h);
    assert_ptr_equal(hn_dim_add(&t, n, h), hn_dim_add(&t, h, n));
    assert_ptr_equal(hn_dim_mul(&t, n, hn_dim_add(&t, h, w)),
                     hn_dim_add(&t, hn_dim_mul(&t, w, n), hn_dim_mul(&t, n, h)));
    assert_ptr_equal(hn_dim_sub(&t, hn_dim_add(&t, n, h), h), n);
    assert_ptr_equal(hn_dim_mulc(&t, n, 0), c(0));
    assert_ptr_equal(hn_dim_mul(&t, hn_dim_addc(&t, n, 1), hn_dim_addc(&t, n, -1)),
                     hn_dim_addc(&t, hn_dim_mul(&t, n, n), -1));
}

static void division(void **state) {
    (void)state;
    assert_ptr_equal(hn_dim_div(&t, c(7), c(2)), c(3));
    assert_ptr_equal(hn_dim_div(&t, c(-7), c(2)), c(-4));
    assert_ptr_equal(hn_dim_div_ceil(&t, c(7), c(2)), c(4));
    assert_ptr_equal(hn_dim_div(&t, hn_dim_mulc(&t, n, 6), c(3)), hn_dim_mulc(&t, n, 2));
    assert_ptr_equal(hn_dim_div(&t, hn_dim_addc(&t, hn_dim_mulc(&t, n, 4), 7), c(4)),
                     hn_dim_addc(&t, n, 1));
    /* A reshape's -1: what is left when known factors go. */
    hn_dim all = hn_dim_mulc(&t, hn_dim_mul(&t, n, h), 384);
    assert_ptr_equal(hn_dim_div(&t, all, hn_dim_mulc(&t, n, 12)), hn_dim_mulc(&t, h, 32));
    assert_ptr_equal(hn_dim_div(&t, all, all), c(1));
    /* Two halvings are one quartering. */
    assert_ptr_equal(hn_dim_div(&t, hn_dim_div(&t, h, c(2)), c(2)), hn_dim_div(&t, h, c(4)));
    TEXT(hn_dim_div_ceil(&t, h, c(2)), "floor((h + 1)/2)");
    TEXT(hn_dim_div(&t, hn_dim_mul(&t, h, w), n), "floor(h*w/n)");
    assert_true(hn_dim_is_fresh(hn_dim_div(&t, h, c(0))));
}

static void bounds(void **state) {
    (void)state;
    int64_t lo, hi;
    hn_dim few = hn_dim_fresh(&t, 10);
    const char *name;
    assert_true(hn_dim_is_symbol(few, &name));
    assert_ptr_not_equal(hn_dim_symbol(&t, name), few);
    hn_dim_range(hn_dim_addc(&t, hn_dim_mulc(&t, few, 3), -2), &lo, &hi);
    assert_int_equal(lo, -2);
    assert_int_equal(hi, 28);
    hn_dim_range(n, &lo, &hi);
    assert_int_equal(lo, 0);
    assert_true(hi == INT64_MAX);
    assert_ptr_equal(hn_dim_min(&t, few, c(10)), few);
    assert_ptr_equal(hn_dim_max(&t, n, c(0)), n);
    assert_ptr_equal(hn_dim_max(&t, n, hn_dim_addc(&t, n, 2)), hn_dim_addc(&t, n, 2));
    assert_ptr_equal(hn_dim_min(&t, n, c(INT64_MAX / 4)), n); /* "to the end" */
    TEXT(hn_dim_min(&t, n, h), "min(n, h)");
    assert_ptr_equal(hn_dim_min(&t, n, h), hn_dim_min(&t, h, n));
    assert_ptr_equal(hn_dim_max(&t, n, hn_dim_min(&t, n, h)), n);
    assert_ptr_equal(hn_dim_min(&t, hn_dim_max(&t, h, n), n), n);
    assert_ptr_equal(hn_dim_max(&t, hn_dim_max(&t, h, n), n), hn_dim_max(&t, n, h));
    assert_ptr_equal(hn_dim_min(&t, h, hn_dim_min(&t, n, h)), hn_dim_min(&t, n, h));
    assert_ptr_equal(hn_dim_div(&t, few, c(11)), c(0));
}

static int64_t value(void *ctx, hn_dim s) {
    (void)ctx;
    return s == n ? 5 : s == h ? 7 : -1;
}

static void evaluation_and_substitution(void **state) {
    (void)state;
    int64_t v;
    hn_dim d = hn_dim_max(&t, hn_dim_div(&t, hn_dim_mul(&t, n, h), c(2)), hn_dim_addc(&t, h, 3));
    assert_true(hn_dim_eval(d, value, NULL, &v));
    assert_int_equal(v, 17);
    assert_false(hn_dim_eval(hn_dim_add(&t, d, w), value, NULL, &v));
    assert_ptr_equal(hn_dim_subst(&t, hn_dim_subst(&t, d, n, c(5)), h, c(7)), c(17));
    assert_ptr_equal(hn_dim_subst(&t, d, w, c(1)), d);
}

static void trouble_is_remembered(void **state) {
    (void)state;
    hn_dim big = hn_dim_mulc(&t, n, INT64_C(1) << 61);
    hn_dim_mulc(&t, big, 8);
    assert_int_equal(t.status, HONE_E_SHAPE);
    t.status = HONE_OK;
    hn_dim_const(&t, HN_DIM_MAX);
    assert_int_equal(t.status, HONE_OK);
    hn_dim_const(&t, HN_DIM_MAX + 1);
    assert_int_equal(t.status, HONE_E_SHAPE);
    t.status = HONE_OK;
    hn_dim_add(&t, c(HN_DIM_MAX), c(1));
    assert_int_equal(t.status, HONE_E_SHAPE);
    t.status = HONE_OK;
    /* Expressions stay small whatever is asked for. */
    hn_dim sum = c(1);
    for (int i = 0; i < 100; i++)
        sum = hn_dim_mul(&t, hn_dim_add(&t, sum, hn_dim_fresh(&t, -1)), n);
    char text[4000];
    assert_true(strlen(hn_dim_text(sum, text, sizeof text)) < 2000);
    assert_int_equal(t.status, HONE_OK);
}

static void broadcasting(void **state) {
    (void)state;
    hn_shape a = {.rank = 3, .dim = {n, c(1), w}}, b = {.rank = 2, .dim = {h, c(1)}}, out;
    assert_true(hn_shape_broadcast(&t, &a, &b, &out));
    assert_int_equal(out.rank, 3);
    assert_ptr_equal(out.dim[0], n);
    assert_ptr_equal(out.dim[1], h);
    assert_ptr_equal(out.dim[2], w);
    b.dim[1] = c(4);
    assert_true(hn_shape_broadcast(&t, &a, &b, &out));
    assert_ptr_equal(out.dim[2], c(4)); /* w is 4 or 1 */
    hn_dim both, again;
    assert_true(hn_dim_broadcast(&t, n, h, &both));
    TEXT(both, "join(n, h)");
    assert_true(hn_dim_broadcast(&t, h, both, &again));
    assert_ptr_equal(again, both);
    assert_ptr_equal(hn_dim_subst(&t, both, n, c(1)), h);
    assert_ptr_equal(hn_dim_subst(&t, hn_dim_subst(&t, both, n, c(0)), h, c(1)), c(0));
    int64_t v;
    assert_false(hn_dim_eval(both, value, NULL, &v)); /* 5 and 7 do not broadcast */
    a.dim[2] = c(3);
    assert_false(hn_shape_broadcast(&t, &a, &b, &out));
    hn_shape unknown = hn_shape_unknown();
    assert_true(hn_shape_broadcast(&t, &a, &unknown, &out));
    assert_int_equal(out.rank, -1);
    char text[100];
    assert_string_equal(hn_shape_text(&a, text, sizeof text), "[n, 1, 3]");
    assert_string_equal(hn_shape_text(&unknown, text, sizeof text), "[?]");
    assert_string_equal(hn_shape_text(&a, text, 5), "[n, ");
}

/* Parts are shared: 60 steps make an expression that would take 2^60 visits to walk over. */
static hn_dim doubled_often(int64_t start) {
    hn_dim d = hn_dim_addc(&t, n, start);
    for (int i = 0; i < 60; i++) d = hn_dim_max(&t, hn_dim_div(&t, d, h), hn_dim_div(&t, d, w));
    return d;
}

static void large_expressions_become_symbols(void **state) {
    (void)state;
    char text[4000];
    int64_t v;
    hn_dim d = doubled_often(3);
    assert_true(strlen(hn_dim_text(d, text, sizeof text)) < sizeof text - 1);
    hn_dim_eval(d, value, NULL, &v);
    assert_ptr_equal(doubled_often(3), d);
    assert_ptr_not_equal(doubled_often(4), d);
    assert_int_equal(t.status, HONE_OK);

    /* A sum of many quotients, which may be negative: its symbol must not be taken for a size. */
    hn_dim sum = hn_dim_mulc(&t, n, -1);
    for (int i = 1; i <= 20; i++)
        for (int k = 0; k < 10; k++)
            sum = hn_dim_max(&t, hn_dim_addc(&t, hn_dim_div(&t, sum, hn_dim_addc(&t, h, i)), -1),
                             hn_dim_mulc(&t, w, -i));
    assert_ptr_not_equal(hn_dim_max(&t, sum, c(0)), sum);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    bool done = false;
    for (int k = 0; k < 200 && !done; k++) {
        hn_allocator alloc;
        hn_allocator_init(&alloc);
        atomic_store(&alloc.fail_after, k);
        hn_dims d;
        hn_dims_init(&d, &alloc);
        hn_dim x = hn_dim_symbol(&d, "x");
        for (int i = 0; i < 300; i++)
            x = hn_dim_addc(&d, hn_dim_div(&d, hn_dim_addc(&d, x, i), hn_dim_const(&d, 3)), i);
        done = d.status == HONE_OK;
        if (!done) assert_int_equal(d.status, HONE_E_NOMEM);
        hn_dims_deinit(&d);
        assert_int_equal(atomic_load(&alloc.blocks), 0);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equality_is_identity, setup, teardown),
        cmocka_unit_test_setup_teardown(division, setup, teardown),
        cmocka_unit_test_setup_teardown(bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(evaluation_and_substitution, setup, teardown),
        cmocka_unit_test_setup_teardown(trouble_is_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(broadcasting, setup, teardown),
        cmocka_unit_test_setup_teardown(large_expressions_become_symbols, setup, teardown),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
