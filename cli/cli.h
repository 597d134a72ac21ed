/* What the verbs share: options, exit codes, messages, progress, tables, JSON. */
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

/* ---- options (options.c) ---- */

typedef struct option_def {
    const char *name; /* "--data"; NULL ends the table */
    char letter;      /* 'd' for -d, or 0 */
    /* What follows, for the help; NULL: a switch. Before FILE or DIR stands what the verb does with
     * it, which is not shown: `<` it reads it, `>` it writes it, `<>` both. "SPEC" names a dataset,
     * "[NAME=]<FILE" a file with or without a name before it, "<DEVICE" a word or a file. */
    const char *arg;
    const char *help;
    bool many;       /* may be given more than once */
    const char *was; /* names it had in the version before, such as "--nodes -n"; NULL: none */
} option_def;

/* Options that several verbs have. An option has one letter, one kind of value and one meaning on
 * every verb: the help of a verb may add to it only behind the first `:`, `;`, `,` or `(`, which
 * tests/structure/options checks. */
#define OPTION_JSON \
    { "--json", 0, NULL, "print JSON instead of text", false, NULL }
#define OPTION_REPORT \
    { "--report", 0, ">FILE.html", "write an HTML page with plots of the results", false, NULL }
#define OPTION_QUIET \
    { "--quiet", 'q', NULL, "print no warnings, notes or progress", false, NULL }
#define OPTION_VERBOSE \
    { "--verbose", 'v', NULL, "print on stderr what is done and how long it takes", false, NULL }
#define OPTION_THREADS                                                                        \
    {                                                                                         \
        "--threads", 't', "N", "number of threads (default: the cores this process may use)", \
            false, NULL                                                                       \
    }
#define OPTION_RESERVE \
    { "--reserve-cores", 0, "N", "cores to leave free if --threads is not given", false, NULL }
#define OPTION_TUNE                                                                          \
    {                                                                                        \
        "--tune", 0, "EFFORT",                                                               \
            "measure which kernels are fastest here: off (default), fast, full", false, NULL \
    }
#define OPTION_TUNE_CACHE                                                                          \
    {                                                                                              \
        "--tune-cache", 0, "<>FILE",                                                               \
            "where --tune keeps what it measured (default: ~/.cache/hone/tuning.txt)", false, NULL \
    }
#define OPTION_PRECISION                                                                     \
    {                                                                                        \
        "--precision", 0, "NAME",                                                            \
            "precision to compute in: f32, f32-relaxed, bf16; if quantized also int8, auto", \
            false, NULL                                                                      \
    }
#define OPTION_LAYER_PRECISION                                                              \
    {                                                                                       \
        "--layer-precision", 0, "PATTERN:NAME,...",                                         \
            "precision of nodes by name: \"head*:f32\"; the last match counts", false, NULL \
    }
#define OPTION_KERNEL                                                                              \
    {                                                                                              \
        "--kernel", 0, "FAMILY=ROW", "use this kernel wherever it fits (hone kernels lists them)", \
            true, NULL                                                                             \
    }
#define OPTION_EXEC                                                                            \
    {                                                                                          \
        "--exec", 0, "HOW", "how steps run: sequential (default), or parallel if independent", \
            false, NULL                                                                        \
    }
#define OPTION_WITHOUT                                                                        \
    {                                                                                         \
        "--without", 0, "PASS,...",                                                           \
            "leave out these graph passes; fuse: compute each node in its own step; sparse: " \
            "multiply weights that are 0 too; lookup: keep weights that are few numbers as "  \
            "floats",                                                                         \
            false, NULL                                                                       \
    }
#define OPTION_STATE                                                                             \
    {                                                                                            \
        "--state", 0, "INPUT=OUTPUT,...",                                                        \
            "make an output the input of the next step; * is the same text on both sides", true, \
            NULL                                                                                 \
    }
#define OPTION_SEED \
    { "--seed", 0, "N", "seed of everything random (default: 1)", false, NULL }
#define OPTION_DIM \
    { "--dim", 0, "NAME=N", "size of a symbolic axis", true, NULL }
#define OPTION_FILL                                                                                \
    {                                                                                              \
        "--fill", 0, "HOW", "make up the inputs that are not given: zeros, ones or random", false, \
            NULL                                                                                   \
    }
#define OPTION_NO_MMAP \
    { "--no-mmap", 0, NULL, "copy the model's file to memory instead of mapping it", false, NULL }
