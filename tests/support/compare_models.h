/* Pairs of models for tests that compare them: a chain of layers in the text form, some of its
 * weights damaged in the second. */
#ifndef TESTS_SUPPORT_COMPARE_MODELS_H
#define TESTS_SUPPORT_COMPARE_MODELS_H

#include "measure/pair_errors.h"

/* Two models, how they run (one thread, of scratch_mem), and one random sample per run. */
typedef struct two_models {
    hn_model *a, *b;
    hn_pool *pool;
    hn_run_options how[2];
    hn_sample_source samples;
} two_models;

enum { CHAIN_LAYERS = 6 };

/* tests/models/layers.onnx, a chain of products "fc1" ... and Relus; in the second the layers of
 * `damaged`, a set of bits, are off by `damage` of their size. */
void two_models_chain(two_models *t, unsigned seed, unsigned damaged, double damage);
/* The same of two graphs in the text form. */
void two_models_of(two_models *t, const char *a, const char *b);
/* The same of a model and a copy of it in which the weights of nodes[] are damaged. Takes over m.
 */
void two_models_damage(two_models *t, hn_model *m, unsigned seed, int n, const char *const *nodes,
                       double damage);
hn_model *two_models_load(const char *path); /* a model of scratch_mem, with its types */
void two_models_end(two_models *t);

#endif
