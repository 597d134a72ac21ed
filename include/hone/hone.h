/* hone.h: the public C API of hone.
 *
 * Read it top to bottom: status and errors, data types, values, models, sessions, datasets,
 * comparisons, quantization, the machine, profiles, optimizing.
 *
 * Conventions
 *   Failing    A function that can fail returns hone_status and takes a `hone_error *` (may be
 *              NULL), which receives one line: what was wrong, where, what was found, what was
 *              wanted. On failure, out-parameters are left untouched.
 *   Handles    are opaque; `destroy` accepts NULL.
 *   Options    An options struct is filled by its `_init` function before fields are set, so that
 *              fields that a later version adds have their defaults.
 *   Versions   A program runs with every later library of the same soname (libhone.so.0), and with
 *              an earlier one as long as it uses nothing newer. Functions are only added; structs
 *              only grow, by fields at their end; numbers of enums stay. A release that must break
 *              one of these promises has a new major version and with it a new soname. How structs
 *              of different sizes get along is in hone/sized.h.
 *   Threads    Different objects may be used by different threads at once, and one object by
 *              several as long as they only call functions that take it as const. A session runs
 *              on any number of threads, whatever is done to its model meanwhile.
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
#else
#define HONE_API
#define HONE_PRINTF(fmt, args)
#endif
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

/* A named tensor. Elements are row-major, packed; `bytes` is the size of `data`. */
typedef struct hone_value {
    const char *name;
    hone_dtype dtype;
    int rank;
    int64_t dims[HONE_MAX_RANK];
    void *data;
    size_t bytes;
    void *owner; /* the library's, when it allocated data; else NULL */
} hone_value;

/* Bytes that a tensor takes; SIZE_MAX when that cannot be told: a negative dim, an overflow, a rank
 * over HONE_MAX_RANK, a type without a width. */
HONE_API size_t hone_value_bytes(hone_dtype dtype, int rank, const int64_t *dims);
/* Frees what the library allocated for each of n values and forgets it: data, and a name that came
 * with it. What the caller set stays. */
HONE_INLINE void hone_value_release(hone_value *values, size_t n);
/* Frees a block that one of the functions below says to free. NULL accepted. */
HONE_API void hone_free(void *block);

typedef enum hone_fill { HONE_FILL_ZEROS, HONE_FILL_ONES, HONE_FILL_RANDOM } hone_fill;
/* Allocates data for the dtype and dims of v and fills it. Random: N(0,1) for floats, 0 or 1 for
 * integers. */
HONE_INLINE hone_status hone_value_fill(hone_value *v, hone_fill fill, uint64_t seed,
                                        hone_error *err);

/* How far numbers are from others, as shares of the largest absolute value of those: the mean and
 * the largest distance. What is not finite agrees with itself alone, else the shares are infinite.
 */
typedef struct hone_difference {
    double mean, max;
} hone_difference;
/* Of a from b. HONE_E_SHAPE, HONE_E_TYPE: they are not of one shape, or not numbers. */
HONE_INLINE hone_status hone_value_difference(const hone_value *a, const hone_value *b,
                                              hone_difference *out, hone_error *err);

/* .npy and .npz files. What is read is the library's: release it with hone_value_release. */
HONE_INLINE hone_status hone_npy_read(hone_value *out, const char *path, hone_error *err);
HONE_INLINE hone_status hone_npy_write(const hone_value *v, const char *path, hone_error *err);
/* *out is an array of *n values; release them, then hone_free it. */
HONE_INLINE hone_status hone_npz_read(hone_value **out, size_t *n, const char *path,
                                      hone_error *err);
HONE_INLINE hone_status hone_npz_write(const hone_value *v, size_t n, const char *path,
                                       hone_error *err);

/* ---- models ---- */

typedef struct hone_model hone_model;

typedef struct hone_load_options {
    uint32_t size;
    /* Copy the file instead of mapping it. A mapped file must not be changed in place while the
     * model lives; replacing it by another is safe. */
    bool no_mmap;
} hone_load_options;
HONE_INLINE void hone_load_options_init(hone_load_options *o);

/* Reads an ONNX file, checks its structure and infers types and shapes. options may be NULL. */
HONE_API hone_status hone_model_load(hone_model **out, const char *path,
                                     const hone_load_options *options, hone_error *err);
/* The same from memory, which is copied. External data is refused: there is no folder to find it
 * in. */
HONE_API hone_status hone_model_load_memory(hone_model **out, const void *data, size_t bytes,
                                            hone_error *err);
/* The same from ONNX's textual form; docs/formats.md says what of it is read. Tensors must be
 * written out: there is no companion file. */
HONE_API hone_status hone_model_load_text(hone_model **out, const char *text, hone_error *err);
/* Sessions made from the model keep what they need of it. */
HONE_API void hone_model_destroy(hone_model *model);

typedef struct hone_save_options {
    uint32_t size;
    /* Of ai.onnx; 0: the model's own, raised only as far as an edited node needs. A node that
     * cannot be written at the opset asked for is an error that names it. */
    int64_t opset;
    /* Tensors of at least this many bytes go to `<path>.data`; 0: only when the file would pass
     * 2 GB. */
    int64_t external_min;
} hone_save_options;
HONE_INLINE void hone_save_options_init(hone_save_options *o);

/* Writes an ONNX file: a temporary one that is renamed when it is whole. The files the model came
 * from are not overwritten (HONE_E_ARG). options may be NULL. */
HONE_API hone_status hone_model_save(hone_model *model, const char *path,
                                     const hone_save_options *options, hone_error *err);
/* The model in ONNX's textual form, in the semantics of the newest opset; hone_free it. Of a tensor
 * of more than 64 elements it holds the SHA-256 only. */
HONE_API hone_status hone_model_print(const hone_model *model, char **text, hone_error *err);

/* One axis of one input: `to` is a number ("8") or the name of a symbol ("batch"). */
typedef struct hone_dim_setting {
    const char *input;
    int axis; /* negative: from the end */
    const char *to;
} hone_dim_setting;
/* Makes axes of inputs fixed or symbolic through the whole graph; sizes baked into the constants of
 * Reshape, Expand, Slice and Resize are rewritten. Fails naming the node that does not allow it,
 * and the model is as it was; HONE_E_ARG while sessions of the model exist. What hone_model_input
 * and hone_model_output gave before describes the model as it was. */
HONE_INLINE hone_status hone_model_set_dims(hone_model *model, const hone_dim_setting *settings,
                                            size_t n, hone_error *err);

typedef struct hone_value_info {
    const char *name;                     /* all texts live as long as the model */
    hone_dtype dtype;                     /* HONE_DTYPE_NONE: not a tensor, or unknown */
    int rank;                             /* -1: unknown */
    int64_t dims[HONE_MAX_RANK];          /* -1: symbolic */
    const char *dim_names[HONE_MAX_RANK]; /* the symbol or expression where dims is -1, else NULL */
} hone_value_info;
/* The inputs a run must be given: those without an initializer. */
HONE_API size_t hone_model_n_inputs(const hone_model *model);
HONE_API size_t hone_model_n_outputs(const hone_model *model);
HONE_INLINE hone_status hone_model_input(const hone_model *model, size_t i, hone_value_info *out,
                                         hone_error *err);
HONE_INLINE hone_status hone_model_output(const hone_model *model, size_t i, hone_value_info *out,
                                          hone_error *err);

/* What the model's metadata_props say for a key; NULL: nothing. Lives as long as the model. Models
 * that hone_model_quantize made say what they were made of and how, under
 *   hone.source   the SHA-256 of the file of the model they were made of
 *   hone.data     the SHA-256 of the samples that were looked at, as the model was fed them
 *   hone.recipe   the options, in one line
 *   hone.version  of the hone that did it */
