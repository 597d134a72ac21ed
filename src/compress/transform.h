/* Transforms: what can be done to a model to make it smaller. A row each of transforms.def.
 *
 * A compression is a list of transforms, each with values for its parameters (recipe.h). A transform
 * has a stage, and a list keeps the order of the stages:
 *
 *     FIRST    the graph passes and what is embedded, before anything looks at layers or samples
 *     SHRINK   takes weights away or ties them to each other, trains what is left; the model computes
 *              something else afterwards. A list may have one of these more than once
 *     BEFORE   changes weights so that the model computes the same; ranges are found afterwards
 *     WEIGHTS  moves weights onto grids that it chooses; ranges and types of layers are known
 *     WRITE    gives layers their types; one per list
 *     AFTER    corrects the written model by comparing it with the float one
 *
 * A transform that needs QUANTIZE serves the transform `quantize` and has no meaning without it;
 * people call these transforms methods.
 */
#ifndef HN_COMPRESS_TRANSFORM_H
#define HN_COMPRESS_TRANSFORM_H

#include "measure/feed.h"
#include "measure/program.h"

typedef struct hn_scheme hn_scheme;
typedef struct hn_grids hn_grids;
typedef struct hn_calibration hn_calibration;
typedef struct hn_quantize_report hn_quantize_report;
typedef struct hn_recipe_step hn_recipe_step;
typedef struct hn_shrinking hn_shrinking;
typedef struct hn_compress_plan hn_compress_plan;

/* ---- parameters ---- */

typedef enum hn_param_kind {
    HN_PARAM_FLAG,         /* name */
    HN_PARAM_WORD,         /* name=WORD, of the words there are */
    HN_PARAM_WORDS,        /* name=WORD,WORD */
    HN_PARAM_TYPE,         /* name=TYPE, what a layer may become (layer_type.h) */
    HN_PARAM_LAYER,        /* name:PATTERN=TYPE, any number of times; the last that matches holds */
    HN_PARAM_LAYER_COUNT,  /* name:PATTERN=N, likewise */
    HN_PARAM_LAYER_NUMBER, /* name:PATTERN=X, likewise */
    HN_PARAM_COUNT,        /* name=N, a whole number from least to most */
    HN_PARAM_NUMBER,       /* name=X */
    HN_PARAM_HASH,         /* name=SHA256 */
    HN_PARAM_TEXT,         /* name=TEXT, that the plan of the transform checks */
    HN_PARAM_FILE,         /* name=PATH; in the recipe of what was done, sha256:HASH of the file */
} hn_param_kind;

typedef struct hn_parameter {
    const char *name; /* NULL: the table ends */
    hn_param_kind kind;
    const char *usual; /* the value where a recipe gives none; NULL: none */
    const char *help;  /* one line */
    double least, most;
    const char *(*word)(int i); /* of WORD and WORDS; NULL: there are no more */
    /* It limits a search for types. The recipe of the model that was made has the types instead. */
    bool limit;
} hn_parameter;

extern const hn_parameter hn_params_none[];

/* A word that the parameter takes; NULL: there are no more, or it takes something else. */
const char *hn_param_word(const hn_parameter *p, int i);
/* For messages: appends ", word" or "word"; a list that is full stays as it is. */
void hn_list_add(char *list, size_t size, const char *word);
/* "flag", "word", ... */
const char *hn_param_kind_name(hn_param_kind kind);
/* It is given for patterns of layers, any number of times. */
static inline bool hn_param_is_of_layers(const hn_parameter *p) {
    return p->kind == HN_PARAM_LAYER || p->kind == HN_PARAM_LAYER_COUNT ||
           p->kind == HN_PARAM_LAYER_NUMBER;
}
#define HN_FILE_HASH "sha256:" /* what a hash in the place of a path begins with */
/* HONE_E_ARG: the parameter does not take the value; the text says what it takes. */
hone_status hn_param_check(const hn_parameter *p, const char *value, hn_error *err);

/* ---- transforms ---- */

