#include "formats/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/rng.h"
#include "base/size.h"
#include "base/span.h"
#include "formats/dataset_kind.h"

/* ---- opening ----------------------------------------------------------------------------------
 */

hone_status hn_dataset_add_fields(hn_dataset *ds, int n, int n_targets, hn_error *err) {
    ds->fields = hn_arena_array(&ds->arena, (size_t)n + (size_t)n_targets, sizeof *ds->fields);
    if (ds->fields == NULL) return HN_NOMEM(err);
    ds->n_fields = n;
    ds->n_targets = n_targets;
    return HONE_OK;
}

hone_status hn_dataset_set_shape(hn_dataset *ds, int field, hone_dtype dtype, int rank,
                                 const int64_t *dims, hn_error *err) {
    hn_dataset_source *f = &ds->fields[field];
    int bits = hone_dtype_bits(dtype);
    HN_CHECK(err, bits >= 8 && !hn_dtype_in(dtype, HN_DTYPES_COMPLEX), HONE_E_TYPE,
             "samples of type %s are not supported", hone_dtype_name(dtype));
    f->shown.dtype = dtype;
    f->shown.rank = rank;
    for (int i = 0; i < rank; i++) f->shown.dims[i] = dims[i];
    HN_CHECK(err,
             hn_dims_count(dims, rank, &f->count) && hn_packed_bytes(f->count, bits, &f->bytes),
             HONE_E_FORMAT, "a sample has more elements than memory could hold");
    HN_CHECK(err, f->count > 0, HONE_E_FORMAT, "a sample has no elements");
    f->stride = f->bytes;
    return HONE_OK;
}

hone_status hn_dataset_add_labels(hn_dataset *ds, hn_error *err) {
    assert(ds->total >= 0);
    ds->labels = hn_alloc_array(ds->alloc, (size_t)ds->total, sizeof *ds->labels, HN_MEM_DATA);
    return ds->labels != NULL ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_dataset_permutation(int64_t **out, int64_t n, uint64_t seed, hn_allocator *alloc,
                                   hn_error *err) {
    assert(n >= 0);
    int64_t *order = hn_alloc_array(alloc, (size_t)n, sizeof *order, HN_MEM_DATA);
    if (order == NULL) return HN_NOMEM(err);
    hn_rng rng;
    hn_rng_init(&rng, seed);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = (int64_t)hn_rng_below(&rng, (uint64_t)i + 1);
        if (j < i) order[i] = order[j];
        order[j] = i;
    }
    *out = order;
    return HONE_OK;
}

static hone_status open_parsed(hn_dataset *ds, const char *spec, hn_error *err) {
    ds->text = hn_arena_strdup(&ds->arena, spec);
    if (ds->text == NULL) return HN_NOMEM(err);
    HN_TRY(hn_dataset_parse(ds, spec, err));
    HN_TRY(ds->spec.kind->open(ds, err));
    int64_t skip = ds->spec.skip, left = skip < ds->total ? ds->total - skip : 0;
    HN_CHECK(err, left > 0, HONE_E_ARG, "skip=%" PRId64 " leaves none of the %" PRId64 " samples",
             skip, ds->total);
    HN_CHECK(err, ds->spec.n <= left, HONE_E_ARG,
             "n=%" PRId64 ", but there are %" PRId64 " samples and skip=%" PRId64, ds->spec.n,
             ds->total, skip);
    ds->n = ds->spec.n < 0 ? left : ds->spec.n;
    if (!ds->spec.shuffled) return HONE_OK;
    return hn_dataset_permutation(&ds->order, ds->total, ds->spec.shuffle, ds->alloc, err);
}

hone_status hn_dataset_open(hn_dataset **out, const char *spec, hn_allocator *alloc,
                            hn_error *err) {
    hn_dataset *ds = hn_alloc_zero(alloc, sizeof *ds, HN_MEM_DATA);
    if (ds == NULL) return HN_NOMEM(err);
    ds->alloc = alloc;
    hn_arena_init(&ds->arena, alloc, HN_MEM_DATA);
    hone_status status = open_parsed(ds, spec, err);
    if (status != HONE_OK) {
        hn_error_context(err, "dataset '%s'", spec);
        hn_dataset_close(ds);
        return status;
    }
    *out = ds;
    return HONE_OK;
}

