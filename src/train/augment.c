#include "train/augment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* A sample as [planes][h][w] numbers at these strides: an image, planar or with channels last, or a
 * signal of one row. */
typedef struct sample {
    float *data;
    int64_t planes, h, w;
    int64_t plane, row, column;
    int64_t n;
    float *copy; /* room for one more */
} sample;

/* What a row wants samples to be. */
typedef enum wants {
    ANY,    /* f32, [channels, ..., length] */
    IMAGE,  /* f32, two axes beside the channels */
    COLOUR, /* an image of three channels */
    TOKENS, /* s32 or s64 */
} wants;

struct hn_augment_row {
    const char *name, *help;
    double amount; /* that is taken where none is given; 0: it takes none */
    double most;
    wants wants;
    bool second; /* a second number may follow: "drop=0.1/103" */
    /* One of these three. */
    void (*apply)(const sample *s, double amount, hn_rng *rng);
    int64_t (*token)(int64_t v, double amount, double second, hn_rng *rng);
    void (*mix)(const sample *s, double share, hn_mix *m, hn_rng *rng);
};

static float *at(const sample *s, float *data, int64_t p, int64_t y, int64_t x) {
    return data + p * s->plane + y * s->row + x * s->column;
}

/* Uniform between -most and most. */
static double either_way(hn_rng *rng, double most) { return most * (2 * hn_rng_f64(rng) - 1); }

static int64_t between(hn_rng *rng, int64_t most) {
    return (int64_t)hn_rng_below(rng, (uint64_t)(2 * most + 1)) - most;
}

/* ---- places ---- */

static void flip(const sample *s, double amount, hn_rng *rng) {
    (void)amount;
    if (hn_rng_below(rng, 2) == 0) return;
    for (int64_t p = 0; p < s->planes; p++)
        for (int64_t y = 0; y < s->h; y++)
            for (int64_t x = 0; x < s->w / 2; x++) {
                float *a = at(s, s->data, p, y, x), *b = at(s, s->data, p, y, s->w - 1 - x), t = *a;
                *a = *b;
                *b = t;
            }
}

/* What lies at y + dy, x + dx; what comes in is 0, or with wrap the other end of the row. */
static void move(const sample *s, int64_t dy, int64_t dx, bool wrap) {
    memcpy(s->copy, s->data, (size_t)s->n * sizeof *s->data);
    for (int64_t p = 0; p < s->planes; p++)
        for (int64_t y = 0; y < s->h; y++)
            for (int64_t x = 0; x < s->w; x++) {
                int64_t fy = y + dy, fx = x + dx;
                if (wrap) fx = (fx % s->w + s->w) % s->w;
                bool inside = fy >= 0 && fy < s->h && fx >= 0 && fx < s->w;
                *at(s, s->data, p, y, x) = inside ? *at(s, s->copy, p, fy, fx) : 0;
            }
}

/* A window of the size of the sample in the sample with that much padding. */
static void crop(const sample *s, double amount, hn_rng *rng) {
    int64_t most = (int64_t)amount, dy = s->h > 1 ? between(rng, most) : 0;
    move(s, dy, between(rng, most), false);
}

static void shift(const sample *s, double amount, hn_rng *rng) {
    move(s, 0, between(rng, (int64_t)amount), false);
}

static void roll(const sample *s, double amount, hn_rng *rng) {
    move(s, 0, between(rng, (int64_t)amount), true);
}

/* Each pixel from m * its place, both counted from the middle, between four neighbours; outside the
 * image there are zeros. */
static void warp(const sample *s, const double m[4]) {
    double cy = (double)(s->h - 1) / 2, cx = (double)(s->w - 1) / 2;
    memcpy(s->copy, s->data, (size_t)s->n * sizeof *s->data);
    for (int64_t y = 0; y < s->h; y++)
        for (int64_t x = 0; x < s->w; x++) {
            double v = (double)y - cy, u = (double)x - cx;
            double fy = cy + m[0] * v + m[1] * u, fx = cx + m[2] * v + m[3] * u;
            double y0 = floor(fy), x0 = floor(fx), wy = fy - y0, wx = fx - x0;
            for (int64_t p = 0; p < s->planes; p++) {
                double sum = 0;
                for (int k = 0; k < 4; k++) {
                    int64_t ny = (int64_t)y0 + k / 2, nx = (int64_t)x0 + k % 2;
                    if (ny < 0 || ny >= s->h || nx < 0 || nx >= s->w) continue;
                    double weight = (k / 2 == 1 ? wy : 1 - wy) * (k % 2 == 1 ? wx : 1 - wx);
                    sum += weight * (double)*at(s, s->copy, p, ny, nx);
                }
                *at(s, s->data, p, y, x) = (float)sum;
            }
        }
}

