/* What the files of `hone optimize` share. */
#ifndef CLI_OPTIMIZE_H
#define CLI_OPTIMIZE_H

#include "cli.h"

/* Where things go: the model, beside it the recipe and the page. */
typedef struct outputs {
    char *model, *recipe, *report;
} outputs;

/* What is told beside what was found. */
typedef struct telling {
    const outputs *to;               /* NULL: nothing was written */
    const char *again, *next;        /* commands; NULL likewise */
    const hone_optimize_options *of; /* what was asked for */
    const char *report;              /* NULL: there is no page */
    const char *unmeasured;          /* why --for is not measured; NULL: it is, or is hone */
} telling;

void print_optimization(const hone_optimization *o, const telling *t);
/* As an object. */
void write_optimization(json *j, const args *a, const hone_optimization *o, const telling *t);

#endif
