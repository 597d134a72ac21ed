/* What the passes over QuantizeLinear and DequantizeLinear share. */
#ifndef HN_PASSES_QUANTIZED_H
#define HN_PASSES_QUANTIZED_H

#include "passes/pass.h"

/* Both have the same constant scale and zero point for the whole tensor. */
bool hn_same_scale(const hn_node *a, const hn_node *b);
/* n has one constant scale, and one constant zero point or none, for the whole tensor. */
bool hn_has_one_scale(const hn_node *n);

#endif
