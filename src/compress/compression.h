/* The whole of a compression, in the one order there is:
 *
 *     copy, simplify ─▶ look at the samples ─▶ methods before ─▶ calibrate, choose ranges
 *         ─▶ choose types of layers ─▶ methods on weights ─▶ write integers
 *         ─▶ convert what is f16 or bf16 ─▶ methods after
 *
 * Where types are chosen, methods on weights come before that, for each type (rounded.h).
 */
#ifndef HN_COMPRESS_COMPRESSION_H
#define HN_COMPRESS_COMPRESSION_H

#include "base/sha256.h"
#include "compress/method.h"
#include "compress/mixed.h"
#include "compress/quantize.h"

typedef struct hn_compressed hn_compressed;

/* Types of layers that are found by measuring (mixed.h). */
typedef struct hn_mix {
    const hn_layer_type *base; /* what layers have where nothing else suits; NULL: f32 */
    int n_types;               /* beside it */
    const hn_layer_type *const *types;
    hn_mixed_harm harm;
    double bits_per_weight, max_ms; /* limits; 0: none */
    int64_t max_bytes;              /* likewise, of the file */
    /* The bytes of the file that the model of c becomes, which may be edited; its report is not
     * there yet. NULL: those of the model as it is. */
    hone_status (*size)(void *ctx, const hn_compressed *c, int64_t *bytes, hn_error *err);
    void *size_ctx;
    double max_drop; /* of the share of samples whose answer is right; negative: not looked at */
    bool relative;   /* it is a share of what the float model gets right */
    hn_mixed_score *score; /* another way to judge models; NULL: none */
    void *score_ctx;
    double least; /* a model is good enough from this score on */
} hn_mix;

typedef struct hn_compress_options {
    hn_scheme scheme;
    const hn_mix *mix; /* NULL: layers have the types of the scheme */
    int n_methods;
    const hn_method *const *methods;   /* those of one stage run in this order */
    hn_calibrate_options calibrate;    /* its samples are taken; its progress is left out */
    const hn_calibration *calibration; /* known ranges, instead of calibrating; or NULL */
    hn_dataset *data;                  /* NULL: none */
    int64_t batch;                     /* samples a run takes; 0: 16 or the model's */
    uint64_t seed;
    hn_how how;
    /* What is going on ("calibrate", "adaround" ...) and how much of it is done; false ends it with
     * HONE_E_LIMIT. May be NULL. */
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
} hn_compress_options;

struct hn_compressed {
    hn_model *model;
    hn_calibration *calibration; /* made here; or NULL */
    hn_quantize_report report;
    hn_mixed mixed;           /* n_layers 0: types were not chosen */
    int64_t samples;          /* that were looked at */
    char data[HN_SHA256_HEX]; /* their hash; "": there were none */
    char warning[400];        /* what the samples look like; "": there is nothing to say */
};

/* m is only read. HONE_E_MODEL: it is quantized already. HONE_E_ARG: a rule matches no node, a type
 * or method wants data and there is none. HONE_E_NOT_FOUND: no choice of types is within the
 * limits. */
hone_status hn_compress(hn_compressed *out, const hn_model *m, const hn_compress_options *o,
                        hn_allocator *alloc, hn_error *err);
void hn_compressed_deinit(hn_compressed *c); /* all zero accepted */

#endif
