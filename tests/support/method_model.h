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

#include "compress/scheme.h"
#include "compress/transform.h"

hn_model *method_model(const char *text, uint64_t seed);
hn_model *method_copy(const hn_model *m); /* with its types */
/* The contents of a constant, for tests that change some before a method sees them. */
float *method_weight(hn_model *m, const char *name);
/* Both models give the same on random inputs (symbolic axes: 32), up to `bound` of the greatest. */
void method_same(const hn_model *a, const hn_model *b, double bound);
/* The sum of squared differences of their first outputs. */
double method_distance(const hn_model *a, const hn_model *b);

/* What a method needs beside a model: 40 random samples, in batches of 8, one thread, and a
 * scheme: static, weights s8 per channel, inputs u8. */
typedef struct method_bench {
    hn_dataset *data;
    hn_feed *feed;
    hn_pool *pool;
    hn_run_options how;
    hn_scheme scheme;
    hn_transform_ctx c; /* its model is the caller's, who changes what it likes before running */
} method_bench;
void method_begin(method_bench *b, hn_model *m);
void method_begin_with(method_bench *b, hn_model *m, int samples);
void method_end(method_bench *b);

/* Runs the method on a copy of m, which then must compute the same; returns the copy. */
hn_model *method_keeps(const hn_model *m, hn_transform_fn *method, int64_t changed);
/* Runs it on copies with the first, the second, ... allocation failing, until all succeed. */
void method_survives(const hn_model *m, hn_transform_fn *method);

#endif
