/* raw:FOLDER[,labels=FILE.csv][,dtype=TYPE], one file of bare little-endian elements per sample,
 * its label in the last column of the csv or by its folder, as dataset_files.h says. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/dataset_files.h"

static hone_status size_of(const hn_dataset *ds, int64_t i, int64_t *bytes, hn_error *err) {
    char path[PATH_MAX];
    struct stat st;
    HN_TRY(hn_dataset_path(ds, i, path, err));
    HN_CHECK(err, stat(path, &st) == 0, HONE_E_IO, "cannot find '%s': %s", path, strerror(errno));
    *bytes = (int64_t)st.st_size;
    return HONE_OK;
}

static bool is_data(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot == NULL || strcmp(dot, ".csv") != 0;
}

static hone_status open_raw(hn_dataset *ds, hn_error *err) {
    HN_TRY(hn_dataset_list(ds, -1, is_data, err));
    hone_dtype dtype = ds->spec.dtype != HONE_DTYPE_NONE ? ds->spec.dtype : HONE_DTYPE_U8;
    int64_t bytes = 0, first = 0, width = hone_dtype_bits(dtype) / 8;
    HN_TRY(size_of(ds, 0, &first, err));
    HN_TRY(hn_dataset_add_fields(ds, 1, 0, err));
    int64_t count = width > 0 ? first / width : 0;
    HN_CHECK(err, width == 0 || (first > 0 && first % width == 0), HONE_E_FORMAT,
             "'%s/%s' has %" PRId64 " bytes, which is not a number of elements of type %s",
             ds->spec.path, ds->names[0], first, hone_dtype_name(dtype));
    HN_TRY(hn_dataset_set_shape(ds, 0, dtype, 1, &count, err));
    for (int64_t i = 1; i < ds->total; i++) {
        HN_TRY(size_of(ds, i, &bytes, err));
        HN_CHECK(err, bytes == first, HONE_E_FORMAT,
                 "'%s/%s' has %" PRId64 " bytes, '%s' has %" PRId64, ds->spec.path, ds->names[i],
                 bytes, ds->names[0], first);
    }
    return HONE_OK;
}

static hone_status sample(const hn_dataset *ds, hn_dataset_room *room, int field, int64_t i,
                          const void **data, hn_error *err) {
    char path[PATH_MAX];
    HN_TRY(hn_dataset_path(ds, i, path, err));
    hn_file_unref(room->file);
    room->file = NULL;
    HN_TRY(hn_file_open(&room->file, path, false, ds->alloc, err));
    HN_CHECK(err, room->file->bytes == ds->fields[field].bytes, HONE_E_FORMAT,
             "'%s' has %zu bytes; it had %zu when the dataset was opened", path, room->file->bytes,
             ds->fields[field].bytes);
    *data = room->file->data;
    return HONE_OK;
}

const hn_dataset_kind hn_dataset_raw = {.name = "raw",
                                        .path = "FOLDER",
                                        .path_is = HN_PATH_FOLDER,
                                        .labelled = "labels=FILE.csv or a folder per class",
                                        .keys = HN_KEYS_STORED | HN_KEY(LABELS) | HN_KEY(DTYPE),
                                        .open = open_raw,
                                        .sample = sample};
