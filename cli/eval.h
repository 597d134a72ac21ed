/* What the files of `hone eval` share. */
#ifndef CLI_EVAL_H
#define CLI_EVAL_H

#include "cli.h"

/* A metric by a command of the user's: every batch goes to a .npz file in a folder of its own, at
 * the end the command is run on that folder and prints a number. */
typedef struct command_metric {
    const char *text;        /* the command; NULL: there is none */
    double seconds;          /* it may take */
    char folder[4096];       /* "": not made yet */
    long long files;         /* in it */
    hone_metric_value value; /* what it said */
} command_metric;
/* Fits hone_eval_options.on_batch; ctx is a command_metric. */
hone_status command_take(void *ctx, const hone_eval_batch *b, hone_error *err);
hone_status command_run(command_metric *c, hone_error *err);
void command_end(command_metric *c); /* removes the folder */

/* What was found: the metrics asked for, then the command's. */
typedef struct findings {
    const char *spec; /* of the dataset */
    const hone_evaluation *e;
    size_t n;
    hone_metric_value *values;
    bool per_class, confusion; /* tables that are wanted */
} findings;
/* "91.73 %" or "0.0123"; buf has 32 bytes. */
const char *metric_text(const hone_metric_value *v, double x, char *buf);
void print_findings(const findings *f);
/* As results; the exit code of that. */
exit_code write_findings(const args *a, const findings *f);

#endif
