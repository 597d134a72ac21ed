/* Weights as the methods on weights leave them, for each of several types that layers may get: made
 * once, before types are chosen, so that what is measured then is what will be written.
 *
 *     model, all layers in type t ─▶ methods on weights ─▶ a model with its weights on grids of t
 *     a set of types              ─▶ each layer's weight from the model of its type
 */
#ifndef HN_COMPRESS_ROUNDED_H
#define HN_COMPRESS_ROUNDED_H

#include "compress/layer_type.h"
#include "compress/weighted.h"

typedef struct hn_rounded_type {
    hn_qtype type;
    hn_model *model;
} hn_rounded_type;

typedef struct hn_rounded {
    int n;
    hn_rounded_type *v;
    hn_grids *grids; /* of all types */
} hn_rounded;

/* Types of weights that methods on weights are for: those of fewer than 8 bits, which need them, or
 * all integers where none of the n types has so few. */
bool hn_rounded_serves(const hn_qtype *t, const hn_layer_type *const *types, int n);
/* Gives the layers of m, a clone of the model they were made of, the weights of their types.
 * Weights of types that are not among them, and those that methods left alone, stay. */
hone_status hn_rounded_apply(const hn_rounded *r, hn_model *m, const hn_scheme *s, hn_error *err);
void hn_rounded_deinit(hn_rounded *r, hn_allocator *alloc); /* all zero accepted */

#endif
