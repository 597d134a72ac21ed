/* Recipes: what is done to a model, as a text that does it again to the same bytes.
 *
 *     hone recipe 2
 *     name int8-helped                          for people
 *     source 9f86d081...                        SHA-256 of the model's file
 *     data 2c26b46b...                          SHA-256 of the samples that were looked at
 *     part rest                                of the data, as `optimize` cuts it by the seed
 *     samples 512                               to look at, spread evenly over the data; 0: all
 *     batch 16                                  samples of a run
 *     seed 1
 *     for onnxruntime                           the runtime that the model is written for
 *     simplify
 *     equalize
 *     quantize type=int8 ranges=mse layer:head*=f32
 *     bias
 *     # int8-helped: 1.20 ms, 2.1 MB            lines that begin with # are for people
 *
 * A line for each transform (transform.h), in the order of their stages, with its parameters. Only
 * transforms of the stage `shrink` may have several lines. The
 * lines above them say what holds for all; none of them is needed. A word with a space, ; or ' in it
 * stands between ', and a ' inside it is doubled: 'layer:it''s me=f32'.
 *
 * A ; ends a line as well. The metadata of a model holds its recipe so, in one line, without source
 * and data, which have keys of their own (lineage.h).
 *
 * hn_recipe_read also reads what hone 0.1 wrote: recipes of `hone optimize` ("hone recipe 1"), and
 * the line that `hone quantize` put into the metadata (recipe_old.c).
 */
#ifndef HN_COMPRESS_RECIPE_H
#define HN_COMPRESS_RECIPE_H

#include "base/sha256.h"
#include "compress/scheme.h"
#include "compress/transform.h"

enum { HN_RECIPE_STEPS = 64, HN_RECIPE_NAME = 64 };
#define HN_RECIPE_SAMPLES 512 /* to look at where a recipe does not say */

typedef struct hn_setting {
    const hn_parameter *param;
    const char *pattern; /* of HN_PARAM_LAYER */
    const char *value;   /* of HN_PARAM_FLAG: "" */
} hn_setting;

struct hn_recipe_step {
    const hn_transform *transform;
    int n;
    hn_setting *v;
};

typedef struct hn_recipe {
    hn_arena *arena;                                 /* of all texts and lists */
    char name[HN_RECIPE_NAME];                       /* "": none */
    char source[HN_SHA256_HEX], data[HN_SHA256_HEX]; /* "": not known */
    char part[HN_RECIPE_NAME]; /* of the data (advise/parts.h); "": all of it */
    int64_t samples;           /* negative: HN_RECIPE_SAMPLES */
    int64_t batch;             /* 0: 16, or the model's */
    uint64_t seed;
    const hn_quant_target *target; /* NULL: hone */
    int n;
    hn_recipe_step steps[HN_RECIPE_STEPS];
} hn_recipe;

/* ---- making one ---- */

/* Of no transform. */
void hn_recipe_init(hn_recipe *r, hn_arena *arena);
/* Puts a transform behind those of its stage. Pointers to steps no longer hold. HONE_E_ARG: it is
 * there already, or another one that writes types is. */
hone_status hn_recipe_add(hn_recipe *r, const hn_transform *t, hn_error *err);
/* Sets a parameter as a recipe spells it: "ranges=mse", "embeddings", "layer:head*=f32". HONE_E_ARG:
 * there is no such parameter, it is set already, or it does not take the value. */
hone_status hn_recipe_set(hn_recipe *r, hn_recipe_step *s, const char *word, hn_error *err);
hone_status hn_recipe_setf(hn_recipe *r, hn_recipe_step *s, hn_error *err, const char *format, ...)
    HONE_PRINTF(4, 5);
/* Sets what is set in another recipe, or in an earlier form of this one. */
hone_status hn_recipe_keep(hn_recipe *r, hn_recipe_step *s, const hn_setting *set, hn_error *err);

/* The runtime of that name, which the model is written for. HONE_E_ARG: there is none. */
hone_status hn_recipe_set_target(hn_recipe *r, const char *name, hn_error *err);

/* ---- texts ---- */

/* The same for equal recipes; without remarks. */
hone_status hn_recipe_write(const hn_recipe *r, bool one_line, hn_arena *arena, char **text,
                            hn_error *err);
/* The line of one transform. */
hone_status hn_recipe_write_step(const hn_recipe_step *s, hn_arena *arena, char **text,
                                 hn_error *err);
/* HONE_E_FORMAT names the line, the word, what was found and what is wanted. */
hone_status hn_recipe_read(hn_recipe *r, const char *text, hn_arena *arena, hn_error *err);

/* ---- asking it ---- */

/* HONE_E_ARG: some transform is for another that is not there. */
hone_status hn_recipe_check(const hn_recipe *r, hn_error *err);
/* The transform that gives layers their types; NULL: none does. */
hn_recipe_step *hn_recipe_writer(const hn_recipe *r);
/* The value of one of its parameters; NULL: it has none. */
const char *hn_recipe_word(const hn_recipe *r, const char *name);
const hn_setting *hn_step_setting(const hn_recipe_step *s, const char *name); /* NULL: not set */
/* The value, or the usual one where it is not set; NULL and NaN: there is none. */
const char *hn_step_word(const hn_recipe_step *s, const char *name);
double hn_step_number(const hn_recipe_step *s, const char *name);
bool hn_step_flag(const hn_recipe_step *s, const char *name);
static inline bool hn_step_trains(const hn_recipe_step *s) {
    return hn_transform_param(s->transform, "epochs") != NULL;
}
bool hn_recipe_trains(const hn_recipe *r);

/* ---- within recipes ---- */

/* A whole number up to most. */
bool hn_recipe_whole(const char *word, uint64_t most, uint64_t *v);
/* What version 0.1 wrote. *line: that an error is about. */
hone_status hn_recipe_read_1(hn_recipe *r, char *text, int *line, hn_error *err);
hone_status hn_recipe_read_options(hn_recipe *r, char *text, hn_error *err);

#endif
