#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const option_def *find(const args *a, const char *name) {
    for (const option_def *d = a->verb->options; d->name != NULL; d++)
        if (strcmp(d->name, name) == 0) return d;
    return NULL;
}

const char *value_at(const args *a, const char *name, int k) {
    const option_def *d = find(a, name);
    for (int i = 0; d != NULL && i < a->n_options; i++)
        if (a->option[i].def == d && k-- == 0) return a->option[i].value;
    return NULL;
}

const char *value_of(const args *a, const char *name) {
    const option_def *d = find(a, name);
    const char *v = NULL;
    for (int i = 0; d != NULL && i < a->n_options; i++)
        if (a->option[i].def == d) v = a->option[i].value;
    return v;
}

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

bool dims_of(const args *a, hone_dim_value *dims, size_t *n) {
    const char *text;
    *n = 0;
    while ((text = value_at(a, "--dim", (int)*n)) != NULL) {
        static char names[MOST_OPTIONS][128];
        const char *eq = strrchr(text, '=');
        int64_t v;
        if (eq == NULL || eq == text || (size_t)(eq - text) >= sizeof names[0] ||
            !whole_number(eq + 1, &v) || v < 0) {
            complain("--dim wants NAME=N with a whole number, got '%s'", text);
            return false;
        }
        memcpy(names[*n], text, (size_t)(eq - text));
        names[*n][eq - text] = '\0';
        dims[*n] = (hone_dim_value){names[*n], v};
        ++*n;
    }
    return true;
}

/* Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
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
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);
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

int nearest(const char *word, const char *const *list) {
    int best = -1, found = 1 + (int)strlen(word) / 3;
    for (int i = 0; list[i] != NULL; i++) {
        int d = distance(word, list[i]);
        if (d <= found && (best < 0 || d < found)) {
            found = d;
            best = i;
        }
    }
    return best;
}

/* ---- help ---- */

static void print_help(const verb *v) {
    printf("usage: hone %s %s [options]\n\n%s\n\noptions:\n", v->name, v->usage, v->summary);
    for (const option_def *d = v->options; d->name != NULL; d++) {
        char left[64];
        snprintf(left, sizeof left, "%s%c%s%s%s%s", d->letter ? "-" : "  ",
                 d->letter ? d->letter : ' ', d->letter ? ", " : " ", d->name,
                 d->arg != NULL ? " " : "", d->arg != NULL ? d->arg : "");
        printf("  %-26s %s%s\n", left, d->help, d->many ? "; may be repeated" : "");
    }
    printf("  %-26s %s\n", "    --help", "this text");
}

static void print_verbs(FILE *to) {
    fprintf(to, "usage: hone VERB ... ; hone VERB --help\n\n");
    for (int i = 0; verbs[i] != NULL; i++)
        fprintf(to, "  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
}

/* ---- the command line ---- */

static exit_code unknown_option(const verb *v, const char *word) {
    const char *names[MOST_OPTIONS + 2];
    int n = 0;
    for (const option_def *d = v->options; d->name != NULL && n < MOST_OPTIONS; d++)
        names[n++] = d->name;
    names[n++] = "--help";
    names[n] = NULL;
    int k = nearest(word, names);
    if (k >= 0) {
        complain("%s has no option '%s'; did you mean %s?", v->name, word, names[k]);
    } else {
        char list[1000] = "";
        for (int i = 0; i < n; i++) {
            strncat(list, i > 0 ? ", " : "", sizeof list - strlen(list) - 1);
            strncat(list, names[i], sizeof list - strlen(list) - 1);
        }
        complain("%s has no option '%s'; it has: %s", v->name, word, list);
    }
    return EXIT_USAGE;
}

static exit_code give(args *a, const option_def *d, const char *value) {
    if (a->n_options == MOST_OPTIONS) {
        complain("more than %d options", MOST_OPTIONS);
        return EXIT_USAGE;
    }
    for (int i = 0; i < a->n_options && !d->many; i++) {
        if (a->option[i].def != d || d->arg == NULL) continue;
        complain("%s is given twice", d->name);
        return EXIT_USAGE;
    }
    a->option[a->n_options].def = d;
    a->option[a->n_options++].value = value;
    return EXIT_DONE;
}

static const option_def *by_name(const verb *v, const char *word, size_t n) {
    for (const option_def *d = v->options; d->name != NULL; d++)
        if (strlen(d->name) == n && memcmp(d->name, word, n) == 0) return d;
    return NULL;
}

static const option_def *by_letter(const verb *v, char letter) {
    for (const option_def *d = v->options; d->name != NULL; d++)
        if (d->letter == letter) return d;
    return NULL;
}

static exit_code parse(args *a, int argc, char **argv) {
    const verb *v = a->verb;
    bool plain = false; /* after `--` */
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        if (plain || word[0] != '-' || word[1] == '\0') {
            if (a->n == MOST_ARGUMENTS || a->n == v->most_arguments) {
                complain("%s takes %s; '%s' is too much", v->name,
                         v->usage[0] ? v->usage : "no argument", word);
                return EXIT_USAGE;
            }
            a->argument[a->n++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            plain = true;
            continue;
        }
        const char *eq = word[1] == '-' ? strchr(word, '=') : NULL;
        size_t n = eq != NULL ? (size_t)(eq - word) : strlen(word);
        const option_def *d = word[1] == '-' ? by_name(v, word, n) : by_letter(v, word[1]);
        if (d == NULL) {
            if (eq != NULL) word[n] = '\0';
            return unknown_option(v, word);
        }
        const char *value =
            word[1] == '-' ? (eq != NULL ? eq + 1 : NULL) : (word[2] != '\0' ? word + 2 : NULL);
        if (d->arg == NULL && value != NULL) {
            complain("%s takes no value, got '%s'", d->name, value);
            return EXIT_USAGE;
        }
        if (d->arg != NULL && value == NULL) {
            if (i + 1 == argc) {
                complain("%s wants %s", d->name, d->arg);
                return EXIT_USAGE;
            }
            value = argv[++i];
        }
        exit_code code = give(a, d, value != NULL ? value : "");
        if (code != EXIT_DONE) return code;
    }
    if (a->n < v->n_arguments) {
        complain("%s wants %s; hone %s --help tells more", v->name, v->usage, v->name);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_verbs(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_verbs(stdout);
        return EXIT_DONE;
    }
    if (strcmp(word, "--version") == 0) {
        printf("hone %s\n", hone_version());
        return EXIT_DONE;
    }
    const char *names[64];
    int n = 0;
    args a = {0};
    for (; verbs[n] != NULL && n < 63; n++) {
        names[n] = verbs[n]->name;
        if (strcmp(word, names[n]) == 0) a.verb = verbs[n];
    }
    names[n] = NULL;
    if (a.verb == NULL) {
        int k = nearest(word, names);
        if (k >= 0)
            complain("there is no verb '%s'; did you mean %s?", word, names[k]);
        else
            complain("there is no verb '%s'; hone --help lists them", word);
        return EXIT_USAGE;
    }
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
        print_help(a.verb);
        return EXIT_DONE;
    }
    exit_code code = parse(&a, argc - 2, argv + 2);
    if (code != EXIT_DONE) return code;
    start(&a);
    code = a.verb->run(&a);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("standard output: %s", strerror(errno));
        if (code == EXIT_DONE) code = EXIT_RESOURCE;
    }
    return code;
}