#define OPTION_MAX_MEMORY                                                                   \
    {                                                                                       \
        "--max-memory", 0, "MB|P%",                                                         \
            "the most memory hone may take (default: what the machine allows)", false, NULL \
    }
#define OPTION_TIME_LIMIT                                                                    \
    {                                                                                        \
        "--time-limit", 0, "S", "stop after S seconds with exit code 4 (default: no limit)", \
            false, NULL                                                                      \
    }
#define OPTION_USE                                                             \
    {                                                                          \
        "--use", 0, "NAME",                                                    \
            "what the model is for, which sets limits: video, search, voice, " \
            "recommendation, online, batch, edge",                             \
            false, NULL                                                        \
    }
#define OPTION_NO_SHARING \
    { "--no-sharing", 0, NULL, "give every activation memory of its own", false, NULL }
#define OPTION_ISA \
    { "--isa", 0, "NAME", "highest instruction set to use: avx2, neon, portable ...", false, NULL }
#define OPTION_BACKEND                                                                          \
    {                                                                                           \
        "--backend", 0, "NAME",                                                                 \
            "what runs the model: cpu (default), or reference, the plain executor", false, NULL \
    }

#define OPTION_PROGRAM \
    { "--program", 0, "<FILE", "the hone that --on copies there (default: this one)", false, NULL }
/* Both. */
#define OPTION_ON                                                                          \
    {"--on", 0,   "ssh:HOST", "run this on another machine, with copies of what it reads", \
     false,  NULL},                                                                        \
        OPTION_PROGRAM

#define MOST_OPTIONS 64
#define MOST_VALUES 64 /* of an option that takes a list */
#define MOST_ARGUMENTS 64

typedef struct verb verb;

/* A parsed command line. */
typedef struct args {
    const verb *verb;
    const char *command; /* as it was typed, quoted where a shell needs it */
    int n;               /* plain arguments */
    const char *argument[MOST_ARGUMENTS];
    int n_options; /* given options, in order */
    struct {
        const option_def *def;
        char *value;      /* "" of a switch */
        const char *word; /* that it was given by */
        int old;          /* letters of the old name that the word begins with; 0: it has none */
    } option[MOST_OPTIONS];
} args;

struct verb {
    const char *name;
    const char *usage; /* arguments, for the help: "MODEL" */
    int n_arguments, most_arguments;
    const char *summary;
    const option_def *options;
    /* The transform whose parameters are options as well, `--NAME`; NULL: none. */
    const char *transform;
    exit_code (*run)(const args *a);
    /* Whether a name that another option had before is meant as that, going by its value; NULL: no
     * name has changed hands. */
    bool (*means_old)(const option_def *d, const char *value);
};

/* What follows the option, as it is shown; "" of a switch. */
#define SHOWN_ARG 64
const char *shown_arg(const option_def *d, char buf[SHOWN_ARG]);
/* All options of a verb, those of its transform included; the table ends with a name NULL. */
const option_def *options_of(const verb *v);
/* Fills in a, whose verb is set, from the words behind the verb; false after saying what is wrong.
 */
bool read_words(args *a, int n, char **words);
/* A note for each option that was given by an old name. */
void note_old_names(const args *a);
/* "hone NAME WORD ...", as a shell would take it; free it. */
char *command_text(const char *name, int n, const char *const *words);

bool has(const args *a, const char *name);
/* The value given, or NULL. */
const char *value_of(const args *a, const char *name);
/* The k-th value of an option that may be repeated, or NULL. */
char *value_at(const args *a, const char *name, int k);
/* A whole number within [lo, hi]; false after saying what is wrong. Absent: *v is unchanged. */
bool number_of(const args *a, const char *name, int64_t lo, int64_t hi, int64_t *v);
bool real_of(const args *a, const char *name, double lo, double hi, double *v);
/* A size in MB as bytes. Absent: *bytes is unchanged. */
bool megabytes_of(const args *a, const char *name, int64_t *bytes);
bool seconds_of(const args *a, const char *name, double *seconds); /* 90, 90s, 30m, 2h */
/* --max-drop: "1%" or "0.01" of the metric, or "1%rel" of its value. Absent: both are unchanged. */
bool drop_of(const args *a, double *drop, bool *relative);
/* One of the names that at(0), at(1), ... give, up to NULL. Absent: *v is unchanged. */
bool choice_of(const args *a, const char *option, const char *kind, const char *(*at)(size_t i),
               const char **v);
