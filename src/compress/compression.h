/* The whole of a compression: the transforms of a recipe, one after the other, and what they share.
 *
 *     copy ─▶ FIRST ─▶ look at the samples ─▶ SHRINK ─▶ BEFORE ─▶ calibrate, choose ranges and types of layers
 *          ─▶ WEIGHTS ─▶ WRITE ─▶ AFTER ─▶ names, lineage
 *
 * What is between the stages is done when the first transform comes that needs it. Where types are
 * chosen, the transforms of WEIGHTS come before that, for each type (rounded.h).
 */
#ifndef HN_COMPRESS_COMPRESSION_H
#define HN_COMPRESS_COMPRESSION_H

#include "base/stages.h"
#include "compress/mixed.h"
#include "compress/quantize.h"
#include "compress/recipe.h"
#include "compress/shrinking.h"

/* Types of layers that are found by measuring (mixed.h). */
typedef struct hn_type_mix {
    int n_types; /* beside the base; 0: none are to be found */
    const hn_layer_type *const *types;
    hn_mixed_harm harm;
    double bits_per_weight, max_ms; /* limits; 0: none */
    int64_t max_bytes;              /* likewise, of the file */
    double max_drop; /* of the share of samples whose answer is right; negative: not looked at */
    bool relative;   /* it is a share of what the float model gets right */
    bool limited;    /* some limit is set */
} hn_type_mix;

/* What the parameters of a recipe say, all together. */
struct hn_compress_plan {
    hn_arena *arena; /* of its lists */
    hn_scheme scheme;
    hn_scheme_rule *rules; /* of the scheme; behind them those of types chosen for a mix */
    int n_chosen;
    hn_type_mix mix;
    int64_t most_bytes;             /* of the file; 0: no limit */
    hn_calibrate_options calibrate; /* method and percentile */
    const char *ranges;             /* SHA-256 of the table they come from; NULL: they are found */
};
hn_plan_fn hn_plan_quantize, hn_plan_convert, hn_plan_qat, hn_plan_prune, hn_plan_cluster,
    hn_plan_train, hn_plan_factorize, hn_plan_replace, hn_plan_embed;
extern const hn_parameter hn_params_quantize[], hn_params_convert[], hn_params_simplify[],
    hn_params_qat[], hn_params_prune[], hn_params_cluster[], hn_params_train[],
    hn_params_factorize[], hn_params_replace[], hn_params_embed[];

/* Reads the type that a step gives to layers. */
typedef hone_status hn_read_type_fn(const hn_recipe_step *s, const char *type, hn_layer_scheme *out,
                                    hn_error *err);
/* Appends the rules of a step's parameter of that name, of HN_PARAM_LAYER, and counts them in *n. */
hone_status hn_plan_rules(hn_compress_plan *p, const hn_recipe_step *s, const char *name,
                          hn_read_type_fn *read, int *n, hn_error *err);

/* The plan of a recipe, in its arena; checks all that can be checked without a model. */
hone_status hn_compress_plan_make(hn_compress_plan *p, const hn_recipe *r, hn_error *err);
/* Whether ranges, types or some transform need samples. */
bool hn_compress_needs_data(const hn_compress_plan *p, const hn_recipe *r);

/* How types are found where a recipe names them without a limit. */
typedef struct hn_type_search {
    const hn_layer_type *base; /* what layers have where nothing else suits; NULL: f32 */
    hn_mixed_score *score;
    void *score_ctx;
    double least; /* a model is good enough from this score on */
} hn_type_search;

typedef struct hn_compress_options {
    const hn_type_search *search;      /* NULL: the recipe has limits, or the types themselves */
    const hn_calibration *calibration; /* known ranges, instead of calibrating; or NULL */
    hn_dataset *data;                  /* NULL: none */
    const hn_training_told *training;  /* may be NULL */
    hn_run_options how;
    /* What is going on ("calibrate", "adaround" ...) and how much of it is done; false ends it with
     * HONE_E_LIMIT. May be NULL. */
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
    /* Called after step i of n, counted from 1, with the model as it is then: f32, where it came in
     * 16 bits. Rounds are steps of their own. May be NULL. */
    hone_status (*step)(void *ctx, int i, int n, const hn_recipe_step *s, const hn_model *m,
                        hn_error *err);
    void *step_ctx;
} hn_compress_options;

typedef struct hn_compressed {
    hn_model *model;             /* with its lineage */
    hn_compress_plan plan;       /* whose lists are in the arena of the recipe */
    hn_calibration *calibration; /* made here; or NULL */
    hn_quantize_report report;
    hn_shrinking shrinking;
    hn_mixed mixed;                   /* n_layers 0: types were not chosen */
    int64_t samples;                  /* that were looked at */
    char data[HN_SHA256_HEX];         /* their hash; "": there were none */
    char warning[400];                /* what the samples look like; "": there is nothing to say */
    int64_t changed[HN_RECIPE_STEPS]; /* by each transform (hn_transform_ctx) */
    hn_stages stages;                 /* where the time went */
} hn_compressed;

/* m is only read. r becomes the recipe of what was done: with the number and the hash of the samples
 * and with the types that were found, in the place of limits. HONE_E_MODEL: the model is quantized
 * already. HONE_E_ARG: a rule matches no node; a transform needs data and there is none; or they are
 * not those the recipe names. HONE_E_NOT_FOUND: no choice of types is within the limits. */
hone_status hn_compress(hn_compressed *out, hn_recipe *r, const hn_model *m,
                        const hn_compress_options *o, hn_allocator *alloc, hn_error *err);
void hn_compressed_deinit(hn_compressed *c); /* all zero accepted */

#endif
