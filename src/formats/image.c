#include "formats/image.h"

#include <inttypes.h>
#include <string.h>

#include "formats/image_codec.h"

hone_status hn_image_make(hn_image *image, const hn_file *file, hn_allocator *alloc,
                          hn_error *err) {
    int64_t most = HN_IMAGE_BYTES / 3;
    HN_CHECK(err, image->width > 0 && image->height > 0, HONE_E_FORMAT, "'%s' has no pixels",
             file->path);
    HN_CHECK(err, image->width <= most / image->height, HONE_E_LIMIT,
             "'%s' is %" PRId64 " x %" PRId64 " pixels; at most %" PRId64 " are read", file->path,
             image->width, image->height, most);
    image->rgb = hn_alloc(alloc, (size_t)(image->width * image->height) * 3, HN_MEM_DATA);
    HN_CHECK(err, image->rgb != NULL, HONE_E_NOMEM,
             "out of memory for the %" PRId64 " x %" PRId64 " pixels of '%s'", image->width,
             image->height, file->path);
    return HONE_OK;
}

static hone_status decode(hn_image *out, const hn_file *file, hn_image_want want,
                          hn_allocator *alloc, hn_error *err) {
    bool jpeg = file->bytes >= 3 && memcmp(file->data, "\xff\xd8\xff", 3) == 0;
    bool png = file->bytes >= 8 && memcmp(file->data, "\x89PNG\r\n\x1a\n", 8) == 0;
    HN_CHECK(err, png || want != HN_IMAGE_CLASSES, HONE_E_FORMAT, "'%s' is not a PNG file",
             file->path);
    HN_CHECK(err, jpeg || png, HONE_E_FORMAT, "'%s' is neither a JPEG nor a PNG file", file->path);
    hn_image image = {0};
    hone_status status = jpeg ? hn_image_decode_jpeg(&image, file, want, alloc, err)
                              : hn_image_decode_png(&image, file, want, alloc, err);
    if (status != HONE_OK) {
        hn_image_deinit(&image, alloc);
        return status;
    }
    *out = image;
    return HONE_OK;
}

hone_status hn_image_read_size(hn_image *out, const hn_file *file, hn_allocator *alloc,
                               hn_error *err) {
    return decode(out, file, HN_IMAGE_SIZE, alloc, err);
}

hone_status hn_image_read(hn_image *out, const hn_file *file, hn_allocator *alloc, hn_error *err) {
    return decode(out, file, HN_IMAGE_PIXELS, alloc, err);
}

hone_status hn_image_read_classes(hn_image *out, const hn_file *file, hn_allocator *alloc,
                                  hn_error *err) {
    return decode(out, file, HN_IMAGE_CLASSES, alloc, err);
}

void hn_image_deinit(hn_image *image, hn_allocator *alloc) {
    hn_free(alloc, image->rgb);
    *image = (hn_image){0};
}
