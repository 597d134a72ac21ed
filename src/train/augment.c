#include "train/augment.h"

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

struct hn_augment_row {
    const char *name, *help;
    double amount; /* that is taken where none is given; 0: it takes none */
    double most;
    bool image; /* wants two axes beside the channels */
    void (*apply)(const sample *s, double amount, hn_rng *rng);
};

static float *at(const sample *s, float *data, int64_t p, int64_t y, int64_t x) {
    return data + p * s->plane + y * s->row + x * s->column;
}

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

/* Moves the sample by dy and dx; what comes in is 0. */
static void move(const sample *s, int64_t dy, int64_t dx) {
    memcpy(s->copy, s->data, (size_t)s->n * sizeof *s->data);
    for (int64_t p = 0; p < s->planes; p++)
        for (int64_t y = 0; y < s->h; y++)
            for (int64_t x = 0; x < s->w; x++) {
                int64_t fy = y + dy, fx = x + dx;
                bool inside = fy >= 0 && fy < s->h && fx >= 0 && fx < s->w;
                *at(s, s->data, p, y, x) = inside ? *at(s, s->copy, p, fy, fx) : 0;
            }
}

static int64_t between(hn_rng *rng, int64_t most) {
    return (int64_t)hn_rng_below(rng, (uint64_t)(2 * most + 1)) - most;
}

/* A window of the size of the sample in the sample with that much padding. */
static void crop(const sample *s, double amount, hn_rng *rng) {
    int64_t most = (int64_t)amount, dy = s->h > 1 ? between(rng, most) : 0;
    move(s, dy, between(rng, most));
}

static void shift(const sample *s, double amount, hn_rng *rng) {
    move(s, 0, between(rng, (int64_t)amount));
}

/* A square of zeros whose middle may be anywhere. */
static void cutout(const sample *s, double amount, hn_rng *rng) {
    int64_t size = (int64_t)amount, y0 = (int64_t)hn_rng_below(rng, (uint64_t)s->h) - size / 2;
    int64_t x0 = (int64_t)hn_rng_below(rng, (uint64_t)s->w) - size / 2;
    for (int64_t p = 0; p < s->planes; p++)
        for (int64_t y = y0 < 0 ? 0 : y0; y < y0 + size && y < s->h; y++)
            for (int64_t x = x0 < 0 ? 0 : x0; x < x0 + size && x < s->w; x++)
                *at(s, s->data, p, y, x) = 0;
}

static void noise(const sample *s, double amount, hn_rng *rng) {
    for (int64_t i = 0; i < s->n; i++) s->data[i] += (float)(amount * hn_rng_normal(rng));
}

static void gain(const sample *s, double amount, hn_rng *rng) {
    float by = (float)(1 + amount * (2 * hn_rng_f64(rng) - 1));
    for (int64_t i = 0; i < s->n; i++) s->data[i] *= by;
}

static const hn_augment_row rows[] = {
    {"flip", "left and right changed over, every other sample", 0, 0, true, flip},
    {"crop", "moved up to so many pixels in each direction", 4, 1 << 20, true, crop},
    {"shift", "moved along its last axis, by up to so many", 4, 1 << 20, false, shift},
    {"cutout", "a square of so many pixels becomes 0", 8, 1 << 20, true, cutout},
    {"noise", "normal noise of this deviation is added", 0.05, 1e6, false, noise},
    {"gain", "multiplied by 1, more or less up to this share", 0.2, 1, false, gain},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static const hn_augment_row *find(const char *name, size_t n) {
    for (int i = 0; i < N_ROWS; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0) return &rows[i];
    return NULL;
}

static hone_status unknown(const char *name, size_t n, hn_error *err) {
    char names[200] = "";
    for (int i = 0, k = 0; i < N_ROWS; i++)
        k += snprintf(names + k, sizeof names - (size_t)k, "%s%s", i > 0 ? ", " : "", rows[i].name);
    return HN_FAIL(err, HONE_E_ARG, "there is no augmentation '%.*s', expected some of %s",
                   (int)(n < 100 ? n : 100), name, names);
}

hone_status hn_augment_read(hn_augment *out, const char *text, hn_error *err) {
    *out = (hn_augment){0};
    while (text != NULL && *text != '\0') {
        size_t all = strcspn(text, ":"), n = strcspn(text, ":=");
        const hn_augment_row *row = find(text, n);
        if (row == NULL) return unknown(text, n, err);
        double amount = row->amount;
        char *end = NULL;
        if (text[n] == '=') {
            amount = strtod(text + n + 1, &end);
            HN_CHECK(err, end == text + all && end > text + n + 1, HONE_E_ARG,
                     "augmentation '%.*s': expected a number behind =", (int)all, text);
            HN_CHECK(err, row->amount > 0 && amount >= 0 && amount <= row->most, HONE_E_ARG,
                     "augmentation '%.*s': %s", (int)all, text,
                     row->amount > 0 ? "the number is out of range" : "it takes no number");
        }
        HN_CHECK(err, out->n < HN_MOST_AUGMENTS, HONE_E_ARG, "more than %d augmentations",
                 HN_MOST_AUGMENTS);
        out->step[out->n].row = row;
        out->step[out->n++].amount = amount;
        text += all + (text[all] == ':');
    }
    return HONE_OK;
}

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

hone_status hn_augment_batch(const hn_augment *a, hn_tensor *batch, const int64_t *index,
                             uint64_t seed, int64_t epoch, hn_error *err) {
    if (a->n == 0) return HONE_OK;
    HN_CHECK(err, batch->dtype == HONE_DTYPE_F32 && batch->rank >= 2, HONE_E_TYPE,
             "augmentation wants samples of f32");
    sample s = sample_of(batch);
    for (int k = 0; k < a->n; k++)
        HN_CHECK(err, !a->step[k].row->image || batch->rank == 4, HONE_E_SHAPE,
                 "augmentation '%s' wants images, the model's input has rank %d",
                 a->step[k].row->name, batch->rank);
    s.copy = hn_alloc(batch->alloc, (size_t)s.n * sizeof *s.copy, HN_MEM_DATA);
    if (s.copy == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < batch->dims[0]; i++) {
        hn_rng rng;
        hn_rng_init(&rng, seed ^ ((uint64_t)epoch << 40) ^ (uint64_t)index[i] * 0x9e3779b9u);
        s.data = (float *)batch->data + i * s.n;
        for (int k = 0; k < a->n; k++) a->step[k].row->apply(&s, a->step[k].amount, &rng);
    }
    hn_free(batch->alloc, s.copy);
    return HONE_OK;
}
