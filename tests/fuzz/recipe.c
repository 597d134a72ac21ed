/* Recipes: any bytes are read or refused, and what was read is written and read again as it was. */
#include "compress/compression.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_allocator alloc;
    hn_arena arena;
    hn_error err;
    hn_recipe r;
    hn_compress_plan plan;
    hn_allocator_init(&alloc);
    hn_arena_init(&arena, &alloc, HN_MEM_OTHER);
    char *text = hn_arena_alloc(&arena, size + 1), *first, *second;
    if (text == NULL) abort();
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    if (hn_recipe_read(&r, text, &arena, &err) == HONE_OK) {
        (void)hn_compress_plan_make(&plan, &r, &err);
        for (int one_line = 0; one_line < 2; one_line++) {
            if (hn_recipe_write(&r, one_line, &arena, &first, &err) != HONE_OK) abort();
            if (hn_recipe_read(&r, first, &arena, &err) != HONE_OK) abort();
            if (hn_recipe_write(&r, one_line, &arena, &second, &err) != HONE_OK) abort();
            if (strcmp(first, second) != 0) abort();
        }
    }
    hn_arena_deinit(&arena);
    return 0;
}
