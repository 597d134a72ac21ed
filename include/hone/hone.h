/* hone.h: the public C API of hone.
 *
 * Read it top to bottom: status and errors, data types, values, models, sessions, datasets,
 * comparisons, quantization, the machine, profiles, optimizing, advice. The shortest program loads a
 * model (hone_model_load), makes a session of it (hone_session_create) and runs it
 * (hone_session_run); examples/ has some.
 *
 * Conventions
 *   Failing    A function that can fail returns a hone_status and takes a `hone_error *`, which may
 *              be NULL. The error receives one line: what was wrong, where, what was found, what
 *              was expected. On failure, out-parameters are left untouched.
 *   Handles    are opaque. `destroy` functions accept NULL.
 *   Options    An options struct is filled by its `_init` function before fields are set, so that
 *              fields that a later version adds have their defaults.
 *   Versions   A program runs with every later library of the same soname (libhone.so.0), and with
 *              an earlier one as long as it uses nothing newer. Functions are only added; structs
 *              only grow, by fields at their end; numbers of enums stay. A release that must break
 *              one of these promises has a new major version and with it a new soname. How structs
 *              of different sizes get along is in hone/sized.h.
 *   Threads    Threads may use different objects at the same time. Several threads may use one
 *              object as long as they only call functions that take it as const. A session may
 *              run on any number of threads at once, whatever happens to its model meanwhile.
 *   Silence    The library never prints, exits or installs signal handlers; it calls the log
 *              callback.
 */
#ifndef HONE_HONE_H
#define HONE_HONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HONE_API __attribute__((visibility("default")))
#define HONE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define HONE_EXTENSION __extension__
#else
#define HONE_API
#define HONE_PRINTF(fmt, args)
#define HONE_EXTENSION
#endif
/* A field of a struct that was renamed. `old` still names it in this version. */
#define HONE_RENAMED(type, name, old) \
    HONE_EXTENSION union {            \
        type name;                    \
        type old;                     \
    }
/* A function that this header defines itself, to pass the sizes of the caller's structs on:
 * hone/sized.h says how. */
#define HONE_INLINE static inline

/* ---- version ---- */

/* The version of this header. That of the library may be another: see hone_version. */
#define HONE_VERSION_MAJOR 0
#define HONE_VERSION_MINOR 1
#define HONE_VERSION_PATCH 0
/* The same as one number, which grows with every release: 10203 for 1.2.3. */
#define HONE_VERSION_NUMBER \
    (HONE_VERSION_MAJOR * 10000 + HONE_VERSION_MINOR * 100 + HONE_VERSION_PATCH)

/* The version of the library the program runs with: "0.1.0", and as HONE_VERSION_NUMBER. */
HONE_API const char *hone_version(void);
HONE_API int hone_version_number(void);

/* ---- status and errors ---- */

/* Name, number (pinned; groups leave gaps), text. */
#define HONE_STATUS_LIST(X)                     \
    X(OK, 0, "success")                         \
    X(E_NOMEM, 10, "out of memory")             \
    X(E_LIMIT, 11, "a limit would be exceeded") \
    X(E_ARG, 20, "invalid argument")            \
    X(E_IO, 21, "input or output failed")       \
    X(E_FORMAT, 22, "malformed file")           \
    X(E_NOT_FOUND, 23, "no such thing")         \
    X(E_MODEL, 30, "invalid model")             \
    X(E_SHAPE, 31, "incompatible shapes")       \
    X(E_TYPE, 32, "incompatible types")         \
    X(E_UNSUPPORTED, 40, "not supported by this build or machine")

typedef enum hone_status {
#define HONE_X(name, number, text) HONE_##name = number,
    HONE_STATUS_LIST(HONE_X)
#undef HONE_X
} hone_status;

/* The longest message that is kept; longer ones are cut. */
#define HONE_ERROR_TEXT 1024

/* The one struct that never grows. */
typedef struct hone_error {
    hone_status status;
    char text[HONE_ERROR_TEXT];
} hone_error;

HONE_API const char *hone_status_name(hone_status status); /* "HONE_E_SHAPE" */
HONE_API const char *hone_status_text(hone_status status); /* "incompatible shapes" */

/* ---- data types ---- */

/* Name, number (that of ONNX TensorProto.DataType), short name, ONNX's own name, bits per element.
 * Elements under 8 bits are packed, the first element in the lowest bits of a byte. */
#define HONE_DTYPE_LIST(X)                               \
    X(F32, 1, "f32", "float", 32)                        \
    X(U8, 2, "u8", "uint8", 8)                           \
    X(S8, 3, "s8", "int8", 8)                            \
    X(U16, 4, "u16", "uint16", 16)                       \
    X(S16, 5, "s16", "int16", 16)                        \
    X(S32, 6, "s32", "int32", 32)                        \
    X(S64, 7, "s64", "int64", 64)                        \
    X(STRING, 8, "string", "string", 0)                  \
    X(BOOL, 9, "bool", "bool", 8)                        \
    X(F16, 10, "f16", "float16", 16)                     \
    X(F64, 11, "f64", "double", 64)                      \
    X(U32, 12, "u32", "uint32", 32)                      \
    X(U64, 13, "u64", "uint64", 64)                      \
    X(C64, 14, "c64", "complex64", 64)                   \
    X(C128, 15, "c128", "complex128", 128)               \
    X(BF16, 16, "bf16", "bfloat16", 16)                  \
    X(F8E4M3FN, 17, "f8e4m3fn", "float8e4m3fn", 8)       \
    X(F8E4M3FNUZ, 18, "f8e4m3fnuz", "float8e4m3fnuz", 8) \
    X(F8E5M2, 19, "f8e5m2", "float8e5m2", 8)             \
    X(F8E5M2FNUZ, 20, "f8e5m2fnuz", "float8e5m2fnuz", 8) \
    X(U4, 21, "u4", "uint4", 4)                          \
    X(S4, 22, "s4", "int4", 4)                           \
    X(F4E2M1, 23, "f4e2m1", "float4e2m1", 4)             \
    X(F8E8M0, 24, "f8e8m0", "float8e8m0", 8)             \
    X(U2, 25, "u2", "uint2", 2)                          \
    X(S2, 26, "s2", "int2", 2)

typedef enum hone_dtype {
    HONE_DTYPE_NONE = 0, /* unknown or absent */
#define HONE_X(name, number, short_name, onnx_name, bits) HONE_DTYPE_##name = number,
    HONE_DTYPE_LIST(HONE_X)
#undef HONE_X
        HONE_DTYPE_COUNT_ = 27
} hone_dtype;

HONE_API const char *hone_dtype_name(hone_dtype dtype); /* "f32"; "?" if unknown */
HONE_API int hone_dtype_bits(hone_dtype dtype);         /* 0 for strings and unknown types */

/* The most axes a tensor may have. */
#define HONE_MAX_RANK 16

/* ---- values: tensors that cross the API ---- */

/* A named tensor. Its elements are packed, in row-major order; `bytes` is the size of `data`. */
typedef struct hone_value {
    const char *name;
    hone_dtype dtype;
    int rank;
    int64_t dims[HONE_MAX_RANK];
    void *data;
    size_t bytes;
    void *owner; /* not NULL: the library allocated data, and hone_value_release frees it */
} hone_value;

/* The number of bytes a tensor takes. SIZE_MAX: a dim is negative, the product overflows, the rank
 * is over HONE_MAX_RANK, or the type has no width. */
HONE_API size_t hone_value_bytes(hone_dtype dtype, int rank, const int64_t *dims);
/* Frees the data that the library allocated for each of n values, and the name if it came with the
 * data. Data and names that the caller set stay. */
HONE_INLINE void hone_value_release(hone_value *values, size_t n);
/* Frees memory where a function below says to do it with hone_free. NULL is accepted. */
HONE_API void hone_free(void *block);

typedef enum hone_fill { HONE_FILL_ZEROS, HONE_FILL_ONES, HONE_FILL_RANDOM } hone_fill;
/* Allocates data for the dtype and dims of v and fills it. Random floats are drawn from N(0,1),
 * random integers from {0, 1}. */
HONE_INLINE hone_status hone_value_fill(hone_value *v, hone_fill fill, uint64_t seed,
                                        hone_error *err);

/* The mean and the largest distance between the elements of two values, divided by the largest
 * absolute value of the second. An infinity or NaN is equal to itself only; its distance from
 * anything else is infinite. */
typedef struct hone_difference {
    double mean, max;
} hone_difference;
/* The distance of a from b. HONE_E_SHAPE: their shapes differ. HONE_E_TYPE: they are no numbers. */
HONE_INLINE hone_status hone_value_difference(const hone_value *a, const hone_value *b,
                                              hone_difference *out, hone_error *err);

/* .npy and .npz files. Release the values that are read with hone_value_release. */
HONE_INLINE hone_status hone_npy_read(hone_value *out, const char *path, hone_error *err);
HONE_INLINE hone_status hone_npy_write(const hone_value *v, const char *path, hone_error *err);
/* *out becomes an array of *n values. Release the values, then free the array with hone_free. */
HONE_INLINE hone_status hone_npz_read(hone_value **out, size_t *n, const char *path,
                                      hone_error *err);
HONE_INLINE hone_status hone_npz_write(const hone_value *v, size_t n, const char *path,
                                       hone_error *err);

/* ---- models ---- */

typedef struct hone_model hone_model;

typedef struct hone_load_options {
    uint32_t size;
    /* Copy the file instead of mapping it. A mapped file must not be changed in place while the
     * model exists; replacing it by another file is safe. */
    bool no_mmap;
} hone_load_options;
HONE_INLINE void hone_load_options_init(hone_load_options *o);

/* Reads an ONNX file or a .hone package, checks its structure and infers types and shapes. options may
 * be NULL. */
HONE_API hone_status hone_model_load(hone_model **out, const char *path,
                                     const hone_load_options *options, hone_error *err);
/* The same from memory, which is copied. A model with external data is refused, since there is no
 * folder to look for it. */
HONE_API hone_status hone_model_load_memory(hone_model **out, const void *data, size_t bytes,
                                            hone_error *err);
/* The same from ONNX's textual form; docs/formats.md says which parts of it are supported. All
 * tensors must be written out in the text. */
HONE_API hone_status hone_model_load_text(hone_model **out, const char *text, hone_error *err);
/* Sessions made from the model keep what they need of it. */
HONE_API void hone_model_destroy(hone_model *model);
/* The files of external data that the ONNX file at `path` names, for who copies a model: calls
 * `found` for each tensor with the location of its file, which is in the model's folder; several
 * tensors may share one. Packages and files without external data have none. */
HONE_API hone_status hone_model_files(const char *path,
                                      void (*found)(void *ctx, const char *location), void *ctx,
                                      hone_error *err);

typedef struct hone_save_options {
    uint32_t size;
    /* The opset of ai.onnx. 0: the model's own, raised only as far as an edited node needs. A node
     * that cannot be written in this opset is an error. */
    int64_t opset;
    /* Tensors of at least this many bytes are written to `<path>.data`. 0: only when the file would
     * be larger than 2 GB. */
    int64_t external_min;
} hone_save_options;
HONE_INLINE void hone_save_options_init(hone_save_options *o);

/* Writes an ONNX file. It is written under a temporary name and renamed when it is complete. The
 * files the model was read from are not overwritten (HONE_E_ARG). options may be NULL. */
HONE_API hone_status hone_model_save(hone_model *model, const char *path,
                                     const hone_save_options *options, hone_error *err);
/* The model in ONNX's textual form, with the operators of the newest opset. A tensor of more than
 * 64 elements is given as its SHA-256. Free the text with hone_free. */
HONE_API hone_status hone_model_print(const hone_model *model, char **text, hone_error *err);

/* A new size for one axis of one input: a number ("8") or the name of a symbol ("batch"). */
typedef struct hone_dim_setting {
    const char *input;
    int axis; /* negative: counted from the end */
    const char *to;
} hone_dim_setting;
/* Makes axes of inputs fixed or symbolic, through the whole graph. Sizes in constants of Reshape,
 * Expand, Slice and Resize are rewritten. If a node does not allow the change, the error names it
 * and the model stays as it was. HONE_E_ARG: sessions of the model exist. Descriptions that
 * hone_model_input and hone_model_output gave before are not updated. */
HONE_INLINE hone_status hone_model_set_dims(hone_model *model, const hone_dim_setting *settings,
                                            size_t n, hone_error *err);

typedef struct hone_value_info {
    const char *name;                     /* all texts last as long as the model */
    hone_dtype dtype;                     /* HONE_DTYPE_NONE: not a tensor, or unknown */
    int rank;                             /* -1: unknown */
    int64_t dims[HONE_MAX_RANK];          /* -1: symbolic */
    const char *dim_names[HONE_MAX_RANK]; /* a symbol or expression where dims is -1, else NULL */
} hone_value_info;
/* Counts the inputs that a run must be given: those without an initializer. */
HONE_API size_t hone_model_n_inputs(const hone_model *model);
HONE_API size_t hone_model_n_outputs(const hone_model *model);
HONE_INLINE hone_status hone_model_input(const hone_model *model, size_t i, hone_value_info *out,
                                         hone_error *err);
