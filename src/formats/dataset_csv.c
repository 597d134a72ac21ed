/* csv:FILE, one sample per row: numbers separated by commas, the last one the label. A first row
 * without a single number is taken for headings. */
#include <inttypes.h>

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

static hone_status parse_row(const hn_file *file, int64_t line, hn_row row, int64_t n_values,
                             double *values, int64_t *label, hn_error *err) {
    const char *text = "";
    size_t n = 0;
    for (int64_t i = 0; hn_row_next(&row, &text, &n); i++) {
        bool valid = i < n_values ? hn_text_f64(text, n, &values[i]) : hn_text_s64(text, n, label);
        HN_CHECK(err, valid, HONE_E_FORMAT,
                 "'%s' line %" PRId64 ", column %" PRId64 ": '%.*s' is not %s", file->path, line,
                 i + 1, n < 40 ? (int)n : 40, text,
                 i < n_values ? "a number" : "a label, a whole number");
    }
    return HONE_OK;
}

static hone_status parse_rows(hn_dataset *ds, const hn_file *file, hn_error *err) {
    int64_t n_columns = 0;
    HN_TRY(measure(file, &ds->total, &n_columns, err));
    int64_t n_values = n_columns - 1;
    HN_TRY(hn_dataset_add_fields(ds, 1, err));
    hn_dataset_source *f = &ds->fields[0];
    HN_TRY(hn_dataset_set_shape(ds, 0, HONE_DTYPE_F64, 1, &n_values, err));
    HN_TRY(hn_dataset_add_labels(ds, err));
    double *values = hn_alloc_array(ds->alloc, (size_t)ds->total, f->bytes, HN_MEM_DATA);
    if (values == NULL) return HN_NOMEM(err);
    f->array.data = values;
    f->data = f->array.data;
    hn_rows rows = hn_rows_of(file->data, file->bytes);
    int64_t i = 0;
    bool first = true;
    for (hn_row row; hn_rows_next(&rows, &row); first = false) {
        if (first && is_heading(row)) continue;
        HN_TRY(
            parse_row(file, rows.line, row, n_values, values + i * n_values, &ds->labels[i], err));
        i++;
    }
    return HONE_OK;
}

static hone_status open_csv(hn_dataset *ds, hn_error *err) {
    hn_file *file = NULL;
    HN_TRY(hn_file_open_unpacked(&file, ds->spec.path, 0, ds->alloc, err));
    hone_status status = parse_rows(ds, file, err);
    hn_file_unref(file);
    return status;
}

const hn_dataset_kind hn_dataset_csv = {
    .name = "csv", .path = "FILE", .keys = HN_KEYS_NUMBERS, .open = open_csv};