void hn_dataset_close(hn_dataset *ds) {
    if (ds == NULL) return;
    if (ds->is_part) {
        hn_free(ds->alloc, ds->order);
        hn_free(ds->alloc, ds);
        return;
    }
    for (int i = 0; i < ds->n_fields + ds->n_targets; i++)
        hn_array_deinit(&ds->fields[i].array, ds->alloc);
    hn_file_unref(ds->file);
    hn_free(ds->alloc, ds->order);
    hn_free(ds->alloc, ds->labels);
    hn_free(ds->alloc, ds->damaged);
    hn_free(ds->alloc, ds->place);
    hn_arena_deinit(&ds->arena);
    hn_free(ds->alloc, ds);
}

int64_t hn_dataset_count(const hn_dataset *ds) { return ds->n; }

bool hn_dataset_is_made_up(const hn_dataset *ds) { return ds->spec.kind->make != NULL; }

bool hn_dataset_has_labels(const hn_dataset *ds) {
    return ds->labels != NULL || ds->spec.kind->label != NULL;
}

const char *hn_dataset_how_labelled(const hn_dataset *ds) { return ds->spec.kind->labelled; }

/* Which of all samples is number i of those used. */
static int64_t sample_at(const hn_dataset *ds, int64_t i) {
    i += ds->spec.skip;
    return ds->order != NULL ? ds->order[i] : i;
}

hone_status hn_dataset_part(hn_dataset **out, const hn_dataset *of, const int64_t *index, int64_t n,
                            hn_error *err) {
    assert(n >= 0);
    hn_dataset *ds = hn_alloc(of->alloc, sizeof *ds, HN_MEM_DATA);
    int64_t *order = hn_alloc_array(of->alloc, (size_t)n, sizeof *order, HN_MEM_DATA);
    if (ds == NULL || order == NULL) {
        hn_free(of->alloc, order);
        hn_free(of->alloc, ds);
        return HN_NOMEM(err);
    }
    for (int64_t i = 0; i < n; i++) {
        assert(index[i] >= 0 && index[i] < of->n);
        order[i] = sample_at(of, index[i]);
    }
    *ds = *of;
    ds->is_part = true;
    ds->order = order;
    ds->n = n;
    ds->spec.skip = 0;
    *out = ds;
    return HONE_OK;
}

bool hn_dataset_damaged(const hn_dataset *ds, int64_t i) {
    assert(i >= 0 && i < ds->n);
    return ds->damaged != NULL && atomic_load(&ds->damaged[sample_at(ds, i)]) != 0;
}

int64_t hn_dataset_skipped(const hn_dataset *ds, size_t n_names, const char **names) {
    int64_t skipped = 0;
    for (int64_t i = 0; ds->damaged != NULL && i < ds->n; i++) {
        if (!hn_dataset_damaged(ds, i)) continue;
        if ((uint64_t)skipped < n_names) names[skipped] = ds->names[sample_at(ds, i)];
        skipped++;
    }
    for (size_t i = (size_t)skipped; i < n_names; i++) names[i] = NULL;
    return skipped;
}

int hn_dataset_n_targets(const hn_dataset *ds) { return ds->n_targets; }

const hn_dataset_field *hn_dataset_target_at(const hn_dataset *ds, int t) {
    assert(t >= 0 && t < ds->n_targets);
    return &ds->fields[ds->n_fields + t].shown;
}

int hn_dataset_n_fields(const hn_dataset *ds) { return ds->n_fields; }

const hn_dataset_field *hn_dataset_field_at(const hn_dataset *ds, int i) {
    assert(i >= 0 && (i < ds->n_fields || ds->spec.kind->make != NULL));
    return &ds->fields[i < ds->n_fields ? i : 0].shown;
}

