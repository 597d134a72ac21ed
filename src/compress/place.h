/* Placement: which values of a graph become integers, and which of them share a scale.
 *
 * Where hone runs in integers is what lower_quant.h of the engine says; the same here, the other
 * way round. Every node has a part:
 *
 *   product  Conv, Gemm, MatMul with a constant weight: its input is quantized
 *   sum      Add, Sub, Mul: both inputs
 *   mean     averages over images
 *   table    a function of one number; right behind a product it is part of that
 *   limit    Relu, Clip, a bias: part of what it follows
 *   move     what only moves elements or takes the largest: input and output share a scale
 *   join     Concat: all inputs and the output share one
 *
 * A product runs in integers whatever stands around it. Another node does so if its inputs are
 * inputs of the model or come from nodes that do, and if one that does reads its result: else it
 * would only be an island that numbers are converted for. For targets that have results apart
 * a mean does so whoever reads it.
 *
 * A value is held (a pair of QuantizeLinear and DequantizeLinear stands behind it) when a node that
 * runs in integers reads it, unless the two are one step: a limit behind what it limits or behind
 * an input of the model, a table behind a product, a product and what is added to it.
 */
#ifndef HN_COMPRESS_PLACE_H
#define HN_COMPRESS_PLACE_H

#include "compress/grid.h"
#include "compress/weighted.h"

/* A row each of targets.def. */
struct hn_quant_target {
    const char *name, *help;
    bool symmetric;     /* activations are signed, with zero point 0, whatever the scheme says */
    bool bias;          /* is s32; else it stays in floats */
    bool apart;         /* the results of products and means are held whatever reads them */
    bool sums_apart;    /* a product is held before something is added to it */
    bool moves;         /* what nodes that move elements give is held too */
    bool zeros;         /* zero points are written where they are 0, too */
    bool drop_limits;   /* Relu goes where quantizing does its work */
    bool signed_inputs; /* inputs of the model that may be negative are signed, zero point 0 */
    bool two_bits;      /* it knows types of 2 bits */
};
int hn_quant_target_count(void);
const hn_quant_target *hn_quant_target_at(int i);
const hn_quant_target *hn_quant_target_named(const char *name); /* NULL: there is none */
/* A type of activations, and of constants that are added to them, as the target takes it. */
hn_qtype hn_quant_target_type(const hn_quant_target *t, hn_qtype type);

typedef enum hn_part {
    HN_PART_NONE, /* computes in floats whatever is done */
    HN_PART_PRODUCT,
    HN_PART_SUM,
    HN_PART_MEAN,
    HN_PART_TABLE,
    HN_PART_LIMIT,
    HN_PART_MOVE,
    HN_PART_JOIN,
} hn_part;

/* The part that nodes of n's operator have; of products, which weights make one: none. */
hn_part hn_part_named(const hn_node *n);

typedef struct hn_placed_node {
    hn_node *node;
    hn_part part;
    bool integer;
    const char *why; /* it is not; NULL: there is nothing to say */
} hn_placed_node;

typedef struct hn_placed_value {
    hn_value *value;
    bool held;
    int same; /* id of a value it shares its scale with, its own where it leads them */
    hn_qtype type;
    bool known; /* the range follows from what computes it */
    hn_range range;
} hn_placed_value;

typedef struct hn_placement {
    const hn_scheme *scheme;
    hn_graph *graph;
    int n_nodes;
    hn_placed_node *nodes;   /* in order */
    hn_placed_value *values; /* by id */
    int *made_by;            /* by id of a value: which node; -1: none */
} hn_placement;

/* In the arena. g is only read. */
hone_status hn_place(hn_placement *p, hn_graph *g, const hn_scheme *s, hn_arena *arena,
                     hn_error *err);
/* The value that leads those that v shares its scale with. */
hn_placed_value *hn_placed_leader(const hn_placement *p, const hn_value *v);
/* The node that has v as input i takes it as activations. */
bool hn_part_reads(const hn_placed_node *n, int i);

#endif
