/* Packages. The first byte says what the rest is: 0 to 6 the bytes of that code, whose first two say
 * how many bytes they are to become; anything else a package, whose header and contents get the
 * checksums they should have, so that what lies behind them is reached. A package that can be loaded
 * can be restored, and what it has ready to run can be read, unless a block is damaged; memory is bounded, whatever sizes it says. */
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "formats/package.h"
#include "formats/package_layout.h"

static uint64_t fixed(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static void put_sum(unsigned char *to, uint64_t sum) {
    for (int i = 0; i < 8; i++) to[i] = (unsigned char)(sum >> (8 * i));
}

static void seal(unsigned char *bytes, size_t size) {
    unsigned char head[HN_PACKAGE_HEADER + HN_PACKAGE_MOST_SECTIONS * HN_PACKAGE_SECTION];
    if (size < HN_PACKAGE_HEADER) return;
    size_t n = (size_t)fixed(bytes + 24, 4);
    if (n > HN_PACKAGE_MOST_SECTIONS || HN_PACKAGE_HEADER + n * HN_PACKAGE_SECTION > size) return;
    for (size_t i = 0; i < n; i++) {
        unsigned char *row = bytes + HN_PACKAGE_HEADER + i * HN_PACKAGE_SECTION;
        uint64_t at = fixed(row + 8, 8), length = fixed(row + 16, 8);
        uint64_t kind = fixed(row, 4);
        if ((kind == HN_SECTION_CONTENTS || kind == HN_SECTION_READY) && at <= size &&
            length <= size - at)
            put_sum(row + 24, hn_checksum(bytes + at, (size_t)length));
    }
    memcpy(head, bytes, HN_PACKAGE_HEADER - 8);
    memcpy(head + HN_PACKAGE_HEADER - 8, bytes + HN_PACKAGE_HEADER, n * HN_PACKAGE_SECTION);
    put_sum(bytes + HN_PACKAGE_HEADER - 8,
            hn_checksum(head, HN_PACKAGE_HEADER - 8 + n * HN_PACKAGE_SECTION));
}

static hone_status ignore(void *ctx, const void *data, size_t bytes, hn_error *err) {
    unsigned char *sum = ctx;
    (void)err;
    for (size_t i = 0; i < bytes; i++) *sum ^= ((const unsigned char *)data)[i];
    return HONE_OK;
}

/* What a session would do with it. */
static void try_ready(hn_package *p, unsigned char *sum, hn_allocator *alloc) {
    hn_error err = {0};
    for (size_t i = 0; i < p->n_ready; i++) {
        hn_package_ready *r;
        hn_model *m;
        if (hn_package_ready_read(p, i, &r, &err) != HONE_OK) continue;
        for (size_t k = 0; k < r->n; k++) {
            const void *data = hn_package_ready_find(p, r, r->keys[k], r->packed[k].bytes);
            if (data != NULL) ignore(sum, data, r->packed[k].bytes, &err);
        }
        if (hn_package_ready_model(p, r, &m, alloc, &err) == HONE_OK) hn_model_destroy(m);
    }
    hn_package_ready_check(p, &err);
}

static void try_package(const uint8_t *data, size_t size, hn_allocator *alloc) {
    hn_error err = {0};
    hn_package *p;
    hn_model *m;
    hn_file *file;
    unsigned char sum = 0, *copy = hn_alloc(alloc, size, HN_MEM_DATA);
    if (copy == NULL) abort();
    if (size > 0) memcpy(copy, data, size);
    seal(copy, size);
    if (hn_file_adopt(&file, "fuzz.hone", copy, size, alloc, &err) != HONE_OK) abort();
    if (hn_package_open(&p, file, true, alloc, &err) == HONE_OK) {
        for (size_t k = 0; k < p->n; k++) hn_package_restore(p, k, ignore, &sum, &err);
        try_ready(p, &sum, alloc);
        hn_package_close(p);
    }
    if (hn_package_is(file) && hn_package_load(&m, file, NULL, alloc, &err) == HONE_OK)
        hn_model_destroy(m);
    hn_file_unref(file);
}

static void try_code(hn_code code, const uint8_t *data, size_t size, hn_allocator *alloc) {
    hn_error err = {0};
    if (size < 2) return;
    size_t n = (size_t)fixed(data, 2);
    unsigned char *to = malloc(n + 1);
    if (to == NULL) abort();
    to[n] = 123;
    hone_status status = hn_coded_decode(code, data + 2, size - 2, to, n, alloc, &err);
    if (to[n] != 123 || (status != HONE_OK && err.text[0] == '\0')) abort();
    free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    alloc.limit = (size_t)64 << 20;
    if (size > 0 && data[0] < HN_CODE_COUNT_)
        try_code((hn_code)data[0], data + 1, size - 1, &alloc);
    else
        try_package(data, size, &alloc);
    if (atomic_load(&alloc.blocks) != 0) abort();
    return 0;
}
