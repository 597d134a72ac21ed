#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "write.h"

typedef struct job {
    const args *a;
    hone_model *model;
    hone_session *session;
    feed feed;
    stream *stream; /* NULL: one run */
    size_t n_paths;
    hone_difference difference; /* from f32 */
    const char **in_path;       /* NULL: made up */
    char **out_path;            /* NULL: not written */
} job;

/* ---- inputs ---- */

/* Which input `NAME=FILE` gives; names may hold `=`. n_in: none. */
static size_t input_of(const job *j, const char *text) {
    size_t i = 0;
    for (; i < j->feed.n_in; i++) {
        size_t n = strlen(j->feed.in[i].name);
        if (strncmp(text, j->feed.in[i].name, n) == 0 && text[n] == '=') break;
    }
    return i;
}

static exit_code no_such_input(const job *j, char *text) {
    const char **names = must(calloc(j->feed.n_in + 1, sizeof *names));
    for (size_t i = 0; i < j->feed.n_in; i++) names[i] = j->feed.in[i].name;
    char *eq = strchr(text, '=');
    if (eq == NULL) {
        complain("--in wants NAME=FILE.npy or FILE.npz, got '%s'", text);
    } else {
        *eq = '\0';
        has_no("the model", "input", text, names);
    }
    free(names);
    return EXIT_USAGE;
}

static exit_code claim(job *j, size_t i, const char *path) {
    if (j->in_path[i] != NULL) {
        complain("--in gives input '%s' twice", j->feed.in[i].name);
        return EXIT_USAGE;
    }
    j->in_path[i] = path;
    return EXIT_DONE;
}

static bool is_archive(const char *text) {
    size_t n = strlen(text);
    return n > 4 && strcmp(text + n - 4, ".npz") == 0;
}

/* The arrays of a .npz file that are named as inputs; others are left alone, with a note. */
static exit_code read_archive(job *j, const char *path) {
    hone_value *arrays = NULL;
    size_t n = 0, taken = 0;
    hone_error err;
    exit_code code = EXIT_DONE;
    if (hone_npz_read(&arrays, &n, path, &err) != HONE_OK) return fail_with(&err);
    for (size_t k = 0; k < n && code == EXIT_DONE; k++) {
        size_t i = 0;
        while (i < j->feed.n_in && strcmp(j->feed.in[i].name, arrays[k].name) != 0) i++;
        if (i == j->feed.n_in) {
            note("%s: array '%s' is none of the model's inputs", path, arrays[k].name);
            continue;
        }
        code = claim(j, i, path);
        if (code == EXIT_DONE) feed_take(&j->feed, i, &arrays[k]);
        taken++;
    }
    if (code == EXIT_DONE && taken == 0) {
        complain("%s: no array is named as an input of the model", path);
        code = EXIT_INPUT;
    }
    hone_value_release(arrays, n);
    hone_free(arrays);
    return code;
}

/* --in NAME=FILE.npy or FILE.npz */
static exit_code read_inputs(job *j) {
    hone_error err;
    char *text;
    exit_code code = EXIT_DONE;
    for (int k = 0; code == EXIT_DONE && (text = value_at(j->a, "--in", k)) != NULL; k++) {
        size_t i = input_of(j, text);
        if (i == j->feed.n_in && is_archive(text)) {
            code = read_archive(j, text);
            continue;
        }
        if (i == j->feed.n_in) return no_such_input(j, text);
        code = claim(j, i, text + strlen(j->feed.in[i].name) + 1);
        if (code == EXIT_DONE && feed_read(&j->feed, i, j->in_path[i], &err) != HONE_OK)
            code = fail_with(&err);
    }
    return code;
}

/* ---- outputs ---- */

/* A file name made of an output's: what is not a letter, digit, `.`, `_` or `-` becomes `_`. Where
 * that makes two outputs equal, the later one gets a number. */
static char *file_name(const job *j, size_t i, const char *folder) {
    char *stem = must(strdup(j->feed.out[i].name)), *path = NULL;
    for (char *c = stem; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL) *c = '_';
    bool taken = true;
    for (int number = 1; taken; number++) {
        char suffix[16] = "";
        if (number > 1) snprintf(suffix, sizeof suffix, "_%d", number);
        free(path);
        if (asprintf(&path, "%s/%s%s.npy", folder, stem, suffix) < 0) must(NULL);
        taken = false;
        for (size_t k = 0; k < i; k++) taken |= strcmp(path, j->out_path[k]) == 0;
    }
    free(stem);
    return path;
}

