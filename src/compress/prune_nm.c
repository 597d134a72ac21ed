/* N:M pruning: of each M weights along the sum the N largest stay. Hardware and kernels know where
 * they have to look, as they do not with zeros that may be anywhere. The pattern is what makes it
 * another kind than magnitude; other kinds take it as pattern=N:M. */
#include "compress/prune.h"

hone_status hn_prune_nm(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    return hn_prune_magnitude(c, p, err);
}
