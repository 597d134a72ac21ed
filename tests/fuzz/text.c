/* The text form: what can be read is a sound model, and printing, reading and printing it again
 * gives the same text. The companion file is a block of zeros. */
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

typedef struct buffer {
    char *p;
    size_t n, cap;
} buffer;

static hone_status collect(void *ctx, const void *data, size_t bytes, hn_error *err) {
    (void)err;
    buffer *b = ctx;
    if (bytes > b->cap - b->n) {
        b->cap = 2 * (b->n + bytes);
        b->p = realloc(b->p, b->cap);
        if (b->p == NULL) abort();
    }
    memcpy(b->p + b->n, data, bytes);
    b->n += bytes;
    return HONE_OK;
}

static buffer print(const hn_model *m) {
    buffer b = {NULL, 0, 0};
    hn_error err;
    if (hn_text_print(m, &(hn_text_out){.text = collect, .text_ctx = &b}, &err) != HONE_OK) abort();
    return b;
}

static void round_trip(hn_model *m, hn_file *companion, hn_allocator *alloc) {
    hn_error err;
    hn_model *again = NULL;
    if (hn_model_verify(m, &err) != HONE_OK) abort();
    buffer a = print(m);
    if (hn_text_parse(&again, a.p, a.n, companion, alloc, &err) != HONE_OK) abort();
    buffer b = print(again);
    if (a.n != b.n || memcmp(a.p, b.p, a.n) != 0) abort();
    hn_model_destroy(again);
    free(a.p);
    free(b.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_error err;
    hn_model *m = NULL;
    hn_file *companion = NULL;
    void *zeros = hn_alloc_zero(&alloc, 1024, HN_MEM_DATA);
    if (zeros == NULL) abort();
    if (hn_file_adopt(&companion, "zeros", zeros, 1024, &alloc, &err) != HONE_OK) abort();
    const char *text = size > 0 ? (const char *)data : "";
    if (hn_text_parse(&m, text, size, companion, &alloc, &err) == HONE_OK) {
        round_trip(m, companion, &alloc);
        hn_model_destroy(m);
    }
    hn_file_unref(companion);
    if (atomic_load(&alloc.blocks) != 0) abort();
    return 0;
}
