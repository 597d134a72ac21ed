/* Placement: which values of a graph become integers, and which of them share a scale.
 *
 * Where hone runs in integers is what lower_quant.h of the engine says; the same here, the other
 * way round. The operator of a node has a role (ops/op.h), which says what is quantized:
 *
 *   product       its input; the weight is in integers anyway
 *   state         its input X; the weights are in integers anyway, what it gives are floats
 *   add, sub, mul both inputs
 *   mean          its input
 *   table         its input; right behind a product it is part of that
 *   limit, bias   nothing: it is part of what it follows
 *   move, max     its input, which shares a scale with the output
 *   join          all inputs, which share one scale with the output
 *
 * A product and a state run in integers whatever stands around them. Another node does so if its inputs are
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
    bool states;        /* recurrent layers multiply their input in integers, by a known range */
};
int hn_quant_target_count(void);
const hn_quant_target *hn_quant_target_at(int i);
const hn_quant_target *hn_quant_target_named(const char *name); /* NULL: there is none */
/* A type of activations, and of constants that are added to them, as the target takes it. */
hn_qtype hn_quant_target_type(const hn_quant_target *t, hn_qtype type);

typedef struct hn_placed_node {
    hn_node *node;
    hn_role role;
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
/* n takes its input i as activations. */
bool hn_placed_reads(const hn_placed_node *n, int i);
/* n is part of the step of what it reads. */
static inline bool hn_placed_follows(const hn_placed_node *n) {
    return n->role == HN_ROLE_LIMIT || n->role == HN_ROLE_BIAS;
}
/* n takes two inputs, of which one may be a constant. */
static inline bool hn_placed_is_binary(const hn_placed_node *n) {
    return n->role == HN_ROLE_ADD || n->role == HN_ROLE_SUB || n->role == HN_ROLE_MUL;
}

#endif
