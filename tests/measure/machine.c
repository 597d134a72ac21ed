#include "measure/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "measure/peak.h"
#include "support/tree.h"

#define CACHE "/sys/devices/system/cpu/cpu0/cache/"

static void caches_are_read_from_sysfs(void **state) {
    (void)state;
    hone_cache_info c[4];
    assert_int_equal(hn_machine_caches(tree_root, c, 4), 0);
    tree_put(CACHE "index0/type", "Data\n");
    tree_put(CACHE "index0/level", "1\n");
    tree_put(CACHE "index0/size", "48K\n");
    tree_put(CACHE "index0/coherency_line_size", "64\n");
    tree_put(CACHE "index0/shared_cpu_list", "0\n");
    tree_put(CACHE "index1/type", "Instruction\n");
    tree_put(CACHE "index1/level", "1\n");
    tree_put(CACHE "index1/size", "32K\n");
    tree_put(CACHE "index2/type", "Unified\n");
    tree_put(CACHE "index2/level", "2\n");
    tree_put(CACHE "index2/size", "2M\n");
    tree_put(CACHE "index2/shared_cpu_list", "0-3,8\n");
    tree_put(CACHE "index3/type", "Unified\n");
    tree_put(CACHE "index3/level", "3\n");
    tree_put(CACHE "index3/size", "nothing\n");
    assert_int_equal(hn_machine_caches(tree_root, c, 4), 2);
    assert_true(c[0].level == 1 && c[0].bytes == 48 << 10 && c[0].line_bytes == 64);
    assert_int_equal(c[0].cpus, 1);
    assert_true(c[1].level == 2 && c[1].bytes == 2 << 20 && c[1].line_bytes == 0);
    assert_int_equal(c[1].cpus, 5);
    assert_int_equal(hn_machine_caches(tree_root, c, 1), 1);
}

static bool stop_after(void *ctx, int64_t done, int64_t total) {
    assert_true(done <= total);
    return done < *(int64_t *)ctx;
}

/* Peaks grow with the instruction set, caches are faster than memory, and it can be stopped. */
static void rates_are_measured(void **state) {
    (void)state;
    hone_error err;
    hone_machine *m = NULL;
    int64_t steps = 3;
    assert_int_equal(hone_machine_probe(&m, stop_after, &steps, &err), HONE_E_LIMIT);
    assert_null(m);
    assert_int_equal(hone_machine_probe(&m, NULL, NULL, &err), HONE_OK);
    assert_true(m->threads >= 1 && m->cpus >= m->allowed_cores && m->memory_bytes > 0);
    assert_true(m->cpu[0] != '\0' && m->n_bandwidths > 0);
    for (size_t i = 0; i < m->n_peaks; i++) assert_true(m->peaks[i].gops > 0);
    for (size_t i = 0; i < m->n_bandwidths; i++) {
        const hone_bandwidth_info *b = &m->bandwidths[i];
        assert_true(b->bytes > 0 && b->read_gb > 0 && b->write_gb > 0 && b->copy_gb > 0);
    }
    hone_machine_destroy(m);
    hone_machine_destroy(NULL);
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
    assert_true(hn_peak_now("f32", hn_isa_available()) > 0 ||
                hn_isa_available() == HN_ISA_PORTABLE);
    assert_true(hn_peak_now("f32", HN_ISA_PORTABLE) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(caches_are_read_from_sysfs, tree_setup, tree_teardown),
        cmocka_unit_test(rates_are_measured),
        cmocka_unit_test(streams_touch_all_memory_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
