#include "base/border.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "support/models.h"

/* hone_pass_result is {int64_t fired; double ms}: callers here have one field of it, or three. */
typedef struct shorter {
    int64_t fired;
} shorter;
typedef struct longer {
    int64_t fired;
    double ms;
    int64_t unknown;
} longer;

static hone_layout layout_of(size_t pass_result) {
    hone_layout l = *hone_layout_here();
    l.pass_result = (uint32_t)pass_result;
    return l;
}

static void sizes_that_are_not_told_are_those_of_version_0_1(void **state) {
    (void)state;
    hone_layout l = {.size = sizeof l, .value = 500}, short_one = {.size = 8, .value = 500};
    short_one.difference = 99; /* behind its size */
    assert_int_equal(HN_CALLER(&l, value), 500);
    assert_int_equal(HN_CALLER(&short_one, value), 500);
    size_t first = HN_SIZE_TO(hone_difference, max);
    assert_int_equal(HN_CALLER(&l, difference), first);
    assert_int_equal(HN_CALLER(&short_one, difference), first);
    assert_int_equal(HN_CALLER(NULL, difference), first);
    assert_int_equal(HN_CALLER(hone_layout_here(), span), sizeof(hone_span));
}

static void nothing_is_written_behind_the_callers_struct(void **state) {
    (void)state;
    hone_layout l = layout_of(sizeof(shorter));
    shorter out[2] = {{1}, {2}};
    HN_GIVE(&out[0], &((hone_pass_result){7, 8}), &l, pass_result);
    assert_true(out[0].fired == 7 && out[1].fired == 2);
    shorter three[4] = {{0}, {0}, {0}, {-1}};
    const hone_pass_result own[3] = {{1, 0.5}, {2, 0.5}, {3, 0.5}};
    HN_GIVE_ARRAY(three, own, 3, &l, pass_result);
    assert_true(three[0].fired == 1 && three[2].fired == 3 && three[3].fired == -1);
}

static void what_the_library_does_not_know_becomes_0(void **state) {
    (void)state;
    hone_layout l = layout_of(sizeof(longer));
    longer out[2] = {{1, 1, 1}, {1, 1, 1}};
    HN_GIVE(&out[0], &((hone_pass_result){7, 8}), &l, pass_result);
    assert_true(out[0].fired == 7 && out[0].ms == 8 && out[0].unknown == 0);
    assert_true(out[1].fired == 1 && out[1].unknown == 1);
}

static void unknown_bytes_are_taken_as_0_alone(void **state) {
    (void)state;
    hone_error err;
    hone_layout l = layout_of(sizeof(longer));
    longer given = {7, 8, 0};
    hone_pass_result own = {0};
    ASSERT_OK(HN_TAKE(&own, &given, &l, pass_result, &err), err);
    assert_true(own.fired == 7 && own.ms == 8);
    given.unknown = 1;
    ASSERT_FAILS(HN_TAKE(&own, &given, &l, pass_result, &err), err, HONE_E_ARG,
                 "hone_pass_result: byte 16 is set");
    l = layout_of(sizeof(shorter));
    own = (hone_pass_result){1, 2};
    ASSERT_OK(HN_TAKE(&own, &(shorter){9}, &l, pass_result, &err), err);
    assert_true(own.fired == 9 && own.ms == 2); /* a field that is missing keeps its default */
}

static void options_tell_their_size(void **state) {
    (void)state;
    hone_error err;
    struct {
        hone_save_options o;
        uint64_t more;
    } given;
    hone_save_options own = {.opset = 5};
    hone_save_options_init_sized(&given.o, sizeof given);
    assert_int_equal(given.o.size, sizeof given);
    assert_int_equal(given.more, 0);
    given.o.external_min = 3;
    ASSERT_OK(hn_take_sized(&own, sizeof own, &given, "options", &err), err);
    assert_int_equal(own.external_min, 3);
    given.more = 1;
    ASSERT_FAILS(hn_take_sized(&own, sizeof own, &given, "options", &err), err, HONE_E_ARG,
                 "options: byte 24 is set");
    const uint32_t wrong[] = {0, 3, UINT32_MAX}; /* the struct was never filled */
    for (size_t i = 0; i < 3; i++) {
        given.o.size = wrong[i];
        ASSERT_FAILS(hn_take_sized(&own, sizeof own, &given, "options", &err), err, HONE_E_ARG,
                     "its init function sets it");
    }
    given.o = (hone_save_options){.opset = 9};
    hone_save_options_init_sized(&given.o, sizeof given.o.size); /* the size alone */
    assert_true(given.o.size == 4 && given.o.opset == 9);
    ASSERT_OK(hn_take_sized(&own, sizeof own, NULL, "options", &err), err);
}

