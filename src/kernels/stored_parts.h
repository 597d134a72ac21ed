/* Stored weights that are not dense, expanded by parts: several threads may take one constant. */
#ifndef HN_KERNELS_STORED_PARTS_H
#define HN_KERNELS_STORED_PARTS_H

#include "kernels/stored.h"

/* How many parts there are. */
int64_t hn_stored_parts(const hn_stored *s);
/* Parts [begin, end), to their places in dst, which holds all. */
void hn_stored_expand_parts(const hn_stored *s, int64_t begin, int64_t end, void *dst);

#endif
