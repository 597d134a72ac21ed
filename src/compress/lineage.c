#include "compress/lineage.h"

#include <string.h>

#include "base/sha256.h"
#include "formats/onnx.h"
#include "formats/package.h"

const char *hn_model_metadata(const hn_model *m, const char *key) {
    for (int i = 0; i < m->metadata.n; i++)
        if (strcmp(m->metadata.v[i].key, key) == 0) return m->metadata.v[i].value;
    return NULL;
}

/* Bytes that are in memory at once. */
#define PART ((size_t)4 << 20)

static void hash_file(const hn_file *file, char *hex) {
    hn_sha256_parts s;
    hn_sha256_begin(&s);
    for (size_t at = 0; at < file->bytes; at += PART) {
        size_t n = file->bytes - at < PART ? file->bytes - at : PART;
        hn_sha256_add(&s, file->data + at, n);
        hn_file_let_go(file, file->data + at, n);
    }
    hn_sha256_end(&s, hex);
}

static hone_status hash_part(void *ctx, const void *data, size_t bytes, hn_error *err) {
    (void)err;
    hn_sha256_add(ctx, data, bytes);
    return HONE_OK;
}

/* Of the ONNX file in a package. */
static hone_status hash_package(hn_file *file, hn_allocator *alloc, char *hex, hn_error *err) {
    hn_package *p;
    hn_sha256_parts s;
    HN_TRY(hn_package_open(&p, file, true, alloc, err));
    hn_sha256_begin(&s);
    hone_status status = hn_package_restore(p, 0, hash_part, &s, err);
    hn_sha256_end(&s, hex);
    hn_package_close(p);
    return status;
}

hone_status hn_lineage_source(hn_model *m, char *hex, hn_error *err) {
    hn_file *file;
    if (m->path != NULL)
        HN_TRY(hn_file_open(&file, m->path, true, m->alloc, err));
    else
        HN_TRY(hn_onnx_save_memory(&file, m, NULL, err));
    hone_status status = HONE_OK;
    if (hn_package_is(file))
        status = hash_package(file, m->alloc, hex, err);
    else
        hash_file(file, hex);
    hn_file_unref(file);
    return status;
}

hone_status hn_lineage_write(hn_model *m, const hn_lineage *l, hn_error *err) {
    const hn_prop props[] = {{"hone.source", l->source},
                             {"hone.data", l->data},
                             {"hone.recipe", l->recipe},
                             {"hone.version", hone_version()}};
    const int most = sizeof props / sizeof props[0];
    hn_prop *v = hn_arena_array(&m->arena, (size_t)(m->metadata.n + most), sizeof *v);
    int n = 0;
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < m->metadata.n; i++) {
        bool ours = false;
        for (int k = 0; k < most; k++) ours = ours || !strcmp(m->metadata.v[i].key, props[k].key);
        if (!ours) v[n++] = m->metadata.v[i];
    }
    for (int k = 0; k < most; k++) {
        if (props[k].value == NULL) continue;
        v[n].key = hn_arena_strdup(&m->arena, props[k].key);
        v[n].value = hn_arena_strdup(&m->arena, props[k].value);
        if (v[n].key == NULL || v[n].value == NULL) return HN_NOMEM(err);
        n++;
    }
    m->metadata = (hn_props){n, v};
    return HONE_OK;
}
