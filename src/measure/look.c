#include "measure/look.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"

#define NOISE_SAMPLES 64 /* looked at for noise */
#define NOISE_PAIRS \
    5000 /* fewer say nothing: chance alone gives a correlation of 1 / sqrt(pairs) */
/* In pictures, spectra and the like neighbours agree, 0.8 and more; in noise of so many pairs the
 * correlation stays below this in all but one case of ten thousand. */
#define NOISE_CORRELATION 0.06
#define CHUNK 512

void hn_look_init(hn_look *l, hn_allocator *alloc) { *l = (hn_look){.alloc = alloc}; }

void hn_look_deinit(hn_look *l) {
    for (size_t i = 0; i < l->n_inputs; i++) hn_free(l->alloc, l->first[i].data);
    hn_free(l->alloc, l->first);
    *l = (hn_look){.alloc = l->alloc};
}

/* Bytes of one sample; 0: the input has no axis for samples, or no fixed width. */
static size_t sample_bytes(const hone_value *v, int64_t n) {
    if (v->rank < 1 || v->dims[0] != n || v->bytes % (size_t)n != 0) return 0;
    return v->bytes / (size_t)n;
}

static hone_status keep_first(hn_look *l, const hone_value *inputs, size_t n_inputs, int64_t n,
                              hn_error *err) {
    l->first = hn_alloc_zero(l->alloc, n_inputs * sizeof *l->first, HN_MEM_DATA);
    if (l->first == NULL) return HN_NOMEM(err);
    l->n_inputs = n_inputs;
    for (size_t i = 0; i < n_inputs; i++) {
        l->first[i].bytes = sample_bytes(&inputs[i], n);
        if (l->first[i].bytes == 0) continue;
        l->first[i].data = hn_alloc(l->alloc, l->first[i].bytes, HN_MEM_DATA);
        if (l->first[i].data == NULL) return HN_NOMEM(err);
        memcpy(l->first[i].data, inputs[i].data, l->first[i].bytes);
    }
    return HONE_OK;
}

static bool differ(const hn_look *l, const hone_value *inputs, int64_t n) {
    for (size_t i = 0; i < l->n_inputs; i++) {
        size_t bytes = sample_bytes(&inputs[i], n);
        if (bytes != l->first[i].bytes) return true; /* texts of another length */
        for (int64_t k = 0; k < n && bytes > 0; k++)
            if (memcmp(l->first[i].data, (unsigned char *)inputs[i].data + (size_t)k * bytes,
                       bytes) != 0)
                return true;
    }
    return false;
}

static void add_row(hn_look *l, const hone_value *v, int64_t from, int64_t n) {
    double x[CHUNK];
    for (int64_t at = 0; at + 1 < n; at += CHUNK - 1) { /* chunks share an end */
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        hn_load_f64_n(v->dtype, v->data, from + at, m, x);
        for (int64_t k = 0; k + 1 < m; k++) {
            l->pairs++;
            l->sum += x[k];
            l->squares += x[k] * x[k];
            l->products += x[k] * x[k + 1];
        }
    }
}

/* Neighbours tell something in what has at least two axes beside the samples. */
static void add_noise(hn_look *l, const hone_value *inputs, size_t n_inputs) {
    const hone_value *v = NULL;
    for (size_t i = 0; i < n_inputs; i++)
        if (hn_dtype_is_float(inputs[i].dtype) && inputs[i].rank >= 3 &&
            (v == NULL || inputs[i].rank > v->rank))
            v = &inputs[i];
    if (v == NULL || v->bytes == 0) return;
    int64_t last = v->dims[v->rank - 1], rows = 1;
    for (int d = 0; d + 1 < v->rank; d++) rows *= v->dims[d];
    l->name = v->name;
    for (int64_t r = 0; r < rows; r++) add_row(l, v, r * last, last);
}

static void add_values(hn_look *l, const hone_value *inputs, size_t n_inputs) {
    const hone_value *v = NULL;
    for (size_t i = 0; i < n_inputs && v == NULL; i++)
        if (hn_dtype_is_float(inputs[i].dtype) && inputs[i].bytes > 0) v = &inputs[i];
    if (v == NULL) return;
    hn_input_values *seen = &l->values;
    if (seen->name == NULL)
        *seen = (hn_input_values){.name = v->name, .least = INFINITY, .most = -INFINITY};
    seen->colours = v->rank == 4 && (v->dims[1] == 3 || v->dims[3] == 3);
    double x[CHUNK];
    int64_t count = 1;
    for (int d = 0; d < v->rank; d++) count *= v->dims[d];
    for (int64_t at = 0; at < count; at += CHUNK) {
        int64_t m = count - at < CHUNK ? count - at : CHUNK;
        hn_load_f64_n(v->dtype, v->data, at, m, x);
        for (int64_t i = 0; i < m; i++) {
            seen->least = fmin(seen->least, x[i]);
            seen->most = fmax(seen->most, x[i]);
            l->total += x[i];
            l->total_squares += x[i] * x[i];
        }
    }
    l->count += (double)count;
}

