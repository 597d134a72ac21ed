#include "engine/memory.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/rng.h"

static bool meet(const hn_piece *a, const hn_piece *b) {
    return a->bytes > 0 && b->bytes > 0 && a->first <= a->last && b->first <= b->last &&
           a->first <= b->last && b->first <= a->last;
}

/* No two that are alive at once overlap; all lie within the total; the total is at least what is
 * alive at once. */
static void check(const hn_piece *p, int n, int steps, size_t total) {
    for (int i = 0; i < n; i++) {
        assert_int_equal(p[i].offset % HN_ALIGN, 0);
        assert_true(p[i].bytes == 0 || p[i].first > p[i].last || p[i].offset + p[i].bytes <= total);
        for (int k = 0; k < i; k++)
            if (meet(&p[i], &p[k]))
                assert_true(p[i].offset + p[i].bytes <= p[k].offset ||
                            p[k].offset + p[k].bytes <= p[i].offset);
    }
    for (int s = 0; s < steps; s++) {
        size_t alive = 0;
        for (int i = 0; i < n; i++)
            if (p[i].first <= s && s <= p[i].last)
                alive += (p[i].bytes + HN_ALIGN - 1) / HN_ALIGN * HN_ALIGN;
        assert_true(alive <= total);
    }
}

static void a_chain_takes_two_buffers(void **state) {
    (void)state;
    hn_piece p[10];
    size_t total;
    for (int i = 0; i < 10; i++) p[i] = (hn_piece){.bytes = 1000, .first = i, .last = i + 1};
    assert_int_equal(hn_memory_plan(p, 10, true, hn_allocator_default(), &total, NULL), HONE_OK);
    check(p, 10, 11, total);
    assert_int_equal(total, 2 * 1024);
    assert_int_equal(hn_memory_plan(p, 10, false, hn_allocator_default(), &total, NULL), HONE_OK);
    assert_int_equal(total, 10 * 1024);
}

static void random_lives(void **state) {
    (void)state;
    hn_rng rng;
    hn_rng_init(&rng, 1);
    for (int round = 0; round < 300; round++) {
        hn_piece p[40], again[40];
        int n = (int)hn_rng_below(&rng, 41);
        size_t total, total2, sum = 0;
        for (int i = 0; i < n; i++) {
            int first = (int)hn_rng_below(&rng, 20);
            p[i] = (hn_piece){.bytes = (size_t)hn_rng_below(&rng, 5000),
                              .first = first,
                              .last = first + (int)hn_rng_below(&rng, 8) - 1};
            again[i] = p[i];
            sum += p[i].bytes + HN_ALIGN;
        }
        assert_int_equal(hn_memory_plan(p, n, true, hn_allocator_default(), &total, NULL), HONE_OK);
        check(p, n, 30, total);
        assert_true(total <= sum);
        assert_int_equal(hn_memory_plan(again, n, true, hn_allocator_default(), &total2, NULL),
                         HONE_OK);
        assert_int_equal(total, total2);
        for (int i = 0; i < n; i++) assert_int_equal(p[i].offset, again[i].offset);
    }
}

static void too_large(void **state) {
    (void)state;
    hn_piece p[2] = {{.bytes = SIZE_MAX - 100, .last = 1}, {.bytes = 1000, .last = 1}};
    size_t total;
    hn_error e;
    assert_int_equal(hn_memory_plan(p, 2, true, hn_allocator_default(), &total, &e), HONE_E_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_takes_two_buffers),
        cmocka_unit_test(random_lives),
        cmocka_unit_test(too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
