/* How each node is computed: in integers or floats, and how exact sums of products are.
 *
 * One way holds for all nodes, and rules for those whose names they match; of several rules that
 * match the last one holds. A node without a name has that of its first output. A step has the way
 * of the node that it is made for, which for products is the product itself, whatever it takes in
 * later.
 *
 * Where nobody says how, each node is computed in what the model writes it in: products of integers
 * in integers, those of bf16 in bf16 where this machine has kernels for it that are faster (they
 * decline what FMA does as fast), all others in f32. Those of f16 too: bf16 would lose three bits
 * of eleven.
 */
#ifndef HN_ENGINE_LAYERS_H
#define HN_ENGINE_LAYERS_H

#include "engine/plan.h"

typedef struct hn_layer_precision {
    hn_precision precision;
    bool no_integers; /* what is dequantized is computed in float */
    bool as_written;  /* what the model writes in bf16 may be as inexact as that */
} hn_layer_precision;

typedef struct hn_layer {
    const char *name; /* a pattern (base/pattern.h), unless `exact` */
    bool exact;
    hn_layer_precision way;
} hn_layer;

typedef struct hn_layers {
    hn_layer_precision way;
    int n;
    const hn_layer *rules;
} hn_layers;

hn_layer_precision hn_layers_of(const hn_layers *l, const hn_node *n);
const char *hn_layer_name(const hn_node *n);

/* The way that is called "f32", "bf16", "int8" ...; false: there is none. */
bool hn_layer_precision_named(const char *name, size_t n, hn_layer_precision *way);
/* How a graph is computed where nobody says how: as it is written. */
hn_layer_precision hn_graph_stored_precision(const hn_graph *g);
/* What to call that: "int8" of a graph that holds integers; by its float constants of two axes or
 * more "bf16", "mixed" where some of them are bf16, "f32". */
const char *hn_graph_precision(const hn_graph *g, hn_isa isa);
/* Some kernel that needs no more than isa computes in that. */
bool hn_has_kernels(hn_isa isa, hn_precision precision);
/* What to call products that compute in these (bit p: as hn_precision p): the least exact of them;
 * "mixed" where products were told apart and there are several. */
const char *hn_precisions_name(uint32_t used, bool told_apart);
/* What a step computes in, by the same names. */
const char *hn_step_precision(const hn_step *s);
/* Why a product computes in that, in the arena; its kernel is chosen. NULL: out of memory. */
const char *hn_layers_explain(const hn_layers *l, const hn_step *s, hn_isa isa, hn_arena *arena);
/* Takes apart "PATTERN:PRECISION,..."; *rules, with the names, is one block of alloc. */
hone_status hn_layers_read(const char *text, hn_allocator *alloc, hn_layer **rules, int *n,
                           hn_error *err);
/* Fails if a rule matches no node of the model, or one for integers none that is quantized. */
hone_status hn_layers_check(const hn_layers *l, const hn_model *m, hn_error *err);

#endif
