/* A scheme: the data that describes a quantization. Which nodes, in which types, at which
 * granularity, for which runtime. Methods read it; it holds no results. */
#ifndef HN_COMPRESS_SCHEME_H
#define HN_COMPRESS_SCHEME_H

#include "ir/ir.h"

/* How numbers are stored as integers. */
typedef struct hn_qtype {
    hone_dtype dtype; /* u8 s8 u16 s16 u4 s4 u2 s2; HONE_DTYPE_NONE: they are left as they are */
    int bits;         /* that are used, 2 to those of the dtype; 1: two levels, -1 and 1 times the
                         scale */
    bool symmetric;   /* zero point 0, or the middle of an unsigned type; s8 then is -127 to 127 */
    bool per_channel; /* weights: a scale per output channel */
    int64_t group;    /* weights: a scale per so many of what is summed over; 0: no groups */
    bool reduced;     /* weights: bits is one less than the dtype has, which stores them all the
                         same */
} hn_qtype;

static inline bool hn_qtype_equal(const hn_qtype *a, const hn_qtype *b) {
    return a->dtype == b->dtype && a->bits == b->bits && a->symmetric == b->symmetric &&
           a->per_channel == b->per_channel && a->group == b->group && a->reduced == b->reduced;
}
/* Integers so few that how weights are rounded to them matters. */
static inline bool hn_qtype_is_narrow(const hn_qtype *t) {
    return t->dtype != HONE_DTYPE_NONE && t->bits < 8 && !t->reduced;
}
/* Bits that a code takes in a file. */
static inline int hn_qtype_stored_bits(const hn_qtype *t) { return t->bits + t->reduced; }
/* The same type with its whole range. */
static inline hn_qtype hn_qtype_whole(hn_qtype t) {
    t.bits = hn_qtype_stored_bits(&t);
    t.reduced = false;
    return t;
}

/* What becomes of a layer, which is a node with weights or one that runs beside them. */
typedef enum hn_layer_kind {
    HN_LAYER_F32, /* left as it is */
    HN_LAYER_F16, /* stored, and where that is possible computed, in f16 */
    HN_LAYER_BF16,
    HN_LAYER_WEIGHTS, /* weights in integers, computed in floats */
    HN_LAYER_DYNAMIC, /* and activations by their range at run time */
    HN_LAYER_STATIC,  /* and activations by their range in the calibration data */
} hn_layer_kind;

typedef struct hn_layer_scheme {
    hn_layer_kind kind;
    hn_qtype weights, activations;
} hn_layer_scheme;

typedef struct hn_scheme_rule {
    const char *name; /* pattern as in engine/layers.h */
    hn_layer_scheme layer;
} hn_scheme_rule;

/* The runtime a model is written for: where Q/DQ go. A row each of compress/targets.def. */
typedef struct hn_quant_target hn_quant_target;

typedef struct hn_scheme {
    hn_layer_scheme layer; /* of all nodes that no rule names */
    int n_rules;
    const hn_scheme_rule *rules; /* the last that matches holds */
    const hn_quant_target *target;
    bool embeddings; /* tables that Gather reads are weights too */
    bool integer_io; /* inputs and outputs are integers as well */
    bool simulate;   /* numbers are rounded as they would be and stay f32 */
} hn_scheme;

#endif