HONE_INLINE hone_status hone_model_output(const hone_model *model, size_t i, hone_value_info *out,
                                          hone_error *err);

/* The text of a key in the model's metadata_props, which lasts as long as the model. NULL: the
 * model does not have the key. hone_model_transform, hone_model_quantize and hone_optimize write these
 * keys into the models they make:
 *   hone.source   the SHA-256 of the file of the original model
 *   hone.data     the SHA-256 of the samples, as they were given to the model
 *   hone.recipe   what was done, in one line that hone_model_transform does again
 *   hone.version  the version of hone */
HONE_API const char *hone_model_metadata(const hone_model *model, const char *key);

/* Checks an ONNX file or a .hone package, every checksum of which it compares, and calls `finding` once for every violation of the ONNX specification, with one
 * line of text that names the node. *n_findings becomes their number. The function fails only when
 * the file cannot be read as ONNX at all. */
HONE_API hone_status hone_model_check(const char *path,
                                      void (*finding)(void *ctx, const char *text), void *ctx,
                                      size_t *n_findings, hone_error *err);

/* ---- making: models ready to be trained ---- */

/* An architecture that hone knows. All texts are constants of the library. */
typedef struct hone_architecture_info {
    const char *name, *help;
    const char *text;     /* its description, in the form of docs/make.md */
    const char *settings; /* the values that its numbers have instead of those in the text; or "" */
} hone_architecture_info;
HONE_API size_t hone_n_architectures(void);
HONE_INLINE hone_status hone_architecture(size_t i, hone_architecture_info *out, hone_error *err);

typedef struct hone_make_options {
    uint32_t size;
    uint64_t seed; /* of the first values of the parameters; default: 1 */
    /* Values for numbers of the description, separated by spaces: "width=0.5 classes=100". The last
     * value of a name counts. NULL: the description's own. */
    const char *settings;
    /* Scales depth, width and resolution together: by 1.2, 1.1 and 1.15 to this power; default: 0. */
    double compound;
    /* A description to use instead of that of an architecture; or NULL. */
    const char *text;
} hone_make_options;
HONE_INLINE void hone_make_options_init(hone_make_options *o);

/* Makes a model of the architecture `name`: opset 17, a symbolic batch `N`, and an output `logits`.
 * Its parameters have their first values, which depend on the seed, the name of the parameter and
 * nothing else. With options->text, name is what messages call that text. options may be NULL. The
 * metadata of the model has the keys hone.description, the text with all values filled in, and
 * hone.seed. HONE_E_NOT_FOUND: there is no such architecture. HONE_E_ARG: the settings do not fit.
 * HONE_E_FORMAT, HONE_E_SHAPE, HONE_E_LIMIT: the text is wrong, with line and column. */
HONE_API hone_status hone_make(hone_model **out, const char *name, const hone_make_options *options,
                               hone_error *err);
/* The description that hone_make would use, with the values of the options filled in. Free the text
 * with hone_free. */
HONE_API hone_status hone_make_describe(char **text, const char *name,
                                        const hone_make_options *options, hone_error *err);

/* ---- packages: a model in one small file ---- */

/* A .hone package holds an ONNX file and its external data, byte for byte. The bytes of each tensor
 * are stored in the code that makes them smallest; docs/package.md says which there are and what the
 * file looks like. All functions that read models read packages. */

typedef struct hone_package_options {
    uint32_t size;
    /* Prefer what is mapped from the file to what has to be decoded: a code is taken only where it
     * halves the bytes of a tensor. Default: whatever is at least 3 % smaller. */
    bool fast;
    /* Called after every tensor, with bytes of the model; false ends the work with HONE_E_LIMIT. */
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
    /* Also stores the model ready to run: as sessions simplify it, and its weights as they pack them
     * for these instruction sets, names separated by commas; "": the best of this machine. Sessions
     * of the same version of hone on a CPU of that instruction set then begin without either, and
     * give the same bits; all others read the package as ever. Weights are stored as with `fast`.
     * NULL, the default: no. HONE_E_UNSUPPORTED: the model cannot be stored so. */
    const char *ready;
    /* Sizes of symbolic axes that weights are packed for, "N=1,S=128". NULL: 1 for a first axis, 128
     * for others. Weights whose packing differs at other sizes are packed when they are used. */
    const char *ready_dims;
} hone_package_options;
HONE_INLINE void hone_package_options_init(hone_package_options *o);

/* Packages the ONNX file at `model`. HONE_E_ARG: it is a package already, or `path` is one of the
 * files it is made of. options may be NULL. */
HONE_API hone_status hone_package_write(const char *path, const char *model,
                                        const hone_package_options *options, hone_error *err);
/* Packages what hone_model_save would write. A model of more than 2 GB must be saved and packaged as
 * a file. */
HONE_API hone_status hone_model_package(hone_model *model, const char *path,
                                        const hone_package_options *options, hone_error *err);
/* The bytes that hone_model_package would write. */
HONE_API hone_status hone_model_packaged_bytes(hone_model *model,
                                               const hone_package_options *options, int64_t *bytes,
                                               hone_error *err);
/* Writes the ONNX file that the package was made of, the same bytes, and its external data beside it,
 * under the names it had. HONE_E_ARG: one of those is there already. Every checksum is compared. */
HONE_API hone_status hone_package_unpack(const char *package, const char *path, hone_error *err);

typedef struct hone_package_tensor {
    const char *name; /* may be "" */
    const char *file; /* of external data; "": the model's own */
    hone_dtype dtype; /* HONE_DTYPE_NONE: several share the bytes */
    const char *code; /* "raw", "zstd", "planes", "table", "sparse", "adaptive" */
    int64_t bytes, stored_bytes;
} hone_package_tensor;

typedef struct hone_package_code {
    const char *code;
    int64_t tensors, bytes, stored_bytes;
} hone_package_code;

/* A model that a package holds ready to run. */
typedef struct hone_package_ready {
    const char *isa;    /* the instruction set it is for */
    const char *cpu;    /* that it was made on */
    int64_t packed;     /* weights in the layouts of kernels */
    int64_t bytes;      /* that it takes in the package */
    const char *unused; /* why sessions of this process do not use it; NULL: they do */
} hone_package_ready;

typedef struct hone_package {
    uint32_t size;
    int64_t format;       /* version of the format */
    int64_t file_bytes;   /* of the package */
    int64_t source_bytes; /* of the files in it */
    int64_t files;
    int64_t graph_bytes, graph_stored_bytes; /* of what is no large tensor */
    const char *graph_code;
    size_t n_codes; /* those that occur */
    const hone_package_code *codes;
    size_t n_tensors;
    const hone_package_tensor *tensors;
    void *owner;
    size_t n_ready;
    const hone_package_ready *ready;
} hone_package;

/* What is in a package. Tensors are not decoded. HONE_E_FORMAT: it is none, or it is damaged. */
HONE_INLINE hone_status hone_package_inspect(hone_package **out, const char *path, hone_error *err);
HONE_API void hone_package_destroy(hone_package *package);

/* ---- inspection: what a model is made of ---- */

/* The size of a symbolic dim. */
typedef struct hone_dim_value {
    const char *name;
    int64_t value;
} hone_dim_value;

typedef struct hone_node_info {
    const char *name, *op, *domain; /* domain "" is ai.onnx */
    bool supported;                 /* the operator can run */
    const char *output_name;        /* of its first output */
    const char *output_type;        /* "f32[1, 64, 112, 112]" */
    int64_t params;                 /* elements of constants, counted at their first use */
    int64_t params_bytes;
    int64_t params_zero;               /* how many of these elements are zero */
    int64_t macs;                      /* multiply-accumulates; -1: unknown */
    int64_t read_bytes, written_bytes; /* -1: unknown */
} hone_node_info;

typedef struct hone_op_use {
    const char *op, *domain;
    bool supported;
    int64_t count, params, macs; /* macs: of the nodes whose count is known */
} hone_op_use;

typedef struct hone_dtype_use {
    hone_dtype dtype;
    int64_t tensors, elements, bytes;
} hone_dtype_use;

/* Counts stop at 2^62. */
typedef struct hone_inspection {
    uint32_t size;
    /* The size of the file the model was last read from or written to, with its files of external
     * data. 0: there is none. */
    int64_t file_bytes;
    int64_t ir_version, opset;
    const char *producer, *producer_version, *graph_name;
    const char *opsets;   /* "ai.onnx 17, com.microsoft 1" */
    int64_t params;       /* elements of all constants */
    int64_t trainable;    /* those of float constants that are used as weights */
    int64_t params_bytes; /* as stored */
    int64_t params_zero;
    int64_t bytes_at[5];     /* if all parameters were f32, f16, int8, int4, 1 bit */
    int64_t macs;            /* of the nodes whose count is known */
    int64_t macs_unknown;    /* the number of the other nodes */
    int64_t activation_peak; /* estimated bytes in use at once, nodes run in order; -1: unknown */
    size_t n_nodes;          /* with those of subgraphs */
    const hone_node_info *nodes;
    size_t n_ops; /* those with most MACs first */
    const hone_op_use *ops;
    size_t n_dtypes;
    const hone_dtype_use *dtypes;
    size_t n_dims; /* symbolic dims, with the sizes that MACs and memory are computed for */
    const hone_dim_value *dims;
    void *owner;
} hone_inspection;

/* dims gives sizes of n_dims symbols. Any other symbol counts as 1 if it is the first axis of an
 * input, and as 128 otherwise. */
HONE_INLINE hone_status hone_model_inspect(hone_model *model, const hone_dim_value *dims,
                                           size_t n_dims, hone_inspection **out, hone_error *err);
HONE_API void hone_inspection_destroy(hone_inspection *inspection);

/* ---- simplification: the graph passes ---- */

typedef struct hone_pass_info {
    const char *name, *help; /* help: what the pass does, in one line */
    int level;               /* the lowest level at which it runs */
} hone_pass_info;
HONE_API size_t hone_n_passes(void);
HONE_INLINE hone_status hone_pass(size_t i, hone_pass_info *out, hone_error *err);

typedef struct hone_simplify_options {
    uint32_t size;
    /* 0: changes nothing. 1: does the same arithmetic with fewer nodes. 2: also multiplies and adds
     * constants into weights. 3, the default: also replaces subgraphs by a single operator that
     * computes the same. From 2 on, results may differ by rounding. */
    int level;
    int64_t opset; /* the newest opset of new operators; 0: the model's own opset */
    /* Names of passes to leave out, separated by commas; or NULL. */
    HONE_RENAMED(const char *, without, disable);
    const char *stop_after; /* stop after this pass has run once; or NULL */
} hone_simplify_options;
HONE_INLINE void hone_simplify_options_init(hone_simplify_options *o);

typedef struct hone_pass_result {
    int64_t fired; /* the number of rewrites */
    double ms;
} hone_pass_result;

/* Rewrites the model to compute the same with less work. Inputs and outputs keep their names, types
 * and shapes, and initializers that are inputs stay as they are. results gets one entry per pass,
 * hone_n_passes() in all, in the order of hone_pass. options and results may be NULL. HONE_E_ARG: a
 * pass does not exist, or sessions of the model exist. */
HONE_INLINE hone_status hone_model_simplify(hone_model *model, const hone_simplify_options *options,
                                            hone_pass_result *results, hone_error *err);

/* ---- sessions: running a model ---- */

typedef struct hone_session hone_session;

