/* The connection to a host: the system's ssh, once, and the host's shell.
 *
 *     keeper    makes a folder, says where, and answers each line it gets. Once its input ends, it
 *               ends the command that still runs and removes the folder. It is the first process to
 *               connect; the others share its connection.
 *     send      tar here | tar there
 *     run       a script that was sent: the command
 *     fetch     tar there | tar here
 *
 * So the folder goes however things end: the keeper's input ends when it is closed here, when this
 * program is killed, and when the connection breaks. A connection may also break without a word.
 * Then ssh notices here (ServerAliveInterval), and there the keeper does, which gets a line every
 * few seconds and ends where there was none for a minute.
 *
 * Command lines of the host's login shell, whatever shell that is, hold fixed texts and the name of
 * the keeper's folder; names of files are in scripts that are sent (on_files.c).
 *
 * HONE_SSH names another program with its arguments. It is called as ssh is:
 *
 *     $HONE_SSH OPTION... HOST COMMAND
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "on.h"

#define BEAT 5.0      /* seconds from one line to the keeper to the next */
#define SILENCE 45.0  /* after so many without an answer, the connection is gone */
#define PATIENCE 10.0 /* for what shall end */
#define CLEARING 60.0 /* for a folder to be removed */

/* Of the shell there, in one line and without what a login shell may take for its own: quotes,
 * line breaks. $w is what watches for silence, $p the command. */
enum { NO_FOLDER = 9, NOT_REMOVED = 8 };
static const char keeper[] =
    "exec /bin/sh -c '"
    "umask 077; w=; "
    "d=$(mktemp -d \"${TMPDIR:-/tmp}/hone-on-XXXXXXXX\") || exit 9; "
    "clear() { trap \"\" HUP INT TERM PIPE; trap - EXIT; [ -z \"$w\" ] || kill $w 2>/dev/null; p=; "
    "[ ! -s \"$d/pid\" ] || read -r p <\"$d/pid\"; "
    "if [ -n \"$p\" ] && kill -INT $p 2>/dev/null; then n=50; "
    "while [ $n -gt 0 ] && kill -0 $p 2>/dev/null; do sleep 0.1 2>/dev/null || sleep 1; "
    "n=$((n-1)); done; "
    "kill -KILL $p 2>/dev/null; kill -KILL -$p 2>/dev/null; fi; n=50; "
    "while [ -e \"$d\" ] && [ $n -gt 0 ]; do chmod -R u+rwX \"$d\" 2>/dev/null; rm -rf \"$d\" "
    "2>/dev/null; "
    "[ ! -e \"$d\" ] || sleep 0.2 2>/dev/null || sleep 1; n=$((n-1)); done; "
    "if [ -e \"$d\" ]; then exit 8; fi; exit 0; }; "
    "trap clear EXIT HUP INT TERM PIPE; "
    "( s=; trap \"kill \\$s 2>/dev/null; exit\" TERM; while :; do sleep 60 & s=$!; wait $s; "
    "[ -e \"$d/beat\" ] || { kill -TERM $$; exit; }; rm -f \"$d/beat\"; done ) </dev/null "
    ">/dev/null 2>&1 & w=$!; "
    "echo \"hone-on $(uname -m) $d\"; "
    "while read -r l; do : >\"$d/beat\"; [ \"$l\" != done ] || rm -f \"$d/pid\"; echo \"$l\"; "
    "done; "
    "exit 0'";

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- signals ---- */

static volatile sig_atomic_t ended_by;
static void on_end(int signal_number) { ended_by = signal_number; }