HONE_API const char *hone_model_metadata(const hone_model *model, const char *key);

/* Reads the file leniently and reports every conformance error it finds, one call of `finding`
 * each; text is one line that names the node. *n_findings counts them. Fails only when the file
 * cannot be read as ONNX at all. */
HONE_API hone_status hone_model_check(const char *path,
                                      void (*finding)(void *ctx, const char *text), void *ctx,
                                      size_t *n_findings, hone_error *err);

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
    int64_t params;                 /* constant elements, counted where they are used first */
    int64_t params_bytes;
    int64_t params_zero;               /* of those elements, how many are zero */
    int64_t macs;                      /* multiply-accumulates; -1: not known */
    int64_t read_bytes, written_bytes; /* -1: not known */
} hone_node_info;

typedef struct hone_op_use {
    const char *op, *domain;
    bool supported;
    int64_t count, params, macs; /* macs of those nodes whose count is known */
} hone_op_use;

typedef struct hone_dtype_use {
    hone_dtype dtype;
    int64_t tensors, elements, bytes;
} hone_dtype_use;

/* Counts stop at 2^62. */
typedef struct hone_inspection {
    uint32_t size;
    /* On disk, where the model was last read from or written to: the file and all its files of
     * external data; 0: it has not been on disk. */
    int64_t file_bytes;
    int64_t ir_version, opset;
    const char *producer, *producer_version, *graph_name;
    const char *opsets;   /* "ai.onnx 17, com.microsoft 1" */
    int64_t params;       /* elements of all constants */
    int64_t trainable;    /* of those, elements of float constants that serve as weights */
    int64_t params_bytes; /* as stored */
    int64_t params_zero;
    int64_t bytes_at[5];     /* of the parameters if all were f32, f16, int8, int4, 1 bit */
    int64_t macs;            /* of the nodes whose count is known */
    int64_t macs_unknown;    /* nodes whose count is not known */
    int64_t activation_peak; /* estimated bytes live at once when nodes run in order; -1: unknown */
    size_t n_nodes;          /* subgraphs included */
    const hone_node_info *nodes;
    size_t n_ops; /* most MACs first */
    const hone_op_use *ops;
    size_t n_dtypes;
    const hone_dtype_use *dtypes;
    size_t n_dims; /* the symbols, with the sizes taken for MACs and memory */
    const hone_dim_value *dims;
    void *owner;
} hone_inspection;

/* dims: sizes of symbols, n_dims of them. Any other symbol is taken as 1 if it is the first axis of
 * an input, else as 128. */
HONE_INLINE hone_status hone_model_inspect(hone_model *model, const hone_dim_value *dims,
                                           size_t n_dims, hone_inspection **out, hone_error *err);
HONE_API void hone_inspection_destroy(hone_inspection *inspection);

/* ---- simplification: the graph passes ---- */

typedef struct hone_pass_info {
    const char *name, *help; /* help: what it does, in one line */
    int level;               /* the lowest at which it runs */
} hone_pass_info;
HONE_API size_t hone_n_passes(void);
HONE_INLINE hone_status hone_pass(size_t i, hone_pass_info *out, hone_error *err);

typedef struct hone_simplify_options {
    uint32_t size;
    /* 0: nothing. 1: the same arithmetic with fewer nodes. 2: and constants multiplied or added
     * into weights. 3, the default: and subgraphs replaced by the one operator they spell out. From
     * 2 on results differ by rounding. */
    int level;
    int64_t opset;          /* no operator newer than this is formed; 0: the model's own opset */
    const char *disable;    /* names of passes that do not run, separated by commas; or NULL */
    const char *stop_after; /* the pass after whose first run all ends; or NULL */
} hone_simplify_options;
HONE_INLINE void hone_simplify_options_init(hone_simplify_options *o);

typedef struct hone_pass_result {
    int64_t fired; /* rewrites it made */
    double ms;
} hone_pass_result;

/* Rewrites the model to compute the same with less. Inputs and outputs keep their names, types and
 * shapes, and initializers that are inputs stay as they are. results gets one entry per pass, as
 * hone_pass numbers them. Both options and results may be NULL. HONE_E_ARG for a pass that does not
 * exist, and while sessions of the model exist. */
HONE_INLINE hone_status hone_model_simplify(hone_model *model, const hone_simplify_options *options,
                                            hone_pass_result *results, hone_error *err);

/* ---- sessions: running a model ---- */

typedef struct hone_session hone_session;

typedef struct hone_session_options {
    uint32_t size;
    const char *backend; /* "cpu" (the default), or "reference": the plain executor */
    int threads;         /* 0: HONE_THREADS, or the physical cores this process may use */
    size_t max_memory;   /* bytes a run may take; 0: what the machine or container allows */
    uint64_t seed;       /* of random operators without a seed of their own */
    /* Called now and then; returning false ends the run with HONE_E_LIMIT. May be NULL. */
    bool (*keep_going)(void *ctx);
    void *keep_going_ctx;
    /* The most of the CPU's instruction sets that may be used: "avx512", "neon", "portable" ...
     * NULL: all of them, or what HONE_ISA says. */
    const char *isa;
    /* Keeps each thread the session starts on a core of its own, the first being left to the thread
     * that runs it. For measuring, or where nothing else runs. */
    bool pin_threads;
    /* Cores to leave to others, where threads is 0. */
    int reserve_cores;
    /* Every activation has memory of its own: shows what planning saves. */
    bool no_sharing;
    /* Measures before the first run of a shape which of the kernels that give the same bits is
     * fastest: "off" (the default), "fast" or "full". */
    const char *tune;
    /* A text file that keeps what was measured; NULL: none. One of another machine or version of
     * hone, or a damaged one, is ignored with a warning. With tune "off" what it says is used, and
     * nothing is measured or written. */
    const char *tune_cache;
    /* What to do without, to see what it gains: names separated by commas, or NULL.
     *   "fuse"  steps that compute several nodes, and strips of several steps
     *   the name of a graph pass (hone_pass) */
    const char *without;
    /* What is computed in; NULL: what the model holds. "int8", of models with quantized operators:
     * all that they allow in integers; "f32", of others, dequantizes first. How exact float sums of
     * products are: "f32-relaxed" may be off by 8e-5 of the sum of their absolute values (typically
     * 1.5e-5 of a result); with "bf16" operands are rounded to bf16 (8e-3, typically 3e-3). Both
     * are faster on CPUs with AMX, on others the same as f32. "f16" waits for kernels:
     * HONE_E_UNSUPPORTED. "auto": before the first run of a shape, what is measured to be faster of
     * what the model allows: each part of a quantized one in int8 or f32 (hone_session_choice),
     * others unchanged. What a model holds is asked of each node: a product that is written in
     * bf16 is computed in bf16, where a kernel for that is faster here, one in f32 or f16 in f32
     * (bf16 would lose bits of f16), one of integers in integers. */
    const char *precision;
    /* Kernels to take before all others, whatever was measured: "conv_f32=amx6,copy=ref", or NULL.
     * Where one declines a problem the usual choice is made, and the log gets a warning. */
    const char *kernels;
    /* "sequential" (the default): one step at a time, on all threads. "parallel": steps that are
     * short or do not split well run beside others they do not depend on, a thread each. Results
     * are the same. */
    const char *exec;
    /* Another precision for some nodes: "PATTERN:PRECISION,..." with precisions as above but auto,
     * or NULL. A pattern is the name of a node, or of the first output of one that has none, in
     * which * stands for any letters and ? for one; the last that matches a node holds. A pattern
     * no node matches is HONE_E_ARG, as is int8 where none of those that do reads quantized values.
     * Names are those that are left when the model has been simplified. */
    const char *layer_precision;
} hone_session_options;
HONE_INLINE void hone_session_options_init(hone_session_options *o);