typedef enum hn_stage {
    HN_STAGE_FIRST,
    HN_STAGE_SHRINK,
    HN_STAGE_BEFORE,
    HN_STAGE_WEIGHTS,
    HN_STAGE_WRITE,
    HN_STAGE_AFTER,
} hn_stage;

enum {
    HN_NEEDS_NOTHING = 0,
    HN_NEEDS_DATA = 1,
    HN_NEEDS_RANGES = 2,   /* of activations, and types of layers, are known before */
    HN_NEEDS_QUANTIZE = 4, /* the list has `quantize` */
    HN_NEEDS_TRAINING = 8, /* it trains on all samples, for types of layers that are settled */
};

/* What became of an epoch of training. */
typedef struct hn_told_epoch {
    int64_t epoch, epochs; /* done; 0: before any training */
    int bits;              /* that the epoch was trained in at least; 0: those of the types */
    double loss, rate, samples_per_second;
    char metric[64]; /* what scores are */
    bool is_share;
    double score,
        float_score; /* of what would be written, and of the float model; NaN: not known */
    bool kept;       /* the best so far, or the last where there is no score */
} hn_told_epoch;

/* Who is told of training, and what it is judged by. */
typedef struct hn_training_told {
    hn_dataset *val;                                  /* NULL: none */
    bool (*epoch)(void *ctx, const hn_told_epoch *e); /* may be NULL; false ends it: HONE_E_LIMIT */
    void *ctx;
} hn_training_told;

typedef struct hn_transform_ctx {
    hn_model *model; /* edited; at HN_STAGE_AFTER the quantized one */
    /* HN_STAGE_AFTER: the float one it was made of. HN_STAGE_SHRINK: as it was before the first of
     * these, where there are samples; else NULL. */
    const hn_model *original;
    const hn_recipe_step *step; /* its parameters; NULL: all have their usual values */
    const hn_scheme *scheme;
    const hn_calibration *calibration; /* from HN_STAGE_WEIGHTS on; NULL: no layer is static */
    hn_grids *grids;     /* of weights that have one chosen; not at HN_STAGE_AFTER. NULL: nowhere to
                            put any, then methods before choose none */
    const hn_feed *feed; /* NULL: no data */
    int64_t samples;     /* to look at, at most; 0: all */
    hn_dataset *data;    /* all samples there are, to train on; NULL: none */
    const hn_training_told *training; /* may be NULL */
    uint64_t seed;
    const hn_run_options *how;
    hn_allocator *alloc;
    bool widened;               /* the model came in 16 bits, and is f32 meanwhile */
    hn_quantize_report *report; /* of HN_STAGE_WRITE */
    hn_shrinking *shrinking;    /* of HN_STAGE_SHRINK */
    /* May be NULL; false ends it: HONE_E_LIMIT. */
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
    int64_t changed; /* layers it changed; `simplify`: rewrites */
} hn_transform_ctx;

typedef hone_status hn_transform_fn(hn_transform_ctx *c, hn_error *err);
/* Reads the parameters into the plan, before anything is done. */
typedef hone_status hn_plan_fn(hn_compress_plan *p, const hn_recipe_step *s, hn_error *err);

#define HN_TRANSFORM(name, stage, needs, params, plan, help) hn_transform_fn hn_transform_##name;
#include "compress/transforms.def"
#undef HN_TRANSFORM

typedef struct hn_transform {
    const char *name;
    hn_stage stage;
    unsigned needs;
    const hn_parameter *params;
    hn_plan_fn *plan; /* NULL: its parameters matter to nobody else */
    hn_transform_fn *run;
    const char *help; /* one line */
} hn_transform;

int hn_transform_count(void);
const hn_transform *hn_transform_at(int i);
const hn_transform *hn_transform_named(const char *name); /* NULL: there is none */
static inline bool hn_transform_is_method(const hn_transform *t) {
    return (t->needs & HN_NEEDS_QUANTIZE) != 0;
}
/* NULL: it has no such parameter. */
const hn_parameter *hn_transform_param(const hn_transform *t, const char *name);

#endif
