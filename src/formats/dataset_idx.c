/* idx:IMAGES[,labels=LABELS], the format of MNIST: two zero bytes, the type, the number of axes,
 * the dims as 32-bit big-endian numbers, the elements, big-endian too. The first axis counts the
 * samples. */
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/size.h"
#include "formats/dataset_kind.h"

typedef struct header {
    hone_dtype dtype;
    int rank;
    int64_t dims[HONE_MAX_RANK];
    size_t bytes; /* where the elements start */
} header;

static hone_dtype type_of(unsigned char code) {
    switch (code) {
        case 0x08: return HONE_DTYPE_U8;
        case 0x09: return HONE_DTYPE_S8;
        case 0x0b: return HONE_DTYPE_S16;
        case 0x0c: return HONE_DTYPE_S32;
        case 0x0d: return HONE_DTYPE_F32;
        case 0x0e: return HONE_DTYPE_F64;
        default: return HONE_DTYPE_NONE;
    }
}

static hone_status read_header(const hn_file *file, header *h, hn_error *err) {
    const unsigned char *d = file->data;
    HN_CHECK(err, file->bytes >= 4 && d[0] == 0 && d[1] == 0, HONE_E_FORMAT,
             "'%s' is not an idx file: it does not start with two zero bytes and a type",
             file->path);
    h->dtype = type_of(d[2]);
    h->rank = d[3];
    h->bytes = 4 + 4 * (size_t)h->rank;
    HN_CHECK(err, h->dtype != HONE_DTYPE_NONE, HONE_E_FORMAT,
             "'%s' has idx type 0x%02x; 08, 09, 0b, 0c, 0d and 0e are known", file->path, d[2]);
    HN_CHECK(err, h->rank >= 1 && h->rank <= HONE_MAX_RANK, HONE_E_FORMAT,
             "'%s' has %d axes; 1 to %d are read", file->path, h->rank, HONE_MAX_RANK);
    HN_CHECK(err, file->bytes >= h->bytes, HONE_E_FORMAT,
             "'%s' has %zu bytes and ends inside its dims", file->path, file->bytes);
    for (int i = 0; i < h->rank; i++) {
        const unsigned char *p = d + 4 + 4 * i;
        h->dims[i] = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
    }
    int64_t count;
    size_t bytes = 0;
    bool fits = hn_dims_count(h->dims, h->rank, &count) &&
                hn_packed_bytes(count, hone_dtype_bits(h->dtype), &bytes);
    HN_CHECK(err, fits && bytes == file->bytes - h->bytes, HONE_E_FORMAT,
             "'%s' has %zu bytes of elements; its dims and type need %s%zu", file->path,
             file->bytes - h->bytes, fits ? "" : "over ", fits ? bytes : SIZE_MAX);
    HN_CHECK(err, h->dims[0] > 0, HONE_E_FORMAT, "'%s' has no samples", file->path);
    return HONE_OK;
}

static void swap_copy(unsigned char *dst, const unsigned char *src, size_t bytes, size_t width) {
    for (size_t i = 0; i < bytes; i += width)
        for (size_t k = 0; k < width; k++) dst[i + k] = src[i + width - 1 - k];
}

static hone_status sample(const hn_dataset *ds, hn_dataset_room *room, int field, int64_t i,
                          const void **data, hn_error *err) {
    (void)err;
    const hn_dataset_source *f = &ds->fields[field];
    swap_copy(room->sample, f->data + (size_t)i * f->stride, f->bytes,
              (size_t)hone_dtype_bits(f->shown.dtype) / 8);
    *data = room->sample;
    return HONE_OK;
}

static hone_status read_labels(hn_dataset *ds, const hn_file *file, hn_error *err) {
    header h;
    HN_TRY(read_header(file, &h, err));
    HN_CHECK(err, h.rank == 1 && hn_dtype_is_int(h.dtype), HONE_E_FORMAT,
             "'%s' has %d axes of %s; labels are one axis of integers", file->path, h.rank,
             hone_dtype_name(h.dtype));
    HN_CHECK(err, h.dims[0] == ds->total, HONE_E_FORMAT,
             "'%s' has %" PRId64 " labels for the %" PRId64 " samples of '%s'", file->path,
             h.dims[0], ds->total, ds->file->path);
    HN_TRY(hn_dataset_add_labels(ds, err));
    size_t width = (size_t)hone_dtype_bits(h.dtype) / 8;
    for (int64_t i = 0; i < ds->total; i++) {
        unsigned char element[4];
        swap_copy(element, file->data + h.bytes + (size_t)i * width, width, width);
        ds->labels[i] = hn_load_s64(h.dtype, element, 0);
    }
    return HONE_OK;
}

static hone_status open_idx(hn_dataset *ds, hn_error *err) {
    header h;
    HN_TRY(hn_file_open_unpacked(&ds->file, ds->spec.path, 0, ds->alloc, err));
    HN_TRY(read_header(ds->file, &h, err));
    ds->total = h.dims[0];
    HN_TRY(hn_dataset_add_fields(ds, 1, 0, err));
    HN_TRY(hn_dataset_set_shape(ds, 0, h.dtype, h.rank - 1, h.dims + 1, err));
    ds->fields[0].data = ds->file->data + h.bytes;
    if (ds->spec.labels == NULL) return HONE_OK;
    hn_file *labels = NULL;
    HN_TRY(hn_file_open_unpacked(&labels, ds->spec.labels, 0, ds->alloc, err));
    hone_status status = read_labels(ds, labels, err);
    hn_file_unref(labels);
    return status;
}

const hn_dataset_kind hn_dataset_idx = {.name = "idx",
                                        .path = "IMAGES",
                                        .path_is = HN_PATH_FILE,
                                        .endings = "-ubyte .idx",
                                        .labelled = "labels=FILE",
                                        .keys = HN_KEYS_STORED | HN_KEY(LABELS),
                                        .open = open_idx,
                                        .sample = sample};
