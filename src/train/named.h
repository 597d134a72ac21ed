/* Rows of a table by their names. */
#ifndef HN_TRAIN_NAMED_H
#define HN_TRAIN_NAMED_H

#include "base/error.h"

/* *at: the row of that name, of n whose names name_of gives. HONE_E_ARG lists them; what: "loss". */
hone_status hn_named_find(const char *what, const char *name, int n, const char *(*name_of)(int i),
                          int *at, hn_error *err);

#endif
