/* What a model is made of: parameters, arithmetic, memory, operators. Nothing is run. */
#ifndef HN_MEASURE_INSPECT_H
#define HN_MEASURE_INSPECT_H

#include "ir/ir.h"

/* The model's types must have been inferred. Everything the result points to lives in its own
 * memory; hn_inspection_destroy frees it. */
hone_status hn_model_inspect(hn_model *m, const hone_dim_value *dims, size_t n_dims,
                             hn_allocator *alloc, hone_inspection **out, hn_error *err);
void hn_inspection_destroy(hone_inspection *in);

#endif
