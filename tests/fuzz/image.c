/* Images: what can be decoded is decoded, and its middle scaled. Sizes are kept small, since an
 * image of few bytes may be as large as the reader allows. */
#include <stdlib.h>
#include <string.h>

#include "formats/image.h"

enum { MOST_PIXELS = 1 << 16 };

static void scale(const hn_image *image, hn_allocator *alloc) {
    static unsigned char dst[3 * 5 * 7];
    hn_image_part part = {.width = 9, .height = 20, .x = 3, .y = 11, .columns = 5, .rows = 7};
    if (hn_image_scale(image, &part, dst, alloc, NULL) != HONE_OK) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_error err;
    hn_image image, whole = {0};
    hn_file *file = NULL;
    void *copy = hn_alloc(&alloc, size, HN_MEM_DATA);
    if (copy == NULL) abort();
    if (size > 0) memcpy(copy, data, size);
    if (hn_file_adopt(&file, "fuzz", copy, size, &alloc, &err) != HONE_OK) abort();
    if (hn_image_read_size(&image, file, &alloc, &err) == HONE_OK &&
        image.width * image.height <= MOST_PIXELS &&
        hn_image_read(&whole, file, &alloc, &err) == HONE_OK) {
        if (whole.width != image.width || whole.height != image.height) abort();
        scale(&whole, &alloc);
    }
    hn_image_deinit(&whole, &alloc);
    hn_file_unref(file);
    if (atomic_load(&alloc.blocks) != 0) abort();
    return 0;
}