hn_input_values hn_look_values(const hn_look *l) {
    hn_input_values v = l->values;
    if (v.name == NULL) return v;
    v.mean = l->total / l->count;
    v.deviation = sqrt(fmax(0, l->total_squares / l->count - v.mean * v.mean));
    return v;
}

/* How pixels are usually scaled, and how far from the ends the least and the most may be: pictures
 * need not use the whole range. */
static const struct {
    const char *keys;
    double least, most, slack;
    bool colours; /* for three channels alone */
} scalings[] = {
    {"scale=1", 0, 255, 25, false},
    {"scale=1/255", 0, 1, 0.1, false},
    {"scale=1/255,mean=0.5,std=0.5", -1, 1, 0.2, false},
    {"scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225", -2.12, 2.64, 0.3, true},
};

const char *hn_input_values_text(const hn_input_values *v, char *buf, size_t bytes) {
    int n =
        snprintf(buf, bytes,
                 "The input '%.100s' got values from %.3g to %.3g (mean %.3g, standard deviation "
                 "%.3g)",
                 v->name, v->least, v->most, v->mean, v->deviation);
    const char *before = "; other usual scalings are ";
    for (size_t i = 0; v->bytes && i < sizeof scalings / sizeof *scalings; i++) {
        bool same = fabs(v->least - scalings[i].least) <= scalings[i].slack &&
                    fabs(v->most - scalings[i].most) <= scalings[i].slack;
        if (same || (scalings[i].colours && !v->colours) || n < 0 || (size_t)n >= bytes) continue;
        n += snprintf(buf + n, bytes - (size_t)n, "%s%s (%g to %g)", before, scalings[i].keys,
                      scalings[i].least, scalings[i].most);
        before = ", ";
    }
    return buf;
}

bool hn_look_finite(const hone_value *v, int64_t k, int64_t n) {
    if (!hn_dtype_is_float(v->dtype)) return true;
    double x[CHUNK];
    int64_t count = 1, from = 0;
    for (int d = 0; d < v->rank; d++) count *= v->dims[d];
    if (sample_bytes(v, n) > 0) count /= n, from = k * count;
    for (int64_t at = 0; at < count; at += CHUNK) {
        int64_t m = count - at < CHUNK ? count - at : CHUNK;
        bool finite = true;
        hn_load_f64_n(v->dtype, v->data, from + at, m, x);
        for (int64_t i = 0; i < m; i++) finite &= isfinite(x[i]) != 0;
        if (!finite) return false;
    }
    return true;
}

static void add_not_finite(hn_look *l, const hone_value *inputs, size_t n_inputs, int64_t n,
                           const int64_t *index) {
    for (int64_t k = 0; k < n; k++) {
        bool finite = true;
        for (size_t i = 0; i < n_inputs && finite; i++) finite = hn_look_finite(&inputs[i], k, n);
        if (!finite && l->not_finite++ == 0) l->first_not_finite = index[k];
    }
}

hone_status hn_look_add(hn_look *l, const hone_value *inputs, size_t n_inputs, int64_t n,
                        const int64_t *index, hn_error *err) {
    if (l->samples == 0) HN_TRY(keep_first(l, inputs, n_inputs, n, err));
    if (!l->varies) l->varies = differ(l, inputs, n);
    add_not_finite(l, inputs, n_inputs, n, index);
    if (l->samples < NOISE_SAMPLES) {
        add_noise(l, inputs, n_inputs);
        add_values(l, inputs, n_inputs);
    }
    l->samples += n;
    return HONE_OK;
}

const char *hn_look_verdict(const hn_look *l, char *buf, size_t bytes) {
    if (l->not_finite > 0) {
        snprintf(buf, bytes,
                 "%lld of %lld samples hold a value that is not finite, sample %lld first",
                 (long long)l->not_finite, (long long)l->samples, (long long)l->first_not_finite);
        return buf;
    }
    if (l->samples >= 2 && !l->varies) {
        snprintf(buf, bytes, "all %lld samples are the same", (long long)l->samples);
        return buf;
    }
    if (l->name == NULL || l->pairs < NOISE_PAIRS) return NULL;
    double n = (double)l->pairs, mean = l->sum / n;
    double variance = l->squares / n - mean * mean;
    double correlation = (l->products / n - mean * mean) / variance;
    if (!(variance > 0) || !(fabs(correlation) < NOISE_CORRELATION)) return NULL;
    snprintf(buf, bytes, "the samples look like noise: neighbours in input '%.200s' do not agree",
             l->name);
    return buf;
}
