/* Models of f32 as models of f16 or bf16.
 *
 *     x: f32 ─▶ Conv ─▶ Exp ─▶ y: f32    becomes    x ─▶ Cast ─▶ Conv ─▶ Cast ─▶ Exp ─▶ y
 *               ▲ w: f32                                         ▲ w: f16
 *
 * with Exp left in f32. A Cast stands where the types meet, and nowhere else. What is left in f32,
 * each with its reason: nodes the caller names; operators that ONNX does not have in the narrow
 * type; control flow with its bodies; nodes with a constant that the narrow type cannot hold, such
 * as a mask of -1e9 or an epsilon of 1e-12. Scales and regions of Resize and everything that
 * is no f32 tensor stays what it is, and so do QuantizeLinear and DequantizeLinear.
 */
#ifndef HN_COMPRESS_CONVERT_H
#define HN_COMPRESS_CONVERT_H

#include "ir/ir.h"

/* What n is to be computed in: HONE_DTYPE_F16 or BF16; anything else leaves it as it is. */
typedef hone_dtype hn_convert_type(void *ctx, const hn_node *n);

typedef struct hn_convert_options {
    hn_convert_type *type;
    void *ctx;
    hone_dtype io; /* f16 or bf16: inputs and outputs of f32 become that; else they stay f32 */
} hn_convert_options;

/* A node that had to do with f32. */
typedef struct hn_converted {
    const char *node, *op;             /* the name it has for people, "Conv" */
    hone_dtype type;                   /* HONE_DTYPE_F32: left */
    const char *why_not;               /* left: why; NULL where nobody asked for it */
    int64_t params;                    /* elements of its f32 constants */
    int64_t bytes_before, bytes_after; /* they take */
} hn_converted;

typedef struct hn_conversion {
    hn_arena arena;
    int n;
    hn_converted *v;
} hn_conversion;

/* Edits the model's outermost graph, whose values have their types, and infers it again. When it
 * fails the model is of no use. done may be NULL; otherwise deinit it, whatever came of it. */
hone_status hn_convert(hn_model *m, const hn_convert_options *o, hn_conversion *done,
                       hn_error *err);
void hn_conversion_deinit(hn_conversion *c); /* all zero accepted */

#endif
