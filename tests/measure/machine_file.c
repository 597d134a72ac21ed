/* The machine cache gives back what it was given, and nothing from a file that is damaged, or of
 * another machine. Nothing is measured here. */
#include "measure/machine_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "support/scratch.h"

static int warned;
static char warning[300];

static void on_log(void *ctx, hone_log_level level, const char *text) {
    (void)ctx;
    if (level > HONE_LOG_WARN) return;
    warned++;
    snprintf(warning, sizeof warning, "%s", text);
}

static hn_arena arena;

static int setup(void **state) {
    int failed = scratch_setup(state);
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    warned = 0;
    hone_log_set(on_log, NULL, HONE_LOG_WARN);
    return failed;
}
static int teardown(void **state) {
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
    hn_arena_deinit(&arena);
    return scratch_teardown(state);
}

static const hone_cache_info caches[] = {{1, 49152, 64, 1}, {2, 2097152, 64, 1}};
static const hone_isa_info isas[] = {{"one", true}, {"two", false}};
static const hone_machine here = {.cpu = "Some CPU\nof two lines",
                                  .kernel = "Linux 1",
                                  .threads = 2,
                                  .allowed_cores = 2,
                                  .n_caches = 2,
                                  .caches = caches,
                                  .n_isas = 2,
                                  .isas = isas};

static hn_findings laid_out(void) {
    hn_findings f = {0};
    hn_error err;
    assert_int_equal(hn_rates_lay_out(&f.rates, &here, hn_isa_available(), &arena, &err), HONE_OK);
    return f;
}

/* With numbers that cannot be mistaken for one another. */
static hn_findings filled(double first) {
    hn_findings f = laid_out();
    double v = first;
    for (size_t i = 0; i < f.rates.n_peaks; i++) f.rates.peaks[i].gops = v++ / 3;
    for (size_t i = 0; i < f.rates.n_bandwidths; i++) {
        f.rates.bandwidths[i].read_gb = v++ / 3;
        f.rates.bandwidths[i].write_gb = v++ / 3;
        f.rates.bandwidths[i].copy_gb = v++ / 3;
    }
    f.rates.noise = 0.25;
    f.rates.disturbed = true;
    f.rates.measured = 2;
    assert_int_equal(
        hn_gpus_add(&f.gpus, (hone_gpu_info){"Some GPU", 1 << 30, {9, 1}}, &arena, NULL), HONE_OK);
    assert_int_equal(hn_gpus_add(&f.gpus, (hone_gpu_info){"Another", -1, {0, 0}}, &arena, NULL),
                     HONE_OK);
    return f;
}

static void assert_same(const hn_findings *a, const hn_findings *b) {
    assert_int_equal(a->rates.n_peaks, b->rates.n_peaks);
    assert_memory_equal(a->rates.peaks, b->rates.peaks, a->rates.n_peaks * sizeof *a->rates.peaks);
    for (size_t i = 0; i < a->rates.n_bandwidths; i++) {
        const hone_bandwidth_info *x = &a->rates.bandwidths[i], *y = &b->rates.bandwidths[i];
        assert_true(x->read_gb == y->read_gb && x->write_gb == y->write_gb &&
                    x->copy_gb == y->copy_gb);
    }
    assert_true(a->rates.noise == b->rates.noise && a->rates.disturbed == b->rates.disturbed);
    assert_int_equal(a->rates.measured, b->rates.measured);
    assert_int_equal(a->gpus.n, b->gpus.n);
    for (size_t i = 0; i < a->gpus.n; i++) {
        const hone_gpu_info *x = &a->gpus.list[i], *y = &b->gpus.list[i];
        assert_string_equal(x->name, y->name);
        assert_true(x->memory_bytes == y->memory_bytes && x->capability[0] == y->capability[0] &&
                    x->capability[1] == y->capability[1]);
    }
}

static void the_better_of_two_measurements_is_kept(void **state) {
    (void)state;
    hn_findings low = filled(1), high = filled(100), old = filled(1);
    low.rates.bandwidths[0].write_gb = 1000;
    old.rates.bandwidths[0].write_gb = 1000;
    high.rates.noise = 0.125;
    hn_rates_join(&low.rates, &high.rates);
    assert_int_equal(low.rates.measured, 4);
    high.rates.measured = 4;
    high.rates.bandwidths[0].write_gb = 1000;
    assert_same(&low, &high);
    hn_rates_join(&high.rates, &old.rates);
    assert_true(high.rates.peaks[0].gops == 100.0 / 3 && high.rates.noise == 0.125);
}

static void what_is_kept_is_recalled(void **state) {
    (void)state;
    const char *path = scratch_path("machine.txt");
    hn_findings kept = filled(1), other = filled(100), f = laid_out();
    assert_false(hn_machine_recall(&f, &here, path, &arena)); /* there is none */
    hn_machine_keep(&kept, &here, path, &scratch_mem);
    assert_true(hn_machine_recall(&f, &here, path, &arena));
    assert_same(&kept, &f);
    assert_int_equal(scratch_count(), 1); /* no temporary */

    /* Whatever is different of the machine makes it another one; both stay known. */
    hone_isa_info more[] = {{"one", true}, {"two", true}};
    hone_machine machines[] = {here, here, here, here, here, here, here};
    machines[0].cpu = "Other CPU";
    machines[1].kernel = "Linux 2";
    machines[2].allowed_cores = 1;
    machines[3].quota = 1;
    machines[4].n_caches = 1;
    machines[5].isas = more;
    machines[6].gpu_driver = "535.1";
    for (int i = 0; i < 7; i++) {
        f = laid_out();
        assert_false(hn_machine_recall(&f, &machines[i], path, &arena));
        hn_machine_keep(&other, &machines[i], path, &scratch_mem);
        assert_true(hn_machine_recall(&f, &machines[i], path, &arena));
        assert_same(&other, &f);
    }
    f = laid_out();
    assert_true(hn_machine_recall(&f, &here, path, &arena));
    assert_same(&kept, &f);
    /* Measured again, the newer one holds. */
    hn_machine_keep(&other, &here, path, &scratch_mem);
    f = laid_out();
    assert_true(hn_machine_recall(&f, &here, path, &arena));
    assert_same(&other, &f);
    /* The oldest ones go. */
    for (int i = 0; i < 20; i++) {
        hone_machine m = here;
        m.quota = 10 + i;
        hn_machine_keep(&other, &m, path, &scratch_mem);
    }
    f = laid_out();
    assert_false(hn_machine_recall(&f, &here, path, &arena));
    assert_int_equal(warned, 0);
}

