#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

/* The size of symbolic axes nobody gave one: 1 for the first axis, 128 for others. */
#define BATCH_SIZE 1
#define OTHER_SIZE 128

typedef struct job {
    const args *a;
    hone_model *model;
    hone_session *session;
    size_t n_in, n_out;
    hone_value_info *info; /* of the inputs */
    hone_value *in, *out;
    const char **in_path; /* NULL: made up */
    char **out_path;      /* NULL: not written */
    size_t n_dims;
    hone_dim_value *dims; /* sizes of symbols, as far as they are settled */
} job;

/* ---- inputs ---- */

/* The size of the symbol, or NULL when it is not settled. */
static const int64_t *size_of(const job *j, const char *symbol) {
    for (size_t i = 0; i < j->n_dims; i++)
        if (strcmp(j->dims[i].name, symbol) == 0) return &j->dims[i].value;
    return NULL;
}

static void settle(job *j, const char *symbol, int64_t size) {
    if (size_of(j, symbol) == NULL) j->dims[j->n_dims++] = (hone_dim_value){symbol, size};
}

/* --dim, whose names must be symbols of the inputs. */
static bool take_dims(job *j, const hone_dim_value *dims, size_t n) {
    const char **symbols = must(calloc(j->n_in * HONE_MAX_RANK + 1, sizeof *symbols));
    size_t k = 0;
    bool good = true;
    for (size_t i = 0; i < j->n_in; i++)
        for (int d = 0; d < j->info[i].rank; d++)
            if (j->info[i].dim_names[d] != NULL) symbols[k++] = j->info[i].dim_names[d];
    for (size_t i = 0; i < n && good; i++) {
        size_t at = 0;
        while (at < k && strcmp(symbols[at], dims[i].name) != 0) at++;
        good = at < k;
        if (good)
            settle(j, symbols[at], dims[i].value);
        else
            has_no("the model", "symbolic input axis", dims[i].name, symbols);
    }
    free(symbols);
    return good;
}

/* Which input `NAME=FILE` gives; names may hold `=`. n_in: none. */
static size_t input_of(const job *j, const char *text) {
    size_t i = 0;
    for (; i < j->n_in; i++) {
        size_t n = strlen(j->info[i].name);
        if (strncmp(text, j->info[i].name, n) == 0 && text[n] == '=') break;
    }
    return i;
}

static exit_code no_such_input(const job *j, char *text) {
    const char **names = must(calloc(j->n_in + 1, sizeof *names));
    for (size_t i = 0; i < j->n_in; i++) names[i] = j->info[i].name;
    char *eq = strchr(text, '=');
    if (eq == NULL) {
        complain("--in wants NAME=FILE.npy, got '%s'", text);
    } else {
        *eq = '\0';
        has_no("the model", "input", text, names);
    }
    free(names);
    return EXIT_USAGE;
}

/* --in NAME=FILE */
static exit_code read_inputs(job *j) {
    hone_error err;
    char *text;
    for (int k = 0; (text = value_at(j->a, "--in", k)) != NULL; k++) {
        size_t i = input_of(j, text);
        if (i == j->n_in) return no_such_input(j, text);
        const hone_value_info *info = &j->info[i];
        if (j->in_path[i] != NULL) {
            complain("--in gives input '%s' twice", info->name);
            return EXIT_USAGE;
        }
        j->in_path[i] = text + strlen(info->name) + 1;
        if (hone_npy_read(&j->in[i], j->in_path[i], &err) != HONE_OK) return fail_with(&err);
        j->in[i].name = info->name;
        for (int d = 0; d < info->rank && d < j->in[i].rank; d++)
            if (info->dim_names[d] != NULL) settle(j, info->dim_names[d], j->in[i].dims[d]);
    }
    return EXIT_DONE;
}

/* Gives a made-up input its dims. */
static void size_up(job *j, const hone_value_info *info, hone_value *v) {
    v->dtype = info->dtype;
    v->rank = info->rank;
    for (int d = 0; d < info->rank; d++) {
        const char *symbol = info->dim_names[d];
        if (symbol != NULL && size_of(j, symbol) == NULL) {
            settle(j, symbol, d == 0 ? BATCH_SIZE : OTHER_SIZE);
            note("%s is taken as %lld (--dim %s=N sets it)", symbol, (long long)*size_of(j, symbol),
                 symbol);
        }
        v->dims[d] = symbol != NULL ? *size_of(j, symbol) : info->dims[d];
    }
}

/* --fill */
static exit_code fill_inputs(job *j, int fill, uint64_t seed) {
    hone_error err;
    for (size_t i = 0; i < j->n_in; i++) {
        const hone_value_info *info = &j->info[i];
        if (j->in_path[i] != NULL) continue;
        if (fill < 0) {
            complain("input '%s' is not given: --in %s=FILE.npy, or --fill zeros|ones|random",
                     info->name, info->name);
            return EXIT_USAGE;
        }
        if (info->rank < 0) {
            complain("input '%s' cannot be made up, its rank is not known: --in %s=FILE.npy",
                     info->name, info->name);
            return EXIT_USAGE;
        }
        size_up(j, info, &j->in[i]);
        if (hone_value_fill(&j->in[i], (hone_fill)fill, seed + i, &err) != HONE_OK)
            return fail_with(&err);
    }
    return EXIT_DONE;
}

/* ---- outputs ---- */

/* A file name made of an output's: what is not a letter, digit, `.`, `_` or `-` becomes `_`. Where
 * that makes two outputs equal, the later one gets a number. */
