/* hone bench M --on ssh:a --on ssh:b: the machines one after the other, and which is the slowest.
 *
 * Each prints what `--csv` prints; a configuration is a line of it, the same one of every machine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "on.h"

enum { MOST_CELLS = 64 };

/* A line of CSV: its cells, in a text of its own. */
typedef struct cells {
    char *line, *text;
    int n;
    char *at[MOST_CELLS];
} cells;

typedef struct machine {
    const char *host;
    int n; /* lines, the first of which are heads */
    cells *lines;
} machine;

/* ---- CSV ---- */

static cells cells_of(const char *line) {
    cells c = {.line = must(strdup(line)), .text = must(strdup(line))};
    char *to = c.text;
    const char *from = line;
    bool quoted = false;
    c.at[c.n++] = to;
    for (; *from != '\0'; from++) {
        if (*from == '"' && quoted && from[1] == '"')
            *to++ = *++from;
        else if (*from == '"')
            quoted = !quoted;
        else if (*from == ',' && !quoted && c.n < MOST_CELLS) {
            *to++ = '\0';
            c.at[c.n++] = to;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return c;
}

static void read_lines(machine *m, int from) {
    char *line = NULL;
    size_t room = 0;
    FILE *f = must(fdopen(from, "r"));
    rewind(f);
    while (getline(&line, &room, f) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        m->lines = must(realloc(m->lines, (size_t)(m->n + 1) * sizeof *m->lines));
        m->lines[m->n++] = cells_of(line);
    }
    free(line);
    fclose(f);
}

static void machine_deinit(machine *m) {
    for (int i = 0; i < m->n; i++) {
        free(m->lines[i].line);
        free(m->lines[i].text);
    }
    free(m->lines);
}

/* The cell of a line in the column of that name, or "". */
static const char *cell(const machine *m, int line, const char *name) {
    for (int i = 0; i < m->lines[0].n && i < m->lines[line].n; i++)
        if (strcmp(m->lines[0].at[i], name) == 0) return m->lines[line].at[i];
    return "";
}

/* ---- results ---- */

static void print_csv(const machine *all, int n) {
    bool headed = false;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < all[k].n; i++) {
            if (i == 0 && headed) continue;
            if (i == 0)
                line("host,%s", all[k].lines[0].line);
            else
                line("%s%s%s,%s", strchr(all[k].host, ',') != NULL ? "\"" : "", all[k].host,
                     strchr(all[k].host, ',') != NULL ? "\"" : "", all[k].lines[i].line);
            headed = true;
        }
}

static const struct {
    const char *head, *column;
} shown[] = {{"model", "model"},         {"batch", "batch"}, {"threads", "threads"},
             {"precision", "precision"}, {"isa", "isa"},     {"min ms", "min_ms"},
             {"p50", "p50_ms"},          {"p90", "p90_ms"},  {"p99", "p99_ms"},
             {"items/s", "throughput"}};
enum { N_SHOWN = sizeof shown / sizeof *shown, N_TEXTS = 5 };

static int most_lines(const machine *all, int n) {
    int most = 0;
    for (int k = 0; k < n; k++)
        if (all[k].n > most) most = all[k].n;
    return most;
}

static void print_table(const machine *all, int n) {
    const char *heads[N_SHOWN + 2] = {"host"};
    for (int c = 0; c < N_SHOWN; c++) heads[c + 1] = shown[c].head;
    table *t = table_new(heads, "llrrllrrrrr");
    for (int i = 1; i < most_lines(all, n); i++)
        for (int k = 0; k < n; k++) {
            if (i >= all[k].n) continue;
            table_cell(t, "%s", all[k].host);
            for (int c = 0; c < N_SHOWN; c++) {
                const char *text = cell(&all[k], i, shown[c].column);
                if (c < N_TEXTS)
                    table_cell(t, "%s", text);
                else
                    table_cell(t, c == N_SHOWN - 1 ? "%.1f" : "%.3g", atof(text));
            }
        }
    table_print(t);
}

/* Of each configuration: where the median is the longest. */
static void print_worst(const machine *all, int n) {
    line("%s", "");
    for (int i = 1; i < most_lines(all, n); i++) {
        const machine *worst = NULL;
        double longest = 0, shortest = 0;
        for (int k = 0; k < n; k++) {
            double ms = i < all[k].n ? atof(cell(&all[k], i, "p50_ms")) : 0;
            if (ms <= 0) continue;
            if (shortest == 0 || ms < shortest) shortest = ms;
            if (ms > longest) worst = &all[k];
            if (ms > longest) longest = ms;
        }
        if (worst == NULL) continue;
        line("worst case of %s, batch %s, threads %s, %s: %s, p50 %.3g ms, %.2f times the best",
             cell(worst, i, "model"), cell(worst, i, "batch"), cell(worst, i, "threads"),
             cell(worst, i, "precision"), worst->host, longest, longest / shortest);
    }
}

exit_code run_fleet(const args *a, int n, char **words) {
    static const char *const alone[] = {"--json", "--report", "--baseline"};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        if (!has(a, alone[i])) continue;
        complain("%s wants one --on: with several bench prints one table, or --csv", alone[i]);
        return EXIT_USAGE;
    }
    int hosts = 0;
    for (; value_at(a, "--on", hosts) != NULL; hosts++)
        if (host_of(value_at(a, "--on", hosts)) == NULL) return EXIT_USAGE;
    machine *all = must(calloc((size_t)hosts, sizeof *all));
    exit_code code = EXIT_DONE;
    int measured = 0;
    for (int k = 0; k < hosts && code != EXIT_USAGE && link_wanted(); k++) {
        machine *m = &all[measured];
        const char *on = value_at(a, "--on", k);
        int out = memfd_create("output", MFD_CLOEXEC);
        if (out < 0) {
            complain("standard output: %s", strerror(errno));
            code = EXIT_RESOURCE;
            break;
        }
        exit_code one = run_there(a, n, words, on, has(a, "--csv") ? NULL : "--csv", out);
        m->host = host_of(on);
        read_lines(m, out);
        if (m->n > 1)
            measured++;
        else
            machine_deinit(m);
        if (m->n <= 1) *m = (machine){0};
        if (code == EXIT_DONE) code = one;
    }
    if (measured > 0 && link_wanted() && has(a, "--csv")) {
        print_csv(all, measured);
    } else if (measured > 0 && link_wanted()) {
        print_table(all, measured);
        print_worst(all, measured);
    }
    for (int k = 0; k < measured; k++) machine_deinit(&all[k]);
    free(all);
    return code;
}
