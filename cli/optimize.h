/* What the files of `hone optimize` share. */
#ifndef CLI_OPTIMIZE_H
#define CLI_OPTIMIZE_H

#include "cli.h"

/* Where things go: the model, beside it the recipe and the page. */
typedef struct outputs {
    char *model, *recipe, *report;
} outputs;

void print_optimization(const hone_optimization *o);
/* The keys of an open object. to: NULL where nothing was written. */
void write_optimization(json *j, const hone_optimization *o, const outputs *to);

#endif
