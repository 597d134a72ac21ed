/* .hone packages: a model in one file, each tensor stored as it is best.
 *
 * A package holds the files of a model, the ONNX file and those of its external data, byte for byte.
 * Each is cut: the bytes of large tensors are taken out and stored one by one (coded.h); what is
 * left, the literal, is stored as one more block.
 *
 *     model.onnx   │ fields │ raw_data of a │ fields │ raw_data of b │ fields │
 *     literal      │ fields │ fields │ fields │          tensors  a, b
 *
 * Putting the tensors back where they were gives the file again, whatever wrote it. To load the
 * model nothing is put back: in the literal the lengths of the fields around a tensor are written
 * anew, in as many bytes as they had, so that it is an ONNX model whose large tensors are empty; the
 * reader asks for them by place (hn_onnx_stored). Tensors stored raw are mapped from the package.
 *
 * The file; numbers are little-endian:
 *
 *       0  8   89 'H' 'O' 'N' 'E' 0d 0a 1a
 *       8  u32 format: 1
 *      12  u32 the oldest format whose readers can read it
 *      16  u64 bytes of the file
 *      24  u32 sections
 *      28  u32 0
 *      32  u64 checksum of bytes 0 to 31 and of the section table
 *      40      section table, 32 bytes each:
 *                u32 kind, u32 flags (1: required), u64 offset, u64 bytes, u64 checksum
 *      ..      sections; between them zeros
 *
 * A reader skips sections of kinds it does not know, unless they are required: then, and where the
 * oldest format is above its own, it refuses the file as made by a newer version.
 *
 * Section 1, contents (required), with varints:
 *
 *     files, and for each: length of its name, name ("" is the model's own), entries, the block of
 *     its literal, and for each entry: bytes of the literal between the entry before and this one,
 *     data type (u8), block
 *     block: bytes, code (u8), offset in the data, stored bytes, checksum of the stored bytes (u64)
 *
 * Section 2, data (required; its checksum is 0, each block has its own): the blocks. Raw ones of
 * 1 KiB and more begin at multiples of 64 bytes, smaller ones of 8.
 *
 * Section 3, ready (not required, one per instruction set): what a session makes of the model before
 * its first run, so that the next one need not (package_ready.c):
 *
 *     library, instruction set, name of the CPU (each: length, bytes); bytes of L1 and of L2 that
 *     loops are cut for; the model after the passes, as a file of the contents is written; for each
 *     of its entries: what hn_tensor_plain says of the tensor (u8); packed weights, and for each its key
 *     (u64) and its block
 *
 * All its blocks but that of the literal are raw, and lie in the data; those of tensors that the
 * passes left alone are the blocks of the model itself.
 *
 * Checksums are hn_checksum. Header, table, contents, ready sections, every coded block and raw blocks
 * of up to 1 MiB are checked when they are read; larger raw ones where `check_raw` asks for it, since that brings
 * all of them into memory. */
#ifndef HN_FORMATS_PACKAGE_H
#define HN_FORMATS_PACKAGE_H

#include "formats/coded.h"
#include "formats/onnx.h"

#define HN_PACKAGE_FORMAT 1
/* Raw blocks of up to so many bytes are checked at every load. */
#define HN_PACKAGE_CHECKED ((size_t)1 << 20)

bool hn_package_is(const hn_file *file);

/* ---- writing ---- */

/* Weights in the layout of a kernel. The key says which weights, kernel and problem. */
typedef struct hn_package_packed {
    uint64_t key;
    const void *data;
    size_t bytes;
} hn_package_packed;

/* What must be the same where packed weights are used: the layouts are those of one version of the
 * library, and may depend on the caches. */
typedef struct hn_package_machine {
    const char *library; /* its version and its source */
    const char *isa;
    const char *cpu; /* its name; to be read by people, others may use what was made on it */
    uint64_t l1, l2; /* bytes */
} hn_package_machine;

/* A model made ready, to be written. */
typedef struct hn_package_made {
    hn_package_machine machine;
    hn_file *model; /* after the passes, as an ONNX file */
    /* hn_tensor_plain of a tensor of it. NULL: nothing is known. */
    unsigned (*plain)(void *ctx, const char *name, size_t bytes);
    void *ctx;
    size_t n;
    const hn_package_packed *packed;
} hn_package_made;

typedef struct hn_package_options {
    /* Prefer what needs no decoding: a code must halve the bytes to be taken. */
    bool fast;
    bool (*keep_going)(void *ctx, int64_t done, int64_t total); /* bytes; NULL: nobody asks */
    void *ctx;
    size_t n_made;
    const hn_package_made *made;
} hn_package_options;

/* Packages the ONNX file. o may be NULL. */
hone_status hn_package_write(const char *path, const char *model, const hn_package_options *o,
                             hn_allocator *alloc, hn_error *err);
/* The same of bytes, without external data. */
hone_status hn_package_write_memory(const char *path, hn_file *model, const hn_package_options *o,
                                    hn_allocator *alloc, hn_error *err);
