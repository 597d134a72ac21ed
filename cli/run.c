#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

/* The size of symbolic axes nobody gave one: 1 for the first axis, 128 for others. */
#define BATCH_SIZE 1
#define OTHER_SIZE 128

typedef struct job {
    hone_model *model;
    hone_session *session;
    hone_value *in, *out;
    size_t n_in, n_out;
    hone_dim_value dims[MOST_OPTIONS];
    size_t n_dims;
} job;

/* Concrete dims of an input that is to be made up. */
static void size_up(job *j, const hone_value_info *info, hone_value *v, bool quiet) {
    v->rank = info->rank;
    for (int i = 0; i < info->rank; i++) {
        v->dims[i] = info->dims[i];
        if (v->dims[i] >= 0) continue;
        size_t k = 0;
        while (k < j->n_dims && strcmp(j->dims[k].name, info->dim_names[i]) != 0) k++;
        if (k == j->n_dims && j->n_dims < MOST_OPTIONS) {
            int64_t size = i == 0 ? BATCH_SIZE : OTHER_SIZE;
            if (!quiet)
                complain("note: %s is taken as %lld (--dim %s=N)", info->dim_names[i],
                         (long long)size, info->dim_names[i]);
            j->dims[j->n_dims++] = (hone_dim_value){info->dim_names[i], size};
        }
        v->dims[i] = j->dims[k].value;
    }
}

/* --in NAME=FILE */
static exit_code read_inputs(const args *a, job *j) {
    hone_error err;
    const char *text;
    for (int k = 0; (text = value_at(a, "--in", k)) != NULL; k++) {
        size_t i = 0, n = 0;
        for (; i < j->n_in; i++) {
            n = strlen(j->in[i].name);
            if (strncmp(text, j->in[i].name, n) == 0 && text[n] == '=') break;
        }
        if (i == j->n_in) {
            char list[600] = "";
            for (size_t q = 0; q < j->n_in; q++) {
                strncat(list, q > 0 ? ", " : "", sizeof list - strlen(list) - 1);
                strncat(list, j->in[q].name, sizeof list - strlen(list) - 1);
            }
            complain("--in wants NAME=FILE.npy with NAME one of: %s; got '%s'", list, text);
            return EXIT_USAGE;
        }
        if (j->in[i].data != NULL) {
            complain("--in: input '%s' is given twice", j->in[i].name);
            return EXIT_USAGE;
        }
        hone_value v;
        const char *name = j->in[i].name;
        if (hone_npy_read(text + n + 1, &v, &err) != HONE_OK) return fail_with(&err);
        v.name = name;
        j->in[i] = v;
    }
    return EXIT_DONE;
}

static exit_code fill_inputs(const args *a, job *j) {
    static const char *const kinds[] = {"zeros", "ones", "random", NULL};
    const char *fill = value_of(a, "--fill");
    hone_error err;
    int64_t seed = 1;
    int kind = 0;
    if (!number_of(a, "--seed", 0, INT64_MAX, &seed)) return EXIT_USAGE;
    while (fill != NULL && kinds[kind] != NULL && strcmp(kinds[kind], fill) != 0) kind++;
    if (kinds[kind] == NULL) {
        complain("--fill wants zeros, ones or random, got '%s'", fill);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < j->n_in; i++) {
        hone_value *v = &j->in[i];
        if (v->data != NULL) continue;
        if (fill == NULL) {
            complain("input '%s' is not given: --in %s=FILE.npy, or --fill zeros|ones|random",
                     v->name, v->name);
            return EXIT_USAGE;
        }
        hone_value_info info;
        if (hone_model_input(j->model, i, &info, &err) != HONE_OK) return fail_with(&err);
        if (info.rank < 0) {
            complain("input '%s' cannot be filled: its rank is not known", v->name);
            return EXIT_INPUT;
        }
        v->dtype = info.dtype;
        size_up(j, &info, v, has(a, "--quiet"));
        if (hone_value_fill(v, (hone_fill)kind, (uint64_t)seed + i, &err) != HONE_OK)
            return fail_with(&err);
    }
    return EXIT_DONE;
}

