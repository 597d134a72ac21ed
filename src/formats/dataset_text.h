/* Numbers and comma-separated rows, read from text that ends where it ends: no terminator, no
 * locale. */
#ifndef HN_FORMATS_DATASET_TEXT_H
#define HN_FORMATS_DATASET_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number, the whole of the text, finite. False: it is none. */
bool hn_text_f64(const char *text, size_t n, double *value);
bool hn_text_s64(const char *text, size_t n, int64_t *value);

typedef struct hn_rows {
    const char *at, *end;
    int64_t line; /* of the row last read, from 1 */
} hn_rows;

typedef struct hn_row {
    const char *at, *end; /* NULL when no cell is left */
} hn_row;

hn_rows hn_rows_of(const void *data, size_t bytes); /* a byte order mark is stepped over */
/* The next row that is not blank; false at the end. */
bool hn_rows_next(hn_rows *rows, hn_row *row);
/* The next cell, spaces around it left out; false when there is none. Cells are not quoted. */
bool hn_row_next(hn_row *row, const char **text, size_t *n);
int64_t hn_row_count(hn_row row); /* cells left */

#endif
