#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/calibration.h"
#include "support/scratch.h"

static const hn_qtype u8 = {.dtype = HONE_DTYPE_U8, .bits = 8};

static hn_calibration *table(const char *text) {
    hn_error err;
    hn_calibration *c = NULL;
    if (hn_calibration_read(&c, scratch_put_text("t", text), &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return c;
}

static void has(const hn_calibration *c, const char *name, double min, double max) {
    hn_range r;
    assert_true(hn_calibration_range(c, name, &u8, &r));
    assert_true(r.min == min && r.max == max);
}

static void a_line_edited_by_hand_holds(void **state) {
    (void)state;
    hn_calibration *c = table(
        "hone-calibration/1\r\n"
        "samples 12\nmethod entropy\n stable 10 # so far\n"
        "\n# all of them\n"
        "-1 1   -0.5   0.75 a\r\n"
        "\t0 0 0 0 \"\" # without a name\n"
        "1e3 1e4 -0x10 1e30 layer/b:0");
    assert_int_equal(hn_calibration_samples(c), 12);
    assert_int_equal(hn_calibration_stable_after(c), 10);
    assert_null(hn_calibration_verdict(c));
    has(c, "a", -0.5, 0.75);
    has(c, "", 0, 0);
    has(c, "layer/b:0", -16, (double)1e30f);
    hn_calibration_destroy(c);
}

/* Every byte that a name may have, and what might be taken for something else. */
static void any_name_survives(void **state) {
    (void)state;
    hn_error err;
    hn_calibration *c, *again;
    hn_observer *o;
    char names[260][8];
    assert_int_equal(hn_calibration_create(&c, 260, &scratch_mem, &err), HONE_OK);
    for (int i = 1; i < 256; i++) snprintf(names[i], sizeof names[i], "a%cb", i);
    strcpy(names[0], "");
    strcpy(names[256], "#1");
    strcpy(names[257], "\\x41");
    strcpy(names[258], "samples");
    strcpy(names[259], "\"");
    for (int i = 0; i < 260; i++) {
        assert_int_equal(hn_calibration_add(c, names[i], &o, &err), HONE_OK);
        o->stands = true;
        o->range = (hn_range){-(double)(float)(i / 3.0), (double)(float)(i / 7.0)};
        o->extremes = (hn_extremes){-1000, 1000, true};
    }
    c->samples = 77;
    c->stable_after = 33;
    c->method = HN_RANGE_MSE;
    const char *path = scratch_path("t");
    for (int round = 0; round < 2; round++) {
        assert_int_equal(hn_calibration_write(c, &u8, path, &err), HONE_OK);
        assert_int_equal(hn_calibration_read(&again, path, &scratch_mem, &err), HONE_OK);
        assert_int_equal(again->n, 260);
        for (int i = 0; i < 260; i++)
            has(again, names[i], -(double)(float)(i / 3.0), (double)(float)(i / 7.0));
        assert_int_equal(again->samples, 77);
        assert_int_equal(again->stable_after, 33);
        assert_int_equal(again->method, HN_RANGE_MSE);
        assert_int_equal(scratch_count(), 1);
        hn_calibration_destroy(c);
        c = again;
    }
    hn_calibration_destroy(c);
}

static void what_is_wrong_is_said_with_its_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "t: not a calibration table: its first line is not 'hone-calibration/1'"},
        {"hone-calibration/2\n", "not a calibration table"},
        {"hone-calibration/1\n\n1 2 1 2\n", "t:3: the name of the value is missing"},
        {"hone-calibration/1\n1 2 1\n", "t:2: high is missing"},
        {"hone-calibration/1\n1 2 1 x y\n", "t:2: high: 'x' is no finite number"},
        {"hone-calibration/1\n1 2 nan 1 y\n", "t:2: low: 'nan' is no finite number"},
        {"hone-calibration/1\n1 2 -inf 1 y\n", "t:2: low: '-inf' is no finite number"},
        {"hone-calibration/1\n1 2 1 1e99 y\n", "t:2: high: '1e99' is no finite number"},
        {"hone-calibration/1\n1 2 2 1 y\n", "t:2: low is more than high"},
        {"hone-calibration/1\n2 1 1 2 y\n", "t:2: least is more than greatest"},
        {"hone-calibration/1\n1 2 1 2 y z\n", "t:2: there is more behind the end of the line"},
        {"hone-calibration/1\n1 2 1 2 y\n1 2 1 2 \"y\"\n", "t:3: value 'y' is there twice"},
        {"hone-calibration/1\n1 2 1 2 \"y\n", "t:2: a name has no closing quote"},
        {"hone-calibration/1\n1 2 1 2 \"\\", "t:2: a name has '\\' before something else"},
        {"hone-calibration/1\n1 2 1 2 \"\\x4", "t:2: a name has '\\' before something else"},
        {"hone-calibration/1\n1 2 1 2 \"\\x00\"\n", "t:2: a name has '\\' before something else"},
        {"hone-calibration/1\nmethod kl\n", "t:2: method: wanted minmax, average, percentile"},
        {"hone-calibration/1\nsamples 1.5\n", "t:2: samples: wanted a whole number of samples"},
        {"hone-calibration/1\nsamples -1\n", "t:2: samples: wanted a whole number of samples"},
        {"hone-calibration/1\nstable 1e16\n", "t:2: stable: wanted a whole number of samples"},
        {"hone-calibration/1\nstable nan\n", "t:2: stable: wanted a whole number of samples"},
        {"hone-calibration/1\nnonsense\n", "t:2: least: 'nonsense' is no finite number"},
    };
    hn_error err;
    hn_calibration *c = NULL;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const char *path = scratch_put_text("t", wrong[k].text);
        assert_int_not_equal(hn_calibration_read(&c, path, &scratch_mem, &err), HONE_OK);
        if (strstr(err.text, wrong[k].says) == NULL)
            fail_msg("'%s' does not say '%s'", err.text, wrong[k].says);
    }
    static const char zero[] = "hone-calibration/1\n1 2 1 2 y\0\n";
    assert_int_equal(
        hn_calibration_read(&c, scratch_put("t", zero, sizeof zero - 1), &scratch_mem, &err),
        HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "t:2: a byte is 0"));
    static char longest[5000];
    memset(longest, 'a', sizeof longest - 1);
    memcpy(longest, "hone-calibration/1\n1 2 1 2 ", 27);
    assert_int_equal(hn_calibration_read(&c, scratch_put_text("t", longest), &scratch_mem, &err),
                     HONE_E_FORMAT);
    longest[27] = '"';
    assert_int_equal(hn_calibration_read(&c, scratch_put_text("t", longest), &scratch_mem, &err),
                     HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "t:2: a name is longer than 4095 bytes"));
    assert_null(c);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const char *path = scratch_put_text("t", "hone-calibration/1\n0 1 0 1 a\n0 1 0 1 b\n");
    hn_error err;
    bool done = false;
    for (int n = 0; !done; n++) {
        hn_calibration *c = NULL;
        atomic_store(&scratch_mem.fail_after, n);
        hone_status status = hn_calibration_read(&c, path, &scratch_mem, &err);
        if (status == HONE_OK) status = hn_calibration_write(c, &u8, path, &err);
        atomic_store(&scratch_mem.fail_after, -1);
        done = status == HONE_OK;
        if (!done) assert_int_equal(status, HONE_E_NOMEM);
        hn_calibration_destroy(c);
    }
    assert_int_equal(scratch_count(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_line_edited_by_hand_holds),
        TEST(any_name_survives),
        TEST(what_is_wrong_is_said_with_its_line),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