typedef struct hone_session_options {
    uint32_t size;
    const char *backend; /* "cpu" (the default), or "reference": the plain executor */
    int threads;         /* 0: HONE_THREADS, or the physical cores this process may use */
    size_t max_memory;   /* bytes a run may take; 0: as many as the machine or container has */
    uint64_t seed;       /* for random operators without a seed of their own */
    /* Called from time to time during a run. Returning false ends the run with HONE_E_LIMIT. May be
     * NULL. */
    bool (*keep_going)(void *ctx);
    void *keep_going_ctx;
    /* The strongest instruction set that may be used: "avx512", "neon", "portable" ... NULL: as the
     * environment variable HONE_ISA says, or the strongest that the CPU has. */
    const char *isa;
    /* Keep each thread of the session on a core of its own. The first core is left to the thread
     * that calls hone_session_run. For measuring, or where nothing else runs. */
    bool pin_threads;
    /* Cores to leave to other programs, where threads is 0. */
    int reserve_cores;
    /* Give every activation memory of its own, to see how much the memory plan saves. */
    bool no_sharing;
    /* Before the first run of a shape, measure which kernels are fastest, among those that give the
     * same bits: "off" (the default), "fast" or "full". */
    const char *tune;
    /* A text file that keeps the measurements; NULL: none. A damaged file, or one of another
     * machine or version of hone, is ignored with a warning. With tune "off" its measurements are
     * used, and nothing is measured or written. */
    const char *tune_cache;
    /* Optimizations to switch off, to see what they gain: names separated by commas, or NULL.
     *   "fuse"  computing several nodes in one step, and several steps strip by strip
     *   "sparse" leaving out weights that are 0; "lookup" looking up weights that are few numbers
     *   the name of a graph pass (hone_pass) */
    const char *without;
    /* The number format that runs compute in.
     *   NULL           Each node keeps the type stored in the model: integers are computed in
     *                  integers, bf16 in bf16 where a kernel for it is faster here, and f32 and f16
     *                  in f32 (bf16 would lose bits of f16).
     *   "int8"         For models with quantized operators: computes in integers where they allow
     *                  it.
     *   "f32"          Computes in f32. A quantized model is dequantized first.
     *   "f32-relaxed"  Sums of products may be off by 8e-5 of the sum of their absolute values
     *                  (typically 1.5e-5 of a result).
     *   "bf16"         Operands of products are rounded to bf16: off by 8e-3, typically 3e-3.
     *   "f16"          Not supported yet: HONE_E_UNSUPPORTED.
     *   "auto"         For quantized models: before the first run of a shape, measures each part in
     *                  int8 and in f32 and keeps the faster (hone_session_choice). For other models
     *                  the same as NULL.
     * "f32-relaxed" and "bf16" are faster with AMX, "bf16" with BFMMLA; elsewhere they are "f32". */
    const char *precision;
    /* Kernels that are preferred to all others, whatever was measured: "conv_f32=amx6,copy=ref", or
     * NULL. Where a kernel cannot serve a step, the usual choice is made and the log gets a
     * warning. */
    const char *kernels;
    /* "sequential" (the default): one step at a time, on all threads. "parallel": steps that are
     * short or hard to split run at the same time as others they do not depend on, on one thread
     * each. The results are the same. */
    const char *exec;
    /* Another precision for some nodes: "PATTERN:PRECISION,...", or NULL. Precisions are those
     * above, without "auto". A pattern is compared with the name of a node, or with its first
     * output where it has no name; * stands for any letters and ? for one letter. The last pattern
     * that matches a node counts. Names are those of the simplified model. HONE_E_ARG: a pattern
     * matches no node, or it asks for int8 and no node that it matches reads quantized values. */
    const char *layer_precision;
    /* Inputs that a hone_state keeps from run to run: "INPUT=OUTPUT,...", or NULL. OUTPUT of one run
     * is INPUT of the next. A * stands for the same text on both sides: "past_*=present_*" is every
     * such pair the model has. HONE_E_NOT_FOUND, HONE_E_TYPE, HONE_E_SHAPE: a pair does not exist,
     * or its types, ranks or fixed sizes differ. */
    const char *state;
} hone_session_options;
HONE_INLINE void hone_session_options_init(hone_session_options *o);

/* Makes a model ready to run. options may be NULL. Sessions of one model share its packed weights;
 * these count as memory of each of them. HONE_E_UNSUPPORTED: an operator cannot run; the error names
 * its node. */
HONE_API hone_status hone_session_create(hone_session **out, hone_model *model,
                                         const hone_session_options *options, hone_error *err);
HONE_API void hone_session_destroy(hone_session *session);
/* The number of threads a run takes, and the strongest instruction set it may use. */
HONE_API int hone_session_threads(const hone_session *session);
HONE_API const char *hone_session_isa(const hone_session *session);

/* Prepares the session for inputs of these shapes, as their first run would: chooses kernels, packs
 * weights, plans memory. in is the same as for hone_session_run, but its data is not read. */
HONE_INLINE hone_status hone_session_prepare(hone_session *session, size_t n_in,
                                             const hone_value *in, hone_error *err);

/* Runs the model once.
 *
 * in holds the inputs, in any order; they are found by name. All inputs without an initializer must
 * be given. out holds the wanted outputs, with their names set. A value whose name is NULL is the
 * input or output of its place: in[2] is the model's third input. The arrays can be used for any
 * number of runs. The library allocates memory for an output whose data is NULL; otherwise it writes to data, which must be large enough (`bytes`). On
 * success dtype, rank, dims and bytes of each output are set. On failure only the contents of the
 * caller's buffers may have changed.
 *
 * Several threads may run a session at once. The log gets one warning if all runs together use more
 * threads than there are cores. */
HONE_INLINE hone_status hone_session_run(hone_session *session, size_t n_in, const hone_value *in,
                                         size_t n_out, hone_value *out, hone_error *err);
/* Ends all current runs of the session, those of evaluations too, with HONE_E_LIMIT. Runs look for
 * this between steps, between iterations of a loop, and inside steps that take long. Later runs are
 * not affected. May be called from any thread and from signal handlers, until the session is
 * destroyed. */
HONE_API void hone_session_cancel(hone_session *session);

/* One step of a run: a kernel that computes one or several nodes. Texts last as long as the session
 * keeps the plan of the shape, which newer shapes may replace. */
typedef struct hone_step_info {
    const char *node; /* name of its main node (of Conv+Relu the Conv), or of that node's output */
    const char *op;   /* "Conv+Add+Relu"; "copy": a change of layout */
    const char *family;  /* "conv_f32"; NULL: the operator's reference */
    const char *kernel;  /* "avx512_14x32" */
    const char *output;  /* "f32[1, 64, 56, 56]" */
    double flops, bytes; /* that the step needs; 0: not counted */
    int64_t begin_ns, end_ns;
    double macs;           /* multiply-accumulates among the flops: of convolutions and products */
    const char *why_float; /* in a quantized model: why it computes in floats; NULL: it does not */
    const char *why;       /* why this kernel was chosen: "first that accepts", "measured" ... */
    const char *isa;       /* the instruction set the kernel needs */
    const char *precision; /* the step computes in: "f32", "f32-relaxed", "bf16", "int8" */
    int threads;           /* that the step may use */
    double weights_bytes;  /* of constants, as they are stored for the step */
    size_t live_bytes;     /* of activations that are in memory while it runs */
    const char *why_precision; /* of a convolution or product: why this precision; else NULL */
} hone_step_info;
/* Runs once, as hone_session_run does, and calls `step` after each step. For backend "cpu" only.
 * The number of steps may differ from run to run where sizes are known only while running, and in
 * subgraphs. */
HONE_INLINE hone_status hone_session_profile(hone_session *session, size_t n_in,
                                             const hone_value *in, size_t n_out, hone_value *out,
                                             void (*step)(void *ctx, const hone_step_info *info),
                                             void *ctx, hone_error *err);

/* What tuning has done so far. */
typedef struct hone_tuning {
    int64_t problems; /* that several kernels can serve */
    int64_t known;    /* problems found in the file */
    int64_t measured; /* problems measured */
    int64_t changed;  /* steps that got another kernel than without tuning */
    double ms;        /* spent measuring */
} hone_tuning;
HONE_INLINE hone_tuning hone_session_tuning(const hone_session *session);
/* What the session computes in: "int8" and "auto" of quantized models as asked for; else "f32",
 * "f32-relaxed", "bf16" or "mixed". Before the first run this is the precision that was asked for,
 * or the default for the model; then it is the least exact that a product computes in. */
HONE_API const char *hone_session_precision(const hone_session *session);
/* Why the products of a session that has run compute more exactly than the precision that was asked
 * for. NULL: they do not. The text lasts until the next call. */
HONE_API const char *hone_session_why_precision(hone_session *session);
/* The parts of the model that precision "auto" has left in f32 so far, one text each: "conv12: f32
 * 0.31 ms, int8 0.35 ms". NULL: there are not more than i. Texts last as long as the session. */
HONE_API const char *hone_session_choice(const hone_session *session, size_t i);

typedef struct hone_memory_use {
    size_t peak_bytes;  /* most bytes in use at once so far */
    size_t live_bytes;  /* bytes in use now */
    size_t allocations; /* blocks allocated so far; backend cpu needs none once a shape has run */
    /* Backend cpu only, for the shapes that ran last: */
    size_t weights_bytes; /* packed weights */
    size_t arena_bytes;   /* activations */
    size_t scratch_bytes; /* workspace of kernels */
    /* The peak_bytes that the plan predicted before anything was allocated, with the memory for the
     * plan itself. Runs take more only for operators without a kernel and for outputs that are not
     * asked for. 0: sizes are known only while running. */
    size_t planned_bytes;
    /* Where planned_bytes is 0: the most bytes that the values of the graph can take. Copies and
     * workspace of kernels for values of unknown size come on top. SIZE_MAX: there is no bound. */
    size_t bound_bytes;
} hone_memory_use;
HONE_INLINE hone_memory_use hone_session_memory(const hone_session *session);

/* ---- state: runs that go on where the last one ended ----
 *
 * A stream of a recurrent network, or of a decoder with past keys and values, takes in each run what
 * the run before it gave out. The session says which output becomes which input, and a hone_state
 * keeps their values:
 *
 *     options.state = "h0=hn,c0=cn";
 *     hone_session_create(&session, model, &options, &err);
 *     hone_state_create(&state, session, &err);
 *     while (more) hone_state_run(state, 1, &x, 1, &y, &err);
 *
 * A session may have many states, one for each stream, which may run at the same time. A state is
 * used by one thread at a time: a call during another one fails with HONE_E_ARG.
 *
 * Values begin when the first run needs them: as the initializer of the input, else as zeros. A
 * symbolic axis gets the size that the given inputs of that run have for its symbol, or for the axis
 * of the output. One that they say nothing of is 0 long if it grows from run to run, as that of past
 * keys does, and otherwise 1. hone_state_set gives another first value.
 *
 * No values are copied between runs: a run writes the output to the memory of the input where its
 * kernels allow that, and otherwise to a second buffer that takes the place of the first. The memory
 * counts for max_memory of the session.
 *
 * Parameters are state, too: INPUT may name an initializer, even one that is no input of the model,
 * and OUTPUT what the graph computes as its next value ("w=w_next"). An initializer in a pair is
 * never folded into the plan or packed beforehand: each run of a state reads the parameters as the
 * run before it left them, and hone_state_get reads what training has made of them. */

typedef struct hone_state hone_state;
/* HONE_E_ARG: the session declares no state. The session stays until its states are destroyed. */
HONE_API hone_status hone_state_create(hone_state **out, hone_session *session, hone_error *err);
HONE_API void hone_state_destroy(hone_state *state);
/* Runs the session once, as hone_session_run does. Inputs that the state keeps need not be given;
 * where one is, the run takes that value instead. Outputs that it keeps need not be taken. On failure
 * the state is as it was before. */
HONE_INLINE hone_status hone_state_run(hone_state *state, size_t n_in, const hone_value *in,
                                       size_t n_out, hone_value *out, hone_error *err);
/* Ends the stream; the next run begins another one. */
HONE_API hone_status hone_state_reset(hone_state *state, hone_error *err);
/* The current value of the input that v names; memory as for outputs of hone_session_run.
 * HONE_E_ARG: it has none yet. */
HONE_INLINE hone_status hone_state_get(hone_state *state, hone_value *v, hone_error *err);
/* Gives the input that v names this value, which is copied. */
HONE_INLINE hone_status hone_state_set(hone_state *state, const hone_value *v, hone_error *err);
/* The input of the i-th pair of a session; *output, unless output is NULL, becomes the output it is
 * paired with. NULL: there are not more than i. Texts last as long as the session. */
HONE_API const char *hone_session_state(const hone_session *session, size_t i, const char **output);

/* ---- datasets and accuracy ---- */

typedef struct hone_dataset hone_dataset;
/* spec: "KIND:PATH[,key=value...]"; docs/data.md lists kinds and keys. */
HONE_API hone_status hone_dataset_open(hone_dataset **out, const char *spec, hone_error *err);
/* The same line with other paths, for who copies a dataset: `place` is called with each file or folder
 * that it names and returns the path that takes its place, or NULL, which ends the call with
 * HONE_E_LIMIT. What lies in a folder that is named goes with it; @FILE becomes its text. Nothing is
 * opened but that FILE. Free the text with hone_free. */
HONE_API hone_status hone_dataset_moved(char **text, const char *spec,
                                        const char *(*place)(void *ctx, const char *path),
                                        void *ctx, hone_error *err);
HONE_API void hone_dataset_destroy(hone_dataset *dataset);
HONE_API int64_t hone_dataset_count(const hone_dataset *dataset);
HONE_API bool hone_dataset_has_labels(const hone_dataset *dataset);
/* Samples [first, first + n) as inputs of the model. out[] gets one value for each of
 * hone_model_n_inputs(), in their order; release them with hone_value_release. For a model with a
 * fixed batch n is at most that batch; the rest of the batch is filled with zeros. */
HONE_INLINE hone_status hone_dataset_read(hone_dataset *dataset, const hone_model *model,
                                          int64_t first, int64_t n, hone_value *out,
                                          hone_error *err);
HONE_API hone_status hone_dataset_labels(hone_dataset *dataset, int64_t first, int64_t n,
                                         int64_t *labels, hone_error *err);
