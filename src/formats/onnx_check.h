/* What in an ONNX file does not conform. */
#ifndef HN_FORMATS_ONNX_CHECK_H
#define HN_FORMATS_ONNX_CHECK_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

/* Calls finding once per error; *n counts them. A file whose bytes are no ONNX model is a failure;
 * a model that contradicts itself, or ONNX's definitions, has findings. */
hone_status hn_onnx_check(const char *path, void (*finding)(void *ctx, const char *text), void *ctx,
                          size_t *n, hn_allocator *alloc, hn_error *err);
/* The same of bytes; external data is a finding. */
hone_status hn_onnx_check_memory(hn_file *file, void (*finding)(void *ctx, const char *text),
                                 void *ctx, size_t *n, hn_allocator *alloc, hn_error *err);

#endif
