/* text_roundtrip [--infer] [--text] (IN OUT)...
 *
 * Reads each model IN, an ONNX file or (--text) a text, prints it to OUT, reads OUT again and
 * prints that: it must be the same text. For test_text.py. --infer lifts and infers before
 * printing. Trouble is printed, one line per file; the exit status is then 1. */
#include <stdio.h>
#include <string.h>

#include "formats/onnx.h"
#include "ir/text.h"
#include "ops/infer.h"

/* Compares what is printed with the file that holds what was printed before. */
static hone_status same_text(void *ctx, const void *data, size_t bytes, hn_error *err) {
    hn_bytes *left = ctx;
    if (bytes > left->n || memcmp(left->p, data, bytes) != 0)
        return HN_FAIL(err, HONE_E_MODEL, "printed again, the text is another");
    *left = (hn_bytes){(const char *)left->p + bytes, left->n - bytes};
    return HONE_OK;
}

static hone_status check_text(const char *path, hn_allocator *alloc, hn_error *err) {
    hn_model *m = NULL;
    hn_file *file = NULL;
    hone_status status = hn_text_load(&m, path, alloc, err);
    if (status == HONE_OK) status = hn_model_verify(m, err);
    if (status == HONE_OK) status = hn_file_open(&file, path, true, alloc, err);
    if (status == HONE_OK) {
        hn_bytes left = {file->data, file->bytes};
        status = hn_text_print(m, &(hn_text_out){.text = same_text, .text_ctx = &left}, err);
        if (status == HONE_OK && left.n > 0)
            status = HN_FAIL(err, HONE_E_MODEL, "printed again, the text is shorter");
    }
    hn_file_unref(file);
    hn_model_destroy(m);
    return status;
}

static hone_status round_trip(const char *in, const char *out, bool text, bool infer,
                              hn_error *err) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    hn_model *m = NULL;
    hone_status status =
        text ? hn_text_load(&m, in, &alloc, err) : hn_onnx_load(&m, in, NULL, &alloc, err);
    if (status == HONE_OK && text) hn_model_bind_ops(m);
    if (status == HONE_OK && infer) status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK) status = hn_text_save(m, out, err);
    hn_model_destroy(m);
    if (status == HONE_OK) status = check_text(out, &alloc, err);
    if (status == HONE_OK && atomic_load(&alloc.blocks) != 0)
        status = HN_FAIL(err, HONE_E_MODEL, "memory leaked");
    return status;
}

int main(int argc, char **argv) {
    bool text = false, infer = false;
    int i = 1, code = 0;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--text") == 0) text = true;
        if (strcmp(argv[i], "--infer") == 0) infer = true;
    }
    for (; i + 1 < argc; i += 2) {
        hn_error err = {0};
        if (round_trip(argv[i], argv[i + 1], text, infer, &err) == HONE_OK) continue;
        printf("%s: %s\n", argv[i], err.text);
        code = 1;
    }
    return code;
}
