/* images:FOLDER[,labels=FILE.csv][,resize=N|H:W][,crop=N][,boxes=FILE.csv][,masks=FOLDER], one JPEG
 * or PNG file per sample, its label in the second column of the csv or by its folder, as
 * dataset_files.h says. The short side is scaled to `resize` pixels, the other in proportion,
 * rounded down, or both as given; `crop` takes the square in the middle. Without it, all images
 * must come out at the size of the first. Boxes and masks go through the same scaling and cropping.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/span.h"
#include "formats/dataset_boxes.h"
#include "formats/dataset_files.h"

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
    if (status == HONE_OK)
        status = hn_image_part_of(part, &ds->spec.scaling, image->width, image->height, path, err);
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

static hone_status open_targets(hn_dataset *ds, hn_error *err) {
    char path[PATH_MAX];
    const int64_t *dims = ds->fields[0].shown.dims;
    int next = ds->n_fields;
    if (ds->spec.boxes != NULL) {
        HN_TRY(hn_dataset_beside(ds, ds->spec.boxes, path, err));
        HN_TRY(hn_dataset_read_boxes(ds, next++, path, err));
    }
    if (ds->spec.masks != NULL) {
        HN_TRY(hn_dataset_beside(ds, ds->spec.masks, path, err));
        ds->spec.masks = hn_arena_strdup(&ds->arena, path);
        if (ds->spec.masks == NULL) return HN_NOMEM(err);
        ds->fields[next].shown.name = "mask";
        HN_TRY(hn_dataset_set_shape(ds, next, HONE_DTYPE_U8, 2, dims + 1, err));
    }
    return HONE_OK;
}

static bool is_image(const char *name) {
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

static hone_status open_images(hn_dataset *ds, hn_error *err) {
    hn_image_part part = {0};
    HN_TRY(hn_dataset_list(ds, 1, is_image, err));
    ds->damaged = hn_alloc_zero(ds->alloc, (size_t)ds->total * sizeof *ds->damaged, HN_MEM_DATA);
    if (ds->damaged == NULL) return HN_NOMEM(err);
    HN_TRY(find_size(ds, &part, err));
    int targets = (ds->spec.boxes != NULL) + (ds->spec.masks != NULL);
    HN_TRY(hn_dataset_add_fields(ds, 1, targets, err));
    int64_t dims[] = {3, part.rows, part.columns};
    HN_TRY(hn_dataset_set_shape(ds, 0, HONE_DTYPE_U8, 3, dims, err));
    ds->fields[0].chw = true;
    return open_targets(ds, err);
}

static hone_status check_size(const hn_dataset *ds, int64_t i, const hn_image_part *part,
                              hn_error *err) {
    const int64_t *dims = ds->fields[0].shown.dims;
    HN_CHECK(err, part->rows == dims[1] && part->columns == dims[2], HONE_E_SHAPE,
             "'%s/%s' comes out at %" PRId64 " x %" PRId64 " pixels, the first image at %" PRId64
             " x %" PRId64 "; crop=N makes them equal",
             ds->spec.path, ds->names[i], part->columns, part->rows, dims[2], dims[1]);
    return HONE_OK;
}

/* The png of the image's name in the folder of masks. */
static hone_status mask_path(const hn_dataset *ds, int64_t i, char path[PATH_MAX], hn_error *err) {
    const char *name = ds->names[i], *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    size_t stem =
        dot != NULL && (slash == NULL || dot > slash) ? (size_t)(dot - name) : strlen(name);
    int n = snprintf(path, PATH_MAX, "%s/%.*s.png", ds->spec.masks, (int)stem, name);
    HN_CHECK(err, n < PATH_MAX, HONE_E_LIMIT, "a path in '%s' is over %d characters long",
             ds->spec.masks, PATH_MAX);
    return HONE_OK;
}

/* The pixel of n that the middle of pixel i of `scaled` lies on. */
static int64_t nearest(int64_t i, int64_t scaled, int64_t n) {
    int64_t at = (int64_t)(((double)i + 0.5) * (double)n / (double)scaled);
    return at < n ? at : n - 1;
}

/* Classes have no mean: each pixel takes that of the nearest one. */
static hone_status read_mask(const hn_dataset *ds, int64_t i, const hn_image *image,
                             const hn_image_part *part, unsigned char *dst, hn_error *err) {
    char path[PATH_MAX];
    hn_file *file = NULL;
    hn_image mask = {0};
    HN_TRY(mask_path(ds, i, path, err));
    HN_TRY(hn_file_open(&file, path, false, ds->alloc, err));
    hone_status status = hn_image_read_classes(&mask, file, ds->alloc, err);
    hn_file_unref(file);
    if (status == HONE_OK && (mask.width != image->width || mask.height != image->height))
        status =
            HN_FAIL(err, HONE_E_SHAPE,
                    "'%s' is %" PRId64 " x %" PRId64 " pixels, its image %" PRId64 " x %" PRId64,
                    path, mask.width, mask.height, image->width, image->height);
    for (int64_t y = 0; y < part->rows && status == HONE_OK; y++) {
        const unsigned char *row =
            mask.rgb + nearest(part->y + y, part->height, mask.height) * mask.width;
        for (int64_t x = 0; x < part->columns; x++)
            *dst++ = row[nearest(part->x + x, part->width, mask.width)];
    }
    hn_image_deinit(&mask, ds->alloc);
    return status;
}

static hone_status scale(const hn_dataset *ds, const hn_image *image, const hn_image_part *part,
                         unsigned char *dst, hn_error *err) {
    int64_t begun = hn_span_begin();
    hone_status status = hn_image_scale(image, part, dst, ds->alloc, err);
    hn_span_end("data", "resize", begun, -1);
    return status;
}

static hone_status sample(const hn_dataset *ds, hn_dataset_room *room, int field, int64_t i,
                          const void **data, hn_error *err) {
    hn_image image = {0};
    hn_image_part part;
    bool pixels = field == 0, boxes = field == ds->n_fields && ds->spec.boxes != NULL;
    hone_status status = read_image(ds, i, pixels, &image, &part, err);
    if (status == HONE_OK) status = check_size(ds, i, &part, err);
    if (status == HONE_OK && boxes) {
        float *rows = (float *)(void *)room->sample;
        for (int64_t k = 0; k < ds->fields[field].count; k++)
            rows[k] = k % HN_BOX_NUMBERS == 0 ? -1 : 0;
        hn_dataset_boxes(ds, field, i, &image, &part, rows);
    } else if (status == HONE_OK) {
        status = pixels ? scale(ds, &image, &part, room->sample, err)
                        : read_mask(ds, i, &image, &part, room->sample, err);
    }
    hn_image_deinit(&image, ds->alloc);
    *data = room->sample;
    return status;
}

const hn_dataset_kind hn_dataset_images = {.name = "images",
                                           .path = "FOLDER",
                                           .path_is = HN_PATH_FOLDER,
                                           .labelled = "labels=FILE.csv or a folder per class",
                                           .keys = HN_KEYS_STORED | HN_KEY(LABELS) |
                                                   HN_KEY(RESIZE) | HN_KEY(CROP) | HN_KEY(BOXES) |
                                                   HN_KEY(MASKS),
                                           .open = open_images,
                                           .sample = sample};
