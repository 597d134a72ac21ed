/* Graphs of f16 and bf16 are computed in f32.
 *
 *     x: f16 ─▶ Conv ─▶ Add ─▶ y: f16    becomes    x ─▶ Cast ─▶ Conv ─▶ Add ─▶ Cast ─▶ y
 *               ▲ w: f16                                         ▲ w: f32
 *
 * Every node that has its operator in f32 too, as the operator's own inference says, takes and
 * makes f32 instead; constants are converted, once. A Cast stands where such a value meets the
 * graph's inputs and outputs, subgraphs, and nodes that cannot be widened: those whose output type
 * an attribute says. A Cast to 16 bits that the model itself has is one of these, so it rounds as
 * it says; but one to bf16 that only products read is left out, as they round to bf16 by themselves
 * where they multiply that.
 *
 * Such a node keeps in `written` what the model computes it in: by that, products of bf16 are
 * summed in bf16 where the machine has kernels for it and nobody says otherwise (layers.h).
 *
 * A constant that became f32 keeps its name, unless a node that was not widened still reads it. It
 * may be packed in 16 bits again: see weights_fit in kernels/kernel.h.
 *
 * What else lies between is not rounded to 16 bits, so results are nearer to those of exact
 * arithmetic. In one thing they are others: what passes 65504 on its way becomes an infinity in f16
 * and stays a number here, until it reaches an output of f16.
 */
#ifndef HN_ENGINE_WIDEN_H
#define HN_ENGINE_WIDEN_H

#include "ir/ir.h"

/* Widens the model's outermost graph, whose values have their types; where *changed, infer it
 * again. Doing it again to what is widened changes only casts of what has become a constant. */
hone_status hn_widen(hn_model *m, bool *changed, hn_error *err);

#endif
