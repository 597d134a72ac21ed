#include "advise/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "advise/candidates.h"

static void devices_have_what_the_guides_say(void **state) {
    (void)state;
    const hn_target *d, *before = NULL;
    for (int i = 0; (d = hn_target_at(i)) != NULL; before = d, i++) {
        assert_ptr_equal(hn_target_named(d->name), d);
        assert_non_null(hn_remedy_at(d->name, 0));
        assert_non_null(hn_trouble_of(d->name));
        assert_true(before == NULL || strcmp(before->name, d->name) < 0);
    }
    assert_string_equal(hn_target_named("cpu")->precision, "bf16");
    assert_int_equal(hn_target_named("embedded_mcu")->bits, 4);
    assert_null(hn_target_named("toaster"));
}

static void remedies_come_in_order(void **state) {
    (void)state;
    char text[256], little[12];
    assert_string_equal(hn_remedy_at("cpu", 0)->name, "threads");
    assert_int_equal(hn_remedy_at("cpu", 0)->by, HN_BY_ENGINE);
    assert_null(hn_remedy_at("cpu", 1000));
    assert_null(hn_remedy_named("cpu", "graph capture"));
    assert_string_equal(hn_remedies_text("embedded_mcu", text, sizeof text),
                        "measure on the device, smaller architecture, int4, prune and distil");
    hn_remedies_text("cpu", little, sizeof little);
    assert_int_equal(strlen(little), sizeof little - 1);
}

/* The gentlest first, and each a remedy of the CPU that a search may apply. */
static void candidates_follow_the_tree(void **state) {
    (void)state;
    const hn_candidate *c;
    int n = 0;
    for (; (c = hn_candidate_at(n)) != NULL; n++) {
        const hn_remedy *r = hn_remedy_named("cpu", c->remedy);
        assert_non_null(r);
        assert_int_equal(r->by, HN_BY_SEARCH);
        assert_int_equal(c->exact, n == 0);
        for (int k = 0; k < n; k++) assert_string_not_equal(hn_candidate_at(k)->name, c->name);
    }
    assert_true(n >= 5);
    assert_string_equal(hn_candidate_at(0)->name, "simplified");
    hn_recipe r;
    hn_compress_plan p;
    hn_arena arena;
    hn_arena_init(&arena, hn_allocator_default(), HN_MEM_OTHER);
    for (int i = 0; i < n; i++)
        assert_int_equal(hn_candidate_recipe(hn_candidate_at(i), 7, &arena, &r, &p, NULL), HONE_OK);
    assert_int_equal(hn_candidate_recipe(hn_candidate_at(3), 7, &arena, &r, &p, NULL), HONE_OK);
    assert_string_equal(r.name, "int8");
    assert_int_equal(p.scheme.layer.kind, HN_LAYER_STATIC);
    assert_int_equal(r.seed, 7);
    assert_true(hn_compress_needs_data(&p, &r));
    hn_arena_deinit(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_have_what_the_guides_say),
        cmocka_unit_test(remedies_come_in_order),
        cmocka_unit_test(candidates_follow_the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
