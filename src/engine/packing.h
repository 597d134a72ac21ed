/* Weights that are not constant, packed by steps of their own.
 *
 * A kernel that wants its weights in a layout of its own finds constants in the weight store. Those
 * that are inputs or computed have no contents before a run: there a step packs them on every run,
 * into a buffer of the slab that lives as long as steps read it:
 *
 *   w ──▶ Pack ──▶ the layout of the kernel ──▶ Conv, Conv, ...
 *
 * A view with strides of its own, such as the taps of one phase of a transposed convolution, is
 * copied first. Steps that read the same weights in the same layout share one.
 */
#ifndef HN_ENGINE_PACKING_H
#define HN_ENGINE_PACKING_H

#include "engine/plan.h"

/* Whether the weights of s, whose kernel is chosen, are to be packed or gathered. */
bool hn_step_packs(const hn_step *s);
/* Whether the weights are a constant, *out, which the weight store is to pack. If not, a step packs
 * them, and so it does the later part of a constant. out may be NULL. */
bool hn_step_weights(const hn_plan *p, const hn_step *s, hn_constant *out);
/* Puts steps before those whose weights are not constant. */
hone_status hn_plan_pack(hn_plan *p, hn_isa isa, hn_error *err);

#endif
