/* Messages, the exit codes that go with them, and progress. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* ---- messages ---- */

static bool quiet, hushed;

static void put_line(FILE *to, const char *lead, const char *format, va_list list) {
    char *text;
    if (vasprintf(&text, format, list) < 0) text = must(NULL);
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    fprintf(to, "%s%s\n", lead, text);
    free(text);
}

void complain(const char *format, ...) {
    va_list list;
    va_start(list, format);
    put_line(stderr, "hone: ", format, list);
    va_end(list);
}

void hush_notes(void) { hushed = true; }

void note(const char *format, ...) {
    if (quiet || hushed) return;
    va_list list;
    va_start(list, format);
    put_line(stderr, "hone: note: ", format, list);
    va_end(list);
}

void line(const char *format, ...) {
    va_list list;
    va_start(list, format);
    put_line(stdout, "", format, list);
    va_end(list);
}

static void on_log(void *ctx, hone_log_level level, const char *text) {
    static _Thread_local char last[HONE_ERROR_TEXT]; /* a warning that comes again is said once */
    (void)ctx;
    if (level == HONE_LOG_WARN) {
        if (strncmp(text, last, sizeof last - 1) == 0) return;
        snprintf(last, sizeof last, "%s", text);
    }
    if (hushed && strncmp(text, "dataset: ", 9) == 0) return; /* the check has read it too */
    complain("%s%s", level == HONE_LOG_WARN ? "warning: " : "", text);
}

void set_verbosity(bool quiet_, bool verbose) {
    quiet = quiet_;
    hone_log_set(quiet ? NULL : on_log, NULL, verbose ? HONE_LOG_INFO : HONE_LOG_WARN);
}

/* ---- interruption ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    if (interrupted) _exit(EXIT_INTERRUPTED); /* the second time, at once */
    interrupted = 1;
}

void catch_interrupt(void) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
}

bool not_interrupted(void *unused) {
    (void)unused;
    return !interrupted;
}

exit_code fail_with(const hone_error *e) {
    if (interrupted && e->status == HONE_E_LIMIT) {
        complain("interrupted");
        return EXIT_INTERRUPTED;
    }
    complain("%s", e->text);
    return e->status == HONE_E_NOMEM || e->status == HONE_E_LIMIT ? EXIT_RESOURCE : EXIT_INPUT;
}

/* ---- progress ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_start(progress *p, const char *what, const char *unit) {
    *p = (progress){.what = what, .unit = unit, .begun = now()};
}

bool progress_step(void *ctx, int64_t done, int64_t total) {
    progress *p = ctx;
    double t = now();
    if (quiet || !isatty(STDERR_FILENO) || t - p->shown < 0.1) return !interrupted;
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    double share = (double)done / (double)total, rate = (double)done / (t - p->begun + 1e-9);
    int filled = (int)(share * WIDTH), left = (int)((double)(total - done) / rate);
    memset(bar, '.', WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r%s [%s] %3d %%  ", p->what, bar, (int)(100 * share));
    if (p->unit != NULL) fprintf(stderr, "%.1f %s/s  ", rate, p->unit);
    fprintf(stderr, "%d:%02d left\033[K", left / 60, left % 60);
    p->shown = t;
    p->drawn = true;
    return !interrupted;
}

void progress_end(progress *p) {
    if (p->drawn) fputs("\r\033[K", stderr);
    p->drawn = false;
}
