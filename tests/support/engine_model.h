/* Small models, in the text form, through the engine and through the plain executor.
 *
 *     engine_agrees("m (float[1,8,5,5] x, float[8,4,2,2] w) => (float[1,4,10,10] y) {"
 *                   " c = ConvTranspose <strides = [2, 2]> (x, w) y = Relu (c) }",
 *                   "conv_f32 ConvTranspose+Relu, conv_f32 ConvTranspose+Relu");
 *
 * Inputs are random. Those whose name begins with w are constants; with "mask", a mask of
 * attention; with "wzero", constants of which nine in ten are 0;
 * with "wfew", constants that are 16 different numbers; with "odd", numbers among which are NaN and infinities; with "many", integers up to
 * 119; with "any", integers of both signs, of 8 bits all of them. The model is not simplified. The
 * outputs must be within the bound of an f32 step, and the same bits on one thread and on two;
 * memory is what was planned, and a second run allocates nothing. The same must hold where the
 * constants that are matrices, or biases ("wb"), are inputs too.
 */
#ifndef HN_TESTS_SUPPORT_ENGINE_MODEL_H
#define HN_TESTS_SUPPORT_ENGINE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

enum { ENGINE_STEPS = 512 };

/* What a model became. */
typedef struct engine_facts {
    int n;                              /* steps */
    const char *families[ENGINE_STEPS]; /* "reference" where there is none */
    char steps[16000], labels[16000];   /* family and label, or the label, of each, copies left out:
                                         * whether a kernel needs them depends on the machine */
    char kernels[16000];                /* of all steps that have one */
    size_t slab;                        /* bytes of activations */
    int together;    /* steps that run beside others, where there are two threads */
    size_t bound;    /* the most of them, where the graph is cut */
    uint64_t digest; /* of the bits of the outputs */
    char why[300];   /* the last product has its kernel */
} engine_facts;

/* Runs the model as said above. */
engine_facts engine_ran(const char *text);
/* The same with another precision, or of a model that is cut into parts. */
typedef struct engine_way {
    hn_precision precision; /* with it, how close outputs must be */
    bool parallel;          /* independent steps at the same time, where there are two threads */
    bool cut;               /* the model is, and so need not keep to what was planned */
    bool given;             /* constants that are matrices, or biases, are inputs */
    bool no_sparse;         /* weights that are 0 are multiplied too */
    bool no_lookup;         /* weights that are few numbers are kept like others */
    bool tuned;             /* kernels are chosen by measuring */
} engine_way;
engine_facts engine_ran_so(const char *text, engine_way way);
engine_facts engine_ran_in_parts(const char *text);
engine_facts engine_ran_given(const char *text);
/* How many of the steps are of that family. */
int engine_count(const engine_facts *f, const char *family);

/* The same, and the steps must be these; NULL: any. Returns the number of copies. */
int engine_agrees(const char *text, const char *steps);

/* The same for one node from x, and constants of these declarations ("" or ", float[3] w"), to y.
 */
void engine_agrees_node(const char *x, const char *constants, const char *y, const char *node,
                        const char *steps);

/* The last input, of integers, holds `bad`: the plain executor and the engine refuse it alike, with
 * a message that contains `message`. Then it holds `good`, and the same engine agrees. */
void engine_refuses(const char *text, const int64_t *bad, const int64_t *good, const char *message);

/* Every allocation fails once that making an engine takes, then every one that running it takes:
 * nothing leaks, and the engine is none the worse. */
void engine_survives(const char *text);

#endif