/* HONE_E_UNSUPPORTED names the first node whose operator cannot run. options may be NULL. */
HONE_API hone_status hone_session_create(hone_session **out, hone_model *model,
                                         const hone_session_options *options, hone_error *err);
HONE_API void hone_session_destroy(hone_session *session);
/* Threads a run takes, and the strongest instruction set it may use. */
HONE_API int hone_session_threads(const hone_session *session);
HONE_API const char *hone_session_isa(const hone_session *session);

/* Makes ready for inputs of these shapes, as their first run would: chooses kernels, packs weights,
 * plans memory. in as for hone_session_run, but no data is looked at. */
HONE_INLINE hone_status hone_session_prepare(hone_session *session, size_t n_in,
                                             const hone_value *in, hone_error *err);

/* Runs once. in: the inputs by name, all that have no initializer. out: the wanted outputs by name
 * (out[i].name is set); one whose data is NULL is allocated by the library, for another `bytes`
 * must suffice. On success dtype, rank, dims and bytes of each are set; on failure only what is in
 * the caller's buffers may have changed. May be called from several threads at once; when the
 * threads of all runs going on exceed the cores, the log gets a warning, once. */
HONE_INLINE hone_status hone_session_run(hone_session *session, size_t n_in, const hone_value *in,
                                         size_t n_out, hone_value *out, hone_error *err);
/* Ends the runs of the session that are under way, evaluations included, with HONE_E_LIMIT, as soon
 * as they come to look: between steps, between the iterations of a loop, and inside steps that take
 * long. Nothing happens when there are none; runs that begin after these have ended are not
 * affected. May be called from any thread and from signal handlers, until the session is
 * destroyed. */
HONE_API void hone_session_cancel(hone_session *session);

/* One step of a run: what a kernel computed for one or several nodes. Texts live as long as the
 * session, but for plans that newer shapes have pushed out. */
typedef struct hone_step_info {
    const char *node; /* name of the node it was made for (of Conv+Relu the Conv), or its output */
    const char *op;   /* "Conv+Add+Relu"; "copy": a change of layout */
    const char *family;  /* "conv_f32"; NULL: the operator's reference */
    const char *kernel;  /* "avx512_14x32" */
    const char *output;  /* "f32[1, 64, 56, 56]" */
    double flops, bytes; /* asked for; 0: not counted */
    int64_t begin_ns, end_ns;
    double macs;           /* multiply-accumulates among the flops: of convolutions and products */
    const char *why_float; /* of a quantized model: why it computes in floats; NULL: it does not */
    const char *why;       /* this kernel was chosen: "first that accepts", "measured" ... */
    const char *isa;       /* the instruction set its kernel needs */
    const char *precision; /* it computes in: "f32", "f32-relaxed", "bf16", "int8" */
    int threads;           /* it may use */
    double weights_bytes;  /* of constants, as they are stored for it */
    size_t live_bytes;     /* of activations, alive while it runs */
    const char *why_precision; /* of a convolution or product: why it computes in that; else NULL */
} hone_step_info;
/* Runs once, as hone_session_run does, and calls `step` after each step. Backend cpu. Where sizes
 * are known only while running, and in subgraphs, there may be more or fewer steps each time. */
HONE_INLINE hone_status hone_session_profile(hone_session *session, size_t n_in,
                                             const hone_value *in, size_t n_out, hone_value *out,
                                             void (*step)(void *ctx, const hone_step_info *info),
                                             void *ctx, hone_error *err);

/* What tuning did so far. */
typedef struct hone_tuning {
    int64_t problems; /* met that leave a choice */
    int64_t known;    /* of those, found in the file */
    int64_t measured; /* and measured */
    int64_t changed;  /* steps that run otherwise than they would without */
    double ms;        /* spent measuring */
} hone_tuning;
HONE_INLINE hone_tuning hone_session_tuning(const hone_session *session);
/* What was asked for, or the default for the model: "int8", "f32" ... After a run "bf16" stands
 * only for one with a step that computes in bf16, else it is "f32". */
HONE_API const char *hone_session_precision(const hone_session *session);
/* What precision "auto" left in f32 so far, part by part: "conv12: f32 0.31 ms, int8 0.35 ms";
 * NULL: i is not below their number. Texts live as long as the session. */
HONE_API const char *hone_session_choice(const hone_session *session, size_t i);

typedef struct hone_memory_use {
    size_t peak_bytes; /* most bytes live at once so far */
    size_t live_bytes;
    size_t allocations; /* blocks taken so far; backend cpu takes none once a shape has run */
    /* Backend cpu, for the shapes that ran last: */
    size_t weights_bytes; /* packed weights */
    size_t arena_bytes;   /* activations */
    size_t scratch_bytes; /* workspace of kernels */
    /* What peak_bytes was to be, worked out before any of these were allocated: with the plan
     * itself and what making it took for a while. Runs take more only for operators without a
     * kernel and for outputs that are not asked for. 0: sizes are known only while running. */
    size_t planned_bytes;
    /* Then: the most that the values of the graph can take, those of sizes not known before each
     * with memory of its own; copies and workspace that kernels want for those come on top.
     * SIZE_MAX: there is no bound. */
    size_t bound_bytes;
} hone_memory_use;
HONE_INLINE hone_memory_use hone_session_memory(const hone_session *session);

/* ---- datasets and accuracy ---- */

typedef struct hone_dataset hone_dataset;
/* spec: "KIND:PATH[,key=value...]"; docs/data.md lists kinds and keys. */
HONE_API hone_status hone_dataset_open(hone_dataset **out, const char *spec, hone_error *err);
HONE_API void hone_dataset_destroy(hone_dataset *dataset);
HONE_API int64_t hone_dataset_count(const hone_dataset *dataset);
HONE_API bool hone_dataset_has_labels(const hone_dataset *dataset);
/* Samples [first, first + n) as inputs of the model: out[] gets one value for each of
 * hone_model_n_inputs(), in their order; release them with hone_value_release. A model with a fixed
 * batch takes at most that many; where n is less, it is filled up with zeros. */
HONE_INLINE hone_status hone_dataset_read(hone_dataset *dataset, const hone_model *model,
                                          int64_t first, int64_t n, hone_value *out,
                                          hone_error *err);
HONE_API hone_status hone_dataset_labels(hone_dataset *dataset, int64_t first, int64_t n,
                                         int64_t *labels, hone_error *err);
/* Arrays to judge an output by where a label is not enough: boxes, masks, numbers. */
HONE_API size_t hone_dataset_n_targets(const hone_dataset *dataset);
/* Target i of samples [first, first + n) as a value [n, ...], named and typed as it is stored;
 * release it with hone_value_release. */
HONE_INLINE hone_status hone_dataset_targets(hone_dataset *dataset, size_t i, int64_t first,
                                             int64_t n, hone_value *out, hone_error *err);
/* How many samples turned out so far to be files that cannot be decoded. names[] gets the first of
 * them, NULL where there are fewer than n_names. */
HONE_API int64_t hone_dataset_skipped(const hone_dataset *dataset, size_t n_names,
                                      const char **names);

/* A dataset from end to end, in batches that threads of the loader's own read, decode and convert
 * ahead of time:
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
    int threads;   /* -1: as many as a session takes by default; 0: none, hone_loader_next reads */
    int ahead;     /* batches kept in memory; 0: two per thread */
    bool shuffle;  /* in an order that depends on seed and number of samples alone */
    uint64_t seed;
} hone_loader_options;
HONE_INLINE void hone_loader_options_init(hone_loader_options *o); /* one thread */