/* Targets are arrays that outputs are compared with where a label is not enough: boxes, masks,
 * numbers. */
HONE_API size_t hone_dataset_n_targets(const hone_dataset *dataset);
/* Target i of samples [first, first + n) as a value of shape [n, ...], with its stored name and
 * type. Release it with hone_value_release. */
HONE_INLINE hone_status hone_dataset_targets(hone_dataset *dataset, size_t i, int64_t first,
                                             int64_t n, hone_value *out, hone_error *err);
/* The number of samples so far whose files could not be decoded. names[] gets the first n_names of
 * them, and NULL where there are fewer. */
HONE_API int64_t hone_dataset_skipped(const hone_dataset *dataset, size_t n_names,
                                      const char **names);

/* Reads a dataset from beginning to end, in batches. Threads of the loader read, decode and convert
 * them ahead of time:
 *
 *     hone_loader_create(&loader, dataset, model, NULL, &err);
 *     for (const hone_batch *b; hone_loader_next(loader, &b, &err) == HONE_OK && b->n > 0;)
 *         hone_session_run(session, b->n_in, b->in, ...);
 *     hone_loader_destroy(loader);
 */
typedef struct hone_loader hone_loader;
typedef struct hone_loader_options {
    uint32_t size;
    int64_t batch; /* samples; 0: the model's fixed batch, or 16 */
    int threads;   /* -1: as many as a session takes by default; 0: hone_loader_next itself reads */
    int ahead;     /* batches kept in memory; 0: two per thread */
    bool shuffle;  /* in an order that depends on the seed and the number of samples only */
    uint64_t seed;
} hone_loader_options;
HONE_INLINE void hone_loader_options_init(hone_loader_options *o); /* one thread */

/* A batch and the memory it points to belong to the loader and last until the next call. */
typedef struct hone_batch {
    uint32_t size;
    int64_t n;             /* samples, without those that could not be decoded */
    const int64_t *index;  /* the place of each sample in the dataset */
    const int64_t *labels; /* NULL: the dataset has none */
    size_t n_in, n_targets;
    const hone_value *in;      /* one for each of hone_model_n_inputs(), in their order; a fixed
                                * batch is filled with zeros */
    const hone_value *targets; /* [n, ...] */
} hone_batch;

/* The dataset must exist as long as the loader; the model may be destroyed earlier. options may be
 * NULL. */
HONE_INLINE hone_status hone_loader_create(hone_loader **out, hone_dataset *dataset,
                                           hone_model *model, const hone_loader_options *options,
                                           hone_error *err);
HONE_API void hone_loader_destroy(hone_loader *loader);
/* The next batch; its n is 0 at the end. The samples in a batch do not depend on threads or timing.
 * An error concerns one batch: the next call continues with the batch after it. */
HONE_API hone_status hone_loader_next(hone_loader *loader, const hone_batch **out, hone_error *err);

/* One run of an evaluation: the model's inputs, its outputs, and the targets. Values whose first
 * axis is the batch hold the n samples only, even where the model's fixed batch is larger. */
typedef struct hone_eval_batch {
    uint32_t size;
    int64_t n;            /* samples */
    const int64_t *index; /* the place of each sample in the dataset */
    int64_t rows;         /* of the run: n, or the model's fixed batch */
    size_t n_inputs, n_outputs, n_targets;
    const hone_value *inputs, *outputs, *targets;
    const int64_t *labels; /* NULL: the dataset has none */
} hone_eval_batch;

typedef struct hone_eval_options {
    uint32_t size;
    int64_t batch; /* samples per run; 0: the model's fixed batch, or 16 */
    /* Called after each batch with the number of samples done and of all samples. Returning false
     * ends the evaluation with HONE_E_LIMIT. May be NULL. */
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
    /* Names from the table of metrics, separated by commas; "": none. "default", or NULL, stands
     * for the metrics that suit the model and the data. */
    const char *metrics;
    /* Names of the outputs that are scored, separated by commas. NULL: the first output, or where a
     * metric needs several, those whose names say what they hold. */
    const char *outputs;
    bool tables;   /* also make the table of classes and the confusion matrix */
    uint64_t seed; /* for intervals that are estimated by drawing samples; default: 1 */
    /* A metric of the caller's own. It is called for every batch, in order; if it fails, the
     * evaluation ends. May be NULL. */
    hone_status (*on_batch)(void *ctx, const hone_eval_batch *batch, hone_error *err);
    void *on_batch_ctx;
} hone_eval_options;
HONE_INLINE void hone_eval_options_init(hone_eval_options *o);

typedef struct hone_eval_result {
    uint32_t size;
    int64_t samples, classes;
    int64_t top1; /* samples whose label has the highest score; of equal scores the first counts */
    int64_t top5; /* samples whose label is among the five highest; -1: fewer than 6 classes */
    double seconds;
} hone_eval_result;
/* Compares an output of a classifier with the labels of the dataset: the first output, unless
 * options name another. options may be NULL. */
HONE_INLINE hone_status hone_session_eval(hone_session *session, hone_dataset *dataset,
                                          const hone_eval_options *options,
                                          hone_eval_result *result, hone_error *err);

/* The table of metrics. */
typedef struct hone_metric_info {
    const char *name, *help;
    bool is_share;     /* from 0 to 1 */
    bool lower_better; /* a lower value is better, as of an error */
} hone_metric_info;
HONE_API size_t hone_n_metrics(void);
HONE_INLINE hone_status hone_metric(size_t i, hone_metric_info *out, hone_error *err);

/* By how much a number that says how good a model is passes a gate; negative or NaN: it does not
 * pass. The gate lies max_drop below the reference, or above it where lower numbers are better;
 * with relative, max_drop is a share of the reference. A goal is a reference with max_drop 0. What
 * differs by rounding alone passes. */
HONE_API double hone_gate_margin(double value, double reference, double max_drop, bool relative,
                                 bool lower_better);

typedef struct hone_metric_value {
    const char *name;
    double value;         /* NaN: not defined, as a top-5 of three classes */
    double low, high;     /* the 95 % confidence interval; NaN: unknown */
    const char *interval; /* its method: "wilson", "normal", "bootstrap"; NULL: unknown */
    int64_t part;         /* of a share of samples: their number; else -1 */
    bool is_share, lower_better;
} hone_metric_value;

/* One class. NaN and -1: does not apply to this kind of model. */
typedef struct hone_class_value {
    int64_t id;
    int64_t samples; /* with this label: samples, boxes of a detector, pixels of a segmentation */
    int64_t answers; /* that the model gave this class */
    int64_t correct; /* with both */
    double precision, recall, f1;
    double ap, ap50, iou;
} hone_class_value;

typedef struct hone_evaluation {
    uint32_t size;
    int64_t samples; /* that were scored */
    int64_t skipped; /* samples that could not be decoded */
    int64_t classes; /* 0: the metrics have none */
    size_t n_metrics;
    const hone_metric_value *metrics;
    size_t n_class_rows; /* 0: tables were not asked for, or no metric makes them */
    const hone_class_value *class_rows;
    /* [classes, classes]: samples by label (row) and answer (column); NULL: not made. */
    const int64_t *confusion;
    double seconds;
    void *owner;
} hone_evaluation;
/* Runs the model over the dataset and measures how good its answers are. options may be NULL. */
HONE_INLINE hone_status hone_session_measure(hone_session *session, hone_dataset *dataset,
                                             const hone_eval_options *options,
                                             hone_evaluation **out, hone_error *err);
HONE_API void hone_evaluation_destroy(hone_evaluation *evaluation);

/* ---- comparing models ---- */

/* The samples that models are compared on: inputs of the first model. */
typedef struct hone_samples {
    int64_t count; /* at least 1 */
    int64_t batch; /* samples per run, at least 1; the last run may have fewer */
    /* Sets the inputs of a run. in[] is in the order of hone_model_input and has its names. The
     * library releases the values. */
    hone_status (*read)(void *ctx, int64_t run, hone_value *in, hone_error *err);
    void *ctx;
} hone_samples;

/* The error of an output of the second model. A signal-to-noise ratio (SQNR) in dB is infinite for
 * equal outputs, and minus infinite where only one of them is not finite or all zero. */
typedef struct hone_output_error {
    const char *name;
    double sqnr_db;
    double cosine;                /* NaN: one of them is all zero */
    double mean_error, max_error; /* divided by the largest absolute value of the first model's */
} hone_output_error;

typedef struct hone_tensor_error {
    const char *name; /* in the first model */
    const char *op;   /* the operator that computes it, or that takes the weight: "Conv" */
    const char *node; /* the name of its node, or of the node's output where it has none */
    bool weight;      /* true: a weight; false: an activation */
    double sqnr_db;   /* in the second model, with the errors of earlier steps */
    /* The same if the step gets the first model's values as inputs: the error of this step alone.
     * For a weight the same as sqnr_db. */
    double isolated_sqnr_db;
    double input_sqnr_db; /* of the worst input of the step; of a weight: infinite */
    double cosine, max_error;
} hone_tensor_error;

typedef struct hone_comparison {
    uint32_t size;
    int64_t samples;
    double agreement; /* how alike the outputs are, by `measure`: that of the worst output */
    size_t n_outputs; /* float outputs */
    const hone_output_error *outputs;
    /* Where both models have the same graph: the values that both compute and the weights that both
     * have. Those with the worst isolated error come first. */
    size_t n_tensors;
    const hone_tensor_error *tensors;
    size_t n_matched, n_values; /* float values of the first model: matched, and all */
    size_t n_unmatched;
    const char *const *unmatched; /* names of the values that were not matched */
    const char *breaks_at;        /* the step that is far worse than the others; NULL: none is */
    const char *verdict;          /* the same in one line; NULL: no tensors were compared */
    void *owner;
    /* What agreement measures. hone_optimize judges models by the same measures.
     *   "agreement"        of a classifier: the share of samples whose highest score is at the same
     *                      place
     *   "detections kept"  of a detector: 1 - the number of lost or of added detections, whichever
     *                      is larger, as a share of the first model's detections
     *   "signal kept"      otherwise: 1 - noise / variance of the worst channel; 99 % is 20 dB */
    const char *measure;
    double agreement_low, agreement_high; /* its 95 % interval; NaN: unknown */
    const char *worst;  /* the worst place: "output 'y', channel 3: signal to noise 12.4 dB" */
    const double *kept; /* agreement of each of `outputs`; NaN: it is judged with others */
} hone_comparison;

typedef struct hone_compare_options {
    uint32_t size;
    /* The number of runs that tensors inside the models are compared on. 0: only outputs are
     * compared. Default: 8. */
    int64_t tensor_runs;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* as in hone_eval_options */
    void *progress_ctx;
} hone_compare_options;
HONE_INLINE void hone_compare_options_init(hone_compare_options *o);

/* Runs both sessions on the same inputs and compares what they compute. Values are matched by their
 * names and the names of their nodes, also where a quantizer has changed these. options may be
 * NULL. HONE_E_SHAPE, HONE_E_TYPE: the inputs or outputs of the models differ. */
HONE_INLINE hone_status hone_session_compare(hone_session *a, hone_session *b,
                                             const hone_samples *samples,
                                             const hone_compare_options *options,
                                             hone_comparison **out, hone_error *err);
HONE_API void hone_comparison_destroy(hone_comparison *comparison);

typedef struct hone_bisect_options {
    uint32_t size;
    double min_sqnr_db; /* that every float output must reach; default: 30 */
    double max_error;   /* that an output may have; default: infinite */
    /* Labelled samples. If given, the top-1 accuracy decides instead: it may be max_drop below that
     * of the first model. Default: NULL. */
    hone_dataset *data;
    double max_drop;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* as in hone_eval_options */
    void *progress_ctx;
} hone_bisect_options;
HONE_INLINE void hone_bisect_options_init(hone_bisect_options *o);

/* A step of the second model that differs from that of the first. */
typedef struct hone_bisect_step {
    const char *node, *op, *name; /* as in hone_tensor_error */
    double sqnr_db;               /* of the outputs, if only this step is the second model's */
} hone_bisect_step;

typedef struct hone_bisection {
    uint32_t size;
    size_t n_steps; /* steps to replace by those of the first model, most harmful first */
    const hone_bisect_step *steps;
    size_t n_differ;      /* steps that differ */
    double before, after; /* of the second model, and with these steps replaced: the SQNR of the
                             outputs in dB, or with data the accuracy */
    double max_error_before, max_error_after;
    int64_t tried; /* the number of models that were made and measured */
    void *owner;
} hone_bisection;
/* Finds a smallest set of steps of b that make it pass when they are replaced by those of a:
 * without any one of them it fails. The most harmful steps are tried first. A replaced step of a
 * quantized model takes and gives floats. options may be NULL. HONE_E_NOT_FOUND: b does not pass
 * even if all steps are replaced. */
HONE_INLINE hone_status hone_session_bisect(hone_session *a, hone_session *b,
                                            const hone_samples *samples,
                                            const hone_bisect_options *options,
                                            hone_bisection **out, hone_error *err);