static void turn(const sample *s, double amount, hn_rng *rng) {
    double by = either_way(rng, amount) * 0.017453292519943295, c = cos(by), d = sin(by);
    warp(s, (const double[]){c, -d, d, c});
}

static void zoom(const sample *s, double amount, hn_rng *rng) {
    double by = 1 / (1 + either_way(rng, amount));
    warp(s, (const double[]){by, 0, 0, by});
}

static void shear(const sample *s, double amount, hn_rng *rng) {
    warp(s, (const double[]){1, 0, either_way(rng, amount), 1});
}

/* ---- parts that are taken away ---- */

static void blank(const sample *s, int64_t y0, int64_t x0, int64_t h, int64_t w) {
    for (int64_t p = 0; p < s->planes; p++)
        for (int64_t y = y0 < 0 ? 0 : y0; y < y0 + h && y < s->h; y++)
            for (int64_t x = x0 < 0 ? 0 : x0; x < x0 + w && x < s->w; x++)
                *at(s, s->data, p, y, x) = 0;
}

/* A square of zeros whose middle may be anywhere. */
static void cutout(const sample *s, double amount, hn_rng *rng) {
    int64_t size = (int64_t)amount, y0 = (int64_t)hn_rng_below(rng, (uint64_t)s->h) - size / 2;
    int64_t x0 = (int64_t)hn_rng_below(rng, (uint64_t)s->w) - size / 2;
    blank(s, y0, x0, size, size);
}

static int64_t limited(double v, int64_t most) {
    return v < 1 ? 1 : v > (double)most ? most : (int64_t)v;
}

/* As Zhong et al.: every other sample loses a rectangle of 0.02 of its area up to the amount, whose
 * sides are to each other as 0.3 to 1/0.3. */
static void erase(const sample *s, double amount, hn_rng *rng) {
    if (hn_rng_below(rng, 2) == 0) return;
    double least = amount < 0.02 ? amount : 0.02;
    double area = (least + (amount - least) * hn_rng_f64(rng)) * (double)(s->h * s->w);
    double aspect = exp(either_way(rng, 1.2039728043259361)); /* log 0.3 */
    int64_t h = limited(round(sqrt(area * aspect)), s->h);
    int64_t w = limited(round(area / (double)h), s->w);
    int64_t y = (int64_t)hn_rng_below(rng, (uint64_t)(s->h - h + 1));
    blank(s, y, (int64_t)hn_rng_below(rng, (uint64_t)(s->w - w + 1)), h, w);
}

static void gap(const sample *s, double amount, hn_rng *rng) {
    int64_t most = limited(amount, s->w), w = (int64_t)hn_rng_below(rng, (uint64_t)most + 1);
    blank(s, 0, (int64_t)hn_rng_below(rng, (uint64_t)(s->w - w + 1)), s->h, w);
}

/* ---- values ---- */

static void noise(const sample *s, double amount, hn_rng *rng) {
    for (int64_t i = 0; i < s->n; i++) s->data[i] += (float)(amount * hn_rng_normal(rng));
}

static void gain(const sample *s, double amount, hn_rng *rng) {
    float by = (float)(1 + either_way(rng, amount));
    for (int64_t i = 0; i < s->n; i++) s->data[i] *= by;
}

/* Nothing below knows how samples were normalized. Everything is relative to the sample itself, so
 * that it does not matter whether they are changed before or after a scale and a shift that are the
 * same for all channels. */

static double mean_of(const sample *s) {
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++) sum += (double)s->data[i];
    return sum / (double)s->n;
}

