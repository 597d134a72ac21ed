/* ONNX models, in and out.
 *
 * Reading: the file is mapped; raw tensor data (and packed float and double data) stays in it, so a
 * model costs memory for its graph only. Everything the file says is checked before it is used or
 * allocated for. Functions of the model are inlined (onnx_function.c), nodes out of order are
 * sorted with a warning. Nodes are marked `old`: lifting them to the newest definitions needs types
 * and so is done by inference (ops/lift.h, ops/infer.h).
 *
 * Read leniently, since nothing can go wrong by it:
 *   - value_info of a value that does not exist is dropped;
 *   - an operator set that is used but not imported counts as version 1, unless it is ai.onnx's;
 *   - a dim below 0, or named "?", is a size nobody knows;
 *   - numbers of int32_data too wide for their type keep their low bits, as ONNX's own tools do;
 *   - an initializer that IR version 3 wants listed among the inputs need not be.
 * Before IR version 4 initializers had to be inputs too; they are read as constants, as ONNX
 * Runtime does, and listed again when such a model is saved. From 4 on, an initializer that is also
 * an input is a default the caller may override.
 */
#ifndef HN_FORMATS_ONNX_H
#define HN_FORMATS_ONNX_H

#include "base/file.h"
#include "ir/ir.h"

/* Contents of tensors that are kept elsewhere: a package takes them out of the file. */
typedef struct hn_onnx_stored {
    void *ctx;
    /* Whether the field of no bytes whose contents would begin there in the file is such a one. */
    bool (*is)(void *ctx, size_t at);
    /* Its bytes, or (location not NULL) those of external data; *file is borrowed. */
    hone_status (*get)(void *ctx, const char *location, uint64_t at, size_t bytes, hn_file **file,
                       const unsigned char **data, hn_error *err);
} hn_onnx_stored;

typedef struct hn_onnx_options {
    bool no_mmap;       /* copy files to memory instead of mapping them */
    bool check_stored;  /* compare the checksums of all tensors of a package */
    const char *folder; /* where a model from memory has its external data; NULL: nowhere */
    /* What contradicts itself in the model is told here, one line each, and repaired as far as it
     * takes to read on: names that lead nowhere stand for values nobody knows, what cannot be read
     * is left out. The model is then fit for inference only. NULL: the first one is an error. */
    void (*finding)(void *ctx, const char *text);
    void *finding_ctx;
    const hn_onnx_stored *stored; /* NULL: all is in the file */
} hn_onnx_options;

/* Whether a location of external data stays inside the model's folder, links aside. */
bool hn_onnx_in_folder(const char *location);

/* ONNX files, and packages (package.h), which are told by how they begin. o may be NULL. */
hone_status hn_onnx_load(hn_model **out, const char *path, const hn_onnx_options *o,
                         hn_allocator *alloc, hn_error *err);
/* The same from bytes, of which the model's tensors keep a reference. */
hone_status hn_onnx_load_memory(hn_model **out, hn_file *file, const hn_onnx_options *o,
                                hn_allocator *alloc, hn_error *err);
/* A file that holds one TensorProto (.pb). */
hone_status hn_onnx_read_tensor(hn_tensor **out, hn_file *file, hn_allocator *alloc, hn_error *err);

typedef struct hn_onnx_save_options {
    /* Of ai.onnx; 0: the model's own, raised where an edited node needs it. A node that cannot be
     * written at the opset asked for is an error that names it. */
    int64_t opset;
    /* Tensors of at least external_threshold bytes (0: 1024) go to <path>.data beside the model.
     * Done unasked when the file would pass 2 GB. */
    bool external;
    size_t external_threshold;
} hn_onnx_save_options;

/* Writes temporary files and renames them. The file the model came from, and files its weights lie
 * in, are not overwritten (HONE_E_ARG). The model's meaning is not changed. o may be NULL. */
hone_status hn_onnx_save(hn_model *m, const char *path, const hn_onnx_save_options *o,
                         hn_error *err);
/* How many bytes that writes, with those of external data. o may be NULL. */
hone_status hn_onnx_bytes(hn_model *m, const hn_onnx_save_options *o, int64_t *bytes,
                          hn_error *err);
/* The same bytes in memory; without external data. */
hone_status hn_onnx_save_memory(hn_file **out, hn_model *m, const hn_onnx_save_options *o,
                                hn_error *err);

#endif
