#include "formats/dataset_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
bool hn_dataset_inside(const char *name) {
    if (name[0] == '/' || name[0] == '\0') return false;
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0')) return false;
    }
    return true;
}

/* A row's cells that matter, and how many there are. A single one may be either. */
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
        if (column < 0 || c.columns == 0 || c.columns == column) c.label = text, c.label_bytes = n;
    }
    return c;
}

static hone_status read_label(const hn_dataset *ds, const hn_file *csv, int64_t line,
                              const cells *c, int64_t column, int64_t i, hn_error *err) {
    HN_CHECK(err, hn_text_s64(c->label, c->label_bytes, &ds->labels[i]), HONE_E_FORMAT,
             "'%s' line %" PRId64 ", column %" PRId64 ": '%.*s' is not a label, a whole number",
             csv->path, line, column < 0 ? c->columns : column + 1,
             c->label_bytes < 40 ? (int)c->label_bytes : 40, c->label);
    return HONE_OK;
}

static hone_status read_name(hn_dataset *ds, const hn_file *csv, int64_t line, const cells *c,
                             int64_t i, hn_error *err) {
    ds->names[i] = hn_arena_strndup(&ds->arena, c->name, c->name_bytes);
    if (ds->names[i] == NULL) return HN_NOMEM(err);
    HN_CHECK(err, strlen(ds->names[i]) == c->name_bytes && hn_dataset_inside(ds->names[i]),
             HONE_E_FORMAT,
             "'%s' line %" PRId64 ": '%s' is not the name of a file inside the folder", csv->path,
             line, ds->names[i]);
    return HONE_OK;
}

/* ---- the folder ---- */

typedef struct names {
    const char **list;
    int64_t n, room;
} names;

static hone_status add_name(hn_dataset *ds, names *to, const char *folder, const char *name,
                            hn_error *err) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s%s", folder, *folder != '\0' ? "/" : "", name);
    HN_CHECK(err, n < (int)sizeof path, HONE_E_LIMIT, "a path in '%s' is over %d characters long",
             folder, PATH_MAX);
    if (to->n == to->room) {
        int64_t room = to->room > 0 ? 2 * to->room : 64;
        const char **list = hn_arena_array(&ds->arena, (size_t)room, sizeof *list);
        if (list == NULL) return HN_NOMEM(err);
        if (to->n > 0) memcpy(list, to->list, (size_t)to->n * sizeof *list);
        to->list = list;
        to->room = room;
    }
    to->list[to->n] = hn_arena_strdup(&ds->arena, path);
    if (to->list[to->n] == NULL) return HN_NOMEM(err);
    to->n++;
    return HONE_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the samples of a folder in the dataset's own, or with NULL its folders, in order. */
static hone_status add_entries(hn_dataset *ds, const char *inside, hn_is_sample *is_sample,
                               names *to, hn_error *err) {
    char path[PATH_MAX];
    int64_t first = to->n;
    hone_status status = HONE_OK;
    HN_TRY(join(path, ds->spec.path, inside, err));
    DIR *folder = opendir(path);
    HN_CHECK(err, folder != NULL, HONE_E_IO, "cannot open the folder '%s': %s", path,
             strerror(errno));
    for (struct dirent *e; status == HONE_OK && (e = readdir(folder)) != NULL;) {
        struct stat st;
        if (e->d_name[0] == '.' || fstatat(dirfd(folder), e->d_name, &st, 0) != 0) continue;
        if (is_sample != NULL ? S_ISREG(st.st_mode) && is_sample(e->d_name) : S_ISDIR(st.st_mode))
            status = add_name(ds, to, inside, e->d_name, err);
    }
    closedir(folder);
    if (to->n > first) qsort(to->list + first, (size_t)(to->n - first), sizeof *to->list, by_name);
    return status;
}

/* The number of a folder in the order of their names is the label of its files. */
static hone_status label_by_folder(hn_dataset *ds, const names *folders, hn_error *err) {
    int64_t label = 0;
    HN_TRY(hn_dataset_add_labels(ds, err));
    for (int64_t i = 0; i < ds->total; i++) {
        size_t n = (size_t)(strchr(ds->names[i], '/') - ds->names[i]);
        while (strncmp(folders->list[label], ds->names[i], n) != 0 ||
               folders->list[label][n] != '\0')
            label++;
        ds->labels[i] = label;
    }
    return HONE_OK;
}