static void brightness(const sample *s, double amount, hn_rng *rng) {
    double mean = mean_of(s), squares = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double d = (double)s->data[i] - mean;
        squares += d * d;
    }
    float by = (float)(either_way(rng, amount) * sqrt(squares / (double)s->n));
    for (int64_t i = 0; i < s->n; i++) s->data[i] += by;
}

static void contrast(const sample *s, double amount, hn_rng *rng) {
    float mean = (float)mean_of(s), by = (float)(1 + either_way(rng, amount));
    for (int64_t i = 0; i < s->n; i++) s->data[i] = mean + by * (s->data[i] - mean);
}

/* Every pixel multiplied by a matrix whose rows have the sum 1: grey stays grey. */
static void recolour(const sample *s, const double m[3][3]) {
    for (int64_t y = 0; y < s->h; y++)
        for (int64_t x = 0; x < s->w; x++) {
            double c[3];
            for (int k = 0; k < 3; k++) c[k] = (double)*at(s, s->data, k, y, x);
            for (int k = 0; k < 3; k++)
                *at(s, s->data, k, y, x) =
                    (float)(m[k][0] * c[0] + m[k][1] * c[1] + m[k][2] * c[2]);
        }
}

/* Away from or towards the grey of the same luma. */
static void saturation(const sample *s, double amount, hn_rng *rng) {
    static const double luma[] = {0.299, 0.587, 0.114};
    double by = 1 + either_way(rng, amount), m[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) m[i][k] = (1 - by) * luma[k] + (i == k ? by : 0);
    recolour(s, m);
}

/* A rotation about the grey axis, by a share of a full turn. */
static void hue(const sample *s, double amount, hn_rng *rng) {
    double by = either_way(rng, amount) * 6.283185307179586, c = cos(by), d = sin(by) / sqrt(3);
    double third = (1 - c) / 3, m[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) m[i][k] = third + (i == k ? c : (k - i + 3) % 3 == 1 ? -d : d);
    recolour(s, m);
}

/* ---- tokens ---- */

static int64_t drop(int64_t v, double amount, double second, hn_rng *rng) {
    bool dropped = hn_rng_f64(rng) < amount;
    return dropped && v != 0 ? (int64_t)second : v;
}

/* ---- two samples in one ---- */

static void mixup(const sample *s, double share, hn_mix *m, hn_rng *rng) {
    (void)s, (void)rng;
    m->share = share;
}

/* A rectangle of the other sample whose sides are in the proportion of the whole; of a signal, a
 * part of its length. The middle may be anywhere, and what is left counts. */
static void cutmix(const sample *s, double share, hn_mix *m, hn_rng *rng) {
    double side = s->h > 1 ? sqrt(1 - share) : 1 - share;
    int64_t h = s->h > 1 ? (int64_t)(side * (double)s->h) : 1, w = (int64_t)(side * (double)s->w);
    int64_t y = s->h > 1 ? (int64_t)hn_rng_below(rng, (uint64_t)s->h) - h / 2 : 0;
    int64_t x = (int64_t)hn_rng_below(rng, (uint64_t)s->w) - w / 2;
    m->cut = true;
    m->y[0] = y > 0 ? y : 0;
    m->y[1] = y + h < s->h ? y + h : s->h;
    m->x[0] = x > 0 ? x : 0;
    m->x[1] = x + w < s->w ? x + w : s->w;
    m->share = 1 - (double)((m->y[1] - m->y[0]) * (m->x[1] - m->x[0])) / (double)(s->h * s->w);
}

/* ---- the table ---- */

