/* The command line: a verb's option table, read against what was typed. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* ---- what was given ---- */

char *value_at(const args *a, const char *name, int k) {
    for (int i = 0; i < a->n_options; i++)
        if (strcmp(a->option[i].def->name, name) == 0 && k-- == 0) return a->option[i].value;
    return NULL;
}

const char *value_of(const args *a, const char *name) { return value_at(a, name, 0); }

bool has(const args *a, const char *name) { return value_of(a, name) != NULL; }

static bool whole_number(const char *text, int64_t *v) {
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') return false;
    *v = x;
    return true;
}

bool number_of(const args *a, const char *name, int64_t lo, int64_t hi, int64_t *v) {
    const char *text = value_of(a, name);
    int64_t x;
    if (text == NULL) return true;
    if (!whole_number(text, &x) || x < lo || x > hi) {
        complain("%s wants a whole number from %lld to %lld, got '%s'", name, (long long)lo,
                 (long long)hi, text);
        return false;
    }
    *v = x;
    return true;
}

bool real_of(const args *a, const char *name, double lo, double hi, double *v) {
    const char *text = value_of(a, name);
    char *end;
    if (text == NULL) return true;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || !(x >= lo && x <= hi)) {
        complain("%s wants a number from %g to %g, got '%s'", name, lo, hi, text);
        return false;
    }
    *v = x;
    return true;
}

bool words_of(const args *a, const char *name, const char **v, int *n) {
    char *text = value_at(a, name, 0), *rest = NULL;
    if (text == NULL) return true;
    *n = 0;
    for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        if (*n == MOST_VALUES) {
            complain("%s takes at most %d values", name, MOST_VALUES);
            return false;
        }
        v[(*n)++] = word;
    }
    if (*n == 0) complain("%s wants a list, got nothing", name);
    return *n > 0;
}

/* "4", or "1..4". */
static bool range_of(const char *text, int64_t *first, int64_t *last) {
    char *end;
    *first = *last = strtoll(text, &end, 10);
    if (end == text) return false;
    return *end == '\0' || (strncmp(end, "..", 2) == 0 && whole_number(end + 2, last));
}

bool megabytes_of(const args *a, const char *name, int64_t *bytes) {
    double mb = 0;
    if (!has(a, name)) return true;
    if (!real_of(a, name, 1e-6, 1e9, &mb)) return false;
    *bytes = (int64_t)(mb * 1e6);
    return true;
}

bool seconds_of(const args *a, const char *name, double *seconds) {
    static const char units[] = "smh";
    const char *text = value_of(a, name), *unit;
    char *end;
    if (text == NULL) return true;
    double x = strtod(text, &end);
    bool given = *end != '\0' && end[1] == '\0' && (unit = strchr(units, *end)) != NULL;
    for (ptrdiff_t i = 0; given && i < unit - units; i++) x *= 60;
    if (end == text || (*end != '\0' && !given) || !(x >= 1e-3 && x <= 1e9)) {
        complain("%s wants seconds from 0.001 to 1e9, or a time such as 30m or 2h, got '%s'", name,
                 text);
        return false;
    }
    *seconds = x;
    return true;
}

/* What the machine or container allows; 0: not known. */
static int64_t machine_memory(void) {
    hone_machine *m = NULL;
    hone_error err;
    if (hone_machine_look(&m, &err) != HONE_OK) return 0;
    int64_t bytes = m->memory_limit > 0 ? m->memory_limit : m->memory_bytes;
    hone_machine_destroy(m);
    return bytes;
}

bool memory_of(const args *a, int64_t *bytes) {
    const char *text = value_of(a, "--max-memory");
    char *end;
    if (text == NULL) return true;
    double x = strtod(text, &end);
    bool share = *end == '%' && end[1] == '\0';
    if (end == text || (*end != '\0' && !share) || !(x > 0 && x <= (share ? 100 : 1e9))) {
        complain(
            "--max-memory wants MB such as 512 or 0.5, or a share of the machine's memory such "
            "as 50%%, got '%s'",
            text);
        return false;
    }
    double unit = share ? (double)machine_memory() / 100 : 1e6;
    if (unit <= 0) {
        complain("--max-memory %s: how much memory this machine has is not known; give MB", text);
        return false;
    }
    *bytes = x * unit >= 1 ? (int64_t)(x * unit) : 1;
    return true;
}

