/* Pad, as its reference and its lowering read it. */
#ifndef HN_OPS_PAD_H
#define HN_OPS_PAD_H

#include "ops/op.h"

/* How many elements each axis gets before and after; negative: loses. axes NULL: all of them. */
hone_status hn_pad_read(const hn_tensor *pads, const hn_tensor *axes, int rank, int64_t *begin,
                        int64_t *end, hn_error *err);

/* Which of the m elements of an axis stands at o, when the axis goes on for ever on both sides.
 * mode: the first letter of edge, reflect or wrap. */
int64_t hn_pad_source(int64_t o, int64_t m, char mode);

#endif
