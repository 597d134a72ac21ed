/* onnx_roundtrip [--infer] [--external] [--opset N] (IN OUT)...
 *
 * Loads each IN and saves it as OUT, for test_onnx_roundtrip.py. --infer lifts and infers in
 * between. Trouble is printed, one line per file; the exit status is then 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/onnx.h"
#include "ops/infer.h"

static hone_status round_trip(const char *in, const char *out, bool infer,
                              const hn_onnx_save_options *o, hn_error *err) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_model *m = NULL;
    hone_status status = hn_onnx_load(&m, in, NULL, &alloc, err);
    if (status == HONE_OK && infer) status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK) status = hn_model_verify(m, err);
    if (status == HONE_OK) status = hn_onnx_save(m, out, o, err);
    hn_model_destroy(m);
    if (status == HONE_OK && atomic_load(&alloc.blocks) != 0)
        status = hn_fail(err, HONE_E_MODEL, "memory leaked");
    return status;
}

int main(int argc, char **argv) {
    hn_onnx_save_options o = {0};
    bool infer = false;
    int i = 1, code = 0;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--infer") == 0) infer = true;
        if (strcmp(argv[i], "--external") == 0) o.external = true;
        if (strcmp(argv[i], "--opset") == 0 && i + 1 < argc) o.opset = atoi(argv[++i]);
    }
    for (; i + 1 < argc; i += 2) {
        hn_error err = {0};
        if (round_trip(argv[i], argv[i + 1], infer, &o, &err) == HONE_OK) continue;
        printf("%s: %s\n", argv[i], err.text);
        code = 1;
    }
    return code;
}
