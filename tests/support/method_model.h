/* Models for tests of compression methods, in the text form, with random weights.
 *
 *     hn_model *m = method_model("m (float[n,3,8,8] x, float[4,3,3,3] w) => (float[n,4,6,6] y) {"
 *                                " y = Conv (x, w) }", 1);
 *
 * Inputs whose name begins with w become constants of which no two channels (rows of the first
 * axis) have the same size. Memory is scratch_mem's.
 */
#ifndef TESTS_SUPPORT_METHOD_MODEL_H
#define TESTS_SUPPORT_METHOD_MODEL_H

#include "compress/method.h"

hn_model *method_model(const char *text, uint64_t seed);
/* The contents of a constant, for tests that change some before a method sees them. */
float *method_weight(hn_model *m, const char *name);
/* Both models give the same on random inputs (symbolic axes: 4), up to `bound` of the greatest. */
void method_same(const hn_model *a, const hn_model *b, double bound);
/* Runs the method on a copy of m, which then must compute the same; returns the copy. */
hn_model *method_keeps(const hn_model *m, hn_method_fn *method, int64_t changed);

#endif
