/* What tests of datasets share: opening one by its line, written with a format. */
#ifndef TESTS_SUPPORT_DATA_H
#define TESTS_SUPPORT_DATA_H

#include "formats/dataset.h"
#include "support/scratch.h"

hn_dataset *data_open(const char *format, ...) HONE_PRINTF(1, 2); /* fails the test if it cannot */
/* Like data_open, but NULL when this build lacks a library the file needs. */
hn_dataset *data_open_packed(const char *format, ...) HONE_PRINTF(1, 2);
/* Opening must fail with this status, and a message that holds this text. */
void data_expect_error(hone_status status, const char *text, const char *format, ...)
    HONE_PRINTF(3, 4);
/* Opens with the first, the second, ... allocation failing, until all succeed; nothing may leak. */
void data_count_down(const char *spec);

/* Fills n samples of field 0 as f32 with the dims given; fails the test if it cannot. */
void data_fill(hn_dataset *ds, int64_t first, int64_t n, int rank, const int64_t *dims, float *dst);
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

#endif
