/* raw:FOLDER,labels=FILE.csv[,dtype=TYPE], one file of bare little-endian elements per sample. The
 * rows of the csv name the file in their first column and its label in their last; it is looked for
 * in the folder, then as it is written. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/dataset_kind.h"
#include "formats/dataset_text.h"

static hone_status join(char path[PATH_MAX], const char *folder, const char *name, hn_error *err) {
    int n = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    HN_CHECK(err, n < PATH_MAX, HONE_E_LIMIT, "a path in '%s' is over %d characters long", folder,
             PATH_MAX);
    return HONE_OK;
}

/* A list of files has no business outside its folder. */
static bool stays_inside(const char *name) {
    if (name[0] == '/' || name[0] == '\0') return false;
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0')) return false;
    }
    return true;
}

static hone_status size_of(const hn_dataset *ds, const char *name, int64_t *bytes, hn_error *err) {
    char path[PATH_MAX];
    struct stat st;
    HN_TRY(join(path, ds->spec.path, name, err));
    HN_CHECK(err, stat(path, &st) == 0, HONE_E_IO, "cannot find '%s': %s", path, strerror(errno));
    *bytes = (int64_t)st.st_size;
    return HONE_OK;
}

static hone_status read_row(hn_dataset *ds, const hn_file *csv, int64_t line, hn_row row, int64_t i,
                            hn_error *err) {
    const char *text = "", *name = "";
    size_t n = 0, name_bytes = 0;
    int64_t columns = 0;
    for (; hn_row_next(&row, &text, &n); columns++)
        if (columns == 0) {
            name = text;
            name_bytes = n;
        }
    HN_CHECK(err, columns >= 2, HONE_E_FORMAT,
             "'%s' line %" PRId64 " has one column; a file and a label are the least", csv->path,
             line);
    HN_CHECK(err, hn_text_s64(text, n, &ds->labels[i]), HONE_E_FORMAT,
             "'%s' line %" PRId64 ", column %" PRId64 ": '%.*s' is not a label, a whole number",
             csv->path, line, columns, n < 40 ? (int)n : 40, text);
    ds->names[i] = hn_arena_strndup(&ds->arena, name, name_bytes);
    if (ds->names[i] == NULL) return HN_NOMEM(err);
    HN_CHECK(err, strlen(ds->names[i]) == name_bytes && stays_inside(ds->names[i]), HONE_E_FORMAT,
             "'%s' line %" PRId64 ": '%s' is not the name of a file inside the folder", csv->path,
             line, ds->names[i]);
    return HONE_OK;
}

static hone_status read_rows(hn_dataset *ds, const hn_file *csv, hn_error *err) {
    hn_rows rows = hn_rows_of(csv->data, csv->bytes);
    for (hn_row row; hn_rows_next(&rows, &row);) ds->total++;
    HN_CHECK(err, ds->total > 0, HONE_E_FORMAT, "'%s' has no rows", csv->path);
    HN_TRY(hn_dataset_add_labels(ds, err));
    ds->names = hn_arena_array(&ds->arena, (size_t)ds->total, sizeof *ds->names);
    if (ds->names == NULL) return HN_NOMEM(err);
    rows = hn_rows_of(csv->data, csv->bytes);
    int64_t i = 0;
    for (hn_row row; hn_rows_next(&rows, &row); i++)
        HN_TRY(read_row(ds, csv, rows.line, row, i, err));
    return HONE_OK;
}

static hone_status check_sizes(hn_dataset *ds, hn_error *err) {
    hone_dtype dtype = ds->spec.dtype != HONE_DTYPE_NONE ? ds->spec.dtype : HONE_DTYPE_U8;
    int64_t bytes = 0, first = 0, width = hone_dtype_bits(dtype) / 8;
    HN_TRY(size_of(ds, ds->names[0], &first, err));
    HN_TRY(hn_dataset_add_fields(ds, 1, err));
    int64_t count = width > 0 ? first / width : 0;
    HN_CHECK(err, width == 0 || (first > 0 && first % width == 0), HONE_E_FORMAT,
             "'%s/%s' has %" PRId64 " bytes, which is not a number of elements of type %s",
             ds->spec.path, ds->names[0], first, hone_dtype_name(dtype));
    HN_TRY(hn_dataset_set_shape(ds, 0, dtype, 1, &count, err));
    for (int64_t i = 1; i < ds->total; i++) {
        HN_TRY(size_of(ds, ds->names[i], &bytes, err));
        HN_CHECK(err, bytes == first, HONE_E_FORMAT,
                 "'%s/%s' has %" PRId64 " bytes, '%s' has %" PRId64, ds->spec.path, ds->names[i],
                 bytes, ds->names[0], first);
    }
    return HONE_OK;
}

static hone_status open_labels(hn_dataset *ds, hn_file **csv, hn_error *err) {
    char path[PATH_MAX];
    struct stat st;
    HN_CHECK(err, ds->spec.labels != NULL, HONE_E_ARG,
             "raw needs labels=FILE.csv: rows of a file's name and its label");
    HN_TRY(join(path, ds->spec.path, ds->spec.labels, err));
    const char *found = stat(path, &st) == 0 ? path : ds->spec.labels;
    return hn_file_open_unpacked(csv, found, 0, ds->alloc, err);
}

static hone_status open_raw(hn_dataset *ds, hn_error *err) {
    hn_file *csv = NULL;
    HN_TRY(open_labels(ds, &csv, err));
    hone_status status = read_rows(ds, csv, err);
    hn_file_unref(csv);
    return status == HONE_OK ? check_sizes(ds, err) : status;
}

static hone_status sample(hn_dataset *ds, int field, int64_t i, const void **data, hn_error *err) {
    char path[PATH_MAX];
    HN_TRY(join(path, ds->spec.path, ds->names[i], err));
    hn_file_unref(ds->file);
    ds->file = NULL;
    HN_TRY(hn_file_open(&ds->file, path, false, ds->alloc, err));
    HN_CHECK(err, ds->file->bytes == ds->fields[field].bytes, HONE_E_FORMAT,
             "'%s' has %zu bytes; it had %zu when the dataset was opened", path, ds->file->bytes,
             ds->fields[field].bytes);
    *data = ds->file->data;
    return HONE_OK;
}

const hn_dataset_kind hn_dataset_raw = {.name = "raw",
                                        .path = "FOLDER",
                                        .keys = HN_KEYS_NUMBERS | HN_KEY(LABELS) | HN_KEY(DTYPE),
                                        .open = open_raw,
                                        .sample = sample};
