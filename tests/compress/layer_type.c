#include "compress/layer_type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static hn_error err;

static hn_layer_scheme changed(const char *name, hn_layer_changes c) {
    hn_layer_scheme l = hn_layer_type_named(name)->layer;
    if (hn_layer_change(&l, &c, &err) != HONE_OK) fail_msg("%s", err.text);
    return l;
}

static void refused(const char *name, hn_layer_changes c, const char *why) {
    hn_layer_scheme l = hn_layer_type_named(name)->layer;
    assert_int_equal(hn_layer_change(&l, &c, &err), HONE_E_ARG);
    if (strstr(err.text, why) == NULL) fail_msg("'%s' does not say '%s'", err.text, why);
}

static void rows_are_found_by_name(void **state) {
    (void)state;
    const hn_layer_type *t;
    for (int i = 0; i < hn_layer_type_count(); i++)
        assert_ptr_equal(hn_layer_type_named(hn_layer_type_at(i)->name), hn_layer_type_at(i));
    assert_int_equal(hn_layer_type_find(&t, "int4", &err), HONE_OK);
    assert_int_equal(t->layer.weights.bits, 4);
    assert_int_equal(t->layer.weights.group, 64);
    assert_int_equal(hn_layer_type_find(&t, "int5", &err), HONE_E_ARG);
    assert_string_equal(err.text,
                        "type 'int5', expected one of: f32, bf16, f16, int8-weights, "
                        "int8-dynamic, int8, int4, int4-dynamic, w8a8, w4a8, w4a4, w2a8");
}

static void nothing_changes_unasked(void **state) {
    (void)state;
    for (int i = 0; i < hn_layer_type_count(); i++) {
        const hn_layer_scheme *was = &hn_layer_type_at(i)->layer;
        hn_layer_scheme is = changed(hn_layer_type_at(i)->name, hn_layer_changes_none());
        assert_int_equal(is.weights.dtype, was->weights.dtype);
        assert_int_equal(is.weights.bits, was->weights.bits);
        assert_int_equal(is.weights.group, was->weights.group);
        assert_int_equal(is.weights.symmetric, was->weights.symmetric);
        assert_int_equal(is.weights.per_channel, was->weights.per_channel);
        assert_int_equal(is.activations.dtype, was->activations.dtype);
        assert_int_equal(is.activations.symmetric, was->activations.symmetric);
    }
}

static void types_can_be_changed(void **state) {
    (void)state;
    hn_layer_scheme l = changed(
        "int8",
        (hn_layer_changes){.weights = HONE_DTYPE_U8, .activations = HONE_DTYPE_S16, .group = -1});
    assert_int_equal(l.weights.dtype, HONE_DTYPE_U8);
    assert_false(l.weights.symmetric);
    assert_int_equal(l.activations.bits, 16);
    l = changed("int8", (hn_layer_changes){.symmetric = true, .per_tensor = true, .group = -1});
    assert_true(l.activations.symmetric);
    assert_false(l.weights.per_channel);
    l = changed("int4", (hn_layer_changes){.bits = 3, .group = 32});
    assert_int_equal(l.weights.dtype, HONE_DTYPE_S4);
    assert_int_equal(l.weights.bits, 3);
    assert_int_equal(l.weights.group, 32);
    assert_int_equal(changed("int8-weights", (hn_layer_changes){.bits = 1}).weights.dtype,
                     HONE_DTYPE_S2);
    assert_int_equal(changed("int8-weights", (hn_layer_changes){.bits = 12}).weights.dtype,
                     HONE_DTYPE_S16);
    l = changed("int8", (hn_layer_changes){.activation_bits = 6});
    assert_int_equal(l.activations.dtype, HONE_DTYPE_U8);
    assert_int_equal(l.activations.bits, 6);
    l = changed("int8", (hn_layer_changes){.activation_bits = 9});
    assert_int_equal(l.activations.dtype, HONE_DTYPE_U16);
    assert_int_equal(l.activations.bits, 9);
    l = changed("int8", (hn_layer_changes){.reduce_range = true, .group = -1});
    assert_int_equal(l.weights.dtype, HONE_DTYPE_S8);
    assert_int_equal(l.weights.bits, 7);
    assert_true(l.weights.reduced && !hn_qtype_is_narrow(&l.weights));
    assert_int_equal(hn_qtype_whole(l.weights).bits, 8);
    l = changed("int8-dynamic", (hn_layer_changes){.reduce_range = true, .group = -1});
    assert_true(l.weights.reduced);
    /* What has no such thing is not changed. */
    l = changed("int8-weights", (hn_layer_changes){.reduce_range = true, .group = -1});
    assert_int_equal(l.weights.bits, 8);
    l = changed("w4a8", (hn_layer_changes){.reduce_range = true, .group = -1});
    assert_int_equal(l.weights.bits, 4);
    assert_false(l.weights.reduced);
    l = changed("f16", (hn_layer_changes){.bits = 4, .activations = HONE_DTYPE_U8});
    assert_int_equal(l.weights.dtype, HONE_DTYPE_NONE);
    assert_int_equal(l.activations.dtype, HONE_DTYPE_NONE);
    l = changed("int8-dynamic", (hn_layer_changes){.group = 128});
    assert_int_equal(l.weights.group, 128);
    l = changed("int8-dynamic", (hn_layer_changes){.activations = HONE_DTYPE_S8, .group = -1});
    assert_int_equal(l.activations.dtype, HONE_DTYPE_U8);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    refused("int8", (hn_layer_changes){.weights = HONE_DTYPE_F32}, "weights in f32");
    refused("int8", (hn_layer_changes){.activations = HONE_DTYPE_S4}, "activations in s4");
    refused("int8", (hn_layer_changes){.bits = 17}, "17 bits, expected 1 to 16");
    refused("int8", (hn_layer_changes){.bits = 5, .weights = HONE_DTYPE_S4}, "do not fit into s4");
    refused("int8", (hn_layer_changes){.weights = HONE_DTYPE_U8, .reduce_range = true},
            "reduced range in u8, expected s8");
    refused("int8", (hn_layer_changes){.activation_bits = 1}, "1 bits, expected 2 to 16");
    refused("int8", (hn_layer_changes){.activation_bits = 9, .activations = HONE_DTYPE_S8},
            "do not fit into s8");
    refused("int8-dynamic", (hn_layer_changes){.bits = 4}, "weights of 4 bits with activations");
    refused("int4-dynamic", (hn_layer_changes){.bits = 2, .group = 32},
            "weights of 2 bits in groups with activations");
    refused("int4-dynamic", (hn_layer_changes){.group = 48}, "groups of 48 with activations");
    refused("int4-dynamic", (hn_layer_changes){.group = 8}, "groups of 8 with activations");
    refused("int4", (hn_layer_changes){.per_tensor = true, .group = 32}, "exclude each other");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_by_name),
        cmocka_unit_test(nothing_changes_unasked),
        cmocka_unit_test(types_can_be_changed),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