hone_status hn_dataset_find(const hn_dataset *ds, const char *input, int i, int n_inputs,
                            int *field, hn_error *err) {
    if (ds->spec.kind->make != NULL) { /* the number only keeps the inputs apart */
        *field = i;
        return HONE_OK;
    }
    if (ds->n_fields == 1 && n_inputs == 1) {
        *field = 0;
        return HONE_OK;
    }
    char names[256] = "only one without a name";
    size_t used = 0;
    for (int f = 0; f < ds->n_fields; f++) {
        const char *name = ds->fields[f].shown.name;
        if (name == NULL) continue;
        if (strcmp(name, input) == 0) {
            *field = f;
            return HONE_OK;
        }
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s'%s'",
                                     used == 0 ? "" : ", ", name);
    }
    return HN_FAIL(err, HONE_E_NOT_FOUND,
                   "dataset '%s': no samples for the model's input '%s'; there is %s", ds->text,
                   input, names);
}

hone_status hn_dataset_labels(const hn_dataset *ds, int64_t first, int64_t n, int64_t *dst,
                              hn_error *err) {
    assert(first >= 0 && n >= 0 && n <= ds->n - first);
    HN_CHECK(err, hn_dataset_has_labels(ds), HONE_E_NOT_FOUND, "dataset '%s' has no labels",
             ds->text);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sample_at(ds, first + i);
        dst[i] = ds->spec.kind->label != NULL ? ds->spec.kind->label(ds, at) : ds->labels[at];
    }
    return HONE_OK;
}

/* ---- filling ----------------------------------------------------------------------------------
 */

enum { CHUNK = 512 };

/* How one sample becomes what the model wants: as `channels` planes of `pixels` elements. Element
 * (c, p) is read at (c or, reversed, channels - 1 - c) * src_c + p * src_p and written at c * dst_c
 * + p * dst_p. */
typedef struct mapping {
    hone_dtype from, to;
    int64_t channels, pixels;
    int64_t src_c, src_p, dst_c, dst_p;
    bool reversed;
    bool exact; /* value = x */
} mapping;

static void shape_text(char *text, size_t size, int rank, const int64_t *dims) {
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < rank && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, i == 0 ? "%" PRId64 : ",%" PRId64, dims[i]);
    if (used < size) snprintf(text + used, size - used, "]");
}

static hone_status check_count(const hn_dataset *ds, const hn_dataset_source *f,
                               const hn_dataset_want *want, int64_t *count, hn_error *err) {
    if (hn_dims_count(want->dims, want->rank, count) && want->cut == 0 && *count == f->count)
        return HONE_OK;
    char have[128], wanted[128];
    shape_text(have, sizeof have, f->shown.rank, f->shown.dims);
    shape_text(wanted, sizeof wanted, want->rank, want->dims);
    const char *name = f->shown.name != NULL ? f->shown.name : "the input";
    HN_CHECK(err, hn_dims_count(want->dims, want->rank, count), HONE_E_SHAPE,
             "dataset '%s': %s wants a sample of %s, which is not a shape", ds->text, name, wanted);
    HN_CHECK(err, want->cut == 0 || (f->shown.rank == 1 && want->cut <= f->count), HONE_E_SHAPE,
             "dataset '%s': a sample of %s is %s and cannot be cut at %" PRId64, ds->text, name,
             have, want->cut);
    HN_CHECK(err, *count == (want->cut != 0 ? want->cut : f->count), HONE_E_SHAPE,
             "dataset '%s': a sample of %s is %s, the model wants %s", ds->text, name, have,
             wanted);
    return HONE_OK;
}

/* Whether the model's channels come last: as the key says, or as the dims do where the samples' own
 * layout is known. */
static bool wants_nhwc(const hn_dataset *ds, const hn_dataset_source *f,
                       const hn_dataset_want *want) {
    if (ds->spec.layout != HN_LAYOUT_UNSET) return ds->spec.layout == HN_LAYOUT_NHWC;
    const int64_t *have = f->shown.dims;
    return f->chw && want->rank == 3 && want->dims[0] == have[1] && want->dims[1] == have[2] &&
           want->dims[2] == have[0] && have[0] != have[1];
}