static hone_status list_folder(hn_dataset *ds, hn_is_sample *is_sample, bool by_class,
                               hn_error *err) {
    names files = {0}, folders = {0};
    HN_TRY(add_entries(ds, "", is_sample, &files, err));
    bool flat = files.n > 0;
    if (!flat) HN_TRY(add_entries(ds, "", NULL, &folders, err));
    for (int64_t i = 0; i < folders.n; i++)
        HN_TRY(add_entries(ds, folders.list[i], is_sample, &files, err));
    HN_CHECK(err, files.n > 0, HONE_E_FORMAT, "the folder '%s' has no samples of the kind %s",
             ds->spec.path, ds->spec.kind->name);
    ds->names = files.list;
    ds->total = files.n;
    return flat || !by_class ? HONE_OK : label_by_folder(ds, &folders, err);
}

/* ---- the csv ---- */

typedef enum form { FORM_FILES_AND_LABELS, FORM_FILES, FORM_LABELS } form;

/* What the rows of a csv hold. */
typedef struct table {
    form form;
    int64_t headings; /* rows of them, 0 or 1 */
    int64_t rows;     /* beside them */
} table;

static bool is_name(const cells *c, hn_is_sample *is_sample) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%.*s", c->name_bytes < sizeof name ? (int)c->name_bytes : 0,
             c->name);
    return is_sample(name);
}

static table table_of(const hn_file *csv, int64_t column, hn_is_sample *is_sample) {
    hn_rows rows = hn_rows_of(csv->data, csv->bytes);
    table t = {.form = FORM_FILES};
    int64_t number, numbers = 0;
    bool labelled = true, named = true; /* the first row */
    for (hn_row row; hn_rows_next(&rows, &row); t.rows++) {
        cells c = cells_of(row, column);
        bool is_number = hn_text_s64(c.label, c.label_bytes, &number);
        if (c.columns >= 2) t.form = FORM_FILES_AND_LABELS;
        if (t.rows == 0) labelled = is_number, named = is_name(&c, is_sample);
        numbers += is_number && c.columns == 1;
    }
    if (t.form == FORM_FILES && numbers > 0 && numbers >= t.rows - 1) t.form = FORM_LABELS;
    t.headings = t.rows > 0 && (t.form == FORM_FILES ? !named : !labelled);
    t.rows -= t.headings;
    return t;
}

static hone_status read_rows(hn_dataset *ds, const hn_file *csv, int64_t column, const table *t,
                             hn_error *err) {
    hn_rows rows = hn_rows_of(csv->data, csv->bytes);
    int64_t i = -t->headings;
    for (hn_row row; hn_rows_next(&rows, &row); i++) {
        cells c = cells_of(row, column);
        if (i < 0) continue;
        HN_CHECK(err, t->form != FORM_FILES_AND_LABELS || c.columns >= 2, HONE_E_FORMAT,
                 "'%s' line %" PRId64 " has one column; a file and a label are the least",
                 csv->path, rows.line);
        if (t->form != FORM_FILES) HN_TRY(read_label(ds, csv, rows.line, &c, column, i, err));
        if (t->form != FORM_LABELS) HN_TRY(read_name(ds, csv, rows.line, &c, i, err));
    }
    return HONE_OK;
}

static hone_status read_csv(hn_dataset *ds, const hn_file *csv, int64_t column,
                            hn_is_sample *is_sample, hn_error *err) {
    table t = table_of(csv, column, is_sample);
    HN_CHECK(err, t.rows > 0, HONE_E_FORMAT, "'%s' has no rows of a file and its label", csv->path);
    if (t.form == FORM_LABELS) {
        HN_TRY(list_folder(ds, is_sample, false, err));
        HN_CHECK(err, t.rows == ds->total, HONE_E_FORMAT,
                 "'%s' has %" PRId64 " labels, but '%s' has %" PRId64 " files", csv->path, t.rows,
                 ds->spec.path, ds->total);
    } else {
        ds->total = t.rows;
        ds->names = hn_arena_array(&ds->arena, (size_t)ds->total, sizeof *ds->names);
        if (ds->names == NULL) return HN_NOMEM(err);
    }
    if (t.form != FORM_FILES) HN_TRY(hn_dataset_add_labels(ds, err));
    return read_rows(ds, csv, t.form == FORM_LABELS ? 0 : column, &t, err);
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

hone_status hn_dataset_list(hn_dataset *ds, int64_t column, hn_is_sample *is_sample,
                            hn_error *err) {
    char path[PATH_MAX];
    hn_file *csv = NULL;
    if (ds->spec.labels == NULL) return list_folder(ds, is_sample, true, err);
    HN_TRY(hn_dataset_beside(ds, ds->spec.labels, path, err));
    HN_TRY(hn_file_open_unpacked(&csv, path, 0, ds->alloc, err));
    hone_status status = read_csv(ds, csv, column, is_sample, err);
    hn_file_unref(csv);
    return status;
}
