/* Precision "auto": which parts of a quantized graph are faster in float.
 *
 * A part is an operator that can run in integers, with the DequantizeLinear nodes before it and all
 * up to its QuantizeLinear. The graph is planned twice, in integers and in float, and both plans
 * are run a few times on zeros, since no kernel's time depends on values. A part whose steps took
 * less time in float stays in float: what lies between two parts is quantized either way, so each
 * is chosen by itself. Last, the whole is timed in integers, as chosen, and in float, and the
 * fastest of the three is taken; integers stay where they are not clearly slower.
 */
#ifndef HN_ENGINE_CHOICE_H
#define HN_ENGINE_CHOICE_H

#include "engine/engine.h"

#define HN_CHOICE_TEXT 256

/* What was chosen for a part that is left in float; a list. */
struct hn_choice {
    hn_layer rule; /* of the part's operator */
    double f32_us, int8_us;
    char text[HN_CHOICE_TEXT]; /* the same for people */
    hn_choice *next;
};

/* Measures how m is best planned, or finds it in how->tuner; *out is NULL where all is best in
 * integers, else of how->alloc. how->layers says how the integer form is computed; its rules hold
 * whatever is measured. What cannot be run on zeros, or takes more memory twice than there is,
 * stays in integers. */
hone_status hn_choose_precision(const hn_model *m, const hn_compile *how, hn_choice **out,
                                hn_error *err);
/* Logs a warning where how->tuner knows that hn_choose_precision makes m, which is planned in
 * integers, over 5 % faster. Measures nothing. */
void hn_choice_warn(const hn_model *m, const hn_compile *how);
/* What the tuner knows a graph by: its nodes, their names and the sizes of their outputs. */
uint64_t hn_choice_key(const hn_graph *g);
void hn_choices_destroy(hn_choice *c, hn_allocator *alloc); /* NULL accepted */
/* Puts their rules before those of l; *block, of alloc, then holds all. */
hone_status hn_choices_add(const hn_choice *c, hn_layers *l, hn_allocator *alloc, hn_layer **block,
                           hn_error *err);

#endif
