/* The table of verbs, and the program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

extern const verb verb_advise, verb_apply, verb_bench, verb_check, verb_cluster, verb_compare,
    verb_compress, verb_distill, verb_embed, verb_eval, verb_factorize, verb_inspect, verb_kernels,
    verb_machine, verb_make, verb_ops, verb_optimize, verb_package, verb_profile, verb_prune,
    verb_quantize, verb_replace, verb_report, verb_run, verb_simplify, verb_train, verb_unpack;

static const verb *const verbs[] = {
    &verb_inspect,  &verb_check,   &verb_run,      &verb_bench,     &verb_profile, &verb_simplify,
    &verb_quantize, &verb_prune,   &verb_cluster,  &verb_factorize, &verb_replace, &verb_compress,
    &verb_apply,    &verb_embed,   &verb_eval,     &verb_make,      &verb_train,   &verb_distill,
    &verb_compare,  &verb_advise,  &verb_optimize, &verb_package,   &verb_unpack,  &verb_report,
    &verb_kernels,  &verb_machine, &verb_ops};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static void print_verbs(FILE *to) {
    fprintf(to, "usage: hone VERB ... [options]\n\n");
    for (int i = 0; i < N_VERBS; i++)
        fprintf(to, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    fprintf(
        to,
        "\nhone help VERB lists the options of a verb; hone --version says what this hone has\n");
}

static void print_help(const verb *v) {
    printf("usage: hone %s %s [options]\n\n%s\n\noptions:\n", v->name, v->usage, v->summary);
    for (const option_def *d = options_of(v); d->name != NULL; d++) {
        char letter[] = "    ", left[64 + SHOWN_ARG], arg[SHOWN_ARG];
        if (d->letter != 0) snprintf(letter, sizeof letter, "-%c, ", d->letter);
        snprintf(left, sizeof left, "%s%s%s%s", letter, d->name, d->arg != NULL ? " " : "",
                 shown_arg(d, arg));
        printf("  %-26s %s%s\n", left, d->help, d->many ? "; may be repeated" : "");
    }
    printf("  %-26s %s\n", "    --help", "this text");
}

static bool asks_for_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool asks_for_version(const char *word) {
    return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
}

static void print_version(void) {
    hone_machine *m = NULL;
    hone_error err;
    printf("hone %s\n", hone_version());
    if (hone_machine_look(&m, &err) == HONE_OK) {
        printf("instruction sets of this machine:");
        for (size_t i = 0; i < m->n_isas; i++) printf(" %s", m->isas[i].name);
        printf("%s\n", m->n_isas == 0 ? " none that has kernels of its own" : "");
    }
    hone_machine_destroy(m);
    printf("built with: %s\n", HONE_BUILT_WITH);
}

static const verb *find_verb(const char *word) {
    const char *names[N_VERBS + 1] = {NULL};
    for (int i = 0; i < N_VERBS; i++) {
        if (strcmp(word, verbs[i]->name) == 0) return verbs[i];
        names[i] = verbs[i]->name;
    }
    has_no("hone", "verb", word, names);
    return NULL;
}

static exit_code run(const verb *v, int n, char **words) {
    char *command = command_text(
        v->name, n, (const char *const *)words); /* before options are cut into lists */
    args a = {.verb = v, .command = command};
    exit_code code = EXIT_USAGE;
    if (read_words(&a, n, words)) {
        set_verbosity(has(&a, "--quiet"), has(&a, "--verbose"));
        note_old_names(&a);
        code = start_time_limit(&a) ? results_check(&a) : EXIT_USAGE;
        if (has(&a, "--program") && !has(&a, "--on")) {
            complain("--program says what --on copies, which is not given");
            code = EXIT_USAGE;
        }
        if (code == EXIT_DONE) code = check_overwriting(&a);
        if (code == EXIT_DONE) code = has(&a, "--on") ? run_elsewhere(&a, n, words) : v->run(&a);
    }
    free(command);
    return code;
}

int main(int argc, char **argv) {
    exit_code code = EXIT_DONE;
    const verb *v = NULL;
    if (argc > 2 && strcmp(argv[1], "help") == 0) { /* hone help VERB */
        argv[1] = argv[2];
        argv[2] = "--help";
    }
    bool help = argc < 2 || asks_for_help(argv[1]) || strcmp(argv[1], "help") == 0;
    if (help) {
        print_verbs(argc < 2 ? stderr : stdout);
        if (argc < 2) code = EXIT_USAGE;
    } else if (asks_for_version(argv[1])) {
        print_version();
    } else if ((v = find_verb(argv[1])) == NULL) {
        code = EXIT_USAGE;
    } else {
        for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) help |= asks_for_help(argv[i]);
        if (help)
            print_help(v);
        else
            code = run(v, argc - 2, argv + 2);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("standard output: %s", strerror(errno));
        if (code == EXIT_DONE) code = EXIT_RESOURCE;
    }
    return code;
}
