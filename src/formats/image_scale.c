/* Scaling in two passes of weighted means over 8-bit pixels: columns into a block of the rows that
 * are needed, then rows. */
#include <inttypes.h>
#include <math.h>

#include "base/size.h"
#include "formats/image.h"

enum {
    WEIGHT_BITS = 22,    /* 255 times weights that add up to 1 stay below 2^31 with these, */
    MOST_TAPS = 1 << 20, /* also when so many were rounded up */
    HALF = 1 << (WEIGHT_BITS - 1),
    CHUNK = 192, /* elements of a line scaled at once: whole pixels, whole vectors */
};

hone_status hn_image_part_of(hn_image_part *part, const hn_image_scaling *s, int64_t width,
                             int64_t height, const char *name, hn_error *err) {
    int64_t crop = s->crop;
    if (s->resize_width > 0) {
        width = s->resize_width;
        height = s->resize;
    } else if (s->resize > 0) {
        int64_t side = width < height ? width : height;
        width = width * s->resize / side; /* below 2^31 * 2^14 */
        height = height * s->resize / side;
    }
    *part = (hn_image_part){width, height, 0, 0, width, height};
    if (crop > 0) {
        HN_CHECK(err, crop <= width && crop <= height, HONE_E_SHAPE,
                 "'%s' is %" PRId64 " x %" PRId64 " pixels%s, too small for crop=%" PRId64, name,
                 width, height, s->resize > 0 ? " after resize" : "", crop);
        *part = (hn_image_part){width, height, (width - crop) / 2, (height - crop) / 2, crop, crop};
    }
    HN_CHECK(err, part->columns <= HN_IMAGE_BYTES / 3 / part->rows, HONE_E_LIMIT,
             "'%s' would become %" PRId64 " x %" PRId64 " pixels", name, part->columns, part->rows);
    return HONE_OK;
}

/* Output i is the sum of weight[i * taps + k] * input[first[i] + k] for k < count[i]. */
typedef struct filter {
    int64_t n, taps;
    int64_t *first, *count;
    int32_t *weight;
    double *exact; /* weights of one output, before rounding */
} filter;

static void filter_deinit(filter *f, hn_allocator *alloc) {
    hn_free(alloc, f->first);
    hn_free(alloc, f->count);
    hn_free(alloc, f->weight);
    hn_free(alloc, f->exact);
}

/* Outputs [from, from + n) of `in` pixels scaled to `out`. */
static hone_status filter_init(filter *f, int64_t in, int64_t out, int64_t from, int64_t n,
                               hn_allocator *alloc, hn_error *err) {
    double scale = (double)in / (double)out, reach = scale > 1 ? scale : 1;
    HN_CHECK(err, reach < MOST_TAPS / 2 - 1, HONE_E_LIMIT,
             "an image cannot be scaled from %lld pixels to %lld", (long long)in, (long long)out);
    size_t weights = 0;
    *f = (filter){.n = n, .taps = 2 * (int64_t)ceil(reach) + 1};
    f->first = hn_alloc_array(alloc, (size_t)n, sizeof *f->first, HN_MEM_DATA);
    f->count = hn_alloc_array(alloc, (size_t)n, sizeof *f->count, HN_MEM_DATA);
    if (hn_size_mul((size_t)n, (size_t)f->taps, &weights))
        f->weight = hn_alloc_array(alloc, weights, sizeof *f->weight, HN_MEM_DATA);
    f->exact = hn_alloc_array(alloc, (size_t)f->taps, sizeof *f->exact, HN_MEM_DATA);
    if (f->first == NULL || f->count == NULL || f->weight == NULL || f->exact == NULL)
        return HN_NOMEM(err);
    for (int64_t i = 0; i < n; i++) {
        double centre = ((double)(from + i) + 0.5) * scale, sum = 0;
        int64_t first = (int64_t)fmax(centre - reach + 0.5, 0);
        int64_t end = (int64_t)fmin(centre + reach + 0.5, (double)in);
        for (int64_t k = 0; k < end - first; k++) {
            double far = fabs(((double)(first + k) - centre + 0.5) * (1 / reach));
            f->exact[k] = far < 1 ? 1 - far : 0;
            sum += f->exact[k];
        }
        for (int64_t k = 0; k < end - first; k++)
            f->weight[i * f->taps + k] =
                (int32_t)(0.5 + f->exact[k] * (1 / sum) * (1 << WEIGHT_BITS));
        f->first[i] = first;
        f->count[i] = end - first;
    }
    return HONE_OK;
}

