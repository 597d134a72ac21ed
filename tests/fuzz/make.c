/* Descriptions: any bytes become a sound model or a message, within bounds. */
#include <stdlib.h>
#include <string.h>

#include "make/make.h"
#include "ops/infer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_allocator alloc;
    hn_arena arena;
    hn_error err;
    hn_model *m = NULL;
    char *described;
    hn_make_options o = {.seed = 1, .most_params = 1 << 14};
    const char *text = size > 0 ? (const char *)data : "";
    hn_allocator_init(&alloc);
    hn_arena_init(&arena, &alloc, HN_MEM_OTHER);
    if (hn_make(&m, "text", text, size, &o, &alloc, &err) == HONE_OK) {
        if (hn_model_verify(m, &err) != HONE_OK) abort();
        if (hn_model_infer(m, NULL, &err) != HONE_OK) abort();
        if (hn_make_describe(&described, "text", text, size, &o, &arena, &err) != HONE_OK) abort();
        hn_model_destroy(m);
    }
    hn_arena_deinit(&arena);
    if (atomic_load(&alloc.blocks) != 0) abort();
    return 0;
}