static hone_status make_mapping(const hn_dataset *ds, const hn_dataset_source *f,
                                const hn_dataset_want *want, mapping *m, hn_error *err) {
    const hn_dataset_spec *s = &ds->spec;
    int64_t count;
    HN_TRY(check_count(ds, f, want, &count, err));
    bool nhwc = wants_nhwc(ds, f, want);
    int values = s->n_mean > s->n_std ? s->n_mean : s->n_std;
    *m = (mapping){.from = f->shown.dtype, .to = want->dtype, .channels = 1, .reversed = s->bgr};
    m->exact = s->scale == 1 && s->n_mean == 0 && s->n_std == 0;
    if (f->chw)
        m->channels = f->shown.dims[0];
    else if ((values > 1 || s->bgr) && want->rank > 0)
        m->channels = want->dims[nhwc ? want->rank - 1 : 0];
    const char *layout = nhwc ? "nhwc" : "nchw";
    HN_CHECK(err, values <= 1 || values == m->channels, HONE_E_SHAPE,
             "dataset '%s': mean and std have %d values, the input has %" PRId64
             " channels (layout %s)",
             ds->text, values, m->channels, layout);
    HN_CHECK(err, !s->bgr || m->channels == 3, HONE_E_SHAPE,
             "dataset '%s': order=bgr needs 3 channels, the input has %" PRId64 " (layout %s)",
             ds->text, m->channels, layout);
    m->pixels = count / m->channels;
    m->dst_c = nhwc ? 1 : m->pixels;
    m->dst_p = nhwc ? m->channels : 1;
    m->src_c = f->chw ? m->pixels : m->dst_c;
    m->src_p = f->chw ? 1 : m->dst_p;
    return HONE_OK;
}

static bool s64_fits(int64_t v, bool from_u64, hone_dtype to) {
    if (to == HONE_DTYPE_U64) return v >= 0 || from_u64;
    if (from_u64 && v < 0) return false;
    return v >= hn_dtype_min(to) && v <= (int64_t)hn_dtype_max(to);
}

/* Integers to integers, without the detour over double. False: *bad does not fit. */
static bool copy_integers(const mapping *m, const void *src, int64_t from, void *dst, int64_t to,
                          int64_t n, double *bad) {
    bool from_u64 = m->from == HONE_DTYPE_U64;
    for (int64_t i = 0; i < n; i++) {
        int64_t v = hn_load_s64(m->from, src, from + i * m->src_p);
        if (!s64_fits(v, from_u64, m->to)) {
            *bad = from_u64 ? (double)(uint64_t)v : (double)v;
            return false;
        }
        hn_store_s64(m->to, dst, to + i * m->dst_p, v);
    }
    return true;
}

/* Computed values to integers. False: *bad does not fit, or is no integer though it was not
 * computed. */
static bool store_integers(const mapping *m, const double *v, void *dst, int64_t to, int64_t n,
                           double *bad) {
    double low = (double)hn_dtype_min(m->to), high = (double)hn_dtype_max(m->to) + 1;
    for (int64_t i = 0; i < n; i++) {
        double r = rint(v[i]);
        /* Above 2^53, high itself is what max + 1 rounds to: still the first value that is too
         * large. */
        if (!(r >= low && r < high) || (m->exact && r != v[i])) {
            *bad = v[i];
            return false;
        }
        int64_t bits = r < 0x1p63 ? (int64_t)r : (int64_t)(uint64_t)r;
        hn_store_s64(m->to, dst, to + i * m->dst_p, bits);
    }
    return true;
}

/* n elements of one channel. False: *bad cannot be stored. */
static bool fill_run(const mapping *m, const hn_dataset_spec *s, int64_t channel, const void *src,
                     int64_t from, void *dst, int64_t to, int64_t n, double *bad) {
    bool integers = hn_dtype_is_int(m->to) || m->to == HONE_DTYPE_BOOL;
    if (integers && m->exact && (hn_dtype_is_int(m->from) || m->from == HONE_DTYPE_BOOL))
        return copy_integers(m, src, from, dst, to, n, bad);
    double v[CHUNK];
    assert(n <= CHUNK);
    if (m->src_p == 1)
        hn_load_f64_n(m->from, src, from, n, v);
    else
        for (int64_t i = 0; i < n; i++) v[i] = hn_load_f64(m->from, src, from + i * m->src_p);
    if (!m->exact) {
        double mean = s->n_mean == 0 ? 0 : s->mean[s->n_mean == 1 ? 0 : channel];
        double std = s->n_std == 0 ? 1 : s->std[s->n_std == 1 ? 0 : channel];
        for (int64_t i = 0; i < n; i++) v[i] = (v[i] * s->scale - mean) / std;
    }
    if (integers) return store_integers(m, v, dst, to, n, bad);
    if (m->dst_p == 1)
        hn_store_f64_n(m->to, dst, to, n, v);
    else
        for (int64_t i = 0; i < n; i++) hn_store_f64(m->to, dst, to + i * m->dst_p, v[i]);
    return true;
}