static unsigned char rounded(int32_t sum) {
    sum >>= WEIGHT_BITS;
    return (unsigned char)(sum < 255 ? sum : 255); /* weights may add up to a little more than 1 */
}

/* A line of pixels to f->n pixels. */
static void scale_across(const filter *f, const unsigned char *line, unsigned char *dst) {
    for (int64_t i = 0; i < f->n; i++, dst += 3) {
        const unsigned char *src = line + f->first[i] * 3;
        const int32_t *w = f->weight + i * f->taps;
        int32_t red = HALF, green = HALF, blue = HALF;
        for (int64_t k = 0; k < f->count[i]; k++, src += 3) {
            red += src[0] * w[k];
            green += src[1] * w[k];
            blue += src[2] * w[k];
        }
        dst[0] = rounded(red);
        dst[1] = rounded(green);
        dst[2] = rounded(blue);
    }
}

/* Output line i of one chunk of elements: a loop of fixed length, which compilers turn into vector
 * instructions. */
static void scale_down(const filter *f, int64_t i, const unsigned char *restrict block,
                       int64_t pitch, unsigned char *restrict dst) {
    const unsigned char *src = block + f->first[i] * pitch;
    const int32_t *w = f->weight + i * f->taps;
    int32_t sum[CHUNK];
    for (int x = 0; x < CHUNK; x++) sum[x] = HALF;
    for (int64_t k = 0; k < f->count[i]; k++, src += pitch) {
        int32_t weight = w[k];
        for (int x = 0; x < CHUNK; x++) sum[x] += src[x] * weight;
    }
    for (int x = 0; x < CHUNK; x++) dst[x] = rounded(sum[x]);
}

/* The first n of a chunk's elements, pixel by pixel, to a line of each plane. */
static void spread(const unsigned char *chunk, int64_t n, unsigned char *dst, int64_t plane) {
    for (int64_t x = 0; x < n / 3; x++)
        for (int64_t c = 0; c < 3; c++) dst[c * plane + x] = chunk[3 * x + c];
}

static void crop(const hn_image *src, const hn_image_part *p, unsigned char *dst) {
    for (int64_t c = 0; c < 3; c++)
        for (int64_t y = 0; y < p->rows; y++) {
            const unsigned char *from = src->rgb + ((p->y + y) * src->width + p->x) * 3 + c;
            for (int64_t x = 0; x < p->columns; x++) *dst++ = from[x * 3];
        }
}

hone_status hn_image_scale(const hn_image *src, const hn_image_part *p, unsigned char *dst,
                           hn_allocator *alloc, hn_error *err) {
    assert(p->x >= 0 && p->columns > 0 && p->columns <= p->width - p->x);
    assert(p->y >= 0 && p->rows > 0 && p->rows <= p->height - p->y);
    if (p->width == src->width && p->height == src->height) {
        crop(src, p, dst);
        return HONE_OK;
    }
    hone_status status;
    filter across = {0}, down = {0};
    unsigned char *block = NULL; /* [input rows needed, columns, 3], lines of whole chunks */
    HN_TRY_GOTO(filter_init(&across, src->width, p->width, p->x, p->columns, alloc, err));
    HN_TRY_GOTO(filter_init(&down, src->height, p->height, p->y, p->rows, alloc, err));
    int64_t top = down.first[0];
    int64_t n_rows = down.first[p->rows - 1] + down.count[p->rows - 1] - top;
    int64_t line = p->columns * 3, pitch = (line + CHUNK - 1) / CHUNK * CHUNK, bytes;
    if (hn_i64_mul(n_rows, pitch, &bytes)) block = hn_alloc_zero(alloc, (size_t)bytes, HN_MEM_DATA);
    if (block == NULL) {
        status = HN_NOMEM(err);
        goto fail;
    }
    for (int64_t y = 0; y < n_rows; y++)
        scale_across(&across, src->rgb + (top + y) * src->width * 3, block + y * pitch);
    for (int64_t y = 0; y < p->rows; y++) down.first[y] -= top;
    for (int64_t y = 0; y < p->rows; y++)
        for (int64_t x = 0; x < line; x += CHUNK) {
            unsigned char chunk[CHUNK];
            scale_down(&down, y, block + x, pitch, chunk);
            spread(chunk, line - x < CHUNK ? line - x : CHUNK, dst + y * p->columns + x / 3,
                   p->rows * p->columns);
        }
fail:
    filter_deinit(&across, alloc);
    filter_deinit(&down, alloc);
    hn_free(alloc, block);
    return status;
}
