/* npz:FILE[,targets=NAME[:NAME...]], arrays named as the model's inputs, all with the samples as
 * their first axis, one named `label`, and those that are targets: the ones given, or all whose
 * names start with `target`. */
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

typedef enum role { INPUT, TARGET, LABEL } role;

static role role_of(const hn_dataset_spec *s, const char *name) {
    if (s->targets == NULL && strncmp(name, "target", 6) == 0) return TARGET;
    size_t bytes = strlen(name);
    for (const char *list = s->targets; list != NULL;) {
        size_t n = strcspn(list, ":");
        if (n == bytes && memcmp(list, name, n) == 0) return TARGET;
        list = list[n] != '\0' ? list + n + 1 : NULL;
    }
    return strcmp(name, label_name) == 0 ? LABEL : INPUT;
}

/* Every name given must be there. */
static hone_status count_arrays(const hn_dataset *ds, const hn_npz *npz, size_t n[3],
                                hn_error *err) {
    for (size_t i = 0; i < hn_npz_count(npz); i++) n[role_of(&ds->spec, hn_npz_name(npz, i))]++;
    size_t given = ds->spec.targets != NULL;
    for (const char *c = ds->spec.targets; c != NULL && *c != '\0'; c++) given += *c == ':';
    HN_CHECK(err, ds->spec.targets == NULL || n[TARGET] == given, HONE_E_NOT_FOUND,
             "'%s' has %zu of the %zu arrays of targets=%s", ds->spec.path, n[TARGET], given,
             ds->spec.targets);
    HN_CHECK(err, n[INPUT] > 0, HONE_E_FORMAT, "'%s' has no array but labels and targets",
             ds->spec.path);
    size_t fields = n[INPUT] + n[TARGET];
    HN_CHECK(err, fields <= INT16_MAX, HONE_E_LIMIT, "'%s' has %zu arrays; at most %d are read",
             ds->spec.path, fields, INT16_MAX);
    return HONE_OK;
}

static hone_status read_arrays(hn_dataset *ds, const hn_npz *npz, hn_error *err) {
    const hn_npy_options options = {.in_place = true};
    const char *first = NULL;
    size_t count[3] = {0};
    HN_TRY(count_arrays(ds, npz, count, err));
    HN_TRY(hn_dataset_add_fields(ds, (int)count[INPUT], (int)count[TARGET], err));
    int next[] = {[INPUT] = 0, [TARGET] = ds->n_fields};
    for (size_t i = 0; i < hn_npz_count(npz); i++) {
        const char *name = hn_npz_name(npz, i);
        role r = role_of(&ds->spec, name);
        int field = r == LABEL ? 0 : next[r]++;
        hn_array labels = {0}, *a = r == LABEL ? &labels : &ds->fields[field].array;
        HN_TRY(hn_npz_read(a, npz, i, &options, ds->alloc, err));
        hone_status status = check_samples(ds, name, a, &first, err);
        if (status == HONE_OK)
            status = r == LABEL ? take_labels(ds, a, err) : take_field(ds, field, name, err);
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

const hn_dataset_kind hn_dataset_npz = {.name = "npz",
                                        .path = "FILE",
                                        .endings = ".npz",
                                        .labelled = "an array 'label' of integers in the file",
                                        .keys = HN_KEYS_STORED | HN_KEY(TARGETS),
                                        .open = open_npz};
