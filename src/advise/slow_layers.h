/* Layers of a quantized model that are slower on this machine than they are in floats.
 *
 * Parts between DequantizeLinear and QuantizeLinear are judged as precision "auto" does
 * (engine/choice.h): what a layer in floats costs includes its conversions. Other layers, whose
 * inputs and outputs are floats either way, are compared with the same layers of the original, by
 * the least time of several runs that take turns.
 */
#ifndef HN_ADVISE_SLOW_LAYERS_H
#define HN_ADVISE_SLOW_LAYERS_H

#include "measure/program.h"

typedef struct hn_slow_layer {
    const char *name;
    double f32_ms, own_ms;
} hn_slow_layer;

typedef struct hn_slow_layers {
    int n;
    hn_slow_layer *v;
} hn_slow_layers;

/* original: the program of the model that m was made of. in: a sample. The list and its texts lie
 * in the arena. */
typedef hone_status hn_slow_layers_fn(hn_slow_layers *out, hn_program *original, const hn_model *m,
                                      const hn_run_options *how, const hn_tensor *const *in,
                                      hn_arena *arena, hn_error *err);
hn_slow_layers_fn hn_slow_layers_find;

#endif
