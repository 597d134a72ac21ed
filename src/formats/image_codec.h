/* One file format of images; included by image*.c only. */
#ifndef HN_FORMATS_IMAGE_CODEC_H
#define HN_FORMATS_IMAGE_CODEC_H

#include "formats/image.h"

/* Reads the size and, if `pixels`, calls hn_image_make and fills rgb. On failure the caller
 * releases what is there. */
typedef hone_status hn_image_decode(hn_image *out, const hn_file *file, bool pixels,
                                    hn_allocator *alloc, hn_error *err);
hn_image_decode hn_image_decode_jpeg, hn_image_decode_png;

/* Checks width and height and makes room for the pixels. */
hone_status hn_image_make(hn_image *image, const hn_file *file, hn_allocator *alloc, hn_error *err);

#endif
