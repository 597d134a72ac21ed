/* How much pruning takes away, where a limit is given and no share.
 *
 *     max-drop=1%       kinds that make weights zero: each layer is pruned alone at several shares
 *                       (prune_scan.c); sets of shares that keep most for the noise they cause are
 *                       tried on the samples to judge by, by halving (budget.h)
 *                       channels, heads, blocks, and one threshold for all layers: the share of
 *                       all of them, by halving
 *     max-latency=60%   channels, heads, blocks: likewise the least share that is fast enough
 *
 * What is tried is a copy of the model, pruned by a line that has shares in the place of limits. The
 * line that is found is done then, and stands in the recipe, so that the recipe gives the same
 * bytes without looking for anything.
 */
#ifndef HN_COMPRESS_PRUNE_SEARCH_H
#define HN_COMPRESS_PRUNE_SEARCH_H

#include "compress/prune.h"
#include "compress/recipe.h"

typedef struct hn_prune_limits {
    double max_drop;          /* of the metric; negative: no limit */
    bool relative;            /* it is a share of what the metric was */
    double max_share, max_ms; /* of a run, beside the model as it is; 0: no limit */
    bool scan;                /* what each layer loses alone is to be told */
} hn_prune_limits;
/* HONE_E_ARG: a limit is not understood, or does not go with what else the line says. */
hone_status hn_prune_read_limits(hn_prune_limits *l, const hn_pruning_kind *kind,
                                 const hn_pruning *p, hn_error *err);

typedef struct hn_prune_search {
    hn_transform_ctx *c;
    const hn_pruning_kind *kind;
    const hn_pruning *p;
    hn_prune_limits limits;
    hn_arena *arena;     /* of all lists */
    int64_t done, total; /* of what is tried */
} hn_prune_search;

/* The line without its limits, as *found, in the arena; with a limit, with the shares that were
 * found, which the recipe gets too. HONE_E_NOT_FOUND: nothing can be taken away within the limit. */
hone_status hn_prune_find(hn_prune_search *s, hn_recipe_step *found, hn_error *err);

/* ---- for what it consists of ---- */

/* A copy of the line without limits and without the settings of these names (NULL ends them), with
 * room for so many more. */
hone_status hn_prune_line(const hn_prune_search *s, const char *const *but, int room,
                          hn_recipe_step *out, hn_error *err);
void hn_prune_set(hn_recipe_step *s, const char *name, const char *pattern, const char *value);
/* A copy of the model, pruned by the line. told: gets a row for each layer; may be NULL. *changed:
 * layers, may be NULL. inputs_of: as for hn_prune_step. */
hone_status hn_prune_try(hn_prune_search *s, const hn_recipe_step *line, hn_model *inputs_of,
                         hn_model **out, hn_shrinking *told, int64_t *changed, hn_error *err);
/* One more of the total is done. HONE_E_LIMIT: it is to end. */
hone_status hn_prune_tried(hn_prune_search *s, hn_error *err);

/* The samples to judge by. HONE_E_ARG: they have no labels; NULL and HONE_OK where `may_lack`. */
hone_status hn_prune_judges(const hn_prune_search *s, bool may_lack, hn_dataset **out,
                            hn_error *err);

/* Shares that are scanned, as texts. */
enum { HN_SCAN_LEVELS = 7 };
extern const char *const hn_scan_levels[HN_SCAN_LEVELS];
/* Each layer alone at each share; scores too, with samples to judge by. Into *out, whose lists are in
 * `keep`. HONE_E_ARG: there are no samples, or no layer may be pruned. */
hone_status hn_prune_scan(hn_prune_search *s, hn_dataset *judges, hn_layer_scan *out,
                          hn_arena *keep, hn_error *err);

#endif
