/* Channels that can only be taken out together: which positions along an axis of a value go with
 * which positions of others, found from the graph.
 *
 *     a = Conv (x, w1)      makes 64 channels                    w1 axis 0, bias
 *     b = Relu (a)          the same ones
 *     c = Conv (b, w2)      reads them, and makes others         w2 axis 1;  w2 axis 0
 *     y = Add (c, r)        those of c are those of r            what made r, axis 0
 *
 * Each element of a value carries the number of an atom, which a product gives to what it makes: one
 * per channel. Operators that move elements are simply run on these numbers, so that Reshape,
 * Transpose, Split, Concat, Slice or Pad need no rule: the elements of a channel are where the
 * reference put them. An operator that works element by element joins the atoms that meet in an
 * element. One that mixes positions along an axis keeps whoever varies along it (op.h, hn_mixing).
 *
 * In the end the elements of an atom must be whole slices of every value, along one axis: where they
 * are not, atoms are joined until they are. What is left of atoms that go together is a unit: a
 * channel, the two channels that a shuffle exchanges, the head of an attention. An atom that reaches
 * an output of the model, or an operator that is not understood, stays, and says why. Units that
 * come from the same products are a group.
 *
 * Sizes that are symbols are looked at as numbers: 1 for the first axis of an input, 64 for others.
 */
#ifndef HN_COMPRESS_CHANNEL_GROUPS_H
#define HN_COMPRESS_CHANNEL_GROUPS_H

#include "ops/op.h"

/* The units along an axis of a value. */
typedef struct hn_slices {
    int rank, axis;
    int64_t n;
    const int32_t *unit; /* [n]; negative: it stays */
} hn_slices;

typedef enum hn_cut_kind {
    HN_CUT_MAKES,   /* a weight, along the channels it makes */
    HN_CUT_READS,   /* a weight, along what it sums over */
    HN_CUT_FOLLOWS, /* a vector, or a constant that meets the channels element by element */
} hn_cut_kind;

/* An axis of a constant that goes with an axis of a value. */
typedef struct hn_channel_cut {
    hn_node *node;
    int input, axis;
    hn_cut_kind kind;
    int64_t n;           /* of the constant along the axis */
    const int32_t *unit; /* [n], as of the value */
} hn_channel_cut;

typedef struct hn_channel_unit {
    int group;
    int64_t parameters; /* that it carries, as far as no other unit carries them too */
    double macs;        /* likewise */
    double score;       /* for whoever chooses */
    bool gone;
} hn_channel_unit;

typedef struct hn_channel_group {
    const char *name, *op; /* of the first layer that makes its channels */
    int first, n;          /* its units; none: it stays as it is */
    const char *why;       /* it stays, or some of its channels do; NULL: all may go */
    bool heads;            /* its channels meet in products of values: they are those of heads */
    int64_t channels;      /* of the layer that makes most of them */
    int n_makers;          /* layers that make its channels */
} hn_channel_group;

/* A product, and the sizes its work is proportional to. */
typedef struct hn_channel_work {
    hn_node *node;
    double macs;
    const hn_slices *out, *in; /* NULL: it does not depend on units */
} hn_channel_work;

typedef struct hn_channels {
    hn_arena arena;
    hn_model *model;
    int n_groups, n_units, n_cuts, n_works;
    hn_channel_group *groups;
    hn_channel_unit *units; /* by group */
    hn_channel_cut *cuts;   /* by node, in order */
    hn_channel_work *works;
    const hn_slices **slices; /* by id of the values of the graph; NULL: nothing of it may go */
    int n_slices;
} hn_channels;

/* Of the model's own graph, whose types are known. m must outlive it; it is not changed. */
hone_status hn_channels_find(hn_channels *out, hn_model *m, hn_allocator *alloc, hn_error *err);
void hn_channels_deinit(hn_channels *c); /* all zero accepted */

/* A copy of m with numbers for sizes, as it is looked at. */
hone_status hn_channels_look(hn_model **out, const hn_model *m, hn_error *err);

/* How many of the positions are left while units are gone; all, where s is NULL. */
int64_t hn_slices_left(const hn_channels *c, const hn_slices *s);
/* Multiply-accumulates of the products while units are gone. */
double hn_channels_macs(const hn_channels *c);

/* Takes the units that are gone out of the model: constants lose the slices, numbers that repeat
 * sizes follow, and the model is inferred. c knows nothing about the model afterwards.
 * HONE_E_UNSUPPORTED, and then the model is of no more use: some size that follows none of these
 * rules holds a value as it was. */
hone_status hn_channels_remove(hn_channels *c, hn_error *err);
/* The same without changing a shape: weights that make or read these channels become zero. */
hone_status hn_channels_mask(hn_channels *c, hn_error *err);

#endif
