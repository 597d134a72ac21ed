/* Models in the text form whose weights are random constants. */
#ifndef TESTS_SUPPORT_WEIGHTS_H
#define TESTS_SUPPORT_WEIGHTS_H

#include "ir/ir.h"

/* Inputs of m whose name begins with w or b become constants, N(0, 1). Fails the test if something
 * is wrong. */
void make_weights(hn_model *m, uint64_t seed);

#endif
