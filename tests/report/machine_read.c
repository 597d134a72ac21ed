/* A machine is read as it was written, and nothing is believed that a probe could not have found. */
#include "report/machine_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "support/scratch.h"

/* clang-format off */
static const char good[] =
    "{\"schema\": \"hone.machine/1\", \"command\": \"hone machine\", \"cpu\": \"Some CPU\", "
    "\"arch\": \"aarch64\", \"kernel\": \"Linux 6.1\", \"isa\": \"neondot\", "
    "\"isas\": [{\"name\": \"neon\", \"allowed\": true}, {\"name\": \"neondot\", \"allowed\": true}, "
    "{\"name\": \"neoni8mm\", \"allowed\": false}], \"cpus\": 8, \"allowed_cores\": 4, "
    "\"quota\": null, \"threads\": 4, \"memory_bytes\": 8000000000, \"memory_limit_bytes\": null, "
    "\"caches\": [{\"level\": 1, \"bytes\": 65536, \"line_bytes\": 64, \"cpus\": null}], "
    "\"gpu_driver\": \"550.1\", \"gpus\": [{\"name\": \"Some GPU\", \"memory_bytes\": null, "
    "\"capability\": \"8.7\"}], \"peaks\": ["
    "{\"precision\": \"f32\", \"instruction\": \"fmla\", \"isa\": \"neon\", \"threads\": 1, \"gops\": 30.5}, "
    "{\"precision\": \"f32\", \"instruction\": \"fmla\", \"isa\": \"neon\", \"threads\": 4, \"gops\": 120}], "
    "\"bandwidths\": ["
    "{\"level\": \"L1\", \"bytes\": 32768, \"threads\": 1, \"read_gb_s\": 90, \"write_gb_s\": 40, \"copy_gb_s\": 80}, "
    "{\"level\": \"memory\", \"bytes\": 536870912, \"threads\": 1, \"read_gb_s\": 9, \"write_gb_s\": 4, \"copy_gb_s\": 8}, "
    "{\"level\": \"memory\", \"bytes\": 536870912, \"threads\": 4, \"read_gb_s\": 19, \"write_gb_s\": 14, \"copy_gb_s\": 18}], "
    "\"balances\": [], \"cached\": true, \"noise\": 0.25, \"disturbed\": false}\n";
/* clang-format on */

static hone_status read(hone_machine *m, hn_arena *arena, const char *text, hn_error *err) {
    *m = (hone_machine){0};
    hn_arena_init(arena, &scratch_mem, HN_MEM_OTHER);
    hone_status status = hn_machine_read(m, "m.json", text, arena, err);
    if (status != HONE_E_UNSUPPORTED) return status;
    hn_arena_deinit(arena);
    skip();
    return status;
}