/* All that a batch points to is the loader's and lasts until the next call. */
typedef struct hone_batch {
    uint32_t size;
    int64_t n;             /* samples; those that cannot be decoded are left out */
    const int64_t *index;  /* of each in the dataset */
    const int64_t *labels; /* NULL: there are none */
    size_t n_in, n_targets;
    const hone_value *in;      /* one for each of hone_model_n_inputs(), in their order; a fixed
                                * batch is filled up with zeros */
    const hone_value *targets; /* [n, ...] */
} hone_batch;

/* The model must outlive the call alone, the dataset the loader. options may be NULL. */
HONE_INLINE hone_status hone_loader_create(hone_loader **out, hone_dataset *dataset,
                                           hone_model *model, const hone_loader_options *options,
                                           hone_error *err);
HONE_API void hone_loader_destroy(hone_loader *loader);
/* The next batch, in order; n = 0: there are no more. Which samples are in it depends on neither
 * threads nor timing. After an error, which concerns one batch, the next call goes on behind it. */
HONE_API hone_status hone_loader_next(hone_loader *loader, const hone_batch **out, hone_error *err);

/* One run of an evaluation: what the model was given, what it gave, what was wanted. Values whose
 * first axis is the batch hold the n samples alone, also where the model's fixed batch is larger.
 */
typedef struct hone_eval_batch {
    uint32_t size;
    int64_t n;            /* samples */
    const int64_t *index; /* of each in the dataset */
    int64_t rows;         /* of the run: n, or the model's fixed batch */
    size_t n_inputs, n_outputs, n_targets;
    const hone_value *inputs, *outputs, *targets;
    const int64_t *labels; /* NULL: the dataset has none */
} hone_eval_batch;

typedef struct hone_eval_options {
    uint32_t size;
    int64_t batch; /* samples per run; 0: the model's fixed batch, or 16 */
    /* Called after each batch with samples done and in all; returning false ends the evaluation
     * with HONE_E_LIMIT. May be NULL. */
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
    /* Names from the table of metrics, separated by commas; "": none. "default" among them, or
     * NULL: what suits the model and the data. */
    const char *metrics;
    /* The model's outputs that are scored, by name, separated by commas; NULL: the first, or where
     * a metric needs several, those whose names say what they are. */
    const char *outputs;
    bool tables;   /* also make the tables of classes and of answers by label */
    uint64_t seed; /* of intervals that are estimated by drawing samples; 1 by default */
    /* A metric of the caller's own: sees every batch, in order. Failing ends the evaluation. May be
     * NULL. */
    hone_status (*on_batch)(void *ctx, const hone_eval_batch *batch, hone_error *err);
    void *on_batch_ctx;
} hone_eval_options;
HONE_INLINE void hone_eval_options_init(hone_eval_options *o);

typedef struct hone_eval_result {
    uint32_t size;
    int64_t samples, classes;
    int64_t
        top1; /* samples whose label has the highest score; of equal scores the lower class wins */
    int64_t top5; /* whose label is among the five highest; -1: there are fewer than 6 classes */
    double seconds;
} hone_eval_result;
/* Scores an output of a classifier, the first unless options name another, against the labels of
 * the dataset. options may be NULL. */
HONE_INLINE hone_status hone_session_eval(hone_session *session, hone_dataset *dataset,
                                          const hone_eval_options *options,
                                          hone_eval_result *result, hone_error *err);

/* The table of metrics. */
typedef struct hone_metric_info {
    const char *name, *help;
    bool is_share;     /* from 0 to 1 */
    bool lower_better; /* an error */
} hone_metric_info;
HONE_API size_t hone_n_metrics(void);
HONE_INLINE hone_status hone_metric(size_t i, hone_metric_info *out, hone_error *err);

typedef struct hone_metric_value {
    const char *name;
    double value;     /* NaN: not defined, as a top-5 of three classes */
    double low, high; /* hold the true value with 95 % confidence; NaN: not known */
    const char
        *interval; /* how that was found: "wilson", "normal", "bootstrap"; NULL: it was not */
    int64_t part;  /* of a share of samples: how many; else -1 */
    bool is_share, lower_better;
} hone_metric_value;

/* NaN and -1: not known of this kind of model. */
typedef struct hone_class_value {
    int64_t id;
    int64_t samples; /* labelled so: samples, or of detectors boxes, of segmentation pixels */
    int64_t answers; /* answered so */
    int64_t correct; /* both */
    double precision, recall, f1;
    double ap, ap50, iou;
} hone_class_value;

