/* The table of verbs: one row, one file. */
#include "cli.h"

extern const verb verb_check, verb_eval, verb_inspect, verb_ops, verb_run;

const verb *const verbs[] = {
    &verb_check, &verb_eval, &verb_inspect, &verb_ops, &verb_run, NULL,
};
