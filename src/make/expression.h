/* Numbers of a description: names with values, and the arithmetic over them.
 *
 *     or, and                 lowest
 *     == != < <= > >=
 *     + -
 *     * / // %                // is division rounded down
 *     - x                     highest
 *
 * A value is a double. Truth is 1 and 0. All operations are IEEE's own, so that a description means
 * the same on every machine.
 */
#ifndef HN_MAKE_EXPRESSION_H
#define HN_MAKE_EXPRESSION_H

#include "make/description.h"

/* A name and its values: a list has any number of them, everything else one. */
typedef struct hn_variable {
    hn_str name;
    int n;
    const double *v;
} hn_variable;

/* The most names that are known at once, and values of a list. */
#define HN_SCOPE_MOST 512
#define HN_LIST_MOST 1024

/* Those that can be seen: the first n_global, and from `local` on. */
typedef struct hn_scope {
    int n, n_global, local;
    hn_variable at[HN_SCOPE_MOST];
    double in; /* the value of `in`: the channels of what the next layer takes */
} hn_scope;

/* NULL: there is no such name. */
const hn_variable *hn_scope_find(const hn_scope *s, hn_str name);

/* What is read of a line, from `at` up to `end`. */
typedef struct hn_reader {
    const hn_description *d;
    size_t at, end;
    const hn_scope *scope;
    hn_error *err;
    /* An expression ends at the first space outside parentheses, as an argument does. */
    bool tight;
    int depth;
} hn_reader;

void hn_reader_skip(hn_reader *r); /* spaces */
/* The name that comes next, which is taken; n 0: there is none. */
hn_str hn_reader_name(hn_reader *r);
/* Takes the text if it comes next. */
bool hn_reader_accept(hn_reader *r, const char *text);
/* "found 'x', wanted ..." about what comes next. */
hone_status hn_reader_unexpected(hn_reader *r, const char *wanted);
/* Fails unless the line ends here. */
hone_status hn_reader_end(hn_reader *r);

hone_status hn_expression(hn_reader *r, double *out);
/* A whole number within [least, most]; what: for the message. */
hone_status hn_expression_whole(hn_reader *r, const char *what, double least, double most,
                                int64_t *out);

#endif
