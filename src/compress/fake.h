/* Models to train: as they will be quantized, but with FakeQuantize in the place of integers.
 *
 *     x ─▶ QuantizeLinear ─▶ DequantizeLinear     x ─▶ FakeQuantize (scale)
 *     codes, scale ─▶ DequantizeLinear            w ─▶ FakeQuantize (scale)
 *     b_codes, sx * sw ─▶ DequantizeLinear        b ─▶ FakeQuantize (sx * sw)
 *
 * hn_quantize_fake makes the model on the right by the very steps that hn_quantize_model makes the
 * one on the left: the same values have scales, the same ones share them, and biases are rounded
 * likewise. Weights stay floats. When it has been trained, hn_fakes_apply takes weights and scales
 * back to the float model and to the grids that hn_quantize_model writes: what is written computes
 * what was trained.
 */
#ifndef HN_COMPRESS_FAKE_H
#define HN_COMPRESS_FAKE_H

#include "compress/quantize.h"

/* A scale of the model to train, and what it is for. */
typedef struct hn_fake {
    const char *name;  /* of the constant, or of the value that leads those which share the scale */
    const char *scale; /* the constant that is the scale */
    bool is_value;
    hn_qtype type;
    int32_t zero; /* of a value */
    hn_grid grid; /* of a constant, as it was before training */
} hn_fake;

typedef struct hn_fakes {
    hn_allocator *alloc;
    hn_arena arena;
    int n, cap;
    hn_fake *v;
} hn_fakes;
void hn_fakes_deinit(hn_fakes *f); /* all zero accepted */

/* m becomes the model to train; on failure it is of no use. Arguments are those of
 * hn_quantize_model. HONE_E_UNSUPPORTED: weights in groups, or products with ranges found at run
 * time. */
hone_status hn_quantize_fake(hn_model *m, const hn_scheme *s, const hn_calibration *calibration,
                             const hn_grids *grids, hn_pool *pool, hn_fakes *out, hn_error *err);
/* Puts the constants of `trained`, a model of hn_quantize_fake, into m, the float model it was made
 * of, and its scales into grids. rounded: weights become the points of their grids, so that
 * rounding them again gives the same codes. */
hone_status hn_fakes_apply(const hn_fakes *f, const hn_model *trained, bool rounded, hn_model *m,
                           hn_grids *grids, hn_error *err);

#endif
