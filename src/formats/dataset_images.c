/* images:FOLDER,labels=FILE.csv[,resize=N][,crop=N], one JPEG or PNG file per sample, its label in
 * the second column of the csv. The short side is scaled to `resize` pixels, the other in
 * proportion, rounded down; `crop` takes the square in the middle. Without it, all images must come
 * out at the size of the first. */
#include <inttypes.h>

#include "base/span.h"
#include "formats/dataset_files.h"
#include "formats/image.h"

/* Which part of an image of this size is wanted, scaled to what. */
static hone_status part_of(const hn_dataset_spec *s, const char *path, const hn_image *image,
                           hn_image_part *part, hn_error *err) {
    int64_t width = image->width, height = image->height, crop = s->crop;
    if (s->resize > 0) {
        int64_t side = width < height ? width : height;
        width = width * s->resize / side; /* below 2^31 * 2^14 */
        height = height * s->resize / side;
    }
    *part = (hn_image_part){width, height, 0, 0, width, height};
    if (crop > 0) {
        HN_CHECK(err, crop <= width && crop <= height, HONE_E_SHAPE,
                 "'%s' is %" PRId64 " x %" PRId64 " pixels%s, too small for crop=%" PRId64, path,
                 width, height, s->resize > 0 ? " after resize" : "", crop);
        *part = (hn_image_part){width, height, (width - crop) / 2, (height - crop) / 2, crop, crop};
    }
    HN_CHECK(err, part->columns <= HN_IMAGE_BYTES / 3 / part->rows, HONE_E_LIMIT,
             "'%s' would become %" PRId64 " x %" PRId64 " pixels", path, part->columns, part->rows);
    return HONE_OK;
}

/* The file of sample i, and what is wanted of it. A file that is there and no image is remembered
 * as damaged. */
static hone_status read_image(const hn_dataset *ds, int64_t i, bool pixels, hn_image *image,
                              hn_image_part *part, hn_error *err) {
    char path[PATH_MAX];
    hn_file *file = NULL;
    HN_TRY(hn_dataset_path(ds, i, path, err));
    HN_TRY(hn_file_open(&file, path, false, ds->alloc, err));
    hone_status status = pixels ? hn_image_read(image, file, ds->alloc, err)
                                : hn_image_read_size(image, file, ds->alloc, err);
    if (status == HONE_E_FORMAT || status == HONE_E_LIMIT) atomic_store(&ds->damaged[i], 1);
    if (status == HONE_OK) status = part_of(&ds->spec, path, image, part, err);
    hn_file_unref(file);
    return status;
}

/* The first image whose size can be read decides what samples look like. */
static hone_status find_size(hn_dataset *ds, hn_image_part *part, hn_error *err) {
    hone_status status = HONE_OK;
    hn_image image = {0};
    for (int64_t i = 0; i < ds->total; i++) {
        status = read_image(ds, i, false, &image, part, err);
        if (status == HONE_OK || atomic_load(&ds->damaged[i]) == 0) return status;
    }
    hn_error_context(err, "no image can be decoded, the last being");
    return status;
}

static hone_status open_images(hn_dataset *ds, hn_error *err) {
    hn_image_part part = {0};
    HN_TRY(hn_dataset_list(ds, 1, err));
    ds->damaged = hn_alloc_zero(ds->alloc, (size_t)ds->total * sizeof *ds->damaged, HN_MEM_DATA);
    if (ds->damaged == NULL) return HN_NOMEM(err);
    HN_TRY(find_size(ds, &part, err));
    HN_TRY(hn_dataset_add_fields(ds, 1, 0, err));
    int64_t dims[] = {3, part.rows, part.columns};
    HN_TRY(hn_dataset_set_shape(ds, 0, HONE_DTYPE_U8, 3, dims, err));
    ds->fields[0].chw = true;
    return HONE_OK;
}

static hone_status scale(const hn_dataset *ds, int64_t i, const hn_image *image,
                         const hn_image_part *part, unsigned char *dst, hn_error *err) {
    const int64_t *dims = ds->fields[0].shown.dims;
    HN_CHECK(err, part->rows == dims[1] && part->columns == dims[2], HONE_E_SHAPE,
             "'%s/%s' comes out at %" PRId64 " x %" PRId64 " pixels, the first image at %" PRId64
             " x %" PRId64 "; crop=N makes them equal",
             ds->spec.path, ds->names[i], part->columns, part->rows, dims[2], dims[1]);
    int64_t begun = hn_span_begin();
    hone_status status = hn_image_scale(image, part, dst, ds->alloc, err);
    hn_span_end("data", "resize", begun, -1);
    return status;
}

static hone_status sample(const hn_dataset *ds, hn_dataset_room *room, int field, int64_t i,
                          const void **data, hn_error *err) {
    (void)field;
    hn_image image = {0};
    hn_image_part part;
    hone_status status = read_image(ds, i, true, &image, &part, err);
    if (status == HONE_OK) status = scale(ds, i, &image, &part, room->sample, err);
    hn_image_deinit(&image, ds->alloc);
    *data = room->sample;
    return status;
}

const hn_dataset_kind hn_dataset_images = {
    .name = "images",
    .path = "FOLDER",
    .keys = HN_KEYS_STORED | HN_KEY(LABELS) | HN_KEY(RESIZE) | HN_KEY(CROP),
    .open = open_images,
    .sample = sample};
