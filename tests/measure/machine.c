#include "measure/machine.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/isa.h"
#include "measure/peak.h"
#include "support/scratch.h"
#include "support/tree.h"

static bool stop_after(void *ctx, int64_t done, int64_t total) {
    assert_true(done <= total);
    return done < *(int64_t *)ctx;
}

/* Makes the cache say that it was measured so often and disturbed each time; 0: it was steady. */
static void keep_as(const char *path, int measured) {
    static char text[1 << 16];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    char *noise = strstr(text, "\nnoise "), *how = strchr(noise + strlen("\nnoise "), ' ') + 1;
    char *rest = strchr(how, '\n');
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%.*s", (int)(how - text), text);
    if (measured > 0)
        fprintf(f, "disturbed %d%s", measured, rest);
    else
        fprintf(f, "steady%s", rest);
    assert_int_equal(fclose(f), 0);
}

/* Rates are measured, and taken from the cache the next time, unless others disturbed them; but
 * three times are enough. Measuring can be stopped. */
static void rates_are_measured_once(void **state) {
    (void)state;
    hone_error err;
    hone_machine *m = NULL, *again = NULL;
    int64_t steps = 3;
    hone_machine_options o;
    hone_machine_options_init(&o);
    o.cache = scratch_path("machine.txt");
    o.progress = stop_after;
    o.progress_ctx = &steps;
    assert_int_equal(hone_machine_probe(&m, &o, &err), HONE_E_LIMIT);
    assert_null(m);
    assert_int_equal(scratch_count(), 0);
    steps = INT64_MAX;
    cpu_set_t before, after;
    bool known = sched_getaffinity(0, sizeof before, &before) == 0;
    assert_int_equal(hone_machine_probe(&m, &o, &err), HONE_OK);
    if (known) {
        assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
        assert_true(CPU_EQUAL(&before, &after));
    }
    assert_false(m->cached);
    assert_true(m->threads >= 1 && m->cpus >= m->allowed_cores && m->memory_bytes > 0);
    assert_true(m->cpu[0] != '\0' && m->n_peaks >= 2 && m->n_bandwidths > 0);
    assert_true(m->noise >= 0 && m->noise <= 1);
    for (size_t i = 0; i < m->n_peaks; i++) assert_true(m->peaks[i].gops > 0);
    for (size_t i = 0; i < m->n_bandwidths; i++) {
        const hone_bandwidth_info *b = &m->bandwidths[i];
        assert_true(b->bytes > 0 && b->read_gb > 0 && b->write_gb > 0 && b->copy_gb > 0);
    }
    steps = 0; /* nothing is measured, so nothing is to stop */
    for (int tries = 1; tries <= 3; tries++) {
        keep_as(o.cache, tries);
        bool believed = tries == 3;
        assert_int_equal(hone_machine_probe(&again, &o, &err), believed ? HONE_OK : HONE_E_LIMIT);
    }
    assert_true(again->disturbed);
    hone_machine_destroy(again);
    keep_as(o.cache, 0);
    assert_int_equal(hone_machine_probe(&again, &o, &err), HONE_OK);
    assert_true(again->cached && again->noise == m->noise && again->n_peaks == m->n_peaks);
    for (size_t i = 0; i < m->n_peaks; i++) assert_true(again->peaks[i].gops == m->peaks[i].gops);
    hone_machine_destroy(again);
    o.remeasure = true;
    assert_int_equal(hone_machine_probe(&again, &o, &err), HONE_E_LIMIT);
    hone_machine_destroy(m);
    hone_machine_destroy(NULL);
}

/* What the CPU has is listed, and what HONE_ISA does not allow is told apart. */
static void instruction_sets_are_listed(void **state) {
    (void)state;
    hone_error err;
    hone_machine *m;
    assert_int_equal(hone_machine_look(&m, &err), HONE_OK);
    hn_isa detected = 0, allowed = 0;
    for (size_t i = 0; i < m->n_isas; i++) {
        hn_isa with_implied = 0;
        assert_int_equal(hn_isa_limit(hn_isa_detected(), m->isas[i].name, &with_implied, &err),
                         HONE_OK);
        detected |= with_implied;
        if (m->isas[i].allowed) allowed |= with_implied;
    }
    assert_int_equal(detected, hn_isa_detected());
    assert_int_equal(allowed, hn_isa_available());
    hone_machine_destroy(m);
}

static void streams_touch_all_memory_and_no_more(void **state) {
    (void)state;
    enum { BYTES = 4096 };
    static _Alignas(64) unsigned char memory[BYTES + 64];
    for (int plain = 0; plain < 2; plain++) {
        hn_isa isa = plain ? HN_ISA_PORTABLE : hn_isa_available();
        for (int i = 0; i < BYTES + 64; i++) memory[i] = (unsigned char)(i % 251);
        hn_stream_run(HN_STREAM_READ, isa, memory, BYTES);
        hn_stream_run(HN_STREAM_COPY, isa, memory, BYTES);
        for (int i = 0; i < BYTES; i++) assert_int_equal(memory[i], i % (BYTES / 2) % 251);
        memory[BYTES] = 77;
        hn_stream_run(HN_STREAM_WRITE, isa, memory, BYTES);
        for (int i = 1; i < BYTES; i++) assert_int_equal(memory[i], memory[i % 64]);
        assert_int_equal(memory[BYTES], 77);
    }
    assert_true(hn_peak_now("f32", hn_isa_available()) > 0);
    assert_true(hn_peak_now("f32", HN_ISA_PORTABLE) > 0);
    assert_true(hn_peak_now("bf16", HN_ISA_PORTABLE) == 0);
}

static void looking_measures_nothing(void **state) {
    (void)state;
    hone_machine *m = NULL;
    hone_error err;
    assert_int_equal(hone_machine_look(&m, &err), HONE_OK);
    assert_true(m->cpu[0] != '\0' && m->threads >= 1 && m->memory_bytes > 0);
    assert_true(m->n_peaks == 0 && m->n_bandwidths == 0);
    hone_machine_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rates_are_measured_once, scratch_setup, scratch_teardown),
        cmocka_unit_test(instruction_sets_are_listed),
        cmocka_unit_test(streams_touch_all_memory_and_no_more),
        cmocka_unit_test(looking_measures_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