/* Makes the folder and finds the files' names, before the model is run for nothing. */
static exit_code place_outputs(job *j, const char *folder) {
    if (folder == NULL) return EXIT_DONE;
    struct stat s;
    bool made = mkdir(folder, 0777) == 0;
    int why = errno;
    if (!made && (why != EEXIST || stat(folder, &s) != 0 || !S_ISDIR(s.st_mode))) {
        complain("%s: %s", folder, why == EEXIST ? "not a folder" : strerror(why));
        return EXIT_INPUT;
    }
    for (size_t i = 0; i < j->feed.n_out; i++) {
        j->out_path[i] = file_name(j, i, folder);
        if (!is_read(j->a, j->out_path[i])) continue;
        complain("output '%s' would overwrite the input %s", j->feed.out[i].name, j->out_path[i]);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* Whether --save-state can be done, likewise. */
static exit_code check_saving(const job *j) {
    const char *path = value_of(j->a, "--save-state");
    const char *why = path != NULL ? unwritable(path) : NULL;
    if (why == NULL) return EXIT_DONE;
    complain("--save-state %s: %s", path, why);
    return EXIT_INPUT;
}

static hone_value_info info_of(const hone_value *v) {
    hone_value_info info = {.name = v->name, .dtype = v->dtype, .rank = v->rank};
    memcpy(info.dims, v->dims, sizeof info.dims);
    return info;
}

typedef struct run_output {
    hone_value_info info;
    const char *file; /* NULL: it is not written */
} run_output;

#include "schema/run.def"

static exit_code write_results(const job *j) {
    json js;
    results_begin(&js, j->a);
    write_run(&js, j->a, j);
    return results_end(&js, j->a);
}

static void print_text(const job *j) {
    table *t = table_new(NULL, "thl");
    for (size_t i = 0; i < j->feed.n_out; i++) {
        hone_value_info info = info_of(&j->feed.out[i]);
        char *type = type_text(&info);
        table_cell(t, "%s", info.name);
        table_cell(t, "%s", type);
        table_cell(t, "%s", j->out_path[i] != NULL ? j->out_path[i] : "");
        free(type);
    }
    table_print(t);
}

/* ---- the whole ---- */

static exit_code open_model(job *j, const hone_session_options *o) {
    hone_error err;
    if (load_model(j->a, &j->model, &err) != HONE_OK) return fail_with(&err);
    exit_code code = open_session(j->a, j->model, o, &j->session);
    if (code != EXIT_DONE) return code;
    code = feed_init(&j->feed, j->a, j->model);
    j->n_paths = j->feed.n_in;
    j->in_path = must(calloc(j->feed.n_in + 1, sizeof *j->in_path));
    j->out_path = must(calloc(j->feed.n_out + 1, sizeof *j->out_path));
    return code;
}

static exit_code run_feed(job *j, const hone_session_options *o) {
    feed *f = &j->feed;
    hone_error err;
    j->difference = (hone_difference){NAN, NAN};
    if (j->stream != NULL) return stream_run(j->stream, j->a, f);
    if (hone_session_run(j->session, f->n_in, f->in, f->n_out, f->out, &err) != HONE_OK ||
        compare_with_f32(j->model, o, f, f->out, &j->difference, &err) != HONE_OK)
        return fail_with(&err);
    note_session_precision(j->session);
    note_difference(&j->difference);
    return EXIT_DONE;
}

static exit_code go(job *j) {
    const args *a = j->a;
    hone_error err;
    hone_session_options o;
    feed *f = &j->feed;
    int fill = -1;
    bool streams;
    if (!fill_of(a, &fill) || !session_options(a, &o) || !stream_wanted(a, &streams))
        return EXIT_USAGE;
    exit_code code = open_model(j, &o);
    if (code == EXIT_DONE) code = read_inputs(j);
    if (code == EXIT_DONE && streams) code = stream_begin(&j->stream, a, j->session, f);
    if (code == EXIT_DONE) code = feed_fill(f, fill, o.seed, o.max_memory);
    if (code == EXIT_DONE) code = place_outputs(j, value_of(a, "--output"));
    if (code == EXIT_DONE) code = check_saving(j);
    if (code == EXIT_DONE) code = run_feed(j, &o);
    if (code != EXIT_DONE) return code;
    note_tuning(hone_session_tuning(j->session));
    note_choices(j->session);
    for (size_t i = 0; i < j->feed.n_out; i++)
        if (j->out_path[i] != NULL &&
            hone_npy_write(&j->feed.out[i], j->out_path[i], &err) != HONE_OK)
            return fail_with(&err);
    if (!has(a, "--json")) print_text(j);
    return write_results(j);
}

static exit_code run(const args *a) {
    job j = {.a = a};
    exit_code code = go(&j);
    for (size_t i = 0; i < j.feed.n_out && j.out_path != NULL; i++) free(j.out_path[i]);
    stream_end(j.stream);
    feed_deinit(&j.feed);
    free(j.in_path);
    free(j.out_path);
    hone_session_destroy(j.session);
    hone_model_destroy(j.model);
    return code;
}

static const option_def options[] = {
    {"--in", 'i', "[NAME=]<FILE", "an input from a .npy file; from a .npz file, inputs by name",
     true, NULL},
    {"--output", 'o', ">DIR", "write the result here: a file NAME.npy per output", false, NULL},
    OPTION_STATE,
    {"--over", 0, "INPUT[:AXIS]", "run one step for each slice of an input along an axis", true,
     NULL},
    {"--steps", 0, "N", "run N steps (default: one, or as many as --over has slices)", false, NULL},
    {"--load-state", 0, "<FILE", "begin with the state in a .npz file", false, NULL},
    {"--save-state", 0, ">FILE", "write the state after the last step to a .npz file", false, NULL},
    OPTION_FILL,
    OPTION_DIM,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_RESERVE,
    OPTION_TUNE,
    OPTION_TUNE_CACHE,
    OPTION_EXEC,
    OPTION_KERNEL,
    OPTION_WITHOUT,
    OPTION_PRECISION,
    OPTION_LAYER_PRECISION,
    OPTION_ISA,
    OPTION_BACKEND,
    OPTION_MAX_MEMORY,
    OPTION_TIME_LIMIT,
    OPTION_NO_SHARING,
    OPTION_NO_MMAP,
    OPTION_ON,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_run = {
    .name = "run",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "run a model once, its outputs as .npy files",
    .options = options,
    .run = run,
};
