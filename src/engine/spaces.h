/* Memory spaces of a plan: copies where steps of the host and steps of a device meet.
 *
 * A buffer that steps of both spaces use gets a twin in the device's memory. The steps are gone
 * through in order, with a note of which of the two holds the contents. Where a step needs the one
 * that does not, a step that copies comes before it; so later readers share the copy until the
 * contents are written again. A step may write a part of a buffer only, so what was written before
 * is copied before it writes. An output that was written by the device is copied to the host behind
 * the step that writes it last. Constants are not copied by steps: their twins are entries of the
 * weight store, filled once.
 */
#ifndef HN_ENGINE_SPACES_H
#define HN_ENGINE_SPACES_H

#include "engine/weights.h"

/* For a plan whose kernels are chosen. No step on a device: does nothing. */
hone_status hn_plan_spaces(hn_plan *p, const hn_device *device, hn_weights *w, hn_error *err);

#endif
