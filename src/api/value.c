/* Values, and the array files they come from and go to. A value the library owns is one block: its
 * name, if it came with one, then the elements. */
#include <math.h>
#include <string.h>

#include "api/api.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "base/size.h"
#include "formats/npz.h"

size_t hone_value_bytes(hone_dtype dtype, int rank, const int64_t *dims) {
    int64_t n;
    size_t bytes;
    int bits = hone_dtype_bits(dtype);
    if (rank < 0 || rank > HONE_MAX_RANK || bits == 0) return SIZE_MAX;
    return hn_dims_count(dims, rank, &n) && hn_packed_bytes(n, bits, &bytes) ? bytes : SIZE_MAX;
}

void hone_free(void *block) { hn_free(hn_allocator_default(), block); }

void hone_value_release_sized(hone_value *values, size_t n, const hone_layout *caller) {
    size_t size = HN_CALLER(caller, value);
    for (char *at = (char *)values; n > 0; at += size, n--) {
        hone_value *v = (hone_value *)at; /* its first fields are those of version 0.1 */
        if (v->owner == NULL) continue;
        hn_free(hn_allocator_default(), v->owner);
        if (v->name == v->owner) v->name = NULL;
        v->owner = v->data = NULL;
        v->bytes = 0;
    }
}

/* Values larger than this are refused where the machine has less memory: asked for so much, the
 * system may say yes and end the program when it is used. */
#define SMALL ((size_t)16 << 20)

hone_status hn_api_own(hone_value *v, size_t bytes, const char *name, hn_error *err) {
    size_t text = name != NULL ? strlen(name) + 1 : 0, before, whole;
    bool fits = hn_size_add(text, HN_ALIGN - 1, &before);
    size_t most = bytes > SMALL ? hn_cpu_memory() : SIZE_MAX;
    HN_CHECK(err, bytes <= most, HONE_E_NOMEM,
             "out of memory: '%s' takes %zu bytes, %zu are available",
             name != NULL      ? name
             : v->name != NULL ? v->name
                               : "",
             bytes, most);
    before = before / HN_ALIGN * HN_ALIGN;
    char *block = fits && hn_size_add(bytes, before, &whole)
                      ? hn_alloc(hn_allocator_default(), whole, HN_MEM_DATA)
                      : NULL;
    HN_CHECK(err, block != NULL, HONE_E_NOMEM, "out of memory (%zu bytes for a value)", bytes);
    if (name != NULL) v->name = memcpy(block, name, text);
    v->owner = block;
    v->data = block + before;
    v->bytes = bytes;
    return HONE_OK;
}

static hone_status fill_value(hone_value *v, hone_fill fill, uint64_t seed, hn_error *err) {
    const char *name = v->name != NULL ? v->name : "";
    HN_CHECK(err, fill >= HONE_FILL_ZEROS && fill <= HONE_FILL_RANDOM, HONE_E_ARG,
             "'%s' cannot be filled: there is no fill %d", name, (int)fill);
    HN_CHECK(
        err,
        hn_dtype_is_float(v->dtype) || hn_dtype_is_int(v->dtype) || v->dtype == HONE_DTYPE_BOOL,
        HONE_E_TYPE, "'%s' cannot be filled: its type is %s", name, hone_dtype_name(v->dtype));
    size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    int64_t n;
    HN_CHECK(err, bytes != SIZE_MAX && hn_dims_count(v->dims, v->rank, &n), HONE_E_SHAPE,
             "'%s' cannot be filled: a size is negative or too large", name);
    HN_TRY(hn_api_own(v, bytes, NULL, err));
    memset(v->data, 0, bytes);
    if (fill == HONE_FILL_ZEROS) return HONE_OK;
    hn_rng rng;
    hn_rng_init(&rng, seed);
    bool is_float = hn_dtype_is_float(v->dtype);
    for (int64_t i = 0; i < n; i++) {
        double x = 1;
        if (fill == HONE_FILL_RANDOM)
            x = is_float ? hn_rng_normal(&rng) : (double)hn_rng_below(&rng, 2);
        hn_store_f64(v->dtype, v->data, i, x);
    }
    return HONE_OK;
}

