/* Sizes of a model's inputs: an axis made fixed, or made symbolic, through the whole graph.
 *
 * A symbol becomes a number, or another symbol, wherever it occurs. A number becoming a symbol, or
 * another number, is harder, because exporters bake sizes into constants. Those of
 *
 *     Reshape   [1, -1, 52, 52]   becomes [0, -1, 52, 52], where 0 copies the size of the input
 *     Expand    [1, 12, 64]       becomes 1 where the input itself has the size
 *     Slice     0 to 224          goes to the end when 224 was all there was
 *     Resize    [1, 96, 26, 26]   becomes scales
 *
 * are rewritten, each for that node alone. (An input with a default counts as a constant here; the
 * node then no longer looks at it.) Then the model is inferred at several sizes; a node that
 * some other baked-in size makes fail is an error that names it.
 *
 * Axes that only make sense together (the batch of every input) are set in one call.
 */
#ifndef HN_PASSES_SET_DIM_H
#define HN_PASSES_SET_DIM_H

#include "ir/ir.h"

typedef struct hn_dim_setting {
    const char *input;
    int axis;       /* negative: from the end */
    const char *to; /* a number of 1 or more, or the name of a symbol */
} hn_dim_setting;

/* Infers the model, before and after. When it fails the model is as it was, except that it may have
 * been inferred. HONE_E_ARG for a setting that makes no sense; HONE_E_UNSUPPORTED, HONE_E_SHAPE ...
 * naming the node that does not allow it. */
hone_status hn_model_set_dims(hn_model *m, const hn_dim_setting *settings, int n, hn_error *err);
hone_status hn_model_set_dim(hn_model *m, const char *input, int axis, const char *to,
                             hn_error *err);

/* Lets the model take n samples at once: axis 0 of inputs without a default, where that is another
 * number, becomes a symbol. */
hone_status hn_model_free_batch(hn_model *m, int64_t n, hn_error *err);

#endif