static void test_all_of_it(void **state) {
    (void)state;
    hn_arena arena;
    hn_error err;
    hone_machine m;
    if (read(&m, &arena, good, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_string_equal(m.cpu, "Some CPU");
    assert_string_equal(m.arch, "aarch64");
    assert_string_equal(m.kernel, "Linux 6.1");
    assert_string_equal(m.isa, "neondot");
    assert_string_equal(m.gpu_driver, "550.1");
    assert_true(m.cpus == 8 && m.allowed_cores == 4 && m.quota == 0 && m.threads == 4);
    assert_true(m.memory_bytes == 8000000000 && m.memory_limit == -1);
    assert_true(m.cached && m.noise == 0.25 && !m.disturbed);
    assert_true(m.n_isas == 3 && m.isas[1].allowed && !m.isas[2].allowed);
    assert_true(m.n_caches == 1 && m.caches[0].bytes == 65536 && m.caches[0].line_bytes == 64 &&
                m.caches[0].cpus == 0);
    assert_true(m.n_gpus == 1 && m.gpus[0].memory_bytes == -1);
    assert_true(m.gpus[0].capability[0] == 8 && m.gpus[0].capability[1] == 7);
    assert_true(m.n_peaks == 2 && m.peaks[0].gops == 30.5 && m.peaks[1].threads == 4);
    assert_string_equal(m.peaks[1].instruction, "fmla");
    assert_true(m.n_bandwidths == 3 && m.bandwidths[2].write_gb == 14);
    assert_string_equal(m.bandwidths[0].level, "L1");
    hn_arena_deinit(&arena);
}

/* The good text with one thing replaced. */
static char *with(const char *old, const char *new) {
    const char *at = strstr(good, old);
    assert_non_null(at);
    size_t n = sizeof good + strlen(new);
    char *text = malloc(n);
    snprintf(text, n, "%.*s%s%s", (int)(at - good), good, new, at + strlen(old));
    return text;
}

static void expect(const char *text, const char *message) {
    hn_arena arena;
    hn_error err = {.text = ""};
    hone_machine m;
    hone_status status = read(&m, &arena, text, &err);
    hn_arena_deinit(&arena);
    if (status != HONE_E_FORMAT || strstr(err.text, message) == NULL)
        fail_msg("wanted '%s', got %s: '%s'", message, hone_status_name(status), err.text);
}

static void test_hostile(void **state) {
    (void)state;
    static const struct {
        const char *old, *new, *message;
    } cases[] = {
        {"machine/1", "machine/2",
         "'hone.machine/2', of a newer hone; this one reads hone.machine/1"},
        {"machine/1", "machine/1x", "hone.VERB/1 is wanted"},
        {"machine/1", "ops/1", "this is what hone ops found; what hone machine found is wanted"},
        {"\"Some CPU\"", "7", "cpu is a number; a text is wanted"},
        {"\"Some CPU\"", "\"\"", "cpu is empty"},
        {"\"cpu\": \"Some CPU\", ", "", "cpu is missing; a text of 1 to 256 letters"},
        {"\"cpus\": 8", "\"cpus\": 0", "cpus is 0; a whole number from 1"},
        {"\"cpus\": 8", "\"cpus\": 1e30", "cpus is 1e+30"},
        {"\"cpus\": 8", "\"cpus\": 2.5", "cpus is 2.5"},
        {"\"cpus\": 8, ", "", "cpus is missing"},
        {"\"threads\": 4, \"mem", "\"threads\": -4, \"mem", "threads is -4"},
        {"8000000000", "-1", "memory_bytes is -1"},
        {"\"noise\": 0.25", "\"noise\": 2", "noise is 2; a share"},
        {"\"noise\": 0.25", "\"noise\": -0.1", "noise is -0.1; a share"},
        {"\"noise\": 0.25", "\"noise\": NaN", "not JSON"},
        {"\"gops\": 30.5", "\"gops\": -30.5", "peaks[].gops is -30.5; a rate above 0"},
        {"\"gops\": 30.5", "\"gops\": 0", "peaks[].gops is 0"},
        {"\"gops\": 30.5", "\"gops\": null", "peaks[].gops is missing"},
        {"\"gops\": 30.5", "\"gops\": 1e300", "peaks[].gops is 1e+300"},
        {"\"gops\": 30.5", "\"gops\": \"30\"", "peaks[0].gops is a text; a number is wanted"},
        {"\"threads\": 1, \"gops\"", "\"threads\": 2, \"gops\"", "peaks[].threads is 2"},
        {"\"instruction\": \"fmla\", \"isa\": \"neon\", \"threads\": 4",
         "\"instruction\": \"other\", \"isa\": \"neon\", \"threads\": 4", "stands behind that of"},
        {"\"gops\": 30.5}, ", "\"gops\": 30.5}], \"others\": [", "the number of peaks is 1"},
        {"\"peaks\": [", "\"peaks\": [], \"others\": [", "the number of peaks is 0"},
        {"\"peaks\": [", "\"peaks\": 7, \"others\": [", "peaks is a number; a list is wanted"},
        {"\"read_gb_s\": 9,", "\"read_gb_s\": -9,", "bandwidths[].read_gb_s is -9"},
        {"536870912, \"threads\": 4", "536870912, \"threads\": 3",
         "the bandwidth of memory is missing"},
        {"\"level\": 1", "\"level\": 99", "caches[].level is 99"},
        {"\"bytes\": 65536", "\"bytes\": 0", "caches[].bytes is 0"},
        {"\"8.7\"", "\"8\"", "gpus[].capability is missing; a text such as 9.0"},
        {"{\"name\": \"neon\", \"allowed\": true}", "null", "isas[0] is null"},
        {"false}\n", "false}\n{\"schema\": \"hone.machine/1\"}", "there are 2 objects"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = with(cases[i].old, cases[i].new);
        expect(text, cases[i].message);
        free(text);
    }
    expect("", "there is nothing in it");
    expect("[]", "an object is wanted");
}

static void test_cut_short(void **state) {
    (void)state;
    for (size_t n = 0; n + 2 < sizeof good; n += 7) {
        char *text = malloc(n + 1);
        memcpy(text, good, n);
        text[n] = '\0';
        expect(text, n == 0 ? "nothing" : "not JSON");
        free(text);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    hone_status status = HONE_E_NOMEM;
    for (int k = 0; status == HONE_E_NOMEM; k++) {
        hn_allocator alloc;
        hn_arena arena;
        hn_error err;
        hone_machine m = {0};
        hn_allocator_init(&alloc);
        atomic_store(&alloc.fail_after, k);
        hn_arena_init(&arena, &alloc, HN_MEM_OTHER);
        status = hn_machine_read(&m, "m.json", good, &arena, &err);
        hn_arena_deinit(&arena);
        assert_int_equal(atomic_load(&alloc.blocks), 0);
        if (status == HONE_E_UNSUPPORTED) skip();
        if (status != HONE_E_NOMEM) assert_true(k > 1);
    }
    assert_int_equal(status, HONE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_of_it, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_hostile, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_cut_short, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
