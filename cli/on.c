/* --on ssh:HOST: the command runs on another machine.
 *
 * hone copies itself (or --program) and what the command reads to a fresh folder of the host
 * (on_files.c), runs the same command there, shows its messages as they come, brings back what it
 * wrote and printed, and gives its exit code. The folder is removed however things end (on_link.c).
 * A connection that cannot be made or is lost is tried again, from the beginning: a measurement
 * that broke off is worth nothing.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "on.h"

enum { TRIES = 4 }; /* with 1, 2 and 4 seconds between them */

/* ---- the program ---- */

/* What `uname -m` says where a program of this kind runs; NULL: it runs nowhere. */
static const char *arch_of(const char *path) {
    Elf64_Ehdr head;
    FILE *f = fopen(path, "re");
    bool read = f != NULL && fread(&head, sizeof head, 1, f) == 1 &&
                memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                (head.e_type == ET_EXEC || head.e_type == ET_DYN);
    if (f != NULL) fclose(f);
    if (!read) return NULL;
    return head.e_machine == EM_X86_64 ? "x86_64" : head.e_machine == EM_AARCH64 ? "aarch64" : NULL;
}

static const char *usual_name(const char *arch) {
    return strcmp(arch, "arm64") == 0 ? "aarch64" : strcmp(arch, "amd64") == 0 ? "x86_64" : arch;
}

/* Whether the program can run on that host; else says how to get one that can. */
static bool fits(const args *a, const char *program, const ssh_link *l) {
    const char *kind = arch_of(program), *wanted = usual_name(l->arch);
    if (kind != NULL && strcmp(kind, wanted) == 0) return true;
    if (strcmp(wanted, "x86_64") != 0 && strcmp(wanted, "aarch64") != 0)
        complain("%s is a machine of the kind %s; hone runs on x86_64 and aarch64", l->host,
                 l->arch);
    else if (kind == NULL)
        complain("--program %s is no program of hone for x86_64 or aarch64", program);
    else
        complain(
            "%s is a machine of the kind %s, but %s is built for %s; --program names another: "
            "scripts/build cross in the source of hone makes build/cross/hone, statically linked, "
            "for the other kind",
            l->host, l->arch, has(a, "--program") ? program : "this hone", kind);
    return false;
}

/* ---- one try ---- */

typedef struct trip {
    const args *a;
    const char *program;
    luggage luggage;
    ssh_link link;
    int out;          /* what the command printed */
    const char *when; /* what is being done, for messages; NULL: it is made */
} trip;

static bool print_all(int from) {
    static char buf[1 << 16];
    ssize_t n;
    off_t at = 0;
    while ((n = pread(from, buf, sizeof buf, at)) > 0) {
        if (fwrite(buf, 1, (size_t)n, stdout) != (size_t)n) return false;
        at += n;
    }
    return n == 0;
}

static void explain(const trip *t, const char *what) {
    char *why = link_why(&t->link);
    complain("%s: %s%s%s", t->link.host, what, why != NULL ? ": " : "", why != NULL ? why : "");
    free(why);
}

static ending send_all(trip *t, exit_code *code) {
    int gave;
    char *out = luggage_path(&t->luggage, "out");
    t->when = "files were copied there";
    ending e = link_send(&t->link, out, &gave);
    free(out);
    if (e != ENDED || gave == 0) return e;
    if (!link_answers(&t->link)) return link_wanted() ? LOST : INTERRUPTED;
    explain(t, "files could not be copied there");
    *code = EXIT_RESOURCE;
    return e;
}

static ending run_command(trip *t, exit_code *code) {
    int gave, in = -1;
    t->when = "the command ran";
    if (t->luggage.from_input) in = open(model_path("-"), O_RDONLY | O_CLOEXEC);
    if (ftruncate(t->out, 0) != 0 || lseek(t->out, 0, SEEK_SET) != 0) return LOST;
    ending e = link_run(&t->link, "run", in, t->out, &gave);
    if (in >= 0) close(in);
    *code = (exit_code)gave;
    if (e != ENDED || (gave >= 0 && gave < 126) || gave == EXIT_INTERRUPTED) return e;
    *code = EXIT_RESOURCE;
    if (gave == 126 || gave == 127)
        complain(
            "%s: %s does not run there; a statically linked hone does (cmake -DHONE_STATIC=ON), "
            "which --program copies",
            t->link.host, t->program);
    else
        complain("%s: the command was ended there by a signal", t->link.host);
    return e;
}

