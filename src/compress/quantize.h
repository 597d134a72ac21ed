/* Writes integers into a graph: what a scheme asks for becomes Q/DQ pairs or integer products,
 * placed as the target wants them (place.h). The model is a simplified one (BatchNormalization
 * folded); its float weights may have been moved by methods before. */
#ifndef HN_COMPRESS_QUANTIZE_H
#define HN_COMPRESS_QUANTIZE_H

#include "compress/calibration.h"
#include "compress/place.h"

/* What became of a node, or why it was left in floats; a row of the table people read. */
typedef struct hn_quantized_layer {
    const char *node, *op;
    hn_layer_kind kind;                /* what it became */
    const char *weights, *activations; /* "s8 per channel"; NULL: none */
    int64_t params;                    /* elements of its weight and bias */
    int64_t bytes_before, bytes_after; /* that they take */
    const char *why_not;               /* it was left alone: why; NULL: it was not */
} hn_quantized_layer;

/* A value that has integers by a range found beforehand. */
typedef struct hn_quantized_value {
    const char *name, *type; /* "u8" */
    hn_range range;          /* of all values that share its scale */
    const char *method;      /* how its own range was read off samples; NULL: it was not */
    hn_range seen;           /* least and greatest; NaN: not known */
    double clipped, zeros;   /* shares outside the range, and of 0; NaN: not known */
    hn_bars *bars;           /* NULL: how often values occur was not recorded */
} hn_quantized_value;

typedef struct hn_quantize_report {
    hn_arena arena;
    int n;
    hn_quantized_layer *v;
    int n_values;
    hn_quantized_value *values;   /* in the order of the graph's values */
    int64_t weights, weight_bits; /* elements quantized, and bits they take with scales and zeros */
    int fixed_inputs;             /* that had defaults and now are constants */
} hn_quantize_report;
void hn_quantize_report_deinit(hn_quantize_report *r); /* all zero accepted */

/* Names of the values whose ranges hn_quantize_model will ask for. In the arena. */
hone_status hn_quantize_watches(const hn_model *m, const hn_scheme *s, hn_arena *arena,
                                const char *const **names, int *n, hn_error *err);
/* calibration: NULL where no layer is static. grids: NULL or those methods chose. pool and report
 * may be NULL. m is edited; on failure it is of no use. HONE_E_ARG: already quantized; a value
 * without a range. */
hone_status hn_quantize_model(hn_model *m, const hn_scheme *s, const hn_calibration *calibration,
                              const hn_grids *grids, hn_pool *pool, hn_quantize_report *report,
                              hn_error *err);

#endif
