/* Messages, progress, tables, JSON. */
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* ---- messages ---- */

void complain(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs("hone: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    if (interrupted) _exit(EXIT_INTERRUPTED); /* the second time, at once */
    interrupted = 1;
}

bool not_interrupted(void *unused) {
    (void)unused;
    return !interrupted;
}

static void on_log(void *ctx, hone_log_level level, const char *line) {
    (void)ctx;
    fprintf(stderr, "hone: %s%s\n", level == HONE_LOG_WARN ? "warning: " : "", line);
}

void start(const args *a) {
    hone_log_level level = has(a, "--verbose") ? HONE_LOG_INFO : HONE_LOG_WARN;
    hone_log_set(has(a, "--quiet") ? NULL : on_log, NULL, level);
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
}

exit_code code_of(hone_status s) {
    switch (s) {
        case HONE_OK: return EXIT_DONE;
        case HONE_E_NOMEM:
        case HONE_E_LIMIT: return interrupted ? EXIT_INTERRUPTED : EXIT_RESOURCE;
        default: return EXIT_INPUT;
    }
}

exit_code fail_with(const hone_error *e) {
    if (!interrupted)
        complain("%s", e->text);
    else
        complain("interrupted");
    return code_of(e->status);
}

bool session_options(const args *a, hone_session_options *o) {
    int64_t threads = 0, memory = 0, seed = 1;
    if (!number_of(a, "--threads", 1, 1024, &threads) ||
        !number_of(a, "--max-memory", 1, (int64_t)1 << 40, &memory) ||
        !number_of(a, "--seed", 0, INT64_MAX, &seed))
        return false;
    hone_session_options_init(o);
    o->threads = (int)threads;
    o->max_memory = (size_t)memory * 1000000;
    o->seed = (uint64_t)seed;
    o->keep_going = not_interrupted;
    return true;
}

/* ---- progress ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_start(progress *p, const args *a, const char *what, const char *unit) {
    *p = (progress){.what = what, .unit = unit, .begun = now()};
    p->off = has(a, "--quiet") || !isatty(STDERR_FILENO);
}

bool progress_step(void *ctx, int64_t done, int64_t total) {
    progress *p = ctx;
    double t = now();
    if (!p->off && total > 0 && (t - p->shown > 0.1 || done == total)) {
        enum { WIDTH = 30 };
        char bar[WIDTH + 1];
        int filled = (int)((double)done / (double)total * WIDTH);
        for (int i = 0; i < WIDTH; i++) bar[i] = i < filled ? '#' : '.';
        bar[WIDTH] = '\0';
        double spent = t - p->begun, rate = spent > 0 ? (double)done / spent : 0;
        double left = rate > 0 ? (double)(total - done) / rate : 0;
        fprintf(stderr, "\r%s [%s] %3d%%  %.1f %s/s  %d:%02d left \033[K", p->what, bar,
                (int)(100.0 * (double)done / (double)total), rate, p->unit, (int)(left / 60),
                (int)left % 60);
        fflush(stderr);
        p->shown = t;
        p->drawn = true;
    }
    return !interrupted;
}

void progress_end(progress *p) {
    if (p->drawn) fputs("\r\033[K", stderr);
    p->drawn = false;
}

/* ---- numbers for people ---- */

static const char *human(double n, double step, const char *const *units, char *buf) {
    int k = 0;
    if (n < 0) return strcpy(buf, "?");
    while (n >= step * 0.9995 && units[k + 1] != NULL) {
        n /= step;
        k++;
    }
    int digits = k == 0 ? 0 : n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
    snprintf(buf, 32, "%.*f%s%s", digits, n, units[k][0] ? " " : "", units[k]);
    return buf;
}

const char *human_count(int64_t n, char *buf) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P", NULL};
    return human((double)n, 1000, units, buf);
}

const char *human_bytes(int64_t n, char *buf) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", NULL};
    return human((double)n, 1000, units, buf);
}

/* ---- tables ---- */

struct table {
    int columns, cells, cap;
    const char *align;
    char **cell;
};

static void *must(void *p) {
    if (p == NULL) {
        complain("out of memory");
        exit(EXIT_RESOURCE);
    }
    return p;
}

static void push(table *t, char *text) {
    if (t->cells == t->cap) {
        t->cap = t->cap == 0 ? 64 : t->cap * 2;
        t->cell = must(realloc(t->cell, (size_t)t->cap * sizeof *t->cell));
    }
    t->cell[t->cells++] = text;
}

table *table_new(const char *const *heads, const char *align) {
    table *t = must(calloc(1, sizeof *t));
    t->columns = (int)strlen(align);
    t->align = align;
    for (int i = 0; i < t->columns; i++) push(t, must(strdup(heads[i])));
    return t;
}