HONE_API void hone_bisection_destroy(hone_bisection *bisection);

typedef struct hone_reduce_options {
    uint32_t size;
    /* Sets *failed to whether these parts of the models show the failure for these inputs. */
    hone_status (*fails)(void *ctx, hone_model *a, hone_model *b, size_t n_in, const hone_value *in,
                         bool *failed, hone_error *err);
    void *fails_ctx;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* as in hone_eval_options */
    void *progress_ctx;
} hone_reduce_options;
HONE_INLINE void hone_reduce_options_init(hone_reduce_options *o);

typedef struct hone_reduction {
    uint32_t size;
    hone_model *a, *b; /* the smallest parts; destroyed with this struct */
    size_t n_in;
    const hone_value *in;             /* the inputs that they fail for */
    size_t nodes_before, nodes_after; /* in the first model and in its part */
    int64_t tried;
    void *owner;
} hone_reduction;
/* Cuts both models, from the outputs backward and from the inputs forward, to the smallest parts
 * that still fail on the first run of the samples. The inputs of the parts are values that a
 * computes. a and b may be sessions of the same model. HONE_E_NOT_FOUND: the whole models do not
 * fail. */
HONE_INLINE hone_status hone_session_reduce(hone_session *a, hone_session *b,
                                            const hone_samples *samples,
                                            const hone_reduce_options *options,
                                            hone_reduction **out, hone_error *err);
HONE_API void hone_reduction_destroy(hone_reduction *reduction);

/* ---- quantization: models in fewer bits ---- */

/* The tables of names that hone_quantize_options accepts. */
typedef enum hone_quantize_table {
    HONE_QUANTIZE_TYPES,    /* types of layers: "int8", "int4", "f16" ... */
    HONE_QUANTIZE_RANGES,   /* ways to find the ranges of activations: "minmax", "entropy" ... */
    HONE_QUANTIZE_METHODS,  /* methods that improve quantized weights: "equalize" ... */
    HONE_QUANTIZE_RUNTIMES, /* runtimes that a model is written for: "hone", "onnxruntime" ... */
    HONE_QUANTIZE_TARGETS = HONE_QUANTIZE_RUNTIMES, /* its old name */
} hone_quantize_table;
typedef struct hone_quantize_choice {
    const char *name, *help; /* help: one line */
    bool needs_data;         /* it needs samples */
} hone_quantize_choice;
HONE_API size_t hone_n_quantize_choices(hone_quantize_table table);
HONE_INLINE hone_status hone_quantize_choice_at(hone_quantize_table table, size_t i,
                                                hone_quantize_choice *out, hone_error *err);

/* The type of some layers. The pattern is compared with the name of a node, or with its first
 * output where it has no name; * stands for any letters and ? for one letter. Names are those of
 * the simplified model. */
typedef struct hone_layer_rule {
    const char *pattern, *type;
} hone_layer_rule;

/* Quantization-aware training: weights and scales are trained with the numbers rounded as they will
 * be in the file. */
typedef struct hone_qat_options {
    uint32_t size;
    int64_t epochs;        /* default: 10 */
    int64_t batch;         /* samples of a step; default: 64 */
    const char *optimizer; /* as in hone_train_options; default: "adam" */
    const char *schedule;  /* likewise; default: "cosine" */
    double rate;           /* the highest learning rate; 0: 0.002, of sgd 0.01 */
    double decay;          /* of weights; default: 0 */
    const char *augment;   /* as in hone_train_options; NULL: none */
    const char *bits;      /* "8,6,4": train in 8 bits first, then in 6, then in 4, where layers
                            * have as few; NULL: in the bits of the types all the time */
    bool labels;           /* train by labels or targets; else by what the float model answers, and
                            * the samples need no labels */
    double temperature;    /* that scores are divided by before they are compared; default: 3 */
    hone_dataset *val;     /* samples to judge by before training and after each epoch; the best is
                            * then kept, else the last; or NULL */
    /* Called with epoch -1 for the float model and 0 for the quantized one before training, if val
     * is given, then after each epoch. score is that of the model as it would be written, by
     * `metric`, whether that is a share or not; NaN and NULL without val. loss and rate are NaN
     * before training. Returning false ends the call with HONE_E_LIMIT. May be NULL. */
    bool (*epoch)(void *ctx, int64_t epoch, int64_t epochs, double loss, double rate, double score,
                  const char *metric, bool is_share);
    void *epoch_ctx;
} hone_qat_options;
HONE_INLINE void hone_qat_options_init(hone_qat_options *o);

typedef struct hone_quantize_options {
    uint32_t size;
    const char *type; /* of layers that no rule matches; default: "int8" */
    size_t n_layers;
    const hone_layer_rule *layers; /* the last rule that matches a node counts */
    /* Changes to the types, for all layers in integers. HONE_DTYPE_NONE, 0 bits and group -1, the
     * defaults, keep what the type says. */
    hone_dtype weights;     /* u8 s8 s16 u4 s4 u2 s2 */
    hone_dtype activations; /* u8 s8 u16 s16; of layers whose activations have fixed ranges */
    int weight_bits;        /* 1 to 16, stored in the narrowest type that holds them */
    int64_t group;          /* the number of weights that share a scale; 0: no groups */
    bool per_tensor;        /* one scale per weight tensor, not one per output channel */
    bool symmetric;         /* the zero point of activations is 0, or the middle if unsigned */
    bool embeddings;        /* quantize the tables that Gather reads as well */
    bool integer_io;        /* inputs and outputs of the model are integers too; or f16 or bf16, if
                                that is the type of all layers */
    /* The runtime that will run the model; NULL: "hone". */
    HONE_RENAMED(const char *, runtime, target);
    const char *methods;     /* names separated by commas, in the order they run; NULL: none */
    const char *ranges;      /* how ranges are found; NULL: "auto" */
    double percentile;       /* of the values that stay inside a range; 0: 99.99 */
    int64_t samples;         /* to use, spread evenly over the dataset; 0: all; default: 512 */
    int64_t batch;           /* samples per run; 0: 16, or the model's fixed batch */
    const char *load_ranges; /* a file to read the ranges from instead; it may be edited */
    const char *save_ranges; /* a file to write the ranges to */
    uint64_t seed;           /* default: 1 */
    const hone_session_options *run; /* how models are run meanwhile; NULL: the defaults */
    /* Chooses a type for each layer by measuring. mix has the names of the types, separated by
     * commas: "int8,int4"; f32 is always one of them. NULL: all layers get `type`. Layers that a
     * rule matches keep their type. hone orders assignments of types by the error they cause. It
     * takes the first that is within the limits below; with max_drop as the only limit it takes the
     * last that is accurate enough. */
    const char *mix;
    double bits_per_weight; /* with scales and zero points, f32 counting as 32; 0: no limit */
    /* The time that the layers may take per sample on this machine; 0: no limit. */
    HONE_RENAMED(double, max_latency_ms, max_ms);
    double max_drop;        /* of the accuracy on the samples, which must have labels; negative, the
                               default: no limit */
    bool max_drop_relative; /* max_drop is a share of the original accuracy */
    /* Called with the current task ("calibrate", or the name of a method) and how much of it is
     * done. Returning false ends the call with HONE_E_LIMIT. May be NULL. */
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
    /* Round weights and activations, but store them in f32. This shows what a model of so many bits
     * would answer, also where there is no type or runtime for it. For layers of type "int8",
     * "int8-weights" and "int4". */
    bool simulate;
    int activation_bits; /* 2 to 16, of layers whose activations have fixed ranges, stored in u8 or
                            u16; 0: as the type says */
    /* With `mix`, how the error of a type is found. "measured": hone quantizes one layer at a time
     * and runs the model. "estimated": from the error of the layer's own outputs, in one pass over
     * the samples. NULL: measured, unless that takes more than 256 models. */
    const char *sensitivity;
    int64_t max_file_bytes; /* with `mix`: of the model's file; 0: no limit */
    /* Weights of "int8" and "int8-dynamic" use 7 of their 8 bits, codes -63 to 63. CPUs without dot
     * products of bytes (AVX2, or AVX-512 without VNNI) multiply them faster, and runtimes whose
     * sums of two products saturate there stay exact. */
    bool reduce_range;
    const hone_qat_options *qat; /* train in the types before they are written; NULL: do not */
} hone_quantize_options;
HONE_INLINE void hone_quantize_options_init(hone_quantize_options *o);

/* A node and what it was turned into. */
typedef struct hone_quantized_layer {
    const char *node, *op;
    const char *type;                  /* a name of HONE_QUANTIZE_TYPES; "f32": unchanged */
    const char *weights, *activations; /* "s8 per channel", "u8", in simulation "5 bits per
                                          channel", "5 bits"; NULL: none, or unchanged */
    int64_t params;                    /* elements of its weights */
    int64_t bytes_before, bytes_after; /* of the weights, with scales and zero points; in simulation
                                          those that they would take */
    const char *why_not;               /* why it is unchanged; NULL: it is not, or as asked */
    /* With `mix`: the noise-to-signal ratio of the model's outputs if only this layer has its type,
     * and of the layer's own outputs, estimated. NaN: unknown. */
    double harm, estimate;
} hone_quantized_layer;

/* An activation whose range is fixed in the model. */
typedef struct hone_quantized_value {
    const char *name, *type; /* "u8" */
    double low, high;        /* the range; values outside it are clipped */
    /* Over the samples; NaN: unknown, as where the ranges came from a file. */
    double least, greatest;
    double clipped, zeros; /* shares of the values */
    /* A histogram of the values other than 0: n_bins bins, the first at bins_from, each bins_step
     * wide. n_bins 0: not recorded. */
    double bins_from, bins_step;
    size_t n_bins;
    const uint64_t *bins;
    const char *method; /* how its range was found, a name of HONE_QUANTIZE_RANGES; NULL: it came
                           from a file */
} hone_quantized_value;

/* An assignment of types to layers that `mix` considered. Each differs from the one before it in
 * one layer. */
typedef struct hone_mix_point {
    const char *layer, *type;   /* that layer and its new type; NULL: the first assignment */
    double harm;                /* the noise-to-signal ratio at the outputs, summed over layers;
                                   where it is estimated, at the layers' own outputs */
    double bits_per_weight, ms; /* ms: of the layers; NaN: not measured */
    double accuracy;            /* NaN: not measured */
    bool chosen;
} hone_mix_point;

/* What a transform did. */
typedef struct hone_transform_result {
    const char *name;
    int64_t changed; /* layers it changed; of "simplify": rewrites of the graph */
} hone_transform_result;

/* What a transform of the stage "shrink" did to a layer, or why it left it alone. What it put in the
 * layer's place are nodes whose names begin with LAYER/. */
typedef struct hone_shrunk_layer {
    const char *transform;  /* "prune" ... */
    const char *layer, *op; /* of "embed": the part ("mean"), and the operator that does it */
    const char *what;       /* "12 of 16 channels left"; NULL: it was left alone */
    const char *why_not;    /* of "embed": why not in weights. NULL: it was not left alone */
    int64_t weights;        /* elements of its weight before; 0: a node of "embed" */
    int64_t kept;           /* of those and what came in their place, how many are not zero */
    double error;           /* of its outputs on the samples: noise by signal; NaN: not known */
} hone_shrunk_layer;

/* A stage of long work, and the time that it took. */
typedef struct hone_stage {
    const char *name; /* "calibrate" ... */
    double seconds;
    double cores; /* that this process kept busy meanwhile, on average */
} hone_stage;

typedef struct hone_quantization {
    uint32_t size;
    size_t n_layers; /* nodes with weights, and others that could not be changed as asked */
    const hone_quantized_layer *layers;
    int64_t weights;        /* elements of weights that now have fewer bits */
    double bits_per_weight; /* of these, with scales and zero points; NaN: there are none */
    int64_t samples;        /* that were used */
    int64_t stable_after;   /* the number of samples after which no range moved by 1 % any more; 0:
                               they still did, or no ranges were looked for */
    size_t n_warnings;
    const char *const *warnings; /* one line each */
    const char *recipe;          /* as in the metadata */
    size_t n_points;             /* the smallest error first; 0: without `mix` */
    const hone_mix_point *points;
    void *owner;
    size_t n_values;
    const hone_quantized_value *values;
    const char *type; /* of layers that no rule matches */
    bool simulated;
    size_t n_transforms; /* that were done, in their order */
    const hone_transform_result *transforms;
    size_t n_stages; /* where the time went, in the order they began */
    const hone_stage *stages;
    size_t n_changes; /* of the stage "shrink" and of "embed", in the order they were made */
    const hone_shrunk_layer *changes;
    /* What pruning one layer at a time does to the model, by `prune` with `scan` or `max-drop`. A row
     * for each layer, a column for each share of its weights that goes. */
    size_t n_scanned, n_scan_levels;
    const char *const *scan_layers;
    const double *scan_levels;
    const double *scan_sqnr;   /* [n_scanned, n_scan_levels]: signal to noise of the outputs, dB */
    const double *scan_scores; /* likewise: the metric; NULL: it was not measured */
    const char *scan_metric;   /* its name; or NULL */
    double scan_before;        /* the metric of the model before; NaN: it was not measured */
    bool scan_is_share;        /* it is a share, from 0 to 1 */
} hone_quantization;

