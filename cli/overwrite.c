/* What a command reads it never writes over: its models with their external data, its datasets, and
 * the files that its options name. Which these are, the option tables say ("<FILE", ">FILE", SPEC). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

typedef struct search {
    const char *path;  /* that is to be written */
    const char *model; /* whose external data is looked at */
    bool found;
} search;

/* The path is the file, or lies in the folder, that something is read from. */
static void look(search *s, const char *read) {
    struct stat st;
    s->found = s->found || same_file(s->path, read);
    if (s->found || stat(read, &st) != 0 || !S_ISDIR(st.st_mode)) return;
    char *folder = realpath(read, NULL), *path = realpath(s->path, NULL);
    size_t n = folder != NULL ? strlen(folder) : 0;
    s->found = n > 0 && path != NULL && strncmp(path, folder, n) == 0 && path[n] == '/';
    free(folder);
    free(path);
}

static void look_at_external(void *ctx, const char *location) {
    search *s = ctx;
    const char *slash = strrchr(s->model, '/');
    char *path;
    if (asprintf(&path, "%.*s%s", slash != NULL ? (int)(slash - s->model) + 1 : 0, s->model,
                 location) < 0)
        path = must(NULL);
    look(s, path);
    free(path);
}

static const char *look_at_data(void *ctx, const char *path) {
    look(ctx, path);
    return path;
}

/* What is wrong with a file is said by who reads it. */
static void look_at_argument(search *s, const char *word) {
    hone_error ignored;
    look(s, word);
    s->model = word;
    if (!s->found) (void)hone_model_files(word, look_at_external, s, &ignored);
}

static void look_at_option(search *s, const option_def *d, const char *value) {
    hone_error ignored;
    char *moved = NULL;
    if (strcmp(d->arg, "SPEC") == 0) {
        if (value[0] == '@') look(s, value + 1); /* the file that names the dataset */
        if (hone_dataset_moved(&moved, value, look_at_data, s, &ignored) == HONE_OK)
            hone_free(moved);
    } else if (strchr(d->arg, '<') != NULL && strchr(d->arg, '>') == NULL) {
        look(s, value);
        /* NAME=FILE, whose names may hold `=` as well */
        for (const char *eq = strchr(value, '='); d->arg[0] == '[' && eq != NULL;
             eq = strchr(eq + 1, '='))
            look(s, eq + 1);
    }
}

bool is_read(const args *a, const char *path) {
    search s = {.path = path};
    struct stat st;
    /* What is not there yet is nothing that is read. */
    if (stat(path, &st) != 0) return false;
    for (int i = 0; i < a->n; i++)
        if (strcmp(a->argument[i], "-") != 0) look_at_argument(&s, a->argument[i]);
    for (int i = 0; i < a->n_options; i++)
        if (a->option[i].def->arg != NULL) look_at_option(&s, a->option[i].def, a->option[i].value);
    return s.found;
}

/* Whether two paths lead to one file, or would once it is made. */
static bool same_place(const char *a, const char *b) {
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
    if (strcmp(a, b) == 0 || same_file(a, b)) return true;
    if (strcmp(x != NULL ? x + 1 : a, y != NULL ? y + 1 : b) != 0) return false;
    char *in = must(x != NULL ? strndup(a, (size_t)(x - a) + 1) : strdup("."));
    char *other = must(y != NULL ? strndup(b, (size_t)(y - b) + 1) : strdup("."));
    bool same = same_file(in, other);
    free(in);
    free(other);
    return same;
}

/* Whether an option names a file to write; folders are looked at by who knows the names in them. */
static bool writes_file(const option_def *d) {
    return d->arg != NULL && strchr(d->arg, '>') != NULL && strstr(d->arg, "DIR") == NULL;
}

exit_code check_overwriting(const args *a) {
    for (int i = 0; i < a->n_options; i++) {
        const option_def *d = a->option[i].def;
        const char *path = a->option[i].value;
        struct stat st;
        bool there = writes_file(d) && stat(path, &st) == 0 && S_ISREG(st.st_mode);
        if (there && is_read(a, path)) {
            complain("%s %s would overwrite an input", d->name, path);
            return EXIT_USAGE;
        }
        for (int k = 0; writes_file(d) && k < i; k++) {
            const option_def *other = a->option[k].def;
            if (other == d || !writes_file(other)) continue;
            if (!same_place(a->option[k].value, path)) continue;
            if (strcmp(path, "/dev/null") == 0) continue;
            complain("%s and %s name the same file, %s", other->name, d->name, path);
            return EXIT_USAGE;
        }
    }
    return EXIT_DONE;
}
