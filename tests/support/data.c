#include "support/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char line[1 << 17];

static hn_dataset *open_line(bool may_lack) {
    hn_dataset *ds = NULL;
    hn_error err = {.text = ""};
    hone_status status = hn_dataset_open(&ds, line, &scratch_mem, &err);
    if (status == HONE_E_UNSUPPORTED && may_lack) return NULL;
    if (status != HONE_OK) fail_msg("%s", err.text);
    return ds;
}

#define FORMAT_LINE()                               \
    do {                                            \
        va_list args;                               \
        va_start(args, format);                     \
        vsnprintf(line, sizeof line, format, args); \
        va_end(args);                               \
    } while (0)

hn_dataset *data_open(const char *format, ...) {
    FORMAT_LINE();
    return open_line(false);
}

hn_dataset *data_open_packed(const char *format, ...) {
    FORMAT_LINE();
    return open_line(true);
}

void data_expect_error(hone_status status, const char *text, const char *format, ...) {
    FORMAT_LINE();
    hn_dataset *ds = NULL;
    hn_error err = {.text = ""};
    hone_status got = hn_dataset_open(&ds, line, &scratch_mem, &err);
    if (strstr(err.text, text) == NULL) fail_msg("'%s', wanted '%s'", err.text, text);
    assert_int_equal(got, status);
    assert_null(ds);
    assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
}

void data_count_down(const char *spec) {
    hone_status status = HONE_E_NOMEM;
    for (int n = 0; status == HONE_E_NOMEM; n++) {
        hn_dataset *ds = NULL;
        atomic_store(&scratch_mem.fail_after, n);
        status = hn_dataset_open(&ds, spec, &scratch_mem, NULL);
        atomic_store(&scratch_mem.fail_after, -1);
        assert_int_equal(ds != NULL, status == HONE_OK);
        hn_dataset_close(ds);
        assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
    }
    assert_int_equal(status, HONE_OK);
}

void data_fill(hn_dataset *ds, int64_t first, int64_t n, int rank, const int64_t *dims,
               float *dst) {
    hn_dataset_want want = {.dtype = HONE_DTYPE_F32, .rank = rank, .dims = dims};
    hn_error err = {.text = ""};
    if (hn_dataset_fill(ds, 0, first, n, &want, dst, &err) != HONE_OK) fail_msg("%s", err.text);
}
