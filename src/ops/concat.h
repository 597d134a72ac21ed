/* What Concat and its quantized form share. */
#ifndef HN_OPS_CONCAT_H
#define HN_OPS_CONCAT_H

#include "ops/op.h"

/* The shape of inputs first, first + by, ... joined along the node's attribute `axis`. */
hone_status hn_infer_concat(hn_infer *c, int first, int by, hn_shape *y, hn_error *err);

#endif
