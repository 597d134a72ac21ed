/* ONNX models: what can be loaded is verified, inferred (which lifts and folds), verified again and
 * saved; what was saved must load. Loading may take memory in proportion to the bytes, no more.
 * What contradicts itself must have findings when it is read leniently. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/onnx.h"
#include "formats/onnx_check.h"
#include "ops/infer.h"

static void stop(const char *what, const hn_error *err) {
    fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

static void ignore(void *ctx, const hn_node *n, const hn_error *e) { (void)ctx, (void)n, (void)e; }

static hn_file *file_of(const uint8_t *data, size_t size, hn_allocator *alloc) {
    hn_error err;
    hn_file *file = NULL;
    void *copy = hn_alloc(alloc, size, HN_MEM_DATA);
    if (copy == NULL) abort();
    if (size > 0) memcpy(copy, data, size);
    if (hn_file_adopt(&file, "fuzz.onnx", copy, size, alloc, &err) != HONE_OK) abort();
    return file;
}

static void use(hn_model *m, hn_allocator *alloc) {
    hn_error err = {0};
    hn_infer_options o = {.finding = ignore};
    hn_file *saved = NULL;
    hn_model *again = NULL;
    if (hn_model_verify(m, &err) != HONE_OK) stop("verify", &err);
    hone_status status = hn_model_infer(m, &o, &err);
    if (status == HONE_E_NOMEM) return;
    if (hn_model_verify(m, &err) != HONE_OK) stop("verify after inference", &err);
    if (hn_onnx_save_memory(&saved, m, NULL, &err) != HONE_OK) return;
    status = hn_onnx_load_memory(&again, saved, NULL, alloc, &err);
    if (status != HONE_OK && status != HONE_E_NOMEM) stop("load what was saved", &err);
    hn_model_destroy(again);
    hn_file_unref(saved);
}

static void count(void *ctx, const char *text) {
    if (strchr(text, '\n') != NULL) abort();
    ++*(size_t *)ctx;
}

/* loaded: what became of it when it was read strictly. */
static void check(hn_file *file, hone_status loaded, hn_allocator *alloc) {
    hn_error err = {0};
    size_t found = 0, n = 0;
    hone_status status = hn_onnx_check_memory(file, count, &found, &n, alloc, &err);
    if (status == HONE_OK && n != found) stop("count of findings", &err);
    if (status == HONE_OK && n == 0 && loaded == HONE_E_MODEL) stop("no finding", &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_error err = {0};
    hn_model *m = NULL;
    hn_file *file = file_of(data, size, &alloc);
    hone_status status = hn_onnx_load_memory(&m, file, NULL, &alloc, &err);
    /* Inlining functions has a budget of its own: 4 MB of their bytes. */
    if (atomic_load(&alloc.peak) > size * 400 + ((size_t)256 << 20)) stop("memory", &err);
    alloc.limit = (size_t)256 << 20; /* inference may evaluate what the graph says */
    if (status == HONE_OK) use(m, &alloc);
    hn_model_destroy(m);
    check(file, status, &alloc);
    hn_file_unref(file);
    if (atomic_load(&alloc.blocks) != 0) abort();
    return 0;
}