static const hn_augment_row rows[] = {
    {"flip", "left and right changed over, every other sample", 0, 0, IMAGE, .apply = flip},
    {"crop", "moved up to so many pixels in each direction", 4, 1 << 20, IMAGE, .apply = crop},
    {"shift", "moved along its last axis by up to so many, zeros come in", 4, 1 << 20, ANY,
     .apply = shift},
    {"roll", "moved along its last axis by up to so many, its other end comes in", 4, 1 << 20, ANY,
     .apply = roll},
    {"rotate", "turned by up to so many degrees", 15, 180, IMAGE, .apply = turn},
    {"zoom", "made larger or smaller by up to this share", 0.2, 0.9, IMAGE, .apply = zoom},
    {"shear", "rows moved by up to this share of their distance from the middle", 0.2, 10, IMAGE,
     .apply = shear},
    {"cutout", "a square of so many pixels becomes 0", 8, 1 << 20, IMAGE, .apply = cutout},
    {"erase", "every other sample, a rectangle of up to this share of its area becomes 0", 0.33, 1,
     IMAGE, .apply = erase},
    {"gap", "a stretch of its last axis of up to so many becomes 0", 8, 1 << 20, ANY, .apply = gap},
    {"noise", "normal noise of this deviation is added", 0.05, 1e6, ANY, .apply = noise},
    {"gain", "multiplied by 1, more or less up to this share", 0.2, 1, ANY, .apply = gain},
    {"brightness", "moved by up to this share of its own deviation", 0.2, 1e6, ANY,
     .apply = brightness},
    {"contrast", "its distance from its own mean changed by up to this share", 0.2, 1, ANY,
     .apply = contrast},
    {"saturation", "its distance from grey changed by up to this share", 0.2, 1, COLOUR,
     .apply = saturation},
    {"hue", "its colours turned by up to this share of a full circle", 0.05, 0.5, COLOUR,
     .apply = hue},
    {"drop", "this share of the tokens that are not 0 is replaced, by 0 or the second number", 0.1,
     1, TOKENS, .second = true, .token = drop},
    {"mixup", "mixed with another sample, in shares of Beta(a, a)", 0.2, 100, ANY, .mix = mixup},
    {"cutmix", "a part is another sample's, in shares of Beta(a, a)", 1, 100, ANY, .mix = cutmix},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static const hn_augment_row *find(const char *name, size_t n) {
    for (int i = 0; i < N_ROWS; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0) return &rows[i];
    return NULL;
}

static hone_status unknown(const char *name, size_t n, hn_error *err) {
    char names[400] = "";
    for (int i = 0, k = 0; i < N_ROWS; i++)
        k += snprintf(names + k, sizeof names - (size_t)k, "%s%s", i > 0 ? ", " : "", rows[i].name);
    return HN_FAIL(err, HONE_E_ARG, "there is no augmentation '%.*s', expected some of %s",
                   (int)(n < 100 ? n : 100), name, names);
}

/* "=0.1/103", n letters: the numbers of a row. */
static hone_status read_numbers(const hn_augment_row *row, const char *text, size_t n,
                                double amount[2], hn_error *err) {
    char *end = NULL;
    int shown = (int)(n < 100 ? n : 100);
    const char *first = text + strlen(row->name) + 1;
    amount[0] = strtod(first, &end);
    bool read = end > first;
    if (read && row->second && *end == '/') {
        const char *behind = end + 1;
        amount[1] = strtod(behind, &end);
        read = end > behind;
    }
    HN_CHECK(err, read && end == text + n, HONE_E_ARG,
             "augmentation '%.*s': expected a number behind =%s", shown, text,
             row->second ? ", and perhaps a second one behind /" : "");
    HN_CHECK(err, row->amount > 0, HONE_E_ARG, "augmentation '%.*s': it takes no number", shown,
             text);
    HN_CHECK(err, amount[0] >= (row->mix != NULL ? 0.001 : 0) && amount[0] <= row->most, HONE_E_ARG,
             "augmentation '%.*s': the number is out of range, expected %g to %g", shown, text,
             row->mix != NULL ? 0.001 : 0, row->most);
    HN_CHECK(err, fabs(amount[1]) <= INT32_MAX && amount[1] == floor(amount[1]), HONE_E_ARG,
             "augmentation '%.*s': expected a whole number behind /", shown, text);
    return HONE_OK;
}

hone_status hn_augment_read(hn_augment *out, const char *text, hn_error *err) {
    *out = (hn_augment){0};
    while (text != NULL && *text != '\0') {
        size_t all = strcspn(text, ":"), n = strcspn(text, ":=");
        const hn_augment_row *row = find(text, n);
        if (row == NULL) return unknown(text, n, err);
        double amount[2] = {row->amount, 0};
        if (text[n] == '=') HN_TRY(read_numbers(row, text, all, amount, err));
        HN_CHECK(err, out->n < HN_MOST_AUGMENTS, HONE_E_ARG, "more than %d augmentations",
                 HN_MOST_AUGMENTS);
        out->step[out->n].row = row;
        out->step[out->n].amount = amount[0];
        out->step[out->n++].second = amount[1];
        out->n_mixes += row->mix != NULL;
        text += all + (text[all] == ':');
    }
    return HONE_OK;
}

/* ---- batches ---- */

/* [N, C, H, W] or, where the last axis is the smallest, [N, H, W, C]; [N, C, W] or [N, W]. */
static sample sample_of(const hn_tensor *t) {
    const int64_t *d = t->dims;
    sample s = {.planes = 1, .h = 1, .w = 1, .n = t->dims[0] > 0 ? t->n / t->dims[0] : 0};
    if (t->rank == 4 && d[3] < d[1] && d[3] < d[2]) {
        s.h = d[1], s.w = d[2], s.planes = d[3];
        s.plane = 1, s.column = d[3], s.row = d[2] * d[3];
    } else {
        s.w = t->rank > 1 ? d[t->rank - 1] : 1;
        s.h = t->rank == 4 ? d[2] : 1;
        s.planes = s.h * s.w > 0 ? s.n / (s.h * s.w) : 0;
        s.column = 1, s.row = s.w, s.plane = s.w * s.h;
    }
    return s;
}

hone_status hn_augment_check(const hn_augment *a, hone_dtype dtype, int rank, const int64_t *dims,
                             hn_error *err) {
    hn_tensor t = {.rank = rank, .n = 1};
    bool ints = dtype == HONE_DTYPE_S32 || dtype == HONE_DTYPE_S64;
    memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
    for (int i = 0; i < rank; i++) t.n *= dims[i];
    sample s = sample_of(&t);
    for (int k = 0; k < a->n; k++) {
        const hn_augment_row *row = a->step[k].row;
        HN_CHECK(err, row->wants == TOKENS ? ints : dtype == HONE_DTYPE_F32, HONE_E_TYPE,
                 "augmentation '%s' wants samples of %s, the model's first input is %s", row->name,
                 row->wants == TOKENS ? "s32 or s64" : "f32", hone_dtype_name(dtype));
        HN_CHECK(err, rank >= 2 && t.n > 0, HONE_E_SHAPE,
                 "augmentation '%s' wants samples of one axis or more, the model's first input has "
                 "rank %d",
                 row->name, rank);
        HN_CHECK(err, (row->wants != IMAGE && row->wants != COLOUR) || rank == 4, HONE_E_SHAPE,
                 "augmentation '%s' wants images, the model's input has rank %d", row->name, rank);
        HN_CHECK(err, row->wants != COLOUR || s.planes == 3, HONE_E_SHAPE,
                 "augmentation '%s' wants images of 3 channels, the model's input has %lld",
                 row->name, (long long)s.planes);
    }
    return HONE_OK;
}

static void change_tokens(const hn_augment *a, hn_tensor *batch, int64_t first, int64_t n,
                          hn_rng *rng) {
    for (int k = 0; k < a->n; k++)
        for (int64_t i = first; i < first + n; i++) {
            int64_t v = hn_tensor_s64(batch, i);
            v = a->step[k].row->token(v, a->step[k].amount, a->step[k].second, rng);
            if (batch->dtype == HONE_DTYPE_S64)
                ((int64_t *)batch->data)[i] = v;
            else
                ((int32_t *)batch->data)[i] = (int32_t)v;
        }
}

hone_status hn_augment_batch(const hn_augment *a, hn_tensor *batch, const int64_t *index,
                             uint64_t seed, int64_t epoch, hn_error *err) {
    if (a->n == 0) return HONE_OK;
    HN_TRY(hn_augment_check(a, batch->dtype, batch->rank, batch->dims, err));
    sample s = sample_of(batch);
    bool tokens = a->step[0].row->wants == TOKENS;
    s.copy = hn_alloc(batch->alloc, (size_t)s.n * sizeof *s.copy, HN_MEM_DATA);
    if (s.copy == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < batch->dims[0]; i++) {
        hn_rng rng;
        hn_rng_init(&rng, seed ^ ((uint64_t)epoch << 40) ^ (uint64_t)index[i] * 0x9e3779b9u);
        s.data = (float *)batch->data + i * s.n;
        if (tokens) change_tokens(a, batch, i * s.n, s.n, &rng);
        for (int k = 0; k < a->n && !tokens; k++)
            if (a->step[k].row->mix == NULL) a->step[k].row->apply(&s, a->step[k].amount, &rng);
    }
    hn_free(batch->alloc, s.copy);
    return HONE_OK;
}

/* ---- batches mixed with themselves ---- */

/* Marsaglia and Tsang's method; below 1 by the next one and a power of a uniform number. */
static double gamma_of(double a, hn_rng *rng) {
    if (a < 1) return gamma_of(a + 1, rng) * pow(1 - hn_rng_f64(rng), 1 / a);
    double d = a - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = hn_rng_normal(rng), v = 1 + c * x, u = 1 - hn_rng_f64(rng);
        v = v * v * v;
        if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v)) return d * v;
    }
}