hone_status hone_value_fill_sized(hone_value *v, hone_fill fill, uint64_t seed,
                                  const hone_layout *caller, hone_error *err) {
    hone_value own = {0};
    HN_TRY(HN_TAKE(&own, v, caller, value, err));
    HN_TRY(fill_value(&own, fill, seed, err));
    HN_GIVE(v, &own, caller, value);
    return HONE_OK;
}

static hone_status check_numbers(const hone_value *v, int64_t *n, hn_error *err) {
    const char *name = v->name != NULL ? v->name : "";
    HN_CHECK(err, hn_dtype_is_float(v->dtype) || hn_dtype_is_int(v->dtype), HONE_E_TYPE,
             "'%s' holds no numbers: its type is %s", name, hone_dtype_name(v->dtype));
    size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    HN_CHECK(err, bytes != SIZE_MAX && hn_dims_count(v->dims, v->rank, n), HONE_E_SHAPE,
             "'%s' cannot be compared: a size is negative or too large", name);
    HN_CHECK(err, v->bytes >= bytes && (v->data != NULL || bytes == 0), HONE_E_SHAPE,
             "'%s' cannot be compared: it has %zu bytes, expected %zu", name, v->bytes, bytes);
    return HONE_OK;
}

static hone_status difference(const hone_value *a, const hone_value *b, hone_difference *out,
                              hn_error *err) {
    int64_t n, n_b;
    HN_TRY(check_numbers(a, &n, err));
    HN_TRY(check_numbers(b, &n_b, err));
    bool alike = a->rank == b->rank;
    for (int i = 0; alike && i < a->rank; i++) alike = a->dims[i] == b->dims[i];
    HN_CHECK(err, alike, HONE_E_SHAPE, "'%s' and '%s' cannot be compared: their shapes differ",
             a->name != NULL ? a->name : "", b->name != NULL ? b->name : "");
    double sum = 0, most = 0, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = hn_load_f64(a->dtype, a->data, i), y = hn_load_f64(b->dtype, b->data, i);
        bool same = x == y || (isnan(x) && isnan(y));
        double d = same ? 0 : isfinite(x) && isfinite(y) ? fabs(x - y) : INFINITY;
        sum += d;
        most = fmax(most, d);
        if (isfinite(y)) largest = fmax(largest, fabs(y));
    }
    double unit = largest > 0 ? largest : 1; /* the others are all zero: the distance itself */
    *out = (hone_difference){n > 0 ? sum / (double)n / unit : 0, most / unit};
    return HONE_OK;
}

hone_status hone_value_difference_sized(const hone_value *a, const hone_value *b,
                                        hone_difference *out, const hone_layout *caller,
                                        hone_error *err) {
    hone_value own_a = {0}, own_b = {0};
    hone_difference found;
    HN_TRY(HN_TAKE(&own_a, a, caller, value, err));
    HN_TRY(HN_TAKE(&own_b, b, caller, value, err));
    HN_TRY(difference(&own_a, &own_b, &found, err));
    HN_GIVE(out, &found, caller, difference);
    return HONE_OK;
}

/* The array's elements move to a block of v's own. */
static hone_status from_array(hone_value *v, hn_array *a, const char *name, hn_error *err) {
    hone_value got = {.dtype = a->dtype, .rank = a->rank};
    memcpy(got.dims, a->dims, sizeof got.dims);
    HN_TRY(hn_api_own(&got, a->bytes, name, err));
    if (a->bytes > 0) memcpy(got.data, a->data, a->bytes);
    *v = got;
    return HONE_OK;
}

static hone_status to_array(const hone_value *v, hn_array *a, hn_error *err) {
    const char *name = v->name != NULL ? v->name : "";
    size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    HN_CHECK(err, bytes != SIZE_MAX, HONE_E_ARG, "value '%s' has no type and dims with a size",
             name);
    HN_CHECK(err, bytes == v->bytes && (bytes == 0 || v->data != NULL), HONE_E_ARG,
             "value '%s' has %zu bytes, its dims say %zu", name, v->data != NULL ? v->bytes : 0,
             bytes);
    static char nothing[1];
    *a = (hn_array){.dtype = v->dtype,
                    .rank = v->rank,
                    .bytes = bytes,
                    .data = v->data != NULL ? v->data : nothing};
    memcpy(a->dims, v->dims, sizeof a->dims);
    return HONE_OK;
}

