/* What transforms of HN_STAGE_SHRINK share: the layers they may change, what is told of each, and
 * what later steps must keep.
 *
 * A transform that makes weights zero, or equal to each other, leaves word of it by
 * hn_shrinking_keep. Training (`train`) then changes only weights that are not zero, and weights
 * that are equal together, so that what was gained stays.
 */
#ifndef HN_COMPRESS_SHRINKING_H
#define HN_COMPRESS_SHRINKING_H

#include <string.h>

#include "compress/transform.h"
#include "compress/weighted.h"

/* What became of a layer; a row of the table people read. */
typedef struct hn_shrunk_layer {
    const char *transform, *layer, *op;
    const char *what;      /* "80 % zeros"; NULL: it was left alone */
    const char *why_not;   /* NULL: it was not */
    int64_t weights, kept; /* elements before; those that are not zero now */
    double error;          /* of its outputs on samples, noise by signal; NaN: not known */
} hn_shrunk_layer;

enum {
    HN_KEEPS_ZEROS = 1, /* weights that are zero stay zero */
    HN_KEEPS_TIES = 2,  /* weights of one tensor that are equal stay equal */
};

typedef struct hn_kept_weight {
    const char *name; /* of the constant */
    unsigned keeps;
} hn_kept_weight;

/* What pruning one layer at a time does to the model: rows are layers, columns shares of their
 * weights. */
typedef struct hn_layer_scan {
    int n, n_levels;
    const char **layers;
    double *levels;
    int64_t *weights;   /* of each layer, that are not zero before */
    int64_t *kept;      /* [n, n_levels]: of these afterwards */
    double *noise;      /* likewise: noise by signal of the model's outputs */
    double *scores;     /* likewise, of the model; NULL: not measured */
    const char *metric; /* what scores are; NULL: there are none */
    bool is_share, lower_better;
    double before; /* the score of the model as it is; NaN: not measured */
} hn_layer_scan;

/* A setting that a transform found out, as the recipe of what was done spells it. */
typedef struct hn_found_setting {
    const hn_recipe_step *step;
    const char *text;
} hn_found_setting;

/* What the transforms of a recipe tell each other and their caller. */
struct hn_shrinking {
    hn_arena arena; /* of all lists and texts */
    int n, room;
    hn_shrunk_layer *v; /* in the order the changes were made */
    int n_kept, room_kept;
    hn_kept_weight *kept;
    double score;    /* of the model before, by what training is judged by; NaN: not known */
    hn_model *early; /* as it was at the step that `train` was to remember; NULL: none */
    int n_found, room_found;
    hn_found_setting *found;
    hn_layer_scan scan; /* of the last transform that made one; n 0: none */
};
void hn_shrinking_init(hn_shrinking *s, hn_allocator *alloc);
void hn_shrinking_deinit(hn_shrinking *s); /* all zero accepted */

/* Appends a row; texts are copied. c->shrinking may be NULL: then nobody wants to know. */
hone_status hn_shrinking_tell(const hn_transform_ctx *c, const hn_shrunk_layer *row, hn_error *err);
/* The constant of that name keeps this from now on, beside what it keeps already. */
hone_status hn_shrinking_keep(const hn_transform_ctx *c, const char *name, unsigned keeps,
                              hn_error *err);
/* The recipe of what was done has this setting of the running transform, "layer-rank:fc1=64", and none of
 * those that limit what it looks for. */
hone_status hn_shrinking_found(const hn_transform_ctx *c, const char *text, hn_error *err);
/* What the constant of that name keeps. */
unsigned hn_shrinking_keeps(const hn_shrinking *s, const char *name);

/* Some pattern of the list, which is cut at commas, matches. */
bool hn_shrinking_is_listed(const char *list, const char *name);
/* Element i of an f32 constant. Those of a mapped file may lie at any address. */
static inline float hn_weight_at(const hn_tensor *t, int64_t i) {
    float x;
    memcpy(&x, (const char *)t->data + i * (int64_t)sizeof x, sizeof x);
    return x;
}

/* The layers of the model's own graph with a constant f32 weight, in order; in the arena. One that
 * matches no pattern of `only` (NULL: all do) or one of `except` (NULL: none does), lists separated
 * by commas, is left out without a word. */
hone_status hn_shrinking_layers(const hn_transform_ctx *c, const char *only, const char *except,
                                hn_arena *arena, hn_weighted **out, int *n, hn_error *err);
/* A copy of the layer's weight that may be changed, in its place. Of a weight that other nodes read
 * too: HONE_E_ARG; ask hn_used_once before. */
hone_status hn_shrinking_edit(const hn_transform_ctx *c, const hn_weighted *w, float **data,
                              hn_error *err);

#endif