/* Of Beta(a, a); both gammas are 0 only where a is so small that it is 0 or 1. */
static double beta_of(double a, hn_rng *rng) {
    double x = gamma_of(a, rng), y = gamma_of(a, rng);
    return x + y > 0 ? x / (x + y) : (double)hn_rng_below(rng, 2);
}

void hn_augment_pair(const hn_augment *a, const hn_tensor *batch, uint64_t seed, int64_t epoch,
                     int64_t step, hn_mix *m) {
    hn_rng rng;
    sample s = sample_of(batch);
    int64_t *partner = m->partner, n = batch->dims[0];
    *m = (hn_mix){.partner = partner, .share = 1};
    hn_rng_init(&rng, ~seed ^ ((uint64_t)epoch << 40) ^ (uint64_t)step * 0x9e3779b9u);
    for (int64_t i = 0; i < n; i++) partner[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)hn_rng_below(&rng, (uint64_t)i + 1), t = partner[i];
        partner[i] = partner[k];
        partner[k] = t;
    }
    if (a->n_mixes == 0) return;
    int64_t which = (int64_t)hn_rng_below(&rng, (uint64_t)a->n_mixes);
    for (int k = 0; k < a->n; k++)
        if (a->step[k].row->mix != NULL && which-- == 0) {
            double share = beta_of(a->step[k].amount, &rng);
            a->step[k].row->mix(&s, share, m, &rng);
        }
}

