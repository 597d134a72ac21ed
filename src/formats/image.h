/* Image files: JPEG and PNG to 8-bit RGB, and the part of a scaled image that a model wants.
 *
 * Grey becomes three equal channels, a palette its colours; alpha is dropped, 16 bits are rounded
 * to
 * 8. Colour profiles, gamma and the EXIF orientation are ignored: the pixels are those the file
 * stores. CMYK is refused, for want of one right way to make RGB of it. JPEG is decoded by
 * libjpeg's slow integer transform with its fancy upsampling, so that pixels do not depend on the
 * machine; PNG is exact.
 *
 * A damaged or truncated file is an error, not a half-grey image, and so is one of more than
 * HN_IMAGE_BYTES.
 */
#ifndef HN_FORMATS_IMAGE_H
#define HN_FORMATS_IMAGE_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

/* What an image may take as RGB: 89 million pixels. */
#define HN_IMAGE_BYTES ((int64_t)1 << 28)

typedef struct hn_image {
    int64_t width, height;
    unsigned char *rgb; /* [height, width, 3]; of classes [height, width] */
} hn_image;

/* Only what the header says; rgb is left NULL. */
hone_status hn_image_read_size(hn_image *out, const hn_file *file, hn_allocator *alloc,
                               hn_error *err);
hone_status hn_image_read(hn_image *out, const hn_file *file, hn_allocator *alloc, hn_error *err);
/* A PNG of one channel of at most 8 bits or with a palette, whose values stand for something: they
 * come as they are stored, one byte for a pixel. */
hone_status hn_image_read_classes(hn_image *out, const hn_file *file, hn_allocator *alloc,
                                  hn_error *err);
void hn_image_deinit(hn_image *image, hn_allocator *alloc); /* one that is all zero accepted */

/* A part of an image scaled to width x height pixels. */
typedef struct hn_image_part {
    int64_t width, height; /* of the whole scaled image */
    int64_t x, y, columns, rows;
} hn_image_part;

/* `resize` and `crop`, as people give them. */
typedef struct hn_image_scaling {
    int64_t resize, crop; /* 0: not given */
    int64_t resize_width; /* 0: resize is the short side, else the height */
} hn_image_scaling;
/* The part of an image of that size that is wanted, and what it is scaled to. HONE_E_SHAPE: it is too
 * small to crop; messages call it `name`. */
hone_status hn_image_part_of(hn_image_part *part, const hn_image_scaling *s, int64_t width,
                             int64_t height, const char *name, hn_error *err);

/* Bilinear and antialiased: each output pixel is the weighted mean of the pixels under a triangle
 * that reaches one output pixel (going down) or one input pixel (going up) to each side. Columns
 * are scaled before rows, each rounding to 8 bits, with weights of 22 bits, as Pillow's BILINEAR
 * does it. dst [3, rows, columns]. */
hone_status hn_image_scale(const hn_image *src, const hn_image_part *part, unsigned char *dst,
                           hn_allocator *alloc, hn_error *err);

#endif
