/* csv:FILE[,targets=N], one sample per row: numbers separated by commas, the last one the label, or
 * the last N the target. A first row without a single number is taken for headings. Rows are
 * checked when the file is opened and read again when they are asked for. */
#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "formats/dataset_kind.h"
#include "formats/dataset_text.h"

static bool is_heading(hn_row row) {
    const char *text;
    size_t n;
    double v;
    while (hn_row_next(&row, &text, &n))
        if (hn_text_f64(text, n, &v)) return false;
    return true;
}

/* Counts the rows, all of which must be as long as the first: after this, every cell is worth its
 * memory. */
static hone_status measure(const hn_file *file, int64_t *n_rows, int64_t *n_columns,
                           hn_error *err) {
    hn_rows rows = hn_rows_of(file->data, file->bytes);
    int64_t first_line = 0;
    *n_rows = 0;
    for (hn_row row; hn_rows_next(&rows, &row);) {
        int64_t cells = hn_row_count(row);
        if (first_line == 0) {
            first_line = rows.line;
            *n_columns = cells;
            HN_CHECK(err, cells >= 2, HONE_E_FORMAT,
                     "'%s' line %" PRId64 " has one column; a value and a label are the least",
                     file->path, rows.line);
            if (is_heading(row)) continue;
        }
        HN_CHECK(err, cells == *n_columns, HONE_E_FORMAT,
                 "'%s' line %" PRId64 " has %" PRId64 " columns, line %" PRId64 " has %" PRId64,
                 file->path, rows.line, cells, first_line, *n_columns);
        ++*n_rows;
    }
    HN_CHECK(err, *n_rows > 0, HONE_E_FORMAT, "'%s' has no rows", file->path);
    return HONE_OK;
}

/* The row at `at`: `n_skip` cells are passed over, n_values read. */
static void read_cells(const hn_file *file, int64_t at, int64_t n_skip, int64_t n_values,
                       double *values) {
    hn_rows rows = {(const char *)file->data + at, (const char *)file->data + file->bytes, 0};
    hn_row row = {0};
    hn_rows_next(&rows, &row);
    const char *text = "";
    size_t n = 0;
    for (int64_t i = -n_skip; i < n_values && hn_row_next(&row, &text, &n); i++)
        if (i >= 0) hn_text_f64(text, n, &values[i]);
}

static hone_status sample(const hn_dataset *ds, hn_dataset_room *room, int field, int64_t i,
                          const void **data, hn_error *err) {
    (void)err;
    int64_t skip = field == 0 ? 0 : ds->fields[0].count;
    read_cells(ds->file, ds->place[i], skip, ds->fields[field].count,
               (double *)(void *)room->sample);
    *data = room->sample;
    return HONE_OK;
}

/* The last of the n_columns cells is a label, unless `label` is NULL. */
static hone_status check_row(const hn_file *file, int64_t line, hn_row row, int64_t n_columns,
                             int64_t *label, hn_error *err) {
    const char *text = "";
    size_t n = 0;
    double value;
    for (int64_t i = 1; hn_row_next(&row, &text, &n); i++) {
        bool number = i < n_columns || label == NULL;
        HN_CHECK(err, number ? hn_text_f64(text, n, &value) : hn_text_s64(text, n, label),
                 HONE_E_FORMAT, "'%s' line %" PRId64 ", column %" PRId64 ": '%.*s' is not %s",
                 file->path, line, i, n < 40 ? (int)n : 40, text,
                 number ? "a number" : "a label, a whole number");
    }
    return HONE_OK;
}

static hone_status find_rows(hn_dataset *ds, int64_t n_columns, hn_error *err) {
    const hn_file *file = ds->file;
    ds->place = hn_alloc_array(ds->alloc, (size_t)ds->total, sizeof *ds->place, HN_MEM_DATA);
    if (ds->place == NULL) return HN_NOMEM(err);
    hn_rows rows = hn_rows_of(file->data, file->bytes);
    int64_t i = 0;
    bool first = true;
    for (hn_row row; hn_rows_next(&rows, &row); first = false) {
        if (first && is_heading(row)) continue;
        int64_t *label = ds->labels != NULL ? &ds->labels[i] : NULL;
        HN_TRY(check_row(file, rows.line, row, n_columns, label, err));
        ds->place[i++] = row.at - (const char *)file->data;
    }
    return HONE_OK;
}

static hone_status open_csv(hn_dataset *ds, hn_error *err) {
    int64_t n_columns = 0, n_last = 1;
    HN_TRY(hn_file_open_unpacked(&ds->file, ds->spec.path, 0, ds->alloc, err));
    HN_TRY(measure(ds->file, &ds->total, &n_columns, err));
    const char *targets = ds->spec.targets;
    HN_CHECK(err,
             targets == NULL || (hn_text_s64(targets, strlen(targets), &n_last) && n_last > 0 &&
                                 n_last < n_columns),
             HONE_E_ARG, "targets: '%s' is not a number of columns below the %" PRId64 " of '%s'",
             targets, n_columns, ds->file->path);
    int64_t n_values = n_columns - n_last;
    HN_TRY(hn_dataset_add_fields(ds, 1, targets != NULL, err));
    HN_TRY(hn_dataset_set_shape(ds, 0, HONE_DTYPE_F64, 1, &n_values, err));
    if (targets != NULL) {
        ds->fields[1].shown.name = "target";
        HN_TRY(hn_dataset_set_shape(ds, 1, HONE_DTYPE_F64, 1, &n_last, err));
    } else {
        HN_TRY(hn_dataset_add_labels(ds, err));
    }
    return find_rows(ds, n_columns, err);
}

const hn_dataset_kind hn_dataset_csv = {.name = "csv",
                                        .path = "FILE",
                                        .path_is = HN_PATH_FILE,
                                        .endings = ".csv",
                                        .keys = HN_KEYS_STORED | HN_KEY(TARGETS),
                                        .open = open_csv,
                                        .sample = sample};
