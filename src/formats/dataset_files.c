#include "formats/dataset_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/dataset_text.h"

static hone_status join(char path[PATH_MAX], const char *folder, const char *name, hn_error *err) {
    int n = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    HN_CHECK(err, n < PATH_MAX, HONE_E_LIMIT, "a path in '%s' is over %d characters long", folder,
             PATH_MAX);
    return HONE_OK;
}

hone_status hn_dataset_path(const hn_dataset *ds, int64_t i, char path[PATH_MAX], hn_error *err) {
    return join(path, ds->spec.path, ds->names[i], err);
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

/* A row's cells that matter, and how many there are. */
typedef struct cells {
    const char *name, *label;
    size_t name_bytes, label_bytes;
    int64_t columns;
} cells;

static cells cells_of(hn_row row, int64_t column) {
    cells c = {.name = "", .label = ""};
    const char *text;
    size_t n;
    for (; hn_row_next(&row, &text, &n); c.columns++) {
        if (c.columns == 0) c.name = text, c.name_bytes = n;
        if (column < 0 || c.columns == column) c.label = text, c.label_bytes = n;
    }
    return c;
}

static hone_status read_label(const hn_dataset *ds, const hn_file *csv, int64_t line,
                              const cells *c, int64_t column, int64_t i, hn_error *err) {
    HN_CHECK(err, c->columns >= 2, HONE_E_FORMAT,
             "'%s' line %" PRId64 " has one column; a file and a label are the least", csv->path,
             line);
    HN_CHECK(err, hn_text_s64(c->label, c->label_bytes, &ds->labels[i]), HONE_E_FORMAT,
             "'%s' line %" PRId64 ", column %" PRId64 ": '%.*s' is not a label, a whole number",
             csv->path, line, column < 0 ? c->columns : column + 1,
             c->label_bytes < 40 ? (int)c->label_bytes : 40, c->label);
    return HONE_OK;
}

static hone_status read_row(hn_dataset *ds, const hn_file *csv, int64_t line, const cells *c,
                            int64_t column, int64_t i, hn_error *err) {
    if (ds->labels != NULL) HN_TRY(read_label(ds, csv, line, c, column, i, err));
    ds->names[i] = hn_arena_strndup(&ds->arena, c->name, c->name_bytes);
    if (ds->names[i] == NULL) return HN_NOMEM(err);
    HN_CHECK(err, strlen(ds->names[i]) == c->name_bytes && stays_inside(ds->names[i]),
             HONE_E_FORMAT,
             "'%s' line %" PRId64 ": '%s' is not the name of a file inside the folder", csv->path,
             line, ds->names[i]);
    return HONE_OK;
}

static hone_status read_rows(hn_dataset *ds, const hn_file *csv, int64_t column, hn_error *err) {
    hn_rows rows = hn_rows_of(csv->data, csv->bytes);
    int64_t number, headings = 0;
    bool bare = ds->spec.boxes != NULL || ds->spec.masks != NULL;
    for (hn_row row; hn_rows_next(&rows, &row); ds->total++) {
        cells c = cells_of(row, column);
        bare &= c.columns == 1;
        if (ds->total == 0 && c.columns >= 2 && !hn_text_s64(c.label, c.label_bytes, &number))
            headings = 1;
    }
    ds->total -= headings;
    HN_CHECK(err, ds->total > 0, HONE_E_FORMAT, "'%s' has no rows of a file and its label",
             csv->path);
    if (!bare) HN_TRY(hn_dataset_add_labels(ds, err));
    ds->names = hn_arena_array(&ds->arena, (size_t)ds->total, sizeof *ds->names);
    if (ds->names == NULL) return HN_NOMEM(err);
    rows = hn_rows_of(csv->data, csv->bytes);
    int64_t i = -headings;
    for (hn_row row; hn_rows_next(&rows, &row); i++) {
        cells c = cells_of(row, column);
        if (i >= 0) HN_TRY(read_row(ds, csv, rows.line, &c, column, i, err));
    }
    return HONE_OK;
}

hone_status hn_dataset_beside(const hn_dataset *ds, const char *name, char path[PATH_MAX],
                              hn_error *err) {
    struct stat st;
    HN_TRY(join(path, ds->spec.path, name, err));
    if (stat(path, &st) == 0) return HONE_OK;
    HN_CHECK(err, strlen(name) < PATH_MAX, HONE_E_LIMIT, "'%s' is over %d characters long", name,
             PATH_MAX);
    memcpy(path, name, strlen(name) + 1);
    return HONE_OK;
}

hone_status hn_dataset_list(hn_dataset *ds, int64_t column, hn_error *err) {
    char path[PATH_MAX];
    hn_file *csv = NULL;
    HN_CHECK(err, ds->spec.labels != NULL, HONE_E_ARG,
             "%s needs labels=FILE.csv: rows of a file's name and its label", ds->spec.kind->name);
    HN_TRY(hn_dataset_beside(ds, ds->spec.labels, path, err));
    HN_TRY(hn_file_open_unpacked(&csv, path, 0, ds->alloc, err));
    hone_status status = read_rows(ds, csv, column, err);
    hn_file_unref(csv);
    return status;
}