enum { MOST_NAMES = 32 };

bool choice_of(const args *a, const char *option, const char *kind, const char *(*at)(size_t i),
               const char **v) {
    const char *list[MOST_NAMES] = {0}, *word = value_of(a, option);
    if (word == NULL) return true;
    for (size_t i = 0; i + 1 < MOST_NAMES && (list[i] = at(i)) != NULL; i++)
        if (strcmp(list[i], word) == 0) {
            *v = list[i];
            return true;
        }
    const char *near = nearest(word, list);
    char *all = join(list);
    complain("there is no %s '%s'%s%s%s; %s takes %s", kind, word,
             near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
             near != NULL ? "'?" : "", option, all);
    free(all);
    return false;
}

static const char *use_at(size_t i) { return hone_advise_use(i, NULL); }

bool use_of(const args *a, const char **use) { return choice_of(a, "--use", "use", use_at, use); }

bool drop_of(const args *a, double *drop, bool *relative) {
    const char *text = value_of(a, "--max-drop");
    char *end;
    if (text == NULL) return true;
    double x = strtod(text, &end);
    bool number = end != text;
    if (*end == '%') {
        x /= 100;
        end++;
    }
    *relative = strcmp(end, "rel") == 0;
    if (!number || !(x >= 0 && x <= 1) || (*end != '\0' && !*relative)) {
        complain("--max-drop wants a share such as 1%%, 0.01 or 1%%rel, got '%s'", text);
        return false;
    }
    *drop = x;
    return true;
}

bool top_of(const args *a, int64_t *rows) {
    const char *text = value_of(a, "--top");
    bool all = text != NULL && strcmp(text, "all") == 0;
    if (all) *rows = INT64_MAX;
    if (text == NULL || all || (whole_number(text, rows) && *rows >= 0)) return true;
    complain("--top wants a number of rows, or all, got '%s'", text);
    return false;
}

bool numbers_of(const args *a, const char *name, int64_t lo, int64_t hi, int64_t *v, int *n) {
    const char *words[MOST_VALUES];
    int n_words;
    if (!has(a, name)) return true;
    if (!words_of(a, name, words, &n_words)) return false;
    *n = 0;
    for (int i = 0; i < n_words; i++) {
        int64_t first, last;
        if (!range_of(words[i], &first, &last) || first < lo || last > hi || first > last ||
            last - first >= MOST_VALUES - *n) {
            complain("%s wants at most %d whole numbers from %lld to %lld, got '%s'", name,
                     MOST_VALUES, (long long)lo, (long long)hi, words[i]);
            return false;
        }
        while (first <= last) v[(*n)++] = first++;
    }
    return true;
}

bool dims_of(const args *a, hone_dim_value *dims, size_t *n) {
    char *text;
    for (*n = 0; (text = value_at(a, "--dim", (int)*n)) != NULL; ++*n) {
        char *eq = strrchr(text, '=');
        int64_t v;
        if (eq == NULL || eq == text || !whole_number(eq + 1, &v) || v < 0) {
            complain("--dim wants NAME=N with a whole number, got '%s'", text);
            return false;
        }
        *eq = '\0';
        dims[*n] = (hone_dim_value){text, v};
    }
    return true;
}

/* Standard input as a file of memory, which lives as long as the program: its path, "" before. */
static char standard_input[32];

static bool keep_standard_input(void) {
    static char buf[1 << 16];
    int file = memfd_create("standard input", 0);
    ssize_t got = 0;
    while (file >= 0 && (got = read(STDIN_FILENO, buf, sizeof buf)) > 0)
        for (ssize_t done = 0, n; done < got; done += n)
            if ((n = write(file, buf + done, (size_t)(got - done))) < 0) return false;
    if (file < 0 || got < 0) return false;
    snprintf(standard_input, sizeof standard_input, "/proc/self/fd/%d", file);
    return true;
}

