/* Strips: convolutions and pools that follow each other, computed some rows at a time.
 *
 * Where the images between two steps are larger than the cache, writing and reading them takes
 * longer than the arithmetic. Such steps become one, which computes all of them for some rows of
 * the last image, or for all of one image of a batch, before it goes on to the next; what lies
 * between stays in the workspace of the lane:
 *
 *   Conv 1x1  ─▶ [112][112][96] ─▶  depthwise Conv 3x3, stride 2  ─▶ [56][56][96]
 *
 *   strip k:   rows 2*r*k - 1 to 2*r*(k + 1) - 1 of the first, then rows r*k to r*(k + 1) - 1
 *
 * Rows that two strips need are computed twice, so that strips depend on nothing but the problem.
 */
#ifndef HN_ENGINE_STRIPS_H
#define HN_ENGINE_STRIPS_H

#include "engine/plan.h"

/* Joins steps of the plan, whose kernels are chosen and packed. */
hone_status hn_strips_join(hn_plan *p, hn_error *err);

#endif