bool use_of(const args *a, const char **use); /* --use */
/* --top: rows of a table; "all" gives INT64_MAX. Absent: *rows is unchanged. */
bool top_of(const args *a, int64_t *rows);
/* Lists of at most MOST_VALUES: whole numbers, "1,2,8" or "1..4", and words. Absent: v and *n are
 * unchanged. Words point into the option's text, which is cut: to be called once. */
bool numbers_of(const args *a, const char *name, int64_t lo, int64_t hi, int64_t *v, int *n);
bool words_of(const args *a, const char *name, const char **v, int *n);
/* The --dim options, at most MOST_OPTIONS; false after saying what is wrong. To be called once: it
 * cuts the options' texts at their `=`. */
bool dims_of(const args *a, hone_dim_value *dims, size_t *n);
/* --max-memory as bytes: "512", "0.5" are MB, "50%" is of what the machine or container allows.
 * Absent: *bytes is unchanged. */
bool memory_of(const args *a, int64_t *bytes);
/* The options with one of the arguments alone, in texts of its own: reading some cuts them. */
args args_of(const args *a, int argument);
void args_deinit(args *own);
/* The path of a model's file. A `-` is standard input, which is read to memory the first time. */
const char *model_path(const char *word);
/* Replaces that path in a message. */
void name_standard_input(char *text);
/* The model that is the first argument; --no-mmap. */
hone_status load_model(const args *a, hone_model **m, hone_error *err);
hone_status load_model_at(const args *a, const char *path, hone_model **m, hone_error *err);
/* All of a file, to be freed in any case; false after saying what is wrong. */
bool read_text(const char *path, char **text);
/* --threads, --isa and --precision unless they are lists, --layer-precision, --reserve-cores,
 * --max-memory, --seed, --backend, --tune, --tune-cache, --kernel, --exec and --without. From here
 * on Ctrl-C ends a run instead of the program. */
bool session_options(const args *a, hone_session_options *o);
/* hone/<name>, of at most 20 letters, in $XDG_CACHE_HOME or ~/.cache; the folders are made. Returns
 * path; NULL: there is no place. */
#define CACHE_PATH 4096
const char *cache_file(const char *name, char path[CACHE_PATH]);
/* What tuning did, as a note. */
void note_tuning(hone_tuning t);
/* Whether both paths lead to one file. */
bool same_file(const char *a, const char *b);
/* The file is one that the command reads: a model or its external data, a part of a dataset, or what
 * an option names to be read. */
bool is_read(const args *a, const char *path);
/* No option names a file to write that the command reads, or that another option writes. */
exit_code check_overwriting(const args *a);
/* The candidate nearest in spelling, or NULL when none is near. A list ends with NULL. */
const char *nearest(const char *word, const char *const *list);
/* "<owner> has no <kind> '<word>'", with the nearest spelling in the list, or the whole list when
 * none is near. */
void has_no(const char *owner, const char *kind, const char *word, const char *const *list);
/* The word is in a table of what quantizing knows; *needs_data, which may be NULL, becomes true
 * where it says so. False after saying that it is not. */
bool is_choice(hone_quantize_table of, const char *kind, const char *word, bool *needs_data);

/* ---- recipes (recipe.c) ---- */

/* Append to the text of a recipe, NULL: it is empty; return it, to be freed. */
char *recipe_add(char *text, const char *more);
/* A word: between ' where it holds what would end it. A value for layers says which itself:
 * name:PATTERN=N. */
char *recipe_add_word(char *text, const char *name, const char *value, bool for_layers);
/* The line of the verb's transform, with the parameters that were given as options. */
char *recipe_add_options(char *text, const args *a);

/* ---- inputs and outputs of a model (inputs.c) ---- */

/* What an input or output of a model is. */
hone_value_info value_info(const hone_model *m, bool input, size_t i);