const char *model_path(const char *word) {
    if (strcmp(word, "-") != 0) return word;
    if (standard_input[0] == '\0' && !keep_standard_input()) {
        complain("standard input: %s", strerror(errno));
        exit(EXIT_RESOURCE);
    }
    return standard_input;
}

void name_standard_input(char *text) {
    char *at = standard_input[0] != '\0' ? strstr(text, standard_input) : NULL;
    static const char name[] = "standard input"; /* which is shorter */
    if (at == NULL) return;
    size_t n = strlen(standard_input);
    memcpy(at, name, sizeof name - 1);
    memmove(at + sizeof name - 1, at + n, strlen(at + n) + 1);
}

hone_status load_model_at(const args *a, const char *path, hone_model **m, hone_error *err) {
    hone_load_options o;
    hone_load_options_init(&o);
    o.no_mmap = has(a, "--no-mmap");
    return hone_model_load(m, model_path(path), &o, err);
}

hone_status load_model(const args *a, hone_model **m, hone_error *err) {
    return load_model_at(a, a->argument[0], m, err);
}

/* Whether the option takes a list in this verb. */
static bool is_list(const args *a, const char *name) {
    const option_def *d = options_of(a->verb);
    while (d->name != NULL && strcmp(d->name, name) != 0) d++;
    return d->arg != NULL && strstr(d->arg, ",...") != NULL;
}

const char *cache_file(const char *name, char path[CACHE_PATH]) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool own = cache != NULL && cache[0] == '/';
    if (!own && (home == NULL || home[0] == '\0')) return NULL;
    int n = own ? snprintf(path, CACHE_PATH - 32, "%s", cache)
                : snprintf(path, CACHE_PATH - 32, "%s/.cache", home);
    if (n >= CACHE_PATH - 32) return NULL;
    mkdir(path, 0700);
    strcat(path, "/hone");
    mkdir(path, 0700);
    return strcat(strcat(path, "/"), name);
}

void note_tuning(hone_tuning t) {
    if (t.problems == 0) return;
    note("tuning: %lld problems, %lld known, %lld measured in %.1f ms; %lld steps changed",
         (long long)t.problems, (long long)t.known, (long long)t.measured, t.ms,
         (long long)t.changed);
}

/* The values of an option as one list, NULL where there are none. */
#define LIST_TEXT 4096
static bool list_of(const args *a, const char *name, char list[LIST_TEXT], const char **out) {
    list[0] = '\0';
    *out = NULL;
    for (int i = 0; value_at(a, name, i) != NULL; i++, *out = list) {
        size_t used = strlen(list), room = LIST_TEXT - used;
        int n = snprintf(list + used, room, "%s%s", i > 0 ? "," : "", value_at(a, name, i));
        if (n < (int)room) continue;
        complain("%s is given with more than %d letters", name, LIST_TEXT);
        return false;
    }
    return true;
}

/* Alone or in a list, which may have been cut already. */
static bool asks_for_auto(const args *a) {
    const char *precision = value_of(a, "--precision");
    return precision != NULL && strstr(precision, "auto") != NULL;
}

