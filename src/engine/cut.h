/* Cutting a graph where only running tells the sizes.
 *
 *     head   nodes whose sizes are numbers: they get a plan
 *     mid    nodes that end it (NonZero, Loop, a Reshape to computed sizes, texts): they run
 *            through the references
 *     tail   all that needs what the mid makes, or inputs whose sizes keep changing: cut again when
 *            its inputs, and so their sizes, are there
 *
 * Each part is a model of its own. What goes from one to another has a slot: first the graph's
 * inputs, then values made on the way. Nodes that do not need each other may change places, but
 * random ones never overtake each other, so that results do not depend on where a graph is cut.
 */
#ifndef HN_ENGINE_CUT_H
#define HN_ENGINE_CUT_H

#include "ir/ir.h"

typedef struct hn_part {
    hn_model *model; /* NULL: there is none */
    int n_in;
    int *in;     /* by its inputs: their slots */
    int n_final; /* its first outputs: those of the graph ... */
    int *final;  /* ... which they are; the others are made for later parts ... */
    int *made;   /* ... and these are their slots */
} hn_part;

typedef enum hn_part_kind { HN_PART_HEAD, HN_PART_MID, HN_PART_TAIL, HN_PARTS } hn_part_kind;

typedef struct hn_cut {
    hn_arena arena;
    hn_part part[HN_PARTS];
    int n_slots;
    /* The most bytes that values of mid and tail, subgraphs included, take if each has memory of
     * its own; SIZE_MAX: only running tells. */
    size_t bound;
} hn_cut;

/* *out NULL: one plan can do all of it. The graph has its types, and as many numbers for sizes as
 * there can be; its constants are shared. loose: by input, true where its sizes change from run to
 * run: all nodes that need it are of the tail. NULL: none is. */
hone_status hn_cut_create(hn_cut **out, const hn_graph *g, const bool *loose, hn_allocator *alloc,
                          hn_error *err);
/* *spares: some nodes do without the loose inputs. */
hone_status hn_cut_spares(const hn_graph *g, const bool *loose, hn_allocator *alloc, bool *spares,
                          hn_error *err);
void hn_cut_destroy(hn_cut *c); /* NULL accepted; with the models that are still in it */

#endif