/* Makes a smaller model from a float model. *out shares unchanged tensors with `model`, so `model`
 * cannot be edited as long as *out exists. data may be NULL where neither types nor methods need
 * samples. options and report may be NULL. The same model, data and options give the same bytes for
 * any number of threads. HONE_E_ARG: the model is already quantized, data is missing, or a pattern
 * matches no node that its type changes. HONE_E_NOT_FOUND: nothing in the model can be stored in
 * that type, or no assignment of types is within the limits. */
HONE_INLINE hone_status hone_model_quantize(hone_model **out, hone_model *model, hone_dataset *data,
                                            const hone_quantize_options *options,
                                            hone_quantization **report, hone_error *err);
HONE_API void hone_quantization_destroy(hone_quantization *quantization);

/* ---- transforms: lists of what is done to a model ---- */

/* A transform is one thing that can be done to a model: "simplify", "quantize", "gptq" ... */
typedef struct hone_transform_info {
    const char *name, *help; /* help: one line */
    /* Where it stands in a list: "first", "before" (it changes weights before ranges are found),
     * "weights" (it rounds weights), "write" (it gives layers their types), "after". */
    const char *stage;
    bool needs_data; /* it needs samples */
    size_t n_params;
} hone_transform_info;
HONE_API size_t hone_n_transforms(void);
HONE_INLINE hone_status hone_transform_at(size_t i, hone_transform_info *out, hone_error *err);

/* A parameter of a transform. kind says what a recipe sets it to:
 *   "flag"    name                 "word"    name=WORD, one of the parameter's words
 *   "words"   name=WORD,WORD       "type"    name=TYPE, a name of HONE_QUANTIZE_TYPES
 *   "layer"   name:PATTERN=TYPE    "count"   name=N, a whole number from least to most
 *   "hash"    name=SHA256          "number"  name=X, likewise
 *   "layer-count"  name:PATTERN=N  "text"    name=TEXT
 *   "layer-number" name:PATTERN=X
 *   "file"    name=PATH; recipes of results have sha256:HASH */
typedef struct hone_param_info {
    const char *name, *kind;
    const char *usual; /* the value where a recipe sets none; NULL: none */
    const char *help;  /* one line */
    double least, most;
} hone_param_info;
HONE_INLINE hone_status hone_transform_param_at(size_t transform, size_t i, hone_param_info *out,
                                                hone_error *err);
/* Word i that a parameter takes. NULL: there are no more. */
HONE_API const char *hone_transform_word_at(size_t transform, size_t param, size_t i);

typedef struct hone_transform_options {
    uint32_t size;
    const hone_session_options *run; /* how models are run meanwhile; NULL: the defaults */
    const char *load_ranges;         /* a file to read the ranges of activations from; or NULL */
    const char *save_ranges;         /* a file to write them to; or NULL */
    /* As in hone_quantize_options. */
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
    const hone_qat_options *qat; /* of which val and epoch count, if the recipe trains; or NULL */
    /* Called after line i of n, counted from 1, with the line and the model as it is then, which is
     * gone after the call; rounds of pruning are lines of their own. false ends the work with
     * HONE_E_LIMIT. May be NULL. */
    bool (*line)(void *ctx, int64_t i, int64_t n, const char *line, hone_model *model);
    void *line_ctx;
} hone_transform_options;
HONE_INLINE void hone_transform_options_init(hone_transform_options *o);

/* Makes a model by a recipe: a text with a line for each transform (docs/quantize.md). The recipe
 * that hone_model_quantize or hone_optimize has left in the metadata, "hone.recipe", is one: done
 * again to the same model with the same samples it gives the same bytes. *out, data and report are
 * as for hone_model_quantize. options may be NULL. HONE_E_FORMAT: the text is not a recipe; the
 * message names the line. HONE_E_ARG and HONE_E_NOT_FOUND: as for hone_model_quantize; also, the
 * recipe is for another model or for other samples. */
HONE_INLINE hone_status hone_model_transform(hone_model **out, hone_model *model,
                                             const char *recipe, hone_dataset *data,
                                             const hone_transform_options *options,
                                             hone_quantization **report, hone_error *err);

/* ---- the operator table ---- */

typedef struct hone_op_info {
    const char *domain, *name; /* domain "" is ai.onnx */
    const char *versions;      /* opsets its definition changed in: "7 13 14" */
    const char *signature;     /* "(A:T, B:T) -> (C:T); T: num" */
    bool runs;                 /* hone can run it */
    bool infers;               /* its output shapes are known before running */
    bool costs;                /* its multiply-accumulates are counted */
    bool differentiates;       /* it has a gradient */
    bool fast;                 /* it has a kernel of its own */
    bool int8;                 /* it can be computed in integers */
    const char *no_gradient;   /* why it has no gradient; NULL: it has one */
} hone_op_info;
HONE_API size_t hone_n_ops(void);
HONE_INLINE hone_status hone_op(size_t i, hone_op_info *out, hone_error *err);

/* ---- the kernel table ---- */

typedef struct hone_kernel_info {
    const char *family, *name; /* "conv_f32", "avx512_14x32" */
    const char *help;          /* what the family computes */
    const char *isa;           /* the instruction set it needs: "avx512" */
    const char *order;         /* of its sums: kernels of one order give the same bits */
    bool available;            /* this CPU has the instruction set, and HONE_ISA allows it */
    bool packs;                /* it needs its weights in a layout of its own */
} hone_kernel_info;
/* Kernels are ordered by family, the best of a family first. */
HONE_API size_t hone_n_kernels(void);
HONE_INLINE hone_status hone_kernel(size_t i, hone_kernel_info *out, hone_error *err);

/* ---- timed runs ---- */

#define HONE_TIMING_WINDOWS 10
#define HONE_TIMING_BINS 32

/* The current speed of this core, in no particular unit: the median of a few measurements of 2 us
 * each. It is lower while something else uses the core. *best becomes the fastest measurement, if
 * that is higher than it was. */
HONE_API double hone_pace(double *best);

/* Statistics of the durations of many runs, in the unit of the durations. */
typedef struct hone_timing {
    uint32_t size;
    int64_t n;
    double mean, std, min, max;
    double p50, p90, p95, p99, p99_9; /* percentiles, interpolated linearly */
    /* The runs in order, divided into windows of equal length: */
    int n_windows; /* fewer than HONE_TIMING_WINDOWS if there are fewer runs */
    double median[HONE_TIMING_WINDOWS], fastest[HONE_TIMING_WINDOWS];
    /* The spread of the medians of the second half of the windows, divided by the least of them. Of
     * all windows, if there are fewer than four; NaN: there is one window. */
    double noise;
    bool stable;    /* noise is at most 0.1 */
    double pace;    /* hone_pace next to the fastest runs, as a share of the best; NaN: unknown */
    bool disturbed; /* pace is below 0.7: even the fastest runs were slowed down */
    /* A histogram of HONE_TIMING_BINS equal bins over [low, high]. low is the least duration, high
     * the 99th percentile or three medians. Longer durations are counted in the last bin. */
    double low, high;
    int64_t counts[HONE_TIMING_BINS];
} hone_timing;
/* Computes the statistics of n durations, at least one, in the order they were measured. pace is
 * NULL or has the result of hone_pace for each of them; best is the fastest measurement of all. */
HONE_INLINE hone_status hone_timing_of(hone_timing *out, const double *durations,
                                       const double *pace, double best, size_t n, hone_error *err);

typedef enum hone_change {
    HONE_CHANGE_NONE,
    HONE_CHANGE_SLOWER,
    HONE_CHANGE_FASTER,
    HONE_CHANGE_UNKNOWN, /* one of the series was too noisy to tell */
} hone_change;
typedef struct hone_timing_change {
    hone_change verdict;
    double then, now; /* the medians of the third-fastest windows, which are compared */
    double ratio;     /* now / then */
    double margin;    /* the least distance of ratio from 1 that counts as a change: 5 %, or the
                         distance to the next windows of either series if that is more */
} hone_timing_change;
/* Compares two series by their fastest windows, since disturbances only ever add time. It reads
 * `min`, `n_windows`, `median`, `disturbed` and `pace` of both. */
HONE_INLINE hone_timing_change hone_timing_compare(const hone_timing *then, const hone_timing *now);
/* Joins n series of the same measurement, at least one, each from a process of its own. The result
 * has the statistics of the fastest series and the fastest windows of all series. It is disturbed
 * only if all series are. *settled: two series measured on an undisturbed machine agree with the
 * result within 2 %, so that more series would change little. Returns the index of the fastest. */
HONE_INLINE size_t hone_timing_join(hone_timing *out, const hone_timing *series, size_t n,
                                    bool *settled);
/* Joins n series and compares the result with `then`. Four series that are slower decide, even if
 * they were disturbed. *more: another series might change the verdict; never after twelve. */
HONE_INLINE hone_timing_change hone_timing_judge(const hone_timing *then, const hone_timing *series,
                                                 size_t n, bool *more);

#define HONE_ENERGY_PACKAGES 16

/* Counters of the energy that CPU packages use. */
typedef struct hone_energy {
    uint32_t size;
    int n; /* packages; 0: the machine reports no energy, or not to this process */
    int64_t uj[HONE_ENERGY_PACKAGES], range_uj[HONE_ENERGY_PACKAGES];
} hone_energy;
HONE_INLINE void hone_energy_read(hone_energy *out);
/* The joules that all packages used between two readings, for all processes; NaN: not reported. */
HONE_INLINE double hone_energy_between(const hone_energy *from, const hone_energy *to);

/* ---- the machine ---- */

/* A data cache of the first CPU. */
typedef struct hone_cache_info {
    int level;
    int64_t bytes;
    int line_bytes; /* 0: unknown */
    int cpus;       /* that share it; 0: unknown */
} hone_cache_info;

/* The most operations per second that the CPU reaches, with all operands in registers. */
typedef struct hone_peak_info {
    const char *precision;   /* "f32", "bf16", "f16", "int8" */
    const char *instruction; /* "vfmadd231ps zmm" */
    const char *isa;         /* the instruction set it belongs to: "avx512" */
    int threads;
    double gops; /* 10^9 operations per second; a multiply-add counts as two */
} hone_peak_info;

typedef struct hone_bandwidth_info {
    const char *level; /* "L1", "L2", "L3", "memory" */
    int64_t bytes;     /* of the memory that was used to measure, by all threads together */
    int threads;
    double read_gb, write_gb, copy_gb; /* 10^9 bytes per second; a copy counts as read and write */
} hone_bandwidth_info;

/* An instruction set of the CPU. */
typedef struct hone_isa_info {
    const char *name; /* "avx512" */
    bool allowed;     /* HONE_ISA allows it */
} hone_isa_info;

/* An NVIDIA GPU. */
typedef struct hone_gpu_info {
    const char *name;     /* "NVIDIA H200" */
    int64_t memory_bytes; /* -1: unknown */
    int capability[2];    /* its compute capability: 9, 0; 0, 0: unknown */
} hone_gpu_info;

typedef struct hone_machine {
    uint32_t size;
    const char *cpu, *arch; /* "Neoverse V1", "aarch64" */
    const char *isa;        /* the strongest instruction set, as far as HONE_ISA allows */
    int cpus;               /* logical CPUs online */
    int allowed_cores;      /* physical cores that the affinity mask of this process allows */
    int quota;              /* CPUs that its cgroup allows; 0: no limit */
    int threads;            /* of a session, by default */
    int64_t memory_bytes;   /* -1: unknown */
    int64_t memory_limit;   /* of the cgroup; -1: no limit below memory_bytes */
    size_t n_caches;        /* nearest first */
    const hone_cache_info *caches;
    size_t n_peaks; /* by precision, for one thread and for all */
    const hone_peak_info *peaks;
    size_t n_bandwidths; /* by threads, nearest first */
    const hone_bandwidth_info *bandwidths;
    void *owner;
    const char *kernel; /* of the operating system: "Linux 6.1.0" */
    size_t n_isas;      /* weakest first */
    const hone_isa_info *isas;
    bool cached;    /* the peaks and bandwidths were read from the cache file */
    double noise;   /* the share of the measurements that other programs disturbed, 0 to 1 */
    bool disturbed; /* noise is so high that peaks or bandwidths may be too low */
    size_t n_gpus;
    const hone_gpu_info *gpus;
    const char *gpu_driver; /* its version; NULL: unknown */
} hone_machine;

typedef struct hone_machine_options {
    uint32_t size;
    /* A text file that keeps the measurements of each machine, set of limits and version of hone;
     * NULL: none. A damaged file is repaired, with a warning. A file of another kind is left alone,
     * with a warning. */
    const char *cache;
    bool remeasure; /* measure even if the cache has the results */
    /* Called from time to time. Returning false ends the call with HONE_E_LIMIT. May be NULL. */
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
} hone_machine_options;
HONE_INLINE void hone_machine_options_init(hone_machine_options *o);

