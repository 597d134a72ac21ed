/* Steps that run at the same time, each on one thread.
 *
 * A short step, or one whose tasks do not come out even, leaves threads idle. Where branches of the
 * graph do not depend on each other, such steps of different branches are made a set: moved next to
 * each other, and given a lane each, the longest first. A set is one launch of the pool, and all of
 * its buffers are alive while it runs.
 *
 *     a1 a2 a3 b1 b2 b3   ->   {a1 b1} {a2 b2} {a3 b3}
 *
 * What steps compute does not change, nor does the order in which a buffer is written and read.
 */
#ifndef HN_ENGINE_TOGETHER_H
#define HN_ENGINE_TOGETHER_H

#include "engine/plan.h"

/* The most steps in a set. */
#define HN_MOST_TOGETHER 16

/* Forms the sets of a plan whose kernels are chosen and whose buffers have no places yet. */
void hn_plan_together(hn_plan *p);

#endif
