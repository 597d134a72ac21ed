/* Ranges of a model's values over a dataset.
 *
 * Memory per value is fixed however many samples come: extremes and, where the method wants one, a
 * histogram. One pass finds them; the method then reads the range off, for the type it is asked
 * for.
 */
#ifndef HN_COMPRESS_CALIBRATION_H
#define HN_COMPRESS_CALIBRATION_H

#include "compress/histogram.h"
#include "measure/feed.h"
#include "measure/program.h"

typedef enum hn_range_method {
    HN_RANGE_MINMAX,
    HN_RANGE_AVERAGE,    /* extremes of each sample, as a moving average */
    HN_RANGE_PERCENTILE, /* of the values that are not 0 */
    HN_RANGE_ENTROPY,    /* least Kullback-Leibler divergence */
    HN_RANGE_MSE,        /* least squared error */
    HN_RANGE_AUTO,       /* each value has its own, PERCENTILE until hn_ranges_choose chooses */
    HN_RANGE_METHODS
} hn_range_method;
/* "minmax", "average", "percentile", "entropy", "mse", "auto"; HN_RANGE_METHODS: there is no such
 * method. */
const char *hn_range_method_name(hn_range_method m);
const char *hn_range_method_help(hn_range_method m); /* one line */
hn_range_method hn_range_method_named(const char *name);

#define HN_PERCENTILE 99.99
#define HN_MOMENTUM 0.99

typedef struct hn_calibrate_options {
    hn_range_method method;
    double percentile; /* the share that stays inside, in per cent; 0: HN_PERCENTILE */
    double momentum;   /* share of what was before a sample; 0: HN_MOMENTUM */
    int64_t samples;   /* at most; 0: all */
    size_t most_bytes; /* of watched values at once; 0: as hn_watch has it */
    bool (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
} hn_calibrate_options;

typedef struct hn_calibration hn_calibration;

/* names[]: values of m to watch (nodes' outputs or inputs), each once. how: as sessions run.
 * HONE_E_MODEL: a value is not finite; the message names it and the sample. */
hone_status hn_calibrate(hn_calibration **out, const hn_model *m, const char *const *names, int n,
                         const hn_feed *feed, const hn_run_options *how,
                         const hn_calibrate_options *o, hn_allocator *alloc, hn_error *err);
void hn_calibration_destroy(hn_calibration *c); /* NULL accepted */

/* The range for a grid of that type, by the method; false: the value was not watched. One that was
 * read from a table is returned as it stands there. */
bool hn_calibration_range(const hn_calibration *c, const char *name, const hn_qtype *t,
                          hn_range *r);
int64_t hn_calibration_samples(const hn_calibration *c);
/* Samples after which no range changed by more than 1 % any more; 0: they still did. Judged by
 * ranges for u8, each time half as many more samples have come. */
int64_t hn_calibration_stable_after(const hn_calibration *c);
/* What is wrong with the samples (measure/look.h); NULL: nothing, or they are not known. */
const char *hn_calibration_verdict(const hn_calibration *c);

/* ---- tables ----
 *
 *     hone-calibration/1
 *     method percentile
 *     samples 1000
 *     stable 320
 *     # least        greatest     low          high         value
 *     -1.5           3.25         -1.25        3            conv1_out
 *     0              6            0            5.5          "a name with \"odd\" \x01 characters"
 *
 * low and high are the range that quantizing takes; they may be edited. '#' begins a comment.
 */

/* t: the type that ranges are written for. */
hone_status hn_calibration_write(const hn_calibration *c, const hn_qtype *t, const char *path,
                                 hn_error *err);
hone_status hn_calibration_read(hn_calibration **out, const char *path, hn_allocator *alloc,
                                hn_error *err);

/* ---- within the calibration ---- */

/* What is known of one value. */
typedef struct hn_observer {
    const char *name;
    int64_t samples;
    hn_extremes extremes;
    hn_range average;
    hn_range_method method;  /* with HN_RANGE_AUTO: what its range is read off by */
    hn_histogram *histogram; /* NULL: the method wants none, or it comes from a table */
    bool stands;             /* the range was read from a table */
    hn_range range;          /* that one; else the last that differed from the one before */
    int64_t changed;         /* samples when that was found */
    int64_t next_check;      /* samples when it is to be looked at again */
} hn_observer;

struct hn_calibration {
    hn_allocator *alloc;
    hn_arena arena;
    hn_range_method method;
    double percentile, momentum;
    int64_t samples, stable_after;
    const char *verdict;
    int n;
    hn_observer *v;
    hn_map by_name;
};
/* Without values; HONE_E_NOMEM. */
hone_status hn_calibration_create(hn_calibration **out, int n, hn_allocator *alloc, hn_error *err);
/* Gives value c->n a name, which is copied. HONE_E_ARG: there is one of that name. */
hone_status hn_calibration_add(hn_calibration *c, const char *name, hn_observer **out,
                               hn_error *err);
const hn_observer *hn_calibration_of(const hn_calibration *c, const char *name); /* NULL: none */
/* How its range is read off; HN_RANGE_METHODS: it comes from a table. */
hn_range_method hn_observer_method(const hn_calibration *c, const hn_observer *o);
/* For a grid of that type, by the method. Its ends are floats: a table holds them exactly. */
hn_range hn_observer_range(const hn_calibration *c, const hn_observer *o, const hn_qtype *t);

#endif