static char *file_name(const job *j, size_t i, const char *folder) {
    char *stem = must(strdup(j->out[i].name)), *path = NULL;
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

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
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
    for (size_t i = 0; i < j->n_out; i++) {
        j->out_path[i] = file_name(j, i, folder);
        bool input = same_file(j->out_path[i], j->a->argument[0]);
        for (size_t k = 0; k < j->n_in; k++)
            input |= j->in_path[k] != NULL && same_file(j->out_path[i], j->in_path[k]);
        if (!input) continue;
        complain("output '%s' would overwrite the input %s", j->out[i].name, j->out_path[i]);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static hone_value_info info_of(const hone_value *v) {
    hone_value_info info = {.name = v->name, .dtype = v->dtype, .rank = v->rank};
    memcpy(info.dims, v->dims, sizeof info.dims);
    return info;
}

static void print_json(const job *j) {
    json js = {0};
    json_begin(&js, NULL, '{');
    json_text(&js, "schema", "hone.run/1");
    json_text(&js, "model", j->a->argument[0]);
    json_int(&js, "peak_bytes", (int64_t)hone_session_memory(j->session).peak_bytes);
    json_begin(&js, "outputs", '[');
    for (size_t i = 0; i < j->n_out; i++) {
        hone_value_info info = info_of(&j->out[i]);
        json_begin(&js, NULL, '{');
        json_value_info(&js, &info);
        json_text(&js, "file", j->out_path[i]);
        json_end(&js, '}');
    }
    json_end(&js, ']');
    json_end(&js, '}');
}

static void print_text(const job *j) {
    table *t = table_new(NULL, "thl");
    for (size_t i = 0; i < j->n_out; i++) {
        hone_value_info info = info_of(&j->out[i]);
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
    if (load_model(j->a, &j->model, &err) != HONE_OK ||
        hone_session_create(&j->session, j->model, o, &err) != HONE_OK)
        return fail_with(&err);
    j->n_in = hone_model_n_inputs(j->model);
    j->n_out = hone_model_n_outputs(j->model);
    j->info = must(calloc(j->n_in + 1, sizeof *j->info));
    j->in = must(calloc(j->n_in + 1, sizeof *j->in));
    j->in_path = must(calloc(j->n_in + 1, sizeof *j->in_path));
    j->dims = must(calloc(j->n_in * HONE_MAX_RANK + 1, sizeof *j->dims));
    j->out = must(calloc(j->n_out + 1, sizeof *j->out));
    j->out_path = must(calloc(j->n_out + 1, sizeof *j->out_path));
    for (size_t i = 0; i < j->n_in; i++) {
        hone_model_input(j->model, i, &j->info[i], NULL);
        j->in[i].name = j->info[i].name;
    }
    for (size_t i = 0; i < j->n_out; i++) {
        hone_value_info info;
        hone_model_output(j->model, i, &info, NULL);
        j->out[i].name = info.name;
    }
    return EXIT_DONE;
}

/* -1: --fill is not given, -2: it is wrong, which has been said. */
static int fill_of(const args *a) {
    static const char *const kinds[] = {"zeros", "ones", "random"};
    const char *text = value_of(a, "--fill");
    if (text == NULL) return -1;
    for (int i = 0; i < 3; i++)
        if (strcmp(kinds[i], text) == 0) return i;
    complain("--fill wants zeros, ones or random, got '%s'", text);
    return -2;
}

static exit_code go(job *j) {
    const args *a = j->a;
    hone_error err;
    hone_session_options o;
    hone_dim_value dims[MOST_OPTIONS];
    size_t n_dims;
    int fill = fill_of(a);
    if (fill < -1 || !session_options(a, &o) || !dims_of(a, dims, &n_dims)) return EXIT_USAGE;
    exit_code code = open_model(j, &o);
    if (code == EXIT_DONE && !take_dims(j, dims, n_dims)) code = EXIT_USAGE;
    if (code == EXIT_DONE) code = read_inputs(j);
    if (code == EXIT_DONE) code = fill_inputs(j, fill, o.seed);
    if (code == EXIT_DONE) code = place_outputs(j, value_of(a, "--output"));
    if (code != EXIT_DONE) return code;
    if (hone_session_run(j->session, j->n_in, j->in, j->n_out, j->out, &err) != HONE_OK)
        return fail_with(&err);
    for (size_t i = 0; i < j->n_out; i++)
        if (j->out_path[i] != NULL && hone_npy_write(&j->out[i], j->out_path[i], &err) != HONE_OK)
            return fail_with(&err);
    if (has(a, "--json"))
        print_json(j);
    else
        print_text(j);
    return EXIT_DONE;
}

static exit_code run(const args *a) {
    job j = {.a = a};
    exit_code code = go(&j);
    hone_value_release(j.in, j.n_in);
    hone_value_release(j.out, j.n_out);
    for (size_t i = 0; i < j.n_out; i++) free(j.out_path[i]);
    free(j.info);
    free(j.in);
    free(j.in_path);
    free(j.dims);
    free(j.out);
    free(j.out_path);
    hone_session_destroy(j.session);
    hone_model_destroy(j.model);
    return code;
}

static const option_def options[] = {
    {"--in", 'i', "NAME=FILE", "an input from a .npy file", true},
    {"--output", 'o', "DIR", "write each output to DIR/<name>.npy", false},
    {"--fill", 0, "HOW", "make up inputs that are not given: zeros, ones or random", false},
    OPTION_DIM,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_ISA,
    OPTION_BACKEND,
    OPTION_MAX_MEMORY,
    OPTION_NO_MMAP,
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