bool session_options(const args *a, hone_session_options *o) {
    static char tuning[CACHE_PATH], kernels[LIST_TEXT], state[LIST_TEXT];
    int64_t threads = 0, reserve = 0, most_memory = 0, seed = 1;
    if ((!is_list(a, "--threads") && !number_of(a, "--threads", 1, 1024, &threads)) ||
        !number_of(a, "--reserve-cores", 0, 1024, &reserve) || !memory_of(a, &most_memory) ||
        !number_of(a, "--seed", 0, INT64_MAX, &seed))
        return false;
    hone_session_options_init(o);
    o->threads = (int)threads;
    o->max_memory = (size_t)most_memory;
    o->seed = (uint64_t)seed;
    o->reserve_cores = (int)reserve;
    o->no_sharing = has(a, "--no-sharing");
    if (!is_list(a, "--isa")) o->isa = value_of(a, "--isa");
    if (has(a, "--backend")) o->backend = value_of(a, "--backend");
    o->without = value_of(a, "--without");
    if (!list_of(a, "--kernel", kernels, &o->kernels) || !list_of(a, "--state", state, &o->state))
        return false;
    if (!is_list(a, "--precision")) o->precision = value_of(a, "--precision");
    o->layer_precision = value_of(a, "--layer-precision");
    o->tune = value_of(a, "--tune");
    o->exec = value_of(a, "--exec");
    if (o->exec != NULL && strcmp(o->exec, "sequential") != 0 && strcmp(o->exec, "parallel") != 0) {
        complain("--exec wants sequential or parallel, got '%s'", o->exec);
        return false;
    }
    bool tunes = o->tune != NULL && strcmp(o->tune, "off") != 0;
    if (tunes && strcmp(o->tune, "fast") != 0 && strcmp(o->tune, "full") != 0) {
        complain("--tune wants off, fast or full, got '%s'", o->tune);
        return false;
    }
    o->tune_cache = value_of(a, "--tune-cache");
    if ((tunes || asks_for_auto(a)) && o->tune_cache == NULL)
        o->tune_cache = cache_file("tuning.txt", tuning);
    o->keep_going = not_interrupted;
    catch_interrupt();
    return true;
}

bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

args args_of(const args *a, int model) {
    args own = *a;
    own.n = 1;
    own.argument[0] = a->argument[model];
    for (int i = 0; i < own.n_options; i++) own.option[i].value = must(strdup(own.option[i].value));
    return own;
}

void args_deinit(args *own) {
    for (int i = 0; i < own->n_options; i++) free(own->option[i].value);
}

/* ---- spelling ---- */

static int lower(char c) { return tolower((unsigned char)c); }

/* Edits (insert, delete, replace, swap of neighbours) that turn one word into the other, whatever
 * the case of letters. */