static ending fetch_all(trip *t, exit_code *code) {
    int gave;
    char *in = luggage_path(&t->luggage, "in");
    t->when = "results were brought back";
    ending e = t->luggage.n_written > 0 ? link_fetch(&t->link, "back", in, &gave) : ENDED;
    free(in);
    if (t->luggage.n_written == 0 || e != ENDED || gave == 3) return e;
    if (gave != 0 && !link_answers(&t->link)) return link_wanted() ? LOST : INTERRUPTED;
    if (gave != 0) explain(t, "what was written there could not be brought back");
    exit_code put = gave == 0 ? unpack_written(&t->luggage) : EXIT_RESOURCE;
    if (*code == EXIT_DONE) *code = put;
    return e;
}

/* *code holds where it ends by itself. */
static ending go(trip *t, exit_code *code, bool *final) {
    t->when = NULL;
    ending e = link_open(&t->link, final);
    if (e != ENDED) return e;
    if (t->link.there[0] != '/' || strpbrk(t->link.there, "'\\\n!") != NULL) {
        complain("%s: its temporary folder has a name that cannot be used: %s", t->link.host,
                 t->link.there);
        *code = EXIT_RESOURCE;
        return e;
    }
    if (!fits(t->a, t->program, &t->link)) {
        *code = EXIT_RESOURCE;
        return e;
    }
    e = send_all(t, code);
    if (e == ENDED && *code == EXIT_DONE) {
        e = run_command(t, code);
        if (e == ENDED) e = fetch_all(t, code);
    }
    return e;
}

/* ---- all tries ---- */

/* False: it was ended meanwhile. */
static bool pause_for(double seconds) {
    for (int i = 0; i < (int)(seconds * 20) && link_wanted(); i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return link_wanted();
}

static exit_code travel(trip *t) {
    for (int i = 0;; i++) {
        exit_code code = EXIT_DONE;
        bool final = false;
        ending e = go(t, &code, &final);
        char *why = link_why(&t->link);
        link_close(&t->link);
        if (e == INTERRUPTED) code = link_not_wanted();
        const char *colon = why != NULL ? ": " : "", *text = why != NULL ? why : "";
        if (e == LOST && !final && i + 1 < TRIES)
            note("%s: %s%s%s%s; once more in %d s", t->link.host,
                 t->when != NULL ? "the connection was lost while " : "there is no connection",
                 t->when != NULL ? t->when : "", colon, text, 1 << i);
        else if (e == LOST)
            complain("%s: %s%s%s%s", t->link.host,
                     t->link.no_folder ? "no temporary folder can be made there"
                                       : "there is no connection",
                     final ? "" : ", after 4 tries", colon, text);
        free(why);
        if (e != LOST) return code;
        if (final || i + 1 == TRIES) return EXIT_RESOURCE;
        if (!pause_for(1 << i)) return link_not_wanted();
    }
}

const char *host_of(const char *value) {
    const char *host = strncmp(value, "ssh://", 6) == 0 ? value
                       : strncmp(value, "ssh:", 4) == 0 ? value + 4
                                                        : NULL;
    if (host != NULL && host[0] != '\0' && host[0] != '-' && strpbrk(host, " \t\r\n") == NULL)
        return host;
    complain("--on wants ssh:HOST, such as ssh:pi@board, got '%s'", value);
    return NULL;
}

exit_code run_there(const args *a, int n, char **words, const char *on, const char *more, int out) {
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    trip t = {.a = a,
              .program = value_of(a, "--program"),
              .out = out,
              .link = {.host = host_of(on), .to = -1, .from = -1, .messages = -1}};
    if (t.link.host == NULL) return EXIT_USAGE;
    if (t.program == NULL && length > 0) {
        own[length] = '\0';
        t.program = own;
    }
    if (t.program == NULL || access(t.program, R_OK) != 0) {
        complain("--program %s: %s", t.program != NULL ? t.program : "", strerror(errno));
        return EXIT_INPUT;
    }
    exit_code code = pack(&t.luggage, a, n, words, more, t.program);
    if (code == EXIT_DONE) {
        t.link.folder = t.luggage.folder;
        t.link.errors = luggage_path(&t.luggage, "errors");
        code = travel(&t);
    }
    free(t.link.errors);
    luggage_deinit(&t.luggage);
    return code;
}

static exit_code run_once(const args *a, int n, char **words) {
    int out = memfd_create("output", MFD_CLOEXEC);
    if (out < 0) {
        complain("standard output: %s", strerror(errno));
        return EXIT_RESOURCE;
    }
    exit_code code = run_there(a, n, words, value_of(a, "--on"), NULL, out);
    if (link_wanted() && !print_all(out) && code == EXIT_DONE) code = EXIT_RESOURCE;
    close(out);
    return code;
}

exit_code run_elsewhere(const args *a, int n, char **words) {
    link_signals();
    bool fleet = value_at(a, "--on", 1) != NULL;
    exit_code code = fleet ? run_fleet(a, n, words) : run_once(a, n, words);
    link_signals_follow();
    return code;
}
