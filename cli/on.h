/* What the files of --on share. */
#ifndef CLI_ON_H
#define CLI_ON_H

#include <stdarg.h>
#include <sys/types.h>

#include "cli.h"

/* ---- one machine (on.c) ---- */

/* The command on the host of this --on, with one word more (NULL: none); what it prints goes to the
 * file `out`, which is cut first. */
exit_code run_there(const args *a, int n, char **words, const char *on, const char *more, int out);
/* "pi@board" of "ssh:pi@board"; "ssh://pi@board:2222" as it is, since ssh knows it. NULL: it is
 * neither, which is said. */
const char *host_of(const char *on);

/* ---- several (on_fleet.c) ---- */

/* bench on every host that --on names: a row for each and each configuration, and the slowest. */
exit_code run_fleet(const args *a, int n, char **words);

/* ---- files (on_files.c) ---- */

/* A file that the command writes, and where the host writes it. */
typedef struct written {
    const char *here;
    char *there;
} written;

/* A folder here that is made as the host's shall be: `hone`, `run` and `back` (two scripts of the
 * shell), and below `files` a link for everything that the command reads. */
typedef struct luggage {
    char folder[80]; /* private; `out` is what is copied, `in` what came back */
    const args *a;
    char *program;
    char **words; /* of the command there, behind the verb; ends with NULL */
    int n_words, n_numbered, n_written;
    written *written;
    bool from_input; /* a word is `-`: the command reads standard input */
    exit_code code;  /* of what could not be packed, which has been said */
} luggage;

/* Looks at the command line for what is read and written. Says what is wrong. more: one word more
 * for the command there; NULL: none. */
exit_code pack(luggage *l, const args *a, int n, char **words, const char *more,
               const char *program);
/* Puts what came back to its places. */
exit_code unpack_written(const luggage *l);
/* Removes the folder. */
void luggage_deinit(luggage *l);
/* The path of something in the folder; free it. */
char *luggage_path(const luggage *l, const char *name);

/* ---- the connection (on_link.c) ---- */

typedef struct ssh_link {
    const char *host; /* as ssh takes it */
    const char *folder;
    char *errors; /* a file of what ssh and its like print */
    pid_t keeper; /* 0: there is none */
    int to, from; /* its streams; -1: closed */
    int messages; /* of the command; -1: none */
    double beat;  /* when it was last written to, and when it last answered */
    double answered;
    char *there; /* the host's folder */
    char arch[32];
    bool no_folder; /* it was reached, but has no room for one */
} ssh_link;

/* How a process ended. */
typedef enum ending {
    ENDED,       /* by itself; *code is its exit code */
    LOST,        /* the connection is gone */
    INTERRUPTED, /* here */
} ending;

/* SIGTERM and SIGHUP end the command as Ctrl-C does. */
void link_signals(void);
/* After all is cleared away: ends the program if one of them came. */
void link_signals_follow(void);
bool link_wanted(void); /* no one has ended it */
/* Why not, which is said; the exit code that goes with it. */
exit_code link_not_wanted(void);

/* Connects. On LOST *final says that trying again is of no use. */
ending link_open(ssh_link *l, bool *final);
/* Copies a folder here to the host's folder, or the other way what a script there packs. */
ending link_send(ssh_link *l, const char *from, int *code);
/* *code 3: there was nothing to pack. */
ending link_fetch(ssh_link *l, const char *script, const char *to, int *code);
/* Runs a script of the host's folder. Its standard output goes to `out`, its messages are shown. */
ending link_run(ssh_link *l, const char *script, int in, int out, int *code);
/* Whether the host still answers. */
bool link_answers(ssh_link *l);
/* Ends what still runs there, has the host's folder removed and closes the connection. */
void link_close(ssh_link *l);
/* The last thing that was printed to the file of errors; free it. */
char *link_why(const ssh_link *l);

#endif