void table_cell(table *t, const char *format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    push(t, must(strdup(text)));
}

/* Columns a text takes on the screen: bytes that begin a UTF-8 character. */
static int width(const char *s) {
    int n = 0;
    for (; *s != '\0'; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

void table_print(table *t, FILE *to) {
    int *wide = must(calloc((size_t)t->columns, sizeof *wide));
    for (int i = 0; i < t->cells; i++) {
        int w = width(t->cell[i]);
        if (w > wide[i % t->columns]) wide[i % t->columns] = w;
    }
    for (int i = 0; i < t->cells; i++) {
        int c = i % t->columns, pad = wide[c] - width(t->cell[i]);
        bool last = c + 1 == t->columns;
        if (c > 0) fputs("  ", to);
        if (t->align[c] == 'r') fprintf(to, "%*s", pad, "");
        fputs(t->cell[i], to);
        if (t->align[c] == 'l' && !last) fprintf(to, "%*s", pad, "");
        if (last) fputc('\n', to);
        if (last && i + 1 == t->columns) {
            int line = 2 * (t->columns - 1);
            for (int k = 0; k < t->columns; k++) line += wide[k];
            for (int k = 0; k < line; k++) fputc('-', to);
            fputc('\n', to);
        }
        free(t->cell[i]);
    }
    free(wide);
    free(t->cell);
    free(t);
}

/* ---- JSON ---- */

/* Length of the UTF-8 character at s, or 0 when there is none. */
static int utf8(const unsigned char *s) {
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
            : (s[0] & 0xf0) == 0xe0       ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                          : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))) return 0;
    return n;
}

static void put_string(const char *v) {
    putchar('"');
    for (const unsigned char *s = (const unsigned char *)v; *s != '\0';) {
        int n = utf8(s);
        if (n == 0) {
            fputs("\\ufffd", stdout);
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            printf("\\%c", *s);
        } else if (*s < 0x20 || *s == 0x7f) {
            printf("\\u%04x", *s);
        } else {
            fwrite(s, 1, (size_t)n, stdout);
        }
        s += n;
    }
    putchar('"');
}

static void lead(json *j, const char *key) {
    if (j->depth > 0 && j->comma[j->depth - 1]) fputs(", ", stdout);
    if (j->depth > 0) j->comma[j->depth - 1] = true;
    if (key != NULL) {
        put_string(key);
        fputs(": ", stdout);
    }
}

void json_begin(json *j, const char *key, char bracket) {
    lead(j, key);
    putchar(bracket);
    j->comma[j->depth++] = false;
}

void json_end(json *j, char bracket) {
    putchar(bracket);
    if (--j->depth == 0) putchar('\n');
}

void json_text(json *j, const char *key, const char *v) {
    lead(j, key);
    if (v == NULL)
        fputs("null", stdout);
    else
        put_string(v);
}

void json_number(json *j, const char *key, double v) {
    lead(j, key);
    if (isfinite(v))
        printf("%.9g", v);
    else
        fputs("null", stdout);
}

void json_int(json *j, const char *key, int64_t v) {
    lead(j, key);
    printf("%lld", (long long)v);
}

void json_bool(json *j, const char *key, bool v) {
    lead(j, key);
    fputs(v ? "true" : "false", stdout);
}

/* ---- values ---- */

void json_value_info(json *j, const hone_value_info *v) {
    json_begin(j, NULL, '{');
    json_text(j, "name", v->name);
    json_text(j, "dtype", v->dtype != HONE_DTYPE_NONE ? hone_dtype_name(v->dtype) : NULL);
    if (v->rank < 0) {
        json_text(j, "dims", NULL);
    } else {
        json_begin(j, "dims", '[');
        for (int i = 0; i < v->rank; i++) {
            if (v->dims[i] >= 0)
                json_int(j, NULL, v->dims[i]);
            else
                json_text(j, NULL, v->dim_names[i]);
        }
        json_end(j, ']');
    }
    json_end(j, '}');
}

const char *type_text(const hone_value_info *v, char *buf, size_t size) {
    size_t at = 0;
    snprintf(buf, size, "%s[", v->dtype != HONE_DTYPE_NONE ? hone_dtype_name(v->dtype) : "?");
    at = strlen(buf);
    if (v->rank < 0) at += (size_t)snprintf(buf + at, size - at, "?");
    for (int i = 0; i < v->rank && at < size; i++) {
        if (v->dims[i] >= 0)
            at += (size_t)snprintf(buf + at, size - at, "%s%lld", i ? ", " : "",
                                   (long long)v->dims[i]);
        else
            at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", " : "", v->dim_names[i]);
    }
    if (at < size) snprintf(buf + at, size - at, "]");
    return buf;
}