typedef struct hone_evaluation {
    uint32_t size;
    int64_t samples; /* that were scored */
    int64_t skipped; /* that could not be decoded */
    int64_t classes; /* 0: the metrics know none */
    size_t n_metrics;
    const hone_metric_value *metrics;
    size_t n_class_rows; /* 0: no tables were asked for, or no metric makes them */
    const hone_class_value *class_rows;
    /* [classes, classes]: samples by label (row) and answer; NULL: not made. */
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

/* What models are compared on: inputs of the first of them. */
typedef struct hone_samples {
    int64_t count; /* of samples, at least 1 */
    int64_t batch; /* that a run takes, at least 1; the last may have fewer */
    /* The inputs of a run, in the order of hone_model_input and with their names. The library
     * releases them. */
    hone_status (*read)(void *ctx, int64_t run, hone_value *in, hone_error *err);
    void *ctx;
} hone_samples;

/* How far the numbers of one model are from those of the first. Signal to noise in dB is infinite
 * where they are equal and minus infinite where one side alone is not finite or all zero. */
typedef struct hone_output_error {
    const char *name;
    double sqnr_db;
    double cosine;                /* NaN: one side is all zero */
    double mean_error, max_error; /* as shares of the largest absolute value of the first */
} hone_output_error;

typedef struct hone_tensor_error {
    const char *name; /* in the first model */
    const char *op;   /* "Conv": what computes it, or takes the weight */
    const char *node; /* of that node; its output's where it has none */
    bool weight;      /* else an activation */
    double sqnr_db;   /* as the second model computes it, errors before it included */
    /* Given the first model's values instead of its own, so that the error is that of this step
     * alone. Of a weight: the same as sqnr_db. */
    double isolated_sqnr_db;
    double input_sqnr_db; /* the worst of what the step is computed from; of a weight: infinite */
    double cosine, max_error;
} hone_tensor_error;

typedef struct hone_comparison {
    uint32_t size;
    int64_t samples;
    double agreement; /* how alike the outputs are, by `measure`: the worst of them */
    size_t n_outputs; /* of floats */
    const hone_output_error *outputs;
    /* Where the models are two of one graph: the values that both compute and the weights both
     * have, worst in isolation first. */
    size_t n_tensors;
    const hone_tensor_error *tensors;
    size_t n_matched, n_values; /* float values of the first model: with a partner, and in all */
    size_t n_unmatched;
    const char *const *unmatched; /* names of those without */
    const char *breaks_at;        /* the step that is worst and stands out; NULL: none does */
    const char *verdict;          /* that in words, one line; NULL: no tensors were compared */
    void *owner;
    /* "agreement": of answers, the share of samples whose highest score is at the same place.
     * "detections kept": the first model's detections less those lost, or those added where they
     * are more. "signal kept": of the worst channel, 1 - noise / variance; 99 % is 20 dB.
     * hone_optimize judges models by the same measures. */
    const char *measure;
    double agreement_low, agreement_high; /* its 95 % interval; NaN: not known */
    const char *worst;  /* what is least alike: "output 'y', channel 3: signal to noise 12.4 dB" */
    const double *kept; /* likewise of each of `outputs` alone; NaN: it is judged with others */
} hone_comparison;

typedef struct hone_compare_options {
    uint32_t size;
    /* Runs that tensors are compared on, by steps of the models with values handed out that are
     * else gone; 0: outputs alone are compared. Default: 8. */
    int64_t tensor_runs;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* as in hone_eval_options */
    void *progress_ctx;
} hone_compare_options;
HONE_INLINE void hone_compare_options_init(hone_compare_options *o);

/* Runs both on the same inputs. Values are matched by their names and those of nodes, also as
 * quantizers change them. HONE_E_SHAPE, HONE_E_TYPE: their inputs or outputs differ. options may be
 * NULL. */
HONE_INLINE hone_status hone_session_compare(hone_session *a, hone_session *b,
                                             const hone_samples *samples,
                                             const hone_compare_options *options,
                                             hone_comparison **out, hone_error *err);
HONE_API void hone_comparison_destroy(hone_comparison *comparison);

typedef struct hone_bisect_options {
    uint32_t size;
    double min_sqnr_db; /* that every float output is to keep; default: 30 */
    double max_error;   /* and at most this far; default: infinite */
    /* Instead, with labelled samples: top-1 accuracy may be this much below the first model's. */
    hone_dataset *data; /* default: NULL */
    double max_drop;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* as in hone_eval_options */
    void *progress_ctx;
} hone_bisect_options;
HONE_INLINE void hone_bisect_options_init(hone_bisect_options *o);

/* A step of the second model that differs from the first's. */
typedef struct hone_bisect_step {
    const char *node, *op, *name; /* as in hone_tensor_error */
    double sqnr_db;               /* of the outputs, if this step alone is the second model's */
} hone_bisect_step;

typedef struct hone_bisection {
    uint32_t size;
    size_t n_steps; /* to be returned to what they are in the first model, most harmful first */
    const hone_bisect_step *steps;
    size_t n_differ;      /* steps that differ */
    double before, after; /* of the second model, and with those steps returned: SQNR of the outputs
                             in dB, or with data the accuracy */
    double max_error_before, max_error_after;
    int64_t tried; /* models that were made and measured */
    void *owner;
} hone_bisection;
/* Finds steps of b that, returned to what they are in a, make it pass; none of them can be left
 * out. They are returned whole: a step of a quantized model takes and gives floats then. Tried are
 * the most harmful first. HONE_E_NOT_FOUND: b does not pass with all of them returned. options may
 * be NULL. */
HONE_INLINE hone_status hone_session_bisect(hone_session *a, hone_session *b,
                                            const hone_samples *samples,
                                            const hone_bisect_options *options,
                                            hone_bisection **out, hone_error *err);
HONE_API void hone_bisection_destroy(hone_bisection *bisection);

typedef struct hone_reduce_options {
    uint32_t size;
    /* Whether parts of the models show the failure for these inputs, which are those of both. */
    hone_status (*fails)(void *ctx, hone_model *a, hone_model *b, size_t n_in, const hone_value *in,
                         bool *failed, hone_error *err);
    void *fails_ctx;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* as in hone_eval_options */
    void *progress_ctx;
} hone_reduce_options;
HONE_INLINE void hone_reduce_options_init(hone_reduce_options *o);

typedef struct hone_reduction {
    uint32_t size;
    hone_model *a, *b; /* the parts; destroyed with this */
    size_t n_in;
    const hone_value *in;             /* what they fail for */
    size_t nodes_before, nodes_after; /* of a */
    int64_t tried;
    void *owner;
} hone_reduction;
/* Cuts both models, from the outputs backward and from the inputs forward, to the smallest parts
 * that still fail on the first run of the samples; values at the cuts are those a computes. a and b
 * may be two sessions of one model. HONE_E_NOT_FOUND: the whole does not fail. */
HONE_INLINE hone_status hone_session_reduce(hone_session *a, hone_session *b,
                                            const hone_samples *samples,
                                            const hone_reduce_options *options,
                                            hone_reduction **out, hone_error *err);
HONE_API void hone_reduction_destroy(hone_reduction *reduction);

/* ---- quantization: models in fewer bits ---- */

/* What can be asked for by name. */
typedef enum hone_quantize_table {
    HONE_QUANTIZE_TYPES,   /* what layers become: "int8", "int4", "f16" ... */
    HONE_QUANTIZE_RANGES,  /* how ranges of activations are found: "minmax", "entropy" ... */
    HONE_QUANTIZE_METHODS, /* what is done to weights: "equalize" ... */
    HONE_QUANTIZE_TARGETS, /* runtimes a model is written for: "hone", "onnxruntime" ... */
} hone_quantize_table;
typedef struct hone_quantize_choice {
    const char *name, *help; /* help: in one line */
    bool needs_data;
} hone_quantize_choice;
HONE_API size_t hone_n_quantize_choices(hone_quantize_table table);
HONE_INLINE hone_status hone_quantize_choice_at(hone_quantize_table table, size_t i,
                                                hone_quantize_choice *out, hone_error *err);

/* What some layers become. A pattern is the name of a node, or of the first output of one that has
 * none, in which * stands for any letters and ? for one. Names are those that are left when the
 * model has been simplified. */
typedef struct hone_layer_rule {
    const char *pattern, *type;
} hone_layer_rule;

typedef struct hone_quantize_options {
    uint32_t size;
    const char *type; /* of layers that no rule names; "int8" unless told */
    size_t n_layers;
    const hone_layer_rule *layers; /* the last that matches a node holds */
    /* Otherwise than the types have it, for all layers in integers: */
    hone_dtype weights;     /* u8 s8 s16 u4 s4 u2 s2; HONE_DTYPE_NONE: as the type says */
    hone_dtype activations; /* u8 s8 u16 s16, of static layers; likewise */
    int weight_bits;        /* 1 to 16, in the narrowest type that holds them; 0: likewise */
    int64_t group;          /* weights that share a scale; 0: none do; -1, the default: likewise */
    bool per_tensor;        /* one scale for a weight, not one for each output channel */
    bool symmetric;         /* activations have zero point 0, or the middle of an unsigned type */
    bool embeddings;        /* tables that Gather reads are weights too */
    bool integer_io;    /* inputs and outputs are integers as well, or f16 or bf16 where that is the
                           type of all layers */
    const char *target; /* NULL: "hone" */
    const char *methods; /* names separated by commas, in the order they run; NULL: none */
    const char *ranges;  /* how they are found; NULL: "auto" */
    double percentile;   /* of values that stay inside; 0: 99.99 */
    int64_t samples;     /* to look at, spread evenly over the dataset; 512 unless told, 0: all */
    int64_t batch;       /* samples a run takes; 0: 16, or the model's fixed batch */
    const char *load_ranges; /* a file they are read from instead, which may have been edited */
    const char *save_ranges; /* a file they are written to */
    uint64_t seed;           /* 1 unless told */
    const hone_session_options *run; /* how models run meanwhile; NULL: by default */
    /* Types among which each layer gets the one that suits it, by measuring: names separated by
     * commas, "int8,int4"; f32 always is one of them. NULL: layers get `type`. Those that `layers`
     * names keep theirs. Of all sets of types, ordered by what they harm, the first within the
     * limits is taken, or with max_drop alone the last that is good enough: */
    const char *mix;
    double bits_per_weight; /* 0: no limit; with scales and zero points, f32 counting as 32 */
    double max_ms;          /* that layers take for a sample on this machine; 0: no limit */
    double max_drop; /* of the share of the samples looked at that are answered right, which then
                        have labels; negative, the default: no limit */
    bool max_drop_relative; /* it is a share of the accuracy before */
    /* What is going on ("calibrate", or the name of a method) and how much of it is done; returning
     * false ends it with HONE_E_LIMIT. May be NULL. */
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
    /* Weights and activations are rounded as asked for and stay f32: what a model of so many bits
     * would answer, whether or not there are types and runtimes for it. For layers of type "int8",
     * "int8-weights" and "int4". */
    bool simulate;
    int activation_bits; /* 2 to 16, of static layers; less than their type has only in simulation;
                            0: as the type says */
    /* With `mix`, what a type harms: "measured", each layer in each type alone by runs of the
     * model, or "estimated", by the error of the layer's own outputs, from one pass over samples;
     * NULL: measured, unless that is more than 256 models to run. */
    const char *sensitivity;
    int64_t max_file_bytes; /* with `mix`: that the model's file takes; 0: no limit */
} hone_quantize_options;
HONE_INLINE void hone_quantize_options_init(hone_quantize_options *o);

/* What became of a node. */
typedef struct hone_quantized_layer {
    const char *node, *op;
    const char *type;                  /* as in the table; "f32": it was left */
    const char *weights, *activations; /* "s8 per channel", "u8", in simulation "5 bits per
                                          channel", "5 bits"; NULL: none, or as they were */
    int64_t params;                    /* elements of its weights */
    int64_t bytes_before, bytes_after; /* that they take, with scales and zero points; in simulation
                                          would take */
    const char *why_not;               /* it was left: why; NULL: as asked */
    /* Where types were chosen: noise by signal of the model's outputs with this layer alone in its
     * type, and of the layer's own outputs, estimated. NaN: not known. */
    double harm, estimate;
} hone_quantized_layer;

/* A value whose integers have a range that was found beforehand. */
typedef struct hone_quantized_value {
    const char *name, *type; /* "u8" */
    double low, high;        /* the range; what lies outside is clipped */
    /* Over the samples; NaN: not known, as ranges of a table say nothing of it. */
    double least, greatest;
    double clipped, zeros; /* shares of the values */
    /* How often values other than 0 occur, in n_bins parts from bins_from on that are bins_step
     * wide; n_bins 0: not recorded. */
    double bins_from, bins_step;
    size_t n_bins;
    const uint64_t *bins;
    const char *method; /* how its range was read off the samples, a name of HONE_QUANTIZE_RANGES;
                           NULL: it was not */
} hone_quantized_value;

/* A set of types of layers, where they were chosen: each differs from the one before by a layer. */
typedef struct hone_mix_point {
    const char *layer, *type;   /* that layer's new type; NULL: where it begins */
    double harm;                /* noise by signal at the outputs, added up over layers; where it
                                   is estimated, of the layers' own outputs */
    double bits_per_weight, ms; /* ms: of layers; NaN: not measured */
    double accuracy;            /* NaN: not measured */
    bool chosen;
} hone_mix_point;

typedef struct hone_quantization {
    uint32_t size;
    size_t n_layers; /* nodes with weights, and others that were left against the wish */
    const hone_quantized_layer *layers;
    int64_t weights;        /* elements that are in fewer bits now */
    double bits_per_weight; /* of those, with scales and zero points; NaN: there are none */
    int64_t samples;        /* that were looked at */
    int64_t stable_after;   /* samples after which no range moved by 1 % any more; 0: they still
                               did, or none were looked for */
    size_t n_warnings;
    const char *const *warnings; /* a line each */
    const char *recipe;          /* as in the metadata */
    size_t n_points;             /* gentlest first; 0: types were not chosen */
    const hone_mix_point *points;
    void *owner;
    size_t n_values;
    const hone_quantized_value *values;
} hone_quantization;

/* Makes a smaller model of one that computes in floats. *out shares with `model` what did not
 * change: as for sessions of it, that cannot be edited meanwhile. data may be NULL where neither
 * types nor methods need any. options may be NULL, and so may report. The same model, data and
 * options give the same bytes, whatever the number of threads. HONE_E_ARG: the model is quantized
 * already, data is missing, a pattern matches no node, or none that its type changes.
 * HONE_E_NOT_FOUND: nothing in the model can be stored in that type, or no choice of types is
 * within the limits. */
HONE_INLINE hone_status hone_model_quantize(hone_model **out, hone_model *model, hone_dataset *data,
                                            const hone_quantize_options *options,
                                            hone_quantization **report, hone_error *err);
HONE_API void hone_quantization_destroy(hone_quantization *quantization);

/* ---- the operator table ---- */

typedef struct hone_op_info {
    const char *domain, *name; /* domain "" is ai.onnx */
    const char *versions;      /* opsets its definition changed in: "7 13 14" */
    const char *signature;     /* "(A:T, B:T) -> (C:T); T: num" */
    bool runs;                 /* has a reference */
    bool infers;               /* shapes are inferred before running */
    bool costs;                /* multiply-accumulates are counted */
    bool differentiates;       /* has a gradient */
    bool fast;                 /* has a kernel of its own */
    bool int8;                 /* lowers to integers */
} hone_op_info;
HONE_API size_t hone_n_ops(void);
HONE_INLINE hone_status hone_op(size_t i, hone_op_info *out, hone_error *err);

/* ---- the kernel table ---- */

typedef struct hone_kernel_info {
    const char *family, *name; /* "conv_f32", "avx512_14x32" */
    const char *help;          /* what the family computes */
    const char *isa;           /* the instruction set it needs: "avx512" */
    const char *order;         /* of its sums: kernels of one order give the same bits */
    bool available;            /* on this CPU, as far as HONE_ISA allows */
    bool packs;                /* wants its weights in a layout of its own */
} hone_kernel_info;
/* Best first within a family. */
HONE_API size_t hone_n_kernels(void);
HONE_INLINE hone_status hone_kernel(size_t i, hone_kernel_info *out, hone_error *err);

/* ---- timed runs ---- */

#define HONE_TIMING_WINDOWS 10
#define HONE_TIMING_BINS 32

/* How fast this core is at this moment, in no particular unit: the median of a few looks of 2 us at
 * how fast it loads. What shares the core or takes it away makes it slower, a run in between too.
 * *best becomes the fastest look, where that is more than it was. */
HONE_API double hone_pace(double *best);

/* What the durations of many runs tell, in the unit they came in. */
typedef struct hone_timing {
    uint32_t size;
    int64_t n;
    double mean, std, min, max;
    double p50, p90, p95, p99, p99_9; /* straight between the two durations they fall between */
    /* The runs in order, cut into windows of as many each: */
    int n_windows; /* fewer than HONE_TIMING_WINDOWS where there are fewer runs */
    double median[HONE_TIMING_WINDOWS], fastest[HONE_TIMING_WINDOWS];
    double noise; /* how far the medians of the last windows lie apart, as a share of the least of
                     them: of the second half, or of all where they are less than four; NaN: there
                     is one window */
    bool stable;  /* that is at most 0.1 */
    double pace;  /* of the machine beside the fastest runs, as a share of its best; NaN: unknown */
    bool disturbed; /* that is below 0.7: even the fastest runs were slowed down */
    /* Durations in each of HONE_TIMING_BINS equal parts of [low, high], from the least to the 99th
     * percentile or three medians; the longer ones are counted in the last. */
    double low, high;
    int64_t counts[HONE_TIMING_BINS];
} hone_timing;
/* n durations, at least one, in the order they were measured. pace: what hone_pace said beside each
 * of them, best: the fastest look of all; pace may be NULL. */
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
    double then, now; /* what is compared: the median of the third fastest window */
    double ratio;     /* of now to then */
    double margin; /* by how much it must be off 1 to mean something: 5 %, or what the next windows
                      of either series are slower by */
} hone_timing_change;
/* Compares two series by their fastest windows, since what disturbs a machine only ever adds time.
 * Of either, `min`, `n_windows`, `median`, `disturbed` and `pace` are looked at. */