/* Any byte of it gone or changed: a warning and no rates, or rates that make sense. */
static void damage_is_found(void **state) {
    (void)state;
    const char *path = scratch_path("machine.txt");
    hn_findings kept = filled(1), f = laid_out();
    hn_machine_keep(&kept, &here, path, &scratch_mem);
    hn_file *file;
    hn_error err;
    assert_int_equal(hn_file_open(&file, path, false, &scratch_mem, &err), HONE_OK);
    char text[8192];
    size_t n = file->bytes;
    assert_true(n < sizeof text);
    memcpy(text, file->data, n);
    hn_file_unref(file);
    for (size_t cut = 0; cut < n; cut++) {
        f.gpus = (hn_gpus){0};
        assert_false(hn_machine_recall(&f, &here, scratch_put("cut.txt", text, cut), &arena));
    }
    assert_true(warned > 100);
    for (size_t i = 0; i < n; i++) {
        char was = text[i];
        text[i] = "\n7- \0x"[i % 6];
        f.gpus = (hn_gpus){0};
        bool read = hn_machine_recall(&f, &here, scratch_put("changed.txt", text, n), &arena);
        for (size_t k = 0; k < f.rates.n_peaks && read; k++)
            assert_true(f.rates.peaks[k].gops > 0 && f.rates.peaks[k].gops <= 1e12);
        assert_true(!read || (f.rates.noise >= 0 && f.rates.noise <= 1));
        text[i] = was;
    }
    static const char *const rates[] = {"0", "-1", "nan", "inf", "1e99", "", "1,5"};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        char wrong[8192 + 16];
        const char *at = strstr(text, "noise ") + strlen("noise ");
        snprintf(wrong, sizeof wrong, "%.*s%s%.*s", (int)(at - text), text,
                 i == 0 ? "1.5" : rates[i], (int)(n - (size_t)(at + 4 - text)), at + 4);
        assert_false(hn_machine_recall(&f, &here, scratch_put_text("wrong.txt", wrong), &arena));
        at = strstr(text, "bandwidth ");
        at = strchr(at, '\n');
        while (at[-1] != ' ') at--; /* of copies */
        snprintf(wrong, sizeof wrong, "%.*s%s%s", (int)(at - text), text, rates[i],
                 strchr(at, '\n'));
        assert_false(hn_machine_recall(&f, &here, scratch_put_text("wrong.txt", wrong), &arena));
        assert_non_null(strstr(warning, "damaged"));
    }
    /* Keeping repairs it. */
    const char *damaged = scratch_put("cut.txt", text, n / 2);
    hn_machine_keep(&kept, &here, damaged, &scratch_mem);
    f = laid_out();
    assert_true(hn_machine_recall(&f, &here, damaged, &arena));
    assert_same(&kept, &f);
}

static void other_files_are_left_alone(void **state) {
    (void)state;
    hn_findings kept = filled(1), f = laid_out();
    const char *path = scratch_put_text("model.onnx", "something dear\n");
    assert_false(hn_machine_recall(&f, &here, path, &arena));
    hn_machine_keep(&kept, &here, path, &scratch_mem);
    assert_int_equal(warned, 2);
    assert_non_null(strstr(warning, "not a cache of hone machine"));
    hn_file *file;
    hn_error err;
    assert_int_equal(hn_file_open(&file, path, false, &scratch_mem, &err), HONE_OK);
    assert_int_equal(file->bytes, strlen("something dear\n"));
    hn_file_unref(file);
    hn_machine_keep(&kept, &here, scratch_path("no/such/folder"), &scratch_mem);
    assert_non_null(strstr(warning, "not kept"));
    hn_machine_keep(&kept, &here, scratch_put_text("empty.txt", ""), &scratch_mem);
    assert_true(hn_machine_recall(&f, &here, scratch_path("empty.txt"), &arena));
}

static void memory_may_run_out(void **state) {
    (void)state;
    const char *path = scratch_path("machine.txt");
    hn_findings kept = filled(1), f = laid_out();
    hn_machine_keep(&kept, &here, path, &scratch_mem);
    bool read = false;
    for (int i = 0; !read; i++) {
        hn_arena own;
        hn_arena_init(&own, &scratch_mem, HN_MEM_OTHER);
        f.gpus = (hn_gpus){0};
        atomic_store(&scratch_mem.fail_after, i);
        read = hn_machine_recall(&f, &here, path, &own);
        hn_machine_keep(&kept, &here, path, &scratch_mem);
        atomic_store(&scratch_mem.fail_after, -1);
        assert_true(i < 10);
        hn_arena_deinit(&own);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_better_of_two_measurements_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_kept_is_recalled, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(other_files_are_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