typedef struct feed {
    size_t n_in, n_out;
    hone_value_info *info;  /* of the inputs */
    hone_value *in, *out;   /* named; an input whose dtype is not set is still to be given */
    size_t n_dims, n_asked; /* n_asked: of these, by --dim */
    hone_dim_value *dims;   /* sizes of symbols, as far as they are settled */
} feed;
/* Room for the values of m, and the sizes --dim settles. Like those below, says what is wrong. */
exit_code feed_init(feed *f, const args *a, const hone_model *m);
void feed_deinit(feed *f); /* a zeroed one too */
/* Gives input i a value, which is the feed's from then on; its axes settle symbols. */
void feed_take(feed *f, size_t i, hone_value *v);
/* Input i from a .npy file. */
hone_status feed_read(feed *f, size_t i, const char *path, hone_error *err);
/* Whether a symbol is settled, and its size; else *size is unchanged. */
bool feed_knows(const feed *f, const char *symbol, int64_t *size);
/* Settles a symbol; false where it is settled otherwise. */
bool feed_size(feed *f, const char *symbol, int64_t size);
/* --fill as a hone_fill; absent: *fill is unchanged. */
bool fill_of(const args *a, int *fill);
/* Makes up the inputs that were not given; fill -1: there must be none. A symbol that nothing
 * settles is 1 as a first axis, else 128, with a note. They take no more than `most` bytes; 0: than
 * there are. */
exit_code feed_fill(feed *f, int fill, uint64_t seed, size_t most);

/* ---- runs one after the other, with a state (run_state.c) ---- */

typedef struct stream stream;
/* --state is given; false after saying that an option is useless without it. */
bool stream_wanted(const args *a, bool *wanted);
/* Once --in is read: takes what the session keeps out of the feed; --over, --steps. Like stream_run,
 * says what is wrong. */
exit_code stream_begin(stream **out, const args *a, hone_session *session, feed *f);
/* All steps, and --load-state before, --save-state after them. f->out gets the outputs, with an
 * axis for the steps in front if --over or --steps is given. */
exit_code stream_run(stream *s, const args *a, feed *f);
int64_t stream_steps(const stream *s); /* 1 of NULL */
void stream_end(stream *s);            /* NULL accepted */

/* ---- precision (precision.c) ---- */

/* Whether the model can run at that precision (NULL: its own); else says why not. */
exit_code check_precision(const args *a, hone_model *m, const char *name);
/* A session of the model, if it can run at its precisions; says what is wrong. */
exit_code open_session(const args *a, hone_model *m, const hone_session_options *o,
                       hone_session **s);
/* Notes that products compute more exactly than asked for, and why; why NULL or "": they do not. */
void note_precision(const char *used, const char *why);
void note_session_precision(hone_session *s);
/* What precision auto left in f32, as notes. */
void note_choices(const hone_session *s);
/* Where the session of these options rounds to 16-bit floats: how far its outputs are from what f32
 * gives for the same inputs; the largest of all outputs of floats. Else, or if there are none, NaN.
 */
hone_status compare_with_f32(hone_model *m, const hone_session_options *o, const feed *f,
                             const hone_value *out, hone_difference *d, hone_error *err);
/* As a note, or a warning; nothing where it is NaN. */
void note_difference(const hone_difference *d);

/* ---- other machines (on.c) ---- */

/* --on: the command of these words, those behind the verb, runs there instead. */
exit_code run_elsewhere(const args *a, int n, char **words);

/* ---- messages and progress (messages.c) ---- */

/* What `hone -q` and `hone -v` set: -q shows errors only, none of them also warnings and notes, -v
 * also what the library tells of its work. */
void set_verbosity(bool quiet, bool verbose);

/* One line, "hone: ...", on stderr. Control characters, which names in a model may hold, are
 * replaced in everything that is printed. */
void complain(const char *format, ...) HONE_PRINTF(1, 2);
void note(const char *format, ...) HONE_PRINTF(1, 2); /* unless -q */
void hush_notes(void);                                /* from here on */
/* One line on stdout. */
void line(const char *format, ...) HONE_PRINTF(1, 2);
/* Says what e says; the exit code that goes with its status. */
exit_code fail_with(const hone_error *e);

void catch_interrupt(void);
/* --time-limit: once so many seconds have passed not_interrupted says no, and what has not ended a
 * second later is ended by force. False after saying what is wrong. */
bool start_time_limit(const args *a);
/* In a process that was forked: the limit holds there too, and the parent alone says so. */
void continue_time_limit(void);
/* False once the user has pressed Ctrl-C or the time limit is over; fits
 * hone_session_options.keep_going. */
bool not_interrupted(void *unused);
/* Says which of both it was; the exit code that goes with it. */
exit_code say_interrupted(void);

/* A bar with rate and time left, on stderr if that is a terminal. progress_step fits
 * hone_eval_options.progress; ctx is a progress. */