static void arrays_go_both_ways(void **state) {
    (void)state;
    hone_error err;
    hn_caller_array t;
    longer given[3] = {{1, 0.5, 0}, {2, 0.5, 0}, {3, 0.5, 0}};
    hone_layout l = layout_of(sizeof(longer));
    ASSERT_OK(HN_TAKE_ARRAY(&t, given, 3, &l, pass_result, &err), err);
    hone_pass_result *own = t.own;
    assert_true(own[1].fired == 2 && own[2].fired == 3);
    own[1].fired = 20;
    hn_caller_array_give(&t, given);
    hn_caller_array_deinit(&t);
    assert_true(given[1].fired == 20 && given[2].fired == 3 && given[2].ms == 0.5);
    given[2].unknown = 1;
    size_t blocks = atomic_load(&hn_allocator_default()->blocks);
    ASSERT_FAILS(HN_TAKE_ARRAY(&t, given, 3, &l, pass_result, &err), err, HONE_E_ARG, "byte 16");
    assert_int_equal(atomic_load(&hn_allocator_default()->blocks), blocks);

    hone_pass_result same[2] = {{1, 1}, {2, 2}};
    ASSERT_OK(HN_TAKE_ARRAY(&t, same, 2, hone_layout_here(), pass_result, &err), err);
    assert_ptr_equal(t.own, same); /* nothing is copied where the sizes agree */
    hn_caller_array_deinit(&t);
    shorter *shown = hn_show_array(same, 2, sizeof *same, sizeof *shown);
    assert_true(shown[0].fired == 1 && shown[1].fired == 2);
    hn_shown_free(shown, same);
}

static const hn_list lists[] = {HN_LIST(inspection, ops, n_ops, op_use),
                                HN_LIST(inspection, dims, n_dims, dim_value)};

static void results_are_copied_only_where_sizes_differ(void **state) {
    (void)state;
    hone_dim_value dims[2] = {{"a", 1}, {"b", 2}};
    hone_inspection own = {.size = sizeof own, .n_dims = 2, .dims = dims, .macs = 5};
    hone_layout l = *hone_layout_here();
    assert_ptr_equal(HN_SHOW(&own, lists, &l, inspection), &own);
    l.inspection -= 8; /* shorter: its reader looks at less of the same */
    assert_ptr_equal(HN_SHOW(&own, lists, &l, inspection), &own);
    l.op_use += 8; /* an empty list has any form */
    assert_ptr_equal(HN_SHOW(&own, lists, &l, inspection), &own);

    size_t blocks = atomic_load(&hn_allocator_default()->blocks);
    l.dim_value = sizeof(hone_dim_value) + 8;
    l.inspection = sizeof own + 16;
    char *shown = HN_SHOW(&own, lists, &l, inspection);
    hone_inspection *copy = (hone_inspection *)shown;
    assert_true(copy != &own && copy->macs == 5 && copy->size == sizeof own);
    assert_int_equal(shown[sizeof own] | shown[sizeof own + 15], 0);
    const char *second = (const char *)copy->dims + l.dim_value;
    assert_string_equal(((const hone_dim_value *)second)->name, "b");
    assert_int_equal(((const hone_dim_value *)second)->value, 2);
    hn_shown_free(shown, &own);
    assert_int_equal(atomic_load(&hn_allocator_default()->blocks), blocks);
}

static void memory_that_cannot_be_had_is_told(void **state) {
    (void)state;
    hone_error err;
    hn_caller_array t;
    hone_dim_value dims[2] = {{"a", 1}, {"b", 2}};
    hone_inspection own = {.size = sizeof own, .n_dims = 2, .dims = dims};
    hone_layout l = *hone_layout_here();
    l.dim_value += 8;
    hn_allocator *a = hn_allocator_default();
    atomic_store(&a->fail_after, 0);
    void *shown = HN_SHOW(&own, lists, &l, inspection);
    hone_status status = HN_TAKE_ARRAY(&t, dims, 1, &l, dim_value, &err);
    atomic_store(&a->fail_after, -1);
    assert_null(shown);
    assert_int_equal(status, HONE_E_NOMEM);
    own.n_dims = SIZE_MAX / 2;
    assert_null(HN_SHOW(&own, lists, &l, inspection));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_are_not_told_are_those_of_version_0_1),
        cmocka_unit_test(nothing_is_written_behind_the_callers_struct),
        cmocka_unit_test(what_the_library_does_not_know_becomes_0),
        cmocka_unit_test(unknown_bytes_are_taken_as_0_alone),
        cmocka_unit_test(options_tell_their_size),
        cmocka_unit_test(arrays_go_both_ways),
        cmocka_unit_test(results_are_copied_only_where_sizes_differ),
        cmocka_unit_test(memory_that_cannot_be_had_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
