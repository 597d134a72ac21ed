/* First values of parameters.
 *
 * An element is a function of the seed, the name of its parameter and its place there: SHA-256 of
 * seed and name starts a generator, which gives the elements in order. So another seed gives other
 * values everywhere, a layer that is added or removed changes no other, and the values are the same
 * on every machine.
 */
#ifndef HN_MAKE_INITIAL_H
#define HN_MAKE_INITIAL_H

#include "ir/tensor.h"

/* The numbers of inputs an output of the layer is made of, and of outputs an input goes to. */
typedef struct hn_fans {
    double in, out;
} hn_fans;

typedef enum hn_distribution {
    HN_DISTRIBUTION_CONSTANT,
    HN_DISTRIBUTION_UNIFORM,   /* in [-scale, scale) */
    HN_DISTRIBUTION_NORMAL,    /* of standard deviation scale */
    HN_DISTRIBUTION_TRUNCATED, /* likewise, drawn again outside of twice the deviation */
} hn_distribution;

/* A way to choose them: a row of initials.def. */
typedef struct hn_initial_def {
    const char *name, *help;
    hn_distribution distribution;
    bool number; /* the description gives the scale */
    double (*scale)(hn_fans f);
} hn_initial_def;
extern const hn_initial_def hn_initials[];
extern const int hn_n_initials;

typedef struct hn_initial {
    const hn_initial_def *def;
    double number; /* where the row wants one */
} hn_initial;

/* NULL: there is none of that name. */
const hn_initial_def *hn_initial_find(hn_str name);
/* Writes all elements of a tensor of f32. */
void hn_initial_fill(const hn_initial *how, hn_fans f, uint64_t seed, const char *name,
                     hn_tensor *t);

#endif
