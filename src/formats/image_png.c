/* PNG by libpng, with the allocator of the caller. */
#include "formats/image_codec.h"

#if HN_HAVE_PNG

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

/* What a chunk beside the pixels (text, a colour profile) may unpack to. */
enum { CHUNK_BYTES = 1 << 20 };

typedef struct decoder {
    hn_allocator *alloc;
    const hn_file *file;
    size_t at;
    bool no_memory;
    char text[128];
} decoder;

static void on_error(png_structp png, png_const_charp text) {
    decoder *d = png_get_error_ptr(png);
    snprintf(d->text, sizeof d->text, "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) { (void)png, (void)text; }

static png_voidp take(png_structp png, png_alloc_size_t bytes) {
    decoder *d = png_get_mem_ptr(png);
    void *block = hn_alloc(d->alloc, bytes, HN_MEM_OTHER);
    if (block == NULL) d->no_memory = true;
    return block;
}

static void give(png_structp png, png_voidp block) {
    decoder *d = png_get_mem_ptr(png);
    hn_free(d->alloc, block);
}

static void read_bytes(png_structp png, png_bytep dst, size_t n) {
    decoder *d = png_get_io_ptr(png);
    if (n > d->file->bytes - d->at) png_error(png, "the file ends too early");
    memcpy(dst, d->file->data + d->at, n);
    d->at += n;
}

/* Whatever is stored, as 8-bit RGB. */
static void want_rgb(png_structp png) {
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_strip_alpha(png);
}

static hone_status read_pixels(png_structp png, png_infop info, hn_image *image, hn_image_want want,
                               const hn_file *file, hn_allocator *alloc, hn_error *err) {
    int depth = png_get_bit_depth(png, info), colour = png_get_color_type(png, info);
    int64_t channels = want == HN_IMAGE_CLASSES ? 1 : 3;
    HN_CHECK(err,
             channels == 3 || (depth <= 8 &&
                               (colour == PNG_COLOR_TYPE_GRAY || colour == PNG_COLOR_TYPE_PALETTE)),
             HONE_E_FORMAT,
             "'%s' has several channels or 16 bits; a mask is one of at most 8, or a palette",
             file->path);
    HN_TRY(hn_image_make(image, file, alloc, err));
    if (channels == 3)
        want_rgb(png);
    else
        png_set_packing(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    assert(png_get_rowbytes(png, info) == (size_t)(image->width * channels));
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < image->height; y++)
            png_read_row(png, image->rgb + y * image->width * channels, NULL);
    png_read_end(png, NULL);
    return HONE_OK;
}

/* Between here and the return of libpng by longjmp, no variable of this frame changes. */
static hone_status read_file(png_structp png, png_infop info, hn_image *image, decoder *d,
                             hn_image_want want, hn_error *err) {
    if (setjmp(png_jmpbuf(png)) != 0)
        return d->no_memory ? HN_NOMEM(err)
                            : HN_FAIL(err, HONE_E_FORMAT, "'%s' is not a whole PNG file: %s",
                                      d->file->path, d->text);
    png_set_read_fn(png, d, read_bytes);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* hn_image_make has its own */
    png_set_chunk_malloc_max(png, CHUNK_BYTES);
    png_read_info(png, info);
    image->width = png_get_image_width(png, info);
    image->height = png_get_image_height(png, info);
    if (want == HN_IMAGE_SIZE) return HONE_OK;
    return read_pixels(png, info, image, want, d->file, d->alloc, err);
}

hone_status hn_image_decode_png(hn_image *out, const hn_file *file, hn_image_want want,
                                hn_allocator *alloc, hn_error *err) {
    decoder d = {.alloc = alloc, .file = file};
    png_structp png =
        png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &d, on_error, on_warning, &d, take, give);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    hone_status status = info != NULL ? read_file(png, info, out, &d, want, err) : HN_NOMEM(err);
    png_destroy_read_struct(&png, &info, NULL);
    return status;
}

#else

hone_status hn_image_decode_png(hn_image *out, const hn_file *file, hn_image_want want,
                                hn_allocator *alloc, hn_error *err) {
    (void)out, (void)want, (void)alloc;
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "'%s' needs libpng, which this build lacks",
                   file->path);
}

#endif
