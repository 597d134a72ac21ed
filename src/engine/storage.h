/* Storage: which values between steps are kept as bf16.
 *
 * Where a step may sum bf16 products, a product rounds its operand to bf16 before it
 * multiplies. What passes from product to product may then be stored so: half the bytes, nothing to
 * convert, and 56x56x256 numbers stay in a 2 MB cache.
 *
 *   Conv ──▶ bf16 ──▶ Conv ──▶ bf16 ──▶ Conv+Add ──▶ f32 ──▶ whatever knows floats only
 *
 * A buffer becomes bf16 when every step that touches it may and has a row that takes it so, and one
 * of them is a product. Inputs, outputs and constants of the graph stay what they are.
 */
#ifndef HN_ENGINE_STORAGE_H
#define HN_ENGINE_STORAGE_H

#include "engine/engine.h"
#include "engine/plan.h"

/* Decides and carries it out, before kernels are chosen. */
hone_status hn_plan_store(hn_plan *p, const hn_compile *how, hn_error *err);

/* Of one element. */

#endif
