/* Epochs of training inside a transform: told line by line, and kept for --json. */
#ifndef CLI_EPOCHS_H
#define CLI_EPOCHS_H

#include "cli.h"

typedef struct epoch_line {
    int64_t epoch;
    double loss, rate, val;
} epoch_line;

typedef struct epochs {
    const args *a;
    progress *bar;   /* ended before a line is printed */
    char metric[64]; /* what val is; "": there are no samples to judge by */
    bool share;
    double float_val, before_val; /* of the model as it was, and before training; NaN: not known */
    size_t n;
    epoch_line *v;
} epochs;

/* Fits hone_qat_options.epoch; ctx is an epochs. */
bool epochs_tell(void *ctx, int64_t epoch, int64_t of, double loss, double rate, double score,
                 const char *metric, bool share);
/* A note where no epoch was better than the model before training. */
void epochs_note_no_gain(const epochs *e);

#endif
