/* Layers as methods see them: a node with a constant weight that the scheme puts into integers. */
#ifndef HN_COMPRESS_WEIGHTED_H
#define HN_COMPRESS_WEIGHTED_H

#include "compress/grid.h"
#include "ops/op.h"

typedef struct hn_weighted {
    hn_node *node;
    hn_value *input;
    hn_value *weight; /* the constant; the node may see it through Transpose and Identity */
    int index;        /* of the node's input that is the weight */
    hn_value *bias;   /* a constant vector; NULL: none */
    int channel_axis; /* of the weight: output channels */
    int sum_axis;     /* of the weight: what is summed over, before kernel axes; -1: depthwise */
    hn_weight_kind kind;
    bool transposed;   /* the input is, before it is multiplied */
    float alpha, beta; /* what the product and the bias are multiplied by */
    hn_layer_scheme scheme;
} hn_weighted;

/* What the scheme asks of a node. *named: a rule says so, not what holds for all; may be NULL. */
hn_layer_scheme hn_scheme_of(const hn_scheme *s, const hn_node *n, bool *named);

/* The scheme has layers of these kinds, by a rule or for all. */
bool hn_scheme_wants(const hn_scheme *s, hn_layer_kind least, hn_layer_kind most);

/* The float type that the scheme, which is ctx, has a node computed in: for hn_convert. One that
 * came in 16 bits and keeps many weights goes back to them, unless a rule says f32. */
hone_dtype hn_scheme_float(void *ctx, const hn_node *n);

/* The operator of n multiplies by weights, and is none with a state. */
bool hn_has_weights(const hn_node *n);

/* n as such a layer; false: it is none, and *why (may be NULL) says why a node with weights is
 * not; NULL where there is nothing to say. */
bool hn_weighted_of(hn_node *n, const hn_scheme *s, hn_weighted *w, const char **why);

/* The same of recurrent nodes too, which are two such layers: the weights of the input and those of
 * the state; the bias counts as that of the first. How many n is; 0: none, and *why as above. */
int hn_weights_of(hn_node *n, const hn_scheme *s, hn_weighted w[2], const char **why);

/* A constant that n reads is a matrix of floats, or has more axes that are longer than 1. */
bool hn_reads_matrix(const hn_node *n);

/* The layers with f32 weights of the model's own graph (not of subgraphs), in order. In the arena.
 * Weights in integers: kinds from HN_LAYER_WEIGHTS on. Dynamic layers are products with matrices,
 * and convolutions where a rule names them. */
hone_status hn_weighted_layers(hn_model *m, const hn_scheme *s, hn_arena *arena, hn_weighted **out,
                               int *n, hn_error *err);

/* The type of its weight, where groups along what is not summed over are channels. */
hn_qtype hn_weighted_type(const hn_weighted *w);
/* The grid of its weight where no method has chosen one: below 8 bits that of the least squared
 * error, as a scale by the largest of many weights then leaves too few steps for the others. */
hone_status hn_weighted_grid(hn_grid *g, const hn_weighted *w, hn_pool *pool, hn_allocator *alloc,
                             hn_error *err);

/* Puts those of n layers first, in order, that methods on weights are for, and returns how many:
 * those of fewer than 8 bits, which need it, or all where none has so few. */
int hn_weighted_to_round(hn_weighted *layers, int n);

#endif