void link_signals(void) {
    struct sigaction action = {.sa_handler = on_end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    catch_interrupt();
}

void link_signals_follow(void) {
    if (ended_by == 0) return;
    signal(ended_by, SIG_DFL);
    raise(ended_by);
}

bool link_wanted(void) { return ended_by == 0 && not_interrupted(NULL); }

exit_code link_not_wanted(void) { return ended_by != 0 ? EXIT_INTERRUPTED : say_interrupted(); }

/* ---- processes ---- */

/* Streams of a process; -1: nothing. Those given here are closed here. */
typedef struct streams {
    int in, out, err;
} streams;

static void put_stream(int from, int to) {
    int fd = from >= 0 ? from : open("/dev/null", O_RDWR);
    if (fd < 0 || dup2(fd, to) < 0) _exit(126);
}

static pid_t start(const char *const *words, streams s) {
    pid_t child = fork();
    if (child == 0) {
        put_stream(s.in, STDIN_FILENO);
        put_stream(s.out, STDOUT_FILENO);
        put_stream(s.err, STDERR_FILENO);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGINT, SIG_IGN); /* Ctrl-C is answered here, and the connection then closed */
        execvp(words[0], (char *const *)words);
        dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    if (child < 0) complain("fork: %s", strerror(errno));
    return child;
}

static void close_streams(streams s) {
    if (s.in >= 0) close(s.in);
    if (s.out >= 0) close(s.out);
    if (s.err >= 0) close(s.err);
}

static int open_errors(const ssh_link *l) {
    return open(l->errors, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* An ssh that runs a command there; first: it makes the connection that the others share. */
static pid_t start_ssh(const ssh_link *l, bool first, bool quiet, const char *command, streams s) {
    enum { MOST = 40 };
    const char *given = getenv("HONE_SSH"), *words[MOST];
    char *program = NULL, *path = NULL;
    int n = 0;
    if (asprintf(&path, "ControlPath=%s/ssh", l->folder) < 0) must(NULL);
    if (given != NULL && given[0] != '\0') { /* taken apart by a shell, as the user wrote it */
        if (asprintf(&program, "%s \"$@\"", given) < 0) must(NULL);
        words[n++] = "/bin/sh";
        words[n++] = "-c";
        words[n++] = program;
    }
    words[n++] = "ssh";
    words[n++] = "-T";
    if (quiet) words[n++] = "-q";
    static const char *const always[] = {"ControlPersist=no",     "ConnectTimeout=10",
                                         "ServerAliveInterval=5", "LogLevel=ERROR",
                                         "ServerAliveCountMax=3", "ForwardAgent=no",
                                         "ForwardX11=no",         "ClearAllForwardings=yes",
                                         "PermitLocalCommand=no", "RemoteCommand=none"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        if (quiet && strncmp(always[i], "LogLevel", 8) == 0) continue;
        words[n++] = "-o";
        words[n++] = always[i];
    }
    words[n++] = "-o";
    words[n++] = path;
    words[n++] = "-o";
    words[n++] = first ? "ControlMaster=yes" : "ControlMaster=no";
    if (!first) { /* which must not connect on its own where the first is gone */
        words[n++] = "-o";
        words[n++] = "ProxyCommand=false";
    }
    words[n++] = l->host;
    words[n++] = command;
    words[n] = NULL;
    pid_t child = start(words, s);
    free(program);
    free(path);
    return child;
}

static int code_of(int state) { return WIFEXITED(state) ? WEXITSTATUS(state) : -1; }

/* Ends a process, at first by its leave. */
static void stop(pid_t child) {
    int state;
    if (child <= 0) return;
    kill(child, SIGTERM);
    for (double until = now() + 2; now() < until;) {
        if (waitpid(child, &state, WNOHANG) != 0) return;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, &state, 0);
}

/* ---- the keeper ---- */

static void lose_keeper(ssh_link *l) {
    if (l->from >= 0) close(l->from);
    l->from = -1;
}

/* Shows what the command has said so far, if anyone still wants to hear it. */
static void show_messages(ssh_link *l) {
    char buf[4096];
    struct pollfd p = {.fd = l->messages, .events = POLLIN};
    while (l->messages >= 0 && poll(&p, 1, 0) > 0) {
        ssize_t n = read(l->messages, buf, sizeof buf);
        if (n < 0 && errno == EINTR) continue;
        if (n > 0 && link_wanted()) fwrite(buf, 1, (size_t)n, stderr);
        if (n > 0) continue;
        close(l->messages);
        l->messages = -1;
    }
}

/* Lets so many seconds pass, at most until the keeper or the command says something. False: the
 * keeper is gone. */
static bool tick(ssh_link *l, double seconds) {
    char buf[256];
    double t = now();
    if (l->from < 0) return false;
    if (t - l->beat >= BEAT) {
        if (write(l->to, "\n", 1) != 1) lose_keeper(l);
        if (l->beat == 0 || l->answered > l->beat) l->answered = t;
        l->beat = t;
    }
    if (t - l->answered > SILENCE) lose_keeper(l);
    if (l->from < 0) return false;
    struct pollfd p[] = {{.fd = l->from, .events = POLLIN}, {.fd = l->messages, .events = POLLIN}};
    if (poll(p, 2, (int)(seconds * 1000)) <= 0) return true;
    show_messages(l);
    if (p[0].revents == 0) return true;
    ssize_t n = read(l->from, buf, sizeof buf);
    if (n > 0) l->answered = now();
    if (n == 0 || (n < 0 && errno != EINTR)) lose_keeper(l);
    return l->from >= 0;
}

bool link_answers(ssh_link *l) {
    double asked = now();
    if (l->from < 0 || write(l->to, "\n", 1) != 1) return false;
    while (now() < asked + PATIENCE && link_wanted())
        if (!tick(l, 0.1))
            return false;
        else if (l->answered > asked)
            return true;
    return false;
}

/* Reads a line from the keeper, of at most `room` letters. False: it has ended, or is to. */
static bool read_line(ssh_link *l, char *text, size_t room) {
    size_t n = 0;
    while (link_wanted()) {
        struct pollfd p = {.fd = l->from, .events = POLLIN};
        if (poll(&p, 1, 100) <= 0) continue;
        char c;
        if (read(l->from, &c, 1) != 1) return false;
        if (c == '\n') {
            text[n] = '\0';
            return true;
        }
        if (n < room - 1) text[n++] = c;
    }
    return false;
}

/* "hone-on x86_64 /tmp/hone-on-12345678"; what a login shell prints before it does not count. */
static bool greet(ssh_link *l) {
    char text[1024];
    int at = 0;
    while (read_line(l, text, sizeof text)) {
        if (sscanf(text, "hone-on %31s %n", l->arch, &at) != 1 || at == 0) continue;
        l->there = must(strdup(text + at));
        return true;
    }
    return false;
}

char *link_why(const ssh_link *l) {
    char *text = NULL, *last = NULL;
    size_t room = 0;
    FILE *f = fopen(l->errors, "re");
    while (f != NULL && getline(&text, &room, f) > 0) {
        size_t n = strcspn(text, "\r\n");
        if (n == 0) continue;
        free(last);
        last = must(strndup(text, n));
    }
    if (f != NULL) fclose(f);
    free(text);
    return last;
}

/* Whether it is no use to try again: the host is there, and wants nothing to do with us. */
static bool is_final(const ssh_link *l, int code) {
    char *why = link_why(l);
    bool refused = why != NULL && (strstr(why, "Permission denied") != NULL ||
                                   strstr(why, "Host key verification failed") != NULL ||
                                   strstr(why, "Too many authentication failures") != NULL);
    free(why);
    return refused || code != 255; /* which is ssh's own */
}

ending link_open(ssh_link *l, bool *final) {
    int in[2], out[2], state = 0;
    *final = false;
    unlink(l->errors);
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        complain("pipe: %s", strerror(errno));
        *final = true;
        return LOST;
    }
    streams s = {in[0], out[1], open_errors(l)};
    l->keeper = start_ssh(l, true, false, keeper, s);
    close_streams(s);
    l->to = in[1];
    l->from = out[0];
    l->beat = l->answered = now();
    if (l->keeper > 0 && greet(l)) return ENDED;
    if (!link_wanted()) return INTERRUPTED;
    lose_keeper(l);
    close(l->to);
    l->to = -1;
    if (l->keeper > 0) waitpid(l->keeper, &state, 0);
    l->keeper = 0;
    l->no_folder = code_of(state) == NO_FOLDER;
    *final = is_final(l, code_of(state));
    return LOST;
}

void link_close(ssh_link *l) {
    int state = 0;
    pid_t ended = 0;
    if (l->to >= 0) close(l->to);
    l->to = -1;
    if (l->keeper > 0) {
        double until = now() + CLEARING;
        while ((ended = waitpid(l->keeper, &state, WNOHANG)) == 0 && now() < until)
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        if (ended == 0) stop(l->keeper);
        if (l->there != NULL && (ended == 0 || code_of(state) == NOT_REMOVED))
            note("%s could not be removed on %s", l->there, l->host);
    }
    l->keeper = 0;
    lose_keeper(l);
    free(l->there);
    l->there = NULL;
}

/* ---- what it carries ---- */

/* Until the process has ended by itself. */
static ending wait_for(ssh_link *l, pid_t child, int *code) {
    int state;
    pid_t ended;
    while ((ended = waitpid(child, &state, WNOHANG)) == 0) {
        bool there = tick(l, 0.02);
        if (!link_wanted() || !there) {
            /* It has heard as much as we have, and says so. */
            if (l->to >= 0) close(l->to);
            l->to = -1;
            for (double until = now() + PATIENCE; now() < until && ended == 0;) {
                ended = waitpid(child, &state, WNOHANG);
                show_messages(l);
                if (ended == 0) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
            }
            if (ended == 0) stop(child);
            *code = ended > 0 ? code_of(state) : -1;
            return link_wanted() ? LOST : INTERRUPTED;
        }
    }
    *code = ended > 0 ? code_of(state) : -1;
    return ENDED;
}

/* A command of the host, with the name of its folder in quotes. */
static char *command_of(const ssh_link *l, const char *before, const char *behind) {
    char *text;
    if (asprintf(&text, "%s'%s%s", before, l->there, behind) < 0) must(NULL);
    return text;
}

/* Two processes, the first writing what the second reads. */
static ending wait_for_both(ssh_link *l, pid_t first, pid_t second, int *code) {
    int other = -1;
    ending e = first > 0 ? wait_for(l, first, &other) : ENDED;
    if (second > 0) {
        ending e2 = e == ENDED ? wait_for(l, second, code) : e;
        if (e != ENDED) stop(second);
        e = e2;
    }
    if (first <= 0 || second <= 0) *code = -1;
    /* tar gives 1 for a file that changed while it was read */
    if (*code == 0 && (other < 0 || other > 1)) *code = other;
    return e;
}

ending link_send(ssh_link *l, const char *from, int *code) {
    const char *words[] = {"tar", "-C", from, "-chf", "-", ".", NULL};
    int ends[2];
    *code = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) return ENDED;
    streams s = {-1, ends[1], open_errors(l)}, t = {ends[0], open_errors(l), open_errors(l)};
    char *command = command_of(l, "cd ", "' && exec tar -xof -");
    pid_t packs = start(words, s);
    pid_t unpacks = start_ssh(l, false, false, command, t);
    close_streams(s);
    close_streams(t);
    free(command);
    return wait_for_both(l, packs, unpacks, code);
}

ending link_fetch(ssh_link *l, const char *script, const char *to, int *code) {
    const char *words[] = {"tar", "-C", to, "-xof", "-", NULL};
    int there = -1;
    *code = -1;
    char *packed = NULL;
    if (asprintf(&packed, "%s/packed", l->folder) < 0) must(NULL);
    int file = open(packed, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char *command = command_of(l, "exec /bin/sh ", "/"), *all;
    if (asprintf(&all, "%s%s'", command, script) < 0) must(NULL);
    streams s = {-1, file, open_errors(l)};
    pid_t packs = start_ssh(l, false, false, all, s);
    close_streams(s);
    ending e = packs > 0 ? wait_for(l, packs, &there) : ENDED;
    *code = there;
    if (e == ENDED && there == 0) {
        streams t = {open(packed, O_RDONLY | O_CLOEXEC), -1, open_errors(l)};
        pid_t unpacks = start(words, t);
        close_streams(t);
        if (unpacks > 0) e = wait_for(l, unpacks, code);
    }
    unlink(packed);
    free(packed);
    free(command);
    free(all);
    return e;
}

ending link_run(ssh_link *l, const char *script, int in, int out, int *code) {
    int ends[2];
    char *command = command_of(l, "exec /bin/sh ", "/"), *all;
    if (asprintf(&all, "%s%s'", command, script) < 0) must(NULL);
    *code = -1;
    ending e = ENDED;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        l->messages = ends[0];
        pid_t child = start_ssh(l, false, true, all, (streams){in, out, ends[1]});
        close(ends[1]);
        if (child > 0) e = wait_for(l, child, code);
        show_messages(l);
        if (l->messages >= 0) close(l->messages);
        l->messages = -1;
        if (!link_wanted() && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr); /* a bar */
    }
    free(command);
    free(all);
    if (e != ENDED) return e;
    /* ssh gives 255 where the connection has ended, and where the command was killed. */
    if (*code == 255 || *code < 0) {
        if (link_answers(l)) return ENDED;
        return link_wanted() ? LOST : INTERRUPTED;
    }
    if (l->to >= 0 && write(l->to, "done\n", 5) != 5) return LOST;
    return ENDED;
}