/* Describes the machine and measures its limits. This takes a few seconds, or milliseconds where
 * the cache has the measurements. options may be NULL. */
HONE_INLINE hone_status hone_machine_probe(hone_machine **out, const hone_machine_options *options,
                                           hone_error *err);
HONE_API void hone_machine_destroy(hone_machine *machine);
/* Describes the machine without measuring: there are no peaks, bandwidths and GPUs. */
HONE_INLINE hone_status hone_machine_look(hone_machine **out, hone_error *err);
/* Another machine, from a file that `hone machine -o` wrote there. HONE_E_FORMAT: the file is
 * damaged, or a key that it must have is missing or not plausible; HONE_E_UNSUPPORTED: hone was built
 * without libjansson, which reads it. */
HONE_INLINE hone_status hone_machine_read(hone_machine **out, const char *path, hone_error *err);

/* ---- profiles: where runs spend their time, and what the machine would allow ---- */

/* One step over all runs. Unknown numbers are 0, unknown texts NULL, unknown counters -1. */
typedef struct hone_step_profile {
    const char *node, *op, *family, *kernel, *output; /* as in hone_step_info */
    const char *why, *isa, *precision, *why_float;
    int threads;
    double flops, bytes, weights_bytes, macs;
    size_t live_bytes;
    double ms;       /* the median of its times */
    double begin_us; /* in the last run, counted from its beginning */
    /* Compared with the machine's limits: */
    double intensity;    /* flops per byte */
    double gflops, gb_s; /* that the step reached */
    double roof_ms;      /* the least time the machine allows */
    double roof_share;   /* roof_ms / ms */
    double lost_ms;      /* ms - roof_ms */
    const char *bound;   /* what limits the step: "compute", "memory", "overhead" */
    const char *level;   /* where most of its bytes come from: "L2", "memory" */
    const char *advice;  /* what would make it faster */
    /* In one run, on the thread that calls it: */
    double cycles, instructions, cache_misses;
    const char *why_precision; /* as in hone_step_info */
} hone_step_profile;

/* A question about the results and its answer. */
typedef struct hone_verdict {
    const char *question, *answer, *evidence;
} hone_verdict;

typedef struct hone_profile {
    uint32_t size;
    int64_t runs;
    int threads;     /* of the session */
    double wall_ms;  /* of a run: the median */
    double cpu_ms;   /* of a run: processor time, all threads together */
    double ms;       /* of all steps: the sum of their medians */
    double coverage; /* the share of a run's time that its steps took: the median */
    double roof_ms;  /* of all steps */
    double macs, integer_macs;
    size_t n_steps; /* in the order they ran */
    const hone_step_profile *steps;
    size_t n_verdicts;
    const hone_verdict *verdicts;
    void *owner;
} hone_profile;

typedef struct hone_profile_options {
    uint32_t size;
    int64_t runs;                /* to measure, after one that warms up; 0: 10 */
    const hone_machine *machine; /* steps are compared with its limits; NULL: they are not */
    int64_t samples;             /* per run, for numbers per sample; 0: 1 */
    bool counters;               /* count cycles in one more run, where the system allows it */
    /* The time that a run may take, for the verdict on it; 0: not given. */
    HONE_RENAMED(double, max_latency_ms, max_ms);
    /* Called after each run. Returning false ends the call with HONE_E_LIMIT. May be NULL. */
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
} hone_profile_options;
HONE_INLINE void hone_profile_options_init(hone_profile_options *o);
/* Runs the session several times, as hone_session_profile does. options may be NULL. */
HONE_INLINE hone_status hone_profile_create(hone_profile **out, hone_session *session, size_t n_in,
                                            const hone_value *in, size_t n_out, hone_value *outputs,
                                            const hone_profile_options *options, hone_error *err);
HONE_API void hone_profile_destroy(hone_profile *profile);

/* ---- optimizing: the search for a smaller and faster model ---- */

/* A model that was tried. Values that were not measured are NaN or -1. */
typedef struct hone_optimize_row {
    const char *name;  /* "original", "int8" ...: the candidate */
    const char *help;  /* the candidate in a few words */
    const char *state; /* its result: "original", "chosen", "passed", "gate", "slower", "behind",
                          "held-out", "skipped", "unfinished" or "failed" */
    const char *why;   /* the reason for the state, in words; NULL: none */
    const char *gain;  /* the gain that practitioners' guides expect; "": none is known */
    int64_t file_bytes, weights_bytes, memory_bytes;
    double ms;    /* of a run: the median */
    double speed; /* how many times as fast as the original, which ran in turns with it; 1: as fast,
                     or the difference is too small to tell */
    double doubt; /* the spread of speed between rounds of the measurement, as a share */
    double value, low, high; /* of the metric, with its 95 % interval */
    double drop;             /* how much worse the metric is than that of the original */
    double seconds;          /* that the trial took */
    bool front;              /* no model that passes is better in latency, size and accuracy */
} hone_optimize_row;

typedef struct hone_optimization {
    uint32_t size;
    const char *metric; /* "top1" ...; without labels the `measure` of hone_comparison */
    bool is_share, lower_better;
    int64_t calibration_samples, choosing_samples, verifying_samples; /* no sample is used twice */
    size_t n_rows; /* in the order they were tried; the first is the original */
    const hone_optimize_row *rows;
    size_t chosen;       /* the index of a row; 0: the original is best */
    hone_model *model;   /* the chosen model, destroyed with this; NULL: the original is best */
    bool met;            /* the chosen model, or the original, is within the limits asked for */
    bool interrupted;    /* progress ended the search; the best model so far is chosen */
    const char *verdict; /* one line */
    double verified, verified_original; /* the metric on samples that no choice used */
    double profile_ms;                  /* of a run of the original */
    const char *profile;                /* where that time goes: "Conv 61 %, MatMul 20 %" */
    size_t n_criteria, n_guards;        /* eight criteria of a good search, seven usual mistakes */
    /* Answers of criteria: "yes", "no", "not asked", "by rule" (known, not measured). Answers of
     * guards: "avoided", "not avoided". */
    const hone_verdict *criteria, *guards;
    size_t n_left_out; /* candidates that were not tried, with the reason */
    const char *const *left_out;
    const char *recipe; /* a text that repeats this; NULL: the original is best */
    double seconds;
    void *owner;
    const char *runtime;                /* the runtime that was timed: "hone" ... */
    bool by_rule;                       /* nothing was timed: ms and speed of rows are NaN */
    double verified_low, verified_high; /* the 95 % interval of verified; NaN: unknown */
    bool checked;     /* models were judged on real samples; otherwise only exact ones were tried,
                         unless allow_unchecked */
    bool out_of_time; /* time_budget ended the search; the best model so far is chosen */
    size_t n_stages;  /* where the time went, in the order they began */
    const hone_stage *stages;
} hone_optimization;

/* The times of two models that ran in turns: the first and the second. */
typedef struct hone_round {
    uint32_t size;
    double median_ms[2], least_ms[2]; /* of a run */
    bool calm;                        /* no disturbance of the machine was seen */
} hone_round;

/* Times models in another runtime than hone. The functions are called on the thread of
 * hone_optimize. They return HONE_OK, or another status with a text in err. */
typedef struct hone_timer {
    uint32_t size;    /* sizeof(hone_timer); set the whole struct to 0 first */
    const char *name; /* of the runtime, for people: "ONNX Runtime 1.31.1" */
    void *ctx;
    /* Makes a model ready to run on these inputs, which are one sample. onnx is the model's file in
     * memory. The model keeps its id until it is closed; the original has 0. */
    hone_status (*open)(void *ctx, int id, const void *onnx, size_t bytes, size_t n_in,
                        const hone_value *in, hone_error *err);
    /* Runs two open models in turns for about that many seconds. Both may be the same. */
    hone_status (*round)(void *ctx, int first, int second, double seconds, hone_round *out,
                         hone_error *err);
    void (*close)(void *ctx, int id);
} hone_timer;

typedef struct hone_optimize_options {
    uint32_t size;
    /* Samples. They are split into three parts: to calibrate, to choose and to verify. With NULL,
     * or with made-up samples ("random"), hone tries only models that compute the same but for
     * rounding, and judges them on made-up inputs. */
    hone_dataset *data;
    hone_dataset *calibrate, *eval; /* used instead of parts of data; or NULL */
    const char *metric;             /* NULL: the one that suits the model and data */
    double max_drop;                /* that the metric may lose; default: 0.01 */
    bool max_drop_relative;         /* max_drop is a share of the original's value */
    double max_latency_ms;          /* of a run of one sample; 0: no limit */
    int64_t max_file_bytes;         /* 0: no limit */
    /* The memory that a run may take; 0: no limit. */
    HONE_RENAMED(int64_t, max_run_memory_bytes, max_memory_bytes);
    const char *target; /* the device: "cpu", the default */
    const char *recipe; /* the text of a recipe to repeat, instead of a search; or NULL */
    uint64_t seed;      /* of the split and of methods; default: 1 */
    const hone_session_options *session; /* how models are run; NULL: the defaults */
    /* Called from time to time with the current task and how much of it is done. Returning false
     * ends the search. May be NULL. */
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
    /* The runtime that will run the model: "hone", which NULL stands for, or another name of
     * HONE_QUANTIZE_RUNTIMES. Models are written for it. Only models that it is known to run well
     * are tried. */
    const char *runtime;
    /* Times models in that runtime. With NULL nothing is timed: rules say what is faster there, and
     * limits on latency are refused. */
    const hone_timer *timer;
    bool allow_unchecked; /* without real samples, also try models that may answer differently */
    double time_budget;   /* seconds; then the best model so far is chosen; 0: no limit */
    /* Called with progress_ctx when candidate k of at most n begins. seconds_left is an estimate of
     * the time the search will still take; NaN: unknown. k and n are 0 when the choice begins. May
     * be NULL. */
    void (*candidate)(void *ctx, int k, int n, double seconds_left);
    /* Seconds that may go into models that are trained: pruned ones, ones of lower rank, and
     * quantized ones that learn to bear it. They learn from the samples of data that no model is
     * chosen or verified by, and from what the original answers. 0: none is trained. */
    double train_budget;
    const char *augment; /* changes to samples while training, as in hone_train_options; or NULL */
    /* A folder to keep trained models in until the search is over; or NULL. A search that was ended
     * before takes them from there instead of training again. It is made if it is missing, and is
     * removed at the end if nothing else is in it. */
    const char *keep;
    /* What the model is for, as in hone_advise_options: the latency and memory that are usual for it
     * are limits where none is given. NULL: none. */
    const char *use;
} hone_optimize_options;
HONE_INLINE void hone_optimize_options_init(hone_optimize_options *o);

/* Searches for a smaller and faster model. It tries the methods that practitioners use, those that
 * change least first, measures each result against the original, and chooses the fastest and
 * smallest whose metric is within max_drop. With a limit on latency, size or memory the search ends
 * as soon as the limit is met. A model that is slower than the original is never chosen. options
 * may be NULL. HONE_E_FORMAT: the recipe is damaged. HONE_E_ARG: it is for another model or other
 * data. */
HONE_INLINE hone_status hone_optimize(hone_model *model, const hone_optimize_options *options,
                                      hone_optimization **out, hone_error *err);
HONE_API void hone_optimization_destroy(hone_optimization *optimization);

/* ---- advice: what to do to a model, and in which order ---- */

/* A part of the decision tree of a device. */
typedef struct hone_advice_branch {
    const char *question; /* "": the branch is always taken */
    const char *answer;   /* "yes", "no", "always" */
    const char *evidence;
    bool taken;
} hone_advice_branch;

/* A remedy of the tree. Numbers that are not known are NaN, texts NULL. */
typedef struct hone_advice_remedy {
    const char *name;
    size_t branch;     /* its index */
    const char *state; /* "planned"; "done": it is in effect; "left out"; "if needed": behind
                          another; "not needed": what is wanted is met before it; "not reached":
                          its branch is not taken */
    const char *why;   /* the reason for the state, or what the gain comes from */
    int rank;          /* its place in the plan, from 1 on; 0: it is not planned */
    /* Expected of this model on that machine. The first three: of the remedy alone. */
    double speed;       /* how many times as fast a run becomes */
    double throughput;  /* how many times as many samples per second */
    double smaller;     /* how many times as small the file becomes */
    double then_ms;     /* a run, with the remedies planned before it */
    const char *guides; /* what practitioners' guides tell people to expect; "": nothing */
    const char *effort; /* the time it takes to do */
    const char *data;   /* the data it needs */
    bool training;      /* it needs training */
    const char *risk;
    const char *command; /* that does it; NULL: none of hone's */
} hone_advice_remedy;

/* A sign of trouble, and what guides advise where it shows. */
typedef struct hone_advice_symptom {
    const char *kind, *sign;
    const char *answer; /* "yes", "no", "not known" */
    const char *evidence, *remedies;
} hone_advice_symptom;

