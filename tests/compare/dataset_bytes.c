/* dataset_bytes SPEC: the samples of a dataset as 8-bit integers, one after the other on standard
 * output; for test_images.py. */
#include <stdio.h>

#include "formats/dataset.h"

static hone_status write_samples(hn_dataset *ds, hn_allocator *alloc, hn_error *err) {
    const hn_dataset_field *field = hn_dataset_field_at(ds, 0);
    hn_dataset_want want = {.dtype = HONE_DTYPE_U8, .rank = field->rank, .dims = field->dims};
    size_t bytes = 1;
    for (int i = 0; i < field->rank; i++) bytes *= (size_t)field->dims[i];
    unsigned char *sample = hn_alloc(alloc, bytes, HN_MEM_DATA);
    hone_status status = sample != NULL ? HONE_OK : HN_NOMEM(err);
    for (int64_t i = 0; status == HONE_OK && i < hn_dataset_count(ds); i++) {
        status = hn_dataset_fill(ds, 0, i, 1, &want, sample, err);
        if (status == HONE_OK) fwrite(sample, 1, bytes, stdout);
    }
    hn_free(alloc, sample);
    return status;
}

int main(int argc, char **argv) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_error err = {0};
    hn_dataset *ds = NULL;
    hone_status status = argc == 2 ? hn_dataset_open(&ds, argv[1], &alloc, &err)
                                   : HN_FAIL(&err, HONE_E_ARG, "wanted SPEC");
    if (status == HONE_OK) status = write_samples(ds, &alloc, &err);
    if (status != HONE_OK) fprintf(stderr, "%s\n", err.text);
    hn_dataset_close(ds);
    return status != HONE_OK;
}