HONE_INLINE hone_timing_change hone_timing_compare(const hone_timing *then, const hone_timing *now);
/* n series of the same thing, at least one, each of a process of its own, as one: it tells what the
 * fastest of them does, but its windows are the fastest of all, in order, and it is disturbed only
 * where all are. *settled: two series beside which the machine had its full pace agree with it to
 * 2 %, so that more of them would change little. Returns which is the fastest. */
HONE_INLINE size_t hone_timing_join(hone_timing *out, const hone_timing *series, size_t n,
                                    bool *settled);
/* The same, compared with `then`. It is slower where four series say so whatever disturbed them.
 * *more: one more might change the verdict; of twelve that cannot be. */
HONE_INLINE hone_timing_change hone_timing_judge(const hone_timing *then, const hone_timing *series,
                                                 size_t n, bool *more);

#define HONE_ENERGY_PACKAGES 16

/* Counters of the energy that CPU packages take. */
typedef struct hone_energy {
    uint32_t size;
    int n; /* packages; 0: the machine does not report it, or not to this process */
    int64_t uj[HONE_ENERGY_PACKAGES], range_uj[HONE_ENERGY_PACKAGES];
} hone_energy;
HONE_INLINE void hone_energy_read(hone_energy *out);
/* Joules taken in between by all packages, whoever made them work; NaN: not reported. */
HONE_INLINE double hone_energy_between(const hone_energy *from, const hone_energy *to);

