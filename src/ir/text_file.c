/* The text form in files: the text, and beside it the companion with the contents of large tensors.
 */
#include <stdio.h>
#include <unistd.h>

#include "ir/text.h"

/* path + ".bin"; NULL: out of memory. */
static char *companion_of(const char *path, hn_allocator *alloc) {
    size_t n = strlen(path) + sizeof ".bin";
    char *name = hn_alloc(alloc, n, HN_MEM_OTHER);
    if (name != NULL) snprintf(name, n, "%s.bin", path);
    return name;
}

typedef struct files {
    const hn_model *model;
    hn_file_writer *text, *data; /* data is begun with its first byte */
    const char *data_path;
} files;

static hone_status put_text(void *ctx, const void *data, size_t bytes, hn_error *err) {
    return hn_file_write_append(((files *)ctx)->text, data, bytes, err);
}

static hone_status put_data(void *ctx, const void *data, size_t bytes, hn_error *err) {
    files *f = ctx;
    if (f->data == NULL) {
        HN_TRY(hn_model_check_target(f->model, f->data_path, err));
        HN_TRY(hn_file_write_begin(&f->data, f->data_path, f->model->path, f->model->alloc, err));
    }
    return hn_file_write_append(f->data, data, bytes, err);
}

hone_status hn_text_save(const hn_model *m, const char *path, hn_error *err) {
    char *data_path = companion_of(path, m->alloc);
    if (data_path == NULL) return HN_NOMEM(err);
    files f = {.model = m, .data_path = data_path};
    hn_text_out out = {.text = put_text, .text_ctx = &f, .data = put_data, .data_ctx = &f};
    hone_status status = hn_model_check_target(m, path, err);
    if (status == HONE_OK) status = hn_file_write_begin(&f.text, path, m->path, m->alloc, err);
    if (status == HONE_OK) status = hn_text_print(m, &out, err);
    if (status == HONE_OK && f.data != NULL) {
        status = hn_file_write_commit(f.data, err);
        f.data = NULL;
    }
    if (status == HONE_OK) {
        status = hn_file_write_commit(f.text, err);
        f.text = NULL;
    }
    hn_file_write_abort(f.data);
    hn_file_write_abort(f.text);
    hn_free(m->alloc, data_path);
    return status;
}

hone_status hn_text_load(hn_model **out, const char *path, hn_allocator *alloc, hn_error *err) {
    hn_file *text = NULL, *data = NULL;
    char *data_path = companion_of(path, alloc);
    if (data_path == NULL) return HN_NOMEM(err);
    hn_model *m = NULL;
    hone_status status;
    HN_TRY_GOTO(hn_file_open(&text, path, true, alloc, err));
    if (access(data_path, F_OK) == 0) HN_TRY_GOTO(hn_file_open(&data, data_path, true, alloc, err));
    status = hn_text_parse(&m, (const char *)text->data, text->bytes, data, alloc, err);
    if (status != HONE_OK) hn_error_context(err, "%s", path);
    if (status == HONE_OK && (m->path = hn_arena_strdup(&m->arena, path)) == NULL) {
        hn_model_destroy(m);
        status = HN_NOMEM(err);
    }
    if (status == HONE_OK) *out = m;
fail:
    hn_file_unref(data);
    hn_file_unref(text);
    hn_free(alloc, data_path);
    return status;
}
