/* set_dim IN OUT (INPUT AXIS SIZE)...
 *
 * Sets sizes of the inputs of an ONNX model, all in one, and saves it; for test_set_dim.py. */
#include <stdio.h>
#include <stdlib.h>

#include "formats/decompress.h"
#include "formats/onnx.h"
#include "passes/set_dim.h"

#define MOST 8

int main(int argc, char **argv) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_error err = {0};
    hn_model *m = NULL;
    hn_file *file = NULL;
    hn_dim_setting settings[MOST];
    int n = 0;
    for (int i = 3; i + 2 < argc && n < MOST; i += 3)
        settings[n++] = (hn_dim_setting){argv[i], atoi(argv[i + 1]), argv[i + 2]};
    hone_status status = argc > 2 ? hn_file_open_unpacked(&file, argv[1], 0, &alloc, &err)
                                  : HN_FAIL(&err, HONE_E_ARG, "wanted IN OUT");
    if (status == HONE_OK) status = hn_onnx_load_memory(&m, file, NULL, &alloc, &err);
    if (status == HONE_OK) status = hn_model_set_dims(m, settings, n, &err);
    if (status == HONE_OK) status = hn_onnx_save(m, argv[2], NULL, &err);
    if (status != HONE_OK) printf("%s\n", err.text);
    hn_model_destroy(m);
    hn_file_unref(file);
    return status != HONE_OK;
}