typedef struct progress {
    const char *what; /* "eval" */
    const char *unit; /* "samples"; NULL: the rate means nothing */
    double begun, shown;
    double until; /* when all of it ends, of which this is a part; 0: this is all */
} progress;
void progress_start(progress *p, const char *what, const char *unit);
/* Shows the time that all is expected to take from now on, instead of this part's; NaN: not known.
 */
void progress_expect(progress *p, double seconds);
bool progress_step(void *ctx, int64_t done, int64_t total);
/* Likewise, of several parts one after the other; fits hone_transform_options.progress. */
bool progress_tell(void *ctx, const char *what, int64_t done, int64_t total);
void progress_end(progress *p);

/* ---- text (text.c) ---- */

void *must(void *p); /* ends the program when p is NULL: out of memory */

/* "1.23 M", "4.5 GB": three significant digits; buf has 32 bytes. Negative: "?". */
const char *human_count(int64_t n, char *buf);
const char *human_bytes(int64_t n, char *buf);
/* What a package holds ready to run, a line for each instruction set. */
void print_ready(const hone_package *p);
/* "weights 1.2 MB, activations 3.4 MB, workspace 56 kB, planned 6.7 MB in all" */
void print_memory(const char *before, const hone_memory_use *use);
/* "a, b, c" of a list that ends with NULL; free it. */
char *join(const char *const *list);
/* "f32[batch, 10]"; free it. */
char *type_text(const hone_value_info *v);
/* "my.domain.Op", or "Op" of ai.onnx; free it. */
char *op_text(const char *domain, const char *op);

/* A text on stdout in as many lines as the terminal needs, broken at spaces; in one where there is
 * no terminal. So many spaces stand before the first line, and before the others. */
void wrapped(int indent, int rest, const char *format, ...) HONE_PRINTF(3, 4);

/* A table on stdout. Columns are as wide as their widest cell. Where COLUMNS or the terminal is
 * narrower, the columns that may be cut are. align has a letter per column: l left, r right, h left
 * and cut to its head, t left and cut to its tail. heads NULL: no heading. */
typedef struct table table;
table *table_new(const char *const *heads, const char *align);
void table_cell(table *t, const char *format, ...) HONE_PRINTF(2, 3);
void table_print(table *t); /* and frees it */

/* Where the time of long work went, as a table. */
void print_stages(size_t n, const hone_stage *stages);

/* ---- JSON (json.c) ---- */

/* What a verb found: objects, a line of text each. Every verb writes them, whether or not --json
 * prints them, so that whatever else is made of them shows the same numbers. */
typedef struct json {
    FILE *to;
    char *text; /* what was written up to the last object that ended */
    size_t bytes;
    bool print; /* objects to stdout as they end */
    int depth;
    bool comma[16];
} json;
/* Why no file can be made at the path; NULL: it can. What is there already is replaced. */
const char *unwritable(const char *path);
/* Writes a file that takes the place of what is there when it is whole; `put` says with errno if it
 * cannot go on. */
exit_code write_by(const char *path, bool (*put)(FILE *to, void *ctx), void *ctx);
exit_code write_whole(const char *path, const char *text, size_t bytes);
/* Whether the page of --report can be written, looked at before anything is measured. */
exit_code results_check(const args *a);
void results_begin(json *j, const args *a);
/* Begins an object, whose first keys are "schema" and "command". */
void results_object(json *j, const args *a);
/* To be called once, whatever became of the verb. Writes the page of --report if there is anything
 * to show; the exit code of that. */
exit_code results_end(json *j, const args *a);
/* The same with the page at another path; NULL: none is written. */
exit_code results_end_at(json *j, const char *report);

/* Text that is not UTF-8 is made so. */
void json_begin(json *j, const char *key, char bracket); /* '{' or '['; key NULL inside lists */
void json_end(json *j, char bracket);
void json_text(json *j, const char *key, const char *v); /* NULL: null */
void json_number(json *j, const char *key, double v);    /* not finite: null */
void json_int(json *j, const char *key, int64_t v);
void json_count(json *j, const char *key, int64_t v); /* negative, not known: null */
void json_bool(json *j, const char *key, int v);      /* negative: null */
/* The dims of a value; null where the rank is not known. */
void json_dims(json *j, const char *key, const hone_value_info *v);
/* Begin an object or a list if it is known, else write null; whether it is. */
bool json_maybe_object(json *j, const char *key, const void *at); /* NULL: not known */
bool json_maybe_list(json *j, const char *key, int64_t n);        /* negative: not known */

#endif
