/* Recipes: what was done to a model, as a text that does it again to the same bytes.
 *
 *     hone recipe 1
 *     name int8
 *     layer '*' static s8:symmetric:channel u8      weights, then activations
 *     layer 'head*' f32                             the last that matches a node holds
 *     for onnxruntime                               what is to run it; hone if nothing is said
 *     ranges mse
 *     method equalize
 *     seed 1
 *     source 9f86d081...                            SHA-256 of the model's file
 *     calibration 512 2c26b46b...                   samples, SHA-256 of the inputs they make
 *     # int8: 1.20 ms, 2.1 MB, top1 91.2 %          measurements, for people
 *
 * A word and its values a line; lines that begin with # say nothing to the machine. A layer without
 * types is stored as its kind says.
 */
#ifndef HN_ADVISE_RECIPE_H
#define HN_ADVISE_RECIPE_H

#include "base/sha256.h"
#include "compress/compression.h"

enum { HN_RECIPE_METHODS = 16, HN_RECIPE_NAME = 64 };

typedef struct hn_recipe {
    char name[HN_RECIPE_NAME]; /* of the candidate, for people */
    hn_layer_scheme layer;
    bool embeddings;
    hn_range_method ranges;
    const hn_quant_target *runtime; /* that the model is written for; NULL: hone */
    int n_methods;
    const hn_method *methods[HN_RECIPE_METHODS];
    int n_rules;
    hn_scheme_rule *rules; /* in the arena of whoever made the recipe */
    uint64_t seed;
    char source[HN_SHA256_HEX];      /* "": not known */
    int64_t samples;                 /* of calibration; 0: none */
    char calibration[HN_SHA256_HEX]; /* their hash; "": not known */
} hn_recipe;

/* Whether it needs data that ranges or methods look at. */
bool hn_recipe_needs_data(const hn_recipe *r);
/* The text, without measurements, in the arena; the same for equal recipes. */
hone_status hn_recipe_write(const hn_recipe *r, hn_arena *arena, char **text, hn_error *err);
/* Rules go to the arena. HONE_E_FORMAT names the line. */
hone_status hn_recipe_read(hn_recipe *r, const char *text, hn_arena *arena, hn_error *err);

/* Where a recipe is carried out. */
typedef struct hn_kitchen {
    const hn_model *model;
    hn_dataset *calibrate; /* NULL: none */
    hn_how how;
    const hn_mix *mix;   /* the types of single layers are found out; NULL: the recipe has them */
    hn_arena *arena;     /* of the rules that come of it */
    hn_allocator *alloc; /* of what is made */
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
} hn_kitchen;
/* The recipe gets the hash of the samples and the rules that were found out, and the model where it
 * comes from (compress/lineage.h).
 * HONE_E_ARG: there are no samples where it wants some, or they are not those it names. */
hone_status hn_recipe_apply(hn_recipe *r, const hn_kitchen *k, hn_compressed *out, hn_error *err);

#endif