typedef struct hone_advice {
    uint32_t size;
    const char *target;   /* the device */
    const char *machine;  /* whose limits the plan is made from */
    bool typical;         /* its figures are typical of the device; false: measured */
    bool measured;        /* times are those of the profile; false: worked out from counts */
    const char *strategy; /* of guides for the device: "8 bits, channel pruning, NHWC, int8" */
    const char *wanted;   /* "33 ms a run"; "": nothing was asked for */
    double run_ms;        /* of the model on that machine; NaN: not known */
    double roof_share;    /* of its roof that it reaches */
    double here_ms;       /* of the profile; NaN: there is none */
    double compute_share, memory_share, overhead_share; /* of the time, by what binds it */
    const char *bottleneck; /* "compute-bound", "memory-bound", "overhead-bound"; "not known" */
    const char *evidence;   /* for it */
    const char *bottleneck_remedies; /* that guides have for it */
    bool stop;                       /* nothing is to be done */
    const char *verdict;             /* one line */
    size_t n_stops;                  /* reasons to stop or not to start */
    const hone_verdict *stops;       /* answers: "stop", "go on", "not known" */
    size_t n_branches;
    const hone_advice_branch *branches;
    size_t n_remedies; /* in the order of the tree */
    const hone_advice_remedy *remedies;
    size_t n_symptoms;
    const hone_advice_symptom *symptoms;
    size_t n_refused; /* "NAME: why": what is no remedy for the device */
    const char *const *refused;
    void *owner;
} hone_advice;

typedef struct hone_advise_options {
    uint32_t size;
    const char *target; /* "cpu" (the default), "edge_arm", "embedded_mcu", "mobile_npu" or
                           "nvidia_gpu" */
    const char *use;    /* "video", "search", "voice", "recommendation", "online", "batch", "edge":
                           limits that are usual for it; NULL: none */
    const hone_profile *profile; /* of the model on this machine; NULL: its counts alone are used */
    /* The machine that is planned for. NULL: typical figures of the target. */
    const hone_machine *machine;
    bool here;     /* profile is of that machine */
    size_t n_dims; /* sizes of symbols, as for hone_model_inspect */
    const hone_dim_value *dims;
    /* What is wanted; 0: nothing of the kind. A limit that is given counts instead of that of use. */
    double max_latency_ms;
    int64_t max_file_bytes, max_run_memory_bytes;
    double max_drop; /* that the metric may lose; default: -1, not given */
    bool max_drop_relative;
    double requests_per_day, machine_price;
    int64_t
        run_bytes; /* that a run takes, as hone_session_memory has them; 0: they are estimated */
    double inference_ms, outside_ms; /* of a batch, as a profile of data tells them apart; default:
                                        -1, not known */
    bool has_data;                   /* there are samples */
    /* Words that stand in commands, as a shell takes them. By default MODEL, the same for names of
     * outputs, to which endings are added, and DATA. */
    const char *model_word, *output_word, *data_word;
    const char *isa; /* with here: hone_session_isa of the session; NULL: the strongest there is */
} hone_advise_options;
HONE_INLINE void hone_advise_options_init(hone_advise_options *o);

/* Says what to do to make a model faster or smaller on a device, the gentlest remedy first. Nothing
 * is run. HONE_E_ARG: there is no such target or use; the message lists those there are. options
 * may be NULL. */
HONE_INLINE hone_status hone_advise(hone_model *model, const hone_advise_options *options,
                                    hone_advice **out, hone_error *err);
HONE_API void hone_advice_destroy(hone_advice *advice);
/* The name of target i, and of use i with what it stands for; NULL: there are not so many. */
HONE_API const char *hone_advise_target(size_t i);
HONE_API const char *hone_advise_use(size_t i, const char **what);

/* ---- training ---- */

typedef struct hone_train_options {
    uint32_t size;
    const char *loss;      /* "cross-entropy", "bce", "mse", "l1", "huber", "kl", "cosine"; NULL:
                            * cross-entropy by labels, mse by targets */
    const char *optimizer; /* "adam" (the default), "adamw", "sgd" */
    const char *schedule;  /* of the learning rate: "constant" (the default), "cosine", "one-cycle",
                            * "step" */
    double rate;           /* the highest learning rate; 0: 0.001, of sgd 0.1 */
    double warmup;         /* epochs in which the rate grows from 0 */
    double momentum;       /* of sgd: 0.9 */
    double beta1, beta2, epsilon; /* of adam: 0.9, 0.999, 1e-8 */
    bool nesterov;                /* sgd looks ahead */
    double decay;        /* of weights; biases and what normalizations multiply by do not decay */
    double smoothing;    /* cross-entropy: the share of a label that is spread over all classes */
    double delta;        /* huber: errors up to it count by their squares; default: 1 */
    int64_t batch;       /* samples of a step; default: 64 */
    int64_t epochs;      /* default: 10 */
    uint64_t seed;       /* of the order of the samples and of augmentation; default: 1 */
    const char *augment; /* changes to samples, in order: "flip:crop=4:cutout=8"; NULL: none */
    int readers; /* threads that read and augment samples ahead; 0: none; -1 (the default): as many
                  * as there are cores beside the session's threads, at least 1 and at most 4 */
    const char *freeze;     /* patterns of parameters that stay as they are, separated by commas */
    bool freeze_statistics; /* BatchNormalization goes by the statistics in the file */
    const hone_session_options *session; /* threads, instruction set, precision; NULL: defaults */
    const char *class_weights; /* cross-entropy: what each class counts, "1,2.5,1"; "balanced": the
                                * rarer the more; NULL: all the same */
    const char *rates;         /* factors of the rate by patterns of names, the first that matches:
                                * "classifier*=1,*=0.1"; NULL: all 1 */
    double clip;               /* all gradients together are shortened to this length; 0: not */
    double average;            /* the model gets averages of its parameters over steps, which keep
                                * this share of what they were in each; 0: the parameters */
    /* Distillation: the model, a student, learns from what other models answer to the same samples.
     * By default there are none. Data needs no labels then. */
    size_t n_teachers;
    hone_model *const *teachers;
    const char *teacher_shares; /* one for each: its weight, and the classes it is asked about:
                                 * "1,2@0-4,1@5-9"; NULL: the mean of all */
    double temperature;         /* scores are divided by it; default: 3 */
    double alpha;               /* the share of the teachers' answers in the loss; default: 0.7 */
    const char *match; /* values to be made alike, "KIND:TEACHER_VALUE=STUDENT_VALUE*WEIGHT,...":
                        * features, cosine, attention or relation; NULL: none */
    int64_t parts;     /* that a batch is computed in, whose gradients are added; with mpirun, all
                        * processes together; default: one for each process */
    double self;       /* the model is also a teacher of itself: by averages of its parameters and
                        * statistics over steps, which keep this share of what they were in each.
                        * It is the last of the teachers. With `average` both must be the same, and
                        * the model gets what the teacher has; 0: it is no teacher */
    const char *teacher_augment; /* teachers see the samples with these changes, as of augment, and
                                  * the student with those of augment; "": unchanged; NULL: teachers
                                  * see what the student does */
    double confidence; /* samples whose highest probability by the teachers is lower do not count in
                        * the loss by their answers; default: 0, all count */
} hone_train_options;
HONE_INLINE void hone_train_options_init(hone_train_options *o);

/* A model that is being trained on a dataset. Parameters are the f32 initializers of more than one
 * number that nodes read; statistics of BatchNormalization move with the data. What is computed
 * depends on the model, the data and the options, not on the number of threads. Both must exist as
 * long as the trainer.
 *
 *     hone_trainer_create(&trainer, model, dataset, NULL, &err);
 *     for (hone_train_place at = {0}; at.step < at.steps || at.step == 0;) {
 *         if (hone_trainer_step(trainer, &err) != HONE_OK) break;
 *         hone_trainer_at(trainer, &at);
 *     }
 *     hone_trainer_model(trainer, &trained, &err);
 *
 * HONE_E_UNSUPPORTED: an operator on the way to the loss has no gradient; the error names it.
 * options may be NULL. */
typedef struct hone_trainer hone_trainer;
HONE_API hone_status hone_trainer_create(hone_trainer **out, hone_model *model,
                                         hone_dataset *dataset, const hone_train_options *options,
                                         hone_error *err);
HONE_API void hone_trainer_destroy(hone_trainer *trainer); /* NULL accepted */
/* The next batch: forward, loss, backward, update. HONE_E_ARG: the loss is not finite, or all steps
 * are done. */
HONE_API hone_status hone_trainer_step(hone_trainer *trainer, hone_error *err);

/* How far training is. */
typedef struct hone_train_place {
    uint32_t size;
    int64_t step, steps;         /* done, and in all */
    int64_t epoch, epochs;       /* likewise */
    int64_t in_epoch, per_epoch; /* steps done of the next epoch; steps of an epoch */
    int64_t samples;             /* of a step */
    double loss;                 /* of the last step, before its update */
    double epoch_loss;           /* the mean over the epoch so far, or over the last one */
    double rate;                 /* of the last step */
    int64_t parameters;          /* numbers that are trained */
    int64_t peak_bytes;          /* memory that training took at most */
    int64_t parts;               /* of a step, in all processes */
    int64_t rank, ranks;         /* this process of those that mpirun started; 0 of 1 */
    int64_t planned_bytes;       /* that it will take, known before the first step; 0: not known */
    /* Where more would be planned than the session's max_memory, activations are computed twice: in
     * this many segments of the model, at the cost of this share more multiply-accumulates. 0: none
     * are. Results are the same. */
    int64_t segments;
    double recomputed;
} hone_train_place;
HONE_INLINE void hone_trainer_at(const hone_trainer *trainer, hone_train_place *out);
/* No other step is wanted. Of several processes, those that end without this end the others, too. */
HONE_API void hone_trainer_end(hone_trainer *trainer);
/* The name of the loss that is trained by. */
HONE_API const char *hone_trainer_loss(const hone_trainer *trainer);
/* A copy of the model with what was learned so far. */
HONE_API hone_status hone_trainer_model(hone_trainer *trainer, hone_model **out, hone_error *err);
/* Writes a checkpoint: an ONNX model of the present parameters that also holds what the optimizer
 * keeps. An existing file is replaced only when the new one is complete. */
HONE_API hone_status hone_trainer_save(hone_trainer *trainer, const char *path, hone_error *err);
/* Goes on from a checkpoint: training then gives the same bytes as if it had not been interrupted.
 * HONE_E_ARG: it is of another model, or of other options. */
HONE_API hone_status hone_trainer_resume(hone_trainer *trainer, const char *path, hone_error *err);

/* ---- spans: how long parts of the library's work take ---- */

/* A piece of work that has ended. Texts last until the listener returns. */
typedef struct hone_span {
    const char *category; /* "load", "compile", "run", "step", "data"; "region": the caller's own */
    const char *name;     /* "parse", "pack"; of a step its node; of a region its name */
    const char *detail;   /* of a step its operators and kernel; else NULL */
    int64_t begin_ns, end_ns; /* on the clock of hone_step_info */
    int thread;               /* threads have numbers from 1 on, in the order of their first span */
    int64_t live_bytes;       /* memory in use by the model or session; -1: unknown */
} hone_span;
/* Calls fn for every span that begins from now on. fn is called on the thread of the span, and may
 * be called on several threads at once. NULL, the default: nothing is called, and spans cost next
 * to nothing. */
HONE_INLINE void hone_span_listen(void (*fn)(void *ctx, const hone_span *span), void *ctx);
/* Makes a span of the caller's own code. Regions may nest, up to 64 deep. Begin and end must be on
 * the same thread. The name must last until the end. */
HONE_API void hone_region_begin(const char *name);
HONE_API void hone_region_end(void);

/* ---- reports ---- */

typedef struct hone_report_options {
    uint32_t size;
    const char *const *names; /* of the documents, for error messages; or NULL */
} hone_report_options;
HONE_INLINE void hone_report_options_init(hone_report_options *o);

/* Writes a page of results: one HTML file that needs no other files. Each of the n documents is a
 * text of one or more JSON objects, as the program prints them with --json (docs/json.md). Equal
 * documents give equal files. options may be NULL. */
HONE_API hone_status hone_report_write(const char *const *documents, size_t n, const char *path,
                                       const hone_report_options *options, hone_error *err);

/* ---- the log ---- */

typedef enum hone_log_level {
    HONE_LOG_ERROR,
    HONE_LOG_WARN,
    HONE_LOG_INFO,
    HONE_LOG_DEBUG
} hone_log_level;
/* fn receives the lines of `level` and of more serious levels. It may be called on several threads
 * at once. NULL, the default: nothing is logged. */
HONE_API void hone_log_set(void (*fn)(void *ctx, hone_log_level level, const char *line), void *ctx,
                           hone_log_level level);

#include "sized.h"

#ifdef __cplusplus
}
#endif
#endif
