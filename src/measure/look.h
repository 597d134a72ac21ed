/* A look at the samples of a dataset, for what makes a measurement with them worth little: values
 * that are not finite, all samples the same, or noise in the place of pictures and signals. */
#ifndef HN_MEASURE_LOOK_H
#define HN_MEASURE_LOOK_H

#include "base/alloc.h"
#include "base/error.h"

/* The values an input gets. */
typedef struct hn_input_values {
    const char *name; /* of the input, which must live as long; NULL: no input has floats */
    double least, most, mean, deviation;
    bool colours; /* the input has three channels */
    bool bytes;   /* they were stored as numbers from 0 to 255; set by who knows */
} hn_input_values;

typedef struct hn_look {
    hn_allocator *alloc;
    int64_t samples;
    bool varies;              /* two samples differ in some input */
    int64_t not_finite;       /* samples */
    int64_t first_not_finite; /* where in the dataset the first of them is */
    struct {
        size_t bytes; /* 0: the input has no axis for samples */
        void *data;
    } * first; /* by input: its first sample; a block each */
    size_t n_inputs;
    /* Of the first samples, the input of floats with the most axes: neighbours along the last. */
    int64_t pairs;
    double sum, squares, products;
    const char *name; /* of that input, which must live as long; NULL: there is none */
    /* Of the first samples, the first input of floats. */
    hn_input_values values;
    double count, total, total_squares;
} hn_look;

void hn_look_init(hn_look *l, hn_allocator *alloc);
void hn_look_deinit(hn_look *l);
/* The next samples, n of them along the first axis of inputs that have it; index: where they are in
 * the dataset. */
hone_status hn_look_add(hn_look *l, const hone_value *inputs, size_t n_inputs, int64_t n,
                        const int64_t *index, hn_error *err);
/* What is wrong, one line; NULL: nothing. */
const char *hn_look_verdict(const hn_look *l, char *buf, size_t bytes);

/* The values of the first samples in the first input of floats. */
hn_input_values hn_look_values(const hn_look *l);
/* The values, and where they were bytes the keys of a dataset that scale them in other usual ways,
 * one line. */
const char *hn_input_values_text(const hn_input_values *v, char *buf, size_t bytes);

/* Whether every float of sample k of n is finite; of an input without an axis for samples, all. */
bool hn_look_finite(const hone_value *input, int64_t k, int64_t n);

#endif