/* One channel of bytes, of which there are only 256: each is computed once. */
static void fill_bytes(const mapping *m, const hn_dataset_spec *s, int64_t channel,
                       const unsigned char *src, float *dst) {
    double bad;
    unsigned char bytes[256];
    float values[256];
    mapping line = {.from = HONE_DTYPE_U8, .to = HONE_DTYPE_F32, .src_p = 1, .dst_p = 1};
    for (int i = 0; i < 256; i++) bytes[i] = (unsigned char)i;
    fill_run(&line, s, channel, bytes, 0, values, 0, 256, &bad);
    for (int64_t p = 0; p < m->pixels; p++) dst[p * m->dst_p] = values[src[p * m->src_p]];
}

/* One sample, whose first element goes to element `at` of dst. */
static bool fill_sample(const mapping *m, const hn_dataset_spec *s, const void *src, void *dst,
                        int64_t at, double *bad) {
    int64_t count = m->channels * m->pixels;
    if (m->exact && m->from == m->to && !m->reversed && m->src_p == m->dst_p) {
        size_t width = (size_t)hone_dtype_bits(m->to) / 8;
        memcpy((unsigned char *)dst + (size_t)at * width, src, (size_t)count * width);
        return true;
    }
    for (int64_t c = 0; c < m->channels; c++) {
        int64_t from = (m->reversed ? m->channels - 1 - c : c) * m->src_c, to = at + c * m->dst_c;
        if (m->from == HONE_DTYPE_U8 && m->to == HONE_DTYPE_F32 && m->pixels >= 1024) {
            fill_bytes(m, s, c, (const unsigned char *)src + from, (float *)dst + to);
            continue;
        }
        for (int64_t p = 0; p < m->pixels; p += CHUNK) {
            int64_t n = m->pixels - p < CHUNK ? m->pixels - p : CHUNK;
            if (!fill_run(m, s, c, src, from + p * m->src_p, dst, to + p * m->dst_p, n, bad))
                return false;
        }
    }
    return true;
}

static hone_status room_init(const hn_dataset *ds, int field, hn_dataset_room *room,
                             hn_error *err) {
    *room = (hn_dataset_room){0};
    if (ds->spec.kind->sample == NULL) return HONE_OK;
    room->sample = hn_alloc(ds->alloc, ds->fields[field].bytes, HN_MEM_DATA);
    return room->sample != NULL ? HONE_OK : HN_NOMEM(err);
}

static void room_deinit(const hn_dataset *ds, hn_dataset_room *room) {
    hn_free(ds->alloc, room->sample);
    hn_file_unref(room->file);
}

/* Sample i of all there are, as it was stored. */
static hone_status stored_sample(const hn_dataset *ds, hn_dataset_room *room, int field, int64_t i,
                                 const void **data, hn_error *err) {
    if (ds->spec.kind->sample == NULL) {
        *data = ds->fields[field].data + (size_t)i * ds->fields[field].stride;
        return HONE_OK;
    }
    int64_t begun = hn_span_begin();
    hone_status status = ds->spec.kind->sample(ds, room, field, i, data, err);
    hn_span_end("data", "decode", begun, -1);
    if (status != HONE_OK) hn_error_context(err, "dataset '%s'", ds->text);
    return status;
}

static hone_status make_samples(const hn_dataset *ds, int field, int64_t first, int64_t n,
                                const hn_dataset_want *want, void *dst, hn_error *err) {
    int64_t count;
    HN_CHECK(err, hn_dims_count(want->dims, want->rank, &count), HONE_E_SHAPE,
             "dataset '%s': the wanted sample is not a shape", ds->text);
    HN_CHECK(err,
             hn_dtype_is_float(want->dtype) || hn_dtype_is_int(want->dtype) ||
                 want->dtype == HONE_DTYPE_BOOL,
             HONE_E_TYPE, "dataset '%s': values of type %s are not made", ds->text,
             hone_dtype_name(want->dtype));
    for (int64_t i = 0; i < n; i++)
        ds->spec.kind->make(ds, field, sample_at(ds, first + i), want->dtype, count, dst,
                            i * count);
    return HONE_OK;
}

