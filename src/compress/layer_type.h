/* What layers may become, by the names people give it: "int8", "f16" ... A row each of
 * layer_types.def. */
#ifndef HN_COMPRESS_LAYER_TYPE_H
#define HN_COMPRESS_LAYER_TYPE_H

#include "compress/scheme.h"

typedef struct hn_layer_type {
    const char *name, *help;
    hn_layer_scheme layer;
} hn_layer_type;

int hn_layer_type_count(void);
const hn_layer_type *hn_layer_type_at(int i);
const hn_layer_type *hn_layer_type_named(const char *name); /* NULL: there is none */
/* HONE_E_ARG with the names there are. */
hone_status hn_layer_type_find(const hn_layer_type **out, const char *name, hn_error *err);

/* What is wanted otherwise than the types have it. */
typedef struct hn_layer_changes {
    /* Of weights u8 s8 s16 u4 s4 u2 s2, of static activations u8 s8 u16 s16; HONE_DTYPE_NONE: as
     * the type of the layer says. Unsigned weights have zero points, unless `symmetric`. */
    hone_dtype weights, activations;
    int bits;            /* of weights, 1 to 16, in the narrowest type that holds them; 0: all */
    int activation_bits; /* of static activations, 2 to 16; likewise */
    bool per_tensor;     /* one scale for all of a weight */
    bool symmetric;      /* activations too */
    bool reduce_range; /* s8 weights that are multiplied in integers keep to 7 bits: the sum of two
                            of their products with u8 fits 16 bits */
    int64_t group;     /* elements of weights that share a scale; 0: one for all of a channel;
                            negative: as the type of the layer says */
} hn_layer_changes;
/* No change at all. */
hn_layer_changes hn_layer_changes_none(void);
hone_status hn_layer_change(hn_layer_scheme *layer, const hn_layer_changes *c, hn_error *err);

#endif
