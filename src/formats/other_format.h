/* Names what a file is that was taken for an ONNX model and is none. */
#ifndef HN_FORMATS_OTHER_FORMAT_H
#define HN_FORMATS_OTHER_FORMAT_H

#include <stddef.h>

typedef struct hn_other_format {
    const char *name; /* "a PyTorch file" */
    const char *next; /* what to do with it */
} hn_other_format;

/* By the first bytes; NULL: it is nothing known. */
const hn_other_format *hn_other_format_of(const unsigned char *data, size_t bytes);
/* Of a folder, by the files in it. */
const hn_other_format *hn_other_format_of_folder(const char *path);

#endif
