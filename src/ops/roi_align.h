/* What RoiAlign wants of its regions, wherever it runs. */
#ifndef HN_OPS_ROI_ALIGN_H
#define HN_OPS_ROI_ALIGN_H

#include "ops/op.h"

/* Region i with these four coordinates lies in one of the images, and near enough to be counted. */
hone_status hn_want_region(int64_t i, const double *roi, double scale, int64_t batch,
                           int64_t images, hn_error *err);

#endif
