#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* All of a file, ended by a zero; false after saying what is wrong. A `-` is standard input. */
static bool read_all(const char *path, char **text) {
    bool standard = strcmp(path, "-") == 0;
    size_t room = 0;
    *text = NULL;
    FILE *from = standard ? stdin : fopen(path, "rb");
    /* To the first zero or the end: JSON has none, and what stands behind one is not read. */
    ssize_t n = from != NULL ? getdelim(text, &room, '\0', from) : -1;
    bool read = from != NULL && !ferror(from);
    if (!read) complain("%s: %s", path, strerror(errno));
    if (from != NULL && !standard) fclose(from);
    if (n < 0 && read) *text = must(realloc(*text, 1)), (*text)[0] = '\0';
    return read;
}

static exit_code run(const args *a) {
    const char *output = value_of(a, "--output");
    char *texts[MOST_ARGUMENTS] = {NULL};
    hone_report_options o;
    hone_error err;
    exit_code code = EXIT_DONE;
    if (output == NULL) {
        complain("report wants --output FILE.html");
        return EXIT_USAGE;
    }
    for (int i = 0; i < a->n && code == EXIT_DONE; i++)
        if (!read_all(a->argument[i], &texts[i])) code = EXIT_INPUT;
    hone_report_options_init(&o);
    o.names = a->argument;
    if (code == EXIT_DONE &&
        hone_report_write((const char *const *)texts, (size_t)a->n, output, &o, &err) != HONE_OK)
        code = fail_with(&err);
    if (code == EXIT_DONE) note("%s is written", output);
    for (int i = 0; i < a->n; i++) free(texts[i]);
    return code;
}

static const option_def options[] = {
    {"--output", 'o', ">FILE.html", "write the result here: the page", false, NULL},
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_report = {
    .name = "report",
    .usage = "FILE.json... -o FILE.html",
    .n_arguments = 1,
    .most_arguments = MOST_ARGUMENTS,
    .summary = "one page with plots of what other verbs found (--json)",
    .options = options,
    .run = run,
};
