/* JPEG by libjpeg-turbo. Its decoder allocates by malloc, outside the allocator's count; what it
 * can take is bounded by the limit on pixels (coefficients of a progressive file: 6 bytes for
 * each). */
#include "formats/image_codec.h"

#if HN_HAVE_JPEG

#include <setjmp.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>

/* Every scan of a progressive file goes over the whole image; encoders write about ten. */
enum { MOST_SCANS = 100 };

typedef struct decoder {
    struct jpeg_error_mgr error; /* first: what libjpeg hands to the functions below */
    jmp_buf back;
    bool no_memory;
    char text[JMSG_LENGTH_MAX];
} decoder;

static void on_error(j_common_ptr j) {
    decoder *d = (decoder *)j->err;
    d->no_memory = j->err->msg_code == JERR_OUT_OF_MEMORY;
    j->err->format_message(j, d->text);
    longjmp(d->back, 1);
}

/* libjpeg fills in what is missing and warns; here only what leaves the pixels as they were
 * written passes. */
static void on_message(j_common_ptr j, int level) {
    if (level >= 0) return;
    int code = j->err->msg_code;
    if (code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR)
        on_error(j);
}

static void on_progress(j_common_ptr j) {
    decoder *d = (decoder *)j->err;
    if (((j_decompress_ptr)j)->input_scan_number <= MOST_SCANS) return;
    snprintf(d->text, sizeof d->text, "it has more than %d scans", MOST_SCANS);
    longjmp(d->back, 1);
}

static hone_status read_pixels(struct jpeg_decompress_struct *j, hn_image *image,
                               const hn_file *file, hn_allocator *alloc, hn_error *err) {
    HN_CHECK(err, j->num_components == 1 || j->num_components == 3, HONE_E_FORMAT,
             "'%s' has %d components (CMYK?); grey and colour are read", file->path,
             j->num_components);
    HN_TRY(hn_image_make(image, file, alloc, err));
    j->out_color_space = JCS_RGB;
    j->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(j);
    while (j->output_scanline < j->output_height) {
        JSAMPROW row = image->rgb + (size_t)j->output_scanline * (size_t)image->width * 3;
        jpeg_read_scanlines(j, &row, 1);
    }
    jpeg_finish_decompress(j);
    return HONE_OK;
}

hone_status hn_image_decode_jpeg(hn_image *out, const hn_file *file, hn_image_want want,
                                 hn_allocator *alloc, hn_error *err) {
    decoder d = {.no_memory = false};
    struct jpeg_progress_mgr progress = {.progress_monitor = on_progress};
    struct jpeg_decompress_struct j = {.err = jpeg_std_error(&d.error)};
    d.error.error_exit = on_error;
    d.error.emit_message = on_message;
    hone_status status;
    if (setjmp(d.back) == 0) {
        jpeg_create_decompress(&j);
        j.progress = &progress;
        jpeg_mem_src(&j, file->data, (unsigned long)file->bytes);
        jpeg_read_header(&j, TRUE);
        out->width = j.image_width;
        out->height = j.image_height;
        status = want == HN_IMAGE_PIXELS ? read_pixels(&j, out, file, alloc, err) : HONE_OK;
    } else {
        status = d.no_memory ? HN_NOMEM(err)
                             : HN_FAIL(err, HONE_E_FORMAT, "'%s' is not a whole JPEG file: %s",
                                       file->path, d.text);
    }
    jpeg_destroy_decompress(&j);
    return status;
}

#else

hone_status hn_image_decode_jpeg(hn_image *out, const hn_file *file, hn_image_want want,
                                 hn_allocator *alloc, hn_error *err) {
    (void)out, (void)want, (void)alloc;
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "'%s' needs libjpeg, which this build lacks",
                   file->path);
}

#endif