static int distance(const char *a, const char *b) {
    enum { MOST = 40 };
    int d[3][MOST + 1];
    size_t na = strlen(a), nb = strlen(b);
    if (na > MOST || nb > MOST) return MOST;
    for (size_t j = 0; j <= nb; j++) d[1][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *row = d[(i + 1) % 3], *up = d[i % 3], *up2 = d[(i + 2) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int best = up[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            if (up[j] + 1 < best) best = up[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            row[j] = best;
        }
    }
    return d[(na + 1) % 3][nb];
}

const char *nearest(const char *word, const char *const *list) {
    const char *best = NULL;
    int least = 2 + (int)strlen(word) / 3; /* a third of the word may be wrong, and one letter */
    for (; *list != NULL; list++) {
        int d = distance(word, *list);
        if (d >= least) continue;
        least = d;
        best = *list;
    }
    return best;
}

void has_no(const char *owner, const char *kind, const char *word, const char *const *list) {
    const char *near = nearest(word, list);
    if (near != NULL) {
        complain("%s has no %s '%s'; did you mean %s?", owner, kind, word, near);
    } else if (*list == NULL) {
        complain("%s has no %s '%s'; it has none", owner, kind, word);
    } else {
        char *all = join(list);
        complain("%s has no %s '%s'; it has %s", owner, kind, word, all);
        free(all);
    }
}

/* ---- the options of a verb ---- */

const char *shown_arg(const option_def *d, char buf[SHOWN_ARG]) {
    size_t n = 0;
    for (const char *c = d->arg; c != NULL && *c != '\0' && n < SHOWN_ARG - 1; c++)
        if (*c != '<' && *c != '>') buf[n++] = *c;
    buf[n] = '\0';
    return buf;
}

/* What follows the option of a parameter, for the help; NULL: it is a switch. */
static const char *value_name(const hone_param_info *p) {
    const char *kind = p->kind;
    if (strcmp(p->name, "max-drop") == 0) return "P"; /* as on other verbs */
    if (strcmp(p->name, "max-latency") == 0) return "MS";
    if (strcmp(kind, "flag") == 0) return NULL;
    if (strcmp(kind, "layer-count") == 0) return "PATTERN=N";
    if (strcmp(kind, "layer-number") == 0) return "PATTERN=X";
    if (strcmp(kind, "file") == 0) return "<FILE";
    if (strcmp(kind, "count") == 0) return "N";
    return strcmp(kind, "number") == 0 ? "X" : "NAME";
}

static size_t transform_place(const char *name, hone_transform_info *t) {
    size_t i = 0;
    while (hone_transform_at(i, t, NULL) == HONE_OK && strcmp(t->name, name) != 0) i++;
    return i;
}

/* The help of a parameter: its text, its words, its usual value. */
static const char *param_help(size_t transform, size_t param, const hone_param_info *p) {
    char text[400];
    const char *word;
    snprintf(text, sizeof text, "%s", p->help);
    for (size_t i = 0; (word = hone_transform_word_at(transform, param, i)) != NULL; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i == 0 ? ": " : ", ",
                 word);
    if (p->usual != NULL)
        snprintf(text + strlen(text), sizeof text - strlen(text), " (default: %s)", p->usual);
    return must(strdup(text));
}

const option_def *options_of(const verb *v) {
    static const verb *made_for;
    static option_def made[MOST_OPTIONS + 1];
    hone_transform_info t;
    hone_param_info p;
    size_t n = 0;
    if (v->transform == NULL) return v->options;
    if (made_for == v) return made;
    size_t at = transform_place(v->transform, &t);
    for (size_t i = 0; hone_transform_param_at(at, i, &p, NULL) == HONE_OK; i++) {
        char name[80];
        snprintf(name, sizeof name, "--%s", p.name);
        made[n++] = (option_def){.name = must(strdup(name)),
                                 .arg = value_name(&p),
                                 .help = param_help(at, i, &p),
                                 .many = strncmp(p.kind, "layer-", 6) == 0};
    }
    for (const option_def *d = v->options; d->name != NULL && n < MOST_OPTIONS; d++) made[n++] = *d;
    made[n] = (option_def){0};
    made_for = v;
    return made;
}

/* ---- reading ---- */

static bool is_called(const option_def *d, const char *word, size_t n) {
    bool by_name = strlen(d->name) == n && memcmp(d->name, word, n) == 0;
    return by_name || (word[1] != '-' && d->letter == word[1]);
}

static bool was_called(const option_def *d, const char *word, size_t n) {
    for (const char *at = d->was; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length == n && memcmp(at, word, n) == 0) return true;
        at += length;
    }
    return false;
}

/* The option of that name, else the one that had it before; *old says which. */
static const option_def *find(const verb *v, const char *word, size_t n, const char *value,
                              bool *old) {
    const option_def *was = NULL;
    *old = false;
    for (const option_def *d = options_of(v); d->name != NULL; d++) {
        if (is_called(d, word, n) && (v->means_old == NULL || !v->means_old(d, value))) return d;
        if (was_called(d, word, n)) was = d;
    }
    *old = was != NULL;
    return was;
}

void note_old_names(const args *a) {
    for (int i = 0; i < a->n_options; i++)
        if (a->option[i].old > 0)
            note("%.*s is now called %s; the old name goes with the next version", a->option[i].old,
                 a->option[i].word, a->option[i].def->name);
}

static void unknown_option(const verb *v, char *word, size_t n) {
    const char *names[MOST_OPTIONS + 1] = {NULL};
    int k = 0;
    for (const option_def *d = options_of(v); d->name != NULL && k < MOST_OPTIONS; d++)
        names[k++] = d->name;
    word[n] = '\0';
    has_no(v->name, "option", word, names);
}

/* word begins with the option's name, whose first `old` letters are an old one. */
static bool add_option(args *a, const option_def *d, char *value, const char *word, int old) {
    if (d->arg != NULL && !d->many && has(a, d->name)) {
        complain("%s is given twice", d->name);
        return false;
    }
    if (a->n_options == MOST_OPTIONS) {
        complain("there are more than %d options", MOST_OPTIONS);
        return false;
    }
    a->option[a->n_options].def = d;
    a->option[a->n_options].value = value;
    a->option[a->n_options].word = word;
    a->option[a->n_options].old = old;
    a->n_options++;
    return true;
}

static bool add_argument(args *a, const char *word) {
    const verb *v = a->verb;
    if (a->n == v->most_arguments) {
        complain("%s takes %s; '%s' is too much", v->name,
                 v->usage[0] != '\0' ? v->usage : "no arguments", word);
        return false;
    }
    a->argument[a->n++] = word;
    return true;
}

/* The option that starts with words[0]; *used counts the words it takes. */
static bool read_option(args *a, int n_words, char **words, int *used) {
    static char nothing[1];
    char *word = words[0];
    bool is_long = word[1] == '-';
    size_t n = is_long ? strcspn(word, "=") : 2;
    char *value = word[n] == '\0' ? NULL : word + n + is_long;
    bool old;
    const option_def *d =
        find(a->verb, word, n, value != NULL || n_words == 1 ? value : words[1], &old);
    if (d == NULL) {
        unknown_option(a->verb, word, n);
        return false;
    }
    *used = 1;
    if (d->arg == NULL) {
        if (value != NULL) complain("%s takes no value, got '%s'", d->name, value);
        return value == NULL && add_option(a, d, nothing, word, old ? (int)n : 0);
    }
    if (value == NULL && n_words > 1) {
        value = words[1];
        *used = 2;
    }
    char arg[SHOWN_ARG];
    if (value == NULL) complain("%s wants %s", d->name, shown_arg(d, arg));
    return value != NULL && add_option(a, d, value, word, old ? (int)n : 0);
}

/* Letters that mean nothing to a shell. */
static bool is_plain(const char *word) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "%+,-./:=@_";
    return word[0] != '\0' && word[strspn(word, letters)] == '\0';
}