hone_status hone_npy_read_sized(hone_value *out, const char *path, const hone_layout *caller,
                                hone_error *err) {
    hn_allocator *alloc = hn_allocator_default();
    hn_array a;
    hone_value own;
    HN_TRY(hn_npy_read(&a, path, &(hn_npy_options){.in_place = true}, alloc, err));
    hone_status status = from_array(&own, &a, "", err);
    hn_array_deinit(&a, alloc);
    if (status == HONE_OK) HN_GIVE(out, &own, caller, value);
    return status;
}

hone_status hone_npy_write_sized(const hone_value *v, const char *path, const hone_layout *caller,
                                 hone_error *err) {
    hn_array a;
    hone_value own = {0};
    HN_TRY(HN_TAKE(&own, v, caller, value, err));
    HN_TRY(to_array(&own, &a, err));
    return hn_npy_write(path, NULL, &a, hn_allocator_default(), err);
}

/* values[] has room for every member; *done counts those read, on failure too. */
static hone_status read_members(hn_npz *npz, hone_value *values, size_t *done, hn_error *err) {
    hn_allocator *alloc = hn_allocator_default();
    for (; *done < hn_npz_count(npz); ++*done) {
        hn_array a;
        HN_TRY(hn_npz_read(&a, npz, *done, &(hn_npy_options){.in_place = true}, alloc, err));
        hone_status status = from_array(&values[*done], &a, hn_npz_name(npz, *done), err);
        hn_array_deinit(&a, alloc);
        HN_TRY(status);
    }
    return HONE_OK;
}

hone_status hone_npz_read_sized(hone_value **out, size_t *n, const char *path,
                                const hone_layout *caller, hone_error *err) {
    hn_allocator *alloc = hn_allocator_default();
    hone_value *shown = NULL;
    hn_file *file;
    hn_npz *npz = NULL;
    hone_value *values = NULL;
    size_t done = 0;
    HN_TRY(hn_file_open(&file, path, true, alloc, err));
    hone_status status = hn_npz_open(&npz, file, alloc, err);
    if (status == HONE_OK) {
        values = hn_alloc_array(alloc, hn_npz_count(npz), sizeof *values, HN_MEM_DATA);
        status = values == NULL ? HN_NOMEM(err) : read_members(npz, values, &done, err);
        hn_npz_close(npz);
    }
    hn_file_unref(file);
    if (status == HONE_OK) {
        shown = hn_show_array(values, done, sizeof *values, HN_CALLER(caller, value));
        if (shown == NULL) status = HN_NOMEM(err);
    }
    if (status != HONE_OK) {
        if (values != NULL) hone_value_release(values, done);
        hn_free(alloc, values);
        return status;
    }
    if (shown != values) hn_free(alloc, values);
    *out = shown;
    *n = done;
    return HONE_OK;
}

static hone_status write_npz(const hone_value *v, size_t n, const char *path, hn_error *err) {
    hn_allocator *alloc = hn_allocator_default();
    hn_array *arrays = hn_alloc_array(alloc, n + 1, sizeof *arrays, HN_MEM_OTHER);
    const char **names = hn_alloc_array(alloc, n + 1, sizeof *names, HN_MEM_OTHER);
    hone_status status = arrays == NULL || names == NULL ? HN_NOMEM(err) : HONE_OK;
    for (size_t i = 0; status == HONE_OK && i < n; i++) {
        names[i] = v[i].name;
        status = names[i] != NULL ? to_array(&v[i], &arrays[i], err)
                                  : HN_FAIL(err, HONE_E_ARG, "value %zu has no name", i);
    }
    if (status == HONE_OK) status = hn_npz_write(path, NULL, n, names, arrays, alloc, err);
    hn_free(alloc, arrays);
    hn_free(alloc, names);
    return status;
}

hone_status hone_npz_write_sized(const hone_value *v, size_t n, const char *path,
                                 const hone_layout *caller, hone_error *err) {
    hn_caller_array own;
    HN_TRY(HN_TAKE_ARRAY(&own, v, n, caller, value, err));
    hone_status status = write_npz(own.own, n, path, err);
    hn_caller_array_deinit(&own);
    return status;
}