static hone_status fill_samples(const hn_dataset *ds, hn_dataset_room *room, int field,
                                const mapping *m, int64_t first, int64_t n, void *dst,
                                hn_error *err) {
    for (int64_t i = 0; i < n; i++) {
        const void *src = NULL;
        double bad = 0;
        int64_t at = sample_at(ds, first + i);
        HN_TRY(stored_sample(ds, room, field, at, &src, err));
        int64_t begun = hn_span_begin();
        bool fits = fill_sample(m, &ds->spec, src, dst, i * m->channels * m->pixels, &bad);
        hn_span_end("data", "preprocess", begun, -1);
        HN_CHECK(err, fits, HONE_E_TYPE,
                 "dataset '%s': sample %" PRId64 " has the value %g, which is no %s", ds->text, at,
                 bad, hone_dtype_name(m->to));
    }
    return HONE_OK;
}

hone_status hn_dataset_fill(const hn_dataset *ds, int field, int64_t first, int64_t n,
                            const hn_dataset_want *want, void *dst, hn_error *err) {
    assert(first >= 0 && n >= 0 && n <= ds->n - first);
    if (ds->spec.kind->make != NULL) return make_samples(ds, field, first, n, want, dst, err);
    assert(field >= 0 && field < ds->n_fields);
    const hn_dataset_source *f = &ds->fields[field];
    HN_CHECK(err, want->dtype != HONE_DTYPE_STRING && !hn_dtype_in(want->dtype, HN_DTYPES_COMPLEX),
             HONE_E_TYPE, "dataset '%s': an input of type %s cannot be filled", ds->text,
             hone_dtype_name(want->dtype));
    mapping m;
    HN_TRY(make_mapping(ds, f, want, &m, err));
    hn_dataset_room room;
    HN_TRY(room_init(ds, field, &room, err));
    hone_status status = fill_samples(ds, &room, field, &m, first, n, dst, err);
    room_deinit(ds, &room);
    return status;
}

hone_status hn_dataset_targets(const hn_dataset *ds, int t, int64_t first, int64_t n, void *dst,
                               hn_error *err) {
    assert(first >= 0 && n >= 0 && n <= ds->n - first && t >= 0 && t < ds->n_targets);
    int field = ds->n_fields + t;
    size_t bytes = ds->fields[field].bytes;
    hn_dataset_room room;
    HN_TRY(room_init(ds, field, &room, err));
    hone_status status = HONE_OK;
    for (int64_t i = 0; i < n && status == HONE_OK; i++) {
        const void *src = NULL;
        status = stored_sample(ds, &room, field, sample_at(ds, first + i), &src, err);
        if (status == HONE_OK) memcpy((unsigned char *)dst + (size_t)i * bytes, src, bytes);
    }
    room_deinit(ds, &room);
    return status;
}

hone_status hn_dataset_longest(const hn_dataset *ds, int field, int64_t first, int64_t n,
                               int64_t *length, hn_error *err) {
    assert(first >= 0 && n >= 0 && n <= ds->n - first && field >= 0 && field < ds->n_fields);
    const hn_dataset_source *f = &ds->fields[field];
    HN_CHECK(err, f->shown.rank == 1, HONE_E_SHAPE,
             "dataset '%s': samples of '%s' have %d axes, a length needs 1", ds->text,
             f->shown.name != NULL ? f->shown.name : "", f->shown.rank);
    int64_t most = 1;
    hn_dataset_room room;
    HN_TRY(room_init(ds, field, &room, err));
    hone_status status = HONE_OK;
    for (int64_t i = 0; i < n && status == HONE_OK; i++) {
        const void *data = NULL;
        status = stored_sample(ds, &room, field, sample_at(ds, first + i), &data, err);
        int64_t end = status == HONE_OK ? f->count : most;
        while (end > most && hn_load_f64(f->shown.dtype, data, end - 1) == 0) end--;
        most = end;
    }
    room_deinit(ds, &room);
    if (status == HONE_OK) *length = most;
    return status;
}