char *command_text(const char *name, int n, const char *const *words) {
    char *text = NULL;
    size_t bytes;
    FILE *to = must(open_memstream(&text, &bytes));
    fprintf(to, "hone %s", name);
    for (int i = 0; i < n; i++) {
        putc(' ', to);
        if (is_plain(words[i])) {
            fputs(words[i], to);
            continue;
        }
        putc('\'', to);
        for (const char *c = words[i]; *c != '\0'; c++)
            if (*c == '\'')
                fputs("'\\''", to);
            else
                putc(*c, to);
        putc('\'', to);
    }
    if (fclose(to) != 0) must(NULL);
    return text;
}

bool read_words(args *a, int n, char **words) {
    const verb *v = a->verb;
    bool plain = false; /* after `--` */
    for (int i = 0, used; i < n; i += used) {
        used = 1;
        if (!plain && strcmp(words[i], "--") == 0) {
            plain = true;
        } else if (plain || words[i][0] != '-' || words[i][1] == '\0') {
            if (!add_argument(a, words[i])) return false;
        } else if (!read_option(a, n - i, words + i, &used)) {
            return false;
        }
    }
    int standard = 0;
    for (int i = 0; i < a->n; i++) standard += strcmp(a->argument[i], "-") == 0;
    if (standard > 1) {
        complain("'-' is given %d times, but standard input can be read once", standard);
        return false;
    }
    if (a->n < v->n_arguments)
        complain("%s wants %s; hone %s --help tells more", v->name, v->usage, v->name);
    return a->n >= v->n_arguments;
}

bool read_text(const char *path, char **text) {
    size_t room = 0;
    FILE *f = fopen(path, "re");
    bool read = f != NULL && getdelim(text, &room, '\0', f) >= 0;
    if (!read) complain("%s: %s", path, f == NULL ? strerror(errno) : "there is nothing in it");
    if (f != NULL) fclose(f);
    return read;
}
