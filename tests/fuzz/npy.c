/* Arrays: the bytes are tried as a .npy, then as a .npz of which every member is read. What can be
 * read must be written and read again as the same. */
#include <stdlib.h>
#include <string.h>

#include "formats/npz.h"

typedef struct bytes {
    unsigned char data[1 << 16];
    size_t n;
} bytes;

static hone_status collect(void *ctx, const void *data, size_t n, hn_error *err) {
    bytes *b = ctx;
    if (n > sizeof b->data - b->n) return HN_FAIL(err, HONE_E_LIMIT, "larger than this test keeps");
    if (n > 0) memcpy(b->data + b->n, data, n);
    b->n += n;
    return HONE_OK;
}

static void round_trip(const hn_array *a, hn_allocator *alloc) {
    static bytes written;
    written.n = 0;
    if (hn_npy_encode(a, collect, &written, NULL) != HONE_OK) return;
    hn_npy_source source = {.bytes = written.n, .data = written.data};
    hn_array b;
    if (hn_npy_decode(&b, &source, NULL, alloc, NULL) != HONE_OK || b.dtype != a->dtype ||
        b.rank != a->rank || memcmp(b.dims, a->dims, sizeof b.dims) != 0 || b.bytes != a->bytes ||
        memcmp(b.data, a->data, b.bytes) != 0)
        abort();
    hn_array_deinit(&b, alloc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_error err;
    hn_array a;
    hn_npy_options options = {.void_as = size % 2 ? HONE_DTYPE_S4 : HONE_DTYPE_NONE,
                              .in_place = size % 3 == 0};
    hn_npy_source source = {.bytes = size, .data = data};
    if (hn_npy_decode(&a, &source, &options, &alloc, &err) == HONE_OK) {
        round_trip(&a, &alloc);
        hn_array_deinit(&a, &alloc);
    }

    void *copy = hn_alloc(&alloc, size, HN_MEM_DATA);
    hn_file *file = NULL;
    hn_npz *npz = NULL;
    if (copy == NULL) abort();
    if (size > 0) memcpy(copy, data, size);
    if (hn_file_adopt(&file, "fuzz.npz", copy, size, &alloc, &err) != HONE_OK) abort();
    if (hn_npz_open(&npz, file, &alloc, &err) == HONE_OK) {
        for (size_t i = 0; i < hn_npz_count(npz); i++)
            if (hn_npz_read(&a, npz, i, &options, &alloc, &err) == HONE_OK) {
                round_trip(&a, &alloc);
                hn_array_deinit(&a, &alloc);
            }
        hn_npz_close(npz);
    }
    hn_file_unref(file);
    if (atomic_load(&alloc.blocks) != 0) abort();
    return 0;
}
