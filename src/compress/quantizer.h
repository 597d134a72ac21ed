/* What the files that write integers into a graph share. */
#ifndef HN_COMPRESS_QUANTIZER_H
#define HN_COMPRESS_QUANTIZER_H

#include "compress/fake.h"
#include "compress/quantize.h"

/* What a weight became. */
typedef struct hn_written_weight {
    hn_value *floats; /* dequantized; NULL: not written yet */
    hn_value *scale;  /* of a fake one */
    hn_grid grid;
    hn_qtype type; /* that was asked for */
    int axis;
    float alpha; /* of a Gemm, which is in the scales now */
} hn_written_weight;

typedef struct hn_quantizer {
    hn_model *m;
    hn_graph *g;
    const hn_scheme *s;
    const hn_calibration *calibration;
    const hn_grids *grids;
    hn_quantize_report *report; /* may be NULL */
    hn_quantized_layer *row;    /* of the layer being written; may be NULL */
    hn_pool *pool;              /* may be NULL */
    hn_fakes *fakes;            /* of a model to train; NULL: integers are written */
    hn_arena *arena;
    hn_placement place;
    int n_values; /* there were before */
    /* By id of these: */
    hn_grid_point *points; /* of leaders */
    hn_range *ranges;
    hn_written_weight *weights;
    hn_node **dynamic; /* that quantizes it by its range; NULL: none yet */
    hn_value **scales; /* with fakes, of leaders; NULL: none yet */
} hn_quantizer;

/* A constant of one number. */
hone_status hn_quantizer_scalar(hn_value **out, hn_quantizer *q, const char *hint, hone_dtype t,
                                double v, hn_error *err);
/* name and suffix, for the name of something made. */
const char *hn_quantizer_hint(hn_quantizer *q, const char *name, const char *suffix);
/* Takes over the reference to t, on failure too. */
hone_status hn_quantizer_constant(hn_value **out, hn_quantizer *q, const char *name,
                                  const char *suffix, hn_tensor *t, hn_error *err);
/* A node of ai.onnx, or else of com.microsoft or hone, before `before`, with these inputs and a new output
 * of that hint, whose name it has. */
hone_status hn_quantizer_node(hn_node **out, hn_quantizer *q, const char *op, const char *hint,
                              int n_in, hn_value *const *in, hn_node *before, hn_error *err);
/* "s4 groups of 64", "s8 per channel", in simulation "5 bits per channel"; in the report's arena.
 * per: what has a scale of its own where there are no groups. */
const char *hn_quantizer_type_text(hn_quantizer *q, const hn_qtype *t, const char *per);
/* The scale and zero point of a value that is held. */
hn_grid_point hn_quantizer_point(const hn_quantizer *q, const hn_value *v, hn_qtype *t);
/* Removes a constant that nothing reads any more, from memory too; NULL accepted. */
void hn_quantizer_drop(hn_value *v);
/* v is computed by `to`, which has one output, and `instead` by what computed v. */
void hn_quantizer_hand_over(hn_value *v, hn_node *to, hn_value *instead);

/* quantize_weights.c: the grid of a layer's weight; sx: the scale of its input, 0: not known. */
hone_status hn_quantizer_grid(hn_quantizer *q, const hn_weighted *w, float sx, hn_grid *g,
                              hn_error *err);
/* Counts a weight as it is stored: packed to as few bits as its type has, or plain. */
void hn_quantizer_count(hn_quantizer *q, const hn_tensor *w, const hn_grid *g, bool packed);
/* The layer's weight and, where its input is in integers, its bias. */
hone_status hn_quantizer_layer(hn_quantizer *q, const hn_weighted *w, bool integers, hn_error *err);
/* The constants of a sum. */
hone_status hn_quantizer_operands(hn_quantizer *q, const hn_placed_node *n, hn_error *err);
/* quantize_simulated.c: the weight's nearest points of the grid, as floats; the weight itself
 * where one node reads it. */
hone_status hn_quantizer_simulate(hn_quantizer *q, hn_value *weight, const hn_grid *g,
                                  hn_value **floats, hn_error *err);
/* A Clip that gives codes of as many bits as v's type has, in a larger one; its input is to be set.
 * *out NULL: no code is beyond. */
hone_status hn_quantizer_limit(hn_quantizer *q, const hn_value *v, hn_node *before, hn_node **out,
                               hn_error *err);
/* quantize_dynamic.c */
hone_status hn_quantizer_dynamic(hn_quantizer *q, const hn_weighted *w, hn_error *err);
/* quantize_recurrent.c: LSTM, GRU or RNN, the two of hn_weights_of. */
hone_status hn_quantizer_recurrent(hn_quantizer *q, const hn_weighted w[2], hn_error *err);
/* quantize_embeddings.c: tables that Gather reads. NULL: n reads none. */
hn_value *hn_quantizer_table(const hn_node *n);
hone_status hn_quantizer_embeddings(hn_quantizer *q, hn_error *err);
/* quantize_fake.c: a constant behind FakeQuantize with that grid, and its scale; a value that is
 * held; the bias of a layer whose weight has that scale. */
hone_status hn_quantizer_fake_constant(hn_quantizer *q, hn_value *v, const hn_grid *g,
                                       hn_node *before, hn_value **scale, hn_value **floats,
                                       hn_error *err);
hone_status hn_quantizer_fake_value(hn_quantizer *q, hn_value *v, hn_error *err);
hone_status hn_quantizer_fake_bias(hn_quantizer *q, const hn_weighted *w, hn_value *scale,
                                   hn_error *err);
/* quantize_pairs.c: Q/DQ behind all that is held. */
hone_status hn_quantizer_pairs(hn_quantizer *q, hn_error *err);

#endif
