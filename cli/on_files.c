/* What a command reads and writes, by its option table, and where that lies on the host.
 *
 * A relative path keeps its name, so that the command and what it prints are as they are here. What
 * lies elsewhere (/data/m.onnx, ../m.onnx) becomes `on.1/m.onnx`, `on.2/...`. The host works in the
 * folder `files`:
 *
 *     hone                the program
 *     run, back           scripts
 *     files/m.onnx        what is read, in a folder of links that tar follows
 *     files/on.1/x.csv
 *
 * No name of a file comes to a shell but in the two scripts, which are files as well, quoted.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "on.h"

static char *text_of(const char *format, ...) HONE_PRINTF(1, 2);
static char *text_of(const char *format, ...) {
    char *text;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0) text = must(NULL);
    va_end(list);
    return text;
}

char *luggage_path(const luggage *l, const char *name) { return text_of("%s/%s", l->folder, name); }

/* ---- places ---- */

/* Whether the host can have the path as it is. */
static bool stays(const char *path) {
    if (path[0] == '/' || path[0] == '\0') return false;
    for (const char *part = path;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 2 && part[0] == '.' && part[1] == '.') return false;
        part += n;
        if (*part == '\0') return true;
    }
}

/* A path of its own for what lies elsewhere; free it. */
static char *numbered(luggage *l, const char *path) {
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/') n--;
    size_t begin = n;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    bool named = n > begin && strncmp(path + begin, ".", n - begin) != 0 &&
                 strncmp(path + begin, "..", n - begin) != 0;
    l->n_numbered++;
    if (!named) return text_of("on.%d/here", l->n_numbered);
    return text_of("on.%d/%.*s", l->n_numbered, (int)(n - begin), path + begin);
}

/* Links `there` to a file or folder. False with errno EEXIST: something else is there, or above. */
static bool put_link(luggage *l, const char *path, const char *there) {
    char *to = realpath(path, NULL), *at = text_of("%s/out/files", l->folder), *at_next;
    const char *part = there;
    bool done = to != NULL, last = false;
    while (done && !last) {
        size_t n = strcspn(part, "/"), gap = strspn(part + n, "/");
        last = part[n + gap] == '\0';
        if (n > 0 && !(n == 1 && part[0] == '.')) {
            at_next = text_of("%s/%.*s", at, (int)n, part);
            free(at);
            at = at_next;
            struct stat s;
            if (!last && mkdir(at, 0700) != 0)
                done = errno == EEXIST && lstat(at, &s) == 0 && S_ISDIR(s.st_mode);
            if (last && symlink(to, at) != 0) {
                char *before = realpath(at, NULL);
                done = errno == EEXIST && before != NULL && strcmp(before, to) == 0 &&
                       lstat(at, &s) == 0 && S_ISLNK(s.st_mode);
                free(before);
            }
        } else if (last) {
            done = false; /* the folder of all is not a link */
        }
        part += n + gap;
    }
    if (to != NULL && !done) errno = EEXIST;
    free(at);
    free(to);
    return done;
}

/* Where the host has a file or folder that is read; free it. NULL: it has not, which is said. */
static char *place_read(luggage *l, const char *path) {
    struct stat s;
    if (access(path, R_OK) != 0 || stat(path, &s) != 0) {
        complain("cannot open '%s': %s", path, strerror(errno));
        l->code = EXIT_INPUT;
        return NULL;
    }
    if (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) {
        complain("'%s' is neither a file nor a folder", path);
        l->code = EXIT_INPUT;
        return NULL;
    }
    if (stays(path) && put_link(l, path, path)) return must(strdup(path));
    for (int tries = 0; tries < 100; tries++) {
        char *there = numbered(l, path);
        if (put_link(l, path, there)) return there;
        free(there);
        if (errno != EEXIST) break;
    }
    complain("'%s' cannot be copied to the host: %s", path, strerror(errno));
    l->code = EXIT_RESOURCE;
    return NULL;
}

/* ---- models and datasets ---- */

typedef struct model {
    luggage *l;
    const char *path, *there;
} model;

static size_t folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* External data keeps its place beside the model. Where that is taken, it is as a part of a folder
 * that is copied, and the same file. */
