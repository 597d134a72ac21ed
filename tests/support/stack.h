/* Models that work on batches: run on three inputs at once, one gives the results of three runs. */
#ifndef TESTS_SUPPORT_STACK_H
#define TESTS_SUPPORT_STACK_H

#include "ir/ir.h"

/* Model b is model a, but takes axis in_axis of every input three times as long, and then gives
 * axis out_axis of every output so. Both are inferred, the sizes of a are numbers. Fails the test
 * unless b gives the bits of a on one random input, and those of three runs of a on three stacked
 * ones. */
void stack_check(const hn_model *a, const hn_model *b, int in_axis, int out_axis);

#endif
