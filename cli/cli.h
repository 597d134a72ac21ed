/* What the verbs share: options, tables, JSON, progress, exit codes. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "hone/hone.h"

typedef enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,   /* the thing asked about failed: a check, a gate */
    EXIT_USAGE = 2,    /* wrong options or arguments */
    EXIT_INPUT = 3,    /* bad input, an operator that cannot run included */
    EXIT_RESOURCE = 4, /* out of memory, a limit */
    EXIT_INTERRUPTED = 130,
} exit_code;

/* ---- options ---- */

typedef struct option_def {
    const char *name; /* "--data"; the table ends with NULL */
    char letter;      /* 'd' for -d, or 0 */
    const char *arg;  /* what follows, for the help: "SPEC"; NULL: a switch */
    const char *help;
    bool many; /* may be given more than once */
} option_def;

/* Options every verb takes that reports or runs. */
#define OPTION_JSON \
    { "--json", 0, NULL, "print one JSON object instead of text", false }
#define OPTION_QUIET \
    { "--quiet", 'q', NULL, "print no warnings and no progress", false }
#define OPTION_VERBOSE \
    { "--verbose", 'v', NULL, "print more", false }
#define OPTION_THREADS \
    { "--threads", 't', "N", "threads (default: the cores this process may use)", false }
#define OPTION_SEED \
    { "--seed", 0, "N", "seed of everything random (default 1)", false }
#define OPTION_DIM \
    { "--dim", 0, "NAME=N", "size of a symbolic axis", true }
#define OPTION_MAX_MEMORY \
    { "--max-memory", 0, "MB", "refuse to take more (default: what the machine allows)", false }

typedef struct verb verb;

#define MOST_OPTIONS 64
#define MOST_ARGUMENTS 16

/* A parsed command line. */
typedef struct args {
    const verb *verb;
    int n; /* plain arguments */
    const char *argument[MOST_ARGUMENTS];
    int n_options; /* given options, in order */
    struct {
        const option_def *def;
        const char *value;
    } option[MOST_OPTIONS];
} args;

struct verb {
    const char *name;
    const char *usage; /* arguments, for the help: "MODEL" */
    int n_arguments;   /* at least */
    int most_arguments;
    const char *summary;
    const option_def *options;
    exit_code (*run)(const args *a);
};

extern const verb *const verbs[]; /* ends with NULL */

bool has(const args *a, const char *name);
/* The last value given, or NULL. */
const char *value_of(const args *a, const char *name);
/* The k-th value given of an option that may be repeated, or NULL. */
const char *value_at(const args *a, const char *name, int k);
/* A whole number within [lo, hi]; says what is wrong and returns false. Absent: *v is unchanged. */
bool number_of(const args *a, const char *name, int64_t lo, int64_t hi, int64_t *v);
/* The --dim options; false after saying what is wrong. */
bool dims_of(const args *a, hone_dim_value *dims, size_t *n);
/* Index of the candidate (list ends with NULL) nearest in spelling, or -1 when none is near. */
int nearest(const char *word, const char *const *list);

/* ---- saying things ---- */

void complain(const char *format, ...) HONE_PRINTF(1, 2); /* "hone: ..." on stderr */
/* Says e's text and gives the exit code that goes with its status. */
exit_code fail_with(const hone_error *e);
exit_code code_of(hone_status s);

/* Sets up warnings and the handling of Ctrl-C after -q and -v. */
void start(const args *a);
/* False once the user has pressed Ctrl-C; fits hone_session_options.keep_going. */
bool not_interrupted(void *unused);
/* A session with the options the verb was given (--threads, --max-memory, --seed). */
bool session_options(const args *a, hone_session_options *o);

/* A bar with rate and time left on stderr when that is a terminal. fits hone_eval_options.progress;
 * ctx is a progress. */
typedef struct progress {
    const char *what; /* "eval" */
    const char *unit; /* "samples" */
    double begun, shown;
    bool off, drawn;
} progress;
void progress_start(progress *p, const args *a, const char *what, const char *unit);
bool progress_step(void *ctx, int64_t done, int64_t total);
void progress_end(progress *p);

/* ---- text ---- */

/* "1.23 M", "4.5 GB": three significant digits; buf is at least 32 bytes. Negative: "?". */
const char *human_count(int64_t n, char *buf);
const char *human_bytes(int64_t n, char *buf);

/* A table: columns are as wide as their widest cell; numbers to the right. Cells are copied. */
typedef struct table table;
table *table_new(const char *const *heads, const char *align); /* align: 'l' or 'r' per column */
void table_cell(table *t, const char *format, ...) HONE_PRINTF(2, 3);
void table_print(table *t, FILE *to); /* and frees it */

/* JSON to stdout. Text that is not UTF-8 is made so. */
typedef struct json {
    int depth;
    bool comma[16];
} json;
void json_begin(json *j, const char *key, char bracket); /* '{' or '['; key NULL inside lists */
void json_end(json *j, char bracket);
void json_text(json *j, const char *key, const char *v); /* NULL: null */
void json_number(json *j, const char *key, double v);
void json_int(json *j, const char *key, int64_t v);
void json_bool(json *j, const char *key, bool v);

/* Types and dims of a value, as {"name", "dtype", "dims"}. */
void json_value_info(json *j, const hone_value_info *v);
const char *type_text(const hone_value_info *v, char *buf, size_t size);

#endif
