/* What in an ONNX file does not conform. */
#ifndef HN_FORMATS_ONNX_CHECK_H
#define HN_FORMATS_ONNX_CHECK_H

#include "base/alloc.h"
#include "base/error.h"

/* Calls finding once per error; *n counts them. A file that cannot be read as ONNX at all is a
 * failure; a model whose parts contradict each other is a finding, and where nothing further can be
 * said about it the only one. */
hone_status hn_onnx_check(const char *path, void (*finding)(void *ctx, const char *text), void *ctx,
                          size_t *n, hn_allocator *alloc, hn_error *err);

#endif
