/* Pruning by a mask of the user's: an .npz with an array for each weight to prune, under its name and
 * of its shape. Weights become zero where the array is zero. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "compress/prune.h"
#include "compress/recipe.h"
#include "engine/layers.h"
#include "formats/npz.h"

/* NULL: no layer that may be pruned has a weight of that name. */
static const hn_weighted *layer_of(const hn_weighted *layers, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(layers[i].weight->name, name) == 0) return &layers[i];
    return NULL;
}

static void dims_text(int rank, const int64_t *dims, char *text, size_t size) {
    snprintf(text, size, "[");
    for (int i = 0; i < rank; i++) {
        size_t n = strlen(text);
        snprintf(text + n, size - n, "%s%lld", i > 0 ? ", " : "", (long long)dims[i]);
    }
    size_t n = strlen(text);
    snprintf(text + n, size - n, "]");
}

static hone_status apply(hn_transform_ctx *c, const hn_pruning *p, const hn_weighted *w,
                         const hn_array *a, hn_error *err) {
    const hn_tensor *t = w->weight->constant;
    bool same = a->rank == t->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->dims[i] == t->dims[i];
    char found[200], wanted[200];
    dims_text(a->rank, a->dims, found, sizeof found);
    dims_text(t->rank, t->dims, wanted, sizeof wanted);
    HN_CHECK(err, same, HONE_E_SHAPE, "mask '%s' is %s, its weight %s", w->weight->name, found,
             wanted);
    HN_CHECK(
        err,
        hn_dtype_is_float(a->dtype) || hn_dtype_is_int(a->dtype) || a->dtype == HONE_DTYPE_BOOL,
        HONE_E_TYPE, "mask '%s' is %s, expected numbers or truths", w->weight->name,
        hone_dtype_name(a->dtype));
    float *v;
    int64_t left = 0, n = t->n; /* t is gone once the weight is changed */
    HN_TRY(hn_shrinking_edit(c, w, &v, err));
    for (int64_t i = 0; i < n; i++) {
        if (hn_load_f64(a->dtype, a->data, i) == 0) v[i] = 0;
        left += v[i] != 0;
    }
    HN_CHECK(err, left > 0, HONE_E_ARG, "mask '%s' leaves none of %lld weights", w->weight->name,
             (long long)n);
    return hn_prune_done(c, p, w, NAN, err);
}

static hone_status apply_all(hn_transform_ctx *c, const hn_pruning *p, const hn_npz *npz,
                             hn_arena *arena, hn_error *err) {
    hn_weighted *layers;
    int n;
    HN_TRY(hn_prune_layers(c, p, false, arena, &layers, &n, err));
    for (size_t i = 0; i < hn_npz_count(npz); i++) {
        hn_array a;
        const hn_weighted *w = layer_of(layers, n, hn_npz_name(npz, i));
        HN_CHECK(err, w != NULL, HONE_E_ARG,
                 "no layer that can be pruned has a weight '%.100s', which the mask names",
                 hn_npz_name(npz, i));
        HN_TRY(hn_npz_read(&a, npz, i, NULL, c->alloc, err));
        hone_status status = apply(c, p, w, &a, err);
        hn_array_deinit(&a, c->alloc);
        HN_TRY(status);
    }
    return HONE_OK;
}

hone_status hn_prune_mask(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    const char *path = hn_step_word(p->step, "mask");
    hn_file *file;
    hn_npz *npz;
    hn_arena arena;
    size_t n = strlen(HN_FILE_HASH);
    HN_CHECK(err, strncmp(path, HN_FILE_HASH, n) != 0, HONE_E_ARG,
             "the recipe was made with a mask whose SHA-256 is %.12s...: give its path by mask=",
             path + n);
    HN_TRY(hn_file_open(&file, path, true, c->alloc, err));
    hone_status status = hn_npz_open(&npz, file, c->alloc, err);
    hn_file_unref(file);
    if (status == HONE_OK) {
        hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
        status = apply_all(c, p, npz, &arena, err);
        hn_arena_deinit(&arena);
        hn_npz_close(npz);
    }
    if (status != HONE_OK && status != HONE_E_NOMEM) hn_error_context(err, "mask %s", path);
    return status;
}