/* ---- the machine ---- */

/* A cache for data of the first CPU. */
typedef struct hone_cache_info {
    int level;
    int64_t bytes;
    int line_bytes; /* 0: not known */
    int cpus;       /* that share it; 0: not known */
} hone_cache_info;

/* Arithmetic fed from registers: the most there can be. */
typedef struct hone_peak_info {
    const char *precision;   /* "f32", "bf16", "f16", "int8" */
    const char *instruction; /* "vfmadd231ps zmm" */
    const char *isa;         /* the instruction set it belongs to: "avx512" */
    int threads;
    double gops; /* 10^9 operations per second, a multiply-add being two */
} hone_peak_info;

typedef struct hone_bandwidth_info {
    const char *level; /* "L1", "L2", "L3", "memory" */
    int64_t bytes;     /* that were gone over, by all threads together */
    int threads;
    double read_gb, write_gb, copy_gb; /* 10^9 bytes per second; copies count both ways */
} hone_bandwidth_info;

/* An instruction set the CPU has. */
typedef struct hone_isa_info {
    const char *name; /* "avx512" */
    bool allowed;     /* by HONE_ISA */
} hone_isa_info;

/* An NVIDIA GPU. */
typedef struct hone_gpu_info {
    const char *name;     /* "NVIDIA H200" */
    int64_t memory_bytes; /* -1: not known */
    int capability[2];    /* its compute capability: 9, 0; 0, 0: not known */
} hone_gpu_info;

typedef struct hone_machine {
    uint32_t size;
    const char *cpu, *arch; /* "Neoverse V1", "aarch64" */
    const char *isa;        /* the strongest instruction set, as far as HONE_ISA allows */
    int cpus;               /* logical CPUs online */
    int allowed_cores;      /* physical cores this process's affinity mask allows */
    int quota;              /* CPUs its cgroup grants; 0: no limit */
    int threads;            /* a session takes by default */
    int64_t memory_bytes;   /* -1: not known */
    int64_t memory_limit;   /* of the cgroup; -1: none below that */
    size_t n_caches;        /* nearest first */
    const hone_cache_info *caches;
    size_t n_peaks; /* by precision, for one thread and for all */
    const hone_peak_info *peaks;
    size_t n_bandwidths; /* by threads, nearest first */
    const hone_bandwidth_info *bandwidths;
    void *owner;
    const char *kernel; /* the system's: "Linux 6.1.0" */
    size_t n_isas;      /* weakest first */
    const hone_isa_info *isas;
    bool cached;    /* the peaks and bandwidths were read from the cache */
    double noise;   /* share, 0 to 1, of the windows measured in that others disturbed */
    bool disturbed; /* so many that peaks or bandwidths may be too low */
    size_t n_gpus;
    const hone_gpu_info *gpus;
    const char *gpu_driver; /* its version; NULL: not known */
} hone_machine;

typedef struct hone_machine_options {
    uint32_t size;
    /* A text file that keeps what was measured, for each machine, set of limits and version of hone
     * that it has met; NULL: none. A damaged one is repaired with a warning, a file of another kind
     * left alone with one. */
    const char *cache;
    bool remeasure; /* whatever the cache says */
    /* Called now and then while measuring; returning false ends it with HONE_E_LIMIT. May be NULL.
     */
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
} hone_machine_options;
HONE_INLINE void hone_machine_options_init(hone_machine_options *o);

/* Looks at the machine and measures its limits, which takes a few seconds; with what is in the
 * cache, milliseconds. options may be NULL. */
HONE_INLINE hone_status hone_machine_probe(hone_machine **out, const hone_machine_options *options,
                                           hone_error *err);
HONE_API void hone_machine_destroy(hone_machine *machine);
/* Only looks, which takes no time: there are no peaks, bandwidths and GPUs. */
HONE_INLINE hone_status hone_machine_look(hone_machine **out, hone_error *err);

/* ---- profiles: where runs spend their time, and what the machine would allow ---- */

/* A step over all runs. What is not known is 0, NULL, or -1 for counters. */
typedef struct hone_step_profile {
    const char *node, *op, *family, *kernel, *output; /* as in hone_step_info */
    const char *why, *isa, *precision, *why_float;
    int threads;
    double flops, bytes, weights_bytes, macs;
    size_t live_bytes;
    double ms;       /* the median of its times */
    double begin_us; /* in the last run, counted from the run's begin */
    /* Against the machine's limits: */
    double intensity;    /* flops per byte */
    double gflops, gb_s; /* reached */
    double roof_ms;      /* the least time the machine allows */
    double roof_share;   /* roof_ms / ms */
    double lost_ms;      /* ms - roof_ms */
    const char *bound;   /* by what: "compute", "memory", "overhead" */
    const char *level;   /* where most of its bytes come from: "L2", "memory" */
    const char *advice;  /* what would make it faster */
    /* Of one run, on the thread that runs the session: */
    double cycles, instructions, cache_misses;
    const char *why_precision; /* as in hone_step_info */
} hone_step_profile;

/* A question a profile answers by itself. */
typedef struct hone_verdict {
    const char *question, *answer, *evidence;
} hone_verdict;