static hone_status copy_of(const hn_tensor *t, float **copy, hn_error *err) {
    *copy = hn_alloc(t->alloc, t->bytes, HN_MEM_DATA);
    if (*copy == NULL) return HN_NOMEM(err);
    memcpy(*copy, t->data, t->bytes);
    return HONE_OK;
}

hone_status hn_augment_blend(const hn_mix *m, hn_tensor *t, hn_error *err) {
    float *copy, share = (float)m->share, other = (float)(1 - m->share);
    int64_t n = t->n / t->dims[0];
    HN_TRY(copy_of(t, &copy, err));
    for (int64_t i = 0; i < t->dims[0]; i++) {
        float *to = (float *)t->data + i * n;
        const float *from = copy + m->partner[i] * n;
        for (int64_t k = 0; k < n; k++) to[k] = share * to[k] + other * from[k];
    }
    hn_free(t->alloc, copy);
    return HONE_OK;
}

static void paste(const sample *s, const hn_mix *m, float *from) {
    for (int64_t p = 0; p < s->planes; p++)
        for (int64_t y = m->y[0]; y < m->y[1]; y++)
            for (int64_t x = m->x[0]; x < m->x[1]; x++)
                *at(s, s->data, p, y, x) = *at(s, from, p, y, x);
}

hone_status hn_augment_mix(const hn_mix *m, hn_tensor *batch, hn_error *err) {
    if (!m->cut) return hn_augment_blend(m, batch, err);
    sample s = sample_of(batch);
    float *copy;
    HN_TRY(copy_of(batch, &copy, err));
    for (int64_t i = 0; i < batch->dims[0]; i++) {
        s.data = (float *)batch->data + i * s.n;
        paste(&s, m, copy + m->partner[i] * s.n);
    }
    hn_free(batch->alloc, copy);
    return HONE_OK;
}