/* A file name of an output: what is not a letter, digit, '.', '_' or '-' becomes '_'. */
static void file_name(const char *folder, const char *name, char *path, size_t size) {
    int n = snprintf(path, size, "%s/", folder);
    for (size_t at = (size_t)n; *name != '\0' && at + 5 < size; name++, at++) {
        char c = *name;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '_' || c == '-' || c == '.';
        path[at] = plain ? c : '_';
        path[at + 1] = '\0';
    }
    strncat(path, ".npy", size - strlen(path) - 1);
}

static exit_code write_outputs(const args *a, job *j) {
    const char *folder = value_of(a, "--output");
    hone_error err;
    if (folder != NULL && mkdir(folder, 0777) != 0 && errno != EEXIST) {
        complain("%s: %s", folder, strerror(errno));
        return EXIT_INPUT;
    }
    json js = {0};
    bool as_json = has(a, "--json");
    if (as_json) {
        json_begin(&js, NULL, '{');
        json_text(&js, "schema", "hone.run/1");
        json_text(&js, "model", a->argument[0]);
        json_int(&js, "peak_bytes", (int64_t)hone_session_memory(j->session).peak_bytes);
        json_begin(&js, "outputs", '[');
    }
    exit_code code = EXIT_DONE;
    for (size_t i = 0; i < j->n_out && code == EXIT_DONE; i++) {
        hone_value *v = &j->out[i];
        char path[4096] = "", type[600];
        hone_value_info info = {.name = v->name, .dtype = v->dtype, .rank = v->rank};
        memcpy(info.dims, v->dims, sizeof info.dims);
        if (folder != NULL) {
            file_name(folder, v->name, path, sizeof path);
            if (hone_npy_write(path, v, &err) != HONE_OK) code = fail_with(&err);
        }
        if (as_json) {
            json_begin(&js, NULL, '{');
            json_text(&js, "name", v->name);
            json_text(&js, "dtype", hone_dtype_name(v->dtype));
            json_begin(&js, "dims", '[');
            for (int k = 0; k < v->rank; k++) json_int(&js, NULL, v->dims[k]);
            json_end(&js, ']');
            json_text(&js, "file", folder != NULL ? path : NULL);
            json_end(&js, '}');
        } else {
            printf("%s  %s%s%s\n", v->name, type_text(&info, type, sizeof type),
                   folder != NULL ? "  " : "", path);
        }
    }
    if (as_json) {
        json_end(&js, ']');
        json_end(&js, '}');
    }
    return code;
}

static exit_code go(const args *a, job *j) {
    hone_error err;
    hone_session_options o;
    if (!session_options(a, &o) || !dims_of(a, j->dims, &j->n_dims)) return EXIT_USAGE;
    if (hone_model_load(&j->model, a->argument[0], NULL, &err) != HONE_OK) return fail_with(&err);
    if (hone_session_create(&j->session, j->model, &o, &err) != HONE_OK) return fail_with(&err);
    j->n_in = hone_model_n_inputs(j->model);
    j->n_out = hone_model_n_outputs(j->model);
    j->in = calloc(j->n_in + 1, sizeof *j->in);
    j->out = calloc(j->n_out + 1, sizeof *j->out);
    if (j->in == NULL || j->out == NULL) {
        complain("out of memory");
        return EXIT_RESOURCE;
    }
    hone_value_info info;
    for (size_t i = 0; i < j->n_in; i++) {
        if (hone_model_input(j->model, i, &info, &err) != HONE_OK) return fail_with(&err);
        j->in[i].name = info.name;
    }
    for (size_t i = 0; i < j->n_out; i++) {
        if (hone_model_output(j->model, i, &info, &err) != HONE_OK) return fail_with(&err);
        j->out[i].name = info.name;
    }
    exit_code code = read_inputs(a, j);
    if (code == EXIT_DONE) code = fill_inputs(a, j);
    if (code != EXIT_DONE) return code;
    if (hone_session_run(j->session, j->n_in, j->in, j->n_out, j->out, &err) != HONE_OK)
        return fail_with(&err);
    return write_outputs(a, j);
}

static exit_code run(const args *a) {
    job j = {0};
    exit_code code = go(a, &j);
    if (j.in != NULL) hone_value_release(j.in, j.n_in);
    if (j.out != NULL) hone_value_release(j.out, j.n_out);
    free(j.in);
    free(j.out);
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
    OPTION_MAX_MEMORY,
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