typedef struct hone_profile {
    uint32_t size;
    int64_t runs;
    int threads;     /* of the session */
    double wall_ms;  /* a run: the median */
    double cpu_ms;   /* of processor time a run takes, all threads together */
    double ms;       /* of all steps: their medians added up */
    double coverage; /* of a run's time, the share its steps took: the median */
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
    int64_t runs;                /* that count; one more warms up. 0: 10 */
    const hone_machine *machine; /* its limits; NULL: steps are not placed under them */
    int64_t samples;             /* a run takes, for what is said of one; 0: 1 */
    bool counters;               /* one more run counts cycles, where the system allows */
    double max_ms;               /* a run may take, for the verdict on it; 0: not told */
    /* Called after each run; returning false ends it with HONE_E_LIMIT. May be NULL. */
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

/* A model that was tried. What was not measured is NaN, or -1. */
typedef struct hone_optimize_row {
    const char *name;  /* "original", "int8" ...: what hone_optimize knows to try */
    const char *help;  /* what it is, in a few words */
    const char *state; /* what became of it: "original", "chosen", "passed", "gate", "slower",
                          "behind", "held-out", "skipped", "unfinished" or "failed" */
    const char *why;   /* in words; NULL: there is nothing to say */
    const char *gain;  /* what practitioners' guides expect of it; "": nothing */
    int64_t file_bytes, weights_bytes, memory_bytes;
    double ms;    /* a run: the median */
    double speed; /* times as fast as the original, which ran beside it; 1: or not told */
    double doubt; /* by what share of it rounds of that measurement differ */
    double value, low, high; /* of the metric, with its 95 % interval */
    double drop;             /* by how much it is worse than the original's */
    double seconds;          /* that trying it took */
    bool front;              /* none that passes is better in latency, size and accuracy at once */
} hone_optimize_row;

typedef struct hone_optimization {
    uint32_t size;
    const char *metric; /* "top1" ...; without labels a measure of hone_comparison */
    bool is_share, lower_better;
    int64_t calibration_samples, choosing_samples, verifying_samples; /* none is used twice */
    size_t n_rows; /* in the order they were tried; the first is the original */
    const hone_optimize_row *rows;
    size_t chosen;       /* row; 0: the original is to stay */
    hone_model *model;   /* the chosen one, destroyed with this; NULL: the original is to stay */
    bool met;            /* what was asked for is met, by the model or by the original */
    bool interrupted;    /* progress ended it: the best of what had passed by then is chosen */
    const char *verdict; /* one line */
    double verified, verified_original; /* the metric on samples no choice was made by */
    double profile_ms;                  /* a run of the original, and what it is spent on: */
    const char *profile;                /* "Conv 61 %, MatMul 20 %" */
    size_t n_criteria, n_guards;        /* eight, seven */
    /* Answers of criteria: "yes", "no", "not asked", "by rule" (known, not measured); of guards:
     * "avoided", "not avoided". */
    const hone_verdict *criteria, *guards;
    size_t n_left_out; /* what was not tried, and why */
    const char *const *left_out;
    const char *recipe; /* a text that does it again; NULL: the original is to stay */
    double seconds;
    void *owner;
    const char *runtime; /* what runs the model, and whose speeds these are: "hone" ... */
    bool by_rule;        /* nothing was timed there: ms and speed of rows are NaN */
    double verified_low, verified_high; /* the 95 % interval of verified; NaN: not known */
    bool checked;     /* models were judged on real samples; else only exact ones were tried, but
                         for allow_unchecked */
    bool out_of_time; /* time_budget ended the search: the best of what had passed is chosen */
} hone_optimization;

/* Two models in turns, for a while: the first and the second. */
typedef struct hone_round {
    uint32_t size;
    double median_ms[2], least_ms[2]; /* of a run */
    bool calm;                        /* nothing was seen to disturb it */
} hone_round;

/* How models are timed in another runtime than hone. Functions return HONE_OK or a status with its
 * text in err; they are called on the thread of hone_optimize. */
typedef struct hone_timer {
    uint32_t size;
    const char *name; /* of the runtime, for people: "ONNX Runtime 1.31.1" */
    void *ctx;
    /* Makes a model ready to run on these inputs, which are one sample; onnx is the model's file.
     * The model has that id until it is closed; the original has 0. */
    hone_status (*open)(void *ctx, int id, const void *onnx, size_t bytes, size_t n_in,
                        const hone_value *in, hone_error *err);
    /* Runs two open models in turns for about that many seconds. They may be the same one. */
    hone_status (*round)(void *ctx, int first, int second, double seconds, hone_round *out,
                         hone_error *err);
    void (*close)(void *ctx, int id);
} hone_timer;

typedef struct hone_optimize_options {
    uint32_t size;
    /* Samples, which are split into those to calibrate, choose and verify with. NULL, or samples
     * that are made up ("random"): only what computes the same but for rounding is tried, and
     * judged by how close it stays on made-up inputs. */
    hone_dataset *data;
    hone_dataset *calibrate, *eval; /* instead of parts of data; NULL: none */
    const char *metric;             /* what to judge by; NULL: what suits the model and data */
    double max_drop;                /* that the metric may lose; default: 0.01 */
    bool max_drop_relative;         /* as a share of the original's value */
    double max_latency_ms;          /* of a run of one sample; 0: not asked */
    int64_t max_file_bytes, max_memory_bytes; /* 0: not asked */
    const char *target;                       /* the device: "cpu", the default */
    const char *recipe; /* the text of one, which is carried out instead of searching; or NULL */
    uint64_t seed;      /* of the split and of methods; default: 1 */
    const hone_session_options *session; /* how models are run; NULL: by default */
    /* Called now and then with what is going on and how much of that is done; returning false ends
     * it. May be NULL. */
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
    /* What is to run the model: "hone" (NULL likewise) or another of HONE_QUANTIZE_TARGETS. Models
     * are written for it, and only those are tried that it is known to run well. */
    const char *runtime;
    /* How they are timed there. NULL: nothing is timed; what makes models faster there is known by
     * rules, and limits on latency are refused. */
    const hone_timer *timer;
    bool allow_unchecked; /* without real samples, try what may change answers too */
    double time_budget;   /* seconds; then the best of what has passed is chosen. 0: no limit */
    /* Called with progress_ctx as candidate k of at most n begins: the seconds the search may still
     * take, judged by the candidates before; NaN: not known yet. With 0 of 0 as the choice begins.
     * May be NULL. */
    void (*candidate)(void *ctx, int k, int n, double seconds_left);
} hone_optimize_options;
HONE_INLINE void hone_optimize_options_init(hone_optimize_options *o);

/* Tries what practitioners do, the gentlest first, measures each beside the original, and chooses
 * what is fastest and smallest within max_drop. With a limit on latency, size or memory it ends as
 * soon as that is met. Nothing that is slower, or worse than the gate, is chosen. HONE_E_FORMAT and
 * HONE_E_ARG: a recipe that is damaged, or for another model or other data. options may be NULL. */
HONE_INLINE hone_status hone_optimize(hone_model *model, const hone_optimize_options *options,
                                      hone_optimization **out, hone_error *err);
HONE_API void hone_optimization_destroy(hone_optimization *optimization);

/* ---- spans: what takes how long, told while it happens ---- */

/* Something that has ended. Texts live during the call. */
typedef struct hone_span {
    const char *category; /* "load", "compile", "run", "step", "data"; "region": the caller's own */
    const char *name;     /* "parse", "pack"; of a step its node; of a region what it was called */
    const char *detail;   /* of a step its operators and kernel; else NULL */
    int64_t begin_ns, end_ns; /* of the clock of hone_step_info */
    int thread;               /* threads are counted from 1 on, as they come */
    int64_t live_bytes;       /* memory in use by what it belongs to; -1: not told */
} hone_span;
/* fn is told of every span that begins from now on, on the thread it happened on, of several
 * threads at once. NULL: nobody is, which is the default; spans then cost next to nothing, and runs
 * go through a loop that knows none. */
HONE_INLINE void hone_span_listen(void (*fn)(void *ctx, const hone_span *span), void *ctx);
/* A caller's own code as a span. Regions nest, 64 deep; begin and end are on one thread. The name
 * lives until the end. */
HONE_API void hone_region_begin(const char *name);
HONE_API void hone_region_end(void);

/* ---- reports ---- */

typedef struct hone_report_options {
    uint32_t size;
    const char *const *names; /* of the documents, for messages; NULL: they have none */
} hone_report_options;
HONE_INLINE void hone_report_options_init(hone_report_options *o);

/* A page of results: one HTML file, which needs nothing beside itself. documents are texts of JSON
 * objects, one or more each, as the verbs of the program print them with --json (docs/json.md);
 * equal ones give equal files. options may be NULL. */
HONE_API hone_status hone_report_write(const char *const *documents, size_t n, const char *path,
                                       const hone_report_options *options, hone_error *err);

/* ---- the log ---- */

typedef enum hone_log_level {
    HONE_LOG_ERROR,
    HONE_LOG_WARN,
    HONE_LOG_INFO,
    HONE_LOG_DEBUG
} hone_log_level;
/* fn receives lines up to `level`; it may be called from several threads at once. fn NULL: silence,
 * which is the default. */
HONE_API void hone_log_set(void (*fn)(void *ctx, hone_log_level level, const char *line), void *ctx,
                           hone_log_level level);

#include "sized.h"

#ifdef __cplusplus
}
#endif
#endif