/* The bytes that would be written. */
hone_status hn_package_bytes(hn_file *model, const hn_package_options *o, uint64_t *bytes,
                             hn_allocator *alloc, hn_error *err);

/* ---- reading ---- */

typedef struct hn_block {
    size_t bytes;  /* as they were */
    size_t stored; /* as they are here */
    const unsigned char *data;
    hn_code code;
    uint64_t checksum;
} hn_block;

typedef struct hn_package_entry {
    size_t at;        /* in the literal */
    uint64_t offset;  /* in the file */
    hone_dtype dtype; /* HONE_DTYPE_NONE: several, or unknown */
    hn_block block;
    hn_file *decoded; /* once it was asked for */
} hn_package_entry;

typedef struct hn_package_file {
    const char *name;
    uint64_t bytes; /* of the file */
    hn_block literal;
    size_t n;
    hn_package_entry *entries;
} hn_package_file;

typedef struct hn_package_section {
    const unsigned char *data;
    size_t bytes;
    uint64_t checksum;
} hn_package_section;

typedef struct hn_package {
    hn_allocator *alloc;
    hn_file *file;
    uint32_t format;
    bool check_raw;
    size_t n;
    hn_package_file *files;
    hn_package_section data;
    size_t n_ready; /* sections, not read yet */
    hn_package_section ready[62];
    hn_arena arena; /* of the lists */
} hn_package;

hone_status hn_package_open(hn_package **out, hn_file *file, bool check_raw, hn_allocator *alloc,
                            hn_error *err);
void hn_package_close(hn_package *p); /* NULL accepted */

/* The entry whose tensor was at that place of the literal, and the one that holds those bytes of the
 * file; NULL: there is none. */
hn_package_entry *hn_package_entry_at(const hn_package_file *f, size_t at);
hn_package_entry *hn_package_entry_over(const hn_package_file *f, uint64_t offset, size_t bytes);

/* The model in it; to the reader of ONNX files a package is one more form. o may be NULL. */
hone_status hn_package_load(hn_model **out, hn_file *file, const hn_onnx_options *o,
                            hn_allocator *alloc, hn_error *err);
/* The literal of a file with its lengths written anew: what the reader is given. */
hone_status hn_package_literal(hn_package *p, const hn_package_file *file, hn_file **out,
                               hn_error *err);
/* The model of a file whose external data is in the package; o->stored is not read. */
hone_status hn_package_load_file(hn_package *p, hn_package_file *file, const hn_onnx_options *o,
                                 hn_model **out, hn_allocator *alloc, hn_error *err);
/* All bytes of a file in order; every checksum is compared. */
hone_status hn_package_restore(hn_package *p, size_t file,
                               hone_status (*put)(void *ctx, const void *data, size_t bytes,
                                                  hn_error *err),
                               void *ctx, hn_error *err);
/* Writes the ONNX file to path and external data beside it, which must not exist yet. */
hone_status hn_package_unpack(const char *package, const char *path, hn_allocator *alloc,
                              hn_error *err);

/* ---- models made ready (package_ready.c) ---- */

typedef struct hn_package_ready {
    hn_package_machine machine;
    hn_package_file model;
    const uint8_t *plain; /* by entry of the model */
    size_t n;
    const uint64_t *keys;   /* ascending */
    const hn_block *packed; /* raw, aligned to 64 */
} hn_package_ready;

/* Section number i of p->n_ready; lives as long as p. HONE_E_FORMAT: it is damaged. */
hone_status hn_package_ready_read(hn_package *p, size_t i, hn_package_ready **out, hn_error *err);
/* The packed weights of that key and size, or NULL. */
const void *hn_package_ready_find(const hn_package *p, const hn_package_ready *r, uint64_t key,
                                  size_t bytes);
/* The model after the passes. */
hone_status hn_package_ready_model(hn_package *p, hn_package_ready *r, hn_model **out,
                                   hn_allocator *alloc, hn_error *err);
/* Compares every checksum. */
hone_status hn_package_ready_check(hn_package *p, hn_error *err);

/* ---- tensors in the bytes of an ONNX file (package_cut.c) ---- */

/* Contents of a tensor. */
typedef struct hn_cut {
    hn_bytes name;     /* of the tensor */
    hn_bytes location; /* n 0: in the file itself */
    uint64_t offset;
    uint64_t bytes;
    hone_dtype dtype;
    int64_t columns; /* elements of a row */
} hn_cut;

/* Calls `found` for the raw data, or float numbers in one piece, of every tensor of at least
 * least_bytes and for all external data, in the order of the file. Of what is no ONNX it finds
 * nothing. */
hone_status hn_cut_find(hn_file *file, size_t least_bytes,
                        hone_status (*found)(void *ctx, const hn_cut *cut, hn_error *err),
                        void *ctx, hn_error *err);
/* Writes the lengths in `literal` anew: those of the entries become 0. HONE_E_FORMAT: an entry is
 * not a field of its own. */
hone_status hn_cut_lengths(unsigned char *literal, size_t bytes, const hn_package_entry *entries,
                           size_t n, hn_error *err);

#endif