static void add_external(void *ctx, const char *location) {
    model *m = ctx;
    char *path = text_of("%.*s%s", (int)folder_of(m->path), m->path, location);
    char *there = text_of("%.*s%s", (int)folder_of(m->there), m->there, location);
    if (access(path, R_OK) != 0) {
        if (m->l->code == EXIT_DONE) complain("cannot open '%s': %s", path, strerror(errno));
        m->l->code = EXIT_INPUT;
    } else {
        put_link(m->l, path, there);
    }
    free(path);
    free(there);
}

static char *place_model(luggage *l, const char *path) {
    char *there = place_read(l, path);
    hone_error err;
    model m = {l, path, there};
    if (there != NULL && hone_model_files(path, add_external, &m, &err) != HONE_OK)
        l->code = fail_with(&err);
    return there;
}

static const char *place_data(void *ctx, const char *path) {
    luggage *l = ctx;
    static char *last;
    free(last);
    return last = place_read(l, path);
}

static char *place_dataset(luggage *l, const char *spec) {
    char *text = NULL;
    hone_error err;
    if (hone_dataset_moved(&text, spec, place_data, l, &err) != HONE_OK) {
        if (l->code == EXIT_DONE) l->code = fail_with(&err);
        return NULL;
    }
    char *own = must(strdup(text));
    hone_free(text);
    return own;
}

/* ---- the command line ---- */

static char *place_written(luggage *l, const option_def *d, const char *path, char *there) {
    bool folder = strstr(d->arg, "DIR") != NULL;
    struct stat s;
    bool is_folder = stat(path, &s) == 0 && S_ISDIR(s.st_mode);
    const char *why = folder && is_folder ? NULL : unwritable(path);
    if (why != NULL) {
        complain("%s %s: cannot be made (%s)", d->name, path, why);
        l->code = EXIT_INPUT;
        free(there);
        return NULL;
    }
    if (there == NULL) there = stays(path) ? must(strdup(path)) : numbered(l, path);
    l->written = must(realloc(l->written, (size_t)(l->n_written + 1) * sizeof *l->written));
    l->written[l->n_written++] = (written){path, must(strdup(there))};
    return there;
}

/* Where FILE begins in `FILE` or `NAME=FILE`, whose names may hold `=`. */
static size_t path_of_named(const char *value) {
    const char *first = strchr(value, '=');
    if (access(value, R_OK) == 0 || first == NULL) return 0;
    for (const char *eq = first; eq != NULL; eq = strchr(eq + 1, '='))
        if (access(eq + 1, R_OK) == 0) return (size_t)(eq + 1 - value);
    return (size_t)(first + 1 - value);
}

/* The value as the host gets it; free it. NULL: something is wrong. */
static char *place_value(luggage *l, const option_def *d, const char *value) {
    if (strcmp(d->arg, "SPEC") == 0) return place_dataset(l, value);
    bool reads = strchr(d->arg, '<') != NULL, writes = strchr(d->arg, '>') != NULL;
    size_t named = d->arg[0] == '[' ? path_of_named(value) : 0;
    char *there = NULL;
    if (reads && (!writes || access(value, F_OK) == 0)) {
        there = place_read(l, value + named);
        if (there == NULL) return NULL;
    }
    if (writes) return place_written(l, d, value, there);
    if (!reads) return must(strdup(value));
    char *all = text_of("%.*s%s", (int)named, value, there);
    free(there);
    return all;
}

static void add_word(luggage *l, char *word) { l->words[l->n_words++] = word; }

/* Option k, that begins with word i; returns how many words it takes. */
static int add_option(luggage *l, int k, char **words, int i) {
    const option_def *d = l->a->option[k].def;
    const char *value = l->a->option[k].value;
    bool behind = d->arg != NULL && (value < words[i] || value > words[i] + strlen(words[i]));
    if (strcmp(d->name, "--on") == 0 || strcmp(d->name, "--program") == 0) return 1 + behind;
    if (d->arg == NULL) {
        add_word(l, must(strdup(words[i])));
        return 1;
    }
    char *placed = place_value(l, d, value);
    if (placed == NULL) return 1 + behind;
    if (behind) {
        add_word(l, must(strdup(words[i])));
        add_word(l, placed);
        return 2;
    }
    add_word(l, text_of("%.*s%s", (int)(value - words[i]), words[i], placed));
    free(placed);
    return 1;
}

