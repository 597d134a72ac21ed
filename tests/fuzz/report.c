/* Reports: whatever a document says, there is a page or an error. */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_allocator alloc;
    hn_error err;
    char *text = malloc(size + 1);
    if (text == NULL) abort();
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    const char *document = text;
    hn_allocator_init(&alloc);
    (void)hn_report_write(&document, 1, "/dev/null", NULL, &alloc, &err);
    free(text);
    if (atomic_load(&alloc.blocks) != 0) abort();
    return 0;
}
