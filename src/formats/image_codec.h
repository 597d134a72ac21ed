/* One file format of images; included by image*.c only. */
#ifndef HN_FORMATS_IMAGE_CODEC_H
#define HN_FORMATS_IMAGE_CODEC_H

#include "formats/image.h"

typedef enum hn_image_want { HN_IMAGE_SIZE, HN_IMAGE_PIXELS, HN_IMAGE_CLASSES } hn_image_want;

/* Reads the size and, unless that is all, calls hn_image_make and fills rgb. On failure the caller
 * releases what is there. Classes are asked of a PNG only. */
typedef hone_status hn_image_decode(hn_image *out, const hn_file *file, hn_image_want want,
                                    hn_allocator *alloc, hn_error *err);
hn_image_decode hn_image_decode_jpeg, hn_image_decode_png;

/* Checks width and height and makes room for the pixels. */
hone_status hn_image_make(hn_image *image, const hn_file *file, hn_allocator *alloc, hn_error *err);

#endif
