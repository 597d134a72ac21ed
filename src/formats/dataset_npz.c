/* npz:FILE[,targets=NAME[:NAME...]], arrays named as the model's inputs, with the samples as their
 * first axis, one named `label`, and those that are targets: the ones given, or all whose names
 * start with `target`. An input that is the same for all samples, as a sample rate or a first state
 * is, may be an array without that axis. */
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

static int64_t first_axis(const hn_array *a) { return a->rank > 0 ? a->dims[0] : 0; }

/* How many samples there are: the first axis that most arrays have, of several such the longest. */
static int64_t count_samples(const hn_dataset *ds, const hn_array *labels) {
    int64_t best = 0;
    int most = 0, n = ds->n_fields + ds->n_targets;
    for (int i = 0; i < n; i++) {
        int64_t here = first_axis(&ds->fields[i].array);
        int same = first_axis(labels) == here;
        for (int k = 0; k < n; k++) same += first_axis(&ds->fields[k].array) == here;
        if (here == 0 || same < most || (same == most && here <= best)) continue;
        most = same;
        best = here;
    }
    return best;
}

/* A field whose array was read. A target has samples; an input may be the same for all. */
static hone_status take_field(hn_dataset *ds, int field, hn_error *err) {
    hn_dataset_source *f = &ds->fields[field];
    const hn_array *a = &f->array;
    bool once = a->rank == 0 || a->dims[0] != ds->total;
    HN_CHECK(err, !once || field < ds->n_fields, HONE_E_FORMAT,
             "'%s': target '%s' has %" PRId64 " samples, there are %" PRId64, ds->spec.path,
             f->shown.name, first_axis(a), ds->total);
    hone_status status =
        hn_dataset_set_shape(ds, field, a->dtype, a->rank - !once, a->dims + !once, err);
    if (status != HONE_OK) hn_error_context(err, "'%s': array '%s'", ds->spec.path, f->shown.name);
    f->data = a->data;
    f->shown.once = once;
    if (once) f->stride = 0;
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

static hone_status read_array(hn_dataset *ds, const hn_npz *npz, size_t i, int field,
                              hn_array *labels, hn_error *err) {
    const hn_npy_options options = {.in_place = true};
    if (field < 0) return hn_npz_read(labels, npz, i, &options, ds->alloc, err);
    hn_dataset_source *f = &ds->fields[field];
    f->shown.name = hn_arena_strdup(&ds->arena, hn_npz_name(npz, i));
    if (f->shown.name == NULL) return HN_NOMEM(err);
    return hn_npz_read(&f->array, npz, i, &options, ds->alloc, err);
}

static hone_status take_arrays(hn_dataset *ds, const hn_array *labels, bool labelled,
                               hn_error *err) {
    ds->total = count_samples(ds, labels);
    HN_CHECK(err, ds->total > 0, HONE_E_FORMAT,
             "'%s' has no samples; the first axis of an array should count them", ds->spec.path);
    for (int i = 0; i < ds->n_fields + ds->n_targets; i++) HN_TRY(take_field(ds, i, err));
    HN_CHECK(err, !labelled || labels->rank == 0 || labels->dims[0] == ds->total, HONE_E_FORMAT,
             "'%s': array '%s' has %" PRId64 " samples, there are %" PRId64, ds->spec.path,
             label_name, first_axis(labels), ds->total);
    return labelled ? take_labels(ds, labels, err) : HONE_OK;
}

static hone_status read_arrays(hn_dataset *ds, const hn_npz *npz, hn_error *err) {
    size_t count[3] = {0};
    hn_array labels = {0};
    HN_TRY(count_arrays(ds, npz, count, err));
    HN_TRY(hn_dataset_add_fields(ds, (int)count[INPUT], (int)count[TARGET], err));
    int next[] = {[INPUT] = 0, [TARGET] = ds->n_fields};
    hone_status status = HONE_OK;
    for (size_t i = 0; i < hn_npz_count(npz) && status == HONE_OK; i++) {
        role r = role_of(&ds->spec, hn_npz_name(npz, i));
        status = read_array(ds, npz, i, r == LABEL ? -1 : next[r]++, &labels, err);
    }
    if (status == HONE_OK) status = take_arrays(ds, &labels, count[LABEL] > 0, err);
    hn_array_deinit(&labels, ds->alloc);
    return status;
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
                                        .path_is = HN_PATH_FILE,
                                        .endings = ".npz",
                                        .labelled = "an array 'label' of integers in the file",
                                        .keys = HN_KEYS_STORED | HN_KEY(TARGETS),
                                        .open = open_npz};
