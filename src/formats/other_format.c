#include "formats/other_format.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Names of an archive's members and the keys of a header are looked for in so many bytes. */
#define LOOKED_AT 4096

#define FROM_TORCH "export it with torch.onnx.export"
#define FROM_SAVED_MODEL                                                                     \
    "convert its folder with tf2onnx: python -m tf2onnx.convert --saved-model DIR --output " \
    "MODEL.onnx"
#define FROM_KERAS \
    "convert it with tf2onnx: python -m tf2onnx.convert --keras FILE --output MODEL.onnx"

/* A file starts with these bytes at this place, and holds the text soon after. Rows that ask for
 * more come first. */
typedef struct signature {
    size_t at, n;
    const char *bytes;
    const char *holds; /* NULL: no matter what follows */
    hn_other_format format;
} signature;

#define AT(at, text) (at), sizeof(text) - 1, (text)

/* clang-format off */
static const signature signatures[] = {
    {AT(0, "PK\3\4"), "data.pkl", {"a PyTorch file", FROM_TORCH}},
    {AT(0, "PK\3\4"), "constants.pkl", {"a TorchScript file", FROM_TORCH}},
    {AT(0, "PK\3\4"), "config.json", {"a Keras file", FROM_KERAS}},
    {AT(0, "PK\3\4"), ".npy", {"a NumPy archive", "a model is wanted here; --data npz:FILE takes samples"}},
    {AT(0, "PK\3\4"), NULL, {"a zip archive", "unpack it and give the .onnx file inside"}},
    {AT(0, "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."), NULL, {"a PyTorch file", FROM_TORCH}},
    {AT(0, "\x80\2"), NULL, {"a Python pickle", "export the model it holds to ONNX"}},
    {AT(0, "\x80\4\x95"), NULL, {"a Python pickle", "export the model it holds to ONNX"}},
    {AT(4, "TFL3"), NULL, {"a TensorFlow Lite model", "convert it with tf2onnx: python -m tf2onnx.convert --tflite FILE --output MODEL.onnx"}},
    {AT(4, "ORTM"), NULL, {"a model in ONNX Runtime's own format", "give the .onnx file it was made of"}},
    {AT(0, "\x89HDF\r\n\x1a\n"), NULL, {"an HDF5 file (Keras)", FROM_KERAS}},
    {AT(0, "GGUF"), NULL, {"a GGUF file (weights without a graph)", "export the model it was made of to ONNX"}},
    {AT(8, "{\"__metadata__\""), NULL, {"a safetensors file (weights without a graph)", "export the model with torch.onnx.export or optimum-cli export onnx"}},
    {AT(8, "{\""), "\"data_offsets\"", {"a safetensors file (weights without a graph)", "export the model with torch.onnx.export or optimum-cli export onnx"}},
    {AT(0, "version https://git-lfs"), NULL, {"a Git LFS pointer", "fetch it with git lfs pull"}},
    {AT(0, "\x1f\x8b"), NULL, {"compressed with gzip", "unpack it with gunzip"}},
    {AT(0, "\xfd\x37zXZ\0"), NULL, {"compressed with xz", "unpack it with unxz"}},
    {AT(0, "\x28\xb5\x2f\xfd"), NULL, {"compressed with zstd", "unpack it with unzstd"}},
    {AT(0, "BZh"), NULL, {"compressed with bzip2", "unpack it with bunzip2"}},
    {AT(0, "\x93NUMPY"), NULL, {"a NumPy array", "a model is wanted here; --in NAME=FILE takes arrays"}},
    {AT(0, "\x08\1\x12"), "serve", {"a TensorFlow SavedModel", FROM_SAVED_MODEL}},
};
/* clang-format on */

/* A page, whatever blanks stand before it and whatever the case of its letters. */
static bool is_page(const unsigned char *data, size_t bytes) {
    static const char *const starts[] = {"<!doctype html", "<html"};
    size_t from = 0;
    while (from < bytes && strchr(" \t\r\n", data[from]) != NULL && data[from] != 0) from++;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t n = strlen(starts[i]), k = 0;
        if (bytes - from < n) continue;
        while (k < n &&
               (data[from + k] | (data[from + k] >= 'A' && data[from + k] <= 'Z' ? 32 : 0)) ==
                   (unsigned char)starts[i][k])
            k++;
        if (k == n) return true;
    }
    return false;
}

static bool holds(const unsigned char *data, size_t bytes, const char *text) {
    size_t looked_at = bytes < LOOKED_AT ? bytes : LOOKED_AT;
    return text == NULL || memmem(data, looked_at, text, strlen(text)) != NULL;
}

const hn_other_format *hn_other_format_of(const unsigned char *data, size_t bytes) {
    static const hn_other_format page = {
        "an HTML page", "a download may have given the page of the file instead of the file"};
    if (is_page(data, bytes)) return &page;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const signature *s = &signatures[i];
        if (bytes >= s->at + s->n && memcmp(data + s->at, s->bytes, s->n) == 0 &&
            holds(data, bytes, s->holds))
            return &s->format;
    }
    return NULL;
}

const hn_other_format *hn_other_format_of_folder(const char *path) {
    static const struct {
        const char *file;
        hn_other_format format;
    } folders[] = {
        {"model.onnx", {"a folder", "give the file model.onnx in it"}},
        {"saved_model.pb", {"a TensorFlow SavedModel", FROM_SAVED_MODEL}},
        {"model.safetensors",
         {"a folder of Hugging Face", "export it with optimum-cli export onnx --model DIR OUT"}},
        {"pytorch_model.bin",
         {"a folder of Hugging Face", "export it with optimum-cli export onnx --model DIR OUT"}},
    };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s/%s", path, folders[i].file);
        if (access(file, F_OK) == 0) return &folders[i].format;
    }
    return NULL;
}
