/* Values, and the array files they come from and go to. An owned value is one block: the elements,
 * then the name. */
#include <string.h>

#include "api/api.h"
#include "base/rng.h"
#include "base/size.h"
#include "formats/npz.h"

size_t hone_value_bytes(hone_dtype dtype, int rank, const int64_t *dims) {
    int64_t n;
    size_t bytes;
    int bits = hone_dtype_bits(dtype);
    if (rank < 0 || rank > HONE_MAX_RANK || bits == 0) return 0;
    return hn_dims_count(dims, rank, &n) && hn_packed_bytes(n, bits, &bytes) ? bytes : 0;
}

void hone_free(void *block) { hn_free(hn_allocator_default(), block); }

void hone_value_release(hone_value *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (values[i].owner == NULL) continue;
        hn_free(hn_allocator_default(), values[i].owner);
        values[i] = (hone_value){0};
    }
}

/* Gives v a block of its own for `bytes` of data and a copy of name (NULL: keep v's). */
static hone_status own(hone_value *v, size_t bytes, const char *name, hn_error *err) {
    size_t text = name != NULL ? strlen(name) + 1 : 0, whole;
    if (!hn_size_add(bytes, text, &whole)) return HN_NOMEM(err);
    char *block = hn_alloc(hn_allocator_default(), whole, HN_MEM_DATA);
    if (block == NULL)
        return HN_FAIL(err, HONE_E_NOMEM, "out of memory (%zu bytes for a value)", whole);
    v->owner = v->data = block;
    v->bytes = bytes;
    if (name != NULL) v->name = memcpy(block + bytes, name, text);
    return HONE_OK;
}

hone_status hone_value_fill(hone_value *v, hone_fill fill, uint64_t seed, hone_error *err) {
    int64_t n;
    size_t bytes;
    int bits = hone_dtype_bits(v->dtype);
    HN_CHECK(err, bits > 0, HONE_E_TYPE, "'%s' cannot be filled: its type is %s",
             v->name != NULL ? v->name : "", hone_dtype_name(v->dtype));
    HN_CHECK(err,
             v->rank >= 0 && v->rank <= HONE_MAX_RANK && hn_dims_count(v->dims, v->rank, &n) &&
                 hn_packed_bytes(n, bits, &bytes),
             HONE_E_SHAPE, "'%s' cannot be filled: a size is negative or too large",
             v->name != NULL ? v->name : "");
    HN_TRY(own(v, bytes, NULL, err));
    memset(v->data, 0, bytes);
    hn_rng rng;
    hn_rng_init(&rng, seed);
    bool is_float = hn_dtype_is_float(v->dtype);
    for (int64_t i = 0; i < n && fill != HONE_FILL_ZEROS; i++) {
        double x = 1;
        if (fill == HONE_FILL_RANDOM)
            x = is_float ? hn_rng_normal(&rng) : (double)hn_rng_below(&rng, 2);
        hn_store_f64(v->dtype, v->data, i, x);
    }
    return HONE_OK;
}

/* The array's elements move to a block of v's own. */
static hone_status from_array(hone_value *v, hn_array *a, const char *name, hn_error *err) {
    hone_value got = {.dtype = a->dtype, .rank = a->rank};
    memcpy(got.dims, a->dims, sizeof got.dims);
    HN_TRY(own(&got, a->bytes, name, err));
    if (a->bytes > 0) memcpy(got.data, a->data, a->bytes);
    *v = got;
    return HONE_OK;
}

static hone_status to_array(const hone_value *v, hn_array *a, hn_error *err) {
    size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    HN_CHECK(err, bytes == v->bytes && (bytes == 0 || v->data != NULL), HONE_E_ARG,
             "value '%s' has %zu bytes, its dims say %zu", v->name != NULL ? v->name : "", v->bytes,
             bytes);
    static char nothing[1];
    *a = (hn_array){.dtype = v->dtype,
                    .rank = v->rank,
                    .bytes = bytes,
                    .data = v->data != NULL ? v->data : nothing};
    memcpy(a->dims, v->dims, sizeof a->dims);
    return HONE_OK;
}

hone_status hone_npy_read(const char *path, hone_value *out, hone_error *err) {
    hn_allocator *alloc = hn_allocator_default();
    hn_array a;
    HN_TRY(hn_npy_read(&a, path, &(hn_npy_options){.in_place = true}, alloc, err));
    hone_status status = from_array(out, &a, "", err);
    hn_array_deinit(&a, alloc);
    return status;
}

hone_status hone_npy_write(const char *path, const hone_value *v, hone_error *err) {
    hn_array a;
    HN_TRY(to_array(v, &a, err));
    return hn_npy_write(path, NULL, &a, hn_allocator_default(), err);
}

hone_status hone_npz_read(const char *path, hone_value **out, size_t *n, hone_error *err) {
    hn_allocator *alloc = hn_allocator_default();
    hn_file *file = NULL;
    hn_npz *npz = NULL;
    hone_value *values = NULL;
    size_t done = 0;
    hone_status status = hn_file_open(&file, path, true, alloc, err);
    if (status == HONE_OK) status = hn_npz_open(&npz, file, alloc, err);
    size_t count = status == HONE_OK ? hn_npz_count(npz) : 0;
    if (status == HONE_OK) {
        values = hn_alloc_array(alloc, count + 1, sizeof *values, HN_MEM_DATA);
        if (values == NULL) status = HN_NOMEM(err);
    }
    for (; status == HONE_OK && done < count; done++) {
        hn_array a;
        status = hn_npz_read(&a, npz, done, &(hn_npy_options){.in_place = true}, alloc, err);
        if (status != HONE_OK) break;
        status = from_array(&values[done], &a, hn_npz_name(npz, done), err);
        hn_array_deinit(&a, alloc);
        if (status != HONE_OK) break;
    }
    hn_npz_close(npz);
    hn_file_unref(file);
    if (status != HONE_OK) {
        if (values != NULL) hone_value_release(values, done);
        hn_free(alloc, values);
        return status;
    }
    *out = values;
    *n = count;
    return HONE_OK;
}

hone_status hone_npz_write(const char *path, const hone_value *v, size_t n, hone_error *err) {
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
