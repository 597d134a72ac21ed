/* What the parts of `hone compare` share. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli.h"

#define MOST_MODELS 16

/* What is asked of the outputs. */
typedef struct tolerance {
    bool given, drop_given;
    double sqnr_db;   /* at least; -INFINITY: not asked */
    double max_error; /* at most; INFINITY: not asked */
    double drop;      /* of accuracy, at most */
    bool relative;    /* of the first model's */
} tolerance;

/* One of the models, with all that is known of it. */
typedef struct entry {
    const char *path, *label;
    hone_session_options how;
    hone_model *model;
    hone_session *session;
    int64_t file_bytes, params, macs;
    double p50, p95; /* ms; NaN: not measured */
    double accuracy; /* NaN: not measured */
    int64_t peak_bytes;
    hone_comparison *with_first; /* NULL of the first */
} entry;

typedef struct comparison {
    const args *a;
    int n;
    entry models[MOST_MODELS];
    feed inputs; /* of the first model, made up */
    int fill;
    uint64_t seed;
    hone_dataset *data; /* NULL: inputs are made up */
    hone_samples samples;
    tolerance wants;
    hone_bisection *bisection; /* NULL: not asked for */
    hone_reduction *reduction;
    const char
        *reduced_path; /* of the second model's part; the first's and the inputs lie beside */
    char *reduced_first, *reduced_inputs;
} comparison;

/* --bisect and --reduce; say what is wrong. */
exit_code compare_bisect(comparison *c);
exit_code compare_reduce(comparison *c);

void compare_print(const comparison *c, int64_t top);
void compare_json(const comparison *c, json *j);

/* "34.1 dB"; "exact" and "broken" where it is not finite. buf has 32 bytes. */
const char *db_text(double x, char *buf);
/* Whether a comparison is within what is wanted. */
bool within(const tolerance *t, const hone_comparison *c);

#endif
