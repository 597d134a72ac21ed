#include "formats/dataset_boxes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "formats/dataset_text.h"

enum { COLUMNS = 1 + HN_BOX_NUMBERS };

/* What says which files there are. */
static const char *list_of(const hn_dataset *ds) {
    return ds->spec.labels != NULL ? ds->spec.labels : ds->spec.path;
}

/* The name and the numbers of a row. False: it is not one of boxes. */
static bool read_row(hn_row row, const char **name, size_t *name_bytes,
                     double box[HN_BOX_NUMBERS]) {
    const char *text = "";
    size_t n = 0;
    int i = 0;
    int64_t class;
    for (; i < COLUMNS && hn_row_next(&row, &text, &n); i++) {
        if (i == 0) *name = text, *name_bytes = n;
        if (i == 1 && (!hn_text_s64(text, n, &class) || class < 0)) return false;
        if (i > 0 && !hn_text_f64(text, n, &box[i - 1])) return false;
    }
    return i == COLUMNS && !hn_row_next(&row, &text, &n) && box[1] <= box[3] && box[2] <= box[4];
}

/* Goes over the rows twice: to count the boxes of each sample, and to put each in its place. */
static hone_status read_rows(hn_dataset *ds, const hn_file *csv, const hn_map *names, float *boxes,
                             int64_t *n_rows, hn_error *err) {
    hn_rows rows = hn_rows_of(csv->data, csv->bytes);
    *n_rows = 0;
    bool first = true;
    for (hn_row row; hn_rows_next(&rows, &row); first = false) {
        const char *name = "";
        size_t bytes = 0;
        double box[HN_BOX_NUMBERS];
        bool valid = read_row(row, &name, &bytes, box);
        if (first && !valid) continue; /* headings */
        HN_CHECK(err, valid, HONE_E_FORMAT,
                 "'%s' line %" PRId64
                 " is not a file, a class and the left, top, right and bottom "
                 "of a box",
                 csv->path, rows.line);
        const char *const *at = hn_map_get(names, name, bytes);
        HN_CHECK(err, at != NULL, HONE_E_FORMAT,
                 "'%s' line %" PRId64 ": '%.*s' is none of the files of '%s'", csv->path, rows.line,
                 bytes < 100 ? (int)bytes : 100, name, list_of(ds));
        int64_t *place = &ds->place[at - ds->names];
        if (boxes != NULL)
            for (int i = 0; i < HN_BOX_NUMBERS; i++)
                boxes[*place * HN_BOX_NUMBERS + i] = (float)box[i];
        ++*place;
        ++*n_rows;
    }
    return HONE_OK;
}

static hone_status name_files(const hn_dataset *ds, hn_map *names, hn_error *err) {
    for (int64_t i = 0; i < ds->total; i++) {
        const char *name = ds->names[i];
        HN_CHECK(err, hn_map_get(names, name, strlen(name)) == NULL, HONE_E_FORMAT,
                 "'%s' names '%s' twice", list_of(ds), name);
        if (!hn_map_put(names, name, strlen(name), &ds->names[i])) return HN_NOMEM(err);
    }
    return HONE_OK;
}

static hone_status read_file(hn_dataset *ds, int field, const hn_file *csv, const hn_map *names,
                             hn_error *err) {
    int64_t n = 0, most = 1, before = 0;
    HN_TRY(read_rows(ds, csv, names, NULL, &n, err));
    for (int64_t i = 0; i < ds->total; i++) { /* counts become where the first box goes */
        int64_t count = ds->place[i];
        most = count > most ? count : most;
        ds->place[i] = before;
        before += count;
    }
    hn_dataset_source *f = &ds->fields[field];
    HN_TRY(hn_dataset_set_shape(ds, field, HONE_DTYPE_F32, 2,
                                (const int64_t[]){most, HN_BOX_NUMBERS}, err));
    f->shown.name = "boxes";
    f->array.data =
        hn_alloc_array(ds->alloc, (size_t)n, HN_BOX_NUMBERS * sizeof(float), HN_MEM_DATA);
    if (f->array.data == NULL) return HN_NOMEM(err);
    return read_rows(ds, csv, names, f->array.data, &n, err); /* and now behind the last one */
}

hone_status hn_dataset_read_boxes(hn_dataset *ds, int field, const char *path, hn_error *err) {
    hn_file *csv = NULL;
    hn_map names;
    HN_TRY(hn_file_open_unpacked(&csv, path, 0, ds->alloc, err));
    hn_map_init(&names, ds->alloc);
    ds->place = hn_alloc_zero(ds->alloc, (size_t)ds->total * sizeof *ds->place, HN_MEM_DATA);
    hone_status status = ds->place != NULL ? name_files(ds, &names, err) : HN_NOMEM(err);
    if (status == HONE_OK) status = read_file(ds, field, csv, &names, err);
    hn_map_deinit(&names);
    hn_file_unref(csv);
    return status;
}

void hn_dataset_boxes(const hn_dataset *ds, int field, int64_t i, const hn_image *image,
                      const hn_image_part *part, float *dst) {
    const hn_dataset_source *f = &ds->fields[field];
    const float *all = f->array.data;
    double across = (double)part->width / (double)image->width;
    double down = (double)part->height / (double)image->height;
    int64_t end = ds->place[i];
    for (int64_t b = i > 0 ? ds->place[i - 1] : 0; b < end; b++) {
        const float *box = all + b * HN_BOX_NUMBERS;
        double cut[4];
        for (int k = 0; k < 4; k++) {
            bool x = k % 2 == 0;
            double at = box[k + 1] * (x ? across : down) - (double)(x ? part->x : part->y);
            cut[k] = fmin(fmax(at, 0), (double)(x ? part->columns : part->rows));
        }
        if (!(cut[0] < cut[2] && cut[1] < cut[3])) continue;
        *dst++ = box[0];
        for (int k = 0; k < 4; k++) *dst++ = (float)cut[k];
    }
}
