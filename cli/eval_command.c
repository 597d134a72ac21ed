/* A metric by a command. Batches are written to FOLDER/000000.npz, FOLDER/000001.npz, ... with
 * arrays `output.NAME`, `target.NAME` and `label`; at the end `COMMAND FOLDER` is run once, by a
 * shell since it is the user who typed it, and must print one number. What it prints on stderr is
 * shown.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "eval.h"

#define MOST_TEXT 256 /* of what a command prints */

static hone_status fail(hone_error *err, hone_status status, const char *format, ...)
    HONE_PRINTF(3, 4);
static hone_status fail(hone_error *err, hone_status status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(err->text, sizeof err->text, format, list);
    va_end(list);
    err->status = status;
    return status;
}

/* ---- the folder ---- */

static hone_status make_folder(command_metric *c, hone_error *err) {
    const char *where = getenv("TMPDIR");
    char path[sizeof c->folder];
    int n = snprintf(path, sizeof path, "%s/hone-eval-XXXXXX",
                     where != NULL && *where != '\0' ? where : "/tmp");
    if (n >= (int)sizeof path || mkdtemp(path) == NULL)
        return fail(err, HONE_E_IO, "cannot make a folder for --metric-command in '%s': %s",
                    where != NULL ? where : "/tmp", strerror(errno));
    strcpy(c->folder, path);
    return HONE_OK;
}

static char *file_path(const command_metric *c, long long i) {
    char *path;
    if (asprintf(&path, "%s/%06lld.npz", c->folder, i) < 0) path = must(NULL);
    return path;
}

void command_end(command_metric *c) {
    if (c->folder[0] == '\0') return;
    for (long long i = 0; i < c->files; i++) {
        char *path = file_path(c, i);
        unlink(path);
        free(path);
    }
    if (rmdir(c->folder) != 0) note("'%s' was left: %s", c->folder, strerror(errno));
    c->folder[0] = '\0';
}

/* ---- batches ---- */

static void add(hone_value *to, size_t *n, const hone_value *v, const char *kind) {
    char *name;
    if (v->data == NULL) return; /* strings */
    if (asprintf(&name, "%s.%s", kind, v->name) < 0) name = must(NULL);
    to[*n] = *v;
    to[(*n)++].name = name;
}

hone_status command_take(void *ctx, const hone_eval_batch *b, hone_error *err) {
    command_metric *c = ctx;
    if (c->folder[0] == '\0' && make_folder(c, err) != HONE_OK) return err->status;
    hone_value *all = must(calloc(b->n_outputs + b->n_targets + 1, sizeof *all));
    size_t n = 0;
    for (size_t i = 0; i < b->n_outputs; i++) add(all, &n, &b->outputs[i], "output");
    for (size_t i = 0; i < b->n_targets; i++) add(all, &n, &b->targets[i], "target");
    size_t named = n;
    if (b->labels != NULL)
        all[n++] = (hone_value){.name = "label",
                                .dtype = HONE_DTYPE_S64,
                                .rank = 1,
                                .dims = {b->n},
                                .data = (void *)b->labels,
                                .bytes = (size_t)b->n * sizeof *b->labels};
    char *path = file_path(c, c->files++);
    hone_status status = hone_npz_write(all, n, path, err);
    free(path);
    for (size_t i = 0; i < named; i++) free((char *)all[i].name);
    free(all);
    return status;
}

/* ---- the command ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* In the child: the folder is an argument of the shell's, so that no name in it is taken apart. */
static void become(const command_metric *c, int to) {
    char *script;
    if (asprintf(&script, "%s \"$@\"", c->text) < 0) _exit(126);
    char *words[] = {"sh", "-c", script, "sh", (char *)c->folder, NULL};
    signal(SIGINT, SIG_DFL);
    setpgid(0, 0); /* so that all it starts can be ended with it */
    if (dup2(to, STDOUT_FILENO) < 0) _exit(126);
    execvp("/bin/sh", words);
    _exit(127);
}

typedef enum ending { ENDED, LATE, INTERRUPTED, TALKATIVE } ending;

/* Reads what it prints until it closes its output. */
static ending listen_to(int from, double until, char *text, size_t *used) {
    for (;;) {
        struct pollfd p = {.fd = from, .events = POLLIN};
        double left = until - now();
        if (!not_interrupted(NULL)) return INTERRUPTED;
        if (left <= 0) return LATE;
        if (poll(&p, 1, left < 0.1 ? (int)(left * 1000) + 1 : 100) <= 0) continue;
        ssize_t n = read(from, text + *used, MOST_TEXT - *used);
        if (n <= 0) return ENDED;
        *used += (size_t)n;
        if (*used == MOST_TEXT) return TALKATIVE;
    }
}

/* Waits for it, at most until then. */
static ending wait_for(pid_t child, double until, int *code) {
    for (;;) {
        pid_t who = waitpid(child, code, WNOHANG);
        if (who == child) return ENDED;
        if (who < 0 && errno != EINTR) return LATE;
        if (!not_interrupted(NULL)) return INTERRUPTED;
        if (now() >= until) return LATE;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static hone_status judge(command_metric *c, ending e, int code, const char *text, hone_error *err) {
    if (e == INTERRUPTED) return fail(err, HONE_E_LIMIT, "interrupted");
    if (e == LATE)
        return fail(err, HONE_E_LIMIT,
                    "metric command '%s' took more than %g s (--metric-time-limit)", c->text,
                    c->seconds);
    if (e == TALKATIVE)
        return fail(err, HONE_E_FORMAT,
                    "metric command '%s' printed more than %d bytes, wanted one number", c->text,
                    MOST_TEXT - 1);
    if (WIFSIGNALED(code))
        return fail(err, HONE_E_IO, "metric command '%s' was ended by signal %d", c->text,
                    WTERMSIG(code));
    if (WEXITSTATUS(code) != 0)
        return fail(err, HONE_E_IO, "metric command '%s' exited with %d", c->text,
                    WEXITSTATUS(code));
    char *end;
    double x = strtod(text, &end);
    if (end == text || end[strspn(end, " \t\r\n")] != '\0' || !isfinite(x))
        return fail(err, HONE_E_FORMAT, "metric command '%s' printed '%s', wanted one number",
                    c->text, text);
    c->value =
        (hone_metric_value){.name = "command", .value = x, .low = NAN, .high = NAN, .part = -1};
    return HONE_OK;
}

hone_status command_run(command_metric *c, hone_error *err) {
    int pipe_[2];
    char text[MOST_TEXT + 1];
    size_t used = 0;
    if (pipe(pipe_) != 0)
        return fail(err, HONE_E_IO, "cannot run '%s': %s", c->text, strerror(errno));
    double until = now() + c->seconds;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(pipe_[0]);
        become(c, pipe_[1]);
    }
    close(pipe_[1]);
    if (child < 0) {
        close(pipe_[0]);
        return fail(err, HONE_E_IO, "cannot run '%s': %s", c->text, strerror(errno));
    }
    setpgid(child, child); /* whoever comes first */
    int code = 0;
    ending e = listen_to(pipe_[0], until, text, &used);
    if (e == ENDED) e = wait_for(child, until, &code);
    close(pipe_[0]);
    if (e != ENDED) {
        kill(-child, SIGKILL);
        waitpid(child, &code, 0);
    }
    text[used] = '\0';
    return judge(c, e, code, text, err);
}
