/* cifar10:FILE, the binary version of CIFAR-10: records of one label byte and 3 x 32 x 32 bytes,
 * red plane first. */
#include <inttypes.h>

#include "formats/dataset_kind.h"

enum { RECORD_BYTES = 1 + 3 * 32 * 32, CLASSES = 10 };

static hone_status open_cifar10(hn_dataset *ds, hn_error *err) {
    HN_TRY(hn_file_open_unpacked(&ds->file, ds->spec.path, 0, ds->alloc, err));
    const hn_file *file = ds->file;
    HN_CHECK(err, file->bytes % RECORD_BYTES == 0 && file->bytes > 0, HONE_E_FORMAT,
             "'%s' has %zu bytes, which is not a number of CIFAR-10 records of %d", file->path,
             file->bytes, RECORD_BYTES);
    ds->total = (int64_t)(file->bytes / RECORD_BYTES);
    HN_TRY(hn_dataset_add_fields(ds, 1, 0, err));
    HN_TRY(hn_dataset_set_shape(ds, 0, HONE_DTYPE_U8, 3, (const int64_t[]){3, 32, 32}, err));
    ds->fields[0].chw = true;
    ds->fields[0].data = file->data + 1;
    ds->fields[0].stride = RECORD_BYTES;
    HN_TRY(hn_dataset_add_labels(ds, err));
    for (int64_t i = 0; i < ds->total; i++) {
        ds->labels[i] = file->data[(size_t)i * RECORD_BYTES];
        HN_CHECK(err, ds->labels[i] < CLASSES, HONE_E_FORMAT,
                 "'%s': record %" PRId64 " has label %" PRId64 "; CIFAR-10 has classes 0 to 9",
                 file->path, i, ds->labels[i]);
    }
    return HONE_OK;
}

const hn_dataset_kind hn_dataset_cifar10 = {.name = "cifar10",
                                            .path = "FILE",
                                            .path_is = HN_PATH_FILE,
                                            .endings = ".bin",
                                            .keys = HN_KEYS_STORED,
                                            .open = open_cifar10};
