/* Messages, the exit codes that go with them, and progress. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* ---- messages ---- */

static bool quiet, hushed;
static bool bar_drawn; /* the cursor stands behind a bar on the terminal */

static void clear_bar(void) {
    if (bar_drawn) fputs("\r\033[K", stderr);
    bar_drawn = false;
}

static void put_line(FILE *to, const char *lead, const char *format, va_list list) {
    char *text;
    if (vasprintf(&text, format, list) < 0) text = must(NULL);
    clear_bar();
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

/* ---- the time limit ---- */

static double now(void);

/* Time to end properly once the limit is over, in seconds. */
#define GRACE 1.0

static volatile sig_atomic_t expired, expiry_said;
static double time_limit, deadline; /* seconds; 0: there is none */

static void set_alarm(double seconds) {
    if (seconds < 1e-3) seconds = 1e-3;
    struct itimerval t = {
        .it_value = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)(fmod(seconds, 1) * 1e6)}};
    setitimer(ITIMER_REAL, &t, NULL);
}

static void on_alarm(int signal_number) {
    static const char text[] = "hone: the time limit is over (--time-limit)\n";
    (void)signal_number;
    if (expired) {
        ssize_t written = expiry_said ? 0 : write(STDERR_FILENO, text, sizeof text - 1);
        (void)written;
        _exit(EXIT_RESOURCE);
    }
    expired = 1;
    set_alarm(GRACE);
}

bool start_time_limit(const args *a) {
    if (!has(a, "--time-limit")) return true;
    if (!seconds_of(a, "--time-limit", &time_limit)) return false;
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    deadline = now() + time_limit;
    set_alarm(time_limit);
    return true;
}

void continue_time_limit(void) {
    expiry_said = 1;
    if (deadline > 0) set_alarm(deadline - now());
}

bool not_interrupted(void *unused) {
    (void)unused;
    return !interrupted && !expired;
}

exit_code say_interrupted(void) {
    if (interrupted) {
        complain("interrupted");
        return EXIT_INTERRUPTED;
    }
    if (!expiry_said) complain("the time limit of %g s is over (--time-limit)", time_limit);
    expiry_said = 1;
    return EXIT_RESOURCE;
}

exit_code fail_with(const hone_error *e) {
    if (!not_interrupted(NULL) && e->status == HONE_E_LIMIT) return say_interrupted();
    hone_error shown = *e;
    name_standard_input(shown.text);
    complain("%s", shown.text);
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

void progress_expect(progress *p, double seconds) { p->until = now() + seconds; }

/* Whether someone sees bars: on a terminal, or on one of another machine, which tells how wide it is.
 */
static bool bar_seen(void) { return isatty(STDERR_FILENO) || getenv("HONE_PROGRESS") != NULL; }

/* What there is room for on the terminal. */
static int bar_columns(void) {
    struct winsize size;
    const char *columns = getenv("HONE_PROGRESS");
    if (columns != NULL && atoi(columns) > 0) return atoi(columns);
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* "int8: accuracy  [####......]  40 %  0:12 left", in one line however narrow the terminal is. */
static void draw(const progress *p, double share, double rate, double left) {
    enum { WIDTH = 30 };
    char bar[WIDTH + 1], tail[64] = "", speed[48] = "";
    if (p->unit != NULL && rate > 0) snprintf(speed, sizeof speed, "  %.1f %.20s/s", rate, p->unit);
    if (isfinite(left) && left < 1e6)
        snprintf(tail, sizeof tail, "  %d:%02d left", (int)left / 60, (int)left % 60);
    int columns = bar_columns() - 1;
    int room = columns - (int)strlen(p->what) - (int)strlen(speed) - (int)strlen(tail) - 9;
    int wide = room > WIDTH ? WIDTH : room, filled = (int)(share * (wide > 0 ? wide : 0));
    fputc('\r', stderr);
    if (wide >= 4) {
        memset(bar, '.', WIDTH);
        memset(bar, '#', (size_t)filled);
        fprintf(stderr, "%s [%.*s] %3d %%%s%s", p->what, wide, bar, (int)(100 * share), speed,
                tail);
    } else {
        fprintf(stderr, "%.*s %3d %%", columns > 6 ? columns - 6 : 0, p->what, (int)(100 * share));
    }
    fputs("\033[K", stderr);
}

bool progress_step(void *ctx, int64_t done, int64_t total) {
    progress *p = ctx;
    double t = now(), took = t - p->begun;
    if (quiet || !bar_seen() || t - p->shown < 0.1) return not_interrupted(NULL);
    double share = total > 0 ? fmin(fmax((double)done / (double)total, 0), 1) : 0;
    double rate = took > 0 ? (double)done / took : 0;
    /* The first moments say nothing of the rest. */
    double left = took > 0.5 && share > 0 ? took * (1 - share) / share : NAN;
    if (p->until != 0) left = p->until < t ? 0 : p->until - t;
    draw(p, share, rate, left);
    p->shown = t;
    bar_drawn = true;
    return not_interrupted(NULL);
}

void progress_end(progress *p) {
    (void)p;
    clear_bar();
}

bool progress_tell(void *ctx, const char *what, int64_t done, int64_t total) {
    progress *p = ctx;
    if (p->what == NULL || strcmp(p->what, what) != 0) {
        progress_end(p);
        progress_start(p, what, NULL);
    }
    return progress_step(p, done, total);
}
