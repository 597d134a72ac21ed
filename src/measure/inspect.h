/* What a model is made of: parameters, arithmetic, memory, operators. Nothing is run. */
#ifndef HN_MEASURE_INSPECT_H
#define HN_MEASURE_INSPECT_H

#include "ir/ir.h"

/* The model's types must have been inferred; marks of its nodes and values are used. Everything the
 * result points to lives as long as it and the model. HONE_E_NOT_FOUND when a given dim is the name
 * of no symbol. */
hone_status hn_model_inspect(hn_model *m, const hone_dim_value *dims, size_t n_dims,
                             hn_allocator *alloc, hone_inspection **out, hn_error *err);
void hn_inspection_destroy(hone_inspection *in); /* NULL accepted */

#endif
