/* Declarations of a description, and the values that a caller gives for them.
 *
 *     number width = 1 from 0.05 to 16
 *     whole classes = 10 from 1 to 1000        a whole number
 *     list layers = 784 300 100 10
 *     choice stem = imagenet cifar             the first word is the default; words count from 0
 */
#ifndef HN_MAKE_SETTINGS_H
#define HN_MAKE_SETTINGS_H

#include "make/expression.h"
#include "make/make.h"

typedef struct hn_setting {
    hn_str name, value;
} hn_setting;

/* What compound scaling scales. */
#define HN_COMPOUND_LIST(X)                                       \
    X(DEPTH, "depth", 0.18232155679395462)           /* ln 1.2 */ \
    X(WIDTH, "width", 0.095310179804324866)          /* ln 1.1 */ \
    X(RESOLUTION, "resolution", 0.13976194237515868) /* ln 1.15 */

typedef enum hn_compound {
#define HN_X(name, word, log) HN_COMPOUND_##name,
    HN_COMPOUND_LIST(HN_X)
#undef HN_X
        HN_COMPOUND_COUNT_
} hn_compound;

typedef struct hn_settings {
    int n;
    hn_setting *at;
    double factor[HN_COMPOUND_COUNT_]; /* 1: not scaled */
} hn_settings;

/* Takes the options apart. HONE_E_ARG: they are malformed, or give a value for what d does not
 * declare. */
hone_status hn_settings_read(hn_settings *s, const hn_description *d, const hn_make_options *o,
                             hn_arena *arena, hn_error *err);

/* What a line declares. */
typedef struct hn_declared {
    hn_str name;
    bool set;        /* the caller gave its value, or scales it */
    size_t from, to; /* where in the text the value stands */
    int n;           /* numbers */
    double *v;       /* of a choice the number of the word */
    int n_words;     /* of a choice */
    const hn_str *words;
} hn_declared;
/* Carries out a line that declares something: its names are added to the scope. Values lie in
 * the arena. */
hone_status hn_declare(hn_declared *out, hn_scope *scope, const hn_description *d, const hn_line *l,
                       const hn_settings *s, hn_arena *arena, hn_error *err);
/* Adds a name and its values, which stay where they are. */
hone_status hn_scope_add(hn_scope *s, hn_str name, const double *v, int n, hn_error *err);

#endif