static void add_argument(luggage *l, const char *word) {
    if (strcmp(word, "-") == 0) {
        model_path(word);
        l->from_input = true;
        add_word(l, must(strdup(word)));
        return;
    }
    char *there = place_model(l, word);
    if (there != NULL) add_word(l, there);
}

static void add_words(luggage *l, int n, char **words) {
    int option = 0, argument = 0;
    for (int i = 0; i < n && l->code == EXIT_DONE;) {
        if (option < l->a->n_options && l->a->option[option].word == words[i]) {
            i += add_option(l, option++, words, i);
        } else if (argument < l->a->n && l->a->argument[argument] == words[i]) {
            add_argument(l, words[i++]);
            argument++;
        } else {
            add_word(l, must(strdup(words[i++]))); /* -- */
        }
    }
}

/* ---- scripts ---- */

static void put_quoted(FILE *to, const char *text) {
    putc('\'', to);
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", to);
        else
            putc(*text, to);
    putc('\'', to);
}

/* Columns of what the command prints, and of the terminal that shows how far it is. */
static void put_environment(FILE *to) {
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    if (columns != NULL) {
        fputs("export COLUMNS=", to);
        put_quoted(to, columns);
        putc('\n', to);
    } else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        fprintf(to, "export COLUMNS=%d\n", size.ws_col);
    }
    if (isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0)
        fprintf(to, "export HONE_PROGRESS=%d\n", size.ws_col > 0 ? size.ws_col : 80);
}

/* What the command leaves behind it leaves in the folder, which is removed. */
static void put_run(const luggage *l, FILE *to) {
    fputs(
        "cd \"${0%/*}\" || exit 126\n"
        "echo $$ >pid\n"
        "chmod u+x hone && mkdir -p tmp cache files || exit 126\n"
        "export TMPDIR=\"$PWD/tmp\" XDG_CACHE_HOME=\"$PWD/cache\"\n"
        "cd files || exit 126\n",
        to);
    put_environment(to);
    for (int i = 0; i < l->n_written; i++) {
        size_t n = folder_of(l->written[i].there);
        if (n == 0) continue;
        char *folder = text_of("./%.*s", (int)n, l->written[i].there);
        fputs("mkdir -p ", to);
        put_quoted(to, folder);
        fputs(" || exit 126\n", to);
        free(folder);
    }
    fputs("exec ../hone ", to);
    put_quoted(to, l->a->verb->name);
    for (int i = 0; i < l->n_words; i++) {
        putc(' ', to);
        put_quoted(to, l->words[i]);
    }
    putc('\n', to);
}

static void put_back(const luggage *l, FILE *to) {
    fputs("cd \"${0%/*}/files\" || exit 1\nset --\n", to);
    for (int i = 0; i < l->n_written; i++) {
        char *path = text_of("./%s", l->written[i].there);
        fputs("[ ! -e ", to);
        put_quoted(to, path);
        fputs(" ] || set -- \"$@\" ", to);
        put_quoted(to, path);
        putc('\n', to);
        free(path);
    }
    fputs("[ $# -gt 0 ] || exit 3\nexec tar -cf - \"$@\"\n", to);
}

static exit_code write_script(const luggage *l, const char *name,
                              void (*put)(const luggage *l, FILE *to)) {
    char *path = luggage_path(l, name);
    FILE *to = fopen(path, "we");
    if (to != NULL) put(l, to);
    bool good = to != NULL && !ferror(to);
    if (to != NULL && fclose(to) != 0) good = false;
    if (!good) complain("%s: %s", path, strerror(errno));
    free(path);
    return good ? EXIT_DONE : EXIT_RESOURCE;
}

/* ---- packing ---- */

