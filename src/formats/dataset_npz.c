/* npz:FILE, arrays named as the model's inputs, all with the samples as their first axis, and one
 * named `label`. */
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "formats/dataset_kind.h"
#include "formats/npz.h"

static const char label_name[] = "label";

/* Labels: integers, [N] or [N, 1]. */
static hone_status take_labels(hn_dataset *ds, const hn_array *a, hn_error *err) {
    HN_CHECK(err, hn_dtype_is_int(a->dtype) && (a->rank == 1 || (a->rank == 2 && a->dims[1] == 1)),
             HONE_E_FORMAT, "'%s': '%s' is %s with %d axes; labels are one axis of integers",
             ds->spec.path, label_name, hone_dtype_name(a->dtype), a->rank);
    HN_TRY(hn_dataset_add_labels(ds, err));
    hn_load_s64_n(a->dtype, a->data, 0, ds->total, ds->labels);
    return HONE_OK;
}

/* All arrays must have as many samples as the first. */
static hone_status check_samples(hn_dataset *ds, const char *name, const hn_array *a,
                                 const char **first, hn_error *err) {
    HN_CHECK(err, a->rank >= 1 && a->dims[0] > 0, HONE_E_FORMAT,
             "'%s': array '%s' has no samples; its first axis should count them", ds->spec.path,
             name);
    if (*first == NULL) {
        *first = name;
        ds->total = a->dims[0];
    }
    HN_CHECK(err, a->dims[0] == ds->total, HONE_E_FORMAT,
             "'%s': array '%s' has %" PRId64 " samples, '%s' has %" PRId64, ds->spec.path, name,
             a->dims[0], *first, ds->total);
    return HONE_OK;
}

static hone_status take_field(hn_dataset *ds, int field, const char *name, hn_error *err) {
    hn_dataset_source *f = &ds->fields[field];
    f->shown.name = hn_arena_strdup(&ds->arena, name);
    if (f->shown.name == NULL) return HN_NOMEM(err);
    hone_status status =
        hn_dataset_set_shape(ds, field, f->array.dtype, f->array.rank - 1, f->array.dims + 1, err);
    if (status != HONE_OK) hn_error_context(err, "'%s': array '%s'", ds->spec.path, name);
    f->data = f->array.data;
    return status;
}

static hone_status read_arrays(hn_dataset *ds, const hn_npz *npz, hn_error *err) {
    const hn_npy_options options = {.in_place = true};
    const char *first = NULL;
    size_t n = hn_npz_count(npz), n_fields = 0;
    for (size_t i = 0; i < n; i++) n_fields += strcmp(hn_npz_name(npz, i), label_name) != 0;
    HN_CHECK(err, n_fields > 0, HONE_E_FORMAT, "'%s' has no array but labels", ds->spec.path);
    HN_CHECK(err, n_fields <= INT16_MAX, HONE_E_LIMIT, "'%s' has %zu arrays; at most %d are read",
             ds->spec.path, n_fields, INT16_MAX);
    HN_TRY(hn_dataset_add_fields(ds, (int)n_fields, err));
    int field = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = hn_npz_name(npz, i);
        bool is_label = strcmp(name, label_name) == 0;
        hn_array labels = {0}, *a = is_label ? &labels : &ds->fields[field].array;
        HN_TRY(hn_npz_read(a, npz, i, &options, ds->alloc, err));
        hone_status status = check_samples(ds, name, a, &first, err);
        if (status == HONE_OK)
            status = is_label ? take_labels(ds, a, err) : take_field(ds, field++, name, err);
        hn_array_deinit(&labels, ds->alloc);
        HN_TRY(status);
    }
    return HONE_OK;
}

static hone_status open_npz(hn_dataset *ds, hn_error *err) {
    hn_npz *npz = NULL;
    HN_TRY(hn_file_open_unpacked(&ds->file, ds->spec.path, 0, ds->alloc, err));
    HN_TRY(hn_npz_open(&npz, ds->file, ds->alloc, err));
    hone_status status = read_arrays(ds, npz, err);
    hn_npz_close(npz);
    return status;
}

const hn_dataset_kind hn_dataset_npz = {
    .name = "npz", .path = "FILE", .keys = HN_KEYS_NUMBERS, .open = open_npz};