/* A socket is made there, whose path may have about a hundred letters; ssh reads `%` in it. */
static bool make_folder(luggage *l) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    const char *where = getenv("TMPDIR");
    if (where == NULL || where[0] != '/' || strlen(where) > 50 ||
        where[strspn(where, plain)] != '\0')
        where = "/tmp";
    snprintf(l->folder, sizeof l->folder, "%s/hone-on-XXXXXX", where);
    if (mkdtemp(l->folder) == NULL) {
        complain("no folder can be made in %s: %s", where, strerror(errno));
        l->folder[0] = '\0';
        return false;
    }
    char *out = luggage_path(l, "out"), *files = luggage_path(l, "out/files"),
         *in = luggage_path(l, "in"), *hone = luggage_path(l, "out/hone");
    bool made = mkdir(out, 0700) == 0 && mkdir(files, 0700) == 0 && mkdir(in, 0700) == 0 &&
                symlink(l->program, hone) == 0;
    if (!made) complain("%s: %s", l->folder, strerror(errno));
    free(out);
    free(files);
    free(in);
    free(hone);
    return made;
}

exit_code pack(luggage *l, const args *a, int n, char **words, const char *more,
               const char *program) {
    *l = (luggage){.a = a, .program = must(strdup(program))};
    l->words = must(calloc((size_t)n + 2, sizeof *l->words));
    if (!make_folder(l)) return EXIT_RESOURCE;
    if (more != NULL) add_word(l, must(strdup(more)));
    add_words(l, n, words);
    if (l->code == EXIT_DONE) l->code = write_script(l, "out/run", put_run);
    if (l->code == EXIT_DONE) l->code = write_script(l, "out/back", put_back);
    return l->code;
}

/* ---- what came back ---- */

static bool put_file(FILE *to, void *ctx) {
    static char buf[1 << 16];
    const int from = open(ctx, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = -1;
    while (from >= 0 && (n = read(from, buf, sizeof buf)) > 0)
        if (fwrite(buf, 1, (size_t)n, to) != (size_t)n) break;
    const int wrong = errno;
    if (from >= 0) close(from);
    errno = wrong;
    return n == 0;
}

/* A folder that comes back may hold what was sent there, which only the host's command has read. */
static bool was_sent(const luggage *l, const char *path) {
    char *in = luggage_path(l, "in"),
         *sent = text_of("%s/out/files%s", l->folder, path + strlen(in));
    bool there = access(sent, F_OK) == 0;
    free(in);
    free(sent);
    return there;
}

/* Regular files, and those of a folder. Returns an exit code. */
static const luggage *copy_luggage;
static const char *copy_from, *copy_to;
static int copy_one(const char *path, const struct stat *s, int type, struct FTW *at) {
    char *to = text_of("%s%s", copy_to, path + strlen(copy_from));
    bool file = type == FTW_F && S_ISREG(s->st_mode);
    exit_code code = EXIT_DONE;
    if (type == FTW_D) {
        if (mkdir(to, 0777) != 0 && errno != EEXIST) {
            complain("%s: %s", to, strerror(errno));
            code = EXIT_RESOURCE;
        }
    } else if (file && at->level > 0 && was_sent(copy_luggage, path)) {
        /* It is what it was. */
    } else if (file && is_read(copy_luggage->a, to)) {
        /* There it has another name than the input, so that only here this is seen. */
        complain("a result would overwrite the input %s", to);
        code = EXIT_USAGE;
    } else if (file) {
        code = write_by(to, put_file, (void *)path);
    }
    free(to);
    return (int)code;
}

exit_code unpack_written(const luggage *l) {
    exit_code code = EXIT_DONE;
    for (int i = 0; i < l->n_written; i++) {
        struct stat s;
        char *from = text_of("%s/in/%s", l->folder, l->written[i].there);
        size_t n = strlen(from);
        while (n > 1 && from[n - 1] == '/') from[--n] = '\0';
        copy_luggage = l;
        copy_from = from;
        copy_to = l->written[i].here;
        int gave = lstat(from, &s) == 0 ? nftw(from, copy_one, 16, FTW_PHYS) : 0;
        if (gave != 0) code = gave > 0 ? (exit_code)gave : EXIT_RESOURCE;
        free(from);
    }
    return code;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at) {
    (void)s, (void)type, (void)at;
    remove(path);
    return 0;
}

void luggage_deinit(luggage *l) {
    if (l->folder[0] != '\0') nftw(l->folder, remove_one, 16, FTW_PHYS | FTW_DEPTH);
    for (int i = 0; i < l->n_words; i++) free(l->words[i]);
    for (int i = 0; i < l->n_written; i++) free(l->written[i].there);
    free(l->words);
    free(l->written);
    free(l->program);
}
